"""The engine `claude-code`: the person's own `claude` works on a scratch copy, and what it wrote is taken.

What a session taught is asked of a fork of that very session; memory is worked on in a session of its own.
How the client behaves (measured, 2.1.197, against a scripted server):

- A fork with the session's exact model id sends the parent's tools, system prompt and history byte for byte
  where the session was held headless (`claude -p`, the SDK) too. Beside the task only `metadata` (the
  session's id) and the place of the cache marker differ. Permission rules that ask, path rules that deny,
  and hooks change none of it; a rule that denies a whole tool takes it off the list, and the cache is lost.
- A fork of a session held in a terminal shares the history but not what stands before it: headless, three
  tools (AskUserQuestion, EnterPlanMode, ExitPlanMode) are missing and the system prompt says so in three
  places, whatever the environment says. Forks of one session share their beginning with one another.
- The transcript holds the model's id without `[1m]`; with and without it, system prompt and tools differ.
- A hook that is missing, crashes, runs out of time, or answers what is no decision lets the call pass; only
  exit code 2 and a well-formed `deny` stop it. `disableAllHooks` in any settings switches it off. Then a
  call goes by the person's permission rules: allowed where those say so.
- Of several hooks, one `deny` is enough. Rules that ask or deny are looked at after a hook's `allow` too,
  and since nobody can be asked the call is refused.
- Calls that the client itself finds wrong (no such tool, a parameter missing, a file not read before) never
  reach a hook; their result begins with `<tool_use_error>`.
- UserPromptSubmit hooks of `--settings` run in a fork, before its first request; one that exits 2 ends it.
- The person's own hooks run in a fork as in any session; gitmem's are told to do nothing.
- A session that stopped in the middle of a turn is resumed with two messages put in before the task.
- With `--input-format stream-json` a session takes its next message when it has answered the one before,
  and ends where its input does; with `--no-session-persistence` nothing of it is kept, so that it cannot be
  resumed later. Turns are limited for each message; tokens are told for each, dollars for all until then.
- Even so it leaves long results of tools in `projects/<folder>/<session>/tool-results`, and where it is
  killed its entry in `sessions/`: both are taken away (`claude_process.forget`).
- `--setting-sources user` leaves out a work tree's settings, hooks and CLAUDE.md, `--strict-mcp-config` its
  programs; the person's own settings and CLAUDE.md stay. `--tools` shortens the list. Rules that deny
  reading a path hold for Read and Grep after a hook's `allow`, too.
- Write with empty content leaves an empty file. A file that is there has to be read before it is changed.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gitmem.core.account import is_memory
from gitmem.core.errors import EngineError
from gitmem.core.names import is_memory_file, kind
from gitmem.core.text import counted, decode, one_line
from gitmem.core.trailers import Usage
from gitmem.engines import claude_process as process
from gitmem.engines import prompts
from gitmem.engines.budget import Meter
from gitmem.engines.claude_process import ForkSettings, Scratch, scratch
from gitmem.engines.claude_proof import StreamWatch, canary
from gitmem.engines.engine import ExtractInput
from gitmem.engines.task import ModelEngine, Task, TaskOutcome, TaskView, Unfit
from gitmem.rules.paths import check_path
from gitmem.rules.secrets import scan
from gitmem.transcripts.claude_home import claude_config_dir
from gitmem.transcripts.privacy import without_private
from gitmem.transcripts.reader import read_lines

__all__ = ["ClaudeCodeEngine", "ForkSettings"]

NAME = "claude-code"

AT_REST = 300
"""Seconds after its last record from which an unfinished turn counts as interrupted."""

_NO_SESSION = "no session of Claude Code to fork"

REPAIR_TURNS = 6
"""How often the model may answer once it is told what is left open: read, edit, answer, and again."""

SESSION_CHARS = 4_000_000
"""Of what was said, for one dream: searched for secrets at about a second for a million."""

LONG_CONTEXT = "[1m]"
"""Ends the client's name of a model with a context of a million tokens. It is in no record."""
SHORT_TOKENS = 200_000
"""Tokens that a model without it takes."""

