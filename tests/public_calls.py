"""A valid call of every public function, and values that nobody should give: material of `test_wrong_types`."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

import shiftbench
from shiftbench import Options, Rules, ensembles, measures, partition, report
from shiftbench.assessment import predictions
from shiftbench.ensembles import (
    Categorical,
    Ensemble,
    Gaussian,
    Lesions,
    Masks,
    Means,
    Mixture,
    Quantiles,
    Texts,
    Trajectories,
)
from shiftbench.errors import ShiftbenchError
from shiftbench.measures import masks as of_masks
from shiftbench.measures import texts as of_texts
from shiftbench.metrics import classification, conformal, motion, quantiles, regression, segmentation
from shiftbench.metrics.segmentation import structure
from shiftbench.partition import features
from shiftbench.pipeline import example
from shiftbench.scores import detection, intervals, ladder, length, retention, selective
from shiftbench.scores.metric import METRICS
from shiftbench.track import published

N = 6
RNG = np.random.default_rng(0)


@dataclasses.dataclass(frozen=True)
class Call:
    """A function with valid arguments, and what makes the files that it reads in the working directory."""

    function: Callable[..., Any]
    arguments: dict[str, Any]
    prepare: Callable[[], Any] | None = None


CALLS: dict[str, Call] = {}


def add(function: Callable[..., Any], /, **arguments: Any) -> None:
    """A call under the name of its function."""
    CALLS[f"{function.__module__.removeprefix('shiftbench.')}.{function.__qualname__}"] = Call(function, arguments)


def add_as(called: str, function: Callable[..., Any], /, **arguments: Any) -> None:
    """A call under another name."""
    CALLS[called] = Call(function, arguments)


# --- arrays and ensembles ---------------------------------------------------------------------------------------------

ERRORS, UNCERTAINTY, FLAGS = RNG.gamma(2, size=N), RNG.gamma(2, size=N), np.arange(N) % 2
PROBABILITIES = RNG.dirichlet(np.ones(3), (2, N))
HALVES = np.full((2, N, 2), 0.5)
GAUSSIAN = Gaussian(RNG.normal(size=(2, N)), RNG.gamma(2, size=(2, N)))
MEANS, CLASSES = Means(RNG.normal(size=(20, N))), Categorical(PROBABILITIES)
QUANTILES = Quantiles(np.tile([0.0, 1.0, 2.0], (1, N, 1)), levels=(0.1, 0.5, 0.9))
MODES = {"trajectories": RNG.normal(size=(N, 2, 3, 2)), "weights": np.full((N, 2), 0.5)}
POSITIONS = RNG.normal(size=(N, 3, 2))
TRUTH, ANSWER = np.zeros((2, 4, 4, 4))
TRUTH[1:3, 1:3, 1:3] = ANSWER[1:3, 1:3, 1:4] = 1
BOTH = {"targets": TRUTH, "answers": ANSWER}
VOLUMES = Masks(np.stack([TRUTH.ravel(), ANSWER.ravel()]).astype(np.float32), np.array([[4, 4, 4]]))
FEW = Options(intervals=intervals.Settings(replicates=2))
PAIR = {"errors": ERRORS, "uncertainty": UNCERTAINTY}


def nothing(*_: Any) -> None:
    """A progress that is told to nobody."""


# --- scores -----------------------------------------------------------------------------------------------------------

for each in (retention.error_retention, retention.rejection_ratio, selective.aurc, selective.e_aurc, selective.augrc):
    add(each, **PAIR)
add(selective.auarc, errors=FLAGS, uncertainty=UNCERTAINTY)
add(selective.prr, **PAIR, max_rejection=0.5)
add(retention.r_auc, **PAIR, rule="exact")
for each in (retention.f1_auc, retention.f1_retention, retention.f1_auc_normalised):
    add(each, **PAIR, threshold=1.0, rule="exact")
add(retention.f1_at, **PAIR, threshold=1.0, retention=0.5, rule="exact")
for each in (detection.roc_auc, detection.roc_curve):
    add(each, uncertainty=UNCERTAINTY, shifted=FLAGS)
add(detection.pr_auc, uncertainty=UNCERTAINTY, shifted=FLAGS, rule="exact")
add(ladder.climb, shown=0.5, score=0.4, noise=0.01, better="min")
add(ladder.climb_by_steps, shown=0.5, score=0.4, step=0.01, better="min")
add(ladder.paired_standard_error, errors=ERRORS, best=UNCERTAINTY)
add(intervals.wilson, share=0.5, units=10, level=0.9)
add(intervals.Settings, replicates=20, level=0.9, kind="bca", seed=1, cores=1)

# --- reports ----------------------------------------------------------------------------------------------------------

add(
    Options, title="a", task="errors", threshold=1.0, rule="exact", intervals=intervals.Settings(replicates=2),
    target_unit="m", error_unit="m", error_name="e", recipe={"a": 1},
)  # fmt: skip
GROUPS = {"shifted": FLAGS, "threshold": 1.0, "clusters": np.arange(N) // 2, "slices": {"a": FLAGS}}
add(shiftbench.assess, **PAIR, **GROUPS, length=ERRORS, name="m", options=FEW, progress=nothing)
add(
    shiftbench.assess_predictions, targets=ERRORS, predictions=GAUSSIAN, **GROUPS, table={"b": UNCERTAINTY},
    calibration=FLAGS == 0, unit="m", options=FEW, progress=nothing,
)  # fmt: skip
assess_few = functools.partial(shiftbench.assess_predictions, options=FEW)
add_as("assess_predictions of classes", assess_few, targets=FLAGS, predictions=CLASSES)
add_as("a column of the table", lambda value: assess_few(ERRORS, GAUSSIAN, table={"a": value}), value=UNCERTAINTY)
add_as("a column of slices", lambda value: assess_few(ERRORS, GAUSSIAN, slices={"a": value}), value=UNCERTAINTY)
add_as("a baseline", lambda value: assess_few(ERRORS, {"a": GAUSSIAN, "b": value}), value=UNCERTAINTY)
add_as("a class", lambda name: assess_few([name] * N, Categorical(HALVES, classes=(name, "b"))), name="a")


@functools.cache
def assessed() -> shiftbench.Report:
    """A small report."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return shiftbench.assess(ERRORS, UNCERTAINTY, shifted=FLAGS, options=FEW)


