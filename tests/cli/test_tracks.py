"""Commands about tracks: their help lists what a track declares, and tracks of other packages go through them all."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from shiftbench import cli, tracks
from shiftbench.tracks import TRACKS, names, track
from tests.cli.conftest import Shiftbench

Install = Callable[[str, str], None]

# A track whose data are a text: it can be made, prepared and shown, and a run writes the options it was given.
DICE = """
import json
from shiftbench import assess
from shiftbench.assessment.assess import Options
from shiftbench.pipeline.study import Result
from shiftbench.track import Option, Prepared, ScoredFiles, Show, Task, Track, Example

def write(path, rows, seed, progress, *, sides=6):
    path.write_text(f"{rows} {seed} {sides}")
    return path

def prepare(source, folder, *, loaded=False, progress=None):
    folder.mkdir(exist_ok=True)
    (folder / "text").write_text(f"{source.read_text()} {loaded}")
    (folder / "manifest.json").write_text("{}")
    return open_prepared(folder)

def open_prepared(folder):
    return Prepared(folder, (folder / "text").read_text(), {"train": 1, "dev_in": 1})

def run(prepared, tasks, options, *, folder, cores, progress, throws=()):
    folder.mkdir(exist_ok=True)
    (folder / "given.json").write_text(json.dumps([prepared.origin, list(throws), options.preset]))
    report = assess([0.0, 1.0, 2.0], [0.0, 1.0, 2.0], options=Options(title="Dice", task="luck"))
    return [Result(task.name, report) for task in tasks]

def score_files(predictions, truth, tasks, *, progress=None):
    raise NotImplementedError

def draw(file, folder, *, colour="red", progress=None):
    folder.mkdir(exist_ok=True)
    path = folder / "dice.txt"
    path.write_text(colour)
    return {"picture": path}

TRACK = Track(
    name="dice", tasks=(Task("luck", "luck", "eyes"),), presets={"usual": ("guess",)},
    example=Example(write, "dice.txt"), prepare=prepare, open_prepared=open_prepared, run=run, score_files=score_files,
    options={
        "example": (Option("sides", int, "Sides of a die", default="6"),),
        "prepare": (Option("loaded", bool, "Cheat"),),
        "run": (Option("throws", float, "How far", repeatable=True, metavar="METRES"),),
        "show": (Option("colour", str, "Colour of the die", default="red", choices=("red", "blue")),),
    },
    show=Show(draw, "A throw.", metavar="THROW"),
)
"""


@pytest.fixture
def install(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Install a package `elsewhere`: its entry points of tracks, and its module."""
    place = tmp_path_factory.mktemp("site")
    monkeypatch.syspath_prepend(str(place))

    def act(points: str, source: str) -> None:
        (place / "elsewhere.py").write_text(source)
        info = place / "elsewhere-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: elsewhere\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[shiftbench.tracks]\n{points}\n")
        monkeypatch.delitem(sys.modules, "elsewhere", raising=False)
        importlib.invalidate_caches()
        tracks._registry.cache_clear()

    return act


@pytest.fixture(autouse=True)
def registry() -> object:
    """Nobody else meets the packages of these tests."""
    yield
    sys.modules.pop("elsewhere", None)
    tracks._registry.cache_clear()


def words(text: str) -> str:
    """A text without its line breaks."""
    return " ".join(text.split())


@pytest.mark.parametrize("name", TRACKS)
def test_the_help_of_a_track_lists_all_that_it_declares(shiftbench: Shiftbench, name: str) -> None:
    chosen = track(name)
    shown = {}
    for command in ("run", "prepare", "example", "fetch", "show"):
        said = shiftbench(command, name, "--help")
        assert (said.code, said.err) == (0, "")
        shown[command] = words(said.out)
        for option in chosen.options.get(command, ()):
            assert option.word in shown[command]
            assert words(option.explained).split()[0] in shown[command]
    assert all(
        word in shown["run"] for word in (*chosen.methods, *chosen.presets, *(task.name for task in chosen.tasks))
    )
    for command in ("run", "prepare"):
        if chosen.experiments:
            assert f"{', '.join(chosen.experiments)} [{chosen.experiments[0]}]" in shown[command]
    assert f"{', '.join(archive.name for archive in chosen.archives)}" in shown["fetch"].replace("- ", "-")
    others = {option.word for other in names() if other != name for option in track(other).options.get("prepare", ())}
    assert not [word for word in others if word in shown["prepare"]]


