"""Receipts: what an honest server writes is verified offline, and every way to cheat is found out."""

from __future__ import annotations

import json
import stat
import threading
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftbench.challenge import receipts
from shiftbench.challenge.receipts import Key, VerificationError
from shiftbench.errors import SettingsError

SHA = "ab" * 32
Document = dict[str, Any]


def log_of(size: int, name: str = "Anna's") -> list[str]:
    entries = ({"number": n, "team": name, "sha256": SHA, "score": n / 8, "board": "wind"} for n in range(size))
    return [receipts.canonical(each).decode() for each in entries]


def key_in(folder: Path) -> Key:
    folder.mkdir(exist_ok=True)
    return Key.of(folder)


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Key:
    return Key.of(tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Key:
    return Key.of(tmp_path_factory.mktemp("elsewhere"))


def receipt(key: Key, index: int = 3, size: int = 5, name: str = "Anna's") -> Document:
    log = log_of(size, name)
    return receipts.receipt(key, "wind", receipts.tree_of(log), index, log[index])


def checkpoint(key: Key, size: int = 5, name: str = "Anna's") -> Document:
    return receipts.checkpoint(key, "wind", receipts.tree_of(log_of(size, name)), 7)


def growth(key: Key, first: int, size: int) -> Document:
    return receipts.growth(key, "wind", receipts.tree_of(log_of(size)), first)


def resigned(key: Key, document: Document, **changes: Any) -> Document:
    """A document that its own server signs although it is wrong."""
    fields = {
        name: value for name, value in {**document, **changes}.items() if name not in ("kind", "key", "signature")
    }
    return key.signed(document["kind"], **fields)


def test_an_honest_receipt_with_checkpoint_file_and_key_is_verified(key: Key):
    said = receipts.verified([receipt(key), checkpoint(key)], key=key.public, sha256=SHA)
    assert "entry 3 of 5" in said[1]
    assert "score 0.375" in said[1]
    assert said[-1] == "the file is the one that was scored"
    assert "that you named" in said[0]
    assert "compare it" in receipts.verified([receipt(key)])[0]


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_receipts_and_checkpoints_of_any_sizes_hold_together_by_growth(data: st.DataObject, key: Key):
    size = data.draw(st.integers(2, 40))
    first = data.draw(st.integers(1, size - 1))
    early = receipt(key, data.draw(st.integers(0, first - 1)), first)
    receipts.verified([early, checkpoint(key, size), growth(key, first, size)])
    receipts.verified([early, checkpoint(key, size)], log=log_of(size))


def test_the_empty_log_is_the_beginning_of_every_other(key: Key):
    receipts.verified([checkpoint(key, 0), checkpoint(key, 5)])
    receipts.verified([growth(key, 0, 5), checkpoint(key, 0), receipt(key)])
    receipts.verified([growth(key, 0, 0), checkpoint(key, 0)])


SOMETHING: dict[str, Callable[[Any], Any]] = {
    "entry": lambda entry: entry.replace("0.375", "0.125"), "index": lambda index: index + 1,
    "size": lambda size: size + 1, "root": lambda root: "00" + root[2:], "proof": lambda proof: proof[:-1],
    "challenge": lambda slug: slug + "s", "at": lambda at: at - 1, "first": lambda first: first - 1,
    "old": lambda old: "00" + old[2:], "signature": lambda found: "00" + found[2:],
}  # fmt: skip


@pytest.mark.parametrize("kind", ["receipt", "checkpoint", "growth"])
def test_a_change_of_any_field_breaks_the_signature(kind: str, key: Key, other: Key):
    honest = {"receipt": receipt(key), "checkpoint": checkpoint(key), "growth": growth(key, 3, 5)}[kind]
    receipts.verified([honest])
    for name in (*receipts.FIELDS[kind], "signature"):
        forged = {**honest, name: SOMETHING[name](honest[name])}
        assert forged != honest
        with pytest.raises(VerificationError, match="signature"):
            receipts.verified([forged])
    with pytest.raises(VerificationError, match="signature"):
        receipts.verified([{**honest, "key": other.public}])


@pytest.mark.parametrize("name", ["entry", "index", "root", "proof"])
def test_a_server_that_signs_a_wrong_receipt_is_found_out_by_the_proof(name: str, key: Key):
    honest = receipt(key)
    forged = resigned(key, honest, **{name: SOMETHING[name](honest[name])})
    with pytest.raises(VerificationError, match="shows nothing"):
        receipts.verified([forged])


@pytest.mark.parametrize("name", ["first", "old", "root", "proof"])
def test_a_server_that_signs_a_wrong_growth_is_found_out_by_the_proof(name: str, key: Key):
    honest = growth(key, 3, 5)
    with pytest.raises(VerificationError, match="shows nothing"):
        receipts.verified([resigned(key, honest, **{name: SOMETHING[name](honest[name])})])


def test_a_server_that_signs_a_wrong_size_is_found_out_by_the_log_and_by_checkpoints(key: Key):
    forged = resigned(key, receipt(key), size=6)  # the same path leads to the same root
    with pytest.raises(VerificationError, match="its first 6"):
        receipts.verified([forged], log=log_of(7))
    with pytest.raises(VerificationError, match="shows different logs"):
        receipts.verified([forged, checkpoint(key, 6)])
    with pytest.raises(VerificationError, match="5 and 6 entries are one"):
        receipts.verified([forged, checkpoint(key, 5)])


def test_a_receipt_of_another_key_is_a_forgery(key: Key, other: Key):
    with pytest.raises(VerificationError, match="another server, or forged"):
        receipts.verified([receipt(other)], key=key.public)
    with pytest.raises(VerificationError, match="another server, or forged"):
        receipts.verified([checkpoint(key), receipt(other)])


def test_a_score_that_was_changed_after_the_checkpoint_is_found_out(key: Key):
    with pytest.raises(VerificationError, match="two: the server shows different logs"):
        receipts.verified([checkpoint(key), receipt(key, name="Ben's")])
    rewritten = receipts.growth(key, "wind", receipts.tree_of(log_of(9, "Ben's")), 5)
    with pytest.raises(VerificationError, match="two: the server shows different logs"):
        receipts.verified([checkpoint(key), rewritten])
    with pytest.raises(VerificationError, match="expected the log that the documents are of"):
        receipts.verified([checkpoint(key)], log=log_of(9, "Ben's"))


def test_a_log_that_lost_its_end_is_found_out(key: Key):
    with pytest.raises(VerificationError, match="expected proofs that the logs of 4 and 5 entries are one"):
        receipts.verified([receipt(key), checkpoint(key, 4)])
    with pytest.raises(VerificationError, match="its first 5"):
        receipts.verified([receipt(key)], log=log_of(4))


def test_growth_between_other_sizes_links_nothing(key: Key):
    with pytest.raises(VerificationError, match="2 and 5 entries are one"):
        receipts.verified([receipt(key), checkpoint(key, 4), growth(key, 2, 4)])


def test_a_receipt_of_another_file_is_no_receipt_of_this_one(key: Key):
    with pytest.raises(VerificationError, match="Another file was scored"):
        receipts.verified([receipt(key)], sha256="cd" * 32)
    with pytest.raises(VerificationError, match="expected a receipt of the file"):
        receipts.verified([checkpoint(key)], sha256=SHA)


def test_documents_of_two_challenges_do_not_mix(key: Key):
    with pytest.raises(VerificationError, match="those of sun, wind"):
        receipts.verified([receipt(key), resigned(key, checkpoint(key), challenge="sun")])


@pytest.mark.parametrize(
    "entry",
    ['{"number": 0}', '{"number":0,"number":0}', '{"number":0,"a":1}', "[]", "null", "x", '{"number":NaN}'],
)  # fmt: skip
def test_an_entry_that_may_be_read_in_several_ways_is_refused(entry: str, key: Key):
    signed = receipts.receipt(key, "wind", receipts.tree_of([entry]), 0, entry)
    with pytest.raises(VerificationError, match="canonical JSON"):
        receipts.verified([signed])


def test_an_entry_in_the_place_of_another_is_refused(key: Key):
    entry = log_of(2)[1]
    signed = receipts.receipt(key, "wind", receipts.tree_of([entry]), 0, entry)
    with pytest.raises(VerificationError, match="expected entry 0, found 1"):
        receipts.verified([signed])


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "letter"}, {"kind": 1}, {"index": -1}, {"index": True}, {"index": 1.0}, {"size": 2**60}, {"root": "x"},
        {"root": "AB" * 32}, {"proof": "ab"}, {"proof": True}, {"proof": [1]}, {"proof": ["ab"]}, {"entry": None},
        {"key": "ab"}, {"signature": ""}, {"entry": "\ud800"}, {"challenge": "\udfff"}, {"extra": 1},
    ],
)  # fmt: skip
def test_fields_of_another_form_are_refused(change: Document, key: Key):
    with pytest.raises(VerificationError, match=r"expected (a document of kind|every field)"):
        receipts.verified([{**receipt(key), **change}])


