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
from shiftbench.tracks.lesions.paper import patients, systems
from shiftbench.tracks.lesions.paper.tables import CORRELATIONS, TABLES
from shiftbench.tracks.lesions.patient import Patient
from shiftbench.tracks.lesions.scoring import PatientScores
from shiftbench.tracks.lesions.volumes import Volumes

N = 40
NAMES = ("ndsc", "dsc", "lesion_f1", systems.AREA, systems.OF_ONE)


def patient(rng: np.random.Generator, members: int) -> PatientScores:
    scores = {name: float(value) for name, value in zip(NAMES, rng.uniform(0.2, 0.8, len(NAMES)), strict=True)}
    fall = {order: np.linspace(1, scores["ndsc"], len(scoring.RETAINED)) for order in ("uncertainty", "random")}
    return PatientScores(scores, {}, {"voxel_entropy": 0.1}, tuple(patient(rng, 0) for _ in range(members)), fall)


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


def named(reports, number: str):
    return next(table for table in paper.tables(reports) if table.number == number)


def row(table, title: str, *, site: str = "", who: str = ""):
    wanted = (title, site, who)
    found = zip(table.rows, table.cells, strict=True)
    return next(cells for line, cells in found if (line.system, line.experiment, line.measure) == wanted)


def cell(table, title: str, dataset: str, subset: str):
    places = [(column.dataset, column.subset) for column in table.columns]
    return row(table, title)[places.index((dataset, subset))]


def test_systems_stand_beside_their_printed_values(report):
    ndsc = named([report], "Table 9")
    assert [line.system for line in ndsc.rows] == [
        "UNET single", "UNET ensemble", "UNET single, dropout 0.5", "UNET MC dropout, dropout 0.5", "UNETR single",
        "UNETR ensemble", "Dropout", "Dropout, MC", "Slices (single)", "Slices",
    ]  # fmt: skip
    ours = cell(ndsc, "UNET ensemble", "eval", "in")
    score = report.score("ndsc", system="UNet", split="eval", subset="in")
    assert ours.value == pytest.approx(100 * score.value)
    assert ours.printed[0].text == "68.89"
    assert cell(ndsc, "UNETR ensemble", "eval", "shifted").printed[0].text == "59.49"
    assert cell(ndsc, "UNETR ensemble", "eval", "shifted").value is None


def test_single_networks_are_mean_and_deviation_as_in_print(report):
    f1 = named([report], "Table 10")
    ours = cell(f1, "UNET single", "eval", "in")
    assert ours.std > 0
    assert (ours.printed[0].text, ours.printed[0].std) == ("25.46", "1.51")
    assert cell(f1, "UNET MC dropout, dropout 0.5", "eval", "in").std > 0


def test_areas_of_ensembles_are_by_knowledge_and_those_of_single_networks_by_entropy(report):
    area = named([report], "Table 11")
    for title, name, metric in (
        ("UNET ensemble", "UNet", systems.AREA),
        ("UNET single", "UNet (single)", systems.OF_ONE),
        ("UNET MC dropout, dropout 0.5", "Dropout, MC (single)", systems.AREA),
    ):
        score = report.score(metric, system=name, split="eval", subset="shifted")
        assert cell(area, title, "eval", "shifted").value == pytest.approx(100 * score.value), title


def test_correlations_with_load_stand_twice_beside_the_one_in_print(report):
    table = named([report], CORRELATIONS)
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
    assert "not comparable with ours" in named([report], "Table 9").caption


def test_every_printed_value_of_the_main_tables_has_a_cell(report):
    for number, table in ((number, named([report], number)) for number in TABLES):
        shown = sum(len(cell.printed) for cells in table.cells for cell in cells)
        assert shown == paper.printed(number).height
    assert paper.printed(CORRELATIONS).height == 16 + 8, "every correlation twice"


def test_reports_of_other_tracks_are_refused(report):
    other = replace(report, recipe={**report.recipe, "track": {"name": "power"}})
    with pytest.raises(TableError, match="expected a run of the track lesions, found one of 'power'"):
        paper.tables([other])


