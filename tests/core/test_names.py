"""Names that survive every file system and every tree."""

from __future__ import annotations

import string
from datetime import date
from itertools import islice

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitmem.core import names
from gitmem.core.errors import UsageError
from gitmem.core.limits import NAME_CHARS

AGENTS = st.text(min_size=1, max_size=50)
TRICKY = st.text(alphabet="aAbBcCoOnN^0123456789._- é/", min_size=1, max_size=12)


def possible(raw: str) -> bool:
    """Whether a folder of this name can lie in the folder of agents."""
    try:
        return bool(names.agent_name(raw))
    except UsageError:
        return False


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("No mocks in tests", "no-mocks-in-tests"),
        ("Don't mock the database!", "dont-mock-the-database"),
        ("  Ärger mit Straße & Søren  ", "arger-mit-strasse-soren"),
        ("feedback_lint_patterns", "feedback-lint-patterns"),
        ("v2.0 -- final", "v2-0-final"),
    ],
)
def test_slug_is_ascii_kebab_case(text: str, slug: str) -> None:
    assert names.slugify(text) == slug


def test_a_long_slug_is_cut_at_a_word_and_one_long_word_at_the_limit() -> None:
    slug = names.slugify("word " * 40)
    assert slug == "-".join(["word"] * 12)
    assert len(slug) <= NAME_CHARS
    assert names.slugify("x" * 200) == "x" * NAME_CHARS


@pytest.mark.parametrize("text", ["", "   ", "!!!", "記憶", "🙂"])
def test_text_without_ascii_still_has_a_name(text: str) -> None:
    assert names.slugify(text).startswith("note-")


def test_texts_without_ascii_have_different_names() -> None:
    assert names.slugify("記憶") != names.slugify("忘却")


@pytest.mark.parametrize("text", ["memory", "MEMORY", "con", "NUL", "com1"])
def test_names_with_another_meaning_get_a_second_word(text: str) -> None:
    """Where case is ignored `memory.md` is the index; on Windows `con.md` is the console."""
    assert names.slugify(text) == f"{text.lower()}-note"


@given(st.text(max_size=200))
@example("memory")
@example("ſ" * 80)
def test_slug_is_stable_safe_and_never_empty(text: str) -> None:
    slug = names.slugify(text)
    assert slug
    assert names.slugify(slug) == slug
    assert len(slug) <= NAME_CHARS
    assert set(slug) <= set(string.ascii_lowercase + string.digits + "-")
    assert names.is_memory_file(names.file_name(text))


@given(st.text(max_size=200))
@example("x" * 300)
@example("x" * 59)
def test_a_number_makes_a_name_of_its_own_however_long_it_is(text: str) -> None:
    """A number that is cut off again would be counted up for ever."""
    first, *others = islice(names.numbered_names(text), 1_100)
    assert first == text
    assert len(set(others)) == len(others)
    for number, name in enumerate(others, 2):
        assert names.slugify(name) == name
        assert name.endswith(f"-{number}")


@pytest.mark.parametrize(
    "name",
    ["a.md", "No mocks in tests.md", "feedback_x.md", "what?.md", "mémoire.md", "sub/a.md", "a b/c/d.md"],
)
def test_memory_files(name: str) -> None:
    assert names.is_memory_file(name)


@pytest.mark.parametrize(
    "name",
    [
        "MEMORY.md", "memory.md", "Memory.MD", ".hidden.md", ".md", "a.txt", "a.MD", "../x.md",
        "a\\b.md", "a\nb.md", "a:b.md", "con.md", "e\u0301.md", "x" * 253 + ".md", " a.md", "", "\udcff.md",
        "logs/a.md", "archive/a.md", "team/a.md", "Archive/a.md", "sub/MEMORY.md", "sub/../a.md", "/a.md",
        ".sub/a.md", "sub/.a.md", "a.md/b.md", "nul/a.md", "sub//a.md", "x/archive/ab/a.md",
        "x/logs/2026/11/a.md", "d/" * 17 + "a.md", "/".join(["x" * 250] * 4) + ".md", "sub/a.txt",
    ],
)  # fmt: skip
def test_what_is_no_memory_file(name: str) -> None:
    assert not names.is_memory_file(name)


@pytest.mark.parametrize(
    "segment",
    [
        ".git", ".GIT", ".g\u200cit", "\ufeff.git", ".git ", ".git. .", "git~1", "GIT~1",
        ".git::$INDEX_ALLOCATION",
    ],
)  # fmt: skip
def test_look_alikes_of_git_are_unsafe(segment: str) -> None:
    assert names.unsafe_segment(segment) is not None


@pytest.mark.parametrize(
    "segment", [".gitattributes", ".gitmem", ".github", "git", "git~2", "console", "aux-port"]
)
def test_names_that_only_resemble_are_safe(segment: str) -> None:
    assert names.unsafe_segment(segment) is None


@pytest.mark.parametrize(
    ("raw", "folder"),
    [
        ("main", "main"), ("code-reviewer", "code-reviewer"), ("Code-Reviewer", "^code-^reviewer"),
        ("QA", "^q^a"), ("a b", "a^032b"), ("plugin:agent", "plugin^058agent"), ("con", "^099on"),
        ("é", "^195^169"), ("^a", "^094a"),
    ],
)  # fmt: skip
def test_agent_folder(raw: str, folder: str) -> None:
    assert names.agent_name(raw) == folder
    assert names.agent_folder_name(folder) == raw


