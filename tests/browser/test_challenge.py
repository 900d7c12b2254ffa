"""Three challenges from their first minute to their end, in a real browser: three teams each, ranked and verified.

One is on genuine forecasts, one on example motion, one on example lesions. `shiftbench challenge new` makes them,
`shiftbench serve` hosts them, its own workers score. One team comes by an invitation and hands in on the page, one by
the command line, and for one the organiser hands in. What they predict is made of what participants can download.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from playwright.sync_api import Browser, Page, expect

import shiftbench
from shiftbench.challenge import client, definition
from shiftbench.tracks.lesions import nifti
from shiftbench.tracks.motion.scenes.scene import read_scene
from shiftbench.tracks.motion.schema import FUTURE, HZ, PAST
from shiftbench.tracks.motion.submissions.submission import Submission, write_submission
from tests.cli.conftest import run_in

PATIENCE = 300_000  # ms, on a busy machine
PASSWORD = "correct horse battery"
TEAMS = ("Page", "Terminal", "Hospital")
NWS = """
table = "nws.parquet"
target = "obs_high_c"
threshold = 1.0
clusters = ["city", "state"]
drop = ["obs_*", "precip_class"]
baselines = ["fc24_high_c"]
[partition]
id = "id"
time = "valid_date"
group = "climate"
shifted = ["snow"]
"""


# --- what teams predict, from public files alone ----------------------------------------------------------------------


def forecasts(public: Path, out: Path) -> dict[str, Path]:
    """Forecasts of one and of two days before, and the weather of the day before; less certain where they differ."""
    inputs = pl.read_parquet(public / "inputs.parquet").with_columns(
        pl.col("fc48_high_c", "last_high_c").fill_null(pl.col("fc24_high_c"))
    )
    found = {}
    for team, column in zip(TEAMS, ("fc24_high_c", "fc48_high_c", "last_high_c"), strict=True):
        spread = (pl.col("fc24_high_c") - pl.col("last_high_c")).abs() + 1
        found[team] = out / f"{team}.csv"
        inputs.select("id", answer=pl.col(column), uncertainty=spread).write_csv(found[team])
    return found


def trajectories(public: Path, out: Path) -> dict[str, Path]:
    """Vehicles that go straight on as fast as they are, at half of that, and not at all; less certain the faster."""
    rows = []
    for path in sorted(public.rglob("*.pb")):
        scene = read_scene(path)
        for request in scene.requests:
            velocity = scene.vehicles.velocity[PAST - 1, scene.vehicles.column(request.track_id), :2]
            rows.append((scene.id, request.track_id, float(np.hypot(*velocity))))
    ids, tracks, speeds = ([*each] for each in zip(*rows, strict=True))
    ahead = np.array(speeds)[:, None, None] * np.arange(1, FUTURE + 1)[:, None] / HZ * np.array([1.0, 0.0])
    found = {}
    for team, share in zip(TEAMS, (1.0, 0.5, 0.0), strict=True):
        requests = (ids, np.array(tracks, dtype=np.uint64))
        made = Submission.of(requests, share * ahead[:, None], np.ones((len(ids), 1)), 1 + np.array(speeds))
        found[team] = write_submission(made, out / f"{team}.pb")
    return found


def lesions(public: Path, out: Path) -> dict[str, Path]:
    """What is bright in the scan, by a soft threshold that is right, too low, and much too low."""
    found = {}
    for team, quantile in zip(TEAMS, (0.995, 0.98, 0.9), strict=True):
        found[team] = out / f"{team}.zip"
        with zipfile.ZipFile(found[team], "w") as archive:
            for row in pl.read_csv(public / "patients.csv").iter_rows(named=True):
                image, affine = nifti.read_image(public / row["flair"])
                bright = (image - np.quantile(image, quantile)) / (0.1 * image.std())
                maps = (1 / (1 + np.exp(-np.clip(bright, -4, 4)))).astype(np.float32)
                made = nifti.write(out / f"{row['patient']}_prob.nii.gz", maps, affine)
                archive.write(made, made.name)
    return found


@dataclass(frozen=True)
class Kind:
    """A challenge: how it is made, what its teams predict, and how they come."""

    words: tuple[str, ...]
    predicted: Callable[[Path, Path], dict[str, Path]]
    scripts: bool = True  # whether the browser of the team that uses its page has them
    compares: bool = False  # whether a common report is made at the end


KINDS = {
    "nws": Kind(("--config", "nws.toml"), forecasts, compares=True),
    "motion": Kind(("motion", "--rows", "20", "--task", "weighted_ade"), trajectories, scripts=False),
    "lesions": Kind(("lesions", "--rows", "10", "--invitation-only"), lesions),
}


@pytest.fixture(params=[pytest.param(name, marks=[pytest.mark.needs_shared] * (name == "nws")) for name in KINDS])
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> Kind:
    if request.param == "nws":
        (tmp_path / "nws.toml").write_text(NWS)
        whole = pl.read_csv(request.getfixturevalue("shared") / "data/weather/nws_next_day.csv.gz")
        whole.gather_every(8).write_parquet(tmp_path / "nws.parquet")  # all places, and a day in eight of each
    return KINDS[request.param]


# --- the server and its visitors --------------------------------------------------------------------------------------


@dataclass
class Served:
    """The process of a server; `link` makes its first admin."""

    folder: Path
    process: subprocess.Popen[str] = field(init=False)
    address: str = ""
    link: str = ""

    def start(self) -> None:
        words = [sys.executable, "-m", "shiftbench", "serve", str(self.folder), "--port", "0"]
        environment = {**os.environ, "PYTHONUNBUFFERED": "1", "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment)
        assert self.process.stdout is not None
        last, said = "open" if self.link else "admin", ""  # it listens already, when it tells its address
        while not (found := re.search(rf"{last}: +(http://127[^/]+)(/\S*)", said)):
            line = self.process.stdout.readline()
            assert line, said
            said += line
        self.address, self.link = found[1], self.link or found[1] + found[2]

    def stop(self) -> None:
        if self.process.returncode is None:
            self.process.terminate()
            self.process.wait(PATIENCE / 1000)
            assert self.process.stdout is not None
            self.process.stdout.close()

    def end(self) -> None:
        """The organiser sets the end of all phases to now, in the settings, seals, and starts the server again."""
        self.stop()
        path, now = self.folder / definition.FILE, time.time_ns() // 1_000
        told = definition.read(path)
        boards = tuple(
            replace(board, phases=tuple(replace(each, ends=now) for each in board.phases)) for board in told.boards
        )
        definition.write(path, replace(told, boards=boards))
        command(self.folder.parent, "challenge", "seal", self.folder)
        self.start()


@pytest.fixture
def served(kind: Kind, tmp_path: Path) -> Iterator[Served]:
    command(tmp_path, "challenge", "new", *kind.words, "--out", "made", "--title", "Made")
    server = Served(tmp_path / "made")
    server.start()
    yield server
    server.stop()


@pytest.fixture
def people(browser: Browser, kind: Kind) -> Iterator[Callable[[str], Page]]:
    """A window for each person; no page may have failed, or asked another server for anything."""
    windows: dict[str, Page] = {}
    wrong: list[str] = []

    def of(name: str) -> Page:
        if name not in windows:
            scripts = kind.scripts or name != "Page"
            context = browser.new_context(java_script_enabled=scripts, viewport={"width": 1280, "height": 800})
            page = windows[name] = context.new_page()
            page.set_default_timeout(PATIENCE)
            page.on("pageerror", lambda error: wrong.append(str(error)))
            page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
            page.on("request", lambda asked: wrong.append(asked.url) if "//127.0.0.1:" not in asked.url else None)
        return windows[name]

    yield of
    for page in windows.values():
        page.context.close()
    assert wrong == []


def command(folder: Path, *words: object) -> str:
    """What a command says, in process; it ends well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "xdg"))
        patch.setattr(client, "POLLS_S", (0.1,))
        done = run_in(folder, *words)
    assert done.code == 0, done.out + done.err
    return done.out


