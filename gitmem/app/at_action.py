"""What memory says of what an agent is about to do, told at that moment: once a session each.

The worker keeps the warnings of memory ready (`keep`), in one private file a clone; the hook of a tool call
(`answer`) matches it with the standard library alone, and asks git only about what it is going to tell:
whether that memory still stands so.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gitmem.ledger.files import WARNINGS, keep_newest, read_json

if TYPE_CHECKING:
    from gitmem.git.repository import Repository
    from gitmem.ledger.workspace import Scope, Workspace

AT = "action"
"""The word of `gitmem.recallAt` that lets this happen."""

BYTES = 360
"""Of what is told at once, for 120 tokens at most, as in `reminders`."""

MOST = 2
"""Memories told at once."""

NAME_CHARS = 60

SECONDS = 0.2
"""For a look at the code's history, most of which the worker has taken ahead."""

LONGEST_NAME = 200
"""Bytes of a file's name; it says inside whose it is, for clones whose paths end alike for longer."""

CLONES = 200
"""Clones of which warnings are kept, those that were looked at last."""

MOST_KEPT = 2_000
"""Memories whose warnings are kept ready."""

_VERSION = 1
_KEYS = frozenset({"git_dir", "ref", "path", "blob", "name", "type", "things", "text", "code"})
_LARGEST = 1024 * 1024


def answer(
    payload: Mapping[str, Any], data: Path, place: tuple[Path, Path], environ: Mapping[str, str]
) -> str:
    """Says what bears on a tool call; most have nothing.

    Args:
        payload: the client's JSON for an event of `hooks.ACTIONS`.
        data: gitmem's private folder.
        place: top of the work tree, and the common git directory.
        environ: the environment, for git.

    Returns:
        At most `BYTES` bytes that state facts; empty where nothing fits.
    """
    worktree, common = place
    kept = _read(file_of(data, common), common)
    if not kept:
        return ""
    from gitmem.search.action import FILE_TOOLS, fitting

    given = payload.get("tool_input")
    tool = str(payload.get("tool_name"))
    given = given if isinstance(given, dict) else {}
    touched = given.get(FILE_TOOLS.get(tool, ""))
    path = ""
    if isinstance(touched, str) and touched.startswith("/") and "\0" not in touched:
        path = os.path.relpath(touched, worktree)
        if path.startswith(".."):  # one of them may be named through a link
            path = os.path.relpath(os.path.realpath(touched), os.path.realpath(worktree))
    error = payload.get("error")
    error = error[:_LARGEST] if isinstance(error, str) else ""
    if payload.get("hook_event_name") == "PostToolUseFailure" and not error:
        return ""
    rows = fitting(kept["rows"], tool, given, "" if path.startswith("..") else path, error)
    return _tell(rows, payload, place, environ) if rows else ""


def _tell(
    rows: Sequence[Mapping[str, Any]],
    payload: Mapping[str, Any],
    place: tuple[Path, Path],
    environ: Mapping[str, str],
) -> str:
    from gitmem.ledger import session_files

    state, session = place[1] / "gitmem", session_files.session_of(payload)
    told = session_files.read_keys(state, session, session_files.AT_ACTION)
    known = {*told, *session_files.read_keys(state, session)}
    fresh = [row for row in rows if row["blob"] not in known]
    said: dict[str, str] = {}
    for row in _standing(fresh[: 4 * MOST], place, environ) if fresh else ():
        name = row["name"]
        line = f'Memory {name} ({row["type"]}) says: "{row["text"].replace(chr(34), chr(39))}"\n'
        if row["blob"] not in said and len("".join([*said.values(), line]).encode()) <= BYTES:
            said[row["blob"]] = line
        if len(said) == MOST:
            break
    # What cannot be noted is not said: it would be said again.
    if not said or not session_files.remember(state, session, [*told, *said], session_files.AT_ACTION):
        return ""
    return "".join(said.values())


def _standing(
    rows: Sequence[Mapping[str, Any]], place: tuple[Path, Path], environ: Mapping[str, str]
) -> list[Mapping[str, Any]]:
    """Those that still stand as they were read, and were taught on code that is here."""
    from gitmem.core.errors import GitmemError
    from gitmem.git.command import GitCommand
    from gitmem.ledger.workspace import read_settings

    worktree, common = place
    git = GitCommand(environ, fetches=False)
    try:
        moments = read_settings(git, worktree).words("recallAt")
    except GitmemError:
        moments = ()
    if AT not in moments:
        return []  # the worker takes the file away with its next job
    found = []
    for folder in dict.fromkeys(row["git_dir"] for row in rows):
        mine = [row for row in rows if row["git_dir"] == folder]
        asked = "".join(f"{row['ref']}:{row['path']}\n" for row in mine)
        words = ["cat-file", "--batch-check=%(objectname)"]
        result = git.run(words, git_dir=Path(folder), input=asked.encode(), check=False)
        now = result.text.splitlines()
        found += [row for row, oid in zip(mine, now, strict=False) if oid == row["blob"]]
    codes = {row["code"] for row in found if row["code"]}
    if codes:
        from gitmem.search.ancestry import Ancestry

        away = Ancestry(git, worktree, common, common / "gitmem", SECONDS).elsewhere(codes)
        found = [row for row in found if row["code"] not in away]
    return [row for row in rows if row in found]


