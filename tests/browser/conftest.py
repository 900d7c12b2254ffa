"""A real browser without a window, which draws WebGL 2 without a GPU."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Playwright, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")


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
def browser() -> Iterator[Browser]:
    """The browser, one for all tests of a process."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=executable(playwright), args=[*ARGUMENTS], timeout=120_000)
        yield started
        started.close()
