"""The SDK's memory tool, with a git repository behind it; importing this loads the SDK.

A change is a commit with its index line and an account of claims. One of a team's memory, and what may be a
secret, waits for a person in review; what is a secret, too large, or was forgotten is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from anthropic.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from anyio.to_thread import run_sync

from gitmem.app.context import real_edges
from gitmem.core import index, tombstone
from gitmem.core.account import references
from gitmem.core.change import Change, ChangeOrigin, Edited
from gitmem.core.errors import CheckFailed, GitmemError, UsageError
from gitmem.core.limits import MEMORY_BYTES, OTHER_BYTES
from gitmem.core.memory import Memory, parse
from gitmem.core.names import agent_name, hot_file, is_memory_file, kind, slugify
from gitmem.core.text import decode, encode, iso, one_line
from gitmem.core.trailers import Fate, Provenance
from gitmem.flows.context import Edges, initialised_at
from gitmem.flows.redaction import line as on_line
from gitmem.flows.redaction import redact
from gitmem.ledger.edits import claim_keys, fates, nameless
from gitmem.ledger.indexes import Hot
from gitmem.ledger.land import Tip, Write, land, memory_commit
from gitmem.ledger.paging import page
from gitmem.ledger.suggestions import propose, suggest
from gitmem.ledger.workspace import MAIN, SCOPES, Scope, ScopeName, Workspace
from gitmem.memory_tool import commands
from gitmem.memory_tool.commands import ROOT, CommandError, CommandResult, Folder, is_index
from gitmem.rules.rule import Finding
from gitmem.rules.screen import refuse_secrets
from gitmem.rules.secrets import find_secrets
from gitmem.rules.secrets import redact as without_found

if TYPE_CHECKING:
    from anthropic.types.beta import BetaCacheControlEphemeralParam

TOOL = "memory_20250818"
"""The tool's type, which commits name."""

MOST_FATES = 200
"""Claims whose fate one message tells; where a folder held more, the commit itself is their record."""

MESSAGE_CHARS = 300
_SHOWN = 120
_REASON = "a model asked for it through the memory tool"
_VERBS = {"create": "Remember", "delete": "Delete", "rename": "Rename", "clear": "Clear"}


