"""Brain-like phantoms of six made-up sites in the published layout, in which scanner and lesion load really shift.

Nobody's data: the numbers are in `sites`, what is left is chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from shiftbench.errors import SettingsError
from shiftbench.io import files
from shiftbench.progress import Progress
from shiftbench.track.intake import example_folder
from shiftbench.tracks.lesions import layout, nifti, schema
from shiftbench.tracks.lesions.example import anatomy, drawing, sites

__all__ = ["FEWEST_ROWS", "MOST_ROWS", "ROWS", "write"]

ROWS = 100  # 20 in all evaluated parts but dev_in: enough for intervals
FEWEST_ROWS, MOST_ROWS = len(sites.SHARES), 9_999
VOXEL = 4.0
FINEST, COARSEST = 0.5, 10.0
STAGE = "phantoms"
_BYTES = 6  # of a voxel in all files of a patient, packed; rather too many


def write(
    path: str | Path,
    rows: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    *,
    voxel: float = VOXEL,
    t1: bool = False,
) -> Path:
    """Write `rows` patients (100 if None) whole or not at all, in the published layout, with `patients.csv`.

    Parts have the shares of `sites.SHARES`, at least a patient each. A patient depends on `seed`, part and number in it
    alone. voxel: its side in mm; 1 for images of the paper's size. t1: whether to write T1 images as well.

    Raises:
        SettingsError: if `rows`, `seed` or `voxel` is out of range.
        TableError: if the folder holds something else, or cannot be written.
        MissingExtraError: if nibabel or SciPy is not installed.
    """
    rows = ROWS if rows is None else rows
    _require(rows, seed, voxel)
    folder, lines = Path(path), ["id,sex,age,load_ml"]
    size = rows * int(np.prod(anatomy.shape(voxel))) * _BYTES * (1 + t1)
    with example_folder.replacing(folder, track=schema.TRACK, size=size, what=f"{rows:,} patients") as aside:
        for done, (part, site, number, rng) in enumerate(_patients(rows, seed), 1):
            lines.append(_write(aside / site / part, number, (voxel, t1), rng))
            if progress is not None:
                progress(STAGE, done, rows)
        files.write_text(aside / layout.TABLE, "\n".join(lines) + "\n")
        origin = f"made-up phantoms, {rows} patients, {voxel:g} mm, seed {seed}"
        files.write_text(aside / layout.ORIGIN, f'origin = "{origin}"\n')
    return folder


def counts(rows: int) -> dict[str, int]:
    """The number of patients of each part: its share, at least one."""
    found = {part: max(1, int(rows * share)) for part, share in sites.SHARES.items()}
    while (rest := rows - sum(found.values())) != 0:
        step = 1 if rest > 0 else -1
        open_to = [part for part in found if found[part] + step > 0]
        found[max(open_to, key=lambda part: step * (rows * sites.SHARES[part] - found[part]))] += step
    return found


def _patients(rows: int, seed: int) -> Iterator[tuple[str, str, int, np.random.Generator]]:
    """Part, site, number at the site, and random numbers of each patient."""
    at_site = dict.fromkeys(sites.SCANNERS, 0)
    for place, (part, number) in enumerate(counts(rows).items()):
        for row in range(number):
            site = sites.LOADS[part].site or sites.IN_DOMAIN[(row + place) % len(sites.IN_DOMAIN)]
            at_site[site] += 1
            yield part, site, at_site[site], np.random.default_rng((seed, place, row))


def _write(folder: Path, number: int, wanted: tuple[float, bool], rng: np.random.Generator) -> str:
    """Write a patient's files; returns the line of the table."""
    voxel, t1 = wanted
    sex = "F" if rng.random() < sites.FEMALE else "M"
    age = int(np.clip(round(rng.normal(*sites.AGE)), *sites.AGES))
    held = anatomy.anatomy(voxel, age, rng)
    found = drawing.lesions(held, sites.LOADS[folder.name], rng)
    flair = drawing.scan(held, found, sites.SCANNERS[folder.parent.name], rng)
    affine = np.diag([voxel, voxel, voxel, 1.0])
    affine[:3, 3] = [float(axis.min()) for axis in held.grid]
    volumes = {"flair/{}_FLAIR_isovox": flair, "gt/{}_gt_isovox": found.mask, "fg_mask/{}_isovox_fg_mask": held.brain}
    if t1:
        volumes["t1/{}_T1_isovox"] = drawing.scan(held, found, drawing.T1, rng)
    for name, volume in volumes.items():
        nifti.write(folder / f"{name.format(number)}.nii.gz", volume, affine)
    load = np.count_nonzero(found.mask) * voxel**3 / 1_000
    return f"{folder.parent.name}-{number},{sex},{age},{load:.3f}"


def _require(rows: int, seed: int, voxel: float) -> None:
    problems = []
    if not FEWEST_ROWS <= rows <= MOST_ROWS:
        problems.append(
            f"rows: expected {FEWEST_ROWS} to {MOST_ROWS:,} patients, found {rows:,}. Every part needs one."
        )
    if seed < 0:
        problems.append(f"seed: expected a whole number >= 0, found {seed}. Choose another.")
    if not FINEST <= voxel <= COARSEST:
        problems.append(f"voxel: expected {FINEST:g} to {COARSEST:g} mm, found {voxel:g}. Choose another.")
    if problems:
        raise SettingsError(*problems)
