"""The doctor: every kind of damage is made for real, found, mended without loss, and gone afterwards."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from cli_ground import DAY, Ground, memory
from once import Once
from slices import often

from gitmem.app import doctor, worker
from gitmem.app.doctor import plan
from gitmem.app.spool import Job, put
from gitmem.flows.place import find_repository
from gitmem.git.locks import ProcessIdentity, process_identity
from gitmem.git.refs import move_ref
from gitmem.git.repository import EXECUTABLE, LINK, SUBMODULE, TREE, Signature, TreeEntry
from gitmem.search.catalog import Catalog
from gitmem.search.text import read_memory

Git = Callable[..., str]
REF = "refs/gitmem/project"
ANN = Signature("Ann", "ann@example.com", 1_800_000_000)
DEAD = ProcessIdentity(2**22 + 12345, 1.0)


@pytest.fixture
def well(ground: Ground, home: Path, monkeypatch: pytest.MonkeyPatch, once: Once[int]) -> Ground:
    """A repository in which all is well, with memory in each scope."""

    def make() -> int:
        (home / ".claude").mkdir()
        ground.folder()
        ground.run("init", "-y")
        for scope in ("project", "local", "user"):
            ground.learn({f"reviewer/{name}.md": memory(name) for name in ("ports", "db", "api")}, scope)
        ground.run("save")
        return ground.now

    ground.now = once("well", make)
    ground.tick(0)
    monkeypatch.setattr(doctor, "start_worker", lambda *given: None)
    return ground


def found(ground: Ground) -> list[str]:
    """Kinds of what the doctor finds, without doing anything."""
    return [finding.kind for finding in plan(ground.workspace, ground.edges)]


def rows(ground: Ground, *words: str, code: int = 0) -> list[dict[str, object]]:
    told = json.loads(ground.run("doctor", "--json", *words, code=code).out)
    assert list(told) == ["findings", "left"]
    return told["findings"]


def loose(ground: Ground, oid: str, scope: str = "project") -> Path:
    return ground.workspace.scope(scope).repo.git_dir / "objects" / oid[:2] / oid[2:]


def overwrite(path: Path, data: bytes) -> None:
    path.chmod(0o644)
    path.write_bytes(data)


def rescued(ground: Ground) -> dict[str, str]:
    return ground.workspace.code.refs("refs/gitmem/rescued/")


def aged(path: Path, seconds: float) -> Path:
    """An empty file of that age."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")
    then = time.time() - seconds
    os.utime(path, (then, then))
    return path


def dream_lock(ground: Ground, text: str) -> Path:
    lock = ground.workspace.state / "dream" / "refs%2Fgitmem%2Fproject" / ".consolidate-lock"
    lock.parent.mkdir(parents=True)
    lock.write_text(text)
    return lock


def test_all_is_well(well: Ground) -> None:
    assert well.run("doctor").out == "all is well\n"
    assert rows(well, "-n") == []


def test_an_empty_folder_at_init_is_no_loss(gitmem, home: Path, repo: Path) -> None:
    (home / ".claude/projects" / re.sub(r"[^A-Za-z0-9]", "-", str(repo)) / "memory").mkdir(parents=True)
    gitmem("init", "-y")
    assert gitmem("doctor").out == "all is well\n"


def test_what_a_person_declines_is_named_once(well: Ground, git: Git) -> None:
    """Where something else was mended, all is looked at again; by then a lock is older than it was."""
    lock = Path(git("rev-parse", "--git-dir")).absolute() / f"{REF}.lock"
    lock.touch()
    well.workspace.private_path.chmod(0o755)
    told = well.run("doctor", code=1).out
    assert "done: " in told and told.count("left-over-lock") == 1


