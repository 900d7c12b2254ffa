"""Networks of the lesion track on phantoms and on real patients: the numbers of docs/findings/lesions.md.

`python -m benchmarks.lesions FOLDER --real SCANS`: runs what is missing in FOLDER, writes results/lesions.json. SCANS
holds real patients in the published layout, and may hold further lesion and brain masks, `<number>_gt.nii.gz` and
`<number>_brainmask.nii.gz`, in a folder of their own. Without `--real` only phantoms are learnt from.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from shiftbench.io import files
from shiftbench.report.content import Report
from shiftbench.tracks.lesions import layout, manifest
from shiftbench.tracks.lesions.patient import Patient

RESULTS = Path(__file__).resolve().parent.parent / "results" / "lesions.json"
METRICS = ("ndsc", "dsc", "lesion_f1")  # F1: connectivity 6, IoU of at least 0.25, matched as published
OF_SPLITS = (*METRICS, "mean_error", "shift_ratio", "lppv_gain_lesion_structural")
NAMED = {"unet": [], "unetr": ["--members", "1"]}  # networks of volumes that are fitted once
HEAD = "patient,site,part,flair,gt,brain"


def main(folder: Path, real: Path | None) -> int:
    """Run what is missing, and write the results."""
    folder.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()  # paths in a table are from where it lies
    phantoms, prepared = folder / "phantoms", folder / "prepared"
    if not phantoms.exists():
        shiftbench("example", "lesions", "--out", phantoms)
    if not prepared.exists():
        shiftbench("prepare", "lesions", phantoms, "--out", prepared)
    made: dict[str, Any] = {"phantoms": {"quick": splits(run(folder / "quick", prepared))}}
    for name, words in NAMED.items():
        made["phantoms"][name] = splits(run(folder / name, prepared, "--method", name, *words))
    if real is not None:
        made["real"] = of_real(folder, layout.found(phantoms).patients, layout.found(real.resolve()).patients)
        made["masks"] = of_masks(folder, real.resolve())
    known = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    files.write_json(RESULTS, {**known, **made})
    return 0


def of_real(folder: Path, phantoms: Iterable[Patient], real: Iterable[Patient]) -> dict[str, Any]:
    """Real patients: networks that learnt from phantoms, and from all real patients but one, each in turn."""
    learnt = [line(each, each.part) for each in phantoms if each.part in ("train", "dev_in")]
    table = written(folder / "phantoms-then-real.csv", [*learnt, *(line(each, "eval_out") for each in real)])
    found: dict[str, Any] = {"phantoms": patients(run(folder / "transfer", table)), "others": {}}
    for one in real:
        lines = [line(each, "eval_out" if each is one else "train") for each in real]
        table = written(folder / f"without-{one.id}.csv", lines)
        for system, scores in patients(run(folder / f"without-{one.id}", table)).items():
            found["others"].setdefault(system, {}).update(scores)
    return found


def of_masks(folder: Path, real: Path) -> dict[str, Any]:
    """Lesion load and number of the masks that have no scan."""
    lines = [
        f"{truth.name.split('_')[0]},,dev_out,,{truth},{truth.with_name(truth.name.replace('gt', 'brainmask'))}"
        for truth in sorted(real.glob("*/*_gt.nii.gz"))
    ]
    if not (folder / "masks").exists():
        shiftbench("prepare", "lesions", written(folder / "masks.csv", lines), "--out", folder / "masks")
    held = manifest.held_in(folder / "masks")["patients"]
    volumes = [each["lesions_ml"] for each in held]
    return {
        "patients": len(held), "volume_ml": float(np.mean(volumes)), "volume_sd_ml": float(np.std(volumes)),
        "volume_sd_ml_ddof_1": float(np.std(volumes, ddof=1)),
        "lesions": {name: sum(each["lesions"][name] for each in held) for name in sorted(held[0]["lesions"], key=int)},
    }  # fmt: skip


def line(patient: Patient, part: str) -> str:
    """A patient in a table of paths, in this part."""
    return ",".join([patient.id, patient.site, part, *(str(patient.files[kind]) for kind in ("flair", "gt", "brain"))])


def written(path: Path, lines: list[str]) -> Path:
    """A table of patients, written unless it is there."""
    if not path.exists():
        path.write_text("\n".join([HEAD, *lines]) + "\n", "utf-8")
    return path


def run(folder: Path, data: Path, *words: str) -> Path:
    """Run the preset on data, unless that has been done; returns the folder."""
    if not folder.exists():
        shiftbench("run", "lesions", "--data", data, "--out", folder, *words)
    return folder


def shiftbench(*words: str | Path) -> None:
    """Run a command, which shows its own progress."""
    subprocess.run([sys.executable, "-m", "shiftbench", *map(str, words)], check=True)


def splits(folder: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """System → score → in-domain and shifted value of evaluation, with interval."""
    report = Report.load(folder / "segmentation/report/report.json")
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for score in report.scores:
        if (
            score.split == "eval"
            and score.metric in OF_SPLITS
            and score.measure in ("", report.measure_of(score.system))
        ):
            told = {key: getattr(score, key) for key in ("value", "low", "high", "n")}
            found.setdefault(score.system, {}).setdefault(score.metric, {})[score.subset] = told
    return found


def patients(folder: Path) -> dict[str, dict[str, dict[str, float]]]:
    """System → patient of evaluation → scores."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for path in sorted((folder / "predictions/eval").glob("*/*.json")):
        scores = json.loads(path.read_text("utf-8"))["scores"]
        found.setdefault(unquote(path.parent.name), {})[path.stem] = {name: scores[name] for name in METRICS}
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lesions", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where the data and the runs are, or will be")
    parser.add_argument("--real", type=Path, metavar="SCANS", help="real patients in the published layout")
    sys.exit(main(**vars(parser.parse_args())))
