from __future__ import annotations

import re
from dataclasses import replace

import pytest

from shiftbench.report.content import Report
from shiftbench.report.verdict import verdict
from shiftbench.report.view import lead, main_split, measure_title, warning_sentence
from shiftbench.scores.score import Comparison, Count, Score, System

from .factory import empty, errors_only, many, regression, with_test_set


def made(
    *,
    inside: tuple[float, ...],
    shifted: tuple[float, ...],
    task: str = "regression",
    metric: str = "rmse",
    extra: tuple[Score, ...] = (),
    systems: tuple[System, ...] = (System("net", "ensemble", "entropy"),),
    factor: tuple[float, ...] = (),
    **fields,
) -> Report:
    """A report of one system with (value, low, high) or (value,) in-domain and shifted, and perhaps their ratio."""
    scores = [
        Score(
            "net",
            "eval",
            subset,
            metric,
            numbers[0],
            100,
            low=(*numbers, None, None)[1],
            high=(*numbers, None, None)[2],
        )
        for subset, numbers in (("in", inside), ("shifted", shifted))
    ]
    scores += _factor("net", factor)
    blank = Report("made", task, "published", 1.0, "°C", "°C²", "squared error", systems=systems)
    return replace(blank, counts=(Count("eval", "full", 200),), scores=(*scores, *extra), **fields)


def _factor(name: str, numbers: tuple[float, ...]) -> list[Score]:
    if not numbers:
        return []
    value, low, high = (*numbers, None, None)[:3]
    return [Score(name, "eval", "full", "shift_ratio", value, 200, low=low, high=high)]


CHANCE = "Under shift the error does not change significantly: RMSE "


def test_a_rise_is_told_with_its_factor():
    told = verdict(made(inside=(2.0, 1.9, 2.1), shifted=(3.0, 2.8, 3.2), factor=(1.5, 1.38, 1.63)))[0]
    assert told == "Under shift the error grows by 50 %: RMSE 2.00 → 3.00 °C (×1.50, 95 % interval 1.38 to 1.63)."


@pytest.mark.parametrize(("low", "rises"), [(1.05, True), (0.95, False)])
def test_the_interval_of_the_factor_tells_the_sides_apart_however_their_own_intervals_lie(low, rises):
    for shifted in ((2.4, 1.9, 2.9), (2.4, 2.3, 2.5)):
        told = verdict(made(inside=(2.0, 1.9, 2.1), shifted=shifted, factor=(1.2, low, 1.5)))[0]
        assert told.startswith("Under shift the error grows by 20 %" if rises else CHANCE)


def test_a_report_of_an_earlier_version_tells_its_factor_without_an_interval():
    told = verdict(made(inside=(2.0, 1.9, 2.1), shifted=(3.0, 2.8, 3.2)))[0]
    assert told == "Under shift the error grows by 50 %: RMSE 2.00 → 3.00 °C (×1.50)."


@pytest.mark.parametrize(
    ("clusters", "cause"),
    [(1, "1,100 shifted records come from one cluster"), (4, "1,100 shifted records come from 4 clusters")],
)
def test_too_few_clusters_are_told_once_with_their_cause(clusters, cause):
    report = made(inside=(2.0, 1.9, 2.1), shifted=(3.0,), factor=(1.5,))
    few = [
        replace(score, no_interval="too few clusters") if score.low is None else score for score in report.scores
    ]  # fmt: skip
    counts = (
        Count("eval", "in", 100, 40), Count("eval", "shifted", 1_100, clusters), Count("eval", "full", 1_200, 44)
    )  # fmt: skip
    told = verdict(replace(report, scores=tuple(few), counts=counts))
    (sentence,) = (text for text in told if "clusters are" in text)
    assert sentence == (
        f"Careful: there are no intervals or tests on shifted data and over all records: {cause}; at least 10 clusters "
        "are needed, better 20. Differences there may be chance."
    )


def test_a_fall_is_told_as_one():
    assert "Under shift the error falls by 33 %" in verdict(made(inside=(3.0, 2.8, 3.2), shifted=(2.0, 1.9, 2.1)))[0]


