"""What the worker does once HEAD has a rule, or has it no more: the memory follows, in every clone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from gitmem.errors import GitmemError
from gitmem.guard.text import one_line
from gitmem.integrations.edges import Edges, author
from gitmem.integrations.promoting import files
from gitmem.integrations.promoting.message import propose
from gitmem.integrations.promoting.noted import FILE
from gitmem.integrations.promoting.pending import Standing, State, changing, read_state
from gitmem.integrations.promoting.promote import take_back
from gitmem.integrations.saving import code_head, sync_live
from gitmem.memory.memory import parse
from gitmem.memory.names import is_agent_folder
from gitmem.memory.pointer import is_promoted, rule_file
from gitmem.promote import section
from gitmem.promote.moving import Place, place_at, to_rule
from gitmem.promote.rule import meaning, rule_text, says_the_same
from gitmem.promote.section import OddMarks, Rule
from gitmem.store.commits import commit, memory_commit
from gitmem.store.glimpse import peek
from gitmem.store.paging import hot_memories
from gitmem.store.repository import TREE
from gitmem.store.trees import list_files
from gitmem.store.workspace import Workspace

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
    top, head = files.top_of(workspace), code_head(workspace)
    if not head:
        return ()
    state = read_state(workspace)
    new = not (workspace.state / FILE).exists()
    names, searched = _files(workspace, state, head, top)
    if not names and not searched and not new:
        return ()
    with changing(workspace) as state:
        return tuple(_Settling(workspace, edges, state, top, head).run(names, rewritten, new=new))


class _Settling:
    """One look at one HEAD."""

    def __init__(self, workspace: Workspace, edges: Edges, state: State, top: Path, head: str) -> None:
        self.workspace, self.edges, self.state = workspace, edges, state
        self.top, self.head = top, head
        self.log: list[str] = []

    def run(self, names: Sequence[str], rewritten: Sequence[tuple[str, str]], *, new: bool) -> list[str]:
        if new:
            self._recall_pointers()
        texts = files.files_at(
            self.workspace,
            self.head,
            {*names, *(one.file for one in self.state.standing.values())},
            self.top,
        )
        rules, odd = self._rules(texts)
        for address, (file, rule) in rules.items():
            self._stands(address, file, rule)
        for address in [one for one in self.state.standing if one not in rules]:
            if self.state.standing[address].file not in odd:
                self._gone(address, rewritten)
        for address in [one for one in self.state.leaving if one not in rules]:
            del self.state.leaving[address]
        self._drop_given_up(rules)
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
                self.log.append(
                    f"the rule {one_line(address, 80)} of {one_line(file, 80)} names no memory here"
                )
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
        else:
            brought = (
                known.commit if known is not None and known.file == file else self._brought(address, file)
            )
        self.state.standing[address] = _with(known, file, at, brought or self.head)
        self.state.pending.pop(address, None)

    def _point(self, at: Place, file: str, brought: str) -> None:
        scope = self.workspace.scope(at.scope)
        sync_live(self.workspace, self.edges, scope.name, at.agent)
        written = commit(
            scope.repo,
            scope.ref,
            lambda tip: to_rule(scope.repo, tip, at, file, brought),
            author(self.workspace, self.edges),
        )
        sync_live(self.workspace, self.edges, scope.name, at.agent, lay_out=True)
        if written is not None:
            self.log.append(
                f"{one_line(at.address, 80)} is a rule of {one_line(file, 80)} now: {written.commit[:12]}"
            )

    def _gone(self, address: str, rewritten: Sequence[tuple[str, str]]) -> None:
        """A rule that HEAD has no more: taken out on this branch, or never there."""
        known = self.state.standing[address]
        at = self._at(known.memory)
        if at is None or not rule_file(at.memory):
            del self.state.standing[address]
            return
        brought = self._brought(address, known.file)
        if not brought and not self._had(address, known.file, rewritten):
            self.state.standing[address] = _with(known, known.file, at, known.commit, here=False)
            return
        why = f"the rule was taken out of {known.file}"
        written = take_back(self.workspace, self.edges, at, brought or self.head, why)
        if written is not None:
            self.log.append(f"{one_line(at.address, 80)} is a memory again: {written.commit[:12]}")
        del self.state.standing[address]

    def _had(self, address: str, file: str, rewritten: Sequence[tuple[str, str]]) -> bool:
        """Whether a commit that was rewritten into this one had the rule."""
        opening = section.mark(address).encode("utf-8", "replace")
        for old, new in rewritten[-20:]:
            if new == self.head:
                data = files.blob_at(self.workspace, old, file, self.top, files.SECONDS)
                if data is not None and opening in data:
                    return True
        return False

    def _brought(self, address: str, file: str) -> str:
        """The newest commit of this branch that brought the rule into a file, or took it out."""
        return newest_change(self.workspace, address, file, self.head, self.top)

    def _drop_given_up(self, rules: Rules) -> None:
        """Forgets what waits for a commit and stands in no work tree any more."""
        for address, one in list(self.state.pending.items()):
            if address in rules or one.worktree != str(self.top):
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

        A private memory is found by a name alone only where this clone knows of the promotion: a teammate's
        may have the same name.
        """
        known = self.state.standing.get(address)
        at = (self._at(known.memory) if known else None) or self._at(f"{address}.md")
        trusted = known is not None or address in self.state.pending
        if at is not None and (at.scope == "project" or trusted or says_the_same(at.memory, rule.text)):
            return at
        if address in self.state.unknown:
            return None
        alike = self._hot.get(meaning(rule.text), [])
        return alike[0] if len(alike) == 1 else None

    def _at(self, path: str) -> Place | None:
        name, _, rest = path.partition("/")
        agent, _, file = rest.partition("/")
        if not file or not is_agent_folder(agent):
            return None
        scope = self.workspace.scope(name)
        tip = memory_commit(scope.repo, scope.ref)
        return place_at(scope.repo, scope.repo.commit(tip).tree, name, agent, file) if tip else None

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
    return Standing(
        file, brought or (known.commit if known else ""), f"{at.scope}/{at.agent}/{at.home}", here
    )


def _files(workspace: Workspace, state: State, head: str, top: Path) -> tuple[tuple[str, ...], bool]:
    """Files to look for rules in, and whether all were searched: only where a Markdown file changed."""
    seen = state.seen.get(str(top), "")
    known = {one.file for one in state.standing.values()} | {one.file for one in state.pending.values()}
    if seen == head or (seen and not files.changed(workspace, seen, head, top)):
        return tuple(sorted(known)), False
    return tuple(sorted({*known, *files.with_rules(workspace, head, top)})), True
