"""A prepared folder of motion data: how small maps are, and how fast they come back, against drawing them anew.

The golden and genuine scenes may not lie in the repository: without the folder ../shared made-up scenes take their
place. Times are CPU seconds in one process, but for the loader: there a `DataLoader` of torch gives shuffled batches
of maps to the main process, and wall time counts. A bound on bytes is 8 KB a map.
"""

from __future__ import annotations

import importlib.util
import itertools
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.rendering import MADE, SCENES, timed
from shiftbench.tracks.motion.maps.feature_map import feature_maps
from shiftbench.tracks.motion.maps.map_settings import MapSettings
from shiftbench.tracks.motion.prepared import preparation
from shiftbench.tracks.motion.prepared.map_codec import MapCodec
from shiftbench.tracks.motion.prepared.store import Store
from shiftbench.tracks.motion.prepared.vector_codec import empty, packed, unpack, vectors_of
from shiftbench.tracks.motion.scenes.scene import Scene, read_scene, valid_requests, write_scene
from shiftbench.tracks.motion.schema import City, Precipitation, SceneTags

BYTES = 8_000
BATCH = 16
ITEMS = 1_600
COPIES = 8  # of the scenes, under other ids, so that the loader has several shards
TAGS = SceneTags(track=City.MOSCOW, precipitation=Precipitation.NO)


def ratios() -> list[tuple[str, float, float | None]]:
    """(name, ours over the yardstick, bound)."""
    chosen = SCENES if all(map(Path.exists, SCENES.values())) else MADE
    found: list[tuple[str, float, float | None]] = []
    for name, path in chosen.items():
        found += codec_ratios(name, read_scene(path))
    if importlib.util.find_spec("torch"):
        found += loader_ratios(list(chosen.values()))
    return found


def codec_ratios(name: str, scene: Scene) -> list[tuple[str, float, float | None]]:
    """Of all requests of a scene: bytes, and seconds of packing and unpacking over those of drawing and making."""
    codec, ids = MapCodec(MapSettings()), [request.track_id for request in valid_requests(scene)]
    drawn = feature_maps(scene, ids)
    blocks = [codec.packed(planes) for planes in drawn]
    vectors = [vectors_of(scene, each) for each in ids]
    lines = [packed(each) for each in vectors]

    def unpacked() -> npt.NDArray[np.float32]:
        out = np.zeros(drawn.shape, np.float32)
        for planes, block in zip(out, blocks, strict=True):
            codec.unpack(block, planes)
        return out

    def spread() -> None:
        out = empty(len(lines))
        for row, block in enumerate(lines):
            unpack(block, out, row)

    assert unpacked().tobytes() == drawn.tobytes(), "maps come back bit by bit"
    acts = [
        lambda: feature_maps(scene, ids),
        lambda: [codec.packed(planes) for planes in drawn],
        unpacked,
        lambda: [vectors_of(scene, each) for each in ids],
        spread,
    ]
    drawing, packing, unpacking, making, spreading = (
        statistics.median(times) for times in zip(*timed(acts), strict=True)
    )
    genuine = name.startswith("genuine")
    sizes = list(map(len, blocks))
    return [
        (f"bytes of a map ({name}), mean / 8 KB", statistics.mean(sizes) / BYTES, 1 if genuine else None),
        (f"bytes of a map ({name}), most / 8 KB", max(sizes) / BYTES, 1 if genuine else None),
        (f"packing a map ({name}) / drawing it", packing / drawing, None),
        (f"unpacking a map ({name}) / drawing it", unpacking / drawing, None),
        (f"bytes of vector features ({name}) / 8 KB", statistics.mean(map(len, lines)) / BYTES, None),
        (f"unpacking vector features ({name}) / making them", spreading / making, None),
    ]


def loader_ratios(paths: list[Path]) -> list[tuple[str, float, float | None]]:
    """Seconds for an item of a loader over milliseconds, with 1 and 2 workers, and of these over drawing it."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        scenes = [read_scene(path) for path in paths]
        for copy, scene in itertools.product(range(COPIES), scenes):
            renamed = Scene(**{**vars(scene), "id": f"{scene.id}-{copy}", "tags": TAGS})
            write_scene(renamed, root / "train" / f"{scene.id}-{copy}.pb")
        prepared = preparation.prepare(root, root / "prepared", executor="serial", scenes_per_shard=4)
        store = Store.open(prepared.folder)
        seconds = {workers: loaded(store, workers) for workers in (1, 2)}
        shutil.rmtree(prepared.folder)
    ids = [[request.track_id for request in valid_requests(scene)] for scene in scenes]
    start = time.perf_counter()
    for scene, asked in zip(scenes, ids, strict=True):
        feature_maps(scene, asked)
    drawing = (time.perf_counter() - start) / sum(map(len, ids))
    return [
        *(
            (f"ms an item from a loader, {workers} workers / 1 ms", 1e3 * each, None)
            for workers, each in seconds.items()
        ),
        ("an item from a loader, 1 worker / drawing a map", seconds[1] / drawing, None),
        ("an item from a loader, 2 workers / 1 worker", seconds[2] / seconds[1], None),
    ]


def loaded(store: Store, workers: int) -> float:
    """Seconds for an item: a batch of maps and targets in shuffled order, once the workers are under way."""
    import torch

    rng = np.random.default_rng(0)
    batches = [rng.integers(0, len(store), BATCH).tolist() for _ in range(ITEMS // BATCH)]
    loader = torch.utils.data.DataLoader(
        _Batches(store), sampler=batches, batch_size=None, num_workers=workers, multiprocessing_context="spawn"
    )
    arrived = iter(loader)
    for _ in range(2 * workers):  # these were fetched ahead while the workers started
        next(arrived)
    start, count = time.perf_counter(), 0
    for maps in arrived:
        count += len(maps)
    return (time.perf_counter() - start) / count


class _Batches:
    """Batches of maps of a store, by lists of rows."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def __getitem__(self, rows: list[int]) -> object:
        import torch

        torch.set_num_threads(1)
        return torch.from_numpy(self.store.maps(rows))

    def __len__(self) -> int:
        return len(self.store)
