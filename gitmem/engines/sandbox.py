"""All that exists for a model: the memory, the sessions, the files that git tracks, and nothing else.

    memory/<scope>/<agent>/<file>   the memory, a copy that is written to
    sessions/<name>                 what was said, as the caller gives it
    <anything else>                 the work tree, below its top, but what it has of those two names

The tree of names is made once, of what `git ls-files` lists, so no path can lead to what is not in it:
ignored and untracked files, `.git`, submodules, whatever lies behind a link.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from gitmem.core.errors import RepositoryError
from gitmem.core.limits import PATH_BYTES
from gitmem.core.names import is_agent_folder, kind
from gitmem.core.text import printable
from gitmem.git.command import GitCommand
from gitmem.ledger.workspace import SCOPES
from gitmem.rules.paths import check_path
from gitmem.rules.secrets import find_secrets, redact

MEMORY, SESSIONS = "memory", "sessions"

FILE_BYTES = 1_048_576
"""Bytes of one file that is read. Source files are far below; the secret detector takes a second for it."""

SHOWN_FILES = 50_000
"""Tracked files that are shown: what Glob goes through in a fraction of a second."""

LISTING_SECONDS = 20.0
"""What `git ls-files` may take; it reads the index alone, ten milliseconds for 10,000 files."""

CALL_STEPS = 20_000_000
"""Steps of one call, 0.1 µs each as a rule: no clock is asked, so the same call ends alike."""

SCANNED_BYTES = 2_500_000
"""Bytes that one call has searched for secrets, at about a second for a megabyte."""

CALLS = 10
"""A sandbox allows as much as so many calls that use up all they may: a run has five turns."""

_CREDENTIALS = re.compile(
    r"\.env.*|.*\.env|.*\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|tfstate|asc|gpg)(?:\..*)?|id_.*"
    r"|[._](?:netrc|npmrc|pypirc|pgpass|htpasswd|dockercfg|s3cfg|boto|my\.cnf|git-credentials)"
    r"|\.?credentials.*|\.?secrets?(?:\.(?:ya?ml|json|toml|ini|cfg|txt|properties|enc))?"
    r"|\.(?:ssh|gnupg|aws|azure|kube|docker|vault.*)",
    re.IGNORECASE,
)
_GIT = re.compile(r"\.git|git~\d+", re.IGNORECASE)
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Problem(Exception):
    """What a model asked for cannot be done; the reason is for the model."""


class Refusal(Problem):
    """What a model asked for is not allowed; a person reads it in the log, too."""


class Exhausted(Refusal):
    """A call looked at as much as it may."""


@dataclass(frozen=True)
class Roots:
    """Where a sandbox may read.

    Attributes:
        worktree: top of the code's work tree; None shows no code.
        sessions: name to what was said. Text, not recordings: readers have cut from it what is private.
        git: lists what is tracked. The default has an empty environment: it sees no configuration of the
            person's and finds git in the system's folders only.
    """

    worktree: Path | None = None
    sessions: Mapping[str, str] = field(default_factory=dict)
    git: GitCommand = field(default_factory=lambda: GitCommand({}))


class Budget:
    """How much one call, and all of them, may look at; counts down."""

    def __init__(self, calls: int) -> None:
        self._steps_left, self._bytes_left = CALL_STEPS * calls, SCANNED_BYTES * calls
        self._steps = self._bytes = 0

    def renew(self) -> None:
        """Begins a call."""
        self._steps = min(CALL_STEPS, self._steps_left)
        self._bytes = min(SCANNED_BYTES, self._bytes_left)

    def spend(self, steps: int) -> None:
        """Takes steps; raises `Exhausted` where they are used up."""
        self._steps -= steps
        self._steps_left -= steps
        if self._steps < 0:
            raise Exhausted(
                "that is too much to look through in one call: name a smaller folder or a file, "
                "or give a plainer expression"
            )

    def scan(self, size: int) -> None:
        """Takes bytes that are searched for secrets; raises `Exhausted` where they are used up."""
        self._bytes -= size
        self._bytes_left -= size
        if self._bytes < 0:
            raise Exhausted("that is too much to read in one call: name fewer or smaller files")


class View:
    """A read-only file system of names, with a memory that can be changed."""

    def __init__(
        self, tree: Mapping[str, bytes], roots: Roots, budget: Budget, report: Callable[[str], None]
    ) -> None:
        self.tree = dict(tree)
        self._budget, self._roots, self._report = budget, roots, report
        self._texts: dict[str, str] = {}

    def resolve(self, given: str) -> str:
        """Gives the path from the top, in plain form; empty for the top itself.

        Args:
            given: a path as the model wrote it, relative to the top or absolute below it.

        Raises:
            Refusal: it leads, or is spelt to lead, somewhere else.
        """
        if len(given.encode("utf-8", "replace")) > PATH_BYTES:
            raise Refusal(f"a path is text of at most {PATH_BYTES:,} bytes")
        if not given.isprintable():
            raise Refusal("a path holds no control, invisible or undecodable characters")
        if given.startswith("~"):
            raise Refusal("there is no home folder here: paths start at the top of the repository")
        parts: list[str] = []
        for part in (self._from_top(given) if given.startswith("/") else given).split("/"):
            if part == ".." and not parts:
                raise Refusal(f"{given} leads out of the repository, and nothing outside can be reached")
            if part == "..":
                parts.pop()
            elif part not in ("", "."):
                parts.append(part)
        if any(map(_GIT.fullmatch, parts)):
            raise Refusal("git's own folder cannot be read")
        return "/".join(parts)

    def _from_top(self, given: str) -> str:
        top = self._roots.worktree
        for prefix in (str(top), str(top.resolve())) if top else ():
            if given == prefix or given.startswith(prefix.rstrip("/") + "/"):
                return given[len(prefix) :]
        raise Refusal(f"{given} is outside of the repository; give a path relative to its top")

    def is_file(self, path: str) -> bool:
        """Whether a plain path is a file's."""
        return path in self._known

    def is_folder(self, path: str) -> bool:
        """Whether a plain path is a folder's."""
        return path in self._folders

    def below(self, path: str) -> Iterator[str]:
        """Plain paths of all files in and below a folder, sorted by their parts; or of the one file."""
        for file in self._files:
            self._budget.spend(10)
            if not path or file == path or file.startswith(f"{path}/"):
                yield file

    def require(self, path: str) -> None:
        """Sees that a path is a file's.

        Raises:
            Problem: it is a folder's, or nothing is there.
        """
        if path in self._folders:
            raise Problem(f"{path or 'that'} is a folder")
        if path not in self._known:
            raise Problem(f"{path} does not exist here; files that git ignores or does not track do not")

    def data(self, path: str) -> bytes:
        """Content as it is; never shown to a model without `text`.

        Raises:
            Problem: there is no such file.
            Refusal: it may not be read.
        """
        self.require(path)
        root, _, rest = path.partition("/")
        if root == MEMORY:
            return self.tree[rest]
        if root == SESSIONS:
            return self._roots.sessions[rest].encode("utf-8", "replace")
        secret = next((part for part in path.split("/") if _CREDENTIALS.fullmatch(part)), None)
        if secret is not None:
            raise Refusal(f"{path} is not read: {secret} is a name for credentials")
        assert self._roots.worktree is not None  # noqa: S101 - without one no such path is in the view
        data = _read_regular(self._roots.worktree, path)
        self._budget.spend(100 + len(data) // 4)
        return data

    def raw(self, path: str) -> bytes:
        """Content that is text, to look into before `text` is asked for; never shown to a model.

        Raises:
            Problem: as `data`.
            Refusal: as `data`; or it is no text.
        """
        data = self.data(path)
        if b"\0" in data:
            raise Refusal(f"{path} is binary")
        return data

    def text(self, path: str) -> str:
        """Content as a model may see it: credentials redacted, invisible signs written out.

        Raises:
            Problem, Refusal: as `raw`.
            DetectorUnavailable: secrets cannot be looked for.
        """
        if path not in self._texts:
            raw = self.raw(path).decode("utf-8", "replace")
            self._budget.scan(len(raw))
            self._texts[path] = printable(redact(raw, find_secrets(raw)))
        return self._texts[path]

    def put(self, path: str, data: bytes | None) -> None:
        """Changes the memory; the caller has seen that it may. None takes the file out."""
        key = path.removeprefix(f"{MEMORY}/")
        self._texts.pop(path, None)
        if data is None:
            self.tree.pop(key, None)
        else:
            self.tree[key] = data
        for name in ("_files", "_known", "_folders"):
            self.__dict__.pop(name, None)

    @cached_property
    def _code(self) -> tuple[str, ...]:
        """What git tracks and can be shown. Where git cannot tell, nothing is."""
        top = self._roots.worktree
        if top is None:
            return ()
        try:
            # An index that is not up to date is good enough, and no program may be started for it.
            words = ["-c", "core.fsmonitor=false", "ls-files", "-z", "--cached"]
            listed = self._roots.git.run(words, cwd=top, timeout=LISTING_SECONDS).text.split("\0")
        except RepositoryError as error:
            self._report(f"the work tree is not shown: {error.message}")
            return ()
        shown = sorted({path for path in listed if path and path.isprintable() and _is_plain(path)})
        if len(shown) > SHOWN_FILES:
            self._report(f"of {len(shown):,} tracked files the first {SHOWN_FILES:,} are shown")
        return tuple(shown[:SHOWN_FILES])

    @cached_property
    def _files(self) -> tuple[str, ...]:
        memory = (f"{MEMORY}/{key}" for key in self.tree if _is_shown(key))
        said = (f"{SESSIONS}/{name}" for name in self._roots.sessions)
        return tuple(sorted({*self._code, *memory, *said}, key=lambda path: path.split("/")))

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self._files)

    @cached_property
    def _folders(self) -> frozenset[str]:
        found = {"", MEMORY, SESSIONS}
        for path in self._files:
            folder = path.rpartition("/")[0]
            while folder not in found:
                found.add(folder)
                folder = folder.rpartition("/")[0]
        return frozenset(found)


