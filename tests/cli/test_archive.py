"""Commands around the archive: who writes too much pages out, and what was paged out stays in reach."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from cli_ground import HOUR, START, Ground, memory
from memory_files import proposed
from once import Once

from gitmem.core.change import Change
from gitmem.core.errors import RepositoryError
from gitmem.core.limits import HOT_MEMORIES
from gitmem.core.names import archive_path, hot_path
from gitmem.core.trailers import parse
from gitmem.flows import save as saving
from gitmem.flows.suggestions import accept_suggestions
from gitmem.git.by_command import GitRepository
from gitmem.git.repository import Signature
from gitmem.git.trees import list_files
from gitmem.ledger import restore
from gitmem.ledger.apply import apply
from gitmem.ledger.paging import page
from gitmem.ledger.suggestions import open_suggestions, propose, suggest

PAST = 1_700_000_000

OLD = "m000"
LIMIT = 12
"""Hot memories of an agent in most tests; those with the real number take their time."""
ANN = Signature("Ann", "ann@example.com", START)


def names(count: int) -> list[str]:
    return [f"m{number:03}" for number in range(count)]


def entry(name: str) -> str:
    return f"- [{name}]({name}.md) — About {name}\n"


def learn(ground: Ground, count: int, agent: str = "reviewer", scope: str = "project") -> None:
    """As many memories at once, each an hour older than all that come later."""
    files: dict[str, str | None] = {f"{agent}/{name}.md": memory(name) for name in names(count)}
    ground.learn({**files, f"{agent}/MEMORY.md": "".join(map(entry, names(count)))}, scope)


def archived(ground: Ground, scope: str = "project") -> set[str]:
    return {Path(path).stem for path in ground.tree(scope) if hot_path(path)}


def shown(ground: Ground) -> set[str]:
    return {path.stem for path in ground.folder().glob("*.md")} - {"MEMORY"}


@pytest.fixture
def small(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> Ground:
    """A repository in which few memories are hot."""
    monkeypatch.setattr(saving, "page", partial(page, limit=LIMIT))
    monkeypatch.setattr(restore, "HOT_MEMORIES", LIMIT)
    return ground


@pytest.fixture
def full(small: Ground, once: Once[int]) -> Ground:
    """A reviewer whose hot set is full, and whose oldest memory was paged out."""

    def make() -> int:
        learn(small, LIMIT + 1)
        small.folder()
        small.run("save")
        return small.now

    small.now = once("full", make)
    small.tick(0)
    small.patch.delenv("GITMEM_DISABLE")
    assert archived(small) == {OLD} and len(shown(small)) == LIMIT
    return small


def test_who_writes_too_much_pages_out_the_oldest_and_says_so(full: Ground) -> None:
    """That itself is not undone, as the next writer would page the same memory out again."""
    (full.folder() / "new.md").write_text(memory("new"))
    said = full.run("save")
    assert "Page 1 memory of reviewer to the archive" in said.out
    assert said.err.count("undo:") == 1  # of the addition; to page it in again would page it out again
    assert archived(full) == {OLD, "m001"} and len(shown(full)) == LIMIT
    index = (full.folder() / "MEMORY.md").read_text()
    assert entry("new") in index and entry("m001") not in index
    assert full.run("save").err == "nothing to save\n"
    refused = full.run("undo", full.tip(), code=2)
    assert "cannot be undone" in refused.err and "git mem restore" in refused.err
    assert parse(full.workspace.code.commit(full.tip()).message).op == "page"
    full.run("undo")
    assert "new" not in shown(full)


def test_who_dies_before_the_page_commit_leaves_it_to_the_next_writer(full: Ground) -> None:
    def dies(*_: object) -> None:
        raise RepositoryError("killed")

    (full.folder() / "new.md").write_text(memory("new"))
    with full.patch.context() as patch:
        patch.setattr(saving, "page", dies)
        full.run("save")
    assert archived(full) == {OLD} and len(shown(full)) == LIMIT + 1
    full.run("save")
    assert archived(full) == {OLD, "m001"} and len(shown(full)) == LIMIT


def test_undo_of_what_filled_the_folder_brings_back_what_left_it(full: Ground) -> None:
    """Else the agent is left with no memories: nothing else takes them out of the archive."""
    before, listed = shown(full), (full.folder() / "MEMORY.md").read_text()
    for number in range(3 * LIMIT):
        (full.folder() / f"new{number}.md").write_text(memory(f"new{number}"))
    (line,) = (one for one in full.run("save").err.splitlines() if one.startswith("undo:"))
    assert not before & shown(full)
    full.run("undo", line.split()[-1])
    assert shown(full) == before and archived(full) == {OLD}
    assert (full.folder() / "MEMORY.md").read_text() == listed
    full.run("undo", full.tip())
    assert len(shown(full)) == LIMIT and archived(full) >= {OLD, *before}


def test_undo_brings_back_the_newest_as_far_as_there_is_room(full: Ground) -> None:
    for batch in ("one", "two"):
        for number in range(3):
            (full.folder() / f"{batch}{number}.md").write_text(memory(f"{batch}{number}"))
        full.run("save")
    first = [one for one in full.run("log", "--json").json if "one0" in one["subject"]]
    full.run("undo", first[0]["commit"])
    gone = {OLD, "m001", "m002", "m003"}
    assert archived(full) == gone and shown(full) == {"two0", "two1", "two2", *names(LIMIT + 1)} - gone


def test_paging_takes_a_line_that_says_no_more_and_leaves_one_that_does(full: Ground) -> None:
    """What a person wrote into the index is memory, too, though the memory that it names is archived."""
    index = full.folder() / "MEMORY.md"
    text = index.read_text().replace(entry("m001"), "* **[m001](m001.md)**: About m001\n")
    index.write_text(text.replace(entry("m002"), "- [m002](m002.md) - ask Ann first\n"))
    full.run("save")
    for name in ("one", "two"):
        (full.folder() / f"{name}.md").write_text(memory(name))
    (saved,) = [one for one in full.run("save", "--json").json if one["commits"]]
    assert saved["commits"][-1]["subject"] == "Page 2 memories of reviewer to the archive"
    assert archived(full) == {OLD, "m001", "m002"}
    assert "m001" not in index.read_text() and "- [m002](m002.md) - ask Ann first\n" in index.read_text()


def test_adopting_a_large_folder_pages_out_what_was_left_alone_longest(gitmem, repo, home, git) -> None:
    folder = repo / ".claude/agent-memory/reviewer"
    folder.mkdir(parents=True)
    (home / ".claude").mkdir()
    for number, name in enumerate(reversed(names(HOT_MEMORIES + 20))):
        (folder / f"{name}.md").write_text(memory(name))
        os.utime(folder / f"{name}.md", (START + number, START + number))
    (folder / "MEMORY.md").write_text("".join(map(entry, names(HOT_MEMORIES + 20))))
    plan = gitmem("init", "-n").out
    assert (
        f"adopt 220 memories from {folder}" in plan
        and f"take the 20 oldest of them out of {folder}" in plan
    )
    gitmem("init", "-y")
    log = git("-C", repo, "log", "--format=%s", "refs/gitmem/project").splitlines()
    assert log[:2] == ["Page 20 memories of reviewer to the archive", "Adopt 220 memories of reviewer"]
    left = {path.stem for path in folder.glob("m*.md")}
    assert left == set(names(HOT_MEMORIES))
    kept = git("-C", repo, "ls-tree", "-r", "--name-only", "refs/gitmem/project~1")
    assert kept.count("reviewer/m") == HOT_MEMORIES + 20  # adopted whole, before anything was moved
    gitmem("uninstall", "-y")
    assert len(list(folder.glob("m*.md"))) == HOT_MEMORIES + 20


def test_adopted_memories_are_as_old_as_their_files(gitmem, repo: Path, place: Path, git) -> None:
    """Else all of them count as learned today, and the next paging goes by their names."""
    folder = repo / ".claude/agent-memory/reviewer"
    folder.mkdir(parents=True)
    for name, day in (("young", 90), ("old", 0), ("same", 0)):
        (folder / f"{name}.md").write_text(memory(name))
        os.utime(folder / f"{name}.md", (PAST + day * 86_400, PAST + day * 86_400 + 5))
    (folder / "MEMORY.md").write_text("".join(map(entry, ("young", "old", "same"))))
    plan = gitmem("init", "-n").out.replace(str(place), "")
    assert "archive" not in plan, "a folder that fits is adopted without a word of it"
    gitmem("init", "-y")
    found = {one["name"]: one["taught"][:10] for one in gitmem("list", "--json").json}
    days = [datetime.fromtimestamp(PAST + day * 86_400, UTC).date().isoformat() for day in (0, 90)]
    assert found == {"old": days[0], "same": days[0], "young": days[1]}
    log = git("-C", repo, "log", "--format=%s", "refs/gitmem/project").splitlines()
    steps = ["the index", "1 memory", "2 memories"]
    assert log == [*(f"Adopt {what} of reviewer" for what in steps), "Begin a memory"]
    assert [one["commits"] for one in gitmem("save", "--json").json] == [[]]


def test_adopted_memories_that_the_code_tracks_are_as_old_as_their_commits(gitmem, repo: Path, git) -> None:
    """A clone has all files of one moment; what was edited since its commit is as old as its file."""
    folder = repo / ".claude/agent-memory/reviewer"
    folder.mkdir(parents=True)
    for number, name in enumerate(("old", "young", "edited")):
        (folder / f"{name}.md").write_text(memory(name))
        git("-C", repo, "add", ".")
        day = datetime.fromtimestamp(PAST + number * 86_400, UTC).isoformat()
        git("-C", repo, "commit", "-qm", name, f"--date={day}")
    (folder / "edited.md").write_text(memory("edited") + "\nMore.\n")
    for file in folder.iterdir():
        os.utime(file, (PAST + 90 * 86_400,) * 2)
    gitmem("init", "-y")
    found = {one["name"]: one["taught"][:10] for one in gitmem("list", "--json").json}
    days = [datetime.fromtimestamp(PAST + day * 86_400, UTC).date().isoformat() for day in (0, 1, 90)]
    assert found == {"old": days[0], "young": days[1], "edited": days[2]}


def test_an_agent_without_a_live_directory_is_paged_as_well(small: Ground) -> None:
    ground = small
    learn(ground, LIMIT, "main", "user")
    ground.run("remember", "Answer in German.", "--type", "user", "--scope", "user", "--name", "german")
    assert archived(ground, "user") == {OLD}
    learn_more = {f"main/x{number}.md": memory(f"x{number}") for number in range(3)}
    ground.learn(learn_more, "user")
    ground.run("save")
    assert archived(ground, "user") == {OLD, "m001", "m002", "m003"}


@pytest.mark.parametrize("how", ["remember", "restore"])
def test_what_is_remembered_or_restored_comes_back_and_another_goes(full: Ground, how: str) -> None:
    then = full.tip()
    if how == "remember":
        words = ("It is otherwise.", "--name", OLD, "--scope", "project", "--agent", "reviewer")
        assert f"reviewer/{OLD}.md" in full.run(how, *words, "--type", "project").out
        assert "It is otherwise." in (full.folder() / f"{OLD}.md").read_text()
    else:
        full.run(how, OLD, "--at", then)
        assert full.run(how, OLD, "--at", then).err.startswith("nothing to restore")
    assert OLD in shown(full) and archived(full) == {"m001"} and len(shown(full)) == LIMIT
    assert f"({OLD}.md)" in (full.folder() / "MEMORY.md").read_text()


def test_a_new_memory_takes_no_file_that_an_archived_one_has(full: Ground) -> None:
    """One that is called otherwise: the two would become one when it comes back."""
    at = f"reviewer/{archive_path('ports.md')}"
    full.learn({at: memory("Harbours")})
    words = ("remember", "Port 80.", "--name", "Ports", "--scope", "project", "--agent", "reviewer")
    made = full.run(*words, "--type", "project", "--json").json
    assert made["file"] == "ports-2.md" and full.tree()[at] == memory("Harbours")


def test_remember_reads_nothing_of_the_archive(full: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    full.learn({f"reviewer/{archive_path(f'old{n}.md')}": memory(f"old{n}") for n in range(600)})
    full.run("remember", "Port 79.", "--type", "project", "--scope", "project", "--agent", "reviewer")
    scope = full.workspace.scope("project")
    blobs = list_files(scope.repo, scope.repo.commit(full.tip()).tree)
    paged = {oid for path, oid in blobs.items() if "/old" in path}
    read: list[str] = []
    opened: set[str] = set()
    blob, tree = GitRepository.blob, GitRepository.tree
    monkeypatch.setattr(GitRepository, "blob", lambda repo, oid: read.append(oid) or blob(repo, oid))
    monkeypatch.setattr(GitRepository, "tree", lambda repo, oid: opened.add(oid) or tree(repo, oid))
    words = ("remember", "Port 80.", "--name", "ports", "--scope", "project", "--agent", "reviewer")
    full.run(*words, "--type", "project")
    assert not paged & set(read)
    assert len(opened) < 60  # of more than 200 folders


def test_an_archived_memory_is_shown_listed_logged_and_compared(full: Ground) -> None:
    before = full.tip()
    full.learn({f"reviewer/{archive_path(OLD + '.md')}": memory(OLD, "The new fact.")})
    assert "The new fact." in full.run("show", OLD).out
    assert full.run("show", OLD, "--json").json["archived"] is True
    assert OLD not in full.run("list").out and OLD in full.run("list", "-a").out
    subjects = [one["subject"] for one in full.run("log", OLD, "--json").json]
    assert subjects == ["Learn", "Page 1 memory of reviewer to the archive", "Learn"]
    assert "The new fact." in full.run("diff", before).out


def test_an_archived_memory_is_forgotten_brought_back_and_moved_and_is_hot_there(full: Ground) -> None:
    full.run("forget", OLD)
    assert archived(full) == set() and OLD not in shown(full)
    assert ".tombstones" in str(sorted(full.tree()))
    full.run("undo")
    assert archived(full) == {OLD}
    full.run("move", OLD, "--to", "local")
    assert archived(full) == set() and f"reviewer/{OLD}.md" in full.tree("local")
    assert entry(OLD) in full.tree("local")["reviewer/MEMORY.md"]


def test_a_whole_state_comes_back_with_its_archive(full: Ground) -> None:
    then = full.tree()
    at = full.tip()
    for name in ("new", "newer"):
        (full.folder() / f"{name}.md").write_text(memory(name))
    full.run("save")
    full.run("restore", "--all", "--at", at)
    assert full.tree() == then and len(shown(full)) == LIMIT


def test_undo_of_an_edit_reaches_a_memory_that_was_paged_since(small: Ground) -> None:
    ground = small
    learn(ground, LIMIT)
    ground.folder()
    ground.run("save")
    (ground.folder() / f"{OLD}.md").write_text(memory(OLD, "Changed by mistake."))
    ground.run("save")
    edit = ground.tip()
    ground.learn({f"reviewer/x{n:03}.md": memory(f"x{n:03}") for n in range(LIMIT)})
    ground.run("save")
    assert OLD in archived(ground)
    ground.run("undo", edit)
    assert (ground.folder() / f"{OLD}.md").read_text() == memory(OLD)
    assert OLD not in archived(ground) and entry(OLD) in ground.tree()["reviewer/MEMORY.md"]


def change(file: str, body: str) -> Change:
    return proposed(Path(file).stem, op="update", body=body, agent="reviewer", file=file)


def test_an_accepted_suggestion_brings_an_archived_memory_back(full: Ground) -> None:
    one = suggest(
        change(archive_path(f"{OLD}.md"), "It holds on Mondays."), "project", "2026-11-20T10:00:00Z"
    )
    propose(full.workspace, [one], ANN)
    full.tick(HOUR)
    (waiting,) = open_suggestions(full.workspace)
    assert accept_suggestions(full.workspace, full.edges, [waiting])[0].written
    text = (full.folder() / f"{OLD}.md").read_text()
    assert "The m000 fact." in text and "It holds on Mondays." in text
    assert archived(full) == {"m001"}


@pytest.mark.parametrize("planned", [f"{OLD}.md", archive_path(f"{OLD}.md")])
@pytest.mark.parametrize("now", [f"{OLD}.md", archive_path(f"{OLD}.md")])
def test_a_planned_update_finds_its_memory_wherever_it_stands_by_then(planned: str, now: str) -> None:
    files = {now: memory(OLD).encode(), "MEMORY.md": b""}
    made = apply(change(planned, "One more."), files.keys(), files.get)
    assert made is not None and made.op == "update" and made.file == f"{OLD}.md"
    assert b"One more." in (made.edits[made.file] or b"")
    assert now == made.file or made.edits[now] is None


def test_a_dispute_in_the_archive_is_settled_where_the_agent_sees_it(full: Ground) -> None:
    text = "Port 80. *(disputed 1a2b3c4d)*\n\nPort 90. *(disputed 1a2b3c4d)*"
    full.learn({f"reviewer/{archive_path(OLD + '.md')}": memory(OLD, text)})
    full.run("review", "accept", "x-1a2b3c", "1")
    assert (full.folder() / f"{OLD}.md").read_text() == memory(OLD, "Port 80.")
    assert OLD not in archived(full)


def test_what_uninstall_wrote_out_is_archived_again_and_an_edit_of_it_is_not(small, home) -> None:
    """Else each coming back would page other memories out, and the oldest would be hot."""
    (home / ".claude").mkdir()
    small.run("init", "-y")
    learn(small, LIMIT + 2, scope="local")
    folder = small.folder("local")
    small.run("save")
    assert archived(small, "local") == {"m000", "m001"}
    small.run("uninstall", "-y")
    assert (folder / "m000.md").read_text() == memory("m000")
    (folder / "m001.md").write_text(memory("m001", "Another fact."))
    small.run("init", "-y")
    assert archived(small, "local") == {"m000", "m002"}
    assert not (folder / "m000.md").exists()
    assert "Another fact." in (folder / "m001.md").read_text()
