"""What single records of a Gemini CLI recording hold: prose, calls and what a person answered in them.

The client records as `user` much that no person said: its context, an editor's state, hooks' text, shell
commands' output, its own words to make the agent go on. Anything may be missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gitmem.transcripts import speech
from gitmem.transcripts.calls import result_text, tool_call
from gitmem.transcripts.model import Source, ToolCall

_TOOLS = {"run_shell_command": "Bash", "write_file": "Write", "replace": "Edit"}
_SERVED = re.compile(r"mcp_([^_]+)_(.+)")
_ASKED = "ask_user"
_PLANNED = "exit_plan_mode"
_REJECTED = re.compile(
    r"Plan rejected\. User feedback: (.*?)\s*(?:\n\nThe plan is stored at: |\Z)", re.DOTALL
)
# As 0.61 words them; a plain "Please continue." tells nothing, whoever said it.
_PUT_IN = re.compile(
    r"\s*(?:<session_context>|<state_snapshot>|<scratchpad>|- \*\*Workspace Directories:\*\*"
    r"|This is the Gemini CLI\. We are setting up the context"
    r"|Here is (?:the user's editor context as a JSON|a summary of changes in the user's editor context)"
    r"|I ran the following shell command:\n```|System: Potential loop detected\."
    r"|(?:User has manually exited Plan Mode|Plan approved)\. Switching to |Please continue\.\s*\Z"
    r"|Background execution update:\n<background_output>)"
)
_HOOK = re.compile(r"<hook_context>.*?(?:</hook_context>|\Z)", re.DOTALL)
_STEERED = re.compile(r"\s*User (?:steering update|hints):\n<user_input>\n(.*)\n</user_input>\n", re.DOTALL)
_REFERENCED = "--- Content from referenced files ---"
_SLASH = re.compile(r"\s*/[\w:.-]+(?:\s+|\Z)")


class Utterance(NamedTuple):
    """What a person said."""

    text: str
    source: Source
    context: str = ""


def string(value: object) -> str:
    """A recorded string without private spans; empty where it is none."""
    return speech.clean(value) if isinstance(value, str) else ""


def texts_of(content: object) -> list[str]:
    """The texts of a content, as recorded: a string, a part or a list of both, without thoughts."""
    parts = content if isinstance(content, list) else [content]
    parts = [{"text": part} if isinstance(part, str) else part for part in parts]
    texts = [part.get("text") for part in parts if isinstance(part, dict) and not part.get("thought")]
    return [text for text in texts if isinstance(text, str)]


def prose(content: object) -> str:
    """What an agent said."""
    return "\n".join(text for text in texts_of(content) if text.strip())


def typed(record: Mapping[str, Any]) -> Utterance | None:
    """What a person typed of a `user` record; None where it is the client's, or a tool's result."""
    content = record.get("content")
    texts = texts_of(content)
    for text in texts:
        if steered := _STEERED.match(text):
            return _said([steered[1]], "queued")
    parts = content if isinstance(content, list) else []
    if any(isinstance(part, dict) and "functionResponse" in part for part in parts):
        return None
    if any(_PUT_IN.match(text) for text in texts[:1]):
        return None
    shown = texts_of(record.get("displayContent")) or _without_files(texts)
    if shown:
        shown = [_SLASH.sub("", shown[0], count=1), *shown[1:]]
    return _said([_HOOK.sub("", text) for text in shown], "prompt")


def call_of(record: Mapping[str, Any]) -> ToolCall:
    """A call with its result, named as Claude Code names it."""
    name = string(record.get("name"))
    if served := _SERVED.fullmatch(name):
        name = f"mcp__{served[1]}__{served[2]}"
    call = tool_call(string(record.get("id")), _TOOLS.get(name, name), record.get("args"))
    text = _result(record)
    return ToolCall(
        call.id,
        call.name,
        call.input,
        None if text is None else result_text(text),
        record.get("status") in ("error", "cancelled"),
    )


def spoken_in(record: Mapping[str, Any]) -> Iterator[Utterance]:
    """Yields what a person said in a call: answers, and what is wrong with a plan."""
    text = _HOOK.sub("", _result(record) or "").strip()
    if record.get("name") == _PLANNED and (found := _REJECTED.match(text)):
        if said := _said([found[1]], "refusal", _PLANNED):
            yield said
    elif record.get("name") == _ASKED:
        given = record.get("args")
        asked = given.get("questions") if isinstance(given, dict) else None
        questions = asked if isinstance(asked, list) else []
        try:
            answers = json.loads(text).get("answers")
        except (ValueError, AttributeError, RecursionError):
            return
        for number, answer in answers.items() if isinstance(answers, dict) else ():
            place = int(number) if number.isascii() and number.isdigit() and len(number) < 4 else -1
            question = questions[place] if 0 <= place < len(questions) else None
            context = string(question.get("question")) if isinstance(question, dict) else ""
            if isinstance(answer, str) and (said := _said([answer], "answer", context)):
                yield said


def _said(texts: list[str], source: Source, context: str = "") -> Utterance | None:
    text = speech.prompt_text([{"type": "text", "text": text} for text in texts])
    return Utterance(text, source, context) if text else None


def _without_files(texts: list[str]) -> list[str]:
    """What stands before the files that a prompt refers to."""
    kept = []
    for text in texts:
        before, found, _ = text.partition(_REFERENCED)
        kept.append(before)
        if found:
            break
    return kept


def _result(record: Mapping[str, Any]) -> str | None:
    """Text of a call's result; None where there is none."""
    parts = record.get("result")
    if isinstance(parts, str):
        return parts
    texts = []
    for part in parts if isinstance(parts, list) else ():
        answer = part.get("functionResponse") if isinstance(part, dict) else None
        response = answer.get("response") if isinstance(answer, dict) else None
        if isinstance(response, dict):
            text = response.get("output", response.get("error"))
            texts += [text] if isinstance(text, str) else []
    return "\n".join(texts) if texts else None
