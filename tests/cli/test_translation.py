"""Stored outputs of systems that answer with text, by the command line: no other file is needed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Shiftbench

QUICK = ("--replicates", 20, "--track", "translation")


def answers(path: str, *, seed: int = 0, references: bool = True) -> None:
    rng, lines = np.random.default_rng(seed), []
    for number in range(60):
        text = " ".join(rng.choice(["a", "b", "c", "\u05d0"], 8))
        answer = text if rng.random() < 0.5 else text[::-1]
        line = {"id": f"s{number}", "source": text, "text": answer, "uncertainty": rng.random() + (answer != text)}
        lines.append(line | ({"reference": text} if references else {}) | {"shifted": number > 29})
    Path(path).write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")


def test_a_file_with_its_references_is_its_own_truth(shiftbench: Shiftbench) -> None:
    answers("ours.jsonl")
    said = shiftbench("assess", "ours.jsonl", *QUICK, "--task", "egleu", "--out", "r")
    assert said.code == 0, said.err
    page = Path("r/egleu/report.html").read_text("utf-8")
    assert "Length check" in page
    assert "BLEU" in page
    assert "eGLEU: ours on answers with their references" in page
    recipe = json.loads(Path("r/egleu/report.json").read_text("utf-8"))["recipe"]
    assert recipe["sacrebleu"]["chrf"].startswith("nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:")


def test_references_may_stand_elsewhere_and_without_any_it_is_said_what_is_missing(shiftbench: Shiftbench) -> None:
    answers("truth.jsonl")
    answers("bare.jsonl", references=False)
    said = shiftbench("assess", "bare.jsonl", *QUICK, "--out", "r")
    assert said.code == 2
    assert "each has texts and references (in the file, or by --data) or error, quality or correct" in said.err
    assert not Path("r").exists()
    said = shiftbench("assess", "bare.jsonl", *QUICK, "--data", "truth.jsonl", "--task", "chrf", "--out", "r")
    assert said.code == 0, said.err


def test_systems_are_compared_on_the_references_of_the_first(shiftbench: Shiftbench) -> None:
    answers("ours.jsonl")
    answers("theirs.jsonl", seed=1, references=False)
    said = shiftbench("compare", "ours.jsonl", "theirs.jsonl", *QUICK, "--task", "exact_match", "--out", "c")
    assert said.code == 0, said.err
    report = json.loads(Path("c/exact_match/report.json").read_text("utf-8"))
    assert {"ours", "theirs"} <= {system["name"] for system in report["systems"]}
    assert any(score["measure"] == "disagreement_among_systems" for score in report["scores"])


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"id": "1", "text": "a"}\n{"id": "1", "text": "b"}\n', "id: expected each once, found '1', which line 1 has"),
        ('{"id": "1", "text": "a", "reference": "a", "uncertainty": NaN}\n', "expected a finite number, found nan"),
        ("", "expected at least one record, found none"),
    ],
)
def test_bad_files_end_in_a_sentence(shiftbench: Shiftbench, line: str, says: str) -> None:
    Path("bad.jsonl").write_text(line, "utf-8")
    said = shiftbench("assess", "bad.jsonl", *QUICK, "--out", "r")
    assert said.code == 2
    assert says in said.err
    assert "Traceback" not in said.err
    assert not Path("r").exists()


def test_show_writes_a_page_of_sentences(shiftbench: Shiftbench) -> None:
    answers("ours.jsonl")
    said = shiftbench("show", "translation", "ours.jsonl", "--rows", 3, "--out", "shown")
    assert said.code == 0, said.err
    assert "page:        shown/ours.html" in said.out
    assert Path("shown/ours.html").read_text("utf-8").count("<li>") == 3