def saved_report() -> None:
    """A report in the working directory."""
    assessed().save("saved.json")


def score(**names: Any) -> Any:
    """A score of the small report."""
    return assessed().score(**names)


add_as(
    "Report.score", score, metric="r_auc", system="model", split="all", subset="full", measure="uncertainty"
)  # fmt: skip
add_as("Report.measure_of", lambda system: assessed().measure_of(system), system="model")
add(shiftbench.Report.from_json, value=assessed().to_json())
add_as("Report.save", lambda path: assessed().save(path), path="report.json")
CALLS["Report.load"] = Call(shiftbench.Report.load, {"path": "saved.json"}, saved_report)
add_as(
    "report.write", lambda report, **rest: report_written(report, **rest), report=None, folder="written", pictures=[]
)  # fmt: skip


def report_written(found: Any, **rest: Any) -> Any:
    """The small report in a folder, unless another is given."""
    return report.write(assessed() if found is None else found, **rest)


# --- metrics ----------------------------------------------------------------------------------------------------------

for each in (
    regression.squared_error, regression.absolute_error, regression.rmse, regression.mae, regression.mape,
):  # fmt: skip
    add(each, targets=ERRORS, answers=UNCERTAINTY)
for each in (
    regression.nll, regression.nll_per_record, regression.crps, regression.crps_per_record, regression.pit,
):  # fmt: skip
    add(each, targets=ERRORS, ensemble=GAUSSIAN)
