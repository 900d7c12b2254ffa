"""What every kind of ensemble must do, those whose records differ in length too."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest

from shiftbench import ensembles
from shiftbench.ensembles import Ensemble, combine, concatenated
from shiftbench.errors import ArrayError
from shiftbench.measures import MEASURES, headline, measures_for

OURS = [kind for name in ensembles.__all__ if isinstance(kind := getattr(ensembles, name), type)]
OURS = [kind for kind in OURS if issubclass(kind, Ensemble) and kind is not Ensemble]
KINDS = [*dict.fromkeys((*OURS, *(kind for measure in MEASURES.values() for kind in measure.functions)))]

every_kind = pytest.mark.parametrize("kind", KINDS)
Kind = TypeVar("Kind", bound=Ensemble)


def some(kind: type[Kind], *, members: int = 6, records: int = 50) -> Kind:
    """An example of a kind, always the same."""
    return kind.example(np.random.default_rng(7), members=members, records=records)


def assert_equal(found: Ensemble, expected: Ensemble) -> None:
    assert type(found) is type(expected)
    assert found._arrays.keys() == expected._arrays.keys()
    for name, array in expected._arrays.items():
        np.testing.assert_array_equal(found._arrays[name], array, err_msg=name)


@every_kind
def test_members_and_records_are_counted(kind):
    ensemble = some(kind, members=3, records=20)
    assert (ensemble.members, ensemble.models, ensemble.records) == (3, 3, 20)
    assert repr(ensemble) == f"{kind.__name__}(members=3, records=20)"


@every_kind
def test_members_alone_and_in_order_are_those_of_the_whole(kind):
    ensemble = some(kind)
    assert ensemble.member(2).members == 1
    assert_equal(ensemble.model(2), ensemble.of_members([2]))
    assert_equal(ensemble.of_members([4, 1]).member(0), ensemble.member(4))
    assert_equal(ensemble.of_members(range(6)), ensemble)
    with pytest.raises(ArrayError, match="member: expected 0 to 5, found 6"):
        ensemble.member(6)


@every_kind
def test_records_selected_any_way_are_the_same(kind):
    ensemble = some(kind)
    places = np.arange(10, 20)
    assert_equal(ensemble.select(slice(10, 20)), ensemble.select(places))
    assert_equal(ensemble.select(np.isin(np.arange(50), places)), ensemble.select(places))
    assert_equal(ensemble.select([3, 0, 3]).select([1]), ensemble.select([0]))
    assert_equal(ensemble.select(slice(None, None, -1)), ensemble.select(np.arange(50)[::-1]))
    assert_equal(ensemble.select([-1]), ensemble.select([49]))


@every_kind
def test_indices_that_select_nothing_sensible_are_refused(kind):
    ensemble = some(kind)
    for indices, message in (
        ([50], "expected positions below 50"),
        ([True], "or as many booleans"),
        (np.zeros(50, dtype=bool), "at least one record, found none"),
        (slice(9, 9), "at least one record, found none"),
        (slice(9, 3), "at least one record, found none"),
        ([[1]], "one dimension"),
    ):
        with pytest.raises(ArrayError, match=message):
            ensemble.select(indices)


@every_kind
@pytest.mark.parametrize("values", [1, 40, 300, None])
def test_blocks_put_together_are_the_whole(kind, values):
    ensemble = some(kind)
    blocks = list(ensemble.blocks(values=values))
    assert [row for rows, _ in blocks for row in range(rows.start, rows.stop)] == list(range(50))
    assert all(block.records == rows.stop - rows.start for rows, block in blocks)
    assert len(blocks) == (50 if values == 1 else 1 if values is None else len(blocks))
    assert_equal(concatenated([block for _, block in blocks]), ensemble)


@every_kind
def test_slices_and_blocks_are_views_and_nothing_can_be_written(kind):
    ensemble = some(kind)
    large = max(ensemble._arrays, key=lambda name: ensemble._arrays[name].size)
    for part in (ensemble.select(slice(3, 9)), next(iter(ensemble.blocks()))[1]):
        assert np.shares_memory(part._arrays[large], ensemble._arrays[large])
        assert not any(array.flags.writeable for array in part._arrays.values())


@every_kind
def test_members_of_several_ensembles_stand_side_by_side_where_that_has_a_meaning(kind):
    ensemble = some(kind)
    if kind.combinable:
        assert_equal(combine(ensemble.of_members(slice(0, 4)), ensemble.of_members([4, 5])), ensemble)
        with pytest.raises(ArrayError, match="combine: expected the same records"):
            combine(ensemble, ensemble.select(slice(0, 49)))
    else:
        with pytest.raises(ArrayError, match=f"combine: not supported for {kind.__name__}"):
            combine(ensemble, ensemble)


@every_kind
def test_ensembles_of_other_members_or_kinds_are_not_concatenated(kind):
    ensemble, other = some(kind), some(KINDS[KINDS.index(kind) - 1])
    for parts in ([ensemble, ensemble.member(0)], [ensemble, other]):
        with pytest.raises(ArrayError, match="expected ensembles that differ in their records alone"):
            concatenated(parts)


@every_kind
def test_an_ensemble_is_the_same_in_another_process(kind):
    ensemble = some(kind)
    assert_equal(pickle.loads(pickle.dumps(ensemble)), ensemble)


@every_kind
def test_the_headline_measure_is_one_that_fits(kind):
    ensemble = some(kind)
    assert headline(ensemble) in measures_for(ensemble)
    assert headline(ensemble.member(0)) in measures_for(ensemble.member(0))


# --- somebody else's --------------------------------------------------------------------------------------------------

RATES = """
from dataclasses import dataclass
import numpy as np
from shiftbench.ensembles import Ensemble
from shiftbench.ensembles.ensemble import hold
from shiftbench.measures import Measure

@dataclass(frozen=True, eq=False, repr=False)
class Rates(Ensemble):
    rates: np.ndarray

    def __post_init__(self):
        hold(self, rates=self.rates)

    @classmethod
    def example(cls, rng, *, members, records):
        return cls(rng.gamma(2.0, size=(members, records)))

RATE = Measure("rate", "Rate", "total", "mean of the rates", "a test",
               {Rates: lambda ensemble: ensemble.rates.mean(axis=0)})
"""


@pytest.mark.parametrize(
    ("ours", "theirs", "says"),
    [
        ("", "", ""),
        ("def example", "def other", "Rates.example: expected an ensemble of this kind. Write this method."),
        ('"total"', '"knowledge"', "headline: expected a measure for Rates(members=1, records=50), found none."),
    ],
    ids=["whole", "no example", "no measure of one member"],
)
def test_the_contracts_try_a_kind_of_another_package_unasked(tmp_path, ours, theirs, says):
    (tmp_path / "rates.py").write_text(RATES.replace(ours, theirs) if ours else RATES)
    info = tmp_path / "rates-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rates\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[shiftbench.measures]\nrate = rates:RATE\n")
    root = Path(__file__).parents[2]
    paths = os.pathsep.join((str(tmp_path), str(root / "src"), str(root)))
    files = [str(root / "tests/contracts" / name) for name in ("test_ensembles.py", "test_measures.py")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "Rates", *files],
        cwd=root, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True,
    )  # fmt: skip
    assert says in done.stdout
    assert done.returncode == bool(says), done.stdout
    assert says or int(done.stdout.splitlines()[-1].split()[0]) > 20
