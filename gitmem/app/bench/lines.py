"""Files with one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gitmem.core.errors import UsageError


def bad_line(path: Path, number: int, what: str) -> UsageError:
    """The error that names a line which is not as it should be."""
    return UsageError(f"{path}, line {number}: {what}", "See: git mem bench -h")


def objects(path: Path, what: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields line number and value of each line that is not blank.

    Args:
        what: what the file should hold, for the hint.

    Raises:
        UsageError: the file cannot be read, or a line is no JSON object.
    """
    try:
        # Not splitlines: a JSON string may hold other line separators as they are.
        lines = path.read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise UsageError(f"{path} cannot be read: {why}", f"Name a file of {what}.") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError as error:
            raise bad_line(path, number, f"no JSON ({error})") from error
        if not isinstance(value, dict):
            raise bad_line(path, number, "no JSON object")
        yield number, value
