"""The formats that an import reads, one row each: what it is called, how it is recognised, who reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gitmem.core.errors import UsageError
from gitmem.core.trailers import one_line
from gitmem.flows.imports import folders, records
from gitmem.flows.imports.entry import ImportedMemory, ImportTally
from gitmem.flows.imports.source import ImportSource


@dataclass(frozen=True)
class Format:
    """One row.

    Attributes:
        name: for `--format` and for `Gitmem-Source`.
        what: what a person has, in a few words.
        is_it: whether a source is of it; rows are asked in order.
        read: its memories; fields are counted in the tally.
    """

    name: str
    what: str
    is_it: Callable[[ImportSource], bool]
    read: Callable[[ImportSource, ImportTally], Iterator[ImportedMemory]]


FORMATS = (
    Format("gitmem", "folder of `git mem export`", folders.is_export, folders.read_export),
    Format("gitmem-json", "file of `git mem export --format json`", records.is_export, records.read_export),
    Format("claude-mem", "claude-mem.db", records.is_claude_mem, records.read_claude_mem),
    Format("claude-export", "memories.json of a claude.ai data export", records.is_claude_export,
           records.read_claude_export),
    Format("chatgpt", "conversations.json of a ChatGPT data export", records.is_chatgpt,
           records.read_chatgpt),
    Format("beads", ".beads/issues.jsonl", records.is_beads, records.read_beads),
    Format("mcp-memory", "memory.jsonl of the MCP memory server", records.is_graph, records.read_graph),
    Format("mem0", "JSON of mem0 or OpenMemory", records.is_mem0, records.read_mem0),
    Format("claude-code", "auto-memory folder of Claude Code", folders.is_claude_memory,
           folders.read_claude_memory),
    Format("basic-memory", "notes of basic-memory", folders.is_basic_memory, folders.read_basic_memory),
    Format("memfs", "memory folder of a Letta agent", folders.is_memfs, folders.read_memfs),
    Format("okf", "bundle of the Open Knowledge Format", folders.is_okf, folders.read_okf),
    Format("rules", "AGENTS.md, CLAUDE.md, rules of Cursor and Copilot", folders.is_rules,
           folders.read_rules),
    Format("markdown", "any folder of markdown", folders.is_markdown, folders.read_markdown),
    Format("list", "pasted list, one entry a line", records.is_list, records.read_list),
)  # fmt: skip


def named(name: str) -> Format:
    """The row of a name. Raises UsageError where there is none."""
    for one in FORMATS:
        if one.name == name:
            return one
    raise UsageError(f"There is no format {name!r}", f"Formats: {', '.join(one.name for one in FORMATS)}.")


def recognised(source: ImportSource) -> Format:
    """The first row that a source is of. Raises UsageError where it is of none."""
    for one in FORMATS:
        if one.is_it(source):
            return one
    if source.passed and not source.files:
        name, why = next(iter(source.passed.items()))
        raise UsageError(f"Nothing in {source.name} can be read: {one_line(name)} {why}")
    raise UsageError(
        f"{source.name} is of no format that is known", "Name one: git mem import --format FORMAT SOURCE"
    )
