"""A memory becomes a rule in a file of the code, and a memory again: as a person asks, and as HEAD has it.

`promote` and `demote` edit the work tree's file and propose a commit, whose message is
`gitmem/promotion.txt`. Once HEAD has a rule, the worker moves its memory to the archive with a pointer to
it; once HEAD has it no more, the memory comes back, in every clone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from gitmem.core.account import reference
from gitmem.core.errors import GitmemError, UsageError
from gitmem.core.memory import parse as parse_memory
from gitmem.core.names import archived_path, is_agent_folder, is_archived
from gitmem.core.pointer import is_promoted, pointers, rule_file, with_pointer, without_pointer
from gitmem.core.text import one_line
from gitmem.core.trailers import Fate, Provenance
from gitmem.flows import rule_files as files
from gitmem.flows import rule_text as text
from gitmem.flows.context import Edges, workspace_at
from gitmem.flows.rule_files import EVERYWHERE, MemoryPlace, place_at, place_of, propose, title_of
from gitmem.flows.rule_text import FileRule, OddMarks
from gitmem.flows.save import copies_of
from gitmem.git.command import peek
from gitmem.git.repository import Repository
from gitmem.git.trees import list_files
from gitmem.ledger.code_rewrites import read_rewrites
from gitmem.ledger.indexes import with_indexes
from gitmem.ledger.land import Tip, Write, Written, land, memory_commit
from gitmem.ledger.lookup import FoundMemory
from gitmem.ledger.paging import hot_memories
from gitmem.ledger.rule_record import HeadRule, RuleState, UncommittedRule, edit_state, read_state
from gitmem.ledger.workspace import Scope, Workspace
from gitmem.rules.screen import refused_claims


@dataclass(frozen=True)
class Promotion:
    """A rule that a memory would become.

    Attributes:
        address: of its mark: another than the memory's where that was renamed since.
        file: from the top of the work tree.
        rule: its lines.
        before, after: the file's text.
        doubts: what the person has to agree to, a phrase each.
        secret: whether one of them is that it holds a secret.
    """

    at: MemoryPlace
    address: str
    file: str
    rule: str
    before: str
    after: str
    doubts: tuple[str, ...] = ()
    secret: bool = False

    @property
    def question(self) -> str:
        """What the person is asked; empty where there is no doubt."""
        if not self.doubts:
            return ""
        why = ", ".join(self.doubts)
        return f"{self.at.address}: {why}; {self.file} is committed with the code. Write it there?"


@dataclass(frozen=True)
class PromotionResult:
    """What promote or demote did.

    Attributes:
        command: what commits it; empty where nothing is to be committed.
        message: file of the proposed message; empty likewise.
        written: the commit of memory, where one was made at once.
        edited: whether the work tree's file changed.
        notes: what a person has to know besides.
    """

    at: MemoryPlace
    file: str
    command: str = ""
    message: str = ""
    written: Written | None = None
    edited: bool = False
    notes: tuple[str, ...] = ()


def plan(workspace: Workspace, edges: Edges, found: FoundMemory | MemoryPlace, to: str | None) -> Promotion:
    """Works out what promoting a memory would write; nothing is written.

    Raises:
        UsageError: the file cannot hold it, it is disputed, a rule elsewhere, or one that a person worded.
    """
    at, memory = MemoryPlace(found.scope, found.agent, found.file, found.memory), found.memory
    if any(claim.dispute for claim in memory.claims):
        raise UsageError(f"{memory.name} is disputed", "Settle it first: git mem review")
    state = read_state(workspace.state)
    other = _file_of(state, at)
    if to or not other:
        file = files.chosen_file(workspace, edges, to)
    else:
        file = other
        files.check_file(workspace, file)
    if other and other != file and _rule_of(files.read_here(workspace, other), at, other) is not None:
        raise UsageError(
            f"{memory.name} is a rule of {other}", f"Take it out first: git mem demote {at.address}"
        )
    before, address, rule = files.read_here(workspace, file), at.address, text.rule_text(memory)
    try:
        rule.encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError(f"{memory.name} is not UTF-8", "Mend the memory's file first.") from None
    stands = _rule_of(before, at, file) if other == file else None
    same = stands is not None and text.says_the_same(memory, stands.text)
    if stands is not None:
        if not same and not is_part(stands.text, rule):
            raise UsageError(
                f"{file} says {memory.name} in other words",
                f"Edit it there, or take it out first: git mem demote {at.address}",
            )
        address, rule = stands.address, stands.text if same else rule
    try:
        after = before if same else text.insert(before, address, rule)
    except OddMarks as error:
        raise OddMarks(f"{file}: {error.message}", error.hint) from error
    files.as_text(after.encode("utf-8"), file)
    told = [rule, title_of("Add", memory)]
    refused = refused_claims(told, workspace.allowed).values()
    doubts = [f"it {one.message}" for one in refused]
    doubts += ["it is about a person (type user)"] if memory.type == "user" else []
    doubts += [f"it is private (scope {at.scope})"] if at.scope != "project" else []
    return Promotion(at, address, file, rule, before, after, tuple(doubts), bool(refused))


def promote(workspace: Workspace, edges: Edges, planned: Promotion) -> PromotionResult:
    """Writes the rule into the work tree's file and proposes a commit; nothing is staged or committed.

    Where HEAD has the very rule already, the memory is moved at once.
    """
    at, file = planned.at, planned.file
    edited = planned.after != planned.before
    if edited:
        files.write_here(workspace, file, planned.before, planned.after)
    with edit_state(workspace) as state:
        top = str(files.top_of(workspace))
        state.pending[planned.address] = UncommittedRule(file, top)
        if not at.is_settled(file):
            state.standing.pop(planned.address, None)
    moved = settle(workspace, edges) if _in_head(workspace, at, file) else ()
    with edit_state(workspace) as state:
        path, command = propose(workspace, edges, state)
    return PromotionResult(at, file, command, str(path or ""), None, edited, moved)


def demote(
    workspace: Workspace, edges: Edges, found: FoundMemory, *, dry_run: bool = False
) -> PromotionResult:
    """Takes a rule out of the work tree's file, and brings the memory back at once.

    Raises:
        UsageError: the memory is no rule, or the file's marks are odd.
    """
    at = MemoryPlace(found.scope, found.agent, found.file, found.memory)
    file = _file_of(read_state(workspace.state), at)
    if not file:
        raise UsageError(f"{found.memory.name} is no rule", "See which are: git mem list -a")
    before = files.read_here(workspace, file)
    rule = _rule_of(before, at, file)
    if rule is not None:
        files.check_file(workspace, file)
    after = text.remove(before, rule.address) if rule is not None else before
    if dry_run:
        return PromotionResult(at, file, edited=after != before)
    if after != before:
        files.write_here(workspace, file, before, after)
    address = rule.address if rule is not None else at.address
    in_head = _in_head(workspace, at, file)
    with edit_state(workspace) as state:
        state.pending.pop(at.address, None)
        state.pending.pop(address, None)
        if in_head:
            # Until the person commits, the worker finds it in HEAD and must leave the memory where it is.
            old = state.standing.get(address)
            state.standing[address] = HeadRule(file, old.commit if old else "", at.path, here=False)
    written = _take_back(workspace, edges, at, workspace.code_head(), f"the rule was taken out of {file}")
    with edit_state(workspace) as state:
        path, command = propose(workspace, edges, state)
    return PromotionResult(
        at, file, command, str(path or ""), written, after != before, tuple(_notes(at, file, rule))
    )


def _notes(at: MemoryPlace, file: str, rule: FileRule | None) -> Iterator[str]:
    if rule is None:
        yield f"{file} does not have the rule here"
    elif not text.says_the_same(at.memory, rule.text):
        yield f"{file} said it in other words than the memory does:"
        yield from (f"    {line}".rstrip() for line in rule.text.split("\n"))


def _file_of(state: RuleState, at: MemoryPlace) -> str:
    """The file that has a memory's rule, or is to have it; empty where there is none."""
    waiting = state.pending.get(at.address)
    return rule_file(at.memory) or (waiting.file if waiting else "")


