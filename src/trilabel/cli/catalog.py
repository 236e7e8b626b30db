"""Methods and components as people read about them, without waiting for torch to be imported.

catalog.json has what `described` finds in our own classes; a test compares them. After a change:

    python -m trilabel.cli.catalog
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from trilabel.files import write_text
from trilabel.plugin_files import reference
from trilabel.plugins import any_outside

CATALOG = Path(__file__).with_name("catalog.json")
Kind = Literal["method", "component"]


@dataclass(frozen=True)
class Entry:
    """What is said about a method or component."""

    name: str
    title: str
    record: dict[str, Any]  # for --json
    lines: list[str]  # in a list of all
    whole: list[str]  # when it is asked for


def entries(kind: Kind, chosen: str = "") -> list[Entry]:
    """All of a kind; read from the classes where some come from outside (chosen: FILE.py:CLASS, or packages)."""
    if any_outside("method" if kind == "method" else "head") or reference(chosen) is not None:
        from trilabel.cli import described

        return described.methods(chosen) if kind == "method" else described.components(chosen)
    return [Entry(**one) for one in json.loads(CATALOG.read_text("utf-8"))[kind]]


def main() -> None:
    """Writes the file."""
    from trilabel.cli.described import written

    write_text(CATALOG, json.dumps(written(), indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
