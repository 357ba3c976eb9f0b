"""A scripted Messages API whose answers to a fork are made from what the fork's task says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from scripted_api import Call, ScriptedApi, Step

FACT = """\
---
name: real-database
description: Tests use the real database
type: feedback
---

Never mock the database in tests.
"""


class Playing(ScriptedApi):
    """Answers a fork by a script that needs to know what the fork's task says."""

    def play(self, *made: Callable[[str, str], Step]) -> None:
        """Adds answers, each made of the memory folder and the word that the task names."""
        self._made = list(made)
        answer = self._state.answer

        def answered(request: dict[str, Any]) -> tuple[Step, str]:
            task = json.dumps(request.get("messages", []), ensure_ascii=False)
            found = re.search(r"true ([0-9a-f]{16})", task), re.search(r"`(/[^`\s]+/memory)/local/", task)
            if found[0] and found[1] and self._made and request.get("tools"):
                self.add(self._made.pop(0)(found[1][1], found[0][1]))
            return answer(request)

        self._state.answer = answered  # type: ignore[method-assign]


def canary(memory: str, nonce: str) -> Step:
    return Step("", (Call("Bash", {"command": f"true {nonce}"}),))


def adding(memory: str, nonce: str) -> Step:
    path = f"{memory}/local/main/real-database.md"
    return Step("", (Call("Write", {"file_path": path, "content": FACT}),))


def answering(memory: str, nonce: str) -> Step:
    return Step(f"{memory}/local/main/real-database.md: 1: the person said so")
