"""Snapshots: a copy of an agent's project memory in the code tree, and what one means for memory here."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from gitmem.core import attributes, index
from gitmem.core.errors import RepositoryError, UsageError
from gitmem.core.limits import MEMORY_BYTES, OTHER_BYTES
from gitmem.core.memory import parse
from gitmem.core.names import INDEX, agent_name, is_memory_file, unfit
from gitmem.core.text import decode, encode
from gitmem.git.repository import TREE, Repository
from gitmem.git.trees import list_files, subtree
from gitmem.ledger.files import has_link, read_regular
from gitmem.ledger.layout import names_below
from gitmem.rules.snapshot import (
    FORMAT,
    FUTURE_SECONDS,
    MOST_FILES,
    STATE_BYTES,
    STATE_FILE,
    digest,
    updated_at,
)
from gitmem.values import dataclass

State = Literal["none", "initialize", "prompt-update", "current"]


@dataclass(frozen=True)
class Snapshot:
    """One agent's snapshot.

    Attributes:
        agent: folder name of the agent in a memory tree (escaped).
        folder: where it was found, relative to the code tree, for a person.
        updated_at: seconds since the epoch.
        digest: what `snapshot.json` says; empty where a client wrote it without one.
        files: file (memories and index) to content.
        paged: whether more is in its agent's archive, which is not copied: what is missing may be there.
    """

    agent: str
    folder: str
    updated_at: int
    digest: str
    files: Mapping[str, bytes] = field(repr=False)
    paged: bool = False

    @property
    def edited(self) -> bool:
        """Whether the files are not those that the digest was made of: edited by hand, or merged."""
        return bool(self.digest) and self.digest != digest(self.files)


def stamp(seconds: float) -> str:
    """A time as `snapshot.json` has it: ISO 8601, UTC, whole seconds."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def state(
    snapshot: Snapshot | None, *, remembers: bool, taken: Collection[int], known: bool, changes: bool
) -> tuple[State, str]:
    """What a snapshot means here (docs/formats.md).

    Args:
        remembers: whether the agent has project memory here.
        taken: `updated_at` of the snapshots of this agent that were taken in before.
        known: whether this very one is among them.
        changes: whether merging it would change anything.

    Returns:
        The state, and its reason for a person.
    """
    if snapshot is None or not snapshot.files:
        return "none", "there is no snapshot"
    if known:
        return "current", "memory here has taken it in"
    if not remembers and not taken:
        return "initialize", "there is no memory here yet"
    # Of the same moment but another content is what git merged from two: it keeps the newer one's time.
    if taken and snapshot.updated_at < max(taken):
        return "current", "a newer one was merged"
    if not changes:
        return "current", "memory here holds all of it"
    return "prompt-update", "it holds what memory here does not"


def read_worktree(top: Path, parents: Collection[str]) -> tuple[dict[str, Snapshot], dict[str, str]]:
    """Reads the snapshots that lie in a work tree; links are not followed.

    Args:
        top: the work tree.
        parents: folders that hold snapshots, one folder an agent, relative to it; an earlier one wins.

    Returns:
        Agent (escaped) to snapshot; folder to why what lies there cannot be used.
    """
    found: dict[str, Snapshot] = {}
    problems: dict[str, str] = {}
    for parent in parents:
        folder = top / parent
        if not folder.is_dir() or has_link(top, folder):
            continue
        for path in sorted(folder.iterdir()):
            if path.is_symlink() or not path.is_dir():
                continue
            state_file = _read(path / STATE_FILE, STATE_BYTES)
            if state_file is None:
                continue
            below, _ = names_below(path)
            problems |= _misnamed(f"{parent}/{path.name}", below)
            names = list(filter(is_kept, below))[: MOST_FILES + 1]
            files = {name: _read(path / name, _most_bytes(name)) for name in names}
            held_at = int((path / STATE_FILE).lstat().st_mtime)
            _collect(parent, path.name, state_file, files, held_at, found, problems)
    return found, problems


