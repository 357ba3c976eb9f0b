"""What a memory, an index, a log and a tombstone file hold: frontmatter, size, dates, links, names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime, time, timedelta
from pathlib import PurePosixPath

from gitmem.core import frontmatter, index, tombstone
from gitmem.core.account import claims_at
from gitmem.core.daily_log import SOME_DAY, line_keys, read_line, split, taken_out
from gitmem.core.dates import relative_dates
from gitmem.core.facts import CODE
from gitmem.core.limits import ENTRY_CHARS, FRONTMATTER_LINES, INDEX_BYTES, INDEX_LINES, MEMORY_BYTES
from gitmem.core.memory import TYPES
from gitmem.core.names import INDEX, TOMBSTONES, hot_file, is_memory_file, slugify
from gitmem.core.references import without_fences
from gitmem.core.text import counted, line_at
from gitmem.rules.rule import Finding, Level, RuleContext, RuleFile, Side, quote

_SOME_DAY = datetime.combine(SOME_DAY, time())
_LINK = re.compile(r"\[\[(\w[^\[\]\n|#]*)(?:[|#][^\[\]\n]*)?\]\]")

Place = tuple[str, str]
"""A path, and what the link there says."""


def judge_size(before: Side | None, after: Side, context: RuleContext) -> Iterator[Finding]:
    """Finds changed files that are larger than a memory may be; what was larger already may stay."""
    for path in context.changed:
        old = before.files.get(path) if before else None
        stood = old.size > MEMORY_BYTES if old else path in context.former
        if after.files[path].size > MEMORY_BYTES and not stood:
            what = f"is larger than {MEMORY_BYTES:,} bytes, so it is neither stored nor judged"
            yield Finding(path, 1, "limit", what)


def judge_trouble(_before: Side | None, after: Side, _context: RuleContext) -> Iterator[Finding]:
    """Tells what could not be read, and so was not judged."""
    for path, why in after.trouble:
        yield Finding(path, 1, "limit", why)


def judge_content(text: RuleFile) -> Iterator[Finding]:
    """Judges one file by what it is."""
    if len(text.data) > MEMORY_BYTES:
        return
    if text.kind == "memory":
        yield from _limits(text)
        yield from _frontmatter(text)
        yield from _dates(text)
        yield from _disputes(text)
    elif text.kind == "index":
        yield from _index(text)
    elif text.kind == "log":
        yield from _log(text)
    elif text.kind == "tombstones":
        yield from _tombstones(text)


def _body_line(text: RuleFile) -> int:
    """The line on which a memory's body begins."""
    front = text.memory.front
    return 1 + (front.render().count("\n") if front else 0)


def _limits(text: RuleFile) -> Iterator[Finding]:
    if _body_line(text) > FRONTMATTER_LINES + 1:
        what = f"frontmatter ends behind line {FRONTMATTER_LINES}, where agents stop to look for its end"
        yield Finding(text.path, _body_line(text) - 1, "limit", what, "notice")


def _frontmatter(text: RuleFile) -> Iterator[Finding]:
    front = text.memory.front
    if front is None:
        what = "has no frontmatter: begin it with --- and name, description and type, then ---"
        yield Finding(text.path, 1, "frontmatter", what)
        return
    trouble = frontmatter.yaml_problem(front)
    if trouble:
        _, _, line = trouble.partition("not valid YAML in line ")
        digits = line.partition(":")[0]
        # Where it stands is told by the finding; the same trouble on another line is the same trouble.
        said = trouble.replace(f" in line {digits}", "") if digits.isdecimal() else trouble
        yield Finding(text.path, int(digits) if digits.isdecimal() else 1, "frontmatter", quote(said))
    for key in ("name", "description", "type"):
        if not front.text(key):
            yield Finding(text.path, _key_line(text, key), "frontmatter", f"has no {key}")
        elif len([field for field in front.fields if field.key == key]) > 1:
            what = f"has {key} more than once, so readers differ on what it is"
            yield Finding(text.path, _key_line(text, key), "frontmatter", what)
    named = front.text("type")
    if named and named.lower() not in TYPES:
        what = f"unknown type {quote(named)}: known are {', '.join(sorted(TYPES))}"
        yield Finding(text.path, _key_line(text, "type"), "type", what)
    if any(field.key == "type" and str(field.value).lower() == "user" for field in front.fields):
        what = "is about a person (type user), which is never shared with a project"
        yield Finding(text.path, _key_line(text, "type"), "scope", what)


