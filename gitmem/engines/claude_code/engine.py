"""The `claude-code` engine: a fork of the session looks for memories, a session of its own tidies them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gitmem.core.change import Header
from gitmem.engines.asked import asked_in, uuids, with_asked
from gitmem.engines.claude_code.fork import Order, fork, readable, refuse_to_start
from gitmem.engines.claude_code.held import canary
from gitmem.engines.claude_code.parent import model_of, read_parent
from gitmem.engines.claude_code.scratch import May, Scratch
from gitmem.engines.claude_code.settings import ForkSettings
from gitmem.engines.engine import ConsolidateInput, Consolidation, ExtractInput, Extraction, Tell, untold
from gitmem.engines.offline import OfflineEngine
from gitmem.engines.proposed import proposed
from gitmem.engines.usage import Meter
from gitmem.engines.writing import Document, DocumentInput, Notes, NotesInput
from gitmem.transcripts.claude_home import claude_config_dir

NAME = "claude-code"


class ClaudeCodeEngine:
    """Asks the session itself what it taught; see the package for how its client behaves.

    What the fork sends is the conversation as its parent sent it. A session in which something is not to be
    learned from (`<private>`, `gitmem.ignore`, a pause) is therefore not forked but looked at offline.
    The task that is added says which messages are new, and what memories there are.
    """

    reads_history = False

    def __init__(self, settings: ForkSettings, meter: Meter) -> None:
        self._settings, self._meter = settings, meter
        self._model = settings.model
        self._offline = OfflineEngine()

    @property
    def name(self) -> str:
        """`claude-code:<model>`, with the model that was asked last; without it before."""
        return f"{NAME}:{self._model}" if self._model else NAME

    def extract(self, given: ExtractInput) -> Extraction:
        """Forks the session; where it cannot or must not be forked, the offline engine looks at it.

        Raises:
            EngineError: the client is missing, refuses or hangs, the session is in the middle of a turn, or
                it is not proved that the hook held the fork. Nothing is taken then.
            RepositoryError: the session cannot be read.
        """
        parent = read_parent(given.transcript)
        if parent is None:
            return self._unforked(given, "no session of Claude Code to fork")
        if parent.private or (given.transcript is not None and self._settings.withholds(given.transcript)):
            return self._unforked(given, "a fork would see what is not to be learned from")
        refuse_to_start(self._settings, self._config, parent, given.transcript, given.now)
        self._meter.allow()
        asked = asked_in(given)
        self._model = self._settings.model or model_of(parent, self._config, self._settings.environ)
        agents = dict.fromkeys([given.agent, *(name.split("/")[1] for name in given.memory)])
        may = May(tuple(agents), reads=readable(parent, given.worktree, given.transcript))
        order = Order(
            "extract", self._model, given.memory, may, lambda copy: _task(given, copy), given.worktree
        )
        done = fork(self._settings, self._config, parent, self._meter, order)
        changes = proposed(given, done.files, done.answer, uuids(asked))
        return Extraction(with_asked(changes, asked), done.usage, done.refused)

    def select(self, query: str, headers: Sequence[Header], limit: int) -> tuple[int, ...]:
        """Leaves the choice to the offline engine: another prompt would share no cache with any session."""
        return self._offline.select(query, headers, limit)

    def consolidate(self, given: ConsolidateInput, tell: Tell = untold) -> Consolidation:
        """Has a session of its own tidy a copy of the scope; see `claude_code.dream.consolidate`."""
        from gitmem.engines.claude_code import dream

        made, self._model = dream.consolidate(self._settings, self._config, self._meter, given, tell)
        return made

    def sum_up(self, given: NotesInput) -> Notes:
        """Has a fork of the session write its notes; see `claude_code.notes.sum_up`."""
        from gitmem.engines.claude_code import notes

        made, self._model = notes.sum_up(self._settings, self._config, self._meter, given)
        return made

    def document(self, given: DocumentInput) -> Document:
        """Has a session of its own edit a copy of a document; see `claude_code.document.document`."""
        from gitmem.engines.claude_code import document

        made, self._model = document.document(self._settings, self._config, self._meter, given)
        return made

    def _unforked(self, given: ExtractInput, why: str) -> Extraction:
        found = self._offline.extract(given)
        return replace(found, log=(*found.log, f"{why}: looked at offline"))

    @property
    def _config(self) -> Path:
        environ = self._settings.environ
        return claude_config_dir(environ, Path(environ.get("HOME") or "/"))


def _task(given: ExtractInput, copy: Scratch) -> str:
    from gitmem.engines import prompts

    parts = [
        prompts.text("extract-fork.v1"),
        canary(copy),
        prompts.text("extract-system.v1"),
        prompts.rules(given.rules),
        prompts.task(given, root=str(copy.memory), quote=True),
    ]
    return "\n".join(filter(None, parts))
