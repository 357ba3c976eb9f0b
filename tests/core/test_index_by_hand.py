"""What an index says by hand is memory: merged, never cut, moved or taken out by gitmem."""

from __future__ import annotations

import itertools
import os
from random import Random

import pytest
from handwritten import GENERATED, REAL, Files, by_hand, handwritten, memory, own, world

from gitmem.core import index
from gitmem.core.claim import dispute_of
from gitmem.core.limits import INDEX_BYTES
from gitmem.core.merge import merge_trees


def edited(seed: int, base: Files, names: list[str], who: str) -> Files:
    """What one writer makes of a tree: of the index by hand, and of the memories."""
    rng = Random(f"{seed} {who}")
    units = list(index.parse(base["main/MEMORY.md"].decode()))
    lines = [unit.text + unit.gap for unit in units]
    for n in range(rng.randint(0, 2)):
        lines.insert(rng.randint(0, len(lines)), by_hand(rng, names, f"{who}{n}"))
    for n in range(rng.randint(0, 2)):
        at = rng.randrange(len(lines))
        lines[at] = lines[at].rstrip("\n") + f" as {who} knows {n}\n"
    files = base | {"main/MEMORY.md": "".join(lines).encode()}
    for name in rng.sample(names, 2):
        files[f"main/{name}.md"] = memory(name, f"{who} on {name}")
    return files


@pytest.mark.parametrize("first", range(0, GENERATED, 20))
def test_a_merge_keeps_what_both_sides_wrote_by_hand(first: int) -> None:
    for seed in range(first, first + 20):
        check_merge(seed)


def check_merge(seed: int) -> None:
    base, names = world(seed)
    ours, theirs = (edited(seed, base, names, who) for who in ("ann", "ben"))
    merged = merge_trees(base, ours, theirs).files
    assert merged == merge_trees(base, theirs, ours).files
    old, one, other, there = (
        handwritten(f, base, ours, theirs, merged) for f in (base, ours, theirs, merged)
    )
    assert not ((one - old) | (other - old)) - there, "an edit of either side is lost"
    assert not (one & other) - there, "what both have is lost"
    assert set(there) <= {*one, *other}, "a line is cut, or made up"
    for side in (ours, theirs):
        assert merge_trees(side, merged, side).files == merged
        again = merge_trees(base, merged, side).files
        assert handwritten(again, base, ours, theirs, merged) == there


@pytest.mark.parametrize("first", range(0, GENERATED, 20))
def test_a_write_keeps_what_is_written_by_hand_where_it_stands(first: int) -> None:
    for seed in range(first, first + 20):
        check_write(seed)


def check_write(seed: int) -> None:
    rng = Random(seed)
    base, names = world(seed)
    before = {p.partition("/")[2]: data for p, data in base.items() if not p.endswith("MEMORY.md")}
    after = dict(before)
    for name in rng.sample(names, 2):
        after.pop(f"{name}.md") if rng.random() < 0.5 else after.update(
            {f"{name}.md": memory(name, "Other")}
        )
    after["new.md"] = memory("new")
    text = base["main/MEMORY.md"].decode()
    shown = index.reconcile(text, before, after)
    made = {own(name) for name in (*names, "new")} | {f"- [{name}]({name}.md) — Other\n" for name in names}
    kept = [unit.text for unit in index.parse(text) if unit.text and unit.text not in made]
    assert [unit.text for unit in index.parse(shown) if unit.text and unit.text not in made] == kept
    assert after.keys() <= index.named(shown), "a memory named nowhere got no line"
    assert index.reconcile(shown, after, after) == shown
    assert all(own(n) not in shown for n in names if after.get(f"{n}.md") != before[f"{n}.md"])


def test_a_memory_that_is_named_anywhere_gets_no_line_and_any_other_its_own() -> None:
    text = "# Mine\n\n- [a](a.md), [b](b.md): both\n- See c.md and [[d]].\n"
    memories = {f"{name}.md": memory(name) for name in "abcd"}
    assert index.reconcile(text, {}, memories) == text
    memories = {f"{name}.md": memory(name) for name in "ab"}
    assert index.reconcile(own("a"), memories, memories) == own("a") + own("b")
    memories["a.md"] = memory("a", "As [[b]] says")
    text = index.entry_of("a.md", memories["a.md"])
    assert index.reconcile(text, memories, memories) == text + own("b")


