"""Sets of records for resampling: each system on the records it answers, each pair on those that both answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from shiftbench.check import Flags


@dataclass(frozen=True)
class Shared:
    """Records that several systems answer.

    Attributes:
        member: [N] which records of the split these are.
        scored: places of the systems that answer exactly these records.
        pairs: places (a, b), a < b, of systems that have exactly these records in common.
    """

    member: Flags
    scored: list[int] = field(default_factory=list)
    pairs: list[tuple[int, int]] = field(default_factory=list)

    @property
    def systems(self) -> list[int]:
        """The indices of all systems that are resampled on these records, ascending."""
        return sorted({*self.scored, *(place for pair in self.pairs for place in pair)})


def shared_records(answered: Sequence[Flags | None], records: int) -> list[Shared]:
    """The sets of records on which systems are scored or compared; one where all systems answer all N records.

    Args:
        answered: [N] each, which records a system answers; None for all of them. records: N.
    """
    sets: dict[bytes, Shared] = {}

    def found(member: Flags) -> Shared:
        return sets.setdefault(np.packbits(member).tobytes(), Shared(member))

    everything = np.ones(records, dtype=np.bool_)
    own = [found(everything if flags is None else flags) for flags in answered]
    for place, shared in enumerate(own):
        if shared.member.any():
            shared.scored.append(place)
    for a, b in combinations(range(len(own)), 2):
        both = own[a] if own[a] is own[b] else found(own[a].member & own[b].member)
        if both.member.any():
            both.pairs.append((a, b))
    return [shared for shared in sets.values() if shared.systems]
