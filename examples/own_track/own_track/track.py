"""The track as one value, which `pyproject.toml` names as an entry point."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from own_track import images, study
from shiftbench.assessment import predictions
from shiftbench.partition.settings import SPLITS
from shiftbench.report.picture import Picture
from shiftbench.track import Example, Option, ScoredFiles, Show, Task, Track
from shiftbench.track.paper.output import Paper
from shiftbench.track.paper.run import names
from shiftbench.track.paper.table import Cell, Column, Row, Table

NOISE = Option("noise", float, "Standard deviation of the noise of shifted images, where ink is 1", default="0.8")
TASK = Task("digit", "digit", "labels", threshold=0.5)


def score_files(paths: Mapping[str, Path], truth: Path, tasks: Sequence[Task], *, progress: Any = None) -> Any:
    """Score predictions files against each split of a prepared folder that all of them are about."""
    prepared, read = images.open_prepared(truth), {name: predictions.load(path) for name, path in paths.items()}
    sets = [study.Images(prepared, split) for split in SPLITS]
    about = [own for own in sets if all(np.isin(own.ids, each.ids).any() for each in read.values())] or sets

    def scored(own: study.Images) -> list[Any]:
        return [own.scored(n, read[n].line_up(own.ids, extra="drop", where=p).ensemble) for n, p in paths.items()]

    options = study.report_options(prepared, {name: {"file": path.name} for name, path in paths.items()})
    return [ScoredFiles(TASK, [(own.records, scored(own)) for own in about], options, source=about[-1])]


def gallery(shown: Any, labels: Any, caption: str) -> Picture:
    """A row of images under their labels."""
    figure = Figure(figsize=(10, 1.8))
    for place, (image, label) in enumerate(zip(shown, labels, strict=True)):
        axes = figure.add_subplot(1, len(shown), place + 1, title=str(label))
        axes.imshow(image, cmap="gray_r")
        axes.set_axis_off()
    return Picture("digits", "Digits", caption, figure)


def draw(file: Path, folder: Path, *, progress: Any = None) -> dict[str, Path]:
    """Draw the first ten images of a file."""
    data = images.read(file)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "digits.png").write_bytes(gallery(data["images"][:10], data["labels"][:10], "The first ten.").png)
    return {"the first ten": folder / "digits.png"}


def pictures(found: ScoredFiles) -> tuple[list[Picture], list[str]]:
    """The ten images that the first system is least sure of."""
    first, arrays = found.parts[-1][1][0], found.source.arrays  # the first system on the last split
    rows = np.argsort(-first.uncertainty[first.measure])[:10]
    return [gallery(arrays["images"][rows], arrays["labels"][rows], "Those with the highest uncertainty.")], []


def tables(reports: Sequence[Any]) -> list[Table]:
    """The errors of the systems of every run in one table."""
    columns = tuple(Column("eval", side, "mean_error", "%") for side in ("in", "shifted"))
    rows, cells = list[Row](), list[tuple[Cell, ...]]()
    for name, report in zip(names(reports), reports, strict=True):  # titles of runs, numbered if alike
        scores = {(each.system, each.split, each.subset, each.metric): each for each in report.scores}
        for own in (system.name for system in report.systems):
            rows.append(Row(own, own=own, run=name if len(reports) > 1 else ""))
            cells.append(tuple(Cell.of(scores.get((own, c.dataset, c.subset, c.metric)), c, ()) for c in columns))
    return [Table("Table 1", "own", "Errors", "Errors of digits.", "errors", tuple(rows), columns, tuple(cells))]


TRACK = Track(
    name="digits", tasks=(TASK,), presets=study.PRESETS, example=Example(images.write, "digits.npz", unit="images"),
    prepare=images.prepare, open_prepared=images.open_prepared, run=study.run, score_files=score_files,
    options={"example": (NOISE,)}, show=Show(draw, "images as `shiftbench example digits` writes them"),
    pictures=pictures, paper=Paper("Digits", tables, lambda reports, folder: []),
)  # fmt: skip
