"""Loads untrusted CatBoost models in a separate process first, because its reader can crash on damaged files.

The hash stored beside a model detects accidental damage, but not a file that was changed together with its hash.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from shiftbench.errors import SettingsError
from shiftbench.io.executor import child
from shiftbench.methods.member_files import ADVICE, MemberFiles

ROWS = 64  # that a model is tried on
LIMIT_S = 120.0  # for a model, on a busy machine

_known: set[str] = set()  # hashes of files that this process has made or tried


def trust(kept: MemberFiles, members: Iterable[int]) -> None:
    """Register members that this process has trained, which need no trial."""
    _known.update(str(kept.note(member).get("sha256")) for member in members)


def require_sound(kept: MemberFiles, members: int) -> None:
    """Load and run, in one separate process, all models that this process has neither trained nor tried.

    Raises:
        SettingsError: naming the first that CatBoost refuses, crashes on or hangs on.
    """
    unknown = [member for member in range(members) if kept.note(member).get("sha256") not in _known]
    if not unknown:
        return
    trial = child.Child(__name__, str(kept.folder), kept.suffix)
    try:
        for member in unknown:
            if problem := _answer(trial, member):
                raise SettingsError(
                    f"{kept.path(member)}: expected {kept.intact}, found one that CatBoost {problem}. {ADVICE}"
                )
    finally:
        trial.end()
        trial.close()
    trust(kept, unknown)


def _answer(trial: child.Child, member: int) -> str:
    """What went wrong with a member; "" if nothing did."""
    clock = threading.Timer(LIMIT_S, trial.process.kill)
    clock.start()
    trial.give(member)
    line = trial.replies.readline()
    clock.cancel()
    if line.endswith("\n"):
        return str(json.loads(line))
    return f"dies of ({trial.obituary()})"


def _try(folder: Path, suffix: str, member: int, _tell: child.Tell) -> str:
    """Load a model and let it predict varied rows; returns the reason if that fails."""
    from catboost import CatBoost, CatBoostError

    try:
        model = CatBoost().load_model(str(MemberFiles(folder, suffix, "", "").path(member)))
        model.predict(_rows(model), thread_count=1)
    except (CatBoostError, ValueError) as error:  # also text that is no UTF-8
        return f"refuses ({(str(error).splitlines() or ['no reason given'])[0]})"
    return ""


def _rows(model: Any) -> Any:
    """Numbers around zero and far from it, missing ones among them, and texts that the model does not know."""
    from catboost import FeaturesData, Pool

    names, texts = model.feature_names_, len(model.get_cat_feature_indices())
    rng = np.random.default_rng(0)
    numbers = rng.standard_t(1, (ROWS, max(0, len(names) - texts))).astype(np.float32)
    numbers[rng.random(numbers.shape) < 0.1] = np.nan
    return Pool(
        FeaturesData(
            num_feature_data=numbers if numbers.shape[1] else None,
            cat_feature_data=np.full((ROWS, texts), b"?", object) if texts else None,
        )
    )


if __name__ == "__main__":
    child.serve(partial(_try, Path(sys.argv[1]), sys.argv[2]))
