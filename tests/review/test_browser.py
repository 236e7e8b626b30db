"""The pages in a real browser: keys, undo, reload, tabs, hostile names, and a server that is killed."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from tests.support.review_cases import HOSTILE, Servers
from trilabel.review.store import read_answers, read_records

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    servers = Servers(tmp_path_factory.mktemp("served"))
    servers.start()
    yield servers
    servers.close()


@pytest.fixture
def context(chromium: "Browser", servers: Servers) -> Iterator["BrowserContext"]:
    context = chromium.new_context()
    context.set_default_timeout(120_000)
    complaints = list[str]()
    context.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    context.on("weberror", lambda error: complaints.append(str(error.error)))
    page = context.new_page()
    page.goto(servers.link)
    yield context
    context.close()
    # A server that is killed, or refuses, is a failure to load; nothing else may go wrong, such as a script that the
    # policy of the page stops.
    assert [text for text in complaints if "Failed to load resource" not in text] == []


def open_view(context: "BrowserContext", servers: Servers, who: str, path: str) -> "Page":
    page = context.new_page()
    page.goto(f"{servers.address}/by/{who}/{path}")
    return page


def all_saved(page: "Page") -> None:
    page.locator("#saved[data-state=good]").wait_for()


def rows_of(page: "Page") -> list[int]:
    return [int(one.get_attribute("data-row") or -1) for one in page.locator("[data-column]").all()]


def answers_of(servers: Servers, who: str) -> dict[tuple[str, str], int]:
    return {(one.image, one.cls): one.value for one in read_answers(servers.store) if one.who == who}


def test_a_name_is_asked_first(context: "BrowserContext", servers: Servers) -> None:
    page = context.pages[0]
    page.fill("input[name=who]", "  Zoë <b>  ")
    page.keyboard.press("Enter")
    page.wait_for_url("**/by/Zo%C3%AB%20%3Cb%3E/")
    assert page.locator(".top bdi").inner_text() == "Zoë <b>"
    page.keyboard.press("/")
    page.keyboard.type("table")
    assert page.locator(".classes li:visible").count() == 1
    page.keyboard.press("Enter")
    page.wait_for_url("**/grid/2?**")
    assert page.locator("h1 .class").inner_text() == "dining table"


def test_fifty_proposals_by_keyboard_then_undo_and_reload(context: "BrowserContext", servers: Servers) -> None:
    page = open_view(context, servers, "anna", "images?order=positives")
    for number in range(50):
        page.locator(".card:visible [aria-current=true][data-said='']").wait_for()
        page.keyboard.press(("p", "a", "s")[number % 3])
    all_saved(page)
    given = answers_of(servers, "anna")
    assert len(given) == 50 and sorted(given.values()).count(0) == 16
    assert page.locator("#mine").inner_text() == "50"

    before = len(read_records(servers.store))
    last = next(reversed(given))
    page.keyboard.press("u")
    page.locator("#mine", has_text="49").wait_for()
    assert last not in answers_of(servers, "anna") and len(read_records(servers.store)) == before + 1
    page.reload()
    open_one = page.locator(".card:visible [aria-current=true][data-said='']")
    open_one.wait_for()  # it is asked again
    assert page.locator("#mine").inner_text() == "49"
    page.keyboard.press("p")
    all_saved(page)
    assert answers_of(servers, "anna")[last] == 1 and len(answers_of(servers, "anna")) == 50


def test_a_page_of_a_grid_by_keys_and_by_clicks(context: "BrowserContext", servers: Servers) -> None:
    page = open_view(context, servers, "ben", "grid/0?order=positives")
    first = rows_of(page)
    page.keyboard.press("p")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("s")
    page.locator(".pick").nth(5).click()
    page.locator(".pick").nth(6).click()
    page.locator(".pick").nth(6).click()
    assert page.locator("#count").inner_text() == "Confirm 2 of 24"
    page.reload()  # marks are kept
    assert page.locator("#count").inner_text() == "Confirm 2 of 24" and rows_of(page) == first
    page.keyboard.press("Enter")
    page.locator(f".tile[data-row='{first[0]}']").wait_for(state="detached")
    all_saved(page)
    values = answers_of(servers, "ben")
    expected = {f"photos/{row:03}.png": {0: 1, 5: 1, 1: 0}.get(place, -1) for place, row in enumerate(first)}
    assert {image: value for (image, _), value in values.items()} == expected
    assert set(rows_of(page)).isdisjoint(first)

    page.keyboard.press("u")
    page.locator(f".tile[data-row='{first[0]}']").wait_for()
    assert rows_of(page) == first and answers_of(servers, "ben") == {}
    assert page.locator(".tile[data-value='1']").count() == 2  # as they were marked
    page.keyboard.press("*")
    page.keyboard.press("Enter")
    page.locator(f".tile[data-row='{first[0]}']").wait_for(state="detached")
    all_saved(page)
    assert list(answers_of(servers, "ben").values()) == [1] * 24


def test_two_tabs_and_two_names_never_ask_the_same(context: "BrowserContext", servers: Servers) -> None:
    tabs = [open_view(context, servers, who, "grid/1?order=random") for who in ("carl", "dora", "carl")]
    shown = [rows_of(tab) for tab in tabs]
    assert len({row for rows in shown for row in rows}) == sum(map(len, shown)) == 72
    for tab in tabs:
        tab.keyboard.press("Enter")
    for tab in tabs:
        all_saved(tab)
    assert len(answers_of(servers, "carl")) == 48 and len(answers_of(servers, "dora")) == 24
    tabs[0].goto(f"{servers.address}/by/carl/answers?show=all")
    assert tabs[0].locator(".given img").count() >= 72


def test_whoever_comes_back_gets_the_page_that_was_left(context: "BrowserContext", servers: Servers) -> None:
    page = open_view(context, servers, "emil", "grid/2?order=uncertain")
    left = rows_of(page)
    page.keyboard.press("h")
    page.wait_for_url("**/by/emil/")
    page.goto(f"{servers.address}/by/emil/grid/2?order=uncertain")
    assert rows_of(page) == left


def test_keys_are_shown_and_pages_are_for_fingers_too(chromium: "Browser", servers: Servers) -> None:
    context = chromium.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(servers.link)
    page.goto(f"{servers.address}/by/fritz/grid/2?order=positives")
    page.locator(".pick").nth(2).tap()
    page.locator(".doubt").nth(1).tap()
    assert page.locator("#count").inner_text() == "Confirm 1 of 24"
    assert page.locator(".tile").nth(1).get_attribute("data-value") == "0"
    page.locator("#ask-help").tap()
    keys = page.locator("#help").inner_text()
    assert all(word in keys for word in ("present", "absent", "skip", "undo", "next", "confirm the whole page"))
    page.keyboard.press("Escape")
    page.locator("[data-do=confirm]").tap()
    all_saved(page)
    assert len(answers_of(servers, "fritz")) == 24
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()


def test_hostile_names_are_only_text(context: "BrowserContext", servers: Servers) -> None:
    page = open_view(context, servers, "greta", "grid/3")
    assert page.title().startswith("<script>") and page.locator("h1 .class").inner_text().startswith("<script>")
    assert page.locator("img[src=x]").count() == 0
    page.keyboard.press("Enter")
    all_saved(page)
    assert {cls for _, cls in answers_of(servers, "greta")} == {HOSTILE}
    page.goto(f"{servers.address}/by/greta/label/799/0")
    assert page.locator("figcaption").first.inner_text().startswith("../../etc/<b onmouseover=")
    assert page.locator("figcaption b").count() == 0


@pytest.fixture
def other_page() -> Iterator[str]:
    """A page of another server of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(b"<p>another page</p>")

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def test_another_page_of_the_same_machine_cannot_answer_in_ones_name(
    context: "BrowserContext", servers: Servers, other_page: str
) -> None:
    """A browser sends it the cookie: to one machine, all its ports are one site."""
    page = context.new_page()
    page.goto(other_page)
    before = read_records(servers.store)
    loaded = page.evaluate(
        """(address) => new Promise((resolve) => {
            const image = new Image();
            image.onload = () => resolve(true);
            image.onerror = () => resolve(false);
            image.src = `${address}/by/anna/image/0/small`;
        })""",
        servers.address,
    )
    assert not loaded
    page.evaluate(
        """(address) => {
            const form = document.createElement("form");
            form.method = "post";
            form.enctype = "text/plain";
            form.action = `${address}/by/anna/answers`;
            const input = document.createElement("input");
            const answers = [{row: 0, column: 0, value: 1}];
            input.name = JSON.stringify({batch: "evil", sheet: "", view: "grid", answers}).slice(0, -1) + ',"x';
            input.value = '":0}';
            form.append(input);
            document.body.append(form);
            form.submit();
        }""",
        servers.address,
    )
    page.get_by_text("Answers are taken from our own pages only").wait_for()
    assert read_records(servers.store) == before


def test_a_killed_server_loses_nothing_and_what_was_not_saved_is_sent_again(
    context: "BrowserContext", servers: Servers
) -> None:
    page = open_view(context, servers, "hanna", "images?order=uncertain")
    page.locator(".card:visible [aria-current=true]").wait_for()
    page.keyboard.press("p")
    all_saved(page)
    saved = answers_of(servers, "hanna")
    servers.kill()
    page.locator(".card:visible [aria-current=true][data-said='']").wait_for()
    page.keyboard.press("a")
    page.locator("#saved[data-state=bad]", has_text="1 NOT saved yet").wait_for()
    assert answers_of(servers, "hanna") == saved and len(saved) == 1
    servers.start()
    context.new_page().goto(servers.link)  # the new server has another cookie
    all_saved(page)
    assert sorted(answers_of(servers, "hanna").values()) == [-1, 1]
