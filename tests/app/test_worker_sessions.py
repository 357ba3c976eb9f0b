"""When a session is looked through in the background, what is left out of it, and what a person is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from background_ground import ASKED, ID, KEY, MORE, NOW, Engine, Ground, add, ground, hook, said
from transcripts import Transcript

from gitmem.app import hooks as hook_entry
from gitmem.app.context import real_edges
from gitmem.app.spool import Job, put, take
from gitmem.app.steps import memory_scope
from gitmem.core.change import Change
from gitmem.flows import notices as saying
from gitmem.flows import pause as pausing
from gitmem.flows import place
from gitmem.flows.context import initialised_at
from gitmem.flows.extraction import withholds
from gitmem.ledger.job_record import read_runs
from gitmem.ledger.suggestions import open_suggestions
from gitmem.transcripts.claude_home import slug
from gitmem.transcripts.discover import is_transcript

__all__ = ["ground"]


def test_few_turns_wait_until_there_are_enough_or_the_session_ends(ground: Ground, git) -> None:
    git("-C", ground.repo, "config", "gitmem.extractEvery", "3")
    ground.write(ASKED, "two")
    ground.do("stop", session_id=ID)
    assert ground.memories() == set()
    assert "2 of 3 turns" in read_runs(ground.workspace.state)[-1]["skipped"][0]["why"]
    ground.do("session-end", session_id="another")
    assert ground.memories() == set()
    ground.write(ASKED, "two", "three")
    ground.do("commit")
    assert len(ground.memories()) == 1
    ground.write(ASKED, "two", "three", MORE)
    ground.do("session-start", session_id=ID)
    assert len(ground.memories()) == 1
    ground.do("pre-compact", session_id=ID)
    assert len(ground.memories()) == 2
    ground.write("Remember that Ann tags every release.", id="00000002-0000-4000-8000-000000000000")
    ground.do("session-start", session_id="00000009-0000-4000-8000-000000000000")
    assert len(ground.memories()) == 3, "what an interrupted one left is caught up with at the next start"


def test_memory_is_laid_out_when_the_client_is_first_used_here(ground: Ground, gitmem) -> None:
    """Where gitmem was there before Claude Code, `init` could lay nothing out."""
    (ground.home / ".claude").rename(ground.home / "later")
    gitmem("remember", "Deploys go out on Tuesdays.", "--scope", "project")
    live = ground.repo / ".claude/agent-memory/main"
    assert not live.exists()
    (ground.home / "later").rename(ground.home / ".claude")
    ground.do("session-start", session_id=ID)
    assert "Tuesdays" in (live / "MEMORY.md").read_text()


def test_a_session_that_just_began_is_not_looked_at_before_its_first_turn_ends(ground: Ground) -> None:
    """Its first prompt may be recorded before the worker comes to the start's job."""
    ground.write(ASKED)
    ground.do("session-start", session_id=ID)
    assert ground.memories() == set()
    ground.do("stop", session_id=ID)
    assert len(ground.memories()) == 1


def test_a_setting_of_the_client_switches_extraction_off(ground: Ground) -> None:
    ground.write(ASKED)
    (ground.repo / ".claude").mkdir()
    own = ground.repo / ".claude"
    for path in (ground.home / ".claude/settings.json", own / "settings.json", own / "settings.local.json"):
        path.write_text('{"autoMemoryEnabled": false}')
        hook("Stop", {"cwd": str(ground.repo), "session_id": ID})
        assert take(ground.workspace.state / "spool") == []
        ground.do("commit")
        assert ground.memories() == set(), path
        assert "autoMemoryEnabled" in read_runs(ground.workspace.state)[-1]["skipped"][0]["why"]
        path.unlink()
    (own / "other.json").write_text('{"autoMemoryEnabled": false}')
    hook("Stop", {"cwd": str(ground.repo), "session_id": ID})
    assert take(ground.workspace.state / "spool")


