"""The SDK's memory tool, with a git repository behind it; importing this loads the SDK."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from anthropic.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from anyio.to_thread import run_sync

from gitmem.app.context import real_edges
from gitmem.core.errors import UsageError
from gitmem.core.names import agent_name
from gitmem.flows.context import initialised_at
from gitmem.integrations.memory_tool.backend import Backend
from gitmem.integrations.memory_tool.words import Refused
from gitmem.ledger.workspace import MAIN, SCOPES, ScopeName

if TYPE_CHECKING:
    from anthropic.types.beta import (
        BetaCacheControlEphemeralParam,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )


class GitMemoryTool(BetaAbstractMemoryTool):
    """A backend for Claude's memory tool in which every change is a commit.

    `/memories` is one agent's folder in one scope of the repository's memory: what `git mem list`, `log`,
    `recall` and `undo` show and change. Results and errors are worded as those of the SDK's own file-system
    backend.

        tool = GitMemoryTool(".")
        client.beta.messages.tool_runner(..., tools=[tool])

    Args:
        path: a folder inside the repository, in which `git mem init` ran.
        scope: `local` (mine, for this repository), `user` (mine, everywhere) or `project` (the team's).
            What is written to `project` waits for a person in `git mem review`, and the model is told so;
            only single memory files can be suggested in this way.
        agent: whose folder: `main`, or a subagent's name.
        session: id of the conversation, for the commits.
        model: id of the model, for the commits.
        cache_control: as for any tool of the SDK.

    Raises:
        gitmem.core.errors.RepositoryError: there is no repository, or `git mem init` has not run in it.
        gitmem.core.errors.UsageError: there is no such scope, or no agent can have that name.
    """

    def __init__(
        self,
        path: str | Path = ".",
        *,
        scope: ScopeName = "local",
        agent: str = MAIN,
        session: str = "",
        model: str = "",
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._backend = _backend(path, scope, agent, session, model)

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Shows a file or a folder."""
        return _told(partial(_view, self._backend, command))

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Makes a new file: one commit."""
        return _told(partial(_create, self._backend, command))

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replaces a text in a file: one commit."""
        return _told(partial(_str_replace, self._backend, command))

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Puts lines into a file: one commit."""
        return _told(partial(_insert, self._backend, command))

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Deletes a file or a folder: one commit."""
        return _told(partial(_delete, self._backend, command))

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Renames a file or a folder: one commit."""
        return _told(partial(_rename, self._backend, command))

    def clear_all_memory(self) -> str:
        """Deletes all files: one commit, which `git mem undo` takes back."""
        return _told(self._backend.clear)

    def close(self) -> None:
        """Ends helper processes and frees handles."""
        self._backend.workspace.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncGitMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same for the asynchronous client; git runs in a thread.

    Args:
        path, scope, agent, session, model, cache_control: as for `GitMemoryTool`; so are the errors.
    """

    def __init__(
        self,
        path: str | Path = ".",
        *,
        scope: ScopeName = "local",
        agent: str = MAIN,
        session: str = "",
        model: str = "",
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._backend = _backend(path, scope, agent, session, model)

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Shows a file or a folder."""
        return await run_sync(_told, partial(_view, self._backend, command))

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Makes a new file: one commit."""
        return await run_sync(_told, partial(_create, self._backend, command))

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replaces a text in a file: one commit."""
        return await run_sync(_told, partial(_str_replace, self._backend, command))

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Puts lines into a file: one commit."""
        return await run_sync(_told, partial(_insert, self._backend, command))

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Deletes a file or a folder: one commit."""
        return await run_sync(_told, partial(_delete, self._backend, command))

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Renames a file or a folder: one commit."""
        return await run_sync(_told, partial(_rename, self._backend, command))

    async def clear_all_memory(self) -> str:
        """Deletes all files: one commit, which `git mem undo` takes back."""
        return await run_sync(_told, self._backend.clear)

    async def aclose(self) -> None:
        """Ends helper processes and frees handles."""
        await run_sync(self._backend.workspace.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _backend(path: str | Path, scope: ScopeName, agent: str, session: str, model: str) -> Backend:
    if scope not in SCOPES:
        raise UsageError(f"There is no scope {scope!r}", f"Scopes are: {', '.join(SCOPES)}.")
    where = Path(path).absolute()
    workspace = initialised_at(real_edges(where))
    engine = f"anthropic:{model}" if model else ""
    return Backend(workspace, partial(real_edges, where), scope, agent_name(agent), session, engine)


def _told(run: Callable[[], str]) -> str:
    try:
        return run()
    except Refused as refused:
        raise ToolError(str(refused)) from refused.__cause__


# A model may leave any parameter out, and the SDK checks none: each is read with care, and judged below.


def _view(backend: Backend, command: BetaMemoryTool20250818ViewCommand) -> str:
    return backend.view(_given(command, "path"), _given(command, "view_range"))


def _create(backend: Backend, command: BetaMemoryTool20250818CreateCommand) -> str:
    return backend.create(_given(command, "path"), _given(command, "file_text"))


def _str_replace(backend: Backend, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
    new = _given(command, "new_str")
    return backend.str_replace(
        _given(command, "path"), _given(command, "old_str"), "" if new is None else new
    )


def _insert(backend: Backend, command: BetaMemoryTool20250818InsertCommand) -> str:
    return backend.insert(
        _given(command, "path"), _given(command, "insert_line"), _given(command, "insert_text")
    )


def _delete(backend: Backend, command: BetaMemoryTool20250818DeleteCommand) -> str:
    return backend.delete(_given(command, "path"))


def _rename(backend: Backend, command: BetaMemoryTool20250818RenameCommand) -> str:
    return backend.rename(_given(command, "old_path"), _given(command, "new_path"))


def _given(command: object, name: str) -> object:
    return getattr(command, name, None)
