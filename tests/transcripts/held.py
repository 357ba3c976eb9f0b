"""A session in the making, the file that a client keeps it in, and what gitmem reads there."""

from __future__ import annotations

from pathlib import Path

from gitmem.transcripts.discover import read
from gitmem.transcripts.model import Message, Session


def person(session: Session) -> list[Message]:
    return [message for message in session.messages if message.role == "person"]


def said(session: Session) -> list[str]:
    return [message.text for message in person(session)]


class Held:
    """Goes before a client's class, which writes the file: `class Talk(Held, Transcript)`."""

    file: Path

    def read(self, start: int = 0) -> Session:
        """What is recorded by now, from a byte on."""
        return read(self.write(self.file), start)  # type: ignore[attr-defined]

    def said(self, start: int = 0) -> list[str]:
        return said(self.read(start))

    def size(self) -> int:
        self.read()
        return self.file.stat().st_size
