"""Arguments of any other type are refused by the public functions of this track."""

from __future__ import annotations

import json
from dataclasses import fields

import numpy as np
import pytest

from shiftbench.tracks.translation import outputs, texts
from shiftbench.tracks.translation.outputs import Outputs, published
from tests.public_calls import Call, mistakes

LINE = {
    "id": "a", "source": "s", "reference": "r", "error": 1, "quality": 2, "correct": True, "x": 1, "uncertainty": 1,
    "hypotheses": [{"text": "t", "token_log_probabilities": [-1.0], "tokens": ["t"], "score": -1, "confidence": 1,
                    "log_probability": -1}],
}  # fmt: skip
RECORDS = [LINE, {**LINE, "id": "b"}]


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    """Valid calls by name, with the file that they read."""
    path = tmp_path_factory.mktemp("outputs") / "outputs.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in RECORDS))
    found = outputs.read(path)
    reading = {"path": path, "names": {"error": "error"}, "progress": None}
    return {
        "Outputs": Call(Outputs, {field.name: getattr(found, field.name) for field in fields(found)}),
        "Outputs.select": Call(found.select, {"rows": [1]}),
        "read": Call(outputs.read, {**reading, "system": ""}),
        "read_systems": Call(outputs.read_systems, reading),
        "write": Call(outputs.write, {"path": "again.jsonl", "outputs": found}),
        "write_folder": Call(published.write_folder, {"folder": "folder", "outputs": found}),
        "write_fairseq": Call(published.write_fairseq, {"path": "x.txt", "outputs": found}),
        "write_submission": Call(
            published.write_submission, {"path": "x.json", "outputs": found, "uncertainty": np.ones(2)}
        ),
        "write_references": Call(published.write_references, {"path": "y.json", "outputs": found}),
        "texts.read": Call(texts.read, {"source": path, "names": {"error": "error"}, "progress": None}),
        "texts.stream": Call(_streamed, {"source": path, "names": {"error": "error"}}),
    }


def _streamed(**arguments: object) -> list[tuple[bytes, bytes]]:
    return list(texts.stream(**arguments))  # type: ignore[arg-type]


NAMES = (
    "Outputs", "Outputs.select", "read", "read_systems", "write", "write_folder", "write_fairseq", "write_submission",
    "write_references", "texts.read", "texts.stream",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_whatever_is_given_in_place_of_an_argument_is_used_or_refused(name, calls, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert mistakes(calls[name]) == []
