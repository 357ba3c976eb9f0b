"""What a person turned down stays away in any other words, and wherever its memory has been paged to."""

from __future__ import annotations

import pytest
from dream_ground import ANN, NOW, Ground, make_ground, memory
from dream_parked import Made, park, ref_of

from gitmem.core.trailers import Fate
from gitmem.dream.gather import Sources
from gitmem.dream.review import reject
from gitmem.dream.run import DreamPlan, plan_dream
from gitmem.engines.engine import ConsolidateInput, Consolidation, DreamChange, Tell, untold
from gitmem.ledger.dream_branch import close_landed
from gitmem.ledger.paging import page
from gitmem.ledger.side_branches import Landing
from gitmem.ledger.workspace import DREAMS, SHARED_REF

PATH, OTHER = "main/ship.md", "main/rules.md"
SAID = "We ship with `make ship` from the release branch."
FILES = {
    PATH: memory(f"{SAID}\n\nBen may ship, too.", "How we ship", "ship"),
    OTHER: memory("Ship from the release branch.", "Rules of a release", "rules"),
}


class Words:
    """An engine that words one claim as it is told to."""

    name = "scripted:words"
    reads_history = False

    def __init__(self, text: str) -> None:
        self.text = text

    def extract(self, given: object) -> object:
        raise NotImplementedError

    def consolidate(self, given: ConsolidateInput, tell: Tell = untold) -> Consolidation:
        made = worded(given.files[PATH].decode(), self.text)
        edits = {path: text.encode() if text else None for path, text in made.edits.items()}
        return Consolidation((DreamChange("reword", edits, tuple(made.fates), made.reason, made.subject),))


def worded(text: str, claim: str) -> Made:
    after = text.replace(SAID, claim)
    fate = Fate("merged", ref_of(PATH, text, SAID), ref_of(PATH, after, claim), "It is shorter.")
    return Made({PATH: after}, [fate], "Say it in fewer words")


def night(ground: Ground, text: str) -> DreamPlan:
    return plan_dream(ground.scope(), Words(text), Sources(ground.now))  # type: ignore[arg-type]


def test_an_idea_that_waits_or_was_rejected_is_the_same_in_other_words(repo) -> None:
    """A model words it otherwise each night."""
    ground = make_ground(repo)
    ground.put(FILES)
    first, other = "`make ship`, from the release branch.", "On the release branch we ship: `make ship`."
    assert [change.subject for change in night(ground, first).changes] == ["Say it in fewer words"]
    dream = park(ground, [worded(FILES[PATH], first)])
    waits = night(ground, other)
    assert waits.changes == () and "it waits for a person already" in waits.log[-1]
    reject(ground.workspace, dream.id, None, "no", ANN, ground.now)
    rejected = night(ground, other)
    assert rejected.changes == () and "a person rejected it" in rejected.log[-1]


@pytest.mark.parametrize("paged", [False, True])
def test_what_a_reviewer_left_out_is_remembered_though_its_memory_was_paged_out(repo, paged: bool) -> None:
    ground = make_ground(repo)
    ground.configure("share", "direct")
    assert ground.scope().ref == SHARED_REF
    start = ground.put(FILES)
    dream = park(ground, [worded(FILES[PATH], "`make ship`, from the release branch.")])
    if paged:
        page(ground.scope(), "main", lambda *_: {OTHER: float(NOW)}, limit=1)
        assert PATH not in ground.tree()
    landed = {DREAMS + dream.id: Landing((dream.tip,), (), start)}
    (closed,) = close_landed(ground.workspace, landed, ANN, NOW)
    assert [change.n for change in closed.left_out] == [1]
    assert "rejected" in ground.tree()["main/.tombstones"]
