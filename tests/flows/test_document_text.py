"""Which files are living documents, and what they say of the code."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.flows.document_text import MOST_BYTES, parse, statements


@pytest.mark.parametrize("bom", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_document_keeps_its_bytes(bom: str, end: str) -> None:
    text = f"{bom}# MAGIC DOC: The layers{end}{end}*Keep it short.*{end}{end}See `src/a.py`.{end}"
    doc = parse("docs/layers.md", text.encode())
    assert doc is not None
    assert (doc.title, doc.instructions, doc.text) == ("The layers", "Keep it short.", text)
    (one,) = doc.statements
    assert (one.line, doc.text[one.start : one.end]) == (5, "src/a.py")


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("a.md", b"intro\n# MAGIC DOC: Late\n"),
        ("a.md", b"# MAGIC DOC:\n"),
        ("a.md", b"## MAGIC DOC: Deeper\n"),
        ("a.py", b"# MAGIC DOC: Code\n"),
        ("a.md", b"# MAGIC DOC: Odd \xff\n"),
        ("a.md", b"# MAGIC DOC: Long\n" + b"x" * MOST_BYTES),
    ],
)
def test_other_files_are_no_documents(path: str, data: bytes) -> None:
    assert parse(path, data) is None


DOCUMENT = (
    "`src/a.py:12` and `src/lib/`, `parse_it()`, `--at`, run `git mem docs check --strict`,\n"
    "`make lint`, `npm run build -- x`, [map](../b.md#top), ``c/d.py``\n"
    "```sh\n$ make all\nmake: nothing to do\n```\n"
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            DOCUMENT,
            {
                ("file", "src/a.py"),
                ("folder", "src/lib/"),
                ("symbol", "parse_it"),
                ("flag", "--at"),
                ("flag", "--strict"),
                ("command", "git mem docs"),
                ("command", "make lint"),
                ("command", "npm run build"),
                ("link", "../b.md#top"),
                ("file", "c/d.py"),
                ("command", "make all"),
            },
        ),
        ("[x](https://example.org/a.md), <https://example.org/src/a.py>, [y](mailto:a@b.c)", set()),
        ("[x](path/to/a.md) and `path/to/b.md`", set()),
        ("[x](src/a.py) beside src/b.py", {("link", "src/a.py"), ("file", "src/b.py")}),
        ("It was `make all` formerly; it was replaced.", set()),
    ],
)
def test_a_document_names_links_and_commands_too(text: str, found: set[tuple[str, str]]) -> None:
    assert {(one.kind, one.name) for one in statements(text)} == found


def test_a_statement_is_known_again_after_a_reflow_and_a_rename_beside_it() -> None:
    before = statements("The guard in `a/b.py` and `a/c.py` refuses what is secret before it is stored.\n")
    after = statements(
        "The guard in `a/b.py`\nand `a/new.py` refuses what is\nsecret before it is stored.\n"
    )
    assert before[0].key == after[0].key
    assert before[1].context == after[1].context


def test_a_statement_that_is_put_another_way_is_a_new_one() -> None:
    (before,) = statements("The guard is `a/b.py` and refuses.")
    (after,) = statements("What replaced the old `a/b.py` is elsewhere.")
    assert before.key != after.key


@given(st.text(alphabet="`#[]()<>!-*| \n\r\tab/.py_é:=~$\"'", max_size=200))
def test_any_text_is_read(text: str) -> None:
    for one in statements(text):
        assert text[one.start : one.end] == one.name
        assert text.count("\n", 0, one.start) + 1 == one.line
