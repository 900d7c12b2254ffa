"""Archives of tables hold few files: others are refused before all of their headers are read."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from shiftbench.errors import FetchError
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