def test_missing_fields_are_refused(key: Key):
    for name in receipts.FIELDS["receipt"]:
        short = deepcopy(receipt(key))
        del short[name]
        with pytest.raises(VerificationError, match=f"{name} missing"):
            receipts.verified([short])
    with pytest.raises(VerificationError, match="expected a receipt or a checkpoint, found none"):
        receipts.verified([])


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ('{"kind": "receipt", "kind": "checkpoint"}', "twice"), ("[", "expected JSON"), ("[]", "expected receipts"),
        ("7", "expected receipts"), ("[" * 10_000, "expected JSON"),
    ],
)  # fmt: skip
def test_files_that_hold_no_documents_are_refused(text: str, match: str, tmp_path: Path):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(VerificationError, match=match):
        receipts.read(tmp_path / "a.json")
    with pytest.raises(VerificationError, match="Check the path"):
        receipts.read(tmp_path / "b.json")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["ab" * 32, "{}"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3), max_leaves=6,
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_whatever_stands_in_a_document_it_is_refused_in_words(data: st.DataObject, key: Key):
    kind = data.draw(st.sampled_from([*receipts.FIELDS]))
    honest = {"receipt": receipt(key), "checkpoint": checkpoint(key), "growth": growth(key, 3, 5)}[kind]
    changes = data.draw(st.dictionaries(st.sampled_from([*honest]), JSON, min_size=1))
    forged = {**honest, **changes}
    if forged != honest:
        with pytest.raises(VerificationError, match="expected"):
            receipts.verified([forged])
    fields = {name: value for name, value in changes.items() if name not in ("kind", "key", "signature")}
    try:
        signed = resigned(key, honest, **fields)
    except (ValueError, UnicodeEncodeError):  # what no server can write
        return
    with suppress(VerificationError):  # and nothing else
        receipts.verified([signed])


def test_a_file_may_hold_several_documents(key: Key, tmp_path: Path):
    written = [receipt(key, name="Zoë <b>"), checkpoint(key, name="Zoë <b>")]
    (tmp_path / "a.json").write_text(json.dumps(written))
    receipts.verified(receipts.read(tmp_path / "a.json"))


def test_a_name_cannot_control_the_terminal(key: Key):
    assert "\x1b" not in "".join(receipts.verified([receipt(key, name="\x1b[2J")]))


def test_the_key_is_private_made_once_and_kept(tmp_path: Path):
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(key_in(tmp_path / "s").public)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len({*found}) == 1
    assert stat.S_IMODE((tmp_path / "s" / receipts.KEY).stat().st_mode) == 0o600
    assert [path.name for path in (tmp_path / "s").iterdir()] == [receipts.KEY]
    assert Key.of(tmp_path / "s").public == found[0]


def test_a_damaged_key_is_refused_and_not_replaced(tmp_path: Path):
    (tmp_path / receipts.KEY).write_text("not a key")
    with pytest.raises(SettingsError, match="Bring it back from a backup"):
        Key.of(tmp_path)
    assert (tmp_path / receipts.KEY).read_text() == "not a key"
