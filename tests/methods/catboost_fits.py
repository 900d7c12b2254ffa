"""Small fits of the two ensembles of CatBoost models, for what is tested of both and of each."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from shiftbench import methods
from shiftbench.methods.boosting import ensemble, likelihood
from tests.methods.conftest import Parts

SMALL = {"members": 4, "iterations": 60, "depth": 4, "learning_rate": 0.2, "early_stopping": 10}
SETTINGS: dict[str, Any] = {
    "boosting": ensemble.Settings("regression", folds=4, **SMALL),
    "likelihood_boosting": likelihood.Settings("regression", **SMALL),
}
# Fits for ever if left alone: after the first model it waits for an input that never comes.
INTERRUPTED = """
import sys
from pathlib import Path
from tests.methods.catboost_fits import fit
from tests.methods.conftest import cut

def wait(done, total, message):
    if " of " in message:  # a tree, and no model
        return
    sys.stdout.write(message + "\\n")
    sys.stdout.flush()
    sys.stdin.read()

fit(sys.argv[1], cut(), Path(sys.argv[2]), progress=wait)
"""


def fit(name: str, parts: Parts, folder: Path, settings: Any = None, **changed: Any) -> Path:
    arguments = {"features": parts.features, "target": "y", "cores": 2, **changed}
    train, dev = arguments.pop("train", parts.train), arguments.pop("dev", parts.dev)
    return Path(methods.method(name).fit(train, dev, settings=settings or SETTINGS[name], folder=folder, **arguments))


def interrupted(name: str, folder: Path) -> str:
    """Kill a fit after its first model; returns what it said of that."""
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, name, str(folder)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert process.stdout is not None
    first = process.stdout.readline()
    process.kill()
    process.communicate()
    return first


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
