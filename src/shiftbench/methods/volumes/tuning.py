"""What a fit does: trains the networks, and then tunes the thresholds of its ensembles on dev_in."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from shiftbench.methods import fitted_folder, member_files, member_training
from shiftbench.methods.contract import DEEP, Fitted, Job
from shiftbench.methods.volumes import member, threshold
from shiftbench.methods.volumes.answers import Networks, Run, runs
from shiftbench.methods.volumes.dataset import VolumeReader
from shiftbench.methods.volumes.settings import MC_DROPOUT
from shiftbench.methods.volumes.threshold import Search

Ensembles = dict[str, list[tuple[Run, ...]]]


def train(job: Job) -> None:
    """Train members that are missing or incomplete; tune the thresholds if a member is new or they are missing."""
    folder, parts, settings = job.folder, (job.train, job.dev), job.settings
    fitted = Fitted(folder, fitted_folder.read(folder), job.cores)
    changed = member_files.weights(folder).missing(settings.members) or not threshold.read(folder)
    steps = member.schedule(settings.to_dict(), len(job.train), seed=0).steps
    sought = {} if settings.threshold is not None else ensembles(fitted)
    more = sum(len(each) for entries in sought.values() for each in entries) * len(job.dev)

    def tell(done: int, most: int, message: str) -> None:
        if job.progress:
            job.progress(done, most + more, message)

    training = member_training.MemberTraining(
        settings.members,
        steps,
        lambda number, report: member.train(folder, parts, number, report=report),
        member.__name__,
        member_training.sharing(folder, parts),
    )
    member_training.train_missing(folder, training, cores=job.cores, progress=tell)
    if changed:
        whole, evaluated = steps * settings.members, itertools.count(1)
        threshold.write(folder, tuned(job, fitted, sought, lambda text: tell(whole + next(evaluated), whole, text)))


def ensembles(fitted: Fitted) -> Ensembles:
    """The members of each ensemble of a fit; of dropout there is one ensemble for each network."""
    found: Ensembles = {DEEP: [runs(fitted)]}
    settings = fitted.record["settings"]
    if settings["dropout"]:
        drawn = Fitted(fitted.folder, fitted.record, ensemble=MC_DROPOUT)
        found[MC_DROPOUT] = [runs(drawn, network=number) for number in range(settings["members"])]
    return found


def tuned(job: Job, fitted: Fitted, sought: Ensembles, tell: Callable[[str], None]) -> dict[str, Any]:
    """The thresholds of each ensemble, with the mean nDSC on dev_in; those of the settings if they name one."""
    settings = fitted.record["settings"]
    if (given := settings.get("threshold")) is not None:
        return {
            name: [{"threshold": given, "ndsc": None, "members": [given] * len(each)} for each in entries]
            for name, entries in ensembles(fitted).items()
        }
    networks, read = Networks(fitted), VolumeReader(job.dev, "dev_in")
    return {name: [searched(members, networks, read, tell) for members in entries] for name, entries in sought.items()}


def searched(
    members: tuple[Run, ...], networks: Networks, read: VolumeReader, tell: Callable[[str], None]
) -> dict[str, Any]:
    """The threshold of an ensemble's mean probability, and of each member alone, over all volumes."""
    small = float(networks.fitted.record["settings"]["small_mm3"])
    whole, alone = Search(small), [Search(small) for _ in members]
    for row in range(len(read.dataset)):
        (image, truth, *_), spacing = read(row), read.dataset.spacing(row)
        mean = np.zeros(truth.shape, np.float64)
        for number, (run, search) in enumerate(zip(members, alone, strict=True)):
            probability = networks.probability(run, image)
            search.add(probability, truth, spacing)
            mean += probability
            tell(f"threshold: dev_in, {read.dataset.ids[row]}, member {number + 1} of {len(members)}")
        whole.add((mean / len(members)).astype(np.float32), truth, spacing)
    chosen, score = whole.best
    return {"threshold": chosen, "ndsc": score, "members": [search.best[0] for search in alone]}
