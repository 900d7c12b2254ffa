"""A folder of texts becomes the same prepared folder whoever does the work, and however often it was interrupted."""

from __future__ import annotations

import gzip
import json
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftbench.errors import SettingsError, TableError
from shiftbench.io.executor import task
from shiftbench.methods.sequences import dataset
from shiftbench.progress import silent
from shiftbench.track import MANIFEST, BatchJob, Prepared
from shiftbench.tracks.translation import corpus, example, preparation, sources, texts, tokenizing
from shiftbench.tracks.translation.preparation import open_prepared, prepare
from shiftbench.tracks.translation.schema import PARTS
from shiftbench.tracks.translation.sentences import SentencePairs

ROWS, BLOCK = 400, 100
STAGES = ("clean", "find duplicates", "learn the vocabulary", "pack")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = example.write(tmp_path_factory.mktemp("example") / "texts", ROWS)
    for name in example.LANGUAGES:  # some pairs twice
        lines = (folder / f"train.{name}").read_bytes().splitlines(keepends=True)
        (folder / f"train.{name}").write_bytes(b"".join([*lines, *lines[40:60]]).removesuffix(b"\n"))
    return folder


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "BLOCK", BLOCK)


@pytest.fixture(scope="module")
def prepared(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus, "BLOCK", BLOCK)
        return whole(source, tmp_path_factory.mktemp("prepared") / "out")


def whole(source: Path, folder: Path, **options: Any) -> Prepared:
    found = prepare(source, folder, **{"executor": "serial"} | options)
    assert isinstance(found, Prepared)
    return found


