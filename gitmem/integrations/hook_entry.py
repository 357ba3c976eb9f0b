"""`gitmem hook …`: what agents' hooks run. Answers at once, leaves the work to the worker, never fails.

Everything here is the standard library; what a prompt is answered with is imported only when it is asked.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from gitmem.integrations.place import find_initialised, is_on, log, start_worker
from gitmem.integrations.spool import Job, put

# Claude Code's events that mean new conversation to extract from.
CLAUDE_JOBS = {
    "SessionStart": "session-start",
    "Stop": "stop",
    "SubagentStop": "subagent-stop",
    "SessionEnd": "session-end",
    "PreCompact": "pre-compact",
}
CONTEXTS = {"SessionStart": "session_start", "UserPromptSubmit": "user_prompt"}
GIT_JOBS = {
    "post-commit": "commit",
    "post-merge": "merge",
    "post-checkout": "checkout",
    "post-rewrite": "rewrite",
}
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
        argv: what follows `gitmem hook`: `claude <Event>` or `git <hook> [arguments]`.
        environ: the environment.
        stdin: the client's JSON, or git's lines.
        stdout: where an answer for the client goes; only ever one JSON object.
        start: starts the worker of a common git directory.

    Returns:
        0, whatever happens: a broken gitmem blocks nothing.
    """
    if is_on(environ.get("GITMEM_DISABLE")) or len(argv) < 2:
        return 0
    try:
        if argv[0] == "claude":
            _claude(argv[1], environ, stdin, stdout, start)
        elif argv[0] == "git" and argv[1] in GIT_JOBS:
            _git(argv[1], argv[2:], environ, stdin, start)
    except Exception as error:
        _tell(f"hook {argv[0]} {argv[1]}: {type(error).__name__}: {error}")
    return 0


def _claude(
    event: str, environ: Mapping[str, str], stdin: IO[bytes], stdout: IO[str], start: Starter
) -> None:
    payload = _payload(stdin)
    place = find_initialised(Path(_text(payload, "cwd") or Path.cwd()))
    if place is None:
        return
    worktree, common = place
    if event in CLAUDE_JOBS and not is_on(environ.get("CLAUDE_CODE_DISABLE_AUTO_MEMORY")):
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
    if event in CONTEXTS:
        text = _context(CONTEXTS[event], payload, common)
        if text:
            answer = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}
            stdout.write(json.dumps(answer) + "\n")
            stdout.flush()


def _git(
    hook: str, args: Sequence[str], environ: Mapping[str, str], stdin: IO[bytes], start: Starter
) -> None:
    place = find_initialised(Path.cwd())
    if place is None:
        return
    job = Job(GIT_JOBS[hook], str(place[0]), time=time.time(), args=tuple(args))
    if hook == "post-rewrite":
        lines = [line.split() for line in stdin.read(LARGEST).decode("ascii", "replace").splitlines()]
        job = replace(job, rewritten=tuple((words[0], words[1]) for words in lines if len(words) >= 2))
    _spool(place[1], job, environ, start)


def _spool(common: Path, job: Job, environ: Mapping[str, str], start: Starter) -> None:
    try:
        put(common / "gitmem" / "spool", job)
        start(common, environ)
    except OSError as error:
        log(common, f"{job.event}: the job could not be left or its worker not started: {error}")


def _context(name: str, payload: Mapping[str, Any], common: Path) -> str:
    try:
        from gitmem.integrations.context import session_start, user_prompt

        return session_start(payload) if name == "session_start" else user_prompt(payload)
    except Exception as error:
        log(common, f"{name}: {type(error).__name__}: {error}")
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
