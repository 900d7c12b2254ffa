"""Files are written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
import subprocess
import sys

import pytest

from shiftbench.io import files


def test_a_file_appears_when_the_block_ends_and_not_before(tmp_path):
    target = tmp_path / "deep" / "result.txt"
    with files.replacing(target) as temporary:
        temporary.write_text("whole")
        assert not target.exists()
        assert temporary.parent == target.parent  # one file system, so the move is atomic
    assert target.read_text() == "whole"
    assert list(target.parent.iterdir()) == [target]


def test_a_failure_in_the_middle_keeps_the_old_file_and_leaves_no_part(tmp_path):
    target = tmp_path / "result.txt"
    target.write_text("old")

    def half() -> None:
        with files.replacing(target) as temporary:
            temporary.write_text("ha")
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        half()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_block_that_removes_its_own_file_fails_and_keeps_the_old_one(tmp_path):
    target = tmp_path / "result.txt"
    target.write_text("old")

    def removed() -> None:
        with files.replacing(target) as temporary:
            temporary.unlink()

    with pytest.raises(FileNotFoundError, match="result"):
        removed()
    assert target.read_text() == "old"


KILLED = """
import os, signal, sys
from shiftbench.io import files
with files.replacing(sys.argv[1]) as temporary:
    temporary.write_text("ha")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_kill_in_the_middle_of_a_write_keeps_the_old_file(tmp_path):
    target = tmp_path / "result.txt"
    target.write_text("old")
    killed = subprocess.run([sys.executable, "-c", KILLED, str(target)], check=False)
    assert killed.returncode < 0
    assert target.read_text() == "old"


def test_results_are_as_readable_as_any_file(tmp_path):
    mask = os.umask(0o027)
    try:
        path = files.write_text(tmp_path / "result.txt", "text")
    finally:
        os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_text_is_utf8_with_unix_line_ends(tmp_path):
    path = files.write_text(tmp_path / "result.txt", "°C\nkW²\n")
    assert path.read_bytes() == "°C\nkW²\n".encode()


def test_json_has_sorted_keys_and_the_same_bytes_every_time(tmp_path):
    one = files.write_json(tmp_path / "one.json", {"b": 1, "a": [0.1, "°"]})
    two = files.write_json(tmp_path / "two.json", {"a": [0.1, "°"], "b": 1})
    assert one.read_bytes() == two.read_bytes()
    assert json.loads(one.read_text(encoding="utf-8")) == {"a": [0.1, "°"], "b": 1}


def test_json_keeps_the_order_of_its_keys_where_asked(tmp_path):
    path = files.write_json(tmp_path / "result.json", {"b": 1, "a": 2}, sort_keys=False)
    assert list(json.loads(path.read_text(encoding="utf-8"))) == ["b", "a"]


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_json_without_nan_or_infinity_and_no_file_if_there_is_one(tmp_path, value):
    with pytest.raises(ValueError, match="not JSON compliant"):
        files.write_json(tmp_path / "result.json", {"score": value})
    assert list(tmp_path.iterdir()) == []


def test_sha256_is_the_hash_of_the_bytes(tmp_path):
    content = os.urandom(3_000_000)
    path = tmp_path / "blob"
    path.write_bytes(content)
    assert files.sha256(path) == hashlib.sha256(content).hexdigest()


def test_sha256_of_a_folder_tells_names_and_contents_apart(tmp_path):
    found = set()
    for number, (name, text) in enumerate([("a", "x"), ("b", "x"), ("a", "y"), ("inner/a", "x")]):
        path = tmp_path / f"{number}" / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
        found.add(files.sha256(tmp_path / f"{number}"))
    assert len(found) == 4
    (tmp_path / "empty").mkdir()
    assert files.sha256(tmp_path / "empty") == hashlib.sha256(b"").hexdigest()


def test_a_full_disk_is_told_in_the_same_words_whichever_library_met_it():
    text = "(Error 28: No space left on device) util/system/file.cpp:1080: failed to write"
    assert files.without_room(RuntimeError(text)) == "No space left on device. Make room, or write elsewhere."
    assert files.without_room(OSError(27, "File too large")).startswith("File too large. Raise the limit")
    assert files.without_room(OSError(13, "Permission denied")) == ""
