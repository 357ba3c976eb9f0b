// Where values come from: the server that gave the page, or the file that the page is.

const base = location.pathname.replace(/[^/]*$/, "");
const element = document.getElementById("answers");
const answers = element ? JSON.parse(element.textContent) : null;
const known = new Map();

export const fixed = answers !== null;

// What went wrong, and what to do next.
export class Problem extends Error {
  constructor(kind, message, hint) {
    super(message);
    this.kind = kind;
    this.hint = hint;
  }
}

async function asked(path, options) {
  let response;
  try {
    response = await fetch(base + path, { ...options, cache: "no-store", credentials: "omit" });
  } catch {
    throw new Problem("gone", "git mem view does not run any more", "Start it again: git mem view");
  }
  if (response.status === 304) return { same: true };
  if (response.status === 403)
    throw new Problem("gone", "This address is out of date", "Open the one that git mem view prints.");
  const value = await response
    .json()
    .catch(() => ({ error: { kind: "gone", message: "No answer that the page can read", hint: "" } }));
  if (!response.ok) {
    const said = value.error;
    throw new Problem(said.kind, said.message, said.hint);
  }
  return { value, tag: response.headers.get("ETag") };
}

// Reads a value; what was read before is read again only where memory changed.
export async function read(name, given = {}) {
  const some = Object.entries(given).filter(([, value]) => value !== undefined && value !== "" && value !== null);
  if (fixed) return answered(name, Object.fromEntries(some));
  const key = `api/${name}?${new URLSearchParams(some)}`;
  const before = known.get(key);
  const found = await asked(key, { headers: before ? { "If-None-Match": before.tag } : {} });
  if (found.same) return before.value;
  if (known.size > 200) known.clear();
  known.set(key, found);
  return found.value;
}

function answered(name, given) {
  if (name === "memories") return page(answers.memories, given);
  if (name === "log") return { entries: given.offset ? [] : answers.log.entries, more: false };
  if (name === "item") return answers.review.items.find((one) => one.id === given.id);
  const key = [
    name,
    ...Object.keys(given)
      .filter((key) => key !== "at")
      .sort()
      .map((key) => `${key}=${given[key]}`),
  ].join("?");
  const found = answers[key] ?? answers[name];
  if (!found) throw new Problem("left out", "That is not in this file", "");
  return found;
}

function page(all, { q = "", offset = 0, limit = 100 }) {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  const said = (row) => `${row.name} ${row.description} ${row.scope}/${row.agent} ${row.type}`.toLowerCase();
  const rows = words.length ? all.rows.filter((row) => words.every((word) => said(row).includes(word))) : all.rows;
  return { total: rows.length, all: all.all, rows: rows.slice(Number(offset), Number(offset) + Number(limit)) };
}

// Does something; the answer says what, and how it is undone.
export async function send(name, given) {
  const found = await asked(`api/${name}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(given),
  });
  return found.value;
}
