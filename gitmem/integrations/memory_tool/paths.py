"""From `/memories/…`, as a model writes it, to a path in an agent's folder. Nothing here is a file path."""

from __future__ import annotations

from gitmem.core.names import ARCHIVE, INDEX
from gitmem.integrations.memory_tool import words
from gitmem.rules.paths import check_path


def locate(path: object) -> str:
    """The path in the agent's folder that a model's path names; empty for the folder itself.

    `.` and `..` are taken out as a file system would, so that `/memories/a/..` is the folder itself.

    Raises:
        Refused: it is not under `/memories`, leads out of it, or is no name that a tree may hold.
    """
    if not isinstance(path, str):
        raise words.not_under_root(str(path)[:80])
    if path != words.ROOT and not path.startswith(f"{words.ROOT}/"):
        raise words.not_under_root(path)
    parts: list[str] = []
    for part in path[len(words.ROOT) :].split("/"):
        if part == "..":
            if not parts:
                raise words.escapes(path)
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    inner = "/".join(parts)
    reason = check_path(inner) if inner else None
    if reason is not None and "percent" in reason:
        raise words.escapes(path)
    if reason is not None:
        raise words.bad_name(path, reason)
    return inner


def is_visible(inner: str) -> bool:
    """Whether a path of the agent's folder is shown: neither hidden nor set aside, and fit to be named."""
    return not _hidden(inner) and _taken(inner) is None and check_path(inner) is None


def check_writable(inner: str, path: str) -> None:
    """Raises where a file may not be written.

    Args:
        path: as the model wrote it.

    Raises:
        Refused: it is hidden, or the name means something to gitmem.
    """
    if _hidden(inner):
        raise words.kept_by_gitmem(path)
    what = _taken(inner)
    if what is not None:
        raise words.reserved(path, what)


def _hidden(inner: str) -> bool:
    return any(part.startswith(".") for part in inner.split("/"))


def _taken(inner: str) -> str | None:
    first, *deeper = parts = inner.split("/")
    if first.casefold() == ARCHIVE:
        return f"{words.ROOT}/{first} holds what was paged out, which is read under its old path"
    if any(part.casefold() == INDEX.casefold() for part in parts) and (deeper or first != INDEX):
        return f"the index is {words.ROOT}/{INDEX}, and nothing else has that name"
    return None
