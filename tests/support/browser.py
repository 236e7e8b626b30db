"""A real browser for pages: the Chromium of the system, driven by playwright. Nothing is downloaded."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
]
_NAMES = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def browser() -> Iterator[Any]:
    """A running browser; skips the test where there is none."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pages are not tried")
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        pytest.skip("no Chromium on this machine: pages are not tried in a browser")
    with api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=program, args=_FLAGS)
        try:
            yield found
        finally:
            found.close()


@contextmanager
def opened(running: Any, file: Path, width: int = 1440, **options: Any) -> Iterator[Any]:
    """A page that is open; fails if it writes to the console, raises an error or asks for anything from elsewhere."""
    context = running.new_context(viewport={"width": width, "height": 900}, **options)
    page, told = context.new_page(), list[str]()
    page.on("console", lambda message: told.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: told.append(f"error: {error}"))
    page.on(
        "request", lambda request: told.append(request.url) if not request.url.startswith(("file:", "data:")) else None
    )
    try:
        page.goto(file.absolute().as_uri())
        yield page
        assert told == []
    finally:
        context.close()
