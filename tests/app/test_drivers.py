"""Git's own merge through the driver: no claim lost, conflicts only where a person must decide."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gitmem.app.drivers import merge as main
from gitmem.app.drivers import merge_file
from gitmem.core.errors import UsageError

ROOT = Path(__file__).parents[2]
MEMORY = "---\nname: {0}\ndescription: About {0}\ntype: project\n---\n\n{1}\n"


def run(tmp_path: Path, path: str, base: str, ours: str, theirs: str) -> tuple[int, str]:
    names = []
    for name, text in (("O", base), ("A", ours), ("B", theirs)):
        (tmp_path / name).write_text(text)
        names.append(str(tmp_path / name))
    return main([*names, path]), (tmp_path / "A").read_text()


def test_claims_of_both_sides_stand_in_the_result(tmp_path: Path) -> None:
    base = MEMORY.format("a", "One.")
    code, text = run(
        tmp_path,
        "main/a.md",
        base,
        MEMORY.format("a", "One.\n\nTwo."),
        MEMORY.format("a", "One.\n\nThree."),
    )
    assert code == 0
    assert all(word in text for word in ("One.", "Two.", "Three."))


def test_a_file_added_twice_has_an_empty_base(tmp_path: Path) -> None:
    code, text = run(tmp_path, "main/a.md", "", MEMORY.format("a", "One."), MEMORY.format("a", "Two."))
    assert code == 0
    assert "One." in text and "Two." in text


def test_two_memories_at_one_path_are_united_since_a_driver_adds_no_file(tmp_path: Path) -> None:
    code, text = run(
        tmp_path, "main/a.md", "", MEMORY.format("one", "One."), MEMORY.format("other", "Two.")
    )
    assert code == 0
    assert all(word in text for word in ("One.", "Two.", "name: one", "name: other"))


def test_the_index_merges_entry_by_entry(tmp_path: Path) -> None:
    code, text = run(
        tmp_path,
        "main/MEMORY.md",
        "- [a](a.md) — a\n",
        "- [a](a.md) — a\n- [b](b.md) — b\n",
        "- [a](a.md) — a\n- [c](c.md) — c\n",
    )
    assert (code, text) == (0, "- [a](a.md) — a\n- [b](b.md) — b\n- [c](c.md) — c\n")


def test_tombstones_merge_as_a_set(tmp_path: Path) -> None:
    lines = [f"v1 {'5a' * 8} {digit * 64} 2026-11-20 forgot\n" for digit in "12"]
    code, text = run(tmp_path, "main/.tombstones", "", lines[0], lines[1])
    assert (code, text) == (0, "".join(lines))


@pytest.mark.parametrize("swapped", [False, True])
def test_the_newest_snapshot_json_wins(swapped: bool) -> None:
    old, new = b'{"updatedAt": "2026-11-20T10:00:00Z"}', b'{"updatedAt": "2026-11-20T12:00:00+01:00"}'
    sides = (new, old) if swapped else (old, new)
    assert merge_file("snapshots/main/snapshot.json", b"{}", *sides) == new
    assert merge_file("snapshots/main/snapshot.json", b"{}", b"not json", old) == old
    assert merge_file("snapshots/main/snapshot.json", old, old, new) == new


def test_a_host_file_changed_on_both_sides_is_left_to_a_person(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, "CODEOWNERS", "a\n", "b\n", "c\n") == (1, "b\n")
    assert "cannot be merged" in capsys.readouterr().err


def test_a_file_that_cannot_be_read_is_a_conflict_and_the_words_are_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "none")] * 3 + ["main/a.md"]) == 1
    assert "was not merged" in capsys.readouterr().err
    with pytest.raises(UsageError):
        main(["one"])


def test_it_loads_no_git_library_and_no_command_line() -> None:
    """Git starts it once a file."""
    probe = (
        "import sys; from gitmem.app.drivers import merge_file;"
        "merge_file('main/a.md', b'', b'One.', b'Two.');"
        "bad = {'pygit2', 'typer', 'psutil', 'gitmem.git.command'} & set(sys.modules);"
        "sys.exit(str(bad) if bad else 0)"
    )
    done = subprocess.run([sys.executable, "-c", probe], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
