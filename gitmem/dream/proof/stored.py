"""What a dream would store that memory may not hold: secrets, instructions, files that are no memories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Set

from gitmem.core.account import is_memory
from gitmem.core.merge import Files
from gitmem.core.names import archive_path, is_agent_folder, is_archived, is_memory_file
from gitmem.core.pointer import is_promoted
from gitmem.core.text import decode
from gitmem.rules.account import Step, quoted
from gitmem.rules.instructions import find_instructions, skeleton
from gitmem.rules.paths import check_path
from gitmem.rules.rule import Finding
from gitmem.rules.screen import screen
from gitmem.rules.secrets import scan


def secrets(step: Step, allow: frozenset[str]) -> Iterator[Finding]:
    """Finds credentials that a step brings in, and what is too large or misnamed to be stored.

    Raises:
        DetectorUnavailable: nothing can be said about any text.
    """
    fresh = {path: data for path, data in step.after.items() if step.before.get(path) != data}
    refusals = screen(step.before, fresh, allow).refusals
    if not refusals:
        return
    texts = [decode(data) for data in step.before.values()]
    known = {found.fingerprint for findings in scan(texts, allow) for found in findings}
    for refused in refusals:
        if refused.rule != "secret":
            if not step.person:
                yield Finding(refused.path, 1, "place", refused.message)
        elif not known.issuperset(refused.fingerprints):
            yield Finding(refused.path, 1, "secret", f"it {refused.message}")


def instructions(step: Step) -> Iterator[Finding]:
    """Finds text that speaks to the model as its master would, and that no memory had before."""
    fresh = {path: data for path, data in step.after.items() if step.before.get(path) != data}
    if not fresh:
        return
    known: Counter[tuple[str, str]] | None = None
    for path, data in sorted(fresh.items()):
        for found in find_instructions(decode(data)):
            if found.level != "error":
                continue
            if known is None:
                known = _said(step.before)
                # What stands in both, in a memory that is not touched, was no other's to hand on.
                known -= _said({at: old for at, old in step.before.items() if step.after.get(at) == old})
            if known[found.what, found.text] > 0:
                known[found.what, found.text] -= 1
            else:
                what = f"it {found.what}: {quoted(found.text)}"
                yield Finding(path, found.line, "instruction", what)


def places(step: Step) -> Iterator[Finding]:
    """Finds files that no dream may write."""
    for path in step.foreign:
        yield Finding(path, 1, "place", "it is no memory, and a dream writes nothing else")
    for path, data in sorted(step.before.items()):
        if is_promoted(path, data) and step.after.get(path) != data:
            yield Finding(path, 1, "place", "it became a rule of the code, and no dream changes it")
    for path in sorted(step.after.keys() - step.before.keys()):
        why = check_path(path) or _misplaced(path)
        if why:
            yield Finding(path, 1, "place", why)


def collisions(new: Set[str], others: Set[str]) -> Iterator[Finding]:
    """Finds new files that a reader, or a file system, would take for another one.

    Args:
        new: paths that the dream brings in.
        others: the other paths of the tree in the end.
    """
    taken: dict[str, str] = {skeleton(path): path for path in sorted(others)} if new else {}
    for path in sorted(new):
        other = taken.setdefault(skeleton(path), path)
        if other != path:
            yield Finding(path, 1, "place", f"it is easily taken for {quoted(other)}, which is there")


def oddities(odd: Mapping[str, str]) -> Iterator[Finding]:
    """Tells what is no plain file."""
    for path, what in sorted(odd.items()):
        yield Finding(path, 1, "place", what)


def _misplaced(path: str) -> str:
    """Why no agent would find a new memory there; empty where one would."""
    agent, _, file = path.partition("/")
    if not is_agent_folder(agent):
        return f"no agent has the folder {quoted(agent)}"
    name = file.rpartition("/")[2]
    if not is_memory(path) or not is_memory_file(name):
        return "it is no memory, and a dream writes nothing else"
    fits = file == name or (is_archived(file) and file == archive_path(name))
    return "" if fits else "it is neither among an agent's memories nor where the archive keeps it"


def _said(files: Files) -> Counter[tuple[str, str]]:
    return Counter(
        (found.what, found.text) for data in files.values() for found in find_instructions(decode(data))
    )
