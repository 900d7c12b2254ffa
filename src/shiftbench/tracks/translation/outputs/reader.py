"""Records as they are read from files of any form: each is checked, and all become `Outputs`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.errors import TableError, quoted
from shiftbench.io.tables import problem
from shiftbench.tracks.translation import lines
from shiftbench.tracks.translation.outputs.candidates import Place, Texts, number
from shiftbench.tracks.translation.outputs.record import Outputs
from shiftbench.tracks.translation.schema import ANOMALIES

SEVERAL = ("hypotheses", "hypos")
SINGLE = ("hypothesis", "text")
REFERENCES = ("reference", "references", "ref")
UNCERTAINTIES = ("uncertainty", "uncertainties")
NUMBERS = ("error", "quality")
OF_SINGLE = ("log_probability", "token_log_probabilities", "tokens")  # that may stand beside a single text
RESERVED = {"id", "source", "samples", "correct", *NUMBERS, *SEVERAL, *SINGLE, *REFERENCES, *UNCERTAINTIES}
MOST_NAMED = 15  # columns in a message
FLAGS: Mapping[Any, bool] = {True: True, False: False, "0": False, "1": True, "false": False, "true": True}


class PartlyValid(TableError):
    """Problems of records; and the ids and, by measure, the uncertainties [K, N] that could be read all the same."""

    def __init__(self, *problems: str, ids: Sequence[str], measures: Sequence[str], uncertainties: Any) -> None:
        super().__init__(*problems)
        self.ids, self.measures, self.uncertainties = ids, measures, uncertainties


class Reader:
    """Takes records one by one, as objects with the keys of JSON lines, and notes what is wrong with them.

    problems: of the file. names: what the file calls keys. complete: whether sources and references must not be empty,
    as in sets of sentences.
    """

    def __init__(self, problems: lines.Problems, *, names: lines.Names | None = None, complete: bool = False) -> None:
        self.problems, self.complete = problems, complete
        self._names, self._found = names or lines.Names(), set[str]()
        self._answers, self._samples = Texts(problems), Texts(problems)
        self._places: list[Place] = []
        self._ids: dict[str, int] = {}
        self._columns: dict[str, list[Any]] = {}
        self._uncertainties: dict[str, list[Any]] = {}

    def record(self, line: int, value: dict[str, Any]) -> None:
        """Add the record of a line; `value` is used up."""
        for here, theirs in self._names.of.items():
            if own := {there: value.pop(there) for there in theirs if there in value}:
                self._found.update(own)
                value[here] = _as_one(here, own)
        place = Place(line, self._id(line, value.pop("id", None)))
        self._places.append(place)
        self._answers.record(self._texts(value, place), place)
        samples = value.pop("samples", None)
        self._samples.record([] if samples is None else self._list("samples", samples, place), place)
        _fill(self._uncertainties, self._measures(value, place), len(self._places))
        _fill(self._columns, self._truth(value, place), len(self._places))

    def _id(self, line: int, value: Any) -> str:
        if value is None:
            return ""
        if not isinstance(value, (str, int)) or isinstance(value, bool) or value == "":
            what = f"id: expected a text or a whole number, found {lines.shown(value)}."
            self.problems.add(Place(line, ""), what, kind="id")
            return "?"
        if (first := self._ids.setdefault(str(value), line)) != line:
            what = f"id: expected each once, found {quoted(value)}, which line {first:,} has, too."
            self.problems.add(Place(line, ""), what, kind="ids")
        return str(value)

    def _texts(self, value: dict[str, Any], place: Place) -> list[Any]:
        for key in SEVERAL:
            if key in value:
                return self._list(key, value.pop(key), place)
        for key in SINGLE:
            if key in value:
                single = {"text": value.pop(key)}
                return [single | {name: value.pop(name) for name in OF_SINGLE if name in value}]
        return []

    def _list(self, key: str, value: Any, place: Place) -> list[Any]:
        if isinstance(value, list) and value:
            return value
        self.problems.add(place, f"{key}: expected a list of texts, found {lines.shown(value)}.", kind=key)
        return []

    def _measures(self, value: dict[str, Any], place: Place) -> dict[str, float]:
        given = _first(value, UNCERTAINTIES)
        found = given if isinstance(given, dict) else {} if given is None else {"uncertainty": given}
        return {name: number(self.problems, place, f"uncertainty {name!r}", each) for name, each in found.items()}

    def _truth(self, value: dict[str, Any], place: Place) -> dict[str, Any]:
        if "ref" in value and value.get("domain") in (0, 1):  # published references
            value.setdefault("shifted", bool(value["domain"]))
        references = _first(value, REFERENCES)
        if references is not None:
            listed = references if isinstance(references, list) and references else [references]
            value["references"] = tuple(self._text("reference", each, place) for each in listed)
        if "source" in value:
            value["source"] = self._text("source", value["source"], place)
        for key in NUMBERS:
            if key in value:
                value[key] = number(self.problems, place, key, value[key])
        if not 0 <= value.get("quality", 0) <= 100:
            advice = "Give scores on another scale as error, lower is better."
            found = f"quality: expected 0 to 100, found {value['quality']:g}. {advice}"
            self.problems.add(place, found, kind="quality")
        for key in ("correct", "shifted", *ANOMALIES):
            if key in value:
                value[key] = self._flag(key, value[key], place)
        return value

    def _text(self, key: str, value: Any, place: Place) -> str:
        fault = lines.text_fault(value)
        if not fault and self.complete and not value.strip():
            fault = "a sentence, found an empty one. Remove the pair"
        if fault:
            self.problems.add(place, f"{key}: expected {fault}.", kind=key)
            return ""
        return str(value)

    def _flag(self, key: str, value: Any, place: Place) -> bool | None:
        try:
            return FLAGS[value.lower() if isinstance(value, str) else value]
        except (KeyError, TypeError):
            if value is not None and value != "":
                what = f"{key}: expected true or false (or 1 or 0), found {lines.shown(value)}."
                self.problems.add(place, what, kind=f"flag {key}")
            return None

    # --- when all are read --------------------------------------------------------------------------------------------

    def outputs(self) -> Outputs:
        """All that was read.

        Raises:
            PartlyValid: with all problems.
        """
        if not self._places and not self.problems:
            self.problems.add("", "expected at least one record, found none. Was its writing cut off?")
        for key, name in self._names.among(self._found)[1].items() if self._places else ():
            wanted = f"expected {quoted(name)}, found {listed([*self._columns])}"
            self.problems.add("", f"{key}: {wanted} besides what is known. Correct the name.")
        if "id" in self._names.of and self._names.met is not None and not any(place.id for place in self._places):
            wanted = f"expected {quoted(self._names.of['id'][0])}, found no id in any record. Add them."
            self.problems.add("", f"id: {wanted}")
        for name, column in (*self._columns.items(), *self._uncertainties.items()):
            column += [None] * (len(self._places) - len(column))
            for at in (at for at, each in enumerate(column) if isinstance(each, float) and not math.isfinite(each)):
                self.problems.add(self._places[at], f"{name}: expected a finite number, found {column[at]}.", kind=name)
        ids = self._all_ids()
        answers, samples = self._of_texts("hypotheses", self._answers), self._of_texts("samples", self._samples)
        of_records = {key: self._whole(key, self._columns.pop(key, [])) for key in (*NUMBERS, "correct")}
        sources = self._whole("source", self._columns.pop("source", []))
        references = self._whole("reference", self._columns.pop("references", []))
        measures = {name: self._whole(f"uncertainty {name!r}", each) for name, each in self._uncertainties.items()}
        if self.problems:
            raise self._partly()
        found: dict[str, Any] = answers or samples or {"texts": [], "counts": np.zeros(len(ids), np.int64)}
        found |= {key: values if values is None else np.array(values) for key, values in of_records.items()}
        return Outputs(
            ids,
            **found,
            sources=sources,
            references=references,
            sampled=bool(samples and not answers),
            samples=Outputs(ids, **samples, sampled=True) if samples and answers else None,
            uncertainties={name: np.array(each) for name, each in measures.items()},
            columns=self._columns,
        )

    def _partly(self) -> PartlyValid:
        """All problems, with what can be checked further: of uncertainties the records that have all of them."""
        ids = [*self._ids] or [str(at) for at in range(1, len(self._places) + 1)]
        columns = {name: values for name, values in self._uncertainties.items() if len(values) == len(self._places)}
        held = np.array([*columns.values()], dtype=np.float64).reshape(len(columns), len(self._places))
        whole = held[:, np.isfinite(held).all(axis=0)]
        return PartlyValid(*self.problems.listed(), ids=ids, measures=[*columns], uncertainties=whole)

    def _all_ids(self) -> list[str]:
        """The ids; where no record has one, the numbers of the records from 1."""
        if not any(place.id for place in self._places):
            return [str(at) for at in range(1, len(self._places) + 1)]
        self._require("id", np.array([place.id != "" for place in self._places]))
        return [place.id for place in self._places]

    def _of_texts(self, key: str, found: Texts) -> dict[str, Any]:
        counts = np.array(found.counts, np.int64)
        if not counts.any():
            return {}
        self._require(key, counts > 0)
        return found.fields()

    def _whole(self, key: str, values: list[Any]) -> Any:
        """A column; None if no record has a value."""
        present = np.array([each is not None for each in values])
        if not present.any():
            return None
        self._require(key, present)
        return values

    def _require(self, key: str, present: npt.NDArray[np.bool_]) -> None:
        absent = np.flatnonzero(~present)
        what = f"{key}: expected it of each record, or of none, found one without."
        for at in absent[: problem.MOST_LISTED]:
            more = max(len(absent) - problem.MOST_LISTED, 0) if at == absent[0] else 0
            self.problems.add(self._places[at], what, more=more)


def _as_one(key: str, found: dict[str, Any]) -> Any:
    """The value of a key that a file calls otherwise: the list of all references, uncertainties by name."""
    values = [*found.values()]
    if key == "reference" and len(values) > 1:
        return [each for own in values for each in (own if isinstance(own, list) else [own])]
    if key == "uncertainty" and not isinstance(values[0], dict):
        return found
    return values[0]


def listed(names: Sequence[str]) -> str:
    """Names of columns or keys for a message, "none" if there are none; of very many the first."""
    shown = ", ".join(quoted(each) for each in names[:MOST_NAMED]) or "none"
    return f"{shown} and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else shown


def _first(value: dict[str, Any], keys: tuple[str, ...]) -> Any:
    """The value of the first of several keys of the same meaning, which is removed; None if there is none."""
    return next((value.pop(key) for key in keys if key in value), None)


def _fill(columns: dict[str, list[Any]], values: Mapping[str, Any], records: int) -> None:
    """Add a record's values to columns that may begin, or go on, later."""
    for name, value in values.items():
        column = columns.setdefault(name, [])
        column += [None] * (records - 1 - len(column))
        column.append(value)
