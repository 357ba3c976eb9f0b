"""A dream as git holds it: a parked branch, a commit a change, the summary in a last commit of its own.

What memory would be with all of it in (`whole`) or some of its changes (`some`), what that would bring back
(`revived`), the same as commits (`replay_changes`, `without`), and as a dream of its own (`wait_apart`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import field, replace
from functools import partial

from gitmem.core import tombstone
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
from gitmem.core.daily_log import LogLine
from gitmem.core.errors import RepositoryError, UsageError
from gitmem.core.limits import MEMORY_BYTES
from gitmem.core.merge import Files, merge_trees, only
from gitmem.core.names import agent_folder, homes, is_log, twins
from gitmem.core.trailers import (
    ASKING,
    LEFT_OUT,
    PICKED,
    Fate,
    Provenance,
    body_of,
    format_message,
    one_line,
    parse,
    tellings,
)
from gitmem.git.repository import Commit, Repository
from gitmem.git.trees import changed_files, difference, read_files, read_paths, write_tree
from gitmem.ledger.land import Tip
from gitmem.ledger.merge import without_collisions
from gitmem.ledger.proposals import dream_branches, dreams_in, let_wait
from gitmem.ledger.workspace import Scope, Workspace
from gitmem.rules.account import where_they_stand
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
    def before(self) -> dict[str, bytes]:
        """The memories that it changes or deletes, as they were."""
        return {path: old for path, (old, _) in self.files.items() if old is not None and is_memory(path)}

    @property
    def after(self) -> dict[str, bytes]:
        """The memories that it makes or changes, as it leaves them."""
        return {path: new for path, (_, new) in self.files.items() if new is not None and is_memory(path)}

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
    def here(self) -> str:
        """The ref that its branch has in this repository, also where it is not made yet."""
        return dreams_in(self.scope).waiting + self.id

    @property
    def open(self) -> tuple[DreamCommit, ...]:
        """The changes that nobody decided on."""
        return tuple(change for change in self.changes if not change.decided)

    def chosen(self, numbers: Collection[int] | None) -> tuple[DreamCommit, ...]:
        """Open changes by their numbers, in order; all of them for None.

        Raises:
            UsageError: there is no such open change, or no number.
        """
        known = {change.n: change for change in self.open}
        unknown = sorted(set(numbers or ()) - known.keys())
        if unknown or not (known if numbers is None else numbers):
            listed = ", ".join(map(str, known))
            raise UsageError(
                f"{self.id} has no open change {unknown[0] if unknown else ''}", f"Open are: {listed}."
            )
        return self.open if numbers is None else tuple(known[number] for number in sorted(set(numbers)))


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

    def told(n: int, before: str | None, commit: Commit, left: str) -> DreamCommit:
        said = decided.get(n, decided.get(0, ""))
        change = read_change(repo, n, before, commit, said)
        return change if said else _judged(repo, change, left, tip)

    changes: list[DreamCommit] = []
    summary, n = "", 0
    for commit in mine:
        before = _before(repo, commit)
        if commit.tree == before and commit.subject.startswith(LEFT_OUT):
            n += 1
        elif commit.tree == before:
            summary = body_of(commit.message)
        elif any(map(is_memory, changed_files(repo, before, commit.tree))):
            if remote:
                _refuse_large(repo, before, commit)
            n += 1
            changes.append(told(n, before, commit, ground))
    # Numbers are the same in every clone, whatever each knows of what the dream was built on.
    below = list(_lacking(repo, [one for one in commits if one.oid in foreign], mine, base, oid))
    behind = enumerate(below, n + 1)
    changes = [*(told(at, _before(repo, one), one, base) for at, one in behind), *changes]
    n += len(below)
    time = repo.commit(oid).author.time
    return Dream(id, scope, ref, base, oid, tuple(changes), summary, time, remote, ground, n)


def _before(repo: Repository, commit: Commit) -> str | None:
    """The tree that a commit changes; None for the first."""
    return repo.commit(commit.parents[0]).tree if commit.parents else None


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
        before = _before(repo, commit)
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
    old, new = change.before, change.after
    wanted = proposals(old, new)
    trees = repo.commit(base).tree, repo.commit(tip).tree
    # One may have been paged out, or brought back, meanwhile.
    paths = {home for path in {*old, *new} for home in homes(path)}
    lacking = missing(wanted, *(read_paths(repo, tree, paths) for tree in trees))
    # A memory that is new is no other for being renamed since.
    new_here = any(is_log(path_of(fate.source)) for fate in change.fates)
    if lacking and (len(lacking) < len(wanted) or new_here):
        paths |= set(filter(is_memory, changed_files(repo, *trees)))
        lacking = missing(lacking, *(read_paths(repo, tree, paths) for tree in trees))
    return replace(change, decided="accepted") if wanted and not lacking else change


def review_trailer(id: str, changes: Iterable[DreamCommit] | None) -> str:
    """The value of the trailer that says what of a dream was decided; no changes mean all of it."""
    return id if changes is None else f"{id} {','.join(str(change.n) for change in changes)}"


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
        body_of(commit.message),
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


def whole(dream: Dream, ours: Mapping[str, bytes]) -> dict[str, bytes]:
    """The merge of the dream's memories: it has no say in indexes, hosts' files and tombstones.

    An index is read by every session, and no review shows what a branch made of it.
    """
    repo = dream.scope.repo
    base = read_files(repo, repo.commit(dream.base).tree)
    theirs = {
        path: data
        for path, data in read_files(repo, repo.commit(dream.tip).tree).items()
        if is_memory(path) or base.get(path) == data
    }
    theirs |= {path: base[path] for path in base if path not in theirs and not is_memory(path)}
    return dict(merge_trees(base, ours, theirs).files)


def some(chosen: Iterable[DreamCommit], ours: Mapping[str, bytes]) -> dict[str, bytes]:
    """Applies changes one by one, each as a merge from the state before it."""
    newest = deque(_states(chosen, ours), maxlen=1)
    return newest[0] if newest else dict(ours)


def _states(chosen: Iterable[DreamCommit], ours: Mapping[str, bytes]) -> Iterator[dict[str, bytes]]:
    merged = dict(ours)
    for change in chosen:
        before, after = change.before, change.after
        # A memory may have been paged out, or brought back, since.
        places = {*before, *after, *twins({*before, *after})}
        here = only(merged, places)
        stones = {path: data for path, data in merged.items() if path.endswith(f"/{tombstone.FILE}")}
        result = merge_trees(before | stones, here | stones, after | stones)
        standing = {path: data for path, data in merged.items() if path not in places}
        result = without_collisions(result, {*places, *stones}, partial(only, standing))
        merged = standing | result.files
        yield merged


def replay_changes(dream: Dream, chosen: Iterable[DreamCommit], tip: Tip) -> str:
    """Commits of these changes as they would stand on the memory ref, with what they say; no ref moves.

    Each names the commit that it was made of, as `git cherry-pick -x` does: on the same ground it would
    be that very commit, and the dream would have left the memory ref there.

    Returns:
        The newest of them.
    """
    repo = dream.scope.repo
    changes = list(chosen)
    at, tree = tip.commit, tip.tree
    state = read_files(repo, tree)
    with repo.together():
        for change, after in zip(changes, _states(changes, state), strict=True):
            # An index line that comes back with a memory is no part of what the dream asks for.
            own = {path for path in {*state, *after} if is_memory(path) or path in change.files}
            tree = write_tree(repo, tree, difference(only(state, own), only(after, own)))
            said = repo.commit(change.commit)
            message = said.message
            for one, here in zip(change.fates, where_they_stand(change.fates, state, after), strict=True):
                message = message.replace(f"Gitmem-Claim: {one.line()}", f"Gitmem-Claim: {here.line()}")
            picked = f"{message.rstrip()}\n{PICKED} {change.commit})\n"
            at = repo.add_commit(tree, (at,), said.author, said.committer, picked)
            state = after
    return at


def without(dream: Dream, off: Collection[int]) -> str:
    """The dream's commits without some of its changes; commits before the first of them stay as they are.

    A commit that changes nothing keeps the number of each that is left off now, or was before, also at the
    end: a decision is known by its number, which nobody's later commit may get. No ref moves.

    Args:
        off: numbers of changes, at least one of them the dream's.
    """
    repo = dream.scope.repo
    changes = {change.n: change for change in dream.changes}
    begin = min(n for n in changes if n in off)
    first = repo.commit(changes[begin].commit)
    at, who = first.parents[0], first.committer
    told = Provenance(op="dream", writer="dream")
    for n in range(begin, dream.highest + 1):
        tree = repo.commit(at).tree
        if n in changes and n not in off:
            at = replay_changes(dream, [changes[n]], Tip(at, tree))
            continue
        with repo.together():
            at = repo.add_commit(tree, (at,), who, who, format_message(f"{LEFT_OUT}{n}", told))
    return at


def wait_apart(dream: Dream, changes: Sequence[DreamCommit], ground: str, why: str) -> str:
    """Lets some changes of a dream wait as a dream of their own, made again on a commit of memory.

    Returns:
        Its id, by its content: asked for again after a crash it is the same. Empty where nothing is left of
        them there.
    """
    repo, family = dream.scope.repo, dreams_in(dream.scope)
    tip = Tip(ground, repo.commit(ground).tree)
    made = replay_changes(dream, changes, tip)
    if repo.commit(made).tree == tip.tree:
        return ""
    id = f"d-{made[: len(dream.id) - 2]}"
    let_wait(family, id, made, f"gitmem review: {why}")
    return id


def revived(dream: Dream, chosen: Iterable[DreamCommit], ours: Files, merged: Files) -> dict[str, Claim]:
    """Finds the claims that were taken out since the dream began, and would stand again, in other words.

    In a merge what was edited on one side outlives that the other deleted it. A dream only says again what
    was there, and may not turn a decision on it over. What was worded otherwise meanwhile is no such claim.

    Args:
        ours: the memory ref's files.
        merged: the same with the changes in it.

    Returns:
        Name of each claim, where the dream began, to the claim.
    """
    fates = [fate for change in chosen for fate in change.fates if fate.target]
    repo = dream.scope.repo
    paths = {path_of(fate.source) for fate in fates}
    start = read_paths(repo, repo.commit(dream.ground or dream.base).tree, paths)
    before = references(start)
    standing = _marks(ours)
    alive = {fate.target for fate in fates if _mark(fate.source) in standing or fate.source not in before}
    there = _marks(merged)
    back = [
        fate.source
        for fate in fates
        if fate.target not in alive and _mark(fate.target) in there and _mark(fate.target) not in standing
    ]
    if not back:
        return {}
    places = {home for path in paths for home in (path, *homes(path))}
    now = only(ours, places)
    worded = {one.before for one in proposals(start, now) if one.kind in ("changed", "moved")}
    return {source: before[source] for source in back if source not in worded}


def _marks(files: Files) -> set[tuple[str, str]]:
    return {_mark(ref) for ref in references(files)}


def _mark(reference: str) -> tuple[str, str]:
    """A claim wherever it stands: its agent, and its digits."""
    return agent_folder(path_of(reference)), reference.rpartition("#")[2]
