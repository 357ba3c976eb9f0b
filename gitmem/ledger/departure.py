"""History that no remote has, as it may leave: rebuilt without what does not stand in what is to leave.

Of commits that were never pushed only the history of what stands is of use to others. So each of them is
made again by the same person at the same time, and its files say nothing but what stands in what is to
leave, what the remote has, or what was made into what stands. What was moved to a private scope, forgotten,
renamed or put otherwise meanwhile is not in them, and a message that tells of it is replaced. A commit of
which nothing is left goes. What the remote has stays as it is.

Where a claim went into one that does not leave, the files of that change stay as they were until it went
further: the commit that leaves then tells of both.

Then the memory ref is set on the history that may leave, with all that hangs on the one before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import field, replace
from functools import cached_property, lru_cache

from gitmem.core import index
from gitmem.core.account import claims_at, is_memory, path_of, reference
from gitmem.core.claim import HASH_LENGTH, Claim
from gitmem.core.daily_log import without_lines
from gitmem.core.errors import MissingObject, RepositoryError
from gitmem.core.names import INDEX, agent_folder, archived_path, homes, hot_path, is_log
from gitmem.core.purge import LEAST_CHARACTERS, Purge
from gitmem.core.text import decode, encode
from gitmem.core.trailers import MOVE_JOB, Fate, Provenance, format_message, parse
from gitmem.git.refs import move_ref
from gitmem.git.remote import Remote
from gitmem.git.repository import BLOB, EXECUTABLE, Commit, RefMoved, Repository
from gitmem.git.trees import changed_files, list_files, read_file, read_paths, write_tree
from gitmem.ledger.counterparts import match
from gitmem.ledger.epochs import epochs_differ
from gitmem.ledger.excerpt import Excerpt, ExcerptQuery, portion, said
from gitmem.ledger.land import land_commit, root_name
from gitmem.ledger.merge import SUBJECT as MERGED
from gitmem.ledger.merge import merge_of_trees
from gitmem.ledger.push_plan import Leaving, first_departures, keep, personal_lines
from gitmem.ledger.save_plan import describe
from gitmem.ledger.workspace import INBOX, SHARED_REF, TURNED_DOWN
from gitmem.values import dataclass

_UNDOES = re.compile(r"^[ \t]*(?:[*-][ \t]+)?Gitmem-Undoes:[ \t]*([0-9a-f]{7,64})[ \t]*\n?", re.MULTILINE)
_COMMIT = re.compile(r"\b[0-9a-f]{12,64}\b")

MESSAGE = "gitmem sync: without what never left"

SIDES = ("refs/heads/gitmem/dream/", "refs/gitmem/dream/", TURNED_DOWN)
"""Branches of dreams, those that were turned down among them, which hang on the memory ref."""


@dataclass(frozen=True)
class Prepared:
    """A commit of a memory ref, and what of it may leave.

    Attributes:
        tip: the commit that may be pushed.
        local: what the ref is to stand on: that commit, and on top of it what is held back.
        held: what is held back, since it is about a person.
        made: commit in the rebuilt history to the one that it was made of, where that tells more.
        now: commit as it was to what stands for it here now, where that is another one.
        loses: whether something that history told is not in what the ref is to stand on.
    """

    tip: str
    local: str
    held: tuple[Leaving, ...] = ()
    made: Mapping[str, str] = field(default_factory=dict, repr=False)
    now: Mapping[str, str] = field(default_factory=dict, repr=False)
    loses: bool = False


def prepare(repo: Repository, remote: Remote, tip: str) -> Prepared:
    """Makes what may leave of a commit; no ref is moved.

    Args:
        tip: of a memory ref, merged with what the remote has.

    Raises:
        MissingObject: history is incomplete.
    """
    there = _there(repo, remote)
    left = _left_before(repo, remote, tip)
    order = [oid for oid in remote.new_commits(tip) if oid not in left]
    if not order:
        return Prepared(tip, tip)
    held = tuple(one for one in first_departures(repo, tip, there) if one.type == "user")
    tree = _without(repo, repo.commit(tip).tree, held, there)
    history = _History(repo, remote, tip, tree, order, there)
    made = history.rebuild()
    if not held:
        return Prepared(made, made, (), history.differ, history.now, bool(history.cut))
    local, brought = history.with_held(made, {one.path for one in held})
    now = {**history.now, **brought, tip: local}
    return Prepared(made, local, held, history.differ, now, bool(history.cut - brought.keys()))


def _left_before(repo: Repository, remote: Remote, tip: str) -> Set[str]:
    """Commits that stand for others which the remote has: they left before something was purged of them.

    They stay as they are, or teammates would not know them for what they have.
    """
    theirs = repo.ref(remote.tracking(SHARED_REF))
    if theirs is None or not epochs_differ(repo, theirs, tip):
        return frozenset()
    return frozenset(match(repo, theirs, tip).pairs.values())


def _there(repo: Repository, remote: Remote) -> list[str]:
    """What the remote has of memory, and of what waits to become it, as far as it can be read."""
    found = []
    for branch, oid in remote.fetched(repo).items():
        if branch == SHARED_REF or branch.startswith(INBOX):
            with suppress(RepositoryError):
                list_files(repo, repo.commit(oid).tree)
                found.append(oid)
    return found


def _without(repo: Repository, tree: str, held: Sequence[Leaving], there: Iterable[str]) -> str:
    """A tree without what is held back, and without what the index says of it."""
    if not held:
        return tree
    edits: dict[str, bytes | None] = {one.path: None for one in held if not is_log(one.path)}
    known = [repo.commit(oid).tree for oid in there]
    for path, lines in personal_lines(repo, tree, known).items():
        text = without_lines(decode(read_file(repo, tree, path) or b""), lines)
        edits[path] = encode(text) or None
    gone: dict[str, set[str]] = {}
    for path in edits:
        if not is_log(path):
            gone.setdefault(agent_folder(path), set()).add((hot_path(path) or path).partition("/")[2])
    for agent, files in gone.items():
        path = f"{agent}/{INDEX}"
        text = decode(read_file(repo, tree, path) or b"")
        left = index.without_files(text, files)
        if left != text:
            edits[path] = encode(left) or None
    with repo.together():
        return write_tree(repo, tree, edits)


class _History:
    """Commits that no remote has, parents first, on the way to becoming what leaves."""

    def __init__(
        self,
        repo: Repository,
        remote: Remote,
        tip: str,
        tree: str,
        order: Sequence[str],
        there: Sequence[str],
    ) -> None:
        self.repo, self.tip, self.tree, self.order = repo, tip, tree, order
        self.now: dict[str, str] = {}
        self.differ: dict[str, str] = {}
        self.cut: set[str] = set()
        # What it builds on is at the remote, too, though a teammate may have renamed it there since.
        ground = {parent for oid in order for parent in repo.commit(oid).parents}.difference(order)
        self._there = list(dict.fromkeys(repo.commit(oid).tree for oid in (*there, *sorted(ground))))
        self._fresh = frozenset(name for name, _ in remote.new_blobs(tip))
        self._commit = lru_cache(maxsize=4096)(repo.commit)
        self._stands = lru_cache(maxsize=4096)(self._read_standing)
        self._keys = lru_cache(maxsize=4096)(self._standing_keys)
        self._changed = lru_cache(maxsize=4096)(self._read_changed)
        self._went: dict[tuple[str, str], str] = {}
        self._gone: set[str] = set()
        # What became of claims that leave, told by commits that are not told yet: by the name of the claim
        # that it is now.
        self._untold: dict[str, tuple[Fate, ...]] = {}

    def rebuild(self) -> str:
        """Makes all of it; returns what stands for the tip."""
        self._follow()
        for oid in self.order:
            made = self._made(self._commit(oid))
            if made != oid:
                self.now[oid] = made
        return self.now.get(self.tip, self.tip)

    def with_held(self, onto: str, paths: set[str]) -> tuple[str, dict[str, str]]:
        """Puts what is held back on top of what leaves, by the commits that brought it.

        Returns:
            The commit; and commits as they were to those that stand for them on top.
        """
        repo, tip, tree = self.repo, onto, self._commit(onto).tree
        single = (oid for oid in self.order if len(self._commit(oid).parents) < 2)
        bringing = [oid for oid in single if paths & self._changed(oid)] or [self.tip]
        now: dict[str, str] = {}
        for oid in bringing:
            commit = self._commit(oid)
            edits = {path: read_file(repo, commit.tree, path) for path in paths & self._changed(oid)}
            with repo.together():
                fresh = write_tree(repo, tree, edits)
            if oid == bringing[-1]:
                fresh = self._commit(self.tip).tree
            if fresh != tree:
                tree = fresh
                tip = repo.add_commit(tree, (tip,), commit.author, commit.committer, commit.message)
            now[oid] = tip
        return tip, now

    def _follow(self) -> None:
        """Finds which earlier claims were made into what stands, and into which file: as blame does."""
        ours = frozenset(self.order)
        steps = (
            (self._commit(oid), one) for oid in reversed(self.order) for one in self._commit(oid).parents
        )
        for commit, parent in steps:
            before, first = self._commit(parent).tree, parent == commit.parents[0]
            changed = self._changed(commit.oid) if first else changed_files(self.repo, before, commit.tree)
            memories = set(filter(is_memory, changed))
            if len(commit.parents) > 1:
                # A merge, too, puts what one side wrote where the other has renamed the memory to.
                gone = any(self.repo.entry(commit.tree, path) is None for path in memories)
                memories = memories if gone and parent in ours else set()
            if not memories:
                continue
            old, new = (
                {
                    path: claims_at(path, data)
                    for path, data in read_paths(self.repo, tree, memories).items()
                }
                for tree in (before, commit.tree)
            )
            fates = [fate for fate in parse(commit.message).claims if fate.kind in ("kept", "merged")]
            for path, claims in new.items():
                had = {claim.key for place in _places(path) for claim in old.get(place, ())}
                for claim in claims:
                    target = self._target(path, claim.key)
                    if target is None or claim.key in had:
                        continue
                    for source in fates:
                        if source.target == reference(path, claim):
                            self._came(before, source.source, target)
                    for other, earlier in old.items():
                        gone = all(one.key != claim.key for one in new.get(other, ()))
                        if other != path and gone and any(one.key == claim.key for one in earlier):
                            self._note(other, claim.key, target)

    def _came(self, tree: str, source: str, target: str) -> None:
        for place in _places(path_of(source)):
            data = read_file(self.repo, tree, place) if is_memory(place) else None
            for claim in claims_at(place, data) if data is not None else ():
                if claim.short == source[-HASH_LENGTH:]:
                    self._note(place, claim.key, target)

    def _note(self, path: str, key: str, target: str) -> None:
        if self._target(path, key) is None:
            trees = (self.tree, *self._there)
            stays = any(self.repo.entry(tree, place) for place in _places(path) for tree in trees)
            self._went[path, key] = path if stays else target

    def _target(self, path: str, key: str) -> str | None:
        """The file of what leaves that a claim of a file is in, or went into; None for one that went."""
        if any(key in self._keys(place) for place in _places(path)):
            return path
        return self._went.get((path, key))

    def _read_standing(self, path: str) -> bytes | None:
        return read_file(self.repo, self.tree, path)

    def _standing_keys(self, path: str) -> frozenset[str]:
        data = self._stands(path)
        return frozenset(claim.key for claim in claims_at(path, data)) if data is not None else frozenset()

    def _read_changed(self, oid: str) -> frozenset[str]:
        commit = self._commit(oid)
        before = self._commit(commit.parents[0]).tree if commit.parents else None
        return frozenset(changed_files(self.repo, before, commit.tree))

    def _made(self, commit: Commit) -> str:
        """What stands for a commit in the history that leaves."""
        if commit.oid == root_name(self.repo):
            return commit.oid
        parents = self._parents(commit)
        first = base = None
        if commit.parents:
            before = commit.parents[0]
            first, base = (self._commit(oid).tree for oid in (before, self.now.get(before, before)))
        tree, whole = self._tree_of(commit, first, base)
        words = commit.message
        if not whole or self._tells(words):
            words = self._neutral(commit, first, base, tree)
        cut = (not whole or words != commit.message) and not _is_merge(commit)
        if cut:
            self.cut.add(commit.oid)
        elif tree == commit.tree and parents == commit.parents:
            return commit.oid
        stays = len(parents) == 1 and tree == self._commit(parents[0]).tree
        if stays and (commit.tree != first or len(commit.parents) > 1):
            self._gone.add(commit.oid)
            return parents[0]
        if not parents and not self.repo.tree(tree):
            return root_name(self.repo)
        message = self._with_names(words)
        made = self.repo.add_commit(tree, parents, commit.author, commit.committer, message)
        if cut:
            self.differ[made] = commit.oid
        return made

    def _parents(self, commit: Commit) -> tuple[str, ...]:
        """The parents as they are now, without those that another one holds."""
        now = tuple(dict.fromkeys(self.now.get(parent, parent) for parent in commit.parents))
        if len(now) > 1 and now != commit.parents:
            now = tuple(
                one
                for one in now
                if not any(one != other and self.repo.is_ancestor(one, other) for other in now)
            )
            if _is_merge(commit) and commit.parents == tuple(sorted(commit.parents)):
                now = tuple(sorted(now))
        return now

    def _tree_of(self, commit: Commit, first: str | None, base: str | None) -> tuple[str, bool]:
        """The tree of a commit as it may leave, and whether that tells all that the commit changed.

        Args:
            first, base: the tree of its first parent, as it was and as it leaves.
        """
        repo, changed = self.repo, self._changed(commit.oid)
        edits: dict[str, bytes | None] = {}
        paths = {place for one in changed for place in (one, *self._into.get(one, ()))}
        for path in sorted(paths - self._waiting(commit)):
            public = read_file(repo, base, path) if base else None
            given = ExcerptQuery(self._standing_at(path), public, self._became.get(path, frozenset()))
            if (known := self._known(commit.tree, path, base)) is not None:
                data: bytes | None = known
            else:
                before, after = self._then(first, path), self._then(commit.tree, path)
                data = portion(path, given, after)
                later = data is None and given.stands is None
                if after and (later or data == portion(path, given, before)):
                    # What may leave of it is as it was; or it goes later on, and stays until then.
                    data = public
            if data != public:
                edits[path] = data
        if commit.oid == self.tip:
            tree = self.tree
        elif base == first and edits == {path: read_file(repo, commit.tree, path) for path in changed}:
            tree = commit.tree
        else:
            with repo.together():
                tree = write_tree(repo, base, edits)
        whole = (tree == commit.tree and base == first) or self._tells_all(commit, first, base, tree)
        return tree, whole

    def _tells_all(self, commit: Commit, first: str | None, base: str | None, tree: str) -> bool:
        """Whether all that a commit brought and took is brought and taken by what is made of it."""
        paths = {place for one in self._changed(commit.oid) for place in (one, *self._into.get(one, ()))}
        old, new, before, after = (
            said(read_paths(self.repo, one, paths).items()) if one else Excerpt()
            for one in (first, commit.tree, base, tree)
        )
        return new.without(old).within(after) and old.without(new).within(before)

    @cached_property
    def _into(self) -> dict[str, set[str]]:
        """Files to those into which claims of theirs went."""
        found: dict[str, set[str]] = {}
        for (path, _), target in self._went.items():
            found.setdefault(path, set()).add(target)
        return found

    @cached_property
    def _became(self) -> dict[str, frozenset[tuple[str, str]]]:
        found: dict[str, set[tuple[str, str]]] = {}
        for source, target in self._went.items():
            found.setdefault(target, set()).add(source)
        return {target: frozenset(sources) for target, sources in found.items()}

    def _then(self, tree: str | None, path: str) -> dict[str, bytes]:
        """A file of a tree, and those of which claims went into it later."""
        sources = {place for place, _ in self._became.get(path, ())}
        return read_paths(self.repo, tree, {path, *sources}) if tree else {}

    def _known(self, tree: str, path: str, base: str | None) -> bytes | None:
        """A file that the remote has as it is, under a name that it has."""
        entry = self.repo.entry(tree, path)
        if entry is None or entry.mode not in (BLOB, EXECUTABLE) or entry.oid in self._fresh:
            return None
        named = any(self.repo.entry(there, path) for there in (*([base] if base else []), *self._there))
        return self.repo.blob(entry.oid) if named else None

    def _standing_at(self, path: str) -> bytes | None:
        return next((data for place in _places(path) if (data := self._stands(place)) is not None), None)

    def _neutral(self, commit: Commit, first: str | None, base: str | None, tree: str) -> str:
        """The message of a commit that says nothing of what does not leave."""
        if _is_merge(commit):
            return commit.message
        told = parse(commit.message)
        changed = changed_files(self.repo, base, tree)
        edits = dict.fromkeys(changed) | read_paths(self.repo, tree, changed)
        subject = describe(edits, read_paths(self.repo, base, changed) if base else {})[1]
        kept = replace(
            told,
            job="" if told.job.startswith(MOVE_JOB) else told.job,
            claims=tuple(self._fates(told.claims, first, base, tree)),
        )
        return format_message(subject if not self._tells(subject) else "Update memory", kept)

    def _fates(
        self, told: Iterable[Fate], first: str | None, base: str | None, tree: str
    ) -> Iterator[Fate]:
        """What became of claims, where what leaves had them, by the names that they have there.

        What is not so yet in what leaves is told by the commit that makes it so.
        """
        for fate in told:
            now = replace(fate, reason="" if self._tells(fate.reason) else fate.reason)
            here = self._source(fate.source, first, base)
            earlier = self._untold.pop(fate.source, ())
            made = (replace(now, source=here),) if here else tuple(_then(one, now) for one in earlier)
            self._untold[fate.target] = (*self._untold.get(fate.target, ()), *made)
        for target, fates in tuple(self._untold.items()):
            if not target or self._claim(tree, target) is not None:
                del self._untold[target]
                yield from (one for one in fates if self._claim(tree, one.source) is None)

    def _source(self, name: str, first: str | None, base: str | None) -> str | None:
        """A claim's name in what leaves; None where that does not have it."""
        claim = self._claim(first, name)
        if claim is None:
            return None
        source = reference(self._target(path_of(name), claim.key) or path_of(name), claim)
        return source if self._claim(base, source) else None

    def _waiting(self, commit: Commit) -> set[str]:
        """Files that stay as they are, since what a claim of theirs went into does not leave."""
        fates = [*parse(commit.message).claims, *(one for some in self._untold.values() for one in some)]
        found: set[str] = set()
        for fate in fates if commit.oid != self.tip else ():
            claim = self._claim(commit.tree, fate.target) if fate.target else None
            if claim and self._target(path_of(fate.target), claim.key) is None:
                found |= {path_of(fate.source), path_of(fate.target)}
        return found

    def _claim(self, tree: str | None, name: str) -> Claim | None:
        for place in _places(path_of(name)) if tree else ():
            data = read_file(self.repo, tree or "", place)
            for claim in claims_at(place, data) if data is not None else ():
                if claim.short == name[-HASH_LENGTH:]:
                    return claim
        return None

    def _tells(self, text: str) -> bool:
        """Whether a text names, or says, what does not leave."""
        names, texts = self._hidden
        return bool(names and names.search(text)) or texts.holds(text.encode("utf-8", "surrogateescape"))

    @cached_property
    def _hidden(self) -> tuple[re.Pattern[str] | None, Purge]:
        """Names, and texts, that only history which does not leave has."""
        files = list_files(self.repo, self.tree)
        fresh = {path for path, oid in files.items() if oid in self._fresh}
        public = said(read_paths(self.repo, self.tree, fresh).items())
        names: set[str] = set()
        texts: set[str] = set()
        for oid in self.order:
            for path, data in read_paths(
                self.repo, self._commit(oid).tree, set(self._changed(oid))
            ).items():
                hidden = said([(path, data)]).without(public)
                names |= hidden.names
                texts |= hidden.texts
        if names:
            known = {path for tree in self._there for path in list_files(self.repo, tree)}
            names -= {path.rpartition("/")[2].removesuffix(".md") for path in {*known, *files}}
        found = "|".join(re.escape(name) for name in sorted(names) if name.strip())
        pattern = re.compile(rf"(?<![\w-])(?:{found})(?![\w-])", re.IGNORECASE) if found else None
        long = (text for text in texts if len("".join(text.split())) >= LEAST_CHARACTERS)
        return pattern, Purge(frozenset(long))

    def _with_names(self, message: str) -> str:
        """A message with the commits that it names as they are now; an undo of what is gone names none."""

        def undone(match: re.Match[str]) -> str:
            found = self._full(match[1])
            return "" if found in self._gone else match[0]

        def renamed(match: re.Match[str]) -> str:
            made = self.now.get(self._full(match[0]))
            return made[: len(match[0])] if made else match[0]

        return _COMMIT.sub(renamed, _UNDOES.sub(undone, message))

    def _full(self, name: str) -> str:
        return next((oid for oid in self.order if oid.startswith(name)), "")


