"""The web application: which address leads to what."""

import os
from asyncio import wrap_future
from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar
from urllib.parse import quote

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from trilabel.errors import TrilabelError, explain
from trilabel.log import log
from trilabel.review.desk import Desk
from trilabel.review.model_process import ClassMaps
from trilabel.review.pages import Pages, static_files
from trilabel.review.pictures import CONTENT_TYPE, SIZES, Pictures
from trilabel.review.requests import BadRequest, left_sheets, person, sent_answers, view_of
from trilabel.review.views import View

_KEEP = {"cache-control": "private, max-age=86400, immutable"}
# Few threads: each keeps memory for itself, and more than there are cores gain nothing.
_PAGES_AT_ONCE, _PICTURES_AT_ONCE = 4, min(os.cpu_count() or 2, 8)
_MAPS_AT_ONCE = 4  # who wait for one: the model draws one at a time
P = ParamSpec("P")
T = TypeVar("T")


class App:
    """The pages, pictures and answers of one review."""

    def __init__(self, desk: Desk, pages: Pages, pictures: Pictures, maps: ClassMaps) -> None:
        self._desk, self._pages, self._pictures, self._maps = desk, pages, pictures, maps
        self._images, self._classes = desk.proposals.shape
        self._static = static_files()
        self._page_limit, self._picture_limit = CapacityLimiter(_PAGES_AT_ONCE), CapacityLimiter(_PICTURES_AT_ONCE)
        self._map_limit = CapacityLimiter(_MAPS_AT_ONCE)

    def starlette(self) -> Starlette:
        """The application, without the gate."""
        by, get, post = "/by/{who}", ["GET"], ["POST"]
        routes = [
            Route("/", self._names, methods=get),
            Route("/name", self._name, methods=get),
            Route(f"{by}/", self._home, methods=get),
            Route(f"{by}/grid/{{column:int}}", self._sheet, methods=get),
            Route(f"{by}/answers", self._answers, methods=get),
            Route(f"{by}/answers", self._answer, methods=post),
            Route(f"{by}/leave", self._leave, methods=post),
            Route(f"{by}/label/{{row:int}}/{{column:int}}", self._label, methods=get),
            Route(f"{by}/image/{{row:int}}/{{size}}", self._picture, methods=get),
            Route(f"{by}/map/{{row:int}}/{{column:int}}", self._map, methods=get),
            Route(f"{by}/{{kind}}", self._sheet, methods=get),
            Route("/static/{name}", self._file, methods=get),
        ]
        bad = dict.fromkeys((BadRequest, TrilabelError), self._bad)
        return Starlette(routes=routes, exception_handlers={**bad, 404: self._missing, 500: self._failed})

    async def _apart(self, work: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        """What takes longer than a moment, in a thread, so that answers are taken meanwhile."""
        return await to_thread.run_sync(partial(work, *arguments, **options), limiter=self._page_limit)

    async def _names(self, request: Request) -> Response:
        if request.query_params:
            return RedirectResponse("/", 303)  # who has the cookie already opened the link again
        return await self._apart(self._pages.names)

    async def _name(self, request: Request) -> Response:
        who = person(request.query_params.get("who", ""))
        return RedirectResponse(f"/by/{quote(who, safe='')}/", 303)

    async def _home(self, request: Request) -> Response:
        return await self._apart(self._pages.home, _who(request), request.query_params)

    async def _sheet(self, request: Request) -> Response:
        """A new sheet gets an address of its own, so that reloading shows it again."""
        who, query = _who(request), request.query_params
        column = request.path_params.get("column", -1)
        view = view_of(request.path_params.get("kind", "grid"), column, query, self._classes)
        given = query.get("sheet", "")
        sheet = await self._apart(self._desk.sheet, who, view, given, "new" in query)
        if sheet.id != given and sheet.cards:
            return RedirectResponse(self._pages.address(who, view, sheet=sheet.id), 303)
        return await self._apart(self._pages.sheet, sheet)

    async def _label(self, request: Request) -> Response:
        row, column = self._place(request)
        return await self._apart(self._pages.label, _who(request), row, column)

    async def _answers(self, request: Request) -> Response:
        return await self._apart(self._pages.answers, _who(request), request.query_params)

    async def _answer(self, request: Request) -> Response:
        """Answers only when the answers are safe on the disk."""
        who, sent = _who(request), sent_answers(await _body(request), self._images, self._classes)
        try:
            await wrap_future(self._desk.answer(who, sent.sheet, sent.view, sent.batch, sent.answers))
        except TrilabelError as error:
            log.error(explain(error))
            return PlainTextResponse(f"not saved: {explain(error)}", 507)
        column = sent.answers[0].column if sent.view == "grid" else -1
        view = View("images" if sent.view == "answers" else sent.view, column)  # type: ignore[arg-type]
        return JSONResponse({"saved": len(sent.answers), **self._pages.status(who, view)})

    async def _leave(self, request: Request) -> Response:
        self._desk.leave(_who(request), left_sheets(await _body(request)))
        return Response(status_code=204)

    async def _picture(self, request: Request) -> Response:
        row, size = self._place(request)[0], request.path_params["size"]
        if size not in SIZES:
            raise BadRequest("There is no such size.")
        try:
            picture = await to_thread.run_sync(self._pictures.jpeg, row, size, limiter=self._picture_limit)
        except TrilabelError as error:
            log.warning(explain(error))
            return PlainTextResponse("This image cannot be read.\n", 404)
        return Response(picture, headers=_KEEP, media_type=CONTENT_TYPE)

    async def _map(self, request: Request) -> Response:
        row, column = self._place(request)
        try:
            picture = await to_thread.run_sync(self._maps.draw, row, column, limiter=self._map_limit)
        except Exception as error:  # also of a process that was lost
            log.warning(f"no class map: {explain(error)}")
            picture = None
        if picture is None:
            return PlainTextResponse("There is no class map of this image.\n", 404)
        return Response(picture, headers=_KEEP, media_type=CONTENT_TYPE)

    async def _file(self, request: Request) -> Response:
        found = self._static.get(request.path_params["name"])
        if found is None:
            return PlainTextResponse("There is no such file.\n", 404)
        return Response(found[0], media_type=found[1])

    def _place(self, request: Request) -> tuple[int, int]:
        row, column = request.path_params["row"], request.path_params.get("column", 0)
        if not 0 <= row < self._images or not 0 <= column < self._classes:
            raise BadRequest("There is no such label.")
        return row, column

    async def _bad(self, request: Request, error: Exception) -> Response:
        if request.method == "POST":
            return PlainTextResponse(str(error), 400)
        return self._pages.message("This does not work", str(error), 400)

    async def _missing(self, request: Request, error: Exception) -> Response:
        return self._pages.message("There is no such page", "The address is wrong.", 404)

    async def _failed(self, request: Request, error: Exception) -> Response:
        log.error(f"a page failed: {explain(error)}")
        return PlainTextResponse("Something went wrong; the terminal of `trilabel review` says more.\n", 500)


def _who(request: Request) -> str:
    return person(request.path_params["who"])


async def _body(request: Request) -> bytes:
    if request.headers.get("content-type") != "application/json":
        raise BadRequest("Send JSON.")
    return await request.body()
