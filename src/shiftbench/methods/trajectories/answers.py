"""Predictions of fitted networks, block by block: plans with scores, or mixtures.

The results do not depend on block size, cores or the order of requests: a request's random numbers are derived from
the seed of the fit, the member, and the request's inputs.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from shiftbench.ensembles import Mixture, Trajectories, concatenated
from shiftbench.errors import SettingsError
from shiftbench.io.executor import memory
from shiftbench.methods import fitted_folder, member_files, training
from shiftbench.methods.contract import DEEP, Fitted
from shiftbench.methods.determinism import one_thread
from shiftbench.methods.threads import in_order
from shiftbench.methods.trajectories import dropout, likelihood, member
from shiftbench.methods.trajectories.batch_reader import BatchReader
from shiftbench.methods.trajectories.dataset import Rows, TrajectoryDataset
from shiftbench.methods.trajectories.planner_net import PlannerNet

# Keeps random numbers of different uses apart.
NOISE, MASKS, PASSES = 1, 2, 3
MOST_NETWORKS = 16  # that are held for further ensembles and requests

Output = tuple[npt.NDArray[Any], npt.NDArray[Any]]
Shapes = tuple[tuple[int, ...], tuple[int, ...]]
Block = Callable[[dict[str, Tensor]], Output]


@dataclass(frozen=True)
class Member:
    """A member: the network that scores all plans, and a source of the decoder's initial state for each plan in turn.

    With dropout each plan is sampled under its own masks but scored under one set per member, so that K sets score as
    many plans as K networks of a deep ensemble would.
    """

    scorer: PlannerNet
    projections: Sequence[nn.Module]


def predict(dataset: TrajectoryDataset, fitted: Fitted) -> Trajectories | Mixture:
    """What a fit predicts for each request; see `fitting.answer`."""
    record, ensemble = fitted.record, fitted.ensemble
    nets = _networks(dataset, fitted)
    kind, output = (Mixture, _mixtures) if record["method"] == "vector" else (Trajectories, _plans)
    shapes, block = output(record, nets, ensemble)
    memory.require(len(dataset), needed(*shapes), what="requests", reserve=memory.RESERVE)
    # Blocks lie in memory request by request, and so does the whole; both are read with the members first.
    blocks = (kind(*(np.moveaxis(array, 1, 0) for array in arrays)) for arrays in _over_blocks(dataset, fitted, block))
    return concatenated(blocks, records=len(dataset))


def needed(trajectories: tuple[int, ...], numbers: tuple[int, ...]) -> int:
    """Bytes per request: its trajectories in float32, and their scores or weights in float64."""
    return math.prod(trajectories) * 4 + math.prod(numbers) * 8


def _plans(record: Mapping[str, Any], nets: Sequence[Any], ensemble: str) -> tuple[Shapes, Block]:
    """The shapes of one request's plans and scores, and the function that computes a block of them."""
    settings = record["settings"]
    networks = _members(nets, settings, ensemble)
    each, horizon, members = settings["plans_per_member"], record["data"]["horizon"], len(networks)

    def block(inputs: dict[str, Tensor]) -> Output:
        keys = [zlib.crc32(picture.data) for picture in inputs["maps"].cpu().numpy()]
        drawn = [noise([settings["seed"], k], keys, (each, horizon, 2)) for k in range(members)]
        return _planned(networks, inputs["maps"], drawn, shared=ensemble == "mc_dropout")

    return ((members, each, horizon, 2), (members, members * each)), block


def _mixtures(record: Mapping[str, Any], nets: Sequence[Any], ensemble: str) -> tuple[Shapes, Block]:
    """The shapes of one request's modes and weights, and the function that computes a block of them."""
    settings = record["settings"]
    if ensemble != "deep":
        nets = [dropout.masked(net, [settings["seed"], MASKS, k]) for k, net in enumerate(nets)]
    shape = len(nets), settings["modes"]

    def block(inputs: dict[str, Tensor]) -> Output:
        outputs = [net(inputs) for net in nets]
        weights = torch.stack([logarithms.double().softmax(dim=1) for _, logarithms in outputs], dim=1)
        return torch.stack([modes for modes, _ in outputs], dim=1).cpu().numpy(), weights.cpu().numpy()

    return ((*shape, record["data"]["horizon"], 2), shape), block