def _key_line(text: RuleFile, key: str) -> int:
    """The last line on which a key of the frontmatter stands, else the first line."""
    found, line = 1, 2
    for field in text.memory.front.fields if text.memory.front else ():
        if field.key == key:
            found = line
        line += field.raw.count("\n")
    return found


def _dates(text: RuleFile) -> Iterator[Finding]:
    memory = text.memory
    start, here = _body_line(text), _key_line(text, "description")
    described = [(here, phrase) for phrase in relative_dates(memory.description, _SOME_DAY)]
    said = [
        (start + memory.body.count("\n", 0, phrase.start), phrase)
        for phrase in relative_dates(memory.body, _SOME_DAY)
    ]
    for line, phrase in [*described, *said]:
        words = quote(phrase.text)
        if _means_one_day(phrase.text):
            what = f"“{words}” will mean another day tomorrow: write the date behind it, (YYYY-MM-DD)"
            yield Finding(text.path, line, "date", what)
        else:
            yield Finding(text.path, line, "date", f"“{words}” may be a relative date", "notice")


def _means_one_day(phrase: str) -> bool:
    """Whether a phrase means one day whenever it is said, but for the day of the week that it names."""
    week = (_SOME_DAY + timedelta(days) for days in range(7))
    return sum(found.date is not None for day in week for found in relative_dates(phrase, day)) > 5


def _disputes(text: RuleFile) -> Iterator[Finding]:
    line = _body_line(text)
    for claim in text.memory.parsed.claims:
        line += claim.lead.count("\n")
        if claim.dispute:
            what = f"is disputed: keep one side and take its mark off: {quote(claim.text)}"
            yield Finding(text.path, line, "dispute", what)
        line += claim.text.count("\n")


def _index(text: RuleFile) -> Iterator[Finding]:
    lines = text.text.count("\n") + (not text.text.endswith("\n"))
    if lines > INDEX_LINES or len(text.data) > INDEX_BYTES:
        what = f"is over {INDEX_LINES} lines or {INDEX_BYTES:,} bytes: agents are not shown all of it"
        yield Finding(text.path, min(lines, INDEX_LINES + 1), "limit", what)
    line = 1
    for unit in index.parse(text.text):
        entry = unit.text.rstrip("\n")
        if unit.target and len(entry) > ENTRY_CHARS:
            what = f"entry of {quote(unit.target)} is longer than {counted(ENTRY_CHARS, 'character')}"
            yield Finding(text.path, line, "limit", what, "notice")
        line += (unit.text + unit.gap).count("\n")


def _log(text: RuleFile) -> Iterator[Finding]:
    """Finds lines of one log that are not for the team."""
    for number, line in enumerate(split(text.text), 1):
        told = read_line(line, SOME_DAY)
        if told is not None and told.type == "user":
            what = "is about a person (type user), which is never shared with a project"
            yield Finding(text.path, number, "scope", f"{what}: {quote(told.text)}")


def judge_logs(before: Side | None, after: Side, _context: RuleContext) -> Iterator[Finding]:
    """Finds lines of logs that are removed or changed; to archive a log is neither."""
    if before is None:
        return
    for folder in before.folders:
        now: dict[str, list[str]] = {}
        for text in _logs(after, folder):
            now.setdefault(_day(text), []).append(text.text)
        at = f"{folder}/{TOMBSTONES}"
        stones = after.texts.get(at)
        for text in _logs(before, folder):
            there = "\n".join(now.get(_day(text), []))
            for line in taken_out(text.text, there, stones.text if stones else ""):
                number = 1 + split(text.text).index(line)
                what = f"a log is only added to, and this takes out or changes: {quote(line)}"
                yield Finding(text.path, number, "log", what)


