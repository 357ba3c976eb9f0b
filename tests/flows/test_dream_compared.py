"""A dream compares what changed since the last one with all; what was found before is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from dream_ground import DAY, TWICE, Ground, make_ground, memory

from gitmem.core.memory import create
from gitmem.dream.gather import Sources
from gitmem.dream.run import RULES, note_nothing, plan_dream, read_compared
from gitmem.dream.schedule import lock_folder
from gitmem.engines.engine import Compared, ConsolidateInput, Observation
from gitmem.engines.offline import OfflineEngine
from gitmem.flows.dream import dream
from gitmem.git.trees import read_files
from gitmem.ledger.dreams import open_dreams
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


def test_a_dream_of_what_one_found_nothing_in_reads_no_memory(
    repo: Path, home: Path, git, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It tells the same again; a change of memory, of the code or of what waits has it look, or force."""
    ground = make_ground(repo)
    hint = memory("Deploy from the release branch. See [[nowhere]].", "How deploys go", "deploys")
    ground.put({"main/deploys.md": hint})
    looks: list[str] = []

    def counted(*given: object) -> dict[str, bytes]:
        looks.append("read")
        return read_files(*given)  # type: ignore[arg-type]

    monkeypatch.setattr("gitmem.dream.run.read_files", counted)
    monkeypatch.setattr("gitmem.flows.dream.first_gate", lambda _: None)

    def night(*, force: bool = False) -> tuple[int, tuple[str, ...]]:
        before = len(looks)
        done = dream(ground.workspace, ground.edges, scope="project", force=force)
        assert done.plan is not None
        ground.now += DAY
        return len(looks) - before, done.plan.notes

    first = night()
    assert first[0] == 1 and any("nowhere" in note for note in first[1])
    assert night() == (0, first[1]) and night() == (0, first[1])
    assert night(force=True) == first and night() == (0, first[1])
    ground.put({"main/other.md": memory("Ben reads the weekly report.", "Reports", "other")})
    assert [night()[0], night()[0]] == [1, 0]
    (repo / "app.py").write_text("print(1)\n")
    git("-C", repo, "add", ".")
    git("-C", repo, "commit", "-qm", "Code")
    assert [night()[0], night()[0]] == [1, 0]
    ground.now += 7 * DAY
    assert [night()[0], night()[0]] == [1, 0]
    # What waits is not proposed again, and is once it is gone unheard.
    ground.put(TWICE)
    assert [night()[0], night()[0], night()[0]] == [1, 1, 0]
    (waiting,) = open_dreams(ground.workspace)
    git("-C", repo, "update-ref", "-d", waiting.ref)
    assert night()[0] == 1 and open_dreams(ground.workspace)


def test_what_there_was_no_time_to_look_up_is_looked_up_the_next_night(repo: Path) -> None:
    ground = make_ground(repo)
    ground.put({"main/deploys.md": memory("Deploys run `bin/ship`.", "How deploys go", "deploys")})
    cut = Observation("code", "no time was left to look up what 1 of 1 memory names", unfinished=True)

    def looked_at(*found: Observation) -> bool:
        given = Sources(ground.now, code=lambda _: found)
        return bool(plan_dream(ground.scope(), OfflineEngine(), given).looked_at)

    assert looked_at() and not looked_at(cut)


def test_what_a_session_corrects_is_looked_up_in_memory_that_did_not_change(repo: Path) -> None:
    ground = make_ground(repo)
    ground.put(
        {"main/tools.md": memory("We install with pnpm.\n\nThe lock file is kept.", "Tools", "tools")}
    )
    place, engine = ground.scope(), OfflineEngine()
    quiet = {"s1": "2026-11-20T10:00Z person: Please fix the lint job."}
    first = plan_dream(place, engine, Sources(ground.now, sessions=quiet))
    note_nothing(place, first.looked_at, ground.now, first.notes)
    assert not plan_dream(place, engine, Sources(ground.now, sessions=quiet)).files
    said = {"s1": f"{quiet['s1']}\n\n2026-11-20T10:02Z person: No, we install with bun now, not pnpm."}
    assert plan_dream(place, engine, Sources(ground.now, sessions=said)).changes
