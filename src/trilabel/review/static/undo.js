// What this tab has answered, so that it can be taken back, also after a reload.

import { drained, send } from "./outbox.js";

const KEPT = `undo ${document.body.dataset.base}`;
const MOST = 50;

function read() {
  return JSON.parse(sessionStorage.getItem(KEPT) || "[]");
}

// Sends answers, and remembers them.
export function answer(view, sheet, answers) {
  send({ view, sheet, answers });
  const all = [...read(), { view, sheet, answers, address: location.pathname + location.search }];
  sessionStorage.setItem(KEPT, JSON.stringify(all.slice(-MOST)));
}

// Takes the last answers back; resolves to them, or to null where there are none.
export async function undo() {
  const all = read();
  const last = all.pop();
  if (!last) return null;
  sessionStorage.setItem(KEPT, JSON.stringify(all));
  const answers = last.answers.map((one) => ({ ...one, value: 0, undone: true }));
  send({ view: last.view, sheet: last.sheet, answers });
  await drained();
  return last;
}
