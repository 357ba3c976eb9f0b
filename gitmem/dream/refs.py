"""Where dreams are parked: for a hook that only asks whether there is any, without what reads one."""

from __future__ import annotations

import re

from gitmem.store.workspace import PRIVATE_REF, SHARED_REF, Scope

_AT_REMOTE = re.compile(r"refs/remotes/(?P<remote>.+)/gitmem/dream/(?P<id>d-[0-9a-f]{6,64})")


def prefix(scope: Scope) -> str:
    """Where the dreams of a scope are parked, with a slash at the end (design.md section 8)."""
    if scope.name != "project":
        return "refs/heads/dream/"
    return "refs/gitmem/dream/" if scope.ref == PRIVATE_REF else "refs/heads/gitmem/dream/"


def branches(scope: Scope) -> list[tuple[str, str, str]]:
    """Each dream's ref, newest commit, and the remote that has it (or nothing), in a fixed order."""
    repo = scope.repo
    here = {ref.rpartition("/")[2]: (ref, oid) for ref, oid in repo.refs(prefix(scope)).items()}
    there: dict[str, tuple[str, str, str]] = {}
    for ref, oid in sorted(repo.refs("refs/remotes/").items()) if scope.ref == SHARED_REF else ():
        if match := _AT_REMOTE.fullmatch(ref):
            there.setdefault(match["id"], (ref, oid, match["remote"]))
    found = []
    for id in sorted({*here, *there}):
        ref, oid = here.get(id, ("", ""))
        far, newest, remote = there.get(id, ("", "", ""))
        # What was edited on the web, or rebased there, is newer than what was pushed.
        ahead = newest and not (oid and repo.is_ancestor(newest, oid))
        found.append((ref or far, newest if ahead else oid, remote))
    return found
