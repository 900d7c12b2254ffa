from __future__ import annotations

import base64
import io
import json
import re
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from shiftbench import report as reports
from shiftbench.errors import ShiftbenchError, TableError
from shiftbench.report import plots, write
from shiftbench.report.content import Report
from shiftbench.report.page import html
from shiftbench.report.picture import FOLDER, INDEX, TITLE, Picture, beside
from shiftbench.report.text import latex, markdown

from .factory import HOSTILE, hostile, one_record, regression
from .test_page import external, read


def png(shade: int = 200) -> bytes:
    """A PNG file of one grey pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    chunks = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes([0, shade]))) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def pictures() -> list[Picture]:
    return [
        Picture("largest_errors", "Largest errors", "1: a/7, error 3 m.", png(10)),
        Picture("hostile", f"Look: {HOSTILE} ](evil) <img>", f"{HOSTILE} $x$ \x00\n | `a`", png(20)),
    ]


@pytest.fixture(scope="module", autouse=True)
def undrawn():
    """The report's own pictures are tested elsewhere and take seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plots, "save", lambda report, folder: [])
        yield


@pytest.fixture(scope="module")
def written(tmp_path_factory, undrawn):
    folder = tmp_path_factory.mktemp("report")
    return write(one_record(), folder, pictures())


def test_pictures_lie_beside_the_report(written):
    assert written["pictures"].name == FOLDER
    assert sorted(path.name for path in written["pictures"].iterdir()) == ["hostile.png", "largest_errors.png", INDEX]
    assert (written["pictures"] / "largest_errors.png").read_bytes() == png(10)


def test_the_page_holds_them_in_a_section_of_their_own(written):
    text = written["html"].read_text("utf-8")
    tags = read(text).tags
    images = [attrs for tag, attrs in tags if tag == "img"]
    assert [base64.b64decode(image["src"].split(",")[1]) for image in images] == [png(10), png(20)]
    assert images[0]["alt"] == "Largest errors. 1: a/7, error 3 m."
    assert all(image["src"].startswith("data:image/png;base64,") for image in images)
    assert TITLE in text
    assert ("a", {"href": "#records"}) in tags
    assert ("section", {"id": "records", "aria-labelledby": "records-title"}) in tags


def test_the_page_still_needs_nothing_from_outside(written):
    text = re.sub(r'src="data:image/png;base64,[A-Za-z0-9+/=]*"', "", written["html"].read_text("utf-8"))
    assert external(text) == []
    assert not any(tag in ("iframe", "object") for tag, _ in read(text).tags)


def test_markdown_links_them(written):
    text = written["markdown"].read_text("utf-8")
    assert f"## {TITLE}" in text
    assert "![Largest errors](pictures/largest_errors.png)\n\n**Largest errors.** 1: a/7, error 3 m." in text
    (link,) = re.findall(r"^!.*\]\(pictures/hostile\.png\)$", text, re.MULTILINE)
    alternative = link[2 : -len("](pictures/hostile.png)")]
    assert not re.search(r"(?<!\\)[\[\]<>]", alternative)


def test_latex_includes_them_as_floats(written):
    text = written["latex"].read_text("utf-8")
    assert r"\includegraphics[width=\linewidth]{pictures/largest_errors.png}" in text
    assert r"\label{fig:shiftbench-largest_errors}" in text
    assert text.startswith(r"% Needs \usepackage{booktabs} and \usepackage{graphicx}.")
    assert text.count(r"\begin{figure}") == text.count(r"\end{figure}") == 2


def test_without_pictures_nothing_changes(report: Report):
    assert html(report, pictures={}) == html(report, pictures={}, further=())
    assert TITLE not in html(report, pictures={})
    assert "![" not in markdown(report)
    assert "graphicx" not in latex(report)


def test_a_report_that_is_written_again_in_its_place_keeps_them(tmp_path):
    write(hostile(), tmp_path, pictures())
    before = {path.name: path.read_bytes() for path in tmp_path.glob("report.*")}
    write(Report.load(tmp_path / "report.json"), tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.glob("report.*")} == before
    assert [each.name for each in beside(tmp_path)] == ["largest_errors", "hostile"]


def test_another_report_in_its_place_does_not_keep_them(tmp_path):
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "mine.png").write_bytes(png())
    write(one_record(), tmp_path, pictures())
    paths = write(regression(20), tmp_path)
    assert "pictures" not in paths
    assert [path.name for path in (tmp_path / FOLDER).iterdir()] == ["mine.png"]
    assert TITLE not in paths["html"].read_text("utf-8")


