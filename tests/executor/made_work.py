"""Work for the tests of executors: every item writes a file, and some go wrong."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from shiftbench.errors import MissingExtraError, ShiftbenchError
from shiftbench.io import files

SQUARE, PICKY, DEADLY, BROKEN, LACKING, CHATTY, SLOW, THREADS, MARKED, GPUS, ONCE = (
    f"{__name__}:{name}"
    for name in (
        "square",
        "picky",
        "deadly",
        "broken",
        "lacking",
        "chatty",
        "slow",
        "threads",
        "marked",
        "gpus",
        "once",
    )
)


def square(folder: str, number: int) -> None:
    files.write_text(Path(folder) / f"{number}.txt", str(number**2))


def picky(folder: str, number: int) -> None:
    if number % 2:
        raise ShiftbenchError(f"input {number}: expected an even number, found {number}.", f"{number}: odd.")
    square(folder, number)


def deadly(folder: str, number: int) -> None:
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    square(folder, number)


def broken(folder: str, number: int) -> None:
    raise OSError(28, "No space left on device")


def lacking(folder: str, number: int) -> None:
    raise MissingExtraError("track motion: expected OpenCV, found none.")


def chatty(folder: str, number: int) -> None:
    os.write(1, b"[[], 'said by a library']\n")
    square(folder, number)


def slow(folder: str, number: int) -> None:
    square(folder, number)
    time.sleep(60 if number else 0)


def threads(folder: str, number: int) -> None:
    import cv2

    files.write_text(Path(folder) / f"{number}.txt", str(cv2.getNumThreads()))


def marked(folder: str, number: int) -> None:
    files.write_text(Path(folder) / f"{number}.txt", str(os.getpid()))
    time.sleep(60)


def gpus(folder: str, number: int) -> None:
    files.write_text(Path(folder) / f"{number}.txt", os.environ.get("CUDA_VISIBLE_DEVICES", "all"))


def once(folder: str, number: int) -> None:
    """Killed the first time; done the second."""
    if number == 1 and not (killed := Path(folder) / "killed").exists():
        killed.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    square(folder, number)
