"""A move into another scope is taught by nobody: blame names who had taught each claim."""

from __future__ import annotations

from cli_ground import Ground, ground, memory

from gitmem.core.trailers import Provenance

__all__ = ["ground"]

SHIP = "reviewer/ship.md"


def tellers(ground: Ground) -> dict[str, list[tuple[str, str, int]]]:
    """Of each claim who taught it, by which means, and when."""
    claims = ground.run("blame", "ship", "--json").json
    return {
        one["text"]: [
            (told["author"], told["writer"], told["time"])
            for origin in one["origins"]
            for told in origin["told"]
        ]
        for one in claims
    }


def test_a_move_keeps_who_taught_each_claim_there_and_back(ground: Ground) -> None:
    ground.learn({SHIP: memory("ship", "Ship on Mondays.")}, who="Ann")
    both = "Ship on Mondays.\n\nAsk Cy before a release."
    by_hand = Provenance(op="update", writer="human")
    ground.learn({SHIP: memory("ship", both)}, who="Cy", told=by_hand)
    before = tellers(ground)
    assert [told[0][:2] for told in before.values()] == [
        ("Ann <ann@example.com>", "agent"),
        ("Ann <ann@example.com>", "agent"),
        ("Cy <cy@example.com>", "human"),
    ]
    ground.run("move", "ship", "--to", "local")
    assert tellers(ground) == before
    ground.run("move", "ship", "--to", "project")
    assert tellers(ground) == before


def test_a_new_claim_after_a_move_is_its_teachers(ground: Ground) -> None:
    ground.learn({SHIP: memory("ship", "Ship on Mondays.")}, who="Ann")
    ground.run("move", "ship", "--to", "local")
    both = "Ship on Mondays.\n\nAsk Cy before a release."
    ground.learn({SHIP: memory("ship", both)}, scope="local", who="Cy")
    [told] = tellers(ground)["Ask Cy before a release."]
    assert told[0] == "Cy <cy@example.com>"
