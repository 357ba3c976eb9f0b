"""What the worker does in the background: its record, what is skipped and why, what is told once."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from transcripts import Transcript
from workspaces import begun

from gitmem.app import hooks as hook_entry
from gitmem.app import steps, worker
from gitmem.app.context import real_edges
from gitmem.app.job_subjects import memory_scope
from gitmem.app.spool import Job, put, take
from gitmem.core.change import Change, ChangeOrigin
from gitmem.core.errors import EngineError
from gitmem.core.trailers import Provenance, Usage, parse
from gitmem.engines.agent import AgentEngine
from gitmem.engines.engine import ExtractInput, Extraction
from gitmem.engines.offline import OfflineEngine
from gitmem.flows import engines, place
from gitmem.flows import notices as saying
from gitmem.flows import pause as pausing
from gitmem.flows.context import initialised_at
from gitmem.flows.extraction import withholds
from gitmem.git.repository import Signature
from gitmem.git.trees import read_files
from gitmem.ledger import job_record
from gitmem.ledger.job_record import RunTally, read_runs, recorded
from gitmem.ledger.land import Write, land
from gitmem.ledger.suggestions import open_suggestions
from gitmem.ledger.workspace import Workspace
from gitmem.transcripts.claude_home import slug
from gitmem.transcripts.discover import is_transcript

NOW = 1_795_200_000
ASKED = "Remember that we deploy from the release branch only."
MORE = "Remember that the staging bugs are tracked in Linear project OPS."
ID = "00000001-0000-4000-8000-000000000000"
KEY = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"


@pytest.fixture
def workspace(repo: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setenv("GITMEM_NOW", str(NOW))
    monkeypatch.setattr("gitmem.flows.dream.maybe_dream", lambda *_: None)
    monkeypatch.setattr("gitmem.app.upkeep.keep_house", lambda *_: ())
    (home / ".claude").mkdir()
    return begun(real_edges(repo))


def write(home: Path, cwd: Path, *said: str, id: str = ID) -> Path:
    made = Transcript(id, str(cwd))
    for text in said:
        made.user(text)
        made.agent("Done.")
    # The builder numbers messages alike in each session.
    made.lines = [re.sub(r'(uuid": "|Uuid": ")0000', rf"\g<1>{id[4:8]}", line) for line in made.lines]
    folder = home / ".claude/projects" / slug(cwd)
    folder.mkdir(parents=True, exist_ok=True)
    return made.write(folder / f"{id}.jsonl")


def do(repo: Path, event: str = "stop", environ: Mapping[str, str] | None = None, **more: object) -> None:
    job = Job(event, str(repo), **more)  # type: ignore[arg-type]
    steps.run(repo / ".git", job, {**os.environ, **(environ or {})})


def memories(workspace: Workspace, scope: str = "local") -> set[str]:
    found = workspace.scope(scope)
    tip = found.repo.ref(found.ref)
    files = read_files(found.repo, found.repo.commit(tip).tree) if tip else {}
    return {path for path in files if path.endswith(".md") and not path.endswith("MEMORY.md")}


def hook(event: str, payload: Mapping[str, object], environ: Mapping[str, str] | None = None) -> str:
    out = io.StringIO()
    given = {"HOME": os.environ["HOME"], **(environ or {})}
    data = io.BytesIO(json.dumps(payload).encode())
    assert hook_entry.main(["claude", event], given, data, out, lambda *_: None) == 0
    return out.getvalue()


def said(answer: str) -> str:
    return str(json.loads(answer).get("systemMessage", "")) if answer else ""


class Engine:
    """Proposes what it is told to, or fails, the first times or after some that it passes."""

    name = "scripted"
    reads_history = True

    def __init__(
        self, *changes: Change, fails: int = 0, passes: int = 0, log: tuple[str, ...] = ()
    ) -> None:
        self.changes, self.fails, self.passes, self.log = changes, fails, passes, log
        self.given: list[ExtractInput] = []

    def extract(self, given: ExtractInput) -> Extraction:
        self.given.append(given)
        if self.passes < len(self.given) <= self.passes + self.fails:
            raise EngineError("over the day's ceiling", "Wait until tomorrow.")
        return Extraction(self.changes, Usage(requests=1, input=10, output=2, dollars=0.01), self.log)


def use(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Engine:
    monkeypatch.setattr(engines, "engine_for", lambda *_: engine)
    return engine


def add(name: str, **more: object) -> Change:
    fields = {"asked": True, "origin": ChangeOrigin("s", "u", "u"), **more}
    return Change("add", name, f"About {name}", "project", f"A fact on {name}.", "said", 0.9, **fields)  # type: ignore[arg-type]


def test_a_run_leaves_a_line_without_a_word_that_was_said(
    workspace: Workspace, home: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home, repo, "My cat is called Miez.")
    use(Engine(add("ship"), add("bugs", asked=False), log=(f"Bash: refused curl {KEY}",)), monkeypatch)
    do(repo, "stop", session_id=ID)
    (run,) = read_runs(workspace.state)
    assert (run["events"], run["sessions"], run["stored"], run["suggested"]) == (["stop"], 1, 1, 1)
    assert (run["engine"], run["usage"]["input"], run["error"]) == ("scripted", 10, None)
    text = json.dumps(read_runs(workspace.state)) + (workspace.state / "log").read_text()
    assert "Bash: refused" in text and KEY not in text and "Miez" not in text
    scope = workspace.scope("local")
    told = parse(scope.repo.commit(scope.repo.ref(scope.ref) or "").message)
    assert told.usage == Usage(requests=1, input=10, output=2, dollars=0.01)


def test_the_newest_runs_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_record, "_RUNS", replace(job_record._RUNS, kept=3))
    for number in range(5):
        with recorded(tmp_path, RunTally((f"event {number}",)), NOW, lambda: 0.0):
            pass
    assert [run["events"] for run in read_runs(tmp_path)] == [[f"event {number}"] for number in (2, 3, 4)]


def test_runs_that_an_older_version_kept_as_lines_are_taken_over(tmp_path: Path) -> None:
    lines = ['{"time": "2026-11-18T10:00:00Z", "events": ["stop"], "stored": 2}', '"odd"', '{"events": [']
    (tmp_path / "jobs.jsonl").write_text("\n".join(lines))
    with recorded(tmp_path, RunTally(("commit",)), NOW, lambda: 0.0):
        pass
    old, new = read_runs(tmp_path)
    assert old == {"time": "2026-11-18T10:00:00Z", "events": ["stop"], "stored": 2}
    assert new["events"] == ["commit"] and not (tmp_path / "jobs.jsonl").exists()


def test_an_engine_that_fails_leaves_the_cursor_and_the_job(
    workspace: Workspace, home: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home, repo, ASKED)
    engine = use(Engine(add("ship"), fails=1), monkeypatch)
    put(workspace.state / "spool", Job("stop", str(repo), time=1))
    worker.work(repo / ".git", dict(os.environ))
    # What was plainly asked does not wait for the engine.
    stored = {"main/deploy-release-branch-only.md"}
    assert memories(workspace) == stored and len(take(workspace.state / "spool")) == 1
    (run,) = read_runs(workspace.state)
    assert run["error"]["message"] == "over the day's ceiling" and "failed" in run["skipped"][0]["why"]
    assert run["error"]["hint"].endswith("What was plainly asked for is stored: 1 memory.")
    worker.work(repo / ".git", dict(os.environ))
    assert memories(workspace) == {"main/ship.md", *stored} and take(workspace.state / "spool") == []
    assert [m.text for m in engine.given[1].messages if m.role == "person"] == [ASKED]


def test_jobs_wait_for_an_engine_as_long_as_it_takes_and_ask_it_once_a_worker(
    workspace: Workspace, home: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home, repo, ASKED)
    engine = use(Engine(add("ship"), fails=6), monkeypatch)
    for number in range(6):
        put(workspace.state / "spool", Job("stop", str(repo), time=number + 1))
        worker.work(repo / ".git", dict(os.environ))
        assert len(engine.given) == number + 1
    assert len(take(workspace.state / "spool")) == 6 and worker.failed_jobs(repo / ".git") == ()
    worker.work(repo / ".git", dict(os.environ))
    stored = {"main/ship.md", "main/deploy-release-branch-only.md"}
    assert take(workspace.state / "spool") == [] and memories(workspace) == stored


def test_what_a_model_did_of_a_long_session_before_a_ceiling_is_not_paid_for_again(
    workspace: Workspace, home: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gitmem.flows.extract.run.MOST_FOR_MODEL", 2_000)
    said = [f"{number} {'x' * 1_000}" for number in range(4)]
    write(home, repo, *said)
    engine = use(Engine(add("ship"), passes=1, fails=1), monkeypatch)
    with pytest.raises(EngineError):
        do(repo)
    assert memories(workspace) == {"main/ship.md"}
    do(repo)
    heard = [[m.text[0] for m in given.messages if m.role == "person"] for given in engine.given]
    first, failed, *rest = heard
    assert first and failed == rest[0] and not set(first) & set(failed)
    assert [*first, *(number for part in rest for number in part)] == ["0", "1", "2", "3"]


def test_sessions_that_a_model_always_declines_keep_no_other_out_and_are_not_paid_for_each_time(
    workspace: Workspace, home: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Picky(Engine):
        def extract(self, given: ExtractInput) -> Extraction:
            if any("declined" in message.text for message in given.messages):
                self.given.append(given)
                error = EngineError("declined")
                error.of_input = True
                raise error
            return Extraction(self.changes)

    for number in range(3):
        write(home, repo, "declined", id=f"0000000{number}-0000-4000-8000-000000000000")
    write(home, repo, MORE, id="00000009-0000-4000-8000-000000000000")
    engine = use(Picky(add("ship")), monkeypatch)
    for _ in range(2):
        with pytest.raises(EngineError):
            do(repo)
    assert memories(workspace) == {"main/ship.md"} and len(engine.given) == 6
    do(repo)
    assert len(engine.given) == 6
    assert "failed at it 2 times" in read_runs(workspace.state)[-1]["skipped"][0]["why"]
    monkeypatch.setenv("GITMEM_NOW", str(NOW + 3_601))
    with pytest.raises(EngineError):
        do(repo)
    assert len(engine.given) == 9
    # Another engine is asked at once.
    engine.name = "another"
    with pytest.raises(EngineError):
        do(repo)
    assert len(engine.given) == 12


def test_a_session_that_an_engine_cannot_take_keeps_no_other_out(
    workspace: Workspace, home: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home, repo, ASKED)
    write(home, repo, MORE, id="00000002-0000-4000-8000-000000000000")
    use(Engine(add("ship"), fails=1), monkeypatch)
    with pytest.raises(EngineError):
        do(repo)
    assert memories(workspace) == {"main/ship.md", "main/deploy-release-branch-only.md"}


@pytest.mark.parametrize("times", [1, 3])
def test_what_was_asked_is_stored_once_while_an_engine_fails_and_the_rest_is_looked_at_later(
    workspace: Workspace, home: Path, repo: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """Nor does it come back where somebody took it out meanwhile."""
    said = f"{ASKED} By the way, Friday is Ann's last day."
    write(home, repo, said)
    engine = use(Engine(add("anns-last-day"), fails=2 * times), monkeypatch)
    local = workspace.scope("local")
    for _ in range(times):
        with pytest.raises(EngineError):
            do(repo)
    tip = local.repo.ref(local.ref)
    assert tip and memories(workspace) == {"main/deploy-release-branch-only.md"}
    told = [parse(one.message) for one in local.repo.history(tip)]
    assert [one.engine for one in told if one.writer == "extract"] == ["offline"]
    taken_out = Write(
        {"main/deploy-release-branch-only.md": None}, "Reword it elsewhere", Provenance("delete")
    )
    land(local, lambda _: taken_out, Signature("Ann", "ann@example.com", NOW))
    for _ in range(times):
        with pytest.raises(EngineError):
            do(repo)
    assert memories(workspace) == set()
    do(repo)
    assert memories(workspace) == {"main/anns-last-day.md"}
    assert [m.text for m in engine.given[-1].messages if m.role == "person"] == [said]
    assert engine.given[-1].answered == {m.uuid for m in engine.given[-1].messages if m.role == "person"}
    assert not engine.given[0].answered


@pytest.mark.parametrize("engine", [OfflineEngine, AgentEngine])
def test_what_was_asked_while_an_engine_failed_and_was_taken_back_is_not_done_again_by_another(
    workspace: Workspace,
    home: Path,
    repo: Path,
    monkeypatch: pytest.MonkeyPatch,
    engine: type[OfflineEngine],
) -> None:
    write(home, repo, ASKED)
    use(Engine(fails=1), monkeypatch)
    with pytest.raises(EngineError):
        do(repo)
    (path,) = memories(workspace)
    local = workspace.scope("local")
    gone = Write({path: None}, "Delete it", Provenance("delete", "human"))
    land(local, lambda _: gone, Signature("Ann", "ann@example.com", NOW))
    use(engine(), monkeypatch)  # type: ignore[arg-type]
    do(repo)
    assert memories(workspace) == set() and open_suggestions(workspace) == ()
    write(home, repo, ASKED, MORE)
    do(repo)
    assert len(memories(workspace)) == 1


def test_a_deletion_asked_for_while_an_engine_failed_and_undone_is_not_made_again(
    workspace: Workspace, home: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home, repo, ASKED, id="00000002-0000-4000-8000-000000000000")
    use(OfflineEngine(), monkeypatch)  # type: ignore[arg-type]
    do(repo)
    (path,) = memories(workspace)
    local = workspace.scope("local")
    before = read_files(local.repo, local.repo.commit(local.repo.ref(local.ref) or "").tree)[path]
    write(home, repo, "please forget what I said about the release branch")
    use(Engine(fails=1), monkeypatch)
    with pytest.raises(EngineError):
        do(repo)
    assert memories(workspace) == set()
    back = Write({path: before}, "Undo it", Provenance("restore", "human"))
    land(local, lambda _: back, Signature("Ann", "ann@example.com", NOW))
    use(OfflineEngine(), monkeypatch)  # type: ignore[arg-type]
    do(repo)
    assert memories(workspace) == {path}


def test_what_was_asked_in_sessions_that_no_engine_was_asked_about_is_stored_too(
    workspace: Workspace, home: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After two failures the engine is left alone, and what people asked for does not wait for it."""
    ports = ("the docs", "the database", "the proxy", "the mail")
    for number, what in enumerate(ports):
        id = f"0000000{number}-0000-4000-8000-000000000000"
        write(home, repo, f"Remember that port 400{number} is for {what}.", id=id)
    engine = use(Engine(fails=99), monkeypatch)
    with pytest.raises(EngineError):
        do(repo)
    assert len(engine.given) == 2 and len(memories(workspace)) == len(ports)
    assert read_runs(workspace.state)[-1]["stored"] == len(ports)


