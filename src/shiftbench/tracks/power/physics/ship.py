"""A ship: its parts and the method for its resistance, read from a TOML file and checked as a whole."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, replace
from importlib import resources
from typing import Any

from shiftbench import argument
from shiftbench.errors import SettingsError, UnknownNameError, quoted
from shiftbench.io import files
from shiftbench.tracks.power.physics.calibration import AS_PUBLISHED, FORMS, VERSIONS, Calibration, Resistance
from shiftbench.tracks.power.physics.parts import AREA_RATIOS, Drive, Hull, Propeller, Topsides
from shiftbench.tracks.power.physics.ship_validation import problems_of

__all__ = ["AREA_RATIOS", "KINDS", "SHIPS", "Drive", "Hull", "Propeller", "Ship", "Topsides", "read", "ship"]

KINDS = ("container", "tanker")
SHIPS = ("container", "tanker")
PARTS = {"hull": Hull, "propeller": Propeller, "topsides": Topsides, "drive": Drive}


@dataclass(frozen=True)
class Ship:
    """A single-screw ship. kind: "container" or "tanker"; "tanker" stands for all full, slow ships.

    resistance: by default Holtrop's method of 1984 with its own constants.
    """

    name: str
    kind: str
    hull: Hull
    propeller: Propeller
    topsides: Topsides
    drive: Drive
    resistance: Resistance = AS_PUBLISHED


def ship(name: str = "container") -> Ship:
    """One of the ships that come with the package, by its name in `SHIPS`.

    Raises:
        UnknownNameError: if the name is unknown.
    """
    argument.choice("ship", name, SHIPS)
    file = resources.files(__package__).joinpath("ships", f"{name}.toml")
    return _ship(tomllib.loads(file.read_text("utf-8")), file.name)


def read(path: str | os.PathLike[str]) -> Ship:
    """The ship of a TOML file: `name`, `kind`, and the tables [hull], [propeller], [topsides] and [drive].

    A table [resistance] may name the `version` and the `form`, of `FORMS`, and [resistance.calibration] the constants
    that differ from those of the form.

    Raises:
        SettingsError: if there is no such file, or naming everything that is unknown, missing, of the wrong type, out
            of range or contradictory.
    """
    source = str(path := argument.path(path))
    try:
        values = tomllib.loads(files.read_text(path))
    except (OSError, ValueError, RecursionError) as error:  # TOML's own errors, and numbers with too many digits
        raise SettingsError(
            f"{source}: expected a ship as a TOML file, found one that cannot be read ({error})."
        ) from None
    return _ship(values, source)


def _ship(values: Mapping[str, Any], source: str) -> Ship:
    """Raises: SettingsError: with all problems, each beginning with the source."""
    problems = [str(UnknownNameError("entry", key, _names(Ship))) for key in values if key not in _names(Ship)]
    for name, known in (("name", None), ("kind", KINDS)):
        value = values.get(name)
        if not isinstance(value, str) or not value or (known and value not in known):
            problems.append(f"{name}: expected {' or '.join(known) if known else 'text'}, found {value!r}.")
        elif not value.isprintable():  # it is shown in messages and recipes
            problems.append(f"{name}: expected one line of printable characters, found {value!r:.60}. Rename it.")
    parts: dict[str, Any] = {}
    for name, of in PARTS.items():
        if found := _part_problems(name, values.get(name), of):
            problems += found
        else:
            parts[name] = of(**values[name])
    problems += _resistance_problems(resistance := values.get("resistance", {}))
    problems += problems_of(parts)
    if problems:
        raise SettingsError(*(f"{source}: {problem}" for problem in problems))
    return Ship(values["name"], values["kind"], **parts, resistance=_resistance(resistance))


def _resistance(values: Mapping[str, Any]) -> Resistance:
    form = FORMS[values.get("form", "published")]
    return Resistance(values.get("version", Resistance.version), replace(form, **values.get("calibration", {})))


def _resistance_problems(values: Any) -> list[str]:
    if not isinstance(values, Mapping):
        return [f"resistance: expected a table [resistance], found {values!r:.40}."]
    known = [*_names(Resistance), "form"]
    problems = [str(UnknownNameError("entry in [resistance]", key, known)) for key in values if key not in known]
    version, form = values.get("version", Resistance.version), values.get("form", "published")
    for name, value, allowed in (("version", version, VERSIONS), ("form", form, tuple(FORMS))):
        if value not in allowed:
            problems.append(f"resistance.{name}: expected {' or '.join(allowed)} as text, found {value!r:.40}.")
    if form == "full" and version == "1982":
        problems.append('resistance.form: "full" was fitted to version "1984", found "1982". Leave out one of them.')
    return problems + _part_problems("resistance.calibration", values.get("calibration", {}), Calibration)


def _part_problems(name: str, values: Any, of: type[Any]) -> list[str]:
    if not isinstance(values, Mapping):
        return [f"{name}: expected a table [{name}], found {values!r}."]
    known = _names(of)
    problems = [str(UnknownNameError(f"entry in [{name}]", key, known)) for key in values if key not in known]
    for place in fields(of):
        low, high = place.metadata["range"]
        where = f"{name}.{place.name}"
        if place.name not in values:
            if place.default is MISSING:
                problems.append(f"{where}: expected a number from {low:g} to {high:g}, found none. Add it.")
        elif not _is_number(value := values[place.name], whole=place.type == "int") or not low <= value <= high:
            kind = "whole number" if place.type == "int" else "number"
            hint = "Is its sign right?" if of is Calibration else "Is its unit right?"
            hint = "Write it without quotes." if isinstance(value, str) else hint
            problems.append(f"{where}: expected a {kind} from {low:g} to {high:g}, found {quoted(value)}. {hint}")
    return problems


def _is_number(value: Any, *, whole: bool) -> bool:
    kinds = int if whole else (int, float)
    return isinstance(value, kinds) and not isinstance(value, bool) and (isinstance(value, int) or math.isfinite(value))


def _names(of: type[Any]) -> list[str]:
    return [place.name for place in fields(of)]
