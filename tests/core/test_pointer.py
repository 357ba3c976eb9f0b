"""The claim that says which file has the rule of a memory: written, read again, put in and taken out."""

from __future__ import annotations

import pytest

from gitmem.core import pointer
from gitmem.core.memory import parse

HEAD = "---\nname: a\ndescription: A.\ntype: project\n---\n"
RULE = "**Rule in:** [docs/rules.md](docs/rules.md)"


def memory(body: str):
    return parse("a.md", (HEAD + body).encode())


@pytest.mark.parametrize(
    ("path", "claim"),
    [
        ("CLAUDE.md", "**Rule in:** [CLAUDE.md](CLAUDE.md)"),
        ("a b/c.md", "**Rule in:** [a b/c.md](a%20b/c.md)"),
        ("a[1]/(c).md", "**Rule in:** [a(1)/(c).md](a%5B1%5D/%28c%29.md)"),
        ("x~y+z@1,2=3.md", "**Rule in:** [x~y+z@1,2=3.md](x~y+z@1,2=3.md)"),
        ("größe.md", "**Rule in:** [größe.md](gr%C3%B6%C3%9Fe.md)"),
        ("a\udcff.md", "**Rule in:** [a\ufffd.md](a%FF.md)"),
    ],
)
def test_a_claim_names_the_file_as_a_link(path: str, claim: str) -> None:
    assert pointer.claim_for(path) == claim
    assert claim.encode().startswith(pointer.BEGINNING)
    assert pointer.rule_file(memory(f"\n{claim}\n")) == ("" if "\udcff" in path else path)


@pytest.mark.parametrize(
    "target",
    [
        "", "../up.md", "a/./b.md", "a//b.md", "/a.md", "a/", ".git/x", "a/.GIT/x", "a%0Ab", "x" * 1025,
        "%2e%2e/a",
    ],
)  # fmt: skip
def test_a_link_out_of_the_tree_is_no_pointer(target: str) -> None:
    """What others wrote must not lead a reader to another file."""
    assert pointer.pointers(memory(f"\n**Rule in:** [a]({target})\n")) == ()


@pytest.mark.parametrize(
    "text",
    [
        "See **Rule in:** [a](a.md)", "**Rule in:** [a](a.md) and more", "**Rule in:** a.md",
        "**Rule in:** [a](a.md", "**rule in:** [a](a.md)", "**Rule in:** [a[b]](a.md)",
        "- **Rule in:** [a](a.md)",
    ],
)  # fmt: skip
def test_only_a_claim_of_just_this_form_points(text: str) -> None:
    assert pointer.rule_file(memory(f"\n{text}\n")) == ""
    assert pointer.rule_file(memory("\n**Rule in:** [](a.md)  \n")) == "a.md"


def test_a_path_may_be_as_long_as_a_memory_trees_and_the_first_of_several_counts() -> None:
    path = "x" * 1024
    assert pointer.rule_file(memory(f"\n{pointer.claim_for(path)}\n")) == path
    both = memory(f"\nFact.\n\n{pointer.claim_for('a.md')}\n\n{pointer.claim_for('b.md')}\n")
    assert pointer.rule_file(both) == "a.md" and len(pointer.pointers(both)) == 2


@pytest.mark.parametrize(
    ("body", "pointed"),
    [
        ("\nFact.\n", f"\nFact.\n\n{RULE}\n"),
        ("\nFact.", f"\nFact.\n\n{RULE}"),
        ("\r\nFact.\r\n", f"\r\nFact.\r\n\r\n{RULE}\r\n"),
        ("\nFact.\n\n**Rule in:** [x](x.md)\n", f"\nFact.\n\n{RULE}\n"),
        (f"\nFact.\n\n{RULE}\n\nMore.\n", f"\nFact.\n\n{RULE}\n\nMore.\n"),
        (f"\n{RULE}\n\n**Rule in:** [x](x.md)\n\nFact.\n", f"\n\nFact.\n\n{RULE}\n"),
        ("\n```\nopen\n", f"\n{RULE}\n\n```\nopen\n"),
    ],
)
def test_a_memory_points_to_one_file_and_keeps_its_bytes(body: str, pointed: str) -> None:
    given = pointer.with_pointer(memory(body), "docs/rules.md")
    assert given.body == pointed
    assert pointer.rule_file(parse("a.md", given.render())) == "docs/rules.md"


@pytest.mark.parametrize(
    ("body", "bare"),
    [
        ("\nFact.\n", "\nFact.\n"),
        (f"\nFact.\n\n{RULE}\n", "\nFact.\n"),
        (f"\nOne\n\n{RULE}\n\nTwo\n", "\nOne\n\nTwo\n"),
        (f"\n- One\n{RULE}\n\nTwo\n", f"\n- One\n{RULE}\n\nTwo\n"),
        (f"\n{RULE}\n\nTwo\n", "\n\nTwo\n"),
        (f"\n{RULE}\n", "\n"),
        (f"\nOne.\n***\n{RULE}\n\n---\nTwo.\n", None),
    ],
)
def test_without_its_pointer_a_memory_keeps_every_other_claim(body: str, bare: str | None) -> None:
    before = memory(body)
    after = pointer.without_pointer(before)
    assert bare is None or after.body == bare
    gone = {claim.key for claim in pointer.pointers(before)}
    said = [claim.key for claim in before.parsed.claims if claim.key not in gone]
    assert [claim.key for claim in parse("a.md", after.render()).parsed.claims] == said


def test_what_runs_into_one_without_the_pointer_keeps_its_lines() -> None:
    assert (
        pointer.without_pointer(memory(f"\n    one\n\n{RULE}\n\n    two\n")).body == "    one\n\n    two\n"
    )


@pytest.mark.parametrize(
    ("path", "promoted"),
    [
        ("main/a.md", True),
        ("main/archive/ab/a.md", True),
        ("main/logs/2026/11/2026-11-20.md", False),
        ("main/other/a.md", True),
        ("main/team/a.md", False),
    ],
)
def test_a_memory_is_promoted_wherever_a_memory_stands(path: str, promoted: bool) -> None:
    data = f"{HEAD}\nFact.\n\n{RULE}\n".encode()
    assert pointer.is_promoted(path, data) is promoted
    assert not pointer.is_promoted(path, f"{HEAD}\nFact.\n".encode())
    assert not pointer.is_promoted(path, f"{HEAD}\nSee {RULE}\n".encode())
