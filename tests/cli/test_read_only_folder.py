"""What is remembered is stored, also where the agent's folder cannot be written."""

from __future__ import annotations

import pytest
from cli_ground import Ground, ground, memory

from gitmem.ledger import layout

__all__ = ["ground"]


def test_a_memory_is_stored_though_the_folder_cannot_be_written(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    ground.learn({"reviewer/a.md": memory("a")})
    folder = ground.folder()
    ground.run("save")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(layout, "_write_new", refuse)
        words = ("--scope", "project", "--agent", "reviewer", "--type", "project")
        done = ground.run("remember", "The port is 9090.", *words, "--name", "ports")
        assert "stored, but not in the agent's folder" in done.err and "Permission denied" in done.err
        assert "reviewer/ports.md" in ground.tree() and not (folder / "ports.md").exists()
        told = ground.run("remember", "Another is 80.", *words, "--name", "more", "--json").json
        assert "cannot be written" in told["not_laid_out"]
    ground.run("save")
    assert {"ports.md", "more.md"} <= {path.name for path in folder.iterdir()}
