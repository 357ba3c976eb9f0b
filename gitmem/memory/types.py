"""The four types of memory."""

from typing import Literal

MemoryType = Literal["user", "feedback", "project", "reference"]
TYPES: tuple[MemoryType, ...] = ("user", "feedback", "project", "reference")
