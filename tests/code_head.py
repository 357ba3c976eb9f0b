"""The commit that HEAD of a code repository names, from git's files: tests ask for it a thousand times."""

from __future__ import annotations

import subprocess
from pathlib import Path

from gitmem.git.ref_files import ref_value


def head_of(top: Path) -> str:
    """Its full name.

    Args:
        top: of the work tree; of a linked one git is asked.
    """
    found = ref_value(top / ".git", "HEAD", 40) or ""
    if found.startswith("ref:"):
        found = ref_value(top / ".git", found.removeprefix("ref:").strip(), 40) or ""
    return found or subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=top, text=True).strip()