@pytest.mark.parametrize("name", [each.name for each in pkgutil.iter_modules(cli.__path__)])
def test_a_command_has_few_parameters_its_options_come_in_groups(name: str) -> None:
    module = importlib.import_module(f"shiftbench.cli.{name}")
    own = [each for _, each in inspect.getmembers(module, inspect.isfunction) if each.__module__ == module.__name__]
    many = {each.__name__: count for each in own if (count := len(inspect.signature(each).parameters)) > 8}
    assert not many


def test_the_help_of_a_format_lists_its_options(shiftbench: Shiftbench) -> None:
    said = shiftbench("import", "argoverse2", "--help")
    assert "serial, processes, ray, ray=HOST:PORT, ray=local or slurm [processes]" in words(said.out)


def supporting(command: str) -> dict[str, list[str]]:
    """The options that not every track has, with the tracks that declare them."""
    every = [track(name) for name in names()]
    spread = [chosen.name for chosen in every if command in chosen.spreads]
    found = {"--executor": spread, "--workers": spread}
    if command == "run":
        found["--gpus"] = [chosen.name for chosen in every if chosen.gpus]
        found["--test-set"] = [chosen.name for chosen in every if chosen.test_sets]
    return found


@pytest.mark.parametrize("command", ["run", "prepare"])
@pytest.mark.parametrize("name", [*names(), "dice"])
def test_a_track_lists_and_takes_the_options_that_it_declares_and_refuses_the_others(
    shiftbench: Shiftbench, install: Install, name: str, command: str
) -> None:
    if name == "dice":
        install("dice = elsewhere:TRACK", DICE)
    shown = words(shiftbench(command, name, "--help").out)
    for option, users in supporting(command).items():
        assert (option in shown) == (name in users)
        said = shiftbench(command, name, option, "1")
        if name in users:  # something else is missing
            assert "does not support" not in said.err
            continue
        others = [*sorted(users), "a table of your own"] if command == "run" else sorted(users)
        assert (said.code, said.err.strip()) == (
            2, f"error: {name} does not support {option}. Drop the option. {option} is for {', '.join(others)}."
        )  # fmt: skip
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("prepare", "power", "x", "--climate", "y"), "power does not support --climate. Drop the option."),
        (
            ("prepare", "power", "x", "--climate=y", "--set", "a=b"),
            "power does not support --climate, --set. Drop the options. --climate is for weather. --set is for motion.",
        ),
        (("run", "weather", "-t", "x"), "not support -t. Drop the option. -t is for a table of your own."),
        (("example", "table", "--ship", "x"), "table does not support --ship. Drop the option."),
        (("run", "wether", "--data", "y"), "expected a track's name with it, found: Unknown track 'wether'. Did you"),
        (("run", "--data", "y"), "--data: expected a track's name with it, found: none"),
        (("prepare", "moton", "x"), "Unknown track 'moton'. Did you mean 'motion'"),
        (("prepare", "motion", "x", "--workers", "0"), "Invalid value for '--workers'"),
        (("prepare", "weather", "x", "--climat", "y"), "No such option: --climat"),
        (("show", "--gif", "motion", "nothing.pb"), "nothing.pb: expected a file, found nothing there"),
        (("example", "--ship", "tankr", "power"), "a TOML file of a ship, found 'tankr' and no such file"),
        (("fetch", "weather", "--what", "al"), "Unknown archive 'al'"),
    ],
)
def test_what_a_track_does_not_support_is_refused(shiftbench: Shiftbench, given: tuple[str, ...], says: str) -> None:
    said = shiftbench(*given)
    assert (said.code, says in words(said.err)) == (2, True), said.err
    assert list(Path().iterdir()) == []


def test_a_track_of_another_package_goes_through_every_command(shiftbench: Shiftbench, install: Install) -> None:
    install("dice = elsewhere:TRACK", DICE)
    assert "--sides" in shiftbench("example", "dice", "--help").out
    assert shiftbench("example", "dice", "--rows", 3, "--sides", 20).code == 0
    assert Path("dice.txt").read_text() == "3 0 20"
    assert shiftbench("prepare", "dice", "dice.txt", "--loaded", "--out", "p").code == 0
    said = shiftbench("run", "dice", "--data", "p", "--throws", 1.5, "--throws", 2, "--out", "r")
    assert said.code == 0, said.err
    assert Path("r/given.json").read_text() == '["3 0 20 True", [1.5, 2.0], "usual"]'
    assert "tables:" not in said.out
    assert shiftbench("show", "dice", "dice.txt", "--colour", "blue").code == 0
    assert Path("shiftbench-show/dice.txt").read_text() == "blue"
    assert "Unknown colour 'green'" in shiftbench("show", "dice", "dice.txt", "--colour", "green").err
    assert "dice does not support fetch" in shiftbench("fetch", "dice").err
    assert "dice does not support --experiment" in shiftbench("prepare", "dice", "x", "--experiment", "A").err
    assert "power does not support --sides" in shiftbench("example", "power", "--sides", 3).err


