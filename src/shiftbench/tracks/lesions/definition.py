"""The lesion track as one value: segmentation of MS lesions in scans of hospitals that training has not seen."""

from __future__ import annotations

from pathlib import Path

from shiftbench.track import Example, Option, Show, Task, Track
from shiftbench.tracks.lesions import assessing, example, paper, preparation, schema, study
from shiftbench.tracks.lesions.archives import ARCHIVES
from shiftbench.tracks.lesions.intake import INTAKE
from shiftbench.tracks.lesions.picture import showing
from shiftbench.tracks.lesions.withholding import withhold

TASKS = (Task(schema.TASK, "segmentation", "lesions"),)
EXAMPLE = (
    Option("voxel", float, "Side of a voxel in mm", default="4"),
    Option("t1", bool, "Write T1 images as well", default="no"),
)
PREPARE = (
    Option("resample", bool, "Write all volumes at 1 mm, as in the paper", default="no"),
    Option("bias_field", bool, "Remove the bias field of images by N4 (needs SimpleITK)", default="no"),
    Option("train_on", str, "Learn from this site alone, test on all (Table 4)", metavar="SITE"),
    Option("leave_out", str, "Learn from all sites but this one (Table 5)", metavar="SITE"),
)
RUN = (Option("with_train", bool, "Segment the patients of train as well, for Tables 4, 14 and 15", default="no"),)
SHOW = (
    Option(
        "patient",
        str,
        "The patient, if the source has several; of a single scan its id, if its file is named otherwise",
    ),
    Option("truth", Path, "Lesion mask of a single scan"),
    Option("predictions", Path, "File or folder of predictions, as `shiftbench assess` takes them"),
    Option(
        "measure",
        str,
        "Voxel measure to draw; the page of --viewer has several (a,b, or all)",
        default="the first there is",
    ),
    Option("at", str, "Voxel where the planes meet, from 1", default="the largest lesion", metavar="X,Y,Z"),
    Option(
        "viewer",
        bool,
        "Write a page to scroll through the patient as well, 1 to 4 MB and up to 1 more for each further measure",
        default="no",
    ),
)

TRACK = Track(
    name=schema.TRACK,
    tasks=TASKS,
    presets=study.PRESETS,
    example=Example(example.write, "lesions-example", unit="patients", is_folder=True),
    prepare=preparation.prepare,
    open_prepared=preparation.open_prepared,
    run=study.run,
    score_files=assessing.score_files,
    archives=ARCHIVES,
    options={"example": EXAMPLE, "prepare": PREPARE, "run": RUN, "show": SHOW},
    show=Show(showing.show, "A scan, or a folder or table of patients.", metavar="SCAN", folders=True),
    pictures=assessing.pictures,
    paper=paper.LESIONS,
    intake=INTAKE,
    withhold=withhold,
)
