"""The hook of a fork: it may read the repository and write memory in the scratch copy, and do no more.

The client runs this file by its path, `python -I -S guard.py RULES`, so it imports the standard library
alone. Every decision is logged before it is answered. Whatever goes wrong ends with exit code 2, the only
one by which the client stops a call.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from typing import IO, Any

LARGEST = 16 * 1024 * 1024
SECONDS = 20
"""Less than the client's patience with its hook, after which it would let the call pass."""
BLOCK = 2
IN_FORCE = "refused as was meant: the rules are in force; go on with the task"
"""What the canary's call is answered."""
_LONGEST_PATH = 4096
_NEW_FILE = re.compile(r"\w[\w.-]*\.md")
_INDEX = "memory.md"
_GITS = f"{os.sep}.git{os.sep}"

Rules = dict[str, Any]


def main(argv: list[str], stdin: IO[bytes], stdout: IO[str], stderr: IO[str]) -> int:
    """Answers one hook event.

    Args:
        argv: the path of the rules file.
        stdin: the client's JSON.
        stdout: where a decision goes.

    Returns:
        0 after a decision; 2, which blocks, where none could be made.
    """
    try:
        with open(argv[0], "rb") as file:  # noqa: PTH123 (pathlib doubles the time to start)
            rules = json.loads(file.read(LARGEST))
        payload = json.loads(stdin.read(LARGEST))
        event = payload["hook_event_name"]
        if event == "UserPromptSubmit":
            _ready(rules, payload)
            return 0
        if event != "PreToolUse":
            raise ValueError(f"unknown event {event}")
        refusal = decide(rules, payload)
        path = payload["tool_input"].get("file_path", "")
        record(rules, event, payload["tool_name"], payload["tool_use_id"], path, refusal)
        decision = "deny" if refusal else "allow"
        reason = f"gitmem {rules['nonce']}: {refusal or 'inside the memory folder or the repository'}"
        answer = {
            "hookEventName": event,
            "permissionDecision": decision,
            "permissionDecisionReason": reason,
        }
        stdout.write(json.dumps({"hookSpecificOutput": answer}) + "\n")
        stdout.flush()
    except BaseException as error:
        stderr.write(f"gitmem: refused, since the rules could not be applied ({type(error).__name__})\n")
        return BLOCK
    return 0


def decide(rules: Rules, payload: dict[str, Any]) -> str:
    """Says why a tool call is refused; empty where it is allowed.

    Args:
        rules: `memory`, the real path of the scratch copy; `scopes` and `agents`, in whose folders new
            files may be written, the usual one first; `known`, files that are there and may be written,
            too; `new`, whether others may be made; `fixed`, those that may not; `reads`, real paths of
            folders that may be read; `bytes`, the most of one file.
        payload: the client's PreToolUse event.

    Raises:
        KeyError, TypeError: it is not as the client's events are.
    """
    tool, given = payload["tool_name"], payload["tool_input"]
    if not isinstance(tool, str) or not isinstance(given, dict):
        raise TypeError("not an event")
    if tool in ("Edit", "Write"):
        return _write(rules, given)
    if tool == "Read":
        return _read(rules, given["file_path"])
    if tool in ("Grep", "Glob"):
        folder = given.get("path") or payload["cwd"]
        return _read(rules, folder) or (_pattern(given["pattern"]) if tool == "Glob" else "")
    if tool == "Bash" and given.get("command") == canary(rules["nonce"]):
        return IN_FORCE
    return f"{tool[:80]} is not allowed here; only reading, searching, Edit and Write of memory files are"


def canary(nonce: str) -> str:
    """The command that the fork is to call first, and that is refused."""
    return f"true {nonce}"


def record(rules: Rules, event: str, tool: str, call: str, path: Any, refusal: str) -> None:
    """Logs a decision: one JSON line, on disk before the client hears of it."""
    entry = {
        "nonce": rules["nonce"],
        "event": event,
        "tool": tool,
        "id": call,
        "path": path if isinstance(path, str) else "",
        "allowed": not refusal,
        "refusal": refusal,
    }
    flags = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(rules["log"], flags)
    try:
        line = json.dumps(entry).encode() + b"\n"
        if os.write(handle, line) != len(line):
            raise OSError("the log is not whole")
    finally:
        os.close(handle)


def _ready(rules: Rules, payload: dict[str, Any]) -> None:
    """Shows, before the model is asked, that calls outside would be refused."""
    outside = {"file_path": os.path.join(os.path.dirname(rules["memory"]), "x.md")}  # noqa: PTH118, PTH120
    for tool, given in (("Bash", {"command": "true"}), ("Write", outside), ("Read", outside)):
        tried = {**payload, "tool_name": tool, "tool_input": given}
        if not decide(rules, tried):
            raise PermissionError(tool)
    record(rules, "ready", "", "", "", "")


def _write(rules: Rules, given: dict[str, Any]) -> str:
    path, memory = given["file_path"], rules["memory"]
    problem = _unusable(path)
    if problem:
        return problem
    # A link on the way, or `..`, makes the real path another one.
    if os.path.realpath(path) != path or not path.startswith(memory + os.sep):
        return f"only memory files under {memory} may be written"
    inside = path[len(memory) + 1 :]
    scope, agent, name = [*inside.split(os.sep, 2), "", ""][:3]
    if name.casefold() == _INDEX:
        return "the index is kept by gitmem; write the memory file alone"
    if inside in rules["fixed"]:
        return "this file is not to be changed"
    if inside not in rules["known"]:
        if not rules["new"]:
            return f"no other file than {memory}/{rules['known'][0]} may be written"
        if scope not in rules["scopes"] or agent not in rules["agents"]:
            return f"new memories go to {memory}/{rules['scopes'][0]}/{rules['agents'][0]}/<name>.md"
        if not _NEW_FILE.fullmatch(name):
            return "a memory is a file <name>.md directly in its agent's folder"
    text = given.get("content", given.get("new_string"))
    if not isinstance(text, str):
        raise TypeError("no text")
    if len(text.encode("utf-8", "replace")) > rules["bytes"]:
        return f"a memory has at most {rules['bytes']} bytes"
    return ""


def _read(rules: Rules, path: Any) -> str:
    problem = _unusable(path)
    if problem:
        return problem
    real = os.path.realpath(path)
    folders = [rules["memory"], *rules["reads"]]
    for folder in folders:
        if real == folder or real.startswith(folder + os.sep):
            inside = f"{real[len(folder) :]}{os.sep}".casefold()
            return "git's own folder cannot be read" if _GITS in inside else ""
    return "only the repository, its memory and its sessions may be read"


def _pattern(pattern: Any) -> str:
    if not isinstance(pattern, str):
        raise TypeError("no pattern")
    outside = pattern.startswith(("/", "~")) or ".." in re.split(r"[/\\,{}]", pattern)
    return "give a pattern inside the folder" if outside else ""


def _unusable(path: Any) -> str:
    if not isinstance(path, str):
        raise TypeError("no path")
    if not path.startswith("/") or "\0" in path or len(path) > _LONGEST_PATH:
        return "give an absolute path"
    return ""


if __name__ == "__main__":
    # Its default action ends the process, and the shell around it turns that into exit code 2.
    signal.alarm(SECONDS)
    sys.exit(main(sys.argv[1:], sys.stdin.buffer, sys.stdout, sys.stderr))
