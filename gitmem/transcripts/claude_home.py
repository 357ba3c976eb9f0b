"""Where Claude Code keeps what of a repository: its own folder, sessions, and the agent's memory.

It files sessions under a slug of the working directory, which cannot be decoded: `/a/b-c` and `/a/b/c`
share one. So a session counts only when the `cwd` in its records lies in the repository.
"""

from __future__ import annotations

import json
import os
import stat
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gitmem.transcripts.model import SessionFile

SLUG_LENGTH = 200
"""Characters of a slug; a longer one is cut here and gets `-` and a hash that differs between clients."""
_SETTINGS_SIZE = 4 * 1024 * 1024


def claude_config_dir(environ: Mapping[str, str], home: Path) -> Path:
    """Names the client's folder: `$CLAUDE_CONFIG_DIR`, else `~/.claude`."""
    given = environ.get("CLAUDE_CONFIG_DIR", "")
    return Path(given) if given else home / ".claude"


def slug(path: Path) -> str:
    """Names the folder that the client keeps for a working directory.

    Args:
        path: real path of the directory.

    Returns:
        Its NFC form with `-` for each character outside `[A-Za-z0-9]`, nothing collapsed, uncut.
    """
    text = unicodedata.normalize("NFC", str(path))
    return "".join(char if char.isascii() and char.isalnum() else "-" for char in text)


def project_dirs(config: Path, paths: Sequence[Path]) -> tuple[Path, ...]:
    """Lists the folders that may hold sessions of a repository.

    Args:
        config: the client's folder.
        paths: real paths of all worktrees.

    Returns:
        Folders under `<config>/projects`, sorted, for the worktrees and for directories below them.
        The names only propose: `sessions_of` checks each session.
    """
    slugs = [slug(path) for path in paths]
    return tuple(folder for folder in _folders(config) if any(_fits(folder.name, s) for s in slugs))


def sessions_of(config: Path, worktrees: Sequence[Path]) -> tuple[SessionFile, ...]:
    """Finds the sessions that were started in a repository.

    Sessions of another repository that is nested in a worktree do not count, nor do subagents' files
    and anything reached through a symlink.

    Args:
        config: the client's folder.
        worktrees: real paths of all worktrees of the repository.

    Returns:
        Oldest change first, then by path.
    """
    from gitmem.transcripts.reader import belongs, first_cwd

    found = [
        file
        for folder in project_dirs(config, worktrees)
        for file in _transcripts(folder)
        if belongs(first_cwd(file.path), worktrees)
    ]
    return tuple(sorted(found, key=lambda file: (file.mtime_ns, file.path)))


def memory_folder(config: Path, repository_root: Path) -> Path:
    """Names the client's default auto-memory folder, `<config>/projects/<slug>/memory`.

    Args:
        config: the client's folder.
        repository_root: real path of the main work tree; for a linked one that in which its `.git` is.

    Returns:
        The folder, which need not exist. Beyond 200 characters the client appends a hash that cannot
        be known: then the one existing folder whose sessions began in the repository, else the name
        without the hash.
    """
    name = slug(repository_root)
    if len(name) > SLUG_LENGTH:
        # Hooks load this module for every prompt, and a name so long is rare.
        from gitmem.transcripts.reader import belongs, first_cwd

        cut = name[:SLUG_LENGTH]
        for folder in _folders(config):
            if folder.name.startswith(f"{cut}-") and any(
                belongs(first_cwd(file.path), [repository_root]) for file in _transcripts(folder)
            ):
                return folder / "memory"
        name = cut
    return config / "projects" / name / "memory"


def auto_memory_dir(
    environ: Mapping[str, str], home: Path, repository_root: Path, user_settings: Mapping[str, Any]
) -> Path | None:
    """Finds the folder in which the client keeps its own memory of a repository.

    In the client's order: the variable `CLAUDE_COWORK_MEMORY_PATH_OVERRIDE`, the setting
    `autoMemoryDirectory`, the default folder. Only the person's own settings may move it, so that no
    repository can redirect writes: neither `.claude/settings.json` nor `.claude/settings.local.json` in
    a work tree counts, since an archive or a copied tree brings the latter along as well.

    Args:
        environ: environment of the person's command.
        home: their home.
        repository_root: as for `memory_folder`.
        user_settings: content of `<config>/settings.json`, see `read_settings`.

    Returns:
        The folder, which need not exist; None where auto memory is switched off.
    """
    off = environ.get("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "").lower() in ("1", "true", "yes", "on")
    if off or user_settings.get("autoMemoryEnabled") is False:
        return None
    for given in (
        environ.get("CLAUDE_COWORK_MEMORY_PATH_OVERRIDE"),
        user_settings.get("autoMemoryDirectory"),
    ):
        if isinstance(given, str) and (folder := _chosen(given, home)):
            return folder
    return memory_folder(claude_config_dir(environ, home), repository_root)


def read_settings(config: Path) -> dict[str, Any]:
    """Reads `<config>/settings.json`; empty where it is missing, oversized or not a JSON object."""
    try:
        with (config / "settings.json").open("rb") as file:
            value = json.loads(file.read(_SETTINGS_SIZE))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _chosen(given: str, home: Path) -> Path | None:
    path = home / given[2:] if given.startswith("~/") else Path(given)
    safe = path.is_absolute() and ".." not in path.parts and "\0" not in given
    # A folder that holds the whole home would make every file in it a memory.
    return path if safe and not home.is_relative_to(path) else None


def _fits(name: str, wanted: str) -> bool:
    cut = wanted[:SLUG_LENGTH]
    return name == cut or name.startswith(f"{cut}-")


def _folders(config: Path) -> Iterator[Path]:
    """Real folders directly under `<config>/projects`, sorted."""
    try:
        with os.scandir(config / "projects") as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return
    yield from (config / "projects" / name for name in names)


def _transcripts(folder: Path) -> Iterator[SessionFile]:
    """Main transcripts in one folder; old clients kept `agent-<id>.jsonl` beside them."""
    from gitmem.transcripts.model import SessionFile  # no hook reads any

    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries)
    except OSError:
        return
    for name in names:
        if not name.endswith(".jsonl") or name.startswith((".", "agent-")):
            continue
        path = folder / name
        try:
            status = path.lstat()
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode):
            yield SessionFile(path, path.stem, status.st_mtime_ns, status.st_size)
