"""What a step of a dream may say of log lines and of frontmatter, judged from its two states."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitmem.core.account import lines_at, references
from gitmem.core.trailers import Fate, FateKind
from gitmem.rules.account import (
    MOST_LINES,
    DreamGround,
    Lookup,
    ReplayedCommit,
    crowd,
    fewer,
    given_up,
    losses,
    misheard,
    sources_of,
)
from gitmem.rules.invention import inventions, messages, refiled
from gitmem.rules.proof import permit
from gitmem.rules.rule import Finding

LOG = "main/logs/2026/11/2026-11-20.md"
LINES = lines_at(
    LOG,
    b"- 10:00:00Z [project ab] Ship on port 80. **Why:** Ann said so.\n- 11:00:00Z [user] I like tea.\n",
)
SHIP, TEA = LINES
HEAD = "---\nname: {}\ndescription: About it\n{}type: project\n---\n\n{}\n"


def memory(body: str, more: str = "", name: str = "a") -> dict[str, bytes]:
    return {f"main/{name}.md": HEAD.format(name, more, body).encode()}


def ref(files: dict[str, bytes], text: str) -> str:
    return next(name for name, claim in references(files).items() if text in claim.text)


def heard(after: dict[str, bytes], *fates: Fate) -> list[tuple[str, int, str, str]]:
    found = misheard(ReplayedCommit({}, after, fates, lines=LINES))
    return [(one.path, one.line, one.rule, one.claim) for one in found]


def test_a_line_is_merged_into_what_holds_all_that_it_says() -> None:
    after = memory("Ship on port 80.\n\n**Why:** Ann said so.")
    one, why = ref(after, "Ship"), ref(after, "Why")
    assert heard(after, Fate("merged", SHIP, one), Fate("merged", SHIP, why)) == []
    assert heard(after, Fate("merged", SHIP, one)) == [("main/a.md", 7, "invented", one)]
    other = memory("Ship on port 81.\n\n**Why:** Ann said so.")
    both = [Fate("merged", SHIP, ref(other, text)) for text in ("Ship", "Why")]
    assert heard(other, *both) == [("main/a.md", 7, "invented", ref(other, "Ship"))]
    assert heard(other, Fate("merged", SHIP, ref(other, "Ship"))) == [
        ("main/a.md", 7, "invented", ref(other, "Ship"))
    ]


def test_what_a_line_became_says_nothing_else() -> None:
    for text, made_up in (("Ship on port 80, Ann said so.", 0), ("Everything is slow.", 1)):
        after = memory(text)
        step = ReplayedCommit({}, after, (Fate("merged", SHIP, ref(after, text)),), lines=LINES)
        assert [one.claim for one in inventions(step, DreamGround())].count(ref(after, text)) == made_up
    after = memory("Ship on port 80.\n\n**Why:** Ann said so.")
    step = ReplayedCommit({}, after, (Fate("merged", SHIP, ref(after, "Ship")),), lines=LINES)
    assert ref(after, "Why") not in [one.claim for one in inventions(step, DreamGround())], "said beside it"


def test_a_memory_made_of_a_line_about_a_person_is_about_one() -> None:
    after = memory("Ship on port 80, Ann said so, and I like tea.")
    fates = tuple(Fate("merged", line, ref(after, "Ship")) for line in LINES)
    assert [one.rule for one in refiled(ReplayedCommit({}, after, fates, lines=LINES))] == ["place"]


@pytest.mark.parametrize("kind", ["kept", "dropped"])
def test_a_line_stays_in_its_log_and_has_no_other_fate(kind) -> None:
    assert heard({}, Fate(kind, SHIP, "", "why")) == [(LOG, 1, "account", SHIP)]
    assert heard({}, Fate(kind, "main/x.md#0123456789ab", "", "why")) == []


def test_where_a_line_is_said_to_have_gone_stands_a_claim_of_its_agent() -> None:
    after = memory("Ship on port 80, Ann said so.")
    target = ref(after, "Ship")
    assert heard({}, Fate("merged", SHIP, target)) == [(LOG, 1, "account", SHIP)]
    assert heard(after, Fate("merged", f"{LOG}#000000000000", target)) == [
        (LOG, 1, "account", f"{LOG}#000000000000")
    ]
    theirs = {"other/a.md": after["main/a.md"]}
    there = ref(theirs, "Ship")
    assert heard(theirs, Fate("merged", SHIP, there)) == [("other/a.md", 7, "account", there)]


def test_a_claim_overtakes_a_line_with_a_reason_only() -> None:
    after = memory("Ship on port 443.")
    target = ref(after, "Ship")
    assert heard(after, Fate("superseded", SHIP, target, "newer")) == []
    assert heard(after, Fate("superseded", SHIP, target, " ")) == [("main/a.md", 7, "account", target)]
    assert heard({}, Fate("merged", SHIP, target), Fate("dropped", target, "", "no longer so")) == []


def test_a_change_of_more_lines_than_anyone_can_judge_is_told() -> None:
    fates = tuple(Fate("merged", f"{LOG}#{number:012x}", "main/a.md#0") for number in range(MOST_LINES + 1))
    assert crowd(ReplayedCommit({}, {}, fates[1:] + fates[1:])) == ()
    (found,) = crowd(ReplayedCommit({}, {}, fates))
    assert (found.path, found.line, found.rule, found.claim) == (LOG, 1, "account", fates[0].source)
    assert MOST_LINES == 1000 and "1,001 lines" in found.message


def named(name: str) -> dict[str, bytes]:
    return {"main/a.md": HEAD.format(name, "", "Ship it.").encode()}


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (memory("A."), memory("A2."), []),
        (memory("A."), {"main/a.md": memory("A.")["main/a.md"].replace(b"About it", b"Other")}, []),
        (memory("A.", "owner: Ann\n"), memory("A.", "owner: Ben\n"), [("account", "another “owner”")]),
        (memory("A.", "owner: Ann\n"), memory("A."), [("account", "loses “owner”")]),
        (memory("A."), memory("A.", "owner: Ann\n"), [("invented", "nothing before it says “owner”")]),
        (memory("A.", "# Ours\n"), memory("A."), []),
        (memory("A.", "# Ours\n"), memory("A.", "# All\n"), [("invented", "before it says “# All”")]),
        (memory("A.", "m:\n"), memory("A.", "m:\n  # All\n"), [("invented", "before it says “# All”")]),
        ({}, memory("A.", "# Ours\n"), [("invented", "before it says “# Ours”")]),
        (memory("B.", "# Ours\n", "b"), memory("A.", "# Ours\n"), []),
        (memory("A.", "# Ours \n"), memory("A.", "# Ours\n"), []),
        (memory("A."), memory("A.", "  # Of the description\n"), []),
        (
            memory("A.", "owner: Ann\n"),
            memory("A.", "owner: Ann\n") | memory("B.", "owner: Ann\n", "b"),
            [],
        ),
        ({}, memory("A.", "owner: Ann\n"), [("invented", "nothing before it says “owner”")]),
        ({}, memory("A."), []),
        ({}, named("Ports of 8080"), [("invented", "its name has the number 8080")]),
        ({}, named("Do not ship"), [("invented", "its name has a negation")]),
        ({}, named("The Shipping Policy"), []),
        ({}, {"main/ship-it-2.md": named("Ship it-2")["main/a.md"]}, []),
        (
            {},
            {"main/other.md": named("Ship it-2")["main/a.md"]},
            [("invented", "its name has the number 2")],
        ),
        (
            {},
            {"main/ship-it-2-9.md": named("Ship it-2-9")["main/a.md"]},
            [("invented", "its name has the number 2")],
        ),
        ({}, {"main/x.txt": b"x"}, []),
        (
            {},
            memory("B.", "owner: Ann\n", "b") | memory("A.", "owner: Ann\n"),
            [("invented", "nothing before it says “owner”")] * 2,
        ),
    ],
)
def test_frontmatter_says_what_it_said_but_for_the_description(before, after, found) -> None:
    told = list(refiled(ReplayedCommit(before, after, ())))
    assert [(one.rule, said in one.message) for one, (_, said) in zip(told, found, strict=True)] == [
        (rule, True) for rule, _ in found
    ]
    assert all(one.line == 1 and one.level == "error" for one in told)
    assert [one.path for one in told] == sorted(one.path for one in told)


def test_what_is_about_a_person_keeps_its_type() -> None:
    personal = {"main/p.md": HEAD.format("p", "", "I like tea.").replace("project", "user").encode()}
    after = memory("Ann likes tea.")
    fate = Fate("merged", ref(personal, "tea"), ref(after, "tea"))
    (found,) = refiled(ReplayedCommit(personal, after, (fate,)))
    assert (found.path, found.line, found.rule) == ("main/a.md", 1, "place")
    assert list(refiled(ReplayedCommit(personal, after, ()))) == []
    (told,) = refiled(ReplayedCommit({}, after, (Fate("merged", TEA, ref(after, "tea")),), lines=LINES))
    assert (told.path, told.rule) == ("main/a.md", "place")
    assert (
        list(refiled(ReplayedCommit({}, after, (Fate("merged", SHIP, ref(after, "tea")),), lines=LINES)))
        == []
    )


def test_a_person_answers_for_all_findings_of_a_rule_with_one_word() -> None:
    found = [
        Finding("a", 1, "x", "one"),
        Finding("b", 1, "x", "one", claim="b#1"),
        Finding("c", 1, "y", "three"),
    ]
    first, second, other = permit(found, (), "word", "x")
    (word,) = first.fingerprints
    assert word.startswith("word-2-") and second.fingerprints == (word,) and other == found[2]
    assert first.level == second.level == "error"
    assert [one.level for one in permit(found, {word}, "word", "x")] == ["notice", "notice", "error"]
    assert permit(found[1:], (), "word", "x")[0].fingerprints != (word,)


def test_a_session_is_read_a_paragraph_a_message() -> None:
    assert messages("one\ntwo\n\n \n\nthree") == ["one\ntwo", "three"]


def test_what_is_merged_must_speak_of_the_same_thing_where_that_is_asked() -> None:
    before, after = memory("cache is slow"), memory("queue is blue")
    fate = Fate("merged", ref(before, "cache"), ref(after, "queue"))
    assert list(losses(before, after, (fate,), related=False)) == []
    (found,) = losses(before, after, (fate,), related=True)
    assert (found.path, found.line, found.rule, found.claim) == ("main/a.md", 7, "merged", fate.source)


def test_what_agents_lost_is_told_agent_by_agent() -> None:
    before = {f"{agent}/a.md": b"Ship it.\n" for agent in "hgfedcba"}
    assert [one.path for one in losses(before, {}, (), related=True)] == sorted(before)


@pytest.mark.parametrize(("kept", "gone"), ["ab", "ba"])
def test_a_copy_that_goes_without_a_word_is_told_where_it_stood(kept: str, gone: str) -> None:
    both = memory("Ship it.", name="a") | memory("Ship it.", name="b")
    found = list(fewer(both, {f"main/{kept}.md": both[f"main/{kept}.md"]}, ()))
    assert {one.path for one in found} == {f"main/{gone}.md"}
    sources = references({f"main/{gone}.md": both[f"main/{gone}.md"]})
    assert {one.claim for one in found} == {*sources}
    said = [Fate("dropped", source, "", "it is said") for source in (*sources, f"main/x.md#{'0' * 12}")]
    assert list(fewer(both, {f"main/{kept}.md": both[f"main/{kept}.md"]}, said)) == []
    longer = {f"main/{gone}.md": b"One.\n\nShip it.\n", f"main/{kept}.md": b"Ship it.\n"}
    (one,) = fewer(longer, longer | {f"main/{gone}.md": b"One.\n"}, ())
    assert (one.path, one.line) == (f"main/{gone}.md", 3)


@pytest.mark.parametrize(
    ("old", "new", "given"),
    [
        ("Run the linter quickly before commits.", "Run the linter before commits.", 0),
        ("Run the linter before commits.", "Run the formatter before commits.", 1),
        ("Staging is on 8080.\n\nProduction is on 9090.", "Staging is on 9090, production is on 8080.", 2),
        ("Staging is on 8080.\n\nProduction is on 9090.", "Staging is on 8080, production is on 9090.", 0),
        ("run the linter quickly\n\nskip the hooks", "Run the linter, skip the hooks.", 0),
        ("Run [[lint|slow]] first.", "Run [[lint|fast]] first.", 1),
        ("Run [[lint]] first.", "Run [[check]] first.", 0),
        ("Run the linter before commits.", "Run the linter before commits, said Ann.", 0),
    ],
)
def test_what_goes_into_a_claim_that_says_it_otherwise_is_given_up(old: str, new: str, given: int) -> None:
    """Wherever that stands."""
    for name in ("a", "b"):
        before, after = memory(old), memory(new, name=name)
        fates = [Fate("merged", ref(before, part), ref(after, new)) for part in old.split("\n\n")]
        assert len(given_up(before, after, fates)) == given
    before, after = memory("Use port 4000 in staging."), memory("Use the port in staging.")
    newer = Fate("superseded", ref(before, "4000"), ref(after, "Use"), "newer")
    assert len(given_up(before, after, [newer])) == 1, "and what lacks a fact of it"
    around = memory("Hosts are at 9001.", name="b")
    after = memory("Hosts are at 9001.\n\nUse port 4000, hosts are at 9001.", name="b")
    before = memory("Use port 4000.") | around
    newer = Fate("superseded", ref(before, "4000"), ref(after, "Use"), "newer")
    assert given_up(before, after, [newer]) == {}, "what it adds stood beside it"
    before, after = memory("Use port 4000 in staging."), memory("Use the port in staging.")
    newer = Fate("superseded", ref(before, "4000"), ref(after, "Use"), "newer")
    assert given_up(before, after | memory("Use port 4000 in staging.", name="b"), [newer]) == {}


def invented(
    before: dict[str, bytes], after: dict[str, bytes], *fates: Fate, lookup: Lookup | None = None
) -> str:
    found = inventions(
        ReplayedCommit(before, after, fates),
        DreamGround(standing=frozenset(before), lookup=lookup or Lookup()),
    )
    return "; ".join(one.message for one in found)


@pytest.mark.parametrize("see", ["See [[b]]", "- SEE ALSO: [[beta]]"])
@pytest.mark.parametrize(("source", "made_up"), [("a", False), ("c", True)])
def test_a_pointer_stands_where_a_claim_was_that_went_there(source: str, made_up: bool, see: str) -> None:
    before = memory("One.", name="a") | memory("One.", name="c")
    after = memory(f"{see}.", name="a") | {"main/in/b.md": memory("One.", name="beta")["main/beta.md"]}
    old = {path: data for path, data in before.items() if path == f"main/{source}.md"}
    new = {path: data for path, data in after.items() if path == "main/in/b.md"}
    assert bool(invented(before, after, Fate("merged", ref(old, "One"), ref(new, "One")))) is made_up


@pytest.mark.parametrize(
    ("old", "new", "turned"),
    [("[[Beta]]", "[[Gamma]]", True), ("[](b.md)", "[](c.md)", True), ("[[Delta]]", "[[Gamma]]", False)],
)
def test_a_link_to_what_is_there_leads_nowhere_else(old: str, new: str, turned: bool) -> None:
    others = {"main/b.md": named("Beta")["main/a.md"], "main/c.md": named("Gamma")["main/a.md"]}
    before, after = (memory(f"Ask {link} for ports.") | others for link in (old, new))
    fate = Fate("superseded", ref(before, "Ask"), ref(after, "Ask"), "newer")
    assert ("leads elsewhere" in invented(before, after, fate)) is turned


@pytest.mark.parametrize(
    ("reason", "files"),
    [
        (" ".join(f"a/b{number}.py" for number in range(10)), [f"a/b{number}.py" for number in range(8)]),
        ("see docs/ports (x.toml), .env and/or x//y.py", ["docs/ports", "x.toml", "and/or", "y.py"]),
    ],
)
def test_the_files_that_a_reason_names_are_looked_up(reason: str, files: list[str]) -> None:
    asked: list[str] = []
    before, after = memory("The port is 4000."), memory("The port is 4001.")
    fate = Fate("superseded", ref(before, "port"), ref(after, "port"), reason)
    assert "4001" in invented(before, after, fate, lookup=Lookup(code=asked.append))
    assert asked == files


@pytest.mark.parametrize("kind", ["merged", "superseded"])
@pytest.mark.parametrize("new", ["[[b|Ann]]", "[[b#Ann]]", "[[|Ann]]", "[Ann](b.md)"])
def test_what_a_link_shows_has_a_source_like_anything_else(new: str, kind: FateKind) -> None:
    before, after = memory("Ask [[b]] for ports."), memory(f"Ask {new} for ports.")
    assert "the name Ann" in invented(before, after, Fate(kind, ref(before, "Ask"), ref(after, "Ask")))


@pytest.mark.parametrize(("number", "taught"), [(8, True), (9, False)])
def test_so_many_files_that_a_reason_names_are_looked_at(number: int, taught: bool) -> None:
    before, after = memory("The port is 4000."), memory("The port is 4001.")
    reason = " ".join(f"f{n}.py" for n in range(1, 10))
    code = {f"f{number}.py": "port = 4001"}.get
    fate = Fate("superseded", ref(before, "port"), ref(after, "port"), reason)
    assert (invented(before, after, fate, lookup=Lookup(code=code)) == "") is taught


def test_what_an_agent_says_stands_in_its_own_folder() -> None:
    files = {**memory("One."), "other/a.md": memory("Two.")["main/a.md"], LOG: b"- 10:00:00Z [user] Tea.\n"}
    files[LOG.replace("20.md", "19.md")] = b"- 10:00:00Z [user] Milk.\n"
    assert [one.text for one in sources_of(files, "main")] == ["One.", "About it", "Milk.", "Tea."]


def test_one_reason_that_tells_of_a_name_is_proved_whatever_else_went_there() -> None:
    before, after = memory("Use `old`.\n\nUse `new`, said Ann."), memory("Use `new`.")
    fates = [
        Fate("superseded", one, ref(after, "Use"), "newer")
        for one in references(before)
        if one not in references(after)
    ]
    assert invented(before, after, *fates) == ""
    renamed = replace(fates[0], reason="`old` became `new`")
    assert "its name in the code" in invented(before, after, renamed, *fates[1:])
    assert len(given_up(before, after, fates)) == len(given_up(before, after, [renamed, *fates[1:]])) + 1


def test_a_fate_of_what_is_still_there_teaches_nothing() -> None:
    before = memory("Staging is on port 4000.")
    after = before | memory("Use port 4000.", name="b")
    fate = Fate("merged", ref(before, "Staging"), ref(after, "Use"))
    assert "4000" in invented(before, after, fate)
    assert invented(before, {path: after[path] for path in ("main/b.md",)} | memory("x"), fate) == ""


def test_a_pointer_is_no_place_for_what_is_merged_into_it() -> None:
    before = memory("One.", name="a") | memory("Two.", name="c")
    after = memory("See [[b]].", name="a") | memory("One.", name="b")
    (one, two) = (ref(before, word) for word in ("One", "Two"))
    moved = Fate("merged", one, ref(after, "One"))
    assert invented(before, after, moved) == ""
    assert "See" in invented(before, after, moved, Fate("merged", two, ref(after, "See")))
