"""The categories of Argoverse 2, and which of them are vehicles and pedestrians of a scene.

All others (bicycles and cyclists, cones, animals, …) are left out and counted. A motorcycle of a sensor log is a
vehicle; its rider has a box too, inside it, and is left out.
"""

from __future__ import annotations

# Length, width and height in metres where the data have no boxes: scenarios. Typical values, no measurements.
SCENARIO_VEHICLES = {
    "vehicle": (4.6, 1.9, 1.6),
    "bus": (12.0, 2.9, 3.2),
    "motorcyclist": (2.2, 0.8, 1.6),
}
SCENARIO_PEDESTRIANS = {"pedestrian": (0.7, 0.7, 1.75)}
LOG_VEHICLES = frozenset({
    "REGULAR_VEHICLE", "LARGE_VEHICLE", "BUS", "ARTICULATED_BUS", "SCHOOL_BUS", "BOX_TRUCK", "TRUCK", "TRUCK_CAB",
    "VEHICULAR_TRAILER", "RAILED_VEHICLE", "MOTORCYCLE",
})  # fmt: skip
LOG_PEDESTRIANS = frozenset({"PEDESTRIAN", "OFFICIAL_SIGNALER"})
EGO_CATEGORY = "EGO_VEHICLE"  # in some logs; its box is put at the rear axle, so the poses are used instead
EGO_TRACK = "AV"  # of a scenario
EGO_DIMENSIONS = (4.877, 2.0, 1.473)  # as in the logs that annotate it
EGO_AXLE_TO_CENTRE_M = 1.425  # half the wheelbase of the Ford Fusion; poses are those of the rear axle
LANES = frozenset({"VEHICLE", "BUS"})  # not BIKE
