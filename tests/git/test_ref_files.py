"""What git's files tell without a process: whether an object is there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gitmem.git.command import GitCommand, GitResult
from gitmem.git.ref_files import holds


class Silent(GitCommand):
    """Git that may not be asked."""

    def run(self, *_: Any, **__: Any) -> GitResult:
        raise AssertionError("git was asked")


@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_an_object_is_found_by_its_file_and_in_packs_and_git_is_asked_of_others(
    git: Callable[..., str], tmp_path: Path, form: str
) -> None:
    """Each first byte of a name has its own part of a pack's list, the first and the last, too."""
    repo = tmp_path / form
    git("init", "-q", f"--object-format={form}", repo)
    texts = [tmp_path / f"text-{number}" for number in range(1_200)]
    for text in texts:
        text.write_text(text.name)
    listed = "\n".join(map(str, texts))
    names = git("-C", repo, "hash-object", "-w", "--stdin-paths", input=listed).split()
    assert {"00", "ff"} <= {name[:2] for name in names}
    asked, silent = GitCommand(dict(os.environ)), Silent(dict(os.environ))
    absent = [name[:-4] + ("0000" if name[-4:] != "0000" else "1111") for name in names]
    assert all(holds(silent, repo / ".git", name) for name in names)
    git("-C", repo, "pack-objects", "-q", ".git/objects/pack/pack", input="\n".join(names))
    git("-C", repo, "prune-packed")
    assert all(holds(silent, repo / ".git", name) for name in names)
    assert not any(holds(asked, repo / ".git", name) for name in absent[:3])
    borrowing = tmp_path / "borrowing"
    git("init", "-q", "--bare", f"--object-format={form}", borrowing)
    (borrowing / "objects/info/alternates").write_text(f"{repo}/.git/objects\n")
    assert holds(asked, borrowing, names[0])
    (pack,) = (repo / ".git/objects/pack").glob("*.idx")
    pack.chmod(0o600)
    pack.write_bytes(b"")
    assert not holds(asked, repo / ".git", names[0])
