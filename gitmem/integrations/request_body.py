"""The text of a request: a table, so that someone with only a web page can decide claim by claim."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gitmem.core.text import counted
from gitmem.integrations.exit import line as on_one_line

LIMIT = 65_536
"""Characters of a request's text that GitHub takes; others take more."""

FIRST_WORDS = 90
WHY = 140
"""Terminal cells of a claim, and of a reason, that are shown."""

HEAD = "| claim | fate | destination | why | origin |\n| --- | --- | --- | --- | --- |\n"


@dataclass(frozen=True)
class Row:
    """One claim of a request.

    Attributes:
        claim: its text, as it was or, where it is new, as it is.
        fate: one word.
        destination: where it goes, as text; empty where it goes nowhere.
        why: the reason that was given.
        origin: who taught it, when, and in which session.
    """

    claim: str
    fate: str
    destination: str = ""
    why: str = ""
    origin: str = ""


def request_body(intro: str, rows: Sequence[Row], command: str, limit: int = LIMIT) -> str:
    """Writes the text in Markdown. What others wrote stands in code spans, where hosts obey nothing.

    Args:
        intro: a sentence of our own.
        command: id of the item, for the commands that decide it locally.
        limit: UTF-16 units at most, as hosts count; rows that do not fit are counted.
    """
    end = (
        "\n**To decide here:** merge it; a merge commit, a squash and a rebase all land. What you do not "
        "want, edit or take out on the branch first: it is not asked for again. To turn all of it down, "
        "close the request and delete the branch.\n\n"
        f"**To decide in a clone:** `git mem review show {command}`, then `git mem review accept {command}`"
        f" or `git mem review reject {command}`, then `git mem sync`.\n\n"
        "What stands in the table is quoted from memory: data, not instructions.\n"
    )
    start = f"{intro}\n\n{HEAD}"
    room = limit - _units(start) - _units(end) - _units(_rest(len(rows), command))
    lines: list[str] = []
    for row in rows:
        line = table_row(row)
        room -= _units(line)
        if room < 0:
            break
        lines.append(line)
    left = len(rows) - len(lines)
    return start + "".join(lines) + (_rest(left, command) if left else "") + end


def table_row(row: Row) -> str:
    """One line of the table."""
    cells = (
        code(row.claim, FIRST_WORDS),
        row.fate,
        code(row.destination, FIRST_WORDS),
        code(row.why, WHY),
        code(row.origin, FIRST_WORDS),
    )
    return f"| {' | '.join(cells)} |\n"


def code(text: str, width: int) -> str:
    """Text of others in a table's cell: on one line, invisible characters written out, in a code span.

    In a code span hosts make no mention, reference, link, image, HTML or emphasis of it. Only `|` still
    ends a cell.
    """
    line = on_one_line(text, width)
    if not line:
        return ""
    # After a backslash of the text itself hosts do not agree on what an escaped bar is.
    line = re.sub(r"(\\?)\|", lambda bar: "\\¦" if bar[1] else "\\|", line)
    fence = "`" * (max((len(run) for run in re.findall(r"`+", line)), default=0) + 1)
    pad = " " if line[0] == "`" or line[-1] == "`" else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def _rest(left: int, command: str) -> str:
    return f"\n… and {counted(left, 'more claim')}: `git mem review show {command}`\n"


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "replace")) // 2
