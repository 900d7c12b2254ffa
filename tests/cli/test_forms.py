"""Files of quantiles, intervals, members and class probabilities: recognised by their columns, or named by options."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench import Categorical, Gaussian, Means, Options, Quantiles, assess_predictions
from shiftbench.assessment.forms import FORMS
from shiftbench.assessment.predictions import Predictions
from shiftbench.report.content import Report
from shiftbench.report.front import screen
from shiftbench.report.front import table as front_table
from shiftbench.scores.intervals import Settings
from tests.cli.conftest import Shiftbench

QUICK = ("--replicates", 20, "--cores", 1, "--out", "r")
N = 120
RNG = np.random.default_rng(7)
MIDDLE, SD = RNG.normal(20, 4, N), np.exp(RNG.normal(0, 0.4, N))
TARGET = MIDDLE + SD * RNG.normal(size=N)
SHIFTED = np.arange(N) % 2
MEMBERS = MIDDLE + SD * RNG.normal(size=(20, N))
LOGITS = RNG.normal(size=(N, 3))
LOGITS[np.arange(N), np.arange(N) % 3] += 1.5
PROBABILITIES = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
CLASSES = np.array(["dry", "rain", "snow"])
OPTIONS = Options(intervals=Settings(replicates=20))
Z = {0.05: -1.645, 0.1: -1.282, 0.25: -0.674, 0.5: 0.0, 0.75: 0.674, 0.9: 1.282, 0.95: 1.645}


def at(level: float) -> np.ndarray:
    """The quantile at a level."""
    return MIDDLE + Z[level] * SD


def table(**columns: object) -> pl.DataFrame:
    return pl.DataFrame({"id": np.arange(N), "target": TARGET, "shifted": SHIFTED, **columns})


def classes(**columns: object) -> pl.DataFrame:
    return table(**columns).with_columns(target=pl.Series(CLASSES[np.arange(N) % 3]))


def values(report: Report, system: str = "f") -> dict[str, float]:
    return {score.metric: score.value for score in report.scores if (score.system, score.subset) == (system, "full")}


QUANTILES = {"q0.1": at(0.1), "q0.5": at(0.5), "q0.9": at(0.9)}
INTERVALS = {"lower_90": at(0.05), "upper_90": at(0.95), "lower_50": at(0.25), "upper_50": at(0.75)}
PROBABLE = {f"probability_{name}": PROBABILITIES[:, k] for k, name in enumerate(CLASSES)}
NAMELESS = {"a": MIDDLE, "b": SD}
SPREAD = {f"mean_{m}": MEMBERS[m - 1] for m in range(1, 21)}


@pytest.mark.parametrize(
    ("columns", "same", "has", "lacks"),
    [
        (QUANTILES, Quantiles(np.stack([*QUANTILES.values()], -1)[None], (0.1, 0.5, 0.9)),
         {"pinball", "pinball_0.1", "coverage_80", "width_80"}, {"nll", "coverage_90"}),
        ({"quantile_0.9": at(0.9), "quantile_0.1": at(0.1)},
         Quantiles(np.stack([at(0.1), at(0.9)], -1)[None], (0.1, 0.9)), {"coverage_80"}, {"pinball_0.5"}),
        (INTERVALS, Quantiles(np.stack([at(p) for p in (0.05, 0.25, 0.75, 0.95)], -1)[None], (0.05, 0.25, 0.75, 0.95)),
         {"coverage_50", "coverage_90", "width_90"}, {"coverage_95", "nll"}),
        (SPREAD, Means(MEMBERS), {"crps", "coverage_90"}, {"nll", "coverage_95", "pinball"}),
        ({f"member{m}": MEMBERS[m] for m in range(5)}, Means(MEMBERS[:5]), {"crps"}, {"coverage_50", "nll"}),
        ({"mean": MIDDLE, "std": SD}, Gaussian(MIDDLE[None], SD[None] ** 2), {"nll", "coverage_95"}, set()),
        ({"mean_1": MEMBERS[0], "mean_2": MEMBERS[1], "variance_2": SD, "variance_1": SD + 1},
         Gaussian(MEMBERS[:2], np.stack([SD + 1, SD])), {"nll"}, set()),
        (PROBABLE, Categorical(PROBABILITIES[None], tuple(CLASSES)), {"accuracy", "ece", "brier"}, {"rmse"}),
    ],
    ids=["quantiles", "two quantiles", "intervals", "members", "five members", "mean and std", "normal", "classes"],
)  # fmt: skip
def test_a_file_of_any_form_is_scored_as_its_arrays_are(
    shiftbench: Shiftbench, tmp_path: Path, columns: dict[str, np.ndarray], same, has: set[str], lacks: set[str]
) -> None:
    of_classes = isinstance(same, Categorical)
    (classes if of_classes else table)(**columns).write_csv(tmp_path / "f.csv")
    said = shiftbench("assess", "f.csv", *QUICK)
    assert said.code == 0, said.err
    found = values(Report.load(tmp_path / "r/report.json"))
    assert has <= found.keys()
    assert not lacks & found.keys()
    targets = CLASSES[np.arange(N) % 3] if of_classes else TARGET
    expected = values(assess_predictions(targets, {"f": same}, shifted=SHIFTED, options=OPTIONS))
    assert found == pytest.approx(expected, rel=1e-9, nan_ok=True)


def test_columns_of_any_name_are_named_by_options(shiftbench: Shiftbench, tmp_path: Path) -> None:
    table(low=at(0.05), high=at(0.95), best=at(0.5), run_a=MEMBERS[0], run_b=MEMBERS[1]).write_csv(tmp_path / "f.csv")
    said = shiftbench("assess", "f.csv", *QUICK, "--quantile", "lower_90=low,upper_90=high", "--quantile", "0.5=best")
    assert said.code == 0, said.err
    assert {"coverage_90", "pinball_0.05", "pinball_0.5"} <= values(Report.load(tmp_path / "r/report.json")).keys()
    said = shiftbench("assess", "f.csv", *QUICK, "--overwrite", "--member", "run_*")
    assert said.code == 0, said.err
    report = Report.load(tmp_path / "r/report.json")
    assert report.score("rmse", system="f", split="all", subset="full").value == pytest.approx(
        math.sqrt(((MEMBERS[:2].mean(axis=0) - TARGET) ** 2).mean())
    )
    table(forecast=MIDDLE, sigma=SD).write_csv(tmp_path / "f.csv")
    said = shiftbench("assess", "f.csv", *QUICK, "--overwrite", "--mean", "forecast", "--std", "sigma")
    assert said.code == 0, said.err
    named = values(Report.load(tmp_path / "r/report.json"))
    table(mean=MIDDLE, std=SD).write_csv(tmp_path / "f.csv")
    assert shiftbench("assess", "f.csv", *QUICK, "--overwrite").code == 0
    assert named == values(Report.load(tmp_path / "r/report.json"))
    assert "nll" in named
    classes(a=PROBABILITIES[:, 0], b=PROBABILITIES[:, 1], c=PROBABILITIES[:, 2]).write_csv(tmp_path / "c.csv")
    said = shiftbench("assess", "c.csv", *QUICK, "--overwrite", "--probability", "dry=a,rain=b,snow=c")
    assert said.code == 0, said.err
    assert "accuracy" in values(Report.load(tmp_path / "r/report.json"), "c")


def test_answers_and_uncertainties_may_stand_beside_intervals(shiftbench: Shiftbench, tmp_path: Path) -> None:
    table(answer=MIDDLE + 1, uncertainty=-SD, lower_90=at(0.05), upper_90=at(0.95)).write_csv(tmp_path / "f.csv")
    assert shiftbench("assess", "f.csv", *QUICK).code == 0
    report = Report.load(tmp_path / "r/report.json")
    assert values(report)["rmse"] == pytest.approx(math.sqrt(((MIDDLE + 1 - TARGET) ** 2).mean()))
    (system,) = report.systems
    assert (system.measure, system.measures) == ("uncertainty", ("uncertainty", "interval_width"))
    assert system.about == "answers with the answers given beside the quantiles"
    assert "coverage_90" in values(report)


def test_what_a_table_was_scored_by_before_it_still_is(shiftbench: Shiftbench, tmp_path: Path) -> None:
    table(answer=MIDDLE, uncertainty=SD, mean_1=MIDDLE, mean_2=MIDDLE, **PROBABLE).write_csv(tmp_path / "f.csv")
    table(error=SD, uncertainty=SD, **QUANTILES).write_csv(tmp_path / "e.csv")
    for name, metric in (("f", "rmse"), ("e", "mean_error")):
        assert shiftbench("assess", f"{name}.csv", *QUICK, "--overwrite").code == 0
        found = values(Report.load(tmp_path / "r/report.json"), name)
        assert metric in found
        assert not {"crps", "pinball", "brier"} & found.keys()


@pytest.mark.parametrize(
    ("columns", "options", "told"),
    [
        ({"q0.1": at(0.9), "q0.9": at(0.1)}, (), "found column 'q0.1' above column 'q0.9' in 120 of 120 records "
         "(rows 1, 2, 3, 4, 5, …). Were the two exchanged?"),
        ({"lower_90": np.where(np.arange(N) == 6, 99, at(0.05)), "upper_90": at(0.95)}, (),
         "found column 'lower_90' above column 'upper_90' in 1 of 120 records (row 7)"),
        ({"q0.5": MIDDLE}, (), "levels: expected two or more, found 0.5: one quantile has no width"),
        ({"quantile_5": at(0.05), "quantile_95": at(0.95)}, (),
         "found 5 (column 'quantile_5'), 95 (column 'quantile_95'). Percentages? Divide by 100."),
        ({"q0.1": at(0.1), "q1.5": at(0.9)}, (), "both excluded, found 1.5 (column 'q1.5'). Correct or leave out"),
        ({"lower_150": at(0.1), "upper_90": at(0.9)}, (), "of intervals between 0 and 100 %, found 'lower_150'"),
        ({"q0.5": MIDDLE, "lower_90": at(0.05), "upper_80": at(0.9)}, (),
         "found column 'upper_80' alone. Add its other end, or name it as a quantile: q0.9."),
        ({"q0.05": at(0.05), "lower_90": at(0.05), "upper_90": at(0.95)}, (),
         "expected each level once, found 0.05 in columns 'q0.05' and 'lower_90'"),
        ({"q0.1": np.where(np.arange(N) == 3, np.nan, at(0.1)), "q0.9": at(0.9)}, (),
         "column 'q0.1': expected finite numbers, found NaN (1 of 120, first in row 4)"),
        ({"q0.1": at(0.1), "q0.9": ["x"] * N}, (), "column 'q0.9': expected numbers, found 'x'"),
        ({**QUANTILES, "q0.1": at(0.1) - 1e200}, (), "pinball losses: expected values <= 1e+150"),
        ({**QUANTILES, **SPREAD}, (), "expected predictions in one form, found quantiles (q0.1, q0.5, q0.9) and"),
        (QUANTILES, ("--quantile", "0.1"), "--quantile: expected LEVEL=COLUMN, such as 0.05=low"),
        (QUANTILES, ("--quantile", "0.1=q0.1,0.9=q0.8"), "expected a column 'q0.8', found none. Did you mean"),
        (QUANTILES, ("--quantile", "0.1=q0.1,0.9=q0.1"), "expected each column once, found 'q0.1' twice"),
        (QUANTILES, ("--quantile", "low=q0.1,0.9=q0.9"), "found 'low' (column 'q0.1')"),
        (QUANTILES, ("--quantile", "0.1=q0.1,0.9=q0.9", "--error", "q0.5"), "expected --error or --quantile"),
        (QUANTILES, ("--task", "classification"), "expected quantiles to be of a regression, found classification"),
        (SPREAD, ("--answer", "mean_1"), "expected no --answer beside members"),
        (SPREAD, ("--member", "mean_1"), "expected two or more members, found 'mean_1': the uncertainty is"),
        (SPREAD, ("--member", "runs*"), "Unknown column of --member 'runs*'"),
        ({"mean_1": MIDDLE, "mean_2": MIDDLE, "variance_1": SD}, (), "expected a variance for every mean"),
        ({"mean": MIDDLE, "std": SD * (np.arange(N) != 8)}, (), "column 'std': expected values > 0 with a finite "
         "variance, found 0 in 1 of 120 records (row 9)"),
        ({"mean": MIDDLE, "std": SD, "variance": SD}, (), "found 'std' and 'variance'"),
        ({"mean": MIDDLE, "std": SD, **QUANTILES}, (), "normal distributions (mean, std). Name one with --quantile "
         "LEVEL=COLUMN or --mean COLUMN --std COLUMN."),
        (NAMELESS, ("--mean", "a"), "--std: expected a column beside --mean a, found none. Name it with --std."),
        (NAMELESS, ("--std", "b"), "--mean: expected a column beside --std b, found none. Name it with --mean."),
        (NAMELESS, ("--mean", "a", "--std", "a"), "--mean, --std: expected different columns, found 'a' for both"),
        (NAMELESS, ("--mean", "a", "--std", "bb"), "--std: expected a column 'bb', found none. Did you mean 'b'?"),
        (NAMELESS, ("--target", "target"), "expected answers beside the target 'target', found id, target, shifted, a, "
         "b. Name their column with --answer and --uncertainty, or predictions of another form: quantiles: q0.05"),
        (NAMELESS, ("--target", "aim"), "expected a column 'aim', found none."),
    ],
)  # fmt: skip
def test_forecasts_of_numbers_that_make_no_sense_are_refused(
    shiftbench: Shiftbench, tmp_path: Path, columns: dict[str, object], options: tuple[str, ...], told: str
) -> None:
    table(**columns).write_csv(tmp_path / "f.csv")
    said = shiftbench("assess", "f.csv", *QUICK, *options)
    assert said.code == 2
    assert told in " ".join(said.err.split())
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({f"probability_{name}": LOGITS[:, k] for k, name in enumerate(CLASSES)},
         "Logits or scores? Apply a softmax over the classes first."),
        ({"probability_dry": PROBABILITIES[:, 0], "probability_rain": PROBABILITIES[:, 1]},
         "probability_dry, probability_rain that add up to 1, found 0."),
        ({"probability_dry": PROBABILITIES[:, 0]}, "of two or more classes, found 'probability_dry' alone"),
        ({"proba_dry": PROBABILITIES[:, 0], **PROBABLE}, "expected one column for each class, found several for dry"),
        ({f"probability_{name}": PROBABILITIES[:, k] for k, name in enumerate(("dry", "rain", "fog"))},
         "expected a class among dry, rain, fog, found 'snow' in 40 records"),
    ],
)  # fmt: skip
def test_what_is_no_probability_of_classes_is_refused(
    shiftbench: Shiftbench, tmp_path: Path, columns: dict[str, object], told: str
) -> None:
    classes(**columns).write_csv(tmp_path / "f.csv")
    said = shiftbench("assess", "f.csv", *QUICK)
    assert said.code == 2
    assert told in " ".join(said.err.split())


def test_all_problems_of_a_forecast_are_told_at_once(shiftbench: Shiftbench, tmp_path: Path) -> None:
    row = np.arange(N)
    columns = {"lower_90": np.where(row == 6, 99, at(0.05)), "upper_90": at(0.95), "q0.5": MIDDLE}
    frame = table(**columns).with_columns(
        target=pl.when(pl.Series(row == 7)).then(None).otherwise("target"),
        shifted=pl.when(pl.Series(row == 8)).then(5).otherwise("shifted"),
        id=pl.Series(np.where(row == 1, 0, row)),
    )
    frame.write_parquet(tmp_path / "f.parquet")
    said = " ".join(shiftbench("assess", "f.parquet", *QUICK).err.split())
    assert "found column 'lower_90' above column 'q0.5' in 1 of 120 records (row 7)" in said
    assert "column 'target': expected finite numbers, found NaN (1 of 120, first in row 8)" in said
    assert "expected 0 or 1 (or true, false; yes, no; in, out or shifted) in column 'shifted', found 5 in row 9" in said
    assert "id" in said


def test_a_table_of_nothing_known_is_told_all_forms(shiftbench: Shiftbench, tmp_path: Path) -> None:
    table(q5=at(0.05), q95=at(0.95)).write_csv(tmp_path / "f.csv")
    said = " ".join(shiftbench("assess", "f.csv", *QUICK).err.split())
    assert all(form.columns in said for form in FORMS.values())


def test_quantile_forecasts_are_compared_by_their_pinball_loss(shiftbench: Shiftbench, tmp_path: Path) -> None:
    table(**QUANTILES).write_csv(tmp_path / "a.csv")
    wide = {name: 3 * (column - MIDDLE) + MIDDLE for name, column in QUANTILES.items()}
    table(**wide).write_csv(tmp_path / "b.csv")
    assert shiftbench("compare", "a.csv", "b.csv", *QUICK, "--replicates", "200").code == 0
    report = Report.load(tmp_path / "r/report.json")
    (found,) = (each for each in report.comparisons if (each.metric, each.subset) == ("pinball", "full"))
    assert found.difference < 0
    text = screen.findings(report)[0].text
    assert text.startswith("“a” is better than “b” over all records by ")
    assert "in pinball loss" in text


def test_pinball_losses_at_other_levels_are_not_compared(shiftbench: Shiftbench, tmp_path: Path) -> None:
    table(**QUANTILES).write_csv(tmp_path / "a.csv")
    table(**INTERVALS).write_csv(tmp_path / "b.csv")
    assert shiftbench("compare", "a.csv", "b.csv", *QUICK).code == 0
    report = Report.load(tmp_path / "r/report.json")
    assert {"pinball"} <= values(report, "a").keys() & values(report, "b").keys()
    assert not any(each.metric == "pinball" for each in (*report.comparisons, *report.ranks))
    assert any(note.startswith("Pinball loss: compared only between systems that have it") for note in report.warnings)
    assert "pinball" not in " ".join(finding.text for finding in screen.findings(report))
    assert front_table.table(report).columns[3].group == "Coverage (80 %)"  # as in the sentence on the leading system


# --- the first screen -------------------------------------------------------------------------------------------------


def test_the_first_screen_tells_of_the_intervals_that_were_given(
    shiftbench: Shiftbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    table(**QUANTILES).write_csv(tmp_path / "f.csv")
    said = shiftbench("assess", "f.csv", *QUICK)
    assert "The 80 % intervals " in " ".join(said.out.split())
    assert "Coverage (80 %)" in said.out
    lines = said.out.splitlines()
    assert len(lines) <= 36
    assert [line for line in lines if line.startswith("  ") and len(line) > 80] == []


def test_members_without_variances_are_said_to_know_no_noise(shiftbench: Shiftbench, tmp_path: Path) -> None:
    table(**SPREAD).write_csv(tmp_path / "f.csv")
    said = " ".join(shiftbench("assess", "f.csv", *QUICK).out.split())
    assert "Careful: the members give no variances, so the uncertainty is their spread alone" in said


CALIBRATED = {"q0.05": at(0.05), "q0.5": at(0.5), "q0.95": at(0.95), "part": np.where(np.arange(N) < 60, "dev", "eval")}


@pytest.mark.parametrize("how", ["a condition", "a column", "a predictions file"])
def test_records_named_by_calibration_give_conformal_intervals(
    shiftbench: Shiftbench, tmp_path: Path, how: str
) -> None:
    frame = table(**CALIBRATED).with_columns(dev=pl.col("part") == "dev")
    words: tuple[str, ...] = ("mine.parquet", "--calibration", "dev" if how == "a column" else "part == 'dev'")
    if how == "a predictions file":
        frame.write_parquet(tmp_path / "truth.parquet")
        ids = [str(k) for k in range(N)]
        Predictions(np.array(ids, dtype=object), Gaussian(MEMBERS[:3], np.ones((3, N)))).save(tmp_path / "mine.parquet")
        words += ("--truth", "truth.parquet", "--target", "target", "--id", "id")
    else:
        frame.write_parquet(tmp_path / "mine.parquet")
    said = shiftbench("assess", *words, *QUICK)
    assert said.code == 0, said.err
    report = Report.load(tmp_path / "r/report.json")
    for level in (50, 90, 95):
        name = f"conformal_split_coverage_{level}"
        assert 0.0 <= report.score(name, system="mine", split="all", subset="shifted").value <= 1.0
    assert report.score("mean_error", system="mine", split="all", subset="full").n == 60
    assert report.recipe["conformal"]["records"] == 30


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("prt == 'dev'", "--calibration: expected a column or a condition"),
        ("part == 'other'", "calibration: expected in-domain records to calibrate on and others to score, found 0"),
        ("part", "expected 0 or 1 (or true, false; yes, no; in, out or shifted) in column 'part', found 'dev'"),
    ],
)
def test_no_calibration_records_are_named(shiftbench: Shiftbench, tmp_path: Path, option: str, told: str) -> None:
    table(**CALIBRATED).write_parquet(tmp_path / "mine.parquet")
    said = shiftbench("assess", "mine.parquet", "--calibration", option, *QUICK)
    assert said.code == 2
    assert told in said.err


def conformal_scores(report: Report) -> dict[tuple[str, str, str], float]:
    return {(s.system, s.subset, s.metric): s.value for s in report.scores if s.metric.startswith("conformal")}


def test_each_model_of_a_comparison_has_its_own_calibration_file(shiftbench: Shiftbench, tmp_path: Path) -> None:
    dev = pl.col("part") == "dev"
    frame = table(**CALIBRATED).with_columns(shifted=pl.when(dev).then(0).otherwise("shifted"))
    for name, wider in {"one": 0.0, "two": 1.0}.items():
        each = frame.with_columns(pl.col("q0.05") - wider)
        each.with_columns(dev=dev).write_parquet(tmp_path / f"{name}.parquet")
        each.filter(dev).drop("shifted").sample(fraction=1.0, shuffle=True, seed=3).write_csv(
            tmp_path / f"{name}-dev.csv"
        )
        each.filter(~dev).write_csv(tmp_path / f"{name}.csv")
    apart = ("--calibration", "one-dev.csv", "--calibration", "two-dev.csv")
    said = shiftbench("compare", "one.csv", "two.csv", *apart, *QUICK)
    assert said.code == 0, said.err
    found = conformal_scores(Report.load(tmp_path / "r/report.json"))
    said = shiftbench("compare", "one.parquet", "two.parquet", "--calibration", "dev", *QUICK, "--overwrite")
    assert said.code == 0, said.err
    wanted = conformal_scores(Report.load(tmp_path / "r/report.json"))
    assert found == {key: pytest.approx(wanted[key], nan_ok=True) for key in found}
    assert {system for system, _, _ in found} == {"one", "two"}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("a-dev.csv",), "expected 2 files, one for each of those compared, in their order, found a-dev.csv"),
        (
            ("a-dev.csv", "dev"),
            "expected 2 files, one for each of those compared, in their order, found a-dev.csv, dev",
        ),
        (("a-dev.csv", "a-dev.csv"), "expected a file for each model, found a-dev.csv, a-dev.csv"),
        (("dev", "part == 'dev'"), "expected one column or condition, found dev, part == 'dev'"),
        (("a-dev.csv", "b-dev.csv"), "b: expected the 120 ids of the first file"),
        (("a-dev.csv", "c-dev.csv"), "b: expected to be calibrated on the same records as the first file"),
    ],
)
def test_calibration_files_that_do_not_fit_those_compared(
    shiftbench: Shiftbench, tmp_path: Path, options: tuple[str, ...], told: str
) -> None:
    frame = table(**CALIBRATED).with_columns(dev=pl.col("part") == "dev")
    scored, apart = frame.filter(~pl.col("dev")), frame.filter("dev")
    scored.write_csv(tmp_path / "a.csv")
    apart.write_csv(tmp_path / "a-dev.csv")
    apart.head(50).write_csv(tmp_path / "b-dev.csv")
    if swapped := "c-dev.csv" in options:
        pl.concat([scored.head(1), apart.tail(-1)]).write_csv(tmp_path / "c-dev.csv")
    (pl.concat([apart.head(1), scored.tail(-1)]) if swapped else scored).write_csv(tmp_path / "b.csv")
    words = [word for option in options for word in ("--calibration", option)]
    said = shiftbench("compare", "a.csv", "b.csv", *words, *QUICK)
    assert said.code == 2
    assert told in said.err


def test_a_file_to_calibrate_on_in_another_form_is_the_one_that_is_named(
    shiftbench: Shiftbench, tmp_path: Path
) -> None:
    values = {"id": range(40), "target": range(40)}
    ends = {"low": [n - 1.0 for n in range(40)], "high": [n + 1.0 for n in range(40)]}
    pl.DataFrame({**values, "q0.05": ends["low"], "q0.95": ends["high"]}).write_csv(tmp_path / "quant.csv")
    other = pl.DataFrame({**values, "lower_80": ends["low"], "upper_80": ends["high"]})
    other.with_columns(pl.col("id") + 100).write_csv(tmp_path / "intv.csv")
    said = shiftbench("assess", "quant.csv", "--calibration", "intv.csv", *QUICK)
    assert said.code == 2
    assert "intv.csv (--calibration): expected the columns of quant.csv, found no 'q0.05', 'q0.95'." in said.err
    assert "NaN" not in said.err


def test_predictions_are_calibrated_on_a_further_predictions_file(shiftbench: Shiftbench, tmp_path: Path) -> None:
    frame = table(**CALIBRATED).with_columns(dev=pl.col("part") == "dev")
    frame.write_parquet(tmp_path / "truth.parquet")
    ids, dev = np.array([str(k) for k in range(N)], dtype=object), frame["dev"].to_numpy()
    forecast = Gaussian(MEMBERS[:3], np.ones((3, N)))
    Predictions(ids, forecast).save(tmp_path / "mine.parquet")
    truth = ("--truth", "truth.parquet", "--target", "target", "--id", "id")
    assert shiftbench("assess", "mine.parquet", "--calibration", "dev", *truth, *QUICK).code == 0
    wanted = conformal_scores(Report.load(tmp_path / "r/report.json"))
    Predictions(ids[~dev], forecast.select(~dev)).save(tmp_path / "mine.parquet")
    Predictions(ids[dev], forecast.select(dev)).save(tmp_path / "dev.parquet")
    said = shiftbench("assess", "mine.parquet", "--calibration", "dev.parquet", *truth, *QUICK, "--overwrite")
    assert said.code == 0, said.err
    assert conformal_scores(Report.load(tmp_path / "r/report.json")) == wanted
    Predictions(ids[30:70], Gaussian(MEMBERS[:2, :40], np.ones((2, 40)))).save(tmp_path / "dev.parquet")
    said = shiftbench("assess", "mine.parquet", "--calibration", "dev.parquet", *truth, *QUICK, "--overwrite")
    assert said.code == 2
    assert "dev.parquet: expected other records, found 10 of the same ids (60, 61, 62, …)" in said.err
    assert "expected predictions of the same model, Gaussian of 3 members, found Gaussian of 2 members" in said.err


@pytest.mark.parametrize("how", ["a table", "a comparison", "beside the truth", "a calibration file"])
def test_a_condition_tells_which_records_are_shifted(shiftbench: Shiftbench, tmp_path: Path, how: str) -> None:
    place = np.where(np.arange(N) % 2 == 1, "basel", "lyon")
    frame = table(**QUANTILES, place=place, wind=MIDDLE).drop("shifted")
    frame.write_csv(tmp_path / "f.csv")
    words: tuple[object, ...] = ("assess", "f.csv")
    if how == "a comparison":
        frame.drop("place").write_csv(tmp_path / "g.csv")
        words = ("compare", "f.csv", "g.csv")
    elif how == "beside the truth":
        ids = np.array([str(k) for k in range(N)], dtype=object)
        Predictions(ids, Gaussian(MEMBERS[:3], np.ones((3, N)))).save(tmp_path / "f.parquet")
        words = ("assess", "f.parquet", "--truth", "f.csv", "--target", "target")
    elif how == "a calibration file":
        frame.with_columns(pl.col("id") + N).write_csv(tmp_path / "dev.csv")
        words += ("--calibration", "dev.csv")
    said = shiftbench(*words, "--shifted", 'place == "basel"', *QUICK)
    assert said.code == 0, said.err
    report = Report.load(tmp_path / "r/report.json")
    assert {count.subset: count.records for count in report.counts} == {"in": 60, "shifted": 60, "full": 120}
    assert "place" not in {each.feature for each in report.shifts}


@pytest.mark.parametrize(
    ("shifted", "told"),
    [
        ("place", "in column 'place', found 'lyon' in row 1. Or name a condition, such as 'place == \"lyon\"'."),
        ("plce == 'basel'", "f.csv: --shifted: expected a column or a condition: "),
        ("plce", "expected a column 'plce'"),
        ("wind > 3", "column 'wind > 3', found no value in row 2. Fill it, or drop the record."),
    ],
)
def test_what_tells_of_no_shift_is_refused(shiftbench: Shiftbench, tmp_path: Path, shifted: str, told: str) -> None:
    place = np.where(np.arange(N) % 2 == 1, "basel", "lyon")
    wind = [None if k == 1 else float(k) for k in range(N)]
    table(**QUANTILES, place=place, wind=wind).drop("shifted").write_csv(tmp_path / "f.csv")
    said = shiftbench("assess", "f.csv", "--shifted", shifted, *QUICK)
    assert said.code == 2
    assert told in said.err


def test_answers_without_intervals_cannot_be_calibrated(shiftbench: Shiftbench, tmp_path: Path) -> None:
    table(answer=MIDDLE, uncertainty=SD, dev=np.arange(N) < 60).write_parquet(tmp_path / "mine.parquet")
    said = shiftbench("assess", "mine.parquet", "--calibration", "dev", *QUICK)
    assert said.code == 2
    assert "calibration: expected intervals or probabilities to calibrate, found none" in said.err


@pytest.mark.parametrize(
    "same", [Quantiles(np.stack([*QUANTILES.values()], -1)[None], (0.1, 0.5, 0.9)), Means(MEMBERS)]
)
def test_a_predictions_file_of_any_kind_is_scored_beside_its_targets(
    shiftbench: Shiftbench, tmp_path: Path, same: Quantiles | Means
) -> None:
    table().write_csv(tmp_path / "truth.csv")
    Predictions(np.array([str(k) for k in range(N)], dtype=object), same).save(tmp_path / "f.parquet")
    said = shiftbench("assess", "f.parquet", "--truth", "truth.csv", "--target", "target", *QUICK)
    assert said.code == 0, said.err
    found = values(Report.load(tmp_path / "r/report.json"))
    expected = values(assess_predictions(TARGET, {"f": same}, shifted=SHIFTED, options=OPTIONS))
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-9, nan_ok=True)
