"""Whether functions of a track, which others have written, take what they will be called with."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any


def mismatch(
    part: str, function: Callable[..., Any], positional: Sequence[str], named: Sequence[str] = ()
) -> Iterator[str]:
    """Why a function cannot be called with these positional arguments and these keywords."""
    signature = inspect.signature(function)
    try:
        signature.bind(*positional, **dict.fromkeys(named))
    except TypeError as error:
        wanted = ", ".join([*positional, *(f"{name}=…" for name in named)])
        yield f"{part}: expected a function that can be called with ({wanted}), found one of {signature}: {error}."


def refused(function: Callable[..., Any], names: Sequence[str]) -> list[str]:
    """The names that a function does not take as keyword arguments."""
    taken = inspect.signature(function).parameters
    if any(each.kind is each.VAR_KEYWORD for each in taken.values()):
        return []
    return [name for name in names if name not in taken or taken[name].kind is taken[name].POSITIONAL_ONLY]
