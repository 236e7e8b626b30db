"""The things in scenes: how each class is drawn, where and how large, and the clutter that belongs to no class."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from trilabel.data.scenes.canvas import Color, Pen, union

WHITE: Color = (245, 245, 240)
DARK: Color = (45, 45, 55)
BROWN: Color = (120, 80, 50)
GREEN: Color = (70, 145, 65)
YELLOW: Color = (250, 205, 70)
VIVID: tuple[Color, ...] = (
    (215, 60, 55), (240, 140, 50), YELLOW, (80, 165, 85), (70, 190, 190),
    (60, 120, 205), (130, 85, 180), (235, 120, 165), WHITE,
)  # fmt: skip
LEAVES: tuple[Color, ...] = (GREEN, (45, 110, 60), (120, 160, 60), (205, 125, 50))
SKIN: tuple[Color, ...] = ((245, 205, 170), (200, 150, 110), (135, 90, 65))
GLOW: tuple[Color, ...] = (YELLOW, (255, 235, 150), WHITE, (250, 165, 60))
STONE: tuple[Color, ...] = ((120, 120, 135), (110, 95, 90), (90, 115, 130), (140, 125, 105))
# Corners of a regular pentagon whose sides, made longer, meet in the tips of a star.
PENTAGON = ((0.0, 0.382), (-0.363, 0.118), (-0.225, -0.309), (0.225, -0.309), (0.363, 0.118))


def _sun(pen: Pen) -> None:
    color = pen.dice.tint(GLOW)
    for p, q in ((0.0, 1.0), (0.71, 0.71), (1.0, 0.0), (0.71, -0.71)):
        tip, side = (p, q), (0.16 * q, -0.16 * p)
        pen.fill(pen.polygon(tip, (-side[0], -side[1]), (-p, -q), side), color)
    pen.fill(pen.ellipse(0, 0, 0.58, 0.58), color)


def _moon(pen: Pen) -> None:
    bite = pen.ellipse(pen.dice.between(0.32, 0.55), -0.1, 0.72, 0.75)
    pen.fill(np.maximum(pen.ellipse(0, 0, 0.9, 0.9), -bite), pen.dice.tint(GLOW))


def _star(pen: Pen) -> None:
    # A star's inside is beyond at most one of its five lines: so the second largest distance is the star's.
    pen.fill(np.sort(pen.edges(PENTAGON), axis=0)[-2], pen.dice.tint(GLOW))


def _cloud(pen: Pen) -> None:
    puffs = [pen.ellipse(-0.5, 0.15, 0.42, 0.3), pen.ellipse(0.5, 0.17, 0.45, 0.28)]
    puffs += [pen.ellipse(pen.dice.between(-0.3, 0.2), -0.1, 0.45, 0.42), pen.ellipse(0, 0.2, 0.5, 0.25)]
    pen.fill(union(*puffs), pen.dice.tint((WHITE, (215, 220, 230), (150, 155, 170))))


def _bird(pen: Pen) -> None:
    color, lift = pen.dice.tint((DARK, WHITE, *VIVID)), 0.6 + 0.1 * pen.dice.below(4)
    shadow = (color[0] * 0.7, color[1] * 0.7, color[2] * 0.7)
    pen.fill(pen.polygon((0.2, -lift), (0.3, 0.1), (-0.05, 0.1)), shadow)  # the far wing
    tail = pen.polygon((-1.0, -0.12), (-0.3, 0.05), (-0.3, 0.28), (-0.95, 0.16))
    pen.fill(union(pen.ellipse(0, 0.17, 0.58, 0.25), pen.ellipse(0.5, 0.0, 0.23, 0.22), tail), color)
    pen.fill(pen.polygon((0.68, -0.1), (1.0, 0.02), (0.68, 0.1)), (240, 150, 40))
    pen.fill(pen.ellipse(0.55, -0.05, 0.06, 0.06), DARK if sum(color) > 300 else WHITE)
    pen.fill(pen.polygon((-0.55, -lift), (-0.2, 0.3 - lift), (0.25, 0.12), (-0.2, 0.2)), shadow)


def _mountain(pen: Pen) -> None:
    color, snow = pen.dice.tint(STONE), pen.dice.between(-0.45, -0.1)
    peak = pen.polygon((-0.15, -0.75), (0.95, 0.75), (-1.0, 0.75))
    side = pen.polygon((0.55, -0.3), (1.15, 0.75), (-0.1, 0.75))
    pen.fill(side, (color[0] - 18, color[1] - 18, color[2] - 12))
    pen.fill(peak, color)
    wave = pen.u * 3.5
    zigzag = np.abs(wave - np.floor(wave) - 0.5) * 0.5
    pen.fill(np.maximum(peak, pen.v - snow + zigzag), WHITE)


def _tree(pen: Pen) -> None:
    leaves = pen.dice.tint(LEAVES)
    pen.fill(pen.box(-0.11, 0.2, 0.11, 0.98), pen.dice.tint((BROWN,)))
    if pen.dice.chance(0.4):
        for top, wide in ((-0.15, 0.62), (-0.55, 0.5), (-0.95, 0.36)):
            pen.fill(pen.polygon((0, top), (wide, top + 0.68), (-wide, top + 0.68)), leaves)
    else:
        crown = [pen.ellipse(x, y, 0.42, 0.4) for x, y in ((-0.34, -0.1), (0.34, -0.12), (0, -0.5))]
        pen.fill(union(*crown, pen.ellipse(0, -0.15, 0.4, 0.4)), leaves)


def _flower(pen: Pen) -> None:
    green = pen.dice.tint((GREEN,))
    leaf = pen.ellipse(0.27, 0.62, 0.27, 0.1)
    pen.fill(union(pen.box(-0.06, -0.1, 0.06, 1.0), leaf), green)
    ring = ((0.0, -0.36), (0.34, -0.11), (0.21, 0.29), (-0.21, 0.29), (-0.34, -0.11))
    petals = [pen.ellipse(x, y - 0.3, 0.27, 0.27) for x, y in ring]
    pen.fill(union(*petals), pen.dice.tint(VIVID))
    pen.fill(pen.ellipse(0, -0.3, 0.21, 0.21), pen.dice.tint((YELLOW, BROWN, WHITE)))


def _house(pen: Pen) -> None:
    glass = pen.dice.tint(((170, 210, 235), YELLOW, DARK))
    if pen.dice.chance(0.5):
        pen.fill(pen.box(0.35, -0.85, 0.55, -0.3), pen.dice.tint(STONE))
    pen.fill(pen.box(-0.72, -0.1, 0.72, 0.9), pen.dice.tint((*VIVID, (225, 205, 170), WHITE)))
    pen.fill(pen.polygon((0, -0.9), (0.98, -0.05), (-0.98, -0.05)), pen.dice.tint(((170, 70, 55), BROWN, *STONE)))
    pen.fill(pen.box(-0.5, 0.3, -0.14, 0.9), pen.dice.tint((BROWN, DARK)))
    pen.fill(pen.box(0.14, 0.16, 0.5, 0.5), glass)


def _car(pen: Pen) -> None:
    paint = pen.dice.tint(VIVID)
    pen.fill(pen.polygon((-0.4, -0.45), (0.3, -0.45), (0.62, 0.05), (-0.68, 0.05)), paint)
    pen.fill(pen.polygon((-0.9, -0.02), (0.85, -0.02), (1.0, 0.15), (1.0, 0.42), (-1.0, 0.42), (-1.0, 0.1)), paint)
    window = pen.polygon((-0.36, -0.34), (0.25, -0.34), (0.45, -0.01), (-0.5, -0.01))
    pen.fill(np.maximum(window, 0.05 - np.abs(pen.u + 0.05)), pen.dice.tint(((185, 220, 240), DARK)))
    for x in (-0.52, 0.52):
        pen.fill(pen.ellipse(x, 0.42, 0.25, 0.25), DARK)
        pen.fill(pen.ellipse(x, 0.42, 0.1, 0.1), (200, 200, 205))


def _person(pen: Pen) -> None:
    skin, shirt = pen.dice.tint(SKIN), pen.dice.tint(VIVID)
    arms = pen.polygon((0.18, -0.42), (0.3, -0.42), (0.52, 0.18), (0.4, 0.22))
    other = pen.polygon((-0.3, -0.42), (-0.18, -0.42), (-0.4, 0.22), (-0.52, 0.18))
    if pen.dice.chance(0.35):  # waving
        arms = pen.polygon((0.45, -0.95), (0.57, -0.92), (0.3, -0.25), (0.18, -0.3))
    pen.fill(union(arms, other), skin)
    legs = union(pen.box(-0.22, 0.2, -0.03, 0.98), pen.box(0.03, 0.2, 0.22, 0.98))
    pen.fill(legs, pen.dice.tint((DARK, (60, 80, 140), BROWN, (150, 150, 155))))
    pen.fill(pen.polygon((-0.28, -0.45), (0.28, -0.45), (0.24, 0.3), (-0.24, 0.3)), shirt)
    pen.fill(pen.ellipse(0, -0.7, 0.23, 0.26), pen.dice.tint((DARK, BROWN, YELLOW)))
    pen.fill(pen.ellipse(0.02, -0.65, 0.19, 0.21), skin)


def _umbrella(pen: Pen) -> None:
    pen.fill(pen.box(-0.045, -0.6, 0.045, 0.95), pen.dice.tint((DARK, BROWN, WHITE)))
    pen.fill(np.maximum(pen.ellipse(0.12, 0.88, 0.17, 0.14), 0.88 - pen.v), DARK)
    canopy = np.maximum(pen.ellipse(0, 0, 0.95, 0.85), pen.v)
    pen.fill(canopy, pen.dice.tint(VIVID))
    stripes = np.minimum(pen.ellipse(0, 0, 0.22, 0.85), -pen.ellipse(0, 0, 0.62, 0.85))
    pen.fill(np.maximum(canopy, stripes), pen.dice.tint(VIVID))


def _boat(pen: Pen) -> None:
    sail = pen.dice.tint((WHITE, *VIVID))
    pen.fill(pen.box(-0.05, -0.95, 0.04, 0.45), pen.dice.tint((BROWN, DARK)))
    pen.fill(pen.polygon((0.08, -0.85), (0.72, 0.25), (0.08, 0.25)), sail)
    pen.fill(pen.polygon((-0.1, -0.65), (-0.1, 0.25), (-0.6, 0.25)), sail)
    pen.fill(pen.polygon((-0.95, 0.38), (0.98, 0.38), (0.6, 0.85), (-0.65, 0.85)), pen.dice.tint((BROWN, *VIVID)))


def _fish(pen: Pen) -> None:
    color, fin = pen.dice.tint(VIVID), pen.dice.tint(VIVID)
    pen.fill(pen.polygon((-0.95, -0.45), (-0.35, 0.0), (-0.95, 0.45)), fin)
    pen.fill(pen.polygon((-0.15, -0.6), (0.25, -0.3), (-0.35, -0.3)), fin)
    body = pen.ellipse(0.15, 0, 0.72, 0.42)
    pen.fill(body, color)
    pen.fill(np.maximum(body, np.abs(pen.u - 0.08) - 0.09), fin)
    pen.fill(pen.ellipse(0.55, -0.1, 0.13, 0.13), WHITE)
    pen.fill(pen.ellipse(0.58, -0.1, 0.06, 0.06), DARK)


class Thing(NamedTuple):
    """How a class is drawn, where, and how large."""

    paint: Callable[[Pen], None]
    zone: str
    radius: tuple[float, float]


THINGS = {  # from far to near: the order of drawing and of the classes
    "moon": Thing(_moon, "sky", (0.10, 0.17)),
    "star": Thing(_star, "sky", (0.10, 0.17)),
    "sun": Thing(_sun, "sky", (0.12, 0.20)),
    "cloud": Thing(_cloud, "sky", (0.15, 0.25)),
    "mountain": Thing(_mountain, "horizon", (0.20, 0.34)),
    "bird": Thing(_bird, "sky", (0.13, 0.20)),
    "house": Thing(_house, "ground", (0.15, 0.25)),
    "tree": Thing(_tree, "ground", (0.15, 0.25)),
    "boat": Thing(_boat, "ground", (0.15, 0.24)),
    "car": Thing(_car, "ground", (0.15, 0.23)),
    "umbrella": Thing(_umbrella, "ground", (0.14, 0.23)),
    "person": Thing(_person, "ground", (0.15, 0.24)),
    "flower": Thing(_flower, "ground", (0.13, 0.22)),
    "fish": Thing(_fish, "ground", (0.13, 0.21)),
}
CLASSES = tuple(THINGS)
CLUTTER: tuple[Callable[[Pen], None], ...] = (
    lambda pen: pen.fill(pen.ellipse(0, 0, 0.7, 0.7), pen.dice.tint((*VIVID, *STONE, *GLOW))),
    lambda pen: pen.fill(pen.box(-0.9, -0.1, 0.9, 0.1), pen.dice.tint((*VIVID, *STONE, BROWN, DARK))),
    lambda pen: pen.fill(pen.box(-0.6, -0.6, 0.6, 0.6), pen.dice.tint((*VIVID, *STONE, BROWN))),
    lambda pen: pen.fill(pen.polygon((0, -0.8), (0.7, 0.6), (-0.7, 0.6)), pen.dice.tint((*VIVID, *STONE))),
)
