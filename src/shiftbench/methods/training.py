"""The one training loop of all neural methods. It knows steps, batches and losses, but no task and no data format.

On a CPU a training that was cut off at any moment and goes on from its checkpoint ends with the same weights, bit for
bit, as an undisturbed one (with the same number of threads). On a GPU sums have no fixed order.
"""

from __future__ import annotations

import math
import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

from shiftbench.errors import SettingsError, ShiftbenchError
from shiftbench.methods import determinism
from shiftbench.methods.checkpoint import Checkpoint, State
from shiftbench.methods.optimizer import AdamW
from shiftbench.methods.progress import Progress

Batch = TypeVar("Batch")


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to train; AdamW takes the steps (Loshchilov and Hutter, ICLR 2019).

    Attributes:
        steps: the most steps.
        batch: records in a batch; the last one of an epoch may be smaller.
        learning_rate: the highest; see `rate`.
        validate_every: steps from one validation to the next; the last step is followed by one too.
        weight_decay: of the parameters in groups that name none of their own.
        warmup: steps in which the learning rate rises in a line.
        cosine: let the learning rate fall to 0 along half a cosine over the remaining steps, or keep it.
        inverse_sqrt: let it fall with the square root of the steps instead (Vaswani et al., NeurIPS 2017).
        patience: validations without gain after which to stop.
        clip: the largest norm of the gradient; None does not clip.
        mixed_precision: on a GPU, compute in 16 bits where that is safe; no difference on a CPU.
        seed: of the order of the records and of dropout.
    """

    steps: int
    batch: int
    learning_rate: float
    validate_every: int
    weight_decay: float = 0.0
    warmup: int = 0
    cosine: bool = False
    inverse_sqrt: bool = False
    patience: int = 16
    clip: float | None = None
    mixed_precision: bool = True
    seed: int = 0

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        if step < self.warmup:
            return self.learning_rate * (step + 1) / self.warmup
        if self.inverse_sqrt:
            return self.learning_rate * math.sqrt(max(1, self.warmup) / (step + 1))
        done = (step - self.warmup) / max(1, self.steps - self.warmup)
        return self.learning_rate * (0.5 * (1 + math.cos(math.pi * done)) if self.cosine else 1.0)


@dataclass(frozen=True)
class Objective(Generic[Batch]):
    """The loss of a model, and the records it is computed on.

    Attributes:
        records: N, how many there are to learn from.
        batch: the batch of these records, given their positions [B] on the training device.
        loss: of a model on a batch: a scalar, or parts of it in turn, whose gradients are added, where all of a batch
            would not fit into memory.
        validate: how well a model does on other records: a number, the lower the better. Called in evaluation mode
            without gradients; must draw no random numbers.
        groups: parameter groups as AdamW takes them; all parameters alike if None.
    """

    records: int
    batch: Callable[[Tensor], Batch]
    loss: Callable[[nn.Module, Batch], Tensor | Iterator[Tensor]]
    validate: Callable[[nn.Module], float]
    groups: list[dict[str, Any]] | None = None


@dataclass(frozen=True)
class Trained:
    """How a training went: steps taken, where the best validation was, and (step, training loss, validation) of all."""

    steps: int
    best_step: int
    best_loss: float
    history: tuple[tuple[int, float, float], ...]


def device() -> torch.device:
    """A GPU where there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def train(
    model: nn.Module,
    objective: Objective[Batch],
    schedule: Schedule,
    *,
    checkpoint: Checkpoint | None = None,
    device: torch.device | str = "cpu",
    progress: Progress | None = None,
) -> Trained:
    """Train `model` in place; it ends on `device`, in evaluation mode, with its weights of the best validation.

    With a checkpoint it goes on where an earlier call was cut off (Ctrl-C writes one at the end of the step). The
    checkpoint stays until the caller has kept the weights and removes it. Random states of the caller are left alone.

    Raises:
        ShiftbenchError: if a loss is not finite.
        SettingsError: if the checkpoint is another training's.
    """
    place = torch.device(device)
    with determinism.kept_random(place):
        run = _Lone(model, objective, schedule, place)
        run_through(run, checkpoint=checkpoint, progress=progress)
        return run.finish()


def run_through(run: Run, *, checkpoint: Checkpoint | None, progress: Progress | None) -> None:
    """Take all steps of a run from its checkpoint on, validating, reporting and keeping its state on the way."""
    schedule = run.schedule
    with _interrupts() as interrupted:
        if checkpoint and (state := checkpoint.load()):
            with checkpoint.restoring():
                run.restore(state)
        while not run.finished:
            run.advance()
            if run.step % schedule.validate_every == 0 or run.step == schedule.steps:
                line = run.validate()
                if progress:
                    progress(run.step, schedule.steps, line)
            if checkpoint and (interrupted.is_set() or checkpoint.due):
                checkpoint.save(run.state())
            if interrupted.is_set():
                raise KeyboardInterrupt


