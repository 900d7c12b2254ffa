"""Sums over shards: scenes that come twice, what is not used, and how counts compare with the printed ones."""

from __future__ import annotations

import pytest

from shiftbench.errors import TableError
from shiftbench.tracks.motion.prepared import totals
from shiftbench.tracks.motion.schema import COUNTS, REQUESTS, SCENES

DRY_MOSCOW = [1, 3, 1, 3, 1]  # day time, season, city, sun phase, precipitation


def note(*scenes, maneuvers=None, unused=None):
    return {"scenes": list(scenes), "maneuvers": maneuvers or {}, "unused": unused or {}}


def scene(name, *, part="train", partition="train", tags=DRY_MOSCOW, requests=1):
    return [name, f"{part}/{name}.pb", tags, partition, requests]


def test_sums_are_those_of_all_shards():
    found = totals.totals(
        [
            note(scene("a"), scene("b", requests=4), maneuvers={"train": [1] + [0] * 9}, unused={"late": 2}),
            note(scene("c", partition=None, tags=[0, 0, 1, 0, 2]), maneuvers={"": [5] * 10}),
            note(scene("d", part="eval", partition="eval_in"), maneuvers={"eval_in": [2] + [0] * 9}),
        ]
    )
    assert found.requests == {"train": 5, "eval_in": 1}
    assert found.partition_scenes() == {"train": 2, "dev_in": 0, "dev_out": 0, "eval_in": 1, "eval_out": 0}
    assert found.partition_tags("train")["maneuver"]["Move Left"] == 1
    assert found.part_tags("train")["maneuver"]["Move Left"] == 6
    assert found.part_tags("train")["day_time"] == {
        "Unknown": 1,
        "Night": 2,
        "Morning": 0,
        "Afternoon": 0,
        "Evening": 0,
    }
    assert found.unused_by_reason() == {"scenes of train in Moscow, precipitation: Rain": 1, "late": 2}


def test_many_scenes_that_come_twice_are_counted():
    twice = [scene(str(number)) for number in range(30)]
    with pytest.raises(TableError, match=r"scene 0: expected one file, found 2 \(train/0\.pb, train/0\.pb\)") as caught:
        totals.totals([note(*twice), note(*twice)])
    assert len(caught.value.problems) == totals.LISTED + 1
    assert caught.value.problems[-1] == "… and 10 more scenes that come twice."


def test_no_request_at_all_is_an_error_that_says_why():
    with pytest.raises(TableError, match=r"found none in 1 scene\. Not used: 3 late\."):
        totals.totals([note(scene("a", requests=0), unused={"late": 3})])


def official():
    """Totals of as many scenes and requests as printed; the tags of a scene are not together in any table."""
    found = totals.Totals()
    for part in ("train", "dev", "eval"):
        names = [name for name in SCENES if name.startswith(part) and name != "eval"]
        for name in names:
            found.scenes[part, name, tuple(DRY_MOSCOW)] = SCENES[name]
            found.requests[name] = REQUESTS.get(name, 1)
        rest = sum(COUNTS[part]["location"].values()) - sum(SCENES[name] for name in names)
        found.scenes[part, "", tuple(DRY_MOSCOW)] = rest
    return found


def test_data_of_the_printed_size_are_compared_with_all_that_is_printed(monkeypatch):
    found = official()
    compared = totals.compared(found, experiment="canonical")
    assert not compared.official
    total = sum(COUNTS["train"]["location"].values())
    expected = f"train, location, published in brackets: Moscow: {total:,} (450,504); Skol"
    assert any(each.startswith(expected) for each in compared.notes)
    monkeypatch.setattr(totals, "COUNTS", {part: found.part_tags(part) for part in COUNTS})
    assert totals.compared(found, experiment="canonical") == totals.Comparison(True)
    found.scenes["dev", "dev_in", tuple(DRY_MOSCOW)] -= 1
    found.scenes["dev", "", tuple(DRY_MOSCOW)] += 1
    found.requests["dev_in"] -= 7
    compared = totals.compared(found, experiment="canonical")
    assert compared.notes == (
        "scenes of partitions, published in brackets: dev_in: 27,035 (27,036)",
        "requests of partitions, published in brackets: dev_in: 409,745 (409,752)",
    )
    assert not compared.official


def test_data_of_another_size_are_not_compared():
    found = totals.Totals()
    found.scenes["train", "train", tuple(DRY_MOSCOW)] = 1000
    assert totals.compared(found, experiment="canonical") == totals.Comparison(False)
