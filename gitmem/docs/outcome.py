"""What became of what a document names and the code lacks, written as the document would write it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Literal
from urllib.parse import unquote

from gitmem.docs.document import Doc, Statement
from gitmem.search.code_files import CodeFiles, below, is_aside, module_name
from gitmem.search.code_history import Fate, Hunk, WordFate, fates, folder_moved, hunks, renames, word_fates
from gitmem.search.code_reader import STAGED
from gitmem.values import dataclass

OutcomeKind = Literal["there", "moved", "gone", "never", "unknown"]


@dataclass(frozen=True)
class Outcome:
    """What became of what one statement names.

    Attributes:
        kind: `there`; `moved`, to `now`; `gone`, from code that had it when the document said so; `never`,
            which is not in the code and was not when the document said so; `unknown`.
        now: where it is or what it is called now, as a person would look for it; empty where it is gone.
        became: the same as the document would write it; empty where that is not sure.
        out_of: of a symbol the file that had it, which the document names with it; empty elsewhere.
        commit, time: the commit that took it away, and its committer time; empty and 0 where unknown.
    """

    kind: OutcomeKind
    now: str = ""
    became: str = ""
    commit: str = ""
    time: int = 0
    out_of: str = ""


THERE = Outcome("there")
NEVER = Outcome("never")
UNKNOWN = Outcome("unknown")


@dataclass(frozen=True)
class Then:
    """What a former commit had.

    Attributes:
        base: the commit.
        path: the file or folder that was meant; empty for words.
        rest: of a dotted name what stands behind the module.
        anchor, anchored: of a link to a heading that is gone: its anchor, and the heading's now, if plain.
        words: identifiers or flags, or the word of a program, that are gone.
        runs: the command that runs now what this one ran; empty where none does.
        left: of a symbol that is elsewhere now the file that it was in.
    """

    base: str
    path: str = ""
    rest: str = ""
    anchor: str = ""
    anchored: str = ""
    words: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    left: str = ""


class Became:
    """Follows what is gone up to one revision.

    Args:
        rev: a commit, or `STAGED`.
        commit: whose history counts.
    """

    def __init__(self, files: CodeFiles, rev: str, commit: str) -> None:
        self._files = files
        self._rev = rev
        self._commit = commit
        self._here = files.places(rev)
        self._staged: dict[str, str] = {}
        self._staged_hunks: list[Hunk] = []
        self._direct: dict[str, dict[str, str]] = {}

    def of(self, asked: Mapping[int, tuple[Doc, Statement, Then]]) -> dict[int, Outcome]:
        """What became of each."""
        if not asked:
            return {}
        if self._rev == STAGED:
            self._staged, patch = self._files.staged_changes()
            self._staged_hunks = list(hunks(patch))
        paths = {then.path for _, _, then in asked.values() if then.path and not self._here.has(then.path)}
        moved = self._paths(paths, {then.path: then.base for _, _, then in asked.values()})
        words: dict[tuple[str, bool], set[str]] = {}
        for _, one, then in asked.values():
            words.setdefault((then.base, one.kind == "command"), set()).update(then.words)
        renamed = {
            (base, given): word_fates(
                self._files,
                base,
                self._commit,
                some,
                rev=self._rev,
                given=given,
                staged=self._staged_hunks,
            )
            for (base, given), some in words.items()
            if some
        }
        return {
            n: self._outcome(doc, one, then, moved, renamed.get((then.base, one.kind == "command"), {}))
            for n, (doc, one, then) in asked.items()
        }

    def _outcome(
        self, doc: Doc, one: Statement, then: Then, moved: Mapping[str, Fate], words: Mapping[str, WordFate]
    ) -> Outcome:
        if then.anchor:
            if not then.anchored:
                return Outcome("gone")
            now = one.name.replace(f"#{then.anchor}", f"#{then.anchored}")
            return Outcome("moved", f"{then.path}#{then.anchored}", now)
        if then.left:
            having = [path for path in self._files.defining(self._rev, one.parts[-1]) if not is_aside(path)]
            now = having[0] if len(having) == 1 else ""
            return Outcome("moved" if now else "gone", now, out_of=then.left)
        if then.words:
            return self._word_outcome(one, then, words)
        if not then.path:
            written = _command(one, then.runs)
            return Outcome("moved", written, written) if written else Outcome("gone")
        fate = Fate("", 0, then.path, True) if self._here.has(then.path) else moved[then.path]
        if not fate.exists:
            return Outcome("gone", fate.now, "", fate.commit, fate.time)
        if one.kind == "symbol":
            return self._module(one, then, fate)
        became = as_written(one, then.path, fate.now, doc.path)
        target = "" if one.kind == "link" else became.rstrip("/")
        if target and self._here.meant(target, doc.path.rpartition("/")[0]) != (fate.now,):
            became = fate.now if one.kind != "link" and re.fullmatch(r"[\w./@+-]+", fate.now) else ""
        return Outcome("moved", fate.now, became if became != one.name else "", fate.commit, fate.time)

    def _word_outcome(self, one: Statement, then: Then, words: Mapping[str, WordFate]) -> Outcome:
        known = [words[word] for word in then.words if word in words]
        if not known:
            return Outcome("gone")
        newest = max(known, key=lambda fate: fate.time)
        if len(known) < len(then.words) or not all(fate.now for fate in known):
            return Outcome("gone", "", "", newest.commit, newest.time)
        written = one.name
        for word in then.words:
            pattern = rf"(?<![\w-]){re.escape(word)}(?![\w-])"
            written = re.sub(pattern, lambda _, word=word: words[word].now, written)  # type: ignore[misc]
        return Outcome("moved", written, written if written != one.name else "", newest.commit, newest.time)

    def _module(self, one: Statement, then: Then, fate: Fate) -> Outcome:
        """Of a dotted name whose module moved."""
        old, new = module_name(then.path), module_name(fate.now)
        module = one.name.removesuffix(f".{then.rest}") if then.rest else one.name
        before = old.removesuffix(module.replace(".", "/"))
        became = new.removeprefix(before).replace("/", ".") if new.startswith(before) else ""
        if then.rest:
            text = self._files.text(self._here.files.get(fate.now, ""))
            became = f"{became}.{then.rest}" if became and text and not lacks(text, then.rest) else ""
        return Outcome("moved", became or fate.now, became, fate.commit, fate.time)

    def _paths(self, paths: set[str], bases: Mapping[str, str]) -> dict[str, Fate]:
        """What became of files and folders."""
        found: dict[str, Fate] = {}
        committed = paths
        if self._rev == STAGED:
            head = self._files.places(self._commit)
            for path in paths:
                if head.has(path):
                    found[path] = self._staged_fate(path, Fate("", 0))
            committed = paths - found.keys()
        past, _ = fates(self._files, self._commit, committed) if committed else ({}, True)
        for path in committed:
            fate = past.get(path, Fate("", 0))
            if fate.exists and not self._here.has(fate.now):
                fate = self._staged_fate(fate.now, fate)
            if not fate.now and (now := self._directly(bases[path], path)):
                fate = Fate(fate.commit, fate.time, now, True)
            found[path] = fate
        return found

    def _staged_fate(self, path: str, fate: Fate) -> Fate:
        now = self._staged.get(path) or folder_moved(path, self._staged)
        return Fate(fate.commit, fate.time, now or fate.now, bool(now))

    def _directly(self, base: str, path: str) -> str:
        """What a file is called now, where git sees one rename from a former commit to the present."""
        if self._rev == STAGED or not base:
            return ""
        if base not in self._direct:
            self._direct[base] = renames(self._files, base, self._commit)
        moved = self._direct[base]
        return moved.get(path) or folder_moved(path, moved)


def _command(one: Statement, runs: tuple[str, ...]) -> str:
    """A command as it was written, with the words of another."""
    if not runs:
        return ""
    if len(runs) == 1:
        old, new = (re.sub("^git-", "git ", program) for program in (one.parts[0], runs[0]))
        return f"{new}{one.name.removeprefix(old)}" if one.name.startswith(old) else ""
    return f"{one.name[: -len(one.parts[1])]}{runs[1]}"


def lacks(text: str, word: str) -> bool:
    """Whether a file that is at hand does not so much as mention a symbol."""
    return bool(text.strip()) and not re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text)


def linked(statement: Statement, doc: str) -> tuple[str, str]:
    """Where a link leads: a path from the top, empty where out of the tree, and the anchor."""
    path, _, anchor = statement.target.partition("#")
    path = unquote(path.partition("?")[0])
    folder = doc.rpartition("/")[0]
    full = below("", path.lstrip("/")) if path.startswith("/") else below(folder, path) if path else doc
    return full, unquote(anchor)


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
