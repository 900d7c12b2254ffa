"""The systems of a motion run: which methods a preset holds, and what is made of the plans of each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from shiftbench.errors import UnknownNameError
from shiftbench.methods.presets import Entries
from shiftbench.tracks.motion.baselines import planning
from shiftbench.tracks.motion.baselines.planning import AGGREGATIONS, MOST_PLANS

# The middle 64 pixels at full size and not all 128 at half: the agent's own speed shows only in the few pixels of its
# box. About 1,500 requests to train on, 128 pixels: some 12 minutes on two cores. The least scale bounds the likelihood
# of parked vehicles: positions are not known to 2 cm. Teacher forcing does no better on dev_in and dev_out than the
# published training on own samples (docs/findings/towns.md).
QUICK_PLANNER = {
    "width": 0.25, "hidden": 64, "crop": 64, "batch": 64, "learning_rate": 2e-3, "epochs": 20, "patience": 20,
    "least_scale_m": 0.02, "dropout": 0.1, "context_dropout": 0.1, "position_unit_m": 10.0, "weight_decay": 1e-4,
}  # fmt: skip

PRESETS: Mapping[str, Entries] = {
    "quick": (
        {"name": "cloning", "title": "BC", **QUICK_PLANNER},
        {"name": "imitative", "title": "DIM", **QUICK_PLANNER},
        {
            "name": "vector", "title": "Vector", "width": 64, "heads": 4, "mixing": 0, "layers": 2, "lines": 64,
            "batch": 64, "learning_rate": 1e-3, "epochs": 30, "patience": 10,
        },
    ),
    "paper": (
        {"name": "cloning", "title": "BC"},
        {"name": "imitative", "title": "DIM"},
        {"name": "vector", "title": "Vector"},
    ),
}  # fmt: skip
"""Preset → its methods, with the settings that are not the default: "paper" as published takes hours, and a GPU."""
METHODS = tuple(str(entry["name"]) for entry in PRESETS["paper"])
VECTOR = "vector"
MEMBERS = (1, 3, 5)  # K of Tables 13, 14, 20 and 21
AGGREGATION = "MA"  # of the systems in the main report

Ensemble = Literal["deep", "dropout", "mc_dropout"]
ENSEMBLES: Mapping[Ensemble, str] = {"deep": "deep", "dropout": "dropout", "mc_dropout": "MC dropout"}
"""Kinds of ensembles, each with its name in reports of planning: short enough for their pictures."""


def methods(preset: str, *, chosen: Sequence[str] = (), members: int | None = None, seed: int = 0) -> Entries:
    """The methods of a preset, each with its title, its settings and the seed.

    chosen: only these. members: of each, instead of the preset's.

    Raises:
        UnknownNameError: if there is no preset or method of this name.
    """
    if preset not in PRESETS:
        raise UnknownNameError("preset", preset, PRESETS)
    for name in chosen:
        if name not in METHODS:
            raise UnknownNameError("method of this preset", name, METHODS)
    changes = {} if members is None else {"members": members}
    entries = (entry for entry in PRESETS[preset] if not chosen or entry["name"] in chosen)
    return tuple({**entry, **changes, "seed": seed} for entry in entries)


@dataclass(frozen=True)
class Planner:
    """A system that robust imitative planning makes of a method's plans (Filos et al. 2020; Shifts 1.0, Appendix E.4).

    ensemble: members that were trained apart, as they are ("deep") or each under masks of dropout ("dropout"); or
    masks of dropout of one of them ("mc_dropout").
    members: K of them. aggregation: of a plan's scores under these, and of the plans' scores of a request.
    """

    name: str
    method: str
    ensemble: Ensemble
    members: int
    aggregation: str = AGGREGATION

    def settings(self, plans_per_member: int) -> planning.Settings:
        """How scores become plans."""
        most = min(MOST_PLANS, self.members * plans_per_member)
        return planning.Settings(self.members, plans_per_member, self.aggregation, most=most)

    @property
    def alone(self) -> bool:
        """Whether it is the method's single model."""
        return self.ensemble == "deep" and self.members == 1

    def recipe(self, settings: Mapping[str, Any], plans_per_member: int) -> dict[str, Any]:
        """Its entry in a report's recipe."""
        return {
            **settings,
            "method": self.method,
            "ensemble": "single" if self.alone else self.ensemble,
            "members": self.members,
            "networks": 1 if self.ensemble == "mc_dropout" else self.members,
            "aggregation": self.aggregation,
            "plans_per_member": plans_per_member,
            "modes": self.settings(plans_per_member).most,
        }


def planners(method: str, title: str, members: int) -> list[Planner]:
    """The systems of the main report that are made of a method's plans: alone, and as an ensemble of each kind."""
    if members == 1:
        return [Planner(title, method, "deep", 1)]
    return [
        Planner(title, method, "deep", 1),
        Planner(f"RIP-{title}", method, "deep", members),
        Planner(f"RIP-{title} (dropout)", method, "dropout", members),
        Planner(f"RIP-{title} (MC dropout, one network)", method, "mc_dropout", members),
    ]


def every_planner(method: str, title: str, members: int) -> list[Planner]:
    """Every number of members that the paper has and there are, under every aggregation, for every kind of ensemble.

    One set of masks of one network is both kinds of dropout ensemble: it stands once, as "dropout".
    """
    return [
        Planner(f"RIP-{title}, {words}, K = {count}, {aggregation}", method, ensemble, count, aggregation)
        for ensemble, words in ENSEMBLES.items()
        for count in MEMBERS
        if count <= members and not (count == 1 and ensemble == "mc_dropout")
        for aggregation in AGGREGATIONS
    ]
