"""Each layer of the sandbox is proved by trying what it forbids; hostile files end in words, never in arrays."""

import io
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftbench.challenge import confinement, sandbox
from shiftbench.challenge.definition import Board
from shiftbench.challenge.sandbox import Fault, Limits, Refused, Unexpected
from shiftbench.errors import MissingExtraError, SettingsError

from ...cli.test_aborts import with_negative_count

TABLE = Board("main", "Main", "r_auc", ())
SMALL = Limits(memory=4 * 2**30, cpu_s=60, wall_s=60, written=2**28)


@pytest.fixture(scope="module")
def attempts(tmp_path_factory):
    secret = tmp_path_factory.mktemp("sealed") / "truth.parquet"
    secret.write_bytes(b"labels")
    return secret, sandbox.probe(secret, [*confinement.PROBES])


@pytest.mark.parametrize("attempt", [*confinement.PROBES])
def test_what_a_hostile_parser_tries_is_refused(attempt, attempts):
    secret, found = attempts
    assert found["probes"][attempt] == ""
    assert secret.read_bytes() == b"labels"
    assert not secret.with_name("truth.parquet.new").exists()


def test_each_attempt_works_outside_so_that_its_refusal_means_something(tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(b"x")
    (tmp_path / "own").mkdir()
    task = {"secret": str(secret), "folder": str(tmp_path / "own"), "parent": os.getpid(), "memory": 2**20}
    harmless = ["read", "read_in_a_thread", "list", "write", "write_beside", "permissions", "times", "passwd",
                "environment", "udp", "fork", "signal", "memory", "link", "truncate", "remove"]  # fmt: skip
    found = confinement.probe({**task, "probes": harmless})
    assert {*found["probes"].values()} == {"it worked"}


def test_layers_are_told_by_what_was_tried():
    found = sandbox.layers()
    assert found["labels cannot be read"] is True
    assert found["no network"] is True
    assert str(found["Landlock"]).startswith("version")
    sandbox.require(found)


def test_labels_below_the_folders_of_python_are_noticed(tmp_path):
    readable = Path(pl.__file__)  # lies where the interpreter must read
    found = sandbox.layers(readable)
    assert "read: it worked" in str(found["labels cannot be read"])
    with pytest.raises(SettingsError, match="labels outside Python's own folders"):
        sandbox.require(found)


def test_a_parser_that_runs_too_long_is_ended(tmp_path):
    secret = tmp_path / "secret"
    secret.touch()
    with pytest.raises(Refused, match="within 1 s"):
        sandbox.probe(secret, ["spin"], limits=Limits(wall_s=1, memory=4 * 2**30))
    with pytest.raises(Refused, match="1 s of computing"):
        sandbox.probe(secret, ["spin"], limits=Limits(cpu_s=1, memory=4 * 2**30))


def test_a_reader_does_not_outlive_its_worker(tmp_path):
    script = (
        "import sys; from pathlib import Path; from shiftbench.challenge import sandbox; "
        "sandbox.probe(Path(sys.argv[1]), ['spin'], limits=sandbox.Limits(memory=4 * 2**30))"
    )
    parent = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)])
    children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
    while not (found := children.read_text().split()):
        time.sleep(0.02)
    child = Path(f"/proc/{found[0]}/stat")
    while Path(f"/proc/{found[0]}/comm").read_text().strip() and "confinement" not in _command(found[0]):
        time.sleep(0.02)
    time.sleep(0.5)
    parent.kill()
    parent.wait()
    end = time.monotonic() + 10
    while child.exists() and child.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < end
        time.sleep(0.02)


def _command(pid: str) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().decode()


@given(st.binary(max_size=200), st.integers(0, 130), st.binary(max_size=4))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_damaged_arrays_are_refused_or_plain_numbers(data, place, change):
    whole = io.BytesIO()
    np.save(whole, np.arange(4.0))
    good = whole.getvalue()
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "arrays" / "answer.npy"
        target.parent.mkdir()
        target.write_bytes(data if not change else good[:place] + change + good[place + len(change) :])
        try:
            found = sandbox.arrays(Path(folder))
        except Refused:
            return
        assert found["answer"].dtype.kind in "biuf"


