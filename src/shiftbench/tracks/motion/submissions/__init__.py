"""Predictions in their official form, the ground truth, and how they are scored."""
