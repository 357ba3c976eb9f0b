// Now: what was said, what was learned of it, and where it is; and what the last prompt was told, and why.

import { fixed, read, send } from "./source.js";
import { ask, attempt, button, day, el, hour, prose, put, say, writer } from "./dom.js";
import { link, sides } from "./card.js";

const OPEN = 3; // changes that are told claim by claim without being asked for
const FIRST = 3; // suggestions that stand above them

const opened = new Map();

export async function now(view) {
  const log = await read("log", { limit: 40 });
  const feed = el("section", { "aria-labelledby": "learned" }, el("h1", { id: "learned" }, "What was learned"));
  const list = el("div", { class: "feed" });
  feed.append(list);
  let last = "";
  const add = (entries, first) =>
    entries.forEach((entry, at) => {
      const of = day(entry.time);
      if (of !== last) list.append(el("h2", { class: "day" }, of));
      last = of;
      list.append(row(entry, view, first && at < OPEN));
    });
  if (log.entries.length) add(log.entries, true);
  else
    list.append(
      el(
        "p",
        { class: "empty" },
        "Nothing was learned here yet. Say to an agent what should last, or: git mem remember TEXT",
      ),
    );
  let offset = log.entries.length;
  const more = button(
    "Earlier",
    () =>
      attempt(async () => {
        const next = await read("log", { offset, limit: 100 });
        offset += next.entries.length;
        add(next.entries, false);
        more.hidden = !next.more;
      }),
    { hidden: !log.more, class: "more" },
  );
  feed.append(more);
  const main = el("div", {}, feed);
  const page = el("div", { class: "two" }, main);
  if (fixed) {
    view.show(page);
    return;
  }
  // What was there already stays until the rest is known, so that nothing moves; the first time it is not waited for.
  if (!view.again) view.show(page);
  const [waiting, { recalls }] = await Promise.all([read("review"), read("recalls")]);
  const suggested = waiting.items.filter((one) => one.kind === "suggestion" && one.cards.length);
  if (suggested.length) main.prepend(suggestions(suggested, waiting.items.length, view));
  page.append(told(recalls, view));
  if (view.again) view.show(page);
}

function suggestions(found, total, view) {
  return el(
    "section",
    { "aria-labelledby": "suggested" },
    el("h1", { id: "suggested" }, "Waits for you"),
    found.slice(0, FIRST).map((one) => suggestion(one, view)),
    el("p", {}, el("a", { href: "#review" }, total === 1 ? "Open it in Review" : `All ${total} in Review`)),
  );
}

function suggestion(item, view) {
  const decide = (verdict, more = {}) =>
    attempt(async () => {
      const done = await send("decide", { decisions: [{ id: item.id, version: item.version, verdict, ...more }] });
      if (done.failed.length) say(done.failed[0].message, { notes: [done.failed[0].hint], wrong: true });
      else say(done.done, { undo: done.undo, then: view.refresh });
      view.refresh();
    });
  const edit = () =>
    attempt(async () => {
      const { files } = await read("laid", { id: item.id });
      const edited = await ask("Edit, and accept", { text: files[0].content, yes: "Accept", mono: true });
      if (edited !== null) decide("accept", { edited });
    });
  return el(
    "article",
    { class: "card" },
    el("h3", {}, item.title),
    sides(item.cards[0]),
    item.reason ? el("p", { class: "note" }, `Why: ${item.reason}`) : null,
    el(
      "div",
      { class: "row" },
      button("Accept", () => decide("accept"), { class: "strong" }),
      button("Reject", () => decide("reject")),
      item.op === "delete" ? null : button("Edit", edit),
    ),
  );
}

// One change: its line, and on demand the claims, where they are, and what was said.
function row(entry, view, open) {
  const inside = el("div", { class: "inside" });
  const box = el(
    "details",
    { class: "change" },
    el(
      "summary",
      {},
      el("span", { class: "when" }, hour(entry.time)),
      el("span", { class: "what" }, entry.subject),
      el("span", { class: "who" }, writer(entry), ` · ${entry.scope}`),
    ),
    inside,
  );
  const load = () =>
    attempt(async () => {
      if (inside.childElementCount) return;
      const { files } = await read("change", { scope: entry.scope, commit: entry.commit });
      put(
        inside,
        files.length
          ? el(
              "div",
              {},
              files.map((file) => changed(file, view)),
            )
          : el("p", { class: "quiet" }, "No claim of a memory changed."),
        actions(entry, inside, view),
      );
    });
  box.addEventListener("toggle", () => {
    opened.set(entry.commit, box.open);
    if (box.open) load();
  });
  box.open = opened.get(entry.commit) ?? open;
  return box;
}

function changed(file, view) {
  const gone = file.state === "deleted";
  const address = `${file.scope}/${file.path.replace(/\.md$/, "").replace(/\/archive\/[0-9a-f]{2}\//, "/")}`;
  const come = file.changes.some((one) => one.sign !== "-");
  return el(
    "div",
    { class: "file" },
    file.changes.map((one) =>
      el(
        "p",
        { class: `words ${{ "+": "comes", "-": "goes", "~": "marked" }[one.sign]}` },
        el("span", { class: "sr" }, { "+": "new: ", "-": "gone: ", "~": "marked: " }[one.sign]),
        prose(one.text),
      ),
    ),
    el(
      "p",
      { class: "note" },
      gone
        ? `was in ${address}`
        : [come ? "is in " : "taken out of ", link(address, address, { changed: view.refresh })],
    ),
  );
}

function actions(entry, inside, view) {
  if (fixed) return null;
  const undo = () =>
    attempt(async () => {
      const done = await send("undo", { commits: [entry.commit] });
      say(done.done, { undo: done.undo, notes: done.notes, then: view.refresh });
      view.refresh();
    });
  const heard = button("What was said", () =>
    attempt(async () => {
      const { messages } = await read("said", { scope: entry.scope, commit: entry.commit });
      heard.remove();
      inside.prepend(
        el(
          "div",
          { class: "heard", tabindex: 0, role: "group", "aria-label": "What was said" },
          messages.length
            ? messages.map((one) =>
                el(
                  "p",
                  { class: `message ${one.role}` },
                  el("b", {}, one.role === "person" ? "you " : "agent "),
                  one.text,
                ),
              )
            : el("p", { class: "quiet" }, "The recording has none of it any more."),
        ),
      );
    }),
  );
  return el("div", { class: "row" }, entry.session ? heard : null, button("Undo", undo));
}

function told(recalls, view) {
  return el(
    "aside",
    { "aria-labelledby": "told" },
    el("h2", { id: "told" }, "Told to the last prompts"),
    recalls.length
      ? recalls.map((one) =>
          el(
            "div",
            { class: "told" },
            el("p", { class: "asked" }, one.asked),
            el(
              "ul",
              {},
              one.told.map((memory) =>
                el(
                  "li",
                  {},
                  link(memory.address, memory.name, { changed: view.refresh }),
                  memory.because.length
                    ? el("span", { class: "note" }, ` shares ${memory.because.join(", ")}`)
                    : null,
                ),
              ),
            ),
          ),
        )
      : el("p", { class: "quiet" }, "No prompt was told anything yet."),
    el("p", { class: "note" }, "Of a question only the words that the memories have are kept."),
  );
}
