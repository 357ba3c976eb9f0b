"""Which commits of the code HEAD has, or an equal of: asked of git once for each HEAD, and remembered.

A prompt waits for this, so git never fetches, has a fraction of a second in all, and walks only what lies
between HEAD and a commit in question. What HEAD has a later HEAD has, too. All of it can be deleted at no
loss.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from gitmem.core.errors import GitmemError
from gitmem.git.command import GitCommand, Glimpse, peek
from gitmem.ledger.code_rewrites import read_rewrites
from gitmem.ledger.files import is_own_folder, keep_newest, read_json, write_atomically
from gitmem.search.reach import (
    Change,
    Sight,
    branch,
    is_told,
    read_changes,
    read_lines,
    same_blobs,
    same_files,
)

FOLDER = "reach"
VERSION = 1
HEADS_KEPT = 8
"""Work trees have a HEAD each."""

HELD_KEPT = 4_000
"""Commits above which what a HEAD has is begun anew."""

TIPS = 4
"""Refs with a commit that are looked at: each may have been squashed as a whole."""

PREFIXES = 16
"""Commits of a branch behind the one in question, each of which a squash may have ended with."""

COMPARED = 8
"""Pairs of changes to the same files whose lines are compared."""

MOST_NEWER = 2_000
"""Commits of HEAD that are looked through for an equal change."""

BYTES = 4 << 20
"""Output of one git command, or a file of what is known, that is read."""

_NAME = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_BRANCHES = ("refs/heads", "refs/remotes", "refs/tags")
_RAW = ("--root", "--always", "--no-renames", "-r", "-z", "--raw", "--no-abbrev")
_PATCH = ("--root", "--always", "--no-renames", "-p", "-U0", "--no-ext-diff", "--no-textconv")

_Sought = tuple[str, Change]
"""A line as `diff-tree --stdin` takes it, and what it stands for."""


@dataclass
class _Known:
    """What is known for one HEAD.

    Attributes:
        held: commits that HEAD has, or an equal of.
        elsewhere: those that only some ref has, with its name and where it stood.
        lost: those that nobody has, or that cannot be decided, until a ref has them or git fetches.
        fetched: when something was, by the time of git's own note.
        refs: digest of where all stood when it was last looked whether one has what is lost.
    """

    held: set[str] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)
    fetched: int = 0
    refs: str = ""
    elsewhere: dict[str, tuple[str, str]] = field(default_factory=dict)


class Ancestry:
    """Answers for one work tree's HEAD.

    Args:
        top: folder in which git is run.
        common: git directory of all work trees, where a shallow clone notes where it was cut.
        state: folder for what can be deleted, and for what became of rewritten commits.
        seconds: for one answer; what is not found out by then counts as held, and is asked again.
    """

    def __init__(self, git: GitCommand, top: Path, common: Path, state: Path, seconds: float) -> None:
        self._git, self._top, self._common, self._state = git, top, common, state
        self._until = time.monotonic() + seconds
        self._head = ""

    def elsewhere(self, commits: Iterable[str]) -> Mapping[str, str]:
        """Finds the commits that HEAD lacks and some branch has, with that branch's short name.

        Args:
            commits: names as memory has them; what is no name is held everywhere.
        """
        asked = {one for one in commits if _NAME.fullmatch(one)}
        if not asked:
            return {}
        with suppress(GitmemError, OSError, ValueError):
            self._head = self._head or self._line(["rev-parse", "--verify", "-q", "HEAD"])
            if _NAME.fullmatch(self._head):
                return self._from(self._head, asked)
        return {}

    def _from(self, head: str, asked: set[str]) -> Mapping[str, str]:
        known = self._read(head)
        moved = self._drop_moved(known)
        new = asked - known.held - known.lost - known.elsewhere.keys()
        if new:
            older, then = self._newest(head) if not known.held else ("", _Known())
            self._learn(head, known, new, older, then)
        if new or moved:
            self._write(head, known)
        return {one: branch(known.elsewhere[one][0]) for one in asked if one in known.elsewhere}

    def _learn(self, head: str, known: _Known, asked: set[str], older: str, then: _Known) -> None:
        """Looks at commits from HEAD.

        Args:
            older: a HEAD of which something is known; what it has this one has, if it descends from it.
        """
        if older and self._lacking(head, {older}) == set():
            known.held |= then.held
            asked = asked - known.held
        here = self._here(asked)
        lacking = self._lacking(head, here)
        if lacking is None:
            return
        known.held |= here - lacking
        became: dict[str, str] = {}
        if left := lacking | (asked - here):
            rewrites = read_rewrites(self._state)
            became = {one: now for one in left if (now := rewrites.now(one)) != one}
        if became:
            present = self._here(set(became.values()))
            still = self._lacking(head, present)
            if still is None:
                return
            known.held |= {one for one, now in became.items() if now in present - still}
            became = {one: now for one, now in became.items() if now in still}
        for one in sorted((lacking | became.keys()) - known.held):
            holder, place, sight = self._look(head, became.get(one, one))
            if not is_told(sight):
                known.elsewhere[one] = holder, place
            elif sight.equal:
                known.held.add(one)
        if self._left > 0:
            known.lost |= asked - known.held - known.elsewhere.keys()

    def _look(self, head: str, commit: str) -> tuple[str, str, Sight]:
        """What is seen of a commit that HEAD does not descend from; the ref that has it, and its place."""
        own = None if self._is_cut(head, commit) else self._changes([commit])
        if own is None:
            return "", "", Sight(here=True)
        tips = self._holders(commit)
        holder, place = tips[0] if tips else self._equal_elsewhere(head, own)
        equal = self._has_equal(head, commit, own, [tip for _, tip in tips]) if holder else None
        if self._left <= 0:
            return "", "", Sight(here=True)
        return holder, place, Sight(here=True, ancestor=False, holder=holder, equal=equal)

    def _holders(self, commit: str) -> list[tuple[str, str]]:
        """Refs that have a commit, local branches first, and where they stand."""
        words = ["for-each-ref", f"--contains={commit}", "--format=%(objectname) %(refname)", *_BRANCHES]
        pairs = [line.partition(" ")[::2] for line in self._lines(words)]
        refs = [(ref, oid) for oid, ref in pairs if not (_is_memory(ref) or ref.endswith("/HEAD"))]
        refs.sort(key=lambda one: (not one[0].startswith("refs/heads/"), one[0]))
        if not refs:
            for line in self._lines(["worktree", "list", "--porcelain"]):
                kind, _, oid = line.partition(" ")
                if kind == "HEAD" and _NAME.fullmatch(oid) and self._lacking(oid, {commit}) == set():
                    return [("HEAD", oid)]
        return refs[:TIPS]

    def _has_equal(
        self, head: str, commit: str, own: Sequence[_Sought], tips: Sequence[str]
    ) -> bool | None:
        """Whether HEAD has a commit that changes what this one does, or what its branch does as a whole."""
        base = self._line(["merge-base", commit, head])
        if not base:
            return False
        wholes = [f"{commit} {base}"]
        for tip in dict.fromkeys(tips):
            if tip != commit and (fork := self._line(["merge-base", tip, head])):
                wholes.append(f"{tip} {fork}")
        if tips:
            words = ["rev-list", "--ancestry-path", f"--max-count={PREFIXES}", *tips, f"^{commit}", "--"]
            wholes += [f"{one} {base}" for one in self._lines(words)]
        changed = self._changes(list(dict.fromkeys(wholes)))
        if changed is None:
            return None
        sought = [*own, *changed]
        newer = self._newer([head], base, [change for _, change in sought])
        return None if newer is None else self._any_equal(sought, newer)

    def _any_equal(self, sought: Sequence[_Sought], found: Sequence[_Sought]) -> bool | None:
        """Compares changes by what they touch, then by contents, then by lines.

        Returns:
            None where contents that had to be compared are not there, as in a partial clone.
        """
        alike = [(one, other) for one in sought for other in found if same_files(one[1], other[1])]
        if any(same_blobs(one, other) for (_, one), (_, other) in alike):
            return True
        for (one, _), (other, _) in alike[:COMPARED]:
            done = self._peek(["diff-tree", "--stdin", *_PATCH], f"{one}\n{other}\n")
            if done.returncode != 0:
                return None
            first, *others = read_lines(done.stdout)
            if [first] == others:
                return True
        return False

    def _equal_elsewhere(self, head: str, own: Sequence[_Sought]) -> tuple[str, str]:
        """A branch that has an equal of a commit that no ref has: somebody else rebased it."""
        newer = self._newer(["--branches", "--remotes"], head, [change for _, change in own])
        for one in newer or ():
            if self._any_equal(own, [one]):
                return next(iter(self._holders(one[0])), ("", ""))
        return "", ""

    def _newer(self, tips: Sequence[str], base: str, wanted: Sequence[Change]) -> list[_Sought] | None:
        """Commits since another that touch a file of what is wanted, with all that they change."""
        paths = dict.fromkeys(min(change) for change in wanted if change)
        if not paths:
            return []
        words = ["--literal-pathspecs", "rev-list", "--no-merges", f"--max-count={MOST_NEWER}"]
        done = self._peek([*words, *tips, f"^{base}", "--", *paths])
        return self._changes(done.text.split()) if done.returncode == 0 else None

    def _changes(self, asked: Sequence[str]) -> list[_Sought] | None:
        """What commits change: against their parents, or where two are named the first against the other.

        Returns:
            Those that change anything; None where trees are missing, or time ran out.
        """
        done = self._peek(["diff-tree", "--stdin", *_RAW], "".join(f"{one}\n" for one in asked))
        if done.returncode != 0:
            return None
        changes = read_changes(done.stdout)
        return [(one, change) for one, change in zip(asked, changes, strict=True) if change]

    def _here(self, commits: set[str]) -> set[str]:
        """Those of some commits that are there."""
        if not commits:
            return set()
        listed = "".join(f"{one}\n" for one in sorted(commits))
        done = self._peek(["cat-file", "--batch-check=%(objectname) %(objecttype)"], listed)
        return {line[:-7] for line in done.text.split("\n") if line.endswith(" commit")}

    def _lacking(self, head: str, commits: set[str]) -> set[str] | None:
        """Those of some commits that HEAD does not descend from; None where time ran out."""
        if not commits:
            return set()
        words = ["rev-list", "--stdin"]
        done = self._peek(words, "".join(f"{one}\n" for one in [*sorted(commits), f"^{head}"]))
        return commits & set(done.text.split("\n")) if done.returncode == 0 else None

    def _is_cut(self, head: str, commit: str) -> bool:
        """Whether history ends, in what HEAD has and the commit has not, where a shallow clone was cut."""
        try:
            cut = set((self._common / "shallow").read_text("ascii").split())
        except (OSError, ValueError):
            return False
        return bool(cut) and not cut.isdisjoint(self._lines(["rev-list", head, f"^{commit}", "--"]))

    def _drop_moved(self, known: _Known) -> bool:
        """Forgets what was decided before a ref moved or came: a branch may be gone, go on, or be back.

        Returns:
            Whether the refs were looked at for what is lost.
        """
        fetched = 0
        with suppress(OSError):
            fetched = (self._common / "FETCH_HEAD").stat().st_mtime_ns
        if fetched != known.fetched:
            known.lost, known.fetched = set(), fetched
        moved = bool(known.lost) and self._drop_found(known)
        if not known.elsewhere:
            return moved
        refs = {ref for ref, _ in known.elsewhere.values()}
        words = ["for-each-ref", "--format=%(objectname) %(refname)", *sorted(refs)]
        now = {ref: oid for oid, _, ref in (line.partition(" ") for line in self._lines(words))}
        known.elsewhere = {
            one: (ref, place) for one, (ref, place) in known.elsewhere.items() if now.get(ref) == place
        }
        return moved

    def _drop_found(self, known: _Known) -> bool:
        """Forgets that something is lost that a ref has now; looks only where the refs are others."""
        listed = self._lines(["for-each-ref", "--format=%(objectname) %(refname)", *_BRANCHES])
        own = (line for line in listed if not _is_memory(line.partition(" ")[2]))
        refs = blake2b("\n".join(own).encode(), digest_size=8).hexdigest()
        if refs == known.refs:
            return False
        here = self._here(known.lost)
        words = ["rev-list", "--stdin", "--not", "--branches", "--remotes", "--tags"]
        done = self._peek(words, "".join(f"{one}\n" for one in sorted(here)))
        if done.returncode != 0:
            return False
        known.lost -= here - set(done.text.split("\n"))
        known.refs = refs
        return True

    def _lines(self, words: Sequence[str]) -> list[str]:
        return [line for line in self._peek(words).text.split("\n") if line]

    def _line(self, words: Sequence[str]) -> str:
        return next(iter(self._lines(words)), "")

    def _peek(self, words: Sequence[str], given: str = "") -> Glimpse:
        return peek(self._git, words, cwd=self._top, seconds=self._left, size=BYTES, input=given.encode())

    @property
    def _left(self) -> float:
        return self._until - time.monotonic()

    def _read(self, head: str) -> _Known:
        value = read_json(self._state / FOLDER / f"{head}.json", BYTES)
        with suppress(ValueError, LookupError, TypeError, AttributeError):
            return _known(value)
        return _Known()

    def _newest(self, head: str) -> tuple[str, _Known]:
        """What was known last, for another HEAD."""
        for path in self._files():
            if path.stem != head and _NAME.fullmatch(path.stem):
                return path.stem, self._read(path.stem)
        return "", _Known()

    def _write(self, head: str, known: _Known) -> None:
        held = known.held if len(known.held) <= HELD_KEPT else ()
        value = {
            "version": VERSION,
            "held": sorted(held),
            "lost": sorted(known.lost),
            "fetched": known.fetched,
            "refs": known.refs,
            "elsewhere": known.elsewhere,
        }
        with suppress(OSError):
            if is_own_folder(self._state / FOLDER):
                write_atomically(self._state / FOLDER / f"{head}.json", json.dumps(value).encode())
                keep_newest(self._files(), HEADS_KEPT)

    def _files(self) -> list[Path]:
        with suppress(OSError):
            files = [path for path in (self._state / FOLDER).iterdir() if path.suffix == ".json"]
            return sorted(files, key=lambda path: path.lstat().st_mtime, reverse=True)
        return []


def _known(value: Any) -> _Known:
    if value["version"] != VERSION:
        return _Known()
    elsewhere = {str(one): (str(ref), str(place)) for one, (ref, place) in value["elsewhere"].items()}
    held, lost = ({str(one) for one in value[key]} for key in ("held", "lost"))
    return _Known(held, lost, int(value["fetched"]), str(value["refs"]), elsewhere)


def _is_memory(ref: str) -> bool:
    return ref.startswith(("refs/heads/gitmem/", "refs/remotes/origin/gitmem/"))
