"""From a data set and a run to a running server."""

import getpass
import secrets
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.locks import owner, try_lock
from trilabel.log import log
from trilabel.printable import plural
from trilabel.review.addresses import address_of, listen, names_of
from trilabel.review.limits import proposal_limits
from trilabel.review.model_process import ClassMaps, prepare_scores
from trilabel.review.proposals import Proposals
from trilabel.review.question_tables import read_questions
from trilabel.review.survey import survey
from trilabel.training.run_files import RunFiles

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from trilabel.review.desk import Desk

_CONNECTIONS = 400


@dataclass(frozen=True)
class ReviewOptions:
    """How to review."""

    run: Path
    store: Path
    questions: Path | None = None
    votes: int = 1
    random_share: float = 0.1
    host: str = "127.0.0.1"
    port: int | None = None
    device: str = "auto"
    broken: str = "stop"


def open_proposals(dataset: Dataset, run: Path, device: str = "auto", broken: str = "stop") -> Proposals:
    """What a run proposes for a data set; scores that are missing are computed first."""
    prepared, files = prepare_scores(run, dataset, device, broken), RunFiles(run)
    logits = np.load(prepared.scores, mmap_mode="r", allow_pickle=False)
    names, own = list(map(str, dataset.classes)), (prepared.thresholds, prepared.slope, prepared.shifts)
    limits = proposal_limits(files.path / "completion.json", names, *own)
    held_out = prepared.held_out
    if not held_out.all():
        log.warning(
            f"the model has learned from {plural(int((~held_out).sum()), 'image')} of these, so that its probabilities "
            "for them are too sure; a run with --val folds scores each image without having learned from it"
        )
    calibrated = limits.slope, limits.shifts, limits.present_from, limits.absent_to
    return Proposals(dataset.labels, logits, *calibrated, held_out, str(run))


def open_desk(dataset: Dataset, proposals: Proposals, options: ReviewOptions) -> "Desk":
    """The desk for these proposals, with the answers that the store has."""
    from trilabel.review.desk import Desk
    from trilabel.review.store import AnswerStore
    from trilabel.review.views import Views

    found, names = survey(proposals), (proposals.ids, proposals.labels.classes)
    table = None if options.questions is None else read_questions(options.questions, *names)
    listed = RunFiles(options.run).path / "mistakes.csv"
    if listed.is_file():
        found = replace(found, mistakes=read_questions(listed, *names).keys)
    views, store = Views(dataset, proposals, found, table), AnswerStore(options.store)
    desk = Desk(proposals, found, views, store, options.votes, options.random_share)
    if desk.of_others:
        log.warning(f"{options.store}: {plural(desk.of_others, 'answer')} about other images or classes")
    return desk


@contextmanager
def serving(
    dataset: Dataset, proposals: Proposals, options: ReviewOptions, token: str = ""
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yields the link to the page and what runs the server until it is stopped; then closes everything.

    token: what lets people in; none: a new one.
    """
    token = token or secrets.token_urlsafe(18)
    with try_lock(options.store, "review") as alone, listen(options.host, options.port) as bound:
        if not alone:
            raise TrilabelError(
                f"{options.store}: another server has it open ({owner(options.store, 'review') or 'unknown'}); "
                "use that one, or give another file"
            )
        desk, maps = open_desk(dataset, proposals, options), ClassMaps(options.run, dataset, options.device)
        port = bound.getsockname()[1]
        app = make_app(desk, dataset, maps, token, names_of(options.host), port)
        try:
            yield f"http://{address_of(options.host)}:{port}/?token={token}", lambda: _run(app, bound)
        finally:
            desk.close()
            maps.close()


def require_web() -> None:
    """Says what to install where it is not."""
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ModuleNotFoundError as error:
        raise TrilabelError(
            f"reviewing needs {error.name}, which is not installed: pip install 'trilabel[web]'"
        ) from None


def make_app(
    desk: "Desk", dataset: Dataset, maps: ClassMaps, token: str, hosts: Iterable[str] = (), port: int = 0
) -> "ASGIApp":
    """The web application of a desk."""
    from trilabel.review.app import App
    from trilabel.review.gate import Gate
    from trilabel.review.pages import Pages
    from trilabel.review.pictures import Pictures

    pages = Pages(desk, dataset, desk.survey.population, _user())
    return Gate(App(desk, pages, Pictures(dataset), maps).starlette(), token, hosts, port)


def _run(app: "ASGIApp", bound: socket.socket) -> None:
    import uvicorn

    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=_CONNECTIONS,
        timeout_graceful_shutdown=3,
        h11_max_incomplete_event_size=16 << 10,
    )
    uvicorn.Server(config).run([bound])


def _user() -> str:
    try:
        return getpass.getuser()[:40]
    except (OSError, KeyError, ImportError):
        return ""
