"""Scores of submissions are those of reports; what hidden phases answer tells nothing else about labels."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench.assessment import assess
from shiftbench.assessment.assess import Options, build
from shiftbench.assessment.columns import Columns
from shiftbench.assessment.predictions import KEY, Predictions
from shiftbench.assessment.scored_table import read
from shiftbench.challenge import forms, manifest, sandbox, scoring
from shiftbench.challenge.definition import Board
from shiftbench.challenge.sandbox import Fault, Refused
from shiftbench.challenge.store.records import Entry
from shiftbench.ensembles import Gaussian
from shiftbench.errors import SettingsError
from shiftbench.io import files, tables
from shiftbench.scores.intervals import Settings
from shiftbench.scores.ladder import climb, paired_standard_error
from shiftbench.track import PublicRecords, table_submission
from shiftbench.tracks import names, track
from shiftbench.tracks.lesions import nifti
from shiftbench.tracks.motion.submissions.submission import read_submission, write_submission
from tests import small_presets

from .challenges import BOARD, DEV, HIDDEN, answers, parsed, sealed, truth


@pytest.fixture
def folder(tmp_path):
    return sealed(tmp_path / "challenge")


def _arrays(frame: pl.DataFrame, place: Path) -> Path:
    place.mkdir(parents=True)
    frame.write_csv(place / "mine.csv")
    return parsed(place, table_submission.parse(place / "mine.csv"))


# --- equal to reports -------------------------------------------------------------------------------------------------


def test_answers_that_are_no_class_of_the_labels_are_told_in_open_phases_alone(tmp_path):
    classes = np.where(np.arange(60) % 3, "rain", "snow")
    labels = truth(60).with_columns(target=pl.Series(classes))
    board = replace(BOARD, threshold=None)
    folder = sealed(tmp_path / "challenge", board, labels)
    misspelt = np.where(np.arange(60) < 7, "Snow ", classes)
    given = pl.DataFrame({"id": labels["id"], "answer": misspelt, "uncertainty": np.linspace(0, 1, 60)})
    place = _arrays(given, tmp_path / "mine")
    found = scoring.evaluate(folder, board, DEV, place)
    assert found.value == pytest.approx(7 / 60)
    assert found.notes == (
        "submission: 7 of 60 answers name classes that no label has (such as 'Snow ') and count as wrong. Are they "
        "spelt as in the training data?",
    )
    assert scoring.evaluate(folder, board, HIDDEN, place).notes == ()
    spelt = _arrays(given.with_columns(answer=pl.Series(classes)), tmp_path / "right")
    assert scoring.evaluate(folder, board, DEV, spelt).notes == ()


def test_scores_and_intervals_are_those_of_a_report(tmp_path, monkeypatch):
    small_presets.few_replicates(monkeypatch, 100)
    labels = truth(200, clusters=True)
    folder = sealed(tmp_path / "challenge", frame=labels)
    given = answers(labels, 1.0)
    place = _arrays(given, tmp_path / "mine")
    columns = Columns(
        target="target", answer="answer", uncertainty=("uncertainty",), shifted="shifted", id="id",
        clusters=("cluster",),
    )  # fmt: skip
    system = read(labels.join(given, on="id"), columns, name="submission", where="mine.csv")
    report = build([(system.records, [system.scored])], Options(threshold=1.0, intervals=Settings(replicates=100)))
    wanted = {("r_auc", "shifted"), ("rmse", "in"), ("f1_auc", "full"), ("roc_auc", "full")}
    checked = 0
    for score in report.scores:
        if (score.metric, score.subset) in wanted and score.measure in ("", "uncertainty"):
            found = scoring.evaluate(folder, replace(BOARD, metric=score.metric, subset=score.subset), DEV, place)
            assert found.value == pytest.approx(score.value, rel=1e-12)
            assert found.low == pytest.approx(score.low, rel=1e-9)
            assert found.high == pytest.approx(score.high, rel=1e-9)
            checked += 1
    assert checked == len(wanted)


def test_the_order_of_rows_changes_no_number(folder, tmp_path):
    given = answers(truth(), 1.0)
    one = scoring.evaluate(folder, BOARD, DEV, _arrays(given, tmp_path / "one"))
    other = scoring.evaluate(folder, BOARD, DEV, _arrays(given.reverse(), tmp_path / "other"))
    assert (one.low, one.high, one.noise) == (other.low, other.high, other.noise)
    assert one.value == pytest.approx(other.value, rel=1e-13)


def test_the_noise_of_a_mean_error_is_its_paired_standard_error(folder, tmp_path):
    labels, board = truth(), BOARD
    one, other = answers(labels, 1.0, seed=1), answers(labels, 1.0, seed=2)
    errors = [((each["answer"] - labels["target"]) ** 2).to_numpy() for each in (one, other)]
    places = [_arrays(each, tmp_path / str(n)) for n, each in enumerate((one, other))]
    found = scoring.evaluate(folder, board, HIDDEN, *places)
    assert found.noise == pytest.approx(paired_standard_error(*errors), rel=0.1)
    told = scoring.evaluate(folder, board, HIDDEN, places[0], places[0], shown=round(errors[0].mean(), 1))
    assert climb(round(errors[0].mean(), 1), told.value, told.noise).climbed is False  # a copy tells no more digits
    alone = scoring.evaluate(folder, board, HIDDEN, places[0])
    assert alone.noise == pytest.approx(paired_standard_error(errors[0], np.zeros(len(labels))), rel=0.1)


def test_predictions_with_distributions_are_scored_as_such(folder, tmp_path):
    given = answers(truth(), 1.0).select("id", mean="answer", std="uncertainty")
    found = scoring.evaluate(folder, replace(BOARD, metric="nll"), DEV, _arrays(given, tmp_path / "mine"))
    assert np.isfinite(found.value)


def test_few_units_have_no_interval_but_a_noise(tmp_path):
    labels = truth(12)
    folder = sealed(tmp_path / "challenge", frame=labels)
    found = scoring.evaluate(folder, BOARD, HIDDEN, _arrays(answers(labels, 1.0), tmp_path / "mine"))
    assert found.low is None
    assert found.noise > 0


# --- refusals ---------------------------------------------------------------------------------------------------------


def test_missing_and_foreign_records_are_named_without_paths(folder, tmp_path):
    given = answers(truth(), 1.0).with_columns(id=pl.when(pl.col("id") == "r7").then(pl.lit("other")).otherwise("id"))
    with pytest.raises(Refused, match="r7") as found:
        scoring.evaluate(folder, BOARD, HIDDEN, _arrays(given, tmp_path / "mine"))
    assert "other" in str(found.value)
    assert str(tmp_path) not in str(found.value)


def test_nobody_learns_hidden_classes_from_a_refusal(tmp_path):
    labels = truth(60).with_columns(target=pl.Series(["dry", "rain", "secretsnow"] * 20))
    folder = sealed(tmp_path / "challenge", frame=labels)
    given = pl.DataFrame({"id": labels["id"], "probability_dry": [0.5] * 60, "probability_rain": [0.5] * 60})
    place = _arrays(given, tmp_path / "mine")
    with pytest.raises(Refused, match="exactly the records of this board") as found:
        scoring.evaluate(folder, BOARD, HIDDEN, place)
    assert "secretsnow" not in str(found.value)
    with pytest.raises(Refused, match="secretsnow"):
        scoring.evaluate(folder, BOARD, DEV, place)


def test_classes_are_scored(tmp_path):
    labels = truth(60).with_columns(target=pl.Series(["dry", "rain"] * 30))
    folder = sealed(tmp_path / "challenge", frame=labels)
    given = pl.DataFrame({"id": labels["id"], "probability_dry": [0.9, 0.2] * 30, "probability_rain": [0.1, 0.8] * 30})
    assert scoring.evaluate(folder, replace(BOARD, metric="accuracy"), DEV, _arrays(given, tmp_path / "m")).value == 1.0


def test_labels_that_were_not_sealed_are_our_fault(folder):
    assert scoring.labels(folder, BOARD, "development") == manifest.labels(folder, "main", "development")
    truth(seed=5).write_parquet(folder / "sealed" / "main" / "development" / "truth.parquet")
    with pytest.raises(Fault, match="Seal the challenge again"):
        scoring.labels(folder, BOARD, "development")


def test_a_metric_that_submissions_do_not_have_is_our_fault(folder, tmp_path):
    with pytest.raises(Fault, match="expected a metric"):
        scoring.evaluate(folder, replace(BOARD, metric="accuracy"), DEV, _arrays(answers(truth(), 1.0), tmp_path / "m"))


def test_an_uncertainty_of_one_value_is_refused_and_a_negative_one_doubted(tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text("id,answer,uncertainty\n1,2.0,0.5\n2,3.0,0.5\n")
    assert "expected values that differ" in scoring.validate(BOARD, file)[0]
    file.write_text("id,answer,uncertainty\n1,2.0,-0.5\n2,3.0,-0.1\n")
    assert "sign" in scoring.remarks(BOARD, file)[0]


def _wrong_in_every_way(frame: pl.DataFrame) -> pl.DataFrame:
    """A repeated id, a foreign one, an answer that is NaN, a negative uncertainty."""
    row = pl.int_range(pl.len())
    ids = pl.when(row == 3).then(pl.lit("r2")).when(row == 4).then(pl.lit("foreign")).otherwise("id")
    return frame.with_columns(
        id=ids, answer=pl.when(row == 7).then(float("nan")).otherwise("answer"),
        uncertainty=pl.when(row == 9).then(-1.0).otherwise("uncertainty"),
    )  # fmt: skip


def test_every_problem_of_a_file_is_named_at_once_here_and_on_the_server(folder, tmp_path):
    file = tmp_path / "mine.csv"
    _wrong_in_every_way(answers(truth(), 1.0)).write_csv(file)
    place = manifest.records_file(folder, "main", "evaluation")
    told = scoring.validate(BOARD, file, PublicRecords.read(place))
    with pytest.raises(Refused) as caught:
        sandbox.parse(BOARD, file, tmp_path / "parsed", records=place)
    assert [*caught.value.problems] == told
    everything = ("'r2' in rows 3, 4", "found none in row 8 (id r7)", "(foreign)", "(r3, r4)")
    assert [
        word
        for word in (*everything, "found -1 in row 10 (id r9); 1 of 300 are below 0")
        if word not in "\n".join(told)
    ] == []
    told = "\n".join(scoring.validate(replace(BOARD, track="power"), file, PublicRecords.read(place)))
    assert [word for word in (*everything, "variances > 0") if word not in told] == []


def test_a_predictions_file_names_its_ids_beside_its_other_problems(folder, tmp_path):
    predicted = Predictions(["r0", "foreign"], Gaussian(np.zeros((1, 2)), np.ones((1, 2))))
    file = predicted.save(tmp_path / "mine.parquet")
    metadata = tables.read_metadata(file)
    broken = pl.read_parquet(file).with_columns(mean=pl.col("mean") * float("nan"))
    tables.write_table(broken, file, metadata={KEY: metadata[KEY]})
    with pytest.raises(Refused, match=r"(?s)NaN.*1 other among 2 ids \(foreign\)"):
        sandbox.parse(
            BOARD, file, tmp_path / "parsed", records=manifest.records_file(folder, "main", "evaluation")
        )  # fmt: skip


def test_ids_that_do_not_fit_are_named_beside_an_uncertainty_of_one_value(folder, tmp_path):
    given = answers(truth(), 1.0).with_columns(uncertainty=pl.lit(1.0))[1:]
    with pytest.raises(Refused, match=r"(?s)values that differ.*none for 1 of 300 records \(r0\)"):
        scoring.evaluate(folder, BOARD, HIDDEN, _arrays(given, tmp_path / "m"))


def test_files_of_other_names_are_refused_with_what_is_taken(tmp_path):
    (tmp_path / "mine.pkl").write_bytes(b"")
    assert "ends in .parquet" in scoring.validate(BOARD, tmp_path / "mine.pkl")[0]


def test_a_board_of_a_track_without_an_intake_is_refused_with_the_reason(monkeypatch):
    own = replace(track("power"), name="digits", intake=None)
    monkeypatch.setattr("shiftbench.tracks.track", lambda _: own)
    with pytest.raises(SettingsError, match=r"Track\.intake"):
        forms.of(Board("main", "Main", "r_auc", (), track="digits"))


# --- every track ------------------------------------------------------------------------------------------------------


def _truth_of(name: str, example: Path, folder: Path) -> Path:
    """Labels for a track's example of a submission."""
    if name == "motion":
        read = read_submission(example)
        first = np.cumsum([0, *read.counts[:-1]])
        single = replace(
            read, trajectories=read.trajectories[first] + 1.0, weights=np.ones(len(first)),
            counts=np.ones(len(first), dtype=int), is_ood=np.array([False, True]),
        )  # fmt: skip
        return write_submission(single, folder / "truth.pb")
    if name == "translation":
        lines = [
            '{"id": "1", "source": "a", "reference": "A good day."}',
            '{"id": "2", "source": "b", "reference": "None."}',
        ]
        return files.write_text(folder / "truth.jsonl", "\n".join(lines))
    if name == "lesions":
        mask = np.zeros((8, 8, 8), dtype=bool)
        mask[3:6, 3:6, 3:6] = True
        return nifti.write(folder / "truth.nii", mask, np.diag([2.0, 2.0, 2.0, 1.0]))
    target = track(name).tasks[0].target
    pl.DataFrame({"id": ["1", "2", "3"], target: [20.0, 19.0, 22.0]}).write_parquet(folder / "truth.parquet")
    return folder / "truth.parquet"


