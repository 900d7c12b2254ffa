"""Checkpoints for resuming an interrupted training; damaged and foreign files are detected."""

from __future__ import annotations

import hashlib
import io
import pickle
import struct
import time
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import nn

from shiftbench.errors import SettingsError, ShiftbenchWarning
from shiftbench.io import files

State = dict[str, Any]
Network = TypeVar("Network", bound=nn.Module)

HASH_BYTES = 32
# Raised by torch and its unpickler for content that `pack` did not write, even if its hash is correct.
UNREADABLE = (
    RuntimeError, ValueError, TypeError, KeyError, AttributeError, IndexError, EOFError, AssertionError,
    pickle.UnpicklingError, zipfile.BadZipFile, struct.error,
)  # fmt: skip


def pack(state: Mapping[str, Any]) -> bytes:
    """Tensors and plain values as bytes, preceded by their SHA-256; equal states give equal bytes."""
    buffer = io.BytesIO()
    torch.save(dict(state), buffer)
    content = buffer.getvalue()
    return hashlib.sha256(content).digest() + content


def unpack(packed: bytes) -> State | None:
    """The packed state, on the CPU; None if the bytes have changed. Executes no code from the file."""
    content = packed[HASH_BYTES:]
    if hashlib.sha256(content).digest() != packed[:HASH_BYTES]:
        return None
    try:
        state = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except UNREADABLE:
        return None
    return state if isinstance(state, dict) else None


def read_weights(path: Path) -> State:
    """The weights in a file that `pack` made.

    Raises:
        SettingsError: if it holds something else.
    """
    if (weights := unpack(path.read_bytes())) is None:
        raise SettingsError(f"{path}: expected the weights of a network, found something else. Fit it again.")
    return weights


def restore(net: Network, weights: Mapping[str, Any], *, where: Path) -> Network:
    """Give a network its weights, and return it in evaluation mode; `where` names them in a message.

    Raises:
        SettingsError: if they are those of another network, as of another version of this package.
    """
    try:
        net.load_state_dict(weights)
    except RuntimeError as error:
        found = " ".join(str(error).split())
        raise SettingsError(
            f"{where}: expected weights of the network that this version makes, found others ({found}). Fit it again."
        ) from None
    return net.eval()


@dataclass
class Checkpoint:
    """The file of a training's state, and the interval between writes.

    Attributes:
        path: of the file, which is replaced atomically.
        fit: an identifier of this training, for instance a hash of its data and settings.
        every_s: seconds between two writes, so that they cost little for any duration of a step. The times of writes
            have no effect on the result.
    """

    path: Path
    fit: str
    every_s: float = 60.0
    _written: float = field(default_factory=time.monotonic, init=False, repr=False)

    @property
    def due(self) -> bool:
        """Whether it is time to write again."""
        return time.monotonic() - self._written >= self.every_s

    def save(self, state: Mapping[str, Any]) -> None:
        """Write the state, whole or not at all."""
        with files.replacing(self.path) as temporary:
            temporary.write_bytes(pack({"fit": self.fit, "state": dict(state)}))
        self._written = time.monotonic()

    def load(self) -> State | None:
        """The stored state; None if there is none, or (with a warning) a damaged one.

        Raises:
            SettingsError: if the file belongs to another training.
        """
        if not self.path.exists():
            return None
        whole = unpack(self.path.read_bytes()) or {}
        fit, state = whole.get("fit"), whole.get("state")
        if not isinstance(fit, str) or not isinstance(state, dict):
            warnings.warn(
                ShiftbenchWarning(
                    f"{self.path}: expected the checkpoint as it was written, found a damaged file. "
                    "The training begins again."
                ),
                stacklevel=2,
            )
            return None
        if fit != self.fit:
            raise SettingsError(
                f"{self.path}: expected a checkpoint of this training, found one of another. "
                "Remove it, or choose another path."
            )
        return state

    @contextmanager
    def restoring(self) -> Iterator[None]:
        """Convert errors in this block from using the loaded state to an error that names the file.

        Raises:
            SettingsError: if the state does not fit this training, although its hash and its identifier are correct.
        """
        try:
            yield
        except UNREADABLE as error:
            raise SettingsError(
                f"{self.path}: expected the state of this training, found another ({type(error).__name__}: "
                f"{' '.join(str(error).split())[:300]}). Remove it: the training then begins again."
            ) from None

    def remove(self) -> None:
        """Delete the file, if there is one: the training is done."""
        self.path.unlink(missing_ok=True)
