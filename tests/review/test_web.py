"""Pages, pictures and answers over HTTP, and who is kept out; without a network."""

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from starlette.testclient import TestClient

from tests.support.review_cases import HOSTILE, TOKEN, make_desk
from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.review import gate as gate_module
from trilabel.review.desk import Desk
from trilabel.review.serving import make_app
from trilabel.review.store import read_answers, read_records

ORIGIN = "http://127.0.0.1:8765"


class NoMaps:
    """Class maps of a model that has none."""

    def draw(self, row: int, column: int) -> bytes | None:
        if column == 1:
            raise RuntimeError("the process was lost")
        return None

    def close(self) -> None: ...


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "answers.db"


@pytest.fixture
def desk(photos: Dataset, store: Path) -> Iterator[Desk]:
    desk = make_desk(photos, store, random_share=0.1)
    yield desk
    desk.close()


@pytest.fixture
def stranger(desk: Desk, photos: Dataset) -> TestClient:
    app = make_app(desk, photos, NoMaps(), TOKEN, ["my-machine"], 8765)  # type: ignore[arg-type]
    return TestClient(app, ORIGIN, raise_server_exceptions=False)


@pytest.fixture
def anna(stranger: TestClient) -> TestClient:
    assert stranger.get(f"/?token={TOKEN}").status_code == 200
    return stranger


def post(client: TestClient, path: str, value: Any, **headers: str) -> Any:
    return client.post(path, json=value, headers={"origin": ORIGIN, **headers})


def answers(*places: tuple[int, int, int], **more: Any) -> dict[str, Any]:
    listed = [{"row": row, "column": column, "value": value} for row, column, value in places]
    return {"batch": "b1", "sheet": "", "view": "grid", "answers": listed, **more}


def test_the_token_becomes_a_cookie_that_scripts_and_other_sites_do_not_get(stranger: TestClient) -> None:
    found = stranger.get(f"/?token={TOKEN}", follow_redirects=False)
    assert found.status_code == 303 and found.headers["location"] == "/"
    cookie = found.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie and TOKEN not in cookie
    assert "Who are you?" in stranger.get("/").text
    assert stranger.get(f"/?token={TOKEN}").url.query == b""  # opened again


@pytest.mark.parametrize(
    "path", ["/?token=wrong", "/?token=", "/by/anna/", "/by/anna/image/0/small", "/static/main.js"]
)
def test_without_the_token_there_is_nothing(path: str, stranger: TestClient) -> None:
    found = stranger.get(path)
    assert found.status_code == 403 and "trilabel review" in found.text and "bottle" not in found.text
    assert post(stranger, "/by/anna/answers", answers((0, 0, 1))).status_code == 403
    stranger.cookies.set("trilabel_review_8765", "guessed")
    assert stranger.get(path).status_code == 403


OURS = ("127.0.0.1:8765", "localhost", "[::1]:8765", "192.168.1.7:80", "MY-MACHINE:8765")
OTHERS = ("evil.example", "evil.example:8765", "127.0.0.1.evil.example", "localhost.evil.example", "")


