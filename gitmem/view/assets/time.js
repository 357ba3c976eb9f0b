// Time: memory as of any change, day or tag; who taught each claim, by colour; and back from there.

import { fixed, read, send } from "./source.js";
import { ask, attempt, button, counted, date, day, el, hour, later, put, say } from "./dom.js";
import { claims, meta, teacher, tint } from "./card.js";

const ROWS = 100;
const wide = matchMedia("(min-width: 60rem)"); // list and memory stand beside one another

let at = null; // what --at says, until the person moves
let query = "";
let chosen = "";

export async function time(view) {
  const [{ moments, tags }, state] = await Promise.all([
    fixed ? { moments: [], tags: [] } : read("moments"),
    read("state"),
  ]);
  if (at === null) at = fixed ? "" : state.at;
  const order = [...moments].reverse();
  const told = el("output", { class: "moment", for: "slider" });
  const rows = el("ul", { class: "rows", "aria-label": "Memories" });
  const pane = el(
    "article",
    { class: "pane", "aria-live": "polite" },
    el("p", { class: "quiet" }, "Choose a memory."),
  );
  const count = el("p", { class: "meta" });
  const more = button("More", () => attempt(() => load(rows.childElementCount)), { class: "more", hidden: true });

  async function load(offset = 0) {
    const asked = `${at} ${query}`;
    const found = await read("memories", { at, q: query, offset, limit: ROWS });
    if (asked !== `${at} ${query}`) return;
    if (!offset) rows.replaceChildren();
    rows.append(
      ...found.rows.map((one) =>
        el(
          "li",
          {},
          el(
            "button",
            {
              type: "button",
              "aria-pressed": String(one.address === chosen),
              onclick: (event) =>
                pick(one.address, event.currentTarget).then(
                  () => wide.matches || pane.scrollIntoView({ block: "start" }),
                ),
            },
            el("b", {}, one.name),
            el(
              "span",
              { class: "note" },
              `${one.scope} · ${one.agent} · ${date(one.taught)}${one.archived ? " · archived" : ""}`,
            ),
            el("span", { class: "about" }, one.secret ? "came with a secret" : one.description),
          ),
        ),
      ),
    );
    count.textContent =
      found.total === found.all
        ? counted(found.all, "memory")
        : `${found.total.toLocaleString()} of ${counted(found.all, "memory")}`;
    more.hidden = rows.childElementCount >= found.total;
  }

  async function pick(address, row) {
    chosen = address;
    rows.querySelectorAll("[aria-pressed=true]").forEach((one) => one.setAttribute("aria-pressed", "false"));
    row?.setAttribute("aria-pressed", "true");
    await attempt(async () => {
      const found = await read("memory", { name: address, at });
      if (chosen !== address) return; // another was chosen meanwhile
      const people = [...new Set(found.claims.map((line) => teacher(line).who))];
      put(
        pane,
        el("h2", {}, found.memory.name),
        meta(found.memory),
        el(
          "p",
          { class: "legend" },
          people.map((who) => el("span", { class: `key ${tint(who)}` }, who)),
        ),
        claims(found),
        at && !fixed
          ? el(
              "div",
              { class: "row" },
              button("Restore this memory", () => back(address, found.memory.name)),
            )
          : null,
      );
    });
  }

  async function back(name, words) {
    await attempt(async () => {
      const plan = await send("restore", { name, at, preview: true });
      if (
        !(await ask(`Restore ${words} as of ${told.textContent}?`, {
          lines: [plan.done, ...plan.notes, "It is a new commit: nothing is rewritten."],
          yes: "Restore",
        }))
      )
        return;
      const done = await send("restore", { name, at });
      say(done.done, { undo: done.undo, notes: done.notes, then: view.refresh });
      at = "";
      await view.refresh();
    });
  }

  async function travel(to, words) {
    at = to;
    told.textContent = words;
    restore.hidden = !at || fixed;
    await attempt(async () => {
      await load();
      if (chosen) {
        const row = [...rows.querySelectorAll("button")].find((one) => one.getAttribute("aria-pressed") === "true");
        if (row) await pick(chosen, row);
        else put(pane, el("p", { class: "quiet" }, "It was not there then."));
      }
    });
  }

  const restore = button("Restore everything", () => back("", "everything"), { hidden: true });
  const slide = later(120, (value) => {
    const one = order[value];
    if (!one || value === order.length) travel("", "now");
    else travel(one.commit, `${date(one.time)}, ${hour(one.time)}: ${one.subject}`);
  });
  const slider = el("input", {
    id: "slider",
    type: "range",
    min: 0,
    max: order.length,
    value: order.length,
    "aria-label": "Moment",
    oninput: () => {
      const one = order[slider.value];
      slider.setAttribute("aria-valuetext", one ? `${day(one.time)}, ${one.subject}` : "now");
      slide(Number(slider.value));
    },
  });
  const day_ = el("input", {
    type: "date",
    "aria-label": "Day",
    onchange: () => day_.value && travel(day_.value, `the end of ${day_.value}`),
  });
  const tag = el(
    "select",
    { "aria-label": "Tag", onchange: () => tag.value && travel(tag.value, tag.value) },
    el("option", { value: "" }, "tag …"),
    tags.map((one) => el("option", { value: one.name }, one.name)),
  );
  const find = el("input", {
    type: "search",
    value: query,
    placeholder: "Find in names and descriptions",
    "aria-label": "Find",
    oninput: later(150, () => {
      query = find.value;
      attempt(() => load());
    }),
  });

  view.show(
    el(
      "div",
      { class: "time" },
      el("h1", { class: "sr" }, "Memory over time"),
      fixed
        ? el("p", { class: "moment" }, state.at ? `As of ${state.at}` : "As of when this file was written")
        : el(
            "div",
            { class: "when-bar" },
            slider,
            el(
              "div",
              { class: "row" },
              told,
              day_,
              tags.length ? tag : null,
              button("Now", () => {
                slider.value = order.length;
                day_.value = tag.value = "";
                travel("", "now");
              }),
              restore,
            ),
          ),
      el("div", { class: "columns" }, el("div", { class: "listing" }, find, count, rows, more), pane),
    ),
  );
  const one = order.find((each) => each.commit === at);
  if (one) slider.value = order.indexOf(one);
  await travel(at, one ? `${date(one.time)}, ${hour(one.time)}: ${one.subject}` : at || "now");
  const first = rows.querySelector("button");
  if (!chosen && first && wide.matches) first.click();
}
