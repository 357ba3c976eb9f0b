"""What waits for a person: a stable form, parked once, and hostile files passed over."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.change import Change, ChangeOrigin, Edited
from gitmem.core.trailers import Provenance
from gitmem.git.refs import move_ref
from gitmem.git.repository import RefMoved, Signature
from gitmem.git.trees import write_tree
from gitmem.ledger import proposals
from gitmem.ledger import suggestions as module
from gitmem.ledger.suggestions import from_bytes, open_suggestions, propose, settle, suggest, to_bytes
from gitmem.ledger.workspace import TURNED_DOWN, Workspace

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
    origin=ChangeOrigin("s1", "u1", "u2", datetime(2026, 11, 20, 9, 0, tzinfo=UTC)),
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


MESSAGE = """\
Never mock the database in tests

a standing instruction

Gitmem-Op: add
Gitmem-Writer: extract
Gitmem-Session: s1
Gitmem-Messages: u1..u2
"""


def one(text: str, **changes: Any) -> module.Suggestion:
    return suggest(replace(CHANGE, body=text, **changes), "local", CREATED)


def refs(workspace: Workspace) -> dict[str, str]:
    return workspace.private.refs("refs/gitmem/")


def test_the_form_is_the_documented_one() -> None:
    suggestion = suggest(CHANGE, "local", CREATED)
    assert to_bytes(suggestion).decode() == GOLDEN
    assert from_bytes(GOLDEN.encode()) == suggestion


def test_what_is_proposed_waits_until_it_is_settled(workspace: Workspace) -> None:
    first, second = one("We ship on Fridays."), one("Bugs are in Linear.")
    assert open_suggestions(workspace) == ()
    assert propose(workspace, [first, second], ANN) == (first, second)
    assert {waiting.id for waiting in open_suggestions(workspace)} == {first.id, second.id}
    assert settle(workspace, [first.id, "s-000000"], "accepted") == (first.id,)
    assert open_suggestions(workspace) == (second,)
    assert settle(workspace, [first.id], "accepted") == ()


def test_it_waits_in_the_private_repository_under_the_project(workspace: Workspace) -> None:
    """Whichever scope it is for: a push of all of the code's refs carries no suggestion along."""
    there = replace(one("We ship on Fridays."), scope="project")
    propose(workspace, [there], ANN)
    assert list(refs(workspace)) == [f"refs/gitmem/proposal/{workspace.project_id}/{there.id}"]
    assert not workspace.code.refs("refs/gitmem/")


def test_plain_git_shows_what_it_would_change_and_who_says_so(workspace: Workspace) -> None:
    propose(workspace, [one(CHANGE.body)], ANN, Provenance("add", "extract", session="s1"))
    (ref,) = refs(workspace)
    shown = workspace.git.run(["show", ref], git_dir=workspace.private_path).text
    assert "+++ b/main/no-mocks.md" in shown and "+**Why:** Mocks hid a broken migration." in shown
    assert "    Never mock the database in tests\n" in shown and "    a standing instruction\n" in shown
    assert "Author: Ann <ann@example.com>" in shown and "    Gitmem-Session: s1\n" in shown


def test_a_proposal_is_read_with_its_reason_and_what_it_was_made_from(workspace: Workspace) -> None:
    propose(workspace, [one(CHANGE.body)], ANN, Provenance("add", "extract", session="s1"))
    family = proposals.suggestions_of(workspace)
    ((id, tip),) = proposals.open_tips(family).items()
    found = proposals.read(family, id, tip)
    assert found
    assert (found.id, found.tip) == (id, tip)
    assert (found.base,) == workspace.private.commit(tip).parents
    assert (found.reason, found.when) == ("a standing instruction", ANN.time)
    assert found.provenance.session == "s1"
    root = workspace.private.commit(found.base).parents[0]
    assert proposals.read(family, id, root) is None


def test_a_ref_further_down_is_no_proposal(workspace: Workspace) -> None:
    propose(workspace, [one(CHANGE.body)], ANN)
    family = proposals.suggestions_of(workspace)
    ((id, tip),) = proposals.open_tips(family).items()
    move_ref(workspace.private, f"{family.waiting}deeper/{id}", tip, None, "by hand")
    assert proposals.open_tips(family) == {id: tip} and len(open_suggestions(workspace)) == 1


def test_what_waits_is_taken_in_by_another_project_that_is_the_same_code(workspace: Workspace) -> None:
    propose(workspace, [one(CHANGE.body)], ANN)
    repo, ((ref, tip),) = workspace.private, refs(workspace).items()
    there = ref.replace(workspace.project_id, "other")
    for known in (None, repo.commit(tip).parents[0]):  # what waits there already stays
        if known:
            move_ref(repo, there, known, tip, "by hand")
        proposals.unite(repo, workspace.project_id, "other")
        assert refs(workspace) == {ref: tip, there: known or tip}


def test_less_of_it_waits_under_the_same_id_unless_it_changed_meanwhile(workspace: Workspace) -> None:
    propose(workspace, [one(CHANGE.body)], ANN)
    family = proposals.suggestions_of(workspace)
    ((id, tip),) = proposals.open_tips(family).items()
    (base,) = workspace.private.commit(tip).parents
    proposals.narrow(family, id, tip, base, "test")
    assert proposals.open_tips(family) == {id: base}
    with pytest.raises(RefMoved):
        proposals.narrow(family, id, tip, base, "test")


