"""What waits for a person: a stable form, parked once, and hostile files passed over."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.change import Change, Origin
from gitmem.core.trailers import Provenance, parse
from gitmem.store import parked as module
from gitmem.store.commits import Write, commit
from gitmem.store.git import GitCommand
from gitmem.store.parked import from_bytes, park, parked, suggest, to_bytes, unpark
from gitmem.store.repository import Signature
from gitmem.store.workspace import Surroundings, Workspace, open_workspace, store_project_id

ANN = Signature("Ann", "ann@example.com", 1_795_000_000)
CREATED = "2026-11-20T10:00:00Z"
CHANGE = Change(
    op="add",
    name="no-mocks",
    description="Never mock the database in tests",
    type="feedback",
    body="Never mock the database in tests.\n\n**Why:** Mocks hid a broken migration.",
    reason="a standing instruction",
    confidence=0.8,
    asked=False,
    origin=Origin("s1", "u1", "u2", datetime(2026, 11, 20, 9, 0, tzinfo=UTC)),
)
GOLDEN = """\
{
 "version": 1,
 "id": "s-827f93",
 "created": "2026-11-20T10:00:00Z",
 "scope": "local",
 "change": {
  "op": "add",
  "name": "no-mocks",
  "description": "Never mock the database in tests",
  "type": "feedback",
  "body": "Never mock the database in tests.\\n\\n**Why:** Mocks hid a broken migration.",
  "reason": "a standing instruction",
  "confidence": 0.8,
  "asked": false,
  "agent": "main",
  "file": "",
  "origin": {
   "session": "s1",
   "first": "u1",
   "last": "u2",
   "time": "2026-11-20T09:00:00+00:00"
  }
 }
}
"""


@pytest.fixture
def workspace(repo: Path, home: Path) -> Workspace:
    around = Surroundings(
        GitCommand(dict(os.environ)), home, home / ".local/share/gitmem", home / ".claude"
    )
    return store_project_id(open_workspace(around, repo))


def one(text: str, **changes: object) -> module.Suggestion:
    return suggest(replace(CHANGE, body=text, **changes), "local", CREATED)


def put(workspace: Workspace, path: str, data: bytes) -> None:
    write = Write({path: data}, "Put a file there", Provenance())
    commit(workspace.private, module.review_ref(workspace), lambda tip: write, ANN)


def test_the_form_is_the_documented_one() -> None:
    suggestion = suggest(CHANGE, "local", CREATED)
    assert to_bytes(suggestion).decode() == GOLDEN
    assert from_bytes(GOLDEN.encode()) == suggestion


def test_what_is_parked_waits_until_it_is_taken_out(workspace: Workspace) -> None:
    first, second = one("We ship on Fridays."), one("Bugs are in Linear.")
    assert parked(workspace) == ()
    written = park(workspace, [first, second], ANN)
    assert written is not None
    message = workspace.private.commit(written.commit).message
    assert (parse(message).op, parse(message).writer) == ("add", "extract")
    assert {waiting.id for waiting in parked(workspace)} == {first.id, second.id}
    gone = unpark(workspace, [first.id, "s-000000"], ANN, "Accept it")
    assert gone is not None and gone.subject == "Accept it"
    assert parked(workspace) == (second,)
    assert unpark(workspace, [first.id], ANN) is None


def test_it_waits_in_the_private_repository_under_the_project(workspace: Workspace) -> None:
    park(workspace, [one("We ship on Fridays.")], ANN)
    assert f"refs/heads/review/{workspace.project_id}" in workspace.private.refs("refs/heads/")
    assert not workspace.code.refs("refs/heads/review/")


def test_the_same_claims_are_parked_once_however_they_are_described(workspace: Workspace) -> None:
    park(workspace, [one("We ship on Fridays.")], ANN)
    again = one("We  ship on\nFridays.", name="other", description="Shipping", reason="said again")
    assert park(workspace, [again], ANN) is None
    [waiting] = parked(workspace)
    assert waiting.change.name == "no-mocks"


def test_two_suggestions_whose_ids_begin_alike_both_wait(workspace: Workspace, monkeypatch) -> None:
    real = module.digest
    monkeypatch.setattr(module, "digest", lambda change: "abcdef" + real(change)[6:])
    both = [one("We ship on Fridays."), one("Bugs are in Linear.")]
    assert both[0].id == both[1].id
    park(workspace, both, ANN)
    bodies = {waiting.change.body for waiting in parked(workspace)}
    assert bodies == {"We ship on Fridays.", "Bugs are in Linear."}
    assert park(workspace, both, ANN) is None


@pytest.mark.parametrize(
    "change",
    [
        {"op": "format"},
        {"type": "secret"},
        {"agent": "../x"},
        {"file": "../../etc/passwd.md"},
        {"file": "MEMORY.md"},
        {"confidence": 2},
        {"confidence": True},
        {"asked": "yes"},
        {"name": ""},
        {"name": "\ud800"},
        {"body": "x" * 200_000},
        {"origin": None},
        {"origin": {"session": "", "first": "", "last": "", "time": "soon"}},
        {"origin": {"session": "", "first": "", "last": "", "time": "2026-11-20T09:00:00"}},
    ],
)
def test_a_change_of_another_form_is_none(change: dict[str, object]) -> None:
    value = json.loads(GOLDEN)
    value["change"] |= change
    assert from_bytes(json.dumps(value).encode()) is None


@pytest.mark.parametrize(
    "more", [{"version": 2}, {"id": "s-x"}, {"scope": "team"}, {"created": "then"}, {"change": []}]
)
def test_a_suggestion_of_another_form_is_none(more: dict[str, object]) -> None:
    assert from_bytes(json.dumps(json.loads(GOLDEN) | more).encode()) is None


@given(st.binary(max_size=200))
def test_no_bytes_make_reading_fail(data: bytes) -> None:
    assert from_bytes(data) is None


def test_hostile_files_are_reported_and_the_rest_is_read(workspace: Workspace) -> None:
    good = one("We ship on Fridays.")
    park(workspace, [good], ANN)
    put(workspace, "suggestions/s-aaaaaa.json", b"[" * 100_000)
    put(workspace, "suggestions/s-bbbbbb.json", to_bytes(good))
    put(workspace, "suggestions/x\x1b.json", b"\xff")
    told: list[str] = []
    assert parked(workspace, told.append) == (good,)
    assert len(told) == 3 and "\x1b" not in "".join(told)
    assert park(workspace, [one("Bugs are in Linear.")], ANN) is not None
