"""What the code has of what memories name: asked of git once for each HEAD, and remembered beside it.

A prompt waits for this, so it has a fraction of a second in all, and what finds no answer in it is not
said. Answers are kept by the commit they hold for; a word that was found is remembered with the file that
has it, so that for another HEAD one look at that file's name does. All of it can be deleted at no loss.

A word that HEAD lacks is told of only where the code had it when the memory was taught or within a day
after: that is a look or two more, while a search of history for the commit that took it away takes seconds.
"""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from gitmem.core.errors import GitmemError
from gitmem.core.limits import PATIENT_SECONDS
from gitmem.core.references import FindingKind, Named, NameFate
from gitmem.git.command import GitCommand
from gitmem.ledger.files import is_own_folder, keep_newest, read_json, write_atomically
from gitmem.search.code_reader import CodeReader, upwards

TRIES = 3
"""Looks at one HEAD that run out of time, before what they did not learn is left alone."""

DAY = 86_400
"""Seconds from a memory to the code that it speaks of, at most."""

FOLDER = "code"

MOST_THEN = 3
"""Former commits in which missing words are sought, at most, for an answer that a prompt waits for."""

SAMPLES = 6
"""Former commits that are asked about all missing words, where more are to be asked: then only words that
one of these had are sought in the others. One that the code had only between two of them is not told of."""

VERSION = 3
HEADS_KEPT = 8
"""Work trees have a HEAD each."""

MOMENTS_KEPT = 200
NAMES_KEPT = 4_000
"""Names above which the answers for a HEAD are begun anew."""

BYTES = 8 << 20
"""Of a file that is read: 4,000 names and what eight former commits had of them are a tenth of it."""

_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_WORD = re.compile(r"(?:-{2})?[\w-]{0,200}")
_TOLD: dict[str, FindingKind] = {kind: kind for kind in get_args(FindingKind)}

Fact = tuple[str, str, str, int]
"""(kind, now, commit, time) as in `NameFate`; `never` and `unknown` are kinds of which nothing is said."""

Turn = tuple[str, str, int]
"""What a word is called now, and the commit that took it away with its time; empty where nobody knows."""

Spot = tuple[str, str]
"""A file that has a word, and its blob; both empty where the word is nowhere."""


@dataclass
class HeadNames:
    """What is known for one HEAD.

    Attributes:
        paths: None where time ran out.
        words: None as above.
        then: commit to words, and whether it had them.
        moments: moment to the newest commit until then.
        renamed: word to what its definition is called now, empty where that is not plain, and the commit
            that took it out of a line last, with its time.
        tries: looks that ran out of time.
    """

    paths: dict[str, Fact | None] = field(default_factory=dict)
    words: dict[str, Spot | None] = field(default_factory=dict)
    then: dict[str, dict[str, bool]] = field(default_factory=dict)
    moments: dict[str, str] = field(default_factory=dict)
    renamed: dict[str, Turn] = field(default_factory=dict)
    tries: int = 0


