"""`share --remote URL`: memory in a repository of its own, apart from the code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sync_ground import PROJECT, Team, live, teach, team

__all__ = ["team"]


@pytest.fixture
def apart(team: Team, tmp_path: Path) -> Path:
    """An empty repository for memory."""
    path = tmp_path / "memory.git"
    team.git("init", "-q", "--bare", path)
    return path


def test_memory_goes_to_a_repository_of_its_own_and_no_code_does(team: Team, apart: Path) -> None:
    ann, ben = team.people(ann="", ben="")
    code, before = team.refs(), ann.git("config", "--get-regexp", r"^(remote\.origin|branch)\.")
    teach(ann, "ports")
    shared = ann.run("share", "--remote", apart, "--mode", "direct", "-y")
    assert "reviewer/ports" in shared.err
    assert "undo: git mem share --off && git remote remove gitmem" in shared.err
    assert ann.git("config", "remote.gitmem.fetch") == "+refs/heads/gitmem/*:refs/remotes/gitmem/gitmem/*"
    assert team.refs(apart) == {}, "nothing is sent by share"
    assert json.loads(ann.run("sync", "--json").out)["branch"] == PROJECT
    ben.run("share", "--remote", apart.as_uri(), "--mode", "direct", "-y")
    teach(ben, "hosts")
    ben.run("sync", "-y")
    ann.run("sync")
    assert {"ports.md", "hosts.md"} <= set(live(ann)) & set(live(ben))
    assert set(team.refs(apart)) == {PROJECT}
    assert team.refs() == code
    assert ann.git("config", "--get-regexp", r"^(remote\.origin|branch)\.") == before


def test_git_pushes_no_code_there_a_second_is_no_accident_and_undo_takes_it_back(team, apart) -> None:
    (ann,) = team.people(ann="")
    ann.run("share", "--remote", apart, "--mode", "direct", "-y")
    for words in (("main",), ("--all",), ("--mirror",), ("HEAD:refs/heads/gitmem-code",)):
        ann.git("push", "-q", "gitmem", *words, check=False)
        assert not [ref for ref in team.refs(apart) if not ref.startswith("refs/heads/gitmem/")]
    ann.git("fetch", "-q", "--all")
    ann.git("push", "-q", "origin", "main:refs/heads/topic")
    other = team.served / "other.git"
    team.git("init", "-q", "--bare", other)
    refused = ann.run("share", "--remote", other, code=3)
    assert f"git remote set-url gitmem {other}" in refused.err
    ann.run("share", "--off")
    ann.git("remote", "remove", "gitmem")
    shared = ann.run("share", "-y")
    assert "shared with origin (review)" in shared.out


def test_moving_from_the_code_repository_names_what_leaves_and_how_to_go_back(team, apart) -> None:
    (ann,) = team.people(ann="direct")
    teach(ann, "ports")
    ann.run("sync", "-y")
    nobody = ann.run("share", "--remote", apart, code=1)
    assert "leaves with the next sync: reviewer/ports" in nobody.err
    assert ann.git("remote") == "origin"
    moved = ann.run("share", "--remote", apart, "-y")
    assert "undo: git mem share --mode direct --remote origin && git remote remove gitmem" in moved.err
    ann.run("sync")
    assert PROJECT in team.refs(apart)


def test_what_was_asked_for_at_the_other_remote_is_asked_for_anew(team: Team, apart: Path) -> None:
    (ann,) = team.people(ann="review")
    teach(ann, "ports")
    ann.run("sync", "-y")
    ann.run("share", "--remote", apart, "-y")
    assert "1 pushed to gitmem/inbox/ann-example-com" in ann.run("sync", "-y").out
    assert "refs/heads/gitmem/inbox/ann-example-com" in team.refs(apart)
    assert "without merging" not in ann.run("review").out


def test_what_is_no_memory_repository_is_refused_and_a_dry_run_makes_no_remote(team, apart) -> None:
    (ann,) = team.people(ann="")
    would = json.loads(ann.run("share", "--remote", apart, "-n", "--json").out)
    assert (would["remote"], would["url"], would["before"]) == ("gitmem", str(apart), "off")
    for who in ("ann:hunter2hunter2", "hunter2hunter2"):
        refused = ann.run("share", "--remote", f"https://{who}@example.org/m.git", code=2)
        assert "hunter2" not in refused.err + refused.out
        assert "Give it as https://example.org/m.git" in refused.err
    for word, code, said in (
        ("ext::sh -c false", 2, "runs commands"),
        ("--upload-pack=x/y", 2, "no address"),
        ("nowhere", 3, "There is no remote 'nowhere'"),
        ("./nowhere", 3, "cannot be used"),
        (".", 2, "is this repository"),
    ):
        assert said in ann.run("share", f"--remote={word}", code=code).err
    assert ann.git("remote") == "origin"
    assert "shared with origin" in ann.run("share", "--remote", team.bare, "-y").out, "its own address"
    assert ann.git("remote") == "origin"


def test_an_empty_code_remote_is_still_refused(team: Team, apart: Path) -> None:
    (ann,) = team.people(ann="")
    ann.git("remote", "set-url", "origin", apart)
    ann.run("share", "--mode", "direct", "-y")
    teach(ann, "ports")
    refused = ann.run("sync", "-y", code=3).err
    assert "no branch yet" in refused and "git push origin HEAD" in refused
    assert team.refs(apart) == {}
