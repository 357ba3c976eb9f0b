"""Runs a Task over the Messages API: a model works with tools on a copy, answers, and is told what is left.

What is asked about one session begins with the same bytes, whatever is asked: tools, system text,
instruction files, memories and the record; the prompt stands behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from gitmem.engines import prompts
from gitmem.engines.anthropic_api import errors, request
from gitmem.engines.anthropic_api.client import Client, Reply
from gitmem.engines.anthropic_api.history import STEP_BYTES
from gitmem.engines.anthropic_api.settings import ApiSettings
from gitmem.engines.budget import Meter
from gitmem.engines.engine import ExtractInput
from gitmem.engines.task import Outcome, Shown, Task
from gitmem.engines.tools import TOOLS, Sandbox
from gitmem.engines.view import CALLS

TURN_CALLS = 100
"""Calls of one turn that are carried out."""

SECONDS, MOST_SECONDS = 1_800.0, 3_300.0
"""All requests of one task, and the same where one answer may take longer: the lock of a dream may be taken
over after an hour."""

_LAST_TURN = "This is the last turn: make the changes that are still open in one go, or answer."
_ANSWER_NOW = "There are no more turns. Do not call tools: answer now, in the form that was asked for."


def run(settings: ApiSettings, meter: Meter, task: Task, clock: Callable[[], float]) -> Outcome:
    """Has a model work on a copy of the task's tree.

    Args:
        clock: seconds that only grow.

    Raises:
        EngineError: no whole answer came; nothing of it is kept.
        DetectorUnavailable: credentials cannot be looked for, so nothing may leave.
    """
    sandbox = Sandbox(task.tree, task.reads, task.may, calls=max(CALLS, task.most_turns))
    answers: list[str] = []
    log: list[str] = []
    wrong: tuple[str, ...] = ()
    seconds = min(MOST_SECONDS, max(SECONDS, settings.patience))
    with Client(settings, meter, task.job) as client:
        for part in portions(task.session) if task.session else (None,):
            talk = _Talk(client, settings, task, sandbox, clock, seconds, clock() + seconds)
            shown = Shown(sandbox.files, task.reads.sessions, worktree=task.reads.worktree, part=part)
            record = request.record(part, settings.ttl) if part else []
            answers.append(talk.say([*record, request.text(task.prompt(shown))], task.turns))
            if settings.must_call and not talk.called:
                answers[-1] = talk.say([request.text(prompts.text("tool-repair.v1"))], task.repair_turns)
                if not talk.called:
                    raise errors.no_tool(settings, task.what)
            wrong = tuple(task.judge(sandbox.files, answers))
            for _ in range(task.repairs):
                if not wrong:
                    break
                again = [request.text(task.repair(wrong, shown.root))]
                answers.append(talk.say(again, task.repair_turns))
                wrong = tuple(task.judge(sandbox.files, answers))
            log += talk.log
            if wrong:
                break
        return Outcome(sandbox.files, tuple(answers), wrong, client.usage, (*log, *sandbox.log))


def portions(given: ExtractInput) -> Iterator[ExtractInput]:
    """Splits what is new where it is too much for one request, as after months without an extraction."""
    start, size, last = 0, 0, given.numbers[0] - 1
    for at, number in enumerate(given.numbers):
        # What stands between them is shown, too.
        between = given.said[last:number]
        long = sum(min(len(message.text.encode()), STEP_BYTES // 8) for message in between)
        if at > start and size + long > STEP_BYTES:
            yield _portion(given, start, at)
            start, size = at, 0
        size, last = size + long, number
    yield _portion(given, start, len(given.messages))


def _portion(given: ExtractInput, start: int, end: int) -> ExtractInput:
    behind = given.numbers[end] - 1 if end < len(given.messages) else len(given.said)
    return replace(
        given,
        history=given.said[:behind],
        messages=given.messages[start:end],
        seen=given.numbers[start] - 1 if start else given.seen,
    )


@dataclass
class _Talk:
    """A conversation with a model that works with tools: it calls, is answered, and in the end answers.

    Attributes:
        seconds: what it may take.
        end: when it has taken too long, by the clock.
        called: whether the model called a tool.
        log: what a person who asks why should know.
    """

    client: Client
    settings: ApiSettings
    task: Task
    sandbox: Sandbox
    clock: Callable[[], float]
    seconds: float
    end: float
    turn: int = 0
    called: bool = False
    log: list[str] = field(default_factory=list)
    _messages: list[dict[str, Any]] = field(default_factory=list)

    def say(self, content: list[dict[str, Any]], turns: int) -> str:
        """Says something, and lets the model work until it answers or its turns are used up.

        Args:
            content: blocks that the person says.
            turns: requests that it may take.

        Returns:
            the model's last words.
        """
        self._add(content)
        reply: Reply | None = None
        for left in range(turns - 1, -1, -1):
            reply = self._ask()
            if reply.blocks:
                self._messages.append({"role": "assistant", "content": list(reply.blocks)})
            if not reply.calls:
                return reply.text
            self.called = True
            results = [self._result(reply, number) for number in range(len(reply.calls))]
            if left <= 1:
                results.append(request.text(_LAST_TURN if left else _ANSWER_NOW))
            self._add(results)
        self.log.append(f"stopped after {turns} turns, without a last answer")
        return reply.text if reply else ""

    def _ask(self) -> Reply:
        if self.clock() > self.end:
            raise errors.too_long(self.settings, self.task.what, self.seconds)
        self.turn += 1
        # Before it is asked: an answer may take minutes.
        before, now = self.task.tree, self.sandbox.files
        changed = tuple(path for path in sorted({*before, *now}) if before.get(path) != now.get(path))
        self.task.tell(self.turn, self.task.most_turns, changed)
        # Of four breakpoints a record takes two; without one a turn of many calls keeps that before it.
        marked = request.with_moving_breakpoint if self.task.session else request.with_two_breakpoints
        return self.client.ask(
            stream=True,
            max_tokens=self.settings.max_tokens,
            system=request.system(self.settings.ttl, self.task.system),
            tools=TOOLS,
            messages=marked(self._messages),
        )

    def _add(self, content: list[dict[str, Any]]) -> None:
        """Adds to what the person says: two messages of one role in a row are one."""
        if self._messages and self._messages[-1]["role"] == "user":
            last = self._messages[-1]
            self._messages[-1] = {**last, "content": [*last["content"], *content]}
        else:
            self._messages.append({"role": "user", "content": content})

    def _result(self, reply: Reply, number: int) -> dict[str, Any]:
        call = reply.calls[number]
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call.id}
        if number >= TURN_CALLS:
            return {**block, "content": f"more than {TURN_CALLS} calls in one turn", "is_error": True}
        result = self.sandbox.call(call.name, call.input)
        return {**block, "content": result.text, **({"is_error": True} if result.is_error else {})}