def _logs(side: Side, folder: str) -> Iterator[RuleFile]:
    for name in side.folders.get(folder, {}):
        text = side.texts.get(f"{folder}/{name}")
        if text is not None and text.kind == "log":
            yield text


def _day(text: RuleFile) -> str:
    return text.name.rpartition("/")[2]


def judge_links(before: Side | None, after: Side, context: RuleContext) -> Iterator[Finding]:
    """Finds links and index lines that lead nowhere since the request, and memories that no index names.

    A link that a request wrote is an error; one that it left behind, by taking its target away, a notice.
    """
    known: set[Place] = set()
    listed: set[str] = set()
    if before:
        for folder in after.folders:
            known |= _dangling(before, folder).keys()
            listed |= _unlisted(before, folder)
    for folder in after.folders:
        for place, line in _dangling(after, folder).items():
            if place in known:
                continue
            path, link = place
            what = "entry" if path.endswith(f"/{INDEX}") and not link.startswith("[[") else "link"
            level: Level = "error" if path in context.changed or before is None else "notice"
            yield Finding(path, line, "link", f"{what} {quote(link)} leads nowhere", level)
        # Inboxes and dreams never change an index: what writes the memory branch adds the line.
        told = before is None or f"{folder}/{INDEX}" in context.changed
        for path in _unlisted(after, folder) - listed if told else ():
            what = f"has no line in {INDEX} yet: gitmem's next write adds it"
            yield Finding(path, 1, "index", what, "notice")


def judge_lines(before: Side | None, after: Side, context: RuleContext) -> Iterator[Finding]:
    """Finds lines of indexes that the request rewrote alone, or that are in dispute since."""
    for folder in after.folders:
        path = f"{folder}/{INDEX}"
        if path not in context.changed or path not in after.texts:
            continue
        stood = {link: text for link, _, text in _entries(before.texts.get(path))} if before else {}
        for link, at, said in _entries(after.texts[path]):
            if stood.get(link, said) != said and f"{folder}/{link}" not in context.changed:
                what = f"its line of {quote(link)} was rewritten, and that memory was not"
                yield Finding(path, at, "index", what, "notice")
        known = _disputed(before, folder) if before else {}
        for mark, lines in _disputed(after, folder).items():
            if mark not in known:
                text = after.texts[path].text
                line = line_at(text, text.find(f"(disputed {mark})"))
                what = f"is disputed: keep one side and take its mark off: {quote(lines[0])}"
                yield Finding(path, line, "dispute", what)


def judge_names(before: Side | None, after: Side, context: RuleContext) -> Iterator[Finding]:
    """Finds memories of one agent that have the same name since the request."""
    for folder in after.folders:
        known = _named(before, folder) if before else {}
        for name, paths in _named(after, folder).items():
            if len(paths) < 2 or paths <= known.get(name, frozenset()):
                continue
            shown = max(paths & context.changed or paths)
            others = ", ".join(quote(path) for path in sorted(paths) if path != shown)
            line = _key_line(after.texts[shown], "name")
            yield Finding(shown, line, "duplicate", f"has the name {quote(name)}, as {others} does")


def _named(side: Side, folder: str) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for text in side.memories(folder):
        found.setdefault(slugify(text.memory.name), set()).add(text.path)
    return {name: frozenset(paths) for name, paths in found.items()}


def _dangling(side: Side, folder: str) -> dict[Place, int]:
    """Links of a folder that lead nowhere, and the line of each."""
    if folder not in side.folders:
        return {}
    names = {
        slugify(name)
        for other in side.folders
        for text in side.memories(other)
        for name in (text.memory.name, PurePosixPath(text.path).stem)
    }
    files = set(map(hot_file, side.folders[folder]))
    found: dict[Place, int] = {}
    for name in side.folders[folder]:
        text = side.texts.get(f"{folder}/{name}")
        if text is None or text.kind not in ("memory", "index") or len(text.data) > MEMORY_BYTES:
            continue
        for link, line in _links(text):
            if slugify(link.strip().removesuffix(".md")) not in names:
                found.setdefault((text.path, f"[[{link.strip()}]]"), line)
        if name == INDEX:
            for target, line, _ in _entries(text):
                if target not in files:
                    found.setdefault((text.path, target), line)
    return found


