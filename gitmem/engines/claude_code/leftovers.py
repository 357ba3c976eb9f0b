"""What the client leaves in its own folder of a session that it was told not to keep."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from pathlib import Path

from gitmem.transcripts.claude_home import project_dirs

_ENTRY_BYTES = 64 * 1024


def forget(config: Path, session: str, cwd: Path) -> None:
    """Takes away long results of tools, the folder that was made for them, and the entry and key among
    running sessions of one that was killed.

    Best effort: what stays behind is no transcript, and nothing is learned from it.

    Args:
        config: the client's own folder.
        session: id that was made for this run alone.
        cwd: real path of the folder that it ran in.
    """
    for folder in (config / "projects").glob(f"*/{session}"):
        if folder.is_dir() and not folder.is_symlink() and not folder.with_suffix(".jsonl").exists():
            shutil.rmtree(folder, ignore_errors=True)
            with suppress(OSError):
                folder.parent.rmdir()
    for folder in project_dirs(config, [cwd]):
        # From 2.1.330 on it is made for a session that is not kept, too. One with anything in it stays.
        with suppress(OSError):
            folder.rmdir()
    for file in (config / "sessions").glob("*.json"):
        with suppress(OSError, ValueError, RecursionError):
            if not file.is_file() or file.is_symlink() or file.stat().st_size > _ENTRY_BYTES:
                continue
            entry = json.loads(file.read_bytes())
            if isinstance(entry, dict) and entry.get("sessionId") == session:
                file.unlink()
                for key in file.parent.glob(f"{file.stem}.*.key"):
                    key.unlink()
