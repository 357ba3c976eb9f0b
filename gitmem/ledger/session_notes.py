"""Where notes are kept: a ref a project in the private repository, a file a session, a commit a refresh.

`refs/heads/sessions/<project id>` begins with the root commit of every memory and holds
`main/<session>.md`. It is on this machine alone: no scope, no part of a backup, and nothing that recall
looks into. How far the notes of a session go stands in the trailers of their commits.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from gitmem.core.names import FORMAT_FILE, FORMAT_TEXT
from gitmem.core.session_notes import Section, parse
from gitmem.core.text import decode, encode
from gitmem.core.trailers import Provenance
from gitmem.core.trailers import parse as parse_trailers
from gitmem.git.repository import BLOB, TREE, Commit, Repository, Signature, TreeEntry
from gitmem.git.trees import read_file

FAMILY = "refs/heads/sessions/"
"""Beginning of the refs of notes, which end in a project id."""

FOLDER = "main"

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")


@dataclass(frozen=True)
class SessionNotes:
    """The notes of one session.

    Attributes:
        session: the client's id of it.
        time: when they were taken, epoch seconds.
        commit: the commit that they were taken in.
        told: its trailers: engine, cost, and the messages that were new to it.
        text: all of it.
    """

    session: str
    time: int
    commit: str
    told: Provenance
    text: str = field(default="", repr=False)

    @property
    def last(self) -> str:
        """Uuid of the last message that they tell of; empty where that is not known."""
        return self.told.messages[1] if self.told.messages else ""

    @property
    def sections(self) -> tuple[Section, ...]:
        """The same by its headings."""
        return parse(self.text)


def is_plain(session: str) -> bool:
    """Whether the id of a session is a plain word."""
    return _PLAIN.fullmatch(session) is not None


def ref_of(project_id: str) -> str:
    """The ref of a project's notes."""
    return f"{FAMILY}{project_id}"


def path_of(session: str) -> str:
    """Where the notes of a session stand in the tree; an id that could be no file's name is hashed."""
    hashed = hashlib.sha256(session.encode("utf-8", "replace")).hexdigest()
    return f"{FOLDER}/{session if is_plain(session) else f'x-{hashed}'}.md"


def notes_of(repo: Repository, tip: str | None, session: str) -> SessionNotes | None:
    """The notes of a session as of a commit; None where it has none.

    Raises:
        MissingObject: history is damaged.
    """
    path = path_of(session)
    data = read_file(repo, repo.commit(tip).tree, path) if tip else None
    if tip is None or data is None:
        return None
    touch = next(repo.touching(tip, [path]), None)
    return _kept(repo.commit(touch.commit if touch else tip), path, decode(data))


def all_notes(repo: Repository, tip: str | None) -> tuple[SessionNotes, ...]:
    """What notes there are as of a commit, without their text, the oldest first.

    Raises:
        MissingObject: history is damaged.
    """
    if tip is None:
        return ()
    left = {path for path in repo.files(repo.commit(tip).tree) if path.startswith(f"{FOLDER}/")}
    found = []
    for touch in repo.touching(tip):
        for path in left.intersection(touch.paths):
            found.append(_kept(repo.commit(touch.commit), path))
        left -= set(touch.paths)
        if not left:
            break
    return tuple(sorted(found, key=lambda one: (one.time, one.session)))


def keep(
    repo: Repository, ref: str, session: str, text: str, subject: str, told: Provenance, author: Signature
) -> bool:
    """Commits the notes of a session; False where they are the same.

    Raises:
        RepositoryError: the ref cannot be written.
    """
    from gitmem.ledger.land import Ref, Tip, Write, land  # a session that starts again only reads

    path, data = path_of(session), encode(text)

    def plan(tip: Tip) -> Write | None:
        return None if read_file(repo, tip.tree, path) == data else Write({path: data}, subject, told)

    return land(Ref(repo, ref), plan, author) is not None


def prune(repo: Repository, ref: str, before: float) -> int:
    """Takes notes out that were last written before a moment, and out of history with them.

    The ref is rebuilt from the root commit with every commit of the notes that stay: same author, same
    time, same words. Its log is emptied; what is referred to no more goes with git's next `gc`.

    Args:
        before: epoch seconds.

    Returns:
        How many sessions' notes went; 0 also where another writer was quicker.

    Raises:
        RepositoryError: history cannot be read, or the ref cannot be written.
    """
    from gitmem.git.refs import try_move_ref  # as above
    from gitmem.ledger.memory_refs import clear_logs

    tip = repo.ref(ref)
    known = all_notes(repo, tip)
    stays = {path_of(one.session) for one in known if one.time >= before}
    gone = len(known) - len(stays)
    if tip is None or not gone:
        return 0
    new = _rebuilt(repo, tip, stays) if stays else None
    if not try_move_ref(repo, ref, new, tip, f"gitmem sessions: prune {gone}"):
        return 0
    clear_logs(repo.git, repo.git_dir, [ref], [one.oid for one in repo.history(tip)])
    return gone


def _rebuilt(repo: Repository, tip: str, paths: set[str]) -> str:
    """The ref's history with these paths alone; returns the commit at its end."""
    from gitmem.ledger.land import root_commit  # as above

    here = {path: repo.entry(repo.commit(tip).tree, path) for path in paths}
    # A tree that something else wrote may lack it.
    form = repo.tree(repo.commit(tip).tree).get(FORMAT_FILE) or TreeEntry(BLOB, repo.add_blob(FORMAT_TEXT))
    end, held = root_commit(repo), dict[str, TreeEntry]()

    def add(like: Commit, more: Mapping[str, TreeEntry]) -> None:
        nonlocal end
        held.update({path.removeprefix(f"{FOLDER}/"): entry for path, entry in more.items()})
        tree = repo.add_tree({FORMAT_FILE: form, FOLDER: TreeEntry(TREE, repo.add_tree(held))})
        end = repo.add_commit(tree, (end,), like.author, like.committer, like.message)

    with repo.together():
        for touch in reversed(list(repo.touching(tip))):
            one = repo.commit(touch.commit)
            touched = paths.intersection(touch.paths)
            more = {path: entry for path in touched if (entry := repo.entry(one.tree, path))}
            if more:
                add(one, more)
        # A merge may have changed what no commit of one parent did.
        missed = {
            path: entry
            for path, entry in here.items()
            if entry is not None and held.get(path.removeprefix(f"{FOLDER}/")) != entry
        }
        if missed:
            add(repo.commit(tip), missed)
    return end


def _kept(made: Commit, path: str, text: str = "") -> SessionNotes:
    told = parse_trailers(made.message)
    name = path.removeprefix(f"{FOLDER}/").removesuffix(".md")
    # A commit that took in another's work, or purged, says nothing of the session.
    session = told.session if told.session and path_of(told.session) == path else name
    return SessionNotes(session, made.author.time, made.oid, told, text)
