"""One CatBoost model of an ensemble: how it is trained, in a process of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.errors import SettingsError
from shiftbench.io import files
from shiftbench.methods import fitted_folder, member_files
from shiftbench.methods.boosting import linear, trial
from shiftbench.methods.boosting.linear import Linear, Rows
from shiftbench.methods.contract import require_libraries
from shiftbench.methods.member_files import Arrays, MemberFiles
from shiftbench.methods.workers import Report, Train

REPORTS = 100  # of how far a member is
START = "shiftbench_linear"  # the name of a linear model in a model's file
FIXED = {
    "thread_count": 1,  # sums in another order would be other sums
    "max_ctr_complexity": 1,  # no combinations of text columns: several times as fast, and no worse where tried
    "one_hot_max_size": 64,
    "use_best_model": True,
    "od_type": "Iter",
    "logging_level": "Silent",
    "allow_writing_files": False,
}


def library() -> ModuleType:
    """CatBoost, imported.

    Raises:
        MissingExtraError: if it is not installed.
    """
    require_libraries("boosting", ("catboost",), "boosting")
    import catboost

    return catboost  # type: ignore[no-any-return]


def require_gpu() -> None:
    """Check that CatBoost finds a GPU; without one, training fails only much later.

    Raises:
        SettingsError: if it finds none.
    """
    library()
    from catboost.utils import get_gpu_device_count

    if not (count := get_gpu_device_count()):
        raise SettingsError(
            f"gpu: expected a GPU that CatBoost can use, found {count}. Set gpu = false, or mend the CUDA driver."
        )


def loss(record: Mapping[str, Any], model: int) -> str:
    """CatBoost's name of the loss that a model minimises: the models of a fit are as many for each of its losses."""
    losses: list[str] = record["losses"]
    each = int(record["models"]) // len(losses)
    return losses[model // each]


def pool(arrays: Arrays, part: str, rows: Rows | None = None) -> Any:
    """A CatBoost pool of the arrays whose names begin with `part`, of these rows [N] only if any are named."""
    catboost, chosen = library(), slice(None) if rows is None else rows
    names, numeric = arrays[f"{part}_categorical_names"].tolist(), arrays[f"{part}_numeric"][chosen]
    texts = [np.array([text.encode() for text in arrays[f"{part}_texts_{q}"]], object) for q in range(len(names))]
    columns = [text[arrays[f"{part}_codes_{q}"][chosen]] for q, text in enumerate(texts)]
    inputs = catboost.FeaturesData(
        num_feature_data=numeric if numeric.shape[1] else None,
        num_feature_names=arrays[f"{part}_numeric_names"].tolist() or None,
        cat_feature_data=np.column_stack(columns) if columns else None,
        cat_feature_names=names or None,
    )
    target = arrays.get(f"{part}_target")
    return catboost.Pool(inputs, label=None if target is None else target[chosen])


class Pools:
    """The records that the models of a fit learn from, and those that stop their training.

    Without folds all learn from train and are stopped on dev_in. With K folds model m learns from all but fold m mod K
    and is stopped on that fold. Every other model starts from a linear model of the same records if the record of the
    fit says so. Of several losses the first models of each have the same folds and starts.
    """

    def __init__(self, arrays: Arrays, record: Mapping[str, Any]) -> None:
        self.arrays = arrays
        self.members = record["models"] // len(record["losses"])
        self.starts = bool(record.get("linear_starts"))
        self.folds: npt.NDArray[np.int64] | None = arrays.get("train_folds")
        self.whole = None if self.folds is not None or self.starts else (pool(arrays, "train"), pool(arrays, "dev"))

    def of(self, model: int) -> tuple[Any, Any, Linear | None]:
        """The pools that a model learns from and is stopped on, and what it starts from."""
        if self.whole is not None:
            return *self.whole, None
        place, arrays = model % self.members, self.arrays
        learnt, judged = self._parts(place)
        start = linear.fit(arrays, learnt, judged) if self.starts and place % 2 else None
        if start is not None:
            left = {part: arrays[f"{part}_target"] - start.predict(arrays, part) for part in {learnt[0], judged[0]}}
            arrays = arrays | {f"{part}_target": target for part, target in left.items()}
        return pool(arrays, *learnt), pool(arrays, *judged), start

    def _parts(self, place: int) -> tuple[tuple[str, Rows], tuple[str, Rows]]:
        """The records that a member learns from, and those that it is stopped on."""
        if self.folds is None:
            counts = (len(self.arrays["train_target"]), len(self.arrays["dev_target"]))
            return ("train", np.ones(counts[0], bool)), ("dev", np.ones(counts[1], bool))
        held = self.folds == place % (self.folds.max() + 1)
        return ("train", ~held), ("train", held)


def files_in(folder: Path) -> MemberFiles:
    """The files of the models of a fit."""
    return MemberFiles(folder, ".cbm", "a trained model, found none that is finished", "the model as it was written")


def train(folder: Path, record: dict[str, Any], pools: Pools, member: int, report: Report) -> None:
    """Train one member and write its two files."""
    settings, wanted = record["settings"], loss(record, member)
    learnt, judged, start = pools.of(member)
    # Seeds that are numbered through would give two ensembles with neighbouring seeds nearly the same members.
    seed = np.random.SeedSequence([settings["seed"], member]).generate_state(1)[0]
    model = library().CatBoost(
        {
            **FIXED,
            "loss_function": wanted,
            "iterations": settings["iterations"],
            "depth": settings["depth"],
            "learning_rate": settings["learning_rate"],
            "od_wait": settings["early_stopping"],
            "random_seed": int(seed),
            **({} if record["classes"] is None else {"classes_count": len(record["trained_classes"])}),
            **record["options"],
        }
    )
    # On a GPU CatBoost calls nobody back.
    watchers = [_Watcher(report, settings["iterations"])] if record["options"].get("task_type") != "GPU" else None
    model.fit(learnt, eval_set=judged, callbacks=watchers)
    description = model.get_metadata()
    for key in ("model_guid", "train_finish_time"):  # equal models are equal files
        description[key] = ""
    if start is not None:
        description[START] = json.dumps(start.to_json())
    kept = files_in(folder)
    with files.replacing(kept.path(member)) as temporary:
        model.save_model(str(temporary))
    kept.finish(member, {"trees": model.tree_count_, "dev_loss": model.best_score_["validation"][wanted]})


class _Watcher:
    """Reports the number of trees after every hundredth of them."""

    def __init__(self, report: Report, iterations: int) -> None:
        self.report, self.iterations, self.every = report, iterations, max(1, iterations // REPORTS)

    def after_iteration(self, info: Any) -> bool:
        """Called by CatBoost; to go on."""
        if info.iteration % self.every == 0:
            self.report(info.iteration, f"tree {info.iteration:,} of {self.iterations:,}")
        return True


def trees(folder: Path, members: int) -> list[int]:
    """How many trees each member has.

    Raises:
        SettingsError: naming every member that is missing, damaged, or of another fit.
    """
    kept = files_in(folder)
    kept.require(members)
    return [kept.note(member)["trees"] for member in range(members)]


def load(folder: Path, members: int) -> list[Any]:
    """The models of all members.

    Raises:
        SettingsError: naming every member that is missing, damaged, of another fit, or unreadable to CatBoost.
        MissingExtraError: if CatBoost is not installed.
    """
    catboost, kept = library(), files_in(folder)
    kept.require(members)
    trial.require_sound(kept, members)
    return [catboost.CatBoost().load_model(str(kept.path(member))) for member in range(members)]


def starts(models: list[Any]) -> list[Linear | None]:
    """The linear model that each model starts from, whose prediction is to be added."""
    found = [dict(model.get_metadata()).get(START) for model in models]
    return [None if text is None else Linear.from_json(json.loads(text)) for text in found]


def trainer(argument: str, _number: int) -> Train:
    """What trains the models of the fit in a folder; see `workers.train`."""
    folder = Path(argument)
    arrays, record = member_files.read_inputs(folder), fitted_folder.read(folder)
    return partial(train, folder, record, Pools(arrays, record))
