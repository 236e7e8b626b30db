// One image at a time, with one or more questions about it; each answer is sent at once.

import { answer, undo } from "./undo.js";
import { prepareNext, showNext, showSheet } from "./pages.js";
import { mapAddress } from "./large.js";

const READY_BEFORE = 4; // cards before the last one, at which the next sheet is fetched
const SEEN_FOR = 130; // milliseconds that a mark is seen before the next image comes

export function cards(main) {
  const all = [...main.querySelectorAll(".card")];
  const questionsOf = (card) => [...card.querySelectorAll(".question")];
  const isOpen = (question) => question.dataset.said === "";
  let place = -1;
  let focused = null;
  let leaving = 0;

  function point(question) {
    for (const one of main.querySelectorAll(".question[aria-current]")) one.removeAttribute("aria-current");
    focused = question || null;
    if (focused) {
      focused.setAttribute("aria-current", "true");
      focused.scrollIntoView({ block: "nearest" });
    }
  }

  function mark(question, said) {
    question.dataset.said = said;
    for (const button of question.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", said !== "" && button.dataset.value === String(said));
    }
  }

  function show(next) {
    clearTimeout(leaving);
    place = next;
    all.forEach((card, number) => { card.hidden = number !== place; });
    for (const card of all.slice(place, place + 3)) {
      const image = card.querySelector("img");
      if (!image.getAttribute("src")) image.src = image.dataset.src;
    }
    plain();
    main.querySelector("#place").textContent = all.length > 1 ? `${place + 1} of ${all.length}` : "";
    const questions = questionsOf(all[place]);
    point(questions.find(isOpen) || questions[0]);
    if (place >= all.length - READY_BEFORE) prepareNext();
  }

  function advance() {
    clearTimeout(leaving);
    if (place + 1 < all.length) show(place + 1);
    else showNext();
  }

  function reply(value, question = focused) {
    if (!question) return;
    const { row, column } = question.dataset;
    mark(question, value);
    answer(main.dataset.kind, main.dataset.sheet, [{ row: Number(row), column: Number(column), value }]);
    const questions = questionsOf(all[place]);
    const next = questions.find((one, number) => number > questions.indexOf(question) && isOpen(one)) || questions.find(isOpen);
    if (next) point(next);
    else leaving = setTimeout(advance, SEEN_FOR);
  }

  async function takeBack() {
    clearTimeout(leaving);
    const last = await undo();
    if (!last) return;
    const { row, column } = last.answers[0];
    const question = main.querySelector(`.question[data-row="${row}"][data-column="${column}"]`);
    if (!question || last.sheet !== main.dataset.sheet || last.view === "grid") {
      showSheet(last.address);
      return;
    }
    mark(question, "");
    show(all.indexOf(question.closest(".card")));
    point(question);
  }

  function plain() {
    const card = all[place];
    card.querySelector(".map-note").textContent = "";
    delete card.dataset.map;
    card.querySelector("img").src = card.querySelector("img").dataset.src;
  }

  function map() {
    const card = all[place];
    const image = card.querySelector("img");
    const note = card.querySelector(".map-note");
    if (!focused || card.dataset.map === focused.dataset.column) return plain();
    card.dataset.map = focused.dataset.column;
    note.textContent = "drawing where the model sees it …";
    image.onload = () => { if (card.dataset.map) note.textContent = "where the model sees it"; };
    image.onerror = () => { plain(); note.textContent = "there is no class map"; };
    image.src = mapAddress(focused);
  }

  function step(by) {
    const questions = questionsOf(all[place]);
    const next = questions.indexOf(focused) + by;
    if (questions[next]) point(questions[next]);
    else if (place + by >= 0 && place + by < all.length) show(place + by);
  }

  for (const card of all) {
    for (const question of questionsOf(card)) {
      mark(question, question.dataset.said);
      question.addEventListener("click", (event) => {
        const button = event.target.closest("button");
        point(question);
        if (button) reply(Number(button.dataset.value), question);
      });
    }
  }
  if (all.length) {
    const open = all.findIndex((card) => questionsOf(card).some(isOpen));
    show(open < 0 ? all.length - 1 : open);
  }
  const ifAny = (action) => () => all.length && action();
  return [
    { keys: ["p", "ArrowRight"], what: "present", run: ifAny(() => reply(1)) },
    { keys: ["a", "ArrowLeft"], what: "absent", run: ifAny(() => reply(-1)) },
    { keys: ["s"], what: "skip: cannot tell", run: ifAny(() => reply(0)) },
    { keys: ["ArrowDown"], what: "to the next question (and up)", run: ifAny(() => step(1)) },
    { keys: ["ArrowUp"], run: ifAny(() => step(-1)) },
    { keys: ["n", "Enter"], name: "next", what: "next image; what is open here later", run: ifAny(advance) },
    { keys: ["u"], name: "undo", what: "undo the last answer", run: takeBack },
    { keys: ["m"], name: "map", what: "where the model sees it, and back", run: ifAny(map) },
  ];
}
