"""What of a file in history may leave: what stands there, or the remote has, or became what stands."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from gitmem.core.memory import parse
from gitmem.ledger.excerpt import Excerpt, ExcerptQuery, portion, said

A, B, INDEX = "main/a.md", "main/b.md", "main/MEMORY.md"
LOG, OTHER = "main/logs/2026/11/2026-11-20.md", "main/.tombstones"


def memory(description: str, *claims: str, name: str = "a") -> bytes:
    about = f"description: {description}\n" if description else ""
    body = "\n\n".join(claims)
    return f"---\nname: {name}\n{about}type: project\n---\n\n{body}\n".encode()


def listed(names: str) -> bytes:
    """An index of memories with names of one letter."""
    return "".join(f"- [{name}]({name}.md) — {name}\n" for name in names).encode()


def became(path: str, *texts: str) -> frozenset[tuple[str, str]]:
    """Claims of a file that were made into what stands."""
    claims = parse(path, memory("", *texts)).parsed.claims
    return frozenset((path, claim.key) for claim in claims)


STANDS = memory("About a", "One.", "Two.")
ITEMS = memory("About a", "- one\n- two\n- three")


@pytest.mark.parametrize(
    ("path", "given", "then", "left"),
    [
        (A, ExcerptQuery(), {A: STANDS}, None),
        (A, ExcerptQuery(STANDS), {}, None),
        (A, ExcerptQuery(STANDS), {A: STANDS}, STANDS),
        (A, ExcerptQuery(STANDS), {A: memory("Secret", "Three."), B: STANDS}, STANDS),
        (A, ExcerptQuery(STANDS), {A: memory("About a", "One.", "Three.")}, memory("About a", "One.")),
        (A, ExcerptQuery(None, STANDS), {A: memory("About a", "Two.", "Three.")},
         memory("About a", "Two.")),
        (A, ExcerptQuery(STANDS, memory("Once", "Old.")), {A: memory("Once", "Old.", "Two.")},
         memory("Once", "Old.", "Two.")),
        (A, ExcerptQuery(STANDS), {A: memory("Secret", "One.")}, memory("", "One.")),
        (A, ExcerptQuery(STANDS), {A: memory("About a", "Three.")}, memory("About a")[:-2]),
        (A, ExcerptQuery(STANDS), {A: memory("Secret", "Three.")}, None),
        (A, ExcerptQuery(STANDS), {B: memory("About a", "One.")}, None),
        (A, ExcerptQuery(STANDS, None, became(B, "Four.")),
         {B: memory("Secret", "Four.", "Five.", name="b")}, memory("", "Four.")),
        (A, ExcerptQuery(STANDS, None, became(B, "Four.")), {A: memory("About a", "Four.", "One.")},
         memory("About a", "One.")),
        (A, ExcerptQuery(STANDS, None, became("main/0.md", "Four.")),
         {"main/0.md": memory("", "Four."), A: memory("About a", "Two.")},
         memory("About a", "Two.", "Four.")),
        (A, ExcerptQuery(ITEMS), {A: memory("About a", "- one\n- two\n- four\n- three")},
         memory("About a", "- one\n- two", "- three")),
        (INDEX, ExcerptQuery(listed("abc")), {INDEX: listed("axb")}, listed("ab")),
        (INDEX, ExcerptQuery(listed("abc")), {INDEX: listed("ax") + b"\n" + listed("c")},
         listed("a") + b"\n" + listed("c")),
        (INDEX, ExcerptQuery(listed("a")), {INDEX: listed("b")}, None),
        (INDEX, ExcerptQuery(listed("a")), {B: STANDS}, None),
        (LOG, ExcerptQuery(b"- 1\n- 2\n- 4"), {LOG: b"- 1\r\n- 3\r\n- 4\r\n"}, b"- 1\r\n- 4\r\n"),
        (OTHER, ExcerptQuery(None, b"v1 one\n"), {OTHER: b"v1 one\nv1 two\n"}, b"v1 one\n"),
        (OTHER, ExcerptQuery(b"v1 one\n"), {OTHER: b"v1 two\n"}, None),
    ],
)  # fmt: skip
def test_of_a_file_leaves_what_is_known_and_nothing_else(
    path: str, given: ExcerptQuery, then: Mapping[str, bytes], left: bytes | None
) -> None:
    assert portion(path, given, then) == left


def test_what_files_say_is_told_piece_by_piece() -> None:
    files = {A: memory("About a", "One.", name="The A"), INDEX: listed("a")}
    files |= {LOG: b"- 1\n\n", OTHER: b"v1\n"}
    found = said(files.items())
    assert found.names == {"a", "The A"} and found.texts == {"About a", "One.", "- 1"}
    assert {("entry", listed("a").decode()), ("other", "v1")} <= found.pieces and len(found.pieces) == 7
    part = said([(A, files[A])])
    assert part.within(found) and not found.within(part)
    assert found.without(part) == Excerpt(found.pieces - part.pieces)
