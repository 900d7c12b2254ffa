"""Scenes as methods read them: packed into shards once, or drawn on demand."""
