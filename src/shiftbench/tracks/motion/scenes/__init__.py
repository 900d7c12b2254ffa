"""Scenes: the wire format, plain arrays of tracks, agent frames, and maneuver tags."""
