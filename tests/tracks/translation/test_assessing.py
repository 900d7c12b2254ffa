"""Stored outputs, from files to scores: which records they are, which tasks they have what is needed for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftbench.assessment.assess import build
from shiftbench.errors import PredictionsError, ShiftbenchError
from shiftbench.report.page import html
from shiftbench.scores.intervals import Settings
from shiftbench.track import Task
from shiftbench.tracks.translation.assessing import pictures, score_files
from shiftbench.tracks.translation.evaluation import lengths

TASKS = tuple(
    Task(name, name, "texts", threshold=limit)
    for name, limit in (
        ("egleu", 60.0),
        ("chrf", None),
        ("exact_match", 0.5),
        ("given", None),
    )
)
PARTS = ("dev_in", "dev_out", "eval_in", "eval_out")


def lines(seed: int = 0, *, each: int = 30) -> Iterator[dict[str, Any]]:
    """Answers to sentences of every part, some of them wrong."""
    rng = np.random.default_rng(seed)
    for part in PARTS:
        for number in range(each):
            text = " ".join(rng.choice(["a", "b", "c", "d", "<b>x</b>", "\u05d0\u05d1"], rng.integers(3, 50)))
            wrong = rng.random() < 0.4
            yield {
                "id": f"{part}-{number}", "part": part, "document": number // 3, "domain": ["news", "talk"][number % 2],
                "emoji": number % 5 == 0, "slang": number % 10 == 0, "source": text.upper(), "reference": text,
                "text": "x y z" if wrong else text, "uncertainty": wrong + rng.random(),
            }  # fmt: skip


def write(path: Path, records: Any) -> Path:
    path.write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in records), "utf-8")
    return path


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    return write(tmp_path / "ours.jsonl", lines())


def test_a_file_with_its_own_references_is_scored_by_every_task_it_has_what_is_needed_for(answers):
    found = score_files({"ours": answers}, answers, TASKS)
    assert [each.task.name for each in found] == ["egleu", "chrf", "exact_match"]
    assert [(records.split, records.n) for records, _ in found[0].parts] == [("dev", 60), ("eval", 60)]
    (records, (system,)) = found[0].parts[1]
    assert records.shifted is not None
    assert records.shifted.tolist() == [False] * 30 + [True] * 30
    assert records.clusters is not None
    assert len(np.unique(records.clusters)) == 20  # documents of two parts may share a name
    assert set(records.slices) == {"domain", "emoji", "slang", "words"}
    assert set(records.slices["emoji"]) == {"yes", "no"}
    assert system.measure == "uncertainty"
    recipe = found[0].options.recipe
    assert recipe["sacrebleu"]["bleu"].startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert recipe["anomalies"] == {
        "sentences": 120, "together": {"emoji": {"emoji": 24, "slang": 12}, "slang": {"emoji": 12, "slang": 12}},
    }  # fmt: skip


def test_anomalies_that_occur_together_are_drawn_where_there_are_any(answers, tmp_path):
    (found,) = score_files({"ours": answers}, answers, TASKS[:1])
    (picture,), notes = pictures(found)
    assert (picture.name, notes) == ("anomalies", [])
    assert [label.get_text() for label in picture.image.axes[0].get_yticklabels()] == ["slang", "emoji"]
    bare = write(tmp_path / "bare.jsonl", ({key: each[key] for key in ("id", "reference", "text")} for each in lines()))
    assert pictures(score_files({"bare": bare}, bare, TASKS[:1])[0]) == ([], [])


def test_the_report_shows_texts_and_runs_none(answers):
    (found,) = score_files({"ours": answers}, answers, TASKS[:1])
    report = build(found.parts, replace(found.options, intervals=Settings(replicates=20)))
    page = html(report, pictures={})
    section = page.partition('id="records"')[2].partition("</section>")[0]
    assert "<b>x" not in section
    assert "&lt;b&gt;x&lt;/b&gt;" in section
    assert "\u05d0\u05d1" in section
    assert section.count("<dt>Reference</dt>") == section.count("<dt>Hypothesis</dt>") > 0
    first = next(entry for entry in report.notable if entry.kind == "worst")
    assert (first.answer, first.target) == ("x y z", first.columns["source"].lower())


def test_references_of_a_file_of_their_own_are_matched_by_id_in_any_order(answers, tmp_path):
    every = list(lines())
    truth = write(tmp_path / "truth.jsonl", ({key: each[key] for key in ("id", "part", "reference")} for each in every))
    bare = write(tmp_path / "bare.jsonl", ({"id": each["id"], "text": each["text"]} for each in every[::-1]))
    (ours,), (theirs,) = (
        score_files({"m": file}, data, TASKS[:1]) for file, data in ((answers, answers), (bare, truth))
    )
    for (_, (one,)), (_, (other,)) in zip(ours.parts, theirs.parts, strict=True):
        np.testing.assert_array_equal(one.errors, other.errors)


def test_systems_beside_each_other_have_their_disagreement(answers, tmp_path):
    other = write(tmp_path / "other.jsonl", ({**each, "text": each["reference"]} for each in lines()))
    (found,) = score_files({"ours": answers, "other": other}, answers, TASKS[:1])
    _, systems = found.parts[0]
    for system in systems:
        same = np.array([text == answer for text, answer in zip(systems[0].answers, systems[1].answers, strict=True)])
        assert ((system.uncertainty["disagreement_among_systems"] == 0) == same).all()


def test_systems_with_the_same_answers_have_no_disagreement(answers, tmp_path):
    other = write(tmp_path / "other.jsonl", ({**each, "uncertainty": 1.0 * each["emoji"]} for each in lines()))
    (found,) = score_files({"ours": answers, "other": other}, answers, TASKS[:1])
    assert [list(system.uncertainty) for system in found.parts[0][1]] == [["uncertainty"], ["uncertainty"]]


def test_without_parts_there_is_one_set_and_a_flag_tells_the_shift(tmp_path):
    file = write(
        tmp_path / "a.jsonl",
        ({"id": k, "quality": 90 - 50 * (k > 30), "uncertainty": k, "shifted": k > 30} for k in range(60)),
    )
    (found,) = score_files({"a": file}, file, TASKS)
    ((records, (system,)),) = found.parts
    assert (found.task.name, records.split, found.options.error_name) == ("given", "all", "100 − quality")
    assert records.shifted is not None
    assert int(records.shifted.sum()) == 29
    assert system.errors.max() == 60


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda each: {**each, "part": "test"}, r"part: expected dev_in.* found 'test'. Rename a column"),
        (
            lambda each: {**each, "part": None} | ({"shifted": True} if each["id"] == "dev_in-3" else {}),
            r"shifted: expected true or false for each sentence, found none for 119 of them, such as 'dev_in-0'. Add",
        ),
        (lambda each: {**each, "part": None, "shifted": "maybe"}, r"shifted: expected true or false .*found 'maybe'"),
    ],
)
def test_parts_and_flags_that_make_no_sense_are_refused(tmp_path, change, says):
    file = write(tmp_path / "a.jsonl", map(change, lines()))
    with pytest.raises(ShiftbenchError, match=says):
        score_files({"a": file}, file, TASKS)


def test_missing_answers_and_answers_to_other_sentences_are_refused(answers, tmp_path):
    fewer = write(tmp_path / "fewer.jsonl", list(lines())[1:-2])
    with pytest.raises(
        PredictionsError, match=r"fewer.jsonl: .*60 sentences of dev, found none for 1 \('dev_in-0'\)"
    ) as caught:
        score_files({"fewer": fewer}, answers, TASKS)
    assert len(caught.value.problems) == 2
    other = write(tmp_path / "other.jsonl", ({**each, "id": f"x{each['id']}"} for each in lines()))
    with pytest.raises(
        PredictionsError, match=r"other.jsonl: expected answers to sentences of ours.jsonl .* found others"
    ):
        score_files({"other": other}, answers, TASKS)
    bare = write(tmp_path / "bare.jsonl", ({"id": each["id"], "text": "a"} for each in lines()))
    with pytest.raises(PredictionsError, match=r"each has texts and references .* or error, quality or correct, found"):
        score_files({"bare": bare}, bare, TASKS)


def test_a_split_without_answers_is_named_and_left_out(answers, tmp_path):
    evaluated = write(tmp_path / "eval.jsonl", (each for each in lines() if each["part"].startswith("eval")))
    (found, *_) = score_files({"e": evaluated}, answers, TASKS)
    assert [records.split for records, _ in found.parts] == ["eval"]
    assert found.notes == ("dev: not scored, since there is no answer to any of its 60 sentences",)


def test_lengths_have_groups_of_ten_words():
    assert lengths(["", "a " * 9, "a " * 10, "a " * 39, "a " * 40]).tolist() == [
        "below 10", "below 10", "10 to 19", "30 to 39", "40 or more",
    ]  # fmt: skip
