"""Promoted memories in other clones, in extraction and in dreams."""

from __future__ import annotations

import json

import pytest
from machines import MEMORY, Machine
from once import home_folder, place, tmp_path
from promotion_ground import (
    QUESTIONS,
    alone,
    archived,
    commit_proposed,
    machine,
    recalled,
    without_hooks,
    work,
)
from transcripts import Transcript

from gitmem.app.context import real_edges
from gitmem.core.errors import CheckFailed
from gitmem.core.memory import parse
from gitmem.core.names import archived_path
from gitmem.core.pointer import with_pointer
from gitmem.core.trailers import Provenance
from gitmem.dream.gather import Sources
from gitmem.dream.run import plan_dream
from gitmem.engines.engine import Consolidation, DreamChange
from gitmem.engines.offline import OfflineEngine
from gitmem.flows.extract.plan import plan_extraction
from gitmem.flows.extraction import context_of
from gitmem.git.repository import Signature
from gitmem.ledger.knowledge import known_at
from gitmem.ledger.land import Write, land
from gitmem.transcripts.claude_code import read_session

__all__ = ["alone", "home_folder", "machine", "place", "tmp_path"]


@pytest.fixture
def two(empty_team, place, starting, git, monkeypatch, capsys) -> list[Machine]:
    """Ann and Ben, who share a memory directly."""
    monkeypatch.delenv("GITMEM_DISABLE")

    def make() -> list[Machine]:
        team = empty_team(place / "team.git")
        made = []
        for name in ("ann", "ben"):
            one = Machine(place / name, monkeypatch, capsys)
            git("clone", "-q", team.as_uri(), one.code)
            one.run("init", "-y")
            without_hooks(one)
            one.run("share", "--mode", "direct", "-y")
            if name == "ann":
                one.learn("ports", "Ports start at 4000.\n\n**Why:** Others are taken.", "project")
                one.run("share", "--mode", "direct", "-y")
            one.run("sync", "-y")
            made.append(one)
        return made

    return starting("two", make)


def test_both_clones_archive_a_rule_and_meet_without_a_trace(two: list[Machine]) -> None:
    """Ben's shared memory has it hot when he pulls the rule; one more claim of his survives, too."""
    ann, ben = two
    assert "main/ports.md" in ben.memories("project")
    commit_proposed(ann, ann.run("promote", "ports", "-y").err)
    work(ann)
    ann.git("push", "-q", "origin", "HEAD")
    ben.git("pull", "-q")
    work(ben)
    assert "main/ports.md" not in ben.memories("project")
    assert archived(ann, "project") == archived(ben, "project")
    for one in (ann, ben, ann):
        one.run("sync", "-y")
        work(one)
    assert archived(ann, "project") == archived(ben, "project")
    # Who asks hears that it is a rule now; `main` has no trace of it.
    (item,) = json.loads(ben.run("recall", "where do ports start", "--json").out)["items"]
    assert item["file"].startswith("archive/") and "now a rule in" in json.dumps(item)
    (ben.code / "CLAUDE.md").unlink()
    ben.git("commit", "-qam", "no rules")
    work(ben)
    ben.git("push", "-q", "origin", "HEAD")
    ben.run("sync", "-y")
    ann.run("sync", "-y")
    ann.git("pull", "-q")
    work(ann)
    for one in (ann, ben):
        assert one.memories("project")["main/ports.md"].endswith("Others are taken.\n")
        assert archived(one, "project") == {}


def test_a_claim_that_a_teammate_added_meanwhile_goes_along(two: list[Machine]) -> None:
    ann, ben = two
    ben.learn("ports", "Ports start at 4000.\n\nTests take 5000.\n\n**Why:** Others are taken.", "project")
    ben.run("sync", "-y")
    commit_proposed(ann, ann.run("promote", "ports", "-y").err)
    work(ann)
    ann.run("sync", "-y")
    work(ann)
    (kept,) = archived(ann, "project").values()
    assert "Tests take 5000." in kept
    assert "[CLAUDE.md](CLAUDE.md)" in kept
    assert "main/ports.md" not in ann.memories("project")
    found = json.loads(ann.run("recall", "which port do tests take", "--json").out)["items"]
    assert [one["name"] for one in found] == ["ports"], "the rule does not say it"


def test_what_is_a_rule_is_not_learned_again(machine: Machine) -> None:
    """Neither from the file's words nor from the archived memory's own."""
    done = machine.run("promote", "no-mocks", "--to", "docs/rules.md", "-y")
    made = Transcript("00000001-0000-4000-8000-000000000000", str(machine.code))
    made.user("From now on, always use the real database in tests, never mocks.")
    made.agent("Done.")
    session = read_session(made.write(machine.home / "session.jsonl"))

    def learned() -> list[str]:
        edges = real_edges(machine.code)
        workspace = machine.workspace
        rules = context_of(workspace, edges).rules
        known = known_at(workspace).of("main")
        plan = plan_extraction(session, frozenset(), known, OfflineEngine(), rules)
        return [one.change.body for one in (*plan.stored, *plan.suggested)]

    assert learned() == []
    commit_proposed(machine, done.err)
    work(machine)
    assert learned() == []
    (machine.code / "docs/rules.md").write_text("# Nothing here now\n")
    assert learned() == [], "the archived memory says it"


def test_no_dream_proposes_what_was_ever_disputed(machine: Machine) -> None:
    machine.learn("ports", "Ports start at 4000. *(disputed 01234567)*")
    machine.learn("ports", "Ports start at 4000.")
    recalled(machine, *QUESTIONS, place="main/ports.md")
    machine.run("dream", "--force", "--scope", "local")
    assert machine.run("review", "--json").json == []


def test_no_dream_changes_what_became_a_rule(machine: Machine) -> None:
    rule = archived_path("main/ports.md") or ""
    text = MEMORY.format("ports", "Ports start at 4000. We met yesterday.").encode()
    pointed = with_pointer(parse(rule, text), "CLAUDE.md").render()
    machine.learn("ports-again", "Ports start at 4000. We met yesterday.")
    scope = machine.workspace.scope("local")
    who = Signature("Ann", "ann@example.com", machine.now)
    land(scope, lambda _: Write({rule: pointed}, "Point", Provenance("update", "sync")), who)
    plan = plan_dream(scope, OfflineEngine(), Sources(now=machine.now + 9 * 86_400))
    assert all(rule not in change.edits for change in plan.changes)

    class Meddler(OfflineEngine):
        def consolidate(self, given: object, tell: object = None) -> Consolidation:
            edits = {rule: pointed + b"\n"}
            return Consolidation((DreamChange("merge", edits, (), "because", "Change a rule"),))

    with pytest.raises(CheckFailed, match="became a rule"):
        plan_dream(scope, Meddler(), Sources(now=machine.now))
