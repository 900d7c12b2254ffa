"""The translation tables and figures of Shifts 1.0 from any runs, the printed values beside one's own.

Malinin et al. (2021, arXiv:2107.07455): Tables 4, 5 and 14 and Figures 4, 7, 14 and 15 of the full paper, and Tables 5
to 7 of the first version.
"""

from __future__ import annotations

from shiftbench.track.paper.output import Paper
from shiftbench.tracks.translation.paper.figures import figures
from shiftbench.tracks.translation.paper.systems import printed
from shiftbench.tracks.translation.paper.tables import tables

__all__ = ["PAPER", "figures", "printed", "tables"]

PAPER = Paper("The translation tables of Shifts 1.0", tables, figures)
