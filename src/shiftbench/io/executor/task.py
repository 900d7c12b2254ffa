"""Entry point of other processes: `python -m shiftbench.io.executor.task FOLDER NUMBER` does a task of an array."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import NoReturn

from shiftbench.errors import SettingsError, ShiftbenchError
from shiftbench.io import files
from shiftbench.io.executor import child
from shiftbench.io.executor.child import Tell
from shiftbench.io.executor.job import JOB, REPLY, Job, Reply


def main(arguments: list[str]) -> None:
    """Do the task given by the arguments.

    Raises:
        SettingsError: if they are invalid, or the folder holds no such job.
        ShiftbenchError: with the problems of all items of a task.
    """
    match arguments:
        case ["--serve", work, argument]:
            serve(work, argument)
        case [folder, number] if number.isdecimal():
            array_task(Path(folder), int(number))
        case _:
            raise SettingsError(f"expected FOLDER NUMBER, as a Slurm array script has it, found {arguments}.")


def serve(work: str, argument: str) -> NoReturn:
    """Do items by request; one that is interrupted does no harm, since it writes whole files or none."""
    job = Job(work, argument, 0)

    def reply(number: int, _tell: Tell) -> object:
        done = job.done(number)
        return [done.problems, done.fatal]

    child.serve(reply)


def array_task(folder: Path, number: int) -> None:
    """Do the items `number`, `number` + tasks, … of the job in a folder, as `slurm.script` writes it.

    Raises:
        SettingsError: if the folder holds no job, or not so many tasks.
        ShiftbenchError: with the problems of all items.
    """
    path = folder / JOB
    try:
        read = json.loads(files.read_text(path))
        tasks, job = int(read["tasks"]), Job(read["work"], read["argument"], read["items"])
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise SettingsError(f"{path}: expected the job of a Slurm array, found: {error}. Write it again.") from None
    if number >= tasks:
        raise SettingsError(f"{path}: expected one of the tasks 0 to {tasks - 1}, found {number}.")
    found = [_done(job, item, folder if read.get("replies") else None) for item in range(number, job.items, tasks)]
    if problems := [f"item {reply.number}: {problem}" for reply in found for problem in reply.problems]:
        raise ShiftbenchError(*problems)


def _done(job: Job, item: int, folder: Path | None) -> Reply:
    reply = job.done(item)
    if folder:
        files.write_json(folder / REPLY.format(item), [reply.problems, reply.fatal, *reply.used])
    return reply


if __name__ == "__main__":
    main(sys.argv[1:])
