// A page of images of one class: mark those that have it, then confirm the whole page.

import { answer, undo } from "./undo.js";
import { prepareNext, showNext, showSheet } from "./pages.js";
import { enlarge } from "./large.js";

const kept = (main) => `marks ${main.dataset.sheet}`;

export function grid(main) {
  const tiles = [...main.querySelectorAll(".tile")];
  const marks = JSON.parse(sessionStorage.getItem(kept(main)) || "{}");
  const valueOf = (tile) => Number(tile.dataset.value);
  let sent = false;

  function mark(tile, value) {
    tile.dataset.value = value;
    tile.querySelector(".pick").setAttribute("aria-pressed", value === 1);
    marks[tile.dataset.row] = value;
    sessionStorage.setItem(kept(main), JSON.stringify(marks));
    const marked = tiles.filter((one) => valueOf(one) === 1).length;
    main.querySelector("#count").textContent = `Confirm ${marked} of ${tiles.length}`;
  }

  const toggle = (tile, value) => mark(tile, valueOf(tile) === value ? -1 : value);
  const focused = () => tiles.find((tile) => tile.contains(document.activeElement));
  const focus = (place) => tiles[Math.max(0, Math.min(tiles.length - 1, place))]?.querySelector(".pick").focus();

  function step(right, down) {
    const place = tiles.indexOf(focused());
    if (place < 0) return focus(0);
    const top = tiles[0].offsetTop;
    const columns = tiles.filter((tile) => tile.offsetTop === top).length;
    const next = place + right + down * columns;
    if (next >= 0 && next < tiles.length) focus(next);
  }

  function confirm() {
    if (sent || !tiles.length) return;
    sent = true;
    const answers = tiles.map((tile) => ({
      row: Number(tile.dataset.row), column: Number(tile.dataset.column), value: valueOf(tile),
    }));
    answer("grid", main.dataset.sheet, answers);
    showNext().finally(() => { sent = false; });
  }

  for (const tile of tiles) {
    const said = tile.dataset.said;
    mark(tile, said !== "" ? Number(said) : marks[tile.dataset.row] ?? -1);
    tile.querySelector(".pick").addEventListener("click", () => toggle(tile, 1));
    tile.querySelector(".doubt").addEventListener("click", () => toggle(tile, 0));
    tile.querySelector(".zoom").addEventListener("click", () => enlarge(tile));
  }
  focus(0);
  prepareNext();

  const onFocused = (action) => () => focused() && action(focused());
  return [
    { keys: ["ArrowRight"], what: "to the next image (and left, up, down)", run: () => step(1, 0) },
    { keys: ["ArrowLeft"], run: () => step(-1, 0) },
    { keys: ["ArrowDown"], run: () => step(0, 1) },
    { keys: ["ArrowUp"], run: () => step(0, -1) },
    { keys: [" ", "p"], what: "present, or not after all", run: onFocused((tile) => toggle(tile, 1)) },
    { keys: ["a"], what: "absent", run: onFocused((tile) => mark(tile, -1)) },
    { keys: ["s"], what: "skip: cannot tell", run: onFocused((tile) => toggle(tile, 0)) },
    { keys: ["*"], name: "all", what: "mark all, or none", run: () => {
      const value = tiles.every((tile) => valueOf(tile) === 1) ? -1 : 1;
      for (const tile of tiles) mark(tile, value);
    } },
    { keys: ["Enter"], name: "confirm", what: "confirm the whole page", run: confirm },
    { keys: ["n"], name: "next", what: "next page; this one later", run: () => showNext() },
    { keys: ["u"], name: "undo", what: "undo what was confirmed last", run: async () => {
      const last = await undo();
      if (last) showSheet(last.address);
    } },
    { keys: ["z"], what: "larger", run: onFocused((tile) => enlarge(tile)) },
    { keys: ["m"], what: "where the model sees it", run: onFocused((tile) => enlarge(tile, true)) },
  ];
}