def test_what_was_asked_at_the_end_of_a_long_session_is_stored_while_an_engine_fails(
    workspace: Workspace, home: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gitmem.flows.extract.run.MOST_FOR_MODEL", 2_000)
    write(home, repo, *(f"{number} {'x' * 1_000}" for number in range(4)), ASKED)
    use(Engine(fails=9), monkeypatch)
    with pytest.raises(EngineError):
        do(repo)
    assert memories(workspace) == {"main/deploy-release-branch-only.md"}


def test_no_job_looks_twice_for_what_was_asked_while_an_engine_fails(
    workspace: Workspace, home: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []
    extract = OfflineEngine.extract

    def counted(self: OfflineEngine, given: ExtractInput) -> Extraction:
        looked.extend(message.text for message in given.messages if message.role == "person")
        return extract(self, given)

    monkeypatch.setattr(OfflineEngine, "extract", counted)
    use(Engine(fails=9), monkeypatch)
    for said in (("The tests are slow.",), ("The tests are slow.", ASKED), ("The tests are slow.", ASKED)):
        write(home, repo, *said)
        with pytest.raises(EngineError):
            do(repo)
    assert looked == ["The tests are slow.", ASKED]
    assert memories(workspace) == {"main/deploy-release-branch-only.md"}


def test_what_was_asked_is_stored_though_a_crash_came_between(
    workspace: Workspace, home: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(Exception):
        pass

    def crash(*_: object, **__: object) -> None:
        raise Killed

    write(home, repo, ASKED)
    engine = use(Engine(add("ship"), fails=1), monkeypatch)
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr("gitmem.flows.extract.run.land_change", crash)
        do(repo)
    assert memories(workspace) == set()
    do(repo)
    assert memories(workspace) == {"main/ship.md", "main/deploy-release-branch-only.md"}
    assert [m.text for m in engine.given[-1].messages if m.role == "person"] == [ASKED]


def test_few_turns_wait_until_there_are_enough_or_the_session_ends(
    workspace: Workspace, home: Path, repo: Path, git
) -> None:
    git("-C", repo, "config", "gitmem.extractEvery", "3")
    write(home, repo, ASKED, "two")
    do(repo, "stop", session_id=ID)
    assert memories(workspace) == set()
    assert "2 of 3 turns" in read_runs(workspace.state)[-1]["skipped"][0]["why"]
    do(repo, "session-end", session_id="another")
    assert memories(workspace) == set()
    write(home, repo, ASKED, "two", "three")
    do(repo, "commit")
    assert len(memories(workspace)) == 1
    write(home, repo, ASKED, "two", "three", MORE)
    do(repo, "session-start", session_id=ID)
    assert len(memories(workspace)) == 1
    do(repo, "pre-compact", session_id=ID)
    assert len(memories(workspace)) == 2


def test_what_an_interrupted_session_left_is_caught_up_at_the_next_start(
    workspace: Workspace, home: Path, repo: Path, git
) -> None:
    git("-C", repo, "config", "gitmem.extractEvery", "3")
    write(home, repo, ASKED)
    do(repo, "session-start", session_id="00000009-0000-4000-8000-000000000000")
    assert len(memories(workspace)) == 1


@pytest.mark.parametrize(
    ("place", "off"), [("home", True), ("settings.json", True), ("settings.local.json", True), ("", False)]
)
def test_a_setting_of_the_client_switches_extraction_off(
    workspace: Workspace, home: Path, repo: Path, place: str, off: bool
) -> None:
    write(home, repo, ASKED)
    (repo / ".claude").mkdir()
    path = home / ".claude/settings.json" if place == "home" else repo / ".claude" / (place or "other.json")
    path.write_text('{"autoMemoryEnabled": false}')
    hook("Stop", {"cwd": str(repo), "session_id": ID})
    assert take(workspace.state / "spool") == [] if off else take(workspace.state / "spool")
    do(repo, "commit")
    assert bool(memories(workspace)) is not off
    if off:
        assert "autoMemoryEnabled" in read_runs(workspace.state)[-1]["skipped"][0]["why"]


@pytest.mark.parametrize("variable", ["GITMEM_DISABLE", "CLAUDE_CODE_DISABLE_AUTO_MEMORY"])
def test_a_session_that_ran_with_extraction_off_is_never_learned_from(
    workspace: Workspace, home: Path, repo: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """A commit in another terminal leaves its job without that session's environment."""
    path = write(home, repo, ASKED)
    monkeypatch.setattr(hook_entry.time, "time", lambda: NOW)
    payload = {"cwd": str(repo), "session_id": ID, "transcript_path": str(path)}
    hook("Stop", payload, {variable: "1"})
    assert take(workspace.state / "spool") == []
    do(repo, "commit")
    assert memories(workspace) == set()
    hook("SessionStart", {**payload, "source": "resume"})
    assert pausing.unheard(workspace.state, ID)[-1].end == NOW
    monkeypatch.setattr("gitmem.flows.extraction.intervals", lambda _: ())
    path.write_text(
        path.read_text()
        + path.read_text()
        .splitlines()[0]
        .replace("2026-11-20", "2026-11-30")
        .replace("00010000-0000", "00010077-0000")
        .replace(ASKED, MORE)
        + "\n"
    )
    do(repo, "commit")
    assert ["linear" in name or "staging" in name for name in memories(workspace)] == [True]


def test_what_was_said_in_a_pause_is_never_learned(workspace: Workspace, home: Path, repo: Path) -> None:
    write(home, repo, ASKED)
    pausing.pause(workspace.state, 0.0)
    do(repo, "stop")
    assert read_runs(workspace.state)[-1]["skipped"][0]["why"].startswith("paused")
    pausing.unpause(workspace.state, NOW - 1.0)
    do(repo, "stop")
    assert memories(workspace) == set() and open_suggestions(workspace) == ()
    # Handled for good: it stays out where nobody remembers the pause.
    (workspace.state / pausing.FILE).unlink()
    do(repo, "stop")
    assert memories(workspace) == set()


def test_a_session_with_a_pause_or_ignored_words_in_it_is_not_for_a_fork(
    workspace: Workspace, home: Path, repo: Path, git
) -> None:
    path = write(home, repo, ASKED)
    assert not withholds(workspace, path, NOW)
    git("-C", repo, "config", "gitmem.ignore", "release BRANCH")
    assert withholds(initialised_at(real_edges(repo)), path, NOW)
    pausing.pause(workspace.state, 0.0)
    pausing.unpause(workspace.state, NOW - 1.0)
    assert withholds(workspace, path, NOW)


def test_a_person_is_told_once_what_was_saved_and_how_much_waits(
    workspace: Workspace, home: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home, repo, "anything")
    names = [add(name) for name in ("ship", "bugs")]
    use(Engine(*names, add("later", asked=False)), monkeypatch)
    do(repo, "stop", session_id=ID)
    payload = {"cwd": str(repo), "session_id": ID}
    assert said(hook("Stop", {**payload, "session_id": "another"})) == ""
    assert said(hook("Stop", {**payload, "agent_id": "a1"})) == ""
    # Nobody sees it in `claude -p`.
    assert said(hook("Stop", payload, {"CLAUDE_CODE_ENTRYPOINT": "sdk-cli"})) == ""
    assert said(hook("Stop", payload)) == "Saved 2 memories: ship, bugs. 1 find waits: git mem review"
    assert said(hook("SessionStart", {**payload, "source": "startup"})) == ""


def test_what_a_session_that_ended_was_not_told_the_next_one_of_the_repository_is(
    workspace: Workspace, home: Path, repo: Path
) -> None:
    write(home, repo, ASKED)
    do(repo, "session-end", session_id=ID)
    answer = hook("SessionStart", {"cwd": str(repo), "session_id": "new", "source": "startup"})
    assert said(answer).startswith("Saved 1 memory: ")
    assert said(hook("SessionStart", {"cwd": str(repo), "session_id": "new", "source": "startup"})) == ""


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


def test_what_a_commit_asked_for_in_vain_is_said(workspace: Workspace, repo: Path, git) -> None:
    do(repo, "commit")
    git(
        "-C",
        repo,
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        f"Deploy\n\nForget: no such thing\nRemember: Key {KEY}.",
    )
    do(repo, "commit")
    missing, secret = read_runs(workspace.state)[-1]["log"]
    assert missing == "Forget: no such thing: no memory has that name or says that"
    assert secret.startswith("not stored: Key") and KEY not in secret


def subagent(home: Path, repo: Path, *replies: str, name: str = "a1") -> Path:
    made = Transcript(ID, str(repo))
    made.user("Look at the ports.", isSidechain=True)
    for text in replies:
        made.agent(text, isSidechain=True)
    folder = home / ".claude/projects" / slug(repo) / ID / "subagents"
    folder.mkdir(parents=True, exist_ok=True)
    return made.write(folder / f"agent-{name}.jsonl")


def define(folder: Path, name: str, memory: str) -> None:
    path = folder / "agents" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\nname: {name}\n{memory}\n---\n\nYou review.\n")


@pytest.mark.parametrize("scope", ["project", "local", "user"])
def test_what_a_subagent_learned_goes_where_its_definition_says(
    workspace: Workspace, home: Path, repo: Path, monkeypatch: pytest.MonkeyPatch, scope: str
) -> None:
    define(repo / ".claude", "reviewer", f"memory: {scope}")
    path = subagent(home, repo, "Ports start at 4000.")
    engine = use(Engine(add("ports")), monkeypatch)
    do(repo, "subagent-stop", agent="reviewer", session_path=str(path), session_id=ID)
    assert memories(workspace, scope) == {"reviewer/ports.md"}
    (given,) = engine.given
    assert given.agent == "reviewer" and [m.text for m in given.messages] == ["Ports start at 4000."]
    do(repo, "subagent-stop", agent="reviewer", session_path=str(path), session_id=ID)
    assert len(engine.given) == 1


def test_a_subagent_of_which_no_hook_told_is_caught_up_with_at_the_next_start(
    workspace: Workspace, home: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a person interrupts, no SubagentStop comes."""
    define(repo / ".claude", "reviewer", "memory: project")
    write(home, repo, "Review it.")
    path = subagent(home, repo, "Ports start at 4000.")
    path.with_name(f"{path.stem}.meta.json").write_text('{"agentType": "reviewer"}')
    path.with_name("agent-bad.meta.json").write_text('["reviewer"]')
    engine = use(Engine(add("ports")), monkeypatch)
    do(repo, "stop", session_id=ID)
    assert [given.agent for given in engine.given] == ["main"]
    for _ in range(2):
        do(repo, "session-start", session_id="new")
        assert [given.agent for given in engine.given] == ["main", "reviewer"]
    assert memories(workspace, "project") == {"reviewer/ports.md"}


def test_what_is_about_a_person_stays_out_of_an_agents_project_memory(
    workspace: Workspace, home: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    define(repo / ".claude", "reviewer", "memory: project")
    path = subagent(home, repo, "She likes short reviews.")
    change = Change("add", "short", "Likes it short", "user", "Likes short reviews.", "said", 0.9, True)
    use(Engine(change), monkeypatch)
    do(repo, "subagent-stop", agent="reviewer", session_path=str(path), session_id=ID)
    assert memories(workspace, "project") == set() and memories(workspace) == {"reviewer/short.md"}


def test_offline_learns_nothing_from_what_agents_say_to_each_other(
    workspace: Workspace, home: Path, repo: Path
) -> None:
    define(home / ".claude", "reviewer", "memory: user")
    path = subagent(home, repo, "Remember that we always deploy on Tuesdays.")
    do(repo, "subagent-stop", agent="reviewer", session_path=str(path), session_id=ID)
    assert memories(workspace, "user") == set() and open_suggestions(workspace) == ()


@pytest.mark.parametrize(
    ("name", "memory", "scope"),
    [
        ("reviewer", "memory: user", "user"),
        ("reviewer", "memory: PROJECT", "project"),
        ("reviewer", "memory: /etc", None),
        ("reviewer", "", None),
        ("../../reviewer", "memory: user", None),
        ("main", "memory: user", None),
        ("other", "memory: user", None),
    ],
)
def test_of_a_definition_three_words_count(
    tmp_path: Path, name: str, memory: str, scope: str | None
) -> None:
    define(tmp_path / "w/.claude", "reviewer", memory)
    assert memory_scope(name, tmp_path / "w", ".claude", tmp_path / "c") == scope


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


def test_only_a_recording_of_this_repository_where_the_client_keeps_them_is_read(
    home: Path, repo: Path, tmp_path: Path
) -> None:
    good, config = subagent(home, repo, "Hi."), home / ".claude"
    assert is_transcript(good, config, [repo])
    assert not is_transcript(good, config, [tmp_path / "other"])
    assert not is_transcript(good.with_name("other.jsonl"), config, [repo])
    aside = tmp_path / "agent-x.jsonl"
    aside.write_bytes(good.read_bytes())
    assert not is_transcript(aside, config, [repo])
    link = good.with_name("agent-link.jsonl")
    link.symlink_to(aside)
    assert not is_transcript(link, config, [repo])
    assert not is_transcript(good.parent / ".." / "subagents" / good.name, config, [repo])


def test_jobs_shows_what_ran_what_waits_and_what_failed(
    workspace: Workspace, home: Path, repo: Path, gitmem
) -> None:
    write(home, repo, ASKED)
    do(repo, "stop", session_id=ID)
    put(workspace.state / "spool", Job("commit", str(repo), time=1))
    failed = workspace.state / "spool/failed"
    failed.mkdir()
    (failed / "7-commit.try4").write_text(f"gitmem-job 1\nevent=commit\nargs=\nworktree={repo}\n")
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


def test_failed_jobs_can_be_run_again_or_cleared(
    workspace: Workspace, repo: Path, gitmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Path] = []
    monkeypatch.setattr("gitmem.cli.jobs.start_worker", lambda common, _: started.append(common))
    failed = workspace.state / "spool/failed"
    failed.mkdir(parents=True)
    for word, left in (("--retry", 1), ("--clear", 1)):
        (failed / "7-commit.try4").write_text(f"gitmem-job 1\nevent=commit\nargs=\nworktree={repo}\n")
        (failed / "7-commit.try4.error").write_text("no luck")
        gitmem("jobs", word)
        assert list(failed.iterdir()) == []
        assert [path.name for path, _ in take(workspace.state / "spool")] == ["7-commit-again"][:left]
    assert started == [repo.resolve() / ".git"]


def test_a_hundred_commits_leave_one_job(repo: Path, git, tmp_path: Path) -> None:
    """Where no worker comes to it: the one that waits does for all; another work tree has its own."""
    from gitmem.app import git_hooks

    program = tmp_path / "gitmem"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (repo / ".git/gitmem").mkdir()
    runner = git_hooks.GitCommand(os.environ)
    git_hooks.apply(
        git_hooks.plan_git_hooks(repo / ".git", [str(program)], git_hooks.GitSetup((2, 39))), runner
    )
    git("-C", repo, "worktree", "add", "-q", tmp_path / "other", "-b", "other")
    for number in range(5):
        git("-C", repo, "commit", "-q", "--allow-empty", "-m", str(number))
    git("-C", tmp_path / "other", "commit", "-q", "--allow-empty", "-m", "there")
    found = [job for _, job in take(repo / ".git/gitmem/spool") if job.event == "commit"]
    assert sorted(job.worktree for job in found) == sorted([str(repo), str(tmp_path / "other")])


@pytest.mark.parametrize("backend", ["--merge", "--apply"])
def test_a_rebase_leaves_one_job_and_one_that_is_given_up_loses_nothing(
    repo: Path, git, tmp_path: Path, backend: str
) -> None:
    from gitmem.app import git_hooks

    program = tmp_path / "gitmem"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    spool = repo / ".git/gitmem/spool"
    spool.mkdir(parents=True)
    git("-C", repo, "checkout", "-qb", "topic")
    for name in "abc":
        (repo / name).write_text(name)
        git("-C", repo, "add", name)
        git("-C", repo, "commit", "-qm", name)
    git("-C", repo, "checkout", "-q", "main")
    (repo / "c").write_text("another")
    git("-C", repo, "add", "c")
    git("-C", repo, "commit", "-qm", "other")
    runner = git_hooks.GitCommand(os.environ)
    git_hooks.apply(
        git_hooks.plan_git_hooks(repo / ".git", [str(program)], git_hooks.GitSetup((2, 39))), runner
    )
    git("-C", repo, "checkout", "-q", "topic")
    for path, _ in take(spool):
        path.unlink()
    stopped = subprocess.run(["git", "-C", repo, "rebase", "-q", backend, "main"], capture_output=True)
    assert stopped.returncode
    assert {job.event for _, job in take(spool)} <= {"checkout"}
    git("-C", repo, "rebase", "--abort")
    (repo / "d").write_text("d")
    git("-C", repo, "add", "d")
    git("-C", repo, "commit", "-qm", "d")
    # Given up, no post-rewrite comes: the next commit's job sees all that was said meanwhile.
    assert [job.event for _, job in take(spool) if job.event != "checkout"] == ["commit"]
    for path, _ in take(spool):
        path.unlink()
    git("-C", repo, "rebase", "-q", backend, "main~1", "--force-rebase")
    assert [job.event for _, job in take(spool) if job.event != "checkout"] == ["rewrite"]
    for path, _ in take(spool):
        path.unlink()
    git("-C", repo, "cherry-pick", "main", "--strategy-option=theirs")
    assert [job.event for _, job in take(spool)] == ["commit"]