def _then(one: Fate, later: Fate) -> Fate:
    """What became of a claim that went into another one, of which a later commit tells."""
    kinds = {fate.kind for fate in (one, later)} - {"kept"}
    kind = later.kind if later.kind == "dropped" or len(kinds) < 2 else "superseded"
    reasons = dict.fromkeys(filter(None, (one.reason, later.reason)))
    return Fate(kind, one.source, later.target, "; ".join(reasons))


def _places(path: str) -> tuple[str, ...]:
    """A file's path, and its other place: hot or archived."""
    other = hot_path(path) or archived_path(path)
    return (path, other) if other else (path,)


def _is_merge(commit: Commit) -> bool:
    """Whether it is gitmem's own merge of two histories, whose message says nothing."""
    said = format_message(MERGED, Provenance(op="merge", writer="sync"))
    return len(commit.parents) > 1 and commit.message.strip() == said.strip()


def depart(repo: Repository, ref: str, old: str, prepared: Prepared) -> None:
    """Moves a memory ref from a commit to what was prepared of it; what it told before is kept here.

    Raises:
        RefMoved: it is elsewhere by now; nothing was done.
    """
    if prepared.local == old:
        return
    kept = keep(repo, old, prepared.made) if prepared.loses else ""
    try:
        land_commit(repo, ref, prepared.local, old, MESSAGE)
    except RefMoved:
        if kept:
            move_ref(repo, kept, None, repo.ref(kept), MESSAGE)
        raise
    for family in SIDES:
        for side, oid in repo.refs(family).items():
            # One that cannot be read, or moved meanwhile, is for a person to look at.
            with suppress(MissingObject, RefMoved):
                made = _carried(repo, oid, old, prepared)
                if made != oid:
                    move_ref(repo, side, made, oid, MESSAGE)


