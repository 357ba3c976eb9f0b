"""What the merge does in the cases that people meet."""

from __future__ import annotations

from itertools import combinations

import pytest

from gitmem.core import tombstone
from gitmem.core.frontmatter import Frontmatter, split
from gitmem.core.memory import parse
from gitmem.core.merge import merge_front, merge_trees, only, renames, without

HEAD = "---\nname: db\ndescription: Which database\ntype: project\n---\n\n"


def tree(body: str, head: str = HEAD) -> dict[str, bytes]:
    return {"main/db.md": (head + body).encode()}


def merged(base: str, ours: str, theirs: str) -> str:
    return merge_trees(tree(base), tree(ours), tree(theirs)).files["main/db.md"].decode().removeprefix(HEAD)


def test_a_claim_changed_differently_stays_twice_and_says_so() -> None:
    result = merged("Use Postgres 15.\n", "Use Postgres 16.\n", "Use MySQL.\n")
    mark = parse("x.md", b"Use Postgres 15.\n").claims[0].id[:8]
    assert result == f"Use MySQL. *(disputed {mark})*\n\nUse Postgres 16. *(disputed {mark})*\n"


def test_a_dispute_is_settled_by_taking_one_side_out_and_the_mark_off() -> None:
    both = merged("Use Postgres 15.\n", "Use Postgres 16.\n", "Use MySQL.\n")
    assert merged(both, "Use Postgres 16.\n", both) == "Use Postgres 16.\n"


def test_two_who_settle_a_dispute_differently_lose_neither_and_are_asked_again() -> None:
    both = merged("Use Postgres 15.\n", "Use Postgres 16.\n", "Use MySQL.\n")
    again = merged(both, "Use Postgres 16.\n", "Use MySQL.\n")
    one, other = parse("x.md", again.encode()).claims
    assert {one.key, other.key} == {"Use MySQL.", "Use Postgres 16."}
    assert one.dispute == other.dispute not in ("", parse("x.md", both.encode()).claims[0].dispute)
    assert one.dispute == min(claim.id for claim in parse("x.md", both.encode()).claims)[:8]
    assert merged(again, "Use MySQL.\n", again) == "Use MySQL.\n"
    # Who let both stand chose what the other took out: it stands, and nobody has to be asked.
    kept = "Use MySQL.\n\nUse Postgres 16.\n"
    assert merged(both, kept, "Use MySQL.\n") == kept


def test_additions_of_both_sides_stand_in_the_place_they_were_put() -> None:
    result = merged("First.\n\nLast.\n", "First.\n\nOurs.\n\nLast.\n", "First.\n\nLast.\n\n- theirs\n")
    assert result == "First.\n\nOurs.\n\nLast.\n\n- theirs\n"


@pytest.mark.parametrize(
    ("before", "after"), [("Alpha beta.", "Alpha\nbeta."), ("Alpha\nbeta.", "Alpha beta.")]
)
def test_a_claim_that_one_side_wraps_anew_is_wrapped_so(before: str, after: str) -> None:
    assert merged(f"{before}\n", f"{before}\n\nNew.\n", f"{after}\n") == f"{after}\n\nNew.\n"
    assert merged("A b c.\n", "A b\nc.\n\nNew.\n", "A\nb c.\n") == "A\nb c.\n\nNew.\n"


def test_frontmatter_without_a_last_line_end_gets_one_before_a_body() -> None:
    for end in ("\n", "\r\n"):
        head = HEAD.strip().replace("\n", end)
        sides = tree("", head), tree(f"{end}A fact.{end}", head), tree("", head.replace("Which", "What"))
        (data,) = merge_trees(*sides).files.values()
        assert data.decode() == head.replace("Which", "What") + f"{end}A fact.{end}"


def test_a_claim_deleted_on_one_side_and_left_alone_on_the_other_goes() -> None:
    assert merged("Keep.\n\nGone.\n", "Keep.\n", "Keep.\n\nGone.\n\nNew.\n") == "Keep.\n\nNew.\n"


