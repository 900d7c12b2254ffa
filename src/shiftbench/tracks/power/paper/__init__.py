"""The vessel power tables and figures of Shifts 2.0 from any runs, beside the printed values.

Malinin et al. (2022, arXiv:2206.15407), Appendix D: Tables 16-18 and 23-26.
"""

from __future__ import annotations

from shiftbench.track.paper.output import Paper
from shiftbench.tracks.power.paper.figures import figures
from shiftbench.tracks.power.paper.systems import printed
from shiftbench.tracks.power.paper.tables import tables

__all__ = ["PAPER", "figures", "printed", "tables"]

PAPER = Paper("The vessel power tables of Shifts 2.0", tables, figures)
