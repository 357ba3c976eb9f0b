"""The laws of the merge on what repositories really hold: renames, tombstones, disputes, odd bytes."""

from __future__ import annotations

from itertools import permutations

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from laws import by_claims_alone, examples

from gitmem.core import tombstone
from gitmem.core.claim import dispute_of, parse_body, with_dispute
from gitmem.core.memory import parse
from gitmem.core.merge import merge_trees
from gitmem.core.names import agent_folder, kind
from gitmem.core.text import decode, encode

Files = dict[str, bytes]

FEW = 0.1
"""Of these laws: each example is many merges."""


CLAIMS = [
    "Use the real database in tests.", "Use the real\ndatabase in every test.",
    "Deploy on Tuesdays only.", "**Why:** it broke twice.",
    "**Why:** it broke\n**How to apply:** always.", "- an item",
    "- an item\n  - with a child\n\n    and more", "* starred", "1. first", "3) third",
    "```sh\nmake  test\n\n\n  make it\n```", "~~~\nopen fence\n\n",
    "- item with code\n\n  ```\n  a  b\n  ```", "    indented code\n\n    in two parts", "# A heading",
    "Underlined\n---", "Underlined\n===", "| a | b |\n|---|---|\n| 1 | 2 |", "> quoted\nlazily",
    "[ref]: https://example.com", "<!-- a comment -->", "<!-- an open comment", "<div>html\n\n</div>",
    "***", "---", "name: not frontmatter", "\ufeffbyte order mark", "caf\udce9 latin",
    "Use it. *(disputed 01234567)*", "```\nx\n```\n\n*(disputed 89abcdef)*", "*(disputed 01234567)*",
]  # fmt: skip
BLOCKS = st.sampled_from(CLAIMS)
CLOSED = st.sampled_from([text for text in CLAIMS if not text.startswith(("~~~", "<", "*(disputed"))])
JOINTS = st.sampled_from(["\n", "\n\n", "\n\n\n", "\r\n\r\n"])
BODIES = st.lists(st.tuples(BLOCKS, JOINTS), max_size=6).map(lambda parts: "".join(a + b for a, b in parts))
HEADS = st.builds(
    lambda name, hook, type, layout, extra, end: layout.format(
        name=name, hook=hook, type=type, extra=extra
    ).replace("\n", end),
    st.sampled_from(["alpha", "alpha", "beta"]),
    st.sampled_from(["one", "two: odd", '"three"', "", "|\n  a\n\n  # b", "*(disputed 01234567)*"]),
    st.sampled_from(["user", "feedback", "project", "reference", "odd"]),
    st.sampled_from(
        [
            "---\nname: {name}\ndescription: {hook}\ntype: {type}\n{extra}---\n",
            "---\nname: {name}\ndescription: {hook}\nmetadata: \n  type: {type}\n---\n",
            "\ufeff---\n{extra}type: {type}\nname: {name}\n---\n",
            "---\nname: {name}\ndescription: {hook}\ntype: {type}\n---",
            "",
        ]
    ),
    st.sampled_from(
        ["", "tags: [a, b]\n", "tags: [b, c]\n", "modified: 2026-11-20\n", "# why\n", "owner: Ann\n"]
    ),
    st.sampled_from(["\n", "\n", "\r\n"]),
)
MEMORIES = st.builds(lambda head, body: (head + body).encode("utf-8", "surrogateescape"), HEADS, BODIES)
INDEXES = st.lists(
    st.sampled_from(["- [A](a.md) — one", "- [A](a.md) — two", "- [B](b.md)", "# Index", "", "Prose."]),
    max_size=6,
).flatmap(lambda lines: st.sampled_from(["\n", "\r\n"]).map(lambda end: end.join(lines).encode()))
PATHS = ["main/a.md", "main/b.md", "reviewer/a.md", "main/archive/5c/c.md", "a.md"]
TREES = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(PATHS, MEMORIES)
    | {
        "main/MEMORY.md": INDEXES,
        "main/logs/2026/11/2026-11-20.md": st.sampled_from(
            [b"10:00 a\n", b"10:00 a\n11:00 b\n", b"09:00 c"]
        ),
        "notes.txt": st.sampled_from([b"x", b"y"]),
    },
).map(lambda files: {path: _named(path, data) for path, data in files.items()})


def _named(path: str, data: bytes) -> bytes:
    """Names are unique in an agent's folder: they tell what was renamed."""
    return data.replace(b"name: alpha", b"name: " + path.replace("/", "-").encode())


OPEN = ("~~~", "<!-- an open", "<div>")
SCALARS = {"alpha", "beta", "Ann", "owner: Ann", "odd", ""}
"""Values of frontmatter keys, of which the smaller one wins."""

