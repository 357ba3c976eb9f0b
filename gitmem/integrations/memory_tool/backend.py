"""Carries the commands of the memory tool out on one scope's ref; the SDK is not needed for it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock

from gitmem.core.errors import GitmemError
from gitmem.core.trailers import Provenance
from gitmem.flows.context import Edges, allowed_fingerprints
from gitmem.flows.exit import line, shown
from gitmem.integrations.memory_tool import commands, words
from gitmem.integrations.memory_tool.commands import Changed
from gitmem.integrations.memory_tool.folder import Folder, listing
from gitmem.integrations.memory_tool.record import to_write
from gitmem.ledger.land import Tip, Write, land, memory_commit
from gitmem.ledger.paging import page
from gitmem.ledger.workspace import Scope, ScopeName, Workspace

MESSAGE_CHARS = 300


@dataclass(frozen=True)
class Backend:
    """One agent's memory in one scope, for one model.

    No work tree and no live directory is touched: the next `git mem save` or session lays out what is
    written here.

    Attributes:
        edges: gives the world of this moment.
        agent: the agent's folder in the tree.
        session: id of the conversation; empty where unknown.
        engine: who thinks, e.g. `anthropic:<model>`; empty where unknown.
    """

    workspace: Workspace
    edges: Callable[[], Edges]
    scope_name: ScopeName
    agent: str
    session: str = ""
    engine: str = ""
    _turn: Lock = field(default_factory=Lock, repr=False, compare=False)

    def view(self, path: object, span: object = None) -> str:
        """Shows a file, or what a folder holds; reads the tree, and writes nothing.

        Args:
            span: first and last line, 1-based; None, and what is no pair, for all.

        Raises:
            Refused: as every command, with a text for the model.
        """
        with self._turn:
            return self._guarded(lambda: self._view(_path(path), _span(span)))

    def create(self, path: object, text: object) -> str:
        """Makes a new file."""
        named, content = _path(path), _text("file_text", text)
        return self._change(lambda folder: commands.create(folder, named, content))

    def str_replace(self, path: object, old: object, new: object) -> str:
        """Replaces a text that stands in a file just once."""
        named, before, after = _path(path), _text("old_str", old), _text("new_str", new)
        return self._change(lambda folder: commands.str_replace(folder, named, before, after))

    def insert(self, path: object, line: object, text: object) -> str:
        """Puts lines into a file after one of its lines; 0 is the beginning."""
        named, content = _path(path), _text("insert_text", text)
        if not isinstance(line, int) or isinstance(line, bool):
            raise words.wrong_parameter("insert_line", "a whole number")
        return self._change(lambda folder: commands.insert(folder, named, line, content))

    def delete(self, path: object) -> str:
        """Deletes a file, or a folder with all that is in it; the commit says what became of each claim."""
        named = _path(path)
        return self._change(lambda folder: commands.delete(folder, named))

    def rename(self, old: object, new: object) -> str:
        """Renames a file or a folder."""
        before, after = _path(old), _path(new)
        return self._change(lambda folder: commands.rename(folder, before, after))

    def clear(self) -> str:
        """Deletes all files in one commit, which `git mem undo` takes back."""
        return self._change(commands.clear)

    @property
    def scope(self) -> Scope:
        """The scope, whose ref is another once memory is shared."""
        return self.workspace.scope(self.scope_name)

    def _view(self, path: str, span: tuple[int, int] | None) -> str:
        repo = self.scope.repo
        tip = memory_commit(repo, self.scope.ref)
        folder = Folder(repo, repo.commit(tip).tree if tip else None, self.agent)
        what, at = commands.sought(folder, path)
        if what == "folder":
            return listing(folder, at, path)
        data = folder.read(at) or b""
        if self.scope_name == "project":
            from gitmem.flows.withholding import without_secrets

            data = without_secrets(self.workspace, f"{self.agent}/{at}", data)
        return words.file_view(path, commands.text_of(data, path), span)

    def _change(self, plan: Callable[[Folder], Changed]) -> str:
        with self._turn:
            return self._guarded(lambda: self._suggest(plan) if self._is_shared else self._stored(plan))

    @property
    def _is_shared(self) -> bool:
        # Also before sharing is on: what stands there by then goes to everybody.
        return self.scope_name == "project"

    def _stored(self, plan: Callable[[Folder], Changed]) -> str:
        from gitmem.integrations.memory_tool.record import Doubtful

        try:
            return self._commit(plan)
        except Doubtful:
            return self._suggest(plan)

    def _commit(self, plan: Callable[[Folder], Changed]) -> str:
        scope, edges = self.scope, self.edges()
        allow = allowed_fingerprints(self.workspace)
        provenance = self._provenance()
        made: list[Changed] = []

        def write(tip: Tip) -> Write:
            folder = Folder(scope.repo, tip.tree, self.agent)
            changed = plan(folder)
            made[:] = [changed]
            return to_write(folder, changed, provenance, allow)

        land(scope, write, self.workspace.author(edges.now), self._page, self.agent)
        return made[0].answer

    def _page(self, scope: Scope, agents: Collection[str], lay_out: bool, /) -> None:
        # What is too much now is left to the next writer where it cannot be paged out.
        with suppress(GitmemError):
            for agent in agents if lay_out else ():
                page(scope, agent)

    def _suggest(self, plan: Callable[[Folder], Changed]) -> str:
        from gitmem.integrations.memory_tool.suggesting import suggest_change

        repo = self.scope.repo
        tip = memory_commit(repo, self.scope.ref)
        folder = Folder(repo, repo.commit(tip).tree if tip else None, self.agent)
        allow = allowed_fingerprints(self.workspace)
        changed, provenance = plan(folder), self._provenance()
        return suggest_change(
            self.workspace, self.edges(), self.scope_name, folder, changed, provenance, allow
        )

    def _provenance(self) -> Provenance:
        return Provenance(
            op="add",
            writer="agent",
            session=self.session,
            code_commit=self.workspace.code_head(),
            engine=self.engine,
        )

    def _guarded(self, run: Callable[[], str]) -> str:
        try:
            return shown(run())
        except words.Refused as refused:
            raise words.Refused(shown(str(refused))) from refused.__cause__
        except GitmemError as error:
            raise words.out_of_reach(line(error.message, MESSAGE_CHARS)) from error
        except OSError as error:
            raise words.out_of_reach(error.strerror or type(error).__name__) from error


def _path(value: object) -> str:
    return _text("path", value)


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise words.wrong_parameter(name, "a string")
    return value


def _span(value: object) -> tuple[int, int] | None:
    """Two line numbers; what is no pair is passed over, as in the SDK."""
    if value is None or not isinstance(value, (list, tuple)) or len(value) != 2:
        return None
    first, last = value
    if not isinstance(first, int) or not isinstance(last, int):
        raise words.wrong_parameter("view_range", "two whole numbers")
    return first, last
