"""Real translations assessed by the commands of the translation guide: the numbers of docs/findings/translation.md.

`python -m benchmarks.real_translations FOLDER --real TEXTS`: writes files of answers into FOLDER, assesses those that
have no report, and writes results/translation.json. TEXTS holds `mlqe_pe_ru-en_reddit.tsv.gz` (a model's translations
with token log-probabilities and human scores), `newstest2019.en-ru.tsv.gz` and `wmt22_general.en-ru.tsv.gz` (test sets
with translations by several systems, `hyp_NAME`).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from sklearn.ensemble import HistGradientBoostingRegressor

from shiftbench import measures
from shiftbench.ensembles import Texts
from shiftbench.io import files
from shiftbench.report.content import Report
from shiftbench.scores import retention
from shiftbench.scores.length import FITS, residual
from shiftbench.tracks.translation import outputs
from shiftbench.tracks.translation.outputs import Outputs

RESULTS = Path(__file__).resolve().parent.parent / "results" / "translation.json"
MLQE, NEWS, GENERAL = "mlqe_pe_ru-en_reddit.tsv.gz", "newstest2019.en-ru.tsv.gz", "wmt22_general.en-ru.tsv.gz"
NAMES = {
    "id": "seg_id", "source": "ru_original", "hypothesis": "en_mt", "quality": "da_mean",
    "token_log_probabilities": "token_logprobs", "tokens": "en_mt_subwords",
}  # fmt: skip
PARTS = {("dev", "reddit"): "dev_in", ("dev", "wikiquote"): "dev_out",
         ("test20", "reddit"): "eval_in", ("test20", "wikiquote"): "eval_out"}  # fmt: skip
IN_BOTH = ("bergamot_base", "bergamot_base_memory", "bergamot_tiny")  # systems of NEWS and of GENERAL
OTHERS = ("Online-B", "PROMT")  # of GENERAL alone
DOMAINS = ("social", "news", "ecommerce", "conversation")
QUANTILES, LOWEST, PROBABILITIES = (0.1, 0.25, 0.5, 0.75), (1, 2, 3, 5), (0.1, 0.3, 0.5)
METRICS = (
    "mean_error", "bleu", "chrf", "shift_ratio", "r_auc", "rejection_ratio", "prr", "prr_50", "roc_auc",
    "length_correlation", "error_length_correlation", "error_correlation",
)  # fmt: skip
BESIDE = (
    "sum", "sum_length_residual", "mean_length_residual", "text_disagreement_chrf", "text_risk_gleu", "text_entropy",
)  # fmt: skip
OF_MEASURES = ("r_auc", "rejection_ratio", "roc_auc", "length_correlation", "error_correlation")

Vector = npt.NDArray[np.float64]


def main(folder: Path, real: Path) -> int:
    """Assess what is missing, and write the results."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {"mlqe": of_mlqe(folder, real), "systems": of_systems(folder, real)}
    files.write_json(RESULTS, made)
    return 0


# --- a model with token log-probabilities, and human scores -----------------------------------------------------------


def of_mlqe(folder: Path, real: Path) -> dict[str, Any]:
    """The reference points, the report over all segments, and that of measures fitted on train."""
    found = outputs.read(real / MLQE, names=NAMES)
    known = token_measures(found)
    shifted = np.array(found.columns["origin"]) == "wikiquote"
    whole = replace(
        found,
        uncertainties={name: known[name] for name in ("mean", "sum")},
        columns={"origin": found.columns["origin"], "shifted": shifted.tolist()},
    )
    parts = [PARTS.get(key) for key in zip(found.columns["split"], found.columns["origin"], strict=True)]
    told = np.flatnonzero([part is not None for part in parts])
    systems = {
        name: replace(
            found.select(told), log_probabilities=None, tokens=None, uncertainties={name: values[told]},
            columns={"origin": [found.columns["origin"][row] for row in told], "part": [parts[row] for row in told]},
        )
        for name, values in {"mean": known["mean"], **fitted(found, known)}.items()
    }  # fmt: skip
    return {
        "reference_points": reference_points(found, known),
        "all": scores(assessed(folder / "mlqe", {"mean": whole}, task="given", replicates=1000)),
        "fitted": scores(assessed(folder / "mlqe-fitted", systems, task="given", replicates=1000)),
        "compared": differences(folder / "mlqe-fitted", "mean"),
    }


def tokens_of(found: Outputs) -> list[Vector]:
    """The token log-probabilities of each segment [N]."""
    assert found.log_probabilities is not None
    assert found.lengths is not None
    return np.split(found.log_probabilities[0], np.cumsum(found.lengths)[:-1])


