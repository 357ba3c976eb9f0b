"""A memory that says two things of one day, what a model answers that keeps one, and a meter."""

from __future__ import annotations

from dataclasses import dataclass, field

from gitmem.core.trailers import Usage

OLD, NEW = "Deploys go out on Mondays.", "Deploys go out on Fridays, since November."
DEPLOYS = f"""\
---
name: deploys
description: When deploys go out
type: project
---

{OLD}

{NEW}
"""
GONE = {
    "file": "main/deploys.md",
    "claim": "Deploys go out on Mondays",
    "fate": "superseded",
    "into_file": "main/deploys.md",
    "into_claim": "Deploys go out on Fridays",
    "reason": "it moved in November, as the other line says",
}
ENTRY = {
    "subject": "Keep the day of deploys",
    "reason": "Two days were said.",
    "files": ["main/deploys.md"],
}


@dataclass
class Counted:
    """A meter that keeps what it is told."""

    told: list[tuple[str, str, Usage]] = field(default_factory=list)

    def begin(self) -> None:
        """Allows it."""

    def allow(self) -> None:
        """Allows it."""

    def spent(self, job: str, model: str, usage: Usage) -> None:
        self.told.append((job, model, usage))
