"""`shiftbench`, the command, and `python -m shiftbench`."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line; Ctrl-C during its import, which takes a moment, is handled like any other."""
    _open_standard_streams()
    try:
        from shiftbench.cli import main as command_line

        command_line()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)  # noqa: T201
        raise SystemExit(130) from None


def _open_standard_streams() -> None:
    """Open the null device for standard streams that are closed, as by `2>&-`.

    Otherwise the next opened file would take the number of the stream, and all that is written there; and without
    `sys.stderr`, Python prints on stdout.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # takes the lowest free number, which is this one
        if getattr(sys, name) is None:
            stream = os.fdopen(os.open(os.devnull, os.O_RDWR), "r" if name == "stdin" else "w", encoding="utf-8")
            setattr(sys, name, stream)


if __name__ == "__main__":
    main()
