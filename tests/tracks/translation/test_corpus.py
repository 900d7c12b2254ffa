"""A corpus in blocks becomes the shards that a pass over all pairs would make, whatever its blocks and their order."""

from __future__ import annotations

import pickle
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from shiftbench.errors import SettingsError, TableError
from shiftbench.io import files
from shiftbench.tracks.translation import cleaning, corpus, example, shards, tokenizing
from shiftbench.tracks.translation.cleaning import Cleaning
from shiftbench.tracks.translation.corpus import Plan
from shiftbench.tracks.translation.shards import Shards
from shiftbench.tracks.translation.tokenizing import Subwords

Pairs = list[tuple[bytes, bytes]]
BLOCK = 64
LIMITS = Cleaning(example.LANGUAGES, tokens=30)


@pytest.fixture(scope="module")
def pairs() -> Pairs:
    """Made-up pairs, some of them there twice, empty, or broken."""
    made = [(each.source.encode(), each.references[0].encode()) for each in example.sentences("train", 300)]
    broken = [(b"", b"one"), (b"a \xff", b"b"), (b"the same", b"the same")]
    return [*made[:200], *broken, *made[90:110], *made[200:], made[5]]


@pytest.fixture(scope="module")
def words(pairs: Pairs) -> Subwords:
    return tokenizing.learnt(
        (side.decode("utf-8", "replace") for pair in pairs for side in pair), 400, languages=example.LANGUAGES
    )


@pytest.fixture(scope="module")
def packed(pairs: Pairs, words: Subwords, tmp_path_factory: pytest.TempPathFactory) -> Plan:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus, "BLOCK", BLOCK)
        return made(tmp_path_factory.mktemp("packed"), pairs, words)


def made(folder: Path, pairs: Pairs, words: Subwords) -> Plan:
    """All steps in this process, the later blocks first."""
    plan = Plan(folder)
    files.write_json(folder / corpus.BEGUN, {"limits": asdict(LIMITS)})
    (folder / corpus.VOCABULARY).write_bytes(words.model)
    counts = corpus.split(pairs, plan)
    files.write_json(plan.file("blocks.json"), {"pairs": counts})
    for number in reversed(range(len(counts))):
        corpus.clean(str(folder), number)
    for share in range(corpus.index(plan)[1]):
        corpus.compare(str(folder), share)
    for number in reversed(range(len(counts))):
        corpus.pack(str(folder), number)
    return plan


def in_one_pass(pairs: Pairs, words: Subwords) -> tuple[list[tuple[list[int], list[int]]], dict[str, int]]:
    """The tokens of the pairs that are kept, and how many of the others there are by reason, pair by pair."""
    seen, found, dropped = set[tuple[str, str]](), list[tuple[list[int], list[int]]](), dict[str, int]()
    for source, target in pairs:
        ours, theirs, counts = cleaning.cleaned(source, target, LIMITS)
        reason = next((name for name, count in counts.items() if count), "")
        tokens = words.encode_cleaned([*ours, *theirs])
        if ours and (ours[0], theirs[0]) in seen:
            reason = corpus.DUPLICATE
        seen.update(zip(ours, theirs, strict=True))
        if not reason:
            lengths = np.array([[len(side) for side in tokens]], np.int32)
            reason = next((rule.__name__ for rule in cleaning.TOKEN_RULES if rule(lengths, LIMITS)[0]), "")
        if reason:
            dropped[reason] = dropped.get(reason, 0) + 1
        else:
            found.append((tokens[0], tokens[1]))
    return found, dropped


def test_shards_hold_what_one_pass_keeps_and_counts_are_the_same(packed: Plan, pairs: Pairs, words: Subwords) -> None:
    known, dropped = in_one_pass(pairs, words)
    blocks = range(len(packed.read("blocks.json")["pairs"]))
    assert len(blocks) > 4
    found = Shards(tuple(sorted(packed.folder.glob("*.bin"))), words.size)
    assert [tuple(side.tolist() for side in found.pair(row)) for row in range(len(found))] == known
    assert found.lengths.tolist() == [[len(source), len(target)] for source, target in known]
    counts = dict.fromkeys((rule.__name__ for rule in (*cleaning.RULES, *cleaning.TOKEN_RULES)), 0) | {
        corpus.DUPLICATE: 0
    }
    for block in blocks:
        for name in ("cleaned.json", "packed.json"):
            for reason, count in packed.read(name, block)["dropped"].items():
                counts[reason] += count
    assert counts == dict.fromkeys(counts, 0) | dropped
    assert min(counts[name] for name in ("empty", "bad_encoding", "identical", "duplicate", "token_count")) > 0


