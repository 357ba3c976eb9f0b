"""restore NAME without --at: what is gone comes back as it last was, what is archived comes back hot."""

from __future__ import annotations

import pytest
from cli_ground import Ground, memory
from once import Once

from gitmem.core.names import archive_path

ENTRY = "- [ports](ports.md) — About ports\n"


@pytest.fixture
def taught(ground: Ground, once: Once[int]) -> Ground:
    """A reviewer's live directory with one memory, saved twice."""

    def make() -> int:
        for text in ("Port 8080 is taken.", "Port 9090 is taken."):
            (ground.folder() / "ports.md").write_text(memory("ports", text))
            (ground.folder() / "MEMORY.md").write_text(ENTRY)
            ground.run("save")
        return ground.now

    ground.now = once("taught", make)
    ground.tick(0)
    return ground


def test_a_forgotten_memory_comes_back_as_it_last_was_and_goes_again_by_an_undo(taught: Ground) -> None:
    before = taught.tree()
    taught.run("forget", "ports")
    forgotten, tip = taught.tree(), taught.tip()
    assert "reviewer/.tombstones" in forgotten
    assert "would restore ports in project" in taught.run("restore", "ports", "-n").out
    taught.run("restore", "ports", "--to", "out")
    assert (taught.repo / "out/ports.md").read_text() == memory("ports", "Port 9090 is taken.")
    assert taught.tip() == tip, "a dry run and a folder leave memory alone"
    ran = taught.run("restore", "ports")
    assert ran.out.startswith("restored ports in project as of ")
    assert ran.err == f"undo: git mem undo {taught.tip()[:12]}\n"
    assert taught.tree() == before
    assert (taught.folder() / "ports.md").read_text() == memory("ports", "Port 9090 is taken.")
    assert taught.run("save").err == "nothing to save\n"
    taught.run("undo", taught.tip())
    assert taught.tree() == forgotten and not (taught.folder() / "ports.md").exists()


@pytest.mark.parametrize("saved", [False, True])
def test_a_deleted_memory_comes_back_and_none_whose_name_begins_like_it(
    taught: Ground, saved: bool
) -> None:
    (taught.folder() / "ports-of-ships.md").write_text(memory("ports-of-ships"))
    (taught.folder() / "ports.md").unlink()
    if saved:
        taught.run("save")
    taught.run("restore", "ports")
    assert "Port 9090" in (taught.folder() / "ports.md").read_text()


@pytest.mark.parametrize("asked", ["local/rev/deploy", "rev/deploy"])
def test_a_namesake_in_a_folder_keeps_no_address_from_coming_back(ground: Ground, asked: str) -> None:
    files = {"rev/deploy.md": memory("deploy"), "rev/api/deploy.md": memory("deploy", "Another.")}
    ground.learn(files, "local")
    ground.run("forget", "local/rev/deploy")
    assert "restored deploy in local" in ground.run("restore", asked).out
    assert ground.tree("local")["rev/deploy.md"] == files["rev/deploy.md"]


def test_a_memory_forgotten_in_the_archive_comes_back_hot(taught: Ground) -> None:
    taught.learn({f"reviewer/{archive_path('old.md')}": memory("old", "An old fact.")})
    taught.run("forget", "old")
    taught.run("restore", "old")
    assert "reviewer/old.md" in taught.tree() and "reviewer/.tombstones" not in taught.tree()


def test_a_memory_that_is_there_says_so_and_one_that_never_was_is_a_usage_error(taught: Ground) -> None:
    before = taught.tip()
    ran = taught.run("restore", "ports")
    assert ran.err == "nothing to restore: it is here, and unchanged\n" and taught.tip() == before
    assert taught.run("restore", "ports", "--json").json[0]["commit"] == ""
    assert "no memory named 'nope'" in taught.run("restore", "nope", code=2).err
    for verb in ("log", "restore"):  # where no memory can stand
        assert "no memory named" in taught.run(verb, "project/reviewer/logs/notes", code=2).err, verb


def test_several_that_are_gone_are_listed(taught: Ground) -> None:
    taught.learn({"main/ports.md": memory("ports")}, "local")
    taught.learn({"main/ports.md": None}, "local")
    taught.run("forget", "ports")
    ran = taught.run("restore", "ports", code=2)
    assert "project/reviewer/ports, local/main/ports" in ran.err
    taught.run("restore", "local/main/ports")
    assert "main/ports.md" in taught.tree("local") and "reviewer/ports.md" not in taught.tree()
