"""All that a server remembers: accounts, teams, uploads, submissions, scores, and what was done by whom."""

from __future__ import annotations

from shiftbench.challenge.store.accounts import Accounts
from shiftbench.challenge.store.arrivals import Arrivals
from shiftbench.challenge.store.copies import Copies
from shiftbench.challenge.store.ends import Ends
from shiftbench.challenge.store.tries import Tries
from shiftbench.challenge.store.work import Work


class Ledger(Accounts, Tries, Arrivals, Work, Ends, Copies):
    """The database of a server. Every method is one transaction; threads, processes and machines may share it."""
