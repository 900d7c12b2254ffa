"""Traffic lights: two groups a junction take turns; one is red while the other is not."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shiftbench.tracks.motion.schema import HZ, LightState

States = npt.NDArray[np.int8]

BLINKING_S, YELLOW_S, CLEARING_S, READY_S = 3.0, 3.0, 1.6, 1.0
GO = (LightState.GREEN, LightState.BLINKING_GREEN)


def phases(groups: int, steps: int, green_s: float, rng: np.random.Generator) -> States:
    """The states of pairs of groups, [steps, groups]: the second of a pair is green half a period after the first.

    Green, three seconds of blinking green, three of yellow, red, and one second of red and yellow.
    """
    half = green_s + BLINKING_S + YELLOW_S + CLEARING_S
    start = np.repeat(rng.random(groups // 2) * 2 * half, 2) + np.tile([0.0, half], groups // 2)
    time = (np.arange(steps)[:, None] / HZ + start) % (2 * half)
    ends = np.cumsum([green_s, BLINKING_S, YELLOW_S, 2 * half - (half - CLEARING_S) - READY_S])
    order = np.array(
        [LightState.GREEN, LightState.BLINKING_GREEN, LightState.YELLOW, LightState.RED, LightState.RED_YELLOW], np.int8
    )
    states: States = order[np.searchsorted(ends, time.ravel(), side="right").reshape(time.shape)]
    return states
