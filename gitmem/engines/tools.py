"""What a model may do while it works on a memory: Read, Grep, Glob, Edit and Write over a copy of the tree.

Edit and Write change the copy alone. Whatever a call holds, nothing outside is read or written, and every
call comes to an end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gitmem.core.limits import MEMORY_BYTES
from gitmem.core.memory import parse, problems
from gitmem.core.names import collision_key, is_memory_file
from gitmem.core.text import one_line, printable
from gitmem.engines.sandbox import CALLS, MEMORY, Budget, Exhausted, Problem, Refusal, Roots, View
from gitmem.ledger.workspace import SCOPES
from gitmem.rules.paths import check_path
from gitmem.rules.secrets import find_secrets, redact

TEXT_CHARS: Final = 30_000
"""Characters of one result, as of the client's own tools."""

LINES: Final = 2_000
"""Lines that Read shows unasked, as the client's does."""

LINE_CHARS = 2_000
"""Characters of a line that are shown."""

AROUND = 100
"""Lines that Grep shows before or after a find, at most."""

CHANGED_FILES = 50
"""Memories that one run may touch: what a conversation teaches is a handful."""

PROGRAM = 64
"""Instructions of a compiled expression that take a byte in one step.

As a rule it is far less; where RE2 falls back to simulating the automaton it is up to twenty times as much:
1.5 s for 1 MB of random letters and `[ab]*a[ab]{40}c`, 47 instructions.
"""

PATTERN_CHARS = 1_000
"""Characters of an expression or of a pattern for names."""

LOGGED = 200
"""Refusals that are kept; one is a line of at most 300 cells."""

_NUMBERS = 10_000_000
_NO_MATCH = "No matches."
_WILDCARD = re.compile(
    r"(?P<folders>(?:(?<=/)|^)\*\*(?:/|$))|\*+|\[(?P<negated>[!^]?)(?P<members>\]?[^\]]*)\]|.", re.DOTALL
)


def _tool(name: str, description: str, required: list[str], **properties: dict[str, Any]) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    return {"name": name, "description": description, "input_schema": schema}


