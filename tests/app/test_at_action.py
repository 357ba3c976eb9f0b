"""What an agent is told as it touches a file or runs a command: once a session, if it still stands."""

from __future__ import annotations

import io
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from cli_ground import Ground, memory

from gitmem.app import at_action
from gitmem.app import hooks as hook_entry
from gitmem.app.at_action import BYTES, file_of, keep
from gitmem.app.session_start import session_start
from gitmem.core.errors import UsageError
from gitmem.core.trailers import Provenance

RULE = "Never edit `db/schema.rb` by hand: it is generated."


@pytest.fixture
def ruled(ground: Ground) -> Ground:
    ground.learn({"main/schema.md": memory("schema", RULE)}, "local")
    keep(ground.workspace)
    return ground


def touch(ground: Ground, tool: str = "Edit", session: str = "s-1", error: str = "", **given: str) -> str:
    event = "PostToolUseFailure" if error else "PreToolUse"
    payload: dict[str, Any] = {
        "session_id": session,
        "cwd": str(ground.repo),
        "hook_event_name": event,
        "tool_name": tool,
        "tool_input": given or {"file_path": str(ground.repo / "db/schema.rb")},
    }
    if error:
        payload["error"] = error
    out = io.StringIO()
    given_bytes = io.BytesIO(json.dumps(payload).encode())
    assert hook_entry.main(["claude", event], os.environ, given_bytes, out, start=lambda *_: None) == 0
    answer = json.loads(out.getvalue() or "{}").get("hookSpecificOutput", {})
    assert set(answer) <= {"hookEventName", "additionalContext"}, "nothing is ever refused"
    return str(answer.get("additionalContext", ""))


def test_a_rule_is_told_as_its_file_is_touched_once_a_session(ruled: Ground) -> None:
    assert touch(ruled) == f'Memory schema (project) says: "{RULE}"\n'
    assert touch(ruled) == ""
    assert touch(ruled, tool="Read", session="s-2")
    assert touch(ruled, session="s-3", file_path=str(ruled.repo / "app.rb")) == ""
    assert touch(ruled, session="s-3", file_path="/elsewhere/db/schema.rb") == ""
    session_start({"session_id": "s-1", "cwd": str(ruled.repo), "source": "compact"})
    assert touch(ruled), "its model no longer has it"


def test_what_was_forgotten_or_changed_is_not_told_before_the_worker_knows(ruled: Ground) -> None:
    anew = "Edit `db/schema.rb` as you like, never `x.rb`."
    ruled.learn({"main/schema.md": memory("schema", anew)}, "local")
    assert touch(ruled) == ""
    keep(ruled.workspace)
    assert "as you like" in touch(ruled)


def test_a_memory_that_changed_alone_is_read_anew_and_one_that_went_is_gone(ruled: Ground) -> None:
    ruled.learn({"main/deploy.md": memory("deploy", "Only run `make deploy` from main.")}, "local")
    keep(ruled.workspace)
    assert touch(ruled) and touch(ruled, tool="Bash", command="make deploy")
    ruled.learn({"main/schema.md": None}, "local")
    keep(ruled.workspace)
    assert touch(ruled, session="s-2") == ""
    assert touch(ruled, session="s-2", tool="Bash", command="make deploy")


def test_a_rule_of_a_branch_that_is_not_merged_is_not_told(ruled: Ground) -> None:
    # What a busy machine does not find out in time counts as merged.
    ruled.patch.setattr(at_action, "SECONDS", 60.0)

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=ruled.repo, check=True, capture_output=True, text=True
        ).stdout

    git("commit", "-q", "--allow-empty", "-m", "Begin")
    main = git("branch", "--show-current").strip()
    git("checkout", "-q", "-b", "topic")
    git("commit", "-q", "--allow-empty", "-m", "Work")
    (ruled.repo / "new.rb").write_text("a = 1\n")
    git("add", "new.rb")
    git("commit", "-q", "-m", "New")
    told = Provenance(op="add", writer="agent", code_commit=git("rev-parse", "HEAD").strip())
    ruled.learn({"main/new.md": memory("new", "Never edit `new.rb` by hand.")}, "local", told=told)
    keep(ruled.workspace)
    file = str(ruled.repo / "new.rb")
    assert touch(ruled, file_path=file)
    git("checkout", "-q", main)
    assert touch(ruled, session="s-2", file_path=file) == ""
    git("merge", "-q", "--no-edit", "topic")
    assert touch(ruled, session="s-3", file_path=file)


