// Review: what waits, one thing at a time, by keys. Nothing is written until it is carried out.

import { fixed, read, send } from "./source.js";
import { ask, attempt, button, counted, el, icon, say } from "./dom.js";
import { sides } from "./card.js";

const ANSWERS = { s: "same", n: "newer", o: "older", d: "different" };
const HELP = {
  same: "one of them is enough",
  newer: "the later one stands",
  older: "the earlier one stands",
  different: "both stay, not asked again",
};
const BULK = ["suggestion", "import", "promotion", "snapshot", "dream"];
const REJECTED = ["dispute", "leaving"]; // no plain no: a claim is chosen, a memory is moved

let steps = [];
let here = 0;
let trail = [];
let aside = []; // what has no id: it is settled where it stands
const whole = new Map(); // id of a dream to all that is told of it, as of its version
const decided = new Map();

export async function review(view) {
  const { items } = await read("review");
  const dreams = items.filter((one) => one.kind === "dream" && whole.get(one.id)?.version !== one.version);
  if (dreams.length) view.show(el("p", { class: "quiet" }, "Proving what dreams propose …"));
  for (const one of dreams) whole.set(one.id, await read("item", { id: one.id }));
  const before = steps[here]?.key;
  steps = items.flatMap(stepsOf);
  const there = new Set(steps.map((one) => one.key));
  const stale = [...decided.keys()].filter((key) => !there.has(key));
  stale.forEach((key) => decided.delete(key));
  if (stale.length)
    say(`${counted(stale.length, "decision")} dropped: what was decided on changed since`, { wrong: true });
  trail = trail.filter((keys) => keys.every((key) => decided.has(key)));
  here = Math.max(
    0,
    steps.findIndex((one) => one.key === before),
  );
  aside = items.filter((one) => !one.id);
  redraw(view);
}

function stepsOf(item) {
  if (!item.id) return [];
  const made = (card, number, change) => ({
    key: `${item.id}:${number}:${item.version}`,
    item,
    card,
    change,
    number,
    asks: card?.kind === "question" && card.later !== "",
    numbered: number > 0,
  });
  if (item.kind === "dream") {
    const told = whole.get(item.id);
    const open = new Map(told.changes.filter((one) => !one.decided).map((one) => [one.n, one]));
    return told.cards.filter((card) => open.has(card.n)).map((card) => made(card, card.n, open.get(card.n)));
  }
  if (["inbox", "import"].includes(item.kind) && !item.closed)
    return item.cards.map((card) => made(card, card.n, null));
  return [made(item.cards[0] ?? null, 0, null)];
}

export function redraw(view) {
  const main = el("div", { class: "review" });
  const step = steps[here];
  if (!step) {
    main.append(
      el(
        "div",
        { class: "empty" },
        el("h1", {}, "Nothing waits for you"),
        el("p", {}, "Suggestions, a teammate's proposals, disputes and dreams come here."),
      ),
    );
  } else {
    main.append(list(view), el("div", { class: "step" }, shown(step, view), fixed ? null : bar(view)));
  }
  if (aside.length) {
    main.append(
      el(
        "section",
        { class: "aside" },
        el("h2", {}, "To be settled where it stands"),
        el(
          "ul",
          {},
          aside.map((one) => el("li", {}, one.title)),
        ),
      ),
    );
  }
  const held = document.activeElement?.dataset?.step;
  view.show(main);
  if (held !== undefined) main.querySelector(`[data-step="${here}"]`)?.focus();
  main.querySelector("[aria-current=true]")?.scrollIntoView?.({ block: "nearest" });
}

function list(view) {
  return el(
    "ol",
    { class: "steps", "aria-label": "What waits" },
    steps.map((one, at) => {
      const said = decided.get(one.key);
      const word = said ? said.answer || said.verdict : "";
      return el(
        "li",
        {},
        el(
          "button",
          {
            type: "button",
            "data-step": at,
            "aria-current": at === here ? "true" : undefined,
            onclick: () => go(at, view),
          },
          el("span", { class: `mark ${said ? said.verdict : ""}` }, word || one.item.kind),
          el("span", {}, one.card?.title || one.item.title),
        ),
      );
    }),
  );
}

function shown(step, view) {
  const { item, card, change } = step;
  const where = [item.kind, item.scope ?? item.branch ?? "", item.by.filter((one) => one.length < 40).join(", ")]
    .filter(Boolean)
    .join(" · ");
  const said = decided.get(step.key);
  return el(
    "article",
    { class: "card", "aria-labelledby": "step-title" },
    el("p", { class: "meta" }, where, ` · ${here + 1} of ${steps.length}`),
    el(
      "h1",
      { id: "step-title" },
      card?.title || item.title,
      card?.state ? el("span", { class: "quiet" }, card.state) : null,
    ),
    card?.reason ? el("p", { class: "note" }, card.reason) : null,
    card
      ? sides(card, change, item.kind === "dispute")
      : item.lines.map((line) => el("p", { class: "words" }, line)),
    item.kind === "inbox" ? el("p", { class: "note" }, "From a branch of others: data, not instructions.") : null,
    card?.proof.map((line) =>
      el(
        "p",
        { class: line === "proved" ? "proof" : "proof warning" },
        icon(line === "proved" ? "✓ " : "! "),
        line === "proved" ? "proved: no claim is lost but those named here" : line,
      ),
    ),
    item.kind === "dream" ? unproved(whole.get(item.id)) : null,
    fixed ? null : keys(step, view),
    said
      ? el(
          "p",
          { class: "verdict" },
          `You chose: ${said.answer || said.verdict}${said.why ? ` (${said.why})` : ""}${said.edited ? ", as edited" : ""}`,
        )
      : null,
  );
}

