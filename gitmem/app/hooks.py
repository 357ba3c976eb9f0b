"""`gitmem hook …`: what agents' hooks run: answered at once, the work left to the worker, never a failure.

A client's own events and fields become Claude Code's, which are gitmem's, by the table of clients. All of
it is the standard library; what a prompt is answered with is imported only when it is asked.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from gitmem.flows.place import SAID, find_initialised, is_disabled, start_worker
from gitmem.ledger.files import claude_folder, data_folder, log

if TYPE_CHECKING:
    from gitmem.app.clients import Client
    from gitmem.app.spool import Job

OWN = "claude"
"""The client whose events and fields are gitmem's own: its hooks need no table to be understood."""

# Events that mean new conversation to extract from.
CLAUDE_JOBS = {
    "SessionStart": "session-start",
    "Stop": "stop",
    "SubagentStop": "subagent-stop",
    "SessionEnd": "session-end",
    "PreCompact": "pre-compact",
}
CONTEXTS = frozenset({"SessionStart", "UserPromptSubmit"})
# Events at which a client may show the person a `systemMessage` (seen in 2.1.197, in a terminal).
SAYS = frozenset({"SessionStart", "UserPromptSubmit", "Stop"})
# `claude -p`, which shows it to nobody.
UNSEEN = "sdk-cli"
# Before a tool runs, and after one failed: a tool call waits for these, so nothing else is done there.
ACTIONS = frozenset({"PreToolUse", "PostToolUseFailure"})
# A prompt with a pasted log can be large; anything beyond is not read.
LARGEST = 8 * 1024 * 1024
LONGEST_TEXT = 4096

Starter = Callable[[Path, Mapping[str, str]], None]


def main(
    argv: Sequence[str],
    environ: Mapping[str, str],
    stdin: IO[bytes],
    stdout: IO[str],
    start: Starter = start_worker,
) -> int:
    """Runs one hook.

    Args:
        argv: what follows `gitmem hook`: `<client> <Event>`.
        environ: the environment.
        stdin: the client's JSON.
        stdout: where an answer for the client goes; only ever one JSON object.
        start: starts the worker of a common git directory.

    Returns:
        0, whatever happens: a broken gitmem blocks nothing.
    """
    if len(argv) < 2:
        return 0
    try:
        if is_disabled(environ):
            _, event, payload = _given(argv[0], argv[1], stdin)
            if event in SAYS:
                _note(event, environ, payload)
        else:
            _agent(argv[0], argv[1], environ, stdin, stdout, start)
    except Exception as error:
        _tell(f"hook {argv[0]} {argv[1]}: {type(error).__name__}: {error}")
    return 0


def _given(client: str, name: str, stdin: IO[bytes]) -> tuple[Client | None, str, dict[str, Any]]:
    """What a client says of an event: its row, None for `OWN`; gitmem's name of the event, empty where it
    means nothing; and the fields."""
    payload = _payload(stdin)
    if client == OWN:
        # Cursor runs Claude Code's hooks as well, and has its own.
        return None, "" if "cursor_version" in payload else name, payload
    from gitmem.app import clients

    row = clients.CLIENTS.get(client)
    if row is None or name not in row.events:
        return None, "", {}
    return row, row.events[name].means, clients.given(row, name, payload)


def _agent(
    client: str,
    name: str,
    environ: Mapping[str, str],
    stdin: IO[bytes],
    stdout: IO[str],
    start: Starter,
) -> None:
    row, event, payload = _given(client, name, stdin)
    place = find_initialised(Path(_text(payload, "cwd") or Path.cwd()))
    if place is None or not event:
        return
    worktree, common = place
    if event in ACTIONS:
        text = _at_action(payload, place, environ)
        if row and row.failed:
            from gitmem.app.clients import failure

            text += _at_action(failed, place, environ) if (failed := failure(row, payload)) else ""
        _answer(row, name, text, "", stdout)
        return
    off = _note(event, environ, payload)
    if event in CLAUDE_JOBS and not off:
        from gitmem.app.spool import Job

        subagent = _text(payload, "agent_transcript_path")
        job = Job(
            event=CLAUDE_JOBS[event],
            worktree=str(worktree),
            session_path=subagent or _text(payload, "transcript_path"),
            session_id=_text(payload, "session_id"),
            agent=_text(payload, "agent_type") or "main",
            time=time.time(),
        )
        _spool(common, job, environ, start)
    # Where nothing is learned from a session, no model is asked about it either.
    leave = None if off else partial(_spool, common, environ=environ, start=start)
    message = ""
    seen = not payload.get("agent_id") and environ.get("CLAUDE_CODE_ENTRYPOINT") != UNSEEN
    if event in (row.said_at if row else SAYS) and seen and _has_any(common / "gitmem" / SAID):
        from gitmem.flows.notices import take

        every = event == "SessionStart"
        message = take(common / "gitmem", _text(payload, "session_id"), all_sessions=every)
    text = _context(row, event, payload, common, leave) if event in CONTEXTS else ""
    _answer(row, name, text, message, stdout)


