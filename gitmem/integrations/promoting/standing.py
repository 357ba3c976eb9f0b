"""Whether a memory is a rule right now, for recall, and what to say of one that is, for whoever looks."""

from __future__ import annotations

from pathlib import Path

from gitmem.integrations.promoting.pending import noted_rules
from gitmem.memory.archive import hot_path
from gitmem.memory.memory import Memory
from gitmem.memory.pointer import rule_file
from gitmem.promote.rule import says_the_same
from gitmem.promote.section import OddMarks, Rule, parse
from gitmem.store.workspace import Workspace
from gitmem.values import dataclass

PROMPT_SECONDS = 0.2
"""What a prompt may wait for one file of HEAD."""

PATIENT_SECONDS = 3.0


@dataclass(frozen=True)
class Became:
    """What became of a memory that points to a rule.

    Attributes:
        file: the file that it points to.
        commit: the code commit that brought the rule; empty where that is not known.
        rule: its lines in HEAD's file; None where HEAD does not have it.
        edited: whether the file says it in other words than the memory would.
    """

    file: str
    commit: str
    rule: str | None
    edited: bool

    @property
    def said(self) -> str:
        """The same for a person, in one line."""
        when = f" in {self.commit[:12]}" if self.commit else ""
        if self.rule is None:
            return f"promoted to {self.file}{when}; HEAD does not have the rule"
        return f"promoted to {self.file}{when}"


class InHead:
    """The rules of HEAD's files, each file read once."""

    def __init__(self, workspace: Workspace, seconds: float = PROMPT_SECONDS) -> None:
        self._workspace, self._seconds = workspace, seconds
        self._rules: dict[str, tuple[Rule, ...]] = {}

    def stands(self, path: str, memory: Memory, scope: str) -> str:
        """The file of HEAD that has a memory's rule; empty where none has.

        Args:
            path: where the memory stands in its tree.
        """
        home = (hot_path(path) or path).removesuffix(".md")
        return rule_file(memory) if self.rule(f"{scope}/{home}", memory) else ""

    def rule(self, address: str, memory: Memory) -> Rule | None:
        """The rule that a memory points to; None where it points nowhere, or HEAD's file has it not.

        Args:
            address: `scope/agent/file stem`, where it is hot.
        """
        file = rule_file(memory)
        if not file:
            return None
        if file not in self._rules:
            self._rules[file] = self._read(file)
        rules = self._rules[file]
        named = [rule for rule in rules if rule.address == address]
        return next(iter(named or [rule for rule in rules if says_the_same(memory, rule.text)]), None)

    def _read(self, file: str) -> tuple[Rule, ...]:
        from gitmem.integrations.promoting.files import blob_at

        top = self._workspace.layout.worktree
        data = blob_at(self._workspace, "HEAD", file, top, self._seconds) if top is not None else None
        try:
            return parse(data.decode("utf-8")).rules if data is not None else ()
        except (UnicodeDecodeError, OddMarks):
            return ()


def became(workspace: Workspace, address: str, memory: Memory) -> Became | None:
    """What became of a memory that points to a rule; None for one that does not.

    Args:
        address: `scope/agent/file stem`, where it is hot.
    """
    file = rule_file(memory)
    if not file:
        return None
    rule = InHead(workspace, PATIENT_SECONDS).rule(address, memory)
    known = noted_rules(workspace).get(address)
    commit = known.commit if known is not None and known.file == file else ""
    if not commit and rule is not None:
        commit = _brought(workspace, rule.address, file)
    edited = rule is not None and not says_the_same(memory, rule.text)
    return Became(file, commit, rule.text if rule else None, edited)


def _brought(workspace: Workspace, address: str, file: str) -> str:
    from gitmem.integrations.promoting.settling import newest_change

    top = workspace.layout.worktree or Path()
    return newest_change(workspace, address, file, "HEAD", top)