add(regression.coverage, targets=ERRORS, ensemble=GAUSSIAN, levels=[0.5])
add(regression.quantiles, ensemble=GAUSSIAN, levels=[0.5])
add(regression.widths, ensemble=GAUSSIAN, levels=[0.5])
add(regression.inside, pit=np.full(N, 0.5), levels=[0.5])
for each in (
    classification.zero_one_error, classification.accuracy, classification.confusion, classification.macro_f1,
):  # fmt: skip
    add(each, targets=FLAGS, answers=FLAGS)
    add_as(f"{each.__name__} of probabilities", each, targets=FLAGS, answers=PROBABILITIES[0])
for each in (
    classification.brier, classification.brier_per_record, classification.nll, classification.nll_per_record,
):  # fmt: skip
    add(each, targets=FLAGS, probabilities=PROBABILITIES[0])
for each in (classification.reliability, classification.expected_calibration_error):
    add(each, targets=FLAGS, probabilities=PROBABILITIES[0], bins=5)
add(classification.calibration_error, confidence=np.full(N, 0.5), right=FLAGS, bins=5)
for each in (quantiles.pinball_losses, quantiles.scores):
    add(each, targets=ERRORS, ensemble=QUANTILES)
for each in (quantiles.member_scores, quantiles.crps_of_members):
    add(each, targets=ERRORS, ensemble=MEANS)
add(quantiles.member_levels, members=20)
add(quantiles.member_quantiles, ensemble=MEANS, levels=(0.1, 0.9))
for each in (motion.ade, motion.fde):
    add(each, trajectories=MODES["trajectories"], targets=POSITIONS)
for each in (
    motion.min_ade, motion.min_fde, motion.avg_ade, motion.avg_fde, motion.top1_ade, motion.top1_fde,
    motion.weighted_ade, motion.weighted_fde, motion.scores,
):  # fmt: skip
    add(each, **MODES, targets=POSITIONS, most=1)
for each in (motion.cnll, motion.log_likelihood):
    add(each, **MODES, targets=POSITIONS, sigma_m=1.0, most=1)
add(
    motion.ragged_scores, trajectories=MODES["trajectories"].reshape(-1, 3, 2), weights=MODES["weights"].ravel(),
    counts=np.full(N, 2), targets=POSITIONS, most=1,
)  # fmt: skip
add(motion.softmax_weights, logits=MODES["weights"])
add(conformal.quantile, scores=ERRORS, level=0.9)
add(conformal.fewest, level=0.9)
for each in (conformal.coverage_name, conformal.size_name):
    add(each, rule="split", level=0.9)

# --- segmentation -----------------------------------------------------------------------------------------------------

LESIONS = {"iou": 0.5, "connectivity": 6, "match": "published", "missed": "no_overlap"}
add(segmentation.dsc, **BOTH, brain=np.ones((4, 4, 4)))
add(segmentation.ndsc, **BOTH, r=0.01, brain=np.ones((4, 4, 4)))
add(segmentation.components, mask=TRUTH, connectivity=6)
add(segmentation.keep_large_components, mask=TRUTH, larger_than=2, connectivity=6)
for each in (segmentation.hausdorff_95, segmentation.surface_distance):
    add(each, **BOTH, spacing=(1, 1, 1))
for each in (segmentation.lesion_counts, segmentation.lesion_f1):
    add(each, **BOTH, **LESIONS)
add(segmentation.LesionRule, **LESIONS)
add(segmentation.lesion_table, **BOTH, ious=[0.5], connectivities=[6])
add(segmentation.detection_by_size, **BOTH, spacing=(1, 1, 1), edges=(2.0,), iou=0.5)
add(segmentation.lesion_volumes, mask=TRUTH, spacing=(1, 1, 1), connectivity=6)
for each in (segmentation.ndsc_retention_curve, segmentation.ndsc_retention_area):
    add(each, **BOTH, uncertainty=ANSWER, rule="exact", score="dsc")
for each in (segmentation.ndsc_retention_optimal, segmentation.ndsc_retention_random):
    add(each, **BOTH, rule="exact", score="dsc")
