"""Styles of systems in pictures: colours, dashes and markers that stay distinct for the colour-blind and in print."""

from __future__ import annotations

from dataclasses import dataclass

from shiftbench.report.content import Report
from shiftbench.report.view import clean, lead

# The palette of Okabe and Ito without yellow, which is too light on white paper; then purple, brown, olive and crimson.
COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000",
    "#7B3294", "#8A5A2B", "#8A8F00", "#A50F3C",
)  # fmt: skip
DASHES = ("-", "--", "-.", (0, (1, 1)), (0, (6, 2, 1, 2, 1, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
SUBSET_LOOKS = {"in": ("#0072B2", "-", "o"), "shifted": ("#D55E00", "--", "D"), "full": ("#555555", ":", "s")}
GREY, GRID, INK = "#6b6b6b", "#e3e3e3", "#1b1f24"

# How a line is broken, as matplotlib names it: a name, or (0, lengths in widths of the line).
Dash = str | tuple[int, tuple[float, ...]]
_PATTERNS: dict[Dash, tuple[float, ...]] = {"-": (), "": (), "--": (3.7, 1.6), "-.": (6.4, 1.6, 1, 1.6), ":": (1, 1.65)}

LONGEST = 30  # characters in pictures
LONGEST_SYSTEM = 40
DPI = 150

# Everything that a picture depends on, so that the user's own settings have no effect.
SETTINGS = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "legend.handlelength": 3.2,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "figure.facecolor": "white",
    "figure.dpi": DPI,  # so that texts have the same width in layout and output
    "figure.constrained_layout.w_pad": 0.1,
    "figure.constrained_layout.h_pad": 0.06,
    "hatch.linewidth": 0.6,
    "svg.hashsalt": "shiftbench",
}


@dataclass(frozen=True)
class Look:
    """The line style of one system."""

    color: str
    linestyle: Dash
    marker: str = ""
    width: float = 1.4


def dashes(dash: Dash) -> tuple[float, ...]:
    """The lengths of dashes and gaps in widths of the line; empty for a line without gaps."""
    return dash[1] if isinstance(dash, tuple) else _PATTERNS[dash]


def looks(report: Report) -> dict[str, Look]:
    """A style for every system: colour, dashes and marker all differ between neighbours; the leader's line is thick.

    Single models come last, so if there are more systems than colours, theirs are repeated.
    """
    front = lead(report)
    ordered = sorted(report.systems, key=lambda system: system.role == "single")
    return {
        system.name: Look(
            COLOURS[place % len(COLOURS)],
            DASHES[place % len(DASHES)],
            MARKERS[place % len(MARKERS)],
            2.2 if system is front else 1.4,
        )
        for place, system in enumerate(ordered)
    }


def short(name: object, longest: int = LONGEST) -> str:
    """A name shortened in its middle to fit into a picture of matplotlib, with dollar signs escaped."""
    return fitted(name, longest).replace("$", r"\$")


def fitted(name: object, longest: int = LONGEST) -> str:
    """A name shortened in its middle to fit into a picture."""
    text = clean(name)
    if len(text) > longest:
        tail = (longest - 1) // 2
        text = f"{text[: longest - 1 - tail]}…{text[-tail:]}"
    return text


def sentence(text: str) -> str:
    """Text with an initial capital; words that contain capitals, such as cNLL, are unchanged."""
    return text.capitalize() if text.islower() else text


def labels(report: Report) -> dict[str, str]:
    """A short name for every system, numbered where two would be equal."""
    shorts = {system.name: fitted(system.name, LONGEST_SYSTEM) for system in report.systems}
    names: dict[str, str] = {}
    for name, text in shorts.items():
        twins = [other for other, same in shorts.items() if same == text]
        names[name] = text if len(twins) == 1 else f"{text} ({twins.index(name) + 1})"
    return names