def test_a_look_changes_nothing_and_its_json_form_is_a_promise(well: Ground, git: Git) -> None:
    git("-C", well.repo, "update-ref", "-d", REF)
    well.workspace.private_path.chmod(0o755)
    assert "project  cannot be read: git mem doctor\n" in well.run("status").out

    def state() -> dict[str, int]:
        # What SQLite itself lays down beside a file that is read is no change of it.
        files = [p for p in well.repo.rglob("*") if p.is_file() and "sqlite-" not in p.name]
        return {str(p): p.lstat().st_mtime_ns for p in files}

    before = state()
    told = well.run("doctor", "-n", code=1).out
    assert "missing-ref" in told and "would: " in told and "0755" in told
    open_one, missing = sorted(rows(well, "-n", code=1), key=lambda row: bool(row["asks"]))
    assert state() == before
    keys = ["kind", "what", "mend", "can_mend", "asks", "done", "trouble"]
    assert list(open_one) == list(missing) == keys
    assert (missing["kind"], missing["can_mend"], missing["asks"]) == ("missing-ref", True, True)
    parts = [open_one[name] for name in ("kind", "can_mend", "asks", "done")]
    assert parts == ["private-repository", True, False, ""]
    told_then = {str(row["kind"]): str(row["done"]) for row in rows(well, code=1)}
    assert "0700" in told_then["private-repository"] and told_then["missing-ref"] == ""
    assert well.workspace.private_path.stat().st_mode & 0o777 == 0o700


def test_without_init_it_says_so(ground: Ground, git: Git) -> None:
    git("-C", ground.repo, "config", "--unset", "gitmem.projectId")
    assert "git mem init" in ground.run("doctor", code=3).err


def test_a_state_folder_that_was_deleted_is_made_again(well: Ground) -> None:
    """It can be deleted at no loss of memory, but every other command asks for `init` then."""
    shutil.rmtree(well.workspace.state)
    assert "git mem init" in well.run("list", code=3).err
    assert [row["kind"] for row in rows(well)] == ["state-folder"]
    assert "ports" in well.run("list").out
    assert found(well) == []


