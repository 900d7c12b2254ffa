"""An example of each kind of ensemble, for the contract tests: a kind without one fails them."""

from __future__ import annotations

import numpy as np

from shiftbench.ensembles import Categorical, Ensemble, Gaussian, Hypotheses, Masks, Mixture, Trajectories


def some(kind: type[Ensemble], *, members: int = 6, records: int = 50) -> Ensemble:
    """Members that differ, on records that differ; ragged where the kind is."""
    rng = np.random.default_rng(7)
    if kind is Gaussian:
        return Gaussian(rng.normal(20, 3, (members, records)), rng.gamma(2.0, size=(members, records)))
    if kind is Categorical:
        return Categorical(rng.dirichlet(np.full(4, 0.4), (members, records)))
    if kind is Trajectories:
        scores = rng.normal(-30, 9, (members, records, 2 * members))
        return Trajectories(rng.normal(0, 3, (members, records, 2, 3, 2)), scores)
    if kind is Mixture:
        return Mixture(rng.normal(0, 3, (members, records, 2, 3, 2)), rng.dirichlet(np.ones(2), (members, records)))
    if kind is Hypotheses:
        counts = rng.integers(1, 4, records)
        lengths = rng.integers(1, 9, counts.sum())
        return Hypotheses(-rng.gamma(1.0, size=(members, lengths.sum())), lengths, counts)
    if kind is Masks:
        shapes = rng.integers(1, 4, (records, 3))
        return Masks(rng.random((members, shapes.prod(axis=1).sum())), shapes)
    raise NotImplementedError(f"say here what an example of {kind.__name__} is, so that it is tested")
