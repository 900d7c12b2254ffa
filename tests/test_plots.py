from __future__ import annotations

import io
import re
import subprocess
import sys
import warnings
from dataclasses import replace
from itertools import combinations, pairwise, product
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath
from PIL import Image

from shiftbench import Options, Quantiles, assess_predictions
from shiftbench.report import canvas, plots, score_figures
from shiftbench.report.content import Report
from shiftbench.report.drawing import (
    Axis,
    Bar,
    Drawing,
    Entry,
    Label,
    Line,
    Marks,
    Panel,
    Stroke,
    Words,
    laid_out,
    panels,
    text_width,
)
from shiftbench.report.style import COLOURS, DPI, Look, fitted, labels, looks, short
from shiftbench.report.svg import MARKERS, markup, svg
from shiftbench.report.ticks import log_ticks, tick_text, ticks
from shiftbench.scores.intervals import Settings
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
    "parts", "moved",
}  # fmt: skip


def only(report: Report, split: str) -> Report:
    """The same report with one split: half the pictures to draw."""
    return replace(report, counts=tuple(count for count in report.counts if count.split == split))


@pytest.fixture(scope="module")
def drawn():
    return plots.figures(only(regression(), "eval"))


def test_every_kind_of_picture_is_drawn_for_a_full_report(drawn):
    assert set(drawn) == {f"eval_{kind}" for kind in KINDS}


def test_every_picture_has_a_caption():
    assert set(plots.CAPTIONS) == set(plots.DRAWERS)
    assert plots.caption("dev_error_by_uncertainty", regression())[0] == "Error by uncertainty (development)"


def test_pictures_without_data_are_left_out():
    assert set(plots.figures(errors_only())) == {"all_summary", "all_error_retention"}
    assert plots.figures(empty()) == {}
    assert plots.figures(nothing_defined()) == {}
    assert "eval_reliability" in plots.figures(only(classification(), "eval"))


def test_the_calibration_of_many_systems_is_drawn_in_a_panel_each():
    report = only(many(7), "eval")
    drawing = plots.DRAWERS["coverage"](report, "eval")
    assert [panel.title for panel in drawing.panels] == [*labels(report).values()]
    assert [entry.text for entry in drawing.legend] == ["In-domain", "Shifted"]


