"""The commands of an organiser, run in process."""

from __future__ import annotations

import getpass
import json
import re
import shutil
import stat
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from shiftbench.challenge import definition, forms, manifest, receipts, references, scoring
from shiftbench.challenge.definition import Board
from shiftbench.challenge.store.ledger import Ledger
from shiftbench.challenge.store.records import NewScore
from shiftbench.challenge.web.server import opened
from tests.challenge.scoring.challenges import parsed
from tests.cli.conftest import Shiftbench

TRUTH = "id,target,shifted\na,1,0\nb,2,1\nc,5,1\n"
ANSWERS = "id,answer,uncertainty\na,1,1\nb,3,2\nc,4,3\n"


def labels(place: Path) -> Path:
    """A folder of labels, predictions and inputs."""
    for name, text in {
        "final/truth.csv": TRUTH,
        "final/mean.csv": ANSWERS,
        "public/inputs.csv": "id\na\nb\nc\n",
    }.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    return place


@pytest.fixture
def wind(shiftbench: Shiftbench, tmp_path: Path) -> Path:
    said = shiftbench(
        "challenge", "new", labels(tmp_path / "given"), "--out", "wind", "--title", "Wind", "--metric", "rmse"
    )
    assert said.code == 0, said.err
    assert "next:     shiftbench serve wind" in said.out
    return tmp_path / "wind"


@pytest.fixture
def ledger(wind: Path) -> Ledger:
    """A server's state with an admin and the baseline scored."""
    state = wind.with_name("wind.state")
    state.mkdir(mode=0o700)
    ledger = Ledger(state / "server.sqlite", clock=lambda: definition.microseconds(definition.moment(2 * 10**15)))
    ledger.sign_up("host@example.org", "hashed", role="admin")
    (number,) = references.queue(wind, state, definition.read(wind / "challenge.toml"), ledger)
    assert references.queue(wind, state, definition.read(wind / "challenge.toml"), ledger) == [number]
    claimed = ledger.claim("w")
    assert claimed is not None
    assert ledger.finish(number, "w", NewScore(manifest.labels(wind, "main", "final"), "1", 0.8, noise=0.1))
    return ledger


def again(ledger: Ledger, labels: str) -> None:
    """The baseline is scored again, with other labels."""
    ledger.rescore("main", "final", ledger.user(1))
    claimed = ledger.claim("w")
    assert claimed is not None
    assert ledger.finish(claimed.id, "w", NewScore(labels, "1", 0.7, noise=0.1))


def rows(export: str) -> list[str]:
    """The lines of an export, without the clock, which also counts changes."""
    return [line for line in Path(export).read_text().splitlines() if '"table": "clock"' not in line]


def test_phases_of_a_folder_follow_each_other_at_whole_seconds_and_have_an_example(
    shiftbench: Shiftbench, tmp_path: Path
):
    labels(tmp_path / "given")
    (tmp_path / "given/final").rename(tmp_path / "given/evaluation")
    (tmp_path / "given/development").mkdir()
    (tmp_path / "given/development/truth.csv").write_text("id,target,shifted\nz,warm,0\ny,cold,1\n")
    said = shiftbench("challenge", "new", tmp_path / "given", "--out", "two", "--metric", "rmse")
    assert said.code == 0, said.err
    development, evaluation = definition.read(tmp_path / "two/challenge.toml").boards[0].phases
    assert development.ends == evaluation.starts == development.starts + 30 * 86_400 * 10**6
    assert development.starts % 10**6 == 0
    assert not re.search(r"\d\d:\d\d:\d\d\.", (tmp_path / "two/challenge.toml").read_text())
    assert f"phase:    evaluation from {definition.moment(evaluation.starts):%Y-%m-%d %H:%M} UTC to no end" in said.out
    assert "(30 days of development, as no --days was given" in said.out
    for phase, board_ids in (("evaluation", "abc"), ("development", "yz")):
        example = tmp_path / f"two/public/main/{phase}/example.csv"
        assert scoring.validate(Board("main", "Main", "rmse", ()), example) == []
        lines = [line.split(",") for line in example.read_text().splitlines()[1:]]
        assert [line[0] for line in lines] == [*board_ids]
        assert {line[1] for line in lines} == ({"0.0"} if phase == "evaluation" else {"cold"})


