"""What a dream re-words is still blamed on who taught it, however the dream was landed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from dream_ground import ANN, TWICE, Ground, ground_once, memory
from once import Once

from gitmem.dream.review import Dream, accept, find_dream
from gitmem.flows.dream import dream
from gitmem.ledger.blame import Blamed, blame_memory

HINT = {"main/hint.md": memory("The build broke yesterday.", "A hint on the build", "hint")}


@pytest.fixture
def ground(repo: Path, once: Once[None]) -> Ground:
    return ground_once(once, repo)


def blamed(ground: Ground, tip: str, path: str) -> dict[str, Blamed]:
    repo = ground.scope().repo
    return {one.claim.text: one for one in blame_memory(repo, tip, path)}


def land(ground: Ground, found: Dream, how: str, folder: Path) -> str:
    """Lands a dream as gitmem does, or as a host does with plain git; returns the new tip."""
    if how in ("all", "some"):
        numbers = None if how == "all" else tuple(change.n for change in found.changes)
        written = accept(ground.workspace, found.id, numbers, ANN, ground.now).written
        assert written is not None
        return written.commit

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    where = ground.scope()
    git("-C", str(ground.repo), "worktree", "add", "-q", "--detach", str(folder), where.ref)
    if how == "squash":
        git("-C", str(folder), "merge", "-q", "--squash", found.tip)
        git("-C", str(folder), "commit", "-q", "--no-edit")
    else:
        git("-C", str(folder), "commit", "-q", "--allow-empty", "-m", "Meanwhile")
        git("-C", str(folder), "cherry-pick", "--allow-empty", f"{found.base}..{found.tip}")
    return git("-C", str(folder), "rev-parse", "HEAD")


@pytest.mark.parametrize("how", ["all", "some", "squash", "rebase"])
def test_a_dream_takes_nobody_s_claim(ground: Ground, how: str, tmp_path: Path) -> None:
    first = ground.put(TWICE)
    second = ground.put(HINT)
    done = dream(ground.workspace, ground.edges, scope="project", force=True)
    assert done.id
    tip = land(ground, find_dream(ground.workspace, done.id), how, tmp_path / "landing")
    kept = blamed(ground, tip, "main/real-database.md")
    assert "Integration tests use the real database" in kept
    assert {origin.commit for line in kept.values() for origin in line.origins} == {first}
    ((text, line),) = (
        pair for pair in blamed(ground, tip, "main/hint.md").items() if not pair[1].description
    )
    assert text.startswith("The build broke yesterday (2026-")
    (origin,) = line.origins
    assert (origin.commit, origin.told[0].provenance.writer, len(origin.via)) == (second, "human", 1)
    assert ground.scope().repo.is_ancestor(origin.via[0], tip)


def test_what_an_index_line_said_is_blamed_on_who_wrote_the_line(ground: Ground) -> None:
    ground.put({"main/hint.md": memory("The build is fast.", "A hint on the build", "hint")})
    said = "ask Bob for the signing key of the release before any migration of the billing tables"
    rest = "and wait until the nightly backup of them is done"
    line = f"- [hint](hint.md) — A hint on the build; {said}, {rest}\n"
    wrote = ground.put({"main/MEMORY.md": line})
    done = dream(ground.workspace, ground.edges, scope="project", force=True)
    found = find_dream(ground.workspace, done.id)
    (keeps,) = (one.n for one in found.changes if one.subject.startswith("Keep in hint"))
    written = accept(ground.workspace, done.id, (keeps,), ANN, ground.now).written
    assert written is not None
    kept = blamed(ground, written.commit, "main/hint.md")
    (text,) = (one for one in kept if said in one)
    assert [origin.commit for origin in kept[text].origins] == [wrote]