def test_an_edit_wins_over_a_deletion() -> None:
    assert merged("A fact about ports.\n", "", "A fact about ports and hosts.\n") == (
        "A fact about ports and hosts.\n"
    )
    base = tree("A fact.\n")
    assert merge_trees(base, {}, tree("A better fact.\n")).files == tree("A better fact.\n")


def test_what_a_person_forgot_stays_forgotten_and_the_losing_text_is_listed() -> None:
    stone = tombstone.bury("A fact.", "00" * 16, "2026-11-20", "forgot")
    forgot = {"main/.tombstones": stone.line().encode()}
    result = merge_trees(tree("A fact.\n"), forgot, tree("A better fact.\n"))
    assert result.files == forgot
    assert result.buried == (("main/db.md", "A better fact."),)


@pytest.mark.parametrize(
    ("base", "theirs"),
    [("Keep.\n\nA fact.\n", "Keep.\n\nA better fact.\n"), ("Keep.\n", "Keep.\n\nA fact.\n")],
)
def test_what_one_side_forgot_goes_where_the_other_edits_or_adds_it(base: str, theirs: str) -> None:
    stone = tombstone.bury("A fact.", "00" * 16, "2026-11-20", "forgot")
    forgot = tree("Keep.\n") | {"main/.tombstones": stone.line().encode()}
    for sides in ((forgot, tree(theirs)), (tree(theirs), forgot)):
        result = merge_trees(tree(base), *sides)
        assert result.files == forgot
        assert result.buried == (("main/db.md", theirs.split("\n")[2]),)


def test_a_body_that_one_side_left_alone_is_the_others_to_the_byte() -> None:
    """Also the ends of its lines, where all its claims are alike."""
    base, theirs, head = "- a\r\n- a\r\n- a\n", "- a\r\n- a\n- a\n", HEAD.replace("Which", "What")
    for sides in ((tree(base, head), tree(theirs)), (tree(theirs), tree(base, head))):
        assert merge_trees(tree(base), *sides).files == tree(theirs, head)


def test_a_claim_that_joins_what_was_forgotten_meanwhile_stays_alone() -> None:
    """The description is no claim of the body, of which the new one could be the edit."""
    head = "---\nname: db\ndescription: {}\ntype: project\n---\n"
    told = "The first paragraph tells the details of it."
    stone = tombstone.bury(told, "00" * 16, "2026-11-20", "forgot")
    forgot = {"main/.tombstones": stone.line().encode()}
    for about in ("Alpha", "What the first paragraph tells of it"):
        before = head.format(about) + f"Alpha a.\n\n{told}\n"
        more = "- Ask Ann about the details of it.\n"
        sides = [{"main/db.md": text.encode()} for text in (before, f"{before}\n{more}")]
        result = merge_trees(sides[0], forgot, sides[1])
        left = head.replace("description: {}\n", "") + more
        assert result.files == forgot | {"main/db.md": left.encode()}
        assert result.buried == (("main/db.md", "Alpha a."), ("main/db.md", told))


def test_two_different_memories_at_one_path_both_stay() -> None:
    one = tree("Cats.\n", HEAD.replace("name: db", "name: cats"))
    other = tree("Dogs are longer.\n", HEAD.replace("name: db", "name: dogs"))
    result = merge_trees({}, one, other)
    assert result.files["main/db.md"] == one["main/db.md"]
    (aside,) = result.split
    assert aside.startswith("main/db-") and result.files[aside] == other["main/db.md"]


def test_one_memory_written_twice_under_one_name_unites() -> None:
    files = merge_trees({}, tree("Cats.\n"), tree("Dogs.\n")).files
    assert files == tree("Cats.\n\nDogs.\n")


def test_half_of_the_claims_make_a_rename() -> None:
    new = {
        "main/b.md": tree("One.\n\nNew.\n\nAnother.\n", HEAD.replace("name: db", "name: b"))["main/db.md"]
    }
    assert renames(tree("One.\n\nTwo.\n"), new) == {"main/db.md": "main/b.md"}
    assert renames(tree("One.\n\nTwo.\n\nThree.\n"), new) == {}


