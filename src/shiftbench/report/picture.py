"""Additional pictures of a report, such as records worth looking at: PNG files with a title and a caption.

They are stored in a folder beside the report with an index of titles and captions, so that they are kept when the
report is written again in the same place.
"""

from __future__ import annotations

import base64
import io
import json
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shiftbench.errors import ShiftbenchError, TableError
from shiftbench.io import files
from shiftbench.report import canvas

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER, INDEX = "pictures", "pictures.json"
TITLE = "Records to look at"  # heading of their section
MOST_BYTES = 16 * 2**20
COLOURS, EXACT = 256, 64  # of a palette, and those of them that are kept as they are
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture in addition to those that the report draws itself.

    Attributes:
        name: file name without extension: at most 80 letters, digits, `_` and `-`.
        title: a few words.
        caption: a description; with the title it is also the alternative text.
        image: a PNG file, its bytes, or a matplotlib figure, which is rendered when first needed.
        few_colours: whether 256 colours are enough for a figure: its PNG is less than half as large.

    Raises:
        ShiftbenchError: for an invalid name, a missing title or an image of another type; lists all problems.
    """

    name: str
    title: str
    caption: str
    image: Figure | bytes | Path
    few_colours: bool = False

    def __post_init__(self) -> None:
        problems = []
        if not _NAME.fullmatch(self.name):
            problems.append(
                f"picture {self.name!r}: expected a name of letters, digits, _ and -, at most 80. Rename it."
            )
        if not self.title.strip():
            problems.append(f"picture {self.name!r}: expected a title, found none. Give it one.")
        if not (isinstance(self.image, bytes | Path) or hasattr(self.image, "savefig")):
            found = type(self.image).__name__
            problems.append(f"picture {self.name!r}: expected a figure, or a PNG as bytes or path, found {found}.")
        if problems:
            raise ShiftbenchError(*problems)

    @property
    def file(self) -> str:
        """The path of the file relative to the folder of the report."""
        return f"{FOLDER}/{self.name}.png"

    @cached_property
    def png(self) -> bytes:
        """The bytes of the PNG file.

        Raises:
            ShiftbenchError: if they are not a PNG, or more than 16 MiB.
        """
        data = self.image if isinstance(self.image, bytes) else _bytes(self.image, few_colours=self.few_colours)
        if not data.startswith(_SIGNATURE) or len(data) > MOST_BYTES:
            raise ShiftbenchError(
                f"picture {self.name!r}: expected a PNG file of at most {MOST_BYTES:,} bytes, "
                f"found {len(data):,} bytes that begin with {data[:8]!r}. Write it as PNG, or smaller."
            )
        return data

    @property
    def uri(self) -> str:
        """The picture as a data URI, for self-contained pages."""
        return f"data:image/png;base64,{base64.b64encode(self.png).decode('ascii')}"


def _bytes(image: Any, *, few_colours: bool) -> bytes:
    if isinstance(image, Path):
        try:
            with image.open("rb") as file:
                return file.read(MOST_BYTES + 1)
        except OSError as error:
            raise TableError(
                f"{image}: expected a PNG file, found: {error.strerror or error}. Check the path."
            ) from None
    if few_colours:
        return _reduced(image)
    buffer = io.BytesIO()
    canvas.write_png(image, buffer)
    return buffer.getvalue()


def _reduced(figure: Any) -> bytes:
    """A figure as PNG with a palette of 256 colours: the most frequent ones as they are, others close to it."""
    from PIL import Image  # comes with matplotlib

    whole = Image.fromarray(canvas.pixels(figure)).convert("RGB")
    counted = sorted(whole.getcolors(whole.width * whole.height) or [], key=lambda each: (-each[0], each[1]))
    exact = np.array([colour for _, colour in counted[:EXACT]], dtype=np.uint32)
    # MAXCOVERAGE, not MEDIANCUT: small marks keep their colours, and files are a third smaller.
    near = whole.quantize(COLOURS - len(exact), method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    codes = _coded(np.asarray(whole, dtype=np.uint32))
    order = np.argsort(own := _coded(exact))
    place = order[np.minimum(np.searchsorted(own[order], codes), len(own) - 1)]
    reduced = Image.fromarray(np.where(own[place] == codes, place, np.asarray(near) + len(exact)).astype(np.uint8), "P")
    reduced.putpalette([*exact.ravel().tolist(), *(near.getpalette() or [])])
    written = io.BytesIO()
    reduced.save(written, "PNG", optimize=True)
    return written.getvalue()


def _coded(colours: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """A number for each colour [..., 3] of 8 bits."""
    codes: npt.NDArray[np.uint32] = colours @ np.array([1 << 16, 1 << 8, 1], dtype=np.uint32)
    return codes


def write(pictures: Sequence[Picture], folder: Path) -> list[Path]:
    """Write pictures and their index into a report's folder, and remove those listed by an earlier index.

    Raises:
        ShiftbenchError: if two have the same name, or an image is not a PNG.
    """
    counts = Counter(picture.name.lower() for picture in pictures)  # some file systems ignore case
    if twice := [name for name, count in counts.items() if count > 1]:
        raise ShiftbenchError(
            f"pictures: expected each name once, found {', '.join(twice)} more than once. Rename them."
        )
    data = [picture.png for picture in pictures]  # render or read all before replacing any
    earlier = {entry["name"] for entry in _entries(folder)}
    paths = []
    for picture, content in zip(pictures, data, strict=True):
        with files.replacing(folder / picture.file) as temporary:
            temporary.write_bytes(content)
        paths.append(folder / picture.file)
    if pictures:
        words = [{"name": each.name, "title": each.title, "caption": each.caption} for each in pictures]
        files.write_json(folder / FOLDER / INDEX, words)
    else:
        (folder / FOLDER / INDEX).unlink(missing_ok=True)
    for name in earlier - {picture.name for picture in pictures}:
        (folder / FOLDER / f"{name}.png").unlink(missing_ok=True)
    with suppress(OSError):  # not empty, or absent
        (folder / FOLDER).rmdir()
    return paths


def beside(folder: str | Path) -> list[Picture]:
    """The pictures stored in a report's folder, in their order; empty without an index.

    Raises:
        TableError: if the index cannot be read, or names a missing picture.
    """
    place = Path(folder)
    found = [
        Picture(each["name"], each["title"], each["caption"], place / FOLDER / f"{each['name']}.png")
        for each in _entries(place)
    ]
    if gone := [str(each.image) for each in found if isinstance(each.image, Path) and not each.image.is_file()]:
        raise TableError(
            f"{gone[0]}: expected a picture of the report, found nothing there. Put it back, or remove {INDEX}."
        )
    return found


def _entries(folder: Path) -> list[dict[str, str]]:
    index = folder / FOLDER / INDEX
    if not index.is_file():
        return []
    try:
        entries = json.loads(index.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        entries = None
    keys = {"name", "title", "caption"}
    whole = isinstance(entries, list) and all(
        isinstance(entry, dict) and set(entry) == keys and all(isinstance(text, str) for text in entry.values())
        for entry in entries
    )
    if not whole or not all(_NAME.fullmatch(entry["name"]) for entry in entries or ()):
        raise TableError(
            f"{index}: expected a list of pictures with name, title and caption, found another. Remove it."
        )
    return list(entries or ())
