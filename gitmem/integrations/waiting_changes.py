"""Which memories somebody else would change: what was fetched and not taken in, and what waits in review.

None of it is recalled: what is on such a branch counts as nobody's memory yet, and nobody has looked for
secrets in it. But who relies on a memory should know that another version of it waits. Kept by where all
the refs stand; can be deleted at no loss.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from gitmem.core.errors import GitmemError
from gitmem.core.names import TURNED_DOWN, inbox_id
from gitmem.store.commits import root_name
from gitmem.store.files import read_json
from gitmem.store.git import GitCommand
from gitmem.store.glimpse import peek
from gitmem.store.record import write_atomically
from gitmem.store.repository import MissingObject, Repository
from gitmem.store.trees import changed_files
from gitmem.store.workspace import PRIVATE_REF, SHARED_REF

FETCHED = "a newer version of it is fetched and not taken in yet (`git mem sync`)"
DREAMT = "a dream's change to it waits in `git mem review`"
SENT = "a change to it by someone else waits in `git mem review`"

MOST_REFS = 16
SECONDS = 1.0
FILE = "waiting-changes.json"
BYTES = 16 << 20
VERSION = 1

_FAMILIES = ("refs/remotes", "refs/heads/gitmem", "refs/gitmem", "refs/heads/dream")


def waiting(
    repo: Repository, git: GitCommand, state: Path, ref: str, blobs: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    """Facts on some memories of a ref.

    Args:
        state: folder for what can be deleted.
        blobs: path in the ref's tree to the blob that stands there.
    """
    with suppress(GitmemError, OSError, ValueError):
        refs = _refs(git, repo.git_dir)
        own = refs.get(ref, "")
        sides = dict(list(_sides(refs, ref).items())[:MOST_REFS])
        if not own or not sides:
            return {}
        key = hashlib.sha256(json.dumps([VERSION, ref, own, sides], sort_keys=True).encode()).hexdigest()
        known = _read(state / FILE, key)
        if known is None:
            known = {
                fact: _changes(repo, own, [side for side, of in sides.items() if of == fact])
                for fact in dict.fromkeys(sides.values())
            }
            value = json.dumps({"key": key, "changes": known}).encode()
            with suppress(OSError):
                write_atomically(state / FILE, value)
        return {
            path: tuple(
                fact for fact, changes in known.items() if any(b != blob for b in changes.get(path, ()))
            )
            for path, blob in blobs.items()
        }
    return {}


def _refs(git: GitCommand, git_dir: Path) -> dict[str, str]:
    words = [f"--git-dir={git_dir}", "for-each-ref", "--format=%(refname) %(objectname)", *_FAMILIES]
    seen = peek(git, words, cwd=git_dir, seconds=SECONDS, size=1 << 20)
    lines = seen.text.split("\n")[:-1] if seen.returncode == 0 else []
    return dict(line.split(" ", 1) for line in lines)


def _sides(refs: Mapping[str, str], ref: str) -> dict[str, str]:
    """Refs that hold changes to a ref's memory, without what the person turned down: commit to fact."""
    team = ref in (PRIVATE_REF, SHARED_REF)
    here = ("refs/heads/gitmem/dream/", "refs/gitmem/dream/") if team else ("refs/heads/dream/",)
    found: dict[str, str] = {}
    for name, oid in sorted(refs.items()):
        remote = name.split("/", 3)[3] if name.startswith("refs/remotes/") and name.count("/") > 2 else ""
        fact, id = "", name.rpartition("/")[2]
        if name.startswith(here) or (team and remote.startswith("gitmem/dream/")):
            fact = DREAMT
        elif remote == "gitmem/project" and ref == SHARED_REF:
            fact = FETCHED
        elif remote.startswith("gitmem/inbox/") and ref == SHARED_REF:
            fact, id = SENT, inbox_id(f"refs/heads/{remote}")
        if fact and oid != refs.get(ref) and refs.get(TURNED_DOWN + id) != oid:
            found.setdefault(oid, fact)
    return found


def _changes(repo: Repository, own: str, sides: Iterable[str]) -> dict[str, list[str]]:
    """What side branches made of memories since they parted: path to blobs, empty for one taken out."""
    changes: dict[str, list[str]] = {}
    for side in sides:
        with suppress(MissingObject):
            bases = repo.merge_bases(own, side)
            # What shares no more than the root that all memory has is another memory.
            if not bases or side in bases or root_name(repo) in bases:
                continue
            base, tree = repo.commit(bases[0]).tree, repo.commit(side).tree
            for path in changed_files(repo, base, tree):
                entry = repo.entry(tree, path)
                changes.setdefault(path, []).append(entry.oid if entry else "")
    return changes


def _read(file: Path, key: str) -> dict[str, dict[str, list[str]]] | None:
    value = read_json(file, BYTES)
    with suppress(KeyError, TypeError, AttributeError):
        if value["key"] == key:
            return {
                str(fact): {str(path): list(map(str, blobs)) for path, blobs in changes.items()}
                for fact, changes in value["changes"].items()
            }
    return None
