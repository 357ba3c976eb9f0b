"""What the worker does once HEAD has a rule, or has it no more: the memory follows, in every clone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from gitmem.core.errors import GitmemError
from gitmem.core.memory import parse
from gitmem.core.names import is_agent_folder
from gitmem.core.pointer import is_promoted, rule_file
from gitmem.core.text import one_line
from gitmem.flows.context import Edges
from gitmem.flows.promotion import files
from gitmem.flows.promotion.message import propose
from gitmem.flows.promotion.noted import FILE
from gitmem.flows.promotion.pending import Standing, State, Waiting, changing, read_state
from gitmem.flows.save import copies_of
from gitmem.git.command import peek
from gitmem.git.repository import TREE
from gitmem.git.trees import list_files
from gitmem.ledger.land import Written, land, memory_commit
from gitmem.ledger.paging import hot_memories
from gitmem.ledger.workspace import Workspace
from gitmem.promote import section
from gitmem.promote.moving import Place, place_of, to_memory, to_rule
from gitmem.promote.rule import meaning, quotes, rule_text, says_the_same, taken_over
from gitmem.promote.section import OddMarks, Rule

Rules = Mapping[str, tuple[str, Rule]]
"""Address to the file that has the rule, and the rule."""


def settle(
    workspace: Workspace, edges: Edges, rewritten: Sequence[tuple[str, str]] = ()
) -> tuple[str, ...]:
    """Brings memories in line with the rules that HEAD of the present work tree has.

    Args:
        rewritten: old and new names of code commits that were just rewritten.

    Returns:
        What was done and what could not be, a line each.
    """
    top, head = files.top_of(workspace), workspace.code_head()
    if not head:
        return ()
    state = read_state(workspace)
    new = not (workspace.state / FILE).exists()
    names, searched = _files(workspace, state, head, top)
    if not names and not searched and not new:
        return ()
    with changing(workspace) as state:
        return tuple(_Settling(workspace, edges, state, top, head, rewritten).run(names, new=new))


class _Settling:
    """One look at one HEAD."""

    def __init__(
        self,
        workspace: Workspace,
        edges: Edges,
        state: State,
        top: Path,
        head: str,
        rewritten: Sequence[tuple[str, str]],
    ) -> None:
        self.workspace, self.edges, self.state = workspace, edges, state
        self.top, self.head = top, head
        self.became = _final(rewritten)
        self._reachable: dict[str, bool] = {}
        self.strange: list[str] = []
        self.log: list[str] = []

    def run(self, names: Sequence[str], *, new: bool) -> list[str]:
        if new:
            self._recall_pointers()
        texts, unread = files.files_at(
            self.workspace,
            self.head,
            {*names, *(one.file for one in self.state.standing.values())},
            self.top,
        )
        rules, odd = self._rules(texts)
        for address, (file, rule) in rules.items():
            self._stands(address, file, rule)
        for address in [one for one in self.state.standing if one not in rules]:
            if self.state.standing[address].file not in odd | unread:
                self._gone(address)
        for address in [one for one in self.state.leaving if one not in rules]:
            del self.state.leaving[address]
        self._drop_given_up(rules)
        if self.strange:
            more = f", and {len(self.strange) - 1} more" if len(self.strange) > 1 else ""
            self.log.append(f"rules that name no memory here: {self.strange[0]}{more}")
        self.state.unknown.intersection_update(rules)
        for gone in [top for top in self.state.seen if not Path(top).is_dir()]:
            del self.state.seen[gone]
        self.state.seen[str(self.top)] = self.head
        propose(self.workspace, self.edges, self.state)
        return self.log

    def _rules(self, texts: Mapping[str, str]) -> tuple[dict[str, tuple[str, Rule]], set[str]]:
        """The rules of some files, and the files of which nobody can tell."""
        found: dict[str, tuple[str, Rule]] = {}
        odd: set[str] = set()
        for file, text in sorted(texts.items()):
            try:
                rules = section.parse(text).rules
            except OddMarks as error:
                odd.add(file)
                self.log.append(f"the rules of {one_line(file, 80)} are left alone: {error.message}")
                continue
            for rule in rules:
                known = self.state.standing.get(rule.address) or self.state.pending.get(rule.address)
                if rule.address not in found or (known and known.file == file):
                    found[rule.address] = (file, rule)
        return found, odd

    def _stands(self, address: str, file: str, rule: Rule) -> None:
        known, pending = self.state.standing.get(address), self.state.pending.get(address)
        at = self._locate(address, rule)
        if at is None:
            if address not in self.state.unknown:
                self.state.unknown.add(address)
                self.strange.append(f"{one_line(address, 80)} of {one_line(file, 80)}")
            return
        self.state.unknown.discard(address)
        pointed = rule_file(at.memory)
        if not at.is_settled(file):
            if known is not None and pending is None and not pointed:
                # Somebody brought it back on purpose: an undo, or a demotion that waits to be committed.
                self.state.standing[address] = _with(known, file, at, known.commit, here=False)
                return
            brought = self._brought(address, file)
            self._point(at, file, brought or self.head)
        elif known is not None and known.file == file:
            brought = self.became.get(known.commit, known.commit)
        else:
            brought = self._brought(address, file)
        standing = _with(known, file, at, brought or self.head)
        if pending is not None and self._is_committed(pending, rule):
            del self.state.pending[address]
            standing = replace(standing, claims=pending.claims)
        elif not standing.claims:
            standing = replace(standing, claims=taken_over(at.memory, rule.text))
        self.state.standing[address] = standing

    def _is_committed(self, pending: Waiting, rule: Rule) -> bool:
        """Whether HEAD says what the work tree's file says, so that nothing of it waits any more."""
        if pending.worktree != str(self.top):
            return True
        try:
            here = section.parse(files.read_here(self.workspace, pending.file)).rules
        except GitmemError:
            return True
        said = [one.text for one in here if one.address == rule.address]
        return not said or meaning(said[0]) == meaning(rule.text)

    def _point(self, at: Place, file: str, brought: str) -> None:
        scope = self.workspace.scope(at.scope)
        written = land(
            scope,
            lambda tip: to_rule(scope.repo, tip, at, file, brought),
            self.workspace.author(self.edges.now),
            copies_of(self.workspace, self.edges),
            at.agent,
        )
        if written is not None:
            self.log.append(
                f"{one_line(at.address, 80)} is a rule of {one_line(file, 80)} now: {written.commit[:12]}"
            )

    def _gone(self, address: str) -> None:
        """A rule that HEAD has no more: taken out, given up with its commit, or never on this branch."""
        known = self.state.standing[address]
        at = place_of(self.workspace, known.memory)
        if at is None or not rule_file(at.memory):
            del self.state.standing[address]
            return
        brought = self._brought(address, known.file)
        if not brought and not self._is_given_up(known.commit):
            self.state.standing[address] = _with(known, known.file, at, known.commit, here=False)
            return
        why = f"the rule was taken out of {known.file}"
        written = take_back(self.workspace, self.edges, at, brought or self.head, why)
        if written is not None:
            self.log.append(f"{one_line(at.address, 80)} is a memory again: {written.commit[:12]}")
        del self.state.standing[address]

    def _is_given_up(self, commit: str) -> bool:
        """Whether no branch has the commit that brought a rule: it was reset, amended or dropped."""
        if not commit:
            return False
        if commit not in self._reachable:
            words = ["for-each-ref", "--count=1", "--format=%(refname)", f"--contains={commit}"]
            seen = peek(self.workspace.git, words, cwd=self.top, seconds=files.SECONDS, size=1)
            self._reachable[commit] = seen.returncode != 0 or bool(seen.stdout)
        return not self._reachable[commit]

    def _brought(self, address: str, file: str) -> str:
        """The newest commit of this branch that brought the rule into a file, or took it out."""
        return newest_change(self.workspace, address, file, self.head, self.top)

    def _drop_given_up(self, rules: Rules) -> None:
        """Forgets what waits for a commit and stands in no work tree any more."""
        for address, one in list(self.state.pending.items()):
            if address in rules:
                continue
            if not Path(one.worktree).is_dir():
                del self.state.pending[address]
            if one.worktree != str(self.top):
                continue
            try:
                here = files.read_here(self.workspace, one.file)
            except GitmemError:
                # Whatever it is now, it is not known to be gone.
                continue
            if section.mark(address) not in here:
                del self.state.pending[address]

    def _locate(self, address: str, rule: Rule) -> Place | None:
        """The memory that a rule was: by its name; after a rename the one that says the same.

        Whoever can push code can write any mark. Where this clone knows of no promotion, a name alone finds
        nothing: a private memory must say the same (a teammate's may have its name), a shared one must be
        quoted, or point to a rule already.
        """
        known = self.state.standing.get(address)
        at = (place_of(self.workspace, known.memory) if known else None) or place_of(
            self.workspace, f"{address}.md"
        )
        trusted = known is not None or address in self.state.pending
        if at is not None and (trusted or self._fits(at, rule)):
            return at
        if address in self.state.unknown:
            return None
        alike = self._hot.get(meaning(rule.text), [])
        return alike[0] if len(alike) == 1 else None

    def _fits(self, at: Place, rule: Rule) -> bool:
        if at.scope != "project":
            return says_the_same(at.memory, rule.text)
        return bool(rule_file(at.memory)) or quotes(at.memory, rule.text)

    @cached_property
    def _hot(self) -> dict[tuple[str, ...], list[Place]]:
        """The hot memories of all scopes by what their rules would say."""
        found: dict[tuple[str, ...], list[Place]] = {}
        for one in self._hot_places():
            found.setdefault(meaning(rule_text(one.memory)), []).append(one)
        return found

    def _hot_places(self) -> Iterator[Place]:
        for scope in self.workspace.scopes:
            tip = memory_commit(scope.repo, scope.ref)
            tree = scope.repo.commit(tip).tree if tip else None
            for agent, entry in (scope.repo.tree(tree) if tree else {}).items():
                if tree and entry.mode == TREE and is_agent_folder(agent):
                    for path, oid in hot_memories(scope.repo, tree, agent).items():
                        file = path.partition("/")[2]
                        yield Place(scope.name, agent, file, parse(file, scope.repo.blob(oid)))

    def _recall_pointers(self) -> None:
        """Without a record: what points to a rule was one, wherever it stands now."""
        for scope in self.workspace.scopes:
            tip = memory_commit(scope.repo, scope.ref)
            for path, oid in (list_files(scope.repo, scope.repo.commit(tip).tree) if tip else {}).items():
                agent, _, file = path.partition("/")
                if not file.startswith("archive/") or not is_promoted(path, data := scope.repo.blob(oid)):
                    continue
                at = Place(scope.name, agent, file, parse(file, data))
                standing = Standing(rule_file(at.memory), "", f"{scope.name}/{agent}/{at.home}", here=False)
                self.state.standing.setdefault(at.address, standing)


