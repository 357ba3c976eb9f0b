"""The limits that clients and hosts document."""

from __future__ import annotations

from gitmem.core import limits


def test_the_limits_are_those_that_are_promised() -> None:
    """docs/formats.md, and the pages of clients and hosts: a change here is a change there."""
    assert {name: value for name, value in vars(limits).items() if name.isupper()} == {
        "INDEX_LINES": 200,
        "INDEX_BYTES": 25_000,
        "ENTRY_CHARS": 150,
        "FRONTMATTER_LINES": 30,
        "CANDIDATES": 50,
        "RECALLED": 5,
        "RECALLED_LINES": 200,
        "RECALLED_BYTES": 4096,
        "MEMORY_BYTES": 100 * 1024,
        "OTHER_BYTES": 4 * 1024**2,
        "SCOPE_ENTRIES": 250_000,
        "SCOPE_BYTES": 1024**3,
        "SCOPE_AGENTS": 1000,
        "HOT_MEMORIES": 200,
        "PROMPT_CONTEXT_CHARS": 10_000,
        "PROMPT_WHOLE": 2,
        "PROMPT_BODY_CHARS": 800,
        "PROMPT_RECALL_CHARS": 3_200,
        "NAME_CHARS": 60,
        "DESCRIPTION_CHARS": 150,
        "SEGMENT_BYTES": 255,
        "PATH_BYTES": 1024,
        "PATH_SEGMENTS": 20,
        "PROMPT_SECONDS": 0.3,
        "PATIENT_SECONDS": 3.0,
        "LATEST": 253_402_214_399,
    }
