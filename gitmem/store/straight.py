"""Files whose history is one straight line: where a claim came in is read off their versions alone.

Following many files at once through a long history asks at each commit after all of them. Most files never
differed between two lines of history, and for these one pass over all commits is enough.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from gitmem.core.account import claims_at
from gitmem.core.names import homes
from gitmem.store.repository import MissingObject, Repository, Step
from gitmem.values import dataclass


@dataclass(frozen=True)
class Version:
    """What one commit made of a memory.

    Attributes:
        path: where it stands after, hot or archived; before, where it is gone.
        before, after: blobs; None where there is none.
    """

    commit: str
    path: str
    before: str | None
    after: str | None


def introductions(
    repo: Repository, start: str, sought: Mapping[str, Collection[str]]
) -> dict[tuple[str, str], tuple[str, str]]:
    """Finds the commits that brought claims into files with a straight history.

    Args:
        start: commit at which the claims stand.
        sought: path to ids of claims there.

    Returns:
        (path, id) to the commit and where the file stood in it. Claims of files that differed between two
        lines of history, that stood in two places at once, or whose history is damaged, are left out.
    """
    wanted = {home: path for path in sought for home in homes(path)}
    versions: dict[str, list[Version]] = {}
    crooked: set[str] = set()
    try:
        for step in repo.steps(start):
            for path, version in _versions(step, wanted):
                line = versions.setdefault(path, [])
                if version is None or (line[-1].after if line else None) != version.before:
                    crooked.add(path)
                else:
                    line.append(version)
    except MissingObject:
        return {}
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for path, line in versions.items():
        if path not in crooked:
            found |= dict(_found(repo, path, line, set(sought[path])))
    return found


def _versions(step: Step, wanted: Mapping[str, str]) -> Iterator[tuple[str, Version | None]]:
    """What a commit did to the files that are asked about; None where that is more than one thing."""
    rows: dict[str, list[tuple[str, str | None, str | None]]] = {}
    for differences in step.before:
        for row in differences:
            if row[0] in wanted:
                rows.setdefault(wanted[row[0]], []).append(row)
    for path, some in rows.items():
        before = [old for _, old, _ in some if old]
        after = [(place, new) for place, _, new in some if new]
        if len(step.commit.parents) > 1 or len(before) > 1 or len(after) > 1:
            yield path, None
        else:
            place, new = after[0] if after else (some[0][0], None)
            yield path, Version(step.commit.oid, place, before[0] if before else None, new)


def _found(
    repo: Repository, path: str, line: list[Version], ids: set[str]
) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    for version in reversed(line):
        if not ids:
            return
        try:
            old, new = (_ids(repo, path, blob) for blob in (version.before, version.after))
        except MissingObject:
            return
        # One that is not there was not there at the beginning: nothing can be said about it.
        ids &= new
        for id in ids - old:
            yield (path, id), (version.commit, version.path)
        ids &= old


def _ids(repo: Repository, path: str, blob: str | None) -> frozenset[str]:
    return frozenset(claim.id for claim in claims_at(path, repo.blob(blob))) if blob else frozenset()
