"""What place and weather do to the methods of the motion track: `python -m benchmarks.towns FOLDER`.

Makes the example of 600 scenes and three sets of one town in one weather each, runs the quick preset in FOLDER (a
quarter of an hour; what is there is not made again), and writes scores and paired differences to results/towns.json.
Ends with 1 if the interval of Vector − RIP-BC over the whole evaluation is not below 0 for both errors, or if a network
does no worse in rain and snow than in the same town without.
"""

from __future__ import annotations

import argparse
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
from shiftbench.tracks.motion import example, write_scene
from shiftbench.tracks.motion.schema import City, Precipitation

RESULTS = Path(__file__).resolve().parent.parent / "results" / "towns.json"
ERRORS = ("cnll", "weighted_ade")
METRICS = ("mean_error", "r_auc", "f1_auc", "f1_at_95", "roc_auc")
OURS, THEIRS = "Vector", "RIP-BC"
WEATHERS = {"dry": Precipitation.NO, "rain": Precipitation.RAIN, "snow": Precipitation.SNOW}
SCENES, SEED = 100, 1  # of a weather; those of the example have seed 0


def main(folder: Path) -> int:
    """Run what is missing, and judge."""
    if not (folder / "towns").exists():
        shiftbench("example", "motion", "--rows", "600", "--seed", "0", "--out", folder / "towns")
    sets = [word for name in WEATHERS for word in ("--test-set", f"{name}={one_weather(folder / name, name)}")]
    if not all((folder / "run" / error).exists() for error in ERRORS):
        shiftbench("run", "motion", "--data", folder / "towns", "--out", folder / "run", *sets)
    reports = [Report.load(folder / "run" / error / "report" / "report.json") for error in ERRORS]
    files.write_json(RESULTS, {"reports": [summary(report) for report in reports]})
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


def differences(report: Report) -> list[dict[str, Any]]:
    """The difference of the mean errors on the evaluation, whole, in-domain and shifted."""
    found = []
    for each in report.comparisons:
        if (each.split, each.metric, {each.a, each.b}) == ("eval", "mean_error", {OURS, THEIRS}):
            sign = 1 if each.a == OURS else -1
            low, high = sorted((sign * each.low, sign * each.high))
            found.append({"subset": each.subset, "difference": sign * each.difference, "low": low, "high": high})
    return found


def errors(report: Report, system: str) -> list[float]:
    """The mean error of a system in each weather."""
    return [report.score("mean_error", system=system, split=name, subset="full").value for name in WEATHERS]


def harmed(report: Report) -> bool:
    """Whether both networks do worse in each weather than without."""
    return all(min(wet) > dry for dry, *wet in (errors(report, system) for system in (OURS, THEIRS)))


def summary(report: Report) -> dict[str, Any]:
    """The scores of the evaluation and of each weather, the differences, and the recipe."""
    wanted = ("system", "split", "subset", "metric", "value", "low", "high", "n")
    scores = [
        {key: value for key, value in asdict(score).items() if key in wanted}
        for score in report.scores
        if score.split != "dev" and score.metric in METRICS
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
    sys.exit(main(parser.parse_args().folder))
