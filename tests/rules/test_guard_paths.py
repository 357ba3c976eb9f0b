"""Paths of a hostile tree stay inside it, on every file system."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.errors import UsageError
from gitmem.core.names import agent_name, archive_path, is_memory_file, slugify
from gitmem.ledger.files import linked
from gitmem.rules.paths import check_path


@pytest.mark.parametrize(
    "path",
    [
        "main/a.md", "main/archive/fe/a.md", ".gitattributes", ".gitmem", "main/.tombstones",
        "main/No mocks.md", "main/mémoire.md", "main/100%.md", "main/50%20off.md", "^code/a.md",
        "main/logs/2026/03/2026-03-05.md",
    ],
)  # fmt: skip
def test_paths_of_a_memory_tree_pass(path: str) -> None:
    assert check_path(path) is None


@pytest.mark.parametrize(
    ("path", "reason"),
    [
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
    ],
)
def test_unsafe_paths_are_refused_with_a_reason(path: str, reason: str) -> None:
    refused = check_path(path)
    assert refused is not None
    assert reason in refused
    assert refused.isprintable()


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


@given(st.text(alphabet="./\\%2eEfF5cC0:a ", max_size=16))
def test_a_path_that_passes_stays_below_its_root(path: str) -> None:
    if check_path(path) is None:
        root = Path("/root/of/tree")
        assert (root / path).resolve().is_relative_to(root)
        assert ".." not in path.split("/")


def test_plain_files_and_missing_ones_may_be_opened(tmp_path: Path) -> None:
    (tmp_path / "main").mkdir()
    (tmp_path / "main/a.md").write_text("a")
    for relative in ("main/a.md", "main/new.md", "new/deep/a.md", "main/a.md/x"):
        assert not linked(tmp_path, tmp_path / relative)


@pytest.mark.parametrize("target", ["/etc", ".", "missing", "loop"])
def test_symlinks_are_refused_anywhere_also_dangling_and_looping(tmp_path: Path, target: str) -> None:
    (tmp_path / "loop").symlink_to(target)
    (tmp_path / "main").mkdir()
    (tmp_path / "main/a.md").symlink_to(target)
    for relative in ("loop", "loop/a.md", "loop/x/y.md", "main/a.md"):
        assert linked(tmp_path, tmp_path / relative)


def test_a_root_behind_a_symlink_is_the_persons_business(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "root").symlink_to("real")
    assert not linked(tmp_path / "root", tmp_path / "root/a.md")


def test_a_part_that_cannot_be_looked_at_is_refused(tmp_path: Path) -> None:
    for relative in ("x" * 300, "a\0b"):
        assert linked(tmp_path, tmp_path / relative)
