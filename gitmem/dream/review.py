"""A person's decision on a dream: landed by merge, remembered as rejected, or brought up to date.

A person's answer to a question on two claims says which of the two goes, and why. The change is made by the
rules that make the changes of a dream, on the ground of the question, and takes its place as it lands; the
branch stays as it is, so an undo brings the question back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal, get_args

from gitmem.core import index
from gitmem.core.account import (
    Account,
    account,
    is_memory,
    line_mark,
    lines_at,
    path_of,
    paths_named,
    reference,
)
from gitmem.core.errors import CheckFailed, UsageError
from gitmem.core.memory import Memory, parse
from gitmem.core.names import homes, is_agent_folder, is_log, kind
from gitmem.core.text import decode, encode, one_line
from gitmem.core.trailers import Fate, Provenance, tellings
from gitmem.core.trailers import parse as parse_trailers
from gitmem.dream.cards import Origins, by_time, claim_origins, first_said, show
from gitmem.dream.proof import TREES_ALONE, Overtaken, ProofEvidence, failures_of, overtaken_by
from gitmem.engines.offline.duplicates import relate
from gitmem.engines.offline.pairs import Judgement, Pair
from gitmem.engines.offline.work import ConsolidationWork
from gitmem.git.repository import Signature
from gitmem.git.trees import changed_files, difference, read_files, read_paths, write_tree
from gitmem.ledger.dream_branch import SHORTEST, close, remember_off, with_memory
from gitmem.ledger.dreams import (
    Dream,
    DreamCommit,
    open_dreams,
    read_change,
    read_dream,
    replay_changes,
    review_trailer,
    revived,
    some,
    whole,
)
from gitmem.ledger.indexes import hot_memories, in_line
from gitmem.ledger.land import Copies, Tip, Write, Written, land, safe_message
from gitmem.ledger.merge import check_paths
from gitmem.ledger.workspace import Scope, Workspace
from gitmem.rules.account import errors, where_they_stand
from gitmem.rules.invention import UNSEEN
from gitmem.rules.rule import Finding
from gitmem.rules.screen import screen
from gitmem.values import dataclass

__all__ = ["Dream", "DreamCommit", "Landed", "accept", "find_dream", "open_dreams", "reject", "show"]


@dataclass(frozen=True)
class Landed:
    """What a decision did.

    Attributes:
        numbers: the changes that were decided.
        written: the commit on the memory ref; None where nothing was left to write.
        closed: whether nothing of the dream is open any more.
    """

    dream: Dream
    numbers: tuple[int, ...]
    written: Written | None
    closed: bool


def find_dream(workspace: Workspace, id: str) -> Dream:
    """The open dream with this id, or the only one that begins so.

    Raises:
        UsageError: none or several begin so.
    """
    waiting = open_dreams(workspace)
    found = [one for one in waiting if one.id == id] or [one for one in waiting if one.id.startswith(id)]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(one.id for one in found or waiting)
    what = f"Several open dreams begin with {id!r}" if found else f"There is no open dream {id!r}"
    raise UsageError(what, f"Open are: {listed}." if listed else "No dream waits for review.")


def accept(
    workspace: Workspace,
    id: str,
    numbers: tuple[int, ...] | None,
    author: Signature,
    now: float,
    known: ProofEvidence = TREES_ALONE,
    ask: Callable[[str], None] | None = None,
    job: str = "",
    copies: Copies | None = None,
    at: str = "",
    answers: Mapping[int, Answer] | None = None,
) -> Landed:
    """Lands a dream, or some of its changes, on the memory ref.

    Memory that arrived meanwhile is kept: the whole lands by one three-way merge from where the dream
    left, single changes each from the state before it. Either way it is a merge of a commit a change, each
    with its own account and session, so that whoever judges history finds all that was said. The index is
    brought in line.

    Args:
        numbers: changes to accept; None for all that are open and no questions.
        author: the person, at the present.
        now: seconds since the epoch; the commit's time is the author's.
        known: what a proof may use besides the trees.
        ask: asks the person about what only a session taught that is not here; None refuses it.
        job: what the commit shares with others that are undone with it.
        copies: brings working copies up to date.
        at: the dream's newest commit as it was shown, or the beginning of its name; empty for any.
        answers: number of a question on two claims to what the person says of them; that lands instead.

    Raises:
        UsageError: no such dream, change or question.
        CheckFailed: it moved since it was shown; the person said no; memory changed so that a claim
            would be lost, a secret would be stored, or the proof of what was chosen fails.
    """
    dream = as_answered(_as_shown(find_dream(workspace, id), at), answers or {})
    chosen = to_accept(dream, numbers)
    everything = len(chosen) == len(dream.changes) and not answers
    author = replace(author, time=int(now))
    _refuse_foreign(dream, chosen, everything)
    answered: frozenset[str] = frozenset()
    if ask and _names_sessions(dream, chosen):
        answered = _answered(chosen, failures_of(dream, known), ask)

    def plan(tip: Tip) -> Write:
        ours = read_files(dream.scope.repo, tip.tree)
        merged = whole(dream, ours) if everything else some(chosen, ours)
        for change in chosen:
            _refuse_overtaken(dream, change, tip.commit)
        done = _checked(dream, chosen, ours, merged, known.allow)
        replay = None if everything else replay_changes(dream, chosen, tip)
        _refuse_unproved(dream, failures_of(dream, known, replay), answered)
        _reconcile(dream, ours, merged)
        return Write(
            difference(ours, merged),
            _subject("Accept", dream, chosen, everything),
            Provenance(
                op="dream",
                writer="dream",
                job=job,
                engine=_engine(dream),
                reviewed=review_trailer(id, None if everything else chosen),
                claims=done.fates,
            ),
            "\n".join(f"{change.n}. {change.subject}" for change in chosen),
            # Its commits stay in history, with their reasons.
            parents=(replay or dream.tip,),
        )

    written = land(dream.scope, plan, author, copies)
    # The rest of it is in no history, and an undo must find it.
    return _settled(dream, chosen, written, parked=not everything)


def to_accept(dream: Dream, numbers: tuple[int, ...] | None) -> tuple[DreamCommit, ...]:
    """The changes that are accepted by these numbers, or by none: those that are open and ask nothing.

    Raises:
        UsageError: there is no such change, or nothing but questions.
    """
    chosen = dream.chosen(numbers)
    if numbers is None:
        chosen = tuple(change for change in chosen if not change.asks)
        if not chosen:
            hint = f"Accept or reject each by its number: git mem review accept {dream.id} N"
            raise UsageError(f"{dream.id} holds nothing but questions", hint)
    return chosen


def reject(
    workspace: Workspace,
    id: str,
    numbers: tuple[int, ...] | None,
    why: str,
    author: Signature,
    now: float,
    job: str = "",
    at: str = "",
) -> Landed:
    """Turns a dream down, or some of its changes, and remembers that, so that they are not proposed again.

    Args: as for `accept`; `why` is kept in the commit.

    Raises:
        UsageError: no such dream or change.
    """
    dream = _as_shown(find_dream(workspace, id), at)
    chosen = dream.chosen(numbers)
    everything = len(chosen) == len(dream.changes)
    author, subject = replace(author, time=int(now)), _subject("Reject", dream, chosen, everything)
    written = remember_off(workspace, dream, chosen, author, subject, why, job=job)
    return _settled(dream, chosen, written, parked=True)


def _as_shown(dream: Dream, at: str) -> Dream:
    """The dream, where it is the one that was shown."""
    if at and len(at) < SHORTEST:
        raise UsageError(f"{at} is too short for a commit", f"At least {SHORTEST} digits of it.")
    if not dream.tip.startswith(at):
        raise CheckFailed(
            f"{dream.id} changed since it was shown: it is at {dream.tip[:12]}, not at {at[:12]}",
            f"Look again: git mem review show {dream.id}",
        )
    return dream


def _refuse_foreign(dream: Dream, chosen: Sequence[DreamCommit], everything: bool) -> None:
    """Raises where a branch, which a teammate or a host may have pushed, is not what a dream may be."""
    repo = dream.scope.repo
    trees = repo.commit(dream.base).tree, repo.commit(dream.tip).tree
    changed = {path for change in chosen for path in change.files}
    if everything:
        changed |= changed_files(repo, *trees)
    check_paths(changed)
    for path in sorted(changed):
        if kind(path) == "memory" and not is_memory(path):
            raise CheckFailed(f"{dream.id} writes {path!a}, which is no memory of an agent", _HINT)
    made = [pair for change in chosen for pair in change.after.items()]
    if everything:
        made += read_paths(repo, trees[1], set(filter(is_memory, changed))).items()
    shared = dream.scope.name == "project"
    for path, how in sorted(_personal(read_files(repo, trees[0]), made, chosen) if shared else ()):
        raise CheckFailed(f"{dream.id} would share {path}, which {how}", _HINT)


def _personal(
    before: Mapping[str, bytes],
    made: Collection[tuple[str, bytes]],
    chosen: Sequence[DreamCommit],
) -> Iterator[tuple[str, str]]:
    """Memories of a project that would say what is about a person, each with how.

    Args:
        before: the project's memory as the dream began.
        made: path of each memory that it writes, and what it makes of it.
    """
    files = {path: data for path, data in before.items() if is_memory(path)}
    theirs = {path for path, data in files.items() if b"user" in data and parse(path, data).type == "user"}
    private = _said(files, theirs) - _said(files, files.keys() - theirs) if theirs else set()
    reworded = {
        path_of(fate.target)
        for change in chosen
        for fate in change.fates
        if fate.target and path_of(fate.source) in theirs
    }
    for path, data in made:
        memory = parse(path, data)
        if memory.type == "user":
            if path not in theirs:
                yield path, "is about a person"
        elif path in reworded or not private.isdisjoint(claim.key for claim in memory.claims):
            yield path, "takes in what is about a person"


def _said(files: Mapping[str, bytes], paths: Iterable[str]) -> set[str]:
    """Normal forms of the claims of some files; a heading says nothing."""
    claims = (claim.key for path in paths for claim in parse(path, files[path]).claims)
    return {key for key in claims if not key.startswith("#")}


_HINT = "Look at it: git mem review show ID; reject it: git mem review reject ID -m WHY"


def _checked(
    dream: Dream,
    chosen: tuple[DreamCommit, ...],
    ours: Mapping[str, bytes],
    merged: Mapping[str, bytes],
    allow: frozenset[str],
) -> Account:
    """The account of what would land, worked out against the tip as it is."""
    declared: list[Fate] = [fate for change in chosen for fate in change.fates]
    _refuse_unheard(dream, declared, ours)
    done = account(ours, merged, where_they_stand(declared, ours, merged))
    if done.unaccounted:
        lost = done.unaccounted[0]
        raise CheckFailed(
            f"Memory changed since {dream.id}, and accepting it would lose {lost.source}: {lost.problem}",
            f"Accept other changes by number, or: git mem review reject {dream.id} -m 'out of date'",
        )
    for claim in revived(dream, chosen, ours, merged).values():
        raise CheckFailed(
            f"{dream.id} would bring back what was taken out since: {one_line(claim.text, 80)}",
            f"Accept other changes by number, or: git mem review reject {dream.id} -m 'out of date'",
        )
    new = {path: data for path, data in merged.items() if ours.get(path) != data}
    refused = screen(ours, new, allow).refusals
    if refused:
        raise CheckFailed(
            f"{refused[0].path} of {dream.id} {refused[0].message}", f"git mem review reject {dream.id}"
        )
    return done


def outdated(dream: Dream, allow: frozenset[str] = frozenset()) -> tuple[Finding, ...]:
    """What keeps open changes from being accepted since memory changed, as accepting them would say it.

    Args:
        allow: fingerprints of accepted secrets.
    """
    repo = dream.scope.repo
    tip = repo.ref(dream.scope.ref)
    if tip is None or tip == dream.base:
        return ()
    moved = changed_files(repo, *(repo.commit(oid).tree for oid in (dream.base, tip)))
    ours = read_files(repo, repo.commit(tip).tree)
    found = []
    for change in dream.open:
        merged = some([change], ours)
        touched = {home for path in change.files.keys() | paths_named(change.fates) for home in homes(path)}
        try:
            if touched & moved:
                _refuse_overtaken(dream, change, tip)
                _checked(dream, (change,), ours, merged, allow)
        except CheckFailed as refused:
            path = next(iter(change.files), "")
            found.append(Finding(path, 1, "outdated", refused.message, commit=change.commit))
            continue
        # What builds on it is judged with it.
        ours = merged
    return tuple(found)


def _refuse_overtaken(dream: Dream, change: DreamCommit, tip: str) -> None:
    """Raises where memory itself changed what a change is about: both versions would stand."""
    for one in overtaken_by(dream, change, tip):
        now = f"“{one_line(one.now, 80)}”" if one.now else "gone"
        raise CheckFailed(
            f"memory changed since: “{one_line(one.text, 80)}” is now {now} ({dream.id} {change.n})",
            f"Take that into the dream, and look again: git mem dream refresh {dream.id}",
        )


def _refuse_unheard(dream: Dream, fates: Sequence[Fate], ours: Mapping[str, bytes]) -> None:
    """Raises where a claim comes from a line of a log that memory has not: none lands with a dream."""
    logs = {path_of(fate.source) for fate in fates if is_log(path_of(fate.source))}
    standing = {home for path in logs for home in homes(path) if home in ours}
    there = {line_mark(ref) for path in standing for ref in lines_at(path, ours[path])}
    for fate in fates:
        if path_of(fate.source) in logs and line_mark(fate.source) not in there:
            raise CheckFailed(
                f"{dream.id} makes memory of {fate.source}, which is no fact of a log here",
                "Where somebody learned it who has not shared it yet, take that in first: git mem sync",
            )


def _names_sessions(dream: Dream, chosen: Sequence[DreamCommit]) -> bool:
    repo = dream.scope.repo
    told = (tellings(repo.commit(change.commit).message) for change in chosen)
    return any(one.provenance.session for some in told for one in some)


def _answered(
    chosen: Sequence[DreamCommit], failures: Sequence[Finding], ask: Callable[[str], None]
) -> frozenset[str]:
    """The claims that a person answers for, who knows what was said in a session that is not here."""
    commits = {change.commit for change in chosen}
    unseen = [one for one in errors(failures) if one.rule == UNSEEN and one.commit in commits]
    if unseen:
        more = f" (and {len(unseen) - 1} more)" if len(unseen) > 1 else ""
        ask(f"{unseen[0]}{more}. Accept it all the same?")
    return frozenset(one.claim for one in unseen)


def _refuse_unproved(dream: Dream, failures: Sequence[Finding], answered: Collection[str]) -> None:
    """Raises where something is not proved, nor answered for by a person.

    Args:
        answered: claims that sessions taught which are not here.
    """
    failures = [one for one in errors(failures) if one.rule != UNSEEN or one.claim not in answered]
    if not failures:
        return
    more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
    hint = f"See all: git mem review show {dream.id}; mend it: git mem review edit {dream.id}"
    if len(dream.open) > 1:
        hint += f"; or accept what is sound by its number: git mem review accept {dream.id} N"
    raise CheckFailed(f"{dream.id} is not proved: {failures[0]}{more}", hint)


def _reconcile(dream: Dream, ours: Mapping[str, bytes], merged: dict[str, bytes]) -> None:
    """Brings the index of each agent in line: a dream's branch never changes one (docs/formats.md)."""
    left = read_files(dream.scope.repo, dream.scope.repo.commit(dream.base).tree)
    agents = {path.partition("/")[0] for path in {*ours, *merged} if "/" in path}
    for agent in sorted(filter(is_agent_folder, agents)):
        then, before, after = (hot_memories(side, agent) for side in (left, ours, merged))
        path = f"{agent}/{index.INDEX}"
        text = decode(merged.get(path, b""))
        shown = in_line(text, then | before, after)
        if shown != text:
            merged[path] = encode(shown)