def test_what_both_sides_changed_differently_is_disputed_until_one_is_taken_out() -> None:
    base, ours, theirs = (f"- [a](a.md) — {text}\n" for text in ("by hand", "one", "other"))
    merged = index.merge(base, ours, theirs)
    marks = {dispute_of(line) for line in merged.splitlines()}
    assert len(merged.splitlines()) == 2 and len(marks) == 1 and "" not in marks
    assert index.merge(merged, ours, merged) == ours, "a person settled it"
    assert index.merge(base, base, ours) == ours and index.merge(base, "", base) == ""
    assert index.merge(base, "", ours) == ours, "a deletion loses to an edit"


def test_what_somebody_chose_of_a_dispute_stands_whatever_the_other_chose() -> None:
    lines = [f"- [a](a.md) — on port {n} *(disputed 01234567)*\n" for n in "123"]
    base, choices = "".join(lines), [(), (1,), (2,), (3,), (1, 2), (1, 2, 3)]
    for one, other in itertools.product(choices, repeat=2):
        ours, theirs = (index.settled(base, "01234567", keep, {}) for keep in (one, other))
        merged = index.merge(base, ours, theirs)
        assert merged == index.merge(base, theirs, ours)
        assert [n for n in (1, 2, 3) if f"port {n}" in merged] == sorted({*one, *other})
        disputed_anew = bool(one and other and not {*one} & {*other})
        assert bool(index.disputed_lines(merged, {})) == disputed_anew, (one, other)


def test_own_lines_of_both_sides_become_the_line_of_the_merged_memory() -> None:
    base = {"main/MEMORY.md": own("a").encode(), "main/a.md": memory("a")}
    sides = [
        {"main/MEMORY.md": f"- [a](a.md) — {about}\n".encode(), "main/a.md": memory("a", about)}
        for about in ("First", "Second")
    ]
    merged = merge_trees(base, *sides).files
    assert merged["main/MEMORY.md"] == b"- [a](a.md) \xe2\x80\x94 First\n"
    hand = {"main/MEMORY.md": b"- [a](a.md) - by hand\n", "main/a.md": base["main/a.md"]}
    assert merge_trees(base, hand, sides[0]).files["main/MEMORY.md"] == hand["main/MEMORY.md"]


def test_of_own_lines_that_differ_one_stays_and_prose_needs_no_choice() -> None:
    versions = [memory("a", about) for about in ("First", "Second")]
    one, other = (index.entry_of("a.md", data) for data in versions)
    assert index.merge("", one, other, {"a.md": versions}) in (one, other)
    assert index.merge(one + other, one + other, one, {"a.md": versions}) == one
    hand = "- z by hand\n- [b](b.md) by hand\n- [a](a.md) by hand\n"
    assert index.merge("", hand, "- x\n") == f"- x\n{hand}"
    made = {f"{name}.md": [memory(name)] for name in "ab"}
    assert index.merge("", own("b") + own("a"), "- x\n", made) == f"- x\n{own('a')}{own('b')}"
    assert index.merge("Ask Ann.\n", "Ask Ben.\n", "Ask Eve.\n") == "Ask Ben.\nAsk Eve.\n"


def test_a_line_for_a_memory_stands_behind_the_last_one_once() -> None:
    text = f"# Rules\n{own('a')}\nProse.\n"
    assert index.with_entry(text, "b.md", own("b")) == f"# Rules\n{own('a')}{own('b')}\nProse.\n"
    assert index.with_entry(text, "a.md", own("b")) == text


def test_over_its_limit_an_index_loses_hooks_of_gitmems_own_and_nothing_else() -> None:
    names = [f"m{n:03}" for n in range(190)]
    memories = {f"{n}.md": memory(n, f"{n} {'words ' * 20}") for n in names}
    hand = [f"- [{n}]({n}.md) — ⚠ {'by hand ' * 15}\n" for n in names[:5]]
    text = "".join([*hand, *(index.entry_of(f"{n}.md", memories[f"{n}.md"]) for n in names[5:])])
    shown = index.reconcile(text, {}, memories)
    assert len(text.encode()) > INDEX_BYTES >= len(shown.encode())
    assert shown.startswith("".join(hand)) and index.targets(shown) == index.targets(text)
    assert "- [m005](m005.md)\n" in shown and shown.splitlines()[-1] == text.splitlines()[-1]
    assert index.reconcile("".join(hand), {}, {}) == "".join(hand)