def test_the_same_report_gives_the_same_files_to_the_byte(tmp_path):
    report = only(regression(), "eval")
    for folder in ("a", "b"):
        plots.save({"eval_density": plots.DRAWERS["density"](report, "eval")}, tmp_path / folder)
    for name in ("eval_density.svg", "eval_density.png"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_ids_of_a_picture_begin_with_its_name(drawn):
    for text in (svg(drawn["eval_roc"], "eval_roc"), markup(drawn["eval_roc"], "eval_roc")):
        ids = re.findall(r'\bid="([^"]*)"', text)
        assert ids
        assert all(name.startswith("eval_roc-") for name in ids)
        assert set(re.findall(r"url\(#([^)]*)", text)) == set(ids)


def test_ids_of_a_figure_of_matplotlib_begin_with_its_name():
    text = canvas.svg(_plain(), "eval_slices")
    ids = re.findall(r'\bid="([^"]*)"', text)
    assert ids
    assert all(name.startswith("eval_slices-") for name in ids)
    assert set(re.findall(r'(?:href="#|url\(#)([^")]*)', text)) <= set(ids)


def test_the_readers_own_settings_do_not_matter_and_stay_as_they_are(tmp_path):
    import matplotlib

    drawing = {"a": plots.DRAWERS["slices"](only(regression(), "eval"), "eval")}
    plain, _ = plots.save(drawing, tmp_path / "plain")
    with matplotlib.rc_context({"font.size": 31, "axes.facecolor": "red", "text.usetex": True}):
        other, _ = plots.save(drawing, tmp_path / "other")
        assert matplotlib.rcParams["font.size"] == 31
    assert other.read_bytes() == plain.read_bytes()


def test_a_picture_drawn_once_is_the_one_that_matplotlib_draws_twice(drawn):
    """`Figure.savefig` gives the same bytes, of a drawing and of a layout that is not yet computed."""
    for figure in (canvas.figure_of(drawn["eval_summary"]), _plain()):
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
    assert drawn["eval_summary"].panels[0].x.title == "RMSE ↓ (°C)"
    assert "(°C²)" in drawn["eval_error_retention"].panels[0].y.title
    assert "(°C²)" in drawn["eval_slices"].panels[0].x.title
    for name, drawing in drawn.items():
        assert all(panel.x.title for panel in drawing.panels), name


def test_the_operating_point_is_marked_on_every_curve(drawn):
    for kind in ("error_retention", "f1_retention"):
        for panel in drawn[f"eval_{kind}"].panels:
            rings = [line for line in panel.lines if line.hollow]
            assert len(rings) == 3  # systems with an uncertainty
            assert all(line.x == (0.95,) for line in rings)
            assert panel.guides == ((0.95, "95 %"),)


def test_random_and_optimal_orders_are_drawn_once_a_panel(drawn):
    drawing = drawn["eval_error_retention"]
    titles = [
        f"{order} order of the errors of deep_ensemble" for order in ("Random", "Optimal")
    ]  # of the system that leads
    assert [entry.text for entry in drawing.legend][-2:] == titles
    for panel in drawing.panels:
        assert [line.name for line in panel.lines].count(titles[0]) == 1


def rows(drawing: Drawing) -> list[str]:
    return [label.text.split(" (")[0] for label in drawing.panels[0].labels if label.share == 0]


def test_the_summary_sorts_systems_by_their_shifted_error(drawn):
    names, report = rows(drawn["eval_summary"]), regression()
    errors = [report.score("rmse", system=name, split="eval", subset="shifted").value for name in names]
    assert errors == sorted(errors)
    assert names[0] == "fc24_high_c"


def test_the_summary_of_accuracies_puts_the_largest_on_top():
    report = only(classification(), "eval")
    names = rows(plots.DRAWERS["summary"](report, "eval"))
    values = [report.score("accuracy", system=name, split="eval", subset="shifted").value for name in names]
    assert values == sorted(values, reverse=True)


def test_errors_that_differ_much_share_a_logarithmic_axis(drawn):
    """The mean's errors are many times those of the others, in every slice and over all."""
    for kind in ("summary", "slices"):
        (panel,) = drawn[f"eval_{kind}"].panels
        values = [x for line in panel.lines if line.look.marker for x in line.x]
        assert panel.x.log == (max(values) > 6 * min(values) > 0)
    assert drawn["eval_summary"].panels[0].x.log


def test_a_title_is_shortened_to_the_width_of_its_drawing():
    long = "Vessel power: made-up example, 4,000 rows, seed 0: generalization"
    drawn = laid_out(replace(simple(), title=long))
    title = next(item.text for item in drawn.items if isinstance(item, Words) and item.bold)
    assert title.startswith("Vessel")
    assert title.endswith("tion")
    assert text_width(title) <= drawn.width < text_width(long)
    assert any(
        item.text == "short" for item in laid_out(replace(simple(), title="short")).items if isinstance(item, Words)
    )


def test_a_share_has_a_linear_axis_however_far_apart_its_values():
    report = classification()
    low = [replace(score, value=score.value / 20, low=None, high=None) if score.system == "majority" else score
           for score in report.scores]  # fmt: skip
    drawing = score_figures.summary(replace(report, scores=tuple(low)), "eval")
    assert drawing is not None
    values = [x for line in drawing.panels[0].lines if line.look.marker for x in line.x]
    assert max(values) > 6 * min(values) > 0
    assert not drawing.panels[0].x.log


def test_the_waterfall_ends_at_the_r_auc(drawn):
    report = regression()
    panel = drawn["eval_parts"].panels[0]
    area = report.score("r_auc", system="boosting", split="eval", subset="full").value
    assert panel.bars[-1].ends == (0.0, pytest.approx(area))
    assert float(panel.labels[-1].text) == pytest.approx(area, rel=0.05)


def test_parts_that_round_to_nothing_have_no_sliver_of_a_bar(drawn):
    for panel in drawn["eval_parts"].panels:
        texts = [label.text for label in panel.labels if label.share == 1]
        assert len(panel.bars) == sum(any(digit in "123456789" for digit in text) for text in texts)
    report = replace(regression(), parts=tuple(replace(part, value=1e-9) for part in regression().parts[1:]))
    report = replace(report, parts=(*regression().parts[:1], *report.parts))
    assert [len(panel.bars) for panel in plots.DRAWERS["parts"](report, "eval").panels][-1] <= 2


def boxes(words: Words) -> tuple[float, float, float, float]:
    """The box around a text."""
    wide = text_width(words.text, words.size)
    back = {"start": 0.0, "middle": 0.5, "end": 1.0}[words.anchor]
    if words.turned:
        low = words.y - wide * (1 - back)
        return words.x - words.size, low, words.x + 3, low + wide
    return words.x - back * wide, words.y - words.size, words.x + (1 - back) * wide, words.y + 3


def test_everything_drawn_stays_inside_the_picture(drawn):
    for name, drawing in drawn.items():
        whole = laid_out(drawing)
        for item in whole.items:
            if isinstance(item, Words):
                left, top, right, bottom = boxes(item)
                assert left >= -2, (name, item)
                assert top >= -2, (name, item)
                assert right <= whole.width + 2, (name, item)
                assert bottom <= whole.height + 2, (name, item)


def test_texts_of_a_picture_never_lie_on_each_other(drawn):
    for name, drawing in drawn.items():
        found = [(item, boxes(item)) for item in laid_out(drawing).items if isinstance(item, Words)]
        for (one, a), (other, b) in combinations(found, 2):
            apart = a[0] >= b[2] - 2 or b[0] >= a[2] - 2 or a[1] >= b[3] - 4 or b[1] >= a[3] - 4
            assert apart, (name, one.text, other.text)


def test_names_of_rows_never_lie_on_marks(drawn):
    for kind in ("eval_summary", "eval_slices"):
        items = laid_out(drawn[kind]).items
        names = [boxes(item) for item in items if isinstance(item, Words) and item.halo]
        marks = [(point, item.size / 2) for item in items if isinstance(item, Marks) for point in item.points]
        assert names
        assert marks
        for (left, top, right, bottom), ((x, y), r) in product(names, marks):
            assert x + r < left or x - r > right or y + r < top or y - r > bottom, kind


# --- Drawings -------------------------------------------------------------------------------------------------------

LOOK = Look("#0072B2", "--", "o")


def simple(**changes) -> Drawing:
    line = Line((0, 1, 2), (0, 10, 5), LOOK, 'a < b & "c"', marks=None)
    panel = Panel("T", Axis("x", 0, 2), Axis("y", 0, 10), (line,))
    return Drawing((replace(panel, **changes),), (Entry("a", LOOK),))


def path_of(text: str, name: str) -> list[tuple[float, float]]:
    """The points of the line with a name."""
    root = ElementTree.fromstring(text)
    (path,) = [each for each in root.iter() if each.get("data-name") == name]
    return [tuple(map(float, pair.split())) for pair in path.get("d")[1:].split("L")]


def test_values_can_be_read_back_from_a_line_and_the_frame_of_its_panel():
    text = svg(simple(), "s")
    (frame,) = [each for each in ElementTree.fromstring(text).iter() if each.get("data-x")]
    left, top, width, height = (float(frame.get(name)) for name in ("x", "y", "width", "height"))
    assert frame.get("data-x-title") == "x"
    assert (frame.get("data-x"), frame.get("data-y")) == ("0 2", "0 10")
    read = [(2 * (x - left) / width, 10 * (top + height - y) / height) for x, y in path_of(text, 'a < b & "c"')]
    assert np.allclose(read, [(0, 0), (1, 10), (2, 5)], atol=0.03)


def test_a_logarithmic_axis_says_so_and_spaces_decades_equally():
    drawing = simple(x=Axis("x", 1, 100, log=True), lines=(Line((1, 10, 100), (0, 1, 2), LOOK, "n"),))
    places = [x for x, _ in path_of(svg(drawing, "s"), "n")]
    assert places[1] - places[0] == pytest.approx(places[2] - places[1], abs=0.11)
    assert 'data-x="1 100 log"' in svg(drawing, "s")


def test_a_line_without_a_name_tells_nothing():
    assert "data-" not in svg(simple(lines=(Line((0, 1), (0, 1), LOOK),)), "s")


def test_points_that_are_not_finite_are_left_out_and_far_ones_stay_numbers():
    line = Line((0, float("nan"), 1, 2), (1, 1, float("inf"), 1e300), LOOK, "n")
    text = svg(simple(lines=(line,)), "s")
    assert len(path_of(text, "n")) == 2
    assert "nan" not in text
    assert "inf" not in text.replace("info", "")
    assert "e+" not in text


@pytest.mark.parametrize(
    "axis",
    [
        Axis("x", -1.7e308, 1.7e308),
        Axis("x", 1e-300, 1.7e308, log=True),
        Axis("x", 0.0, float("inf")),
        Axis("x", 3.0, 3.0),
        Axis("x", 1.0, 1.0 + 3e-16),
        Axis("x", 0.0, 5e-324),
    ],
)
def test_axes_of_any_ends_are_drawn_in_plain_numbers(axis):
    line = Line((axis.low, 1.0, 1.7e308), (0, 1, 2), LOOK, "n")
    text = svg(simple(x=axis, lines=(line,)), "s")
    assert not re.search(r'="[^"]*(nan|inf|\de[+-]?\d)[^"#]*"', re.sub(r'data-[xy]="[^"]*"|"#\w+"', "", text))


def test_a_bar_without_length_is_still_seen():
    bars = (Bar((1.0, 1.0), 5.0, "#D55E00"), Bar((0.0, 2.0), 5.0, "#D55E00"))
    strokes = [item for item in laid_out(simple(bars=bars)).items if isinstance(item, Stroke) and item.fill]
    widths = [max(x for x, _ in item.points) - min(x for x, _ in item.points) for item in strokes]
    assert widths[0] == pytest.approx(2)
    assert widths[1] > 100


def test_panels_flow_in_a_grid_and_share_their_left_edge():
    one = simple().panels[0]
    wide = replace(one, y=Axis("y", 0, 40_000))
    drawing = Drawing((one, wide, one, one), across=3)
    whole = laid_out(drawing)
    assert (whole.width, whole.height) == (3 * one.width, 2 * one.height)
    lefts = {round(box[0], 6) for drawn in panels(replace(drawing, panels=(one, wide))) for box, _ in drawn.frames}
    assert len(lefts) == 1


def test_panels_of_a_page_fill_a_row_but_stay_near_their_own_size():
    small = replace(simple().panels[0], width=200.0)
    text = markup(Drawing((small, small)), "s")
    assert 'style="--least:166px;--columns:2"' in text
    assert text.count('style="max-width:250px"') == 2


def test_every_marker_is_drawn_and_centred():
    for marker in ("o", *MARKERS):
        line = Line((1,), (5,), Look("#0072B2", "", marker), marks=None)
        path = re.search(r'<path d="(M[^"]*z)"', svg(simple(lines=(line,)), "s"))
        assert path is not None, marker
        if marker in MARKERS:
            middle = np.mean(MARKERS[marker], axis=0)
            assert np.abs(middle).max() < 1e-9, marker


def test_the_png_shows_what_the_svg_shows(tmp_path):
    drawing = simple()
    path, _ = plots.save({"a": drawing}, tmp_path)
    picture = Image.open(path).convert("RGB")
    whole = laid_out(drawing)
    scale = DPI / canvas.PIXELS
    assert picture.size == (int(whole.width * scale), int(whole.height * scale))
    (x, y) = path_of(svg(drawing, "s"), 'a < b & "c"')[1]  # the marker in the middle of the line
    assert picture.getpixel((round(x * scale), round(y * scale))) == (0x00, 0x72, 0xB2)
    assert picture.getpixel((2, 2)) == (255, 255, 255)


def test_a_picture_with_characters_that_no_font_has_warns_of_nothing(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plots.save({"a": simple(title=fitted(HOSTILE[4]))}, tmp_path)


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3, 7), (0.999, 1.0), (1e-9, 5e-9), (0, 2.3e9), (10, 0)])
def test_ticks_are_few_round_and_inside(low, high):
    found = ticks(low, high)
    assert 2 <= len(found) <= 8
    assert all(min(low, high) * (1 - 1e-9) <= value <= max(low, high) * (1 + 1e-9) for value, _ in found)
    assert len({text for _, text in found}) == len(found)