for each in (structure.lesion_means, structure.lesion_log_sums):
    add(each, labels=TRUTH.astype(int), values=np.abs(RNG.normal(size=(4, 4, 4))))
for each in (structure.lppv_retention, structure.lppv_retention_area):
    add(each, true=FLAGS, uncertainty=UNCERTAINTY, undefined=1.0)
for each in (structure.lf1_retention, structure.lf1_retention_area):
    add(each, true=FLAGS, uncertainty=UNCERTAINTY, missed=2, undefined=1.0)
add(structure.lppv_gain, true=FLAGS, uncertainty=UNCERTAINTY)
add(structure.lf1_gain, true=FLAGS, uncertainty=UNCERTAINTY, missed=1)
add(structure.summed_labels, detected=FLAGS)
add(structure.lesion_overlaps, labels=TRUTH.astype(int), member_masks=[ANSWER], connectivity=6)
add(structure.patient_overlaps, mask=TRUTH, member_masks=[ANSWER])

# --- ensembles and measures -------------------------------------------------------------------------------------------

add(Gaussian, mean=GAUSSIAN.mean, variance=GAUSSIAN.variance, draws=2)
add(Means, mean=GAUSSIAN.mean)
add(Categorical, probabilities=PROBABILITIES, classes=("a", "b", "c"))
add(Quantiles, values=QUANTILES.values, levels=QUANTILES.levels, point=np.ones((1, N)))
add(Gaussian.from_members, members=GAUSSIAN.mean, variance=GAUSSIAN.variance, records=None)
add(Categorical.from_members, members=PROBABILITIES, classes=("a", "b", "c"), records=None)
BY_HAND = (Ensemble, Gaussian, Means, Categorical, Quantiles)
MADE: dict[type[Ensemble], Any] = {
    kind: kind.example(np.random.default_rng(0), members=2, records=4)
    for kind in map(vars(ensembles).get, ensembles.__all__)
    if isinstance(kind, type) and issubclass(kind, Ensemble) and kind not in BY_HAND
}
for kind, made in MADE.items():
    add(kind, **{field.name: getattr(made, field.name) for field in dataclasses.fields(made)})
add(GAUSSIAN.select, indices=[1])
add(GAUSSIAN.member, m=1)
add(GAUSSIAN.model, k=1)
add(GAUSSIAN.of_members, members=[1])
add(MADE[Trajectories].of_members, members=[1])
add(MADE[Mixture].merged, most=2)
add_as("Ensemble.blocks", lambda values: list(GAUSSIAN.blocks(values=values)), values=3)
add(VOLUMES.volume, record=0)
for each in (VOLUMES.lesions, VOLUMES.patients):
    add(each, threshold=0.5, thresholds=[0.5, 0.5], connectivity=6, larger_than=2)
add_as("ensembles.combine", lambda first, other: ensembles.combine(first, other), first=GAUSSIAN, other=GAUSSIAN)
add(ensembles.concatenated, parts=[GAUSSIAN, GAUSSIAN], records=2 * N)
add(measures.uncertainty, ensemble=GAUSSIAN, name="total_variance")
add(measures.measures_for, ensemble=GAUSSIAN)
add(measures.headline, ensemble=GAUSSIAN)
add(length.residual, uncertainty=UNCERTAINTY, lengths=ERRORS, fitted_on=FLAGS, fit="isotonic")
add(of_texts.expected_agreement, ensemble=MADE[Texts], utility="chrf")
add(of_masks.voxel_map, ensemble=VOLUMES, name="entropy_of_expected")
add(of_masks.lesion_mean, ensemble=MADE[Lesions], name="entropy_of_expected", over="volume")

# --- predictions and partitions ---------------------------------------------------------------------------------------

