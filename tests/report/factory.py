"""Made-up reports with the shapes that real ones have; seeded, so that every test sees the same numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations

import numpy as np

from shiftbench.report.content import Report
from shiftbench.scores.score import (
    Comparison,
    Count,
    Curve,
    FeatureShift,
    Notable,
    Part,
    Rank,
    Score,
    Separation,
    Slice,
    SliceScore,
    System,
)

HOSTILE = (
    "<script>alert('x')</script>",
    "[bold red]not markup[/] & 100 % $\\frac{1}$ a_b#c~d^e|f`g*h\\",
    "a very long name " * 12,
    "=cmd()|' /C calc'!A0",
    "[x] 模型 µ-ätherisch\u202e\n\u0007",
)

RECIPE = {
    "package": "shiftbench 0.1.0",
    "rule": "published",
    "manifest": {"sha256": "ab" * 32, "seed": 0, "rows": 4000},
    "bootstrap": {"replicates": 1000, "unit": "cluster", "columns": ["city", "state"]},
    "versions": {"numpy": "2.4.6", "python": "3.11.2"},
}

SYSTEMS = (
    System("boosting", "ensemble", "total_variance", ("total_variance", "epkl", "knowledge_variance"), "10 models"),
    System("boosting, one model", "single", "data_variance", ("data_variance",), "mean over 10 members"),
    System("deep_ensemble", "model", "total_variance", ("total_variance",), "from a file"),
    System("mean", "baseline", "", (), "the mean of the training targets"),
    System("fc24_high_c", "baseline", "", (), "a column of the table"),
    System("persistence", "baseline", "", (), "yesterday's value"),
)
QUALITY = {  # error scale in-domain and shifted, and how well uncertainty follows
    "boosting": (1.75, 2.7, 0.6),
    "boosting, one model": (1.85, 2.9, 0.5),
    "deep_ensemble": (1.77, 2.5, 0.3),
    "mean": (8.5, 14.0, 0.0),
    "fc24_high_c": (1.85, 1.9, 0.0),
    "persistence": (3.6, 4.4, 0.0),
}


SHIFTS = tuple(
    FeatureShift(split, *about, shares_in=first, shares_shifted=other, edges=edges, labels=labels)
    for split in ("dev", "eval")
    for about, first, other, edges, labels in (
        (
            ("dewpoint_c", "number", 0.82, 0.0, 0.1, "median 11.2", "median −4.1"),
            (0.1, 0.3, 0.6), (0.7, 0.2, 0.1), (-20.0, -5.0, 10.0, 25.0), (),
        ),
        (
            ("day", "date", 0.6, 0.0, 0.0, "median 2019-01-02", "median 2019-07-01"),
            (0.5, 0.5), (0.1, 0.9), (17_900.0, 18_000.0, 18_100.0), (),
        ),
        (
            ("sky", "category", 0.3, 0.0, 0.0, "10 % snow", "40 % snow"),
            (0.9, 0.1), (0.6, 0.4), (), ("dry", "snow"),
        ),
        (("constant", "number", 0.0, 0.0, 0.0, "median 1", "median 1"), (), (), (), ()),
    )
)  # fmt: skip


def regression(records: int = 300) -> Report:
    """Six systems, dev and eval, in-domain, shifted and full; a raw forecast that wins under shift."""
    return _filled(
        Report(
            title="Next-day highs",
            task="regression",
            rule="published",
            threshold=1.0,
            target_unit="°C",
            error_unit="°C²",
            error_name="squared error",
            systems=SYSTEMS,
            warnings=("Only 14 clusters in dev, shifted: intervals are too short.",),
            recipe=RECIPE,
            shifts=SHIFTS,
            separations=(Separation("eval", "shifted", 0.97, 41.0, 300, 0.1),),
        ),
        records,
    )


def classification(records: int = 300) -> Report:
    """Three classifiers' worth of scores: accuracy instead of RMSE, reliability instead of coverage."""
    return _filled(
        Report(
            title="Rain, snow or neither",
            task="classification",
            rule="exact",
            threshold=0.5,
            error_name="share of wrong answers",
            systems=(
                System("boosting", "ensemble", "entropy_of_expected", ("entropy_of_expected", "epkl")),
                System("boosting, one model", "single", "entropy_of_expected"),
                System("majority", "baseline"),
            ),
            recipe=RECIPE,
        ),
        records,
    )


