"""Readers of sources that are markdown: memory folders of other tools, and files of rules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from gitmem.core import frontmatter, index
from gitmem.core.claim import parse_body
from gitmem.core.frontmatter import Frontmatter
from gitmem.core.limits import MEMORY_BYTES
from gitmem.core.names import (
    INDEX,
    hot_file,
    is_agent_folder,
    is_log,
    is_memory_file,
    slugify,
    unfit,
)
from gitmem.core.text import decode, encode
from gitmem.flows.imports.entry import (
    DROPPED,
    KEPT,
    ImportedMemory,
    ImportTally,
    entry,
    file_entry,
    first_line,
    kind_of,
    moment,
    parse_json,
    words,
)
from gitmem.flows.imports.source import ImportSource

MANIFEST = "gitmem.json"
"""Beside a folder that `git mem export` made."""

RULES = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "GEMINI.md", ".cursorrules", ".windsurfrules",
         "copilot-instructions.md")  # fmt: skip

_FRONT: Mapping[str, str] = {"name": KEPT, "description": KEPT, "type": KEPT}
_TIMES = ("modified", "updated", "updated_at", "timestamp", "created", "created_at", "date")
_HEADING = re.compile(r"(#{1,6})[ \t]+(.+?)[ \t#]*")


def is_export(source: ImportSource) -> bool:
    """Whether `git mem export --format markdown` made it."""
    return MANIFEST in source.files


def read_export(source: ImportSource, tally: ImportTally) -> Iterator[ImportedMemory]:
    """Memories of an export, `<agent>/<file>` below it, byte for byte."""
    told = parse_json(source.read(MANIFEST), MANIFEST)
    said = told.get("times") if isinstance(told, dict) else None
    times = {name: moment(time) for name, time in said.items()} if isinstance(said, dict) else {}
    for name in source.files:
        agent, _, file = name.partition("/")
        if name == MANIFEST:
            continue
        if file == INDEX and is_agent_folder(agent):
            yield from index_notes(name, decode(source.read(name)), agent, None, tally)
            continue
        if not is_agent_folder(agent) or not (is_memory_file(file) or is_log(name)):
            tally.skipped[name] = "is no memory"
            continue
        for one in _as_it_is(source, tally, name, file, agent):
            yield replace(one, time=times.get(name))


def is_claude_memory(source: ImportSource) -> bool:
    """Whether it is a folder that Claude Code keeps memory in, of this machine or another."""
    return not source.single and INDEX in source.files


def read_claude_memory(source: ImportSource, tally: ImportTally) -> Iterator[ImportedMemory]:
    """Its files as they are; what its index says that is no line about a file is a memory as well."""
    for name in source.ending(".md"):
        if name == INDEX:
            continue
        file = hot_file(name)
        if not is_memory_file(file):
            tally.skipped[name] = str(unfit(file))
            continue
        yield from _as_it_is(source, tally, name, file, "main")
    yield from index_notes(INDEX, decode(source.read(INDEX)), "main", source.times.get(INDEX), tally)


def index_notes(
    id: str, text: str, agent: str, time: float | None, tally: ImportTally
) -> Iterator[ImportedMemory]:
    """What people wrote into an index that is no line about a file, as a memory.

    Args:
        id: what names the index in its source.
    """
    units = index.parse(text)
    own = "".join(
        unit.text + unit.gap for unit in units if unit.text.strip() and not index.targets(unit.text)
    )
    if any(not claim.text.startswith("#") for claim in parse_body(own).claims):
        about = "Notes of the memory index"
        yield entry(id, own, name="index-notes", description=about, time=time, agent=agent)
        tally.see(["lines of the index"], {}, "index-notes.md")


def _as_it_is(
    source: ImportSource, tally: ImportTally, name: str, file: str, agent: str
) -> Iterator[ImportedMemory]:
    data = source.read(name)
    front, body = frontmatter.split(decode(data))
    if why := _refused(data, front):
        tally.skipped[name] = why
        return
    tally.see(front.keys() if front else (), {}, KEPT)
    told = front.text("description") if front else ""
    yield ImportedMemory(
        name, data, file, told or first_line(body) or file, _time(source, name, front), agent, is_file=True
    )


def is_basic_memory(source: ImportSource) -> bool:
    """Whether notes are named by permalinks, as basic-memory names them."""
    return any(b"\npermalink:" in source.head(name) for name in source.ending(".md")[:50])


def read_basic_memory(source: ImportSource, tally: ImportTally) -> Iterator[ImportedMemory]:
    """Notes of basic-memory: observations and relations are markdown, and stay so."""
    table = {"title": "name, description", "type": "project", "permalink": "source id", "tags": KEPT}
    yield from _notes(source, tally, table, "title", "permalink")


def is_okf(source: ImportSource) -> bool:
    """Whether it is a bundle of the Open Knowledge Format: its root says so, or each file has a type."""
    if source.single:
        return False
    if "index.md" in source.files and b"okf_version" in source.head("index.md"):
        return True
    some = [source.head(name) for name in source.ending(".md")[:20] if not _reserved(name)]
    return bool(some) and "index.md" in source.files and all(b"\ntype:" in head[:2_000] for head in some)


def read_okf(source: ImportSource, tally: ImportTally) -> Iterator[ImportedMemory]:
    """Concepts of a bundle; the type is an open word there and becomes the nearest of the four."""
    table = {"title": "name", "type": "type", "timestamp": "time", "description": KEPT}
    yield from _notes(source, tally, table, "title", "", other=KEPT)


def _reserved(name: str) -> bool:
    return name.rpartition("/")[2] in ("index.md", "log.md")


def is_memfs(source: ImportSource) -> bool:
    """Whether it is a memory file system of Letta: `system/` with described blocks."""
    blocks = [name for name in source.ending(".md") if name.startswith(("system/", "memory/system/"))]
    return bool(blocks) and b"description:" in source.head(blocks[0])


def read_memfs(source: ImportSource, tally: ImportTally) -> Iterator[ImportedMemory]:
    """Blocks of a Letta agent; where they stood in its prompt is told by folders, which stay."""
    table = {"description": KEPT, "limit": DROPPED, "read_only": DROPPED}
    yield from _notes(source, tally, table, "", "")


def is_rules(source: ImportSource) -> bool:
    """Whether it is a file of rules, or a folder in which there are some."""
    return bool(_rule_files(source))


def _rule_files(source: ImportSource) -> tuple[str, ...]:
    given = source.ending(".mdc", ".instructions.md") + source.named(*RULES)
    return tuple(sorted(set(given)))


def read_rules(source: ImportSource, tally: ImportTally) -> Iterator[ImportedMemory]:
    """Rules of Cursor, Copilot, Claude Code and others: a memory a section, to be split and reviewed."""
    table = {"description": KEPT, "globs": "a claim", "applyTo": "a claim", "alwaysApply": DROPPED}
    for name in _rule_files(source):
        front, body = frontmatter.split(decode(source.read(name)))
        tally.see(front.keys() if front else (), table)
        where = (front.text("globs") or front.text("applyTo")) if front else ""
        stem = re.sub(r"(\.instructions)?\.(md|mdc)$", "", name.rpartition("/")[2].lstrip("."))
        about = front.text("description") if front else ""
        sections = [(about, body)] if front else list(_sections(body))
        for number, (heading, text) in enumerate(sections, 1):
            if not text.strip():
                continue
            said = f"{text.strip()}\n\n**How to apply:** in {where}\n" if where else text
            named = slugify(f"{stem} {heading}" if heading and not front else stem)
            made = entry(
                f"{name}#{named if heading or len(sections) == 1 else number}",
                said,
                name=named,
                description=heading,
                type="feedback",
                time=None,
            )
            yield replace(made, time=source.times.get(name))


def _sections(body: str) -> Iterator[tuple[str, str]]:
    """A file by its headings of the first two levels; what stands before the first has none."""
    heading, lines, fenced = "", list[str](), False
    for line in body.splitlines():
        fenced ^= line.lstrip().startswith(("```", "~~~"))
        match = None if fenced else _HEADING.fullmatch(line)
        if match and len(match[1]) <= 2:
            yield heading, "\n".join(lines)
            heading, lines = match[2], []
        else:
            lines.append(line)
    yield heading, "\n".join(lines)


def is_markdown(source: ImportSource) -> bool:
    """Whether it has any markdown at all."""
    return bool(source.ending(".md"))


def read_markdown(source: ImportSource, tally: ImportTally) -> Iterator[ImportedMemory]:
    """Any notes: one memory a file, title and tags from the frontmatter where there is one."""
    table = {"title": "name", "id": DROPPED, **_FRONT}
    yield from _notes(source, tally, table, "title", "", other=KEPT)


def _notes(
    source: ImportSource,
    tally: ImportTally,
    table: Mapping[str, str],
    title: str,
    key: str,
    other: str = KEPT,
) -> Iterator[ImportedMemory]:
    """One memory a file.

    Args:
        table: what becomes of keys of the frontmatter.
        title, key: the keys that hold the title and a lasting id; empty where there is none.
    """
    for name in source.ending(".md"):
        if _reserved(name) or name == INDEX:
            continue
        file = _place(name)
        if file is None:
            tally.skipped[name] = str(unfit(name))
            continue
        data = source.read(name)
        front, _ = frontmatter.split(decode(data))
        if why := _refused(data, front):
            tally.skipped[name] = why
            continue
        tally.see(front.keys() if front else (), table, other)
        id = (front.text(key) if front and key else "") or name
        head = front.text(title) if front and title else ""
        made = file_entry(id, file, data, _time(source, name, front), title=head, description=head)
        yield _typed(made, front)


def _refused(data: bytes, front: Frontmatter | None) -> str:
    """Why a file is not taken in: its size; tags, anchors or aliases. Bad syntax alone is no reason."""
    if len(data) > MEMORY_BYTES:
        return f"has more than {MEMORY_BYTES:,} bytes"
    problem = frontmatter.yaml_problem(front) if front else ""
    return problem if problem.endswith("are not read") else ""


def _typed(made: ImportedMemory, front: Frontmatter | None) -> ImportedMemory:
    """The entry with the type for which its tags and the tool's own type speak."""
    if front is None:
        return made
    speaks = [front.text("type"), *words(front.text("tags"))]
    kind = next((found for word in speaks if (found := kind_of(word)) != "project"), "project")
    block, body = frontmatter.split(decode(made.data))
    if block is None or block.text("type") == kind:
        return made
    typed = block.with_value("type", kind).render() + body
    return replace(made, data=encode(typed))


def _place(name: str) -> str | None:
    """Where a note goes inside the agent's folder, under a name that every file system takes."""
    if is_memory_file(name):
        return name
    *folders, file = name.split("/")
    made = "/".join([*map(slugify, folders), f"{slugify(file.removesuffix('.md'))}.md"])
    return made if is_memory_file(made) else None


def _time(source: ImportSource, name: str, front: Frontmatter | None) -> float | None:
    said = (moment(front.text(key)) for key in _TIMES) if front else ()
    return next((time for time in said if time is not None), source.times.get(name))
