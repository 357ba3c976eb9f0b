"""The claim of a memory that became a rule: which file has the rule, told by its form alone."""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import quote, unquote

from gitmem.core.claim import Claim, parse_body
from gitmem.core.memory import Memory
from gitmem.core.names import is_archived, is_memory_file

BEGINNING = b"**Rule in:** ["
"""What stands in every file that holds such a claim: a look at bytes spares most files the parser."""

_POINTER = re.compile(r"\*\*Rule in:\*\* \[[^\[\]\n]*\]\(([^()\s<>]+)\)")
_PATH_BYTES = 1_024


def claim_for(path: str) -> str:
    """The claim that points to a file of the code's tree.

    Args:
        path: from the top of the tree, separated by `/`.
    """
    label = "".join({"[": "(", "]": ")"}.get(c, c) if c.isprintable() else "\ufffd" for c in path)
    target = quote(path.encode("utf-8", "surrogateescape"), safe="/._-~+@,=")
    return f"**Rule in:** [{label}]({target})"


def pointers(memory: Memory) -> tuple[Claim, ...]:
    """The claims of a memory that point to rules."""
    return tuple(claim for claim in memory.parsed.claims if _path(claim))


def rule_file(memory: Memory) -> str:
    """The file that a memory says has its rule; the first one of several, and empty where it says none."""
    return next((_path(claim) for claim in memory.parsed.claims if _path(claim)), "")


def with_pointer(memory: Memory, path: str) -> Memory:
    """The memory with one claim more, in place of any that pointed elsewhere."""
    if [_path(claim) for claim in pointers(memory)] == [path]:
        return memory
    bare = without_pointer(memory)
    body = bare.parsed
    newline = "\r\n" if "\r\n" in bare.body else "\n"
    said = bare.body[: len(bare.body) - len(body.tail)]
    pointed = replace(bare, body=f"{said}{newline * 2}{claim_for(path)}{body.tail}")
    if rule_file(pointed) == path:
        return pointed
    # An open fence would swallow what comes after it.
    return replace(bare, body=f"{newline}{claim_for(path)}{newline}{bare.body}")


def without_pointer(memory: Memory) -> Memory:
    """The memory as it was before it pointed anywhere."""
    gone = {claim.id for claim in pointers(memory)}
    if not gone:
        return memory
    body = memory.parsed
    kept = [claim for claim in body.claims if claim.id not in gone]
    text = "".join(claim.lead + claim.text for claim in kept) + body.tail
    same = [claim.key for claim in parse_body(text).claims] == [claim.key for claim in kept]
    if not same:  # neighbours that ran into one
        text = "\n\n".join(claim.text for claim in kept) + "\n"
    return replace(memory, body=text)


def is_promoted(path: str, data: bytes) -> bool:
    """Whether a file of a memory ref's tree is a memory that became a rule.

    Args:
        path: from the root of the tree.
    """
    if BEGINNING not in data:
        return False
    from gitmem.core.memory import parse

    file = path.partition("/")[2]
    return bool(rule_file(parse(file, data))) and (is_archived(file) or is_memory_file(file))


def _path(claim: Claim) -> str:
    match = _POINTER.fullmatch(claim.text.strip())
    path = unquote(match[1], errors="surrogateescape") if match else ""
    parts = path.split("/")
    odd = any(part in ("", ".", "..") or part.lower() == ".git" for part in parts)
    return "" if odd or len(path) > _PATH_BYTES or not path.isprintable() else path