class Run(ABC):
    """A training at some step: all of its state, and how it changes.

    Its two kinds, one model and a batch of members, define what is minimised and what a validation leads to.
    `records` is N; `shape` that of a loss: () or [M].
    """

    def __init__(
        self,
        model: nn.Module,
        schedule: Schedule,
        place: torch.device,
        *,
        records: int,
        groups: Any = None,
        shape: Any = (),
    ) -> None:
        self.model, self.schedule, self.place, self.records = model.to(place), schedule, place, records
        self.optimizer = AdamW(
            groups or model.parameters(), lr=schedule.learning_rate, weight_decay=schedule.weight_decay, fused=True
        )
        mixed = schedule.mixed_precision and place.type == "cuda"
        half = torch.bfloat16 if mixed and _has_bfloat16(place) else torch.float16
        self.autocast = torch.autocast(place.type, half, enabled=True) if mixed else torch.enable_grad()
        # Only float16 is so narrow that small gradients must be scaled up.
        self.scaler = torch.amp.GradScaler(place.type, enabled=mixed and half == torch.float16)
        self.per_epoch = math.ceil(records / schedule.batch)
        self.step = self.validated = 0
        self.total = torch.zeros(shape, dtype=torch.float64, device=place)  # of the losses since the last validation
        self.orders = torch.empty(0)
        self.epoch = -1
        torch.default_generator.manual_seed(schedule.seed)  # and not torch.manual_seed, which seeds every GPU
        if place.type == "cuda":
            with torch.cuda.device(place):
                torch.cuda.manual_seed(schedule.seed)
        model.train()

    @property
    @abstractmethod
    def finished(self) -> bool:
        """Whether there is nothing left to learn."""

    @abstractmethod
    def loss(self) -> Tensor | Iterator[Tensor]:
        """The loss of this step: () or [M], or its parts in turn."""

    @abstractmethod
    def evaluate(self, loss: Tensor, model: nn.Module) -> str:
        """Validate the model, keep the best so far, and report it; `loss` is the mean since the last time."""

    @abstractmethod
    def learnt(self) -> State:
        """The state that validations have led to."""

    @abstractmethod
    def relearn(self, state: State) -> None:
        """Restore what `learnt` gave."""

    def advance(self) -> None:
        """One step."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.schedule.rate(self.step)
        self.optimizer.zero_grad(set_to_none=True)
        for loss in self._losses():
            self.scaler.scale(loss.sum() if loss.ndim else loss).backward()  # type: ignore[no-untyped-call]
            self.total += loss.detach()  # reading it here would make a GPU wait
        if self.schedule.clip is not None:
            self.scaler.unscale_(self.optimizer)
            nn.utils.clip_grad_norm_(self.model.parameters(), self.schedule.clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.step += 1

    def _losses(self) -> Iterator[Tensor]:
        with self.autocast:
            found = self.loss()
            parts = iter((found,)) if isinstance(found, Tensor) else found
            part = next(parts, None)
        while part is not None:
            yield part  # outside of autocast, where gradients are computed
            with self.autocast:
                part = next(parts, None)

    def rows(self, seeds: Sequence[int]) -> Tensor:
        """The positions of the records of this step, on the device, for each seed [M, B]."""
        epoch, place = divmod(self.step, self.per_epoch)
        if epoch != self.epoch:
            orders = [determinism.order(seed, epoch, self.records) for seed in seeds]
            self.orders, self.epoch = torch.stack(orders).to(self.place), epoch
        return self.orders[:, place * self.schedule.batch : (place + 1) * self.schedule.batch]

    def validate(self) -> str:
        """Validate the model, and report the result in a sentence."""
        loss = self.total / (self.step - self.validated)
        self.total.zero_()
        self.validated = self.step
        self.model.eval()
        with torch.no_grad():
            line = self.evaluate(loss, self.model)
        self.model.train()
        return f"epoch {self.step / self.per_epoch:.3g}: {line}"

    def require_finite(self, loss: float, score: float, *, whose: str = "training") -> None:
        """Check a loss and a validation.

        Raises:
            ShiftbenchError: if one is not finite.
        """
        for what, value in (("loss", loss), ("validation loss", score)):
            if not math.isfinite(value):
                raise ShiftbenchError(
                    f"{whose}: expected a finite {what}, found {value} by step {self.step:,}. Lower the learning "
                    f"rate (now {self.schedule.learning_rate:g}), clip gradients, or look for extreme values in the "
                    "data."
                )

    def state(self) -> State:
        """The state that the rest of the training depends on, as tensors and plain values."""
        random = {"cpu": torch.get_rng_state()}
        if self.place.type == "cuda":
            random["cuda"] = torch.cuda.get_rng_state(self.place)
        return {
            "plan": asdict(self.schedule),
            "step": self.step,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scaler": self.scaler.state_dict(),
            "random": random,
            "total": self.total,
            "validated": self.validated,
            "learnt": self.learnt(),
        }

    def require_own(self, weights: State) -> None:
        """Check the best weights of a checkpoint: those of this model, or none before the first validation.

        Raises:
            ValueError: if they are others.
        """
        own = {name: value.shape for name, value in self.model.state_dict().items() if self.validated}
        if {name: value.shape for name, value in weights.items()} != own:
            raise ValueError("the best weights are not of this network")

    def restore(self, state: State) -> None:
        """Restore the training that `state` is of."""
        if state.get("plan") != asdict(self.schedule):
            raise SettingsError(
                f"checkpoint: expected one of the schedule {asdict(self.schedule)}, found {state.get('plan')}. "
                "Remove it, or go on with that schedule."
            )
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scaler.load_state_dict(state["scaler"])
        self.step, self.validated = state["step"], state["validated"]
        if not (isinstance(self.step, int) and 0 <= self.step <= self.schedule.steps):
            raise ValueError(f"step {self.step!r} of {self.schedule.steps}")
        if not (isinstance(self.validated, int) and 0 <= self.validated <= self.step):
            raise ValueError(f"validated at step {self.validated!r} of {self.step}")
        self.relearn(state["learnt"])
        self.total.copy_(state["total"])
        torch.set_rng_state(state["random"]["cpu"])
        if self.place.type == "cuda":
            torch.cuda.set_rng_state(state["random"]["cuda"], self.place)


class _Lone(Run, Generic[Batch]):
    """The training of one model."""

    def __init__(self, model: nn.Module, objective: Objective[Batch], schedule: Schedule, place: torch.device) -> None:
        super().__init__(model, schedule, place, records=objective.records, groups=objective.groups)
        self.objective = objective
        self.best: dict[str, Any] = {"loss": math.inf, "step": 0, "weights": {}, "waited": 0}
        self.history: list[tuple[int, float, float]] = []

    @property
    def finished(self) -> bool:
        return self.step >= self.schedule.steps or self.best["waited"] >= self.schedule.patience

    def loss(self) -> Tensor | Iterator[Tensor]:
        return self.objective.loss(self.model, self.objective.batch(self.rows([self.schedule.seed])[0]))

    def evaluate(self, loss: Tensor, model: nn.Module) -> str:
        mean, score = float(loss), float(self.objective.validate(model))
        self.require_finite(mean, score)
        self.history.append((self.step, mean, score))
        better = score < self.best["loss"]
        if better:
            weights = {name: value.detach().to("cpu", copy=True) for name, value in model.state_dict().items()}
            self.best = {"loss": score, "step": self.step, "weights": weights, "waited": 0}
        else:
            self.best["waited"] += 1
        return f"loss {mean:.4g}, validation {score:.4g}{' (best)' if better else ''}"

    def learnt(self) -> State:
        return {"best": self.best, "history": self.history}

    def relearn(self, state: State) -> None:
        best = state["best"]
        self.require_own(best["weights"])
        self.best = {**numbers(best, "step", "waited"), "weights": best["weights"]}
        self.history = [history_entry(*entry) for entry in state["history"]]

    def finish(self) -> Trained:
        self.model.load_state_dict(self.best["weights"])
        self.model.eval()
        return Trained(self.step, self.best["step"], self.best["loss"], tuple(self.history))


def numbers(best: State, *steps: str) -> State:
    """The loss and the steps that a checkpoint notes of the best validation; anything else raises."""
    return {"loss": float(best["loss"]), **{name: int(best[name]) for name in steps}}


def history_entry(step: int, loss: float, score: float) -> tuple[int, float, float]:
    """An entry of a history as a checkpoint notes it; anything else raises."""
    return int(step), float(loss), float(score)


def _has_bfloat16(place: torch.device) -> bool:
    """Whether this GPU computes in bfloat16 itself: where it only emulates it, float16 is faster."""
    with torch.cuda.device(place):
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))


@contextmanager
def _interrupts() -> Iterator[threading.Event]:
    """Ctrl-C sets the event instead of breaking into a step; a second one does not wait."""
    interrupted = threading.Event()
    # Handlers belong to the main thread; one that somebody else has put there stays.
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield interrupted
        return

    def interrupt(*_: Any) -> None:
        if interrupted.is_set():
            raise KeyboardInterrupt
        interrupted.set()

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
