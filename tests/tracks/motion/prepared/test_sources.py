"""Where scenes lie: the official layout by all its names, archives within archives, flat folders; what is refused."""

from __future__ import annotations

import io
import os
import shutil
import sys
import tarfile
import zipfile

import pytest

from shiftbench.errors import FetchError, ShiftbenchError, TableError
from shiftbench.tracks.motion import archives
from shiftbench.tracks.motion.prepared import sources
from tests.tracks.motion.made_parts import PLACES, write


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return write(tmp_path_factory.mktemp("made"))


@pytest.fixture
def source(made, tmp_path):
    return shutil.copytree(made, tmp_path / "source")


def packed(folder, name, members=None):
    """A .tar.gz of the files of a folder, or of some of them."""
    with tarfile.open(name, "w:gz") as archive:
        for path in sorted(members or folder.rglob("*")):
            if path.is_file():
                archive.add(path, path.relative_to(folder).as_posix())
    return name


def files(found):
    return [part.file(scene) for part in found.parts for scene in part.scenes]


def test_parts_are_found_in_the_order_of_the_tag_files(source):
    found = sources.found(source)
    assert [part.name for part in found.parts] == ["train", "dev", "eval"]
    assert files(found) == list(PLACES)
    assert [part.tags.name for part in found.parts] == ["train_tags.txt", "dev_tags.txt", "eval_tags.txt"]
    assert found.origin is None
    assert found.notes == ()
    assert found.size() == sum(path.stat().st_size for path in source.rglob("*.pb"))


def test_the_official_names_deeper_down_are_the_same_data(source, tmp_path):
    plain = sources.found(source)
    for part, names in {"train": "train", "dev": "development", "eval": "evaluation"}.items():
        place = tmp_path / "official" / f"canonical-{part}"
        shutil.copytree(source / part, place / f"{names}_pb")
        shutil.copy(source / f"{part}_tags.txt", place / f"{names}_tags.txt")
    found = sources.found(tmp_path / "official")
    assert files(found) == files(plain)
    assert found.listing() == plain.listing()
    assert all(part.tags for part in found.parts)


def test_a_flat_folder_is_eval_or_what_it_is_called(source, tmp_path):
    flat = shutil.copytree(source / "dev", tmp_path / "scenes")
    assert files(sources.found(flat)) == ["eval/a.pb", "eval/b.pb"]
    (part,) = sources.found(source / "dev").parts
    assert (part.name, part.tags) == ("dev", source / "dev_tags.txt")


def test_what_is_not_there_or_left_out_is_noted(source):
    shutil.rmtree(source / "dev")
    shutil.copy(source / "eval/a.pb", source / "stray.pb")
    (source / "eval/._a.pb").write_bytes(b"of another system")
    (source / "eval_tags.txt").unlink()
    found = sources.found(source)
    assert found.notes == ("1 .pb files are outside the folders of the parts: left out", "dev: not there")
    assert "eval/._a.pb" not in files(found)


def test_the_origin_is_what_the_data_say(source):
    (source / sources.ORIGIN).write_text('origin = " made-up towns, seed 0 "\n')
    assert sources.found(source).origin == "made-up towns, seed 0"
    for wrong in ("origin = 3", 'other = "x"', "origin =", 'origin = ""'):
        (source / sources.ORIGIN).write_text(wrong)
        with pytest.raises(TableError, match=r'origin\.toml: expected origin = "…", found'):
            sources.found(source)


