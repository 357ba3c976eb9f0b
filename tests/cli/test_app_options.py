"""Options that mean one thing in every verb: --json, --at, and what a shell completes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import typer
from cli_ground import Ground, memory

from gitmem.cli import app
from gitmem.core.names import archive_path
from gitmem.core.trailers import Provenance
from gitmem.flows.promotions import PromotionProposal
from gitmem.ledger.proposals import make, suggestions_of


@pytest.fixture
def taught(ground: Ground) -> Ground:
    ground.learn({"reviewer/ports.md": memory("ports", "Port 8080 is taken.")})
    return ground


def test_forget_and_move_say_in_json_what_they_changed(taught: Ground) -> None:
    where = {"scope": "project", "agent": "reviewer", "file": "ports.md", "name": "ports"}
    before = taught.tip()
    planned = {"to": "local", "commit": None, "dry_run": True}
    assert taught.run("move", "ports", "--to", "local", "-n", "--json").json == where | planned
    assert taught.run("forget", "ports", "-n", "--json").json == where | {"commit": None, "dry_run": True}
    assert taught.tip() == before
    moved = taught.run("move", "ports", "--to", "local", "--json").json
    assert moved == where | {"to": "local", "commit": taught.tip("local"), "dry_run": False}
    gone = taught.run("--json", "forget", "ports").json
    assert gone == where | {"scope": "local", "commit": taught.tip("local"), "dry_run": False}


@pytest.mark.parametrize(
    ("group", "word"), [("docs", "list"), ("snapshot", "status"), ("session", "list"), ("remote", "list")]
)
def test_a_group_alone_gives_in_json_what_its_word_does(taught: Ground, group: str, word: str) -> None:
    assert taught.run(group, "--json").json == taught.run(group, word, "--json").json
    assert "found" in taught.run("bench", "--json").json


def test_share_says_in_json_what_leaves_and_how(taught: Ground, git, tmp_path: Path) -> None:
    git("init", "-q", "--bare", tmp_path / "remote.git")
    git("-C", taught.repo, "remote", "add", "origin", tmp_path / "remote.git")
    on: dict[str, object] = {"before": "off", "mode": "direct", "remote": "origin", "url": None, "held": []}
    on["leaves"] = ["reviewer/ports"]

    assert taught.run("share", "--mode", "direct", "-n", "--json").json == on | {"dry_run": True}
    assert taught.run("share", "--mode", "direct", "-y", "--json").json == on | {"dry_run": False}
    off: dict[str, object] = {
        "before": "direct", "mode": "off", "remote": "", "url": None, "leaves": [], "held": [],
    }  # fmt: skip
    assert taught.run("share", "--off", "-n", "--json").json == off | {"dry_run": True}
    assert taught.run("share", "--off", "--json").json == off | {"dry_run": False}
    assert taught.run("share", "--off", "--json").json["before"] == "off"


def test_a_decision_and_leaving_have_json(taught: Ground) -> None:
    text = "Port 80. *(disputed 1a2b3c4d)*\n\nPort 90. *(disputed 1a2b3c4d)*"
    taught.learn({"reviewer/ports.md": memory("ports", text)})
    done = taught.run("review", "accept", "x-1a2b3c", "1", "--json").json
    assert done["commit"] == taught.tip() and set(done) == {"done", "commit", "notes", "undo"}
    planned = taught.run("uninstall", "-n", "--json").json
    assert planned["dry_run"] and any("refs/gitmem/project" in line for line in planned["remaining"])
    assert taught.run("uninstall", "-y", "--json").json == planned | {"dry_run": False}


def test_what_has_a_dry_run_can_be_quiet(taught: Ground) -> None:
    group: Any = typer.main.get_command(app.app)
    for name in app.SUMMARIES:
        verb = group.get_command(None, name)
        for one in (verb, *getattr(verb, "commands", {}).values()):
            options = {option.name for option in one.params}
            # What has no JSON is a walk with keys.
            assert not {"dry_run", "as_json"} <= options or "quiet" in options, (name, one.name)
    taught.run("forget", "ports")
    ran = taught.run("undo", "-q")
    assert ran.out.startswith("undid ") and ran.err == ""


def test_an_empty_time_is_not_the_present(taught: Ground) -> None:
    """A script's unset variable gives one."""
    before = taught.tip()
    for line in ("show ports", "list", "recall ports", "diff ports", "blame ports", "blame --text taken",
                 "restore ports", "restore --all"):  # fmt: skip
        for at in ("", " "):
            assert "--at names no time" in taught.run(*line.split(), "--at", at, code=2).err, line
    assert taught.tip() == before


