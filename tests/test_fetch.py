"""Fetching from a server that breaks off, lies about sizes, sends wrong bytes; and taking archives apart safely."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections import namedtuple
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shiftbench.errors import UnknownNameError
from shiftbench.io import fetch as fetching
from shiftbench.io.fetch import Archive, Fetched, FetchError, Licence, Patience, container, download, unpack, unpacking
from shiftbench.io.fetch.download import _require_ours
from shiftbench.tracks import TRACKS
from tests.web_server import (
    WebServer,
    a_tar,
    breaking_off,
    breaking_off_the_rest,
    rightly,
    running,
    silently,
    simply,
)

LICENCE = Licence("CC BY 0.0", "https://licences.example/by", "say who made it.")
BODY = a_tar()
SHA256 = hashlib.sha256(BODY).hexdigest()
PAGE = b"<!DOCTYPE html><html>Please log in</html>" + b" " * 2000


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[WebServer]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with running() as server:
        server.answers = [rightly(BODY)]
        yield server


@pytest.fixture
def archive(server: WebServer) -> Archive:
    return Archive("all", server.url(), "data.tar", LICENCE, "everything")


class Clock:
    """Sleeps without taking time."""

    def __init__(self) -> None:
        self.waited: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)


def fetch(archive: Archive, folder: Path, *, tries: int = 3, timeout_s: float = 5, **options: object) -> Fetched:
    patience = Patience(tries=tries, timeout_s=timeout_s, sleep=Clock().sleep)
    return fetching.fetch(archive, folder, **{"accept_licence": True, "patience": patience, **options})  # type: ignore[arg-type]


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {".fetch.lock"}


# --- what goes well


def test_what_arrives_is_what_was_sent_and_its_size_and_hash_are_recorded(archive, server, tmp_path):
    fetched = fetch(archive, tmp_path)
    assert fetched == Fetched(tmp_path / "data.tar", len(BODY), SHA256, new=True)
    assert fetched.path.read_bytes() == BODY
    assert names(tmp_path) == {"data.tar", "fetched.json"}
    entry = json.loads((tmp_path / "fetched.json").read_text())["data.tar"]
    assert (entry["url"], entry["size"], entry["sha256"], entry["etag"]) == (archive.url, len(BODY), SHA256, '"one"')


def test_a_file_that_is_there_is_not_fetched_again(archive, server, tmp_path):
    fetch(archive, tmp_path)
    for options in ({}, {"verify": True}, {"accept_licence": False}):
        assert fetch(archive, tmp_path, **options) == Fetched(tmp_path / "data.tar", len(BODY), SHA256, new=False)
    assert len(server.asked) == 1


def test_progress_ends_at_the_whole_for_the_download_and_for_the_hash(archive, tmp_path):
    seen: dict[str, list[tuple[int, int]]] = {}
    fetch(archive, tmp_path, progress=lambda stage, done, total: seen.setdefault(stage, []).append((done, total)))
    assert set(seen) == {"download", "check"}
    for steps in seen.values():
        assert steps[-1] == (len(BODY), len(BODY))
        assert steps == sorted(steps)


def test_a_file_put_there_by_hand_is_recorded_like_a_fetched_one(archive, server, tmp_path):
    (tmp_path / "data.tar").write_bytes(BODY)
    assert fetch(archive, tmp_path) == Fetched(tmp_path / "data.tar", len(BODY), SHA256, new=True)
    assert not server.asked
    assert "data.tar" in json.loads((tmp_path / "fetched.json").read_text())


def test_two_archives_in_one_folder_keep_their_own_entries(archive, server, tmp_path):
    fetch(archive, tmp_path)
    fetch(replace(archive, file="other.tar"), tmp_path)
    assert sorted(json.loads((tmp_path / "fetched.json").read_text())) == ["data.tar", "other.tar"]


def test_a_redirect_is_followed_and_takes_the_range_along(archive, server, tmp_path):
    moved = simply(302, Location="/elsewhere.tar")
    server.answers = [breaking_off(BODY, 5_000), moved, rightly(BODY)]
    assert fetch(archive, tmp_path).sha256 == SHA256
    assert server.asked[-1]["path"] == "/elsewhere.tar"
    assert server.asked[-1]["range"] == "bytes=5000-"


# --- what breaks off


def test_after_a_break_only_the_rest_is_asked_for(archive, server, tmp_path):
    server.answers = [breaking_off(BODY, 30_000), rightly(BODY)]
    assert fetch(archive, tmp_path).path.read_bytes() == BODY
    assert "range" not in server.asked[0]
    assert server.asked[1]["range"] == "bytes=30000-"
    assert server.asked[1]["if-range"] == '"one"'


def test_the_next_call_goes_on_where_the_last_one_gave_up(archive, server, tmp_path):
    server.answers = [breaking_off(BODY, 30_000), simply(503)]
    with pytest.raises(FetchError, match=r"within 2 tries, found status 503.*30,000 bytes are kept"):
        fetch(archive, tmp_path, tries=2)
    assert (tmp_path / "data.tar.part").read_bytes() == BODY[:30_000]
    server.answers, server.asked = [rightly(BODY)], []
    assert fetch(archive, tmp_path).sha256 == SHA256
    assert [asked["range"] for asked in server.asked] == ["bytes=30000-"]


def test_ctrl_c_leaves_the_part_for_the_next_call(archive, server, tmp_path, monkeypatch):
    def interrupt(stage: str, done: int, total: int) -> None:
        if done > 60_000:
            raise KeyboardInterrupt

    monkeypatch.setattr(download, "CHUNK", 10_000)
    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        fetch(archive, tmp_path, progress=interrupt)
    kept = (tmp_path / "data.tar.part").stat().st_size
    assert 60_000 < kept <= 70_000
    assert fetch(archive, tmp_path).path.read_bytes() == BODY
    assert server.asked[-1]["range"] == f"bytes={kept}-"


def test_a_broken_answer_in_chunks_is_continued_and_its_size_learnt(archive, server, tmp_path):
    chunk = b"9000\r\n" + BODY[:30_000]
    server.answers = [
        simply(200, chunk, ETag='"one"', Content_Length=None, Transfer_Encoding="chunked"),
        breaking_off_the_rest(BODY, 30_000, 20_000),
        rightly(BODY),
    ]
    assert fetch(archive, tmp_path).path.read_bytes() == BODY
    assert [asked.get("range") for asked in server.asked] == [None, "bytes=30000-", "bytes=50000-"]


def test_tries_are_counted_only_while_nothing_is_gained(archive, server, tmp_path):
    def next_thousand(handler) -> None:
        start = int(handler.headers.get("Range", "bytes=0-")[6:-1])
        status = 206 if start else 200
        place = f"bytes {start}-{len(BODY) - 1}/{len(BODY)}" if start else None
        piece = BODY[start : start + 10_000]
        handler.say(status, piece, ETag='"one"', Content_Range=place, Content_Length=len(BODY) - start)

    server.answers = [next_thousand]
    assert fetch(archive, tmp_path, tries=2).sha256 == SHA256
    assert len(server.asked) == -(-len(BODY) // 10_000)


def test_waits_double_up_to_a_minute_and_end_with_the_tries(archive, server, tmp_path):
    server.answers, clock = [simply(500)], Clock()
    with pytest.raises(FetchError, match=r"within 9 tries, found status 500"):
        fetch(archive, tmp_path, patience=Patience(tries=9, sleep=clock.sleep))
    assert clock.waited == [1, 2, 4, 8, 16, 32, 60, 60]
    assert len(server.asked) == 9


def test_a_server_that_recovers_is_forgiven(archive, server, tmp_path):
    server.answers = [simply(503), simply(500), rightly(BODY)]
    assert fetch(archive, tmp_path).sha256 == SHA256


def test_a_server_that_ignores_ranges_starts_over(archive, server, tmp_path):
    server.answers = [breaking_off(BODY, 30_000), simply(200, BODY, ETag='"one"')]
    assert fetch(archive, tmp_path).path.read_bytes() == BODY


def test_a_file_changed_between_two_tries_is_never_glued_to_its_old_start(archive, server, tmp_path):
    other = a_tar(fill=b"y")
    server.answers = [breaking_off(BODY, 30_000), rightly(other, etag='"two"')]
    assert fetch(archive, tmp_path).path.read_bytes() == other


@pytest.mark.parametrize("headers", [{"ETag": '"two"'}, {"Content_Range": "bytes 1-2/3"}, {"Content_Range": "rubbish"}])
def test_the_rest_of_another_file_is_given_up_though_the_server_calls_it_partial(headers, archive, server, tmp_path):
    rest = {"ETag": '"one"', "Content_Range": f"bytes 30000-{len(BODY) - 1}/{len(BODY)}"} | headers
    server.answers = [breaking_off(BODY, 30_000), simply(206, BODY[30_000:], **rest), rightly(BODY)]
    assert fetch(archive, tmp_path).path.read_bytes() == BODY
    assert "range" not in server.asked[-1]


@pytest.mark.parametrize("etag", [None, 'W/"weak"'])
def test_without_a_mark_of_the_version_a_part_is_not_continued(etag, archive, server, tmp_path):
    server.answers = [breaking_off(BODY, 30_000, etag), simply(200, BODY)]
    assert fetch(archive, tmp_path).sha256 == SHA256
    assert "range" not in server.asked[1]


def test_the_date_marks_the_version_where_there_is_no_etag(archive, server, tmp_path):
    date = "Wed, 21 Oct 2026 07:28:00 GMT"
    server.answers = [breaking_off(BODY, 30_000, None, Last_Modified=date), rightly(BODY, date)]
    fetch(archive, tmp_path)
    assert server.asked[1]["if-range"] == date


def test_a_part_from_another_address_is_not_continued(archive, server, tmp_path):
    server.answers = [breaking_off(BODY, 30_000), simply(404)]
    with pytest.raises(FetchError, match="status 404"):
        fetch(archive, tmp_path)
    server.answers, server.asked = [rightly(BODY)], []
    fetch(replace(archive, url=server.url("mirror.tar")), tmp_path)
    assert "range" not in server.asked[0]


@pytest.mark.parametrize(
    "note", [None, "", "[]", '{"url": 1}', '{"url": "u", "size": "many", "etag": "e", "last_modified": 0}']
)
def test_a_part_or_a_note_that_no_fetch_has_left_is_refused_by_name_and_stays(note, archive, server, tmp_path):
    mine = {"data.tar.part": "years of work"} | ({} if note is None else {"data.tar.part.json": note})
    for name, text in mine.items():
        (tmp_path / name).write_text(text)
    for _ in range(2):
        with pytest.raises(FetchError, match=r"data\.tar\.part: expected nothing there, .* Move it away") as caught:
            fetch(archive, tmp_path)
        assert ("data.tar.part.json: expected the note" in str(caught.value)) == (note is not None)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == mine
    assert not server.asked
    for name in mine:
        (tmp_path / name).unlink()
    assert fetch(archive, tmp_path).sha256 == SHA256


def test_a_part_that_is_longer_than_its_note_says_or_a_link_is_nobodys_but_its_owners(archive, server, tmp_path):
    part, note = tmp_path / "data.tar.part", {"url": archive.url, "size": 5, "etag": '"one"', "last_modified": None}
    (tmp_path / "data.tar.part.json").write_text(json.dumps(note))
    part.write_bytes(b"longer")
    with pytest.raises(FetchError, match=r"data\.tar\.part: expected nothing there"):
        fetch(archive, tmp_path)
    part.rename(tmp_path / "mine")
    part.symlink_to("mine")
    with pytest.raises(FetchError, match=r"data\.tar\.part: expected nothing there"):
        fetch(archive, tmp_path)
    assert (tmp_path / "mine").read_bytes() == b"longer"


def test_what_was_rejected_earlier_is_never_replaced(archive, server, tmp_path):
    (tmp_path / "data.tar.rejected").write_text("mine")
    server.answers = [rightly(a_tar(fill=b"y")), rightly(a_tar(fill=b"z"))]
    for name in ("data.tar.rejected.2", "data.tar.rejected.3"):
        with pytest.raises(FetchError, match=rf"kept as .*{name} "):
            fetch(replace(archive, sha256=SHA256), tmp_path)
    assert (tmp_path / "data.tar.rejected").read_text() == "mine"


def test_a_file_that_is_put_there_during_the_download_is_not_replaced(archive, server, tmp_path):
    def meanwhile(stage: str, done: int, total: int) -> None:
        (tmp_path / "data.tar").write_text("mine")

    with pytest.raises(
        FetchError, match=r"data\.tar: expected nothing there, found a file that another program created"
    ):
        fetch(archive, tmp_path, progress=meanwhile)
    assert (tmp_path / "data.tar").read_text() == "mine"
    (tmp_path / "data.tar").unlink()
    assert fetch(archive, tmp_path).sha256 == SHA256


def test_a_whole_part_is_not_asked_for_again(archive, server, tmp_path):
    (tmp_path / "data.tar.part").write_bytes(BODY)
    note = {"url": archive.url, "size": len(BODY), "etag": None, "last_modified": None}
    (tmp_path / "data.tar.part.json").write_text(json.dumps(note))
    assert fetch(archive, tmp_path).sha256 == SHA256
    assert not server.asked


def test_a_silent_server_is_given_up_after_the_time_limit(archive, server, tmp_path):
    server.answers = [silently(1.0)]
    with pytest.raises(FetchError, match=r"within 2 tries.*timed out"):
        fetch(archive, tmp_path, tries=2, timeout_s=0.1)


def test_a_server_that_stops_in_the_middle_is_asked_for_the_rest(archive, server, tmp_path):
    def stall(handler) -> None:
        handler.say(200, BODY[:30_000], ETag='"one"', Content_Length=len(BODY))
        silently(0.5)(handler)

    server.answers = [stall, rightly(BODY)]
    assert fetch(archive, tmp_path, timeout_s=0.1).sha256 == SHA256
    assert server.asked[1]["range"] == "bytes=30000-"


def test_no_server_at_all_is_named_with_its_address(tmp_path):
    with running() as gone:
        url = gone.url()
    found = rf"{url}: expected the file within 2 tries, found no connection.*\. Try again later, or name"
    with pytest.raises(FetchError, match=found):
        fetch(Archive("all", url, "data.tar", LICENCE, ""), tmp_path / "new", tries=2)
    assert not (tmp_path / "new").exists(), "nothing has come"


# --- what lies


def test_a_server_that_promises_more_than_it_has_is_named_and_nothing_becomes_a_file(archive, server, tmp_path):
    def boasting(handler) -> None:
        if "Range" in handler.headers:
            handler.say(416, Content_Range=f"bytes */{len(BODY)}")
        else:
            handler.say(200, BODY, ETag='"one"', Content_Length=len(BODY) + 7_000)

    server.answers = [boasting]
    with pytest.raises(FetchError, match=r"within 3 tries"):
        fetch(archive, tmp_path)
    assert not (tmp_path / "data.tar").exists()
    assert len(server.asked) <= 6


def test_a_server_that_promises_less_than_it_sends_gives_a_tar_cut_off(archive, server, tmp_path):
    server.answers = [simply(200, BODY, ETag='"one"', Content_Length=50_000)]
    with pytest.raises(FetchError, match=r"found one that is cut off or damaged at 50,000 bytes") as caught:
        fetch(archive, tmp_path)
    assert "data.tar.part" not in str(caught.value)  # it has another name now
    assert not (tmp_path / "data.tar").exists()
    assert (tmp_path / "data.tar.rejected").read_bytes() == BODY[:50_000]


def test_a_size_other_than_the_published_one_is_refused_before_the_download(archive, server, tmp_path):
    with pytest.raises(FetchError, match=r"expected 5 bytes as published, found 10[\d,]+"):
        fetch(replace(archive, size=5), tmp_path)
    assert names(tmp_path) == set()


def test_wrong_bytes_of_the_right_length_are_refused_by_the_published_hash(archive, server, tmp_path):
    other = a_tar(fill=b"y")
    server.answers = [rightly(other)]
    with pytest.raises(FetchError, match=rf"expected the published SHA-256 {SHA256}, found [0-9a-f]{{64}}") as caught:
        fetch(replace(archive, sha256=SHA256), tmp_path)
    assert "data.tar.rejected" in str(caught.value)
    assert names(tmp_path) == {"data.tar.rejected"}
    server.answers = [rightly(BODY)]
    assert fetch(replace(archive, sha256=SHA256), tmp_path).sha256 == SHA256


def test_wrong_bytes_are_refused_by_the_hash_of_the_first_use(archive, server, tmp_path):
    fetch(archive, tmp_path).path.unlink()
    server.answers = [rightly(a_tar(fill=b"y"))]
    with pytest.raises(FetchError, match=rf"expected the data\.tar of 20\d\d-.*SHA-256 {SHA256}.*If you trust"):
        fetch(archive, tmp_path)
    assert not (tmp_path / "data.tar").exists()


@pytest.mark.parametrize("file", ["data.tar", "data.tar.gz", "data.tgz", "data.zip"])
def test_a_web_page_in_the_place_of_an_archive_is_refused_at_its_first_bytes(file, archive, server, tmp_path):
    server.answers = [simply(200, PAGE, Content_Type="text/html")]
    with pytest.raises(FetchError, match=r"expected a (tar|tar\.gz|zip) file, found a web page .*DOCTYPE"):
        fetch(replace(archive, file=file), tmp_path)
    assert names(tmp_path) == set()


def test_a_short_page_is_refused_too_and_so_are_other_bytes(archive, server, tmp_path):
    for body, found in ((b"<p>gone", "a web page"), (b"\x00\x01" * 700, "something else")):
        server.answers = [simply(200, body)]
        with pytest.raises(FetchError, match=found):
            fetch(archive, tmp_path)


def test_an_archive_without_a_known_ending_may_hold_anything(archive, server, tmp_path):
    server.answers = [simply(200, PAGE)]
    assert fetch(replace(archive, file="page.bin"), tmp_path).size == len(PAGE)


@pytest.mark.parametrize("length", [0, None])
def test_an_empty_answer_is_no_file(length, archive, server, tmp_path):
    server.answers = [simply(200, Content_Length=length)]
    with pytest.raises(FetchError, match="found an end after 0 of"):
        fetch(replace(archive, file="data.bin"), tmp_path)
    assert names(tmp_path) == set()


def test_a_length_not_said_is_no_obstacle(archive, server, tmp_path):
    server.answers = [simply(200, BODY, Content_Length=None)]
    assert fetch(archive, tmp_path).path.read_bytes() == BODY


@pytest.mark.parametrize(("status", "said"), [(404, "status 404 Not Found"), (403, "status 403"), (206, "status 206")])
def test_a_refusal_ends_at_once(status, said, archive, server, tmp_path):
    server.answers = [simply(status, BODY)]
    with pytest.raises(FetchError, match=said):
        fetch(archive, tmp_path)
    assert len(server.asked) == 1


@pytest.mark.parametrize("place", ["file:///etc/hostname", "ftp://127.0.0.1/data.tar", "/data.tar"])
def test_a_redirect_to_another_scheme_or_in_circles_is_refused(place, archive, server, tmp_path):
    server.answers = [simply(302, Location=place)]
    with pytest.raises(FetchError, match=rf"found a redirect to {place}"):
        fetch(archive, tmp_path)


# --- what is on the disk


def test_a_changed_file_is_named_with_both_hashes_and_left_as_it_is(archive, server, tmp_path):
    path = fetch(archive, tmp_path).path
    path.write_bytes(a_tar(fill=b"z"))
    os.utime(path, ns=(1, 1))
    with pytest.raises(FetchError, match=rf"expected the data\.tar of .*SHA-256 {SHA256}\), found .*SHA-256"):
        fetch(archive, tmp_path)
    assert path.read_bytes() == a_tar(fill=b"z")


def test_a_change_that_keeps_size_and_time_is_seen_when_asked_to_verify(archive, server, tmp_path):
    path = fetch(archive, tmp_path).path
    state = path.stat()
    path.write_bytes(a_tar(fill=b"z"))
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert fetch(archive, tmp_path).sha256 == SHA256
    with pytest.raises(FetchError, match="If you trust the one found"):
        fetch(archive, tmp_path, verify=True)


def test_a_touched_file_is_hashed_once_and_then_known_again(archive, server, tmp_path):
    path = fetch(archive, tmp_path).path
    os.utime(path, ns=(1, 1))
    stages: list[str] = []
    for _ in range(2):
        assert not fetch(archive, tmp_path, progress=lambda stage, _done, _total: stages.append(stage)).new
    assert stages == ["check"]


def test_a_wrong_file_put_there_by_hand_is_refused_and_left(archive, server, tmp_path):
    (tmp_path / "data.tar").write_bytes(BODY[:40_000])
    with pytest.raises(FetchError, match="cut off or damaged at 40,000 bytes"):
        fetch(archive, tmp_path)
    (tmp_path / "data.tar").write_bytes(BODY)
    with pytest.raises(FetchError, match="expected 7 bytes as published"):
        fetch(replace(archive, size=7, sha256="0" * 64), tmp_path)
    assert (tmp_path / "data.tar").read_bytes() == BODY


def test_a_damaged_record_is_named(archive, server, tmp_path):
    entry = {"url": "u", "size": "x", "sha256": "5", "mtime_ns": 5, "fetched": "2026-01-01", "licence": "x"}
    for content in ("not JSON", '{"data.tar": {"url": 1}}', "[1]", json.dumps({"data.tar": entry})):
        (tmp_path / "fetched.json").write_text(content)
        with pytest.raises(FetchError, match=r"fetched\.json: expected the record that `fetch` writes"):
            fetch(archive, tmp_path)


def test_a_disk_too_small_is_foreseen(archive, server, tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**6, 10**6, 1_000))
    with pytest.raises(FetchError, match=r"expected 1\d\d,\d{3} free bytes for the rest of the file, found 1,000"):
        fetch(archive, tmp_path)
    assert names(tmp_path) == set()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, a disk that is always full")
def test_a_disk_that_fills_up_is_named(archive, server, tmp_path, monkeypatch):
    append = download._append
    monkeypatch.setattr(download, "_append", lambda pieces, _, *rest: append(pieces, Path("/dev/full"), *rest))
    with pytest.raises(FetchError, match=r"data\.tar: expected to write there, found: No space left on device"):
        fetch(archive, tmp_path)
    assert not (tmp_path / "data.tar").exists()


def test_a_folder_that_is_a_file_is_named(archive, server, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FetchError, match="expected to write there, found: File exists"):
        fetch(archive, tmp_path / "file")


HOLDING = """
import sys, time
from pathlib import Path
from shiftbench.io.fetch import record
with record.locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_process_is_refused_until_the_first_ends_even_by_a_kill(archive, server, tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(FetchError, match="expected a folder that no other process fetches into"):
            fetch(archive, tmp_path)
        other.kill()
    assert fetch(archive, tmp_path).sha256 == SHA256


# --- licence, names, places


def test_nothing_is_asked_of_the_server_before_the_licence_is_accepted(archive, server, tmp_path):
    with pytest.raises(FetchError, match=r"accept its licence, CC BY 0\.0 \(https://licences\.example/by\): say who"):
        fetch(archive, tmp_path / "new", accept_licence=False)
    assert not server.asked
    assert not (tmp_path / "new").exists()


def test_a_licence_accepted_once_stays_accepted_for_the_file_and_another_does_not(archive, server, tmp_path):
    fetch(archive, tmp_path)
    assert fetching.accepted(archive, tmp_path)
    assert not fetching.accepted(replace(archive, licence=replace(LICENCE, name="other")), tmp_path)
    assert not fetching.accepted(replace(archive, file="other.tar"), tmp_path)


@pytest.mark.parametrize(
    "url",
    ["ftp://host/a.tar", "file:///etc/passwd", "host/a.tar", "http:///a.tar", "http://host:many/a", "http://h/a b"],
)
def test_an_address_that_is_not_http_is_refused(url):
    with pytest.raises(FetchError, match=r"expected an address such as https://host/archive\.tar"):
        Archive("all", url, "data.tar", LICENCE, "")


@pytest.mark.parametrize("file", ["", ".", "..", "../a.tar", "a/b.tar", "a\\b.tar", "/a.tar", ".hidden", "a\n", "-rf"])
def test_a_file_name_with_a_path_in_it_is_refused(file):
    with pytest.raises(FetchError, match="expected a plain file name"):
        Archive("all", "https://host/a.tar", file, LICENCE, "")


def test_all_that_is_wrong_with_an_archive_is_said_at_once():
    with pytest.raises(FetchError, match="SHA-256 as 64") as caught:
        Archive("all", "gopher://host", "../a", LICENCE, "", sha256="abc")
    assert len(caught.value.problems) == 3


def test_the_environment_chooses_the_folder_before_the_users_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("SHIFTBENCH_DATA", str(tmp_path / "chosen"))
    assert fetching.default_folder() == tmp_path / "chosen"
    monkeypatch.delenv("SHIFTBENCH_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "platform", "linux")
    assert fetching.default_folder() == tmp_path / "cache" / "shiftbench"


@pytest.mark.parametrize("track", TRACKS)
def test_every_track_names_its_archives_with_addresses_and_licences(track):
    from importlib import import_module

    archives = import_module(f"shiftbench.tracks.{track}.archives").ARCHIVES
    assert len({archive.name for archive in archives}) == len({archive.file for archive in archives}) == len(archives)
    for archive in archives:
        assert archive.url.startswith("https://")
        assert archive.url.endswith("/" + archive.file)
        assert archive.licence.url.startswith("https://")


# --- unpacking


def tar_of(path: Path, *members: tarfile.TarInfo, mode: str = "w") -> Path:
    with tarfile.open(path, mode) as tar:
        for member in members:
            tar.addfile(member, io.BytesIO(b"x" * member.size) if member.isreg() else None)
    return path


def member(name: str, size: int = 2_000, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname = (size if kind == tarfile.REGTYPE else 0), kind, link
    return info


def zip_of(path: Path, **contents: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in contents.items():
            packed.writestr(name.replace("__", "/"), content)
    return path


def contents(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_size for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("ending", "mode"), [(".tar", "w"), (".tar.gz", "w:gz"), (".tgz", "w:gz")])
def test_a_tar_is_unpacked_whole_or_by_member(ending, mode, tmp_path):
    packed = tar_of(
        tmp_path / f"a{ending}", member("d", kind=tarfile.DIRTYPE), member("d/one"), member("d/two", 7), mode=mode
    )
    written = unpack(packed, tmp_path / "all")
    assert written == [tmp_path / "all/d/one", tmp_path / "all/d/two"]
    assert contents(tmp_path / "all") == {"d/one": 2_000, "d/two": 7}
    (tmp_path / "some").mkdir()
    unpack(packed, tmp_path / "some", ["d/two"])
    assert contents(tmp_path / "some") == {"d/two": 7}


def test_a_zip_is_unpacked(tmp_path):
    unpack(zip_of(tmp_path / "a.zip", d__one=b"1" * 9, two=b""), tmp_path / "all")
    assert contents(tmp_path / "all") == {"d/one": 9, "two": 0}


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (member("/etc/cron"), "an absolute path: '/etc/cron'"),
        (member("C:\\cron"), "an absolute path"),
        (member("ok/../../out"), "a path that leads out of the folder"),
        (member("..\\out"), "a path that leads out of the folder"),
        (member("link", kind=tarfile.SYMTYPE, link="/etc/passwd"), "a link to '/etc/passwd'"),
        (member("hard", kind=tarfile.LNKTYPE, link="good"), "a link to 'good'"),
        (member("pipe", kind=tarfile.FIFOTYPE), "a device: 'pipe'"),
        (member("null", kind=tarfile.CHRTYPE), "a device: 'null'"),
        (member("./good"), "'./good' twice"),
    ],
    ids=lambda value: value.name.strip("/") if isinstance(value, tarfile.TarInfo) else "",
)
def test_an_unsafe_member_is_refused_and_nothing_is_unpacked(bad, said, tmp_path):
    packed = tar_of(tmp_path / "a.tar", member("good"), bad)
    with pytest.raises(FetchError) as caught:  # noqa: PT011, RUF100
        unpack(packed, tmp_path / "all")
    assert said in str(caught.value)
    assert names(tmp_path) == {"a.tar"}


def test_an_encrypted_zip_is_refused_with_the_remedy(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        packed.writestr("a.txt", "text")
    data = (tmp_path / "a.zip").read_bytes()
    place = data.index(b"PK\x01\x02") + 8  # the flags in the list of files
    (tmp_path / "a.zip").write_bytes(data[:place] + b"\x01" + data[place + 1 :])
    with pytest.raises(FetchError, match=r"without a password, found 'a\.txt' encrypted\. Unpack it yourself"):
        unpack(tmp_path / "a.zip", tmp_path / "a")


def test_an_unsafe_zip_is_refused(tmp_path):
    link = zipfile.ZipInfo("link")
    link.external_attr = 0o120777 << 16
    packed = zip_of(tmp_path / "a.zip", **{"..__out": b"x"})
    with zipfile.ZipFile(packed, "a") as more:
        more.writestr(link, "/etc/passwd")
    with pytest.raises(FetchError, match="leads out of the folder") as caught:
        unpack(packed, tmp_path / "all")
    assert "a link: 'link'" in caught.value.problems[1]


@pytest.mark.parametrize("ending", [".tar", ".tar.gz", ".zip"])
@pytest.mark.parametrize("share", [0.3, 0.9])
def test_a_truncated_archive_is_named_and_nothing_is_unpacked(ending, share, tmp_path):
    noise = io.BytesIO(os.urandom(60_000))
    packed = tmp_path / f"a{ending}"
    if ending == ".zip":
        zip_of(packed, one=noise.getvalue())
    else:
        with tarfile.open(packed, "w:gz" if ending == ".tar.gz" else "w") as tar:
            info = member("one", 60_000)
            tar.addfile(info, noise)
    whole = packed.read_bytes()
    packed.write_bytes(whole[: int(share * 60_000)])
    with pytest.raises(
        FetchError, match=r"a\.(tar|tar\.gz|zip): expected a complete archive, found one that is cut off"
    ):
        unpack(packed, tmp_path / "all")
    assert names(tmp_path) == {packed.name}


@pytest.mark.parametrize("ending", [".tar", ".tar.gz", ".zip"])
def test_an_archive_of_too_many_members_is_refused_before_all_are_listed(ending, tmp_path, monkeypatch):
    monkeypatch.setattr(container, "MOST_MEMBERS", 100)
    packed = tmp_path / f"a{ending}"
    if ending == ".zip":
        zip_of(packed, **{f"m{k}": b"" for k in range(102)})
    else:
        mode = "w:gz" if ending == ".tar.gz" else "w"
        tar_of(packed, *(member(f"m{k}", 0) for k in range(102)), mode=mode)
    said = rf"a{ending}: expected at most 100 files and folders in the archive, found 101 or more\. Check"
    with pytest.raises(FetchError, match=said):
        unpack(packed, tmp_path / "all")
    if ending != ".tar.gz":
        with pytest.raises(FetchError, match=said):
            container.check_whole(packed)
    assert names(tmp_path) == {packed.name}


def test_listing_and_unpacking_tell_how_far_they_are(tmp_path, monkeypatch):
    monkeypatch.setattr(container, "REPORT_EVERY", 10)
    monkeypatch.setattr(unpacking, "REPORT_EVERY", 10)
    packed, told = tar_of(tmp_path / "a.tar", *(member(f"m{k}", 3) for k in range(30))), []
    unpack(packed, tmp_path / "all", progress=lambda *each: told.append(each))
    size = packed.stat().st_size
    listed = [("list", place * 1024, size) for place in (9, 19, 29)]
    assert told == [*listed, *(("unpack", count * 3, 90) for count in (10, 20, 30))]


def test_a_flipped_bit_in_a_zip_is_seen(tmp_path):
    packed = tmp_path / "a.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as file:
        file.writestr("one", b"x" * 1000)
    packed.write_bytes(packed.read_bytes().replace(b"xxx", b"xyx", 1))
    with pytest.raises(FetchError, match="cut off or damaged"):
        unpack(packed, tmp_path / "all")
    assert names(tmp_path) == {"a.zip"}


def test_a_disk_too_small_for_what_is_inside_is_foreseen(tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    packed = tar_of(tmp_path / "a.tar", member("one", 5_000))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(0, 0, 4_999))
    with pytest.raises(FetchError, match="expected 5,000 free bytes to unpack into, found 4,999"):
        unpack(packed, tmp_path / "all")


def test_a_folder_with_something_in_it_is_not_unpacked_into(tmp_path):
    packed = tar_of(tmp_path / "a.tar", member("one"))
    with pytest.raises(FetchError, match="expected a new or empty folder"):
        unpack(packed, tmp_path)


def test_a_member_that_is_not_there_is_named_with_the_nearest(tmp_path):
    packed = tar_of(tmp_path / "a.tar", member("train.csv"))
    with pytest.raises(UnknownNameError, match=r"'trian\.csv'\. Did you mean 'train\.csv'"):
        unpack(packed, tmp_path / "all", ["trian.csv"])


def test_what_is_no_archive_by_its_name_or_is_not_there_is_refused(tmp_path):
    (tmp_path / "a.txt").write_text("text")
    with pytest.raises(FetchError, match=r"a\.txt: expected a \.tar, \.tar\.gz, \.tgz or \.zip"):
        unpack(tmp_path / "a.txt", tmp_path / "all")
    with pytest.raises(FetchError, match="No such file"):
        unpack(tmp_path / "b.tar", tmp_path / "all")


@pytest.mark.parametrize("etag", ["\ud800", "\u0663", "a\nHost: b"])
def test_a_note_of_what_no_server_says_is_not_taken_for_ours(tmp_path, etag):
    part = tmp_path / "d.tar.part"
    note = {"url": "http://127.0.0.1:9/d.tar", "size": 3, "etag": etag, "last_modified": None}
    part.with_name(part.name + ".json").write_text(json.dumps(note))
    with pytest.raises(FetchError, match="expected the note that `fetch` writes beside a part, found another file"):
        _require_ours(part)


def test_a_redirect_to_what_is_no_address_is_refused(server, archive, tmp_path):
    server.answers = [simply(302, Location="http://[")]
    with pytest.raises(FetchError, match="found an address, perhaps that of a redirect, that cannot be understood"):
        fetching.fetch(archive, tmp_path, accept_licence=True)