@pytest.mark.parametrize(("host", "status"), [*((host, 200) for host in OURS), *((host, 421) for host in OTHERS)])
def test_a_name_that_leads_here_is_not_enough(host: str, status: int, anna: TestClient) -> None:
    assert anna.get("/", headers={"host": host}).status_code == status


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "http://127.0.0.1:9999", "null", "http://localhost:8765", ""]
)
def test_other_pages_cannot_answer_nor_use_pictures(origin: str, anna: TestClient, store: Path) -> None:
    assert post(anna, "/by/anna/answers", answers((0, 0, 1)), origin=origin).status_code == 403
    assert anna.post("/by/anna/answers", json=answers((0, 0, 1))).status_code == 403  # without any origin
    assert post(anna, "/by/anna/leave", {"sheets": []}, origin=origin).status_code == 403
    assert anna.get("/by/anna/image/0/small", headers={"origin": origin}).status_code == 403
    assert anna.get("/by/anna/image/0/small", headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert read_records(store) == []


def test_every_answer_has_the_headers_that_keep_it_safe(anna: TestClient) -> None:
    for path in ("/", "/by/anna/", "/by/anna/grid/0", "/by/anna/image/0/small", "/static/main.js", "/nothing"):
        headers = anna.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
        assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"
    assert anna.get("/by/anna/").headers["cache-control"] == "no-store"


def test_pages_have_no_script_or_style_of_their_own_and_nothing_from_elsewhere(anna: TestClient) -> None:
    for path in ("/", "/by/anna/", "/by/anna/grid/3", "/by/anna/images", "/by/anna/mistakes", "/by/anna/answers"):
        text = anna.get(path).text
        tags = re.sub(r'(?<==)"[^"]*"', "", text)  # in quotes stands what others wrote
        assert re.findall(r"<script(?![^>]*src=\"/static/)", text) == []
        assert re.findall(r"<[^>]+\s(?:on\w+|style)\s*=", tags) == []
        assert re.findall(r"(?:src|href|action)=\"(?:https?:)?//", text) == []


def test_names_that_others_chose_are_text(anna: TestClient) -> None:
    home, grid, image = (anna.get(f"/by/anna/{path}").text for path in ("", "grid/3", "images?text=etc"))
    for text in (home, grid, image, anna.get("/by/%3Cb%3E/").text):
        assert HOSTILE not in text and "<script>document" not in text and "<img src=x" not in text
        assert "<b onmouseover" not in text and "\u202e" not in text and text.count("<b>") <= 1  # how it is sorted
    assert "&lt;script&gt;" in home and "\\u202e" in home and "&lt;b onmouseover" in image


@pytest.mark.parametrize(
    "path",
    [
        "/by/anna/image/../../../etc/passwd/small",
        "/by/anna/image/..%2f..%2fetc%2fpasswd/small",
        "/by/anna/image/0/..%2f..%2f",
        "/by/anna/image/0/huge",
        "/by/anna/image/-1/small",
        "/by/anna/image/120/small",
        f"/by/anna/image/{'9' * 400}/small",
        "/by/anna/map/120/0",
        "/by/anna/map/0/4",
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e/app.py",
        "/static//etc/passwd",
        "/by/anna/grid/4",
        "/by/anna/grid/0?order=nope",
        "/by/anna/grid/0?low=2",
        "/by/anna/grid/0?low=nan",
        "/by/anna/grid/0?low=x",
        "/by/anna/grid/0?split=nope",
        "/by/anna/secrets",
        "/by/anna/label/0/9",
        f"/by/{'x' * 41}/",
        "/by/%00/",
        "/name?who=",
        "/name?who=a%2Fb",
        "/name?who=..",
    ],
)
def test_what_is_not_there_is_refused(path: str, anna: TestClient) -> None:
    found = anna.get(path, follow_redirects=False)
    assert found.status_code in (400, 404), found.text
    assert "root:" not in found.text and "import" not in found.text and "Traceback" not in found.text


def test_what_is_too_long_or_of_another_kind_is_refused(anna: TestClient, store: Path) -> None:
    address, headers = "/by/anna/answers", {"origin": ORIGIN}
    assert anna.get(f"/by/anna/images?text={'x' * 3000}").status_code == 414
    assert anna.put(address, headers=headers).status_code == anna.delete("/by/anna/").status_code == 405
    assert anna.post("/by/anna/", headers=headers).status_code == 405
    assert anna.post(address, content=b"x" * (65 << 10), headers=headers).status_code == 413
    assert anna.post(address, content=iter([b"x"]), headers=headers).status_code == 411  # of unknown length
    assert anna.request("GET", "/by/anna/", content=b"x").status_code == 413
    assert anna.post(address, content=json.dumps(answers((0, 0, 1))), headers=headers).status_code == 400  # not as JSON
    assert anna.post(address, files={"a": b"x"}, headers=headers).status_code == 400
    assert read_records(store) == []


@pytest.mark.parametrize(
    "value",
    [
        [],
        {},
        answers(),
        answers((0, 0, 2)),
        answers((120, 0, 1)),
        answers((0, 4, 1)),
        answers((-1, 0, 1)),
        answers((0, 0, 1), view="<b>"),
        answers((0, 0, 1), batch=""),
        answers((0, 0, 1), batch="x" * 65),
        answers((0, 0, 1), batch=7),
        answers((0, 0, 1), sheet=None),
        answers((0.5, 0, 1)),  # type: ignore[arg-type]
        answers(*[(0, 0, 1)] * 101),
        {**answers(), "answers": [{"row": 0, "column": 0, "value": 1, "undone": "yes"}]},
        {**answers(), "answers": [7]},
    ],
)
def test_answers_that_our_page_would_not_send_are_refused(value: Any, anna: TestClient, store: Path) -> None:
    assert post(anna, "/by/anna/answers", value).status_code == 400
    assert read_records(store) == []


def test_deep_json_is_refused(anna: TestClient) -> None:
    headers = {"origin": ORIGIN, "content-type": "application/json"}
    assert anna.post("/by/anna/answers", content=b"[" * 60_000, headers=headers).status_code == 400


def test_too_many_requests_wait(stranger: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    now, gate = 0.0, stranger.app
    monkeypatch.setattr(gate_module.time, "monotonic", lambda: now)
    codes = [stranger.get("/?token=guess").status_code for _ in range(55)]
    assert codes == [403] * 50 + [429] * 5
    now = 10.0  # strangers may ask again
    assert stranger.get(f"/?token={TOKEN}").status_code == 200
    monkeypatch.setattr(gate, "_people", gate_module.Rates(per_second=2, at_once=5))
    assert [stranger.get("/by/anna/").status_code for _ in range(7)] == [200] * 5 + [429] * 2
    assert stranger.get("/by/ben/").status_code == 200  # others do not wait for her
    now = 11.0
    assert [stranger.get("/by/anna/").status_code for _ in range(3)] == [200, 200, 429]


def test_the_number_of_people_whose_rate_is_known_is_bounded() -> None:
    rates = gate_module.Rates(1, 1)
    for number in range(3000):
        assert rates.allows(str(number))
    assert len(rates._buckets) == 1000


def test_pictures_are_encoded_again_and_bounded(anna: TestClient, photos: Dataset, tmp_path: Path) -> None:
    assert photos.paths is not None
    found = anna.get("/by/anna/image/4/small")
    assert found.headers["content-type"] == "image/jpeg" and "max-age" in found.headers["cache-control"]
    with Image.open(io.BytesIO(found.content)) as ours, Image.open(photos.paths[4]) as original:
        assert ours.format == "JPEG" and original.format == "PNG" and ours.size == original.size


def test_an_image_that_cannot_be_read_and_a_missing_map_are_said(anna: TestClient, photos: Dataset) -> None:
    path = Path(photos.paths[5])  # type: ignore[index]
    whole = path.read_bytes()
    path.write_bytes(b"<html>no image</html>")
    try:
        found = anna.get("/by/anna/image/5/large")
        assert found.status_code == 404 and found.headers["content-type"].startswith("text/plain")
        assert "<html" not in found.text and str(path) not in found.text
    finally:
        path.write_bytes(whole)
    assert anna.get("/by/anna/map/0/0").status_code == anna.get("/by/anna/map/0/1").status_code == 404


def test_a_sheet_has_an_address_and_shows_what_was_answered(anna: TestClient, store: Path) -> None:
    page = anna.get("/by/anna/grid/1?order=positives")
    sheet = page.url.params["sheet"]
    places = [tuple(map(int, place)) for place in re.findall(r'data-row="(\d+)" data-column="(\d+)"', page.text)]
    assert len(places) == 24
    given = answers(*((row, column, 1) for row, column in places[:3]), sheet=sheet)
    told = post(anna, "/by/anna/answers", given).json()
    assert told["saved"] == told["mine"] == 3 and told["progress"].startswith("3 of ")
    again = anna.get(str(page.url))
    assert again.text.count('data-said="1"') == 3 and again.text.count('data-said=""') == 21
    assert anna.get("/by/anna/grid/1?order=positives&sheet=other").url.params["sheet"] != sheet
    assert {(one.image, one.value, one.who) for one in read_answers(store)} == {
        (f"photos/{row:03}.png", 1, "anna") for row, _ in places[:3]
    }
    answered = anna.get("/by/anna/answers").text
    assert all(f"/by/anna/label/{row}/{column}" in answered for row, column in places[:3])
    assert "you said present" in anna.get(f"/by/anna/label/{places[0][0]}/{places[0][1]}").text


def test_home_searches_and_sorts(anna: TestClient) -> None:
    names = re.compile(r'class="name">([^<]*)<')
    assert names.findall(anna.get("/by/anna/?q=TABLE").text) == ["dining table"]
    assert names.findall(anna.get("/by/anna/?sort=name").text)[1:] == ["bottle", "cat", "dining table"]
    assert "No class has this" in anna.get("/by/anna/?q=zebra").text


def test_what_cannot_be_saved_is_not_called_saved(
    anna: TestClient, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(records: object) -> None:
        raise TrilabelError("answers.db: cannot be read or written (database or disk is full)")

    monkeypatch.setattr(desk._writer._store, "add", full)
    found = post(anna, "/by/anna/answers", answers((0, 0, 1)))
    assert found.status_code == 507 and "not saved" in found.text and "disk is full" in found.text
    assert desk.answered.said == {}


def test_a_page_that_fails_tells_nothing_of_its_inside(
    anna: TestClient, desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(desk, "right", lambda column=None: 1 / 0)
    found = anna.get("/by/anna/")
    assert found.status_code == 500 and "ZeroDivision" not in found.text and "ZeroDivisionError" in caplog.text
    assert "content-security-policy" in found.headers