RANGES = [
    (start * scale, (start + length) * scale)
    for scale in (1e-12, 1e-5, 0.01, 1.0, 30.0, 1e4, 1e9)
    for start in (-7.3, 0.0, 1.0, 12.0, 99.9)
    for length in (0.02, 0.7, 1.2, 6.0, 13.0, 14.9, 25.0, 90.0)
]


def number_in(label: str) -> float:
    """The number that a label says, with a minus sign, digits in groups or a power of ten."""
    factor, _, power = label.replace("−", "-").replace(",", "").rpartition("×")
    written = power.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
    if written == power:
        return float(power)
    sign = "-" if power.startswith("-") else ""
    return float(f"{factor or f'{sign}1'}e{written.lstrip('-').removeprefix('10') if not sign else written[3:]}")


@pytest.mark.parametrize(("low", "high"), RANGES)
def test_a_tick_stands_at_the_number_that_its_label_says(low, high):
    found = ticks(low, high)
    assert len(found) > 1
    step = found[1][0] - found[0][0]
    for value, text in found:
        assert number_in(text) == pytest.approx(value, rel=1e-15, abs=1e-9 * step)


@pytest.mark.parametrize(("low", "high"), [pair for pair in RANGES if pair[0] > 0] + [(1e-8, 1e9), (3.0, 4e5)])
def test_a_tick_of_a_logarithmic_axis_stands_at_the_number_that_its_label_says(low, high):
    for value, text in log_ticks(low, high):
        assert number_in(text) == pytest.approx(value, rel=1e-14)