def test_an_undo_brings_back_what_was_settled_for_90_days(workspace: Workspace) -> None:
    first = one("We ship on Fridays.")
    propose(workspace, [first], ANN)
    settle(workspace, [first.id], "rejected")
    assert module.reopen(workspace, [first.id]) and open_suggestions(workspace) == (first,)
    assert not module.reopen(workspace, [first.id])
    settle(workspace, [first.id], "rejected")
    (ref,) = refs(workspace)
    since = workspace.private.reflog(ref)[0].who.time
    dream, inbox = (TURNED_DOWN + id for id in ("d-1", "i-1"))
    for aside in (dream, inbox):
        move_ref(workspace.private, aside, workspace.private.ref(ref), None, "test")
    assert proposals.let_go(workspace.private, since + 90 * 86_400) == ()
    assert set(proposals.let_go(workspace.private, since + 91 * 86_400)) == {ref, dream}
    assert refs(workspace).keys() == {inbox} and not module.reopen(workspace, [first.id])


def test_what_was_settled_waits_again_under_its_id_where_it_is_found_again(workspace: Workspace) -> None:
    first = one("We ship on Fridays.")
    propose(workspace, [first], ANN)
    settle(workspace, [first.id], "accepted")
    assert propose(workspace, [first], ANN) == (first,)
    assert open_suggestions(workspace) == (first,)


def test_an_edit_waits_with_what_it_was_made_from(workspace: Workspace) -> None:
    sides = Edited(b"---\nname: a\n---\n\nOld. \xff\n", b"---\nname: a\n---\n\nNew. \xff\n")
    edit = one("New.", op="update", file="a.md", name="a", edited=sides)
    propose(workspace, [edit], ANN)
    assert open_suggestions(workspace) == (edit,)


def test_what_a_person_changed_in_it_with_git_is_what_lands(workspace: Workspace) -> None:
    add = one("We ship on Fridays.")
    propose(workspace, [add], ANN)
    (ref,) = refs(workspace)
    repo = workspace.private
    tip = repo.commit(repo.ref(ref) or "")
    data = repo.blob(repo.files(tip.tree)["main/no-mocks.md"])
    tree = write_tree(repo, tip.tree, {"main/no-mocks.md": data.replace(b"Fridays", b"Mondays")})
    move_ref(repo, ref, repo.add_commit(tree, tip.parents, ANN, ANN, tip.message), tip.oid, "by hand")
    assert module.to_land(workspace, add).body == "We ship on Mondays."


def test_the_form_of_its_commit_is_the_documented_one(workspace: Workspace) -> None:
    old = from_bytes(GOLDEN.encode())
    assert old is not None
    told = Provenance(op="add", writer="extract", session="s1", messages=("u1", "u2"))
    propose(workspace, [old], ANN, told)
    (ref,) = refs(workspace)
    commit_ = workspace.private.commit(refs(workspace)[ref])
    assert commit_.message == MESSAGE
    record = proposals.record(workspace.private, commit_.oid)
    assert record.decode() == GOLDEN


def test_the_same_claims_are_parked_once_however_they_are_described(workspace: Workspace) -> None:
    propose(workspace, [one("We ship on Fridays.")], ANN)
    again = one("We  ship on\nFridays.", name="other", description="Shipping", reason="said again")
    assert propose(workspace, [again], ANN) == ()
    [waiting] = open_suggestions(workspace)
    assert waiting.change.name == "no-mocks"


def test_two_suggestions_whose_ids_begin_alike_both_wait(workspace: Workspace, monkeypatch) -> None:
    real = module.digest
    monkeypatch.setattr(module, "digest", lambda change: "abcdef" + real(change)[6:])
    both = [one("We ship on Fridays."), one("Bugs are in Linear.")]
    assert both[0].id == both[1].id
    propose(workspace, both, ANN)
    bodies = {waiting.change.body for waiting in open_suggestions(workspace)}
    assert bodies == {"We ship on Fridays.", "Bugs are in Linear."}
    assert propose(workspace, both, ANN) == ()


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


@pytest.mark.parametrize(
    "record",
    [
        b"",
        b"[" * 100_000,
        b"[]",
        b'"s-aaaaaa"',
        b'{"id": "s-aaaaaa", "change": "x"}',
        GOLDEN.encode(),
        GOLDEN.replace("s-827f93", "s-aaaaaa").replace('"op"', '"edited": true, "op"').encode(),
        GOLDEN.replace("s-827f93", "s-aaaaaa").replace('"op"', '"edited": {}, "op"').encode(),
    ],
)
def test_a_hostile_proposal_is_passed_over_and_kept(workspace: Workspace, record: bytes) -> None:
    good = one("We ship on Fridays.")
    propose(workspace, [good], ANN)
    family = proposals.suggestions_of(workspace)
    assert proposals.make(family, "s-aaaaaa", {}, {}, record, "x", Provenance(), "", ANN)
    assert open_suggestions(workspace) == (good,)
    assert proposals.open_tips(family).keys() == {good.id, "s-aaaaaa"}
