"""The vehicle motion track as one value: where vehicles drive, in other cities and weathers than those of training."""

from __future__ import annotations

from functools import partial

from shiftbench.track import Example, Task, Track
from shiftbench.tracks.motion import assessing, example, schema, study
from shiftbench.tracks.motion.baselines import presets
from shiftbench.tracks.motion.paper import PAPER
from shiftbench.tracks.motion.prepared import orders, preparation, workplace
from shiftbench.tracks.motion.submissions.scoring import ERRORS

TASKS = tuple(Task(name, kind.title, "trajectories", kind.unit, kind.threshold) for name, kind in ERRORS.items())

TRACK = Track(
    name=schema.TRACK,
    tasks=TASKS,
    presets=presets.PRESETS,
    methods=presets.METHODS,
    experiments=preparation.EXPERIMENTS,
    example=Example(example.write, "motion-example", unit="scenes", is_folder=True),
    prepare=preparation.prepare,
    open_prepared=preparation.open_prepared,
    run=study.run,
    paper=PAPER,
    assess=assessing.assess,
    resumes=True,
    with_executor=lambda name, workers: partial(preparation.prepare, executor=name, workers=workers),
    settings=orders.settings,
    discard_other=lambda folder, experiment, settings: workplace.discard_other(
        folder, experiment=experiment, settings=settings
    ),
    job_script=lambda source, folder, experiment, tasks, settings: preparation.slurm_script(
        source, folder, experiment=experiment, tasks=tasks, settings=settings
    ),
)
