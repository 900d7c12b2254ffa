"""Hostile outputs and sets of sentences: JSON lines, folders, fairseq's output, tables, SGML and raw text, damaged."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

from tests.hostile.mutations import Rng, damaged, edited, json_bytes, pick

Words = list[str]
RECORDS = 12
SENTENCES = (
    "It 's a test .", "שלום עולם", "e\u0301 \u0308x", "<script>alert(1)</script>", "👍🏽 r/user idk", "a\u2028b", "'",
    '"quoted', "{} %s \\n", "&amp;&lt;b&gt;", "x" * 300, "\u202eright to left",
)  # fmt: skip
NUMBERS = (
    "NaN", "Infinity", "-Infinity", "-800", "0.5", "1e-320", "-1e308", "null", '"x"', "[]", "1" + "0" * 400, "true",
    "-0.0",
)  # fmt: skip
WORDS = [
    ("house", "дом"),
    ("road", "улица"),
    ("water", "вода"),
    ("light", "свет"),
    ("night", "ночь"),
    ("tree", "дерево"),
]
PAIRS = [(f"the {one} and a {other}", f"вот {eins} и {zwei}") for one, eins in WORDS for other, zwei in WORDS]


def _records(rng: Rng) -> list[dict[str, Any]]:
    """Outputs of a small beam with all that may stand in a line."""
    found = []
    for at in range(RECORDS):
        texts = []
        for text, share in zip(SENTENCES[at : at + 2] or SENTENCES[:2], (0.75, 0.25), strict=False):
            logs = (-rng.gamma(1.0, size=3)).round(4).tolist()
            texts.append(
                {"text": text, "token_log_probabilities": logs, "tokens": ["a", "b", "c"], "confidence": share}
            )
        if len(texts) == 1:
            texts[0]["confidence"] = 1.0
        found.append({
            "id": at, "source": SENTENCES[-at], "reference": SENTENCES[at], "hypotheses": texts,
            "uncertainty": float(rng.random()), "quality": float(rng.integers(100)), "shifted": bool(at % 2),
            "slang": at % 3 == 0, "domain": pick(rng, "news", "chat"),
        })  # fmt: skip
    return found


def _json_lines(rng: Rng) -> bytes:
    return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in _records(rng)).encode()


def _printed(rng: Rng) -> bytes:
    """What fairseq prints."""
    lines = []
    for record in _records(rng):
        name = record["id"]
        lines += [f"S-{name}\t{record['source']}", f"T-{name}\t{record['reference']}"]
        for each in record["hypotheses"]:
            logs = each["token_log_probabilities"]
            lines += [f"H-{name}\t{np.mean(logs)}\t{each['text']}", f"P-{name}\t{' '.join(map(str, logs))}"]
    return "\n".join(lines).encode()


def _rows(rng: Rng) -> bytes:
    """A table of two systems."""
    header = ["id", "doc_id", "source", "reference", "reference_2", "hyp_a", "hyp_b", "slang", "quality"]
    lines = [header]
    for record in _records(rng):
        texts = [record["hypotheses"][0]["text"], record["reference"]]
        lines.append(
            [str(record["id"]), "d", record["source"], record["reference"], "", *texts, str(int(record["slang"])), "50"]
        )
    return "\n".join("\t".join(line) for line in lines).encode()


def _sgml(rng: Rng) -> bytes:
    segments = "".join(f'<seg id="{at}">{text}</seg>\n' for at, text in enumerate(SENTENCES))
    return f'<srcset setid="x"><doc docid="d" genre="news">\n{segments}</doc></srcset>\n'.encode()


def _spoilt(data: bytes, rng: Rng) -> bytes:
    """Bytes, fields, numbers, values or lines of a text changed."""
    lines = data.removesuffix(b"\n").split(b"\n")
    at = int(rng.integers(len(lines)))
    match int(rng.integers(5)):
        case 0:
            return damaged(data, rng)
        case 1:
            return edited(data, rng, b",\n\t")
        case 2 if data.startswith(b"{"):
            lines[at] = json_bytes(lines[at], rng).replace(b"\n", b"")
        case 3:
            fields = lines[at].split(b",")
            fields[rng.integers(len(fields))] = b' "score": ' + pick(rng, *NUMBERS).encode()
            lines[at] = b",".join(fields)
        case _:
            order = rng.choice(len(lines), len(lines), replace=bool(rng.random() < 0.3))
            lines = [lines[each] for each in order]
    return b"\n".join(lines)


FORMS = {"jsonl": _json_lines, "txt": _printed, "tsv": _rows}
FOLDER = ("hypos.txt", "hypo_likelihoods.txt", "hypo_ids.txt", "ref_ids.txt", "refs.txt", "epkl.txt")


def assessed(whole: Path, here: Path, rng: Rng) -> Words:
    """Outputs of any form, damaged, to be assessed or shown."""
    path = outputs(here, rng)
    if rng.random() < 0.2:
        return ["show", "translation", path.name, "--out", "out"]
    words = ["assess", path.name, "--track", "translation", "--replicates", "5", "--out", "out", "--cores", "1"]
    if rng.random() < 0.2:
        (here / "truth.jsonl").write_bytes(_spoilt(_json_lines(rng), rng))
        words += ["--data", "truth.jsonl"]
    return words


def prepared(whole: Path, here: Path, rng: Rng) -> Words:
    """A folder of sets of sentences, one of them damaged, to be prepared."""
    (source := here / "source").mkdir()
    for part in ("train", "dev_in", "eval_out"):
        for side, code in enumerate(("xx", "yy")):
            (source / f"{part}.{code}").write_text(
                "".join(f"{pair[side]} {(part, 'часть')[side]} {at}.\n" for at, pair in enumerate(PAIRS))
            )
    if rng.random() < 0.3:
        path = source / f"{pick(rng, 'train', 'dev_in')}.{pick(rng, 'xx', 'yy')}"
        path.write_bytes(_spoilt(path.read_bytes(), rng))
    else:
        name = pick(rng, "train-more", "dev_out", "eval_in")
        for path in sentences(source, rng):
            path.rename(source / path.name.replace("set", name))
    return ["prepare", "translation", "source", "--languages", "xx-yy", "--vocabulary", "100", "--executor", "serial",
            "--out", "out"]  # fmt: skip


def outputs(here: Path, rng: Rng) -> Path:
    """Outputs of any form, damaged; returns their path."""
    form = pick(rng, *FORMS, "folder", "jsonl.gz")
    if form == "folder":
        return _folder(here / "system", rng)
    data = _spoilt(FORMS[form.split(".")[0]](rng), rng)
    path = here / f"system.{form}"
    if form.endswith("gz"):
        data = gzip.compress(data, mtime=0) if rng.random() < 0.7 else damaged(gzip.compress(data, mtime=0), rng)
    path.write_bytes(data)
    return path


def _folder(folder: Path, rng: Rng) -> Path:
    folder.mkdir()
    columns = (SENTENCES * 2, [-0.5] * 24, [*range(12)] * 2, range(12), SENTENCES, [0.1] * 24)
    for name, values in zip(FOLDER, columns, strict=True):
        (folder / name).write_bytes("".join(f"{value}\n" for value in values).encode())
    path = folder / FOLDER[rng.integers(len(FOLDER))]
    path.write_bytes(_spoilt(path.read_bytes(), rng))
    return folder


def sentences(here: Path, rng: Rng) -> list[Path]:
    """A set of sentences of any form, damaged; returns its files, of which two are sources and references."""
    form = pick(rng, "raw", "sgm", "tsv", "jsonl")
    made = {"sgm": _sgml, "tsv": _rows, "jsonl": _json_lines}.get(form)
    if form in ("tsv", "jsonl") and made is not None:
        (path := here / f"set.{form}").write_bytes(_spoilt(made(rng), rng))
        return [path]
    data = made(rng) if made is not None else "\n".join(SENTENCES).encode()
    names = ("set.xx.sgm", "set.yy.sgm") if form == "sgm" else ("set.xx", "set.yy")
    for name in names:
        (here / name).write_bytes(_spoilt(data, rng) if rng.random() < 0.7 else data)
    return [here / name for name in names]
