"""Landing a change: save what stands, plan on the tip, commit, move the ref by compare and swap, show it.

`land` makes the one commit that a plan asks for; `land_commit` takes one that is made already: a merge, a
replay, what was fetched. Nothing else writes to a ref that holds memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import field, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from gitmem.core.errors import MissingObject, RepositoryError
from gitmem.core.names import FORMAT, FORMAT_FILE, FORMAT_TEXT, is_agent_folder
from gitmem.core.trailers import Provenance, format_message
from gitmem.git.objects import encode_commit, object_name
from gitmem.git.repository import RefMoved, Repository, Signature
from gitmem.git.trees import Edits, write_tree
from gitmem.rules.secrets import redact, scan
from gitmem.values import dataclass

if TYPE_CHECKING:
    from gitmem.ledger.workspace import Scope

ROOT_SIGNATURE = Signature("gitmem", "gitmem@localhost", 0)
ROOT_MESSAGE = "Begin a memory\n"

PATIENCE = 4
"""Lost races after which a writer asks others to let it go first."""

WAIT = 5.0
"""Seconds to wait at most for another writer's turn."""

ATTEMPTS = 64
"""Lost races in a row after which a write gives up: with the jitter below, minutes of contention."""


@dataclass(frozen=True)
class Tip:
    """A memory ref as read: its commit and tree."""

    commit: str
    tree: str


@dataclass(frozen=True)
class Write:
    """One commit to be made.

    Attributes:
        edits: path to new content, None to delete; paths from the root of the tree.
        subject: what was learned, in the imperative.
        body: free text under the subject.
        parents: further parents after the tip (a merge).
        moves: old path to new path of files that change places as they are.
        author: who taught it, where that is not whom the writer names for all its commits.
        repeats: whether a commit that the tip stands on says the subject already: nothing is looked for in
            it, which would take half of an undo's time.
        signed: whether the person's key answers for it, where their commits are signed.
    """

    edits: Edits
    subject: str
    provenance: Provenance
    body: str = ""
    parents: tuple[str, ...] = field(default=())
    moves: Mapping[str, str] = field(default_factory=dict)
    author: Signature | None = None
    repeats: bool = False
    signed: bool = True


@dataclass(frozen=True)
class Written:
    """A commit that was made: its name, the tip before, and the paths it changed."""

    commit: str
    before: str
    subject: str
    edits: Mapping[str, bytes | None] = field(repr=False)


Plan = Callable[[Tip], Write | None]
"""From the tip to what should be written there, or None where nothing is left to do."""

MakeCommit = Callable[[str, tuple[str, ...], Signature, Signature, str], str]
"""Tree, parents, author, committer and message to the commit's name, as `Repository.add_commit`."""


@dataclass(frozen=True)
class Ref:
    """A ref that commits land on and that is no scope's: no working copy shows it.

    Attributes:
        shared: whether others may check who signed them.
    """

    repo: Repository
    ref: str
    shared: bool = False


class Copies(Protocol):
    """What brings the working copies of a scope together with its ref."""

    def __call__(self, scope: Scope, agents: Collection[str], lay_out: bool, /) -> None:
        """Saves what was edited there, pages out what is too much, and shows the ref.

        Args:
            agents: folders in the tree; none for all of them.
            lay_out: the folder of the present work tree is made where the agent is used but has none.
        """


@contextmanager
def together(copies: Copies) -> Iterator[Copies]:
    """Working copies for several changes that land in a row: saved before the first, shown after the last.

    Where one of them fails, what landed before is shown by the next save.
    """
    saved: set[tuple[str, str]] = set()
    changed: dict[str, tuple[Scope, dict[str, None]]] = {}

    def once(scope: Scope, agents: Collection[str], lay_out: bool, /) -> None:
        if lay_out:
            changed.setdefault(scope.ref, (scope, {}))[1].update(dict.fromkeys(agents))
            return
        fresh = {(scope.ref, agent) for agent in agents or ("",)} - saved
        if fresh and (scope.ref, "") not in saved:
            copies(scope, agents, False)
            saved.update(fresh)

    yield once
    for scope, agents in changed.values():
        copies(scope, agents, True)


def root_commit(repo: Repository) -> str:
    """The fixed, empty commit that every memory ref begins with; equal in all repositories."""
    with repo.together():
        return repo.add_commit(repo.add_tree({}), (), ROOT_SIGNATURE, ROOT_SIGNATURE, ROOT_MESSAGE)


def root_objects(hex_length: int) -> dict[str, tuple[str, bytes]]:
    """That commit's tree and itself: object name to (kind, content)."""
    tree = object_name("tree", b"", hex_length)
    data = encode_commit(tree, (), ROOT_SIGNATURE, ROOT_SIGNATURE, ROOT_MESSAGE)
    return {tree: ("tree", b""), object_name("commit", data, hex_length): ("commit", data)}