def test_labels_of_ticks_have_the_digits_of_their_step():
    assert [text for _, text in ticks(0.0, 13.0)] == ["0.0", "2.5", "5.0", "7.5", "10.0", "12.5"]
    assert [text for _, text in ticks(100_000, 100_010)][:2] == ["10⁵", "1.00002×10⁵"]
    assert [text for _, text in ticks(0, 150_000)] == ["0", "2.5×10⁴", "5×10⁴", "7.5×10⁴", "10⁵", "1.25×10⁵", "1.5×10⁵"]
    assert [text for _, text in log_ticks(9_000, 250_000)] == ["10⁴", "3×10⁴", "10⁵"]
    assert [text for _, text in ticks(0, 1.2e-4)][:2] == ["0", "0.00002"]


@pytest.mark.parametrize(
    ("low", "high"), [(0, 2.6e6), (0, 3.1e6), (0, 9e5), (0, 1.2e-4), (0, 47_000), (-1.2e-4, 1.9e-4)]
)
@pytest.mark.parametrize("width", [120.0, 180.0, 260.0])
def test_labels_of_a_linear_axis_stand_at_even_distances(low: float, high: float, width: float) -> None:
    axis = Axis("Value", low, high)
    panel = Panel("", axis, Axis("", 0.0, 1.0, ticked=False), width=width, height=100.0)
    texts = [text for _, text in axis.ticks]
    (drawn,) = panels(Drawing((panel,)))
    shown = [item.text for item in drawn.items if isinstance(item, Words) and item.text in texts]
    assert len({later - earlier for earlier, later in pairwise(map(texts.index, shown))}) == 1


