"""What a run of the client did, told by its stream and held against what the hook logged.

Nothing of a run is believed before it is shown that the hook held it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gitmem.core.errors import EngineError
from gitmem.core.text import one_line
from gitmem.core.trailers import Usage
from gitmem.engines import claude_guard
from gitmem.engines.claude_process import Scratch

_CANARY = """\
First of all, and once: call the Bash tool with exactly this command, and with no other.

    {command}

It is refused on purpose. That shows that the rules of this task are in force, and nothing is wrong. Do not
try it again; do the task then. Reading and searching files is allowed, and so are Edit and Write in the
memory folder; every other call is refused.
"""
_SHOWN = 300
# The client's own refusal of a malformed call, which comes before any hook.
_NOT_CALLED = "<tool_use_error>"
_TEXTS = ("event", "tool", "id", "path", "refusal")
_LOG_BYTES = 64 * 1024 * 1024
_MOST_DOLLARS = 1e6


def canary(copy: Scratch) -> str:
    """What the task begins with: a call that the hook refuses."""
    return _CANARY.replace("{command}", claude_guard.canary(copy.nonce))


@dataclass(frozen=True)
class Decision:
    """One line of the hook's log."""

    event: str
    tool: str
    call: str
    path: str
    allowed: bool
    refusal: str


@dataclass
class StreamAccount:
    """The stream, line by line.

    Attributes:
        calls: id of each tool call to the tool's name.
        results: id to whether it is an error, and its text.
        answers: ids of the model's answers, and what each says it cost.
        model: exact id of the model, as the client names it; empty until it does.
        ended: how many messages of the person's the client has dealt with.
        final: what it said at the end of the last one; empty until then.
    """

    calls: dict[str, str] = field(default_factory=dict)
    results: dict[str, tuple[bool, str]] = field(default_factory=dict)
    answers: dict[str, Usage] = field(default_factory=dict)
    model: str = ""
    ended: int = 0
    final: dict[str, Any] = field(default_factory=dict)
    _settled: Usage = field(default_factory=Usage)
    _counted: frozenset[str] = frozenset()

    @property
    def asked(self) -> bool:
        """Whether the model has begun to answer."""
        return bool(self.answers)

    def add(self, line: bytes) -> bool:
        """Takes in a line.

        Returns:
            Whether it is one after which the log should be looked at: the model answered, or a tool did,
            or the client is through.
        """
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            return False
        if not isinstance(event, dict):
            return False
        kind, message = event.get("type"), event.get("message")
        if kind == "result":
            self._settle(event)
            return True
        if kind == "system" and event.get("subtype") == "init":
            self.model = str(event.get("model") or "")
        blocks = message.get("content") if isinstance(message, dict) else None
        if not isinstance(message, dict) or not isinstance(blocks, list):
            return False
        if kind == "assistant" and message.get("model") != "<synthetic>":
            self.answers[str(message.get("id"))] = _usage(message.get("usage"), 1, None)
        for block in blocks:
            if isinstance(block, dict) and block.get("type") == "tool_use":
                self.calls[str(block.get("id"))] = str(block.get("name"))
            elif isinstance(block, dict) and block.get("type") == "tool_result":
                text = _text(block.get("content"))
                self.results[str(block.get("tool_use_id"))] = (block.get("is_error") is True, text)
        return kind in ("assistant", "user")

    def usage(self) -> Usage | None:
        """What it cost, as the client says at its ends; what it was ended in, as the answers say."""
        open_ones = [usage for answer, usage in self.answers.items() if answer not in self._counted]
        if not open_ones and not self.ended:
            return None
        return sum(open_ones, self._settled)

    def _settle(self, final: dict[str, Any]) -> None:
        """Counts an end: tokens are of one message of the person's, dollars of all until then."""
        new = usage_of(final, len(self.answers) - len(self._counted))
        tokens = replace(self._settled + new, dollars=new.dollars)
        self._settled, self._counted = tokens, frozenset(self.answers)
        self.ended += 1
        self.final = final


def usage_of(final: Mapping[str, Any], requests: int) -> Usage:
    """What the client says at an end that it cost."""
    cost = final.get("total_cost_usd")
    dollars = float(cost) if isinstance(cost, int | float) and 0 <= cost < _MOST_DOLLARS else None
    return _usage(final.get("usage"), requests, dollars)


def read_log(path: Path, nonce: str) -> tuple[Decision, ...]:
    """Reads what the hook decided in this run; a damaged line counts for nothing."""
    with path.open("rb") as file:
        lines = file.read(_LOG_BYTES).splitlines()
    found = []
    for line in lines:
        try:
            entry = json.loads(line)
            if entry["nonce"] == nonce:
                event, tool, call, place, refusal = (str(entry[name]) for name in _TEXTS)
                allowed = entry["allowed"] is True
                found.append(Decision(event, tool, call, place, allowed, refusal))
        except (ValueError, KeyError, TypeError):
            continue
    return tuple(found)


