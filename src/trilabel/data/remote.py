"""Images that data names by URL, on the web or in an object store: fetched when asked to, checked, and kept.

Other programs and people wrote the URLs. Only those of protocols that lead to other machines are followed; what comes
back must be an image, complete and not too large, before it gets the name under which it is found again.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from trilabel.data.dataset import Dataset
from trilabel.data.decode import check_image, open_image
from trilabel.data.image_paths import is_image, url_rows
from trilabel.errors import TrilabelError
from trilabel.files import replacing
from trilabel.input_files import IMAGE_BYTES, limit, too_much
from trilabel.log import log, track
from trilabel.printable import plural
from trilabel.user_folders import user_folder

PROTOCOLS = ("http", "https", "s3", "gs", "gcs", "az", "abfs", "abfss", "hf")
_AT_ONCE, _BLOCK, _ATTEMPTS = 16, 1 << 20, 2


def cache_folder() -> Path:
    """Where fetched images are kept."""
    return user_folder("XDG_CACHE_HOME", ".cache", "LOCALAPPDATA") / "images"


def with_fetched_images(dataset: Dataset, fetch: bool) -> Dataset:
    """The data set with files in place of URLs, as far as these were fetched before, or are now if `fetch` says so.

    What could not be fetched keeps its URL, and counts as an image without a file.
    """
    rows = url_rows(dataset.paths) if dataset.paths is not None else []
    if not rows:
        return dataset
    paths = list(dataset.paths or ())
    files = {paths[row]: cached_file(paths[row]) for row in rows}
    wanted = [url for url, file in files.items() if not file.is_file()]
    faults = _fetch_all(wanted, files) if fetch and wanted else {}
    there = {url: str(file) for url, file in files.items() if file.is_file()}
    notes = _notes([paths[row] for row in rows], there, faults, fetch)
    for row in rows:
        paths[row] = there.get(paths[row], paths[row])
    return replace(dataset, paths=paths, notes=(*dataset.notes, *notes))


def cached_file(url: str) -> Path:
    """The file that the image of a URL is kept in."""
    code = hashlib.sha256(url.encode("utf-8", "surrogateescape")).hexdigest()[:40]
    path = urlsplit(url).path
    return cache_folder() / code[:2] / (code + (path[path.rfind(".") :].lower() if is_image(path) else ".jpg"))


def _notes(urls: Sequence[str], there: dict[str, str], faults: dict[str, str], fetch: bool) -> list[str]:
    missing = sum(url not in there for url in urls)
    found = [f"{len(urls) - missing} of {plural(len(urls), 'image')} named by URL are in {cache_folder()}"]
    if missing and not fetch:
        found.append(f"{missing} images named by URL are not here; pass fetch=True (--fetch) to fetch them")
    for message in list(faults.values())[:1]:
        found.append(f"{missing} images could not be fetched, the first: {message}")
    return found


def _fetch_all(urls: Sequence[str], files: dict[str, Path]) -> dict[str, str]:
    """Fetches images into their files; what is wrong with each that could not be."""
    refused = [url for url in urls if url.partition("://")[0].lower() not in PROTOCOLS]
    if refused:
        raise TrilabelError(
            f"{refused[0][:200]}: only {', '.join(PROTOCOLS)} are fetched; remove it, or copy the image"
        )
    hosts = Counter(urlsplit(url).netloc for url in urls)
    named = ", ".join(f"{host} ({count:,})" for host, count in hosts.most_common(5))
    log.info(f"fetching {plural(len(urls), 'image')} to {cache_folder()} from {named}{' …' if len(hosts) > 5 else ''}")
    _package()
    faults: dict[str, str] = {}
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        told = pool.map(lambda url: _fetch(url, files[url]), urls)
        for url, fault in zip(urls, track(told, "fetching images", len(urls)), strict=True):
            if fault:
                faults[url] = fault
    if len(faults) == len(urls) and len(urls) == len(files):
        raise TrilabelError(f"none of {plural(len(urls), 'image')} could be fetched; the first: {faults[urls[0]]}")
    return faults


def _fetch(url: str, target: Path) -> str | None:
    """Fetches an image, twice if the first attempt fails; returns what is wrong, None if nothing is."""
    fault = None
    for _ in range(_ATTEMPTS):
        try:
            with replacing(target) as temporary:
                _download(url, temporary)
                _check(temporary)
            return None
        except FileNotFoundError:
            return f"{url}: not found"
        except TrilabelError as error:
            return str(error).replace(str(target.parent), "…") if url in str(error) else f"{url}: {error}"
        except Exception as error:  # a dozen kinds, of the network and of each store
            fault = f"{url}: {(str(error).splitlines() or [''])[0] or type(error).__name__}"
    return fault


def _download(url: str, target: Path) -> None:
    most, size = limit(IMAGE_BYTES), 0
    store, place = _package().core.url_to_fs(url)
    streaming = {"block_size": 0} if url.lower().startswith("http") else {}
    with store.open(place, "rb", **streaming) as source, target.open("wb") as out:
        while block := source.read(_BLOCK):
            size += len(block)
            if size > most:
                raise TrilabelError(f"{url}: {too_much(f'more than {most:,} bytes', most, IMAGE_BYTES)}")
            out.write(block)


def _check(file: Path) -> None:
    """Refuses what is no image, such as a page that says that there is none, or not whole."""
    try:
        with open_image(file):
            pass
    except TrilabelError:
        raise
    except Exception:
        raise TrilabelError("what came is not an image") from None
    if fault := check_image(os.fspath(file)):
        raise TrilabelError(fault.partition(": ")[2])


def _package() -> Any:
    try:
        return import_module("fsspec")
    except ImportError:
        raise TrilabelError("fetching images needs fsspec; install it (pip install 'trilabel[remote]')") from None
