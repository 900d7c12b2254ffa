"""New challenges: what participants get, what is sealed, and that one does not tell the other."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from shiftbench.challenge import creation, definition, manifest, table_board
from shiftbench.challenge.creation import Terms
from shiftbench.errors import SettingsError, UnknownNameError
from shiftbench.pipeline import example, settings
from shiftbench.pipeline.settings import Settings

PHASES = ("development", "evaluation")


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    _, path = example.write(tmp_path_factory.mktemp("data") / "t.parquet", rows=2000, seed=3)
    return replace(settings.from_dict(settings.read_checked(path)), methods=())


@pytest.fixture(scope="module")
def made(wanted: Settings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "Wind & Co"
    creation.add(
        folder, Terms("Wind", days=3, starts=10), table_board.from_table(Terms("Wind", starts=10, days=3), wanted)
    )
    return folder


def read(folder: Path, *names: str) -> pl.DataFrame:
    return pl.read_parquet(folder.joinpath(*names))


def test_a_challenge_is_made_sealed_and_well(made: Path):
    assert manifest.check(made) == []
    challenge = definition.read(made / definition.FILE)
    (board,) = challenge.boards
    assert (challenge.slug, board.slug, board.track, board.threshold) == ("wind---co", "main", "table", 25.0)
    first, second = board.phases
    assert (first.hidden, second.hidden) == (False, True)
    assert (first.starts, first.ends, second.starts, second.ends) == (10, 10 + 3 * creation.DAY, first.ends, None)
    assert [path.name for path in made.parent.iterdir()] == ["Wind & Co"]


@pytest.mark.parametrize("phase", PHASES)
def test_inputs_have_no_label_no_role_and_ids_that_tell_nothing(phase: str, made: Path):
    inputs, truth = (
        read(made, "public/main", phase, "inputs.parquet"),
        read(made, "sealed/main", phase, "truth.parquet"),
    )
    assert inputs["id"].to_list() == truth["id"].to_list()
    assert inputs["id"].n_unique() == inputs.height > 50
    assert not {"demand_mw", "target", "shifted", "date", "station", "region", "truth_mean", "level"} & {
        *inputs.columns
    }
    assert truth.columns == ["id", "target", "shifted", "cluster", "region", "season"]
    assert 0 < truth["shifted"].sum() < truth.height
    place = truth.with_row_index()["index"].to_numpy()[truth["shifted"].to_numpy()].mean() / truth.height
    assert 0.3 < place < 0.7  # shifted records stand everywhere


@pytest.mark.parametrize("phase", PHASES)
def test_the_sealed_labels_are_those_of_the_source(phase: str, made: Path, wanted: Settings):
    truth, own = (read(made, "sealed/main", phase, name) for name in ("truth.parquet", "source_ids.parquet"))
    source = pl.read_parquet(wanted.table).select("id", "demand_mw", "region", "wind_ms")
    joined = own.join(source, left_on="source", right_on="id", maintain_order="left")
    assert joined["demand_mw"].to_list() == truth["target"].to_list()
    assert (joined["region"] == "north").to_list() == truth["shifted"].to_list()
    assert joined["wind_ms"].to_list() == read(made, "public/main", phase, "inputs.parquet")["wind_ms"].to_list()


def test_no_record_is_public_and_sealed_at_once(made: Path):
    train = {*read(made, "public/main/train.parquet")["id"]}
    hidden = [{*read(made, "sealed/main", phase, "source_ids.parquet")["source"]} for phase in PHASES]
    assert not train & hidden[0] | train & hidden[1] | hidden[0] & hidden[1]


def test_two_challenges_of_one_table_hide_different_records(made: Path, wanted: Settings, tmp_path: Path):
    creation.add(tmp_path / "again", Terms("Wind"), table_board.from_table(Terms("Wind"), wanted))
    one, other = ({*read(f, "public/main/train.parquet")["id"]} for f in (made, tmp_path / "again"))
    assert one != other


def test_the_split_is_committed_to_and_opened_by_the_sealed_seed(made: Path):
    public = json.loads((made / "public/main/split.json").read_text())
    line = (made / "sealed/main/evaluation/seed.json").read_text().rstrip("\n")
    assert hashlib.sha256(line.encode()).hexdigest() == public["commitment"]


@pytest.mark.parametrize("phase", PHASES)
def test_the_example_and_the_baselines_answer_every_record(phase: str, made: Path):
    ids = read(made, "public/main", phase, "inputs.parquet")["id"].to_list()
    told = pl.read_csv(made / "public/main" / phase / "example.csv")
    assert (told.columns, told["id"].to_list()) == (["id", "answer", "uncertainty"], ids)
    found = manifest.baselines(made, "main", phase)
    assert [*found] == ["forecast", "train-mean"]
    for path in found.values():
        assert pl.read_parquet(path)["id"].to_list() == ids


def test_a_method_of_the_settings_is_a_baseline(wanted: Settings, tmp_path: Path):
    fitted = replace(wanted, methods=({"name": "mean", "title": "Mean"}, {"name": "linear"}))
    with pytest.raises(UnknownNameError, match="method"):
        creation.add(tmp_path / "odd", Terms("W"), table_board.from_table(Terms("W"), fitted))
    assert [*tmp_path.iterdir()] == []  # nothing is left of it
    fitted = replace(wanted, methods=({"name": "boosting", "members": 1, "iterations": 3},))
    creation.add(tmp_path / "wind", Terms("W"), table_board.from_table(Terms("W"), fitted))
    answers = pl.read_parquet(manifest.baselines(tmp_path / "wind", "main", "evaluation")["boosting"])
    assert (answers.columns, answers["uncertainty"].min() > 0) == (["id", "answer", "uncertainty"], True)


def test_classes_are_kept_as_text(wanted: Settings, tmp_path: Path):
    classes = replace(wanted, target="level", drop=("truth_*", "demand_mw"), baselines=(), threshold=None, unit="")
    creation.add(tmp_path / "c", Terms("C"), table_board.from_table(Terms("C"), classes))
    assert {*read(tmp_path / "c", "sealed/main/evaluation/truth.parquet")["target"]} <= {"low", "medium", "high"}
    assert definition.read(tmp_path / "c/challenge.toml").boards[0].threshold == 0.5


def truth_in(path: Path, **columns: list[object]) -> Path:
    pl.DataFrame({"id": ["a", "b"], "target": [1.0, 2.0], "shifted": [0, 1], **columns}).write_csv(path)
    return path


def baseline_in(path: Path, text: str = "a,1,1\nb,2,2\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("id,answer,uncertainty\n" + text)
    return path


def test_a_board_from_files_joins_a_challenge(made: Path, wanted: Settings, tmp_path: Path):
    folder = tmp_path / "wind"
    creation.add(folder, Terms("Wind"), table_board.from_table(Terms("Wind"), wanted))
    before = manifest.labels(folder, "main", "evaluation")
    (tmp_path / "inputs").mkdir()
    (tmp_path / "inputs/x.csv").write_text("id,x\na,1\nb,2\n")
    terms = Terms("More", slug="more", metric="rmse")
    build = creation.from_files(
        terms, track="table", truths={"final": truth_in(tmp_path / "t.csv", cluster=[1, 1])},
        public=tmp_path / "inputs",
        baselines={"final": {"mine": baseline_in(tmp_path / "b.csv")}},
    )  # fmt: skip
    creation.add(folder, terms, build)
    assert [board.slug for board in definition.read(folder / "challenge.toml").boards] == ["main", "more"]
    assert manifest.labels(folder, "main", "evaluation") == before
    truth = read(folder, "sealed/more/final/truth.parquet")
    assert (truth["id"].dtype, truth["shifted"].to_list(), truth["cluster"].dtype) == (
        pl.String,
        [False, True],
        pl.String,
    )
    assert manifest.public(folder, "more") == ["final/example.csv", "final/records.json", "x.csv"]
    assert definition.read(folder / "challenge.toml").board("more").phases[0].hidden
    with pytest.raises(SettingsError, match="found one named more"):
        creation.add(folder, terms, build)


@pytest.mark.parametrize(
    ("columns", "match"),
    [({"shifted": [0, 2]}, "expected 0 and 1"), ({"target": [1.0, None]}, "expected a value in each row"),
     ({"id": ["a", "a"]}, "a")],
)  # fmt: skip
def test_a_truth_that_is_wrong_is_refused(columns: dict[str, list[object]], match: str, tmp_path: Path):
    truth = truth_in(tmp_path / "t.csv", **columns)
    with pytest.raises(ValueError, match=match):
        creation.add(tmp_path / "w", Terms("W"), creation.from_files(Terms("W"), track="table", truths={"x": truth}))
    assert not (tmp_path / "w").exists()


def test_a_truth_without_its_columns_is_refused(tmp_path: Path):
    (tmp_path / "t.csv").write_text("id,y\n1,2\n")
    build = creation.from_files(Terms("W"), track="table", truths={"x": tmp_path / "t.csv"})
    with pytest.raises(SettingsError, match="found no target, shifted"):
        creation.add(tmp_path / "w", Terms("W"), build)


@pytest.mark.parametrize(
    ("name", "text", "match"),
    [
        ("answers.csv", None, r"public/answers.csv: expected what everybody may see, found the sealed labels of the "),
        ("answers.dat", None, r"public/answers.dat: .* found the sealed labels of the phase x. Remove it"),
        ("train.csv", "id,w,target\nb,0,2\nc,0,9\n", r"found the targets of 1 sealed records \(column 'target'\)"),
    ],
)
def test_labels_among_what_participants_download_are_refused(name: str, text: str | None, match: str, tmp_path: Path):
    truth = truth_in(tmp_path / "t.csv")
    (tmp_path / "public").mkdir()
    (tmp_path / "public" / name).write_text(truth.read_text() if text is None else text)
    build = creation.from_files(Terms("W"), track="table", truths={"x": truth}, public=tmp_path / "public")
    with pytest.raises(SettingsError, match=match):
        creation.add(tmp_path / "w", Terms("W"), build)
    assert not (tmp_path / "w").exists()


def test_other_records_of_the_same_ids_are_no_labels_but_check_and_seal_find_those_put_there_later(tmp_path: Path):
    (tmp_path / "public").mkdir()
    (tmp_path / "public/train.csv").write_text("id,target\na,7\nb,2\n")
    truth = truth_in(tmp_path / "t.csv")
    build = creation.from_files(Terms("W"), track="table", truths={"x": truth}, public=tmp_path / "public")
    creation.add(tmp_path / "w", Terms("W"), build)
    assert manifest.check(tmp_path / "w") == []
    truth.rename(tmp_path / "w/public/main/late.csv")
    before = manifest.hash_of(tmp_path / "w")
    with pytest.raises(SettingsError, match=r"board main: public/late\.csv: .* \(column 'target'\)"):
        manifest.seal(tmp_path / "w")
    told = [each for each in manifest.check(tmp_path / "w") if "board main" in each]
    assert ["public/late.csv" in each and "(column 'target')" in each for each in told] == [True]
    assert manifest.hash_of(tmp_path / "w") == before


def test_a_column_that_has_all_targets_under_another_name_is_found(tmp_path: Path):
    ids = [f"r{n}" for n in range(12)]
    truth = tmp_path / "t.csv"
    pl.DataFrame({"id": ids, "target": range(12), "shifted": [0, 1] * 6}).write_csv(truth)
    (tmp_path / "p.csv").write_text("id,y\n" + "".join(f"r{n},{n}.0\n" for n in range(12)))
    build = creation.from_files(Terms("W"), track="table", truths={"x": truth}, public=tmp_path / "p.csv")
    with pytest.raises(SettingsError, match=r"targets of 12 sealed records \(column 'y'\)"):
        creation.add(tmp_path / "w", Terms("W"), build)


def test_baselines_are_checked_as_files_of_participants_are(tmp_path: Path):
    held = {
        "short": baseline_in(tmp_path / "x/short.csv", "a,1,-1\nz,2,1\n"), "odd": tmp_path / "x/odd.txt",
        "good": baseline_in(tmp_path / "x/good.csv"),
    }  # fmt: skip
    held["odd"].write_text("?")
    truths = {"x": truth_in(tmp_path / "t.csv")}
    build = creation.from_files(Terms("W"), track="table", truths=truths, baselines={"x": held})
    with pytest.raises(SettingsError, match="baseline") as found:
        creation.add(tmp_path / "w", Terms("W"), build)
    told = "\n".join(found.value.problems)
    for words in (
        "baseline x/short.csv: expected a prediction of each record, found none for 1 of 2 records (b)",
        "found 1 other among 2 ids (z)", "expected values >= 0, found -1 in row 1 (id a)",
        "baseline x/odd.txt: expected a name that ends in",
    ):  # fmt: skip
        assert words in told
    assert "good" not in told


def test_everything_that_is_wrong_with_the_labels_of_all_phases_is_told_with_rows(tmp_path: Path):
    first, second = tmp_path / "one/truth.csv", tmp_path / "two/truth.csv"
    for path in (first, second):
        path.parent.mkdir()
    first.write_text("id,target,shifted\na,1,0\nb,,2\nc,,1\n")
    second.write_text("Id,y\na,1\n")
    build = creation.from_files(Terms("W"), track="table", truths={"one": first, "two": second})
    with pytest.raises(SettingsError, match="row") as found:
        creation.add(tmp_path / "w", Terms("W"), build)
    shifted, target, columns = found.value.problems
    assert f"{first}: shifted: expected 0 and 1, found '2' in row 2 (id b)" in shifted
    assert f"{first}: target: expected a value in each row, found none in row 2 (id b), row 3 (id c)" in target
    assert f"{second}: expected columns id, target and shifted, found no id, target, shifted among Id, y" in columns


def test_labels_of_a_track_that_cannot_be_read_are_named_as_the_organiser_knows_them(tmp_path: Path):
    (tmp_path / "given/evaluation/truth").mkdir(parents=True)
    (tmp_path / "given/evaluation/truth/x.nii").write_text("no")
    terms = Terms("M", metric="dice", task="segmentation")
    build = creation.of_folder(terms, tmp_path / "given", "lesions")
    with pytest.raises(ValueError, match=f"{tmp_path}/given/evaluation/truth") as found:
        creation.add(tmp_path / "mot", terms, build)
    assert ".part" not in str(found.value)


def test_folders_without_labels_and_files_of_one_name_are_told_before_anything_is_made(tmp_path: Path):
    given = tmp_path / "given"
    for name in ("evaluation/truth.csv", "later/truth.csv"):
        (given / name).parent.mkdir(parents=True)
        truth_in(given / name)
    for name in ("development/labels.csv", "later/truth.parquet", "evaluation/v1.0.csv", "evaluation/v1.1.csv"):
        (given / name).parent.mkdir(exist_ok=True)
        (given / name).write_text("id,answer,uncertainty\n")
    with pytest.raises(SettingsError, match=r"expected labels called truth or truth\.\*, found labels\.csv") as raised:
        creation.of_folder(Terms("W"), given, "table")
    told = "\n".join(raised.value.problems)
    assert "expected one file called truth, found truth.csv, truth.parquet" in told
    assert "expected one file called v1, found v1.0.csv, v1.1.csv" in told
    assert len(raised.value.problems) == 3


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path):
    (tmp_path / "mine.txt").write_text("x")
    build = creation.from_files(Terms("W"), track="table", truths={"x": truth_in(tmp_path / "t.csv")})
    with pytest.raises(SettingsError, match="expected a new folder or a challenge"):
        creation.add(tmp_path, Terms("W"), build)
    with pytest.raises(SettingsError, match="small letters"):
        creation.add(tmp_path / "new", Terms("W", slug="A b"), build)
