"""A model writes a session's notes on: it reads what an extraction of the session reads, byte for byte.

So tools, system text, instruction files, memories and session are found in the provider's cache, whichever
of the two asked last; what is different is the task behind them.
"""

from __future__ import annotations

from gitmem.engines.anthropic_api import request
from gitmem.engines.anthropic_api.client import Client
from gitmem.engines.anthropic_api.extract import TURNS, portions
from gitmem.engines.anthropic_api.loop import Loop
from gitmem.engines.anthropic_api.settings import ApiSettings
from gitmem.engines.noted import NOTES_BYTES, as_extracted, problems, refused
from gitmem.engines.prompts import notes as told
from gitmem.engines.tools import Sandbox, Writable
from gitmem.engines.usage import Meter
from gitmem.engines.view import Roots
from gitmem.engines.writing import Notes, NotesInput

REPAIR_TURNS = 3
"""Requests that a model has to put right what is wrong with its notes: read, edit, answer."""


def sum_up(settings: ApiSettings, meter: Meter, given: NotesInput) -> Notes:
    """Has a model write a session's notes on.

    Raises:
        EngineError: no whole answer came, or the notes cannot be taken, also after the model was told why.
        DetectorUnavailable: credentials cannot be looked for, so nothing may leave.
    """
    part = as_extracted(given)
    if not part.messages:
        return Notes(given.before)
    sandbox = Sandbox(
        {told.FILE: given.before.encode("utf-8", "replace")},
        Roots(given.worktree),
        Writable(only=told.FILE, size=NOTES_BYTES),
    )
    log: list[str] = []
    with Client(settings, meter, "notes") as client:
        for portion in portions(part):
            loop = Loop(client, settings, sandbox)
            blocks = request.record(portion, settings.ttl)
            loop.run([*blocks, request.text(told.task(given, portion))], TURNS)
            if wrong := problems(given.before, _left(sandbox)):
                loop.run([request.text(told.repair(wrong, f"memory/{told.FILE}"))], REPAIR_TURNS)
            log += loop.log
            if wrong := problems(given.before, _left(sandbox)):
                raise refused(wrong)
        return Notes(_left(sandbox), client.usage, (*log, *sandbox.log))


def _left(sandbox: Sandbox) -> str:
    return sandbox.files.get(told.FILE, b"").decode("utf-8", "replace")
