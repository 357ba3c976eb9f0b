"""Writes a memory's file as an editor or an agent would, for adapters of tools that keep files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def main() -> int:
    """Writes it, and has it saved."""
    how, folder, name, text = sys.argv[1:]
    if how == "gitmem":
        path = Path(folder, ".claude/agent-memory/reviewer", f"{name}.md")
        front = (
            path.read_text().split("---\n", 2)[1]
            if path.exists()
            else f"name: {name}\ndescription: {text}\ntype: project\n"
        )
        path.write_text(f"---\n{front}---\n\n{text}\n")
        return subprocess.run(["git-mem", "save"], cwd=folder, check=False).returncode
    Path(folder, f"{name}.md").write_text(f"---\nname: {name}\n---\n\n{text}\n")
    add = subprocess.run(["git", "add", f"{name}.md"], cwd=folder, check=False).returncode
    return (
        add
        or subprocess.run(
            ["git", "commit", "-q", "-m", f"Write {name}"], cwd=folder, check=False
        ).returncode
    )


if __name__ == "__main__":
    sys.exit(main())
