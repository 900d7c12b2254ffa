"""A report's page in a browser: its links open what they lead to, and its values come in the order of the lines."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from shiftbench.report import page as pages
from shiftbench.report.drawing import Axis, Drawing, Panel
from shiftbench.report.grid import Cell, Column, Grid, Row
from shiftbench.report.svg import svg
from tests.report.factory import regression


@pytest.fixture(scope="module")
def page(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(pages.html(regression(400)), "utf-8")
    opened, errors = browser.new_page(viewport={"width": 1200, "height": 900}), list[str]()
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.goto(path.as_uri())
    yield opened
    assert errors == []
    opened.close()


def test_the_numbers_of_every_sentence_are_open_and_seen(page: Page) -> None:
    links = page.locator(".answers a").all()
    for link in links:
        link.click()
        target = page.locator(link.get_attribute("href") or "")
        assert target.is_visible()
        top = target.evaluate("each => each.getBoundingClientRect().top")
        assert -1 < top < 900
    assert page.locator("details .inside[id]").count() > 0  # some of the tables are folded at first
    assert len(links) > 0


def test_a_link_to_a_folded_table_opens_it(page: Page) -> None:
    folded = page.locator("details:has(> #table-comparisons)")
    folded.evaluate("each => { each.open = false }")
    page.evaluate("location.hash = ''; location.hash = '#table-comparisons'")
    page.wait_for_function("document.querySelector('details:has(> #table-comparisons)').open")
    assert page.locator("#table-comparisons").is_visible()


def test_values_under_the_pointer_come_as_the_lines_lie(page: Page) -> None:
    frame = page.locator(".opening figure svg:has(rect[data-x]) rect[data-x]").first
    frame.scroll_into_view_if_needed()
    box = frame.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.5 * box["height"])  # the picture hears of it
    texts = page.locator(".told td:last-child").all_inner_texts()
    values = [float(text.replace(",", "").replace("−", "-")) for text in texts]
    assert len(values) > 2
    assert values == sorted(values, reverse=True)


def test_a_paper_s_picture_scrolls_on_a_phone_and_its_contents_are_whole_on_a_wide_page(browser: Browser) -> None:
    tall = Grid("table", "dev", "A table", "System", (Column("Error"),), (Row("A", (Cell("1"),)),))
    drawn = svg(Drawing((Panel("", Axis("x", 0.0, 1.0), Axis("y", 0.0, 1.0), ()),) * 3, ()), "name")
    opened = browser.new_page(viewport={"width": 390, "height": 900})
    opened.set_content(pages.tables("A paper", [(tall, "", ())] * 60, [pages.Drawn("curves", "Curves", "", drawn)]))
    picture = opened.locator(".picture")
    assert picture.evaluate("each => each.scrollWidth > each.clientWidth && getComputedStyle(each).overflowX") == "auto"
    assert "linear-gradient" in picture.evaluate("each => getComputedStyle(each).backgroundImage")
    assert opened.evaluate("document.documentElement.scrollWidth") == 390
    opened.set_viewport_size({"width": 1400, "height": 900})
    assert opened.locator("nav").evaluate("each => each.scrollHeight <= each.clientHeight")
    opened.close()
