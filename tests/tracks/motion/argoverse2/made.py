"""Made recordings in the form of Argoverse 2: cars on a straight road, one that turns, one that is parked."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl

TURN, CITY = 0.7, np.array([1000.0, -500.0, 20.0])  # of the whole scene in the city
START_NS, STEP_NS = 315_966_253_660_357_000, 100_000_000


def paths(time):
    """Where everyone is at times [S] in a frame of the scene: name → (category, x, y, yaw), arrays [S] each."""
    arc = 0.2 * time
    return {
        "straight": ("REGULAR_VEHICLE", 8.0 * time, 0 * time, 0 * time),
        "turning": ("BUS", 20 * np.sin(arc), 30 + 20 * (1 - np.cos(arc)), arc),
        "parked": ("BOX_TRUCK", 15 + 0 * time, 6 + 0 * time, 0.1 + 0 * time),
        "walker": ("PEDESTRIAN", 10 + 0 * time, -8 + 1.2 * time, np.pi / 2 + 0 * time),
        "cone": ("CONSTRUCTION_CONE", 12 + 0 * time, -3 + 0 * time, 0 * time),
    }


def in_city(x, y):
    """Points of the scene's frame in the city: float64 [..., 2]."""
    cos, sin = np.cos(TURN), np.sin(TURN)
    return np.stack([cos * x - sin * y + CITY[0], sin * x + cos * y + CITY[1]], axis=-1)


def ego_path(time):
    """The rear axle of the ego vehicle, which turns slowly: x, y, yaw."""
    return 5.0 * time, -4.0 + 0 * time, 0.05 * time


def log(folder: Path, *, sweeps=156, boxes=lambda frame: frame, poses=lambda frame: frame) -> Path:
    """Write a sensor log; `boxes` and `poses` may spoil its tables."""
    time = np.arange(sweeps) / 10
    stamps = START_NS + STEP_NS * np.arange(sweeps)
    folder.mkdir(parents=True, exist_ok=True)
    boxes(_boxes(time, stamps)).write_ipc(folder / "annotations.feather", compression="zstd")
    poses(_poses(time, stamps)).write_ipc(folder / "city_SE3_egovehicle.feather", compression="lz4")
    road_map(folder / "map" / "log_map_archive_made____PIT_city_1.json")
    return folder


def _poses(time, stamps):
    x, y, yaw = ego_path(time)
    place = in_city(x, y)
    return pl.DataFrame(
        {"timestamp_ns": stamps, **_turned(yaw + TURN), "tx_m": place[:, 0], "ty_m": place[:, 1]}
    ).with_columns(tz_m=pl.lit(CITY[2]))


def _boxes(time, stamps):
    """Boxes in the frame of the ego vehicle at their sweep."""
    ego_x, ego_y, ego_yaw = ego_path(time)
    frames = []
    for name, (category, x, y, yaw) in paths(time).items():
        cos, sin = np.cos(ego_yaw), np.sin(ego_yaw)
        columns = {
            "timestamp_ns": stamps,
            "track_uuid": [name] * len(time),
            "category": [category] * len(time),
            **_turned(yaw - ego_yaw),
            "tx_m": cos * (x - ego_x) + sin * (y - ego_y),
            "ty_m": -sin * (x - ego_x) + cos * (y - ego_y),
            "tz_m": 0 * time + 0.4,
            "length_m": 0 * time + 4.5,
            "width_m": 0 * time + 1.9,
            "height_m": 0 * time + 1.6,
        }
        frames.append(pl.DataFrame(columns))
    return pl.concat(frames).sort("timestamp_ns")


def _turned(yaw):
    zeros = np.zeros(len(yaw))
    return {"qw": np.cos(yaw / 2), "qx": zeros, "qy": zeros, "qz": np.sin(yaw / 2)}


def scenario(folder: Path, *, sweeps=110, states=lambda frame: frame, name="made") -> Path:
    """Write a forecasting scenario; `states` may spoil its table."""
    time = np.arange(sweeps) / 10
    kinds = {"REGULAR_VEHICLE": "vehicle", "BUS": "bus", "BOX_TRUCK": "vehicle", "PEDESTRIAN": "pedestrian"}
    everyone = {**paths(time), "AV": ("REGULAR_VEHICLE", *ego_path(time))}
    frames = [
        pl.DataFrame(
            {
                "track_id": [track] * sweeps,
                "object_type": [kinds.get(category, "static")] * sweeps,
                "timestep": np.arange(sweeps),
                "position_x": in_city(x, y)[:, 0],
                "position_y": in_city(x, y)[:, 1],
                "heading": yaw + TURN,
                "velocity_x": np.gradient(in_city(x, y)[:, 0], time),
                "velocity_y": np.gradient(in_city(x, y)[:, 1], time),
            }
        )
        for track, (category, x, y, yaw) in everyone.items()
    ]
    frame = pl.concat(frames).with_columns(scenario_id=pl.lit(name), focal_track_id=pl.lit("parked"))
    folder.mkdir(parents=True, exist_ok=True)
    states(frame).write_parquet(folder / f"scenario_{name}.parquet")
    road_map(folder / f"log_map_archive_{name}.json", centres=True)
    return folder


def road_map(path: Path, *, centres=False) -> Path:
    """Write a map: a lane along the road, one far away, a bike lane, a crossing whose edges run against each other."""
    path.parent.mkdir(parents=True, exist_ok=True)
    bike = _lane([-40, 120], [-40, 120], (-3.0, -5.0))
    lanes = {"1": _lane([-40, 120], [-40, 0, 120], (2.0, -2.0)), "2": _lane([4000, 4100], [4000, 4100], (2, -2))}
    if centres:
        lanes["1"]["centerline"] = _points([-40, 120], 0.0)
    edges = {"edge1": _points([20, 20], [-6, 6]), "edge2": _points([24, 24], [6, -6])}
    area = {"area_boundary": _points([-40, 120, 120, -40], [-7, -7, 7, 7])}
    found = {
        "lane_segments": {**lanes, "3": {**bike, "lane_type": "BIKE"}},
        "pedestrian_crossings": {"4": edges},
        "drivable_areas": {"5": area},
    }
    path.write_text(json.dumps(found), encoding="utf-8")
    return path


def _lane(left, right, sides):
    return {
        "lane_type": "VEHICLE",
        "is_intersection": False,
        "left_lane_boundary": _points(left, sides[0]),
        "right_lane_boundary": _points(right, sides[1]),
    }


def _points(x, y):
    x = np.asarray(x, dtype=float)
    return [{"x": px, "y": py, "z": 21.0} for px, py in in_city(x, np.broadcast_to(y, x.shape)).tolist()]
