"""Sets of sentences: every form is read as the same sentences, and no character of theirs is lost."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path

import pytest

from shiftbench.errors import TableError
from shiftbench.tracks.translation import texts

SOURCES = ["It's a test.", "שלום e\u0301 \u2028 <b>&amp;</b>", '"quoted\u00a0']
REFERENCES = ["Это тест.", "ё 👍🏽", "конец"]

SGML = """<srcset setid="made-up" srclang="any">
<doc sysid="x" docid="d1" genre="news" origlang="en">
<p>
<seg id="1">It's a test.</seg>
<seg id="2"> two
 lines &amp; &lt;b&gt; </seg>
</p></doc>
<DOC docid='d2'><seg id=1>three</seg><seg id=2>four</seg></DOC></srcset>
"""


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    for name, sentences in (("set.xx", SOURCES), ("set.yy", REFERENCES)):
        (tmp_path / name).write_bytes("\n".join(sentences).encode())
    return tmp_path / "set.xx", tmp_path / "set.yy"


def problems(source: texts.Source) -> list[str]:
    with pytest.raises(TableError, match="expected") as caught:
        texts.read(source)
    folder = (source[0] if isinstance(source, tuple) else source).parent
    return [each.replace(f"{folder}/", "") for each in caught.value.problems]


def test_raw_text_is_a_sentence_a_line_with_or_without_the_last_line_end(pair):
    found = texts.read(pair)
    assert (found.ids, found.sources) == (["1", "2", "3"], SOURCES)
    assert found.references == [(each,) for each in REFERENCES]
    assert found.counts.tolist() == [0, 0, 0]
    packed = pair[0].with_name("set.xx.gz")
    packed.write_bytes(gzip.compress(pair[0].read_bytes() + b"\r\n"))
    assert texts.read((packed, pair[1])).sources == SOURCES
    assert (texts.read(pair[0]).sources, texts.read(pair[0]).references) == (SOURCES, None)


def test_lines_that_do_not_pair_up_empty_ones_and_other_encodings_are_told_together(tmp_path):
    one, other = tmp_path / "a.xx", tmp_path / "a.yy"
    one.write_bytes(b"a\n\nc\nd\xff\n")
    other.write_bytes(b"A\nB\n \t\n\xc3\nE\n")
    assert problems((one, other)) == [
        "a.xx: line 4: expected UTF-8, found byte 0xff at byte 2. Convert the file.",
        "a.yy: line 4: expected UTF-8, found byte 0xc3 at byte 1. Convert the file.",
        "a.xx and a.yy: line 2 (id '2'): source: expected a sentence, found an empty one. Remove the pair.",
        "a.xx and a.yy: line 3 (id '3'): reference: expected a sentence, found an empty one. Remove the pair.",
        "a.xx and a.yy: expected as many lines in both, found 4 and 5. Are they of the same set, and complete?",
    ]


def test_a_sentence_of_a_megabyte_is_refused(tmp_path):
    path = tmp_path / "long.xx"
    path.write_text("a\n" + "b" * 10**6)
    assert problems(path) == [
        "long.xx: line 2 (id '2'): source: expected at most 250,000 characters, found 1,000,000. Split it into "
        "sentences."
    ]


def test_sgml_is_paired_by_documents_and_segments(tmp_path):
    source, reference = tmp_path / "set-src.en.sgm", tmp_path / "set-ref.ru.sgm"
    source.write_text(SGML)
    reference.write_text(SGML.replace("three", "III").replace("srcset", "refset") + SGML.replace("three", "3"))
    found = texts.read((source, reference))
    assert found.ids == ["d1:1", "d1:2", "d2:1", "d2:2"]
    assert found.sources == ["It's a test.", "two lines & <b>", "three", "four"]
    assert found.references[2] == ("III", "3")
    assert found.columns == {"document": ["d1", "d1", "d2", "d2"], "domain": ["news", "news", None, None]}
    assert texts.read(source).references is None


def test_segments_of_sgml_that_are_not_closed_lack_a_number_or_a_partner_are_named(tmp_path):
    source, reference = tmp_path / "s.sgm", tmp_path / "r.sgm"
    source.write_text('<doc docid="d">\n<seg id="1">a\n<seg id="2">b</seg>\n<seg>c</seg>\n<seg id="4">d')
    reference.write_text('<doc docid="d"><seg id="2">B</seg><seg id="9">I</seg></doc>')
    told = problems((source, reference))
    assert told == [
        's.sgm: line 3: expected </seg> before another <seg id="2">, found none (it begins in line 2).',
        's.sgm: line 4: expected a number of the segment (<seg id="1">), found none.',
        "s.sgm: line 5: expected </seg>, found the end of the file. Was its writing cut off?",
        "s.sgm: line 4 (id 'd'): expected a reference, found none of this document and segment.",
        "r.sgm: expected segments of s.sgm, found others such as 'd:9'.",
    ]


def test_tables_hold_flags_documents_and_several_references(tmp_path):
    path = tmp_path / "set.tsv"
    header = ["id", "document", "source", "reference", "reference_2", "punctuation", "tags", "hyp_x", "domain"]
    rows = [["a", "d", SOURCES[1], "x", "y", "1", "false", "q", "chat"], ["b", "d", '"', "z", "", "0", "true", "q", ""]]
    path.write_text("\n".join("\t".join(row) for row in [header, *rows]))
    found = texts.read(path)
    assert (found.ids, found.sources, found.references) == (["a", "b"], [SOURCES[1], '"'], [("x", "y"), ("z",)])
    assert found.columns == {
        "document": ["d", "d"], "punctuation": [True, False], "tags": [False, True], "domain": ["chat", None],
    }  # fmt: skip
    path.write_text(path.read_text().replace("\t1\t", "\tyes\t").replace("\tz\t", "\t\t"))
    assert problems(path) == [
        "set.tsv: line 2 (id 'a'): punctuation: expected true or false (or 1 or 0), found 'yes'.",
        "set.tsv: line 3 (id 'b'): reference: expected a sentence, found an empty one. Remove the pair.",
    ]


def test_a_table_without_sources_is_refused(tmp_path):
    path = tmp_path / "set.tsv"
    path.write_text("one\ttwo\tthree\na\tb\tc\n")
    assert problems(path) == [
        "set.tsv: expected a column of sources (source, src or src_…), found 'one', 'two', 'three'. Rename it, or name "
        "it."
    ]
    assert texts.read(path, names={"source": "two"}).sources == ["b"]


def test_two_columns_without_a_header_are_sources_and_references(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("a\tA\nb\tB\n")
    found = texts.read(path)
    assert (found.sources, found.references) == (["a", "b"], [("A",), ("B",)])
    assert list(texts.stream(path)) == [(b"a", b"A"), (b"b", b"B")]


def test_json_lines_are_sentences_too(tmp_path):
    path = tmp_path / "set.jsonl"
    path.write_text(json.dumps({"id": 3, "source": "a", "reference": ["b", "c"], "emoji": 1, "document": "d"}))
    found = texts.read(path)
    assert (found.ids, found.sources, found.references) == (["3"], ["a"], [("b", "c")])
    assert found.columns == {"emoji": [True], "document": ["d"]}
    path.write_text(json.dumps({"id": 3, "source": " "}))
    assert problems(path) == [
        "set.jsonl: line 1 (id '3'): source: expected a sentence, found an empty one. Remove the pair."
    ]


def test_every_form_streams_the_same_pairs(pair, tmp_path):
    expected = [(one.encode(), other.encode()) for one, other in zip(SOURCES, REFERENCES, strict=True)]
    table, objects = tmp_path / "set.tsv", tmp_path / "set.jsonl"
    rows = [("id", "reference", "source"), *zip("abc", REFERENCES, SOURCES, strict=True)]
    table.write_text("\n".join(map("\t".join, rows)))
    objects.write_text("".join(json.dumps({"source": one, "reference": two}) + "\n"
                               for one, two in zip(SOURCES, REFERENCES, strict=True)))  # fmt: skip
    assert list(texts.stream(pair)) == list(texts.stream(table)) == list(texts.stream(objects)) == expected


def test_a_stream_passes_what_is_wrong_inside_sentences_and_refuses_what_does_not_pair_up(tmp_path):
    one, other, table = tmp_path / "a.xx", tmp_path / "a.yy", tmp_path / "a.tsv"
    one.write_bytes(b"\xff\n\n")
    other.write_bytes(b"A\n")
    found = texts.stream((one, other))
    assert next(found) == (b"\xff", b"A")
    with pytest.raises(TableError, match="expected as many lines in both, found 2 and 1"):
        next(found)
    table.write_text("source\treference\na\tb\tc\nd\te\n")
    rows = texts.stream(table)
    assert next(rows) == (b"d", b"e")
    with pytest.raises(TableError, match="line 2: expected 2 columns as in the first line, found 3"):
        next(rows)


def test_a_stream_holds_one_line(tmp_path):
    one, other = tmp_path / "a.xx", tmp_path / "a.yy"
    for path in (one, other):
        path.write_bytes(b"a sentence of some words\n" * 40_000)
    tracemalloc.start()
    try:
        assert sum(1 for _ in texts.stream((one, other))) == 40_000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 500_000  # of 2 MB


@pytest.mark.needs_shared
@pytest.mark.parametrize(
    ("name", "count", "references"),
    [("newstest2019", 1_997, 2), ("newstest2020", 2_002, 1), ("wmt22_general", 2_037, 1)],
)
def test_real_test_sets_are_read(shared, name, count, references):
    found = texts.read(shared / f"data/translation/{name}.en-ru.tsv.gz")
    assert len(found) == count
    assert {len(each) for each in found.references} == {references}
    assert not [key for key in found.columns if key.startswith("hyp_")]
