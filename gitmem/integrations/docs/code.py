"""What the code is and was, for what documents say of it: asked of git for all documents together."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import field

from gitmem.docs import commands, headings
from gitmem.docs.check import NEVER, THERE, UNKNOWN, Outcome
from gitmem.docs.document import Doc
from gitmem.docs.places import Places, linked
from gitmem.docs.statements import Statement
from gitmem.integrations.docs.became import Became, Then
from gitmem.integrations.docs.git_reader import STAGED, Ground
from gitmem.integrations.docs.in_files import DOTTED, defines, elsewhere, file_of, lacks, module_of
from gitmem.integrations.docs.versions import Said, versions
from gitmem.values import dataclass

MOST_BASES = 40
"""Former commits that are looked at, at most: each time a document was written anew is one."""

_Asked = tuple[Doc, Statement]


@dataclass()
class _Side:
    """What one state of the code has of what is asked.

    Attributes:
        words: identifiers and flags that it has.
        verbs: words that it gives to programs.
        commands: what it defines, to what that runs.
    """

    places: Places
    words: set[str] = field(default_factory=set)
    verbs: set[str] = field(default_factory=set)
    commands: dict[tuple[str, ...], str] = field(default_factory=dict)


class GitCode:
    """Who knows the code of one revision and its history (`docs.check.Code`).

    Args:
        rev: a commit, or `STAGED`.
    """

    def __init__(self, ground: Ground, rev: str) -> None:
        self._ground = ground
        self._rev = rev
        self.commit = ground.commit(rev)
        self.since: dict[str, str] = {}
        # Of another time than the work tree's nothing lies there.
        self._is_present = rev == STAGED or self.commit == ground.commit("HEAD")

    def look(self, asked: Sequence[_Asked]) -> Sequence[Outcome]:
        """One outcome for each statement."""
        here = self._side(self._rev, [one for _, one in asked], None)
        outcomes: dict[int, Outcome] = {}
        lacking = [n for n, (doc, one) in enumerate(asked) if not self._holds(here, doc, one)]
        # What may lie in code that is not at hand, as in a partial clone, is not known to be gone.
        unread = set() if self._ground.complete else {n for n in lacking if asked[n][1].parts}
        by_end = {n for n, (doc, one) in enumerate(asked) if self._holds_by_end(here, doc, one)}
        quoted = self._quoted(here, asked, set(lacking))
        parted = self._parted(here, asked, set(lacking))
        history = versions(self._ground, self.commit, {doc.path for doc, _ in asked}) if self.commit else {}
        self.since = {path: rows[0].commit for path, rows in history.items() if rows}
        said = Said(self._ground, history)
        bases: dict[str, list[tuple[int, str]]] = {}
        for n in sorted({*lacking, *by_end, *parted, *quoted} - unread):
            doc, one = asked[n]
            for version in said.since(doc, one.key):
                if version.commit != self._rev_commit():
                    bases.setdefault(version.commit, []).append((n, version.path))
        then: dict[int, Then] = {}
        for base in list(bases)[:MOST_BASES]:
            wanted = [(n, path) for n, path in bases[base] if n not in then]
            side = self._side(base, [asked[n][1] for n, _ in wanted], here)
            for n, path in wanted:
                doc, one = asked[n]
                if n in parted:
                    if n not in outcomes and defines(self._ground, side.places, parted[n], one):
                        outcomes[n] = elsewhere(self._ground, here.places, parted[n], one)
                    continue
                if n in quoted:
                    if self._gave(side, here, one.parts[1]):
                        then[n] = Then(base, words=(one.parts[1],))
                    continue
                if n in by_end:
                    full = side.places.exact(one.target, path.rpartition("/")[0])
                    if full in side.places.files and not here.places.has(full):
                        then[n] = Then(base, full)
                    continue
                if found := self._had(side, here, doc, one, path, base):
                    then[n] = found
        became = Became(self._ground, self._rev, self.commit, here.places, here.commands)
        outcomes |= became.of({n: (asked[n][0], asked[n][1], old) for n, old in then.items()})
        unsure = (
            UNKNOWN
            if self._ground.shallow or not self._ground.complete or len(bases) > MOST_BASES
            else NEVER
        )
        missing = {n: THERE if _foreign(here, *asked[n]) else unsure for n in lacking}
        return [outcomes.get(n, missing.get(n, THERE)) for n in range(len(asked))]

    def _holds_by_end(self, here: _Side, doc: Doc, one: Statement) -> bool:
        """Whether a path holds only as the end of another: what it was said of may have moved there."""
        known = one.kind in ("file", "folder") and "/" in one.target
        return (
            known
            and here.places.anywhere(one.target)
            and not here.places.exact(one.target, doc.path.rpartition("/")[0])
        )

    def _quoted(self, here: _Side, asked: Sequence[_Asked], lacking: Collection[int]) -> set[int]:
        """Commands whose word has no file and is only said somewhere, maybe to another program."""
        files = commands.of_files(here.places.files)
        return {
            n
            for n, (_, one) in enumerate(asked)
            if one.kind == "command" and n not in lacking
            if one.parts not in here.commands and one.parts[1] not in files
        }

    def _gave(self, side: _Side, here: _Side, word: str) -> bool:
        """Whether a former commit had a file for a word that now no file near that one says."""
        file = commands.of_files(side.places.files).get(word, "")
        near = commands.beside(here.places.files, file)
        said = self._ground.words({path: here.places.files[path] for path in near}, (), [word])[1]
        return bool(file) and file not in here.places.files and bool(near) and not said

    def _parted(self, here: _Side, asked: Sequence[_Asked], lacking: Collection[int]) -> dict[int, str]:
        """Symbols that the code has, but not the file that the document names for them."""
        found = {}
        for n, (doc, one) in enumerate(asked):
            file = file_of(here.places, doc, one) if n not in lacking else ""
            if file and lacks(self._ground, here.places, file, one):
                found[n] = file
        return found

    def _rev_commit(self) -> str:
        return "" if self._rev == STAGED else self.commit

    def _side(self, rev: str, wanted: Sequence[Statement], now: _Side | None) -> _Side:
        """What a state of the code has; of a former one what the present lacks."""
        places = self._ground.places(rev)
        side = _Side(places)
        words = {part for one in wanted if one.kind in ("symbol", "flag") for part in one.parts}
        verbs = {one.parts[1] for one in wanted if one.kind == "command" and len(one.parts) > 1}
        files = dict(places.files)
        if now is not None:
            words -= now.words
            verbs -= now.verbs
            same = set(now.places.files.values())
            files = {path: oid for path, oid in files.items() if oid not in same}
        if any(one.kind in ("command", "flag") for one in wanted):
            side.commands = commands.defined(
                {
                    path: self._ground.text(oid)
                    for path, oid in places.files.items()
                    if path.rpartition("/")[2] in commands.DEFINING and not places.is_aside(path)
                }
            )
            # Of a program that is gone they are asked as well: it may have another name.
            verbs = verbs if any(len(words) == 1 for words in side.commands) else set()
        by_name = verbs & commands.of_files(places.files).keys() if verbs else set()
        # A name that the code only used (of the system, of a library) is nothing that it has or has not.
        was = now is not None
        side.words, side.verbs = self._ground.words(files, words, verbs - by_name, defined=was)
        side.verbs |= by_name
        return side

    def _holds(self, here: _Side, doc: Doc, one: Statement) -> bool:
        """Whether the code has what a statement names."""
        folder = doc.path.rpartition("/")[0]
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
        if one.kind == "symbol" and DOTTED.fullmatch(one.name):
            file, rest = module_of(here.places, one)
            if not file or not rest:
                return bool(file)
        return set(one.parts) <= here.words

    def _has_anchor(self, places: Places, doc: Doc, path: str, anchor: str) -> bool:
        if path.rpartition(".")[2].lower() not in ("md", "mdx", "markdown") or path not in places.files:
            return True
        text = doc.text if path == doc.path else self._ground.text(places.files[path])
        return anchor.lower() in map(str.lower, headings.anchors(text))

    def _had(self, side: _Side, here: _Side, doc: Doc, one: Statement, path: str, base: str) -> Then | None:
        """What a former commit had of what the present lacks; None where it had it not."""
        folder = path.rpartition("/")[0]
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
            then = self._ground.text(side.places.files.get(full, ""))
            now = doc.text if full == doc.path else self._ground.text(here.places.files[full])
            if anchor.lower() not in map(str.lower, headings.anchors(then)):
                return None
            return Then(base, full, anchor=anchor, anchored=headings.renamed(then, now, anchor))
        if one.kind == "command":
            if one.parts in side.commands:
                return Then(base, runs=commands.renamed(one.parts, side.commands, here.commands))
            if one.parts[:1] not in side.commands or len(one.parts) < 2:
                return None
            if one.parts[:1] not in here.commands:
                if one.parts[1] in side.verbs:  # the word went with its program
                    return Then(base)
                return Then(base, runs=commands.renamed(one.parts[:1], side.commands, here.commands))
            return Then(base, words=(one.parts[1],)) if one.parts[1] in side.verbs else None
        if one.kind == "flag" and one.target and (one.target,) not in side.commands:
            return None
        if one.kind == "symbol" and DOTTED.fullmatch(one.name):
            file, rest = module_of(side.places, one)
            if file and file not in here.places.files:
                return Then(base, file, rest=rest)
        lacking = tuple(part for part in one.parts if part not in here.words)
        return Then(base, words=lacking) if lacking and set(lacking) <= side.words else None

    def _lies_there(self, paths: Sequence[str]) -> bool:
        """Whether something that is not tracked lies in the place of a file: made anew by a build."""
        top = self._ground.worktree
        return top is not None and self._is_present and any(os.path.lexists(top / path) for path in paths)


def _foreign(here: _Side, doc: Doc, one: Statement) -> bool:
    """Whether what the code lacks may well be no part of it: another program, or a place outside of it."""
    if one.kind == "link":
        return not linked(one, doc.path)[0]
    if one.kind == "symbol":  # a dotted name may be any object's; that it is no module says nothing
        return set(one.parts) <= here.words
    program = one.parts[0] if one.kind == "command" else one.target if one.kind == "flag" else ""
    return bool(program) and all(known[0] != program for known in here.commands)
