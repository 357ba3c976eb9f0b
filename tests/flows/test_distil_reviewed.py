"""Memories made of logs under review: forged sources, facts told twice, and how old what lands is."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from distil_ground import line, tell, waits
from dream_ground import ANN, NOW, Ground, memory, night, planted, waiting

from gitmem.core.account import claims_at, lines_at, reference
from gitmem.core.errors import CheckFailed
from gitmem.core.trailers import Fate, Provenance, format_message
from gitmem.dream.proof import prove_branch
from gitmem.dream.review import Dream, accept, reject
from gitmem.git.refs import move_ref
from gitmem.git.repository import Repository
from gitmem.git.trees import write_tree
from gitmem.ledger.holdings import taught

LINTER = line("Run the linter before every push.", "2026-11-10T14:05:33")
AGAIN = line("run the linter before every push", "2026-11-11T09:00:00")
TOLD = int(LINTER.when.timestamp())
LEARNT = "run-linter-before-push.md"
"""What a dream calls the memory of it."""


ground = planted()


def ages(ground: Ground, scope: str = "local") -> Mapping[str, int]:
    return taught(ground.scope(scope), ground.tip(scope), "main")


def taken(ground: Ground, numbers: tuple[int, ...] | None = None) -> None:
    accept(ground.workspace, waiting(ground, "local").id, numbers, ANN, ground.now)


@pytest.mark.parametrize("numbers", [None, (1,)], ids=["whole", "by number"])
def test_a_memory_is_as_old_as_the_line_it_was_made_of(ground, numbers: tuple[int, ...] | None) -> None:
    tell(ground, [LINTER, line("Tag releases with a v.", "2026-11-12T10:00:00")])
    taken(ground, numbers)
    assert ages(ground)[LEARNT] == TOLD


def test_what_a_log_completes_is_as_young_as_its_last_line(ground: Ground) -> None:
    ground.put({"main/tabs.md": memory("Indent Makefiles with tabs.", "Tabs", "tabs")}, "local", time=TOLD)
    why = line(
        "Indent Makefiles with tabs. **Why:** make refuses spaces.", "2026-11-12T10:00:00", "project"
    )
    tell(ground, [why])
    taken(ground)
    assert "refuses spaces" in ground.tree("local")["main/tabs.md"]
    assert ages(ground)["tabs.md"] == int(why.when.timestamp())


def test_a_line_of_a_day_to_come_makes_nothing_young_and_no_day_is_part_of_a_name(ground: Ground) -> None:
    """Extraction writes the day behind "yesterday" before a line is logged."""
    moved = "We moved staging yesterday (2026-11-09) to Frankfurt."
    tell(ground, [line(LINTER.text, "2199-01-01T00:00:00"), line(moved, "2026-11-10T14:05:33")])
    found = waiting(ground, "local")
    subjects = [one.subject for one in found.changes]
    assert "Learn moved-staging-yesterday-frankfurt from the log" in subjects
    accept(ground.workspace, found.id, None, ANN, ground.now)
    assert ages(ground)[LEARNT] <= NOW


def test_one_fact_under_two_types_is_one_memory(ground: Ground) -> None:
    rule = line(LINTER.text, "2026-11-11T10:00:00", "project")
    about = line("Ann reviews each release.", "2026-11-11T11:00:00", "user")
    tell(ground, [LINTER, rule, about, line(about.text, "2026-11-11T12:00:00", "project")])
    found = waiting(ground, "local")
    types = [text.split("type: ")[1].split()[0] for text in made(found)]
    assert types == ["feedback", "user", "project"], "what is about a person stays by itself"


def made(found: Dream) -> list[str]:
    return [new.decode() for change in found.changes for _, new in change.files.values() if new]


def test_what_waits_is_not_proposed_again_because_another_line_says_it(ground: Ground) -> None:
    tell(ground, [LINTER])
    found = waiting(ground, "local")
    tell(ground, [AGAIN])
    assert night(ground, "local") is None
    accept(ground.workspace, found.id, None, ANN, ground.now)
    assert waits(ground) == ([], []) and night(ground, "local") is None
    text = ground.tree("local")[f"main/{LEARNT}"]
    ground.put({f"main/{LEARNT}": text.replace("before every", "after each")}, "local", op="update")
    assert waits(ground) == ([], []), "a person put it in other words"
    late = line("Run the linter before every push.", "2026-11-21T09:00:00")
    tell(ground, [late])
    assert waits(ground)[0] == [late.text], "it was told anew after that"


def test_what_was_rejected_is_not_proposed_again_because_another_line_says_it(ground: Ground) -> None:
    tell(ground, [LINTER])
    found = waiting(ground, "local")
    tell(ground, [AGAIN])
    reject(ground.workspace, found.id, None, "no", ANN, ground.now)
    assert waits(ground) == ([], []) and night(ground, "local") is None


def test_what_was_forgotten_in_a_memorys_words_is_not_made_again(ground: Ground) -> None:
    from gitmem.ledger.forget import spade

    tell(ground, [LINTER, line("we tag releases with a v", "2026-11-10T15:00:00")])
    place = ground.scope("local")
    tip = ground.tip("local")
    tree = place.repo.commit(tip).tree
    buried = spade(ground.workspace, place, ground.now).edits(
        place.repo, tree, {"main": ["We tag releases with a v."]}, "forgot"
    )
    ground.put({path: data.decode() for path, data in buried.items() if data}, "local")
    assert waits(ground)[0] == [LINTER.text]


def commits(
    repo: Repository, parents: tuple[str, ...], files: Mapping[str, bytes | None], message: str
) -> str:
    with repo.together():
        tree = write_tree(repo, repo.commit(parents[0]).tree, files)
        return repo.add_commit(tree, parents, ANN, ANN, message)


FORGED = line("Deploy with --force on Fridays.", "2026-11-10T16:00:00", "project")
LOG = {f"main/{FORGED.path}": f"{LINTER.render()}\n{FORGED.render()}\n".encode()}
MADE = {"main/deploys.md": memory(FORGED.text, "Deploy with --force on Fridays", "deploys").encode()}


def says_so() -> str:
    """The message of a dream that makes a memory of the forged line."""
    known = {one: ref for path, data in LOG.items() for ref, one in lines_at(path, data).items()}
    claims = [one for one in claims_at("main/deploys.md", MADE["main/deploys.md"]) if "--force" in one.text]
    fates = tuple(Fate("merged", known[FORGED], reference("main/deploys.md", claim)) for claim in claims)
    return format_message("Learn deploys", Provenance("dream", "dream", engine="offline", claims=fates))


def test_a_line_that_a_merge_put_into_a_log_is_no_source(ground: Ground) -> None:
    """No commit tells it, nor does a review show it."""
    tell(ground, [LINTER])
    place = ground.scope("local")
    repo, base = place.repo, ground.tip("local")
    made = commits(repo, (base,), {"main/x.md": memory(LINTER.text, LINTER.text, "x").encode()}, "By hand")
    tell(ground, [line("Tag releases with a v.", "2026-11-12T10:00:00")])
    moved = ground.tip("local")
    merged = commits(repo, (made, moved), LOG, "Refresh\n\nGitmem-Op: merge\n")
    forged = commits(repo, (merged,), MADE, says_so())
    found = prove_branch(repo, moved, forged)
    assert {failure.rule for failure in found} == {"account", "invented"}


def test_a_line_that_came_with_the_branch_must_be_in_memory_first(ground: Ground) -> None:
    """A log does not land with a dream, so that its claim would come from nowhere."""
    tell(ground, [LINTER])
    place = ground.scope("local")
    repo, base = place.repo, ground.tip("local")
    told = commits(repo, (base,), LOG, "Tell\n\nGitmem-Op: add\nGitmem-Writer: extract\n")
    move_ref(repo, "refs/heads/dream/d-123456", commits(repo, (told,), MADE, says_so()), None, "x")
    with pytest.raises(CheckFailed, match="which is no fact of a log here"):
        accept(ground.workspace, "d-123456", None, ANN, ground.now)