_SESSION = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SETTINGS_BYTES = 4 * 1024 * 1024
_FILES = ("settings.json", "settings.local.json")
_RULES = 500
_INTERRUPTED = "[Request interrupted by user"
# What the person does with the client itself: it is recorded as theirs, and nobody answers it.
_COMMANDS = ("<command-", "<local-command-", "<bash-")

_FORK = "The fork of the session"
_PLAIN = re.compile(r"\w[\w.-]{0,199}")
_WIDTH = 200


class ClaudeCodeEngine(ModelEngine):
    """Asks the session itself what it taught; see above for how its client behaves.

    What the fork sends is the conversation as its parent sent it. A session in which something is not to be
    learned from (`<private>`, `gitmem.ignore`, a pause) is therefore not forked but looked at offline.
    The task that is added says which messages are new, and what memories there are.
    """

    reads_history = False

    def __init__(self, settings: ForkSettings, meter: Meter) -> None:
        self._settings, self._meter = settings, meter
        self._model = ""

    @property
    def name(self) -> str:
        """`claude-code:<model>`, with the model that was asked last; without it before."""
        return f"{NAME}:{self._model}" if self._model else NAME

    def begin(self) -> None:
        """Counts a run."""
        self._meter.begin()

    def run(self, task: Task) -> TaskOutcome:
        """Runs a task about a session in a fork of it, another in a session of its own.

        Raises:
            Unfit: the session cannot or must not be forked, or the file holds a credential.
            EngineError: the client is missing, refuses or hangs, the session is in the middle of a turn, or
                it is not proved that the hook held it. Nothing is taken then.
            RepositoryError: the session cannot be read.
            DetectorUnavailable: credentials cannot be looked for, so nothing may leave.
        """
        if task.session is not None:
            return self._forked(task, task.session)
        work = _Session(self._settings, task)
        try:
            return work.run(self._config, self._meter)
        finally:
            self._model = work.model

    def _forked(self, task: Task, session: ExtractInput) -> TaskOutcome:
        settings, transcript = self._settings, session.transcript
        parent = read_parent(transcript)
        if parent is None or transcript is None:
            raise Unfit(_NO_SESSION)
        if parent.private or settings.withholds(transcript):
            raise Unfit("a fork would see what is not to be learned from")
        _refuse_without_program(settings)
        if parent.open and session.now - transcript.stat().st_mtime < AT_REST:
            raise EngineError(
                f"Session {parent.session} is in the middle of a turn",
                "It is looked at when the turn ends.",
            )
        if not parent.answered:
            raise Unfit(_NO_SESSION)
        refuse_without_hooks(self._config, parent.cwd)
        self._model = model_of(parent, self._config, settings.environ)
        fork = _Fork(settings, self._config, self._meter, parent, self._model, task, session)
        files: Mapping[str, bytes] = {}
        usage: Usage | None = None
        answers: tuple[str, ...] = ()
        wrong: tuple[str, ...] = ()
        log: tuple[str, ...] = ()
        # A fork hears one task: what is wrong is told to another one.
        for _ in range(1 + task.repairs):
            files, answer, cost, refused = fork.run({**task.tree, **files}, wrong)
            usage = usage + cost if usage and cost else usage or cost
            answers, log = (*answers, answer), (*log, *refused)
            wrong = tuple(task.judge(files, answers))
            if not wrong:
                break
        return TaskOutcome(files, answers, wrong, usage, log)

    @property
    def _config(self) -> Path:
        environ = self._settings.environ
        return claude_config_dir(environ, Path(environ.get("HOME") or "/"))


