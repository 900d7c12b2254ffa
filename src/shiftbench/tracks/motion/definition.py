"""The vehicle motion track as one value: where vehicles drive, in other cities and weathers than those of training."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shiftbench.progress import Progress
from shiftbench.track import BatchJob, Example, Import, Option, Prepared, Show, Task, Track
from shiftbench.tracks.motion import argoverse2, assessing, example, picture, schema, study
from shiftbench.tracks.motion.archives import ARCHIVES
from shiftbench.tracks.motion.baselines import presets
from shiftbench.tracks.motion.intake import INTAKE
from shiftbench.tracks.motion.maps import map_settings
from shiftbench.tracks.motion.paper import PAPER
from shiftbench.tracks.motion.prepared import preparation, staging
from shiftbench.tracks.motion.submissions.scoring import ERRORS
from shiftbench.tracks.motion.withholding import withhold

TASKS = tuple(Task(name, kind.title, "trajectories", kind.unit, kind.threshold) for name, kind in ERRORS.items())
SLURM = "slurm"

SETTINGS = Option(
    "settings", str, "How feature maps are made, such as size=400 (repeat)", repeatable=True, metavar="NAME=VALUE",
    flag="--set",
)  # fmt: skip
SHOW = (
    Option("request", int, "One request, by its track, in its own frame", default="all of them", least=0),
    Option("predictions", Path, "Submission (protobuf or Parquet) to draw what it foresees"),
    Option("frame", str, "Frame of the predictions", default="agent", choices=("agent", "global")),
    Option("gif", bool, "Draw the animation as well", default="yes"),
    Option("feature_map", bool, "Draw the feature map of the request as well", default="no"),
)

IMPORT = (Option("skip_damaged", bool, "Leave out damaged recordings and name them", default="no"),)


def prepare(
    source: Path,
    folder: Path,
    *,
    experiment: str,
    settings: Sequence[str] = (),
    executor: str = "processes",
    workers: int | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Prepared | BatchJob:
    """Prepare scenes as the command line wants it, see `prepared.preparation`.

    settings: of the feature maps, each as NAME=VALUE. executor: `slurm` only writes the script of an array.
    overwrite: whether to discard what was begun with another experiment or other settings.
    """
    maps = map_settings.settings_of(settings)
    if overwrite:
        staging.discard_other(folder, experiment=experiment, settings=maps)
    if executor == SLURM:
        script = preparation.slurm_script(source, folder, experiment=experiment, tasks=workers, settings=maps)
        return BatchJob(script)
    return preparation.prepare(
        source, folder, experiment=experiment, settings=maps, executor=executor, workers=workers, progress=progress
    )


def import_argoverse2(
    source: Path,
    folder: Path,
    *,
    executor: str = "processes",
    workers: int | None = None,
    skip_damaged: bool = False,
    progress: Progress | None = None,
) -> list[str]:
    """Import recordings as scenes, see `argoverse2.importing`; what it brought and left out, in lines."""
    imported = argoverse2.import_scenes(
        source, folder, executor=executor, workers=workers, skip_damaged=skip_damaged, progress=progress
    )
    counts = {"recordings": imported.recordings, "scenes": imported.scenes, "requests": imported.requests}
    left_out = (f"left out   {count:>10,}  {reason}" for reason, count in imported.left_out.items())
    damaged = [f"left out: {problem}" for each in imported.damaged for problem in each.problems]
    if damaged:
        damaged.insert(
            0, f"left out   {len(imported.damaged):>10,}  damaged recordings, listed in {argoverse2.DAMAGED}"
        )
    return [*(f"{name:10} {count:>10,}" for name, count in counts.items()), *left_out, *damaged]


TRACK = Track(
    name=schema.TRACK,
    tasks=TASKS,
    presets=dict.fromkeys(presets.PRESETS, presets.METHODS),
    example=Example(example.write, "motion-example", unit="scenes", is_folder=True),
    prepare=prepare,
    open_prepared=preparation.open_prepared,
    run=study.run,
    score_files=assessing.score_files,
    options={"prepare": (SETTINGS,), "import": IMPORT, "show": SHOW},
    spreads=("prepare", "run", "import"),
    gpus=True,
    test_sets="folder of scenes",
    experiments=preparation.EXPERIMENTS,
    archives=ARCHIVES,
    imports=(Import("argoverse2", "a test set: its cities and weather are in no partition", import_argoverse2),),
    show=Show(picture.show, "File of a scene (.pb).", metavar="SCENE"),
    pictures=assessing.pictures,
    paper=PAPER,
    intake=INTAKE,
    withhold=withhold,
)
