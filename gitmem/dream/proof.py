"""What a dream proves: before it is made, commit by commit on its branch, and as it waits for a person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Literal

from gitmem.core.account import (
    claims_at,
    is_memory,
    line_mark,
    lines_at,
    lines_named,
    path_of,
    paths_named,
    proposals,
    references,
)
from gitmem.core.errors import CheckFailed
from gitmem.core.limits import OTHER_BYTES
from gitmem.core.merge import Files, only
from gitmem.core.names import INDEX, agent_folder, homes, is_agent_folder, is_log
from gitmem.core.text import decode
from gitmem.core.trailers import TEACH_NOTHING, Fate, parse, tellings
from gitmem.dream.cards import untold
from gitmem.engines.engine import DreamChange
from gitmem.git import repository
from gitmem.git.repository import BLOB, TREE, Difference, Repository
from gitmem.git.trees import (
    DEEPEST,
    changed_files,
    difference,
    list_files,
    read_files,
    read_log,
    read_paths,
)
from gitmem.ledger.dreams import Dream, DreamCommit, dreamt
from gitmem.ledger.indexes import hot_memories, in_line
from gitmem.rules.account import (
    FLOOR,
    NOWHERE,
    DreamGround,
    Lookup,
    ReplayedCommit,
    allowance,
    crowd,
    errors,
    listed,
    no_names,
    sources_of,
    unknown,
)
from gitmem.rules.findable import RecallWitness
from gitmem.rules.invention import inventions
from gitmem.rules.paths import check_path
from gitmem.rules.proof import costs, ends, prove
from gitmem.rules.rule import Finding
from gitmem.rules.source import Source
from gitmem.values import dataclass

if TYPE_CHECKING:
    from gitmem.rules.findable import RecallWitness


def is_dream(repo: Repository, base: str, tip: str) -> bool:
    """Whether a request is a dream, or holds one: a commit has a dream's trailers, or an account of claims.

    Args:
        base: what it is to be merged into, or where it left that.
        tip: its newest commit.
    """
    said = (parse(step.commit.message) for step in repo.steps(tip, without=(base,)))
    return any(dreamt(one) or bool(one.claims) for one in said)


def prove_branch(
    repo: Repository,
    base: str,
    tip: str,
    *,
    allow: frozenset[str] = frozenset(),
    asked: Sequence[RecallWitness] = (),
    lookup: Lookup = NOWHERE,
) -> tuple[Finding, ...]:
    """Judges a dream by the trees of its commits, from where it left the memory ref.

    Commits that merge a moved memory ref in are none of its own; what they did shows in the whole.

    Args:
        base: tip of the memory ref, or any commit of it that holds where the dream left.
        tip: newest commit of the dream.
        allow: fingerprints of secrets that a person accepted.
        asked: the last recalls that showed memories of the scope; none where they are not known, as in CI.
        lookup: sessions and code, where they are here.

    Returns:
        What it could not prove, and as notices what a person answered for; nothing where there is no commit
        of its own.

    Raises:
        MissingObject: history or a tree is missing or damaged.
        DetectorUnavailable: nothing can be said about secrets.
    """
    met = (*repo.merge_bases(base, tip), base)[0]
    walked = list(repo.steps(tip, without=(met,)))
    if not walked:
        return ()
    own = [step for step in walked if len(step.commit.parents) == 1]
    reader = _Reader(repo, (row for step in own for row in step.before[0]))
    steps = [_step(reader, step) for step in own]
    trees = repo.commit(met).tree, repo.commit(tip).tree
    merged = len(steps) < len(walked)
    if merged and any(step.lines for step in steps):
        steps = [*_with_told(repo, trees[0], own, steps)]
    before, end = _both(reader, trees, steps) if merged else (_first(steps), None)
    ground = DreamGround(
        allow=allow,
        standing=_standing(repo, trees[0], steps),
        odd=_odd(repo, *trees),
        end=end,
        sources=_Sources(repo, trees[0]),
        lookup=lookup,
    )
    after = ends(before, steps) if end is None else end
    given = costs(before, steps, after)
    if len(given) > FLOOR:  # only who gives up more than a few has all claims counted
        ground = replace(ground, limit=allowance(read_files(repo, trees[0])))
    found = [*reader.large, *prove(before, steps, ground)]
    if not errors(found):
        found += _unfound(repo, trees, steps, before, after, asked)
    return tuple(dict.fromkeys(found))


def _unfound(
    repo: Repository,
    trees: tuple[str, str],
    steps: Sequence[ReplayedCommit],
    before: Files,
    after: Files,
    asked: Sequence[RecallWitness],
) -> Iterable[Finding]:
    """What a search no longer finds since the dream; what a person did by hand is theirs."""
    touched = {path for step in steps if not step.person for path in difference(step.before, step.after)}
    if not touched:
        return ()
    from gitmem.dream.search import SearchPair
    from gitmem.rules.findable import lost_to_search

    old = read_files(repo, trees[0])
    new = {path: data for path, data in old.items() if path in after or path not in before}
    fates = [fate for step in steps for fate in step.fates]
    hand = difference(before, after).keys() - touched
    found = lost_to_search(old, {**new, **after}, fates, asked, search=SearchPair)
    return [failure for failure in found if failure.path not in hand]


class _Reader:
    """Reads contents of memories; what is too large to be one is told and taken for empty.

    Attributes:
        gone: what steps so far took out: path to what it was.
    """

    def __init__(self, repo: Repository, differences: Iterable[Difference]) -> None:
        self.repo = repo
        self.gone: dict[str, bytes] = {}
        self.large: list[Finding] = []
        self._known: dict[str, bytes] = {}
        # Their sizes cost one process for all of them.
        paths = {oid: row[0] for row in differences if is_memory(row[0]) for oid in row[1:] if oid}
        for oid, size in repo.sizes(tuple(paths)).items():
            if size <= OTHER_BYTES:
                self._known[oid] = repo.blob(oid)
                continue
            self._known[oid] = b""
            what = f"it is larger than {OTHER_BYTES:,} bytes, so it is not judged"
            self.large.append(Finding(paths[oid], 1, "place", what))

    def both(self, differences: Iterable[Difference]) -> tuple[dict[str, bytes], dict[str, bytes]]:
        """Memories before and after."""
        rows = [row for row in differences if is_memory(row[0])]
        old = {path: self._known[gone] for path, gone, _ in rows if gone}
        return old, {path: self._known[come] for path, _, come in rows if come}


def _step(reader: _Reader, step: repository.CommitDiff) -> ReplayedCommit:
    """One commit as the proof looks at it."""
    commit, said = step.commit, parse(step.commit.message)
    differences = step.before[0]
    old, new = reader.both(differences)
    more = _named(reader.repo, commit.tree, old, new, said.claims)
    foreign = sorted(path for path, _, _ in differences if not is_memory(path))
    if any(path.rpartition("/")[2] == INDEX for path in foreign):
        tidied = _tidied(reader.repo, step, reader.gone)
        foreign = [path for path in foreign if path not in tidied]
    reader.gone |= {path: old[path] for path in old.keys() - new.keys()}
    lines = listed(said.claims, lambda path: read_paths(reader.repo, commit.tree, {path}).get(path))
    heard = lines_named(said.claims, lambda path: read_log(reader.repo, commit.tree, path))
    old, new = {**old, **more}, {**new, **more}
    # A squashed commit names the sessions of all that it was, and may speak for others as well.
    told = [one.provenance for one in tellings(commit.message)]
    sessions = {one.session: None for one in told}
    dreams = [one for one in told if dreamt(one)]
    taught = [one for one in told if not dreamt(one) and one.op not in TEACH_NOTHING]
    targets = {fate.target for one in dreams for fate in one.claims if fate.target}
    return ReplayedCommit(
        old,
        new,
        said.claims,
        not dreams,
        tuple(foreign),
        commit.oid,
        lines,
        heard,
        tuple(filter(None, sessions)),
        bool(dreams and taught),
        frozenset(targets),
    )


def _named(repo: Repository, tree: str, old: Files, new: Files, fates: tuple[Fate, ...]) -> Files:
    """Memories of a tree that no change touched, and that claims are said to have gone to."""
    by_source = {fate.source: fate for fate in fates if not is_log(path_of(fate.source))}
    wanted: set[str] = set()
    for fate in (*by_source.values(), *(one for one in fates if is_log(path_of(one.source)))):
        path = path_of(fate.source)
        if path in old or not fate.source or is_log(path):
            wanted.add(path_of(fate.target))
    wanted = {path for path in wanted if is_memory(path) and check_path(path) is None}
    return read_paths(repo, tree, wanted - old.keys() - new.keys())


class _Sources:
    """The claims and the log lines of a tree, an agent at a time, read when they are asked for."""

    def __init__(self, repo: Repository, tree: str) -> None:
        self._repo = repo
        self._tree = tree
        self._files: Files | None = None
        self._found: dict[str, tuple[Source, ...]] = {}

    def __call__(self, agent: str) -> tuple[Source, ...]:
        if agent not in self._found:
            if self._files is None:
                self._files = read_files(self._repo, self._tree)
            self._found[agent] = sources_of(self._files, agent)
        return self._found[agent]


def _with_told(
    repo: Repository, tree: str, commits: Iterable[repository.CommitDiff], steps: Iterable[ReplayedCommit]
) -> Iterator[ReplayedCommit]:
    """The steps with those lines of logs alone that memory has, or that a commit of the branch itself told.

    Nobody answers for what a merge put into a log.

    Args:
        tree: of the memory ref, where the branch left it or last took it in.
    """
    told: set[tuple[str, str, str]] = set()
    read: set[str] = set()
    for commit, step in zip(commits, steps, strict=True):
        for path in filter(is_log, step.foreign):
            old, new = (
                lines_at(path, read_log(repo, side, path) or b"")
                for side in (repo.commit(commit.commit.parents[0]).tree, commit.commit.tree)
            )
            told |= {line_mark(ref) for ref in new.keys() - old.keys()}
        for path in {path_of(ref) for ref in step.lines} - read:
            read.add(path)
            for home in homes(path):
                told |= {line_mark(ref) for ref in lines_at(home, read_log(repo, tree, home) or b"")}
        yield replace(step, lines={ref: one for ref, one in step.lines.items() if line_mark(ref) in told})


def _tidied(repo: Repository, step: repository.CommitDiff, gone_before: Files) -> set[str]:
    """Indexes that a commit brought in line with its memories, as accepting a dream does.

    What a merge does to both may come as commits in a row, where history is told anew before it leaves or a
    host rebases it: lines follow memories that went a step before, and come where they were among others.

    Args:
        gone_before: memories that steps before it took out.
    """
    found = set()
    for path, gone, come in step.before[0]:
        agent, _, name = path.rpartition("/")
        if name != INDEX or not is_agent_folder(agent):
            continue
        text, shown = (decode(repo.blob(oid)) if oid else "" for oid in (gone, come))
        parent = repo.commit(step.commit.parents[0]).tree
        before, after = (
            hot_memories(dict(_hot(repo, tree, agent)), agent) for tree in (parent, step.commit.tree)
        )
        if _alike(text, in_line(text, hot_memories(gone_before, agent) | before, after), shown):
            found.add(path)
    return found


def _alike(text: str, wanted: str, shown: str) -> bool:
    """Whether an index is as wanted; lines that are new to it may stand anywhere, and be missing yet."""
    was, lines = set(text.splitlines()), (wanted.splitlines(), shown.splitlines())
    kept, left = ([line for line in side if line in was] for side in lines)
    return kept == left and Counter(lines[1]) <= Counter(lines[0])


def _hot(repo: Repository, tree: str, agent: str) -> Iterator[tuple[str, bytes]]:
    """What lies in an agent's folder itself, as far as it may be a memory or an index."""
    folder = repo.entry(tree, agent)
    if folder is None or folder.mode != TREE:
        return
    names = {name: entry.oid for name, entry in repo.tree(folder.oid).items() if entry.mode == BLOB}
    sizes = repo.sizes(tuple(names.values()))
    for name, oid in names.items():
        if sizes.get(oid, 0) <= OTHER_BYTES:
            yield f"{agent}/{name}", repo.blob(oid)


