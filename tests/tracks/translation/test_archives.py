"""The official archives: each part is fetched after its own terms are accepted, and never before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shiftbench.errors import FetchError
from shiftbench.io import fetch as fetching
from shiftbench.tracks.translation.archives import ARCHIVES
from tests.web_server import WebServer, a_tar, rightly, running


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[WebServer]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with running() as server:
        server.answers = [rightly(a_tar())]
        yield server


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda archive: archive.name)
def test_each_part_is_fetched_once_its_own_terms_are_accepted(server, tmp_path, archive):
    here = replace(archive, url=server.url(archive.file))
    with pytest.raises(FetchError, match=r"expected you to accept its licence, .*Found no acceptance") as caught:
        fetching.fetch(here, tmp_path)
    assert archive.licence.name in str(caught.value)
    assert archive.licence.asks in str(caught.value)
    assert not server.asked
    fetched = fetching.fetch(here, tmp_path, accept_licence=True)
    assert fetched.path == Path(tmp_path / archive.file)
    assert fetching.accepted(here, tmp_path)


def test_sentences_of_reddit_come_with_a_promise_to_identify_no_one():
    asks = {archive.name: archive.licence.asks for archive in ARCHIVES}
    assert {name for name, text in asks.items() if "no attempt to identify the users" in text} == {"dev", "eval"}
    assert "no commercial purpose" in asks["eval"]
    assert "same licence" in asks["eval"]
