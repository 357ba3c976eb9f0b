"""The `claude-code` engine: a fork of the session looks after its memory, held by a hook."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gitmem.engines.asked import asked_in, uuids, with_asked
from gitmem.engines.claude_code import guard, proof, wiring
from gitmem.engines.claude_code.parent import AT_REST, Parent, model_of, read_parent, refuse_without_hooks
from gitmem.engines.claude_code.run import run
from gitmem.engines.claude_code.scratch import Scratch, scratch
from gitmem.engines.claude_code.settings import ForkSettings
from gitmem.engines.engine import ConsolidateInput, Consolidation, ExtractInput, Extraction, Tell, untold
from gitmem.engines.offline import OfflineEngine
from gitmem.engines.proposed import proposed
from gitmem.engines.usage import Meter
from gitmem.errors import EngineError
from gitmem.guard.text import one_line
from gitmem.memory.change import Header
from gitmem.sessions.discover import claude_config_dir

NAME = "claude-code"
_SHOWN = 300

CANARY = """\
First of all, and once: call the Bash tool with exactly this command, and with no other.

    {command}

It is refused on purpose. That shows that the rules of this task are in force, and nothing is wrong. Do not
try it again; do the task then. All tools but Read, Grep, Glob, Edit and Write are refused, and so is Write
outside the memory folder.
"""


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
        """`claude-code:<model>`, with the model of the session that was forked last; without it before."""
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
        with scratch(self._settings.temp, given.memory, given.agent, _readable(parent, given)) as copy:
            account = proof.Account()
            try:
                decisions = self._fork(parent, given, copy, account)
            finally:
                usage = account.usage()
                if usage is not None:
                    self._meter.spent("extract", self._model, usage)
            after = copy.read()
            _refuse_unaccounted(given, after, copy, decisions)
            answer = str(account.final.get("result") or "").replace(f"{copy.memory}/", "memory/")
        refused = [one for one in decisions if one.refusal not in ("", guard.IN_FORCE)]
        log = tuple(f"{one.tool} was refused: {one_line(one.refusal, _SHOWN)}" for one in refused)
        changes = proposed(given, after, answer, uuids(asked))
        return Extraction(with_asked(changes, asked), usage, log)

    def select(self, query: str, headers: Sequence[Header], limit: int) -> tuple[int, ...]:
        """Leaves the choice to the offline engine: another prompt would share no cache with any session."""
        return self._offline.select(query, headers, limit)

    def consolidate(self, given: ConsolidateInput, tell: Tell = untold) -> Consolidation:
        """Leaves the work to the offline engine: no session holds what all of them taught."""
        return self._offline.consolidate(given, tell)

    def _unforked(self, given: ExtractInput, why: str) -> Extraction:
        found = self._offline.extract(given)
        return replace(found, log=(*found.log, f"{why}: looked at offline"))

    def _refuse_to_start(self, parent: Parent, given: ExtractInput) -> None:
        program = Path(self._settings.program)
        if not program.is_absolute() or not program.is_file():
            raise EngineError(
                f"There is no program {self._settings.program or '`claude`'}",
                "Install Claude Code, or choose another engine: git mem engine set offline",
            )
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

    def _fork(
        self, parent: Parent, given: ExtractInput, copy: Scratch, account: proof.Account
    ) -> tuple[proof.Decision, ...]:
        model = self._settings.model or model_of(parent, self._config, self._settings.environ)
        self._model = model
        closed = _closed(parent, given, Path(self._settings.environ.get("HOME") or "/"), copy.folder)
        client = wiring.client_settings(self._settings.python, copy.rules, closed)

        def follow(line: bytes) -> None:
            if account.add(line):
                _hold(account, proof.read_log(copy.log, copy.nonce), copy.nonce)

        code, errors = run(
            wiring.words(self._settings.program, parent.session, model, client, self._settings.turns),
            cwd=parent.cwd,
            environ=wiring.scrubbed(self._settings.environ),
            given=_task(given, copy),
            folder=copy.folder,
            timeout=self._settings.timeout,
            line=follow,
        )
        decisions = proof.read_log(copy.log, copy.nonce)
        _refuse_failed(account, decisions, code, errors)
        _hold(account, decisions, copy.nonce)
        if account.results and not proof.refused_any(account, decisions, copy.nonce):
            raise _unheld("it was never seen to refuse a call")
        return decisions


def _task(given: ExtractInput, copy: Scratch) -> str:
    from gitmem.engines import prompts

    parts = [
        prompts.text("extract-fork.v1"),
        CANARY.replace("{command}", guard.canary(copy.nonce)),
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


def _closed(parent: Parent, given: ExtractInput, home: Path, folder: Path) -> list[Path]:
    """What is closed to edits even without the hook, as far as the scratch copy does not lie in it."""
    places = [home, parent.cwd, *([given.worktree] if given.worktree else [])]
    found = dict.fromkeys(place.resolve() for place in places)
    return [place for place in found if place != Path("/") and not folder.is_relative_to(place)]


def _hold(account: proof.Account, decisions: tuple[proof.Decision, ...], nonce: str) -> None:
    if problem := proof.unproved(account, decisions, nonce):
        raise _unheld(problem)


def _unheld(problem: str) -> EngineError:
    return EngineError(
        f"The fork was not held by its hook: {problem}; nothing was taken",
        "See whether a policy of Claude Code's switches hooks off; else: git mem engine set offline",
    )


def _refuse_failed(
    account: proof.Account, decisions: tuple[proof.Decision, ...], code: int, errors: str
) -> None:
    final = account.final
    if final and not final.get("is_error") and final.get("subtype") == "success":
        if not any(decision.event == "ready" for decision in decisions):
            raise _unheld("the hook did not answer before the task")
        return
    told = final.get("errors")
    said = "; ".join(map(str, told)) if isinstance(told, list) else str(final.get("result") or "")
    said = one_line(said or errors or str(final.get("subtype") or f"exit code {code}"), _SHOWN)
    if "No conversation found" in said:
        error = EngineError(
            f"Claude Code refused to resume the session: {said}", "Was it deleted or moved?"
        )
        error.of_input = True
        raise error
    if re.search(r"log ?in|api key", said, re.IGNORECASE):
        raise EngineError(f"Claude Code is not logged in: {said}", "Start `claude` and log in.")
    raise EngineError(f"The fork of the session failed: {said}", "It is tried again later.")


def _refuse_unaccounted(
    given: ExtractInput, after: dict[str, bytes], copy: Scratch, decisions: tuple[proof.Decision, ...]
) -> None:
    """Every file that differs was put to the hook."""
    written = {one.path for one in decisions if one.allowed and one.tool in ("Edit", "Write")}
    for name in sorted({*given.memory, *after}):
        if given.memory.get(name) != after.get(name) and str(copy.memory / name) not in written:
            raise _unheld(f"{name} was changed by no call that it allowed")
