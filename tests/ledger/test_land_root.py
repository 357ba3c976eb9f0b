"""The commit that every memory begins with is there when the first ref names it, and can be made again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import pytest

from gitmem.core.trailers import Provenance
from gitmem.git.command import GitCommand
from gitmem.git.objects import object_name
from gitmem.git.open import open_repository
from gitmem.git.repository import Signature
from gitmem.ledger.land import Ref, Tip, Write, land, root_name, root_objects

ANN = Signature("Ann", "ann@example.com", 1763632800, 60)


@pytest.mark.parametrize("prefer", ["auto", "git"])
def test_a_collection_while_the_first_write_is_planned_takes_nothing(
    prefer: Literal["auto", "git"], tmp_path: Path
) -> None:
    """No ref names the root before that, and screening for secrets takes a while."""
    git = GitCommand(dict(os.environ))
    git.run(["init", "-q", str(tmp_path)])
    repo = open_repository(tmp_path, git, prefer)

    def plan(_: Tip) -> Write:
        git.run(["gc", "-q", "--prune=now"], cwd=tmp_path)
        return Write({"main/one.md": b"One.\n"}, "Remember one", Provenance(op="add"))

    written = land(Ref(repo, "refs/gitmem/project"), plan, ANN)
    assert written is not None
    assert git.run(["rev-list", written.commit], cwd=tmp_path).text.split() == [
        written.commit,
        root_name(repo),
    ]
    assert git.run(["fsck", "--strict"], cwd=tmp_path).returncode == 0
    assert all(
        object_name(*made, repo.hex_length) == oid for oid, made in root_objects(repo.hex_length).items()
    )
