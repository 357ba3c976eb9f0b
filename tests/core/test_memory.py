"""What a memory file says, what is wrong with it, and how it is shown where changes are."""

from __future__ import annotations

import pytest

from gitmem.core.memory import claim_lines, create, description_claim, memory_text, parse, problems

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
