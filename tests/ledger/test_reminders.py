"""What may last is put to the session's agent: once, in few words, and nothing that is to stay out."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest
from once import Once
from ran import Gitmem, Ran
from transcripts import Transcript

from gitmem.app import hooks as hook_entry
from gitmem.app import steps
from gitmem.app.context import real_edges
from gitmem.app.spool import Job
from gitmem.flows.context import initialised_at
from gitmem.flows.pause import pause
from gitmem.ledger import reminders
from gitmem.ledger.layout import auto_memory
from gitmem.ledger.suggestions import open_suggestions
from gitmem.ledger.workspace import Workspace
from gitmem.transcripts.claude_home import slug

ID = "00000001-0000-4000-8000-000000000000"
PASSING = "We never mock the database in tests, because mocks hid a broken migration."
SECOND = "Never squash commits, because bisecting needs them."
TOKEN = "ghp_" + "x7Kq2LmN8pRs4TvW6yZa1BcD3eFg5HjK9uXo"
SAID = "Said here by the person, and not in memory yet: "


class Held:
    """A session of Claude Code that goes on, in a repository where gitmem's hooks are."""

    def __init__(self, repo: Path, home: Path) -> None:
        self.repo, self.home = repo, home
        self.session = Transcript(ID, str(repo))

    @property
    def workspace(self) -> Workspace:
        return initialised_at(real_edges(self.repo))

    @property
    def state(self) -> Path:
        workspace = self.workspace
        return reminders.state_of(workspace.private_state, workspace.project_id)

    def say(self, *texts: str, event: str = "stop") -> None:
        """The person says this, the agent answers, and the worker runs."""
        for text in texts:
            self.session.user(text)
            self.session.agent("Done.")
        folder = self.home / ".claude/projects" / slug(self.repo)
        folder.mkdir(parents=True, exist_ok=True)
        path = self.session.write(folder / f"{ID}.jsonl")
        os.utime(path)
        self.work(event)

    def work(self, event: str) -> None:
        job = Job(event, str(self.repo), session_id="" if event == "commit" else ID)
        steps.run(self.repo / ".git", job, dict(os.environ))

    def prompt(self, text: str = "hello there", **more: object) -> str:
        """What the next prompt's hook adds."""
        payload = {"session_id": ID, "cwd": str(self.repo), "prompt": text} | more
        out = io.StringIO()
        stdin = io.BytesIO(json.dumps(payload).encode())
        assert hook_entry.main(["claude", "UserPromptSubmit"], {}, stdin, out, lambda *_: None) == 0
        answer = json.loads(out.getvalue() or "{}")
        return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))

    def waits(self) -> list[str]:
        return [one.change.body for one in open_suggestions(self.workspace)]


@pytest.fixture
def held(gitmem: Gitmem, repo: Path, home: Path, once: Once[Ran], monkeypatch: pytest.MonkeyPatch) -> Held:
    once("held", lambda: gitmem("init", "-y"))
    monkeypatch.delenv("GITMEM_DISABLE")  # the hook is called by hand, and starts nothing
    return Held(repo, home)


def test_a_sentence_is_told_once_with_the_folder_and_in_few_words(held: Held) -> None:
    held.say(PASSING)
    told = held.prompt()
    assert told.startswith(f'{SAID}"{PASSING}"')
    assert f"{auto_memory(held.workspace)}/" in told or "~/.claude/projects/" in told
    assert len(told.encode()) <= reminders.BYTES + 1
    assert held.prompt() == ""
    held.work("stop")
    held.say("And now the docs.", PASSING)
    assert held.prompt() == "", "the same words, said again"
    assert held.waits() == []


def test_an_answer_waits_with_its_question_though_that_was_read_before(held: Held) -> None:
    """The worker reads on where it ended, which is behind what the agent asked."""
    held.session.user("Write the client for the mail vendor.")
    held.session.agent("How many calls a minute does the vendor allow?")
    held.say()
    held.session.user("seven, eight trips their alarm")
    held.session.agent("Done.")
    held.say()
    waiting = (held.state / reminders.WAITING / ID).read_text("utf-8")
    assert "How many calls a minute does the vendor allow? Seven, eight" in waiting


