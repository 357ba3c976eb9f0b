"""Git's own merge through the driver: no claim lost, conflicts only where a person must decide."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitmem.app.drivers import merge as main
from gitmem.app.drivers import merge_file
from gitmem.core.errors import UsageError

MEMORY = "---\nname: {0}\ndescription: About {0}\ntype: project\n---\n\n{1}\n"


def run(tmp_path: Path, path: str, base: str, ours: str, theirs: str) -> tuple[int, str]:
    names = []
    for name, text in (("O", base), ("A", ours), ("B", theirs)):
        (tmp_path / name).write_text(text)
        names.append(str(tmp_path / name))
    return main([*names, path]), (tmp_path / "A").read_text()


ONE, TWO = MEMORY.format("a", "One."), MEMORY.format("a", "Two.")


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "stand"),
    [
        (ONE, ONE + "\nTwo.\n", ONE + "\nThree.\n", ("One.", "Two.", "Three.")),
        # A file that both sides added has an empty base.
        ("", ONE, TWO, ("One.", "Two.")),
        # Two memories at one path are united, since a driver adds no file.
        ("", ONE, TWO.replace("a\n", "other\n"), ("One.", "Two.", "name: a", "name: other")),
    ],
)
def test_claims_of_both_sides_stand_in_the_result(
    tmp_path: Path, base: str, ours: str, theirs: str, stand: tuple[str, ...]
) -> None:
    code, text = run(tmp_path, "main/a.md", base, ours, theirs)
    assert code == 0 and all(word in text for word in stand)


def test_the_index_merges_entry_by_entry_and_tombstones_as_a_set(tmp_path: Path) -> None:
    one, two, three = (f"- [{name}]({name}.md) — {name}\n" for name in "abc")
    assert run(tmp_path, "main/MEMORY.md", one, one + two, one + three) == (0, one + two + three)
    lines = [f"v1 {'5a' * 8} {digit * 64} 2026-11-20 forgot\n" for digit in "12"]
    assert run(tmp_path, "main/.tombstones", "", *lines) == (0, "".join(lines))


@pytest.mark.parametrize("swapped", [False, True])
def test_the_newest_snapshot_json_wins(swapped: bool) -> None:
    old, new = b'{"updatedAt": "2026-11-20T10:00:00Z"}', b'{"updatedAt": "2026-11-20T12:00:00+01:00"}'
    sides = (new, old) if swapped else (old, new)
    assert merge_file("snapshots/main/snapshot.json", b"{}", *sides) == new
    assert merge_file("snapshots/main/snapshot.json", b"{}", b"not json", old) == old
    assert merge_file("snapshots/main/snapshot.json", old, old, new) == new


def test_what_cannot_be_merged_or_read_is_a_conflict_and_the_words_are_checked(tmp_path, capsys) -> None:
    """A file for the host that both sides changed is left to a person."""
    assert run(tmp_path, "CODEOWNERS", "a\n", "b\n", "c\n") == (1, "b\n")
    assert "cannot be merged" in capsys.readouterr().err
    assert main([str(tmp_path / "none")] * 3 + ["main/a.md"]) == 1
    assert "was not merged" in capsys.readouterr().err
    with pytest.raises(UsageError):
        main(["one"])
