"""A person edits a dream's branch: its memories in an editor of theirs, or one given on standard input."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath

from gitmem.core.account import is_memory
from gitmem.core.change import Change, Edited
from gitmem.core.errors import CheckFailed, GitmemError, RepositoryError, UsageError
from gitmem.core.limits import MEMORY_BYTES
from gitmem.core.memory import parse
from gitmem.core.names import file_name
from gitmem.dream.proof import failures_of
from gitmem.dream.review import find_dream
from gitmem.flows.context import Edges
from gitmem.flows.dream_sources import evidence
from gitmem.git.command import SAFE_VARIABLES
from gitmem.git.repository import short_name
from gitmem.ledger.dream_branch import HandEdit, LostClaim, edit, laid_out, lost
from gitmem.ledger.dreams import Dream
from gitmem.ledger.files import read_regular
from gitmem.ledger.restore import write_out
from gitmem.ledger.suggestions import Suggestion, as_worded, created
from gitmem.ledger.workspace import Workspace
from gitmem.values import dataclass

MOST_FILES = 500
"""Files of one editor call: more is no edit, and too long a command line somewhere."""

AskWhy = Callable[[tuple[LostClaim, ...]], str]
"""Asks the person why claims go; empty where there is no answer, or nobody to ask."""


@dataclass(frozen=True)
class EditedFile:
    """One file that comes from standard input instead of an editor."""

    path: str
    data: bytes


def edit_dream(
    workspace: Workspace,
    edges: Edges,
    dream: Dream,
    number: int | None,
    *,
    why: str = "",
    ask_why: AskWhy = lambda _: "",
    given: EditedFile | None = None,
) -> HandEdit:
    """Lets a person change what a dream proposes; the commit on its branch is theirs.

    Args:
        number: the change whose memories are edited; None for all that are open.
        why: the reason for claims that the edit takes out; asked for by `ask_why` where it is empty.
        given: a file instead of an editor.

    Raises:
        UsageError: no such change, or a file that the dream does not touch.
        CheckFailed: a secret, or an editor that fails; what was written stays in the folder that is named.
        RepositoryError: git knows no editor or no identity.
    """
    _refuse_checked_out(workspace, dream.here)
    # Who has no identity learns so before they write.
    workspace.author(edges.now)
    laid = laid_out(dream, number)
    if given is not None:
        if given.path not in laid:
            listed = ", ".join(sorted(laid))
            raise UsageError(f"{dream.id} touches no {given.path!a}", f"It touches: {listed}.")
        return _commit(workspace, edges, dream, laid, {**laid, given.path: given.data}, why, ask_why)
    if len(laid) > MOST_FILES:
        raise UsageError(f"{dream.id} touches {len(laid)} memories", f"One change: {dream.id} N")
    program = editor(workspace, edges)
    folder = Path(tempfile.mkdtemp(prefix="gitmem-edit-"))
    try:
        write_out(folder, laid)
        _run(program, folder, sorted(laid), edges.environ)
        made = _commit(workspace, edges, dream, laid, _read(folder), why, ask_why)
    except GitmemError as error:
        if _written(folder, laid):
            hint = f"What you wrote is in {folder}. {error.hint}".strip()
            raise type(error)(error.message, hint) from error
        shutil.rmtree(folder, ignore_errors=True)
        raise
    except BaseException:
        edges.say(f"what you wrote is in {folder}")
        raise
    shutil.rmtree(folder, ignore_errors=True)
    return made


def edit_suggestion(workspace: Workspace, edges: Edges, one: Suggestion) -> Change | None:
    """Lets a person word what is suggested; nothing is stored.

    Returns:
        What they made of it; None where they changed nothing.

    Raises:
        UsageError: it only deletes.
        CheckFailed: the editor failed, or no text is left.
        RepositoryError: git knows no editor.
    """
    path, before = suggestion_file(one)
    with tempfile.TemporaryDirectory(prefix="gitmem-edit-") as name:
        folder = Path(name)
        write_out(folder, {path: before})
        _run(editor(workspace, edges), folder, [path], edges.environ)
        after = _read(folder).get(path, b"")
    return worded(one, after)


def suggestion_file(one: Suggestion) -> tuple[str, bytes]:
    """Path and content of the memory as a suggestion would leave it.

    Raises:
        UsageError: it only deletes.
    """
    change = one.change
    if change.op not in ("add", "update"):
        raise UsageError(f"{one.id} only deletes: there is nothing to edit")
    path = f"{change.agent}/{PurePosixPath(change.file).name or file_name(change.name)}"
    return path, change.edited.after if change.edited else created(change)


def worded(one: Suggestion, after: bytes) -> Change | None:
    """A suggestion in a person's words.

    Args:
        after: content of the memory as they want it.

    Returns:
        None where they changed nothing.

    Raises:
        UsageError: it only deletes.
        CheckFailed: no text is left.
    """
    (path, before), change = suggestion_file(one), one.change
    if after == before:
        return None
    memory = parse(path, after)
    if not memory.body.strip():
        raise CheckFailed(f"No text of {one.id} is left: nothing was changed", "To reject it: r")
    if change.edited:
        return replace(change, edited=Edited(change.edited.before, after))
    return as_worded(change, memory)


def editor(workspace: Workspace, edges: Edges) -> str:
    """The editor that git would start: GIT_EDITOR, core.editor, VISUAL, EDITOR, git's own default.

    Raises:
        RepositoryError: git knows none, as in a terminal that can show none.
    """
    wanted = {key: edges.environ[key] for key in ("GIT_EDITOR",) if edges.environ.get(key)}
    asked = workspace.git.run(["var", "GIT_EDITOR"], cwd=edges.cwd, env=wanted, check=False)
    if asked.returncode or not asked.text.strip():
        raise RepositoryError(
            "git knows no editor for this terminal",
            "Set one (git config --global core.editor NAME), or give a file: --file PATH < NEW",
        )
    return asked.text.strip()


def _run(program: str, folder: Path, paths: list[str], environ: Mapping[str, str]) -> None:
    """Starts the editor as git does: git hands what a person configured to `sh`, since it may hold options.

    The names of the files are arguments of their own and never part of what the shell reads.
    """
    clean = {k: value for k, value in environ.items() if not k.startswith("GIT_") or k in SAFE_VARIABLES}
    words = ["sh", "-c", f'{program} "$@"', program, *paths]
    try:
        code = subprocess.run(words, cwd=folder, env=clean, check=False).returncode
    except OSError as error:
        raise RepositoryError(f"sh cannot be started: {error.strerror}") from error
    if code:
        raise CheckFailed(f"The editor {program!a} ended with {code}: nothing was changed")


def _commit(
    workspace: Workspace,
    edges: Edges,
    dream: Dream,
    laid: Mapping[str, bytes],
    edited: Mapping[str, bytes],
    why: str,
    ask_why: AskWhy,
) -> HandEdit:
    gone = () if why.strip() else lost(laid, edited)
    reason = ask_why(gone) if gone else why
    done = edit(dream, laid, edited, reason, workspace.author(edges.now), workspace.allowed)
    if done.written is None:
        return done
    now = find_dream(workspace, dream.id)
    proof = failures_of(now, evidence(workspace, edges, dream.scope))
    return replace(done, dream=now, failures=proof)


def _read(folder: Path) -> dict[str, bytes]:
    """The memories that a person left in the folder; what editors keep beside them is none of it."""
    found: dict[str, bytes] = {}
    for at, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = (Path(at) / name).relative_to(folder).as_posix()
            if not is_memory(path) or name.startswith("."):
                continue
            try:
                read = read_regular(folder / path, MEMORY_BYTES)
            except OSError as error:
                raise RepositoryError(f"{folder / path} cannot be read: {error.strerror}") from error
            if read is None:
                raise CheckFailed(f"{path!a} is no regular file any more", "Write it again.")
            found[path] = read[0]
    return found


def _written(folder: Path, laid: Mapping[str, bytes]) -> bool:
    try:
        return _read(folder) != laid
    except GitmemError:
        return True


def _refuse_checked_out(workspace: Workspace, ref: str) -> None:
    for tree in workspace.worktrees:
        if tree.branch == ref:
            raise CheckFailed(f"{tree.path} has {short_name(ref)} checked out", "Edit and commit it there.")
