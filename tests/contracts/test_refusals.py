"""Parts of somebody's track that are wrong are refused where they are made, with what was expected and found."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftbench.assessment.assess import Options, build
from shiftbench.assessment.scored import Records, Scored, given, regression
from shiftbench.ensembles import Gaussian
from shiftbench.errors import ShiftbenchError
from shiftbench.pipeline.study import Planned, require_tasks
from shiftbench.scores import metric
from shiftbench.scores.intervals import Settings
from shiftbench.scores.metric import Metric
from shiftbench.scores.resampling import SetTerms, Terms
from shiftbench.track import Example, Option, Prepared, ScoredFiles, Task, assessing
from shiftbench.track.paper.output import Paper
from shiftbench.tracks import track

AS_GIVEN: Any = "method"


def made(name: str = "made_up", **changes: Any) -> Metric:
    """A metric of a set."""
    own: dict[str, Any] = {
        "title": "Made up", "better": "min", "scale": "error", "formula": "sum", "source": "here",
        "of_sums": lambda sums, _: sums[..., 0],
    }  # fmt: skip
    return Metric(name, **own | changes)


def with_option(option: Option) -> None:
    """Our smallest track with another option of `example`."""
    dataclasses.replace(track("power"), options={"example": (option,)})


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: made(better="down"), "'made_up': better: expected min, max, nominal, found 'down'"),
        (lambda: made(scale="share"), "'made_up': scale: expected percent, .*, found 'share'"),
        (
            lambda: regression("a", Gaussian(np.zeros((2, 3)), np.ones((2, 3))), np.zeros(3), role=AS_GIVEN),
            "'a': role: expected ensemble, single, baseline, model, found 'method'",
        ),
        (lambda: Planned("a", "b", AS_GIVEN, {}), "'a': role: expected ensemble, .*, found 'method'"),
        (lambda: Option("x", int, "Help", default=0), "'x': default: expected text for the help, found 0"),  # type: ignore[arg-type]
        (lambda: Task("", "title", "target"), "task '': name: expected letters"),
        (lambda: Prepared(Path("p"), "here", {"devout": 3}), "p: counts: expected the parts train, .*, found 'devout'"),
        (lambda: Prepared(Path("p"), "here", {"train": -1}), "p: counts: expected numbers of records"),
        (lambda: Paper("T", lambda _: [], lambda _: []), "paper 'T': figures: .* called with .reports, folder"),  # type: ignore[arg-type, misc]
        (lambda: Records(2, shifted=np.array([0, 2])), "shifted: expected only 0 and 1, found 2"),
        (lambda: Records(3, "eval", ids=["a", "b", "a"]), "eval: ids: expected each record once, found 1 repeated"),
        (lambda: require_tasks("Options.task", ["digits"], ["digit"]), "Options.task: .*'digit', found 'digits'"),
        (lambda: dataclasses.replace(track("power"), presets=("a",)), "presets: expected a mapping"),  # type: ignore[arg-type]
        (
            lambda: dataclasses.replace(
                track("power"), options={}, example=Example(lambda path, rows, seed: path, "x")
            ),
            r"example: expected a function that can be called with \(path, rows, seed, progress\)",
        ),
        (lambda: with_option(Option("seed", int, "Seed")), "options of example: expected new names, found 'seed'"),
    ],
)
def test_a_wrong_part_is_refused_when_it_is_made(make: Callable[[], object], says: str) -> None:
    with pytest.raises(ShiftbenchError, match=says):
        make()


@pytest.mark.parametrize(
    ("terms", "says"),
    [
        (Terms(shape=(2,), amounts=np.ones((2, 1))), r"expected codes for each axis of the shape \(2,\), found 0"),
        (Terms((np.array([0, 2]),), (2,)), r"codes 0: expected 0 … 1 by the shape, found 0 … 2"),
        (Terms(amounts=np.ones(2)), r"amounts: expected \[2, J\], found float64 \[2\]"),
        (Terms(), "expected codes, amounts or both, found neither"),
    ],
)
def test_terms_that_do_not_fit_name_their_metric(monkeypatch: pytest.MonkeyPatch, terms: Terms, says: str) -> None:
    monkeypatch.setitem(metric.METRICS._held, "made_up", made())
    with pytest.raises(ShiftbenchError, match=f"metric 'made_up': found: {says}"):
        given("ours", [1.0, 2.0], {"u": [1.0, 2.0]}).with_set("made_up", lambda _: SetTerms(terms))


def test_an_area_that_is_not_known_names_the_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(metric.METRICS._held, "made_up", made(area="nowhere"))
    system: Scored = given("ours", [1.0], {"u": [1.0]})
    with pytest.raises(ShiftbenchError, match=r"area of the metric 'made_up': expected .* found 'nowhere'"):
        system.with_set("made_up", lambda _: SetTerms(Terms(amounts=np.ones((1, 1)))))


@pytest.mark.parametrize("clusters", [["b", "a", "b"], np.array(["b", "a", "b"])])
def test_flags_become_booleans_and_names_of_clusters_codes(clusters: Any) -> None:
    records = Records(3, shifted=np.array([0, 1, 1]), clusters=clusters)
    assert records.shifted is not None
    assert (~records.shifted).tolist() == [True, False, False]
    assert records.clusters is not None
    assert records.clusters.tolist() == [1, 0, 1]


def reported(*splits: tuple[Records, list[Scored]]) -> None:
    """Make a report, as every track's is made."""
    build([*splits], Options(task="made_up", intervals=Settings(replicates=5)))


