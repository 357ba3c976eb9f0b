"""Tombstone files, and the ordered merge under bodies and indexes."""

from __future__ import annotations

import hashlib
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core import tombstone
from gitmem.core.sequence import merge_keys, pair_edits

SALTS = ("00" * 16, "ff" * 16)
KEYS = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)


def stones(*texts: str, salt: str = SALTS[0], kind: tombstone.Kind = "forgot") -> str:
    return tombstone.with_stones("", [tombstone.bury(text, salt, "2026-11-20", kind) for text in texts])


def test_a_line_is_in_this_form() -> None:
    version, salt, digest, date, kind = stones("a").split()
    assert (version, salt, len(digest), date, kind) == ("v1", SALTS[0], 64, "2026-11-20", "forgot")


def test_matching_looks_at_every_salt_and_at_the_kind() -> None:
    text = stones("a") + stones("b", salt=SALTS[1], kind="rejected")
    parsed = tombstone.parse(text)
    assert tombstone.matches(parsed, "a") and tombstone.matches(parsed, "b", "rejected")
    assert not tombstone.matches(parsed, "b", "forgot") and not tombstone.matches(parsed, "c")
    find = tombstone.finder(parsed, "forgot")
    assert find("a") and not find("b") and not find("c")


def test_lines_of_a_later_version_are_kept_and_not_read() -> None:
    text = "v2 something new\n" + stones("a")
    assert len(tombstone.parse(text)) == 1
    assert "v2 something new" in tombstone.with_stones(text, [])
    assert "v2 something new" in tombstone.without_keys(text, ["a"])
    assert tombstone.parse(tombstone.without_keys(text, ["a"])) == frozenset()


def test_a_file_is_its_lines_sorted_each_once() -> None:
    one, other = sorted(stones("a", "b").splitlines(keepends=True))
    stone = tombstone.parse(one)
    assert tombstone.with_stones(other + "\n  \n" + one + other, stone) == one + other
    assert tombstone.with_stones(other.rstrip("\n"), stone) == one + other
    assert tombstone.with_stones("", []) == ""
    many = stones(*"abcdefgh").splitlines()
    assert many == sorted(many) and len(many) == 8
    assert tombstone.merge("", f"\n{one}\n", other) == tombstone.merge("", other, one) == one + other
    assert tombstone.without_keys(one + other + stones("c"), ["c", "x"]) == one + other


@pytest.mark.parametrize(
    "line",
    [
        "v1 {salt} {digest} 2026-11-20 lost",
        "v1 {salt} {digest} 2026-11-20 forgot ",
        " v1 {salt} {digest} 2026-11-20 forgot",
        "v1 0123456789abcde {digest} 2026-11-20 forgot",
        "v1 {salt} 0{digest} 2026-11-20 forgot",
        "v1 {salt} {digest} 2026-11-2 forgot",
        "v1 {salt} {digest} forgot",
    ],
)
def test_a_line_of_another_form_buries_nothing(line: str) -> None:
    stone = tombstone.bury("a", SALTS[0], "2026-11-20", "forgot")
    assert tombstone.parse(line.format(salt=stone.salt, digest=stone.digest)) == frozenset()
    assert tombstone.parse(stone.line() + "x\n") == {stone}


@pytest.mark.parametrize(
    ("date", "end", "fits"),
    [
        ("2026-11-20", "forgot", True),
        ("2026-11-20", "rejected", True),
        ("2026-02-30", "forgot", False),
        ("2026-11-20", "forgot\n", False),
        ("2026-11-20", "forgot more", False),
    ],
)
def test_a_line_fits_where_it_is_of_a_day_that_there_is(date: str, end: str, fits: bool) -> None:
    assert tombstone.fits(f"v1 {SALTS[0]} {'0' * 64} {date} {end}") is fits


def test_a_digest_is_of_the_salt_and_the_text() -> None:
    """A promise: the stones of earlier versions are matched by it."""
    digest = hashlib.sha256(b"0123456789abcdef\0a \xc3\xa9 \xff").hexdigest()
    assert tombstone.bury("a é \udcff", "0123456789abcdef", "2026-11-20", "rejected").digest == digest


