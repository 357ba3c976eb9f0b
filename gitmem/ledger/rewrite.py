"""Rewriting history: the same commits by the same people at the same times, less what is purged.

`Rewriter` makes commits; `rewrite` makes all memory refs of one repository, as a value that a purge moves.

A commit that needs no change, and has none before it, stays the object that it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import field, replace

from gitmem.core.claim import DISPUTE_LENGTH, DISPUTED_BYTES, HASH_LENGTH, claim_id
from gitmem.core.memory import parse
from gitmem.core.names import FORMAT_FILE, INDEX, TOMBSTONES
from gitmem.core.purge import Purge
from gitmem.core.trailers import Provenance, format_message
from gitmem.git import objects
from gitmem.git.packs import RawEntry, RawObjects, objects_with
from gitmem.git.repository import Repository, Signature
from gitmem.ledger.epochs import Epoch, after, epoch_of, with_epoch
from gitmem.ledger.land import root_objects
from gitmem.ledger.memory_refs import MemoryRefs, lines
from gitmem.values import dataclass

SUBJECT = "Purge a text from history"
PUT_BACK = "Turn a purge down"


_UNDOES = re.compile(
    rb"^([ \t]*(?:[*-][ \t]+)?Gitmem-Undoes:[ \t]*)([0-9a-f]{7,64})[ \t]*\n?", re.MULTILINE
)
_NAME = re.compile(rb"\b[0-9a-f]{12,64}\b")
_REPLACED = (b"tree ", b"parent ", b"gpgsig ", b"gpgsig-sha256 ", b"mergetag ")


class Rewriter:
    """Makes one epoch out of histories; called again, it goes on where it was.

    Args:
        suspects: objects that hold a text (`objects_with`); None to look into every file.

    Attributes:
        commits: old commit to the one in its place; to itself where it stays.
        rewritten: how many commits got another one in their place, which a dry run only counts.
        unsigned: how many lost their signature by that.
        purged: how many held a text, in tree or message.
        paths: paths whose content, or which themselves, held one.
        blobs: content of memories that went as a whole.
    """

    def __init__(
        self,
        store: RawObjects,
        purge: Purge,
        epoch: Epoch,
        suspects: frozenset[str] | None = None,
    ) -> None:
        self.store, self.purge, self.epoch = store, purge, epoch
        self.commits: dict[str, str] = {}
        self.rewritten = self.unsigned = self.purged = 0
        self.paths: set[str] = set()
        self.blobs: set[str] = set()
        self._suspects = suspects
        self._root = list(root_objects(store.hex_length))[-1]
        self._trees: dict[tuple[str, str], str | None] = {}
        self._rows: dict[str, dict[RawEntry, RawEntry | None]] = {}
        self._blobs: dict[tuple[str, str], str] = {}
        self._formats: dict[str, str] = {}
        self._short: dict[str, str] = {}
        self._newest: list[str] = []

    def history(self, tips: Sequence[str], forced: Sequence[str] = ()) -> Mapping[str, str]:
        """Rewrites all that these commits are reached from.

        Args:
            forced: commits that get the epoch even where nothing in them changes, with their descendants.

        Returns:
            Old commit to new one. It is on disk.
        """
        known, must = self.commits, frozenset(forced)
        words = ["rev-list", "--topo-order", "--reverse", "--stdin"]
        fresh = [tip for tip in dict.fromkeys(tips) if tip not in known]
        given = "".join(f"{tip}\n" for tip in fresh)
        if given:
            self._look_at(fresh)
            listed = self.store.git.run(words, git_dir=self.store.git_dir, input=given.encode()).text
            for oid in listed.split("\n"):
                if oid and oid not in known:
                    known[oid] = oid if oid == self._root else self._commit(oid, oid in must)
        self._newest = list(dict.fromkeys([*self._newest, *fresh]))
        return known

    def _look_at(self, tips: Sequence[str]) -> None:
        """Finds what holds a text in commits that came after the suspects were found."""
        if self._suspects is None or not self.commits:
            return
        store = self.store
        words = ["rev-list", "--objects", "--no-object-names", *tips, "--not", *self._newest, "--"]
        listed = store.git.run(words, git_dir=store.git_dir).text.split("\n")
        looked = objects_with(store, self.purge.holds, listed)
        self._suspects |= frozenset(looked.found)

    def tree(self, tree: str | None) -> str:
        """A tree without what is purged, in this epoch; None is that of a memory with nothing in it."""
        return self._with_epoch(self._tree(tree, "") if tree else None)

    def knows(self, commits: Mapping[str, str]) -> None:
        """Takes note of what became of commits, for messages that name them."""
        self.commits.update(commits)
        self._short.update({oid[:12]: oid for oid in commits})

    def commit_bytes(self, oid: str, tree: str, parents: Sequence[str]) -> bytes:
        """A commit's content on another tree and other parents, less what is purged, unsigned."""
        head, gap, message = self.store.read(oid)[1].partition(b"\n\n")
        kept = [self.purge.clean_message(line) for line in _headers(head) if not line.startswith(_REPLACED)]
        top = [f"tree {tree}".encode(), *(f"parent {one}".encode() for one in parents)]
        return b"\n".join([*top, *kept]) + gap + self.message(message)

    def message(self, data: bytes) -> bytes:
        """A commit's message without what is purged, and without names of commits that are no more."""
        cleaned = _UNDOES.sub(self._undoes, data) if b"Gitmem-Undoes:" in data else data
        return _NAME.sub(self._renamed, self.purge.clean_message(cleaned))

    def note(self, tip: str, who: Signature, subject: str = SUBJECT) -> str:
        """Adds the commit that says that a purge took place, and not of what."""
        _, data = self.store.read(tip)
        tree = self._with_epoch(objects.parse_commit(data, tip).tree)
        message = format_message(subject, Provenance(op="purge", writer="human"))
        return self.store.add("commit", objects.encode_commit(tree, (tip,), who, who, message))

    def _commit(self, oid: str, forced: bool) -> str:
        _, data = self.store.read(oid)
        head, _, message = data.partition(b"\n\n")
        lines = _headers(head)
        tree = next(line for line in lines if line.startswith(b"tree "))[5:].decode()
        parents = [line[7:].decode() for line in lines if line.startswith(b"parent ")]
        now = [self.commits.get(parent, parent) for parent in parents]
        fresh, words = self._tree(tree, ""), self.purge.clean_message(message)
        who = [
            self.purge.clean_message(line) for line in lines if line.startswith((b"author ", b"committer "))
        ]
        held = fresh != tree or words != message
        self.purged += held
        self._short[oid[:12]] = oid
        if not held and now == parents and not forced and all(line in lines for line in who):
            return oid
        self.rewritten += 1
        self.unsigned += any(line.startswith(b"gpgsig") for line in lines)
        return self.store.add("commit", self.commit_bytes(oid, self._with_epoch(fresh), now))

    def _tree(self, oid: str, prefix: str) -> str | None:
        """A folder without what is purged; None where nothing is left of it."""
        # What is taken out of a file does not depend on where it lies, but for memories and their index.
        key = (oid, prefix if self.purge.memories else "/" if prefix else "")
        if key in self._trees:
            return self._trees[key]
        rows = self.store.rows(oid)
        # Most lines of a folder are the same as in the commit before.
        known = self._rows.setdefault(prefix, {})
        for row in rows:
            if row not in known:
                known[row] = self._row(row, prefix)
        fresh = [changed for row in rows if (changed := known[row]) is not None]
        same = fresh == rows
        made = oid if same else self.store.add_rows(_apart(fresh, rows)) if fresh else None
        self._trees[key] = made
        return made

    def _row(self, row: RawEntry, prefix: str) -> RawEntry | None:
        path = prefix + row.name.decode("utf-8", "surrogateescape")
        if path in self.purge.memories:
            self.paths.add(path)
            self.blobs.add(row.oid.hex())
            return None
        oid: str | None = row.oid.hex()
        assert oid is not None  # noqa: S101 - for the type
        if row.is_tree:
            oid = self._tree(oid, f"{path}/")
        elif row.is_file:
            oid = self._blob(oid, path)
        if oid is None:
            return None
        name = self.purge.clean_name(row.name)
        if name != row.name or (row.is_file and oid != row.oid.hex()):
            self.paths.add(path)
        return RawEntry(row.mode, name, bytes.fromhex(oid))

    def _blob(self, oid: str, path: str) -> str:
        name = path.rpartition("/")[2]
        special = (name == INDEX and bool(self.purge.memories)) or (
            name == TOMBSTONES and bool(self.purge.keys)
        )
        if self._suspects is not None and oid not in self._suspects and not special:
            return oid
        key = (oid, path if special or path == FORMAT_FILE else name if name == INDEX else name[-3:])
        if key not in self._blobs:
            kind, data = self.store.read(oid)
            fresh = self.purge.clean_file(path, data) if kind == "blob" else data
            self._blobs[key] = oid if fresh == data else self.store.add("blob", fresh)
        return self._blobs[key]

    def _with_epoch(self, tree: str | None) -> str:
        given = tree or ""
        if self.store.dry:
            return tree or self.store.add("tree", b"")
        if given not in self._formats:
            rows = self.store.rows(tree) if tree else []
            name = FORMAT_FILE.encode()
            old = next((row for row in rows if row.name == name and row.is_file), None)
            data = self.store.read(old.oid.hex())[1] if old else b""
            blob = self.store.add("blob", with_epoch(data, self.epoch))
            kept = [row for row in rows if row.name != name]
            self._formats[given] = self.store.add_rows(
                [*kept, RawEntry(b"100644", name, bytes.fromhex(blob))]
            )
        return self._formats[given]

    def _undoes(self, match: re.Match[bytes]) -> bytes:
        new = self._now(match[2].decode())
        return match[1] + new.encode() + b"\n" if new else b""

    def _renamed(self, match: re.Match[bytes]) -> bytes:
        """A commit's name in prose, mapped; one that is no commit of memory stays."""
        return (self._now(match[0].decode()) or match[0].decode()).encode()

    def _now(self, name: str) -> str | None:
        old = self._short.get(name[:12]) if len(name) >= 12 else None
        new = self.commits.get(old) if old and old.startswith(name) else None
        return new[: len(name)] if new else None


