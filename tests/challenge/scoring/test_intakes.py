"""Whatever strangers hand in becomes plain arrays or problems in words, and arrays become predictions or problems."""

import shutil
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shiftbench.assessment import fingerprints, predictions
from shiftbench.assessment.predictions import Predictions
from shiftbench.challenge import forms, scoring
from shiftbench.challenge.definition import Board, Phase
from shiftbench.ensembles import Gaussian
from shiftbench.errors import ShiftbenchError
from shiftbench.track import Intake, PublicRecords, table_submission
from shiftbench.track.parsed import pack, unpack
from shiftbench.track.public_records import digest
from shiftbench.tracks import names, track
from shiftbench.tracks.lesions import nifti
from shiftbench.tracks.motion.submissions.submission import read_submission, write_submission

INTAKES = [name for name in names() if track(name).intake is not None]


def _intake(name: str) -> Intake:
    found = track(name).intake
    assert found is not None
    return found


def _again(path: Path) -> Path:
    """Restored predictions as a file that can be handed in: a folder becomes an archive."""
    if path.is_file():
        return path
    with zipfile.ZipFile(path.with_suffix(".zip"), "w") as archive:
        for file in sorted(path.rglob("*.nii")):
            archive.write(file, file.relative_to(path).as_posix())
    return path.with_suffix(".zip")


def test_every_track_of_the_package_takes_predictions_of_strangers():
    assert {"weather", "power", "motion", "lesions", "translation"} <= {*INTAKES}


@pytest.mark.parametrize("name", INTAKES)
def test_an_example_becomes_arrays_of_numbers_and_predictions_again(name, tmp_path):
    intake = _intake(name)
    (tmp_path / "restored").mkdir()
    file = intake.example(tmp_path, None)
    assert file.name.endswith(intake.suffixes)
    arrays = intake.parse(file)
    assert all(values.dtype.kind in "biuf" for values in arrays.values())
    again = intake.parse(_again(intake.restore(arrays, tmp_path / "restored")))
    assert {*again} == {*arrays}
    for key, values in arrays.items():
        if not key.startswith("names"):  # lesions: packed or not
            np.testing.assert_array_equal(values, again[key])


@pytest.mark.parametrize("name", INTAKES)
def test_arrays_that_are_missing_or_of_another_kind_never_become_predictions(name, tmp_path):
    intake = _intake(name)
    arrays = dict(intake.parse(intake.example(tmp_path, None)))
    lengths = {key for key, values in arrays.items() if values.ndim}
    for number, key in enumerate(sorted(lengths)):
        for broken in ({k: v for k, v in arrays.items() if k != key}, {**arrays, key: np.zeros((2, 2, 2, 2, 2))}):
            place = tmp_path / f"{number}-{len(broken)}"
            place.mkdir()
            optional = len(broken) < len(arrays) and key in {"confidences", "uncertainties", "measures_utf8"}
            if not optional:
                with pytest.raises(ShiftbenchError, match="expected"):
                    intake.restore(broken, place)


@pytest.mark.parametrize("name", INTAKES)
@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_and_random_files_are_refused_in_words(name, tmp_path, data):
    intake = _intake(name)
    good = intake.example(tmp_path, None).read_bytes()
    suffix = data.draw(st.sampled_from(intake.suffixes))
    if data.draw(st.booleans()):
        content = data.draw(st.binary(max_size=200))
    else:
        place = data.draw(st.integers(0, len(good) - 1))
        content = good[:place] + data.draw(st.binary(max_size=8)) + good[place + data.draw(st.integers(0, 8)) :]
    file = tmp_path / f"fuzz{suffix}"
    file.write_bytes(content)
    try:
        arrays = intake.parse(file)
    except ShiftbenchError:  # anything else is a fault
        return
    assert all(values.dtype.kind in "biuf" for values in arrays.values())


# --- validators -------------------------------------------------------------------------------------------------------

