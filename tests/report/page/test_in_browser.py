"""The page in a real browser: what others named is text, nothing is wider than the screen, tables sort and filter."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.support.browser import opened
from tests.support.reported import HOSTILE, write_completion, write_run
from trilabel.data.dataset import Dataset
from trilabel.labels import Labels
from trilabel.report.page import PageOptions, write_report
from trilabel.training.run_folder import RunFolder

ID = "<img src=x onerror=window.hit=1> {} " + "long" * 60 + ".png"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page on a run whose classes, images and folder have names that would do harm; with pictures."""
    folder = tmp_path_factory.mktemp("hostile") / "<script>window.hit=1<" / "x"
    run = write_run(folder, HOSTILE, ids=ID, source={"data": "<b>data</b>", "hide": "</style>"})
    write_completion(run)
    labels = Labels.load(run.labels)
    (folder / "picture.png").parent.mkdir(exist_ok=True)
    Image.new("RGB", (60, 20), "red").save(folder / "picture.png")
    dataset = Dataset(labels.ids, [str(folder / "picture.png")] * len(labels), labels)
    write_report([folder], options=PageOptions(lambda run: dataset))
    return folder / "report.html"


def test_hostile_names_are_shown_as_text(chromium: Any, hostile: Path) -> None:
    with opened(chromium, hostile) as page:
        assert page.evaluate("window.hit") is None
        names = page.locator("#class-table tbody bdi").all_inner_texts()
        assert names[0] == HOSTILE[0] and names[2] == HOSTILE[2] and names[8] == r"\u202ereversed\x1b[2J"
        assert page.locator("main b:text-is('bold')").count() == page.locator("main i:text-is('positive')").count() == 0
        for name in HOSTILE[:2]:
            assert page.get_by_text(name, exact=True).count() >= 2
        assert page.locator("img").count() >= 3, "of suspected mistakes and followed images"
        assert page.locator("script").count() == 2, "ours, and the numbers of the table"
        for mark in page.locator("[data-tip]").all()[:60]:
            mark.dispatch_event("pointerover")
        assert page.evaluate("window.hit") is None and page.locator("#tip").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1440])
def test_nothing_is_wider_than_the_screen(chromium: Any, hostile: Path, width: int, scheme: str) -> None:
    with opened(chromium, hostile, width, color_scheme=scheme) as page:
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") == width
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        dark = sum(map(int, background.removeprefix("rgb(").removesuffix(")").split(","))) < 3 * 128
        assert dark == (scheme == "dark")
        page.get_by_role("button", name=f"Change to {'light' if dark else 'dark'} colors").click()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") != background


def test_the_table_filters_and_sorts_and_draws_what_is_seen(chromium: Any, tmp_path: Path) -> None:
    classes = [f"class {number}" for number in range(5000)]
    run = write_run(tmp_path / "run", classes, images=40)
    write_report([run.path])
    page_file = run.path / "report.html"
    assert page_file.stat().st_size < 2_000_000
    with opened(chromium, page_file) as page:
        rows = page.locator("#class-table tbody tr:not(.space)")
        names = page.locator("#class-table tbody bdi")
        assert 10 < rows.count() < 60 and names.first.inner_text() == "class 0"
        page.locator("#class-table .view").evaluate("(view) => { view.scrollTop = view.scrollHeight; }")
        page.wait_for_function(
            "[...document.querySelectorAll('#class-table bdi')].some((e) => e.textContent === 'class 4999')"
        )
        assert rows.count() < 60
        page.get_by_label("Find a class").fill("CLASS 499")
        assert names.all_inner_texts() == ["class 499", *(f"class 499{digit}" for digit in range(10))]
        page.locator("#class-table th button").first.click()
        page.locator("#class-table th button").first.click()
        assert names.first.inner_text() == "class 4999"
        page.get_by_label("Find a class").fill("")
        page.get_by_role("button", name="known +").click()
        counts = [
            int(text) for text in page.locator("#class-table tbody td:nth-child(3)").all_inner_texts()[:10] if text
        ]
        known = Labels.load(run.labels).counts_per_class()[0]
        assert counts[:5] == sorted(known, reverse=True)[:5]
        page.get_by_label("Which classes to show").select_option("fewer than 10 known positives")
        assert page.locator("#class-table output").inner_text() == f"{(known < 10).sum():,} of 5,000"
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert rows.count() == 200 and "The first 200 of" in page.locator(".more").inner_text()


def test_a_class_shows_where_it_is_seen(chromium: Any, small_run: tuple[RunFolder, Dataset], tmp_path: Path) -> None:
    run, dataset = small_run
    facts = write_report([run.path], tmp_path / "page.html", PageOptions(lambda path: dataset))
    assert facts[0].gaps == []
    with opened(chromium, tmp_path / "page.html") as page:
        cards = page.locator("#images .card").all()
        card = next(each for each in cards if each.locator("button[data-map]").count() > 1)
        first, second = card.locator("button[data-map]").nth(0), card.locator("button[data-map]").nth(1)
        assert card.locator("img.map").get_attribute("src") == first.get_attribute("data-map")
        second.click()
        assert card.locator("img.map").get_attribute("src") == second.get_attribute("data-map")
        second.click()
        assert card.locator("img.map").count() == 0 and card.locator("img").count() == 1
        box, shown = card.locator(".frame").bounding_box(), card.locator("img").bounding_box()
        assert box == shown


def test_several_runs_side_by_side(chromium: Any, tmp_path: Path) -> None:
    for number, name in enumerate(("a", "b")):
        write_run(tmp_path / name, HOSTILE, seed=number)
    shutil.rmtree(tmp_path / "b" / "report.html", ignore_errors=True)
    write_report([tmp_path / "a", tmp_path / "b"])
    for width in (360, 1440):
        with opened(chromium, tmp_path / "report.html", width) as page:
            assert page.locator("#summary tbody").first.locator("tr").count() == 2
            assert "judged by different labels" in page.locator("#summary").inner_text()
            assert page.get_by_role("button", name="difference").count() == 1
            assert page.evaluate("document.documentElement.scrollWidth") == width
            assert page.evaluate("window.hit") is None


def test_tips_stay_on_the_screen(chromium: Any, hostile: Path) -> None:
    with opened(chromium, hostile, 360) as page:
        dot = page.locator("circle[data-tip]").first
        dot.scroll_into_view_if_needed()
        dot.hover()
        box = page.locator("#tip").bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 360 and np.isfinite(box["height"])
