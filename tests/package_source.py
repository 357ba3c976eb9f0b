"""The package's own code, parsed once for all laws that are about it."""

from __future__ import annotations

import ast
import gc
from collections.abc import Mapping
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "gitmem"


@cache
def texts() -> Mapping[str, str]:
    """Path of each module, from the package's folder, to its text."""
    return {
        path.relative_to(PACKAGE).as_posix(): path.read_text("utf-8")
        for path in sorted(PACKAGE.rglob("*.py"))
    }


@cache
def nodes(path: str) -> tuple[ast.AST, ...]:
    """All nodes of a module's syntax tree, from its root on."""
    # Else half of the time goes into looking for circles among what is kept anyhow.
    gc.disable()
    try:
        return tuple(ast.walk(ast.parse(texts()[path])))
    finally:
        gc.enable()


def modules(*words: str) -> Mapping[str, tuple[ast.AST, ...]]:
    """Path of each module to its nodes; with words, of those whose text has one of them.

    To parse and walk all of them takes 2 s.
    """
    return {
        path: nodes(path)
        for path, text in texts().items()
        if not words or any(word in text for word in words)
    }