// What the proof says nothing about, and what the dream leaves to a person.
function unproved(dream) {
  const told = dream.proof.unchecked.map((one) => `${one.path}: ${one.message}`);
  const left = dream.summary.split("\n").filter(Boolean);
  const part = (title, lines) =>
    lines.length
      ? el(
          "details",
          { class: "note" },
          el("summary", {}, `${title} (${lines.length})`),
          lines.map((line) => el("p", {}, line)),
        )
      : null;
  return [part("Not looked into", told), part("What else the dream says", left)];
}

function keys(step, view) {
  const key = (letter, text, given = {}) =>
    button([text, " ", el("kbd", {}, letter)], () => press(letter, view), given);
  if (step.asks)
    return el(
      "div",
      { class: "row" },
      Object.entries(ANSWERS).map(([letter, answer]) => key(letter, answer, { title: HELP[answer] })),
      key("e", "edit"),
    );
  if (step.item.kind === "dispute") {
    const all = !step.item.key && key("a", "all are true");
    return el(
      "div",
      { class: "row" },
      step.card.sides.slice(0, 9).map((_, at) => key(String(at + 1), "this stands")),
      all,
    );
  }
  return el(
    "div",
    { class: "row" },
    step.item.kind === "document" ? null : key("a", "accept", { class: "strong" }),
    REJECTED.includes(step.item.kind) ? null : [key("r", "reject"), key("R", "reject, with why")],
    editable(step) ? key("e", "edit") : null,
    BULK.includes(step.item.kind) ? key("A", "all of these") : null,
  );
}

const editable = (step) =>
  step.item.kind === "dream" || (step.item.kind === "suggestion" && step.item.op !== "delete");

function bar(view) {
  const said = [...decided.values()];
  const accepted = said.filter((one) => one.verdict === "accept").length;
  return el(
    "div",
    { class: "carry" },
    el(
      "p",
      { "aria-live": "polite" },
      said.length
        ? `${counted(said.length, "decision")}: ${accepted} accepted, ${said.length - accepted} rejected`
        : "j k move · a accept · r reject · e edit · u undo · ? help",
    ),
    button(["undo ", el("kbd", {}, "u")], () => press("u", view), { disabled: !trail.length }),
    button(["Carry out ", el("kbd", {}, "c")], () => press("c", view), { class: "strong", disabled: !said.length }),
  );
}

function go(at, view) {
  here = Math.max(0, Math.min(steps.length - 1, at));
  view.redraw();
}

function note(some, said, view) {
  trail.push(some.map((one) => one.key));
  for (const one of some) decided.set(one.key, { ...said });
  const left = (one) => !decided.has(one.key);
  const next = steps.findIndex((one, at) => at > here && left(one));
  const first = steps.findIndex(left);
  go(next >= 0 ? next : first >= 0 ? first : here, view);
}

// Does what a key says; whether it says anything.
export function press(key, view) {
  const step = steps[here];
  if (fixed && !["j", "k", "ArrowDown", "ArrowUp"].includes(key)) return false;
  if (key === "j" || key === "ArrowDown") go(here + 1, view);
  else if (key === "k" || key === "ArrowUp") go(here - 1, view);
  else if (!step) return false;
  else if (key === "u") back(view);
  else if (key === "c") attempt(() => carry(view));
  else if (key === "?") help();
  else if (step.asks && ANSWERS[key])
    note([step], { verdict: key === "d" ? "reject" : "accept", answer: ANSWERS[key] }, view);
  else if (key === "e" && editable(step)) attempt(() => edit(step, view));
  else if (step.asks) return false;
  else if (step.item.kind === "dispute") return settle(key, step, view);
  else if (key === "a" && step.item.kind !== "document") note([step], { verdict: "accept" }, view);
  else if (key === "A" && BULK.includes(step.item.kind)) all(step, view);
  else if (key === "r" && !REJECTED.includes(step.item.kind)) note(together(step), { verdict: "reject" }, view);
  else if (key === "R" && !REJECTED.includes(step.item.kind)) reason(step, view);
  else return false;
  return true;
}

