"""Logs that leave a machine, are asked for, checked and forgotten: line by line, like memories."""

from __future__ import annotations

import hashlib

import pytest
from machines import Machine
from purge_ground import MakeMachine

from gitmem.core import tombstone
from gitmem.core.errors import CheckFailed
from gitmem.core.trailers import Provenance
from gitmem.git.repository import BLOB, Signature
from gitmem.ledger.inbox import inboxes
from gitmem.ledger.land import Write, land
from gitmem.ledger.push_plan import first_departures, refuse_personal
from gitmem.rules.profiles import judge
from gitmem.rules.rule import File, Side

ANN = Signature("Ann", "ann@example.com", 1_795_000_000)
LOG = "main/logs/2026/11/2026-11-20.md"
OLD = "main/archive/logs/2026/11/2026-11-20.md"
ONE, TWO = "- 10:00:00Z [project ab] One. **Why:** so.\n", "- 11:00:00Z [project ab] Two.\n"


def side(files: dict[str, str]) -> Side:
    folders: dict[str, dict[str, File]] = {}
    for path, text in files.items():
        data = text.encode()
        agent, _, name = path.partition("/")
        folders.setdefault(agent, {})[name] = File(BLOB, hashlib.sha1(data).hexdigest(), len(data), data)
    return Side(folders, {".gitmem": File(BLOB, "0" * 40, 11, b"format = 1\n")}, False, 1_795_000_000)


def found(before: dict[str, str], after: dict[str, str]) -> list[tuple[str, int, str, str]]:
    return [
        (one.path, one.line, one.rule, one.level) for one in judge("request", side(before), side(after))
    ]


def test_a_request_that_takes_lines_out_of_a_log_or_changes_them_is_told() -> None:
    both = {LOG: ONE + TWO}
    assert found(both, {LOG: ONE + TWO + "- 12:00:00Z [project ab] Three.\n"}) == []
    assert found(both, {OLD: ONE + TWO}) == [] == found(both, {LOG: TWO, OLD: ONE})
    assert found(both, {LOG: ONE}) == [(LOG, 2, "log", "error")]
    assert found(both, {LOG: ONE.replace("One", "Else") + TWO}) == [(LOG, 1, "log", "error")]
    assert found(both, {"main/MEMORY.md": ""}) == [(LOG, 1, "log", "error"), (LOG, 2, "log", "error")]
    stone = tombstone.bury("One.", "a1" * 16, "2026-11-20", "forgot").line()
    stones = {"main/.tombstones": stone}
    assert found(both, {LOG: TWO} | stones) == [("main/.tombstones", 1, "tombstone", "notice")]
    assert (LOG, 1, "tombstone", "error") in found(both, both | stones)
    assert found({}, {LOG: "- 10:00:00Z [user ab] Ann likes tea.\n"}) == [(LOG, 1, "scope", "error")]
    assert found({}, {"main/logs/2026/11/notes.md": "x\n"}) == [
        ("main/logs/2026/11/notes.md", 1, "foreign", "notice")
    ]


def put(one: Machine, files: dict[str, str | None], scope: str = "project") -> None:
    where = one.workspace.scope(scope)
    edits = {path: None if text is None else text.encode() for path, text in files.items()}
    land(where, lambda _: Write(edits, "Put", Provenance(op="add")), ANN)


def test_lines_leave_once_wherever_the_log_stands_then(machine: MakeMachine) -> None:
    ann = machine("ann")
    ann.run("init", "-y")
    put(ann, {LOG: ONE + TWO})
    repo, ref = ann.workspace.code, ann.workspace.scope("project").ref
    tip = repo.ref(ref) or ""
    assert [one.name for one in first_departures(repo, tip, [])] == [
        "log 2026-11-20 10:00 One. **Why:** so.",
        "log 2026-11-20 11:00 Two.",
    ]
    put(ann, {OLD: ONE + TWO, LOG: "- 12:00:00Z [project ab] Three.\n"})
    (line,) = first_departures(repo, repo.ref(ref) or "", [tip])
    assert (line.name, line.agent, line.path) == ("log 2026-11-20 12:00 Three.", "main", LOG)
    put(ann, {LOG: "- 12:00:00Z [user ab] Ann likes tea.\n"})
    with pytest.raises(CheckFailed, match="About a person"):
        refuse_personal(first_departures(repo, repo.ref(ref) or "", [tip]))


@pytest.mark.long
def test_lines_wait_in_the_inbox_and_a_branch_that_removes_some_removes_none(machine: MakeMachine) -> None:
    ann, ben = machine("ann"), machine("ben")
    ben.git("config", "user.email", "ben@example.com")
    for one in (ann, ben):
        one.run("init", "-y")
        one.run("share", "--mode", "direct", "-y")
    put(ann, {LOG: ONE + TWO})
    ann.run("sync", "-y")
    ben.run("sync", "-y")
    assert ben.memories("project")[LOG] == ONE + TWO
    ben.run("share", "--mode", "review", "-y")
    put(ben, {LOG: TWO + "- 13:00:00Z [project cd] Four.\n"})
    ben.run("sync", "-y")
    ann.run("sync", "-y")
    (inbox,) = inboxes(ann.workspace)
    assert sorted(one.kind for one in inbox.proposals) == ["added", "deleted"]
    ann.run("review", "accept", inbox.id)
    assert ann.memories("project")[LOG] == ONE + TWO + "- 13:00:00Z [project cd] Four.\n"


def test_a_line_is_forgotten_by_what_it_says_and_undone(machine: MakeMachine) -> None:
    ann = machine("ann")
    ann.run("init", "-y")
    put(ann, {LOG: ONE + TWO}, "local")
    ann.auto.mkdir(parents=True)
    ann.run("save")
    live = ann.auto / LOG.removeprefix("main/")
    assert live.read_text() == ONE + TWO
    told = ann.run("forget", "--claim", "One.").out
    assert LOG in told and ann.memories()[LOG] == live.read_text() == TWO
    where = ann.workspace.scope("local")
    stones = tombstone.parse(where.repo.blob(_blob(ann, "main/.tombstones")).decode())
    assert tombstone.matches(stones, "One.", "forgot")
    ann.run("undo")
    assert ann.memories()[LOG] == live.read_text() == ONE + TWO
    ann.run("forget", "--claim", "two")
    assert ann.memories()[LOG] == ONE
    ann.learn("three", "Three.")
    put(ann, {OLD: "- 12:00:00Z [project ab] Three. **Why:** so.\n"}, "local")
    ann.run("forget", "three")
    assert OLD not in ann.memories() and ann.memories()[LOG] == ONE
    ann.run("purge", "One. **Why:** so.", "-y")
    assert LOG not in ann.memories() or "One." not in ann.memories()[LOG]
    assert not live.exists() or "One." not in live.read_text()


def _blob(one: Machine, path: str) -> str:
    where = one.workspace.scope("local")
    return one.git("rev-parse", f"{where.ref}:{path}", private=True)
