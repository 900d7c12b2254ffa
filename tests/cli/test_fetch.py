"""`shiftbench fetch TRACK`: the licence first, then the file, its hash and what to do next."""

from __future__ import annotations

import hashlib
import io
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiftbench.tracks.lesions import layout
from tests.cli.conftest import Shiftbench
from tests.web_server import WebServer, a_tar, rightly, running, simply

BODY = a_tar()
SHA256 = hashlib.sha256(BODY).hexdigest()
FILE = "canonical-partitioned-dataset.tar"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[WebServer]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("SHIFTBENCH_DATA", str(tmp_path / "data"))
    with running() as server:
        server.answers = [rightly(BODY)]
        yield server


def at_a_terminal(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    typed = io.StringIO(answer + "\n")
    monkeypatch.setattr(typed, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", typed)


def test_an_accepted_archive_is_fetched_and_the_next_command_named(shiftbench: Shiftbench, server, tmp_path) -> None:
    said = shiftbench("fetch", "weather", "--accept-licence", "--url", server.url())
    assert said.code == 0, said.err
    path = tmp_path / "data" / "weather" / FILE
    assert path.read_bytes() == BODY
    lines = said.out.splitlines()
    assert lines[0] == f"file:   {path}"
    assert lines[1] == f"size:   {len(BODY):,} bytes"
    assert lines[2].startswith(f"sha256: {SHA256} (recorded now")
    assert lines[3] == f"next:   shiftbench prepare weather {path}"
    again = shiftbench("fetch", "weather", "--url", server.url())
    assert again.code == 0, again.err
    assert "(as recorded)" in again.out
    assert len(server.asked) == 1


def test_to_chooses_the_folder_and_what_the_archive(shiftbench: Shiftbench, server, tmp_path) -> None:
    words = ("--what", "baseline-models", "--to", "my models", "--accept-licence", "--url", server.url())
    said = shiftbench("fetch", "weather", *words, "--unpack")
    assert said.code == 0, said.err
    assert (tmp_path / "my models/baseline-models.tar").read_bytes() == BODY
    assert (tmp_path / "my models/baseline-models/folder/train.csv").stat().st_size == 100_000
    assert "next:" not in said.out


def test_a_place_with_spaces_is_quoted_in_the_next_command(shiftbench: Shiftbench, server) -> None:
    said = shiftbench("fetch", "weather", "--to", "my data", "--accept-licence", "--url", server.url())
    assert f"prepare weather 'my data/{FILE}'" in said.out


def test_without_a_terminal_and_without_acceptance_it_refuses(shiftbench: Shiftbench, server, tmp_path) -> None:
    said = shiftbench("fetch", "weather", "--url", server.url())
    assert said.code == 2
    assert "CC BY-NC-SA 4.0 (https://creativecommons.org/licenses/by-nc-sa/4.0/)" in said.err
    assert "--accept-licence" in said.err
    assert not server.asked
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(("answer", "code", "asked"), [("y", 0, 1), ("n", 2, 0), ("", 2, 0)])
def test_at_a_terminal_it_shows_the_licence_and_asks(
    answer, code, asked, shiftbench: Shiftbench, server, monkeypatch
) -> None:
    at_a_terminal(monkeypatch, answer)
    said = shiftbench("fetch", "weather", "--url", server.url())
    assert (said.code, len(server.asked)) == (code, asked)
    assert "https://creativecommons.org/licenses/by-nc-sa/4.0/" in said.err
    assert "for no commercial purpose" in said.err


def test_sentences_of_reddit_are_fetched_after_a_promise_to_identify_no_one(
    shiftbench: Shiftbench, server, monkeypatch
) -> None:
    at_a_terminal(monkeypatch, "n")
    said = shiftbench("fetch", "translation", "--what", "eval", "--url", server.url("eval-data.tar"))
    assert (said.code, len(server.asked)) == (2, 0)
    assert "make no attempt to identify the users" in said.err.replace("\n", " ")
    said = shiftbench("fetch", "translation", "--list")
    assert said.out.count("no attempt to identify the users") == 2
    said = shiftbench(
        "fetch", "translation", "--what", "eval", "--url", server.url("eval-data.tar"), "--accept-licence"
    )
    assert (said.code, len(server.asked)) == (0, 1)


def test_list_names_every_archive_and_asks_no_one(shiftbench: Shiftbench, server) -> None:
    said = shiftbench("fetch", "weather", "--list")
    assert said.code == 0, said.err
    for name in ("canonical", "train-dev", "eval", "full", "baseline-models"):
        assert f"\n{name} " in "\n" + said.out
    assert said.out.count("https://storage.yandexcloud.net/yandex-research/shifts/weather/") == 5
    assert not server.asked


def test_unknown_names_are_answered_with_the_known(shiftbench: Shiftbench, server) -> None:
    said = shiftbench("fetch", "wether")
    assert said.code == 2
    assert "Did you mean 'weather'" in said.err
    said = shiftbench("fetch", "weather", "--what", "canonicl")
    assert said.code == 2
    assert "Did you mean 'canonical'" in said.err


def test_a_wrong_address_and_a_moved_archive_are_a_line_each(shiftbench: Shiftbench, server) -> None:
    said = shiftbench("fetch", "weather", "--accept-licence", "--url", "file:///etc/passwd")
    assert said.code == 2
    assert "error: 'file:///etc/passwd': expected an address" in said.err
    server.answers = [simply(404)]
    said = shiftbench("fetch", "weather", "--accept-licence", "--url", server.url())
    assert said.code == 2
    assert "found status 404 Not Found" in said.err
    assert "Traceback" not in said.err


def test_verify_hashes_again(shiftbench: Shiftbench, server, tmp_path) -> None:
    words = ("fetch", "weather", "--accept-licence", "--url", server.url())
    assert shiftbench(*words).code == 0
    path = tmp_path / "data/weather" / FILE
    assert shiftbench(*words, "--verify").code == 0
    path.write_bytes(a_tar(fill=b"y"))
    said = shiftbench(*words, "--verify")
    assert said.code == 2
    assert SHA256 in said.err


# --- data under an agreement


def a_zip_of(*names: str) -> bytes:
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as packed:
        for name in names:
            packed.writestr(name, b"scan" * 1_000)
    return body.getvalue()


def scans(folder: str, *numbers: int) -> bytes:
    return a_zip_of(*(f"{folder}/flair/{number}_FLAIR_isovox.nii.gz" for number in numbers))


def test_a_file_under_an_agreement_is_not_asked_for_but_explained(shiftbench: Shiftbench, server, tmp_path) -> None:
    said = shiftbench("fetch", "lesions", "--what", "msseg", "--accept-licence", "--to", "data")
    assert said.code == 2
    for words in ("sign", "zenodo.org/records/7051658", "data/shifts_ms_pt1.zip", "no attempt to identify patients"):
        assert words in " ".join(said.err.split()).replace("- ", "")
    assert not server.asked
    assert not (tmp_path / "data").exists()


def test_the_licence_of_a_file_under_an_agreement_is_asked_when_it_is_there(
    shiftbench: Shiftbench, tmp_path, monkeypatch
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/shifts_ms_pt1.zip").write_bytes(scans("msseg/train", 7))
    at_a_terminal(monkeypatch, "n")
    said = shiftbench("fetch", "lesions", "--what", "msseg", "--to", "data")
    assert said.code == 2
    assert "no attempt to identify patients" in " ".join(said.err.split())
    assert "OFSEP data usage agreement" in " ".join(said.err.split())
    assert not (tmp_path / "data/fetched.json").exists()


def test_a_damaged_file_under_an_agreement_is_refused(shiftbench: Shiftbench, tmp_path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/shifts_ms_pt1.zip").write_bytes(scans("msseg/train", 7)[:-30])
    said = shiftbench("fetch", "lesions", "--what", "msseg", "--to", "data", "--accept-licence", "--unpack")
    assert said.code == 2
    assert sorted(path.name for path in (tmp_path / "data").iterdir() if path.name[0] != ".") == ["shifts_ms_pt1.zip"]


def test_what_is_free_and_what_was_signed_for_become_one_source(shiftbench: Shiftbench, server, tmp_path) -> None:
    server.answers = [rightly(scans("shifts_ms_pt2/best/train", 7))]
    words = ("fetch", "lesions", "--to", "data", "--accept-licence")
    said = shiftbench(*words, "--url", server.url())
    assert said.code == 0, said.err
    assert "`shiftbench fetch lesions --what msseg` says how" in said.out
    assert said.out.splitlines()[-1] == "next:   shiftbench fetch lesions --what open --to data --unpack"
    assert shiftbench(*words, "--unpack").out.splitlines()[-1] == "next:   shiftbench prepare lesions data"
    (tmp_path / "data/shifts_ms_pt1.zip").write_bytes(scans("shifts_ms_pt1/msseg/train", 7, 8))
    said = shiftbench(*words, "--what", "msseg", "--unpack")
    assert said.code == 0, said.err
    assert "says how" not in said.out
    found = layout.found(tmp_path / "data").patients
    assert [(one.id, one.part) for one in found] == [
        ("best-7", "train"), ("msseg-7", "train"), ("msseg-8", "train"),
    ]  # fmt: skip
