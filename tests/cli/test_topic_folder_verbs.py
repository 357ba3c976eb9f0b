"""Memories in folders of a person's own, on the command line; and agents that have an index alone."""

from __future__ import annotations

import pytest
from cli_ground import Ground, memory
from memory_files import proposed

from gitmem.core.names import archive_path
from gitmem.git.repository import Signature
from gitmem.ledger.suggestions import AGENT, propose, suggest


def test_they_are_listed_shown_and_found_by_their_path(ground: Ground) -> None:
    ground.learn(
        {
            "reviewer/topics/deep.md": memory("sockets", "The socket is at /run/x.sock."),
            "reviewer/other/deep.md": memory("windows", "The window is five seconds."),
        }
    )
    rows = ground.run("list", "--json").json
    assert sorted(row["file"] for row in rows) == ["other/deep.md", "topics/deep.md"]
    for name in ("topics/deep", "topics/deep.md", "reviewer/topics/deep", "project/reviewer/topics/deep"):
        assert "/run/x.sock" in ground.run("show", name).out
    assert "project/reviewer/topics/deep" in ground.run("show", "deep", code=2).err
    assert (
        "no memory named 'reviewer/topics/none'" in ground.run("show", "reviewer/topics/none", code=2).err
    )
    assert "/run/x.sock" in ground.run("recall", "where is the socket").out
    assert "sock" in ground.run("blame", "topics/deep").out


@pytest.mark.parametrize("asked", ["project/reviewer/deep", "reviewer/deep", "reviewer/deep.md"])
def test_an_address_names_one_memory_and_forgets_no_namesake_once_that_is_gone(ground, asked: str) -> None:
    files = {"reviewer/deep.md": memory("deep"), "reviewer/topics/deep.md": memory("deep", "Another.")}
    ground.learn(files)
    assert "The deep fact." in ground.run("show", asked).out
    assert "names 2 memories" in ground.run("show", "deep", code=2).err
    ground.run("forget", asked)
    ran = ground.run("forget", asked, code=2)
    assert f"no memory named {asked!r}" in ran.err
    assert "Did you mean: project/reviewer/topics/deep?" in ran.err
    assert "reviewer/deep.md" not in ground.tree()
    assert ground.tree()["reviewer/topics/deep.md"] == files["reviewer/topics/deep.md"]


def test_a_name_is_of_every_folder_where_it_is_forgotten_everywhere(ground: Ground) -> None:
    ground.learn(
        {"reviewer/deep.md": memory("deep"), "reviewer/topics/deep.md": memory("deep", "Another.")}
    )
    ground.run("forget", "--everywhere", "deep")
    assert [path for path in ground.tree() if path.endswith("deep.md")] == []


def test_what_changes_memory_takes_no_beginning_of_a_name(ground: Ground) -> None:
    ground.learn({"reviewer/cee-long.md": memory("cee-long")})
    before = ground.tip()
    for line in (
        "forget cee",
        "forget --everywhere cee",
        "move --to user cee",
        "restore cee",
        "demote cee",
    ):
        ran = ground.run(*line.split(), code=2)
        assert "no memory named 'cee'" in ran.err and "cee-long" in ran.err, line
        assert ground.tip() == before, line


def test_one_that_is_gone_comes_back_where_it_was(ground: Ground) -> None:
    ground.learn({"reviewer/topics/deep.md": memory("deep"), "reviewer/deeper.md": memory("deeper")})
    for name in ("topics/deep", "reviewer/topics/deep", "deep"):
        ground.run("forget", "topics/deep")
        assert "reviewer/topics/deep.md" not in ground.tree()
        ground.run("restore", name)
        assert "reviewer/topics/deep.md" in ground.tree()


def test_a_memory_is_remembered_anew_where_it_is(ground: Ground) -> None:
    ground.learn({"main/topics/deep.md": memory("deep")})
    ground.run("remember", "--type", "project", "--scope", "project", "--name", "deep", "The port is 9090.")
    assert [path for path in ground.tree() if "deep" in path] == ["main/topics/deep.md"]


def test_an_index_alone_is_no_empty_agent(ground: Ground) -> None:
    ground.learn({"only/MEMORY.md": "# Notes\n\n- Always run the tests with -x.\n"})
    seen = ground.run("list")
    assert (
        "the index of project/only, which is all it has: git mem blame project/only/MEMORY.md" in seen.err
    )
    assert "only an index alone" in ground.run("status").out
    assert "Always run" in ground.run("blame", "project/only/MEMORY.md").out
    assert ground.run("list", "--json").json == []


def test_the_line_of_an_archived_one_goes_with_it_and_no_other(ground: Ground) -> None:
    ground.learn(
        {
            "reviewer/deep.md": memory("deep"),
            f"reviewer/{archive_path('topics/deep.md')}": memory("sockets"),
            "reviewer/MEMORY.md": "- [deep](deep.md) — argued about for a week\n"
            "- [sockets](topics/deep.md) — seen on every host\n",
        }
    )
    ground.run("forget", "topics/deep")
    assert ground.tree()["reviewer/MEMORY.md"] == "- [deep](deep.md) — argued about for a week\n"


def test_an_archived_one_is_moved_to_its_folder(ground: Ground) -> None:
    ground.learn({f"reviewer/{archive_path('topics/deep.md')}": memory("sockets")})
    ground.run("move", "topics/deep", "--to", "local")
    (row,) = ground.run("list", "--scope", "local", "--json").json
    assert row["file"] == "topics/deep.md"


def test_an_agent_that_asks_to_forget_one_forgets_no_other_of_that_file_name(ground: Ground) -> None:
    ground.learn({"reviewer/deep.md": memory("deep"), "reviewer/topics/deep.md": memory("sockets")})
    asked = proposed("sockets", op="delete", body="", asked=True, agent="reviewer", file="topics/deep.md")
    who = Signature("Ann", "ann@example.com", ground.now)
    waits = suggest(asked, "project", "2026-11-20T10:00:00Z", AGENT)
    (made,) = propose(ground.workspace, [waits], who)
    ground.run("review", "accept", made.id)
    assert "reviewer/deep.md" in ground.tree() and "reviewer/topics/deep.md" not in ground.tree()