def with_test_set() -> Report:
    """Dev, eval, and a test set that is scored as a whole."""
    report = regression(120)

    def there(entries):
        return tuple(
            replace(entry, split="generalization")
            for entry in entries
            if entry.split == "eval" and entry.subset == "full"
            if getattr(entry, "metric", "") not in ("roc_auc", "pr_auc")
            if getattr(entry, "kind", "") not in ("roc", "density")
        )

    parts = {name: (*getattr(report, name), *there(getattr(report, name))) for name in ("scores", "counts", "curves")}
    return replace(report, **parts)


def errors_only() -> Report:
    """Errors and an uncertainty from a file: nothing shifted, no threshold, no intervals, one system."""
    report = _filled(
        Report("A file", "errors", "published", None, systems=(System("model", "model", "uncertainty"),)), 60
    )
    return replace(
        report,
        counts=(Count("all", "full", 60),),
        scores=tuple(
            replace(score, split="all", low=None, high=None)
            for score in report.scores
            if score.subset == "full" and score.split == "eval" and "f1" not in score.metric
            if score.metric not in ("roc_auc", "acceptable")
        ),
        curves=tuple(
            replace(curve, split="all")
            for curve in report.curves
            if curve.split == "eval" and curve.subset == "full" and curve.kind in ("error_retention", "density")
        ),
        slices=(),
        parts=(),
        comparisons=(),
        ranks=(),
    )


def nothing_defined() -> Report:
    """Every score NaN, as for a constant uncertainty of perfect answers."""
    report = regression(30)
    nan = {"value": math.nan, "low": None, "high": None, "std": None}
    return replace(
        report,
        scores=tuple(replace(score, **nan) for score in report.scores),
        slices=tuple(
            replace(entry, mean_error=math.nan, r_auc=math.nan, low=None, high=None) for entry in report.slices
        ),
        parts=tuple(replace(part, value=math.nan) for part in report.parts),
        curves=(),
        comparisons=(),
        ranks=(),
        shifts=(),
    )


def one_record() -> Report:
    """One split with one record a subset: curves of two points, no intervals."""
    report = regression(1)
    return replace(
        report,
        counts=tuple(count for count in report.counts if count.split == "eval"),
        scores=tuple(replace(score, low=None, high=None) for score in report.scores),
        comparisons=(),
        ranks=(),
    )


