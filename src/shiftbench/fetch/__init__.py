"""Official archives: the licence accepted, downloaded as far as it goes and on from there, hashed, then moved.

Nothing is fetched on import, and nothing is ever deleted without saying so.
"""

from shiftbench.errors import FetchError
from shiftbench.fetch.archive import Archive, Licence, share_alike
from shiftbench.fetch.download import Patience
from shiftbench.fetch.unpacking import unpack
from shiftbench.fetch.whole import Fetched, accepted, default_folder, fetch

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
