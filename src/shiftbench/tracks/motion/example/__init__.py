"""Made-up towns with traffic, as scenes of the official form, in which place and weather really shift.

Nobody's data: how streets lie and people drive follows from the numbers in `habits`; what is left is chance.
"""

from __future__ import annotations

from pathlib import Path

from shiftbench.errors import SettingsError
from shiftbench.io import files
from shiftbench.progress import Progress
from shiftbench.track.intake import example_folder
from shiftbench.tracks.motion import schema
from shiftbench.tracks.motion.example import conditions
from shiftbench.tracks.motion.example.scenes import scenes
from shiftbench.tracks.motion.prepared.sources import ORIGIN
from shiftbench.tracks.motion.scenes import tag_files
from shiftbench.tracks.motion.scenes.scene import message_of

__all__ = ["FEWEST_ROWS", "MOST_ROWS", "ROWS", "scenes", "write"]

ROWS = 600
FEWEST_ROWS, MOST_ROWS = 20, 999_999
STAGE = "scenes"
SCENE_BYTES = 250_000  # rather too many


def write(path: str | Path, rows: int | None = None, seed: int = 0, progress: Progress | None = None) -> Path:
    """Write a folder of `rows` scenes (600 if None) whole or not at all, laid out as the official archives.

    `train/*.pb`, `dev/*.pb` and `eval/*.pb` in shares of 57, 18 and 25 in a hundred, each with its tag file, and
    `origin.toml`, which says that the scenes are made up. Scene i of a part depends on `seed` alone.

    Every scene is a piece of a town of its own, with lights or signs at each of four junctions, and ten seconds of
    traffic on it. Nine in ten training scenes are in Moscow without precipitation. Elsewhere streets are narrower or
    more bent, people turn more often, keep shorter or longer gaps and brake otherwise. In rain, sleet and snow they
    drive more slowly, brake more gently, swerve, and now and then brake all of a sudden.

    The same `rows` and `seed` give the same bytes: only uniform numbers of `Generator(PCG64)` are drawn, and every
    value is rounded to a tenth of a millimetre.

    Raises:
        SettingsError: if `rows` is below 20 or above 999,999, or `seed` below 0.
        TableError: if the folder holds something else, or cannot be written.
        MissingExtraError: if protobuf is not installed.
    """
    rows = ROWS if rows is None else rows
    _require(rows, seed)
    folder = Path(path)
    done = 0
    what = f"{rows:,} scenes"
    with example_folder.replacing(folder, track=schema.TRACK, size=rows * SCENE_BYTES, what=what) as aside:
        for part, number in conditions.counts(rows).items():
            (aside / part).mkdir()
            tags = []
            for place, scene in enumerate(scenes(part, number, seed=seed)):
                (aside / part / f"{place:06d}.pb").write_bytes(message_of(scene).SerializeToString(deterministic=True))
                tags.append(scene.tags)
                done += 1
                if progress is not None:
                    progress(STAGE, done, rows)
            tag_files.write_tags(tags, aside / f"{part}_tags.txt")
        files.write_text(aside / ORIGIN, f'origin = "made-up towns, {rows} scenes, seed {seed}"\n')
    return folder


def _require(rows: int, seed: int) -> None:
    problems = []
    if not FEWEST_ROWS <= rows <= MOST_ROWS:
        problems.append(
            f"rows: expected {FEWEST_ROWS} to {MOST_ROWS:,} scenes, found {rows:,}. Every partition needs some."
        )
    if seed < 0:
        problems.append(f"seed: expected a whole number >= 0, found {seed}. Choose another.")
    if problems:
        raise SettingsError(*problems)