def _string(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def _number(description: str) -> dict[str, Any]:
    return {"type": "integer", "minimum": 0, "description": description}


def _flag(description: str) -> dict[str, Any]:
    return {"type": "boolean", "description": description}


# Constants: one byte changed, and no cached prefix is read.
TOOLS: Final[tuple[dict[str, Any], ...]] = (
    _tool(
        "Read",
        "Shows a file with line numbers. Paths are relative to the top of the repository: memory/… is the "
        "memory, sessions/… is what was said, anything else is a file that git tracks.",
        ["file_path"],
        file_path=_string("The file."),
        offset=_number("First line to show, from 1."),
        limit=_number(f"Lines to show; {LINES} without it."),
    ),
    _tool(
        "Grep",
        "Looks for a regular expression (RE2 syntax), line by line. Groups, classes, repeats, anchors and "
        "\\b, \\w, \\d, \\s are there; back references and looking around are not.",
        ["pattern"],
        pattern=_string("The expression."),
        path=_string("File or folder to look in; the whole repository without it."),
        glob=_string("Only files whose name or path fits, such as *.py or src/**/*.{ts,tsx}."),
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
        pattern=_string("The pattern; ** stands for any folders."),
        path=_string("Folder that the pattern starts in; the top without it."),
    ),
    _tool(
        "Edit",
        "Replaces a text in a memory that was read before. It must be there exactly once, unless "
        "replace_all is set.",
        ["file_path", "old_string", "new_string"],
        file_path=_string("The memory, memory/<scope>/<agent>/<name>.md."),
        old_string=_string("The text as it stands there, without line numbers."),
        new_string=_string("What stands there instead."),
        replace_all=_flag("Replaces it wherever it stands."),
    ),
    _tool(
        "Write",
        "Makes a memory: frontmatter with name, description and type, then the body; at most "
        f"{MEMORY_BYTES:,} bytes. One that exists is replaced, after it was read; an empty content deletes "
        "it.",
        ["file_path", "content"],
        file_path=_string("The memory, memory/<scope>/<agent>/<name>.md."),
        content=_string("The whole file."),
    ),
)
"""In the shape of the Messages API, with the argument names of Claude Code's own tools."""

_SCHEMAS: dict[str, dict[str, Any]] = {tool["name"]: tool["input_schema"] for tool in TOOLS}


@dataclass(frozen=True)
class ToolResult:
    """What a tool answers.

    Attributes:
        text: for the model; never empty, credentials redacted.
        is_error: it was refused, or could not be done.
    """

    text: str
    is_error: bool = False


@dataclass(frozen=True)
class Writable:
    """What may be written.

    Attributes:
        agents: folder names of those whose memories these are.
        scopes: names of the scopes that they are in.
        files: how many memories one run may touch.
        only: the one file, `<scope>/<agent>/<name>.md`, that may be written, whatever its form, and not be
            taken out; empty for any memory of these.
        size: bytes of one file, at most.
    """

    agents: Collection[str] = ("main",)
    scopes: Collection[str] = SCOPES
    files: int = CHANGED_FILES
    only: str = ""
    size: int = MEMORY_BYTES


class Sandbox:
    """Carries out a model's tool calls. A call never fails but by `DetectorUnavailable`.

    Args:
        tree: the memory, `<scope>/<agent>/<file>` to content.
        roots: where else may be read.
        may: what may be written; a name alone is that of the one agent whose memories may be.
        calls: how many calls may use up all that one may look at.
    """

    def __init__(
        self,
        tree: Mapping[str, bytes],
        roots: Roots | None = None,
        may: Writable | str = "main",
        calls: int = CALLS,
    ) -> None:
        self._log: list[str] = []
        self._budget = Budget(calls)
        self._view = View(tree, roots or Roots(), self._budget, self._note)
        self._writer = _Writer(self._view, Writable((may,)) if isinstance(may, str) else may)
        self._tools: dict[str, Callable[[dict[str, Any]], str]] = {
            "Read": self._read,
            "Grep": self._grep,
            "Glob": self._glob,
            "Edit": self._edit,
            "Write": self._write,
        }

    @property
    def log(self) -> tuple[str, ...]:
        """What was refused and why, one line each, for a person."""
        return tuple(self._log)

    @property
    def files(self) -> dict[str, bytes]:
        """The memory as it stands now, in the form in which it was given."""
        return dict(self._view.tree)

    def call(self, name: str, input: object) -> ToolResult:
        """Carries out one call.

        Args:
            name: of a tool.
            input: its arguments, as the model gave them.

        Raises:
            DetectorUnavailable: secrets cannot be looked for, so nothing may leave for a model at all.
        """
        self._budget.renew()
        try:
            if name not in self._tools:
                raise Refusal(f"there is no tool {name[:40]!a}; there are {', '.join(self._tools)}")
            text = _safe(self._tools[name](_checked(name, input)))
        except Refusal as refusal:
            self._note(f"{name} {_shown(input)}: {refusal}")
            return ToolResult(_safe(str(refusal)), is_error=True)
        except Problem as problem:
            return ToolResult(_safe(str(problem)), is_error=True)
        if len(text) > TEXT_CHARS:
            text = f"{text[:TEXT_CHARS]}\n(cut: {len(text) - TEXT_CHARS:,} more characters; ask for less)"
        return ToolResult(text)

    def _note(self, line: str) -> None:
        if len(self._log) < LOGGED:
            self._log.append(one_line(redact(line, find_secrets(line)), 300))

    def _read(self, given: dict[str, Any]) -> str:
        path = self._view.resolve(given["file_path"])
        lines = _lines(self._view.text(path))
        self._writer.read.add(path)
        first = max(1, given.get("offset", 1))
        shown = lines[first - 1 : first - 1 + given.get("limit", LINES)]
        if not shown:
            return f"({path} has {len(lines)} lines)"
        rest = len(lines) - (first - 1 + len(shown))
        note = f"\n({rest} more lines; read on with offset)" if rest else ""
        return "\n".join(f"{at:6}\t{line}" for at, line in enumerate(shown, start=first)) + note

    def _grep(self, given: dict[str, Any]) -> str:
        search = _Search(given, self._budget)
        top = self._view.resolve(given.get("path", "."))
        if self._view.is_file(top):
            # One that was named is refused aloud; one that was only met is left out.
            self._view.raw(top)
        elif not self._view.is_folder(top):
            self._view.require(top)
        fits = _wildcards(given["glob"], self._budget) if "glob" in given else None
        by_path = "/" in given.get("glob", "")
        shown: list[str] = []
        size = left_out = 0
        for path in self._view.below(top):
            below = path[len(top) :].lstrip("/") or path.rpartition("/")[2]
            if fits is not None and not fits(below if by_path else below.rpartition("/")[2]):
                continue
            try:
                # Credentials are looked for only in what is shown, and that is found in the redacted text.
                if not search.is_in(self._view.raw(path)):
                    continue
                text = self._view.text(path)
            except Exhausted:
                raise
            except Refusal:
                left_out += 1
                continue
            except Problem:
                continue
            for line in search.output(path, text):
                shown.append(line)
                size += len(line)
                if len(shown) >= search.limit or size > TEXT_CHARS:
                    return "\n".join(shown)
        told = f"(files that were not read, for they are credentials, binary, links or large: {left_out})"
        return "\n".join([*(shown or [_NO_MATCH]), *([told] if left_out else [])])

    def _glob(self, given: dict[str, Any]) -> str:
        fits = _wildcards(self._relative(given["pattern"]), self._budget)
        top = self._view.resolve(given.get("path", "."))
        found: list[str] = []
        size = 0
        for path in self._view.below(top):
            if fits(path[len(top) :].lstrip("/")):
                found.append(path)
                size += len(path)
            if size > TEXT_CHARS:
                break
        return "\n".join(found) or _NO_MATCH

    def _relative(self, pattern: str) -> str:
        """The pattern from the top, where it was given as an absolute path."""
        if ".." in pattern.split("/"):
            raise Refusal("a pattern holds no `..`")
        wild = min((pattern.find(sign) for sign in "*?[{" if sign in pattern), default=len(pattern))
        start = pattern.rfind("/", 0, wild) + 1
        base = self._view.resolve(pattern[:start] or ".")
        return "/".join(filter(None, (base, pattern[start:])))

    def _edit(self, given: dict[str, Any]) -> str:
        replace_all = given.get("replace_all", False)
        return self._writer.edit(given["file_path"], given["old_string"], given["new_string"], replace_all)

    def _write(self, given: dict[str, Any]) -> str:
        return self._writer.write(given["file_path"], given["content"])


class _Search:
    """One call of Grep: what is looked for, and how it is shown."""

    def __init__(self, given: dict[str, Any], budget: Budget) -> None:
        self._mode = given.get("output_mode", "files_with_matches")
        modes = _SCHEMAS["Grep"]["properties"]["output_mode"]["enum"]
        if self._mode not in modes:
            raise Refusal(f"output_mode is one of {', '.join(modes)}")
        _refuse_long(given["pattern"])
        # A line is looked at by itself, whatever stands in an expression.
        self._expression = _compiled(f"(?m){given['pattern']}", ignore_case=given.get("-i", False))
        self._budget = budget
        self._numbered = given.get("-n", True)
        self._before = min(given.get("-B", given.get("-C", 0)), AROUND)
        self._after = min(given.get("-A", given.get("-C", 0)), AROUND)
        self.limit: int = given.get("head_limit") or _NUMBERS

    def is_in(self, data: bytes) -> bool:
        """Whether some line matches."""
        return next(self._matching(data), None) is not None

    def output(self, path: str, text: str) -> Iterator[str]:
        """Yields what is shown of one file."""
        hits = self._matching(text.encode("utf-8", "replace"))
        if self._mode == "content":
            yield from self._around(path, _lines(text), hits)
        elif count := sum(1 for _ in hits):
            yield path if self._mode == "files_with_matches" else f"{path}:{count}"

    def _matching(self, data: bytes) -> Iterator[int]:
        """Numbers, from 0, of lines that match."""
        self._budget.spend(len(data) * self._expression.programsize // PROGRAM)
        at = number = 0
        while at < len(data) and (found := self._expression.search(data, at)) is not None:
            start = found.start()
            if start == len(data) and data.endswith(b"\n"):
                return
            number += data.count(b"\n", at, start)
            yield number
            end = data.find(b"\n", start)
            if end < 0:
                return
            at, number = end + 1, number + 1

    def _around(self, path: str, lines: list[str], hits: Iterator[int]) -> Iterator[str]:
        shown = -1
        found = set(ordered := list(hits))
        for hit in ordered:
            start = max(hit - self._before, shown + 1)
            if (self._before or self._after) and 0 <= shown < start - 1:
                yield "--"
            for number in range(start, min(hit + self._after + 1, len(lines))):
                sign = ":" if number in found else "-"
                at = f"{number + 1}{sign}" if self._numbered else ""
                yield f"{path}{sign}{at}{lines[number]}"
                shown = number


def _refuse_long(pattern: str) -> None:
    if len(pattern) > PATTERN_CHARS:
        raise Refusal(f"the pattern is longer than {PATTERN_CHARS:,} characters")


def _compiled(pattern: str, *, ignore_case: bool = False) -> Any:
    """An expression that takes time linear in what it is held against, and never more than one line of it.

    Raises:
        Refusal: it is none, or a large one.
    """
    import re2

    options = re2.Options()
    options.case_sensitive, options.never_nl, options.log_errors = not ignore_case, True, False
    try:
        return re2.compile(pattern.encode("utf-8"), options)
    except UnicodeEncodeError:
        raise Refusal("the pattern is no Unicode text") from None
    except re2.error as error:
        why = error.args[0] if error.args else b""
        told = why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)
        raise Refusal(f"the pattern cannot be used: {told.replace('(?m)', '')}") from None


def _wildcards(pattern: str, budget: Budget) -> Callable[[str], bool]:
    """Tells whether a path fits a shell pattern: `*`, `?`, `[…]`, `{a,b}`, and `**` for any folders.

    Raises:
        Refusal: it is longer than a pattern may be, or a class in it is none.
    """
    import re2

    _refuse_long(pattern)
    depth = 0
    # Braces that do not close mean themselves.
    paired = pattern.count("{") == pattern.count("}")
    found: list[str] = []
    for sign in _WILDCARD.finditer(pattern):
        text, negated, members = sign[0], sign["negated"], sign["members"]
        if members is not None:
            escaped = re.sub(r"([\\\[\]^])", r"\\\1", members)
            found.append(f"[^/{escaped}]" if negated else f"[{escaped}]")
        elif paired and (text == "{" or (depth > 0 and text in ("}", ","))):
            depth += (text == "{") - (text == "}")
            found.append({"{": "(?:", ",": "|", "}": ")"}[text])
        elif sign["folders"]:
            found.append("(?:[^/]*/)*" if text.endswith("/") else ".*")
        else:
            found.append({"*": "[^/]*", "?": "[^/]"}.get(text[0]) or re2.escape(text))
    expression = _compiled("".join(found) + ")" * depth)

    def fits(path: str) -> bool:
        budget.spend(len(path) * expression.programsize // PROGRAM)
        return expression.fullmatch(path.encode("utf-8", "replace")) is not None

    return fits


class _Writer:
    """Edit and Write: the memory alone, in memory alone."""

    def __init__(self, view: View, may: Writable) -> None:
        self._view, self._may = view, may
        self._touched: set[str] = set()
        self.read: set[str] = set()

    def edit(self, path: str, old: str, new: str, replace_all: bool) -> str:
        """Replaces a text in a memory.

        Returns:
            what was done, for the model.

        Raises:
            Problem: the text is not there, or more than once, or the file was not read before.
            Refusal: it may not be written.
        """
        plain = self._writable(path)
        before, after = _plain(old, "old_string"), _plain(new, "new_string")
        if not self._view.is_file(plain):
            raise Problem(f"{plain} does not exist; use Write to make it")
        if plain not in self.read:
            raise Problem(f"read {plain} before you change it")
        if before == after or not before:
            raise Problem("old_string is empty, or the same as new_string")
        try:
            whole = self._view.data(plain).decode("utf-8")
        except UnicodeDecodeError:
            raise Refusal(f"{plain} is not UTF-8: a person has to put it right first") from None
        if "\r\n" in whole and "\r\n" not in before:
            before, after = before.replace("\n", "\r\n"), after.replace("\n", "\r\n")
        count = whole.count(before)
        if not count:
            raise Problem(f"old_string is not in {plain}; it must be there letter by letter")
        if count > 1 and not replace_all:
            raise Problem(f"old_string is in {plain} {count} times: give more of it, or set replace_all")
        if len(whole) + count * (len(after) - len(before)) > self._may.size:
            raise Refusal(f"{plain} would be larger than {self._may.size:,} bytes")
        return self._put(plain, whole.replace(before, after))

    def write(self, path: str, content: str) -> str:
        """Makes a memory or replaces it whole; a blank content takes it out.

        Returns:
            what was done, for the model.

        Raises:
            Problem: one that exists was not read before.
            Refusal: it may not be written.
        """
        plain = self._writable(path)
        text = _plain(content, "content")
        if self._view.is_file(plain) and plain not in self.read:
            raise Problem(f"{plain} exists: read it first, then Edit it")
        if not self._view.is_file(plain):
            self._check_new(plain)
            if not text.strip():
                raise Problem("the content is empty")
        return self._put(plain, text)

    def _writable(self, given: str) -> str:
        path = self._view.resolve(given)
        if not path.startswith(f"{MEMORY}/"):
            raise Refusal(f"only files in memory/ can be written, and {path or 'that'} is none")
        if ".." in given.split("/"):
            raise Refusal("a path that is written to holds no `..`")
        reason = check_path(path.removeprefix(f"{MEMORY}/"))
        if reason is not None:
            raise Refusal(f"{path!a} cannot be written: {reason}")
        if self._may.only and path != f"{MEMORY}/{self._may.only}":
            raise Refusal(f"{path!a} cannot be written: only {MEMORY}/{self._may.only} is")
        scope, agent, *file = [*path.split("/")[1:], "", ""][: max(3, path.count("/"))]
        own = f"memory/{_either(self._may.scopes)}/{_either(self._may.agents)}/<name>.md"
        if (
            scope not in self._may.scopes
            or agent not in self._may.agents
            or not is_memory_file("/".join(file))
        ):
            raise Refusal(f"{path!a} cannot be written: memories are {own}; indexes are made by gitmem")
        return path

    def _check_new(self, path: str) -> None:
        folder = path.rpartition("/")[0]
        for known in self._view.below(folder):
            if collision_key(known) == collision_key(path):
                raise Refusal(f"{path} would be the same file as {known} on some systems: edit that one")

    def _put(self, path: str, text: str) -> str:
        try:
            data = text.encode("utf-8")
        except UnicodeEncodeError:
            raise Refusal("the content is no Unicode text") from None
        if len(data) > self._may.size:
            raise Refusal(f"{path} would be larger than {self._may.size:,} bytes")
        if len(self._touched | {path}) > self._may.files:
            raise Refusal(f"more than {self._may.files} memories cannot be changed in one go")
        self._touched.add(path)
        if not text.strip():
            if self._may.only:
                raise Refusal(f"{path} cannot be deleted")
            self._view.put(path, None)
            return f"{path} is deleted."
        new = not self._view.is_file(path)
        self._view.put(path, data)
        self.read.add(path)
        wrong = () if self._may.only else problems(parse(path, data))
        note = f" Put right: {', '.join(wrong)}." if wrong else ""
        return f"{path} is {'written' if new else 'changed'}.{note}"


def _checked(name: str, input: object) -> dict[str, Any]:
    """The arguments, where they are what the tool takes; absent where they are null.

    Raises:
        Refusal: one is unknown, missing or of another type.
    """
    schema = _SCHEMAS[name]
    if not isinstance(input, Mapping):
        raise Refusal(f"{name} takes an object of arguments")
    given = {key: value for key, value in input.items() if value is not None}
    for key, value in given.items():
        if key not in schema["properties"]:
            raise Refusal(
                f"{name} has no argument {str(key)[:40]!a}; it has {', '.join(schema['properties'])}"
            )
        kind = schema["properties"][key]["type"]
        whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _NUMBERS
        fits = {"string": isinstance(value, str), "boolean": isinstance(value, bool), "integer": whole}
        if not fits[kind]:
            most = f" up to {_NUMBERS:,}" if kind == "integer" else ""
            raise Refusal(f"{name}: {key} is no {kind}{most}")
    missing = [key for key in schema["required"] if key not in given]
    if missing:
        raise Refusal(f"{name} needs {', '.join(missing)}")
    return given


def _lines(text: str) -> list[str]:
    """Lines without their ends, long ones cut."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line[:LINE_CHARS] for line in lines]


def _plain(value: str, name: str) -> str:
    if any(char < " " and char not in "\n\t\r" for char in value) or "\x7f" in value:
        raise Refusal(f"{name} holds control characters")
    return value


def _either(names: Collection[str]) -> str:
    return next(iter(names)) if len(names) == 1 else f"<{'|'.join(names)}>"


def _safe(text: str) -> str:
    """What any encoder takes; arguments that a reason repeats may hold anything."""
    return printable(text).rstrip("\n") or "(nothing)"


def _shown(input: object) -> str:
    given = input if isinstance(input, Mapping) else {}
    told = (given.get(key) for key in ("command", "file_path", "pattern", "path"))
    return next((value[:200] for value in told if isinstance(value, str)), "")