def _rule_of(said: str, at: MemoryPlace, file: str) -> FileRule | None:
    try:
        return text.find_rule(text.parse(said).rules, at.address, at.memory)
    except OddMarks as error:
        raise OddMarks(f"{file}: {error.message}", error.hint) from error


def _in_head(workspace: Workspace, at: MemoryPlace, file: str) -> bool:
    return files.HeadRules(workspace, files.SECONDS).rule(at.address, at.memory, file) is not None


def to_rule(repo: Repository, tip: Tip, at: MemoryPlace, rules_in: str, code_commit: str) -> Write | None:
    """Moves a memory to the archive with a pointer to its rule; one of all projects stays where it is.

    Args:
        at: the memory as it was found; it is looked at anew.
        rules_in: the file that has the rule.

    Returns:
        None where nothing is to be done.
    """
    now = place_at(repo, tip.tree, at.scope, at.agent, at.home)
    if now is None or now.is_settled(rules_in):
        return None
    data = with_pointer(now.memory, rules_in).render()
    hot = f"{now.agent}/{now.home}"
    edits: dict[str, bytes | None] = {f"{now.agent}/{now.file}": data}
    if now.is_hot and now.scope != EVERYWHERE:
        edits = {hot: None, archived_path(hot) or hot: data}
        edits = with_indexes(repo, tip.tree, edits)
    # Not a person's words but where they stand now: the memory is as old as it was.
    told = Provenance("update", "sync", code_commit=code_commit)
    return Write(edits, f"Point {now.memory.name} to its rule in {rules_in}", told)


