"""What every measure must do, tested for each one in MEASURES and each kind of ensemble it is defined for."""

from __future__ import annotations

import tracemalloc
from functools import lru_cache
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
import pytest

from shiftbench.ensembles import Lesions, Masks, Patients
from shiftbench.measures import MEASURES, uncertainty
from tests.contracts.test_ensembles import some

THEIRS = entry_points(group=MEASURES.group).names  # their pages are not ours
CASES = [(measure.name, kind) for measure in MEASURES.values() for kind in measure.functions]
KNOWLEDGE = [(name, kind) for name, kind in CASES if MEASURES[name].kind == "knowledge"]
# Averages over the members, or over pairs of members with themselves included. Not so: one over pairs of different
# members alone, and one over the best plans of all members, of which a repeated ensemble has every one twice.
AVERAGES = [(name, kind) for name, kind in CASES if name not in {"cross_entropy", "plan_nll"}]

# Sums of logarithms rank records, but no value of theirs means that there is no uncertainty; some published forms are
# differences of terms under different weights.
AMOUNTS = [(name, kind) for name, kind in KNOWLEDGE if "log_sum" not in name and not name.endswith("_published")]
# Kinds whose records come from the members together: fewer members are still compared with those.
VIEWS = {Lesions: Masks.lesions, Patients: Masks.patients}

every_measure = pytest.mark.parametrize(("name", "kind"), CASES)


@every_measure
def test_gives_one_finite_float64_a_record(name, kind):
    found = uncertainty(some(kind), name)
    assert found.shape == (50,)
    assert found.dtype == np.float64
    assert np.isfinite(found).all()
    assert np.ptp(found) > 0


@every_measure
def test_the_order_of_the_members_does_not_matter(name, kind):
    ensemble = some(kind)
    shuffled = ensemble.of_members([3, 0, 5, 1, 4, 2])
    assert uncertainty(shuffled, name) == pytest.approx(uncertainty(ensemble, name), rel=1e-11)


@every_measure
def test_the_order_of_the_records_only_reorders_the_result(name, kind):
    ensemble = some(kind)
    order = np.random.default_rng(1).permutation(50)
    assert uncertainty(ensemble.select(order), name) == pytest.approx(uncertainty(ensemble, name)[order], rel=1e-13)


@every_measure
def test_a_record_alone_is_the_same_as_in_a_batch(name, kind):
    ensemble = some(kind)
    alone = [uncertainty(ensemble.select([n]), name).item() for n in range(50)]
    assert alone == pytest.approx(uncertainty(ensemble, name), rel=1e-13)


@every_measure
def test_blocks_equal_the_whole(monkeypatch, name, kind):
    ensemble = some(kind)
    whole = MEASURES[name].functions[kind](ensemble)
    monkeypatch.setattr("shiftbench.ensembles.ensemble.BLOCK_VALUES", 40)
    assert len(list(ensemble.blocks())) > 5
    assert uncertainty(ensemble, name) == pytest.approx(whole, rel=1e-13)


@pytest.mark.parametrize(("name", "kind"), AVERAGES)
def test_a_repeated_ensemble_is_as_uncertain(name, kind):
    ensemble = some(kind)
    repeated = ensemble.of_members([*range(6), *range(6)])
    assert uncertainty(repeated, name) == pytest.approx(uncertainty(ensemble, name), rel=1e-11)


@every_measure
def test_the_ensemble_is_left_as_it_was(name, kind):
    ensemble = some(kind)
    before = {key: array.copy() for key, array in ensemble._arrays.items()}
    uncertainty(ensemble, name)
    assert all(np.array_equal(array, before[key]) for key, array in ensemble._arrays.items())


def size(ensemble) -> int:
    return sum(array.nbytes for array in ensemble._arrays.values())


@lru_cache(maxsize=4)
def large(kind):
    """16 MB of a kind, many blocks of 1 MiB; or 100,000 records, where results are not small beside these."""
    return some(kind, records=min(100_000, 1_000 * 16_000_000 // size(some(kind, records=1_000))))


@every_measure
def test_memory_does_not_grow_with_temporaries_of_the_ensemble(name, kind):
    ensemble = large(kind)
    tracemalloc.start()
    try:
        uncertainty(ensemble, name)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # The result, the check of it, and a few blocks of 1 MiB; not one copy of the ensemble.
    assert peak < 0.8 * size(ensemble)


@pytest.mark.parametrize(("name", "kind"), AMOUNTS)
def test_members_that_agree_have_no_knowledge_uncertainty(name, kind):
    agreeing = some(Masks if kind in VIEWS else kind).of_members([2] * 7)
    if kind in VIEWS:
        agreeing = VIEWS[kind](agreeing, larger_than=2, thresholds=[0.5] * 7)
    assert uncertainty(agreeing, name) == pytest.approx(0, abs=1e-14)


@pytest.mark.parametrize(("name", "kind"), AMOUNTS)
def test_knowledge_uncertainty_is_never_negative(name, kind):
    nearly_agreeing = some(kind)
    assert (uncertainty(nearly_agreeing, name) > 0).all()
    assert (uncertainty(nearly_agreeing.of_members([1, 1, 1]), name) >= 0).all()


@pytest.mark.parametrize("name", sorted(set(MEASURES) - THEIRS))
def test_is_on_the_page_of_measures(name):
    page = (Path(__file__).parents[2] / "docs/measures.md").read_text("utf-8")
    assert f"| `{name}` | {MEASURES[name].kind} |" in page


@every_measure
def test_says_what_it_is(name, kind):
    measure = MEASURES[name]
    assert measure.name == name
    assert measure.kind in {"total", "data", "knowledge"}
    assert all((measure.title, measure.formula, measure.source))
