"""What a worker process may do wrong, by name: `python -m tests.methods.toy_worker MODE`."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

from shiftbench.methods import workers


def work(member: int, report: workers.Report) -> None:
    mode, _, place = sys.argv[1].partition(":")
    if mode == "fails":
        raise ValueError(f"no luck with {member}")
    if mode == "dies":
        os._exit(7)
    if mode == "reports":
        report(1, f"half of {member}")
        report(2, f"all of {member} in process {sys.argv[2]}")
    if mode == "chatters":
        os.write(1, b"ten lines of progress\n")
        sys.stdout.write("and more\n")
    if mode == "holds":
        with Path(place).open("w") as held:
            held.write("at work")
            held.flush()
            threading.Event().wait()


if __name__ == "__main__":
    workers.serve(work)
