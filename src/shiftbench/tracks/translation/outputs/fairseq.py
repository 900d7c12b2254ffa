"""What fairseq's generate prints: lines of sources, references, hypotheses and log-probabilities of their tokens."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shiftbench.errors import quoted
from shiftbench.progress import Progress, silent
from shiftbench.tracks.translation import lines
from shiftbench.tracks.translation.outputs.reader import Reader
from shiftbench.tracks.translation.outputs.record import Outputs

LINE = re.compile(rb"(S|T|H|D|P|SU)-(\d+)\t(.*)", re.DOTALL)
MEASURES = (
    "Total Uncertainty-PE", "Data Uncertainty", "Mutual Information-PE", "EPKL-PE", "SCR-PE", "SCR-EP", "aep_du",
    "sMKL-EP", "sMKL-PE", "log_probs", "Total Uncertainty-EP", "Mutual Information-EP", "EPKL-EP", "ep_MKL",
    "Reverse Mutual Information", "var", "varcombo", "logvar", "logcombo",
)  # fmt: skip
"""The numbers of an SU line, by the names that the published scripts give them."""
FIRST, HEURISTICS = 4, 4  # those of every version, and those of the latest alone
BPE = "@@ "


def read(path: Path, *, progress: Progress = silent) -> Outputs:
    """The outputs that were printed, in their order, with the ids that stand behind S-, T- and H-.

    H- lines hold log-likelihoods divided by the number of tokens, P- lines those of tokens. Versions that print D-
    lines (detokenised text, which is then taken) give both to base 2. SU- lines are averaged over hypotheses.

    Raises:
        TableError: naming every problem with its line and id.

    Source: the published scripts of Malinin et al. 2021 (SU- lines).
    """
    problems = lines.Problems(path)
    found: dict[str, dict[str, Any]] = {}
    at: dict[str, int] = {}
    base = 1.0
    for number, kind, name, text in _matched(problems, path, progress):
        record = found.setdefault(name, {"id": name})
        at.setdefault(name, number)
        if kind == "D":
            base = math.log(2)
        _add(problems, number, record, kind, text)
    reader = Reader(problems)
    for name, record in found.items():
        reader.record(at[name], _finished(record, base))
    return reader.outputs()


def _matched(problems: lines.Problems, path: Path, progress: Progress) -> Iterator[tuple[int, str, str, str]]:
    for number, line in lines.of(path, progress=progress):
        if match := LINE.fullmatch(line):
            yield number, match[1].decode(), match[2].decode(), lines.text(problems, number, match[3])


def _add(problems: lines.Problems, number: int, record: dict[str, Any], kind: str, text: str) -> None:
    """Add a line to what is known of its record."""
    if kind in ("S", "T"):
        record["source" if kind == "S" else "reference"] = text.replace(BPE, "")
        return
    texts = record.setdefault("hypotheses", [])
    if kind in ("H", "D"):
        score, tab, words = text.partition("\t")
        if not tab or (kind == "D" and not texts):
            what = f"{kind}-: expected a number, a tab and a text, found {quoted(text)}. Was a line cut off?"
            problems.add(f"line {number:,} (id {quoted(record['id'])})", what, kind=f"{kind}-")
        elif kind == "H":
            texts.append({"text": words.replace(BPE, ""), "score": as_number(score)})
        else:
            texts[-1]["text"] = words
    elif texts:
        key = "token_log_probabilities" if kind == "P" else "measures"
        texts[-1][key] = [as_number(each) for each in text.split()]


def as_number(text: str) -> Any:
    """A number; or the text, which is then refused where it stands."""
    try:
        return float(text)
    except ValueError:
        return text


def _finished(record: dict[str, Any], base: float) -> dict[str, Any]:
    """A record whose logarithms are natural, with the mean over hypotheses of what SU- lines say."""
    texts = record.get("hypotheses", [])
    if not texts:  # none, or a line that was refused
        record.pop("hypotheses", None)
    measures = [text.pop("measures") for text in texts if "measures" in text]
    if base != 1:
        for text in texts:
            logs = text.get("token_log_probabilities", [])
            text["score"] = _times(text["score"], base)
            text |= {"token_log_probabilities": [_times(each, base) for each in logs]} if logs else {}
    width = min(map(len, measures), default=0)
    if len(measures) == len(texts) and width >= FIRST:
        names = MEASURES[: width if width >= len(MEASURES) - HEURISTICS else FIRST]
        record["uncertainty"] = {name: mean([each[at] for each in measures]) for at, name in enumerate(names)}
    return record


def _times(value: Any, factor: float) -> Any:
    return value * factor if isinstance(value, float) else value


def mean(values: list[Any]) -> Any:
    """The mean of numbers; or the first text among them."""
    odd = [value for value in values if not isinstance(value, float)]
    return odd[0] if odd else sum(values) / len(values)
