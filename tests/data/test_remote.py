"""Images by URL: fetched only when asked to, from a server of the test, checked, and found again without it."""

import io
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from PIL import Image

import trilabel as tl
from tests.support.command_line import Capture, result
from trilabel.data import read, write
from trilabel.data.decode import decode, validate_images
from trilabel.data.image_paths import existing, is_url
from trilabel.data.remote import cache_folder, cached_file
from trilabel.errors import TrilabelError

fsspec = pytest.importorskip("fsspec")
pytest.importorskip("aiohttp")


def png(red: int = 9) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (6, 4), (red, 0, 0)).save(out, "PNG")
    return out.getvalue()


CONTENTS = {"/a.png": png(1), "/b.png?size=2": png(2), "/page.png": b"<html>no such image</html>"}
CONTENTS |= {"/cut.png": png()[:-30], "/large.png": png() + b"\0" * 9000}


class Server(ThreadingHTTPServer):
    """Serves images, and answers that are none; remembers what was asked for."""

    daemon_threads = True

    def __init__(self) -> None:
        self.asked: list[str] = []
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        self.wfile.write(self.do_HEAD())

    def do_HEAD(self) -> bytes:
        content = CONTENTS.get(self.path, b"")
        self.send_response(200 if content else 404)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        return content

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv("TRILABEL_HOME", str(tmp_path / "home"))
    with Server() as found:
        threading.Thread(target=found.serve_forever, daemon=True).start()
        yield found
        found.shutdown()


def table(folder: Path, *urls: str) -> Path:
    file = folder / "labels.csv"
    file.write_text("image,cat\n" + "".join(f"{url},1\n" for url in urls))
    return file


def test_nothing_is_fetched_unless_asked(server, tmp_path):
    file = table(tmp_path, f"{server.url}/a.png", f"{server.url}/b.png?size=2")
    dataset = read(file)
    assert dataset.paths == [f"{server.url}/a.png", f"{server.url}/b.png?size=2"] and not server.asked
    assert dataset.notes[-1] == "2 images named by URL are not here; pass fetch=True (--fetch) to fetch them"
    assert not existing(dataset.paths).any()
    told = [message for _, message in validate_images(list(dataset.paths), shown=False)]
    assert told[0] == f"{server.url}/a.png: no such image here; pass --fetch to fetch it" and len(told) == 2
    with pytest.raises(TrilabelError, match="no such image here; pass --fetch"):
        decode(dataset.paths[0], 4)


def test_fetched_once_and_found_again(server, tmp_path):
    file = table(tmp_path, f"{server.url}/a.png", f"{server.url}/b.png?size=2")
    dataset = read(file, fetch=True)
    assert sorted(server.asked) == ["/a.png", "/b.png?size=2"] and existing(dataset.paths).all()
    assert [int(decode(path, 2)[0, 0, 0]) for path in dataset.paths] == [1, 2]
    assert list(dataset.ids) == [f"{server.url}/a.png", f"{server.url}/b.png?size=2"]
    assert dataset.notes[-1] == f"2 of 2 images named by URL are in {cache_folder()}"
    assert read(file).paths == read(file, fetch=True).paths == dataset.paths and len(server.asked) == 2
    write(dataset, tmp_path / "out.trilabel")
    assert existing(read(tmp_path / "out.trilabel").paths).all()


def test_what_is_no_whole_image_is_not_kept(server, tmp_path, monkeypatch):
    monkeypatch.setenv("TRILABEL_MAX_IMAGE_BYTES", "5000")
    bad = ("none.png", "page.png", "cut.png", "large.png")
    file = table(tmp_path, *(f"{server.url}/{name}" for name in ("a.png", *bad)))
    dataset = read(file, fetch=True)
    assert existing(dataset.paths).tolist() == [True, False, False, False, False]
    assert len(read(file, missing="drop")) == 1
    assert f"4 images could not be fetched, the first: {server.url}/none.png: not found" in dataset.notes
    assert [path.name for path in cache_folder().rglob("*") if path.is_file()] == [Path(dataset.paths[0]).name]
    for name, why in zip(bad[1:], ("is not an image", "broken image", "more than 5,000 bytes"), strict=True):
        with pytest.raises(TrilabelError, match=rf"none of 1 image could be fetched; the first: .*{name}: .*{why}"):
            read(table(tmp_path, f"{server.url}/{name}"), fetch=True)


