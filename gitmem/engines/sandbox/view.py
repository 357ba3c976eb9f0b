"""What exists for a model: the memory, the sessions, and the files that git tracks. Nothing else does.

    memory/<scope>/<agent>/<file>   the memory, a copy that is written to
    sessions/<name>                 what was said, as the caller gives it
    <anything else>                 the work tree, below its top, but what it has of those two names

The tree of names is made once, of what `git ls-files` lists, so no path can lead to what is not in it:
ignored and untracked files, `.git`, submodules, whatever lies behind a link.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from gitmem.core.errors import RepositoryError
from gitmem.core.limits import PATH_BYTES
from gitmem.core.names import is_agent_folder, kind
from gitmem.core.text import printable
from gitmem.engines.sandbox.budget import Budget, Problem, Refusal
from gitmem.engines.sandbox.opening import read_regular
from gitmem.rules.paths import check_path
from gitmem.rules.secrets import find_secrets, redact
from gitmem.store.git import GitCommand
from gitmem.store.workspace import SCOPES

MEMORY = "memory"
SESSIONS = "sessions"

SHOWN_FILES = 50_000
"""Tracked files that are shown: what `find` goes through in a fraction of a second."""

LISTING_SECONDS = 20.0
"""What `git ls-files` may take; it reads the index alone, ten milliseconds for 10,000 files."""

_CREDENTIALS = re.compile(
    r"\.env.*|.*\.env|.*\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|tfstate|asc|gpg)(?:\..*)?|id_.*"
    r"|[._](?:netrc|npmrc|pypirc|pgpass|htpasswd|dockercfg|s3cfg|boto|my\.cnf|git-credentials)"
    r"|\.?credentials.*|\.?secrets?(?:\.(?:ya?ml|json|toml|ini|cfg|txt|properties|enc))?"
    r"|\.(?:ssh|gnupg|aws|azure|kube|docker|vault.*)",
    re.IGNORECASE,
)
_GIT = re.compile(r"\.git|git~\d+", re.IGNORECASE)


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


class View:
    """A read-only file system of names, with a memory that can be changed.

    Args:
        tree: `<scope>/<agent>/<file>` to content.
        roots: where else may be read.
        report: is told what a person should know.
    """

    def __init__(
        self, tree: Mapping[str, bytes], roots: Roots, budget: Budget, report: Callable[[str], None]
    ) -> None:
        self.tree = dict(tree)
        self.budget = budget
        self._roots = roots
        self._report = report
        self._texts: dict[str, str] = {}

    def resolve(self, given: object) -> str:
        """Gives the path from the top, in plain form; empty for the top itself.

        Args:
            given: a path as the model wrote it, relative to the top or absolute below it.

        Raises:
            Refusal: it leads, or is spelt to lead, somewhere else.
        """
        if not isinstance(given, str) or len(given.encode("utf-8", "replace")) > PATH_BYTES:
            raise Refusal(f"a path is text of at most {PATH_BYTES:,} bytes")
        if not given.isprintable():
            raise Refusal("a path holds no control, invisible or undecodable characters")
        if given.startswith("~"):
            raise Refusal("there is no home folder here: paths start at the top of the repository")
        path = self._below(given) if given.startswith("/") else given
        parts: list[str] = []
        for part in path.split("/"):
            if part == "..":
                if not parts:
                    raise Refusal(
                        f"{given} leads out of the repository, and nothing outside can be reached"
                    )
                parts.pop()
            elif part not in ("", "."):
                parts.append(part)
        if any(map(_GIT.fullmatch, parts)):
            raise Refusal("git's own folder cannot be read")
        return "/".join(parts)

    def _below(self, given: str) -> str:
        top = self._roots.worktree
        for prefix in (str(top), str(top.resolve())) if top else ():
            if given == prefix or given.startswith(prefix.rstrip("/") + "/"):
                return given[len(prefix) :]
        raise Refusal(f"{given} is outside of the repository; give a path relative to its top")

    def is_file(self, path: str) -> bool:
        """Whether a plain path is a file's."""
        return path in self._files

    def is_folder(self, path: str) -> bool:
        """Whether a plain path is a folder's."""
        return path in self._folders

    def children(self, path: str) -> tuple[str, ...]:
        """Names in a folder, sorted; empty where there is none."""
        names = self._folders.get(path, {})
        self.budget.spend(len(names))
        return tuple(sorted(names))

    def walk(self, path: str) -> Iterator[str]:
        """Plain paths of a folder and all below it, a folder before what it holds; or of the one file."""
        waiting = [path] if path in self._files or path in self._folders else []
        while waiting:
            here = waiting.pop()
            self.budget.spend(10)
            yield here
            waiting += [f"{here}/{name}" if here else name for name in reversed(self.children(here))]

    def data(self, path: str) -> bytes:
        """Content as it is; never shown to a model without `text`.

        Raises:
            Problem: there is no such file.
            Refusal: it may not be read.
        """
        self.require(path)
        if path.startswith(f"{MEMORY}/"):
            return self.tree[path.removeprefix(f"{MEMORY}/")]
        if path.startswith(f"{SESSIONS}/"):
            return self._roots.sessions[path.removeprefix(f"{SESSIONS}/")].encode("utf-8", "replace")
        secret = next((part for part in path.split("/") if _CREDENTIALS.fullmatch(part)), None)
        if secret is not None:
            raise Refusal(f"{path} is not read: {secret} is a name for credentials")
        assert self._roots.worktree is not None  # noqa: S101 - without one no such path is in the view
        data = read_regular(self._roots.worktree, path)
        self.budget.spend(100 + len(data) // 4)
        return data

    def raw(self, path: str) -> str:
        """Content as text, to look into before `text` is asked for; never shown to a model.

        Raises:
            Problem: as `data`.
            Refusal: as `data`; or it is no text.
        """
        data = self.data(path)
        if b"\0" in data:
            raise Refusal(f"{path} is binary")
        return data.decode("utf-8", "replace")

    def text(self, path: str) -> str:
        """Content as a model may see it: credentials redacted, invisible signs written out.

        Raises:
            Problem: as `raw`.
            Refusal: as `raw`.
            DetectorUnavailable: secrets cannot be looked for.
        """
        if path not in self._texts:
            raw = self.raw(path)
            self.budget.scan(len(raw))
            self._texts[path] = printable(redact(raw, find_secrets(raw)))
        return self._texts[path]

    def size(self, path: str) -> int | None:
        """Bytes of a file; None for one that may not be read."""
        try:
            return len(self.data(path))
        except Problem:
            return None

    def require(self, path: str) -> None:
        """Sees that a path is a file's.

        Raises:
            Problem: it is a folder's, or nothing is there.
        """
        if path in self._folders:
            raise Problem(f"{path or 'that'} is a folder")
        if path not in self._files:
            raise Problem(f"{path} does not exist here; files that git ignores or does not track do not")

    def put(self, path: str, data: bytes | None) -> None:
        """Changes the memory; the caller has seen that it may.

        Args:
            path: plain, below `memory/`.
            data: new content, None to take the file out.
        """
        key = path.removeprefix(f"{MEMORY}/")
        self._texts.pop(path, None)
        if data is None:
            self.tree.pop(key, None)
        else:
            self.tree[key] = data
        self._forget_names()

    def _forget_names(self) -> None:
        self.__dict__.pop("_files", None)
        self.__dict__.pop("_folders", None)

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
    def _files(self) -> frozenset[str]:
        memory = (f"{MEMORY}/{key}" for key in self.tree if _is_shown(key))
        said = (f"{SESSIONS}/{name}" for name in self._roots.sessions)
        return frozenset([*self._code, *memory, *said])

    @cached_property
    def _folders(self) -> dict[str, dict[str, None]]:
        folders: dict[str, dict[str, None]] = {"": {}, MEMORY: {}, SESSIONS: {}}
        folders[""] = {MEMORY: None, SESSIONS: None}
        for path in self._files:
            while path:
                parent, _, name = path.rpartition("/")
                known = parent in folders
                folders.setdefault(parent, {})[name] = None
                if known:
                    break
                path = parent
        return folders


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
