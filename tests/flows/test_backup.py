"""Private memory in a repository of the person's own: nothing forced, nothing lost, nothing to the team."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from backup_ground import desk, fresh, laptop, refs, safe
from machines import MEMORY, Machine
from planted_secrets import GITHUB

from gitmem.app.worker import work
from gitmem.core.errors import RepositoryError, UsageError
from gitmem.git.refs import move_ref
from gitmem.git.remote import Pushed, Remote, checked_address, same_place, without_credentials
from gitmem.git.trees import write_tree
from gitmem.ledger import backup as flow

__all__ = ["desk", "fresh", "laptop", "safe"]
DREAM = "refs/heads/dream/d-123456"


def test_what_is_private_goes_there_alone_and_plain_git_restores_it(desk, safe, tmp_path, git) -> None:
    there, project = refs(git, safe), desk.workspace.project_id
    assert set(there) == {"refs/heads/user", f"refs/heads/local/{project}", "refs/heads/projects"}
    assert there[f"refs/heads/local/{project}"] == desk.git("rev-parse", f"local/{project}", private=True)
    assert desk.git("config", "--global", "gitmem.backup") == str(safe)
    assert desk.git("config", "remote.backup.url", private=True) == str(safe)
    tracking = refs(git, desk.private)
    assert {ref: tracking[ref.replace("refs/heads/", "refs/remotes/backup/")] for ref in there} == there
    git("clone", "-q", "--branch", f"local/{project}", safe, tmp_path / "plain")
    assert "4000" in (tmp_path / "plain/main/ports.md").read_text()
    assert json.loads(desk.run("sync", "-n", "--json").out)["backup"]["refs"] == []


def test_it_is_shown_and_asked_for_and_without_an_answer_nothing_leaves(fresh, safe, tmp_path, git) -> None:
    project, before = fresh.workspace.project_id, refs(git, fresh.private)
    shown = fresh.run("backup", safe, "-n")
    assert f"would send local/{project} (1 memory)" in shown.out
    rows = [
        {"ref": f"refs/heads/local/{project}", "what": "send", "memories": 1},
        {"ref": "refs/heads/projects", "what": "send", "memories": 0},
    ]
    value = fresh.run("backup", safe, "-n", "--json").json
    assert value == {"url": str(safe), "dry_run": True, "projects": 1, "refs": rows}
    assert refs(git, fresh.private) == before
    assert "git mem backup URL" in fresh.run("backup", code=1).err
    assert "-y" in fresh.run("backup", safe, code=1).err
    refused = fresh.run("backup", tmp_path / "nowhere.git", "-y", code=3)
    assert "git init --bare PATH" in refused.err and "git remote" not in refused.err
    assert "runs commands" in fresh.run("backup", "ext::sh -c true", "-y", code=2).err
    assert refs(git, safe) == {} and fresh.git("config", "--global", "gitmem.backup", check=False) == ""
    # A relative path is kept whole.
    fresh.run("backup", f"../../{safe.name}", "-y")
    assert fresh.git("config", "--global", "gitmem.backup") == str(safe)


def test_another_machine_starts_from_it(laptop: Machine, desk: Machine) -> None:
    assert laptop.memories() == desk.memories()
    assert "4000" in (laptop.auto / "ports.md").read_text()
    assert "tea" in (laptop.home / ".claude/agent-memory/helper/tea.md").read_text()
    assert laptop.git("config", "--global", "gitmem.backup") == laptop.git(
        "config", "remote.backup.url", private=True
    )


def test_a_named_backup_is_the_start_where_no_private_memory_is(machine, desk: Machine, safe: Path) -> None:
    laptop = machine("laptop")
    laptop.git("config", "--global", "gitmem.backup", safe)
    assert f"start from the backup {safe}" in laptop.run("init", "-n").out
    assert not laptop.private.exists()
    laptop.run("init", "-y")
    assert laptop.memories() == desk.memories()
    assert "already" in laptop.run("init", "-y").out


def test_a_backup_out_of_reach_does_not_keep_init_from_starting(machine, tmp_path: Path) -> None:
    laptop = machine("laptop")
    ran = laptop.run("init", "-y", "--backup", tmp_path / "gone.git")
    assert "started without the backup" in ran.err and "gone.git" in ran.err
    laptop.run("remember", "Ports start at 4000.", "--type", "project")
    assert laptop.memories()
    assert laptop.git("config", "--global", "gitmem.backup", check=False) == ""


def test_what_two_machines_learn_meets(desk: Machine, laptop: Machine, safe: Path, git) -> None:
    desk.learn("hosts")
    laptop.learn("names")
    laptop.learn("coffee", scope="user", agent="helper")
    assert desk.run("backup").out == f"{safe}: 0 fetched, 0 merged, 1 sent\n"
    value = laptop.run("backup", "--json").json
    assert (value["fetched"], value["merged"], value["sent"]) == (1, 0, 2)
    assert value["url"] == str(safe) and value["lost_races"] == 0 and value["refused"] == []
    ran = desk.run("backup")
    assert "2 fetched" in ran.out and "undo: git mem restore --all --scope local" in ran.err
    assert {"main/hosts.md", "main/names.md", "main/ports.md"} <= set(desk.memories())
    assert set(desk.memories()) == set(laptop.memories())
    assert set(desk.memories("user")) == set(laptop.memories("user"))
    assert (desk.auto / "names.md").is_file()
    assert desk.run("backup").out == f"{safe}: 0 fetched, 0 merged, 0 sent\n"
    git("--git-dir", safe, "fsck", "--strict")

    # An edit of one claim on both machines is kept twice; unsaved edits in live directories go along.
    desk.learn("ports", "Ports start at 5000.")
    laptop.learn("ports", "Ports start at 6000.")
    laptop.run("status")
    (laptop.auto / "unsaved.md").write_text(MEMORY.format("unsaved", "Written just now."))
    for one in (desk, laptop, desk):
        one.run("backup")
    text = desk.memories()["main/ports.md"]
    assert "5000" in text and "6000" in text and "disputed" in text
    assert desk.memories() == laptop.memories()
    assert "Written just now." in (desk.auto / "unsaved.md").read_text()


def test_a_lost_race_is_run_again_till_the_backup_never_stands_still(desk, laptop, monkeypatch) -> None:
    desk.learn("hosts")
    laptop.learn("names")
    theirs, push = laptop.workspace, Remote.push_all
    raced = []

    def slow(remote: Remote, moves):
        if not raced:
            raced.append(1)
            flow.back_up(theirs, theirs.settings.get("backup"), frozenset(), lambda _: None, 0.0)
        return push(remote, moves)

    monkeypatch.setattr(Remote, "push_all", slow)
    value = desk.run("backup", "--json").json
    assert value["lost_races"] == 1
    assert {"main/hosts.md", "main/names.md"} <= set(desk.memories())
    laptop.run("backup")
    assert desk.memories() == laptop.memories()
    desk.learn("racks")
    monkeypatch.setattr(
        Remote, "push_all", lambda _, moves: {move.branch: Pushed("race") for move in moves}
    )
    monkeypatch.setattr("gitmem.git.remote.PushPatience.__call__", lambda *_: None)
    assert "kept moving" in desk.run("backup", code=3).err


def dream(one: Machine, name: str = DREAM, text: str = "Dreamt.") -> str:
    """Parks a dream of the local memory, or goes on with the one that is there."""
    scope = one.workspace.scope("local")
    repo, known = scope.repo, scope.repo.ref(name)
    before = repo.commit(known or repo.ref(scope.ref) or "")
    tree = write_tree(repo, before.tree, {"main/dream.md": text.encode()})
    oid = repo.add_commit(tree, (before.oid,), before.author, before.author, "Dream\n")
    move_ref(repo, name, oid, known, "test")
    return oid


def test_a_parked_branch_is_copied_and_goes_where_it_was_decided(desk, laptop, safe, git) -> None:
    oid = dream(desk)
    desk.run("backup")
    # Only looked at, it is not taken for deleted, by a dry run or a fetch by hand.
    laptop.run("backup", "-n")
    laptop.git("fetch", "-q", "backup", private=True)
    laptop.run("backup")
    assert laptop.git("rev-parse", DREAM, private=True) == refs(git, safe)[DREAM] == oid
    laptop.git("update-ref", "-d", DREAM, private=True)
    ran = laptop.run("backup")
    assert "deleted there, as here" in ran.err and DREAM not in refs(git, safe)
    assert "deleted here, as there" in desk.run("backup").err
    assert DREAM not in refs(git, desk.private)


def test_a_branch_changed_on_both_sides_stays_as_it_is_on_both(desk, laptop, safe, git) -> None:
    dream(desk)
    desk.run("backup")
    laptop.run("backup")
    mine, theirs = dream(desk, text="One."), dream(laptop, text="Other.")
    desk.run("backup")
    ran = laptop.run("backup", "--json")
    assert {"ref": DREAM, "what": "leave apart", "memories": 2} in ran.json["refs"]
    assert "on both sides" in ran.err
    assert refs(git, safe)[DREAM] == mine and refs(git, laptop.private)[DREAM] == theirs
    # Deleted here and changed there, it comes back.
    desk.git("update-ref", "-d", DREAM, private=True)
    laptop.git("push", "-q", "--force", "backup", f"{DREAM}:{DREAM}", private=True)
    desk.run("backup")
    assert desk.git("rev-parse", DREAM, private=True) == theirs


def test_memory_that_vanished_on_one_side_is_brought_back(desk: Machine, safe: Path, git) -> None:
    """A ref that is gone is an accident until somebody says otherwise."""
    known = refs(git, desk.private)["refs/heads/user"]
    desk.git("update-ref", "-d", "refs/heads/user", private=True)
    desk.run("backup")
    # What the folder shows is saved before the backup brings the rest: both are in a merge then.
    desk.git("merge-base", "--is-ancestor", known, "refs/heads/user", private=True)
    # Saved anew, a memory that had no line in the index gets one.
    changed = desk.git("diff", "--name-only", known, "refs/heads/user", private=True).splitlines()
    assert set(changed) <= {"helper/MEMORY.md"}
    now = refs(git, desk.private)["refs/heads/user"]
    git("--git-dir", safe, "update-ref", "-d", "refs/heads/user")
    desk.run("backup")
    assert refs(git, safe)["refs/heads/user"] == now


def test_a_deletion_that_the_host_refuses_is_said_and_nothing_fails(desk: Machine, safe: Path, git) -> None:
    dream(desk)
    desk.run("backup")
    git("--git-dir", safe, "config", "receive.denyDeletes", "true")
    desk.git("update-ref", "-d", DREAM, private=True)
    ran = desk.run("backup", "--json")
    assert ran.json["refused"][0]["ref"] == DREAM
    assert "stays in the backup" in ran.err
    desk.run("backup")
    assert DREAM not in refs(git, desk.private), "it was deleted here, and is not copied back"


def test_a_secret_is_not_sent_and_its_memory_is_named(desk: Machine, safe: Path, git) -> None:
    before = refs(git, safe)
    desk.learn("token", f"The token is {GITHUB}.")
    ran = desk.run("backup", code=1)
    assert "main/token.md" in ran.err and GITHUB not in ran.err + ran.out
    assert refs(git, safe) == before


def test_the_teams_remotes_and_the_repository_itself_are_refused(fresh, team, tmp_path, git) -> None:
    git("init", "-q", "--bare", tmp_path / "other.git")
    fresh.git("remote", "add", "other", tmp_path / "other.git")
    fresh.git("remote", "add", "host", "git@example.com:Team/App.git")
    fresh.git("config", "--global", "url.https://example.com/.insteadOf", "ex:")
    before = refs(git, team)
    same = ("ssh://git@example.com/team/app", "https://ann:pw@EXAMPLE.com/Team/App/", "ex:team/app.git")
    for url in (team, team.as_uri(), tmp_path / "other", *same, fresh.code, ".", fresh.private):
        ran = fresh.run("backup", url, "-y", code=2)
        assert "is " in ran.err and "pw" not in ran.err
    assert "is a remote" in fresh.run("init", "-y", "--backup", team, code=2).err
    assert refs(git, team) == before and refs(git, tmp_path / "other.git") == {}


def test_a_backup_that_is_or_leads_to_a_remote_of_the_code_by_now_is_refused(desk, safe, team, git) -> None:
    before = refs(git, team), refs(git, safe)
    desk.learn("hosts")
    key = f"url.{team}.pushInsteadOf"
    desk.git("config", "--global", key, safe)
    assert "is a remote" in desk.run("backup", code=2).err
    desk.git("config", "--global", "--unset", key)
    desk.git("remote", "add", "safe", safe)
    for verb in ("backup", "sync"):
        desk.run(verb, code=2)
    assert (refs(git, team), refs(git, safe)) == before


def test_a_repository_with_code_in_it_is_refused(fresh: Machine, repo: Path, tmp_path: Path, git) -> None:
    code = tmp_path / "code.git"
    git("clone", "-q", "--bare", repo, code)
    assert "no private memory: main" in fresh.run("backup", code, "-y", code=1).err
    assert set(refs(git, code)) == {"refs/heads/main"}
    assert fresh.git("config", "--global", "gitmem.backup", check=False) == ""
    # Also where its branch has the name of memory.
    git("--git-dir", code, "branch", "-m", "main", "user")
    assert "is no memory" in fresh.run("backup", code, "-y", code=3).err
    assert set(refs(git, code)) == {"refs/heads/user"}


def test_an_address_that_git_would_run_is_refused(tmp_path: Path) -> None:
    for url in ("--upload-pack=touch x", "ext::sh -c touch% x", "EXT::x", "fd::3", "", "a\nb"):
        with pytest.raises(UsageError):
            checked_address(url, tmp_path)


def test_credentials_are_never_shown() -> None:
    for url, shown in {
        "https://ann:pw@example.com/x": "https://example.com/x",
        "https://token@example.com/x": "https://example.com/x",
        "https://a:p@ss@example.com/x": "https://example.com/x",
        "ssh://git:pw@example.com/x": "ssh://git@example.com/x",
        "git@example.com:x": "git@example.com:x",
        "no access to 'https://ann:pw@example.com/x/'": "no access to 'https://example.com/x/'",
    }.items():
        assert without_credentials(url) == shown


def test_an_unreachable_host_is_named_without_its_credentials(fresh: Machine) -> None:
    ran = fresh.run("backup", "http://ann:hunter2@127.0.0.1:1/x.git", "-y", code=3)
    assert "127.0.0.1" in ran.err and "hunter2" not in ran.err + ran.out and "ann:" not in ran.err
    fresh.git("config", "--global", "gitmem.backup", "http://ann:hunter2@127.0.0.1:1/x.git")
    for words in (["backup", "--off", "-n"], ["backup", "--off"]):
        ran = fresh.run(*words)
        assert "hunter2" not in ran.err + ran.out and "127.0.0.1" in ran.out


def test_one_place_written_in_several_ways_is_one(tmp_path: Path) -> None:
    for other in (
        "ssh://git@host.com:22/a/b.git",
        "git@HOST.com:a/b",
        "https://x@host.com/A/b/",
        "gcrypt::https://host.com/a/b",
    ):
        assert same_place("https://host.com/a/b", other, tmp_path)
    assert same_place((tmp_path / "a b").as_uri(), "a b.git", tmp_path)
    assert not same_place("https://host.com/a/b", "https://host.com/a/c", tmp_path)


@pytest.mark.parametrize(
    ("machine_kind", "why"), [("fresh", "refused"), ("desk", "refused"), ("desk", "damaged")]
)
def test_a_place_of_which_the_first_backup_fails_is_not_kept(
    request: pytest.FixtureRequest,
    machine_kind: str,
    why: str,
    safe: Path,
    tmp_path: Path,
    git,
    monkeypatch,
) -> None:
    git("init", "-q", "--bare", tmp_path / "wrong.git")
    hook = tmp_path / "wrong.git/hooks/pre-receive"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    one: Machine = request.getfixturevalue(machine_kind)
    if why == "damaged":

        def fail(*_: object, **__: object) -> None:
            raise RepositoryError("a memory ref is damaged")

        monkeypatch.setattr("gitmem.flows.exchange.save_all", fail)
    assert why in one.run("backup", tmp_path / "wrong.git", "-y", code=3).err
    kept = one.git("config", "--global", "gitmem.backup", check=False)
    assert kept == ("" if machine_kind == "fresh" else str(safe))


def test_off_forgets_it_and_leaves_what_it_holds(desk: Machine, safe: Path, git) -> None:
    before = refs(git, safe)
    ran = desk.run("backup", "--off")
    assert f"undo: git mem backup {safe}" in ran.err
    assert desk.git("config", "--global", "gitmem.backup", check=False) == ""
    assert "backup" not in desk.git("remote", private=True)
    assert not [ref for ref in refs(git, desk.private) if ref.startswith("refs/remotes/")]
    assert refs(git, safe) == before
    assert "no backup was named" in desk.run("backup", "--off").out
    desk.run("backup", "--off", safe, code=2)


def test_another_url_takes_the_place_of_the_first(desk: Machine, safe: Path, tmp_path: Path, git) -> None:
    dream(desk)
    desk.run("backup")
    second = tmp_path / "second.git"
    git("init", "-q", "--bare", second)
    ran = desk.run("backup", second, "-y")
    assert f"undo: git mem backup {safe}" in ran.err
    assert refs(git, second) == refs(git, safe)
    # One that was made anew is filled again.
    for ref in refs(git, second):
        git("--git-dir", second, "update-ref", "-d", ref)
    desk.run("backup")
    assert refs(git, second) == refs(git, safe) and DREAM in refs(git, desk.private)


def test_nothing_else_sends_anything_and_no_repository_chooses_where(desk, safe, tmp_path, git) -> None:
    before = refs(git, safe)
    desk.learn("hosts")
    (desk.code / "x").write_text("x\n")
    desk.git("add", "x")
    desk.git("commit", "-q", "-m", "Work")
    work(desk.code / ".git", {**os.environ})
    desk.run("save")
    desk.run("init", "-y")
    assert refs(git, safe) == before
    git("init", "-q", "--bare", tmp_path / "evil.git")
    desk.git("config", "gitmem.backup", tmp_path / "evil.git")
    desk.run("backup")
    assert refs(git, tmp_path / "evil.git") == {} and refs(git, safe) != before


def test_sync_does_the_project_and_then_the_backup(desk: Machine, safe: Path, team: Path, git) -> None:
    desk.learn("hosts")
    # Also with sharing off.
    assert desk.run("sync", "-n").out.startswith("would send local/")
    assert desk.run("sync").out == f"{safe}: 0 fetched, 0 merged, 1 sent\n"
    assert desk.run("sync", "--json").json["backup"]["sent"] == 0
    desk.run("remember", "Ports start at 4000.", "--scope", "project", "--type", "project")
    desk.run("share", "--mode", "direct", "-y")
    desk.learn("names")
    before = refs(git, safe)
    assert desk.run("sync", "--push").out.startswith("origin: ")
    assert refs(git, safe) == before, "a direction leaves the backup out"
    value = desk.run("sync", "--json").json
    assert (value["remote"], value["backup"]["sent"]) == ("origin", 1)
    # A failure of one does not stop the other.
    desk.learn("racks")
    desk.learn("lamps", scope="project")
    team.rename(team.with_name("away.git"))
    ran = desk.run("sync", code=3)
    assert "1 sent" in ran.out and "origin cannot be used" in ran.err
    team.with_name("away.git").rename(team)
    safe.rename(safe.with_name("away.git"))
    ran = desk.run("sync", "-y", code=3)
    assert "origin: 0 fetched, 0 merged, 1 pushed" in ran.out and "backup cannot be used" in ran.err
