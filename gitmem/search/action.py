"""What memory says of the thing an agent is about to touch: a path, a command, an error.

`warnings_of` reads a memory once, in the worker; what it gives is kept as plain rows (`as_row`), and a hook
that a tool call waits for matches those rows with `fitting`. So matching needs the standard library alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gitmem.core.memory import Memory

FILE_TOOLS = {
    "Read": "file_path",
    "Edit": "file_path",
    "Write": "file_path",
    "NotebookEdit": "notebook_path",
}
"""Tools that touch one file, and where their input names it. Reading counts: clients read a file before
they edit it, and hand what a hook says over with the tool's result, so that only then it comes in time."""

SHELL_TOOLS = {"Bash": "command"}

TEXT_CHARS = 240
"""Of what is told of one memory: two of them and their names stay under 120 tokens."""

MOST_OF_ONE = 12
"""Things that one memory warns of: a hostile one may name thousands."""

LONGEST_COMMAND = 20_000
"""Characters of a command or an error that are looked at."""

_QUOTED = re.compile(r'`([^`\n]{6,160})`|"([^"\n]{8,160})"')
_REASON = re.compile(r"\*\*Why\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[\"'*`(\[A-Z])|\n\s*\n")
_ORDER = re.compile(
    r"\b(?:must|always|never|only|instead|required|generated|by hand|(?:has|have|needs?) to|do not|"
    r"don['’]?t|avoid|rather than|make sure|be sure)\b",
    re.IGNORECASE,
)
_FORBIDS = re.compile(
    r"\b(?:never|not|don['’]?t|no|avoid|instead|rather than|stop|without)\b", re.IGNORECASE
)
_TROUBLE = re.compile(
    r"(?i:error|exception|fail|cannot|can't|denied|refused|not found|unable|timed? ?out|invalid|panic|"
    r"undefined (?:is|reference|symbol)|missing|unknown)|\bE[A-Z]{4,}\b|\b[A-Z]{1,5}\d{3,5}\b"
)
_PROGRAM = re.compile(r"[A-Za-z][\w.+-]{0,39}")
_PLAIN = re.compile(r"[\w@./+~-][\w@./+=~-]*")
_MARKER = re.compile(r"^\s*(?:[-*+]|\d{1,9}[.)])\s+|^#{1,6}\s+")
_SHELL_BREAK = re.compile(r"\|\||&&|[;|&\n(){}]|\$\(|`")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_WRAPPERS = frozenset({"sudo", "env", "time", "nice", "nohup", "exec", "command", "xargs", "then", "do"})
_EVERYDAY_WORDS = """
    git cd ls cat echo rm cp mv sed awk find grep rg head tail test pwd mkdir touch true false which wc sort
    python python3 node sh bash
"""
_EVERYDAY = frozenset(_EVERYDAY_WORDS.split())
"""Programs that alone say nothing: `git push --force` names something, `git` does not."""

Row = Mapping[str, Any]


def warnings_of(memory: Memory, is_program: Callable[[str], bool]) -> Iterator[tuple[list[list[str]], str]]:
    """Finds what a memory warns of: each claim that gives a rule or tells of trouble, and names a thing.

    What gives a rule orders, forbids or tells of trouble; of a memory of type `feedback` the first claim is
    one as it stands. Why something is so is none. An error is known by its own words in
    backticks or quotes.

    Args:
        is_program: whether a single word is the name of a program here; else it is any word in backticks.

    Returns:
        The things (`["path", P]`, `["folder", P]`, `["command", WORD, …]`, `["error", TEXT]`), and the
        words to tell.
    """
    from gitmem.core.references import SPAN, names
    from gitmem.search.gate import warns

    left = MOST_OF_ONE
    for number, claim in enumerate(memory.parsed.claims):
        text = _MARKER.sub("", claim.text)
        if _REASON.match(text):
            continue
        stated = memory.type == "feedback" and not number
        for part in map(_short, [text] if len(text) <= TEXT_CHARS else _SENTENCE.split(text)):
            rule = stated or bool(_ORDER.search(part)) or warns(part)
            things: list[list[str]] = []
            if rule:
                paths = [one for one in names(part, loose=True) if not one.parts]
                things += [["folder" if one.kind == "folder" else "path", one.target] for one in paths]
                named = {one.target for one in paths}
                for span in SPAN.findall(part):
                    words = _command(span, is_program if _FORBIDS.search(part) else None)
                    if words and span.strip("/") not in named:
                        things.append(["command", *words])
            things += [["error", told] for told in _errors(part)]
            if things[:left]:
                yield things[:left], part
            left -= len(things)
            if left <= 0:
                return