def read_commit(
    repo: Repository, commit: str, parents: Collection[str]
) -> tuple[dict[str, Snapshot], dict[str, str]]:
    """Reads the snapshots that a code commit holds; arguments and result as for `read_worktree`."""
    found: dict[str, Snapshot] = {}
    problems: dict[str, str] = {}
    code = repo.commit(commit)
    for parent in parents:
        folder = subtree(repo, code.tree, parent)
        for name, entry in sorted(repo.tree(folder).items()) if folder else ():
            if entry.mode != TREE:
                continue
            entries = list_files(repo, entry.oid)
            if STATE_FILE not in entries:
                continue
            problems |= _misnamed(f"{parent}/{name}", entries)
            names = sorted(filter(is_kept, entries))[: MOST_FILES + 1]
            # A commit can hold any size, which is not to be read into memory.
            sizes = repo.sizes(sorted({entries[each] for each in (*names, STATE_FILE)}))
            files = {
                each: repo.blob(entries[each]) if sizes[entries[each]] <= _most_bytes(each) else None
                for each in (*names, STATE_FILE)
            }
            state_file = files.pop(STATE_FILE) or b""
            _collect(parent, name, state_file, files, code.committer.time, found, problems)
    return found, problems


def _most_bytes(name: str) -> int:
    """Largest size at which a file of a snapshot, by its name, is read."""
    return {INDEX: OTHER_BYTES, STATE_FILE: STATE_BYTES}.get(name, MEMORY_BYTES)


def publishable(files: Mapping[str, bytes]) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Files of a snapshot without memories about a person, which are never a project's.

    Returns:
        The files, with an index that does not name what was left out; the names of those.
    """
    personal = {n: m for n, data in files.items() if n != INDEX and (m := parse(n, data)).type == "user"}
    kept = {name: data for name, data in files.items() if name not in personal}
    if personal and INDEX in kept:
        kept[INDEX] = encode(index.without_files(decode(kept[INDEX]), personal))
    return kept, tuple(sorted(memory.name for memory in personal.values()))


def write_snapshot(
    top: Path,
    folder: Path,
    files: Mapping[str, bytes],
    now: float,
    *,
    paged: bool = False,
    dry_run: bool = False,
) -> bool:
    """Writes an agent's snapshot; `updatedAt` changes only when the content does.

    Args:
        top: the work tree, which the person controls.
        folder: where it goes, inside the work tree.
        files: memories and index.
        now: seconds since the epoch.
        paged: whether the agent has more in its archive.
        dry_run: whether to look only.

    Returns:
        Whether anything was, or would be, written.

    Raises:
        RepositoryError: a link is in the way, or the folder cannot be written.
    """
    if has_link(top, folder):
        raise RepositoryError(f"{folder} is a symbolic link, or behind one", "Put a folder in its place.")
    here = {
        name: data
        for name in (names_below(folder)[0] if folder.is_dir() else ())
        if is_kept(name) and (data := _read(folder / name, OTHER_BYTES)) is not None
    }
    raw = _read(folder / STATE_FILE, STATE_BYTES)
    before = _state_value(raw) if raw is not None else {}
    old, wanted = _seconds(before), digest(files)
    # What is ours to remove: all of it where the digest vouches for it, else what is plainly a memory.
    whole = before.get("digest") == digest(here)
    gone = [
        name for name in here if name not in files and (whole or parse(name, here[name]).front is not None)
    ]
    changed = {name: data for name, data in files.items() if here.get(name) != data}
    same = not changed and not gone and old is not None
    said = _said(old or 0 if same else max(int(now), (old or 0) + 1), wanted, paged)
    if same and said == raw:
        return False
    if dry_run:
        return True
    try:
        for name, data in sorted(changed.items()):
            if has_link(top, (folder / name).parent):
                raise RepositoryError(f"{folder / name} is behind a symbolic link", "Put a folder there.")
            _write(folder / name, data)
        for name in gone:
            (folder / name).unlink()
        _write(folder / STATE_FILE, said)
    except OSError as error:
        raise RepositoryError(
            f"{folder} cannot be written: {error.strerror}", "Make it writable for you."
        ) from error
    return True


def _said(seconds: int, digest: str, paged: bool) -> bytes:
    """What `snapshot.json` holds; the format last, so that two that git unites by lines are JSON still."""
    value: dict[str, Any] = {"updatedAt": stamp(seconds), "digest": digest}
    value |= {"paged": True} if paged else {}
    return (json.dumps(value | {"format": FORMAT}, indent=2) + "\n").encode()


def write_attributes(top: Path, parent: Path) -> bool:
    """Tells git how the snapshots in a folder merge; lines of the person's own stay.

    Args:
        top: the work tree, which the person controls.
        parent: the folder that holds the snapshots, inside the work tree.

    Returns:
        Whether anything was written.

    Raises:
        RepositoryError: a link is in the way, or the file cannot be written.
    """
    path = parent / attributes.FILE
    if has_link(top, path):
        raise RepositoryError(f"{path} is a symbolic link, or behind one", "Put a file in its place.")
    held = _read(path, OTHER_BYTES) or b""
    wanted = encode(attributes.complete(decode(held), attributes.SNAPSHOTS))
    if wanted == held or len(held) > OTHER_BYTES:
        return False
    try:
        _write(path, wanted)
    except OSError as error:
        raise RepositoryError(f"{path} cannot be written: {error.strerror}") from error
    return True


def _collect(
    parent: str,
    name: str,
    state_file: bytes,
    files: Mapping[str, bytes | None],
    held_at: int,
    found: dict[str, Snapshot],
    problems: dict[str, str],
) -> None:
    folder = f"{parent}/{name}"
    value = _state_value(state_file)
    seconds = _seconds(value)
    try:
        agent = agent_name(name)
    except UsageError as error:
        problems[folder] = error.message
        return
    form = value.get("format")
    if len(state_file) > STATE_BYTES:
        problems[folder] = f"{STATE_FILE} is larger than {STATE_BYTES:,} bytes"
    elif seconds is None:
        problems[folder] = f"{STATE_FILE} has no updatedAt that is a time"
    elif isinstance(form, int) and form > FORMAT:
        problems[folder] = f"it is in format {form}, which this gitmem cannot read"
    elif seconds > held_at + FUTURE_SECONDS:
        problems[folder] = f"updatedAt ({stamp(seconds)}) lies in the future of what holds it"
    elif len(files) > MOST_FILES:
        problems[folder] = f"it has more than {MOST_FILES:,} files"
    elif agent not in found:
        good = {
            file: data
            for file, data in files.items()
            if data is not None and len(data) <= _most_bytes(file)
        }
        known = value.get("digest")
        says = known if isinstance(known, str) else ""
        found[agent] = Snapshot(agent, folder, seconds, says, good, value.get("paged") is True)


MOST_NAMED = 20
"""Misnamed files of a snapshot that are told of: somebody else's may hold any number."""


