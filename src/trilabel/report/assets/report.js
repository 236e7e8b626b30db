"use strict";
// Themes, tips, class activation maps, and tables of thousands of rows of which only those in view are drawn.
// Names that others chose are only ever set as text.

const make = (name, options = {}, ...children) => {
  const node = Object.assign(document.createElement(name), options);
  node.append(...children);
  return node;
};

// ---- light and dark
{
  const root = document.documentElement, button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const stored = (value) => {
    try {
      if (value) localStorage.setItem("trilabel-theme", value);
      return localStorage.getItem("trilabel-theme");
    } catch { return null; }  // a page opened from a file may not store anything
  };
  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : system.matches;
  const show = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Change to ${isDark() ? "light" : "dark"} colors`);
  };
  const before = stored();
  if (before === "light" || before === "dark") root.dataset.theme = before;
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    stored(root.dataset.theme);
    show();
  });
  system.addEventListener("change", show);
  show();
}

// ---- tips
{
  const tip = document.getElementById("tip");
  document.addEventListener("pointerover", (event) => {
    const words = event.target.closest?.("[data-tip]")?.dataset.tip;
    tip.hidden = !words;
    if (words) tip.textContent = words;
  });
  document.addEventListener("pointermove", (event) => {
    if (tip.hidden) return;
    const left = Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 8);
    const above = event.clientY + 16 + tip.offsetHeight > innerHeight;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${above ? event.clientY - tip.offsetHeight - 8 : event.clientY + 16}px`;
  });
  document.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
}

// ---- where in the page we are
{
  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
  const seen = new Set();
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) seen[entry.isIntersecting ? "add" : "delete"](entry.target.id);
    const first = [...links.keys()].find((id) => seen.has(id));
    for (const [id, link] of links) {
      if (id === first) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current");
    }
  }, { rootMargin: "-10% 0px -60% 0px" });
  for (const id of links.keys()) watcher.observe(document.getElementById(id));
}

// ---- class activation maps
document.addEventListener("click", (event) => {
  const button = event.target.closest?.("button[data-map]");
  if (!button) return;
  const card = button.closest(".card"), frame = card.querySelector(".frame");
  const pressed = button.getAttribute("aria-pressed") === "true";
  for (const other of card.querySelectorAll("button[data-map]")) other.setAttribute("aria-pressed", "false");
  frame.querySelector(".map")?.remove();
  if (!pressed) {
    button.setAttribute("aria-pressed", "true");
    frame.append(make("img", { className: "map", src: button.dataset.map, alt: "" }));
  }
});

// ---- tables of all classes
const whole = new Intl.NumberFormat("en-US");
const WIDTHS = { name: 11, range: 11, count: 6.5, percent: 6.5, share: 6.5, difference: 6.5 };  // rem
const MOST_PRINTED = 200;

const cellText = (kind, value) => {
  if (kind === "count") return whole.format(value);
  if (kind === "share") return value.toFixed(2);
  if (kind === "difference") return `${value > 0 ? "+" : value < 0 ? "−" : ""}${Math.abs(value).toFixed(1)}`;
  return value.toFixed(1);
};

const fillCell = (cell, column, row) => {
  const value = column.values[row];
  if (value === null || value === undefined) {
    cell.className = "none";
    cell.textContent = "—";
  } else if (column.kind === "name") {
    cell.title = value;
    cell.append(make("bdi", { textContent: value }));
  } else if (column.kind === "range") {
    const track = make("span", { className: "track" });
    const bar = make("i");
    bar.style.width = `${value}%`;
    track.append(bar);
    const low = column.low?.[row], high = column.high?.[row];
    if (low !== null && low !== undefined) {
      const whisker = make("b");
      whisker.style.left = `${low}%`;
      whisker.style.width = `${high - low}%`;
      track.append(whisker);
      cell.dataset.tip = `${value.toFixed(1)} %, 95 % interval ${low.toFixed(1)} to ${high.toFixed(1)}`;
    }
    cell.append(make("div", { className: "range" }, track, make("span", { textContent: value.toFixed(1) })));
  } else {
    cell.textContent = cellText(column.kind, value);
  }
};

class ClassTable {
  constructor(holder) {
    const data = JSON.parse(holder.querySelector("script").textContent);
    this.columns = data.columns;
    this.names = this.columns[0].values.map((name) => name.toLocaleLowerCase());
    this.filters = data.filters;
    this.sort = { column: -1, up: false };
    this.rows = this.names.map((_, row) => row);
    this.build(holder);
    this.choose();
  }

