"""The paper's tables and figures: printed values where they belong, ours beside them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shiftbench.assessment.assess import build
from shiftbench.errors import TableError
from shiftbench.report.content import Report
from shiftbench.scores.intervals import Settings
from shiftbench.track import Task
from shiftbench.tracks.translation.assessing import score_files
from shiftbench.tracks.translation.paper import PAPER, printed, tables
from tests.small_presets import blank_pictures


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """A report on 160 made-up sentences of one ensemble, as a run would call it."""
    rng, lines = np.random.default_rng(0), []
    for part in ("dev_in", "dev_out", "eval_in", "eval_out"):
        for number in range(40):
            text = " ".join(rng.choice(["a", "b", "c"], 9))
            answer = text if rng.random() < 0.6 else "x y"
            lines.append(
                {"id": f"{part}{number}", "part": part, "source": text, "reference": text, "text": answer,
                 "uncertainty": rng.random() + (answer != text), "emoji": number % 2 == 0, "slang": number % 4 == 0}
            )  # fmt: skip
    file = tmp_path_factory.mktemp("paper") / "ours.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    (found,) = score_files({"Transformer": file}, file, [Task("egleu", "eGLEU", "texts", threshold=60.0)])
    made = build(found.parts, replace(found.options, intervals=Settings(replicates=20)))
    systems = {"Transformer": {"method": "transformer", "members": 3}}
    partition = {"counts": dict.fromkeys(("train", "dev_in", "dev_out", "eval_in", "eval_out"), 40)}
    return replace(made, recipe={**made.recipe, "systems": systems, "partition": partition})


def test_every_printed_value_stands_in_its_table(report):
    made = tables([report])
    assert [(table.number, table.columns[0].dataset if table.columns else "") for table in made] == [
        ("Table 14", ""), ("Table 4", "dev"), ("Table 4", "eval"), ("Table 5", "dev"), ("Table 5", "eval"),
        ("Table 6", "dev"), ("Table 6", "eval"), ("Table 7", "dev"), ("Table 7", "eval"),
    ]  # fmt: skip
    for table in made[1:]:
        own = printed(table.number, table.paper).filter(dataset=table.columns[0].dataset)
        shown = [value.text for row in table.cells for cell in row for value in cell.printed]
        assert sorted(shown) == sorted(own["printed"])


def test_our_ensemble_stands_in_the_papers_row(report):
    table = tables([report])[4]
    rows = [row.system for row in table.rows]
    assert rows == ["Transformer-Big single", "Transformer-Big ensemble"]
    place = [column.metric for column in table.columns].index("r_auc")
    ours = report.score("r_auc", system="Transformer", split="eval", subset="full").value
    assert table.cells[1][place].value == ours
    assert table.cells[1][place].printed[0].text == "34.57"
    assert table.cells[0][place].value is None
    assert any("not comparable" in text for text in (table.caption, *table.notes))


def test_the_sets_stand_beside_those_in_print(report):
    sets = tables([report])[0]
    words = dict(zip([row.system for row in sets.rows], sets.words, strict=True))
    assert words["eval_out, in print: Shifts Reddit"] == ("3,063", "16.1", "16.4", "3,065")
    assert words["eval_out"] == ("40", "9.0", "9.0", "–")


def test_figures_are_drawn_with_what_the_reports_have(report, tmp_path, monkeypatch):
    blank_pictures(monkeypatch)
    paths = [path for figure in PAPER.figures([report], tmp_path) for path in figure.paths]
    assert {path.stem for path in paths} == {
        "error_retention_dev", "f1_retention_dev", "error_retention_eval", "f1_retention_eval", "scores_dev",
        "scores_eval", "anomalies",
    }  # fmt: skip
    assert {path.name for path in Path(tmp_path).iterdir()} == {path.name for path in paths}


def test_reports_by_other_errors_make_no_tables(report):
    with pytest.raises(TableError, match="expected a run of the track translation, with reports of egleu"):
        tables([replace(report, task="chrf")])