CHOICES = ["keep", "keep", "delete", "rename", "append", "drop", "change", "all", "head"]


@st.composite
def edited(draw: st.DrawFn, base: Files, plain: bool) -> Files:
    """What one writer made of a tree.

    Where it is `plain`, nobody repeats a claim within a file, and no block swallows what follows it: a
    repeat whose first is deleted elsewhere becomes the first, and such blocks part files, so that only one
    order of merges finds the other claim again.
    """
    result = dict(base)
    for path in sorted(base):
        if kind(path) != "memory":
            continue
        choice = draw(st.sampled_from(CHOICES))
        data = decode(base[path])
        body = parse(path, base[path]).body
        head = data.removesuffix(body)
        claims = [claim.lead + claim.text for claim in parse_body(body).claims]
        if choice == "delete":
            del result[path]
        elif choice == "rename" and f"name: {path.replace('/', '-')}" in head:
            target = path.replace(".md", f"-{draw(st.sampled_from(['x', 'y']))}.md")
            result[target] = result.pop(path)
        elif choice == "append":
            result[path] = (data + "\n\n" + draw(BLOCKS) + "\n").encode("utf-8", "surrogateescape")
        elif choice in ("drop", "change") and claims:
            at = draw(st.integers(0, len(claims) - 1))
            claims[at : at + 1] = ["\n\n" + draw(BLOCKS) + "\n\n"] if choice == "change" else []
            result[path] = (head + "".join(claims) + "\n").encode("utf-8", "surrogateescape")
        elif choice == "all":
            result[path] = (head + draw(BODIES)).encode("utf-8", "surrogateescape")
        elif choice == "head" and "name: " in head:
            fresh_head = draw(HEADS.filter(lambda text: "name: alpha" in text and text.endswith("\n")))
            result[path] = _named(path, (fresh_head + body).encode("utf-8", "surrogateescape"))
    fresh = draw(TREES)
    for path in sorted(fresh):
        if (path not in base or kind(path) != "memory") and draw(st.booleans()):
            result[path] = fresh[path]
    return result


@st.composite
def histories(draw: st.DrawFn, sides: int, plain: bool = False) -> tuple[Files, ...]:
    base = draw(TREES)
    trees = (base, *(draw(edited(base, plain)) for _ in range(sides)))
    if plain:
        for path, data in [pair for tree in trees for pair in tree.items() if kind(pair[0]) == "memory"]:
            keys = [claim.key for claim in parse(path, data).claims]
            assume(len(set(keys)) == len(keys) and not any(text in decode(data) for text in OPEN))
    return trees


def claims(files: Files) -> set[str]:
    """Normal forms of all claims, descriptions too; of a loser that stands as "key: value" the value."""
    return {
        key.removeprefix("description: ").removeprefix("name: ")
        for path, data in files.items()
        if kind(path) == "memory"
        for key in [claim.key for claim in parse(path, data).claims]
        if not key.startswith("name: ")
    }


@given(histories(2))
@settings(max_examples=examples(300, FEW))
def test_hard_merges_are_symmetric_and_lose_and_invent_nothing(history: tuple[Files, ...]) -> None:
    base, one, other = history
    merged = merge_trees(base, one, other)
    assert merged.files == merge_trees(base, other, one).files
    added = (claims(one) | claims(other)) - claims(base)
    assert added - SCALARS <= claims(merged.files)
    assert claims(merged.files) - SCALARS <= claims(base) | claims(one) | claims(other)


@given(histories(1))
@settings(max_examples=examples(300, FEW))
def test_a_side_that_changed_nothing_costs_no_byte(history: tuple[Files, ...]) -> None:
    base, one = history
    assert merge_trees(base, one, base).files == one
    assert merge_trees(base, base, one).files == one
    assert merge_trees(base, one, one).files == one
    assert merge_trees({}, one, one).files == one


@given(histories(2, plain=True))
@example(
    tuple({"main/a.md": text} for text in (b"Here.\n", b"Here.\n\nMore.\n", b"*(disputed 01234567)*\n"))
)
@settings(max_examples=examples(300, FEW))
def test_hard_merges_settle(history: tuple[Files, ...]) -> None:
    """Merging either head again, or the merge with itself through another base, adds nothing.

    Of the latter where names tell renames: by half of the claims a file may count as moved between two
    trees and not between two later ones, and what one writer took out comes back (it is not lost).
    """
    base, one, other = history
    merged = merge_trees(base, one, other).files
    told = not any(by_claims_alone(base, tree) for tree in (one, other, merged))
    for side in (one, other):
        assert merge_trees(side, merged, side).files == merged
        if told and not {path for path in merged if path not in base and path not in side}:
            assert claims(merge_trees(base, merged, side).files) == claims(merged)
    for path, data in merged.items():
        if kind(path) == "memory":
            assert parse(path, data).render() == data


