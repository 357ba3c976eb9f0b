"""list, show, log, diff and recall: in lines and in JSON, with nothing that steers a terminal."""

from __future__ import annotations

import json
import sys

import pytest
from cli_ground import DAY, Ground, memory

from gitmem.core.trailers import Fate, Provenance


@pytest.fixture
def filled(ground: Ground) -> Ground:
    ground.learn(
        {"reviewer/ports.md": memory("ports", "Port 8080 is taken by the proxy.")}, subject="Add ports"
    )
    ground.learn({"main/tone.md": memory("tone", "Short answers.", type="user")}, "local", "Add tone")
    return ground


def test_list_shows_every_scope_with_age_and_description(filled: Ground) -> None:
    filled.tick(3 * DAY)
    lines = filled.run("list").out.splitlines()
    assert lines == [
        "ports  project  project/reviewer  3 days  About ports",
        "tone   user     local/main        3 days  About tone",
    ]
    assert filled.run("list", "--scope", "local").out.startswith("tone")
    assert filled.run("list", "--agent", "Reviewer", "--scope", "project").out == ""
    assert filled.run("list", "--agent", "reviewer").out.startswith("ports")


def test_list_json_has_a_stable_shape(filled: Ground) -> None:
    (one,) = filled.run("list", "--scope", "project", "--json").json
    assert one == {
        "name": "ports", "type": "project", "scope": "project", "agent": "reviewer",
        "file": "ports.md", "description": "About ports", "disputed": [],
        "taught": "2027-01-15T09:00:00Z", "archived": False, "secret": False, "unmerged": None,
        "promoted": None,
    }  # fmt: skip


def test_list_leaves_the_archive_out_unless_asked(filled: Ground) -> None:
    filled.learn({"reviewer/archive/ab/old.md": memory("old")})
    assert "old" not in filled.run("list").out
    assert "old" in filled.run("list", "-a").out


def test_list_show_and_recall_answer_as_of_then(filled: Ground) -> None:
    cache = "Port 9090 is taken by the cache."
    filled.learn({"reviewer/ports.md": memory("ports", cache), "reviewer/later.md": memory("later")})
    then = ("--at", "~1", "--scope", "project")
    assert "later" not in filled.run("list", *then).out and "later" in filled.run("list").out
    shown = filled.run("show", "ports", *then)
    assert "8080" in shown.out and "as of" in shown.err
    (recalled,) = filled.run("recall", "port taken", *then, "--json").json["items"]
    assert "8080" in recalled["text"] and recalled["commit"]
    assert "9090" in filled.run("recall", "port taken").out


def test_nothing_in_a_memory_steers_a_terminal(filled: Ground) -> None:
    """To a pipe, too: at its other end is an agent, or a terminal after all."""
    evil = "escape\x1b[2J\u202e"
    filled.learn({"reviewer/evil.md": memory("evil", evil, evil)}, subject=f"Learn {evil}")
    for line in ("list", "log", "recall escape", "diff ~1 --scope project", "show evil"):
        out = filled.run(*line.split()).out
        assert out and "\x1b" not in out and "\u202e" not in out, line
    assert "escape\\x1b[2J" in filled.run("show", "evil").out
    filled.patch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    filled.patch.setenv("NO_COLOR", "1")
    assert "escape\\x1b[2J" in filled.run("show", "evil").out


def test_show_gives_the_files_bytes_and_the_talk_apart(filled: Ground) -> None:
    ran = filled.run("show", "ports")
    assert ran.out == memory("ports", "Port 8080 is taken by the proxy.")
    assert ran.err == "project/reviewer/ports, project, taught today\n"
    assert filled.run("-q", "show", "ports").err == ""


def test_a_memory_is_found_by_name_file_prefix_and_address(filled: Ground) -> None:
    """A name that none has names close ones, one that two have both of them."""
    for name in ("ports", "PORTS", "ports.md", "por", "reviewer/ports", "project/reviewer/ports"):
        assert filled.run("show", name, "--json").json["name"] == "ports", name
    err = filled.run("show", "prots", code=2).err
    assert "no memory named 'prots'" in err and "Did you mean: ports?" in err
    filled.learn({"main/ports.md": memory("ports", "Other.")}, "local")
    assert "project/reviewer/ports, local/main/ports" in filled.run("show", "ports", code=2).err
    for words in (("--scope", "local"), ("--agent", "main")):
        assert "Other." in filled.run("show", "ports", *words).out
    assert "8080" in filled.run("show", "project/reviewer/ports").out


def test_log_tells_commit_time_scope_writer_and_subject_newest_first(filled: Ground) -> None:
    told = Provenance(op="add", writer="extract", session="s-1", engine="offline")
    oid = filled.learn({"reviewer/db.md": memory("db")}, subject="Add db", told=told)
    lines = filled.run("log").out.splitlines()
    assert lines[0].startswith(f"{oid[:12]} 2027-01-15 11:00  project")
    assert lines[0].endswith("Ann, extract (offline)  Add db")
    assert lines[1].strip() == "session s-1"
    assert [line.rsplit("  ", 1)[-1] for line in lines[2:]] == ["Add tone", "Add ports"]
    assert len(filled.run("log", "--max-count", "1").out.splitlines()) == 2


