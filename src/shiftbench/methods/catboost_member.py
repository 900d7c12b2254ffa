"""One CatBoost model of an ensemble: how it is trained, in a process of its own, and how its files are trusted.

The file with a model's hash is written after the model, so a model without one was never finished.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench import files
from shiftbench.errors import MissingExtraError, SettingsError
from shiftbench.methods import fitted_folder, workers

Arrays = dict[str, npt.NDArray[Any]]

INPUTS = "inputs.npz"
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


def train(folder: Path, record: dict[str, Any], pools: tuple[Any, Any], member: int) -> None:
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
    model.fit(pools[0], eval_set=pools[1])
    description = model.get_metadata()
    for key in ("model_guid", "train_finish_time"):  # equal models are equal files
        description[key] = ""
    with files.replacing(_model(folder, member)) as temporary:
        model.save_model(str(temporary))
    note = {
        "fit": _fit(folder),
        "member": member,
        "sha256": files.sha256(_model(folder, member)),
        "trees": model.tree_count_,
        "dev_loss": model.best_score_["validation"][loss(record)],
    }
    files.write_json(_note(folder, member), note)


def note(folder: Path, member: int) -> dict[str, Any]:
    """What was noted when the member was finished; nothing if it was not, or the note is damaged."""
    try:
        value = json.loads(_note(folder, member).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError):
        return {}
    return value if isinstance(value, dict) else {}


def problem(folder: Path, member: int) -> str:
    """Why the member cannot be used: it is missing, of another fit, or damaged; empty if it can be."""
    path, noted = _model(folder, member), note(folder, member)
    if not path.exists() or not noted:
        return f"{path.name}: expected a trained model, found none that is finished"
    if (noted.get("fit"), noted.get("member")) != (_fit(folder), member):
        return f"{path.name}: expected a member of this fit, found one of another"
    if noted.get("sha256") != files.sha256(path):
        return f"{path.name}: expected the model as it was written, found a changed or damaged file"
    return ""


def require(folder: Path, members: int) -> None:
    """Check that all members can be used.

    Raises:
        SettingsError: naming every member that is missing, damaged, or of another fit.
    """
    if problems := [text for m in range(members) if (text := problem(folder, m))]:
        advice = "Fit again with the same settings and data: only what is missing or damaged is trained."
        raise SettingsError(*(f"{folder}: {text}. {advice}" for text in problems))


def trees(folder: Path, members: int) -> list[int]:
    """How many trees each member has.

    Raises:
        SettingsError: naming every member that is missing, damaged, or of another fit.
    """
    require(folder, members)
    return [note(folder, m)["trees"] for m in range(members)]


def load(folder: Path, members: int) -> list[Any]:
    """The models of all members.

    Raises:
        SettingsError: naming every member that is missing, damaged, or of another fit.
        MissingExtraError: if CatBoost is not installed.
    """
    catboost = library()
    require(folder, members)
    return [catboost.CatBoost().load_model(str(_model(folder, m))) for m in range(members)]


def _model(folder: Path, member: int) -> Path:
    return folder / f"member_{member:02d}.cbm"


def _note(folder: Path, member: int) -> Path:
    return folder / f"member_{member:02d}.json"


def _fit(folder: Path) -> str:
    """What tells this fit from others: the hash of its record."""
    return files.sha256(folder / fitted_folder.RECORD)


def _serve(folder: Path) -> None:
    """Train the members that are asked for, until nobody asks any more."""
    with np.load(folder / INPUTS, allow_pickle=False) as stored:
        arrays = dict(stored)
    pools = pool(arrays, "train"), pool(arrays, "dev")
    workers.serve(partial(train, folder, fitted_folder.read(folder), pools))


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