def test_an_incomplete_track_says_which_part_is_missing(shiftbench: Shiftbench, install: Install) -> None:
    install("dice = elsewhere:TRACK", DICE.replace(" run=run,", ""))
    said = shiftbench("run", "dice", "--data", "x")
    assert said.code == 2
    assert "missing 1 required keyword-only argument: 'run'" in said.err
    Path(sys.path[0], "elsewhere.py").write_text(DICE.replace(" run=run,", " run=None, "))
    importlib.invalidate_caches()
    tracks._registry.cache_clear()
    assert "run: expected a function, found None" in shiftbench("run", "dice", "--data", "x").err


def test_packages_that_are_broken_cost_one_warning_each_time_they_are_met(
    shiftbench: Shiftbench, install: Install
) -> None:
    install("dice = elsewhere:NOTHING\nweather = elsewhere:TRACK", DICE)
    assert shiftbench("example", "power", "--rows", 1_000).code == 0
    said = shiftbench("example", "dice")
    assert said.code == 2
    assert said.err.count("warning: shiftbench.tracks: expected entry points that load") == 1
    assert "dice = elsewhere:NOTHING of elsewhere: AttributeError" in said.err
    assert "error: The track 'dice' did not load: see the warning above." in said.err
    assert "Known: argoverse2" in shiftbench("import", "dice").err, "other commands go on working"


def test_a_name_that_is_taken_is_warned_of(shiftbench: Shiftbench, install: Install) -> None:
    install("weather = elsewhere:TRACK", DICE)
    said = shiftbench("example", "weather", "--rows", 1_000)
    assert said.code == 0
    assert "weather = elsewhere:TRACK of elsewhere: the name is taken" in said.err


def test_an_option_that_every_track_has_is_refused_by_name(shiftbench: Shiftbench, install: Install) -> None:
    install(
        "dice = elsewhere:TRACK", DICE.replace('Option("sides"', 'Option("overwrite"').replace("sides=6", "overwrite=6")
    )
    said = shiftbench("example", "dice", "--help")
    assert said.code == 2
    assert "track 'dice': options of example: expected new names, found 'overwrite', here twice or of the" in said.err
    Path(sys.path[0], "elsewhere.py").write_text(
        DICE.replace('Option("throws"', 'Option("task"').replace("throws", "task")
    )
    importlib.invalidate_caches()
    tracks._registry.cache_clear()
    sys.modules.pop("elsewhere", None)
    assert "options of run: expected new names, found 'task', here" in shiftbench("run", "dice", "--help").err


def test_a_misspelt_track_is_met_with_the_nearest_one(shiftbench: Shiftbench) -> None:
    said = shiftbench("run", "wheather")
    assert said.code == 2
    assert (
        "wheather: expected a track (lesions, motion, power, translation, weather), a table or a folder of partitions"
        in said.err
    )
    assert "Did you mean 'weather'?" in said.err


def test_a_file_that_ends_early_is_a_bug_of_the_track_and_no_interruption(
    shiftbench: Shiftbench, install: Install, tmp_path: Path
) -> None:
    source = DICE.replace("source.read_text()", "numpy.load(source)").replace("import json", "import json, numpy")
    install("dice = elsewhere:TRACK", source)
    (tmp_path / "empty.npz").write_bytes(b"")
    with pytest.raises(EOFError, match="No data left in file"):
        shiftbench("prepare", "dice", tmp_path / "empty.npz", "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_a_picture_shows_stands_apart_from_its_path(shiftbench: Shiftbench, install: Install) -> None:
    install("dice = elsewhere:TRACK", DICE.replace('"picture": path', '"the first three throws": path'))
    Path("dice.txt").write_text("1")
    assert "the first three throws: shown/dice.txt" in shiftbench("show", "dice", "dice.txt", "--out", "shown").out