def test_who_puts_more_room_between_two_claims_is_followed() -> None:
    for more in ("\n\n\n", "\n"):
        room = f"- a{more}- b\n"
        assert merged("- a\n\n- b\n", room, "- a\n\n- b\n\nC.\n") == room + "\nC.\n"


def test_an_edit_follows_a_rename() -> None:
    renamed = {"main/database.md": tree("One.\n\nTwo.\n")["main/db.md"]}
    result = merge_trees(tree("One.\n\nTwo.\n"), renamed, tree("One.\n\nTwo.\n\nThree.\n"))
    assert result.files == {"main/database.md": (HEAD + "One.\n\nTwo.\n\nThree.\n").encode()}


def test_frontmatter_takes_the_more_private_type_and_keeps_a_lost_description_as_a_claim() -> None:
    ours = HEAD.replace("type: project", "type: reference").replace("Which database", "Choice of database")
    theirs = HEAD.replace("type: project", "type: feedback").replace(
        "Which database", "The database we use"
    )
    result = merge_trees(tree("Postgres.\n"), tree("Postgres.\n", ours), tree("Postgres.\n", theirs))
    memory = parse("db.md", result.files["main/db.md"])
    assert memory.type == "feedback"
    assert memory.description == "Choice of database"
    assert "description: The database we use *(disputed " in memory.body


TYPES = ("user", "feedback", "project", "reference")


@pytest.mark.parametrize(("private", "other"), list(combinations(TYPES, 2)))
def test_of_two_types_the_more_private_stays_whichever_side_has_it(private: str, other: str) -> None:
    """The other way round what one person told of themselves would be shared (docs/formats.md, Merging)."""
    base, one, two = (tree("A fact.\n", HEAD.replace("project", type)) for type in ("odd", private, other))
    for sides in ((one, two), (two, one)):
        for start in (base, {}):
            assert merge_trees(start, *sides).files == one


def test_a_value_that_both_added_differently_stays_once_and_the_other_as_a_claim() -> None:
    bare = HEAD.replace("description: Which database\n", "")
    one, other = (bare.replace("type:", f"note: {note}\ntype:") for note in ("a", "b"))
    for sides in ((one, other), (other, one)):
        merged = merge_trees(tree("A.\n", bare), *(tree("A.\n", head) for head in sides)).files[
            "main/db.md"
        ]
        assert merged.decode().startswith(one + "A.\n\nnote: b *(disputed ")


def test_a_type_that_no_client_knows_gives_way_to_one_that_they_do() -> None:
    base, known, unknown = (
        tree("A fact.\n", HEAD.replace("project", type)) for type in ("x", "Reference", "a")
    )
    assert merge_trees(base, known, unknown).files == merge_trees(base, unknown, known).files == known


def test_bytes_survive_where_nothing_was_changed() -> None:
    lines = [
        "---", "name:   db", "# a comment", "description: it's: odd", "metadata: ", "  type: user",
        "---", "",
    ]  # fmt: skip
    head = "\r\n".join(lines)
    base, ours = tree("One.\r\n", head), tree("One.\r\n\r\nTwo.\r\n", head)
    theirs = tree("One.\r\n", head.replace("type: user", "type: project"))
    (data,) = merge_trees(base, ours, theirs).files.values()
    assert data.decode() == head.replace("type: user", "type: project") + "One.\r\n\r\nTwo.\r\n"


def test_indexes_merge_entry_by_entry() -> None:
    base = b"# Index\n\n- [A](a.md) \xe2\x80\x94 a\n- [B](b.md) \xe2\x80\x94 b\n"
    ours = base.replace(b"- [B]", b"- [Z](z.md) \xe2\x80\x94 z\n- [B]")
    theirs = base.replace(b"- [A](a.md) \xe2\x80\x94 a\n", b"") + b"\n## More\n- [C](c.md) \xe2\x80\x94 c\n"
    result = merge_trees(*({"main/MEMORY.md": data} for data in (base, ours, theirs))).files
    assert result["main/MEMORY.md"].decode() == (
        "# Index\n\n- [Z](z.md) — z\n- [B](b.md) — b\n\n## More\n- [C](c.md) — c\n"
    )


