"""Rules as settings: they survive being written down, and say all that is wrong with them at once."""

from __future__ import annotations

import datetime
import json
import math
import tomllib
from typing import Any

import pytest

from shiftbench.errors import PartitionError, UnknownNameError
from shiftbench.partition import Rules

EVERYTHING: dict[str, Any] = {
    "id": "id", "seed": 7, "time": "date",
    "windows": {"dev_out": ["2019-07-08", ""], "eval_out": ["2019-05-14", "2019-07-08"]},
    "gap": "7d", "group": "climate", "in_domain": ["dry"], "shifted_dev": ["snow"], "shifted_eval": ["snow", "polar"],
    "ranges": {"dev_out": {"wind": [19.0, 26.0]}, "in_domain": {"wind": ["", 19.0]}}, "where": {"shifted": "wind > 3"},
    "shares": {"train": 0.8, "dev_in": 0.1, "eval_in": 0.1}, "sizes": {"dev_in": 10}, "at_most": {"dev_out": 50},
    "dev_share": 0.25, "eval_first": False,
}  # fmt: skip


@pytest.mark.parametrize(
    "settings",
    [
        EVERYTHING,
        {"time": "date", "fractions": [0.6, 0.1, 0.15, 0.15], "eval_first": True},
        {"time": "date", "shifted_from": "2021-06-30", "gap": "7d"},
        {"group": "city", "shifted": ["a"], "by": "city"},
        {"shares": {"train": 0.83642, "dev_in": 0.01358, "eval_in": 0.15}, "exact": True, "at_most": {"dev_in": 50}},
        {},
    ],
)
def test_rules_survive_a_round_trip_through_json(settings: dict[str, Any]) -> None:
    rules = Rules.from_settings(settings)
    written = json.loads(json.dumps(rules.to_settings(), allow_nan=False))
    assert Rules.from_settings(written) == rules
    assert settings.items() <= written.items()


def test_exact_is_written_only_where_it_is_on() -> None:
    """Manifests of all times carry the rules in their hash."""
    assert "exact" not in Rules().to_settings()
    assert Rules(exact=True).to_settings() == {**Rules().to_settings(), "exact": True}


