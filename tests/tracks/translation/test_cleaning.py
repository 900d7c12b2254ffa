"""Cleaning a block at a time is cleaning line by line as Moses does; every rule drops what it is named after."""

from __future__ import annotations

import re
import unicodedata

import numpy as np
import pytest
import sacremoses
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftbench.errors import SettingsError
from shiftbench.tracks.translation import cleaning, duplicates
from shiftbench.tracks.translation.cleaning import Cleaning

LIMITS = Cleaning()
SIGNS = "aZ9é— –’‘“”„…«»\xa0()%:;,.?!º\t\r\x0b\x85\u200b\u2028\ufeff `'´ \U0001f600C"
LINES = st.lists(st.text(st.sampled_from(SIGNS), max_size=12), min_size=1, max_size=8)
NAMES = [rule.__name__ for rule in cleaning.RULES]


def line_by_line(line: str, language: str) -> str:
    """A line as the scripts of Moses normalize it, one after the other."""
    text = sacremoses.MosesPunctNormalizer(lang=language, perl_parity=True).normalize(line)
    text = "".join(" " if unicodedata.category(sign)[0] == "C" else sign for sign in text)
    return re.sub(" +", " ", text).strip()


@pytest.mark.parametrize("language", ["en", "ru", "de", "fr"])
@settings(max_examples=40, deadline=None)
@given(lines=LINES)
def test_a_block_is_normalized_as_its_lines_are(language: str, lines: list[str]) -> None:
    found = cleaning.normalized("\n".join(lines), language).split("\n")
    assert found == [line_by_line(line, language) for line in lines]


@settings(max_examples=60, deadline=None)
@given(lines=st.lists(st.text(st.sampled_from('." <a'), max_size=6), min_size=2, max_size=4))
def test_no_substitution_reaches_into_the_next_line(lines: list[str]) -> None:
    found = cleaning.normalized("\n".join(lines), "de").split("\n")
    assert found == [line_by_line(line, "de") for line in lines]


def block(*pairs: tuple[str, str]) -> tuple[bytes, bytes]:
    sources, targets = zip(*pairs, strict=True)
    return "\n".join(sources).encode("utf-8", "surrogateescape"), "\n".join(targets).encode("utf-8", "surrogateescape")


@pytest.mark.parametrize(
    ("rule", "pair"),
    [
        ("bad_encoding", ("a \udcff b", "в")),
        ("bad_encoding", ("broken before: \ufffd", "в")),
        ("empty", ("word", " \u200b ")),
        ("empty", ("", "слово")),
        ("long", ("word " * 300, "слово")),
        ("long", ("a" * 1_000_000, "слово")),
        ("identical", ("12:30", "12:30 ")),
        ("overlapping", ("one two three", "один two три")),
    ],
)
def test_each_rule_drops_its_own_and_is_counted(rule: str, pair: tuple[str, str]) -> None:
    good = ("A good sentence, 1999.", "Хорошее предложение, 1999.")
    sources, targets, counts = cleaning.cleaned(*block(good, pair), LIMITS)
    assert (sources, targets) == ([good[0]], [good[1]])
    assert counts == dict.fromkeys(NAMES, 0) | {rule: 1}


@pytest.mark.parametrize("reddit", cleaning.REDDIT)
def test_the_rules_for_reddit_are_those_on_words_and_letters(reddit: object) -> None:
    found = {rule.__name__: list(rule(["well", "12 :-) 3", "two words", "слово ещё"])) for rule in cleaning.REDDIT}
    assert found["one_word"] == [True, False, False, False]
    assert found["without_letters"] == [False, True, False, False]
    assert reddit.__name__ in found  # type: ignore[attr-defined]


@settings(max_examples=50, deadline=None)
@given(
    sources=st.lists(st.sampled_from(["", "one two", "1", "same", "a\ufffd", "x " * 600]), min_size=1, max_size=9),
    data=st.data(),
)
def test_counts_and_kept_pairs_add_up_and_a_clean_block_stays(sources: list[str], data: st.DataObject) -> None:
    targets = [data.draw(st.sampled_from(["один", "same", "", "one один два", "3"])) for _ in sources]
    ours, theirs, counts = cleaning.cleaned(*block(*zip(sources, targets, strict=True)), LIMITS)
    assert len(ours) + sum(counts.values()) == len(sources)
    if ours:
        assert cleaning.cleaned(*block(*zip(ours, theirs, strict=True)), LIMITS)[:2] == (ours, theirs)


def test_words_of_letters_alone_count_as_overlap() -> None:
    pairs = [("In 1999 , 2 x 3 .", "В 1999 , 2 × 3 ."), ("one two three four", "one два три")]
    found = cleaning.overlapping(*zip(*pairs, strict=True), Cleaning(overlap=1 / 6))
    assert list(found) == [False, True]
    assert not any(cleaning.overlapping(*zip(*pairs, strict=True), Cleaning(overlap=1.01)))


def test_numbers_of_tokens_are_limited_as_in_clean_corpus_n() -> None:
    lengths = np.array([[2, 3], [2, 4], [0, 1], [250, 250], [251, 250], [3, 2]], np.int32)
    broken = [(rule.__name__, rule(lengths, LIMITS)) for rule in cleaning.TOKEN_RULES]
    rows, counts = cleaning.unbroken(len(lengths), broken)
    assert rows.tolist() == [0, 3, 5]
    assert counts == {"token_count": 2, "token_ratio": 1}


def test_moses_splits_hyphens_and_escapes() -> None:
    sources, targets, _ = cleaning.cleaned(*block(("Well-known & new.", "Кто-то.")), Cleaning(moses=True))
    assert sources == ["Well @-@ known &amp; new ."]
    assert targets == ["Кто @-@ то ."]


def test_all_invalid_limits_are_named_at_once() -> None:
    with pytest.raises(SettingsError, match="languages: expected two codes") as caught:
        Cleaning(("english", "ru"), characters=0, overlap=0.0, ratio=float("nan"))
    assert [problem.partition(":")[0] for problem in caught.value.problems] == [
        "languages",
        "characters and tokens",
        "overlap",
        "ratio",
    ]


# --- duplicates ------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    blocks=st.lists(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xy")), max_size=6), max_size=5),
    of=st.sampled_from([1, 2, 8]),
)
def test_copies_are_all_but_the_first_whatever_the_blocks_and_shares(
    blocks: list[list[tuple[str, str]]], of: int
) -> None:
    runs = [duplicates.run([pair[0] for pair in own], [pair[1] for pair in own]) for own in blocks]
    starts = np.cumsum([0, *map(len, blocks)])[:-1].tolist()
    found = sorted(int(place) for share in range(of) for place in duplicates.copies(runs, starts, share, of))
    pairs = [pair for own in blocks for pair in own]
    assert found == [at for at, pair in enumerate(pairs) if pair in pairs[:at]]


def test_sides_are_told_apart() -> None:
    hashes = duplicates.run(["a b", "a"], ["c", "b c"])["hash"]
    assert hashes[0] != hashes[1]


@pytest.mark.parametrize(
    ("pairs", "shares"), [(0, 1), (duplicates.SHARE, 1), (duplicates.SHARE + 1, 2), (62 * 10**6, 16)]
)
def test_shares_hold_about_as_many_hashes_as_fit(pairs: int, shares: int) -> None:
    assert duplicates.shares(pairs) == shares
