"""Presets of tracks, and a look for leaks, that learn for a moment only, pictures that are blank, rough intervals.

The same files and reports, with poor numbers.
"""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from shiftbench.methods import presets
from shiftbench.pipeline import leak
from shiftbench.report import canvas
from shiftbench.scores import intervals
from shiftbench.tracks.motion.baselines import presets as motion
from shiftbench.tracks.power import baselines as power
from shiftbench.tracks.translation import study as translation

TINY = {
    "steps": 6, "validate_every": 3, "width": 16, "heads": 2, "feed_forward": 16, "encoder_layers": 1,
    "decoder_layers": 1, "most_tokens": 8,
}  # fmt: skip
BLANK = {
    "png": base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mP8/x8AAwMCAO+ip1sAAAAASUVORK5CYII="
    ),
    "svg": b'<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"></svg>',
}


def use(patch: pytest.MonkeyPatch) -> None:
    """Shrink the presets until the patch is undone."""
    trees = (presets.QUICK_TREES, presets.QUICK_FOLDS, presets.QUICK_STAGES)
    small = [(settings, "iterations", 40) for tasks in trees for settings in tasks.values()]
    small += [(settings, "most_steps", 300) for settings in power.QUICK.values()]
    small += [(settings, name, value) for settings in translation.SETTINGS["quick"] for name, value in TINY.items()]
    small += [(settings, "epochs", 1) for settings in motion.PRESETS["quick"]]
    for settings, name, value in small:
        patch.setitem(cast("dict[str, Any]", settings), name, value)
    patch.setattr(leak, "TREES", leak.FEWEST_TREES)


def blank_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every picture that is written from now on is one blank pixel, or an SVG of matplotlib without anything in it.

    A report's own drawings are made and written as SVG all the same; only matplotlib is not asked to lay them out.
    """

    def write_png(_: object, target: Any) -> None:
        (target.write if hasattr(target, "write") else Path(target).write_bytes)(BLANK["png"])

    monkeypatch.setattr(canvas, "figure_of", lambda _: None)
    monkeypatch.setattr(canvas, "write_png", write_png)
    monkeypatch.setattr(canvas, "write_svg", lambda _, target: target.write(BLANK["svg"].decode()))


def few_replicates(monkeypatch: pytest.MonkeyPatch, count: int = 20) -> None:
    """Intervals come from few replicates from now on, whatever the options say."""
    bootstrap = intervals.bootstrap

    def short(statistics: Any, resampler: Any, settings: intervals.Settings, **given: Any) -> intervals.Bootstrap:
        fewer = replace(settings, replicates=min(count, settings.replicates))
        return bootstrap(statistics, resampler, fewer, **given)

    monkeypatch.setattr(intervals, "bootstrap", short)
