"""The command line in process, as the tests of `tests.cli` run it."""

from tests.cli.conftest import shiftbench

__all__ = ["shiftbench"]
