"""A method that is killed once, when it predicts the record where `x` is 250."""

from __future__ import annotations

import os
import signal

import numpy as np

from shiftbench.ensembles import Gaussian
from shiftbench.methods.constant import MeanSettings
from shiftbench.methods.contract import Method, Prepared


def prepare(job):
    return Prepared({})


def answer(frame, fitted):
    marks = fitted.folder.parent
    if 250 in frame["x"] and not (marks / "killed").exists():
        (marks / "killed").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    (marks / f"predicted-{frame['x'][0]}-{os.getpid()}").touch()
    values = frame["x"].to_numpy().astype(float)[None] / 7
    mean = np.concatenate([values, values + 1])
    return Gaussian(mean, np.ones_like(mean), draws=2)


METHOD = Method("dying", "Killed once", MeanSettings, prepare, answer, lambda frame, fitted: "", "ensemble")
