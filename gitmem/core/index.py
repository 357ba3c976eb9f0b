"""The index `MEMORY.md`: one line a memory, always in the agent's context; a cache that can be rebuilt."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from urllib.parse import quote, unquote

from gitmem.core.limits import ENTRY_CHARS, INDEX_BYTES, INDEX_LINES, NAME_CHARS
from gitmem.core.sequence import merge_keys
from gitmem.values import dataclass

INDEX = "MEMORY.md"

_BULLET = re.compile(r"\s{0,3}[-*+]\s+")
_LINK = re.compile(r"\[[^\[\]]*\]\((?:<([^<>\n]*)>|([^()<>\s]+))\)")
_BARE = re.compile(r"`?([\w][\w.-]*\.md)`?(?=\W|$)")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


@dataclass(frozen=True)
class Unit:
    """One line of the index with the indented lines under it.

    Attributes:
        key: `>file.md` for an entry, else the line's own text (with a number for repeats).
        target: file that an entry links to; empty for headings, prose and blank lines.
        text: the lines, exactly, with line ends.
        gap: blank lines after them.
    """

    key: str
    target: str
    text: str
    gap: str = ""


_NONE = Unit("", "", "")


def parse(text: str) -> tuple[Unit, ...]:
    """Cuts an index into units; joining their texts and gaps gives it back.

    Blank lines at the very beginning are the gap of a unit with an empty key and text.
    """
    return _parse(text, {})


def _parse(text: str, known: dict[str, Unit]) -> tuple[Unit, ...]:
    """The same, with the units of lines that were met before: versions of an index are mostly equal."""
    units: list[Unit] = []
    seen: dict[str, int] = {}
    last = _NONE
    for line in _LINE.findall(text):
        if not line.strip():
            last = replace(last, gap=last.gap + line)
            units[-1:] = [last]
        elif last.target and not last.gap and line[0] in " \t":
            last = replace(last, text=last.text + line)
            units[-1] = last
        else:
            last = known.get(line) or known.setdefault(line, _unit(line))
            count = seen[last.key] = seen.get(last.key, 0) + 1
            if count > 1:
                last = replace(last, key=f"{last.key}\0{count}")
            units.append(last)
    return tuple(units)


def _unit(line: str) -> Unit:
    target = _target(line)
    return Unit(f">{target}" if target else line.strip(), target, line)


def targets(text: str) -> tuple[str, ...]:
    """Files that the index links to, in order, each once."""
    return tuple(dict.fromkeys(unit.target for unit in parse(text) if unit.target))


def entry(name: str, file: str, description: str) -> str:
    """One index line of about 150 characters; what is not to be seen or not UTF-8 becomes U+FFFD.

    An agent loads the index into every session: one odd description must not spoil it.
    """
    title = _visible(name.replace("[", "(").replace("]", ")")) or "(no name)"
    hook = _visible(description)
    target = "".join(quote(c) if c in " ()<>[]#%" or not c.isprintable() else c for c in file)
    if len(title) > NAME_CHARS:
        title = title[: NAME_CHARS - 1].rstrip() + "…"
    line = f"- [{title}]({target})" + (f" — {hook}" if hook else "")
    link = line.index(")") + 1
    if len(line) > ENTRY_CHARS and link < ENTRY_CHARS - 1:
        cut = line[: ENTRY_CHARS - 1]
        line = (cut.rsplit(" ", 1)[0] if " " in cut[link:] else cut).rstrip(" ,;:—") + "…"
    elif len(line) > ENTRY_CHARS:
        line = line[:link]
    return line + "\n"


def _visible(text: str) -> str:
    return "".join(c if c.isprintable() else "\ufffd" for c in " ".join(text.split()))


def with_entry(text: str, file: str, line: str) -> str:
    """The index with this entry for a file: in place of the one it has, else after the last entry."""
    units = list(parse(_closed(text)))
    found = [number for number, unit in enumerate(units) if unit.target == file]
    if found:
        units[found[0]] = replace(units[found[0]], text=line)
        return _render(units)
    last = max((number for number, unit in enumerate(units) if unit.target), default=len(units) - 1)
    if last >= 0:
        before = units[last]
        gap = "" if before.target or before.gap or not before.text else "\n"
        units[last] = replace(before, gap=gap if before.target else before.gap + gap)
        after = before.gap if before.target else ""
        units.insert(last + 1, Unit(f">{file}", file, line, after))
    else:
        units.append(Unit(f">{file}", file, line))
    return _render(units)


def without_entry(text: str, file: str) -> str:
    """The index without any entry for a file; the blank lines around it stay."""
    return without_entries(text, {file})


def without_entries(text: str, files: Collection[str]) -> str:
    """The index without any entry for these files; the blank lines around them stay."""
    units: list[Unit] = []
    for unit in parse(text):
        if unit.target not in files:
            units.append(unit)
        elif units and not units[-1].gap:
            units[-1] = replace(units[-1], gap=unit.gap)
    return _render(units)


def merge(base: str, ours: str, theirs: str) -> str:
    """Merges three indexes entry by entry, keyed by link target; symmetric in the sides.

    Entries keep the base's order, new ones stand sorted by target; an entry that both sides wrote
    differently takes the smaller text (the memory itself holds the claims); prose and headings are units
    of their own, so none is lost.
    """
    if ours == theirs or base == theirs:
        return ours
    if base == ours:
        return theirs
    known: dict[str, Unit] = {}
    sides = [{unit.key: unit for unit in _parse(_closed(text), known)} for text in (base, ours, theirs)]
    order = merge_keys([tuple(key for key in side if key) for side in sides], lambda _: frozenset())
    keys = ["", *_sorted_additions(order.keys, frozenset(sides[0]))]
    return "".join(_merged_unit(*[side.get(key) for side in sides]) for key in keys)


def reconcile(text: str, added: Mapping[str, str], removed: Iterable[str]) -> str:
    """Brings an index in line with a write.

    Args:
        text: the index as it is.
        added: file to entry line for memories that are new; one that has an entry keeps it.
        removed: files that are gone.
    """
    known = frozenset(targets(text))
    gone = frozenset(removed)
    if gone & known:
        text = without_entries(text, gone)
    for file in sorted(added):
        if file not in known:
            text = with_entry(text, file, added[file])
    return text


def as_loaded(text: str, times: Mapping[str, int] | None = None) -> str:
    """The index as an agent gets it: within 200 lines and 25,000 bytes, the oldest entries left out first.

    Args:
        text: the complete index.
        times: file to author time (epoch seconds); files without one count as oldest.

    Returns:
        The text unchanged where it fits, else cut, with a warning that names what was left out.
    """
    if _fits(text):
        return text
    ages = times or {}
    units = list(parse(text))
    oldest = sorted(
        (unit for unit in units if unit.target), key=lambda unit: (ages.get(unit.target, 0), unit.target)
    )
    left_out: list[str] = []
    lines = _lines(text)
    size = _size(text)
    dropped: set[int] = set()
    for unit in oldest:
        warning = _warning(left_out) if left_out else ""
        if lines + warning.count("\n") <= INDEX_LINES and size + _size(warning) <= INDEX_BYTES:
            break
        left_out.append(unit.target)
        dropped.add(id(unit))
        lines -= (unit.text + unit.gap).count("\n")
        size -= _size(unit.text + unit.gap)
    kept = _render(unit for unit in units if id(unit) not in dropped)
    warning = _warning(left_out)
    return _cut(kept, warning) + warning


def _cut(text: str, warning: str) -> str:
    """Lines first, then back to the last line end that fits (design.md section 4)."""
    room = INDEX_BYTES - _size(warning)
    kept: list[str] = []
    for line in _LINE.findall(text)[: INDEX_LINES - warning.count("\n")]:
        room -= _size(line)
        if room < 0:
            break
        kept.append(line)
    return "".join(kept)


def _lines(text: str) -> int:
    return text.count("\n") + (bool(text) and not text.endswith("\n"))


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


def _fits(text: str) -> bool:
    return _lines(text) <= INDEX_LINES and _size(text) <= INDEX_BYTES


def _warning(left_out: list[str]) -> str:
    names = ", ".join(name[:NAME_CHARS] for name in left_out[:5]) + (
        f" and {len(left_out) - 5} more" if len(left_out) > 5 else ""
    )
    return f"\n> The index is over its limit; {len(left_out)} oldest entries are not shown: {names}\n"


def _target(line: str) -> str:
    bullet = _BULLET.match(line)
    if bullet is None:
        return ""
    match = _LINK.search(line, bullet.end()) or _BARE.match(line, bullet.end())
    if match is None:
        return ""
    linked = next(group for group in match.groups() if group is not None)
    target = unquote(linked.split("#", 1)[0]).removeprefix("./")
    return target if target.endswith(".md") and "://" not in target else ""


def _closed(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def _sorted_additions(keys: tuple[str, ...], old: frozenset[str]) -> list[str]:
    """Sorts each run of new entries by target."""
    ordered: list[str] = []
    run: list[str] = []
    for key in keys:
        if key not in old and key.startswith(">"):
            run.append(key)
            continue
        ordered += [*sorted(run), key]
        run = []
    return ordered + sorted(run)


def _merged_unit(base: Unit | None, ours: Unit | None, theirs: Unit | None) -> str:
    if ours is theirs and ours:
        return ours.text + ours.gap
    sides = [unit for unit in (ours, theirs) if unit]
    if not sides:
        return ""
    changed = [unit.text for unit in sides if base is None or unit.text != base.text]
    spaced = [unit.gap for unit in sides if base is None or unit.gap != base.gap]
    return min(changed or [sides[0].text]) + max(spaced or [sides[0].gap])


def _render(units: Iterable[Unit]) -> str:
    return "".join(unit.text + unit.gap for unit in units)
