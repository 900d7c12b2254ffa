"""Scenes: the wire format, plain arrays of who is where, agent frames, and what a future is called."""