@dataclass(frozen=True)
class _Fork:
    """Forks of one session, for one task."""

    settings: ForkSettings
    config: Path
    meter: Meter
    parent: Parent
    model: str
    task: Task
    session: ExtractInput

    def run(
        self, files: Mapping[str, bytes], wrong: Sequence[str]
    ) -> tuple[Mapping[str, bytes], str, Usage | None, tuple[str, ...]]:
        """Forks the session, and waits for the fork's end.

        Args:
            files: the scratch copy at first.
            wrong: what the judge said of it, a line each.

        Returns:
            the scratch copy as the fork left it; its last words; what it cost; what its hook refused.

        Raises:
            EngineError: the client refuses or hangs, or it is not proved that the hook held it. Nothing is
                to be taken then.
        """
        self.meter.allow()
        parent, settings, worktree = self.parent, self.settings, self.session.worktree
        transcript = self.session.transcript
        places = [worktree or parent.cwd, transcript.parent if transcript else None]
        reads = [place.resolve() for place in places if place is not None]
        with scratch(settings.temp, files, self.task.may, reads=reads) as copy:
            watch = StreamWatch(_FORK, copy)
            client = process.client_settings(
                settings.python, copy.rules, _closed(settings, copy, parent.cwd, worktree)
            )

            def follow(line: bytes) -> None:
                watch.add(line)

            words = process.words(
                settings.program, parent.session, copy.session, self.model, client, settings.turns
            )
            try:
                code, errors = process.run(
                    words,
                    cwd=parent.cwd,
                    environ=process.client_environ(settings.environ),
                    given=self._prompt(copy, files, wrong),
                    folder=copy.folder,
                    timeout=settings.timeout,
                    line=follow,
                    what=_FORK,
                )
                watch.end(code, errors)
            finally:
                usage = _settle(self.config, copy, parent.cwd, watch, self.meter, self.task.job, self.model)
            after = copy.read()
            watch.refuse_unaccounted(files, after)
            answer = str(watch.account.final.get("result") or "").replace(f"{copy.memory}/", "memory/")
            return after, answer, usage, watch.refused

    def _prompt(self, copy: Scratch, files: Mapping[str, bytes], wrong: Sequence[str]) -> str:
        root = str(copy.memory)
        shown = TaskView(files, {}, root, worktree=self.session.worktree, part=self.session, forked=True)
        repair = [self.task.repair(wrong, root)] if wrong else []
        return "\n".join([canary(copy), self.task.prompt(shown), *repair])


@dataclass(frozen=True)
class Laid:
    """What is laid out for the client: files that hold text and no credentials.

    Attributes:
        files: of the scratch copy.
        hidden: files that are not; they stay as they are.
        sessions: what was said, secrets redacted.
        log: what was left out, for a person.
    """

    files: Mapping[str, bytes]
    hidden: Mapping[str, bytes]
    sessions: Mapping[str, str]
    log: tuple[str, ...] = ()


def lay_out(task: Task) -> Laid:
    """Chooses what the client sees.

    Raises:
        Unfit: the one file that the task is about holds a credential.
        DetectorUnavailable: credentials cannot be looked for, so nothing may leave.
    """
    log: list[str] = []
    fit = [path for path, data in task.tree.items() if _fits(path, data, task)]
    found = scan([decode(task.tree[path]).encode("utf-8", "replace").decode() for path in fit])
    laid = {}
    for path, secrets in zip(fit, found, strict=True):
        if not any(secret.severity == "block" or not task.may.only for secret in secrets):
            laid[path] = task.tree[path]
        elif task.may.only:
            raise Unfit("it seems to hold a credential: not shown to the model")
        else:
            name = one_line(path.partition("/")[2], _WIDTH)
            log.append(f"{name}: not shown to the model, it seems to hold a credential")
    hidden = {path: data for path, data in task.tree.items() if path not in laid}
    return Laid(laid, hidden, _said(task.reads.sessions, log), tuple(log))


def fixed_in(task: Task, laid: Laid) -> list[str]:
    """What of the tree the client may only read: whatever is no memory of the task's agents."""
    return [path for path in laid.files if not _is_own(path, task)]


