"""One CatBoost model of an ensemble: how it is trained, in a process of its own."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from shiftbench import files
from shiftbench.errors import MissingExtraError, SettingsError
from shiftbench.methods import fitted_folder, member_files, workers
from shiftbench.methods.member_files import Arrays, MemberFiles
from shiftbench.methods.workers import Report

REPORTS = 100  # of how far a member is
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
    try:
        import catboost
    except ImportError as error:
        raise MissingExtraError(
            f"method boosting: expected CatBoost, found: {error}. Install it: pip install 'shiftbench[boosting]'"
        ) from None
    return catboost  # type: ignore[no-any-return]


def require_gpu() -> None:
    """Check that CatBoost finds a GPU; asked to train on one that is not there, it fails only much later.

    Raises:
        SettingsError: if it finds none.
    """
    library()
    from catboost.utils import get_gpu_device_count

    if not (count := get_gpu_device_count()):
        raise SettingsError(
            f"gpu: expected a GPU that CatBoost can use, found {count}. Set gpu = false, or mend the CUDA driver."
        )


def loss(record: dict[str, Any]) -> str:
    """CatBoost's name of the loss that the fit minimises."""
    return "RMSEWithUncertainty" if record["classes"] is None else "MultiClass"


def pool(arrays: Arrays, part: str) -> Any:
    """A CatBoost pool of the arrays whose names begin with `part`, with the target if there is one."""
    catboost = library()
    names = arrays[f"{part}_categorical_names"].tolist()
    texts = [np.array([text.encode() for text in arrays[f"{part}_texts_{q}"]], object) for q in range(len(names))]
    rows = catboost.FeaturesData(
        num_feature_data=arrays[f"{part}_numeric"] if arrays[f"{part}_numeric"].shape[1] else None,
        num_feature_names=arrays[f"{part}_numeric_names"].tolist() or None,
        cat_feature_data=np.column_stack([text[arrays[f"{part}_codes_{q}"]] for q, text in enumerate(texts)])
        if texts
        else None,
        cat_feature_names=names or None,
    )
    return catboost.Pool(rows, label=arrays.get(f"{part}_target"))


def files_in(folder: Path) -> MemberFiles:
    """The files of the models of a fit."""
    return MemberFiles(folder, ".cbm", "a trained model, found none that is finished", "the model as it was written")


def train(folder: Path, record: dict[str, Any], pools: tuple[Any, Any], member: int, report: Report) -> None:
    """Train one member on the pools of train and dev_in and write its two files."""
    settings = record["settings"]
    # Seeds that are numbered through would give two ensembles with neighbouring seeds nearly the same members.
    seed = np.random.SeedSequence([settings["seed"], member]).generate_state(1)[0]
    model = library().CatBoost(
        {
            **FIXED,
            "loss_function": loss(record),
            "iterations": settings["iterations"],
            "depth": settings["depth"],
            "learning_rate": settings["learning_rate"],
            "od_wait": settings["early_stopping"],
            "random_seed": int(seed),
            **record["options"],
        }
    )
    # On a GPU CatBoost calls nobody back.
    watchers = [_Watcher(report, settings["iterations"])] if record["options"].get("task_type") != "GPU" else None
    model.fit(pools[0], eval_set=pools[1], callbacks=watchers)
    description = model.get_metadata()
    for key in ("model_guid", "train_finish_time"):  # equal models are equal files
        description[key] = ""
    kept = files_in(folder)
    with files.replacing(kept.path(member)) as temporary:
        model.save_model(str(temporary))
    kept.finish(member, {"trees": model.tree_count_, "dev_loss": model.best_score_["validation"][loss(record)]})


class _Watcher:
    """Tells after every hundredth of the trees how many there are."""

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
        SettingsError: naming every member that is missing, damaged, or of another fit.
        MissingExtraError: if CatBoost is not installed.
    """
    catboost, kept = library(), files_in(folder)
    kept.require(members)
    return [catboost.CatBoost().load_model(str(kept.path(member))) for member in range(members)]


def _serve(folder: Path) -> None:
    """Train the members that are asked for, until nobody asks any more."""
    arrays = member_files.read_inputs(folder)
    pools = pool(arrays, "train"), pool(arrays, "dev")
    workers.serve(partial(train, folder, fitted_folder.read(folder), pools))


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
