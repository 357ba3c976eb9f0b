"""The sandbox: six tools over a copy of the memory, and nothing else that could be reached."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from gitmem.core.text import one_line, printable
from gitmem.engines.sandbox.bash_run import run
from gitmem.engines.sandbox.budget import CALLS, Budget, Problem, Refusal
from gitmem.engines.sandbox.edit import Writable, Writer
from gitmem.engines.sandbox.matcher import Matcher
from gitmem.engines.sandbox.search import Wanted, lines_of, search_files
from gitmem.engines.sandbox.tools import LINES, TEXT_CHARS, TOOLS
from gitmem.engines.sandbox.view import Roots, View
from gitmem.engines.sandbox.wildcards import alternatives, path_matches
from gitmem.rules.secrets import find_secrets, redact

LOGGED = 200
"""Refusals that are kept; one is a line of at most 300 cells."""

_NO_MATCH = "No matches."
_NUMBERS = 10_000_000


@dataclass(frozen=True)
class Result:
    """What a tool answers.

    Attributes:
        text: for the model; never empty, credentials redacted.
        is_error: it was refused, or could not be done.
    """

    text: str
    is_error: bool = False


class Sandbox:
    """Carries out a model's tool calls. Whatever they hold, nothing outside is read or written.

    A call never fails but by `DetectorUnavailable`: then nothing may leave for a model at all.

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
        self._writer = Writer(self._view, Writable((may,)) if isinstance(may, str) else may)
        self._tools: dict[str, Callable[[dict[str, Any]], str]] = {
            "Read": self._read,
            "Grep": self._grep,
            "Glob": self._glob,
            "Bash": self._bash,
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

    def call(self, name: str, input: object) -> Result:
        """Carries out one call.

        Args:
            name: of a tool.
            input: its arguments, as the model gave them.

        Raises:
            DetectorUnavailable: secrets cannot be looked for.
        """
        self._budget.renew()
        try:
            text = self._tools[_known(name)](_checked(name, input))
        except Refusal as refusal:
            self._note(f"{name} {_shown(input)}: {refusal}")
            return Result(_safe(str(refusal)), is_error=True)
        except Problem as problem:
            return Result(_safe(str(problem)), is_error=True)
        return Result(_bounded(text))

    def _note(self, line: str) -> None:
        if len(self._log) < LOGGED:
            self._log.append(one_line(_redacted(line), 300))

    def _read(self, given: dict[str, Any]) -> str:
        path = self._view.resolve(given["file_path"])
        lines = lines_of(self._view.text(path))
        self._writer.read.add(path)
        first = max(1, given.get("offset", 1))
        shown = lines[first - 1 : first - 1 + given.get("limit", LINES)]
        if not shown:
            return f"({path} has {len(lines)} lines)"
        rest = len(lines) - (first - 1 + len(shown))
        note = f"\n({rest} more lines; read on with offset)" if rest else ""
        return "\n".join(f"{at:6}\t{line}" for at, line in enumerate(shown, start=first)) + note

    def _grep(self, given: dict[str, Any]) -> str:
        matcher = Matcher([given["pattern"]], "perl", ignore_case=given.get("-i", False))
        mode = given.get("output_mode", "files_with_matches")
        modes: dict[str, Literal["lines", "with", "count"]] = {
            "content": "lines",
            "files_with_matches": "with",
            "count": "count",
        }
        if mode not in modes:
            raise Refusal(f"output_mode is one of {', '.join(modes)}")
        around = given.get("-C", 0)
        wanted = Wanted(
            matcher,
            show=modes[mode],
            numbered=given.get("-n", True),
            named=True,
            before=min(given.get("-B", around), 100),
            after=min(given.get("-A", around), 100),
        )
        patterns = alternatives(given["glob"]) if "glob" in given else ()
        limit = given.get("head_limit") or _NUMBERS
        lines: list[str] = []
        size = 0
        told: list[str] = []
        for line in search_files(self._view, self._files(given, patterns), wanted, {}, told.append):
            if mode == "count" and line.endswith(":0"):
                continue
            lines.append(line)
            size += len(line)
            if len(lines) >= limit or size > TEXT_CHARS:
                break
        return "\n".join([*(lines or [_NO_MATCH]), *(f"({note})" for note in told)])

    def _files(self, given: dict[str, Any], patterns: tuple[str, ...]) -> Iterator[str]:
        top = self._view.resolve(given.get("path", "."))
        if self._view.is_file(top):
            # One that was named is refused aloud; one that was only met is left out.
            self._view.raw(top)
        elif not self._view.is_folder(top):
            raise Problem(f"{top} does not exist here; files that git ignores or does not track do not")
        for path in self._view.walk(top):
            below = path[len(top) :].lstrip("/") or path.rpartition("/")[2]
            if self._view.is_file(path) and (not patterns or _fits(below, patterns, self._budget)):
                yield path

    def _glob(self, given: dict[str, Any]) -> str:
        patterns = tuple(part.removeprefix("./") for part in alternatives(self._relative(given["pattern"])))
        top = self._view.resolve(given.get("path", "."))
        found = []
        size = 0
        for path in self._view.walk(top):
            below = path[len(top) :].lstrip("/")
            if self._view.is_file(path) and any(
                path_matches(below, pattern, self._budget) for pattern in patterns
            ):
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

    def _bash(self, given: dict[str, Any]) -> str:
        return run(self._view, given["command"], self._writer.read) or "(no output)"

    def _edit(self, given: dict[str, Any]) -> str:
        replace_all = given.get("replace_all", False)
        return self._writer.edit(given["file_path"], given["old_string"], given["new_string"], replace_all)

    def _write(self, given: dict[str, Any]) -> str:
        return self._writer.write(given["file_path"], given["content"])


def _known(name: str) -> str:
    if name not in _SCHEMAS:
        raise Refusal(f"there is no tool {name[:40]!a}; there are {', '.join(_SCHEMAS)}")
    return name


_SCHEMAS: dict[str, dict[str, Any]] = {tool["name"]: tool["input_schema"] for tool in TOOLS}


def _checked(name: str, input: object) -> dict[str, Any]:
    """The arguments, where they are what the tool takes; absent where they are null.

    Raises:
        Refusal: one is unknown, missing or of another type.
    """
    schema = _SCHEMAS[name]
    if not isinstance(input, Mapping):
        raise Refusal(f"{name} takes an object of arguments")
    given = {key: value for key, value in input.items() if value is not None and key != "description"}
    for key, value in given.items():
        if key not in schema["properties"]:
            raise Refusal(
                f"{name} has no argument {str(key)[:40]!a}; it has {', '.join(schema['properties'])}"
            )
        kind = schema["properties"][key]["type"]
        whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _NUMBERS
        fits = {"string": isinstance(value, str), "boolean": isinstance(value, bool), "integer": whole}[
            kind
        ]
        if not fits:
            raise Refusal(
                f"{name}: {key} is no {kind}" + (f" up to {_NUMBERS:,}" if kind == "integer" else "")
            )
    missing = [key for key in schema["required"] if key not in given]
    if missing:
        raise Refusal(f"{name} needs {', '.join(missing)}")
    return given


def _fits(below: str, patterns: tuple[str, ...], budget: Budget) -> bool:
    """Whether a path, or where a pattern names no folder its last part, fits one of some patterns."""
    name = below.rpartition("/")[2]
    return any(path_matches(below if "/" in pattern else name, pattern, budget) for pattern in patterns)


def _bounded(text: str) -> str:
    text = _safe(text)
    if len(text) <= TEXT_CHARS:
        return text
    return f"{text[:TEXT_CHARS]}\n(cut: {len(text) - TEXT_CHARS:,} more characters; ask for less)"


def _safe(text: str) -> str:
    """What any encoder takes; arguments that a reason repeats may hold anything."""
    return printable(text).rstrip("\n") or "(nothing)"


def _shown(input: object) -> str:
    if not isinstance(input, Mapping):
        return ""
    told = (input.get(key) for key in ("command", "file_path", "pattern", "path"))
    return next((value[:200] for value in told if isinstance(value, str)), "")


def _redacted(text: str) -> str:
    return redact(text, find_secrets(text))
