"""Refs as git's files say them: where memory stands is found without a process, and without an object."""

from __future__ import annotations

import os
import re
from pathlib import Path

from gitmem.core.errors import RepositoryError

BAD_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(/|$)|\.$|/$")


def check_ref_name(name: str) -> str:
    """Returns `name` where it is a full, well-formed ref name (git-check-ref-format).

    Raises:
        RepositoryError: it is not.
    """
    if not name.startswith("refs/") or name.count("/") < 2 or BAD_REF.search(name):
        raise RepositoryError(f"Not a full ref name: {name!r}")
    return name


def read_ref(git_dir: Path, name: str, hex_length: int) -> str | None:
    """A ref from its file or `packed-refs`; empty where it is in neither, None where git must say.

    Args:
        git_dir: that of all work trees.
        hex_length: length of the repository's object names.

    Raises:
        RepositoryError: it is no full ref name, or the ref names another.
    """
    check_ref_name(name)
    found = ref_value(git_dir, name, hex_length)
    if found is not None and found.startswith("ref:"):
        raise symbolic(name, found.removeprefix("ref:").strip())
    return found


def ref_value(git_dir: Path, name: str, hex_length: int) -> str | None:
    """The same for any name, and of a symbolic ref `ref:` and what it names."""
    if (git_dir / "reftable").is_dir():
        return None
    try:
        # In this order, as git reads them: a ref that is being packed is in one of the two.
        text = (git_dir / name).read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return _packed_ref(git_dir, name, hex_length)
    except OSError:
        return None
    found = text.rstrip(b" \t\r\n").decode("utf-8", "surrogateescape")
    sound = re.fullmatch(rf"[0-9a-f]{{{hex_length}}}", found) and found.strip("0")
    return found if sound or found.startswith("ref:") else None


def _packed_ref(git_dir: Path, name: str, hex_length: int) -> str | None:
    try:
        lines = b"\n" + (git_dir / "packed-refs").read_bytes()
    except FileNotFoundError:
        return ""
    except OSError:
        return None
    end = lines.find(b" %s\n" % os.fsencode(name))
    return lines[end - hex_length : end].decode("ascii", "replace") if end > 0 else ""


def symbolic(name: str, link: str) -> RepositoryError:
    """Makes the error for a ref that names another."""
    # Written through it, a branch of the person's would move, under HEAD and index.
    return RepositoryError(
        f"{name} is a symbolic ref to {link}, and no memory",
        f"If nobody wants it: git symbolic-ref -d {name}. To bring memory back: git mem doctor",
    )