def entered(page: Page, email: str, button: str) -> None:
    page.get_by_label("E-mail").fill(email)
    page.get_by_label("Password").fill(PASSWORD)
    page.locator("main").get_by_role("button", name=button).click()


def token_of(page: Page, served: Served, path: Path) -> Path:
    """A token of the account, in a file."""
    page.goto(f"{served.address}/account")
    page.locator('form[action="/tokens"]').get_by_label("Name").fill("laptop")
    page.get_by_role("button", name="Make a token").click()
    path.write_text(page.locator("code.secret").inner_text())
    return path


def joined(page: Page, served: Served, host: Page, team: str) -> None:
    """An account by an invitation that the organiser makes, or by signing up where that is allowed; then a team."""
    if definition.read(served.folder / definition.FILE).sign_up and team != "Page":
        page.goto(f"{served.address}/sign-up")
        entered(page, f"{team.lower()}@example.org", "Sign up")
    else:
        host.goto(f"{served.address}/desk/people")
        host.locator('form[action="/desk/invitations"]').get_by_label("E-mail").fill(f"{team.lower()}@example.org")
        host.get_by_role("button", name="Make an invitation").click()
        page.goto(host.locator("code.secret").inner_text())
        entered(page, f"{team.lower()}@example.org", "Make the account")
    page.locator('form[action="/teams"]').get_by_label("Name").fill(team)
    page.get_by_role("button", name="Found the team").click()
    expect(page.get_by_text("Others join with this code")).to_be_visible(timeout=PATIENCE)


