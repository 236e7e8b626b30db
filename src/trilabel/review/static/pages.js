// From one page to the next without waiting: the next sheet and its pictures are fetched while this one is answered.

import { drained, post } from "./outbox.js";

let ahead = null; // a promise of the next page: {address, main, title}
let onShown = () => {};

export function whenShown(callback) {
  onShown = callback;
  callback(current());
}

export function current() {
  return document.querySelector("main");
}

async function fetched(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(await answer.text());
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const main = document.adoptNode(page.querySelector("main"));
  return { address: answer.url, main, title: page.title };
}

function nextAddress() {
  const next = current().dataset.next;
  return next + (next.includes("?") ? "&" : "?") + "new=1"; // not the sheet that was left
}

export function prepareNext() {
  if (ahead || !current().dataset.sheet) return;
  ahead = fetched(nextAddress());
  ahead.then(({ main }) => {
    for (const image of main.querySelectorAll("img")) new Image().src = image.getAttribute("src") || image.dataset.src;
  }, () => { ahead = null; });
}

function show(page) {
  current().replaceWith(page.main);
  document.title = page.title;
  history.pushState({}, "", page.address);
  scrollTo(0, 0);
  onShown(page.main);
}

let moving = false;

async function move(fetching) {
  if (moving) return;
  moving = true;
  try {
    show(await fetching());
  } catch {
    document.getElementById("saved").textContent = "the next page could not be opened; try again";
  } finally {
    moving = false;
  }
}

export function showNext() {
  const { sheet, next } = current().dataset;
  if (!sheet) {
    return drained().then(() => location.assign(next));
  }
  return move(async () => {
    const page = await (ahead || fetched(nextAddress()));
    ahead = null;
    if (!page.main.dataset.sheet || page.main.querySelector(".nothing")) {
      await drained(); // what was just answered may leave something to ask
      return fetched(nextAddress());
    }
    return page;
  });
}

export function showSheet(address) {
  return move(() => fetched(address));
}

// Who closes the page gets its sheet again; whoever reloads, too.
addEventListener("pagehide", async () => {
  const sheets = [current()?.dataset.sheet];
  if (ahead) ahead.then(({ main }) => leave([main.dataset.sheet]), () => {});
  leave(sheets);
});

function leave(sheets) {
  const named = sheets.filter(Boolean);
  if (!named.length) return;
  const value = new Blob([JSON.stringify({ sheets: named })], { type: "application/json" });
  navigator.sendBeacon(`${document.body.dataset.base}/leave`, value);
}

addEventListener("popstate", () => location.reload());
