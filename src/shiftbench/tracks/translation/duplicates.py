"""Duplicates among many pairs in bounded memory: hashes of 8 bytes in sorted runs, compared share by share.

Among 62 million pairs two different ones have the same hash, so that one is lost, with a probability of 0.0001.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

SHARE = 2**22  # hashes that are compared at a time, about
WIDTH = 64  # bits of a hash
RUN = np.dtype([("hash", "<u8"), ("place", "<u4")])
Run = npt.NDArray[np.void]
"""The hashes of a block in ascending order with their places in it, those of equal ones ascending."""


def run(sources: Sequence[str], targets: Sequence[str]) -> Run:
    """The sorted run of a block."""
    digests = b"".join(
        blake2b(f"{source}\n{target}".encode(), digest_size=WIDTH // 8).digest()
        for source, target in zip(sources, targets, strict=True)
    )
    hashes = np.frombuffer(digests, "<u8")
    found = np.empty(len(hashes), RUN)
    found["place"] = np.argsort(hashes, kind="stable")
    found["hash"] = hashes[found["place"]]
    return found


def shares(pairs: int) -> int:
    """Into how many shares by hash, a power of 2, so many pairs are divided."""
    return 1 << max(0, (pairs - 1) // SHARE).bit_length()


def copies(runs: Iterable[Run], starts: Sequence[int], share: int, of: int) -> npt.NDArray[np.int64]:
    """The positions, ascending over all blocks, of the pairs of a share that are there before.

    runs: of all blocks in order, which may be mapped from files. starts: the position of each block's first pair.
    """
    hashes, places = [np.empty(0, "<u8")], [np.empty(0, np.int64)]
    for own, start in zip(runs, starts, strict=True):
        part = own[_bounds(own["hash"], share, of)]
        hashes.append(part["hash"])
        places.append(part["place"].astype(np.int64) + start)
    joined, position = np.concatenate(hashes), np.concatenate(places)
    order = np.argsort(joined, kind="stable")
    joined = joined[order]
    return np.sort(position[order[1:][joined[1:] == joined[:-1]]])


def _bounds(hashes: npt.NDArray[np.uint64], share: int, of: int) -> slice:
    """Where the hashes of a share stand in a sorted run."""
    size = 2**WIDTH // of
    first = int(np.searchsorted(hashes, np.uint64(share * size)))
    last = len(hashes) if share + 1 == of else int(np.searchsorted(hashes, np.uint64((share + 1) * size)))
    return slice(first, last)