def root_name(repo: Repository) -> str:
    """Name of that commit; nothing is written."""
    return list(root_objects(repo.hex_length))[-1]


def is_commit(repo: Repository, oid: str) -> bool:
    """Whether a commit of that name is here, and can be read."""
    try:
        repo.commit(oid)
    except MissingObject:
        return False
    return True


def is_memory(repo: Repository, oid: str) -> bool:
    """Whether a commit belongs to memory: its tree says so, or it goes back to the common root."""
    with suppress(MissingObject):
        if FORMAT_FILE in repo.tree(repo.commit(oid).tree):
            return True
    try:
        return repo.is_ancestor(root_name(repo), oid)
    except RepositoryError:
        return False


def memory_commit(repo: Repository, ref: str) -> str | None:
    """Where a memory ref stands, to be read; None where there is no ref.

    Raises:
        RepositoryError: it cannot be read, or is no memory.
    """
    oid = repo.ref(ref)
    if oid is not None:
        _check_memory(repo, ref, oid)
    return oid


def _check_memory(repo: Repository, ref: str, oid: str) -> None:
    repo.commit(oid)
    # A commit of code would be taken for a memory that has lost all that was learned.
    if not is_memory(repo, oid):
        raise RepositoryError(
            f"{ref} is at {oid[:12]}, which is no memory",
            f"See what it is: git show {oid[:12]}. To bring memory back here: git mem doctor",
        )


def read_tip(repo: Repository, ref: str) -> Tip:
    """Where a memory ref stands; the root commit where there is no ref yet.

    Raises:
        RepositoryError: the ref holds a newer format, or something that is no memory.
    """
    oid = repo.ref(ref) or root_commit(repo)
    tip = Tip(oid, repo.commit(oid).tree)
    check_format(repo, ref, tip)
    return tip


def check_format(repo: Repository, ref: str, tip: Tip) -> None:
    """Raises where a newer gitmem wrote this ref, which is read-only then, or where it is no memory."""
    entry = repo.tree(tip.tree).get(FORMAT_FILE)
    if entry is None:
        _check_memory(repo, ref, tip.commit)
        return
    for line in repo.blob(entry.oid).decode("utf-8", "replace").splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "format" and value.strip().isdigit() and int(value) > FORMAT:
            raise RepositoryError(
                f"{ref} is in format {value.strip()}, which this gitmem can read but not write",
                "Install a newer gitmem.",
            )


def land(
    place: Scope | Ref, plan: Plan, author: Signature | None, copies: Copies | None = None, agent: str = ""
) -> Written | None:
    """Lands one change: a commit on the tip, planned again whenever another writer was first.

    What was edited in working copies is saved first, for the change to be planned on; they show it after.

    Args:
        plan: merges and judges.
        author: who taught it; None for gitmem itself, at the time of the tip: clones that do the same on
            the same tip make the same commit, and no identity is needed.
        copies: brings working copies of a scope up to date; None for what none of them shows (tombstones,
            a record), and for what is at work on them itself.
        agent: the folder in the tree that it is about; empty for those that the commit comes to touch.

    Returns:
        The commit, or None where nothing changed.

    Raises:
        RepositoryError: the ref, or a working copy, cannot be written.
    """
    # The private repository is nobody else's to check.
    shared = place.shared if isinstance(place, Ref) else place.name == "project"
    sign = shared and author is not None
    if copies is None or isinstance(place, Ref):
        return _commit(place.repo, place.ref, plan, author, sign)
    copies(place, [agent] if agent else [], False)
    written = _commit(place.repo, place.ref, plan, author, sign)
    touched = {path.partition("/")[0] for path in written.edits} if written and not agent else {agent}
    if agents := sorted(filter(is_agent_folder, touched)):
        copies(place, agents, True)
    return written


def land_commit(repo: Repository, ref: str, oid: str, known: str | None, message: str) -> None:
    """Moves a memory ref to a commit that is made already: a merge, a replay, what was fetched.

    Working copies show it when whoever asked for it brings them up to date, once for all that came.

    Args:
        known: where the ref was read; None for not being there.
        message: for the reflog.

    Raises:
        RefMoved: it is elsewhere by now.
        RepositoryError: the commit is no memory, or of a newer format; the ref cannot be written.
    """
    from gitmem.git.refs import move_ref  # a look moves none

    check_format(repo, ref, Tip(oid, repo.commit(oid).tree))
    move_ref(repo, ref, oid, known, message)


