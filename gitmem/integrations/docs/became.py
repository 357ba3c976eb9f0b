"""What became of what the code no longer has, through git's history, written as it would be written."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gitmem.docs import hunks
from gitmem.docs.check import Outcome
from gitmem.docs.document import Doc
from gitmem.docs.hunks import Hunk, WordFate
from gitmem.docs.places import Places, as_written, module_name
from gitmem.docs.statements import Statement
from gitmem.integrations.code_past import RENAME_LIMIT, Fate, fates, folder_moved
from gitmem.integrations.docs.git_reader import STAGED, Ground, pairs
from gitmem.values import dataclass

MOST_WORDS = 300
"""Words whose fate is sought in patches."""

PATCH_BYTES = 64 << 20
"""Of a patch that is read."""

MOST_RENAMES = 6
"""Renames in a row of one symbol."""

_PROSE = tuple(f":(exclude,icase,top)*.{suffix}" for suffix in ("md", "markdown", "rst", "txt", "adoc"))
_LOG = (
    *("-c", "log.showSignature=false", "-c", "log.follow=false", "-c", "diff.noprefix=false"),
    *("log", "-p", "-U0", "-M", f"-l{RENAME_LIMIT}", "--no-color", "--no-ext-diff", "--no-textconv"),
    f"--format={hunks.MARK}%H %ct",
)


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
    """

    base: str
    path: str = ""
    rest: str = ""
    anchor: str = ""
    anchored: str = ""
    words: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()


class Became:
    """Follows what is gone up to one revision.

    Args:
        rev: a commit, or `STAGED`.
        commit: whose history counts.
        here: the files of `rev`.
    """

    def __init__(
        self,
        ground: Ground,
        rev: str,
        commit: str,
        here: Places,
        defined: Mapping[tuple[str, ...], str],
    ) -> None:
        self._ground = ground
        self._rev = rev
        self._commit = commit
        self._here = here
        self._defined = defined
        self._staged: dict[str, str] = {}
        self._staged_hunks: list[Hunk] = []
        self._direct: dict[str, dict[str, str]] = {}

    def of(self, asked: Mapping[int, tuple[Doc, Statement, Then]]) -> dict[int, Outcome]:
        """What became of each."""
        if not asked:
            return {}
        if self._rev == STAGED:
            self._staged, patch = self._ground.staged_changes()
            self._staged_hunks = list(hunks.hunks(patch))
        paths = {then.path for _, _, then in asked.values() if then.path and not self._here.has(then.path)}
        moved = self._paths(paths, {then.path: then.base for _, _, then in asked.values()})
        words: dict[tuple[str, bool], set[str]] = {}
        for _, one, then in asked.values():
            words.setdefault((then.base, one.kind == "command"), set()).update(then.words)
        renamed = {key: self._words(*key, some) for key, some in words.items() if some}
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
            text = self._ground.text(self._here.files.get(fate.now, ""))
            there = re.search(rf"(?<!\w){re.escape(then.rest)}(?!\w)", text)
            became = f"{became}.{then.rest}" if became and there else ""
        return Outcome("moved", became or fate.now, became, fate.commit, fate.time)

    def _paths(self, paths: set[str], bases: Mapping[str, str]) -> dict[str, Fate]:
        """What became of files and folders."""
        found: dict[str, Fate] = {}
        committed = paths
        if self._rev == STAGED:
            head = self._ground.places(self._commit)
            for path in paths:
                if head.has(path):
                    found[path] = self._staged_fate(path, Fate("", 0))
            committed = paths - found.keys()
        past, _ = fates(self._ground.look, self._commit, committed) if committed else ({}, True)
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
            words = ["diff-tree", "-r", "-z", "-M70%", f"-l{RENAME_LIMIT * 5}", "--no-ext-diff"]
            options = ["--no-rename-empty", "--diff-filter=R", "--name-status", base, self._commit]
            self._direct[base] = pairs(self._ground.look.ask([*words, *options], 16 << 20).text)
        moved = self._direct[base]
        return moved.get(path) or folder_moved(path, moved)

    def _words(self, base: str, given: bool, words: set[str]) -> dict[str, WordFate]:
        """What became of words, from a former commit on, through renames in a row."""
        found = hunks.word_fates([*self._staged_hunks, *self._patch(base, words)], words, given=given)
        for _ in range(MOST_RENAMES):
            new = {fate.now for fate in found.values() if fate.now}
            if not new:
                break
            there = self._ground.words(self._here.files, new)[0]
            lost = new - there
            if not lost:
                break
            later = hunks.word_fates([*self._staged_hunks, *self._patch(base, lost)], lost, given=given)
            found = {
                word: WordFate(next_.commit, next_.time, next_.now)
                if fate.now in lost and (next_ := later.get(fate.now))
                else WordFate(fate.commit, fate.time, "" if fate.now in lost else fate.now)
                for word, fate in found.items()
            }
        return found

    def _patch(self, base: str, words: set[str]) -> list[Hunk]:
        """What changed lines with some words; they are of letters, digits, `_` and `-` alone."""
        pattern = "|".join(sorted(words)[:MOST_WORDS])
        said = [*_LOG, f"-G({pattern})", f"{base}..{self._commit}", "--", ":/", *_PROSE]
        seen = self._ground.look.ask(said, PATCH_BYTES)
        return list(hunks.hunks(seen.stdout.decode("utf-8", "replace")))


def _command(one: Statement, runs: tuple[str, ...]) -> str:
    """A command as it was written, with the words of another."""
    if not runs:
        return ""
    if len(runs) == 1:
        old, new = (re.sub("^git-", "git ", program) for program in (one.parts[0], runs[0]))
        return f"{new}{one.name.removeprefix(old)}" if one.name.startswith(old) else ""
    return f"{one.name[: -len(one.parts[1])]}{runs[1]}"
