"""Odd and hostile files for a board of numbers: refused with row and id, or scored as a formula by hand scores them.

What archives, protobuf and volumes may hide is tried beside their readers; bombs end in `test_sandbox`.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench.assessment.predictions import KEY
from shiftbench.challenge import forms, manifest, scoring
from shiftbench.challenge.definition import Board

from .challenges import DEV, parsed, sealed

N = 12
RNG = np.random.default_rng(5)
IDS = [f"r{n}" for n in range(N)]
TARGETS, SPREAD = RNG.normal(20, 5, N), RNG.uniform(0.5, 1.5, N)
ANSWERS = (TARGETS + RNG.normal(size=N)).round(2)
BOARD = Board("main", "Main", "r_auc", (DEV,), threshold=1.0)
GIVEN = pl.DataFrame({"id": IDS, "answer": ANSWERS, "uncertainty": SPREAD})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    labels = pl.DataFrame({"id": IDS, "target": TARGETS, "shifted": [n % 2 == 0 for n in range(N)]})
    return sealed(tmp_path_factory.mktemp("hostile") / "c", BOARD, labels)


def r_auc(answers: np.ndarray, spread: np.ndarray = SPREAD) -> float:
    """The mean of the N + 1 points of the curve of errors of the most certain records, by its definition."""
    errors = (answers - TARGETS)[np.argsort(spread)] ** 2
    return float(np.mean([errors[:k].sum() / N for k in range(N + 1)]))


def validated(file: Path, folder: Path) -> tuple[dict, list[str]]:
    form = forms.of(BOARD)
    arrays, problems = forms.validated(form.intake, file, manifest.records(folder, BOARD, DEV.name))
    return dict(arrays), [*form.misnamed(file.name), *problems]


def score(folder: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> float:
    """What the server's scorer gives, which is not resampled here."""
    monkeypatch.setattr(scoring, "_replicates", lambda *_: None)
    return scoring.evaluate(folder, BOARD, DEV, place).value


def csv(*, separator: str = ",", end: str = "\n", **changes: str) -> str:
    """The file as text; changes: column → what row 4 (r3) has there."""
    lines = [[name, repr(float(a)), repr(float(u))] for name, a, u in zip(IDS, ANSWERS, SPREAD, strict=True)]
    for name, value in changes.items():
        lines[3][GIVEN.columns.index(name)] = value
    return end.join(separator.join(line) for line in [GIVEN.columns, *lines]) + end


def parquet(frame: pl.DataFrame, **further: dict[str, str]) -> bytes:
    made = io.BytesIO()
    frame.write_parquet(made, **further)  # type: ignore[arg-type]
    return made.getvalue()


def cast(column: str, *types: pl.DataType | type[pl.DataType]) -> bytes:
    made = GIVEN
    for dtype in types:
        made = made.with_columns(pl.col(column).cast(dtype))
    return parquet(made)


def whole(dtype: type[pl.DataType]) -> bytes:
    return parquet(GIVEN.with_columns(pl.col("answer").round(0).cast(dtype)))


def given(**columns: pl.Expr | pl.Series) -> bytes:
    return parquet(GIVEN.with_columns(**columns))


def third(value: float) -> np.ndarray:
    return np.where(np.arange(N) == 3, value, ANSWERS)


ACCEPTED: dict[str, tuple[str, Callable[[], str | bytes], np.ndarray]] = {
    "a byte order mark": ("m.csv", lambda: "\ufeff" + csv(), ANSWERS),
    "CRLF": ("m.csv", lambda: csv(end="\r\n"), ANSWERS),
    "no line end": ("m.csv", lambda: csv()[:-1], ANSWERS),
    "blank lines": ("m.csv", lambda: csv(end="\n\n"), ANSWERS),
    "tabs": ("m.csv", lambda: csv(separator="\t"), ANSWERS),
    "decimal commas": ("m.csv", lambda: csv(separator=";").replace(".", ","), ANSWERS),
    "quotes": ("m.csv", lambda: '"' + csv().strip().replace(",", '","').replace("\n", '"\n"') + '"\n', ANSWERS),
    "columns of other things": ("m.parquet", lambda: given(x=pl.concat_list("id")), ANSWERS),
    "columns in another order": ("m.parquet", lambda: parquet(GIVEN.select("uncertainty", "id", "answer")), ANSWERS),
    "rows in another order": ("m.parquet", lambda: parquet(GIVEN.reverse()), ANSWERS),
    "gzip in parts": (
        "m.csv.gz", lambda: gzip.compress(csv()[:50].encode()) + gzip.compress(csv()[50:].encode()), ANSWERS,
    ),
    "a plus": ("m.csv", lambda: csv(answer="+1.5"), third(1.5)),
    "a point first": ("m.csv", lambda: csv(answer=".5"), third(0.5)),
    "an exponent": ("m.csv", lambda: csv(answer="1E1"), third(10.0)),
    "zeros first": ("m.csv", lambda: csv(answer="007"), third(7.0)),
    "spaces": ("m.csv", lambda: csv(answer=" 1.5 "), third(1.5)),
    "less than the smallest number": ("m.csv", lambda: csv(answer="1e-400"), third(0.0)),
    "single precision": ("m.parquet", lambda: cast("answer", pl.Float32), ANSWERS.astype("f4").astype(float)),
    "decimals": ("m.parquet", lambda: cast("answer", pl.Decimal(20, 2)), ANSWERS),
    "numbers as texts": ("m.parquet", lambda: cast("answer", pl.String), ANSWERS),
    "8 bits": ("m.parquet", lambda: whole(pl.Int8), ANSWERS.round()),
    "128 bits": ("m.parquet", lambda: whole(pl.Int128), ANSWERS.round()),
    "ids as categories": ("m.parquet", lambda: cast("id", pl.Categorical), ANSWERS),
    "ids as an enumeration": ("m.parquet", lambda: cast("id", pl.Enum(IDS)), ANSWERS),
}  # fmt: skip


