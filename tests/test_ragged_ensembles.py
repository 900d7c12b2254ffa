"""Hypotheses and masks, whose records differ in length: what is accepted, and their measures against slow twins."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shiftbench.ensembles import Categorical, Hypotheses, Masks, combine
from shiftbench.errors import ArrayError
from shiftbench.measures import uncertainty

LENGTHS, COUNTS = [3, 1, 2, 4, 2], [2, 1, 2]
SHAPES = [[2, 3], [1, 1], [4, 2]]


@pytest.fixture
def hypotheses(rng) -> Hypotheses:
    return Hypotheses(-rng.gamma(1.0, size=(3, 12)), LENGTHS, COUNTS)


@pytest.fixture
def masks(rng) -> Masks:
    return Masks(rng.random((3, 15)), SHAPES)


def test_a_record_keeps_its_hypotheses_and_their_tokens(hypotheses):
    last = hypotheses.select([2])
    assert (last.lengths.tolist(), last.counts.tolist()) == ([4, 2], [2])
    np.testing.assert_array_equal(last.log_probabilities, hypotheses.log_probabilities[:, 6:])
    swapped = hypotheses.select([1, 0])
    assert (swapped.lengths.tolist(), swapped.counts.tolist()) == ([2, 3, 1], [1, 2])
    np.testing.assert_array_equal(swapped.log_probabilities, hypotheses.log_probabilities[:, [4, 5, 0, 1, 2, 3]])


def test_a_volume_has_its_own_shape(masks):
    np.testing.assert_array_equal(masks.volume(2), masks.probabilities[:, 7:].reshape(3, 4, 2))
    assert masks.volume(1).shape == (3, 1, 1)
    np.testing.assert_array_equal(masks.select([2, 0]).volume(1), masks.volume(0))
    assert np.shares_memory(masks.volume(0), masks.probabilities)


def test_blocks_of_records_of_different_length_are_of_about_equal_size(masks, hypotheses):
    assert [rows.stop - rows.start for rows, _ in masks.blocks(values=3 * 7)] == [2, 1]
    assert [rows.stop - rows.start for rows, _ in masks.blocks(values=3 * 9)] == [2, 1]
    assert [rows.stop - rows.start for rows, _ in hypotheses.blocks(values=3 * 6)] == [2, 1]
    assert [rows.stop - rows.start for rows, _ in hypotheses.blocks(values=1)] == [1, 1, 1]


def test_the_score_of_products_is_that_of_a_loop_over_hypotheses_and_tokens(hypotheses):
    found, tokens, lengths = [], list(hypotheses.log_probabilities.T), list(LENGTHS)
    for count in COUNTS:
        scores, totals = [], []
        for length in [lengths.pop(0) for _ in range(count)]:
            logs = [math.log(sum(map(math.exp, tokens.pop(0))) / 3) for _ in range(length)]
            scores.append(-sum(logs) / length)
            totals.append(math.exp(sum(logs)))
        found.append(sum(score * total for score, total in zip(scores, totals, strict=True)) / sum(totals))
    assert uncertainty(hypotheses, "score_pe") == pytest.approx(found, rel=1e-12)


def test_hypotheses_as_long_as_books_do_not_underflow():
    logs = np.full((2, 4000), -1.0)
    logs[:, :2000] = -3.0
    # 0/0 from a sum of about -745 on, if probabilities were multiplied; the second hypothesis is far likelier.
    assert uncertainty(Hypotheses(logs, [2000, 2000], [2]), "score_pe") == pytest.approx([1.0])


def test_the_entropy_of_voxels_is_the_mean_of_that_of_two_classes(masks):
    expected = []
    for record in range(3):
        background = 1 - (foreground := masks.volume(record).reshape(3, -1).astype(float))
        classes = Categorical(np.stack([background, foreground], axis=-1))
        expected.append(uncertainty(classes, "entropy_of_expected").mean())
    assert uncertainty(masks, "voxel_entropy") == pytest.approx(expected, abs=1e-12)
    assert uncertainty(Masks([[0.0, 1.0]], [[2]]), "voxel_entropy") == 0


@pytest.mark.parametrize(
    ("logs", "lengths", "counts", "message"),
    [
        (np.zeros((2, 5)), [2, 2], [2], "lengths: expected 5 tokens in all, as there are, found 4"),
        (np.zeros((2, 5)), [2, 3], [1], "counts: expected 2 hypotheses in all, as there are, found 1"),
        (np.zeros((2, 5)), [5, 0], [2], "lengths: expected numbers >= 1, found 0"),
        (np.zeros((2, 5)), [2.5, 2.5], [2], "lengths: expected integers, found dtype float64"),
        (np.full((2, 5), 0.5), [2, 3], [2], r"values <= 0, found 0.5 \(member 0, token 0; 10 of 10\)"),
        (np.full((2, 5), -np.inf), [2, 3], [2], "log_probabilities: expected finite numbers, found -infinity"),
        (np.zeros(5), [2, 3], [2], r"log_probabilities: expected \[M, L\], found shape \(5,\)"),
    ],
)
def test_invalid_hypotheses_are_refused(logs, lengths, counts, message):
    with pytest.raises(ArrayError, match=message):
        Hypotheses(logs, lengths, counts)


@pytest.mark.parametrize(
    ("probabilities", "shapes", "message"),
    [
        (np.zeros((2, 5)), [[2, 2]], "shapes: expected 5 voxels in all, as there are, found 4"),
        (np.zeros((2, 5)), [[5, 1], [0, 3]], "shapes: expected numbers >= 1, found 0"),
        (np.zeros((2, 5)), [[-5, -1]], "shapes: expected numbers >= 1, found -5"),
        (np.full((2, 5), 1.5), [[5]], r"values in \[0, 1\], found 1.5 \(member 0, voxel 0; 10 of 10\). Logits\?"),
        (np.full((2, 5), np.nan), [[5]], "probabilities: expected finite numbers, found NaN"),
        (np.zeros((2, 5)), [5], r"shapes: expected \[N, R\], found shape \(1,\)"),
    ],
)
def test_invalid_masks_are_refused(probabilities, shapes, message):
    with pytest.raises(ArrayError, match=message):
        Masks(probabilities, shapes)


def test_masks_of_other_shapes_are_not_combined(masks):
    turned = Masks(masks.probabilities, [[3, 2], [1, 1], [2, 4]])
    with pytest.raises(ArrayError, match="combine: expected the same records"):
        combine(masks, turned)