def test_blocks_of_another_size_hold_the_same_pairs(
    packed: Plan, pairs: Pairs, words: Subwords, tmp_path: Path
) -> None:
    whole = made(tmp_path, pairs, words)
    assert whole.shard(0).read_bytes() == b"".join(path.read_bytes() for path in sorted(packed.folder.glob("*.bin")))
    assert not list(whole.unfinished.glob("raw*")) + list(whole.unfinished.glob("clean-*"))


def test_what_is_done_is_not_done_again(packed: Plan) -> None:
    before = {path: path.stat().st_mtime_ns for path in packed.folder.rglob("*")}
    for act in (corpus.clean, corpus.compare, corpus.pack):
        act(str(packed.folder), 0)
    assert {path: path.stat().st_mtime_ns for path in packed.folder.rglob("*")} == before


def test_a_block_without_pairs_that_pass_makes_no_shard(words: Subwords, tmp_path: Path) -> None:
    plan = made(tmp_path, [(b"", b"")], words)
    assert plan.read("packed.json", 0)["pairs"] == 0
    assert not plan.shard(0).exists()


def test_an_unfinished_folder_that_is_damaged_is_named(packed: Plan, tmp_path: Path) -> None:
    with pytest.raises(TableError, match="expected what an unfinished preparation writes"):
        corpus.pack(str(tmp_path), 0)


# --- shards ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "itemsize"), [(2**16, 2), (2**16 + 1, 4)])
def test_tokens_of_every_size_come_back(tmp_path: Path, size: int, itemsize: int) -> None:
    pairs = [([size - 1], [0, 5]), ([3, 2, 1], [7]), ([4], [size - 2] * 9)]
    paths = [shards.write(tmp_path / f"{at}.bin", part, size=size)[0] for at, part in enumerate((pairs[:2], pairs[2:]))]
    found = pickle.loads(pickle.dumps(Shards(tuple(paths), size)))  # as other processes get it
    assert [tuple(side.tolist() for side in found.pair(row)) for row in range(len(found))] == pairs
    assert paths[0].stat().st_size == 7 * itemsize


def test_a_shard_that_is_cut_off_is_named(tmp_path: Path) -> None:
    path, _ = shards.write(tmp_path / "a.bin", [([1, 2], [3])], size=9)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(TableError, match=r"expected 3 tokens as its index tells, found 5 bytes"):
        Shards((path,), 9).pair(0)


# --- the vocabulary --------------------------------------------------------------------------------------------------


def test_sentences_come_back_from_their_tokens(words: Subwords, pairs: Pairs) -> None:
    for text in (pairs[0][0].decode(), pairs[1][1].decode(), ""):
        assert words.decode(words.encode(text)) == text
        assert "".join(words.pieces(words.encode(text))).strip() == text


def test_the_same_texts_give_the_same_vocabulary_and_it_is_pickled_as_its_model(words: Subwords, pairs: Pairs) -> None:
    again = tokenizing.learnt(
        (side.decode("utf-8", "replace") for pair in pairs for side in pair), 400, languages=example.LANGUAGES
    )
    assert again == words
    assert pickle.loads(pickle.dumps(words)).encode("El kan.") == words.encode("El kan.")
    assert len({words.pad, words.unk, words.bos, words.eos}) == 4
    assert words.unk in words.encode("字")


def test_text_is_normalized_as_training_text_is(words: Subwords) -> None:
    assert words.encode("“El kan”\u200b …") == words.encode('"El kan" ...')


def test_a_vocabulary_smaller_than_its_alphabet_is_refused() -> None:
    with pytest.raises(SettingsError, match="vocabulary: expected enough tokens"):
        tokenizing.learnt(["abcdefghijklmnopqrstuvwxyz"] * 9, 10, languages=("en", "ru"))


def test_a_damaged_vocabulary_is_named(tmp_path: Path) -> None:
    (tmp_path / "v").write_bytes(b"nothing of the kind")
    with pytest.raises(TableError, match="expected a vocabulary of SentencePiece"):
        tokenizing.read(tmp_path / "v", languages=("en", "ru"), moses=False)


def test_moses_is_undone() -> None:
    text = "A well-known “word” & more, isn't it?"
    lines, _, _ = cleaning.cleaned(text.encode(), "слово".encode(), Cleaning(moses=True))
    words = tokenizing.learnt(lines * 9, 100, languages=("en", "ru"), moses=True)
    assert words.decode(words.encode(text), side=0) == 'A well-known "word" & more, isn\'t it?'
