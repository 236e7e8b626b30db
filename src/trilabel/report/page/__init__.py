"""The report of one run or several as one HTML file (`trilabel report`)."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from trilabel.printable import plural, printable
from trilabel.report.page.blocks import Picture, Section
from trilabel.report.page.classes import classes_section
from trilabel.report.page.completion import completion_section, mistakes_section
from trilabel.report.page.course import course_section
from trilabel.report.page.facts import PageOptions, RunFacts, facts_of
from trilabel.report.page.images import images_section
from trilabel.report.page.known import known_section
from trilabel.report.page.render import write_page
from trilabel.report.page.several import names_of, overview_table, sections_of_several
from trilabel.report.page.summary import details_section, summary_section
from trilabel.report.page.trust import trust_section
from trilabel.report.page.unknown import unknown_section

__all__ = ["PageOptions", "RunFacts", "default_path", "facts_of", "names_of", "overview_table", "write_report"]


def default_path(runs: Sequence[Path]) -> Path:
    """report.html in the run folder; of several runs, in the folder that they have in common."""
    if len(runs) == 1:
        return runs[0] / "report.html"
    same = len({run.is_absolute() for run in runs}) == 1
    return Path(os.path.commonpath(runs if same else [run.absolute() for run in runs])) / "report.html"


def write_report(
    runs: Sequence[str | Path], out: str | Path | None = None, options: PageOptions | None = None
) -> list[RunFacts]:
    """Writes a page on one run or several, and returns what it knows of them.

    out: none: report.html in the run folder or, of several runs, in the folder that they have in common.
    options: without them, nothing but the run folders is read, and there are no pictures.
    """
    options = options or PageOptions()
    folders = [Path(run) for run in runs]
    options = options if len(folders) == 1 else replace(options, pictures=False)
    facts = [facts_of(folder, options) for folder in folders]
    if len(facts) == 1:
        title, sections = facts[0].name, sections_of_one(facts[0], options)
        subtitle = printable(str(folders[0]))
    else:
        title, sections = plural(len(facts), "run"), sections_of_several(facts)
        subtitle = ", ".join(names_of(facts))
    write_page(Path(out) if out is not None else default_path(folders), printable(title), subtitle, sections)
    return facts


def sections_of_one(facts: RunFacts, options: PageOptions) -> list[Section]:
    """Everything about a run. The summary is made last: by then it is known what could not be shown."""
    pictures = _pictures(facts) if options.pictures else {}
    found: list[Section | None] = [known_section(facts.labels)] if facts.labels is not None else []
    found += [course_section(facts), classes_section(facts)]
    if facts.numbers is not None:
        found.append(trust_section(facts, facts.numbers))
    found.append(unknown_section(facts, pictures))
    if facts.completion is not None:
        found.append(completion_section(facts.completion))
    if facts.mistakes:
        found.append(mistakes_section(facts, pictures))
    found += [images_section(facts, options.device, options.pictures), details_section(facts)]
    return [summary_section(facts), *(section for section in found if section is not None)]


def _pictures(facts: RunFacts) -> dict[str, Picture]:
    """Of the images of suspected mistakes, and of those that were followed while training."""
    if facts.dataset is None:
        return {}
    from trilabel.report.page.pictures import pictures_of

    followed = [example.image for record in facts.history[-1:] for example in record.examples]
    wanted = {*(mistake.image for mistake in facts.mistakes), *followed}
    found = pictures_of(facts.dataset, wanted)
    if missing := len(wanted) - len(found):
        facts.gaps.append(
            f"{plural(missing, 'picture is', 'pictures are')} missing: the data does not have the image, or it cannot "
            "be read"
        )
    return found
