"""Metrics of intervals and quantiles at any level: described when they are looked up, since they cannot be listed."""

from __future__ import annotations

from shiftbench.scores.metric import Metric, level_metric

PINBALL = "Koenker & Bassett 1978"


def coverage_at(level: float) -> Metric:
    """The coverage of the central interval at a level."""
    percent = f"{100 * level:.10g}"
    return Metric(
        f"coverage_{percent}", f"Coverage of {percent} % interval", "nominal", "percent",
        f"share of targets inside the central {percent} % interval", "Gneiting et al. 2007",
        most=1.0, share=True, ranked=False, nominal=level, table="calibration", sliced=True,
    )  # fmt: skip


def width_at(level: float) -> Metric:
    """The mean width of the central interval at a level."""
    percent = f"{100 * level:.10g}"
    return Metric(
        f"width_{percent}", f"Width of {percent} % interval", "min", "target",
        f"mean width of the central {percent} % interval", "Gneiting et al. 2007",
        ranked=False, table="calibration", sliced=True,
    )  # fmt: skip


def pinball_at(level: float) -> Metric:
    """The metric of the quantile at a level."""
    formula = f"mean of max(p (y - q), (p - 1) (y - q)), p = {level:.10g}"
    return Metric(
        f"pinball_{level:.10g}", f"Pinball loss at {level:.10g}", "min", "target", formula, PINBALL,
        ranked=False, table="calibration",
    )  # fmt: skip


def at_level(name: str) -> Metric | None:
    """The metric of a name such as `coverage_80`, `width_97.5` or `pinball_0.05`; None for other names."""
    return level_metric(name, {"coverage": coverage_at, "width": width_at}, unit=0.01) or level_metric(
        name, {"pinball": pinball_at}
    )