def test_tag_files_of_other_scenes_are_refused_all_at_once(source):
    lines = (source / "train_tags.txt").read_text().splitlines(keepends=True)
    (source / "train_tags.txt").write_text("".join(reversed(lines)))
    (source / "dev_tags.txt").write_text(lines[0])
    (source / "eval_tags.txt").write_text("not JSON\n" * 3)
    with pytest.raises(ShiftbenchError, match="remove it to use the tags in the scenes") as caught:
        sources.found(source)
    told = str(caught.value)
    assert "dev_tags.txt: expected a line for each of 2 scenes, found 1" in told
    assert "eval_tags.txt, line 1: expected a JSON object" in told
    (source / "train_tags.txt").write_text("".join([lines[1], lines[0], lines[2]]))
    with pytest.raises(
        ShiftbenchError, match=r"train_tags\.txt, line 1: expected the tags of train/000/a\.pb, "
    ) as caught:
        sources.found(source)
    assert "take the tags from the scenes themselves (`read_scene(path).tags`)" in str(caught.value)


def test_places_without_scenes_are_refused(source, tmp_path):
    with pytest.raises(TableError, match="expected a folder of scenes or an archive of them, found nothing there"):
        sources.found(tmp_path / "none")
    with pytest.raises(TableError, match="expected a folder of scenes or an archive of them, found another file"):
        sources.found(source / "dev/a.pb")
    (tmp_path / "empty").mkdir()
    with pytest.raises(TableError, match=r"expected scenes \(\.pb\) in folders train, dev and eval"):
        sources.found(tmp_path / "empty")
    shutil.copytree(source / "dev", source / "development")
    with pytest.raises(TableError, match="expected one folder of the part dev, found 2: dev, development"):
        sources.found(source)


# --- archives --------------------------------------------------------------------------------------------------------


def test_archives_are_needed_only_where_no_scenes_lie(source, tmp_path):
    archive = packed(source, tmp_path / "a.tar.gz")
    assert sources.archives_of(archive) == [archive]
    shutil.copy(archive, source / "copy.tar.gz")
    assert sources.archives_of(source) == []
    assert sources.archives_of(tmp_path / "source/train_tags.txt") == []


def test_archives_within_archives_are_unpacked_as_the_official_ones_ask_for(source, tmp_path):
    fetched = tmp_path / "fetched"
    fetched.mkdir()
    for name, parts in {"canonical-trn-dev-data": ("train", "dev"), "canonical-eval-data": ("eval",)}.items():
        with tarfile.open(fetched / f"{name}.tar", "w") as outer:
            for part in parts:
                members = [*(source / part).rglob("*.pb"), source / f"{part}_tags.txt"]
                inner = packed(source, tmp_path / f"{part}.tar.gz", members)
                outer.add(inner, f"{name}/{inner.name}")
    (fetched / archives.MODELS).write_bytes(b"of no matter")
    listed = sources.archives_of(fetched)
    assert [path.name for path in listed] == ["canonical-eval-data.tar", "canonical-trn-dev-data.tar"]
    place = sources.unpacked(listed, tmp_path / "place")
    found = sources.found(fetched, place=place)
    assert found.listing() == sources.found(source).listing()
    assert all(part.tags for part in found.parts)
    before = {path: path.stat().st_mtime_ns for path in place.rglob("*.pb")}
    sources.unpacked(listed, place)
    assert before == {path: path.stat().st_mtime_ns for path in place.rglob("*.pb")}


