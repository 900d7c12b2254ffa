"""Many hostile files met by worker processes under a clock; one that dies or hangs is replaced, and its case named.

`python -m tests.hostile.meeting FIRST COUNT [NAME]` meets more of them than the tests do, and prints what is wrong.
"""

from __future__ import annotations

import json
import os
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.hostile import formats, worker

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60.0  # that a case may take on a busy machine

Case = tuple[str, int]


@dataclass(frozen=True)
class Met:
    """What came of a case. code: the exit code, None if there was none."""

    case: Case
    code: int | None
    problems: list[str]
    words: list[str]
    said: str
    seconds: float


class Worker:
    """A process that meets cases one after the other."""

    def __init__(self, whole: Path, scratch: Path) -> None:
        self.whole, self.scratch = whole, scratch
        self.process: subprocess.Popen[str] | None = None

    def meet(self, case: Case) -> Met:
        if self.process is None:
            self.begin()
        assert self.process is not None
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{case[0]}\t{case[1]}\n")
        self.process.stdin.flush()
        timer = threading.Timer(SECONDS, self.process.kill)
        start = time.perf_counter()
        timer.start()
        line = self.process.stdout.readline()
        timer.cancel()
        if line:
            found = json.loads(line)
            return Met(case, found["code"], found["problems"], found["words"], found["said"], found["seconds"])
        seconds = time.perf_counter() - start
        how = "took too long" if seconds >= SECONDS else f"died: {self.end()}"
        said = (self.scratch / "said").read_text(errors="replace")[-2_000:] if (self.scratch / "said").exists() else ""
        self.end()
        if (
            how == "died: exit code 2"
            and said.startswith("error: ")
            and not any(word in said for word in worker.TRACES)
        ):
            return Met(case, 2, [], [], said, seconds)  # refused while a library was giving up on its memory
        return Met(case, None, [how], [], said, seconds)

    def begin(self) -> None:
        environment = os.environ | {
            "OMP_NUM_THREADS": "1",
            "POLARS_MAX_THREADS": "2",
            "MALLOC_ARENA_MAX": "2",
            "COLUMNS": "120",
            "MPLBACKEND": "Agg",
            "TORCHINDUCTOR_CACHE_DIR": str(self.scratch / "torch"),
        }
        environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH", "")])])
        command = [sys.executable, "-m", "tests.hostile.worker", str(self.whole), str(self.scratch)]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
            env=environment,
        )

    def end(self) -> str:
        if self.process is None:
            return ""
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.process = None
        return f"exit code {code}"


def meet(
    cases: Sequence[Case], whole: Path, scratch: Path, *, workers: int = 2, told: Callable[[Met], None] = lambda _: None
) -> list[Met]:
    """Meet all cases with some workers at a time; `told` is called after each."""
    waiting: queue.SimpleQueue[Case] = queue.SimpleQueue()
    for case in cases:
        waiting.put(case)
    met: list[Met] = []

    def work(number: int) -> None:
        worker = Worker(whole, scratch / f"worker-{number}")
        (scratch / f"worker-{number}").mkdir(parents=True, exist_ok=True)
        while True:
            try:
                case = waiting.get_nowait()
            except queue.Empty:
                break
            met.append(worker.meet(case))
            told(met[-1])
        worker.end()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return met


def summary(met: Sequence[Met]) -> str:
    """How many of which format were met, and how they ended."""
    counts: dict[str, Counter[str]] = {}
    seconds: Counter[str] = Counter()
    for one in met:
        counts.setdefault(one.case[0], Counter())[
            "accepted" if one.code == 0 else "refused" if one.code == 2 else "broke"
        ] += 1
        seconds[one.case[0]] += one.seconds
    ways = ("accepted", "refused", "broke")
    lines = [
        f"{name:26} {sum(found.values()):6,} met, " + ", ".join(f"{found[way]:,} {way}" for way in ways)
        for name, found in sorted(counts.items())
    ]
    return "\n".join([*lines, f"{'together':26} {len(met):6,} met in {sum(seconds.values()):.0f} s of work"])


def main(first: int, count: int, only: str = "") -> None:
    """Meet cases of seeds from `first` on, and print what is wrong as it is found."""
    seen: Counter[str] = Counter()

    def told(one: Met) -> None:
        for problem in one.problems:
            key = re.sub(r"[0-9]+", "#", problem.strip().splitlines()[-1][:90])
            seen[key] += 1
            if seen[key] <= 2:
                said = f"{one.case} {' '.join(one.words)[:200]}\n  {problem[-1200:]}\n  said: {one.said[-300:]!r}\n\n"
                sys.stdout.write(said)
                sys.stdout.flush()

    with tempfile.TemporaryDirectory() as folder:
        whole = made(Path(folder) / "whole")
        cases = [(only or name, first + seed) for seed, name in enumerate(formats.names(count))]
        met = meet(cases, whole, Path(folder) / "scratch", workers=int(os.environ.get("WORKERS", "1")), told=told)
    for key, number in seen.most_common():
        sys.stdout.write(f"{number:5} x {key}\n")
    slow = sorted(met, key=lambda one: -one.seconds)[:5]
    sys.stdout.write(f"{summary(met)}\nslowest: {[(one.case, round(one.seconds, 1)) for one in slow]}\n")


def made(whole: Path) -> Path:
    """The folder of whole files, made in a process of its own."""
    command = [sys.executable, "-m", "tests.hostile.bases", str(whole)]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return whole


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
