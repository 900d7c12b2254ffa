"""Training of M members together: one program, with the results of training each alone.

Every member has its own order of records, its own noise, validations, best weights and patience. All parameters of the
model are batched, [M, …], so that the gradient of the sum of the M losses is, row by row, that of each.
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
from shiftbench.methods.progress import Progress
from shiftbench.methods.training import Run, Schedule, Trained, history_entry, numbers, run_through


@dataclass(frozen=True)
class BatchedObjective:
    """The objective of M members.

    Attributes:
        records: N, the number of training records.
        losses: of a model on the records at positions [M, B] at a step, counted from 0: [M].
        validate: validation scores [M], lower is better. Called in evaluation mode without gradients.
    """

    records: int
    losses: Callable[[nn.Module, Tensor, int], Tensor]
    validate: Callable[[nn.Module], Tensor]


def train_batched(
    model: nn.Module,
    objective: BatchedObjective,
    schedule: Schedule,
    *,
    seeds: Sequence[int],
    checkpoint: Checkpoint | None = None,
    device: torch.device | str = "cpu",
    progress: Progress | None = None,
) -> tuple[Trained, ...]:
    """Train the M members of `model` in place; see `training.train`.

    Each member ends with the weights of its best validation. One that has run out of patience is not validated again:
    it is computed until all have, but its best weights are kept. The order of a member's records depends on its seed
    in `seeds` [M]; `schedule.seed` is ignored.

    Raises:
        ShiftbenchError: if the loss of a member that is still trained is not finite.
        SettingsError: if the checkpoint belongs to another training.
    """
    place = torch.device(device)
    with kept_random(place):
        run = _Batched(model, objective, schedule, place, seeds)
        run_through(run, checkpoint=checkpoint, progress=progress)
        return run.finish()


class _Batched(Run):
    """The training of M members."""

    def __init__(
        self,
        model: nn.Module,
        objective: BatchedObjective,
        schedule: Schedule,
        place: torch.device,
        seeds: Sequence[int],
    ) -> None:
        super().__init__(model, schedule, place, records=objective.records, shape=(len(seeds),))
        self.objective, self.seeds = objective, seeds
        self.weights: dict[str, Tensor] = {}  # the best of each member, [M, …]
        self.best: list[dict[str, Any]] = [{"loss": math.inf, "step": 0, "steps": 0, "waited": 0} for _ in seeds]
        self.histories: list[list[tuple[int, float, float]]] = [[] for _ in seeds]

    @property
    def learning(self) -> list[int]:
        """The members that have not run out of patience."""
        return [member for member, best in enumerate(self.best) if best["waited"] < self.schedule.patience]

    @property
    def finished(self) -> bool:
        return self.step >= self.schedule.steps or not self.learning

    def loss(self) -> Tensor:
        return self.objective.losses(self.model, self.rows(self.seeds), self.step)

    def evaluate(self, loss: Tensor, model: nn.Module) -> str:
        means, scores = loss.tolist(), self.objective.validate(model).tolist()
        learning = self.learning
        better = [member for member in learning if self._validated(member, means[member], scores[member])]
        for name, value in model.state_dict().items():
            now = value.detach().to("cpu", copy=True)
            if better:
                self.weights.setdefault(name, now)[better] = now[better]
        mean, score = (sum(values[member] for member in learning) / len(learning) for values in (means, scores))
        return (
            f"loss {mean:.4g}, validation {score:.4g}, {len(learning)} of {len(scores)} learning, {len(better)} better"
        )

    def _validated(self, member: int, loss: float, score: float) -> bool:
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
