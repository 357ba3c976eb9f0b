"""A file that a merge moves aside takes nothing that stood at that path: undo, and changes of a dream."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "cli"))
from cli_ground import Ground, ground, memory

from gitmem.core.merge import merge_trees
from gitmem.ledger.dreams import DreamCommit, some

__all__ = ["ground"]

AGENT = "reviewer"
PATH = f"{AGENT}/ports.md"
OLD = memory("ports", "The ports are 80 and 443, and some others for which there is a list.")
NEW = memory("harbours", "Ships.")
EDITED = memory("ports", "Edited since, by hand.")


def aside() -> str:
    """Where the longer of the two goes."""
    return merge_trees({}, {PATH: NEW.encode()}, {PATH: OLD.encode()}).split[0]


def test_undo_keeps_what_stands_where_a_file_moves_to(ground: Ground, home: Path) -> None:
    (home / ".claude").mkdir()
    ground.run("init", "-y")
    ground.learn({PATH: OLD, aside(): EDITED})
    deleted = ground.learn({PATH: None})
    ground.learn({PATH: NEW})
    ground.run("undo", deleted)
    stored = ground.tree()
    assert "Ships." in stored[PATH]
    assert "Edited since, by hand." in stored[aside()] and "80 and 443" in stored[aside()]


def test_single_changes_of_a_dream_keep_what_stands_there() -> None:
    change = DreamCommit(
        n=1, commit="", subject="", reason="", files={PATH: (None, OLD.encode())}, fates=(), claims=()
    )
    merged = some((change,), {PATH: NEW.encode(), aside(): EDITED.encode()})
    assert b"Ships." in merged[PATH]
    assert b"Edited since, by hand." in merged[aside()] and b"80 and 443" in merged[aside()]
