"""The account of a change is worked out from the trees: what is said of a claim has to be true."""

from __future__ import annotations

from itertools import product
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.account import (
    account,
    claims_at,
    path_of,
    proposals,
    reference,
    references,
    reject_keys,
    where_it_goes,
)
from gitmem.core.claim import Claim
from gitmem.core.facts import missing_facts
from gitmem.core.trailers import Fate, FateKind, parse_fate

MEMORY = "---\nname: {0}\ndescription: About {0}\ntype: project\n---\n\n{1}\n"


def files(**bodies: str) -> dict[str, bytes]:
    return {f"main/{name}.md": MEMORY.format(name, body).encode() for name, body in bodies.items()}


def ref(tree: dict[str, bytes], text: str, path: str = "") -> str:
    """The name of the claim with this text."""
    found = [name for name, claim in references(tree).items() if claim.text == text and path in name]
    assert len(found) == 1, found
    return found[0]


def test_what_stays_where_it_is_or_stands_twice_needs_no_account() -> None:
    before = files(a="One fact.\n\nAnother fact.")
    after = files(a="Another   fact.\n\nOne\nfact.\n\nA third.")
    assert account(before, after, []) == account(before, before, [])
    assert account(before, after, []).fates == ()
    before = files(a="Same.\n\nSame.")
    assert account(before, files(a="Same."), []).unaccounted == ()


def test_what_is_gone_and_not_declared_is_unaccounted_a_description_too() -> None:
    before = files(a="One fact.\n\nAnother fact.")
    (lost,) = account(before, files(a="One fact."), []).unaccounted
    assert (lost.source, lost.text) == (ref(before, "Another fact."), "Another fact.")
    both = account(files(a="One fact."), {}, []).unaccounted
    assert {claim.text for claim in both} == {"One fact.", "About a"}


def test_a_claim_that_moved_is_kept_with_its_new_place() -> None:
    before, after = files(a="One fact.\n\nStays.", b="Other."), files(a="Stays.", b="Other.\n\nOne fact.")
    result = account(before, after, [])
    assert result.unaccounted == ()
    assert result.fates == (Fate("kept", ref(before, "One fact."), ref(after, "One fact.")),)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("Python 3.11 is the minimum.", "Python 3.12 is the minimum."),
        ("Retry three times.", "Retry four times."),
        ("Wait 5ms between calls.", "Wait 5s between calls."),
        ("Never run migrations by hand.", "Run migrations by hand."),
        ("Run migrations by hand.", "Never run migrations by hand."),
        ("Don't mock the database.", "Mock the database."),
        ("Ann reviews migrations.", "Ben reviews migrations."),
        ("Migrations go to Ann first.", "Migrations go first."),
        ("Set `max_size` before a deploy.", "Set `min_size` before a deploy."),
        ("Set max_size before a deploy.", "Set the size before a deploy."),
        ("The schema is in db/schema.sql now.", "The schema is in db/other.sql now."),
        ("See https://example.com/a for it.", "See https://example.com/b for it."),
        ("See [[release-process]].", "See [[release]]."),
        ("Pass --force to it.", "Pass --dry-run to it."),
        ("It reads ~/.config/a.toml first.", "It reads ~/.config/b.toml first."),
        ("Write to ann@example.com.", "Write to ann@example.org."),
    ],
)
def test_a_merge_into_a_claim_that_lacks_a_fact_is_false(source: str, target: str) -> None:
    before, after = files(a=source, b="Other."), files(a=target, b="Other.")
    said = [Fate("merged", ref(before, source), ref(after, target))]
    (lost,) = account(before, after, said).unaccounted
    assert lost.source == ref(before, source) and "lacks" in lost.problem


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("Use the real database in tests.", "In tests the real database is used, said Ann on 2026-11-20."),
        ("Don't mock the database.", "Never mock the database; it broke twice."),
        ("The release is cut tomorrow.", "The release is cut tomorrow (2026-11-21)."),
        ("Run `make test` first.", "First run make test, then push."),
        ("Retry three times.", "Retry 3 times."),
        ("The slow tests are in e2e/ now.", "The slow tests are all in e2e/ now."),
    ],
)
def test_a_merge_into_a_claim_that_has_all_facts_is_true(source: str, target: str) -> None:
    before, after = files(a=source, b="Other."), files(a=target, b="Other.")
    fate = Fate("merged", ref(before, source), ref(after, target))
    assert account(before, after, [fate]).fates == (fate,)


