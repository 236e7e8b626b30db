"""From a data set and a run to a running server."""

import getpass
import ipaddress
import secrets
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError, system_error
from trilabel.labels.names import Names
from trilabel.locks import owner, try_lock
from trilabel.log import log
from trilabel.printable import plural
from trilabel.review.limits import proposal_limits
from trilabel.review.model_process import ClassMaps, prepare_scores
from trilabel.review.proposals import Proposals
from trilabel.review.question_tables import read_questions
from trilabel.review.survey import survey
from trilabel.training.run_files import RunFiles

_FIRST_PORT, _PORTS_TRIED = 8765, 20
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


def open_proposals(dataset: Dataset, options: ReviewOptions) -> Proposals:
    """What a run proposes for a data set; scores that are missing are computed first."""
    prepared, files = prepare_scores(options.run, dataset, options.device, options.broken), RunFiles(options.run)
    logits = np.load(prepared.scores, mmap_mode="r", allow_pickle=False)
    present_from, absent_to = proposal_limits(
        files.path / "completion.json", list(map(str, dataset.classes)), prepared.thresholds
    )
    held_out = prepared.held_out
    if not held_out.all():
        log.warning(
            f"the model has learned from {plural(int((~held_out).sum()), 'image')} of these, so that its probabilities "
            "for them are too sure; a run with --val folds scores each image without having learned from it"
        )
    return Proposals(
        dataset.labels, logits, prepared.slope, prepared.shifts, present_from, absent_to, held_out, str(options.run)
    )


@contextmanager
def serving(
    dataset: Dataset,
    proposals: Proposals,
    options: ReviewOptions,
    token: str = "",
    listening: socket.socket | None = None,
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yields the link to the page and what runs the server until it is stopped; then closes everything.

    token, listening: of a server that is started again under the same address.
    """
    try:
        from trilabel.review.app import App
        from trilabel.review.gate import Gate
        from trilabel.review.pages import Pages
    except ModuleNotFoundError as error:
        raise TrilabelError(
            f"reviewing needs {error.name}, which is not installed: pip install 'trilabel[web]'"
        ) from None
    from trilabel.review.desk import Desk
    from trilabel.review.pictures import Pictures
    from trilabel.review.store import AnswerStore
    from trilabel.review.views import Views

    with try_lock(options.store, "review") as alone:
        if not alone:
            raise TrilabelError(
                f"{options.store}: another server has it open ({owner(options.store, 'review') or 'unknown'}); "
                "use that one, or give another file"
            )
        found = survey(proposals)
        table = None if options.questions is None else read_questions(options.questions, *_names(proposals))
        listed = RunFiles(options.run).path / "mistakes.csv"
        if listed.is_file():
            found = replace(found, mistakes=read_questions(listed, *_names(proposals)).keys)
        desk = Desk(
            proposals,
            found,
            Views(dataset, proposals, found, table),
            AnswerStore(options.store),
            options.votes,
            options.random_share,
        )
        if desk.of_others:
            log.warning(f"{options.store}: {plural(desk.of_others, 'answer')} about other images or classes")
        maps = ClassMaps(options.run, dataset, options.device)
        bound = listening or _listen(options.host, options.port)
        port, token = bound.getsockname()[1], token or secrets.token_urlsafe(18)
        pages = Pages(desk, dataset, found.population, _user())
        app = Gate(App(desk, pages, Pictures(dataset), maps).starlette(), token, _names_of(options.host), port)
        try:
            yield f"http://{_address(options.host)}:{port}/?token={token}", lambda: _run(app, bound)
        finally:
            desk.close()
            maps.close()
            bound.close()


def _run(app: object, bound: socket.socket) -> None:
    import uvicorn

    config = uvicorn.Config(
        app,  # type: ignore[arg-type]
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


def _listen(host: str, port: int | None) -> socket.socket:
    """A socket at this port, or at the first free one of a few."""
    tried = [port] if port is not None else list(range(_FIRST_PORT, _FIRST_PORT + _PORTS_TRIED))
    for number in tried:
        bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, number))
            bound.listen(1024)
        except OSError as error:
            bound.close()
            if number == tried[-1]:
                raise system_error(error, f"{host}:{number}", "give another --port, or --host") from None
        except OverflowError:
            raise TrilabelError(f"port {number}: give a number from 0 to 65535") from None
        else:
            return bound
    raise AssertionError


def is_loopback(host: str) -> bool:
    """Whether only programs of this machine can reach it."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _address(host: str) -> str:
    """The host in a link: of all addresses of a machine, its name."""
    if host in ("0.0.0.0", "::"):
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host


def _names_of(host: str) -> list[str]:
    return [host, socket.gethostname()] if not is_loopback(host) else [host]


def _names(proposals: Proposals) -> tuple[Names, Names]:
    return proposals.ids, proposals.labels.classes


def _user() -> str:
    try:
        return getpass.getuser()[:40]
    except (OSError, KeyError, ImportError):
        return ""
