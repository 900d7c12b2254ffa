"""The lesion tables and figures of Shifts 2.0 from any runs, beside the printed values.

Malinin et al. (2022, arXiv:2206.15407), Appendix C: Tables 4 to 15.
"""

from __future__ import annotations

from shiftbench.track.paper.output import Paper
from shiftbench.tracks.lesions.paper.figures import figures
from shiftbench.tracks.lesions.paper.tables import printed, tables

__all__ = ["LESIONS", "figures", "printed", "tables"]

LESIONS = Paper("The lesion tables of Shifts 2.0", tables, figures)