def put_back_commit(repo: Repository, tip: str, epoch: Epoch, who: Signature) -> str:
    """A commit on top of a history that puts all of it into an epoch which others follow."""
    with closing(RawObjects(repo)) as store:
        return Rewriter(store, Purge(), epoch).note(tip, who, PUT_BACK)


def _headers(head: bytes) -> list[bytes]:
    """Headers of a commit, each with the lines that continue it."""
    lines: list[bytes] = []
    for line in head.split(b"\n"):
        if line.startswith(b" ") and lines:
            lines[-1] += b"\n" + line
        else:
            lines.append(line)
    return lines


def _apart(rows: list[RawEntry], before: Sequence[RawEntry]) -> list[RawEntry]:
    """The rows with names that became one told apart by a number."""
    if len({row.name for row in rows}) == len(rows):
        return rows
    taken: set[bytes] = set()
    kept = {row.name for row in before}
    found = []
    for row in rows:
        name, number = row.name, 2
        while name in taken or (number > 2 and name in kept):
            stem, dot, end = row.name.rpartition(b".")
            name = (stem if dot else end) + b"-%d" % number + (dot + end if dot else b"")
            number += 1
        taken.add(name)
        found.append(row._replace(name=name))
    return found


@dataclass(frozen=True)
class Rewriting:
    """One repository's memory in its new epoch; no ref was moved yet.

    Attributes:
        refs: where they were.
        tips: ref to the rewritten commit, for the refs of lines of which anything changed.
        rewriter: what made it, and knows what became of history.
    """

    refs: MemoryRefs
    tips: Mapping[str, str]
    rewriter: Rewriter = field(repr=False)


