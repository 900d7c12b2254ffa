"""`shiftbench`, the command, and `python -m shiftbench`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; Ctrl-C while it is imported, which takes a moment, ends it like any other Ctrl-C."""
    try:
        from shiftbench.cli import main as command_line

        command_line()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)  # noqa: T201
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