def token_measures(found: Outputs) -> dict[str, Vector]:
    """Measures of token log-probabilities by name [N]; higher is less certain."""
    functions = {
        "mean": lambda logs: -logs.mean(),
        "sum": lambda logs: -logs.sum(),
        "without the end": lambda logs: -logs[:-1].mean(),
        "end": lambda logs: -logs[-1],
        "first": lambda logs: -logs[0],
        "mean probability": lambda logs: -np.exp(logs).mean(),
        "standard deviation": lambda logs: logs.std(),
        "root mean square": lambda logs: np.sqrt((logs**2).mean()),
        "mean of roots": lambda logs: np.sqrt(-logs).mean(),
        **{f"lowest {k}": lambda logs, k=k: -np.sort(logs)[:k].mean() for k in LOWEST},
        **{f"quantile {share}": lambda logs, share=share: -np.quantile(logs, share) for share in QUANTILES},
        **{f"share below {edge}": lambda logs, edge=edge: (np.exp(logs) < edge).mean() for edge in PROBABILITIES},
    }
    each = tokens_of(found)
    return {name: np.array([function(logs) for logs in each]) for name, function in functions.items()}


def text_features(found: Outputs) -> dict[str, Vector]:
    """What the texts of each segment tell without a model [N]."""
    assert found.sources is not None
    pairs = [(one.split(), other.split()) for one, other in zip(found.sources, found.texts, strict=True)]
    return {
        "words of the source": np.array([float(len(one)) for one, _ in pairs]),
        "characters of the source": np.array([float(len(text)) for text in found.sources]),
        "characters": np.array([len(text) / len(one) for one, text in zip(found.sources, found.texts, strict=True)]),
        "words": np.array([len(other) / len(one) for one, other in pairs]),
        "copied": np.array([len({*one} & {*other}) / len(other) for one, other in pairs]),
        "repeated": np.array([1 - len({*other}) / len(other) for _, other in pairs]),
    }


def fitted(found: Outputs, known: dict[str, Vector]) -> dict[str, Vector]:
    """Boosted trees that predict the error [N] from measures of tokens, fitted on train alone."""
    assert found.quality is not None
    assert found.lengths is not None
    train = np.array(found.columns["split"]) == "train"
    reddit = np.array(found.columns["origin"]) == "reddit"
    tokens = np.stack([*known.values(), found.lengths], axis=1)
    both = np.column_stack([tokens, *text_features(found).values()])
    made = {}
    for name, inputs, member in (
        ("tokens", tokens, train), ("tokens, in-domain", tokens, train & reddit), ("tokens and texts", both, train),
    ):  # fmt: skip
        trees = HistGradientBoostingRegressor(
            max_iter=300, learning_rate=0.03, max_leaf_nodes=8, min_samples_leaf=40, l2_regularization=1.0,
            early_stopping=False, random_state=0,
        )  # fmt: skip
        made[name] = trees.fit(inputs[member], 100 - found.quality[member]).predict(inputs)
    return made


def reference_points(found: Outputs, known: dict[str, Vector]) -> dict[str, Any]:
    """Pearson with standardised scores by split; areas over all segments, and of residuals fitted on Reddit."""
    assert found.quality is not None
    assert found.lengths is not None
    splits, inside = np.array(found.columns["split"]), np.array(found.columns["origin"]) == "reddit"
    z, errors = np.array(found.columns["da_z_mean"], dtype=np.float64), 100 - found.quality
    orders = {"mean": known["mean"], "sum": known["sum"]}
    orders |= {f"sum, {fit}": residual(known["sum"], found.lengths, fitted_on=inside, fit=fit) for fit in FITS}
    return {
        "pearson": {
            str(split): float(np.corrcoef(-known["mean"][splits == split], z[splits == split])[0, 1])
            for split in np.unique(splits)
        },
        "error": {"reddit": float(errors[inside].mean()), "wikiquote": float(errors[~inside].mean())},
        "areas": {name: areas(errors, values) for name, values in orders.items()},
        "dev": {name: areas(errors[splits == "dev"], values[splits == "dev"]) for name, values in known.items()},
    }


def areas(errors: Vector, uncertainty: Vector) -> dict[str, float]:
    """R-AUC and the rejection ratio in percent."""
    return {
        "r_auc": retention.r_auc(errors, uncertainty),
        "rejection_ratio": retention.rejection_ratio(errors, uncertainty),
    }


# --- several systems --------------------------------------------------------------------------------------------------


