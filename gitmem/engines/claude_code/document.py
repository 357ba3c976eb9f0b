"""A session of its own keeps a living document true: it edits a copy, and reads the code beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gitmem.core.errors import EngineError
from gitmem.engines import prompts
from gitmem.engines.claude_code import held, own, wiring
from gitmem.engines.claude_code.leftovers import forget
from gitmem.engines.claude_code.parent import refuse_without_hooks
from gitmem.engines.claude_code.scratch import May, Scratch, scratch
from gitmem.engines.claude_code.settings import ForkSettings
from gitmem.engines.documented import DOCUMENT_BYTES, documented, is_settled, refused
from gitmem.engines.offline.document import document as offline
from gitmem.engines.prompts import documents as told
from gitmem.engines.prompts.notes import repair
from gitmem.engines.usage import Meter
from gitmem.engines.writing import Document, DocumentInput
from gitmem.rules.secrets import find_secrets

REPAIR_TURNS = 6
"""How often the model may answer once it is told what is wrong: read, edit, answer, and again."""

_WHAT = "The session on a document"


def document(
    settings: ForkSettings, config: Path, meter: Meter, given: DocumentInput
) -> tuple[Document, str]:
    """Has a model make a document true again.

    Args:
        config: the client's own folder.
        meter: is asked before, and told after it what it cost.

    Returns:
        the document; exact id of the model, empty where none was asked.

    Raises:
        EngineError: the client is missing, refuses or hangs, it is not proved that the hook held it, or the
            document cannot be taken, also after the model was told why. Nothing is taken then.
        DetectorUnavailable: credentials cannot be looked for, so nothing may leave.
    """
    if is_settled(given):
        return Document(given.text), ""
    if any(found.severity == "block" for found in find_secrets(given.text)):
        made = offline(given)
        return replace(made, log=("it seems to hold a credential: not shown to the model",)), ""
    held.refuse_without_program(settings)
    refuse_without_hooks(config, None)
    worktree = given.worktree.resolve() if given.worktree and given.worktree.is_dir() else None
    meter.allow()
    tree = {told.FILE: given.text.encode("utf-8", "replace")}
    may = May(("main",), ("local",), (worktree,) if worktree else (), new=False, size=DOCUMENT_BYTES)
    with scratch(settings.temp, tree, may) as copy:
        work = _Work(settings, given, copy)
        try:
            own.hold(settings, copy, work.watch, worktree, _task(given, copy), work.follow, _WHAT)
        finally:
            forget(config, copy.session, worktree or copy.memory)
            usage = work.watch.account.usage()
            if usage is not None:
                meter.spent("document", work.model, usage)
        after = copy.read()
        work.watch.refuse_unaccounted(tree, after)
        made = work.made()
    return replace(made, usage=usage, log=(*made.log, *work.watch.refused)), work.model


class _Work:
    """One session and what it has come to."""

    def __init__(self, settings: ForkSettings, given: DocumentInput, copy: Scratch) -> None:
        self.watch = held.Watch(_WHAT, copy)
        self._settings, self._given, self._copy = settings, given, copy
        self._limit = settings.dream_turns
        self._answers: list[str] = []
        self._made: tuple[str, Document] | None = None

    @property
    def model(self) -> str:
        """Exact id of the model, as far as it is known."""
        return self.watch.account.model or self._settings.model

    def made(self) -> Document:
        """What came of it, once the client has ended.

        Raises:
            EngineError: it is not what stood there when the model answered.
        """
        if self._made is None or self._left() != self._made[0]:
            raise EngineError(f"{_WHAT} changed files behind its answer", "Nothing was taken.")
        return self._made[1]

    def follow(self, line: bytes) -> str | None:
        """Takes a line of the client's output; returns what it is told next, empty where that was all."""
        account = self.watch.account
        ended = account.ended
        if not self.watch.add(line):
            return None
        if len(account.answers) > self._limit:
            raise EngineError(
                f"{_WHAT} did not come to an end within {self._limit} turns", "Nothing was taken."
            )
        return self._next() if account.ended > ended else None

    def _next(self) -> str:
        final = self.watch.account.final
        if final.get("subtype") != "success" or final.get("is_error"):
            return ""
        self._answers.append(str(final.get("result") or ""))
        left = self._left()
        made, wrong = documented(self._given, left, "\n".join(self._answers))
        if not wrong:
            self._made = left, made
            return ""
        if len(self._answers) > 1:
            raise refused(self._given, wrong)
        self._limit = len(self.watch.account.answers) + REPAIR_TURNS
        return wiring.message(repair(wrong, f"{self._copy.memory}/{told.FILE}"))

    def _left(self) -> str:
        return self._copy.read().get(told.FILE, b"").decode("utf-8", "replace")


def _task(given: DocumentInput, copy: Scratch) -> str:
    return "\n".join(
        [held.canary(copy), prompts.text(told.SYSTEM), told.task(given, root=str(copy.memory))]
    )
