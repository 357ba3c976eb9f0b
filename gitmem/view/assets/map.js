// Map: memories, what they link to and name, and what would leave this machine. The picture and the list say the same.

import { read } from "./source.js";
import { counted, el, later, put, svg } from "./dom.js";
import { link, open } from "./card.js";

const STEP = 22; // pixels from one line to the next
const LETTER = 7; // of a name, about
const LONGEST = 40; // letters of a name that are shown
const GAP = 180;
const RIGHT = 320;
const ARC = 70;

const WORDS = { there: "", moved: "moved to", renamed: "is now", gone: "is gone", missing: "is missing" };

let query = "";

export async function map(view) {
  view.show(el("p", { class: "quiet" }, "Reading what memories name …"));
  const found = await read("map");
  const field = el("div", { class: "picture", tabindex: 0, role: "group", "aria-label": "Picture" });
  const list = el("div", { class: "listing" });
  const find = el("input", {
    type: "search",
    value: query,
    placeholder: "Find",
    "aria-label": "Find on the map",
    oninput: later(150, () => {
      query = find.value;
      draw();
    }),
  });
  function draw() {
    const part = chosen(found, query);
    put(field, picture(part, view));
    put(list, ...listed(part, view));
  }
  draw();
  const more =
    found.total > found.memories.length
      ? `The ${found.memories.length.toLocaleString()} taught last of ${counted(found.total, "memory")}.`
      : counted(found.total, "memory");
  view.show(
    el(
      "div",
      { class: "map" },
      el("h1", {}, "Map"),
      el("p", { class: "meta" }, more),
      leaving(found.leaving),
      find,
      el("div", { class: "columns" }, field, list),
    ),
  );
}

// What fits a question, with all that it touches.
function chosen(found, words) {
  const sought = words.trim().toLowerCase();
  if (!sought) return found;
  const fits = new Set(
    [...found.memories, ...found.names]
      .filter((one) => `${one.id} ${one.name}`.toLowerCase().includes(sought))
      .map((one) => one.id),
  );
  const edges = found.edges.filter(([from, to]) => fits.has(from) || fits.has(to));
  const near = new Set([...fits, ...edges.flatMap(([from, to]) => [from, to])]);
  return {
    ...found,
    edges,
    memories: found.memories.filter((one) => near.has(one.id)),
    names: found.names.filter((one) => near.has(one.id)),
  };
}

function leaving({ remote, on, memories, held }) {
  const what = memories.length ? counted(memories.length, "memory") : "nothing";
  const line = !remote
    ? "Nothing can leave this machine: there is no remote."
    : on
      ? `The next git mem sync would send ${what} to ${remote} for the first time.`
      : `Sharing is off: nothing leaves. git mem share would send ${what} to ${remote}.`;
  const names = (some) =>
    el(
      "p",
      { class: "note" },
      some.slice(0, 40).join(", ") + (some.length > 40 ? ` and ${some.length - 40} more` : ""),
    );
  return el(
    "section",
    { class: "leaving", "aria-label": "What would leave this machine" },
    el("p", {}, line),
    memories.length ? el("details", {}, el("summary", {}, "Which"), names(memories)) : null,
    held.length ? el("p", { class: "note" }, `Never sent, since about a person: ${held.join(", ")}`) : null,
  );
}

const wrong = (one) => one.disputed || ["gone", "missing"].includes(one.state);