class TestRefs:
    def test_a_ref_file_that_was_lost_comes_back_unasked(self, well: Ground) -> None:
        """Its log is still there, which git would have deleted along with it."""
        tip = well.tip()
        (well.repo / ".git" / REF).unlink()
        told = well.run("doctor").out
        assert "missing-ref" in told and "its reflog" in told and tip[:12] in told
        assert well.tip() == tip
        assert found(well) == []

    def test_a_ref_that_git_deleted_is_the_persons_to_decide(self, well: Ground, git: Git) -> None:
        tip = well.tip()
        git("-C", well.repo, "update-ref", "-d", REF)
        out = well.run("doctor", code=1)
        assert "the record of" in out.out and "-y" in out.out
        assert well.workspace.code.ref(REF) is None
        well.run("doctor", "-y")
        assert well.tip() == tip

    def test_the_catalog_knows_too(self, well: Ground, git: Git) -> None:
        tip = well.tip("user")
        scope = well.workspace.scope("user")
        with closing(Catalog.open(scope.state)) as catalog:
            catalog.bring_up_to_date(scope.repo, scope.ref, tip, read_memory)
        shutil.rmtree(scope.state / "live", ignore_errors=True)
        git(f"--git-dir={scope.repo.git_dir}", "update-ref", "-d", scope.ref)
        [finding] = [one for one in plan(well.workspace, well.edges) if one.kind == "missing-ref"]
        assert "the catalog" in finding.what and finding.asks
        well.run("doctor", "-y")
        assert well.tip("user") == tip

    def test_a_remote_tracking_ref_knows_too(self, well: Ground, git: Git, tmp_path: Path) -> None:
        git("init", "-q", "--bare", tmp_path / "team.git")
        git("-C", well.repo, "remote", "add", "origin", tmp_path / "team.git")
        well.run("share", "-y")
        tip = well.tip()
        git("-C", well.repo, "push", "-q", "origin", "gitmem/project")
        git("-C", well.repo, "update-ref", "-d", "refs/heads/gitmem/project")
        shutil.rmtree(well.workspace.state / "live")
        for path in well.workspace.state.glob("catalog*"):
            path.unlink()
        [finding] = [one for one in plan(well.workspace, well.edges) if one.kind == "missing-ref"]
        assert "refs/remotes/origin/gitmem/project" in finding.what
        well.run("doctor", "-y")
        assert well.tip() == tip

    def test_the_newest_that_exists_whole_is_taken(self, well: Ground) -> None:
        whole = well.tip()
        tip = well.learn({"reviewer/late.md": memory("late")})
        loose(well, tip).unlink()
        (well.repo / ".git" / REF).unlink()
        well.run("doctor")
        assert well.tip() == whole

    def test_nothing_is_left_to_bring_back(self, well: Ground, git: Git) -> None:
        loose(well, well.tip()).unlink()
        git("-C", well.repo, "update-ref", "-d", REF)
        row = next(row for row in rows(well, "-y", code=1) if row["kind"] == "missing-ref")
        assert row["can_mend"] is False and "backup" in str(row["mend"])

    @pytest.mark.parametrize(
        "kind",
        often(
            ["code", "tag", "blob", "missing", "damaged", "link", "empty file"], "code", "missing", "link"
        ),
    )
    def test_a_ref_that_points_at_something_else(self, well: Ground, git: Git, kind: str) -> None:
        """It is put back, and what it pointed at is kept or named."""
        tip, file = well.tip(), well.repo / ".git" / REF
        head = git("-C", well.repo, "rev-parse", "HEAD")
        if kind == "code":
            odd = head
        elif kind == "tag":
            git("-C", well.repo, "tag", "-a", "-m", "t", "v1", tip)
            odd = git("-C", well.repo, "rev-parse", "v1")
        elif kind == "blob":
            odd = git("-C", well.repo, "hash-object", "-w", "--stdin", input="x")
        elif kind == "damaged":
            odd = git("-C", well.repo, "commit-tree", "-m", "x", f"{tip}^{{tree}}", "-p", tip)
            overwrite(loose(well, odd), b"garbage")
        else:
            odd = "1" * 40
        file.write_text({"link": "ref: refs/heads/main\n", "empty file": ""}.get(kind, f"{odd}\n"))
        [row] = [row for row in rows(well) if row["kind"] == "odd-ref"]
        assert well.tip() == tip
        assert git("-C", well.repo, "symbolic-ref", "-q", REF, check=False) == ""
        assert git("-C", well.repo, "rev-parse", "main") == head
        assert "from its reflog" in str(row["mend"])
        if kind == "code":
            newest = well.workspace.code.reflog(REF)[0]
            assert (newest.old, newest.new) == (odd, tip), "the reflog has what it was moved away from"
        if kind in ("code", "tag", "blob"):
            assert odd in rescued(well).values()
        elif kind == "link":
            assert "refs/heads/main" in str(row["done"])
        elif kind == "empty file":
            assert list((well.workspace.state / "rescued").iterdir())
        elif kind == "missing":
            assert odd in str(row["done"])
        assert found(well) == []

    def test_lines_that_went_apart_are_both_kept(self, well: Ground, git: Git) -> None:
        """Two records show commits of which neither holds the other, and no log says which counts."""
        base = well.tip()
        one = well.learn({"reviewer/one.md": memory("one")})
        move_ref(well.workspace.code, REF, base, one, "gitmem test")
        two = well.learn({"reviewer/two.md": memory("two")})
        [record] = well.workspace.state.glob("live/*.json")
        for name, oid in (("a", one), ("b", two)):
            text = json.loads(record.read_text()) | {"base": oid}
            record.with_name(f"{name}.json").write_text(json.dumps(text))
        git("-C", well.repo, "update-ref", "-d", REF)
        well.run("doctor", "-y")
        assert {well.tip(), *rescued(well).values()} == {one, two}

    def test_what_a_ref_was_moved_away_from_is_not_brought_back(self, well: Ground) -> None:
        base = well.tip()
        away = well.learn({"reviewer/one.md": memory("one")})
        move_ref(well.workspace.code, REF, base, away, "gitmem test")
        (well.repo / ".git" / REF).unlink()
        well.run("doctor")
        assert well.tip() == base and rescued(well) == {}

    def test_a_branch_in_the_way_is_named(self, well: Ground, git: Git) -> None:
        git("-C", well.repo, "branch", "gitmem")
        [row] = rows(well, "-y", code=1)
        assert row["kind"] == "branch-in-the-way" and "git branch -m gitmem" in str(row["mend"])
        assert git("-C", well.repo, "branch", "--list", "gitmem").strip() == "gitmem"


