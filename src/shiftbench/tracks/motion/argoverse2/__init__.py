"""Argoverse 2 (Wilson et al. 2021) as scenes of the official form: real traffic of six US cities to be tested on.

Forecasting scenarios and sensor logs of 10 Hz become scenes of 25 past and 25 future steps at 5 Hz. Argoverse has no
weather, no season and none of our cities: such scenes are a test set, in no partition.
"""

from __future__ import annotations

from shiftbench.tracks.motion.argoverse2.importing import DAMAGED, Imported, import_scenes
from shiftbench.tracks.motion.argoverse2.reading import Settings, read, scenes_of
from shiftbench.tracks.motion.argoverse2.sources import Damaged, Source, sources

__all__ = [
    "DAMAGED", "Damaged", "Imported", "Settings", "Source", "import_scenes", "read", "scenes_of", "sources",
]  # fmt: skip
