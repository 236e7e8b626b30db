"""The first and the last section of a page: the numbers that matter, and how the run was made."""

import json
from dataclasses import fields
from typing import Any

from trilabel.config import Config
from trilabel.errors import TrilabelError
from trilabel.input_files import read_input
from trilabel.printable import command_line, plural, printable, shorten
from trilabel.report import training
from trilabel.report.page.blocks import Block, Section, Table, Tile, Tiles, Words
from trilabel.report.page.facts import RunFacts
from trilabel.report.page.words import percent
from trilabel.training.teachers import method_in_words

_LONGEST_SETTING = 200  # letters


def summary_section(facts: RunFacts) -> Section:
    """Tiles, what to keep in mind, and what could not be shown."""
    blocks: list[Block] = [Tiles(_tiles(facts))]
    if facts.notes:
        blocks.append(Words([_sentence(note) for note in facts.notes], "note", "Keep in mind"))
    if facts.gaps:
        blocks.append(Words([_sentence(gap) for gap in facts.gaps], "gap", "What this page cannot show"))
    return Section("summary", "Summary", _lead(facts), blocks)


def _lead(facts: RunFacts) -> str:
    config = facts.about.config
    source, weights = facts.about.source, "pretrained weights" if config.weights else "random weights"
    data = printable(str(source["data"])) if "data" in source else "a data set given from Python"
    words = f"Method {printable(method_in_words(config))} on {shorten(data, 120)}: "
    words += f"backbone {printable(config.backbone)} with {weights}, head {printable(config.head)}, "
    words += f"{facts.about.image_size} pixels."
    if "hide" in source:
        words += f" Training labels were hidden on purpose ({printable(str(source['hide']))})."
    return words


def _tiles(facts: RunFacts) -> list[Tile]:
    tiles, numbers = list[Tile](), facts.numbers
    if numbers is not None and facts.judged is not None:
        overall = numbers.overall
        told = "unknown as absent" if facts.judged.unknown_as_absent else ""
        with_ap = overall["classes"] - overall["classes_without_ap"]
        tiles.append(Tile("mAP", percent(overall["mAP"]), told or f"mean over {plural(with_ap, 'class')}"))
        precision, recall = percent(overall["CP"]), percent(overall["CR"])
        tiles.append(Tile("CF1", percent(overall["CF1"]), f"precision {precision}, recall {recall}"))
        if numbers.error_after is not None:
            before = f"{percent(numbers.error_before)} before" if facts.decisions is not None else "not calibrated"
            tiles.append(Tile("calibration error", percent(numbers.error_after), before))
    if facts.labels is not None:
        images, classes = facts.labels.shape
        tiles.append(
            Tile("labels known", percent(facts.labels.known_share), f"{images:,} images × {classes:,} classes")
        )
    if (done := facts.completion) is not None:
        kind = "as promised" if done.basis != "assumption" else "by an assumption"
        sides = f"{done.filled_present:,} as present, {done.filled_absent:,} as absent, {kind}"
        tiles.append(Tile("holes filled", percent(done.filled / done.holes if done.holes else None), sides))
    kept = training.place_of(facts.best, facts.history)
    if kept is not None:
        tiles.append(Tile("epoch that is kept", f"{kept}", f"of {len(facts.history)}"))
    return tiles


def details_section(facts: RunFacts) -> Section:
    """Settings, versions, and the command that makes the page again."""
    default = Config()
    changed = [
        [f.name, setting(getattr(facts.about.config, f.name))]
        for f in fields(Config)
        if getattr(facts.about.config, f.name) != getattr(default, f.name)
    ]
    source = [[printable(str(name)), setting(value)] for name, value in facts.about.source.items()]
    versions = [[printable(name), printable(str(value))] for name, value in _versions(facts).items()]
    blocks: list[Block] = [Table("Settings that are not the default", ["setting", "value"], changed, words=True)]
    if source:
        blocks.append(Table("Data", ["option", "value"], source, words=True))
    if versions:
        blocks.append(Table("Versions", ["package", "version"], versions, folded=True, words=True))
    command = printable(command_line("trilabel", "report", facts.folder.path))
    return Section("details", "How it was made", f"This page is made again by `{command}`.", blocks)


def _versions(facts: RunFacts) -> dict[str, Any]:
    try:
        found = json.loads(read_input(facts.folder.path / "versions.json"))
    except (OSError, ValueError, RecursionError, TrilabelError):
        return {}
    return found if isinstance(found, dict) else {}


def setting(value: Any) -> str:
    """The value of a setting on one line."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    text = json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, dict | list | tuple) else str(value)
    return shorten(printable(text), _LONGEST_SETTING)


def _sentence(words: str) -> str:
    words = printable(words)
    return f"{words[:1].upper()}{words[1:]}{'' if words.endswith(('.', '?', '!')) else '.'}"
