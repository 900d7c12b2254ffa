"""Checks the values of a weather table: problems are counted batch by batch, and reported once at the end."""

from __future__ import annotations

import difflib

import polars as pl

from shiftbench.track.intake.tally import Tally
from shiftbench.tracks.weather import schema

MILLISECONDS = 100_000_000_000  # as seconds, this is the year 5138


def check_rows(frame: pl.DataFrame, *, problems: Tally, warnings: Tally, line: int) -> None:
    """Check time, place, climate and targets of a batch whose first row is in line `line`."""

    def note(tally: Tally, column: str, expected: str, wrong: pl.Expr, advice: str) -> None:
        values = frame[column]
        flags = frame.select(wrong.fill_null(False)).to_series()
        tally.add(column, expected, advice, values=values, bad=flags, line=line)

    time, code, climate = pl.col(schema.TIME), pl.col(schema.CLASS), pl.col(schema.CLIMATE)
    late = time >= MILLISECONDS
    note(problems, schema.TIME, "Unix seconds", late, "It looks like milliseconds: divide by 1,000.")
    outside = ~late & ~time.is_between(schema.START, schema.END)
    note(warnings, schema.TIME, "a time from 2018-09-01 to 2019-09-01", outside, "Are these other data?")
    for column, most in ((schema.LATITUDE, 90), (schema.LONGITUDE, 180)):
        advice = "Subtract 360 from degrees east beyond 180." if most == 180 else "Are latitude and longitude swapped?"
        note(problems, column, f"degrees from -{most} to {most}", pl.col(column).abs() > most, advice)
    codes = ", ".join(map(str, schema.CODES))
    note(problems, schema.CLASS, f"a class code among {codes}", ~code.is_in(schema.CODES), _about_codes(frame))
    known = [*schema.CLIMATES, "other"]
    for name in frame[schema.CLIMATE].drop_nulls().unique().sort():
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
            advice = f"Did you mean {near[0]!r}?" if near else "Rename it."
            note(problems, schema.CLIMATE, f"one of {', '.join(known)}", climate == name, advice)
    for column in (schema.TIME, schema.LATITUDE, schema.LONGITUDE):
        note(problems, column, "a value in each row", pl.col(column).is_null(), "Drop these rows.")
    for column in schema.TARGETS:
        note(warnings, column, "a value in each row", pl.col(column).is_null(), "Kept as missing.")


def _about_codes(frame: pl.DataFrame) -> str:
    most = frame[schema.CLASS].max()
    indices = isinstance(most, int) and 1 <= most < len(schema.CLASSES)
    return "These look like indices 0 to 8: write the codes." if indices else "Correct or drop these rows."