def test_a_cut_off_may_be_a_date_of_toml() -> None:
    rules = Rules.from_settings(tomllib.loads('time = "date"\nshifted_from = 2021-06-30'))
    assert (rules.shifted_from, rules.fractions) == ("2021-06-30", None)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"shifted_from": 3}, "shifted_from: expected a time column with it, found none"),
        ({"time": "t", "shifted_from": 3, "fractions": "60/10/15/15"}, "one of fractions and shifted_from, found both"),
        ({"time": "t", "shifted_from": math.nan}, "shifted_from: expected an ISO date, a number or '' for open"),
        ({"time": "t", "shifted_from": [3]}, "shifted_from: expected an ISO date"),
    ],
)
def test_a_cut_off_needs_a_time_and_no_other_rule_of_it(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(PartitionError, match=message):
        Rules.from_settings(settings)


def test_rules_are_read_from_toml() -> None:
    text = """
    id = "id"
    time = "date"
    windows.dev_out = [2019-07-08, 2019-09-01]
    windows.eval_out = ["2019-05-14", "2019-07-08"]
    ranges.shifted.wind = [19, inf]
    """
    rules = Rules.from_settings(tomllib.loads(text))
    assert rules.windows == {"dev_out": ("2019-07-08", "2019-09-01"), "eval_out": ("2019-05-14", "2019-07-08")}
    assert rules.ranges == {"shifted": {"wind": (19, None)}}


@pytest.mark.parametrize("fractions", ["60/10/15/15", [60, 10, 15, 15], (0.6, 0.1, 0.15, 0.15)])
def test_fractions_are_read_as_text_percents_or_fractions(fractions: object) -> None:
    assert Rules(time="date", fractions=fractions).fractions == pytest.approx((0.6, 0.1, 0.15, 0.15))  # type: ignore[arg-type]


def test_time_alone_takes_the_default_fractions() -> None:
    assert Rules(time="date").fractions == (0.6, 0.1, 0.15, 0.15)
    assert Rules(time="date", windows={"in_domain": (None, "2020-01-01")}).fractions is None


def test_shares_are_read_as_text_and_a_missing_one_is_none() -> None:
    assert Rules(shares="80/5/15").shares == {"train": 0.8, "dev_in": 0.05, "eval_in": 0.15}  # type: ignore[arg-type]
    assert Rules(shares={"train": 0.9, "eval_in": 0.1}).shares == {"train": 0.9, "dev_in": 0.0, "eval_in": 0.1}


def test_group_values_of_any_kind_become_text() -> None:
    assert Rules(group="wet", shifted=(True,)).shifted == ("true",)  # type: ignore[arg-type]
    assert Rules(group="zone", shifted=3).shifted == ("3",)  # type: ignore[arg-type]


def test_columns_lists_each_role_once() -> None:
    assert Rules(id="id", time="date", group="city", shifted=("a",), by="city").columns() == ["id", "date", "city"]


def test_an_unknown_setting_names_its_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"'fraction'.*Did you mean 'fractions'"):
        Rules.from_settings({"fraction": [0.5, 0, 0.25, 0.25]})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"id": 3}, "id: expected the name of a column, found 3"),
        ({"seed": -1}, "seed: expected a whole number"),
        ({"seed": True}, "seed: expected a whole number"),
        ({"seed": 1.5}, "seed: expected a whole number"),
        ({"time": "d", "fractions": "60/10/15"}, "fractions: expected 4 numbers"),
        ({"time": "d", "fractions": "60/10/15/x"}, "fractions: expected 4 numbers"),
        ({"time": "d", "fractions": [0.6, 0.2, 0.15, 0.15]}, "sum 1.1"),
        ({"time": "d", "fractions": [1.2, -0.2, 0, 0]}, "fractions: expected 4 numbers >= 0"),
        ({"time": "d", "fractions": [math.nan, 0, 0, 1]}, "fractions: expected 4 numbers >= 0"),
        ({"time": "d", "fractions": 3}, "fractions: expected 4 numbers"),
        ({"fractions": [0.6, 0.1, 0.15, 0.15]}, "expected a time column"),
        ({"gap": "7d"}, "gap: expected a time column"),
        ({"windows": {"in_domain": ["", "2020-01-01"]}}, "expected a time column"),
        ({"time": "d", "windows": {"train": ["", ""]}}, r"'train'.*Known: dev_out, eval_out, in_domain"),
        ({"time": "d", "windows": {"dev_out": ["", "2020-01-01"]}}, "Add the other"),
        ({"time": "d", "windows": {"in_domain": "2020"}}, "windows.in_domain: expected a start and an end"),
        ({"time": "d", "windows": {"in_domain": ["2020-01-01"]}}, "windows.in_domain: expected a start and an end"),
        ({"time": "d", "windows": {"in_domain": [[], ""]}}, "windows.in_domain: expected an ISO date"),
        ({"time": "d", "windows": ["2020"]}, "windows: expected partition names"),
        ({"time": "d", "windows": {"in_domain": ["", "x"]}, "fractions": "60/10/15/15"}, "found both"),
        ({"time": "d", "gap": -1}, "gap: expected a number"),
        ({"eval_first": 1}, "eval_first: expected true or false"),
        ({"group": "g"}, "together with its in_domain or shifted values"),
        ({"shifted": ["a"]}, "together with its in_domain or shifted values, found shifted alone. Give both"),
        ({"group": "g", "shifted": {"a": 1}}, "shifted: expected values"),
        ({"group": "g", "shifted": ["a"], "shifted_dev": ["b"]}, "expected shifted, or shifted_dev and shifted_eval"),
        ({"ranges": {"dev": {"wind": [1, 2]}}}, r"Did you mean 'dev_"),
        ({"ranges": {"dev_out": [1, 2]}}, "ranges.dev_out: expected columns"),
        ({"ranges": {"dev_out": {"wind": 3}}}, "ranges.dev_out.wind: expected a start and an end"),
        ({"ranges": {"dev_out": {"wind": ["a", 3]}}}, "ranges.dev_out.wind: expected a number"),
        ({"where": {"dev_out": 3}}, "where.dev_out: expected a condition"),
        ({"where": "wind > 3"}, "where: expected partition names"),
        ({"shares": {"train": 0.7, "dev_in": 0.1}}, "shares: expected 3 numbers .*sum 0.8"),
        ({"shares": {"trian": 1.0}}, "Did you mean 'train'"),
        ({"sizes": {"train": 0}}, "sizes.train: expected a whole number of 1"),
        ({"sizes": {"train": "5"}}, "sizes.train: expected a whole number"),
        ({"at_most": {"dev_out": 1.5}}, "at_most.dev_out: expected a whole number"),
        ({"by": "city", "sizes": {"dev_in": 3}}, "would cut the groups"),
        ({"exact": 1}, "exact: expected true or false, found 1"),
        ({"exact": True, "by": "city"}, "exact: expected neither sizes nor by with it, found by"),
        ({"exact": True, "sizes": {"dev_out": 3}, "by": "city"}, "found sizes and by"),
        ({"dev_share": 1.5}, "dev_share: expected a number of 0 … 1"),
    ],
)  # fmt: skip
def test_a_wrong_setting_is_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(PartitionError, match=message):
        Rules.from_settings(settings)


def test_all_wrong_settings_are_reported_at_once() -> None:
    with pytest.raises(PartitionError, match="seed") as caught:
        Rules.from_settings({"seed": -1, "by": 3, "shares": "1/2/3", "sizes": {"x": 1, "y": 2}})
    assert len(caught.value.problems) == 5


def test_dates_of_python_become_iso_text() -> None:
    rules = Rules(time="d", windows={"in_domain": (None, datetime.date(2020, 1, 2))})  # type: ignore[dict-item]
    assert rules.windows["in_domain"] == (None, "2020-01-02")
