"""Partitions of a table, clusters that they share, and the features that models may see."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shiftbench.errors import CAREFUL, PartitionError, TableError, counted
from shiftbench.io import files, tables
from shiftbench.partition import (
    IN_DOMAIN,
    Manifest,
    Partition,
    Rules,
    features,
    keys,
    leakage,
    partition,
    write_manifest,
)
from shiftbench.partition.features import Features
from shiftbench.partition.leakage import Leakage
from shiftbench.pipeline.existing_partition import Given
from shiftbench.pipeline.settings import Settings

MOST = float(np.finfo(np.float32).max)
MOST_LISTED = 3
MANY_SHARED = 0.1  # share of evaluated records with a twin in train from which on their scores mislead


def rules_of(values: Mapping[str, Any]) -> Rules:
    """Partition rules from plain values, without empty ones."""
    return Rules.from_settings({name: value for name, value in values.items() if value not in (None, (), {}, [])})


def kept_apart(rules: Rules, *, clusters: Sequence[str], cut: bool) -> Rules:
    """The rules, with named clusters kept on one side of train, dev and eval unless these may be cut."""
    if cut:
        return replace(rules, apart=None)
    return replace(rules, apart="+".join(clusters)) if clusters else rules


def own_ids(rules: Rules, frame: pl.DataFrame) -> Rules:
    """The rules, with the table's column of ids if they name none."""
    return replace(rules, id=tables.id_column(frame, rules.id))


@dataclass(frozen=True)
class Divided:
    """A partition with its manifest and notes."""

    parts: Partition
    manifest: Manifest
    notes: tuple[str, ...]


def divide(
    frame: pl.DataFrame,
    rules: Rules,
    folder: Path,
    *,
    ids: pl.Series,
    source: str | Path,
    clusters: Sequence[str] = (),
    unseen: Sequence[str] = (),
    write_parts: bool = False,
) -> Divided:
    """Partition the rows, and write manifest, leakage report and, if requested, the partitions' own tables.

    ids: [N]; if they are row numbers, the partitions' tables get them in a first column `id`.
    unseen: columns that no model sees, such as the target; near-duplicates may differ in them.
    """
    _require_uniform(frame, rules, clusters, where=Path(source).name)
    parts = partition(frame, rules, ids=ids)
    if problems := _empty(parts):
        raise PartitionError(*problems)
    if write_parts and rules.id is None:
        parts = replace(parts, table=_numbered(frame, ids))
    joined = ["+".join(clusters)] if clusters else []
    aside = {*unseen, *rules.columns(), *(part for name in joined for part in keys.parts(name, frame.columns))}
    seen = [name for name in frame.columns if name not in aside]
    found = leakage(frame, parts, rules, clusters=joined, features=seen)
    if found.errors:
        raise PartitionError(*(finding.what for finding in found.errors))
    manifest = write_manifest(folder, parts, rules, source=source, leakage=found, frames=write_parts)
    notes = [*parts.warnings, *_shared(found, parts)]
    notes += [finding.what for finding in found.findings if finding.severity == "warning"]
    return Divided(parts, manifest, tuple(notes))


def _shared(found: Leakage, parts: Partition) -> list[str]:
    """A caution for each side of the evaluation of which many records are also in train, as far as models see.

    Only where some feature is not whole: rows of few categories are often equal by chance.
    """
    if not any(_is_fractional(parts.table[name]) for name in found.compared):
        return []
    equal = [each.counts for each in found.findings if each.kind == "duplicates" and " are equal " in each.what]
    notes = []
    for name, side in (("eval_in", "in-domain"), ("eval_out", "shifted")):
        share = sum(counts.get(name, 0) for counts in equal) / max(parts.counts[name], 1)
        if share >= MANY_SHARED:
            which = "all" if share >= 1 else f"{100 * share:.3g} % of the"
            text = f"{which} evaluated {side} records have exactly the features of a record in train"
            notes.append(f"{CAREFUL}{text}, so their scores may be too good")
    return notes


def _is_fractional(values: pl.Series) -> bool:
    """Whether any is no whole number; columns of whole numbers with gaps are often stored as floats."""
    return values.dtype.is_float() and bool(((values.round(0) != values) & values.is_finite()).any())


def _require_uniform(frame: pl.DataFrame, rules: Rules, clusters: Sequence[str], *, where: str) -> None:
    labels = [part for name in (rules.by, rules.group, *clusters) if name for part in keys.parts(name, frame.columns)]
    named = [[name for name in names if name in frame.columns] for names in ([rules.time or ""], labels)]
    tables.require_uniform(frame, named[0], where=where, labels=named[1])


