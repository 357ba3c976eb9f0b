"""What the client leaves in its own folder of a session that it was told not to keep."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from pathlib import Path

_ENTRY_BYTES = 64 * 1024


def forget(config: Path, session: str) -> None:
    """Takes away long results of tools, and the entry among running sessions of one that was killed.

    Best effort: what stays behind is no transcript, and nothing is learned from it.

    Args:
        config: the client's own folder.
        session: id that was made for this run alone.
    """
    for folder in (config / "projects").glob(f"*/{session}"):
        if folder.is_dir() and not folder.is_symlink() and not folder.with_suffix(".jsonl").exists():
            shutil.rmtree(folder, ignore_errors=True)
            with suppress(OSError):
                folder.parent.rmdir()
    for file in (config / "sessions").glob("*.json"):
        with suppress(OSError, ValueError, RecursionError):
            if not file.is_file() or file.is_symlink() or file.stat().st_size > _ENTRY_BYTES:
                continue
            entry = json.loads(file.read_bytes())
            if isinstance(entry, dict) and entry.get("sessionId") == session:
                file.unlink()
