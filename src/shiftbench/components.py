"""Connected components of masks: their labels and sizes, and which ones of two masks overlap by how much."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shiftbench.check import Flags, Vector
from shiftbench.errors import MissingExtraError, SettingsError

MANY = 1 / 16  # of all voxels, above which it is faster to label them all
SMALL_MM3 = 9.0  # components of this volume or less are too small to count

Labels = npt.NDArray[np.int32]
Index = npt.NDArray[np.int64]

# Axes of a mask → connectivities, the number of neighbours of a voxel (or pixel) → how many axes lead to them at once.
NEIGHBOURS = {2: {4: 1, 8: 2}, 3: {6: 1, 18: 2, 26: 3}}


class Pairs(NamedTuple):
    """The P pairs of a component of one mask and one of another that share a voxel.

    first, other: [P] labels from 1, ascending by `first`, then by `other`.
    shared: [P], how many voxels they share. iou: [P], intersection over union.
    """

    first: Index
    other: Index
    shared: Index
    iou: Vector


def scipy(part: str) -> Any:
    """A module of scipy, such as "ndimage"; MissingExtraError if scipy is not installed."""
    try:
        return importlib.import_module(f"scipy.{part}")
    except ImportError as error:
        raise MissingExtraError(
            f"masks: expected scipy, found: {error}. Install it: pip install 'shiftbench[lesions]'"
        ) from None


def components(mask: Flags, connectivity: int = 6) -> tuple[Labels, int]:
    """Connected components of a checked mask: their labels in its shape, 1 … n by their first voxels, 0 elsewhere; n.

    connectivity: neighbours of a voxel, 6, 18 or 26; of a pixel of an image 4 or 8 (6 and 18 stand for these).

    Raises:
        SettingsError: another connectivity, or a mask of other than two or three axes.
        MissingExtraError: if scipy is not installed.
    """
    axes = rank(mask.ndim, connectivity)
    ndimage = scipy("ndimage")
    labels: Labels = np.zeros(mask.shape, np.int32)
    box = bounding_box(mask)
    structure = ndimage.generate_binary_structure(mask.ndim, axes)
    return labels, int(ndimage.label(mask[box], structure, output=labels[box])) if mask[box].size else 0


def rank(axes: int, connectivity: Any) -> int:
    """The number of axes along which neighbours may differ in a mask; SettingsError for other connectivities."""
    known = NEIGHBOURS.get(axes)
    if known is None:
        raise SettingsError(f"mask: expected an image or a volume, of 2 or 3 axes, found {axes}.")
    number = int(connectivity) if isinstance(connectivity, (int, np.integer)) else -1
    ranks = known if number in known else NEIGHBOURS[3]
    if number not in ranks or ranks[number] > axes:
        raise SettingsError(f"connectivity: expected one of {', '.join(map(str, known))}, found {connectivity!r}.")
    return ranks[number]


def large_components(mask: Flags, *, larger_than: int = 9, connectivity: int = 6) -> tuple[Labels, int]:
    """As `components`, without those of `larger_than` voxels or fewer."""
    labels, number = components(mask, connectivity)
    if not number:
        return labels, 0
    places = np.flatnonzero(mask)  # few voxels of many
    flat = labels.reshape(-1)
    kept = np.bincount(flat[places], minlength=number + 1)[1:] > larger_than
    if kept.all():
        return labels, number
    names = np.zeros(number + 1, np.int32)
    names[1:][kept] = np.arange(1, np.count_nonzero(kept) + 1)
    flat[places] = names[flat[places]]
    return labels, int(np.count_nonzero(kept))


def keep_large_components(mask: Flags, *, larger_than: int = 9, connectivity: int = 6) -> Flags:
    """A mask without its components of `larger_than` voxels or fewer; arguments and errors as `components`.

    Source: the published code of Shifts 2.0 (Malinin et al. 2022), with 9 voxels and 6 neighbours.
    """
    box, found = bounding_box(mask), np.zeros_like(mask)
    found[box] = large_components(mask[box], larger_than=larger_than, connectivity=connectivity)[0] > 0
    return found


def without_small(mask: Flags, spacing: Any, *, small_mm3: float = SMALL_MM3) -> Flags:
    """A mask [X, Y, Z] without its components of `small_mm3` or less, at 6 neighbours; spacing as `small_voxels`."""
    return keep_large_components(mask, larger_than=small_voxels(spacing, small_mm3))


def small_voxels(spacing: Any, small_mm3: float = SMALL_MM3) -> int:
    """The number of voxels that have at most this volume. spacing: the edges of a voxel [3] in mm.

    9 mm³ are the 9 voxels of the published code, whose voxels are of 1 mm.
    """
    return int(small_mm3 / float(np.prod(spacing)) + 1e-6)


def large_levels(levels: Index, *, larger_than: int) -> Index:
    """At how many levels each voxel is in a component of more than `larger_than` voxels, at 6 neighbours.

    Equal to labelling the mask of each level, but only voxels of masks are looked at where they are few. As levels
    rise, components only shrink and part, so what has become too small remains so.

    Args:
        levels: [X, Y, Z], whole numbers: a voxel is in the masks of the levels from 1 to its own.
    """
    graphs, sparse = scipy("sparse.csgraph"), scipy("sparse")
    found, kept, done, top = np.zeros_like(levels), levels > 0, 0, int(levels.max(initial=0))
    while done < top and np.count_nonzero(kept) > MANY * kept.size:
        done += 1
        kept = keep_large_components(kept & (levels >= done), larger_than=larger_than)
        found[kept] = done
    (first, other), places = neighbours(kept), np.flatnonzero(kept)
    own = levels.reshape(-1)[places]
    for level in range(done + 1, top + 1):
        inside = own >= level
        joined, names = inside[first] & inside[other], np.cumsum(inside, dtype=np.int32) - 1
        first, other, places, own = names[first[joined]], names[other[joined]], places[inside], own[inside]
        graph = sparse.coo_array((np.ones(len(first), np.bool_), (first, other)), shape=(len(places),) * 2)
        label = graphs.connected_components(graph, directed=False)[1] if len(places) else places
        large = np.bincount(label)[label] > larger_than
        found.reshape(-1)[places[large]] = level
        own = np.where(large, own, 0)
    return found


def neighbours(mask: Flags) -> tuple[Labels, Labels]:
    """The pairs of voxels of a mask [X, Y, Z] that share a face, as numbers of voxels of the mask in their order."""
    numbers = np.cumsum(mask, dtype=np.int32).reshape(mask.shape) - 1
    pairs_of = []
    for axis in range(mask.ndim):
        low, high = (np.moveaxis(array, axis, 0) for array in (mask, numbers))
        both = low[:-1] & low[1:]
        pairs_of.append((high[:-1][both], high[1:][both]))
    first, other = (np.concatenate(each) for each in zip(*pairs_of, strict=True))
    return first, other


def sizes_of(labels: Labels, number: int) -> Index:
    """The number of voxels [n] of the components 1 … n."""
    return np.bincount(labels[labels > 0], minlength=number + 1)[1:]


def pairs(first: Labels, other: Labels) -> Pairs:
    """Components of two masks that share a voxel, from one histogram of the pairs of labels of all voxels."""
    mine, theirs = bounding_box(first > 0), bounding_box(other > 0)
    both = tuple(
        slice(max(a.start, b.start), max(a.start, b.start, min(a.stop, b.stop)))
        for a, b in zip(mine, theirs, strict=True)
    )
    shared = (first[both] > 0) & (other[both] > 0)
    numbers = int(first[mine].max(initial=0)), int(other[theirs].max(initial=0))
    codes = first[both][shared].astype(np.int64) * (numbers[1] + 1) + other[both][shared]
    found, common = np.unique(codes, return_counts=True)
    one, two = np.divmod(found, numbers[1] + 1)
    sizes = sizes_of(first[mine], numbers[0])[one - 1] + sizes_of(other[theirs], numbers[1])[two - 1]
    return Pairs(one, two, common, np.asarray(common / (sizes - common)))


def overlap(mask: Flags, other: Flags) -> float:
    """The IoU of two whole masks of one shape: intersection over union, 1 if both are empty."""
    union = int(np.count_nonzero(mask | other))
    return int(np.count_nonzero(mask & other)) / union if union else 1.0


def bounding_box(mask: Flags) -> tuple[slice, ...]:
    """The smallest box that holds all that is true, as slices; empty slices if nothing is."""
    box = [slice(None)] * mask.ndim
    for axis in range(mask.ndim):
        used = np.flatnonzero(mask[tuple(box)].any(axis=tuple(other for other in range(mask.ndim) if other != axis)))
        if not len(used):
            return (slice(0, 0),) * mask.ndim
        box[axis] = slice(int(used[0]), int(used[-1]) + 1)
    return tuple(box)
