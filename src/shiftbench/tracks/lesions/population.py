"""Who the patients are: ages, loads of lesions and scores of men and women (Shifts 2.0, Tables 12 to 15), and of sites.

Only statistics of groups are kept, never a patient's values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shiftbench.check import Vector
from shiftbench.tracks.lesions import manifest
from shiftbench.tracks.lesions.patient import Patient
from shiftbench.tracks.lesions.volumes import Volumes

SETS: Mapping[str, tuple[str, ...]] = {
    "train": ("train",), "dev_in+eval_in": ("dev_in", "eval_in"), "dev_out": ("dev_out",), "eval_out": ("eval_out",),
}  # fmt: skip
"""The columns of these tables: which parts they join."""
SEXES = {"m": "M", "f": "F"}  # by the first letter of what the column says
COLUMNS = ("sex", "gender")
STATISTICS: Mapping[str, Callable[[Vector], Any]] = {"mean": np.mean, "median": np.median, "max": np.max, "min": np.min}

Groups = dict[str, dict[str, list[float]]]
"""Set → sex → how many patients there are, and the statistics of a value in the order of `STATISTICS`."""


def sex(patient: Patient) -> str:
    """M or F; empty where unknown."""
    sex = next((patient.columns[name] for name in COLUMNS if patient.columns.get(name)), "")
    return SEXES.get(str(sex).strip()[:1].lower(), "")


def age(patient: Patient) -> float:
    """In years; NaN where unknown."""
    try:
        return float(str(patient.columns.get("age")))
    except ValueError:
        return float("nan")


def by_sex(patients: Sequence[Patient], values: Iterable[float]) -> Groups:
    """Statistics of a value of each patient [N] by set and sex; patients whose sex or value is unknown are left out."""
    held = np.array([*values], dtype=np.float64)
    found: Groups = {}
    for name, parts in SETS.items():
        for letter in SEXES.values():
            member = np.array([each.part in parts and sex(each) == letter for each in patients], dtype=np.bool_)
            if (own := held[member & np.isfinite(held)]).size:
                found.setdefault(name, {})[letter] = statistics(own)
    return found


def statistics(values: Vector) -> list[float]:
    """How many there are, and their mean, median and extremes."""
    return [len(values), *(round(float(of(values)), 6) for of in STATISTICS.values())]


def of_sites(patients: Sequence[Patient]) -> dict[str, dict[str, float]]:
    """Site → patients, mean, standard deviation (ddof 1) and median of their ages, and men for each woman."""
    found: dict[str, dict[str, float]] = {}
    for site in sorted({each.site for each in patients if each.site}):
        own = [each for each in patients if each.site == site]
        ages = np.array([each for each in map(age, own) if np.isfinite(each)])
        sexes = [sex(each) for each in own]
        found[site] = {"patients": len(own)}
        if ages.size:
            found[site] |= {"age_mean": float(ages.mean()), "age_median": float(np.median(ages))}
        if ages.size > 1:
            found[site]["age_sd"] = float(ages.std(ddof=1))
        if "F" in sexes:
            found[site]["men_per_woman"] = sexes.count("M") / sexes.count("F")
    return found


# --- a whole folder -------------------------------------------------------------------------------------------------


def of_prepared(folder: Path) -> dict[str, Any]:
    """The entries of a recipe on the patients of a prepared folder: their lesions by part, and `recipe_entries`."""
    entries, volumes = manifest.held_in(folder)["patients"], Volumes.open(folder)
    ml = [entry.get("lesions_ml") for entry in entries]
    held = [float(each) if isinstance(each, int | float) else math.nan for each in ml]
    return {"lesions": loads(entries), **recipe_entries(volumes, held)}


def recipe_entries(volumes: Volumes, loads_ml: Iterable[float]) -> dict[str, Any]:
    """Ages and loads of N patients by sex, where known, and their sites. loads_ml: [N], NaN where unknown."""
    patients = volumes.patients
    percent = [
        1e5 * ml / float(np.prod(volumes.shape(row)) * np.prod(volumes.spacing(row))) if math.isfinite(ml) else ml
        for row, ml in enumerate(loads_ml)
    ]
    found = {
        "ages_by_sex": by_sex(patients, map(age, patients)), "loads_by_sex": by_sex(patients, percent),
        "sites": of_sites(patients),
    }  # fmt: skip
    return {name: groups for name, groups in found.items() if groups}


def loads(entries: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Of each part the patients, their lesions by connectivity, and the mean and standard deviation (ddof 1) of the
    volume of a patient's lesions in ml.

    entries: patients of a manifest; those without a lesion mask are left out.
    """
    known: dict[str, list[Mapping[str, Any]]] = {}
    for patient in entries:
        if patient["part"] and isinstance(patient.get("lesions_ml"), int | float):
            known.setdefault(patient["part"], []).append(patient)
    return {part: _load(own) for part, own in known.items()}


def _load(patients: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    volumes = [patient["lesions_ml"] for patient in patients]
    counts = [patient.get("lesions", {}) for patient in patients]  # a folder of an earlier version has none
    shared = [each for each in counts[0] if all(each in found for found in counts)]
    return {
        "patients": len(volumes), "volume_ml": float(np.mean(volumes)),
        **({"volume_sd_ml": float(np.std(volumes, ddof=1))} if len(volumes) > 1 else {}),
        **({"lesions": {each: sum(found[each] for found in counts) for each in shared}} if shared else {}),
    }  # fmt: skip
