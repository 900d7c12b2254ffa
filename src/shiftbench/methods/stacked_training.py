"""The training loop for M members at once: one program, as if each were trained alone.

Every member has its own order of records, its own noise, validations, best weights and patience. All parameters of the
model are stacked, [M, …], so that the gradient of the sum of the M losses is, row by row, that of each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from shiftbench.methods.checkpoint import Checkpoint, State
from shiftbench.methods.determinism import kept_random
from shiftbench.methods.training import Plan, Progress, Run, Trained, history_entry, numbers, run_through


@dataclass(frozen=True)
class StackLesson:
    """What M members are to learn.

    Attributes:
        records: N, how many there are to learn from.
        losses: of a model on the records at positions [M, B] at a step, counted from 0: [M], each to be made small.
        validate: how well each member does on other records: [M], the lower the better. Called in evaluation mode
            without gradients.
    """

    records: int
    losses: Callable[[nn.Module, Tensor, int], Tensor]
    validate: Callable[[nn.Module], Tensor]


def train_stack(
    model: nn.Module,
    lesson: StackLesson,
    plan: Plan,
    *,
    seeds: Sequence[int],
    checkpoint: Checkpoint | None = None,
    device: torch.device | str = "cpu",
    progress: Progress | None = None,
) -> tuple[Trained, ...]:
    """Train the M members of `model` in place; see `training.train`.

    Each ends with its weights of its best validation. One that has run out of patience is not judged again: the
    program computes it on until all have, but its best weights stay. The order of a member's records follows from its
    seed in `seeds` [M]; `plan.seed` makes no difference.

    Raises:
        ShiftbenchError: if a loss is not finite of a member that still learns.
        SettingsError: if the checkpoint is another training's.
    """
    place = torch.device(device)
    with kept_random(place):
        run = _Stack(model, lesson, plan, place, seeds)
        run_through(run, checkpoint=checkpoint, progress=progress)
        return run.finish()


class _Stack(Run):
    """The training of M members."""

    def __init__(
        self, model: nn.Module, lesson: StackLesson, plan: Plan, place: torch.device, seeds: Sequence[int]
    ) -> None:
        super().__init__(model, plan, place, records=lesson.records, shape=(len(seeds),))
        self.lesson, self.seeds = lesson, seeds
        self.weights: dict[str, Tensor] = {}  # the best of each member, [M, …]
        self.best: list[dict[str, Any]] = [{"loss": math.inf, "step": 0, "steps": 0, "waited": 0} for _ in seeds]
        self.histories: list[list[tuple[int, float, float]]] = [[] for _ in seeds]

    @property
    def learning(self) -> list[int]:
        """The members that have not run out of patience."""
        return [member for member, best in enumerate(self.best) if best["waited"] < self.plan.patience]

    @property
    def finished(self) -> bool:
        return self.step >= self.plan.steps or not self.learning

    def loss(self) -> Tensor:
        return self.lesson.losses(self.model, self.rows(self.seeds), self.step)

    def judge(self, loss: Tensor, model: nn.Module) -> str:
        means, scores = loss.tolist(), self.lesson.validate(model).tolist()
        learning = self.learning
        better = [member for member in learning if self._judge(member, means[member], scores[member])]
        for name, value in model.state_dict().items():
            now = value.detach().to("cpu", copy=True)
            if better:
                self.weights.setdefault(name, now)[better] = now[better]
        mean, score = (sum(values[member] for member in learning) / len(learning) for values in (means, scores))
        return (
            f"loss {mean:.4g}, validation {score:.4g}, {len(learning)} of {len(scores)} learning, {len(better)} better"
        )

    def _judge(self, member: int, loss: float, score: float) -> bool:
        """Note a validation of a member; whether it is its best."""
        self.require_finite(loss, score, whose=f"training, member {member}")
        self.histories[member].append((self.step, loss, score))
        best = self.best[member]
        best["steps"] = self.step
        if score < best["loss"]:
            best.update(loss=score, step=self.step, waited=0)
            return True
        best["waited"] += 1
        return False

    def learnt(self) -> State:
        return {"weights": self.weights, "best": self.best, "histories": self.histories}

    def relearn(self, state: State) -> None:
        self.require_own(state["weights"])
        self.weights = state["weights"]
        each = zip(self.seeds, state["best"], state["histories"], strict=True)
        self.best, self.histories = [], []
        for _, best, history in each:
            self.best.append(numbers(best, "step", "steps", "waited"))
            self.histories.append([history_entry(*entry) for entry in history])

    def finish(self) -> tuple[Trained, ...]:
        self.model.load_state_dict(self.weights)
        self.model.eval()
        return tuple(
            Trained(best["steps"], best["step"], best["loss"], tuple(history))
            for best, history in zip(self.best, self.histories, strict=True)
        )
