"""Opens repositories, to read objects by libgit2 where it can, and by the `git` command where it cannot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gitmem.core.errors import MissingObject, RepositoryError
from gitmem.git import objects
from gitmem.git.by_command import GitRepository
from gitmem.git.command import GitCommand, Layout, bare_layout, layout
from gitmem.git.repository import Repository

if TYPE_CHECKING:
    import pygit2

_KINDS = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
"""Types of objects as packs, and libgit2, number them."""


class Pygit2Objects:
    """Objects of one SHA-1 repository through libgit2 (see `objects.ObjectStore`).

    No process for reading one that is packed; worth its start-up for long work. What libgit2 cannot do, or
    not safely, is git's own: refs, revision syntax, and all that walks a history.

    Args:
        common_dir: the common git directory.
        handle: the repository as libgit2 opened it.
    """

    def __init__(self, common_dir: Path, handle: pygit2.Repository) -> None:
        self._objects = common_dir / "objects"
        self._repo = handle

    def read(self, oid: str) -> tuple[str, bytes]:
        """Reads an object. Raises MissingObject where it is missing or damaged."""
        objects.check_oid(oid, 40)
        return self._read_loose(oid) or self._read_packed(oid)

    def read_many(self, oids: Sequence[str]) -> dict[str, tuple[str, bytes]]:
        """Reads objects; what is missing or damaged is left out."""
        found = {}
        for oid in oids:
            with suppress(MissingObject):
                found[oid] = self.read(oid)
        return found

    def close(self) -> None:
        """Frees the handle."""
        self._repo.free()

    def _read_loose(self, oid: str) -> tuple[str, bytes] | None:
        # Libgit2 (1.9) never returns from a loose object that was cut short, as a power cut leaves one.
        try:
            # Not through a `Path`: making one takes longer than the system's answer.
            with FileIO(f"{self._objects}/{oid[:2]}/{oid[2:]}") as file:
                data = file.readall()
        except FileNotFoundError:
            return None
        except OSError:
            raise objects.damaged_object(oid) from None
        return objects.parse_loose(data, oid)

    def _read_packed(self, oid: str) -> tuple[str, bytes]:
        import pygit2

        try:
            kind, data = self._repo.read(oid)
        except KeyError:
            raise objects.missing_object(oid) from None
        except (pygit2.GitError, ValueError, OSError):
            raise objects.damaged_object(oid) from None
        return _KINDS[kind], data


def open_repository(
    path: Path, git: GitCommand, prefer: Literal["auto", "git"] = "auto", *, bare: bool = False
) -> Repository:
    """Opens the repository that a folder is in.

    Args:
        path: any folder of a work tree, or a git directory.
        git: the command, with the environment whose configuration counts.
        prefer: "git" uses the command alone, which is quicker for fewer than some thirty calls.
        bare: `path` itself is a bare repository that gitmem made (the private one); it is not searched for,
            so `safe.bareRepository` does not stand in the way.

    Raises:
        RepositoryError: there is none, or it may not be used.
    """
    return open_known(bare_layout(path, git) if bare else layout(git, path), git, prefer)


def open_known(where: Layout, git: GitCommand, prefer: Literal["auto", "git"] = "auto") -> Repository:
    """Opens a repository whose parts are known already; arguments as for `open_repository`."""
    # Other formats that libgit2 cannot read make it refuse below. Loose objects are read by
    # gitmem itself, and not those of repositories that this one borrows from.
    borrows = (where.common_dir / "objects/info/alternates").exists()
    if prefer == "git" or borrows or where.object_format != "sha1":
        return GitRepository(git, where)
    handle = _libgit2(where.git_dir, git.environ)
    if handle is None:
        return GitRepository(git, where)
    return GitRepository(git, where, Pygit2Objects(where.common_dir, handle))


def _libgit2(git_dir: Path, environ: Mapping[str, str]) -> pygit2.Repository | None:
    import pygit2
    from pygit2.enums import RepositoryOpenFlag

    _match_configuration(environ)
    try:
        handle = pygit2.Repository(str(git_dir), RepositoryOpenFlag.NO_SEARCH)
        names = {entry.name.lower() for entry in handle.config}
    except (pygit2.GitError, OSError, ValueError, KeyError):
        # Reftable, an unknown extension, or an owner that only git's configuration vouches for.
        return None
    # A partial clone may open, but libgit2 cannot fetch the objects it lacks.
    partial = any(name == "extensions.partialclone" or name.endswith(".promisor") for name in names)
    return None if partial else handle


def _match_configuration(environ: Mapping[str, str]) -> None:
    """Points libgit2 at the configuration of `environ`: it read the process's own HOME when loaded."""
    import pygit2
    from pygit2.enums import ConfigLevel

    home = environ.get("HOME", "")
    xdg = environ.get("XDG_CONFIG_HOME") or (f"{home}/.config" if home else "")
    chosen = "GIT_CONFIG_GLOBAL" in environ
    wanted = {
        ConfigLevel.GLOBAL: "" if chosen else home,
        ConfigLevel.XDG: "" if chosen or not xdg else f"{xdg}/git",
    }
    if environ.get("GIT_CONFIG_NOSYSTEM", "").lower() in ("1", "true", "yes", "on"):
        wanted[ConfigLevel.SYSTEM] = ""
    for level, folder in wanted.items():
        if pygit2.settings.search_path[level] != folder:
            pygit2.settings.search_path[level] = folder


def create_bare(path: Path, git: GitCommand) -> None:
    """Makes a bare repository that only its owner can enter (mode 0700); where it is, sets only the mode.

    Its HEAD is `refs/heads/user`, the one branch that every private repository has. No template is copied:
    a person's hooks are meant for code.

    Raises:
        RepositoryError: it cannot be made there.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.stat().st_mode & 0o777 != 0o700:
            path.chmod(0o700)
    except OSError as error:
        raise RepositoryError(
            f"The private repository cannot be made at {path}: {error.strerror}",
            "Make that place writable for you.",
        ) from error
    if (path / "HEAD").is_file() and (path / "objects").is_dir():
        return
    # Bare repositories keep no reflogs unless told to, and the reflog is the operation log; to a
    # configuration that is there `git init` only adds.
    with suppress(FileExistsError), (path / "config").open("x") as config:
        config.write("[core]\n\tlogAllRefUpdates = true\n")
    git.run(["init", "--quiet", "--bare", "--template=", "--initial-branch=user", str(path)])
