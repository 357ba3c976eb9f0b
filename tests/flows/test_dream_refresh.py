"""A dream takes in what memory learned since: what arrived is kept, and what it overtook is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dream_ground import ANN, TWICE, Ground, ground_once, memory, notes, planted
from dream_parked import DREAM_ID, Made, park, ref_of
from once import Once

from gitmem.core.errors import CheckFailed
from gitmem.core.trailers import Fate, parse
from gitmem.dream.review import Dream, accept, find_dream, refresh
from gitmem.flows.dream import dream as make
from gitmem.flows.review_dream import dream_cards, tell
from gitmem.git.refs import move_ref
from gitmem.ledger.dreams import open_dreams

BUILD, BUILD_NOW = "The build takes nine minutes.", "The build takes four minutes."
PORT, PORT_NOW = "The server listens on port 8000.", "The server listens on port 9000."
SEEN = f"- 10:00:00Z [project 0123abcd] {BUILD_NOW}\n- 10:00:01Z [project 0123abcd] {PORT_NOW}\n"
FACTS = notes(
    build=("How long the build takes", BUILD),
    server=("Where the server listens", PORT),
    deploys=("How deploys go", "Deploy from the release branch with `make ship`."),
)


def reworded(path: str, old: str, new: str) -> Made:
    text = FACTS[path]
    after = text.replace(old, new)
    fate = Fate("superseded", ref_of(path, text, old), ref_of(path, after, new), "Measured.")
    return Made({path: after}, [fate], f"Correct {path}")


def waiting(ground: Ground) -> None:
    park(ground, [reworded("main/build.md", BUILD, BUILD_NOW), reworded("main/server.md", PORT, PORT_NOW)])


ground = planted({**FACTS, "main/logs/2026/11/2026-11-16.md": SEEN}, then=waiting)


@pytest.fixture
def dream(ground: Ground) -> Dream:
    return find_dream(ground.workspace, DREAM_ID)


def again(ground: Ground, dream: Dream) -> Dream:
    return find_dream(ground.workspace, dream.id)


def test_what_memory_says_by_now_is_moot_and_what_is_up_to_date_has_nothing_to_merge(ground, dream) -> None:
    done = refresh(ground.scope(), dream)
    assert (done.merged, done.failures) == ("", ()) and again(ground, dream).tip == dream.tip
    ground.put({"main/build.md": FACTS["main/build.md"].replace(BUILD, BUILD_NOW)})
    done = refresh(ground.scope(), dream)
    assert done.moot == (1,) and [one.n for one in again(ground, dream).open] == [2]


def test_what_arrived_is_merged_in_and_the_merge_is_the_same_anywhere(ground: Ground, dream: Dream) -> None:
    fresh = memory("Ask Ben before a release.", "Who releases", "release")
    tip = ground.put({"main/release.md": fresh, "main/MEMORY.md": FACTS["main/MEMORY.md"] + "- more\n"})
    done = refresh(ground.scope(), dream)
    assert (done.moot, done.overtaken, done.failures) == ((), (), ())
    repo = ground.scope().repo
    commit = repo.commit(done.merged)
    assert commit.parents == (dream.tip, tip) and commit.author.name == "gitmem"
    told = parse(commit.message)
    assert (told.op, told.writer) == ("merge", "sync")
    index = repo.entry(commit.tree, "main/MEMORY.md")
    assert index and repo.blob(index.oid).decode().endswith("- more\n")
    now = again(ground, dream)
    assert [one.subject for one in now.open] == [one.subject for one in dream.changes]
    move_ref(repo, now.ref, dream.tip, done.merged, "test")
    assert refresh(ground.scope(), dream).merged == done.merged
    accept(ground.workspace, dream.id, None, ANN, ground.now)
    assert "Ask Ben" in ground.tree()["main/release.md"] and BUILD_NOW in ground.tree()["main/build.md"]


def test_a_change_whose_claim_changed_meanwhile_is_told(ground: Ground, dream: Dream) -> None:
    """It is not forced on memory: both wordings stand, disputed, and a person settles it."""
    theirs = "The server listens on port 8443."
    ground.put({"main/server.md": FACTS["main/server.md"].replace(PORT, theirs)})
    done = refresh(ground.scope(), dream)
    (told,) = done.overtaken
    assert (told.n, told.what, told.text, told.now) == (2, "changed", PORT, theirs)
    assert done.moot == ()
    accept(ground.workspace, dream.id, None, ANN, ground.now)
    assert theirs in ground.tree()["main/server.md"] and PORT_NOW in ground.tree()["main/server.md"]


def test_a_change_whose_memory_was_deleted_meanwhile_says_that_it_brings_it_back(ground, dream) -> None:
    """A bare deletion loses to an edit, here as in every merge; the person is told before they accept."""
    ground.put({"main/build.md": None})
    (told,) = refresh(ground.scope(), dream).overtaken
    assert (told.n, told.what, told.now) == (1, "gone", "")


def test_a_change_whose_claim_was_forgotten_meanwhile_is_moot(ground: Ground, dream: Dream, gitmem) -> None:
    gitmem("forget", "build", "--scope", "project")
    done = refresh(ground.scope(), dream)
    assert done.moot == (1,) and done.overtaken == ()
    accept(ground.workspace, dream.id, None, ANN, ground.now)
    assert "main/build.md" not in ground.tree() and PORT_NOW in ground.tree()["main/server.md"]


def test_what_was_decided_before_stays_decided(ground: Ground, dream: Dream) -> None:
    """The merge moves where git says the dream left memory; the decision is older than that."""
    from gitmem.dream.review import reject

    reject(ground.workspace, dream.id, (1,), "Nine is right.", ANN, ground.now)
    ground.put({"main/release.md": memory("Ask Ben.", "Who releases", "release")})
    done = refresh(ground.scope(), again(ground, dream))
    assert done.moot == ()
    assert [(one.n, one.decided) for one in again(ground, dream).changes] == [(1, "rejected"), (2, "")]
    accept(ground.workspace, dream.id, None, ANN, ground.now)
    assert open_dreams(ground.workspace) == ()
    assert BUILD in ground.tree()["main/build.md"] and PORT_NOW in ground.tree()["main/server.md"]


def test_the_command_says_what_came_of_it(ground: Ground, dream: Dream, gitmem) -> None:
    ground.put({"main/build.md": FACTS["main/build.md"].replace(BUILD, "The build takes 12 minutes.")})
    done = gitmem("dream", "refresh", dream.id)
    assert dream.id in done.out and again(ground, dream).tip != dream.tip
    assert "takes 12 minutes" in done.out + done.err
    assert gitmem("dream", "refresh").out == f"{dream.id} is up to date\n"
    ground.put(notes(later=("Said later", "Deploys wait for Ann.")))
    told = json.loads(gitmem("dream", "refresh", dream.id[:4], "--json").out)
    assert told["id"] == dream.id and told["merged"]
    assert gitmem("dream", "refresh", "d-none", ok=False).code == 2


def test_what_memory_says_otherwise_by_now_is_told_and_not_accepted_as_it_is(ground, dream) -> None:
    """Both versions would stand beside one another, disputed."""
    other = "The build takes six minutes."
    ground.put({"main/build.md": FACTS["main/build.md"].replace(BUILD, other)})
    before = ground.tree()
    with pytest.raises(CheckFailed, match=r"memory changed since: .*nine minutes.*six minutes") as refused:
        accept(ground.workspace, dream.id, None, ANN, ground.now, at=dream.tip)
    assert refused.value.hint and f"git mem dream refresh {dream.id}" in refused.value.hint
    assert ground.tree() == before
    cards = {
        card.n: card.proof for card in dream_cards(ground.workspace, ground.edges, again(ground, dream))
    }
    assert "memory changed since" in cards[1][0] and "not proved" in cards[1][0]
    assert not any("memory changed" in line for line in cards[2])
    told = tell(ground.workspace, ground.edges, again(ground, dream))
    assert not told.value["proof"]["proved"]


def test_a_card_says_what_accepting_would_say(repo: Path, once: Once[None]) -> None:
    """After the memory that a claim goes into says something else, nothing is proved."""
    ground = ground_once(once, repo)
    ground.put(TWICE)
    done = make(ground.workspace, ground.edges, scope="project", force=True)
    waits = find_dream(ground.workspace, done.id)
    ground.put({"main/real-database.md": memory("Something else.", "Else", "real-database")})
    (card,) = dream_cards(ground.workspace, ground.edges, find_dream(ground.workspace, waits.id))
    with pytest.raises(CheckFailed) as refused:
        accept(ground.workspace, waits.id, (card.n,), ANN, ground.now)
    assert any(refused.value.message in line for line in card.proof)
