"""The verdict says who leads by the joint metrics where several models stand together."""

from __future__ import annotations

from dataclasses import replace

from shiftbench.report.verdict import verdict
from tests.report.factory import regression


def told(start: str, report) -> list[str]:
    return [sentence for sentence in verdict(report) if sentence.startswith(start)]


def models(report) -> int:
    return sum(system.role in ("ensemble", "model") for system in report.systems)


def test_the_joint_metrics_name_their_leaders_by_subset():
    report = regression()
    assert models(report) >= 2
    for start in ("Lowest R-AUC: in-domain ", "Highest F1-AUC: in-domain "):
        (sentence,) = told(start, report)
        assert "; on shifted data " in sentence
        assert "; over all records " in sentence
        assert "[" in sentence  # with its interval
        assert sentence.count("without a test this may be chance") == 1


def test_the_leader_is_the_system_with_the_best_score():
    report = regression()
    names = {system.name for system in report.systems if system.role in ("ensemble", "model")}
    scores = {name: report.score("r_auc", system=name, split=report.splits[-1], subset="in").value for name in names}
    (sentence,) = told("Lowest R-AUC", report)
    assert sentence.startswith(f"Lowest R-AUC: in-domain “{min(scores, key=scores.__getitem__)}”,")


def test_one_model_beside_baselines_leads_without_a_sentence():
    report = regression()
    first = next(system.name for system in report.systems if system.role == "ensemble")
    alone = tuple(
        replace(system, role="baseline") if system.role in ("ensemble", "model") and system.name != first else system
        for system in report.systems
    )
    assert not told("Lowest R-AUC", replace(report, systems=alone))


def test_nobody_leads_by_a_score_that_is_the_same_of_all():
    report = regression()
    (sentence,) = told("Highest F1-AUC", report)
    assert "on shifted data" in sentence
    same = [
        replace(each, value=0.0, low=None, high=None) if each.metric == "f1_auc" else each for each in report.scores
    ]
    assert told("Highest F1-AUC", replace(report, scores=tuple(same))) == []
