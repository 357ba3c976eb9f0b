"""A look through git ends at its limits, and never fetches."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitmem.core.errors import RepositoryError
from gitmem.git.command import CHUNK, GitCommand, peek


def look(repo: Path, *words: str, **limits: object) -> tuple[bytes, int | None]:
    given = {"seconds": 20.0, "size": 1 << 20} | limits
    seen = peek(GitCommand(os.environ), words, cwd=repo, **given)  # type: ignore[arg-type]
    return seen.stdout, seen.returncode


def test_what_ends_by_itself_gives_its_exit_code(repo: Path) -> None:
    assert look(repo, "rev-parse", "--is-bare-repository") == (b"false\n", 0)
    assert look(repo, "rev-parse", "--verify", "-q", "nothing") == (b"", 1)
    assert look(repo, "hash-object", "--stdin-paths", input=b"") == (b"", 0)


def test_what_says_or_takes_too_much_is_ended(repo: Path) -> None:
    """An alias that begins with `!` is a shell's: here a command that never ends."""
    for name, command in {"flood": "!yes", "sleepy": "!sleep 600"}.items():
        with (repo / ".git/config").open("a") as config:
            config.write(f'[alias]\n\t{name} = "{command}"\n')
    said, code = look(repo, "flood", size=1000)
    assert code is None and 1000 <= len(said) < 1000 + CHUNK
    said, code = look(repo, "flood", enough=lambda output: len(output) > 10)
    assert code is None and said.startswith(b"y\ny\n")
    assert look(repo, "sleepy", seconds=0.05) == (b"", None)
    assert look(repo, "status", seconds=0.0) == (b"", None)


def test_nothing_may_be_fetched(repo: Path, git) -> None:
    git("-C", repo, "remote", "add", "origin", repo.as_uri())
    assert look(repo, "fetch", "origin") == (b"", 128)


def test_a_missing_git_is_a_plain_error(repo: Path) -> None:
    with pytest.raises(RepositoryError, match="git cannot be run"):
        peek(GitCommand({}, "no-such-git"), ["status"], cwd=repo, seconds=1.0, size=1)
