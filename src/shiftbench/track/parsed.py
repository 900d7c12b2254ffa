"""Arrays that strangers have made: texts go in and out as bytes, and each array is checked before it is used."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.errors import PredictionsError
from shiftbench.track.contract import Arrays

BYTES, OFFSETS = "_utf8", "_offsets"  # what the arrays of texts are called, after their name


class PartlyRead(PredictionsError):
    """Problems of a file, and `arrays` of what could be read all the same, in which more problems can be found."""

    def __init__(self, *problems: str, arrays: Arrays) -> None:
        super().__init__(*problems)
        self.arrays = arrays


def pack(name: str, texts: Sequence[str]) -> dict[str, npt.NDArray[np.generic]]:
    """Texts [N] as their UTF-8 bytes, uint8, and where each begins and the last one ends, int64 [N + 1].

    Raises:
        PredictionsError: for half of a surrogate pair.
    """
    try:
        data = [text.encode() for text in texts]
    except UnicodeEncodeError as error:
        raise PredictionsError(f"{name}: expected Unicode, found {error.object[:40]!a}. Decode it again.") from None
    ends = np.cumsum([0, *map(len, data)], dtype=np.int64)
    return {name + BYTES: np.frombuffer(b"".join(data), np.uint8), name + OFFSETS: ends}


def unpack(arrays: Arrays, name: str) -> list[str]:
    """The texts of a name.

    Raises:
        PredictionsError: if their arrays are missing, or are no texts.
    """
    data, ends = array(arrays, name + BYTES, "u", 1), array(arrays, name + OFFSETS, "i", 1)
    if data.itemsize != 1 or not ends.size or ends[0] != 0 or ends[-1] != data.size or (np.diff(ends) < 0).any():
        raise PredictionsError(f"{name}: expected bytes and where texts begin, found others. Upload the file again.")
    held, places = data.tobytes(), ends.tolist()
    try:
        return [held[start:end].decode() for start, end in itertools.pairwise(places)]
    except UnicodeDecodeError:
        raise PredictionsError(f"{name}: expected UTF-8, found other bytes. Upload the file again.") from None


def array(arrays: Arrays, name: str, kinds: str, ndim: int) -> npt.NDArray[Any]:
    """The array of a name, of one of these kinds of numbers (NumPy's letters) and so many axes.

    Raises:
        PredictionsError: if there is none, or another one.
    """
    found = arrays.get(name)
    if found is None or found.dtype.kind not in kinds or found.ndim != ndim:
        actual = "none" if found is None else f"{found.dtype} {list(found.shape)}"
        raise PredictionsError(
            f"{name}: expected an array of {ndim} axes of kind {kinds!r}, found {actual}. Upload it again."
        )
    return found


def one(arrays: Arrays, name: str, kinds: str) -> Any:
    """The only number of the array of a name; raises as `array` does."""
    found = array(arrays, name, kinds, 1)
    if len(found) != 1:
        raise PredictionsError(f"{name}: expected one number, found {len(found):,}. Upload it again.")
    return found[0]
