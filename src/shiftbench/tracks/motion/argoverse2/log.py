"""A sensor log: 15.5 s of boxes at 10 Hz in the frame of the ego vehicle, and its poses in the city.

Every box goes into the frame of the city by the pose of its own sweep. Velocities are not given: they are differences
to earlier positions.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench.errors import counted
from shiftbench.tracks.motion.argoverse2 import categories
from shiftbench.tracks.motion.argoverse2.columns import (
    INTEGER,
    NUMBER,
    TEXT,
    check_reach,
    numbers,
    raise_all,
    rotations,
    table,
    twice,
)
from shiftbench.tracks.motion.argoverse2.recording import HZ, LEAD, Floats, Motion, Observed, Recording, motion
from shiftbench.tracks.motion.argoverse2.scenario import left_out
from shiftbench.tracks.motion.argoverse2.sources import Source

POSE = {"timestamp_ns": INTEGER, **dict.fromkeys(("qw", "qx", "qy", "qz", "tx_m", "ty_m", "tz_m"), NUMBER)}
SIZES = ("length_m", "width_m", "height_m")
BOX = {**POSE, "track_uuid": TEXT, "category": TEXT, **dict.fromkeys(SIZES, NUMBER)}
TOLERANCE_S = 0.03  # of the time between two sweeps: 0.0995 to 0.1002 s in genuine logs
NS = 1e-9


def read_log(source: Source, *, stride: int, sweeps: int) -> Recording:
    """The recording of a sensor log; windows start every `stride` sweeps where none of their `sweeps` is missing.

    The first starts after `LEAD` sweeps; none of those before a window may be missing either.

    Raises:
        TableError: for a damaged table or invalid columns.
        ShiftbenchError: for all else that is wrong: a box twice in a sweep, a pose twice, sweeps without a pose,
            invalid quaternions, boxes without a size or too far away, a log that is too short or full of gaps.
    """
    assert source.poses is not None
    boxes, poses = table(source.table, BOX), table(source.poses, POSE)
    problems: list[str] = []
    twice(boxes, ("timestamp_ns", "track_uuid"), problems)
    twice(poses, ("timestamp_ns",), problems)
    stamps = boxes["timestamp_ns"].unique().sort().to_numpy()
    starts = _starts(stamps, stride, sweeps, problems)
    boxes = boxes.filter(pl.col("category") != categories.EGO_CATEGORY)
    turned = _rotations(boxes, source.table.name, problems)
    _check_sizes(boxes, problems)
    check_reach(boxes.select("tx_m", "ty_m", "tz_m"), problems)
    ego_turned, origins = _poses(poses, stamps, source.poses.name, problems)
    raise_all(source.folder, problems)
    time = (stamps - stamps[0]) * NS
    observed = _in_city(boxes, turned, ego_turned, origins, np.searchsorted(stamps, boxes["timestamp_ns"].to_numpy()))
    vehicles, still_vehicles = motion(_of(observed, boxes, categories.LOG_VEHICLES), time)
    pedestrians, still_pedestrians = motion(_of(observed, boxes, categories.LOG_PEDESTRIANS), time)
    dropped = left_out(boxes, "category", categories.LOG_VEHICLES | categories.LOG_PEDESTRIANS)
    dropped["velocity not known"] += still_vehicles + still_pedestrians
    dropped["windows with a gap"] += len(range(LEAD, len(stamps) - sweeps + 1, stride)) - len(starts)
    return Recording(source.id, time, vehicles, pedestrians, _ego(ego_turned, origins, time), starts, left_out=+dropped)


def _starts(stamps: npt.NDArray[np.int64], stride: int, sweeps: int, problems: list[str]) -> tuple[int, ...]:
    """The sweeps at which windows start: those whose sweeps, and those before, follow each other without a gap."""
    least = LEAD + sweeps
    if len(stamps) < least:
        problems.append(
            f"expected at least {least} sweeps ({(least - 1) / HZ:g} s at {HZ} Hz), found {len(stamps)}. "
            "The log is shorter than a scene: leave it out."
        )
        return ()
    even = np.abs(np.diff(stamps) * NS - 1 / HZ) <= TOLERANCE_S
    starts = range(LEAD, len(stamps) - sweeps + 1, stride)
    found = tuple(start for start in starts if even[start - LEAD : start + sweeps - 1].all())
    if not found:
        problems.append(
            f"expected {least} sweeps {1 / HZ:g} s apart somewhere, found {int((~even).sum())} gaps among "
            f"{len(stamps)} sweeps. No whole scene can be cut out: leave the log out."
        )
    return found


def _rotations(frame: pl.DataFrame, name: str, problems: list[str]) -> Floats:
    found: list[str] = []
    matrices = rotations(frame, found)
    problems += [f"{name}: {problem}" for problem in found]
    return matrices


def _check_sizes(boxes: pl.DataFrame, problems: list[str]) -> None:
    bad = boxes.filter(pl.any_horizontal(pl.col(SIZES) <= 0))
    if bad.height:
        problems.append(
            f"{', '.join(SIZES)}: expected sizes above 0 m, found others in {counted(bad.height, 'box', 'boxes')}."
        )


def _poses(poses: pl.DataFrame, stamps: npt.NDArray[np.int64], name: str, problems: list[str]) -> tuple[Floats, Floats]:
    """Rotations [S, 3, 2] and origins [S, 3] of the ego vehicle at the sweeps."""
    sorted_poses = poses.unique("timestamp_ns", keep="first").sort("timestamp_ns")
    known = sorted_poses.filter(pl.col("timestamp_ns").is_in(stamps.tolist()))
    if known.height < len(stamps):
        problems.append(
            f"{name}: expected a pose at each of {len(stamps)} sweeps, found {known.height}. "
            "Are the poses and the annotations of the same log?"
        )
    return _rotations(known, name, problems), numbers(known, "tx_m", "ty_m", "tz_m")


def _in_city(
    boxes: pl.DataFrame, turned: Floats, ego_turned: Floats, origins: Floats, sweep: npt.NDArray[np.intp]
) -> Observed:
    """All boxes in the city's frame; the third axis of a pose is the cross product of its first two."""
    pose = np.concatenate([ego_turned, np.cross(ego_turned[..., 0], ego_turned[..., 1])[..., None]], axis=2)[sweep]
    # Sums row by row: no row's rounding may depend on how many others there are.
    center = (pose * numbers(boxes, "tx_m", "ty_m", "tz_m")[:, None]).sum(axis=2) + origins[sweep]
    forward = (pose * turned[:, None, :, 0]).sum(axis=2)
    return Observed(
        boxes["track_uuid"].to_numpy().astype(object),
        sweep,
        center[:, :2],
        np.arctan2(forward[:, 1], forward[:, 0]),
        numbers(boxes, *SIZES),
    )


def _of(observed: Observed, boxes: pl.DataFrame, kinds: frozenset[str]) -> Observed:
    rows = boxes["category"].is_in(list(kinds)).to_numpy()
    return Observed(*(getattr(observed, name)[rows] for name in ("names", "sweep", "position", "yaw", "dimensions")))


def _ego(turned: Floats, origins: Floats, time: Floats) -> Motion:
    """The ego vehicle: its centre lies ahead of the rear axle, where its poses are."""
    forward = turned[..., 0]
    center = origins + categories.EGO_AXLE_TO_CENTRE_M * forward
    sweeps = len(time)
    observed = Observed(
        np.full(sweeps, categories.EGO_TRACK, dtype=object),
        np.arange(sweeps),
        center[:, :2],
        np.arctan2(forward[:, 1], forward[:, 0]),
        np.tile(categories.EGO_DIMENSIONS, (sweeps, 1)),
    )
    return motion(observed, time)[0]
