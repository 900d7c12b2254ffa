"""The systems of a run: what methods plan, and what robust imitative planning makes of it."""