def _settled(
    dream: Dream, chosen: tuple[DreamCommit, ...], written: Written | None, *, parked: bool
) -> Landed:
    """Deletes a dream's ref once all is decided; one that memory's history does not hold is kept aside."""
    closed = len(chosen) == len(dream.open) and close(dream, keep=parked)
    return Landed(dream, tuple(change.n for change in chosen), written, closed)


def _subject(verb: str, dream: Dream, chosen: tuple[DreamCommit, ...], everything: bool) -> str:
    if len(chosen) == 1:
        return f"{verb} dream {dream.id}: {chosen[0].subject}"
    numbers = "" if everything else " " + ", ".join(str(change.n) for change in chosen)
    return f"{verb} dream {dream.id}{numbers}: {len(chosen)} changes"


def _engine(dream: Dream) -> str:
    return parse_trailers(dream.scope.repo.commit(dream.tip).message).engine


Answer = Literal["same", "newer", "older"]

ANSWERS: tuple[Answer, ...] = get_args(Answer)

SAME = "both say the same, as a person answered"


def as_answered(dream: Dream, answers: Mapping[int, Answer]) -> Dream:
    """A dream with what a person's answers come to in place of its questions; no ref is moved.

    Args:
        answers: number of a question to what was said of it.

    Raises:
        UsageError: a number is of no open question on two claims.
        CheckFailed: the claim that would go cannot go by itself.
    """
    if not answers:
        return dream
    known = {change.n: change for change in dream.open}
    for n in answers:
        if n not in known or not known[n].compares:
            raise UsageError(
                f"{dream.id} has no open question {n} on two claims",
                f"Look: git mem review show {dream.id}",
            )
    origins = claim_origins(dream)
    changes = (
        _change(dream, one, answers[one.n], origins) if one.n in answers else one for one in dream.changes
    )
    return replace(dream, changes=tuple(changes))


