"""The Python API: what a program asks of the memory of one repository.

    import gitmem

    with gitmem.open(".") as memories:
        memories.remember("Use the real database in tests.", name="no-mocks", why="A mock hid a bug.")
        for item in memories.recall("how do we test?").items:
            print(item.name, item.age_days, item.text)
        for entry in memories.log("no-mocks"):
            print(entry.time, entry.author, entry.subject)

A program speaks for the person who runs it, as `git mem` does: what it stores is theirs, and goes to the
scope that `git mem remember` would choose. What it is given is as `git mem --json` prints it: without
secrets, control characters and tags that a client takes for its own.

What a model asks for is no word of the person's: `gitmem.open(path, session="…")` opens memory for it. What
is stored then is an agent's, refused where it was forgotten before, and left for the person where it would
be the team's or may hold a secret.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from gitmem.app.context import real_edges
from gitmem.core.change import MemoryType
from gitmem.core.errors import UsageError
from gitmem.core.limits import RECALLED
from gitmem.core.names import kind
from gitmem.core.trailers import Provenance
from gitmem.flows.context import Edges, by_command, initialised_at
from gitmem.flows.redaction import value
from gitmem.ledger.workspace import MAIN, ScopeName, Workspace

if TYPE_CHECKING:
    from gitmem.core.trailers import Writer
    from gitmem.flows.edit import Wanted
    from gitmem.ledger.log import LogEntry
    from gitmem.search.recall import Recall


@dataclass(frozen=True)
class Remembered:
    """A memory that was stored.

    Attributes:
        scope: `project`, `local` or `user`.
        agent: the agent's folder in the tree.
        file: its file in that folder.
        commit: the commit that stored it; empty where it said so already, or waits.
        warnings: rules that saw in it what may be a credential; it is stored all the same. In a session,
            what the person should be told of it, in words.
        waiting: id of what waits for the person in `git mem review`; in a session alone.
    """

    scope: str
    agent: str
    file: str
    name: str
    description: str
    commit: str
    warnings: tuple[str, ...] = ()
    waiting: str = ""


@dataclass(frozen=True)
class Kept:
    """A memory that stands.

    Attributes:
        scope, agent, file: as those of `Remembered`.
        text: its body; empty in a list.
        taught: when it was last taught, UTC; None where unknown.
    """

    scope: str
    agent: str
    file: str
    name: str
    description: str
    type: str
    taught: datetime | None
    text: str = ""


@dataclass(frozen=True)
class Learned:
    """One commit of the memory.

    Attributes:
        scope: `project`, `local` or `user`.
        time: when it was taught, UTC.
        author: name and address, `Ann <ann@example.com>`.
        op: what was done, e.g. `add`; empty in commits that gitmem did not make.
        writer: `human`, `agent`, `extract`, `dream` or `sync`.
        engine: who thought, e.g. `anthropic:<model>`; empty for none.
        session: id of the conversation that it stems from; empty for none.
        paths: files that it changed, from the root of the scope's tree; of those asked about.
    """

    commit: str
    scope: str
    time: datetime
    author: str
    subject: str
    op: str
    writer: str
    engine: str
    session: str
    paths: tuple[str, ...]


class Memories:
    """The memory of one repository; made by `gitmem.open`.

    Not for several threads at once: open one for each.
    """

    def __init__(self, path: Path, workspace: Workspace, session: str = "") -> None:
        self._path = path
        self._workspace = workspace
        self._session = session

    @property
    def path(self) -> Path:
        """The folder that it was opened for."""
        return self._path

    def recall(
        self,
        query: str,
        *,
        limit: int = RECALLED,
        at: str | None = None,
        scope: ScopeName | None = None,
        agent: str | None = None,
        shown: Set[str] = frozenset(),
    ) -> Recall:
        """Finds the memories that help with a question, offline; none where nothing fits.

        Args:
            query: a question, or words.
            limit: memories at most.
            at: revision, date or tag to answer as of, e.g. `2026-11-20`, `2 days ago`, `~1`.
            scope: one scope; None for all.
            agent: one agent's memories; None for every agent's.
            shown: `blob` of items that need not be given again.

        Returns:
            The answer; its `items` are best first, each with text, age and what is to be known of it.

        Raises:
            UsageError: an unknown scope, `limit` is below 1, or `at` means nothing.
            RepositoryError: the repository cannot be read.
        """
        from gitmem.flows.recall import RecallRequest, ask

        if limit < 1:
            raise UsageError(f"limit is {limit}", "Ask for one memory at least.")
        asked = RecallRequest(query, limit, at, scope, agent, shown=shown)
        return value(ask(self._workspace, self._edges(), asked))

    def remember(
        self,
        text: str,
        *,
        name: str = "",
        type: MemoryType | None = None,
        scope: ScopeName | None = None,
        agent: str = MAIN,
        description: str = "",
        why: str = "",
        how: str = "",
        allow: bool = False,
    ) -> Remembered:
        """Stores one memory: file, index line and commit in one step.

        Args:
            text: the fact, in markdown; relative dates in it are annotated.
            name: the same name again updates that memory, or in a session adds to it; made from the text
                where empty.
            type: `user`, `feedback`, `project` or `reference`; None leaves that of the memory it updates,
                and is `feedback` for a new one.
            scope: None for that of the memory that has the name, else the scope of its type.
            description: one line that would find it again; the first sentence where empty.
            why: the reason.
            how: when and how it applies.
            allow: what may be a secret may go into the project scope; elsewhere it is stored and told.
                Not in a session.

        Raises:
            UsageError: no text, or an unknown type or scope.
            CheckFailed: it holds a secret, or may hold one and goes to the project scope; in a session also
                what is never stored or was forgotten.
            RepositoryError: git knows no identity, or the repository cannot be written.
        """
        from gitmem.flows.edit import Wanted, remember

        wanted = Wanted(text, type or "", name, description, why, how, agent, scope or "", allow)
        if self._session:
            return value(self._remembered(wanted))
        done = remember(self._workspace, self._edges(), wanted)
        return Remembered(
            scope=done.scope.name,
            agent=done.agent,
            file=done.memory.path,
            name=done.memory.name,
            description=done.memory.description,
            commit=done.written.commit if done.written else "",
            warnings=tuple(one.rule for one in done.warnings),
        )

    def _remembered(self, wanted: Wanted) -> Remembered:
        from gitmem.flows.agent_writes import remember_as_agent

        placed, done = remember_as_agent(self._workspace, self._edges(), wanted, self._told())
        change, commit = placed.change, done.written.commit if done.written else ""
        files = [path for path, data in (done.written.edits if done.written else {}).items() if data]
        file = next((path for path in files if kind(path) == "memory"), "").partition("/")[2]
        return Remembered(
            placed.scope,
            change.agent,
            file or placed.file,
            change.name,
            change.description,
            commit,
            done.warnings,
            done.waiting,
        )

    def list(self, *, scope: ScopeName | None = None, agent: str | None = None) -> tuple[Kept, ...]:
        """Gives a line on each memory, by scope, agent and file; what was paged out is not among them.

        Raises:
            UsageError: an unknown scope.
            RepositoryError: the repository cannot be read.
        """
        from gitmem.ledger.lookup import headers

        found = headers(self._workspace, scope, agent)
        return value(
            tuple(
                Kept(one.scope, one.agent, one.file, one.name, one.description, one.type, _time(one.time))
                for one in found
                if not one.secret
            )
        )

    def show(
        self,
        name: str,
        *,
        scope: ScopeName | None = None,
        agent: str | None = None,
        at: str | None = None,
    ) -> Kept:
        """Gives one memory whole.

        Args:
            name: its name or file, or `scope/agent/name`.
            at: as for `recall`.

        Raises:
            UsageError: there is none of that name, or several; or `at` means nothing.
            RepositoryError: the repository cannot be read.
        """
        from gitmem.flows.show import show

        whole = show(self._workspace, self._edges(), name, scope, agent, at)
        found, memory = whole.found, whole.readable[0]
        return value(
            Kept(
                found.scope,
                found.agent,
                found.file,
                memory.name,
                memory.description,
                memory.type,
                _time(whole.taught),
                memory.body.strip(),
            )
        )

    def forget(self, name: str, *, scope: ScopeName | None = None, agent: str | None = None) -> str:
        """Deletes one memory, and sees to it that no merge and no extraction brings it back.

        Args:
            name: its whole name or file, or `scope/agent/name`.

        Returns:
            The commit, which `git mem undo` takes back; empty where it was gone already.

        Raises:
            UsageError: there is none of that name, or several; or it is the team's, in a session.
            RepositoryError: the repository cannot be written.
        """
        from gitmem.flows.edit import forget
        from gitmem.ledger.lookup import find

        found = find(self._workspace, name, scope, agent, whole=True)
        if self._session and found.scope == "project":
            raise UsageError(f"{found.address} is the team's", "Leave it to a person: git mem forget")
        written = forget(self._workspace, self._edges(), found, self._told())
        return written.commit if written else ""

    def log(
        self, name: str | None = None, *, scope: ScopeName | None = None, agent: str | None = None
    ) -> Iterator[Learned]:
        """Gives what was learned, newest first, read as it is asked for.

        Args:
            name: only what changed this memory, also one that was deleted.
            scope, agent: narrow it.

        Raises:
            UsageError: an unknown scope; there is and was no such memory, or several have the name.
            RepositoryError: the repository cannot be read.
        """
        from gitmem.ledger.log import log_entries

        found = log_entries(self._workspace, name, scope, agent)
        return (value(_learned(where.name, entry)) for where, entry in found)

    def close(self) -> None:
        """Ends helper processes and frees handles; what is asked for afterwards opens them again."""
        self._workspace.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"gitmem.open({str(self._path)!r})"

    def _edges(self) -> Edges:
        return real_edges(self._path)

    def _told(self) -> Provenance:
        writer: Writer = "agent" if self._session else "human"
        return Provenance(writer=writer, session=self._session, code_commit=self._workspace.code_head())


def _time(seconds: int) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if seconds else None


def _learned(scope: str, entry: LogEntry) -> Learned:
    told = entry.provenance
    return Learned(
        commit=entry.commit,
        scope=scope,
        time=datetime.fromtimestamp(entry.time, UTC),
        author=entry.author,
        subject=entry.subject,
        op=told.op,
        writer=told.writer,
        engine=told.engine,
        session=told.session,
        paths=entry.paths,
    )


def open(path: str | Path = ".", *, session: str = "") -> Memories:
    """Opens the memory of the repository that a folder is in.

    Args:
        path: a folder inside a work tree in which `git mem init` ran.
        session: id of the conversation in which a model asks; empty where the program speaks for its
            person.

    Raises:
        RepositoryError: there is no repository, or `git mem init` has not run in it.
    """
    where = Path(path).absolute()
    return Memories(where, by_command(initialised_at(real_edges(where))), session)
