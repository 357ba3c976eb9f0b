"""A dream compares what changed since the last one with all; what was found before is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from dream_ground import DAY, TWICE, Ground, make_ground, memory

from gitmem.core.memory import create
from gitmem.dream.record import RULES, read_compared
from gitmem.dream.schedule import lock_folder
from gitmem.engines.engine import Compared, ConsolidateInput
from gitmem.engines.offline import OfflineEngine
from gitmem.flows.dream import dream
from gitmem.ledger.state import FILE

HAD = "The nightly export of the billing ledger writes to the archive bucket in Frankfurt."
NOW_SAYS = "The nightly export of the billing ledger writes to the archive bucket in Dublin."
OTHER = "Ben reads the weekly report of the warehouse scanner."


def files(**bodies: str) -> dict[str, bytes]:
    return {
        f"main/{name}.md": create(name, "Rules of ours", "project", body, "x.md").render()
        for name, body in bodies.items()
    }


def offered(tree: Mapping[str, bytes], compared: Compared | None = None) -> list[str]:
    made = OfflineEngine().consolidate(ConsolidateInput(tree, compared=compared))
    return [change.subject for change in made.changes]


def test_what_is_known_is_not_compared_again_and_not_lost():
    tree = files(exports=HAD, regions=NOW_SAYS, reports=OTHER)
    first = OfflineEngine().consolidate(ConsolidateInput(tree))
    assert first.changes and first.compared and len(first.compared.pairs) == 1
    assert offered(tree, replace(first.compared, changed=frozenset())) == offered(tree)
    assert not offered(tree, Compared())  # nothing was found, and nothing changed


@pytest.mark.parametrize("again", [HAD, NOW_SAYS, OTHER])
def test_what_changed_is_compared_with_all(again: str):
    tree = files(exports=HAD, reports=OTHER, zones=again)
    assert offered(tree, Compared(frozenset({"main/zones.md"}))) == offered(tree)
    assert offered(tree)


def test_the_next_dream_begins_where_the_last_one_stood(repo: Path):
    ground = make_ground(repo)
    ground.put(TWICE)
    place = ground.scope()
    assert dream(ground.workspace, ground.edges, scope="project", force=True, dry_run=True).plan
    assert not (place.state / FILE).exists()  # a dry run leaves nothing
    done = dream(ground.workspace, ground.edges, scope="project", force=True)
    assert done.id and done.plan
    here = tree_of(ground)
    known = read_compared(place, here)
    edited = {path for change in done.plan.changes for path in change.edits}
    assert known is not None and known.changed == edited  # these may be rejected
    ground.put({"main/reports.md": memory(OTHER, "Reports", "reports")})
    later = read_compared(place, tree_of(ground))
    assert later is not None and later.changed == edited | {"main/reports.md"}
    ground.now += DAY
    assert dream(ground.workspace, ground.edges, scope="project", force=True).plan
    assert read_compared(place, here)
    (place.state / FILE).unlink()
    assert read_compared(place, here) is None


def test_what_an_older_version_noted_in_a_file_is_taken_over(repo: Path):
    ground = make_ground(repo)
    ground.put(TWICE)
    place, here = ground.scope(), tree_of(ground)
    path = lock_folder(place) / "compared.json"
    path.parent.mkdir(parents=True)
    path.write_text(
        f'{{"rules":{RULES},"tree":"{here}","changed":["main/a.md"],"pairs":[["a#1","b#2",0.5]]}}'
    )
    known = read_compared(place, here)
    assert known == Compared(frozenset({"main/a.md"}), (("a#1", "b#2", 0.5),))
    assert not path.exists() and read_compared(place, here) == known


def tree_of(ground: Ground) -> str:
    place = ground.scope()
    tip = place.repo.ref(place.ref)
    assert tip is not None
    return place.repo.commit(tip).tree
