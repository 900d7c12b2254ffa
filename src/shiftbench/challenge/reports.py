"""Where reports lie in the state of a server: what tells of single records is apart from what does not."""

from __future__ import annotations


def name(of: str, *, records: bool) -> str:
    """The name of the folder of a report on scores (`of`).

    records: whether labels are released, so that it tells of single records. Earlier versions wrote such reports before
    the release as well, into folders called as `of` alone: these are never read again.
    """
    return f"{of}.records" if records else f"{of}.totals"
