"""gitmem: what coding agents learn, kept in git.

For programs: `gitmem.open(path)` gives the memory of a repository, `gitmem.GitMemoryTool` is a backend for
the memory tool of the Anthropic API. Each is loaded when it is asked for, and not before.
"""

from __future__ import annotations

# Checkers know the name; to import it from `typing` would cost every hook some milliseconds.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitmem.api import Memories as Memories
    from gitmem.api import open as open
    from gitmem.memory_tool.tool import AsyncGitMemoryTool as AsyncGitMemoryTool
    from gitmem.memory_tool.tool import GitMemoryTool as GitMemoryTool

__version__ = "0.1.0"
__all__ = ["AsyncGitMemoryTool", "GitMemoryTool", "Memories", "__version__", "open"]

_PLACES = {
    "Memories": "gitmem.api",
    "open": "gitmem.api",
    "AsyncGitMemoryTool": "gitmem.memory_tool.tool",
    "GitMemoryTool": "gitmem.memory_tool.tool",
}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
