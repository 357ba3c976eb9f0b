#!/usr/bin/env python3
"""Writes what the program says of itself: docs/reference.md and the manual pages in docs/man.

`python docs/make.py` writes them; tests/test_docs.py says when that is due.
"""

from __future__ import annotations

from pathlib import Path

from gitmem.cli.manual import man_pages, reference

DOCS = Path(__file__).parent


def made() -> dict[Path, str]:
    """Each file, and what it should hold."""
    pages = {DOCS / "man" / name: text for name, text in man_pages()}
    return {DOCS / "reference.md": reference(), **pages}


def main() -> None:
    """Writes what changed, and takes away pages of verbs that are gone."""
    files = made()
    for path in (DOCS / "man").glob("*.1"):
        if path not in files:
            path.unlink()
    for path, text in files.items():
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(path.relative_to(DOCS.parent))


if __name__ == "__main__":
    main()