def test_what_intervals_do_not_separate_cannot_be_told_apart():
    assert verdict(made(inside=(2.0, 1.7, 2.3), shifted=(2.2, 1.9, 2.5)))[0].startswith(CHANCE)


def test_without_intervals_nothing_is_certain():
    told = verdict(made(inside=(2.0,), shifted=(3.0,)))
    assert "Careful: no intervals were made, so differences may be chance." in told


def test_accuracy_is_told_by_the_share_of_wrong_answers():
    moves = {"inside": (0.9, 0.89, 0.91), "shifted": (0.8, 0.78, 0.82), "factor": (2.0, 1.8, 2.3)}
    told = verdict(made(**moves, task="classification", metric="accuracy"))[0]
    assert told.startswith("Under shift the share of wrong answers is 2 times as large: accuracy 90.0 → 80.0 % (95 % ")


@pytest.mark.parametrize(
    ("factor", "words", "bracket"),
    [
        ((3.29, 3.02, 3.57), "is 3.3 times as large", " (95 % interval of the factor 3.02 to 3.57)"),
        ((150.0, 120.0, 190.0), "is 150 times as large", " (95 % interval of the factor 120 to 190)"),
        ((3.29,), "is 3.3 times as large", ""),
    ],
)
def test_a_factor_told_in_words_is_not_repeated(factor, words, bracket):
    told = verdict(made(inside=(2.0, 1.9, 2.1), shifted=(6.58, 6.1, 7.1), factor=factor))[0]
    assert told.startswith(f"Under shift the error {words}: ")
    assert told.endswith(f" °C{bracket}.")
    assert "×" not in told


def test_a_perfect_in_domain_score_has_no_factor_but_a_reading():
    told = verdict(made(inside=(0.0, 0.0, 0.0), shifted=(1.0, 0.8, 1.2)))[0]
    assert told == "Under shift the error grows: RMSE 0.00 → 1.00 °C."


def baseline(value: float, *ends: float, subset: str = "shifted") -> Score:
    low, high = ends or (None, None)
    return Score("raw", "eval", subset, "rmse", value, 100, low=low, high=high)


WITH_BASELINE = (System("net", "ensemble", "entropy"), System("raw", "baseline"))


def against(score: Score, more: tuple[Score, ...] = (), **fields) -> str:
    extra = (score, *more)
    report = made(inside=(2.0, 1.9, 2.1), shifted=(2.7, 2.5, 2.9), systems=WITH_BASELINE, extra=extra, **fields)
    return " ".join(verdict(report))


def test_a_baseline_that_beats_the_model_is_not_hidden():
    told = against(baseline(1.9, 1.8, 2.0))
    assert "The baseline “raw” beats “net” on shifted data: RMSE 1.90 [1.80, 2.00] against 2.70 [2.50, 2.90] °C" in told


def test_a_beaten_baseline_is_named():
    assert "By RMSE, “net” beats the baseline “raw” on shifted data." in against(baseline(5.0, 4.5, 5.5))


def test_the_same_outcome_on_both_sides_is_told_once():
    told = against(baseline(5.0, 4.5, 5.5), more=(baseline(4.0, 3.5, 4.5, subset="in"),))
    assert "By RMSE, “net” beats the baseline “raw” on shifted data and in-domain." in told


def test_a_baseline_with_overlapping_interval_cannot_be_told_apart():
    assert "“net” cannot be told apart from the baseline “raw” on shifted data." in against(baseline(2.6, 2.4, 2.8))


@pytest.mark.parametrize(("a", "b", "difference"), [("net", "raw", 0.1), ("raw", "net", -0.1)])
def test_a_paired_test_decides_where_intervals_overlap(a, b, difference):
    ends = sorted((difference * 0.5, difference * 1.5))
    found = Comparison("eval", "shifted", "rmse", a, b, difference, *ends, 0.0001, 0.0002)
    told = against(baseline(2.6, 2.4, 2.8), comparisons=(found,))
    assert "The baseline “raw” beats “net” on shifted data" in told
    assert "(paired difference 0.10 [0.05, 0.15] °C, adjusted p < 0.001)" in told