@dataclass(frozen=True)
class Backend:
    """One agent's memory in one scope, for one model.

    No work tree and no live directory is touched: the next `git mem save` or session lays out what is
    written here. Each command returns what the model is told, and raises `CommandError` with a text for it.

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

    # A model may leave any parameter out, and the SDK checks none: each may be anything.

    def view(self, path: object, span: object = None) -> str:
        """Shows a file, or what a folder holds; reads the tree, and writes nothing.

        Args:
            span: first and last line, 1-based; None, and what is no pair, for all.
        """
        return self._guarded(lambda: self._view(_text("path", path), _span(span)))

    def create(self, path: object, text: object) -> str:
        """Makes a new file."""
        named, content = _text("path", path), _text("file_text", text)
        return self._change(lambda folder: commands.create(folder, named, content))

    def str_replace(self, path: object, old: object, new: object) -> str:
        """Replaces a text that stands in a file just once."""
        named, before = _text("path", path), _text("old_str", old)
        after = _text("new_str", "" if new is None else new)
        return self._change(lambda folder: commands.str_replace(folder, named, before, after))

    def insert(self, path: object, line: object, text: object) -> str:
        """Puts lines into a file after one of its lines; 0 is the beginning."""
        named, content = _text("path", path), _text("insert_text", text)
        if not isinstance(line, int) or isinstance(line, bool):
            raise _wrong("insert_line", "a whole number")
        return self._change(lambda folder: commands.insert(folder, named, line, content))

    def delete(self, path: object) -> str:
        """Deletes a file, or a folder with all that is in it; the commit says what became of each claim."""
        named = _text("path", path)
        return self._change(lambda folder: commands.delete(folder, named))

    def rename(self, old: object, new: object) -> str:
        """Renames a file or a folder."""
        before, after = _text("path", old), _text("path", new)
        return self._change(lambda folder: commands.rename(folder, before, after))

    def clear(self) -> str:
        """Deletes all files in one commit, which `git mem undo` takes back."""
        return self._change(commands.clear)

    @property
    def scope(self) -> Scope:
        """The scope, whose ref is another once memory is shared."""
        return self.workspace.scope(self.scope_name)

    @property
    def _is_shared(self) -> bool:
        # Also before sharing is on: what stands there by then goes to everybody.
        return self.scope_name == "project"

    @property
    def _told(self) -> Provenance:
        return Provenance(
            op="add",
            writer="agent",
            session=self.session,
            code_commit=self.workspace.code_head(),
            engine=self.engine,
        )

    def _guarded(self, run: Callable[[], str]) -> str:
        try:
            with self._turn:
                return redact(run())
        except CommandError as refused:
            raise CommandError(redact(str(refused))) from refused.__cause__
        except (GitmemError, OSError) as error:
            # The repository, and not the model, is at fault.
            of_files = error.strerror if isinstance(error, OSError) else None
            message = error.message if isinstance(error, GitmemError) else of_files or type(error).__name__
            raise CommandError(
                "The memory cannot be used at the moment, and nothing was changed: "
                + on_line(message, MESSAGE_CHARS)
            ) from error

    def _view(self, path: str, span: tuple[int, int] | None) -> str:
        folder = self._folder()
        what, at = commands.sought(folder, path)
        if what == "folder":
            return commands.folder_view(folder, at, path)
        data = folder.read(at) or b""
        if self._is_shared:
            from gitmem.ledger.taint import safe_content

            data = safe_content(self.workspace, f"{self.agent}/{at}", data)
        return commands.file_view(path, data, span)

    def _folder(self) -> Folder:
        repo = self.scope.repo
        tip = memory_commit(repo, self.scope.ref)
        return Folder(repo, repo.commit(tip).tree if tip else None, self.agent)

    def _change(self, plan: Callable[[Folder], CommandResult]) -> str:
        def run() -> str:
            if not self._is_shared:
                with suppress(_Doubtful):
                    return self._commit(plan)
            return self._suggest(plan)

        return self._guarded(run)

    def _commit(self, plan: Callable[[Folder], CommandResult]) -> str:
        scope, allow, told = self.scope, self.workspace.allowed, self._told
        made: list[CommandResult] = []

        def write(tip: Tip) -> Write:
            folder = Folder(scope.repo, tip.tree, self.agent)
            made[:] = [plan(folder)]
            return _write(folder, made[0], told, allow)

        land(scope, write, self.workspace.author(self.edges().now), _paged, self.agent)
        return made[0].answer

    def _suggest(self, plan: Callable[[Folder], CommandResult]) -> str:
        folder, allow, told, edges = (
            self._folder(),
            self.workspace.allowed,
            self._told,
            self.edges(),
        )
        changed = plan(folder)
        file = _single_memory(changed)
        if file is None:
            raise CommandError(
                f"{changed.path} was not changed: this memory is shared by a team and is changed through "
                "review. What can be suggested is to create, edit or delete one memory file, "
                f"{ROOT}/<name>.md."
            )
        doubts = _check(folder, changed, allow)
        from gitmem.ledger.taint import holds_secret

        # What a suggestion would quote of a secret is not to be copied anywhere.
        if any(holds_secret(self.workspace, f"{self.agent}/{at}", d) for at, d in changed.before.items()):
            raise _unsafe(changed.path, "holds a secret that came with shared memory")
        change = _suggested(self.agent, file, changed, self.session)
        if doubts:
            change = nameless(change, [one.rule for one in doubts], allow)
        stones = tombstone.parse(decode(folder.read(tombstone.FILE) or b""))
        if any(tombstone.matches(stones, key) for key in claim_keys(change)):
            raise CommandError(f"{changed.path} was not suggested: a person rejected this before.")
        one = suggest(change, self.scope_name, iso(edges.now), self.engine)
        propose(self.workspace, [one], self.workspace.author(edges.now), told)
        why = "this memory is shared by a team" if self._is_shared else "it may hold a secret"
        return (
            f"Suggested as {one.id}, and not stored yet: {why}, so a person accepts or rejects "
            f"{'each change' if self._is_shared else 'it'}. Until then {changed.path} stays as it is."
        )


def _wrong(name: str, what: str) -> CommandError:
    return CommandError(f"Invalid `{name}` parameter: it should be {what}.")


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise _wrong(name, "a string")
    return value


def _span(value: object) -> tuple[int, int] | None:
    """Two line numbers; what is no pair is passed over, as in the SDK."""
    if value is None or not isinstance(value, (list, tuple)) or len(value) != 2:
        return None
    first, last = value
    if not isinstance(first, int) or not isinstance(last, int):
        raise _wrong("view_range", "two whole numbers")
    return first, last


def _paged(scope: Scope, agents: Collection[str], lay_out: bool, /) -> None:
    # What is too much now is left to the next writer where it cannot be paged out.
    with suppress(GitmemError):
        for agent in agents if lay_out else ():
            page(scope, agent)


# what may be written


class _Doubtful(CheckFailed):
    """What a command would write may hold a secret: a person decides."""


def _unsafe(path: str, why: str) -> CommandError:
    return CommandError(
        f"{path} was not written: it {why}. Leave the secret out, and say where it is kept instead."
    )


def _check(folder: Folder, changed: CommandResult, allow: frozenset[str]) -> tuple[Finding, ...]:
    """Refuses what may not be stored; returns what may be a secret in the rest."""
    written = {at: data for at, data in changed.files.items() if data is not None}
    before = {
        at: data for at in written if (data := changed.before.get(changed.moved.get(at, at))) is not None
    }
    for at, data in written.items():
        limit = OTHER_BYTES if is_index(at) else MEMORY_BYTES
        if len(data) > limit and len(data) > len(before.get(at, b"")):
            raise CommandError(
                f"{changed.path} was not written: it would have {len(data):,} bytes, and {limit:,} are the "
                "most. Split it into several files, or keep what matters."
            )
    _refuse_forgotten(folder, changed, written)
    names = {f"{folder.agent}/{at}": b"" for at in written if changed.to}
    contents = {f"{folder.agent}/{at}": data for at, data in written.items()}
    known = {f"{folder.agent}/{at}": data for at, data in before.items()}
    try:
        # A file that changes places is judged by its new name, and its content was judged before.
        return (*refuse_secrets({}, names, allow), *refuse_secrets(known, contents, allow))
    except CheckFailed as error:
        # The secret may be in the name; and the model knows the file by another path than the message has.
        parts = (changed.to or changed.path).replace("/", "\n")
        found = error.message.partition("holds a secret")
        why = one_line(f"holds a secret{found[2]}" if found[1] else error.message, 300)
        raise _unsafe(without_found(parts, find_secrets(parts)).replace("\n", "/"), why) from error


def _refuse_forgotten(folder: Folder, changed: CommandResult, written: Mapping[str, bytes]) -> None:
    stones = tombstone.parse(decode(folder.read(tombstone.FILE) or b""))
    if not stones:
        return
    is_buried = tombstone.finder(stones, "forgot")
    known = {claim.key for at, data in changed.before.items() for claim in parse(at, data).claims}
    for at, data in written.items():
        for claim in parse(at, data).claims:
            if claim.key not in known and is_buried(claim.key):
                raise CommandError(
                    f"{changed.path} was not written: the person asked for this to be forgotten, and only "
                    f"they can bring it back: {one_line(claim.text, _SHOWN)}"
                )


def _suggested(agent: str, file: str, changed: CommandResult, session: str) -> Change:
    before, after = changed.before.get(file), changed.files[file]
    memory = parse(file, after if after is not None else before or b"")
    return Change(
        op="delete" if after is None else "update" if before is not None else "add",
        # The file of a new memory is named after it: it should be the one that the model asked for.
        name=slugify(file.removesuffix(".md")) if before is None else memory.name,
        description=_described(memory),
        type=memory.type,
        body=memory.body.strip() if after is not None else "",
        reason=_REASON,
        confidence=1.0,
        asked=False,
        origin=ChangeOrigin(session=session),
        agent=agent,
        file=file if before is not None else "",
        edited=Edited(before, after) if before is not None and after is not None else None,
    )


# the commit


def _write(folder: Folder, changed: CommandResult, told: Provenance, allow: frozenset[str]) -> Write:
    """The commit that a command makes; op and claims of `told` are filled in."""
    files = dict(changed.files)
    if doubts := _check(folder, changed, allow):
        raise _Doubtful(f"{changed.path} {doubts[0].message}")
    if not any(map(is_index, files)):
        files |= _index_edit(folder, changed)
    claims = _fates(folder.agent, changed)
    body = f"{TOOL}: {_command(changed)}"
    if len(claims) > MOST_FATES:
        body += f"\n\n{len(claims)} claims went; what they said is in the commit before."
        claims = ()
    edits = {f"{folder.agent}/{at}": data for at, data in files.items()}
    return Write(edits, _subject(changed), replace(told, op=changed.op, claims=claims), body)


def _index_edit(folder: Folder, changed: CommandResult) -> dict[str, bytes | None]:
    """The index in line with the memories that a command wrote, moved or deleted.

    What was moved or deleted by its name goes from the index with what is said there of it alone.
    """
    text = decode(folder.read(index.INDEX) or b"")
    gone = {
        hot_file(at)
        for at, data in changed.files.items()
        if data is None and (is_memory_file(at) or at.startswith("archive/"))
    }
    written = {at: data for at, data in changed.files.items() if data is not None and is_memory_file(at)}
    before = {at: data for at in {*gone, *written} if (data := changed.before.get(at)) is not None}
    names = ({*folder.below("")} if text else set()) - gone | written.keys()
    after = Hot(names, lambda at: written[at] if at in written else folder.read(at))
    line = index.reconcile(text, before, after, gone - written.keys())
    return {} if line == text else {index.INDEX: encode(line)}


def _fates(agent: str, changed: CommandResult) -> tuple[Fate, ...]:
    """What became of the claims of memories that were edited, renamed or deleted."""
    home = {old: new for new, old in changed.moved.items()}
    found: list[Fate] = []
    for at, data in changed.before.items():
        target = home.get(at, at)
        after = changed.files.get(target)
        if kind(at) != "memory":
            continue
        old = references({f"{agent}/{at}": data})
        if after is None or kind(target) != "memory":
            why = f"{_command(changed)}, by the memory tool"
            found += [Fate("dropped", source, "", why) for source in old]
            continue
        new = {claim.key: source for source, claim in references({f"{agent}/{target}": after}).items()}
        if changed.to:
            found += [
                Fate("kept", source, new[claim.key]) for source, claim in old.items() if claim.key in new
            ]
        found += fates(
            parse(at, data), parse(target, after), agent=agent, reason="edited by the memory tool"
        )
    return tuple(found)


def _single_memory(changed: CommandResult) -> str | None:
    """The one memory file that a command is about; None where it is about more, or something else."""
    at = next(iter(changed.files), "")
    return at if len(changed.files) == 1 and is_memory_file(at) else None


def _described(memory: Memory) -> str:
    """One line that tells what a memory says: its description, else its first claim that is no heading."""
    claims = [claim.key for claim in memory.parsed.claims if not claim.key.startswith("#")]
    return memory.description or one_line(next(iter(claims), ""), _SHOWN)


def _subject(changed: CommandResult) -> str:
    named = changed.path.removeprefix(f"{ROOT}/")
    verb = _VERBS.get(changed.command, "Update")
    if changed.to:
        return f"Rename {named} to {changed.to.removeprefix(f'{ROOT}/')}"
    at = _single_memory(changed)
    data = changed.files.get(at) if at else None
    if at is None or data is None:
        return f"{verb} {named}"
    memory = parse(at, data)
    told = _described(memory)
    return f"{verb} {memory.name}: {told}" if told else f"{verb} {memory.name}"


def _command(changed: CommandResult) -> str:
    return f"{changed.command} {changed.path}" + (f" to {changed.to}" if changed.to else "")


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