def _parsed(file: Path, folder: Path, *, name: str = "", limits: Limits = SMALL) -> dict[str, np.ndarray]:
    sandbox.parse(TABLE, file, folder, name=name, limits=limits)
    return sandbox.arrays(folder)


def test_a_file_becomes_arrays_under_its_own_name(tmp_path):
    stored = tmp_path / "0123abcd"  # as servers store files: by hash
    stored.write_text("id,answer,uncertainty\n1,2.0,0.1\n2,3.0,0.3\n")
    arrays = _parsed(stored, tmp_path / "parsed", name="../../my model.csv")
    np.testing.assert_array_equal(arrays["answer"], [2.0, 3.0])
    assert {path.name for path in (tmp_path / "parsed").iterdir()} == {"arrays", "confined"}


def test_problems_are_told_under_the_name_of_the_stranger_without_paths(tmp_path):
    stored = tmp_path / "0123abcd"
    stored.write_text("id,answer,uncertainty\n1,2.0,0.1\n1,x,\n")
    with pytest.raises(Refused, match=r"my model\.csv") as found:
        _parsed(stored, tmp_path / "parsed", name="my model.csv")
    assert str(tmp_path) not in str(found.value)
    assert len(found.value.problems) >= 2


def _npz_bomb(path: Path) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**33,)})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("id.npy", header.getvalue() + bytes(2**24))


def _parquet_bomb(path: Path) -> None:
    """Ten million records in some kilobytes of run lengths."""
    lengths = {"id": "x" * 100, "answer": 1.0, "uncertainty": 1.0}
    pl.select(**{name: pl.repeat(value, 10_000_000) for name, value in lengths.items()}).write_parquet(path)
    assert path.stat().st_size < 2**18


def _pickle(path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, np.array([os.system], dtype=object), allow_pickle=True)


def _aborting(path: Path) -> None:
    """A page that says that it holds fewer than no values, for which polars asks for 2 EiB and ends the process."""
    with_negative_count(pl.DataFrame({"answer": [1.0, None, 3.0, 4.0] * 5, "id": ["x", "y", None, "z"] * 5}), path)


HOSTILE = {
    "abort.parquet": _aborting,
    "bomb.npz": _npz_bomb,
    "bomb.parquet": _parquet_bomb,
    "pickle.csv": _pickle,
    "pickle.parquet": _pickle,
}


@pytest.mark.parametrize("name", [*HOSTILE])
def test_bombs_and_pickles_are_refused_in_words(name, tmp_path):
    HOSTILE[name](tmp_path / name)
    with pytest.raises(Refused, match=r"expected|MiB"):
        _parsed(tmp_path / name, tmp_path / "parsed", limits=Limits(memory=2 * 2**30, cpu_s=60, wall_s=60))


def test_deeply_nested_messages_are_refused(tmp_path):
    inner = b""
    for _ in range(5_000):
        inner = b"\x0a" + _varint(len(inner)) + inner
    (tmp_path / "deep.pb").write_bytes(inner)
    motion = Board("main", "Main", "r_auc", (), track="motion", task="cnll")
    with pytest.raises(Refused, match="expected"):
        sandbox.parse(motion, tmp_path / "deep.pb", tmp_path / "parsed", limits=SMALL)


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def test_a_submission_called_like_the_labels_is_a_submission(tmp_path):
    (tmp_path / "sealed").mkdir()
    (tmp_path / "sealed" / "truth.parquet").write_bytes(b"labels")
    stored = tmp_path / "stored"
    pl.DataFrame({"id": ["1"], "answer": [5.0], "uncertainty": [1.0]}).write_parquet(stored)
    arrays = _parsed(stored, tmp_path / "parsed", name="sealed/truth.parquet")
    np.testing.assert_array_equal(arrays["answer"], [5.0])


def test_a_submission_that_is_a_link_reads_nothing_but_its_target(tmp_path):
    (tmp_path / "mine.csv").write_text("id,answer,uncertainty\n1,2.0,0.1\n")
    (tmp_path / "link.csv").symlink_to(tmp_path / "mine.csv")
    assert _parsed(tmp_path / "link.csv", tmp_path / "parsed")["answer"].tolist() == [2.0]


# --- what comes back --------------------------------------------------------------------------------------------------


def _folder(tmp_path: Path) -> Path:
    (tmp_path / "arrays").mkdir()
    return tmp_path / "arrays"


