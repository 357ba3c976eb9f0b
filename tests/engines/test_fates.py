"""What a model says of claims, read leniently and believed little: answers, quotations, fates, lines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from gitmem.core.account import path_of, references
from gitmem.core.daily_log import LogLine
from gitmem.engines import fates as module
from gitmem.engines.engine import ConsolidateInput
from gitmem.engines.fates import (
    LogSource,
    ToldChange,
    ToldFate,
    Unreadable,
    content,
    entries,
    hear,
    objects,
    quoted,
    settle,
    share,
)


@pytest.mark.parametrize(
    ("answer", "read"),
    [
        ('[{"subject": "A"}]', "A"),
        ('{"subject": "A"}', "A"),
        ('{"changes": [{"subject": "A"}, {"subject": "B"}], "subject": "C"}', "AB"),
        ('{"changes": "x", "subject": "A"}', "A"),
        ('Done: [{"subject": "A"}, 1, "x"]. Bye', "A"),
        ('```\n[{"subject": "A"}]\n```\nor\n```json\n[{"subject": "B"}]\n```', "B"),
        ('```\n[{"subject": "A"}]\n```\nor\n  ```sh\nls\n```  \n', "A"),
        ('```\n[{"subject": "A"}]\n```\n```\n"x"\n```', "A"),
        ('```\n[{"subject": "A"}]', "A"),
        ('[x]\n```\n[{"subject": "A"}]\n```end', "A"),
        ('[1] ```\n[{"subject": "A"}]', None),
        ("Nothing to do", None),
        ("[" * 9_000, None),
        ("9" * 10_000, None),
        ("```\n" * 2_000, None),
        ("[1e999999, NaN", None),
        ('"x"', None),
        ("[]", ""),
    ],
)
def test_an_answer_is_the_last_array_in_a_fence_or_alone(answer: str, read: str | None) -> None:
    assert "".join(str(one["subject"]) for one in objects(answer)) == (read or "")
    if read is None:
        with pytest.raises(Unreadable, match="no JSON array"):
            entries(answer)
    else:
        assert "".join(one.subject for one in entries(answer)) == read


def test_an_answer_holds_no_more_than_a_person_looks_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ANSWER_CHARS", 100)
    monkeypatch.setattr(module, "ENTRIES", 2)
    monkeypatch.setattr(module, "GONE", 3)
    for answer, why in (
        (json.dumps([]) + " " * 98, ""),
        (json.dumps([]) + " " * 99, "longer than 100 characters"),
        ("[{}, {}]", ""),
        ("[{}, {}, {}]", "3 changes; 2 are the most"),
        ('[{"gone": [{}, {}], "lines": ["a"]}]', ""),
        ('[{"gone": [{}, {}], "lines": ["a"]}, {"lines": "b"}]', "4 claims; 3 are the most"),
        ('[{"gone": [{}, {}, {}, {}, {}, {}]}]', "4 claims; 3 are the most"),
    ):
        if why:
            with pytest.raises(Unreadable, match=why):
                entries(answer)
        else:
            assert entries(answer) is not None
    assert [len(objects(answer)) for answer in ("[{}, {}, {}]", "[{}]" + " " * 97)] == [2, 0]
    (one,) = entries('[{"files": ["a", "b", "c", "d"], "lines": ["a", "b", "c", "d"]}]'[:100] or "")
    assert (one.files, len(one.lines)) == (("a", "b", "c"), 3)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({}, ToldChange("", "", (), ())),
        ({"subject": "S" * 200, "reason": "R" * 400}, ToldChange("S" * 119 + "…", "R" * 299 + "…", (), ())),
        ({"subject": 1, "reason": ["x"]}, ToldChange("", "", (), ())),
        ({"files": "a.md"}, ToldChange("", "", ("a.md",), ())),
        ({"files": ["a.md", 1, " ", "p" * 500]}, ToldChange("", "", ("a.md", "p" * 400), ())),
        ({"files": {"a": 1}, "gone": {"a": 1}, "lines": {"a": 1}}, ToldChange("", "", (), ())),
        (
            {
                "gone": [
                    {"file": "f", "claim": "c\n" * 3_000, "fate": "Merged", "into_file": "g",
                     "into_claim": "d", "reason": "r"},
                    "x",
                ]
            },
            ToldChange("", "", (), (ToldFate("f", "c\n" * 2_000, "merged", "g", "d", "r"),)),
        ),
        ({"lines": "L1"}, ToldChange("", "", (), (), (LogSource("L1"),))),
        (
            {"lines": ["L1", " ", 2, {"line": "L2", "fate": "Superseded", "reason": "why"}, {}]},
            ToldChange(
                "", "", (), (), (LogSource("L1"), LogSource("L2", "superseded", "why"), LogSource(""))
            ),
        ),
    ],
)  # fmt: skip
def test_what_a_change_says_is_cut_to_what_may_be(given: Mapping[str, Any], read: ToldChange) -> None:
    assert entries(json.dumps([given])) == (read,)


def test_a_change_names_its_files_and_those_that_claims_left_once_each() -> None:
    gone = tuple(ToldFate(file, "", "", "x", "", "") for file in ("b", "a", ""))
    assert ToldChange("", "", ("a", "c"), gone).named == ("a", "c", "b")


def test_what_says_something_is_compared() -> None:
    assert content("The ports of 8080_are Tested") == content("test port 8080")
    assert (share("ports and tests", "the port"), share("the", "x"), share("a port", "host")) == (
        0.5,
        1.0,
        0.0,
    )


A, B, C = "main/a.md", "main/b.md", "eve/c.md"
NEVER = "Never mock the Postgres database in integration tests."
SHIP = "Deploy on Friday with `make ship`."


def memory(*body: str, type: str = "project") -> bytes:
    text = "\n\n".join(body)
    return f"---\nname: x\ndescription: About it\ntype: {type}\n---\n\n{text}\n".encode()


def told(claim: str, fate: str = "dropped", reason: str = "no longer true", **into: str) -> ToldFate:
    return ToldFate(A, claim, fate, into.get("file", ""), into.get("at", ""), reason)


TURNED = "In integration tests the Postgres database is never mocked."
MAKE, BLUE, TRUE = "Deploy with `make ship`.", "The database is blue.", "no longer true"
NOWHERE, NO_REASON = "is gone, and nothing says where", "is dropped without a reason"
NOTHING = "is superseded by nothing that is there: name the claim, or call it dropped"
UNSAID = "is said to be merged, and nothing that is left says it: name the claim that does"
PARAPHRASE = "Integration tests always run on real Postgres; a database is never mocked."
FEW, TWO, FOUR = "Hosts run backups.", "Hosts run blue copies.", "Hosts run nightly backups."
FIVE = "Hosts run nightly backups daily."
MUST, MAY = "ports must always stay open before lunch.", "all must stay so always, before it."
IN = f"is said to be in {B}, where"


@pytest.mark.parametrize(
    ("old", "new", "other", "said", "kind", "text"),
    [
        # It stands elsewhere, or says the same in other words.
        (NEVER, [], [NEVER], [], "kept", ""),
        (NEVER, [], [NEVER], [told(NEVER, reason="moved")], "kept", "moved"),
        (NEVER, [TURNED], [], [], "merged", "says the same in other words"),
        (NEVER, [TURNED], [], [told(NEVER, reason="shorter")], "merged", "shorter"),
        (SHIP, [MAKE], [], [], "", f"was reworded, and “{MAKE}” lacks the name Friday"),
        (SHIP, [MAKE], [], [told("Deploy on Friday", "superseded")], "superseded", TRUE),
        # Only the model's word says it: it quotes the claim, and gives a reason.
        (SHIP, [], [], [], "", NOWHERE),
        (SHIP, [], [], [told(SHIP, "gone")], "", NOWHERE),
        (SHIP, [], [], [told("deploy ON friday…")], "dropped", TRUE),
        (SHIP, [], [], [told("Deploy on Friday...")], "dropped", TRUE),
        (SHIP, [], [], [told("**Deploy** on Friday.")], "dropped", TRUE),
        (SHIP, [], [], [told("Deploy o")], "dropped", TRUE),
        (SHIP, [], [], [told("Deploy ")], "", NOWHERE),
        ("Ask.", [], [], [told("ask")], "dropped", TRUE),
        (SHIP, [], [], [told("")], "", NOWHERE),
        (SHIP, [], [], [told(SHIP, reason="ten letters")], "dropped", "ten letters"),
        (SHIP, [], [], [told(SHIP, reason="nine lettr")], "", NO_REASON),
        (SHIP, [], [], [told(SHIP, "superseded")], "", NOTHING),
        (SHIP, [], [], [told(SHIP, "merged")], "", UNSAID),
        # It went into a claim that the model names, by its file or its words.
        (NEVER, [], [PARAPHRASE], [told(NEVER, "merged", "", file=B)], "merged", "is said there"),
        (NEVER, [], ["Hosts are red."], [told(NEVER, "merged", file=B)], "", f"{IN} nothing is like it"),
        (NEVER, [], ["Tests run."], [told(NEVER, "merged", file=B)], "",
         "is said to be merged, but “Tests run.” lacks the name Postgres, a negation"),
        (NEVER, [], ["x"], [told(NEVER, file="main/z")], "", "is said to be in main/z, which is not there"),
        (NEVER, [], ["x"], [told(NEVER, file=C)], "", f"is said to be in {C}, the memory of another agent"),
        (NEVER, [], [BLUE], [told(NEVER, "superseded", file=B, at=BLUE)], "superseded", TRUE),
        (NEVER, [BLUE], [], [told(NEVER, "superseded", at="The database")], "superseded", TRUE),
        (NEVER, [], [BLUE, "The database is red."], [told(NEVER, file=B, at="The database")], "",
         f"{IN} 2 claims begin with “The database”"),
        (NEVER, [], [BLUE], [told(NEVER, file=B, at="The host")], "",
         f"{IN} 0 claims begin with “The host”"),
        (FEW, [], ["Hosts glow."], [told(FEW, "merged", file=B)], "",
         "is said to be merged, but “Hosts glow.” has hardly a word of it"),
        (FIVE, [], [TWO], [told(FIVE, "merged", file=B)], "merged", TRUE),
        (FIVE, [], [TWO], [told(FIVE, "superseded", file=B)], "superseded", TRUE),
        (FOUR, [], [TWO], [told("Hosts run", "superseded", file=B)], "merged", TRUE),
        (MUST, [], [MAY], [told(MUST, "merged", file=B)], "",
         f"is said to be merged, but “{MAY}” has hardly a word of it"),
        # Nobody says so, and a claim that is there or new says all of it.
        (NEVER, [], [TURNED], [], "merged", "is said there"),
        (NEVER, [], [f"{NEVER} It is slow."], [], "merged", "is said there"),
        (NEVER, [], [f"{NEVER} It is slow.", f"{NEVER} It is old."], [], "merged", "is said there"),
        (NEVER, [], [f"{NEVER} It is old.", f"{NEVER} It is slow."], [], "merged", "is said there"),
        (f"{FIVE} On 4.", [], [f"{FIVE} On 5."], [], "", NOWHERE),
    ],
)  # fmt: skip
def test_what_became_of_a_claim_is_seen_or_said(
    old: str, new: list[str], other: list[str], said: list[ToldFate], kind: str, text: str
) -> None:
    before = {A: memory(old, "Left."), B: memory("Beside."), C: memory("Hers.")}
    after = {A: memory(*new, "Left."), B: memory("Beside.", *other), C: memory("Hers.")}
    done = settle(before, after, [A, B], said, lambda path: path if path in after else "")
    (source,) = [ref for ref, claim in references(before).items() if claim.text == old]
    if kind:
        fate = done.fates[source]
        assert (fate.kind, fate.source, fate.reason, done.problems) == (kind, source, text, ())
        assert bool(fate.target) is (kind != "dropped")
        if fate.target:
            assert path_of(fate.target) == (B if other else A) and fate.target in references(after)
        if len(other) > 1:
            assert fate.target == min(ref for ref, one in references(after).items() if one.text in other)
    else:
        assert done.problems == (f"{A}: “{old}” {text}",)
    assert done.told == ({source} if said and done.told else set()) and not done.copies


@pytest.mark.parametrize(("stands", "held"), [(f"{NEVER} It is slow.", True), (TURNED, False)])
def test_what_stood_there_before_holds_a_claim_that_it_says_word_for_word(stands: str, held: bool) -> None:
    before = {A: memory(NEVER, "Left."), B: memory(stands)}
    done = settle(before, {A: memory("Left."), B: memory(stands)}, [A], [], lambda path: path)
    assert [path_of(fate.target) for fate in done.fates.values()] == [B] * held


def test_a_claim_is_named_in_its_own_file() -> None:
    before, after = {A: memory(SHIP), B: memory(BLUE)}, {A: memory(), B: memory()}
    done = settle(before, after, [A, B], [told(BLUE)], lambda path: path)
    assert done.told == frozenset() and f"{B}: “{BLUE}” {NOWHERE}" in done.problems
    before = {A: memory("Ask him.", "**Ask** him.")}
    done = settle(before, {A: memory("x")}, [A], [told("ask him")], lambda path: path)
    assert len(done.told) == 1 and len(done.problems) == 1


def test_a_quotation_of_several_claims_names_none() -> None:
    before = {A: memory("The host is blue.", "The host is new.", "The host")}
    after = {A: memory("Left.")}
    done = settle(before, after, [A], [told("The host is"), told("the host")], lambda path: path)
    assert done.problems[0] == f"{A}: 2 claims begin with “The host is”: quote more of each"
    assert len(done.problems) == 3 and len(done.told) == 1
    twice = [told("the host", reason="first of two"), told("the host")]
    assert [one.reason for one in settle(before, after, [A], twice, lambda path: path).fates.values()] == [
        "first of two"
    ]


def test_a_claim_that_stands_twice_is_a_copy_where_none_went_into_it() -> None:
    """What stood there before is the better place to say that another is kept."""
    before = {A: memory("Blue host."), B: memory("Blue host.")}
    after = {A: memory(), **dict.fromkeys((B, "main/c.md", C), memory("Blue host."))}
    done = settle(before, after, [A, "main/c.md", C], [], lambda path: path)
    (fate,) = done.fates.values()
    assert path_of(fate.target) == B
    assert {path_of(ref) for ref in done.copies} == {"main/c.md"}
    assert settle(before, after, [], [], lambda path: path).fates == {}


HOST, WEEK = "The staging host is blue.", "**Why:** the week ends then."
NONE = "is said in none of the files of the change"
BLUE_LINE = "main/logs/2026/11/2026-11-20.md#1"
LINES = {
    BLUE_LINE: HOST,
    "main/logs/2026/11/2026-11-20.md#2": f"Deploys go out on Friday. {WEEK}",
    "eve/logs/2026/11/2026-11-20.md#3": HOST,
}


def line(text: str, type: str = "project") -> LogLine:
    return LogLine(datetime(2026, 11, 20, tzinfo=UTC), type, "", text)  # type: ignore[arg-type]


def given(type: str = "project") -> ConsolidateInput:
    lines = {ref: line(text, type) for ref, text in LINES.items()}
    return ConsolidateInput({}, scope="project", now=0.0, lines=lines)


@pytest.mark.parametrize(
    ("sources", "body", "kinds", "problem"),
    [
        ([LogSource("L1")], [HOST], ["merged"], ""),
        ([LogSource("l1", "", "so")], [HOST], ["merged"], ""),
        ([LogSource(BLUE_LINE)], [HOST], ["merged"], ""),
        ([LogSource("L9")], ["x"], [], "L9 is no line of a log that was listed"),
        ([LogSource("L1")], ["Nothing of it."], [], f"L1, “{HOST}”, {NONE}"),
        (
            [LogSource("L2")],
            ["Deploys go out.", WEEK],
            [],
            "went into “Deploys go out.”, which lacks the name Friday",
        ),
        ([LogSource("L1", "superseded", "it has moved on")], ["The host is red."], ["superseded"], ""),
        ([LogSource("L1", "superseded", "it  moved")], [HOST], [], "is superseded without a reason"),
        ([LogSource("L1", "superseded", "it has moved on")], ["Nothing."], [], "is superseded by nothing"),
        ([LogSource("L2")], ["Deploys go out on Friday.", WEEK], ["merged", "merged"], ""),
        ([LogSource("L2")], ["Deploys go out on Friday."], [], f"of which “{WEEK}” {NONE}"),
        ([LogSource("L3")], [HOST], [], NONE),
        ([LogSource("L1"), LogSource("L1")], [HOST], ["merged"], ""),
    ],
)
def test_a_line_goes_into_claims_of_its_agent_that_say_it(
    sources: list[LogSource], body: list[str], kinds: list[str], problem: str
) -> None:
    change = ToldChange("", "", (A, "main/none.md"), (), tuple(sources))
    after = {A: memory(*body), B: memory("x")}
    done = hear(given(), after, [change], [A], lambda path: path)
    assert [fate.kind for fate in done.fates] == kinds and done.lines == given().lines
    assert [fate.reason for fate in done.fates] == [sources[0].reason] * len(kinds)
    assert (problem in done.problems[0]) if problem else not done.problems
    assert done.into([A]) == done.fates and done.into([B]) == ()
    assert done.types(done.fates) == ({"project"} if "merged" in kinds else set())
    assert hear(given(), after, [change], [B], lambda path: path).fates == ()


def test_what_is_about_a_person_goes_into_what_is_about_one() -> None:
    change = ToldChange("", "", (A,), (), (LogSource("L1"),))
    for type, problems in (
        ("user", ()),
        ("project", (f"L1, “{HOST}”, is about a person, and {A} is of another type",)),
    ):
        after = {A: memory(HOST, type=type)}
        done = hear(given("user"), after, [change], [A], lambda path: path)
        assert (done.problems, len(done.fates)) == (problems, 1 - len(problems))


def test_a_claim_is_quoted_in_one_line() -> None:
    found = references({A: memory("word " * 60)}).values()
    (claim,) = [one for one in found if one.text.startswith("word")]
    assert quoted(claim) == f"“{('word ' * 24)[:119].rstrip()}…”"