@given(histories(3, plain=True))
@settings(max_examples=examples(200, FEW))
def test_three_writers_may_merge_in_any_order(history: tuple[Files, ...]) -> None:
    """What anybody added stands in each order; what stood before fares alike where names tell renames.

    By half of the claims (docs/formats.md, Merging) a merge of two may see a file move that neither of them
    moved: one gave it up, the other wrote another one that says the same.
    """
    base, *sides = history
    found, trees = [], list(sides)
    for first, second, third in permutations(sides):
        trees.append(merge_trees(base, first, second).files)
        found.append(claims(merge_trees(base, trees[-1], third).files))
    added = set().union(*map(claims, sides)) - claims(base)
    assert all(added - SCALARS <= one for one in found)
    if not any(by_claims_alone(base, tree) for tree in trees):
        assert all(one == found[0] for one in found)


@given(st.lists(st.lists(CLOSED, max_size=4, unique=True), min_size=5, max_size=5))
@settings(max_examples=examples(150, FEW))
def test_four_writers_of_one_file_agree_on_its_claims(bodies: list[list[str]]) -> None:
    base, *sides = [{"main/a.md": "\n\n".join(body).encode("utf-8", "surrogateescape")} for body in bodies]
    found = []
    for order in permutations(sides):
        merged = order[0]
        for side in order[1:]:
            merged = merge_trees(base, merged, side).files
        found.append(claims(merged))
    assert all(one == found[0] for one in found)


@given(st.lists(BLOCKS, min_size=1, max_size=4), st.lists(BLOCKS, max_size=3), st.integers(0, 3))
@settings(max_examples=examples(200, FEW))
def test_what_one_side_forgot_stays_gone_whatever_the_other_did(
    kept: list[str], added: list[str], forgotten: int
) -> None:
    base = {"main/a.md": "\n\n".join(kept).encode("utf-8", "surrogateescape")}
    known = parse("main/a.md", base["main/a.md"]).claims
    assume(known)
    claim = known[forgotten % len(known)]
    stone = tombstone.bury(claim.key, "00" * 16, "2026-11-20", "forgot")
    ours = {"main/.tombstones": stone.line().encode()}
    theirs = {"main/a.md": "\n\n".join([*kept, *added]).encode("utf-8", "surrogateescape")}
    theirs["main/new.md"] = claim.text.encode("utf-8", "surrogateescape")
    for sides in ((ours, theirs), (theirs, ours)):
        merged = merge_trees(base, *sides)
        assert claim.key not in claims(merged.files)
        assert merged.files["main/.tombstones"] == ours["main/.tombstones"]
    again = merge_trees(theirs, merged.files, theirs)
    assert again.files == merged.files


def test_who_has_the_tombstone_and_the_text_has_both_on_purpose() -> None:
    stone = tombstone.bury("A fact.", "00" * 16, "2026-11-20", "forgot").line().encode()
    base = {"main/.tombstones": stone}
    ours = base | {"main/a.md": b"A fact.\n"}
    assert merge_trees(base, ours, base | {"main/b.md": b"More.\n"}).files["main/a.md"] == b"A fact.\n"


@given(BLOCKS, st.sampled_from(["01234567", "89abcdef"]))
def test_a_mark_changes_no_identity_and_comes_off_again(text: str, mark: str) -> None:
    before = parse_body(text).claims
    assume(len(before) == 1 and before[0].key)
    marked = with_dispute(before[0].text, mark)
    (after,) = parse_body(marked).claims
    assert (after.key, after.dispute) == (before[0].key, mark)
    assert with_dispute(marked, mark) == marked
    bare = with_dispute(marked, "")
    assert not dispute_of(bare) and parse_body(bare).claims[0].key == before[0].key


WITHOUT_LONE_MARKS = BLOCKS.filter(lambda text: not text.startswith("*(disputed"))