def _commit(repo: Repository, ref: str, plan: Plan, author: Signature | None, sign: bool) -> Written | None:
    # Settings are asked when there is something to write: most plans find nothing.
    signing = cache(partial(signer, repo))
    with ExitStack() as turn:
        _give_way(repo, ref)
        for attempt in range(ATTEMPTS):
            if attempt == PATIENCE:
                _take_turn(repo, ref, turn)
            known = repo.ref(ref)
            tip = read_tip(repo, ref)
            if known is not None and known != tip.commit:
                continue
            write = plan(tip)
            if write is None:
                return None
            try:
                who = author or replace(ROOT_SIGNATURE, time=repo.commit(tip.commit).committer.time)
                signed = signing() if sign and write.signed else None
                return _attempt(repo, ref, known, tip, write, who, signed)
            except RefMoved:
                import random

                # Writers that lost together would lose together again.
                time.sleep(random.uniform(0, 0.002 * min(attempt + 1, 25)))  # noqa: S311 - no secret
    raise RepositoryError(f"{ref} kept moving under {ATTEMPTS} attempts to write it", "Run it again.")


def _turn_lock(repo: Repository, ref: str) -> tuple[Path, str]:
    import hashlib

    return repo.git_dir / "gitmem", f"turn-{hashlib.sha256(ref.encode()).hexdigest()[:16]}"


def _give_way(repo: Repository, ref: str) -> None:
    """Waits for a writer whose plan takes longer than the ref stands still; a courtesy, no guarantee."""
    folder, name = _turn_lock(repo, ref)
    if (folder / f"{name}.lock").exists():
        from gitmem.git.locks import writer_lock

        with suppress(RepositoryError), writer_lock(folder, name, timeout=WAIT):
            pass


def _take_turn(repo: Repository, ref: str, turn: ExitStack) -> None:
    """Asks others to wait until this writer is done; what counts is still where the ref is."""
    from gitmem.git.locks import writer_lock

    folder, name = _turn_lock(repo, ref)
    with suppress(RepositoryError):
        path = turn.enter_context(writer_lock(folder, name, timeout=WAIT))
        turn.callback(path.unlink, missing_ok=True)


def _attempt(
    repo: Repository,
    ref: str,
    known: str | None,
    tip: Tip,
    write: Write,
    author: Signature,
    sign: MakeCommit | None,
) -> Written | None:
    from gitmem.git.refs import move_ref  # a look moves none

    edits = dict(write.edits)
    who = write.author or author
    written = format_message if write.repeats else safe_message
    message = written(write.subject, write.provenance, write.body)
    with repo.together():
        if known is None:
            # No ref kept it while the write was planned: a `git gc --prune=now` may have taken it since.
            root_commit(repo)
        if FORMAT_FILE not in repo.tree(tip.tree):
            edits[FORMAT_FILE] = FORMAT_TEXT
            if not write.edits:
                return None
        tree = write_tree(repo, tip.tree, edits, write.moves)
        if tree == tip.tree and not write.parents:
            return None
        parents = (tip.commit, *write.parents)
        oid = "" if sign else repo.add_commit(tree, parents, who, author, message)
    if sign:
        oid = sign(tree, parents, who, author, message)
    move_ref(repo, ref, oid, known, f"gitmem {write.provenance.op}: {message.splitlines()[0]}")
    return Written(oid, tip.commit, message.splitlines()[0], edits)


def signer(repo: Repository) -> MakeCommit | None:
    """Gives what makes signed commits of what is shared; asks git's settings once, for all of them.

    Returns:
        Called as `Repository.add_commit` is, of objects that are stored already; None where commits are not
        to be signed here, or cannot be without a question.
    """
    from gitmem.git.commit_signatures import signs_unasked  # a look makes no commit

    return partial(_signed, repo) if signs_unasked(repo.git, repo.git_dir) else None


def _signed(
    repo: Repository,
    tree: str,
    parents: tuple[str, ...],
    author: Signature,
    committer: Signature,
    message: str,
) -> str:
    """A signed commit; unsigned where that would take a question: memory waits for no passphrase."""
    from gitmem.git.commit_signatures import signed_commit
    from gitmem.ledger.files import log

    try:
        return signed_commit(repo.git, repo.git_dir, tree, parents, author, committer, message)
    except RepositoryError as error:
        log(repo.git_dir, f"not signed: {error.message}")
        return repo.add_commit(tree, parents, author, committer, message)


def safe_message(subject: str, provenance: Provenance, body: str = "") -> str:
    """Writes a commit message (as `format_message`) with every credential in it replaced.

    Subjects are made of names and descriptions, also of memories that came from others; reasons and
    bodies are typed by people or written by models. A message is no place to refuse anything.

    Raises:
        DetectorUnavailable: nothing can be said about any text; write nothing.
    """
    texts = [subject, body, *(fate.reason for fate in provenance.claims)]
    clean = [
        redact(text, [one for one in found if one.severity == "block"])
        for text, found in zip(texts, scan(texts), strict=True)
    ]
    fates = tuple(
        replace(fate, reason=reason) for fate, reason in zip(provenance.claims, clean[2:], strict=True)
    )
    return format_message(clean[0], replace(provenance, claims=fates), clean[1])
