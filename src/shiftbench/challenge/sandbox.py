"""Files of strangers are read in a fresh interpreter that cannot see labels (`confinement`); arrays come back.

Nothing that comes back is trusted: links are not followed, arrays are numbers of the size that their file has.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.challenge import confinement, forms
from shiftbench.challenge.definition import Board
from shiftbench.errors import SettingsError, ShiftbenchError, shortened

REQUIRED = ("limits", "landlock")  # without these labels could be read, or the machine be filled
LARGEST_RESULT = 2**21  # bytes of what the interpreter tells
LONGEST_HEADER = 4096  # of an array
ARRAY = re.compile(r"([A-Za-z0-9_]{1,80})\.npy")
MAGIC = b"\x93NUMPY\x01\x00"
HEADER = re.compile(  # as NumPy writes it, which reads it with a parser of Python
    rb"\{'descr': '((?:\|b1|\|[iu]1|<[iu][248]|<f[248]))', 'fortran_order': False, "
    rb"'shape': \(((?:\d{1,12},|\d{1,12}(?:, \d{1,12}){1,7}))\), \} *\n"
)
_STEP_S = 0.02
_ABOUT = {  # layer → (what it keeps from happening, the attempts that prove it)
    "labels cannot be read": ("read", "read_in_a_thread", "list", "passwd", "environment"),
    "nothing can be changed outside": ("write", "write_beside", "truncate", "remove", "permissions", "times", "link"),
    "no network": ("tcp", "udp"),
    "no other programs": ("fork", "execute"),
    "no signals to others": ("signal",),
    "memory and sizes are limited": ("memory", "sizes"),
}


class Refused(ShiftbenchError):
    """What is wrong with a file of a stranger."""


class Fault(ShiftbenchError):
    """What is wrong on our side."""


class Unexpected(Fault):
    """A fault on our side that this one file brought about, while the same reader reads others."""


@dataclass(frozen=True)
class Limits:
    """What reading one file may take.

    memory: bytes of addresses (libraries alone take about 1.5 GB). cpu_s, wall_s: seconds. written: bytes of each file
    of arrays, and of all together. files: arrays.
    """

    memory: int = 6 * 2**30
    cpu_s: int = 600
    wall_s: float = 900.0
    written: int = 8 * 2**30
    files: int = 10_000


def parse(
    board: Board, file: Path, folder: Path, *, name: str = "", records: Path | None = None, limits: Limits = Limits(),
    weak: bool = False,
) -> None:  # fmt: skip
    """Read the file of a stranger into arrays below `folder`, which is made anew; see `arrays`.

    Args:
        board: whose form the file should have.
        file: the file; name: what the stranger calls it, which messages use and whose suffix tells its form.
        folder: for the arrays.
        records: the file with the public records of the phase, which it is compared with.
        limits: of what it may take.
        weak: whether to go on where the machine cannot hide labels.

    Raises:
        Refused: naming all that is wrong with the file.
        Unexpected: if our code failed at this file. Fault: if it fails at others, too, or did not begin.
    """
    folder = folder.resolve()  # the reader works elsewhere
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "in").mkdir(parents=True)
    named = folder / "in" / _plain(name or file.name)
    named.symlink_to(file.resolve())
    task = {"track": board.track, "file": str(file.resolve()), "named": str(named)}
    result = _run({**task, "records": str(records.resolve()) if records else ""}, folder, limits, weak=weak)
    shutil.rmtree(folder / "in", ignore_errors=True)
    if (crashed := result.get("crashed")) and result.get("ours"):
        _require_reader(board, limits, weak=weak)
        raise Unexpected(f"expected a reader that does its work, found it broken by {crashed}")
    if crashed:
        why = f"the file could not be read ({crashed}). If it is right, tell the organisers."
        raise Refused(f"expected a file of this board, found one that no reader expects: {why}")
    if problems := result.get("problems"):
        raise Refused(*_without_paths(problems, named, folder))


def _require_reader(board: Board, limits: Limits, *, weak: bool) -> None:
    """Let the reader read an example of its own, in another fresh interpreter that no file of a stranger has seen.

    Raises:
        Fault: if it fails at that, too: then the fault is ours, whatever it was given.
    """
    with tempfile.TemporaryDirectory() as aside, tempfile.TemporaryDirectory() as folder:
        file = str(forms.intake(board.track).example(Path(aside), None))
        try:
            found = _run({"track": board.track, "file": file, "named": file}, Path(folder), limits, weak=weak)
        except Refused as error:
            found = {"crashed": str(error)}
    if why := found.get("crashed") or " ".join(found.get("problems") or ()):
        raise Fault(f"expected a reader that reads its own example, found it broken by {why}")


def arrays(folder: Path) -> dict[str, npt.NDArray[Any]]:
    """The arrays that `parse` wrote, read as they are used.

    Raises:
        Refused: if anything there is no plain array of numbers.
    """
    place = folder / confinement.ARRAYS
    if place.is_symlink() or not place.is_dir():
        raise Refused("expected arrays, found none. Upload the file again.")
    found = {}
    for entry in sorted(os.scandir(place), key=lambda each: each.name):
        if not (match := ARRAY.fullmatch(entry.name)):
            raise Refused("expected arrays alone, found another file. Upload the file again.")
        found[match[1]] = _array(entry.path)
    return found


def _array(path: str) -> npt.NDArray[Any]:
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
                raise ValueError("no file of its own")
            start = file.read(len(MAGIC) + 2)
            length = int.from_bytes(start[-2:], "little")
            match = HEADER.fullmatch(file.read(length)) if start[:-2] == MAGIC and length <= LONGEST_HEADER else None
            if match is None:
                raise ValueError("another header than this package writes")
            dtype, shape = (
                np.dtype(match[1].decode()),
                tuple(int(axis) for axis in match[2].split(b",") if axis.strip()),
            )
            size = dtype.itemsize * math.prod(shape)
            if size != status.st_size - file.tell():
                raise ValueError(f"{shape} in {status.st_size} bytes")
            return np.memmap(file, dtype, "r", file.tell(), shape) if size else np.empty(shape, dtype)
    except (OSError, ValueError) as error:
        raise Refused(f"expected arrays of numbers, found: {shortened(str(error))}. Upload the file again.") from None


def layers(secret: Path | None = None) -> dict[str, bool | str]:
    """What the sandbox keeps from happening on this machine, found by trying: True, or what happened instead.

    secret: a file that must stay unreadable, such as sealed labels; by default one made for the attempt. Nothing is
    changed: the attempts to change something are made on a file made for them.
    """
    with tempfile.TemporaryDirectory() as held:
        own = Path(held) / "secret"
        own.write_bytes(b"secret")
        found = probe(own, [name for names in _ABOUT.values() for name in names])
        if secret is not None:
            more = probe(secret.resolve(), ["read", "read_in_a_thread", "list"])
            found["probes"] |= {name: why for name, why in more["probes"].items() if why}
    result: dict[str, bool | str] = {}
    for title, names in _ABOUT.items():
        failed = [f"{name}: {found['probes'][name]}" for name in names if found["probes"][name]]
        result[title] = "; ".join(failed) or True
    result["Landlock"] = found["layers"]["landlock"] or f"version {confinement.abi()}"
    for name in ("seccomp", "namespace"):
        result[f"{name} of its own" if name == "namespace" else "filter of system calls (seccomp)"] = (
            found["layers"][name] or True
        )
    return result


def require(found: dict[str, bool | str]) -> None:
    """Refuse to go on where labels could be read.

    Raises:
        SettingsError: naming the reason.
    """
    why = found["labels cannot be read"]
    if why is not True:
        raise SettingsError(
            f"expected a machine on which files of strangers are read where labels cannot be (Linux 5.13 or later with "
            f"Landlock), and labels outside Python's own folders; found: {why}. Use such a machine, or accept the "
            "risk with SHIFTBENCH_WEAK_SANDBOX=1 in the environment."
        )


def probe(
    secret: Path, probes: Sequence[str], *, limits: Limits = Limits(memory=4 * 2**30, wall_s=60)
) -> dict[str, Any]:
    """What happens to attempts (`confinement.PROBES`) inside the sandbox, whose target is `secret`."""
    with tempfile.TemporaryDirectory() as folder:
        task = {"track": "", "file": "/dev/null", "named": "", "secret": str(secret), "probes": [*probes]}
        return _run(task, Path(folder), limits, weak=True)


def _run(task: dict[str, Any], folder: Path, limits: Limits, *, weak: bool) -> dict[str, Any]:
    """Run the task in a fresh interpreter, and read what it tells."""
    folder = folder.resolve()
    temporary = folder / "tmp"
    temporary.mkdir()
    task = {"probes": [], "secret": "", "records": "", **task} | {
        "folder": str(folder), "parent": os.getpid(), "required": [] if weak else [*REQUIRED], "memory": limits.memory,
        "cpu_s": limits.cpu_s, "written": limits.written,
    }  # fmt: skip
    environment = {
        "PATH": os.defpath, "LANG": "C.UTF-8", "HOME": str(temporary), "TMPDIR": str(temporary),
        "POLARS_MAX_THREADS": "2", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
        "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "upb",
        **{name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ},
    }  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-I", "-B", confinement.__file__], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, cwd=temporary, env=environment, start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stdin is not None
        process.stdin.write(json.dumps(task).encode())
        process.stdin.close()
        code = _wait(process, folder, limits)
    except BrokenPipeError:
        code = process.wait()
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        shutil.rmtree(temporary, ignore_errors=True)
    return _result(folder, code, limits)


def _wait(process: subprocess.Popen[bytes], folder: Path, limits: Limits) -> int:
    """The exit code; raises Refused for what takes too long or writes too much."""
    start, step = time.monotonic(), _STEP_S
    while (code := process.poll()) is None:
        if time.monotonic() - start > limits.wall_s:
            raise Refused(f"expected a file that is read within {limits.wall_s:g} s, found one that takes longer.")
        count, size = _held(folder)
        if size > limits.written or count > limits.files:
            raise Refused(f"expected at most {limits.files:,} arrays of {limits.written:,} bytes, found more.")
        time.sleep(step)
        step = min(step * 1.2, 0.5)
    return code


def _held(folder: Path) -> tuple[int, int]:
    count = size = 0
    for place, _, files in os.walk(folder):
        for name in files:
            try:
                size += (Path(place) / name).lstat().st_size
            except OSError:
                continue
            count += 1
    return count, size


def _result(folder: Path, code: int, limits: Limits) -> dict[str, Any]:
    path = folder / confinement.RESULT
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            result = json.loads(file.read(LARGEST_RESULT))
        path.unlink()
    except (OSError, ValueError, RecursionError):
        if (folder / "confined").exists():
            raise Refused(_ended(code, limits)) from None
        raise Fault(f"the interpreter for files of strangers ended with {code} before it began") from None
    if not isinstance(result, dict):
        raise Refused("expected a file of this board, found one that deceives its reader.")
    layers = result.get("layers")
    if not isinstance(layers, dict):
        raise Refused("expected a file of this board, found one that deceives its reader.")
    if not (folder / "confined").exists():
        lacking = {name: why for name, why in layers.items() if why and name in REQUIRED}
        raise Fault(f"expected a machine that confines readers of files, found: {lacking}")
    return result


def _ended(code: int, limits: Limits) -> str:
    names = {signal.SIGXCPU: f"more than {limits.cpu_s:,} s of computing", signal.SIGXFSZ: "too large arrays"}
    why = names.get(-code, "more memory than there is, or it is damaged") if code < 0 else "another program's format"  # type: ignore[call-overload]
    return (
        f"expected a file that is read within {limits.memory >> 20:,} MiB and {limits.cpu_s:,} s, found one that ends "
        f"its reader ({why}). Write it again, or hand in a smaller one."
    )


def _without_paths(problems: Any, named: Path, folder: Path) -> list[str]:
    """Problems for the stranger: their own name of the file, and no path of this machine."""
    texts = [str(each) for each in problems] if isinstance(problems, list) else [str(problems)]
    first = texts[: confinement.MOST_TOLD + 1]  # the last may tell how many more there are
    return [shortened(each.replace(str(named), named.name).replace(str(folder.resolve()), "")) for each in first]


def _plain(name: str) -> str:
    """A name for a link: the last letters, and the suffix, of the stranger's name."""
    return re.sub(r"[^A-Za-z0-9._ -]", "_", name.rpartition("/")[2]).lstrip(".- ")[-100:] or "file"
