"""Patients as pictures: planes with truth, prediction and uncertainty; those that a report shows."""
