"""The official archive of the vessel's data: where it is, and on what terms it may be used.

The paper gives neither the exact size nor a hash, so both are recorded on first use.
"""

from __future__ import annotations

from shiftbench.io.fetch import Archive, share_alike

LICENCE = share_alike("Malinin et al., Shifts 2.0, 2022")
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
"""The archives that can be fetched, the default first."""