def test_tombstones_merge_as_a_set_and_a_lifted_one_stays_lifted() -> None:
    lines = [tombstone.bury(t, "00" * 16, "2026-11-20", "forgot").line() for t in ("a", "b", "c")]
    sides = ["".join(sorted(lines[:2])), lines[1], "".join(sorted(lines))]
    files = merge_trees(*({"main/.tombstones": text.encode()} for text in sides)).files
    assert files["main/.tombstones"].decode() == "".join(sorted(lines[1:]))


def front(*lines: str) -> Frontmatter | None:
    return split("\n".join(("---", *lines, "---", "")))[0] if lines else None


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "merged"),
    [
        ("tags: [a, b, c]", "tags: [b, c, d]", "tags: [a, c, e]", "tags: [c, d, e]"),
        ("", "tags: x", "tags: [w]", "tags: [w, x]"),
        ("tags: [a]", "", "tags: [a, b]", "tags: [a, b]"),
        ("tags: [a]", "", "tags: [a]", ""),
        ("tags: [a, b]", "tags: [a]", "tags: [b]", "tags: []"),
        ("modified: 2026-11-20", "modified: 2026-11-21", "modified: 2026-11-22", "modified: 2026-11-22"),
        ("type: x", "type: other", "type: Reference", "type: Reference"),
        ("", 'team: "a"', "team: a", 'team: "a"'),
        ("", "team:", "", "team:"),
        ("", "team:", "team:", "team:"),
        ("", "a: 1\nb: 1", "b: 1\na: 1", "a: 1\nb: 1"),
        ("", "tags: [f, e]", "tags: [d, c, b, a]", "tags: [a, b, c, d, e, f]"),
        ("", "", "e: 1\nd: 1\nc: 1", "e: 1\nd: 1\nc: 1"),
        ("", "type: reference", "type: project", "type: project"),
        ("", "type: project", "type: feedback", "type: feedback"),
        ("", "type: feedback", "type: user", "type: user"),
        ("", "type: reference", "type: user", "type: user"),
    ],
)
def test_a_key_that_both_sides_changed_is_united(base: str, ours: str, theirs: str, merged: str) -> None:
    """Lists keep what neither side took out and get what either brought; a type is the more private one."""
    blocks = [front("owner: Ann", *filter(None, [line])) for line in (base, ours, theirs)]
    for before, one, other in (blocks, [blocks[0], *blocks[:0:-1]]):
        found, lost = merge_front(before, one, other)
        expected = front("owner: Ann", *filter(None, [merged]))
        assert found and expected and found.render() == expected.render()
        assert lost == ()


@pytest.mark.parametrize("key", ["originSessionId", "node_type", "owner"])
def test_a_value_that_loses_becomes_a_claim_but_for_what_clients_keep_for_themselves(key: str) -> None:
    blocks = [
        front("name: n", *([f"{key}: {value}"] if value else []))
        for value in ("[Eve, Ed]", "Ben  Lee", "Ann")
    ]
    found, lost = merge_front(*blocks)
    assert (found, lost) == merge_front(blocks[0], blocks[2], blocks[1])
    assert found and found.text(key) == "Ann"
    mark = parse("x.md", b"owner: Eve, Ed").claims[0].id[:8]
    assert lost == ((f"owner: Ben Lee *(disputed {mark})*",) if key == "owner" else ())


def test_keys_that_only_the_other_side_has_come_in_the_order_of_their_names() -> None:
    blocks = [
        front("name: n"),
        *(front("name: n", *(f"{key}: 1" for key in keys)) for keys in ("gfe", "dcba")),
    ]
    for one, other in (blocks[1:], blocks[:0:-1]):
        found, _ = merge_front(blocks[0], one, other)
        assert found and list(found.keys()) in (["name", *"gfeabcd"], ["name", *"dcbaefg"])


