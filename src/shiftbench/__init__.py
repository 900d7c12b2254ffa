"""shiftbench."""