class _Session:
    """A session of its own, which works on a copy of a tree, and what it has come to.

    A fork would share a cache, but no session holds what all of them taught. What is left open after the
    first answer is told to the same session, which is still there: its messages come by standard input. It
    is kept nowhere, so it is in no list of sessions, and nothing is ever learned from it.
    """

    def __init__(self, settings: ForkSettings, task: Task) -> None:
        self._settings, self._task = settings, task
        self._watch: StreamWatch | None = None
        self._limit = settings.dream_turns
        self._answers: list[str] = []
        self._wrong: tuple[str, ...] = ()
        self._judged: Mapping[str, bytes] | None = None
        self._told: tuple[int, tuple[str, ...]] = (0, ())

    @property
    def model(self) -> str:
        """Exact id of the model, as far as it is known."""
        return self._watch.account.model if self._watch else ""

    def run(self, config: Path, meter: Meter) -> TaskOutcome:
        """Returns when the client has ended and its hook is proved to have held it.

        Args:
            config: the client's own folder.
            meter: is asked before, and told after it what it cost.

        Raises:
            Unfit, EngineError: as `ClaudeCodeEngine.run`.
        """
        task = self._task
        laid = lay_out(task)
        _refuse_without_program(self._settings)
        refuse_without_hooks(config, None)
        tree = task.reads.worktree
        worktree = tree.resolve() if tree and tree.is_dir() else None
        meter.allow()
        with scratch(
            self._settings.temp,
            laid.files,
            task.may,
            reads=[worktree] if worktree else [],
            fixed=fixed_in(task, laid),
            sessions=laid.sessions,
        ) as copy:
            watch = self._watch = StreamWatch(task.what, copy)
            try:
                self._hold(watch, copy, laid, worktree)
            finally:
                cwd = worktree or copy.memory
                usage = _settle(config, copy, cwd, watch, meter, task.job, self.model)
            watch.refuse_unaccounted(laid.files, copy.read())
            files = {**copy.read(), **laid.hidden}
        if self._judged != files:
            raise EngineError(f"{task.what} changed files behind its answer", "Nothing was taken.")
        log = (*laid.log, *watch.refused)
        return TaskOutcome(files, tuple(self._answers), self._wrong, usage, log)

    def _hold(self, watch: StreamWatch, copy: Scratch, laid: Laid, worktree: Path | None) -> None:
        """Runs the client without what the repository brings along, until it has ended."""
        settings = self._settings
        unread = process.unread(worktree, denied(worktree)) if worktree else []
        client = process.client_settings(
            settings.python, copy.rules, _closed(settings, copy, worktree), unread
        )
        code, errors = process.run(
            process.dream_words(settings.program, copy.session, client, settings.dream_turns),
            cwd=worktree or copy.memory,
            environ={**process.client_environ(settings.environ), **process.WITHOUT_MEMORY},
            given=process.message(self._prompt(copy, laid, worktree)),
            folder=copy.folder,
            timeout=settings.dream_timeout,
            line=lambda line: self._follow(line, watch, copy, laid),
            what=self._task.what,
            talks=True,
        )
        watch.end(code, errors)

    def _prompt(self, copy: Scratch, laid: Laid, worktree: Path | None) -> str:
        shown = TaskView(laid.files, laid.sessions, str(copy.memory), str(copy.sessions), worktree)
        return "\n".join(
            [canary(copy), prompts.text(self._task.system), self._task.prompt(shown)],
        )

    def _follow(self, line: bytes, watch: StreamWatch, copy: Scratch, laid: Laid) -> str | None:
        """Takes a line of the client's output; returns what it is told next, empty where that was all."""
        account = watch.account
        ended = account.ended
        if not watch.add(line):
            return None
        self._tell(watch)
        if len(account.answers) > self._limit:
            raise EngineError(
                f"{self._task.what} did not come to an end within {self._limit} turns", "Nothing was taken."
            )
        return self._next(watch, copy, laid) if account.ended > ended else None

    def _next(self, watch: StreamWatch, copy: Scratch, laid: Laid) -> str:
        final = watch.account.final
        if final.get("subtype") != "success" or final.get("is_error"):
            return ""
        self._answers.append(str(final.get("result") or ""))
        self._judged = {**copy.read(), **laid.hidden}
        self._wrong = tuple(self._task.judge(self._judged, self._answers))
        if not self._wrong or len(self._answers) > 1:
            return ""
        self._limit = len(watch.account.answers) + REPAIR_TURNS
        return process.message(self._task.repair(self._wrong, str(copy.memory)))

    def _tell(self, watch: StreamWatch) -> None:
        now = (len(watch.account.answers), tuple(sorted(watch.written)))
        if now != self._told:
            self._told = now
            self._task.tell(now[0], self._settings.dream_turns + REPAIR_TURNS, now[1])