def test_what_is_known_of_an_error_is_told_after_it(ruled: Ground) -> None:
    ruled.learn(
        {"main/db.md": memory("db", "`PG::ConnectionBad: refused` means the proxy is down.")}, "local"
    )
    keep(ruled.workspace)
    said = touch(ruled, tool="Bash", command="rake", error="Exit code 1\nPG::ConnectionBad: refused")
    assert "the proxy is down" in said
    assert touch(ruled, tool="Bash", session="s-2", command="rake", error="Exit code 1") == ""


def test_two_at_most_within_the_budget_and_without_a_credential(ruled: Ground) -> None:
    token = "ghp_" + "x7Kq2LmN8pRs4TvW6yZa1BcD3eFg5HjK9uXo"
    bodies = {
        f"main/r{n}.md": memory(f"r{n}", f"Never touch `db/schema.rb` on day {n} " + "of all days " * 10)
        for n in range(5)
    }
    ruled.learn(bodies, "local")
    keep(ruled.workspace)
    said = touch(ruled)
    assert 0 < said.count("Memory ") <= 2 and len(said.encode()) <= BYTES
    file = next((ruled.workspace.private_state / "at-action").iterdir())
    kept = json.loads(file.read_text())
    for row in kept["rows"]:
        row["text"] = f"Never {token}"
    file.write_text(json.dumps(kept))
    assert token not in touch(ruled, session="s-2")


def test_a_damaged_file_or_input_says_nothing(ruled: Ground) -> None:
    for given in ({"file_path": "a\0b"}, {"command": "x" * 100_000}, {"file_path": "../../etc/passwd"}):
        assert touch(ruled, "Bash" if "command" in given else "Edit", **given) == ""
    for damage in ("", "{", "[]", '{"version": 1}', '{"version": 1, "rows": [{}]}'):
        next((ruled.workspace.private_state / "at-action").iterdir()).write_text(damage)
        assert touch(ruled) == "", damage
        keep(ruled.workspace)
    assert touch(ruled)


def test_it_can_be_switched_off(ruled: Ground) -> None:
    for value in ("prompt", "off", "acton"):
        subprocess.run(["git", "config", "gitmem.recallAt", value], cwd=ruled.repo, check=True)
        assert touch(ruled) == "", "at once, not with the worker's next job"
        if value == "acton":
            with pytest.raises(UsageError, match="recallAt"):
                keep(ruled.workspace)
            return
        keep(ruled.workspace)
        assert not list((ruled.workspace.private_state / "at-action").iterdir())
        assert touch(ruled) == ""
        subprocess.run(["git", "config", "--unset", "gitmem.recallAt"], cwd=ruled.repo, check=True)
        keep(ruled.workspace)
        assert touch(ruled, session=value)


def test_a_link_on_the_way_to_the_file_or_the_work_tree_changes_nothing(ruled: Ground, tmp_path) -> None:
    link = tmp_path / "link"
    link.symlink_to(ruled.repo)
    assert touch(ruled, file_path=str(link / "db/schema.rb"))


def test_the_file_of_a_clone_has_a_name_that_any_file_system_takes() -> None:
    name = file_of(Path("/data"), Path("/home") / ("記" * 80) / "a b" / ".git").name
    assert len(name.encode()) <= 255 and name.isascii() and name.endswith("%2Fa%20b%2F%2Egit.json")


def test_a_purge_and_an_uninstall_leave_nothing_of_it(ruled: Ground) -> None:
    folder = ruled.workspace.private_state / "at-action"
    assert "db/schema.rb" in next(folder.iterdir()).read_text()
    ruled.learn({"main/kiln.md": memory("kiln", "Never run `make kiln` at night.")}, "local")
    keep(ruled.workspace)
    ruled.run("purge", "kiln", "--memory", "-y")
    assert not folder.exists()
    keep(ruled.workspace)
    assert "make kiln" not in next(folder.iterdir()).read_text()
    ruled.run("uninstall", "-y")
    assert not list(folder.iterdir())