def _change(dream: Dream, change: DreamCommit, answer: Answer, origins: Origins) -> DreamCommit:
    repo = dream.scope.repo
    asked = repo.commit(change.commit)
    ground = repo.commit(asked.parents[0]).tree
    work = ConsolidationWork(read_files(repo, ground))
    earlier, later = by_time(change, origins)
    goes, stays = (later, earlier) if answer == "older" else (earlier, later)
    if answer == "same":
        fate = next(fate for fate in change.fates if fate.target in change.stood)
        goes, stays = fate.source, fate.target
    places = [_place(work, one) for one in (goes, stays)]
    judgement = Judgement("same" if answer == "same" else "amends")
    said = {one: when for one in (goes, stays) if (when := first_said(origins, one))}
    authors = {one: who for one in (goes, stays) if (who := _who(origins, one))}
    gone, left = places
    if gone and left:
        relate(work, [Pair(gone, left, judgement, 1.0)], said, authors, asking=False)
    if not work.changes:
        what = f"The claim that would go by this answer to {dream.id} {change.n} does not go alone"
        raise CheckFailed(what, f"Say it otherwise: git mem review edit {dream.id} {change.n}")
    made = work.changes[0]
    fates = tuple(
        replace(fate, kind="superseded", reason=SAME) if answer == "same" and fate.source == goes else fate
        for fate in made.fates
    )
    told = Provenance(op="dream", writer="dream", engine=parse_trailers(asked.message).engine, claims=fates)
    with repo.together():
        tree = write_tree(repo, ground, made.edits)
        message = safe_message(made.subject, told, made.reason)
        oid = repo.add_commit(tree, asked.parents, asked.author, asked.committer, message)
        return read_change(repo, change.n, ground, repo.commit(oid))


