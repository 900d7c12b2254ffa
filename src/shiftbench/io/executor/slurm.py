"""A Slurm array: a script whose tasks divide the items of a job among them, submitted by users or by `replies`."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import suppress
from pathlib import Path

from shiftbench.errors import SettingsError, ShiftbenchError
from shiftbench.io import files
from shiftbench.io.executor.job import JOB, ONE_THREAD, REPLY, Executor, Job, Reply, require_count

MOST_TASKS = 1000  # Slurm's default limit of an array (MaxArraySize)
SCRIPT = "array.sh"
SUBMITTED = "submitted"  # what sbatch prints: the array's number
FOLDER = ".slurm.training.part"  # of a job that is being waited for, in its first shared folder
LOOKED = 0.5  # seconds between checks for replies
SEEN = 20.0  # seconds until files of a task are visible on a shared file system


def script(
    job: Job, folder: Path, *, tasks: int | None = None, gpus: int = 0, options: Sequence[str] = (),
    python: str = sys.executable, replies: bool = False,
) -> Path:  # fmt: skip
    """Write `array.sh` and `job.json` to a folder that all nodes see; `sbatch array.sh` then does the job.

    Args:
        job: what is done; the paths that it names must be seen by all nodes, too.
        folder: where both files go.
        tasks: the number of tasks of the array; None for one per item, at most 1,000.
        gpus: the number of GPUs reserved for each task.
        options: further options of sbatch, such as "--partition=cpu" or "--time=4:00:00".
        python: the interpreter on the nodes.
        replies: whether tasks also write a reply for each item, for `replies`.

    Raises:
        SettingsError: if there is nothing to do, or for invalid tasks or options.
    """
    require_count("tasks", tasks)
    problems = [
        f"options: expected such as '--partition=cpu', found {option!r}."
        for option in options
        if not option.startswith("-") or not option.isprintable()
    ]
    if not job.items:
        problems.append("job: expected at least one item, found none: there is nothing to do.")
    if problems:
        raise SettingsError(*problems)
    tasks = min(tasks or MOST_TASKS, job.items)
    description = {"work": job.work, "argument": job.argument, "items": job.items, "tasks": tasks}
    files.write_json(folder / JOB, description | ({"replies": True} if replies else {}))
    directives = [f"--array=0-{tasks - 1}", "--job-name=shiftbench", "--cpus-per-task=1"]
    directives += [f"--gres=gpu:{gpus}"] if gpus else []
    directives += options
    command = shlex.join([python, "-P", "-m", "shiftbench.io.executor.task", str(folder.absolute())])
    lines = [
        "#!/bin/bash",
        *(f"#SBATCH {directive}" for directive in directives),
        "set -euo pipefail",
        *(f"export {name}={value}" for name, value in ONE_THREAD.items()),
        f'exec {command} "$SLURM_ARRAY_TASK_ID"',
    ]
    return files.write_text(folder / SCRIPT, "\n".join(lines) + "\n")


def found() -> bool:
    """Whether arrays can be submitted from this machine."""
    return shutil.which("sbatch") is not None


def replies(job: Job, executor: Executor) -> Generator[Reply, None, None]:
    """Submit an array and wait for it; if this generator is closed early, the array is cancelled.

    Raises:
        SettingsError: if there is no sbatch here.
        ShiftbenchError: if it refuses the array.
    """
    if not found():
        raise SettingsError(
            "executor slurm: expected the command sbatch on PATH, found none. Run this on a machine that submits jobs "
            "to the cluster, or use --executor processes."
        )
    if not job.items:
        return
    folder = Path(job.shared[0]) / FOLDER
    shutil.rmtree(folder, ignore_errors=True)  # left by a process that was killed
    folder.mkdir(parents=True)
    try:
        yield from _submitted(job, executor, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _submitted(job: Job, executor: Executor, folder: Path) -> Generator[Reply, None, None]:
    logs = f"--output={folder}/task-%a.log"
    array = script(job, folder, tasks=executor.workers, gpus=executor.gpus, options=[logs], replies=True)
    with (folder / SUBMITTED).open("wb") as output, (folder / "refused").open("wb") as errors:
        sbatch = subprocess.Popen(
            ["sbatch", "--parsable", "--wait", str(array)], stdin=subprocess.DEVNULL, stdout=output, stderr=errors
        )
    try:
        yield from _replies(job, folder, sbatch)
    finally:
        if sbatch.poll() is None:
            sbatch.kill()
            sbatch.wait()
            _cancel(folder)


def _replies(job: Job, folder: Path, sbatch: subprocess.Popen[bytes]) -> Generator[Reply, None, None]:
    """Results of tasks as they are written; those missing when the array has ended are never yielded."""
    missing, until = set(range(job.items)), None
    while missing:
        ended = sbatch.poll()
        for number in sorted(missing):
            if (reply := _read(folder, number)) is not None:
                missing.remove(number)
                yield reply
        if ended is not None:
            until = until or time.monotonic() + (0 if ended else SEEN)
            if time.monotonic() >= until:
                break
        if missing:
            time.sleep(LOOKED)
    if not missing:
        with suppress(subprocess.TimeoutExpired):
            sbatch.wait(SEEN)
        return
    if not files.read_text(folder / SUBMITTED).strip():
        refused = files.read_text(folder / "refused").strip()
        raise ShiftbenchError(f"executor slurm: expected sbatch to take the array, found: {refused or 'no answer'}")
    for number in sorted(missing):
        yield Reply(number, (f"that its task had ended ({_last_line(folder)}). Run again to go on.",), "failure")


def _read(folder: Path, number: int) -> Reply | None:
    try:
        problems, fatal, *used = json.loads(files.read_text(folder / REPLY.format(number)))
    except (OSError, ValueError):
        return None
    return Reply(number, tuple(problems), fatal, tuple(used))


def _last_line(folder: Path) -> str:
    """The last line that any task printed."""
    for log in sorted(folder.glob("task-*.log"), reverse=True):
        if lines := log.read_text("utf-8", errors="replace").strip().splitlines():
            return f"{log.stem}: {lines[-1]}"
    return "it printed nothing"


def _cancel(folder: Path) -> None:
    with suppress(OSError, ValueError):
        array = files.read_text(folder / SUBMITTED).strip().partition(";")[0]
        if array and shutil.which("scancel"):
            subprocess.run(["scancel", array], capture_output=True, check=False)
