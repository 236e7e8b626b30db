// Starts the script of the page that is shown, and gives every page its keys.

import { whenSaved } from "./outbox.js";
import { current, whenShown } from "./pages.js";
import { cards } from "./cards.js";
import { grid } from "./grid.js";

const help = document.getElementById("help");
const NAMES = { " ": "space", Enter: "⏎", ArrowRight: "→", ArrowLeft: "←", ArrowDown: "↓", ArrowUp: "↑" };
let actions = [];

const everywhere = [
  { keys: ["?"], what: "these keys", run: () => (help.open ? help.close() : help.showModal()) },
  { keys: ["h"], what: "home: all questions", run: () => location.assign(`${document.body.dataset.base}/`) },
  { keys: ["/"], what: "search", run: () => {
    current().querySelector(".filters details")?.setAttribute("open", "");
    current().querySelector("input[type=search], input[name=text]")?.focus();
  } },
];

function listKeys() {
  const rows = [...actions, ...everywhere].filter((action) => action.what).map((action) => {
    const row = document.createElement("tr");
    const keys = row.insertCell();
    for (const key of action.keys) {
      const name = document.createElement("kbd");
      name.textContent = NAMES[key] || key;
      keys.append(name, " ");
    }
    row.insertCell().textContent = action.what;
    return row;
  });
  document.getElementById("keys").replaceChildren(...rows);
}

// As one types, classes without the text in their name are hidden; Enter opens the first that is left.
function home(main) {
  const search = main.querySelector("input[type=search]");
  const items = [...main.querySelectorAll(".classes li")];
  search.addEventListener("input", () => {
    const wanted = search.value.toLocaleLowerCase();
    for (const item of items) item.hidden = !item.textContent.toLocaleLowerCase().includes(wanted);
  });
  search.form.addEventListener("submit", (event) => {
    const first = items.find((item) => !item.hidden)?.querySelector("a");
    if (!first || !search.value) return;
    event.preventDefault();
    location.assign(first.href);
  });
  return [];
}

const KINDS = { grid, home, images: cards, mistakes: cards, questions: cards, answers: cards };

whenShown((main) => {
  actions = KINDS[main.dataset.kind]?.(main) || [];
  for (const button of main.querySelectorAll("[data-do]")) {
    button.addEventListener("click", () => actions.find((action) => action.name === button.dataset.do)?.run());
  }
  for (const select of main.querySelectorAll("[data-sends]")) {
    select.addEventListener("change", () => select.form.requestSubmit());
  }
  listKeys();
});

whenSaved((status) => {
  const put = (id, text) => {
    const place = document.getElementById(id);
    if (place) place.textContent = text;
  };
  const bar = document.getElementById("bar");
  if (bar) {
    bar.max = Math.max(status.total, 1);
    bar.value = status.done;
  }
  put("progress", status.progress);
  put("mine", status.mine.toLocaleString("en"));
  put("right", status.right[0]);
  put("right-absent", status.right[1] || "");
  put("agreement", status.agreement);
});

document.getElementById("ask-help")?.addEventListener("click", () => help.showModal());
help.addEventListener("click", () => help.close());

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog#large[open]")) return;
  if (event.target.closest("input, select, textarea, summary")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (help.open && event.key !== "?") return;
  const action = [...actions, ...everywhere].find((one) => one.keys.includes(event.key));
  if (!action) return;
  event.preventDefault();
  if (!event.repeat || event.key.startsWith("Arrow")) action.run();
});