def handed_in(page: Page, served: Served, file: Path, *, scripts: bool) -> int:
    """A file goes in on the board's page; with scripts its page then updates itself, else it is loaded again."""
    page.goto(f"{served.address}/boards/main?phase=evaluation")
    page.get_by_label("File", exact=True).set_input_files(file)
    page.get_by_role("button", name="Hand in for evaluation").click()
    page.wait_for_url("**/submissions/*", timeout=PATIENCE)
    expect(page.locator("#state .pill").first).to_be_visible()
    end = time.monotonic() + PATIENCE / 1000
    while not scripts and not page.locator(".pill.scored, .pill.failed").count() and time.monotonic() < end:
        page.wait_for_timeout(250)
        page.get_by_role("link", name="look again").click()
    expect(page.locator("#state .pill").first).to_have_text("scored", timeout=PATIENCE)
    expect(page.locator(".big")).to_be_visible()
    return int(page.url.rsplit("/", 1)[1])


def downloaded(page: Page, link: str, path: Path) -> Path:
    with page.expect_download() as told:
        page.get_by_role("link", name=link).first.click()
    told.value.save_as(path)
    return path


# --- the life of a challenge ------------------------------------------------------------------------------------------


def test_a_challenge_is_joined_scored_ranked_ended_and_verified(
    kind: Kind, served: Served, people: Callable[[str], Page], tmp_path: Path
) -> None:
    host, visitor = people("host"), people("visitor")
    host.goto(served.link)
    entered(host, "host@example.org", "Become the admin")
    expect(host.get_by_role("link", name="Desk")).to_be_visible(timeout=PATIENCE)
    for team in TEAMS:
        joined(people(team), served, host, team)
    files = kind.predicted(served.folder / "public" / "main" / "evaluation", tmp_path)

    sent = {"Page": handed_in(people("Page"), served, files["Page"], scripts=kind.scripts)}
    told = {"Page": people("Page").locator(".big").inner_text()}
    for team, who in (("Terminal", people("Terminal")), ("Hospital", host)):
        token = token_of(who, served, tmp_path / f"{team}.token")
        whom = ["--for", team] if who is host else []
        words = ["--to", served.address, "--phase", "evaluation", "--token-file", token, *whom]
        said = command(tmp_path, "submit", files[team], *words)
        sent[team] = int(re.search(r"submission: (\d+)", said)[1])  # type: ignore[index]
        assert "score: " in said
        people(team).goto(f"{served.address}/submissions/{sent[team]}")
        told[team] = people(team).locator(".big").inner_text()
    host.goto(f"{served.address}/desk/audit")
    expect(host.get_by_text("submitted for another team")).to_be_visible()
    before = downloaded(visitor_at(visitor, f"{served.address}/"), "Checkpoint of the log", tmp_path / "before.json")

    visitor.goto(f"{served.address}/boards/main?phase=evaluation")
    expect(visitor.get_by_text("The labels of this phase are sealed.")).to_be_visible(timeout=PATIENCE)
    board = ranked(visitor)
    assert sorted(board) == sorted(TEAMS)
    scores = [float(score) for _, score in board.values()]
    assert scores == sorted(scores)  # lower is better
    for team, (_, score) in board.items():
        assert float(told[team].replace(",", "")) == pytest.approx(float(score), rel=0.1)  # fewer digits beside others
    assert visitor.locator(".interval").count() == 0

    served.end()
    concluded(host, visitor, served)
    released(host, visitor, served, tmp_path)
    page = people("Terminal")
    page.goto(f"{served.address}/sign-in?next=/submissions/{sent['Terminal']}")
    entered(page, "terminal@example.org", "Sign in")
    receipt = downloaded(page, "Receipt", tmp_path / "receipt.json")
    after = downloaded(page, "Checkpoint of the log", tmp_path / "after.json")
    size = json.loads(before.read_text())["size"]
    growth = tmp_path / "growth.json"
    growth.write_text(visitor.request.get(f"{served.address}/growth?first={size}").text())
    if kind.compares:
        compared(page, served)
    served.stop()  # the rest needs no server
    said = command(tmp_path, "verify", receipt, before, growth, after, "--file", files["Terminal"])
    assert "the file is the one that was scored" in said
    assert "team Terminal" in said
    assert "rank " in said  # the line of the log that the end wrote
    if (truth := tmp_path / "truth.parquet").exists():
        recomputed(truth, files, tmp_path / "results.json")


