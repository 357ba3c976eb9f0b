"""Replaces what stands below a file's frontmatter, as an agent would: `edit_body.py GLOB TEXT`."""

from __future__ import annotations

import sys
from pathlib import Path


def main() -> int:
    """Writes the one file that the pattern names."""
    pattern, text = sys.argv[1:]
    (path,) = Path().glob(pattern)
    whole = path.read_text()
    front = whole.split("---\n", 2)[1] if whole.startswith("---\n") else ""
    path.write_text(f"---\n{front}---\n\n{text}\n" if front else f"{text}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
