"""What the code has of what memories name: asked of git once for each HEAD, and remembered beside it.

A prompt waits for this, so it has a fraction of a second in all, and what finds no answer in it is not
said. Answers are kept by the commit they hold for; a word that was found is remembered with the file that
has it, so that for another HEAD one look at that file's name does. All of it can be deleted at no loss.

A word that HEAD lacks is told of only where the code had it when the memory was taught or within a day
after: that is a look or two more, while a search of history for the commit that took it away takes seconds.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

from gitmem.core.errors import GitmemError
from gitmem.core.references import Finding, Kind, Named
from gitmem.integrations.code_known import Known, Shelf
from gitmem.integrations.code_looks import Looker, upwards
from gitmem.integrations.code_past import fates
from gitmem.search.recall import PATIENT_SECONDS
from gitmem.store.git import GitCommand
from gitmem.store.workspace import Workspace

TRIES = 3
"""Looks at one HEAD that run out of time, before what they did not learn is left alone."""

DAY = 86_400
"""Seconds from a memory to the code that it speaks of, at most."""

FOLDER = "code"
MOST_THEN = 3
"""Former commits in which missing words are sought, at most, for one answer."""

_TOLD: dict[str, Kind] = {kind: kind for kind in get_args(Kind)}


class CodeNow:
    """Answers for one work tree's HEAD (`truth.Code`).

    Args:
        top: folder in which git is run.
        common: git directory of all work trees, where a shallow clone notes where it was cut.
        state: folder for what can be deleted.
        seconds: for one answer.
    """

    def __init__(self, git: GitCommand, top: Path, common: Path, state: Path, seconds: float) -> None:
        self._git = git
        self._top = top
        self._common = common
        self._shelf = Shelf(state / FOLDER)
        self._seconds = seconds

    def look(self, asked: Sequence[Named]) -> Sequence[Sequence[Finding]]:
        """Findings for each of `asked`; none where there is no HEAD, or trouble."""
        nothing: list[tuple[Finding, ...]] = [() for _ in asked]
        if not any(one.paths or one.words for one in asked):
            return nothing
        with suppress(GitmemError, OSError, ValueError):
            look = Looker(self._git, self._top, self._seconds)
            head = look.head()
            if head:
                known = self._shelf.read(head) or Known()
                if self._learn(look, head, known, asked):
                    self._shelf.write(head, known)
                return [tuple(self._findings(one, known)) for one in asked]
        return nothing

    def _learn(self, look: Looker, head: str, known: Known, asked: Sequence[Named]) -> bool:
        """Finds out what is not known yet; whether anything was."""
        again = known.tries < TRIES or self._seconds >= PATIENT_SECONDS
        paths = {path for one in asked for path in one.paths if _open(known.paths, path, again)}
        words = {
            part
            for one in asked
            for _, parts in one.words
            for part in parts
            if _open(known.words, part, again)
        }
        unknown = bool(paths or words)
        if unknown:
            before = self._shelf.newest() if not known.paths and not known.words else Known()
            known.then = before.then or known.then
            spots = {word: spot for word in words if (spot := before.words.get(word)) and spot[0]}
            self._learn_paths(look, head, known, paths, spots)
            self._learn_words(look, head, known, words - {word for word in words if known.words.get(word)})
        former = again and self._learn_former(look, head, known, asked)
        if None in (*map(known.paths.get, paths), *map(known.words.get, words)) or look.left <= 0:
            known.tries += 1
        return unknown or former

    def _learn_paths(
        self, look: Looker, head: str, known: Known, paths: set[str], spots: dict[str, tuple[str, str]]
    ) -> None:
        """Looks the paths up, and whether files that had a word are what they were."""
        forms = {path: _forms(path) for path in paths}
        files = {file for file, _ in spots.values()}
        entries = look.entries(head, files.union(*forms.values()))
        if entries is None:
            known.paths |= dict.fromkeys(paths)
            return
        for word, (file, blob) in spots.items():
            if file in entries and entries[file].oid == blob:
                known.words[word] = file, blob
        lacking = set()
        for path in paths:
            above = [entries[part] for part in upwards(path) if part in entries]
            if any(form in entries for form in forms[path]):
                known.paths[path] = "there", "", "", 0
            elif any(entry.kind in ("commit", "link") for entry in above):
                known.paths[path] = "unknown", "", "", 0  # in a submodule, or behind a link
            else:
                lacking.add(path)
        bare = {path for path in lacking if "/" not in path}
        if bare:
            anywhere = look.base_names(head, bare)
            for path in bare if anywhere is None else anywhere:
                known.paths[path] = ("unknown" if anywhere is None else "there", "", "", 0)
                lacking.discard(path)
        if lacking:
            self._learn_fates(look, head, known, lacking)

    def _learn_fates(self, look: Looker, head: str, known: Known, lacking: set[str]) -> None:
        found, complete = fates(look, head, lacking)
        for path in lacking:
            if fate := found.get(path):
                kind = "moved" if fate.exists else "gone"
                known.paths[path] = kind, fate.now, fate.commit, fate.time
            elif not complete:
                known.paths[path] = None
            else:
                known.paths[path] = ("missing" if self._cut_short() else "never"), "", "", 0

    def _learn_words(self, look: Looker, head: str, known: Known, words: set[str]) -> None:
        if not words:
            return
        found, complete = look.words(head, words)
        entries = look.entries(head, set(found.values())) or {}
        for word in words:
            file = found.get(word, "")
            if file in entries:
                known.words[word] = file, entries[file].oid
            elif word in found:
                known.words[word] = "?", ""
            else:
                known.words[word] = ("", "") if complete else None

    def _learn_former(self, look: Looker, head: str, known: Known, asked: Sequence[Named]) -> bool:
        """Seeks words that HEAD lacks in the code of the time when the memory was taught."""
        wanted: dict[str, set[str]] = {}
        learned = False
        for one in asked:
            gone = {part for _, parts in one.words for part in parts if known.words.get(part) == ("", "")}
            for moment in _moments(one) if gone else ():
                if str(moment) not in known.moments and look.left > 0:
                    known.moments[str(moment)] = look.commit_at(head, moment)
                    learned = True
                commit = known.moments.get(str(moment), "")
                if commit and commit != head:
                    wanted.setdefault(commit, set()).update(gone - known.then.get(commit, {}).keys())
        for commit, words in list(wanted.items())[:MOST_THEN]:
            if not words or look.left <= 0:
                continue
            found, complete = look.words(commit, words)
            answers = dict.fromkeys(found, True) | (
                dict.fromkeys(words - found.keys(), False) if complete else {}
            )
            known.then.setdefault(commit, {}).update(answers)
            learned = True
        return learned

    def _findings(self, one: Named, known: Known) -> Iterable[Finding]:
        for path in one.paths:
            fact = known.paths.get(path)
            if fact is None:
                continue
            kind, now, commit, time = fact
            if kind not in _TOLD or (kind == "missing" and path not in one.sure):
                continue
            # What is no longer tracked, or not yet again, lies there all the same.
            if kind in ("gone", "missing") and os.path.lexists(self._top / path):
                continue
            yield Finding(path, _TOLD[kind], now, commit, time)
        then = [known.then.get(known.moments.get(str(moment), ""), {}) for moment in _moments(one)]
        for written, parts in one.words:
            spots = [known.words.get(part) for part in parts]
            lacking = [part for part, spot in zip(parts, spots, strict=True) if spot and not spot[0]]
            if all(spot and spot[0] for spot in spots):
                yield Finding(written, "there")
            elif None not in spots and any(all(map(had.get, lacking)) for had in then):
                yield Finding(written, "gone")

    def _cut_short(self) -> bool:
        try:
            return (self._common / "shallow").stat().st_size > 0
        except OSError:
            return False


def code_now(workspace: Workspace, seconds: float) -> CodeNow:
    """Who knows the code of a workspace."""
    return CodeNow(workspace.git, workspace.top, workspace.layout.common_dir, workspace.state, seconds)


def _moments(one: Named) -> tuple[int, ...]:
    """Times of which the code is what a memory speaks of: it is often written before the commit."""
    return (one.taught + DAY, one.taught) if one.taught else ()


def _open(known: dict[str, Any], name: str, again: bool) -> bool:
    return name not in known or (again and known[name] is None)


def _forms(path: str) -> set[str]:
    """A path as git may hold it: some file systems take letters with accents apart."""
    if path.isascii():
        return {path}
    return {path, *(unicodedata.normalize(form, path) for form in ("NFC", "NFD"))}
