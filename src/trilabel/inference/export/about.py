"""What an exported file says of itself: classes, image size, and how it decides."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from trilabel.config import LARGEST_IMAGE
from trilabel.errors import TrilabelError, one_line
from trilabel.settings import filled
from trilabel.training.decisions import Decisions
from trilabel.version import __version__


@dataclass(frozen=True)
class About:
    """The description in an exported file; calibration and thresholds are also in its network."""

    classes: list[str]
    image_size: int
    decisions: Decisions | None

    def to_json(self) -> dict[str, Any]:
        """A dictionary for JSON that `from_json` reads back."""
        return {"trilabel": __version__, **asdict(self)}

    @classmethod
    def from_json(cls, values: Any, file: Path) -> "About":
        """What `to_json` wrote into a file; anything else is refused."""
        try:
            stored = filled(_Stored, values, "its description")
            if not stored.classes or len(set(stored.classes)) < len(stored.classes):
                raise TrilabelError("classes must be different names, at least one")
            if not 0 < stored.image_size <= LARGEST_IMAGE:
                raise TrilabelError(f"image_size must be from 1 to {LARGEST_IMAGE:,}, not {stored.image_size}")
            rules = stored.decisions
            decisions = None if rules is None else Decisions.from_json(rules, len(stored.classes))
        except (ValueError, RecursionError) as error:
            message = f"{file}: not what `trilabel export` wrote ({one_line(error)}); export again"
            raise TrilabelError(message) from error
        return cls(stored.classes, stored.image_size, decisions)


@dataclass(frozen=True)
class _Stored:
    trilabel: str
    classes: list[str]
    image_size: int
    decisions: Mapping[str, Any] | None
