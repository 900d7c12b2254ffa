"""What every measure must do, tested for each one in MEASURES and each kind of ensemble it is defined for."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from shiftbench import ensembles
from shiftbench.ensembles import Categorical, Ensemble, Gaussian
from shiftbench.measures import MEASURES, uncertainty

CASES = [(measure.name, kind) for measure in MEASURES.values() for kind in measure.functions]
KNOWLEDGE = [(name, kind) for name, kind in CASES if MEASURES[name].kind == "knowledge"]

every_measure = pytest.mark.parametrize(("name", "kind"), CASES)


def some(kind: type[Ensemble], *, members: int = 6, records: int = 50) -> Ensemble:
    rng = np.random.default_rng(7)
    if kind is Gaussian:
        return Gaussian(rng.normal(20, 3, (members, records)), rng.gamma(2.0, size=(members, records)))
    if kind is Categorical:
        return Categorical(rng.dirichlet(np.full(4, 0.4), (members, records)))
    raise NotImplementedError(f"say here what an example of {kind.__name__} is, so that its measures are tested")


def of_members(ensemble: Ensemble, order: list[int]) -> Ensemble:
    return ensembles.combine(*(ensemble.member(m) for m in order))


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
    shuffled = of_members(ensemble, [3, 0, 5, 1, 4, 2])
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
    monkeypatch.setattr(ensembles, "BLOCK_VALUES", 40)
    assert len(list(ensemble.blocks())) > 5
    assert uncertainty(ensemble, name) == pytest.approx(whole, rel=1e-13)


@every_measure
def test_a_repeated_ensemble_says_the_same(name, kind):
    # Measures are averages over the members, so saying everything twice adds nothing.
    ensemble = some(kind)
    assert uncertainty(ensembles.combine(ensemble, ensemble), name) == pytest.approx(
        uncertainty(ensemble, name), rel=1e-11
    )


@every_measure
def test_the_ensemble_is_left_as_it_was(name, kind):
    ensemble = some(kind)
    before = {key: array.copy() for key, array in ensemble._arrays.items()}
    uncertainty(ensemble, name)
    assert all(np.array_equal(array, before[key]) for key, array in ensemble._arrays.items())


@every_measure
def test_memory_does_not_grow_with_temporaries_of_the_ensemble(name, kind):
    ensemble = some(kind, records=100_000)
    size = sum(array.nbytes for array in ensemble._arrays.values())
    tracemalloc.start()
    try:
        uncertainty(ensemble, name)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # The result, the check of it, and a few blocks of 1 MiB; not one copy of the ensemble.
    assert peak < 0.8 * size


@pytest.mark.parametrize(("name", "kind"), KNOWLEDGE)
def test_members_that_agree_have_no_knowledge_uncertainty(name, kind):
    agreeing = of_members(some(kind), [2, 2, 2, 2, 2, 2, 2])
    assert uncertainty(agreeing, name) == pytest.approx(0, abs=1e-14)


@pytest.mark.parametrize(("name", "kind"), KNOWLEDGE)
def test_knowledge_uncertainty_is_never_negative(name, kind):
    nearly_agreeing = some(kind)
    assert (uncertainty(nearly_agreeing, name) > 0).all()
    assert (uncertainty(of_members(nearly_agreeing, [1, 1, 1]), name) >= 0).all()


@every_measure
def test_says_what_it_is(name, kind):
    measure = MEASURES[name]
    assert measure.name == name
    assert measure.kind in {"total", "data", "knowledge"}
    assert all((measure.title, measure.formula, measure.source))
