"""Runs the person's own `claude`: what it is told, the scratch copy that it works in, its process, its end.

The client runs in a process group of its own, in a private folder that is thrown away whatever happens.
"""

from __future__ import annotations

import json
import os
import re
import selectors
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from uuid import uuid4

from gitmem.core.errors import EngineError
from gitmem.core.limits import MEMORY_BYTES
from gitmem.engines import claude_guard
from gitmem.engines.tools import Writable
from gitmem.transcripts.claude_home import project_dirs

PATIENCE = 3 * claude_guard.SECONDS
"""Seconds the client gives the hook, which ends itself before."""

# What the client offers beside Read, Edit and Write. Asking is refused where nobody can answer, and unlike
# a ban it leaves the list of tools, and so the cache, as it is.
_ASKED = """
    Agent AskUserQuestion Bash BashOutput CronCreate CronDelete CronList EnterPlanMode EnterWorktree
    ExitPlanMode ExitWorktree KillShell NotebookEdit ScheduleWakeup SendMessage Skill SlashCommand Task
    TaskCreate TaskGet TaskList TaskOutput TaskStop TaskUpdate TodoWrite WebFetch WebSearch Workflow mcp__*
"""
ASKED = tuple(_ASKED.split())

# What a dream is offered: the canary's call needs Bash.
OFFERED = ("Read", "Grep", "Glob", "Edit", "Write", "Bash")

# Files that hold credentials by their name, as `.gitignore` spells them: a dream has no business there.
_CREDENTIAL_NAMES = """
    .env* *.env *.pem *.key *.p12 *.pfx *.jks *.keystore *.kdbx *.ppk *.tfstate id_rsa* id_dsa* id_ecdsa*
    id_ed25519* .netrc _netrc .npmrc .pypirc .pgpass .htpasswd .git-credentials .s3cfg .boto credentials
    credentials.* secrets.yml secrets.yaml secrets.json secrets.toml secrets.ini .ssh/** .gnupg/** .aws/**
    .azure/** .kube/** .docker/**
"""

WITHOUT_MEMORY = {"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"}
"""By this the client tells a run nothing of the project's live memory, and makes no folder for it."""

_NAMES = """
    ALL_PROXY CLOUD_ML_REGION DO_NOT_TRACK HOME HTTPS_PROXY HTTP_PROXY LANG LANGUAGE LOGNAME
    NODE_EXTRA_CA_CERTS NO_PROXY PATH SHELL SSL_CERT_DIR SSL_CERT_FILE TEMP TERM TMP TMPDIR TZ
    USE_BUILTIN_RIPGREP USER all_proxy http_proxy https_proxy no_proxy
"""
_KEPT = frozenset(_NAMES.split())
# Some of these change what the client sends, so the fork gets the parent's.
_PREFIXES = """
    ANTHROPIC_ AWS_ BASH_DEFAULT_ BASH_MAX_ CLAUDE_ DISABLE_ ENABLE_ GOOGLE_ LC_ MAX_MCP_ MAX_THINKING_
    MCP_TIMEOUT MCP_TOOL_ VERTEX_ XDG_
"""
_KEPT_PREFIXES = tuple(_PREFIXES.split())
# Of the parent's process, not of the person: a fork that took them would hold itself for a part of it.
_OWN = """
    CLAUDE_CODE_CHILD_SESSION CLAUDE_CODE_ENTRYPOINT CLAUDE_CODE_REMOTE CLAUDE_CODE_SESSION_ID
    CLAUDE_CODE_SIMPLE CLAUDE_CODE_SSE_PORT CLAUDE_ENV_FILE CLAUDE_PLUGIN_ROOT CLAUDE_PROJECT_DIR
"""
_PARENTS = frozenset(_OWN.split())

PREFIX = "gitmem-fork-"
SCOPES = ("local", "user", "project")
"""Where a fork may write, the usual one first."""
FORGOTTEN = 86_400
"""Seconds after which a scratch copy counts as left by a process that was killed."""
_MOST_NEW = 10_000