@pytest.mark.long
def test_ten_thousand_entries_are_reconciled_and_merged() -> None:
    memories = {f"m{n}.md": memory(f"m{n}") for n in range(10_000)}
    text = index.reconcile("", {}, memories)
    assert len(index.targets(text)) == 10_000
    merged = index.merge(text, text + "One.\n", "Two.\n" + text)
    assert merged == "Two.\n" + text + "One.\n"


@pytest.mark.skipif(
    "GITMEM_TEST_DATA" not in os.environ or not REAL.is_dir(),
    reason="GITMEM_TEST_DATA names no real memories",
)
def test_real_indexes_keep_every_byte_through_merge_and_write() -> None:
    found = sorted(REAL.rglob("MEMORY.md"))
    for place in found:
        files = {one.name: one.read_bytes() for one in place.parent.glob("*.md") if one != place}
        text = place.read_text(encoding="utf-8")
        shown = index.reconcile(text, files, files)
        lines = [unit.text for unit in index.parse(shown) if unit.text]
        stood = [unit.text for unit in index.parse(text) if unit.text]
        assert [line for line in lines if line in set(stood)] == stood
        assert files.keys() <= index.named(shown)
        base = {f"main/{name}": data for name, data in files.items()} | {"main/MEMORY.md": shown.encode()}
        ours = base | {"main/MEMORY.md": ("A word first.\n\n" + shown).encode()}
        theirs = base | {"main/MEMORY.md": (shown + "\nA word last.\n").encode()}
        merged = merge_trees(base, ours, theirs).files
        assert merged["main/MEMORY.md"].decode() == "A word first.\n\n" + shown + "\nA word last.\n"
        assert merged == merge_trees(base, theirs, ours).files
    assert found


def test_of_a_dispute_stays_what_is_kept_and_nothing_else_changes() -> None:
    mark = " *(disputed 01234567)*"
    rest = "- other *(disputed 89abcdef)*\n*(disputed 01234567)*\nProse.\n"
    text = f"# Rules\n\n- one{mark}\n- two{mark}\n\n{rest}"
    assert index.disputed_lines(text, {}) == {"01234567": ("- one", "- two"), "89abcdef": ("- other",)}
    assert index.settled(text, "01234567", (2,), {}) == f"# Rules\n\n- two\n\n{rest}"
    assert index.settled(text, "01234567", (1, 2), {}) == f"# Rules\n\n- one\n- two\n\n{rest}"
    assert index.settled(text, "01234567", (), {}) == f"# Rules\n\n{rest}"
    assert index.settled(text, "fedcba98", (), {}) == text


def test_a_memory_whose_lines_all_go_with_a_dispute_gets_its_own() -> None:
    text = "# Rules\n\n- [a](a.md) — one *(disputed 01234567)*\n- [a](a.md) — two *(disputed 01234567)*\n"
    now = {"a.md": memory("a"), "b.md": memory("b")}
    assert index.settled(text, "01234567", (), now) == f"# Rules\n\n{own('a')}"
    assert index.settled(text, "01234567", (1,), now) == "# Rules\n\n- [a](a.md) — one\n"


def test_prose_and_an_item_of_the_same_words_are_two() -> None:
    merged = index.merge("# Rules\n", "# Rules\n- Ask Ann.\n", "# Rules\nAsk Ann.\n")
    assert sorted(merged.splitlines()) == ["# Rules", "- Ask Ann.", "Ask Ann."]


def test_a_description_that_a_person_cut_short_goes_with_its_memory() -> None:
    data = b"---\nname: a\ndescription: How the linter is run before a push\ntype: project\n---\n\nA.\n"
    for hook, goes in (("How the linter is run…", True), ("How Ann runs it…", False)):
        text = f"# Rules\n- [a](a.md) - {hook}\n"
        left = index.reconcile(text, {"a.md": data}, {})
        assert (left == "# Rules\n") is goes, left


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_what_an_entry_says_after_its_link(end: str) -> None:
    assert index.hook(f"- [a](a.md) — Ask **Ann**{end}") == index.hook("- a.md: Ask **Ann**\n")
    assert "ask" in index.hook(f"- [a](a.md) — Ask **Ann**{end}").casefold()
    assert index.hook(f"Ask Ann about a.md{end}") == ""
