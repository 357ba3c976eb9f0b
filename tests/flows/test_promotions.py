"""Promotions that wait: commits on a ref of their own, beside suggestions and decided like them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from machines import Machine
from promotion_ground import HOT, POINTER, QUESTIONS, machine, recalled, without_hooks

from gitmem.core.names import archived_path
from gitmem.flows.promotions import from_bytes
from gitmem.git.trees import read_files
from gitmem.ledger import proposals

__all__ = ["machine"]

ID = "p-1a8d55"
DAY = 86_400
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


def test_its_commit_makes_what_memory_becomes_once_the_rule_is_committed(machine: Machine) -> None:
    recalled(machine, *QUESTIONS)
    dream(machine)
    workspace = machine.workspace
    (ref,) = refs(machine)
    assert ref == f"refs/gitmem/proposal/{workspace.project_id}/{ID}"
    repo = workspace.private
    made = repo.commit(refs(machine)[ref])
    assert made.message == MESSAGE
    before, after = (read_files(repo, repo.commit(oid).tree) for oid in (made.parents[0], made.oid))
    assert POINTER not in before[HOT].decode() and HOT not in after
    assert POINTER in after[archived_path(HOT) or ""].decode()
    record = json.loads(proposals.record(repo, made.oid))
    assert proposals.record(repo, made.oid).decode() == RECORD.replace(
        "2026-11-20T10:00:00Z", record["created"]
    )
    assert not workspace.code.refs("refs/gitmem/proposal/")


def test_an_undo_of_a_rejection_lets_it_wait_again(machine: Machine) -> None:
    recalled(machine, *QUESTIONS)
    dream(machine)
    said = machine.run("review", "reject", ID, "-m", "it is mine")
    assert waiting(machine) == [] and "undo: git mem undo" in said.err
    assert "Reject the promotion main/no-mocks" in machine.run("log").out
    assert "promote" not in str(machine.memories("local")), "a tombstone says it to nobody"
    assert f"{ID} waits again" in machine.run("undo").err
    assert waiting(machine) == [ID]
    machine.run("undo")
    assert waiting(machine) == []


def test_several_are_decided_in_one_batch_with_one_undo(machine: Machine) -> None:
    machine.run("remember", "We deploy on Fridays only.", "--name", "deploys")
    recalled(machine, *QUESTIONS)
    dream(machine)
    recalled(machine, *QUESTIONS, place="main/deploys.md")
    dream(machine)
    assert len(waiting(machine)) == 2
    said = machine.run("review", "reject", "--all", "--kind", "promotion")
    assert "rejected 2 promotions" in said.out and waiting(machine) == []
    machine.run("undo")
    assert len(waiting(machine)) == 2


def test_it_can_be_brought_back_for_90_days_and_is_not_proposed_after_them(machine: Machine) -> None:
    recalled(machine, *QUESTIONS)
    dream(machine)
    machine.run("review", "reject", ID)
    repo = machine.workspace.private
    (ref,) = refs(machine)
    assert ref.startswith("refs/gitmem/decided/")
    since = repo.reflog(ref)[0].who.time
    assert proposals.let_go(repo, since + 90 * DAY) == ()
    assert proposals.let_go(repo, since + 90 * DAY + 1) == (ref,)
    dream(machine)
    assert waiting(machine) == [], "the tombstone stays"


def test_it_goes_with_a_purged_memory_and_with_its_text(machine: Machine) -> None:
    recalled(machine, *QUESTIONS)
    dream(machine)
    machine.run("purge", "Mocks hid a broken migration", "-y")
    assert waiting(machine) == [ID]
    repo = machine.workspace.private
    (tip,) = refs(machine).values()
    assert "broken migration" not in str(read_files(repo, repo.commit(tip).tree))
    machine.run("purge", "no-mocks", "--memory", "-y")
    assert not refs(machine) and waiting(machine) == []


def test_status_counts_it_and_uninstall_says_where_it_stays(machine: Machine) -> None:
    recalled(machine, *QUESTIONS)
    dream(machine)
    assert "waits for you: local/main/no-mocks as a rule" in machine.run("status").out
    (ref,) = refs(machine)
    said = machine.run("uninstall", "-y")
    assert f"a proposal: {ref} in {machine.private}" in said.out + said.err
    private = machine.git("--git-dir", str(machine.private), "for-each-ref", "--format=%(refname)")
    assert ref in private.splitlines()


def test_a_backup_brings_it_to_another_machine_and_takes_it_off_both(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    safe = tmp_path / "safe.git"
    machine.git("init", "-q", "--bare", str(safe))
    recalled(machine, *QUESTIONS)
    dream(machine)
    machine.run("backup", safe, "-y")
    other = Machine(tmp_path / "other", monkeypatch, capsys)
    machine.git("clone", "-q", str(machine.code), str(other.code))
    other.git("remote", "remove", "origin")
    without_hooks(other)
    other.run("init", "-y", "--backup", safe)
    assert waiting(other) == waiting(machine) == [ID]
    other.run("review", "reject", ID)
    other.run("backup")
    machine.run("backup")
    assert waiting(machine) == []


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