def _carried(repo: Repository, side: str, old: str, prepared: Prepared) -> str:
    """A side branch on what stands for the commits that it left the memory ref at."""
    words = ["rev-list", "--topo-order", "--reverse", side, "--not", old, "--"]
    now = dict(prepared.now)
    for oid in repo.git.run(words, git_dir=repo.git_dir).text.split():
        commit = repo.commit(oid)
        parents = tuple(now.get(parent, parent) for parent in commit.parents)
        if parents != commit.parents:
            now[oid] = _replayed(repo, commit, parents)
    return now.get(side, side)


def _replayed(repo: Repository, commit: Commit, parents: tuple[str, ...]) -> str:
    before, onto = (repo.commit(oid).tree for oid in (commit.parents[0], parents[0]))
    sources = {path_of(fate.source) for fate in parse(commit.message).claims}
    if any(_is_gone(repo, path, before, onto) for path in filter(is_memory, sources)):
        # It is about what others are not to see.
        return parents[0]
    merged = merge_of_trees(repo, before, onto, commit.tree).tree
    gone = [path for path in changed_files(repo, before, commit.tree) if _is_gone(repo, path, before, onto)]
    if gone:
        with repo.together():
            merged = write_tree(repo, merged, dict.fromkeys(gone))
    return repo.add_commit(merged, parents, commit.author, commit.committer, commit.message)


def _is_gone(repo: Repository, path: str, before: str, onto: str) -> bool:
    """Whether a file that was there is in neither of its places in what is shared."""
    stood = read_file(repo, before, path) is not None
    return stood and all(read_file(repo, onto, place) is None for place in homes(path))
