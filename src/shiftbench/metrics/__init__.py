"""Metrics of predictions: pure functions of arrays, one module for each kind of task."""

from shiftbench.metrics import classification, regression

__all__ = ["classification", "regression"]
