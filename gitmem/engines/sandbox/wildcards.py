"""Shell patterns for names: `*`, `?`, `[…]`, and `**` and `{a,b}` where a tool takes them."""

from __future__ import annotations

from fnmatch import fnmatchcase

from gitmem.engines.sandbox.budget import Budget, Refusal
from gitmem.engines.sandbox.view import View

PATTERN_CHARS = 500
ALTERNATIVES = 64
"""Patterns that braces may stand for."""


def name_matches(name: str, pattern: str, budget: Budget, *, ignore_case: bool = False) -> bool:
    """Whether a name, or a path of which `*` may take any part, fits a pattern."""
    if len(pattern) > PATTERN_CHARS:
        raise Refusal(f"the pattern is longer than {PATTERN_CHARS} characters")
    budget.spend(20 + len(pattern) * len(name) // 8)
    if ignore_case:
        name, pattern = name.lower(), pattern.lower()
    # Its expressions hold no nested repeats, and each `*` but the last is tried at one place alone.
    return fnmatchcase(name, pattern)


def path_matches(path: str, pattern: str, budget: Budget) -> bool:
    """Whether a path fits a pattern part by part; `**` takes any number of parts."""
    parts = path.split("/")
    budget.spend(20 + len(pattern))
    reached = {0}
    for wanted in pattern.split("/"):
        if wanted == "**":
            reached = set(range(min(reached), len(parts) + 1)) if reached else set()
        else:
            reached = {
                at + 1 for at in reached if at < len(parts) and name_matches(parts[at], wanted, budget)
            }
    return len(parts) in reached


def alternatives(pattern: str) -> tuple[str, ...]:
    """What a pattern with braces stands for: `*.{ts,tsx}` for two.

    Raises:
        Refusal: it stands for too many, or is too long.
    """
    if len(pattern) > PATTERN_CHARS:
        raise Refusal(f"the pattern is longer than {PATTERN_CHARS} characters")
    done: list[str] = []
    waiting = [pattern]
    while waiting:
        one = waiting.pop(0)
        close = one.find("}")
        start = one.rfind("{", 0, close) if close >= 0 else -1
        if start < 0:
            done.append(one)
        else:
            waiting += [one[:start] + part + one[close + 1 :] for part in one[start + 1 : close].split(",")]
        if len(done) + len(waiting) > ALTERNATIVES:
            raise Refusal(f"the braces stand for more than {ALTERNATIVES} patterns")
    return tuple(done)


def expand(view: View, pattern: str) -> tuple[str, ...]:
    """Paths that a word of a command line stands for, as a shell would list them; empty for none.

    Args:
        pattern: as written; `*` takes no `/`, and no name that begins with a dot.
    """
    lead, parts = _lead(pattern), [part for part in pattern.split("/") if part]
    found = [lead]
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        after: list[str] = []
        for base in found:
            if not set("*?[") & set(part):
                names: tuple[str, ...] = (part,)
            elif view.is_folder(view.resolve(base or ".")):
                names = tuple(
                    name
                    for name in view.children(view.resolve(base or "."))
                    if (part[0] == "." or name[0] != ".") and name_matches(name, part, view.budget)
                )
            else:
                names = ()
            for name in names:
                path = base + name
                plain = view.resolve(path)
                if (last and view.is_file(plain)) or view.is_folder(plain):
                    after.append(path if last else path + "/")
        found = after
    return tuple(found)


def _lead(pattern: str) -> str:
    return "/" if pattern.startswith("/") else ""
