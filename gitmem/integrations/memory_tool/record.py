"""From what a command changes to the commit: the index line, the account of claims, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gitmem.core import index, tombstone
from gitmem.core.account import references
from gitmem.core.errors import CheckFailed
from gitmem.core.limits import MEMORY_BYTES, OTHER_BYTES
from gitmem.core.memory import Memory, parse
from gitmem.core.merge import kind
from gitmem.core.names import hot_file, is_memory_file
from gitmem.core.text import decode, encode, one_line
from gitmem.core.trailers import Fate, Provenance
from gitmem.integrations.memory_tool import words
from gitmem.integrations.memory_tool.commands import Changed
from gitmem.integrations.memory_tool.folder import Folder, is_index
from gitmem.ledger.edits import fates
from gitmem.ledger.indexes import Hot
from gitmem.ledger.land import Write
from gitmem.rules.rule import Finding
from gitmem.rules.screen import refuse_secrets
from gitmem.rules.secrets import find_secrets, redact

TOOL = "memory_20250818"
"""The tool's type, which commits name."""

MOST_FATES = 200
"""Claims whose fate one message tells; where a folder held more, the commit itself is their record."""

_SHOWN = 120
_VERBS = {"create": "Remember", "delete": "Delete", "rename": "Rename", "clear": "Clear"}


class Doubtful(CheckFailed):
    """What a command would write may hold a secret: a person decides."""


def to_write(folder: Folder, changed: Changed, provenance: Provenance, allow: frozenset[str]) -> Write:
    """The commit that a command makes.

    Args:
        provenance: who and when; op and claims are filled in.
        allow: fingerprints of accepted secrets.

    Raises:
        Refused: it is too large, holds a secret, or says what a person had forgotten.
        Doubtful: it may hold a secret.
    """
    files = dict(changed.files)
    if doubts := check(folder, changed, allow):
        raise Doubtful(f"{changed.path} {doubts[0].message}")
    if not any(map(is_index, files)):
        files |= _index_edit(folder, changed)
    told = _fates(folder.agent, changed)
    body = f"{TOOL}: {_command(changed)}"
    if len(told) > MOST_FATES:
        body += f"\n\n{len(told)} claims went; what they said is in the commit before."
        told = ()
    edits = {f"{folder.agent}/{at}": data for at, data in files.items()}
    return Write(edits, _subject(changed), replace(provenance, op=changed.op, claims=told), body)


def check(folder: Folder, changed: Changed, allow: frozenset[str]) -> tuple[Finding, ...]:
    """Raises where what a command writes may not be stored; returns what may be a secret in it.

    Arguments and errors are those of `to_write`.
    """
    written = {at: data for at, data in changed.files.items() if data is not None}
    before = {
        at: changed.before[changed.moved.get(at, at)] for at in written if _old(changed, at) is not None
    }
    for at, data in written.items():
        limit = OTHER_BYTES if is_index(at) else MEMORY_BYTES
        if len(data) > limit and len(data) > len(before.get(at, b"")):
            raise words.too_large(changed.path, len(data), limit)
    _refuse_forgotten(folder, changed, written)
    names = {f"{folder.agent}/{at}": b"" for at in written if changed.to}
    contents = {f"{folder.agent}/{at}": data for at, data in written.items()}
    known = {f"{folder.agent}/{at}": data for at, data in before.items()}
    try:
        # A file that changes places is judged by its new name, and its content was judged before.
        return (*refuse_secrets({}, names, allow), *refuse_secrets(known, contents, allow))
    except CheckFailed as error:
        raise words.unsafe(_clean(changed.to or changed.path), _reason(error)) from error


def single_memory(changed: Changed) -> str | None:
    """The one memory file that a command is about; None where it is about more, or something else."""
    at = next(iter(changed.files), "")
    return at if len(changed.files) == 1 and is_memory_file(at) else None


def described(memory: Memory) -> str:
    """One line that tells what a memory says: its description, else its first claim that is no heading."""
    claims = [claim.key for claim in memory.parsed.claims if not claim.key.startswith("#")]
    return memory.description or one_line(next(iter(claims), ""), _SHOWN)


def _old(changed: Changed, at: str) -> bytes | None:
    return changed.before.get(changed.moved.get(at, at))


def _clean(path: str) -> str:
    """A path as it may be repeated: the secret may be in the name."""
    lines = path.replace("/", "\n")
    return redact(lines, find_secrets(lines)).replace("\n", "/")


def _reason(error: CheckFailed) -> str:
    """Why, without the file's name, which the model knows by another path."""
    found = error.message.partition("holds a secret")
    return one_line(f"holds a secret{found[2]}" if found[1] else error.message, 300)


def _refuse_forgotten(folder: Folder, changed: Changed, written: Mapping[str, bytes]) -> None:
    stones = tombstone.parse(decode(folder.read(tombstone.FILE) or b""))
    if not stones:
        return
    is_buried = tombstone.finder(stones, "forgot")
    known = {claim.key for at, data in changed.before.items() for claim in parse(at, data).claims}
    for at, data in written.items():
        for claim in parse(at, data).claims:
            if claim.key not in known and is_buried(claim.key):
                raise words.forgotten(changed.path, one_line(claim.text, _SHOWN))


def _index_edit(folder: Folder, changed: Changed) -> dict[str, bytes | None]:
    """The index in line with the memories that a command wrote, moved or deleted.

    What was moved or deleted by its name goes from the index with what is said there of it alone.
    """
    text = decode(folder.read(index.INDEX) or b"")
    gone = {hot_file(at) for at, data in changed.files.items() if data is None and _in_index(at)}
    written = {at: data for at, data in changed.files.items() if data is not None and is_memory_file(at)}
    before = {at: data for at in {*gone, *written} if (data := changed.before.get(at)) is not None}
    names = ({*folder.below("")} if text else set()) - gone | written.keys()
    after = Hot(names, lambda at: written[at] if at in written else folder.read(at))
    shown = index.reconciled(text, before, after, gone - written.keys())
    return {} if shown == text else {index.INDEX: encode(shown)}


def _in_index(at: str) -> bool:
    return is_memory_file(at) or at.startswith("archive/")


def _fates(agent: str, changed: Changed) -> tuple[Fate, ...]:
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


def _subject(changed: Changed) -> str:
    shown = changed.path.removeprefix(f"{words.ROOT}/")
    verb = _VERBS.get(changed.command, "Update")
    if changed.to:
        return f"Rename {shown} to {changed.to.removeprefix(f'{words.ROOT}/')}"
    at = single_memory(changed)
    data = changed.files.get(at) if at else None
    if at is None or data is None:
        return f"{verb} {shown}"
    memory = parse(at, data)
    told = described(memory)
    return f"{verb} {memory.name}: {told}" if told else f"{verb} {memory.name}"


def _command(changed: Changed) -> str:
    return f"{changed.command} {changed.path}" + (f" to {changed.to}" if changed.to else "")
