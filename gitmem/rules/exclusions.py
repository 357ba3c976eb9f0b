"""What is never stored, even when asked: what the repository, its rules or this task alone account for.

Heuristics over English prose that would rather let something pass than lose a memory: a person reviews
what passes, and nobody sees what does not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from gitmem.core.change import MemoryType
from gitmem.rules.secrets import find_secrets

# A sentence that says what to do from now on is no one-off, whatever verb it begins with.
_STANDING = re.compile(
    r"\b(?:always|never|from now on|going forward|in (?:the )?future|every ?time|whenever|each time"
    r"|remember|by default|prefer|as a rule|in general|convention|policy|must|should|every|any|all"
    r"|we (?:don['’]t )?use)\b",
    re.IGNORECASE,
)
_ONCE = re.compile(
    r"\b(?:just|only) (?:this once|this time|for (?:this|now))\b"
    r"|\bfor this (?:task|pr|pull request|commit|session|change)(?: only)\b|\bthis (?:one )?time only\b",
    re.IGNORECASE,
)
_VERB = (
    r"(?:fix|(?:re-?)?run|try|rename|commit|push|revert|undo|rebase|merge|add|remove|delete|create|implement|write"
    r"|update|refactor|move|check|look|show|explain|open|read|find|continue|proceed|install|build|test|debug"
    r"|investigate|print|list|generate|make|do|stop|start|change|replace|finish)"
)
_ASKED_NOW = re.compile(
    r"^(?:(?:ok(?:ay)?|great|good|thanks|and|then|so|yes|no)[,.!]?\s+)*"
    rf"(?:(?:now|next|first)[,]?\s+(?:please\s+)?{_VERB}\b"
    rf"|(?:please|can you|could you|would you|go ahead and|let['’]s)\s+(?:now\s+)?(?:just\s+)?"
    rf"(?!do not\b|don['’]t\b|stop [a-z]+ing\b){_VERB}\b"
    rf"|{_VERB}\s+(?:(?:at|into|on|with|up)\s+)?(?:this|that|these|those|it|them|again)\b"
    rf"|{_VERB}\s+(?:up\s+)?the "
    r"(?:error|bug|typo|warning|failure|failing|above|last|previous|following|rest)\b)",
    re.IGNORECASE,
)
_THIS_TASK = re.compile(
    r"\b(?:in|for|on|during|within) (?:this|the current) "
    r"(?:task|pr|pull request|commit|session|conversation|branch)\b",
    re.IGNORECASE,
)

_EXTENSION = (
    r"(?:py|pyi|ts|tsx|js|jsx|mjs|cjs|go|rs|java|kt|rb|c|h|cc|cpp|hpp|cs|php|swift|scala|sh|sql|toml|ya?ml"
    r"|json|cfg|ini|html|css|vue|lock|md)"
)
_FOLDER = (
    r"(?:src|lib|libs|app|apps|tests?|docs?|packages|scripts|cmd|internal|pkg|config|server|client|api|web|core"
    r"|components|modules|services|utils|tools|crates|include)"
)
# A path inside a repository: a source file, or a folder that begins as those of code do. A page of a wiki
# or a host's address is none.
_PATH = rf"`?(?:\./)?(?P<path>(?:[\w\-]+/)*[\w\-.]+\.{_EXTENSION}\b(?!/)|{_FOLDER}/[\w\-./]*)`?"
_LAYOUT = re.compile(
    r"\b(?:lives?|is|are|located|defined|implemented|found|stored|declared|kept|sits?|resides?)\s+"
    rf"(?:(?:located|defined|implemented|found|stored|declared|kept)\s+)?(?:in|at|under|inside)\s+(?:the\s+)?{_PATH}",
    re.IGNORECASE,
)
_TREE = re.compile(r"^[ │|]*(?:├──|└──|\|--|`--)\s", re.MULTILINE)
_HISTORY = re.compile(
    r"\b(?:added|fixed|introduced|removed|merged|reverted|refactored|renamed|changed|landed)\s+"
    r"(?:[\w`'\-]+\s+){0,6}?(?:in|by|with)\s+"
    r"(?:(?:commit\s+)?`?(?=[a-f]*\d)[0-9a-f]{7,40}\b|(?:pr|pull request)\s*#?\d+|#\d+)"
    r"|\b(?:the )?(?:last|latest|previous) commits?\s+(?:was|were|is|added|fixed|changed|removed)\b"
    r"|\bgit (?:log|blame|history) (?:shows|says|tells)\b",
    re.IGNORECASE,
)
_FIX = re.compile(
    r"\b(?:bug|crash|failure|failing test|flake|regression|exception|(?:type|build|import|lint) ?error)\b"
    r"[^.\n]{0,60}\b(?:was|were|is|got)\s+(?:caused by|fixed|solved|resolved|due to)\b"
    r"|\b(?:fixed|solved|resolved)\s+(?:it|this|the (?:bug|crash|failure|error|regression|flake))\s+by\b",
    re.IGNORECASE,
)
_FACTS = (
    (_HISTORY, "git's history tells it"),
    (_FIX, "the fix is in the code and its commit"),
)
_FENCE = re.compile(r"^(`{3,}|~{3,})[^\n]*\n.*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
_CODE_SHARE = 0.7

_REASONED = re.compile(r"\s*\**(?:why|how to apply)\**\s*:", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n\s*\n|\n\s*(?:[-*+]|\d+[.)])\s+|\n#+\s+")
_WORD = re.compile(r"[a-z0-9][\w.+\-/]*")
_NEGATIONS = frozenset({"not", "no", "never", "without", "avoid", "cannot", "neither", "nor", "forbidden"})
_STOP = re.compile(
    r"an?|the|to|of|in|on|at|for|with|and|or|is|are|be|was|were|it|its|this|that|we|you|i|our|your|my|do|does"
    r"|please|should|must|always|when|as|by|from|into|so|then"
)
_SAME = 0.8


def exclusion_reason(
    text: str,
    *,
    kind: MemoryType,
    rules: tuple[str, ...] = (),
    tracks: Callable[[str], bool] = lambda _: True,
) -> str | None:
    """Returns why a statement is never stored, or None where nothing speaks against it.

    Args:
        text: what would be remembered; a body with its Why and How, or a sentence.
        kind: the type it would have. What a person wants (`user`, `feedback`) may well name paths and
            commits, so facts of the repository are looked for in `project` and `reference` only.
        rules: whole texts of CLAUDE.md, AGENTS.md and their like.
        tracks: says of a path, or of the end of one, whether the repository has it; any, unless it says so.

    Raises:
        DetectorUnavailable: the secret detector cannot be used.
    """
    secret = next((finding for finding in find_secrets(text) if finding.severity == "block"), None)
    if secret is not None:
        return f"it holds a secret ({secret.rule})"
    if in_rules(text, rules):
        return "the project's rules (CLAUDE.md, AGENTS.md) say it already"
    if for_this_task_only(text):
        return "it matters to this task alone"
    if kind in ("project", "reference"):
        return _told_by_repository(text, tracks)
    return None


def for_this_task_only(text: str) -> bool:
    """Whether a statement asks for something once ("now run the tests", "fix this") and sets no rule."""
    if _ONCE.search(text):
        return True
    if _STANDING.search(text):
        return False
    return _every(text, lambda said: _ASKED_NOW.match(said) or _THIS_TASK.search(said))


def in_rules(text: str, rules: tuple[str, ...]) -> bool:
    """Whether every sentence of a statement, Why and How aside, is one of the rules in other words.

    Sentences are the same where four fifths of their words are and they agree in negations and numbers.
    """
    said = [_meaning(sentence) for sentence in _statements(text)]
    said = [meaning for meaning in said if meaning[0]]
    if not said or not rules:
        return False
    known = [_meaning(sentence) for rule in rules for sentence in _SENTENCE.split(rule)]
    return all(any(_same(meaning, other) for other in known) for meaning in said)


def _told_by_repository(text: str, tracks: Callable[[str], bool]) -> str | None:
    if len(_TREE.findall(text)) >= 2:
        return "the repository shows its own layout"
    code = sum(len(match[0]) for match in _FENCE.finditer(text))
    if code and code >= _CODE_SHARE * len(text.strip()):
        return "it is code, which the repository holds"
    if _STANDING.search(text):
        return None

    def laid_out(said: str) -> bool:
        found = _LAYOUT.search(said)
        return found is not None and tracks(found["path"].rstrip("/."))

    if _every(text, laid_out):
        return "the repository shows where its files are"
    for pattern, reason in _FACTS:
        if _every(text, pattern.search):
            return reason
    return None


def _every(text: str, holds: Callable[[str], object]) -> bool:
    said = list(_statements(text))
    return bool(said) and all(map(holds, said))


def _statements(text: str) -> Iterator[str]:
    for block in re.split(r"\n\s*\n", text):
        if not _REASONED.match(block):
            yield from filter(None, map(str.strip, _SENTENCE.split(block)))


Meaning = tuple[frozenset[str], frozenset[str]]


def _meaning(sentence: str) -> Meaning:
    """Returns a sentence's words, and what of it stands in any that says the same: numbers, negation."""
    lowered = re.sub(r"(?<=\w)n['’]t\b", " not", sentence.lower())
    words = [word.strip(".-/") for word in _WORD.findall(lowered)]
    kept = [word for word in words if word and word not in _NEGATIONS and not _STOP.fullmatch(word)]
    fixed = {word for word in kept if any(char.isdigit() for char in word)}
    fixed |= {"not" for word in words if word in _NEGATIONS}
    stems = frozenset(word[:-1] if len(word) > 3 and word.endswith("s") else word for word in kept)
    return stems, frozenset(fixed)


def _same(one: Meaning, other: Meaning) -> bool:
    return one[1] == other[1] and len(one[0] & other[0]) >= _SAME * len(one[0] | other[0])
