"""Baselines of a challenge's folder as reference rows: ordinary submissions, scored by the same workers."""

from __future__ import annotations

import shutil
from pathlib import Path

from shiftbench.challenge import manifest
from shiftbench.challenge.definition import Challenge
from shiftbench.challenge.store.ledger import Ledger
from shiftbench.io import files


def queue(folder: Path, state: Path, challenge: Challenge, ledger: Ledger) -> list[int]:
    """Queue each baseline that was not queued before; the numbers of all of them as submissions."""
    found = []
    for board in challenge.boards:
        for phase in board.phases:
            for name, path in manifest.baselines(folder, board.slug, phase.name).items():
                sha256 = files.sha256(path)
                _keep(path, state / "files" / sha256[:2] / sha256)
                file = (path.name, path.stat().st_size)
                found.append(ledger.reference(board.slug, phase, name, file=file, sha256=sha256))
    return found


def _keep(path: Path, goal: Path) -> None:
    """Copy a file to where submissions lie by their content."""
    if not goal.exists():
        goal.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with files.replacing(goal) as temporary:
            shutil.copyfile(path, temporary)
        goal.chmod(0o600)
