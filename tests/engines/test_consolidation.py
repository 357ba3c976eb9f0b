"""From a tree that a model left to the changes of a dream: every claim has an account, and none is new."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st
from planted_secrets import GITHUB

from gitmem.core.account import account, path_of, references
from gitmem.core.daily_log import LogLine
from gitmem.core.limits import MEMORY_BYTES
from gitmem.core.memory import parse
from gitmem.dream.proof import prove_plan
from gitmem.engines.consolidation import UnaccountedError, derive_dream, retyped
from gitmem.engines.engine import ConsolidateInput, Consolidation, DreamChange
from gitmem.rules.account import errors


def memory(name: str, said: str, *body: str, type: str = "project") -> bytes:
    text = "\n\n".join(body)
    return f"---\nname: {name}\ndescription: {said}\ntype: {type}\nowner: ann\n---\n\n{text}\n".encode()


MOCKS, REAL, DEPLOY = "main/mocks.md", "main/real.md", "main/deploy.md"
NEVER = "Never mock the Postgres database in integration tests."
WHY = "**Why:** a mock hid a broken migration on 2026-11-04."
FILES = {
    MOCKS: memory("mocks", "Mocks in integration tests", NEVER, WHY),
    REAL: memory(
        "real", "Use the real database", "In integration tests, never mock the Postgres database."
    ),
    DEPLOY: memory(
        "deploy", "How deploys go", "Deploy on Friday with `make ship`.", "The staging host is blue."
    ),
    "main/MEMORY.md": b"- [mocks](mocks.md)\n",
    "main/logs/2026/11/2026-11-04.md": b"- a mock hid a migration\n",
    "main/.tombstones": b"",
    "reviewer/style.md": memory("style", "Style", "Prefer early returns."),
}


def asked(files: dict[str, bytes] = FILES, allowance: int | None = None, **more: Any) -> ConsolidateInput:
    """What a flow gives, with its judge."""

    def judge(changes: Sequence[DreamChange]) -> list[str]:
        said = more.get("said")
        return [*map(str, errors(prove_plan(files, changes, allowance=allowance, said=said)))]

    return ConsolidateInput(
        files, scope="project", now=1_795_000_000.0, allowance=allowance, judge=judge, **more
    )


GIVEN = asked()


def told(*changes: dict[str, Any]) -> str:
    return f"I have looked at it all.\n\n```json\n{json.dumps(changes)}\n```"


def change(*files: str, gone: tuple[dict[str, str], ...] = (), **more: str) -> dict[str, Any]:
    said = {"subject": "Tidy up", "reason": "both say the same", **more}
    return {**said, "files": list(files), "gone": list(gone)}


def gone(
    file: str, claim: str, fate: str, reason: str = "it no longer holds at all", **into: str
) -> dict[str, str]:
    return {"file": file, "claim": claim, "fate": fate, "reason": reason, **into}


def without(*paths: str, **more: bytes) -> dict[str, bytes]:
    return {path: data for path, data in FILES.items() if path not in paths} | more


def edited(path: str, old: str, new: str) -> dict[str, bytes]:
    assert old in FILES[path].decode()
    return {**FILES, path: FILES[path].decode().replace(old, new).encode()}


def only(made: Consolidation) -> DreamChange:
    assert len(made.changes) == 1
    return made.changes[0]


def problem(after: dict[str, bytes], answer: str, given: ConsolidateInput = GIVEN) -> str:
    with pytest.raises(UnaccountedError) as failed:
        derive_dream(given, after, answer)
    return " | ".join(failed.value.problems)


def holds(made: Consolidation, given: ConsolidateInput = GIVEN) -> None:
    """The account from the trees agrees, for each change alone and for all of them."""
    now = dict(given.files)
    for one in made.changes:
        then = {path: data for path, data in ({**now, **one.edits}).items() if data is not None}
        assert not account(now, then, one.fates).unaccounted
        now = then
    fates = [fate for one in made.changes for fate in one.fates]
    assert not account(given.files, now, fates).unaccounted


def test_a_memory_that_another_holds_is_merged_into_it() -> None:
    answer = told(
        change(MOCKS, REAL, gone=(gone(REAL, "Use the real", "dropped", "mocks.md says it better"),))
    )
    made = derive_dream(GIVEN, without(REAL), answer)
    merged = only(made)
    assert (merged.kind, dict(merged.edits)) == ("drop", {REAL: None})
    kinds = {references(FILES)[fate.source].text: fate.kind for fate in merged.fates}
    assert kinds == {
        "In integration tests, never mock the Postgres database.": "merged",
        "Use the real database": "dropped",
    }
    assert merged.subject == "Tidy up" and merged.reason == "both say the same"
    holds(made)


def test_a_claim_that_moves_is_kept_and_both_files_change_together() -> None:
    host = "\n\nThe staging host is blue."
    after = edited(DEPLOY, host, "")
    after["main/staging.md"] = memory("staging", "The staging host", "The staging host is blue.")
    made = derive_dream(GIVEN, after, told(change(DEPLOY), change("memory/project/main/staging.md")))
    moved = only(made)
    assert set(moved.edits) == {DEPLOY, "main/staging.md"}
    assert [(fate.kind, fate.target.split("#")[0]) for fate in moved.fates] == [("kept", "main/staging.md")]
    holds(made)


def test_a_rewording_with_another_fact_needs_the_models_reason() -> None:
    """What the claim said is gone, so a person must be told why."""
    after = edited(DEPLOY, "Deploy on Friday with `make ship`.", "Deploy with `make ship`.")
    assert "lacks the name Friday" in problem(after, told(change(DEPLOY)))
    reason = "the code has no day any more"
    made = derive_dream(
        GIVEN, after, told(change(DEPLOY, gone=(gone(DEPLOY, "Deploy on Friday", "superseded", reason),)))
    )
    assert [(fate.kind, fate.reason) for fate in only(made).fates] == [("superseded", reason)]
    assert only(made).kind == "supersede"
    holds(made)


def test_a_dispute_is_settled_by_the_claim_that_stays() -> None:
    mark = " *(disputed 0123abcd)*"
    both = [f"CI runs on Python 3.11.{mark}", f"CI runs on Python 3.12.{mark}"]
    given = asked({"main/ci.md": memory("ci", "What CI runs on", *both)})
    after = {"main/ci.md": memory("ci", "What CI runs on", "CI runs on Python 3.12.")}
    assert "is gone" in problem(after, told(change("main/ci.md")), given)
    why = gone("ci.md", "CI runs on Python 3.11", "superseded", "the workflow file says 3.12")
    made = derive_dream(
        given,
        after,
        told(change("main/ci.md", gone=({**why, "into_file": "ci.md", "into_claim": "CI runs on"},))),
    )
    assert only(made).kind == "dispute" and [fate.kind for fate in only(made).fates] == ["superseded"]
    holds(made, given)


def test_a_date_beside_a_relative_one_is_no_invention_where_it_is_the_right_one() -> None:
    text = "The freeze began yesterday."
    files = {"main/freeze.md": memory("freeze", "When the freeze began", text)}
    said = {
        ref: datetime(2026, 11, 21, tzinfo=UTC)
        for ref, claim in references(files).items()
        if claim.text == text
    }
    given = asked(files, said=said)
    after = {
        "main/freeze.md": memory(
            "freeze", "When the freeze began", "The freeze began yesterday (2026-11-20)."
        )
    }
    assert [fate.kind for fate in only(derive_dream(given, after, told(change("freeze.md")))).fates] == [
        "merged"
    ]
    wrong = {path: data.replace(b"2026-11-20", b"2026-11-19") for path, data in after.items()}
    assert "2026-11-19" in problem(wrong, told(change("freeze.md")), given)


@pytest.mark.parametrize(
    ("after", "changes", "expected"),
    [
        (without(DEPLOY), [change(DEPLOY)], "is gone, and nothing says where"),
        (without(DEPLOY), [], "no change of the answer names it"),
        (
            edited(DEPLOY, "blue.", "blue.\n\nThe prod host is red."),
            [change(DEPLOY)],
            "nothing before it says",
        ),
        (edited(DEPLOY, "is blue.", "is blue, port 8443."), [change(DEPLOY)], "the number 8443"),
        (edited(DEPLOY, "with `make", "always, never with `make"), [change(DEPLOY)], "a negation"),
        (edited(MOCKS, NEVER, NEVER.replace("Never mock", "Mock")), [change(MOCKS)], "a negation"),
        (edited(DEPLOY, "is blue.", "is  blue."), [change(DEPLOY, reason="")], "gives no reason"),
    ],
)
def test_what_is_not_accounted_for_is_told(
    after: dict[str, bytes], changes: list[Any], expected: str
) -> None:
    assert expected in problem(after, told(*changes))


def test_who_may_see_a_memory_is_no_models_to_decide() -> None:
    made = derive_dream(
        GIVEN, edited(DEPLOY, "type: project\nowner: ann", "type: user"), told(change(DEPLOY))
    )
    assert not made.changes
    said = edited(
        DEPLOY,
        "description: How deploys go\ntype: project\nowner: ann",
        "description: How deploys to staging go",
    )
    data = only(derive_dream(GIVEN, said, told(change(DEPLOY)))).edits[DEPLOY]
    assert data and b"type: project\nowner: ann" in data and b"How deploys to staging go" in data
    after = {**without(DEPLOY), "main/d.md": FILES[DEPLOY].replace(b"type: project", b"type: user")}
    assert "has the type of those" in problem(after, told(change(DEPLOY, "main/d.md")))


@pytest.mark.parametrize(
    "path",
    [
        "main/MEMORY.md", "main/logs/2026/11/2026-11-04.md", "main/.tombstones",
        "main/archive/00/old.md", "reviewer/style.md", "../main/x.md", "README.md", "main/.sub/x.md",
    ],
)  # fmt: skip
def test_what_no_dream_may_write_stays_as_it_was(path: str) -> None:
    """A model that edits only the index has nothing to propose."""
    given = asked(agents=("main",))
    made = derive_dream(given, {**FILES, path: b"- new"}, told(change(path)))
    assert not made.changes and any(path in line for line in made.log)
    gone = derive_dream(given, without(path), told(change(path)))
    assert not gone.changes


def test_a_budget_holds() -> None:
    gives = (
        gone(DEPLOY, "Deploy on", "dropped"),
        gone(DEPLOY, "The staging", "dropped"),
        gone(DEPLOY, "How deploys", "dropped"),
    )
    answer = told(change(DEPLOY, gone=gives))
    assert len(only(derive_dream(GIVEN, without(DEPLOY), answer)).fates) == 3
    blank = {**FILES, DEPLOY: b" \n"}
    assert only(derive_dream(GIVEN, blank, answer)).edits == {DEPLOY: None}, "nothing is left of it"
    few = asked(allowance=2)
    assert "it drops or supersedes 3 claims: 2 are allowed" in problem(without(DEPLOY), answer, few)


def test_changes_that_have_nothing_to_do_with_one_another_stay_apart() -> None:
    after = edited(MOCKS, NEVER, "Never mock the Postgres database in any integration tests.")
    after[DEPLOY] = FILES[DEPLOY].replace(b"host is blue", b"host is: blue")
    made = derive_dream(GIVEN, after, told(change(DEPLOY, subject="One"), change(MOCKS, subject="Two")))
    assert [one.subject for one in made.changes] == ["One", "Two"]
    shared = derive_dream(
        GIVEN, after, told(change(DEPLOY, MOCKS, subject="One"), change(MOCKS, subject="Two"))
    )
    assert only(shared).subject == "One; Two" and set(only(shared).edits) == {DEPLOY, MOCKS}
    holds(made)


def test_a_remark_is_for_the_person() -> None:
    made = derive_dream(GIVEN, FILES, told(change(subject="Two hosts", reason="which one is it?")))
    assert not made.changes and made.notes == ()
    after = edited(DEPLOY, "is blue", "is: blue")
    made = derive_dream(
        GIVEN, after, told(change(DEPLOY), change(subject="Two hosts", reason="which one is it?"))
    )
    assert made.notes == ("model: Two hosts: which one is it?",)


LINED = "main/logs/2026/11/2026-11-20.md"


def lined(count: int) -> ConsolidateInput:
    when = datetime(2026, 11, 20, tzinfo=UTC)
    lines = {
        f"{LINED}#{n:012}": LogLine(when, "project", "", f"Fact {n} {'x' * 120}") for n in range(count)
    }
    return asked(lines=lines)


@pytest.mark.parametrize(("count", "told_of", "more"), [(0, 0, 0), (20, 20, 0), (22, 20, 2)])
def test_lines_that_nothing_was_made_of_are_named(count: int, told_of: int, more: int) -> None:
    notes = derive_dream(lined(count), FILES, "").notes
    assert len(notes) == told_of + bool(more) and notes[told_of:] == (f"left: {more} more",) * bool(more)
    if count:
        first = f"left: {LINED}#{0:012}: the model made no memory of it: “Fact 0 {'x' * 92}…”"
        assert notes[0] == first


def test_who_is_told_of_many_problems_is_told_how_many_there_are() -> None:
    assert str(UnaccountedError("It", ("one",))) == "It does not account for what it changed: one"
    assert UnaccountedError("It", ("one", "b", "c")).message.endswith(": one (and 2 more)")
    assert GITHUB not in UnaccountedError("It", (f"The token is {GITHUB}", "b")).message
    files = {f"main/m{n:02}.md": memory(f"m{n}", "A", f"Fact {n}.") for n in range(62)}
    with pytest.raises(UnaccountedError) as failed:
        derive_dream(asked(files), {}, told())
    assert len(failed.value.problems) == 61 and failed.value.problems[60] == "and 126 more problems"
    few = {path: files[path] for path in [*files][:30]}
    with pytest.raises(UnaccountedError) as failed:
        derive_dream(asked(few), {}, told(*(change(path) for path in few)))
    assert len(failed.value.problems) == 60


@pytest.mark.parametrize(
    ("told_as", "found"),
    [
        (f" `{DEPLOY}` ", True),
        (f"memory/project/{DEPLOY}", True),
        (f"/tmp/x/memory/{DEPLOY}", True),
        (f"project/{DEPLOY}", True),
        (f"./{DEPLOY}", True),
        ("main\\deploy.md", True),
        ("deploy.md", True),
        ("other/deploy.md", False),
        ("style.md", False),
    ],
)
def test_a_path_is_known_as_the_model_was_shown_it(told_as: str, found: bool) -> None:
    after = edited(DEPLOY, "is blue.", "is: blue.")
    if found:
        assert set(only(derive_dream(GIVEN, after, told(change(told_as)))).edits) == {DEPLOY}
    else:
        assert "no change of the answer names it" in problem(after, told(change(told_as)))
    twice = {**FILES, "reviewer/deploy.md": FILES[DEPLOY]}
    both = {**twice, DEPLOY: after[DEPLOY], "reviewer/deploy.md": after[DEPLOY]}
    if told_as == "deploy.md":
        assert "names it" in problem(both, told(change(told_as)), asked(twice))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"x" * (MEMORY_BYTES + 1), f"it is larger than {MEMORY_BYTES:,} bytes"),
        (b"\xff", "it is no UTF-8"),
        (b"a\0b", "it is no text"),
    ],
)
def test_what_can_be_no_memory_stays_as_it_was(data: bytes, why: str) -> None:
    made = derive_dream(GIVEN, {**FILES, DEPLOY: data}, "")
    assert made.changes == () and made.log == (f"{DEPLOY}: {why}; it stays as it was",)


def test_a_memory_of_blanks_is_gone_and_no_remark_comes_without_end() -> None:
    assert "is gone, and nothing says where" in problem({**FILES, DEPLOY: b" \n"}, told(change(DEPLOY)))
    after = edited(DEPLOY, "is blue.", "is  blue.")
    remarks = [change(subject=f"Remark {n}") for n in range(22)]
    assert len(derive_dream(GIVEN, after, told(change(DEPLOY), *remarks)).notes) == 20
    made = only(derive_dream(GIVEN, after, told(change(DEPLOY, subject=""), change(DEPLOY, subject=""))))
    assert (made.subject, made.kind, made.reason) == ("Consolidate deploy", "tidy", "both say the same")
    made = only(derive_dream(GIVEN, after, told(change(DEPLOY, subject=""), change(DEPLOY, subject="X"))))
    assert made.subject == "X"
    made = only(derive_dream(GIVEN, after, told(change(DEPLOY, reason=""), change(DEPLOY))))
    assert made.reason == "both say the same"
    alone = derive_dream(asked(agents=("main",)), after, told(change(DEPLOY)))
    assert set(only(alone).edits) == {DEPLOY}, "it is one of the agent's own"


def test_what_goes_into_a_claim_that_stood_there_is_a_change_of_its_own() -> None:
    """A file in a folder is found by its name alone, too."""
    after = without(REAL)
    after[MOCKS] = FILES[MOCKS].replace(b"a mock hid", b"a  mock hid")
    why = gone(REAL, "Use the real", "dropped", "mocks.md says it better")
    made = derive_dream(GIVEN, after, told(change(REAL, gone=(why,)), change(MOCKS, reason="blanks")))
    assert [set(one.edits) for one in made.changes] == [{REAL}, {MOCKS}]
    nested = {**FILES, "main/topic/t.md": memory("t", "T", "Tea is green.")}
    then = {**nested, "main/topic/t.md": memory("t", "T", "Tea is  green.")}
    assert set(only(derive_dream(asked(nested), then, told(change("t.md")))).edits) == {"main/topic/t.md"}


A, B = "main/a.md", "main/b.md"
USER, PLAIN = memory("u", "U", "U.", type="user"), memory("p", "P", "P.")


@pytest.mark.parametrize(
    ("before", "after", "heard", "found"),
    [
        ({A: PLAIN}, {A: PLAIN, B: PLAIN}, (), 0),
        ({A: PLAIN}, {B: USER}, (), 1),
        ({A: PLAIN}, {B: USER}, ("user",), 0),
        ({}, {B: USER}, (), 0),
        ({A: PLAIN}, {A: USER}, (), 0),
        ({A: PLAIN}, {}, (), 0),
        ({A: USER}, {B: b"P.\n"}, (), 2),
        ({}, {B: b"P.\n"}, (), 1),
        ({A: PLAIN}, {B: PLAIN.replace(b"description: P", b"description:")}, (), 1),
        ({A: PLAIN}, {B: PLAIN.replace(b"name: p", b"name:")}, (), 1),
    ],
)
def test_a_new_memory_has_a_header_and_the_type_of_what_it_is_made_of(
    before: dict[str, bytes], after: dict[str, bytes], heard: tuple[str, ...], found: int
) -> None:
    assert len(retyped(before, after, [A, B], heard)) == found


def test_the_types_that_a_new_memory_may_have_are_told_in_order() -> None:
    (told,) = retyped({}, {B: USER}, [B], ("project", "reference", "feedback"))
    assert told.endswith("(feedback, project, reference)")


@pytest.mark.parametrize(
    ("changes", "told_of"),
    [
        ([change(REAL)], True),
        ([change(REAL, MOCKS)], False),
        ([change(REAL), change(MOCKS)], True),
        ([change(REAL, gone=(gone(REAL, NEVER, "merged"),))], False),
        ([change(REAL, gone=(gone(REAL, "Use the", "dropped", into_file=MOCKS),))], False),
    ],
)
def test_a_claim_that_stood_twice_goes_once_where_both_are_named(
    changes: list[dict[str, Any]], told_of: bool
) -> None:
    files = {**FILES, REAL: memory("real", "Use the real database", "Stays.", NEVER)}
    after = {**files, REAL: memory("real", "Use the real database", "Stays.")}
    if told_of:
        assert f"is in {MOCKS}, too: name both files" in problem(after, told(*changes), asked(files))
    else:
        assert only(derive_dream(asked(files), after, told(*changes))).kind == "move"


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=20)
    | st.sampled_from([DEPLOY, "dropped", "merged"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "subject", "reason", "files", "gone", "file", "claim", "fate", "into_file",
                    "into_claim", "x",
                ]
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=30,
)  # fmt: skip


@drawn(_JSON)
def test_no_answer_makes_a_traceback_or_loses_a_claim(value: Any) -> None:
    answer = f"```json\n{json.dumps(value)}\n```"
    try:
        made = derive_dream(GIVEN, without(DEPLOY), answer)
    except UnaccountedError:
        return
    holds(made)
    assert made.changes


_OWN = {path: [claim.text for claim in parse(path, FILES[path]).claims] for path in (MOCKS, REAL, DEPLOY)}
_PATHS = (*_OWN, "main/new.md")
NEW, SHORT = "The prod host is green.", "Mock it."
_TEXTS = [*(text for texts in _OWN.values() for text in texts), NEW, SHORT]
_BODY = st.lists(st.sampled_from(_TEXTS), max_size=4, unique=True)


@st.composite
def _works(draw: st.DrawFn) -> tuple[dict[str, bytes], list[dict[str, Any]]]:
    """A tree made of the claims there are and of two more, and an account of it, true or not."""
    after = dict(FILES)
    for path in draw(st.lists(st.sampled_from(_PATHS), unique=True, min_size=1)):
        own = draw(st.lists(st.sampled_from(_OWN.get(path, _TEXTS)), unique=True))
        texts = [*own, *draw(st.one_of(st.just([]), _BODY))]
        after.pop(path, None)
        if texts:
            after[path] = memory("x", texts[-1], *texts[:-1])
    fate = st.tuples(
        st.sampled_from(["dropped", "dropped", "superseded", "merged", "kept"]),
        st.sampled_from(_PATHS),
        st.sampled_from(["", *_TEXTS]),
    )
    gives = {
        path: [
            gone(path, text, kind, into_file=into, into_claim=claim)
            for text in texts
            for kind, into, claim in [draw(fate)]
        ]
        for path, texts in _OWN.items()
    }
    apart = [change(path, gone=tuple(gives.get(path, ()))) for path in _PATHS]
    whole = change(*_PATHS, gone=tuple(one for path in gives for one in gives[path]))
    return after, draw(st.sampled_from([apart, [whole]]))


@drawn(_works())
def test_whatever_a_model_does_and_says_no_claim_is_lost(
    work: tuple[dict[str, bytes], list[dict[str, Any]]],
) -> None:
    """It is taken with a true account, or not at all."""
    after, answer = work
    try:
        made = derive_dream(GIVEN, after, told(*answer))
    except UnaccountedError as problem:
        assert all(problem.problems)
        return
    holds(made)
    known = {claim.key for claim in references(FILES).values()}
    now = dict(FILES)
    for one in made.changes:
        now = {path: data for path, data in ({**now, **one.edits}).items() if data is not None}
    made_up = {path_of(ref) for ref, claim in references(now).items() if claim.key not in known}
    # All that the short one says is a word of two memories on mocks. There, or in one that takes claims of
    # them in, it may be the abstract; nowhere else, and the other nowhere.
    takes = {
        path_of(fate.target)
        for one in made.changes
        for fate in one.fates
        if path_of(fate.source) in (MOCKS, REAL)
    }
    assert made_up <= {MOCKS, REAL, *takes}
    assert not any(claim.key == NEW for claim in references(now).values())
    assert {path for path in {*now, *FILES} if now.get(path) != FILES.get(path)} <= set(_PATHS)
