"""Further pictures of a report, such as of the records to look at: whole PNG files with a title and a caption.

They lie in a folder beside the report with an index of their words, so that a report that is written again in the same
place keeps them.
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

from shiftbench import files
from shiftbench.errors import ShiftbenchError, TableError
from shiftbench.report import canvas
from shiftbench.report.style import DPI

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER, INDEX = "pictures", "pictures.json"
TITLE = "Records to look at"  # of their section
MOST_BYTES = 16 * 2**20
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture that a report carries besides those it draws itself.

    Attributes:
        name: of its file, without ending: at most 80 letters, digits, `_` and `-`.
        title: a few words.
        caption: what is seen; together with the title also the text for those who do not see it.
        image: a PNG file, its bytes, or a figure of matplotlib, which is drawn when it is first asked for.

    Raises:
        ShiftbenchError: naming all of: an invalid name, no title, an image of another kind.
    """

    name: str
    title: str
    caption: str
    image: Figure | bytes | Path

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
        """Where it lies, from the folder of the report."""
        return f"{FOLDER}/{self.name}.png"

    @cached_property
    def png(self) -> bytes:
        """The bytes of its PNG file.

        Raises:
            ShiftbenchError: if they are invalid, or more than 16 MiB.
        """
        data = self.image if isinstance(self.image, bytes) else _bytes(self.image)
        if not data.startswith(_SIGNATURE) or len(data) > MOST_BYTES:
            raise ShiftbenchError(
                f"picture {self.name!r}: expected a PNG file of at most {MOST_BYTES:,} bytes, "
                f"found {len(data):,} bytes that begin with {data[:8]!r}. Write it as PNG, or smaller."
            )
        return data

    @property
    def uri(self) -> str:
        """The picture as text in an address, for pages that need nothing from outside."""
        return f"data:image/png;base64,{base64.b64encode(self.png).decode('ascii')}"


def _bytes(image: Any) -> bytes:
    if isinstance(image, Path):
        try:
            with image.open("rb") as file:
                return file.read(MOST_BYTES + 1)
        except OSError as error:
            raise TableError(
                f"{image}: expected a PNG file, found: {error.strerror or error}. Check the path."
            ) from None
    buffer = io.BytesIO()
    with canvas.settings():
        image.savefig(buffer, format="png", dpi=DPI, metadata={"Software": None})
    return buffer.getvalue()


def write(pictures: Sequence[Picture], folder: Path) -> list[Path]:
    """Write pictures and their index into a report's folder, and remove those that an earlier index names.

    Raises:
        ShiftbenchError: if two have one name, or an image is no PNG.
    """
    counts = Counter(picture.name.lower() for picture in pictures)  # some disks do not tell A from a
    if twice := [name for name, count in counts.items() if count > 1]:
        raise ShiftbenchError(
            f"pictures: expected each name once, found {', '.join(twice)} more than once. Rename them."
        )
    data = [picture.png for picture in pictures]  # all are drawn and read before any is replaced
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
    with suppress(OSError):  # it is not empty, or not there
        (folder / FOLDER).rmdir()
    return paths


def beside(folder: str | Path) -> list[Picture]:
    """The pictures that lie in a report's folder, in their order; none where there is no index of them.

    Raises:
        TableError: if the index cannot be read, or names a picture that is not there.
    """
    place = Path(folder)
    found = [Picture(image=place / FOLDER / f"{entry['name']}.png", **entry) for entry in _entries(place)]
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