def _has_any(folder: Path) -> bool:
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is not None
    except OSError:
        return False


def _answer(row: Client | None, name: str, context: str, message: str, stdout: IO[str]) -> None:
    """Gives the client its answer, by the one exit; none where there is nothing to say.

    Args:
        name: the client's name of the event.
        context: what its model is told.
        message: what the person is told.
    """
    answer: dict[str, Any] = {"systemMessage": message} if message else {}
    if context and row and row.answers == "flat":
        answer["additional_context"] = context
    elif context:
        answer["hookSpecificOutput"] = {"hookEventName": name, "additionalContext": context}
    if not answer:
        return
    from gitmem.rules.redaction import suspects, value

    # No hook waits for the detector: what only looks like a credential is left out of what it answers.
    stdout.write(json.dumps(value(answer, suspects)) + "\n")
    stdout.flush()


def _at_action(payload: Mapping[str, Any], place: tuple[Path, Path], environ: Mapping[str, str]) -> str:
    from gitmem.app.at_action import answer

    home = Path(environ.get("HOME") or "~").expanduser()
    try:
        return answer(payload, data_folder(environ, home), place, environ)
    except Exception as error:
        log(place[1], f"at an action: {type(error).__name__}: {error}")
        return ""


def _note(event: str, environ: Mapping[str, str], payload: Mapping[str, Any]) -> str:
    """Notes whether extraction is off in a session, for jobs that know nothing of its environment.

    Returns:
        What switches it off; empty where nothing does.
    """
    from gitmem.flows.pause import note_switch, switched_off

    place = find_initialised(Path(_text(payload, "cwd") or Path.cwd()))
    config = claude_folder(environ, Path(environ.get("HOME") or "~").expanduser())
    off = switched_off(environ, config, place[0] if place else None)
    # A fork that keeps no recording is nothing to extract from.
    recorded = Path(_text(payload, "transcript_path") or "/").is_file()
    if place is not None and event in SAYS and recorded:
        session = _text(payload, "session_id")
        note_switch(place[1] / "gitmem", session, off=bool(off), now=time.time(), whole=event == "Stop")
    return off


def _spool(common: Path, job: Job, environ: Mapping[str, str], start: Starter) -> None:
    from gitmem.app.spool import put

    try:
        put(common / "gitmem" / "spool", job)
        start(common, environ)
    except OSError as error:
        log(common, f"{job.event}: the job could not be left or its worker not started: {error}")


def _context(
    row: Client | None,
    event: str,
    payload: Mapping[str, Any],
    common: Path,
    leave: Callable[[Job], None] | None,
) -> str:
    try:
        if event == "SessionStart":
            from gitmem.app.session_start import session_start

            return session_start(payload, loaded=row is None or row.loads_memory)
        from gitmem.app.session_context import user_prompt

        return user_prompt(payload, leave)
    except Exception as error:
        log(common, f"{event}: {type(error).__name__}: {error}")
        return ""


def _payload(stdin: IO[bytes]) -> dict[str, Any]:
    data = stdin.read(LARGEST + 1)
    if len(data) > LARGEST:
        return {}
    try:
        payload = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return {}
    return payload if isinstance(payload, dict) else {}


def _text(payload: Mapping[str, Any], key: str) -> str:
    value = payload.get(key)
    return value if isinstance(value, str) and len(value) <= LONGEST_TEXT and "\0" not in value else ""


def _tell(text: str) -> None:
    try:
        place = find_initialised(Path.cwd())
    except OSError:
        return
    if place:
        log(place[1], text)


def run() -> int:
    """Runs the hook that the command line names, with the process's own streams."""
    return main(sys.argv[2:], os.environ, sys.stdin.buffer, sys.stdout)