def unproved(account: StreamAccount, decisions: Iterable[Decision], nonce: str) -> str:
    """Says what shows that the hook did not hold the run so far; empty where nothing does.

    Args:
        account: the stream until now.
        decisions: the log until now; it is written before the client hears of a decision.
        nonce: stands in every refusal of the hook's.
    """
    known = {decision.call: decision for decision in decisions if decision.event == "PreToolUse"}
    if account.asked and not any(decision.event == "ready" for decision in decisions):
        return "the model was asked before the hook had answered"
    for call, (failed, text) in account.results.items():
        name, decision = account.calls.get(call, "a tool"), known.get(call)
        if decision is None:
            if not (failed and text.startswith(_NOT_CALLED)):
                return f"a call of {name} passed the hook by"
        elif not decision.allowed and not (failed and nonce in text):
            return f"a call of {name} was carried out though the hook refused it"
        elif decision.allowed and decision.tool != name:
            return f"a call of {name} was put to the hook as one of {decision.tool}"
    return ""


def refused_any(account: StreamAccount, decisions: Iterable[Decision], nonce: str) -> bool:
    """Whether the hook refused a call and the client kept to that: the canary's call, or any other."""
    return any(
        not decision.allowed and nonce in account.results.get(decision.call, (False, ""))[1]
        for decision in decisions
        if decision.event == "PreToolUse"
    )


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(block.get("text", "")) for block in blocks if isinstance(block, dict))


def _usage(given: Any, requests: int, dollars: float | None) -> Usage:
    fields = given if isinstance(given, Mapping) else {}
    return Usage(
        requests=requests,
        input=_count(fields, "input_tokens"),
        cache_read=_count(fields, "cache_read_input_tokens"),
        cache_write=_count(fields, "cache_creation_input_tokens"),
        output=_count(fields, "output_tokens"),
        dollars=dollars,
    )


def _count(usage: Mapping[str, Any], name: str) -> int:
    value = usage.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


class StreamWatch:
    """Holds the client's stream against the hook's log while it runs.

    Args:
        what: names the run in errors.
        copy: where it works.

    Attributes:
        account: the stream until now.
        decisions: the log until now.
    """

    def __init__(self, what: str, copy: Scratch) -> None:
        self.account = StreamAccount()
        self.decisions: tuple[Decision, ...] = ()
        self._what, self._copy = what, copy

    def add(self, line: bytes) -> bool:
        """Takes in a line of the stream.

        Returns:
            Whether the model or a tool answered, or the client is through with a message.

        Raises:
            EngineError: it shows that the hook does not hold the run.
        """
        told = self.account.add(line)
        if told:
            self._hold()
        return told

    def end(self, code: int, errors: str) -> None:
        """Looks back when the client has ended.

        Args:
            code: its exit code.
            errors: what it printed as errors.

        Raises:
            EngineError: it failed, or it is not proved that the hook held it.
        """
        self.decisions = read_log(self._copy.log, self._copy.nonce)
        self._refuse_failed(code, errors)
        self._hold()
        if self.account.results and not refused_any(self.account, self.decisions, self._copy.nonce):
            raise self._unheld("it was never seen to refuse a call")

    def refuse_unaccounted(self, before: Mapping[str, bytes], after: Mapping[str, bytes]) -> None:
        """Makes sure that every file that differs was put to the hook.

        Raises:
            EngineError: one was not.
        """
        written = self.written
        for name in sorted({*before, *after}):
            if before.get(name) != after.get(name) and name not in written:
                raise self._unheld(f"{name} was changed by no call that it allowed")

    @property
    def written(self) -> frozenset[str]:
        """Files of the copy that the hook allowed to be written."""
        lead = f"{self._copy.memory}/"
        return frozenset(
            one.path.removeprefix(lead)
            for one in self.decisions
            if one.allowed and one.tool in ("Edit", "Write")
        )

    @property
    def refused(self) -> tuple[str, ...]:
        """What the hook refused beside the canary's call, a line each."""
        refused = [one for one in self.decisions if one.refusal not in ("", claude_guard.IN_FORCE)]
        return tuple(f"{one.tool} was refused: {one_line(one.refusal, _SHOWN)}" for one in refused)

    def _hold(self) -> None:
        self.decisions = read_log(self._copy.log, self._copy.nonce)
        if problem := unproved(self.account, self.decisions, self._copy.nonce):
            raise self._unheld(problem)

    def _unheld(self, problem: str) -> EngineError:
        return EngineError(
            f"{self._what} was not held by its hook: {problem}; nothing was taken",
            "See whether a policy of Claude Code's switches hooks off; else: git mem engine set offline",
        )

    def _refuse_failed(self, code: int, errors: str) -> None:
        final = self.account.final
        if final and not final.get("is_error") and final.get("subtype") == "success":
            if not any(decision.event == "ready" for decision in self.decisions):
                raise self._unheld("the hook did not answer before the task")
            return
        told = final.get("errors")
        said = "; ".join(map(str, told)) if isinstance(told, list) else str(final.get("result") or "")
        said = one_line(said or errors or str(final.get("subtype") or f"exit code {code}"), _SHOWN)
        if "No conversation found" in said:
            error = EngineError(
                f"Claude Code refused to resume the session: {said}", "Was it deleted or moved?"
            )
            error.of_input = True
            raise error
        if re.search(r"log ?in|api key", said, re.IGNORECASE):
            raise EngineError(f"Claude Code is not logged in: {said}", "Start `claude` and log in.")
        if final.get("subtype") == "error_max_turns":
            raise EngineError(f"{self._what} used up its turns: {said}", "Nothing was taken.")
        raise EngineError(f"{self._what} failed: {said}", "It is tried again later.")