def _fits(path: str, data: bytes, task: Task) -> bool:
    """Memories, indexes and logs; an empty file would count as deleted, a large one as written."""
    _, _, below = path.partition("/")
    known = "/" in below and check_path(below) is None and kind(below) in ("memory", "index", "log")
    return known and bool(data.strip()) and len(data) <= task.may.size


def _is_own(path: str, task: Task) -> bool:
    """Whether it is a memory of one of the task's agents that was not paged out."""
    _, _, below = path.partition("/")
    agent, _, file = below.partition("/")
    return is_memory(below) and agent in task.may.agents and is_memory_file(file)


def _said(sessions: Mapping[str, str], log: list[str]) -> dict[str, str]:
    taken: dict[str, str] = {}
    room, left = SESSION_CHARS, 0
    for name, text in sessions.items():
        if len(text) > room or not _PLAIN.fullmatch(name):
            left += 1
            continue
        room -= len(text)
        taken[name] = text
    if left:
        log.append(f"{counted(left, 'session')} not shown to the model: too long")
    return dict(zip(taken, prompts.clean(list(taken.values())), strict=True))


def _closed(settings: ForkSettings, copy: Scratch, *places: Path | None) -> list[Path]:
    """What is closed to edits even without the hook, as far as the scratch copy does not lie in it.

    Args:
        places: folders besides the person's home.
    """
    home = Path(settings.environ.get("HOME") or "/")
    found = dict.fromkeys(place.resolve() for place in (home, *places) if place is not None)
    return [place for place in found if place != Path("/") and not copy.folder.is_relative_to(place)]


def _refuse_without_program(settings: ForkSettings) -> None:
    """Raises `EngineError` where there is no client to run."""
    program = Path(settings.program)
    if not program.is_absolute() or not program.is_file():
        raise EngineError(
            f"There is no program {settings.program or '`claude`'}",
            "Install Claude Code, or choose another engine: git mem engine set offline",
        )


def _settle(
    config: Path, copy: Scratch, cwd: Path, watch: StreamWatch, meter: Meter, job: str, model: str
) -> Usage | None:
    """Takes away what the client left of a run, and counts what it cost, whatever came of it."""
    process.forget(config, copy.session, cwd)
    usage = watch.account.usage()
    if usage is not None:
        meter.spent(job, model, usage)
    return usage


@dataclass(frozen=True)
class Parent:
    """A session that can be forked.

    Attributes:
        session: its id.
        cwd: folder in which it began, where the client looks for it.
        model: id of the model that answered last, as recorded; empty where none is.
        tokens: the most that one answer read.
        open: whether its last turn is unfinished.
        private: whether the person marked something in it as `<private>`.
        answered: whether the model ever answered: there is nothing to fork before.
    """

    session: str
    cwd: Path
    model: str = ""
    tokens: int = 0
    open: bool = False
    private: bool = False
    answered: bool = True


def read_parent(transcript: Path | None) -> Parent | None:
    """Reads a session's transcript.

    Returns:
        None where there is nothing to fork: no transcript of a session of Claude Code itself (a subagent's,
        say), or its folder is gone.

    Raises:
        RepositoryError: it cannot be read.
    """
    if transcript is None or not _SESSION.fullmatch(transcript.stem):
        return None
    reading = _Reading()
    for line in read_lines(transcript):
        reading.add(line.record or {})
    cwd = Path(reading.cwd)
    if not cwd.is_absolute() or not cwd.is_dir():
        return None
    return Parent(
        transcript.stem,
        cwd,
        reading.model,
        reading.tokens,
        reading.open,
        reading.private,
        reading.answered,
    )


