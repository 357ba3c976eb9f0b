"""One code repository and its memory: its settings, and which repository, ref and folder holds what."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gitmem.core.errors import RepositoryError, UsageError
from gitmem.git.command import Configuration, GitCommand, Layout, layout, read_configuration
from gitmem.values import dataclass

if TYPE_CHECKING:
    from gitmem.git.config import Worktree
    from gitmem.git.repository import Repository, Signature
    from gitmem.ledger.catalog import MemoryCatalog

PERSONAL = frozenset(
    {
        "engine",
        "model",
        "baseurl",
        "cafile",
        "patience",
        "protocol",
        "maxruns",
        "maxtokens",
        "backup",
        "backupencryptto",
        "allow",
        "sessiondays",
    }
)
"""Settings that choose an endpoint, send data out, spend money, accept a secret, or concern all projects:
only the person's own configuration decides them."""

CHOICES: Mapping[str, tuple[str, ...]] = {
    "share": ("off", "review", "direct"),
    "extract": ("auto", "suggest", "off"),
    "mode": ("topics", "log"),
    "engine": ("agent", "offline", "anthropic", "claude-code"),
    "protocol": ("auto", "tools", "questions"),
}
WORDS: Mapping[str, tuple[str, ...]] = {"recallat": ("prompt", "action", "off")}
"""Settings that are several words, and the words they know."""

DEFAULTS: Mapping[str, str] = {
    "share": "off",
    "extract": "suggest",
    "mode": "topics",
    "engine": "agent",
    "protocol": "auto",
    "recallat": "prompt action",
    "claudedir": ".claude",
    "dream": "true",
    "notes": "true",
    "docs": "true",
    "recallcommits": "true",
    "sessiondays": "30",
    "extractevery": "1",
    "maxruns": "200",
    "maxtokens": "5000000",
}
_UNITS = {"": 1, "k": 1_024, "m": 1_024**2, "g": 1_024**3}


@dataclass(frozen=True)
class Settings:
    """All `gitmem.*` values in force for one repository.

    Attributes:
        values: lower-cased key without `gitmem.` to value; several values of one key joined by newlines.
        config: the whole of git's configuration, which they were read with.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    config: Configuration = field(default_factory=Configuration, repr=False)

    def get(self, key: str) -> str:
        """The value, or its default, or empty.

        Raises:
            UsageError: the value is none of those that the setting knows.
        """
        name = key.lower()
        value = self.values.get(name) or DEFAULTS.get(name, "")
        value = value.rsplit("\n", 1)[-1]
        if name in CHOICES and value not in CHOICES[name]:
            raise UsageError(f"gitmem.{key} is {value!r}", f"Set it to one of: {', '.join(CHOICES[name])}.")
        return value

    def all(self, key: str) -> tuple[str, ...]:
        """Every value of a setting that can be given more than once."""
        return tuple(filter(None, self.values.get(key.lower(), "").split("\n")))

    def words(self, key: str) -> tuple[str, ...]:
        """The words of a setting that is several: `prompt action`.

        Raises:
            UsageError: one of them is none of those that the setting knows.
        """
        found = tuple(self.get(key).lower().replace(",", " ").split())
        if unknown := [word for word in found if word not in WORDS[key.lower()]]:
            raise UsageError(
                f"gitmem.{key} has {unknown[0]!r}", f"Set it to any of: {', '.join(WORDS[key.lower()])}."
            )
        return found

    def number(self, key: str) -> int:
        """A whole number as git writes it, `k`, `m` and `g` included.

        Raises:
            UsageError: the value is none, or is below zero.
        """
        value = self.get(key).strip()
        found = re.fullmatch(r"([0-9]{1,15})([kmg]?)", value.lower())
        if found is None:
            raise UsageError(
                f"gitmem.{key} is {value!r}", f"Set it to a number: git config --global gitmem.{key} 100"
            )
        return int(found[1]) * _UNITS[found[2]]

    def flag(self, key: str) -> bool:
        """A yes-or-no setting as git reads it."""
        return self.get(key).lower() in ("true", "yes", "on", "1")

    @property
    def requires_signed(self) -> bool:
        """Whether memory of the project that is not proved is told to nobody's agent."""
        return self.flag("requireSigned")


def read_settings(git: GitCommand, cwd: Path | None = None) -> Settings:
    """Reads the settings that count in a folder, with one git call.

    Personal settings are taken from the person's own configuration (`--global`) alone.
    """
    config = read_configuration(git, cwd)
    values: dict[str, str] = {}
    for scope, key, value in config.rows:
        section, _, name = key.partition(".")
        if section != "gitmem" or (name.lower() in PERSONAL and scope not in ("global", "system")):
            continue
        name = name.lower()
        values[name] = f"{values[name]}\n{value}" if name in values else value
    return Settings(values, config)