def test_a_paired_test_that_separates_nothing_overrules_the_values():
    found = Comparison("eval", "shifted", "rmse", "net", "raw", 0.8, -0.1, 1.7, 0.04, 0.08)
    assert "“net” cannot be told apart from the baseline “raw”" in against(
        baseline(1.9, 1.8, 2.0), comparisons=(found,)
    )


@pytest.mark.parametrize(
    ("replicates", "told"), [(10, "The baseline “raw” beats “net”"), (1000, "cannot be told apart")]
)
def test_a_test_that_replicates_are_too_few_for_is_not_asked(replicates, told):
    """The intervals of 1.9 and 2.6 are far from each other; a p of ten replicates could never be below 0.05."""
    found = Comparison("eval", "shifted", "rmse", "net", "raw", 0.8, -0.1, 1.7, 0.09, 0.09)
    recipe = {"intervals": {"level": 0.95, "replicates": replicates, "used": {"eval": "percentile"}}}
    assert told in against(baseline(1.9, 1.8, 2.0), comparisons=(found,), recipe=recipe)


def test_the_level_of_the_recipe_decides_what_is_told_apart():
    found = Comparison("eval", "shifted", "rmse", "net", "raw", 0.8, 0.1, 1.7, 0.04, 0.08)
    told = against(baseline(1.9, 1.8, 2.0), comparisons=(found,), recipe={"intervals": {"level": 0.9}})
    assert "The baseline “raw” beats “net”" in told


def uncertain(metric: str, value: float, *ends: float) -> str:
    score = Score(
        "net", "eval", "full", metric, value, 200, "entropy", low=(*ends, None)[0], high=(*ends, None, None)[1]
    )
    return " ".join(verdict(made(inside=(2.0, 1.9, 2.1), shifted=(3.0, 2.8, 3.2), extra=(score,))))


@pytest.mark.parametrize(
    ("metric", "numbers", "reading"),
    [
        ("rejection_ratio", (0.85, 0.8, 0.9), "follows the errors closely: it does 85.0 % of what a perfect ranking"),
        ("rejection_ratio", (0.4, 0.3, 0.5), "follows the errors in part: it does 40 %"),
        ("rejection_ratio", (0.1, 0.05, 0.15), "hardly follows the errors: it does 10.0 %"),
        ("rejection_ratio", (0.1, -0.1, 0.3), "may or may not rank errors better than chance: it does 10 %"),
        ("rejection_ratio", (0.01, -0.03, 0.05), "ranks errors no better than chance: it does 1.0 %"),
        (
            "rejection_ratio",
            (-0.3, -0.4, -0.2),
            "points the wrong way: its rejection ratio is −30 %, 0 % being a random",
        ),
        ("roc_auc", (0.71, 0.65, 0.77), "finds shifted records (ROC-AUC 71.0 %; chance: 50 %)"),
        ("roc_auc", (0.61, 0.57, 0.66), "finds shifted records only weakly (ROC-AUC 61.0 %; chance: 50 %)"),
        ("roc_auc", (0.51, 0.47, 0.545), "finds shifted records no better than chance (ROC-AUC 51.0 %; chance: 50 %)"),
        (
            "roc_auc",
            (0.588, 0.491, 0.679),
            "may or may not find shifted records (ROC-AUC 58.8 %, 95 % interval 49.1 to 67.9;",
        ),
        ("roc_auc", (0.47, 0.39, 0.55), "may or may not find shifted records (ROC-AUC 47.0 %, 95 % interval 39"),
        ("roc_auc", (0.31, 0.25, 0.37), "is lower on shifted records"),
        ("roc_auc", (0.71,), "finds shifted records (ROC-AUC 71.0 %; chance: 50 %)"),
        ("roc_auc", (0.5,), "finds shifted records no better than chance"),
        ("roc_auc", (0.503,), "finds shifted records no better than chance (ROC-AUC 50.3 %; chance: 50 %)"),
        ("roc_auc", (0.48,), "finds shifted records no better than chance (ROC-AUC 48.0 %; chance: 50 %)"),
        ("roc_auc", (0.41,), "is lower on shifted records (ROC-AUC 41.0 %; chance: 50 %)"),
    ],
)
def test_whether_the_uncertainty_follows_is_read_off_the_interval(metric, numbers, reading):
    assert f"The uncertainty (entropy) {reading}" in uncertain(metric, *numbers)