@given(AGENTS | TRICKY)
@example("con.txt")
@example(".git")
def test_agent_folder_can_be_reversed_and_is_safe(raw: str) -> None:
    try:
        folder = names.agent_name(raw)
    except UsageError as refused:
        assert "too long" in refused.message or "cannot be a folder's name" in refused.message
        return
    assert "/" not in raw and not raw.startswith(".")
    assert names.agent_folder_name(folder) == raw
    assert names.is_agent_folder(folder)
    assert folder == folder.lower()
    assert names.unsafe_segment(folder) is None
    assert not folder.startswith(".")


@given(AGENTS | TRICKY, AGENTS | TRICKY)
@example("Code-Reviewer", "code-reviewer")
@example("A", "^a")
@example("^A", "A")
def test_two_agents_never_share_a_folder_even_where_case_is_ignored(one: str, other: str) -> None:
    if one != other and possible(one) and possible(other):
        assert names.agent_name(one).casefold() != names.agent_name(other).casefold()


@pytest.mark.parametrize(
    "name", ["", "x" * 256, "\ud800", ".", "..", "../x", "/x", "a/b", "a\\b", ".x", "a\0"]
)
def test_impossible_agents_are_usage_errors(name: str) -> None:
    with pytest.raises(UsageError):
        names.agent_name(name)


@pytest.mark.parametrize(
    "folder", ["Code", ".github", "^", "^97", "^999", "^097", "a b", "é", "con", "..", "", "a."]
)
def test_folders_that_no_agent_has(folder: str) -> None:
    """Only the one spelling counts, so that a hostile tree cannot hold an agent twice."""
    assert not names.is_agent_folder(folder)
    with pytest.raises(UsageError):
        names.agent_folder_name(folder)


def test_where_archived_memories_and_logs_lie() -> None:
    assert names.archive_path("a.md") == "archive/fe/a.md"
    for file in ("a.md", "topics/deep.md"):
        assert names.hot_file(names.archive_path(file)) == names.hot_file(file) == file
    assert names.hot_file("archive/00/topics/deep.md") == "deep.md"
    assert names.log_path(date(2026, 3, 5)) == "logs/2026/03/2026-03-05.md"


@pytest.mark.parametrize(
    "folder", ["^046.", "^046^046", "^046.^047..", "a^047b", "^047abs", "a^092b", "a^000b"]
)
def test_a_folder_that_spells_a_path_is_no_agents(folder: str) -> None:
    """A hostile tree may hold `^046.^047..`, which unescapes to `../..`."""
    assert not names.is_agent_folder(folder)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("a.txt", "is no markdown file"),
        ("memory.md", "is taken for the index"),
        ("logs/a.md", "lies in a folder that has another meaning"),
        ("x/archive/ab/a.md", "lies in a folder that has another meaning"),
        (".a.md", "is hidden"),
        ("a.md/b.md", "lies in a folder that is named like a memory"),
        ("d/" * 16 + "a.md", None),
        ("d/" * 17 + "a.md", "lies more than 16 folders deep"),
        ("/".join(["x" * 250] * 4) + ".md", "has too long a path"),
        ("con.x.md", "is a device name on Windows"),
        ("con.é.md", "is a device name on Windows"),
        ("a//b.md", "is empty"),
        ("a\nb.md", "holds a control character"),
        ("\udcff.md", "is not UTF-8"),
        ("a\\b.md", "holds a path separator"),
        ("é:b.md", "holds a colon, which names a drive or a stream on Windows"),
        ("e\u0301.md", "is not in Unicode form NFC"),
        ("é" * 127 + ".md", "is longer than 255 bytes"),
        ("é" * 126 + ".md", None),
        (" é.md", "begins or ends with a space, or ends with a dot"),
        ("é /b.md", "begins or ends with a space, or ends with a dot"),
        ("é./b.md", "begins or ends with a space, or ends with a dot"),
        ("git~1/a.md", "is taken for a part of git"),
        ("p\u0430y.md", "mixes Cyrillic and Latin letters in one word"),
        ("é\u200b.md", "holds an invisible character"),
        ("é\u2215b.md", "holds what looks like a path separator"),
        ("\u0430\uff1ab.md", "holds what looks like a colon"),
        ("é\u2026/a.md", "ends with what looks like a dot"),
        ("\u0301/a.md", "is nothing, or ends with a dot, where marks are left out"),
        ("\u0430gents.md/a.md", "mixes Cyrillic and Latin letters in one word"),
        ("ﬁle.md", None),
    ],
)
def test_what_is_no_memory_file_says_why(name: str, reason: str | None) -> None:
    assert names.unfit(name) == reason


@pytest.mark.parametrize(
    ("segment", "reason"),
    [
        ("", "is empty"),
        ("..", "leads out of its folder"),
        (".", "leads out of its folder"),
        ("a/é", "holds a path separator"),
        ("аrсһіvе", "mixes Cyrillic and Latin letters in one word"),
        ("ӏоɡѕ", "mixes Cyrillic and Latin letters in one word"),
        ("\uff2c\uff2f\uff27\uff33", "looks like logs"),
        ("CL\u00c1UDE.md", "looks like CLAUDE.md"),
        ("é", None),
    ],
)
def test_a_segment_that_no_tree_may_have_says_why(segment: str, reason: str | None) -> None:
    assert names.unsafe_segment(segment) == reason