class TestObjects:
    def blob(self, ground: Ground, path: str = "reviewer/ports.md", scope: str = "project") -> str:
        where = ground.workspace.scope(scope)
        entry = where.repo.tree(where.repo.commit(ground.tip(scope)).tree)[path.split("/")[0]]
        return where.repo.tree(entry.oid)[path.split("/")[1]].oid

    def test_blobs_come_back_from_a_live_directory(self, well: Ground, git: Git) -> None:
        lost = {
            path: self.blob(well, path)
            for path in (f"reviewer/{name}.md" for name in ("ports", "db", "api"))
        }
        missing, damaged, empty = (loose(well, oid) for oid in lost.values())
        missing.unlink()
        overwrite(damaged, b"garbage")
        overwrite(empty, b"")
        for oid in lost.values():
            loose(well, oid, "local").unlink(missing_ok=True)
        told = well.run("doctor").out
        assert all(path in told for path in lost) and "3 objects put back" in told
        for path, oid in lost.items():
            assert git("-C", well.repo, "cat-file", "blob", oid) + "\n" == memory(Path(path).stem)
        assert git("-C", well.repo, "fsck") == ""
        assert found(well) == []

    def test_a_blob_comes_back_from_the_other_repository(self, well: Ground) -> None:
        where = well.workspace.scope("user")
        data = memory("shared text")
        well.learn({"main/x.md": data})
        well.learn({"main/x.md": data}, scope="user")
        oid = self.blob(well, "main/x.md", "user")
        loose(well, oid, "user").unlink()
        well.run("doctor")
        assert where.repo.blob(oid).decode() == data

    def test_the_commit_that_every_memory_begins_with_is_made_again(self, well: Ground, git: Git) -> None:
        root = git("-C", well.repo, "rev-list", "--max-parents=0", REF)
        (well.repo / ".git" / "objects" / root[:2] / root[2:]).unlink()
        assert found(well) == ["object"]
        well.run("doctor", "-y")
        assert found(well) == []
        assert git("-C", well.repo, "rev-list", "--max-parents=0", REF) == root

    def test_any_object_comes_back_from_the_remote(self, well: Ground, git: Git, tmp_path: Path) -> None:
        git("init", "-q", "--bare", tmp_path / "team.git")
        git("-C", well.repo, "remote", "add", "origin", tmp_path / "team.git")
        well.run("share", "-y")
        first = well.learn({"reviewer/only.md": memory("only", "Nowhere else.")})
        well.learn({"reviewer/only.md": None})
        # What was deleted before it ever left does not leave by itself.
        git("-C", well.repo, "push", "-q", "--no-verify", "origin", "gitmem/project")
        lost = [first, git("-C", well.repo, "rev-parse", f"{first}:reviewer/only.md")]
        lost.append(git("-C", well.repo, "rev-parse", f"{first}:reviewer"))
        for oid in lost[1:]:
            loose(well, oid).unlink()
        [row] = [row for row in rows(well, code=1) if row["kind"] == "object"]
        assert row["asks"] and row["done"] == ""
        well.run("doctor", "-y")
        assert git("-C", well.repo, "fsck") == ""
        assert git("-C", well.repo, "show", f"{first}:reviewer/only.md").endswith("Nowhere else.")

    def test_what_is_gone_for_good_is_named(self, well: Ground) -> None:
        first = well.learn({"reviewer/only.md": memory("only", "Nowhere else.")})
        loose(well, self.blob(well, "reviewer/only.md")).unlink()
        [row] = rows(well, "-y", code=1)
        assert row["kind"] == "object" and row["can_mend"] is False
        assert f"reviewer/only.md (in {first[:12]})" in str(row["what"])
        assert "git mem restore" in str(row["mend"])

    def test_what_a_shallow_clone_left_out_is_no_damage(self, well: Ground, git: Git) -> None:
        tip = well.tip()
        older = git("-C", well.repo, "rev-list", tip).split()[1:]
        (well.repo / ".git/shallow").write_text(f"{tip}\n")
        for oid in older:
            loose(well, oid).unlink()
        assert found(well) == []


