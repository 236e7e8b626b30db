"""What a page is made of: sections of blocks. A block names the template that draws it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from markupsafe import Markup


class Tile(NamedTuple):
    """A number that matters, and what it is."""

    label: str
    value: str
    note: str = ""


class Chart(NamedTuple):
    """A drawing with its title, what it shows, and what its tones mean."""

    title: str
    caption: str
    svg: Markup
    legend: Sequence[tuple[str, str]] = ()  # (tone, words)


class BarRow(NamedTuple):
    """A name and how something is divided: (tone, share in %, what it is) each."""

    name: str
    parts: Sequence[tuple[str, float, str]]
    text: str


class Picture(NamedTuple):
    """An image inside the page."""

    uri: str
    width: int
    height: int


class CardRow(NamedTuple):
    """One label of an image."""

    name: str
    words: str
    tone: str
    share: float | None = None  # a bar, in %
    drawing: Markup = Markup("")
    overlay: str = ""  # the URI of its class activation map


class Card(NamedTuple):
    """An image, its picture where there is one, and some of its labels."""

    title: str
    rows: Sequence[CardRow]
    picture: Picture | None = None
    note: str = ""

    @property
    def first_mapped(self) -> int | None:
        """The place of the first label that has a class activation map, which is shown first."""
        return next((place for place, row in enumerate(self.rows) if row.overlay), None)


@dataclass(frozen=True)
class Tiles:
    """Numbers side by side."""

    template: ClassVar = "tiles"
    tiles: Sequence[Tile]


@dataclass(frozen=True)
class Charts:
    """Drawings side by side; small: many of them, to compare."""

    template: ClassVar = "charts"
    charts: Sequence[Chart]
    heading: str = ""
    small: bool = False

    @property
    def legend(self) -> Sequence[tuple[str, str]]:
        """What the tones of all drawings mean, for drawings that have no room for it."""
        return list(dict.fromkeys(entry for chart in self.charts for entry in chart.legend))


@dataclass(frozen=True)
class Bars:
    """Divided bars, one below the other."""

    template: ClassVar = "bars"
    title: str
    caption: str
    rows: Sequence[BarRow]
    legend: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Table:
    """A small table, perhaps folded away; the first column is text, the others are numbers."""

    template: ClassVar = "table"
    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    folded: bool = False
    words: bool = False  # all columns are text


@dataclass(frozen=True)
class ClassTable:
    """A table of all classes that the page's script draws: only the rows that are seen."""

    template: ClassVar = "class_table"
    id: str
    caption: str
    columns: Sequence[Mapping[str, Any]]
    filters: Sequence[Mapping[str, Any]] = ()
    data: Mapping[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", {"columns": list(self.columns), "filters": list(self.filters)})


@dataclass(frozen=True)
class Cards:
    """Images side by side."""

    template: ClassVar = "cards"
    heading: str
    caption: str
    cards: Sequence[Card]


@dataclass(frozen=True)
class Words:
    """Paragraphs or, with a tone, a note: "gap" where something is missing, "promise" where something is promised."""

    template: ClassVar = "words"
    lines: Sequence[str]
    tone: str = ""
    heading: str = ""


Block = Tiles | Charts | Bars | Table | ClassTable | Cards | Words


class Section(NamedTuple):
    """A part of the page with a heading of its own."""

    id: str
    title: str
    lead: str
    blocks: Sequence[Block]
