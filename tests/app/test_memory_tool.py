"""The memory tool's commands on a scope's ref: words, refusals, the account in git, and writers at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from ran import Gitmem
from workspaces import begun

from gitmem.app.context import real_edges
from gitmem.core.names import archive_path
from gitmem.core.trailers import parse
from gitmem.flows.context import initialised_at
from gitmem.git.refs import move_ref
from gitmem.git.repository import BLOB, LINK, TREE, Signature, TreeEntry
from gitmem.git.trees import list_files, read_file
from gitmem.ledger.land import Tip, Write, land, read_tip
from gitmem.ledger.layout import auto_memory
from gitmem.memory_tool import commands
from gitmem.memory_tool.commands import CommandError
from gitmem.memory_tool.tool import Backend

ANN = Signature("Ann", "ann@example.com", 1_795_000_000)
MEMORY = (
    "---\nname: no-mocks\ndescription: Use the real database\ntype: feedback\n---\n\n"
    "Tests use the real database.\n\n**Why:** A mock hid a broken migration.\n"
)
HEAD = "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:\n"
KEY = "ghp_0123456789abcdefghijABCDEFGHIJ012345"

Open = Callable[..., Backend]


@pytest.fixture
def opened(repo: Path) -> Open:
    """`opened("local")` gives a backend as a process of its own would."""
    edges = partial(real_edges, repo)
    begun(edges())

    def make(scope: str = "local", agent: str = "main") -> Backend:
        return Backend(initialised_at(edges()), edges, scope, agent, "s-1", "anthropic:m")  # type: ignore[arg-type]

    return make


def files(backend: Backend) -> dict[str, str]:
    scope = backend.scope
    tip = read_tip(scope.repo, scope.ref)
    found = list_files(scope.repo, tip.tree, backend.agent)
    return {path: scope.repo.blob(oid).decode() for path, oid in found.items()}


def told(backend: Backend) -> str:
    """The newest commit's message."""
    tip = backend.scope.repo.ref(backend.scope.ref)
    assert tip is not None
    return backend.scope.repo.commit(tip).message


def test_results_are_worded_as_the_sdks_own(opened: Open) -> None:
    """The model was trained on these sentences; the SDK's tests pin them, and these stand in for them."""
    tool = opened()
    assert tool.view("/memories") == f"{HEAD}0B\t/memories"
    assert (
        tool.create("/memories/a.txt", "one\ntwo\nthree\r\n")
        == "File created successfully at: /memories/a.txt"
    )
    assert (
        tool.create("/memories/d/e/f.txt", "x" * 1536)
        == "File created successfully at: /memories/d/e/f.txt"
    )
    assert tool.create("/memories/d.txt", "") == "File created successfully at: /memories/d.txt"
    assert tool.view("/memories") == (
        f"{HEAD}1.5K\t/memories\n15B\t/memories/a.txt\n1.5K\t/memories/d/\n1.5K\t/memories/d/e/\n"
        "0B\t/memories/d.txt"
    )
    assert tool.view("/memories/a.txt") == (
        "Here's the content of /memories/a.txt with line numbers:\n"
        "     1\tone\n     2\ttwo\n     3\tthree\r\n     4\t"
    )
    assert tool.view("/memories/a.txt", [2, -1]).splitlines()[1] == "     2\ttwo"
    assert tool.view("/memories/a.txt", [0, 1]).endswith(":\n     1\tone")
    assert tool.str_replace("/memories/a.txt", "two", "2\n2b") == (
        "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
        "     1\tone\n     2\t2\n     3\t2b\n     4\tthree\r"
    )
    assert tool.insert("/memories/a.txt", 4, "four\n\n") == "The file /memories/a.txt has been edited."
    assert files(tool)["main/a.txt"] == "one\n2\n2b\nthree\r\nfour\n"
    assert (
        tool.rename("/memories/d", "/memories/g/h") == "Successfully renamed /memories/d to /memories/g/h"
    )
    assert files(tool).keys() == {"main/a.txt", "main/d.txt", "main/g/h/e/f.txt"}
    assert tool.delete("/memories/g/") == "Successfully deleted /memories/g/"
    assert tool.clear() == "All memory cleared"
    assert files(tool) == {}


