"""What a request takes out of an index that people wrote, line by line."""

from __future__ import annotations

import pytest

from gitmem.core.account import references
from gitmem.core.trailers import Fate, Provenance, format_message
from gitmem.rules.losses import judge_losses
from gitmem.rules.rule import PLAIN, File, Finding, Revision, RuleContext, Side, compare, side_of

HEAD = "---\nname: {0}\ndescription: About {0}\ntype: project\n---\n\n{1}\n"
MEMORIES = {f"main/{name}.md": HEAD.format(name, f"{name.upper()} is a fact.") for name in "ab"}


def state(*lines: str, **more: str) -> Side:
    files = MEMORIES | {"main/MEMORY.md": "".join(f"{line}\n" for line in lines)}
    files |= {f"main/{name}.md": text for name, text in more.items()}
    return side_of({path: text.encode() for path, text in files.items()})


def losses(before: Side, after: Side, *revisions: Revision) -> list[Finding]:
    known = compare(before, after, RuleContext(revisions=revisions))
    return [one for one in judge_losses(before, after, known) if one.rule != "loss"]


A, B = "- [a](a.md) \u2014 About a", "- [b](b.md) \u2014 About b"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ([A, B], [A], []),
        ([A, "So it is."], [A], [(2, "claim dropped: So it is.")]),
        ([A, "Ask Ann first."], [A], [(2, "claim dropped: Ask Ann first.")]),
        (
            ["", A, "- [a](a.md): ports are 4000"],
            ["", A],
            [(3, "claim dropped: - [a](a.md): ports are 4000")],
        ),
        (
            [A, "- [a](a.md): ports are 4000", "- [a](a.md): Ann knows"],
            [A, "- [a](a.md): ports are 5000", "- [a](a.md): Ben knows"],
            [
                (2, "claim replaced: - [a](a.md): ports are 4000, with - [a](a.md): ports are 5000"),
                (3, "claim replaced: - [a](a.md): Ann knows, with - [a](a.md): Ben knows"),
            ],
        ),
        (["- [a](a.md): ports are 4000"], ["- [a](a.md): all ports are 4000"], []),
        (
            ["- [a](a.md): ports are 4000", "- [a](a.md): all ports are 4000"],
            ["- [a](a.md): all ports are 4000"],
            [(1, "claim dropped: - [a](a.md): ports are 4000")],
        ),
        (["- [a](a.md): A is a fact."], [A], []),
    ],
)
def test_a_line_that_somebody_wrote_is_told_where_no_other_says_it(
    old: list[str], new: list[str], told: list[tuple[int, str]]
) -> None:
    found = losses(state(*old), state(*new))
    assert [(one.line, one.message) for one in found] == told
    assert {(one.path, one.level, one.commit) for one in found} <= {("main/MEMORY.md", "notice", "")}
    assert all(one.claim.startswith("main/MEMORY.md#") for one in found)


def test_who_took_it_out_is_named_with_the_reason() -> None:
    before, after = state(A, "Ask Ann first."), state(A)
    sides = [{"main/MEMORY.md": side.files["main/MEMORY.md"]} for side in (before, after)]
    one = Revision("1" * 40, ("Ann Lee <a@x>", "Ben <b@x>"), "Tidy\n", (sides[0],), sides[1])
    (found,) = losses(before, after, one)
    assert found.message == "claim dropped by Ann Lee: Ask Ann first. (111111111111)"
    assert (found.rule, found.level, found.commit) == ("dropped", "notice", "1" * 40)
    merge = Revision("1" * 40, (), "Merge\n", ({}, {}), {})
    (found, *_) = losses(state(x=HEAD.format("x", "One.")), state(), merge)
    assert (found.rule, found.level, found.commit) == ("account", "error", "")


def test_an_index_that_goes_takes_its_lines_along() -> None:
    after = side_of({path: text.encode() for path, text in MEMORIES.items()})
    assert [one.message for one in losses(state(A, "Ask Ann first."), after)] == [
        "claim dropped: Ask Ann first."
    ]


def test_an_index_that_cannot_be_judged_loses_nothing() -> None:
    large = Side({"main": {"MEMORY.md": File(PLAIN, "x", 1_000_000, b"- x\n")}}, {})
    assert not [one for one in losses(state(A, "Ask Ann first."), large) if "Ask Ann" in one.message]
    snapshot = Side(large.folders, {}, snapshots=True)
    assert (
        [*judge_losses(state(A), snapshot, RuleContext())]
        == [*judge_losses(None, large, RuleContext())]
        == []
    )


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "Ports start at 4000.",
            "Ports start at 5000.",
            ["replaced: Ports start at 4000., with Ports start at 5000."],
        ),
        ("Ports start at 4000.", "All ports start at 4000.", []),
        ("Ports start at 4000.\n\nAnn knows.", "Ann knows.", ["dropped: Ports start at 4000."]),
        ("Ports start at 4000.", "Ann knows.", ["replaced: Ports start at 4000., with Ann knows."]),
        (
            "- Ports start at 4000.\n- Ports start at 4000.",
            "- Ports start at 5000.\n- Ports start at 4000.",
            [],
        ),
    ],
)
def test_a_claim_that_goes_is_told_with_what_stands_in_its_place(
    old: str, new: str, told: list[str]
) -> None:
    """One that stands on elsewhere is not lost."""
    before, after = (state(x=HEAD.format("x", text)) for text in (old, new))
    found = losses(before, after)
    assert [one.message for one in found] == [f"claim {what}" for what in told]
    assert {(one.path, one.line, one.level) for one in found} <= {("main/x.md", 7, "notice")}


def test_a_claim_that_another_memory_of_the_request_says_is_replaced_nowhere() -> None:
    before = state(x=HEAD.format("x", "Ports start at 4000."), y=HEAD.format("y", "Ports start at 4000."))
    after = state(x=HEAD.format("x", "Ann knows."), y=HEAD.format("y", "Ports start at 4000.\n\nAsk Ben."))
    assert losses(before, after) == []


def test_what_a_commit_says_of_a_claim_comes_before_what_stands_in_its_place() -> None:
    before, after = (
        state(x=HEAD.format("x", text)) for text in ("Ports start at 4000.", "Ports start at 5000.")
    )
    sides = [{"main/x.md": side.files["main/x.md"]} for side in (before, after)]
    (gone,) = (ref for ref, one in references(before.contents).items() if "4000" in one.text)
    said = Provenance("dream", claims=(Fate("dropped", gone, "", "moved out"),))
    one = Revision("1" * 40, ("Ann <a@x>",), format_message("Tidy", said), (sides[0],), sides[1])
    (found,) = losses(before, after, one)
    assert found.message == "claim dropped by Ann: Ports start at 4000. (111111111111): moved out"


def test_what_a_memory_says_that_no_request_touches_accounts_for_no_loss() -> None:
    before, after = state(A, B, c=HEAD.format("c", "A is a fact.")), state(A, B)
    assert [one.message for one in losses(before, after)] == [
        "claim dropped: A is a fact.",
        "claim dropped: About c",
    ]