def test_the_data_stand_beside_print():
    train = {"patients": 33, "volume_ml": 20.0, "volume_sd_ml": 4.0, "lesions": {"6": 1_700, "18": 1_500, "26": 1_400}}
    recipe = {"lesions": {"train": train, "dev_in": "nonsense"}}
    told = made(recipes=RECIPES)
    table = named([replace(told, recipe={**told.recipe, **recipe})], "Table 6")
    assert [row.system for row in table.rows][:3] == ["train, in print", "train", "dev_in, in print"]
    assert table.words[:2] == (
        ("–", "18.58 ± 18.75", "1,628"),
        ("33", "20.00 ± 4.00", "6: 1,700 · 18: 1,500 · 26: 1,400"),
    )


# --- other sites -----------------------------------------------------------------------------------------------------


def on_one_site(site: str) -> Report:
    scores = {
        "in_domain_dev": {site: {"ndsc": 0.6, "patients": 3}, "Lausanne": {"ndsc": 0.5, "patients": 3}},
        "out_domain_test": {site: {"ndsc": 0.7, "patients": 3, "threshold": 0.4}},
    }
    recipes = {"UNet": {**RECIPES["UNet"], "ndsc_by_site": scores}, "Slices": {**RECIPES["Slices"]}}
    told = made(recipes=recipes)
    return replace(told, recipe={**told.recipe, "track": {"name": "lesions", "experiment": {"train_on": site}}})


def test_runs_on_one_site_stand_beside_print_under_each_rule():
    every = paper.tables([on_one_site("Lyon"), on_one_site("site-x")])
    crossed = [table for table in every if table.number == "Table 4"]
    assert [("other data" in table.title) for table in crossed] == [False] * 3 + [True] * 3
    assert sum(len(cell.printed) for table in crossed for cells in table.cells for cell in cells) == 85
    own, _, oracle = crossed[:3]
    places = [column.subset for column in own.columns]
    assert places == ["Rennes", "Bordeaux", "Lyon", "Ljubljana", "Best", "Lausanne"]
    lyon = dict(zip(places, row(own, "UNET ensemble", site="Lyon"), strict=True))
    assert (lyon["Lausanne"].value, lyon["Lausanne"].printed[0].text) == (pytest.approx(50), "52.00")
    assert lyon["Rennes"].value is None
    assert dict(zip(places, row(oracle, "UNET ensemble", site="Lyon"), strict=True))["Lyon"].value == pytest.approx(70)
    assert [column.subset for column in crossed[3].columns] == ["site-x", "Lausanne"]
    assert row(crossed[3], "UNET ensemble", site="site-x")[0].value == pytest.approx(60)


def test_runs_on_other_sites_fill_no_table_of_the_usual_parts():
    every = paper.tables([on_one_site("Lyon")])
    assert {table.number for table in every if any(c.value is not None for r in table.cells for c in r)} == {"Table 4"}
    assert "No run has them" in named([on_one_site("Lyon")], "Table 9").caption


def test_each_site_left_out_stands_beside_print(report):
    track = {"name": "lesions", "left_out": "Ljubljana"}
    dev = replace(report, scores=tuple(replace(s, split="dev") for s in report.scores))
    both = replace(report, scores=report.scores + dev.scores, recipe={**report.recipe, "track": track})
    table = named([both], "Table 5")
    assert sum(len(cell.printed) for cells in table.cells for cell in cells) == 60
    heads = [column.title for column in table.columns]
    single = dict(zip(heads, row(table, "UNET single", site="Ljubljana"), strict=True))
    assert single["nDSC ↑, the site left out"].printed[0].text == "49.33"
    assert single["nDSC ↑, eval_out"].printed[0].flags == ("t5_t9_conflict",)
    score = report.score(systems.OF_ONE, system="UNet (single)", split="eval", subset="shifted")
    assert single["nDSC R-AAC ↓, eval_out"].value == pytest.approx(100 * score.value)
    ensemble = dict(zip(heads, row(table, "UNET ensemble", site="Ljubljana"), strict=True))
    score = report.score("ndsc", system="UNet", split="eval", subset="in")
    assert ensemble["nDSC ↑, sites of training"].value == pytest.approx(100 * score.value)
    assert row(table, "UNET single", site="Rennes")[0].value is None
    assert any((line.system, line.experiment) == ("Slices (single)", "Ljubljana") for line in table.rows)


# --- patients --------------------------------------------------------------------------------------------------------

GROUP = [4, 0.5, 0.4, 0.9, 0.1]  # patients, mean, median, largest, smallest


