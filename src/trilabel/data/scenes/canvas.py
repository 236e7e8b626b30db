"""What scenes are drawn with: random choices, a canvas and a pen.

A shape is a field of signed distances in the object's own coordinates (u right, v down, the object fills −1…1):
one affine map gives size, turn and skew, and the distance gives smooth edges. Only operations that IEEE 754 rounds
exactly are used (+ − × ÷ √ floor min max), and of the random generator only `random()`: no library
version changes a pixel.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Field = NDArray[np.floating[Any]]  # one number per pixel; float32 throughout, which the stubs cannot follow
Color = tuple[float, float, float]  # 0…255
Point = tuple[float, float]

VISIBLE = 0.6  # share of an object's pixels that later things must leave in view
SMALLEST = 0.003  # share of the picture that an object must cover to count


class Dice:
    """The random choices of one scene, all made from `random()`, whose bits never depend on the machine."""

    def __init__(self, seed: int, index: int) -> None:
        self.random = np.random.default_rng((seed, index)).random

    def between(self, low: float, high: float) -> float:
        """Return a number between the two."""
        return low + (high - low) * float(self.random())

    def below(self, count: int) -> int:
        """Return one of 0 … count − 1."""
        return int(self.random() * count)

    def chance(self, share: float) -> bool:
        """Return True in this share of cases."""
        return bool(self.random() < share)

    def tint(self, colors: tuple[Color, ...], spread: float = 22) -> Color:
        """Return one of the colors, slightly changed."""
        red, green, blue = colors[self.below(len(colors))]
        light = self.between(-spread, spread)
        noise = [light + self.between(-spread, spread) for _ in range(3)]
        return (red + noise[0], green + noise[1], blue + noise[2])


class Canvas:
    """The picture so far, and which object each pixel shows (0: none; k: the k-th object)."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.middle: Field = ((np.arange(size) + 0.5) / size).astype(np.float32)  # of each pixel, in 0…1
        self.pixels: Field = np.zeros((3, size, size), np.float32)
        self.owner = np.zeros((size, size), np.int16)
        self.kinds: list[int] = []  # class of each object
        self.areas = [0]  # pixels each object had when it was drawn

    def add(self, pen: "Pen", paint: Callable[["Pen"], None], kind: int | None) -> bool:
        """Paint an object (or, with kind None, clutter), unless it would hide most of an earlier object."""
        pixels, owner = self.pixels.copy(), self.owner.copy()
        pen.mark = 0 if kind is None else len(self.areas)
        paint(pen)
        counts = np.bincount(self.owner.ravel(), minlength=len(self.areas) + 1)
        hides = any(counts[k] < VISIBLE * self.areas[k] for k in range(1, len(self.areas)))
        if hides or (kind is not None and counts[pen.mark] < SMALLEST * self.size * self.size):
            self.pixels, self.owner = pixels, owner
            return False
        if kind is not None:
            self.kinds.append(kind)
            self.areas.append(int(counts[pen.mark]))
        return True

    def visible_boxes(self) -> list[tuple[int, NDArray[np.float32]]]:
        """Return (class, x0 y0 x1 y1 relative to the picture) of each object."""
        boxes = []
        for k, kind in enumerate(self.kinds, start=1):
            seen = self.owner == k
            x, y = np.flatnonzero(seen.any(0)), np.flatnonzero(seen.any(1))
            edges = np.array([x[0], y[0], x[-1] + 1, y[-1] + 1], np.float32)
            boxes.append((kind, edges / np.float32(self.size)))
        return boxes


class Pen:
    """Draws one object: maps its coordinates to the canvas."""

    def __init__(self, canvas: Canvas, dice: Dice, center: Point, radius: float, turn: float) -> None:
        self.canvas, self.dice, self.mark = canvas, dice, 0
        self.scale = radius * canvas.size  # pixels to one unit of the object

        def pixels(middle: float) -> slice:
            low, high = (math.floor((middle + side * radius) * canvas.size) for side in (-1.35, 1.35))
            return slice(max(0, low), min(canvas.size, high + 1))

        columns, rows = pixels(center[0]), pixels(center[1])
        self.patch = (rows, columns)
        x = (canvas.middle[columns] - center[0]) * (1 / radius)
        y = (canvas.middle[rows, None] - center[1]) * (1 / radius)
        # The turn is given as the tangent of half its angle: that needs no sine, whose last bit differs by machine.
        cos, sin = (1 - turn * turn) / (1 + turn * turn), 2 * turn / (1 + turn * turn)
        wide, skew, mirror = dice.between(0.9, 1.1), dice.between(-0.1, 0.1), 1 - 2 * dice.below(2)
        self.v: Field = (y * cos - x * sin) * wide
        self.u: Field = ((x * cos + y * sin) * (1 / wide) + self.v * skew) * mirror
        self.shade: Field = self.v * dice.between(-30, 5)

    def fill(self, shape: Field, color: Color) -> None:
        """Color the inside (negative distances) of a shape, edges smoothed over one pixel."""
        cover = np.minimum(np.maximum(0.5 - shape * self.scale, 0), 1)
        here = self.canvas.pixels[:, *self.patch]
        here += cover * (np.array(color, np.float32)[:, None, None] + self.shade - here)
        self.canvas.owner[self.patch][cover > 0.5] = self.mark

    def ellipse(self, u: float, v: float, ru: float, rv: float) -> Field:
        """Return an ellipse around (u, v) with these radii."""
        a, b = (self.u - u) * (1 / ru), (self.v - v) * (1 / rv)
        shape: Field = (np.sqrt(a * a + b * b) - 1) * min(ru, rv)
        return shape

    def polygon(self, *corners: Point) -> Field:
        """Return a convex polygon whose corners go clockwise on the screen."""
        inside: Field = self.edges(corners).max(0)
        return inside

    def box(self, left: float, top: float, right: float, bottom: float) -> Field:
        """Return a rectangle."""
        return self.polygon((left, top), (right, top), (right, bottom), (left, bottom))

    def edges(self, corners: tuple[Point, ...]) -> Field:
        """Return the distance outside each of the polygon's lines: K×h×w."""
        a, b, offset = _half_planes(corners)
        distances: Field = self.u * a + self.v * b + offset
        return distances


@lru_cache(maxsize=512)
def _half_planes(corners: tuple[Point, ...]) -> Field:
    """Return the lines a·u + b·v + offset of a polygon's sides: 3×K×1×1, positive outside."""
    lines = []
    for (u, v), (u2, v2) in zip(corners, corners[1:] + corners[:1], strict=True):
        length = math.sqrt((u2 - u) * (u2 - u) + (v2 - v) * (v2 - v))
        a, b = (v2 - v) / length, (u - u2) / length
        lines.append((a, b, -a * u - b * v))
    return np.array(lines, np.float32).T[:, :, None, None]


def union(*shapes: Field) -> Field:
    """Return the union of these shapes."""
    whole = shapes[0]
    for shape in shapes[1:]:
        whole = np.minimum(whole, shape)
    return whole
