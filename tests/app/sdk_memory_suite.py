"""A pytest plugin that runs the SDK's own tests of its file-system memory backend against gitmem's.

Those tests look at a folder on disk, put files and links into it, and read them back. Here that folder
mirrors the tree of a memory ref: it is taken in before each command and laid out after it, links as links.

What the tests are is not in this repository: they come with the SDK's source distribution. Environment:
`SUITE_REPOS` is a folder for repositories, `SUITE_SKIPS` a JSON object from a test to why it is skipped.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from anthropic.lib.tools import _beta_builtin_memory_tool as theirs
from anyio import Path as AsyncPath

from gitmem.git.refs import move_ref
from gitmem.git.repository import BLOB, LINK, TREE, Repository, Signature, TreeEntry
from gitmem.git.trees import subtree
from gitmem.ledger.land import root_commit
from gitmem.ledger.workspace import Workspace
from gitmem.memory_tool.tool import AsyncGitMemoryTool, GitMemoryTool

ANN = Signature("Ann", "ann@example.com", 1_795_000_000)
COMMANDS = ("view", "create", "str_replace", "insert", "delete", "rename")


class _Mirror:
    """A folder on disk that shows the tree of a scope.

    Attributes:
        root: the folder.
    """

    def __init__(self, root: Path, repo: Path) -> None:
        self.root = root
        self.code = repo
        subprocess.run(["git", "init", "-q", repo], check=True)
        settings = ["git", "-C", str(repo), "config", "gitmem.projectId"]
        subprocess.run([*settings, f"suite-{repo.name.lower().replace('_', '-')}"], check=True)
        (repo / ".git/gitmem").mkdir()

    def take_in(self, where: Workspace) -> None:
        """Commits what is in the folder, as another writer would."""
        scope = where.scope("local")
        repo = scope.repo
        with repo.together():
            old = repo.ref(scope.ref)
            folder = _stored(repo, self.root)
            format_file = TreeEntry(BLOB, repo.add_blob(b"format = 1\n"))
            tree = repo.add_tree(
                {".gitmem": format_file, **({"main": TreeEntry(TREE, folder)} if folder else {})}
            )
            if old and repo.commit(old).tree == tree:
                return
            parent = old or root_commit(repo)
            made = repo.add_commit(tree, (parent,), ANN, ANN, "As on disk\n")
        move_ref(repo, scope.ref, made, old, "test")

    def lay_out(self, where: Workspace) -> None:
        """Makes the folder what the tree is."""
        scope = where.scope("local")
        tip = scope.repo.ref(scope.ref)
        assert tip is not None
        shutil.rmtree(self.root)
        self.root.mkdir()
        main = subtree(scope.repo, scope.repo.commit(tip).tree, "main")
        if main:
            _written(scope.repo, main, self.root)


def _stored(repo: Repository, folder: Path) -> str | None:
    entries: dict[str, TreeEntry] = {}
    for path in folder.iterdir():
        if path.is_symlink():
            entries[path.name] = TreeEntry(LINK, repo.add_blob(str(path.readlink()).encode()))
        elif path.is_file():
            entries[path.name] = TreeEntry(BLOB, repo.add_blob(path.read_bytes()))
        elif inner := _stored(repo, path):
            entries[path.name] = TreeEntry(TREE, inner)
    return repo.add_tree(entries) if entries else None


def _written(repo: Repository, tree: str, folder: Path) -> None:
    for name, entry in repo.tree(tree).items():
        path = folder / name
        if entry.mode == TREE:
            path.mkdir()
            _written(repo, entry.oid, path)
        elif entry.mode == LINK:
            path.symlink_to(repo.blob(entry.oid).decode())
        else:
            path.write_bytes(repo.blob(entry.oid))


def _new_mirror(base_path: str) -> _Mirror:
    root = Path(base_path) / "memories"
    root.mkdir(parents=True, exist_ok=True)
    return _Mirror(root, Path(tempfile.mkdtemp(dir=os.environ["SUITE_REPOS"])))


class Mirrored(GitMemoryTool):
    """Takes the place of the SDK's class in its tests."""

    def __init__(self, base_path: str = "./memory") -> None:
        self.base_path = Path(base_path)
        self.mirror = _new_mirror(base_path)
        self.memory_root = self.mirror.root
        super().__init__(self.mirror.code)

    def around(self) -> Workspace:
        return self._backend.workspace


class AsyncMirrored(AsyncGitMemoryTool):
    """Takes the place of the SDK's asynchronous class in its tests."""

    def __init__(self, base_path: str = "./memory") -> None:
        self.base_path = AsyncPath(base_path)
        self.mirror = _new_mirror(base_path)
        self.memory_root = AsyncPath(self.mirror.root)
        super().__init__(self.mirror.code)

    def around(self) -> Workspace:
        return self._tool._backend.workspace


def _mirrored(name: str) -> Any:
    def run(self: Mirrored, command: object) -> str:
        self.mirror.take_in(self.around())
        try:
            return str(getattr(super(Mirrored, self), name)(command))
        finally:
            self.mirror.lay_out(self.around())

    return run


def _async_mirrored(name: str) -> Any:
    async def run(self: AsyncMirrored, command: object) -> str:
        self.mirror.take_in(self.around())
        try:
            return str(await getattr(super(AsyncMirrored, self), name)(command))
        finally:
            self.mirror.lay_out(self.around())

    return run


for _name in COMMANDS:
    setattr(Mirrored, _name, _mirrored(_name))
    setattr(AsyncMirrored, _name, _async_mirrored(_name))


def pytest_configure(config: pytest.Config) -> None:
    """The tests import the classes by name: they get these."""
    theirs.BetaLocalFilesystemMemoryTool = Mirrored  # type: ignore[misc, assignment]
    theirs.BetaAsyncLocalFilesystemMemoryTool = AsyncMirrored  # type: ignore[misc, assignment]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    skips = json.loads(os.environ["SUITE_SKIPS"])
    for item in items:
        reason = skips.get(item.name.partition("[")[0])
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.hookimpl(hookwrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, None, None]:
    """Runs asynchronous tests, for which the SDK has a plugin of its own."""
    test = pyfuncitem.obj
    if inspect.iscoroutinefunction(test):
        pyfuncitem.obj = lambda **given: asyncio.run(test(**given))
    yield
