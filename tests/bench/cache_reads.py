"""Says how much of its input the engine `anthropic` reads from the provider's cache over a long session.

usage: python tests/bench/cache_reads.py [--messages N] [--every SECONDS] [--each N] [--memories N]
                                         [--left-out] [--json]

The real engine runs against a Messages API on loopback whose cache is modelled after the documentation
(tests/engines/prompt_cache.py). `--each` messages are said between two extractions, which begin `--every`
seconds apart; a further request of the same extraction begins 5 seconds after the one before. Counted is
what is sent from the second extraction on: tokens read from the cache, of all input tokens. A new memory
comes with every third extraction. With `--left-out`, of every five stretches between extractions one was
said in a pause, in one the agent wrote all memory itself, and in one it did so for a turn in the middle.

An entry's lifetime counts from the start of the request that used it last. So with five minutes between
extractions and a lifetime of five minutes everything hangs on the extraction before: two requests keep the
session for 305 seconds, a single one for 300, and at 300 it is gone. An hour has room to spare; hence it is
the default.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from figures import Figure, options, say
from messages_api import Answer, Call, MessagesApi
from meters import Counting
from prompt_cache import PromptCache

from gitmem.core.change import Header
from gitmem.engines.anthropic import AnthropicEngine
from gitmem.engines.engine import ExtractInput
from gitmem.engines.messages import ApiSettings, Lifetime
from gitmem.flows.extract.sessions import part_of
from gitmem.transcripts.model import Message, ToolCall
from gitmem.transcripts.privacy import withheld

START = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)
PAUSE = 5.0
KEYS = ("messages", "each", "every", "memories", "left_out")
WORDS = (
    *("the", "test", "of", "a", "client", "fails", "since", "we", "moved", "its", "retry", "into", "this"),
    *("module", "and", "I", "would", "rather", "keep", "one", "place", "for", "it", "please", "look", "at"),
    *("how", "parser", "reads", "dates", "then", "run", "everything", "again", "before", "push", "schema"),
)


@dataclass(frozen=True)
class Run:
    """One simulated session.

    Attributes:
        messages: how many are said in it.
        each: how many of them between two extractions.
        every: seconds from the start of an extraction to the start of the next.
        ttl: lifetime asked of the cache.
        requests: of one extraction; several as by an engine that reads and writes.
        memories: that exist when the session begins.
        left_out: much of the session is not extracted from.
        minimum: tokens of the shortest prefix that is cached.
        strict: see `PromptCache`.
    """

    messages: int = 500
    each: int = 10
    every: float = 300.0
    ttl: Lifetime = "1h"
    requests: int = 2
    memories: int = 40
    left_out: bool = False
    minimum: int = 1_024
    strict: bool = False


@dataclass(frozen=True)
class Share:
    """What a run read.

    Attributes:
        read: share of the input tokens that came from the cache, from the second extraction on.
        extractions: how many there were.
        cold: how many of them, from the second on, found nothing of the session in the cache.
        largest: tokens of the largest prompt.
    """

    read: float
    extractions: int
    cold: int
    largest: int


def simulate(run: Run) -> Share:
    """Runs one session through the engine."""
    said = conversation(run.messages)
    cache = PromptCache(minimum=run.minimum, strict=run.strict)
    counted: list[tuple[int, int, dict[str, Any]]] = []
    turn = extraction = 0

    def decide(_: dict[str, Any]) -> Answer:
        nonlocal turn
        cache.now = extraction * run.every + turn * PAUSE
        turn += 1
        if turn < run.requests:
            return Answer(calls=(Call("Read", {"file_path": "memory/local/main/m0.md"}),))
        return Answer("nothing")

    with MessagesApi(decide, cache) as api:
        whole = api.message

        def message(answer: Answer, body: Any) -> dict[str, Any]:
            made = whole(answer, body)
            counted.append((extraction, turn, made["usage"]))
            return made

        api.message = message  # type: ignore[method-assign]
        engine = AnthropicEngine(ApiSettings("k", api.url, ttl=run.ttl), Counting())
        for start in range(0, len(said), run.each):
            turn = 0
            given = _given(said, start, run)
            if given.messages:
                engine.extract(given)
            extraction += 1
    later = [(turn, usage) for at, turn, usage in counted if at > 0]
    read = sum(usage["cache_read_input_tokens"] for _, usage in later)
    every = sum(map(_prompt, (usage for _, usage in later)))
    # What another session shares, tools and system text, is less than this.
    cold = sum(turn == 1 and usage["cache_read_input_tokens"] < _prompt(usage) / 3 for turn, usage in later)
    largest = max(_prompt(usage) for _, _, usage in counted)
    return Share(read / every, extraction, cold, largest)


def conversation(count: int, seed: int = 5) -> list[Message]:
    """Messages of the sizes of real ones: short of a person, longer of an agent, with its calls."""
    rng = random.Random(seed)
    said = []
    for at in range(count):
        by_person = at % 2 == 0
        words = min(300, int(rng.lognormvariate(3.2 if by_person else 4.2, 0.9)) + 2)
        tools = () if by_person else tuple(_call(rng) for _ in range(rng.choice((0, 1, 2, 4))))
        said.append(
            Message(
                f"u{at}",
                "person" if by_person else "agent",
                " ".join(rng.choices(WORDS, k=words)),
                START + timedelta(seconds=30 * at),
                "prompt" if by_person else "reply",
                tools,
            )
        )
    return said


def _call(rng: random.Random) -> ToolCall:
    name = rng.choice(("Read", "Edit", "Bash"))
    command = {"command": " ".join(rng.choices(WORDS, k=8))}
    given = command if name == "Bash" else {"file_path": "src/client/retry.py"}
    return ToolCall("", name, given, " ".join(rng.choices(WORDS, k=40)))


def _given(said: Sequence[Message], start: int, run: Run) -> ExtractInput:
    headers = tuple(
        Header(
            "local",
            "main",
            f"m{at}.md",
            f"memory-{at}",
            " ".join(WORDS[:14]),
            "project",
            1_780_000_000 + at,
        )
        # One more every few extractions: what stands behind the session may change.
        for at in range(run.memories + start // (3 * run.each))
    )
    end = start + run.each
    paused = [_is_paused(at, run) for at in range(end)]
    record = [withheld(one) if out else one for one, out in zip(said, paused, strict=False)]
    new = [one for one, out in zip(said[start:end], paused[start:], strict=False) if not out]
    part = part_of(record, new)
    return ExtractInput(
        messages=part.messages,
        manifest=headers,
        rules=("Keep functions short. " * 40,),
        session="s",
        memory={"local/main/m0.md": b"---\nname: m0\ndescription: d\ntype: project\n---\n\nOne fact.\n"},
        history=part.history,
        seen=part.seen,
        known_before=headers[: run.memories],
        now=START.timestamp() + start,
    )


def _is_paused(at: int, run: Run) -> bool:
    """Whether a message was said in a pause and is not extracted from: two in a stretch, or stretches."""
    stretch, inside = divmod(at, run.each)
    if not run.left_out or stretch % 5 in (0, 4):
        return False
    return stretch % 5 != 1 or run.each // 2 <= inside < run.each // 2 + 2


def _prompt(usage: dict[str, Any]) -> int:
    return int(
        usage["input_tokens"] + usage["cache_read_input_tokens"] + usage["cache_creation_input_tokens"]
    )


def rows(runs: Sequence[Run]) -> Iterator[Figure]:
    """What each run read, of all that was sent."""
    for run in runs:
        found = simulate(run)
        how = f"{run.ttl}, {run.requests} requests{', strict' if run.strict else ''}"
        yield Figure(f"read from the cache: {how}", "%", 100 * found.read, 100, "all input")


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--messages", type=int, default=500)
    parser.add_argument("--each", type=int, default=10)
    parser.add_argument("--every", type=float, default=300.0)
    parser.add_argument("--memories", type=int, default=40)
    parser.add_argument("--left-out", action="store_true")
    given = parser.parse_args()
    shared = {key: getattr(given, key) for key in KEYS}
    runs = [Run(**shared, ttl=ttl, requests=number) for ttl in ("1h", "5m") for number in (1, 2, 3)]
    say(rows([*runs, Run(**shared, ttl="5m", requests=2, strict=True)]), given.json)


if __name__ == "__main__":
    main()
