"""Made-up minutes of a vessel, for tests: right in form and units, and nobody's."""

from __future__ import annotations

import numpy as np
import polars as pl

from shiftbench.tracks.power import schema


def records(rows: int, *, seed: int = 0, months: float = 64.0) -> pl.DataFrame:
    """Minutes drawn at random from so many months, in their order."""
    rng = np.random.default_rng(seed)
    time = np.sort(rng.choice(int(months * schema.MONTH_MINUTES), rows, replace=False))
    speed, current = rng.normal(17, 2.5, rows).clip(6, 23), rng.normal(0, 0.4, rows)
    wind, angle = 14 * rng.weibull(2, rows), rng.uniform(0, 2 * np.pi, rows)
    return pl.DataFrame(
        {
            "time_id": time,
            "draft_aft_telegram": rng.normal(12, 1.2, rows),
            "draft_fore_telegram": rng.normal(12, 1.2, rows),
            "stw": speed,
            "diff_speed_overground": rng.normal(0, 0.17, rows),
            "awind_vcomp_provider": speed + current + wind * np.cos(angle),
            "awind_ucomp_provider": np.abs(wind * np.sin(angle)),
            "rcurrent_vcomp": current,
            "rcurrent_ucomp": rng.normal(0, 0.3, rows),
            "comb_wind_swell_wave_height": rng.gamma(3, 0.5, rows),
            "timeSinceDryDock": time + 10_776.0,
            "power": 3.5 * speed**3 * rng.normal(1, 0.02, rows),
        },
        schema=schema.TYPES,
    )


def set_to(frame: pl.DataFrame, row: int, **values: object) -> pl.DataFrame:
    """The records with other values in one row, from 0."""
    here = pl.int_range(pl.len()) == row
    return frame.with_columns(
        pl.when(here).then(pl.lit(value, frame.schema[name])).otherwise(pl.col(name)).alias(name)
        for name, value in values.items()
    )