def rewrite(repo: Repository, refs: MemoryRefs, purge: Purge, mark: str, *, dry: bool = False) -> Rewriting:
    """Rewrites memory.

    Args:
        mark: of the new epoch, 8 hexadecimal digits that no other has.
        dry: only count; nothing is written.

    Raises:
        MissingObject: history is incomplete.
    """
    tips = list(dict.fromkeys(refs.all.values()))
    epoch = after((epoch_of(repo, tip) for tip in tips), mark)
    suspects: frozenset[str] = frozenset()
    with closing(RawObjects(repo, dry=dry)) as store:
        if purge.texts and tips:
            purge, suspects = with_what_stands_for(store, purge, tips)
        rewriter = Rewriter(store, purge, epoch, suspects)
        known = rewriter.history(tips)
        groups = [
            group for group in lines(repo, refs) if any(known[refs.all[r]] != refs.all[r] for r in group)
        ]
        forced = [oid for group in groups for oid in _left_behind(store, refs, group, known)]
        if forced:
            rewriter = Rewriter(store, purge, epoch, suspects)
            known = rewriter.history(tips, forced)
    return Rewriting(refs, {ref: known[refs.all[ref]] for group in groups for ref in group}, rewriter)


def with_what_stands_for(
    store: RawObjects, purge: Purge, tips: Iterable[str]
) -> tuple[Purge, frozenset[str]]:
    """Finds the objects that hold a text, and what stands elsewhere for claims with it: hashes, tombstones.

    Returns:
        The purge with what stands for it; and the objects that it concerns.
    """
    words = ["rev-list", "--objects", "--stdin"]
    given = "".join(f"{tip}\n" for tip in tips).encode()
    listed = store.git.run(words, git_dir=store.git_dir, input=given).text.split("\n")
    paths = dict(line.split(" ", 1) for line in listed if " " in line)
    oids = (line.partition(" ")[0] for line in listed)
    looked = objects_with(store, purge.holds, oids, DISPUTED_BYTES)
    keys: set[str] = set()
    others: set[tuple[bytes, bytes]] = set()
    for oid, kind in looked.found.items():
        # An index lists memories and claims nothing; it is long, and every commit has another one.
        if kind != "blob" or paths.get(oid, "").rpartition("/")[2] == INDEX:
            continue
        for claim in parse("memory.md", store.read(oid)[1]).claims:
            raw = claim.key.encode("utf-8", "surrogateescape")
            if purge.holds(raw):
                keys.add(claim.key)
                new = claim_id(purge.clean(raw).decode("utf-8", "surrogateescape"), claim.ordinal)
                others.add((b"#" + claim.short.encode(), b"#" + new[:HASH_LENGTH].encode()))
                marks = (one[:DISPUTE_LENGTH].encode() for one in (claim.id, new))
                old_mark, new_mark = (DISPUTED_BYTES + mark for mark in marks)
                others.add((old_mark, new_mark))
    fuller = replace(purge, keys=frozenset(keys), others=frozenset(others))
    return fuller, frozenset(looked.found) | looked.flagged


def _left_behind(
    store: RawObjects,
    refs: MemoryRefs,
    group: Iterable[str],
    known: Mapping[str, str],
) -> list[str]:
    """Commits of side branches that would stay in the old epoch while their line goes on in the new one."""
    names = sorted(group)
    mains = [refs.all[ref] for ref in names if refs.is_main(ref) or ref.endswith("/gitmem/project")]
    stay = [refs.all[ref] for ref in names if known[refs.all[ref]] == refs.all[ref]]
    sides = [oid for oid in dict.fromkeys(stay) if oid not in mains]
    if not sides or not mains:
        return []
    words = ["rev-list", *sides, "--not", *dict.fromkeys(mains), "--"]
    return [oid for oid in store.git.run(words, git_dir=store.git_dir).text.split("\n") if oid]