@pytest.mark.parametrize("name", [each for each in names() if track(each).intake is not None])
def test_a_submission_of_every_track_is_scored_as_its_files_are(name, tmp_path):
    intake, task = track(name).intake, track(name).tasks[0]
    example = intake.example(tmp_path, None)
    place = tmp_path / "challenge" / "sealed" / "main" / "evaluation"
    place.mkdir(parents=True)
    _truth_of(name, example, place)
    board = Board("main", "Main", "mean_error", (HIDDEN,), track=name, task=task.name)
    found = scoring.evaluate(tmp_path / "challenge", board, HIDDEN, parsed(tmp_path / "p", intake.parse(example)))
    (tmp_path / "own").mkdir()
    own = intake.restore(intake.parse(example), tmp_path / "own")
    ((_, system),) = track(name).score(own, manifest.truth(tmp_path / "challenge", "main", "evaluation"), task)
    assert found.value == pytest.approx(system.errors.mean())
    assert scoring.validate(board, example) == []


def _without_the_last(name: str, example: Path) -> None:
    if name == "motion":
        write_submission(read_submission(example).select([0]), example)
    else:
        example.write_text("".join(example.read_text("utf-8").splitlines(keepends=True)[:-1]))


@pytest.mark.parametrize("name", ["weather", "power", "motion", "translation"])
def test_nobody_is_scored_on_some_records_alone(name, tmp_path):
    intake = track(name).intake
    example, place = intake.example(tmp_path, None), tmp_path / "challenge" / "sealed" / "main" / "evaluation"
    place.mkdir(parents=True)
    _truth_of(name, example, place)
    _without_the_last(name, example)
    board = Board("main", "Main", "mean_error", (HIDDEN,), track=name, task=track(name).tasks[0].name)
    arrays = parsed(tmp_path / "p", intake.parse(example))
    with pytest.raises(Refused, match=r"expected (a prediction|an answer|predictions)"):
        scoring.evaluate(tmp_path / "challenge", board, HIDDEN, arrays)


