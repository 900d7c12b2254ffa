"""A system without an answer for some records is scored on the others, and compared where both systems answer."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import polars as pl
import pytest

from shiftbench.assessment import scored
from shiftbench.assessment.assess import Options, build
from shiftbench.assessment.columns import Columns
from shiftbench.assessment.joined import line_up
from shiftbench.assessment.predictions import Predictions, load
from shiftbench.assessment.scored import Records, Singles
from shiftbench.assessment.scored_table import load as load_table
from shiftbench.ensembles import Gaussian
from shiftbench.errors import TableError
from shiftbench.methods.column import METHOD as COLUMN
from shiftbench.methods.combination import METHOD as COMBINATION
from shiftbench.methods.constant import MEAN
from shiftbench.pipeline import predict_table
from shiftbench.report.front import screen
from shiftbench.report.grids.listing import grids
from shiftbench.report.text import csv
from shiftbench.report.verdict import verdict
from shiftbench.scores.intervals import Settings
from shiftbench.scores.pairing import shared_records
from shiftbench.scores.resampling import Resampler
from shiftbench.scores.retention import r_auc

N = 240
SHIFTED = np.arange(N) % 3 == 0
SOME = np.arange(N) % 5 != 0
OTHERS = np.arange(N) % 4 != 0
NORMAL = Settings(kind="normal")
PERCENTILE = Settings(replicates=60, kind="percentile")


def systems(answered: dict[str, np.ndarray | None]) -> list[scored.Scored]:
    """Squared errors of as many systems, each on the records it answers."""
    found = []
    for place, (name, flags) in enumerate(answered.items()):
        rng = np.random.default_rng(place)
        full = scored.given(name, (1 + 0.3 * place) * rng.chisquare(1, N), {"u": rng.random(N)}, root=True)
        found.append(full if flags is None else full.answering(flags))
    return found


def report_of(answered, *, shifted=SHIFTED, intervals=NORMAL, **records):
    every = systems(answered)
    return build([(Records(N, "eval", shifted, **records), every)], Options(threshold=1.0, intervals=intervals)), every


def full_errors(place: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(place)
    return (1 + 0.3 * place) * rng.chisquare(1, N), rng.random(N)


def test_scores_are_those_of_the_records_with_an_answer():
    report, _ = report_of({"model": None, "raw": SOME})
    errors, uncertainty = full_errors(1)
    for subset, side in (("full", np.ones(N, bool)), ("in", ~SHIFTED), ("shifted", SHIFTED)):
        own = SOME & side
        for metric, expected in (
            ("rmse", math.sqrt(errors[own].mean())),
            ("r_auc", r_auc(errors[own], uncertainty[own])),
        ):
            score = report.score(metric, system="raw", split="eval", subset=subset)
            assert score.value == pytest.approx(expected)
            assert score.n == own.sum()
        assert report.score("rmse", system="model", split="eval", subset=subset).n == side.sum()
    area = np.mean(
        [[(a > b) + 0.5 * (a == b) for b in uncertainty[SOME & ~SHIFTED]] for a in uncertainty[SOME & SHIFTED]]
    )
    assert report.score("roc_auc", system="raw", split="eval", subset="full").value == pytest.approx(area)
    curve = next(
        c
        for c in report.curves
        if (c.system, c.kind, c.subset, c.order) == ("raw", "error_retention", "full", "random")
    )
    assert curve.y[-1] == pytest.approx(errors[SOME].mean())


def test_a_report_of_the_answered_records_alone_is_the_same():
    """The slow twin: a file that holds nothing but these records."""
    report, every = report_of({"model": None, "raw": SOME}, intervals=PERCENTILE)
    records = Records(N, "eval", SHIFTED)
    both = [system.select(SOME) for system in every]
    alone = build([(records.select(SOME), both)], Options(threshold=1.0, intervals=PERCENTILE))
    assert [s for s in report.scores if s.system == "raw"] == [s for s in alone.scores if s.system == "raw"]
    assert [c for c in report.curves if c.system == "raw"] == [c for c in alone.curves if c.system == "raw"]
    assert report.comparisons == alone.comparisons
    assert report.ranks == alone.ranks


def test_pairs_are_compared_on_the_records_that_both_have():
    answered = {"model": None, "raw": SOME, "other": OTHERS, "second": None}
    report, _ = report_of(answered)
    masks = {name: np.ones(N, bool) if flags is None else flags for name, flags in answered.items()}
    errors = {name: full_errors(place)[0] for place, name in enumerate(answered)}
    for a, b in combinations(answered, 2):
        both = masks[a] & masks[b] & SHIFTED
        (found,) = (c for c in report.comparisons if (c.a, c.b, c.subset, c.metric) == (a, b, "shifted", "rmse"))
        assert found.difference == pytest.approx(math.sqrt(errors[a][both].mean()) - math.sqrt(errors[b][both].mean()))
        assert found.n == both.sum()
        # The delta method by hand: the influence of each record on both roots, stratified.
        roots = [math.sqrt(errors[name][both].mean()) for name in (a, b)]
        influence = [(errors[name][both] - root**2) / (2 * root) for name, root in zip((a, b), roots, strict=True)]
        error = np.std(influence[0] - influence[1], ddof=1) / math.sqrt(both.sum())
        assert (found.high - found.low) / (2 * 1.959964) == pytest.approx(error, rel=1e-6)


def test_systems_without_gaps_are_not_touched_by_one_that_has_some():
    whole, _ = report_of({"model": None, "second": None}, intervals=PERCENTILE)
    beside, _ = report_of({"model": None, "second": None, "raw": SOME}, intervals=PERCENTILE)
    assert [s for s in beside.scores if s.system != "raw"] == list(whole.scores)
    pair = [c for c in beside.comparisons if "raw" not in (c.a, c.b)]
    for found, expected in zip(pair, whole.comparisons, strict=True):
        assert (found.difference, found.low, found.high, found.p) == (
            expected.difference, expected.low, expected.high, expected.p,
        )  # fmt: skip


def test_both_systems_of_a_pair_are_drawn_on_the_same_records():
    """Two equal systems differ by nothing in any replicate, although one has gaps."""
    first = systems({"a": None})[0]
    same = scored.given("b", first.errors, first.uncertainty, root=True).answering(SOME)
    report = build([(Records(N, "eval", SHIFTED), [first, same])], Options(intervals=PERCENTILE))
    for entry in report.comparisons:
        assert (entry.difference, entry.low, entry.high, entry.p) == (0, 0, 0, 1)


def test_a_system_without_answers_on_one_side_has_no_scores_there_and_no_nan():
    report, _ = report_of({"model": None, "raw": SHIFTED & SOME})
    subsets = {score.subset for score in report.scores if score.system == "raw"}
    assert subsets == {"shifted", "full"}
    assert all(math.isfinite(score.value) for score in report.scores)
    assert {part.system for part in report.parts} == {"model"}
    assert {c.subset for c in report.comparisons} == {"shifted", "full"}
    assert {r.system for r in report.ranks if r.subset == "in"} == set()  # no test: nothing else answers there
    grid = next(grid for grid in grids(report) if grid.kind == "answers")
    own, side = (SHIFTED & SOME).sum(), SHIFTED.sum()
    assert f": “raw” on {own} of {N} records (in-domain 0 of {N - side}, shifted {own} of {side})." in grid.note


def test_a_system_without_any_answer_is_named_and_not_scored():
    report, _ = report_of({"model": None, "second": None, "raw": np.zeros(N, bool)})
    assert "raw" in {system.name for system in report.systems}
    assert "raw" not in {entry.system for entry in (*report.scores, *report.curves, *report.ranks, *report.parts)}
    assert f"raw: no answer for any of the {N} records of eval: not scored" in report.warnings
    assert not any("nan" in text.lower() for text in verdict(report))


def test_systems_that_share_no_record_are_not_compared():
    report, _ = report_of({"model": SOME, "raw": ~SOME})
    assert not report.comparisons
    assert not report.ranks


def test_tables_verdict_and_files_say_on_how_many_records():
    flags = {"model": None, "raw": SOME}
    every = systems(flags)
    every[1] = scored.given("raw", 20 + every[1].errors, every[1].uncertainty, root=True)
    every[1] = type(every[1])(
        **{**vars(every[1]), "system": scored.System("raw", "baseline", "u", ("u",)), "answered": SOME}
    )
    report = build([(Records(N, "eval", SHIFTED), every)], Options(task="regression", threshold=1.0, intervals=NORMAL))
    own = int((SOME & SHIFTED).sum())
    told = " ".join(verdict(report))
    assert f"By RMSE, “model” beats the baseline “raw” (on {own} of {SHIFTED.sum()} records) on shifted data." in told
    (first,) = (each.text for each in screen.findings(report) if each.kind == "comparisons")
    assert f"on shifted data, on {own} of {SHIFTED.sum()} records (95 % interval of the difference on common" in first
    for kind in ("answers", "joint"):
        note = next(grid for grid in grids(report) if grid.kind == kind).note
        assert f"compared where both have one: “raw” on {SOME.sum()} of {N} records (in-domain" in note
    rows = next(grid for grid in grids(report) if grid.kind == "comparisons").rows
    assert {row.cells[2].text for row in rows} == {str((SOME & side).sum()) for side in (SHIFTED, ~SHIFTED, True)}
    table = pl.read_csv(csv(report).encode()).filter(system="raw", subset="shifted", metric="rmse")
    assert table["n"].to_list() == [own]


def test_a_lower_score_on_easier_records_of_its_own_does_not_lead():
    """The raw forecast has a value only where everybody does well, and there it is worse."""
    rng = np.random.default_rng(0)
    easy = np.arange(N) < 120
    base = rng.chisquare(1, N) * np.where(easy, 0.1, 10.0)
    model = scored.given("model", base, {"u": rng.random(N)}, root=True)
    raw = scored.given("raw", 2 * base, {"u": rng.random(N)}, root=True).answering(easy)
    report = build([(Records(N, "eval"), [model, raw])], Options(task="regression", intervals=NORMAL))
    values = {s.system: s.value for s in report.scores if s.metric == "rmse"}
    assert values["raw"] < values["model"]
    assert {r.system: r.rank for r in report.ranks if r.metric == "rmse"} == {"model": 1, "raw": 2}
    (told,) = (text for text in verdict(report) if text.startswith("Lowest RMSE"))
    assert told.startswith("Lowest RMSE over all records: “model”,")
    assert told.endswith(" on 120 of 240 records, but “model” is found better on common records.")


def test_each_set_of_records_holds_what_is_needed_on_it():
    ones = np.ones(N, bool)
    found = shared_records([None, SOME, ones, OTHERS, np.zeros(N, bool)], N)
    told = {int(shared.member.sum()): (shared.scored, shared.pairs, shared.systems) for shared in found}
    assert told == {
        N: ([0, 2], [(0, 2)], [0, 2]),
        SOME.sum(): ([1], [(0, 1), (1, 2)], [0, 1, 2]),
        OTHERS.sum(): ([3], [(0, 3), (2, 3)], [0, 2, 3]),
        (SOME & OTHERS).sum(): ([], [(1, 3)], [1, 3]),
    }


@pytest.mark.parametrize("member", [SHIFTED, np.random.default_rng(0).permutation(N)[:100]])
def test_selecting_records_keeps_which_are_answered(member):
    (system,) = systems({"raw": SOME})
    errors, uncertainty = full_errors(0)
    found = system.select(member)
    np.testing.assert_array_equal(found.answered, SOME[member])
    np.testing.assert_array_equal(found.errors, errors[member][SOME[member]])
    np.testing.assert_array_equal(found.uncertainty["u"], uncertainty[member][SOME[member]])
    assert system.select(SOME).answered is None


def test_the_models_of_an_ensemble_answer_what_it_answers():
    def one(k):
        return scored.given("m", full_errors(k)[0], {"u": full_errors(k)[1]}, root=True)

    ensemble = scored.given("e", *[full_errors(9)[0]], {"u": full_errors(9)[1]}, root=True)
    ensemble = type(ensemble)(**{**vars(ensemble), "singles": Singles(scored.System("m", "single", "u"), 2, one)})
    report = build([(Records(N, "eval", SHIFTED), [ensemble.answering(SOME)])], Options(intervals=NORMAL))
    score = report.score("rmse", system="m", split="eval", subset="shifted")
    own = SOME & SHIFTED
    assert score.value == pytest.approx(np.mean([math.sqrt(full_errors(k)[0][own].mean()) for k in (0, 1)]))
    assert score.n == own.sum()


# --- from the table to the report -----------------------------------------------------------------------------------


def predicted(folder, *, gaps: bool):
    """Predictions of two systems, of which the second has no answer for every fifth record, beside their targets."""
    truth = pl.DataFrame({"id": [f"r{k}" for k in range(N)], "y": np.arange(N) % 7.0, "shifted": SHIFTED})
    truth.write_parquet(folder / "truth.parquet")
    for name, rows in (("whole", np.arange(N)), ("some", np.flatnonzero(SOME)[::-1])):
        ensemble = Gaussian(mean=rows[None] % 5.0, variance=np.ones((1, len(rows))))
        noted = {"unanswered": N - len(rows)} if gaps else {}
        Predictions(truth["id"].to_numpy()[rows], ensemble, noted).save(folder / f"{name}.parquet")
    names, columns = ("some", "whole"), Columns(id="id", target="y", shifted="shifted")
    return [
        load_table(folder / f"{name}.parquet", columns, name=name, truth=folder / "truth.parquet") for name in names
    ]


def test_predictions_with_gaps_are_compared_with_others_on_what_they_answer(tmp_path):
    joined = line_up(predicted(tmp_path, gaps=True))
    some, whole = joined.systems
    assert (joined.records.n, whole.answered) == (N, None)
    np.testing.assert_array_equal(some.answered, SOME)
    np.testing.assert_array_equal(some.errors, whole.errors[SOME])


def test_predictions_that_lack_records_without_saying_so_are_refused(tmp_path):
    with pytest.raises(TableError, match="found 0 missing and 48 others"):
        line_up(predicted(tmp_path, gaps=False))


@pytest.mark.filterwarnings("ignore:.*has an answer for 3 of 4 rows")
def test_predict_writes_only_answers(tmp_path):
    train = pl.DataFrame({"y": [1.0, 2.0, 3.0] * 4, "a": [1.0, 2.0, 4.0] * 4})
    COLUMN.fit(train, train, target="y", settings=COLUMN.Settings("regression", column="a"), folder=tmp_path / "a")
    pl.DataFrame({"id": ["p", "q", "r", "s"], "a": [1.0, None, 3.0, 4.0]}).write_parquet(tmp_path / "t.parquet")
    predict_table(tmp_path / "a", tmp_path / "t.parquet", tmp_path / "said.parquet")
    found = load(tmp_path / "said.parquet")
    assert (list(found.ids), found.ensemble.mean.tolist()) == (["p", "r", "s"], [[1.0, 3.0, 4.0]])
    assert found.metadata["unanswered"] == 1


def test_a_combination_answers_where_all_its_parts_do(tmp_path):
    train = pl.DataFrame({"y": [1.0, 2.0, 3.0] * 4, "a": [1.0, 2.0, 4.0] * 4, "b": [0.0, 2.0, 2.0] * 4})
    for name in ("a", "b"):
        own = COLUMN.Settings("regression", column=name)
        COLUMN.fit(train, train, target="y", settings=own, folder=tmp_path / name)
    MEAN.fit(train, train, target="y", settings=MEAN.Settings("regression"), folder=tmp_path / "mean")
    own = COMBINATION.Settings("regression", of=("a", "b", "mean"))
    COMBINATION.fit(train, train, target="y", settings=own, folder=tmp_path / "all")
    rows = pl.DataFrame({"a": [1.0, None, 3.0, None], "b": [1.0, 2.0, None, None]})
    assert COMBINATION.answered(rows, folder=tmp_path / "all").tolist() == [True, False, False, False]


def test_clusters_are_counted_among_the_answered_records():
    """With answers in too few clusters there is no interval, however many clusters the split has."""
    clusters = np.arange(N) // 6
    report, _ = report_of({"model": None, "raw": clusters < 8}, shifted=None, clusters=clusters)
    score = report.score("rmse", system="raw", split="eval", subset="full")
    assert (score.low, score.high) == (None, None)
    assert report.score("rmse", system="model", split="eval", subset="full").low is not None
    assert Resampler(N, clusters=clusters).fewest == 40
