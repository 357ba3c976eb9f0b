"""A request that waits while its memory is paged out is neither granted nor refused by that."""

from __future__ import annotations

from pathlib import Path

import pytest
from dream_ground import ANN, NOW, Ground, make_ground, memory
from dream_parked import Made, park, ref_of

from gitmem.core.names import archived_path
from gitmem.core.trailers import Fate
from gitmem.git.trees import write_tree
from gitmem.ledger.dream_branch import close_landed
from gitmem.ledger.paging import page
from gitmem.ledger.side_branches import Landing, asked_for, find_landing, left_out
from gitmem.ledger.workspace import DREAMS

PATH = "main/ports.md"
TEXT = memory("Ports start at 4000.\n\nTests take 5000.", "Which ports", "ports")
FILES = {PATH: TEXT, "main/logs.md": memory("Logs rotate.", "How logs go", "logs")}


@pytest.fixture
def ground(repo: Path) -> Ground:
    made = make_ground(repo)
    made.put(FILES)
    return made


def asking(ground: Ground, text: str) -> str:
    """A side branch that makes this of the memory."""
    repo, tip = ground.scope().repo, ground.tip()
    tree = write_tree(repo, repo.commit(tip).tree, {PATH: text.encode()})
    return repo.add_commit(tree, (tip,), ANN, ANN, "Learn\n")


def page_out(ground: Ground) -> None:
    page(ground.scope(), "main", lambda *_: {"main/logs.md": float(NOW)}, limit=1)
    assert PATH not in ground.tree() and archived_path(PATH) in ground.tree()


def test_a_deletion_that_waits_is_not_granted_by_paging(ground: Ground) -> None:
    repo, start = ground.scope().repo, ground.tip()
    branch = asking(ground, TEXT.replace("\n\nTests take 5000.", ""))
    wanted = asked_for(repo, start, branch)
    page_out(ground)
    assert left_out(repo, start, ground.tip(), wanted) == wanted
    assert find_landing(repo, ground.tip(), branch, branch) is None


def test_what_was_edited_at_the_host_and_paged_out_since_has_landed(ground: Ground) -> None:
    """A host deletes the branch as it merges it: only the words tell what became of it."""
    branch = asking(ground, TEXT.replace("Tests take 5000.", "Tests take 5000 and the one after."))
    ground.put({PATH: TEXT.replace("Tests take 5000.", "Tests take 5000 and the two after.")})
    page_out(ground)
    assert find_landing(ground.scope().repo, ground.tip(), branch, None) is not None


def test_what_a_reviewer_left_out_of_a_dream_is_remembered(ground: Ground) -> None:
    ground.configure("share", "direct")
    start, shorter = ground.put(FILES), "Ports from 4000 on."
    after = TEXT.replace("Ports start at 4000.", shorter)
    fate = Fate("merged", ref_of(PATH, TEXT, "Ports start"), ref_of(PATH, after, shorter), "It is shorter.")
    dream = park(ground, [Made({PATH: after}, [fate])])
    page_out(ground)
    landed = {DREAMS + dream.id: Landing((dream.tip,), (), start)}
    (closed,) = close_landed(ground.workspace, landed, ANN, NOW)
    assert [change.n for change in closed.left_out] == [1]
    assert "rejected" in ground.tree()["main/.tombstones"]
