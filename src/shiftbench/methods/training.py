"""The one training loop of all neural methods. It knows steps, batches and losses, but no task and no data format.

On a CPU a training that was cut off at any moment and goes on from its checkpoint ends with the same weights, bit for
bit, as an undisturbed one (with the same number of threads). On a GPU sums have no fixed order.
"""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from shiftbench.errors import SettingsError, ShiftbenchError
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
    with torch.random.fork_rng([place] if place.type == "cuda" else []), _interrupts() as interrupted:
        run = _Run(model.to(place), lesson, plan, place)
        if checkpoint and (state := checkpoint.load()):
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
        return run.finish()


class _Run(Generic[Batch]):
    """A training at some step: all of its state, and how it changes."""

    def __init__(self, model: nn.Module, lesson: Lesson[Batch], plan: Plan, place: torch.device) -> None:
        self.model, self.lesson, self.plan, self.place = model, lesson, plan, place
        self.optimizer = torch.optim.AdamW(
            lesson.groups or model.parameters(), lr=plan.learning_rate, weight_decay=plan.weight_decay, fused=True
        )
        mixed = plan.mixed_precision and place.type == "cuda"
        half = torch.bfloat16 if mixed and _has_bfloat16(place) else torch.float16
        self.autocast = torch.autocast(place.type, half, enabled=True) if mixed else torch.enable_grad()
        # Only float16 is so narrow that small gradients must be scaled up.
        self.scaler = torch.amp.GradScaler(place.type, enabled=mixed and half == torch.float16)
        self.per_epoch = math.ceil(lesson.records / plan.batch)
        self.step = 0
        self.total = torch.zeros((), dtype=torch.float64, device=place)  # of the losses since the last validation
        self.best: dict[str, Any] = {"loss": math.inf, "step": 0, "weights": {}, "waited": 0}
        self.history: list[tuple[int, float, float]] = []
        self.order = torch.empty(0)
        self.epoch = -1
        torch.default_generator.manual_seed(plan.seed)  # and not torch.manual_seed, which seeds every GPU
        if place.type == "cuda":
            with torch.cuda.device(place):
                torch.cuda.manual_seed(plan.seed)
        model.train()

    @property
    def finished(self) -> bool:
        return self.step >= self.plan.steps or self.best["waited"] >= self.plan.patience

    def advance(self) -> None:
        """One step."""
        batch = self.lesson.batch(self._rows())
        for group in self.optimizer.param_groups:
            group["lr"] = self.plan.rate(self.step)
        self.optimizer.zero_grad(set_to_none=True)
        with self.autocast:
            loss = self.lesson.loss(self.model, batch)
        self.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        if self.plan.clip is not None:
            self.scaler.unscale_(self.optimizer)
            nn.utils.clip_grad_norm_(self.model.parameters(), self.plan.clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.total += loss.detach()  # reading it here would make a GPU wait
        self.step += 1

    def _rows(self) -> Tensor:
        """The positions of the records of this step, on the device. The order of an epoch follows from seed and epoch
        alone, so a training that goes on needs no memory of it."""
        epoch, place = divmod(self.step, self.per_epoch)
        if epoch != self.epoch:
            seed = np.random.SeedSequence([self.plan.seed, epoch]).generate_state(1)[0]
            generator = torch.Generator().manual_seed(int(seed))
            self.order = torch.randperm(self.lesson.records, generator=generator).to(self.place)
            self.epoch = epoch
        return self.order[place * self.plan.batch : (place + 1) * self.plan.batch]

    def validate(self) -> str:
        """Judge the model, keep it if it is the best so far, and say so."""
        since = self.step - (self.history[-1][0] if self.history else 0)
        loss = float(self.total) / since
        self.total.zero_()
        self.model.eval()
        with torch.no_grad():
            score = float(self.lesson.validate(self.model))
        self.model.train()
        self._require_finite(loss, score)
        self.history.append((self.step, loss, score))
        better = score < self.best["loss"]
        if better:
            weights = {name: value.detach().to("cpu", copy=True) for name, value in self.model.state_dict().items()}
            self.best = {"loss": score, "step": self.step, "weights": weights, "waited": 0}
        else:
            self.best["waited"] += 1
        epoch = self.step / self.per_epoch
        return f"epoch {epoch:.3g}: loss {loss:.4g}, validation {score:.4g}{' (best)' if better else ''}"

    def _require_finite(self, loss: float, score: float) -> None:
        for what, value in (("loss", loss), ("validation loss", score)):
            if not math.isfinite(value):
                raise ShiftbenchError(
                    f"training: expected a finite {what}, found {value} by step {self.step:,}. Lower the learning "
                    f"rate (now {self.plan.learning_rate:g}), clip gradients, or look for extreme values in the data."
                )

    def finish(self) -> Trained:
        self.model.load_state_dict(self.best["weights"])
        self.model.eval()
        return Trained(self.step, self.best["step"], self.best["loss"], tuple(self.history))

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
            "best": self.best,
            "history": self.history,
        }

    def restore(self, state: State) -> None:
        """Take up the training that `state` is of."""
        if state["plan"] != asdict(self.plan):
            raise SettingsError(
                f"checkpoint: expected one of the plan {asdict(self.plan)}, found {state['plan']}. "
                "Remove it, or go on with that plan."
            )
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scaler.load_state_dict(state["scaler"])
        self.step, self.best = state["step"], state["best"]
        self.history = [tuple(entry) for entry in state["history"]]
        self.total.copy_(state["total"])
        torch.set_rng_state(state["random"]["cpu"])
        if self.place.type == "cuda":
            torch.cuda.set_rng_state(state["random"]["cuda"], self.place)


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
