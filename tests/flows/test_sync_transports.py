"""Sync over files, smart HTTP and ssh, with the person's own credentials, into clones of every kind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from machines import Machine
from servers import http_server, ssh_server
from sync_ground import PROJECT, Team, live, teach, team

__all__ = ["team"]


def check_round_trip(ann: Machine, ben: Machine) -> None:
    """What each learns reaches the other."""
    teach(ann, "ports", "The port is 80.")
    assert json.loads(ann.run("sync", "-y", "--json").out)["pushed"] == 1
    teach(ben, "hosts")
    done = json.loads(ben.run("sync", "-y", "--json").out)
    assert (done["fetched"], done["pushed"], done["branch"]) == (1, 1, PROJECT)
    teach(ann, "ports", "The port is 8080.")
    ann.run("sync")
    ben.run("sync")
    assert live(ann) == live(ben)
    assert "8080" in live(ben)["ports.md"]


def test_over_a_path(team: Team) -> None:
    check_round_trip(team.person("ann", str(team.bare)), team.person("ben", str(team.bare)))


@pytest.mark.long
def test_over_smart_http(team: Team) -> None:
    with http_server(team.served) as server:
        url = f"{server.url}/team.git"
        check_round_trip(team.person("ann", url), team.person("ben", url))
        assert ("POST", "/team.git/git-receive-pack") in server.requests


HELPER = "!f() { echo username=ann; echo password=$(cat ~/token); }; f"


@pytest.mark.long
def test_over_http_with_a_credential_helper(team: Team) -> None:
    with http_server(team.served, ("ann", "correct horse")) as server:
        url = f"{server.url}/team.git"
        people = []
        for who in ("ann", "ben"):
            (team.folder / who).mkdir()
            (team.folder / who / "token").write_text("correct horse\n")
            people.append(team.person(who, url, config={"credential.helper": HELPER}))
        check_round_trip(*people)
        assert server.refused


def test_over_http_with_the_wrong_password_nothing_is_lost(team: Team) -> None:
    with http_server(team.served, ("ann", "correct horse")) as server:
        home = team.folder / "ann"
        home.mkdir()
        (home / "token").write_text("correct horse\n")
        ann = team.person("ann", f"{server.url}/team.git", config={"credential.helper": HELPER})
        teach(ann, "ports")
        (home / "token").write_text("wrong\n")
        failed = ann.run("sync", "-y", code=3)
        assert "origin cannot be used: Authentication failed" in failed.err
        assert "git fetch origin" in failed.err
        assert "correct horse" not in failed.err and "wrong" not in failed.err
        ann.git("config", "--global", "--unset", "credential.helper")
        failed = ann.run("sync", "-y", code=3)
        assert "hint: git has no credentials that the host takes" in failed.err
        assert "reviewer/ports.md" in ann.memories("project")
        ann.git("config", "--global", "credential.helper", HELPER)
        (home / "token").write_text("correct horse\n")
        assert json.loads(ann.run("sync", "-y", "--json").out)["pushed"] == 1


@pytest.mark.long
def test_over_ssh(team: Team, tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.mkdir()
    with ssh_server(keys) as server:
        url = f"{server.base}{team.bare}"
        with_key = {"core.sshCommand": server.command}
        ann, ben = (team.person(who, url, config=with_key) for who in ("ann", "ben"))
        check_round_trip(ann, ben)


@pytest.mark.long
def test_ssh_without_the_right_key_or_with_another_host_key_says_what_to_do(team, tmp_path) -> None:
    keys = tmp_path / "keys"
    keys.mkdir()
    with ssh_server(keys) as server:
        ann = team.person("ann", f"{server.base}{team.bare}", config={"core.sshCommand": server.command})
        teach(ann, "ports")
        (keys / "nobody").write_text("")
        ann.git("config", "--global", "core.sshCommand", server.ssh(keys / "host", server.known_hosts))
        failed = ann.run("sync", "-y", code=3)
        assert "Permission denied" in failed.err and "ssh-add -l" in failed.err
        ann.git("config", "--global", "core.sshCommand", server.ssh(server.key, keys / "nobody"))
        failed = ann.run("sync", "-y", code=3)
        assert "Host key verification failed" in failed.err
        assert "hint: ssh does not know this host" in failed.err
        ann.git("config", "--global", "core.sshCommand", server.command)
        ann.run("sync", "-y")


@pytest.mark.parametrize(
    "words",
    [
        ("--filter=blob:none", "--depth=1", "--no-checkout"),
        ("--filter=blob:none",),
        ("--depth=1",),
        ("--depth=1", "--no-single-branch"),
        ("--single-branch",),
    ],
    ids=" ".join,
)
@pytest.mark.long
def test_clones_that_hold_a_part_of_the_code_hold_all_of_memory(team: Team, words: tuple[str, ...]) -> None:
    """Memory needs its whole history to merge without loss; the code's stays as it was fetched."""
    (ann,) = team.people(ann="direct")
    team.git("-C", team.bare, "config", "uploadpack.allowFilter", "true")
    more = team.folder / "seed"
    team.git("-C", more, "commit", "-q", "--allow-empty", "-m", "second")
    team.git("-C", more, "push", "-q", team.bare, "main")
    for number in range(4):
        teach(ann, "ports", f"The port is {number}.\n\nA second paragraph stays.")
        ann.run("sync", "-y")
    ben = team.person("ben", words=words)
    teach(ben, "hosts")
    ben.run("sync", "-y")
    teach(ben, "ports", "The port is 3.\n\nA second paragraph stays.\n\nBen knows a third.")
    teach(ann, "ports", "The port is 4.\n\nA second paragraph stays.")
    ann.run("sync")
    done = json.loads(ben.run("sync", "-y", "--json").out)
    assert (done["merged"], done["pushed"]) == (1, 1)
    ann.run("sync")
    text = live(ann)["ports.md"]
    assert text == live(ben)["ports.md"]
    assert (
        all(part in text for part in ("is 4", "second paragraph", "Ben knows")) and "disputed" not in text
    )
    missing = ben.git("rev-list", "--objects", "--missing=print", "gitmem/project")
    assert not [line for line in missing.splitlines() if line.startswith("?")]
    assert ben.git("rev-list", "--count", "origin/main") == ("1" if "--depth=1" in words else "2")


def test_a_remote_in_a_newer_format_says_so_and_changes_nothing(team: Team) -> None:
    ann, ben = team.people(ann="direct", ben="direct")
    teach(ann, "ports")
    ann.run("sync", "-y")
    blob = team.git("-C", team.bare, "hash-object", "-w", "--stdin", input="format = 9\n")
    team.git("-C", team.bare, "read-tree", PROJECT)
    team.git("-C", team.bare, "update-index", "--cacheinfo", f"100644,{blob},.gitmem")
    tree = team.git("-C", team.bare, "write-tree")
    tip = team.git("-C", team.bare, "commit-tree", tree, "-p", PROJECT, "-m", "Newer")
    team.git("-C", team.bare, "update-ref", PROJECT, tip)
    before = ben.memories("project")
    failed = ben.run("sync", "-y", code=3)
    assert "format 9" in failed.err and "hint: Install a newer gitmem." in failed.err
    assert ben.memories("project") == before
