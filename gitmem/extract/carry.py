"""From a change to the files it makes: a new memory, or new claims joined to one, and the index line."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Literal

from gitmem.core import index
from gitmem.core.change import Change
from gitmem.core.claim import Claim, parse_body
from gitmem.core.daily_log import with_lines
from gitmem.core.limits import MEMORY_BYTES
from gitmem.core.memory import Memory, create, parse
from gitmem.core.names import ARCHIVE, archive_path, file_name, is_memory_file
from gitmem.core.text import decode, encode
from gitmem.core.trailers import Fate
from gitmem.extract import edits as edited
from gitmem.extract.logged import is_logged, missing_lines
from gitmem.store.indexes import Hot

Read = Callable[[str], bytes | None]
"""Content of a file of the agent's folder, None where there is none."""


@dataclass(frozen=True)
class Carried:
    """A change carried out on one state of an agent's folder.

    Attributes:
        op: what it came to: an update of a memory that is gone is an add.
        file: where the memory stands, relative to the agent's folder.
        edits: path relative to the agent's folder to new content, None to delete.
        fates: what became of each claim that an edit took out.
    """

    op: Literal["add", "update", "delete"]
    file: str
    edits: Mapping[str, bytes | None]
    fates: tuple[Fate, ...] = ()


def carry(change: Change, names: Collection[str], read: Read) -> Carried | None:
    """Carries a change out, without writing anything.

    Args:
        change: an update's body holds what is new; it is joined to what is there, description kept. An
            edit of the whole file is merged into what is there. What is made for a log (`as_logged`)
            adds lines to it, those that it has not, and touches nothing else.
        names: files of the agent's folder, archive included.
        read: reads one of them.

    Returns:
        The edits; None where nothing is left to do.
    """
    if is_logged(change):
        return _logged(change, read)
    # Between plan and commit it may have been paged out, or brought back.
    stands = _standing(change.file, names)
    if change.op == "noop" or (change.op == "delete" and stands is None):
        return None
    if change.op == "delete" and stands is not None:
        return Carried("delete", stands, _with_index({stands: None}, names, read))
    if change.op == "update" and stands is not None:
        memory = parse(stands, read(stands) or b"")
        changed = edited.merged(change, memory)
        if changed is not None:
            if changed.render() == memory.render():
                return None
            done = _updated(changed, names, read)
            fates = edited.fates(
                memory, replace(changed, path=done.file), agent=change.agent, reason=change.reason
            )
            return replace(done, fates=fates)
        missing = _missing(change, memory)
        if not missing:
            return None
        joined = _joined(memory, missing)
        if joined is not None:
            return _updated(joined, names, read)
    return _added(change, names, read)


def _logged(change: Change, read: Read) -> Carried | None:
    log = decode(read(change.file) or b"")
    lines = missing_lines(change, (log, decode(read(f"{ARCHIVE}/{change.file}") or b"")))
    return Carried("add", change.file, {change.file: encode(with_lines(log, lines))}) if lines else None


def _added(change: Change, names: Collection[str], read: Read) -> Carried:
    name, file = _free(change.name, names)
    memory = create(name, change.description, change.type, change.body, file)
    return Carried("add", file, _with_index({file: memory.render()}, names, read))


def _standing(file: str, names: Collection[str]) -> str | None:
    """The file itself, or where it stands hot, or in the archive."""
    name = PurePosixPath(file).name
    return next((place for place in (file, name, archive_path(name)) if place in names), None)


def _updated(joined: Memory, names: Collection[str], read: Read) -> Carried:
    file = PurePosixPath(joined.path).name
    edits: dict[str, bytes | None] = {}
    if file == joined.path or file in names:
        file = joined.path
    else:
        # What was paged out and is spoken of again belongs where the agent sees it.
        edits[joined.path] = None
    edits[file] = joined.render()
    return Carried("update", file, _with_index(edits, names, read))


def _missing(change: Change, memory: Memory) -> tuple[Claim, ...]:
    there = {claim.key for claim in memory.claims}
    return tuple(claim for claim in parse_body(change.body).claims if claim.key not in there)


def _joined(memory: Memory, claims: tuple[Claim, ...]) -> Memory | None:
    """The memory with more claims at its end; None where they would not be claims of their own there."""
    newline = "\r\n" if "\r\n" in memory.body else "\n"
    body = memory.body.rstrip("\r\n")
    for claim in claims:
        text = newline.join(claim.text.splitlines())
        body += (newline * 2 if body.strip() else newline) + text
    joined = replace(memory, body=body + newline)
    before = [claim.key for claim in memory.parsed.claims]
    # An open fence or HTML block at the end would swallow them.
    whole = [claim.key for claim in joined.parsed.claims] == [*before, *(claim.key for claim in claims)]
    return joined if whole and len(joined.render()) <= MEMORY_BYTES else None


def _free(name: str, names: Collection[str]) -> tuple[str, str]:
    """A name and its file that no other memory has, also where case is ignored, and in the archive."""
    taken = {PurePosixPath(known).name.casefold() for known in names}
    file, number = file_name(name), 2
    stem = file.removesuffix(".md")
    chosen = name
    while file.casefold() in taken:
        chosen = f"{stem}-{number}"
        file, number = f"{chosen}.md", number + 1
    return chosen, file


def _with_index(
    edits: Mapping[str, bytes | None], names: Collection[str], read: Read
) -> dict[str, bytes | None]:
    """The edits with the index in line with them; where there is none it gets what is new alone."""
    data = read(index.INDEX)
    text = decode(data or b"")
    gone = {file for file, content in edits.items() if content is None}
    changed = filter(is_memory_file, edits)
    before = {file: content for file in changed if (content := read(file)) is not None}
    hot = {*(names if data is not None else ()), *edits} - gone
    after = Hot(hot, lambda file: edits[file] if file in edits else read(file))
    shown = index.reconciled(text, before, after)
    return dict(edits) if shown == text else {**edits, index.INDEX: encode(shown)}
