"""Feature maps packed without loss: for each group of planes a palette of pixels, and the index of each pixel in it.

A map is mostly zeros, and all pixels of a vehicle, a lane's segment or a polygon are alike, so one byte per pixel and
group is enough, which compresses well. Bits are compared, not numbers, so −0.0 and NaN are restored.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shiftbench.errors import ShiftbenchError
from shiftbench.tracks.motion.maps.map_settings import MapSettings
from shiftbench.tracks.motion.prepared.shards import inflated

Map = npt.NDArray[np.float32]
Words = npt.NDArray[np.uint32]

# Planes that change in the same pixels share a palette; the names are those of the channels without their group.
TOGETHER = {
    "vehicles": (("occupancy", "velocity_x", "velocity_y", "acceleration_x", "acceleration_y", "yaw"),),
    "pedestrians": (("occupancy", "velocity_x", "velocity_y"),),
    "road_graph": (
        ("crosswalk_occupancy", "crosswalk_availability"),
        ("lane_availability", "lane_direction", "lane_occupancy", "lane_priority", "lane_speed_limit"),
        ("road_polygons",),
    ),
}
LEVEL = 6
DAMAGED = "Its shard is damaged: prepare the data again."


class MapCodec:
    """Packs maps float32 [C, rows, columns] of given settings, and unpacks them bit for bit.

    Attributes:
        shape: (C, rows, columns).
        groups: the planes of each group, ascending, by their indices among the C.
    """

    def __init__(self, settings: MapSettings) -> None:
        self.settings = settings
        self.shape = (settings.planes, *settings.size)
        self.groups = _groups(settings)
        self._header = struct.Struct(f"<{len(self.groups)}I")

    def packed(self, planes: Map) -> bytes:
        """The bytes of a map [C, rows, columns]."""
        words = np.ascontiguousarray(planes).view(np.uint32).reshape(self.shape[0], -1)
        counts, palettes, labels = [], [], []
        for group in self.groups:
            palette, label = _indexed(words[group])
            counts.append(palette.shape[1])
            palettes.append(palette.astype("<u4").tobytes())
            labels.append(_label_bytes(label, palette.shape[1]))
        return self._header.pack(*counts) + zlib.compress(b"".join(palettes + labels), LEVEL)

    def unpack(self, data: bytes, out: Map) -> None:
        """Write the map of some bytes into `out`, zeros [C, rows, columns].

        Raises:
            ShiftbenchError: if the bytes are not a map with these settings.
        """
        pixels = self.shape[1] * self.shape[2]
        try:
            counts = self._header.unpack_from(data)
            sizes = [4 * count * len(group) for count, group in zip(counts, self.groups, strict=True)]
            sizes += [pixels * _label_width(count) for count in counts]
            body = inflated(data[self._header.size :], sum(sizes))
        except (struct.error, zlib.error, ValueError) as error:
            raise ShiftbenchError(f"map: expected a packed map {self.shape}, found: {error}. {DAMAGED}") from None
        ends = np.cumsum(sizes).tolist()
        parts = [body[end - size : end] for size, end in zip(sizes, ends, strict=True)]
        words = out.view(np.uint32).reshape(self.shape[0], -1)
        for number, (group, count) in enumerate(zip(self.groups, counts, strict=True)):
            if count:
                palette = np.frombuffer(parts[number], "<u4").reshape(len(group), count)
                _paint(words, group, palette, _labels(parts[len(counts) + number], count, pixels))


def _groups(settings: MapSettings) -> tuple[list[int], ...]:
    """Indices of planes that share a palette, in the order of `feature_map`'s planes."""
    groups = []
    at = 0
    for kind, together in TOGETHER.items():
        names = settings.names[kind]
        for _ in settings.road_history if kind == "road_graph" else settings.history:
            chosen = [[at + place for place, name in enumerate(names) if name in some] for some in together]
            groups += [places for places in chosen if places]
            at += len(names)
    return tuple(groups)


def _indexed(words: Words) -> tuple[Words, npt.NDArray[np.uint32]]:
    """The U different nonzero pixels [G, U], and the label of each pixel: 0 for zeros, else 1 … U."""
    label: npt.NDArray[np.uint32] = np.zeros(words.shape[1], np.uint32)
    covered = np.flatnonzero(np.bitwise_or.reduce(words, axis=0) != 0)
    if not len(covered):
        return words[:, :0], label
    order = np.lexsort(words[::-1, covered])
    ordered = words[:, covered[order]]
    first = np.append(True, (ordered[:, 1:] != ordered[:, :-1]).any(axis=0))
    label[covered[order]] = np.cumsum(first)
    return ordered[:, first], label


def _label_width(count: int) -> int:
    """Bytes of a pixel's label for a number of different nonzero pixels."""
    return 0 if count == 0 else 1 if count < 2**8 else 2 if count < 2**16 else 4


def _label_bytes(label: npt.NDArray[np.uint32], count: int) -> bytes:
    """The low bytes of all labels, then the next ones, which compresses better."""
    width = _label_width(count)
    if not width:
        return b""
    return label.astype(f"<u{width}").view(np.uint8).reshape(-1, width).T.tobytes()


def _labels(data: bytes, count: int, pixels: int) -> npt.NDArray[np.unsignedinteger]:
    width = _label_width(count)
    planes = np.frombuffer(data, np.uint8).reshape(width, pixels)
    labels: npt.NDArray[np.unsignedinteger]
    labels = planes[0] if width == 1 else np.ascontiguousarray(planes.T).view(f"<u{width}").reshape(-1)
    return labels


def _paint(words: Words, group: Sequence[int], palette: Words, label: npt.NDArray[np.unsignedinteger]) -> None:
    covered = np.flatnonzero(label != 0)  # on flags: much faster than on numbers
    number = label[covered].astype(np.intp) - 1
    if int(number.max(initial=0)) >= palette.shape[1]:
        raise ShiftbenchError(
            f"map: expected labels up to {palette.shape[1]}, found {int(number.max()) + 1}. {DAMAGED}"
        )
    for place, values in zip(group, palette, strict=True):
        words[place][covered] = values[number]
