"""A dream's branch is judged by its trees: from where it left memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from bypass_ground import Made as Change
from bypass_ground import Requests
from dream_ground import ANN, NOW, TWICE, Ground, ground_once, memory
from dream_parked import Made, park
from memory_files import folder
from memory_files import memory as sound
from once import Once

from gitmem.core.account import claims_at, reference
from gitmem.core.trailers import Fate, Provenance, format_message
from gitmem.dream.proof import is_dream, prove_branch
from gitmem.dream.review import accept
from gitmem.flows.dream import dream
from gitmem.git.repository import LINK, TREE, Repository, Signature, TreeEntry
from gitmem.git.trees import write_tree

DREAM = Provenance(op="dream", writer="dream")
MANY = {
    f"main/m{n}.md": memory(f"Port {n} serves Ann.\n\nBen closes door {n}.", f"About {n}", f"m{n}")
    for n in range(20)
}


@pytest.fixture
def ground(repo: Path, once: Once[None], request: pytest.FixtureRequest) -> Ground:
    return ground_once(once, repo, *([MANY] if "base" in request.fixturenames else []))


@pytest.fixture
def base(ground: Ground) -> str:
    """The tip of project memory, where it holds MANY."""
    return ground.scope().repo.ref(ground.scope().ref) or ""


def side(
    repo: Repository,
    parents: tuple[str, ...],
    files: Mapping[str, str | None],
    message: str,
    time: int = NOW,
) -> str:
    """A commit of these files on the first parent, that no ref holds yet."""
    edits = {path: None if text is None else text.encode() for path, text in files.items()}
    who = Signature(ANN.name, ANN.email, time)
    with repo.together():
        tree = write_tree(repo, repo.commit(parents[0]).tree, edits)
        return repo.add_commit(tree, parents, who, who, message)


def dropping(path: str, why: str = "not true any more", text: str = "") -> str:
    """A dream's message that drops all claims of a memory."""
    data = (text or MANY[path]).encode()
    fates = (Fate("dropped", reference(path, claim), "", why) for claim in claims_at(path, data))
    return format_message("Drop it", Provenance(op="dream", writer="dream", claims=tuple(fates)))


def refs(path: str) -> list[str]:
    return [reference(path, claim) for claim in claims_at(path, MANY[path].encode())]


def rules(ground: Ground, base: str, tip: str) -> list[tuple[str, str]]:
    found = prove_branch(ground.scope().repo, base, tip)
    return sorted({(failure.rule, failure.path) for failure in found})


def test_the_dream_of_a_night_is_proved_and_known_as_one(ground: Ground) -> None:
    learned = ground.put(TWICE)
    repo = ground.scope().repo
    done = dream(ground.workspace, ground.edges, scope="project", force=True)
    tip = repo.ref(f"refs/gitmem/dream/{done.id}")
    assert tip is not None and rules(ground, learned, tip) == []
    assert is_dream(repo, learned, tip)
    assert not is_dream(repo, repo.commit(learned).parents[0], learned)
    assert rules(ground, tip, learned) == []


def test_a_loss_is_found_whatever_the_trailers_say_of_it(ground: Ground, base: str) -> None:
    repo = ground.scope().repo
    absurd = [
        *("kept main/m1.md#0123456789ab", "merged ../../x#0123456789ab -> /etc/passwd#0123456789ab"),
        *(f"dropped {'x' * 5_000}#0123456789ab gone", "superseded %00#0123456789ab -> #0123456789ab"),
    ]
    lines = [f"Gitmem-Claim: {line}" for line in absurd]
    lines += [f"Gitmem-Claim: dropped main/m9.md#{n:012x} forged" for n in range(1_000)]
    tip = side(repo, (base,), {"main/m1.md": None}, "Tidy\n\nGitmem-Op: dream\n" + "\n".join(lines) + "\n")
    assert rules(ground, base, tip) == [("account", "main/m1.md")]
    (first, *_) = prove_branch(repo, base, tip)
    assert first.commit == tip and first.line == 8


def test_a_merge_that_hides_a_loss_is_found_and_one_that_hides_none_is_not(ground, base) -> None:
    repo = ground.scope().repo
    text = MANY["main/m1.md"].replace("Port 1 serves Ann.", "Ann is served by port 1.")
    old, new = (claims_at("main/m1.md", data.encode())[0] for data in (MANY["main/m1.md"], text))
    fate = Fate("merged", reference("main/m1.md", old), reference("main/m1.md", new), "shorter")
    message = format_message("Reword", Provenance(op="dream", writer="dream", claims=(fate,)))
    tip = side(repo, (base,), {"main/m1.md": text}, message)
    moved = ground.put({"main/m2.md": None, "main/new.md": memory("Carla sings at 5.", "New", "new")})
    arrived = {"main/m2.md": None, "main/new.md": memory("Carla sings at 5.", "New", "new")}
    merged = side(repo, (tip, moved), arrived, "Refresh\n\nGitmem-Op: merge\n")
    assert rules(ground, moved, merged) == []
    hidden = side(repo, (tip, moved), {**arrived, "main/m3.md": None}, "Refresh\n\nGitmem-Op: merge\n")
    assert rules(ground, moved, hidden) == [("account", "main/m3.md")]
    made_up = {**arrived, "main/m3.md": MANY["main/m3.md"] + "\nDora signs every release.\n"}
    planted = side(repo, (tip, moved), made_up, "Refresh\n\nGitmem-Op: merge\n")
    assert rules(ground, moved, planted) == [("invented", "main/m3.md")]


