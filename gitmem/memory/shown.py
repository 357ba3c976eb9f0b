"""How a memory is shown where changes are: its frontmatter, then one claim after the other.

`git diff` (through the driver of `integrations.textconv`) and `git mem diff` share it, so a claim that came
or went reads alike in both. What is no change of a claim does not show: blank lines and wrapping.
"""

from __future__ import annotations

import re

from gitmem.memory.memory import Memory

_KNOWN = re.compile(r"\s*(?:name|description|type|metadata)\s*:")
_PROSE = re.compile(r"(?:\*\*|[(\"'*_`\[]?)[^\W\d_]")
_FIRST = re.compile(r"\s{0,3}(?:[-+*]\s+|\d{1,9}[.)]\s+)?(?:\*\*|[(\"'*_`\[]?)\w")


def claim_lines(text: str) -> list[str]:
    """Lines of a claim as they are shown: prose on one, what has a shape of its own as it stands."""
    first, *more = text.replace("\r\n", "\n").split("\n")
    if _FIRST.match(first) and all(_PROSE.match(line.strip()) for line in more):
        return [" ".join(text.split())]
    return [first, *more]


def memory_text(memory: Memory) -> str:
    """The whole memory: each line after a space, as git puts a sign before it; dispute marks stay.

    Args:
        memory: any file with frontmatter; its keys other than those of the format come as they stand.
    """
    lines = [f"name: {memory.name}", f"type: {memory.type}", f"description: {memory.description}"]
    if memory.front:
        raw = memory.front.render().splitlines()
        lines += [line for line in raw if line.strip() not in ("", "---") and not _KNOWN.match(line)]
    for claim in memory.parsed.claims:
        lines += claim_lines(claim.text)
    return "".join(f" {line}".rstrip() + "\n" for line in lines)