def test_a_host_that_does_not_answer(tmp_path, monkeypatch):
    monkeypatch.setenv("TRILABEL_HOME", str(tmp_path / "home"))
    with pytest.raises(TrilabelError, match=r"could be fetched; the first: http://127\.0\.0\.1:9/a\.png: "):
        read(table(tmp_path, "http://127.0.0.1:9/a.png"), fetch=True)


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "memory://a.png", "local://a.png", "simplecache::http://x/a.png"]
)
def test_only_other_machines_are_asked(tmp_path, monkeypatch, url):
    monkeypatch.setenv("TRILABEL_HOME", str(tmp_path / "home"))
    if not is_url(url):  # a chain of protocols is a strange name of a file
        assert read(table(tmp_path, url), fetch=True).paths[0].startswith(str(tmp_path))
        return
    with pytest.raises(TrilabelError, match="only http, https, s3, gs, gcs, az, abfs, abfss, hf are fetched"):
        read(table(tmp_path, url), fetch=True)


def test_an_object_store(tmp_path, monkeypatch):
    """Any store that fsspec knows is read in the same way; this one is in memory."""
    monkeypatch.setenv("TRILABEL_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("trilabel.data.remote.PROTOCOLS", ("memory",))
    fsspec.filesystem("memory").pipe("/bucket/a.png", png(7))
    dataset = read(table(tmp_path, "memory://bucket/a.png"), fetch=True)
    assert int(decode(dataset.paths[0], 2)[0, 0, 0]) == 7


def test_tasks_of_label_studio(server, tmp_path):
    task = {"id": 1, "data": {"image": f"{server.url}/a.png"}, "annotations": []}
    (tmp_path / "tasks.json").write_text(json.dumps([task]))
    assert read(tmp_path / "tasks.json").paths == [f"{server.url}/a.png"]
    dataset = read(tmp_path / "tasks.json", fetch=True)
    assert list(dataset.ids) == ["a.png"] and existing(dataset.paths).all()
    (tmp_path / "images").mkdir()
    (tmp_path / "images/a.png").write_bytes(png(3))
    assert read(tmp_path / "tasks.json").paths == [str(tmp_path / "images/a.png")]


def test_from_the_command_line(server, tmp_path, capsys: Capture):
    file = table(tmp_path, f"{server.url}/a.png")
    assert result(capsys, "data", "inspect", file)["images_without_file"] == 1
    assert result(capsys, "data", "inspect", file, "--fetch")["images_without_file"] == 0
    assert len(server.asked) == 1


def test_urls_stay_whole_where_paths_are_written(tmp_path):
    dataset = read(table(tmp_path, "https://example.org/a/1.png"))
    for name in ("out.csv", "out.trilabel"):
        write(dataset, tmp_path / "sub" / name)
        assert read(tmp_path / "sub" / name).paths == ["https://example.org/a/1.png"]
    assert is_url("s3://b/x.jpg") and not is_url("C:\\x") and not is_url("photos/1.jpg")
    assert cached_file("https://h/x.PNG?a=1").suffix == ".png" and cached_file("https://h/x?y=1").suffix == ".jpg"
    assert cached_file("https://h/1.jpg") != cached_file("https://h/2.jpg")


def test_without_fsspec(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    monkeypatch.setenv("TRILABEL_HOME", str(tmp_path / "home"))
    with pytest.raises(TrilabelError, match=r"needs fsspec; install it \(pip install 'trilabel\[remote\]'\)"):
        tl.data.read(table(tmp_path, "https://example.org/a.png"), fetch=True)
