"""What a worker may do wrong, by name: the argument of `trainer`."""

from __future__ import annotations

import os
import signal
import sys
import threading
from functools import partial
from pathlib import Path

from shiftbench.methods import workers


def trainer(argument: str, number: int) -> workers.Train:
    return partial(work, argument, number)


def work(argument: str, number: int, member: int, report: workers.Report) -> None:
    mode, _, place = argument.partition(":")
    if mode == "fails":
        raise ValueError(f"no luck with {member}")
    if mode == "dies":
        os._exit(7)
    if mode == "reports":
        report(1, f"half of {member}")
        report(2, f"all of {member} in process {number}")
    if mode == "names":
        report(1, str(os.getpid()))
    if mode == "gpus":
        report(1, f"{member} on {os.environ['CUDA_VISIBLE_DEVICES']}")
    if mode == "notes":
        (Path(place) / f"member-{member}").touch()
    if mode == "killed once" and not (killed := Path(place) / "killed").exists():
        killed.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if mode == "chatters":
        os.write(1, b"ten lines of progress\n")
        sys.stdout.write("and more\n")
    if mode == "holds":
        with Path(place).open("w") as held:
            held.write("at work")
            held.flush()
            threading.Event().wait()