IDS = st.lists(st.text(max_size=8) | st.sampled_from(["1", "2", "site-1", "scene-a/1", "scene-b/7"]), max_size=5)
GRID = {"shape": [8, 8, 8], "affine": np.diag([2.0, 2.0, 2.0, 1.0]).tolist()}
FACTS = st.fixed_dictionaries(
    {}, optional={
        "answer": st.sampled_from([0.0, "cat"]), "task": st.sampled_from(["regression", "classification"]),
        "classes": IDS, "grids": st.dictionaries(st.sampled_from(["site-1", "2"]), st.just(GRID), max_size=2),
        "named": st.dictionaries(st.text(max_size=5), st.sampled_from(["site-1", "2"]), max_size=2),
    },
)  # fmt: skip
ARRAY = st.tuples(
    st.sampled_from(["<f8", "<f4", "<i8", "<u8", "|b1", "|u1"]), st.lists(st.integers(0, 3), min_size=1, max_size=5),
    st.sampled_from([0.0, 1.0, -1.0, float("nan"), 7.0]),
).map(lambda made: np.nan_to_num(np.full(made[1], made[2])).astype(made[0]) if made[0][1] != "f" else
      np.full(made[1], made[2]).astype(made[0]))  # fmt: skip


def _public(data: st.DataObject) -> PublicRecords:
    return PublicRecords.of(data.draw(IDS), **data.draw(FACTS))


def _validators() -> list[tuple[str, Intake]]:
    return [("own table", table_submission.OWN), *((name, _intake(name)) for name in INTAKES)]


@pytest.mark.parametrize(("name", "intake"), _validators(), ids=lambda each: each if isinstance(each, str) else "")
@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_a_file_holds_and_records_there_are_problems_are_texts(name, intake, tmp_path, data):
    example = intake.example(tmp_path, None)
    good = example.read_bytes()
    place = data.draw(st.integers(0, len(good) - 1))
    content = good[:place] + data.draw(st.binary(max_size=8)) + good[place + data.draw(st.integers(0, 8)) :]
    file = tmp_path / f"fuzz{''.join(example.suffixes)}"
    file.write_bytes(content)
    arrays, told = forms.validated(intake, file, _public(data))
    assert all(type(each) is str and each for each in told)
    assert all(values.dtype.kind in "biuf" for values in arrays.values())
    assert not told or len({*told}) == len(told)


@pytest.mark.parametrize(("name", "intake"), _validators(), ids=lambda each: each if isinstance(each, str) else "")
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_arrays_a_deceived_reader_gives_the_scorer_gets_problems_in_words(name, intake, tmp_path, data):
    arrays = dict(intake.parse(intake.example(tmp_path, None)))
    for key in data.draw(st.lists(st.sampled_from(sorted(arrays)), max_size=3, unique=True)):
        if data.draw(st.booleans()):
            del arrays[key]
        else:
            arrays[key] = data.draw(ARRAY)
    assert all(type(each) is str for each in forms.problems(intake, arrays, _public(data)))


def test_an_intake_without_records_compares_nothing_and_publishes_nothing(tmp_path, monkeypatch):
    plain = replace(_intake("power"), records=None, misfits=Intake.misfits)
    own = replace(track("power"), name="digits", intake=plain)  # of another package, made before there were records
    monkeypatch.setattr("shiftbench.tracks.track", lambda _: own)
    board = Board("main", "Main", "mean_error", (Phase("final", 0),), track="digits", task=own.tasks[0].name)
    pl.DataFrame({"id": ["1"], own.tasks[0].target: [2.0]}).write_parquet(tmp_path / "truth.parquet")
    assert forms.records(board, tmp_path / "truth.parquet") is None
    (tmp_path / "mine.csv").write_text("id,mean,std\nother,1,1\n")
    assert scoring.validate(board, tmp_path / "mine.csv", PublicRecords.of(["1"])) == []
    assert scoring.validate(replace(board, track="power"), tmp_path / "mine.csv", PublicRecords.of(["1"])) == []