def test_a_sentence_that_hardly_lasts_waits_for_another(tmp_path: Path) -> None:
    """Each note costs the agent a look: fewer prompts have one where two doubtful sentences share it."""
    reminders.leave(tmp_path, "s", [reminders.sentence(PASSING, "m1", 0.1)], [], "")
    assert reminders.take(tmp_path, "s") == ""
    reminders.leave(tmp_path, "s", [reminders.sentence(SECOND, "m2", 0.2)], [], "")
    told = reminders.take(tmp_path, "s")
    assert PASSING in told and SECOND in told


def test_what_was_said_in_another_session_as_well_waits_for_nothing(tmp_path: Path) -> None:
    """Its agent left it; who says it again means it."""
    words = [reminders.sentence(text, "m1", 0.1) for text in (PASSING, SECOND)]
    reminders.leave(tmp_path, "s", words, [], "")
    assert PASSING in reminders.take(tmp_path, "s")
    reminders.close(tmp_path, "s")
    other = "We release from a tag, never from a branch."
    reminders.leave(tmp_path, "t", [reminders.sentence(other, "m2", 0.1)], [], "")
    assert reminders.take(tmp_path, "t") == ""
    reminders.leave(tmp_path, "t", [reminders.sentence(PASSING.upper(), "m3", 0.1)], [], "")
    assert PASSING.upper() in reminders.take(tmp_path, "t")
    reminders.leave(tmp_path, "u", [reminders.sentence(SECOND, "m4", 0.1)], [], "")
    assert SECOND in reminders.take(tmp_path, "u")


def test_what_waits_behind_a_link_is_nobodys(tmp_path: Path) -> None:
    theirs, mine = tmp_path / "theirs", tmp_path / "mine"
    reminders.leave(theirs, "s", [reminders.sentence(PASSING, "m1", 0.1)], [], "")
    mine.mkdir()
    (mine / reminders.WAITING).symlink_to(theirs / reminders.WAITING)
    assert reminders.take(mine, "s") == ""
    (mine / reminders.WAITING).unlink()
    (mine / reminders.WAITING).mkdir()
    reminders.leave(mine, "t", [reminders.sentence(PASSING, "m2", 0.1)], [], "")
    assert reminders.take(mine, "t") == "", "one that hardly lasts waits for another"


def test_what_does_not_fit_comes_with_the_prompt_after(held: Held) -> None:
    more = f"{SECOND[:-1]} and a merge says who looked at what it brings, which we want to keep for good."
    held.say(PASSING, more)
    told = [held.prompt(), held.prompt()]
    assert sorted((PASSING in one) + 2 * ("squash" in one) for one in told) == [1, 2]
    assert held.prompt() == ""


def test_a_commit_in_the_middle_of_a_session_parks_nothing(held: Held) -> None:
    held.say(PASSING, event="commit")
    assert held.waits() == []
    assert PASSING in held.prompt()


@pytest.mark.parametrize(("wrote", "waits"), [(PASSING, False), ("The port is 5433.", True)])
def test_of_what_the_agent_wrote_down_behind_a_commit_the_rest_waits(held, wrote: str, waits: bool) -> None:
    """The commit had the turn read to its middle; that something was written proves nothing of the rest."""
    held.say(PASSING, event="commit")
    memory = auto_memory(held.workspace)
    assert memory is not None
    memory.mkdir(parents=True, exist_ok=True)
    text = f"---\nname: db\ndescription: {wrote}\ntype: project\n---\n\n{wrote}\n"
    (memory / "db.md").write_text(text)
    held.session.call("c1", "Write", file_path=f"{memory}/db.md", content=text)
    held.session.result("c1", "Written.")
    held.say()
    assert held.prompt() == ""
    held.work("session-end")
    assert bool(held.waits()) is waits