@pytest.mark.parametrize(
    ("inside", "shifted", "alone"),
    [
        ((0.1, -0.1, 0.3), (0.5, 0.4, 0.6), "In-domain"),
        ((0.5, 0.4, 0.6), (0.1, -0.1, 0.3), "On shifted data"),
        ((0.1, -0.1, 0.3), (0.1, -0.2, 0.4), "In-domain and on shifted data"),
        ((0.5, 0.4, 0.6), (0.3, 0.1, 0.4), ""),
    ],
)
def test_an_uncertainty_that_ranks_nothing_on_one_side_is_told(inside, shifted, alone):
    sides = {"full": (0.4, 0.3, 0.5), "in": inside, "shifted": shifted}
    ratios = [
        Score("net", "eval", side, "rejection_ratio", value, 200, "entropy", low=low, high=high)
        for side, (value, low, high) in sides.items()
    ]
    told = verdict(made(inside=(2.0, 1.9, 2.1), shifted=(3.0, 2.8, 3.2), extra=tuple(ratios)))
    sentence = f"{alone} alone the uncertainty of “net” ranks errors no better than chance."
    assert [text for text in told if " alone " in text] == [sentence] * bool(alone)


def test_nothing_is_said_about_shift_where_nothing_is_shifted():
    told = verdict(errors_only())
    assert "Careful: records are not marked as in-domain and shifted, so this says nothing about robustness." in told
    assert (
        "No threshold for acceptable errors was given, so there is no F1 of acceptable answers (F1-AUC, F1@95%)."
        in told
    )


def test_what_makes_a_system_doubtful_is_told_under_its_name():
    report = errors_only()
    doubtful = replace(report.systems[0], caution="Training ended suspiciously early: 3 of 4 models.")
    told = verdict(replace(report, systems=(doubtful, *report.systems[1:])))
    assert "Careful: training ended suspiciously early: 3 of 4 models." in told
    assert not any("suspiciously" in sentence for sentence in verdict(report))


def test_many_systems_share_a_sentence():
    told = verdict(many())
    assert len(told) < 12
    assert any(sentence.startswith("Of the 14 other systems,") for sentence in told)


def test_every_system_has_its_change_told():
    told = verdict(regression())
    for system in regression().systems[2:]:
        if system.role != "single":
            own = [sentence for sentence in told if system.name in sentence]
            change = ("Under shift the error of", "times as large", "not change significantly")
            assert any(words in sentence for sentence in own for words in change)


def several(**moves: tuple[tuple[float, ...], ...]) -> list[str]:
    """The verdict on a system that rises and others with (value, low, high) in-domain, shifted and of the factor."""
    scores = [
        Score(name, "eval", subset, metric, value, 100, low=low, high=high)
        for name, pair in moves.items()
        for subset, numbers in zip(("in", "shifted"), pair[:2], strict=True)
        for metric, (value, low, high) in (("rmse", (*numbers, None, None)[:3]),)
    ]
    scores += [score for name, pair in moves.items() if len(pair) > 2 for score in _factor(name, pair[2])]
    systems = (System("net", "ensemble", "entropy"), *(System(name, "model", "entropy") for name in moves))
    return verdict(made(inside=(2.0, 1.9, 2.1), shifted=(3.0, 2.8, 3.2), systems=systems, extra=tuple(scores)))


def test_systems_that_move_alike_share_a_sentence():
    same, more = ((2.0, 1.7, 2.3), (2.2, 1.9, 2.5)), ((2.0, 1.9, 2.1), (4.0, 3.9, 4.1), (2.0, 1.89, 2.12))
    told = several(a=more, b=same, c=more, d=((4.0, 3.9, 4.1), (2.0, 1.9, 2.1), (0.5, 0.47, 0.53)))
    assert (
        "“a” and “c” do worse on shifted data than in-domain: RMSE 2.00 [1.89, 2.12] and 2.00 [1.89, 2.12] times"
        in (told_of(told, "“a” and “c”"))
    )
    assert told_of(told, "“d” does").startswith("“d” does better on shifted data than in-domain: RMSE 0.500 [")
    assert "Under shift “b” does not change significantly (RMSE)." in told


