"""Frontmatter: every byte back, one key changed at a time, and valid YAML where gitmem writes it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from gitmem.core import frontmatter
from gitmem.core.frontmatter import split
from gitmem.core.memory import create, parse, problems

ODD_LINES = st.sampled_from(
    [
        "name: a", "name:", "name:  two  spaces  ", "description: it's: odd",
        'description: "quoted \\"inside\\""', "description: >", "  folded",
        "    deeper: not a key of its own", "metadata:", "metadata: ", "  type: user",
        "\ttype: feedback", "    type: odd", "type: project", "tags: [a, b]", "tags:", "  - one",
        "- two", "# a comment", "  # an indented comment", "", "unknown.key: x", "x: &anchor y",
        "z: *anchor", "t: !!python/object x", "no key here", ": nothing", "name: again",
        "\ufeffname: bom", "a" + " " * 50 + "b",
    ]
)  # fmt: skip
BLOCKS = st.lists(ODD_LINES | st.text(max_size=20), max_size=12).flatmap(
    lambda lines: st.sampled_from(["\n", "\r\n"]).map(
        lambda end: end.join(["---", *lines, "---", "Body.", ""])
    )
)
VALUES = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@given(BLOCKS | st.text(max_size=60))
@example("---\n---")
@example("\ufeff---\nname: a\n---\nx")
@example("---\nname: a\n---")
@example("---\rname: a\r---\r")
def test_a_file_is_cut_without_losing_a_byte(text: str) -> None:
    front, body = split(text)
    assert (front.render() if front else "") + body == text


@given(st.binary(max_size=80).map(lambda data: b"---\nname: " + data + b"\n---\n" + data))
def test_bytes_that_are_not_utf8_survive(data: bytes) -> None:
    assert parse("x.md", data).render() == data


@given(BLOCKS, st.sampled_from(["name", "type", "tags", "new", "unknown.key"]), VALUES)
@example("---\nname: a\nname: again\n---\n", "name", " ")
@example("---\nname: a\nname: again\n---\n", "name", "b")
@example("---\nmetadata:\n    type: odd\n    other: key\n---\n", "type", "user")
def test_setting_a_key_changes_that_key_alone(text: str, key: str, value: str) -> None:
    front, _ = split(text)
    if front is None:
        return
    old = front.field(key)
    changed = front.with_value(key, value)
    again, body = split(changed.render() + "Body.\n")
    assert again == changed and body == "Body.\n"
    # A file may have a key twice, and a blanked one gives way to the one that has a value. A value that was
    # there already, in YAML's own words, is left as it stands.
    rest = replace(front, fields=tuple(field for field in front.fields if field is not old))
    wanted = " ".join(value.split()) or rest.text(key)
    assert again.text(key) == (value if old is not None and old.value == value else wanted)
    pairs = list(zip(changed.fields, front.fields, strict=False))
    assert all(new is field for new, field in pairs if field is not old)
    assert len(changed.fields) == len(front.fields) + (old is None)


@given(VALUES, VALUES, st.sampled_from(["user", "feedback", "project", "reference"]))
@example("<<", "=", "user")
@example("2026-11-20", "2026-11-20 10:00:00", "user")
@example("12:30:45", "0x1F", "user")
@example("y", "~", "user")
@example("- a", "a: b # c", "user")
@example("\x00\x7f", "\u2028\ufeff", "user")
def test_a_new_block_is_yaml_that_says_what_was_meant(name: str, description: str, type: str) -> None:
    block = frontmatter.new(name, description, type)
    loaded = yaml.safe_load(block.render().removeprefix("---\n").removesuffix("---\n"))
    wanted = [" ".join(text.split()) for text in (name, description)]
    assert [loaded["name"] or "", loaded["description"] or "", loaded["metadata"]["type"]] == [
        *wanted,
        type,
    ]
    assert [block.text("name"), block.text("description"), block.text("type")] == [*wanted, type]
    assert frontmatter.yaml_problem(block) == ""


@given(st.from_regex(r"[\"'][ -~]{0,12}[\"']", fullmatch=True))
def test_what_stands_for_itself_between_quotes_needs_no_yaml(value: str) -> None:
    if frontmatter._QUOTED.fullmatch(value):
        assert value[1:-1] == frontmatter._load(f"name: {value}\n")


@given(st.lists(VALUES, max_size=4))
@example(["A?"])
def test_a_list_reads_as_it_was_written(items: list[str]) -> None:
    raw = frontmatter.render_field("tags", tuple(items), nested=False)
    wanted = [" ".join(item.split()) for item in items]
    assert yaml.safe_load(raw)["tags"] == wanted
    assert frontmatter.Field("tags", False, raw).value == tuple(wanted)


def test_both_layouts_are_read_and_written_back_in_their_own() -> None:
    flat = b"---\nname: A\ntype: feedback\n---\nx\n"
    nested = b"---\nname: a\nmetadata: \n  node_type: memory\n  type: feedback\n---\nx\n"
    for data in (flat, nested):
        memory = parse("a.md", data)
        assert memory.type == "feedback" and memory.front is not None
        changed = memory.front.with_value("type", "user").render().encode() + b"x\n"
        assert changed == data.replace(b"type: feedback", b"type: user")


def test_a_blanked_key_gives_way_and_a_rule_at_the_beginning_is_no_frontmatter() -> None:
    memory = parse("a.md", b"---\ntype:\nmetadata:\n  type: user\n---\n")
    assert memory.type == "user"
    assert split("---\n\nJust prose here.\n\n---\n")[0] is None
    assert split("---\ufeff\nname: a\n---\n")[0] is None
    assert split("---\n# of ours\n\nname: a\n---\n")[0] is not None


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("description: one: two", "one: two"),
        ("description: 'it''s'", "it's"),
        ('description: "a\\tb"', "a\tb"),
        ("description: |\n  one\n  two", "one\ntwo"),
        ("description: >\n  one\n  two", "one two"),
        ('description: "\\ud83d\\ude00 x"', "😀 x"),
        ("description: plain\n  continued", "plain continued"),
        ("description: a # comment", "a"),
        ("description: a#b", "a#b"),
        ("description: [unclosed", "[unclosed"),
        ("description: *alias", "*alias"),
        ("description: &anchor x", "&anchor x"),
        ("description: !!str x", "!!str x"),
        ("description: yes", "yes"),
        ("description: 007", "007"),
        ("metadata:\n\tdescription: [a, 'b']", "a, b"),
        ("metadata:\n\tdescription: 'a\n\t b'", "a b"),
    ],
)
def test_values_are_read_as_a_person_would(line: str, value: str) -> None:
    data = f"---\n{line}\n---\n".encode()
    memory = parse("a.md", data)
    assert memory.description == value and memory.render() == data


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("name: &a x", "anchors"),
        ("name: *a", "anchors"),
        ("name: !!python/object/apply:os.system [x]", "tags"),
        ("name: one: two", "not valid YAML in line 2"),
        ("name: " + "[" * 5000, "too long or too deeply nested"),
        ("name: " + "x" * 50_000, "too long"),
        ("name: x\n owner: y", "not valid YAML in line 3"),
        ("metadata:\n  type: user\n note: x", "not valid YAML in line 4"),
        ("metadata:\n  a: x\n   b: y", "not valid YAML"),
        ("metadata: x\n  a: y", "not valid YAML"),
        ("name: x\nno key", "not valid YAML in line"),
        ("name: \x07", "not valid YAML"),
    ],
)
def test_what_yaml_cannot_or_may_not_read_is_reported(line: str, said: str) -> None:
    memory = parse("a.md", f"---\n{line}\ntype: user\n---\n".encode())
    assert any(said in problem for problem in problems(memory))


def test_a_memory_that_is_created_reads_back() -> None:
    memory = create("No: mocks", 'Say "real"', "feedback", "Use it.\n\n**Why:** x", "no-mocks.md")
    again = parse("no-mocks.md", memory.render())
    assert (again.name, again.description, again.type) == ("No: mocks", 'Say "real"', "feedback")
    assert [claim.key for claim in again.claims] == ["Use it.", "**Why:** x", 'Say "real"']
