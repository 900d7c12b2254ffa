"""A real browser without a window: a plain one, and one that draws WebGL 2 without a GPU, which costs far more."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Playwright, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
PLAIN = ("--no-sandbox", "--disable-gpu")
WEBGL = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")


def executable(playwright: Playwright) -> str:
    """A browser on the path, or else the one that playwright installs."""
    found = [*filter(None, map(shutil.which, NAMES))]
    own = playwright.chromium.executable_path
    if not found and not Path(own).exists():
        pytest.skip(  # named, and no reason that .ci/run allows
            f"expected {', '.join(NAMES)} or playwright's own Chromium, found none. Install one: `apt-get install "
            "chromium`, or `python -m playwright install chromium`."
        )
    return found[0] if found else own


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """The browser of pages, one for all tests of a process."""
    started = playwright.chromium.launch(executable_path=executable(playwright), args=[*PLAIN], timeout=120_000)
    yield started
    started.close()


@pytest.fixture(scope="module")
def webgl(playwright: Playwright) -> Iterator[Browser]:
    """A browser that draws WebGL 2."""
    started = playwright.chromium.launch(executable_path=executable(playwright), args=[*WEBGL], timeout=120_000)
    yield started
    started.close()