def fitting(rows: Iterable[Row], tool: str, given: Mapping[str, Any], path: str, error: str) -> list[Row]:
    """Chooses what bears on one action, the most particular thing first.

    Args:
        rows: each with `things` as `warnings_of` gives them.
        tool: the client's name of the tool.
        given: its input.
        path: the file it touches, from the top of the work tree; empty for none, or one outside.
        error: what the tool failed with; empty before it runs. Then only what is known of errors fits.
    """
    commands: list[list[str]] = []
    if not error and tool in SHELL_TOOLS:
        text = given.get(SHELL_TOOLS[tool])
        commands = simple_commands(text) if isinstance(text, str) else []
    found = []
    for row in rows:
        best = max((_fit(thing, path, commands, error) for thing in row["things"]), default=0)
        if best:
            found.append((-best, row))
    found.sort(key=lambda one: one[0])
    return [row for _, row in found]


def simple_commands(text: str) -> list[list[str]]:
    """The simple commands of a shell's line, each as words from its program on.

    It is no shell: quotes only keep blanks together, and what a command makes is not known.
    """
    found = []
    for part in _SHELL_BREAK.split(text[:LONGEST_COMMAND]):
        words = [word.strip("\"'") for word in part.split()]
        while words and (words[0] in _WRAPPERS or _ASSIGNMENT.match(words[0])):
            words = words[1:]
        if words:
            found.append([words[0].rpartition("/")[2], *words[1:]])
    return found


def _fit(thing: Sequence[str], path: str, commands: Sequence[Sequence[str]], error: str) -> int:
    """How particularly a thing names what is at hand, in characters; 0 where it does not."""
    kind, *words = thing
    if kind == "error":
        return len(words[0]) if error and words[0].casefold() in error.casefold() else 0
    if error:
        return 0
    if kind == "command":
        return len(" ".join(words)) if any(_begins(one, words) for one in commands) else 0
    name = words[0]
    if kind == "path":
        return len(name) if path == name or path.endswith(f"/{name}") else 0
    return len(name) if f"/{path}".find(f"/{name}/") >= 0 else 0


def _begins(command: Sequence[str], words: Sequence[str]) -> bool:
    """Whether a command is the named one: the same program and next words; flags stand anywhere."""
    plain = [word for word in words if not word.startswith("-")]
    flags = {word for word in words if word.startswith("-")}
    heard = [word for word in command if not word.startswith("-")]
    return heard[: len(plain)] == plain and flags <= {word.partition("=")[0] for word in command} | set(
        command
    )


def _command(span: str, is_program: Callable[[str], bool] | None) -> list[str]:
    """The words of a command in backticks; none where it is none, or says too little.

    Args:
        is_program: judges a single word, which is as often a name as a program; None where none counts.
    """
    words = span.split()
    if not words or not _PROGRAM.fullmatch(words[0]) or not all(map(_PLAIN.fullmatch, words)):
        return []
    if len(words) > 1:
        return words[:6]
    alone = is_program is not None and words[0] not in _EVERYDAY and is_program(words[0])
    return words if alone else []


def _short(text: str) -> str:
    """A text on one line; of a long one the beginning, and only what is named there counts."""
    line = " ".join(text.split())
    return line if len(line) <= TEXT_CHARS else f"{line[:TEXT_CHARS].rpartition(' ')[0]}…"


def _errors(text: str) -> list[str]:
    """What stands in quotes and reads like a failure's own words."""
    found = [code or quoted for code, quoted in _QUOTED.findall(text)]
    return [one.strip() for one in found if _TROUBLE.search(one)]