def test_the_hint_for_a_name_that_was_not_there_then_lists_that_time(taught: Ground) -> None:
    taught.learn({"reviewer/zebra.md": memory("zebra")})
    assert (
        "hint: See all: git mem list -a --at '~1'\n"
        in taught.run("show", "zebra", "--at", "~1", code=2).err
    )
    assert "hint: See all: git mem list -a\n" in taught.run("show", "okapi", code=2).err


def test_a_log_of_no_entries_says_nothing(taught: Ground) -> None:
    ran = taught.run("log", "--max-count", "0")
    assert (ran.out, ran.err) == ("", "")
    assert taught.run("log", "--max-count", "0", "--json").json == []


def test_blame_by_words_names_a_claim_once_where_the_description_repeats_it(taught: Ground) -> None:
    taught.learn({"reviewer/tone.md": memory("tone", "Short answers please.", "Short answers please")})
    assert [one["description"] for one in taught.run("blame", "--text", "answers", "--json").json] == [
        False
    ]
    taught.learn({"reviewer/style.md": memory("style", "Tabs.", "How to indent")})
    assert [one["text"] for one in taught.run("blame", "--text", "indent", "--json").json] == [
        "How to indent"
    ]


def completed(ground: Ground, line: str) -> list[str]:
    """What bash is offered for a line that ends where the cursor is."""
    ground.patch.setenv("_GITMEM_COMPLETE", "complete_bash")
    ground.patch.setenv("COMP_WORDS", line)
    ground.patch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
    ground.capture.readouterr()
    with pytest.raises(SystemExit):
        app.main()
    seen = ground.capture.readouterr()
    assert seen.err == ""
    return seen.out.split()


def test_a_shell_completes_verbs_options_engines_and_the_words_of_a_verb(ground: Ground) -> None:
    assert completed(ground, "gitmem stat") == ["status", "stats"]
    assert completed(ground, "gitmem log --onel") == ["--oneline"]
    assert completed(ground, "gitmem engine ") == ["show", "set", "test"]
    assert completed(ground, "gitmem engine set a") == ["agent", "anthropic"]
    assert completed(ground, "gitmem session show ") == []


def test_a_shell_completes_scopes_agents_and_names_and_addresses_of_memories(taught: Ground) -> None:
    odd = {"reviewer/$(touch x).md": memory("odd"), "reviewer/MEMORY.md": "- x\n"}
    taught.learn({f"reviewer/{archive_path('past.md')}": memory("past"), **odd})
    taught.learn({"main/tone.md": memory("tone")}, "local")
    taught.learn({"main/topics/deep.md": memory("deep"), "main/topics/$(x)/odd.md": memory("odd")}, "local")
    assert taught.run("show", "topics/deep").out == taught.run("show", "local/main/topics/deep").out
    assert completed(taught, "gitmem recall --scope l") == ["local"]
    assert completed(taught, "gitmem recall --agent ") == ["main", "reviewer"]
    for verb in ("show", "blame", "log", "forget", "restore", "move"):
        names = ["deep", "odd", "past", "ports", "tone", "topics/deep"]
        assert completed(taught, f"gitmem {verb} ") == names, verb
        assert completed(taught, f"gitmem {verb} po") == ["ports"], verb
    assert completed(taught, "gitmem show topics/") == ["topics/deep"]
    assert completed(taught, "gitmem show local/main/to") == ["local/main/tone", "local/main/topics/deep"]


def test_a_shell_completes_whatever_waits_for_a_decision(taught: Ground) -> None:
    one = PromotionProposal("project", "reviewer", "ports.md", 5, "2026-11-20T10:00:00Z")
    family, who = suggestions_of(taught.workspace), taught.workspace.author(taught.now)
    make(family, one.id, {}, {}, one.to_bytes(), "Make it a rule", Provenance(), "", who)
    assert completed(taught, "gitmem review accept p") == [one.id]
    text = "Port 80. *(disputed 1a2b3c4d)*\n\nPort 90. *(disputed 1a2b3c4d)*"
    taught.learn({"reviewer/ports.md": memory("ports", text)})
    assert completed(taught, "gitmem review show x-") == ["x-1a2b3c"]


def test_a_shell_completes_stores(ground: Ground) -> None:
    ground.run("remote", "add", "team-store", "--store", "memstore_01Abc")
    assert completed(ground, "gitmem sync te") == ["team-store"]


def test_completion_is_silent_where_gitmem_is_not(ground: Ground, tmp_path: Path) -> None:
    assert completed(ground, f"gitmem -C {tmp_path} show ") == []
    assert completed(ground, f"gitmem -C {tmp_path / 'nowhere'} show ") == []


def test_completion_writes_nothing(taught: Ground) -> None:
    def files() -> dict[Path, int]:
        top = taught.repo.parent
        return {path: path.stat().st_mtime_ns for path in top.rglob("*")}

    before = files()
    assert completed(taught, "gitmem show ") == ["ports"]
    assert files() == before
