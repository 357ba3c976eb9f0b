"""From what a model left in the memory tree to proposed changes."""

from __future__ import annotations

from gitmem.engines.anthropic_api.client import Client
from gitmem.engines.anthropic_api.extract import also, portions, work
from gitmem.engines.anthropic_api.settings import ApiSettings
from gitmem.engines.engine import ExtractInput, Extraction
from gitmem.engines.offline import OfflineEngine
from gitmem.engines.proposed import proposed
from gitmem.engines.sandbox.sandbox import Sandbox
from gitmem.engines.sandbox.view import Roots
from gitmem.engines.usage import Meter


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
    changes = proposed(given, sandbox.files, "\n".join(answers), asked_in(given))
    return Extraction(changes, client.usage, (*log, *sandbox.log))


def asked_in(given: ExtractInput) -> frozenset[str]:
    """Uuids of the messages in which a person plainly asks to remember or forget something.

    A model's word is not a person's, so the rules of the offline engine decide it.
    """
    found = OfflineEngine().extract(given).changes
    return frozenset(
        uuid for change in found if change.asked for uuid in (change.origin.first, change.origin.last)
    )
