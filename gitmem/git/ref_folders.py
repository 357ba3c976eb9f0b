"""All refs below a folder from git's own files, without a process; what is unusual there is left to git.

Loose refs first and `packed-refs` after them, as git reads them: a ref that is being packed is in one of
the two. Format: gitrepository-layout in git's documentation.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from gitmem.git.ref_files import BAD_REF, ref_value

_OWN = ("refs/bisect/", "refs/worktree/", "refs/rewritten/")
"""Refs that each work tree has for itself, in its own git directory."""


class Unusual(Exception):
    """Git has to say."""


def refs_below(git_dir: Path, folder: str, hex_length: int) -> dict[str, str]:
    """Full name to object name of each ref below a folder, sorted, without symbolic ones.

    Args:
        git_dir: the common git directory.
        folder: e.g. `refs/gitmem/`; any other pattern is git's to match.
        hex_length: length of the repository's object names.

    Raises:
        Unusual: git has to say.
    """
    if not folder.endswith("/") or not _is_plain(folder[:-1]) or (git_dir / "reftable").is_dir():
        raise Unusual
    try:
        # One that has no value any more was deleted meanwhile.
        loose = {
            name: value
            for name in _files(git_dir, folder)
            if (value := ref_value(git_dir, name, hex_length)) != ""
        }
        found = _packed(git_dir, folder) | loose
    except OSError:
        raise Unusual from None
    is_oid = re.compile(f"[0-9a-f]{{{hex_length}}}").fullmatch
    listed = {}
    for name in sorted(found, key=os.fsencode):
        oid = found[name] or ""
        if oid.startswith("ref:"):
            # One that leads nowhere is broken or passed over: that depends on how, and on git's version.
            target = oid.removeprefix("ref:").strip()
            oid = (ref_value(git_dir, target, hex_length) or "") if _is_plain(target) else ""
        else:
            listed[name] = oid
        if not _is_plain(name) or not is_oid(oid) or not oid.strip("0"):
            raise Unusual
    return listed


def _is_plain(name: str) -> bool:
    return name.startswith("refs/") and not f"{name}/".startswith(_OWN) and not BAD_REF.search(name)


def _files(git_dir: Path, folder: str) -> Iterator[str]:
    """Names of the files at any depth; nothing that is no regular file is followed."""
    folders = [folder]
    while folders:
        folder = folders.pop()
        try:
            rows = os.scandir(git_dir / folder)
        except FileNotFoundError:
            continue
        with rows:
            for row in rows:
                if row.name.startswith(".") or row.name.endswith(".lock"):
                    continue
                if row.is_dir(follow_symlinks=False):
                    folders.append(f"{folder}{row.name}/")
                elif row.is_file(follow_symlinks=False):
                    yield folder + row.name
                else:
                    raise Unusual


def _packed(git_dir: Path, folder: str) -> dict[str, str]:
    try:
        lines = b"\n" + (git_dir / "packed-refs").read_bytes()
    except FileNotFoundError:
        return {}
    if not lines.endswith(b"\n"):
        raise Unusual
    found = {}
    for row in re.finditer(b" (%s[^\n]*)\n" % re.escape(os.fsencode(folder)), lines):
        oid = lines[lines.rfind(b"\n", 0, row.start()) + 1 : row.start()]
        found[os.fsdecode(row[1])] = oid.decode("ascii", "replace")
    return found
