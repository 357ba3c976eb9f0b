"""The tools as a request defines them, constants: one byte changed, and no cached prefix is read."""

from __future__ import annotations

from typing import Any, Final

from gitmem.core.limits import MEMORY_BYTES

TEXT_CHARS: Final = 30_000
"""Characters of one result, as of the client's own Bash tool."""

LINES: Final = 2_000
"""Lines that Read shows unasked, as the client's does."""


def _tool(name: str, description: str, required: list[str], **properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "description": description,
        "input_schema": {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        },
    }


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def _number(description: str) -> dict[str, Any]:
    return {"type": "integer", "minimum": 0, "description": description}


def _flag(description: str) -> dict[str, Any]:
    return {"type": "boolean", "description": description}


TOOLS: Final[tuple[dict[str, Any], ...]] = (
    _tool(
        "Read",
        "Shows a file with line numbers. Paths are relative to the top of the repository: memory/… is the "
        "memory, sessions/… is what was said, anything else is a file that git tracks.",
        ["file_path"],
        file_path=_text("The file."),
        offset=_number("First line to show, from 1."),
        limit=_number(f"Lines to show; {LINES} without it."),
    ),
    _tool(
        "Grep",
        "Looks for a regular expression, line by line. Groups, classes, repeats, anchors and \\b, \\w, "
        "\\d, \\s are there; back references and looking around are not.",
        ["pattern"],
        pattern=_text("The expression."),
        path=_text("File or folder to look in; the whole repository without it."),
        glob=_text("Only files whose name or path fits, such as *.py or src/**/*.{ts,tsx}."),
        output_mode={
            "type": "string",
            "enum": ["content", "files_with_matches", "count"],
            "description": "What to show; files_with_matches without it.",
        },
        head_limit=_number("Lines of output to show."),
        **{
            "-i": _flag("Letters match in either case."),
            "-n": _flag("Shows line numbers; true without it."),
            "-A": _number("Lines to show after a find."),
            "-B": _number("Lines to show before a find."),
            "-C": _number("Lines to show around a find."),
        },
    ),
    _tool(
        "Glob",
        "Lists files whose path fits a pattern such as **/*.md.",
        ["pattern"],
        pattern=_text("The pattern; ** stands for any folders."),
        path=_text("Folder that the pattern starts in; the top without it."),
    ),
    _tool(
        "Bash",
        "Reads with ls, find, grep, cat, stat, wc, head and tail, and pipes of these. It is no shell: "
        "there are no variables, redirections, `;` or `&&`, and nothing can be changed. One command line a "
        "call.",
        ["command"],
        command=_text("The command line."),
    ),
    _tool(
        "Edit",
        "Replaces a text in a memory that was read before. It must be there exactly once, unless "
        "replace_all is set.",
        ["file_path", "old_string", "new_string"],
        file_path=_text("The memory, memory/<scope>/<agent>/<name>.md."),
        old_string=_text("The text as it stands there, without line numbers."),
        new_string=_text("What stands there instead."),
        replace_all=_flag("Replaces it wherever it stands."),
    ),
    _tool(
        "Write",
        "Makes a memory: frontmatter with name, description and type, then the body; at most "
        f"{MEMORY_BYTES:,} bytes. One that exists is replaced, after it was read; an empty content deletes "
        "it.",
        ["file_path", "content"],
        file_path=_text("The memory, memory/<scope>/<agent>/<name>.md."),
        content=_text("The whole file."),
    ),
)
"""In the shape of the Messages API, with the argument names of Claude Code's own tools."""
