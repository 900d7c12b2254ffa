"""The first screen: at most forty lines and six sentences, the answer first, no word without its number."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console

from shiftbench.assessment import scored
from shiftbench.assessment.assess import Options, build
from shiftbench.assessment.conformal import set_aside
from shiftbench.assessment.scored import Records, Scored
from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.errors import CAREFUL
from shiftbench.metrics.segmentation import correlation
from shiftbench.report import plots, score_figures
from shiftbench.report.content import Report
from shiftbench.report.front import screen
from shiftbench.report.front import table as front_table
from shiftbench.report.grids.listing import grids
from shiftbench.report.page import html
from shiftbench.report.terminal import first_screen
from shiftbench.report.text import markdown
from shiftbench.report.verdict import verdict
from shiftbench.report.view import main_split
from shiftbench.scores.intervals import Settings
from shiftbench.scores.metric import METRICS
from shiftbench.scores.score import Leak, Score

from .factory import REPORTS, regression

N = 2_000
SHIFTED = np.arange(N) % 2 == 1
FEW = Options(task="regression", target_unit="kW", intervals=Settings(replicates=100, kind="normal"))


def printed(*reports: Report, width: int = 80) -> str:
    file = io.StringIO()
    Console(width=width, file=file).print(first_screen(reports))
    return file.getvalue()


def model(
    rng: np.random.Generator, name: str, *, scale: float = 1.0, shift: float = 1.0, said: float = 1.0,
    know: bool = True, role: str = "model",
) -> Scored:  # fmt: skip
    """Errors of deviation `scale`, `shift` times that on shifted records; `said` times it as its own deviation."""
    own = scale * np.exp(rng.normal(0.0, 0.7, N)) * np.where(SHIFTED, shift, 1.0)
    sd = said * own if know else np.exp(rng.normal(0.0, 0.7, N))
    return scored.regression(name, Gaussian((own * rng.normal(size=N))[None], sd[None] ** 2), np.zeros(N), role=role)


def text_of(*systems: Scored, shifted: np.ndarray | None = SHIFTED) -> str:
    report = build([(Records(N, shifted=shifted), list(systems))], FEW)
    return " ".join(finding.line for finding in screen.findings(report))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_first_screen_has_at_most_forty_lines_of_its_width(report: Report, width):
    lines = printed(report, width=width).rstrip("\n").split("\n")
    assert len(lines) <= 36
    assert max(map(cell_len, lines)) <= width


def test_several_reports_share_one_screen():
    assert printed(regression(), regression()).count("\n") <= 40


def test_three_reports_on_the_same_records_tell_their_counts_once_and_leave_room_for_paths(rng):
    made = few_records(rng, (40, 40))
    reports = [replace(made, title=f"error {k} of a system with quite a long name") for k in range(3)]
    text = printed(*reports)
    assert text.count("\n") <= 36
    assert text.count("40 in-domain") == 1
    assert text.count("finds shift ↑") == 3  # each table
    assert text.count("The uncertainty") >= 1
    assert all(f"error {k} of a system" in text for k in range(3))


def test_four_errors_of_one_file_leave_room_for_a_caution_and_all_tables(rng):
    caution = f"{CAREFUL}references per sentence: 2.82 in-domain, 2.54 shifted. The best of several counts, so that "
    caution += "scores differ for that reason alone: give all the same number"
    made = replace(few_records(rng, (40, 40)), warnings=(caution,))
    reports = [
        replace(made, title=f"error {k}: a system on a made-up language pair, 20,000 sentences") for k in range(4)
    ]
    text = printed(*reports)
    assert text.count("\n") <= 36
    assert " ".join(text.split()).count("Careful: references per sentence: 2.82 in-domain") == 1
    assert text.count("finds shift ↑") == 4
    assert " ".join(text.split()).count("mean error 0.") >= 4  # a sentence each names it


def test_an_arrow_of_a_heading_stays_with_its_word(rng):
    lines = printed(replace(few_records(rng, (40, 40)), error_name="100 − eGLEU")).split("\n")
    assert not any(re.search(r"^ +↓", line) for line in lines)


def test_the_first_screen_names_the_uncertainty_or_says_that_there_is_none(rng):
    known = model(rng, "m")
    assert "The uncertainty (total variance) follows" in text_of(known)
    bare = replace(known, system=replace(known.system, measure="", measures=()), uncertainty={"": np.zeros(N)})
    assert "“m” gives no uncertainty, so whether it knows where it is wrong cannot be told." in text_of(bare)


def test_an_uncertainty_that_is_the_same_for_all_records_is_told_as_such(rng):
    alike = scored.given("m", rng.random(N), {"said": np.ones(N)}, root=False)
    text = text_of(alike)
    assert "The uncertainty (said) is the same for every record, so whether it knows where it is wrong cannot" in text
    assert "ROC-AUC" not in text


def test_the_verdict_has_likelihood_and_width_on_both_sides(rng):
    report = build([(Records(N, shifted=SHIFTED), [model(rng, "m", shift=2.0)])], FEW)
    (sentence,) = (text for text in verdict(report) if "NLL" in text)
    numbers = r"-?[\d.−]+ \[[\d.−]+, [\d.−]+\]"
    assert re.fullmatch(
        rf"“m” has NLL {numbers} in-domain and {numbers} on shifted data; mean width of its 90 % intervals "
        rf"{numbers} kW in-domain and {numbers} kW on shifted data\.", sentence,
    )  # fmt: skip


def test_of_two_models_it_is_said_whose_intervals_are_meant(rng):
    text = text_of(model(rng, "one", said=0.5), model(rng, "other", scale=2.0, said=0.5))
    assert "The 90 % intervals of “one” are too narrow" in text


def test_the_picture_of_slices_calls_records_by_their_name(rng):
    group = np.where(np.arange(N) % 3, "old", "young")
    options = replace(FEW, records_name="patients")
    report = build([(Records(N, shifted=SHIFTED, slices={"age": group}), [model(rng, "m")])], options)
    drawn = score_figures.slices(report, "all")
    assert drawn is not None
    words = " ".join(label.text for label in drawn.panels[0].labels)
    assert "1,333 patients, 50 % shifted" in words
    assert "record" not in words


@pytest.mark.parametrize(("column", "group"), [("topography_bathymetry", "415 or more"), ("load", "from 5 to 15 ml")])
def test_a_row_of_the_picture_of_slices_shortens_the_column_and_keeps_the_group(column, group):
    text = score_figures.RowText(column, values="130 records, 57 % shifted", group=group).left
    assert text.endswith(f" = {group}")
    assert text.count("…") == (column != "load")


@pytest.mark.parametrize(("count", "lines"), [(1, 0), (2, 1)])
def test_a_line_marks_the_leader_only_among_others(rng, count, lines):
    systems = [model(rng, name) for name in ("one", "two")[:count]]
    report = build([(Records(N, shifted=SHIFTED), systems)], FEW)
    drawn = score_figures.summary(report, "all")
    assert drawn is not None
    assert len(drawn.panels[0].guides) == lines


def test_there_are_six_sentences_at_most_and_each_leads_to_a_table(report: Report):
    found = screen.findings(report)
    assert 1 <= len(found) <= 6
    kinds = {grid.kind for grid in grids(report) if grid.split in ("", main_split(report))}
    assert all(finding.kind in kinds | {"answers", "counts", "comparisons", "ranks", "systems"} for finding in found)


@pytest.mark.parametrize("name", [name for name in REPORTS if name not in ("empty", "nothing_defined")])
def test_every_sentence_of_the_page_is_linked_to_a_table_that_is_there(name):
    page = html(replace(REPORTS[name](), comparisons=(), ranks=()), pictures={})
    links = re.findall(r'<li[^>]*>(?:[^<]|</?b>)*<a href="#([^"]*)"', page)
    assert len(links) == len(screen.findings(replace(REPORTS[name](), comparisons=(), ranks=())))
    assert all(f'id="{link}"' in page for link in links)


def test_the_table_has_the_numbers_of_the_report_and_baselines_below():
    report = regression()
    grid = front_table.table(report)
    roles = {system.name: system.role for system in report.systems}
    order = [roles[row.label] == "baseline" for row in grid.rows]
    assert order == sorted(order)
    assert any(order)
    shown = next(g for g in grids(report) if g.kind == "answers" and g.split == main_split(report))
    of_first = next(row for row in shown.rows if row.label == grid.rows[0].label and row.hint != "single models")
    assert grid.rows[0].cells[0].text == of_first.cells[0].text


def test_a_baseline_is_never_cut_from_the_table():
    grid = front_table.table(regression(), most=2)
    roles = {system.name: system.role for system in regression().systems}
    assert [roles[row.label] == "baseline" for row in grid.rows] == [False, True]


def test_growth_under_shift_comes_first_with_its_factor(rng):
    text = text_of(model(rng, "m", shift=3.0))
    assert re.match(
        r"Under shift the error is (2\.\d|3|3\.\d) times as large: RMSE [\d.]+ → [\d.]+ kW \(95 % interval of", text
    )


def few_records(rng: np.random.Generator, sides: tuple[int, int], **words: str) -> Report:
    """A model and a baseline on so many in-domain and shifted records."""
    n, load = sum(sides), rng.normal(size=sum(sides))
    systems = [scored.given(name, rng.random(n), {"u": rng.random(n)}) for name in ("m", "b")]
    named = replace(systems[1], system=replace(systems[1].system, role="baseline"))
    terms = correlation.all_terms(load, {"ndsc": rng.random(n)})
    each = [replace(system, sets=terms) for system in (systems[0], named)]
    shifted = np.arange(n) >= sides[0] if sides[0] else None
    return build([(Records(n, shifted=shifted, split="eval"), each)], replace(FEW, task="errors", **words))


@pytest.mark.parametrize(
    ("sides", "told"), [((2, 1), "2 in-domain and 1 shifted"), ((40, 9), "40 in-domain and 9 shifted"), ((0, 9), "9")]
)
def test_of_too_few_records_nothing_is_concluded_and_that_comes_first(rng, sides, told):
    report = few_records(rng, sides, records_name="patients")
    first, *rest = [*(finding.line for finding in screen.findings(report)), *verdict(report)]
    each = " on each side" if sides[0] else ""
    assert first == (
        f"Too few patients for any conclusion: {told}; at least 10{each} are needed. "
        "The numbers describe these patients only."
    )
    claims = r"grows|falls|change|simpler|ROC-AUC|finds|ahead|baseline|Lowest|Differences|factor|times"
    assert not [line for line in rest if re.search(claims, line)]
    notes = " ".join(grid.note for grid in grids(report))
    gone = ["roc_auc", "shift_ratio"] * bool(sides[0])
    gone += ["rejection_ratio", "ndsc_load_pearson"] * (sum(sides) < 10)
    assert all(METRICS[name].title in notes for name in gone)
    assert "Pictures of their order or distribution are left out, too." in notes
    columns = [column.group for each in grids(report) for column in each.columns]
    assert not [name for name in gone for group in columns if group.startswith(METRICS[name].title)]
    drawn = {name.removeprefix("eval_") for name in plots.figures(report)}
    assert drawn.isdisjoint({"roc", "density", "parts"})


def test_of_too_few_records_the_scores_of_both_sides_have_their_unit(rng):
    system = scored.classification("m", Categorical(np.tile([0.8, 0.2], (1, 5, 1))), np.array([0, 0, 0, 0, 1]))
    records = Records(5, shifted=np.arange(5) >= 3)
    (told,) = [
        each.line
        for each in screen.findings(build([(records, [system])], replace(FEW, task="classification")))
        if " has accuracy " in each.line
    ]
    assert told == "“m” has accuracy 100.0 % in-domain and 50.0 % on shifted data."


def test_the_share_of_a_perfect_ranking_has_its_interval_if_there_is_one(rng):
    known = model(rng, "m", shift=3.0)
    told = text_of(known)
    both = r"[\d.]+ % in-domain and [\d.]+ % on shifted data"
    assert re.search(
        r"it does [\d.−]+ % of what a perfect ranking would do, 0 % being a random order "
        rf"\(95 % interval [\d.]+ to [\d.]+; {both}\)",
        told,
    )
    bare = replace(FEW, intervals=Settings(replicates=100, kind="normal"))
    report = build([(Records(N, shifted=SHIFTED), [known])], bare)
    report = replace(report, scores=tuple(replace(score, low=None, high=None) for score in report.scores))
    told = " ".join(finding.line for finding in screen.findings(report))
    told_without = rf"it does [\d.−]+ % of what a perfect ranking would do, 0 % being a random order \({both}\)"
    assert re.search(told_without, told), told


def test_a_report_calls_its_records_by_their_name_and_leaves_names_alone(rng):
    system = replace(model(rng, "records/of-mine.csv"), notes=("records.csv: 3 records of /data/records are odd",))
    report = build([(Records(N, shifted=SHIFTED), [system])], replace(FEW, records_name="patients"))
    page = re.sub(r"<(style|script)>.*?</\1>", "", html(report).partition('<section id="recipe"')[0], flags=re.DOTALL)
    text = re.sub(r"<[^>]*>", " ", page)
    assert "records.csv: 3 patients of /data/records are odd" in text
    left = re.findall(r"(?<![\w/])[Rr]ecords?\b(?![./])", text.replace("/data/records", ""))
    assert left == []
    assert "All patients" in text


def test_of_ten_records_on_each_side_all_is_told(rng):
    report = few_records(rng, (10, 10))
    assert "Too few" not in " ".join(each.line for each in screen.findings(report))
    assert {"eval_roc", "eval_density", "eval_parts"} <= {*plots.figures(report)}
    assert any(column.group.startswith("ROC-AUC") for each in grids(report) for column in each.columns)


def test_no_growth_is_not_told_as_growth(rng):
    assert text_of(model(rng, "m")).startswith("Under shift the error does not change significantly: RMSE ")


def masks(gain: float, gain_shifted: float, *, n: int = 200) -> Report:
    """A system with an overlap of 80 % in-domain and 50 % on shifted records, and gains around these values."""
    shifted = np.arange(n) % 2 == 1
    turns = np.linspace(-1, 1, n)
    overlap = np.where(shifted, 0.5, 0.8) + 0.1 * turns
    gains = np.where(shifted, gain_shifted, gain) + 0.2 * np.random.default_rng(0).normal(size=n)
    system = scored.given("m", 1 - overlap, {"u": 1 - overlap})
    system = replace(system, means={"ndsc": overlap, "lppv_gain": gains})
    options = Options(task="errors", error_name="1 − nDSC", intervals=Settings(replicates=100, kind="normal"))
    return build([(Records(n, shifted=shifted), [system])], options)


def test_an_error_that_is_the_rest_of_a_share_is_told_by_that_share_in_plain_words():
    first = screen.findings(masks(0.0, 0.0))[0].line
    assert re.match(
        r"Under shift the error \(1 − nDSC\) is 2.5 times as large: nDSC, the overlap with the true masks, "
        r"[\d.]+ % → [\d.]+ % \(95 % interval of the factor",
        first,
    ), first


@pytest.mark.parametrize(
    ("gains", "words"),
    [
        ((0.2, 0.1), "better than chance"),
        ((0.0, 0.0), "no better than chance"),
        ((-0.1, -0.1), "worse than chance"),
        ((0.2, 0.0), "better than chance in-domain and no better than chance on shifted data"),
    ],
)
def test_what_a_guess_may_reach_is_told_apart_from_chance_on_both_sides(gains, words):
    report = masks(*gains)
    (told,) = [each for each in screen.findings(report) if "predicted lesions" in each.text]
    (joint,) = [grid for grid in grids(report) if grid.kind == "joint"]
    assert "LPPV gain: mean over patients of the area under the lesion-wise positive predictive value" in joint.note
    assert "R-AUC: the area under the curve of the error over the share of" in joint.note
    assert told.text.startswith(
        f"By the lesion-wise positive predictive value (LPPV) the uncertainty of predicted lesions tells false "
        f"ones from true ones {words}: LPPV"
    )
    numbers = r"\S+ in-domain \(95 % interval \S+ to \S+\) and \S+ on shifted data \(\S+ to \S+\)"
    assert re.search(rf": LPPV gain \(0 is chance\) {numbers}\.$", told.text), told.text
    assert "LPPV gain ↑" in [
        column.group for grid in grids(report) if grid.kind == told.kind for column in grid.columns
    ]


def test_uncertainty_that_knows_nothing_is_told(rng):
    assert "may or may not rank errors better than chance" in text_of(model(rng, "m", know=False))
    assert "follows the errors in part" in text_of(model(rng, "m"))


def test_intervals_that_are_too_narrow_too_wide_or_hold_are_told(rng):
    assert "The 90 % intervals are too narrow: they contain" in text_of(model(rng, "m", said=0.5))
    assert "The 90 % intervals are too wide: they contain" in text_of(model(rng, "m", said=2.0))
    assert "The 90 % intervals hold: they contain" in text_of(model(rng, "m"))
    sd = np.where(SHIFTED, 3.0, 1.0)
    wrong = scored.regression(
        "m", Gaussian((sd * rng.normal(size=N))[None], np.ones((1, N))), np.zeros(N), role="model"
    )
    assert "The 90 % intervals are too narrow on shifted data: they contain" in text_of(wrong)


def test_something_simpler_that_is_better_as_good_or_worse_is_told(rng):
    ours = model(rng, "m")
    assert "The baseline “b” is not as good: it has RMSE" in text_of(ours, model(rng, "b", scale=2, role="baseline"))
    assert "Something simpler is better: the baseline “b” has RMSE" in text_of(
        ours, model(rng, "b", scale=0.5, role="baseline")
    )
    twin = replace(ours, system=replace(ours.system, name="b", role="baseline"), errors=ours.errors[::1] * 1.0)
    assert "Something simpler is as good: the baseline “b” has the same RMSE on shifted data, " in text_of(ours, twin)
    near = model(rng, "b", scale=1.02, role="baseline")
    assert re.search(
        r"Something simpler is as good, as far as one can tell: the baseline “b” has .* \(p = 0\.\d+\)",
        text_of(ours, near),
    )


def test_whether_a_baseline_is_better_is_told_with_its_test_or_as_not_tested(rng):
    ours, rival = model(rng, "m"), model(rng, "b", scale=0.5, role="baseline")
    report = build([(Records(N, shifted=SHIFTED), [ours, rival])], FEW)
    test = r" \(95 % interval of the difference [\d.]+ to [\d.]+; p < 0\.001\)\.$"
    assert re.search(f"against [\\d.]+ kW{test}", compared(report)), compared(report)
    bare = replace(report, comparisons=(), scores=tuple(replace(score, low=None, high=None) for score in report.scores))
    assert re.search(r"against [\d.]+ kW \(not tested\)", compared(bare)), compared(bare)


def test_of_several_baselines_the_best_is_named(rng):
    weak = [model(rng, name, scale=scale, role="baseline") for name, scale in (("b", 2.0), ("c", 3.0))]
    text = text_of(model(rng, "m"), *weak)
    assert "No baseline is as good: the best, “b”, has RMSE" in text
    assert "the baselines, lowest" in text_of(model(rng, "m"), model(rng, "n"), *weak)


def compared(report: Report) -> str:
    (text,) = (each.line for each in screen.findings(report) if each.kind == "comparisons")
    return text


def test_the_same_answers_of_two_systems_are_told_as_such(rng):
    ours = model(rng, "m")
    twin = replace(ours, system=replace(ours.system, name="twin"))
    records = Records(N, shifted=SHIFTED)
    assert compared(build([(records, [ours, twin])], FEW)) == (
        "“m” and “twin” have the same R-AUC and RMSE over all records."
    )
    three = [ours, twin, model(rng, "b", scale=2, role="baseline")]
    text = text_of(*three)
    assert re.search(
        r"Of 2 models and the baseline, lowest RMSE on shifted data: “m” and “twin”, both [\d.]+ kW\.", text
    )


def test_a_score_by_which_the_other_system_is_better_is_told_in_the_same_sentence(rng):
    """One has a few huge errors, the other more that are just too large: F1 of acceptable answers disagrees."""
    huge, many = np.zeros(N), np.where(rng.random(N) < 0.3, 1.5, 0.0)
    huge[:40] = 30.0
    pair = [
        scored.given(name, errors + 0.1 * rng.random(N), {"uncertainty": errors + rng.random(N)})
        for name, errors in (("huge", huge), ("many", many))
    ]
    options = replace(FEW, task="errors", threshold=1.0)
    text = compared(build([(Records(N, shifted=SHIFTED), pair)], options))
    told = (
        r"“huge” is better than “many” over all records by .* in R-AUC \(.*, but “many” is better by [\d.]+ in F1-AUC"
    )
    assert re.match(told, text), text
    assert "F1-AUC" not in compared(build([(Records(N, shifted=SHIFTED), pair)], replace(options, threshold=None)))


def test_where_two_scores_disagree_both_are_told(rng):
    ours, rival = model(rng, "m", scale=1.5), model(rng, "b", know=False, role="baseline")
    text = text_of(ours, rival)
    assert "Something simpler is better: the baseline “b” has RMSE" in text
    assert "; by R-AUC over all records “m” is better." in text
    ours, rival = model(rng, "m", scale=2.0, shift=0.4), model(rng, "b", role="baseline")
    text = text_of(ours, rival)
    assert "The baseline “b” is not as good: it has RMSE" in text
    assert "; by R-AUC over all records and by RMSE in-domain “b” is better." in text
    text = text_of(model(rng, "a", know=False), model(rng, "b", scale=1.2))
    assert re.search(
        r"“b” is better than “a” over all records by [\d.]+ in R-AUC \(.*, but “a” is better by [\d.]+ kW in ", text
    )


def test_answers_without_error_are_told_as_such():
    perfect = scored.regression("m", Gaussian(np.zeros((1, N)), np.ones((1, N))), np.zeros(N), role="model")
    assert text_of(perfect).startswith("No error in-domain or on shifted data: RMSE 0.00 kW.")


def told(*systems: Scored, **records: np.ndarray) -> list[str]:
    report = build([(Records(N, **{"shifted": SHIFTED, **records}), list(systems))], FEW)
    return [finding.line for finding in screen.findings(report)]


@pytest.mark.parametrize(
    ("clusters", "caution"),
    [
        (5, "Careful: there are no intervals or tests: 1,000 in-domain records come from 5 clusters and 1,000 "
            "shifted records come from 5 clusters; at least 10 clusters are needed, better 20. Differences may be "
            "chance."),
        (14, "Careful: intervals may be too short and p-values too small: there are only 14 clusters in-domain and "
             "14 clusters on shifted data (at least 20 are expected)."),
    ],
)  # fmt: skip
def test_few_clusters_are_told_once(rng, clusters, caution):
    lines = told(model(rng, "m"), model(rng, "b", role="baseline"), clusters=np.arange(N) * clusters // N)
    assert caution in lines
    assert sum("may be chance" in line or "more than chance" in line for line in lines if line != caution) <= 1


def test_enough_clusters_need_no_caution(rng):
    assert not any(line.startswith("Careful") for line in told(model(rng, "m"), clusters=np.arange(N) // 50))


@pytest.mark.filterwarnings("ignore::shiftbench.errors.ShiftbenchWarning")
def test_records_that_are_all_shifted_are_told_as_such(rng):
    lines = told(model(rng, "m"), shifted=np.ones(N, bool))
    assert lines[-1] == (
        "Careful: every record is marked as shifted, so there is nothing to compare: only the whole is scored."
    )
    assert sum(line.startswith("Careful") for line in lines) == 1


def test_a_warning_that_changes_the_reading_stands_with_the_answer():
    grave = f"{CAREFUL}column 'x' gives the target 'y' away, and is used nevertheless (--allow-leaks): it equals it"
    other = f"dev: {CAREFUL}every record is marked as shifted"
    lines = [each.line for each in screen.findings(replace(regression(), warnings=("slices: none", grave, other)))]
    assert [line for line in lines if "gives the target" in line] == [f"Careful: {grave.removeprefix(CAREFUL)}."]
    assert not any("slices" in line or "every record" in line for line in lines)


@pytest.mark.parametrize("width", [60, 80])
def test_wide_and_long_names_do_not_break_lines(rng, width):
    systems = [model(rng, f"模型-{place}-とても長い名前のシステム-{'x' * 9 * place}") for place in range(15)]
    lines = printed(build([(Records(N, shifted=SHIFTED), systems)], FEW), width=width).rstrip("\n").split("\n")
    assert len(lines) <= 36
    assert max(map(cell_len, lines)) <= width
    prose = [line for line in lines[1:] if line]
    assert all(line.startswith("  ") for line in prose), [line for line in prose if not line.startswith("  ")]


def test_two_reports_on_the_same_records_keep_their_comparison_and_tell_a_caution_once(rng):
    few = {"shifted": SHIFTED, "clusters": np.arange(N) * 5 // N}
    systems = [model(rng, f"m{place}") for place in range(3)] + [model(rng, "b", scale=0.5, role="baseline")]
    report = build([(Records(N, **few), systems)], FEW)
    text = " ".join(printed(report, report).split())
    assert text.count("Careful: there are no intervals or tests") == 1
    assert text.count("Something simpler is better: the baseline “b”") == 2
    assert text.count("Under shift the error") == 2
    assert text.count("finds shifted records no better than chance (ROC-AUC") == 2


def test_where_there_is_no_room_the_comparison_is_kept(rng):
    systems = [model(rng, f"m{place}", shift=2.0) for place in range(3)] + [model(rng, "b", role="baseline")]
    report = build([(Records(N, shifted=SHIFTED), systems)], FEW)
    cautions = tuple(f"{CAREFUL}number {place}" for place in range(3))
    lines = [each.line for each in screen.findings(replace(report, warnings=cautions))]
    assert len(lines) == 6
    assert [line.split()[0] for line in lines] == ["Under", "The", "Something", *["Careful:"] * 3]


def test_a_caution_is_there_however_little_room_there_is(rng):
    whole = build([(Records(N, shifted=SHIFTED), [model(rng, "b", scale=2), model(rng, "a")])], FEW)
    caution = f"{CAREFUL}references differ in their number, so that scores differ for that reason alone, give the same"
    reports = [replace(whole, title=f"error {k}", warnings=(f"{caution} for {k}.",)) for k in range(4)]
    text = printed(*reports)
    assert text.count("\n") <= 37
    lines = [line for line in text.split("\n") if "Careful" in line]
    assert len(lines) == 4
    assert all(line.startswith("  Careful: references differ in their number, so that") for line in lines)
    file = io.StringIO()
    Console(width=80, file=file).print(first_screen(reports, lines=20))
    short = [line for line in file.getvalue().split("\n") if "Careful" in line]
    assert len(short) == 4
    assert all(line.endswith("…") and len(line) <= 80 for line in short)


def test_sides_have_short_names_only_where_there_is_no_room(rng):
    report = build([(Records(N, shifted=SHIFTED), [model(rng, "m")])], FEW)
    assert "in-domain  shifted" in printed(report)
    narrow = next(line for line in printed(report, width=60).split("\n") if line.endswith("shifted"))
    assert narrow.split() == ["in", "shifted"] * 2


def test_a_long_title_takes_two_lines(rng):
    report = replace(build([(Records(N, shifted=SHIFTED), [model(rng, "m")])], FEW), title="a long title " * 50)
    lines = printed(report).split("\n")
    assert lines[1].endswith("…")
    assert lines[2].startswith("  Under shift the error does not change significantly")


def test_which_model_is_better_is_told_first_where_that_is_the_question_else_how_the_best_one_does(rng):
    records, models = Records(N, shifted=SHIFTED), [model(rng, "b", scale=2), model(rng, "a")]
    compared = build([(records, models)], replace(FEW, recipe={"command": "compare"}))
    first, *_ = (finding.line for finding in screen.findings(compared))
    assert re.match(
        r"“a” is better than “b” over all records by .* in R-AUC \(95 % interval .* to .*; p < 0\.001\) and by "
        r"[\d.]+ kW in RMSE \([\d.]+ to ",
        first,
    )
    lines = [finding.line for finding in screen.findings(build([(records, models)], FEW))]
    assert lines[0].startswith(
        "Under shift the error of “a” does not change significantly"
    )  # it is found better than b
    assert first in lines


def test_models_that_are_compared_by_different_measures_are_told_as_such(rng):
    names = ("negated_confidence", "entropy_of_expected")
    errors = [rng.random(N) < 0.3 for _ in names]
    pair = [
        scored.given(name[:1], wrong.astype(float), {name: wrong + rng.random(N)})
        for name, wrong in zip(names, errors, strict=True)
    ]
    told = text_of(*pair)
    known = "negated confidence of “n”, entropy of the probabilities of “e”"
    assert f"Their uncertainties are different measures: {known}." in told
    assert "different measures" not in text_of(model(rng, "a"), model(rng, "b", scale=2))
    given = scored.given("g", rng.random(N), {"uncertainty": rng.random(N)})
    assert "different measures: given values of “g”, negated confidence of “n”." in text_of(given, pair[0])


def test_what_the_uncertainty_owes_to_the_shift_alone_is_told(rng):
    shifted = np.where(SHIFTED, 5.0, 1.0)
    known = scored.given("m", shifted * rng.random(N), {"u": shifted + 0.1 * rng.random(N)})
    assert "on shifted data, so mostly by telling shifted from in-domain records)" in text_of(known)
    assert "so mostly" not in text_of(model(rng, "m"))


def test_a_ranking_that_is_wrong_on_shifted_data_is_told_before_the_one_over_all_records(rng):
    error = np.where(SHIFTED, 10.0, 1.0) * (1.0 + rng.random(N))
    said = np.where(SHIFTED, 100.0 - error, error)
    text = text_of(scored.given("m", error, {"u": said}, root=False))
    number = r"[\d.−]+ %"
    assert re.search(
        rf"The uncertainty \(u\) ranks errors worse than a random order on shifted data: it does −{number} of what a "
        rf"perfect ranking would do there, 0 % being a random order \(95 % interval −[\d.]+ to −[\d.]+\), but [\d.]+ % "
        rf"in-domain and {number} over all records, the latter mostly by telling shifted from in-domain records "
        r"\(ROC-AUC [\d.]+ %; chance: 50 %\)\.", text,
    ), text  # fmt: skip
    assert "ranks errors worse" not in text_of(model(rng, "m"))


def test_only_a_given_uncertainty_that_points_the_wrong_way_is_asked_whether_it_was_a_confidence(rng):
    error = rng.random(N)
    assert "Was it a confidence?" in text_of(scored.given("m", error, {"u": -error}))
    assert "Was it a confidence?" not in text_of(scored.given("m", error, {"total_variance": 2 - error}))


def of_groups(rng: np.random.Generator, group: np.ndarray, scale: np.ndarray) -> str:
    records = Records(N, shifted=SHIFTED, slices={"age": group})
    error = scale * rng.normal(size=N)
    system = scored.regression("m", Gaussian(np.zeros((1, N)), np.ones((1, N))), error, role="model")
    return front_table.worst_group(build([(records, [system])], FEW))


def test_the_worst_group_is_told_with_its_share_of_the_records(rng):
    old = np.arange(N) % 4 < 2
    group = np.where(old, "old", "young")
    assert re.match(
        r"worst group: age = old · RMSE [\d.]+ kW, 1,000 of 2,000 records$", of_groups(rng, group, 1.0 + 2 * old)
    )
    text = of_groups(rng, group, np.ones(N))
    assert re.match(r"worst group: age = (old \(age = young|young \(age = old) may be as bad\) · ", text), text


def test_a_group_that_is_all_of_the_shift_is_not_the_worst_group(rng):
    group = np.where(SHIFTED, "late", np.where(np.arange(N) % 4 < 2, "early", "mid"))
    text = of_groups(rng, group, np.where(SHIFTED, 9.0, np.where(group == "mid", 3.0, 1.0)))
    assert text.startswith("worst group other than the shift: age = mid · ")
    assert of_groups(rng, np.where(SHIFTED, "late", "early"), np.where(SHIFTED, 9.0, 1.0)) == ""


def test_neither_nearly_all_records_nor_the_better_rest_of_them_are_a_worst_group(rng):
    group = np.where(np.arange(N) % 10 == 0, "few", "most")
    assert of_groups(rng, group, np.where(group == "most", 3.0, 1.0)) == ""
    assert of_groups(rng, group, np.where(group == "most", 1.0, 3.0)).startswith("worst group: age = few · ")


def test_a_part_of_the_shifted_records_by_a_column_that_tells_the_shift_is_not_the_worst_group(rng):
    third = np.arange(N) % 3
    group = np.where(SHIFTED, np.where(third, "late", "latest"), np.where(third, "early", "mid"))
    text = of_groups(rng, group, np.where(group == "latest", 9.0, np.where(group == "early", 3.0, 1.0)))
    assert text.startswith("worst group other than the shift: age = early · "), text


def test_the_worst_group_of_classes_is_told_by_the_score_of_the_table(rng):
    group = np.where(np.arange(N) % 4, "old", "young")
    right = rng.random(N) < np.where(group == "young", 0.5, 0.9)
    system = scored.classification(
        "m", Categorical(np.tile([0.8, 0.2], (1, N, 1))), np.where(right, 0, 1), role="model"
    )
    report = build(
        [(Records(N, shifted=SHIFTED, slices={"age": group}), [system])], replace(FEW, task="classification")
    )
    percent = 100 * right[group == "young"].mean()
    assert (
        front_table.worst_group(report) == f"worst group: age = young · accuracy {percent:.1f} %, 500 of 2,000 records"
    )


def test_a_model_that_is_better_by_errors_and_uncertainty_together_is_told_beside_the_best_by_errors(rng):
    sharp, knowing = model(rng, "sharp", know=False), model(rng, "knowing", scale=1.15)
    records = [(Records(N, shifted=SHIFTED), [sharp, knowing, model(rng, "flat", scale=2)])]
    report = build(records, replace(FEW, intervals=Settings(replicates=200, kind="percentile")))
    (told,) = (each for each in screen.findings(report) if each.text.startswith("Of 3 models"))
    assert told.text.startswith("Of 3 models, lowest RMSE on shifted data: “sharp”, ")
    # Of three pairs the smallest adjusted p that 200 replicates can tell is 3/201, an upper bound.
    assert told.text.endswith("; by R-AUC over all records “knowing” is better than “sharp” (p ≤ 0.015).")
    assert told.kind == "comparisons"
    swapped = build([(records[0][0], records[0][1][1:])], FEW)  # the best by R-AUC is the leading one
    assert "is better than" not in " ".join(each.text for each in screen.findings(swapped) if each.kind == "ranks")


def test_of_several_models_alone_the_best_is_told(rng):
    models = [model(rng, "a"), model(rng, "b", scale=2), model(rng, "c", scale=3)]
    assert "Of 3 models, lowest RMSE on shifted data: “a”, " in text_of(*models)
    assert "Of 3 models and the baseline, lowest" in text_of(*models, model(rng, "d", role="baseline"))


@pytest.mark.parametrize("width", range(60, 84, 3))
def test_p_values_stay_on_their_line(rng, width):
    report = build([(Records(N, shifted=SHIFTED), [model(rng, "a"), model(rng, "b", scale=2)])], FEW)
    text = printed(report, width=width)
    assert text.count("p < 0.001") == 2
    assert text.replace("p < ", "").count("<") == 0


def test_the_interval_of_a_difference_keeps_its_sign(rng):
    a, b = model(rng, "a"), model(rng, "b", scale=2)
    report = build([(Records(N, shifted=SHIFTED), [a, b])], FEW)
    turned = [
        replace(each, low=-abs(each.difference) * 2, high=abs(each.difference) / 2) for each in report.comparisons
    ]
    found = screen.findings(replace(report, comparisons=tuple(turned)))
    (told,) = (each.line for each in found if each.kind == "comparisons")
    assert re.match(
        r"“a” is better than “b” over all records by [\d.]+( kW²)? in R-AUC \(95 % interval −[\d.]+ to [\d.]+; ", told
    ), told


@pytest.mark.parametrize("name", ["the", "baseline", "raw forecast", "my records, model", "a “quoted” one"])
def test_a_name_is_marked_in_sentences_so_that_it_reads_as_one(rng, name):
    systems = [model(rng, "m"), model(rng, name, scale=2, role="baseline")]
    report = build([(Records(N, shifted=SHIFTED), systems)], replace(FEW, records_name="patients"))
    shown = name.translate(str.maketrans("“”", "‘’"))
    assert f"The baseline “{shown}” is not as good: it has RMSE" in " ".join(printed(report, width=120).split())
    assert f"The baseline “{shown}” is not as good: it has RMSE" in markdown(report)
    assert f"The baseline <b>{shown}</b> is not as good: it has RMSE" in html(report, pictures={})
    assert f"The baseline <b>{shown}</b> is not as good: it has RMSE" in report._repr_html_()
    assert f"beats the baseline “{shown}”" in " ".join(verdict(report))


def classes(rng: np.random.Generator, inside: float, shifted: float) -> Report:
    """A classifier whose confidence is this much above (below) its accuracy in-domain and on shifted records."""
    confidence = rng.uniform(0.6, 0.8, 10 * N)
    there = np.arange(10 * N) % 2 == 1
    right = rng.random(10 * N) < confidence - np.where(there, shifted, inside)
    ensemble = Categorical(np.stack([confidence, 1 - confidence], axis=-1)[None])
    system = scored.classification("m", ensemble, np.where(right, 0, 1), role="model")
    return build([(Records(10 * N, shifted=there), [system])], replace(FEW, task="classification"))


@pytest.mark.parametrize(
    ("inside", "shifted", "words"),
    [
        (0.05, 0.15, "above accuracy in-domain and {} points above it on shifted data (overconfident); "),
        (-0.1, -0.1, "below accuracy in-domain and {} points below it on shifted data (underconfident); "),
        (-0.1, 0.1, "below accuracy in-domain (underconfident) and is {} points above it on shifted data "
                    "(overconfident); "),
        (0.0, 0.1, "matches accuracy in-domain ({} points "),
        (0.0, 0.0, "The confidence matches accuracy in-domain ({} points "),
    ],
)  # fmt: skip
def test_a_calibration_error_has_its_direction_in_points(rng, inside, shifted, words):
    report = classes(rng, inside, shifted)
    (told,) = (each.text for each in screen.findings(report) if each.kind == "calibration")
    assert re.search(re.escape(words).replace(r"\{\}", r"[\d.]+"), told), told
    assert re.search(r"ECE\) is [\d.]+ points in-domain and [\d.]+ points on shifted data\.$", told), told
    gap = report.score("overconfidence", system="m", split="all", subset="shifted")
    assert gap.value == pytest.approx(shifted, abs=0.015)
    assert gap.low <= gap.value <= gap.high
    found = report.score("ece", system="m", split="all", subset="shifted")
    assert found.value >= abs(gap.value) - 1e-12  # a mean of absolute values
    headings = " ".join(column.title for column in front_table.table(report).columns) + " ".join(
        column.group for column in front_table.table(report).columns
    )
    assert "ECE ↓ (points)" in headings


def test_differences_of_percentages_are_in_points(rng):
    right = rng.random((2, N)) < np.array([[0.9], [0.6]])
    systems = [
        scored.classification(name, Categorical(np.tile([0.8, 0.2], (1, N, 1))), np.where(own, 0, 1), role="model")
        for name, own in zip("ab", right, strict=True)
    ]
    report = build([(Records(N, shifted=SHIFTED), systems)], replace(FEW, task="classification"))
    assert re.search(
        r"“a” is better than “b” over all records by .*[\d.]+ points in accuracy \(", " ".join(verdict(report))
    )
    (grid,) = (grid for grid in grids(report) if grid.kind == "comparisons")
    assert "Accuracy ↑ (points)" in {row.cells[1].text for row in grid.rows}


def test_what_conformal_intervals_cost_is_told(rng):
    n = 6 * N
    shifted = np.arange(n) % 2 == 1
    error = rng.normal(size=n)
    predictions = Gaussian(np.zeros((1, n)), np.full((1, n), 0.25))  # half as wide as it should be
    system = scored.regression("m", predictions, error, role="model")
    member = np.arange(n) < N
    split, apart = set_aside(Records(n, shifted=shifted), [system], member)
    report = build([split], FEW, calibration=apart)
    (told,) = (each.text for each in screen.findings(report) if each.kind == "conformal")
    values = [
        report.score(name, system="m", split="all", subset="shifted").value
        for name in ("conformal_split_size_90", "width_90")
    ]
    assert values[1] == pytest.approx(2 * 1.645 * 0.5, rel=0.01)
    assert values[0] > 1.8 * values[1]
    assert re.search(
        rf"Conformal intervals calibrated on separate records contain [\d.]+ % on shifted data \({values[0]:.1f}\d* kW "
        rf"wide\), instead of [\d.]+ % \({values[1]:.1f}\d* kW\)\.$",
        told,
    ), (told, values)


def test_conformal_intervals_that_would_be_infinite_are_told_as_such(rng):
    error = rng.normal(size=N)
    system = scored.regression("m", Gaussian(np.zeros((1, N)), np.full((1, N), 0.25)), error, role="model")
    member = np.arange(N) < 8  # in-domain 4: of 90 % at least 9 are needed
    split, apart = set_aside(Records(N, shifted=SHIFTED), [system], member)
    found = screen.findings(build([split], FEW, calibration=apart))
    (told,) = (each.text for each in found if "infinite" in each.text)
    assert told.endswith(" Conformal intervals would be infinite: too few calibration records.")


@pytest.mark.parametrize(
    ("worse", "held"),
    [
        (1.0, r" hold: the right class is in [\d.]+ % of them in-domain \([\d.]+ classes on average\), [\d.]+ % on "),
        (0.3, r" are too small on shifted data: the right class is in [\d.]+ % of them in-domain "),
    ],
)
def test_what_conformal_sets_of_classes_hold_is_told_of_both_sides(rng, worse, held):
    n = 2 * N
    shifted = np.arange(n) % 2 == 1
    logits = rng.normal(size=(n, 4)) * 1.5
    sure = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    truth = np.exp(logits * np.where(shifted, worse, 1.0)[:, None])
    draws = (truth / truth.sum(axis=1, keepdims=True)).cumsum(axis=1) > rng.random(n)[:, None]
    system = scored.classification("m", Categorical(sure[None]), draws.argmax(axis=1), role="model")
    split, apart = set_aside(Records(n, shifted=shifted), [system], np.arange(n) < N)
    report = build([split], replace(FEW, task="classification"), calibration=apart)
    (told,) = (each.text for each in screen.findings(report) if each.kind == "conformal")
    assert re.match(rf"Conformal sets of classes \(nominal 90 %, calibrated on separate records\){held}", told), told
    for name, digits in (("conformal_split_coverage_90", ".1f"), ("conformal_split_size_90", ".3g")):
        values = [report.score(name, system="m", split="all", subset=side).value for side in ("in", "shifted")]
        for value in values:
            assert f"{100 * value if 'coverage' in name else value:{digits}}" in told
    older = replace(report, recipe=report.recipe | {"conformal": {"calibrated_on": "records of their own"}})
    assert told in [each.text for each in screen.findings(older)]


def test_a_leak_stands_with_the_answer():
    report = regression()
    leak = Leak(main_split(report), "day", 60, 100, 1.4, 1.2, 1.6)
    found = screen.findings(replace(report, leaks=(leak,)))
    careful = [finding.line for finding in found if finding.careful]
    assert any(
        line.startswith("Careful: in-domain is probably too good, as 60 % of in-domain records") for line in careful
    )
    assert any("share their “day” with train" in line for line in careful)


def test_without_marks_of_the_shift_nothing_is_said_of_robustness(rng):
    text = text_of(model(rng, "m"), shifted=None)
    assert text.startswith("“m” has RMSE ")
    assert "this says nothing about robustness" in text


@pytest.mark.parametrize("name", [name for name in REPORTS if name != "hostile"])
def test_first_screens_have_no_empty_or_undefined_words(name):
    text = printed(REPORTS[name]())
    assert not any(word in text for word in ("nan", "None", "inf ", "  ,", "()"))


def test_that_no_answer_is_acceptable_comes_first():
    report = regression()
    none = [*report.scores, Score("deep_ensemble", "eval", "full", "acceptable", 0.0, 9)]
    first = screen.findings(replace(report, scores=tuple(none)))[0].text
    assert first.startswith("No answer of “deep_ensemble” is acceptable (threshold 1")
    assert not screen.findings(report)[0].text.startswith("No answer")
