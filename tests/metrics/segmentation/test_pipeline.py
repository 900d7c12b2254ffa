"""From probabilities of three members to the published scores of two volumes, through the public functions alone."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.ensembles import Masks
from shiftbench.measures.masks import voxel_map
from shiftbench.metrics.segmentation import keep_large_components, lesion_f1, ndsc, ndsc_retention_area
from tests.metrics.segmentation.golden import unpacked, volume

pytestmark = pytest.mark.needs_shared


@pytest.mark.parametrize("case", ["s0", "s2"])
def test_the_published_pipeline_gives_the_published_scores(shared, case):
    inputs, published = (np.load(shared / "golden" / name) for name in ("inputs/lesion.npz", "lesion.npz"))
    members = inputs[f"{case}.probs"]
    truth, _, brain, _, _ = volume(case)
    mask = keep_large_components(members.mean(axis=0) >= 0.35)
    np.testing.assert_array_equal(mask, unpacked(published[f"{case}.pipeline_seg_bits"], np.array(truth.shape)))
    masks = Masks(members.reshape(len(members), -1), np.array([truth.shape]))
    rmi = voxel_map(masks, "reverse_mutual_information").reshape(truth.shape)
    np.testing.assert_allclose(rmi, published[f"{case}.rmi"], atol=2e-6)  # published in single precision
    found = (
        ndsc(truth, mask),
        lesion_f1(truth, mask, iou=0.5),
        ndsc_retention_area(truth[brain], mask[brain], rmi[brain]),
    )
    # Rounding of the published measure changes the order of a few voxels.
    np.testing.assert_allclose(found, published[f"{case}.pipeline"], atol=1e-4)
    np.testing.assert_allclose(found[:2], published[f"{case}.pipeline"][:2], atol=1e-12)