// Two columns, memories and what they name, each name as near as may be to those that name it. The same memory
// gives the same picture.
function picture(found, view) {
  const at = new Map(found.memories.map((one, row) => [one.id, row]));
  const named = new Map();
  for (const [from, to, kind] of found.edges)
    if (kind !== "links" && at.has(from)) named.set(to, [...(named.get(to) ?? []), at.get(from)]);
  const middle = (one) => {
    const rows = named.get(one.id) ?? [0];
    return rows.reduce((sum, row) => sum + row, 0) / rows.length;
  };
  const names = found.names
    .filter((one) => named.has(one.id))
    .sort((a, b) => middle(a) - middle(b) || (a.id < b.id ? -1 : 1));
  const other = new Map(names.map((one, row) => [one.id, row]));
  const height = (Math.max(found.memories.length, names.length, 1) + 1) * STEP;
  const y = (row, many) =>
    (row + 0.5) * (many < found.memories.length || many < names.length ? (height - STEP) / many : STEP) + STEP / 2;
  const left = (id) => y(at.get(id), found.memories.length);
  const right = (id) => y(other.get(id), names.length);
  const longest = Math.max(8, ...found.memories.map((one) => Math.min(LONGEST, one.name.length)));
  const start = ARC + 24 + longest * LETTER;
  const end = start + GAP;
  const drawing = svg("svg", {
    viewBox: `0 0 ${end + RIGHT} ${height}`,
    width: end + RIGHT,
    height,
    role: "img",
    "aria-label":
      "Memories on the left, the files, symbols and commits that they name on the right. The list beside it says the same.",
  });
  const lines = svg("g", { class: "edges" });
  const touched = (id, on) =>
    drawing
      .querySelectorAll("[data-from]")
      .forEach((one) => one.classList.toggle("near", on && (one.dataset.from === id || one.dataset.to === id)));
  for (const [from, to, kind] of found.edges) {
    if (!at.has(from)) continue;
    let path = "";
    if (kind === "links" && at.has(to)) {
      const [one, two] = [left(from), left(to)];
      const bend = Math.min(ARC - 6, 12 + Math.abs(one - two) / 6);
      path = `M${ARC},${one} C${ARC - bend},${one} ${ARC - bend},${two} ${ARC},${two}`;
    } else if (other.has(to)) {
      path = `M${start},${left(from)} C${start + GAP / 2},${left(from)} ${end - GAP / 2},${right(to)} ${end},${right(to)}`;
    }
    if (path)
      lines.append(svg("path", { d: path, "data-from": from, "data-to": to, class: kind.replace(" ", "-") }));
  }
  const text = (one, x, y, anchor, more) =>
    svg(
      "text",
      {
        x,
        y: y + 4,
        "text-anchor": anchor,
        class: `node ${wrong(one) ? "wrong" : ""} ${more}`,
        onmouseenter: () => touched(one.id, true),
        onmouseleave: () => touched(one.id, false),
        onclick: () => at.has(one.id) && open(one.id, { changed: view.refresh }),
      },
      svg("title", {}, one.id),
      one.name.length > LONGEST ? `${one.name.slice(0, LONGEST - 1)}…` : one.name,
    );
  drawing.append(
    lines,
    ...found.memories.map((one) =>
      text(one, start - 8, left(one.id), "end", one.leaves ? "leaves memory" : "memory"),
    ),
    ...names.map((one) => text(one, end + 8, right(one.id), "start", one.kind)),
  );
  return drawing;
}

function listed(found, view) {
  const names = new Map([...found.names, ...found.memories].map((one) => [one.id, one]));
  const tell = (to, kind) => {
    const one = names.get(to);
    if (!one) return null;
    const became = WORDS[one.state]
      ? ` ${WORDS[one.state]} ${["moved", "renamed"].includes(one.state) ? one.now : ""}`
      : "";
    return el(
      "li",
      { class: wrong(one) ? "wrong" : "" },
      `${kind} `,
      kind === "links" ? link(one.id, one.name) : el("code", {}, one.name),
      became,
      one.kind === "commit" && one.now ? ` ${one.now}` : "",
    );
  };
  const by = new Map();
  for (const [from, to, kind] of found.edges) by.set(from, [...(by.get(from) ?? []), [to, kind]]);
  const order = [...found.memories].sort((a, b) => Number(wrong(b)) - Number(wrong(a)));
  return order.map((one) =>
    el(
      "div",
      { class: "node-row" },
      el(
        "p",
        {},
        link(one.id, one.name, { changed: view.refresh }),
        one.disputed ? el("span", { class: "wrong" }, " disputed") : null,
        one.leaves ? el("span", { class: "leaves" }, " would leave") : null,
      ),
      by.has(one.id)
        ? el(
            "ul",
            {},
            by.get(one.id).map(([to, kind]) => tell(to, kind)),
          )
        : null,
    ),
  );
}