def hostile() -> Report:
    """Names that try to be markup, mathematics, formulas or too long, everywhere a name can be."""
    report = regression(40)
    names = dict(zip((system.name for system in SYSTEMS), HOSTILE, strict=False))

    def renamed(entry, *fields):
        return replace(entry, **{field: names.get(getattr(entry, field), getattr(entry, field)) for field in fields})

    return replace(
        report,
        counts=tuple(count for count in report.counts if count.split == "eval"),
        title=HOSTILE[0],
        target_unit="$°C_%&",
        error_unit="<b>°C²</b>",
        systems=tuple(replace(renamed(entry, "name"), about=HOSTILE[1]) for entry in report.systems),
        scores=tuple(renamed(entry, "system") for entry in report.scores),
        curves=tuple(renamed(entry, "system") for entry in report.curves),
        slices=tuple(replace(renamed(entry, "system"), column=HOSTILE[1]) for entry in report.slices),
        parts=tuple(renamed(entry, "system") for entry in report.parts),
        comparisons=tuple(renamed(entry, "a", "b") for entry in report.comparisons),
        ranks=tuple(renamed(entry, "system") for entry in report.ranks),
        notable=tuple(
            Notable(
                HOSTILE[place % 2],
                "eval",
                kind,
                place + 1,
                HOSTILE[place],
                1.5,
                math.nan,
                bool(place % 2),
                HOSTILE[3],
                None,
                {HOSTILE[0]: HOSTILE[place], "=n": -3, "id": None, "wind": 2.25},
            )
            for kind in ("worst", "confident", "uncertain")
            for place in range(len(HOSTILE))
        ),
        slice_scores=tuple(
            SliceScore(names["boosting"], "eval", HOSTILE[1], name, "coverage_90", value, 9)
            for name, value in zip(HOSTILE, (0.5, math.nan, math.inf, 0.0, 1.0), strict=True)
        ),
        shifts=tuple(
            replace(each, feature=name, inside=name, shifted=name, labels=labels)
            for each in report.shifts
            for name in HOSTILE
            for labels in [HOSTILE[: len(each.labels)]]
            if each.split == "eval"
        ),
        separations=(Separation("eval", "shifted", math.nan, math.nan, 0, math.nan),),
        warnings=HOSTILE,
        recipe={HOSTILE[0]: HOSTILE[1], "list": list(HOSTILE), "conformal": {"grouped_by": {"eval": HOSTILE[0]}}},
    )


def many(count: int = 15) -> Report:
    """As many systems as a comparison is likely to have, with names as long as people make them."""
    rng = np.random.default_rng(5)
    systems = tuple(
        System(f"model-{place:02d}-{'wide' * (1 + place % 4)}-seed{place}-epoch{100 * place}", "model", "entropy")
        for place in range(count)
    )
    quality = {entry.name: (1 + rng.random(), 1.5 + 2 * rng.random(), 0.8 * rng.random()) for entry in systems}
    blank = Report("Fifteen models", "regression", "published", 1.0, "kW", "kW²", "squared error", systems=systems)
    return _filled(blank, 200, quality)


def empty() -> Report:
    """No systems, no scores."""
    return Report("Nothing", "errors", "published", None)


REPORTS = {
    "regression": regression,
    "classification": classification,
    "with_test_set": with_test_set,
    "errors_only": errors_only,
    "nothing_defined": nothing_defined,
    "one_record": one_record,
    "hostile": hostile,
    "many": many,
    "empty": empty,
}


def _filled(report: Report, records: int, quality: dict[str, tuple[float, float, float]] | None = None) -> Report:
    rng = np.random.default_rng(20211021)
    quality = quality or QUALITY
    parts: dict[str, list] = {name: [] for name in ("scores", "curves", "slices", "parts", "comparisons", "ranks")}
    counts = []
    for split in ("dev", "eval"):
        counts += [Count(split, "in", records, 40), Count(split, "shifted", records, 14)]
        counts += [Count(split, "full", 2 * records, 54)]
        headline = {}
        for system in report.systems:
            drawn = _draw(rng, report, quality.get(system.name, (1.0, 1.6, 0.4)), records)
            parts["scores"] += _scores(report, system, split, drawn)
            if system.role != "single":
                parts["slices"] += _slices(system, split, drawn)
                headline[system.name] = drawn
            if system.measure:
                parts["curves"] += _curves(report, system, split, drawn)
                parts["parts"] += _parts(system, split, drawn)
        comparisons, ranks = _comparisons(report, split, headline)
        parts["comparisons"] += comparisons
        parts["ranks"] += ranks
    return replace(report, counts=tuple(counts), **{name: tuple(rows) for name, rows in parts.items()})