@given(st.sets(st.sampled_from("abcd")), st.lists(st.sets(st.sampled_from("abcd")), min_size=3, max_size=3))
def test_files_merge_as_sets_in_any_order(base: set[str], sides: list[set[str]]) -> None:
    texts = [stones(*side) for side in sides]
    found = {
        tombstone.merge(stones(*base), tombstone.merge(stones(*base), one, two), three)
        for one, two, three in permutations(texts)
    }
    assert len(found) == 1


def words(key: str) -> frozenset[str]:
    return frozenset(key)


@given(KEYS, KEYS, KEYS)
def test_ordered_merge_is_symmetric_and_set_arithmetic(
    base: list[str], ours: list[str], theirs: list[str]
) -> None:
    one, other = merge_keys([base, ours, theirs], words), merge_keys([base, theirs, ours], words)
    assert one.keys == other.keys and one.edits == other.edits[::-1]
    sets = [set(side) for side in (base, ours, theirs)]
    alive = (sets[1] & sets[2]) | (sets[1] - sets[0]) | (sets[2] - sets[0])
    assert set(one.keys) == alive and len(one.keys) == len(alive)


@given(KEYS, KEYS)
def test_what_a_side_alone_moved_stays_moved(base: list[str], side: list[str]) -> None:
    merged = merge_keys([base, side, base], words).keys
    assert [key for key in merged if key in base] == [key for key in side if key in base]


@given(KEYS, KEYS)
def test_pairs_are_of_what_went_and_what_came(base: list[str], side: list[str]) -> None:
    pairs = pair_edits(base, side, words)
    assert set(pairs) <= set(base) - set(side) and set(pairs.values()) <= set(side) - set(base)
    assert len(set(pairs.values())) == len(pairs)


def test_an_edit_is_told_from_an_addition_by_its_words() -> None:
    def said(key: str) -> frozenset[str]:
        return frozenset(key.split())

    base = ["stays", "the port is 80", "end"]
    side = ["stays", "something else entirely", "the port is 443", "end"]
    assert pair_edits(base, side, said) == {"the port is 80": "the port is 443"}


@pytest.mark.parametrize(
    ("base", "side", "pairs"),
    [
        ("a x b y", "a X b Y", {"x": "X", "y": "Y"}),
        ("x b y", "X b Y", {"x": "X", "y": "Y"}),
        ("a x b y c z", "a b Y c Z", {"y": "Y", "z": "Z"}),
        ("a x b y c z", "a N x b Y c Z", {"y": "Y", "z": "Z"}),
        ("x y z", "X Y Z", {"x": "X", "y": "Y", "z": "Z"}),
        ("a x b", "b X a", {}),
        ("a x b", "x a X", {"b": "X"}),
        ("a x b", "b x X", {}),
        ("x a y b", "a Y b", {"y": "Y"}),
        ("a y b x", "a Y b", {"y": "Y"}),
    ],
)
def test_every_edit_between_what_stayed_is_paired(base: str, side: str, pairs: dict[str, str]) -> None:
    """One that is missed counts as a loss and an addition: the merge keeps both texts without a dispute."""
    assert pair_edits(base.split(), side.split(), words) == pairs
    assert merge_keys([base.split(), side.split(), base.split()], words).edits == (pairs, {})


def test_each_of_several_edits_takes_the_place_of_what_it_replaced_and_many_are_paired() -> None:
    base, side, other = ["x", "a", "y", "b", "z"], ["X", "a", "Y", "b", "Z"], ["x", "a", "y", "b", "z", "n"]
    assert merge_keys([base, side, other], words).keys == ("X", "a", "Y", "b", "Z", "n")
    base, side = [f"old {n} x" for n in range(2000)], [f"new {n} y" for n in range(1999)]
    assert pair_edits(base, side, lambda key: frozenset(key.split())) == {}
