"""The weather tables and figures of Shifts 1.0 for any runs, with the printed values beside ours.

Malinin et al. (2021, arXiv:2107.07455): Tables 2-4 of the first version; Tables 1-3 and 9-13 of the full paper.
"""

from __future__ import annotations

from shiftbench.track.paper.output import Paper
from shiftbench.tracks.weather.paper.figures import figures
from shiftbench.tracks.weather.paper.rows import printed
from shiftbench.tracks.weather.paper.tables import tables

__all__ = ["PAPER", "figures", "printed", "tables"]

PAPER = Paper("The weather tables of Shifts 1.0", tables, figures)
