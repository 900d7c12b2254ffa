"""Reports and tables as self-contained HTML pages: styles, pictures and the script inside, no network.

The script adds sorting, filtering and values under the pointer; without it a page lacks nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from importlib.resources import files
from typing import TYPE_CHECKING

from shiftbench.metrics.regression import LEVELS
from shiftbench.report import notable, picture, plots
from shiftbench.report.content import Report
from shiftbench.report.drawing import Drawing
from shiftbench.report.front import screen
from shiftbench.report.front import table as front_table
from shiftbench.report.grid import Grid
from shiftbench.report.grids.listing import grids
from shiftbench.report.picture import Picture
from shiftbench.report.recipe import flat, signature
from shiftbench.report.svg import markup
from shiftbench.report.verdict import verdict
from shiftbench.report.view import (
    cautions,
    clean,
    level,
    main_split,
    set_retention,
    split_title,
    warning_sentence,
    worded,
)
from shiftbench.scores.score import SUBSETS

if TYPE_CHECKING:
    from jinja2 import Environment, Template
    from markupsafe import Markup

FOLDED = (
    "conformal_size",
    "calibration_slices",
    *(f"interval_slices_{100 * level:.3g}" for level in LEVELS),
    "selective",
    "comparisons",
    "ranks",
    "measures",
    "length_measures",
    "variants",
)  # beginnings of the kinds of tables that are collapsed at first
MOST_STACKED = 96  # cells of a paper's table whose rows become blocks on a phone; larger ones scroll
SHORT = re.compile(r"\b[A-Z0-9]{1,3}-(?=[A-Z])")  # the beginning of a name such as R-AUC
_NAME = re.compile("“([^”]*)”")
_CODE = re.compile(r"`([^`]+)`|(?<![\w-])(--[a-z][a-z-]*)")  # what is typed: in backticks, or an option
OPENING = ("summary", "error_retention")  # the pictures of the first screen, side by side
# The picture below each table.
PICTURES = {
    "answers": ("summary",),
    "calibration": ("coverage", "reliability"),
    "joint": ("error_retention", "f1_retention", "roc", "density", "error_by_uncertainty"),
    "parts": ("parts",),
    "moved": ("moved",),
    "slices": ("slices",),
}


@dataclass(frozen=True)
class Drawn:
    """A picture of a report or of a paper; `svg` is markup written by us, in which all names are already escaped."""

    name: str
    title: str
    caption: str
    svg: str
    panels: int = 1


def html(report: Report, *, pictures: Mapping[str, Drawing] | None = None, further: Sequence[Picture] = ()) -> str:
    """The report as one self-contained HTML page.

    Args:
        report: the report.
        pictures: those that `plots.figures` makes; made here if not given.
        further: additional pictures, shown in a section of their own.
    """
    if pictures is None:
        pictures = plots.figures(report)
    tables, found = grids(report), screen.findings(report)
    splits = sorted(report.splits, key=lambda split: split != main_split(report))  # the main one first
    return template("page.html").render(
        signature=signature(report),
        report=report,
        warnings_title=f"Warnings ({warned})" if (warned := len(cautions(report))) else "Notes",
        records=screen.records(report),
        findings=found,
        front=front_table.table(report),
        worst_group=front_table.worst_group(report),
        verdict=[sentence for sentence in verdict(report) if sentence not in {each.line for each in found}],
        level=f"{100 * level(report):g}",
        opening=_opening(report, pictures),
        main_split=main_split(report),
        splits=[grid for grid in tables if grid.kind == "splits"],
        general=[grid for grid in tables if not grid.split and grid.kind != "splits"],
        behind=[notable.lists(report, name) for name in notable.systems(report)],
        records_file=notable.FILE,
        worded=partial(worded, report=report),
        warning_sentence=partial(warning_sentence, report=report),
        sections=[_section(report, split, tables, pictures) for split in splits],
        recipe=flat(report.recipe),
        folded={grid.kind for grid in tables if grid.kind.startswith(FOLDED)},
        anchors={"warnings": "warnings"}
        | {grid.kind: f"table-{grid.kind}" for grid in tables if grid.split in ("", main_split(report))},
        further=further,
        further_title=picture.TITLE,
    )


def tables(title: str, shown: Sequence[tuple[Grid, str, Sequence[str]]], pictures: Sequence[Drawn]) -> str:
    """Tables, each with its caption and notes, then pictures: a page that looks like a report."""
    return template("tables.html").render(title=title, tables=shown, pictures=pictures, most_stacked=MOST_STACKED)


def first_screen(report: Report) -> str:
    """The first screen as HTML without styles of its own, for notebooks."""
    return template("first_screen.html").render(
        title=report.title,
        records=screen.records(report),
        findings=screen.findings(report),
        front=front_table.table(report),
        worst_group=front_table.worst_group(report),
    )


def template(name: str, *, package: str = "shiftbench.report", scripts: Sequence[str] = ()) -> Template:
    """A template of this package or of another one, which may extend those here.

    scripts: the SHA-256 digests (Base64) of the scripts that its page has besides `page.js`; it runs no others.
    """
    return _environment(package, tuple(scripts)).get_template(name)


@lru_cache(maxsize=8)  # it keeps its compiled templates
def _environment(package: str, scripts: tuple[str, ...]) -> Environment:
    # Imported here so that reading numbers does not load a template engine.
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(each) for each in dict.fromkeys((package, "shiftbench.report"))]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"clean": clean, "bound": _bound, "bare": _bare, "sentence": sentence, "typed": _typed}
    script = files("shiftbench.report").joinpath("templates/page.js").read_text("utf-8")
    # By its hash the browser runs this script and no other, whatever names and texts a page shows.
    allowed = " ".join(f"'sha256-{each}'" for each in (digest(script), *scripts))
    environment.globals.update(script=Markup(script), allowed_scripts=Markup(allowed))
    return environment


def digest(script: str) -> str:
    """The SHA-256 digest of a script in Base64, by which a page's policy names it."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _bound(text: str) -> str:
    """A text in which no percent sign, arrow or p is parted from its number at the end of a line, and no R-AUC from
    itself."""
    text = SHORT.sub("\\g<0>\N{WORD JOINER}", str(text))
    text = re.sub(r"\bp ([=<]) ", "p\N{NO-BREAK SPACE}\\1\N{NO-BREAK SPACE}", text)
    for sign in ("%", "↑", "↓", "→"):
        text = text.replace(f" {sign}", f"\N{NO-BREAK SPACE}{sign}")
    return text.replace("→ ", "→\N{NO-BREAK SPACE}")


