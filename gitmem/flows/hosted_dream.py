"""A hosted dream as an engine: begun on a store, waited for, and what it wrote taken as proposed changes.

It runs where the store is, on sessions that are there, and writes into a store of its own. What comes back
is a tree and an account, and neither is believed: it is merged with what memory learned meanwhile, cut into
groups of files that have to do with one another, and each group that can be accounted for goes on as any
engine's changes do: pruned, proved, made a branch, reviewed. The others stay as they are, and are named.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace

from gitmem.core.account import is_memory, references
from gitmem.core.errors import EngineError, MissingObject, UsageError
from gitmem.core.limits import MEMORY_BYTES
from gitmem.core.merge import Files, merge_trees, only
from gitmem.core.names import FORMAT_FILE, agent_folder
from gitmem.core.text import counted, decode, one_line
from gitmem.core.trailers import Usage
from gitmem.engines import prompts
from gitmem.engines.consolidation import UnaccountedError, derive_dream
from gitmem.engines.engine import ConsolidateInput, Consolidation, DreamChange, DreamProgress, Tell, untold
from gitmem.engines.fates import REWORDED, entries, objects, share
from gitmem.engines.messages import ApiError
from gitmem.engines.offline import OfflineEngine
from gitmem.engines.stores import ENDED, NOTHING_LOST, HostedDream, StoreClient, digest, is_id
from gitmem.flows.context import Edges
from gitmem.flows.engines import meter_for
from gitmem.flows.stores import StoreOptions, exchange_with
from gitmem.git.trees import read_files
from gitmem.ledger.stores import HostedStore, last_seen, note_dream, places, store_ref
from gitmem.ledger.workspace import Workspace

MODEL = "claude-sonnet-5"
"""Asked where no `gitmem.model` is set: the default of other jobs is none that dreams take (documented)."""

POLL = 15.0
"""Seconds between two looks at a dream, which takes minutes."""

LOOKS = 240
"""Looks of one command, an hour; the dream goes on, and the next command looks on."""

ACCOUNT = "main/dream-account.md"
"""Where a dream's account stands here: at the root of the store that it wrote."""

_QUOTED = re.compile(r"“[^”]*”")


@dataclass(frozen=True)
class Dreamt:
    """What a hosted dream wrote.

    Attributes:
        before: what the store held when it began: path in the scope's tree to content.
        after: what it made of that, without the account.
        account: its account as it wrote it; hostile text.
        passed: path in its store to why that has no place here; hostile text.
    """

    dream: HostedDream
    before: Files
    after: Files
    account: str
    passed: Mapping[str, str]


def begin(
    workspace: Workspace,
    edges: Edges,
    store: HostedStore,
    client: StoreClient,
    sessions: Sequence[str],
    options: StoreOptions,
) -> HostedStore:
    """Takes in what the store holds and has a dream begin on it; one that is under way goes on.

    What was asked for is noted first, and its instructions end in a token: where the answer is lost, the
    dream, which is paid for, is found by that.

    Args:
        sessions: ids of hosted sessions that it reads; none for the newest that had the store.
        options: as for an exchange that only takes in.

    Raises:
        UsageError: there is no session for it to read, or an id is none.
        EngineError: the server does not begin it, or the day's ceiling is reached.
    """
    if store.dream:
        return store
    if bad := [one for one in sessions if not is_id(one)]:
        raise UsageError(f"{one_line(bad[0], 60)!r} is no id of a session", "It looks like sesn_01Abc.")
    token, _, given = store.asked.partition(" ")
    if token and (found := client.find_dream(token)):
        return note_dream(workspace, store, dream=f"{found} {given}")
    exchange_with(workspace, edges, store, client, replace(options, pull=True, push=False))
    read = tuple(dict.fromkeys(sessions)) or client.sessions(store.id)
    if not read:
        raise UsageError(
            f"No hosted session had {store.name}, and a dream reads one at least",
            f"Name one: git mem dream --store {store.name} --session ID",
        )
    meter = meter_for(workspace, edges)
    meter.begin()
    held = last_seen(workspace.scope(store.scope).repo, store_ref(workspace, store)).commit
    token, given = secrets.token_hex(8), f"{held} {_clone(workspace, store)}"
    store = note_dream(workspace, store, asked=f"{token} {given}")
    what = f"{prompts.text('hosted-dream')}\n\nRequest {token}."
    began = client.start_dream(store.id, read, _model(workspace), what)
    return note_dream(workspace, store, dream=f"{began.id} {given}")


