"""The pages, rendered: what the templates show, put together from the desk."""

from collections.abc import Mapping
from importlib.resources import files
from typing import Any
from urllib.parse import quote

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse

from trilabel.data.dataset import Dataset
from trilabel.review import words
from trilabel.review.desk import Desk
from trilabel.review.orders import ORDERS
from trilabel.review.sheets import Sheet
from trilabel.review.views import ORDERS as CHOICES
from trilabel.review.views import Card, Question, View

_MOST_CLASSES = 1000  # on one page
_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
_SORTS = {"open": "open questions", "known": "fewest known", "name": "name"}
_EXAMPLES = 4  # images that are known to show the class of a grid


def static_files() -> dict[str, tuple[bytes, str]]:
    """Scripts and styles by name, with their types: all that is served beside pages and pictures."""
    folder = files("trilabel.review").joinpath("static")
    named = [file for file in folder.iterdir() if f".{file.name.rpartition('.')[2]}" in _TYPES]
    return {file.name: (file.read_bytes(), _TYPES[f".{file.name.rpartition('.')[2]}"]) for file in named}


class Pages:
    """Renders pages for people."""

    def __init__(self, desk: Desk, dataset: Dataset, version: str, suggested_name: str) -> None:
        """version: changes with the data, so that a browser keeps no picture of other data."""
        self._desk, self._dataset, self._version, self._suggested = desk, dataset, version, suggested_name
        self._templates = Environment(
            loader=PackageLoader("trilabel.review"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
        )
        self._templates.filters |= {"shown": words.shown, "percent": words.percent}
        self._templates.globals["version"] = version

    def _page(self, template: str, who: str = "", code: int = 200, **values: Any) -> HTMLResponse:
        base = f"/by/{quote(who, safe='')}" if who else ""
        text = self._templates.get_template(template).render(who=who, base=base, **values)
        return HTMLResponse(text, code)

    def names(self) -> HTMLResponse:
        """Who are you?"""
        with self._desk.lock:
            people = self._desk.answered.by_person.most_common(100)
        found = [(name, f"/by/{quote(name, safe='')}/", count) for name, count in people if count > 0]
        return self._page("names.html", people=found, suggested=self._suggested)

    def message(self, title: str, text: str, code: int, who: str = "") -> HTMLResponse:
        """A page that says what is wrong."""
        return self._page("message.html", who, code, title=title, text=text)

    def home(self, who: str, query: Mapping[str, str]) -> HTMLResponse:
        """What there is to do."""
        desk, sort = self._desk, query.get("sort", "open") if query.get("sort") in _SORTS else "open"
        wanted = query.get("q", "").strip().casefold()
        known = desk.proposals.positives + desk.proposals.negatives
        names = desk.proposals.classes
        with desk.lock:
            done, agreement = desk.answered.done.copy(), desk.answered.agreement()
        left = np.maximum(desk.survey.worth_asking - done, 0)
        columns = np.argsort(
            {"open": -left, "known": known, "name": np.argsort(np.argsort(names))}[sort], kind="stable"
        )
        rows = [
            {
                "column": column,
                "name": names[column],
                "positives": int(desk.proposals.positives[column]),
                "negatives": int(desk.proposals.negatives[column]),
                "proposed": int(desk.survey.proposed[1][column]),
                "done": int(done[column]),
                "total": int(desk.survey.worth_asking[column]),
            }
            for column in map(int, columns)
            if wanted in names[column].casefold()
        ]
        return self._page(
            "home.html",
            who,
            rows=rows[:_MOST_CLASSES],
            hidden=max(0, len(rows) - _MOST_CLASSES),
            sort=sort,
            sorts=_SORTS,
            q=query.get("q", ""),
            views=self._choices(who),
            right=self._right(None),
            agreement=words.agreement_line(*agreement),
            votes=desk.votes,
        )

    def _choices(self, who: str) -> list[dict[str, Any]]:
        """The views beside the grids."""
        desk, table = self._desk, self._desk.views.table
        kinds = [("images", "Image by image", "an image at a time, with its doubtful classes")]
        if len(desk.views.mistakes):
            kinds.append(("mistakes", "Suspected mistakes", "known labels that the model doubts"))
        if table is not None:
            what = "the random audit" if table.random else "the questions"
            kinds.insert(0, ("questions", "Questions", f"{what} of {words.shown(table.name)}"))
        found = []
        for kind, title, about in kinds:
            progress = desk.progress(who, View(kind))  # type: ignore[arg-type]
            found.append({"kind": kind, "title": title, "about": about, "progress": progress})
        return found

    def sheet(self, sheet: Sheet) -> HTMLResponse:
        """A grid, or cards one at a time."""
        view, desk = sheet.view, self._desk
        cards = [self._card(card, sheet.who) for card in sheet.cards]
        return self._page(
            "grid.html" if view.kind == "grid" else "cards.html",
            sheet.who,
            view=view,
            sheet=sheet.id,
            cards=cards,
            name=desk.proposals.classes[view.column] if view.kind == "grid" else "",
            examples=desk.proposals.known_rows(view.column, 1)[:_EXAMPLES].tolist() if view.kind == "grid" else [],
            orders={name: ORDERS[name] for name in CHOICES},
            splits=list(self._dataset.splits),
            next=self.address(sheet.who, view),
            status=self.status(sheet.who, view),
        )

    def address(self, who: str, view: View, **more: str) -> str:
        """Where a view is."""
        place = f"grid/{view.column}" if view.kind == "grid" else view.kind
        query = view.query(**more)
        return f"/by/{quote(who, safe='')}/{place}{'?' if query else ''}{query}"

    def label(self, who: str, row: int, column: int) -> HTMLResponse:
        """One question, asked again."""
        card = Card(row, (Question(row, column, row * self._desk.proposals.shape[1] + column),))
        back = f"/by/{quote(who, safe='')}/answers"
        return self._page(
            "cards.html",
            who,
            view=View("images"),
            sheet="",
            cards=[self._card(card, who, again=True)],
            name="",
            orders={},
            splits=[],
            next=back,
            status=self.status(who, View("images")),
        )

    def answers(self, who: str, query: Mapping[str, str]) -> HTMLResponse:
        """The last answers, or those on which people differ."""
        show, desk, classes = query.get("show", "mine"), self._desk, self._desk.proposals.shape[1]
        with desk.lock:
            if show == "differ":
                keys = desk.answered.disagreements()
            else:
                recent = [one for one in reversed(desk.answered.recent) if show == "all" or one.record.who == who]
                keys = list(dict.fromkeys(one.key for one in recent if one.key in desk.answered.said))
            found = [(key, dict(desk.answered.said.get(key, {}))) for key in keys[:200]]
        rows = [
            {
                "row": key // classes,
                "column": key % classes,
                "said": said,
                "image": desk.proposals.ids[key // classes],
                "name": desk.proposals.classes[key % classes],
            }
            for key, said in found
        ]
        return self._page("answers.html", who, rows=rows, show=show)

    def status(self, who: str, view: View) -> dict[str, Any]:
        """What changes with every answer, as the page shows it."""
        progress = self._desk.progress(who, view)
        column = view.column if view.kind == "grid" else None
        with self._desk.lock:
            agreement = words.agreement_line(*self._desk.answered.agreement())
        return {
            "done": progress.done,
            "total": progress.total,
            "progress": words.progress_line(progress),
            "mine": progress.of_person,
            "right": self._right(column),
            "agreement": agreement,
        }

    def _right(self, column: int | None) -> list[str]:
        of = "" if column is None else words.shown(self._desk.proposals.classes[column])
        found = self._desk.right(column)
        return [words.right_line(found[sign], sign, of) for sign in (1, -1) if found[sign].asked or sign > 0]

    def _card(self, card: Card, who: str, again: bool = False) -> dict[str, Any]:
        desk = self._desk
        questions = []
        for one in card.questions:
            with desk.lock:
                said = desk.answered.said.get(one.key, {}).get(who)
            questions.append(
                {
                    "row": one.row,
                    "column": one.column,
                    "name": desk.proposals.classes[one.column],
                    "probability": desk.proposals.probability(one.row, one.column),
                    "known": desk.proposals.known(one.row, one.column),
                    "said": None if again else said,
                    "before": said if again else None,
                }
            )
        return {"row": card.row, "image": desk.proposals.ids[card.row], "questions": questions}
