"""What the documentation shows is run: Python blocks, commands, docstring examples; and its links lead somewhere.

The blocks of a page are run in order in one folder and one namespace, as a reader would; those with a title are files.
A command runs as it is written, only with fewer rows, members and replicates, and its pictures are blank; so does
Python with as few replicates. A command below a line `# needs: real data` is parsed but not run. One that stands on
several pages and reads the same files there runs once; others get what it made.
"""

from __future__ import annotations

import datetime
import doctest
import hashlib
import importlib
import inspect
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
import typer

from shiftbench.assessment.forms import FORMS
from shiftbench.cli import app
from shiftbench.cli.command import TrackCommand
from shiftbench.measures import MEASURES
from shiftbench.metrics import classification, motion, quantiles, regression, translation
from shiftbench.metrics.conformal import RULES
from shiftbench.scores.metric import METRICS
from shiftbench.tracks import TRACKS
from shiftbench.tracks import track as track_of
from tests import small_presets
from tests.forked import Commands

ROOT = Path(__file__).resolve().parent.parent
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS]
FENCE = re.compile(r'^```(\w+)(?: title="([\w.]+)")?[^\n]*\n(.*?)^```\s*$', re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
SHELLS = {"bash", "console"}
NEEDS_DATA = "# needs: real data"
FEWER = ["--replicates", "20"]
SMALLER = {
    "example": ["--rows", "1500"],
    "run": ["--members", "2", *FEWER],
    "fit": ["--members", "2"],
    "assess": FEWER,
    "compare": FEWER,
}
# What examples and runs of a track are cut down to.
FEWER_SCENES = {
    "motion": ["--rows", "24"],
    "lesions": ["--rows", "10", "--voxel", "8"],
    "translation": ["--rows", "600"],
}
QUICKEST = {
    "weather": ["--method", "likelihood_boosting", "--members", "1", "--task", "regression"],
    "power": ["--method", "mlp"],
    "motion": ["--method", "vector", "--task", "cnll"],
    "lesions": ["--method", "intensity_threshold"],
    "translation": ["--task", "egleu"],
}


@dataclass(frozen=True)
class Command:
    """One `shiftbench …` line of a page."""

    words: list[str]
    runs: bool


def blocks(page: Path) -> list[tuple[str, str]]:
    """The language and text of every fenced block, in order."""
    return [(language, text) for language, _, text in FENCE.findall(page.read_text("utf-8"))]


def commands(text: str) -> list[Command]:
    """The `shiftbench` lines of a block of shell; a line that ends in a backslash goes on in the next."""
    found, above = [], ""
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        if words and words[0] == "shiftbench":
            found.append(Command(words[1:], runs=above.strip() != NEEDS_DATA))
        above = line
    return found


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture(scope="module")
def table(commands: Commands, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an example table, as the command leaves it."""
    folder = tmp_path_factory.mktemp("table")
    call(commands, ["example", "table", "--out", str(folder / "table.parquet")])
    return folder


class Memory:
    """What commands have made: one that stands on several pages and reads the same files there is run once."""

    def __init__(self, commands: Commands, folder: Path) -> None:
        self.commands, self.folder = commands, folder
        self.made: dict[str, Path] = {}

    def run(self, words: list[str]) -> None:
        """Run a command in the current folder, or put there what it has made on another page."""
        before = hashes(Path())
        read = {name: each for name, each in before.items() if named(name, words)}
        key = json.dumps([words, sorted(read.items())])
        if key not in self.made:
            call(self.commands, words)
            new = [name for name, each in hashes(Path()).items() if before.get(name) != each]
            self.made[key] = self.folder / str(len(self.made))
            for name in new:
                (copy := self.made[key] / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(name, copy)
        elif self.made[key].is_dir():
            shutil.copytree(self.made[key], ".", dirs_exist_ok=True)


def hashes(folder: Path) -> dict[str, str]:
    """The SHA-256 of every file in a folder and below."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def named(file: str, words: list[str]) -> bool:
    """Whether a command may read a file: it or its folder is named, or it lies beside settings that may name it."""
    given = [part.rstrip("/") for word in words for part in word.split("=")]
    beside = any(each.endswith(".toml") for each in given) and "/" not in file
    return beside or any(file == each or file.startswith(f"{each}/") for each in given)


@pytest.fixture(scope="module")
def memory(commands: Commands, tmp_path_factory: pytest.TempPathFactory) -> Memory:
    return Memory(commands, tmp_path_factory.mktemp("made"))


def call(commands: Commands, words: list[str]) -> None:
    """Run a command in a process of its own, made smaller."""
    what, track = words[0], words[:2][-1]
    smaller = FEWER_SCENES.get(track, SMALLER[what]) if what == "example" else SMALLER.get(what, [])
    words = [*words, *smaller, *(QUICKEST[track] if what == "run" and track in TRACKS else [])]
    done = commands.run(*words, small=True)
    assert done.returncode == 0, f"shiftbench {shlex.join(words)}\n{done.stdout}\n{done.stderr}"


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Small networks wait for one another's threads on cores that are busy with other tests."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_of_a_page_runs_in_order(page, table, memory, tmp_path, monkeypatch):
    for registry in (METRICS, MEASURES, RULES, FORMS):  # what a page registers is gone afterwards
        monkeypatch.setattr(registry, "_held", dict(registry))
    small_presets.few_replicates(monkeypatch, 50)
    small_presets.blank_pictures(monkeypatch)
    shutil.copytree(table, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    for _, file, text in FENCE.findall(page.read_text("utf-8")):
        if file:
            Path(file).write_text(text, "utf-8")
    namespace: dict[str, object] = {"__name__": "docs"}
    for number, (language, text) in enumerate(blocks(page), start=1):
        if language == "python":
            exec(compile(text, f"{name_of(page)}, block {number}", "exec", dont_inherit=True), namespace)
        elif language in SHELLS:
            for command in commands(text):
                if command.runs:
                    memory.run(command.words)


def test_the_smallest_table_of_the_readme_needs_no_more_than_its_settings(commands, tmp_path, monkeypatch):
    shown = dict(blocks(ROOT / "README.md"))
    rng = np.random.default_rng(0)
    first, *rows = shown["csv"].splitlines()
    assert [len(row.split(",")) for row in rows] == [len(first.split(","))] * 2
    days = [datetime.date(2021, 1, 1) + datetime.timedelta(days=k) for k in range(365)]
    rows += [f"{day},{wind:.1f},{40 + wind + rng.normal():.1f}" for day in days for wind in rng.gamma(4, size=4)]
    (tmp_path / "small.csv").write_text("\n".join([first, *rows]) + "\n", "utf-8")
    (tmp_path / "small.toml").write_text(shown["toml"], "utf-8")
    monkeypatch.chdir(tmp_path)
    call(commands, ["run", "--config", "small.toml", "--out", "out"])
    counts = json.loads(Path("out/report/report.json").read_text("utf-8"))["counts"]
    shifted = sum(count["records"] for count in counts if count["subset"] == "shifted")
    assert shifted == 4 * sum(day >= datetime.date(2021, 7, 1) for day in days)


def shown_commands() -> list[object]:
    shells = [(page, text) for page in PAGES for language, text in blocks(page) if language in SHELLS]
    every = [(page, command) for page, text in shells for command in commands(text)]
    return [pytest.param(c, id=f"{name_of(page)}-{' '.join(c.words[:2])}-{i}") for i, (page, c) in enumerate(every)]


@pytest.mark.parametrize("command", shown_commands())
def test_every_command_shown_is_one_the_program_knows(command):
    here, rest = typer.main.get_command(app), list(command.words)
    context = here.context_class(here, info_name="shiftbench")
    while rest and rest[0] in getattr(here, "commands", {}):
        here = here.commands[rest.pop(0)]
        if isinstance(here, TrackCommand):
            here, rest, _ = here.chosen(rest)
        context = here.context_class(here, parent=context, info_name=here.name)
    assert not hasattr(here, "commands"), f"no such command: {shlex.join(command.words)}"
    # Only the words are looked at: an unknown option raises a usage error, a file need not exist.
    _, surplus, _ = here.make_parser(context).parse_args(rest)
    assert not surplus


def test_the_pages_show_commands_and_python():
    languages = [language for page in PAGES for language, _ in blocks(page)]
    assert languages.count("python") >= 5
    assert len(shown_commands()) >= 10


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=name_of)
def test_every_example_script_runs(script, tmp_path):
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_docstring_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in (ROOT / "src").rglob("*.py"):
        if ">>> " in path.read_text("utf-8"):
            module = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
            assert doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS).failed == 0, module


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as the site makes them."""
    text = FENCE.sub("", page.read_text("utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_between_pages_leads_somewhere(page):
    for target in LINK.findall(FENCE.sub("", page.read_text("utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{name_of(page)} links to {target}"
        if anchor:
            assert anchor in anchors(there), f"{name_of(page)} links to {target}"


def test_every_page_is_in_the_navigation():
    listed = re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(page.relative_to(ROOT / "docs").as_posix() for page in DOCS)


def test_the_start_page_leads_to_every_page():
    linked = {target.partition("#")[0] for target in LINK.findall((ROOT / "docs/index.md").read_text("utf-8"))}
    assert linked == {page.relative_to(ROOT / "docs").as_posix() for page in DOCS} - {"index.md"}


@pytest.mark.parametrize("page", sorted((ROOT / "docs/findings").glob("*.md")), ids=name_of)
def test_a_guide_leads_to_every_page_of_findings(page):
    guides = [guide.read_text("utf-8") for guide in (ROOT / "docs").glob("*.md") if guide.name != "index.md"]
    assert any(f"(findings/{page.name}" in guide for guide in guides)


FETCHABLE = [(name, archive) for name in TRACKS for archive in track_of(name).archives]


@pytest.mark.parametrize(("track", "archive"), FETCHABLE, ids=lambda each: getattr(each, "name", each))
def test_everything_that_can_be_fetched_stands_on_its_page(track, archive):
    line = f"| {track} | `{archive.name}` | {archive.about} |"
    assert line in (ROOT / "docs/fetching.md").read_text("utf-8").splitlines(), f"add to docs/fetching.md: {line}"


def public_functions(module: ModuleType) -> list[str]:
    return [name for name, it in vars(module).items() if inspect.isfunction(it) and it.__module__ == module.__name__]


METRIC_FUNCTIONS = [
    (module.__name__, name)
    for module in (regression, quantiles, classification, motion, translation)
    for name in public_functions(module)
    if not name.startswith("_")
]


@pytest.mark.parametrize(("module", "name"), METRIC_FUNCTIONS)
def test_every_function_of_the_task_metrics_stands_on_their_page(module, name):
    section = (ROOT / "docs/measures.md").read_text("utf-8").partition(f"`{module}`")[2].partition("\n## ")[0]
    assert f"`{name}`" in section, f"add {module}.{name} to docs/measures.md"


def test_every_make_target_that_is_shown_exists():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    text = "\n".join(page.read_text("utf-8") for page in PAGES)
    # Only what stands in code: "make sure" is prose.
    shown = {a or b for a, b in re.findall(r"`make ([a-z]+)`|^make ([a-z]+)", text, re.MULTILINE)}
    assert {"demo", "test"} <= shown <= targets


def test_the_two_commands_open_the_readme():
    first = blocks(ROOT / "README.md")[0][1]
    assert re.findall(r"^make (\w+)", first, re.MULTILINE) == ["demo", "test"]
