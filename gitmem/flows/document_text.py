"""A living document: its title, what it is to be like, what it says of the code, and since when.

Beside the names that any text may have (`core.references`) a document has links, and commands; of a fence
that is a shell's the commands count. What files define that only a document names (commands of make, npm
and console scripts) is read here, too.
"""

from __future__ import annotations

import json
import posixpath
import re
import tomllib
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import unquote

from gitmem.core.references import (
    SPAN,
    Reference,
    is_placeholder,
    names_in,
    outside,
    without_comments,
)
from gitmem.search.code_files import CodeFiles, below
from gitmem.search.code_history import MARK as COMMIT
from gitmem.search.code_history import renamed_by

SUFFIXES = ("md", "mdx", "markdown", "rst", "txt")
"""Suffixes of files that may be documents, in lower case."""

MARK = "# MAGIC DOC:"
"""What the first line of a document begins with; its title follows."""

MOST_BYTES = 256 << 10
"""Size of a document."""

MOST = 2_000
"""Statements of one document."""

CONTEXT = 3
"""Words before and after a name by which it is known again in another version of the document."""

REACH = 300
"""Characters in which they are sought."""

_LINKS = (
    re.compile(r"\]\([ \t]{0,20}(<[^<>\n]*>|[^\s()<>]+)(?:[ \t]{1,20}[\"'(][^\n]{0,300}?)?[ \t]{0,20}\)"),
    re.compile(r"(?m)^ {0,3}\[[^\]\n^][^\]\n]*\]:[ \t]*(<[^<>\n]*>|\S+)"),
)
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|[#?$@{%]")
_FENCE = re.compile(
    r"(?P<fence>`{3,}(?!.*`)|~{3,})[ \t]*(?P<shell>(?:sh|bash|zsh|shell|console|shell-session)\b)?"
)
_WORD = re.compile(r"\S+")
_PLAIN = re.compile(r"[a-z](?:[a-z0-9:_-]*[a-z0-9])?")
_BREAK = re.compile(r"\n[ \t\r]*\n|\n(?=[ \t]*(?:[-*+|#]|\d{1,9}[.)][ \t]))")
_NAMES = re.compile(r"`[^`\n]*`|\]\([^)\n]*\)?")
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_RUNNERS = ("npm", "pnpm", "yarn", "bun")
_ITALIC = re.compile(r"([*_])(?![*_\s])(.+?)(?<![*_\s])\1[ \t]*")

DEFINING = frozenset({"Makefile", "makefile", "GNUmakefile", "package.json", "pyproject.toml", "setup.cfg"})
"""Names of files that define commands."""

_TARGET = re.compile(r"(?m)^([A-Za-z0-9][\w./ -]*?)[ \t]*:(?!=)")
_ENTRY = re.compile(r"(?m)^[ \t]+([\w.-]+)[ \t]*=[ \t]*([\w.]+:[\w.]+)[ \t\r]*$")

MOST_VERSIONS = 500
"""Versions of all documents together that are looked at."""

MOST_NAMES = 3
"""Names that a document had before, that are followed."""

_LOG = (
    *("-c", "log.showSignature=false", "-c", "log.follow=false", "-c", "log.showRoot=true"),
    "--literal-pathspecs",
    *("log", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-color", "--no-ext-diff"),
    f"--format={COMMIT}%H",
)
_RAW = re.compile(r":\d{6} (\d{6}) [0-9a-f]+ ([0-9a-f]+) ([AMDT])")


@dataclass(frozen=True)
class Statement(Reference):
    """A reference as a document makes it.

    Attributes:
        line: of the document, from 1.
        context: the words around the name, by which it is known again in another version of the document.
    """

    line: int = 0
    context: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """What is the same for this statement in all versions of the document that make it."""
        return self.kind, self.name, self.context


@dataclass(frozen=True)
class Doc:
    """A living document.

    Attributes:
        path: from the top of the work tree.
        title: what stands behind the mark.
        instructions: the italic line under it, without its marks; empty where there is none.
        text: all of it, with its byte order mark and line ends as they are.
        statements: what it says of the code, in the order of the text.
    """

    path: str
    title: str
    instructions: str
    text: str
    statements: tuple[Statement, ...] = ()


def may_be(path: str) -> bool:
    """Whether a file of that name may be a document."""
    name, dot, suffix = path.rpartition("/")[2].rpartition(".")
    return bool(name and dot) and suffix.lower() in SUFFIXES


def parse(path: str, data: bytes) -> Doc | None:
    """Reads a file; None where it is no living document.

    Args:
        path: from the top of the work tree.
        data: all of the file.
    """
    if not may_be(path) or len(data) > MOST_BYTES or MARK.encode() not in data[:64]:
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    first, _, rest = text.removeprefix("\ufeff").partition("\n")
    title = first.removeprefix(MARK).strip()
    if not first.startswith(MARK) or not title:
        return None
    head = rest.split("\n", 2)
    at = next((n for n, line in enumerate(head[:2]) if line.strip()), 0)
    italic = _ITALIC.fullmatch(head[at].rstrip("\r"))
    return Doc(
        path,
        title,
        italic[2] if italic else "",
        text,
        statements(text, from_line=at + 3 if italic else 2),
    )


def statements(text: str, from_line: int = 1) -> tuple[Statement, ...]:
    """All that a document says of the code, in its order.

    Args:
        from_line: the first line that counts.
    """
    plain = outside(text)
    lines = _Lines(text)
    found: dict[tuple[int, int], Statement] = {}
    for one in (*_links(plain), *names_in(_without_links(plain)), *_commands(text, plain)):
        place = one.start, one.end
        number = lines.number(one.start)
        path = one.target.partition("#")[0] if one.kind in ("file", "folder", "link") else ""
        if number < from_line or place in found or is_placeholder(path):
            continue
        if len(found) >= MOST:
            break
        name, context = text[slice(*place)], lines.context(*place)
        found[place] = Statement(*place, name, one.kind, one.target, one.parts, number, context)
    return tuple(found[place] for place in sorted(found))


def _links(plain: str) -> Iterator[Reference]:
    masked = SPAN.sub(lambda span: "`" * len(span[0]), plain)
    for pattern in _LINKS:
        for match in pattern.finditer(masked):
            target, start = match[1], match.start(1)
            if target.startswith("<"):
                target, start = target[1:-1], start + 1
            if target and not _ELSEWHERE.match(target):
                yield Reference(start, start + len(target), target, "link", target)


def _without_links(plain: str) -> str:
    def blank(match: re.Match[str]) -> str:
        start, end = match.start(1) - match.start(), match.end(1) - match.start()
        return match[0][:start] + " " * (end - start) + match[0][end:]

    for pattern in _LINKS:
        plain = pattern.sub(blank, plain)
    return plain


def _commands(text: str, plain: str) -> Iterator[Reference]:
    for span in SPAN.finditer(plain):
        yield from _command(span[1], span.start(1))
    at, fence, shell = 0, "", False
    typed: list[tuple[str, int]] = []
    for line in without_comments(text).split("\n"):
        bare = line.strip()
        if fence and bare.startswith(fence) and not bare.strip(fence[0]):
            # Where some lines have a prompt, the others are what was answered.
            prompted = any(code.startswith("$ ") for code, _ in typed)
            for code, place in typed:
                yield from _command(code, place) if not prompted or code.startswith("$ ") else ()
            fence, typed = "", []
        elif fence:
            typed += [(bare, at + line.index(bare))] if shell else []
        elif opened := _FENCE.match(bare):
            fence, shell = opened["fence"], bool(opened["shell"])
        at += len(line) + 1


def _command(code: str, at: int) -> Iterator[Reference]:
    words = list(_WORD.finditer(code, len(code) - len(code.removeprefix("$").lstrip())))
    said = [word[0] for word in words]
    count = next((n for n, word in enumerate(said) if not _PLAIN.fullmatch(word)), len(said))
    said = said[:count]
    used, program = 1, said[0] if said else ""
    if program == "git":
        used, program = 2, "-".join(said[:2])
    elif program in _RUNNERS:
        used, program = (2 if said[1:2] == ["run"] else 1), "npm"
        said = said if used == 2 or said[1:2] in (["test"], ["start"]) else []
    if len(said) < used or not program or (program in ("npm", "make") and len(said) == used):
        return
    word = said[used : used + 1]
    start, end = words[0].start(), words[used + len(word) - 1].end()
    yield Reference(at + start, at + end, code[start:end], "command", "", (program, *word))


class _Lines:
    """Where lines begin, and what stands around a place."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(at + 1 for at, letter in enumerate(text) if letter == "\n")]
        self._text = text

    def number(self, at: int) -> int:
        """The line of a place, from 1."""
        return bisect_right(self._starts, at)

    def context(self, start: int, end: int) -> str:
        """The nearest words of prose; other names are all alike, so that one may change beside another."""
        before = _BREAK.split(self._text[max(0, start - REACH) : start])[-1]
        after = _BREAK.split(self._text[end : end + REACH], maxsplit=1)[0]
        if before.rpartition("\n")[2].count("`") % 2:  # the name stands in a span with other words
            before, after = before.rpartition("`")[0], after.partition("`")[2]
        return f"{' '.join(_prose(before)[-CONTEXT:])} | {' '.join(_prose(after)[:CONTEXT])}"


def _prose(text: str) -> list[str]:
    return _LETTERS.findall(_NAMES.sub(" ", text).lower())


def linked(statement: Statement, doc: str) -> str:
    """Where a link leads: a path from the top, empty where out of the tree."""
    path = unquote(statement.target.partition("#")[0].partition("?")[0])
    return below("", path.lstrip("/")) if path.startswith("/") else below(doc.rpartition("/")[0], path)


def as_written(statement: Statement, then: str, now: str, doc: str) -> str:
    """How a document that named a path would name what became of it; empty where that is not plain.

    Args:
        then, now: from the top; what it meant, and what that became.
        doc: the document's path.
    """
    folder = doc.rpartition("/")[0]
    name = statement.name
    if not re.fullmatch(r"[\w./@+-]+", now):
        return ""
    if statement.kind == "link":
        path, mark, anchor = statement.target.partition("#")
        if path.startswith("/"):
            new = f"/{now}"
        else:
            new = posixpath.relpath(now, folder or ".")
            new = f"./{new}" if path.startswith("./") and not new.startswith("../") else new
        return f"{new}{'/' if path.endswith('/') else ''}{mark}{anchor}"
    end = "/" if name.endswith("/") else ""
    if then == statement.target:
        return now + end
    if then == below(folder, statement.target):
        new = posixpath.relpath(now, folder or ".")
        return "" if new.startswith("../") else new + end
    before = then.removesuffix(statement.target)
    return (now.removeprefix(before) if now.startswith(before) else now) + end


def command_written(one: Statement, runs: tuple[str, ...]) -> str:
    """A command as a document wrote it, with the words of another; empty where that cannot be told."""
    if not runs:
        return ""
    if len(runs) == 1:
        old, new = (re.sub("^git-", "git ", program) for program in (one.parts[0], runs[0]))
        return f"{new}{one.name.removeprefix(old)}" if one.name.startswith(old) else ""
    return f"{one.name[: -len(one.parts[1])]}{runs[1]}"


def commands(files: Mapping[str, str]) -> dict[tuple[str, ...], str]:
    """Reads what commands some files define.

    Args:
        files: path to text; only those whose name is in `DEFINING` count.

    Returns:
        Words of each command, `("make", "test")` or `("name",)` for a console script, to what it runs.
    """
    found: dict[tuple[str, ...], str] = {}
    for path, text in files.items():
        name = path.rpartition("/")[2]
        if name.lower().endswith("makefile"):
            for match in _TARGET.finditer(text):
                found |= {
                    ("make", one): text[match.end() :].partition("\n\n")[0] for one in match[1].split()
                }
        with suppress(ValueError, TypeError, AttributeError, KeyError, RecursionError):
            if name == "package.json":
                found |= _npm(json.loads(text))
            elif name == "pyproject.toml":
                project = tomllib.loads(text)
                poetry = project.get("tool", {}).get("poetry", {}).get("scripts", {})
                scripts = project.get("project", {}).get("scripts", {}) | poetry
                found |= {(str(one),): str(runs) for one, runs in scripts.items()}
            elif name == "setup.cfg":
                found |= {
                    (one,): runs for one, runs in _ENTRY.findall(text.partition("console_scripts")[2])
                }
    return found


def _npm(package: dict[str, object]) -> dict[tuple[str, ...], str]:
    scripts, programs = package.get("scripts"), package.get("bin")
    found: dict[tuple[str, ...], str] = {}
    if isinstance(scripts, dict):
        found |= {("npm", str(one)): str(runs) for one, runs in scripts.items()}
    if isinstance(programs, dict):
        found |= {(str(one),): str(runs) for one, runs in programs.items()}
    elif isinstance(programs, str):
        found[(str(package["name"]).rpartition("/")[2],)] = programs
    return found


@dataclass(frozen=True)
class DocumentVersion:
    """A document as a commit left it.

    Attributes:
        path: where it stood.
        oid: its content.
    """

    commit: str
    path: str
    oid: str


class History:
    """Since when some documents say what they say.

    Args:
        commit: whose history counts.
        paths: of the documents there.

    Attributes:
        versions: path to all that commits made of a document, newest first, through renames of it.
    """

    def __init__(self, files: CodeFiles, commit: str, paths: Collection[str]) -> None:
        self._files = files
        self._said: dict[tuple[str, str], frozenset[tuple[str, str, str]]] = {}
        self.versions = _versions(files, commit, paths)

    def since(self, path: str, key: tuple[str, str, str]) -> tuple[DocumentVersion, ...]:
        """The oldest of the versions in a row that make a statement, and the newest; none for a new one."""
        first = last = None
        for version in self.versions.get(path, ()):
            if key not in self._statements(version):
                break
            first, last = version, last or version
        if first is None or last is None:
            return ()
        return (first,) if first == last else (first, last)

    def _statements(self, version: DocumentVersion) -> frozenset[tuple[str, str, str]]:
        place = version.path, version.oid
        if place not in self._said:
            # Before it was marked as a living document it said the same.
            data = self._files.blob(version.oid)[:MOST_BYTES]
            self._said[place] = frozenset(one.key for one in statements(data.decode("utf-8", "replace")))
        return self._said[place]


def _versions(files: CodeFiles, commit: str, paths: Collection[str]) -> dict[str, list[DocumentVersion]]:
    """The commits that changed some documents, newest first, through renames of theirs."""
    found: dict[str, list[DocumentVersion]] = {path: [] for path in paths}
    pending = {path: path for path in paths}
    tips = dict.fromkeys(paths, commit)
    for _ in range(MOST_NAMES + 1):
        born: dict[str, str] = {}
        for tip in dict.fromkeys(tips[path] for path in pending):
            group = {path: name for path, name in pending.items() if tips[path] == tip}
            rows = _changes(files, tip, set(group.values()))
            for path, name in group.items():
                for version, status in rows.get(name, ()):
                    found[path].append(version)
                    if status == "A":
                        born[path] = version.commit
                        break
        before = renamed_by(files, set(born.values()))
        pending, old = {}, pending
        for path, birth in born.items():
            names = {now: name for name, now in before.get(birth, {}).items()}
            if former := names.get(old[path]):
                pending[path], tips[path] = former, f"{birth}^"
        if not pending:
            break
    return found


def _changes(
    files: CodeFiles, tip: str, names: Collection[str]
) -> dict[str, list[tuple[DocumentVersion, str]]]:
    seen = files.ask([*_LOG, f"-{MOST_VERSIONS}", tip, "--", *sorted(names)], 4 << 20)
    if seen.returncode != 0:
        files.complete = False
    found: dict[str, list[tuple[DocumentVersion, str]]] = {}
    commit = ""
    fields = iter(seen.text.replace(COMMIT, f"\0{COMMIT}").split("\0"))
    for row in fields:
        word = row.strip("\n")
        if word.startswith(COMMIT):
            commit = word[1:].partition("\n")[0].strip()
            word = word.partition("\n")[2]
        if match := _RAW.match(word):
            path = next(fields, "")
            if match[3] != "D" and match[1] not in ("120000", "160000"):
                found.setdefault(path, []).append((DocumentVersion(commit, path, match[2]), match[3]))
    return found
