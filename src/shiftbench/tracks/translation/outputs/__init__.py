"""Stored outputs of systems that generate text: read, checked and written without running the system."""

from shiftbench.tracks.translation.outputs.jsonl import read, write
from shiftbench.tracks.translation.outputs.record import Outputs

__all__ = ["Outputs", "read", "write"]
