"""Fast reading and writing of submissions as protobuf: trajectories stay packed bytes, from which numpy extracts
positions.

A point is 20 bytes (x, y) or 29 (x, y, z), each number after its tag. Points in another layout (a coordinate of exactly
0 may be left out) are parsed by protobuf itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.check import Flags
from shiftbench.errors import PredictionsError, ShiftbenchError
from shiftbench.metrics.modes import Floats
from shiftbench.tracks.motion.scenes import protobuf
from shiftbench.tracks.motion.schema import FUTURE
from shiftbench.tracks.motion.submissions.requests import MOST_LISTED, request_name, shown, step_problems

_BLOCK_MODES = 1 << 15
_POINT_TAG, _COORDINATE_TAGS = 0x0A, {"x": 0x09, "y": 0x11, "z": 0x19}
_LARGEST = float(np.finfo(np.float32).max)


def _layout(coordinates: str) -> np.dtype[Any]:
    numbers = [field for axis in coordinates for field in ((f"{axis}_tag", "u1"), (axis, "<f8"))]
    return np.dtype([("tag", "u1"), ("length", "u1"), *numbers])


_LAYOUTS = {coordinates: _layout(coordinates) for coordinates in ("xy", "xyz")}


def _tags(coordinates: str) -> dict[str, int]:
    """The bytes of a point besides its numbers."""
    axes = {f"{axis}_tag": _COORDINATE_TAGS[axis] for axis in coordinates}
    return {"tag": _POINT_TAG, "length": _LAYOUTS[coordinates].itemsize - 2, **axes}


@cache
def _packed_submission() -> Any:
    """The class of `Submission` with trajectories as bytes: the same wire format, without an object for each point."""
    whole = protobuf.message("Submission")  # first: it reports a missing protobuf
    descriptor_pb2, descriptor_pool, message_factory = (
        import_module(f"google.protobuf.{name}") for name in ("descriptor_pb2", "descriptor_pool", "message_factory")
    )
    file = descriptor_pb2.FileDescriptorProto()
    whole.DESCRIPTOR.file.CopyToProto(file)
    kept = [message for message in file.message_type if message.name != "Trajectory"]
    field = next(
        field
        for message in kept
        if message.name == "WeightedTrajectory"
        for field in message.field
        if field.name == "trajectory"
    )
    field.ClearField("type_name")
    field.type = field.TYPE_BYTES
    lean = descriptor_pb2.FileDescriptorProto(
        name=file.name, package=file.package, syntax=file.syntax, message_type=kept
    )
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(lean.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{file.package}.Submission"))


def _decode_error() -> type[Exception]:
    return import_module("google.protobuf.message").DecodeError  # type: ignore[no-any-return]


# --- read -------------------------------------------------------------------------------------------------------------


def unpack(data: bytes) -> tuple[dict[str, Any], list[str]]:
    """The fields of a submission from its bytes, and the modes that have other than 25 points or cannot be read.

    Raises:
        PredictionsError: if the bytes are truncated, a scene, or not protobuf.
        MissingExtraError: if protobuf is not installed.
    """
    message = _packed_submission()
    try:
        predictions = message.FromString(data).predictions
        if not any(prediction.scene_id for prediction in predictions):
            _require_no_scene(data)
    except _decode_error() as error:
        _require_no_scene(data)
        raise PredictionsError(
            f"expected one serialised Submission message, found {len(data):,} bytes of something else ({error}). "
            "The file is truncated or of another format: write or fetch it again."
        ) from None
    fields = _of_requests(predictions)
    modes = chain.from_iterable(prediction.weighted_trajectories for prediction in predictions)
    trajectories, weights, wrong = _modes(modes)
    owner = np.repeat(np.arange(len(predictions)), fields["counts"])
    found = {int(owner[mode]): text for mode, text in wrong.items()}

    def name(place: int) -> str:
        return request_name(predictions[place].scene_id, predictions[place].track_id)

    return fields | {"trajectories": trajectories, "weights": weights}, step_problems(found, name)


def _of_requests(predictions: Sequence[Any]) -> dict[str, Any]:
    """The fields of a submission that hold one value for each request."""
    return {
        "scene_ids": [prediction.scene_id for prediction in predictions],
        "track_ids": np.array([prediction.track_id for prediction in predictions], dtype=np.uint64),
        "uncertainty": np.array([prediction.uncertainty_measure for prediction in predictions], dtype=np.float64),
        "is_ood": np.array([prediction.is_ood for prediction in predictions], dtype=np.bool_),
        "counts": np.array([len(prediction.weighted_trajectories) for prediction in predictions], dtype=np.intp),
    }


def _require_no_scene(data: bytes) -> None:
    """Refuse a scene's file, whose bytes can be parsed as an empty submission."""
    if len(data) > protobuf.SCENE_BYTES:
        return
    try:
        scene = protobuf.parse_scene(data)
    except ShiftbenchError:
        return
    if scene.id and scene.past_vehicle_tracks:
        raise PredictionsError(
            f"expected one serialised Submission message, found a Scene ({shown(scene.id)}). Name a file of "
            "predictions; to score predictions on scenes, name their folder."
        )


