"""Pictures of patients: directions, numbers, what they show, and which are chosen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_hex

from shiftbench.tracks.lesions.picture import gallery
from shiftbench.tracks.lesions.picture.figure import CROSS, patient_figure
from shiftbench.tracks.lesions.picture.view import PLANES, View, centre, largest_first
from shiftbench.tracks.lesions.prediction import Prediction

SHAPE = (20, 24, 16)
SPACING = np.array([1.0, 1.0, 2.0])


def box(x: slice, y: slice, z: slice) -> np.ndarray:
    mask = np.zeros(SHAPE, dtype=bool)
    mask[x, y, z] = True
    return mask


TRUTH = box(slice(4, 8), slice(10, 16), slice(4, 8))
ALARM = box(slice(14, 17), slice(3, 6), slice(9, 12))
BRAIN = box(slice(2, 18), slice(2, 22), slice(2, 14))


def view(prediction: Prediction | None = None, at: tuple[int, int, int] = (5, 12, 6)) -> View:
    image = np.where(BRAIN, 100.0 + 50 * TRUTH, 0).astype(np.float32)
    return View(image, TRUTH, prediction, SPACING, BRAIN, at)


def texts(figure) -> list[str]:
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def test_the_patients_right_is_on_the_left_and_the_front_is_up():
    marked = np.zeros(SHAPE)
    marked[18, 5, 7] = 1.0  # far to the patient's right, behind the middle
    axial, sagittal, coronal = PLANES
    row, column = np.argwhere(axial.cut(marked, 7))[0]
    assert (row, column) == (5, SHAPE[0] - 1 - 18)  # rows from the bottom: the back is down
    assert column < SHAPE[0] / 2
    assert np.argwhere(sagittal.cut(marked, 18))[0].tolist() == [7, SHAPE[1] - 1 - 5]
    assert np.argwhere(coronal.cut(marked, 5))[0].tolist() == [7, SHAPE[0] - 1 - 18]


def test_the_letters_name_these_directions():
    # RAS+: the first axis grows towards the patient's right, which a mirror brings to the left of the picture.
    assert [plane.letters for plane in PLANES] == [
        ("R", "L", "A", "P"), ("A", "P", "S", "I"), ("R", "L", "S", "I"),
    ]  # fmt: skip


def test_lesions_are_numbered_from_the_largest_on():
    labels = largest_first(TRUTH | ALARM)
    assert set(np.unique(labels[TRUTH])) == {1}
    assert set(np.unique(labels[ALARM])) == {2}


def test_a_figure_shows_directions_scale_numbers_and_structural_uncertainty():
    members = np.stack([np.where(TRUTH | ALARM, 0.9, 0.05), np.where(TRUTH, 0.9, 0.05)]).astype(np.float32)
    figure = patient_figure(view(Prediction.of_members(members)), title="a patient")
    found = texts(figure)
    assert {"R", "L", "A", "P", "S", "I", "20 mm"} <= set(found)
    assert "1: 0.00" in found
    assert len(figure.axes) == 7  # three planes, the same with the map, and its bar
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend[:2] == ["truth", "prediction (number: structural uncertainty)"]


def test_numbers_of_lesions_at_the_right_edge_stand_on_their_left():
    edge = box(slice(0, 2), slice(10, 14), slice(5, 8))  # the patient's left is on the right
    axial = patient_figure(view(Prediction(edge), at=(1, 12, 6)), title="a patient").axes[0]
    (number,) = [text for text in axial.texts if text.get_text() == "1"]
    assert number.get_position()[0] < axial.get_xlim()[1] - 2 * SPACING[0]


def test_numbers_never_lie_on_each_other_and_the_largest_lesions_have_theirs():
    checks = np.zeros((90, 90, 3), dtype=bool)
    checks[40:50:2, 40:50:2, 1] = True  # 25 lesions, closer to each other than their numbers are high
    checks[40:42, 40:42, 1] = True
    brain = np.ones(checks.shape, dtype=bool)
    crowded = View(None, None, Prediction(checks), np.ones(3), brain, (40, 40, 1))
    axial = patient_figure(crowded, title="a patient").axes[0]
    axial.figure.draw_without_rendering()
    numbers = [text for text in axial.texts if text.get_text().isdigit()]
    boxes = [text.get_window_extent() for text in numbers]
    assert "1" in [text.get_text() for text in numbers]
    assert len(boxes) > 1
    assert not any(one.overlaps(other) for place, one in enumerate(boxes) for other in boxes[:place])


def test_planes_of_both_rows_stand_alike():
    figure = patient_figure(view(Prediction.of_probability(0.8 * TRUTH)), title="a patient")
    assert [axes.get_anchor() for axes in figure.axes[:6]] == ["N"] * 6


def test_a_mask_alone_has_no_row_of_uncertainty():
    assert len(patient_figure(view(Prediction(TRUTH)), title="a patient").axes) == 3
    assert len(patient_figure(view(), title="a patient").axes) == 3


@pytest.mark.parametrize("brain", [BRAIN, np.zeros(SHAPE, dtype=bool)], ids=["brain", "no brain"])
def test_patients_without_a_scan_or_a_brain_are_drawn(brain):
    bare = View(None, TRUTH, Prediction(np.zeros(SHAPE, dtype=bool)), SPACING, brain, (5, 12, 6))
    assert patient_figure(bare, title="$a_1$").axes


def test_planes_are_named_by_the_slice_of_the_whole_scan():
    figure = patient_figure(view(at=(5, 12, 6)), title="a patient")
    assert [axes.get_title() for axes in figure.axes] == [
        "Axial, slice 7 of 16", "Sagittal, slice 6 of 20", "Coronal, slice 13 of 24",
    ]  # fmt: skip


def test_the_centre_of_a_mask_is_one_of_its_voxels():
    ring = box(slice(4, 9), slice(4, 9), slice(5, 6)) & ~box(slice(5, 8), slice(5, 8), slice(5, 6))
    assert ring[centre(ring)]
    assert centre(np.zeros(SHAPE, dtype=bool)) is None


def test_missed_lesions_are_the_largest_without_a_predicted_voxel_and_alarms_the_most_certain():
    second = box(slice(10, 12), slice(10, 12), slice(4, 6))
    prediction = Prediction.of_probability(np.where(ALARM, 0.8, 0.1) + 0.0 * TRUTH, mask=ALARM)
    size, at = gallery._missed(TRUTH | second, prediction)
    assert size == np.count_nonzero(TRUTH)
    assert TRUTH[at]
    value, at, how = gallery._alarm(TRUTH, prediction)
    assert value == pytest.approx(0.8)
    assert ALARM[at]
    assert how == "the most certain, mean probability 0.80"
    assert gallery._missed(TRUTH, Prediction(TRUTH)) is None
    assert gallery._alarm(TRUTH, Prediction(TRUTH)) is None
    assert gallery._alarm(TRUTH, Prediction(ALARM | TRUTH))[2] == "the largest, 27 voxels"
    single = np.zeros_like(TRUTH)
    single[tuple(np.argwhere(ALARM & ~TRUTH)[0])] = True
    assert gallery._alarm(TRUTH, Prediction(single))[2] == "the largest, 1 voxel"


@pytest.mark.parametrize("name", ["missed lesion", "false alarm"])
def test_the_lesion_that_a_picture_is_about_stands_between_crosshairs_that_the_legend_explains(name):
    place = {"missed lesion": TRUTH, "false alarm": ALARM}[name]
    about = replace(view(Prediction(ALARM), centre(place)), marked=name)
    figure = patient_figure(about, title="a patient")
    assert f"crosshairs: the {name}" in [text.get_text() for text in figure.legends[0].get_texts()]
    cross = [each for axes in figure.axes for each in axes.collections if to_hex(each.get_colors()[0]) == CROSS]
    assert len(cross) == 3
    seen = about.cropped()
    for arms, plane in zip(cross, PLANES, strict=True):
        rows, columns = np.nonzero(plane.cut(seen.lesion(), seen.at[plane.axis]))
        wide, high = plane.across(SPACING)
        for (first, low), (last, top) in arms.get_segments():  # none crosses the lesion
            inside = columns.min() * wide < last and first < (columns.max() + 1) * wide
            assert not (inside and rows.min() * high < top and low < (rows.max() + 1) * high)
    plain = patient_figure(replace(about, marked=""), title="a patient")
    assert not any("crosshairs" in text.get_text() for text in plain.legends[0].get_texts())
