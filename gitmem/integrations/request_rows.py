"""The rows of a request: what happens to each claim, why, and who taught it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from gitmem.dream.branch import Dream, DreamCommit
from gitmem.integrations.request_body import Row
from gitmem.memory.account import is_memory, path_of
from gitmem.memory.proposal import Proposal, proposals
from gitmem.store.blame import Blamed, Origin, blame_memory
from gitmem.store.repository import MissingObject, Repository

MOST_BLAMED = 200
"""Memories whose claims are blamed for one request; the table of more would not fit anyway."""


class Origins:
    """Who taught a claim, found out once a memory."""

    def __init__(self, repo: Repository) -> None:
        self.repo = repo
        self.known: dict[tuple[str, str], dict[str, Blamed]] = {}

    def told(self, tip: str, path: str, short: str) -> str:
        """Who taught it, when and in which session; empty where that cannot be found out.

        Args:
            tip: commit that has the claim.
            short: its 12 digits.
        """
        origin = self._first(tip, path, short)
        if origin is None:
            return ""
        day = datetime.fromtimestamp(origin.time, UTC).date().isoformat()
        told = origin.told[0] if origin.told else None
        who = (told.author.partition("<")[0].strip() if told else "") or "somebody"
        session = told.provenance.session if told else ""
        by = f" by {told.provenance.writer}" if told and told.provenance.writer != "human" else ""
        return f"{who}, {day}{by}" + (f", session {session[:8]}" if session else "")

    def subject(self, tip: str, path: str, short: str) -> str:
        """What the commit said that brought the claim."""
        origin = self._first(tip, path, short)
        return origin.told[0].subject if origin is not None and origin.told else ""

    def _first(self, tip: str, path: str, short: str) -> Origin | None:
        if (tip, path) not in self.known:
            if len(self.known) >= MOST_BLAMED:
                return None
            try:
                blamed = blame_memory(self.repo, tip, path)
            except MissingObject:
                blamed = ()
            self.known[tip, path] = {one.claim.short: one for one in blamed}
        found = self.known[tip, path].get(short)
        return found.origins[0] if found is not None and found.origins else None


def dream_rows(dream: Dream) -> tuple[Row, ...]:
    """What a dream asks for, in the order of its changes; what was decided already is not asked."""
    origins = Origins(dream.scope.repo)
    return tuple(row for change in dream.open for row in _of_change(dream, change, origins))


def _of_change(dream: Dream, change: DreamCommit, origins: Origins) -> Iterator[Row]:
    for story in change.claims:
        fate = story.fate
        target = ""
        if fate.target:
            same = not story.after or story.after == story.before
            target = path_of(fate.target) + ("" if same else f": {story.after}")
        path, short = path_of(fate.source), fate.source.rpartition("#")[2]
        why = fate.reason or change.reason or change.subject
        yield Row(
            story.before or story.after, fate.kind, target, why, origins.told(dream.base, path, short)
        )
    told = {end for fate in change.fates for end in (fate.source, fate.target) if end}
    pairs = {path: pair for path, pair in change.files.items() if is_memory(path)}
    before, after = (
        {path: data for path, pair in pairs.items() if (data := pair[side]) is not None} for side in (0, 1)
    )
    for one in proposals(before, after):
        if one.before not in told and one.after not in told and one.kind != "moved":
            yield _row(one, change.reason or change.subject, f"{change.by or 'the dream'}")


def inbox_rows(repo: Repository, base: str, tip: str, wanted: Iterable[Proposal]) -> tuple[Row, ...]:
    """What an inbox branch asks for.

    Args:
        base: commit of the memory branch that it is compared with.
        tip: the branch's commit.
    """
    origins = Origins(repo)
    rows = []
    for one in wanted:
        at, path, claim = (tip, one.path, one.new) if one.new else (base, one.source or one.path, one.old)
        short = claim.short if claim else ""
        rows.append(_row(one, origins.subject(at, path, short), origins.told(at, path, short)))
    return tuple(rows)


def _row(one: Proposal, why: str, origin: str) -> Row:
    old, new = (claim.text if claim else "" for claim in (one.old, one.new))
    target = {
        "added": one.path,
        "changed": f"{one.path}: {new}",
        "moved": one.path,
        "deleted": "",
    }[one.kind]
    return Row(old or new, one.kind, target, why if one.kind != "deleted" else "", origin)
