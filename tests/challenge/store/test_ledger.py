"""Opening a ledger in both databases."""

from __future__ import annotations

from shiftbench.challenge.store.ledger import Ledger


def test_what_one_ledger_writes_another_reads(databases):
    url = databases.url()
    anna = Ledger(url, clock=lambda: 5).sign_up(" Anna@Example.org ", "hash")
    other = Ledger(url, clock=lambda: 4)
    assert other.user(anna.id) == anna
    assert (anna.email, other.now()) == ("anna@example.org", 5)
