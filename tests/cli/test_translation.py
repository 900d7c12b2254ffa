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
    assert "eGLEU: ours on the references of the file" in page
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


def raw(path: str, *, heading: str = "no\tru\ten\tgold\thuman\tlogs\tmodel unc\torigin\n") -> None:
    """A table as another project wrote it: none of its columns has a name that is known."""
    rng, rows = np.random.default_rng(0), []
    for number in range(40):
        logs = " ".join(f"{value:.3f}" for value in -rng.random(4))
        cells = (f"n{number}", "а б", "a b c d", "a b c d" if number % 3 else "a b x y", f"{rng.random() * 100:.1f}")
        rows.append("\t".join((*cells, logs, f"{rng.random():.3f}", "talk" if number > 24 else "news")))
    Path(path).write_text(heading + "\n".join(rows) + "\n", "utf-8")


NAMED = (
    "--id", "no", "--answer", "en", "--target", "gold", "--uncertainty", "model unc", "--shifted", "origin == 'talk'",
    "--column", "source=ru", "--column", "quality=human", "--column", "token_log_probabilities=logs",
)  # fmt: skip


def test_columns_of_a_table_are_named_on_the_command_line(shiftbench: Shiftbench) -> None:
    raw("raw.tsv")
    said = shiftbench("assess", "raw.tsv", *QUICK, *NAMED, "--task", "given", "--out", "r")
    assert said.code == 0, said.err
    report = json.loads(Path("r/given/report.json").read_text("utf-8"))
    assert {score["measure"] for score in report["scores"]} >= {"model unc", "score_pe"}
    assert {score["subset"] for score in report["scores"]} >= {"in", "shifted"}
    assert "25 in-domain, 15 shifted" in said.out


def test_columns_that_are_not_known_are_listed_with_the_options_that_name_them(shiftbench: Shiftbench) -> None:
    raw("raw.tsv")
    said = shiftbench("assess", "raw.tsv", *QUICK, "--out", "r")
    assert said.code == 2
    assert "found none of them, and with other names 'no', 'ru', 'en', 'gold'" in said.err
    assert "--answer NAME, --target NAME, --column source=NAME" in said.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--answer", "em"), "hypothesis: expected a column 'em', found 'no', 'ru', 'en'"),
        (("--column", "sauce=ru"), "Did you mean 'source'?"),
        (("--column", "source"), "--column: expected KEY=NAME, found 'source'"),
        (("--answer", "en", "--target", "gold", "--shifted", "origin == 3"), "expected a column, or a condition over"),
        (("--slice", "origin"), "translation does not support --slice"),
        (("--column", "source=ru", "--column", "source=en"), "names: expected a text, or several of reference or"),
    ],
)
def test_names_that_are_wrong_are_refused(shiftbench: Shiftbench, words: tuple[str, ...], says: str) -> None:
    raw("raw.tsv")
    said = shiftbench("assess", "raw.tsv", *QUICK, *words, "--out", "r")
    assert said.code == 2
    assert says in said.err
    assert not Path("r").exists()


def test_references_of_another_table_may_have_names_of_their_own(shiftbench: Shiftbench) -> None:
    raw("raw.tsv")
    header, *rows = (line.split("\t") for line in Path("raw.tsv").read_text("utf-8").splitlines())
    Path("ours.tsv").write_text("".join(f"{row[0]}\t{row[2]}\t{row[6]}\n" for row in [header, *rows]), "utf-8")
    Path("gold.tsv").write_text("".join(f"{row[0]}\t{row[1]}\t{row[3]}\n" for row in [header, *rows]), "utf-8")
    named = ("--id", "no", "--answer", "en", "--target", "gold", "--column", "source=ru")
    beside = ("--data", "gold.tsv", "--task", "egleu", "--out", "r")
    said = shiftbench("assess", "ours.tsv", *QUICK, *named, *beside)
    assert said.code == 0, said.err
    said = shiftbench("assess", "ours.tsv", *QUICK, *named, "--error", "loss", *beside, "--overwrite")
    assert said.code == 2
    assert "error: expected 'loss' in one of ours.tsv, gold.tsv, found it in none" in said.err


def test_columns_are_named_for_a_track_alone(shiftbench: Shiftbench) -> None:
    raw("raw.tsv")
    said = shiftbench("assess", "raw.tsv", "--column", "source=ru", "--out", "r")
    assert said.code == 2
    assert "--column: expected --track beside it" in said.err
    said = shiftbench("assess", "raw.tsv", "--track", "weather", "--data", "raw.tsv", "--column", "a=b", "--out", "r")
    assert said.code == 2
    assert "weather does not support --column" in said.err
