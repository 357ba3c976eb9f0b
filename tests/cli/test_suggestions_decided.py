"""What is suggested, from the command line: it lands by a merge, and a decision on it can be undone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cli_ground import HOUR, START, Ground, memory
from memory_files import proposed

from gitmem.core.change import Change, Edited
from gitmem.git.repository import Signature
from gitmem.ledger.suggestions import Suggestion, open_suggestions, propose, suggest
from gitmem.ledger.workspace import ScopeName

ANN = Signature("Ann", "ann@example.com", START)
CREATED = "2026-11-20T10:00:00Z"
PORTS = "reviewer/ports.md"


def add(name: str, body: str) -> Change:
    return proposed(name, body=body, agent="reviewer")


def put(ground: Ground, change: Change, scope: ScopeName = "local") -> Suggestion:
    (one,) = propose(ground.workspace, [suggest(change, scope, CREATED)], ANN)
    ground.tick(HOUR)
    return one


def edit(before: str, after: str) -> Change:
    sides = Edited(memory("ports", before).encode(), memory("ports", after).encode())
    return replace(add("ports", after), op="update", file="ports.md", edited=sides)


@pytest.mark.parametrize("scope", ["local", "project"])
def test_what_memory_learned_meanwhile_stays(ground: Ground, scope: ScopeName) -> None:
    ground.learn({PORTS: memory("ports", "Port 80.")}, scope)
    one = put(ground, replace(add("ports", "Port 90 is the spare."), op="update", file="ports.md"), scope)
    ground.learn({PORTS: memory("ports", "Port 80.\n\nPort 70 is for tests.")}, scope)
    ground.run("review", "accept", one.id)
    text = ground.tree(scope)[PORTS]
    assert "Port 80." in text and "Port 70 is for tests." in text and "Port 90 is the spare." in text
    assert "disputed" not in text and not open_suggestions(ground.workspace)


def test_what_both_changed_stands_twice_and_disputed(ground: Ground) -> None:
    ground.learn({PORTS: memory("ports", "Port 80.")}, "local")
    one = put(ground, edit("Port 80.", "Port 81."))
    ground.learn({PORTS: memory("ports", "Port 82.")}, "local")
    ground.run("review", "accept", one.id)
    text = ground.tree("local")[PORTS]
    assert "Port 81. *(disputed" in text and "Port 82. *(disputed" in text


def test_an_accepted_one_waits_again_with_its_undo(ground: Ground) -> None:
    one = put(ground, add("hosts", "The host is alpha."))
    ground.run("review", "accept", one.id)
    assert "reviewer/hosts.md" in ground.tree("local")
    said = ground.run("undo")
    assert f"{one.id} waits again" in said.err
    assert "reviewer/hosts.md" not in ground.tree("local")
    assert open_suggestions(ground.workspace) == (one,)
    ground.run("review", "accept", one.id)
    assert "The host is alpha." in ground.tree("local")["reviewer/hosts.md"]


def test_a_rejected_one_waits_again_with_its_undo(ground: Ground) -> None:
    one = put(ground, add("hosts", "The host is alpha."))
    said = ground.run("review", "reject", one.id, "-m", "wrong")
    assert "undo: git mem undo" in said.err and not open_suggestions(ground.workspace)
    assert f"{one.id} waits again" in ground.run("undo").err
    assert open_suggestions(ground.workspace) == (one,)


def test_review_tells_programs_of_it_as_before(ground: Ground) -> None:
    one = put(ground, edit("Port 80.", "Port 81."))
    (value,) = ground.run("review", "--json").json
    assert value == {
        "id": one.id,
        "kind": "suggestion",
        "from": "offline",
        "title": "local: About ports",
        "scope": "local",
        "agent": "reviewer",
        "op": "update",
        "name": "ports",
        "type": "project",
        "description": "About ports",
        "body": "Port 81.",
        "reason": "said so",
        "confidence": 0.5,
        "session": "session-1",
        "takes_out": ["Port 80."],
    }
