"""From what a model left in the memory tree to proposed changes."""

from __future__ import annotations

from gitmem.engines.anthropic_api.client import Client
from gitmem.engines.anthropic_api.extract import also, portions, work
from gitmem.engines.anthropic_api.settings import ApiSettings
from gitmem.engines.asked import asked_in, uuids, with_asked
from gitmem.engines.engine import ExtractInput, Extraction
from gitmem.engines.proposed import proposed
from gitmem.engines.tools import Sandbox
from gitmem.engines.usage import Meter
from gitmem.engines.view import Roots


def extract(settings: ApiSettings, meter: Meter, given: ExtractInput) -> Extraction:
    """Has a model look at new messages, and returns what it would change.

    Raises:
        EngineError: no whole answer came; nothing of it is kept.
        DetectorUnavailable: credentials cannot be looked for, so nothing may leave.
    """
    if not given.messages:
        return Extraction()
    sandbox = Sandbox(given.memory, Roots(given.worktree), given.agent)
    answers: list[str] = []
    log: list[str] = []
    with Client(settings, meter, "extract") as client:
        for portion in portions(given):
            worked = work(client, settings, also(portion, sandbox.files), sandbox)
            answers.append(worked.answer)
            log += worked.log
    asked = asked_in(given)
    changes = proposed(given, sandbox.files, "\n".join(answers), uuids(asked))
    return Extraction(with_asked(changes, asked), client.usage, (*log, *sandbox.log))