# --- rankings and reports ---------------------------------------------------------------------------------------------


@pytest.fixture
def three(tmp_path):
    labels = truth(150)
    folder = sealed(tmp_path / "challenge", frame=labels)
    given = {"3": answers(labels, 3.0, seed=3), "4": answers(labels, 1.0, seed=4), "5": answers(labels, 1.0, seed=5)}
    return folder, {name: _arrays(each, tmp_path / name) for name, each in given.items()}


def test_systems_that_cannot_be_told_apart_share_a_rank_in_the_order_of_arrival(three):
    folder, places = three
    found = scoring.ranking(folder, BOARD, HIDDEN, places)
    assert [(row["submission"], row["rank"]) for row in found["rows"]] == [(4, 1), (5, 1), (3, 3)]
    assert found["rows"][0]["better_than"] == [2]
    assert len(found["comparisons"]) == 3
    for row in found["rows"]:
        assert row["low"] <= row["score"] <= row["high"]


def test_references_have_no_rank_and_take_none_from_teams(three):
    folder, places = three
    entries = [Entry(int(name), n, f"team {name}", n, name == "4", False) for n, name in enumerate(places)]
    found = scoring.ranking(folder, BOARD, HIDDEN, places, entries)
    assert [(row["team"], row["rank"], row["reference"]) for row in found["rows"]] == [
        ("team 4", None, True), ("team 5", 1, False), ("team 3", 2, False),
    ]  # fmt: skip


