"""Which rule applies where: one line a rule.

The rules of writes and dreams are here: what may become an object at all, and what a dream may not bring:
secrets, orders, other files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set

from gitmem.core.account import is_memory
from gitmem.core.merge import Files
from gitmem.core.names import archive_path, hot_file, is_agent_folder, is_memory_file, skeleton
from gitmem.core.pointer import is_promoted
from gitmem.core.text import decode
from gitmem.rules.account import quote_claim
from gitmem.rules.content import (
    judge_content,
    judge_lines,
    judge_links,
    judge_logs,
    judge_names,
    judge_size,
    judge_tombstones,
    judge_trouble,
)
from gitmem.rules.credentials import judge_secrets, without_secrets
from gitmem.rules.history import (
    judge_between,
    judge_commits,
    judge_merges,
    judge_questions,
    judge_signatures,
)
from gitmem.rules.instructions import find_instructions, judge_hidden, judge_instructions
from gitmem.rules.losses import judge_losses
from gitmem.rules.paths import check_path, judge_collisions, judge_format, judge_hosts, judge_places
from gitmem.rules.rule import Finding, Judge, Profile, RuleContext, Side, compare, in_texts, side_of
from gitmem.rules.screen import screen
from gitmem.rules.secrets import scan
from gitmem.rules.snapshot import judge_snapshots


def judge_stored(before: Side | None, after: Side, context: RuleContext) -> Iterator[Finding]:
    """Finds what is held back from a write: credentials, files that are too large or misnamed.

    Raises:
        DetectorUnavailable: nothing can be said about any text.
    """
    yield from screen(before.contents if before else {}, after.contents, context.allow).refusals


def judge_brought(before: Side | None, after: Side, context: RuleContext) -> Iterator[Finding]:
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


def judge_orders(before: Side | None, after: Side, context: RuleContext) -> Iterator[Finding]:
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
                what = f"it {found.what}: {quote_claim(found.text)}"
                yield Finding(path, found.line, "instruction", what)


def judge_memories(before: Side | None, after: Side, _context: RuleContext) -> Iterator[Finding]:
    """Finds files that no dream may write, or change."""
    old = before.contents if before else {}
    for path, data in old.items():
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
            yield Finding(path, 1, "place", f"it is easily taken for {quote_claim(other)}, which is there")


def _misplaced(path: str) -> str:
    """Why no agent would find a new memory there; empty where one would."""
    agent, _, file = path.partition("/")
    if not is_agent_folder(agent):
        return f"no agent has the folder {quote_claim(agent)}"
    hot = hot_file(file)
    if not is_memory(path) or not is_memory_file(hot):
        return "it is no memory, and a dream writes nothing else"
    fits = file in (hot, archive_path(hot))
    return "" if fits else "it is neither among an agent's memories nor where the archive keeps it"


def _said(files: Files) -> Counter[tuple[str, str]]:
    return Counter(
        (found.what, found.text) for data in files.values() for found in find_instructions(decode(data))
    )


RULES: Mapping[Profile, Sequence[Judge]] = {
    "write": [judge_stored],
    "dream": [judge_brought, judge_orders, judge_memories],
    "request": [
        judge_trouble,
        judge_places,
        judge_size,
        judge_secrets,
        in_texts(judge_hidden),
        in_texts(judge_instructions),
        in_texts(judge_content),
        judge_collisions,
        judge_format,
        judge_hosts,
        judge_links,
        judge_lines,
        judge_names,
        judge_tombstones,
        judge_logs,
        judge_losses,
        judge_snapshots,
        judge_commits,
        judge_signatures,
        judge_questions,
        judge_between,
        judge_merges,
    ],
}
"""What judges where; a finding of less weight than an error says so itself."""


def judge(
    profile: Profile, before: Side | None, after: Side, context: RuleContext | None = None
) -> tuple[Finding, ...]:
    """Judges a change by the rules of a profile.

    Args:
        before: what was there; what was already so is not told again. None judges all.
        after: what becomes of it.
        context: what a rule may know besides; what changed is worked out here.

    Returns:
        The findings, sorted by path and line, each once, no credential in what they show.

    Raises:
        DetectorUnavailable: nothing can be said about secrets.
    """
    known = compare(before, after, context or RuleContext())
    found = (one for rule in RULES[profile] for one in rule(before, after, known))
    return tuple(sorted(set(without_secrets(found, known.allow))))


def judge_files(
    profile: Profile, before: Files, after: Files, allow: frozenset[str] = frozenset()
) -> tuple[Finding, ...]:
    """The same for files that are in no tree yet.

    Args:
        before, after: path from the root of a memory tree to content.
        allow: fingerprints of secrets that a person accepted.

    Raises:
        DetectorUnavailable: nothing can be said about secrets.
    """
    return judge(profile, side_of(before), side_of(after), RuleContext(allow))
