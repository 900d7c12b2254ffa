"""Texts of records as they are read: which, in which order, and how they are coloured."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.tracks.translation.outputs import Outputs
from shiftbench.tracks.translation.reading import MOST_CHARACTERS, passages, pieces


def outputs(texts: list[str], tokens: list[list[str]] | None, lengths: list[int], **further: object) -> Outputs:
    logs = np.log(np.linspace(0.1, 1.0, sum(lengths)))[None]
    return Outputs(
        ["1"], np.array([len(texts)]), texts, lengths=np.array(lengths), log_probabilities=logs,
        tokens=None if tokens is None else [each for own in tokens for each in own], **further,
    )  # type: ignore[arg-type]  # fmt: skip


@pytest.mark.parametrize(
    ("tokens", "shown"),
    [
        (["\u2581Hel", "lo", "\u2581you", "</s>"], ["Hel", "lo", " you"]),
        (["Hel@@", "lo", "you", "don", "&apos;t", "@-@", "</s>"], ["Hel", "lo ", "you ", "don ", "'t ", "- "]),
        ([], []),
    ],
)
def test_tokens_are_joined_as_they_were_split(tokens, shown):
    assert pieces(tokens) == shown


def test_the_source_stands_first_then_hypotheses_by_weight_then_references():
    found = outputs(
        ["bad", "good"], [["bad"], ["good"]], [1, 1], sources=["quelle"], references=[("one", "two")],
        confidences=np.array([0.25, 0.75]),
    )  # fmt: skip
    reader = passages(found)
    assert reader is not None
    (texts,) = reader(np.array([0]))
    assert [text.label for text in texts] == [
        "Source", "Hypothesis 1 (75 %)", "Hypothesis 2 (25 %)", "Reference 1", "Reference 2",
    ]  # fmt: skip
    assert texts[1].pieces == ("good ",)
    assert texts[1].shades == (0.0,)
    assert texts[2].shades == (0.9,)


def test_words_are_coloured_where_their_number_is_that_of_the_tokens_and_nothing_else_is():
    (texts,) = passages(outputs(["one two"], None, [3]))(np.array([0]))  # type: ignore[misc]
    assert texts[0].pieces == ("one ", "two ")
    (texts,) = passages(outputs(["one two"], None, [5]))(np.array([0]))  # type: ignore[misc]
    assert (texts[0].pieces, texts[0].shades) == (("one two",), ())


def test_tokens_of_another_text_stand_below_the_text_that_is_scored():
    (texts,) = passages(outputs(["r/other"], [["Associ@@", "ate"]], [2]))(np.array([0]))  # type: ignore[misc]
    assert [text.label for text in texts] == ["Hypothesis", "Hypothesis, tokens"]
    assert texts[0].pieces == ("r/other",)


def test_tokens_in_another_form_of_the_same_letters_are_those_of_the_text():
    (texts,) = passages(outputs(["caf\u00e9"], [["\u2581cafe", "\u0301"]], [2]))(np.array([0]))  # type: ignore[misc]
    assert [text.label for text in texts] == ["Hypothesis"]


def test_long_texts_are_cut():
    words = [f"w{k}" for k in range(400)]
    (texts,) = passages(outputs([" ".join(words)], [words], [400], sources=["s" * 10**6]))(np.array([0]))  # type: ignore[misc]
    assert len("".join(texts[0].pieces)) == MOST_CHARACTERS + 1
    assert len("".join(texts[1].pieces)) <= MOST_CHARACTERS + 1
    assert texts[1].pieces[-1] == "…"
    assert len(texts[1].pieces) == len(texts[1].shades)