@pytest.mark.parametrize("variable", ["GITMEM_DISABLE", "CLAUDE_CODE_DISABLE_AUTO_MEMORY"])
def test_a_session_that_ran_with_extraction_off_is_never_learned_from(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """A commit in another terminal leaves its job without that session's environment."""
    path = ground.write(ASKED)
    monkeypatch.setattr(hook_entry.time, "time", lambda: NOW)
    payload = {"cwd": str(ground.repo), "session_id": ID, "transcript_path": str(path)}
    hook("Stop", payload, {variable: "1"})
    assert take(ground.workspace.state / "spool") == []
    ground.do("commit")
    assert ground.memories() == set()
    hook("SessionStart", {**payload, "source": "resume"})
    assert pausing.unheard(ground.workspace.state, ID)[-1].end == NOW
    monkeypatch.setattr("gitmem.flows.extraction.intervals", lambda _: ())
    path.write_text(
        path.read_text()
        + path.read_text()
        .splitlines()[0]
        .replace("2026-11-20", "2026-11-30")
        .replace("00000000-0000", "00000077-0000")
        .replace(ASKED, MORE)
        + "\n"
    )
    ground.do("commit")
    assert ["linear" in name or "staging" in name for name in ground.memories()] == [True]


def test_what_was_said_in_a_pause_is_never_learned(ground: Ground) -> None:
    ground.write(ASKED)
    pausing.pause(ground.workspace.state, 0.0)
    ground.do("stop")
    assert read_runs(ground.workspace.state)[-1]["skipped"][0]["why"].startswith("paused")
    pausing.unpause(ground.workspace.state, NOW - 1.0)
    ground.do("stop")
    assert ground.memories() == set() and open_suggestions(ground.workspace) == ()
    # Handled for good: it stays out where nobody remembers the pause.
    (ground.workspace.state / pausing.FILE).unlink()
    ground.do("stop")
    assert ground.memories() == set()


def test_a_session_with_a_pause_or_ignored_words_in_it_is_not_for_a_fork(ground: Ground, git) -> None:
    path = ground.write(ASKED)
    assert not withholds(ground.workspace, path, NOW)
    git("-C", ground.repo, "config", "gitmem.ignore", "release BRANCH")
    assert withholds(initialised_at(real_edges(ground.repo)), path, NOW)
    pausing.pause(ground.workspace.state, 0.0)
    pausing.unpause(ground.workspace.state, NOW - 1.0)
    assert withholds(ground.workspace, path, NOW)


def test_a_person_is_told_once_what_was_saved_and_how_much_waits(ground: Ground) -> None:
    ground.write("anything")
    names = [add(name) for name in ("ship", "bugs")]
    ground.use(Engine(*names, add("later", asked=False)))
    ground.do("stop", session_id=ID)
    payload = {"cwd": str(ground.repo), "session_id": ID}
    assert said(hook("Stop", {**payload, "session_id": "another"})) == ""
    assert said(hook("Stop", {**payload, "agent_id": "a1"})) == ""
    # Nobody sees it in `claude -p`.
    assert said(hook("Stop", payload, {"CLAUDE_CODE_ENTRYPOINT": "sdk-cli"})) == ""
    assert said(hook("Stop", payload)) == "Saved 2 memories: ship, bugs. 1 find waits: git mem review"
    assert said(hook("SessionStart", {**payload, "source": "startup"})) == ""


def test_what_a_session_that_ended_was_not_told_the_next_one_of_the_repository_is(ground: Ground) -> None:
    ground.write(ASKED)
    ground.do("session-end", session_id=ID)
    answer = hook("SessionStart", {"cwd": str(ground.repo), "session_id": "new", "source": "startup"})
    assert said(answer).startswith("Saved 1 memory: ")
    assert (
        said(hook("SessionStart", {"cwd": str(ground.repo), "session_id": "new", "source": "startup"}))
        == ""
    )


def test_notes_are_few_and_a_damaged_one_is_passed_over(tmp_path: Path) -> None:
    for number in range(saying.KEPT + 5):
        saying.leave(tmp_path, "s", f"j{number}", [f"m{number}"], 0)
    folder = tmp_path / place.SAID
    assert len(list(folder.iterdir())) == saying.KEPT
    (folder / "s.x.json").write_text("{")
    (folder / "s.y.json").symlink_to("/etc/passwd")
    text = saying.take(tmp_path, "s")
    assert text.startswith(f"Saved {saying.KEPT} memories: ") and text.endswith(
        f"and {saying.KEPT - 5} more."
    )
    assert list(folder.iterdir()) == []


def test_what_a_commit_asked_for_in_vain_is_said(ground: Ground, git) -> None:
    ground.do("commit")
    asked = f"Deploy\n\nForget: no such thing\nRemember: Key {KEY}."
    git("-C", ground.repo, "commit", "-q", "--allow-empty", "-m", asked)
    ground.do("commit")
    missing, secret = read_runs(ground.workspace.state)[-1]["log"]
    assert missing == "Forget: no such thing: no memory has that name or says that"
    assert secret.startswith("not stored: Key") and KEY not in secret


def test_why_a_session_asked_in_vain_is_said_without_its_words(ground: Ground, gitmem) -> None:
    ground.write("Remember that Miez is fed at noon.")
    ground.do("stop", session_id=ID)
    (name,) = ground.memories()
    gitmem("forget", name.removeprefix("main/"), "--scope", "local")
    later = ID.replace("1", "2")
    ground.write("Remember that Miez is fed at noon.", id=later)
    ground.do("stop", session_id=later)
    run = read_runs(ground.workspace.state)[-1]
    assert run["refused"] == 1 and "noon" not in json.dumps(run)
    assert {"what": f"a find in session {later}", "why": "it was forgotten or rejected"} in run["skipped"]


def subagent(ground: Ground, *replies: str, name: str = "a1") -> Path:
    made = Transcript(ID, str(ground.repo))
    made.user("Look at the ports.", isSidechain=True)
    for text in replies:
        made.agent(text, isSidechain=True)
    folder = ground.home / ".claude/projects" / slug(ground.repo) / ID / "subagents"
    folder.mkdir(parents=True, exist_ok=True)
    return made.write(folder / f"agent-{name}.jsonl")


def define(folder: Path, name: str, memory: str) -> None:
    path = folder / "agents" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\nname: {name}\n{memory}\n---\n\nYou review.\n")


@pytest.mark.parametrize("scope", ["project", "local", "user"])
def test_what_a_subagent_learned_goes_where_its_definition_says(ground: Ground, scope: str) -> None:
    define(ground.repo / ".claude", "reviewer", f"memory: {scope}")
    path = subagent(ground, "Ports start at 4000.")
    engine = ground.use(Engine(add("ports")))
    ground.do("subagent-stop", agent="reviewer", session_path=str(path), session_id=ID)
    assert ground.memories(scope) == {"reviewer/ports.md"}
    (given,) = engine.given
    assert given.agent == "reviewer" and [m.text for m in given.messages] == ["Ports start at 4000."]
    ground.do("subagent-stop", agent="reviewer", session_path=str(path), session_id=ID)
    assert len(engine.given) == 1


def test_a_subagent_of_which_no_hook_told_is_caught_up_with_at_the_next_start(ground: Ground) -> None:
    """Where a person interrupts, no SubagentStop comes."""
    define(ground.repo / ".claude", "reviewer", "memory: project")
    ground.write("Review it.")
    path = subagent(ground, "Ports start at 4000.")
    path.with_name(f"{path.stem}.meta.json").write_text('{"agentType": "reviewer"}')
    path.with_name("agent-bad.meta.json").write_text('["reviewer"]')
    engine = ground.use(Engine(add("ports")))
    ground.do("stop", session_id=ID)
    assert [given.agent for given in engine.given] == ["main"]
    for _ in range(2):
        ground.do("session-start", session_id="new")
        assert [given.agent for given in engine.given] == ["main", "reviewer"]
    assert ground.memories("project") == {"reviewer/ports.md"}


def test_what_is_about_a_person_stays_out_of_an_agents_project_memory(ground: Ground) -> None:
    define(ground.repo / ".claude", "reviewer", "memory: project")
    path = subagent(ground, "She likes short reviews.")
    change = Change("add", "short", "Likes it short", "user", "Likes short reviews.", "said", 0.9, True)
    ground.use(Engine(change))
    ground.do("subagent-stop", agent="reviewer", session_path=str(path), session_id=ID)
    assert ground.memories("project") == set() and ground.memories() == {"reviewer/short.md"}


def test_offline_learns_nothing_from_what_agents_say_to_each_other(ground: Ground) -> None:
    define(ground.home / ".claude", "reviewer", "memory: user")
    path = subagent(ground, "Remember that we always deploy on Tuesdays.")
    ground.do("subagent-stop", agent="reviewer", session_path=str(path), session_id=ID)
    assert ground.memories("user") == set() and open_suggestions(ground.workspace) == ()


def test_of_a_definition_three_words_count(tmp_path: Path) -> None:
    for name, memory, scope in (
        ("reviewer", "memory: user", "user"),
        ("reviewer", "memory: PROJECT", "project"),
        ("reviewer", "memory: /etc", None),
        ("reviewer", "", None),
        ("../../reviewer", "memory: user", None),
        ("main", "memory: user", None),
        ("other", "memory: user", None),
    ):
        define(tmp_path / "w/.claude", "reviewer", memory)
        assert memory_scope(name, tmp_path / "w", ".claude", tmp_path / "c") == scope, (name, memory)


def test_a_definition_in_the_work_tree_wins_and_links_are_not_followed(tmp_path: Path) -> None:
    config = tmp_path / "c"
    define(config, "reviewer", "memory: user")
    assert memory_scope("reviewer", tmp_path / "w", ".claude", config) == "user"
    define(tmp_path / "elsewhere", "reviewer", "memory: project")
    (tmp_path / "w").mkdir()
    (tmp_path / "w/.claude").symlink_to(tmp_path / "elsewhere")
    assert memory_scope("reviewer", tmp_path / "w", ".claude", config) == "user"
    (tmp_path / "w/.claude").unlink()
    define(tmp_path / "w/.claude", "reviewer", "memory: local")
    assert memory_scope("reviewer", tmp_path / "w", ".claude", config) == "local"


def test_only_a_recording_of_this_repository_where_the_client_keeps_them_is_read(ground, tmp_path) -> None:
    good, config = subagent(ground, "Hi."), ground.home / ".claude"
    assert is_transcript(good, config, [ground.repo])
    assert not is_transcript(good, config, [tmp_path / "other"])
    assert not is_transcript(good.with_name("other.jsonl"), config, [ground.repo])
    aside = tmp_path / "agent-x.jsonl"
    aside.write_bytes(good.read_bytes())
    assert not is_transcript(aside, config, [ground.repo])
    link = good.with_name("agent-link.jsonl")
    link.symlink_to(aside)
    assert not is_transcript(link, config, [ground.repo])
    assert not is_transcript(good.parent / ".." / "subagents" / good.name, config, [ground.repo])


def test_jobs_shows_what_ran_what_waits_and_what_failed(ground: Ground, gitmem) -> None:
    ground.write(ASKED)
    ground.do("stop", session_id=ID)
    put(ground.workspace.state / "spool", Job("commit", str(ground.repo), time=1))
    failed = ground.workspace.state / "spool/failed"
    failed.mkdir()
    (failed / "7-commit.try4").write_text(f"gitmem-job 1\nevent=commit\nargs=\nworktree={ground.repo}\n")
    (failed / "7-commit.try4.error").write_text("Traceback\nValueError: no \x1b[31mluck\n")
    shown = json.loads(gitmem("jobs", "--json").out)
    assert list(shown) == ["runs", "running", "waiting", "failed", "dreaming"]
    (run,) = shown["runs"]
    assert (run["stored"], run["engine"]) == (1, "offline")
    assert [one["event"] for one in shown["waiting"]] == ["commit"]
    assert shown["failed"][0]["reason"].startswith("ValueError")
    done = gitmem("jobs")
    assert "1 stored by offline" in done.out and "waiting: 1 job" in done.out and "\x1b[31m" not in done.out
    assert "--retry" in done.err


def test_failed_jobs_can_be_run_again_or_cleared(ground: Ground, gitmem) -> None:
    started: list[Path] = []
    ground.patch.setattr("gitmem.cli.jobs.start_worker", lambda common, _: started.append(common))
    failed = ground.workspace.state / "spool/failed"
    failed.mkdir(parents=True)
    for word, left in (("--retry", 1), ("--clear", 1)):
        (failed / "7-commit.try4").write_text(
            f"gitmem-job 1\nevent=commit\nargs=\nworktree={ground.repo}\n"
        )
        (failed / "7-commit.try4.error").write_text("no luck")
        gitmem("jobs", word)
        assert list(failed.iterdir()) == []
        assert [path.name for path, _ in take(ground.workspace.state / "spool")] == ["7-commit-again"][
            :left
        ]
    assert started == [ground.repo.resolve() / ".git"]