def sentence(text: str) -> Markup:
    """A sentence as HTML, with names in bold instead of quotation marks, and what is typed as code."""
    from markupsafe import Markup

    return Markup(_NAME.sub("<b>\\1</b>", str(_typed(_bound(text)))))


def _typed(text: str) -> Markup:
    """A text as HTML, with what is typed as code, which no line end parts."""
    from markupsafe import Markup, escape

    return Markup(_CODE.sub(lambda found: f"<code>{found[1] or found[2]}</code>", str(escape(text))))


def _bare(title: str, split: str) -> str:
    """A title without the split that the heading of its section names."""
    bare = re.sub(r" \(all [^()]+\)$", "", title) if split == "all" else title  # whatever records are called
    return _bound(bare.removesuffix(f" ({split_title(split)})"))


def _section(
    report: Report, split: str, tables: list[Grid], pictures: Mapping[str, Drawing]
) -> tuple[str, str, list[tuple[Grid | None, list[Drawn]]]]:
    """A split's name, its title, and its tables, each with its pictures."""
    shown: list[tuple[Grid | None, list[Drawn]]] = []
    mine = {grid.kind: grid for grid in tables if grid.split == split}
    for kind in dict.fromkeys((*mine, *PICTURES)):
        kinds = PICTURES.get(kind, ())
        if kind == "joint":
            kinds += tuple(each for each in dict.fromkeys(curve.kind for curve in report.curves) if set_retention(each))
        if split == main_split(report) and not _crowded(report):
            kinds = tuple(name for name in kinds if name != OPENING[0])  # shown whole at the top of the page
        found = [
            replace(each, title=worded(each.title, report), caption=worded(each.caption, report))
            for each in _pictures(report, pictures, split, kinds)
        ]
        if kind in mine or found:
            shown.append((mine.get(kind), found))
    name = worded(split_title(split), report)
    return split, f"{name[:1].upper()}{name[1:]}", shown


def _opening(report: Report, pictures: Mapping[str, Drawing]) -> list[Drawn]:
    """The pictures of the first screen, of the systems in its table; of curves only those over all records, the last
    panel."""
    split = main_split(report)
    found: dict[str, tuple[str, str, Drawing]] = {}
    for kind in OPENING:
        name = f"{split}_{kind}"
        if name not in pictures:
            continue
        title, caption = (worded(text, report) for text in plots.caption(name, report))
        picture = pictures[name]
        if _crowded(report):
            picture = plots.DRAWERS[kind](report, split, only=front_table.shown(report)) or picture
            title = f"{title.partition(' (')[0].replace('every system', 'systems')}: those of the table above"
        last = picture.panels[-1]
        last = replace(last, title=worded("All records", report) if last.title == SUBSETS["full"] else last.title)
        found[kind] = title, caption, replace(picture, panels=(last,))
    return [
        Drawn(f"{split}_{kind}", title, caption, markup(drawing, kind))
        for kind, (title, caption, drawing) in found.items()
    ]


def _crowded(report: Report) -> bool:
    """Whether there are more systems than the first screen has room for."""
    return sum(system.role != "single" for system in report.systems) > front_table.MOST_ROWS


def _pictures(report: Report, pictures: Mapping[str, Drawing], split: str, kinds: tuple[str, ...]) -> list[Drawn]:
    names = [f"{split}_{kind}" for kind in kinds]
    return [
        Drawn(name, *plots.caption(name, report), markup(pictures[name], name), len(pictures[name].panels))
        for name in names
        if name in pictures
    ]
