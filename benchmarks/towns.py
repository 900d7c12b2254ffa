"""What place and weather do to the methods of the motion track: `python -m benchmarks.towns FOLDER`.

Makes the example of 600 scenes (or of --rows) and three sets of one town in one weather each, runs the quick preset in
FOLDER (a quarter of an hour; what is there is not made again), and writes scores and paired differences to
results/towns.json, under the number of scenes. --method and --members cut the preset down; --test-set scores further
scenes beside. --forced trains behavioural cloning by teacher forcing, too, and compares both trainings on dev, by which
settings are chosen. Ends with 1 if the interval of Vector − RIP-BC over the whole evaluation is not below 0 for both
errors, or if Vector or RIP-BC does no worse in rain and snow than in the same town without.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from shiftbench.io import files
from shiftbench.report.content import Report
from shiftbench.track import RunOptions
from shiftbench.tracks.motion import example, write_scene
from shiftbench.tracks.motion.baselines import presets
from shiftbench.tracks.motion.definition import TRACK
from shiftbench.tracks.motion.schema import City, Precipitation

RESULTS = Path(__file__).resolve().parent.parent / "results" / "towns.json"
ERRORS = ("cnll", "weighted_ade")
METRICS = ("mean_error", "r_auc", "f1_auc", "f1_at_95", "roc_auc")
OURS, THEIRS = "Vector", "RIP-BC"
WEATHERS = {"dry": Precipitation.NO, "rain": Precipitation.RAIN, "snow": Precipitation.SNOW}
SCENES, SEED = 100, 1  # of a weather; those of the example have seed 0
FORCED = "teacher_forcing"


def main(
    folder: Path, *, rows: int, members: int | None, method: str | None, test_sets: list[str], forced: bool
) -> int:
    """Run what is missing, and judge."""
    if not (folder / "towns").exists():
        shiftbench("example", "motion", "--rows", str(rows), "--seed", "0", "--out", folder / "towns")
    if not all((folder / "run" / error).exists() for error in ERRORS):
        sets = [*(f"{name}={one_weather(folder / name, name)}" for name in WEATHERS), *test_sets]
        more = [word for each in sets for word in ("--test-set", each)]
        more += ["--members", str(members)] if members else []
        more += ["--method", method] if method else []
        shiftbench("run", "motion", "--data", folder / "towns", "--out", folder / "run", *more)
    reports = [Report.load(folder / "run" / error / "report" / "report.json") for error in ERRORS]
    made: dict[str, Any] = {"reports": [summary(report) for report in reports]}
    if forced:
        made["forced"] = trainings(folder, members)
    known = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    files.write_json(RESULTS, {**known, str(rows): made})
    found = [(report, each) for report in reports for each in differences(report)]
    print_tables(reports, found)
    beaten = all(each["high"] < 0 for _, each in found if each["subset"] == "full")
    return int(not (beaten and all(harmed(report) for report in reports)))


def one_weather(folder: Path, name: str) -> Path:
    """Scenes of the town that methods learn from, in one weather."""
    if not folder.exists():
        place = folder.with_name(f".{name}.part")
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        for scene in example.scenes("eval", SCENES, seed=SEED, weather=(City.MOSCOW, WEATHERS[name])):
            write_scene(scene, place / f"{scene.id}.pb")
        place.replace(folder)
    return folder


def shiftbench(*words: str | Path) -> None:
    """Run a command, which shows its own progress."""
    subprocess.run([sys.executable, "-m", "shiftbench", *map(str, words)], check=True)


def trainings(folder: Path, members: int | None) -> list[dict[str, Any]]:
    """RIP-BC trained by teacher forcing − by the published loss, on dev alone, by both errors."""
    data, place = folder / "run" / "data-canonical", folder / FORCED
    quick = next(entry for entry in presets.PRESETS["quick"] if entry["name"] == "cloning")
    presets.PRESETS = {**presets.PRESETS, FORCED: ({**quick, "generation": FORCED},)}
    files_of = [run / "submissions" / "dev" / "RIP-BC.pb" for run in (place, folder / "run")]
    if not files_of[0].exists():
        options = RunOptions(FORCED, members=members, replicates=100)
        TRACK.run(TRACK.open_prepared(data), TRACK.tasks, options, folder=place, cores=1, progress=None)
    names = [FORCED, "sampling"]
    out = folder / "trainings"
    if not out.exists():
        words = [word for name in names for word in ("--name", name)]
        shiftbench("compare", *files_of, "--track", "motion", "--data", data, "--out", out, *words)
    reports = [Report.load(out / error / "report.json") for error in ERRORS]
    return [{"error": report.error_name, "differences": differences(report, *names, split="dev")} for report in reports]


def differences(report: Report, one: str = OURS, other: str = THEIRS, *, split: str = "eval") -> list[dict[str, Any]]:
    """The difference of the mean errors on a split, whole, in-domain and shifted."""
    found = []
    for each in report.comparisons:
        if (each.split, each.metric, {each.a, each.b}) == (split, "mean_error", {one, other}):
            sign = 1 if each.a == one else -1
            low, high = sorted((sign * each.low, sign * each.high))
            found.append({"subset": each.subset, "difference": sign * each.difference, "low": low, "high": high})
    return found


def errors(report: Report, system: str) -> list[float]:
    """The mean error of a system in each weather."""
    return [report.score("mean_error", system=system, split=name, subset="full").value for name in WEATHERS]


def harmed(report: Report) -> bool:
    """Whether Vector and RIP-BC, those that are there, do worse in each weather than without."""
    judged = [system.name for system in report.systems if system.name in (OURS, THEIRS)]
    return all(min(wet) > dry for dry, *wet in (errors(report, name) for name in judged))


def summary(report: Report) -> dict[str, Any]:
    """The scores of the evaluation and of each weather, the differences, and the recipe."""
    wanted = ("system", "split", "subset", "metric", "value", "low", "high", "n")
    scores = [
        {key: value for key, value in asdict(score).items() if key in wanted}
        for score in report.scores
        if score.split != "dev"
        and score.metric in METRICS
        and score.measure in ("", report.measure_of(score.system))  # not those of other orders and uncertainties
    ]
    made = {"error": report.error_name, "unit": report.error_unit, "recipe": report.recipe}
    return {**made, "differences": differences(report), "scores": scores}


def print_tables(reports: list[Report], found: list[tuple[Report, dict[str, Any]]]) -> None:
    """What is judged, for people."""
    console = Console()
    shown = Table("error", "evaluation", f"{OURS} − {THEIRS}", "95 % interval, paired by scene")
    for report, each in found:
        ends = f"{each['low']:.4g} … {each['high']:.4g}"
        shown.add_row(report.error_name, each["subset"], f"{each['difference']:.4g}", ends)
    weather = Table("error", "system", *WEATHERS, title="The town of train, in each weather")
    for report in reports:
        for system in report.systems:
            weather.add_row(report.error_name, system.name, *(f"{each:.4g}" for each in errors(report, system.name)))
    console.print(shown, weather)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.towns", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where the example and the run are, or will be")
    parser.add_argument("--rows", type=int, default=600, help="scenes of the example [600]")
    parser.add_argument("--members", type=int, help="networks of each ensemble [those of the preset]")
    parser.add_argument("--method", metavar="A,B", help="only these methods of the preset")
    parser.add_argument("--test-set", action="append", default=[], metavar="NAME=SCENES", dest="test_sets")
    parser.add_argument("--forced", action="store_true", help="compare with teacher forcing, on dev")
    sys.exit(main(**vars(parser.parse_args())))
