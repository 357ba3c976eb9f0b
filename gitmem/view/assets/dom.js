// Elements, and how times and people are told. Text of others is only ever text: nothing here makes markup of it.

import { Problem, send } from "./source.js";

const SVG = "http://www.w3.org/2000/svg";

export function el(tag, given = {}, ...inside) {
  return fill(document.createElement(tag), given, inside);
}

export function svg(tag, given = {}, ...inside) {
  return fill(document.createElementNS(SVG, tag), given, inside);
}

function fill(node, given, inside) {
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key in node && ["value", "checked", "disabled", "hidden"].includes(key)) node[key] = value;
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  node.append(...some(inside));
  return node;
}

const some = (inside) =>
  inside.flat(Infinity).filter((one) => one !== undefined && one !== null && one !== false && one !== "");

// Puts elements and texts in the place of what stands in one.
export function put(node, ...inside) {
  node.replaceChildren(...some(inside));
}

export function button(text, act, given = {}) {
  return el("button", { type: "button", onclick: act, ...given }, text);
}

export function icon(text) {
  return el("span", { "aria-hidden": "true" }, text);
}

const days = new Intl.DateTimeFormat(undefined, {
  weekday: "long",
  day: "numeric",
  month: "long",
  year: "numeric",
});
const hours = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const short = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });

export const day = (time) => (time ? days.format(new Date(time)) : "unknown");
export const hour = (time) => (time ? hours.format(new Date(time)) : "");
export const date = (time) => (time ? short.format(new Date(time)) : "unknown");

export function counted(number, word, words = word.endsWith("y") ? `${word.slice(0, -1)}ies` : `${word}s`) {
  return `${number.toLocaleString()} ${number === 1 ? word : words}`;
}

export const person = (author) => (author || "").replace(/\s*<[^>]*>\s*$/, "") || "somebody";

const WRITERS = { human: "person", agent: "agent", extract: "extraction", dream: "dream", sync: "sync" };

export function writer(said) {
  const by = WRITERS[said.writer] ?? "person";
  return el(
    "span",
    { class: `by by-${by}` },
    by === "person" ? person(said.author) : `${person(said.author)}, by ${by}`,
  );
}

// A claim as it is read: without the mark of its list, which says nothing here.
export const words = (text) => text.replace(/^\s*(?:[-*+]|\d+[.)])\s+/, "").trim();

// The same with code and what is bold as such; all other marks stay as they were written.
export function prose(text) {
  return words(text)
    .split(/(`[^`\n]+`|\*\*[^*\n]+\*\*)/)
    .map((part) =>
      part.startsWith("`") && part.length > 2
        ? el("code", {}, part.slice(1, -1))
        : part.startsWith("**") && part.length > 4
          ? el("b", {}, part.slice(2, -2))
          : part,
    );
}

// Coalesces calls until none came for a while.
export function later(milliseconds, act) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(...given), milliseconds);
  };
}

const toast = document.getElementById("toast");
let fading = 0;

// Says what was done, with its undo; what went wrong stays until it is closed.
export function say(line, { undo = [], notes = [], wrong = false, then = () => {} } = {}) {
  clearTimeout(fading);
  const close = () => toast.replaceChildren();
  const back =
    undo.length > 0 &&
    button("Undo", () =>
      attempt(async () => {
        const done = await send("undo", { commits: undo });
        say(done.done, { notes: done.notes, undo: done.undo, then });
        then();
      }),
    );
  put(
    toast,
    el(
      "div",
      { class: wrong ? "said wrong" : "said" },
      el(
        "div",
        {},
        el("p", {}, line),
        notes.map((note) => el("p", { class: "quiet" }, note)),
      ),
      back,
      button("Close", close, { class: "plain" }),
    ),
  );
  if (!wrong) fading = setTimeout(close, 12000);
}

export async function attempt(act) {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    say(error.message, { notes: error.hint ? [error.hint] : [], wrong: true });
    return undefined;
  }
}

// Asks for yes or no, or for a text; gives true or the text, and null where the person does not want it.
export function ask(title, { lines = [], yes = "Yes", text, label = "", mono = false } = {}) {
  const box = document.getElementById("question");
  return new Promise((resolve) => {
    const field =
      text === undefined
        ? null
        : el("textarea", {
            value: text,
            rows: Math.min(18, Math.max(3, text.split("\n").length + 1)),
            "aria-label": label || title,
            class: mono ? "mono" : "",
            spellcheck: "true",
          });
    let answer = null;
    const done = (given) => {
      answer = given;
      box.close();
    };
    const form = el(
      "form",
      {
        method: "dialog",
        onsubmit: (event) => {
          event.preventDefault();
          done(field ? field.value : true);
        },
      },
      el("h2", { id: "question-title" }, title),
      lines.map((line) => el("p", {}, line)),
      field,
      el(
        "div",
        { class: "row" },
        el("button", { class: "strong" }, yes),
        button("Cancel", () => done(null)),
      ),
    );
    if (field)
      field.addEventListener("keydown", (event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
      });
    put(box, form);
    box.onclose = () => {
      box.replaceChildren();
      resolve(answer);
    };
    box.showModal();
    (field ?? box.querySelector("button")).focus();
  });
}