def keep(workspace: Workspace) -> None:
    """Keeps the warnings of all memory of `main` ready for the hook; reads only what changed.

    Where `gitmem.recallAt` does not name this moment, there is no such file, and the hook says nothing.

    Raises:
        GitmemError: memory cannot be read.
        OSError: the file cannot be written.
    """
    from gitmem.ledger.files import write_atomically
    from gitmem.ledger.signatures import unproved_paths

    path = file_of(workspace.around.data, workspace.layout.common_dir)
    if AT not in workspace.settings.words("recallAt"):
        path.unlink(missing_ok=True)
        return
    known = _read(path, workspace.layout.common_dir)
    tips = {scope.ref: scope.repo.ref(scope.ref) for scope in workspace.scopes}
    if known.get("tips") == tips and not workspace.settings.requires_signed:
        return
    old = known.get("tips", {})
    rows: list[Mapping[str, Any]] = []
    for scope in reversed(workspace.scopes):  # what is most one's own first
        # What is proved of shared memory may change while it does not.
        anew = scope.name == "project" and workspace.settings.requires_signed
        mine = [row for row in known.get("rows", []) if row["ref"] == scope.ref and not anew]
        found = _rows(scope, None if anew else old.get(scope.ref), tips[scope.ref], mine)
        if anew:
            left_out = unproved_paths(workspace, {row["path"]: row["blob"] for row in found})
            found = [row for row in found if row["path"] not in left_out]
        rows += _with_codes(scope, tips[scope.ref], found)
    # Not escaped: what is purged is looked for as it was said.
    made = {
        "version": _VERSION,
        "clone": str(workspace.layout.common_dir),
        "tips": tips,
        "rows": rows[:MOST_KEPT],
    }
    data = json.dumps(made, ensure_ascii=False).encode("utf-8", "replace")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if len(data) <= _LARGEST:
        write_atomically(path, data)
        keep_newest([each for each in path.parent.iterdir() if each.suffix == ".json"], CLONES)
    else:
        path.unlink(missing_ok=True)


def _rows(
    scope: Scope, old: str | None, tip: str | None, known: Iterable[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """What a scope's memories warn of: of those that are as they were what is known, of the others anew."""
    from shutil import which

    from gitmem.core.memory import parse
    from gitmem.core.text import one_line, printable
    from gitmem.search.action import warnings_of

    def is_program(word: str) -> bool:
        return which(word) is not None

    repo = scope.repo
    now = _files(repo, tip)
    rows = [row for row in known if now.get(row["path"]) == row["blob"]]
    looked = _files(repo, old)
    for path in now.keys() - {path for path, oid in looked.items() if now.get(path) == oid}:
        memory = parse(path, repo.blob(now[path]))
        rows += [
            {
                "git_dir": str(repo.git_dir),
                "ref": scope.ref,
                "path": path,
                "blob": now[path],
                "name": one_line(printable(memory.name), NAME_CHARS),
                "type": memory.type,
                "things": things,
                "text": printable(text),
            }
            for things, text in warnings_of(memory, is_program)
        ]
    return sorted(rows, key=lambda row: str(row["path"]))


def _with_codes(scope: Scope, tip: str | None, rows: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The same, each with the commit of the code that it was taught on; empty where it does not matter."""
    from contextlib import closing

    from gitmem.ledger.workspace import BOUND
    from gitmem.search.catalog import Catalog

    files = {row["path"]: row["blob"] for row in rows if row["type"] in BOUND}
    if not tip or not files or scope.name == "user":
        return [{**row, "code": ""} for row in rows]
    with closing(Catalog.open(scope.state)) as catalog:
        lessons = catalog.lessons(scope.repo, scope.ref, tip, files)
    return [{**row, "code": lessons.get(row["path"], (0, ""))[1]} for row in rows]


def _files(repo: Repository, commit: str | None) -> dict[str, str]:
    """Memories of `main` that are not archived: path to blob name."""
    from gitmem.core.names import is_memory_file
    from gitmem.git.trees import hot_files, tree_or_none
    from gitmem.ledger.workspace import MAIN

    tree = tree_or_none(repo, commit)
    found = hot_files(repo, tree, MAIN) if tree else {}
    return {f"{MAIN}/{file}": oid for file, oid in found.items() if is_memory_file(file)}


def _read(path: Path, common: Path) -> dict[str, Any]:
    """What is kept; empty where there is none, or it is damaged."""
    value = read_json(path, _LARGEST)
    if not isinstance(value, dict) or (value.get("version"), value.get("clone")) != (_VERSION, str(common)):
        return {}
    rows = value.get("rows")
    whole = isinstance(rows, list) and all(isinstance(row, dict) and row.keys() >= _KEYS for row in rows)
    return value if whole and isinstance(value.get("tips"), dict) else {}


def file_of(data: Path, common: Path) -> Path:
    """Names the file of a clone's warnings, in gitmem's private folder."""
    # No digest, which would cost the hook a library.
    plain = (
        chr(byte) if chr(byte).isalnum() and byte < 128 else f"%{byte:02X}" for byte in os.fsencode(common)
    )
    return data / "state" / WARNINGS / f"{''.join(plain)[-LONGEST_NAME:]}.json"
