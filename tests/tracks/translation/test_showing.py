"""Sentences as a page: coloured, escaped, with their anomalies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shiftbench.errors import TableError, UnknownNameError
from shiftbench.tracks.translation.showing import show
from tests.small_presets import blank_pictures


def write(path: Path, lines: list[dict[str, object]]) -> Path:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    return path


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    return write(tmp_path / "answers.jsonl", [
        {"id": str(k), "source": f"<i>{k}</i>", "emoji": k % 2 == 0, "domain": "talk",
         "hypotheses": [{"text": "a b", "tokens": ["a", "b"], "token_log_probabilities": [-0.1, -2.0]}]}
        for k in range(30)
    ])  # fmt: skip


def test_some_sentences_are_shown_the_same_ones_each_time(answers, tmp_path, monkeypatch):
    blank_pictures(monkeypatch)
    paths = show(answers, tmp_path / "out", rows=5)
    assert set(paths) == {"page", "anomalies"}
    page = paths["page"].read_text("utf-8")
    assert page.count("<li>") == 5
    assert "<i>" not in page
    assert "&lt;i&gt;" in page
    assert '<mark style="--shade: 86%" title="86 %">b </mark>' in page
    assert "30 sentences · 30 hypotheses · token log-probabilities of 1 model" in page
    assert show(answers, tmp_path / "again", rows=5)["page"].read_text("utf-8") == page


def test_one_sentence_is_named_by_its_id_and_its_truth_may_stand_elsewhere(answers, tmp_path, monkeypatch):
    blank_pictures(monkeypatch)
    truth = write(
        tmp_path / "truth.jsonl", [{"id": str(k), "source": f"s{k}", "reference": f"r{k}"} for k in range(40)]
    )
    page = show(answers, tmp_path / "out", id="7", data=truth)["page"].read_text("utf-8")
    assert page.count("<li>") == 1
    assert "r7" in page
    with pytest.raises(UnknownNameError, match="sentence 'x'"):
        show(answers, tmp_path / "out", id="x")
    fewer = write(tmp_path / "fewer.jsonl", [{"id": "0", "source": "s", "reference": "r"}])
    with pytest.raises(TableError, match=r"fewer.jsonl: expected the sentences of .*found none for 29 ids"):
        show(answers, tmp_path / "out", data=fewer)