def test_log_folds_what_a_dream_did_to_claims(filled: Ground) -> None:
    fates = tuple(Fate("kept" if n else "dropped", f"a.md#{n:012x}") for n in range(3, -1, -1))
    told = Provenance(op="dream", writer="dream", claims=fates)
    filled.learn({"reviewer/a.md": memory("a")}, told=told)
    assert "claims: 3 kept, 1 dropped" in filled.run("log", "--scope", "project").out
    assert filled.run("log", "--json").json[0]["claims"] == {"kept": 3, "dropped": 1}


def test_log_leaves_out_merges_which_teach_nothing_unless_asked(filled: Ground) -> None:
    joins = Provenance(op="merge", writer="sync")
    filled.learn({"reviewer/db.md": memory("db")}, subject="Merge memory", told=joins)
    subjects = [entry["subject"] for entry in filled.run("log", "--json").json]
    assert subjects == ["Add tone", "Add ports"]
    assert filled.run("log", "--with-merges").out.count("Merge memory") == 1
    assert filled.run("log", "db").out.count("Merge memory") == 1  # it changed this one


def test_log_of_one_memory_shows_its_changes_alone_also_after_it_is_gone(filled: Ground) -> None:
    filled.learn({"reviewer/db.md": memory("db")}, subject="Add db")
    filled.learn({"reviewer/ports.md": None}, subject="Delete ports", told=Provenance(op="delete"))
    subjects = [entry["subject"] for entry in filled.run("log", "ports", "--json").json]
    assert subjects == ["Delete ports", "Add ports"]
    filled.run("log", "never-there", code=2)


def test_log_json_has_a_stable_shape(filled: Ground) -> None:
    entry = filled.run("log", "ports", "--json").json[0]
    assert list(entry) == [
        "commit", "scope", "time", "author", "op", "writer", "engine", "session", "code_commit",
        "undoes", "subject", "paths", "claims", "signed",
    ]  # fmt: skip
    assert entry["paths"] == ["reviewer/ports.md"]
    assert entry["author"] == "Ann <ann@example.com>"


def test_diff_alone_shows_what_a_save_would_commit(filled: Ground) -> None:
    filled.run("save")
    path = filled.folder() / "ports.md"
    path.write_text(memory("ports", "Port 8080 is taken by the proxy.\n\nPort 9090 is free."))
    assert filled.run("diff").out == "project/reviewer/ports.md\n+ Port 9090 is free.\n"
    filled.run("save")
    assert filled.run("diff").out == ""


def test_diff_shows_claims_between_two_moments(filled: Ground) -> None:
    """Not what was only wrapped otherwise."""
    first = filled.tip()
    filled.learn({"reviewer/ports.md": memory("ports", "Port 8080 is\ntaken by the proxy.")})
    assert filled.run("diff", first, "--scope", "project").out == ""
    filled.learn({"reviewer/ports.md": memory("ports", "Port 9090 is taken.", type="reference")})
    second = filled.tip()
    filled.learn({"reviewer/new.md": memory("new", "Fresh.")})
    expected = (
        "project/reviewer/ports.md\n- Port 8080 is taken by the proxy.\n+ Port 9090 is taken.\n"
        "~ type: project -> reference\n"
    )
    assert filled.run("diff", first, second, "--scope", "project").out == expected
    since = filled.run("diff", first, "--scope", "project").out
    assert since == "project/reviewer/new.md (added)\n+ Fresh.\n+ description: About new\n" + expected
    assert filled.run("diff", "ports", "--at", first).out == expected


def test_diff_json_has_a_stable_shape(filled: Ground) -> None:
    filled.learn({"reviewer/ports.md": None}, told=Provenance(op="delete"))
    assert filled.run("diff", "~1", "--scope", "project", "--json").json == [
        {
            "scope": "project",
            "path": "reviewer/ports.md",
            "state": "deleted",
            "changes": [
                {"sign": "-", "text": "Port 8080 is taken by the proxy."},
                {"sign": "-", "text": "description: About ports"},
            ],
        }
    ]


def test_recall_finds_over_all_scopes_with_age_and_place(filled: Ground) -> None:
    filled.tick(2 * DAY)
    out = filled.run("recall", "which", "port", "is", "taken?").out
    assert out.splitlines() == [
        "ports  (project, project/reviewer, 2 days old)",
        "  About ports",
        "  note: 2 days old; not checked against the code since",
        "    Port 8080 is taken by the proxy.",
    ]
    assert "Short answers" in filled.run("recall", "short answers").out
    assert filled.run("recall", "short answers", "--scope", "project").out == ""
    assert filled.run("recall", "short answers", "--agent", "reviewer").out == ""


def test_recall_with_nothing_that_fits_says_so_and_is_no_error(filled: Ground) -> None:
    ran = filled.run("recall", "kubernetes")
    assert (ran.out, ran.err) == ("", "no memory fits\n")
    near = filled.run("recall", "kubernetes cluster upgrade behind the proxy")
    assert (near.out, near.err) == ("", "no memory fits; nearest: ports\n")


def test_a_repository_without_memory_says_what_to_do(ground: Ground) -> None:
    assert ground.run("list").err == "no memories here\n"
    assert ground.run("log").err == "nothing was learned here yet\n"
    assert json.loads(ground.run("list", "--json").out) == []
    assert "no memory yet" in ground.run("list", "--at", "yesterday", "--scope", "project", code=2).err
