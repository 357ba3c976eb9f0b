"""Messages of made-up sessions, and an engine for a scripted server, for tests of engines that ask one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from messages_api import MessagesApi
from meters import Counting

from gitmem.engines.anthropic import AnthropicEngine
from gitmem.engines.messages import ApiSettings
from gitmem.transcripts.model import Message, ToolCall

KEY = "sk-ant-api03-" + "Zk3v9QmX" * 11 + "-AA"
START = datetime(2026, 11, 20, 10, 0, tzinfo=UTC)
NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC).timestamp()


def person(number: int, text: str, **more: Any) -> Message:
    """What a person says as message `number`, from 1."""
    return Message(f"u{number}", "person", text, START + timedelta(minutes=number), "prompt", **more)


def agent(number: int, text: str, *tools: ToolCall) -> Message:
    """What an agent says as message `number`, from 1."""
    return Message(f"u{number}", "agent", text, START + timedelta(minutes=number), "reply", tools=tools)


def call(name: str, result: str | None = "done", *, is_error: bool = False, **given: Any) -> ToolCall:
    """One call of an agent."""
    return ToolCall("", name, given, result, is_error)


def memory(name: str, said: str, type: str = "feedback") -> bytes:
    """A memory file."""
    return f"---\nname: {name}\ndescription: {said}\ntype: {type}\n---\n\n{said}\n".encode()


def engine(api: MessagesApi, meter: Counting, **more: Any) -> AnthropicEngine:
    """The engine that asks a scripted server, without second tries unless they are set."""
    return AnthropicEngine(
        ApiSettings(**{"api_key": KEY, "base_url": api.url, "retries": 0, **more}), meter
    )