def _empty(parts: Partition) -> list[str]:
    """A sentence for each empty partition that training, early stopping or the report needs."""
    needed = [*IN_DOMAIN, *(["eval_out"] if parts.counts["dev_out"] else [])]
    return [
        f"{name}: expected records, found none, since its share is 0. Give it a share or a condition."
        for name in needed
        if not parts.counts[name]
    ]


def _numbered(frame: pl.DataFrame, ids: pl.Series) -> pl.DataFrame:
    if why := tables.unusable_id(frame, None):
        raise PartitionError(
            "expected ids for the tables of the partitions: a column given with --id, or no column `id`, so that row "
            f"numbers can have that name, found neither: {why} Name a column, or rename `id`."
        )
    return ids.alias("id").to_frame().hstack(frame)


def adopt(frame: pl.DataFrame, made: Given, folder: Path) -> Divided:
    """Use existing partitions; their manifest is copied into the run."""
    parts = Partition(frame, made.ids, made.assignment, dict(made.manifest.unused))
    files.write_json(folder / "manifest.json", made.manifest.to_json())
    return Divided(parts, made.manifest, ())


def infinite(frame: pl.DataFrame, ids: pl.Series, within: pl.Series, chosen: Features) -> list[str]:
    """A sentence for each feature that is not finite in single precision for the records in the mask [N]."""
    problems = []
    for name in chosen.numeric:
        values = frame[name]
        if not values.dtype.is_float() or not _beyond(values):
            continue
        wrong = within & (values.abs() > MOST).fill_null(value=False) & values.is_not_nan().fill_null(value=False)
        if wrong.any():
            shown = ", ".join(map(str, ids.filter(wrong).head(MOST_LISTED)))
            problems.append(
                f"column {name!r}: expected finite numbers within ±3.4e38, found {values.filter(wrong)[0]} in "
                f"{counted(wrong.sum(), 'record')} (ids {shown}{', …' if wrong.sum() > MOST_LISTED else ''}). Clip "
                "them, or leave the cells empty."
            )
    return problems


def _beyond(values: pl.Series) -> bool:
    low, high = values.min(), values.max()  # ignores NaN
    return low is not None and high is not None and (float(low) < -MOST or float(high) > MOST)  # type: ignore[arg-type]


def choose_features(train: pl.DataFrame, settings: Settings, roles: Sequence[str]) -> tuple[Features, tuple[str, ...]]:
    """The columns a model may see; columns that reveal the target are refused unless the settings allow them."""
    named = [part for name in roles for part in keys.parts(name, train.columns)] + list(settings.clusters)
    chosen = features.choose(train, target=settings.target, exclude=named, drop=settings.drop, keep=settings.keep)
    task = settings.task or "regression"
    with np.errstate(over="ignore", invalid="ignore"):  # such large numbers are refused by `infinite`
        found = features.leaks(train, target=settings.target, features=chosen, task=task)
    if settings.allow_leaks:
        away = f"gives the target {settings.target!r} away, and is used nevertheless (--allow-leaks)"
        return chosen, tuple(f"{CAREFUL}column {leak.column!r} {away}: {leak.reason}" for leak in found)
    messages = [
        f"column {leak.column!r} gives the target {settings.target!r} away: {leak.reason}. If it is not known when a "
        f"prediction is made, leave it out with --drop {_word(leak.column)}; if it is, go on with --allow-leaks."
        for leak in found
    ]
    if messages:
        raise TableError(*messages)
    return chosen, ()


def _word(name: str) -> str:
    """A column as an option that takes a list and as a shell want it written."""
    doubled = name.replace('"', '""')
    return shlex.quote(f'"{doubled}"' if "," in name or name.startswith('"') else name)


def shared(train: pl.DataFrame, evaluated: pl.DataFrame, clusters: Sequence[str]) -> int:
    """The number of evaluated records whose cluster occurs in train."""
    known, own = (keys.combined(frame, clusters).cast(pl.String) for frame in (train, evaluated))
    return int(own.is_in(known.unique().implode()).sum())


def kept_whole(train: pl.DataFrame, eval_in: pl.DataFrame, clusters: Sequence[str]) -> tuple[str, ...]:
    """The cluster columns that folds of train must keep whole: these, or none if the partition itself cuts them.

    A fold should differ from the rest of train as eval_in does: where most records of eval_in have their cluster in
    train, those of a fold may, too.
    """
    cut = bool(clusters) and 2 * shared(train, eval_in, clusters) > eval_in.height
    return () if cut else tuple(clusters)