def _is_plain(path: str) -> bool:
    parts = path.split("/")
    if parts[0] in (MEMORY, SESSIONS) or any(map(_GIT.fullmatch, parts)):
        return False
    return not any(part in ("", ".", "..") for part in parts)


def _is_shown(key: str) -> bool:
    """Whether a path of the memory is a memory or a log: indexes and tombstones are gitmem's own."""
    scope, _, rest = key.partition("/")
    agent, _, file = rest.partition("/")
    well_named = scope in SCOPES and is_agent_folder(agent) and check_path(key) is None
    return well_named and bool(file) and kind(file) in ("memory", "log")


def _read_regular(top: Path, relative: str) -> bytes:
    """Reads a regular file below a folder.

    Each part is opened relative to the one before, without following links, so that a folder which is
    replaced by a link meanwhile leads nowhere.

    Args:
        top: top of the work tree; it may be reached through links itself.
        relative: parts separated by `/`, none of them `.` or `..`.

    Raises:
        Problem: there is no such file, or it cannot be read.
        Refusal: a link is on the way, or it is no regular file, or a large one.
    """
    handles: list[int] = []
    try:
        *folders, name = relative.split("/")
        handles.append(os.open(top, _FOLDER))
        for folder in folders:
            handles.append(os.open(folder, _FOLDER | os.O_NOFOLLOW, dir_fd=handles[-1]))
        # Looked at first: to open a device or a pipe can have effects of its own.
        _check_regular(os.stat(name, dir_fd=handles[-1], follow_symlinks=False), relative)
        handles.append(os.open(name, _FILE, dir_fd=handles[-1]))
        _check_regular(os.fstat(handles[-1]), relative)
        data = b""
        while len(data) <= FILE_BYTES and (part := os.read(handles[-1], FILE_BYTES + 1 - len(data))):
            data += part
        if len(data) > FILE_BYTES:
            raise Refusal(f"{relative} is larger than {FILE_BYTES:,} bytes")
        return data
    except OSError as error:
        if error.errno == errno.ENOENT:
            raise Problem(f"{relative} is tracked by git, but missing in the work tree") from None
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise Refusal(
                f"a part of {relative} is a symbolic link or no folder, and links are not followed"
            ) from None
        raise Problem(f"{relative} cannot be read: {error.strerror}") from None
    finally:
        for handle in handles:
            os.close(handle)


def _check_regular(status: os.stat_result, relative: str) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise Refusal(f"{relative} is a symbolic link, and links are not followed")
    if not stat.S_ISREG(status.st_mode):
        raise Refusal(f"{relative} is no regular file")
    if status.st_size > FILE_BYTES:
        raise Refusal(f"{relative} is larger than {FILE_BYTES:,} bytes")
