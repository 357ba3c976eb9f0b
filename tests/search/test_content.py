"""What a memory says is opened once, and kept beside its text in the index while that stands there."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from memory_repository import REF, MemoryRepository, memory

from gitmem.search.catalog import Catalog
from gitmem.search.content import CodeNames, Opened, as_kept, from_kept, open_content

BODY = "Builds run `tools/build.py` with `--fast`, as `Runner.start()` does."


def rows(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "gitmem" / "catalog.sqlite")) as read:
        return int(read.execute("SELECT count(*) FROM opened").fetchone()[0])


@pytest.mark.parametrize(
    "data",
    [
        memory("builds", BODY, "How builds run").encode(),
        b"no frontmatter, and \xff that is no UTF-8",
        memory("rule", "x", "**Rule in:** [AGENTS.md](AGENTS.md)").encode(),
        memory("both", "x", "- one *(disputed 0123abcd)*\n- two *(disputed 0123abcd)*").encode(),
        b"",
    ],
)
def test_what_is_kept_says_what_was_opened(data: bytes) -> None:
    assert from_kept(as_kept(open_content(data))) == open_content(data)


def test_names_of_the_code_are_found_once() -> None:
    names: CodeNames | None = open_content(memory("builds", BODY).encode()).names
    assert names is not None
    assert names[0] == names[1] == ("tools/build.py",)
    assert [written for written, _ in names[2]] == ["--fast", "Runner.start()"]


def entered(fake: MemoryRepository, catalog: Catalog) -> tuple[str, str]:
    """A tip with one memory, and the name of its content."""
    tip = fake.put({"main/a.md": memory("a", body="One.")})
    catalog.bring_up_to_date(fake, REF, tip)
    return tip, catalog.places(REF)[0].blob


def test_it_is_kept_until_its_text_leaves_the_index(fake, catalog: Catalog, tmp_path: Path) -> None:
    """What was forgotten must not stay behind in the words that an answer would tell."""
    tip, oid = entered(fake, catalog)
    said = open_content(fake.blob(oid))
    assert catalog.opened(oid) is None
    catalog.keep_opened(oid, said)
    assert (catalog.opened(oid), rows(tmp_path)) == (said, 1)
    catalog.bring_up_to_date(fake, REF, fake.put({"main/b.md": memory("b")}, tip))
    assert (catalog.opened(oid), rows(tmp_path)) == (None, 0)


def test_what_the_index_does_not_hold_is_not_kept(fake, catalog: Catalog, tmp_path: Path) -> None:
    entered(fake, catalog)
    catalog.keep_opened("ab" * 20, Opened("a", "", "user", "One."))
    assert rows(tmp_path) == 0


@pytest.mark.parametrize("value", ["", "[]", "7", '["a", "b"]', "{", '["a","b","c","d",[],[1],true]'])
def test_what_something_else_wrote_is_not_believed(fake, catalog, tmp_path: Path, value: str) -> None:
    _, oid = entered(fake, catalog)
    catalog.keep_opened(oid, Opened("a", "", "user", "One."))
    with closing(sqlite3.connect(tmp_path / "gitmem" / "catalog.sqlite")) as other, other:
        other.execute("UPDATE opened SET value = ?", (value,))
    assert catalog.opened(oid) is None
