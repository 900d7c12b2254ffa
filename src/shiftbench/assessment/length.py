"""The length check of systems whose records have a length: each measure beside its residual without it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shiftbench.assessment.conformal import Split
from shiftbench.assessment.scored import Records, Scored
from shiftbench.check import Flags, Vector
from shiftbench.scores.length import RESIDUAL, Fit, Trend

DEVELOPMENT = "dev"  # the split whose in-domain records trends are fitted on


@dataclass(frozen=True)
class LengthChecked:
    """Splits whose measures have residuals, an entry of the recipe (None where no system has lengths), and notes."""

    splits: Sequence[Split]
    recipe: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()


def length_checked(splits: Sequence[Split], fit: Fit) -> LengthChecked:
    """The same splits with the residual of each measure of systems with lengths, as further measures.

    What is usual at a length is fitted on the in-domain records of the development split that a system has, or else on
    those of the split itself; where there are none, there is no residual.
    """
    if not any(system.length is not None for _, systems in splits for system in systems):
        return LengthChecked(splits)
    known = {
        system.system.name: (records, system)
        for records, systems in splits
        if records.split == DEVELOPMENT
        for system in systems
    }
    found, fitted, notes = list[Split](), dict[str, str](), list[str]()
    for records, systems in splits:
        whole = all(system.length is not None for system in systems)
        if not whole:  # scores are those of all systems, which are compared
            notes.append(f"{records.prefix}some systems have no lengths of their records: no length check")
            found.append((records, [replace(system, length=None) for system in systems]))
            continue
        sources = [known.get(system.system.name, (records, system)) for system in systems]
        own = [_with_residuals(system, *source, fit) for system, source in zip(systems, sources, strict=True)]
        found.append((records, own))
        ours = all(source[0].split == DEVELOPMENT for source in sources)
        fitted[records.split] = "dev_in" if ours else "its own in-domain records"
    return LengthChecked(found, {"fit": fit, "fitted_on": fitted}, tuple(notes))


def _with_residuals(system: Scored, records: Records, source: Scored, fit: Fit) -> Scored:
    inside = _inside(records, source)
    if source.length is None or system.length is None or not inside.any():
        return system
    residuals = dict(_residuals(system, source, inside, fit))
    named = system.system
    return replace(
        system,
        uncertainty={**system.uncertainty, **residuals},
        system=replace(named, measures=(*named.measures, *residuals)),
    )


def _residuals(system: Scored, source: Scored, inside: Flags, fit: Fit) -> Iterator[tuple[str, Vector]]:
    assert system.length is not None
    assert source.length is not None
    for measure, values in system.uncertainty.items():
        if measure and measure in source.uncertainty and values.min() < values.max():
            trend = Trend.of(source.uncertainty[measure][inside], source.length[inside], fit)
            yield measure + RESIDUAL, values - trend.at(system.length)


def _inside(records: Records, system: Scored) -> Flags:
    """The in-domain ones of the records that a system answers; all, where the shift is not known."""
    shifted = (system.errors < 0) if records.shifted is None else records.shifted
    return ~(shifted if system.answered is None or records.shifted is None else shifted[system.answered])
