"""The sections on what `trilabel complete` decided, what it promises, and which known labels it suspects."""

from trilabel.printable import plural, printable
from trilabel.report.page.blocks import (
    BarRow,
    Bars,
    Block,
    Card,
    CardRow,
    Cards,
    Picture,
    Section,
    Table,
    Tile,
    Tiles,
    Words,
)
from trilabel.report.page.completion_files import Completion, Mistake
from trilabel.report.page.facts import RunFacts
from trilabel.report.page.words import percent

_MOST_NEEDY = 12  # classes that more labels would help, in the small table
_LEGEND = (
    ("known", "known before"),
    ("present", "filled in as present"),
    ("absent", "filled in as absent"),
    ("rest", "left unknown"),
)


def completion_section(done: Completion) -> Section:
    """What was filled in and how sure that is."""
    parts = dict(zip(_LEGEND, (done.known, done.filled_present, done.filled_absent, done.left_unknown), strict=True))
    whole = max(1, done.labels)
    bar = BarRow(
        "all labels",
        [(tone, 100 * number / whole, f"{number:,} {words}") for (tone, words), number in parts.items()],
        f"{done.labels:,}",
    )
    caption = f"{plural(done.images, 'image')}; each label is one of four."
    blocks: list[Block] = [_promise(done), _tiles(done), Bars("All labels", caption, [bar], _LEGEND)]
    needy = sorted((each for each in done.classes if each.needed), key=lambda each: each.needed or 0)
    if needy:
        rows = [
            [printable(each.name), f"{each.known_positives:,}", f"{each.known_negatives:,}", f"{each.needed:,}"]
            for each in needy[:_MOST_NEEDY]
        ]
        header = ["class", "known positives", "known negatives", "more labels needed"]
        title = f"Classes that more known labels would open up ({min(_MOST_NEEDY, len(needy))} of {len(needy):,})"
        blocks.append(Table(title, header, rows))
    share = done.filled / done.holes if done.holes else 0.0
    lead = f"Of {plural(done.holes, 'unknown label')} {percent(share)} were decided; the others stay unknown. "
    lead += f"Known labels are never changed.{f' Made on {printable(done.date[:10])}.' if done.date else ''}"
    return Section("completion", "What complete decided", lead, blocks)


def _promise(done: Completion) -> Words:
    asked = " and ".join(f"{percent(share, 0)} of {_kind(name)}" for name, share in done.precision.items())
    sure = "" if done.confidence is None else f", with a confidence of {percent(done.confidence, 0)}"
    if done.basis == "promise":
        line = f"Of the labels that were filled in, at least {asked} are right{sure}."
        return Words([f"{line} This was checked on known labels of images that the scoring model had not seen."],
                     "promise", "A promise")  # fmt: skip
    if done.basis == "audit":
        line = f"Of the labels that were filled in, at least {asked} are right{sure}."
        return Words([f"{line} This rests on answers of people to questions drawn at random."], "promise", "Audited")
    lines = [f"Asked for: {asked}. Nothing can be promised: it rests on an assumption that was not checked."]
    if done.assumption:
        lines.append(printable(done.assumption))
    lines.append("`trilabel complete --audit N` writes questions whose answers turn it into a promise.")
    return Words(lines, "gap", "An assumption, not a promise")


def _kind(name: str) -> str:
    return {"present": "positives", "absent": "negatives"}.get(name, printable(name))


def _tiles(done: Completion) -> Tiles:
    return Tiles(
        [
            Tile("filled in as present", f"{done.filled_present:,}"),
            Tile("filled in as absent", f"{done.filled_absent:,}"),
            Tile("left unknown", f"{done.left_unknown:,}"),
            Tile("known before", f"{done.known:,}", f"{percent(done.known / max(1, done.labels))} of all labels"),
        ]
    )


def mistakes_section(facts: RunFacts, pictures: dict[str, Picture]) -> Section:
    """Known labels that scores contradict, with the pictures to judge by. pictures: by image id."""
    told = facts.completion.mistakes if facts.completion is not None else {}
    count, expected = told.get("count"), told.get("expected_share")
    whole = f"{plural(count, 'known label')}" if isinstance(count, int) else "Known labels"
    lead = f"{whole} that out-of-fold scores contradict, the most suspicious first; look before you change one. "
    if isinstance(expected, int | float):
        lead += f"About {percent(expected, 0)} of all of them are expected to be true mistakes. "
    lead += f"All are in {facts.folder.mistakes.name} of the run folder."
    cards = [_mistake_card(mistake, pictures) for mistake in facts.mistakes]
    caption = "The bar is the probability that the class is present, by its score alone: the label has no say in it."
    return Section("mistakes", "Suspected mistakes", lead, [Cards("", caption, cards)])


def _mistake_card(mistake: Mistake, pictures: dict[str, Picture]) -> Card:
    known = "present" if mistake.known_present else "absent"
    words = f"labelled {known}, probability {percent(mistake.probability)}"
    note = "" if mistake.expected is None else f"up to here about {percent(mistake.expected, 0)} are true mistakes"
    row = CardRow(printable(mistake.cls), words, known, share=100 * mistake.probability)
    return Card(printable(mistake.image), [row], pictures.get(mistake.image), note)
