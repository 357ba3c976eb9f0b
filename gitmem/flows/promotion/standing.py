"""Whether a memory is a rule right now, for recall, and what to say of one that is, for whoever looks."""

from __future__ import annotations

from pathlib import Path

from gitmem.core.claim import Claim
from gitmem.core.memory import Memory
from gitmem.core.names import hot_path
from gitmem.core.pointer import rule_file
from gitmem.core.text import counted
from gitmem.flows.promotion.noted import taken_over
from gitmem.flows.promotion.pending import noted_rules
from gitmem.ledger.workspace import Workspace
from gitmem.promote.rule import is_worded_anew, says_the_same, unsaid
from gitmem.promote.section import OddMarks, Rule, parse
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
        more: claims that the memory was taught since, and the rule does not say.
    """

    file: str
    commit: str
    rule: str | None
    edited: bool
    more: int

    @property
    def said(self) -> str:
        """The same for a person, in one line."""
        when = f" in {self.commit[:12]}" if self.commit else ""
        if self.rule is None:
            return f"promoted to {self.file}{when}; HEAD does not have the rule"
        since = f"; {counted(self.more, 'claim')} came since: promote it again" if self.more else ""
        return f"promoted to {self.file}{when}{since}"


class InHead:
    """The rules of HEAD's files, each file read once."""

    def __init__(self, workspace: Workspace, seconds: float = PROMPT_SECONDS) -> None:
        self._workspace, self._seconds = workspace, seconds
        self._rules: dict[str, tuple[Rule, ...]] = {}
        self._taken: dict[str, frozenset[str]] | None = None

    def stands(self, path: str, memory: Memory, scope: str) -> str:
        """The file of HEAD that says what a memory says; empty where none does.

        Args:
            path: where the memory stands in its tree.
        """
        address = f"{scope}/{(hot_path(path) or path).removesuffix('.md')}"
        if self.rule(address, memory) is None or self.unsaid(address, memory):
            return ""
        return rule_file(memory)

    def unsaid(self, address: str, memory: Memory) -> tuple[Claim, ...]:
        """What a memory was taught since it became a rule, which only it says."""
        if self._taken is None:
            self._taken = taken_over(self._workspace.state)
        return unsaid(memory, self._taken.get(address, ()))

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
        from gitmem.flows.promotion.files import blob_at

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
    head = InHead(workspace, PATIENT_SECONDS)
    rule = head.rule(address, memory)
    known = noted_rules(workspace).get(address)
    commit = known.commit if known is not None and known.file == file else ""
    if not commit and rule is not None:
        commit = _brought(workspace, rule.address, file)
    more = head.unsaid(address, memory) if rule is not None else ()
    edited = rule is not None and is_worded_anew(memory, rule.text, more)
    return Became(file, commit, rule.text if rule else None, edited, len(more))


def _brought(workspace: Workspace, address: str, file: str) -> str:
    from gitmem.flows.promotion.settling import newest_change

    top = workspace.layout.worktree or Path()
    return newest_change(workspace, address, file, "HEAD", top)