def test_without_intervals_nothing_is_certain_of_several():
    told = several(
        a=((2.0,), (3.0,)),
        b=((0.0,), (3.0,)),
        c=((2.0, 1.9, 2.1), (3.0, 2.8, 3.2), (1.5, 1.38, 1.63)),
        d=((2.0,), (2.0,)),
    )
    chance = "without intervals this may be chance."
    assert (
        told_of(told, "“a” does")
        == f"“a” does worse on shifted data than in-domain: RMSE 1.50 times as large; {chance}"
    )
    assert told_of(told, "“b” does") == f"“b” does worse on shifted data than in-domain; {chance}", (
        "from 0 on no factor"
    )
    assert told_of(told, "“c” does") == (
        "“c” does worse on shifted data than in-domain: RMSE 1.50 [1.38, 1.63] times as large."
    ), "the doubt is that of others"
    assert "Under shift “d” does not change significantly (RMSE)." in told


def test_what_is_equal_neither_rises_nor_falls():
    assert verdict(made(inside=(2.0,), shifted=(2.0,)))[0].startswith(CHANCE)
    assert verdict(made(inside=(0.0,), shifted=(0.0,)))[0].startswith("No error in-domain or on shifted data: RMSE ")


def test_many_systems_without_intervals_are_counted_by_their_values():
    told = several(**dict.fromkeys("abcde", ((1.0,), (9.0,))))
    assert "All 5 other systems do worse on shifted data than in-domain; without intervals this may be chance." in told


UP, DOWN, LEVEL = ((1.0, 0.9, 1.1), (9.0, 8.0, 9.9)), ((9.0, 8.0, 9.9), (1.0, 0.9, 1.1)), ((1.0, 0.5, 2.0),) * 2


@pytest.mark.parametrize(
    ("numbers", "sentence"),
    [
        ([UP] * 5, "All 5 other systems do worse on shifted data than in-domain."),
        ([DOWN] * 5, "All 5 other systems do better on shifted data than in-domain."),
        ([LEVEL] * 5, "None of the 5 other systems changes significantly under shift (RMSE)."),
        (
            [UP] * 4 + [DOWN],
            "Of the 5 other systems, 4 do worse and 1 does better on shifted data than in-domain.",
        ),
        (
            [UP] + [LEVEL] * 4,
            "Of the 5 other systems, 1 does worse on shifted data than in-domain; 4 do not change significantly.",
        ),
    ],
)
def test_of_many_systems_only_what_some_do_is_told(numbers, sentence):
    assert sentence in several(**dict(zip("abcde", numbers, strict=True)))


@pytest.mark.parametrize(
    ("factor", "text"),
    [
        ((150_000.0, 133_350.0, 169_727.0), "150,000 [133,350, 169,727]"),
        ((1 / 1500, 0.000589, 0.00075), "0.000667 [0.000589, 0.00075]"),
    ],
)
def test_a_factor_is_written_out_however_large_or_small(factor, text):
    up = ((1.0,), (factor[0],), factor)
    assert f": RMSE {text} times as large." in told_of(several(a=up), "“a” does")


def told_of(told: list[str], start: str) -> str:
    (found,) = (sentence for sentence in told if sentence.startswith(start))
    return found


