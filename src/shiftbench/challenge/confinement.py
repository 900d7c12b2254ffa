"""Reads one file of a stranger in an interpreter that first gives up everything else.

`sandbox` runs this file by its path in a fresh interpreter, so nothing but the standard library is imported before all
doors are closed: Landlock restricts only the threads that exist, and libraries start some.

In this order: a user and network namespace where the machine allows one; limits of memory, time, sizes; Landlock (reads
the file and Python's own folders, writes one folder); a seccomp filter (no sockets, processes, signals, permissions).
Sources: landlock(7), seccomp(2), the tables of system calls of Linux 6.18.
"""

from __future__ import annotations

import ctypes
import errno
import json
import mmap
import os
import platform
import resource
import signal
import struct
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

ARRAYS, RESULT = "arrays", "result.json"
MOST_TOLD = 100  # problems
_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP = 1, 38, 22
_NEW_USER, _NEW_NET, _NEW_IPC = 0x10000000, 0x40000000, 0x08000000

# --- Landlock ---------------------------------------------------------------------------------------------------------

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # on all machines
_FS = {
    "execute": 0, "write_file": 1, "read_file": 2, "read_dir": 3, "remove_dir": 4, "remove_file": 5, "make_char": 6,
    "make_dir": 7, "make_reg": 8, "make_sock": 9, "make_fifo": 10, "make_block": 11, "make_sym": 12, "refer": 13,
    "truncate": 14, "ioctl_dev": 15,
}  # fmt: skip
_FIRST_ABI = {"refer": 2, "truncate": 3, "ioctl_dev": 5}
_READ = ("read_file", "read_dir")
_WRITE = (*_READ, "write_file", "make_reg", "make_dir", "remove_file", "remove_dir", "truncate")
_OF_FILES = ("read_file", "write_file", "truncate", "execute", "ioctl_dev")
_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/usr/share/zoneinfo", "/etc/localtime")
_DEVICES = ("/dev/urandom", "/dev/null")


def _bits(names: Iterable[str], abi: int) -> int:
    return sum(1 << _FS[name] for name in names if abi >= _FIRST_ABI.get(name, 1))


def abi() -> int:
    """The version of Landlock of the machine's kernel; 0 if there is none."""
    return max(int(_LIBC.syscall(_CREATE_RULESET, None, 0, 1)), 0)


