"""What the code is and was, for what documents say of it: asked of git for all documents together."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Literal

from gitmem.docs import definitions
from gitmem.docs.document import Doc, Statement
from gitmem.docs.outcome import NEVER, THERE, UNKNOWN, Became, Outcome, Then, lacks, linked
from gitmem.docs.versions import Said, versions
from gitmem.search.code_files import CodeFiles, Places, is_aside, is_prose
from gitmem.search.code_history import defines
from gitmem.search.code_reader import STAGED
from gitmem.values import dataclass

MOST_BASES = 40
"""Former commits that are looked at, at most: each time a document was written anew is one."""

_DOTTED = re.compile(r"[a-z_]\w*(?:\.[a-z_]\w*)+")

_Asked = tuple[Doc, Statement]

_Doubt = Literal["lacking", "end", "quoted", "left"]
"""The code lacks it; has a path that ends so; says a command's word, maybe to another program; has a
symbol, but not in the file that the document names for it."""


@dataclass()
class _Side:
    """What one state of the code has of what is asked.

    Attributes:
        words: identifiers and flags that it has.
        verbs: words that it gives to programs.
        verb_files: words of programs that have a file each, to that file.
        commands: what it defines, to what that runs.
    """

    places: Places
    words: set[str] = field(default_factory=set)
    verbs: set[str] = field(default_factory=set)
    verb_files: Mapping[str, str] = field(default_factory=dict)
    commands: dict[tuple[str, ...], str] = field(default_factory=dict)


class GitCode:
    """Who knows the code of one revision and its history.

    Args:
        rev: a commit, or `STAGED`.
    """

    def __init__(self, files: CodeFiles, rev: str) -> None:
        self._files = files
        self._rev = rev
        self.commit = files.commit(rev)
        self.since: dict[str, str] = {}
        # Of another time than the work tree's nothing lies there.
        self._is_present = rev == STAGED or self.commit == files.commit("HEAD")

    def look(self, asked: Sequence[_Asked]) -> Sequence[Outcome]:
        """One outcome for each statement."""
        here = self._side(self._rev, [one for _, one in asked], None)
        doubts = {n: doubt for n, one in enumerate(asked) if (doubt := self._doubt(here, *one))}
        # What may lie in code that is not at hand, as in a partial clone, is not known to be gone.
        whole = self._files.complete
        history = versions(self._files, self.commit, {doc.path for doc, _ in asked}) if self.commit else {}
        self.since = {path: rows[0].commit for path, rows in history.items() if rows}
        said = Said(self._files, history)
        bases: dict[str, list[tuple[int, str]]] = {}
        for n, doubt in doubts.items():
            doc, one = asked[n]
            for version in said.since(doc, one.key) if whole or doubt != "lacking" or not one.parts else ():
                if self._rev == STAGED or version.commit != self.commit:
                    bases.setdefault(version.commit, []).append((n, version.path))
        then: dict[int, Then] = {}
        for base in list(bases)[:MOST_BASES]:
            wanted = [(n, path) for n, path in bases[base] if n not in then]
            side = self._side(base, [asked[n][1] for n, _ in wanted], here)
            for n, path in wanted:
                if found := self._then(side, here, doubts[n], *asked[n], path, base):
                    then[n] = found
        became = Became(self._files, self._rev, self.commit)
        outcomes = became.of({n: (*asked[n], old) for n, old in then.items()})
        known = not self._files.shallow and self._files.complete and len(bases) <= MOST_BASES
        for n, doubt in doubts.items():
            if doubt == "lacking" and not _foreign(here, *asked[n]):
                outcomes.setdefault(n, NEVER if known else UNKNOWN)
        return [outcomes.get(n, THERE) for n in range(len(asked))]

    def _doubt(self, here: _Side, doc: Doc, one: Statement) -> _Doubt | None:
        """Why what a statement names may not be there any more; None where it surely is."""
        if not self._holds(here, doc, one):
            return "lacking"
        if one.kind in ("file", "folder") and "/" in one.target:
            ends = here.places.anywhere(one.target)
            return "end" if ends and not here.places.exact(one.target, _folder(doc.path)) else None
        if one.kind == "command":
            return None if one.parts in here.commands or one.parts[1] in here.verb_files else "quoted"
        file = _file_of(here.places, doc, one)
        return "left" if file and lacks(self._files.text(here.places.files[file]), one.parts[-1]) else None

    def _then(
        self, side: _Side, here: _Side, doubt: _Doubt, doc: Doc, one: Statement, path: str, base: str
    ) -> Then | None:
        """What a former commit had of what is in doubt; None where it had it not.

        Args:
            path: where the document stood.
        """
        if doubt == "lacking":
            return self._had(side, here, doc, one, path, base)
        if doubt == "end":
            full = side.places.exact(one.target, _folder(path))
            gone = full in side.places.files and not here.places.has(full)
            return Then(base, full) if gone else None
        if doubt == "quoted":
            return Then(base, words=(one.parts[1],)) if self._gave(side, here, one.parts[1]) else None
        file = _file_of(here.places, doc, one)
        text = self._files.text(side.places.files[file]) if file in side.places.files else ""
        had = any(defines(line, one.parts[-1]) for line in text.split("\n") if one.parts[-1] in line)
        return Then(base, left=file) if had else None

    def _gave(self, side: _Side, here: _Side, word: str) -> bool:
        """Whether a former commit had a file for a word that now no file near that one says."""
        file = side.verb_files.get(word, "")
        if not file or file in here.places.files:
            return False
        near = definitions.beside(here.places.files, file)
        return bool(near) and not self._files.given(self._rev, [word]).get(word, set()).intersection(near)

    def _side(self, rev: str, wanted: Sequence[Statement], now: _Side | None) -> _Side:
        """What a state of the code has; of a former one what the present lacks."""
        places = self._files.places(rev)
        side = _Side(places)
        words = {part for one in wanted if one.kind in ("symbol", "flag") for part in one.parts}
        verbs = {one.parts[1] for one in wanted if one.kind == "command" and len(one.parts) > 1}
        if now is not None:
            words -= now.words
            verbs -= now.verbs
        said = any(one.kind == "command" for one in wanted)
        if said or any(one.kind == "flag" for one in wanted):
            side.commands = definitions.commands(
                {
                    path: self._files.text(oid)
                    for path, oid in places.files.items()
                    if path.rpartition("/")[2] in definitions.DEFINING and not is_aside(path)
                }
            )
            # Of a program that is gone they are asked as well: it may have another name.
            verbs = verbs if any(len(words) == 1 for words in side.commands) else set()
        side.verb_files = definitions.verb_files(places.files) if said else {}
        by_name = verbs & side.verb_files.keys()
        # A name that the code only used (of the system, of a library) is nothing that it has or has not.
        side.words = (
            set(self._files.words(rev, words)[0]) if now is None else self._files.defined(rev, words)
        )
        side.verbs = {*by_name, *self._files.given(rev, verbs - by_name)}
        return side

    def _holds(self, here: _Side, doc: Doc, one: Statement) -> bool:
        """Whether the code has what a statement names."""
        folder = _folder(doc.path)
        if one.kind in ("file", "folder"):
            return bool(here.places.meant(one.target, folder)) or here.places.anywhere(one.target)
        if one.kind == "link":
            path, anchor = linked(one, doc.path)
            if not path or not here.places.has(path):
                return False
            return not anchor or self._has_anchor(here.places, doc, path, anchor)
        if one.kind == "command":
            return one.parts in here.commands or (
                one.parts[:1] in here.commands and one.parts[1] in here.verbs
            )
        if one.kind == "symbol" and _DOTTED.fullmatch(one.name):
            file, rest = _module_of(here.places, one)
            if not file or not rest:
                return bool(file)
        return set(one.parts) <= here.words

    def _has_anchor(self, places: Places, doc: Doc, path: str, anchor: str) -> bool:
        if path.rpartition(".")[2].lower() not in ("md", "mdx", "markdown") or path not in places.files:
            return True
        text = doc.text if path == doc.path else self._files.text(places.files[path])
        return anchor.lower() in map(str.lower, definitions.anchors(text))

    def _had(self, side: _Side, here: _Side, doc: Doc, one: Statement, path: str, base: str) -> Then | None:
        """What a former commit had of what the present lacks; None where it had it not."""
        folder = _folder(path)
        if one.kind in ("file", "folder"):
            found = side.places.meant(one.target, folder)
            plain = found and not any(side.places.is_closed(full) for full in found)
            return Then(base, found[0]) if plain and not self._lies_there(found) else None
        if one.kind == "link":
            full, anchor = linked(one, path)
            if not full or not side.places.has(full):
                return None
            if not here.places.has(full):
                return None if self._lies_there([full]) else Then(base, full)
            if not anchor or linked(one, doc.path)[0] != full:  # the document moved, its target did not
                return Then(base, full)
            then = self._files.text(side.places.files.get(full, ""))
            now = doc.text if full == doc.path else self._files.text(here.places.files[full])
            if anchor.lower() not in map(str.lower, definitions.anchors(then)):
                return None
            return Then(base, full, anchor=anchor, anchored=definitions.heading_renamed(then, now, anchor))
        if one.kind == "command":
            if one.parts in side.commands:
                return Then(base, runs=definitions.command_renamed(one.parts, side.commands, here.commands))
            if one.parts[:1] not in side.commands or len(one.parts) < 2:
                return None
            if one.parts[:1] not in here.commands:
                if one.parts[1] in side.verbs:  # the word went with its program
                    return Then(base)
                return Then(
                    base, runs=definitions.command_renamed(one.parts[:1], side.commands, here.commands)
                )
            return Then(base, words=(one.parts[1],)) if one.parts[1] in side.verbs else None
        if one.kind == "flag" and one.target and (one.target,) not in side.commands:
            return None
        if one.kind == "symbol" and _DOTTED.fullmatch(one.name):
            file, rest = _module_of(side.places, one)
            if file and file not in here.places.files:
                return Then(base, file, rest=rest)
        lacking = tuple(part for part in one.parts if part not in here.words)
        return Then(base, words=lacking) if lacking and set(lacking) <= side.words else None

    def _lies_there(self, paths: Sequence[str]) -> bool:
        """Whether something that is not tracked lies in the place of a file: made anew by a build."""
        top = self._files.worktree
        return top is not None and self._is_present and any(os.path.lexists(top / path) for path in paths)


def _foreign(here: _Side, doc: Doc, one: Statement) -> bool:
    """Whether what the code lacks may well be no part of it: another program, or a place outside of it."""
    if one.kind == "link":
        return not linked(one, doc.path)[0]
    if one.kind == "symbol":  # a dotted name may be any object's; that it is no module says nothing
        return set(one.parts) <= here.words
    program = one.parts[0] if one.kind == "command" else one.target if one.kind == "flag" else ""
    return bool(program) and all(known[0] != program for known in here.commands)


def _module_of(places: Places, one: Statement) -> tuple[str, str]:
    """The file that a dotted name or its beginning means, and the rest of the name."""
    name, _, last = one.name.rpartition(".")
    if file := places.module(one.name):
        return file, ""
    if "." in name and (file := places.module(name)):
        return file, last
    return "", ""


def _file_of(places: Places, doc: Doc, one: Statement) -> str:
    """The one file of code that a document says a symbol is in; empty where it names none, or more.

    It says so by a dotted name, or by a line that names one file.
    """
    if one.kind != "symbol":
        return ""
    if _DOTTED.fullmatch(one.name):
        file, rest = _module_of(places, one)
        return file if rest else ""
    targets = {other.target for other in doc.statements if (other.line, other.kind) == (one.line, "file")}
    meant = places.meant(targets.pop(), _folder(doc.path)) if len(targets) == 1 else ()
    return meant[0] if len(meant) == 1 and meant[0] in places.files and not is_prose(meant[0]) else ""


def _folder(path: str) -> str:
    return path.rpartition("/")[0]
