"""restore, checkout and undo: the past comes back as a new commit, and nothing that came since is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_ground import DAY, Ground, memory
from once import Once

from gitmem.core import tombstone
from gitmem.core.claim import parse_body
from gitmem.core.trailers import Provenance, parse
from gitmem.git.refs import move_ref
from gitmem.ledger import working_copy
from gitmem.ledger.layout import live_directory, read_record


@pytest.fixture
def taught(ground: Ground, once: Once[int]) -> Ground:
    """A reviewer's live directory with one memory, saved twice."""

    def make() -> int:
        for port in (8080, 9090):
            (ground.folder() / "ports.md").write_text(memory("ports", f"Port {port}."))
            ground.run("save")
        return ground.now

    ground.now = once("taught", make)
    ground.tick(0)
    ground.patch.delenv("GITMEM_DISABLE")
    return ground


def body(ground: Ground, name: str = "ports") -> str:
    return (ground.folder() / f"{name}.md").read_text().rpartition("---\n")[2].strip()


def pinned(ground: Ground) -> str:
    live = live_directory(ground.workspace, "project", "reviewer")
    record = read_record(live.scope.state, live.key) if live else None
    assert record is not None
    return record.pinned


def stone(text: str) -> str:
    key = parse_body(text).claims[0].key
    return tombstone.bury(key, "a" * 16, "2026-11-20", "forgot").line()


def test_restore_brings_a_memory_back_as_a_new_commit_once_live_edits_are_saved(taught: Ground) -> None:
    before = taught.tip()
    (taught.folder() / "fresh.md").write_text(memory("fresh"))
    ran = taught.run("restore", "ports", "--at", "~1")
    commit = taught.workspace.code.commit(taught.tip())
    assert taught.workspace.code.is_ancestor(before, commit.oid)
    assert parse(commit.message).op == "restore" and commit.subject == "Restore ports as of ~1"
    assert body(taught) == "Port 8080.", "~1 was counted before the save"
    assert "reviewer/fresh.md" in taught.tree()
    assert ran.out.startswith("restored ports in project as of ")
    assert ran.err.strip() == f"undo: git mem undo {commit.oid[:12]}"
    taught.run("undo", commit.oid[:12])
    assert body(taught) == "Port 9090." and "reviewer/fresh.md" in taught.tree()


def test_restore_brings_a_deleted_memory_back_with_its_index_line(taught: Ground) -> None:
    (taught.folder() / "other.md").write_text(memory("other"))
    taught.run("save")
    (taught.folder() / "ports.md").unlink()
    taught.run("save")
    assert "ports" not in (taught.folder() / "MEMORY.md").read_text()
    taught.run("restore", "ports", "--at", "~1")
    assert body(taught) == "Port 9090."
    assert "(ports.md)" in (taught.folder() / "MEMORY.md").read_text()


def test_restore_all_makes_it_as_it_was_then(taught: Ground) -> None:
    then = taught.tip()
    (taught.folder() / "later.md").write_text(memory("later"))
    (taught.folder() / "ports.md").write_text(memory("ports", "Port 1."))
    taught.run("save")
    taught.run("restore", "--all", "--at", then, "--scope", "project")
    assert body(taught) == "Port 9090."
    assert not (taught.folder() / "later.md").exists()
    assert "later" not in taught.tree()["reviewer/MEMORY.md"]
    assert taught.run("restore", "--all", "--at", then).err.startswith("nothing to restore")


def test_restore_by_name_lifts_what_was_forgotten_and_all_does_not(taught: Ground) -> None:
    then = taught.tip()
    stones = "".join(map(stone, ("Port 9090.", "About ports")))
    taught.learn(
        {"reviewer/ports.md": None, "reviewer/MEMORY.md": "", "reviewer/.tombstones": stones},
        told=Provenance(op="delete"),
    )
    taught.run("save")
    assert not (taught.folder() / "ports.md").exists()
    ran = taught.run("restore", "--all", "--at", then, "--scope", "project")
    assert "stays forgotten: project/reviewer/ports.md" in ran.err
    assert "reviewer/ports.md" not in taught.tree() and "ports" not in taught.tree()["reviewer/MEMORY.md"]
    taught.run("restore", "ports", "--at", then)
    assert body(taught) == "Port 9090."
    assert ".tombstones" not in "".join(taught.tree())


