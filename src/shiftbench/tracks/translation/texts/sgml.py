"""Test sets of the shared tasks on news translation in SGML: documents of segments; of references perhaps several."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from shiftbench.errors import TableError, quoted
from shiftbench.tracks.translation import lines
from shiftbench.tracks.translation.outputs import Outputs
from shiftbench.tracks.translation.outputs.reader import Reader

TAG = re.compile(r"<(/?)(srcset|refset|tstset|doc|seg)\b([^<>]*)>", re.IGNORECASE)
ATTRIBUTE = re.compile(r"""([\w-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")


@dataclass
class _Segment:
    """A sentence: its document and number, and where it begins."""

    document: str
    number: str
    line: int
    genre: str
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The sentence, with white space as one blank, and characters instead of entities."""
        return " ".join(html.unescape(" ".join(self.pieces)).split())


def read(path: Path, references: Path | None = None) -> Outputs:
    """The sentences of a set, and the references of another file with the same documents and segments.

    Raises:
        TableError: naming every problem with its line: segments that do not pair up, without a number, or not closed.
    """
    problems, others = lines.Problems(path), lines.Problems(references or path)
    found = {(each.document, each.number): each for each in _segments(problems, path)}
    theirs: dict[tuple[str, str], list[str]] = {}
    for each in _segments(others, references) if references else ():
        theirs.setdefault((each.document, each.number), []).append(each.text)
    reader = Reader(problems, complete=True)
    for key, segment in found.items():
        record = {"id": ":".join(filter(None, key)), "source": segment.text, "document": segment.document}
        record |= {"domain": segment.genre} if segment.genre else {}
        if references and key not in theirs:
            what = "expected a reference, found none of this document and segment."
            problems.add(f"line {segment.line:,} (id {quoted(record['id'])})", what, kind="none")
        reader.record(segment.line, record | ({"reference": theirs.get(key, ["?"])} if references else {}))
    for key in sorted(theirs.keys() - found.keys()):
        what = f"expected segments of {path.name}, found others such as {quoted(':'.join(key))}."
        others.add("", what, kind="others")
    if others:
        raise TableError(*problems.listed(), *others.listed())
    return reader.outputs()


def _segments(problems: lines.Problems, path: Path) -> Iterator[_Segment]:
    """The segments of a file, in their order."""
    document = genre = ""
    segment: _Segment | None = None
    for number, line in lines.of(path):
        text, start = lines.text(problems, number, line), 0
        for tag in TAG.finditer(text):
            if segment is not None:
                segment.pieces.append(text[start : tag.start()])
            start = tag.end()
            kind, closing = tag[2].lower(), tag[1] == "/"
            values = {found[1].lower(): found[2] or found[3] or found[4] or "" for found in ATTRIBUTE.finditer(tag[3])}
            if segment is not None and not (kind == "seg" and closing):
                what = f"expected </seg> before another {tag[0][:40]}, found none (it begins in line {segment.line:,})."
                problems.add(f"line {number:,}", what, kind="open")
                segment = None
            if kind == "doc" and not closing:
                document, genre = values.get("docid", ""), values.get("genre", "")
            elif kind == "seg" and not closing:
                if "id" not in values:
                    problems.add(f"line {number:,}", 'expected a number of the segment (<seg id="1">), found none.')
                segment = _Segment(document, values.get("id", ""), number, genre)
            elif kind == "seg" and segment is not None:
                yield segment
                segment = None
        if segment is not None:
            segment.pieces.append(text[start:])
    if segment is not None:
        problems.add(f"line {segment.line:,}", "expected </seg>, found the end of the file. Was its writing cut off?")
