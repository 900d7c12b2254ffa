"""Archives of tables hold few files: others are refused before all of their headers are read."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from shiftbench.errors import FetchError, ShiftbenchError
from shiftbench.track.intake import sources


@pytest.mark.parametrize("form", ["tar", "tar.gz", "zip"])
def test_archives_of_very_many_files_are_refused_with_the_limit(tmp_path: Path, form: str) -> None:
    path, count = tmp_path / f"d.{form}", 10_005
    if form == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            for k in range(count):
                archive.writestr(f"{k}.csv", b"")
    else:
        header = tarfile.TarInfo("train.csv").tobuf()
        with tarfile.open(path, "w:gz" if form == "tar.gz" else "w") as tar:
            assert tar.fileobj is not None
            tar.fileobj.write(header * count)
    with pytest.raises(FetchError, match=r"expected at most 10,000 files and folders in the archive, found 10,001 or"):
        sources.tables_in(path, lambda _name: None, expected="a table")


def test_archives_of_some_files_are_read(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "d.tar", "w") as tar:
        for k in range(300):
            tar.addfile(tarfile.TarInfo(f"{k}.csv"), io.BytesIO())
    assert len(sources.tables_in(tmp_path / "d.tar", lambda _name: None, expected="a table")) == 300


@pytest.mark.parametrize("form", ["tar.gz", "zip"])
def test_an_archive_with_a_flipped_byte_anywhere_is_refused_or_read(form: str, tmp_path: Path) -> None:
    rng, whole = np.random.default_rng(0), tmp_path / f"whole.{form}"
    rows = "\n".join(map(str, rng.integers(0, 1000, 60_000))).encode()  # several blocks of packed bytes
    if form == "zip":
        with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("train.csv", rows)
    else:
        with tarfile.open(whole, "w:gz") as archive:
            header = tarfile.TarInfo("train.csv")
            header.size = len(rows)
            archive.addfile(header, io.BytesIO(rows))
    data, path, refused = whole.read_bytes(), tmp_path / f"d.{form}", 0
    for place in rng.integers(0, len(data), 150):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :])
        try:
            for source in sources.tables_in(path, lambda _name: None, expected="tables"):
                with sources.opened(source) as stream:
                    stream.file.read()
        except ShiftbenchError:
            refused += 1
    assert refused > 100