def test_restore_into_a_folder_writes_files_and_overwrites_nothing(taught: Ground, tmp_path: Path) -> None:
    before = taught.tip()
    out = tmp_path / "out"
    taught.run("restore", "ports", "--at", "~1", "--to", out)
    assert [path.name for path in out.iterdir()] == ["ports.md"]
    assert "8080" in (out / "ports.md").read_text()
    taught.run("restore", "--all", "--at", "~1", "--to", tmp_path / "all")
    assert (tmp_path / "all/project/reviewer/MEMORY.md").is_file()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for name in ("out", "out/ports.md", "link"):
        taught.run("restore", "ports", "--at", "~2", "--to", tmp_path / name, code=2)
    assert "8080" in (out / "ports.md").read_text() and not (tmp_path / "elsewhere").exists()
    assert taught.tip() == before and body(taught) == "Port 9090."


def test_restore_into_a_folder_refuses_a_path_that_leads_out(taught: Ground, tmp_path: Path, git) -> None:
    """A tree may come from anyone."""
    blob = git("-C", taught.repo, "hash-object", "-w", "--stdin", input="x")
    folder = git("-C", taught.repo, "mktree", input=f"100644 blob {blob}\tcon.md\n")
    root = git("-C", taught.repo, "mktree", input=f"040000 tree {folder}\tmain\n")
    repo = taught.workspace.code
    tip = repo.commit(taught.tip())
    bad = repo.add_commit(root, (tip.oid,), tip.author, tip.author, "Sync\n")
    move_ref(repo, "refs/gitmem/project", bad, tip.oid, "test")
    ran = taught.run(
        "restore", "--all", "--at", "@", "--to", tmp_path / "out", "--scope", "project", code=2
    )
    assert "device name" in ran.err and not list((tmp_path / "out").rglob("con.md"))


def test_restore_that_does_not_say_what_and_when_exits_2_and_deletes_nothing(taught: Ground) -> None:
    before = taught.tip()
    lines = ("nope", "--all", "--at ~1", "ports --all --at ~1", "nope --at ~1", "--all --at 2001-01-01")
    for line in lines:
        taught.run("restore", *line.split(), code=2)
    assert taught.tip() == before


def test_a_dry_run_changes_nothing(taught: Ground) -> None:
    (taught.folder() / "new.md").write_text(memory("new"))
    before = (taught.tip(), sorted(path.name for path in taught.folder().iterdir()), body(taught))
    for line in ("restore ports --at ~1", "undo", "checkout ~1"):
        assert taught.run(*line.split(), "-n").out.startswith("would "), line
        after = (taught.tip(), sorted(path.name for path in taught.folder().iterdir()), body(taught))
        assert after == before, line


def test_undo_takes_the_newest_change_back_twice_goes_further_and_is_undone_itself(taught: Ground) -> None:
    first = taught.run("undo")
    assert first.out.startswith("undid ") and "Update ports (project" in first.out
    assert body(taught) == "Port 8080."
    commit = taught.workspace.code.commit(taught.tip())
    assert parse(commit.message).undoes and commit.subject == "Undo: Update ports"
    taught.run(*first.err.strip().removeprefix("undo: git mem ").split())
    assert body(taught) == "Port 9090.", "the change counts again"
    taught.run("undo")
    assert body(taught) == "Port 8080."
    taught.run("undo")
    assert not (taught.folder() / "ports.md").exists()
    assert taught.run("undo", code=1).err.startswith("gitmem: There is nothing to undo")


def test_undo_keeps_what_was_learned_since(taught: Ground) -> None:
    target = taught.tip()
    (taught.folder() / "other.md").write_text(memory("other"))
    path = taught.folder() / "ports.md"
    path.write_text(path.read_text() + "\nPort 7070 too.\n")
    taught.run("save")
    taught.run("undo", target[:12])
    assert body(taught).split("\n\n") == ["Port 8080.", "Port 7070 too."]
    assert "reviewer/other.md" in taught.tree()


def test_undo_of_what_made_an_index_leaves_the_lines_of_others_alone(ground: Ground) -> None:
    words = ("--agent", "rev", "--scope", "local")
    ground.run("remember", "Two is 2.", "--name", "two", *words)
    ground.run("undo")
    assert "rev/MEMORY.md" not in ground.tree("local")
    ground.run("remember", "API key rotates on Mondays.", "--name", "one", *words)
    first = ground.tip("local")
    ground.run("remember", "Two is 2.", "--name", "two", *words)
    at = ground.folder("local", "rev") / "MEMORY.md"
    at.write_text(f"{at.read_text()}Ask Bob first.\n")
    ground.run("undo", first)
    assert at.read_text() == "- [two](two.md) — Two is 2\nAsk Bob first.\n"
    ground.run("undo", first, code=1)