LARGEST = 256 * 1024 * 1024
"""Bytes of output; files that the fork reads are in it."""
_STDERR = 4_000
_END = 10.0
"""Seconds the client gets to end after its output has."""
_ENTRY_BYTES = 64 * 1024


@dataclass(frozen=True)
class ForkSettings:
    """Which client to work with, and how patiently.

    Attributes:
        program: path of the person's `claude`.
        environ: environment of the person's command; what the client does not need is left out of the
            client's.
        timeout: seconds until a fork counts as hanging.
        turns: how often the model may answer: the canary call, reading, writing, the answer, and as much
            again.
        dream_timeout: seconds until a dream counts as hanging: its lock may be taken over after an hour.
        dream_turns: how often the model may answer until a dream's first answer: a scope has some hundred
            memories, and files are read many at a time.
        temp: folder of the scratch copies; None for the system's. Inside a repository the client would
            refuse to write where the person's rules protect it.
        withholds: tells of a transcript whether something in it is not to be learned from, as what was said
            in a pause: a fork sees all of its session.
        python: the interpreter that runs the hook.
    """

    program: str
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout: float = 600.0
    turns: int = 12
    dream_timeout: float = 1_800.0
    dream_turns: int = 30
    temp: Path | None = None
    withholds: Callable[[Path], bool] = field(default=lambda _: False, repr=False)
    python: str = sys.executable


@dataclass(frozen=True)
class Scratch:
    """One run's folder.

    Attributes:
        folder: its real path, mode 0700.
        nonce: a word that nobody outside this run can know.
        session: id for the client's session.
        laid: files of the copy at first.
        size: bytes of one file, at most.
    """

    folder: Path
    nonce: str
    session: str
    laid: int = 0
    size: int = MEMORY_BYTES

    @property
    def memory(self) -> Path:
        """The copy: `<scope>/<agent>/<file>`."""
        return self.folder / "memory"

    @property
    def sessions(self) -> Path:
        """What was said: `<session>`, text; to read only."""
        return self.folder / "sessions"

    @property
    def rules(self) -> Path:
        """What the hook goes by."""
        return self.folder / "rules.json"

    @property
    def log(self) -> Path:
        """What the hook decided."""
        return self.folder / "decisions.jsonl"

    def read(self) -> dict[str, bytes]:
        """What the copy holds now; a file without text counts as deleted.

        Raises:
            EngineError: it holds what no allowed call could have written.
        """
        found: dict[str, bytes] = {}
        # Each file may have folders of its own.
        for path in _walk(self.memory, 4 * self.laid + _MOST_NEW):
            name = path.relative_to(self.memory).as_posix()
            data = _content(path, self.size)
            if len(data) > self.size:
                raise EngineError(f"Claude Code wrote {len(data):,} bytes to {name}", "Nothing was taken.")
            if data.strip():
                found[name] = data
        return found


@contextmanager
def scratch(
    temp: Path | None,
    memory: Mapping[str, bytes],
    may: Writable,
    *,
    reads: Sequence[Path] = (),
    fixed: Collection[str] = (),
    sessions: Mapping[str, str] | None = None,
    now: float | None = None,
) -> Iterator[Scratch]:
    """Makes a scratch copy, and throws it away whatever happens.

    Args:
        temp: the folder to make it in; None for the system's.
        memory: `<scope>/<agent>/<file>` to content.
        may: what may be written there.
        reads: real paths of folders that may be read besides.
        fixed: files of the copy, `<scope>/<agent>/<file>`, that may be read only.
        sessions: plain file name to what was said.
        now: epoch seconds; the present if None.

    Raises:
        EngineError: it cannot be made.
    """
    try:
        base = (temp or Path(tempfile.gettempdir())).resolve()
        _sweep(base, time.time() if now is None else now)
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
        made = Scratch(folder, os.urandom(8).hex(), str(uuid4()), len(memory), may.size)
    except OSError as error:
        raise EngineError(
            f"No scratch copy can be made: {error}", "Is the temporary folder full?"
        ) from error
    try:
        _fill(made, memory, may, reads, frozenset(fixed))
        for name, text in (sessions or {}).items():
            made.sessions.mkdir(mode=0o700, exist_ok=True)
            (made.sessions / name).write_text(text, encoding="utf-8", errors="replace")
        yield made
    except OSError as error:
        raise EngineError(f"{error.filename or made.folder}: {error.strerror}", "Try again.") from error
    finally:
        shutil.rmtree(made.folder, ignore_errors=True)


