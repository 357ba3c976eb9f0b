"""What a look reads: nothing that is not shown, and nothing twice; with a catalog or without it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest
from memory_files import ADDED, learned

from gitmem.git.repository import Repository
from gitmem.ledger.holdings import memories, memory_files, taught
from gitmem.ledger.lookup import Ambiguous, age, find, headers
from gitmem.ledger.workspace import Workspace

NOON = 1_795_000_000
HOT = {
    f"main/hot-{n}.md": f"---\nname: Hot {n}\ndescription: d{n}\ntype: project\n---\n\nFact {n}.\n"
    for n in range(6)
}
COLD = {
    f"main/archive/a{n}/cold-{n}.md": f"---\nname: Cold {n}\ndescription: c{n}\n---\n\nOld fact {n}.\n"
    for n in range(6)
}


class Counting:
    """A repository that tells which blobs and trees were read."""

    def __init__(self, repo: Repository) -> None:
        self._repo = repo
        self.opened: list[str] = []
        self.trees: list[str] = []

    def blob(self, oid: str) -> bytes:
        self.opened.append(oid)
        return self._repo.blob(oid)

    def read_blobs(self, oids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        self.opened += oids
        return self._repo.read_blobs(oids)

    def tree(self, oid: str) -> object:
        self.trees.append(oid)
        return self._repo.tree(oid)

    def __getattr__(self, name: str) -> object:
        return getattr(self._repo, name)

    @property
    def memory(self) -> str:
        """The tip of the project's memory."""
        tip = self._repo.ref("refs/gitmem/project")
        assert tip is not None
        return tip


Learn = Callable[..., str]


@pytest.fixture
def learn(workspace: Workspace) -> Learn:
    clock = {"now": NOON}

    def do(files: dict[str, str | None], scope: str = "project", **told: str) -> str:
        clock["now"] += 86_400
        where, by = workspace.scope(scope), replace(ADDED, **told)  # type: ignore[arg-type]
        return learned(where, files, clock["now"], told=by).commit

    return do


@pytest.fixture
def counting(workspace: Workspace, learn: Learn) -> Counting:
    """The code repository with six memories in use and six archived."""
    learn(dict(COLD))
    learn(dict(HOT))
    counted = Counting(workspace.code)
    workspace.code = counted  # type: ignore[assignment]
    return counted


def test_a_list_opens_no_archived_memory_and_no_memory_twice(workspace, counting: Counting) -> None:
    shown = headers(workspace)
    assert [header.name for header in shown] == [f"Hot {n}" for n in range(6)]
    hot = set(memory_files(workspace.code, counting.memory, archived=False)["main"].values())
    assert len(hot) == 6 and set(counting.opened) == hot
    counting.opened.clear()
    assert headers(workspace) == shown and counting.opened == []


def test_a_list_of_an_agent_enters_no_archive(workspace: Workspace, counting: Counting) -> None:
    headers(workspace)  # the first walk over the history
    counting.trees.clear()
    headers(workspace)
    tree = workspace.code.commit(counting.memory).tree
    main = workspace.code.entry(tree, "main")
    assert main is not None and set(counting.trees) == {tree, main.oid}


def test_a_show_opens_the_one_memory(workspace: Workspace, counting: Counting) -> None:
    find(workspace, "cold-3")
    counting.opened.clear()
    found = find(workspace, "Cold 3")
    assert found.memory.description == "c3" and counting.opened == [found.blob]
    assert found.archived and found.address == "project/main/cold-3"


def test_a_title_that_is_anothers_file_name_is_ambiguous(workspace: Workspace, learn: Learn) -> None:
    """Also where it is archived, and whether or not the catalog knows it."""
    learn({"main/ports.md": HOT["main/hot-1.md"]})
    learn({"main/archive/ab/other.md": "---\nname: Ports\n---\n\nx\n"}, scope="user")
    for _ in range(2):
        with pytest.raises(Ambiguous, match="project/main/ports, user/main/other"):
            find(workspace, "ports")


def test_a_look_at_any_revision_is_the_same_without_a_catalog(workspace, counting, learn: Learn) -> None:
    learn({"main/hot-1.md": HOT["main/hot-1.md"].replace("Fact", "New fact")})
    learn({"main/hot-2.md": None, "main/archive/a2/hot-2.md": HOT["main/hot-2.md"]}, op="page")
    learn({"main/hot-1.md": HOT["main/hot-1.md"], "main/plain.md": "No frontmatter.\n"})
    learn({"main/tone.md": HOT["main/hot-3.md"]}, scope="user")

    def look() -> list[object]:
        return [
            headers(workspace, at=at, archived=archived, now=NOON)
            for at in (None, "~1", "~3")
            for archived in (True, False)
        ]

    warm = [look(), look()]
    for state in (workspace.state, workspace.private_state):
        (state / "catalog.sqlite").unlink()
    cold = look()
    shutil.rmtree(workspace.state)
    workspace.state.write_text("a file where the folder should be\n")
    without = look()
    assert warm == [cold, cold] and without == cold
    assert any(header.time != NOON for header in headers(workspace))


def test_ages_of_an_agent_are_those_of_the_list(workspace: Workspace, counting: Counting) -> None:
    scope, tip = workspace.scope("project"), counting.memory
    known = {header.file: header.time for header in headers(workspace)}
    assert taught(scope, tip, "main") == known
    assert len(taught(scope, tip, "main", archived=True)) == 12
    assert taught(scope, tip, "nobody") == {}
    found = find(workspace, "cold-1")
    assert age(workspace, found.spot) == NOON + 86_400


def test_a_missing_memory_is_told_apart(workspace: Workspace, learn: Learn) -> None:
    """The others are listed."""
    tip = learn({"main/gone.md": "gone\n", "main/here.md": "here\n"})
    scope = workspace.scope("project")
    oid = memory_files(scope.repo, tip)["main"]["gone.md"]
    (scope.repo.git_dir / "objects" / oid[:2] / oid[2:]).unlink()
    assert [header.file for header in headers(workspace)] == ["here.md"]
    gone, here = memories(scope, tip)["main"]
    assert (gone.blob, gone.head) == (oid, None) and here.head is not None


def test_a_folder_of_the_archive_that_did_not_change_is_not_read_again(workspace, counting, learn) -> None:
    headers(workspace, archived=True)
    learn({"main/hot-1.md": HOT["main/hot-1.md"].replace("Fact", "New fact")})
    repo, tip = workspace.code, counting.memory
    archive = repo.entry(repo.commit(tip).tree, "main/archive")
    assert archive is not None
    shards = {entry.oid for entry in repo.tree(archive.oid).values()}
    cold = set(memory_files(repo, tip)["main"].values()) - set(
        memory_files(repo, tip, archived=False)["main"].values()
    )
    counting.trees.clear()
    counting.opened.clear()
    assert len(headers(workspace, archived=True)) == 12
    assert shards and not shards & set(counting.trees) and cold and not cold & set(counting.opened)
