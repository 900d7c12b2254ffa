"""Peak memory of five UNets of the published size on one brain of 1 mm voxels, by sliding windows of 96³.

The yardstick is the limit of 6 GB. The networks are untrained, which changes no size; they predict in a process of
their own, whose peak the system tells: libraries, networks, the volume, running sums and all measures of its voxels.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

LIMIT = 6e9  # bytes
SHAPE = (182, 218, 182)


def ratios() -> list[tuple[str, float, float | None]]:
    """(name, bytes at the peak over the limit, bound)."""
    done = subprocess.run([sys.executable, "-m", __name__], stdout=subprocess.PIPE, text=True, check=True)
    return [("peak memory of five UNets on a brain of 182 × 218 × 182 / 6 GB", float(done.stdout) / LIMIT, 1.0)]


class Brain:
    """One volume of noise; see `shiftbench.methods.volumes.dataset.VolumeDataset`."""

    ids, digest = ("noise",), "0" * 64

    def __len__(self) -> int:
        return 1

    def image(self, _row: int) -> npt.NDArray[np.float32]:
        """The volume."""
        return np.random.default_rng(0).random((1, *SHAPE), np.float32)

    def truth(self, _row: int) -> npt.NDArray[np.bool_]:
        """A tenth of the voxels."""
        return self.image(0)[0] < 0.1

    def brain(self, _row: int) -> npt.NDArray[np.bool_]:
        """All of it."""
        return np.ones(SHAPE, np.bool_)

    def spacing(self, _row: int) -> npt.NDArray[np.float64]:
        """1 mm."""
        return np.ones(3)

    def select(self, _rows: Any) -> Brain:
        """The same."""
        return self


def main() -> None:
    """Predict the volume under all members, and print the bytes of this process at its peak."""
    import torch

    from shiftbench.methods import method
    from shiftbench.methods.volumes import architecture, sums

    unet, brain = method("unet"), Brain()
    with tempfile.TemporaryDirectory() as place:
        paths = [str(Path(place, f"{number}.pth")) for number in range(5)]
        for number, path in enumerate(paths):
            net = architecture.network("unet", unet.Settings().to_dict(), channels=1, seed=number)
            torch.save(net.state_dict(), path)
        settings = unet.Settings(weights=tuple(paths), threshold=0.35)
        unet.fit(brain, brain, settings=settings, folder=Path(place, "fit"), cores=1)
        found = unet.predict(brain, folder=Path(place, "fit")).sums(0)
        maps = [found.measure(name) for name in sums.MEASURES]
        assert len(found.masks) == 5
        assert all(np.isfinite(each).all() for each in maps)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


if __name__ == "__main__":
    main()