ScopeName = Literal["project", "local", "user"]
SCOPES: tuple[ScopeName, ...] = ("project", "local", "user")
MAIN = "main"

BOUND = frozenset({"project", "reference"})
"""Types of memory about the code. Who somebody is, and how they want to work, is so on every branch."""

BRANCHES = "refs/heads/gitmem/"
"""What memory's branches are called, here and at remotes."""

PRIVATE_REF = "refs/gitmem/project"
SHARED_REF = BRANCHES + "project"
"""The project's memory before it is shared, and the memory branch, which is called so at remotes, too."""

INBOX = BRANCHES + "inbox/"
"""What a writer asks the team to take, a branch each."""

DREAMS = BRANCHES + "dream/"
"""The project's dreams, once memory is shared."""

DOCS_REF = BRANCHES + "docs"
"""The branch that proposes changes to living documents: code, though it is named like memory."""

TURNED_DOWN = "refs/gitmem/rejected/"
"""Where a clone keeps which state of a side branch the person has turned down, under the branch's id."""

WAITING, DECIDED = "refs/gitmem/proposal/", "refs/gitmem/decided/"
"""Where a change waits for a person, as `<project id>/<id>`, and is kept once decided, for an undo."""

SNAPSHOT_FOLDER = "agent-memory-snapshots"
PROJECT_ID = re.compile(r"[a-z0-9][a-z0-9-]{2,80}")


@dataclass(frozen=True)
class Scope:
    """Who may see it, and the ref that holds it.

    Attributes:
        state: folder for records and locks of this ref's repository; can be deleted at no loss of memory.
        opener: opens the repository, which is made where it is missing; a look at the scope makes none.
        catalog: opens the index of its memories.
    """

    name: ScopeName
    ref: str
    state: Path
    opener: Callable[[], Repository] = field(repr=False, compare=False)
    catalog: Callable[[], MemoryCatalog] = field(repr=False, compare=False)

    @property
    def repo(self) -> Repository:
        """The repository that holds the ref."""
        return self.opener()


@dataclass(frozen=True)
class Surroundings:
    """What the edges know and the core must not look up itself.

    Attributes:
        git: the git command with the environment that counts.
        home: the person's home directory.
        data: `$XDG_DATA_HOME/gitmem`, where the private repository is.
        config: Claude Code's own folder, `~/.claude` unless the person moved it.
        catalog: opens the index of memories of a repository, given the folder of its state.
    """

    git: GitCommand
    home: Path
    data: Path
    config: Path
    catalog: Callable[[Path], MemoryCatalog]


