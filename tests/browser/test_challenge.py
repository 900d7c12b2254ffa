"""A challenge from its first minute to its end, in a real browser: three boards, three teams, ranked and verified.

One team has scripts, one has none, one comes by the command line; the server is the one that `shiftbench serve` starts.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from playwright.sync_api import Browser, Page, expect

from shiftbench.challenge import creation, definition, manifest
from shiftbench.challenge.creation import Terms
from shiftbench.tracks.lesions import nifti
from shiftbench.tracks.motion.scenes.scene import read_scene, valid_requests
from shiftbench.tracks.motion.schema import FUTURE, PAST
from shiftbench.tracks.motion.submissions.submission import Submission, write_submission

PATIENCE = 120_000  # ms, on a busy machine
PASSWORD = "correct horse battery"
SHIFTBENCH = [sys.executable, "-m", "shiftbench"]
BOARDS = ("table", "motion", "lesions")
TEAMS = ("Scripts", "Without", "Terminal")
NOISE = dict(zip(TEAMS, (0.2, 1.0, 3.0), strict=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A challenge on a table, on example motion data and on example lesions."""
    place = tmp_path_factory.mktemp("challenge")
    rng = np.random.default_rng(0)
    truth = pl.DataFrame({"id": [f"r{n}" for n in range(80)], "target": rng.normal(size=80), "shifted": [0, 1] * 40})
    truth.write_csv(place / "truth.csv")
    terms = Terms("Wind", "table", about="Say how certain you are.", threshold=1.0)
    truths = dict.fromkeys(("development", "evaluation"), place / "truth.csv")
    creation.add(place / "wind", terms, creation.from_files(terms, track="table", truths=truths))
    for track, rows in (("motion", 20), ("lesions", 10)):
        terms = Terms(track.title(), track)
        creation.add(place / "wind", terms, creation.from_track(terms, track, None, rows=rows))
    return place / "wind"


def predicted(folder: Path, board: str, team: str) -> Path:
    """Predictions of a team, better the less noise it has; made from the labels, which no team sees."""
    rng, noise, out = np.random.default_rng(len(team)), NOISE[team], folder.parent / f"{team}-{board}"
    sealed = folder / "sealed" / board / "evaluation"
    if board == "table":
        frame = pl.read_parquet(sealed / "truth.parquet")
        spread = noise * rng.uniform(0.2, 2.0, frame.height)
        answers = {"id": frame["id"], "answer": frame["target"] + rng.normal(size=frame.height) * spread}
        pl.DataFrame({**answers, "uncertainty": spread}).write_csv(out.with_suffix(".csv"))
        return out.with_suffix(".csv")
    if board == "lesions":
        with zipfile.ZipFile(out.with_suffix(".zip"), "w") as archive:
            for path in sorted((sealed / "truth").glob("*/gt.nii.gz")):
                mask, affine = nifti.read_mask(path)
                noisy = np.clip(mask + 0.15 * noise * rng.normal(size=mask.shape), 0.01, 0.99)
                made = nifti.write(folder.parent / f"{path.parent.name}_prob.nii.gz", noisy.astype(np.float32), affine)
                archive.write(made, made.name)
        return out.with_suffix(".zip")
    return _trajectories(sealed, noise, rng, out.with_suffix(".pb"))


def _trajectories(sealed: Path, noise: float, rng: np.random.Generator, out: Path) -> Path:
    rows = []
    for path in sorted((sealed / "truth" / "eval").glob("*.pb")):
        scene = read_scene(path)
        for request in valid_requests(scene):
            future = scene.vehicles.position[PAST:, scene.vehicles.column(request.track_id), :2]
            rows.append((scene.id, request.track_id, future, rng.uniform(0.2, 2.0)))
    ids, tracks, futures, spreads = zip(*rows, strict=True)
    steps = np.linspace(0, 1, FUTURE)[None, :, None] * np.array(spreads)[:, None, None]
    moved = np.array(futures) + noise * steps * rng.normal(size=(len(rows), 1, 2))
    first = Submission.of(
        (list(ids), np.array(tracks, dtype=np.uint64)), moved[:, None], np.ones((len(rows), 1)), spreads
    )
    return write_submission(first, out)