def test_a_zip_is_as_good(source, tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for path in source.rglob("*"):
            if path.is_file():
                archive.write(path, f"top/{path.relative_to(source).as_posix()}")
        archive.writestr("top/origin.toml", 'origin = "made"')
    found = sources.found(tmp_path / "a.zip", place=sources.unpacked([tmp_path / "a.zip"], tmp_path / "place"))
    assert (found.listing(), found.origin) == (sources.found(source).listing(), "made")


def test_hostile_and_damaged_archives_leave_nothing(tmp_path):
    with tarfile.open(tmp_path / "hostile.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo("../outside.pb"), io.BytesIO())
    (tmp_path / "damaged.tar.gz").write_bytes(b"\x1f\x8b" + bytes(100))
    for name in ("hostile.tar", "damaged.tar.gz"):
        with pytest.raises(FetchError, match=name):
            sources.unpacked([tmp_path / name], tmp_path / "place")
    assert not (tmp_path / "outside.pb").exists()
    assert not list((tmp_path / "place").rglob("*.pb"))


def test_archives_are_known_by_name_and_size(tmp_path):
    (tmp_path / "a.tar").write_bytes(bytes(10))
    before = sources.fingerprint([tmp_path / "a.tar"])
    (tmp_path / "a.tar").write_bytes(bytes(11))
    assert sources.fingerprint([tmp_path / "a.tar"]) != before


def test_official_archives_say_how_to_go_on():
    assert archives.ARCHIVES[0].name == "train-dev"
    assert len({each.file for each in archives.ARCHIVES}) == len(archives.ARCHIVES)
    for archive in archives.ARCHIVES:
        assert archive.url.endswith(f"/{archive.file}")
        assert archive.then is None or archive.then.startswith("shiftbench prepare motion {")


def test_capitals_change_no_part(source):
    plain = files(sources.found(source))
    for name in ("train", "dev", "eval"):
        (source / name).rename(source / name.upper())
    (source / "eval_tags.txt").rename(source / "Eval_Tags.TXT")
    found = sources.found(source)
    assert files(found) == plain
    assert all(part.tags for part in found.parts)
    (source / "dev").mkdir()
    with pytest.raises(TableError, match=r"expected one folder of the part dev, found 2: DEV, dev"):
        sources.found(source)


def test_scenes_whose_ending_is_in_capitals_are_not_left_out_silently(source):
    (source / "dev/a.pb").rename(source / "dev/a.PB")
    (source / "dev_tags.txt").unlink()
    found = sources.found(source)
    assert "dev/a.pb" not in files(found)
    assert found.notes == ("1 file ends in .PB in capitals, not in .pb: left out",)


def test_a_part_may_be_a_link(source, tmp_path):
    plain = sources.found(source)
    shutil.move(source / "eval", tmp_path / "elsewhere")
    (source / "eval").symlink_to(tmp_path / "elsewhere")
    (source / "other").symlink_to(source)  # a loop: links of other names are not followed
    found = sources.found(source)
    assert (files(found), found.notes) == (files(plain), ())
    assert found.listing() == plain.listing()


def test_files_that_cannot_be_used_are_all_named(source):
    (source / "dev/nowhere.pb").symlink_to("gone.pb")
    (source / "eval/loop.pb").symlink_to("loop.pb")
    (source / "eval_tags.txt").unlink()
    with pytest.raises(TableError) as raised:
        sources.found(source)
    nowhere, loop = raised.value.problems
    assert nowhere.startswith("dev/nowhere.pb: expected a scene, found: No such file")
    assert loop.startswith("eval/loop.pb: expected a scene, found: ")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_name_that_is_no_text_is_refused(source):
    (source / "dev/a.pb").rename(source / "dev" / os.fsdecode(b"\xff.pb"))
    with pytest.raises(TableError, match=r"expected a name in UTF-8, found another"):
        sources.found(source)


def test_what_a_system_packs_beside_is_no_data(source):
    (source / "__MACOSX/eval").mkdir(parents=True)
    (source / "__MACOSX/eval/junk.pb").write_bytes(b"junk")
    assert files(sources.found(source)) == list(PLACES)
    assert sources.found(source).notes == ()


def test_an_archive_that_was_mended_is_unpacked_anew(source, tmp_path):
    archive = packed(source, tmp_path / "data.tar.gz", [source / "eval/a.pb"])
    place = tmp_path / "unpacked"
    first = sources.found(archive, place=sources.unpacked([archive], place))
    assert files(first) == ["eval/a.pb"]
    packed(source, archive, [source / "eval/a.pb", source / "eval/b.pb"])
    second = sources.found(archive, place=sources.unpacked([archive], place))
    assert files(second) == ["eval/a.pb", "eval/b.pb"]
    assert len(list(place.iterdir())) == 1


def test_an_origin_is_one_line(source):
    (source / "origin.toml").write_text('origin = " made-up\\n  towns "\n')
    assert sources.found(source).origin == "made-up towns"
