"""Predictions of fitted networks, volume by volume and member by member, computed when they are asked for."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from shiftbench.components import without_small
from shiftbench.errors import ArrayError, SettingsError
from shiftbench.methods import determinism, member_files, training
from shiftbench.methods.contract import DEEP, Fitted
from shiftbench.methods.volumes import architecture, member, threshold
from shiftbench.methods.volumes.dataset import Flags, Singles, VolumeDataset, image_problems, normalised
from shiftbench.methods.volumes.sums import VolumeSums, reached

HELD_BYTES = 1 << 29  # networks of an ensemble up to this size stay in memory; larger ones are loaded one at a time


@dataclass(frozen=True)
class Run:
    """A member of an ensemble: a network, and the number of its draw of dropout; None where nothing is dropped."""

    network: int
    draw: int | None = None


def runs(fitted: Fitted, *, network: int = 0) -> tuple[Run, ...]:
    """The members of an ensemble: all networks, or the draws of this one."""
    settings = fitted.record["settings"]
    if fitted.ensemble == DEEP:
        return tuple(Run(number) for number in range(settings["members"]))
    return tuple(Run(network, draw) for draw in range(settings["draws"]))


class Networks:
    """The networks of a fit; they stay in memory where all of them are small enough."""

    def __init__(self, fitted: Fitted) -> None:
        self.fitted, self.place = fitted, training.device()
        self.held: dict[int, nn.Module] = {}

    def probability(self, run: Run, image: Singles) -> Singles:
        """The probability of the foreground [X, Y, Z] of a normalised image [C, X, Y, Z] under one member.

        What is dropped follows from the seed of the fit, the network, the draw and the image.
        """
        net = self._loaded(run.network)
        alone = self.place.type == "cuda" or run.draw is not None  # threads would draw in an order of their own
        how = member.windows(self.fitted.record, threads=1 if alone else self.fitted.cores)
        with determinism.one_thread(), determinism.kept_random(self.place):
            if run.draw is not None:
                architecture.drop_always(net)
                seed = self.fitted.record["settings"]["seed"]
                _seed([seed, run.network, run.draw, zlib.crc32(image.tobytes())], self.place)
            odds = member.evaluated(net, image, how, self.place)
        return np.asarray(torch.from_numpy(odds).sigmoid().numpy())

    def _loaded(self, number: int) -> nn.Module:
        if number in self.held:
            return self.held[number]
        net = member.load(self.fitted.folder, self.fitted.record, number).to(self.place)
        size = sum(tensor.nbytes for tensor in net.parameters())
        if size * self.fitted.record["settings"]["members"] <= HELD_BYTES:
            self.held[number] = net
        return net


class VolumeAnswers:
    """Predictions of an ensemble for N volumes: computed on demand, never kept.

    Attributes:
        threshold: from which on the mean probability is foreground: tuned on dev_in unless the settings name it.
        thresholds: the same of each member alone [M].
    """

    def __init__(self, dataset: VolumeDataset, fitted: Fitted, *, network: int = 0) -> None:
        self.dataset, self.fitted, self.runs = dataset, fitted, runs(fitted, network=network)
        found = threshold.require(fitted.folder, fitted.ensemble, members=self.members, network=network)
        self.threshold, self.thresholds = float(found["threshold"]), tuple(map(float, found["members"]))
        self._networks = Networks(fitted)

    @property
    def ids(self) -> Sequence[str]:
        """The names of the volumes [N]."""
        return self.dataset.ids

    @property
    def records(self) -> int:
        """N, the number of volumes."""
        return len(self.dataset)

    @property
    def members(self) -> int:
        """M, the number of members."""
        return len(self.runs)

    def of_network(self, network: int) -> VolumeAnswers:
        """The draws of another network of the fit, where members are draws of dropout."""
        return VolumeAnswers(self.dataset, self.fitted, network=network)

    def segmentation(self, row: int, probability: Singles) -> Flags:
        """Where a volume's mean probability [X, Y, Z] reaches the threshold, without components that are too small.

        Raises:
            MissingExtraError: if scipy is not installed.
        """
        small = float(self.fitted.record["settings"]["small_mm3"])
        return without_small(reached(probability, self.threshold), self.dataset.spacing(row), small_mm3=small)

    def probabilities(self, row: int) -> Iterator[Singles]:
        """The probability of the foreground [X, Y, Z] of a volume, under one member after another.

        Raises:
            ArrayError: if its image has NaN.
            SettingsError: if it has other channels than the volumes of train.
        """
        image = normalised(self._image(row))
        for number, run in enumerate(self.runs):
            yield self._networks.probability(run, image)
            if self.fitted.progress:
                done, most = row * self.members + number + 1, self.records * self.members
                self.fitted.progress(done, most, f"{self.ids[row]}: member {number + 1} of {self.members}")

    def sums(self, row: int) -> VolumeSums:
        """The sums of all members' predictions for a volume.

        Raises:
            ArrayError, SettingsError: as `probabilities`.
        """
        found: VolumeSums | None = None
        for probability in self.probabilities(row):
            found = found or VolumeSums(probability.shape)
            found.add(probability, threshold=self.threshold)
        assert found is not None
        return found

    def __iter__(self) -> Iterator[VolumeSums]:
        """The sums of each volume in turn."""
        return map(self.sums, range(self.records))

    def _image(self, row: int) -> Singles:
        image, where = self.dataset.image(row), self.ids[row]
        if problems := image_problems(image, where):
            raise ArrayError(*problems)
        if len(image) != self.fitted.record["channels"]:
            raise SettingsError(
                f"{where}: expected an image of {self.fitted.record['channels']} channels, as in train, found "
                f"{len(image)}. Fit to volumes of the same channels."
            )
        return image


def predict(dataset: VolumeDataset, fitted: Fitted) -> VolumeAnswers:
    """What a fit predicts for each volume; see `fitting.answer`."""
    settings = fitted.record["settings"]
    if fitted.ensemble != DEEP and not settings["dropout"]:
        raise SettingsError(
            f"{fitted.folder}: expected networks trained with dropout, found a rate of 0. Fit with another."
        )
    member_files.weights(fitted.folder).require(settings["members"])
    return VolumeAnswers(dataset, fitted)


def _seed(numbers: Sequence[int], place: torch.device) -> None:
    """Seed what is drawn on the CPU and on this device."""
    drawn = int(np.random.SeedSequence(numbers).generate_state(1)[0])
    torch.default_generator.manual_seed(drawn)
    if place.type == "cuda":
        with torch.cuda.device(place):
            torch.cuda.manual_seed(drawn)