  build(holder) {
    this.search = make("input", { type: "search", placeholder: "Find a class", autocomplete: "off" });
    this.search.setAttribute("aria-label", "Find a class");
    this.select = make("select", {}, make("option", { value: "", textContent: "All classes" }));
    this.select.setAttribute("aria-label", "Which classes to show");
    this.filters.forEach((filter, number) => {
      this.select.append(make("option", { value: String(number), textContent: filter.label }));
    });
    this.count = make("output");
    const tools = make("div", { className: "tools" }, this.search);
    if (this.filters.length) tools.append(this.select);
    tools.append(this.count);
    this.heads = this.columns.map((column, number) => {
      const button = make("button", { type: "button" }, make("bdi", { textContent: column.label }));
      if (column.help) button.dataset.tip = column.help;
      button.addEventListener("click", () => this.sortBy(number));
      const head = make("th", { scope: "col" }, button);
      return head;
    });
    const table = make("table");
    const narrow = matchMedia("(max-width: 40rem)").matches;
    const widths = this.columns.map((column) => Math.min(WIDTHS[column.kind], narrow ? 8.5 : 99));
    table.append(make("colgroup", {}, ...widths.map((width) => {
      const col = make("col");
      col.style.width = `${width}rem`;
      return col;
    })));
    table.style.minWidth = `${widths.reduce((sum, width) => sum + width, 0)}rem`;
    table.append(make("thead", {}, make("tr", {}, ...this.heads)));
    this.body = make("tbody");
    table.append(this.body);
    table.setAttribute("aria-rowcount", String(this.rows.length + 1));
    this.view = make("div", { className: "view", tabIndex: 0 }, table);
    this.view.setAttribute("role", "region");
    this.view.setAttribute("aria-label", "All classes");
    this.more = make("p", { className: "more", hidden: true });
    holder.append(tools, this.view, this.more);
    this.search.addEventListener("input", () => this.choose());
    this.select.addEventListener("change", () => this.choose());
    this.view.addEventListener("scroll", () => this.draw(), { passive: true });
    addEventListener("resize", () => this.draw());
    addEventListener("beforeprint", () => this.print(true));
    addEventListener("afterprint", () => this.print(false));
  }

  sortBy(column) {
    const up = this.sort.column === column ? !this.sort.up : this.columns[column].kind === "name";
    this.sort = { column, up };
    this.heads.forEach((head, number) => {
      if (number === column) head.setAttribute("aria-sort", up ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
    this.choose();
  }

  passes(filter, row) {
    const value = this.columns[filter.column].values[row];
    if (filter.empty) return value === null;
    if (filter.below !== undefined) return value !== null && value < filter.below;
    return value !== null && value > filter.above;
  }

  choose() {
    const words = this.search.value.toLocaleLowerCase().trim();
    const filter = this.filters[this.select.value || -1];
    const rows = [];
    this.names.forEach((name, row) => {
      if (name.includes(words) && (!filter || this.passes(filter, row))) rows.push(row);
    });
    if (this.sort.column >= 0) {
      const { values, kind } = this.columns[this.sort.column], sign = this.sort.up ? 1 : -1;
      const compare = kind === "name" ? new Intl.Collator(undefined, { numeric: true }).compare : (a, b) => a - b;
      rows.sort((a, b) => {
        if (values[a] === null || values[b] === null) return (values[a] === null) - (values[b] === null);
        return sign * compare(values[a], values[b]) || a - b;
      });
    }
    this.rows = rows;
    this.count.textContent = rows.length === this.names.length
      ? "" : `${whole.format(rows.length)} of ${whole.format(this.names.length)}`;
    this.view.scrollTop = 0;
    this.body.replaceChildren(this.space(rows.length * this.rowHeight()));  // so that it is as high as it will be
    this.draw();
  }

  rowHeight() {
    return 2.125 * parseFloat(getComputedStyle(document.documentElement).fontSize);
  }

  draw(first, last) {
    const height = this.rowHeight();
    first ??= Math.max(0, Math.floor(this.view.scrollTop / height) - 8);
    last ??= Math.min(this.rows.length, Math.ceil((this.view.scrollTop + this.view.clientHeight) / height) + 8);
    const drawn = this.rows.slice(first, last).map((row, place) => {
      const line = make("tr", {}, ...this.columns.map((column) => {
        const cell = make("td");
        fillCell(cell, column, row);
        return cell;
      }));
      line.setAttribute("aria-rowindex", String(first + place + 2));
      return line;
    });
    this.body.replaceChildren(this.space(first * height), ...drawn, this.space((this.rows.length - last) * height));
  }

  space(height) {
    const cell = make("td", { colSpan: this.columns.length });
    cell.style.height = `${Math.max(0, height)}px`;
    const line = make("tr", { className: "space" }, cell);
    line.setAttribute("aria-hidden", "true");
    return line;
  }

  print(now) {
    const last = Math.min(this.rows.length, MOST_PRINTED);
    this.more.hidden = !now || last === this.rows.length;
    this.more.textContent = `The first ${last} of ${whole.format(this.rows.length)} classes in this order.`;
    if (!now) return this.draw();
    this.draw(0, last);
    this.body.lastChild.remove();
  }
}

for (const holder of document.querySelectorAll(".class-table")) new ClassTable(holder);
