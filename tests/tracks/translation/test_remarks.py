"""What is said of references that change scores for another reason than the answers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from shiftbench.track import Task
from shiftbench.tracks.translation import remarks
from shiftbench.tracks.translation.assessing import score_files

PLAIN, TOKENISED = "Well, it sleeps.", "Well , it sleeps ."


@pytest.mark.parametrize(("text", "share"), [(PLAIN, 0.0), (TOKENISED, 1.0), ("3.14 ... no mark", None)])
def test_marks_with_a_space_before_them_are_counted(text, share):
    assert remarks.apart([text] * 30) == share
    assert remarks.apart([text]) is None


@pytest.mark.parametrize(
    ("answer", "reference", "says"),
    [
        (PLAIN, TOKENISED, "careful: m: the references look tokenised (“word .”), the answers do not"),
        (TOKENISED, PLAIN, "careful: m: the answers look tokenised (“word .”), the references do not"),
        (PLAIN, PLAIN, None),
        (TOKENISED, TOKENISED, None),
    ],
)
def test_answers_and_references_that_are_written_differently_are_told(tmp_path: Path, answer, reference, says):
    path = tmp_path / "m.jsonl"
    line = {"text": answer, "reference": reference}
    path.write_text("".join(json.dumps({"id": at, **line}) + "\n" for at in range(20)), "utf-8")
    (found,) = score_files({"m": path}, path, [Task("egleu", "eGLEU", "texts")])
    assert [note.partition(", so")[0] for note in found.notes] == ([] if says is None else [says])


def test_parts_with_other_numbers_of_references_are_told():
    two, one = ("a", "b"), ("a",)
    shifted = np.array([False, False, True, True])
    (said,) = remarks.on_references([two, two, one, one], shifted)
    assert said.startswith("careful: references per sentence: 2 in-domain, 1 shifted. The best of several")
    assert [*remarks.on_references([two, one, one, two], shifted)] == []
    assert [*remarks.on_references([two, two, one, one], None)] == []
    assert [*remarks.on_references([two, two, one, one], shifted | True)] == []
