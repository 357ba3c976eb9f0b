"""The `claude-code` engine: a fork of the session looks for memories, a session of its own tidies them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gitmem.engines.asked import asked_in, uuids, with_asked
from gitmem.engines.claude_code import wiring
from gitmem.engines.claude_code.held import Watch, canary, closed, refuse_without_program
from gitmem.engines.claude_code.leftovers import forget
from gitmem.engines.claude_code.parent import AT_REST, Parent, model_of, read_parent, refuse_without_hooks
from gitmem.engines.claude_code.run import run
from gitmem.engines.claude_code.scratch import May, Scratch, scratch
from gitmem.engines.claude_code.settings import ForkSettings
from gitmem.engines.engine import ConsolidateInput, Consolidation, ExtractInput, Extraction, Tell, untold
from gitmem.engines.offline import OfflineEngine
from gitmem.engines.proposed import proposed
from gitmem.engines.usage import Meter
from gitmem.engines.writing import Document, DocumentInput, Notes, NotesInput
from gitmem.errors import EngineError
from gitmem.memory.change import Header
from gitmem.sessions.discover import claude_config_dir

NAME = "claude-code"
_WHAT = "The fork of the session"


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
        self._refuse_to_start(parent, given)
        self._meter.allow()
        asked = asked_in(given)
        agents = dict.fromkeys([given.agent, *(name.split("/")[1] for name in given.memory)])
        may = May(tuple(agents), reads=_readable(parent, given))
        with scratch(self._settings.temp, given.memory, may) as copy:
            watch = Watch(_WHAT, copy)
            try:
                self._fork(parent, given, copy, watch)
            finally:
                forget(self._config, copy.session)
                usage = watch.account.usage()
                if usage is not None:
                    self._meter.spent("extract", self._model, usage)
            after = copy.read()
            watch.refuse_unaccounted(given.memory, after)
            answer = str(watch.account.final.get("result") or "").replace(f"{copy.memory}/", "memory/")
        changes = proposed(given, after, answer, uuids(asked))
        return Extraction(with_asked(changes, asked), usage, watch.refused)

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

    def _refuse_to_start(self, parent: Parent, given: ExtractInput) -> None:
        refuse_without_program(self._settings)
        if parent.open and given.transcript is not None:
            age = given.now - given.transcript.stat().st_mtime
            if age < AT_REST:
                raise EngineError(
                    f"Session {parent.session} is in the middle of a turn",
                    "It is looked at when the turn ends.",
                )
        refuse_without_hooks(self._config, parent.cwd)

    @property
    def _config(self) -> Path:
        environ = self._settings.environ
        return claude_config_dir(environ, Path(environ.get("HOME") or "/"))

    def _fork(self, parent: Parent, given: ExtractInput, copy: Scratch, watch: Watch) -> None:
        model = self._settings.model or model_of(parent, self._config, self._settings.environ)
        self._model = model
        shut = closed(self._settings, copy, parent.cwd, given.worktree)
        client = wiring.client_settings(self._settings.python, copy.rules, shut)

        def follow(line: bytes) -> None:
            watch.add(line)

        code, errors = run(
            wiring.words(
                self._settings.program, parent.session, copy.session, model, client, self._settings.turns
            ),
            cwd=parent.cwd,
            environ=wiring.scrubbed(self._settings.environ),
            given=_task(given, copy),
            folder=copy.folder,
            timeout=self._settings.timeout,
            line=follow,
            what=_WHAT,
        )
        watch.end(code, errors)


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


def _readable(parent: Parent, given: ExtractInput) -> list[Path]:
    """The repository, and its sessions: the client's folder of this one."""
    places = [given.worktree, parent.cwd if given.worktree is None else None]
    places.append(given.transcript.parent if given.transcript else None)
    return [place.resolve() for place in places if place is not None]
