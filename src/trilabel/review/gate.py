"""Who may ask for what: checked for every request before anything else sees it.

A page on one's own machine can be reached by every web page that the same browser shows, and by every program of the
same machine. So a request needs the cookie that the link with the token sets, must name this machine as its host (else
a web page could get here by a name that leads to 127.0.0.1), and may change something only from our own pages.
"""

import ipaddress
import secrets
import time
from collections import OrderedDict
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, unquote

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_MOST_BYTES = 64 << 10  # of what a request sends
_LONGEST_ADDRESS = 2000
_PER_SECOND, _AT_ONCE = 100.0, 1000.0  # requests of one person
_STRANGERS_PER_SECOND, _STRANGERS_AT_ONCE = 5.0, 50.0
_MOST_PEOPLE = 1000
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
NO_TOKEN = "Open the link that `trilabel review` printed: it has the token that lets you in.\n"


class Rates:
    """How many requests each of several may make: a bucket that fills steadily."""

    def __init__(self, per_second: float, at_once: float) -> None:
        self._per_second, self._at_once = per_second, at_once
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # what is in it, and since when

    def allows(self, name: str) -> bool:
        """Whether one more is allowed."""
        now = time.monotonic()
        level, since = self._buckets.pop(name, (self._at_once, now))
        level = min(self._at_once, level + (now - since) * self._per_second)
        self._buckets[name] = (level - 1 if level >= 1 else level, now)
        while len(self._buckets) > _MOST_PEOPLE:
            self._buckets.popitem(last=False)
        return level >= 1


class Gate:
    """Lets requests through to the pages, or answers them itself."""

    def __init__(self, app: ASGIApp, token: str, hosts: Iterable[str] = (), port: int = 0) -> None:
        """hosts: further names of this machine; numbers and localhost are allowed in any case."""
        self._app, self._token = app, token
        self._session = secrets.token_urlsafe(32)
        self._cookie = f"trilabel_review_{port}"  # browsers send the cookies of a host to all its ports
        self._hosts = {"localhost", *(host.lower() for host in hosts)}
        self._people, self._strangers = Rates(_PER_SECOND, _AT_ONCE), Rates(_STRANGERS_PER_SECOND, _STRANGERS_AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] != "http":
            return

        async def send_safely(message: Message) -> None:
            """With the headers that every answer has."""
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        refusal = self._refusal(scope)
        await (self._app if refusal is None else refusal)(scope, receive, send_safely)

    def _refusal(self, scope: Scope) -> Response | None:
        """The answer to a request that does not reach the pages."""
        headers, method = Headers(scope=scope), scope["method"]
        if not self._is_our_host(headers.get("host", "")):
            return _text("This host is not one of this server's names.\n", 421)
        if method not in ("GET", "HEAD", "POST"):
            return _text("Only pages, pictures and answers here.\n", 405)
        if len(scope["raw_path"]) + len(scope["query_string"]) > _LONGEST_ADDRESS:
            return _text("The address is too long.\n", 414)
        if (refusal := _foreign(headers, method)) or (refusal := _too_much(headers, method)):
            return refusal
        if not self._is_known(headers):
            return self._let_in(scope)
        if not self._people.allows(_person(scope["path"])):
            return _text("Too many requests; wait a moment.\n", 429, {"retry-after": "1"})
        return None

    def _let_in(self, scope: Scope) -> Response:
        """Sets the cookie for who has the token."""
        if not self._strangers.allows(scope["client"][0] if scope.get("client") else ""):
            return _text("Too many requests; wait a moment.\n", 429, {"retry-after": "1"})
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[-1]
        if scope["path"] != "/" or not secrets.compare_digest(given.encode(), self._token.encode()):
            return _text(NO_TOKEN, 403)
        answer = RedirectResponse("/", 303)  # without the token, which would stay in the history
        answer.set_cookie(self._cookie, self._session, httponly=True, samesite="strict", path="/")
        return answer

    def _is_known(self, headers: Headers) -> bool:
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return False
        found = cookies.get(self._cookie)
        return found is not None and secrets.compare_digest(found.value.encode(), self._session.encode())

    def _is_our_host(self, host: str) -> bool:
        """A number cannot be made to lead elsewhere, as a name can."""
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return name.lower() in self._hosts
        return True


def _foreign(headers: Headers, method: str) -> Response | None:
    """Refuses what another page makes a browser ask for."""
    origin = headers.get("origin")
    same = origin is not None and origin.partition("://")[2] == headers.get("host")
    if (origin is not None or method == "POST") and not same:
        return _text("Answers are taken from our own pages only.\n", 403)
    if headers.get("sec-fetch-site") in ("cross-site", "same-site") and headers.get("sec-fetch-mode") != "navigate":
        return _text("Pictures are for our own pages only.\n", 403)
    return None


def _too_much(headers: Headers, method: str) -> Response | None:
    length = headers.get("content-length", "0" if method != "POST" else "")
    if "transfer-encoding" in headers or not length.isdecimal():
        return _text("Say how long it is.\n", 411)
    if len(length) > 9 or int(length) > (_MOST_BYTES if method == "POST" else 0):
        return _text("Too much at once.\n", 413)
    return None


def _person(path: str) -> str:
    """Whom a page is for; each has a rate of their own."""
    parts = path.split("/")
    return unquote(parts[2]) if len(parts) > 2 and parts[1] == "by" else ""


def _text(text: str, status: int, headers: dict[str, str] | None = None) -> Response:
    return PlainTextResponse(text, status, headers)