ERRORS: list[tuple[str, tuple[object, ...], str]] = [
    ("view", ("/memories/no",), "The path /memories/no does not exist. Please provide a valid path."),
    ("view", ("/etc/passwd",), "Path must start with /memories, got: /etc/passwd"),
    ("create", ("/memories/a.txt", ""), "File /memories/a.txt already exists"),
    ("create", ("/memories", ""), "File /memories already exists"),
    (
        "str_replace",
        ("/memories/a.txt", "no", "x"),
        "No replacement was performed, old_str `no` did not appear verbatim in /memories/a.txt.",
    ),
    (
        "str_replace",
        ("/memories/a.txt", "aa", "x"),
        "No replacement was performed. Multiple occurrences of old_str `aa` in lines: 1, 1, 2. "
        "Please ensure it is unique",
    ),
    ("str_replace", ("/memories/d", "a", "x"), "The path /memories/d is not a file."),
    (
        "str_replace",
        ("/memories/no", "a", "x"),
        "The path /memories/no does not exist. Please provide a valid path.",
    ),
    (
        "insert",
        ("/memories/a.txt", 3, "x"),
        "Invalid `insert_line` parameter: 3. It should be within the range [0, 2].",
    ),
    ("delete", ("/memories/no",), "The path /memories/no does not exist"),
    ("delete", ("/memories/d/..",), "Cannot delete the /memories directory itself"),
    ("rename", ("/memories/", "/memories/x"), "Cannot rename the /memories directory itself"),
    ("rename", ("/memories/no", "/memories/x"), "The path /memories/no does not exist"),
    ("rename", ("/memories/a.txt", "/memories/d"), "The destination /memories/d already exists"),
    # From here on the SDK's backend would do it, or fail without a word for the model.
    ("view", ("/memoriesEVIL/x",), "Path must start with /memories, got: /memoriesEVIL/x"),
    ("create", ("/memories/../x", ""), "Path /memories/../x would escape /memories directory"),
    ("create", ("/memories/%2e%2e%2fx", ""), "Path /memories/%2e%2e%2fx would escape /memories directory"),
    ("view", ("/memories/link/x",), "Path /memories/link/x would escape /memories directory"),
    ("create", ("/memories/link/x", ""), "Path /memories/link/x would escape /memories directory"),
    ("delete", ("/memories/link",), "Path /memories/link would escape /memories directory"),
    ("create", ("/memories/a\x1b[2J", ""), "a\\x1b[2J cannot be used: the part"),
    ("create", ("/memories/a.txt/b", ""), "The path /memories/a.txt is not a directory."),
    ("create", ("/memories/.tombstones", ""), "names that start with a dot are hidden"),
    ("view", ("/memories/.tombstones",), "does not exist. Please provide a valid path."),
    ("delete", ("/memories/.tombstones",), "The path /memories/.tombstones does not exist"),
    ("create", ("/memories/memory.md", ""), "the index is /memories/MEMORY.md"),
    ("create", ("/memories/archive/x.md", ""), "holds what was paged out"),
    ("view", ("/memories/archive",), "does not exist. Please provide a valid path."),
    ("delete", ("/memories/MEMORY.md",), "the index goes with the files that it lists"),
    ("rename", ("/memories/d", "/memories/d/x"), "Cannot move /memories/d into itself"),
    ("create", ("/memories/b.txt", "x" * 102_401), "102,400 are the most"),
    ("create", ("/memories/b.txt", "a\0b"), "`file_text` holds a null character"),
    ("create", ("/memories/b.txt", "\ud800"), "is not valid Unicode"),
    ("create", ("/memories/b.txt", f"token {KEY}"), "it holds a secret (github-pat): token [github-pat]"),
    ("create", (f"/memories/{KEY}.txt", ""), "holds a secret"),
    ("str_replace", ("/memories/a.txt", "", "x"), "old_str `` did not appear verbatim"),
]


def test_errors_say_what_is_wrong_and_change_nothing(stored: Backend) -> None:
    """What is hidden or set aside is not listed, either."""
    before = stored.scope.repo.ref(stored.scope.ref)
    for command, given, said in ERRORS:
        with pytest.raises(CommandError) as refused:
            getattr(stored, command)(*given)
        assert said in str(refused.value), (command, given)
        assert KEY not in str(refused.value)
    assert stored.scope.repo.ref(stored.scope.ref) == before
    listed = [line.partition("\t")[2] for line in stored.view("/memories").splitlines()[2:]]
    assert listed == ["/memories/MEMORY.md", "/memories/a.txt", "/memories/d/", "/memories/d/b.txt"]


