"""A person decides on a dream: what is accepted harms nothing that arrived, what is rejected stays away."""

from __future__ import annotations

from pathlib import Path

import pytest
from dream_ground import ANN, DAY, TWICE, Ground, ground_once, memory, night, notes, waiting
from dream_parked import DREAM_ID, Made, park
from once import Once

from gitmem.core.account import account
from gitmem.core.errors import CheckFailed, UsageError
from gitmem.core.trailers import Provenance, parse
from gitmem.dream.review import Dream, accept, find_dream, open_dreams, reject, show
from gitmem.git.refs import move_ref
from gitmem.git.trees import read_files
from gitmem.ledger.land import Ref, Write, land

DATED = {"main/hint.md": memory("The build broke yesterday.", "A hint on the build", "hint")}
KEY = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
HERE, THERE = "The jobs wait in Redis for a worker.", "The jobs wait in Postgres for a worker."
JOBS = notes(jobs=("Where jobs wait", HERE), queue=("Where jobs wait", THERE))


@pytest.fixture
def ground(repo: Path, once: Once[None], request: pytest.FixtureRequest) -> Ground:
    then = waiting if "found" in request.fixturenames else None
    return ground_once(once, repo, TWICE, DATED, then=then)


@pytest.fixture
def found(ground: Ground) -> Dream:
    """The dream of it: it dates the hint, and merges no-mocks into real-database."""
    (waits,) = open_dreams(ground.workspace)
    return waits


def test_a_dream_is_shown_claim_by_claim_with_its_reasons_and_not_proposed_again(ground, found) -> None:
    lines = list(show(found))
    assert lines[0].endswith("(project): 2 changes")
    assert "   - The build broke yesterday." in lines
    assert any(line.startswith("   + The build broke yesterday (2026-") for line in lines)
    assert any(line.startswith("2. Merge no-mocks into real-database") for line in lines)
    assert night(ground) is None and len(open_dreams(ground.workspace)) == 1


@pytest.mark.parametrize("squashed", [True, False])
def test_what_a_dream_was_built_on_is_no_change_of_its_own(ground: Ground, squashed: bool) -> None:
    """A host squashed it, or has not taken it yet: it is numbered behind, so that numbers hold anywhere."""
    place, repo = ground.scope(), ground.scope().repo
    before, top = ground.tip(), ground.put({"main/tea.md": memory("Tea is green.", "Tea", "tea")})
    slow = memory("The build is slow.", "A hint on the build", "hint")
    park(ground, [Made({"main/hint.md": slow}), Made({"main/no-mocks.md": None})])
    tree = repo.commit(top).tree if squashed else repo.commit(before).tree
    move_ref(repo, place.ref, repo.add_commit(tree, (before,), ANN, ANN, "By hand (#7)\n"), top, "a host")
    changes = find_dream(ground.workspace, DREAM_ID).changes
    told = [(change.n, change.commit == top, change.decided) for change in changes]
    assert told == [(3, True, "accepted" if squashed else ""), (1, False, ""), (2, False, "")]


def test_accepting_lands_the_whole_dream_with_its_account(ground: Ground, found: Dream) -> None:
    before = ground.tree()
    landed = accept(ground.workspace, found.id, None, ANN, ground.now)
    after = ground.tree()
    assert landed.closed and landed.written is not None
    assert "main/no-mocks.md" not in after and "yesterday (2026-" in after["main/hint.md"]
    assert "no-mocks.md" not in after["main/MEMORY.md"] and "deploys.md" in after["main/MEMORY.md"]
    commit = found.scope.repo.commit(landed.written.commit)
    provenance = parse(commit.message)
    assert (provenance.op, provenance.writer, provenance.reviewed) == ("dream", "dream", found.id)
    then, now = [{path: text.encode() for path, text in tree.items()} for tree in (before, after)]
    result = account(then, now, provenance.claims)
    assert result.unaccounted == () and result.fates == provenance.claims
    assert found.scope.repo.is_ancestor(found.tip, landed.written.commit)
    assert open_dreams(ground.workspace) == () and found.scope.repo.ref(found.ref) is None


def test_memory_that_arrived_meanwhile_is_kept(ground: Ground, found: Dream) -> None:
    ground.put(
        {
            "main/new.md": memory("A new fact.", "New", "new"),
            "main/real-database.md": TWICE["main/real-database.md"] + "\nIt runs in a container.\n",
            "main/deploys.md": None,
        }
    )
    accept(ground.workspace, found.id, None, ANN, ground.now)
    after = ground.tree()
    assert "A new fact." in after["main/new.md"] and "main/deploys.md" not in after
    assert "It runs in a container." in after["main/real-database.md"]
    assert "Integration tests use" in after["main/real-database.md"] and "main/no-mocks.md" not in after
    assert "(new.md)" in after["main/MEMORY.md"] and "deploys" not in after["main/MEMORY.md"]