MINE = predictions.Predictions(list("abcdef"), GAUSSIAN)
add(
    predictions.Predictions, ids=list("abcdef"), ensemble=GAUSSIAN, metadata={"a": 1},
    fingerprints=pl.Series(range(N), dtype=pl.UInt32),
)  # fmt: skip
add(MINE.line_up, ids=["b"], extra="drop", where="x")
add(MINE.save, path="predictions.parquet")
CALLS["predictions.load"] = Call(predictions.load, {"path": "saved.parquet"}, lambda: MINE.save("saved.parquet"))
ROWS = 400
TABLE = pl.DataFrame(
    {"id": [f"r{row}" for row in range(ROWS)], "time": range(ROWS), "place": ["a", "b"] * (ROWS // 2)}
).with_columns(x=pl.Series(RNG.normal(size=ROWS)))
RULES = Rules(id="id", time="time")
PARTS = partition.partition(TABLE, RULES)
add(Rules, **{field.name: getattr(RULES, field.name) for field in dataclasses.fields(Rules)})
add(Rules.from_settings, values={"time": "time"})
add(partition.partition, frame=TABLE, rules=RULES, ids=TABLE["id"])
add(partition.leakage, frame=TABLE, partition=PARTS, rules=RULES, clusters=["place"], features=["x"])
for each in (PARTS.frame, PARTS.ids_of):
    add(each, name="train")
add(
    partition.write_manifest, folder="parts", partition=PARTS, rules=RULES, source=None, leakage=None, frames=False,
    written=[],
)  # fmt: skip
for name in ("read_manifest", "verify"):
    CALLS[f"partition.{name}"] = Call(
        getattr(partition, name), {"folder": "made"}, lambda: partition.write_manifest("made", PARTS, RULES)
    )

FEATURES = features.choose(TABLE, target="x")
add(features.choose, frame=TABLE, target="x", exclude=["time"], drop=["id"], keep=["id"], timestamps=[])
add(features.matrix, frame=TABLE, features=FEATURES)
add(features.leaks, frame=TABLE, target="x", features=FEATURES, task="regression")
for each in (example.table, example.write):
    add(each, **({"path": "made.csv"} if each is example.write else {}), rows=400, seed=1)
add(published.results, track="weather", task="regression", metric="r_auc", dataset="eval", subset="full")
add_as("METRICS", METRICS.__getitem__, name="r_auc")

# --- what nobody should give ------------------------------------------------------------------------------------------

CALLED = {"progress", "called"}  # arguments that are functions
HOSTILE: dict[str, Any] = {
    "None": None, "NaN": float("nan"), "infinity": float("inf"), "-1": -1, "0": 0, "1.5": 1.5, "2**70": 2**70,
    "10**400": 10**400, "True": True, "complex": 1j, "text": "x", "no text": "", "bytes": b"", "zero byte": "a\0b",
    "empty list": [], "nested list": [[1]], "ragged list": [1, [2]], "empty mapping": {}, "mapping": {1: 2},
    "set": set(), "object": object(), "function": nothing, "class": int, "date": datetime.date(2020, 1, 1),
    "objects": np.array([{}] * N, object), "Nones": np.full(N, None), "texts": np.array(["a"] * N),
    "dates": np.array(["2021-01-01"] * N, "M8[D]"), "0-d array": np.array(1.0), "seven axes": np.zeros((1,) * 7),
    "a view of 8 TB": np.broadcast_to(np.float64(1), (2**40,)), "masked": np.ma.masked_array(np.ones(N), mask=FLAGS),
    "records": np.array([(1, 2.0)] * N, dtype=[("a", int), ("b", float)]), "zeros": np.zeros(N),
    "largest": np.full(N, 1e308), "smallest": np.full(N, 5e-324), "half precision": np.ones(N, np.float16),
    "extended precision": np.ones(N, np.longdouble) * np.longdouble(10) ** 400, "pandas objects": pd.Series([{}] * N),
    "polars objects": pl.Series([object()] * N, dtype=pl.Object), "polars lists": pl.Series([[1]] * N),
    "polars bytes": pl.Series([b"\xff"] * N), "pandas table": pd.DataFrame({"a": [object()] * N}),
    "polars table": pl.DataFrame({"a": pl.Series([object()] * N, dtype=pl.Object)}),
}  # fmt: skip


def hostile() -> Iterator[tuple[str, Any]]:
    """All of them by name, and a generator, of which each is used up once."""
    yield from HOSTILE.items()
    yield "generator", (value for value in [1])


def mistakes(call: Call) -> list[str]:
    """What happens to a call with any of these in place of any argument, other than an answer or one of our errors."""
    if call.prepare is not None:
        call.prepare()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call.function(**call.arguments)
        warnings.simplefilter("error", RuntimeWarning)
        return [
            f"{argument} = {words}: {wrong}"
            for argument in call.arguments
            for words, value in hostile()
            if not (callable(value) and argument in CALLED)  # what other people's functions raise is theirs
            and (wrong := _mistake(call.function, {**call.arguments, argument: value}))
        ]


def _mistake(function: Callable[..., Any], arguments: dict[str, Any]) -> str:
    """What a call raises other than our errors, and those of the system about files; or how long it takes."""
    begun = time.process_time()
    try:
        function(**arguments)
    except (ShiftbenchError, OSError):
        pass
    except Exception as error:
        return f"{type(error).__name__}: {error!s:.100}"
    took = time.process_time() - begun
    return f"took {took:.1f} s" if took > 1 else ""


# --- which of the package are public ----------------------------------------------------------------------------------

MODULES = (
    retention, detection, selective, intervals, regression, classification, quantiles, motion, conformal, structure,
    segmentation, ensembles, measures, of_masks, partition, predictions, shiftbench,
)  # fmt: skip
ELSEWHERE = {  # what needs no call here
    "Array": "a type",
    "Ensemble": "abstract",
    "combine": "under ensembles.combine",
    "class_probabilities": "a check, called with its own axes",
    "Report": "made by assess; its methods are above",
    "Manifest": "made by write_manifest",
    "Partition": "made by partition",
    "Leakage": "made by leakage",
    "Measure": "registered by other packages",
    "Rule": "registered by other packages",
    "Case": "made for rules",
    "Regions": "a protocol",
    "Intervals": "made from checked arrays",
    "Sets": "made from checked arrays",
    "means_of": "core of checked arrays",
    "metrics_of": "takes a rule",
    "register": "takes a rule",
    "interval_scores": "core of checked arrays",
    "Reliability": "a result",
    "Curve": "a result",
    "LesionCounts": "a result",
    "SizeClass": "a result",
    "Bootstrap": "a result",
    "bootstrap": "takes statistics of checked arrays",
    "retention_metric": "describes a metric by its name",
    "small": "core of checked arrays",
    "checked_levels": "a check",
    "acceptable": "core of checked arrays",
    "error_curve": "core of checked arrays",
    "f1_curve": "core of checked arrays",
    "error_area": "core of checked arrays",
    "random_f1_auc": "core of checked numbers",
    "optimal_f1_auc": "core of checked numbers",
    "normalised_f1": "core of checked numbers",
    "normalised_f1_quiet": "core of checked numbers",
    "settled": "core of checked numbers",
    "optimal_r_auc": "core of checked arrays",
    "shift_ratio": "core of checked numbers",
    "harmonic": "core of checked numbers",
    "RetentionScores": "a result",
    "scores": "of retention and selective: core of checked arrays",
    "ranked_scores": "core of checked arrays",
    "checked_rule": "a check",
    "roc_area": "core of checked arrays",
    "roc_points": "core of checked arrays",
    "Best": "core of checked arrays",
    "gain": "core of checked numbers",
    "ShiftbenchError": "an error",
    "ShiftbenchWarning": "a warning",
}


def public() -> set[str]:
    """The names of functions and classes of the public modules that are defined or offered there."""
    found = set()
    for module in MODULES:
        names = getattr(module, "__all__", None) or [
            name for name, value in vars(module).items()
            if getattr(value, "__module__", "") == module.__name__ and not name.startswith("_")
        ]  # fmt: skip
        values = {name: getattr(module, name) for name in names}
        found |= {name for name, value in values.items() if callable(value) and hasattr(value, "__module__")}
    return found