def test_uncertainties_of_which_the_same_holds_share_a_sentence():
    moves = ((2.0, 1.9, 2.1), (3.0, 2.8, 3.2))
    ratios = {"a": (0.4, 0.3, 0.5), "b": (-0.4, -0.5, -0.3), "c": (0.45, 0.35, 0.55)}
    extra = [
        Score(name, "eval", subset, "rmse", *numbers[:1], 100, low=numbers[1], high=numbers[2])
        for name in ratios
        for subset, numbers in zip(("in", "shifted"), moves, strict=True)
    ]
    extra += [
        Score(name, "eval", "full", metric, value + add, 100, low=low + add, high=high + add)
        for name, (value, low, high) in ratios.items()
        for metric, add in (("rejection_ratio", 0.0), ("roc_auc", 0.5))
    ]
    systems = (System("net", "ensemble", "entropy"), *(System(name, "model", "entropy") for name in ratios))
    told = verdict(made(inside=moves[0], shifted=moves[1], systems=systems, extra=tuple(extra)))
    assert "The uncertainty of “a” and “c” ranks errors: rejection ratio 40 [30, 50] % and 45 [35, 55] %." in told
    assert "The uncertainty of “b” ranks errors the wrong way round: rejection ratio −40 [−50, −30] %." in told
    assert (
        "The uncertainty of “a” and “c” is higher on shifted records: ROC-AUC 90 [80, 100] % and 95 [85, 105] %."
        in told
    )


def test_a_measure_that_ranks_better_than_the_one_of_the_report_is_named():
    report = regression()
    first = lead(report)
    mine = report.score("r_auc", system=first.name, split=main_split(report), subset="full")
    other = "knowledge_variance" if first.measure != "knowledge_variance" else "total_variance"
    known = replace(first, measures=(first.measure, other))
    report = replace(report, systems=tuple(known if system is first else system for system in report.systems))
    better, alike = (replace(mine, measure=other, value=v, low=None, high=None) for v in (mine.low / 2, mine.value))
    kept = tuple(score for score in report.scores if (score.metric, score.measure) != ("r_auc", other))
    (told,) = (text for text in verdict(replace(report, scores=(*kept, better))) if "Of the measures" in text)
    title = measure_title(other)
    assert f"Of the measures of “{first.name}”, {title[:1].lower()}{title[1:]} ranks its errors best: R-AUC " in told
    assert told.endswith("; without intervals this may be chance.")
    assert not [text for text in verdict(replace(report, scores=(*kept, alike))) if "Of the measures" in text]


@pytest.mark.parametrize(
    ("warning", "told"),
    [
        ("careful: lesions are dark", "Careful: lesions are dark."),
        ("“careful: one”: odd.", "“careful: one”: odd."),
        ("eval, shifted: 3 records are odd", "Evaluation, shifted: 3 records are odd."),
        ("expected 20 records, found 3", "Expected 20 records, found 3."),
        ("scores.csv: 3 records are odd", "scores.csv: 3 records are odd."),
        (f"{lead(regression()).name}: 3 records are odd", f"{lead(regression()).name}: 3 records are odd."),
        ("wind_u has 3 odd records", "wind_u has 3 odd records."),
    ],
)
def test_a_warning_is_a_sentence_and_names_stay_as_they_are(warning, told):
    assert warning_sentence(warning, regression()) == told


def test_an_empty_report_says_so():
    assert verdict(empty()) == ["This report holds no scores."]


def test_sentences_end_and_hold_one_line(report):
    for sentence in verdict(report):
        assert sentence.endswith(".")
        assert "\n" not in sentence
        assert "nan" not in sentence.lower().split()


def test_a_test_set_gets_a_sentence_with_its_factor_over_in_domain_and_its_leader():
    report = with_test_set()
    told, ranked = (sentence for sentence in verdict(report) if "generalization" in sentence)
    assert ranked.startswith("Rejection ratio on “generalization” (0 % is a random order, 100 % the best): “boosting” ")
    whole = report.score("rmse", system="boosting", split="generalization", subset="full")
    inside = report.score("rmse", system="boosting", split="eval", subset="in")
    found = re.search(r"records\), ([\d.]+) times as large as in-domain\. Lowest RMSE there: “(\w+)”", told)
    assert found is not None, told
    assert float(found[1]) == pytest.approx(whole.value / inside.value, rel=0.02)
    scores = [score for score in report.scores if (score.split, score.metric) == ("generalization", "rmse")]
    assert found[2] == min(scores, key=lambda score: score.value).system
    assert not any("generalization" in sentence for sentence in verdict(regression()))