def _first(steps: Sequence[ReplayedCommit]) -> dict[str, bytes]:
    """The tree before, as far as steps in a row show it."""
    files: dict[str, bytes] = {}
    seen: set[str] = set()
    for step in steps:
        files |= {path: data for path, data in step.before.items() if path not in seen}
        seen |= step.before.keys() | step.after.keys()
    return files


def _both(
    reader: _Reader, trees: tuple[str, str], steps: Sequence[ReplayedCommit]
) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Both ends of a branch with merges: what differs, and what its steps touch or name."""
    paths = {path for path in changed_files(reader.repo, *trees) if is_memory(path)}
    paths |= {path for step in steps for path in (*step.before, *step.after)}
    before, after = (read_paths(reader.repo, tree, paths) for tree in trees)
    return before, after


def _standing(repo: Repository, tree: str, steps: Sequence[ReplayedCommit]) -> frozenset[str]:
    """All paths before, where a new one might be taken for one of them."""
    if all(step.person or step.after.keys() <= step.before.keys() for step in steps):
        return frozenset()
    return frozenset(list_files(repo, tree))


def _odd(repo: Repository, base: str | None, tip: str | None, prefix: str = "") -> dict[str, str]:
    """What a branch brings in that is no plain file: links, submodules, executables."""
    if tip is None or base == tip:
        return {}
    if prefix.count("/") > DEEPEST:
        return {prefix: "it lies deeper than any memory"}
    before = repo.tree(base) if base else {}
    found: dict[str, str] = {}
    for name, entry in repo.tree(tip).items():
        old = before.get(name)
        if old == entry:
            continue
        if entry.mode == TREE:
            inside = old.oid if old and old.mode == TREE else None
            found |= _odd(repo, inside, entry.oid, f"{prefix}{name}/")
        elif entry.mode != BLOB:
            found[prefix + name] = f"it has the mode {entry.mode:o}: a dream writes plain files alone"
    return found


def prove_plan(
    files: Files,
    changes: Sequence[DreamChange],
    *,
    allowance: int | None = None,
    said: Mapping[str, datetime] | None = None,
    allow: frozenset[str] = frozenset(),
    asked: Sequence[RecallWitness] = (),
    sessions: Mapping[str, str] | None = None,
    code: Callable[[str], str | None] = unknown,
    names: Callable[[str, str], Mapping[str, str]] = no_names,
) -> tuple[Finding, ...]:
    """Judges what an engine proposes.

    Args:
        files: the tree that it starts from.
        changes: proposals, in the order in which they apply.
        allowance: how many claims may be dropped or superseded; None for any number.
        said: claim (`<file>#<12 hex>`) to when it was first said.
        allow: fingerprints of secrets that a person accepted.
        asked: the last recalls that showed memories of the scope.
        sessions: id to what was said there; read where nothing else taught what a change says.
        code: gives a file of the code, by its path.
        names: gives the names of a claim that the code has otherwise now, as `Lookup.names`.
    """
    first, steps, state = _steps(files, changes)
    ground = _ground(files, allowance, said, allow, Lookup((sessions or {}).get, code, names))
    steps = [_with_session(step, sessions or {}, ground) for step in steps]
    failures = prove(first, steps, ground)
    if failures or not changes:
        return failures
    from gitmem.dream.search import SearchPair
    from gitmem.rules.findable import lost_to_search

    fates = [fate for change in changes for fate in change.fates]
    return lost_to_search(files, state, fates, asked, search=SearchPair)


def sessions_behind(
    files: Files,
    changes: Sequence[DreamChange],
    sessions: Mapping[str, str],
    *,
    said: Mapping[str, datetime] | None = None,
    code: Callable[[str], str | None] = unknown,
    names: Callable[[str, str], Mapping[str, str]] = no_names,
) -> tuple[str, ...]:
    """The session of each change that taught what it says anew; empty where memory or the code did.

    Args: as for `prove_plan`.
    """
    ground = _ground(files, None, said, frozenset(), Lookup(sessions.get, code, names))
    steps = (_with_session(step, sessions, ground) for step in _steps(files, changes)[1])
    return tuple("".join(step.sessions) for step in steps)


def _with_session(step: ReplayedCommit, sessions: Mapping[str, str], ground: DreamGround) -> ReplayedCommit:
    """A step with the one session that taught all that it says anew, where nothing else did."""
    if not sessions or crowd(step) or not any(inventions(step, ground)):
        return step
    # The last that was said holds.
    for id in reversed(list(sessions)):
        told = replace(step, sessions=(id,))
        if not any(inventions(told, ground)):
            return told
    return step


def _ground(
    files: Files,
    allowance: int | None,
    said: Mapping[str, datetime] | None,
    allow: frozenset[str],
    lookup: Lookup,
) -> DreamGround:
    return DreamGround(
        allowance,
        allow=allow,
        said=said or {},
        standing=frozenset(files),
        sources=lru_cache(partial(sources_of, files)),
        lookup=lookup,
    )


def _steps(
    files: Mapping[str, bytes], changes: Sequence[DreamChange]
) -> tuple[Files, list[ReplayedCommit], Files]:
    """The tree before as far as it is touched, the changes as steps, and the tree after."""
    state = dict(files)
    steps: list[ReplayedCommit] = []
    first: dict[str, bytes] = {}
    for change in changes:
        touched = set(filter(is_memory, {*change.edits, *paths_named(change.fates)}))
        before = only(state, touched)
        change.apply_to(state)
        first |= only(files, touched)
        foreign = tuple(sorted(path for path in change.edits if not is_memory(path)))
        after = only(state, touched)
        told = listed(change.fates, files.get)
        heard = lines_named(change.fates, files.get)
        steps.append(ReplayedCommit(before, after, change.fates, foreign=foreign, listed=told, lines=heard))
    return first, steps, state


def refuse(failures: Sequence[Finding]) -> None:
    """Raises where anything of a dream that is to be made could not be proved.

    Raises:
        CheckFailed: it names the first failure and how many more there are.
    """
    failures = errors(failures)
    if failures:
        more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
        hint = "No branch was made and memory is as it was."
        raise CheckFailed(f"The dream cannot be proved: {failures[0]}{more}", hint)


@dataclass(frozen=True)
class Overtaken:
    """A claim that a change is about, and that is no longer what it was when the dream began.

    Attributes:
        n: number of the change.
        claim: `<file>#<12 hex>`.
        text: as it was then.
        now: what it says now; empty where it is gone.
    """

    n: int
    claim: str
    text: str
    now: str

    @property
    def what(self) -> Literal["gone", "changed"]:
        """What happened to it."""
        return "changed" if self.now else "gone"


@dataclass(frozen=True)
class ProofEvidence:
    """What a proof may use besides the trees.

    Attributes:
        allow: fingerprints of accepted secrets.
        asked: the last recalls that showed memories of the scope.
        lookup: sessions and code, where they are here.
    """

    allow: frozenset[str] = frozenset()
    asked: Sequence[RecallWitness] = ()
    lookup: Lookup = NOWHERE


TREES_ALONE = ProofEvidence()


def failures_of(
    dream: Dream, known: ProofEvidence = TREES_ALONE, replay: str | None = None
) -> tuple[Finding, ...]:
    """Judges a dream from the trees, whatever its commits say.

    Args:
        known: what may be used besides.
        replay: commits of some of its changes on the memory ref; they are judged instead of the branch.

    Returns:
        What it cannot prove, claims that somebody took out of the branch by hand without a word among it;
        as notices what a person answered for.
    """
    repo = dream.scope.repo
    base = repo.ref(dream.scope.ref) or dream.base
    found = prove_branch(
        repo, base, replay or dream.tip, allow=known.allow, asked=known.asked, lookup=known.lookup
    )
    told = {failure.claim for failure in found if failure.claim}
    silent = () if replay else _silent(dream)
    return (*found, *(failure for failure in silent if failure.claim not in told))


def by_hand(dream: Dream) -> tuple[Finding, ...]:
    """What people wrote on the branch is theirs: nobody asks who taught it."""
    what = "{}. is by hand, by {}: who taught what it says is not asked"
    return tuple(
        Finding("", 1, "unchecked", what.format(change.n, change.by), "notice")
        for change in dream.open
        if change.by
    )


def _silent(dream: Dream) -> tuple[Finding, ...]:
    gone = [
        (change, one)
        for change in dream.open
        for one in (untold(change) if change.by else ())
        if one.kind == "deleted" and one.old is not None
    ]
    if not gone:
        return ()
    repo = dream.scope.repo
    trees = repo.commit(dream.base).tree, repo.commit(dream.tip).tree
    paths = {*filter(is_memory, changed_files(repo, *trees)), *(one.path for _, one in gone)}
    standing = {
        (agent_folder(path), claim.key)
        for path, data in read_paths(repo, trees[1], paths).items()
        for claim in claims_at(path, data)
    }
    return tuple(
        Finding(
            one.path,
            1,
            "account",
            f"{change.by} took it out by hand, and nothing says why",
            claim=one.before,
            commit=change.commit,
        )
        for change, one in gone
        if one.old is not None and (agent_folder(one.path), one.old.key) not in standing
    )


def overtaken_by(dream: Dream, change: DreamCommit, tip: str) -> Iterator[Overtaken]:
    """The claims of a change that memory itself re-worded or dropped since the dream left it."""
    repo = dream.scope.repo
    trees = repo.commit(dream.base).tree, repo.commit(tip).tree
    sources = {fate.source for fate in change.fates}
    paths = changed_files(repo, *trees) & {home for one in sources for home in homes(path_of(one))}
    if not paths:
        return
    before, after = (read_paths(repo, tree, paths) for tree in trees)
    old, new = references(before), references(after)
    standing = {(agent_folder(path_of(one)), one.rpartition("#")[2]) for one in new}
    became = {one.before: one for one in proposals(before, after)}
    for source in sorted(sources & old.keys() - new.keys()):
        one = became.get(source)
        now = one.new.text if one is not None and one.new is not None else ""
        # It may have been paged out.
        paged = (agent_folder(path_of(source)), source.rpartition("#")[2]) in standing
        if not paged and (one is None or one.kind != "moved"):
            yield Overtaken(change.n, source, old[source].text, now)
