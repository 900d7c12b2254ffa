"""`shiftbench`, the command, and `python -m shiftbench`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; Ctrl-C during its import, which takes a moment, is handled like any other."""
    try:
        from shiftbench.cli import main as command_line

        command_line()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)  # noqa: T201
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
