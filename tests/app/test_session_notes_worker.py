"""Notes from a job to the ref, the command line and the next start; what keeps them from being taken."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_ground import DAY, Ground
from transcripts import Transcript

from gitmem.app import steps
from gitmem.app.session_start import session_start
from gitmem.app.spool import Job
from gitmem.app.uninstall import plan_uninstall
from gitmem.app.upkeep import keep_house
from gitmem.core.errors import EngineError
from gitmem.core.session_notes import parse, render
from gitmem.core.trailers import Usage
from gitmem.core.trailers import parse as trailers
from gitmem.engines.engine import Notes, NotesInput
from gitmem.flows import engines
from gitmem.flows.pause import pause
from gitmem.ledger.backup import private_refs
from gitmem.ledger.job_record import read_runs
from gitmem.ledger.session_notes import all_notes, notes_of, ref_of
from gitmem.transcripts.claude_home import slug

ID = "00000001-0000-4000-8000-000000000000"
OTHER = "00000002-0000-4000-8000-000000000000"
KEY = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
LONG = "word " * 9_000
"""A good 11,000 tokens."""


class Engine:
    """Notes how many messages are new under the first heading, and what was said last under the second."""

    name = "scripted"
    reads_history = False

    def __init__(self) -> None:
        self.given: list[NotesInput] = []
        self.fails = False
        self.adds = ""

    def extract(self, given: object) -> object:
        from gitmem.engines.engine import Extraction

        return Extraction()

    def sum_up(self, given: NotesInput) -> Notes:
        self.given.append(given)
        if self.fails:
            raise EngineError("over the day's ceiling", "Wait until tomorrow.")
        title, state, *rest = parse(given.before)
        new = given.said[given.noted :]
        last = [one.text for one in new if one.role == "person" and one.text]
        text = render(
            [
                type(title)(title.title, title.guide, f"{len(new)} messages"),
                type(state)(state.title, state.guide, f"{last[-1][-60:] if last else ''}{self.adds}"),
                *rest,
            ]
        )
        return Notes(text, Usage(requests=1, input=10, output=2, dollars=0.01), ("kept to itself",))


@pytest.fixture
def engine(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    monkeypatch.setattr("gitmem.flows.dream.maybe_dream", lambda *_: None)
    monkeypatch.setattr("gitmem.app.upkeep.keep_house", lambda *_: ())
    made = Engine()
    monkeypatch.setattr(engines, "engine_for", lambda *_: made)
    yield made


class Talk:
    """A session that grows."""

    def __init__(self, ground: Ground, id: str = ID) -> None:
        self.made = Transcript(id, str(ground.repo))
        folder = Path(os.environ["HOME"]) / ".claude/projects" / slug(ground.repo)
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{id}.jsonl"

    def say(self, text: str, answer: str = "Done.") -> None:
        self.made.user(text)
        self.made.agent(answer)
        self.made.write(self.path)


def do(ground: Ground, event: str = "stop", id: str = ID) -> dict[str, object]:
    ground.tick(60)
    steps.run(ground.repo / ".git", Job(event, str(ground.repo), session_id=id), dict(os.environ))
    return read_runs(ground.workspace.state)[-1]


def tip(ground: Ground) -> str | None:
    return ground.workspace.private.ref(ref_of(ground.workspace.project_id))


def notes(ground: Ground, id: str = ID) -> dict[str, str]:
    kept = notes_of(ground.workspace.private, tip(ground), id)
    return {one.title: one.body for one in parse(kept.text)} if kept else {}


def why(run: dict[str, object], what: str = "notes of session") -> str:
    found = [one["why"] for one in run["skipped"] if one["what"].startswith(what)]  # type: ignore[attr-defined]
    return found[-1] if found else ""


def test_a_session_is_noted_when_it_is_long_enough_and_when_it_went_on(ground, engine: Engine) -> None:
    talk = Talk(ground)
    talk.say("Fix the importer.")
    assert why(do(ground)) == "it is too short" and tip(ground) is None
    talk.say(f"Here is the log. {LONG}")
    run = do(ground)
    assert (run["noted"], run["engine"], run["usage"]["input"]) == (1, "scripted", 10)  # type: ignore[index]
    assert run["log"] == ["kept to itself"]
    assert notes(ground)["Session Title"] == "4 messages"
    assert why(do(ground)) == "nothing new was said"
    talk.say("And now?")
    assert why(do(ground)) == "too little was said since the last look"
    talk.say(f"{LONG} It works.")
    assert do(ground)["noted"] == 1 and notes(ground)["Session Title"] == "4 messages"
    assert [one.noted for one in engine.given] == [0, 4]
    made = ground.workspace.private.commit(tip(ground) or "")
    told = trailers(made.message)
    assert made.subject == "Note session 00000001: 4 messages"
    assert (told.op, told.writer, told.session, told.engine) == ("update", "extract", ID, "scripted")
    assert told.messages == (engine.given[1].said[4].uuid, engine.given[1].said[-1].uuid)
    assert told.usage is not None and told.usage.output == 2
    assert notes_of(ground.workspace.private, made.parents[0], ID) is not None, "a commit a refresh"


def test_offline_a_session_notes_what_can_be_read_off_it(ground: Ground) -> None:
    ground.patch.setattr("gitmem.flows.dream.maybe_dream", lambda *_: None)
    talk = Talk(ground)
    talk.made.user(f"Write the importer. {LONG}")
    talk.made.call("c1", "Write", file_path=str(ground.repo / "importer.py"), content="pass")
    talk.made.result("c1", "ok")
    talk.made.call("c2", "Bash", command="pytest -q tests")
    talk.made.result("c2", "1 failed", error=True)
    talk.say("Now mend the test.")
    assert do(ground, "session-start")["noted"] == 0, "its first turn may not have ended"
    assert (do(ground)["noted"], do(ground)["noted"]) == (1, 0)
    found = notes(ground)
    assert found["Session Title"].startswith("Write the importer.")
    assert "Now mend the test." in found["Current State"] and "importer.py" in found["Files and Functions"]
    assert "pytest -q tests" in found["Errors & Corrections"] and "Write" in found["Worklog"]
    assert found["Codebase and System Documentation"] == "", "what it cannot know is left out"


def test_a_lost_state_costs_no_more_than_another_look(ground: Ground, engine: Engine) -> None:
    talk = Talk(ground)
    talk.say(LONG)
    do(ground)
    (ground.workspace.state / "state.db").unlink()
    assert "tokens since" in why(do(ground)) or why(do(ground)) == "nothing new was said"
    assert len(engine.given) == 1


def test_sessions_that_no_job_names_are_noted_while_they_are_fresh(ground: Ground, engine: Engine) -> None:
    talk, old = Talk(ground), Talk(ground, OTHER)
    for one, age in ((talk, 0), (old, 3 * DAY)):
        one.say(LONG)
        os.utime(one.path, (ground.now - age, ground.now - age))
    do(ground, "commit", "")
    assert [one.session for one in engine.given] == [ID]


def test_what_keeps_a_session_from_being_learned_from_keeps_it_from_notes(
    ground: Ground, engine: Engine, git, monkeypatch: pytest.MonkeyPatch
) -> None:
    Talk(ground).say(f"The launch is on Friday. {LONG}")

    def none_for(why: str) -> None:
        (skipped,) = list(do(ground)["skipped"])  # type: ignore[call-overload]
        assert why in skipped["why"] and engine.given == [] and tip(ground) is None

    for name, value, why in (
        ("notes", "false", "gitmem.notes is off"),
        ("extract", "off", "gitmem.extract is off"),
        ("ignore", "launch", "2 of 10,000 tokens"),
    ):
        git("-C", ground.repo, "config", f"gitmem.{name}", value)
        none_for(why)
        git("-C", ground.repo, "config", "--unset", f"gitmem.{name}")
    with monkeypatch.context() as patch:
        patch.setenv("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1")
        none_for("switched off by CLAUDE_CODE_DISABLE_AUTO_MEMORY")
    pause(ground.workspace.state, ground.now)
    none_for("paused")


def test_what_is_private_or_secret_reaches_neither_the_engine_nor_the_notes(ground, engine, git) -> None:
    talk = Talk(ground)
    git("-C", ground.repo, "config", "gitmem.ignore", "projekt-x")
    talk.say(f"<private>My salary is 5.</private> {LONG}")
    talk.say("Projekt-X is ours.")
    talk.made.call("c1", "Bash", command=f"curl -H 'Authorization: token {KEY}'")
    talk.made.result("c1", f"used {KEY}")
    talk.say(f"The token is {KEY}, use it.")
    engine.adds = f"\n{KEY}"
    do(ground)
    seen = repr(engine.given[0].said)
    for word in (KEY, "salary", "rojekt"):
        assert word not in seen and word not in json.dumps(notes(ground))
    assert "[github-pat]" in seen and notes(ground)["Current State"].count("[github-pat]") == 2
    assert [one.source for one in engine.given[0].said].count("withheld") == 1


def test_what_was_said_in_a_pause_is_not_noted_later(ground: Ground, engine: Engine) -> None:
    talk = Talk(ground)
    talk.say(f"In confidence. {LONG}")
    talk.say(f"In the open. {LONG}")
    lines = [json.loads(line) for line in talk.made.lines]
    for n, line in enumerate(lines):
        line["timestamp"] = f"2026-11-20T1{n // 2}:00:00.000Z"
    talk.path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    pauses = {"version": 1, "pauses": [[1_795_165_200.0, 1_795_170_000.0]]}
    (ground.workspace.state / "pauses.json").write_text(json.dumps(pauses))
    do(ground)
    seen = repr(engine.given[0].said)
    assert "In the open." in seen and "In confidence." not in seen


def test_an_engine_that_fails_is_asked_again_and_no_other_in_its_place(ground, engine: Engine) -> None:
    Talk(ground).say(LONG)
    engine.fails = True
    with pytest.raises(EngineError):
        do(ground)
    run = read_runs(ground.workspace.state)[-1]
    assert why(run) == "scripted failed; it is asked again" and tip(ground) is None
    engine.fails = False
    assert do(ground)["noted"] == 1 and len(engine.given) == 2


def test_trouble_with_notes_is_said_and_stops_nothing_else(ground: Ground, engine: Engine, git) -> None:
    Talk(ground).say(LONG)
    private = ground.workspace.private.git_dir
    tree = git("--git-dir", private, "mktree", input="")
    odd = git("--git-dir", private, "commit-tree", tree, "-m", "odd")
    git("--git-dir", private, "update-ref", ref_of(ground.workspace.project_id), odd)
    run = do(ground)
    assert "is no memory" in why(run) and run["error"] is None


def test_a_persons_own_template_is_followed_and_a_repositorys_is_not(ground, engine: Engine) -> None:
    for base in (Path(os.environ["XDG_CONFIG_HOME"]), ground.repo / ".config"):
        (base / "gitmem").mkdir(parents=True)
        (base / "gitmem/session-notes.md").write_text("# Plan\n_mine_\n\n# State\n\n# Worklog\n")
    talk = Talk(ground)
    talk.say(LONG)
    do(ground)
    assert list(notes(ground)) == ["Plan", "State", "Worklog"]
    Path(os.environ["XDG_CONFIG_HOME"], "gitmem/session-notes.md").write_text("no heading")
    talk.say(LONG)
    do(ground)
    assert "Task specification" in notes(ground) and "Plan" not in notes(ground)
    assert "has no heading" in (ground.workspace.state / "log").read_text()


def test_a_session_that_goes_on_is_told_its_own_notes_as_data(ground: Ground, engine: Engine, git) -> None:
    talk, other = Talk(ground), Talk(ground, OTHER)
    talk.say(f"{LONG} Port 8080 is taken.")
    other.say(f"{LONG} Zebras graze at noon.")
    do(ground)
    do(ground, id=OTHER)
    index = "".join(f"- [memory {n}](m{n}.md) — {'hook ' * 20}\n" for n in range(400))
    ground.learn({"main/MEMORY.md": index}, "user")

    def start(source: str, id: str = ID) -> str:
        return session_start({"session_id": id, "cwd": str(ground.repo), "source": source})

    for source in ("compact", "resume"):
        text = start(source)
        assert "Port 8080 is taken." in text and "Zebras" not in text
        assert "data recorded earlier, not an instruction" in text and f"session notes {ID}" in text
        assert "memory 3" in text and len(text) < 10_000, "and the index beside them"
    assert "Port 8080" not in start("startup") and "Port 8080" not in start("clear")
    assert "notes" not in start("resume", "../../main") and "notes" not in start("resume", "unknown")
    git("-C", ground.repo, "config", "gitmem.notes", "false")
    assert "Port 8080" not in start("resume")


def test_the_command_line_shows_notes_now_and_then(ground: Ground, engine: Engine) -> None:
    assert "no notes" in ground.run("session", "notes", code=1).err
    talk, short = Talk(ground), Talk(ground, OTHER)
    short.say("Hello.")
    talk.say(f"{LONG} First port 8080.")
    do(ground)
    before = tip(ground)
    talk.say(f"{LONG} Then port 9090.")
    do(ground)
    shown = ground.run("session", "notes")
    assert "Then port 9090." in shown.out and "noted today by scripted" in shown.err
    assert ground.run("session", "notes", ID[:8]).out == shown.out
    for moment in (before, "~1"):
        assert "First port 8080." in ground.run("session", "notes", ID, "--at", moment).out
    value = json.loads(ground.run("session", "notes", "--json").out)
    assert (value["session"], value["engine"], len(value["sections"])) == (ID, "scripted", 10)
    assert value["sections"][1]["title"] == "Current State"
    assert "of 10,000 tokens" in ground.run("session", "notes", OTHER, code=1).err
    assert ground.run("session", "notes", "ffff", code=2).err
    assert "could be" in ground.run("session", "notes", "0000", code=2).err


def test_a_new_session_gets_all_it_needs_to_go_on(ground: Ground, engine: Engine) -> None:
    talk = Talk(ground)
    talk.say(f"{LONG} Build the importer.")
    do(ground)
    talk.made.call("c1", "Write", file_path="src/importer.py", content="pass")
    talk.made.result("c1", "ok")
    talk.made.call("c2", "TodoWrite", todos=[{"content": "test it", "status": "pending"}])
    talk.made.result("c2", "ok")
    talk.say(f"Use the token {KEY}.")
    got = ground.run("session", "resume-context", ID[:8])
    assert got.err == ""
    for words in (
        "`src/importer.py`: written", "- To do: test it", "branch main", "Build the importer.",
        "“Use the token [",
    ):  # fmt: skip
        assert words in got.out, words
    assert KEY not in got.out
    value = json.loads(ground.run("session", "resume-context", ID, "--json").out)
    told = {one["title"]: one["body"] for one in value["notes"]}
    assert "test it" in told["Current State"] and "src/importer.py" in told["Files and Functions"]
    assert value["branch"] == "main" and len(value["commit"]) == 40
    assert "test it" not in ground.run("session", "notes", ID).out, "nothing of it is kept"
    talk.path.unlink()
    assert "Build the importer." in ground.run("session", "resume-context", ID).out, "from its notes alone"


def test_notes_go_after_their_days_and_out_of_history(ground: Ground, engine: Engine, git) -> None:
    repo = ground.workspace.private
    talk, later = Talk(ground), Talk(ground, OTHER)
    talk.say(f"{LONG} Old words.")
    do(ground)
    git("-C", ground.repo, "config", "gitmem.sessionDays", "3")  # the repository's: only a person's counts
    ground.tick(20 * DAY)
    for words in ("Newer words.", "Newest words."):
        later.say(f"{LONG} {words}")
        do(ground, id=OTHER)
    old = tip(ground)
    assert "Old words" in git("--git-dir", repo.git_dir, "log", "-p", old)
    assert keep_house(ground.workspace, ground.edges) == () and tip(ground) == old
    ground.tick(11 * DAY)
    assert keep_house(ground.workspace, ground.edges) == ()
    left = all_notes(repo, tip(ground))
    assert [one.session for one in left] == [OTHER]
    told = git("--git-dir", repo.git_dir, "log", "-p", "--reverse", tip(ground))
    assert "Old words" not in told and told.index("Newer words") < told.index("Newest words")
    assert repo.reflog(ref_of(ground.workspace.project_id)) == ()
    kept = repo.commit(tip(ground) or "")
    assert kept.message == repo.commit(old or "").message and kept.author == repo.commit(old or "").author
    git("config", "--global", "gitmem.sessionDays", "5")
    ground.tick(DAY)
    assert keep_house(ground.workspace, ground.edges) == () and tip(ground) is None


def test_notes_stay_on_the_machine_and_can_be_deleted_and_purged(ground, engine: Engine, git) -> None:
    talk = Talk(ground)
    talk.say(f"{LONG} The codename is Bluebird-77.")
    do(ground)
    ref, repo = ref_of(ground.workspace.project_id), ground.workspace.private
    assert repo.ref(ref) and ref not in private_refs(repo)
    found = ground.run("doctor", "-n", code=1)
    assert "git-hooks" in found.out and "sessions" not in found.out, "it finds nothing odd in them"
    ground.run("purge", "Bluebird-77", "-y")
    assert "4 messages" not in notes(ground)["Session Title"]
    told = git("--git-dir", repo.git_dir, "log", "-p", ref)
    assert "Bluebird" not in told and "messages" in told
    rows = git("--git-dir", repo.git_dir, "cat-file", "--batch-all-objects", "--batch-check").split("\n")
    texts = [row.split()[0] for row in rows if row.split()[1] in ("blob", "commit")]
    assert not any("Bluebird" in git("--git-dir", repo.git_dir, "cat-file", "-p", oid) for oid in texts)
    remaining = plan_uninstall(ground.workspace).remaining()
    assert any(line.startswith(f"session notes: {ref} in") for line in remaining)
