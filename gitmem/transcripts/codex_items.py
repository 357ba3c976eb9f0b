"""What single records of a Codex recording hold: prose, calls and results. Anything may be missing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from gitmem.transcripts import speech
from gitmem.transcripts.calls import tool_call
from gitmem.transcripts.model import ToolCall

ASKED = "request_user_input"
"""The tool by which the agent asks the person."""

# Text that the client puts into a person's message, by the tags its sources give it.
_PUT_IN = r"(?:[a-z]+(?:_[a-z]+)+|skill|[a-z]+ instructions|INSTRUCTIONS)"
_HEADING = r"# AGENTS\.md instructions[^\n]*\s*"
_BLOCK = re.compile(rf"\s*(?:{_HEADING})?<(?P<tag>{_PUT_IN})(?:\s[^<>]*)?>.*?</(?P=tag)>", re.DOTALL)
_OPENED = re.compile(rf"\s*(?:<{_PUT_IN}(?:\s[^<>]*)?>|{_HEADING})")
_REQUEST = "## My request for Codex:"
_PATCH = "*** Begin Patch"
_PATCHED = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$", re.MULTILINE)
_MOVED = re.compile(r"^\*\*\* Move to: (.+)$", re.MULTILINE)
_SHELLS = frozenset({"shell", "exec_command", "shell_command", "container.exec", "local_shell"})
_NOTE = "user_note: "
_EXIT = re.compile(r"(?:Exit code|Process exited with code):? (\d+)")


def string(value: object) -> str:
    """A recorded string without private spans; empty where it is none."""
    return speech.clean(value) if isinstance(value, str) else ""


def texts_of(payload: Mapping[str, Any]) -> list[str]:
    """The texts of a message's content, as recorded."""
    content = payload.get("content")
    blocks = content if isinstance(content, list) else [{"text": content}]
    texts = [block.get("text") for block in blocks if isinstance(block, dict)]
    return [text for text in texts if isinstance(text, str)]


def typed(text: str) -> str:
    """What a person typed of a text: without blocks that the client or an editor put before it."""
    while block := _BLOCK.match(text):
        text = text[block.end() :]
    if _OPENED.match(text):
        return ""
    before, found, request = text.partition(_REQUEST)
    return request if found and before.lstrip().startswith("# Context from my IDE") else text


def is_subagent(meta: Mapping[str, Any]) -> bool:
    """Whether a `session_meta` is that of a session which another agent began."""
    source = meta.get("source")
    return isinstance(source, dict) or meta.get("thread_source") in ("subagent", "memory_consolidation")


def given_to(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments of a call; a tool with free input gets it as `input`."""
    if isinstance(action := payload.get("action"), dict):
        return action
    if isinstance(free := payload.get("input"), str):
        return {"input": free}
    try:
        value = json.loads(payload.get("arguments") or "{}")
    except (ValueError, TypeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def calls_of(called: str, name: str, given: Mapping[str, Any]) -> Iterator[ToolCall]:
    """The calls that a recorded call stands for, named as Claude Code names them."""
    command = given.get("command", given.get("cmd"))
    if isinstance(command, list):
        words = [word for word in command if isinstance(word, str)]
        command = words[-1] if len(words) == 3 and words[1] in ("-c", "-lc") else " ".join(words)
    patch = given.get("input", given.get("patch", command))
    if isinstance(patch, str) and _PATCH in patch and (name == "apply_patch" or name in _SHELLS):
        moved = [("Update", path) for path in _MOVED.findall(patch)]
        for number, (kind, path) in enumerate([*_PATCHED.findall(patch), *moved], 1):
            tool = "Write" if kind == "Add" else "Edit"
            own = called if number == 1 else f"{called}.{number}"
            yield tool_call(own, tool, {"file_path": path.strip(), "patch": patch})
    elif name in _SHELLS and isinstance(command, str):
        yield tool_call(called, "Bash", {"command": command})
    else:
        yield tool_call(called, name, given)


def output(value: object) -> tuple[str, bool]:
    """Text of a call's output, and whether it tells of an error."""
    success: object = True
    if isinstance(value, dict):
        success, value = value.get("success", True), value.get("content", value.get("output"))
    if isinstance(value, list):
        value = "\n".join(texts_of({"content": value}))
    text = value if isinstance(value, str) else ""
    code: object = found[1] if (found := _EXIT.match(text)) else "0"
    if text.startswith('{"output"'):
        try:
            inner = json.loads(text)
            text, code = str(inner["output"]), inner["metadata"]["exit_code"]
        except (ValueError, TypeError, KeyError, RecursionError):
            pass
    return text, success is False or str(code) != "0"


def questions(given: Mapping[str, Any]) -> dict[str, str]:
    """The questions of a call that asks the person, by their ids."""
    asked = given.get("questions")
    found = [one for one in asked if isinstance(one, dict)] if isinstance(asked, list) else []
    return {string(one.get("id")): string(one.get("question")) for one in found}


def answers(text: str) -> Iterator[tuple[str, str]]:
    """Yields (id of the question, answer) of what a person answered."""
    try:
        given = json.loads(text).get("answers")
    except (ValueError, AttributeError, RecursionError):
        return
    for question, one in given.items() if isinstance(given, dict) else ():
        chosen = one.get("answers") if isinstance(one, dict) else one
        words = [chosen] if isinstance(chosen, str) else chosen if isinstance(chosen, list) else []
        parts = [word.removeprefix(_NOTE) for word in words if isinstance(word, str)]
        if answer := ", ".join(filter(None, (part.strip() for part in speech.cleaned(parts)))):
            yield str(question), answer