def _links(text: RuleFile) -> Iterator[tuple[str, int]]:
    """Links of a file outside of code; `[[tool.mypy]]` and `[[1, 2]]` are no names of memories."""
    if "[[" not in text.text:
        return
    shown = CODE.sub(lambda match: " " + "\n" * match[0].count("\n"), without_fences(text.text))
    for match in _LINK.finditer(shown):
        link = match[1].strip().removesuffix(".md")
        if not set(link) & set(".,;:=\"'()$") and any(char.isalpha() for char in link):
            yield match[1], line_at(shown, match.start())


def _entries(text: RuleFile | None) -> Iterator[tuple[str, int, str]]:
    """Where each entry of an index leads, its line, and what it says."""
    line = 1
    for unit in index.parse(text.text) if text else ():
        if unit.target:
            yield unit.target, line, unit.text.strip()
        line += (unit.text + unit.gap).count("\n")


def _disputed(side: Side, folder: str) -> dict[str, tuple[str, ...]]:
    """The lines of a folder's index that are in dispute, by their mark."""
    text = side.texts.get(f"{folder}/{INDEX}")
    if text is None or len(text.data) > MEMORY_BYTES:
        return {}
    return index.disputed_lines(text.text, {one.name: one.data for one in side.memories(folder)})


def _unlisted(side: Side, folder: str) -> frozenset[str]:
    """Hot memories of a folder that its index does not name."""
    text = side.texts.get(f"{folder}/{INDEX}")
    listed = index.named(text.text) if text else frozenset()
    hot = (text for text in side.memories(folder) if is_memory_file(text.name))
    return frozenset(text.path for text in hot if text.name not in listed)


def judge_tombstones(before: Side | None, after: Side, _context: RuleContext) -> Iterator[Finding]:
    """Finds what is marked as forgotten: hashes say nothing to a reviewer, and a merge deletes by them.

    Who forgets a claim deletes it, too. One that stands on would go with the next merge, in a commit that
    says nothing of it.
    """
    for folder in after.folders:
        path = f"{folder}/{TOMBSTONES}"
        fresh = _stones(after, path) - (_stones(before, path) if before else frozenset())
        if rejected := sum(one.kind == "rejected" for one in fresh):
            what = f"marks {counted(rejected, 'change')} as rejected: no dream proposes them again"
            yield Finding(path, 1, "tombstone", what, "notice")
        if len(fresh) == rejected:
            continue
        texts = counted(len(fresh) - rejected, "text")
        what = f"marks {texts} as forgotten: merges delete what says it"
        yield Finding(path, 1, "tombstone", what, "notice")
        yield from _still_told(after, folder, tombstone.finder(fresh, "forgot"))


def _still_told(after: Side, folder: str, buried: Callable[[str], bool]) -> Iterator[Finding]:
    for text in after.memories(folder):
        for claim in claims_at(text.path, text.data):
            if buried(claim.key):
                line = line_at(text.text, text.text.find(claim.text))
                what = f"is marked as forgotten, so the next merge takes it: {quote(claim.text)}"
                yield Finding(text.path, line, "tombstone", what)
    for log in _logs(after, folder):
        for number, said in enumerate(split(log.text), 1):
            if any(map(buried, line_keys(said))):
                what = f"is marked as forgotten, so the next merge takes it: {quote(said)}"
                yield Finding(log.path, number, "tombstone", what)


def _tombstones(text: RuleFile) -> Iterator[Finding]:
    """Finds lines that are no tombstone: whatever stands there comes along, and nobody reads hashes."""
    for number, line in enumerate(text.text.split("\n"), 1):
        if line.strip() and not tombstone.fits(line):
            what = "is no tombstone: a line is `v1 <salt> <hash> <date> forgot|rejected`"
            yield Finding(text.path, number, "tombstone", what)


def _stones(side: Side, path: str) -> frozenset[tombstone.Tombstone]:
    text = side.texts.get(path)
    return tombstone.parse(text.text) if text is not None else frozenset()
