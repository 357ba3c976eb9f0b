"""Living documents of a commit, and what each of them says that no longer holds."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import closing
from pathlib import Path

from gitmem.core.errors import RepositoryError
from gitmem.core.references import day, plain_path
from gitmem.core.text import counted
from gitmem.docs.code import GitCode
from gitmem.docs.document import MARK, MOST, SUFFIXES, Doc, Statement, may_be, parse
from gitmem.docs.outcome import Outcome, linked
from gitmem.engines.engine import Stale
from gitmem.git.command import GitCommand
from gitmem.search.code_files import CodeFiles, Places, is_prose
from gitmem.search.code_reader import STAGED
from gitmem.values import dataclass


@dataclass(frozen=True)
class Checked:
    """A document held against the code of a commit.

    Attributes:
        doc: it.
        stale: what no longer holds, in the order of lines.
        since: the newest commit that changed the document; empty where the history does not say.
        untold: what is not in the code, and as far as is known never was: no false statement, but maybe a
            slip of the pen.
        note: what could not be found out and why, one line for a person; empty where all was.
    """

    doc: Doc
    stale: tuple[Stale, ...] = ()
    since: str = ""
    untold: tuple[Stale, ...] = ()
    note: str = ""


def documents(
    git: GitCommand, top: Path, rev: str = "HEAD", *, index: str | None = None
) -> tuple[Doc, ...]:
    """Finds the living documents of a commit, sorted by path.

    Args:
        top: top of the work tree, or a bare repository.
        rev: a commit, or `STAGED`.
        index: the index file of what is staged; None for the usual one.

    Raises:
        RepositoryError: there is no such revision, or none was found and not all files are at hand.
    """
    with closing(CodeFiles(git, top, index)) as files:
        name = rev if rev == STAGED else files.commit(rev)
        if not name:
            return ()
        listed = files.places(name).files
        paths = [path for path in files.having(name, MARK, SUFFIXES) if path in listed and may_be(path)]
        if not paths and not files.complete:
            raise RepositoryError(
                "The files that may be living documents are not all at hand",
                "This clone fetches files as they are needed: git checkout HEAD fetches them.",
            )
        found = [parse(path, files.blob(listed[path])) for path in paths]
        return tuple(doc for doc in found if doc is not None)


def check(
    git: GitCommand, top: Path, rev: str, docs: Sequence[Doc], *, index: str | None = None
) -> tuple[Checked, ...]:
    """Holds documents against the code of a commit, all together: some ten git processes, however many.

    Args:
        top, rev, index: as for `documents`.
        docs: as `documents` found them; a text may be another than the committed one (a proposal): what it
            says anew is not held against former code.

    Returns:
        One for each of `docs`, in its order.

    Raises:
        RepositoryError: there is no such revision.
    """
    if not docs:
        return ()
    with closing(CodeFiles(git, top, index)) as files:
        code = GitCode(files, rev if rev == STAGED else files.commit(rev))
        asked = [(doc, statement) for doc in docs for statement in doc.statements]
        outcomes = iter(zip(asked, code.look(asked), strict=True))
        return tuple(
            _checked(doc, [next(outcomes) for _ in doc.statements], code.since.get(doc.path, ""), files)
            for doc in docs
        )


def _checked(
    doc: Doc, rows: Sequence[tuple[tuple[Doc, Statement], Outcome]], since: str, files: CodeFiles
) -> Checked:
    """What came of one document. What a line names twice is told once."""
    stale = [_stale(one, how) for (_, one), how in rows if how.kind in ("moved", "gone")]
    untold = [_stale(one, how) for (_, one), how in rows if how.kind in ("never", "unknown")]
    unknown = {(one.line, one.name) for (_, one), how in rows if how.kind == "unknown"}
    note = _note(doc, len(unknown), files)
    return Checked(doc, tuple(dict.fromkeys(stale)), since, tuple(dict.fromkeys(untold)), note)


def stale(git: GitCommand, top: Path, rev: str, doc: Doc) -> tuple[Stale, ...]:
    """What one document says that no longer holds at a commit."""
    return check(git, top, rev, [doc])[0].stale


def touched(doc: Doc, changed_paths: Collection[str]) -> bool:
    """Whether a change of some files may make a document untrue.

    Any change of code may where the document names symbols, flags or commands.

    Args:
        changed_paths: from the top of the work tree; of a rename both.
    """
    if doc.path in changed_paths:
        return True
    changed = Places(dict.fromkeys(changed_paths, ""))
    by_words = any(one.parts for one in doc.statements)
    if by_words and any(not is_prose(path) for path in changed_paths):
        return True
    return any(
        changed.anywhere(linked(one, doc.path)[0] if one.kind == "link" else one.target)
        or bool(changed.meant(one.target, doc.path.rpartition("/")[0]))
        for one in doc.statements
        if not one.parts
    )


def _note(doc: Doc, unknown: int, files: CodeFiles) -> str:
    said = []
    if unknown:
        what = f"{counted(unknown, 'name')} in {doc.path} cannot be judged"
        why = "not all of the history is at hand"
        if files.shallow:
            why = "history is cut off here (git fetch --unshallow, or fetch-depth: 0 in CI)"
        said.append(f"{what}: {why}")
    if len(doc.statements) >= MOST:
        said.append(f"of {doc.path} only {MOST:,} names are looked at")
    return "; ".join(said)


def _stale(statement: Statement, outcome: Outcome) -> Stale:
    return Stale(
        statement.line, statement.name, statement.kind, outcome.became, _evidence(statement, outcome)
    )


def _evidence(statement: Statement, outcome: Outcome) -> str:
    name = f"`{statement.name}`"
    when = f"{outcome.commit[:9]}, {day(outcome.time)}" if outcome.commit else ""
    if outcome.kind in ("never", "unknown"):
        return f"{name} is not in the code"
    if outcome.out_of:
        now = f", but in `{plain_path(outcome.now)}`" if outcome.now else ""
        return f"{name} is no longer in `{plain_path(outcome.out_of)}`{now}"
    if outcome.kind == "moved":
        apart = " " if statement.kind == "command" else "#"
        colon = ":" if statement.kind == "command" else "\n"
        words = (colon.join(map(plain_path, word.split(colon))) for word in outcome.now.split(apart))
        now = apart.join(words)
        return f"{name} became `{now}`{f' in {when}' if when else ''}"
    if outcome.now:
        return f"{name} became `{plain_path(outcome.now)}`, gone{f' since {when}' if when else ''}"
    return f"{name} is gone since {when}" if when else f"{name} is no longer in the code"