@dataclass
class Served:
    """The process of a server."""

    folder: Path
    process: subprocess.Popen[str] | None = None
    address: str = ""
    link: str = ""

    def start(self) -> None:
        words = [*SHIFTBENCH, "serve", str(self.folder), "--port", "0"]
        self.process = subprocess.Popen(
            words, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
        )  # fmt: skip
        assert self.process.stdout is not None
        said, admin = "", self.link == ""
        while not re.search(r"admin: +http" if admin else r"open: +http", said):
            line = self.process.stdout.readline()
            assert line, said
            said += line
        self.address = re.search(r"open: +(http://[^/]+)/", said)[1]  # type: ignore[index]
        if admin:
            self.link = re.search(r"admin: +(http://\S+)", said)[1]  # type: ignore[index]
        end = time.monotonic() + PATIENCE / 1000
        while time.monotonic() < end:
            with suppress(OSError):
                socket.create_connection(("127.0.0.1", int(self.address.rsplit(":", 1)[1]))).close()
                return
            time.sleep(0.1)

    def stop(self) -> None:
        assert self.process is not None
        self.process.terminate()
        self.process.wait(60)
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Served]:
    server = Served(folder)
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def people(browser: Browser) -> Iterator[Callable[[str], Page]]:
    """A window for each person; no page may have failed, or asked another server for anything."""
    windows: dict[str, Page] = {}
    wrong: list[str] = []

    def of(name: str) -> Page:
        if name not in windows:
            context = browser.new_context(
                java_script_enabled=name != "Without", viewport={"width": 1280, "height": 800}
            )
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


def joined(page: Page, served: Served, team: str) -> None:
    page.goto(f"{served.address}/sign-up")
    page.get_by_label("E-mail").fill(f"{team.lower()}@example.org")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign up").click()
    page.get_by_label("Name").first.fill(team)
    page.get_by_role("button", name="Found it").click()
    expect(page.get_by_text("Others join with this code")).to_be_visible(timeout=PATIENCE)


def handed_in(page: Page, served: Served, board: str, file: Path) -> None:
    """A file goes in on the board's page; with scripts its page then follows by itself, else it is loaded again."""
    page.goto(f"{served.address}/boards/{board}?phase=evaluation")
    page.get_by_label("File", exact=True).set_input_files(file)
    page.get_by_role("button", name="Hand in for evaluation").click()
    page.wait_for_url("**/submissions/*", timeout=PATIENCE)


def scored(page: Page, address: str, *, scripts: bool) -> None:
    page.goto(address)
    end = time.monotonic() + PATIENCE / 1000
    while not scripts and not page.locator(".pill.scored, .pill.failed").count() and time.monotonic() < end:
        time.sleep(0.5)
        page.get_by_role("link", name="look again").click()
    expect(page.locator("#state .pill").first).to_have_text("scored", timeout=PATIENCE)
    expect(page.locator(".big")).to_be_visible()