@pytest.mark.parametrize("saved", [True, False])
def test_undo_says_what_stays_of_a_change_and_why(ground: Ground, saved: bool) -> None:
    for name in ("cc", "dd"):
        (ground.folder() / f"{name}.md").write_text(memory(name))
    ground.run("save")
    first = ground.tip()
    with (ground.folder() / "cc.md").open("a") as file:
        file.write("And blue is its colour.\n")
    told = "stays: project/reviewer/cc.md (edited since; delete it with git mem forget)\n"
    if saved:
        ground.run("save")
        assert told in ground.run("undo", "--dry-run", first).err
    ran = ground.run("undo", first)
    assert told in ran.err and "dd" not in ran.err
    assert "reviewer/cc.md" in ground.tree() and "reviewer/dd.md" not in ground.tree()
    assert "stays: " not in ground.run("undo", ground.tip()).err


def test_undo_picks_the_newest_change_of_all_scopes_and_leaves_unsaved_edits_alone(taught: Ground) -> None:
    """A person who was told `undo: git mem undo` means that change, not what an agent wrote meanwhile."""
    taught.learn({"main/tone.md": memory("tone")}, "local", "Add tone")
    assert "Update ports" in taught.run("undo", "--scope", "project", "-n").out
    assert "Add tone (local" in taught.run("undo").out
    (taught.folder() / "fresh.md").write_text(memory("fresh"))
    assert "Update ports (project" in taught.run("undo").out
    assert body(taught) == "Port 8080." and "reviewer/fresh.md" in taught.tree()


def test_undo_of_forgetting_brings_the_memory_back_for_good(taught: Ground) -> None:
    taught.learn(
        {"reviewer/ports.md": None, "reviewer/MEMORY.md": "", "reviewer/.tombstones": stone("Port 9090.")},
        told=Provenance(op="delete"),
    )
    taught.run("save")
    taught.run("undo")
    assert body(taught) == "Port 9090."
    taught.run("save")
    assert body(taught) == "Port 9090."


@pytest.mark.parametrize("op", ["adopt", "purge"])
def test_undo_passes_over_what_it_may_not_undo_and_says_why_when_named(taught: Ground, op: str) -> None:
    """Undoing an adoption would delete the very files that were there before gitmem."""
    oid = taught.learn({"reviewer/mine.md": memory("mine")}, told=Provenance(op=op), subject="Special")
    assert "Update ports" in taught.run("undo").out
    assert op in taught.run("undo", oid[:12], code=2).err
    assert "reviewer/mine.md" in taught.tree()


def test_an_undo_that_only_takes_away_looks_for_no_secret(taught: Ground) -> None:
    """Loading the detector would take as long as all the rest of it."""
    taught.run("remember", "Ships sail on water.")

    def detect(*_: str) -> None:
        raise AssertionError("something is looked at")

    with taught.patch.context() as patch:
        patch.setattr("gitmem.rules.secrets._detector", detect)
        taught.run("undo")
    assert "Ships" not in taught.run("list").out


def test_undo_of_the_root_and_of_what_later_changes_replaced_say_so(taught: Ground) -> None:
    assert "begins" in taught.run("undo", "~2", code=2).err
    target = taught.tip()
    taught.run("restore", "ports", "--at", "~1")
    assert "is left to undo" in taught.run("undo", target, code=1).err


def test_undo_leaves_a_teammates_change_alone_unless_named(taught: Ground, git) -> None:
    git("-C", taught.repo, "config", "gitmem.share", "direct")
    taught.learn({"reviewer/mine.md": memory("mine")}, subject="Add mine")
    oid = taught.learn({"reviewer/bens.md": memory("bens")}, subject="Add bens", who="Ben")
    assert "Add mine" in taught.run("undo").out
    assert "Add bens" in taught.run("undo", oid[:12]).out
    assert "reviewer/bens.md" not in taught.tree()


