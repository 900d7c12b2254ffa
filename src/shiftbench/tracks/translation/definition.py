"""The translation track as one value: from parallel text to sentences that no training text looks like."""

from __future__ import annotations

from pathlib import Path

from shiftbench.track import Example, Option, Show, Task, Track
from shiftbench.tracks.translation import assessing, example, preparation, schema, scoring, showing, study
from shiftbench.tracks.translation.archives import ARCHIVES
from shiftbench.tracks.translation.intake import INTAKE
from shiftbench.tracks.translation.paper import PAPER
from shiftbench.tracks.translation.withholding import withhold

TASKS = (
    Task(scoring.GLEU_ERROR, "eGLEU", "texts", threshold=60.0),
    Task(scoring.CHRF_ERROR, "chrF", "texts"),
    Task(scoring.EXACT, "exact match", "texts", threshold=scoring.HALF),
    Task(scoring.GIVEN, "given error", "texts"),
)
PREPARE = (
    Option("languages", str, "Codes of source and target", default="those of the data, else en-ru", metavar="XX-YY"),
    Option(
        "vocabulary", int, "Number of tokens of the vocabulary",
        default="one for 16 pairs, 1,000 to the published 40,000", least=100,
    ),
    Option("moses", bool, "Tokenize text as Moses does first, as published", default="no"),
    Option(
        "reddit", bool, "Drop lines of one word or without letters from the shifted parts, as the paper does",
        default="no",
    ),
    Option(
        "overlap", float, "Share of words on both sides from which on a pair is dropped; above 1 for none",
        default="0.05",
    ),
)  # fmt: skip
RUN = (
    Option(
        "marian", Path, "A trained model of the Marian form in a folder: each is a member of one more system",
        repeatable=True, metavar="FOLDER",
    ),
)  # fmt: skip
SHOW = (
    Option("id", str, "One sentence, by its id"),
    Option("rows", int, "Sentences to show", default=str(showing.ROWS), least=1),
    Option("data", Path, "Sources and references of outputs: a prepared folder, or a set of sentences"),
)

TRACK = Track(
    name=schema.TRACK,
    tasks=TASKS,
    presets=study.PRESETS,
    example=Example(example.write, "translation-example", unit="sentences", is_folder=True),
    prepare=preparation.prepare,
    open_prepared=preparation.open_prepared,
    run=study.run,
    score_files=assessing.score_files,
    archives=ARCHIVES,
    options={"prepare": PREPARE, "run": RUN, "show": SHOW},
    spreads=("prepare", "run"),
    gpus=True,
    show=Show(showing.show, "Stored outputs, a set of sentences, or a prepared folder.", metavar="FILE", folders=True),
    pictures=assessing.pictures,
    paper=PAPER,
    truth_inside=True,
    columns=assessing.COLUMNS,
    intake=INTAKE,
    withhold=withhold,
)
