"""Presets of tracks, and a look for leaks, that learn for a moment only: the same files and reports, poor numbers."""

from __future__ import annotations

from typing import Any, cast

import pytest

from shiftbench.methods import presets
from shiftbench.pipeline import leak
from shiftbench.tracks.motion.baselines import presets as motion
from shiftbench.tracks.power import baselines as power


def use(patch: pytest.MonkeyPatch) -> None:
    """Shrink the presets until the patch is undone."""
    trees = (presets.QUICK_TREES, presets.QUICK_FOLDS, presets.QUICK_STAGES)
    small = [(settings, "iterations", 40) for tasks in trees for settings in tasks.values()]
    small += [(settings, "most_steps", 300) for settings in power.QUICK.values()]
    small += [(settings, "epochs", 1) for settings in motion.PRESETS["quick"]]
    for settings, name, value in small:
        patch.setitem(cast("dict[str, Any]", settings), name, value)
    patch.setattr(leak, "TREES", leak.FEWEST_TREES)
