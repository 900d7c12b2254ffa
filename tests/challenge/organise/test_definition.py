"""The TOML file of a challenge: what is written is read back, and everything that is wrong is named at once."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftbench.challenge import definition
from shiftbench.challenge.definition import MOST, Board, Challenge, Phase
from shiftbench.errors import SettingsError, UnknownNameError

NAMES = st.from_regex(definition.SLUG, fullmatch=True)
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=40)
MOMENTS = st.integers(0, 4 * 10**15)
COUNTS = st.integers(1, MOST)


@st.composite
def phases(draw: st.DrawFn) -> tuple[Phase, ...]:
    def phase(name: str) -> Phase:
        starts, lasts = draw(MOMENTS), draw(st.none() | st.integers(1, 10**15))
        counts = [draw(COUNTS) for _ in range(3)]
        ends = None if lasts is None else starts + lasts
        return Phase(name, starts, ends, counts[0], counts[1], draw(st.booleans()), counts[2])

    return tuple(phase(name) for name in draw(st.lists(NAMES, min_size=1, max_size=3, unique=True)))


BOARDS = st.builds(
    Board, NAMES, TEXTS, TEXTS, phases(), track=TEXTS.filter(bool), task=TEXTS,
    subset=st.sampled_from(["full", "in", "shifted"]), threshold=st.none() | st.floats(0, 1e300),
)  # fmt: skip
CHALLENGES = st.builds(
    Challenge, NAMES, TEXTS, TEXTS, st.lists(BOARDS, min_size=1, max_size=2, unique_by=lambda b: b.slug).map(tuple),
    sign_up=st.booleans(), team_size=COUNTS, rules=TEXTS,
)  # fmt: skip


@settings(max_examples=15, deadline=None)
@given(challenge=CHALLENGES)
def test_what_is_written_is_read_back(challenge: Challenge, tmp_path_factory: pytest.TempPathFactory):
    path = definition.write(tmp_path_factory.mktemp("written") / definition.FILE, challenge)
    assert definition.read(path) == challenge


SHORT = """
slug = "wind"
title = "Wind"
about = "Predict it."
[[boards]]
slug = "table"
title = "Table"
metric = "r_auc"
[[boards.phases]]
name = "open"
starts = 2027-01-31T12:00:00+01:00
"""


def read(folder: Path, text: str) -> Challenge:
    (folder / definition.FILE).write_text(text, "utf-8")
    return definition.read(folder / definition.FILE)


def test_what_is_left_out_has_defaults(tmp_path: Path):
    phase = Phase("open", definition.microseconds(definition.moment(1_801_393_200_000_000)))
    assert read(tmp_path, SHORT) == Challenge(
        "wind", "Wind", "Predict it.", (Board("table", "Table", "r_auc", (phase,)),)
    )
    assert definition.moment(phase.starts).isoformat() == "2027-01-31T11:00:00+00:00"


def test_everything_wrong_is_named_at_once(tmp_path: Path):
    wrong = {
        'slug = "wind"': 'slug = "Wind!"', 'about = "Predict it."': "sign_up = 1", 'metric = "r_auc"': "metric = 3",
        'title = "Table"': 'title = "T"\nsubset = "some"\nthreshold = -1\nsplit = "dev"',
        'name = "open"': 'name = "open"\nper_day = 0\nhidden = "yes"\nends = 2026-01-31T12:00:00Z',
    }  # fmt: skip
    text = SHORT
    for right, other in wrong.items():
        assert text.count(right) == 1
        text = text.replace(right, other)
    with pytest.raises(SettingsError, match="small letters") as raised:
        read(tmp_path, text)
    found = "\n".join(raised.value.problems)
    for word in ("about", "sign_up", "metric", "subset", "threshold", "'split'", "per_day", "hidden", "'Wind!'"):
        assert word in found, word
    assert "boards 1: phases 1" in found


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("+01:00", "", "found no offset"),
        ("name =", 'ends = 2027-01-31T11:00:00Z\nname =', "`ends` after `starts`"),
        ("[[boards.phases]]", "phases = []\n[[extra]]", r"one or more \[\[phases\]\]"),
        ('title = "Wind"', 'title = "Wind', "expected TOML"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, match: str):
    assert old in SHORT
    with pytest.raises(SettingsError, match=match):
        read(tmp_path, SHORT.replace(old, new))


def test_names_of_boards_and_phases_differ(tmp_path: Path):
    twice = SHORT + '[[boards.phases]]\nname = "open"\nstarts = 2027-01-31T12:00:00Z\n'
    with pytest.raises(SettingsError, match="different names of phases"):
        read(tmp_path, twice)


def test_no_file_says_what_makes_one(tmp_path: Path):
    with pytest.raises(SettingsError, match="shiftbench challenge new"):
        definition.read(tmp_path / definition.FILE)


def test_unknown_boards_and_phases_are_told_with_the_known_ones(tmp_path: Path):
    challenge = read(tmp_path, SHORT)
    with pytest.raises(UnknownNameError, match="Known: table"):
        challenge.board("tabel")
    with pytest.raises(UnknownNameError, match="Known: open"):
        challenge.board("table").phase("closed")


def test_a_phase_begins_with_its_first_moment_and_ends_before_its_last():
    phase = Phase("one", 10, 20)
    assert [phase.open(now) for now in (9, 10, 19, 20)] == [False, True, True, False]
    assert Phase("always", 10).open(10**18)


def test_the_file_has_no_empty_entries():
    plain = tomllib.loads(definition.text(Challenge("a", "A", "", (Board("b", "B", "rmse", (Phase("c", 0),)),))))
    assert plain["boards"][0].keys() & {"threshold", "task"} == set()
    assert "ends" not in plain["boards"][0]["phases"][0]
