"""What docs/ says of the program is what the program says."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[1]


def _made() -> dict[Path, str]:
    spec = importlib.util.spec_from_file_location("make", ROOT / "docs/make.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made: dict[Path, str] = module.made()
    return made


def test_the_reference_and_the_manual_pages_are_current() -> None:
    """`python docs/make.py` writes them."""
    made = _made()
    due = [path for path, text in made.items() if not path.exists() or path.read_text() != text]
    assert [str(path.relative_to(ROOT)) for path in due] == [], "run: python docs/make.py"
    assert sorted((ROOT / "docs/man").glob("*.1")) == sorted(path for path in made if path.suffix == ".1")