def landlock(reads: Iterable[str], writes: Iterable[str]) -> int:
    """Allow reading below `reads` and writing below `writes`, and no TCP; returns the version of Landlock in force.

    Raises:
        OSError: if the kernel has none.
    """
    version = abi()
    if not version:
        raise OSError(errno.ENOSYS, "no Landlock")
    attributes = struct.pack("<QQQ", _bits(_FS, version), 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    size = 8 if version < 4 else 16 if version < 6 else 24
    rules = _checked(_LIBC.syscall(_CREATE_RULESET, attributes, size, 0))
    for rights, paths in ((_READ, reads), (_WRITE, writes)):
        for path in paths:
            _allow(rules, path, rights, version)
    _checked(_LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _checked(_LIBC.syscall(_RESTRICT_SELF, rules, 0))
    os.close(rules)
    return version


def _allow(rules: int, path: str, rights: Iterable[str], version: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there needs no rule
    kept = rights if Path(path).is_dir() else [name for name in rights if name in _OF_FILES]
    _checked(_LIBC.syscall(_ADD_RULE, rules, 1, struct.pack("<Qi", _bits(kept, version), place), 0))
    os.close(place)


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(result)


# --- seccomp ----------------------------------------------------------------------------------------------------------

_DENIED = {  # sockets; processes; signals; permissions; links and devices; other processes; the kernel
    "x86_64": (41, 42, 49, 50, 53, 57, 58, 59, 322, 62, 200, 129, 297, 424, 434, 438, 90, 91, 92, 93, 94, 260, 268, 452,
               188, 189, 190, 197, 198, 199, 463, 466, 132, 235, 261, 280, 76, 86, 265, 88, 266, 133, 259, 101, 310,
               311, 29, 30, 31, 68, 64, 240, 425, 426, 427, 165, 166, 155, 161, 272, 308, 248, 249, 250, 298, 321, 323,
               303, 304, 160, 175, 313, 246, 320, 169, 167, 168, 170, 171, 163, 164, 227, 159, 305, 179, 172, 173, 135,
               428, 429, 430, 431, 432, 433, 442),
    "aarch64": (198, 199, 200, 201, 203, 221, 281, 129, 130, 138, 240, 424, 434, 438, 52, 53, 54, 55, 452, 5, 6, 7, 14,
                15, 16, 463, 466, 88, 45, 37, 36, 33, 117, 270, 271, 194, 195, 196, 186, 190, 180, 425, 426, 427, 40,
                39, 41, 51, 97, 268, 217, 218, 219, 241, 280, 282, 264, 265, 164, 105, 273, 104, 294, 142, 224, 225,
                161, 162, 89, 170, 112, 171, 266, 60, 92, 428, 429, 430, 431, 432, 433, 442),
}  # fmt: skip
_SPECIAL = {  # what is allowed with some arguments: clone, tgkill, prlimit64; and clone3, without which libc does
    "x86_64": {"arch": 0xC000003E, "clone": 56, "tgkill": 234, "prlimit64": 302, "clone3": 435},
    "aarch64": {"arch": 0xC00000B7, "clone": 220, "tgkill": 131, "prlimit64": 261, "clone3": 435},
}
_LOAD, _EQUAL, _AT_LEAST, _SET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_THREAD, _X32 = 0x00010000, 0x40000000


def _program(machine: str) -> bytes:
    """The filter as classic BPF."""
    known = _SPECIAL[machine]
    deny = (_RETURN, 0, 0, _ERROR | errno.EPERM)
    allow = (_RETURN, 0, 0, _ALLOW)
    lines = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, known["arch"]), deny, (_LOAD, 0, 0, 0)]
    if machine == "x86_64":
        lines += [(_AT_LEAST, 0, 1, _X32), deny]
    for number in _DENIED[machine]:
        lines += [(_EQUAL, 0, 1, number), deny]
    lines += [(_EQUAL, 0, 1, known["clone3"]), (_RETURN, 0, 0, _ERROR | errno.ENOSYS)]
    lines += [(_EQUAL, 0, 4, known["clone"]), (_LOAD, 0, 0, 16), (_SET, 0, 1, _THREAD), allow, deny]
    lines += [(_EQUAL, 0, 4, known["tgkill"]), (_LOAD, 0, 0, 16), (_EQUAL, 0, 1, os.getpid()), allow, deny]
    lines += [(_EQUAL, 0, 6, known["prlimit64"]), (_LOAD, 0, 0, 32), (_EQUAL, 0, 3, 0), (_LOAD, 0, 0, 36),
              (_EQUAL, 0, 1, 0), allow, deny]  # fmt: skip
    return b"".join(struct.pack("<HBBI", *line) for line in (*lines, allow))


def seccomp() -> None:
    """Refuse system calls that no parser needs.

    Raises:
        OSError: if the kernel or the machine has no filter.
    """
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine())
    if sys.platform != "linux" or machine not in _DENIED or sys.maxsize <= 2**32:
        raise OSError(errno.ENOSYS, f"no filter for {sys.platform} on {machine}")
    code = _program(machine)
    held = ctypes.create_string_buffer(code)
    program = struct.pack("<HxxxxxxQ", len(code) // 8, ctypes.addressof(held))
    _checked(_LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _checked(_LIBC.prctl(_PR_SET_SECCOMP, 2, program, 0, 0))


# --- everything -------------------------------------------------------------------------------------------------------


def confine(task: dict[str, Any]) -> dict[str, str]:
    """Give up what is not needed; layer → "" if it is in force, else why not."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != task["parent"]:
        os._exit(1)  # the worker died before
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    found = {}
    own = [*sys.path, *(str(Path(root) / "lib") for root in (sys.prefix, sys.base_prefix))]
    reads = [path for path in own if path and Path(path).is_dir()]
    layers: dict[str, Callable[[], object]] = {
        "namespace": lambda: _checked(_LIBC.unshare(_NEW_USER | _NEW_NET | _NEW_IPC)),
        "limits": lambda: _limit(task),
        "landlock": lambda: landlock(
            [*reads, *_LIBRARIES, *_DEVICES, task["file"], task["records"]], [task["folder"], "/dev/null"]
        ),
        "seccomp": seccomp,
    }
    for name, enter in layers.items():
        try:
            enter()
            found[name] = ""
        except (OSError, ValueError, AttributeError) as error:
            found[name] = str(error) or type(error).__name__
    return found


def _limit(task: dict[str, Any]) -> None:
    limits = {
        resource.RLIMIT_AS: task["memory"], resource.RLIMIT_CPU: task["cpu_s"], resource.RLIMIT_FSIZE: task["written"],
        resource.RLIMIT_NOFILE: 256, resource.RLIMIT_CORE: 0,
    }  # fmt: skip
    for kind, most in limits.items():
        _, hard = resource.getrlimit(kind)
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        later = 5 if kind == resource.RLIMIT_CPU else 0  # first a signal that tells the reason
        resource.setrlimit(kind, (bound, bound + later if hard == resource.RLIM_INFINITY else bound))


# --- what it is for ---------------------------------------------------------------------------------------------------


def parse(task: dict[str, Any]) -> dict[str, Any]:
    """Read the file, and write its arrays; what is wrong with it in words."""
    import warnings

    warnings.simplefilter("ignore")
    import numpy as np

    from shiftbench.challenge import forms
    from shiftbench.track.public_records import PublicRecords

    records = PublicRecords.read(Path(task["records"])) if task["records"] else None
    arrays, problems = forms.validated(forms.intake(task["track"]), Path(task["named"]), records)
    folder = Path(task["folder"]) / ARRAYS
    folder.mkdir()
    for name, values in arrays.items():
        with (folder / f"{name}.npy").open("xb") as file:
            np.lib.format.write_array(file, np.ascontiguousarray(values), allow_pickle=False)
    return {"problems": told(problems, task)}


def told(problems: Sequence[str], task: dict[str, Any]) -> list[str]:
    """The first problems, each of bounded length and without paths of this machine, and how many more there are.

    Else a file with long names, or with many faults, would tell more than is read of the result.
    """
    from shiftbench.errors import shortened

    name, more = Path(task["named"]).name, len(problems) - MOST_TOLD
    found = [shortened(each.replace(task["named"], name).replace(task["folder"], "")) for each in problems[:MOST_TOLD]]
    return [*found, *([f"and {more:,} more problems"] if more > 0 else [])]


def _read(task: dict[str, Any]) -> None:
    with Path(task["secret"]).open("rb") as file:
        file.read(1)


def _in_thread(task: dict[str, Any]) -> None:
    found = list[BaseException]()

    def read() -> None:
        try:
            _read(task)
        except OSError as error:
            found.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    thread.join()
    if found:
        raise found[0]


def _connect(kind: int) -> None:
    import socket

    with socket.socket(socket.AF_INET, kind) as opened:
        opened.connect(("127.0.0.1", 9))


def _fork() -> None:
    if not (child := os.fork()):
        os._exit(0)
    os.waitpid(child, 0)


def _allocate(task: dict[str, Any]) -> None:
    mmap.mmap(-1, task["memory"]).close()


def _write_too_much(task: dict[str, Any]) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    place = os.open(Path(task["folder"]) / "large", os.O_CREAT | os.O_WRONLY)
    os.ftruncate(place, task["written"] + 1)


def _link(task: dict[str, Any]) -> None:
    (Path(task["folder"]) / "link").symlink_to(task["secret"])


def _spin() -> None:
    while True:
        pass


PROBES: dict[str, Callable[[dict[str, Any]], object]] = {  # what a hostile parser would try; each must fail
    "read": _read,
    "read_in_a_thread": _in_thread,
    "list": lambda task: [*Path(task["secret"]).parent.iterdir()],
    "write": lambda task: Path(task["secret"]).open("ab").close(),
    "write_beside": lambda task: Path(task["secret"] + ".new").open("xb").close(),
    "truncate": lambda task: os.truncate(task["secret"], 0),
    "remove": lambda task: Path(task["secret"]).unlink(),
    "permissions": lambda task: Path(task["secret"]).chmod(0o777),
    "times": lambda task: os.utime(task["secret"], (0, 0)),
    "passwd": lambda _: Path("/etc/passwd").open("rb").close(),
    "environment": lambda task: Path(f"/proc/{task['parent']}/environ").open("rb").close(),
    "tcp": lambda _: _connect(1),
    "udp": lambda _: _connect(2),
    "fork": lambda _: _fork(),
    "execute": lambda _: os.execv(sys.executable, [sys.executable, "-c", ""]),
    "signal": lambda task: os.kill(task["parent"], 0),
    "memory": _allocate,
    "sizes": _write_too_much,
    "link": _link,
}


def probe(task: dict[str, Any]) -> dict[str, Any]:
    """Try what must not work; attempt → "" if it was refused, else what happened."""
    found = {}
    for name in task["probes"]:
        try:
            PROBES[name](task)
            found[name] = "it worked"
        except (OSError, MemoryError) as error:
            code = getattr(error, "errno", 0)
            refused = code in (0, errno.EPERM, errno.EACCES, errno.ENOMEM, errno.EFBIG)
            found[name] = "" if refused else str(error)
    return {"probes": found}


OURS = (AttributeError, NameError, TypeError, AssertionError, NotImplementedError)  # what no file can mean


def crash(error: Exception, track: str) -> dict[str, Any]:
    """What is told of an error that no reader expects: what it was, and whether it is one of our code.

    So is a library that is not there, and what no file can mean where it was raised in this package or in that of the
    track, not in a library that reads a format.
    """
    own = {"shiftbench"}
    with suppress(Exception):  # it may be what is broken
        from shiftbench.challenge import forms

        own.add(forms.intake(track).parse.__module__.partition(".")[0])
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    raised = "" if place is None else str(place.tb_frame.f_globals.get("__name__", ""))
    inside = raised.partition(".")[0] in own or raised == "__main__"
    ours = isinstance(error, ImportError) or (isinstance(error, OURS) and inside)
    return {"crashed": f"{type(error).__name__}: {error}"[:500], "ours": ours}


def attempted(task: dict[str, Any]) -> dict[str, Any]:
    """What the task found, or what became of it."""
    within = f"expected a file that is read within {task['memory'] >> 20:,} MiB, found"
    try:
        return probe(task) if task["probes"] else parse(task)
    except MemoryError:
        return {"problems": [f"{within} a larger one."]}
    except Exception as error:
        return crash(error, task["track"])
    except BaseException as error:  # libraries panic so, as without memory
        panic = f"{type(error).__name__}: {error}"[:300]
        return {"problems": [f"{within} one that ends its reader ({panic}). Write it again, or hand in a smaller one."]}


def main() -> None:
    """Do the task on the standard input, and tell the result in its folder."""
    task = json.loads(sys.stdin.read())
    result: dict[str, Any] = {"layers": confine(task)}
    lacking = [name for name in task["required"] if result["layers"][name]]
    if not lacking:
        (Path(task["folder"]) / "confined").touch()
        if task["probes"] == ["spin"]:
            _spin()
        result |= attempted(task)
    (Path(task["folder"]) / RESULT).write_text(json.dumps(result))


if __name__ == "__main__":
    main()
