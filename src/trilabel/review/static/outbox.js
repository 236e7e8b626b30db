// Answers on their way: sent in order, each until the server says that it is safe on its disk.
// What is not safe yet is kept by the browser, so that reloading the page loses nothing.

const base = document.body.dataset.base;
const KEPT = `outbox ${base}`;
const waiting = JSON.parse(sessionStorage.getItem(KEPT) || "[]");
let busy = false;
let emptied = [];
let onSaved = () => {};

export function whenSaved(callback) {
  onSaved = callback;
}

export function newName() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function send(entry) {
  waiting.push({ batch: newName(), ...entry });
  keep();
  pump();
}

// Resolves when everything that was sent is safe.
export function drained() {
  return waiting.length ? new Promise((resolve) => emptied.push(resolve)) : Promise.resolve();
}

export function pending() {
  return waiting.length;
}

export function post(path, value) {
  const headers = { "Content-Type": "application/json" };
  return fetch(base + path, { method: "POST", headers, body: JSON.stringify(value), signal: AbortSignal.timeout(20000) });
}

function keep() {
  sessionStorage.setItem(KEPT, JSON.stringify(waiting));
}

function tell(text, state) {
  const place = document.getElementById("saved");
  if (!place) return;
  place.textContent = text;
  place.dataset.state = state;
}

async function pump() {
  if (busy) return;
  busy = true;
  for (let failures = 0; waiting.length; ) {
    tell(`saving ${waiting.length > 1 ? waiting.length : ""}…`, "busy");
    try {
      const answer = await post("/answers", waiting[0]);
      if (answer.ok) {
        waiting.shift();
        keep();
        failures = 0;
        onSaved(await answer.json());
      } else if ([400, 404, 405, 413].includes(answer.status)) {
        waiting.shift(); // to send it again would not help
        keep();
        tell(`refused: ${await answer.text()}`, "bad");
        await new Promise((resolve) => setTimeout(resolve, 4000));
      } else if (answer.status === 403) {
        throw new Error("the server was started again: open its new link");
      } else {
        throw new Error((await answer.text()).slice(0, 200));
      }
    } catch (error) {
      failures += 1;
      const reason = error instanceof TypeError || error.name === "TimeoutError" ? "the server does not answer" : error.message;
      tell(`${waiting.length} NOT saved yet: ${reason}`, "bad");
      await new Promise((resolve) => setTimeout(resolve, Math.min(250 * 2 ** failures, 4000)));
    }
  }
  busy = false;
  tell("all saved", "good");
  for (const resolve of emptied.splice(0)) resolve();
}

addEventListener("beforeunload", (event) => {
  if (waiting.length) event.preventDefault();
});

if (waiting.length) pump();
