"""What may become an object at all, and what a dream may not bring: secrets, orders, other files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Set

from gitmem.core.account import is_memory
from gitmem.core.merge import Files
from gitmem.core.names import archive_path, hot_file, is_agent_folder, is_memory_file
from gitmem.core.pointer import is_promoted
from gitmem.core.text import decode, skeleton
from gitmem.rules.account import quoted
from gitmem.rules.instructions import find_instructions
from gitmem.rules.paths import check_path
from gitmem.rules.rule import Context, Finding, Side
from gitmem.rules.screen import screen
from gitmem.rules.secrets import scan


def judge_stored(before: Side | None, after: Side, context: Context) -> Iterator[Finding]:
    """Finds what is held back from a write: credentials, files that are too large or misnamed.

    Raises:
        DetectorUnavailable: nothing can be said about any text.
    """
    fresh = {path: data for path, data in after.contents.items() if path in context.changed}
    yield from screen(before.contents if before else {}, fresh, context.allow).refusals


def judge_brought(before: Side | None, after: Side, context: Context) -> Iterator[Finding]:
    """Finds the same in a dream, less what its memories held before and it only carries on.

    Raises:
        DetectorUnavailable: nothing can be said about any text.
    """
    refusals = list(judge_stored(before, after, context))
    if not refusals:
        return
    texts = [decode(data) for data in before.contents.values()] if before else []
    known = {found.fingerprint for findings in scan(texts, context.allow) for found in findings}
    for refused in refusals:
        if refused.rule != "secret":
            yield Finding(refused.path, 1, "place", refused.message)
        elif not known.issuperset(refused.fingerprints):
            yield Finding(refused.path, 1, "secret", f"it {refused.message}")


def judge_orders(before: Side | None, after: Side, context: Context) -> Iterator[Finding]:
    """Finds text that speaks to the model as its master would, and that no memory of a dream had before."""
    known: Counter[tuple[str, str]] | None = None
    old = before.contents if before else {}
    for path in sorted(context.changed & after.contents.keys()):
        for found in find_instructions(decode(after.contents[path])):
            if found.level != "error":
                continue
            if known is None:
                known = _said(old)
                # What stands in both, in a memory that is not touched, was no other's to hand on.
                known -= _said({at: data for at, data in old.items() if after.contents.get(at) == data})
            if known[found.what, found.text] > 0:
                known[found.what, found.text] -= 1
            else:
                what = f"it {found.what}: {quoted(found.text)}"
                yield Finding(path, found.line, "instruction", what)


def judge_memories(before: Side | None, after: Side, _context: Context) -> Iterator[Finding]:
    """Finds files that no dream may write, or change."""
    old = before.contents if before else {}
    for path, data in sorted(old.items()):
        if is_promoted(path, data) and after.contents.get(path) != data:
            yield Finding(path, 1, "place", "it became a rule of the code, and no dream changes it")
    for path in sorted(after.contents.keys() - old.keys()):
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
    hot = hot_file(file)
    if not is_memory(path) or not is_memory_file(hot):
        return "it is no memory, and a dream writes nothing else"
    fits = file in (hot, archive_path(hot))
    return "" if fits else "it is neither among an agent's memories nor where the archive keeps it"


def _said(files: Files) -> Counter[tuple[str, str]]:
    return Counter(
        (found.what, found.text) for data in files.values() for found in find_instructions(decode(data))
    )
