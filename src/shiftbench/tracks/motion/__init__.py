"""Vehicle motion prediction (Malinin et al. 2021): scenes of six cities, read from the official protobuf files."""

from __future__ import annotations

from shiftbench.tracks.motion.maps.feature_map import MapSettings, feature_map, feature_maps
from shiftbench.tracks.motion.prepared.live import LiveStore
from shiftbench.tracks.motion.prepared.store import Store
from shiftbench.tracks.motion.scenes.scene import Scene, read_scene, valid_requests, write_scene
from shiftbench.tracks.motion.submissions.submission import read_submission, write_submission
from shiftbench.tracks.motion.submissions.submitted import Submission

__all__ = [
    "LiveStore", "MapSettings", "Scene", "Store", "Submission", "feature_map", "feature_maps", "read_scene",
    "read_submission", "valid_requests", "write_scene", "write_submission",
]  # fmt: skip
