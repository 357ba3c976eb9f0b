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


def dream_words(program: str, session: str, model: str, settings: str, turns: int) -> list[str]:
    """The command line of a session of its own, without what the repository brings along.

    Its messages come by standard input, see `message`, and the next one when the one before is answered.

    Args:
        session: its id.
        model: exact id; empty for the person's own choice.
        settings: JSON, see `client_settings`.
        turns: how often the model may answer to one message.
    """
    held = _bounded(session, model, settings, turns)
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


def scrubbed(environ: Mapping[str, str]) -> dict[str, str]:
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