class Workspace:
    """The memory of one code repository, opened lazily."""

    def __init__(
        self,
        around: Surroundings,
        where: Layout,
        settings: Settings,
        auto_memory: Callable[[], Path | None] = lambda: None,
    ) -> None:
        self.around = around
        self.git = around.git
        self.layout = where
        self.settings = settings
        self._find_auto_memory = auto_memory
        self._listed: dict[tuple[Path, tuple[str, ...]], tuple[object, frozenset[str]]] = {}

    @property
    def top(self) -> Path:
        """Where git is run for the code: the work tree, or the git directory of a bare repository."""
        return self.layout.worktree or self.layout.common_dir

    @property
    def state(self) -> Path:
        """Where what is no memory lives: `<common git dir>/gitmem`."""
        return self.layout.common_dir / "gitmem"

    @cached_property
    def client_folder(self) -> Path | None:
        """The client's own memory folder, whosever it is: looked for once, and by who needs it."""
        return self._find_auto_memory()

    @property
    def private_state(self) -> Path:
        """The same for the private repository, beside it."""
        return self.around.data / "state"

    @property
    def private_path(self) -> Path:
        """The private repository."""
        return self.around.data / "private.git"

    @property
    def has_private(self) -> bool:
        """Whether the private repository is there, and not just its folder."""
        return (self.private_path / "HEAD").is_file()

    @property
    def initialised(self) -> bool:
        """Whether `init` ran here."""
        return bool(self.settings.get("projectId")) and self.state.is_dir() and self.private_path.is_dir()

    @property
    def main_layout(self) -> Layout:
        """The repository itself, seen from no linked work tree."""
        return replace(self.layout, git_dir=self.layout.common_dir)

    @cached_property
    def code(self) -> Repository:
        """The code repository."""
        from gitmem.git.open import open_known  # a hook opens it by the command alone

        return open_known(self.main_layout, self.git)

    @cached_property
    def private(self) -> Repository:
        """The private repository, made where it is missing."""
        from gitmem.git.open import create_bare, open_repository

        create_bare(self.private_path, self.git)
        return open_repository(self.private_path, self.git, bare=True)

    def close(self) -> None:
        """Frees the repositories that were opened; one that is asked for again is opened anew."""
        for name in ("code", "private"):
            opened: Repository | None = self.__dict__.pop(name, None)
            if opened is not None:
                opened.close()

    @property
    def allowed(self) -> frozenset[str]:
        """Fingerprints of secrets that the person accepted: `gitmem.allow`, from their own settings."""
        return frozenset(word for value in self.settings.all("allow") for word in value.split())

    @property
    def project_id(self) -> str:
        """Names this project in the private repository.

        Raises:
            RepositoryError: `init` has not run here.
        """
        known = self.settings.get("projectId")
        if not PROJECT_ID.fullmatch(known):
            raise RepositoryError(f"{self.layout.common_dir} has no gitmem memory yet", "Run: git mem init")
        return known

    def with_settings(self, **values: str) -> Workspace:
        """The same with other settings (lower-cased keys); nothing is written."""
        other = copy(self)
        other.settings = replace(self.settings, values={**self.settings.values, **values})
        return other

    @property
    def sharing(self) -> str:
        """`off`, `review` or `direct`."""
        return self.settings.get("share")

    @property
    def logs(self) -> bool:
        """Whether extraction writes to daily logs alone (`gitmem.mode`)."""
        return self.settings.get("mode") == "log"

    def scope(self, name: str) -> Scope:
        """One scope by its name.

        Raises:
            UsageError: there is no such scope.
        """
        if name == "project":
            ref = PRIVATE_REF if self.sharing == "off" else SHARED_REF
            return Scope(
                "project", ref, self.state, lambda: self.code, lambda: self.around.catalog(self.state)
            )
        if name == "local":
            ref = f"refs/heads/local/{self.project_id}"
            return self._private_scope("local", ref)
        if name == "user":
            return self._private_scope("user", "refs/heads/user")
        raise UsageError(f"There is no scope {name!r}", f"Scopes are: {', '.join(SCOPES)}.")

    def _private_scope(self, name: ScopeName, ref: str) -> Scope:
        state = self.private_state
        return Scope(name, ref, state, lambda: self.private, partial(self.around.catalog, state))

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """All three, project first."""
        return tuple(self.scope(name) for name in SCOPES)

    def code_head(self) -> str:
        """The code commit that the present work tree stands on; empty on an unborn branch."""
        if (known := self._head_from_files()) is not None:
            return known[0] or ""
        words = ["rev-parse", "--verify", "-q", "HEAD"]
        return self.git.run(words, cwd=self.layout.worktree, check=False).text

    def _head_from_files(self) -> tuple[str | None, str | None] | None:
        """Commit and branch of the present work tree, each None for none; None where git must say."""
        try:
            text = (self.layout.git_dir / "HEAD").read_bytes().decode("utf-8", "surrogateescape").strip()
            if not text.startswith("ref: refs/heads/"):
                detached = re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", text)
                return (text, None) if detached else None
            branch = text.removeprefix("ref: ")
            # A repository with other files than these calls its HEAD so.
            return None if branch.endswith("/.invalid") else (self.code.ref(branch), branch)
        except (OSError, RepositoryError):
            return None

    @property
    def claude_folder(self) -> str:
        """Name of the clients' folder in a work tree, `.claude` unless configured."""
        name = self.settings.get("claudeDir")
        # A repository's own configuration may set it, and must not lead out of the work tree.
        if not re.fullmatch(r"\.?[A-Za-z0-9][A-Za-z0-9._-]*", name) or name.lower() == ".git":
            raise UsageError(f"gitmem.claudeDir is {name!r}", "Set it to the name of a folder.")
        return name

    @cached_property
    def origin(self) -> str | None:
        """The normalised URL of the remote `origin`, where there is one."""
        from gitmem.git.remote import normalise_url

        top = self.layout.common_dir
        # One work tree's own configuration names no other repository: all of them are one project.
        rows = self.settings.config.rows
        urls = [url for scope, key, url in rows if key == "remote.origin.url" and scope != "worktree"]
        return normalise_url(urls[-1], self.layout.worktree or top) if urls and urls[-1] else None

    @cached_property
    def roots(self) -> frozenset[str]:
        """First commits of all branches but memory's; none where there is no commit, or history is cut."""
        top = self.layout.common_dir
        if (top / "shallow").exists():
            return frozenset()
        memory = ("refs/gitmem/*", "refs/heads/gitmem/*", "refs/remotes/*/gitmem/*")
        words = ["rev-list", "--max-parents=0", *(f"--exclude={pattern}" for pattern in memory), "--all"]
        return frozenset(self.git.run(words, git_dir=top, check=False).text.split())

    @cached_property
    def person(self) -> Signature:
        """Who the person is, as git decides it for the code repository; the time is without meaning.

        Raises:
            RepositoryError: git knows no identity.
        """
        from gitmem.git.config import identity  # who only looks signs nothing

        return identity(self.git, self.settings.config, self.layout.common_dir)

    def author(self, now: float) -> Signature:
        """Who the person is, at a moment (epoch seconds).

        Raises:
            RepositoryError: git knows no identity.
        """
        return replace(self.person, time=int(now))

    @cached_property
    def worktrees(self) -> tuple[Worktree, ...]:
        """Work trees of the code repository that exist, the main one first."""
        from gitmem.git.config import Worktree, worktrees  # a prompt's hook looks at the present one

        where = self.layout
        alone = where.git_dir == where.common_dir and not (where.common_dir / "worktrees").is_dir()
        if alone and where.worktree and (head := self._head_from_files()):
            return (Worktree(where.worktree, *head, bare=False, prunable=False),)
        found = worktrees(self.git, None, git_dir=where.common_dir)
        if where.worktree and where.git_dir == where.common_dir:  # of a submodule, git lists its git_dir
            found = (replace(found[0], path=where.worktree), *found[1:])
        return tuple(tree for tree in found if not tree.bare and not tree.prunable and tree.path.is_dir())

    def tracked_files(self, top: Path) -> frozenset[str]:
        """Files of the clients' folder and of `snapshots/` that the code tracks, listed once an index."""
        from gitmem.git.config import index_file, lists_none  # a prompt's hook lists no files
        from gitmem.rules.snapshot import ROOT_FOLDER

        folders = (self.claude_folder, ROOT_FOLDER)
        stamp, none, known = None, False, self._listed.get((top, folders))
        with suppress(OSError):  # nothing was ever added
            index = self.layout.git_dir / "index" if top == self.layout.worktree else index_file(top)
            status = index.stat()
            stamp = status.st_ino, status.st_size, status.st_mtime_ns
            none = (known is None or known[0] != stamp) and lists_none(index, folders)
        if known is None or known[0] != stamp:
            words = ["ls-files", "-z", "--", *folders]
            listed = "" if none else self.git.run(words, cwd=top, check=False).text
            known = self._listed[top, folders] = stamp, frozenset(filter(None, listed.split("\0")))
        return known[1]

    def tracks(self, path: str) -> bool:
        """Whether the code has a file or folder of that path, or of one that ends so."""
        return f"/{path}/" in self._tracked

    @cached_property
    def _tracked(self) -> str:
        """All names that the code tracks, each between slashes: a session may mention very many."""
        top = self.layout.worktree
        names = self.git.run(["ls-files", "-z"], cwd=top, check=False).text if top else ""
        return "/" + names.replace("\0", "/\0/")


