"""From sections to one HTML file that needs nothing else: styles, script and pictures are inside."""

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import jinja2
from markupsafe import Markup, escape

from trilabel.files import write_text
from trilabel.report.asset_files import asset
from trilabel.report.page.blocks import Section
from trilabel.report.page.elements import element
from trilabel.version import __version__


def write_page(out: Path, title: str, subtitle: str, sections: Sequence[Section]) -> None:
    """Writes the page, completely or not at all."""
    write_text(out, render(title, subtitle, sections))


def render(title: str, subtitle: str, sections: Sequence[Section]) -> str:
    """The page as text."""
    style, script = asset("tokens.css") + asset("report.css"), asset("report.js")
    return (
        _environment()
        .get_template("report.html")
        .render(
            title=title,
            subtitle=subtitle,
            sections=sections,
            style=Markup(style),
            script=Markup(script),
            policy=_policy(script),
            version=__version__,
        )
    )


def _policy(script: str) -> str:
    """What a browser may do with the page: nothing from elsewhere, and no script but ours, whatever names contain."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    rules = ("default-src 'none'", "img-src data:", "style-src 'unsafe-inline'", f"script-src 'sha256-{digest}'")
    return "; ".join((*rules, "base-uri 'none'", "form-action 'none'"))


@cache
def _environment() -> jinja2.Environment:
    loader = jinja2.FunctionLoader(asset)
    found = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    found.filters["coded"] = coded
    return found


def coded(text: str) -> Markup:
    """Text with what stands in backticks as code.

    >>> coded("run `trilabel report <RUN>`")
    Markup('run <code>trilabel report &lt;RUN&gt;</code>')
    """
    parts = text.split("`")
    if len(parts) % 2 == 0:  # one of them has no partner
        return escape(text)
    return Markup("").join(element("code", part) if place % 2 else escape(part) for place, part in enumerate(parts))
