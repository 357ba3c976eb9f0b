"""Where a file may stand: what of a changed tree is told, and with which words."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Mapping
from pathlib import PurePosixPath

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from gitmem.core import attributes
from gitmem.core.errors import UsageError
from gitmem.core.names import (
    FORMAT_FILE,
    FORMAT_TEXT,
    RESERVED,
    agent_folder_name,
    agent_name,
    archive_path,
    is_memory_file,
    slugify,
)
from gitmem.ledger.layout import is_laid_out
from gitmem.rules.paths import (
    EXECUTABLE,
    check_path,
    collision,
    judge_collisions,
    judge_epoch,
    judge_format,
    judge_hosts,
    judge_places,
    misfits,
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
        "main/a.md", "main/topic/a.md", f"main/{archive_path('a.md')}", "main/MEMORY.md",
        "main/.tombstones", "main/logs/2026/11/2026-11-20.md",
        "main/archive/logs/2026/11/2026-11-20.md", ".gitmem", ".github/CODEOWNERS", "reviewer/a.md",
    ],
)  # fmt: skip
def test_what_memory_consists_of_may_stand_there(path: str) -> None:
    there = side({path: "x"})
    assert places(None, there) == places(None, Side({"mai": {}, **there.folders}, there.host)) == []


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


UNSAFE = [
    ("", "empty"),
    ("/etc/passwd", "absolute"),
    ("\\server\\x", "absolute"),
    ("C:/x", "absolute"),
    ("c:x", "absolute"),
    ("..", "leads out"),
    ("main/../x.md", "leads out"),
    ("./x.md", "leads out"),
    ("main//x.md", "empty"),
    ("main/", "empty"),
    ("main/a\0.md", "control"),
    ("main/a\nb.md", "control"),
    ("main/a\x1b.md", "control"),
    ("main/a\x85.md", "control"),
    ("main/a\u2028.md", "control"),
    ("main\\a.md", "separator"),
    ("main/a:b.md", "colon"),
    ("main/e\u0301.md", "NFC"),
    ("main/\udcff.md", "UTF-8"),
    ("main/%2e%2e/x.md", "percent"),
    ("main/%2e%2e%2fx.md", "percent"),
    ("main/%252e%252e%252fx.md", "percent"),
    ("main/%25252525252e.md", "percent"),
    ("main/..%5cx.md", "percent"),
    ("main/x%00.md", "percent"),
    ("main/con.md", "device"),
    ("main/COM1", "device"),
    ("main/lpt¹.md", "device"),
    ("main/nul .md", "device"),
    ("main./x.md", "dot"),
    ("main /x.md", "space"),
    ("main/ x.md", "space"),
    (".git/config", "part of git"),
    ("main/.GIT/x", "part of git"),
    ("main/.g\u200cit/x", "part of git"),
    ("main/git~1/x", "part of git"),
    (".gitmodules", "part of git"),
    ("main/" + "x" * 256, "longer"),
    ("main/" + "é" * 128, "longer"),
    ("/".join(["a"] * 21), "more than"),
    ("/".join(["a" * 200] * 6), "longer"),
    ("main/a%252541.md", "percent"),
    ("main/%2e/x.md", "percent"),
    ("%2e%2e/x.md", "percent"),
    ("main/" + "x" * 253 + ".md", "longer"),
    # Taken for another, whatever alphabet it is spelt in.
    ("main/M\u0415MORY.md", "mixes Cyrillic and Latin"),
    ("main/\u039cEMORY.md", "mixes Greek and Latin"),
    ("main/\uff2d\uff25\uff2d\uff2f\uff32\uff39.md", "looks like MEMORY.md"),
    ("main/\u217femory.md", "looks like MEMORY.md"),
    ("main/m\u00e9mory.md", "looks like MEMORY.md"),
    (".gitm\u0435m", "mixes"),
    (".\uff47itattributes", "looks like .gitattributes"),
    ("main/\u0430rchive/ab/a.md", "mixes"),
    ("main/\uff0e\uff0e/a.md", "dot"),
    ("main/\u2025/a.md", "dot"),
    ("main/a\uff0fb.md", "separator"),
    ("main/a\u2215b.md", "separator"),
    ("main/a\u2044b.md", "separator"),
    ("main/a\uff3cb.md", "separator"),
    ("main/c\uff1ab.md", "colon"),
    ("main/\uff052e\uff052e/a.md", "percent"),
    ("main/a\u200bb.md", "invisible"),
    ("main/a\u00adb.md", "invisible"),
    ("main/a\u202eb.md", "invisible"),
    ("main/a\u00a0b.md", "invisible"),
    ("main/a\ufeffb.md", "invisible"),
    ("main/a\U000e0041b.md", "invisible"),
    ("main/a\u200db.md", "invisible"),
    ("main/deploy\u3164.md", "invisible"),
    ("main/p\u0430ypal.md", "mixes"),
    ("main/\u03bc\u0430.md", "mixes"),
    ("main/\u043cemory.md", "looks like MEMORY.md"),
    ("main/\u0301/a.md", "is nothing"),
    ("main/.\u0301.\u0301/a.md", "is nothing"),
    ("main/a.\u20dd/a.md", "ends with a dot"),
]


@pytest.mark.parametrize(("path", "reason"), UNSAFE)
def test_unsafe_paths_and_look_alikes_are_refused_with_a_reason(path: str, reason: str) -> None:
    """Percent signs are read three times at most: what is still written in them then is refused."""
    refused = check_path(path)
    assert refused is not None
    assert reason in refused
    assert refused.isprintable()


@pytest.mark.parametrize(
    "path",
    [
        "main/a.md", "main/archive/fe/a.md", ".gitattributes", ".gitmem", "main/.tombstones",
        "main/No mocks.md", "main/mémoire.md", "main/100%.md", "main/50%20off.md", "^code/a.md",
        "main/logs/2026/03/2026-03-05.md", "main/a%2541.md", "main/%2e%2e.md",
        "main/" + "x" * 246 + ".md", "/".join(["a"] * 20),
        # Names of people who write otherwise.
        "main/m\u00e9moire.md", "main/na\u00efve-caf\u00e9.md",
        "main/\u0437\u0430\u043c\u0435\u0442\u043a\u0430.md",
        "main/\u03c3\u03b7\u03bc\u03b5\u03af\u03c9\u03c3\u03b7.md", "main/\u8a2d\u8a08-API.md",
        "main/\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645.md", "main/\u2764\ufe0f-notes.md",
        "main/\U0001f468\u200d\U0001f4bb.md", "main/wait\u2026-then.md", "main/\u0e44\u0e17\u0e22.md",
        "main/\u043f\u043b\u0430\u043d-Q3.md", "main/Gro\u00dfe Ma\u00dfe.md",
        "main/\u0394t-limits.md", "main/timeouts-in-\u03bcs.md", "main/\u0e17\u0e35\u0e48/\u0928\u093f.md",
    ],
)  # fmt: skip
def test_paths_of_a_memory_tree_pass(path: str) -> None:
    assert check_path(unicodedata.normalize("NFC", path)) is None


@given(st.text(max_size=30), st.text(min_size=1, max_size=12))
def test_names_that_gitmem_makes_always_pass(title: str, agent: str) -> None:
    file = f"{slugify(title)}.md"
    try:
        agent_name(agent)
    except UsageError:
        return
    assert check_path(f"{agent_name(agent)}/{file}") is None
    assert check_path(f"{agent_name(agent)}/{archive_path(file)}") is None


@given(st.text(max_size=20).map(lambda stem: f"{stem}.md"))
def test_every_memory_file_is_a_safe_path(name: str) -> None:
    if is_memory_file(name) and "%" not in name:
        assert check_path(name) is None


ALPHABET = st.sampled_from(
    "aeмсеοіMEY./\\%:~ \u200b\u202e\u00a0\uff0e\uff0f\u2215\u2025\u0301\u030a\u212b\u00e9\u2024\ufe52"
    + "2eFfgitmd"
)


@given(st.lists(st.text(ALPHABET, min_size=1, max_size=10), min_size=1, max_size=4).map("/".join))
@example("main/\u2024\u2024/a.md")
@example("main/.GIT\u200c/a.md")
def test_what_passes_stays_in_its_folder_on_every_kind_of_file_system(path: str) -> None:
    """Also where names are folded: by case, to NFD or NFKC, without what is ignorable, decoded, or cut."""
    if check_path(path) is not None:
        return
    foldings = (
        str,
        str.casefold,
        str.upper,
        lambda text: unicodedata.normalize("NFD", text),
        lambda text: unicodedata.normalize("NFKC", text),
        lambda text: unicodedata.normalize("NFKD", text).casefold(),
        lambda text: "".join(c for c in text if unicodedata.category(c) not in ("Cf", "Mn")),
        lambda text: "/".join(part.rstrip(". ") for part in text.split("/")),
    )
    for fold in foldings:
        folded = fold(path)
        parts = folded.split("/")
        assert len(parts) == path.count("/") + 1
        assert not {"", ".", ".."} & set(parts)
        assert not folded.startswith("/")
        assert "\\" not in folded
        assert "\0" not in folded
        assert ".git" not in [part.casefold() for part in parts]
        root = PurePosixPath("/root/of/tree")
        assert PurePosixPath(os.path.normpath(root / folded)).is_relative_to(root)


@given(st.sampled_from(RESERVED), st.data())
def test_no_spelling_of_a_reserved_name_in_other_letters_passes(name: str, data: st.DataObject) -> None:
    twins = {
        "a": "\u0430", "e": "\u0435", "o": "\u043e", "c": "\u0441", "i": "\u0456", "m": "\uff4d",
        "r": "\uff52",
    }  # fmt: skip
    spots = [at for at, char in enumerate(name.lower()) if char in twins]
    assume(spots)
    chosen = data.draw(st.sets(st.sampled_from(spots), min_size=1))
    spelt = "".join(twins[char.lower()] if at in chosen else char for at, char in enumerate(name))
    assert check_path(f"main/{spelt}") is not None
    assert not is_laid_out(spelt)


@given(st.text(max_size=12))
def test_an_agent_of_any_folder_is_one_safe_part_of_a_path(folder: str) -> None:
    try:
        name = agent_folder_name(folder)
    except UsageError:
        return
    assert check_path(folder) is None
    assert "/" not in name
    assert name not in (".", "..")


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
    assert collision(paths) == found


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
    many = side({f"main/{name}.md": name for name in ("aBc", "Abc", "abc", "ABC", "aBC", "abC", "ABc")})
    (found,) = judge_collisions(None, many, context)
    others = ", ".join(f"main/{name}.md" for name in ("ABC", "ABc", "Abc", "aBC", "aBc", "abC"))
    assert found == Finding("main/abc.md", 1, "collision", what.format(others))
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
        ("format = 1\nmy format = 2\n", ""),
        ("format=2\nepoch=1\n", "says format 2, which this gitmem cannot judge"),
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


def test_of_paths_that_read_as_one_the_plain_one_stays() -> None:
    twins = {"main/s.md", "main/\u017f.md", "main/a.md"}
    assert misfits(twins) == {"main/\u017f.md": "reads as 'main/s.md', which is there too"}
    below = misfits(["\u017f/b.md", "\u017f/c.md", "s/a.md", "\u017fx/a.md"])
    assert below == dict.fromkeys(("\u017f/b.md", "\u017f/c.md"), "reads as 's', which is there too")
    assert misfits(["main/a:b.md", "main/a.md"]).keys() == {"main/a:b.md"}
