"""What the API engine sends of one session: each request begins as the one before, and the wall holds."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from memory_files import learned
from messages_api import Answer, MessagesApi
from talk import Counting, engine, person
from transcripts import Transcript
from workspaces import begun

from gitmem.app.context import real_edges
from gitmem.core.change import Header
from gitmem.engines import prompts
from gitmem.engines.anthropic import render
from gitmem.engines.engine import ExtractInput
from gitmem.flows import pause as pausing
from gitmem.flows.extract.run import extract_sessions
from gitmem.flows.extract.sessions import SessionSource, conversation_of, part_of
from gitmem.flows.extraction import context_of, left_out
from gitmem.git.refs import move_ref
from gitmem.git.repository import Repository
from gitmem.ledger.knowledge import stood_at
from gitmem.ledger.land import Ref
from gitmem.ledger.workspace import Workspace
from gitmem.transcripts.claude_code import read_session
from gitmem.transcripts.model import Session
from gitmem.transcripts.privacy import withheld

Git = Callable[..., str]
YEAR = "2020"
"""Of the sessions: the log of a ref bears the machine's own time, which is later than that."""


def store(repo: Repository, ref: str, path: str, text: str | None) -> None:
    name = path.rpartition("/")[2].removesuffix(".md")
    data = f"---\nname: {name}\ndescription: {text}\ntype: project\n---\n\n{text}\n".encode()
    learned(Ref(repo, ref), {path: None if text is None else data}, 1_000)


def make_old(repo: Repository, ref: str) -> None:
    """Has the log of a ref say that all its moves were long ago."""
    path = repo.git_dir / "logs" / ref
    path.write_text(re.sub(r"> \d+ ", "> 1500000000 ", path.read_text()))


@pytest.fixture
def workspace(repo: Path, git: Git) -> Workspace:
    git("-C", repo, "config", "gitmem.ignore", "acme")
    return begun(real_edges(repo))


def moment(clock: str) -> float:
    return datetime.fromisoformat(f"{YEAR}-11-20T{clock}Z").replace(tzinfo=UTC).timestamp()


@pytest.mark.long
def test_every_request_begins_as_the_one_before_and_tells_nothing_that_was_withheld(
    workspace: Workspace, repo: Path, tmp_path: Path
) -> None:
    local = workspace.scope("local")
    store(local.repo, local.ref, "main/ports.md", "Ports start at 4000")
    store(local.repo, local.ref, "main/board.md", "The board is called Atlas")
    make_old(local.repo, local.ref)
    pausing.pause(workspace.state, moment("11:00:00"), moment("12:00:00"))

    said = Transcript("s1", str(repo))

    def say(text: str, answer: str = "Fine.", *, hour: int = 10) -> None:
        at = len(said.lines)
        said.user(text)
        said.agent(answer)
        said.lines[at:] = [
            line.replace("2026-11-20T10", f"{YEAR}-11-20T{hour}") for line in said.lines[at:]
        ]

    def write_memory() -> None:
        at = len(said.lines)
        said.user("COVERED: I like tabs.")
        said.call("c1", "Write", file_path="/home/ann/.claude/projects/x/memory/tabs.md", content="Tabs.")
        said.result("c1", "done")
        said.lines[at:] = [line.replace("2026-11-20T10", f"{YEAR}-11-20T10") for line in said.lines[at:]]

    def learn() -> None:
        path = said.write(tmp_path / "s1.jsonl")
        extract_sessions(context_of(workspace, real_edges(repo)), engine(api, Counting()), [path])

    with MessagesApi(lambda _: Answer("nothing")) as api:
        say("One: we deploy on Fridays.")
        say("IGNORED: ACME pays.", "ACME pays indeed.")
        learn()
        say("PAUSED words", "PAUSED answer", hour=11)
        say("<private>PRIVATE</private> Two: never on Mondays.")
        learn()
        store(local.repo, local.ref, "main/late.md", "Learned meanwhile")
        write_memory()
        learn()
        say("PAUSED again", "PAUSED once more", hour=11)
        learn()
        store(local.repo, local.ref, "main/board.md", None)
        say("Three: Wednesdays are best.")
        write_memory()
        say("Four: thank you.")
        learn()
        say("Five: bye.")
        learn()
        sent = [[block["text"] for block in body["messages"][0]["content"]] for body in api.bodies]
        marks = [
            [at for at, block in enumerate(body["messages"][0]["content"]) if "cache_control" in block]
            for body in api.bodies
        ]
    # What was said in a turn in which the agent wrote memory is asked about as any other.
    assert len(sent) == 5
    assert not [word for word in ("IGNORED", "ACME", "PAUSED", "PRIVATE") if word in json.dumps(sent)]
    for before, after in pairwise(sent):
        assert after[: len(before) - 1] == before[:-1]
    # Where one request ended, the next looks in the cache, whatever lies between.
    assert [end - 1 for _, *_, end in marks[:-1]] == [begin for begin, *_ in marks[1:]]
    text = "".join(sent[-1][:-1])
    assert "Ports start at 4000" in sent[0][0] and "board.md" in sent[0][0] and "Learned" not in text
    numbers = [int(number) for number in re.findall(r"^\[(\d+)\] (?:person|agent)", text, re.MULTILINE)]
    assert numbers == [1, 2, 7, 8, 9, 10, 13, 14, 15, 16, 17, 18, 19, 20]
    assert "[3] to [6] are withheld.\n[7] person" in text and "[11] to [12] are withheld.\n[13]" in text
    assert ["COVERED" in "".join(texts) for texts in sent] == [False, False, True, True, True]
    assert "Messages [13] to [18] are new." in sent[3][-1]
    assert "- late.md" in sent[3][-1] and "- memory/local/main/board.md" in sent[3][-1]
    assert "ports.md" not in sent[3][-1]