def noise(seed: Sequence[int], keys: Sequence[int], shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
    """Standard normal numbers [B, *shape], derived for each request from the seed and its own key alone."""
    drawn = [np.random.default_rng([*seed, NOISE, key]).standard_normal(shape, np.float32) for key in keys]
    return np.stack(drawn)


def _networks(dataset: TrajectoryDataset, fitted: Fitted) -> list[Any]:
    """The network of each member on the device; with "mc_dropout" every member is the first network."""
    settings, place = fitted.record["settings"], fitted.folder
    if fitted.ensemble != DEEP and not (settings["dropout"] or settings.get("context_dropout")):
        raise SettingsError(f"{place}: expected networks trained with dropout, found a rate of 0. Fit with another.")
    count = 1 if fitted.ensemble == "mc_dropout" else settings["members"]
    kept = member_files.weights(place)
    kept.require(count)
    member.require_inputs(fitted.record, dataset)
    nets = [_network(place.absolute(), k, kept.note(k)["sha256"], training.device()) for k in range(count)]
    return nets * int(settings["members"] // count)


@lru_cache(MOST_NETWORKS)
def _network(folder: Path, number: int, _sha256: str, place: torch.device) -> Any:
    """A member's network on a device, by the hash of its weights: each ensemble of a fit asks for it again."""
    return member.load(folder, fitted_folder.read(folder), number).to(place)


def _members(nets: Sequence[PlannerNet], settings: Mapping[str, Any], ensemble: str) -> list[Member]:
    """The members: networks without dropout, or each under one set of masks, with further sets for its plans."""
    if ensemble == "deep":
        return [Member(net, [net.project]) for net in nets]
    seed, each = settings["seed"], settings["plans_per_member"]
    return [
        Member(
            dropout.masked(net, [seed, MASKS, k]),
            [dropout.masked(net.project, [seed, PASSES, k, q]) for q in range(each)],  # masks are nowhere else
        )
        for k, net in enumerate(nets)
    ]


def _planned(
    members: Sequence[Member], maps: Tensor, drawn: Sequence[npt.NDArray[np.float32]], *, shared: bool
) -> Output:
    """Plans [B, K, Q, T, 2] and their scores [B, K, K·Q], of maps [B, C, H, W] and each member's noise [B, Q, T, 2]."""
    features = [members[0].scorer.encoder(maps)]
    features += features * (len(members) - 1) if shared else [other.scorer.encoder(maps) for other in members[1:]]
    made = []
    for one, seen, numbers in zip(members, features, drawn, strict=True):
        given = torch.from_numpy(numbers).to(maps.device)
        contexts = torch.stack([project(seen).float() for project in one.projections], dim=1)
        contexts = contexts.repeat_interleave(given.shape[1] // len(one.projections), dim=1)
        positions = one.scorer.decoder(given.flatten(0, 1), contexts.flatten(0, 1)).values
        made.append(positions.unflatten(0, (len(maps), -1)))
    plans = torch.cat(made, dim=1)
    scores = [_scores(one.scorer, seen, plans) for one, seen in zip(members, features, strict=True)]
    by_member = plans.reshape(len(maps), len(members), -1, *plans.shape[2:])
    return by_member.cpu().numpy(), torch.stack(scores, dim=1).cpu().numpy()


def _scores(net: PlannerNet, features: Tensor, plans: Tensor) -> Tensor:
    """log p [B, G] of plans [B, G, T, 2], summed in float64."""
    context = net.context(features).repeat_interleave(plans.shape[1], dim=0)
    standardised, log_scales = net.decoder.inverse(plans.flatten(0, 1), context)
    return likelihood.gaussian(standardised.double(), log_scales.double()).reshape(plans.shape[:2])


def _over_blocks(dataset: TrajectoryDataset, fitted: Fitted, block: Block) -> Iterator[Output]:
    """The output of each block, in order; on a CPU several run at a time, with the next one prefetched.

    If it ends early, for whatever reason, blocks that have not started are not computed.
    """
    place, progress, reading = training.device(), fitted.progress, Lock()
    read = BatchReader(dataset, member.reader(fitted.record), cache_bytes=0)
    count = 1 if place.type == "cuda" else fitted.cores

    def work(rows: Rows) -> Output:
        with reading:  # a data set need not be thread-safe
            inputs = read(rows)
        whole = member.filled(inputs, place)
        with torch.inference_mode():
            first, second = block(member.tensors(whole, place))
        return first[: len(rows)], second[: len(rows)]

    done = 0
    blocks = member.blocks(len(dataset), place)
    with one_thread(), in_order(work, blocks, threads=count + 1, ahead=2 * count) as outputs:
        for part in outputs:
            done += len(part[0])
            yield part
            if progress:
                progress(done, len(dataset), f"{done:,} of {len(dataset):,} requests")
