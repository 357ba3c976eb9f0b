"""A dream as git holds it: a parked branch, a commit a change, the summary in a last commit of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import field, replace

from gitmem.core.account import (
    is_memory,
    lines_named,
    missing,
    path_of,
    paths_named,
    proposals,
    references,
    reject_keys,
)
from gitmem.core.claim import Claim
from gitmem.core.daily_log import LogLine, is_log
from gitmem.core.errors import RepositoryError
from gitmem.core.limits import MEMORY_BYTES
from gitmem.core.merge import Files
from gitmem.core.names import homes
from gitmem.core.trailers import ASKING, LEFT_OUT, Fate, Provenance, one_line, parse, tellings
from gitmem.git.repository import Commit, Repository
from gitmem.git.trees import changed_files, read_paths
from gitmem.ledger.proposals import dream_branches
from gitmem.ledger.workspace import Scope, Workspace
from gitmem.values import dataclass


@dataclass(frozen=True)
class ClaimStory:
    """One claim before and after.

    Attributes:
        before: its text; empty where it cannot be found.
        after: text of the claim that it is or went into; empty where it was dropped.
        line: the fact of a daily log that the claim was made of; None where it comes from a memory.
    """

    fate: Fate
    before: str
    after: str
    line: LogLine | None = None


@dataclass(frozen=True)
class DreamCommit:
    """One change of a dream.

    Attributes:
        n: its number, from 1; it stays when others are decided.
        reason: why, as the commit says.
        files: path to content before and after; None where there is no file.
        decided: `accepted`, `rejected` or empty.
        by: who edited the branch by hand or on the web; empty for a change of the dream itself.
        time: author time, seconds since the epoch.
        stood: those targets of its fates that stood before it.
    """

    n: int
    commit: str
    subject: str
    reason: str
    fates: tuple[Fate, ...]
    claims: tuple[ClaimStory, ...]
    files: Mapping[str, tuple[bytes | None, bytes | None]] = field(repr=False)
    decided: str = ""
    by: str = ""
    time: int = 0
    stood: frozenset[str] = frozenset()

    @property
    def asks(self) -> bool:
        """Whether it is a question, which lands only where a person accepts just that one."""
        return self.subject.startswith(ASKING)

    @property
    def compares(self) -> bool:
        """Whether it asks of two claims that stand; what else is asked is answered by yes or no."""
        return self.asks and any(fate.target in self.stood for fate in self.fates)

    @property
    def keys(self) -> tuple[str, ...]:
        """Under which it is remembered when it is rejected, and known while it waits."""
        return reject_keys(self.fates, self.stood)


@dataclass(frozen=True)
class Dream:
    """A dream that waits for a person.

    Attributes:
        ref: the branch here; the remote-tracking ref where a teammate dreamt it.
        base: newest commit of the memory ref that it holds: where it started, or was last refreshed.
        tip: its newest commit, here or at the remote.
        summary: what the last commit says.
        time: author time, seconds since the epoch.
        remote: the remote that has it; empty where none does.
        ground: commit of the memory ref that it started from.
        highest: the highest number that a change of it has, or had before it was left off.
    """

    id: str
    scope: Scope
    ref: str
    base: str
    tip: str
    changes: tuple[DreamCommit, ...]
    summary: str = ""
    time: int = 0
    remote: str = ""
    ground: str = ""
    highest: int = 0

    @property
    def incoming(self) -> bool:
        """Whether somebody else dreamt it: only the remote has the branch."""
        return self.ref.startswith("refs/remotes/")

    @property
    def open(self) -> tuple[DreamCommit, ...]:
        """The changes that nobody decided on."""
        return tuple(change for change in self.changes if not change.decided)


def dreamt(said: Provenance) -> bool:
    """Whether a dream made a commit, or speaks through it: a squashed one, a landing."""
    return said.op == "dream" or said.writer == "dream"


def open_dreams(workspace: Workspace) -> tuple[Dream, ...]:
    """The dreams that wait for a decision, of all scopes, in a fixed order."""
    found: list[Dream] = []
    for scope in workspace.scopes:
        # Where a scope cannot be read nothing of it can be decided, and all else still can.
        with suppress(RepositoryError):
            found += dreams_of(scope)
    return tuple(found)


def dreams_of(scope: Scope) -> tuple[Dream, ...]:
    """The dreams of one scope that wait for a decision, those of teammates that were fetched among them."""
    tip = scope.repo.ref(scope.ref)
    if tip is None:
        return ()
    found = []
    for ref, oid, remote in dream_branches(scope):
        # What others pushed may be anything; one that cannot be read hides no other.
        with suppress(RepositoryError) if remote else nullcontext():
            base = fork_point(scope.repo, tip, oid)
            if base is None or base == oid:
                continue
            dream = read_dream(scope, ref, oid, base, tip, remote)
            if dream.open:
                found.append(dream)
    return tuple(found)


def fork_point(repo: Repository, tip: str, dream: str) -> str | None:
    """Where a dream left a memory ref; None where it did not, since all refs share but the empty root."""
    bases = repo.merge_bases(tip, dream)
    return bases[0] if bases and repo.commit(bases[0]).parents else None


def read_dream(scope: Scope, ref: str, oid: str, base: str, tip: str, remote: str = "") -> Dream:
    """Reads a dream's commits; merges that bring it up to date are none of them.

    Where it was built on commits that the memory ref took squashed, those are none of it, either; what of
    them the memory ref lacks is listed before the dream's own changes and numbered behind them.

    Args:
        oid: its newest commit.
        base: where it left the memory ref, or last took it in.
        tip: where the memory ref stands; its history and its content say what was decided.
    """
    repo = scope.repo
    id = ref.rpartition("/")[2]
    met = repo.merge_bases(tip, oid)
    commits = own_commits(repo, oid, *(met if base in met else (base,)))
    foreign = _foreign(repo, commits, oid)
    mine = [commit for commit in commits if commit.oid not in foreign]
    ground = _ground(repo, mine, base, tip)
    decided = _decided(repo, id, tip, ground)
    changes: list[DreamCommit] = []
    summary, n = "", 0
    for commit in mine:
        before = repo.commit(commit.parents[0]).tree if commit.parents else None
        if commit.tree == before and commit.subject.startswith(LEFT_OUT):
            n += 1
        elif commit.tree == before:
            summary = _text(commit)
        elif any(map(is_memory, changed_files(repo, before, commit.tree))):
            if remote:
                _refuse_large(repo, before, commit)
            n += 1
            said = decided.get(n, decided.get(0, ""))
            change = read_change(repo, n, before, commit, said)
            changes.append(change if said else _judged(repo, change, ground, tip))
    # Numbers are the same in every clone, whatever each knows of what the dream was built on.
    below: list[DreamCommit] = []
    for commit in _lacking(repo, [one for one in commits if one.oid in foreign], mine, base, oid):
        n += 1
        said = decided.get(n, decided.get(0, ""))
        before = repo.commit(commit.parents[0]).tree if commit.parents else None
        change = read_change(repo, n, before, commit, said)
        below.append(change if said else _judged(repo, change, base, tip))
    changes = [*below, *changes]
    time = repo.commit(oid).author.time
    return Dream(id, scope, ref, base, oid, tuple(changes), summary, time, remote, ground, n)


def _refuse_large(repo: Repository, before: str | None, commit: Commit) -> None:
    """Raises where a commit of others makes a memory larger than it may be: reading it can take minutes.

    Raises:
        RepositoryError: it does.
    """
    paths = sorted(filter(is_memory, changed_files(repo, before, commit.tree)))
    new, old = (
        {path: entry.oid for path in paths if tree and (entry := repo.entry(tree, path))}
        for tree in (commit.tree, before)
    )
    sizes = repo.sizes(tuple({*new.values(), *old.values()}))
    for path, oid in new.items():
        grown = sizes.get(oid, 0) > sizes.get(old.get(path, ""), 0)
        if grown and sizes[oid] > MEMORY_BYTES:
            raise RepositoryError(f"{commit.oid[:12]} makes {path!a} larger than a memory may be")


def own_commits(repo: Repository, tip: str, *bases: str) -> list[Commit]:
    """Commits of a side branch since it left the memory ref, oldest first, without merges."""
    steps = repo.steps(tip, without=bases)
    return [step.commit for step in steps if len(step.commit.parents) < 2]


def _foreign(repo: Repository, commits: list[Commit], tip: str) -> set[str]:
    """Those commits of a side branch that the dream was built on, or that came into it by a merge."""
    known = {commit.oid for commit in commits}
    dreams = {commit.oid for commit in commits if dreamt(parse(commit.message))}
    first = next((commit.oid for commit in commits if commit.oid in dreams), tip)
    line, commit = set(), repo.commit(tip)
    while commit.oid != first and (commit.oid in known or len(commit.parents) > 1):
        line.add(commit.oid)
        commit = repo.commit(commit.parents[0])
    return known - line - dreams if dreams else set()


def _lacking(
    repo: Repository, foreign: list[Commit], mine: list[Commit], base: str, tip: str
) -> Iterator[Commit]:
    """Those commits of which the memory ref lacks something, so that it would come with the dream."""
    if not foreign:
        return
    met = repo.commit(base).tree
    ends = {repo.commit(oid).tree for oid in (tip, *mine[0].parents[:1])}
    for commit in foreign:
        before = repo.commit(commit.parents[0]).tree if commit.parents else None
        paths = set(filter(is_memory, changed_files(repo, before, commit.tree)))
        if all(paths & changed_files(repo, met, end) for end in ends):
            yield commit


def _ground(repo: Repository, commits: list[Commit], base: str, tip: str) -> str:
    """Where a dream first left the memory ref: what was decided since may be older than its merge base."""
    if not commits or commits[0].parents[:1] == (base,):
        return base
    return fork_point(repo, tip, commits[0].oid) or base


def _judged(repo: Repository, change: DreamCommit, base: str, tip: str) -> DreamCommit:
    """The change as accepted where the memory ref has what it is about, squashed or rebased."""
    if tip == base:
        return change
    before, after = (
        {path: pair[side] for path, pair in change.files.items() if is_memory(path)} for side in (0, 1)
    )
    old, new = ({p: d for p, d in files.items() if d is not None} for files in (before, after))
    wanted = proposals(old, new)
    trees = repo.commit(base).tree, repo.commit(tip).tree
    paths = set(old) | set(new)
    ground = _standing(repo, trees[0], paths)
    lacking = missing(wanted, ground, _standing(repo, trees[1], paths))
    # A memory that is new is no other for being renamed since.
    new_here = any(is_log(path_of(fate.source)) for fate in change.fates)
    if lacking and (len(lacking) < len(wanted) or new_here):
        paths |= set(filter(is_memory, changed_files(repo, *trees)))
        ground = _standing(repo, trees[0], paths)
        lacking = missing(lacking, ground, _standing(repo, trees[1], paths))
    return replace(change, decided="accepted") if wanted and not lacking else change


def _standing(repo: Repository, tree: str, paths: set[str]) -> dict[str, bytes]:
    """Memories of a tree under these paths, also where they were paged out or brought back meanwhile."""
    found = read_paths(repo, tree, {home for path in paths for home in homes(path)})
    places = {path: [home for home in (path, *homes(path)) if home in found] for path in paths}
    return {path: found[there[0]] for path, there in places.items() if there}


def reviewed(id: str, numbers: tuple[int, ...] | None) -> str:
    """The value of the trailer that says what of a dream was decided; no numbers mean all of it."""
    return id if numbers is None else f"{id} {','.join(map(str, numbers))}"


def _decided(repo: Repository, id: str, tip: str, base: str) -> dict[int, str]:
    """Number of a change to what a person decided and did not undo; 0 stands for all."""
    found: dict[int, str] = {}
    undone: set[str] = set()
    for commit in repo.history(tip):
        if commit.oid == base:
            break
        if commit.oid in undone:
            continue
        # A host may have squashed the decision with what others learned.
        for provenance in (one.provenance for one in tellings(commit.message)):
            if provenance.undoes:
                undone.add(provenance.undoes)
            name, _, numbers = provenance.reviewed.partition(" ")
            if name == id:
                what = "accepted" if provenance.writer == "dream" else "rejected"
                for number in numbers.split(",") if numbers else ["0"]:
                    if number.isdecimal():
                        found.setdefault(int(number), what)
    return found


def read_change(
    repo: Repository, n: int, before: str | None, commit: Commit, decided: str = ""
) -> DreamCommit:
    """One commit of a dream as a change, numbered `n`.

    Args:
        before: the tree that it starts from; None for an empty one.
        decided: as in `DreamCommit`.
    """
    told = parse(commit.message)
    fates = told.claims
    paths = changed_files(repo, before, commit.tree)
    named = paths | paths_named(fates)
    old = read_paths(repo, before, named) if before else {}
    new = read_paths(repo, commit.tree, named)
    by = ""
    if not dreamt(told):
        by = one_line(commit.author.name) or "somebody"
        said = {fate.source for fate in fates}
        fates += tuple(fate for fate in _edited(old, new, by) if fate.source not in said)
    files = {path: (old.get(path), new.get(path)) for path in sorted(paths)}
    return DreamCommit(
        n,
        commit.oid,
        commit.subject,
        _text(commit),
        fates,
        claim_stories(fates, old, new),
        files,
        decided,
        by,
        commit.author.time,
        standing_targets(fates, old),
    )


def claim_stories(fates: Sequence[Fate], old: Files, new: Files) -> tuple[ClaimStory, ...]:
    """What an account says of claims, with their texts.

    Args:
        old, new: the files that it names, before and after.
    """
    here, there, heard = references(old), references(new), lines_named(fates, new.get)
    return tuple(
        ClaimStory(fate, line.text, _said(there, fate.target), line)
        if (line := heard.get(fate.source))
        else ClaimStory(fate, _said(here, fate.source), _said(there, fate.target))
        for fate in fates
    )


def standing_targets(fates: Sequence[Fate], old: Files) -> frozenset[str]:
    """Those targets of an account that stood before it."""
    here = references(old)
    return frozenset(fate.target for fate in fates if fate.target in here)


def _edited(old: Mapping[str, bytes], new: Mapping[str, bytes], by: str) -> tuple[Fate, ...]:
    """What an edit of the branch did to claims: those that it re-worded; what it took away says nothing."""
    return tuple(
        Fate("superseded", one.before, one.after, f"edited by {by}")
        for one in proposals(old, new)
        if one.kind == "changed"
    )


def _said(claims: Mapping[str, Claim], ref: str) -> str:
    claim = claims.get(ref)
    return claim.text if claim else ""


def _text(commit: Commit) -> str:
    """What a message says between subject and trailers."""
    lines = commit.message.split("\n")[1:]
    ours = ("Gitmem-", "(cherry picked from commit ")
    return "\n".join(line for line in lines if not line.startswith(ours)).strip()