def _to_memory(repo: Repository, tip: Tip, at: MemoryPlace, code_commit: str, why: str) -> Write | None:
    """Brings a memory back to where the agent sees it, without its pointer.

    Args:
        why: what became of the rule, for the account.

    Returns:
        None where it points nowhere, or is gone.
    """
    now = place_at(repo, tip.tree, at.scope, at.agent, at.home)
    if now is None or not rule_file(now.memory):
        return None
    memory = without_pointer(now.memory)
    path, hot = f"{now.agent}/{now.file}", f"{now.agent}/{now.home}"
    edits: dict[str, bytes | None] = {hot: memory.render()}
    if path != hot:
        edits[path] = None
    fates = tuple(Fate("dropped", reference(path, claim), reason=why) for claim in pointers(now.memory))
    told = Provenance("update", "sync", code_commit=code_commit, claims=fates)
    edits = with_indexes(repo, tip.tree, edits)
    return Write(edits, f"Take {memory.name} back from the rules of {rule_file(now.memory)}", told)


def _take_back(
    workspace: Workspace, edges: Edges, at: MemoryPlace, code_commit: str, why: str
) -> Written | None:
    """Brings a memory back from the archive, and into working copies; None where it points nowhere."""
    if place_of(workspace, at.path) is None:
        return None
    return _land(workspace, edges, at, lambda repo, tip: _to_memory(repo, tip, at, code_commit, why))


def _land(
    workspace: Workspace,
    edges: Edges,
    at: MemoryPlace,
    change: Callable[[Repository, Tip], Write | None],
) -> Written | None:
    scope = workspace.scope(at.scope)
    who, copies = workspace.author(edges.now), copies_of(workspace, edges)
    return land(scope, lambda tip: change(scope.repo, tip), who, copies, at.agent)


