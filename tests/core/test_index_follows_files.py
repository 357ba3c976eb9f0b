"""The merged index lists what the merged files are, where these did not fare as their lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.index import targets
from gitmem.core.merge import merge_trees

Files = dict[str, bytes]


def memory(name: str, *claims: str) -> bytes:
    body = "\n\n".join(claims)
    return f"---\nname: {name}\ndescription: About {name}\ntype: project\n---\n\n{body}\n".encode()


def listed(*names: str, **files: str) -> bytes:
    """Gitmem's own lines for memories in files of their names, or in others."""
    places = {name: name for name in names} | files
    return "".join(f"- [{name}]({places[name]}.md) — About {name}\n" for name in sorted(places)).encode()


BASE: Files = {"main/MEMORY.md": listed("a", "b"), "main/a.md": memory("a", "One.", "Two.", "Three.")}
GONE: Files = {"main/MEMORY.md": listed("b")}


def renamed(to: str) -> Files:
    return {"main/MEMORY.md": listed("b", a=to), f"main/{to}.md": BASE["main/a.md"]}


@pytest.mark.parametrize("swapped", [False, True])
def test_a_memory_that_outlives_a_deletion_keeps_its_line(swapped: bool) -> None:
    edited = BASE | {"main/a.md": memory("a", "One.", "Two.", "Four.")}
    merged = merge_trees(BASE, *((edited, GONE) if swapped else (GONE, edited))).files
    assert set(targets(merged["main/MEMORY.md"].decode())) == {"a.md", "b.md"}


@pytest.mark.parametrize("swapped", [False, True])
def test_a_memory_that_both_renamed_has_one_line(swapped: bool) -> None:
    sides = (renamed("x"), renamed("y"))
    merged = merge_trees(BASE, *(sides[::-1] if swapped else sides)).files
    names = {path.removeprefix("main/") for path in merged} - {"MEMORY.md"}
    assert len(names) == 1
    assert set(targets(merged["main/MEMORY.md"].decode())) == names | {"b.md"}


def test_a_deletion_alone_takes_the_line_along() -> None:
    assert merge_trees(BASE, GONE, BASE).files == GONE


def test_a_memory_that_the_base_did_not_list_gets_no_line() -> None:
    """A person who keeps a memory out of the index wants it so."""
    base = BASE | {"main/MEMORY.md": listed("b")}
    edited = base | {"main/a.md": memory("a", "One.", "Two.", "Four.")}
    assert merge_trees(base, GONE, edited).files["main/MEMORY.md"] == listed("b")


@given(st.lists(st.sampled_from(["keep", "edit", "delete", "x", "y"]), min_size=2, max_size=2))
def test_the_index_lists_a_merged_memory_whatever_both_sides_did(acts: list[str]) -> None:
    sides: list[Files] = []
    for who, act in enumerate(acts):
        edited = BASE | {"main/a.md": memory("a", "One.", "Two.", f"Edited by {who}.")}
        made = {"keep": BASE, "edit": edited, "delete": GONE}
        sides.append(made.get(act) or renamed(act))
    merged = merge_trees(BASE, *sides).files
    assert merged == merge_trees(BASE, *sides[::-1]).files
    names = {path.removeprefix("main/") for path in merged} - {"MEMORY.md"}
    assert set(targets(merged["main/MEMORY.md"].decode())) - {"b.md"} == names
