"""A model keeps a living document true: it edits a copy, and what it did is held against what was stale."""

from __future__ import annotations

from dataclasses import replace

from gitmem.engines.anthropic_api import request
from gitmem.engines.anthropic_api.client import Client
from gitmem.engines.anthropic_api.extract import TURNS
from gitmem.engines.anthropic_api.loop import Loop
from gitmem.engines.anthropic_api.settings import ApiSettings
from gitmem.engines.documented import DOCUMENT_BYTES, documented, is_settled, refused
from gitmem.engines.prompts import documents as told
from gitmem.engines.prompts.notes import repair
from gitmem.engines.tools import Sandbox, Writable
from gitmem.engines.usage import Meter
from gitmem.engines.view import Roots
from gitmem.engines.writing import Document, DocumentInput

REPAIR_TURNS = 3
"""Requests that a model has to put right what is wrong with its change: read, edit, answer."""


def document(settings: ApiSettings, meter: Meter, given: DocumentInput) -> Document:
    """Has a model make a document true again.

    Raises:
        EngineError: no whole answer came, or the document cannot be taken, also after the model was told
            why.
        DetectorUnavailable: credentials cannot be looked for, so nothing may leave.
    """
    if is_settled(given):
        return Document(given.text)
    sandbox = Sandbox(
        {told.FILE: given.text.encode("utf-8", "replace")},
        Roots(given.worktree),
        Writable(only=told.FILE, size=DOCUMENT_BYTES),
    )
    with Client(settings, meter, "document") as client:
        loop = Loop(client, settings, sandbox, told.SYSTEM)
        answer = loop.run([request.text(told.task(given))], TURNS)
        made, wrong = documented(given, _left(sandbox), answer)
        if wrong:
            again = loop.run([request.text(repair(wrong, f"memory/{told.FILE}"))], REPAIR_TURNS)
            made, wrong = documented(given, _left(sandbox), f"{answer}\n{again}")
        if wrong:
            raise refused(given, wrong)
        return replace(made, usage=client.usage, log=(*loop.log, *made.log, *sandbox.log))


def _left(sandbox: Sandbox) -> str:
    return sandbox.files.get(told.FILE, b"").decode("utf-8", "replace")
