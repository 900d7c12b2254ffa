"""What was made of the ledger, kept until it changes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TypeVar, cast

T = TypeVar("T")


class Caches:
    """Values by key and version; of many keys the oldest are forgotten. Of several threads one makes a value."""

    def __init__(self, most: int = 64) -> None:
        self._most, self._lock = most, threading.Lock()
        self._kept: OrderedDict[Hashable, tuple[Hashable, object]] = OrderedDict()

    def get(self, key: Hashable, version: Hashable, make: Callable[[], T]) -> T:
        """The value of this version, made where it is not known."""
        with self._lock:
            held = self._kept.pop(key, None)
            if held is None or held[0] != version:
                held = (version, make())
            self._kept[key] = held
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return cast(T, held[1])
