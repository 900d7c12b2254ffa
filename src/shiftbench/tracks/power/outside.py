"""Shares of example records outside the ranges of the formulas behind their labels, in metadata of Parquet."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from shiftbench.io import tables

KEY = "shiftbench.outside"


class RangeTally:
    """Counts records outside of ranges, block by block."""

    def __init__(self) -> None:
        self.records = 0
        self.counts: dict[str, int] = {}

    def add(self, flags: Mapping[str, Any]) -> None:
        """Count a block. outside: range → flags [N]."""
        for name, outside in flags.items():
            self.counts[name] = self.counts.get(name, 0) + int(np.count_nonzero(outside))
        self.records += max((len(outside) for outside in flags.values()), default=0)

    @property
    def shares(self) -> dict[str, float]:
        """Range → share of records outside it, to six digits."""
        return {name: round(count / self.records, 6) for name, count in self.counts.items()}


def metadata(shares: Mapping[str, float]) -> dict[str, str]:
    """The metadata of a Parquet file with these shares."""
    return {KEY: json.dumps(shares, ensure_ascii=False)}


def shares_in(path: Path) -> dict[str, dict[str, float]]:
    """The shares in Parquet files: name without extension → range → share. path: a file or a folder.

    Raises:
        TableError: if a file cannot be read.
    """
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path] * (path.suffix == ".parquet")
    texts = {file.stem: tables.read_metadata(file).get(KEY) for file in files}
    shares = {name: _shares(text) for name, text in texts.items() if text}
    return {name: share for name, share in shares.items() if share}


def _shares(text: str) -> dict[str, float]:
    """The shares in metadata; empty if they are not ours."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict) or not all(isinstance(share, float) and 0 <= share <= 1 for share in found.values()):
        return {}
    return found


def notes(path: Path, *, whole: str) -> list[str]:
    """A note for each Parquet file with such shares: those of each method.

    whole: suffix of the name of a range that stands for all of a method's; if a method has one, only that is reported.

    Raises:
        TableError: as `shares_in`.
    """
    sentences = []
    for name, shares in shares_in(path).items():
        methods = tuple(key.removesuffix(whole) for key in shares if key.endswith(whole))
        alone = {key: share for key, share in shares.items() if not key.startswith(methods)}
        of = {method: shares[f"{method}{whole}"] for method in methods} | alone
        if left := [f"{key} {_percent(share)}" for key, share in of.items() if share]:
            sentences.append(
                f"{name}: the formulas of the labels extrapolate beyond their ranges for a share of the records: "
                f"{'; '.join(left)}"
            )
    return sentences


def lines(shares: Mapping[str, Mapping[str, float]]) -> list[str]:
    """A table for a terminal with a column for each file; ranges that no record leaves are omitted. Empty if there are
    no shares.

    shares: from `shares_in`.
    """
    every = dict.fromkeys(name for each in shares.values() for name in each)
    ranges = [name for name in every if any(each.get(name) for each in shares.values())]
    if not ranges:
        return []
    widest = max(map(len, ranges))
    heads = "".join(f"{name:>{_width(name)}}" for name in shares)
    rows = [
        f"{name:<{widest}}" + "".join(f"{_percent(each.get(name)):>{_width(head)}}" for head, each in shares.items())
        for name in ranges
    ]
    return [" " * widest + heads, *rows]


def _width(head: str) -> int:
    return max(len(head), 7) + 2


def _percent(share: float | None) -> str:
    if not share:
        return "–"
    return "< 0.1 %" if share < 5e-4 else f"{100 * share:.1f} %"
