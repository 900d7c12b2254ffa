"""The official archive of the vessel's data: where it is, and on what terms it may be used.

Neither size to the byte nor hash is printed, so both are recorded on first use.
"""

from __future__ import annotations

from shiftbench.fetch import Archive, Licence

LICENCE = Licence(
    "CC BY-NC-SA 4.0",
    "https://creativecommons.org/licenses/by-nc-sa/4.0/",
    "name the authors (Malinin et al., Shifts 2.0, 2022), use it for no commercial purpose, and pass on what you make "
    "of it under the same licence.",
)
ARCHIVES: tuple[Archive, ...] = (
    Archive(
        "data",
        "https://zenodo.org/records/7684813/files/power_consumption_upload.zip",
        "power_consumption_upload.zip",
        LICENCE,
        "the partitions of the real and of the synthetic data, as CSV; about 200 MB unpacked",
        then="shiftbench prepare power {path} --experiment synthetic",
    ),
)
"""What can be fetched, the usual choice first."""
