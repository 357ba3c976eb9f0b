// A memory, and a change of one: what goes, what comes, and what becomes of each claim.

import { fixed, read, send } from "./source.js";
import { ask, attempt, button, date, el, icon, person, prose, put, say, words } from "./dom.js";

const FATES = {
  kept: "kept",
  merged: "merged into",
  superseded: "superseded by",
  dropped: "dropped",
  moved: "moved to",
};

const MARKS = { "-": "goes", "+": "comes", "=": "stands" };

// Args: number: of a dispute's claim; later: of a question on two, the mark of the one said later.
function claim(side, number, later = "") {
  const tag = later ? (side.mark === later ? "the later one" : "the earlier one") : MARKS[side.mark];
  return el(
    "div",
    { class: `claim ${later ? "stands" : MARKS[side.mark]}` },
    el("span", { class: "tag" }, number ? `${number}` : tag),
    el("p", { class: "words" }, prose(side.text)),
    side.notes.map((note) => el("p", { class: "note" }, note)),
  );
}

// Pairs what goes with what takes its place, with the fate as an arrow between them.
export function sides(card, change = null, numbered = false) {
  const rows = [];
  const list = card.sides;
  for (let at = 0; at < list.length; at += 1) {
    const one = list[at];
    const next = list[at + 1];
    if (!numbered && one.mark === "-" && next && next.mark !== "-") {
      const fate = change?.claims?.find((each) => words(each.before) === words(one.text))?.fate;
      const told = card.kind === "question" ? "or" : (FATES[fate] ?? "becomes");
      rows.push(
        el(
          "div",
          { class: "pair" },
          claim(one, 0, card.later),
          el("div", { class: "fate" }, el("span", {}, told), icon(told === "or" ? "↔" : "→")),
          claim(next, 0, card.later),
        ),
      );
      at += 1;
    } else {
      rows.push(claim(one, numbered ? at + 1 : 0));
    }
  }
  return rows;
}

export function meta(memory) {
  return el(
    "p",
    { class: "meta" },
    `${memory.scope} · ${memory.agent} · ${memory.type || "log"}`,
    memory.taught ? ` · taught ${date(memory.taught)}` : "",
    memory.archived ? " · archived" : "",
  );
}

const colours = new Map();

// A colour for whoever taught a claim, the same wherever they are named; the name stands beside it.
export function tint(who) {
  if (!colours.has(who)) colours.set(who, colours.size % 8);
  return `tint-${colours.get(who)}`;
}

export function teacher(line) {
  const told = line.origins.flatMap((origin) => origin.told)[0];
  if (!told) return { who: "unknown", told: null };
  const by = told.writer === "human" || !told.writer ? "" : ` (${told.writer})`;
  return { who: person(told.author) + by, told };
}

export function claims(found) {
  return found.claims.map((line) => {
    const { who, told } = teacher(line);
    const code = told?.code_commit_now ? ` · at ${told.code_commit_now.slice(0, 9)} ${told.code_subject}` : "";
    return el(
      "div",
      { class: `taught ${tint(who)}` },
      el("p", { class: line.description ? "words lead" : "words" }, prose(line.text)),
      el("p", { class: "note" }, `${who}, ${date(told?.time)}`, line.disputed ? " · disputed" : "", code),
    );
  });
}

// What may be done to a memory that was shown.
function actions(found, changed) {
  if (fixed || found.memory.kind === "log") return null;
  const { memory } = found;
  const named = { name: memory.address, blob: memory.blob };
  const edit = () =>
    attempt(async () => {
      const content = await ask(`Edit ${memory.name}`, {
        text: memory.content,
        yes: "Store",
        label: "The whole file",
        mono: true,
      });
      if (content === null) return;
      const done = await send("edit", { ...named, content });
      say(done.done, { undo: done.undo, notes: done.notes, then: changed });
      changed();
    });
  const forget = () =>
    attempt(async () => {
      const lines = ["It goes from memory, and no session, merge or dream brings it back. History keeps it."];
      if (!(await ask(`Forget ${memory.name}?`, { lines, yes: "Forget" }))) return;
      const done = await send("forget", named);
      say(done.done, { undo: done.undo, notes: done.notes, then: changed });
      changed();
    });
  const why = found.editable ? undefined : "Something of it cannot be shown as it is, so it is edited in its file";
  return el(
    "div",
    { class: "row" },
    button("Edit", edit, { disabled: !found.editable, title: why }),
    button("Forget", forget),
  );
}

const sheet = document.getElementById("sheet");

// Opens one memory beside the page, now or as of then.
export async function open(address, { at = "", changed = () => {} } = {}) {
  await attempt(async () => {
    const found = await read("memory", { name: address, at });
    const { memory } = found;
    const close = () => sheet.close();
    const after = () => {
      close();
      changed();
    };
    put(
      sheet,
      el(
        "div",
        { class: "sheet-head" },
        el("h2", { id: "sheet-title" }, memory.name),
        button("Close", close, { class: "plain" }),
      ),
      meta(memory),
      found.memory.secret
        ? el("p", { class: "warning" }, "Some of it came with a secret, and is not shown.")
        : null,
      claims(found),
      at ? null : actions(found, after),
    );
    if (!sheet.open) sheet.showModal();
    sheet.scrollTop = 0;
  });
}

// A name that opens its memory.
export function link(address, text, given = {}) {
  return button(text ?? address, () => open(address, given), { class: "link" });
}