def test_new_pictures_take_the_place_of_old_ones(tmp_path):
    write(one_record(), tmp_path, pictures())
    write(one_record(), tmp_path, pictures()[:1])
    assert sorted(path.name for path in (tmp_path / FOLDER).iterdir()) == ["largest_errors.png", INDEX]


def test_a_picture_comes_from_a_file_or_a_figure_as_well(tmp_path):
    from matplotlib.figure import Figure

    (tmp_path / "a.png").write_bytes(png())
    assert Picture("a", "A", "", tmp_path / "a.png").png == png()
    assert Picture("b", "B", "", Figure(figsize=(1, 1))).png.startswith(b"\x89PNG")


def test_the_package_offers_the_picture():
    assert reports.Picture is Picture


def test_two_pictures_of_one_name_are_refused_before_anything_is_written(tmp_path):
    twins = [Picture(name, "A", "", png()) for name in ("same", "Same")]
    with pytest.raises(ShiftbenchError, match="expected each name once, found same more than once"):
        write(one_record(), tmp_path, twins)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "title", "image", "words"),
    [
        ("../up", "A", png(), r"picture '\.\./up': expected a name of letters, digits"),
        ("", "A", png(), "picture '': expected a name"),
        ("a", " ", png(), "expected a title, found none"),
        ("a", "A", "a.png", "expected a figure, or a PNG as bytes or path, found str"),
    ],
)
def test_a_picture_that_is_none_is_refused(name, title, image, words):
    with pytest.raises(ShiftbenchError, match=words):
        Picture(name, title, "", image)


def test_an_image_that_is_no_png_is_refused(tmp_path):
    (tmp_path / "a.png").write_bytes(b"GIF89a")
    with pytest.raises(ShiftbenchError, match="found 6 bytes that begin with b'GIF89a'"):
        write(one_record(), tmp_path / "out", [Picture("a", "A", "", tmp_path / "a.png")])
    with pytest.raises(TableError, match=r"none\.png: expected a PNG file, found: No such file"):
        write(one_record(), tmp_path / "out", [Picture("a", "A", "", tmp_path / "none.png")])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "text", ["", "{}", "[1]", '[{"name": "a"}]', json.dumps([{"name": "../a", "title": "A", "caption": ""}])]
)
def test_an_index_that_is_none_is_refused(text, tmp_path):
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / INDEX).write_text(text)
    with pytest.raises(TableError, match="expected a list of pictures with name, title and caption"):
        beside(tmp_path)


def test_a_picture_that_has_gone_is_named(tmp_path):
    write(one_record(), tmp_path, pictures())
    (tmp_path / FOLDER / "hostile.png").unlink()
    with pytest.raises(TableError, match=r"hostile\.png: expected a picture of the report, found nothing there"):
        write(one_record(), tmp_path)


def test_a_figure_of_few_colours_is_smaller_and_looks_the_same():
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4, 3))
    axes = figure.add_subplot()
    for place in range(40):
        axes.plot([0, 1], [place, 40 - place], color=f"C{place % 10}", alpha=0.5)
    whole = Picture("a", "A", "", figure).png
    small = Picture("a", "A", "", figure, few_colours=True).png
    assert small == Picture("a", "A", "", figure, few_colours=True).png
    assert len(small) < len(whole) / 2
    seen = [np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), dtype=float) for data in (whole, small)]
    assert seen[0].shape == seen[1].shape
    assert np.abs(seen[0] - seen[1]).mean() < 2.0  # of 255
    assert (seen[1][0, 0] == 255).all()  # paper stays white


def test_the_colours_of_areas_stay_exactly_as_they_are():
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4, 3))
    axes = figure.add_subplot()
    grounds = ["#eef0f3", "#eef0f4", "#f8f0f5", "#e8f6f2"]
    for place, ground in enumerate(grounds):
        axes.axvspan(place, place + 1, color=ground, linewidth=0)
    axes.imshow(np.random.default_rng(0).random((30, 30, 3)), extent=(1, 1.5, 0, 1), zorder=3)  # hundreds of colours
    axes.set_xlim(0, 4)
    small = np.asarray(Image.open(io.BytesIO(Picture("a", "A", "", figure, few_colours=True).png)).convert("RGB"))
    held = {"#{:02x}{:02x}{:02x}".format(*colour) for colour in small.reshape(-1, 3)}
    assert set(grounds) <= held
    assert len(held) <= 256
