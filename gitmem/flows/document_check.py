"""What living documents say that no longer holds: each name held against the code and its history.

Told is what the code had when the document said so, and lacks now. All documents are asked about together:
git is asked some ten times, however many they are. It works in any clone or checkout of CI, with nothing of
gitmem set up.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from gitmem.core.errors import RepositoryError, UsageError
from gitmem.core.references import day, plain_path
from gitmem.core.text import counted
from gitmem.engines.engine import Stale
from gitmem.flows import document_text as texts
from gitmem.flows.context import Edges
from gitmem.flows.document_text import Doc, History, Statement, linked, parse
from gitmem.git.command import GitCommand, layout
from gitmem.search.code_files import CodeFiles, Places, is_aside, is_prose, module_name
from gitmem.search.code_history import (
    PathFate,
    WordFate,
    defines,
    fates,
    folder_moved,
    renames,
    word_fates,
)

MOST_BASES = 40
"""Former commits that are looked at, at most: each time a document was written anew is one."""

_DOTTED = re.compile(r"[a-z_]\w*(?:\.[a-z_]\w*)+")

OutcomeKind = Literal["there", "moved", "gone", "never", "unknown"]
_Asked = tuple[Doc, Statement]

_Doubt = Literal["lacking", "end", "left"]
"""The code lacks it; has a path that ends so; has a symbol, but not in the file that the document names for
it."""


@dataclass(frozen=True)
class Checked:
    """A document held against the code of a commit.

    Attributes:
        doc: it.
        stale: what no longer holds, in the order of lines.
        since: the newest commit that changed the document; empty where the history does not say.
        untold: what is not in the code, and as far as is known never was: no false statement, but maybe a
            slip of the pen.
        note: what could not be found out and why, one line for a person; empty where all was.
    """

    doc: Doc
    stale: tuple[Stale, ...] = ()
    since: str = ""
    untold: tuple[Stale, ...] = ()
    note: str = ""


def documents(files: CodeFiles, rev: str = "HEAD") -> tuple[Doc, ...]:
    """Finds the living documents of a commit, sorted by path.

    Raises:
        RepositoryError: there is no such revision, or none was found and not all files are at hand.
    """
    name = files.commit(rev)
    if not name:
        return ()
    listed = files.places(name).files
    marked = files.having(name, texts.MARK, texts.SUFFIXES)
    paths = [path for path in marked if path in listed and texts.may_be(path)]
    if not paths and not files.complete:
        raise RepositoryError(
            "The files that may be living documents are not all at hand",
            "This clone fetches files as they are needed: git checkout HEAD fetches them.",
        )
    found = [parse(path, files.blob(listed[path])) for path in paths]
    return tuple(doc for doc in found if doc is not None)


def check(files: CodeFiles, rev: str, docs: Sequence[Doc], *, staged: bool = False) -> tuple[Checked, ...]:
    """Holds documents against the code of a commit, all together: some ten git processes, however many.

    Args:
        docs: as `documents` found them; a text may be another than the committed one (a proposal): what it
            says anew is not held against former code.
        staged: whether the revision is what is staged, and no commit of anybody's.

    Returns:
        One for each of `docs`, in its order.

    Raises:
        RepositoryError: there is no such revision.
    """
    if not docs:
        return ()
    code = _Code(files, files.commit(rev), staged=staged)
    asked = [(doc, statement) for doc in docs for statement in doc.statements]
    outcomes = iter(zip(asked, code.look(asked), strict=True))
    return tuple(
        _checked(doc, [next(outcomes) for _ in doc.statements], code.since.get(doc.path, ""), files)
        for doc in docs
    )


def _checked(
    doc: Doc, rows: Sequence[tuple[tuple[Doc, Statement], _Outcome]], since: str, files: CodeFiles
) -> Checked:
    """What came of one document. What a line names twice is told once."""
    stale = [_stale(one, how) for (_, one), how in rows if how.kind in ("moved", "gone")]
    untold = [_stale(one, how) for (_, one), how in rows if how.kind in ("never", "unknown")]
    unknown = {(one.line, one.name) for (_, one), how in rows if how.kind == "unknown"}
    notes = []
    if unknown:
        why = "not all of the history is at hand"
        if files.shallow:
            why = "history is cut off here (git fetch --unshallow, or fetch-depth: 0 in CI)"
        notes.append(f"{counted(len(unknown), 'name')} in {doc.path} cannot be judged: {why}")
    if len(doc.statements) >= texts.MOST:
        notes.append(f"of {doc.path} only {texts.MOST:,} names are looked at")
    return Checked(doc, tuple(dict.fromkeys(stale)), since, tuple(dict.fromkeys(untold)), "; ".join(notes))


def _stale(one: Statement, how: _Outcome) -> Stale:
    return Stale(one.line, one.name, one.kind, how.became, _evidence(one, how))


def _evidence(statement: Statement, outcome: _Outcome) -> str:
    name = f"`{statement.name}`"
    when = f"{outcome.commit[:9]}, {day(outcome.time)}" if outcome.commit else ""
    if outcome.kind in ("never", "unknown"):
        return f"{name} is not in the code"
    if outcome.out_of:
        now = f", but in `{plain_path(outcome.now)}`" if outcome.now else ""
        return f"{name} is no longer in `{plain_path(outcome.out_of)}`{now}"
    if outcome.kind == "moved":
        apart, colon = (" ", ":") if statement.kind == "command" else ("#", "\n")
        words = (colon.join(map(plain_path, word.split(colon))) for word in outcome.now.split(apart))
        return f"{name} became `{apart.join(words)}`{f' in {when}' if when else ''}"
    if outcome.now:
        return f"{name} became `{plain_path(outcome.now)}`, gone{f' since {when}' if when else ''}"
    return f"{name} is gone since {when}" if when else f"{name} is no longer in the code"


def code_files(edges: Edges) -> CodeFiles:
    """Opens the code of the repository around the current folder, in any clone; to be closed.

    Raises:
        RepositoryError: there is none.
    """
    git = GitCommand(edges.environ)
    where = layout(git, edges.cwd)
    return CodeFiles(git, where.worktree or where.git_dir)


def checked_here(edges: Edges, rev: str, paths: Sequence[Path], *, staged: bool) -> tuple[Checked, ...]:
    """Holds the living documents of a commit, or those that are staged, against the code there.

    Args:
        paths: only these, from the current folder, or all in a folder; empty for all.

    Raises:
        RepositoryError: there is no repository, or no such revision.
        UsageError: a path is no living document and has none.
    """
    with closing(code_files(edges)) as files:
        # As a hook of git's it is asked about an index that git names.
        index = edges.environ.get("GIT_INDEX_FILE", "")
        which = files.staged(str(Path(edges.cwd, index)) if index else None) if staged else rev
        docs = documents(files, which)
        chosen: set[str] = set()
        for path in paths:
            full = edges.from_top(files.worktree, path)
            meant = {doc.path for doc in docs if full in (".", doc.path) or doc.path.startswith(f"{full}/")}
            if not meant:
                raise UsageError(
                    f"{path} is no living document", "Its first line has to be: # MAGIC DOC: <title>"
                )
            chosen |= meant
        asked = [doc for doc in docs if not paths or doc.path in chosen]
        return check(files, which, asked, staged=staged)


@dataclass(frozen=True)
class _Outcome:
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


@dataclass(frozen=True)
class _Then:
    """What a former commit, the base, had, and whose fate the history has to say.

    Attributes:
        path: the file or folder that was meant; empty for words.
        rest: of a dotted name what stands behind the module.
        words: identifiers or flags, or the word of a program, that are gone.
    """

    base: str
    path: str = ""
    rest: str = ""
    words: tuple[str, ...] = ()


@dataclass()
class _Side:
    """What one state of the code has of what is asked.

    Attributes:
        rev: which.
        words: identifiers and flags that it has.
        verbs: words that it gives to programs.
        commands: what it defines, to what that runs.
    """

    rev: str
    places: Places
    words: set[str] = field(default_factory=set)
    verbs: set[str] = field(default_factory=set)
    commands: dict[tuple[str, ...], str] = field(default_factory=dict)


class _Code:
    """What the code of one commit is, and its history."""

    def __init__(self, files: CodeFiles, commit: str, *, staged: bool) -> None:
        self._files = files
        self.commit = commit
        self.since: dict[str, str] = {}
        self._now = _Side(commit, files.places(commit))
        self._direct: dict[str, dict[str, str]] = {}
        self._staged = staged
        # Of another time than the work tree's nothing lies there.
        self._is_present = staged or commit == files.commit("HEAD")

    def look(self, asked: Sequence[_Asked]) -> Sequence[_Outcome]:
        """One outcome for each statement."""
        self._now = self._side(self.commit, [one for _, one in asked], former=False)
        doubts = {n: doubt for n, one in enumerate(asked) if (doubt := self._doubt(*one))}
        # What may lie in code that is not at hand, as in a partial clone, is not known to be gone.
        whole = self._files.complete
        paths = {doc.path for doc, _ in asked}
        history = History(self._files, self.commit, paths)
        self.since = {path: rows[0].commit for path, rows in history.versions.items() if rows}
        bases: dict[str, list[tuple[int, str]]] = {}
        for n, doubt in doubts.items():
            doc, one = asked[n]
            if doubt == "lacking" and one.parts and not whole:
                continue
            for version in history.since(doc.path, one.key):
                if version.commit != self.commit:
                    bases.setdefault(version.commit, []).append((n, version.path))
        then: dict[int, _Then] = {}
        outcomes: dict[int, _Outcome] = {}
        for base in list(bases)[:MOST_BASES]:
            wanted = [(n, path) for n, path in bases[base] if n not in then and n not in outcomes]
            side = self._side(base, [asked[n][1] for n, _ in wanted], former=True)
            for n, path in wanted:
                found = self._then(side, doubts[n], *asked[n], path)
                if isinstance(found, _Outcome):
                    outcomes[n] = found
                elif found:
                    then[n] = found
        outcomes |= self._became({n: (*asked[n], old) for n, old in then.items()})
        known = not self._files.shallow and self._files.complete and len(bases) <= MOST_BASES
        for n, doubt in doubts.items():
            if doubt == "lacking" and not self._foreign(*asked[n]):
                outcomes.setdefault(n, _Outcome("never" if known else "unknown"))
        if self._staged:  # what took it away has no name yet
            own = {n: one for n, one in outcomes.items() if one.commit == self.commit}
            outcomes |= {n: replace(one, commit="", time=0) for n, one in own.items()}
        return [outcomes.get(n) or _Outcome("there") for n in range(len(asked))]

    def _doubt(self, doc: Doc, one: Statement) -> _Doubt | None:
        """Why what a statement names may not be there any more; None where it surely is."""
        if not self._holds(doc, one):
            return "lacking"
        if one.kind in ("file", "folder") and "/" in one.target:
            ends = self._now.places.anywhere(one.target)
            return "end" if ends and not self._now.places.exact(one.target, _folder(doc.path)) else None
        file = self._file_of(doc, one)
        text = self._files.text(self._now.places.files[file]) if file else ""
        return None if _mentions(text, one.parts[-1] if one.parts else "") else "left"

    def _then(
        self, side: _Side, doubt: _Doubt, doc: Doc, one: Statement, path: str
    ) -> _Then | _Outcome | None:
        """What a former commit had of what is in doubt, or what became of it; None where it had it not.

        Args:
            path: where the document stood.
        """
        if doubt == "lacking":
            return self._had(side, one, path)
        if doubt == "end":
            full = side.places.exact(one.target, _folder(path))
            gone = full in side.places.files and not self._now.places.has(full)
            return _Then(side.rev, full) if gone else None
        file, name = self._file_of(doc, one), one.parts[-1]
        text = self._files.text(side.places.files[file]) if file in side.places.files else ""
        if not any(defines(line, name) for line in text.split("\n") if name in line):
            return None
        having = [path for path in self._files.defining(self.commit, name) if not is_aside(path)]
        now = having[0] if len(having) == 1 else ""
        return _Outcome("moved" if now else "gone", now, out_of=file)

    def _side(self, rev: str, wanted: Sequence[Statement], *, former: bool) -> _Side:
        """What a state of the code has; of a former one what the present lacks."""
        places = self._files.places(rev)
        side = _Side(rev, places)
        words = {part for one in wanted if one.kind in ("symbol", "flag") for part in one.parts}
        verbs = {one.parts[1] for one in wanted if one.kind == "command" and len(one.parts) > 1}
        if former:
            words -= self._now.words
            verbs -= self._now.verbs
        said = any(one.kind == "command" for one in wanted)
        if said or any(one.kind == "flag" for one in wanted):
            side.commands = texts.commands(
                {
                    path: self._files.text(oid)
                    for path, oid in places.files.items()
                    if path.rpartition("/")[2] in texts.DEFINING and not is_aside(path)
                }
            )
            # Of a program that is gone they are asked as well: it may have another name.
            verbs = verbs if any(len(words) == 1 for words in side.commands) else set()
        # A name that the code only used (of the system, of a library) is nothing that it has or has not.
        side.words = self._files.defined(rev, words) if former else set(self._files.words(rev, words)[0])
        side.verbs = self._files.given(rev, verbs)
        return side

    def _holds(self, doc: Doc, one: Statement) -> bool:
        """Whether the code has what a statement names."""
        folder = _folder(doc.path)
        if one.kind in ("file", "folder"):
            return bool(self._now.places.meant(one.target, folder)) or self._now.places.anywhere(one.target)
        if one.kind == "link":
            path = linked(one, doc.path)
            return bool(path) and self._now.places.has(path)
        if one.kind == "command":
            return one.parts in self._now.commands or (
                one.parts[:1] in self._now.commands and one.parts[1] in self._now.verbs
            )
        if one.kind == "symbol" and _DOTTED.fullmatch(one.name):
            file, rest = _module_of(self._now.places, one)
            if not file or not rest:
                return bool(file)
        return set(one.parts) <= self._now.words

    def _had(self, side: _Side, one: Statement, path: str) -> _Then | _Outcome | None:
        """The same of what the present lacks."""
        if one.kind in ("file", "folder"):
            found = side.places.meant(one.target, _folder(path))
            plain = found and not any(side.places.is_closed(full) for full in found)
            return _Then(side.rev, found[0]) if plain and not self._lies_there(found) else None
        if one.kind == "link":
            full = linked(one, path)
            if not full or not side.places.has(full):
                return None
            # It is there now where the document moved and its target did not.
            made = not self._now.places.has(full) and self._lies_there([full])
            return None if made else _Then(side.rev, full)
        if one.kind == "command":
            return self._command(side, one)
        if one.kind == "flag" and one.target and (one.target,) not in side.commands:
            return None
        if one.kind == "symbol" and _DOTTED.fullmatch(one.name):
            file, rest = _module_of(side.places, one)
            if file and file not in self._now.places.files:
                return _Then(side.rev, file, rest=rest)
        lacking = tuple(part for part in one.parts if part not in self._now.words)
        return _Then(side.rev, words=lacking) if lacking and set(lacking) <= side.words else None

    def _command(self, side: _Side, one: Statement) -> _Then | _Outcome | None:
        words = one.parts
        if words not in side.commands:
            words = words[:1]
            if words not in side.commands or len(one.parts) < 2:
                return None
            known = one.parts[1] in side.verbs
            if words in self._now.commands:
                return _Then(side.rev, words=one.parts[1:2]) if known else None
            if known:  # the word went with its program
                return _Outcome("gone")
        runs = _command_renamed(words, side.commands, self._now.commands)
        written = texts.command_written(one, runs)
        return _Outcome("moved", written, written) if written else _Outcome("gone")

    def _file_of(self, doc: Doc, one: Statement) -> str:
        """The one file of code that a document says a symbol is in; empty where it names none, or more.

        It says so by a dotted name, or by a line that names one file.
        """
        places = self._now.places
        if one.kind != "symbol":
            return ""
        if _DOTTED.fullmatch(one.name):
            file, rest = _module_of(places, one)
            return file if rest else ""
        targets = {
            other.target for other in doc.statements if (other.line, other.kind) == (one.line, "file")
        }
        meant = places.meant(targets.pop(), _folder(doc.path)) if len(targets) == 1 else ()
        return meant[0] if len(meant) == 1 and meant[0] in places.files and not is_prose(meant[0]) else ""

    def _foreign(self, doc: Doc, one: Statement) -> bool:
        """Whether what the code lacks may well be no part of it: of another program, or outside of it."""
        if one.kind == "link":
            return not linked(one, doc.path)
        if one.kind == "symbol":  # a dotted name may be any object's; that it is no module says nothing
            return set(one.parts) <= self._now.words
        program = one.parts[0] if one.kind == "command" else one.target if one.kind == "flag" else ""
        return bool(program) and all(known[0] != program for known in self._now.commands)

    def _lies_there(self, paths: Sequence[str]) -> bool:
        """Whether something that is not tracked lies in the place of a file: made anew by a build."""
        top = self._files.worktree
        return top is not None and self._is_present and any(os.path.lexists(top / path) for path in paths)

    def _became(self, asked: Mapping[int, tuple[Doc, Statement, _Then]]) -> dict[int, _Outcome]:
        """What became of each."""
        if not asked:
            return {}
        paths = {
            then.path for _, _, then in asked.values() if then.path and not self._now.places.has(then.path)
        }
        moved = self._paths(paths, {then.path: then.base for _, _, then in asked.values()})
        words: dict[tuple[str, bool], set[str]] = {}
        for _, one, then in asked.values():
            words.setdefault((then.base, one.kind == "command"), set()).update(then.words)
        renamed = {
            (base, given): word_fates(self._files, base, self.commit, some, given=given)
            for (base, given), some in words.items()
            if some
        }
        return {
            n: self._outcome(doc, one, then, moved, renamed.get((then.base, one.kind == "command"), {}))
            for n, (doc, one, then) in asked.items()
        }

    def _outcome(
        self,
        doc: Doc,
        one: Statement,
        then: _Then,
        moved: Mapping[str, PathFate],
        words: Mapping[str, WordFate],
    ) -> _Outcome:
        if then.words:
            return self._word_outcome(one, then, words)
        fate = PathFate("", 0, then.path, True) if self._now.places.has(then.path) else moved[then.path]
        if not fate.exists:
            return _Outcome("gone", fate.now, "", fate.commit, fate.time)
        if one.kind == "symbol":
            return self._module(one, then, fate)
        became = texts.as_written(one, then.path, fate.now, doc.path)
        target = "" if one.kind == "link" else became.rstrip("/")
        if target and self._now.places.meant(target, doc.path.rpartition("/")[0]) != (fate.now,):
            became = fate.now if one.kind != "link" and re.fullmatch(r"[\w./@+-]+", fate.now) else ""
        return _Outcome("moved", fate.now, became if became != one.name else "", fate.commit, fate.time)

    def _word_outcome(self, one: Statement, then: _Then, words: Mapping[str, WordFate]) -> _Outcome:
        known = [words[word] for word in then.words if word in words]
        if not known:
            return _Outcome("gone")
        newest = max(known, key=lambda fate: fate.time)
        if len(known) < len(then.words) or not all(fate.now for fate in known):
            return _Outcome("gone", "", "", newest.commit, newest.time)
        written = one.name
        for word in then.words:
            pattern = rf"(?<![\w-]){re.escape(word)}(?![\w-])"
            written = re.sub(pattern, lambda _, word=word: words[word].now, written)  # type: ignore[misc]
        return _Outcome(
            "moved", written, written if written != one.name else "", newest.commit, newest.time
        )

    def _module(self, one: Statement, then: _Then, fate: PathFate) -> _Outcome:
        """Of a dotted name whose module moved."""
        old, new = module_name(then.path), module_name(fate.now)
        module = one.name.removesuffix(f".{then.rest}") if then.rest else one.name
        before = old.removesuffix(module.replace(".", "/"))
        became = new.removeprefix(before).replace("/", ".") if new.startswith(before) else ""
        if then.rest:
            text = self._files.text(self._now.places.files.get(fate.now, ""))
            became = f"{became}.{then.rest}" if became and text and _mentions(text, then.rest) else ""
        return _Outcome("moved", became or fate.now, became, fate.commit, fate.time)

    def _paths(self, paths: set[str], bases: Mapping[str, str]) -> dict[str, PathFate]:
        """What became of files and folders."""
        found: dict[str, PathFate] = {}
        past, _ = fates(self._files, self.commit, paths) if paths else ({}, True)
        for path in paths:
            fate = past.get(path, PathFate("", 0))
            if not fate.now and (now := self._directly(bases[path], path)):
                fate = PathFate(fate.commit, fate.time, now, True)
            found[path] = fate
        return found

    def _directly(self, base: str, path: str) -> str:
        """What a file is called now, where git sees one rename from a former commit to the present."""
        if not base:
            return ""
        if base not in self._direct:
            self._direct[base] = renames(self._files, base, self.commit)
        moved = self._direct[base]
        return moved.get(path) or folder_moved(path, moved)


def _module_of(places: Places, one: Statement) -> tuple[str, str]:
    """The file that a dotted name or its beginning means, and the rest of the name."""
    name, _, last = one.name.rpartition(".")
    if file := places.module(one.name):
        return file, ""
    if "." in name and (file := places.module(name)):
        return file, last
    return "", ""


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _mentions(text: str, word: str) -> bool:
    """Whether a file mentions a symbol; what is not at hand may."""
    return not text.strip() or bool(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text))


def _command_renamed(
    words: tuple[str, ...], before: Mapping[tuple[str, ...], str], now: Mapping[tuple[str, ...], str]
) -> tuple[str, ...]:
    """The only new command of that kind that runs what an old one ran; empty where there is none."""
    alike = [
        other
        for other, runs in now.items()
        if other not in before
        and len(other) == len(words)
        and other[:-1] == words[:-1]
        and runs == before[words]
    ]
    return alike[0] if len(alike) == 1 and before[words].strip() else ()