def _misnamed(folder: str, names: Iterable[str]) -> dict[str, str]:
    """Files of a snapshot that look like memories and have a name that none may have, and why."""
    odd = (name for name in names if name.endswith(".md") and not is_kept(name))
    return {f"{folder}/{ascii(name)[1:-1]}": unfit(name) or "" for name in islice(odd, MOST_NAMED)}


def is_kept(name: str) -> bool:
    """Whether a file of an agent's folder belongs in its snapshot: the index, or a hot memory."""
    return name == INDEX or is_memory_file(name)


def _state_value(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data, object_pairs_hook=_pairs)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object in which git, uniting line by line, may have put a key twice: the newest moment counts."""
    moments = [{key: value} for key, value in pairs if key == "updatedAt" and _seconds({key: value})]
    return dict(pairs) | max(moments, key=lambda one: _seconds(one) or 0, default={})


def _seconds(value: Mapping[str, Any]) -> int | None:
    moment = updated_at(value)
    return None if moment is None else max(0, int(moment))


def _write(path: Path, data: bytes) -> None:
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise RepositoryError(f"{path} is no regular file", "Move it away and run it again.")
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".gitmem-{secrets.token_hex(8)}.tmp")
    try:
        handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(aside, path)
    finally:
        with contextlib.suppress(OSError):
            aside.unlink()


def _read(path: Path, limit: int) -> bytes | None:
    """At most `limit` bytes of a regular file, and one; None for anything else, links included."""
    with contextlib.suppress(OSError):
        found = read_regular(path, limit)
        return found[0] if found else None
    return None
