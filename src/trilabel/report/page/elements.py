"""Elements of HTML and SVG as safe text: whatever names others chose stand in them is escaped."""

from typing import Any

from markupsafe import Markup, escape


def element(name: str, *children: Any, **attributes: Any) -> Markup:
    """An element; children that are not markup are escaped, attributes without a value are left out.

    >>> element("text", "<script>", x=1.25, cls="axis", data_tip='a "b"')
    Markup('<text x="1.2" class="axis" data-tip="a &#34;b&#34;">&lt;script&gt;</text>')
    """
    given = {_attribute(key): value for key, value in attributes.items() if value is not None}
    words = Markup("").join(Markup(' {}="{}"').format(Markup(key), number(value)) for key, value in given.items())
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(name), words, Markup("").join(map(escape, children)))


def number(value: Any) -> Any:
    """A coordinate with one decimal, which is finer than a screen; anything else as it is.

    >>> number(3.14159), number(2.0), number("a")
    ('3.1', '2', 'a')
    """
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else value


def _attribute(name: str) -> str:
    return "class" if name == "cls" else name.replace("_", "-")