def _draw(rng, report, quality, records):
    """Errors, uncertainty and shifted flags [2 × records]."""
    scale_in, scale_shifted, follows = quality
    shifted = np.repeat([False, True], records)
    sigma = np.where(shifted, scale_shifted, scale_in) * np.exp(0.5 * rng.standard_normal(2 * records) - 0.25)
    errors = (sigma * rng.standard_normal(2 * records)) ** 2
    if report.task == "classification":
        errors = (rng.random(2 * records) < np.clip(0.12 * sigma, 0, 1)).astype(float)
    uncertainty = np.exp(2 * follows * np.log(sigma) + (1 - follows) * rng.standard_normal(2 * records))
    return errors, uncertainty, shifted


def _subsets(drawn):
    errors, uncertainty, shifted = drawn
    for name, rows in (("in", ~shifted), ("shifted", shifted), ("full", shifted | True)):
        yield name, errors[rows], uncertainty[rows], shifted[rows]


def _retained(errors, order):
    return np.concatenate([[0.0], np.cumsum(errors[np.argsort(order, kind="stable")])]) / len(errors)


def _numbers(report, errors, uncertainty, shifted, *, ranked):
    found = {"mean_error": errors.mean()}
    if report.task == "classification":
        found |= {"accuracy": 1 - errors.mean(), "nll": 0.4 + errors.mean(), "ece": 0.02 + 0.1 * errors.mean()}
    else:
        found |= {"rmse": np.sqrt(errors.mean()), "mae": np.abs(np.sqrt(errors)).mean()}
    if ranked:
        r_auc = _retained(errors, uncertainty).mean()
        chance, optimal = errors.mean() / 2, _retained(errors, errors).mean()
        found |= {"r_auc": r_auc, "f1_auc": 0.4 + 0.2 * (errors <= 1).mean(), "f1_at_95": 0.9 * (errors <= 1).mean()}
        found |= {"rejection_ratio": (r_auc - chance) / (optimal - chance) if optimal != chance else math.nan}
        if shifted.any() and not shifted.all():
            wins = uncertainty[shifted][:, None] > uncertainty[~shifted][None, :]
            found["roc_auc"] = wins.mean()
    return found


def _scores(report, system, split, drawn):
    measures = system.measures or ((system.measure,) if system.measure else ("",))
    for subset, errors, uncertainty, shifted in _subsets(drawn):
        for measure in measures:
            noise = 1.0 if measure == system.measure else 0.97
            numbers = _numbers(report, errors, uncertainty, shifted, ranked=bool(system.measure))
            for metric, value in numbers.items():
                joint = metric in ("r_auc", "f1_auc", "f1_at_95", "rejection_ratio", "roc_auc")
                if not joint and measure != measures[0]:
                    continue
                value = float(value) * (noise if joint else 1.0)
                width = 1.5 * abs(value) / math.sqrt(max(len(errors), 1)) + 1e-4
                single = system.role == "single"
                yield Score(
                    system.name,
                    split,
                    subset,
                    metric,
                    value,
                    len(errors),
                    measure if joint else "",
                    std=width / 3 if single else None,
                    low=None if single else value - width,
                    high=None if single else value + 1.1 * width,
                )