def _fill(
    made: Scratch, memory: Mapping[str, bytes], may: Writable, reads: Sequence[Path], fixed: Set[str]
) -> None:
    if may.only:
        scopes, agents = ([part] for part in may.only.split("/")[:2])
    else:
        scopes, agents = [scope for scope in SCOPES if scope in may.scopes], list(may.agents)
    for scope in scopes:
        for agent in agents:
            (made.memory / scope / agent).mkdir(parents=True, mode=0o700, exist_ok=True)
    for name, data in memory.items():
        path = made.memory / _inside(name)
        path.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
        path.write_bytes(data)
    rules = {
        "nonce": made.nonce,
        "memory": str(made.memory),
        "scopes": scopes,
        "agents": agents,
        "known": sorted(memory.keys() - fixed),
        "fixed": sorted(fixed),
        "reads": [str(folder) for folder in (*reads, made.sessions)],
        "new": not may.only,
        "bytes": may.size,
        "log": str(made.log),
    }
    made.log.touch(mode=0o600)
    made.rules.write_text(json.dumps(rules), encoding="utf-8")


def _inside(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or len(path.parts) < 3 or "\0" in name:
        raise EngineError(f"{name!r} is no place in the memory tree")
    return path


def _walk(folder: Path, most: int) -> Iterator[Path]:
    count = 0
    for top, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path, count = Path(top, name), count + 1
            mode = path.lstat().st_mode
            if count > most or not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                raise EngineError(
                    f"Claude Code left what is no memory file: {path.relative_to(folder)}",
                    "Nothing was taken.",
                )
            if stat.S_ISREG(mode):
                yield path


def _content(path: Path, most: int) -> bytes:
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        return file.read(most + 1)


def _sweep(base: Path, now: float) -> None:
    """Takes away what this person's killed runs left."""
    for folder in base.glob(f"{PREFIX}*"):
        with suppress(OSError):
            found = folder.lstat()
            own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
            if own and now - found.st_mtime > FORGOTTEN:
                shutil.rmtree(folder, ignore_errors=True)


def words(program: str, parent: str, session: str, model: str, settings: str, turns: int) -> list[str]:
    """The command line of a fork; the task comes by standard input, whose length is not limited.

    Args:
        parent: id of the session to fork.
        session: id of the fork.
        model: exact id; empty leaves it to the client.
        settings: JSON, see `client_settings`.
        turns: how often the model may answer.
    """
    held = _bounded(session, model, settings, turns)
    given = [program, "-p", "--resume", parent, "--fork-session", *held]
    return [*given, "--output-format", "stream-json", "--verbose"]


def dream_words(program: str, session: str, settings: str, turns: int) -> list[str]:
    """The command line of a session of its own, without what the repository brings along.

    Its messages come by standard input, see `message`, and the next one when the one before is answered.

    Args:
        session: its id.
        settings: JSON, see `client_settings`.
        turns: how often the model may answer to one message.
    """
    held = _bounded(session, "", settings, turns)
    given = [program, "-p", "--input-format", "stream-json", *held]
    # A repository's settings bring hooks and permissions, its .mcp.json programs to run.
    given += ["--setting-sources", "user", "--strict-mcp-config", "--disable-slash-commands"]
    given += ["--tools", ",".join(OFFERED)]
    return [*given, "--output-format", "stream-json", "--verbose"]


def message(text: str) -> str:
    """What a person says, as `--input-format stream-json` takes it."""
    return json.dumps({"type": "user", "message": {"role": "user", "content": text}}) + "\n"


def _bounded(session: str, model: str, settings: str, turns: int) -> list[str]:
    named = ["--model", model] if model else []
    held = ["--permission-mode", "default", "--settings", settings, "--max-turns", str(turns)]
    return ["--no-session-persistence", "--session-id", session, *named, *held]


def client_settings(python: str, rules: Path, closed: Sequence[Path], unread: Sequence[str] = ()) -> str:
    """The settings that hold a run: the hook, and behind it rules that hold where no hook runs.

    Args:
        python: the interpreter.
        rules: the hook's rules file.
        closed: real paths of folders under which nothing may be edited, hook or not.
        unread: rules that deny reading, whatever the hook says.

    Returns:
        JSON for `--settings`.
    """
    script = Path(claude_guard.__file__).resolve()
    command = f"{shlex.join([python, '-I', '-S', str(script), str(rules)])} || exit 2"
    hook = {"type": "command", "command": command, "timeout": PATIENCE}
    denied = [f"Edit(/{_literal(path)}/**)" for path in closed]
    return json.dumps(
        {
            "hooks": {
                "PreToolUse": [{"matcher": "*", "hooks": [hook]}],
                "UserPromptSubmit": [{"hooks": [hook]}],
            },
            "permissions": {"ask": list(ASKED), "deny": [*denied, *unread]},
        }
    )


def unread(worktree: Path, own: Sequence[str]) -> list[str]:
    """Rules for what a session of its own does not read in the work tree.

    Args:
        worktree: real path of its top, where the client runs.
        own: rules that deny something in the work tree's own settings; those about reading are taken.
    """
    named = [f"Read(/{_literal(worktree)}/**/{name})" for name in _CREDENTIAL_NAMES.split()]
    return [*named, *(rule for rule in own if rule.startswith("Read("))]


def client_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """What of the person's environment the client gets: what the client needs, and gitmem switched off.

    Nothing of git's, and nothing that loads code into the programs that it starts.
    """
    kept = {
        name: value
        for name, value in environ.items()
        if (name in _KEPT or name.startswith(_KEPT_PREFIXES)) and name not in _PARENTS
    }
    return {**kept, "GITMEM_DISABLE": "1"}


def _literal(path: Path) -> str:
    """A path as a pattern that fits it alone."""
    return re.sub(r"[\\*?\[\]!#()]", r"\\\g<0>", str(path))


def run(
    words: Sequence[str],
    *,
    cwd: Path,
    environ: Mapping[str, str],
    given: str,
    folder: Path,
    timeout: float,
    line: Callable[[bytes], str | None],
    what: str,
    talks: bool = False,
) -> tuple[int, str]:
    """Runs the client to its end.

    Args:
        words: program and arguments; no shell is used.
        given: its standard input.
        folder: where its errors are kept meanwhile.
        timeout: seconds until it counts as hanging.
        line: is given each line of its output as it comes; what it raises ends the client there. With
            `talks` it returns what to put into the standard input next, empty text to close that.
        what: names the run in errors.
        talks: leave the standard input open; else it ends with `given`.

    Returns:
        exit code, and the end of what it printed as errors.

    Raises:
        EngineError: it cannot be started, hangs, or prints without end.
    """
    errors = folder / "errors"
    with errors.open("wb") as stderr:
        try:
            process = subprocess.Popen(
                words,
                cwd=cwd,
                env=dict(environ),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise EngineError(
                f"{words[0]} cannot be started: {error.strerror}", "Install Claude Code, or mend PATH."
            ) from error
        try:
            _Talk(process, given, line, talks).follow(time.monotonic() + timeout, timeout, what)
            _await_end(process.pid)
        finally:
            # What it started and left behind goes with it. It is not waited for before: until then its id,
            # which names the group, is nobody else's.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
            for pipe in filter(None, (process.stdin, process.stdout)):
                with suppress(OSError):
                    pipe.close()
    return code, errors.read_bytes()[-_STDERR:].decode("utf-8", "replace").strip()


def _await_end(pid: int) -> None:
    """Waits until a child has ended, and leaves it to be waited for; gives up after a while."""
    import psutil

    end = time.monotonic() + _END
    with suppress(psutil.Error):
        child = psutil.Process(pid)
        while child.status() != psutil.STATUS_ZOMBIE and time.monotonic() < end:
            time.sleep(0.01)


class _Talk:
    """What goes in and comes out, without ever waiting for the one while the other is due."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        given: str,
        line: Callable[[bytes], str | None],
        talks: bool,
    ) -> None:
        if process.stdin is None or process.stdout is None:
            raise EngineError("the client has no input or output")
        self._stdin, self._stdout = process.stdin, process.stdout
        self._line, self._closing = line, not talks
        self._due = given.encode("utf-8", "replace")
        self._selector = selectors.DefaultSelector()

    def follow(self, end: float, timeout: float, what: str) -> None:
        """Returns at the end of the output."""
        rest, total = b"", 0
        os.set_blocking(self._stdin.fileno(), False)
        with self._selector:
            self._selector.register(self._stdout, selectors.EVENT_READ)
            self._selector.register(self._stdin, selectors.EVENT_WRITE)
            while True:
                left = end - time.monotonic()
                ready = self._selector.select(left) if left > 0 else []
                if not ready:
                    raise EngineError(
                        f"{what} did not end within {timeout:g} seconds", "It is tried again later."
                    )
                if any(key.fileobj is self._stdin for key, _ in ready):
                    self._write()
                if not any(key.fileobj is self._stdout for key, _ in ready):
                    continue
                chunk = os.read(self._stdout.fileno(), 1 << 16)
                total += len(chunk)
                if total > LARGEST:
                    raise EngineError(f"{what} prints without end", "Try again.")
                *lines, rest = (rest + chunk).split(b"\n")
                for one in (*lines, rest) if not chunk else lines:
                    if one:
                        self._put(self._line(one))
                if not chunk:
                    return

    def _put(self, text: str | None) -> None:
        """Takes what is to go in next; empty text closes the input behind it."""
        if text is None or self._stdin.closed:
            return
        self._closing = self._closing or not text
        self._due += text.encode("utf-8", "replace")
        if self._stdin not in self._selector.get_map():
            self._selector.register(self._stdin, selectors.EVENT_WRITE)

    def _write(self) -> None:
        try:
            self._due = self._due[os.write(self._stdin.fileno(), self._due[: 1 << 16]) :]
        except BlockingIOError:
            return
        except OSError:
            # It ended, or reads no more; its output says why.
            self._due, self._closing = b"", True
        if not self._due:
            self._selector.unregister(self._stdin)
            if self._closing:
                self._stdin.close()


def forget(config: Path, session: str, cwd: Path) -> None:
    """Takes away long results of tools, the folder that was made for them, and the entry and key among
    running sessions of one that was killed.

    Best effort: what stays behind is no transcript, and nothing is learned from it.

    Args:
        config: the client's own folder.
        session: id that was made for this run alone.
        cwd: real path of the folder that it ran in.
    """
    for folder in (config / "projects").glob(f"*/{session}"):
        if folder.is_dir() and not folder.is_symlink() and not folder.with_suffix(".jsonl").exists():
            shutil.rmtree(folder, ignore_errors=True)
            with suppress(OSError):
                folder.parent.rmdir()
    for folder in project_dirs(config, [cwd]):
        # From 2.1.330 on it is made for a session that is not kept, too. One with anything in it stays.
        with suppress(OSError):
            folder.rmdir()
    for file in (config / "sessions").glob("*.json"):
        with suppress(OSError, ValueError, RecursionError):
            if not file.is_file() or file.is_symlink() or file.stat().st_size > _ENTRY_BYTES:
                continue
            entry = json.loads(file.read_bytes())
            if isinstance(entry, dict) and entry.get("sessionId") == session:
                file.unlink()
                for key in file.parent.glob(f"{file.stem}.*.key"):
                    key.unlink()
