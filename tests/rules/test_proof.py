"""The proof of a dream's branch on which people wrote as well: what is theirs, and what they put right."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from planted_secrets import GITHUB

from gitmem.core.account import references
from gitmem.core.trailers import Fate
from gitmem.rules.account import DreamGround, ReplayedCommit
from gitmem.rules.profiles import judge_memories
from gitmem.rules.proof import prove
from gitmem.rules.rule import Finding, RuleContext, side_of

Files = dict[str, bytes]


def memory(body: str, owner: str = "Ann", name: str = "a") -> Files:
    text = f"---\nname: {name}\ndescription: About {name}\ntype: project\nowner: {owner}\n---\n\n{body}\n"
    return {f"main/{name}.md": text.encode()}


ANNS, BENS, OTHER, MORE = (
    memory("One."),
    memory("One.", "Ben"),
    memory("Two.", name="b"),
    memory("Ship it.", name="b"),
)
DREAM = ReplayedCommit(ANNS, BENS, ())


def told(before: Files, *steps: ReplayedCommit, **ground: object) -> list[tuple[str, str]]:
    found = prove(before, steps, DreamGround(**ground))  # type: ignore[arg-type]
    return [(one.path, one.rule) for one in found]


@pytest.mark.parametrize(
    ("by_hand", "found"),
    [
        ([(BENS, ANNS)], []),
        ([(BENS, ANNS), (OTHER, MORE)], []),
        ([(OTHER, MORE)], [("main/a.md", "account")]),
        ([(BENS, ANNS), (ANNS, BENS)], [("main/a.md", "account")]),
    ],
)
def test_frontmatter_is_put_right_where_it_is_right_in_the_end(
    by_hand: list[tuple[Files, Files]], found: list[tuple[str, str]]
) -> None:
    steps = [ReplayedCommit(before, after, (), person=True) for before, after in by_hand]
    assert told(ANNS | OTHER, DREAM, *steps) == found


def test_what_a_person_says_of_a_memory_is_told_nowhere() -> None:
    step = ReplayedCommit(ANNS, BENS, (), person=True)
    assert told(ANNS, step) == told(ANNS, step, end=BENS) == []
    assert (
        told(ANNS, end=BENS)
        == told(BENS, replace(step, before=BENS, after=ANNS), DREAM)
        == [("main/a.md", "account")]
    )
    both = told(ANNS | OTHER, DREAM, end=BENS | memory("Two.", "Ben", "b"))
    assert both == [("main/a.md", "account"), ("main/b.md", "account")]


def test_what_a_person_made_of_a_claim_need_not_be_about_the_same() -> None:
    old, new = memory("cache is slow"), memory("queue is blue")
    (source,), (target,) = (
        [ref for ref, one in references(files).items() if " is " in one.text] for files in (old, new)
    )
    step = ReplayedCommit(old, new, (Fate("merged", source, target),), person=True)
    assert told(old, step) == []
    assert told(old, replace(step, person=False)) != []


def test_what_was_reworded_in_a_squash_went_into_the_new_words() -> None:
    """Who learns answers for them; what is told is that nobody checked, also where a merge came after."""
    other = ReplayedCommit(ANNS, BENS, (), squashed=True)
    assert told(ANNS, other) == told(ANNS, other, end=BENS) == [("main/a.md", "unchecked")]
    new = memory("One is enough.")
    assert told(ANNS, ReplayedCommit(ANNS, new, (), squashed=True)) == [("main/a.md", "unchecked")]
    assert ("main/a.md", "account") in told(ANNS, ReplayedCommit(ANNS, new, ()))


def test_a_loss_is_told_once_wherever_it_shows() -> None:
    old, new, end = (
        memory(f"{text}Stays.", name="a#b") for text in ("Use port 4000.\n\n", "Use a port.\n\n", "")
    )
    source, target = (
        next(ref for ref, one in references(files).items() if "Use" in one.text) for files in (old, new)
    )
    step = ReplayedCommit(old, new, (Fate("merged", source, target),))
    assert told(old, step, end=end) == [("main/a#b.md", "merged")]


def test_one_word_lets_all_pass_that_sessions_are_said_to_have_taught() -> None:
    old, new = memory("The port is 4000."), memory("The port is 4001.")
    (source, target) = (
        next(ref for ref, one in references(files).items() if "port" in one.text) for files in (old, new)
    )
    step = ReplayedCommit(old, new, (Fate("superseded", source, target, "newer"),), sessions=("s-1",))
    (found,) = prove(old, [step], DreamGround())
    (alone,) = prove(old, [replace(step, sessions=())], DreamGround())
    assert alone.rule == "invented" and "unproved" not in alone.message
    (word,) = found.fingerprints
    assert (found.rule, found.level) == ("unseen", "error") and re.fullmatch("taught-1-[0-9a-f]{12}", word)
    (passed,) = prove(old, [step], DreamGround(allow=frozenset({word})))
    assert (passed.rule, passed.level) == ("unseen", "notice")


@pytest.mark.parametrize("path", ["main/A.md", "main/archive/zz/a.md", "main/x.txt"])
def test_where_a_person_puts_a_file_is_theirs_to_say(path: str) -> None:
    new = {path: b"One.\n"}
    steps = {person: ReplayedCommit({}, new, (), person=person) for person in (True, False)}
    assert told(ANNS, steps[True], standing=frozenset(ANNS)) == []
    assert (path, "place") in told(ANNS, steps[False], standing=frozenset(ANNS))
    leak = replace(steps[True], after={path: f"It is {GITHUB}.\n".encode()})
    assert told(ANNS, leak, standing=frozenset(ANNS)) == [(path, "secret")], "but not what it holds"


@pytest.mark.parametrize(
    "path", ["logs/2026/11/new.md", "main/logs/2026/11/2026-11-20.md", "main/MEMORY.md"]
)
def test_what_is_no_memory_is_none_whatever_the_agent_is_called(path: str) -> None:
    (found,) = judge_memories(None, side_of({path: b"x"}), RuleContext())
    assert (found.path, found.message) == (path, "it is no memory, and a dream writes nothing else")


@pytest.mark.parametrize(
    ("person", "fates", "told_of"), [(False, 0, True), (True, 0, False), (True, 1, True)]
)
def test_a_step_answers_for_what_it_says_or_was_asked_to_say(
    person: bool, fates: int, told_of: bool
) -> None:
    """What a person takes out by hand is told elsewhere, unless the commit gives a false account of it."""
    old, new = memory("One.\n\nTwo.", name="a#b"), memory("One.", name="a#b")
    (gone,) = (ref for ref, one in references(old).items() if one.text == "Two.")
    said = (Fate("merged", gone, "main/a.md#000000000000"),)[:fates]
    step = ReplayedCommit(old, new, said, person=person, commit="c0ffee")
    found = prove(old, [step], DreamGround())
    assert [(one.claim, one.rule) for one in found if one.commit == "c0ffee"] == [
        (gone, "account")
    ] * told_of
    assert bool(found) is told_of


def test_what_a_person_did_elsewhere_puts_nothing_right() -> None:
    hand = ReplayedCommit(OTHER, MORE, (), person=True)
    leak = ReplayedCommit({}, memory(f"It is {GITHUB}.", name="c"), ())
    assert ("main/c.md", "secret") in told(ANNS | OTHER, leak, hand)
    odd = {"main/x.txt": b"One.\n"}
    assert ("main/x.txt", "place") in told(ANNS, ReplayedCommit({}, odd, ()), hand)
    rule = "**Rule in:** [CLAUDE.md](CLAUDE.md)"
    old, new = memory(f"One.\n\n{rule}"), memory(f"One.\n\nTwo.\n\n{rule}")
    back = ReplayedCommit(new, old, (), person=True)
    changed = ReplayedCommit(old, new, ())
    assert ("main/a.md", "place") in told(old, changed, hand) and told(old, changed, back) == []
    lost = ReplayedCommit(memory("One.\n\nTwo."), ANNS, ())
    assert ("main/a.md", "account") in told(memory("One.\n\nTwo.") | OTHER, lost, hand)
    old, new = memory("One.\n\nTwo.", name="a#b"), memory("One.", name="a#b")
    steps = ReplayedCommit(old, new, ()), ReplayedCommit(new, old, (), person=True)
    assert told(old, *steps) == [] and told(old, *steps, end=new) == [("main/a#b.md", "account")]
    foreign = ReplayedCommit({}, {}, (), foreign=("main/y.txt",))
    assert told(ANNS, foreign, hand) == [("main/y.txt", "place")], "nobody sees what became of it"


def test_where_others_put_a_file_is_theirs_to_say_in_a_squash() -> None:
    odd = {"main/x.txt": b"One.\n"}
    for squashed, found in ((True, []), (False, [("main/x.txt", "place"), ("main/y.txt", "place")])):
        step = ReplayedCommit({}, odd, (), foreign=("main/y.txt",), squashed=squashed)
        assert sorted(told(ANNS, step, standing=frozenset(ANNS))) == found


def test_what_a_merge_says_is_measured_by_what_stood_there_before_it() -> None:
    step = memory("Ports are 4000 and 4001.", name="n")
    end = memory("Ports are 4000 and 4001.\n\nPorts are 4000.", name="n")
    by_hand = ReplayedCommit({}, step, (), person=True)
    assert told(ANNS, by_hand, end=ANNS | end) == []
    assert ("main/n.md", "invented") in told(ANNS, end=ANNS | end)


def test_too_much_is_told() -> None:
    old = memory("One.\n\nTwo.\n\nThree.")
    fates = tuple(
        Fate("dropped", ref, "", "done") for ref, one in references(old).items() if one.text != "One."
    )
    new = memory("One.")
    fates = tuple(fate for fate in fates if fate.source not in references(new))
    step = ReplayedCommit(old, new, fates)
    over = "it drops or supersedes 2 claims: 1 are allowed, a tenth of all"
    for limit, what in ((2, ""), (1, over), (None, "")):
        found = prove(old, [step], DreamGround(limit=limit))
        assert found == ((Finding("", 1, "budget", what),) if what else ())
    assert prove(ANNS, [], DreamGround(limit=0)) == (), "who gives up nothing is not asked"
