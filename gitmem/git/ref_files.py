"""Refs, and whether an object is there, as git's files say them: without a process, and without an object.

Where a file does not tell, git does.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from gitmem.core.errors import RepositoryError
from gitmem.git.command import GitCommand, Layout, failure

BAD_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(/|$)|\.$|/$")


class GitRefs:
    """Refs of one repository, of which most prompts read nothing else."""

    def __init__(self, git: GitCommand, where: Layout) -> None:
        self.git = git
        self.git_dir = where.common_dir
        self.hex_length = where.hex_length
        self._where = where

    def ref(self, name: str) -> str | None:
        """See `repository.Repository`."""
        if (found := read_ref(self.git_dir, name, self.hex_length)) is not None:
            return found or None
        oid, link = self._each_ref(name).get(name, ("", ""))
        if link:
            raise symbolic(name, link)
        return oid or None

    def _each_ref(self, pattern: str) -> dict[str, tuple[str, str]]:
        """Full ref name to object name, and the ref that a symbolic one names."""
        # Not rev-parse: for a ref that is missing it would take a branch named `refs/…` instead.
        words = ["for-each-ref", "--format=%(refname)%00%(objectname)%00%(symref)", pattern]
        result = self.git.run(words, git_dir=self._where.git_dir)
        if "broken ref" in result.stderr:
            raise failure(result, self.git_dir)
        rows = (line.split("\0") for line in result.text.split("\n") if line)
        return {name: (oid, link) for name, oid, link in rows}


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


_PACK_INDEX, _NAMES = b"\xfftOc\0\0\0\2", 8 + 4 * 256
"""How the index of a pack begins, and where its names do: behind how many there are up to each byte."""


def holds(git: GitCommand, git_dir: Path, oid: str) -> bool:
    """Whether a repository has an object, which is not opened.

    Args:
        git_dir: that of all work trees.
        oid: a sound object name.
    """
    if (git_dir / "objects" / oid[:2] / oid[2:]).exists():
        return True
    name = bytes.fromhex(oid)
    for path in (git_dir / "objects/pack").glob("*.idx"):
        with suppress(OSError), path.open("rb") as file:  # another process may have packed anew
            head = file.read(_NAMES)
            counts = bytes(4) + head[8:]
            at = 4 * name[0]
            start, end = (len(name) * int.from_bytes(counts[n : n + 4]) for n in (at, at + 4))
            file.seek(_NAMES + start)
            if head.startswith(_PACK_INDEX) and name in file.read(end - start):
                return True
    return not git.run(["cat-file", "-e", oid], git_dir=git_dir, check=False).returncode