def test_a_memory_that_was_edited_meanwhile_is_not_deleted(ground: Ground, found: Dream) -> None:
    edited = TWICE["main/no-mocks.md"] + "\nNor the cache.\n"
    ground.put({"main/no-mocks.md": edited})
    accept(ground.workspace, found.id, None, ANN, ground.now)
    assert ground.tree()["main/no-mocks.md"] == edited


def test_a_change_whose_target_went_meanwhile_is_refused(ground: Ground, found: Dream) -> None:
    """Otherwise the claim would be in neither memory."""
    ground.put({"main/real-database.md": memory("Something else.", "Else", "real-database")})
    before = ground.tree()
    with pytest.raises(CheckFailed, match="would lose main/no-mocks"):
        accept(ground.workspace, found.id, None, ANN, ground.now)
    assert ground.tree() == before and len(open_dreams(ground.workspace)) == 1
    accept(ground.workspace, found.id, (1,), ANN, ground.now)
    assert "yesterday (2026-" in ground.tree()["main/hint.md"]


def test_single_changes_are_accepted_one_by_one(ground: Ground, found: Dream, gitmem) -> None:
    landed = accept(ground.workspace, found.id, (2,), ANN, ground.now)
    assert not landed.closed and "2 changes proposed, 1 decided" in gitmem("review").out
    assert "main/no-mocks.md" not in ground.tree()
    assert ground.tree()["main/hint.md"] == DATED["main/hint.md"]
    (left,) = open_dreams(ground.workspace)
    assert [(change.n, change.decided) for change in left.changes] == [(1, ""), (2, "accepted")]
    for id, numbers, why in ((found.id, (2,), "no open change 2"), ("d-000000", None, "no open dream")):
        with pytest.raises(UsageError, match=why):
            accept(ground.workspace, id, numbers, ANN, ground.now)
    assert accept(ground.workspace, found.id, None, ANN, ground.now).closed
    assert "yesterday (2026-" in ground.tree()["main/hint.md"] and open_dreams(ground.workspace) == ()


def test_a_rejected_dream_does_not_come_back_and_is_kept_aside(ground: Ground, found: Dream) -> None:
    before = ground.tree()
    landed = reject(ground.workspace, found.id, None, "both are needed", ANN, ground.now)
    assert landed.closed and landed.written is not None
    after = ground.tree()
    assert {path for path in after if after[path] != before.get(path)} == {"main/.tombstones"}
    assert found.scope.repo.ref(f"refs/gitmem/rejected/{found.id}") == found.tip
    assert "both are needed" in found.scope.repo.commit(landed.written.commit).message
    ground.now += DAY
    assert night(ground) is None
    # Renaming a memory makes no new proposal of it.
    ground.put({"main/no-mocks.md": None, "main/mocks.md": TWICE["main/no-mocks.md"]})
    assert night(ground) is None


def test_rejecting_one_change_leaves_the_others_open(ground: Ground, found: Dream) -> None:
    assert not reject(ground.workspace, found.id, (1,), "clear enough", ANN, ground.now).closed
    assert accept(ground.workspace, found.id, None, ANN, ground.now).closed
    assert (
        ground.tree()["main/hint.md"] == DATED["main/hint.md"] and "main/no-mocks.md" not in ground.tree()
    )
    assert found.scope.repo.ref(f"refs/gitmem/rejected/{found.id}") == found.tip
    ground.now += DAY
    assert night(ground) is None


def test_a_private_dream_is_decided_in_the_private_repository(ground: Ground) -> None:
    ground.put(TWICE, "local")
    found = night(ground, "local")
    assert found is not None and found.scope.name == "local"
    reject(ground.workspace, found.id, None, "no", ANN, ground.now)
    private, code = ground.workspace.private, ground.workspace.code
    assert private.ref(f"refs/gitmem/rejected/{found.id}") and not code.refs("refs/gitmem/rejected/")
    assert ".tombstones" not in str(
        list(read_files(code, code.commit(str(code.ref("refs/gitmem/project"))).tree))
    )


def test_a_dream_that_plain_git_merged_is_no_longer_open(ground: Ground, found: Dream) -> None:
    move_ref(found.scope.repo, found.scope.ref, found.tip, found.base, "merged by hand")
    assert open_dreams(ground.workspace) == ()


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        ({"main/deploys.md": None}, "would lose main/deploys"),
        ({"main/key.md": f"{DATED['main/hint.md']}\nThe token is {KEY} for now.\n".encode()}, "secret"),
    ],
    ids=["a claim less", "a secret"],
)
def test_what_somebody_did_to_the_branch_by_hand_does_not_land(
    ground: Ground, found: Dream, edits: dict[str, bytes | None], said: str
) -> None:
    land(Ref(found.scope.repo, found.ref), lambda _: Write(edits, "By hand", Provenance()), ANN)
    with pytest.raises(CheckFailed, match=said):
        accept(ground.workspace, found.id, None, ANN, ground.now)


