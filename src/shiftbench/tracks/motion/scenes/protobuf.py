"""The official protobuf messages, from our own .proto files: read, written and made.

The classes come from a serialised descriptor set in a private pool, not from generated code, so that one file serves
every protobuf runtime from 4.25 on, and there are no conflicts with other packages that define the same messages.
The set is made from the .proto files by `tools/motion_descriptors.py`. Unknown fields are kept in a parsed message and
written back with it, as in protobuf.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module, resources
from pathlib import Path
from types import ModuleType
from typing import Any

from shiftbench import argument
from shiftbench.errors import MissingExtraError, ShiftbenchError

PACKAGE = "neurips_dataset"
DESCRIPTORS = "motion.descriptors"
MESSAGE_BYTES = 2**31 - 1  # the largest message that protobuf reads
SCENE_BYTES = 2**24  # 16 MiB: genuine scenes have 0.03 to 0.2 MB


def _library(name: str) -> ModuleType:
    try:
        return import_module(f"google.protobuf.{name}")
    except ImportError as error:
        raise MissingExtraError(
            f"track motion: expected protobuf, found: {error}. Install it: pip install 'shiftbench[motion]'"
        ) from None


@cache
def _pool() -> Any:
    descriptors = _library("descriptor_pb2").FileDescriptorSet.FromString(
        resources.files(__package__).joinpath("proto", DESCRIPTORS).read_bytes()
    )
    pool = _library("descriptor_pool").DescriptorPool()
    for file in descriptors.file:
        pool.AddSerializedFile(file.SerializeToString())
    return pool


@cache
def message(name: str) -> Any:
    """The class of a message (`Scene`, `Submission`, …); call it with fields to make an instance.

    Raises:
        MissingExtraError: if protobuf is not installed.
    """
    return _library("message_factory").GetMessageClass(_pool().FindMessageTypeByName(f"{PACKAGE}.{name}"))


def _parsed(name: str, data: bytes, source: str) -> Any:
    try:
        return message(name).FromString(data)
    except (_library("message").DecodeError, UnicodeDecodeError) as error:  # the latter without the C library
        raise ShiftbenchError(
            f"{source}: expected one serialised {name} message, found {len(data):,} bytes of something else ({error}). "
            "The file is truncated or of another format: fetch or write it again."
        ) from None


def parse_scene(data: bytes, *, source: str = "scene") -> Any:
    """A `Scene` message from its bytes; `source` names them in errors.

    Raises:
        ShiftbenchError: if the bytes are truncated or not protobuf.
        MissingExtraError: if protobuf is not installed.
    """
    return _parsed("Scene", data, source)


def parse_submission(data: bytes, *, source: str = "submission") -> Any:
    """A `Submission` message from its bytes; `source` names them in errors.

    Raises:
        ShiftbenchError: if the bytes are truncated or not protobuf.
        MissingExtraError: if protobuf is not installed.
    """
    return _parsed("Submission", data, source)


def path_of(path: Any) -> Path:
    """A path from an argument.

    Raises:
        ShiftbenchError: if it cannot be parsed.
    """
    return argument.path(path, error=ShiftbenchError)


def read_bytes(path: str | os.PathLike[str], *, limit: int = MESSAGE_BYTES, source: str | None = None) -> bytes:
    """The bytes of a file, unless it is larger than `limit`, in which case nothing is read.

    source: its name in errors; its path if None.

    Raises:
        ShiftbenchError: if the file is too large, empty, or cannot be read.
    """
    file = path_of(path)
    name = source or str(file)
    try:
        size = file.stat().st_size
        if not file.is_file():
            raise ShiftbenchError(f"{name}: expected a file, found a folder or a device. Check the path.")
        if size > limit:
            raise ShiftbenchError(
                f"{name}: expected at most {limit:,} bytes, found {size:,}. One file holds one message: "
                "is this an archive of many?"
            )
        data = file.read_bytes()
    except OSError as error:
        raise ShiftbenchError(f"{name}: expected a file, found: {error.strerror}. Check the path.") from None
    except ValueError:  # a zero byte
        raise ShiftbenchError(f"{name!r}: expected a path, found one that no file can have. Check it.") from None
    if not data:
        raise ShiftbenchError(f"{name}: expected a serialised message, found an empty file. Fetch or write it again.")
    return data