def held(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_every_line_is_kept_or_counted(prepared: Prepared) -> None:
    manifest = json.loads((prepared.folder / MANIFEST).read_text("utf-8"))
    assert prepared.counts == {"train": manifest["counts"]["train"]} | dict.fromkeys(PARTS[1:], ROWS // 20)
    assert prepared.counts["train"] + sum(manifest["dropped"].values()) == 0.8 * ROWS + 20
    assert 15 < manifest["dropped"]["duplicate"] <= 20
    assert prepared.origin == f"made-up language pair, {ROWS} sentences, seed 0"
    assert len(manifest["shards"]) == 4


def test_parts_keep_references_flags_and_documents(prepared: Prepared, source: Path) -> None:
    found, known = texts.read(prepared.folder / "eval_out.jsonl"), texts.read(source / "eval_out.tsv")
    assert (found.ids, found.sources, found.references) == (known.ids, known.sources, known.references)
    assert found.columns == known.columns
    assert max(map(len, found.references or [])) == example.REFERENCES


def test_two_workers_give_the_same_bytes(prepared: Prepared, source: Path, tmp_path: Path) -> None:
    again = whole(source, tmp_path / "out", executor="processes", workers=2)
    assert held(again.folder) == held(prepared.folder)


@pytest.mark.parametrize("stage", STAGES)
def test_work_that_was_interrupted_is_resumed(prepared: Prepared, source: Path, tmp_path: Path, stage: str) -> None:
    def stop(told: str, done: int, _total: int) -> None:
        if told == stage and done <= 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        whole(source, tmp_path / "out", progress=stop)
    assert (tmp_path / "out" / corpus.BEGUN).is_file()
    with pytest.raises(TableError, match="expected a prepared folder"):
        open_prepared(tmp_path / "out")
    told = list[str]()
    again = whole(source, tmp_path / "out", progress=lambda name, _done, _total: told.append(name))
    assert held(again.folder) == held(prepared.folder)
    assert not {*STAGES[: STAGES.index(stage)]} & {*told}


def test_a_killed_process_leaves_what_another_completes(prepared: Prepared, source: Path, tmp_path: Path) -> None:
    script = f"""
import os, signal
from pathlib import Path
from shiftbench.tracks.translation import corpus, preparation
corpus.BLOCK = {BLOCK}
def kill(stage, done, total):
    if stage == "pack" and done == 2:
        os.kill(os.getpid(), signal.SIGKILL)
preparation.prepare(Path({str(source)!r}), Path({str(tmp_path / "out")!r}), executor="serial", progress=kill)
"""
    done = subprocess.run([sys.executable, "-c", script], check=False)
    assert done.returncode == -signal.SIGKILL
    assert held(whole(source, tmp_path / "out").folder) == held(prepared.folder)


def test_a_batch_system_is_given_one_array_after_the_other(prepared: Prepared, source: Path, tmp_path: Path) -> None:
    arrays = 0
    while isinstance(job := prepare(source, tmp_path / "out", executor="slurm", workers=2), BatchJob) and job.script:
        arrays += 1
        for number in range(json.loads((job.script.parent / "job.json").read_text("utf-8"))["tasks"]):
            task.array_task(job.script.parent, number)
    assert arrays == 3
    assert held(whole(source, tmp_path / "out").folder) == held(prepared.folder)


def test_finished_work_is_opened_and_other_settings_are_refused(prepared: Prepared, source: Path) -> None:
    told = list[str]()
    assert whole(source, prepared.folder, progress=lambda name, *_: told.append(name)) == prepared
    assert {*told} == {"compare texts"}
    with pytest.raises(TableError, match="begun with the same vocabulary, found one begun with others"):
        prepare(source, prepared.folder, vocabulary=300)


def test_other_settings_discard_unfinished_work_when_that_is_wanted(
    prepared: Prepared, source: Path, tmp_path: Path
) -> None:
    def stop(told: str, *_: int) -> None:
        if told == "pack":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        whole(source, tmp_path / "out", vocabulary=300, progress=stop)
    with pytest.raises(TableError, match="begun with the same vocabulary, found"):
        whole(source, tmp_path / "out")
    assert held(whole(source, tmp_path / "out", overwrite=True).folder) == held(prepared.folder)


def test_texts_that_were_changed_are_noticed(source: Path, tmp_path: Path) -> None:
    folder = set_of(tmp_path / "in", train_DOT_tsv=LINES, dev_in_DOT_tsv=DEV)
    whole(folder, tmp_path / "out", vocabulary=200)
    (folder / "dev_in.tsv").write_text(DEV.replace("One", "Two"), "utf-8")
    with pytest.raises(TableError, match="begun with the same texts, found"):
        whole(folder, tmp_path / "out", vocabulary=200)


@pytest.mark.parametrize("step", [1, 3, 70])
def test_a_vocabulary_is_learnt_from_every_nth_pair_of_all_blocks(
    source: Path, tmp_path: Path, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = list[str]()
    monkeypatch.setattr(preparation, "SAMPLE", 1 if step == 70 else -(-40 // step))
    monkeypatch.setattr(corpus, "BLOCK", 16)
    real = tokenizing.learnt

    def noted(texts: Iterator[str], size: int, **options: Any) -> tokenizing.Subwords:
        taken.extend(texts)
        return real(LINES.splitlines(), size, **options)

    monkeypatch.setattr(tokenizing, "learnt", noted)
    whole(set_of(tmp_path / "in", train_DOT_tsv=LINES, dev_in_DOT_tsv=DEV), tmp_path / "out", vocabulary=200)
    pairs = [line.split("\t") for line in LINES.splitlines()]
    assert taken == [side for pair in pairs[:: min(step, len(pairs))] for side in pair]


# --- sources ---------------------------------------------------------------------------------------------------------


def set_of(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        data = text.encode()
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return folder


DEV = "id\tsource\treference\n1\tOne.\tОдин.\n2\tTwo words.\tДва слова.\n3\t!?\tНет.\n"
LINES = "".join(f"a sentence of number {row} here\tпредложение за номером {row} здесь\n" for row in range(40))


def test_sets_of_every_form_are_joined(tmp_path: Path) -> None:
    english, russian = (
        "".join(f"{line.split(chr(9))[side]}\n" for line in LINES.splitlines()).replace("number", "row")
        for side in (0, 1)
    )
    folder = set_of(
        tmp_path / "in",
        **{
            "train__a_DOT_en-ru_DOT_tsv_DOT_gz": f"en\tru\n{LINES}",
            "train__b_DOT_en_DOT_gz": english,
            "train__b_DOT_ru_DOT_gz": russian,
            "dev_in_DOT_tsv": DEV,
            "dev_out-reddit_DOT_tsv": DEV,
            "notes_DOT_txt": "of no part",
        },
    )
    found = whole(folder, tmp_path / "out", reddit=True, vocabulary=200)
    assert found.counts == {"train": 80, "dev_in": 3, "dev_out": 1, "eval_in": 0, "eval_out": 0}
    assert set(found.notes) == {
        "dev_out: 1 sentence dropped, one word",
        "dev_out: 1 sentence dropped, without letters",
    }
    assert texts.read(found.folder / "dev_in.jsonl").ids == ["dev_in:1", "dev_in:2", "dev_in:3"]
    assert found.origin == "texts of unknown origin"


def test_the_official_archives_are_a_source_as_they_are(tmp_path: Path) -> None:
    names = {
        "train-data/commoncrawl.ru-en.en": "one b", "train-data/commoncrawl.ru-en.ru": "раз",
        "train-data/news.ru": "два", "train-data/news.ru.translatedto.en": "two b",
        "train-data/en-ru/UNv1.0.en-ru.en": "three b", "train-data/en-ru/UNv1.0.en-ru.ru": "три",
        "train-data/WikiMatrix.v1.en-ru.langid.tsv": "1.1\tfour b\tчетыре\ten\tru\nless",
        "train-data/wikititles-v2.ru-en.tsv": "пять\tfive b",
        "train-data/news-commentary-v15.en-ru.tsv": "six b\tшесть",
        "dev-data/newstest2019-enru-src.en.sgm": '<doc docid="d"><seg id="1">Seven.</seg></doc>',
        "dev-data/newstest2019-enru-ref.ru.sgm": '<doc docid="d"><seg id="1">Семь.</seg></doc>',
        "dev-data/reddit_dev.en": "eight", "dev-data/reddit_dev.ru": "восемь",
        "eval-data/global_voices_eval.en": "nine", "eval-data/global_voices_eval.ru": "девять",
        "eval-data/reddit_eval.tsv": "id\tsource\treference\tslang\n7\tidk\tне знаю\t1",
    }  # fmt: skip
    for name, text in names.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    found = sources.found(tmp_path)
    numbers = ["one", "two", "three", "four", "five", "six"]
    russian = ["раз", "два", "три", "четыре", "пять", "шесть"]
    known = {(f"{source} b".encode(), target.encode()) for source, target in zip(numbers, russian, strict=True)}
    assert set(found.pairs(silent)) == {*known, (b"", b"")}
    tested = {part: found.read(found.sets[part][0], silent) for part in PARTS[1:]}
    assert {part: (held.sources, held.references) for part, held in tested.items()} == {
        "dev_in": (["Seven."], [("Семь.",)]),
        "dev_out": (["eight"], [("восемь",)]),
        "eval_in": (["nine"], [("девять",)]),
        "eval_out": (["idk"], [("не знаю",)]),
    }
    assert tested["eval_out"].columns["slang"] == [True]


def test_sets_to_be_tested_on_alone_are_prepared_and_hold_nothing_to_learn_from(tmp_path: Path) -> None:
    found = whole(set_of(tmp_path / "in", eval_in_DOT_tsv=DEV), tmp_path / "out")
    assert found.counts == dict.fromkeys(PARTS, 0) | {"eval_in": 3}
    assert {*held(found.folder)} == {MANIFEST, "eval_in.jsonl"}
    with pytest.raises(TableError, match="expected pairs of train, which a vocabulary is learnt from, found none"):
        SentencePairs.of(found.folder, "eval_in")


PAIR = {"train_DOT_tsv": "a\tб\n", "dev_in_DOT_tsv": DEV}


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"train_DOT_tsv": None, "dev_in_DOT_tsv": None, "x_DOT_tsv": DEV},
            "expected sets of train, dev_in, .* found none",
        ),
        ({"train_DOT_en": "a\n"}, "expected two files whose names differ in en and ru"),
        ({"train_DOT_en": "a\nb\n", "train_DOT_ru": "a\n"}, "expected as many lines in both, found 2 and 1"),
        ({"train_DOT_tsv": ""}, "expected a column of sources and one of references"),
        ({"train_DOT_tsv": None, "train_DOT_en": "", "train_DOT_ru": ""}, "expected pairs of sentences, found none"),
        ({"train_DOT_tsv": "a\ta\n"}, "expected pairs that pass the cleaning"),
        ({"dev_in_DOT_tsv": "id\tx\n1\t2\n"}, "expected a column of sources"),
        ({"dev_in-2_DOT_tsv": DEV}, "dev_in: expected one set, found 2"),
        ({"origin_DOT_toml": "source = 7"}, "expected texts, found other values of source"),
        ({"origin_DOT_toml": "source = 'x'"}, "languages: expected two codes"),
        ({"origin_DOT_toml": "source ="}, "expected TOML, found"),
        ({"origin_DOT_toml": "target = 'en'"}, "expected two codes such as en-ru, found 'en-en'"),
    ],
)
def test_sources_that_are_not_understood_are_refused_with_a_reason(
    tmp_path: Path, files: dict[str, str | None], message: str
) -> None:
    folder = set_of(tmp_path / "in", **{name: text for name, text in (PAIR | files).items() if text is not None})
    with pytest.raises((TableError, SettingsError), match=message):
        prepare(folder, tmp_path / "out", executor="serial")


def test_refused_texts_leave_no_folder(tmp_path: Path) -> None:
    folder = set_of(tmp_path / "in", train_DOT_en="a\nb\n", train_DOT_ru="a\n", dev_in_DOT_tsv=DEV)
    with pytest.raises(TableError, match="as many lines"):
        prepare(folder, tmp_path / "out", executor="serial")
    assert not list((tmp_path / "out").rglob("*.*"))


def test_prepared_folders_and_missing_ones_are_no_sources(prepared: Prepared, tmp_path: Path) -> None:
    with pytest.raises(TableError, match="found a folder that is already prepared"):
        prepare(prepared.folder, tmp_path / "out")
    with pytest.raises(TableError, match="found nothing there"):
        prepare(tmp_path / "no", tmp_path / "out")
    with pytest.raises(SettingsError, match="expected at least 100 tokens"):
        prepare(tmp_path, tmp_path / "out", vocabulary=5)


# --- what was prepared -----------------------------------------------------------------------------------------------


def test_pairs_are_what_models_of_sequences_learn_from(prepared: Prepared) -> None:
    for part in PARTS:
        pairs = pickle.loads(pickle.dumps(SentencePairs.of(prepared.folder, part)))
        assert len(pairs) == prepared.counts[part] == len(pairs.lengths)
        assert not list(dataset.training_problems(pairs, part, longest=200))
        assert pairs.lengths.tolist() == [[len(side) for side in pairs.pair(row)] for row in range(len(pairs))]
        chosen = pairs.select([5, 2])
        assert [side.tolist() for side in chosen.pair(1)] == [side.tolist() for side in pairs.pair(2)]
        assert chosen.lengths.tolist() == pairs.lengths[[5, 2]].tolist()
        assert len({pairs.digest, chosen.digest, pairs.select([2, 5]).digest}) == 3


def test_sources_are_texts(prepared: Prepared, source: Path) -> None:
    learnt, tested = (SentencePairs.of(prepared.folder, part) for part in ("train", "eval_out"))
    assert learnt.source(0) == (source / "train.qaa").read_text("utf-8").splitlines()[0]
    assert [tested.source(row) for row in range(len(tested))] == texts.read(source / "eval_out.tsv").sources


def test_a_reference_that_is_unknown_has_no_tokens(tmp_path: Path) -> None:
    folder = set_of(tmp_path / "in", train_DOT_tsv=LINES, dev_in_DOT_tsv="id\tsource\n1\tOne.\n")
    found = SentencePairs.of(whole(folder, tmp_path / "out", vocabulary=200).folder, "dev_in")
    assert found.lengths[:, 1].tolist() == [0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "another"}, "expected 'shiftbench translation data 1', found 'another'"),
        ({"shards": {}}, "shards: expected list"),
        ({"counts": {}}, "counts: expected a number for each part"),
        ({"begun": {}}, "begun: expected the limits of a cleaning"),
        ({"parts": {}}, "parts: expected a file of each part"),
        ({"vocabulary": {"file": "../x", "bytes": 1, "sha256": ""}}, "file: expected a name in the folder"),
        ({"shards": [{"files": []}]}, "shard 0: expected two files"),
    ],
)
def test_a_damaged_manifest_is_refused(
    prepared: Prepared, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    manifest = json.loads((prepared.folder / MANIFEST).read_text("utf-8"))
    (tmp_path / MANIFEST).write_text(json.dumps(manifest | change), "utf-8")
    with pytest.raises(TableError, match=message):
        open_prepared(tmp_path)


def test_missing_files_are_named(prepared: Prepared, tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_bytes((prepared.folder / MANIFEST).read_bytes())
    with pytest.raises(TableError, match=r"vocabulary\.model: expected .* bytes, found no such file"):
        open_prepared(tmp_path)


@pytest.mark.needs_shared
def test_real_texts_are_prepared(shared: Path, tmp_path: Path) -> None:
    data = shared / "data/translation"
    folder = tmp_path / "in"
    (folder / "train").mkdir(parents=True)
    (folder / "train/tico19.tsv.gz").symlink_to(data / "train/tico19.en-ru.tsv.gz")
    (folder / "dev_in.tsv.gz").symlink_to(data / "newstest2020.en-ru.tsv.gz")
    found = whole(folder, tmp_path / "out")
    assert found.counts["dev_in"] == 2_002
    assert found.counts["train"] + sum(found.unused.values()) == 2_100
    assert found.counts["train"] > 1_500
    lengths = SentencePairs.of(found.folder, "train").lengths
    assert (np.maximum(lengths[:, 0], lengths[:, 1]) <= 1.5 * lengths.min(axis=1)).all()
