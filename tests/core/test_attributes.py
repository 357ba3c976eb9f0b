"""What `.gitattributes` says of memory, asked of git; and how its lines come into a person's file."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitmem.core import attributes


def asked(git, repo: Path, *paths: str) -> dict[str, tuple[str, str]]:
    """Path to its merge and diff attributes, as git works them out."""
    out = git("-C", repo, "check-attr", "merge", "diff", "text", "--", *paths).splitlines()
    found: dict[str, dict[str, str]] = {}
    for line in out:
        path, name, value = line.split(": ")
        found.setdefault(path, {})[name] = value
    return {path: (said["merge"], said["diff"]) for path, said in found.items()}


BRANCH_PATHS = {
    "main/a.md": ("gitmem", "gitmem"),
    "main/archive/ab/a.md": ("gitmem", "gitmem"),
    "main/MEMORY.md": ("union", "gitmem"),
    "main/logs/2026/11/2026-11-20.md": ("union", "gitmem"),
    "main/archive/logs/2026/11/2026-11-20.md": ("union", "gitmem"),
    "main/.tombstones": ("union", "unspecified"),
    ".gitmem": ("unspecified", "unspecified"),
}


@pytest.mark.parametrize("installed", [False, True])
def test_a_memory_branch_merges_by_line_without_gitmem_and_by_claim_with_it(
    repo: Path, git, installed: bool
) -> None:
    (repo / attributes.FILE).write_text(attributes.BRANCH_TEXT)
    if installed:
        (repo / ".git/info/attributes").write_text("".join(f"{line}\n" for line in attributes.CLONE))
    expected = {
        path: ("gitmem" if installed and merge == "union" else merge, diff)
        for path, (merge, diff) in BRANCH_PATHS.items()
    }
    assert asked(git, repo, *expected) == expected


def test_snapshots_keep_their_bytes_and_merge_by_line(repo: Path, git) -> None:
    folder = repo / "snapshots"
    folder.mkdir()
    (folder / attributes.FILE).write_text(attributes.SNAPSHOTS_TEXT)
    paths = {
        "snapshots/main/a.md": ("gitmem", "gitmem"),
        "snapshots/main/MEMORY.md": ("union", "gitmem"),
        "snapshots/main/.tombstones": ("union", "unspecified"),
        "snapshots/main/snapshot.json": ("union", "unspecified"),
    }
    assert asked(git, repo, *paths) == paths
    assert git("-C", repo, "check-attr", "text", "snapshots/x").endswith("unset")


def test_a_clone_shows_the_memory_of_the_agent_that_all_have(repo: Path, git) -> None:
    (repo / ".git/info/attributes").write_text("".join(f"{line}\n" for line in attributes.CLONE))
    assert asked(git, repo, "main/a.md", "main/MEMORY.md", "docs/main/a.md", "a.md") == {
        "main/a.md": ("unspecified", "gitmem"),
        "main/MEMORY.md": ("unspecified", "gitmem"),
        "docs/main/a.md": ("unspecified", "unspecified"),
        "a.md": ("unspecified", "unspecified"),
    }


@pytest.mark.parametrize("lines", [attributes.BRANCH, attributes.SNAPSHOTS])
def test_missing_lines_come_in_front_of_a_persons_own(lines: tuple[str, ...]) -> None:
    """Git takes the last line that matches: the person's."""
    text = "".join(f"{line}\n" for line in lines)
    own = "*.md text\r\n*.png binary"
    assert attributes.complete("", lines) == text
    assert attributes.complete(own, lines) == text + own
    assert attributes.complete(f"{lines[1]}\n{own}\n{lines[0]}\r\n", lines) == f"{text}{own}\n"
    assert attributes.complete(own + "\n" + text, lines) == own + "\n" + text