def of_systems(folder: Path, real: Path) -> dict[str, Any]:
    """News of 2019 against each domain of 2022 by the systems that translated both; news of 2022 against the rest."""
    news, general = (table(real / name) for name in (NEWS, GENERAL))
    found = {}
    for domain in DOMAINS:
        both = pl.concat(
            [
                part("eval_in", news.with_columns(domain=pl.lit("news 2019"), ref_ru="ref_wmt_ru"), IN_BOTH),
                part("eval_out", general.filter(domain=domain), IN_BOTH),
            ]
        )
        found[f"news 2019 / {domain}"] = scores(assessed(folder / domain, answers(both, IN_BOTH, IN_BOTH)))
    every = [name.removeprefix("hyp_") for name in general.columns if name.startswith("hyp_")]
    sides = {"eval_in": pl.col("domain") == "news", "eval_out": pl.col("domain") != "news"}
    whole = pl.concat([part(name, general.filter(rows), every) for name, rows in sides.items()])
    report = assessed(folder / "general", answers(whole, (*IN_BOTH, *OTHERS), every))
    slices = {
        f"{row.system} / {row.group}": {"n": row.n, "mean_error": row.mean_error, "low": row.low, "high": row.high,
                                        "r_auc": row.r_auc}
        for row in report.slices
        if row.column == "domain"
    }  # fmt: skip
    return found | {"news 2022 / other domains": scores(report), "by domain": slices}


def table(path: Path) -> pl.DataFrame:
    """A test set, with its rows numbered."""
    return pl.read_csv(path, separator="\t", quote_char=None, infer_schema=False).with_row_index("row")


def part(name: str, frame: pl.DataFrame, systems: Sequence[str]) -> pl.DataFrame:
    """Rows of a test set as a part of the evaluation."""
    columns = ["row", "domain", "doc_id", "src_en", "ref_ru", *(f"hyp_{each}" for each in systems)]
    return frame.select(*columns, part=pl.lit(name))


def answers(frame: pl.DataFrame, told: Sequence[str], systems: Sequence[str]) -> dict[str, Outputs]:
    """The outputs of the systems that are told, with the disagreement among all of them as uncertainty."""
    texts = Texts([frame[f"hyp_{name}"].to_list() for name in systems])
    known = {name: measures.uncertainty(texts, name) for name in measures.measures_for(texts)}
    columns = {name: frame[name].to_list() for name in ("part", "domain")}
    return {
        name: Outputs(
            [f"{one} {row}" for one, row in zip(frame["part"], frame["row"], strict=True)],
            np.ones(len(frame), np.int64),
            frame[f"hyp_{name}"].to_list(),
            sources=frame["src_en"].to_list(),
            references=[(text,) for text in frame["ref_ru"]],
            uncertainties=known,
            columns={**columns, "document": frame["doc_id"].to_list()},
        )
        for name in told
    }


# --- by the command line ----------------------------------------------------------------------------------------------


def assessed(folder: Path, systems: dict[str, Outputs], *, task: str = "egleu", replicates: int = 300) -> Report:
    """The report of systems by the task, made by `shiftbench assess` or `compare` unless it is there."""
    folder.mkdir(exist_ok=True)
    if not (folder / "report").exists():
        paths = [folder / f"{name.replace(' ', '-').replace(',', '')}.jsonl" for name in systems]
        for path, found in zip(paths, systems.values(), strict=True):
            outputs.write(path, found)
        words = ["--track", "translation", "--task", task, "--replicates", str(replicates), "--out", folder / "report"]
        if len(paths) == 1:
            shiftbench("assess", *paths, *words)
        else:
            shiftbench("compare", *paths, "--name", ",".join(path.stem for path in paths), *words)
    return Report.load(next((folder / "report").rglob("report.json")))


def shiftbench(*words: str | Path) -> None:
    """Run a command, which shows its own progress."""
    subprocess.run([sys.executable, "-m", "shiftbench", *map(str, words)], check=True)


def scores(report: Report) -> dict[str, Any]:
    """Split, system, measure, score and subset → value, interval and number of records.

    Of measures beside the headline, areas and correlations over all records.
    """
    found: dict[str, Any] = {}
    for score in report.scores:
        own = score.measure in ("", report.measure_of(score.system))
        beside = score.measure in BESIDE and score.metric in OF_MEASURES and score.subset == "full"
        wanted = score.metric in METRICS if own else beside
        if wanted and np.isfinite(score.value):
            place = f"{score.split} / {score.system}" + (f" / {score.measure}" if score.measure else "")
            told = {key: each for key in ("value", "low", "high", "n") if (each := getattr(score, key)) is not None}
            found.setdefault(place, {}).setdefault(score.metric, {})[score.subset] = told
    return found


def differences(folder: Path, system: str) -> list[dict[str, Any]]:
    """Paired comparisons with a system on evaluation, all records together."""
    report = Report.load(next((folder / "report").rglob("report.json")))
    return [
        {key: getattr(row, key) for key in ("a", "b", "metric", "difference", "low", "high", "p_adjusted")}
        for row in report.comparisons
        if row.split == "eval" and row.subset == "full" and system in (row.a, row.b)
        and row.metric in ("r_auc", "rejection_ratio")
    ]  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real_translations", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where files and reports are, or will be")
    parser.add_argument("--real", type=Path, metavar="TEXTS", required=True, help="the folder of the three files")
    sys.exit(main(**vars(parser.parse_args())))
