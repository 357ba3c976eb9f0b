"""Suggestions that wait for a person."""

from __future__ import annotations

from cli_ground import Ground
from memory_files import proposed

from gitmem.core.change import ChangeOrigin, MemoryType
from gitmem.git.repository import Signature
from gitmem.ledger.suggestions import OFFLINE, propose, suggest

KEY = "ghp_" + "k3Jx9Qw2Lm5Np8Rt1Vy4Zb7Cd0Fg6Hs2Aa9Q"


def let_wait(
    ground: Ground,
    *names: str,
    scope: str = "project",
    type: MemoryType = "project",
    engine: str = OFFLINE,
    session: str = "session-1",
    body: str = "",
    description: str = "",
) -> None:
    """Parks a suggestion for each name, in the agent `reviewer`."""
    made = [
        proposed(
            name,
            description=description or f"About {name}",
            type=type,
            body=body or f"The {name} fact.",
            agent="reviewer",
            origin=ChangeOrigin(session, "u1", "u2"),
        )
        for name in names
    ]
    who = Signature("Ann", "ann@example.com", ground.tick())
    propose(ground.workspace, [suggest(one, scope, "2026-11-20T10:00:00Z", engine) for one in made], who)