def home(type: str, sharing: str) -> ScopeName:
    """Scope of a new memory, by its type and whether memory is shared.

    Args:
        sharing: as `Workspace.sharing` says.
    """
    if sharing == "off" or type == "feedback":
        return "local"
    return "user" if type == "user" else "project"


def open_workspace(around: Surroundings, cwd: Path) -> Workspace:
    """Opens the memory of the repository that a folder is in; `init` need not have run.

    Raises:
        RepositoryError: there is no repository, or it may not be used.
    """
    where = layout(around.git, cwd)
    return Workspace(around, where, read_settings(around.git, cwd))


def make_project_id(workspace: Workspace, besides: str = "") -> str:
    """Chooses the project's name in the private repository, from what stays the same in every clone.

    From the normalised URL of `origin`, else the root commit, else (an empty repository) the folder's
    path; a readable stem and 8 hexadecimal digits.

    Args:
        besides: what else the digits depend on, for a repository that another's URL does not make the same.
    """
    git, top = workspace.git, workspace.layout.common_dir
    url = workspace.origin
    if url:
        seed = url
        stem = seed.rsplit("/", 1)[-1]
    else:
        roots = workspace.roots
        if len(roots) > 1 or (top / "shallow").exists():
            words = ["rev-list", "--max-parents=0", "HEAD"]
            roots = frozenset(git.run(words, git_dir=top, check=False).text.split())
        seed = min(roots, default=str(top.resolve()))
        here = workspace.layout.worktree
        if here is None or workspace.layout.git_dir != top:  # a linked work tree is called after its branch
            here = top.parent if top.name.startswith(".") else top
        stem = here.name
    clean = re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-")[:40] or "project"
    whole = f"{seed} {besides}" if besides else seed
    return f"{clean}-{hashlib.sha256(whole.encode('utf-8', 'surrogateescape')).hexdigest()[:8]}"


def store_project_id(workspace: Workspace, id: str = "") -> Workspace:
    """Fixes the project id in the code repository's configuration; returns the workspace that knows it.

    Args:
        id: the one to fix; made from the repository where empty.
    """
    from gitmem.git.config import config_set  # a look writes none

    chosen = id or make_project_id(workspace)
    config_set(workspace.git, None, "gitmem.projectId", chosen, git_dir=workspace.layout.common_dir)
    return workspace.with_settings(projectid=chosen)
