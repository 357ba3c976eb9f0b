"""How the client is called: its words, its settings, its environment."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from gitmem.engines.claude_code import guard

PATIENCE = 3 * guard.SECONDS
"""Seconds the client gives the hook, which ends itself before."""

# What the client offers beside Read, Edit and Write. Asking is refused where nobody can answer, and unlike
# a ban it leaves the list of tools, and so the cache, as it is.
_ASKED = """
    Agent AskUserQuestion Bash BashOutput CronCreate CronDelete CronList EnterPlanMode EnterWorktree
    ExitPlanMode ExitWorktree KillShell NotebookEdit ScheduleWakeup SendMessage Skill SlashCommand Task
    TaskCreate TaskGet TaskList TaskOutput TaskStop TaskUpdate TodoWrite WebFetch WebSearch Workflow mcp__*
"""
ASKED = tuple(_ASKED.split())

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


def words(program: str, session: str, model: str, settings: str, turns: int) -> list[str]:
    """The client's command line; the task comes by standard input, whose length is not limited.

    Args:
        session: id of the session to fork.
        model: exact id; empty leaves it to the client.
        settings: JSON, see `client_settings`.
        turns: how often the model may answer.
    """
    given = [program, "-p", "--resume", session, "--fork-session", "--no-session-persistence"]
    if model:
        given += ["--model", model]
    given += ["--permission-mode", "default", "--settings", settings, "--max-turns", str(turns)]
    return [*given, "--output-format", "stream-json", "--verbose"]


def client_settings(python: str, rules: Path, closed: Sequence[Path]) -> str:
    """The settings that hold the fork: the hook, and behind it rules that hold where no hook runs.

    Args:
        python: the interpreter.
        rules: the hook's rules file.
        closed: real paths of folders under which nothing may be edited, hook or not.

    Returns:
        JSON for `--settings`.
    """
    script = Path(guard.__file__).resolve()
    command = f"{shlex.join([python, '-I', '-S', str(script), str(rules)])} || exit 2"
    hook = {"type": "command", "command": command, "timeout": PATIENCE}
    denied = [f"Edit(/{_literal(path)}/**)" for path in closed]
    return json.dumps(
        {
            "hooks": {
                "PreToolUse": [{"matcher": "*", "hooks": [hook]}],
                "UserPromptSubmit": [{"hooks": [hook]}],
            },
            "permissions": {"ask": list(ASKED), "deny": denied},
        }
    )


def scrubbed(environ: Mapping[str, str]) -> dict[str, str]:
    """What of the person's environment the fork gets: what the client needs, and gitmem switched off.

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
