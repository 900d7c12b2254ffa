"""Receipts and checkpoints of the log, as the pages and the API hand them out."""

from __future__ import annotations

import threading
from functools import cached_property
from pathlib import Path
from typing import Any

from shiftbench.challenge import receipts
from shiftbench.challenge.merkle import Tree
from shiftbench.challenge.receipts import Key
from shiftbench.challenge.store.ledger import Ledger
from shiftbench.challenge.store.records import Refused

BATCH = 10_000


class Proofs:
    """The Merkle tree of a server's log, which grows with it, and the key that signs."""

    def __init__(self, state: Path, challenge: str, ledger: Ledger) -> None:
        self._state, self._challenge, self._ledger = state, challenge, ledger
        self._tree, self._lock = Tree(), threading.Lock()

    @cached_property
    def key(self) -> Key:
        """The server's key; made, where there is none."""
        return Key.of(self._state)

    def _grown(self) -> Tree:
        while entries := self._ledger.log(len(self._tree), BATCH):
            for entry in entries:
                self._tree.append(entry.encode())
        return self._tree

    def receipt(self, number: int) -> dict[str, Any]:
        """The signed receipt of an entry."""
        with self._lock:
            entry = self._ledger.log(number, 1)[0]
            return receipts.receipt(self.key, self._challenge, self._grown(), number, entry)

    def checkpoint(self, at: int) -> dict[str, Any]:
        """What the log is now, signed."""
        with self._lock:
            return receipts.checkpoint(self.key, self._challenge, self._grown(), at)

    def growth(self, first: int) -> dict[str, Any]:
        """The proof that the log of `first` entries is the beginning of what it is now."""
        with self._lock:
            tree = self._grown()
            if not 0 <= first <= len(tree):
                raise Refused(f"expected a size of the log up to {len(tree):,}, found {first}.", status=422)
            return receipts.growth(self.key, self._challenge, tree, first)