def test_where_nothing_can_be_left_for_the_agent_it_waits_in_review(held: Held) -> None:
    folder = held.state / reminders.WAITING
    folder.parent.mkdir(parents=True)
    folder.symlink_to(held.home)
    held.say(PASSING)
    assert held.waits() and held.prompt() == ""


def test_a_find_of_a_message_that_was_told_in_part_is_kept(tmp_path: Path) -> None:
    first, second = (
        reminders.sentence(text * 9, "m1", score) for text, score in ((PASSING, 0.9), (SECOND, 0.4))
    )
    reminders.leave(tmp_path, "s", [first, second], [{"message": "m1", "find": {}}], "")
    assert PASSING[:40] in reminders.take(tmp_path, "s")
    assert list(reminders.ended(tmp_path, ["s"], 0.0)) == [("s", [{"message": "m1", "find": {}}])]
    assert SECOND[:40] in reminders.take(tmp_path, "s")
    assert list(reminders.ended(tmp_path, ["s"], 0.0)) == [("s", [])]


def test_what_gives_up_a_memory_is_proposed_at_once_and_not_told(held: Held, gitmem: Gitmem) -> None:
    """An agent that leaves it would leave memory beside its opposite."""
    gitmem("remember", "Use pnpm for installing packages.", "--name", "use-pnpm")
    held.say("Actually use bun, not pnpm.")
    (waiting,) = open_suggestions(held.workspace)
    assert waiting.change.file == "use-pnpm.md" and "bun" in waiting.change.body
    assert held.prompt() == ""


@pytest.mark.parametrize("told", [True, False])
def test_what_no_agent_was_told_waits_when_the_session_ends(held: Held, told: bool) -> None:
    held.say(PASSING)
    assert held.waits() == []
    if told:
        held.prompt()
    held.work("session-end")
    assert len(held.waits()) == (not told)
    assert held.prompt() == "", "a session that is resumed is not told what waits"


def test_a_session_that_ended_in_silence_gives_up_its_finds_after_a_day(held: Held, monkeypatch) -> None:
    held.say(PASSING)
    (left,) = (held.state / reminders.WAITING).iterdir()
    monkeypatch.setenv("GITMEM_NOW", str(left.stat().st_mtime + reminders.PATIENCE + 1))
    held.work("commit")
    assert len(held.waits()) == 1


