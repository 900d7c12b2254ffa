from __future__ import annotations

import io
import re
import subprocess
import sys
from dataclasses import replace
from itertools import combinations

import pytest

from shiftbench.report import canvas, plots
from shiftbench.report.canvas import settings, tick_text
from shiftbench.report.content import Report
from shiftbench.report.style import COLOURS, DPI, labels, looks, short
from shiftbench.scores.score import System

from .report.factory import (
    HOSTILE,
    classification,
    empty,
    errors_only,
    many,
    nothing_defined,
    regression,
)

KINDS = {
    "summary", "error_retention", "f1_retention", "density", "roc", "coverage", "error_by_uncertainty", "slices",
    "parts",
}  # fmt: skip


def only(report: Report, split: str) -> Report:
    """The same report with one split: half the pictures to draw."""
    return replace(report, counts=tuple(count for count in report.counts if count.split == split))


@pytest.fixture(scope="module")
def drawn():
    return plots.figures(only(regression(), "eval"))


def panels(figure):
    return [panel for panel in figure.axes if panel.axison]


def test_every_kind_of_picture_is_drawn_for_a_full_report(drawn):
    assert set(drawn) == {f"eval_{kind}" for kind in KINDS}


def test_every_picture_has_a_caption():
    assert set(plots.CAPTIONS) == set(plots.DRAWERS)
    assert plots.caption("dev_error_by_uncertainty")[0] == "Error by uncertainty (development)"


def test_pictures_without_data_are_left_out():
    assert set(plots.figures(errors_only())) == {"all_summary", "all_error_retention"}
    assert plots.figures(empty()) == {}
    assert plots.figures(nothing_defined()) == {}
    assert "eval_reliability" in plots.figures(only(classification(), "eval"))


def test_the_calibration_of_many_systems_is_drawn_in_a_panel_each():
    report = only(many(7), "eval")
    with settings():
        figure = plots.DRAWERS["coverage"](report, "eval")
    assert [panel.get_title() for panel in panels(figure)] == [*labels(report).values()]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["In-domain", "Shifted"]


def test_the_same_report_gives_the_same_svg_to_the_byte():
    report = only(regression(), "eval")
    texts = []
    for _ in range(2):
        with settings():
            figure = plots.DRAWERS["density"](report, "eval")
        texts.append(plots.svg(figure, "eval_density"))
    assert texts[0] == texts[1]
    assert not re.search(r"\d{4}-\d\d-\d\d", texts[0])


def test_ids_of_a_picture_begin_with_its_name(drawn):
    text = plots.svg(drawn["eval_slices"], "eval_slices")
    ids = re.findall(r'\bid="([^"]*)"', text)
    assert ids
    assert all(name.startswith("eval_slices-") for name in ids)
    assert set(re.findall(r'(?:href="#|url\(#)([^")]*)', text)) <= set(ids)


def test_the_readers_own_settings_do_not_matter_and_stay_as_they_are():
    import matplotlib

    report = only(regression(), "eval")
    with settings():
        plain = plots.svg(plots.DRAWERS["slices"](report, "eval"), "a")
    with matplotlib.rc_context({"font.size": 31, "axes.facecolor": "red"}):
        with settings():
            figure = plots.DRAWERS["slices"](report, "eval")
        assert plots.svg(figure, "a") == plain
        assert matplotlib.rcParams["font.size"] == 31