def test_the_index_is_brought_in_line_on_acceptance(ground: Ground) -> None:
    stray = notes(loose=("Loose", "A loose fact."))["main/loose.md"]
    ground.put(
        {
            "main/loose.md": stray,
            "main/MEMORY.md": "# Mine\n\n- [gone](gone.md)\n- [old](old.md) — by hand\n",
        }
    )
    found = waiting(ground)
    accept(ground.workspace, found.id, None, ANN, ground.now)
    index = ground.tree()["main/MEMORY.md"]
    assert "gone.md" not in index and "(loose.md)" in index
    assert index.startswith("# Mine\n\n- [old](old.md) — by hand\n"), "what is written by hand stays"


def test_the_command_proposes_and_tells_how_to_go_on(ground: Ground, gitmem) -> None:
    asked = gitmem("dream", "status", "--json")
    assert [status["gate"]["name"] for status in asked.json] == ["sessions"] * 3
    held = gitmem("dream")
    assert held.code == 0 and "0 of 5 sessions" in held.out
    (planned,) = gitmem("dream", "-n", "--force", "--scope", "project", "--json").json
    assert [change["kind"] for change in planned["changes"]] == ["date", "merge"]
    assert planned["id"] is None
    assert all(change["reason"] and change["subject"] for change in planned["changes"])
    done = gitmem("dream", "--force", "--scope", "project")
    (found,) = open_dreams(ground.workspace)
    assert f"dream {found.id} proposes 2 changes" in done.out and "git mem review reject" in done.err
    assert gitmem("dream", "sleep", ok=False).code == 2


def test_what_holds_a_dream_is_told_with_what_passes_it(ground: Ground, gitmem) -> None:
    refused = gitmem("dream", "--engine", "foo", ok=False)
    assert refused.code == 2 and "offline, anthropic, claude-code" in refused.err, "before any gate"
    held = gitmem("dream", "--scope", "project")
    assert "(counted again after " in held.out and "git mem dream --force" in held.err
    assert "held: 0 of 5 sessions" in gitmem("dream", "status", "--scope", "project").out
    gitmem("dream", "--force", "--scope", "project")
    assert "less than 24 hours ago (until " in gitmem("dream", "--scope", "project").out


def test_of_each_kind_of_note_some_are_shown(gitmem, ground: Ground) -> None:
    """Many of one kind must not hide the few of another."""
    links = " ".join(f"[[nothing-{n}]]" for n in range(7))
    ground.put(notes(links=("Where to look", f"See {links}."), soon=("A date", "It broke recently.")))
    said = gitmem("dream", "-n", "--force", "--scope", "project").err
    assert said.count("- link: [[") == 5 and "link: … and 2 more of these" in said


def test_numbers_that_follow_one_another_are_told_as_a_run(ground: Ground, gitmem) -> None:
    same = {f"copy-{n}": ("The same again", "Never push on Fridays.") for n in range(4)}
    ground.put(notes(**same))
    found = waiting(ground)
    numbers = [str(one.n) for one in found.open]
    assert len(numbers) > 2
    told = gitmem("review", "accept", found.id, *numbers).out
    assert f"accepted 1-{len(numbers)} of {found.id}" in told


def test_a_question_tells_the_difference_and_lands_only_where_just_that_one_is_accepted(ground) -> None:
    ground.put(JOBS)
    found = waiting(ground)
    (question,) = (change for change in found.open if change.asks)
    differ = "differ in a name (Redis / Postgres)", "differ in a name (Postgres / Redis)"
    assert any(words in question.reason for words in differ), "in their own words"
    assert not accept(ground.workspace, found.id, None, ANN, ground.now).closed
    tree = "".join(ground.tree().values())
    assert HERE in tree and THERE in tree and "no-mocks" not in ground.tree()
    with pytest.raises(UsageError, match="nothing but questions"):
        accept(ground.workspace, found.id, None, ANN, ground.now)
    assert accept(ground.workspace, found.id, (question.n,), ANN, ground.now).closed
    assert [text in "".join(ground.tree().values()) for text in (HERE, THERE)].count(True) == 1


def test_a_dry_run_names_the_changes_and_refuses_what_deciding_refuses(ground: Ground, gitmem) -> None:
    ground.put(JOBS)
    found = waiting(ground)
    plain = [change for change in found.open if not change.asks]
    (asked,) = (change for change in found.open if change.asks)
    told = [f"would accept {found.id} {change.n}. {change.subject}" for change in plain]
    assert gitmem("review", "accept", found.id, "-n").out.splitlines() == told
    said = gitmem("review", "accept", found.id, str(asked.n), "--newer", "-n").out
    assert "supersede" in said and said.startswith(f"would accept {found.id} {asked.n}. ")
    for words in (("99",), (str(plain[0].n), "--newer")):
        assert gitmem("review", "accept", found.id, *words, "-n", ok=False).code == 2, words
    gitmem("review", "accept", found.id)
    assert "nothing but questions" in gitmem("review", "accept", found.id, "-n", ok=False).err
    assert "decide: git mem review settle" in gitmem("review", "show", found.id).out


def test_what_was_said_to_be_two_things_is_not_asked_again(ground: Ground) -> None:
    ground.put(JOBS)
    found = waiting(ground)
    reject(ground.workspace, found.id, None, "two queues", ANN, ground.now)
    ground.now += DAY
    assert night(ground) is None