def test_a_track_of_another_package_tells_its_own_misfits(tmp_path, monkeypatch):
    def misfits(arrays, records):
        return [*records.misfits(unpack(arrays, "id")), "expected a green file, found a blue one."]

    own = replace(track("power"), name="digits", intake=replace(_intake("power"), misfits=misfits))
    monkeypatch.setattr("shiftbench.tracks.track", lambda _: own)
    board = Board("main", "Main", "mean_error", (Phase("final", 0),), track="digits", task=own.tasks[0].name)
    pl.DataFrame({"id": ["1"], own.tasks[0].target: [2.0]}).write_parquet(tmp_path / "truth.parquet")
    records = forms.records(board, tmp_path / "truth.parquet")
    (tmp_path / "mine.csv").write_text("id,mean,std\nother,,1\n")
    told = "\n".join(scoring.validate(board, tmp_path / "mine.csv", records))
    assert all(word in told for word in ("NaN", "(1)", "(other)", "blue"))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"ids": 3}', '{"ids": [1]}', '{"ids": ["a"]', "[" * 100_000])
def test_public_records_that_are_something_else_are_refused(text, tmp_path):
    with pytest.raises(ShiftbenchError, match="expected the ids of records"):
        PublicRecords.parse(text, "records.json")


@given(IDS)
def test_public_records_are_read_as_they_were_written(ids):
    held = PublicRecords.of(ids, named={"b": "x", "a": "y"})
    with tempfile.TemporaryDirectory() as folder:
        assert PublicRecords.read(held.write(Path(folder) / "records.json")) == held


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("r3 ", "'r3 '"), ("\u0433" + "3", r"'\u04333'"), ("r\u200d3", r"'r\u200d3'"), ("\uff523", r"'\uff523'"),
        ("r\n3", r"'r\n3'"), ("\x1b[31mr3", r"'\x1b[31mr3'"), ("", "''"), ("x" * 10**6, f"'{'x' * 80}'…"),
        ("r03", "r03"),
    ],
)  # fmt: skip
def test_foreign_ids_that_look_like_others_are_told_by_their_codes(name: str, told: str):
    _, foreign = PublicRecords.of(["r1", "r3"]).misfits(["r1", name])
    assert f"found 1 other among 2 ids ({told})." in foreign


def test_ids_in_other_letters_are_told_in_these_where_records_have_them():
    _, foreign = PublicRecords.of(["größe1", "größe2"]).misfits(["größe1", "größe3", "größe\u200d2"])
    assert r"(größe3, 'gr\xf6\xdfe\u200d2')" in foreign


def test_missing_and_foreign_records_are_counted_and_named():
    records = PublicRecords.of(f"r{n}" for n in range(5))
    assert records.misfits(["r0", "r1", "r2", "r3", "r4"]) == []
    missing, foreign = records.misfits(["r4", "x", "x"])
    assert "none for 4 of 5 records (such as r0, r1, r2)" in missing
    assert "1 other among 2 ids (x)" in foreign
    assert "none for 1 of 1 record (a)" in PublicRecords.of(["a"]).misfits([])[0]


def _told(folder: Path, text: str, *records: str, **facts: Any) -> str:
    (folder / "mine.csv").write_text(text)
    known = PublicRecords.of(records, answer=0.0, **facts)
    return "\n".join(forms.validated(table_submission.OWN, folder / "mine.csv", known)[1])


def test_everything_that_is_wrong_with_answers_is_told_in_one_round_with_rows_and_ids(tmp_path):
    rows = [
        "a,1,1", "b,x,1", "c,,1", "d,NaN,2", "e,1e300,2", "f,inf,2", "g,2", "h,2,-3", "i,2,y", "j,2,", "k,y,2", "l,3,1",
        "m,z,1", "n,zz,1", "o,1,1", "p,1,1", "q,1,1", "r,1,1",
    ]  # fmt: skip
    told = _told(tmp_path, "id,answer,uncertainty\n" + "\n".join(rows) + "\n", *"abcdefghijklmnopqrst")
    for words in (
        "line 8: expected 3 fields as in the header, found 2 (row 7 below the header)",
        "column 'answer': expected numbers, found 'x' in row 2 (id b), 'y' in row 11 (id k), 'z' in row 13 (id m), … "
        "(4 in all)",
        "column 'answer': expected an answer in each row, found none in row 3 (id c), row 4 (id d).",
        "expected numbers up to 1e+150, whose squares can be added up, found 1e+300 in row 5 (id e), inf in row 6",
        "column 'uncertainty': expected numbers, found 'y' in row 9 (id i)",
        "column 'uncertainty': expected an uncertainty in each row, found none in row 10 (id j)",
        "uncertainty: expected values >= 0, found -3 in row 8 (id h); 1 of 15 are below 0",
        "found none for 3 of 20 records (g, s, t)",
    ):
        assert words in told


def test_not_a_number_in_a_file_with_types_is_called_so(tmp_path):
    file = tmp_path / "mine.parquet"
    frame = {"id": ["a", "b", "c"], "answer": [1.0, float("nan"), None], "uncertainty": [1.0, 2.0, 3.0]}
    pl.DataFrame(frame).write_parquet(file)
    told = "\n".join(forms.validated(table_submission.OWN, file, None)[1])
    assert "found NaN in row 2 (id b)" in told
    assert "found none in row 3 (id c)" in told