def _curves(report, system, split, drawn):
    for subset, errors, uncertainty, shifted in _subsets(drawn):
        kept = np.linspace(0, 1, len(errors) + 1)
        step = max(1, len(kept) // 150)
        orders = {"uncertainty": uncertainty, "random": np.zeros(len(errors)), "optimal": errors}
        for order, values in orders.items():
            curve = kept * errors.mean() if order == "random" else _retained(errors, values)
            good = _retained((errors <= 1).astype(float), values) * len(errors)
            if order == "random":
                good = kept * good[-1]
            f1 = 2 * good / (np.arange(len(kept)) + max(good[-1], 1))
            yield _curve(system, split, subset, "error_retention", kept[::step], curve[::step], order)
            if report.threshold is not None:
                yield _curve(system, split, subset, "f1_retention", kept[::step], f1[::step], order)
        level = np.linspace(0.05, 0.95, 10)
        kind = "reliability" if report.task == "classification" else "coverage"
        yield _curve(system, split, subset, kind, level, level ** (1.5 if subset == "shifted" else 1.1))
        if subset != "full":
            yield from _bins(system, split, subset, errors, uncertainty)
        elif len(errors) > 1:
            thresholds = np.quantile(uncertainty, np.linspace(1, 0, 60))
            rates = [[(uncertainty[rows] >= t).mean() for t in thresholds] for rows in (~shifted, shifted)]
            yield _curve(system, split, "full", "roc", [0, *rates[0]], [0, *rates[1]])


def _bins(system, split, subset, errors, uncertainty):
    order = np.array_split(np.argsort(uncertainty), min(8, len(errors)))
    x, y = [uncertainty[rows].mean() for rows in order], [errors[rows].mean() for rows in order]
    yield _curve(system, split, subset, "error_by_uncertainty", x, y, log_x=True)
    grid = np.linspace(np.log(uncertainty.min()) - 1, np.log(uncertainty.max()) + 1, 80)
    density = np.exp(-0.5 * ((grid[:, None] - np.log(uncertainty)[None]) / 0.3) ** 2).mean(1)
    yield _curve(system, split, subset, "density", np.exp(grid), density, log_x=True)


def _curve(system, split, subset, kind, x, y, order="uncertainty", *, log_x=False):
    x, y = (tuple(float(value) for value in values) for values in (x, y))
    return Curve(system.name, split, subset, kind, x, y, system.measure, order, log_x)


def _slices(system, split, drawn):
    errors, uncertainty, shifted = drawn
    for subset, share, groups in (("in", 0.0, ("tropical", "dry", "mild")), ("shifted", 1.0, ("snow", "polar"))):
        rows = np.flatnonzero(shifted == (subset == "shifted"))
        for place, group in enumerate(groups):
            mine = rows[place :: len(groups)]
            if len(mine):
                mean = float(errors[mine].mean()) * (1 + 0.2 * place)
                width = 2 * mean / math.sqrt(len(mine))
                area = float(_retained(errors[mine], uncertainty[mine]).mean())
                good = float((errors[mine] <= 1).mean())
                yield Slice(
                    system.name, split, "climate", group, len(mine), share, mean, mean - width, mean + width, area, good
                )


def _parts(system, split, drawn):
    found = {name: (e.mean() / 2, _retained(e, u).mean() - e.mean() / 2) for name, e, u, _ in _subsets(drawn)}
    level, ranking = found["full"]
    inside, shifted = found["in"][1] / 4, found["shifted"][1] / 4
    values = {
        "level_in": found["in"][0],
        "level_shift": level - found["in"][0],
        "ranking_in": inside,
        "ranking_shifted": shifted,
        "ranking_between": ranking - inside - shifted,
    }
    for name, value in values.items():
        yield Part(system.name, split, name, float(value))


def _comparisons(report, split, drawn):
    metric = "accuracy" if report.task == "classification" else "rmse"
    comparisons, ranks = [], []
    for subset in ("in", "shifted", "full"):
        values = {}
        for name, errors in drawn.items():
            mean = next(e.mean() for which, e, _, _ in _subsets(errors) if which == subset)
            values[name] = float(1 - mean if metric == "accuracy" else np.sqrt(mean))
        for first, second in combinations(values, 2):
            difference = values[first] - values[second]
            width = 0.15
            p = float(min(1.0, math.exp(-3.0 * abs(difference) / width)))
            comparisons.append(
                Comparison(
                    split,
                    subset,
                    metric,
                    first,
                    second,
                    difference,
                    difference - width,
                    difference + width,
                    p,
                    min(1, 3 * p),
                )
            )
        better = sorted(values, key=lambda name: values[name] if metric == "rmse" else -values[name])
        rank = 0
        for place, name in enumerate(better):
            if place == 0 or abs(values[name] - values[better[place - 1]]) > 0.1:
                rank = place + 1
            ranks.append(Rank(split, subset, metric, name, rank))
    return comparisons, ranks
