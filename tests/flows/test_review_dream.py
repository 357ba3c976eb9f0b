"""A dream is told claim by claim, with who taught each and what is proved; decided ones stay findable."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace

from dream_ground import ANN, DAY, Ground, memory, notes, planted
from dream_parked import DREAM_ID, Made, park, ref_of

from gitmem.app.upkeep import keep_house
from gitmem.core.trailers import Fate
from gitmem.dream.review import Dream, accept, open_dreams, reject
from gitmem.git.refs import move_ref
from gitmem.ledger.proposals import let_go
from gitmem.ledger.workspace import TURNED_DOWN

OLD = "Never mock the database in integration tests."
BUILD = "The build takes nine minutes."
NOW = "The build takes four minutes."
MEASURED = {"main/logs/2026/11/2026-11-16.md": f"- 10:00:00Z [project 0123abcd] {NOW}\n"}
FACTS = notes(
    no_mocks=("Integration tests use the real database", OLD),
    real_database=("Never mock the database", f"{OLD}\n\n**Why:** a mock hid a broken migration."),
    build=("How long the build takes", BUILD),
    deploys=("How deploys go", "Deploy from the release branch with `make ship`."),
)


def merged() -> Made:
    """`no-mocks` goes into `real-database`, its description as a claim."""
    source, target = FACTS["main/no-mocks.md"], FACTS["main/real-database.md"]
    hook = "Integration tests use the real database"
    after = f"{target}\n{hook}\n"
    ends = ("main/real-database.md", after)
    return Made(
        {"main/no-mocks.md": None, "main/real-database.md": after},
        [
            Fate("kept", ref_of("main/no-mocks.md", source, hook), ref_of(*ends, hook)),
            Fate("kept", ref_of("main/no-mocks.md", source, OLD), ref_of(*ends, OLD)),
        ],
        "Merge no-mocks into real-database",
        "Both say the same.",
    )


def superseded(reason: str = "Measured again.") -> Made:
    text = FACTS["main/build.md"]
    after = text.replace(BUILD, NOW)
    path = "main/build.md"
    fate = Fate("superseded", ref_of(path, text, BUILD), ref_of(path, after, NOW), reason)
    return Made({path: after}, [fate], "Say how long the build takes", "The log of the build says so.")


def dropped(reason: str) -> Made:
    path = "main/deploys.md"
    text = FACTS[path]
    said = "Deploy from the release branch"
    after = text.replace(f"{said} with `make ship`.", "")
    fate = Fate("dropped", ref_of(path, text, said), "", reason)
    return Made({path: after}, [fate], "Drop how deploys go", "Nothing deploys any more.")


def taught(ground: Ground) -> None:
    ground.put({path: text for path, text in FACTS.items() if "build" not in path})
    ground.put({"main/build.md": FACTS["main/build.md"]}, writer="agent", time=ANN.time + 60)
    ground.put(MEASURED)


ground = planted(then=taught)


def shown(gitmem, *words: str) -> str:
    return str(gitmem("review", "show", DREAM_ID, *words).out)


def test_each_claim_tells_what_becomes_of_it_and_who_taught_it(ground: Ground, gitmem) -> None:
    park(ground, [merged(), superseded()])
    out = shown(gitmem)
    assert "1. Merge no-mocks into real-database\n   Both say the same.\n" in out
    moved = "     moves: main/no-mocks.md → main/real-database.md\n"
    assert f"   = {OLD}\n     said by Ann, 2026-11-16\n{moved}" in out
    assert f"   - {BUILD}\n     said by Ann, 2026-11-16, by agent\n   + {NOW}\n" in out
    assert "     superseded: main/build.md\n     Measured again.\n   proved\n" in out
    assert out.splitlines()[1:4] == [
        "  1 duplicate merged",
        "  1 statement superseded",
        "saves 1 line of index, about 27 tokens said twice, 1 stale statement",
    ]
    assert out.rstrip().splitlines()[-2].startswith("proved: no claim is lost but ")
    value = gitmem("review", "show", DREAM_ID, "--json").json
    (claim,) = value["changes"][1]["claims"]
    assert (claim["fate"], claim["before"], claim["after"]) == ("superseded", BUILD, NOW)
    assert claim["target"] == ref_of("main/build.md", FACTS["main/build.md"].replace(BUILD, NOW), NOW)
    assert [one["writer"] for one in claim["origins"]] == ["agent"]
    assert value["proof"] == {"proved": True, "failures": [], "unchecked": []} and value["rejected"] is None


def test_a_description_that_says_what_the_body_does_is_shown_once(ground: Ground, gitmem) -> None:
    again = OLD.replace(".", "!")
    twice = "main/no-mocks.md", notes(no_mocks=(again, OLD))["main/no-mocks.md"]
    ground.put(FACTS | dict([twice]))
    into = "main/real-database.md", f"{FACTS['main/real-database.md']}\n{again}\n"
    fates = [Fate("merged", ref_of(*twice, text), ref_of(*into, text)) for text in (OLD, again)]
    park(ground, [Made(dict([into]) | {twice[0]: None}, fates, "Merge no-mocks", "They do.")])
    assert gitmem("review", "show", DREAM_ID).out.count("Never mock the database") == 1


def test_what_the_proof_fails_on_is_named_and_cannot_be_accepted(ground: Ground, gitmem) -> None:
    """The sound change of the two can still be taken by its number."""
    claimed = superseded()
    false = Fate("merged", claimed.fates[0].source, claimed.fates[0].target)
    park(ground, [merged(), Made(claimed.edits, [false], "Say it better")])
    assert "not proved" in shown(gitmem) and "the number 9" in shown(gitmem)
    for chosen in ((), ("2",)):
        refused = gitmem("review", "accept", DREAM_ID, *chosen, ok=False)
        assert refused.code == 1 and "the number 9" in refused.err
    assert BUILD in ground.tree()["main/build.md"]
    gitmem("review", "accept", DREAM_ID, "1")
    assert "main/no-mocks.md" not in ground.tree() and BUILD in ground.tree()["main/build.md"]


def test_a_long_claim_is_cut_until_all_of_it_is_asked_for(ground: Ground, gitmem) -> None:
    lines = "\n".join(f"- step {number}" for number in range(20))
    path, text = "main/long.md", memory(f"```\n{lines}\n```", "A long one", "long")
    ground.put({path: text})
    fate = Fate("dropped", ref_of(path, text, "```"), "", "Nobody runs it.")
    park(ground, [Made({path: memory("Gone.", "A long one", "long")}, [fate])])
    assert "step 19" not in shown(gitmem) and "16 more lines" in shown(gitmem)
    assert "step 19" in shown(gitmem, "--all")


class TestTurnedDown:
    def test_it_is_shown_for_90_days_and_then_upkeep_lets_it_go(self, ground: Ground, gitmem) -> None:
        dream = park(ground, [superseded()])
        reject(ground.workspace, dream.id, None, "Nine is right.", ANN, ground.now)
        assert "[rejected]" in shown(gitmem)
        assert shown(gitmem).rstrip().endswith("rejected by Ann on 2026-11-18: Nine is right.")
        repo, ref = ground.scope().repo, TURNED_DOWN + dream.id
        since = repo.reflog(ref)[0].who.time
        assert let_go(repo, since + 90 * DAY) == ()
        ground.now = since + 90 * DAY + 1
        assert keep_house(ground.workspace, ground.edges) == () and repo.ref(ref) is None
        assert gitmem("review", "show", dream.id, ok=False).code == 2

    def test_undo_brings_the_branch_back(self, ground: Ground, gitmem) -> None:
        dream = park(ground, [merged(), superseded()])
        gitmem("review", "reject", dream.id, "-m", "No.")
        assert open_dreams(ground.workspace) == ()
        done = gitmem("undo")
        assert f"{dream.id} waits again" in done.err
        assert one_open(ground).tip == dream.tip and len(one_open(ground).open) == 2
        assert ground.scope().repo.ref(TURNED_DOWN + dream.id) is None


def one_open(ground: Ground) -> Dream:
    (found,) = open_dreams(ground.workspace)
    return found


def test_undoing_an_acceptance_brings_the_dream_or_the_one_change_back(ground: Ground, gitmem) -> None:
    dream = park(ground, [merged(), superseded()])
    before = ground.tree()
    gitmem("review", "accept", dream.id, "2")
    assert [one.n for one in one_open(ground).open] == [1]
    gitmem("undo")
    assert [one.n for one in one_open(ground).open] == [1, 2]
    gitmem("review", "accept", dream.id)
    assert NOW in ground.tree()["main/build.md"]
    gitmem("undo")
    assert ground.tree() == before
    again = one_open(ground)
    assert [one.subject for one in again.open] == [one.subject for one in dream.changes]
    assert again.summary == dream.summary
    gitmem("review", "accept", dream.id)
    assert NOW in ground.tree()["main/build.md"] and "main/no-mocks.md" not in ground.tree()


def test_blame_tells_which_dream_replaced_or_dropped_a_claim_and_the_past_has_it(ground, gitmem) -> None:
    before = ground.tip()
    dream = park(ground, [superseded(), dropped("There is no release branch.")])
    accept(ground.workspace, dream.id, None, ANN, ground.now)
    (line,) = gitmem("blame", "--text", "takes nine minutes", "--json").json
    assert line["text"] == BUILD and line["file"] == "build.md"
    gone = line["gone"]
    assert (gone["fate"], gone["into_text"], gone["dream"]) == ("superseded", NOW, dream.id)
    assert gone["reason"] == "Measured again."
    assert [told["writer"] for one in line["origins"] for told in one["told"]] == ["agent"]
    out = gitmem("blame", "--text", "takes nine minutes").out
    assert f"superseded by dream {dream.id}" in out and NOW in out and "Measured again." in out
    assert {one["gone"] for one in gitmem("blame", "--text", NOW, "--json").json} == {None}
    assert NOW in gitmem("recall", "how long does the build take").out
    assert BUILD in gitmem("recall", "how long does the build take", "--at", before).out
    (line,) = gitmem("blame", "--text", "from the release branch", "--json").json
    assert line["gone"]["fate"] == "dropped" and line["gone"]["into"] is None
    assert "There is no release branch." in gitmem("blame", "--text", "from the release branch").out


def test_a_teammates_dream_is_edited_on_a_branch_made_here(ground, gitmem, monkeypatch) -> None:
    theirs = as_incoming(ground, [superseded()])
    text = str(superseded().edits["main/build.md"]).replace("four", "five")
    stdin = SimpleNamespace(buffer=io.BytesIO(text.encode()), isatty=lambda: False)
    monkeypatch.setattr(sys, "stdin", stdin)
    done = gitmem("review", "edit", DREAM_ID, "--file", "main/build.md")
    assert f"git mem review --open {DREAM_ID}" in done.err
    mine = one_open(ground)
    assert not mine.incoming and ground.scope().repo.is_ancestor(theirs.tip, mine.tip)
    gitmem("review", "accept", DREAM_ID)
    assert "five minutes" in ground.tree()["main/build.md"]


def as_incoming(ground: Ground, changes: list[Made]) -> Dream:
    """Parks a dream that only the remote of a shared memory has."""
    dream = park(ground, changes)
    repo = ground.scope().repo
    tip = ground.tip()
    move_ref(repo, "refs/heads/gitmem/project", tip, None, "test")
    move_ref(repo, f"refs/remotes/origin/gitmem/dream/{dream.id}", dream.tip, None, "test")
    move_ref(repo, dream.ref, None, dream.tip, "test")
    ground.configure("share", "direct")
    assert ground.scope().ref == "refs/heads/gitmem/project"
    return one_open(ground)