function settle(key, step, view) {
  const many = step.card.sides.length;
  const one = /^[1-9]$/.test(key) ? Number(key) : 0;
  if (one && one <= many) note([step], { verdict: "accept", numbers: [one] }, view);
  else if (key === "a" && !step.item.key)
    note([step], { verdict: "accept", numbers: Array.from({ length: many }, (_, at) => at + 1) }, view);
  else return false;
  return true;
}

// Accepts this and what is left of the same dream, or of the same kind; a question is answered by itself.
function all(step, view) {
  const same = (one) =>
    step.item.kind === "dream" ? one.item.id === step.item.id : one.item.kind === step.item.kind;
  const rest = steps.filter(
    (one, at) => at >= here && same(one) && !decided.has(one.key) && one.card?.kind !== "question",
  );
  note(rest.length ? rest : [step], { verdict: "accept" }, view);
}

async function reason(step, view) {
  const why = await ask("Why is it turned down?", { text: "", yes: "Reject", label: "Why" });
  if (why !== null) note(together(step), { verdict: "reject", why }, view);
}

const together = (step) =>
  step.item.kind === "inbox" ? steps.filter((one) => one.item.id === step.item.id) : [step];

function back(view) {
  const keys = trail.pop();
  if (!keys) return;
  keys.forEach((key) => decided.delete(key));
  go(
    steps.findIndex((one) => one.key === keys[0]),
    view,
  );
}

async function edit(step, view) {
  const { item } = step;
  const { files } = await read("laid", { id: item.id, n: step.number || "" });
  const plain = files.filter((one) => one.editable);
  if (!plain.length) {
    const notes = [`Edit it in your editor: git mem review edit ${item.id}`];
    say("Something of it cannot be shown as it is", { notes, wrong: true });
    return;
  }
  if (item.kind === "suggestion") {
    const text = decided.get(step.key)?.edited ?? plain[0].content;
    const edited = await ask(`Edit ${plain[0].path}`, { text, yes: "Keep", mono: true });
    if (edited !== null && edited !== plain[0].content) note([step], { verdict: "accept", edited }, view);
    return;
  }
  let { version } = item;
  for (const { path, content } of plain) {
    const words = await ask(`Edit ${path}`, { text: content, yes: "Keep", mono: true });
    if (words === null || words === content) continue;
    const why = await ask("Why, should a claim go by it?", { text: "", yes: "Keep", label: "Why" });
    const now = await send("edit-dream", {
      id: item.id,
      version,
      n: step.number,
      path,
      content: words,
      why: why ?? "",
    });
    kept(item.id, version, now.version);
    version = now.version;
    say("the dream has your words now");
  }
  await view.refresh();
}

// What was decided on other changes of a dream holds after the person edited one.
function kept(id, before, after) {
  for (const [key, said] of [...decided]) {
    if (!key.startsWith(`${id}:`) || !key.endsWith(`:${before}`)) continue;
    const same = `${key.slice(0, -before.length)}${after}`;
    decided.delete(key);
    decided.set(same, said);
    trail = trail.map((keys) => keys.map((one) => (one === key ? same : one)));
  }
}

const sayings = () =>
  steps
    .filter((one) => decided.has(one.key))
    .map((one) => ({
      id: one.item.id,
      version: one.item.version,
      numbers: one.numbered && !isWhole(one, decided.get(one.key)) ? [one.number] : [],
      ...decided.get(one.key),
    }));

// A teammate's branch is turned down whole, or not at all.
const isWhole = (step, said) => step.item.kind === "inbox" && said.verdict === "reject";

let carrying = false;

async function carry(view, said = sayings(), agreed = false) {
  if (!said.length || (carrying && !agreed)) return;
  carrying = true;
  let done;
  try {
    done = await send("decide", { decisions: said, agreed });
  } finally {
    carrying = false;
  }
  const waits = agreed ? [] : done.failed.filter((one) => one.kind === "consent");
  if (
    waits.length &&
    (await ask("This concerns others", { lines: waits.map((one) => one.message), yes: "Agree" }))
  ) {
    // What was decided already waits no more, and the rest is as it was shown.
    const left = said.filter((one) => waits.some((wait) => wait.id === one.id));
    await carry(view, left, true);
    return;
  }
  decided.clear();
  trail = [];
  tell(done, view);
  await view.refresh();
}

function tell(done, view) {
  const notes = [
    ...done.decided.flatMap((one) => one.notes),
    ...done.failed.map((one) => `${one.id ?? ""} was not decided: ${one.message}. ${one.hint}`),
  ];
  say(done.done ?? "Nothing was decided", {
    undo: done.undo,
    notes,
    wrong: done.failed.length > 0,
    then: view.refresh,
  });
}

function help() {
  ask("Keys", {
    yes: "Close",
    lines: [
      "j, k: next and previous",
      "a: accept; r: reject; R: reject, and say why",
      "A: accept this and the rest of its dream, or of its kind",
      "e: edit",
      "s, n, o, d: of a question: same, newer, older, different",
      "1 to 9: of a dispute: this one stands",
      "u: undo the last key; c: carry out all that was decided",
    ],
  });
}
