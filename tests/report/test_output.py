from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from shiftbench.report.content import Report

from .factory import hostile


def test_every_format_is_written_whole(written):
    for name, paths in written.items():
        assert set(paths) - {"records", "slices"} == {"html", "markdown", "latex", "csv", "json", "figures"}
        assert ("records" in paths) == (name == "hostile")
        assert all(path.exists() for path in paths.values())
        assert not list(paths["html"].parent.rglob("*.part"))


def test_the_json_is_the_report(written):
    assert Report.load(written["hostile"]["json"]).systems == hostile().systems


def test_every_picture_is_there_as_png_and_as_well_formed_svg(written):
    for paths in written.values():
        drawn = sorted(paths["figures"].iterdir())
        assert {path.suffix for path in drawn} == {".png", ".svg"}
        assert [path.stem for path in drawn[::2]] == [path.stem for path in drawn[1::2]]
        for path in drawn[1::2]:
            ElementTree.parse(path)
