// The page: which view is shown, and that it follows memory as it changes.

import { fixed, read } from "./source.js";
import { attempt, el, put, say } from "./dom.js";
import { now } from "./now.js";
import { press, redraw, review } from "./review.js";
import { time } from "./time.js";
import { map } from "./map.js";

const VIEWS = { now, review, time, map };
const EVERY = 2500; // milliseconds between two looks at whether memory changed

const content = document.getElementById("content");
let name = "";
let tag = "";
let turn = 0;

function chosen() {
  const word = location.hash.slice(1);
  return word in VIEWS ? word : "now";
}

// What a view draws with. What was asked for before another view was chosen is not shown any more.
function stage(mine) {
  return {
    show: (node) => {
      if (mine !== turn) return;
      const scroll = scrollY;
      put(content, node);
      if (name === content.dataset.view) scrollTo(0, scroll);
      content.dataset.view = name;
    },
    again: content.dataset.view === name,
    refresh: () => draw(false),
    redraw: () => redraw(stage(turn)),
  };
}

async function draw(moved) {
  turn += 1;
  name = chosen();
  const mine = stage(turn);
  document.title = `${name[0].toUpperCase()}${name.slice(1)} · gitmem`;
  document.querySelectorAll("nav a").forEach((one) => {
    if (one.hash === `#${name}`) one.setAttribute("aria-current", "page");
    else one.removeAttribute("aria-current");
  });
  try {
    await VIEWS[name](mine);
  } catch (error) {
    mine.show(el("div", { class: "empty" }, el("h1", {}, error.message), el("p", {}, error.hint ?? "")));
  }
  if (moved) content.focus({ preventScroll: true });
  count();
}

async function count() {
  await attempt(async () => {
    const { items } = await read("review");
    const mark = document.getElementById("waiting");
    mark.hidden = !items.length;
    mark.textContent = items.length ? String(items.length) : "";
    mark.setAttribute("aria-label", `${items.length} waiting`);
  });
}

// Memory changes while a person looks: by a session, a sync, the command line.
async function follow() {
  let wait = EVERY;
  if (document.visibilityState === "visible") {
    try {
      const state = await read("state");
      const busy =
        document.querySelector("dialog[open]") || (name === "time" && content.contains(document.activeElement));
      if (tag && state.tag !== tag && !busy) await draw(false);
      if (!busy || !tag) tag = state.tag;
    } catch (error) {
      if (error.kind === "gone") {
        say(error.message, { notes: [error.hint], wrong: true });
        wait = 4 * EVERY;
      }
    }
  }
  setTimeout(follow, wait);
}

addEventListener("hashchange", () => {
  if (location.hash.slice(1) in VIEWS) draw(true);
});

addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, textarea, select, dialog");
  if (typing || event.ctrlKey || event.metaKey || event.altKey || name !== "review") return;
  if (press(event.key, stage(turn))) event.preventDefault();
});

document.querySelectorAll("dialog").forEach((box) =>
  box.addEventListener("click", (event) => {
    if (event.target === box && box.id === "sheet") box.close();
  }),
);

attempt(async () => {
  const state = await read("state");
  document.getElementById("project").textContent = state.folder;
  tag = state.tag;
  if (fixed && state.at)
    document.querySelectorAll("nav a[href='#review'], nav a[href='#map']").forEach((one) => one.remove());
  if (state.at && !location.hash) location.replace("#time");
  await draw(false);
  if (!fixed) setTimeout(follow, EVERY);
});
