"""Living documents of a commit, and what each of them says that no longer holds."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import closing
from pathlib import Path

from gitmem.core.errors import RepositoryError
from gitmem.core.text import counted
from gitmem.docs import check as pure
from gitmem.docs.document import MARK, SUFFIXES, Doc, may_be, parse
from gitmem.docs.places import Places, linked
from gitmem.docs.statements import MOST
from gitmem.engines.engine import Stale
from gitmem.integrations.docs.code import GitCode
from gitmem.integrations.docs.git_reader import STAGED, Ground, is_prose
from gitmem.store.git import GitCommand
from gitmem.values import dataclass

__all__ = ["STAGED", "Checked", "check", "documents", "stale", "touched"]


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
    with closing(Ground(git, top, index)) as ground:
        name = rev if rev == STAGED else ground.commit(rev)
        if not name:
            return ()
        files = ground.places(name).files
        paths = [path for path in ground.having(name, MARK, SUFFIXES) if path in files and may_be(path)]
        if not paths and not ground.complete:
            raise RepositoryError(
                "The files that may be living documents are not all at hand",
                "This clone fetches files as they are needed: git checkout HEAD fetches them.",
            )
        found = [parse(path, ground.blob(files[path])) for path in paths]
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
    with closing(Ground(git, top, index)) as ground:
        code = GitCode(ground, rev if rev == STAGED else ground.commit(rev))
        judged = pure.check(docs, code)
        return tuple(
            Checked(one.doc, one.stale, code.since.get(one.doc.path, ""), one.untold, _note(one, ground))
            for one in judged
        )


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


def _note(one: pure.Judged, ground: Ground) -> str:
    said = []
    if one.unknown:
        what = f"{counted(one.unknown, 'name')} in {one.doc.path} cannot be judged"
        why = "not all of the history is at hand"
        if ground.shallow:
            why = "history is cut off here (git fetch --unshallow, or fetch-depth: 0 in CI)"
        said.append(f"{what}: {why}")
    if len(one.doc.statements) >= MOST:
        said.append(f"of {one.doc.path} only {MOST:,} names are looked at")
    return "; ".join(said)