def _clone(workspace: Workspace, store: HostedStore) -> str:
    """Which repository has what a dream was given: the clones of a project name its stores together."""
    return digest(str(workspace.scope(store.scope).state).encode())[:12]


@contextmanager
def _hinting(store: HostedStore) -> Iterator[None]:
    """Says how to give up a dream that the server does not have any more."""
    try:
        yield
    except ApiError as problem:
        if problem.kind != "engine-no-store":
            raise
        raise EngineError(problem.message, f"{problem.hint} {_give_up(store)}") from None


def _give_up(store: HostedStore) -> str:
    add = f"git mem remote add {store.name} --store {store.id} --scope {store.scope}"
    return f"To give it up: git mem remote remove {store.name}; {add}"


def wait(
    client: StoreClient, store: HostedStore, pause: Callable[[float], None], tell: Callable[[str], None]
) -> HostedDream:
    """Looks at the dream that is under way until it has ended.

    Raises:
        EngineError: it goes on; looked at again, it may have ended.
    """
    id = store.dream.partition(" ")[0]
    for look in range(LOOKS):
        with _hinting(store):
            dream = client.dream(id)
        if dream.status in ENDED:
            return dream
        tell(f"{store.name}: {id} is {one_line(dream.status, 20)}")
        if look < LOOKS - 1:
            pause(POLL)
    raise EngineError(f"{id} is still running", f"Look again later: git mem dream --store {store.name}")


def take(
    workspace: Workspace, edges: Edges, store: HostedStore, client: StoreClient, dream: HostedDream
) -> Dreamt:
    """Reads what a dream wrote; nothing of it is stored.

    Raises:
        EngineError: it came to nothing; it is under way no more.
    """
    if dream.status != "completed" or not dream.output:
        settle(workspace, edges, store, dream)
        why = f": {dream.error}" if dream.error else ""
        raise EngineError(f"{dream.id} is {one_line(dream.status, 20)}{why}", NOTHING_LOST)
    repo = workspace.scope(store.scope).repo
    _, held, clone = (*store.dream.split(" "), "", "")[:3]
    try:
        before = read_files(repo, repo.commit(held).tree)
    except MissingObject:
        if clone not in ("", _clone(workspace, store)):
            what = f"{dream.id} was begun in another clone of this repository, which has what it was given"
            raise EngineError(what, f"Look at it there. {_give_up(store)}") from None
        settle(workspace, edges, store, dream)
        what = f"what {dream.id} was given is no more, as after a purge: it is compared with nothing"
        raise EngineError(what, f"Begin another: git mem dream --store {store.name}") from None
    before.pop(FORMAT_FILE, None)
    with _hinting(store):
        found, passed = places(client.listing(dream.output))
    known = {digest(data): data for data in before.values()}
    after: dict[str, bytes] = {}
    wanted: dict[str, str] = {}
    for path, one in found.items():
        if one.sha in known:
            after[path] = known[one.sha]
        elif one.size > MEMORY_BYTES:
            passed[one.path] = f"is larger than {MEMORY_BYTES:,} bytes"
            after |= only(before, [path])
        else:
            wanted[one.id] = path
    for one, data in client.contents(dream.output, wanted):
        after[wanted[one.id]] = data
    account = decode(after.pop(ACCOUNT, b""))
    return Dreamt(dream, before, after, account, passed)


def settle(workspace: Workspace, edges: Edges, store: HostedStore, dream: HostedDream) -> None:
    """Notes that a dream is under way no more, and what it took."""
    meter_for(workspace, edges).spent("consolidate", dream.model, _used(dream))
    note_dream(workspace, store)


def _used(dream: HostedDream) -> Usage:
    return Usage(1, input=dream.input_tokens, output=dream.output_tokens, dollars=None)


class HostedEngine(OfflineEngine):
    """Proposes what a hosted dream wrote; all that is no dream it leaves to rules."""

    def __init__(self, dreamt: Dreamt) -> None:
        self.name = f"anthropic:{dreamt.dream.model}"
        self._dreamt = dreamt

    def consolidate(self, given: ConsolidateInput, tell: Tell = untold) -> Consolidation:
        """Proposes the groups of changes that can be accounted for.

        Raises:
            DetectorUnavailable: nothing can be said about credentials.
        """
        tell(DreamProgress("consolidate"))
        dreamt = self._dreamt
        made = proposed(given, dreamt.before, dreamt.after, dreamt.account, self.name)
        passed = tuple(f"left: {path!a} of the dream {why}" for path, why in sorted(dreamt.passed.items()))
        return replace(made, notes=(*made.notes, *passed[: given.most]), usage=_used(dreamt.dream))


