"""`trilabel review`: from a run to the page and back to labels; the browser is in tests/review."""

import http.client
import io
import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.support.command_line import Capture, call, complaint
from trilabel.review import serving
from trilabel.review.store import AnswerStore, read_answers

pytest.importorskip("starlette", reason="trilabel review needs the extra [web]")
testclient = pytest.importorskip("starlette.testclient", reason="needs starlette's test client")

Visit = Callable[[Any], None]


@pytest.fixture
def review(project: Path, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> Any:
    """Runs the command with a visitor instead of a network: a client that has opened the link."""

    def command(visit: Visit, *more: Any) -> str:
        told = list[str]()

        def serve(app: Any, bound: Any) -> None:
            printed = capsys.readouterr()
            told.append(printed.err)
            token = re.search(r"http://127\.0\.0\.1:(\d+)/\?token=([\w-]+)", printed.out)
            assert token and int(token[1]) == bound.getsockname()[1]
            client = testclient.TestClient(app, f"http://127.0.0.1:{token[1]}")
            assert client.get(f"/?token={token[2]}").status_code == 200
            visit(client)

        monkeypatch.setattr(serving, "_run", serve)
        given = [project / "labels.csv", "--images", project / "photos", "--run", run, "--store", tmp_path / "a.db"]
        assert call("review", *given, "--port", 0, *more) == 0
        return told[0]

    return command


def post(client: Any, value: dict[str, Any]) -> Any:
    return client.post("/by/anna/answers", json=value, headers={"origin": str(client.base_url)})


def test_from_a_run_to_answers(review: Any, run: Path, tmp_path: Path) -> None:
    def visit(client: Any) -> None:
        page = client.get("/by/anna/grid/0")
        places = re.findall(r'data-row="(\d+)" data-column="(\d+)"', page.text)
        given = [{"row": int(row), "column": int(column), "value": 1} for row, column in places]
        sent = {"batch": "b", "sheet": page.url.params["sheet"], "view": "grid", "answers": given}
        assert post(client, sent).json()["saved"] == 24
        small, mapped = (client.get(f"/by/anna/{path}") for path in ("image/0/small", "map/0/1"))
        for picture in (small, mapped):
            with Image.open(io.BytesIO(picture.content)) as image:
                assert image.format == "JPEG" and image.width > 16
        maps = [{client.get(f"/by/anna/map/{row}/{column}").content for column in range(14)} for row in range(4)]
        assert max(map(len, maps)) > 1  # a class that it sees nowhere has no color

    told = review(visit)
    assert "the model has learned from" in told  # so its probabilities are too sure
    answers = read_answers(tmp_path / "a.db")
    assert len(answers) == 24 and all(0 <= (one.probability or 0) <= 1 for one in answers)
    review(lambda client: client.get("/by/anna/"), "--json")  # it goes on


def test_questions_of_a_table_and_mistakes_of_the_run(
    review: Any, project: Path, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = [line.partition(",")[0] for line in (project / "labels.csv").read_text().splitlines()[1:4]]
    header = (project / "labels.csv").read_text().partition("\n")[0].split(",")
    audit = tmp_path / "filled.audit.csv"
    rows = [f"{images[0]},{header[2]},0.9,1,", f"{images[1]},{header[1]},0.2,0,"]
    audit.write_text("\n".join(["image,class,probability,proposed,answer", *rows]) + "\n")
    (run / "mistakes.csv").write_text(f"image,class,known,probability,expected\n{images[2]},{header[3]},1,0.01,0.9\n")

    def visit(client: Any) -> None:
        asked = client.get("/by/anna/questions")
        assert re.findall(r'data-row="(\d+)" data-column="(\d+)"', asked.text) == [("0", "1"), ("1", "0")]
        assert "the random audit of filled.audit.csv" in client.get("/by/anna/").text
        doubted = client.get("/by/anna/mistakes")
        assert re.findall(r'data-row="(\d+)" data-column="(\d+)"', doubted.text) == [("2", "2")]
        given = [{"row": 0, "column": 1, "value": -1}]
        post(client, {"batch": "b", "sheet": "", "view": "questions", "answers": given})

    try:
        review(visit, "--questions", audit)
    finally:
        (run / "mistakes.csv").unlink()
    (answer,) = read_answers(tmp_path / "a.db")
    assert (answer.image, answer.cls, answer.value, answer.view) == (images[0], header[2], -1, "audit")
    assert answer.random


def test_what_is_wrong_is_said(
    project: Path, run: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = ["review", project / "labels.csv", "--images", project / "photos"]
    given = [*data, "--run", run, "--store", tmp_path / "a.db"]
    assert "--votes 0: give 1 or more" in complaint(capsys, *given, "--votes", 0, code=2)
    assert "--random-share 0.9" in complaint(capsys, *given, "--random-share", 0.9, code=2)
    assert "not a run folder (no config.json in it)" in complaint(
        capsys, *data, "--run", tmp_path / "no", "--store", tmp_path / "a.db"
    )
    assert "this is a folder" in complaint(capsys, *data, "--run", run, "--store", tmp_path)
    (tmp_path / "text.db").write_text("hello " * 100)
    assert "store of answers" in complaint(capsys, *data, "--run", run, "--store", tmp_path / "text.db")
    (tmp_path / "q.csv").write_text("image,class\nx.png,cat\n")
    assert "q.csv, row 2: no image 'x.png'" in complaint(capsys, *given, "--questions", tmp_path / "q.csv")
    with serving.try_lock(tmp_path / "a.db", "review"):
        assert "another server has it open" in complaint(capsys, *given)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert "pip install 'trilabel[web]'" in complaint(capsys, *given)


def test_a_taken_port_is_named(project: Path, run: Path, tmp_path: Path, capsys: Capture) -> None:
    with serving.listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        told = complaint(
            capsys,
            *("review", project / "labels.csv", "--images", project / "photos"),
            *("--run", run, "--store", tmp_path / "a.db", "--port", port),
        )
    assert f"127.0.0.1:{port}" in told and "--port" in told


@pytest.mark.slow
def test_the_model_is_in_a_process_of_its_own(project: Path, run: Path, tmp_path: Path) -> None:
    AnswerStore(tmp_path / "a.db").close()
    command = [sys.executable, "-m", "trilabel", "review", project / "labels.csv", "--images", project / "photos"]
    command += ["--run", run, "--store", tmp_path / "a.db", "--port", "0", "--json"]
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            link = json.loads("".join(iter(server.stdout.readline, "}\n")) + "}")["link"]
            host, _, path = link.removeprefix("http://").partition("/")
            connection = http.client.HTTPConnection(host, timeout=300)
            connection.request("GET", f"/{path}")
            answer = connection.getresponse()
            answer.read()
            cookie = {"Cookie": str(answer.getheader("set-cookie")).partition(";")[0]}
            connection.request("GET", "/by/anna/map/0/1", headers=cookie)
            answer = connection.getresponse()
            assert answer.status == 200 and answer.read().startswith(b"\xff\xd8")
            loaded = Path(f"/proc/{server.pid}/maps")
            assert not loaded.exists() or "libtorch" not in loaded.read_text()
        finally:
            server.send_signal(signal.SIGINT)
            assert server.wait(60) == 130
