"""NPZ archives of NumPy: arrays of equal length as columns. Nothing is unpickled; sizes are checked in advance."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench.errors import TableError
from shiftbench.io.files import is_unicode
from shiftbench.io.tables import columns, dtypes, source


@dataclass(frozen=True)
class _Header:
    """The header of an array, read before unpacking."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    size: int  # bytes of the header


def read_npz(file: Path, names: Sequence[str] | None) -> pl.DataFrame:
    """The arrays [N] in an archive, or the named ones, as columns.

    Raises:
        TableError: naming every array that is not numbers, booleans or text with one dimension and the common length.
    """
    with zipfile.ZipFile(file) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        if len(members) < len(archive.infolist()):
            raise TableError(f"{file}: expected each array name once, found some twice. Write the file again.")
        columns.require_plain(list(members), where=str(file))
        columns.require_names(list(members), names or (), where=str(file))
        chosen = {name: info for name, info in members.items() if names is None or name in names}
        _check(file, {name: _header(archive, info) for name, info in chosen.items()}, chosen)
        arrays = {name: _array(archive, info) for name, info in chosen.items()}
    if odd := [name for name, array in arrays.items() if array.dtype.kind == "U" and not all(map(is_unicode, array))]:
        raise TableError(
            *(
                f"{file}: array {name!r}: expected text in Unicode, found half of a character. Correct it."
                for name in odd
            )
        )
    return dtypes.with_times(pl.DataFrame(arrays))


def _header(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> _Header:
    with archive.open(info) as member:
        version = np.lib.format.read_magic(member)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"array {info.filename!r} has .npy version {version}")
        first = version == (1, 0)
        read = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(member)
        return _Header(shape, dtype, member.tell())


def _check(file: Path, headers: dict[str, _Header], members: dict[str, zipfile.ZipInfo]) -> None:
    problems = []
    for name, header in headers.items():
        if fault := _fault(header, members[name].file_size):
            problems.append(f"{file}: array {name!r}: expected {fault}.")
    lengths = {name: header.shape[0] for name, header in headers.items() if len(header.shape) == 1}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{name} has {length:,}" for name, length in lengths.items())
        problems.append(f"{file}: expected arrays of one length, found: {found}.")
    if (size := sum(info.file_size for info in members.values())) > (limit := source.unpacked_limit()):
        problems.append(source.too_large(file, f"{size:,}", limit))
    if problems:
        raise TableError(*problems)


def _fault(header: _Header, unpacked: int) -> str:
    shape, dtype = header.shape, header.dtype
    if dtype.kind not in "biufU" or (dtype.itemsize > 8 and dtype.kind != "U"):
        found, how = str(dtype), "Convert it"
        if dtype.hasobject:
            found, how = "Python objects (dtype object)", "Save it with .astype(float) or .astype(str)"
        return f"numbers, booleans or text, found {found}. {how}"
    if len(shape) != 1:
        return f"one dimension [N], found shape {shape}. Split it"
    if header.size + shape[0] * dtype.itemsize != unpacked:
        return "the size given in its header, found another. Write it again"
    return ""


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> npt.NDArray[Any]:
    with archive.open(info) as member:
        array: npt.NDArray[Any] = np.lib.format.read_array(member, allow_pickle=False)
    return array.astype(array.dtype.newbyteorder("="), copy=False)
