"""Shards: any block is found through the index; files cut off or of another kind are refused."""

from __future__ import annotations

import pytest

from shiftbench.errors import TableError
from shiftbench.tracks.motion.prepared.shards import MAGIC, Shard, write_shard

MAPS, VECTORS = [b"first", b"", b"third map"], [b"a", b"bc", b""]


@pytest.fixture
def path(tmp_path):
    write_shard(tmp_path / "0.shard", MAPS, VECTORS)
    return tmp_path / "0.shard"


def test_every_block_comes_back_in_any_order(path):
    with Shard(path) as shard:
        assert shard.requests == 3
        for number in (2, 0, 1, 2):
            assert shard.block("vectors", number) == VECTORS[number]
            assert shard.block("maps", number) == MAPS[number]


def test_a_shard_of_no_requests_is_a_shard(tmp_path):
    write_shard(tmp_path / "none.shard", [], [])
    with Shard(tmp_path / "none.shard") as shard:
        assert shard.requests == 0


@pytest.mark.parametrize("number", [-1, 3, 10**6])
def test_requests_that_are_none_are_refused(path, number):
    with Shard(path) as shard, pytest.raises(TableError, match=rf"expected a whole shard, found no request {number}"):
        shard.block("maps", number)


def test_files_that_are_no_shards_are_refused(tmp_path, path):
    with pytest.raises(TableError, match="expected a shard, found: No such file"):
        Shard(tmp_path / "absent.shard")
    for content in (b"", b"something else entirely", MAGIC):
        path.write_bytes(content)
        with pytest.raises(TableError, match="expected a whole shard, found a file that begins with"):
            Shard(path)


def read_all(path):
    with Shard(path) as shard:
        for number in range(3):
            assert shard.block("maps", number) == MAPS[number]
            assert shard.block("vectors", number) == VECTORS[number]


def test_a_shard_cut_off_anywhere_is_refused_or_right(path):
    whole = path.read_bytes()
    for size in range(24, len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(TableError, match="expected a whole shard"):
            read_all(path)


def test_places_beyond_the_file_are_refused_without_memory_for_them(path):
    whole = bytearray(path.read_bytes())
    whole[24 + 8 : 24 + 16] = (2**62).to_bytes(8, "little")
    path.write_bytes(whole)
    with Shard(path) as shard, pytest.raises(TableError, match="request 0 ends at byte 4,611,686,018,427,387,904"):
        shard.block("maps", 0)