class CodeNow:
    """Answers for one work tree's HEAD (`references.Code`).

    Args:
        top: folder in which git is run.
        common: git directory of all work trees, where a shallow clone notes where it was cut.
        state: folder for what can be deleted.
        seconds: for one answer.
        follow: whether to say what symbols and flags are called now: patches are read for it, which takes
            longer than anything else here.
    """

    def __init__(
        self,
        git: GitCommand,
        top: Path,
        common: Path,
        state: Path,
        seconds: float,
        *,
        follow: bool = False,
    ) -> None:
        self._git = git
        self._top = top
        self._common = common
        self._shelf = Shelf(state / FOLDER)
        self._patient = seconds >= PATIENT_SECONDS
        self._seconds = seconds
        self._follow = follow

    def look(self, asked: Sequence[Named]) -> Sequence[Sequence[NameFate]]:
        """Findings for each of `asked`; none where there is no HEAD, or trouble."""
        nothing: list[tuple[NameFate, ...]] = [() for _ in asked]
        if not any(one.paths or one.words for one in asked):
            return nothing
        with suppress(GitmemError, OSError, ValueError):
            reader = CodeReader(self._git, self._top, self._seconds)
            head = reader.head()
            if head:
                known = self._shelf.read(head) or HeadNames()
                if self._learn(reader, head, known, asked):
                    self._shelf.write(head, known)
                return [tuple(self._findings(one, known)) for one in asked]
        return nothing

    def _learn(self, reader: CodeReader, head: str, known: HeadNames, asked: Sequence[Named]) -> bool:
        """Finds out what is not known yet; whether anything was."""
        again = known.tries < TRIES or self._patient
        paths = {path for one in asked for path in one.paths if _open(known.paths, path, again)}
        words = {part for part in _parts(asked) if _open(known.words, part, again)}
        unknown = bool(paths or words)
        if unknown:
            before = self._shelf.newest() if not known.paths and not known.words else HeadNames()
            known.then = before.then or known.then
            spots = {word: spot for word in words if (spot := before.words.get(word)) and spot[0]}
            self._learn_paths(reader, head, known, paths, spots)
            self._learn_words(reader, head, known, {word for word in words if not known.words.get(word)})
        former = again and self._learn_former(reader, head, known, asked)
        if None in (*map(known.paths.get, paths), *map(known.words.get, words)) or reader.left <= 0:
            known.tries += 1
        return unknown or former

    def _learn_paths(
        self, reader: CodeReader, head: str, known: HeadNames, paths: set[str], spots: dict[str, Spot]
    ) -> None:
        """Looks the paths up, and whether files that had a word are what they were."""
        forms = {path: _forms(path) for path in paths}
        files = {file for file, _ in spots.values()}
        entries = reader.entries(head, files.union(*forms.values()))
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
        if lacking:
            self._learn_lacking(reader, head, known, lacking)

    def _learn_lacking(self, reader: CodeReader, head: str, known: HeadNames, lacking: set[str]) -> None:
        """What became of paths that HEAD lacks, as they are written; a bare name is that of any file."""
        from gitmem.search.code_history import fates  # most of what is named is there

        elsewhere = reader.ends(head, lacking)
        bare = {path for path in lacking if "/" not in path}
        for path in bare if elsewhere is None else bare & elsewhere:
            known.paths[path] = ("unknown" if elsewhere is None else "there", "", "", 0)
            lacking.discard(path)
        found, complete = fates(reader, head, lacking)
        for path in lacking:
            if fate := found.get(path):
                known.paths[path] = "moved" if fate.exists else "gone", fate.now, fate.commit, fate.time
            elif elsewhere and path in elsewhere:  # `store/disk.py` for `src/app/store/disk.py`
                known.paths[path] = "there", "", "", 0
            elif not complete:
                known.paths[path] = None
            else:
                known.paths[path] = ("missing" if self._cut_short() else "never"), "", "", 0

    def _learn_words(self, reader: CodeReader, head: str, known: HeadNames, words: set[str]) -> None:
        if not words:
            return
        found, complete = reader.words(head, words)
        entries = reader.entries(head, set(found.values())) or {}
        for word in words:
            file = found.get(word, "")
            if file in entries:
                known.words[word] = file, entries[file].oid
            elif word in found:
                known.words[word] = "?", ""
            else:
                known.words[word] = ("", "") if complete else None

    def _learn_former(
        self, reader: CodeReader, head: str, known: HeadNames, asked: Sequence[Named]
    ) -> bool:
        """Seeks words that HEAD lacks in the code of the time when the memory was taught."""
        lacking = {part for part in _parts(asked) if known.words.get(part) == ("", "")}
        wanted = [(one, gone) for one in asked if (gone := lacking & _parts([one])) and one.taught]
        unknown = {
            moment for one, _ in wanted for moment in _moments(one) if str(moment) not in known.moments
        }
        learned = False
        if unknown and reader.left > 0:
            commits = reader.commits_at(head, unknown)
            whole = reader.left > 0
            known.moments |= {str(at): commits.get(at, "") for at in unknown if whole or at in commits}
            learned = True
        sought: dict[str, set[str]] = {}
        times: dict[str, int] = {}
        for one, gone in wanted:
            for moment in _moments(one):
                commit = known.moments.get(str(moment), "")
                if commit and commit != head and (new := gone - known.then.get(commit, {}).keys()):
                    sought.setdefault(commit, set()).update(new)
                    times[commit] = moment
        if self._patient and len(sought) > SAMPLES:
            order = sorted(sought, key=times.__getitem__)
            for at in range(SAMPLES):
                learned |= _look_then(reader, known, order[at * (len(order) - 1) // (SAMPLES - 1)], lacking)
            lacking = {word for had in known.then.values() for word, there in had.items() if there}
        for commit in list(sought) if self._patient else list(sought)[:MOST_THEN]:
            words = (sought[commit] & lacking) - known.then.get(commit, {}).keys()
            learned |= _look_then(reader, known, commit, words)
        return (self._follow and self._learn_renamed(reader, head, known)) or learned

    def _learn_renamed(self, reader: CodeReader, head: str, known: HeadNames) -> bool:
        """Follows words that a former commit had and HEAD lacks."""
        from gitmem.search.code_history import word_fates

        gone: dict[str, set[str]] = {}
        for commit, had in known.then.items():
            new = {word for word, there in had.items() if there and known.words.get(word) == ("", "")}
            gone[commit] = new.difference(known.renamed, *gone.values())
        for commit, words in gone.items():
            if words and reader.left > 0:
                found = word_fates(reader, commit, head, words)
                turns = {word: (fate.now, fate.commit, fate.time) for word, fate in found.items()}
                known.renamed |= {word: turns.get(word, ("", "", 0)) for word in words}
        return any(gone.values())

    def _findings(self, one: Named, known: HeadNames) -> Iterable[NameFate]:
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
            yield NameFate(path, _TOLD[kind], now, commit, time)
        then = [known.then.get(known.moments.get(str(moment), ""), {}) for moment in _moments(one)]
        for written, parts in one.words:
            spots = [known.words.get(part) for part in parts]
            lacking = [part for part, spot in zip(parts, spots, strict=True) if spot and not spot[0]]
            if all(spot and spot[0] for spot in spots):
                yield NameFate(written, "there")
            elif None not in spots and any(all(map(had.get, lacking)) for had in then):
                turns = [known.renamed.get(part, ("", "", 0)) for part in lacking]
                now = written
                for part, turn in zip(lacking, turns, strict=True):
                    now = re.sub(rf"(?<![\w-]){re.escape(part)}(?![\w-])", turn[0], now)
                _, commit, time = max(turns, key=lambda turn: turn[2])
                plain = all(turn[0] for turn in turns)
                yield NameFate(written, "renamed" if plain else "gone", now if plain else "", commit, time)

    def _cut_short(self) -> bool:
        try:
            return (self._common / "shallow").stat().st_size > 0
        except OSError:
            return False


class Shelf:
    """A folder with a file for each of the last few HEADs: what was found out, to be lost at no loss."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, head: str) -> HeadNames | None:
        """What is known for a HEAD; None where nothing is, or it cannot be read."""
        return _read(self._folder / f"{head}.json")

    def newest(self) -> HeadNames:
        """What was known last, for whatever HEAD."""
        return next((known for path in self._files()[:1] if (known := _read(path))), HeadNames())

    def write(self, head: str, known: HeadNames) -> None:
        """Keeps what is known, where the folder can be written."""
        if len(known.paths) + len(known.words) > NAMES_KEPT:
            known = HeadNames()
        value = {
            "version": VERSION,
            "paths": known.paths,
            "words": known.words,
            "then": dict(list(known.then.items())[-HEADS_KEPT:]),
            "moments": dict(list(known.moments.items())[-MOMENTS_KEPT:]),
            "renamed": known.renamed,
            "tries": known.tries,
        }
        with suppress(OSError, ValueError):
            if not is_own_folder(self._folder):
                return
            write_atomically(self._folder / f"{head}.json", json.dumps(value).encode())
            keep_newest(self._files(), HEADS_KEPT)

    def _files(self) -> list[Path]:
        with suppress(OSError):
            files = [path for path in self._folder.iterdir() if path.suffix == ".json"]
            return sorted(files, key=lambda path: path.lstat().st_mtime, reverse=True)
        return []


def _read(file: Path) -> HeadNames | None:
    value = read_json(file, BYTES)
    with suppress(ValueError, LookupError, TypeError, AttributeError, OverflowError):
        if value["version"] == VERSION:
            return HeadNames(
                {str(name): _fact(fact) for name, fact in value["paths"].items()},
                {str(word): _spot(spot) for word, spot in value["words"].items()},
                {
                    _commit(commit): {str(word): bool(had) for word, had in words.items()}
                    for commit, words in value["then"].items()
                },
                {str(moment): commit and _commit(commit) for moment, commit in value["moments"].items()},
                {str(word): _turn(turn) for word, turn in value["renamed"].items()},
                int(value["tries"]),
            )
    return None


def _commit(value: Any) -> str:
    """A commit's name: it becomes an argument of git's, and the file may be anyone's."""
    if not _COMMIT.fullmatch(value):
        raise ValueError("no name of a commit")
    return str(value)


def _word(value: Any) -> str:
    """What a name became: told outside of any fence, and the file may be anyone's."""
    if not _WORD.fullmatch(value):
        raise ValueError("no identifier or flag")
    return str(value)


def _turn(value: Any) -> Turn:
    return _word(value[0]), value[1] and _commit(value[1]), int(value[2])


def _fact(value: Any) -> Fact | None:
    return None if value is None else (str(value[0]), str(value[1]), str(value[2]), int(value[3]))


def _spot(value: Any) -> Spot | None:
    return None if value is None else (str(value[0]), str(value[1]))


def _look_then(reader: CodeReader, known: HeadNames, commit: str, words: set[str]) -> bool:
    """Notes which of some words a former commit had; whether there was time, and anything to ask."""
    if not words or reader.left <= 0:
        return False
    found, complete = reader.words(commit, words)
    had = dict.fromkeys(words, False) if complete else {}
    known.then.setdefault(commit, {}).update(had | dict.fromkeys(found, True))
    return True


def _parts(asked: Iterable[Named]) -> set[str]:
    return {part for one in asked for _, parts in one.words for part in parts}


def _moments(one: Named) -> tuple[int, ...]:
    """Times of which the code is what a memory speaks of: it is often written before the commit."""
    return (one.taught + DAY, one.taught) if one.taught else ()


def _open(known: Mapping[str, Any], name: str, again: bool) -> bool:
    return name not in known or (again and known[name] is None)


def _forms(path: str) -> set[str]:
    """A path as git may hold it: some file systems take letters with accents apart."""
    if path.isascii():
        return {path}
    return {path, *(unicodedata.normalize(form, path) for form in ("NFC", "NFD"))}
