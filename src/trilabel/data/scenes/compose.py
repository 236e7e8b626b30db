"""Scenes: what is in each, and where; `things` draws it."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trilabel.data.boxes import Boxes
from trilabel.data.scenes.canvas import Canvas, Color, Dice, Field, Pen
from trilabel.data.scenes.things import CLASSES, CLUTTER, THINGS
from trilabel.errors import TrilabelError


class Scenes(NamedTuple):
    """Images drawn by code, and what is in them."""

    images: NDArray[np.uint8]  # N×3×size×size
    present: NDArray[np.bool_]  # N×C
    boxes: Boxes  # the visible extent of each object


def draw(count: int, size: int = 64, seed: int = 0) -> Scenes:
    """Draw `count` scenes of size×size pixels; scene i depends on (seed, i) alone, so a longer set only adds to it."""
    for what, value, least in (("count", count, 1), ("size", size, 32), ("seed", seed, 0)):
        if value < least:
            raise TrilabelError(f"scenes: {what} is {value}; give {least} or more")
    images = np.empty((count, 3, size, size), np.uint8)
    found: list[tuple[int, int, NDArray[np.float32]]] = []
    for i in range(count):
        canvas = _compose(Dice(seed, i), size)
        images[i] = np.clip(canvas.pixels + 0.5, 0, 255)
        found += [(i, kind, box) for kind, box in canvas.visible_boxes()]
    image, cls = (np.array([f[k] for f in found], np.int64) for k in (0, 1))
    present = np.zeros((count, len(CLASSES)), bool)
    present[image, cls] = True
    return Scenes(images, present, Boxes(image, cls, np.stack([box for _, _, box in found])))


class SceneKind(NamedTuple):
    """A kind of scene: colors of sky and ground (far, near) and the classes that belong there."""

    sky: tuple[Color, Color]
    ground: tuple[Color, Color]
    waves: float  # strength of the ripples on the ground
    likely: Mapping[str, float]


def _compose(dice: Dice, size: int) -> Canvas:
    """Draw one scene: background, clutter, one to five classes likely here from far to near, clutter, light."""
    canvas = Canvas(size)
    scene = SCENE_KINDS[dice.below(len(SCENE_KINDS))]
    horizon = dice.between(0.42, 0.68)
    _background(canvas, dice, scene, horizon)
    for _ in range(dice.below(4)):
        _clutter(canvas, dice, dice.between(0.03, 0.14))
    liking = [(0.12 + scene.likely.get(name, 0.0)) * dice.between(0, 1) for name in CLASSES]
    classes = sorted(range(len(CLASSES)), key=lambda c: -liking[c])[: HOW_MANY[dice.below(len(HOW_MANY))]]
    for kind in sorted(classes):  # CLASSES runs from far to near
        for _ in range(1 + dice.chance(0.25) + dice.chance(0.12)):
            _place(canvas, dice, kind, horizon)
    for _ in range(dice.below(3)):
        _clutter(canvas, dice, dice.between(0.02, 0.07))
    _finish(canvas, dice)
    return canvas


def _place(canvas: Canvas, dice: Dice, kind: int, horizon: float) -> None:
    """Draw one object of the class where such things usually are, sometimes anywhere; give up if there is no room."""
    thing = THINGS[CLASSES[kind]]
    for _ in range(6):
        radius = dice.between(*thing.radius)
        x = dice.between(0.7 * radius, 1 - 0.7 * radius)
        if dice.chance(0.15):
            y = dice.between(0.7 * radius, 1 - 0.7 * radius)
        elif thing.zone == "sky":
            y = dice.between(0.8 * radius, max(horizon - 0.5 * radius, radius))
        elif thing.zone == "horizon":
            y = horizon - dice.between(0.3, 0.7) * radius
        else:
            y = dice.between(horizon - 0.4 * radius, 1 - 0.8 * radius)
        pen = Pen(canvas, dice, (x, y), radius, dice.between(-0.1, 0.1))
        if canvas.add(pen, thing.paint, kind):
            return


def _background(canvas: Canvas, dice: Dice, scene: SceneKind, horizon: float) -> None:
    y = canvas.middle[:, None]
    sky, ground = ([np.array(dice.tint((c,), 14), np.float32)[:, None, None] for c in pair] for pair in scene[:2])
    above, below = np.minimum(y / horizon, 1), np.maximum((y - horizon) / (1 - horizon), 0)
    edge = np.clip((y - horizon) * canvas.size + 0.5, 0, 1)
    ripple = y * dice.between(10, 16) + canvas.middle * dice.between(-1, 1)
    ripple = (np.abs(ripple - np.floor(ripple) - 0.5) - 0.25) * (60 * scene.waves)
    near = ground[0] + (ground[1] - ground[0]) * below + ripple
    canvas.pixels[:] = (sky[0] + (sky[1] - sky[0]) * above) * (1 - edge) + near * edge
    canvas.pixels += _cloudy(canvas, dice, 5, 26) + _cloudy(canvas, dice, 14, 16)


def _cloudy(canvas: Canvas, dice: Dice, cells: int, strength: float) -> Field:
    """Return smooth noise: random values on a coarse grid, with straight lines between them."""
    grid = ((dice.random((cells + 1, cells + 1)) - 0.5) * strength).astype(np.float32)
    at = canvas.middle * cells
    along, cell = at - np.floor(at), np.floor(at).astype(np.intp)
    rows = grid[cell] * (1 - along)[:, None] + grid[cell + 1] * along[:, None]
    smooth: Field = rows[:, cell] * (1 - along) + rows[:, cell + 1] * along
    return smooth


def _clutter(canvas: Canvas, dice: Dice, radius: float) -> None:
    pen = Pen(canvas, dice, (dice.between(0, 1), dice.between(0, 1)), radius, dice.between(-1, 1))
    canvas.add(pen, CLUTTER[dice.below(len(CLUTTER))], None)


def _finish(canvas: Canvas, dice: Dice) -> None:
    """Change the light of the whole picture and add the noise of a camera."""
    contrast, light = dice.between(0.8, 1.1), dice.between(-15, 15)
    cast = np.array([dice.between(-14, 14) for _ in range(3)], np.float32)[:, None, None]
    noise = dice.random(canvas.pixels.shape, np.float32) - np.float32(0.5)
    canvas.pixels = (canvas.pixels - 128) * contrast + (128 + light + cast) + noise * dice.between(5, 24)


SCENE_KINDS = (
    SceneKind(((95, 165, 230), (200, 225, 240)), ((235, 215, 165), (215, 185, 130)), 0.1,
              {"umbrella": 1, "person": 0.8, "sun": 0.7, "boat": 0.5, "bird": 0.4, "cloud": 0.2}),  # beach
    SceneKind(((160, 185, 210), (215, 215, 210)), ((150, 150, 150), (95, 95, 105)), 0.0,
              {"car": 1, "house": 0.9, "person": 0.6, "tree": 0.4, "umbrella": 0.2, "cloud": 0.2}),  # street
    SceneKind(((120, 185, 235), (210, 230, 235)), ((140, 185, 95), (85, 150, 70)), 0.0,
              {"flower": 1, "tree": 0.9, "bird": 0.6, "person": 0.4, "sun": 0.4, "cloud": 0.3}),  # park
    SceneKind(((130, 180, 220), (220, 225, 225)), ((70, 140, 185), (30, 85, 140)), 1.0,
              {"boat": 1, "fish": 1, "bird": 0.6, "cloud": 0.5, "sun": 0.3, "mountain": 0.2}),  # sea
    SceneKind(((20, 25, 60), (70, 65, 110)), ((45, 60, 65), (25, 35, 45)), 0.0,
              {"moon": 1, "star": 1, "house": 0.5, "tree": 0.3, "mountain": 0.3, "boat": 0.1}),  # night
    SceneKind(((240, 170, 120), (250, 220, 180)), ((150, 160, 90), (110, 115, 65)), 0.0,
              {"mountain": 1, "cloud": 0.8, "tree": 0.6, "house": 0.5, "bird": 0.3, "car": 0.2}),  # hills
)  # fmt: skip
HOW_MANY = (1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5)  # classes in a scene, each entry as likely
