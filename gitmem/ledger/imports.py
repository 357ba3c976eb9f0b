"""What an import brought and a person has not looked at: one proposal, a commit a memory.

It waits as any suggestion does (`ledger.proposals`), in the private repository, whichever scope it is for:
`refs/gitmem/proposal/<project>/im-<scope>-<8 hex>`. Its first commit has the memories that later ones
change, as they were imported before; each one after that makes one memory, has the time at which it was
written where it comes from, and names that place (`Gitmem-Source`). A person takes all of it, or some by
number; what they take is merged with its commits, so that blame and ages tell what the source told.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import cast

from gitmem.core.errors import RepositoryError, UsageError
from gitmem.core.memory import Memory, parse
from gitmem.core.names import FORMAT_FILE, FORMAT_TEXT
from gitmem.core.text import counted
from gitmem.core.trailers import Provenance, format_message
from gitmem.core.trailers import parse as parse_trailers
from gitmem.git.repository import Commit, CommitDiff, RefMoved, Repository, Signature
from gitmem.git.trees import changed_files, read_paths, write_tree
from gitmem.ledger import proposals
from gitmem.ledger.indexes import with_indexes
from gitmem.ledger.land import Copies, Tip, Write, Written, land, root_commit
from gitmem.ledger.merge import merge_of_trees
from gitmem.ledger.proposals import Family, suggestions_of
from gitmem.ledger.workspace import SCOPES, ScopeName, Workspace
from gitmem.rules.screen import refuse_secrets

PREFIX = "im-"
ID_DIGITS = 8


@dataclass(frozen=True)
class ImportRow:
    """One memory that an import brings.

    Attributes:
        path: where it goes in the scope's tree.
        data: the file.
        before: what an earlier import made of the same source; None for what is new.
        subject: its description, without any secret.
        source: `Gitmem-Source`, see `core.trailers`.
        time: when it was last changed there, epoch seconds; None where nobody knows.
        session: in which it was learned, as the source names it.
    """

    path: str
    data: bytes
    before: bytes | None
    subject: str
    source: str
    time: int | None = None
    session: str = ""

    @property
    def memory(self) -> Memory:
        """The file as it is read."""
        return parse(self.path, self.data)

    @property
    def name(self) -> str:
        """What a person knows it by."""
        return self.memory.name

    @property
    def agent(self) -> str:
        """Folder of the agent that it is for."""
        return self.path.partition("/")[0]

    def keys(self) -> tuple[str, ...]:
        """Normal forms of its claims."""
        return tuple(claim.key for claim in self.memory.claims)


@dataclass(frozen=True)
class Import:
    """An import that waits; what it says is read when it is asked for, since it may be long.

    Attributes:
        id: `im-<scope>-<hex>`.
        tip: its last commit.
    """

    family: Family
    id: str
    tip: str

    @cached_property
    def _first(self) -> Commit:
        """The commit on which its memories stand: the one after the root."""
        repo = self.family.repo
        *_, first, _ = repo.lineage(self.tip, ())  # names alone: there may be ten thousand commits
        return repo.commit(first)

    @property
    def base(self) -> str:
        """Its first commit."""
        return self._first.oid

    @property
    def title(self) -> str:
        """What was imported from where."""
        return self._first.subject

    @property
    def author(self) -> Signature:
        """Who imported it, and when."""
        return replace(self._first.author, time=self._first.committer.time)

    @property
    def scope(self) -> ScopeName:
        """The scope that it is for."""
        return cast(ScopeName, self.id.split("-")[1])

    @cached_property
    def rows(self) -> tuple[ImportRow, ...]:
        """What it brings, in the order in which it was proposed. Raises MissingObject."""
        repo = self.family.repo
        steps = [step for step in repo.steps(self.tip, without=[self.base]) if step.before[0]]
        names = dict.fromkeys(oid for step in steps for _, *both in step.before[0] for oid in both if oid)
        blobs = dict(repo.read_blobs(list(names)))
        return tuple(row for step in steps for row in _rows(step, blobs))


def title(number: int, source: str) -> str:
    """What the first commit of an import says: how many memories, and from where."""
    return f"Import {counted(number, 'memory')} from {source}"


def make(
    workspace: Workspace, scope: ScopeName, source: str, rows: Sequence[ImportRow], author: Signature
) -> Import | None:
    """Lets what an import brings wait for a person.

    Args:
        source: the name of its format.
        rows: memories in the order of their commits.
        author: who imports, and when.

    Returns:
        What waits; None where just that waits, or was turned down lately.

    Raises:
        RepositoryError: git cannot store it.
    """
    family = suggestions_of(workspace)
    said = hashlib.sha256("\0".join(f"{row.path}\0{row.source}" for row in rows).encode("utf-8", "replace"))
    for row in rows:
        said.update(row.data)
    id = f"{PREFIX}{scope}-{said.hexdigest()[:ID_DIGITS]}"
    if id in proposals.all_tips(family):
        return None
    line = title(len(rows), source)
    tip = _chain(family.repo, line, rows, author)
    return (
        Import(family, id, tip) if proposals.let_wait(family, id, tip, f"gitmem import: {line}") else None
    )


def open_imports(workspace: Workspace) -> tuple[Import, ...]:
    """Imports that nobody decided on, by their ids; of each one line of a ref is read."""
    family = suggestions_of(workspace)
    return tuple(
        Import(family, id, tip) for id, tip in proposals.open_tips(family).items() if _is_import(id)
    )


def _is_import(id: str) -> bool:
    words = id.split("-")
    return id.startswith(PREFIX) and len(words) == 3 and words[1] in SCOPES


def sources(workspace: Workspace) -> dict[str, ImportedBefore]:
    """What was imported before: source, without its time, to where it came to, the latest of each."""
    found: dict[str, ImportedBefore] = {}
    for one in open_imports(workspace):
        found |= {_source(row.source): ImportedBefore(one.id) for row in one.rows}
    for scope in workspace.scopes:
        tip = scope.repo.ref(scope.ref)
        commits = scope.repo.history(tip) if tip else ()
        for commit in commits:
            if "Gitmem-Source:" in commit.message:
                source = _source(parse_trailers(commit.message).source)
                found.setdefault(source, ImportedBefore("", scope.name, commit.oid))
    return found


@dataclass(frozen=True)
class ImportedBefore:
    """Where something came to that was imported before.

    Attributes:
        waits: id of the import that it waits in; empty for what was accepted.
        scope, commit: where it was accepted.
    """

    waits: str
    scope: str = ""
    commit: str = ""

    def file(self, workspace: Workspace) -> tuple[str, bytes] | None:
        """Path and content as it was imported; None where history does not say.

        A squashed request has many memories and sources in one commit: which made which is not told by it.
        """
        with suppress(RepositoryError):
            repo = workspace.scope(self.scope).repo
            commit = repo.commit(self.commit)
            before = repo.commit(commit.parents[0]).tree
            made = read_paths(repo, commit.tree, changed_files(repo, before, commit.tree))
            return next(iter(made.items())) if len(made) == 1 else None
        return None


def accept(
    workspace: Workspace,
    one: Import,
    numbers: Collection[int],
    author: Signature,
    copies: Copies,
    allow: frozenset[str],
    *,
    hold: bool,
    job: str = "",
) -> tuple[Written | None, tuple[tuple[str, str], ...]]:
    """Lands an import, or some of it, as one merge with a commit a memory; the rest goes on waiting.

    Args:
        numbers: of its rows, from 1; none for all.
        author: the person, at the present.
        copies: brings working copies up to date.
        allow: fingerprints of accepted secrets.
        hold: whether what only may be a secret is refused as well.
        job: what is undone together; empty for none.

    Returns:
        The merge, None where memory says all of it already; and (path, text) of what a tombstone took.

    Raises:
        UsageError: there is no such number.
        CheckFailed: a secret would be stored.
    """
    scope = workspace.scope(one.scope)
    rows, rest = chosen(one, numbers)
    repo = scope.repo
    side = one.tip
    if rest or repo is not one.family.repo:
        side = _chain(repo, one.title, rows, one.author)
    buried: tuple[tuple[str, str], ...] = ()

    def plan(tip: Tip) -> Write | None:
        nonlocal buried
        with repo.together():
            base = write_tree(repo, tip.tree, {row.path: row.before for row in rows})
            theirs = write_tree(repo, base, {row.path: row.data for row in rows})
        merged = merge_of_trees(repo, base, tip.tree, theirs)
        buried = merged.buried
        changed = changed_files(repo, tip.tree, merged.tree)
        edits: dict[str, bytes | None] = dict.fromkeys(sorted(changed))
        edits |= read_paths(repo, merged.tree, changed)
        if not edits:
            return None
        refuse_secrets(read_paths(repo, tip.tree, changed), edits, allow, hold=hold)
        told = Provenance(op="merge", writer="human", job=job, reviewed=one.id)
        subject = one.title if not rest else f"{one.title}: {len(rows)} of them"
        return Write(with_indexes(repo, tip.tree, edits), subject, told, parents=(side,))

    written = land(scope, plan, author, copies)
    settle(one, rest, "accepted")
    return written, buried


def chosen(one: Import, numbers: Collection[int]) -> tuple[tuple[ImportRow, ...], tuple[ImportRow, ...]]:
    """The rows of some numbers, and the others; none of the latter where no number is given.

    Raises:
        UsageError: there is no such number.
    """
    if absent := sorted(set(numbers) - set(range(1, len(one.rows) + 1))):
        raise UsageError(
            f"{one.id} has no number {absent[0]}", f"They go from 1 to {len(one.rows)}: git mem review show"
        )
    wanted = set(numbers) or set(range(1, len(one.rows) + 1))
    rows = tuple(row for number, row in enumerate(one.rows, 1) if number in wanted)
    return rows, tuple(row for number, row in enumerate(one.rows, 1) if number not in wanted)


def settle(one: Import, rest: Sequence[ImportRow], why: str) -> None:
    """Ends the wait of what was decided, in a word; the rest waits on under the same id."""
    family = one.family
    if not rest:
        proposals.settle(family, [one.id], f"gitmem review: {why}")
        return
    tip = _chain(family.repo, one.title, rest, one.author)
    with suppress(RefMoved):  # somebody decided on it meanwhile
        proposals.narrow(family, one.id, one.tip, tip, f"gitmem review: {why} some")


def _source(trailer: str) -> str:
    return trailer.partition(" ")[0]


def _rows(step: CommitDiff, blobs: dict[str, bytes]) -> Iterator[ImportRow]:
    told, who = parse_trailers(step.commit.message), step.commit.author
    for path, before, after in step.before[0]:
        if after is not None:
            yield ImportRow(
                path,
                blobs[after],
                blobs[before] if before else None,
                step.commit.subject,
                told.source,
                who.time if who.time < step.commit.committer.time else None,
                told.session,
            )


def _chain(repo: Repository, line: str, rows: Sequence[ImportRow], author: Signature) -> str:
    """Stores the commits of an import; no ref is moved, and the same rows make the same commits.

    One process of git makes them all: ten thousand cost 3.5 s of CPU so, and ten times that one by one.

    Returns:
        The last commit.
    """
    root = root_commit(repo)
    before = {row.path: row.before for row in rows if row.before is not None}
    with repo.together():
        tree = write_tree(repo, repo.commit(root).tree, {FORMAT_FILE: FORMAT_TEXT, **before})
        told = Provenance(op="add", writer="human")
        base = repo.add_commit(tree, (root,), author, author, format_message(line, told))
    with tempfile.TemporaryDirectory(prefix="gitmem-") as folder:
        marks = Path(folder) / "marks"
        # Level 1 and few deltas: what is packed again by git's own upkeep need not be small now.
        words = ["-c", "pack.compression=1", "-c", "core.compression=1"]
        words += ["fast-import", "--quiet", "--depth=1", "--date-format=raw", f"--export-marks={marks}"]
        repo.git.run(words, git_dir=repo.git_dir, input=b"".join(_stream(base, rows, author)))
        tips = dict(line.split() for line in marks.read_text("ascii").splitlines())
    return tips[f":{len(rows)}"]


_BRANCH = b"refs/gitmem/import"
"""What the stream calls its branch; it is taken back at the end of it, before any ref is written."""


def _stream(base: str, rows: Iterable[ImportRow], author: Signature) -> Iterator[bytes]:
    for number, row in enumerate(rows, 1):
        said = author.time if row.time is None else min(row.time, author.time)
        told = Provenance(
            op="update" if row.before is not None else "add",
            writer="agent",  # also of a file of rules: whoever wrote it, this person did not say it here
            session=row.session,
            source=row.source,
        )
        message = format_message(row.subject, told).encode("utf-8", "replace")
        yield b"commit %s\nmark :%d\n" % (_BRANCH, number)
        yield b"author %s\ncommitter %s\n" % (_who(author, said), _who(author, author.time))
        yield b"data %d\n%s\n" % (len(message), message)
        if number == 1:
            yield b"from %s\n" % base.encode()
        yield b"M 100644 inline %s\ndata %d\n%s\n" % (row.path.encode(), len(row.data), row.data)
    yield b"reset %s\nfrom %s\n\n" % (_BRANCH, b"0" * len(base))


def _who(who: Signature, time: int) -> bytes:
    name, email = (
        "".join(char for char in text if char not in "<>\n\0").strip() for text in (who.name, who.email)
    )
    return f"{name or 'unknown'} <{email}> {time} +0000".encode("utf-8", "replace")
