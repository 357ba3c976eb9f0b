"""Tools in use right now: how to use them is known, so only warnings about them are worth showing."""

from __future__ import annotations

import re
from collections.abc import Set

from gitmem.search.query import Candidate
from gitmem.search.words import tells

REFERENCE = "reference"

_WORD = re.compile(r"[a-z0-9]+(?:[+.-][a-z0-9]+)*")
_SPLIT = re.compile(r"[^a-z0-9]+")
_USAGE_WORDS = """
    api apis cheat cheatsheet cli command commands doc docs documentation endpoint endpoints example
    examples flag flags guide manual option options parameter parameters quickstart reference syntax
    tutorial usage
"""
_USAGE = frozenset(_USAGE_WORDS.split())
# Rather too much counts as a warning: a reference shown in vain costs less than a trap not told of.
_WARNING_WORDS = """
    never|do not|don['’]?t|must not|mustn['’]t|cannot|can['’]?t|avoid|beware|careful(?:ly)?|caution
    |gotchas?|pitfalls?|traps?|warn(?:s|ed|ing|ings)?|watch out|fail(?:s|ed|ing|ure|ures)?
    |break(?:s|ing)?|broken|broke|bugs?|buggy|crash(?:es|ed|ing)?|hang(?:s|ing)?|wrong(?:ly)?|silently
    |unless|danger(?:ous)?|unsafe|known issues?|does not|doesn['’]t|is not|isn['’]t|not supported
    |unsupported|deprecated|flaky|loses?|lost|corrupts?|workarounds?|instead of|only works?
"""
_WARNING = re.compile(rf"\b(?:{''.join(map(str.strip, _WARNING_WORDS.splitlines()))})\b", re.IGNORECASE)


def explains(candidate: Candidate, tools: Set[str]) -> bool:
    """Whether a memory is a reference mainly about a tool in use: named first, or with words like "API".

    Args:
        tools: lower-case names of commands, servers and tools.
    """
    if candidate.type != REFERENCE or not tools:
        return False
    name = _SPLIT.sub(" ", (candidate.name or candidate.file).lower()).split()
    about = _WORD.findall(candidate.description.lower())
    named = {word for tool in tools for word in (tool, _SPLIT.sub(" ", tool).strip()) if _names(word)}
    leads = any(_begins(words, tool.split()) for words in (name, about) for tool in named)
    return leads or (
        bool(_USAGE & {*name, *about})
        and any(f" {tool} " in f" {' '.join(words)} " for words in (name, about) for tool in named)
    )


def warns(text: str) -> bool:
    """Whether a text tells of trouble."""
    return _WARNING.search(text) is not None


def _names(tool: str) -> bool:
    """Whether a tool's name is no word of any request (`make`, `test`, `find`)."""
    return len(tool) > 1 and tells(tool)


def _begins(words: list[str], tool: list[str]) -> bool:
    return bool(tool) and words[: len(tool)] == tool