def test_what_is_withheld_stays_withheld_long_after_it_was_said(workspace, repo, tmp_path: Path) -> None:
    """Also what was said at no known time, once there was a pause."""
    pausing.pause(workspace.state, moment("10:00:02"), moment("10:00:03"))
    said = Transcript("s1", str(repo))
    for text in (
        "Said in the open", "IGNORED by ACME", "PAUSED", "TIMELESS", "Also <private>P</private>open",
    ):  # fmt: skip
        said.user(text)
    said.lines = [line.replace("2026-11-20", f"{YEAR}-11-20") for line in said.lines]
    said.lines[3] = said.lines[3].replace(f"{YEAR}-11-20T10:00:03.000Z", "then")
    path = said.write(tmp_path / "s1.jsonl")
    start = len("".join(f"{line}\n" for line in said.lines[:4]).encode())
    part = read_session(path, start)

    def out(session: Session, strict: bool) -> frozenset[str]:
        return left_out(workspace, session, moment("23:00:00"), strict=strict)

    record = conversation_of(workspace, SessionSource(path), part, out).record
    blocks = "".join(render(record[:4], record[4:]).blocks)
    assert [one.source for one in record] == ["prompt", "withheld", "withheld", "withheld", "prompt"]
    assert "in the open" in blocks and "[2] to [4] are withheld.\n[5] person" in blocks
    assert not [word for word in ("IGNORED", "ACME", "PAUSED", "TIMELESS", "P</") if word in blocks]


def test_a_ref_stood_where_its_log_says_whatever_comes_in_later(workspace: Workspace) -> None:
    """Also commits that were made long ago; but nothing of a history that was taken away."""
    local = workspace.scope("local")
    repo, ref = local.repo, local.ref
    assert stood_at(repo, ref, 1_600_000_000) is None
    store(repo, ref, "main/a.md", "One")
    assert stood_at(repo, ref, 1_600_000_000) is None
    make_old(repo, ref)
    then = repo.ref(ref)
    assert stood_at(repo, ref, 1_600_000_000) == then
    assert stood_at(repo, ref, 1_500_000_000) is None
    store(repo, ref, "main/b.md", "Two")
    assert stood_at(repo, ref, 1_600_000_000) == then != repo.ref(ref)
    tip = repo.ref(ref)
    assert tip is not None
    found = repo.commit(tip)
    alone = repo.add_commit(found.tree, (), found.author, found.committer, "Begun anew")
    move_ref(repo, ref, alone, tip, "purge")
    assert stood_at(repo, ref, 1_600_000_000) is None


def test_what_was_passed_over_before_the_new_part_is_shown_with_it() -> None:
    record = [person(1, "a"), withheld(person(2, "b")), person(3, ""), person(4, "d"), person(5, "e")]
    part = part_of(record, [record[3]])
    assert (part.messages, part.history, part.seen) == ((record[3],), tuple(record[:4]), 1)
    given = ExtractInput(part.messages, history=part.history, seen=part.seen)
    assert given.numbers == (4,)


def test_only_what_changed_since_the_session_began_stands_behind_it() -> None:
    kept, gone, new = (Header("local", "main", f"{name}.md", name, name, "project") for name in "abc")
    given = ExtractInput((person(1, "x"),), (kept, new), known_before=(kept, gone))
    task = prompts.task(given)
    assert "- c.md" in task and "- memory/local/main/b.md" in task and "a.md" not in task
    same = prompts.task(ExtractInput((person(1, "x"),), (kept,), known_before=(kept,)))
    assert "are those that existed when the session began" in same