class TestTrees:
    def put(self, ground: Ground, entries: dict[str, TreeEntry]) -> None:
        """A commit that holds entries in the agent's folder, made past gitmem."""
        repo, tip = ground.workspace.code, ground.tip()
        top = dict(repo.tree(repo.commit(tip).tree))
        folder = {**repo.tree(top["reviewer"].oid), **entries}
        top["reviewer"] = TreeEntry(TREE, repo.add_tree(folder))
        made = repo.add_commit(repo.add_tree(top), (tip,), ANN, ANN, "odd\n")
        move_ref(repo, REF, made, tip, "test")

    def test_odd_entries_are_reported(self, well: Ground) -> None:
        """And names that some file system takes for one, and one that would steer the terminal."""
        blob = well.workspace.code.add_blob(memory("x").encode())
        alike = ("Ports.md", "\u00e9.md", "e\u0301.md")
        entries = {name: TreeEntry(0o100644, blob) for name in alike}
        entries["link.md"] = entries["x\x1b[31m.md"] = TreeEntry(LINK, blob)
        entries |= {"run.md": TreeEntry(EXECUTABLE, blob), "module.md": TreeEntry(SUBMODULE, well.tip())}
        self.put(well, entries)
        told = rows(well, "-n", code=1)
        assert {row["kind"] for row in told} == {"tree"} and not any(row["can_mend"] for row in told)
        said = "\n".join(str(row["what"]) for row in told)
        odd = {"link.md": "symbolic link", "run.md": "executable", "module.md": "submodule"}
        for name, word in (odd | dict.fromkeys(alike, "")).items():
            assert any(f"reviewer/{name}" in line and word in line for line in said.splitlines()), name
        assert "\x1b" not in well.run("doctor", "-n", code=1).out

    def test_a_newer_format_is_named(self, well: Ground) -> None:
        repo, tip = well.workspace.code, well.tip()
        top = dict(repo.tree(repo.commit(tip).tree))
        top[".gitmem"] = TreeEntry(0o100644, repo.add_blob(b"format = 7\n"))
        made = repo.add_commit(repo.add_tree(top), (tip,), ANN, ANN, "newer\n")
        move_ref(repo, REF, made, tip, "test")
        row = next(row for row in rows(well, "-n", code=1) if row["kind"] == "format")
        assert "format 7" in str(row["what"]) and "newer gitmem" in str(row["mend"])


