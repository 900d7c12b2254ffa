"""Real translations: a model with human scores, and systems that translated the same sentences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import real_translations as real

from shiftbench.metrics.translation import sentence_gleu
from shiftbench.scores.ranking import rank_correlation
from shiftbench.tracks.translation import outputs

pytestmark = pytest.mark.needs_shared


@pytest.fixture(scope="module")
def points(shared: Path) -> dict[str, Any]:
    """The reference points of all segments with human scores."""
    found = outputs.read(shared / "data/translation" / real.MLQE, names=real.NAMES)
    known = {name: values for name, values in real.token_measures(found).items() if name in ("mean", "sum")}
    return real.reference_points(found, known)


def test_token_log_probabilities_follow_human_scores_as_known(points):
    assert round(points["pearson"]["dev"], 3) == 0.518
    assert round(points["pearson"]["test20"], 3) == 0.536
    assert {name: round(mean, 1) for name, mean in points["error"].items()} == {"reddit": 22.9, "wikiquote": 58.9}


def test_a_sum_over_tokens_ranks_lengths_until_its_residual_is_taken(points):
    areas = points["areas"]
    assert areas["mean"]["r_auc"] == pytest.approx(11.86, abs=0.005)
    ratios = {name: round(found["rejection_ratio"], 1) for name, found in areas.items()}
    assert ratios == {"mean": 59.6, "sum": 31.8, "sum, linear": 56.7, "sum, isotonic": 56.6}


def test_the_results_that_are_told_have_these_points(points):
    told = json.loads(real.RESULTS.read_text("utf-8"))["mlqe"]["reference_points"]
    assert told["pearson"] == pytest.approx(points["pearson"])
    for name, found in points["areas"].items():
        assert told["areas"][name] == pytest.approx(found)


def test_sentences_on_which_systems_disagree_have_larger_errors(shared):
    news = real.table(shared / "data/translation" / real.NEWS).head(400)
    frame = real.part("eval_in", news.with_columns(domain=news["doc_id"], ref_ru=news["ref_wmt_ru"]), real.IN_BOTH)
    found = real.answers(frame, real.IN_BOTH, real.IN_BOTH)
    for system in found.values():
        assert system.references is not None
        errors = 100 - sentence_gleu(system.texts, [text for (text,) in system.references])
        for name, values in system.uncertainties.items():
            assert rank_correlation(values, errors) > (0.1 if name == "text_entropy" else 0.2), name
        assert len({*system.columns["document"]}) > 10
        assert np.ptp(errors) > 50
