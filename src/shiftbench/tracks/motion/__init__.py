"""Vehicle motion prediction (Malinin et al. 2021): scenes of six cities, read from the official protobuf files."""

from __future__ import annotations

from shiftbench.tracks.motion.scene import Scene, read_scene, valid_requests, write_scene

__all__ = ["Scene", "read_scene", "valid_requests", "write_scene"]
