"""The files that rules go into: which one, whether it may be written, and what it says here and in HEAD."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from gitmem.core.errors import RepositoryError, UsageError
from gitmem.flows.context import Edges
from gitmem.git.command import peek
from gitmem.ledger.files import linked, read_regular, read_theirs, replace_file
from gitmem.ledger.workspace import LIVE_FOLDERS, Workspace
from gitmem.promote.section import CLOSE

LARGEST = 262_144
"""Bytes of an instruction file: agents read a fraction of that."""

ENDINGS = (".md", ".mdc", ".markdown")
DEFAULTS = ("CLAUDE.md", "AGENTS.md")
SNAPSHOTS = "agent-memory-snapshots"
SECONDS = 5.0
"""What one look at the code may take in the worker."""

MOST_FILES = 100
"""Files of one commit that are searched for rules; a teammate may have pushed any number."""


def chosen_file(workspace: Workspace, edges: Edges, to: str | None) -> str:
    """The file for a rule, from the top of the work tree.

    Args:
        to: as the person gave it, from the folder where they are; None for `CLAUDE.md` where it is there,
            else `AGENTS.md` where it is there, else `CLAUDE.md`. Where the first is but a link to the
            second, or imports it and nothing else, the second is meant.

    Raises:
        UsageError: nothing may be written there.
    """
    top = top_of(workspace)
    if to is not None:
        given = edges.cwd / Path(to).expanduser()
        path = Path(os.path.normpath(given))
        try:
            file = path.relative_to(top).as_posix()
        except ValueError:
            raise UsageError(f"{to} is not inside {top}", "Name a file of this work tree.") from None
        check_file(workspace, file)
        return file
    first, second = DEFAULTS
    there = {name: (top / name).is_file() for name in DEFAULTS}
    imports = there[first] and _text_of(top / first).strip() == f"@{second}"
    file = (
        second if there[second] and (not there[first] or imports or (top / first).is_symlink()) else first
    )
    check_file(workspace, file)
    return file


def check_file(workspace: Workspace, file: str) -> None:
    """Refuses a file that a rule must not go into.

    Args:
        file: from the top of the work tree, separated by `/`.

    Raises:
        UsageError: it says why, and what to do.
    """
    top = top_of(workspace)
    path, parts = top / file, file.split("/")
    why = _unfit(workspace, top, path, parts)
    if why:
        raise UsageError(f"{file} cannot hold rules: {why}", "Name another with --to, such as AGENTS.md.")
    if not is_tracked(workspace, file):
        ignored = workspace.git.run(["check-ignore", "-q", "--", file], cwd=top, check=False)
        if ignored.returncode == 0:
            raise UsageError(
                f"{file} is ignored by git: what is written there is never committed",
                "Name a file that is committed, or put the rule there by hand and forget the memory.",
            )


def is_tracked(workspace: Workspace, file: str) -> bool:
    """Whether git knows a file of the work tree."""
    words = ["ls-files", "--error-unmatch", "-z", "--", file]
    return workspace.git.run(words, cwd=top_of(workspace), check=False).returncode == 0


def read_here(workspace: Workspace, file: str) -> str:
    """The file's text in the work tree; empty where it is not there.

    Raises:
        UsageError: it is not UTF-8, or too large.
        RepositoryError: it cannot be read.
    """
    return as_text(read_theirs(top_of(workspace) / file, LARGEST) or b"", file)


def as_text(data: bytes, file: str) -> str:
    """A file's bytes as text.

    Raises:
        UsageError: they are not UTF-8, or too many.
    """
    if len(data) > LARGEST:
        raise UsageError(f"{file} has more than {LARGEST:,} bytes", "Rules go into a shorter file: --to.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not UTF-8 at byte {error.start}", "Convert it first.") from error


def write_here(workspace: Workspace, file: str, before: str, after: str) -> None:
    """Changes the file in the work tree, keeping its mode; one that becomes empty is deleted.

    Raises:
        RepositoryError: it changed meanwhile, or cannot be written.
    """
    path = top_of(workspace) / file
    if read_here(workspace, file) != before:
        raise RepositoryError(f"{file} changed meanwhile", "Run it again.")
    try:
        if not after:
            path.unlink(missing_ok=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = stat.S_IMODE(path.lstat().st_mode) if path.exists() else 0o666 & ~_umask()
        replace_file(path, after.encode("utf-8"), mode)
    except OSError as error:
        raise RepositoryError(f"{path} cannot be written: {error.strerror}") from error


def files_at(
    workspace: Workspace, commit: str, files: Iterable[str], top: Path
) -> tuple[Mapping[str, str], frozenset[str]]:
    """Texts of files as a commit of the code has them.

    Args:
        files: from the top of the tree.
        top: a folder of the repository.

    Returns:
        Also the files of which nobody can tell: too large, not UTF-8, or the look took too long.
    """
    found: dict[str, str] = {}
    odd: set[str] = set()
    for file in sorted(set(files)):
        data = blob_at(workspace, commit, file, top, SECONDS)
        if data is not None:
            try:
                found[file] = as_text(data, file)
            except UsageError:
                odd.add(file)
            continue
        words = ["rev-parse", "--verify", "--quiet", f"{commit}:{file}"]
        if peek(workspace.git, words, cwd=top, seconds=SECONDS, size=LARGEST).returncode != 1:
            odd.add(file)
    return found, frozenset(odd)


def blob_at(workspace: Workspace, commit: str, file: str, top: Path, seconds: float) -> bytes | None:
    """One file of a commit; None where it is not there, or the look took too long."""
    words = ["cat-file", "blob", f"{commit}:{file}"]
    seen = peek(workspace.git, words, cwd=top, seconds=seconds, size=LARGEST + 1)
    return seen.stdout if seen.returncode == 0 else None


def with_rules(workspace: Workspace, commit: str, top: Path) -> tuple[str, ...]:
    """Names the Markdown files of a commit that hold a rule's mark."""
    words = ["grep", "-l", "-z", "-I", "-F", "-e", CLOSE, commit, "--", *(f"*{end}" for end in ENDINGS)]
    seen = peek(workspace.git, words, cwd=top, seconds=SECONDS, size=LARGEST)
    return tuple(name.partition(":")[2] for name in seen.text.split("\0") if ":" in name)[:MOST_FILES]