def test_references_are_not_among_the_comparisons_that_teams_are_adjusted_for(three):
    folder, places = three
    alone = scoring.ranking(folder, BOARD, HIDDEN, {name: places[name] for name in ("3", "5")})
    more = {**places, "6": places["4"], "7": places["4"]}
    entries = [Entry(int(name), n, f"team {name}", n, name in ("4", "6", "7"), False) for n, name in enumerate(more)]
    found = scoring.ranking(folder, BOARD, HIDDEN, more, entries)
    names = [row["submission"] for row in found["rows"]]
    tested = {frozenset((names[each["a"]], names[each["b"]])): each["p_adjusted"] for each in found["comparisons"]}
    assert tested[frozenset((3, 5))] == alone["comparisons"][0]["p_adjusted"]
    references = {4, 6, 7}
    assert not any(pair <= references for pair in tested)
    assert len(tested) == 1 + 2 * len(references)
    assert "stand in the order of their arrival" in found["rule"]


def test_a_report_is_a_page(three, tmp_path, monkeypatch):
    small_presets.blank_pictures(monkeypatch)
    monkeypatch.setattr(
        assess, "build", lambda data, made: build(data, replace(made, intervals=Settings(replicates=20)))
    )
    folder, places = three
    page = scoring.report(folder, BOARD, DEV, {"a": places["3"], "b": places["4"]}, tmp_path / "out")
    assert "Main" in page.read_text("utf-8")
