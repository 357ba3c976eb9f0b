"""What rules judge, as values: states of trees, commits, what changed between two, and what is new."""

from __future__ import annotations

from collections.abc import Iterator

from gitmem.core.limits import MEMORY_BYTES
from gitmem.rules.rule import (
    EMPTY,
    PLAIN,
    File,
    Finding,
    Revision,
    RuleContext,
    RuleFile,
    Side,
    compare,
    in_texts,
    new_ones,
    quote,
    side_of,
)


def file(data: str | None, oid: str = "", mode: int = PLAIN) -> File:
    raw = None if data is None else data.encode()
    return File(mode, oid or str(data), len(raw or b""), raw)


def found(rule: str, message: str, line: int = 1, path: str = "a.md") -> Finding:
    return Finding(path, line, rule, message)


def test_a_finding_says_where_and_what() -> None:
    plain = Finding("main/a.md", 3, "secret", "holds a token")
    assert str(plain) == "main/a.md: holds a token"
    assert (
        str(Finding("main/a.md", 3, "account", "it is gone", claim="main/a.md#12"))
        == "main/a.md#12: it is gone"
    )
    assert str(Finding("", 1, "secret", "the message holds a token")) == "the message holds a token"
    assert (plain.level, plain.claim, plain.text, plain.fingerprints, plain.commit) == (
        "error", "", "", (), "",
    )  # fmt: skip
    assert len(str(Finding("x" * 1000, 1, "path", "y"))) == 303


def test_a_state_has_its_files_by_path_from_the_root() -> None:
    side = Side(
        {"main": {"a.md": file("A"), "b.md": file(None)}, "x/y": {"c.md": file("C")}},
        {".gitmem": file("f")},
    )
    assert side.files.keys() == {"main/a.md", "main/b.md", "x/y/c.md", ".gitmem"}
    assert {path: (text.name, text.kind) for path, text in side.texts.items()} == {
        "main/a.md": ("a.md", "memory"),
        "x/y/c.md": ("c.md", "memory"),
        ".gitmem": (".host", "host"),
    }
    assert side.contents.keys() == side.texts.keys()
    assert (side.snapshots, side.time, side.trouble) == (False, 0, ())
    assert EMPTY.files == {} and EMPTY.texts == {}


def test_memories_of_a_folder_are_those_that_were_read_and_fit() -> None:
    files = {
        "a.md": file("A"),
        "archive/ab/b.md": file("B"),
        "MEMORY.md": file("index"),
        "logs/2026/11/2026-11-20.md": file("log"),
        "none.md": file(None),
        "large.md": file("x" * (MEMORY_BYTES + 1)),
        "full.md": file("x" * MEMORY_BYTES),
    }
    side = Side({"main": files, "other": {"c.md": file("C")}}, {})
    assert [text.name for text in side.memories("main")] == ["a.md", "archive/ab/b.md", "full.md"]
    assert list(side.memories("nobody")) == []


def test_a_text_is_read_whatever_its_bytes_and_without_them_it_has_no_size() -> None:
    text = RuleFile("main/a.md", "a.md", b"---\nname: x\n---\n\nA \xff\n")
    assert text.text.endswith("A \udcff\n") and text.memory.name == "x"
    assert (File(0o120000, "x").size, File(0o120000, "x").data) == (0, None)


def test_a_commit_has_its_texts_with_what_its_parents_had_there() -> None:
    revision = Revision(
        "c0ffee",
        ("Ann <a@example.com>",),
        "Add\n",
        ({"main/a.md": file("old"), "main/b.md": file(None)}, {"main/a.md": file("other")}),
        {"main/a.md": file("new"), "main/b.md": file("b"), "x": file("host"), "main/gone.md": file(None)},
    )
    texts = {
        text.path: (text.name, text.data, [one.data for one in former]) for text, former in revision.texts()
    }
    assert texts == {
        "main/a.md": ("main/a.md", b"new", [b"old", b"other"]),
        "main/b.md": ("main/b.md", b"b", []),
        "x": (".host", b"host", []),
    }


def test_findings_that_were_there_are_not_new_wherever_they_stand_and_only_as_often() -> None:
    before = [found("a", "x", 1), found("a", "x", 5), found("b", "y")]
    after = [found("a", "x", 7), found("a", "x", 8), found("a", "x", 9), found("b", "z"), found("c", "y")]
    assert list(new_ones(after, before)) == [found("a", "x", 9), found("b", "z"), found("c", "y")]
    assert list(new_ones(after, ())) == after and list(new_ones((), before)) == []


def test_what_changed_is_told_with_what_it_was_there_or_elsewhere() -> None:
    before = Side(
        {"main": {"a.md": file("A"), "b.md": file("B"), "same.md": file("S"), "gone.md": file("G")}}, {}
    )
    after = Side(
        {
            "main": {
                "a.md": file("A2"),
                "archive/ab/b.md": file("B"),
                "same.md": file("S"),
                "new.md": file("N"),
            }
        },
        {},
    )
    context = RuleContext(frozenset({"f"}), "ref", (), frozenset({"old"}))
    known = compare(before, after, context)
    assert known.changed == {"main/a.md", "main/archive/ab/b.md", "main/new.md"}
    assert {path: text.path for path, text in known.former.items()} == {
        "main/a.md": "main/a.md",
        "main/archive/ab/b.md": "main/b.md",
    }
    assert (known.allow, known.ref) == ({"f"}, "ref")
    fresh = compare(None, after, RuleContext())
    assert fresh.changed == after.files.keys() and fresh.former == {}
    mode = Side({"main": {"a.md": file("A", mode=0o100755)}}, {})
    assert compare(before, mode, RuleContext()).changed == {"main/a.md"}


def test_a_rule_over_one_file_judges_what_is_new_in_those_that_changed() -> None:
    def lines(text: RuleFile) -> Iterator[Finding]:
        for number, line in enumerate(text.text.split(), 1):
            yield Finding(text.path, number, "word", line)

    before = Side({"main": {"b.md": file("one two"), "c.md": file("same")}}, {})
    files = {"b.md": file("zero one"), "a.md": file("new"), "c.md": file("same"), "d.md": file(None)}
    more = {f"x{n}.md": file("more") for n in range(9)}
    after = Side({"main": {**files, **more}}, {})
    judged = sorted(in_texts(lines)(before, after, compare(before, after, RuleContext())))
    assert [(one.path, one.line, one.message) for one in judged] == [
        ("main/a.md", 1, "new"),
        ("main/b.md", 1, "zero"),
        *((f"main/{name}", 1, "more") for name in sorted(more)),
    ]


def test_a_quotation_is_one_line_of_so_many_cells() -> None:
    shown = quote("a\n\u202eb " + "c " * 100)
    assert shown.startswith("a \\u202eb c c") and shown.endswith("c…") and len(shown) <= 80
    assert quote("ab " * 27) == ("ab " * 27).strip() and quote("ab " * 26 + "abc")[-1] == "…"


def test_files_that_are_in_no_tree_are_sorted_into_folders() -> None:
    side = side_of(
        {"main/a.md": b"A", "main/logs/b.md": b"B", ".gitattributes": b"C", ".github/OWNERS": b"D"}
    )
    assert {folder: set(files) for folder, files in side.folders.items()} == {"main": {"a.md", "logs/b.md"}}
    assert set(side.host) == {".gitattributes", ".github/OWNERS"}
    assert side.contents["main/a.md"] == b"A" and side.files["main/a.md"].mode == PLAIN
