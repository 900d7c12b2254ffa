"""The made-up language pair is regular, has several valid translations, depends on its seed alone, and shifts."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from shiftbench.errors import SettingsError
from shiftbench.tracks.translation import example
from shiftbench.tracks.translation.example import Made, anomalies, grammar, lexicon
from shiftbench.tracks.translation.example.anomalies import ACTS, Text
from shiftbench.tracks.translation.example.grammar import Clause, Phrase
from shiftbench.tracks.translation.example.lexicon import WORDS, Draw, Word
from shiftbench.tracks.translation.example.registers import PARTS, RATES, REGISTERS

COUNT = 1_500
NOUN, VERB = Word("kan", ("brod",), (1,)), Word("seto", ("stajěs",), (0,))


@pytest.fixture(scope="module")
def chats() -> list[Made]:
    return list(example.sentences("eval_out", COUNT))


@pytest.fixture(scope="module")
def news() -> list[Made]:
    return list(example.sentences("dev_in", COUNT))


def test_cases_genders_numbers_and_persons_follow_the_tables() -> None:
    adjective = Word("vugun", ("mopur",), (0,))
    subject = Phrase(NOUN, 2, True, True, adjective, None, (VERB, Phrase(NOUN)))
    clause = Clause(subject, VERB, Phrase(NOUN, 2, False, False), 1, True, place=(2, Phrase(NOUN, plural=True)))
    assert grammar.source([clause]) == "El vugun kanin kon seto el kan da nu seto un kan kum el kanin."
    valid = {grammar.target([clause], True, Draw(row)) for row in range(40)}
    assert valid == {
        "Mopuryje brody, kteryje stajěson brodo, ne stajěsilon brodo so brodami.",
        "Brodo ne stajěsilon mopuryje brody, kteryje stajěson brodo, so brodami.",
    }


def test_you_is_polite_in_formal_registers_only() -> None:
    clause = Clause(Phrase(None, 1), VERB, Phrase(NOUN), 0, False, "?")
    polite, familiar = ({grammar.target([clause], formal, Draw(row)) for row in range(20)} for formal in (True, False))
    assert polite == {"Stajěsote li vij brodo?", "Stajěsote li brodo?"}
    assert familiar == {"Stajěsesh li tis brodo?", "Stajěsesh li brodo?"}


def test_words_are_unique_in_both_languages() -> None:
    words = [word for own in WORDS.values() for word in own]
    function = [word for own in lexicon.FUNCTION.values() for word in own]
    sources = [*function, *(form.lower() for word in words for form in (word.source, word.slang) if form)]
    stems = [stem for word in words for stem in word.stems]
    assert len(set(sources)) == len(sources)
    assert len(set(stems)) == len(stems)


def test_anomalies_come_at_the_rates_of_the_table(chats: list[Made], news: list[Made]) -> None:
    for made, domain in ((chats, "chat"), (news, "news")):
        for name, rates in RATES.items():
            found, rate = sum(each.flags[name] for each in made) / COUNT, rates[domain]
            assert abs(found - rate) <= 4 * math.sqrt(rate * (1 - rate) / COUNT), (domain, name)


@pytest.mark.parametrize("name", ACTS)
def test_each_anomaly_changes_the_sentence_and_nothing_else_does(name: str) -> None:
    for row in range(200):
        draw = Draw(row)
        words = grammar.source(grammar.sentence(REGISTERS["chat"], row, draw)).split()
        text = Text(list(words))
        ACTS[name](text, draw)
        assert text.words != words
        assert all(text.words) or name == "punctuation"


def test_sentences_without_flags_are_those_of_the_grammar(chats: list[Made]) -> None:
    known = {word for own in lexicon.FUNCTION.values() for word in own}
    known |= {word.source.lower() + ending for own in WORDS.values() for word in own for ending in ("", "in")}
    for made in chats:
        if not any(made.flags.values()):
            assert {word.strip(anomalies.MARKS).lower() for word in made.source.split()} <= known


def test_many_sentences_have_several_valid_translations_all_of_them_different(chats: list[Made]) -> None:
    assert all(len(set(made.references)) == len(made.references) for made in chats)
    assert sum(len(made.references) for made in chats) > 2 * COUNT


def test_the_shift_hurts_chats_have_words_that_training_lacks(chats: list[Made], news: list[Made]) -> None:
    known = {word for made in example.sentences("train", COUNT) for word in made.source.lower().split()}
    unknown = [
        sum(word not in known for each in made for word in each.source.lower().split())
        / sum(len(each.source.split()) for each in made)
        for made in (news, chats)
    ]
    assert unknown[0] < 0.05 < 0.1 < unknown[1]


def test_a_sentence_does_not_depend_on_how_many_there_are_and_does_on_the_seed(chats: list[Made]) -> None:
    assert list(example.sentences("eval_out", 20)) == chats[:20]
    assert list(example.sentences("eval_out", 20, 1)) != chats[:20]


def test_the_folder_has_a_line_for_each_sentence(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    folder = example.write(tmp_path / "a", 200, progress=lambda *state: told.append(state))
    lines = {path.name: path.read_text("utf-8").splitlines() for path in folder.glob("[a-z]*")}
    assert set(lines) == {
        "origin.toml",
        "train.qaa",
        "train.qbb",
        *(f"{part}.tsv" for part in PARTS if part != "train"),
    }
    assert len(lines["train.qaa"]) == len(lines["train.qbb"]) == 160
    header = lines["eval_out.tsv"][0].split("\t")
    assert header == [*example.COLUMNS, *RATES]
    assert [len(line.split("\t")) for line in lines["eval_out.tsv"]] == [len(header)] * 11
    assert told[-1] == ("sentences", 200, 200)
    other = example.write(tmp_path / "b", 200)
    assert all((other / name).read_bytes() == (folder / name).read_bytes() for name in lines)


def test_counts_add_up_and_leave_no_part_empty() -> None:
    for rows in (*range(100, 160), 20_000):
        counts = example.counts(rows)
        assert sum(counts.values()) == rows
        assert min(counts.values()) > 0


@pytest.mark.parametrize(
    ("rows", "seed", "message"), [(99, 0, "expected 100 to"), (100, -1, "expected a whole number")]
)
def test_bad_numbers_are_refused(tmp_path: Path, rows: int, seed: int, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        example.write(tmp_path / "made", rows, seed)
    assert not (tmp_path / "made").exists()