@pytest.fixture
def stored(opened: Open) -> Backend:
    """Two files, the index, tombstones, what was paged out, and a link that leads out."""
    tool = opened()
    tool.create("/memories/a.txt", "aaa\naa\n")
    tool.create("/memories/d/b.txt", "b\n")
    scope = tool.scope
    tip = read_tip(scope.repo, scope.ref)
    with scope.repo.together():
        main = scope.repo.entry(tip.tree, "main")
        assert main is not None
        empty, outside = scope.repo.add_blob(b""), scope.repo.add_blob(b"/etc")
        paged = scope.repo.add_tree({"old.md": TreeEntry(BLOB, scope.repo.add_blob(b"Old but true.\n"))})
        folder = scope.repo.add_tree(
            {
                **scope.repo.tree(main.oid),
                "link": TreeEntry(LINK, outside),
                ".tombstones": TreeEntry(BLOB, empty),
                "MEMORY.md": TreeEntry(BLOB, empty),
                "archive": TreeEntry(
                    TREE,
                    scope.repo.add_tree({archive_path("old.md").split("/")[1]: TreeEntry(TREE, paged)}),
                ),
            }
        )
        tree = scope.repo.add_tree({**scope.repo.tree(tip.tree), "main": TreeEntry(TREE, folder)})
        made = scope.repo.add_commit(tree, (tip.commit,), ANN, ANN, "As others may write it\n")
    move_ref(scope.repo, scope.ref, made, tip.commit, "test")
    return tool


def test_what_was_paged_out_is_read_under_its_old_path_and_comes_back_with_an_edit(stored: Backend) -> None:
    assert stored.view("/memories/old.md").endswith("     1\tOld but true.\n     2\t")
    with pytest.raises(CommandError, match="already exists"):
        stored.create("/memories/old.md", "new")
    stored.str_replace("/memories/old.md", "but", "and")
    found = files(stored)
    assert found["main/old.md"] == "Old and true.\n"
    assert f"main/{archive_path('old.md')}" not in found
    assert found["main/MEMORY.md"] == "- [old](old.md)\n"


def test_a_memory_is_kept_in_the_index_and_every_claim_in_the_account(opened: Open, gitmem: Gitmem) -> None:
    """What a model deletes is on record claim by claim, and one command brings it back."""
    tool = opened()
    tool.create("/memories/no-mocks.md", MEMORY)
    assert files(tool)["main/MEMORY.md"] == "- [no-mocks](no-mocks.md) — Use the real database\n"
    first = parse(told(tool))
    assert (first.op, first.writer, first.session, first.engine) == ("add", "agent", "s-1", "anthropic:m")
    assert "\n\nmemory_20250818: create /memories/no-mocks.md\n" in told(tool)

    tool.str_replace("/memories/no-mocks.md", "description: Use the real", "description: Test on the real")
    assert files(tool)["main/MEMORY.md"] == "- [no-mocks](no-mocks.md) — Test on the real database\n"

    tool.rename("/memories/no-mocks.md", "/memories/real-db.md")
    assert files(tool)["main/MEMORY.md"] == "- [no-mocks](real-db.md) — Test on the real database\n"
    fates = parse(told(tool)).claims
    assert [(fate.kind, fate.target.partition("#")[0]) for fate in fates] == [
        ("kept", "main/real-db.md")
    ] * 3

    tool.delete("/memories/real-db.md")
    assert files(tool) == {"main/MEMORY.md": ""}
    assert told(tool).startswith("Delete real-db.md\n")
    fates = parse(told(tool)).claims
    assert [(fate.kind, fate.source.partition("#")[0]) for fate in fates] == [
        ("dropped", "main/real-db.md")
    ] * 3
    assert all(fate.reason == "delete /memories/real-db.md, by the memory tool" for fate in fates)

    gitmem("undo")
    assert "main/real-db.md" in files(tool)
    assert "no-mocks" in gitmem("list").out


def test_nothing_but_the_ref_is_touched(opened: Open, repo: Path, home: Path, gitmem: Gitmem) -> None:
    def seen() -> dict[str, bytes]:
        tops = (repo, home / ".claude")
        paths = [path for top in tops for path in top.rglob("*") if path.is_file()]
        return {str(path): path.read_bytes() for path in paths if "/.git/gitmem/" not in str(path)}

    tool, before = opened(), seen()
    tool.create("/memories/no-mocks.md", MEMORY)
    assert seen() == before
    folder = auto_memory(tool.workspace)
    assert folder is not None
    folder.mkdir(parents=True)
    gitmem("save")
    assert (folder / "no-mocks.md").read_text() == MEMORY