def ranked(page: Page) -> dict[str, tuple[str, str]]:
    """Rank and score of each team on a leaderboard, in its order."""
    rows = page.locator("table.board tbody tr:not(.reference)")
    cells = (rows.locator(place).all_inner_texts() for place in ("th", "td.rank", "td.number"))
    return {team: (rank, score.split("\n")[0].replace(",", "")) for team, rank, score in zip(*cells, strict=True)}


def visitor_at(page: Page, address: str) -> Page:
    page.goto(address)
    return page


def concluded(host: Page, visitor: Page, served: Served) -> None:
    """The organiser ends the phase with a button, and everybody sees ranks, intervals and tests of every pair."""
    host.goto(f"{served.address}/sign-in?next=/desk/phases")
    entered(host, "host@example.org", "Sign in")
    host.locator('form[action="/desk/phases/main/evaluation/conclude"] button').click()
    end, results = time.monotonic() + PATIENCE / 1000, f"{served.address}/api/v1/boards/main/evaluation/results"
    while not visitor.request.get(results).ok and time.monotonic() < end:
        visitor.wait_for_timeout(100)
    host.goto(f"{served.address}/desk/phases")
    expect(host.get_by_role("link", name="final results")).to_be_visible()
    visitor.goto(f"{served.address}/boards/main/results?phase=evaluation")
    found = ranked(visitor)
    assert sorted(found) == sorted(TEAMS)
    ranks = [int(rank) for rank, _ in found.values()]
    assert ranks[0] == 1
    assert ranks == sorted(ranks)
    assert visitor.locator("td.plot circle").count() >= len(TEAMS)
    expect(visitor.get_by_role("heading", name="Every pair")).to_be_visible()


def compared(page: Page, served: Served) -> None:
    """Two entries that were ranked are compared, record by record."""
    page.goto(f"{served.address}/boards/main/results?phase=evaluation")
    for team in TEAMS[:2]:
        page.get_by_label(f"Compare {team}").check()
    page.get_by_role("button", name="Compare those ticked").click()
    page.get_by_role("button", name="Make the common report").click()
    page.get_by_role("link", name="Open the common report").click(timeout=PATIENCE)
    expect(page.locator("h1")).to_contain_text("Page", timeout=PATIENCE)


def released(host: Page, visitor: Page, served: Served, place: Path) -> None:
    """The labels are public when the organiser has said so, and not before; they are those that were sealed."""
    sealed = served.folder / "sealed" / "main" / "evaluation"
    name = next(path for path in sorted(sealed.rglob("*")) if path.is_file() and path.name != "seed.json")
    address = f"{served.address}/boards/main/labels/evaluation/{name.relative_to(sealed).as_posix()}"
    assert visitor.request.get(address).status == 404
    card = host.locator("li.card").filter(has=host.locator('form[action="/desk/phases/main/evaluation/release"]'))
    card.get_by_text("Release the labels").click()
    card.get_by_role("button", name="Release them").click()
    expect(card.get_by_text("labels released")).to_be_hidden()
    answer = visitor.request.get(address)
    assert answer.body() == name.read_bytes()
    results = visitor.request.get(f"{served.address}/api/v1/boards/main/evaluation/results")
    (place / "results.json").write_text(results.text())
    if (sealed / "truth.parquet").exists():
        address = f"{served.address}/boards/main/labels/evaluation/truth.parquet"
        (place / "truth.parquet").write_bytes(visitor.request.get(address).body())


def recomputed(truth: Path, files: dict[str, Path], results: Path) -> None:
    """Anybody gets the final scores from the released labels and the files."""
    rows = {row["team"]: row["score"] for row in json.loads(results.read_text())["rows"]}
    labels = pl.read_parquet(truth)
    for team, file in files.items():
        both = labels.join(pl.read_csv(file), on="id", how="left", maintain_order="left")
        errors = ((both["target"] - both["answer"]) ** 2).to_numpy()
        assert rows[team] == pytest.approx(shiftbench.r_auc(errors, both["uncertainty"].to_numpy()), rel=1e-9)