def follow_rules(edges: Edges, places: Sequence[Path]) -> tuple[str, ...]:
    """Settles each work tree after a commit, a merge or a rewrite; what fails is done with the next commit.

    Args:
        places: folders of work trees of the repository, those told of first.

    Returns:
        What was done and what could not be, a line each.
    """
    said: list[str] = []
    for place in dict.fromkeys(places):
        here = replace(edges, cwd=place)
        try:
            said += settle(workspace_at(here), here)
        except (GitmemError, OSError) as error:
            said.append(f"rules: {error}")
    return tuple(said)


def settle(workspace: Workspace, edges: Edges) -> tuple[str, ...]:
    """Brings memories in line with the rules that HEAD of the present work tree has.

    Returns:
        What was done and what could not be, a line each.
    """
    head = workspace.code_head()
    if not head:
        return ()
    with edit_state(workspace) as state:
        look = _Look(workspace, edges, state, head)
        look.run()
        return tuple(look.log)


@dataclass
class _Look:
    """One look at one HEAD."""

    workspace: Workspace
    edges: Edges
    state: RuleState
    head: str
    log: list[str] = field(default_factory=list)

    def run(self) -> None:
        state = self.state
        if not state.known:
            self._recall_pointers()
        found, unread = files.rules_at(self.workspace, self.head, state.files)
        self.log += [
            f"the rules of {one_line(file, 80)} are left alone: {why}" for file, why in unread.items()
        ]
        for address, (file, rule) in found.items():
            self._stands(address, file, rule)
        for address in [one for one in state.standing if one not in found]:
            if state.standing[address].file not in unread:
                self._gone(address)
        for address in [one for one in state.pending if one not in found]:
            if self._is_dropped(address, state.pending[address]):
                del state.pending[address]
        propose(self.workspace, self.edges, state)

    def _stands(self, address: str, file: str, rule: FileRule) -> None:
        known, pending = self.state.standing.get(address), self.state.pending.get(address)
        at = self._locate(address, rule)
        if at is None:
            return
        here = known is not None and known.file == file
        if not at.is_settled(file) and known is not None and pending is None and not rule_file(at.memory):
            # Somebody brought it back on purpose: an undo, or a demotion that waits to be committed.
            self.state.standing[address] = HeadRule(file, known.commit, at.path, False)
            return
        if known is not None and here and at.is_settled(file):
            brought = read_rewrites(self.workspace.state).now(known.commit) or self.head
        else:
            brought = files.newest_change(self.workspace, address, file, self.head) or self.head
            if not at.is_settled(file):
                self._point(at, file, brought)
        if pending is not None and self._is_committed(pending, rule):
            del self.state.pending[address]
        self.state.standing[address] = HeadRule(file, brought, at.path, True)

    def _is_committed(self, pending: UncommittedRule, rule: FileRule) -> bool:
        """Whether HEAD says what the work tree's file says, so that nothing of it waits any more."""
        if pending.worktree != str(files.top_of(self.workspace)):
            return True
        try:
            here = text.parse(files.read_here(self.workspace, pending.file)).rules
        except GitmemError:
            return True
        said = [one.text for one in here if one.address == rule.address]
        return not said or text.meaning(said[0]) == text.meaning(rule.text)

    def _is_dropped(self, address: str, pending: UncommittedRule) -> bool:
        """Whether what waits for a commit stands in no work tree any more."""
        if pending.worktree != str(files.top_of(self.workspace)):
            return not Path(pending.worktree).is_dir()
        try:
            return text.mark(address) not in files.read_here(self.workspace, pending.file)
        except GitmemError:  # whatever it is now, it is not known to be gone
            return False

    def _point(self, at: MemoryPlace, file: str, brought: str) -> None:
        written = _land(
            self.workspace, self.edges, at, lambda repo, tip: to_rule(repo, tip, at, file, brought)
        )
        if written is not None:
            what = f"{one_line(at.address, 80)} is a rule of {one_line(file, 80)} now"
            self.log.append(f"{what}: {written.commit[:12]}")

    def _gone(self, address: str) -> None:
        """A rule that HEAD has no more: taken out, given up with its commit, or never on this branch."""
        known = self.state.standing[address]
        at = place_of(self.workspace, known.memory)
        if at is None or not rule_file(at.memory):
            del self.state.standing[address]
            return
        brought = files.newest_change(self.workspace, address, known.file, self.head)
        if not brought and not self._is_given_up(known.commit):
            self.state.standing[address] = replace(known, memory=at.path, here=False)
            return
        why = f"the rule was taken out of {known.file}"
        written = _take_back(self.workspace, self.edges, at, brought or self.head, why)
        if written is not None:
            self.log.append(f"{one_line(at.address, 80)} is a memory again: {written.commit[:12]}")
        del self.state.standing[address]

    def _is_given_up(self, commit: str) -> bool:
        """Whether no branch has the commit that brought a rule: it was reset, amended or dropped."""
        if not commit:
            return False
        words = ["for-each-ref", "--count=1", "--format=%(refname)", f"--contains={commit}"]
        top = files.top_of(self.workspace)
        seen = peek(self.workspace.git, words, cwd=top, seconds=files.SECONDS, size=1)
        return seen.returncode == 0 and not seen.stdout

    def _locate(self, address: str, rule: FileRule) -> MemoryPlace | None:
        """The memory that a rule was: by its name; after a rename the one that says the same.

        Whoever can push code can write any mark. Where this clone knows of no promotion, a name alone finds
        nothing: the memory must say the same (a teammate's private one may have its name), or, if it is
        shared, point to a rule already.
        """
        known = self.state.standing.get(address)
        at = (place_of(self.workspace, known.memory) if known else None) or place_of(
            self.workspace, f"{address}.md"
        )
        if at is not None and (known or address in self.state.pending or _fits(at, rule)):
            return at
        alike = self._hot.get(text.meaning(rule.text), [])
        return alike[0] if len(alike) == 1 else None

    @cached_property
    def _hot(self) -> dict[tuple[str, ...], list[MemoryPlace]]:
        """The hot memories of all scopes by what their rules would say."""
        found: dict[tuple[str, ...], list[MemoryPlace]] = {}
        for scope, tree in self._trees():
            for agent in filter(is_agent_folder, scope.repo.tree(tree)):
                for path, oid in hot_memories(scope.repo, tree, agent).items():
                    file = path.partition("/")[2]
                    at = MemoryPlace(scope.name, agent, file, parse_memory(file, scope.repo.blob(oid)))
                    found.setdefault(text.meaning(text.rule_text(at.memory)), []).append(at)
        return found

    def _recall_pointers(self) -> None:
        """Where nothing is known: what points to a rule was one, wherever it stands now."""
        for scope, tree in self._trees():
            for path, oid in list_files(scope.repo, tree).items():
                agent, _, file = path.partition("/")
                if is_archived(file) and is_promoted(path, data := scope.repo.blob(oid)):
                    at = MemoryPlace(scope.name, agent, file, parse_memory(file, data))
                    standing = HeadRule(rule_file(at.memory), "", at.path, here=False)
                    self.state.standing.setdefault(at.address, standing)

    def _trees(self) -> Iterator[tuple[Scope, str]]:
        """Each scope that holds memory, and its tree."""
        for scope in self.workspace.scopes:
            if tip := memory_commit(scope.repo, scope.ref):
                yield scope, scope.repo.commit(tip).tree


def _fits(at: MemoryPlace, rule: FileRule) -> bool:
    points = at.scope == "project" and bool(rule_file(at.memory))
    return points or text.says_the_same(at.memory, rule.text)


def is_part(rule: str, whole: str) -> bool:
    """Whether each line of a rule is one of another, its list marker aside: then no person worded it."""
    said, here = ({line.strip(" \t").lstrip("-+* \t") for line in one.split("\n")} for one in (rule, whole))
    return said <= here | {""}
