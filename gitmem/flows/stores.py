"""A scope and a hosted memory store brought together: what changed there merged, what changed here sent.

The base of the merge is what the store held when it was last seen, so a claim that one side added stays,
and one that one side deleted goes on the other. Each write names the content that it replaces: where
somebody else wrote meanwhile nothing is written, and all of it is done again on what is there by then.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gitmem.core.errors import CheckFailed, EngineError
from gitmem.core.limits import MEMORY_BYTES
from gitmem.core.memory import parse
from gitmem.core.merge import only
from gitmem.core.names import hot_path
from gitmem.core.text import counted, decode, iso
from gitmem.core.trailers import Provenance
from gitmem.engines.stores import STORE_MEMORIES, Conflict, NotTaken, StoreClient, StoreMemory, digest
from gitmem.flows.context import Edges
from gitmem.flows.engines import api_settings, choice_for
from gitmem.flows.save import copies_of, save_all
from gitmem.git.history import touching
from gitmem.git.locks import writer_lock
from gitmem.git.trees import changed_files, read_all, read_file, read_paths, write_tree
from gitmem.ledger.arrival import exchange
from gitmem.ledger.indexes import with_indexes
from gitmem.ledger.land import ROOT_SIGNATURE, Tip, Write, land, read_tip
from gitmem.ledger.merge import MergedCommit, merge_of_trees
from gitmem.ledger.push_plan import Leaving, memories
from gitmem.ledger.save_plan import VANISHED
from gitmem.ledger.stores import (
    HostedStore,
    Seen,
    last_seen,
    mark,
    note_seen,
    path_there,
    places,
    standing,
    store_ref,
)
from gitmem.ledger.workspace import Workspace
from gitmem.rules.profiles import judge_files
from gitmem.rules.rule import Finding, Profile
from gitmem.rules.screen import new_warnings
from gitmem.transcripts.privacy import without_private

if TYPE_CHECKING:
    from gitmem.git.repository import Repository

TRIES = 8
"""Times that somebody else may be quicker."""

NAMED = 50
"""Changes of which a commit says who made them."""

SLACK = 300.0
"""Seconds by which a server's clock may be behind."""

HELD = ("secret", "path", "size", "instruction", "invisible", "encoding")
"""Rules of a write and of a request that one memory alone can break; one that does goes neither way."""


@dataclass(frozen=True)
class StoreOptions:
    """What an exchange is to do.

    Attributes:
        ask: whether these memories, which leave for the first time, may.
        pause: waits after a lost race; called with the number of races lost so far, from 1.
        pull, push: whether to take in, and to send.
        dry_run: look there and here, and tell what would be done.
        tell: is told what is being done, for who watches.
    """

    ask: Callable[[tuple[Leaving, ...]], bool]
    pause: Callable[[int], None]
    pull: bool = True
    push: bool = True
    dry_run: bool = False
    tell: Callable[[str], None] = lambda _: None


@dataclass(frozen=True)
class Exchanged:
    """What an exchange did, or with `dry_run` would do.

    Attributes:
        fetched: paths here that what came changed.
        both: those of them whose content is neither side's.
        deleted: memories that went here, since they went there.
        sent: memories that were added or changed there.
        removed: memories that were deleted there, since they went here.
        leaves: memories that leave for the first time.
        held: those of them that were not sent because nobody agreed.
        kept_out: path in the store to why what it holds is not taken in; hostile text. It stays there as it
            is, and nothing is sent to it.
        kept_back: path here to why it is not sent.
        passed: path in the store to why it has no place here; hostile text.
        restored: memories that vanished there with too many others, and were put back.
        doubts: what may be a secret in what is sent, and is stored all the same.
        buried: (path, text) of claims that a tombstone took.
        split: files that moved aside because two wanted one path.
        before: commit of the scope before anything was merged; empty where nothing was.
        lost: races lost on the way.
    """

    store: HostedStore
    fetched: tuple[str, ...] = ()
    both: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    sent: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    leaves: tuple[Leaving, ...] = ()
    held: tuple[Leaving, ...] = ()
    kept_out: Mapping[str, str] = field(default_factory=dict)
    kept_back: Mapping[str, str] = field(default_factory=dict)
    passed: Mapping[str, str] = field(default_factory=dict)
    restored: tuple[str, ...] = ()
    doubts: tuple[Finding, ...] = ()
    buried: tuple[tuple[str, str], ...] = ()
    split: tuple[str, ...] = ()
    before: str = ""
    lost: int = 0