def _modes(messages: Iterator[Any]) -> tuple[Floats, Floats, dict[int, str]]:
    """Positions [M, 25, 2], weights [M], and the problems of modes, whose positions are then 0."""
    positions: list[Floats] = [np.empty((0, FUTURE, 2))]
    weights: list[float] = []
    wrong: dict[int, str] = {}
    packed: list[bytes] = []
    place = 0

    def take() -> None:
        found, bad = _positions(packed)
        positions.append(found)
        wrong.update({place + where: text for where, text in bad.items()})

    for each in messages:
        packed.append(each.trajectory)
        weights.append(each.weight)
        if len(packed) == _BLOCK_MODES:  # bytes and arrays of all modes at once would need twice the memory
            take()
            place += len(packed)
            packed.clear()
    if packed:
        take()
    return np.concatenate(positions), np.array(weights, dtype=np.float64), wrong


def _positions(packed: Sequence[bytes]) -> tuple[Floats, dict[int, str]]:
    found = np.zeros((len(packed), FUTURE, 2))
    sizes = np.fromiter(map(len, packed), dtype=np.intp, count=len(packed))
    unread = np.ones(len(packed), dtype=np.bool_)
    for coordinates, layout in _LAYOUTS.items():
        rows = np.flatnonzero(sizes == FUTURE * layout.itemsize)
        joined = packed if len(rows) == len(packed) else [packed[row] for row in rows.tolist()]
        points = np.frombuffer(b"".join(joined), dtype=layout).reshape(len(rows), FUTURE)
        plain = _is_plain(points, coordinates)
        if not plain.all():
            rows, points = rows[plain], points[plain]
        for place, axis in enumerate("xy"):
            found[rows, :, place] = points[axis]
        unread[rows] = False
    wrong = {}
    for row in np.flatnonzero(unread).tolist():
        try:
            found[row] = _by_protobuf(packed[row])
        except ValueError as error:
            wrong[row] = str(error)
    return found, wrong


def _is_plain(points: npt.NDArray[Any], coordinates: str) -> Flags:
    """Flags [B] of trajectories with only points of this layout."""
    plain = np.ones(points.shape, dtype=np.bool_)
    for field, value in _tags(coordinates).items():
        plain &= points[field] == value
    return np.asarray(plain.all(axis=1))


def _by_protobuf(packed: bytes) -> Floats:
    try:
        points = protobuf.message("Trajectory").FromString(packed).points
    except _decode_error():
        raise ValueError("an invalid trajectory") from None
    if len(points) != FUTURE:
        raise ValueError(f"{len(points)}")
    return np.array([(point.x, point.y) for point in points])


# --- write ------------------------------------------------------------------------------------------------------------


def pack(requests: Sequence[tuple[str, int, float, bool]], counts: Any, trajectories: Floats, weights: Any) -> bytes:
    """The bytes of a submission: (scene, track, uncertainty, is_ood) of each request, and its modes as in `Submission`.

    The wire format holds weights and uncertainties as float32. Coordinates of exactly 0 are written out.

    Raises:
        PredictionsError: if it would be larger than the 2 GiB that protobuf allows a message, or an uncertainty is
            beyond float32.
        MissingExtraError: if protobuf is not installed.
    """
    size = trajectories.shape[0] * (FUTURE * _LAYOUTS["xy"].itemsize + 16)
    if size > protobuf.MESSAGE_BYTES:
        raise PredictionsError(
            f"expected at most {protobuf.MESSAGE_BYTES:,} bytes, the most protobuf allows, found about {size:,}. "
            "Write Parquet instead."
        )
    large = [request_name(scene, track) for scene, track, uncertainty, _ in requests if abs(uncertainty) > _LARGEST]
    if large:
        found = f"found {len(large):,} beyond it ({', '.join(large[:MOST_LISTED])})"
        raise PredictionsError(f"uncertainty: expected numbers that float32 can hold, {found}. Rescale them.")
    message = _packed_submission()()
    points = np.empty(trajectories.shape[:2], dtype=_LAYOUTS["xy"])
    for field, value in _tags("xy").items():
        points[field] = value
    points["x"], points["y"] = trajectories[..., 0], trajectories[..., 1]
    modes = zip(points, np.asarray(weights).tolist(), strict=True)
    for (scene, track, uncertainty, is_ood), count in zip(requests, np.asarray(counts).tolist(), strict=True):
        prediction = message.predictions.add(
            scene_id=scene, track_id=track, uncertainty_measure=uncertainty, is_ood=is_ood
        )
        for _ in range(count):
            trajectory, weight = next(modes)
            prediction.weighted_trajectories.add(trajectory=trajectory.tobytes(), weight=weight)
    return bytes(message.SerializeToString(deterministic=True))
