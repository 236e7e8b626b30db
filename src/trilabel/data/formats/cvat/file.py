"""An annotations.xml of CVAT, with checked access to its elements."""

import math
from pathlib import Path
from xml.etree.ElementTree import Element
from xml.parsers import expat

from trilabel.data.formats._shared.xml_document import read_xml
from trilabel.data.text_files import shown
from trilabel.errors import TrilabelError
from trilabel.input_files import read_input


class Document:
    """The tree of elements, with errors that name lines."""

    def __init__(self, file: Path) -> None:
        self.file, self.root = file, read_xml(file)
        if self.root.tag != "annotations":
            raise TrilabelError(f"{file}: its first element is {self.root.tag!r}; in CVAT's file it is 'annotations'")

    def error_at(self, element: Element, what: str) -> TrilabelError:
        """An error about an element. The tree has no line numbers, so the file is parsed again to find the line."""
        wanted = next(number for number, other in enumerate(self.root.iter()) if other is element)
        lines: list[int] = []
        parser = expat.ParserCreate()
        parser.StartElementHandler = lambda *_: lines.append(parser.CurrentLineNumber)
        parser.Parse(read_input(self.file), True)
        return TrilabelError(f"{self.file}, line {lines[wanted]}: {what}")

    def text(self, element: Element, key: str) -> str:
        """A required attribute."""
        if not (found := element.get(key, "").strip()):
            raise self.error_at(element, f"<{element.tag}> has no {key}")
        return found

    def number(self, element: Element, key: str, least: float = -math.inf) -> float:
        """An attribute that must be a number."""
        text = self.text(element, key)
        try:
            found = float(text)
        except ValueError:
            found = math.nan
        if not (math.isfinite(found) and found >= least):
            raise self.error_at(element, f"<{element.tag}> has {key} {shown(text)}, which is not such a number")
        return found

    def labels(self) -> tuple[list[str], dict[tuple[str, str], None]]:
        """The declared labels, and (label, attribute) of the checkboxes. Parts of skeletons are not labels."""
        names: dict[str, None] = {}
        tick: dict[tuple[str, str], None] = {}  # in order
        for label in self.root.iterfind("meta/*/labels/label"):
            if (label.findtext("parent") or "").strip():
                continue
            name = (label.findtext("name") or "").strip()
            if not name or name in names:
                raise self.error_at(
                    label, f"label {name!r} is declared twice" if name else "a <label> without a <name>"
                )
            names[name] = None
            for attribute in label.iterfind("attributes/attribute"):
                if (attribute.findtext("input_type") or "").strip() == "checkbox":
                    tick[name, (attribute.findtext("name") or "").strip()] = None
        return list(names), tick

    def box(self, thing: Element, picture: Element) -> tuple[float, float, float, float]:
        """The upright box around a rectangle, which may be rotated about its center, as shares of the image."""
        wide, high = (self.number(picture, key, least=1) for key in ("width", "height"))
        x0, y0, x1, y1 = (self.number(thing, key) for key in ("xtl", "ytl", "xbr", "ybr"))
        if thing.get("rotation"):
            turn = math.radians(self.number(thing, "rotation"))
            cos, sin = abs(math.cos(turn)), abs(math.sin(turn))
            x, y, w, h = (x0 + x1) / 2, (y0 + y1) / 2, (x1 - x0) / 2, (y1 - y0) / 2
            across, down = w * cos + h * sin, w * sin + h * cos
            x0, y0, x1, y1 = x - across, y - down, x + across, y + down
        return x0 / wide, y0 / high, x1 / wide, y1 / high