def store_client(workspace: Workspace, edges: Edges) -> StoreClient:
    """Whoever asks the server, with the person's own key and address.

    Raises:
        EngineError: there is no key, or the address cannot be used.
    """
    chosen = choice_for(workspace, edges, "anthropic")
    if chosen.missing:
        raise EngineError(
            f"No memory store can be asked: {'; '.join(one.what for one in chosen.missing)}",
            " ".join(f"{one.remedy.rstrip('.')}." for one in chosen.missing),
        )
    return StoreClient(api_settings(chosen))


def exchange_with(
    workspace: Workspace, edges: Edges, store: HostedStore, client: StoreClient, options: StoreOptions
) -> Exchanged:
    """Merges what changed in a store into its scope, and sends what changed here.

    Raises:
        CheckFailed: only sending was asked for, and the store has what is not here.
        EngineError: the server cannot be asked; what was done until then is noted.
        RepositoryError: the scope cannot be written, or the store kept moving.
    """
    scope = workspace.scope(store.scope)
    with writer_lock(scope.state, f"store-{store.id}", timeout=120.0):
        if not options.dry_run:
            save_all(workspace, edges)
        work = _Exchange(workspace, edges, store, client, options)
        lost = exchange(work.round, TRIES, options.pause, store.name)
        options.tell("")
        return replace(work.done, lost=lost)


@dataclass
class _There:
    """The store as it is seen in one round.

    Attributes:
        listed: path here to the memory there.
        files: what is other there than when it was last seen: path here to content, None for what is gone.
        kept_out: paths here of what is not taken in, and is not written to.
        joined: paths here of what was merged with a memory that never was there: until that leaves, which
            is asked for, they are as good as not seen.
    """

    listed: dict[str, StoreMemory]
    files: dict[str, bytes | None]
    kept_out: set[str]
    joined: set[str] = field(default_factory=set)

    @property
    def marks(self) -> set[str]:
        unseen = self.kept_out | self.joined
        return {mark(one.path, one.sha) for path, one in self.listed.items() if path not in unseen}

    @property
    def noted(self) -> dict[str, bytes | None]:
        """What was seen, for the next merge to begin from."""
        return {path: data for path, data in self.files.items() if path not in self.joined}


