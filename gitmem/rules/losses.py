"""What a request takes out of memory: each claim that goes is listed, and too many need a person's word.

It is worked out from the two trees. What commits say of claims explains a loss, and makes none good: a
claim is not lost where its words stand, or where another one holds all of its facts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Set

from gitmem.core import index
from gitmem.core.account import account, claims_at, is_memory, path_of, proposals, reference, references
from gitmem.core.claim import Claim, repetition
from gitmem.core.facts import about, missing_facts
from gitmem.core.limits import MEMORY_BYTES
from gitmem.core.merge import Files
from gitmem.core.names import INDEX
from gitmem.core.text import counted, decode
from gitmem.core.trailers import Fate, parse
from gitmem.rules.account import FLOOR, SHARE, Mark, agent_of, by_agent, given_up, line_of
from gitmem.rules.rule import File, Finding, Revision, RuleContext, Side, quote
from gitmem.values import dataclass


def judge_losses(before: Side | None, after: Side, context: RuleContext) -> Iterator[Finding]:
    """Lists the claims that a request takes out, and says how many they are.

    One that nobody took out by a commit of its own went with a merge, which says nothing of claims.
    """
    if before is None or after.snapshots:
        return
    old, new = _memories(before), _memories(after)
    changed = {path for path in {*old, *new} if old.get(path) != new.get(path)}
    declared = [fate for one in context.revisions for fate in parse(one.message).claims]
    touched = changed | {path_of(fate.target) for fate in declared}
    was, now = ({path: data for path, data in side.items() if path in touched} for side in (old, new))
    gone: set[Mark] = set()
    claims: list[_Loss] = []
    for mine, left in by_agent(was, now):
        fates = [*declared, *_paired(mine, left, {fate.source for fate in declared})]
        given = given_up(mine, left, fates, lost=True)
        ends = {fate.source: fate for fate in account(mine, left, fates).fates}
        here, there = references(mine), references(left)
        for ref, claim in here.items():
            fate = ends.get(ref)
            target = there.get(fate.target) if fate and fate.target else None
            # What says the same in other words is told where a word went.
            other = fate and target and fate.kind == "superseded" and about(claim.key) - about(target.key)
            if ref in given.values() or other:
                path, into = path_of(ref), target.text if target else ""
                mark, line = (agent_of(path), claim.key), line_of(mine, path, claim)
                claims.append(_Loss(mark, path, line, ref, claim.text, into, fate))
        # What is told counts, also where only a word of it went.
        gone |= given.keys() | {one.mark for one in claims}
    lines = [*_lines(before, after)]
    gone |= {one.mark for one in lines}
    by = _takers(context.revisions, {one.mark for one in (*claims, *lines)})
    for one in claims:
        if one.mark in by or not context.revisions:
            yield _told(one, by.get(one.mark))
        else:
            what = f"it is gone with a merge, which says nothing of claims: {quote(one.text)}"
            yield Finding(one.path, one.line, "account", what, claim=one.claim)
    for one in lines:
        yield _told(one, by.get(one.mark))
    if gone:
        total = sum(len(claims_at(path, data)) for path, data in old.items())
        total += sum(len(_spoken(before, folder, before, after)) for folder in before.folders)
        yield _counted(gone, total, context.allow)


@dataclass(frozen=True)
class _Loss:
    """A claim, or a line of an index, that a request takes out.

    Attributes:
        path, line, claim: where it stood, and its reference.
        text: what it said.
        into: what stands in its place; empty for nothing.
        fate: what commits say of it.
    """

    mark: Mark
    path: str
    line: int
    claim: str
    text: str
    into: str
    fate: Fate | None = None


def _lines(before: Side, after: Side) -> Iterator[_Loss]:
    """What indexes no longer say that somebody wrote there.

    It is not lost where a memory says it, or another line for the same memory holds all of its facts.
    """
    for folder in before.folders:
        path = f"{folder}/{INDEX}"
        if before.files.get(path) == after.files.get(path):
            continue
        if path in after.files and _index(after.files[path]) is None:
            continue  # It is too large to be judged, which is found already.
        was, now = (_spoken(side, folder, before, after) for side in (before, after))
        claims = (claim for one in after.memories(folder) for claim in claims_at(one.path, one.data))
        # What is nothing but points says nothing: no line without a hook stands in it.
        kept = {repetition(claim.key) for claim in claims} - {""}
        fresh: dict[str, list[str]] = {}
        for key, (_, target) in now.items():
            if key not in was and target:
                fresh.setdefault(target, []).append(key)
        for key, (claim, target) in was.items():
            if key in now or kept & {repetition(key), repetition(index.hook(claim.text))}:
                continue
            new = fresh[target].pop(0) if fresh.get(target) else ""
            if new and not missing_facts(key, new) and not about(key) - about(new):
                continue
            mark, line = (folder, f"{INDEX} {key}"), line_of(before.contents, path, claim)
            into = now[new][0].text if new else ""
            yield _Loss(mark, path, line, reference(path, claim), claim.text, into)


def _spoken(side: Side, folder: str, *sides: Side) -> dict[str, tuple[Claim, str]]:
    """What the index of an agent says by itself, on a side; nothing where there is none."""
    file = side.files.get(f"{folder}/{INDEX}")
    data = _index(file) if file else None
    if not data:
        return {}
    hot = [{text.name: text.data for text in one.memories(folder)} for one in sides]
    return index.spoken(decode(data), *hot)


def _index(file: File) -> bytes | None:
    return file.data if file.size <= MEMORY_BYTES else None


def _told(one: _Loss, by: Revision | None) -> Finding:
    """One loss, with who took the claim out, and what is said of it."""
    how = "replaced" if one.into else "dropped"
    said = f"{quote(one.text)}, with {quote(one.into)}" if one.into else quote(one.text)
    what = f"claim {how}: {said}"
    if by is not None:
        why = f": {quote(one.fate.reason)}" if one.fate and one.fate.reason.strip() else ""
        what = f"claim {how} by {quote(by.people[0].rpartition(' <')[0])}: {said} ({by.oid[:12]}){why}"
    return Finding(one.path, one.line, how, what, "notice", claim=one.claim, commit=by.oid if by else "")


def _counted(gone: Set[Mark], total: int, allow: frozenset[str]) -> Finding:
    """How many claims go, of how many; an error where these are more than go unasked."""
    most = max(FLOOR, total // SHARE)
    marks = "\n".join(sorted(f"{agent} {key}" for agent, key in gone))
    word = f"loss-{len(gone)}-{hashlib.sha256(marks.encode('utf-8', 'surrogateescape')).hexdigest()[:12]}"
    what = f"this request takes out {len(gone):,} of {counted(total, 'claim')}"
    if len(gone) <= most:
        return Finding("", 1, "loss", what, "notice")
    if word in allow:
        return Finding("", 1, "loss", f"{what}: a person allowed {word}", "notice", fingerprints=(word,))
    what = f"{what}, and {most} may go unasked: who means it allows {word}"
    return Finding("", 1, "loss", what, fingerprints=(word,))


def _paired(was: Files, now: Files, said: Set[str]) -> Iterator[Fate]:
    """What stands by its words in the place of a claim of which nothing is said."""
    standing = {claim.key for claim in references(now).values()}
    for one in proposals(was, now):
        if one.kind == "changed" and one.old and one.before not in said and one.old.key not in standing:
            yield Fate("superseded", one.before, one.after)


def _takers(revisions: Iterable[Revision], wanted: Set[Mark]) -> dict[Mark, Revision]:
    """The last commit with one parent that took each claim out, unless another one put it back."""
    found: dict[Mark, Revision] = {}
    for one in revisions:
        if len(one.parents) == 1:
            has, had = {*_marks(one.files)}, {*_marks(one.parents[0])}
            for mark in has - had:
                found.pop(mark, None)
            found |= dict.fromkeys(wanted & (had - has), one)
    return found


def _marks(files: Mapping[str, File]) -> Iterator[Mark]:
    for path, file in files.items():
        if file.data is None or file.size > MEMORY_BYTES:
            continue
        if is_memory(path):
            yield from ((agent_of(path), claim.key) for claim in claims_at(path, file.data))
        elif path == f"{agent_of(path)}/{INDEX}":
            # Which of its lines are gitmem's own does not matter to who took one out.
            yield from ((agent_of(path), f"{INDEX} {key}") for key in index.spoken(decode(file.data)))


def _memories(side: Side) -> dict[str, bytes]:
    return {text.path: text.data for folder in side.folders for text in side.memories(folder)}