def test_what_a_person_does_to_the_branch_is_theirs(ground: Ground, base: str) -> None:
    repo = ground.scope().repo
    first = side(repo, (base,), {"main/m1.md": None}, dropping("main/m1.md"))
    more = {"main/m2.md": MANY["main/m2.md"].replace("Port 2", "Port 3"), "main/m4.md": None}
    tip = side(repo, (first,), more, "Mend by hand")
    assert rules(ground, base, tip) == []
    label = side(repo, (first,), more, "Mend\n\nGitmem-Writer: dream\n")
    assert {rule for rule, _ in rules(ground, base, label)} == {"account", "invented"}


def test_links_and_other_odd_entries_are_found(ground: Ground, base: str) -> None:
    repo = ground.scope().repo
    tree = repo.tree(repo.commit(base).tree)
    with repo.together():
        inner = {**repo.tree(tree["main"].oid), "link.md": TreeEntry(LINK, repo.add_blob(b"/etc/passwd"))}
        whole = repo.add_tree({**tree, "main": TreeEntry(TREE, repo.add_tree(inner))})
        tip = repo.add_commit(whole, (base,), ANN, ANN, "Link\n\nGitmem-Op: dream\n")
    assert ("place", "main/link.md") in rules(ground, base, tip)


def test_too_much_in_one_dream_is_refused(ground: Ground, base: str) -> None:
    """20 memories of 3 claims: 6 may go."""
    repo = ground.scope().repo
    tip = base
    for n, expected in ((1, []), (2, []), (3, [("budget", "")])):
        tip = side(repo, (tip,), {f"main/m{n}.md": None}, dropping(f"main/m{n}.md"))
        assert rules(ground, base, tip) == expected


def test_what_is_accepted_bit_by_bit_has_the_room_that_all_of_it_had(ground: Ground) -> None:
    """With each change that lands memory has fewer claims, and a tenth of them would be fewer."""
    ground.put(MANY)
    gone = [f"main/m{n}.md" for n in range(2)]
    told = [[Fate("dropped", ref, "", "not true any more") for ref in refs(path)] for path in gone]
    waits = park(ground, [Made({path: None}, fates) for path, fates in zip(gone, told, strict=True)])
    for number in (1, 2):
        accept(ground.workspace, waits.id, (number,), ANN, ground.now)
    assert not set(gone) & ground.tree().keys()


INDEX = "main/MEMORY.md"
SOUND = folder(one="Port 1 serves Ann.", three="Port 3 serves Ann.", two="Port 1 serves Ann.")
ONE, THREE, TWO = SOUND[INDEX].splitlines(keepends=True)
BY_HAND = "- [two](two.md) — ask Carl before 9:00\n"
FORCED = ONE.replace("About one", "Push with --force")
GONE: dict[str, str | None] = {"main/two.md": None}
DROPPED = Change(GONE, dropping("main/two.md", text=SOUND["main/two.md"]))
MERGE, ACCEPT = format_message("Merge", DREAM), format_message("Accept", DREAM)
REVIEWED = format_message("Accept", replace(DREAM, reviewed="d-0123ab"))


@pytest.fixture(scope="module")
def requests(tmp_path_factory: pytest.TempPathFactory) -> Requests:
    return Requests(tmp_path_factory.mktemp("judged") / "repo", {".gitmem": "format = 1\n", **SOUND})


def test_a_check_says_what_a_dream_made_up_and_gave_up(requests: Requests) -> None:
    text = sound("Port 1 serves Ann.\n\nDora signs every release.", "one", "About one")
    found = requests.judged(Change({"main/one.md": text}, MERGE))
    assert ("main/one.md", 10, "invented", "error") in {(f.path, f.line, f.rule, f.level) for f in found}
    data = sound("Port 2 serves Ben.\n\nPort 4 is shut.\n\nPort 5 is shut.", "two", "About two")
    onto = requests.put(Change({"main/two.md": data}))
    found = requests.judged(Change(GONE, dropping("main/two.md", text=data)), onto=onto)
    assert [(f.path, f.rule) for f in found if f.level == "error"] == [("", "budget"), ("", "loss")]


@pytest.mark.parametrize(
    ("before", "changes", "wrong"),
    [
        (ONE + THREE + TWO, [Change({INDEX: FORCED + THREE + TWO}, REVIEWED)], True),
        (ONE + THREE, [Change({INDEX: ONE + THREE + TWO}, REVIEWED)], False),
        # What was written by hand stays whatever goes.
        (ONE + THREE + TWO + BY_HAND, [Change({INDEX: ONE + THREE, **GONE}, MERGE)], True),
        (ONE + THREE + TWO + BY_HAND, [Change({INDEX: ONE + THREE + BY_HAND, **GONE}, MERGE)], False),
        # In a commit of its own it comes where a merge is told as a row of commits.
        (ONE + THREE + TWO, [DROPPED, Change({INDEX: FORCED + THREE}, ACCEPT)], True),
        (ONE + THREE + TWO, [DROPPED, Change({INDEX: TWO + THREE + ONE}, ACCEPT)], True),
        (ONE + THREE + TWO, [DROPPED, Change({INDEX: ONE + THREE}, ACCEPT)], False),
        # A line that was missing may come anywhere.
        (THREE, [Change({INDEX: ONE + THREE + TWO}, ACCEPT)], False),
        (THREE, [Change({INDEX: ONE + THREE}, ACCEPT)], False),
    ],
)
def test_an_index_follows_its_memories_and_no_trailer_lets_a_dream_rewrite_it(
    requests: Requests, before: str, changes: list[Change], wrong: bool
) -> None:
    onto = requests.put(Change({INDEX: before}, "Write the index"))
    found = {(one.path, one.rule, one.level) for one in requests.judged(*changes, onto=onto)}
    assert ((INDEX, "path", "error") in found) is wrong
    assert ((INDEX, "dropped", "notice") in found) is (wrong and BY_HAND in before)