def run(*words: str, folder: Path) -> str:
    environment = {**os.environ, "XDG_STATE_HOME": str(folder / "xdg")}
    done = subprocess.run(
        [*SHIFTBENCH, *words], cwd=folder, capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_challenge_is_joined_scored_ranked_ended_and_verified(
    served: Served, folder: Path, people: Callable[[str], Page]
) -> None:
    host, place = people("host"), folder.parent
    host.goto(served.link)
    host.get_by_label("E-mail").fill("host@example.org")
    host.get_by_label("Password").fill(PASSWORD)
    host.get_by_role("button", name="Become the admin").click()
    expect(host.get_by_role("link", name="Desk")).to_be_visible(timeout=PATIENCE)

    sent: dict[str, list[str]] = {team: [] for team in TEAMS}
    for team in TEAMS:
        joined(people(team), served, team)
    terminal = people("Terminal")
    terminal.get_by_label("Name").fill("laptop")
    terminal.get_by_role("button", name="Make a token").click()
    (place / "token").write_text(terminal.locator("code.secret").inner_text())
    for board in BOARDS:
        for team in TEAMS[:2]:
            handed_in(people(team), served, board, predicted(folder, board, team))
            sent[team].append(people(team).url)
        words = ["submit", str(predicted(folder, board, "Terminal")), "--to", served.address, "--board", board]
        said = run(*words, "--phase", "evaluation", "--token-file", "token", folder=place)
        assert "score: " in said
        sent["Terminal"].append(re.search(r"page: +(\S+)", said)[1])  # type: ignore[index]
    for team in TEAMS:
        for address in sent[team]:
            scored(people(team), address, scripts=team != "Without")

    visitor = people("visitor")
    for board in BOARDS:
        visitor.goto(f"{served.address}/boards/{board}?phase=evaluation")
        expect(visitor.get_by_text("The labels of this phase are sealed.")).to_be_visible(timeout=PATIENCE)
        assert {*visitor.locator("table.board tbody th").all_inner_texts()} >= {*TEAMS}
        assert visitor.locator(".interval").count() == 0

    ended(served, folder)
    for board in BOARDS:
        host.goto(f"{served.address}/desk/phases")
        host.locator(f'form[action="/desk/phases/{board}/evaluation/conclude"] button').click()
        end = time.monotonic() + PATIENCE / 1000
        while host.get_by_role("link", name="Look again").count() and time.monotonic() < end:
            time.sleep(0.5)
            host.get_by_role("link", name="Look again").first.click()
        host.goto(f"{served.address}/boards/{board}/results?phase=evaluation")
        names = host.locator("table.board tbody th").all_inner_texts()
        assert next(name for name in names if name in TEAMS) == "Scripts", (board, names)
        assert host.locator("table.board tbody td.rank").first.inner_text() == "1"

    compared(people("Scripts"), served)
    verified(people("Terminal"), served, sent["Terminal"][0], place)


def ended(served: Served, folder: Path) -> None:
    """The organiser sets the end of all phases to now, in the settings, and starts the server again."""
    served.stop()
    path, now = folder / definition.FILE, time.time_ns() // 1_000
    told = definition.read(path)
    boards = tuple(
        replace(board, phases=tuple(replace(each, ends=now) for each in board.phases)) for board in told.boards
    )
    definition.write(path, replace(told, boards=boards))
    manifest.seal(folder)
    served.start()


def compared(page: Page, served: Served) -> None:
    page.goto(f"{served.address}/boards/table/results?phase=evaluation")
    for team in TEAMS[:2]:
        page.get_by_label(f"Compare {team}").check()
    page.get_by_role("button", name="Compare those ticked").click()
    if page.get_by_role("link", name="Sign in").count():  # the server has another port now, and so another cookie
        page.goto(f"{served.address}/sign-in?next={page.url.split(served.address)[1]}")
    page.get_by_role("button", name="Make the common report").click()
    page.get_by_role("link", name="Open the common report").click(timeout=PATIENCE)
    expect(page.locator("h1")).to_contain_text("Scripts", timeout=PATIENCE)


def verified(page: Page, served: Served, address: str, place: Path) -> None:
    """The receipt of a score and the checkpoint of the log, downloaded and verified without the server."""
    number = address.rsplit("/", 1)[1]
    page.goto(f"{served.address}/submissions/{number}")
    with page.expect_download() as told:
        page.get_by_role("link", name="Receipt").click()
    told.value.save_as(place / "receipt.json")
    with page.expect_download() as told:
        page.get_by_role("link", name="Checkpoint of the log").click()
    told.value.save_as(place / "checkpoint.json")
    said = run("verify", "receipt.json", "checkpoint.json", "--file", "Terminal-table.csv", folder=place)
    assert "the file is the one that was scored" in said