def test_links_in_place_of_arrays_are_not_followed(tmp_path):
    np.save(tmp_path / "labels.npy", np.arange(3))
    (_folder(tmp_path) / "answer.npy").symlink_to(tmp_path / "labels.npy")
    with pytest.raises(Refused, match="expected arrays"):
        sandbox.arrays(tmp_path)


def test_hard_links_in_place_of_arrays_are_not_followed(tmp_path):
    np.save(tmp_path / "labels.npy", np.arange(3))
    os.link(tmp_path / "labels.npy", _folder(tmp_path) / "answer.npy")
    with pytest.raises(Refused, match="no file of its own"):
        sandbox.arrays(tmp_path)


def test_a_pipe_in_place_of_an_array_does_not_hang(tmp_path):
    os.mkfifo(_folder(tmp_path) / "answer.npy")
    with pytest.raises(Refused, match="no file of its own"):
        sandbox.arrays(tmp_path)


def test_objects_are_never_loaded(tmp_path):
    np.save(_folder(tmp_path) / "answer.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(Refused, match="expected arrays of numbers"):
        sandbox.arrays(tmp_path)


@pytest.mark.parametrize(
    "shape", ["(4,)", "(-1,)", "(9999999999999999,)", "(2.5,)", "(2,[3])", "((((((((2,),),),),),),),)"]
)
def test_headers_that_lie_about_shapes_are_refused(shape, tmp_path):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    data = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(16)
    (_folder(tmp_path) / "answer.npy").write_bytes(data)
    with pytest.raises(Refused, match="expected arrays of numbers"):
        sandbox.arrays(tmp_path)


def test_other_files_beside_arrays_are_refused(tmp_path):
    (_folder(tmp_path) / "evil.so").touch()
    with pytest.raises(Refused, match="arrays alone"):
        sandbox.arrays(tmp_path)


def test_long_names_and_many_faults_are_told_and_do_not_pass_for_a_broken_reader(tmp_path):
    ids = "".join(f'{{"id": {n}, "{"y" * 2000}": 1}}\n' for n in range(3000))
    (tmp_path / "m.jsonl").write_text(ids)
    (tmp_path / "n.csv").write_text(f"id,answer,uncertainty\n{'x' * 3_000_000},1,1\n{'x' * 3_000_000},1,2\n")
    with pytest.raises(Refused, match="expected each id once, found 1 id more than once: 'xxx"):
        sandbox.parse(TABLE, tmp_path / "n.csv", tmp_path / "parsed", limits=SMALL)
    sentences = Board("main", "Main", "r_auc", (), track="translation", task="chrf")
    with pytest.raises(Refused, match="expected") as refused:
        sandbox.parse(sentences, tmp_path / "m.jsonl", tmp_path / "parsed", limits=SMALL)
    assert not any("ends its reader" in each or len(each) > 5_000 for each in refused.value.problems)
    assert len(refused.value.problems) <= confinement.MOST_TOLD + 1


class Panic(BaseException):
    """As of polars, which is no `Exception`."""


@pytest.mark.parametrize(
    ("error", "told"),
    [(MemoryError(), "found a larger one"), (Panic("no memory"), r"ends its reader (Panic: no memory)")],
)
def test_a_reader_without_memory_is_told_as_such_and_not_as_another_format(error, told, monkeypatch):
    def parse(_):
        raise error

    monkeypatch.setattr(confinement, "parse", parse)
    (problem,) = confinement.attempted({"probes": [], "memory": 2**32, "track": "table"})["problems"]
    assert "within 4,096 MiB" in problem
    assert told in problem


def test_problems_of_a_reader_are_cut_without_paths_and_counted():
    task = {"named": "/state/in/m.csv", "folder": "/state"}
    told = confinement.told([f"/state/in/m.csv: {n} in /state/tmp {'x' * 10_000}" for n in range(1_234)], task)
    assert (len(told), told[-1]) == (101, "and 1,134 more problems")
    assert told[0].startswith("m.csv: 0 in /tmp xxx")
    assert max(map(len, told)) < 500
    assert confinement.told(["a"], task) == ["a"]


@pytest.mark.parametrize("result", [[1], {}, {"layers": 5}, {"layers": [["landlock", "no"]]}])
@pytest.mark.parametrize("confined", [True, False])
def test_a_result_of_another_form_is_not_believed(result, confined, tmp_path):
    if confined:
        (tmp_path / "confined").touch()
    (tmp_path / confinement.RESULT).write_text(json.dumps(result))
    with pytest.raises(Refused, match="deceives"):
        sandbox._result(tmp_path, 0, SMALL)


def test_an_interpreter_that_never_began_is_our_fault(tmp_path):
    with pytest.raises(sandbox.Fault, match="before it began"):
        sandbox._result(tmp_path, 1, SMALL)


# --- whose fault ------------------------------------------------------------------------------------------------------


def _raised(error: Exception, module: str) -> Exception:
    """An error as if a module had raised it."""
    try:
        exec("raise error", {"__name__": module, "error": error})
    except type(error) as caught:
        return caught
    raise AssertionError


@pytest.mark.parametrize(
    ("error", "module", "ours"),
    [
        (ImportError("no polars"), "polars.io", True), (MissingExtraError("no nibabel"), "shiftbench.x", True),
        (AttributeError("x"), "shiftbench.tracks.motion.intake", True), (TypeError("x"), "__main__", True),
        (AttributeError("x"), "nibabel.nifti1", False), (TypeError("x"), "numpy.lib", False),
        (ValueError("x"), "shiftbench.tracks.motion.intake", False), (RecursionError("x"), "shiftbench.io", False),
    ],
)  # fmt: skip
def test_what_no_file_can_mean_is_our_fault_where_our_code_raised_it(error, module, ours):
    assert confinement.crash(_raised(error, module), "motion")["ours"] is ours


@pytest.mark.parametrize(
    ("crashed", "example", "kind"),
    [({"ours": True}, {}, Unexpected), ({"ours": True}, {"crashed": "ImportError"}, Fault),
     ({"ours": False}, {}, Refused)],
)  # fmt: skip
def test_a_reader_that_fails_at_its_own_example_too_is_our_fault(crashed, example, kind, tmp_path, monkeypatch):
    (tmp_path / "mine.csv").write_text("id\n1\n")

    def run(task, *_, **__):
        return example if "example" in task["file"] else {"crashed": "AttributeError: x", **crashed}

    monkeypatch.setattr(sandbox, "_run", run)
    with pytest.raises((Fault, Refused), match=r"broken by|could not be read") as caught:
        sandbox.parse(TABLE, tmp_path / "mine.csv", tmp_path / "parsed")
    assert type(caught.value) is kind


BREAKING = """
from shiftbench.challenge import confinement
read = confinement.parse
def parse(task):
    if {where!r} in task["named"]:
        raise {error}
    return read(task)
confinement.parse = parse
confinement.main()
"""


@pytest.mark.parametrize(
    ("where", "error", "kind"),
    [("mine", "AttributeError('x')", Unexpected), ("", "AttributeError('x')", Fault), ("", "ImportError('x')", Fault),
     ("mine", "ValueError('x')", Refused)],
    ids=["at this file", "at any file", "without a library", "of a damaged file"],
)  # fmt: skip
def test_whose_fault_it_is_is_found_by_trying_in_the_sandbox(where, error, kind, tmp_path, monkeypatch):
    (tmp_path / "mine.csv").write_text("id,answer,uncertainty\n1,2.0,0.1\n2,3.0,0.3\n")
    (tmp_path / "reader.py").write_text(BREAKING.format(where=where, error=error))
    monkeypatch.setattr(confinement, "__file__", str(tmp_path / "reader.py"))
    with pytest.raises((Fault, Refused), match=r"broken by|could not be read") as caught:
        sandbox.parse(TABLE, tmp_path / "mine.csv", tmp_path / "parsed", limits=SMALL)
    assert type(caught.value) is kind


@pytest.mark.parametrize("name", ["table", "weather", "motion", "translation", "lesions"])
def test_readers_read_their_own_examples_in_the_sandbox(name):
    sandbox._require_reader(replace(TABLE, track=name), SMALL, weak=False)
    with pytest.raises(Fault, match="broken by"):  # addresses do not suffice for its libraries
        sandbox._require_reader(replace(TABLE, track=name), Limits(memory=2**28, wall_s=60), weak=False)
