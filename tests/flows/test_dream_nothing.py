"""A dream looks at nothing again in which the last one found nothing to propose."""

from __future__ import annotations

from pathlib import Path

import pytest
from dream_ground import DAY, TWICE, make_ground, memory

from gitmem.dream.gather import Sources
from gitmem.dream.run import note_nothing, plan_dream
from gitmem.engines.engine import Observation
from gitmem.engines.offline import OfflineEngine
from gitmem.flows.dream import dream
from gitmem.git.trees import read_files
from gitmem.ledger.dreams import open_dreams
from gitmem.ledger.state import FILE


def test_a_dream_of_what_one_found_nothing_in_reads_no_memory(
    repo: Path, git, monkeypatch: pytest.MonkeyPatch
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

    dream(ground.workspace, ground.edges, scope="project", force=True, dry_run=True)
    assert not (ground.scope().state / FILE).exists()  # a dry run leaves nothing
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
