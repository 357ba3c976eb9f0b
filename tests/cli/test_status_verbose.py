"""`status -v` and its JSON: each scope's ref, head and counts, against whom, and what is over a limit."""

from __future__ import annotations

from pathlib import Path

from cli_ground import Ground, memory

from gitmem.core.limits import INDEX_LINES

SCOPE_KEYS = [
    *("scope", "ref", "head", "memories", "hot", "archived", "logs", "index_only", "set_aside"),
    *("upstream", "over", "unreadable"),
]


def scope(ground: Ground, name: str = "project") -> dict:  # type: ignore[type-arg]
    (found,) = [one for one in ground.run("status", "--json").json["scopes"] if one["scope"] == name]
    return found


def test_each_scope_shows_ref_head_counts_and_folders(ground: Ground) -> None:
    folder = ground.folder()
    ground.learn({"main/archive/ab/old.md": memory("old"), "reviewer/ports.md": memory("ports")})
    ground.learn({"main/tone.md": memory("tone", type="user")}, "user")
    tip, user = ground.tip(), ground.tip("user")
    shown = ground.run("status", "-v").out
    assert "  project  main 0 and 1 archived, reviewer 1\n" in shown
    assert f"           refs/gitmem/project {tip[:12]}\n           1 in use, 1 archived\n" in shown
    assert f"           refs/heads/user {user[:12]}\n           1 in use, 0 archived\n" in shown
    assert "  local    nothing yet\n" in shown and "(none yet)" in shown
    assert f"project/reviewer is laid out in {folder}" in shown
    assert tip[:12] not in ground.run("status").out


def test_the_json_of_a_scope_has_a_stable_shape(ground: Ground) -> None:
    ground.learn({"main/archive/ab/old.md": memory("old"), "reviewer/ports.md": memory("ports")})
    asked = ground.run("status", "--json").json
    assert [list(one) for one in asked["scopes"]] == [SCOPE_KEYS] * 3
    assert asked["scopes"][0] == {
        "scope": "project",
        "ref": "refs/gitmem/project",
        "head": ground.tip(),
        "memories": {"main": 1, "reviewer": 1},
        "hot": {"reviewer": 1},
        "archived": {"main": 1},
        "logs": 0,
        "index_only": [],
        "set_aside": {},
        "upstream": None,
        "over": [],
        "unreadable": {},
    }
    assert asked == ground.run("status", "-v", "--json").json


def test_what_is_over_a_limit_is_named_with_its_agent(ground: Ground) -> None:
    lines = "".join(f"- [M {n}](m{n}.md) — {'x' * 130}\n" for n in range(INDEX_LINES + 1))
    many = {f"reviewer/m{n}.md": memory(f"m{n}") for n in range(201)}
    ground.learn({"reviewer/MEMORY.md": lines, "main/large.md": memory("large", "x" * 110_000), **many})
    over = {(one["agent"], one["what"]): one for one in scope(ground)["over"]}
    assert over.keys() == {
        ("reviewer", "index lines"),
        ("reviewer", "index bytes"),
        ("reviewer", "hot memories"),
        ("main", "memory bytes"),
    }
    assert over["reviewer", "hot memories"] == {
        "agent": "reviewer",
        "what": "hot memories",
        "path": "reviewer",
        "count": 201,
        "limit": 200,
    }
    assert over["reviewer", "index lines"]["count"] == 201
    assert over["main", "memory bytes"]["path"] == "main/large.md"
    assert "  4 limits exceeded: git mem status -v\n" in ground.run("status").out
    shown = ground.run("status", "-v").out
    assert "over a limit: reviewer/MEMORY.md: 201 index lines of 200\n" in shown
    assert "status -v" not in shown


def test_unreadable_and_missing_memories_are_named_also_in_the_archive(ground: Ground) -> None:
    tip = ground.learn(
        {
            "main/archive/ab/odd.md": "---\nname: odd\ndescription: a: b\ntype: user\n---\n\nx\n",
            "main/bare.md": "No frontmatter.\n",
            "main/gone.md": "Gone.\n",
        }
    )
    repo = ground.workspace.code
    oid = repo.tree(repo.tree(repo.commit(tip).tree)["main"].oid)["gone.md"].oid
    (repo.git_dir / "objects" / oid[:2] / oid[2:]).unlink()
    for _ in range(2):
        found = scope(ground)["unreadable"]
        assert found["main/archive/ab/odd.md"].startswith("not valid YAML")
        assert found["main/bare.md"] == "no frontmatter"
        assert found["main/gone.md"] == "missing from the repository"
    assert "  3 files hard to read: git mem status -v\n" in ground.run("status").out
    assert "hard to read: main/bare.md: no frontmatter\n" in ground.run("status", "-v").out


def test_project_memory_is_measured_against_the_remote_as_last_fetched(
    ground: Ground,
    tmp_path: Path,
    git,  # type: ignore[no-untyped-def]
) -> None:
    git("init", "-q", "--bare", tmp_path / "remote.git")
    git("-C", ground.repo, "remote", "add", "origin", tmp_path / "remote.git")
    git("-C", ground.repo, "config", "gitmem.share", "direct")
    first = ground.learn({"main/a.md": memory("a")})
    assert scope(ground)["upstream"] is None
    tracking = "refs/remotes/origin/gitmem/project"
    git("-C", ground.repo, "update-ref", tracking, first)
    assert scope(ground)["upstream"] == {"ref": tracking, "head": first, "ahead": 0, "behind": 0}
    assert f"{tracking} {first[:12]}: the same\n" in ground.run("status", "-v").out
    assert "status -v" not in ground.run("status").out
    # What is asked of others is claims alone: an index line that differs is none.
    git("-C", ground.repo, "config", "gitmem.share", "review")
    ground.learn({"main/MEMORY.md": "- [a](a.md) — a\n"})
    assert f"{tracking} {first[:12]}: the same claims\n" in ground.run("status", "-v").out
    git("-C", ground.repo, "update-ref", "refs/heads/gitmem/project", first)
    git("-C", ground.repo, "config", "gitmem.share", "direct")
    second = ground.learn({"main/b.md": memory("b")})
    assert scope(ground)["upstream"] == {"ref": tracking, "head": first, "ahead": 1, "behind": 0}
    git("-C", ground.repo, "update-ref", tracking, second)
    git("-C", ground.repo, "update-ref", "refs/heads/gitmem/project", first)
    ground.learn({"main/c.md": memory("c")})
    assert f"{tracking} {second[:12]}: 1 ahead, 1 behind\n" in ground.run("status", "-v").out
    assert "  project memory 1 ahead, 1 behind: git mem status -v\n" in ground.run("status").out


def test_private_memory_is_measured_against_the_backup_as_last_seen(
    ground: Ground,
    git,  # type: ignore[no-untyped-def]
) -> None:
    first = ground.learn({"main/tone.md": memory("tone")}, "user")
    ground.learn({"main/tone.md": memory("tone", "Shorter.")}, "user")
    private = ground.workspace.private_path
    git("-C", private, "update-ref", "refs/remotes/backup/user", first)
    assert scope(ground, "user")["upstream"] is None
    git("config", "--global", "gitmem.backup", private.parent / "elsewhere.git")
    assert scope(ground, "user")["upstream"] == {
        "ref": "refs/remotes/backup/user",
        "head": first,
        "ahead": 1,
        "behind": 0,
    }
    assert scope(ground, "local")["upstream"] is None
