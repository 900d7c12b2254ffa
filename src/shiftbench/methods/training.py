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

Batch = TypeVar("Batch")
Progress = Callable[[int, int, str], None]
"""Called after each validation with the steps done, the most there may be, and a sentence with epoch and losses."""


@dataclass(frozen=True)
class Plan:
    """How long and how fast to learn; AdamW takes the steps (Loshchilov and Hutter, ICLR 2019).

    Attributes:
        steps: the most steps.
        batch: records in a batch; the last one of an epoch may be smaller.
        learning_rate: the highest; see `rate`.
        validate_every: steps from one validation to the next; the last step is followed by one too.
        weight_decay: of the parameters in groups that name none of their own.
        warmup: steps in which the learning rate rises in a line.
        cosine: let the learning rate fall to 0 along half a cosine over the remaining steps, or keep it.
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
    patience: int = 16
    clip: float | None = None
    mixed_precision: bool = True
    seed: int = 0

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        if step < self.warmup:
            return self.learning_rate * (step + 1) / self.warmup
        done = (step - self.warmup) / max(1, self.steps - self.warmup)
        return self.learning_rate * (0.5 * (1 + math.cos(math.pi * done)) if self.cosine else 1.0)


@dataclass(frozen=True)
class Lesson(Generic[Batch]):
    """What is to be learnt.

    Attributes:
        records: N, how many there are to learn from.
        batch: the batch of these records, given their positions [B] on the training device.
        loss: of a model on a batch: a scalar to be made small.
        validate: how well a model does on other records: a number, the lower the better. Called in evaluation mode
            without gradients; must draw no random numbers.
        groups: parameter groups as AdamW takes them; all parameters alike if None.
    """

    records: int
    batch: Callable[[Tensor], Batch]
    loss: Callable[[nn.Module, Batch], Tensor]
    validate: Callable[[nn.Module], float]
    groups: list[dict[str, Any]] | None = None


@dataclass(frozen=True)
class Trained:
    """How a training went: steps taken, where the best validation was, and (step, training loss, validation) of all."""

    steps: int
    best_step: int
    best_loss: float
    history: tuple[tuple[int, float, float], ...]


def device(name: str | None = None) -> torch.device:
    """The device of this name, or if None a GPU where there is one, else the CPU."""
    return torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))


def train(
    model: nn.Module,
    lesson: Lesson[Batch],
    plan: Plan,
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
        run = _Lone(model, lesson, plan, place)
        run_through(run, checkpoint=checkpoint, progress=progress)
        return run.finish()


def run_through(run: Run, *, checkpoint: Checkpoint | None, progress: Progress | None) -> None:
    """Take all steps of a run from its checkpoint on, validating, reporting and keeping its state on the way."""
    plan = run.plan
    with _interrupts() as interrupted:
        if checkpoint and (state := checkpoint.load()):
            with checkpoint.restoring():
                run.restore(state)
        while not run.finished:
            run.advance()
            if run.step % plan.validate_every == 0 or run.step == plan.steps:
                line = run.validate()
                if progress:
                    progress(run.step, plan.steps, line)
            if checkpoint and (interrupted.is_set() or checkpoint.due):
                checkpoint.save(run.state())
            if interrupted.is_set():
                raise KeyboardInterrupt


class Run(ABC):
    """A training at some step: all of its state, and how it changes.

    What is learnt, and what a validation leads to, is said by its two kinds: one model, and a stack of members.
    `records` is N; `shape` that of a loss: () or [M].
    """

    def __init__(
        self, model: nn.Module, plan: Plan, place: torch.device, *, records: int, groups: Any = None, shape: Any = ()
    ) -> None:
        self.model, self.plan, self.place, self.records = model.to(place), plan, place, records
        self.optimizer = torch.optim.AdamW(
            groups or model.parameters(), lr=plan.learning_rate, weight_decay=plan.weight_decay, fused=True
        )
        mixed = plan.mixed_precision and place.type == "cuda"
        half = torch.bfloat16 if mixed and _has_bfloat16(place) else torch.float16
        self.autocast = torch.autocast(place.type, half, enabled=True) if mixed else torch.enable_grad()
        # Only float16 is so narrow that small gradients must be scaled up.
        self.scaler = torch.amp.GradScaler(place.type, enabled=mixed and half == torch.float16)
        self.per_epoch = math.ceil(records / plan.batch)
        self.step = self.validated = 0
        self.total = torch.zeros(shape, dtype=torch.float64, device=place)  # of the losses since the last validation
        self.orders = torch.empty(0)
        self.epoch = -1
        torch.default_generator.manual_seed(plan.seed)  # and not torch.manual_seed, which seeds every GPU
        if place.type == "cuda":
            with torch.cuda.device(place):
                torch.cuda.manual_seed(plan.seed)
        model.train()

    @property
    @abstractmethod
    def finished(self) -> bool:
        """Whether there is nothing left to learn."""

    @abstractmethod
    def loss(self) -> Tensor:
        """What is to be made small at this step: () or [M]."""

    @abstractmethod
    def judge(self, loss: Tensor, model: nn.Module) -> str:
        """Validate the model, keep what is the best so far, and say so; `loss` is the mean since the last time."""

    @abstractmethod
    def learnt(self) -> State:
        """What validations have led to."""

    @abstractmethod
    def relearn(self, state: State) -> None:
        """Take up what `learnt` gave."""

    def advance(self) -> None:
        """One step."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.plan.rate(self.step)
        self.optimizer.zero_grad(set_to_none=True)
        with self.autocast:
            loss = self.loss()
        self.scaler.scale(loss.sum() if loss.ndim else loss).backward()  # type: ignore[no-untyped-call]
        if self.plan.clip is not None:
            self.scaler.unscale_(self.optimizer)
            nn.utils.clip_grad_norm_(self.model.parameters(), self.plan.clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.total += loss.detach()  # reading it here would make a GPU wait
        self.step += 1

    def rows(self, seeds: Sequence[int]) -> Tensor:
        """The positions of the records of this step, on the device, for each seed [M, B]."""
        epoch, place = divmod(self.step, self.per_epoch)
        if epoch != self.epoch:
            orders = [determinism.order(seed, epoch, self.records) for seed in seeds]
            self.orders, self.epoch = torch.stack(orders).to(self.place), epoch
        return self.orders[:, place * self.plan.batch : (place + 1) * self.plan.batch]

    def validate(self) -> str:
        """Judge the model, and say in a sentence what came out."""
        loss = self.total / (self.step - self.validated)
        self.total.zero_()
        self.validated = self.step
        self.model.eval()
        with torch.no_grad():
            line = self.judge(loss, self.model)
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
                    f"rate (now {self.plan.learning_rate:g}), clip gradients, or look for extreme values in the data."
                )

    def state(self) -> State:
        """All that the rest of the training depends on, as tensors and plain values."""
        random = {"cpu": torch.get_rng_state()}
        if self.place.type == "cuda":
            random["cuda"] = torch.cuda.get_rng_state(self.place)
        return {
            "plan": asdict(self.plan),
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
        """Take up the training that `state` is of."""
        if state.get("plan") != asdict(self.plan):
            raise SettingsError(
                f"checkpoint: expected one of the plan {asdict(self.plan)}, found {state.get('plan')}. "
                "Remove it, or go on with that plan."
            )
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scaler.load_state_dict(state["scaler"])
        self.step, self.validated = state["step"], state["validated"]
        if not (isinstance(self.step, int) and 0 <= self.step <= self.plan.steps):
            raise ValueError(f"step {self.step!r} of {self.plan.steps}")
        if not (isinstance(self.validated, int) and 0 <= self.validated <= self.step):
            raise ValueError(f"validated at step {self.validated!r} of {self.step}")
        self.relearn(state["learnt"])
        self.total.copy_(state["total"])
        torch.set_rng_state(state["random"]["cpu"])
        if self.place.type == "cuda":
            torch.cuda.set_rng_state(state["random"]["cuda"], self.place)


class _Lone(Run, Generic[Batch]):
    """The training of one model."""

    def __init__(self, model: nn.Module, lesson: Lesson[Batch], plan: Plan, place: torch.device) -> None:
        super().__init__(model, plan, place, records=lesson.records, groups=lesson.groups)
        self.lesson = lesson
        self.best: dict[str, Any] = {"loss": math.inf, "step": 0, "weights": {}, "waited": 0}
        self.history: list[tuple[int, float, float]] = []

    @property
    def finished(self) -> bool:
        return self.step >= self.plan.steps or self.best["waited"] >= self.plan.patience

    def loss(self) -> Tensor:
        return self.lesson.loss(self.model, self.lesson.batch(self.rows([self.plan.seed])[0]))

    def judge(self, loss: Tensor, model: nn.Module) -> str:
        mean, score = float(loss), float(self.lesson.validate(model))
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
    asked = threading.Event()
    # Handlers belong to the main thread; one that somebody else has put there stays.
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield asked
        return

    def ask(*_: Any) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    signal.signal(signal.SIGINT, ask)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
