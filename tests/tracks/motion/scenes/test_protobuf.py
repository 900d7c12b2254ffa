import csv
import importlib.util
import re
from pathlib import Path

import pytest

from shiftbench.errors import MissingExtraError, ShiftbenchError
from shiftbench.tracks.motion.scenes import protobuf
from tests.tracks.motion import made_scene

ROOT = Path(__file__).resolve().parents[4]
LABELS = {"repeated": True, "single": False}


def fields_of(message):
    """(name, number, type, repeated) of every field of a message of the descriptor set."""
    found = []
    for field in message.field:
        scalar = field.Type.Name(field.type).removeprefix("TYPE_").lower()
        kind = field.type_name.split(".")[-1] if field.type_name else scalar
        found.append((field.name, field.number, kind, field.label == field.LABEL_REPEATED))
    return found


def rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.needs_shared
def test_every_message_has_the_fields_of_the_official_format(shared):
    expected = {}
    for line in rows(shared / "facts/schema/motion_messages.csv"):
        fields = expected.setdefault((f"{line['file']}.proto", line["message"]), [])
        fields.append((line["field"], int(line["number"]), line["type"], LABELS[line["label"]]))
    found = {
        (file.name, message.name): fields_of(message)
        for file in made_scene.descriptor_set().file
        for message in file.message_type
    }
    assert {key: sorted(fields) for key, fields in found.items()} == {k: sorted(v) for k, v in expected.items()}
    assert {(file.syntax, file.package) for file in made_scene.descriptor_set().file} == {("proto3", protobuf.PACKAGE)}


@pytest.mark.needs_shared
def test_every_enum_has_the_numbers_of_the_official_format(shared):
    for line in rows(shared / "facts/schema/motion_enums.csv"):
        if line["enum"] != "ActorType":  # no message uses it
            assert made_scene.enums()[line["enum"]][line["name"]] == int(line["value"])


def test_the_descriptor_set_is_what_protoc_makes_of_the_proto_files(tmp_path):
    pytest.importorskip("grpc_tools", reason="protoc comes with grpcio-tools")
    spec = importlib.util.spec_from_file_location("motion_descriptors", ROOT / "tools/motion_descriptors.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    tool.write(tmp_path / "made")
    made = type(made_scene.descriptor_set()).FromString((tmp_path / "made").read_bytes())
    assert {file.name: file for file in made.file} == {file.name: file for file in made_scene.descriptor_set().file}


def test_messages_are_in_a_pool_of_their_own():
    from google.protobuf import descriptor_pool

    protobuf.message("Scene")
    with pytest.raises(KeyError, match="Scene"):
        descriptor_pool.Default().FindMessageTypeByName(f"{protobuf.PACKAGE}.Scene")


@pytest.mark.parametrize("name", made_scene.MADE)
def test_official_bytes_are_read_and_written_alike(name):
    data = (made_scene.GOLDEN / f"{name}.pb").read_bytes()
    assert protobuf.parse_scene(data).SerializeToString() == data


@pytest.mark.needs_shared
@pytest.mark.parametrize("name", ["motion_submission", "motion_groundtruth"])
def test_official_submissions_are_read_and_written_alike(shared, name):
    data = (shared / f"golden/inputs/{name}.pb").read_bytes()
    message = protobuf.parse_submission(data)
    assert len(message.predictions) == 60
    assert message.SerializeToString() == data


@pytest.mark.needs_shared
def test_a_submission_is_no_scene(shared):
    data = (shared / "golden/inputs/motion_submission.pb").read_bytes()
    with pytest.raises(ShiftbenchError, match=r"one\.pb: expected one serialised Scene message"):
        protobuf.parse_scene(data, source="one.pb")


def test_unknown_fields_stay_in_a_message():
    message = protobuf.message("Scene")(id="a")
    data = message.SerializeToString() + b"\xf8\x06\x05"  # field 111, a number 5
    assert protobuf.parse_scene(data).SerializeToString() == data


@pytest.mark.parametrize("data", [b"\x0a\x05ab", b"PK\x03\x04 a zip", b"\x89PNG\r\n\x1a\n", b"\xff" * 40])
def test_truncated_and_foreign_bytes_are_refused(data):
    with pytest.raises(ShiftbenchError, match=r"The file is truncated or of another format"):
        protobuf.parse_scene(data)
    with pytest.raises(ShiftbenchError, match=r"sub\.pb: expected one serialised Submission"):
        protobuf.parse_submission(data, source="sub.pb")


def test_files_too_large_are_refused_before_they_are_read(tmp_path):
    path = tmp_path / "huge.pb"
    with path.open("wb") as file:
        file.truncate(2**31)  # two gigabytes of nothing: no block of it is on the disk
    with pytest.raises(ShiftbenchError, match=r"expected at most 2,147,483,647 bytes, found 2,147,483,648"):
        protobuf.read_bytes(path)
    assert path.stat().st_blocks < 100


def test_files_that_are_none_are_refused(tmp_path):
    (tmp_path / "empty.pb").touch()
    expected = {
        tmp_path / "missing.pb": "No such file",
        tmp_path: "found a folder or a device",
        tmp_path / "empty.pb": "found an empty file",
    }
    for path, problem in expected.items():
        with pytest.raises(ShiftbenchError, match=re.escape(str(path)) + f".*{problem}"):
            protobuf.read_bytes(path)


def test_without_protobuf_the_extra_is_named(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr(protobuf, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r"pip install 'shiftbench\[motion\]'"):
        protobuf.parse_scene(b"\xff")