def test_years_have_no_separator_of_thousands():
    assert [text for _, text in ticks(1979.5, 1987)] == ["1980", "1982", "1984", "1986"]
    assert [text for _, text in ticks(990, 1030)][:2] == ["990", "1,000"]
    assert [text for _, text in ticks(1980, 1981)][:2] == ["1,980.0", "1,980.2"]


def test_a_title_lies_within_its_picture_in_the_bold_letters_it_is_drawn_in():
    title = "Vessel power: made-up example, 4,000 rows, seed 0: generalization"
    drawn = Drawing((Panel("", Axis("", 0.0, 1.0), Axis("", 0.0, 1.0)),), title=title).whole
    (word,) = [item for item in drawn.items if isinstance(item, Words) and item.bold]
    font = FontProperties(family="DejaVu Sans", weight="bold", size=word.size)
    assert TextPath((0, 0), word.text, prop=font).get_extents().width <= drawn.width
    assert word.text.endswith("generalization")


def test_the_line_of_the_leader_strikes_through_no_text():
    axis = Axis("", 0.0, 1.0, ticked=False)
    rows = Axis("", 2.0, 0.0, ticked=False)
    labels = (Label("1 → 2", 1.0, 0.5, "end"), Label("left", 0.0, 1.5))
    drawn = Drawing((Panel("", axis, rows, labels=labels, guides=((0.97, ""),)),)).whole
    dotted = [item.points for item in drawn.items if isinstance(item, Stroke) and item.dash == ":"]
    word = next(item for item in drawn.items if isinstance(item, Words) and item.text == "1 → 2")
    assert len(dotted) == 2  # above and below the text at the right
    assert dotted[0][1][1] < word.y - 5 < word.y < dotted[1][0][1]


@pytest.mark.parametrize(("low", "high"), [(1, 10), (3, 4), (0.02, 900), (1e-8, 1e9), (6, 70_000), (2e5, 9e6)])
def test_ticks_of_a_logarithmic_axis_are_few_and_inside(low, high):
    found = log_ticks(low, high)
    assert 2 <= len(found) <= 9
    assert all(low * (1 - 1e-9) <= value <= high * (1 + 1e-9) for value, _ in found)


