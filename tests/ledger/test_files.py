"""Small files beside memory, and the log."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitmem.ledger import files


@pytest.fixture
def common(repo: Path) -> Path:
    (repo / ".git" / "gitmem").mkdir()
    return repo / ".git"


def test_the_log_keeps_its_newest_part(common: Path) -> None:
    for number in range(3000):
        files.log(common, f"{number} " + "x" * 200 + "\nnot a line of its own", 0)
    lines = (common / "gitmem/log").read_text().splitlines()
    assert (common / "gitmem/log").stat().st_size <= 2 * files.LOG_BYTES
    assert lines[-1].startswith("1970-01-01T00:00:00Z 2999 x")
    assert all(line.startswith("1970") for line in lines)


def test_a_linked_log_is_not_written_through(common: Path, tmp_path: Path) -> None:
    (tmp_path / "target").write_text("mine")
    (common / "gitmem/log").symlink_to(tmp_path / "target")
    files.log(common, "text")
    assert (tmp_path / "target").read_text() == "mine"


def test_what_is_no_plain_file_of_json_reads_as_nothing(tmp_path: Path) -> None:
    file, link = tmp_path / "note", tmp_path / "link"
    file.write_text('{"a": 1}')
    link.symlink_to(file)
    assert files.read_json(file, 8) == {"a": 1}
    assert files.read_json(file, 4) is None
    assert files.read_json(link, 100) is files.read_json(tmp_path, 100) is None
    for text in (b"", b"{", b"\xff", b"[" * 100_000):
        file.write_bytes(text)
        assert files.read_json(file, 1 << 20) is None


def test_of_many_files_the_newest_are_kept(tmp_path: Path) -> None:
    kept = [tmp_path / name for name in "abcd"]
    for file, time in zip(kept, (30, 10, 40, 20), strict=True):
        file.touch()
        os.utime(file, (time, time))
    files.keep_newest(kept, 4)
    assert all(file.exists() for file in kept)
    files.keep_newest(kept, 2)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a", "c"]


def test_links_on_the_way_to_a_file_are_seen_and_plain_files_may_be_opened(tmp_path: Path) -> None:
    (tmp_path / "main").mkdir()
    (tmp_path / "main/a.md").write_text("a")
    for relative in ("", "main/a.md", "main/new.md", "new/deep/a.md", "main/a.md/x"):
        assert not files.has_link(tmp_path, tmp_path / relative)
    for relative in ("x" * 300, "a\0b"):
        assert files.has_link(tmp_path, tmp_path / relative), "it cannot be looked at"
    assert files.has_link(tmp_path / "other", tmp_path / "a"), "what is not below the root is not trusted"
    (tmp_path / "root").symlink_to("main")
    assert not files.has_link(tmp_path / "root", tmp_path / "root/a.md"), "the person's business"


@pytest.mark.parametrize("target", ["/etc", ".", "missing", "loop"])
def test_symlinks_are_refused_anywhere_also_dangling_and_looping(tmp_path: Path, target: str) -> None:
    (tmp_path / "loop").symlink_to(target)
    (tmp_path / "main").mkdir()
    (tmp_path / "main/a.md").symlink_to(target)
    for relative in ("loop", "loop/a.md", "loop/x/y.md", "main/a.md"):
        assert files.has_link(tmp_path, tmp_path / relative)