def system(count: int, ids: list[str] | None = None) -> Scored:
    """A system on so many records, named by its predictions."""
    return dataclasses.replace(given("ours", np.arange(count), {"u": np.arange(count)}), ids=ids)


NAMES = ["a", "b", "c"]


@pytest.mark.parametrize(
    ("splits", "says"),
    [
        (
            [(Records(3, "dev", ids=NAMES), [system(3)]), (Records(2, "eval", ids=["c", "d"]), [system(2)])],
            r"dev, eval: ids: expected each record in one part, found 1 id in both \('c'\)\. Give every record an id",
        ),
        (
            [(Records(3, "eval", ids=NAMES), [system(3, ["a", "x", "c"])])],
            r"eval: ours: ids: .*, found 1 record without a prediction \('b'\) and 1 prediction of other records "
            r"\('x'\)\. Line the predictions up with the records: `Predictions\.line_up\(ids\)`",
        ),
        ([(Records(3, ids=NAMES), [system(3, ["b", "a", "c"])])], "ours: ids: .*, found them in another order"),
        (
            [(Records(3, "eval"), [system(2)])],
            "eval: ours: errors: expected those of 3 records, found 2. Score the predictions of these records alone.",
        ),
        (
            [(Records(3), [dataclasses.replace(system(3), uncertainty={"u": np.zeros(2)})])],
            "ours: uncertainty 'u': expected those of 3 records, found 2",
        ),
    ],
)
def test_records_and_systems_that_do_not_belong_together_are_refused(
    splits: list[tuple[Records, list[Scored]]], says: str
) -> None:
    with pytest.raises(ShiftbenchError, match=says):
        reported(*splits)


def test_ids_that_fit_are_accepted_as_numbers_too_and_those_of_a_test_set_may_be_taken_again() -> None:
    answered = np.array([True, False, True])
    whole = (Records(3, "eval", ids=[1, 2, 3]), [dataclasses.replace(system(2, ["1", "3"]), answered=answered)])
    reported(whole, (Records(2, "more", ids=[1, 2]), [system(2, ["1", "2"])]))
    assert whole[1][0].select(np.array([0, 2])).ids is None


def test_a_track_whose_parts_share_ids_is_refused_from_its_files(tmp_path: Path) -> None:
    own = track("power")
    parts = [(Records(2, split, ids=["1", "2"]), [system(2)]) for split in ("dev", "eval")]
    options = Options(task=own.tasks[0].name)
    shared = dataclasses.replace(
        own, score_files=lambda predictions, truth, tasks, **how: [ScoredFiles(own.tasks[0], parts, options)]
    )
    with pytest.raises(ShiftbenchError, match="found 2 ids in both"):
        shared.score(tmp_path, tmp_path, own.tasks[0])
    with pytest.raises(ShiftbenchError, match="found 2 ids in both"):
        assessing.require_scored(shared, {"ours": tmp_path}, tmp_path, own.tasks)
