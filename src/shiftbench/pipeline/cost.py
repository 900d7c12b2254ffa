"""What fitting and predicting took, kept beside the models of a run, in a folder of its own; of a single fit, in it;
of a single file of predictions, in one beside it.

Times differ from run to run, and so do these files; nothing else in a run's folder but the pages and tables of its
reports depends on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from shiftbench.io import files, metering
from shiftbench.io.metering import Used
from shiftbench.io.output import PART, folder_of
from shiftbench.methods import fitted_folder
from shiftbench.scores.score import Cost

FORMAT = "shiftbench cost 1"
FOLDER = "cost"
FIT = "fit"
PREDICT = "predict"
FILE = "cost.json"  # in the folder of a fit that belongs to no run


def path_of(model: Path) -> Path:
    """The file about the method fitted into a folder `model/NAME` of a run."""
    return model.parent.parent / FOLDER / f"{model.name}.json"


@contextmanager
def kept(model: Path, stage: str, *, records: int = 0, path: Path | None = None) -> Iterator[None]:
    """Measure what is done in this block for the method fitted into `model`, unless that was measured before.

    What earlier processes spent on the same stage until they were killed is added: each loses the last second at most.
    Of a fit that was begun without being measured (by an earlier version) the cost stays unknown.

    Args:
        model: the folder of the fit; while it holds none, nothing is kept.
        stage: `FIT`, or any other name of what is done with the fit.
        records: the number of those that are predicted.
        path: the file to write, by default that of a run.
    """
    path, began = path or path_of(model), _identity(model)
    before = _stages(path, model).get(stage)
    known = before and before["done"] and before["records"] == records
    if known or (stage == FIT and began and not before):
        yield
        return
    earlier = _used(before) if before and not before["done"] else Used()
    for left in path.parent.glob(f".{path.name}.*.part"):  # of a process that was killed while it wrote
        if PART.fullmatch(left.name):
            left.unlink(missing_ok=True)
    done = False

    def tell(used: Used) -> None:
        fit = _identity(model)
        if fit is None:
            return
        spent = earlier + used if fit == began else used
        entry = {**asdict(spent), "records": records, "done": done}
        path.parent.mkdir(exist_ok=True)
        stages = {**_stages(path, model), stage: entry}  # without those of another fit
        files.write_json(path, {"format": FORMAT, "fit": fit, "stages": stages})

    with metering.measured(tell):
        yield
        done = True


def of_system(system: str, model: Path, stage: str) -> Cost | None:
    """What the fit in `model` took, and the prediction kept as `stage`; None if neither was measured.

    Of a method that is made of others: with theirs, unless it has a fit or a prediction of its own kind.
    """
    fit, predicted, records = _spent(model, stage)
    if fit is None and predicted is None:
        return None
    return Cost(system, *_numbers(fit), *_numbers(predicted), records)


def together(one: Cost | None, other: Cost | None) -> Cost | None:
    """The cost of a system that predicted two sets of records: the fit counts once."""
    if one is None or other is None:
        return one or other
    first, second = (
        Used(each.predict_seconds or 0, each.predict_cpu_seconds or 0, each.predict_bytes or 0, each.predict_added or 0)
        for each in (one, other)
    )
    return Cost(
        one.system, one.fit_seconds, one.fit_cpu_seconds, one.fit_bytes, one.fit_added, *_numbers(first + second),
        one.predicted + other.predicted,
    )  # fmt: skip


def beside(predictions: Path) -> Path:
    """The file about a single file of predictions."""
    return predictions.with_name(f"{predictions.stem}-cost.json")


def keep_beside(predictions: Path, model: Path, used: Used, *, records: int) -> None:
    """Note what these predictions took, and the fit that made them, unless another file has that name or none can be
    written."""
    path = beside(predictions)
    if path.exists() and fitted_folder.read_note(path).get("format") != FORMAT:
        return
    own = _stages(model / FILE, model).get(FIT)
    fit = _used(own) if own else _spent(model, "")[0]
    stages = {
        name: {**asdict(spent), "records": records, "done": True}
        for name, spent in ((FIT, fit), (PREDICT, used))
        if spent
    }
    with suppress(OSError):
        files.write_json(path, {"format": FORMAT, "predictions": files.sha256(predictions), "stages": stages})


def of_file(system: str, predictions: Path) -> Cost | None:
    """What the predictions in a file took, if that was noted of this very file."""
    value = fitted_folder.read_note(beside(predictions))
    stages = value.get("stages")
    if value.get("format") != FORMAT or not isinstance(stages, dict) or not all(map(_whole, stages.values())):
        return None
    if value.get("predictions") != files.sha256(predictions) or PREDICT not in stages:
        return None
    fit = _used(stages[FIT]) if FIT in stages else None
    return Cost(system, *_numbers(fit), *_numbers(_used(stages[PREDICT])), int(stages[PREDICT]["records"]))


def _spent(model: Path, stage: str) -> tuple[Used | None, Used | None, int]:
    """The cost of a fit and of a prediction with it, and the number of records predicted."""
    stages = _stages(path_of(model), model)
    own, predicted = stages.get(FIT), stages.get(stage)
    parts = [_spent(folder_of(model) / name, stage) for name in _parts(model)]
    fits = [_used(own)] if own else []
    fits += [fit for fit, _, _ in parts if fit is not None]
    if predicted:
        predictions, records = [_used(predicted)], int(predicted["records"])
    else:
        predictions = [each for _, each, _ in parts if each is not None]
        records = max((count for *_, count in parts), default=0)
    return _sum(fits), _sum(predictions), records


def _parts(model: Path) -> list[str]:
    """The folders of the methods that a method is made of; none of a record that names none in its settings."""
    settings = fitted_folder.read(model).get("settings")
    of = settings.get("of") if isinstance(settings, dict) else None
    return [each for each in (of if isinstance(of, list) else [of]) if isinstance(each, str)]


def _sum(used: list[Used]) -> Used | None:
    return sum(used[1:], used[0]) if used else None


def _numbers(used: Used | None) -> tuple[float | None, float | None, int | None, int | None]:
    if used is None:
        return None, None, None, None
    return used.seconds, used.cpu_seconds, used.peak_bytes or None, used.added_bytes


def _used(entry: Mapping[str, Any]) -> Used:
    return Used(*(entry[name] for name in ("seconds", "cpu_seconds", "peak_bytes", "added_bytes")))


def _identity(model: Path) -> str | None:
    """The identity of the fit in a folder; None without one."""
    return fitted_folder.identity(model) if (model / fitted_folder.RECORD).exists() else None


def _stages(path: Path, model: Path) -> dict[str, dict[str, Any]]:
    """The noted costs of the fit now in `model`; empty if the file is missing, damaged or of another fit."""
    value = fitted_folder.read_note(path)
    stages, fit = value.get("stages"), _identity(model)
    if value.get("format") != FORMAT or fit is None or value.get("fit") != fit or not isinstance(stages, dict):
        return {}
    return {name: entry for name, entry in stages.items() if _whole(entry)}


def _whole(entry: Any) -> bool:
    numbers = ("seconds", "cpu_seconds", "peak_bytes", "added_bytes", "records", "done")
    return isinstance(entry, dict) and all(isinstance(entry.get(name), (int, float)) for name in numbers)
