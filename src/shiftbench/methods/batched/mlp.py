"""Ensembles of plain networks: the "DNN", "MC dropout" and "VI" of Shifts 2.0 (Malinin et al. 2022, appendix D.3).

Softplus layers, two outputs: the mean and, through softplus, the standard deviation of a normal distribution, trained
by its negative log-likelihood and stopped early on dev_in. All members train as one program whose layers are batched
products, on one core of a CPU or on a GPU, as if each were trained alone. A folder holds `settings.json`, and for each
member its weights and, written last, a file with their hash.

mlp: networks that differ only by seed.

mlp_dropout: dropout is on when they predict too (Gal and Ghahramani, ICML 2016). Each draw of a member is one function:
its masks are the same for all records, so the prediction for one depends on no other. Each record alone sees draws that
are distributed like those of dropout drawn anew. Validations are without dropout.

mlp_flipout: weights and biases have normal posteriors, independent of each other, and normal priors. Training maximises
the evidence lower bound, with one draw of the weights a step and signs for each record (Flipout: Wen et al., ICLR
2018); the divergence from the prior is summed over all layers and divided by the number of training records.
Validations use the means of the posterior. Each draw of a member to predict is one function, the same for all records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from shiftbench.methods.batched.fitting import BatchedSettings, batched
from shiftbench.methods.batched.scaling import Scaling
from shiftbench.methods.contract import Fitted, Job, Method
from shiftbench.methods.member_files import best_steps
from shiftbench.methods.settings import above_zero, checked, positive, whole, whole_number

if TYPE_CHECKING:
    from shiftbench.methods.batched.networks import Batched, MakeNetwork


def _widths(name: str, value: Any) -> list[str]:
    if not isinstance(value, tuple) or not value:
        return [f"{name}: expected the widths of one or more layers, found {value!r}."]
    return [text for width in value for text in whole(name, width, 1, 65_536)]


def _divisors(name: str, value: Any) -> list[str]:
    if not isinstance(value, Mapping):
        return [f"{name}: expected a table of columns and divisors, found {value!r}."]
    return [text for column, divisor in value.items() for text in above_zero(f"{name}.{column}", divisor, 1e30)]


@dataclass(frozen=True)
class Settings(BatchedSettings):
    """Settings of `mlp` in addition to those of all batched networks; the defaults are the published ones.

    Attributes:
        hidden: widths of the hidden layers.
        scales: divisors of columns that are not standardised.
    """

    hidden: tuple[int, ...] = checked((50, 20), _widths)
    scales: Mapping[str, float] | None = checked(None, _divisors)


@dataclass(frozen=True)
class DropoutSettings(Settings):
    """Settings of `mlp_dropout` in addition to those of `mlp`.

    Attributes:
        dropout: rate for the outputs of every hidden layer.
        draws: the number of functions drawn from each member for predictions.
    """

    dropout: float = positive(0.005, 0.9)
    draws: int = whole_number(10, 1, 1000)


@dataclass(frozen=True)
class FlipoutSettings(Settings):
    """Settings of `mlp_flipout` in addition to those of `mlp`.

    Attributes:
        prior_sd: standard deviation of the prior of every weight and bias; its mean is 0.
        draws: the number of functions drawn from each member for predictions.
    """

    prior_sd: float = positive(1.0, 1e6)
    draws: int = whole_number(10, 1, 1000)


def make_plain(record: Mapping[str, Any], seeds: Sequence[int]) -> Batched:
    """The untrained members of `mlp`."""
    from shiftbench.methods.batched.networks import Plain

    return Plain(record["width"], record["settings"]["hidden"], seeds=seeds)


def make_dropout(record: Mapping[str, Any], seeds: Sequence[int]) -> Batched:
    """The untrained members of `mlp_dropout`."""
    from shiftbench.methods.batched.networks import Dropout

    own, batch = record["settings"], min(record["settings"]["batch"], record["data"]["train"])
    return Dropout(record["width"], own["hidden"], seeds=seeds, rate=own["dropout"], batch=batch)


def make_flipout(record: Mapping[str, Any], seeds: Sequence[int]) -> Batched:
    """The untrained members of `mlp_flipout`."""
    from shiftbench.methods.batched.networks import Flipout

    own, records = record["settings"], record["data"]["train"]
    return Flipout(
        record["width"], own["hidden"], seeds=seeds, prior_sd=own["prior_sd"], batch=min(own["batch"], records),
        records=records,
    )  # fmt: skip


def scaling(job: Job) -> Scaling:
    """The scaling learnt from train; see `Scaling.fit`."""
    return Scaling.fit(job.train, job.features, job.settings.scales or {})


def _plain(name: str, title: str, settings: type[Settings], make: MakeNetwork, what: Callable[[Any], str]) -> Method:
    def describe(frame: pl.DataFrame, fitted: Fitted) -> str:
        own = settings.from_dict(fitted.record["settings"])
        layers, steps = ", ".join(map(str, own.hidden)), best_steps(fitted.folder, own.members)
        return f"{own.members} {what(own)} (layers of {layers}, best after {steps})"

    return batched(
        name, title, settings, make=make, learn_inputs=scaling, read_inputs=Scaling.from_json, describe=describe
    )


MLP = _plain("mlp", "Ensemble of plain networks", Settings, make_plain, lambda _: "networks that differ by seed")
DROPOUT = _plain(
    "mlp_dropout", "Ensemble of plain networks, dropout drawn", DropoutSettings, make_dropout,
    lambda own: f"networks with dropout {own.dropout:g}, {own.draws} draws of each",
)  # fmt: skip
FLIPOUT = _plain(
    "mlp_flipout", "Ensemble of networks, variational (Flipout)", FlipoutSettings, make_flipout,
    lambda own: f"Bayesian networks (Flipout), {own.draws} draws of each",
)  # fmt: skip