def with_patients(report: Report) -> Report:
    recipe = {
        **report.recipe, "ages_by_sex": {"train": {"F": [4, 44.0, *GROUP[2:]], "M": [1]}},
        "loads_by_sex": {"eval_out": {"M": GROUP}, "dev_out": "nonsense"},
        "sites": {"lyon": {"patients": 9, "age_mean": 40.0, "age_sd": 3.0, "men_per_woman": 0.5}, "bad": 3},
    }  # fmt: skip
    systems = {**recipe["systems"], "UNet": {**RECIPES["UNet"], "ndsc_by_sex": {"dev_in+eval_in": {"F": GROUP}}}}
    return replace(report, recipe={**recipe, "systems": systems})


def test_ages_and_loads_of_men_and_women_stand_beside_print(report):
    told = with_patients(report)
    ages, loads = named([told], "Table 12"), named([told], "Table 13")
    assert [sum(len(c.printed) for r in table.cells for c in r) for table in (ages, loads)] == [32, 32]
    assert (row(ages, "women, mean")[0].value, row(ages, "women, mean")[0].printed[0].text) == (44.0, "45.13")
    assert row(ages, "men, mean")[0].value is None
    last = row(loads, "men, min")[3]
    assert (last.value, last.printed[0].text) == (0.1, "0.002")
    assert ages.titles[0] == "Age, train (years)"


def test_scores_of_men_and_women_stand_beside_print(report):
    unet, transformer = (named([with_patients(report)], number) for number in ("Table 14", "Table 15"))
    assert [sum(len(c.printed) for r in table.cells for c in r) for table in (unet, transformer)] == [32, 32]
    ours = row(unet, "UNET ensemble", who="women, median")[1]
    assert (ours.value, ours.printed[0].text, ours.printed[0].flags) == (40.0, "73.84", ("t14_t15_identical",))
    assert row(unet, "UNET ensemble", who="men, min")[3].printed[0].text == "19.26"
    assert row(transformer, "UNETR ensemble", who="women, max")[2].printed[0].text == "79.93"


def test_sources_of_print_and_our_sites_stand_in_one_table(report):
    table = named([with_patients(report)], "Table 7")
    assert table.words[0] == ("–", "40.4 ± 9.3", "–", "0.21", "0.63")
    assert [line.system for line in table.rows] == [
        "ISBI, in print",
        "MSSEG-1, in print",
        "PubMRI, in print",
        "lyon",
        "bad",
    ]
    assert table.words[3:] == (("9", "40.0 ± 3.0", "–", "0.50", "–"), ("–",) * 5)


def test_facts_in_print_are_those_of_the_paper(shared):
    import polars as pl

    for number, name in (("Table 12", "lesion_age_by_gender"), ("Table 13", "lesion_load_by_gender")):
        facts = pl.read_csv(shared / "facts" / "counts" / f"{name}.csv", infer_schema=False)
        known = {(sex, stat, part): text for (table, sex, stat), held in patients.printed().items() if table == number
                 for part, text in held.items()}  # fmt: skip
        for fact in facts.iter_rows(named=True):
            part = patients.IN_PRINT.get(fact["set"], fact["set"])
            assert known[fact["gender"], fact["statistic"], part] == fact["value"], fact


# --- pictures --------------------------------------------------------------------------------------------------------


def test_pictures_are_drawn_of_what_a_report_has(report, tmp_path):
    lesions = {"eval_in": {"patients": 20, "volume_ml": 10.0, "volume_sd_ml": 5.0, "lesions": {"6": 300, "26": 200}}}
    told = replace(report, recipe={**report.recipe, "lesions": lesions})
    names = {path.name for figure in paper.figures([told], tmp_path) for path in figure.paths}
    kinds = ("loads", "ndsc_by_load_eval", "dsc_by_load_eval", "error_retention_eval", "voxel_retention_eval")
    assert names == {f"{kind}.{ending}" for kind in kinds for ending in ("png", "svg")}
    page = (tmp_path / "ndsc_by_load_eval.svg").read_text()
    score = report.score("ndsc_load_spearman", system="UNet", split="eval", subset="in").value
    assert f"UNET ensemble: Spearman {score:.2f}".replace("-", "−") in page
    assert "connectivity 26" in (tmp_path / "loads.svg").read_text()
