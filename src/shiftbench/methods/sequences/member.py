"""One network of an ensemble: training, in this process or another, and loading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from shiftbench.methods import fitted_folder, member_files, member_training
from shiftbench.methods.sequences.batch import Rows, by_tokens, padded
from shiftbench.methods.sequences.dataset import PairDataset, learnable
from shiftbench.methods.sequences.transformer import Transformer
from shiftbench.methods.training import Objective, Schedule
from shiftbench.methods.workers import Report, Train

Parts = tuple[PairDataset, PairDataset]

MOST_DEV = 2_000  # pairs of dev_in that tell which weights are best; more would tell the same, and take longer


class Pairs(NamedTuple):
    """A batch: sources with eos [B, S], targets after bos and with eos, each [B, T], filled up with padding."""

    source: Tensor
    before: Tensor
    target: Tensor


def network(record: Mapping[str, Any], *, seed: int) -> Transformer:
    """A network of the fit on the CPU, with weights initialised from the seed."""
    with member_training.seeded(seed):
        return Transformer(record["settings"], record["vocabulary"])


def batches(dataset: PairDataset, settings: Mapping[str, Any], *, seed: int) -> list[Rows]:
    """The pairs to learn from in batches by tokens, those of a length in the order that follows from the seed."""
    lengths = dataset.lengths
    rows = learnable(lengths, settings["longest"])
    return [rows[each] for each in by_tokens(lengths[rows] + 1, settings["batch_tokens"], seed=seed)]


def schedule(settings: Mapping[str, Any], *, seed: int) -> Schedule:
    """How long to train; a record of the loop is a batch of pairs."""
    return Schedule(
        steps=settings["steps"],
        batch=settings["batches"],
        learning_rate=settings["learning_rate"],
        validate_every=settings["validate_every"],
        weight_decay=settings["weight_decay"],
        warmup=settings["warmup"],
        inverse_sqrt=True,
        patience=settings["patience"],
        clip=settings["clip"] or None,
        mixed_precision=settings["mixed_precision"],
        seed=seed,
    )


def objective(record: Mapping[str, Any], parts: Parts, net: Transformer, *, seed: int) -> Objective[list[Rows]]:
    """The objective: trained on the first of `parts`, and evaluated on pairs of the second."""
    settings, (train, judged) = record["settings"], parts
    learnt = batches(train, settings, seed=seed)
    known = judged.select(dev_rows(judged, settings["longest"]))
    dev = batches(known, settings, seed=0)

    def losses(model: nn.Module, chosen: list[Rows]) -> Iterator[Tensor]:
        tokens = sum(int((train.lengths[rows, 1] + 1).sum()) for rows in chosen)
        for rows in chosen:
            yield nll(model, read(train, rows, net), pad=net.pad, smoothing=settings["label_smoothing"]) / tokens

    def validate(model: nn.Module) -> float:
        total = sum(float(nll(model, read(known, rows, net), pad=net.pad)) for rows in dev)
        return total / int((known.lengths[:, 1] + 1).sum())

    return Objective(
        records=len(learnt),
        batch=lambda places: [learnt[place] for place in places.tolist()],
        loss=losses,
        validate=validate,
        groups=[{"params": list(net.parameters()), "betas": (settings["first_beta"], settings["second_beta"])}],
    )


def dev_rows(dataset: PairDataset, longest: int) -> Rows:
    """The pairs of dev_in that are evaluated."""
    rows = learnable(dataset.lengths, longest)
    return np.sort(np.random.default_rng(0).permutation(rows)[:MOST_DEV])


def read(dataset: PairDataset, rows: Rows, net: Transformer) -> Pairs:
    """The batch of these pairs, where the network is."""
    sources, targets = zip(*(dataset.pair(row) for row in rows.tolist()), strict=True)
    return Pairs(
        net.batch(sources),
        padded(targets, net.pad, net.place, first=net.start),
        padded(targets, net.pad, net.place, last=net.eos),
    )


def nll(model: nn.Module, pairs: Pairs, *, pad: int, smoothing: float = 0.0) -> Tensor:
    """-log p of the target tokens, summed over the batch; with smoothing, every token of the vocabulary has a part.

    Source: Szegedy et al., CVPR 2016, section 7.
    """
    logits = model(pairs.source, pairs.before).flatten(0, 1)
    exact = logits.to(torch.promote_types(logits.dtype, torch.float32))  # 16 bits are too few for sums
    return functional.cross_entropy(
        exact, pairs.target.flatten(), ignore_index=pad, reduction="sum", label_smoothing=smoothing
    )


def train(folder: Path, parts: Parts, member: int, *, report: Report, number: int = 0) -> None:
    """Train one member on (train, dev_in), resuming where it stopped, and write its two files.

    `number` is that of the process: with several GPUs each process has one of its own.
    """
    record, kept = fitted_folder.read(folder), member_files.weights(folder)
    seed, place = member_training.member_seed(record, member), member_training.device(number)
    net = network(record, seed=seed).to(place)
    member_training.train_member(
        kept,
        member,
        net,
        objective(record, parts, net, seed=seed),
        schedule(record["settings"], seed=seed),
        saved=member_training.checkpoint_of(kept, member),
        report=report,
    )


def load(folder: Path, record: Mapping[str, Any], member: int) -> Transformer:
    """The network of a member whose files were found complete; see `member_training.load`."""
    return member_training.load(network(record, seed=0), member_files.weights(folder), member)


def trainer(argument: str, number: int) -> Train:
    """The trainer of a fit's members, see `workers.train`; its argument is that of `member_training.sharing`."""
    folder, parts = member_training.shared(argument)
    return lambda member, report: train(folder, parts, member, report=report, number=number)
