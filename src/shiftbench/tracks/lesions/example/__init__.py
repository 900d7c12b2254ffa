"""Brain-like phantoms of six made-up sites in the published layout, in which scanner and lesion load really shift."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from shiftbench.progress import Progress
from shiftbench.track.intake import example_folder
from shiftbench.tracks.lesions import nifti, schema

ROWS = 40


def write(
    path: str | Path,
    rows: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    *,
    voxel: float = 4.0,
) -> Path:
    """Write a folder of `rows` patients in the published layout. voxel: its side in mm."""
    folder, rows = Path(path), ROWS if rows is None else rows
    size = round(176 / voxel)
    with example_folder.replacing(
        folder, track=schema.TRACK, size=rows * size**3 * 4, what=f"{rows:,} patients"
    ) as aside:
        for row in range(rows):
            rng = np.random.default_rng((seed, row))
            part = schema.PARTS[row % 5]
            site = f"site-{'abcd'[row % 4]}" if part.endswith("in") else "site-e" if part == "dev_out" else "site-f"
            _write(aside / site / part, row + 1, size, voxel, rng)
            if progress is not None:
                progress("phantoms", row + 1, rows)
    return folder


def _write(folder: Path, number: int, size: int, voxel: float, rng: np.random.Generator) -> None:
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, size)] * 3, indexing="ij"))
    brain = (grid**2).sum(axis=0) < 0.6
    lesions = np.zeros_like(brain)
    for _ in range(5):
        centre = rng.uniform(-0.4, 0.4, (3, 1, 1, 1))
        lesions |= ((grid - centre) ** 2).sum(axis=0) < rng.uniform(2 / size, 0.2) ** 2
    flair = np.where(brain, 100 + 60.0 * lesions + rng.normal(0, 8, brain.shape), 0).astype(np.float32)
    affine = np.diag([voxel, voxel, voxel, 1.0])
    nifti.write(folder / "flair" / f"{number}_FLAIR_isovox.nii.gz", flair, affine)
    nifti.write(folder / "gt" / f"{number}_gt_isovox.nii.gz", lesions, affine)
    nifti.write(folder / "fg_mask" / f"{number}_isovox_fg_mask.nii.gz", brain, affine)
