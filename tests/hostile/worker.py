"""A process that meets hostile files: `python -m tests.hostile.worker WHOLE SCRATCH`, a line `NAME<TAB>SEED` a case.

Answers each with a line of JSON: the exit code and all that is wrong. Whoever asks watches the clock, and knows by a
missing answer that the process died of the case.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import matplotlib as mpl
import polars as pl

from shiftbench import cli
from shiftbench.io import fetch as fetching
from shiftbench.io.executor import child
from shiftbench.methods.boosting import trial
from shiftbench.report import canvas
from tests.hostile import downloads, formats, leftovers

MEMORY = 4 * 2**30  # beyond what the process has when a case begins
MOST_SAID = 20_000  # characters
TRACES = (
    "Traceback",
    "panicked at",
    "stack backtrace",
    "RUST_BACKTRACE",
    "RuntimeWarning",
    "DeprecationWarning",
    "site-packages",
)


def meet(name: str, seed: int, whole: Path, scratch: Path) -> dict[str, object]:
    """Run the command of a case in a folder of its own, and see what it did there."""
    shutil.rmtree(scratch, ignore_errors=True)
    here, temporary = scratch / "here", scratch / "tmp"
    here.mkdir(parents=True)
    temporary.mkdir()
    words = formats.make(name, seed, whole, here)
    before = _tree(here)
    os.chdir(here)
    os.environ["TMPDIR"] = tempfile.tempdir = str(temporary)
    start = _worked()
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.RLIM_INFINITY))
    code, said, raised = _run(words, scratch / "said")
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    problems = [f"raised {raised}"] if raised else []
    if code not in (0, 2) and not raised:
        problems.append(f"exit code {code}")
    problems += [f"said {word}" for word in TRACES if word in said]
    if len(said) > MOST_SAID:
        problems.append(f"said {len(said):,} characters")
    if said.startswith("Usage:") and name not in OPTIONS:
        problems.append("refused the words, and never met the file")
    if code == 2 and not said.strip():
        problems.append("said nothing")
    after = _tree(here)
    owned = (*OWNED, "out/") if code == 0 and "--overwrite" in words else OWNED
    own = {path for path in before if path.startswith(owned) and not path.endswith(leftovers.FOREIGN)}
    if changed := [path for path in before if after.get(path) != before[path] and path not in own]:
        problems.append(f"changed or removed {changed[:3]}")
    begun = any(path.startswith(KEPT) for path in before) or f"is kept in {KEPT}" in said
    kept = (MAY_STAY, KEPT, NOTE) if begun else MAY_STAY
    if code != 0 and (left := sorted(path for path in set(after) - set(before) if not path.startswith(kept))):
        problems.append(f"left {left[:5]}")
    if left := sorted(path for path in _tree(temporary) if "matplotlib" not in path):
        problems.append(f"left {left[:5]} in the temporary folder")
    gc.collect()  # files that nobody closed, or memory that nobody frees, would harm the next case
    gc.freeze()  # what is left stays, mostly modules: the next collection need not look at it
    seconds = _worked() - start
    return {"code": code, "problems": problems, "words": words, "said": said[-2_000:], "seconds": seconds}


def _worked() -> float:
    """Seconds of work of this process and its children, whatever else the machine does."""
    return time.process_time() + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


OPTIONS = ("options", "counts")  # formats whose words are hostile, not their files
MAY_STAY = "to/"  # what a fetch keeps though it ends with 2: a part, its note, an archive that it rejects
NOTE = ".out.shiftbench"  # whose these are
KEPT = ".out.making"  # what a command has made so far, and says that it keeps for the next try
OWNED = (f"to/{downloads.FILE}.part", "to/fetched.json", KEPT, NOTE)  # what the next try goes on with or replaces


def _run(words: list[str], told: Path) -> tuple[int | None, str, str]:
    """Run the command line with its output, that of native code too, in a file."""
    sys.argv = ["shiftbench", *words]
    kept = [os.dup(1), os.dup(2)]
    code, raised = None, ""
    with told.open("w+b") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        try:
            cli.main()
        except SystemExit as end:
            code = int(end.code or 0) if not isinstance(end.code, str) else 1
        except BaseException:
            raised = traceback.format_exc()[-1_500:]
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for number, handle in enumerate(kept, start=1):
                os.dup2(handle, number)
                os.close(handle)
        file.seek(0)
        return code, file.read().decode("utf-8", "replace"), raised


def _tree(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in folder.rglob("*")
    }


class _Trial(child.Child):
    """Processes that try CatBoost's models are forked, since importing CatBoost is most of their work."""

    def __init__(self, _module: str, folder: str, suffix: str) -> None:
        self.log = tempfile.TemporaryFile()  # noqa: SIM115 (closed in `close`)
        self.process = _Fork(folder, suffix, self.log.fileno())  # type: ignore[assignment]


class _Fork:
    """As much of a `Popen` as a child needs."""

    def __init__(self, folder: str, suffix: str, log: int) -> None:
        (given, to), (answers, back) = os.pipe(), os.pipe()
        self.pid = os.fork()
        if not self.pid:
            for number, handle in enumerate((given, back, log)):
                os.dup2(handle, number)
            os.closerange(3, 64)
            sys.stdin = os.fdopen(0)
            child.serve(partial(trial._try, Path(folder), suffix))
        os.close(given)
        os.close(back)
        self.stdin, self.stdout = os.fdopen(to, "w"), os.fdopen(answers)
        self.status: int | None = None

    def kill(self) -> None:
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        if self.status is None:
            self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.status


def serve(whole: Path, scratch: Path) -> None:
    """Meet the cases that are asked for, until nobody asks any more."""
    import torch

    with suppress(ImportError):
        import catboost  # noqa: F401 (for the processes that are forked)

    trial.child = SimpleNamespace(Child=_Trial, Tell=child.Tell)  # type: ignore[assignment]
    torch.set_num_threads(1)
    os.fsync = lambda _: None  # the machine does not crash
    mpl.use("Agg")
    canvas.DPI = 20  # pictures are laid out and drawn as ever, on fewer pixels
    fetching.fetch.__kwdefaults__["patience"] = fetching.Patience(tries=3, wait_s=0.0, timeout_s=5.0)
    pl.DataFrame({"a": [1]}).select(pl.col("a").sum())
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        name, seed = line.rstrip("\n").split("\t")
        try:
            found = meet(name, int(seed), whole, scratch)
        except Exception:  # of ours here, not of what is tested
            found = {
                "code": None,
                "problems": [f"the generator: {traceback.format_exc()}"],
                "words": [],
                "said": "",
                "seconds": 0.0,
            }
        os.chdir(scratch)
        answers.write(json.dumps(found) + "\n")
        answers.flush()


if __name__ == "__main__":
    serve(Path(sys.argv[1]), Path(sys.argv[2]))