@dataclass
class _Reading:
    cwd: str = ""
    model: str = ""
    tokens: int = 0
    open: bool = False
    answered: bool = False
    private: bool = False
    waiting: set[str] = field(default_factory=set)

    def add(self, record: dict[str, Any]) -> None:
        message = record.get("message")
        if not self.cwd and isinstance(record.get("cwd"), str):
            self.cwd = record["cwd"]
        marks = ("isSidechain", "isMeta", "isCompactSummary")
        if any(record.get(mark) for mark in marks) or not isinstance(message, dict):
            return
        content = message.get("content")
        blocks = (
            [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
        )
        if record.get("type") == "user":
            self.waiting -= {str(block.get("tool_use_id")) for block in blocks}
            given = [content, *(block.get("text") for block in blocks)]
            texts = [text.lstrip() for text in given if isinstance(text, str)]
            self.private |= without_private(texts) != texts
            if not any(text.startswith(_COMMANDS) for text in texts):
                self.open = not any(text.startswith(_INTERRUPTED) for text in texts)
        elif record.get("type") == "assistant" and message.get("model") != "<synthetic>":
            self.answered = True
            self.model = str(message.get("model") or self.model)
            self.tokens = max(self.tokens, _read_tokens(message.get("usage")))
            self.waiting |= {str(block.get("id")) for block in blocks if block.get("type") == "tool_use"}
            self.open = bool(self.waiting)


def model_of(parent: Parent, config: Path, environ: Mapping[str, str]) -> str:
    """Names the session's model as the client has to be given it.

    The record leaves `[1m]` out. It was there where an answer read more than fits without, or where the
    person's own choice of model says so.

    Args:
        config: the client's own folder.
        environ: the person's environment.
    """
    if not parent.model or parent.model.endswith(LONG_CONTEXT):
        return parent.model
    chosen = environ.get("ANTHROPIC_MODEL") or _settings(config / "settings.json").get("model")
    name = chosen.removesuffix(LONG_CONTEXT) if isinstance(chosen, str) else ""
    # The person may have written `opus[1m]`.
    long = name != chosen and bool(name) and (name == parent.model or f"-{name}-" in f"-{parent.model}-")
    return parent.model + LONG_CONTEXT if long or parent.tokens > SHORT_TOKENS else parent.model


def refuse_without_hooks(config: Path, cwd: Path | None) -> None:
    """Looks where hooks can be switched off, since a run of the client without its hook is not held.

    Args:
        config: the client's own folder.
        cwd: folder of the session; None where no settings of a repository are read.

    Raises:
        EngineError: they are.
    """
    project = [folder / ".claude" for folder in (cwd, *cwd.parents)] if cwd else []
    for folder in (config, *project):
        for name in _FILES:
            path = folder / name
            if _settings(path).get("disableAllHooks"):
                raise EngineError(
                    f"{path} switches all hooks off, and what gitmem runs is held by its hook",
                    "Take `disableAllHooks` out, or choose another engine: git mem engine set offline",
                )


def denied(worktree: Path) -> list[str]:
    """Permission rules by which a work tree's own settings deny something, as they are spelt there."""
    found: list[str] = []
    for name in _FILES:
        permissions = _settings(worktree / ".claude" / name).get("permissions")
        rules = permissions.get("deny") if isinstance(permissions, dict) else None
        found += [rule for rule in rules if isinstance(rule, str)] if isinstance(rules, list) else []
    return found[:_RULES]


def _settings(path: Path) -> dict[str, Any]:
    try:
        # To open a pipe that an archive put there would wait for ever. Links are followed, as the
        # client does.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            value = json.loads(file.read(_SETTINGS_BYTES) or b"{}")
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _read_tokens(usage: Any) -> int:
    if not isinstance(usage, dict):
        return 0
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    counts = [usage.get(name) for name in names]
    return sum(count for count in counts if isinstance(count, int))