def test_a_picture_drawn_once_is_the_one_that_matplotlib_draws_twice(drawn):
    """`Figure.savefig` gives the same bytes, of a layout that is computed and of one that is not yet."""
    for figure in (drawn["eval_summary"], drawn["eval_error_retention"], _plain()):
        usual, ours, plain, own = io.BytesIO(), io.BytesIO(), io.StringIO(), io.StringIO()
        with canvas.settings():
            figure.savefig(usual, format="png", dpi=DPI, metadata={"Software": None})
            figure.savefig(plain, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
        canvas.write_png(figure, ours)
        canvas.write_svg(figure, own)
        assert ours.getvalue() == usual.getvalue()
        assert own.getvalue() == plain.getvalue()


def _plain():
    with canvas.settings():
        figure, panels = canvas.panels(2, width=3, height=2, below=0.3)
        for panel in panels:
            panel.plot([0, 1], [3, 2])
        canvas.legend(figure, [canvas.handle("one"), canvas.handle("two")], 2)
    return figure


def test_axes_carry_the_units(drawn):
    assert drawn["eval_summary"].axes[0].get_xlabel() == "RMSE ↓ (°C)"
    assert "(°C²)" in drawn["eval_error_retention"].axes[0].get_ylabel()
    assert "(°C²)" in drawn["eval_slices"].axes[0].get_xlabel()
    for name, figure in drawn.items():
        assert all(panel.get_xlabel() for panel in panels(figure)), name


def test_the_operating_point_is_marked_on_every_curve(drawn):
    for kind in ("error_retention", "f1_retention"):
        for panel in panels(drawn[f"eval_{kind}"]):
            rings = [line for line in panel.lines if line.get_markerfacecolor() == "none"]
            assert len(rings) == 3  # systems with an uncertainty
            assert all(list(ring.get_xdata()) == [0.95] for ring in rings)


def test_random_and_optimal_orders_are_drawn_once_a_panel(drawn):
    texts = [text.get_text() for text in drawn["eval_error_retention"].legends[0].get_texts()]
    assert texts[-2:] == ["Random order (boosting)", "Optimal order (boosting)"]


def test_the_summary_sorts_systems_by_their_shifted_error(drawn):
    panel = drawn["eval_summary"].axes[0]
    names = [tick.get_text().split("\n")[0] for tick in panel.get_yticklabels()]
    report = regression()
    errors = [report.score("rmse", system=name, split="eval", subset="shifted").value for name in names]
    assert errors == sorted(errors)
    assert names[0] == "fc24_high_c"


def test_the_summary_of_accuracies_puts_the_largest_on_top():
    report = only(classification(), "eval")
    with settings():
        figure = plots.DRAWERS["summary"](report, "eval")
    names = [tick.get_text().split("\n")[0] for tick in figure.axes[0].get_yticklabels()]
    values = [report.score("accuracy", system=name, split="eval", subset="shifted").value for name in names]
    assert values == sorted(values, reverse=True)


def test_the_waterfall_ends_at_the_r_auc(drawn):
    report = regression()
    panel = drawn["eval_parts"].axes[0]
    total = panel.patches[-1].get_width()
    assert total == pytest.approx(report.score("r_auc", system="boosting", split="eval", subset="full").value)


@pytest.mark.parametrize("name", ["eval_error_retention", "eval_summary", "eval_slices", "eval_roc", "eval_density"])
def test_legends_never_cover_data(drawn, name):
    figure = drawn[name]
    with settings():
        figure.canvas.draw()
        box = figure.legends[0].get_window_extent()
        assert not any(box.overlaps(panel.get_window_extent()) for panel in panels(figure))


def test_everything_drawn_stays_inside_the_picture(drawn):
    for name, figure in drawn.items():
        with settings():
            box = figure.get_tightbbox()
        width, height = figure.get_size_inches()
        assert box.x0 >= -0.02, name
        assert box.y0 >= -0.02, name
        assert box.x1 <= width + 0.02, name
        assert box.y1 <= height + 0.02, name


def test_fifteen_systems_look_different_in_colour_and_in_grey():
    found = list(looks(many()).values())
    assert len({(look.color, look.linestyle) for look in found}) == 15
    assert len({(look.linestyle, look.marker) for look in found}) == 15


def luminance(colour: str) -> float:
    red, green, blue = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_no_colour_is_too_light_for_white_paper():
    assert max(map(luminance, COLOURS)) < 0.75
    assert all(a != b for a, b in combinations(COLOURS, 2))


def test_short_names_stay_apart():
    names = [f"{'x' * 40}{k}{'y' * 40}" for k in range(3)]
    report = replace(empty(), systems=tuple(System(name, "model") for name in names))
    assert len(set(labels(report).values())) == 3
    assert all(len(short(name)) == 30 for name in names)


def test_a_dollar_sign_starts_no_mathematics():
    assert short("a$b$c") == r"a\$b\$c"
    assert "\n" not in short(HOSTILE[4])


def test_drawing_loads_matplotlib_only_when_it_starts_and_never_pyplot():
    code = (
        "import sys; from shiftbench.report import plots; assert 'matplotlib' not in sys.modules\n"
        "from shiftbench.report.content import Count, Report, Score, System\n"
        "plots.figures(Report('t', 'errors', 'published', None, systems=(System('m', 'model'),), "
        "counts=(Count('all', 'full', 1),), scores=(Score('m', 'all', 'full', 'mean_error', 1.0, 1),)))\n"
        "assert 'matplotlib.figure' in sys.modules and 'matplotlib.pyplot' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.5, "0.5"), (20_000.0, "20,000"), (1e6, "10⁶"), (3e6, "3×10⁶"), (1.2e7, "1.2×10⁷"), (1.7e308, "1.7×10³⁰⁸")],
)
def test_long_numbers_at_ticks_are_powers_of_ten(value, text):
    assert tick_text(value) == text
