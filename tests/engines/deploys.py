"""A memory that says two things of one day, and what a model answers that keeps one."""

from __future__ import annotations

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