@pytest.mark.parametrize(("column", "more"), [("mean", "std"), ("answer", "uncertainty")])
def test_numbers_whose_squares_are_infinite_are_refused_before_they_are_sent(column, more, tmp_path):
    told = _told(tmp_path, f"id,{column},{more}\na,1,1\nb,1e300,2\n", "a", "b")
    assert "expected numbers up to 1e+150, whose squares can be added up, found 1e+300 in row 2 (id b" in told


def test_other_names_of_columns_are_told_in_one_message(tmp_path):
    told = _told(tmp_path, "Id,prediction,sigma\na,1,1\n", "a")
    assert told.count("expected") == 1
    assert "found no 'id', 'answer' and 'uncertainty' among Id, prediction, sigma. Rename or add them." in told


def test_texts_in_place_of_numbers_are_shown_once_each(tmp_path):
    rows = "".join(f"{n},{'north' if n < 5 else 'south'},{n}\n" for n in range(9))
    told = _told(tmp_path, f"id,answer,uncertainty\n{rows}", *map(str, range(9)))
    assert "found texts (such as 'north', 'south')" in told


def test_classes_without_probabilities_are_named_before_a_file_is_sent_whichever_the_labels_are(tmp_path):
    weather, classes = _intake("weather"), ["0", "10", "11"]
    known = PublicRecords.of(["a", "b"], task="classification", classes=classes)
    (tmp_path / "mine.csv").write_text("id,probability_10,probability_x\na,0.5,0.5\nb,0.1,0.9\n")
    told = forms.validated(weather, tmp_path / "mine.csv", known)[1]
    assert told == [
        "expected probabilities of all 3 classes, found no column `probability_0` and no `probability_11`. Add them, "
        "with 0 for a class that the model does not know."
    ]
    (tmp_path / "mine.csv").write_text("id,probability_10,probability_11,probability_0\na,0.5,0.5,0\nb,0.1,0.9,0\n")
    assert forms.validated(weather, tmp_path / "mine.csv", known)[1] == []


def test_the_ids_of_another_phase_are_named_as_such():
    own = {"answer": 0.0, "other_phases": {"evaluation": digest(["e1", "e2"])}}
    records = PublicRecords(["d1", "d2"], own)
    (told,) = records.misfits(["e2", "e1"])
    assert "found the ids of the phase evaluation: these are all of its ids" in told
    assert len(records.misfits(["e1", "x"])) == 2
    assert len(PublicRecords(["d1"], {"other_phases": ["evaluation"]}).misfits(["e1"])) == 2


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_texts_survive_as_bytes(texts):
    assert unpack(pack("x", texts), "x") == texts


@pytest.mark.parametrize(
    "ends", [[0, 2], [0, 5, 3], [1, 3], [], [0, -1, 3]], ids=["short", "falling", "late", "none", "negative"]
)
def test_offsets_that_do_not_cover_the_bytes_are_refused(ends):
    arrays = {"x_utf8": np.frombuffer(b"abc", np.uint8), "x_offsets": np.array(ends, dtype=np.int64)}
    with pytest.raises(ShiftbenchError, match="where texts begin"):
        unpack(arrays, "x")


def test_fingerprints_of_targets_and_gaps_are_dropped_since_they_could_ask_about_labels(tmp_path):
    ids = pl.Series(["1", "2"])
    marks = fingerprints.fingerprints(ids, pl.Series([5.0, 6.0]), task="regression")
    ensemble = Gaussian(np.ones((1, 2)), np.ones((1, 2)))
    file = Predictions(np.array(["1", "2"], dtype=object), ensemble, {"unanswered": 7}, marks).save(
        tmp_path / "p.parquet"
    )
    assert predictions.load(file).fingerprints is not None
    (tmp_path / "r").mkdir()
    restored = predictions.load(table_submission.restore(table_submission.parse(file), tmp_path / "r"))
    assert restored.fingerprints is None
    assert "unanswered" not in restored.metadata