class _Exchange:
    """One run: collects what `exchange_with` returns."""

    def __init__(
        self,
        workspace: Workspace,
        edges: Edges,
        store: HostedStore,
        client: StoreClient,
        options: StoreOptions,
    ) -> None:
        self.workspace, self.edges, self.store = workspace, edges, store
        self.client, self.options = client, options
        self.scope = workspace.scope(store.scope)
        self.repo: Repository = self.scope.repo
        self.ref = store_ref(workspace, store)
        self.base = self._seen()
        self.done = Exchanged(store)
        self.agreed: set[Leaving] = set()

    def _seen(self) -> Seen:
        """What the store held, less what this scope never had: one that was begun anew deleted nothing."""
        base, tip = last_seen(self.repo, self.ref), read_tip(self.repo, self.scope.ref)
        here, _ = standing(self.repo, tip.tree)
        absent = [path for path in self.repo.files(base.tree) if path_there(path) and path not in here]
        if not absent:
            return base
        had = {path for touch in touching(self.repo, tip.commit, absent) for path in touch.paths}
        if had.issuperset(absent):
            return base
        tree = write_tree(self.repo, base.tree, dict.fromkeys({*absent} - had))
        return replace(base, tree=tree, marks=frozenset())

    def round(self) -> bool:
        """Looks, merges and sends; False where somebody else was quicker."""
        self.options.tell(f"looking at {self.store.name}")
        try:
            there = self._look()
        except Conflict:
            return False
        tip = self._merged(there) if self.options.pull else self._standing(there)
        return self._send(there, tip) if self.options.push else True

    def _look(self) -> _There:
        """What the store holds, as far as it may become memory here."""
        listed, passed = places(self.client.listing(self.store.id))
        before = self.repo.files(self.base.tree)
        kept_out: dict[str, str] = {}
        fresh: dict[str, bytes] = {}
        unknown = {p: one for p, one in listed.items() if mark(one.path, one.sha) not in self.base.marks}
        for path, one in unknown.items():
            if one.size > MEMORY_BYTES:
                kept_out[path] = f"is larger than {MEMORY_BYTES:,} bytes"
        wanted = [one.id for path, one in unknown.items() if path not in kept_out]
        for one, data in self.client.contents(self.store.id, wanted):
            # What is read may be newer than what was listed.
            path = next(iter(places([one])[0]), "")
            if path not in unknown or unknown[path].id != one.id:
                raise Conflict(f"{one.id} was renamed meanwhile")
            listed[path], fresh[path] = one, data
        gone = [path for path in before if path_there(path) and path not in listed]
        restored = self._vanished(gone, len(before))
        known = read_all(self.repo, {path: before[path] for path in fresh.keys() & before.keys()})
        kept_out |= refused(known, fresh, self.store.scope, self.workspace.allowed)
        files: dict[str, bytes | None] = {p: data for p, data in fresh.items() if p not in kept_out}
        self.done = replace(
            self.done,
            passed=passed,
            kept_out={listed[path].path: why for path, why in sorted(kept_out.items())},
            restored=restored,
        )
        left = (path for path in gone if path not in restored)
        return _There(listed, files | dict.fromkeys(left), set(kept_out))

    def _vanished(self, gone: Collection[str], of: int) -> tuple[str, ...]:
        """Of memories that went there, those that stay: too many at once are no decision, as in a folder.

        Args:
            of: how many there were.
        """
        if not gone:
            return ()
        here, _ = standing(self.repo, read_tip(self.repo, self.scope.ref).tree)
        held = tuple(path for path in gone if path in here)
        return held if len(held) > max(VANISHED, of // 10) else ()

    def _standing(self, there: _There) -> Tip:
        """The scope as it is, where nothing is to be taken in."""
        tip = read_tip(self.repo, self.scope.ref)
        if any(read_file(self.repo, tip.tree, path) != data for path, data in there.files.items()):
            name = self.store.name
            raise CheckFailed(f"{name} has memory that is not here", f"Run: git mem sync {name}")
        if not self.options.dry_run:
            self._note(there, there.files)
        return tip

    def _note(self, there: _There, edits: Mapping[str, bytes | None]) -> None:
        self.base = note_seen(self.repo, self.ref, self.base, edits, there.marks, self.edges.now)

    def _merged(self, there: _There) -> Tip:
        """Lands what changed in the store; returns where the scope stands then."""
        self.options.tell("merging")
        repo, files = self.repo, there.files
        with repo.together():
            theirs = write_tree(repo, self.base.tree, files)
        first = read_tip(repo, self.scope.ref)
        if self.options.dry_run:
            merged = merge_of_trees(repo, self.base.tree, first.tree, theirs)
            self._note_merge(first, merged, there)
            return Tip(first.commit, merged.tree)
        body = self._told(files)

        def plan(tip: Tip) -> Write | None:
            merged = merge_of_trees(repo, self.base.tree, tip.tree, theirs)
            changed = changed_files(repo, tip.tree, merged.tree)
            self._note_merge(tip, merged, there)
            if not changed:
                return None
            now = read_paths(repo, merged.tree, changed)
            edits = with_indexes(repo, tip.tree, {path: now.get(path) for path in sorted(changed)})
            subject = f"Take in {counted(len(files), 'change')} of the store {self.store.name}"
            return Write(edits, subject, Provenance(op="sync", writer="sync"), body)

        # No person of this clone taught it: the body says who did, as far as the store tells.
        who = replace(ROOT_SIGNATURE, time=int(self.edges.now))
        written = land(self.scope, plan, who, copies_of(self.workspace, self.edges))
        if written:
            self.done = replace(self.done, before=self.done.before or written.before)
        self._note(there, there.noted)
        return read_tip(repo, self.scope.ref)

    def _note_merge(self, tip: Tip, merged: MergedCommit, there: _There) -> None:
        files = there.files
        before, _ = standing(self.repo, tip.tree)
        after, _ = standing(self.repo, merged.tree)
        fresh = {path for path in files.keys() & before.keys() & after.keys() if files[path] is not None}
        fresh -= self.repo.files(self.base.tree).keys()
        stands = read_paths(self.repo, merged.tree, {after[path] for path in fresh})
        there.joined = {path for path in fresh if stands[after[path]] != files[path]}
        changed = changed_files(self.repo, tip.tree, merged.tree)
        stays = read_paths(self.repo, merged.tree, changed).keys()
        done = self.done
        fetched = {*done.fetched, *(path for path in changed & stays if path_there(path))}
        deleted = {*done.deleted, *(path for path in changed - stays if files.get(path, b"") is None)}
        self.done = replace(
            done,
            fetched=tuple(sorted(fetched)),
            deleted=tuple(sorted(deleted)),
            both=tuple(sorted({*done.both, *(path for path in merged.both if path_there(path))})),
            buried=tuple(dict.fromkeys((*done.buried, *merged.buried))),
            split=tuple(dict.fromkeys((*done.split, *merged.split))),
        )

    def _told(self, files: Mapping[str, bytes | None]) -> str:
        """Who changed what, as the store tells it; empty where it does not, and at first sight."""
        who: Mapping[str, str] = {}
        if files and self.base.time:
            with suppress(EngineError):
                who = self.client.writers(self.store.id, iso(self.base.time - SLACK))
        lines = []
        for path in sorted(files)[:NAMED]:
            said = next((what for there in _written(path) if (what := who.get(there))), "")
            lines.append(f"- {path}: {said or ('gone' if files[path] is None else 'changed')}")
        if len(files) > NAMED:
            lines.append(f"- and {len(files) - NAMED} more")
        return "\n".join(lines)

    def _send(self, there: _There, tip: Tip) -> bool:
        """Writes what is other here; False where somebody else was quicker."""
        here, unfitting = standing(self.repo, tip.tree)
        data = {path: read_file(self.repo, tip.tree, at) or b"" for path, at in here.items()}
        fresh = {
            path: text
            for path, text in data.items()
            if path not in there.kept_out
            and not (path in there.listed and there.listed[path].sha == digest(text))
        }
        before = read_paths(self.repo, self.base.tree, fresh.keys())
        kept_back = unfitting | refused(before, fresh, self.store.scope, self.workspace.allowed)
        kept_back |= {path: why for path in fresh if (why := unstorable(path, fresh[path]))}
        new = [path for path in fresh if path not in there.listed and path not in kept_back]
        room = STORE_MEMORIES - len(there.listed)
        for path in new[max(room, 0) :]:
            kept_back[path] = f"has no room: a store holds {STORE_MEMORIES:,} memories"
        ready = {path: text for path, text in fresh.items() if path not in kept_back}
        new_there = {here[path] for path in ready if path not in there.listed or path in there.joined}
        held = self._held(tip, new_there, data.keys())
        ready = {path: text for path, text in ready.items() if here[path] not in {one.path for one in held}}
        removed = [path for path in there.listed if path not in here and path not in there.kept_out]
        allow = self.workspace.allowed
        self.done = replace(
            self.done, kept_back=kept_back, doubts=new_warnings(before, ready, allow), held=held
        )
        if self.options.dry_run:
            self._count(ready, removed)
            return True
        return self._write(there, ready, removed)

    def _held(self, tip: Tip, new: set[str], here: Collection[str]) -> tuple[Leaving, ...]:
        """Those that leave for the first time and that nobody agreed to."""
        repo = self.repo
        # One that was renamed has left before; so has one that vanished there and is put back.
        left = {path for path in repo.files(self.base.tree) if path not in here}
        known = {(one.agent, one.name) for one in memories(repo, self.base.tree, left)}
        new = {path for path in new if (hot_path(path) or path) not in self.done.restored}
        fresh = {one for one in memories(repo, tip.tree, new) if (one.agent, one.name) not in known}
        self.done = replace(self.done, leaves=tuple(sorted({*self.done.leaves, *fresh}, key=str)))
        unasked = tuple(sorted(fresh - self.agreed, key=str))
        if not unasked or self.options.dry_run:
            return ()
        if not self.options.ask(unasked):
            return unasked
        self.agreed.update(unasked)
        return ()

    def _write(self, there: _There, ready: Mapping[str, bytes], removed: Iterable[str]) -> bool:
        client, store = self.client, self.store.id
        done: dict[str, bytes | None] = {}
        refused: dict[str, str] = {}
        raced = False
        # What is added comes before what goes: whoever reads there meanwhile misses nothing.
        todo: list[tuple[str, bytes | None]] = [*ready.items(), *((path, None) for path in removed)]
        try:
            for number, (path, text) in enumerate(todo, start=1):
                self.options.tell(f"sending {number} of {len(todo)} to {self.store.name}")
                known = there.listed.get(path)
                try:
                    if known is None:
                        there.listed[path] = client.create(store, path_there(path) or "", text or b"")
                    elif text is None:
                        client.delete(store, known)
                        del there.listed[path]
                    else:
                        there.listed[path] = client.update(store, known, text)
                except Conflict:
                    raced = True
                    continue
                except NotTaken as no:
                    refused[path] = f"is refused there: {no}"
                    continue
                done[path] = text
                there.joined.discard(path)
        finally:
            self._count((path for path, text in done.items() if text is not None), ())
            self._count((), (path for path, text in done.items() if text is None))
            self.done = replace(self.done, kept_back={**self.done.kept_back, **refused})
            if done:
                self._note(there, done)
        return not raced

    def _count(self, sent: Iterable[str], removed: Iterable[str]) -> None:
        self.done = replace(
            self.done,
            sent=tuple(sorted({*self.done.sent, *sent})),
            removed=tuple(sorted({*self.done.removed, *removed})),
        )


def refused(
    before: Mapping[str, bytes], after: Mapping[str, bytes], scope: str, allow: frozenset[str]
) -> dict[str, str]:
    """The memories of these that go neither into a store nor out of one, and why.

    Args:
        before: what stands already where they go, as far as it is known.
        scope: whose memory it is.
        allow: fingerprints of secrets that a person accepted.

    Raises:
        DetectorUnavailable: nothing can be said about secrets.
    """
    found: dict[str, str] = {}
    profiles: tuple[Profile, ...] = ("write", "request")
    for profile in profiles:
        for one in _wrong(profile, before, after, allow):
            found.setdefault(one.path, one.message)
    for path, data in after.items():
        text = decode(data)
        if "\0" in text:
            found.setdefault(path, "is no text")
        if without_private([text]) != [text]:
            found.setdefault(path, "holds a <private> span")
        if scope == "project" and parse(path, data).type == "user":
            found.setdefault(path, "is about a person, so never the project's")
    return found


def _wrong(
    profile: Profile, before: Mapping[str, bytes], after: Mapping[str, bytes], allow: frozenset[str]
) -> list[Finding]:
    found = judge_files(profile, before, after, allow)
    wrong = [one for one in found if one.level == "error" and one.rule in HELD]
    if all(one.path in after for one in wrong):
        return wrong
    # A finding shows no secret, so not the path that holds one: whose it is, fewer at a time tell.
    if len(after) == 1:
        return [replace(one, path=path) for path in after for one in wrong]
    paths = sorted(after)
    halves = paths[: len(paths) // 2], paths[len(paths) // 2 :]
    return [one for half in halves for one in _wrong(profile, only(before, half), only(after, half), allow)]


def unstorable(path: str, data: bytes) -> str:
    """Why no store can hold a memory; empty where one can."""
    if any(unicodedata.category(char) == "Cf" for char in path):
        return "has a name with an invisible character, which no path in a store may hold"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "is not UTF-8"
    return ""


def _written(path: str) -> tuple[str, str]:
    """The paths at which a store may have what stands at a path here."""
    return f"/{path}", f"/{path.partition('/')[2]}"
