"""Promote and demote as a person asks for them: an edit of the work tree, and what is noted of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from gitmem.core.claim import Claim
from gitmem.core.errors import UsageError
from gitmem.core.pointer import rule_file
from gitmem.flows.context import Edges, allowed_fingerprints
from gitmem.flows.promotion import files, message
from gitmem.flows.promotion.pending import Standing, State, Waiting, changing, read_state
from gitmem.flows.promotion.settling import settle, take_back
from gitmem.ledger.land import Written
from gitmem.ledger.lookup import Found
from gitmem.ledger.workspace import Workspace
from gitmem.promote.moving import Place
from gitmem.promote.rule import claim_ids, rule_text, says_the_same, taken_over, unsaid, with_more
from gitmem.promote.section import OddMarks, Rule, insert, parse, remove
from gitmem.rules.screen import refused_claims
from gitmem.values import dataclass


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

    at: Place
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
class Done:
    """What promote or demote did.

    Attributes:
        command: what commits it; empty where nothing is to be committed.
        message: file of the proposed message; empty likewise.
        written: the commit of memory, where one was made at once.
        edited: whether the work tree's file changed.
        notes: what a person has to know besides.
    """

    at: Place
    file: str
    command: str = ""
    message: str = ""
    written: Written | None = None
    edited: bool = False
    notes: tuple[str, ...] = field(default=())


def plan(workspace: Workspace, edges: Edges, found: Found, to: str | None) -> Promotion:
    """Works out what promoting a memory would write; nothing is written.

    Raises:
        UsageError: the file cannot hold it, it is disputed, or a rule already.
    """
    at = Place(found.scope, found.agent, found.file, found.memory)
    memory = found.memory
    if any(claim.dispute for claim in memory.claims):
        raise UsageError(f"{memory.name} is disputed", "Settle it first: git mem review")
    state = read_state(workspace)
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
    before, address, rule = files.read_here(workspace, file), at.address, rule_text(memory)
    try:
        rule.encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError(f"{memory.name} is not UTF-8", "Mend the memory's file first.") from None
    stands = _rule_of(before, at, file) if other == file else None
    if stands is not None:
        # What a person worded anew in the file is theirs; what the memory was taught since comes to it.
        address, rule = stands.address, with_more(stands.text, _fresh(state, at, stands))
    try:
        after = before if stands is not None and rule == stands.text else insert(before, address, rule)
    except OddMarks as error:
        raise OddMarks(f"{file}: {error.message}", error.hint) from error
    files.as_text(after.encode("utf-8"), file)
    told = [rule, message.title_of("Add", memory)]
    refused = refused_claims(told, allowed_fingerprints(workspace)).values()
    doubts = (*(f"it {one.message}" for one in refused), *_doubts(at))
    return Promotion(at, address, file, rule, before, after, doubts, bool(refused))


def promote(workspace: Workspace, edges: Edges, planned: Promotion) -> Done:
    """Writes the rule into the work tree's file and proposes a commit; nothing is staged or committed.

    Where HEAD has the very rule already, the memory is moved at once.
    """
    at, file = planned.at, planned.file
    edited = planned.after != planned.before
    if edited:
        files.write_here(workspace, file, planned.before, planned.after)
    with changing(workspace) as state:
        top = str(files.top_of(workspace))
        state.pending[planned.address] = Waiting(file, top, claim_ids(at.memory))
        state.leaving.pop(planned.address, None)
        if not at.is_settled(file):
            state.standing.pop(planned.address, None)
    moved: tuple[str, ...] = ()
    if _in_head(workspace, at, file):
        moved = settle(workspace, edges)
    with changing(workspace) as state:
        path, command = message.propose(workspace, edges, state)
    return Done(at, file, command, str(path or ""), None, edited, moved)


def demote(workspace: Workspace, edges: Edges, found: Found, *, dry_run: bool = False) -> Done:
    """Takes a rule out of the work tree's file, and brings the memory back at once.

    Raises:
        UsageError: the memory is no rule, or the file's marks are odd.
    """
    at = Place(found.scope, found.agent, found.file, found.memory)
    state = read_state(workspace)
    file = _file_of(state, at)
    if not file:
        raise UsageError(f"{found.memory.name} is no rule", "See which are: git mem list -a")
    text = files.read_here(workspace, file)
    rule = _rule_of(text, at, file)
    if rule is not None:
        files.check_file(workspace, file)
    after = remove(text, rule.address) if rule is not None else text
    if dry_run:
        return Done(at, file, edited=after != text)
    if after != text:
        files.write_here(workspace, file, text, after)
    address = rule.address if rule is not None else at.address
    in_head = _in_head(workspace, at, file)
    with changing(workspace) as state:
        state.pending.pop(at.address, None)
        state.pending.pop(address, None)
        if in_head:
            # Until the person commits, the worker finds it in HEAD and must leave the memory where it is.
            old = state.standing.get(address)
            memory = f"{at.scope}/{at.agent}/{at.home}"
            state.standing[address] = Standing(file, old.commit if old else "", memory, here=False)
            state.leaving[address] = Waiting(file, str(files.top_of(workspace)))
    written = take_back(workspace, edges, at, workspace.code_head(), f"the rule was taken out of {file}")
    with changing(workspace) as state:
        path, command = message.propose(workspace, edges, state)
    return Done(at, file, command, str(path or ""), written, after != text, tuple(_notes(at, file, rule)))


def _notes(at: Place, file: str, rule: Rule | None) -> Iterator[str]:
    if rule is None:
        yield f"{file} does not have the rule here"
    elif not says_the_same(at.memory, rule.text):
        yield f"{file} said it in other words than the memory does:"
        yield from (f"    {line}".rstrip() for line in rule.text.split("\n"))


def _file_of(state: State, at: Place) -> str:
    """The file that has a memory's rule, or is to have it; empty where there is none."""
    waiting = state.pending.get(at.address)
    return rule_file(at.memory) or (waiting.file if waiting else "")


def _fresh(state: State, at: Place, rule: Rule) -> tuple[Claim, ...]:
    """What a memory was taught after it became a rule."""
    known = state.pending.get(rule.address) or state.standing.get(rule.address)
    return unsaid(at.memory, (known.claims if known else ()) or taken_over(at.memory, rule.text))


def _rule_of(text: str, at: Place, file: str) -> Rule | None:
    """The rule of a memory: by its name, else the one that says what the memory says."""
    try:
        rules = parse(text).rules
    except OddMarks as error:
        raise OddMarks(f"{file}: {error.message}", error.hint) from error
    named = [rule for rule in rules if rule.address == at.address]
    alike = [rule for rule in rules if says_the_same(at.memory, rule.text)]
    return next(iter(named or (alike if len(alike) == 1 else [])), None)


def _in_head(workspace: Workspace, at: Place, file: str) -> bool:
    top, head = files.top_of(workspace), workspace.code_head()
    text = files.files_at(workspace, head, [file], top)[0].get(file, "") if head else ""
    try:
        return _rule_of(text, at, file) is not None
    except OddMarks:
        return False


def _doubts(at: Place) -> Iterator[str]:
    if at.memory.type == "user":
        yield "it is about a person (type user)"
    if at.scope != "project":
        yield f"it is private (scope {at.scope})"
