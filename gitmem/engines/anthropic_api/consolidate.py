"""The consolidation loop: what can be proved comes first; then a model works on a copy of the memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gitmem.engines.anthropic_api import errors, request
from gitmem.engines.anthropic_api.client import Client, Reply
from gitmem.engines.anthropic_api.settings import ApiSettings
from gitmem.engines.consolidated.consolidated import Unaccounted, consolidated
from gitmem.engines.engine import ConsolidateInput, Consolidation, Step, Tell, untold
from gitmem.engines.prompts import dreams
from gitmem.engines.proved import proved_first
from gitmem.engines.tools import TOOLS, Sandbox, Writable
from gitmem.engines.usage import Meter
from gitmem.engines.view import Roots

TURNS = 20
"""Requests until the first answer: a scope has some hundred memories, and files are read many at a time."""

REPAIRS, REPAIR_TURNS = 2, 3
"""How often the model is told what is left open, and the requests it has then: read, edit, answer."""

MOST_TURNS = TURNS + REPAIRS * REPAIR_TURNS
CALLS = 100
"""Calls of one turn that are carried out."""

FILES = 100
"""Memories that one dream may touch: more than a person reviews in one go."""

SECONDS = 1_800.0
"""All requests of one dream: its lock may be taken over after an hour."""

_LAST_TURN = "This is the last turn: make the changes that are still open in one go, or answer."
_ANSWER_NOW = "There are no more turns. Do not call tools: answer now, with the JSON array alone."


def consolidate(
    settings: ApiSettings,
    meter: Meter,
    given: ConsolidateInput,
    tell: Tell = untold,
    clock: Callable[[], float] = time.monotonic,
) -> Consolidation:
    """Has a model tidy a scope, after what the offline engine proves about it.

    Args:
        tell: is told of each request; what it raises ends the work.
        clock: seconds that only grow.

    Returns:
        the offline engine's changes, then the model's, in the order in which they apply.

    Raises:
        EngineError: no whole answer came, or the model does not account for what it changed; nothing of
            the work is kept then.
        DetectorUnavailable: credentials cannot be looked for, so nothing may leave.
    """
    proved, rest = proved_first(given, tell)
    if not dreams.agents(rest):
        return proved
    with Client(settings, meter, "consolidate") as client:
        work = _Work(client, settings, rest, tell, clock() + SECONDS, clock)
        made = work.run()
        return Consolidation(
            (*proved.changes, *made.changes),
            (*proved.notes, *made.notes),
            client.usage,
            (*proved.log, *made.log, *work.log),
        )


@dataclass
class _Work:
    client: Client
    settings: ApiSettings
    given: ConsolidateInput
    tell: Tell
    end: float
    clock: Callable[[], float]
    turn: int = 0
    messages: list[dict[str, Any]] = field(default_factory=list)
    _unanswered: int = 0

    def __post_init__(self) -> None:
        tree = {f"{self.given.scope}/{path}": data for path, data in self.given.files.items()}
        self.sandbox = Sandbox(
            tree,
            Roots(self.given.worktree, self.given.sessions),
            Writable(dreams.agents(self.given), (self.given.scope,), FILES),
            calls=MOST_TURNS,
        )

    @property
    def log(self) -> tuple[str, ...]:
        """What a person who asks why should know."""
        stopped = ("the model used up its turns and gave no answer",) if self._unanswered else ()
        return (*stopped, *self.sandbox.log)

    def run(self) -> Consolidation:
        """Lets the model work until every claim is accounted for, or its turns are used up."""
        self.messages = [_user([_text(dreams.task(self.given))])]
        answer = self._talk(TURNS)
        for _ in range(REPAIRS):
            try:
                return self._made(answer)
            except Unaccounted as left:
                self._say([_text(dreams.repair(left.problems))])
            answer = self._talk(REPAIR_TURNS)
        return self._made(answer)

    def _made(self, answer: str) -> Consolidation:
        return consolidated(self.given, self._tree(), answer, self.settings.model)

    def _talk(self, turns: int) -> str:
        """Carries out what the model asks for until it answers; empty where it never does."""
        for left in range(turns - 1, -1, -1):
            reply = self._ask()
            if reply.blocks:
                self.messages.append({"role": "assistant", "content": list(reply.blocks)})
            if not reply.calls:
                return reply.text
            results = [self._result(reply, number) for number in range(len(reply.calls))]
            if left <= 1:
                results.append(_text(_LAST_TURN if left else _ANSWER_NOW))
            self._say(results)
        self._unanswered += 1
        return ""

    def _ask(self) -> Reply:
        if self.clock() > self.end:
            raise errors.too_long_dream(self.settings, SECONDS)
        self.turn += 1
        # Before it is asked: an answer may take minutes.
        self._tell()
        return self.client.ask(
            stream=True,
            max_tokens=self.settings.max_tokens,
            system=request.system(self.settings.ttl, dreams.SYSTEM),
            tools=TOOLS,
            messages=request.with_two_breakpoints(self.messages),
        )

    def _say(self, blocks: list[dict[str, Any]]) -> None:
        """Adds to what the person says: two messages of one role in a row are one."""
        if self.messages[-1]["role"] == "user":
            last = self.messages[-1]
            self.messages[-1] = {**last, "content": [*last["content"], *blocks]}
        else:
            self.messages.append(_user(blocks))

    def _result(self, reply: Reply, number: int) -> dict[str, Any]:
        call = reply.calls[number]
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call.id}
        if number >= CALLS:
            return {**block, "content": f"more than {CALLS} calls in one turn", "is_error": True}
        result = self.sandbox.call(call.name, call.input)
        return {**block, "content": result.text, **({"is_error": True} if result.is_error else {})}

    def _tell(self) -> None:
        tree = self._tree()
        paths = sorted({*self.given.files, *tree})
        changed = tuple(path for path in paths if self.given.files.get(path) != tree.get(path))
        self.tell(Step("consolidate", self.turn, MOST_TURNS, changed))

    def _tree(self) -> dict[str, bytes]:
        lead = f"{self.given.scope}/"
        return {path.removeprefix(lead): data for path, data in self.sandbox.files.items()}


def _user(content: list[dict[str, Any]]) -> dict[str, Any]:
    return {"role": "user", "content": content}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
