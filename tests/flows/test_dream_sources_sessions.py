"""What only a session taught is looked up where the session is; elsewhere a person answers for it."""

from __future__ import annotations

from io import StringIO

import pytest
from dream_ground import ANN, Ground, notes, planted
from dream_parked import DREAM_ID, Made, once_said, park, ref_of

from gitmem.core.errors import CheckFailed
from gitmem.core.trailers import Fate
from gitmem.dream.gather import Sources
from gitmem.dream.proof import ProofEvidence, failures_of, prove_plan, sessions_behind
from gitmem.dream.review import accept
from gitmem.dream.run import DreamPlan, plan_dream
from gitmem.engines.engine import DreamChange
from gitmem.engines.offline import OfflineEngine
from gitmem.ledger.dreams import Dream
from gitmem.rules.account import Lookup

OLD, NEW = "The build takes nine minutes.", "The build takes four minutes."
PATH = "main/build.md"
FACTS = notes(
    build=("How long the build takes", OLD), deploys=("How deploys go", "Deploy with `make ship`.")
)
TALK = "2026-11-20T10:00Z person: How long is the build?\n\n2026-11-20T10:01Z person: {}"


def made(session: str, new: str = NEW) -> Made:
    text, after = FACTS[PATH], FACTS[PATH].replace(OLD, new)
    fate = Fate("superseded", ref_of(PATH, text, OLD), ref_of(PATH, after, new), "Said so.")
    return Made({PATH: after}, [fate], "Say how long the build takes", session=session)


ground = planted(FACTS)


def rules(dream: Dream, said: dict[str, str]) -> list[str]:
    return [one.rule for one in failures_of(dream, ProofEvidence(lookup=Lookup(said.get)))]


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ({"s-1": TALK.format("It takes four minutes now.")}, []),
        ({"s-1": TALK.format("Lunch takes four minutes.")}, []),
        ({"s-1": TALK.format("It takes five minutes now.")}, ["invented"]),
        ({"s-1": "2026-11-20T10:00Z person: Wait four seconds."}, ["invented"]),
        ({"s-1": ""}, ["invented"]),
        ({"s-2": TALK.format("It takes four minutes now.")}, ["unseen"]),
        ({}, ["unseen"]),
    ],
)
def test_a_session_is_looked_up(ground: Ground, said: dict[str, str], rule: list[str]) -> None:
    assert rules(park(ground, [made("s-1")]), said) == rule


def test_a_session_that_the_change_does_not_name_teaches_nothing(ground: Ground) -> None:
    dream = park(ground, [made("")])
    assert rules(dream, {"s-1": TALK.format(NEW)}) == ["invented"]


def test_a_person_answers_for_a_session_that_is_not_here(ground: Ground, gitmem) -> None:
    park(ground, [made("s-1")])
    out = gitmem("review", "show", DREAM_ID).out
    assert "not proved" in out and "session s-1" in out.replace("“", "").replace("”", "")
    refused = gitmem("review", "accept", DREAM_ID, ok=False)
    assert refused.code == 1 and "s-1" in refused.err and OLD in ground.tree()[PATH]
    gitmem("review", "accept", DREAM_ID, "-y")
    assert NEW in ground.tree()[PATH]


def test_no_answer_is_asked_for_where_something_else_is_wrong(ground: Ground) -> None:
    """A person answers for what was said, not for what was lost."""
    park(ground, [made("s-1"), Made({"main/deploys.md": None}, [])])
    asked: list[str] = []
    with pytest.raises(CheckFailed, match="deploys"):
        accept(ground.workspace, DREAM_ID, None, ANN, ground.now, ask=asked.append)
    assert len(asked) == 1


def test_a_dream_names_the_session_that_taught_it() -> None:
    before = {path: text.encode() for path, text in FACTS.items()}
    one = made("")
    edits = {path: text.encode() for path, text in one.edits.items() if text is not None}
    change = DreamChange("merge", edits, tuple(one.fates), "Said so.", "Say it")
    sessions = {"s-1": TALK.format("I do not know."), "s-2": TALK.format("Four minutes."), "s-3": ""}
    assert [found.rule for found in prove_plan(before, [change])] == ["invented"]
    assert prove_plan(before, [change], sessions=sessions) == ()
    assert sessions_behind(before, [change], sessions) == ("s-2",)
    log = {"main/logs/2026/11/2026-11-16.md": f"- 10:00:00Z [project 0123abcd] {NEW}\n".encode()}
    assert sessions_behind({**before, **log}, [change], sessions) == ("",)


