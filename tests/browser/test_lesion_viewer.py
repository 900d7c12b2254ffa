"""The page to scroll through a patient, as a browser runs it: it draws, asks no server, and does what it says."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO

import pytest
from matplotlib import image
from playwright.sync_api import Browser, Page, expect

from shiftbench.tracks.lesions.picture import viewer
from shiftbench.tracks.lesions.prediction import Prediction
from tests.tracks.lesions.test_viewer import AFFINE, MEMBERS, seen

PATIENCE = 120_000  # ms, on a busy machine
MAPS = ("entropy_of_expected", "mutual_information")


@pytest.fixture(scope="module")
def requests() -> list[str]:
    """What the page has asked for."""
    return []


@pytest.fixture(scope="module")
def page(webgl: Browser, requests: list[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The page of a patient with a prediction and two maps, when it has drawn; no error may have come."""
    path = tmp_path_factory.mktemp("viewer") / "7.html"
    text = viewer.page(seen(Prediction.of_members(MEMBERS)), AFFINE, title="a patient", measures=MAPS)
    path.write_text(text, "utf-8")
    opened, errors = webgl.new_page(viewport={"width": 1200, "height": 900}), list[str]()
    opened.set_default_timeout(PATIENCE)
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    opened.on("request", lambda request: requests.append(request.url))
    opened.goto(path.as_uri())
    expect(opened.locator("#place")).to_contain_text("Voxel", timeout=PATIENCE)
    yield opened
    assert errors == []
    opened.close()


def drawn(page: Page) -> bytes:
    """The planes as a picture."""
    return page.locator("#scans").screenshot(timeout=PATIENCE)


def test_the_page_draws_and_asks_for_nothing_but_itself(page: Page, requests: list[str]) -> None:
    assert [url for url in requests if not url.startswith(("data:", "blob:"))] == [page.url]
    text = page.locator("#place").inner_text()
    assert all(f"{title}: " in text for title in ("Scan", "Entropy of expected", "Truth", "Prediction")), text
    planes = image.imread(BytesIO(drawn(page)))[..., :3]
    assert 0.02 < (planes.max(axis=2) > 0.3).mean() < 0.9  # a scan before a black ground
    bar = page.locator("#bar").bounding_box()
    assert bar is not None
    assert bar["width"] > 10


@pytest.mark.parametrize(("row", "told"), [(0, "Truth: yes · Prediction: yes"), (1, "Truth: no · Prediction: yes"),
                                           (2, "Truth: yes · Prediction: no")])  # fmt: skip
def test_a_line_of_the_table_brings_the_planes_to_its_lesion(page: Page, row: int, told: str) -> None:
    page.locator("#lesions tbody tr").nth(row).click()
    expect(page.locator("#place")).to_contain_text(told, timeout=PATIENCE)


def test_overlays_are_switched_and_one_map_is_shown_at_a_time(page: Page) -> None:
    page.locator("#lesions tbody tr").first.click()
    before = drawn(page)
    boxes = {
        name: page.get_by_label(name, exact=True) for name in ("Truth", "Entropy of expected", "Mutual information")
    }
    boxes["Truth"].uncheck()
    without = drawn(page)
    assert without != before
    boxes["Truth"].check()
    boxes["Entropy of expected"].check()
    boxes["Mutual information"].check()
    assert not boxes["Entropy of expected"].is_checked()
    boxes["Mutual information"].uncheck()
    assert drawn(page) == before


def test_planes_are_chosen_and_zoomed(page: Page) -> None:
    before = drawn(page)
    page.get_by_role("button", name="Axial").click()
    axial = drawn(page)
    assert axial != before
    page.locator("#zoom").fill("3")
    assert drawn(page) != axial
    page.locator("#zoom").fill("1")
    page.get_by_role("button", name="All planes").click()
    assert page.get_by_role("button", name="All planes").get_attribute("aria-pressed") == "true"