def test_checkout_lays_the_past_out_and_comes_back(taught: Ground) -> None:
    (taught.folder() / "later.md").write_text(memory("later"))
    taught.run("save")
    before = taught.tip()
    ran = taught.run("checkout", "~2")
    assert ran.err.strip() == "undo: git mem checkout -"
    assert body(taught) == "Port 8080." and not (taught.folder() / "later.md").exists()
    assert taught.tip() == before
    assert pinned(taught).startswith("~2 (")
    assert taught.run("diff").out == ""
    taught.run("save")
    assert body(taught) == "Port 8080." and taught.tip() == before
    then = taught.workspace.code.commit(taught.workspace.code.commit(before).parents[0]).parents[0]
    back = f"undo: git mem checkout {then[:12]} --scope project --agent reviewer"
    assert taught.run("checkout", "-").err.strip() == back
    assert body(taught) == "Port 9090." and (taught.folder() / "later.md").exists()
    assert taught.tip() == before
    taught.run("checkout", "-", code=2)


def test_an_edit_of_the_past_is_merged_onto_the_tip(taught: Ground) -> None:
    taught.run("checkout", "~1")
    path = taught.folder() / "ports.md"
    path.write_text(path.read_text() + "\nPort 7070 too.\n")
    (taught.folder() / "fresh.md").write_text(memory("fresh"))
    taught.run("save")
    assert body(taught).split("\n\n") == ["Port 8080.", "Port 7070 too."], "the past stays laid out"
    stored = taught.tree()["reviewer/ports.md"]
    assert "Port 9090." in stored and "Port 7070 too." in stored and "8080" not in stored
    path.write_text(path.read_text() + "\nPort 6060 three.\n")
    taught.run("checkout", "-")
    assert body(taught).split("\n\n") == ["Port 9090.", "Port 7070 too.", "Port 6060 three."]
    assert (taught.folder() / "fresh.md").exists()


def test_checkout_saves_first_and_can_go_from_one_past_to_another(taught: Ground) -> None:
    taught.run("checkout", "~1")
    (taught.folder() / "fresh.md").write_text(memory("fresh"))
    then = taught.tip()
    taught.run("checkout", then)
    assert body(taught) == "Port 9090." and not (taught.folder() / "fresh.md").exists()
    assert "reviewer/fresh.md" in taught.tree()


def test_checkout_refuses_where_something_could_not_be_saved(taught: Ground) -> None:
    """What was refused lives in the file alone."""
    path = taught.folder() / "ports.md"
    text = path.read_text() + "\nThe token is ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8 .\n"
    path.write_text(text)
    ran = taught.run("checkout", "~1", code=1)
    assert "ports.md holds something that is not saved" in ran.err
    assert path.read_text() == text


def test_checkout_of_a_date_takes_every_scope_to_that_moment(taught: Ground) -> None:
    local = taught.folder("local")
    (local / "mine.md").write_text(memory("mine", "One."))
    taught.run("save")
    taught.tick(3 * DAY)
    (local / "mine.md").write_text(memory("mine", "Two."))
    (taught.folder() / "ports.md").write_text(memory("ports", "Port 1."))
    taught.run("save")
    taught.run("checkout", "2 days ago")
    assert "One." in (local / "mine.md").read_text() and body(taught) == "Port 9090."
    taught.run("checkout", "-", "--scope", "local")
    assert "Two." in (local / "mine.md").read_text() and body(taught) == "Port 9090."
    taught.run("checkout", "-")
    assert body(taught) == "Port 1."


def test_checkout_of_a_date_before_all_memory_says_when_it_began(taught: Ground) -> None:
    """It laid out an empty state of 1970."""
    ran = taught.run("checkout", "2001-01-01", code=2)
    assert "There was no memory at 2001-01-01: the first was stored on 2027-01-15" in ran.err
    assert body(taught) == "Port 9090." and not pinned(taught)


def test_checkout_leaves_a_folder_alone_that_the_code_branch_tracks(taught: Ground, git) -> None:
    git("-C", taught.repo, "add", "-f", ".claude/agent-memory/reviewer")
    git("-C", taught.repo, "commit", "-q", "-m", "track")
    ran = taught.run("checkout", "~1", code=1)
    assert "No agent has a memory folder here" in ran.err and body(taught) == "Port 9090."


def test_a_checkout_that_died_half_way_costs_nothing(taught: Ground) -> None:
    """The record is written first: a file that still shows the present merges onto the present."""
    (taught.folder() / "other.md").write_text(memory("other"))
    taught.run("save")
    before = taught.tree()

    def die(*_: object) -> None:
        raise OSError("killed")

    with taught.patch.context() as patch:
        patch.setattr(working_copy, "replace_file", die)
        taught.run("checkout", "~2", code=255)
    assert pinned(taught)
    taught.run("save")
    assert taught.tree() == before
    taught.run("checkout", "-")
    assert taught.tree() == before and body(taught) == "Port 9090."
