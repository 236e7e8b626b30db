"""A plot as inline SVG. Colors come from the style of the page, by the name of a tone, so that it can be dark, too."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from markupsafe import Markup

from trilabel.report.page.elements import element
from trilabel.report.page.scales import Scale, text

Point = tuple[float, float]
_LEFT, _RIGHT, _TOP, _BOTTOM = 42, 14, 26, 34  # room around the axes


@dataclass
class Plot:
    """Marks between two axes, drawn in the order in which they are added."""

    x: Scale
    y: Scale
    x_label: str
    y_label: str
    width: int = 380
    height: int = 250
    marks: list[Markup] = field(default_factory=list)

    def place(self, x: float, y: float) -> Point:
        """Where a pair of values stands, in pixels."""
        return (
            _LEFT + self.x(x) * (self.width - _LEFT - _RIGHT),
            self.height - _BOTTOM - self.y(y) * (self.height - _TOP - _BOTTOM),
        )

    def line(self, points: Iterable[Point], tone: str, dashed: bool = False, tips: Sequence[str] = ()) -> None:
        """A line through points and, with tips, a dot at each that tells its tip."""
        places = [self.place(*point) for point in points]
        if len(places) > 1:
            style = f"line t-{tone}{' dashed' if dashed else ''}"
            self.marks.append(element("path", d=f"M{_joined(places)}", cls=style))
        for place, tip in zip(places, tips, strict=False):
            self._dot(place, tone, tip, 3.0)

    def dots(self, points: Iterable[Point], tone: str, tips: Sequence[str], radii: Sequence[float] = ()) -> None:
        """Dots that tell their tips."""
        for number, (point, tip) in enumerate(zip(points, tips, strict=True)):
            self._dot(self.place(*point), tone, tip, radii[number] if radii else 3.5)

    def _dot(self, place: Point, tone: str, tip: str, radius: float) -> None:
        self.marks.append(element("circle", cx=place[0], cy=place[1], r=radius, cls=f"dot t-{tone}", data_tip=tip))

    def many_dots(self, points: Iterable[Point], tone: str) -> None:
        """Thousands of dots as one element: lines of no length with round ends."""
        path = "".join("M{:.1f} {:.1f}h0".format(*self.place(*point)) for point in points)
        self.marks.append(element("path", d=path, cls=f"cloud t-{tone}"))

    def intervals(self, spans: Iterable[tuple[float, float, float]], tone: str) -> None:
        """Vertical lines (x, from, to), as one element."""
        ends = [(self.place(x, low), self.place(x, high)) for x, low, high in spans]
        path = "".join(f"M{_joined([low])}V{high[1]:.1f}" for low, high in ends)
        self.marks.append(element("path", d=path, cls=f"interval t-{tone}"))

    def band(self, spans: Sequence[tuple[float, float, float]], tone: str) -> None:
        """The area between two lines: (x, from, to), from left to right."""
        outline = [self.place(x, low) for x, low, _ in spans] + [self.place(x, high) for x, _, high in spans[::-1]]
        self.marks.append(element("path", d=f"M{_joined(outline)}Z", cls=f"area t-{tone}"))

    def steps(self, edges: Sequence[float], values: Sequence[float], tone: str) -> None:
        """A histogram: values[i] from edges[i] to edges[i + 1]."""
        spans = zip(pairwise(edges), values, strict=True)
        corners = [self.place(x, value) for ends, value in spans for x in ends]
        ground = self.place(edges[0], 0.0)[1]
        outline = [(corners[0][0], ground), *corners, (corners[-1][0], ground)]
        self.marks.append(element("path", d=f"M{_joined(outline)}Z", cls=f"area t-{tone}"))
        self.marks.append(element("path", d=f"M{_joined(corners)}", cls=f"line t-{tone}"))

    def tell(self, edges: Sequence[float], tips: Sequence[str]) -> None:
        """A tip for each part of a histogram, over its whole height; call it when all is drawn."""
        for (left, right), tip in zip(pairwise(edges), tips, strict=True):
            start, end = self.place(left, 0)[0], self.place(right, 0)[0]
            size = {"x": start, "y": _TOP, "width": end - start, "height": self.height - _TOP - _BOTTOM}
            self.marks.append(element("rect", **size, cls="catch", data_tip=tip))

    def vertical(self, x: float, style: str) -> None:
        """A line from bottom to top."""
        place = self.place(x, 0)[0]
        self.marks.append(element("path", d=f"M{place:.1f} {_TOP}V{self.height - _BOTTOM}", cls=f"mark {style}"))

    def svg(self, summary: str) -> Markup:
        """The plot; summary: what it shows, for who cannot see it."""
        body = [*self._axes(), *self.marks]
        return element("svg", *body, viewBox=f"0 0 {self.width} {self.height}", role="img", aria_label=summary)

    def _axes(self) -> list[Markup]:
        bottom, right = self.height - _BOTTOM, self.width - _RIGHT
        found = [element("text", self.y_label, x=0, y=11, cls="axis")]
        for value in self.y.ticks(max(2, (bottom - _TOP) // 36)):
            height = self.place(self.x.low, value)[1]
            found.append(element("path", d=f"M{_LEFT} {height:.1f}H{right}", cls="grid"))
            found.append(element("text", text(value), x=_LEFT - 6, y=height + 3.5, cls="tick end"))
        for value in self.x.ticks(max(2, (right - _LEFT) // 55)):
            place = self.place(value, self.y.low)[0]
            found.append(element("path", d=f"M{place:.1f} {bottom}v4", cls="base"))
            found.append(element("text", text(value), x=place, y=bottom + 15, cls="tick middle"))
        found.append(element("path", d=f"M{_LEFT} {bottom}H{right}", cls="base"))
        found.append(element("text", self.x_label, x=right, y=self.height - 4, cls="axis end"))
        return found


def _joined(places: Iterable[Point]) -> str:
    return "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
