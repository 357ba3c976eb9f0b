"""Laws of the one merge: no claim lost, symmetric, stable, and the same claims in any order."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st
from laws import examples

from gitmem.core.claim import parse_body
from gitmem.core.memory import parse
from gitmem.core.merge import merge_trees

BLOCKS = st.sampled_from(
    [
        "Use the real database.", "Deploy from the release branch\nonly.", "**Why:** it broke twice.",
        "**How to apply:** in every test.", "- one item", "- another item\n  - with a child",
        "* starred", "1. first", "2. second", "```sh\nmake  test\n\n  make it\n```", "~~~\nopen fence",
        "    indented code", "# A heading", "Underlined\n---", "| a | b |\n|---|---|\n| 1 | 2 |",
        "> quoted", "[ref]: https://example.com", "<!-- a comment -->", "<div>html", "***",
        "- [ ] task", "   - indented item", "Line with `code` and *stress*",
    ]
)  # fmt: skip
WORDS = st.text(alphabet="abc .-#>`|*_\n\t1é", min_size=1, max_size=30)
BODIES = st.lists(BLOCKS | WORDS, max_size=6).map(lambda parts: "\n\n".join(parts) + "\n")
TIGHT = st.lists(BLOCKS | WORDS, max_size=6).map("\n".join)
TYPES = st.sampled_from(["user", "feedback", "project", "reference"])
FRONTS = st.builds(
    lambda name, hook, type, nested: (
        f"---\nname: {name}\ndescription: {hook}\n"
        + (f"metadata:\n  type: {type}\n" if nested else f"type: {type}\n")
        + "---\n"
    ),
    st.sampled_from(["alpha", "beta"]),
    st.sampled_from(["one", "two: odd", '"three"', ""]),
    TYPES,
    st.booleans(),
)
FILES = st.builds(lambda front, body: (front + body).encode(), FRONTS | st.just(""), BODIES | TIGHT)
INDEXES = st.lists(
    st.sampled_from(
        [
            "- [A](a.md) — one", "- [A](a.md) — two", "- [B](b.md) — b", "* c.md: plain", "# Index", "",
            "Prose.",
        ]
    ),
    max_size=6,
).map(lambda lines: "\n".join(lines).encode())  # fmt: skip
TREES = st.fixed_dictionaries(
    {},
    optional={
        "main/a.md": FILES,
        "main/b.md": FILES,
        "main/MEMORY.md": INDEXES,
        "reviewer/a.md": FILES,
        "README.md": st.sampled_from([b"x", b"y"]),
    },
)


def claims(files: dict[str, bytes]) -> set[str]:
    """Normal forms of all claims of all memories, descriptions too, wherever they stand."""
    found = set()
    for path, data in files.items():
        if path.startswith(("main/", "reviewer/")) and not path.endswith("MEMORY.md"):
            found |= {claim.key for claim in parse(path, data).claims}
    return found


@st.composite
def edited(draw: st.DrawFn, base: dict[str, bytes]) -> dict[str, bytes]:
    """A tree that someone made of another: files taken over, changed, dropped or added."""
    fresh = draw(TREES)
    result = {}
    for path in sorted({*base, *fresh}):
        choice = draw(st.sampled_from(["base", "base", "fresh", "gone", "mixed"]))
        if choice == "base" and path in base:
            result[path] = base[path]
        elif choice == "fresh" and path in fresh:
            result[path] = fresh[path]
        elif choice == "mixed" and path in base:
            blocks = base[path].decode().split("\n\n")
            kept = [block for block in blocks if draw(st.integers(0, 3))]
            kept.insert(draw(st.integers(0, len(kept))), draw(BLOCKS))
            result[path] = "\n\n".join(kept).encode()
    return result


@st.composite
def histories(draw: st.DrawFn, sides: int) -> tuple[dict[str, bytes], ...]:
    """A base and trees that started from it."""
    base = draw(TREES)
    return (base, *(draw(edited(base)) for _ in range(sides)))


@given(histories(2))
@settings(max_examples=examples(150))
def test_merge_is_the_same_whichever_side_is_ours(history: tuple[dict[str, bytes], ...]) -> None:
    base, one, other = history
    assert merge_trees(base, one, other).files == merge_trees(base, other, one).files


@given(histories(2))
@settings(max_examples=examples(150))
def test_no_added_claim_is_lost_and_none_is_invented(history: tuple[dict[str, bytes], ...]) -> None:
    base, one, other = history
    merged = claims(merge_trees(base, one, other).files)
    added = (claims(one) | claims(other)) - claims(base)
    kept = [path for path in base if path in one and path in other]
    shared = {
        key
        for path in kept
        for key in claims({path: base[path]}) & claims({path: one[path]}) & claims({path: other[path]})
    }
    # A title or description that lost on both sides stands as "key: value" in the body.
    said = {key.removeprefix("description: ").removeprefix("name: ") for key in merged}
    assert added | shared <= merged | said
    assert {k for k in merged if not k.startswith(("description: ", "name: "))} <= (
        claims(base) | claims(one) | claims(other)
    )


@given(histories(1))
@settings(max_examples=examples(100))
def test_a_side_that_changed_nothing_leaves_the_other_as_it_is(
    history: tuple[dict[str, bytes], ...],
) -> None:
    base, one = history
    assert merge_trees(base, one, base).files == one
    assert merge_trees(base, one, one).files == one


@given(histories(2))
@settings(max_examples=examples(120))
def test_merging_again_changes_nothing(history: tuple[dict[str, bytes], ...]) -> None:
    base, one, other = history
    merged = merge_trees(base, one, other).files
    assert merge_trees(one, merged, one).files == merged
    assert claims(merge_trees(base, merged, other).files) == claims(merged)


@given(histories(3))
@settings(max_examples=examples(120))
@example(
    (
        {"main/a.md": b"Gone.\n\nGoes.\n"},
        {"main/a.md": b"Gone.\n"},
        {"main/a.md": b"Goes.\n\n~~~\nopen"},
        # A fence that is opened on the last line, and whose text is what a closing one looks like.
        {"main/a.md": b"Gone.\n\n~~~"},
    )
)
def test_any_order_of_merges_gives_the_same_claims(history: tuple[dict[str, bytes], ...]) -> None:
    base, one, other, third = history
    first = merge_trees(base, merge_trees(base, one, other).files, third).files
    last = merge_trees(base, one, merge_trees(base, other, third).files).files
    assert claims(first) == claims(last)


@st.composite
def settled(draw: st.DrawFn) -> tuple[dict[str, bytes], ...]:
    """A memory with claims in dispute, and what three people made of them, each for himself."""
    marks = ["", " *(disputed 01234567)*", " *(disputed 89abcdef)*"]
    claims = draw(st.lists(st.sampled_from("ABCD"), min_size=1, max_size=4, unique=True))
    before = {claim: draw(st.sampled_from(marks)) for claim in claims}
    people = [before]
    for _ in range(3):
        fates = {claim: draw(st.sampled_from(["kept", "chosen", "out", "again"])) for claim in claims}
        how = {"kept": None, "chosen": marks[0], "again": marks[2]}
        people.append(
            {
                claim: mark if (new := how[fates[claim]]) is None else new
                for claim, mark in before.items()
                if fates[claim] != "out"
            }
        )
    return tuple(
        {"main/a.md": "\n\n".join(f"{claim}{mark}" for claim, mark in one.items()).encode() + b"\n"}
        for one in people
    )


@given(settled())
@settings(max_examples=examples(300))
def test_what_somebody_chose_of_a_dispute_stands_whatever_others_chose(
    history: tuple[dict[str, bytes], ...],
) -> None:
    base, *sides = history
    was = {claim.key: claim.dispute for claim in parse("a.md", base["main/a.md"]).claims}
    chosen = {
        claim.key
        for side in sides
        for claim in parse("a.md", side["main/a.md"]).claims
        if was[claim.key] not in ("", claim.dispute)
    }
    one, other, third = sides
    first = merge_trees(base, merge_trees(base, one, other).files, third).files
    last = merge_trees(base, one, merge_trees(base, other, third).files).files
    assert claims(first) == claims(last)
    assert merge_trees(base, one, other).files == merge_trees(base, other, one).files
    assert chosen <= {claim.key for claim in parse("a.md", first["main/a.md"]).claims}


@given(BODIES | TIGHT)
@settings(max_examples=examples(300))
@example("a\r\n\r\n- b\r\n")
@example("```\nopen\n\n\n")
@example("\u00a0\n\nx")
def test_a_body_is_cut_without_losing_a_byte(body: str) -> None:
    assert parse_body(body).render() == body