def _place(work: ConsolidationWork, ref: str) -> tuple[Memory, int] | None:
    memory = work.memories.get(path_of(ref))
    for at, claim in enumerate(memory.parsed.claims if memory else ()):
        if memory and reference(memory.path, claim) == ref:
            return memory, at
    return None


def _who(origins: Origins, ref: str) -> str:
    told = [one.told[0] for one in origins.get(ref, ()) if one.told]
    return told[0].author.partition("<")[0].strip() if told else ""


@dataclass(frozen=True)
class Refreshed:
    """What came of it.

    Attributes:
        dream: as it is now.
        merged: the merge commit; empty where the dream was up to date.
        moot: numbers of changes that are in memory by now, or that change nothing there any more.
        overtaken: what memory changed under the changes that are still open; what arrived is kept.
        failures: what the dream cannot prove as it is now.
    """

    dream: Dream
    merged: str
    moot: tuple[int, ...] = ()
    overtaken: tuple[Overtaken, ...] = ()
    failures: tuple[Finding, ...] = ()


def refresh(scope: Scope, dream: Dream, known: ProofEvidence = TREES_ALONE) -> Refreshed:
    """Merges the memory ref into a dream's branch, and proves it anew.

    The merge is the one that a sync makes of a side branch: fixed by its two parents, with the memory's
    own indexes. What arrived stays; where both changed one claim, both versions stand, disputed.

    Args:
        known: what a proof may use besides the trees.

    Raises:
        UsageError: the scope has no memory.
        CheckFailed: the branch was decided, or moved, meanwhile.
        RepositoryError: the two cannot be merged.
    """
    repo = scope.repo
    tip = repo.ref(scope.ref)
    if tip is None:
        raise UsageError(f"There is no memory of the scope {scope.name}")
    if repo.is_ancestor(tip, dream.tip):
        return Refreshed(dream, "", failures=errors(failures_of(dream, known)))
    overtaken = tuple(one for change in dream.open for one in overtaken_by(dream, change, tip))
    merged = with_memory(dream, tip)
    now = read_dream(scope, dream.here, merged, tip, tip, dream.remote)
    still = {change.n for change in now.open}
    differs = changed_files(repo, repo.commit(tip).tree, repo.commit(merged).tree)
    moot = tuple(one.n for one in dream.open if one.n not in still or not differs & one.files.keys())
    left = tuple(one for one in overtaken if one.n not in moot)
    return Refreshed(now, merged, moot, left, errors(failures_of(now, known)))
