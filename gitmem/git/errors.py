"""What git says when it fails, in words with which a person can do something."""

from __future__ import annotations

import re
from pathlib import Path

IDENTITY_HINT = (
    'Tell git who you are: git config --global user.name "Your Name" and '
    "git config --global user.email you@example.com"
)

# What git says (in the C locale) and what a person can do about it.
_HINTS: tuple[tuple[str, str], ...] = (
    (r"dubious ownership", "If you trust this folder: git config --global --add safe.directory {path}"),
    (r"not a git repository", "Run it inside a repository, or make one here with: git init"),
    (r"tell me who you are|empty ident name|auto-detection is disabled|no email was given", IDENTITY_HINT),
    (
        r"No space left on device|Disk quota exceeded|File too large|File size limit",
        "Free some disk space and run it again; nothing was moved.",
    ),
    (
        r"(?:Unable to create '|could not lock config file )(?P<file>[^'\n]+?)(?:\.lock')?: File exists",
        "If no other git is running, delete {file}.lock",
    ),
    (
        r"Read-only file system|Permission denied|insufficient permission|unable to create directory for",
        "Make it writable for you and run it again.",
    ),
    (r"broken ref", "Bring it back from what is known of it: git mem doctor"),
    (r"exists; cannot create", "A branch with that name is in the way: rename it with git branch -m"),
    (
        r"must be run in a work tree|cannot use bare repository",
        "Run it in a repository that has a work tree.",
    ),
)


def explain(stderr: str, path: Path | None = None) -> tuple[str, str]:
    """Finds git's own last word in its error output, or the one with a known remedy.

    Args:
        stderr: what git (or libgit2) wrote, in the C locale.
        path: the folder git ran in, for hints that name it.

    Returns:
        (message, hint); the hint is empty where none is known.
    """
    lines = [line for line in map(_printable, stderr.splitlines()) if line]
    words = [line for line in lines if line.startswith(("fatal: ", "error: "))] or lines
    message = _bare(words[-1]) if words else "git failed without a word"
    for pattern, hint in _HINTS:
        if found := re.search(pattern, stderr):
            message = next((_bare(line) for line in words if re.search(pattern, line)), message)
            return message, hint.format(path=path or ".", **found.groupdict())
    return message, ""


def _bare(line: str) -> str:
    return re.sub(r"^(fatal|error|warning): ", "", line)


def _printable(line: str) -> str:
    return "".join(c for c in line if c.isprintable()).strip()
