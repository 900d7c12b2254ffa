"""All scores of 50,000 × 5 × 25 trajectories, from arrays and from the official protobuf, against loops over requests.

The twins take request by request and metric by metric, as scorers are usually written. CPU seconds.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.metrics import motion
from shiftbench.tracks.motion.scenes import protobuf
from shiftbench.tracks.motion.schema import FUTURE
from shiftbench.tracks.motion.submissions.scoring import scores
from shiftbench.tracks.motion.submissions.submission import Submission, read_submission, write_submission
from shiftbench.tracks.motion.submissions.truth import Truth, truth_of_submission

REQUESTS, MODES = 50_000, 5
ROUNDS = 5
BOUND_ARRAYS, BOUND_PROTOBUF = 1 / 50, 1 / 5

Array = npt.NDArray[np.float64]


def arrays(requests: int = REQUESTS) -> tuple[Array, Array, Array]:
    """Trajectories [N, 5, 25, 2], weights [N, 5] and targets [N, 25, 2]."""
    rng = np.random.default_rng(0)
    targets = rng.normal(size=(requests, FUTURE, 2)).cumsum(axis=1)
    trajectories = targets[:, None] + rng.normal(0, 0.3, (requests, MODES, FUTURE, 2)).cumsum(axis=2)
    return trajectories, rng.dirichlet(np.ones(MODES), requests), targets


def _ade(modes: Array, target: Array) -> Array:
    return np.asarray(np.linalg.norm(modes - target, axis=-1).mean(axis=-1))


def _fde(modes: Array, target: Array) -> Array:
    return np.asarray(np.linalg.norm(modes[:, -1] - target[-1], axis=-1))


def _negative_log_likelihood(modes: Array, weights: Array, target: Array) -> float:
    exponents = np.log(weights) - 0.5 * np.sum((modes - target) ** 2, axis=(1, 2))
    highest = exponents.max()
    return float(-(highest + np.log(np.sum(np.exp(exponents - highest)))))


def _request(modes: Array, weights: Array, target: Array) -> dict[str, float]:
    """Every score of one request, each from the trajectories."""
    found = {"cnll": _negative_log_likelihood(modes, weights, target)}
    for name, displacement in (("ade", _ade), ("fde", _fde)):
        found[f"min_{name}"] = displacement(modes, target).min()
        found[f"avg_{name}"] = displacement(modes, target).mean()
        found[f"top1_{name}"] = displacement(modes, target)[np.argmax(weights)]
        found[f"weighted_{name}"] = np.sum(weights * displacement(modes, target))
    return found


def _columns(rows: list[dict[str, float]]) -> dict[str, Array]:
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def loop_over_requests(trajectories: Array, weights: Array, targets: Array) -> dict[str, Array]:
    """The twin of `metrics.motion.scores`."""
    return _columns([_request(*each) for each in zip(trajectories, weights, targets, strict=True)])


def _points(trajectory: Any) -> Array:
    return np.array([[point.x, point.y] for point in trajectory.points])


def loop_over_messages(submission: Path, truth: Path) -> dict[str, Array]:
    """The twin of reading both files and scoring one against the other."""
    target_of = {
        (each.scene_id, each.track_id): _points(each.weighted_trajectories[0].trajectory)
        for each in protobuf.parse_submission(truth.read_bytes()).predictions
    }
    rows = []
    for each in protobuf.parse_submission(submission.read_bytes()).predictions:
        modes = np.stack([_points(mode.trajectory) for mode in each.weighted_trajectories])
        weights = np.array([mode.weight for mode in each.weighted_trajectories])
        rows.append(_request(modes, weights, target_of[each.scene_id, each.track_id]))
    return _columns(rows)


def from_files(submission: Path, truth: Path) -> dict[str, Array]:
    """What a user does with two files."""
    return scores(read_submission(submission), truth_of_submission(read_submission(truth)))


def write_files(folder: Path, trajectories: Array, weights: Array, targets: Array) -> tuple[Path, Path]:
    """A submission and its ground truth in the official form; 20 requests in each scene."""
    places = np.arange(len(targets))
    requests = (np.array([f"{place // 20:032x}" for place in places], dtype=object), places)
    made = Submission.of(requests, trajectories, weights, places / len(places))
    truth = Truth(made.scene_ids, made.track_ids, targets)
    ones = np.ones((len(truth), 1))
    one = Submission.of(requests, targets[:, None], ones, np.zeros(len(truth)))
    return write_submission(made, folder / "submission.pb"), write_submission(one, folder / "truth.pb")


def cpu_seconds(act: Callable[[], dict[str, Array]]) -> tuple[float, dict[str, Array]]:
    """CPU time of one call, and what it returns."""
    start = time.process_time()
    found = act()
    return time.process_time() - start, found


def compared(ours: Callable[[], dict[str, Array]], twin: Callable[[], dict[str, Array]]) -> float:
    """The time of ours (the median of several calls) over that of one call of the twin, which must say the same."""
    slow, expected = cpu_seconds(twin)
    runs = [cpu_seconds(ours) for _ in range(ROUNDS)]
    found = runs[0][1]
    assert found.keys() == expected.keys()
    assert all(np.allclose(values, expected[name], rtol=1e-9) for name, values in found.items())
    return median(seconds for seconds, _ in runs) / slow


def ratios() -> list[tuple[str, float, float | None]]:
    """Ours over the twins, with the bounds that they must keep."""
    made = arrays()
    shape = f"{REQUESTS:,} × {MODES} × {FUTURE}"
    of_arrays = compared(lambda: motion.scores(*made), lambda: loop_over_requests(*made))
    with tempfile.TemporaryDirectory() as folder:
        files = write_files(Path(folder), *made)
        of_files = compared(lambda: from_files(*files), lambda: loop_over_messages(*files))
    return [
        (f"all scores of {shape} trajectories / a loop over requests", of_arrays, BOUND_ARRAYS),
        (f"the same from protobuf files / a loop over messages of {shape}", of_files, BOUND_PROTOBUF),
    ]


if __name__ == "__main__":
    for name, ratio, bound in ratios():
        print(f"{name}: 1/{1 / ratio:.0f}" + (f" (bound 1/{1 / bound:.0f})" if bound else ""))
