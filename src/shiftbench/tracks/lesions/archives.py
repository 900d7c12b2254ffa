"""The official archives of the lesion data: one that is free, and one that OFSEP hands out under an agreement.

Their publishers give neither exact sizes nor hashes, so both are recorded on first use. Unpacked into one folder they
are the published layout, which `prepare` takes: the folders of both divide the same parts.
"""

from __future__ import annotations

from shiftbench.io.fetch import Archive, Licence, share_alike

FREE = share_alike("Malinin et al., Shifts 2.0, 2022")
AGREEMENT = "https://zenodo.org/records/7051658"
OFSEP = Licence(
    f"{FREE.name} and the OFSEP data usage agreement",
    AGREEMENT,
    f"make no attempt to identify patients, keep to what you signed, and as {FREE.name} says: {FREE.asks}",
)
_THEN = "shiftbench prepare lesions {folder}"
ARCHIVES: tuple[Archive, ...] = (
    Archive(
        "open",
        "https://zenodo.org/records/7051692/files/shifts_ms_pt2.zip",
        "shifts_ms_pt2.zip",
        FREE,
        "the sites Best (train, dev_in, eval_in) and Ljubljana (dev_out); about 940 MB",
        then=_THEN,
        unpacked=True,
    ),
    Archive(
        "msseg",
        f"{AGREEMENT}/files/shifts_ms_pt1.zip",
        "shifts_ms_pt1.zip",
        OFSEP,
        "the sites Rennes, Bordeaux and Lyon (train, dev_in, eval_in), under an agreement with OFSEP",
        then=_THEN,
        unpacked=True,
        agreement=AGREEMENT,
    ),
)
"""The archives, the default first."""