@pytest.mark.parametrize("column", ["target", "error", "shifted"])
def test_columns_of_the_organiser_are_refused(column, tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text(f"id,answer,uncertainty,{column}\n1,2.0,0.1,0\n")
    with pytest.raises(ShiftbenchError, match=f"expected no column '{column}'"):
        table_submission.parse(file)


def test_every_problem_of_a_table_is_named_at_once(tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text("id,answer,uncertainty\n1,2.0,0.1\n1,,inf\n")
    with pytest.raises(ShiftbenchError, match="id") as found:
        table_submission.parse(file)
    assert len(found.value.problems) >= 2


def test_answers_alone_become_distributions_only_with_variances(tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text("id,answer,uncertainty\n1,2.0,-0.1\n2,3.0,0.5\n")
    with pytest.raises(ShiftbenchError, match="variances > 0"):
        table_submission.restore(table_submission.parse(file), tmp_path)


def test_flags_of_the_shift_are_dropped_since_they_could_ask_about_it(tmp_path):
    intake = _intake("motion")
    read = read_submission(intake.example(tmp_path, None))
    flagged = write_submission(replace(read, is_ood=np.array([True, False])), tmp_path / "flagged.parquet")
    restored = read_submission(intake.restore(intake.parse(flagged), tmp_path))
    assert not restored.is_ood.any()


@pytest.mark.parametrize("key", ["error", "quality", "correct"])
def test_translations_cannot_bring_their_own_errors(key, tmp_path):
    file = tmp_path / "mine.jsonl"
    file.write_text(f'{{"id": 1, "hypotheses": [{{"text": "a"}}], "uncertainty": 0.1, "{key}": 1}}\n')
    with pytest.raises(ShiftbenchError, match=f"found {key}"):
        _intake("translation").parse(file)


def _zip(path: Path, members: dict[str, bytes], attributes: int = 0) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = attributes << 16
            archive.writestr(info, content)
    return path


@pytest.mark.parametrize(
    ("members", "attributes", "told"),
    [
        ({"../../truth.nii": b"x"}, 0, "path of plain words"),
        ({"/etc/passwd.nii": b"x"}, 0, "path of plain words"),
        ({"a..b/c.nii": b"x"}, 0, "path of plain words"),
        ({"model.pkl": b"x"}, 0, "path of plain words"),
        ({"1_prob.nii": b"/elsewhere/sealed/truth"}, 0o120777, "found a link"),
        ({}, 0, "found none"),
        ({"1_prob.nii.gz": b"no"}, 0, "NIfTI"),
    ],
    ids=["up", "absolute", "dots", "pickle", "link", "empty", "garbage"],
)
def test_archives_hold_nifti_files_alone(members, attributes, told, tmp_path):
    with pytest.raises(ShiftbenchError, match=told):
        _intake("lesions").parse(_zip(tmp_path / "mine.zip", members, attributes))


def _softmax(place: Path, lesion: np.ndarray, **arrays: object) -> None:
    """What nnU-Net saves of a patient: a mask, and [background, lesion] in the order z, y, x."""
    from shiftbench.tracks.lesions import nifti

    place.parent.mkdir(parents=True, exist_ok=True)
    nifti.write(place.with_suffix(".nii.gz"), lesion > 0.5, np.diag([-2.0, -2.0, 3.0, 1.0]))
    held = arrays or {"probabilities": np.stack([1 - lesion, lesion]).transpose(0, 3, 2, 1)}
    np.savez_compressed(place.with_suffix(".npz"), **held)


def _packed(folder: Path) -> Path:
    return Path(shutil.make_archive(str(folder), "zip", folder))


@pytest.mark.parametrize("places", [["s-1"], ["fold_0/s-1", "fold_1/s-1"]], ids=["one", "folds"])
def test_results_of_nnunet_in_an_archive_are_what_they_are_in_a_folder(places, tmp_path):
    from shiftbench.tracks.lesions.submissions import submission

    rng, shape = np.random.default_rng(0), (4, 5, 6)
    for place in places:
        _softmax(tmp_path / "mine" / place, rng.random(shape).astype(np.float32))
    restored = tmp_path / "restored"
    restored.mkdir()
    intake = _intake("lesions")
    whole = intake.restore(intake.parse(_packed(tmp_path / "mine")), restored)
    affine = np.diag([-2.0, -2.0, 3.0, 1.0])
    ours, theirs = (submission("x", each, ["s-1"]).read("s-1", shape, affine)[0] for each in (whole, tmp_path / "mine"))
    np.testing.assert_allclose(ours.probability, theirs.probability, atol=1e-6)
    np.testing.assert_array_equal(ours.mask, theirs.mask)
    assert (ours.members is None) == (theirs.members is None) == (len(places) == 1)


def test_results_of_nnunet_that_are_pickles_or_lack_their_mask_are_refused(tmp_path):
    lesion = np.full((3, 3, 3), 0.25, dtype=np.float32)
    _softmax(tmp_path / "pickled" / "1", lesion, probabilities=np.array([{}] * 2, dtype=object).reshape(2, 1, 1, 1))
    with pytest.raises(ShiftbenchError, match=r"expected probabilities of nnU-Net, found: shape .* of object"):
        _intake("lesions").parse(_packed(tmp_path / "pickled"))
    _softmax(tmp_path / "alone" / "1", lesion)
    (tmp_path / "alone" / "1.nii.gz").rename(tmp_path / "alone" / "2.nii.gz")
    with pytest.raises(ShiftbenchError, match=r"^1\.npz: expected nnU-Net's mask 1\.nii\.gz beside it"):
        _intake("lesions").parse(_packed(tmp_path / "alone"))
    _softmax(tmp_path / "both" / "1", lesion)
    shutil.copyfile(tmp_path / "both" / "1.nii.gz", tmp_path / "both" / "1_prob.nii.gz")
    with pytest.raises(ShiftbenchError, match=r"1: expected 1\.npz or 1_prob\.nii\.gz, found both"):
        _intake("lesions").parse(_packed(tmp_path / "both"))


def test_links_in_tar_archives_are_refused(tmp_path):
    import tarfile

    with tarfile.open(tmp_path / "mine.tar", "w") as archive:
        link = tarfile.TarInfo("1_prob.nii")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    with pytest.raises(ShiftbenchError, match="found a link"):
        _intake("lesions").parse(tmp_path / "mine.tar")


def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path):
    bomb = _zip(tmp_path / "bomb.zip", {f"{n}_prob.nii": bytes(1) for n in range(3)})
    data = bytearray(bomb.read_bytes())
    at = data.rfind(b"PK\x01\x02")
    data[at + 24 : at + 28] = (2**32 - 2).to_bytes(4, "little")  # the size that the directory claims
    bomb.write_bytes(bytes(data))
    with pytest.raises(ShiftbenchError, match="sizes that fit"):
        _intake("lesions").parse(bomb)


def test_volumes_may_not_leave_their_folder_even_if_arrays_say_so(tmp_path):
    intake = _intake("lesions")
    arrays: dict[str, Any] = dict(intake.parse(intake.example(tmp_path, None)))
    arrays |= pack("names", ["../outside.nii"])
    with pytest.raises(ShiftbenchError, match="path of plain words"):
        intake.restore(arrays, tmp_path)
    assert not (tmp_path.parent / "outside.nii").exists()
    assert nifti.SUFFIXES


@pytest.mark.parametrize(
    ("text", "answer", "told"),
    [
        ("id,probability_a,probability_b\n1,0.2,0.8\n2,0.3,0.7\n", 0.0, "numbers as answers, found probabilities"),
        ("id,probability_a,probability_b\n1,0.2,0.8\n2,0.3,0.7\n", "a", ""),
        ("id,mean,std\n1,0.2,0.8\n2,0.3,0.7\n", "a", "names of classes as answers, or their probabilities"),
        ("id,mean,std\n1,0.2,0.8\n2,0.3,0.7\n", 0.0, ""),
    ],
)  # fmt: skip
def test_predictions_of_another_kind_than_an_own_table_s_targets_are_told_before_they_are_scored(
    text, answer, told, tmp_path
):
    (tmp_path / "mine.csv").write_text(text)
    board = Board("main", "Main", "mean_error", (Phase("final", 0),))
    found = scoring.validate(board, tmp_path / "mine.csv", PublicRecords.of(["1", "2"], answer=answer))
    assert [told in each for each in found] == [True] * bool(told)


@pytest.mark.parametrize(
    ("column", "dtype"),
    [
        (pl.concat_list("uncertainty"), "List"), (pl.struct("uncertainty"), "Struct"),
        (pl.col("uncertainty").cast(pl.String).cast(pl.Binary), "Binary"),
        (pl.col("uncertainty").cast(pl.Int64).cast(pl.Duration("us")), "Duration"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["uncertainty", "id", "text", "note"])
def test_tables_of_texts_with_columns_that_have_none_are_refused_by_column(column, dtype, name, tmp_path):
    frame = pl.DataFrame({"id": ["1", "2"], "text": ["a", "b"], "uncertainty": [0.5, 1.0]})
    frame.with_columns(column.alias(name)).write_parquet(tmp_path / "mine.parquet")
    board = Board("main", "Main", "mean_error", (Phase("final", 0),), track="translation", task="chrf")
    told = scoring.validate(board, tmp_path / "mine.parquet", PublicRecords.of(["1", "2"]))
    assert [f"column '{name}': expected texts or numbers, found {dtype}" in each for each in told] == [True]
