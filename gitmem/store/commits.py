"""Writing to a memory ref: read it, build the tree, commit, move it only if it is where it was read."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem.core.errors import RepositoryError
from gitmem.core.names import FORMAT, FORMAT_FILE, FORMAT_TEXT
from gitmem.core.trailers import Provenance, format_message
from gitmem.rules.secrets import redact, scan
from gitmem.store.objects import encode_commit, object_name
from gitmem.store.repository import MissingObject, RefMoved, Repository, Signature
from gitmem.store.trees import Edits, write_tree
from gitmem.values import dataclass

if TYPE_CHECKING:
    from gitmem.core.trailers import Provenance

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
    """

    edits: Edits
    subject: str
    provenance: Provenance
    body: str = ""
    parents: tuple[str, ...] = field(default=())
    moves: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Written:
    """A commit that was made: its name, the tip before, and the paths it changed."""

    commit: str
    before: str
    subject: str
    edits: Mapping[str, bytes | None] = field(repr=False)


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


def commit(
    repo: Repository,
    ref: str,
    plan: Callable[[Tip], Write | None],
    author: Signature,
    committer: Signature | None = None,
) -> Written | None:
    """Makes one commit on a memory ref, planning again whenever another writer was first.

    Args:
        plan: from the tip to what should be written there, or None where nothing is left to do.
        author: who taught it; `committer` is the same where not given.

    Returns:
        The commit, or None where nothing changed.

    Raises:
        RepositoryError: the ref cannot be written.
    """
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
                return _attempt(repo, ref, known, tip, write, author, committer or author)
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
        from gitmem.store.locks import writer_lock

        with suppress(RepositoryError), writer_lock(folder, name, timeout=WAIT):
            pass


def _take_turn(repo: Repository, ref: str, turn: ExitStack) -> None:
    """Asks others to wait until this writer is done; what counts is still where the ref is."""
    from gitmem.store.locks import writer_lock

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
    committer: Signature,
) -> Written | None:
    from gitmem.store.caps import check_room  # a look needs neither
    from gitmem.store.commits import safe_message

    edits = dict(write.edits)
    message = safe_message(write.subject, write.provenance, write.body)
    with repo.together():
        if known is None:
            # No ref kept it while the write was planned: a `git gc --prune=now` may have taken it since.
            root_commit(repo)
        check_room(repo, tip.tree, edits)
        if FORMAT_FILE not in repo.tree(tip.tree):
            edits[FORMAT_FILE] = FORMAT_TEXT
            if not write.edits:
                return None
        tree = write_tree(repo, tip.tree, edits, write.moves)
        if tree == tip.tree and not write.parents:
            return None
        oid = repo.add_commit(tree, (tip.commit, *write.parents), author, committer, message)
    repo.move_ref(ref, oid, known, f"gitmem {write.provenance.op}: {message.splitlines()[0]}")
    return Written(oid, tip.commit, message.splitlines()[0], edits)


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