def proposed(
    given: ConsolidateInput, before: Files, after: Files, account: str, engine: str
) -> Consolidation:
    """From what a dream made of a tree to changes of the tree as it is now.

    Args:
        given: as an engine is given it.
        before, after: the memories that the dream was given, and that it left, at their hot paths.
        account: its account, see `fates.entries`; what cannot be read tells nothing.
        engine: its name.

    Returns:
        Changes that can be proved together, and a note of each group of files that was left as it is.
    """
    ours = {path: data for path, data in given.files.items() if is_memory(path)}
    merged = {
        path: data for path, data in merge_trees(before, ours, after).files.items() if is_memory(path)
    }
    told = _told(account)
    changes: list[DreamChange] = []
    notes: list[str] = []
    log: list[str] = []
    for paths in _groups(ours, merged, told):
        if len(changes) >= given.most:
            notes.append(f"limit: {', '.join(paths[:3])}: waits for another dream")
            continue
        part = {path: data for path, data in given.files.items() if path not in paths}
        part |= {path: merged[path] for path in paths if path in merged}
        try:
            made = derive_dream(_after(given, changes), part, _answer(paths, told), engine)
        except UnaccountedError as left:
            why = f" (and {len(left.problems) - 1} more)" if len(left.problems) > 1 else ""
            notes.append(f"left: {', '.join(paths[:3])}: {_plain(left.problems[0])}{why}")
            continue
        changes += made.changes
        log += made.log
    return Consolidation(tuple(changes), tuple(notes), None, tuple(log))


def _after(given: ConsolidateInput, changes: Sequence[DreamChange]) -> ConsolidateInput:
    """The same, with what comes judged together with what was taken already."""
    taken = tuple(changes)
    return replace(given, judge=lambda more: given.judge([*taken, *more]))


def _told(account: str) -> list[tuple[Mapping[str, object], frozenset[str]]]:
    """The entries of an account, and the paths that each names."""
    found = []
    for one in objects(account):
        named = next(iter(entries(json.dumps([one])))).named
        found.append((one, frozenset(path.strip().removeprefix("/") for path in named)))
    return found


def _groups(
    before: Files, after: Files, told: Iterable[tuple[Mapping[str, object], frozenset[str]]]
) -> Iterator[list[str]]:
    """The files that changed; together those of which one has what another lost, or that are told so."""
    # One whose claims are the same ones, in another order or with other white space, is no change.
    changed = [path for path in sorted({*before, *after}) if _claims(before, path) != _claims(after, path)]
    parent = {path: path for path in changed}

    def top(path: str) -> str:
        while parent[path] != path:
            path = parent[path]
        return path

    old, new = references(only(before, changed)), references(only(after, changed))
    gone = [(ref.rpartition("#")[0], claim.key) for ref, claim in old.items() if ref not in new]
    fresh = [(ref.rpartition("#")[0], claim.key) for ref, claim in new.items() if ref not in old]
    for source, lost in gone:
        for target, said in fresh:
            if agent_folder(source) == agent_folder(target) and share(lost, said) >= REWORDED:
                parent[top(source)] = top(target)
    for _, named in told:
        mine = [path for path in changed if path in named]
        for path in mine[1:]:
            parent[top(path)] = top(mine[0])
    groups: dict[str, list[str]] = {}
    for path in changed:
        groups.setdefault(top(path), []).append(path)
    yield from groups.values()


def _claims(files: Files, path: str) -> Set[str]:
    return references(only(files, [path])).keys()


def _answer(paths: Sequence[str], told: Iterable[tuple[Mapping[str, object], frozenset[str]]]) -> str:
    """What the dream says of some files; where it says nothing, what can be seen of them has to do."""
    mine = [dict(one) for one, named in told if named & {*paths}]
    unnamed = [path for path in paths if not any(path in named for _, named in told)]
    if unnamed:
        names = ", ".join(path.rpartition("/")[2].removesuffix(".md") for path in unnamed[:3])
        what = names if len(unnamed) <= 3 else f"{names} and {counted(len(unnamed) - 3, 'other memory')}"
        mine.append(
            {"subject": f"Consolidate {what}", "reason": "a hosted dream put it so", "files": unnamed}
        )
    return json.dumps(mine)


def _plain(problem: str) -> str:
    """What is wrong with a group, without the dream's own words: a note is kept in a commit's message."""
    what = _QUOTED.sub("“…”", problem.partition(": ")[2] or problem)
    return one_line(what.partition(": ")[0], 120)


def _model(workspace: Workspace) -> str:
    return workspace.settings.get("model") or MODEL