def test_a_target_must_be_there_and_a_drop_needs_a_reason() -> None:
    before, after = files(a="One fact.\n\nStays."), files(a="Stays.")
    source = ref(before, "One fact.")
    for fate in (
        Fate("merged", source, "main/a.md#0123456789ab"),
        Fate("superseded", source, ""),
        Fate("dropped", source),
        Fate("kept", source, source),
    ):
        assert [lost.source for lost in account(before, after, [fate]).unaccounted] == [source]
    dropped = Fate("dropped", source, "", "it is gone; it is gone")
    assert account(before, after, [dropped]).fates == (dropped,)
    superseded = Fate("superseded", source, ref(after, "Stays."), "newer")
    assert account(before, after, [superseded]).fates == (superseded,)


def test_a_claim_is_followed_through_several_changes() -> None:
    before = files(a="Use the db.", b="Use the db in tests.")
    middle = {path: data for path, data in before.items() if "a.md" not in path}
    after = files(b="Use the db in tests (2026-11-20).")
    last = ref(after, "Use the db in tests (2026-11-20).")
    said = [
        Fate("merged", ref(before, "Use the db."), ref(middle, "Use the db in tests.")),
        Fate("merged", ref(before, "Use the db in tests."), last),
        Fate("dropped", ref(before, "About a"), "", "said by its body"),
    ]
    result = account(before, after, said)
    assert result.unaccounted == () and {fate.target for fate in result.fates} == {last, ""}


def test_of_two_changes_in_a_row_the_worse_one_counts() -> None:
    kinds: tuple[FateKind, ...] = get_args(FateKind)
    before, after = files(a="Use the db.", b="Use the db in tests."), files(c="Use the db in tests.")
    first, second, last = (
        ref(before, "Use the db."),
        *(ref(tree, "Use the db in tests.") for tree in (before, after)),
    )
    for one, other in product(kinds[1:3], kinds):
        said = [Fate(one, first, second, "x"), Fate(other, second, "" if other == "dropped" else last, "y")]
        (fate,) = [fate for fate in account(before, after, said).fates if fate.source == first]
        assert fate.kind == max(one, other, key=kinds.index)


def test_declarations_that_lead_in_a_circle_prove_nothing() -> None:
    before = files(a="One fact.", b="Two facts.")
    one, two = ref(before, "One fact."), ref(before, "Two facts.")
    after = files(a="Other.", b="Another.")
    said = [Fate("merged", one, two), Fate("merged", two, one)]
    assert {lost.source for lost in account(before, after, said).unaccounted} == {one, two}


def test_indexes_logs_and_host_files_have_no_claims() -> None:
    tree = {
        "README.md": b"x", "main/MEMORY.md": b"- [a](a.md)", "main/.tombstones": b"",
        "main/logs/2026/11/2026-11-20.md": b"x", ".github/a.md": b"x",
    }  # fmt: skip
    assert references(tree) == {} and account(tree, {}, []).unaccounted == ()


def test_archived_memories_are_accounted_for() -> None:
    before = {"main/archive/ab/a.md": b"A fact.\n"}
    assert len(account(before, {}, []).unaccounted) == 1
    assert account(before, {"main/a.md": b"A fact.\n"}, []).unaccounted == ()


@given(st.text(alphabet="ab %\t\n\u00a0é\udc80/#", min_size=1).map(lambda name: f"main/{name}.md"))
def test_a_reference_fits_into_a_trailer_and_gives_its_path_back(path: str) -> None:
    name = reference(path, Claim("x", "", "x"))
    fate = Fate("dropped", name, "", "reason")
    assert parse_fate(fate.line()) == fate and path_of(name) == path


def test_a_rejection_is_keyed_by_claims_and_not_by_files() -> None:
    one = Fate("merged", "main/a.md#0123456789ab", "main/b.md#ba9876543210")
    turned = Fate("merged", "main/c.md#ba9876543210", "main/d.md#0123456789ab", "why")
    (key,) = reject_keys([one], {one.target})
    assert reject_keys([turned], {turned.target}) == (key,)
    assert reject_keys([Fate("superseded", one.source, one.target)], {one.target}) != (key,)
    assert reject_keys([Fate("kept", one.source, one.target)], {one.target}) == ()


