"""The table of clients: where each one's hooks stand, what they are given, and what they may answer.

A new client is a row here and, where its sessions are to be read, a reader in `gitmem.transcripts`. Hooks
load this module while a person waits: it is data, and needs the standard library alone. Facts are as the
programs were seen to behave (versions in `tried`); what could not be tried is said in `untried`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Literal

from gitmem.values import dataclass

Form = Literal["groups", "flat", "plugin"]
Answer = Literal["nested", "flat"]


@dataclass(frozen=True)
class Event:
    """One event of a client, and what it means to gitmem.

    Attributes:
        means: the same event by Claude Code's name, which is gitmem's own.
        seconds: how long the client is to wait at most.
        matcher: tools of which it is to tell, where not all: no other call waits for gitmem.
    """

    means: str
    seconds: int = 10
    matcher: str = ""


@dataclass(frozen=True)
class Client:
    """What is known of one client.

    Attributes:
        name: the word after `gitmem hook`, and of `git mem init --client`.
        title: what people call it.
        programs: names under which it may stand on PATH.
        folder: its own folder in the person's home, also what tells that it is used.
        variable: variable of the environment that names another folder, or what that one lies in
            (`NAME/below`); empty for none.
        file: the hook file in a work tree that is, or may be, the person's own.
        own_file: the same in `folder`, for all repositories.
        form: `groups` are lists of matchers with hooks, as in Claude Code; `flat` are lists of hooks; a
            `plugin` is a program that the client loads, and that runs `gitmem hook`.
        events: the client's event to what it means.
        units: how many of the client's units of a time limit are a second; 0 where it takes none.
        top: what such a file has besides its hooks; it goes with them where gitmem made the file.
        adds: keys that the client itself puts into such a file.
        entry: what an entry of ours carries besides command and time limit.
        keys: what a hook is given under another name, ours to the client's.
        tools: the client's tools to Claude Code's, of those that memory is held against.
        inputs: names within a tool's input, the client's to Claude Code's.
        answers: whether a hook's context stands in `hookSpecificOutput`, or as `additional_context`.
        said_at: events (ours) at which the client shows a person a `systemMessage`.
        wraps: tag in which the client puts a hook's text into the next prompt; that is no question.
        failed: what begins a line of a command's result that tells of a failure, where no event does.
        patch: whether an edit's input is a patch, which names its files.
        switch: where its settings turn all hooks off: keys down to a value that means off, then that value.
        settings: file in `folder`, and in a work tree's folder of that name, that holds the switch.
        names_off: keys down to a list of the names of hooks that are off.
        managed: files of a machine's administrator, which may allow no hooks but their own.
        trusts: whether it runs only hooks that the person has looked at (Codex's `hooks.state`).
        loads_memory: whether it shows an agent its memory folder itself; else the start of a session does.
        sessions: name of the reader of its sessions; empty where none are read.
        package: its package of npm, by which an installed version is told; empty for none.
        oldest: the oldest version that is tried.
        tried: versions that were.
        untried: what could not be tried, in words; empty for nothing.
        lacks: what it has no way for: part of the contract to the reason.
    """

    name: str
    title: str
    programs: tuple[str, ...]
    folder: str
    file: str
    own_file: str
    events: Mapping[str, Event]
    form: Form = "groups"
    variable: str = ""
    units: int = 1
    top: Mapping[str, object] = field(default_factory=dict)
    adds: tuple[str, ...] = ()
    entry: Mapping[str, object] = field(default_factory=lambda: {"type": "command"})
    keys: Mapping[str, str] = field(default_factory=dict)
    tools: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    answers: Answer = "nested"
    said_at: frozenset[str] = frozenset({"SessionStart", "UserPromptSubmit", "Stop"})
    wraps: str = ""
    failed: str = ""
    patch: bool = False
    switch: tuple[str | bool, ...] = ()
    settings: str = ""
    names_off: tuple[str, ...] = ()
    managed: tuple[str, ...] = ()
    trusts: bool = False
    loads_memory: bool = False
    sessions: str = ""
    package: str = ""
    oldest: str = ""
    tried: tuple[str, ...] = ()
    untried: str = ""
    lacks: Mapping[str, str] = field(default_factory=dict)

    def home(self, environ: Mapping[str, str], home: Path) -> Path:
        """The client's own folder, which need not exist."""
        name, _, below = self.variable.partition("/")
        given = environ.get(name, "") if name else ""
        return Path(given, below) if given else home / self.folder


CLAUDE = Client(
    name="claude",
    title="Claude Code",
    programs=("claude",),
    folder=".claude",
    variable="CLAUDE_CONFIG_DIR",
    file=".claude/settings.local.json",
    own_file="settings.json",
    # The client stops SessionEnd hooks after 1.5 s whatever they ask for.
    events={
        "SessionStart": Event("SessionStart"),
        "UserPromptSubmit": Event("UserPromptSubmit"),
        "Stop": Event("Stop"),
        "SubagentStop": Event("SubagentStop"),
        "SessionEnd": Event("SessionEnd", 5),
        "PreCompact": Event("PreCompact"),
        "PreToolUse": Event("PreToolUse", 5, "Read|Edit|Write|NotebookEdit|Bash"),
        "PostToolUseFailure": Event("PostToolUseFailure", 5, "Bash"),
    },
    switch=("disableAllHooks", True),
    settings="settings.json",
    managed=(
        "/etc/claude-code/managed-settings.json",
        "/Library/Application Support/ClaudeCode/managed-settings.json",
    ),
    loads_memory=True,
    sessions="claude-code",
    package="@anthropic-ai/claude-code",
    oldest="2.1.197",
    tried=("2.1.197", "2.1.330"),
)

CODEX = Client(
    name="codex",
    title="Codex CLI",
    programs=("codex",),
    folder=".codex",
    variable="CODEX_HOME",
    file=".codex/hooks.json",
    own_file="hooks.json",
    # It tells of a command that failed by no event of its own, and cuts SessionEnd to 3 s.
    events={
        "SessionStart": Event("SessionStart"),
        "UserPromptSubmit": Event("UserPromptSubmit"),
        "Stop": Event("Stop"),
        "SessionEnd": Event("SessionEnd", 3),
        "PreCompact": Event("PreCompact"),
        "PreToolUse": Event("PreToolUse", 5, "Bash|apply_patch"),
    },
    tools={"Bash": "Bash", "apply_patch": "Edit"},
    patch=True,
    switch=("features", "hooks", False),
    settings="config.toml",
    trusts=True,
    sessions="codex",
    package="@openai/codex",
    oldest="0.152.0",
    tried=("0.152.0", "0.169.0"),
    untried="apply_patch, which it offers to its own models alone",
    lacks={"failure": "no event tells of a command that failed"},
)

GEMINI = Client(
    name="gemini",
    title="Gemini CLI",
    programs=("gemini",),
    folder=".gemini",
    variable="GEMINI_CLI_HOME/.gemini",
    file=".gemini/settings.json",
    own_file="settings.json",
    # What a hook says before a tool never reaches the model; what it says after does, with the result.
    events={
        "SessionStart": Event("SessionStart"),
        "BeforeAgent": Event("UserPromptSubmit"),
        "AfterAgent": Event("Stop"),
        "SessionEnd": Event("SessionEnd", 5),
        "AfterTool": Event("PreToolUse", 5, "read_file|write_file|replace|run_shell_command"),
    },
    units=1_000,
    entry={"type": "command", "name": "gitmem"},
    tools={"read_file": "Read", "write_file": "Write", "replace": "Edit", "run_shell_command": "Bash"},
    wraps="hook_context",
    failed=r"Exit Code: [1-9]",
    switch=("hooksConfig", "enabled", False),
    settings="settings.json",
    names_off=("hooksConfig", "disabled"),
    sessions="gemini",
    package="@google/gemini-cli",
    oldest="0.52.0",
    tried=("0.52.0", "0.61.0"),
)

QWEN = Client(
    name="qwen",
    title="Qwen Code",
    programs=("qwen",),
    folder=".qwen",
    variable="QWEN_HOME",
    file=".qwen/settings.json",
    own_file="settings.json",
    # After each tool it runs UserPromptSubmit once more, with an empty prompt, which nothing is said to.
    events={
        "SessionStart": Event("SessionStart"),
        "UserPromptSubmit": Event("UserPromptSubmit"),
        "Stop": Event("Stop"),
        "SessionEnd": Event("SessionEnd", 5),
        "PreCompact": Event("PreCompact"),
        "PostToolUse": Event("PreToolUse", 5, "read_file|write_file|edit|run_shell_command"),
        "PostToolUseFailure": Event("PostToolUseFailure", 5, "run_shell_command"),
    },
    units=1_000,
    adds=("$version",),
    entry={"type": "command", "name": "gitmem"},
    tools={"read_file": "Read", "write_file": "Write", "edit": "Edit", "run_shell_command": "Bash"},
    switch=("disableAllHooks", True),
    settings="settings.json",
    sessions="qwen",
    package="@qwen-code/qwen-code",
    oldest="0.24.0",
    tried=("0.24.0", "0.24.4"),
)

OPENCODE = Client(
    name="opencode",
    title="OpenCode",
    programs=("opencode",),
    folder=".config/opencode",
    variable="XDG_CONFIG_HOME/opencode",
    file=".opencode/plugins/gitmem.js",
    own_file="plugins/gitmem.js",
    form="plugin",
    events={
        "SessionStart": Event("SessionStart"),
        "UserPromptSubmit": Event("UserPromptSubmit"),
        "Stop": Event("Stop"),
        "PreCompact": Event("PreCompact"),
        "PreToolUse": Event("PreToolUse", 5),
        "PostToolUseFailure": Event("PostToolUseFailure", 5),
    },
    tools={"read": "Read", "write": "Write", "edit": "Edit", "bash": "Bash"},
    inputs={"filePath": "file_path"},
    said_at=frozenset(),
    sessions="opencode",
    package="opencode-ai",
    oldest="1.18.22",
    tried=("1.18.22", "1.18.33"),
)

CURSOR = Client(
    name="cursor",
    title="Cursor",
    programs=("cursor", "cursor-agent"),
    folder=".cursor",
    file=".cursor/hooks.json",
    own_file="hooks.json",
    form="flat",
    events={
        "sessionStart": Event("SessionStart"),
        "stop": Event("Stop"),
        "sessionEnd": Event("SessionEnd", 5),
        "preCompact": Event("PreCompact"),
        "postToolUse": Event("PreToolUse", 5, "Read|Write|Shell"),
    },
    top={"version": 1},
    entry={},
    keys={"session_id": "conversation_id"},
    tools={"Read": "Read", "Write": "Write", "Shell": "Bash"},
    answers="flat",
    said_at=frozenset(),
    untried="all of it: it needs an account and is not on npm; fields are as its documentation has them",
    lacks={
        "prompt": "its beforeSubmitPrompt may stop a prompt, not add to it",
        "learned": "its sessions are not read",
    },
)

CLIENTS: Mapping[str, Client] = {
    client.name: client for client in (CLAUDE, CODEX, GEMINI, QWEN, OPENCODE, CURSOR)
}


def given(client: Client, name: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    """What a client gives to a hook, as Claude Code would give it.

    Args:
        name: the client's name of the event.
        payload: its JSON, which may hold anything.
    """
    found = {**payload, "hook_event_name": client.events[name].means}
    for ours, theirs in client.keys.items():
        found[ours] = found.get(ours) or found.get(theirs)
    roots = found.get("workspace_roots")
    if not found.get("cwd") and isinstance(roots, list) and roots:
        found["cwd"] = roots[0]
    if isinstance(prompt := found.get("prompt"), str) and client.wraps:
        found["prompt"] = _unwrapped(prompt, client.wraps)
    tool, taken = found.get("tool_name"), found.get("tool_input")
    if isinstance(tool, str):
        found["tool_name"] = client.tools.get(tool, tool)
    if isinstance(taken, dict):
        taken = {client.inputs.get(key, key): value for key, value in taken.items()}
        if client.patch and found.get("tool_name") == "Edit":
            taken["file_path"] = _patched(taken.get("command"))
        path, cwd = taken.get("file_path"), found.get("cwd")
        if isinstance(path, str) and isinstance(cwd, str) and path and "\0" not in path:
            taken["file_path"] = str(Path(cwd, path))
        found["tool_input"] = taken
    return found


def failure(client: Client, payload: Mapping[str, Any]) -> dict[str, Any] | None:
    """The event of a command that failed, where a client tells of it in the command's result alone."""
    answer = payload.get("tool_response")
    text = answer.get("llmContent") if isinstance(answer, dict) else None
    if not client.failed or payload.get("tool_name") != "Bash" or not isinstance(text, str):
        return None
    import re

    if not re.search(f"^{client.failed}", text, re.MULTILINE):
        return None
    return {**payload, "hook_event_name": "PostToolUseFailure", "error": text}


def _unwrapped(prompt: str, tag: str) -> str:
    """A prompt without what the client put before it, as one block in a tag, from a hook's text."""
    start, end = f"<{tag}>", f"</{tag}>"
    rest = prompt.lstrip()
    while rest.startswith(start):
        _, closed, rest = rest.partition(end)
        if not closed:
            return ""
        rest = rest.lstrip()
    return rest


def _patched(patch: object) -> str:
    """The first file that a patch names; empty for none."""
    for line in patch.splitlines() if isinstance(patch, str) else ():
        for verb in ("*** Update File: ", "*** Add File: ", "*** Delete File: "):
            if line.startswith(verb):
                return line.removeprefix(verb).strip()
    return ""
