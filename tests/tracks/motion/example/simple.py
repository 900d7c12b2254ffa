"""Obvious ways to predict and to measure, which tests hold the made-up scenes against."""

from __future__ import annotations

import numpy as np

from shiftbench.tracks.motion.scenes.frame import ground_truth, heading, latest_state
from shiftbench.tracks.motion.scenes.scene import valid_requests

SECONDS = np.arange(1, 26) / 5


def constant_velocity(scene, track_id):
    """Straight on: [25, 2]."""
    state = latest_state(scene, track_id)
    return state.position[:2] + SECONDS[:, None] * state.velocity[:2]


def lane_following(scene, track_id):
    """Along the nearest lane that points the same way, then straight on, always as fast as now: [25, 2]."""
    state = latest_state(scene, track_id)
    speed, way = np.hypot(*state.velocity[:2]), heading(state)
    path = _path([lane.centers[:, :2] for lane in scene.road.lanes], state.position[:2], way)
    walked = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(path, axis=0).T))])
    fine = np.arange(0.0, walked[-1], 0.5)
    points = np.stack([np.interp(fine, walked, path[:, axis]) for axis in (0, 1)], axis=-1)
    start = np.hypot(*(points - state.position[:2]).T).argmin()
    along = fine[start] + speed * SECONDS
    last = path[-1] - path[-2]
    beyond = np.maximum(0.0, along - walked[-1])[:, None] * last / np.hypot(*last)
    found = np.stack([np.interp(along, walked, path[:, axis]) for axis in (0, 1)], axis=-1) + beyond
    return found + state.position[:2] - points[start]


def _path(lines, position, way):
    """The lane a vehicle is on, followed by the straightest ones."""
    found = [lines[min(range(len(lines)), key=lambda number: _cost(lines[number], position, way))]]
    for _ in range(8):
        following = [line for line in lines if np.hypot(*(line[0] - found[-1][-1])) < 0.01]
        if not following:
            break
        found.append(min(following, key=lambda line: abs(_turn(line))))
    return np.concatenate([found[0], *(line[1:] for line in found[1:])])


def _turn(line):
    first, last = line[1] - line[0], line[-1] - line[-2]
    return np.arctan2(first[0] * last[1] - first[1] * last[0], first @ last)


def _cost(line, position, way):
    distance, direction = nearest(line, position)
    return distance + 10.0 * abs(np.angle(np.exp(1j * (direction - way))))


def nearest(line, position):
    """The distance of a point to a line [P, 2], and the line's direction there."""
    start, step = line[:-1], np.diff(line, axis=0)
    share = np.clip(((position - start) * step).sum(axis=1) / (step**2).sum(axis=1), 0, 1)
    away = np.hypot(*(start + share[:, None] * step - position).T)
    place = away.argmin()
    return away[place], np.arctan2(step[place, 1], step[place, 0])


def errors(scenes, predict):
    """ADE, scene and track of every valid request, and its speed at T = 0."""
    found = []
    for scene in scenes:
        for request in valid_requests(scene):
            truth = ground_truth(scene, request.track_id)
            ade = np.hypot(*(predict(scene, request.track_id) - truth).T).mean()
            found.append((ade, scene, request, np.hypot(*latest_state(scene, request.track_id).velocity[:2])))
    return found


def box(position, yaw, size):
    """The corners of a vehicle, [4, 2]."""
    corners = np.array([[1, 1], [1, -1], [-1, -1], [-1, 1]]) * np.asarray(size) / 2
    turn = np.array([[np.cos(yaw), np.sin(yaw)], [-np.sin(yaw), np.cos(yaw)]])
    return corners @ turn + position


def overlapping(first, second):
    """Whether two boxes share an area: no side of either separates them."""
    for corners in (first, second):
        for side in np.roll(corners, -1, axis=0) - corners:
            normal = np.array([-side[1], side[0]])
            a, b = first @ normal, second @ normal
            if a.max() <= b.min() or b.max() <= a.min():
                return False
    return True
