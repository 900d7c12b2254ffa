"""Fetches official archives: asks for the licence, downloads resumably, verifies hashes, then moves into place.

Nothing is fetched on import, and no file of the user's is ever deleted.
"""

from shiftbench.errors import FetchError
from shiftbench.io.fetch.archive import Archive, Licence, share_alike
from shiftbench.io.fetch.download import Patience
from shiftbench.io.fetch.unpacking import unpack
from shiftbench.io.fetch.whole import Fetched, accepted, default_folder, fetch

__all__ = [
    "Archive",
    "FetchError",
    "Fetched",
    "Licence",
    "Patience",
    "accepted",
    "default_folder",
    "fetch",
    "share_alike",
    "unpack",
]
