"""The main results beside print: which system of a report is which of the paper, and by which measure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from shiftbench.assessment.assess import Options, build
from shiftbench.errors import TableError
from shiftbench.report.content import Report
from shiftbench.scores.intervals import Settings
from shiftbench.scores.score import System
from shiftbench.tracks.lesions import evaluation, paper, scoring
from shiftbench.tracks.lesions.patient import Patient
from shiftbench.tracks.lesions.scoring import PatientScores
from shiftbench.tracks.lesions.volumes import Volumes

N = 40
NAMES = ("ndsc", "dsc", "lesion_f1", paper.AREA, paper.OF_ONE)


def patient(rng: np.random.Generator, members: int) -> PatientScores:
    scores = {name: float(value) for name, value in zip(NAMES, rng.uniform(0.2, 0.8, len(NAMES)), strict=True)}
    return PatientScores(scores, {}, {"voxel_entropy": 0.1}, tuple(patient(rng, 0) for _ in range(members)))


def made(*, recipes: dict[str, dict[str, object]]) -> Report:
    rng = np.random.default_rng(0)
    parts = ("eval_in", "eval_out")
    volumes = Volumes(tuple(Patient(f"s-{k}", "s", parts[k >= N // 2], {}) for k in range(N)))
    records = evaluation.records(volumes, "eval", np.ones(N))
    systems = [
        scoring.scored(System(name, "ensemble"), [patient(rng, 3) for _ in range(N)], np.arange(1.0, N + 1))
        for name in recipes
    ]
    recipe = {"track": {"name": "lesions", "origin": "made up"}, "systems": recipes}
    options = Options("A run", "segmentation", error_name="1 − nDSC", intervals=Settings(replicates=20), recipe=recipe)
    return build([(records, systems)], options)


RECIPES: dict[str, dict[str, object]] = {
    "UNet": {"method": "unet", "ensemble": "deep", "members": 3, "dropout": 0.0},
    "Dropout": {"method": "unet", "ensemble": "deep", "members": 3, "dropout": 0.5},
    "Dropout, MC": {"method": "unet", "ensemble": "mc_dropout", "members": 3, "dropout": 0.5},
    "Slices": {"method": "unet_slices", "ensemble": "deep", "members": 3, "dropout": 0.0},
}


@pytest.fixture(scope="module")
def report() -> Report:
    return made(recipes=RECIPES)


def row(table, title: str):
    return next(cells for line, cells in zip(table.rows, table.cells, strict=True) if line.system == title)


def cell(table, title: str, dataset: str, subset: str):
    places = [(column.dataset, column.subset) for column in table.columns]
    return row(table, title)[places.index((dataset, subset))]


def test_systems_stand_beside_their_printed_values(report):
    _, _, ndsc, _, _ = paper.tables([report])
    assert [line.system for line in ndsc.rows] == [
        "UNET single", "UNET ensemble", "UNET single, dropout 0.5", "UNET MC dropout, dropout 0.5", "UNETR single",
        "UNETR ensemble", "Dropout", "Dropout, MC", "Slices",
    ]  # fmt: skip
    ours = cell(ndsc, "UNET ensemble", "eval", "in")
    score = report.score("ndsc", system="UNet", split="eval", subset="in")
    assert ours.value == pytest.approx(100 * score.value)
    assert ours.printed[0].text == "68.89"
    assert cell(ndsc, "UNETR ensemble", "eval", "shifted").printed[0].text == "59.49"
    assert cell(ndsc, "UNETR ensemble", "eval", "shifted").value is None


def test_single_networks_are_mean_and_deviation_as_in_print(report):
    _, _, _, f1, _ = paper.tables([report])
    ours = cell(f1, "UNET single", "eval", "in")
    assert ours.std > 0
    assert (ours.printed[0].text, ours.printed[0].std) == ("25.46", "1.51")
    assert cell(f1, "UNET MC dropout, dropout 0.5", "eval", "in").std > 0


def test_areas_of_ensembles_are_by_knowledge_and_those_of_single_networks_by_entropy(report):
    area = paper.tables([report])[4]
    for title, name, metric in (
        ("UNET ensemble", "UNet", paper.AREA),
        ("UNET single", "UNet (single)", paper.OF_ONE),
        ("UNET MC dropout, dropout 0.5", "Dropout, MC (single)", paper.AREA),
    ):
        score = report.score(metric, system=name, split="eval", subset="shifted")
        assert cell(area, title, "eval", "shifted").value == pytest.approx(100 * score.value), title


def test_correlations_with_load_stand_twice_beside_the_one_in_print(report):
    table = paper.tables([report])[1]
    assert table.rows[0].system == "UNET ensemble"
    places = {(column.metric, column.dataset, column.subset): place for place, column in enumerate(table.columns)}
    for kind in ("spearman", "pearson"):
        ours = table.cells[0][places[f"ndsc_load_{kind}", "eval", "shifted"]]
        score = report.score(f"ndsc_load_{kind}", system="UNet", split="eval", subset="shifted")
        assert ours.value == pytest.approx(score.value)
        assert ours.low < ours.value < ours.high
        assert ours.printed[0].text == "0.18"
    assert table.cells[0][places["dsc", "eval", "in"]].printed[0].text == "63.16"
    assert any("Spearman" in title for title in table.titles)


def test_made_up_data_are_not_called_comparable(report):
    assert "not comparable with ours" in paper.tables([report])[0].caption


def test_every_printed_value_of_the_main_tables_has_a_cell(report):
    for number, table in zip(paper.TABLES, paper.tables([report])[1:], strict=True):
        shown = sum(len(cell.printed) for cells in table.cells for cell in cells)
        assert shown == paper.printed(number).height
    assert paper.printed(paper.CORRELATIONS).height == 16 + 8, "every correlation twice"


def test_reports_of_other_tracks_are_refused(report):
    other = replace(report, recipe={**report.recipe, "track": {"name": "power"}})
    with pytest.raises(TableError, match="expected a run of the track lesions, found one of 'power'"):
        paper.tables([other])


def test_the_data_stand_beside_print():
    train = {"patients": 33, "volume_ml": 20.0, "volume_sd_ml": 4.0, "lesions": {"6": 1_700, "18": 1_500, "26": 1_400}}
    recipe = {"lesions": {"train": train, "dev_in": "nonsense"}}
    told = made(recipes=RECIPES)
    table = paper.tables([replace(told, recipe={**told.recipe, **recipe})])[0]
    assert [row.system for row in table.rows][:3] == ["train, in print", "train, A run", "dev_in, in print"]
    assert table.words[:2] == (
        ("–", "18.58 ± 18.75", "1,628"),
        ("33", "20.00 ± 4.00", "6: 1,700 · 18: 1,500 · 26: 1,400"),
    )
