"""Scenes as methods read them: packed into shards once, or drawn when they are asked for."""
