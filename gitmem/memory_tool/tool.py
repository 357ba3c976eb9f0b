"""The SDK's memory tool, with a git repository behind it; importing this loads the SDK."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from anthropic.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from anyio.to_thread import run_sync

from gitmem.app.context import real_edges
from gitmem.core.errors import UsageError
from gitmem.core.names import agent_name
from gitmem.flows.context import initialised_at
from gitmem.ledger.workspace import MAIN, SCOPES, ScopeName
from gitmem.memory_tool.backend import Backend
from gitmem.memory_tool.commands import CommandError

if TYPE_CHECKING:
    from anthropic.types.beta import BetaCacheControlEphemeralParam

PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "view": ("path", "view_range"),
    "create": ("path", "file_text"),
    "str_replace": ("path", "old_str", "new_str"),
    "insert": ("path", "insert_line", "insert_text"),
    "delete": ("path",),
    "rename": ("old_path", "new_path"),
    "clear": (),
}
"""Of each command, in the order in which the backend takes them."""


def _verb(name: str) -> Any:
    """A method that carries one of `PARAMETERS` out: what changes memory is one commit."""

    def run(self: GitMemoryTool, command: Any) -> str:
        return self._carried_out(name, command)

    return run


def _in_thread(name: str) -> Any:
    """The same for the asynchronous client."""

    async def run(self: AsyncGitMemoryTool, command: Any) -> str:
        return await run_sync(getattr(self._tool, name), command)

    return run


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
        if scope not in SCOPES:
            raise UsageError(f"There is no scope {scope!r}", f"Scopes are: {', '.join(SCOPES)}.")
        edges = partial(real_edges, Path(path).absolute())
        engine = f"anthropic:{model}" if model else ""
        self._backend = Backend(initialised_at(edges()), edges, scope, agent_name(agent), session, engine)

    view = _verb("view")
    create = _verb("create")
    str_replace = _verb("str_replace")
    insert = _verb("insert")
    delete = _verb("delete")
    rename = _verb("rename")

    def clear_all_memory(self) -> str:
        """Deletes all files: one commit, which `git mem undo` takes back."""
        return self._carried_out("clear")

    def close(self) -> None:
        """Ends helper processes and frees handles."""
        self._backend.workspace.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _carried_out(self, verb: str, command: object = None) -> str:
        given = [getattr(command, name, None) for name in PARAMETERS[verb]]
        try:
            said: str = getattr(self._backend, verb)(*given)
        except CommandError as refused:
            raise ToolError(str(refused)) from refused.__cause__
        return said


class AsyncGitMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same for the asynchronous client: a `GitMemoryTool` whose commands run in a thread.

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
        self._tool = GitMemoryTool(path, scope=scope, agent=agent, session=session, model=model)

    view = _in_thread("view")
    create = _in_thread("create")
    str_replace = _in_thread("str_replace")
    insert = _in_thread("insert")
    delete = _in_thread("delete")
    rename = _in_thread("rename")

    async def clear_all_memory(self) -> str:
        """Deletes all files: one commit, which `git mem undo` takes back."""
        return await run_sync(self._tool.clear_all_memory)

    async def aclose(self) -> None:
        """Ends helper processes and frees handles."""
        await run_sync(self._tool.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