def test_what_waits_in_another_repository_stays_there(
    held: Held, tmp_path: Path, home: Path, git, gitmem: Gitmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    held.say(PASSING)
    (left,) = (held.state / reminders.WAITING).iterdir()
    git("init", "-q", tmp_path / "other")
    (tmp_path / "other/README").write_text("another\n")
    git("-C", tmp_path / "other", "add", ".")
    git("-C", tmp_path / "other", "commit", "-q", "-m", "another")
    gitmem("init", "-y", cwd=tmp_path / "other")
    other = Held(tmp_path / "other", home)
    monkeypatch.setenv("GITMEM_NOW", str(left.stat().st_mtime + reminders.PATIENCE + 1))
    other.work("commit")
    assert other.waits() == [] and held.waits() == []
    held.work("commit")
    assert other.waits() == [] and len(held.waits()) == 1


def test_what_the_agent_wrote_by_itself_is_not_parked_after_all(held: Held, gitmem: Gitmem) -> None:
    held.say(PASSING)
    row = json.loads((held.state / reminders.WAITING / ID).read_text())
    gitmem("remember", row["held"][0]["find"]["change"]["body"])
    held.work("session-end")
    assert held.waits() == []


def test_a_subagent_and_another_session_are_told_nothing(held: Held) -> None:
    """It may be another provider's: what was said goes where it went before."""
    held.say(PASSING)
    assert held.prompt(agent_id="a1", agent_type="reviewer") == ""
    assert held.prompt(session_id="00000002-0000-4000-8000-000000000000") == ""
    assert PASSING in held.prompt()


def test_what_the_rules_stored_or_memory_holds_is_not_told(held: Held, gitmem: Gitmem) -> None:
    gitmem("remember", PASSING)
    held.say(PASSING, "Please remember that we deploy from the release branch only.")
    assert held.prompt() == ""


def test_what_is_to_stay_out_of_memory_is_not_told(held: Held, gitmem: Gitmem, git, repo: Path) -> None:
    (repo / "CLAUDE.md").write_text(f"# Rules\n\n{SECOND}\n")
    gitmem("remember", "We never force-push to main, because it lost work.", "--name", "pushes")
    gitmem("forget", "pushes")
    git("-C", repo, "config", "gitmem.ignore", "zebra")
    held.say(
        SECOND,
        f"We always use the token {TOKEN} for staging, because it lasts.",
        "<private>We never mention the acquisition, because it is secret.</private> Fix the test.",
        "We never ship on zebra days, because they are bad.",
        "We never force-push to main, because it lost work.",
        PASSING,
    )
    told = "".join(held.prompt() for _ in range(9))
    assert PASSING in told
    assert "acquisition" not in told and "zebra" not in told and "force-push" not in told
    assert TOKEN[8:] not in told and "squash" not in told
    state = "".join(path.read_text() for path in held.state.rglob("*") if path.is_file())
    assert TOKEN[8:] not in state and "acquisition" not in state and "zebra" not in state


def test_in_a_pause_nothing_is_told_and_what_was_said_in_it_never_is(held: Held) -> None:
    held.say(PASSING)
    pause(held.workspace.state, real_edges(held.repo).now, None)
    assert held.prompt() == ""


@pytest.mark.parametrize("engine", ["offline", "oracle"])
def test_an_engine_that_tells_no_agent_parks_and_tells_nothing(held: Held, git, engine: str) -> None:
    held.say(PASSING)
    git("config", "--global", "gitmem.engine", engine)
    assert held.prompt() == ""
    if engine == "offline":
        held.say(SECOND)
        assert len(held.waits()) == 1 and "squash" in held.waits()[0]


def test_without_gitmems_hooks_nobody_is_told(held: Held, gitmem: Gitmem) -> None:
    (held.repo / ".claude/settings.local.json").unlink()
    assert "no client here runs gitmem's hooks" in gitmem("engine").out
    held.say(PASSING)
    assert len(held.waits()) == 1


def test_a_note_that_cannot_be_kept_is_not_told(held: Held) -> None:
    """It would be told again."""
    held.say(PASSING)
    (held.state / reminders.TOLD).write_text("no folder")
    assert held.prompt() == ""


def test_a_damaged_file_tells_nothing(held: Held) -> None:
    folder = held.state / reminders.WAITING
    folder.mkdir(parents=True)
    for text in (
        "[]", "{", '{"sentences": [[1, 2]], "held": 3}', '{"sentences": [["k", "m", "x", "t"]]}', "\0",
    ):  # fmt: skip
        (folder / ID).write_text(text)
        assert held.prompt() == ""
    held.say(PASSING)
    assert PASSING in held.prompt()


@pytest.mark.parametrize("length", [10, 200, 2_000])
@pytest.mark.parametrize("letter", ["a", "é", "漢"])
def test_no_note_is_longer_than_its_tokens_allow(tmp_path: Path, length: int, letter: str) -> None:
    words = [reminders.sentence(f"{n} {letter * length}", f"m{n}", 0.5) for n in range(5)]
    place = reminders.place_of(tmp_path / ("x" * 200), tmp_path)
    reminders.leave(tmp_path, "s", words, (), place)
    taken = [reminders.take(tmp_path, "s") for _ in range(6)]
    assert all(len(one.strip().encode()) <= reminders.BYTES for one in taken)
    assert all(any(f"{n} {letter}" in one for one in taken) for n in range(5))
    assert taken[-1] == ""
