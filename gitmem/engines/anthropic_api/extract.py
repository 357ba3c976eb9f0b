"""The extraction loop: a model reads and edits a copy of the memory, five turns at most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from gitmem.core.change import Header
from gitmem.engines.anthropic_api import request
from gitmem.engines.anthropic_api.client import Client
from gitmem.engines.anthropic_api.history import STEP_BYTES
from gitmem.engines.anthropic_api.loop import Loop
from gitmem.engines.anthropic_api.settings import ApiSettings
from gitmem.engines.engine import ExtractInput
from gitmem.engines.tools import Sandbox

TURNS = 5
"""Requests for one portion of messages: read, write, answer, and two to spare."""


@dataclass(frozen=True)
class Worked:
    """How a loop ended.

    Attributes:
        answer: the model's last words, one line a change.
        log: what a person who asks why should know.
    """

    answer: str
    log: tuple[str, ...] = ()


def work(client: Client, settings: ApiSettings, given: ExtractInput, sandbox: Sandbox) -> Worked:
    """Lets a model work on one portion of messages.

    Args:
        client: asks the model.
        given: what it is told; `messages` short enough for one request (see `portions`).
        sandbox: runs its calls; the changes it makes stay there.

    Raises:
        EngineError: no whole answer came.
    """
    loop = Loop(client, settings, sandbox)
    return Worked(loop.run(request.opening(given, settings.ttl), TURNS), tuple(loop.log))


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


def also(given: ExtractInput, files: Mapping[str, bytes]) -> ExtractInput:
    """Returns the input with files named that an earlier portion added."""
    known = {f"{header.scope}/{header.agent}/{header.file}" for header in given.manifest}
    added = []
    for path in sorted(set(files) - set(given.memory) - known):
        scope, _, rest = path.partition("/")
        agent, _, file = rest.partition("/")
        added.append(Header(scope, agent, file, file.removesuffix(".md"), "added just now", "new"))
    return replace(given, manifest=(*given.manifest, *added), memory=dict(files))
