"""What a purge could not reach is named: a remote, an object that something refers to, a file."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from memory_files import learned

from gitmem.core.errors import RepositoryError
from gitmem.core.purge import Purge
from gitmem.core.trailers import Provenance
from gitmem.git.refs import move_ref
from gitmem.git.remote import Move, Pushed, Remote
from gitmem.git.repository import Signature
from gitmem.git.trees import write_tree
from gitmem.ledger import purge
from gitmem.ledger.epochs import epoch_of
from gitmem.ledger.erase import erase_old, existing, left_behind, old_tips
from gitmem.ledger.layout import LiveDirectory, read_record
from gitmem.ledger.proposals import make, open_tips, suggestions_of
from gitmem.ledger.purge import MOST_LEFT, LeftPlace, PurgePlan, Purging, RefPlan, Target, look_at_files
from gitmem.ledger.save_plan import SaveRequest
from gitmem.ledger.working_copy import save
from gitmem.ledger.workspace import DOCS_REF, SHARED_REF, Workspace, open_workspace

SECRET = "copper-lynx-8812-quito"
PURGE = Purge(frozenset({SECRET}))
ANN = Signature("Ann", "ann@example.com", 1_800_000_000)
DREAM = "refs/heads/gitmem/dream/d-1"


@pytest.fixture
def shared(workspace: Workspace, git: Callable[..., str]) -> Workspace:
    """Memory that holds it, with a dream on it, shared with nobody yet."""
    git("-C", workspace.code.git_dir, "config", "gitmem.share", "direct")
    opened = open_workspace(workspace.around, workspace.code.git_dir.parent)
    learn(opened, "main/a.md")
    move_ref(opened.code, DREAM, opened.code.ref(SHARED_REF), None, "dream")
    return opened


def learn(workspace: Workspace, path: str) -> None:
    learned(workspace.scope("project"), {path: f"It is {SECRET}.\n"}, ANN.time)


def purging(workspace: Workspace) -> Purging:
    return Purging(workspace, Target(PURGE), "0123abcd", ANN)


def test_where_memory_stood_is_known_until_all_is_clean(shared: Workspace) -> None:
    """Nothing was laid out from a side branch."""
    before, work = shared.code.ref(SHARED_REF), purging(shared)
    learn(shared, "main/b.md")
    once = shared.code.ref(SHARED_REF)
    move_ref(shared.code, SHARED_REF, before, once, "back")
    work.rewrite()
    assert {before, once} <= {*old_tips(shared.code)}, "the log of the ref names both"
    assert {ref.ref for ref in work.done.refs} == {SHARED_REF, DREAM}
    assert left_behind(shared.code) == ((SHARED_REF, before),)
    work.scrub()
    assert left_behind(shared.code) == () and work.finish().left == ()


def test_a_remote_that_goes_away_meanwhile_is_told(shared: Workspace, git, tmp_path, monkeypatch) -> None:
    def away(*_: object) -> None:
        raise RepositoryError("it went away")

    bare, at = tmp_path / "team.git", shared.code.git_dir
    git("init", "-q", "--bare", bare)
    git("-C", at, "remote", "add", "origin", bare)
    git("-C", at, "push", "-q", "origin", SHARED_REF)
    monkeypatch.setattr(purge.Remote, "push_all", away)
    work = purging(open_workspace(shared.around, at.parent))
    work.rewrite()
    assert (work.done.pushed, work.done.unreachable) == ((), "it went away")


def test_a_remote_that_is_missing_or_refuses_is_told(shared: Workspace, git, tmp_path: Path) -> None:
    work = purging(shared)
    work.rewrite()
    assert "no remote" in work.done.unreachable
    bare = tmp_path / "team.git"
    git("init", "-q", "--bare", bare)
    at = shared.code.git_dir
    git("-C", at, "remote", "add", "origin", bare)
    learn(shared, "main/b.md")
    git("-C", at, "push", "-q", "origin", SHARED_REF)
    (bare / "hooks/update").write_text("#!/bin/sh\nexit 1\n")
    (bare / "hooks/update").chmod(0o755)
    work = purging(open_workspace(shared.around, at.parent))
    work.rewrite()
    ((branch, _),) = work.done.refused
    assert (branch, work.done.pushed, work.done.unreachable) == (SHARED_REF, (), "")
    assert shared.code.ref("refs/remotes/origin/gitmem/project") is None, "it holds it still"


@pytest.fixture
def team(shared: Workspace, git: Callable[..., str], tmp_path: Path) -> Path:
    """Where it is shared: the memory branch and the dream."""
    bare, at = tmp_path / "team.git", shared.code.git_dir
    git("init", "-q", "--bare", bare)
    git("-C", at, "remote", "add", "origin", bare)
    git("-C", at, "push", "-q", "origin", SHARED_REF, DREAM)
    return bare


@pytest.mark.parametrize("moves", [True, False])
def test_a_branch_that_others_move_is_pushed_again_and_one_that_stays_was_refused(
    shared: Workspace, git: Callable[..., str], team: Path, monkeypatch: pytest.MonkeyPatch, moves: bool
) -> None:
    """After each lost race it waits a little longer, and not without end."""
    monkeypatch.setattr(purge, "TRIES", 3)
    asked: list[list[str]] = []
    pauses: list[int] = []
    push_all = purge.Remote.push_all

    def push(remote: Remote, given: list[Move]) -> dict[str, Pushed]:
        asked.append([one.branch for one in given])
        if not moves:
            others = [one for one in given if one.branch != SHARED_REF]
            raced = {SHARED_REF: Pushed("race", "moved")} if len(given) > len(others) else {}
            return push_all(remote, others) | raced
        tree = git("-C", team, "rev-parse", f"{SHARED_REF}^{{tree}}").strip()
        made = git("-C", team, "commit-tree", "-p", SHARED_REF, "-m", f"{len(asked)}", tree).strip()
        git("-C", team, "update-ref", SHARED_REF, made)
        return {one.branch: Pushed("race", "moved") for one in given}

    monkeypatch.setattr(purge.Remote, "push_all", push)
    workspace = open_workspace(shared.around, shared.code.git_dir.parent)
    work = Purging(workspace, Target(PURGE), "0123abcd", ANN, pause=pauses.append)
    work.rewrite()
    done = work.done
    if moves:
        assert pauses == [1, 2, 3] and [SHARED_REF in some for some in asked] == [True] * 3
        assert (done.pushed, done.refused) == ((), ())
        assert done.unreachable == "it kept moving under 3 pushes"
    else:
        assert (pauses, asked) == ([1], [[DREAM, SHARED_REF], [DREAM]])
        assert (done.pushed, done.refused, done.unreachable) == ((DREAM,), ((SHARED_REF, "moved"),), "")


def test_what_only_changes_to_documents_hold_says_how_to_drop_them(shared: Workspace) -> None:
    """Where the code has it, too, that alone is told; a log keeps what a ref had."""
    repo = shared.code
    files = {f"{name}.txt": f"{name}: {SECRET}".encode() for name in ("docs", "code", "log")}
    one, two, three = (
        repo.add_commit(write_tree(repo, None, dict(some)), (), ANN, ANN, "Code\n")
        for some in ([*files.items()][:2], [*files.items()][1:2], [*files.items()][2:])
    )
    move_ref(repo, DOCS_REF, one, None, "docs")
    for old, new in ((None, three), (three, two)):
        move_ref(repo, "refs/heads/code", new, old, "code")
    loose = repo.add_blob(f"Loose {SECRET}".encode())
    work = purging(shared)
    work.rewrite()
    other = "a ref, index or log that is not gitmem's refers to it"
    found = {one.where: one.why for one in work.finish().left}
    assert found == {
        "docs.txt in the code repository": purge.PROPOSED,
        "code.txt in the code repository": other,
        "log.txt in the code repository": other,
    }
    assert not existing(repo, [loose])


def test_without_sharing_no_remote_is_looked_for(workspace: Workspace) -> None:
    learn(workspace, "main/a.md")
    work = purging(workspace)
    work.rewrite()
    assert (work.done.unreachable, work.done.pushed, work.done.commits) == ("", (), 1)


def test_a_remote_that_cannot_be_reached_is_told(shared: Workspace, git: Callable[..., str]) -> None:
    git("-C", shared.code.git_dir, "remote", "add", "origin", "/nowhere/team.git")
    work = purging(open_workspace(shared.around, shared.code.git_dir.parent))
    work.rewrite()
    assert work.done.unreachable and (work.done.commits, work.done.pushed) == (1, ())


def test_a_memory_that_goes_whole_is_looked_for_by_its_content(shared: Workspace) -> None:
    """The code has the same file: there it stays, and that is told."""
    repo, files = shared.code, {"src/a.md": f"It is {SECRET}.\n".encode()}
    code = repo.add_commit(write_tree(repo, None, files), (), ANN, ANN, "Code\n")
    move_ref(repo, "refs/heads/code", code, None, "code")
    target = Target(Purge(memories=frozenset({"main/a.md"})), "project")
    work = Purging(shared, target, "0123abcd", ANN)
    work.rewrite()
    assert [one.where for one in work.finish().left] == ["src/a.md in the code repository"]


def test_a_memory_of_a_private_scope_is_rewritten_in_its_own_line(workspace: Workspace) -> None:
    for scope in ("user", "local"):
        learned(workspace.scope(scope), {"main/a.md": "A\n"}, ANN.time)  # type: ignore[arg-type]
    target = Target(Purge(memories=frozenset({"main/a.md"})), "local")
    found = purge.rewritable(workspace, workspace.private, True, target)
    assert found.own.keys() == {workspace.scope("local").ref} and found.tracking == {}


def test_a_purge_says_what_it_would_rewrite_and_then_what_it_did(shared: Workspace, team: Path) -> None:
    paths = tuple(f"main/{letter}.md" for letter in "abcdefg")
    learned(shared.scope("project"), dict.fromkeys(paths[1:], f"It is {SECRET}.\n"), ANN.time)
    target = Target(PURGE)
    plan = purge.plan_purge(shared, target)
    tracking = "refs/remotes/origin/gitmem/"
    assert [(ref.ref, ref.private) for ref in plan.refs] == [
        (DREAM, False), (SHARED_REF, False), (f"{tracking}dream/d-1", False), (f"{tracking}project", False),
    ]  # fmt: skip
    assert (plan.commits, plan.held, plan.paths, plan.live, plan.unfinished) == (
        2, 2, paths, (), False,
    )  # fmt: skip
    work = Purging(
        open_workspace(shared.around, shared.code.git_dir.parent), target, "0123abcd", ANN, push=False
    )
    work.rewrite()
    assert (work.done.pushed, work.done.unreachable, work.done.commits, work.done.unsigned) == (
        (),
        "",
        2,
        0,
    )
    assert work.done.refs == plan.refs and purge.plan_purge(shared, target).unfinished
    work.scrub()
    done = work.finish()
    assert (done.files, done.erased, done.scanned, done.left) == (0, 8, 16, ())


def test_the_memory_branch_alone_is_told_of_a_purge_where_it_is_pushed(shared, git, team: Path) -> None:
    """A dream that waits there is rewritten commit by commit."""

    def commits() -> list[int]:
        return [int(git("-C", team, "rev-list", "--count", ref)) for ref in (SHARED_REF, DREAM)]

    before, work = commits(), purging(open_workspace(shared.around, shared.code.git_dir.parent))
    work.rewrite()
    assert sorted(work.done.pushed) == sorted((SHARED_REF, DREAM)) and work.done.refused == ()
    assert commits() == [before[0] + 1, before[1]]
    assert shared.code.ref(SHARED_REF) == git("-C", team, "rev-parse", SHARED_REF).strip()


def test_what_the_code_refers_to_is_listed_and_not_all_of_too_much(shared: Workspace) -> None:
    """Also where other objects are borrowed."""
    repo = shared.code
    files = {f"src/{n}.txt": f"{n}: {SECRET}".encode() for n in range(MOST_LEFT + 1)}
    code = repo.add_commit(write_tree(repo, None, files), (), ANN, ANN, "Code\n")
    move_ref(repo, "refs/heads/code", code, None, "code")
    (repo.git_dir / "objects/info/alternates").write_text("/nowhere\n")
    work = purging(shared)
    work.rewrite()
    left = work.finish().left
    assert len(left) == MOST_LEFT and left[0].where.endswith(".txt in the code repository")
    assert {one.why for one in left} == {"a ref, index or log that is not gitmem's refers to it"}


def test_what_the_index_of_the_code_holds_is_named_by_its_path(shared: Workspace, git) -> None:
    blob = shared.code.add_blob(f"It is {SECRET}.\n".encode())
    staged = f"100644,{blob},src/staged.txt"
    git("-C", shared.code.git_dir.parent, "update-index", "--add", "--cacheinfo", staged)
    work = purging(shared)
    work.rewrite()
    assert [one.where for one in work.finish().left] == ["src/staged.txt in the code repository"]


def test_what_a_process_wrote_meanwhile_goes_and_what_stays_is_told_once(shared, monkeypatch) -> None:
    work = purging(shared)
    work.rewrite()
    work.scrub()
    late = shared.state / "late.txt"
    late.parent.mkdir(parents=True, exist_ok=True)
    late.write_text(f"It is {SECRET}.\n")
    one, other = LeftPlace("one", "tracked"), LeftPlace("other", "it cannot be written")
    work.done = replace(work.done, left=(one,))
    monkeypatch.setattr(purge, "look_at_files", lambda *_: [LeftPlace("one", "again"), other])
    assert work.finish().left == (one, other)
    assert not late.exists() or SECRET not in late.read_text()


@pytest.mark.parametrize("stays", [True, False])
def test_a_pack_that_held_it_is_written_anew_and_nothing_is_left_of_the_old(
    workspace: Workspace, stays: bool
) -> None:
    repo, folder = workspace.code, workspace.code.git_dir / "objects/pack"
    gone, other = repo.add_blob(b"Gone\n"), repo.add_blob(b"Stays\n")
    packed = [gone, *([other] if stays else [])]
    given = "".join(f"{oid}\n" for oid in packed).encode()
    name = repo.git.run(
        ["pack-objects", "--quiet", str(folder / "pack")], git_dir=repo.git_dir, input=given
    ).text
    for oid in packed:
        (repo.git_dir / "objects" / oid[:2] / oid[2:]).unlink()
    old = {path.suffix: path for path in folder.glob(f"pack-{name.strip()}.*")}
    old |= {end: old[".pack"].with_suffix(end) for end in (".keep", ".bitmap", ".mtimes", ".rev")}
    for end in (".keep", ".bitmap"):
        old[end].write_bytes(b"")
    os.utime(old[".pack"], (1_700_000_000, 1_700_000_000))
    assert erase_old(repo, (workspace.state,), {gone}) == 1
    assert existing(repo, [gone, other]) == [other]
    assert not any(path.exists() for path in old.values())
    made = sorted(path.suffix for path in folder.iterdir() if path.suffix in (".idx", ".keep", ".pack"))
    assert made == ([".idx", ".keep", ".pack"] if stays else [])
    assert {path.stat().st_mtime for path in folder.glob("*.pack")} <= {1_700_000_000}


def test_a_file_that_holds_it_is_listed(workspace: Workspace, live: LiveDirectory) -> None:
    path = live.path / "a.md"
    path.write_text(SECRET)
    assert look_at_files(workspace, PURGE) == [LeftPlace(str(path), "it cannot be written")]
    assert look_at_files(workspace, replace(PURGE, texts=frozenset())) == []


def test_live_files_that_held_it_are_counted(workspace: Workspace, live: LiveDirectory) -> None:
    for name in "abc":
        (live.path / f"{name}.md").write_text(f"{name}: {SECRET if name != 'c' else 'nothing'}\n")
    save(SaveRequest(live, ANN.time, ANN))
    work = purging(workspace)
    work.rewrite()
    work.scrub()
    assert (work.done.files, work.done.left) == (2, ())
    assert SECRET not in (live.path / "a.md").read_text()
    record = read_record(workspace.state, live.key)
    assert record and epoch_of(workspace.code, record.base).mark == "0123abcd", (
        "it is the base of what is written next"
    )


@pytest.mark.parametrize(
    ("plan", "does"),
    [
        (PurgePlan((), 0, 0, ()), False),
        (PurgePlan((), 1, 1, ("main/a.md",)), False),
        (PurgePlan((RefPlan("refs/x", True),), 0, 0, ()), True),
        (PurgePlan((), 0, 0, (), live=(Path("a.md"),)), True),
        (PurgePlan((), 0, 0, (), unfinished=True), True),
    ],
)
def test_a_plan_that_moves_nothing_is_none(plan: PurgePlan, does: bool) -> None:
    assert bool(plan) is does


@pytest.mark.parametrize(("scope", "left"), [("user", ["s-2", "s-3"]), ("local", ["s-1", "s-3"])])
def test_what_waits_about_a_memory_goes_with_it(workspace: Workspace, scope: str, left: list[str]) -> None:
    family = suggestions_of(workspace)
    for id, name, path in (("s-1", "user", "a"), ("s-2", "local", "a"), ("s-3", scope, "b")):
        edits, record = {f"main/{path}.md": b"B\n"}, f'{{"scope": "{name}"}}'.encode()
        assert make(family, id, {}, edits, record, "Learn", Provenance("add"), "why", ANN)
    purge = Purge(memories=frozenset({"main/a.md"}))
    Purging(workspace, Target(purge, scope), "0123abcd", ANN).rewrite()
    assert [*open_tips(family)] == left


def test_what_waits_about_a_memory_of_the_project_leaves_no_object(shared: Workspace) -> None:
    """It waits in the private repository, where nothing else is to be done."""
    family, text = suggestions_of(shared), b"Of the project\n"
    edits, record = {"main/a.md": text}, b'{"scope": "project"}'
    assert make(family, "s-1", {}, edits, record, "Learn", Provenance("add"), "why", ANN)
    target = Target(Purge(memories=frozenset({"main/a.md"})), "project")
    work = Purging(shared, target, "0123abcd", ANN)
    work.rewrite()
    blob = shared.private.add_blob(text)
    assert existing(shared.private, [blob]) == [blob] and work.finish().erased
    assert not existing(shared.private, [blob])


@pytest.mark.parametrize(
    ("scope", "private", "code"), [("", True, True), ("project", False, True), ("local", True, False)]
)
def test_a_memory_is_in_the_repository_of_its_scope_and_a_text_in_any(
    scope: str, private: bool, code: bool
) -> None:
    assert (Target(PURGE, scope).concerns(True), Target(PURGE, scope).concerns(False)) == (private, code)