def test_an_example_of_the_organiser_is_the_only_one(shiftbench: Shiftbench, tmp_path: Path):
    labels(tmp_path / "given")
    (tmp_path / "given/public/example.parquet").write_text("mine")
    assert shiftbench("challenge", "new", tmp_path / "given", "--out", "one", "--metric", "rmse").code == 0
    found = sorted(path.name for path in (tmp_path / "one/public/main").rglob("*") if path.is_file())
    assert found == ["example.parquet", "inputs.csv", "records.json"]


def test_a_folder_becomes_a_challenge_with_a_baseline(wind: Path):
    (board,) = definition.read(wind / "challenge.toml").boards
    assert (board.metric, board.track, [phase.name for phase in board.phases]) == ("rmse", "table", ["final"])
    assert [*manifest.baselines(wind, "main", "final")] == ["mean"]
    assert manifest.public(wind, "main") == ["final/example.csv", "final/records.json", "inputs.csv"]


def test_a_baseline_is_kept_by_content_and_scored_as_a_reference(ledger: Ledger, wind: Path):
    (row,) = ledger.board("main", "final", better="min", hidden=True)
    assert (row.team, row.reference) == ("mean", True)
    (kept,) = (path for path in (wind.with_name("wind.state") / "files").rglob("*") if path.is_file())
    assert (kept.read_text(), stat.S_IMODE(kept.stat().st_mode)) == (ANSWERS, 0o600)


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (("given", "--subset", "half"), "--subset: expected full"), (("given", "--starts", "today"), "--starts"),
        (("given", "--board", "A"), "small letters"), (("given", "--metric", "speed"), "expected a metric among"),
        (("nothing.csv",), "with --config"), ((), "with --config"), (("given/public",), "expected folders of phases"),
        (("given", "--track", "wether"), "Did you mean 'weather'"),
        (("given", "--rows", "9"), "expected a track with them"), (("given", "--data", "x"), "expected a track with"),
        (("given", "--members", "3"), "no baselines are made of it. Drop these options"),
        (("given", "--method", "boosting"), "--method, --members: expected a table with --config, to which"),
        (("lesions", "--members", "3"), "to which baselines are fitted, found lesions"),
        (("weather", "--task", "speed"), "board main: expected a task of regression, classification, found 'speed'"),
        (("given", "--task", "speed"), "--task: expected a track that has tasks, found given. Drop it."),
        (("weather", "--track", "weather"), "--track: expected a folder of labels that it is of, found weather"),
        (("given/final/truth.csv", "--config", "given/none.toml"), "expected a settings file, found none"),
        (("--config", "small.toml", "--members", "3"), "--members: expected models to have them, found no [method] in"),
        (("given", "--rules", "given/none.txt"), "none.txt"), (("given", "--metric", "bias"), "metric"),
        (("nothing.csv", "--days", "0"), "--days"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_and_nothing_is_made(
    shiftbench: Shiftbench,
    tmp_path: Path,
    words: tuple[str, ...],
    match: str,
):
    labels(tmp_path / "given")
    (tmp_path / "small.toml").write_text('table = "given/final/truth.csv"\ntarget = "target"\n[partition]\nid = "id"\n')
    said = shiftbench("challenge", "new", *words)
    assert (said.code, match in said.err) == (2, True), said.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["given", "small.toml"]


def test_a_second_board_and_its_check(shiftbench: Shiftbench, wind: Path, tmp_path: Path):
    said = shiftbench("challenge", "new", tmp_path / "given", "--out", "wind", "--board", "more", "--days", "2",
                      "--starts", "2027-01-31T12:00Z", "--invitation-only")  # fmt: skip
    assert said.code == 0, said.err
    first, more = definition.read(wind / "challenge.toml").boards
    assert (first.slug, more.slug) == ("main", "more")
    assert shiftbench("challenge", "check", "wind").code == 0
    (wind / "sealed/more/final/truth.parquet").write_bytes(b"x")
    said = shiftbench("challenge", "check", "wind")
    assert (said.code, "expected the file that was sealed" in said.err) == (2, True)
    said = shiftbench("challenge", "seal", "wind")
    assert (said.code, "truth.parquet: expected Parquet, as its suffix says" in said.err) == (2, True)
    (wind / "sealed/more/final/truth.parquet").unlink()
    (wind / "sealed/more/final/truth.csv").write_text(TRUTH)
    told, manifest_of = shiftbench("challenge", "seal", "wind").out.splitlines()
    assert told.startswith("sealed/more/final/truth.parquet: 1 file replaced or removed since")
    assert manifest_of.startswith("manifest ")
    assert shiftbench("challenge", "check", "wind").code == 0


def test_receipts_are_verified_against_a_published_checkpoint_and_log(
    shiftbench: Shiftbench,
    ledger: Ledger,
    wind: Path,
    tmp_path: Path,
):
    assert shiftbench("challenge", "checkpoint", "wind", "--out", "point.json").code == 0
    assert json.loads(shiftbench("challenge", "checkpoint", "wind").out)["root"] in Path("point.json").read_text()
    assert shiftbench("challenge", "export", "wind", "--log", "--out", "log.jsonl").code == 0
    entry = ledger.log()[0]
    key = receipts.Key.of(wind.with_name("wind.state"))
    document = receipts.receipt(key, "wind", receipts.tree_of([entry]), 0, entry)
    Path("receipt.json").write_text(json.dumps(document))
    said = shiftbench("verify", "receipt.json", "point.json", "--key", key.public, "--file", "given/final/mean.csv",
                      "--log", "log.jsonl")  # fmt: skip
    assert (said.code, "the file is the one that was scored" in said.out) == (0, True), said.err
    said = shiftbench("verify", "receipt.json", "--file", "given/final/truth.csv")
    assert (said.code, "Another file was scored" in said.err) == (2, True)
    Path("receipt.json").write_text(json.dumps(document | {"entry": entry.replace("0.8", "0.1")}))
    assert shiftbench("verify", "receipt.json").code == 2


def test_a_backup_has_all_and_is_private(shiftbench: Shiftbench, ledger: Ledger, wind: Path):
    receipts.Key.of(wind.with_name("wind.state"))
    said = shiftbench("challenge", "backup", "wind", "--out", "all.tar")
    assert said.code == 0, said.err
    assert stat.S_IMODE(Path("all.tar").stat().st_mode) == 0o600
    with tarfile.open("all.tar") as tar:
        tar.extractall("back", filter="tar")
    assert Path("back/state/key.pem").read_bytes() == (wind.with_name("wind.state") / "key.pem").read_bytes()
    assert shiftbench("challenge", "check", "back/challenge").code == 0
    assert shiftbench("challenge", "export", "back/challenge", "--state", "back/state", "--out", "b.jsonl").code == 0
    assert shiftbench("challenge", "export", "wind", "--out", "a.jsonl").code == 0
    assert rows("a.jsonl") == rows("b.jsonl")
    assert (
        shiftbench("challenge", "backup", "wind", "--out", "all.tar").code,
        Path("a.jsonl").stat().st_mode & 0o77,
    ) == (2, 0)


def test_an_export_fills_another_server(shiftbench: Shiftbench, ledger: Ledger):
    said = shiftbench("challenge", "export", "wind", "--out", "a.jsonl")
    assert said.code == 0, said.err
    (number,) = re.findall(r"^(\d+) rows written to a\.jsonl, one a line after the first$", said.out, re.MULTILINE)
    said = shiftbench("challenge", "import", "wind", "a.jsonl", "--state", "other")
    assert (said.code, f"{number} rows loaded\n" in said.out) == (0, True), said.err
    assert "before you serve it, copy key.pem, files, parsed, scored, compared (what there is) from the old" in said.out
    assert "without the key receipts get another one" in said.out
    shutil.copytree("wind.state/files", "fourth/files")
    receipts.Key.of(Path("fourth"))
    said = shiftbench("challenge", "import", "wind", "a.jsonl", "--state", "fourth")
    assert (said.code, "copy parsed, scored, compared (what" in said.out, "the key" in said.out) == (0, True, False)
    assert shiftbench("challenge", "export", "wind", "--state", "other", "--out", "b.jsonl").code == 0
    assert [line for line in rows("b.jsonl") if '"imported"' not in line][:-1] == rows("a.jsonl")[:-1]
    assert "expected an empty ledger" in shiftbench("challenge", "import", "wind", "a.jsonl").err
    assert "d.jsonl: expected an export, found none" in shiftbench("challenge", "import", "wind", "d.jsonl").err
    Path("c.jsonl").write_bytes(b"\xff\xfe")
    assert "another file" in shiftbench("challenge", "import", "wind", "c.jsonl", "--state", "third").err


def test_a_server_whose_log_was_signed_by_a_key_that_is_elsewhere_says_so(
    ledger: Ledger, wind: Path, capsys: pytest.CaptureFixture[str]
):
    from shiftbench.cli.serving import _say_missing_key

    state = wind.with_name("wind.state")
    server = opened(wind, state)
    _say_missing_key(server, state)
    assert "the log is 1 long, and" in capsys.readouterr().err
    assert not (state / receipts.KEY).exists()
    receipts.Key.of(state)
    _say_missing_key(server, state)
    assert capsys.readouterr().err == ""


def test_a_phase_that_goes_on_is_neither_concluded_nor_released(shiftbench: Shiftbench, ledger: Ledger):
    said = shiftbench("challenge", "release", "wind", "main", "final")
    assert (said.code, "ended" in said.err) == (2, True), said.err
    assert "Known: final" in shiftbench("challenge", "conclude", "wind", "main", "last").err


def test_acts_of_the_command_line_are_told_as_its_own(shiftbench: Shiftbench, ledger: Ledger, wind: Path):
    place = wind / "sealed/main/final"
    (place / "truth.csv").write_text(TRUTH.replace("a,1", "a,1.5"))
    assert shiftbench("challenge", "seal", "wind").code == 0
    challenge = definition.read(wind / "challenge.toml")
    (board,) = challenge.boards
    ended = replace(board, phases=(replace(board.phases[0], ends=2 * 10**15 - 1),))
    definition.write(wind / "challenge.toml", replace(challenge, boards=(ended,)))
    (baseline,) = (wind / "baselines/main/final").iterdir()
    parsed(wind.with_name("wind.state") / "parsed/1", forms.intake("table").parse(baseline))
    ledger.disqualify(1, "nothing is left", ledger.user(1))
    assert "there is nothing to rank" in shiftbench("challenge", "conclude", "wind", "main", "final").err
    ledger.reinstate(1, ledger.user(1))
    refused = shiftbench("challenge", "conclude", "wind", "main", "final")
    assert refused.code == 2
    assert re.search(r"found older ones of 1 submission \(1\)\. Score all again first", refused.err)
    assert ledger.final("main", "final") is None
    again(ledger, manifest.labels(wind, "main", "final"))
    for name in ("conclude", "release"):
        said = shiftbench("challenge", name, "wind", "main", "final")
        assert said.code == 0, said.err
    found = [act for act in ledger.audit() if act.via]
    assert {act.via for act in found} == {f"command line ({getpass.getuser()})"}
    acts = ["released labels", "concluded", "sealed", "corrected labels"]
    assert [(act.action, act.user) for act in found] == [(act, None) for act in acts]


def test_a_server_that_was_never_started_is_told(shiftbench: Shiftbench, wind: Path):
    for words in (("checkpoint", "wind"), ("export", "wind", "--out", "x"), ("backup", "wind", "--out", "x")):
        said = shiftbench("challenge", *words)
        assert (said.code, "expected the state of a server" in said.err) == (2, True)


@pytest.mark.parametrize("command", ["new", "seal", "check", "work", "export", "import", "backup", "checkpoint",
                                     "conclude", "release"])  # fmt: skip
def test_h_is_help(shiftbench: Shiftbench, command: str):
    said = shiftbench("challenge", command, "-h")
    assert (said.code, "-h, --help" in said.out) == (0, True)


@pytest.mark.parametrize("command", ["submit", "verify", "serve"])
def test_h_of_others_is_help(shiftbench: Shiftbench, command: str):
    assert shiftbench(command, "-h").code == 0


@pytest.mark.parametrize("proxy", ["*", "example.org", "192.0.2.7,", "192.0.2.7/24"])
def test_a_proxy_that_could_be_anybody_is_not_believed(shiftbench: Shiftbench, wind: Path, proxy: str):
    said = shiftbench("serve", "wind", "--proxy", proxy)
    assert (said.code, "--proxy: expected addresses or networks" in said.err) == (2, True), said.err


def test_submit_without_a_token_or_a_file_is_told(
    shiftbench: Shiftbench,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    monkeypatch.delenv("SHIFTBENCH_TOKEN", raising=False)
    (tmp_path / "a.csv").write_text(ANSWERS)
    assert "Check the path" in shiftbench("submit", "b.csv", "--to", "localhost").err
    assert "expected a token" in shiftbench("submit", "a.csv", "--to", "localhost").err
    monkeypatch.setenv("SHIFTBENCH_TOKEN", "x")
    assert "in clear text" not in shiftbench("submit", "a.csv", "--to", "http://127.0.0.1:1", "--help").err
    assert "could read the token" in shiftbench("submit", "a.csv", "--to", "http://example.org").err


def test_a_state_named_from_here_is_found_by_processes_that_work_elsewhere():
    from shiftbench.cli.serving import Where

    assert Where(state=Path("state")).of(Path("demand")) == Path.cwd() / "state"
