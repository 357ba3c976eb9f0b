"""Promotions that wait: commits on a ref of their own, beside suggestions and decided like them."""

from __future__ import annotations

import json

import pytest
from machines import Begin, Machine
from promotion_ground import HOT, POINTER, QUESTIONS, alone, machine, recalled

from gitmem.core.names import archived_path
from gitmem.flows.promotions import from_bytes
from gitmem.git.trees import read_files
from gitmem.ledger import proposals

__all__ = ["alone", "machine"]

ID = "p-1a8d55"
RECORD = """\
{
 "version": 1,
 "id": "p-1a8d55",
 "scope": "local",
 "agent": "main",
 "file": "no-mocks.md",
 "recalls": 5,
 "created": "2026-11-20T10:00:00Z"
}
"""
MESSAGE = """\
Make no-mocks a rule of CLAUDE.md

shown for 5 questions, never disputed

Gitmem-Op: update
Gitmem-Writer: dream
"""


def dream(machine: Machine) -> None:
    machine.run("dream", "--force", "--scope", "local")


@pytest.fixture
def proposing(machine: Machine, starting: Begin) -> Machine:
    """The machine, whose one memory is proposed as a rule."""

    def make() -> list[Machine]:
        recalled(machine, *QUESTIONS)
        dream(machine)
        return [machine]

    return starting("no-mocks-proposed", make)[0]


def waiting(machine: Machine) -> list[str]:
    return [item["id"] for item in machine.run("review", "--json").json]


def refs(machine: Machine) -> dict[str, str]:
    return machine.workspace.private.refs("refs/gitmem/")


def test_a_dream_proposes_what_is_recalled_often_and_a_person_decides(machine: Machine) -> None:
    recalled(machine, *QUESTIONS[:4])
    machine.run("dream", "--force", "--scope", "local")
    assert machine.run("review", "--json").json == []
    recalled(machine, *QUESTIONS)
    assert "would propose it as a rule" in machine.run("dream", "--scope", "local", "--dry-run").err
    assert machine.run("review", "--json").json == []
    machine.run("dream", "--force", "--scope", "local")
    (item,) = machine.run("review", "--json").json
    assert (item["kind"], item["name"], item["recalls"]) == ("promotion", "no-mocks", 5)
    assert "Use the real database" in machine.run("review", "show", item["id"]).out
    machine.run("review", "reject", item["id"], "-m", "it is mine")
    machine.run("dream", "--force", "--scope", "local")
    assert machine.run("review", "--json").json == [], "a rejection is remembered"
    for ref in refs(machine):
        machine.git("--git-dir", str(machine.private), "update-ref", "-d", ref)
    machine.run("dream", "--force", "--scope", "local")
    assert machine.run("review", "--json").json == [], "in another clone its tombstone says so"
    machine.run("remember", "We deploy on Fridays only.", "--name", "deploys")
    recalled(machine, *QUESTIONS, place="main/deploys.md")
    machine.run("dream", "--force", "--scope", "local")
    (item,) = machine.run("review", "--json").json
    assert "it is private" in machine.run("review", "accept", item["id"], code=1).err
    assert not (machine.code / "CLAUDE.md").exists()
    done = machine.run("review", "accept", item["id"], "-y")
    assert "git commit" in done.out and "undo: git mem demote local/main/deploys" in done.err
    assert "We deploy on Fridays only." in (machine.code / "CLAUDE.md").read_text()
    assert machine.run("review", "--json").json == []
    before = machine.memories()
    assert "git mem demote local/main/deploys" in machine.run("undo", code=1).err
    assert machine.memories() == before, "no older change is undone by the way"
    machine.run("undo")
    assert machine.memories() != before, "asked for once more, it is"


def test_its_commit_makes_what_memory_becomes_once_the_rule_is_committed(proposing: Machine) -> None:
    workspace = proposing.workspace
    (ref,) = refs(proposing)
    assert ref == f"refs/gitmem/proposal/{workspace.project_id}/{ID}"
    repo = workspace.private
    made = repo.commit(refs(proposing)[ref])
    assert made.message == MESSAGE
    before, after = (read_files(repo, repo.commit(oid).tree) for oid in (made.parents[0], made.oid))
    assert POINTER not in before[HOT].decode() and HOT not in after
    assert POINTER in after[archived_path(HOT) or ""].decode()
    record = json.loads(proposals.record(repo, made.oid))
    assert proposals.record(repo, made.oid).decode() == RECORD.replace(
        "2026-11-20T10:00:00Z", record["created"]
    )
    assert not workspace.code.refs("refs/gitmem/proposal/")


def test_an_undo_of_a_rejection_lets_it_wait_again(proposing: Machine) -> None:
    said = proposing.run("review", "reject", ID, "-m", "it is mine")
    assert waiting(proposing) == [] and "undo: git mem undo" in said.err
    assert "Reject the promotion main/no-mocks" in proposing.run("log").out
    assert "promote" not in str(proposing.memories("local")), "a tombstone says it to nobody"
    assert f"{ID} waits again" in proposing.run("undo").err
    assert waiting(proposing) == [ID]
    proposing.run("undo")
    assert waiting(proposing) == []


def test_several_are_decided_in_one_batch_with_one_undo(machine: Machine) -> None:
    words = "We deploy on Fridays only.", "--name", "deploys", "--type", "project"
    machine.run("remember", *words)
    recalled(machine, *QUESTIONS)
    dream(machine)
    recalled(machine, *QUESTIONS, place="main/deploys.md")
    dream(machine)
    assert len(waiting(machine)) == 2
    said = machine.run("review", "reject", "--all", "--kind", "promotion")
    assert "rejected 2 promotions" in said.out and waiting(machine) == []
    machine.run("undo")
    assert len(waiting(machine)) == 2


def test_it_goes_with_a_purged_memory_and_with_its_text(proposing: Machine) -> None:
    proposing.run("purge", "Mocks hid a broken migration", "-y")
    assert waiting(proposing) == [ID]
    repo = proposing.workspace.private
    (tip,) = refs(proposing).values()
    assert "broken migration" not in str(read_files(repo, repo.commit(tip).tree))
    proposing.run("purge", "no-mocks", "--memory", "-y")
    assert not refs(proposing) and waiting(proposing) == []


def test_status_counts_it_and_uninstall_says_where_it_stays(proposing: Machine) -> None:
    assert "waits for you: local/main/no-mocks as a rule" in proposing.run("status").out
    (ref,) = refs(proposing)
    said = proposing.run("uninstall", "-y")
    assert f"a proposal: {ref} in {proposing.private}" in said.out + said.err
    private = proposing.git("--git-dir", str(proposing.private), "for-each-ref", "--format=%(refname)")
    assert ref in private.splitlines()


@pytest.mark.parametrize(
    "more",
    [
        {"version": 2},
        {"id": "p-000000"},
        {"scope": "team"},
        {"agent": "../x"},
        {"file": "MEMORY.md"},
        {"created": "then"},
        {"recalls": "many"},
    ],
)
def test_a_record_of_another_form_is_none(more: dict[str, object]) -> None:
    assert from_bytes(json.dumps(json.loads(RECORD) | more).encode()) is None
    assert from_bytes(b"[" * 100_000) is from_bytes(b"[]") is None
    assert (from_bytes(RECORD.encode()) or pytest.fail()).to_bytes().decode() == RECORD
