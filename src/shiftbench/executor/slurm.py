"""A Slurm array: a script whose tasks share the items of a job among them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from shiftbench import files
from shiftbench.errors import SettingsError
from shiftbench.executor.job import JOB, ONE_THREAD, Job, require_count

MOST_TASKS = 1000  # Slurm takes no more in one array unless its MaxArraySize was raised
SCRIPT = "array.sh"


def script(
    job: Job, folder: Path, *, tasks: int | None = None, options: Sequence[str] = (), python: str = sys.executable
) -> Path:
    """Write `array.sh` and `job.json` to a folder that all nodes see; `sbatch array.sh` then does the job.

    Args:
        job: what is done; the paths that it names must be seen by all nodes, too.
        folder: where both files go.
        tasks: how many tasks the array has; None for one for each item, 1,000 at most.
        options: further options of sbatch, as "--partition=cpu" or "--time=4:00:00".
        python: the interpreter on the nodes.

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
    files.write_json(folder / JOB, {"work": job.work, "argument": job.argument, "items": job.items, "tasks": tasks})
    directives = [f"--array=0-{tasks - 1}", "--job-name=shiftbench", "--cpus-per-task=1", *options]
    command = shlex.join([python, "-P", "-m", "shiftbench.executor.task", str(folder.absolute())])
    lines = [
        "#!/bin/bash",
        *(f"#SBATCH {directive}" for directive in directives),
        "set -euo pipefail",
        *(f"export {name}={value}" for name, value in ONE_THREAD.items()),
        f'exec {command} "$SLURM_ARRAY_TASK_ID"',
    ]
    return files.write_text(folder / SCRIPT, "\n".join(lines) + "\n")
