from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

from shiftbench.errors import ArrayError, PredictionsError, ShiftbenchError, UnknownNameError
from shiftbench.report import canvas
from shiftbench.tracks.motion.picture import Forecast, forecasts, look, scene_figure, write_png
from shiftbench.tracks.motion.picture.figure import finish, scene_panel
from shiftbench.tracks.motion.picture.traffic import Traffic, fronts
from shiftbench.tracks.motion.picture.view import request_view, scene_view
from shiftbench.tracks.motion.scenes.frame import agent_frame, transformed
from shiftbench.tracks.motion.scenes.scene import Request, read_scene
from shiftbench.tracks.motion.schema import LightState, SceneTags
from shiftbench.tracks.motion.submissions.submission import Submission

from ..made_scene import GENUINE, GOLDEN, MADE, TRACK_ID, scene
from .hostile import crossing, forecast, scenes

SCENES = scenes()


def texts(figure):
    """All that is written in a figure."""
    axes = figure.axes[0]
    labels = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    return [axes.get_title(loc="left"), *(text.get_text() for text in axes.texts), *labels]


def is_png(path):
    return path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


@pytest.mark.parametrize("name", SCENES)
def test_any_scene_is_drawn_without_a_warning(name, tmp_path):
    of = SCENES[name]
    foreseen = {} if name in ("no future", "absent at T = 0") else {7: forecast(of)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = scene_figure(of, predictions=foreseen)
        assert is_png(write_png(figure, tmp_path / "scene.png"))


@pytest.mark.parametrize("name", MADE)
def test_made_scenes_are_drawn(name, tmp_path):
    of = read_scene(GOLDEN / f"{name}.pb")
    assert is_png(write_png(scene_figure(of), tmp_path / "scene.png"))


@pytest.mark.needs_shared
@pytest.mark.parametrize("name", GENUINE)
def test_genuine_scenes_are_drawn(name, shared, tmp_path):
    of = read_scene(shared / "data" / "motion" / f"{name}.pb")
    request = of.requests[0].track_id
    figure = scene_figure(of, request=request)
    assert is_png(write_png(figure, tmp_path / "scene.png"))
    assert "Moscow" in texts(figure)[0]


def test_the_same_scene_gives_the_same_bytes(tmp_path):
    of = crossing()
    paths = [write_png(scene_figure(of, predictions={7: forecast(of)}), tmp_path / f"{n}.png") for n in range(2)]
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_forwards_is_up_and_the_left_hand_side_left():
    of = scene(yaw=2.1)
    view = request_view(of, TRACK_ID)
    frame = agent_frame(of, TRACK_ID)
    around = transformed(np.array([[10.0, 0.0], [0.0, 4.0], [0.0, 0.0]]), frame.from_agent)
    np.testing.assert_allclose(view.seen(around), [[0, 10], [-4, 0], [0, 0]], atol=1e-9)


def test_the_view_of_a_scene_keeps_its_axes_and_holds_its_requests():
    view = scene_view(scene(ids=(7, 8)))
    np.testing.assert_allclose(view.seen(view.center + np.array([3.0, 5.0])), [3.0, 5.0], atol=1e-9)
    track = scene(ids=(7, 8)).vehicles.position[:, 0, :2]
    assert np.abs(view.seen(track)).max() <= view.reach


def along_a_street(of, length):
    """A scene whose two requests stand at both ends of a street along x, 6 m apart in y."""
    vehicles = of.vehicles
    position = np.array(vehicles.position)
    position[:, 0, :2], position[:, 1, :2] = (0.0, 0.0), (length, 6.0)
    asked = tuple(Request(int(track), ()) for track in vehicles.ids)
    return replace(of, vehicles=replace(vehicles, position=position), requests=asked)


@pytest.mark.parametrize(("length", "half"), [(30.0, (40, 40)), (220.0, (120, 60)), (120.0, (70, 40))])
def test_a_picture_is_cropped_to_its_requests_with_a_margin(length, half):
    """10 m around them, at least 80 m either way, and no slimmer than two to one; its figure has the same shape."""
    of = along_a_street(scene(ids=(7, 8)), length)
    view = scene_view(of)
    assert view.half == pytest.approx(half)
    np.testing.assert_allclose(view.center, (length / 2, 3.0))
    figure = scene_figure(of)
    figure.draw_without_rendering()
    box = figure.axes[0].get_window_extent()
    assert box.height / box.width == pytest.approx(half[1] / half[0], rel=0.01)
    assert max(box.width, box.height) / figure.dpi > 6.5


def test_truths_and_forecasts_lie_below_all_vehicles_and_the_truth_above_forecasts():
    of = crossing()
    panel = scene_panel(of, 7, {7: forecast(of, modes=3)}, side=7)[1]
    panel.show_now()
    traffic = panel.traffic
    boxes = [each.get_zorder() for each in (traffic.boxes, traffic.ego, traffic.requested_boxes, traffic.people)]
    assert max(line.get_zorder() for line in panel.paths.lines) < panel.paths.truth.get_zorder() < min(boxes)


def test_lines_are_finer_where_vehicles_are_small():
    near, far = (
        scene_panel(along_a_street(scene(ids=(7, 8)), length), None, {}, side=7)[1] for length in (30.0, 350.0)
    )
    assert near.view.fineness == 1
    assert near.paths.truth.get_linewidth() <= 1.0
    assert far.paths.truth.get_linewidth() < 0.5 * near.paths.truth.get_linewidth()
    edges = [panel.traffic.requested_boxes.get_linewidth()[0] for panel in (near, far)]
    assert edges[1] < 0.5 * edges[0]


def test_a_scene_without_tags_has_no_line_about_them():
    of = replace(scene(), tags=SceneTags())
    assert look.title(of) == f"Scene {of.id}"


def test_a_request_is_seen_wider_where_its_forecast_goes_far():
    of = scene()
    ahead = transformed(np.array([[[100.0, 0.0]] * 25]), agent_frame(of, TRACK_ID).from_agent)
    near, far = (scene_figure(of, request=7, predictions=each) for each in ({}, {7: Forecast(ahead, np.ones(1))}))
    assert near.axes[0].get_ylim()[1] == 60
    assert far.axes[0].get_ylim()[1] == pytest.approx(108)


def test_what_is_far_from_all_others_does_not_widen_the_view():
    assert scene_view(SCENES["far away"]).reach < 100


def test_the_legend_names_what_is_there_and_nothing_else():
    of = crossing()
    words = texts(scene_figure(of, request=7))
    assert {"requested vehicle", "recording vehicle", "truth, next 5 s", "light: stop", "crosswalk: people go"} <= set(
        words
    )
    assert not {"pedestrian", "light: go", "other vehicle", "light: not seen"} & set(words)


def test_the_legend_gives_the_weights_heaviest_first():
    of = crossing()
    paths = forecast(of, modes=3).trajectories
    words = texts(scene_figure(of, request=7, predictions={7: Forecast(paths, np.array([0.2, 0.7, 0.1]))}))
    assert [word for word in words if "weight" in word] == ["1: weight 0.70", "2: weight 0.20", "3: weight 0.10"]


def test_thirty_modes_are_all_drawn_and_six_named():
    of = crossing()
    figure, panel = scene_panel(of, 7, {7: forecast(of, modes=30)}, side=7)
    lines, ends = panel.paths.lines
    assert len(lines.get_segments()) == len(ends.get_offsets()) == 30
    np.testing.assert_array_equal(ends.get_offsets(), [line[-1] for line in lines.get_segments()])
    assert (np.diff(lines.get_linewidths()) >= 0).all()  # the heaviest on top
    finish(figure, panel)
    (rest,) = [word for word in texts(figure) if "more" in word]
    assert rest.startswith("24 more: ")


def test_a_hostile_id_is_text_on_one_line():
    title = texts(scene_figure(SCENES["hostile id"], request=7))[0]
    assert len(title.splitlines()) == 3
    assert "\\$" in title
    assert not any(not sign.isprintable() for sign in title.replace("\n", ""))


def test_requests_without_a_state_are_counted():
    assert any("requests without a state at T = 0: 1" in text for text in texts(scene_figure(SCENES["never seen"])))


def test_a_request_that_is_not_in_the_scene_is_refused():
    with pytest.raises(UnknownNameError, match=r"Unknown request of scene made 17\. Did you mean '7'\? Known: 7\."):
        scene_figure(scene(), request=17)


def test_a_request_without_a_state_cannot_be_seen_in_its_frame():
    with pytest.raises(ShiftbenchError, match=r"expected a vehicle seen at T = 0 or both before and after it"):
        scene_figure(scene(absent=tuple(range(20, 50))), request=7)


@pytest.mark.parametrize(
    ("sections", "lights", "wanted"),
    [
        ((0, 0, 0), {}, None),
        ((0, 5, 0), {5: LightState.RED}, "stop"),
        ((0, 5, 0), {5: LightState.RED_YELLOW}, "amber"),
        ((0, 5, 0), {5: LightState.GREEN}, "go"),
        ((0, 5, 0), {5: LightState.DISABLED}, "off"),
        ((0, 5, 0), {}, "unknown"),
        ((6, 5, 0), {5: LightState.RED, 6: LightState.ENABLED}, "go"),
        ((0, 5, 6), {5: LightState.GREEN, 6: LightState.DISABLED}, "stop"),
    ],
)
def test_an_arrow_decides_where_there_is_one(sections, lights, wanted):
    assert look.signal(sections, lights) == wanted


def test_every_light_state_is_drawn_in_some_way():
    assert {look.signal((0, 5, 0), {5: state}) for state in LightState} == set(look.SIGNALS)


def test_a_forecast_is_ordered_by_weight():
    paths = np.arange(3.0)[:, None, None] * np.ones((3, 25, 2))
    made = Forecast(paths, np.array([0.2, 0.5, 0.3]))
    assert made.weights.tolist() == [0.5, 0.3, 0.2]
    assert made.trajectories[:, 0, 0].tolist() == [1, 2, 0]


@pytest.mark.parametrize(
    ("shape", "weights", "words"),
    [
        ((0, 25, 2), [], "expected at least one trajectory, found none"),
        ((2, 25, 3), [0.5, 0.5], r"found shapes \(2, 25, 3\) and \(2,\)"),
        ((2, 25, 2), [1.0], r"found shapes \(2, 25, 2\) and \(1,\)"),
        ((2, 25, 2), [0.5, 0.33], r"expected a sum of 1 \(within 0.001\).*found 0.83"),
        ((2, 25, 2), [-0.5, 1.5], "expected numbers >= 0, found -0.5"),
    ],
)
def test_a_forecast_that_is_none_is_refused(shape, weights, words):
    with pytest.raises(ArrayError, match=words):
        Forecast(np.zeros(shape), np.array(weights))


def test_a_forecast_of_nan_is_refused():
    with pytest.raises(ArrayError, match="expected finite positions in metres"):
        Forecast(np.full((1, 25, 2), np.nan), np.ones(1))


def submission(scene_id="made", track=TRACK_ID):
    paths = np.stack([np.linspace(0, 10, 25), np.zeros(25)], axis=-1)
    return Submission.of(([scene_id], np.array([track], dtype=np.uint64)), paths[None, None], np.ones((1, 1)), [2.0])


def test_forecasts_of_a_submission_are_taken_from_the_agents_frame():
    of = scene(yaw=0.3)
    found = forecasts(submission(), of)[TRACK_ID]
    start = of.vehicles.position[24, 0, :2]
    np.testing.assert_allclose(found.trajectories[0, -1] - start, 10 * np.array([np.cos(0.3), np.sin(0.3)]), atol=1e-9)
    assert found.uncertainty == 2.0
    np.testing.assert_allclose(forecasts(submission(), of, frame="global")[TRACK_ID].trajectories[0, -1], [10, 0])


def test_predictions_of_other_scenes_and_tracks_are_refused():
    with pytest.raises(PredictionsError, match="expected predictions for scene made, found none among 1 request"):
        forecasts(submission("other"), scene())
    with pytest.raises(UnknownNameError, match="Unknown vehicle of scene made 8"):
        forecasts(submission(track=8), scene())
    with pytest.raises(UnknownNameError, match="Unknown frame 'mine'"):
        forecasts(submission(), scene(), frame="mine")


def standing(velocities):
    """A scene whose vehicle has these velocities along x, its box pointing along x."""
    of = scene(yaw=0.0, speed=0.0)
    of.vehicles.velocity[:, 0, 0] = velocities
    return of


def test_noise_does_not_turn_a_standing_vehicle_round():
    noise = np.random.default_rng(3).normal(0, 0.01, 50)
    directions = np.cos(fronts(standing(noise).vehicles))[:, 0]
    assert np.ptp(directions) < 1e-9
    assert np.sign(directions[0]) == np.sign(noise.sum())


def test_a_vehicle_that_drives_against_its_yaw_points_where_it_goes():
    driven = np.where(np.arange(50) < 30, -6.0, -0.01)
    np.testing.assert_allclose(np.cos(fronts(standing(driven).vehicles)), -1.0)
    reversed_late = np.where(np.arange(50) < 40, 6.0, -3.0)
    assert np.cos(fronts(standing(reversed_late).vehicles))[[0, 45], 0].tolist() == [1.0, -1.0]


def test_a_standing_request_points_forwards_in_its_own_frame():
    velocities = np.full(50, 0.02)
    velocities[24] = -0.01  # turns the agent's frame round
    of = standing(velocities)
    with canvas.settings():
        axes = Figure().add_subplot()
    traffic = Traffic(axes, of, request_view(of, 7), [7])
    traffic.show(24)
    nose = traffic.noses.get_segments()[-1]
    assert nose[1, 1] > nose[0, 1]