def changed(workspace: Workspace, old: str, new: str, top: Path) -> bool:
    """Whether a Markdown file differs between two commits, or nobody can tell."""
    words = ["diff-tree", "-r", "-z", "--name-only", old, new, "--", *(f"*{end}" for end in ENDINGS)]
    seen = peek(workspace.git, words, cwd=top, seconds=SECONDS, size=1)
    return bool(seen.stdout) or seen.returncode != 0


def top_of(workspace: Workspace) -> Path:
    """Top of the present work tree."""
    top = workspace.layout.worktree
    if top is None:
        raise RepositoryError("There is no work tree", "Run it in a repository with a work tree.")
    return top


def _unfit(workspace: Workspace, top: Path, path: Path, parts: list[str]) -> str:
    if any(part.lower() == ".git" for part in parts):
        return "it lies in git's own folder"
    if not parts[-1].lower().endswith(ENDINGS):
        return "it is no Markdown file, whose comments could mark the rules off"
    if any(not part.isprintable() for part in parts):
        return "its name holds what cannot be shown"
    if linked(top, path):
        return "it is a symbolic link, or lies behind one"
    for folder in _memory_folders(workspace, top):
        if path.is_relative_to(folder):
            return "it is a memory, or lies among them"
    for parent in list(path.parents)[: len(parts) - 1]:
        if (parent / ".git").exists():
            return f"{parent.name} is a repository of its own"
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"it cannot be looked at: {error.strerror}"
    return "" if stat.S_ISREG(mode) else "it is no regular file"


def _memory_folders(workspace: Workspace, top: Path) -> list[Path]:
    names = (*LIVE_FOLDERS.values(), SNAPSHOTS)
    found = [top / workspace.claude_folder / name for name in names]
    found += [workspace.around.config / "agent-memory", top / "snapshots"]
    if workspace.auto_memory is not None:
        found.append(workspace.auto_memory)
    return found


def _text_of(path: Path) -> str:
    try:
        found = read_regular(path, 64)
    except OSError:
        return ""
    return found[0].decode("utf-8", "replace") if found else ""


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