MARKS = st.integers(0, 5).map(lambda n: f"{n:012x}")
STANDING = st.builds("main/{}.md#{}".format, st.sampled_from("ab"), MARKS)
NEW = st.builds("main/{}.md#f{}".format, st.sampled_from("ab"), MARKS.map(lambda mark: mark[1:]))


@given(st.dictionaries(STANDING, NEW, min_size=1), st.data())
def test_a_rejected_change_is_the_same_in_any_other_words(
    went: dict[str, str], data: st.DataObject
) -> None:
    """A model words an idea otherwise each night; new wording is no part of what was rejected."""
    before = frozenset(went)
    targets = sorted(set(went.values()))
    others = data.draw(st.lists(NEW, min_size=len(targets), max_size=len(targets), unique=True))
    worded = dict(zip(targets, others, strict=True))
    first = [Fate("merged", source, target) for source, target in went.items()]
    again = [Fate("merged", source, worded[target], "why") for source, target in went.items()]
    assert set(reject_keys(first, before)) == set(reject_keys(again, before))


@given(st.lists(STANDING.map(lambda ref: ref.rpartition("#")[2]), min_size=3, max_size=3, unique=True))
def test_to_merge_a_claim_into_another_one_is_another_change(marks: list[str]) -> None:
    a, b, c = (f"main/{name}.md#{mark}" for name, mark in zip("abc", marks, strict=True))
    before, new = {a, b, c}, "main/d.md#ffffffffffff"
    rejected = reject_keys([Fate("merged", a, b)], before)
    assert not {*rejected} & {*reject_keys([Fate("merged", a, c)], before)}
    assert not {*rejected} & {*reject_keys([Fate("merged", a, new), Fate("merged", c, new)], before)}
    # To unite the two in words of their own is what was rejected.
    assert {*rejected} == {*reject_keys([Fate("merged", a, new), Fate("merged", b, new)], before)}
    moved = [Fate("merged", a, f"main/d.md#{marks[1]}"), Fate("kept", b, f"main/d.md#{marks[1]}")]
    assert rejected == reject_keys(moved, before)


def test_what_stood_where_a_change_goes_is_read_from_those_memories_alone() -> None:
    files = {"main/a.md": b"A fact.\n", "main/b.md": b"A fact.\n"}
    (there,) = references({"main/b.md": files["main/b.md"]})
    found = where_it_goes([Fate("merged", "main/a.md#000000000000", "main/b.md#111111111111")], files)
    assert there in found and next(iter(references({"main/a.md": b"A fact.\n"}))) not in found


ODD = ("e2e/", "ann@example.com,", "~/.config/a.toml", "P0-4b.", "${{steps.app-token}}", "x1@v2/y3..")
PLAIN = ("use", "never", "Ann", "3", "four", "db/x.py", "`run`", "tests", "The")
WORDS = st.lists(st.sampled_from([*PLAIN, *ODD]))


@given(WORDS.map(" ".join), WORDS.map(" ".join))
def test_nothing_is_lacking_from_a_text_that_holds_it(one: str, other: str) -> None:
    assert missing_facts(one, one) == ()
    assert missing_facts(one, f"{one}\n\n{other}") == ()


def test_in_which_order_files_are_given_tells_nothing() -> None:
    before, after = files(**{name: f"{name} fact." for name in "abcde"}), files(f="e fact.")
    turned = dict(reversed(before.items()))
    assert [*references(turned)] == [*references(before)]
    assert account(turned, after, []) == account(before, after, [])
    assert list(dict.fromkeys(one.path for one in proposals(turned, {}))) == sorted(before)


BODIES = st.lists(st.sampled_from(["One.", "Two.", "- three", "Never four.", "Same.", "Same."]), max_size=5)
TREES = st.dictionaries(st.sampled_from(["main/a.md", "main/b.md", "other/c.md"]), BODIES.map("\n\n".join))


@given(TREES, TREES)
def test_every_claim_is_kept_or_in_the_account(one: dict[str, str], other: dict[str, str]) -> None:
    before, after = ({path: body.encode() for path, body in tree.items()} for tree in (one, other))
    result = account(before, after, [])
    listed = {fate.source for fate in result.fates} | {lost.source for lost in result.unaccounted}
    assert listed == references(before).keys() - references(after).keys()
    keys = {claim.key for claim in references(after).values()}
    assert all(references(before)[lost.source].key not in keys for lost in result.unaccounted)
    assert all(claims_at(path, data) for path, data in before.items() if data)
