"""An agent's message while its records still arrive."""

from __future__ import annotations

from dataclasses import dataclass, field

from gitmem.transcripts import speech
from gitmem.transcripts.model import Message, ToolCall
from gitmem.transcripts.reading import time_of


@dataclass
class Reply:
    """What an agent said and did in one go.

    Attributes:
        stamp: the time as recorded.
    """

    uuid: str
    stamp: object
    branch: str
    commit: str = ""
    texts: list[str] = field(default_factory=list)
    tools: list[ToolCall] = field(default_factory=list)

    def message(self) -> Message | None:
        """The message; None where nothing was said or done."""
        text = "\n".join(filter(None, (block.strip() for block in speech.cleaned(self.texts))))
        if not (text or self.tools):
            return None
        time, tools = time_of(self.stamp), tuple(self.tools)
        return Message(self.uuid, "agent", text, time, "reply", tools, self.branch, commit=self.commit)