# --- Styles ---------------------------------------------------------------------------------------------------------


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


def test_the_page_needs_no_matplotlib_and_the_files_no_pyplot():
    code = (
        "import sys, tempfile; from shiftbench.report import page, plots\n"
        "from shiftbench.report.content import Count, Report, Score, System\n"
        "report = Report('t', 'errors', 'published', None, systems=(System('m', 'model'),), "
        "counts=(Count('all', 'full', 1),), scores=(Score('m', 'all', 'full', 'mean_error', 1.0, 1),))\n"
        "assert 'class=\"panels' in page.html(report) and 'matplotlib' not in sys.modules\n"
        "plots.save(plots.figures(report), tempfile.mkdtemp())\n"
        "assert 'matplotlib.figure' in sys.modules and 'matplotlib.pyplot' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.5, "−0.5"),
        (2e-5, "2×10⁻⁵"),
        (0.5, "0.5"),
        (20_000.0, "20,000"),
        (1e6, "10⁶"),
        (3e6, "3×10⁶"),
        (1.2e7, "1.2×10⁷"),
        (1.7e308, "1.7×10³⁰⁸"),
    ],
)
def test_long_numbers_at_ticks_are_powers_of_ten(value, text):
    assert tick_text(value) == text


def test_quantiles_have_a_picture_of_coverage_at_their_own_levels(rng):
    target, shifted = rng.normal(size=400), np.arange(400) % 2 == 1
    values = np.array([-1.645, -0.674, 0.0, 0.674, 1.645]) + np.zeros((400, 1))
    forecast = Quantiles(values[None], (0.05, 0.25, 0.5, 0.75, 0.95))
    options = Options(intervals=Settings(replicates=20))
    report = assess_predictions(target * (1 + shifted), {"ours": forecast}, shifted=shifted, options=options)
    drawing = plots.figures(report)["all_coverage"]
    assert [panel.title for panel in drawing.panels] == ["In-domain", "Shifted", "Full"]
    for panel, subset in zip(drawing.panels, ("in", "shifted", "full"), strict=True):
        line = panel.lines[-1]
        assert line.x == (0.5, 0.9)
        found = [report.score(f"coverage_{level}", system="ours", split="all", subset=subset) for level in (50, 90)]
        assert line.y == pytest.approx([score.value for score in found])


@pytest.mark.parametrize("ends", [(0.0, 5.0), (-1.2e-4, 1.3e-4), (19.1125232783779, 19.1125232783781), (1e4, 9e4)])
def test_numbers_below_an_axis_never_run_into_each_other(ends):
    panel = Panel("", Axis("Value", *ends), Axis("", 0.0, 1.0), width=260.0)
    (drawn,) = panels(Drawing((panel,)))
    bottom = [
        item for item in drawn.items if isinstance(item, Words) and item.text != "Value" and item.anchor == "middle"
    ]
    spans = sorted((word.x - text_width(word.text) / 2, word.x + text_width(word.text) / 2) for word in bottom)
    assert spans
    assert all(before <= after for (_, before), (after, _) in pairwise(spans))


def test_names_of_rows_have_a_rim_of_paper_in_both_formats(tmp_path):
    label = Label("a name", 0.0, 0.5)
    line = Line((0.3, 0.3), (0.0, 1.0), Look("#0072B2", "-"))
    drawing = Drawing((Panel("", Axis("", 0.0, 1.0), Axis("", 0.0, 1.0), (line,), labels=(label,)),))
    assert 'paint-order="stroke"' in svg(drawing, "x")
    (text,) = [text for text in canvas.figure_of(drawing).texts if text.get_text() == "a name"]
    assert text.get_path_effects()


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 5e-324), (-1e-322, 1e-322), (1e-310, 2e-310), (-1.7e308, 1.7e308), (3.0, 3.0)]
)
def test_ends_too_near_or_too_far_for_steps_are_the_ticks(low: float, high: float) -> None:
    assert [value for value, _ in ticks(low, high)] == list(dict.fromkeys((low, high)))


def test_the_smallest_numbers_have_texts() -> None:
    assert [tick_text(value) for value in (5e-324, -1e-310)] == ["4.94×10⁻³²⁴", "−10⁻³¹⁰"]