def test_neighbours_of_what_goes_that_cannot_stand_apart_become_one() -> None:
    memory = parse("a.md", b"    code\n\n# H\n\n    more\n")
    gone = frozenset(claim.id for claim in memory.parsed.claims if claim.text == "# H")
    assert without(memory, gone).render() == b"    code\n\n    more\n"


def test_what_was_forgotten_is_listed_in_the_order_of_paths() -> None:
    stone = {
        "main/.tombstones": tombstone.bury("A fact.", "00" * 16, "2026-11-20", "forgot").line().encode()
    }
    base, theirs = (
        {f"main/{name}.md": text for name in "fedcba"} for text in (b"A fact.\n", b"Better fact.\n")
    )
    assert [path for path, _ in merge_trees(base, stone, theirs).buried] == sorted(base)


def test_of_two_new_names_the_first_stays() -> None:
    text = tree("One.\n\nTwo.\n")["main/db.md"]
    for one, other in ("xy", "yx"):
        sides = ({f"main/{name}.md": text} for name in (one, other))
        assert merge_trees({"main/db.md": text}, *sides).files == {"main/x.md": text}


def test_which_of_many_alike_was_renamed_to_which_goes_by_the_order_of_their_paths() -> None:
    base, side = ({f"main/{name}.md": b"One.\n" for name in names} for names in ("abc", "xyz"))
    found = {f"main/{old}.md": f"main/{new}.md" for old, new in zip("abc", "xyz", strict=True)}
    assert (
        renames(base, side) == renames(dict(reversed(base.items())), dict(reversed(side.items()))) == found
    )
    name = b"---\nname: b\n---\n\n"
    assert renames({"m/a.md": b"One.\n", "m/b.md": name}, {"m/x.md": name + b"One.\n"}) == {
        "m/b.md": "m/x.md"
    }


def test_only_some_files_are_taken_in_the_order_of_their_paths() -> None:
    assert [*only(dict.fromkeys("fedcba", b""), {*"abcdex"})] == [*"abcde"]


def test_what_both_wrote_with_returns_is_put_together_with_them() -> None:
    assert merge_trees({}, tree("A.\r\n"), tree("B.\r\n")).files == tree("B.\r\n\r\nA.\r\n")


def test_blocks_that_cannot_stand_as_they_stood_are_put_apart_and_nothing_before_the_first() -> None:
    result = merge_trees(
        *({"main/a.md": text} for text in (b"\nTwo.\n> q\n", b"***\n> q\n", b"```\nx\n```\nOne.\n"))
    )
    mark = b"*(disputed 1eb32d1e)*"
    expected = b"\n\n".join((b"***", mark, b"```\nx\n```", mark, b"One.\n"))
    assert result.files == {"main/a.md": expected}


@pytest.mark.parametrize(
    ("one", "other", "body"),
    [
        ("B.", "<!-- open", "A.\n\nB.\n\n<!-- open\n"),
        ("```\nopen", "B.", "A.\n\n```\nopen\n```\n\nB.\n"),
        ("```\nopen", "<!-- open", "A.\n\n```\nopen\n```\n\n<!-- open\n"),
        ("~~~\nopen", "<pre>\nopen", "A.\n\n~~~\nopen\n~~~\n\n<pre>\nopen\n"),
        ("B.", "  <pre>\nopen", "A.\n\nB.\n\n  <pre>\nopen\n"),
        ("- item", "    code", "    code\n\nA.\n\n- item\n"),
        ("- item", "\tcode", "\tcode\n\nA.\n\n- item\n"),
    ],
)
def test_what_both_added_is_put_where_it_can_stand(one: str, other: str, body: str) -> None:
    for ours, theirs in ((one, other), (other, one)):
        assert merged("A.\n", f"A.\n\n{ours}\n", f"A.\n\n{theirs}\n") == body