class TestNotes:
    def test_what_nobody_can_use_any_more_goes_unasked(self, well: Ground) -> None:
        """What processes left that died."""
        turn = aged(well.repo / ".git/gitmem/turn-0123456789abcdef.lock", 10)
        lock = dream_lock(well, f"{DEAD} 1790000000.000000")
        assert str(DEAD.pid) in well.run("doctor").out
        assert not turn.exists()
        # Its time says when memory was last consolidated, and is put back.
        assert lock.read_text() == "" and lock.stat().st_mtime == 1_790_000_000

    def test_what_is_in_use_is_no_finding(self, well: Ground) -> None:
        """The record of a folder that vanished is what tells a deletion from a folder that never was."""
        note = well.workspace.state / "worker.json"
        note.write_text(json.dumps({"process": str(process_identity()), "since": "", "events": []}))
        put(well.workspace.state / "spool", Job("stop", str(well.repo)))
        dream_lock(well, f"{process_identity()} 0.000000")
        shutil.rmtree(well.folder())
        others = ("refs/heads/main", "index", "refs/remotes/origin/main", "HEAD")
        locks = [aged(well.repo / ".git" / f"{name}.lock", 7200) for name in others]
        assert found(well) == []
        assert note.exists() and all(path.exists() for path in locks)

    def test_what_mends_itself_is_no_finding(self, well: Ground, git: Git, tmp_path: Path) -> None:
        """The note of a dead worker, records of no use, and a catalog that is behind, then damaged."""
        tree = tmp_path / "other"
        # Without hooks: their worker would be at work beside the test.
        quiet = ("-c", "core.hooksPath=/dev/null")
        git("-C", well.repo, *quiet, "worktree", "add", "-q", "-b", "other", tree)
        (tree / ".claude/agent-memory/reviewer").mkdir(parents=True)
        [record] = well.workspace.state.glob("live/*.json")
        well.run("-C", tree, "save")
        git("-C", well.repo, "worktree", "remove", "--force", tree)
        record.write_text("{")
        note = well.workspace.state / "worker.json"
        note.write_text(json.dumps({"process": str(DEAD), "since": "", "events": ["stop"]}))
        well.run("recall", "ports")
        well.learn({"reviewer/late.md": memory("late")})
        well.tick(2 * DAY)
        assert found(well) == []
        catalog = well.workspace.state / "catalog.sqlite"
        for damaged in (b"garbage" * 1000, catalog.read_bytes()[:9000]):
            for path in well.workspace.state.glob("catalog.sqlite-*"):
                path.unlink()
            catalog.write_bytes(damaged)
            assert found(well) == [] and "late" in well.run("recall", "late").out
        well.run("save")
        assert json.loads(record.read_text())["path"] == str(well.folder())
        worker.work(well.repo / ".git", {}, lambda *_: None)
        assert not note.exists()

    def test_jobs_without_a_worker_get_one(self, well: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
        started: list[Path] = []
        monkeypatch.setattr(doctor, "start_worker", lambda common, environ: started.append(common))
        put(well.workspace.state / "spool", Job("stop", str(well.repo)))
        [row] = [row for row in rows(well) if row["kind"] == "waiting-jobs"]
        assert row["done"] == "started the worker"
        [row] = [row for row in rows(well, "-n", code=1) if row["kind"] == "waiting-jobs"]
        assert not row["done"]
        place = find_repository(well.repo)
        assert place is not None and started == [place[1]]

    def test_failed_jobs_run_again_when_asked(self, well: Ground) -> None:
        spool = well.workspace.state / "spool"
        failed = spool / "failed"
        failed.mkdir(parents=True)
        made = put(spool, Job("stop", str(well.repo)))
        made.rename(failed / f"{made.name}.try4")
        (failed / f"{made.name}.try4.error").write_text("Traceback\nValueError: no luck\n")
        assert "ValueError: no luck" in well.run("doctor", code=1).out
        assert list(failed.iterdir())
        well.run("doctor", "-y")
        assert list(failed.iterdir()) == []
        assert [path.name for path in spool.glob("*.json*")] == [f"{made.name}-again"]


class TestLocks:
    def test_locks_of_nobody_known_are_removed_when_a_person_agrees(self, well: Ground) -> None:
        names = (
            REF, "refs/heads/gitmem/project", "refs/remotes/origin/gitmem/project", "refs/heads/gitmem",
            "packed-refs", "reftable/tables.list",
        )  # fmt: skip
        paths = [aged(well.repo / ".git" / f"{name}.lock", 7200) for name in names]
        paths.append(aged(well.workspace.private_path / "refs/heads/user.lock", 7200))
        told = well.run("doctor", code=1).out
        assert told.count("not done") == len(paths) and told.count("blocks every write") == len(paths)
        assert all(path.exists() for path in paths)
        well.run("doctor", "-y")
        assert not any(path.exists() for path in paths)

    def test_a_lock_that_goes_by_itself_is_none(self, well: Ground) -> None:
        path = aged(well.repo / ".git" / f"{REF}.lock", 0)
        well.patch.setattr("gitmem.app.doctor.time.sleep", lambda _: path.unlink())
        assert found(well) == []

    def test_a_lock_that_changes_meanwhile_has_an_owner(self, well: Ground) -> None:
        path = aged(well.repo / ".git" / f"{REF}.lock", 7200)
        [finding] = plan(well.workspace, well.edges)
        path.write_text("somebody")
        assert finding.act is not None
        with pytest.raises(Exception, match="changed meanwhile"):
            finding.act()
        assert path.exists()


class TestInstalled:
    def test_hooks_that_another_tool_replaced_are_put_beside_it(self, well: Ground) -> None:
        hook = well.repo / ".git/hooks/post-commit"
        hook.write_text("#!/bin/sh\necho theirs\n")
        hook.chmod(0o755)
        (well.repo / ".git/hooks/post-merge").unlink()
        settings = well.repo / ".claude/settings.local.json"
        settings.write_text('{"model": "opus"}\n')
        told = well.run("doctor", code=1).out
        assert "post-commit is another tool's alone" in told and "post-merge is missing" in told
        assert "claude-hooks" in told
        well.run("doctor", "-y")
        assert b"echo theirs" in hook.read_bytes() and b">>> gitmem >>>" in hook.read_bytes()
        assert (well.repo / ".git/hooks/post-merge").exists()
        client = json.loads(settings.read_text())
        assert client["model"] == "opus" and "Stop" in client["hooks"]
        assert found(well) == []

    def test_hooks_that_belong_to_another_tool_are_advice(self, well: Ground, git: Git) -> None:
        git("-C", well.repo, "config", "core.hooksPath", ".husky")
        rows_ = [row for row in rows(well, "-y", code=1) if row["kind"] == "git-hooks"]
        assert any(not row["can_mend"] and "git mem init --chain" in str(row["mend"]) for row in rows_)

    def test_a_private_repository_that_is_gone(self, well: Ground) -> None:
        """What stands in live directories is saved again."""
        folder = well.folder("local")
        (folder / "mine.md").write_text(memory("mine"))
        well.run("save")
        shutil.rmtree(well.workspace.private_path)
        told = well.run("doctor", code=1).out
        assert "private-repository" in told and "is missing" in told
        well.run("doctor", "-y")
        assert "reviewer/mine.md" in well.tree("local")

    def test_settings_that_mean_nothing(self, well: Ground, git: Git) -> None:
        names = ("share", "extract", "engine")
        for name in names:
            git("config", "--global", f"gitmem.{name}", "sometimes")
        told = [str(row["what"]) for row in rows(well, "-n", code=1) if row["kind"] == "setting"]
        for name in names:
            assert any(f"gitmem.{name}" in what and "sometimes" in what for what in told), name

    def test_a_project_id_that_two_repositories_share(self, well: Ground, git: Git, tmp_path: Path) -> None:
        """A copied repository that was given another origin brings its configuration along."""
        copy = tmp_path / "copy"
        shutil.copytree(well.repo, copy)
        git("-C", copy, "remote", "add", "origin", "https://example.com/other.git")
        (copy / ".claude/agent-memory-local/reviewer").mkdir(parents=True)
        (copy / ".claude/agent-memory-local/reviewer/x.md").write_text(memory("x"))
        well.run("-C", copy, "save")
        [row] = [row for row in rows(well, "-n", code=1) if row["kind"] == "project-id"]
        assert str(copy) in str(row["what"])
