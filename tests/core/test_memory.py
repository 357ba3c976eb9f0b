"""What a memory file says, what is wrong with it, and how it is shown where changes are."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gitmem.core.memory import (
    TYPES,
    Memory,
    claim_lines,
    create,
    description_claim,
    disputed_keys,
    is_said,
    memory_text,
    parse,
    problems,
    reword,
    with_after,
    with_description,
    without,
    without_lost,
)

HEAD = "---\nname: {}\ndescription: {}\ntype: {}\n---\n\n"


def file(name: str = "a", description: str = "About a.", type: str = "user", body: str = "A.\n") -> bytes:
    return (HEAD.format(name, description, type) + body).encode()


def test_a_memory_says_its_name_description_and_type() -> None:
    memory = parse("main/x.md", file(type="Feedback"))
    assert (memory.name, memory.description, memory.type) == ("a", "About a.", "feedback")
    assert [claim.text for claim in memory.claims] == ["A.", "About a."]


@pytest.mark.parametrize("data", [b"Only a body.\n", file(name="", description="", type="")])
def test_a_memory_that_says_nothing_of_itself_has_the_name_of_its_file(data: bytes) -> None:
    memory = parse("main/some-file.md", data)
    assert (memory.name, memory.description, memory.type) == ("some-file", "", "project")
    assert len(memory.claims) == 1


def test_what_is_odd_in_frontmatter_is_read_as_something_and_told() -> None:
    assert parse("a.md", file(type="secret")).type == "project"
    assert len(problems(parse("a.md", file(description="'open")))) == 1


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (file(), ()),
        (file(type="REFERENCE"), ()),
        (file(type="secret"), ("unknown type 'secret'",)),
        (file(type=""), ("no type",)),
        (b"A.\n", ("no frontmatter",)),
        (file(body="A \xff").replace("\u00ff".encode(), b"\xff"), ("not UTF-8 at byte 52",)),
        (b"\xff", ("not UTF-8 at byte 0", "no frontmatter")),
    ],
)
def test_what_a_reader_would_stumble_over_is_named(data: bytes, found: tuple[str, ...]) -> None:
    assert problems(parse("a.md", data)) == found
    assert TYPES == ("user", "feedback", "project", "reference")


@pytest.mark.parametrize(("description", "key"), [("One  two.", "One two."), ("", None), (" \n ", None)])
def test_a_description_is_a_claim(description: str, key: str | None) -> None:
    claim = description_claim(description)
    assert (claim.key if claim else None) == key
    assert claim is None or (claim.text, claim.lead, claim.item) == (description, "", False)


def test_a_created_memory_ends_in_one_newline() -> None:
    memory = create("a", "About a.", "user", "\n\nA.\n\n\n", "a.md")
    assert memory.body == "\nA.\n" and memory.path == "a.md" and problems(memory) == ()


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("One\n  two\r\nthree.", ["One two three."]),
        ("- One\n  two", ["- One two"]),
        ("12. One\n   **two**", ["12. One **two**"]),
        ("> One\n> two", ["> One", "> two"]),
        ("```\na\nb\n```", ["```", "a", "b", "```"]),
        ("One\n2 two", ["One", "2 two"]),
        ("One\n(two) _three_", ["One (two) _three_"]),
        ("One\n| two", ["One", "| two"]),
        ("**One**\n'two'\n[three]\n`four`", ["**One** 'two' [three] `four`"]),
        ("    code\nmore", ["    code", "more"]),
        ("   One\ntwo", ["One two"]),
        ("3 One\ntwo", ["3 One two"]),
        ('- "One"\n"two"', ['- "One" "two"']),
        ("1234567890. One\ntwo", ["1234567890. One two"]),
    ],
)
def test_prose_is_shown_on_one_line_and_a_shape_as_it_stands(text: str, lines: list[str]) -> None:
    assert claim_lines(text) == lines


def test_a_memory_is_shown_line_by_line_with_the_keys_that_the_format_does_not_know() -> None:
    head = b"---\nname: a\nmetadata:\n  type: user\n  modified: 3\n\nowner: Ann\n---\n"
    data = head + b"\nOne\ntwo.\n\n```\n\nx\n```\n"
    assert memory_text(parse("b.md", data)) == (
        " name: a\n type: user\n description:\n   modified: 3\n owner: Ann\n One two.\n ```\n\n x\n ```\n"
    )
    assert memory_text(parse("b.md", b"One.\n")) == " name: b\n type: project\n description:\n One.\n"


def edited(body: str, made: Callable[[Memory], Memory | None]) -> str | None:
    """What becomes of a body, the same with frontmatter before it and without."""
    found = [made(parse("main/a.md", data)) for data in (f"{body}\n".encode(), file(body=f"{body}\n"))]
    bodies = {one.body.removeprefix("\n").removesuffix("\n") if one else None for one in found}
    assert len(bodies) == 1, bodies
    return bodies.pop()


@pytest.mark.parametrize(
    ("body", "gone", "left"),
    [
        ("A.\n\nB.\n\n\nC.", [1], "A.\n\n\nC."),
        ("A.\n\nB.\n\n\nC.", [0, 1], "C."),
        ("A.\n\nB.\n\n\nC.", [], "A.\n\nB.\n\n\nC."),
        ("A.\n\nB.", [0, 1], ""),
        ("- a\n- b\n- c", [1], "- a\n- c"),
        ("- a\n\ntext\n\n    code", [1], None),
    ],
)
def test_claims_are_taken_out_where_the_others_stay_what_they_are(
    body: str, gone: list[int], left: str | None
) -> None:
    assert edited(body, lambda memory: without(memory, gone)) == left


@pytest.mark.parametrize(
    ("body", "position", "added", "found"),
    [
        ("A.", 0, "X.\n\nY.", "A.\n\nX.\n\nY."),
        ("A.\n\nB.", 0, "X.", "A.\n\nX.\n\nB."),
        ("A.\n\nB.", -1, "- x\n- y", "A.\n\nB.\n\n- x\n- y"),
        ("- a\n- b", 0, "- x", "- a\n- x\n- b"),
        ("- a\n- b", 0, "X.", "- a\n\nX.\n\n- b"),
        ("- a", -1, "- x", "- a\n- x"),
        ("A.\n- b", 0, "- x", "A.\n\n- x\n- b"),
        ("A.\n# H", 0, "- x", "A.\n\n- x\n\n# H"),
        ("A.\n\n\nB.", 0, "X.", "A.\n\nX.\n\n\nB."),
        ("A.\n\n    code", 0, "- x", None),
    ],
)
def test_claims_are_put_in_as_their_neighbours_allow(
    body: str, position: int, added: str, found: str | None
) -> None:
    """Items beside items; a blank line around all else."""
    new = parse("main/b.md", added.encode()).parsed.claims
    assert edited(body, lambda memory: with_after(memory, position, new)) == found


def test_the_first_claim_of_a_memory_stands_below_its_frontmatter() -> None:
    new = parse("main/b.md", b"X.").parsed.claims
    for data, whole in ((b"", b"X.\n"), (file(body="").rstrip() + b"\n", file(body="\nX.\n"))):
        made = with_after(parse("main/a.md", data), -1, new)
        assert made and made.render() == whole


@pytest.mark.parametrize(
    ("body", "texts", "found"),
    [
        ("A.\n\nB.", {1: "C."}, "A.\n\nC."),
        ("- a\n- b", {0: "- c"}, "- c\n- b"),
        ("A.\n\nB.", {0: "C.\n\nD."}, None),
    ],
)
def test_claims_are_reworded_in_their_places(body: str, texts: dict[int, str], found: str | None) -> None:
    assert edited(body, lambda memory: reword(memory, texts)) == found


def test_a_memory_is_described_anew_if_it_is_read_back() -> None:
    memory = parse("main/a.md", file())
    other = with_description(memory, "About b.")
    assert other and other.description == "About b." and other.body == memory.body
    assert (
        with_description(memory, "About\nb.") is None
        and with_description(parse("a.md", b"A.\n"), "B.") is None
    )


MARK = "*(disputed 01234567)*"


@pytest.mark.parametrize(
    ("body", "lost", "left"),
    [
        (f"A.\n\ntype: project {MARK}\n", {"type": ("project",)}, "A.\n"),
        (
            f"type: project {MARK}\n\nA.\n\ntype: feedback {MARK}\n",
            {"type": ("project", "feedback")},
            "A.\n",
        ),
        (f"A. {MARK}\n\nB. {MARK}\n", {}, None),
        (f"owner: Ann {MARK}\n", {}, None),
        (f"type: one\n  two {MARK}\n", {}, None),
        (f"type: project {MARK}\n\nA. {MARK}\n", {}, None),
        (f"type: project {MARK}\n\nname: b {MARK}\n", {}, None),
        ("type: project\n", {}, None),
    ],
)
def test_a_value_that_lost_a_merge_is_shown_by_its_key_and_not_as_a_claim(
    body: str, lost: dict[str, tuple[str, ...]], left: str | None
) -> None:
    """Of a dispute about one key of the frontmatter alone: any other is one about claims."""
    memory = parse("main/a.md", file(body=body))
    shown, found = without_lost(memory)
    assert found == lost and shown.body == f"\n{body if left is None else left}"
    assert disputed_keys(memory) == ({"01234567": "type"} if lost else {})
    assert without_lost(parse("main/a.md", body.encode()))[1] == {}


@pytest.mark.parametrize(
    ("loser", "said"),
    [
        ("description: Ask Ann!", True),
        ("description: Ask  Ann", True),
        ("description: Ask Ben", False),
        ("description: ", False),
        ("name: Ask Ann", False),
    ],
)
def test_a_description_that_lost_may_stand_in_the_body(loser: str, said: bool) -> None:
    assert is_said(f"{loser} {MARK}", ["One.", "Ask Ann."]) is said