@pytest.mark.parametrize("name", ACCEPTED)
def test_odd_files_that_mean_one_thing_get_the_number_of_the_definition(
    name: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file, content, answers = ACCEPTED[name]
    data = content()
    (tmp_path / file).write_bytes(data.encode() if isinstance(data, str) else data)
    arrays, problems = validated(tmp_path / file, folder)
    assert problems == []
    assert score(folder, parsed(tmp_path / "p", arrays), monkeypatch) == pytest.approx(r_auc(answers), rel=1e-12)


@pytest.mark.parametrize("value", ["0", "-0.0", "5e-324"])
def test_the_least_uncertainty_is_the_first_that_is_kept(
    value: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "m.csv").write_text(csv(uncertainty=value))
    arrays, problems = validated(tmp_path / "m.csv", folder)
    assert problems == []
    assert score(folder, parsed(tmp_path / "p", arrays), monkeypatch) == pytest.approx(
        r_auc(ANSWERS, np.where(np.arange(N) == 3, -1.0, SPREAD)), rel=1e-12
    )


WORDS = ["text", "true", "0x10", "1_000", '"1,000"', "１２", "١٢", "−1", "1d5", "∞", "$5", "5%", "1.2.3", "--1", "1e",
         "=1+1", "#REF!", "\u200b5"]  # fmt: skip
HUGE = ["inf", "-inf", "Infinity", "1e400", "1e308", "-1e155", "9" * 400]
NOTHING = ["", "nan", "NaN", "NA", "null", "None"]


@pytest.mark.parametrize("column", ["answer", "uncertainty"])
@pytest.mark.parametrize("value", [*WORDS, *HUGE, *NOTHING])
def test_what_is_no_number_is_told_with_its_row_and_id(column: str, value: str, folder: Path, tmp_path: Path):
    (tmp_path / "m.csv").write_text(csv(**{column: value}))
    told = "\n".join(validated(tmp_path / "m.csv", folder)[1])
    what = (
        "expected numbers up to 1e+150" if value in HUGE else "found none" if value in NOTHING else "expected numbers"
    )
    assert f"column '{column}': " in told
    assert what in told
    assert "in row 4 (id r3)" in told


NULLS = [None, *IDS[1:]]
REFUSED: dict[str, tuple[str, Callable[[], str | bytes], str]] = {
    "UTF-16": ("m.csv", lambda: csv().encode("utf-16"), "found UTF-16"),
    "UTF-16 without a mark": ("m.csv", lambda: csv().encode("utf-16-le"), "found UTF-16"),
    "Latin-1": ("m.csv", lambda: csv(id="ré").encode("latin-1"), "line 5: expected UTF-8 text, found byte 0xe9"),
    "a zero byte": ("m.csv", lambda: csv(answer="1\0002"), "a zero byte at"),
    "CR alone": ("m.csv", lambda: csv(end="\r"), "found CR alone"),
    "nothing": ("m.csv", lambda: "", "found a file of 0 bytes"),
    "a header alone": ("m.csv", lambda: csv().split("\n")[0] + "\n", "expected at least one row"),
    "line ends alone": ("m.csv", lambda: "\n" * 1000, "found blank lines"),
    "a column twice": ("m.csv", lambda: csv().replace("uncertainty", "answer", 1), "more than once: 'answer'"),
    "a short row": ("m.csv", lambda: csv(uncertainty="1").replace(",1\n", "\n"), "line 5: expected 3 fields"),
    "a long row": ("m.csv", lambda: csv(uncertainty="1,2"), "line 5: expected 3 fields as in the header, found 4"),
    "an open quote": ("m.csv", lambda: csv(id='"r3'), "expected closed quotes"),
    "an id twice": ("m.csv", lambda: csv(id="r2"), "found 1 id more than once: 'r2' in rows 3, 4"),
    "a negative uncertainty": ("m.csv", lambda: csv(uncertainty="-1"), "found -1 in row 4 (id r3)"),
    "one uncertainty": ("m.parquet", lambda: given(uncertainty=pl.lit(1.0)), "values that differ"),
    "the target": ("m.parquet", lambda: given(target=pl.lit(1.0)), "no column 'target'"),
    "flags of the shift": ("m.parquet", lambda: given(shifted=pl.lit(1)), "no column 'shifted'"),
    "errors": ("m.parquet", lambda: given(error=pl.lit(0.0)), "no column 'error'"),
    "half a gzip file": ("m.csv.gz", lambda: gzip.compress(csv().encode())[:-12], "end-of-stream marker"),
    "bytes behind gzip": ("m.csv.gz", lambda: gzip.compress(csv().encode()) + b"more", "damaged"),
    "gzip in gzip": ("m.csv.gz", lambda: gzip.compress(gzip.compress(csv().encode())), "binary data"),
    "a ZIP archive": ("m.csv", lambda: b"PK\x03\x04" + bytes(100), "found a ZIP archive"),
    "a pickle": ("m.parquet", lambda: b"\x80\x04\x8c\x02os\x8c\x06system\x93.", "found another format"),
    "half a Parquet file": ("m.parquet", lambda: parquet(GIVEN)[:-20], "Parquet"),
    "a footer of 2 GB": ("m.parquet", lambda: parquet(GIVEN)[:-8] + b"\xff\xff\xff\x7fPAR1", "Parquet"),
    "its mark alone": ("m.parquet", lambda: b"PAR1PAR1", "Parquet"),
    "no rows": ("m.parquet", lambda: parquet(GIVEN.head(0)), "expected at least one row"),
    "an id that is missing": ("m.parquet", lambda: given(id=pl.Series(NULLS)), "row 1"),
    "ids that are all missing": (
        "m.parquet", lambda: given(id=pl.Series([None] * N, dtype=pl.Null)), "column 'id'",
    ),
    "lists as ids": ("m.parquet", lambda: parquet(GIVEN.with_columns(pl.concat_list("id"))), "column 'id'"),
    "structs as ids": ("m.parquet", lambda: given(id=pl.struct("id")), "column 'id'"),
    "days as ids": ("m.parquet", lambda: given(id=pl.int_range(N).cast(pl.Date)), "such as 1970-01-01"),
    "moments as ids": ("m.parquet", lambda: given(id=pl.int_range(N).cast(pl.Datetime("us"))), "such as 1970-01-01"),
    "times as ids": ("m.parquet", lambda: given(id=pl.int_range(N).cast(pl.Duration("us"))), "column 'id'"),
    "lists as answers": ("m.parquet", lambda: given(answer=pl.concat_list("answer")), "found List"),
    "structs as answers": ("m.parquet", lambda: given(answer=pl.struct("answer")), "found Struct"),
    "bytes as answers": ("m.parquet", lambda: cast("answer", pl.String, pl.Binary), "found Binary"),
    "days as answers": ("m.parquet", lambda: cast("answer", pl.Int32, pl.Date), "found texts (such as '19"),
    "times as answers": ("m.parquet", lambda: cast("answer", pl.Int64, pl.Duration("us")), "found Duration"),
    "bytes as uncertainties": ("m.parquet", lambda: cast("uncertainty", pl.String, pl.Binary), "found Binary"),
    "lists as uncertainties": ("m.parquet", lambda: given(uncertainty=pl.concat_list("uncertainty")), "found List"),
    "categories": ("m.parquet", lambda: cast("uncertainty", pl.String, pl.Categorical), "found Categorical"),
    "true and false": ("m.parquet", lambda: given(uncertainty=pl.col("answer") > 20), "found Boolean"),
    "days as uncertainties": ("m.parquet", lambda: cast("uncertainty", pl.Int32, pl.Date), "found Date"),
    "words of metadata": ("m.parquet", lambda: parquet(GIVEN, metadata={KEY: "{"}), "m.parquet: "),
    "deep metadata": ("m.parquet", lambda: parquet(GIVEN, metadata={KEY: "[" * 10**5}), "m.parquet: "),
    "metadata of another kind": ("m.parquet", lambda: parquet(GIVEN, metadata={KEY: json.dumps([1])}), "m.parquet: "),
    "classes": ("m.parquet", lambda: given(answer=pl.lit("cat")), "found texts (such as 'cat')"),
    "another suffix": ("m.npz", lambda: b"PK\x03\x04", "expected a name that ends in"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_hostile_files_are_refused_in_words_that_tell_where(name: str, folder: Path, tmp_path: Path):
    file, content, told = REFUSED[name]
    data = content()
    (tmp_path / file).write_bytes(data.encode() if isinstance(data, str) else data)
    problems = validated(tmp_path / file, folder)[1]
    assert told in "\n".join(problems)
    assert all("Traceback" not in each and "Error(" not in each and len(each) < 2_000 for each in problems)
