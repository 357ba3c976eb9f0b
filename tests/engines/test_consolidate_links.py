"""What the offline engine repairs besides duplicates: links, disputes, index lines; and where it stops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import pytest
from dream_score import made_of

from gitmem.core.account import references, reject_keys
from gitmem.core.limits import INDEX_BYTES, INDEX_LINES, MEMORY_BYTES
from gitmem.core.memory import create
from gitmem.core.tombstone import FILE, bury
from gitmem.core.trailers import Fate
from gitmem.dream.proof import prove_plan
from gitmem.engines import engine
from gitmem.engines.offline import OfflineEngine, duplicates


def memories(**bodies: str) -> dict[str, bytes]:
    """Memories of `main`: name (`_` for `-`) to body."""
    return {
        f"main/{name.replace('_', '-')}.md": create(
            name.replace("_", "-"), "Rules of ours", "project", body, "x.md"
        ).render()
        for name, body in bodies.items()
    }


def consolidated(files: Mapping[str, bytes], **more: object) -> tuple[engine.Consolidation, dict[str, str]]:
    """What the engine makes of a tree, and the bodies afterwards, by file stem."""
    made, left = made_of(files, **more)
    assert not any(path.endswith("MEMORY.md") for change in made.changes for path in change.edits)
    return made, {
        path.removeprefix("main/").removesuffix(".md"): data.decode().partition("---\n\n")[2].strip()
        for path, data in left.items()
    }


OTHERS = {
    "tagging_by_hand": "Two people look.",
    "shipping_by_boat": "It is slow.",
    "shipping_by_air": "It is dear.",
}


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("See [[deploys]] for it.", "See [[release-process]] for it."),
        ("See [[Deploys|the rules]] for it.", "See [[release-process|the rules]] for it."),
        ("See [[deploys#tags]] for it.", "See [[release-process#tags]] for it."),
        ("See [rules](deploys.md) for it.", "See [rules](release-process.md) for it."),
        ("See [rules](./deploys.md#tags) for it.", "See [rules](release-process.md#tags) for it."),
        ("See [[older]] for it.", "See [[release-process]] for it."),
        ("See [[gone]] for it.", "See gone for it."),
        ("See [[gone|the old way]] for it.", "See the old way for it."),
        ("See [the old way](gone.md) for it.", "See the old way for it."),
        ("See [[relese-process]] for it.", "See [[release-process]] for it."),
        ("See [[feedback_release_process]] for it.", "See [[release-process]] for it."),
        ("See [[tagging-by]] for it.", "See [[tagging-by-hand]] for it."),
        ("See [[shipping-by]] for it.", ""),
        ("See `[[gone]]` and `[x](gone.md)` for it.", ""),
        ("See [the docs](README.md) and [more](docs/deploys.md).", ""),
        ("See ![a picture](gone.md) of it.", ""),
    ],
)
def test_links_follow_the_history_of_names(text: str, after: str) -> None:
    renamed = {"deploys": "release-process", "older": "deploys", "gone": ""}
    made, found = consolidated(
        memories(hint=text, release_process="Tag it by hand.", **OTHERS), renamed=renamed
    )
    assert found["hint"] == (after or text)
    assert [change.kind for change in made.changes] == (["link"] if after else [])
    assert all(fate.kind == "superseded" for change in made.changes for fate in change.fates)


def test_a_link_that_never_led_anywhere_is_told_once() -> None:
    made, _ = consolidated(
        memories(aa="See [[todo-later]].", bb="Read [[todo-later]].", cc="And [[todo-later]].")
    )
    assert made.changes == ()
    assert [note for note in made.notes if "todo-later" in note] == [
        "link: [[todo-later]] in aa and 2 more leads to no memory"
    ]


def test_a_dispute_is_settled_where_one_side_says_all_and_told_where_none_does() -> None:
    marked = "*(disputed 0123abcd)*"
    body = f"Tag releases by hand. {marked}\n\nTag releases by hand. Ann pushes the tag. {marked}"
    made, found = consolidated(memories(releases=body))
    assert [change.kind for change in made.changes] == ["dispute"]
    assert found["releases"] == "Tag releases by hand. Ann pushes the tag."
    body = f"Ann tags the releases. {marked}\n\nBen tags the releases. {marked}"
    made, found = consolidated(memories(releases=body))
    assert made.changes == () and found["releases"] == body
    (note,) = (note for note in made.notes if note.startswith("dispute:"))
    assert note.count("main/releases.md#") == 2
    names = tuple(ref for ref, claim in references(memories(releases=body)).items() if claim.dispute)
    for kind, told in (("dispute", 0), ("code", 1)):
        observed = (engine.Observation(kind, "It is told", names),)
        made, _ = consolidated(memories(releases=body), observed=observed)
        assert sum(note.startswith("dispute: releases") for note in made.notes) == told


def test_a_day_is_put_beside_each_relative_date() -> None:
    files = memories(build="It broke yesterday.\n\nIt is slow.")
    (broke,) = (ref for ref, claim in references(files).items() if claim.text == "It broke yesterday.")
    made, found = consolidated(files, said={broke: datetime(2026, 11, 20, 9, tzinfo=UTC)})
    (change,) = made.changes
    assert (change.kind, change.subject) == ("date", "Date what build says")
    assert change.reason == "“yesterday” is 2026-11-19: said on 2026-11-20."
    assert found["build"] == "It broke yesterday (2026-11-19).\n\nIt is slow."


LONG = "ask Ann before each release, since the mirror in Oslo at mirror.example.com is rebuilt at 18:30"


def _listed(hook: str) -> dict[str, bytes]:
    line = f"- [release-process](release-process.md) — {hook}, {LONG}, and nobody looks\n"
    return memories(release_process="Tag it by hand.") | {"main/MEMORY.md": line.encode()}


def test_what_an_overlong_index_line_alone_says_becomes_a_claim() -> None:
    files = _listed("tag by hand")
    made, found = consolidated(files)
    assert [change.kind for change in made.changes] == ["index"]
    assert found["release-process"] == f"Tag it by hand.\n\ntag by hand, {LONG}, and nobody looks"
    again, _ = consolidated(
        {path: data for change in made.changes for path, data in change.edits.items() if data}
    )
    assert again.changes == ()
    # Once rejected it does not come back, nor does what a person forgot.
    (key,) = reject_keys(made.changes[0].fates, ())
    for buried in (
        bury(key, "00ff00ff00ff00ff", "2026-11-20", "rejected"),
        bury(f"tag by hand, {LONG}, and nobody looks", "00ff00ff00ff00ff", "2026-11-20", "forgot"),
    ):
        made, _ = consolidated(files | {f"main/{FILE}": f"{buried.line()}\n".encode()})
        assert made.changes == ()


def test_an_index_line_that_sums_up_or_would_be_too_much_moves_nothing() -> None:
    files = _listed("tag by hand")
    made, _ = consolidated(files | memories(release_process=f"Tag by hand.\n\nAlso {LONG}: it is slow."))
    assert made.changes == ()
    files = _listed("tag by hand") | memories(release_process="x" * (MEMORY_BYTES - 150))
    made, _ = consolidated(files)
    assert made.changes == ()


def test_of_an_index_line_the_clause_alone_is_kept_that_its_memory_does_not_say() -> None:
    files = memories(release_process="Tag the release by hand, since the robot signs nothing.")
    line = "release tags are made by hand because the robot signs nothing"
    note = "NOTE: the changelog step was superseded in autumn"
    files["main/MEMORY.md"] = (
        f"- [release-process](release-process.md) — {line} — {note} {'.' * 60}\n".encode()
    )
    _, found = consolidated(files)
    assert found["release-process"].endswith(f"\n\n{note}")


TWICE = "Never mock the database in integration tests."


def test_what_would_give_up_more_than_is_allowed_waits_and_is_told_once() -> None:
    """Markdown links count: another file is another path. Where `[[x]]` leads is no part of a claim."""
    bodies = {f"hint_{letter}": f"See [the {letter} rules](gone.md) for it." for letter in "abcd"}
    files = memories(**bodies, more="See [[lost]] for it.", tests=TWICE, mocks=TWICE)
    made, _ = consolidated(files, renamed={"gone": "", "lost": ""}, allowance=2)
    assert sorted(change.kind for change in made.changes) == ["link", "link", "link", "merge"]
    assert len([note for note in made.notes if "may be dropped or superseded" in note]) == 1
    made, _ = consolidated(files, renamed={"gone": "", "lost": ""})
    assert [change.kind for change in made.changes].count("link") == 5


def test_a_dream_proposes_no_more_than_a_person_reviews() -> None:
    files = memories(**{f"hint_{number}": "See [[gone]] once." for number in range(engine.MOST + 5)})
    made, _ = consolidated(files, renamed={"gone": ""}, most=engine.MOST)
    assert len(made.changes) == engine.MOST
    assert len([note for note in made.notes if "waits for another" in note]) == 1


def test_what_the_flow_would_refuse_is_left_out_and_told() -> None:
    """One memory that a search would no longer find must not stop every dream of a scope."""
    files = memories(tests=TWICE, mocks=TWICE, hint="See [[gone]] for it.")

    def judge(changes: Sequence[engine.DreamChange]) -> list[str]:
        return [
            f"{path}: is not found" for change in changes for path in change.edits if path != "main/hint.md"
        ]

    free, _ = consolidated(files, renamed={"gone": ""})
    made, _ = consolidated(files, renamed={"gone": ""}, judge=judge)
    assert {change.kind for change in free.changes} == {"merge", "link"}
    assert [change.kind for change in made.changes] == ["link"]
    refused = [note for note in made.notes if note.startswith("refused:")]
    assert refused and all(note.endswith(".md: is not found") for note in refused)
    assert made.log
    nothing, _ = consolidated(files, renamed={"gone": ""}, judge=lambda _: ["too much"])
    assert nothing.changes == () and nothing.log == ("too much",)
    assert "refused: nothing can be proposed: too much" in nothing.notes


def test_what_was_observed_is_passed_on() -> None:
    files = memories(aa="Ann owns the mirror in Oslo.")
    claim = next(iter(references(files)))
    made, _ = consolidated(
        files, observed=(engine.Observation("code", "src/gone.py is not in the code", (claim,)),)
    )
    assert f"code: src/gone.py is not in the code ({claim})" in made.notes
    many = (
        *(engine.Observation("code", f"src/{n}.py: gone") for n in range(22)),
        engine.Observation("log", "x"),
    )
    made, _ = consolidated(files, observed=(*many, many[0]))
    assert [note for note in made.notes if note.startswith(("code", "log"))] == [
        *(f"code: src/{n}.py: gone" for n in range(20)), "code: 2 more", "log: x",
    ]  # fmt: skip


def test_a_claim_whose_code_a_commit_took_is_asked_about() -> None:
    files = memories(aa="Uploads retry in `src/gone.py` three times.\n\nAnn owns the mirror in Oslo.")
    claim = next(iter(references(files)))
    fact = "`src/gone.py` is gone since 1234567ab, 2026-11-02"
    made = OfflineEngine().consolidate(
        engine.ConsolidateInput(
            files, observed=(engine.Observation("code", f"main/aa.md: {fact}", (claim,)),)
        )
    )
    (question,) = made.changes
    assert not any(note.startswith("code:") for note in made.notes), "what is asked is not told again"
    assert question.kind == "question" and fact in question.reason
    assert question.fates == (Fate("dropped", claim, "", fact),)
    body = (question.edits["main/aa.md"] or b"").decode()
    assert "gone.py" not in body and "Ann owns the mirror" in body
    alone = memories(aa="Uploads retry in `src/gone.py` three times.")
    made, _ = consolidated(alone, observed=(engine.Observation("code", f"main/aa.md: {fact}", (claim,)),))
    assert made.changes == (), "nothing would be left of it"


def test_names_that_the_code_has_otherwise_now_are_put_in_their_place_at_once() -> None:
    """All claims of a memory in one change, which gives up nothing; who tells of the change is left."""
    text = (
        "Ship with `bin/ship.sh` on Fridays.\n\n"
        "Rows come from `load_rows()`, not from `load_rows_all()`.\n\n"
        "`bin/ship.sh` was put to `tools/ship.sh` in spring."
    )
    files = memories(aa=text)
    refs = tuple(references(files))
    facts = (
        (
            "`bin/ship.sh` moved to `tools/ship.sh` since 1234567ab, 2026-11-02",
            "bin/ship.sh",
            "tools/ship.sh",
        ),
        ("`load_rows()` became `read_rows()` since 2345678ab, 2026-11-03", "load_rows()", "read_rows()"),
    )
    observed = tuple(
        engine.Observation("code", f"main/aa.md: {fact}", refs, ((old, now),)) for fact, old, now in facts
    )
    given = engine.ConsolidateInput(files, observed=observed, allowance=0)
    (change,) = OfflineEngine().consolidate(given).changes
    after = (change.edits["main/aa.md"] or b"").decode()
    assert "Ship with `tools/ship.sh` on Fridays." in after
    assert "from `read_rows()`, not from `load_rows_all()`" in after and "`bin/ship.sh` was put to" in after
    assert {fate.kind for fate in change.fates} == {"superseded"} and len(change.fates) == 2
    assert change.reason == "; ".join(fact for fact, _, _ in facts)
    assert prove_plan(files, [change], names=given.names, allowance=0) == ()
    # Where no code is, as in CI of memory alone, a person may answer for it; elsewhere the code says no.
    assert [one.rule for one in prove_plan(files, [change])] == ["unseen", "unseen"]
    assert [one.rule for one in prove_plan(files, [change], names=lambda *_: {})] == ["invented"] * 2


def test_no_reason_that_a_model_gives_makes_a_name_of_another() -> None:
    """Also where the other is known, and nothing new is said: what goes would cost nothing."""
    files = memories(aa="Use port 80 there.\n\nUse port 90 here.")
    changed = memories(aa="Use port 90 there.\n\nUse port 90 here.")
    (old,) = set(references(files)) - set(references(changed))
    (new,) = set(references(changed)) - set(references(files))
    fates = (Fate("superseded", old, new, "`80` became `90`"),)
    change = engine.DreamChange("code", changed, fates, fates[0].reason, "Say 90")
    assert [one.rule for one in prove_plan(files, [change], names=lambda *_: {}, allowance=0)] == [
        "invented"
    ]
    assert [one.rule for one in prove_plan(files, [change], allowance=0)] == ["unseen"]
    proved = prove_plan(files, [change], names=lambda *_: {"80": "90"}, allowance=0)
    assert proved == ()


@pytest.mark.parametrize("over", [False, True])
def test_what_is_over_its_limit_or_listed_wrongly_is_told(over: bool) -> None:
    """Lines that lead into folders are a daily log's, or a person's."""
    lines = ["- [aa](aa.md) — A", "- [gone](gone.md) — G", "- [log](logs/2026/11/2026-11-20.md) — L"]
    lines += ["- a remark"] * (INDEX_LINES - len(lines) + over)
    files = memories(aa="A.", bb="B.") | {"main/MEMORY.md": "\n".join([*lines, ""]).encode()}
    big = (files["main/aa.md"] + b"x" * (MEMORY_BYTES + over - len(files["main/aa.md"]) - 1)) + b"\n"
    made, _ = consolidated(files | {"main/aa.md": big})
    limits = [
        f"limit: aa has {MEMORY_BYTES + 1:,} bytes, the limit is {MEMORY_BYTES:,}",
        f"limit: the index of main is over {INDEX_LINES} lines or {INDEX_BYTES:,} bytes",
    ]
    assert [note for note in made.notes if note.startswith(("limit", "index"))] == [
        "index: gone.md in the index of main leads to no memory",
        "index: bb.md of main has no line in the index",
        *(limits if over else []),
    ]


@pytest.mark.parametrize(
    ("text", "said", "note"),
    [
        ("It broke yesterday.", None, "“yesterday” in build was said nobody knows when"),
        ("It breaks every other week.", datetime(2026, 11, 20, 9, tzinfo=UTC), ""),
        ("It broke last week.", datetime(2026, 11, 20, 9, tzinfo=UTC), "“last week” in build is unclear"),
    ],
)
def test_a_date_that_nobody_can_tell_is_left_to_a_person(
    text: str, said: datetime | None, note: str
) -> None:
    files = memories(build=text)
    days = dict.fromkeys(references(files), said) if said else {}
    made, _ = consolidated(files, said=days)
    assert made.changes == ()
    assert [one for one in made.notes if one.startswith("date")] == ([f"date: {note}"] if note else [])


def test_each_phase_is_told_with_the_files_changed_so_far() -> None:
    steps: list[engine.DreamProgress] = []
    files = memories(tests=TWICE, mocks=TWICE, hint="See [[gone]] for it.")
    OfflineEngine().consolidate(engine.ConsolidateInput(files, renamed={"gone": ""}), steps.append)
    assert [step.phase for step in steps] == ["consolidate", "consolidate", "prune", "prune"]
    assert steps[0].files == () and steps[1].files == ("main/hint.md",)
    assert len(steps[-1].files) == 2


def test_a_dream_that_is_full_makes_no_change_that_it_has_no_room_for(monkeypatch) -> None:
    """Anybody's memory may say one thing thousands of times, and each change reads all of it anew."""
    tried: list[int] = []
    linked = duplicates._with_link
    monkeypatch.setattr(duplicates, "_with_link", lambda *given: (tried.append(1), linked(*given))[1])
    body = "|-|\n- a.py" * 60
    made, _ = consolidated(memories(one=body, two=body), most=engine.MOST)
    assert len(made.changes) == engine.MOST and len(tried) < engine.MOST