@given(WITHOUT_LONE_MARKS, WITHOUT_LONE_MARKS, WITHOUT_LONE_MARKS)
@settings(max_examples=examples(200, FEW))
def test_a_dispute_survives_later_merges_and_goes_when_it_is_settled(
    old: str, one: str, other: str
) -> None:
    trees = [
        {"main/a.md": f"First.\n\n{text}\n\nLast.\n".encode("utf-8", "surrogateescape")}
        for text in (old, one, other)
    ]
    merged = merge_trees(*trees).files
    assume(list(merged) == ["main/a.md"])
    body = parse("main/a.md", merged["main/a.md"])
    marked = [claim for claim in body.claims if claim.dispute]
    fresh = {c.key for tree in trees[1:] for c in parse("x.md", tree["main/a.md"]).claims if c.dispute}
    later = {"main/a.md": merged["main/a.md"].replace(b"First.", b"First of all.")}
    again = parse("main/a.md", merge_trees(trees[1], later, trees[1]).files["main/a.md"])
    assert {c.key for c in again.claims if c.dispute} == {c.key for c in marked}
    if len(marked) == 2 and not fresh:
        text = decode(merged["main/a.md"])
        for claim in marked:
            text = text.replace(claim.text, with_dispute(claim.text, ""))
        done = merge_trees(merged, {"main/a.md": encode(text)}, later).files["main/a.md"]
        assert not [c for c in parse("a.md", done).claims if c.dispute]


@given(st.lists(BLOCKS, max_size=5), BLOCKS, BLOCKS)
@settings(max_examples=examples(150, FEW))
def test_merging_adds_no_blank_lines_to_what_stood_there(kept: list[str], one: str, other: str) -> None:
    """Additions at both ends leave the middle byte for byte as it was."""
    plain = [text for text in kept if text.strip() and "~~~" not in text and "<" not in text]
    middle = "\n\n".join(["Begin here.", *plain, "End here."])
    assume("\n\n\n" not in middle and len(set(plain)) == len(plain))
    sides = [f"{middle}\n", f"{one}\n\n{middle}\n", f"{middle}\n\n{other}\n"]
    (data,) = [
        *merge_trees(
            *({"main/a.md": text.encode("utf-8", "surrogateescape")} for text in sides)
        ).files.values()
    ][:1]
    keys = [c.key for c in parse_body(middle).claims]
    assume(not {c.key for text in (one, other) for c in parse_body(text).claims} & set(keys))
    if [c.key for c in parse_body(sides[1]).claims][-len(keys) :] == keys:
        assert middle in decode(data)


def test_agents_do_not_mix() -> None:
    """A tombstone of one agent says nothing about another's memory."""
    stone = tombstone.bury("A fact.", "00" * 16, "2026-11-20", "forgot").line().encode()
    base = {"main/a.md": b"A fact.\n", "reviewer/a.md": b"A fact.\n"}
    ours = {"main/.tombstones": stone, "reviewer/a.md": b"A fact.\n"}
    theirs = {"main/a.md": b"A fact.\n\nMore.\n", "reviewer/a.md": b"A fact.\n\nMore.\n"}
    merged = merge_trees(base, ours, theirs)
    assert (
        merged.files["main/a.md"] == b"More.\n" and merged.files["reviewer/a.md"] == theirs["reviewer/a.md"]
    )
    assert merged.buried == (("main/a.md", "A fact."),)
    assert agent_folder("main/archive/5c/c.md") == agent_folder("main/logs/2026/11/2026-11-20.md") == "main"


def test_a_file_that_bears_one_memorys_name_is_not_another_with_half_its_claims() -> None:
    """Of two that are gone, the first by path took what the second had become, and lost its claim."""

    def saved(name: str, said: str = "") -> bytes:
        return f"---\nname: {name}\ndescription: one\ntype: user\n---\n{said}".encode()

    tests = saved("tests", "Use the real database in tests.\n")
    base = {"main/a.md": tests, "main/b.md": saved("ports")}
    forgot = {"main/b.md": saved("ports")}
    moved = {"main/a.md": tests, "main/b-x.md": saved("ports")}
    other = {"main/a-x.md": tests, "main/b.md": saved("ports")}
    for first, second, third in permutations((forgot, moved, other)):
        merged = merge_trees(base, merge_trees(base, first, second).files, third).files
        assert merged == {"main/a-x.md": tests, "main/b-x.md": saved("ports")}


def test_a_description_alone_makes_no_file_another_ones_new_name() -> None:
    """One gave it up, another reworded it: a third one's file of the same description took its words."""

    def saved(name: str, described: str) -> bytes:
        return f"---\nname: {name}\ndescription: {described}\ntype: user\n---\n".encode()

    base = {"main/a.md": saved("a", "one")}
    sides = ({**base, "main/b.md": saved("b", "one")}, {}, {"main/a.md": saved("a", "two")})
    for first, second, third in permutations(sides):
        merged = merge_trees(base, merge_trees(base, first, second).files, third).files
        assert merged == {"main/a.md": saved("a", "two"), "main/b.md": saved("b", "one")}