def test_a_file_of_the_code_that_the_reason_names_is_looked_up_on_acceptance(ground, git, gitmem) -> None:
    (ground.repo / "docs").mkdir()
    (ground.repo / "docs/build.md").write_text("# Build\n\nThe build takes four minutes.\n")
    git("-C", ground.repo, "add", "docs")
    git("-C", ground.repo, "commit", "-qm", "Say how long")
    (fate,) = made("").fates
    fate = Fate(fate.kind, fate.source, fate.target, "docs/build.md says so.")
    park(ground, [Made(made("").edits, [fate], "Say how long the build takes")])
    gitmem("review", "accept", DREAM_ID)
    assert NEW in ground.tree()[PATH]


SAID = "2026-11-20T10:00Z person: Please fix the lint job.\n\n2026-11-20T10:01Z agent: I ran pnpm.\n\n"


BOTH = "We install with pnpm.\n\nThe lock file is kept."


def corrected(ground: Ground, words: str, body: str = BOTH) -> DreamPlan:
    tools = notes(tools=("How packages are installed", body), build=("How long the build takes", OLD))
    ground.put(tools)
    talk = {"s1": f"{SAID}2026-11-20T10:02Z person: {words}\n\n2026-11-20T10:03Z agent: Done."}
    sources = Sources(now=ground.now, sessions=talk)
    return plan_dream(ground.scope(), OfflineEngine(), sources)


@pytest.mark.parametrize(
    ("words", "body"),
    [
        ("Install with bun, not pnpm, in this PR only.", "We install with pnpm.\n\nThe lock file is kept."),
        ("No, we install with bun now, not yarn.", "We install with pnpm.\n\nThe lock file is kept."),
        ("No, we use bun now, not pnpm.", "We install with pnpm.\n\nOn CI pnpm runs offline."),
    ],
)
def test_what_may_mean_another_claim_or_the_moment_is_not_asked(ground: Ground, words: str, body: str):
    assert not corrected(ground, words, body).changes


TWICE = notes(
    day=("When we deploy", "We deploy on Friday.\n\nWe deploy on Friday, we do."),
    port=("The port of staging", "Staging listens on 8080.\n\nStaging listens on 8080, it does."),
)


STANDS_TWICE = "It stands twice."
DAY = once_said(TWICE, "day", "We deploy on Friday, we do.", "We deploy on Friday.", STANDS_TWICE)
PORT = once_said(
    TWICE, "port", "Staging listens on 8080, it does.", "Staging listens on 8080.", STANDS_TWICE
)


def test_of_several_changes_what_is_sound_lands_and_the_rest_is_named(ground: Ground, gitmem):
    """One undo takes all of it back."""
    index = "main/MEMORY.md"
    ground.put(TWICE | {index: FACTS[index] + TWICE[index]})
    before = ground.tree()
    park(ground, [DAY, made(""), PORT])
    done = gitmem("review", "accept", DREAM_ID, "1", "2", "3", ok=False)
    assert done.code == 1 and "accepted 2 changes" in done.out
    assert f"{DREAM_ID} 2 was not decided" in done.err and "four minutes" in done.err
    tree = ground.tree()
    assert "we do" not in tree["main/day.md"] and "it does" not in tree["main/port.md"]
    assert OLD in tree[PATH] and done.err.count("undo: git mem undo") == 1
    gitmem("undo", done.err.rsplit("undo: git mem undo ", 1)[1].split()[0])
    assert ground.tree() == before


def test_after_a_no_nothing_lands(ground: Ground, gitmem, monkeypatch):
    """A person who does not answer for one change has not agreed to the others."""
    ground.put(TWICE)
    park(ground, [DAY, made("s-1")])
    before = ground.tree()
    monkeypatch.setattr("sys.stdin", Typed("n\n"))
    done = gitmem("review", "accept", DREAM_ID, "1", "2", ok=False)
    assert done.code == 1 and done.err.count("Accept it all the same?") == 1
    assert "Nothing was done" in done.err and ground.tree() == before


class Typed(StringIO):
    """What a person types at a terminal."""

    def isatty(self) -> bool:
        return True
