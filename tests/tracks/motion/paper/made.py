"""A made-up run: reports by cNLL and by weightedADE, and one of every number of members and aggregation."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from shiftbench.assessment import scored
from shiftbench.assessment.assess import build
from shiftbench.assessment.scored import Records
from shiftbench.metrics.motion import scores
from shiftbench.report.content import Report
from shiftbench.scores.intervals import Settings
from shiftbench.tracks.motion.schema import PARTITIONS, SCENES
from shiftbench.tracks.motion.submissions.scoring import options

EXAMPLE = "made-up towns, seed 0"
OFFICIAL = "official"
RECORDS = 60
MEANS = ("min_ade", "weighted_ade", "min_fde", "weighted_fde", "cnll")


def system(method, members, aggregation, ensemble="deep"):
    """What a recipe says of a system."""
    networks = 1 if ensemble == "mc_dropout" else members
    made = {"method": method, "ensemble": ensemble, "members": members, "aggregation": aggregation}
    return made | {"networks": networks}


SYSTEMS = {
    "BC": system("cloning", 5, "MA"),
    "BC alone": system("cloning", 1, "MA", "single"),
    "DIM": system("imitative", 5, "MA"),
    "BC worst case": system("cloning", 5, "WCM"),
    "vector": {"method": "vector", "members": 5, "modes": 6},
}
EVERY = {
    f"{name} {ensemble} {aggregation} {members}": system(method, members, aggregation, ensemble)
    for name, method in (("BC", "cloning"), ("DIM", "imitative"))
    for ensemble in ("deep", "dropout")
    for aggregation in ("MA", "LQ")
    for members in (1, 3, 5)
} | {
    "BC dropout BCM 3": system("cloning", 3, "BCM", "dropout"),
    "BC masks MA 3": system("cloning", 3, "MA", "mc_dropout"),
}
TWICE = {"BC deep MA 5": "BC", "BC deep MA 1": "BC alone", "DIM deep MA 5": "DIM"}  # one system in two reports
TAGS = {
    partition: {
        "location": {"Moscow": 100 * place + 7, "Tel Aviv": 3 * place, "Ann Arbor": 40},
        "precipitation": {"No": 103 * place + 30, "Snow": 17},
        "season": {"Winter": 103 * place + 47},
        "sun_phase": {"Daylight": 103 * place + 47},
        "maneuver": {"Stopping": 11 * place},
    }
    for place, partition in enumerate(PARTITIONS, 1)
}
OFFICIAL_TAGS = {partition: {"location": {"Moscow": SCENES[partition]}} for partition in PARTITIONS}


def run(error="cnll", *, origin=EXAMPLE, every=False, seed=0, title="motion quick", tags=True) -> Report:
    """One report of a run: each system a little worse than the one before it, shifted requests harder."""
    return _run(error, origin, every, seed, title, tags)  # the same call, however it is written


@cache
def _run(error, origin, every, seed, title, tags):
    systems = EVERY if every else SYSTEMS
    recipe = {"track": {"name": "motion", "origin": origin, "experiment": "canonical", "preset": "quick"}}
    recipe["systems"] = systems
    if tags:
        recipe["tags"] = OFFICIAL_TAGS if origin == OFFICIAL else TAGS
    settings = Settings(replicates=1 if every else 40)
    made = options(error, title=f"{title} {error}", task=error, recipe=recipe, intervals=settings, target_unit="m")
    if not every:
        return build(_parts(error, systems, seed), made)
    # One after another: nobody needs them compared pairwise, and this one has no intervals.
    alone = [build(_parts(error, [name], seed + place, place), made) for place, name in enumerate(systems, 1)]
    main = {(s.system, s.split, s.subset, s.metric): s.value for s in run(error, origin=origin, seed=seed).scores}
    plain = tuple(
        replace(s, value=main.get((TWICE.get(s.system), s.split, s.subset, s.metric), s.value), low=None, high=None)
        for each in alone
        for s in each.scores
    )
    rows = tuple(system for each in alone for system in each.systems)
    return replace(alone[0], scores=plain, systems=rows, curves=(), slices=(), parts=())


def _parts(error, names, seed, first=0):
    rng, parts = np.random.default_rng(seed), []
    for split in ("dev", "eval"):
        shifted = np.arange(2 * RECORDS) >= RECORDS
        targets = np.cumsum(rng.normal(1.0, 0.3, (shifted.size, 25, 2)), axis=1)
        entries = [_system(name, place, rng, targets, shifted, error) for place, name in enumerate(names, first)]
        parts.append((Records(shifted.size, split, shifted, np.arange(shifted.size) // 3), entries))
    return parts


def _system(name, place, rng, targets, shifted, error):
    spread = (0.25 + 0.06 * place) * np.where(shifted, 1.6, 1.0) * rng.lognormal(0, 0.5, shifted.size)
    noise = spread[:, None, None, None] * rng.normal(size=(shifted.size, 5, 1, 2)) * np.linspace(0.2, 3, 25)[:, None]
    found = scores(targets[:, None] + noise, np.full((shifted.size, 5), 0.2), targets)
    entry = scored.given(name, found[error], {"uncertainty": spread * rng.lognormal(0, 0.3, shifted.size)})
    role = "single" if {**SYSTEMS, **EVERY}[name].get("members") == 1 else "ensemble"
    entry = replace(entry, system=replace(entry.system, role=role))
    return replace(entry, means={metric: found[metric] for metric in MEANS})


def reports(**settings) -> list[Report]:
    """All three reports of a run."""
    return [run("cnll", **settings), run("weighted_ade", **settings), run("cnll", every=True, **settings)]
