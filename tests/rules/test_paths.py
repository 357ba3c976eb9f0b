"""Where a file may stand: what of a changed tree is told, and with which words."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from gitmem.core import attributes
from gitmem.core.names import FORMAT_FILE, FORMAT_TEXT, archive_path
from gitmem.rules.paths import (
    EXECUTABLE,
    check_path,
    colliding,
    judge_collisions,
    judge_epoch,
    judge_format,
    judge_hosts,
    judge_places,
)
from gitmem.rules.rule import PLAIN, File, Finding, RuleContext, Side, compare

LINK, MODULE = 0o120000, 0o160000
FORMATTED = {FORMAT_FILE: FORMAT_TEXT.decode()}


def side(files: Mapping[str, str], *, mode: int = PLAIN, snapshots: bool = False) -> Side:
    """Files below the folder of an agent (`main`), or else what a host may act on."""
    folders: dict[str, dict[str, File]] = {"main": {}}
    host: dict[str, File] = {}
    for path, text in files.items():
        file = File(mode, text, len(text), text.encode())
        agent, slash, name = path.partition("/")
        (folders["main"] if slash and agent == "main" else host)[name if agent == "main" else path] = file
    return Side(folders, host, snapshots)


def places(before: Side | None, after: Side) -> list[Finding]:
    return sorted(judge_places(before, after, compare(before, after, RuleContext())))


FOREIGN = "is neither a memory nor gitmem's own, so no agent reads it"


@pytest.mark.parametrize(
    "path",
    [
        "main/a.md",
        "main/topic/a.md",
        f"main/{archive_path('a.md')}",
        "main/MEMORY.md",
        "main/.tombstones",
        "main/logs/2026/11/2026-11-20.md",
        "main/archive/logs/2026/11/2026-11-20.md",
        ".gitmem",
        ".github/CODEOWNERS",
        "reviewer/a.md",
    ],
)
def test_what_memory_consists_of_may_stand_there(path: str) -> None:
    assert places(None, side({path: "x"})) == []


@pytest.mark.parametrize(
    ("path", "mode", "message", "level"),
    [
        ("x/../a.md", PLAIN, "the part '..' leads out of its folder", "error"),
        ("main/x.txt", PLAIN, FOREIGN, "notice"),
        ("main/logs/2026/11/2026-10-20.md", PLAIN, FOREIGN, "notice"),
        ("main/logs/2026-11-20.md", PLAIN, FOREIGN, "notice"),
        ("main/archive/zz/a.txt", PLAIN, FOREIGN, "notice"),
        (
            "main/a.md",
            EXECUTABLE,
            "can be executed, which no memory needs: git update-index --chmod=-x",
            "error",
        ),
        ("main/a.md", LINK, "is a symbolic link, which could lead anywhere", "error"),
        ("main/a.md", MODULE, "is a submodule, which no memory needs", "error"),
        ("main/a.md", 0o100600, "has the unknown mode 100600", "error"),
        ("No Agent/a.md", PLAIN, "no agent has the folder No Agent", "error"),
    ],
)
def test_what_may_not_stand_there_is_told_once_it_does(
    path: str, mode: int, message: str, level: str
) -> None:
    after = side({path: "new"}, mode=mode)
    (found,) = places(None, after)
    assert (found.path, found.line, found.level) == (path, 1, level)
    assert found.rule == ("foreign" if level == "notice" else "path") and found.message == message
    assert places(side({path: "old"}, mode=mode), after) == places(after, after) == []
    assert places(side({path: "old"}), after) == ([] if mode == PLAIN else [found])


def test_a_snapshot_has_memories_an_index_and_what_it_says_of_itself() -> None:
    names = ("a.md", "MEMORY.md", "snapshot.json", ".tombstones", "x.txt")
    found = places(None, side({f"main/{name}": "x" for name in names}, snapshots=True))
    assert [(one.path, one.message, one.level) for one in found] == [
        (f"main/{name}", "is not taken in with a snapshot", "notice") for name in (".tombstones", "x.txt")
    ]
    assert places(None, side({"No Agent/a.md": "x"}, snapshots=True)) == []


@pytest.mark.parametrize(
    ("path", "passes"),
    [
        ("main/a%2541.md", True),
        ("main/a%252541.md", False),
        ("main/a%2fb.md", False),
        ("main/a%5cb.md", False),
        ("main/a%00.md", False),
        ("main/%2e/x.md", False),
        ("%2e%2e/x.md", False),
        ("main/%2e%2e.md", True),
        ("main/" + "x" * 246 + ".md", True),
        ("main/" + "x" * 253 + ".md", False),
        ("/".join(["a"] * 20), True),
        ("/".join(["a"] * 21), False),
    ],
)
def test_a_path_is_read_as_a_decoder_reads_it(path: str, passes: bool) -> None:
    """Three times at most: what is still written in percent signs then is refused."""
    assert (check_path(path) is None) is passes


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        (["main/a.md", "main/A.md"], None),
        (["main/\u00e9.md", "main/e\u0301.md"], ("main/\u00e9.md", "main/e\u0301.md")),
        (["main/s.md", "main/\u017f.md"], ("main/s.md", "main/\u017f.md")),
        (["main/s.md", "x/\u017f.md"], None),
        (["\u017f/a.md", "s/b.md"], ("\u017f", "s")),
    ],
)
def test_names_collide_that_read_as_one(paths: list[str], found: tuple[str, str] | None) -> None:
    assert colliding(paths) == found


def test_a_name_that_became_ambiguous_is_told_where_it_is_new() -> None:
    old, both = side({"main/a.md": "1"}), side({"main/a.md": "1", "main/A.md": "2"})
    context = RuleContext()
    what = "is easily taken for {}, on some systems it is the same file"
    (found,) = judge_collisions(old, both, context)
    assert found == Finding("main/A.md", 1, "collision", what.format("main/a.md"))
    assert list(judge_collisions(both, both, context)) == list(judge_collisions(None, old, context)) == []
    (found,) = judge_collisions(None, both, context)
    assert (found.path, found.message) == ("main/a.md", what.format("main/A.md"))
    three = side({f"main/{name}.md": name for name in ("a", "A", "\u0430")})
    (found,) = judge_collisions(both, three, context)
    assert (found.path, found.message) == ("main/\u0430.md", what.format("main/A.md, main/a.md"))
    folders = side({"x/a.md": "1", "X/b.md": "2"})
    assert {one.path for one in judge_collisions(None, folders, context)} == {"x"}


@pytest.mark.parametrize(
    "name",
    [".gitattributes", ".gitignore", ".gitmodules", ".mailmap", ".lfsconfig", "CODEOWNERS", "codeowners"],
)
@pytest.mark.parametrize("folder", ["main/", "main/topic/", ".github/", ""])
def test_what_git_or_a_host_acts_on_takes_a_person_in_any_folder(folder: str, name: str) -> None:
    none, old, new = (side({f"{folder}{name}": text} if text else {}) for text in ("", "x", "y"))
    for before, after, what in ((none, old, "added"), (old, none, "removed"), (old, new, "changed")):
        message = f"is {what}: a person must look, for git and hosts act on it"
        assert [*judge_hosts(before, after, RuleContext())] == [Finding(folder + name, 1, "host", message)]
    assert [*judge_hosts(None, old, RuleContext())] == [*judge_hosts(old, old, RuleContext())] == []


def test_a_memory_and_what_gitmem_writes_take_nobody() -> None:
    own = (attributes.BRANCH_TEXT, attributes.SNAPSHOTS_TEXT)
    for files in (FORMATTED, {"main/x.md": "x"}, *({attributes.FILE: text} for text in own)):
        assert list(judge_hosts(side({}), side(files), RuleContext())) == []
    (found,) = judge_hosts(side({}), side({"x": "x"}), RuleContext())
    assert found.path == "x", "whatever lies at the top"


UNSAID = "does not say in which format this memory is"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("format = 1\n", ""),
        ("# x\n \tformat\t= 1 \t\nlimit = 2\n", ""),
        ("format = 2\n", "says format 2, which this gitmem cannot judge"),
        (f"format = {'9' * 5000}\n", f"says format {'9' * 9}, which this gitmem cannot judge"),
        ("format = one\n", UNSAID),
        ("format =\n", UNSAID),
        ("", UNSAID),
        (None, UNSAID),
    ],
)
def test_a_memory_says_in_which_format_it_is(text: str | None, message: str) -> None:
    files = {"main/a.md": "x"} | ({} if text is None else {FORMAT_FILE: text})
    found = [*judge_format(None, side(files), RuleContext())]
    assert found == ([Finding(FORMAT_FILE, 1, "format", message)] if message else [])
    assert [*judge_format(None, side(files, snapshots=True), RuleContext())] == []
    assert [*judge_format(None, side({}), RuleContext())] == []


def test_a_request_of_another_epoch_would_bring_back_what_was_purged() -> None:
    one, other = b"format = 1\nepoch = 1 0123abcd\n", b"format = 1\n"
    assert [*judge_epoch(one, one)] == [*judge_epoch(other, b"")] == []
    (found,) = judge_epoch(one, other)
    assert (found.path, found.line, found.rule, found.level) == (FORMAT_FILE, 1, "epoch", "error")
    assert [*judge_epoch(other, one)] == [found]
