"""`undo` among commits that are not the person's to take back."""

from __future__ import annotations

from pathlib import Path

from ran import Gitmem


def test_undo_takes_back_the_newest_change_and_passes_over_the_snapshot(gitmem, repo, git) -> None:
    """What a snapshot brought in has no parent, and must not keep the newest change from being found."""
    folder = repo / ".claude/agent-memory-snapshots/main"
    folder.mkdir(parents=True)
    (folder / "ports.md").write_text(
        "---\nname: ports\ndescription: Ports start at 4000\ntype: project\n---\n\nPorts start at 4000.\n"
    )
    (folder / "snapshot.json").write_text('{"updatedAt": "2026-11-01T10:00:00Z"}\n')
    git("-C", repo, "add", ".")
    git("-C", repo, "commit", "-q", "-m", "Snapshot")
    gitmem("init", "-y")
    assert "ports" in gitmem("list").out
    gitmem("remember", "Run the linter before every push.", "--name", "lint")
    assert "Remember lint" in gitmem("undo").out
    assert gitmem("undo", ok=False).code == 1
    assert "ports" in gitmem("list").out


def test_undo_passes_over_what_gitmem_tells_git(gitmem: Gitmem, repo: Path, git, tmp_path: Path) -> None:
    """The newest commit after `share` says how to merge: taken back, it would be made again at once."""
    git("init", "-q", "--bare", tmp_path / "hub.git")
    git("-C", repo, "remote", "add", "origin", tmp_path / "hub.git")
    git("-C", repo, "push", "-q", "origin", "HEAD")
    gitmem("init", "-y")
    gitmem("remember", "Ports start at 4000.", "--name", "ports", "--scope", "project")
    gitmem("share", "-y")
    told = next(one for one in gitmem("log", "--json").json if one["subject"].startswith("Tell git"))
    assert (told["op"], told["writer"]) == ("sync", "sync")
    said = gitmem("undo")
    assert "Remember ports" in said.out and f"left alone: {told['commit'][:12]} Tell git" in said.err


def test_undo_leaves_the_line_that_an_adopted_memory_got_with_the_change(gitmem, repo) -> None:
    """Adopted without an index, it is named by the first one that is made; without it no agent sees it."""
    folder = repo / ".claude/agent-memory/reviewer"
    folder.mkdir(parents=True)
    said = (
        "---\nname: ports\ndescription: Ports start at 4000\ntype: project\n---\n\nPorts start at 4000.\n"
    )
    (folder / "ports.md").write_text(said)
    gitmem("init", "-y")
    gitmem("remember", "A word on lint.", "--scope", "project", "--agent", "reviewer")
    gitmem("undo")
    assert (folder / "MEMORY.md").read_text() == "- [ports](ports.md) — Ports start at 4000\n"


def test_undo_passes_over_a_line_that_gitmem_gave_a_memory(gitmem: Gitmem, repo: Path) -> None:
    """A memory that no line of the index names gets one with the next write: taken back, it would again."""
    gitmem("init", "-y")
    for name in ("ports", "lint"):
        gitmem(
            "remember", f"A word on {name}.", "--name", name, "--scope", "project", "--agent", "reviewer"
        )
    folder = repo / ".claude/agent-memory/reviewer"
    folder.mkdir(parents=True, exist_ok=True)
    gitmem("save")
    listed = folder / "MEMORY.md"
    listed.write_text("".join(line for line in listed.read_text().splitlines(True) if "lint" not in line))
    gitmem("save")
    gitmem("save")
    assert "lint" in listed.read_text()
    assert "Remember lint" in gitmem("undo").out
