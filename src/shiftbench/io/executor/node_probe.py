"""Probes a node of a cluster. Sent there as code, so it needs only the standard library."""

from __future__ import annotations


def look(folders: list[str], mark: str) -> dict[str, object]:
    """The version of this package on the node, and which of the folders it lacks.

    `mark` is a file in the first of them: a folder of the same name on another disk does not have it.
    """
    import os
    import sys

    try:
        import shiftbench

        version = shiftbench.__version__
    except Exception as error:  # any reason why it cannot be imported
        version = f"none ({type(error).__name__}: {error})"
    missing = [
        folder
        for place, folder in enumerate(folders)
        if not os.path.exists(folder) or (not place and not os.path.exists(mark))  # noqa: PTH110 (a text of this machine)
    ]
    return {"version": version, "python": sys.executable, "missing": missing}