def newest_change(workspace: Workspace, address: str, file: str, head: str, top: Path) -> str:
    """The newest commit on the first-parent line of HEAD that brought a rule into a file, or took it out.

    Returns:
        Its object name; empty where none did, or the look took too long.
    """
    words = ["log", "-1", "--format=%H", "--first-parent", "--diff-merges=first-parent", "--no-renames"]
    words += [f"-S{section.mark(address)}", head, "--", f":(top,literal){file}"]
    seen = peek(workspace.git, words, cwd=top, seconds=files.SECONDS, size=100, enough=_a_line)
    # A choice of parents to compare with has git print the difference, too.
    found = seen.text.partition("\n")[0].strip()
    return found if len(found) in (40, 64) else ""


def _a_line(output: bytes) -> bool:
    return b"\n" in output


def _with(known: Standing | None, file: str, at: Place, brought: str, *, here: bool = True) -> Standing:
    claims = known.claims if known is not None and known.file == file else ()
    commit = brought or (known.commit if known else "")
    return Standing(file, commit, f"{at.scope}/{at.agent}/{at.home}", here, claims)


def _final(rewritten: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Rewritten commits to what they are now, however often."""
    found: dict[str, str] = {}
    for old, new in reversed(rewritten):
        found[old] = found.get(new, new)
    return found


def _files(workspace: Workspace, state: State, head: str, top: Path) -> tuple[tuple[str, ...], bool]:
    """Files to look for rules in, and whether all were searched: only where a Markdown file changed."""
    seen = state.seen.get(str(top), "")
    known = {one.file for one in state.standing.values()} | {one.file for one in state.pending.values()}
    if seen == head or (seen and not files.changed(workspace, seen, head, top)):
        return tuple(sorted(known)), False
    return tuple(sorted({*known, *files.with_rules(workspace, head, top)})), True


def take_back(workspace: Workspace, edges: Edges, at: Place, code_commit: str, why: str) -> Written | None:
    """Brings a memory back from the archive, and into live directories; None where it points nowhere."""
    scope = workspace.scope(at.scope)
    if place_of(workspace, f"{at.scope}/{at.agent}/{at.home}") is None:
        return None
    return land(
        scope,
        lambda tip: to_memory(scope.repo, tip, at, code_commit, why),
        workspace.author(edges.now),
        copies_of(workspace, edges),
        at.agent,
    )
