"""The motion tables and figures of Shifts 1.0 from any runs, the printed values beside one's own.

Malinin et al. (2021, arXiv:2107.07455): Tables 6, 7 and 15-21 of the full paper (their facets are Tables 8-12 of the
first version), and Table 14 of the first version, whose retention is by weightedADE.
"""

from __future__ import annotations

from shiftbench.track.paper.output import Paper
from shiftbench.tracks.motion.paper.figures import figures
from shiftbench.tracks.motion.paper.systems import printed
from shiftbench.tracks.motion.paper.tables import tables

__all__ = ["PAPER", "figures", "printed", "tables"]

PAPER = Paper("The vehicle motion tables of Shifts 1.0", tables, figures)