def test_what_a_person_had_forgotten_stays_forgotten(opened: Open, gitmem: Gitmem) -> None:
    """Only a person lifts a tombstone; the model is told, and may well be right to ask them."""
    tool = opened()
    tool.create("/memories/no-mocks.md", MEMORY)
    gitmem("forget", "no-mocks")
    with pytest.raises(CommandError, match=r"asked for this to be forgotten.*Tests use the real database"):
        opened().create("/memories/testing.md", "# Tests\n\nTests use the real database.\n")


def test_a_command_is_planned_again_where_another_writer_was_first(opened: Open, monkeypatch) -> None:
    tool, other = opened(), opened()
    tool.create("/memories/a.txt", "one\n")
    planned = commands.insert

    def late(folder: object, *given: object) -> object:
        found = planned(folder, *given)  # type: ignore[arg-type]
        monkeypatch.setattr(commands, "insert", planned)
        other.insert("/memories/a.txt", 1, "theirs")
        return found

    monkeypatch.setattr(commands, "insert", late)
    tool.insert("/memories/a.txt", 0, "mine")
    assert files(tool)["main/a.txt"] == "mine\none\ntheirs\n"


def test_writers_at_once_lose_nothing(opened: Open) -> None:
    tools = [opened() for _ in range(3)]

    def write(tool: Backend, who: int) -> None:
        for number in range(4):
            tool.create(f"/memories/{who}-{number}.md", f"Fact {number} of {who}.\n")

    threads = [threading.Thread(target=write, args=(tool, who)) for who, tool in enumerate(tools)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = files(tools[0])
    assert len(found) == 13
    assert found["main/MEMORY.md"].count("\n") == 12


def test_a_teams_memory_changes_through_review_and_the_model_is_told(opened: Open, gitmem: Gitmem) -> None:
    tool = opened("project")
    said = tool.create("/memories/no-mocks.md", MEMORY)
    assert said.startswith("Suggested as s-") and "not stored yet" in said
    with pytest.raises(CommandError, match="does not exist"):
        tool.view("/memories/no-mocks.md")
    (waiting,) = gitmem("review", "--json").json
    gitmem("review", "accept", waiting["id"])
    assert "Tests use the real database." in tool.view("/memories/no-mocks.md")

    edit = tool.str_replace("/memories/no-mocks.md", "A mock hid", "Twice a mock hid")
    assert edit.startswith("Suggested as s-")
    assert "Twice" not in tool.view("/memories/no-mocks.md")
    gitmem("review", "accept", gitmem("review", "--json").json[0]["id"])
    assert "Twice a mock hid" in tool.view("/memories/no-mocks.md")

    tool.create("/memories/other.md", "Deploy on Fridays only.\n")
    gitmem("review", "reject", gitmem("review", "--json").json[0]["id"])
    with pytest.raises(CommandError, match="a person rejected this before"):
        tool.create("/memories/again.md", "Deploy on Fridays only.\n")

    for refused in (
        partial(tool.create, "/memories/notes.txt", "x"),
        partial(tool.rename, "/memories/no-mocks.md", "/memories/x.md"),
        partial(tool.str_replace, "/memories/MEMORY.md", "[no-mocks]", "x"),
        tool.clear,
    ):
        with pytest.raises(CommandError, match="changed through review"):
            refused()
    with pytest.raises(CommandError, match="holds a secret"):
        tool.create("/memories/key.md", f"The key is {KEY}.\n")


def test_the_oldest_leave_the_hot_set_when_a_new_one_comes(opened: Open) -> None:
    tool = opened()
    many = {f"main/m{number:03}.md": b"Fact.\n" for number in range(200)}
    scope = tool.scope

    def add(tip: Tip) -> Write:
        from gitmem.core.trailers import Provenance

        return Write(many, "Many", Provenance(op="add"))

    land(scope, add, ANN)
    tool.create("/memories/new.md", "New.\n")
    tip = read_tip(scope.repo, scope.ref)
    assert read_file(scope.repo, tip.tree, f"main/{archive_path('m000.md')}") == b"Fact.\n"
    assert tool.view("/memories/m000.md").endswith("Fact.\n     2\t")
