"""Who is named for a claim, told as stories: what was committed, one after the other, and whose it is then.

A file is named by its stem: `a` is `main/a.md`, `old_a` its place in the archive, `eve_a` that of another
agent; `""` takes it away. Each sentence is a claim. Whoever commits gives the commit its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

import pytest
from blame_ground import HOUR, START, History, assert_together_as_alone, memory

from gitmem.core.account import reference
from gitmem.core.memory import parse
from gitmem.core.names import archived_path
from gitmem.core.text import iso
from gitmem.core.trailers import Fate, Provenance, format_message
from gitmem.ledger.blame import FEW, Blamed, ClaimOrigin, blame_memory, carried, introductions, origins_of
from gitmem.ledger.purge import whole_memory
from gitmem.values import dataclass

OTHERS = {f"main/other{n}.md": memory(f"other{n}", f"Else {n}.") for n in range(FEW)}
"""So many files that they are blamed together in another way than alone."""


@dataclass(frozen=True)
class Did:
    """A commit: of whom, after which others (none: the one before), what it says of itself, and files."""

    who: str
    after: tuple[str, ...]
    fates: tuple[str, ...]
    told: tuple[tuple[str, str], ...]
    files: tuple[tuple[str, str], ...]


def did(who: str, after: str = "", fates: str = "", told: str = "", **files: str) -> Did:
    """`fates` as `kind file claim -> file claim`, `;` between them; `told` as `key=value` words."""
    words = tuple((key, value) for key, _, value in (word.partition("=") for word in told.split()))
    return Did(
        who, tuple(after.split()), tuple(fates.split("; ")) if fates else (), words, (*files.items(),)
    )


def place(name: str) -> str:
    """Where a file of a story stands."""
    before, _, stem = name.rpartition("_")
    hot = f"{'main' if before in ('', 'old') else before}/{stem}.md"
    return (archived_path(hot) or "") if before == "old" else hot


def text(name: str, said: str) -> str:
    """A memory; `x: One.` gives it another name than that of its file."""
    called, colon, rest = said.rpartition(": ")
    return memory(called if colon else name.rpartition("_")[2], *re.findall(r"\S[^.]*\.", rest))


def claim(said: str) -> str:
    """`a One.` as a dream names it."""
    name, _, sentence = said.partition(" ")
    (found,) = parse(place(name), memory("x", sentence).encode()).parsed.claims
    return reference(place(name), found)


def tell(history: History, story: Iterable[Did]) -> dict[str, str]:
    """Commits it; who did it to the commit."""
    made: dict[str, str] = {}
    last = ""
    for one in story:
        told: dict[str, object] = dict(one.told)
        told |= {"undoes": made[str(told["undoes"])]} if "undoes" in told else {}
        if one.fates:
            pairs = ((fate.split(" ", 1)[0], *fate.split(" ", 1)[1].split(" -> ")) for fate in one.fates)
            told["claims"] = tuple(Fate(kind, claim(old), claim(new)) for kind, old, new in pairs)  # type: ignore[arg-type]
        files = {place(name): text(name, said) if said else None for name, said in one.files}
        parents = [made[name] for name in one.after] if one.after else [last] if last else []
        last = made[one.who] = history.learn(
            files if parents else OTHERS | files, *parents, who=one.who, subject="Learn", **told
        )
    return made


def named(made: dict[str, str], origins: Iterable[ClaimOrigin]) -> str:
    """Origins in few words: who, by which dreams, in whose place, and who handed it on besides."""
    whose = {oid: who for who, oid in made.items()}
    words = []
    for one in origins:
        word = whose[one.commit] + ("?" if one.beyond else "")
        word += "".join(f" via {whose[oid]}" for oid in one.via)
        word += "".join(f" for {whose[former.commit]}" for former in one.replaced)
        words.append(
            word + (f" by {' '.join(sorted(whose[oid] for oid in one.hands))}" if one.hands else "")
        )
    return " and ".join(words)


STORIES: dict[str, tuple[tuple[Did, ...], dict[str, str]]] = {
    "from the file that lost it": (
        (did("ann", a="One. Two."), did("ben", a="One.", b="Two.")),
        {"b Two.": "ann by ben", "a One.": "ann"},
    ),
    "not from one that still says it": (
        (did("ann", a="One. Two."), did("ben", a="One. Two. Three.", b="Two.")),
        {"b Two.": "ben", "a Two.": "ann"},
    ),
    "from the file of another agent that lost it": (
        (did("ann", eve_a="One. Two."), did("ben", eve_a="One.", b="Two.")),
        {"b Two.": "ann by ben"},
    ),
    "from a file that was taken away, or archived": (
        (did("ann", a="One.", old_b="Two."), did("ben", a="", old_b="", c="One. Two.")),
        {"c One.": "ann by ben", "c Two.": "ann by ben"},
    ),
    "of two files that lost it, from the earlier": (
        (did("ann", b="Two."), did("ben", a="One. Two."), did("kim", a="One.", b="", c="Two.")),
        {"c Two.": "ann by kim"},
    ),
    "said twice in the file that lost it": (
        (did("ann", a="Two. Two. One."), did("ben", a="One.", b="Two.")),
        {"b Two.": "ann by ben"},
    ),
    "said again in the same file": (
        (did("ann", a="One."), did("ben", a="One. One.")),
        {"a One.": "ann", "a One. 2": "ben"},
    ),
    "moved twice": (
        (did("ann", a="One."), did("ben", a="", b="One."), did("kim", b="", c="One.")),
        {"c One.": "ann by ben kim"},
    ),
    "moved by a merge, from a side's file": (
        (did("ann", a="One."), did("ben", b="Two."), did("eve", "ann", c="C."),
         did("kim", "eve ben", a="One.", c="Two.")),
        {"c Two.": "ben by kim", "a One.": "ann"},
    ),
    "restored after it was gone": (
        (did("ann", a="One."), did("ben", a=""), did("kim", told="op=restore", a="One. Two.")),
        {"a One.": "ann by kim", "a Two.": "kim"},
    ),
    "gone when it is said again": (
        (did("ann", a="One."), did("ben", a=""), did("kim", a="One.")), {"a One.": "kim"},
    ),
    "brought back by undoing": (
        (did("ann", a="One."), did("ben", a=""), did("kim", told="undoes=ben", a="One. Two.")),
        {"a One.": "ann by kim", "a Two.": "kim"},
    ),
    "restored from the archive": (
        (did("ann", old_a="One."), did("ben", old_a=""), did("kim", told="op=restore", a="One.")),
        {"a One.": "ann by kim"},
    ),
    "restored to what the later of two said": (
        (did("ann", a="One."), did("ben", a=""), did("eve", a="One."), did("kim", a=""),
         did("lou", told="op=restore", a="One.")),
        {"a One.": "eve by lou"},
    ),
    "restored, and said on another side since": (
        (did("ann", a="One."), did("ben", told="op=restore", a="One. Two."),
         did("eve", "ann", a="One. Two."), did("kim", "ben eve", a="One. Two. Three.")),
        {"a Two.": "ben", "a Three.": "kim"},
    ),
    "restored by a person, from what nobody has": (
        (did("ann", a="One."), did("ben", told="op=restore writer=human", a="One. Two.")),
        {"a One.": "ann", "a Two.": "ben?"},
    ),
    "said by a person": (
        (did("ann", a="One."), did("ben", told="writer=human", a="One. Two.")), {"a Two.": "ben"},
    ),
    "merged by a dream": (
        (did("ann", a="Port 80 is free."), did("ben", b="Port 90 is taken."),
         did("night", told="op=dream writer=dream", b="", a="Port 80 is free, 90 is taken.",
             fates="merged a Port 80 is free. -> a Port 80 is free, 90 is taken.; "
                   "merged b Port 90 is taken. -> a Port 80 is free, 90 is taken.")),
        {"a Port 80 is free, 90 is taken.": "ann via night by night and ben via night by night"},
    ),
    "merged by a dream with what it made up": (
        (did("ann", a="Port 80 is free."),
         did("night", told="op=dream writer=dream", a="Port 80 is free, 90 is taken.",
             fates="merged a Port 80 is free. -> a Port 80 is free, 90 is taken.")),
        {"a Port 80 is free, 90 is taken.": "night for ann"},
    ),
    "kept by a dream in a second file": (
        (did("ann", a="One. Two."),
         did("night", told="op=dream writer=dream", a="One. Two.", b="Two.",
             fates="kept a Two. -> b Two.")),
        {"b Two.": "ann by night"},
    ),
    "kept by a dream, from the archive": (
        (did("ann", old_a="One. Two."),
         did("night", told="op=dream writer=dream", b="Two.", fates="kept a Two. -> b Two.")),
        {"b Two.": "ann by night"},
    ),
    "kept by a dream of what was not there, or of another claim": (
        (did("ann", a="One. Two."),
         did("night", told="op=dream writer=dream", b="Two.",
             fates="kept c Two. -> b Two.; kept a Two. -> b Three.")),
        {"b Two.": "night"},
    ),
    "superseded by a dream, though its words are the same": (
        (did("ann", a="Never mock the suites."),
         did("night", told="op=dream writer=dream", a="Mock the suites never.",
             fates="superseded a Never mock the suites. -> a Mock the suites never.")),
        {"a Mock the suites never.": "night for ann"},
    ),
    "superseded by a dream, and kept by the same": (
        (did("ann", a="Never mock the suites."),
         did("night", told="op=dream writer=dream", a="Mock the suites never.",
             fates="superseded a Never mock the suites. -> a Suites.; "
                   "kept a Suites. -> a Mock the suites never.")),
        {"a Mock the suites never.": "night for ann"},
    ),
    "taken out by one side of a merge that has it": (
        (did("ann", a="One. Two."), did("ben", a="One."), did("eve", "ann", a="One. Two. Three."),
         did("kim", "ben eve", a="One. Two. Three.")),
        {"a One.": "ann", "a Two.": "ann by kim", "a Three.": "eve"},
    ),
    "taken out by the side that a merge does not take": (
        (did("ann", a="One. Two."), did("ben", a="One."), did("eve", "ann", b="B."), did("kim", "eve ben")),
        {"a Two.": "ann by kim"},
    ),
    "taken out of the archive by one side of a merge that has it": (
        (did("ann", old_a="One. Two."), did("ben", old_a="One."),
         did("eve", "ann", old_a="", a="One. Two."), did("kim", "ben eve", old_a="", a="One. Two.")),
        {"a One.": "ann", "a Two.": "ann by kim"},
    ),
}  # fmt: skip


def ids(history: History, tip: str, path: str) -> dict[str, str]:
    """Claims by their text, a second one of the same by `<text> 2`."""
    found: dict[str, str] = {}
    for line in blame_memory(history.store, tip, path):
        found[line.text if line.text not in found else f"{line.text} 2"] = line.claim.id
    return found


@pytest.mark.parametrize("why", STORIES)
def test_who_is_named_for_a_claim(history: History, why: str) -> None:
    """Also where many memories are blamed together."""
    story, expected = STORIES[why]
    made = tell(history, story)
    tip = made[story[-1].who]
    found = {}
    for asked in expected:
        name, _, said = asked.partition(" ")
        id = ids(history, tip, place(name))[said]
        origins = origins_of(history.store, tip, {place(name): {id}}, merges=True)
        found[asked] = named(made, origins[place(name), id])
    assert found == expected
    files = {name for one in story for name, _ in one.files}
    assert_together_as_alone(history.store, tip, [*OTHERS, *map(place, files)])


def test_no_hand_is_named_that_brought_back_unless_asked_for(history: History) -> None:
    story, _ = STORIES["taken out by one side of a merge that has it"]
    tip = tell(history, story)["kim"]
    id = ids(history, tip, place("a"))["Two."]
    ((origin,),) = origins_of(history.store, tip, {place("a"): {id}}).values()
    assert origin.hands == ()


def test_only_what_is_asked_for_is_blamed(history: History) -> None:
    (tip,) = tell(history, [did("ann", a="One. Two.")]).values()
    id = ids(history, tip, place("a"))["Two."]
    assert [line.text for line in blame_memory(history.store, tip, place("a"), {id})] == ["Two."]
    assert origins_of(history.store, tip, {}) == {} == origins_of(history.store, tip, {place("a"): set()})


@pytest.mark.parametrize("to", ["b", "old_b"])
def test_of_many_files_that_may_have_lost_a_claim_those_of_its_agent_come_first(
    history: History, monkeypatch: pytest.MonkeyPatch, to: str
) -> None:
    monkeypatch.setattr("gitmem.ledger.blame.MOST_MOVED", 1)
    made = tell(
        history,
        [
            did("ann", ann_a="One. Two."),
            did("ben", z="One. Two."),
            did("kim", ann_a="One.", z="One.", **{to: "Two."}),
        ],
    )
    assert history.commit_of(made["kim"], "Two.", place(to)) == made["ben"]


def test_of_many_files_whose_history_is_crooked_so_many_are_blamed(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gitmem.ledger.blame.MOST_CROOKED", 1)
    files = dict.fromkeys("abcd", "One.")
    story = [did("ann"), did("ben", **files), did("kim", "ann", **files), did("lou", "ben kim")]
    made = tell(history, story)
    asked = {place(name): set(ids(history, made["lou"], place(name)).values()) for name in files}
    assert {path for path, _ in origins_of(history.store, made["lou"], asked)} == {place("a")}


def test_what_a_straight_history_brought_in_is_read_off_the_versions_of_files(history: History) -> None:
    story = (
        did("ann", a="One. Two.", b="One.", c="One.", d="One.", e="One."),
        did("ben", a="", old_a="One. Three.", b="", old_c="One."),
        did("eve", d="Two.", e="Two."),
        did("pia", "ben", d="Two."),
        did("kim", "eve pia"),
        did("lou", old_a="", a="One. Three. Four.", b="One."),
    )
    made = tell(history, story)
    asks = did("asks", a="One. Three. Four. Five.", b="One.", c="One.", d="Two.", e="Two.", f="F.")
    said = {place(name): text(name, found) for name, found in asks.files}
    texts = {
        (path, one.id): one.text for path in said for one in parse(path, said[path].encode()).parsed.claims
    }
    asked = {path: {id for there, id in texts if there == path} for path in said}
    whose = {oid: who for who, oid in made.items()}

    def found() -> dict[tuple[str, str], tuple[str, str]]:
        came = introductions(history.store, made["lou"], asked)
        return {(path, texts[path, id]): (whose[oid], where) for (path, id), (oid, where) in came.items()}

    a, b = place("a"), place("b")
    assert found() == {
        (a, "One."): ("ann", a), (a, "Three."): ("ben", place("old_a")), (a, "Four."): ("lou", a),
        (b, "One."): ("lou", b),
    }  # fmt: skip
    first = made["ann"]
    (history.path / ".git/objects" / first[:2] / first[2:]).unlink()
    assert found() == {}


MOVED = Provenance("add", "human", job="move-0123abcd-1790000000")


@pytest.mark.parametrize(
    ("told", "reason", "whose"),
    [
        (MOVED, "extract {} Ann <ann@example.com>", ("Ann <ann@example.com>", "extract", START)),
        (MOVED, "extract {} Ann", None),
        (MOVED, "mallory {} Ann <ann@example.com>", None),
        (MOVED, "extract 2026-99-01T00:00:00Z Ann <ann@example.com>", None),
        (Provenance("add", "human", job="x-move-1"), "extract {} Ann <ann@example.com>", None),
        (Provenance("update", "human", job=MOVED.job), "extract {} Ann <ann@example.com>", None),
    ],
)
def test_a_move_from_another_scope_says_who_taught_a_claim(
    history: History, told: Provenance, reason: str, whose: tuple[str, str, int] | None
) -> None:
    claims = tuple(
        Fate("kept", claim(f"a {said}"), "", reason.format(iso(START))) for said in ("One.", "X.")
    )
    moved = Provenance(told.op, told.writer, job=told.job, claims=claims)
    tip = history.learn(
        {place("a"): text("a", "One. Two.")}, message=format_message("Move", moved), who="Ben"
    )
    found = {}
    for said in ("One.", "Two."):
        origin = history.origin(tip, said, place("a"))
        (one,) = origin.told
        found[said] = (one.author, one.provenance.writer, one.time)
        assert origin.time == one.time
    ben = ("Ben <ben@example.com>", "human", START + HOUR)
    assert found == {"One.": whose or ben, "Two.": ben}


def test_who_taught_a_claim_goes_along_into_another_scope(history: History) -> None:
    """As `blame` tells it there; what else is known of the commit stays where it is."""
    first = history.learn({place("a"): text("a", "One.")}, writer="extract", session="s-1")
    moved = carried(blame_memory(history.store, first, place("a")), place("b"))
    assert {fate.target for fate in moved} == {""}
    told = Provenance("add", "human", job=MOVED.job, claims=moved)
    tip = history.learn({place("b"): text("a", "One.")}, who="Ben", message=format_message("Move", told))
    origins = [line.origins[0] for line in blame_memory(history.store, tip, place("b"))]
    assert [one.told[0].author for one in origins] == ["Ann <ann@example.com>"] * 2
    assert [(one.time, one.told[0].provenance) for one in origins] == [
        (START + HOUR, Provenance(writer="extract"))
    ] * 2


def test_a_part_of_a_squash_without_a_date_is_told_and_the_first_other_says_when(history: History) -> None:
    head = f"commit {'a' * 40}\nAuthor: Ann <ann@example.com>\n"
    days = (
        f"{datetime.fromtimestamp(when, UTC):%a %b %d %H:%M:%S %Y +0000}" for when in (START, START + 9)
    )
    dates = ("", *(f"Date:   {day}\n" for day in days))
    parts = "\n".join(f"{head}{date}\n    Learn a\n" for date in dates)
    message = f"Squashed commit of the following:\n\n{parts}"
    tip = history.learn({place("a"): text("a", "One.")}, message=message)
    origin = history.origin(tip, "One.", place("a"))
    assert [one.time for one in origin.told] == [None, START, START + 9] and origin.time == START


def test_a_fact_that_a_dream_took_from_a_log_is_of_its_line(history: History) -> None:
    log, fact = "main/logs/2026/11/2026-11-16.md", "Port 80 is free."
    first = history.learn({log: f"- 09:00:00Z [project] {fact}\n"})
    (line,) = blame_memory(history.store, first, log)
    fate = Fate("merged", reference(log, line.claim), claim(f"a {fact}"))
    told = Provenance("dream", "dream", claims=(fate,))
    tip = history.learn({place("a"): text("a", fact)}, first, message=format_message("Distil", told))
    origin = history.origin(tip, fact, place("a"))
    assert (origin.commit, origin.path, origin.via, origin.replaced) == (first, log, (tip,), ())
    assert line.origins[0].line == origin.line and origin.line is not None
    assert (origin.line.text, f"{origin.line.when:%Y-%m-%d %H}") == (fact, "2026-11-16 09")
    assert history.origin(tip, "About a", place("a")).line is None


@pytest.mark.parametrize(("described", "against"), [("Ports", 1), ("", 0)])
def test_a_disputed_description_is_against_the_one_that_stands(
    history: History, described: str, against: int
) -> None:
    said = "description: All ports *(disputed 0123abcd)*"
    data = f"---\nname: a\ndescription: {described}\ntype: project\n---\n\nElse.\n\n{said}\n"
    lines = blame_memory(history.store, history.learn({place("a"): data}), place("a"))
    assert len(lines[-1].against) == against
    assert [line.against for line in lines if line.description] == [(lines[-1].claim.short,)] * against
    assert lines[-2].against == ()


def test_a_disputed_value_is_shown_as_it_stands_whatever_is_in_it() -> None:
    claims = parse("a.md", memory("a", "description: Ports: all of them *(disputed 0123abcd)*").encode())
    assert Blamed(claims.parsed.claims[0], False, (), (), "description").text == (
        "(description, disputed) Ports: all of them"
    )
    assert Blamed(claims.parsed.claims[0], False, (), ()).text == claims.parsed.claims[0].text


WHOLE: dict[str, tuple[tuple[Did, ...], str, str]] = {
    "it and its place in the archive, whatever it said once": (
        (did("ann", ports="Old fact."), did("ben", ports="", old_ports="New fact."),
         did("eve", net="Else.")),
        "ports old_ports", "About ports; Old fact.; New fact.",
    ),
    "another of the same name": (
        (did("ann", ports="Old fact."), did("ben", ports="", net="ports: New fact.")),
        "ports old_ports net old_net", "About ports; Old fact.; New fact.",
    ),
    "another of the same name, from the archive": (
        (did("ann", old_ports="Old fact."), did("ben", old_ports="", net="ports: New fact.")),
        "ports old_ports net old_net", "About ports; Old fact.; New fact.",
    ),
    "another with half of its claims": (
        (did("ann", ports="Old fact. Same fact."),
         did("ben", ports="", net="Old fact. Same fact. New fact.")),
        "ports old_ports net old_net", "About ports; About net; Old fact.; Same fact.; New fact.",
    ),
    "not one with fewer of them": (
        (did("ann", ports="Old fact. Same fact."),
         did("ben", ports="", net="Old fact. Same fact. New fact. Last fact.")),
        "ports old_ports", "About ports; Old fact.; Same fact.",
    ),
    "not one that came while it stayed, or later": (
        (did("ann", ports="Old fact."), did("ben", net="ports: Old fact."), did("eve", ports=""),
         did("kim", dns="ports: Old fact.")),
        "ports old_ports", "About ports; Old fact.",
    ),
    "not that of another agent": (
        (did("ann", ports="Old fact."), did("ben", ports="", eve_ports="Old fact.")),
        "ports old_ports", "About ports; Old fact.",
    ),
    "what it was before, and before that": (
        (did("ann", dns="First fact."), did("ben", dns="", net="dns: Old fact."),
         did("eve", net="", ports="dns: New fact.", one="Else."), did("kim", one="", other="Else.")),
        "ports old_ports net old_net dns old_dns", "About dns; First fact.; Old fact.; New fact.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("why", WHOLE)
def test_what_has_to_go_for_a_memory_to_be_gone(history: History, why: str) -> None:
    story, files, said = WHOLE[why]
    *_, tip = tell(history, story).values()
    found = whole_memory(history.store, tip, place("ports"))
    assert found.memories == {place(name) for name in files.split()}
    # Names of fewer than five letters stand in too many words.
    assert found.said == {*said.split("; "), *(["ports"] if "About ports" in said else [])}
