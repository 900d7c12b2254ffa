from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markupsafe import escape

import shiftbench.report
from shiftbench.report import page as page_module
from shiftbench.report import plots
from shiftbench.report.content import Report
from shiftbench.report.drawing import Axis, Drawing, Entry, Look, Panel
from shiftbench.report.front import screen
from shiftbench.report.front import table as front_table
from shiftbench.report.grid import Cell, Column, Grid, Row
from shiftbench.report.grids.listing import grids
from shiftbench.report.page import Drawn, html, tables
from shiftbench.report.picture import Picture
from shiftbench.report.plots import figures
from shiftbench.report.style import COLOURS
from shiftbench.report.svg import markup, svg
from shiftbench.report.verdict import verdict
from shiftbench.report.view import split_title

from .factory import HOSTILE, classification, errors_only, hostile, many, regression

VOID = {"meta", "br", "link", "img", "hr", "input", "wbr"}
SCRIPT = Path(shiftbench.report.__file__).with_name("templates") / "page.js"
STYLE = SCRIPT.with_suffix(".css").read_text("utf-8")
PAPER = '<svg xmlns="http://www.w3.org/2000/svg"><g id="x"/></svg>'


class Reader(HTMLParser):
    """Collects tags, attributes and the text of table cells, and checks that tags are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.tables: list[list[list[str]]] = []
        self.items: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        elif tag == "li":
            self.items.append("")

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1] += data
        if "li" in self.open:
            self.items[-1] += data


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


def spaced(text: str) -> str:
    return " ".join(text.replace("\N{WORD JOINER}", "").split())


def bare(sentence: str) -> str:
    """A sentence without the marks around names, which are bold on a page."""
    return re.sub("[“”]", "", spaced(sentence))


@pytest.fixture(scope="module")
def page(report: Report) -> str:
    return html(report, pictures={})


def test_the_page_has_the_same_cells_as_the_grid(report: Report, page: str):
    found = Counter(tuple(map(spaced, line)) for table in read(page).tables for line in table)
    for grid in (part for whole in grids(report) for part in whole.portions()):
        for row in grid.rows:
            label = spaced(row.label + row.hint)
            cells = (label, *(spaced(cell.line) for cell in row.cells))
            assert found[cells] > 0, cells


def test_the_page_opens_with_the_answers_and_has_the_whole_verdict(report: Report, page: str):
    items = [spaced(item) for item in read(page).items]
    answers = [bare(finding.line) for finding in screen.findings(report)]
    assert [item.removesuffix(" numbers") for item in items[: len(answers)]] == answers
    rest = [sentence for each in verdict(report) if (sentence := bare(each)) not in answers]
    assert items[len(answers) : len(answers) + len(rest)] == rest


def test_the_page_is_told_to_screen_readers(page: str):
    tags = read(page).tags
    assert ("html", {"lang": "en"}) in tags
    assert [tag for tag, _ in tags].count("h1") == 1
    assert all(attrs.get("scope") for tag, attrs in tags if tag == "th")
    assert all(attrs.get("aria-label") for tag, attrs in tags if attrs.get("role") in ("region", "img"))


def test_anchors_lead_somewhere(page: str):
    tags = read(page).tags
    ids = [attrs["id"] for _, attrs in tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    targets = {attrs["href"][1:] for tag, attrs in tags if tag == "a"}
    assert targets <= set(ids)


def external(text: str) -> list[str]:
    """Every way a page can reach out."""
    plain = re.sub(r'xmlns(:\w+)?="[^"]*"', "", text)
    return re.findall(r'(?:src|href|action|poster|data)\s*=\s*"(?!#)[^"]*"|url\((?!#)[^)]*\)|@import|https?://', plain)


def test_a_written_page_with_pictures_needs_nothing_from_outside(written):
    for name, paths in written.items():
        text = paths["html"].read_text("utf-8")
        assert "<svg" in text
        assert external(text) == [], name
        tags = read(text).tags
        assert not any(tag in ("link", "iframe", "img", "object") for tag, _ in tags)
        assert [attrs for tag, attrs in tags if tag == "script"] == [{}]  # ours, without a source


def test_ids_stay_unique_with_all_pictures_on_the_page(written):
    text = written["one_record"]["html"].read_text("utf-8")
    ids = re.findall(r'\bid="([^"]*)"', text)
    assert len(ids) == len(set(ids))
    used = set(re.findall(r'(?:href="#|url\(#)([^")]*)', text))
    assert used <= set(ids)


def test_hostile_names_are_text_and_nothing_else(written):
    text = written["hostile"]["html"].read_text("utf-8")
    assert text.count("<script") == 1
    assert "<b>°" not in text  # a unit that is written as markup; that of ours is around names
    assert f"of <b>{escape(HOSTILE[0])}</b> (total variance)" in text
    assert "&lt;script&gt;" in text
    assert "\u202e" not in text
    assert any("not markup[/] & 100 %" in cell for table in read(text).tables for line in table for cell in line)


def test_hostile_names_do_not_break_attributes():
    text = html(hostile())
    assert read(text)
    assert HOSTILE[0] not in text


def test_pictures_of_records_are_one_link_from_the_top():
    made = Picture("worst", "Worst record", "What to look for.", b"\x89PNG\r\n\x1a\nx")
    page = html(regression(), pictures={}, further=[made])
    nav = page.partition("<nav")[2].partition("</nav>")[0]
    assert re.findall('href="#([^"]*)"', nav)[:2] == ["verdict", "pictures"]
    assert page.index('<div id="pictures">') < page.index("data:image/png;base64")
    assert "#pictures" not in html(regression(), pictures={})


def test_pictures_stand_with_a_caption():
    drawn = figures(regression())
    text = html(regression(), pictures={name: drawn[name] for name in ("eval_summary", "dev_roc")})
    assert text.count("<figure>") == text.count("<figcaption>") == 2
    assert "Finding shifted records (development)" in text


def test_the_page_allows_its_own_script_and_no_other(page: str):
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)
    assert script is not None
    assert script[1] == SCRIPT.read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'" in page


def test_the_script_reaches_for_nothing_and_makes_no_markup_of_texts():
    text = SCRIPT.read_text("utf-8")
    assert not re.search(r"http|fetch|XMLHttp|import|eval|innerHTML|insertAdjacentHTML|document\.write|</", text)
    plain = re.sub(r"/(?:[^/\n\\]|\\.)+/[a-z]*(?=[.);])|\"[^\"\n]*\"|//.*", "", text)
    for opening, closing in ("()", "[]", "{}"):
        assert plain.count(opening) == plain.count(closing)
    assert len(text) < 12_000


def test_a_table_can_be_sorted_by_each_of_its_columns(page: str):
    """The script takes the headings of scope "col", in their order, for the columns of the rows."""
    for table in re.findall(r"<table>.*?</table>", page, re.DOTALL):
        if "<thead>" in table:
            head, body = table.split("</thead>")
            rows = body.split("<tr>")[1:]
            assert {len(re.findall(r"<t[hd]\b", row)) for row in rows} <= {head.count('scope="col"')}


def test_tables_of_a_paper_are_a_page_in_the_same_look():
    grid = Grid("paper", "", "Table <1>", "System", (Column("ours", "RMSE"),), (Row("a <b>", (Cell("1"),)),))
    text = tables(
        "A & B",
        [(grid, "All of <them>.", ["A note & more."])],
        [Drawn("f1_retention_dev", "F1 retention: development", "Higher <is> better.", PAPER)],
    )
    reader = read(text)
    assert reader.items == ["A note & more."]
    assert [spaced(cell) for row in reader.tables[0] for cell in row] == ["System", "RMSE", "ours", "a <b>", "1"]
    assert "<h1>A &amp; B</h1>" in text
    assert "All of &lt;them&gt;." in text
    assert "F1 retention: development" in spaced(text)
    assert "Higher &lt;is&gt; better." in text
    assert external(text) == []


def test_what_is_typed_stands_as_code_beside_tables_of_a_paper():
    grid = Grid("t", "", "Table 1", "", (Column("a"),), (Row("x", (Cell("1"),)),))
    text = tables("Tables", [(grid, "Those need `shiftbench run`.", ["See --with-train."])], {})
    assert "Those need <code>shiftbench run</code>." in text
    assert "See <code>--with-train</code>." in text


def test_the_worst_group_is_that_of_a_system_in_bold():
    text = html(many())
    assert front_table.worst_group(many()).startswith("worst group of “")
    assert re.search(r"worst group of <b>[^<“]+</b>", text)


def variables(block: str) -> dict[str, str]:
    return dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", block))


def contrast(one: str, other: str) -> float:
    """The ratio of luminances as WCAG 2.2 defines it."""

    def luminance(colour: str) -> float:
        parts = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_texts_stand_out_in_light_in_dark_and_in_print():
    blocks = re.findall(r":root \{[^}]*\}", STYLE)
    assert len(blocks) == 3
    for found in map(variables, blocks):
        for text in ("ink", "faint", "link"):
            for ground in ("paper", "shade"):
                assert contrast(found[text], found[ground]) >= 4.5, (text, ground, found)


def test_every_colour_of_a_drawing_has_another_in_the_dark(report: Report):
    dark = STYLE[STYLE.index("@media screen and (prefers-color-scheme: dark)") :]
    paper = variables(re.findall(r":root \{[^}]*\}", STYLE)[1])["paper"]
    rules = r'\[stroke="(#\w+)" i\], \.picture \[style\*="stroke: (#\w+)"\] \{ stroke: (#\w+) !'
    lit = {old.lower(): new for old, same, new in re.findall(rules, dark) if old.lower() == same}
    assert all(contrast(new, paper) >= 4.5 for new in lit.values())
    assert {*lit} == {colour.lower() for colour in COLOURS} - {"#000000"} | {"#555555"}
    assert len(lit) == len(set(lit.values()))
    followed = {old.lower() for old in re.findall(r'\[(?:fill|stroke)="(#\w+)" i\]', STYLE)}
    for drawing in figures(report).values():
        used = {colour.lower() for colour in re.findall(r'(?:fill|stroke)="(#\w+)"', svg(drawing, "a"))}
        assert used <= followed


def test_every_curve_of_a_page_tells_its_values():
    text = html(regression())
    for kind in ("error_retention", "f1_retention", "coverage", "roc", "density", "error_by_uncertainty"):
        figure = text[text.rindex("<figure", 0, text.index(f'id="eval_{kind}-')) :]
        figure = figure[: figure.index("</figure>")]
        assert figure.count("data-x=") == figure.count("<svg") - figure.count("<span>")
        assert figure.count("data-name=") >= 2


def test_no_line_of_a_page_begins_with_a_percent_sign():
    for report in (regression(), classification()):
        text = html(report)
        shown = re.findall(r"<(?:li|figcaption|p)\b[^>]*>.*?</(?:li|figcaption|p)>", text, re.DOTALL)
        sentences = [each for each in shown if "%" in each and 'id="warn' not in each]
        assert len(sentences) > 5
        told = re.findall(r"\d %", " ".join(sentences[: len(screen.findings(report))]))
        assert told == []


def test_titles_do_not_repeat_the_split_of_their_section(report: Report):
    page = html(report)
    for split in report.splits:
        name = split_title(split)
        assert f"({name})</h3>" not in page
        assert f"({name}).</strong>" not in page
    labels = [attrs["aria-label"] for _, attrs in read(page).tags if attrs.get("role") == "region"]
    assert len(labels) == len(set(labels))  # a list of regions is read without their sections


def test_pictures_of_the_first_screen_show_the_systems_of_its_table():
    report, full = many(), many(5)
    drawn = page_module._opening(report, figures(report))
    assert [picture.title for picture in drawn] == [
        "RMSE of systems: those of the table above",
        "Error retention: those of the table above",
    ]
    names = front_table.shown(report)
    assert len(names) == front_table.MOST_ROWS < len(report.systems)
    starts = [system.name[:8] for system in report.systems if system.name in names]
    for picture in drawn:
        assert sorted({*re.findall(r"model-\d\d", picture.svg)}) == sorted(starts)
    assert "RMSE of every system" in html(report)  # whole, below
    assert next(picture.title for picture in page_module._opening(full, figures(full))).startswith("RMSE of every")


def test_arrows_and_percent_signs_stay_with_their_numbers(page: str):
    assert not re.search(" [%↓↑→]", " ".join(re.findall("<th [^>]*>([^<]*)</th>", page)))


def test_a_score_with_a_hyphen_stays_on_one_line():
    """Chromium breaks lines after a hyphen, which a word joiner forbids."""
    texts = re.findall("<(?:th|p|li|h3|figcaption)[^>]*>[^<]*", html(regression(), pictures={}))
    named = [text for text in texts if re.search("(R|F1|ROC)-\N{WORD JOINER}?AUC", text)]
    assert len(named) > 10
    assert not [text for text in named if re.search(r">[^<]*\b(R|F1|ROC)-AUC", text)]


def test_the_first_table_is_still_a_table_when_its_rows_are_read_line_by_line(page: str):
    """On a phone cells are blocks, which have no meaning of their own: roles and names of columns stand with them."""
    table = re.search(r"<table[^>]* class=\"stacked\">.*?</table>", page, re.DOTALL)[0]
    rows = table.split("</thead>")[1].split("<tr")[1:]
    assert 'role="table"' in table
    assert 'role="rowgroup"' in table
    for row in rows:
        cells = re.findall(r"<td[^>]*>", row)
        assert row.startswith(' role="row"')
        assert 'role="rowheader"' in row
        assert all('role="cell"' in cell and re.search('data-(of|side)="[^"]', cell) for cell in cells)


def test_long_pages_have_a_way_back_that_needs_no_script(page: str):
    assert page.count('<p class="back"><a href="#top">') == page.count("</section>")  # at the end of each section
    assert '<header id="top">' in page


def test_the_chart_of_systems_is_called_by_the_score_that_it_shows():
    report = classification()
    drawn = page_module._opening(report, figures(report))
    assert drawn[0].title == "Accuracy of every system (evaluation)"
    assert plots.caption("eval_summary", replace(report, systems=report.systems[:1]))[0] == "Accuracy (evaluation)"
    assert plots.caption("all_summary", errors_only())[0] == "RMSE (all records)"


@pytest.mark.parametrize(("panels", "columns"), [(1, 1), (3, 3), (4, 4), (5, 3), (7, 4), (8, 4), (9, 3)])
def test_panels_fill_their_rows_alike(panels: int, columns: int):
    panel = Panel("", Axis("x", 0.0, 1.0), Axis("y", 0.0, 1.0), ())
    assert f";--columns:{columns}" in markup(Drawing((panel,) * panels, ()), "name")


def test_a_name_written_from_right_to_left_keeps_its_place_in_a_legend():
    drawing = Drawing((), (Entry("אבג (2)", Look("#0072B2", "-")),))
    assert " <bdi>אבג (2)</bdi></span>" in markup(drawing, "name")


def test_brackets_of_the_verdict_say_what_they_are():
    line = "What else intervals and tests say (in brackets: 95&nbsp;% intervals)</summary>"
    assert line in html(regression())
    assert "in brackets" not in html(errors_only())


def test_a_note_on_how_dates_were_read_is_no_warning():
    note = "column 'day': 729 different dates were read from text such as '2014/01/01' as year/month/day"
    first = replace(regression(), warnings=(note,))
    assert '<a href="#warnings">Notes</a>' in html(first)
    assert '<a href="#warnings">Warnings (1)</a>' in html(replace(first, warnings=(note, "few clusters")))
