"""A dream as a person reads it: change by change, claim by claim, and what it proves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from gitmem.core.account import Proposal, is_memory, log_references, path_of, proposals, references
from gitmem.core.memory import parse
from gitmem.core.text import counted, one_line
from gitmem.core.trailers import Telling
from gitmem.dream.branch import ClaimStory, Dream, DreamCommit
from gitmem.rules.account import errors
from gitmem.rules.rule import Finding
from gitmem.store.blame import Origin, origins_of
from gitmem.store.repository import MissingObject
from gitmem.store.trees import read_paths

Origins = Mapping[str, tuple[Origin, ...]]
"""Claim (`<file>#<12 hex>`) to where it came into being, oldest first."""

LONG = 6
"""Lines of one claim that are shown unless all are asked for."""

WIDE = 400
"""Characters of a claim's line that are shown unless all are asked for."""


def claim_origins(dream: Dream) -> dict[str, tuple[Origin, ...]]:
    """Finds who taught the claims that a dream is about, in one walk through the history.

    A claim that the dream itself made on the way, or whose history is missing, has none.
    """
    repo, start = dream.scope.repo, dream.ground or dream.base
    sources = {story.fate.source for change in dream.changes for story in change.claims}
    try:
        files = read_paths(repo, repo.commit(start).tree, set(map(path_of, sources)))
        known = references(files) | log_references(files)
        wanted: dict[str, set[str]] = {}
        for source in sources & known.keys():
            wanted.setdefault(path_of(source), set()).add(known[source].id)
        found = origins_of(repo, start, wanted)
    except MissingObject:
        return {}
    return {
        source: found[path_of(source), known[source].id]
        for source in sources & known.keys()
        if (path_of(source), known[source].id) in found
    }


def untold(change: DreamCommit) -> tuple[Proposal, ...]:
    """What a change did to claims that its account does not name: what came, and what went silently."""
    pairs = {path: pair for path, pair in change.files.items() if is_memory(path)}
    before, after = (
        {path: data for path, pair in pairs.items() if (data := pair[side]) is not None} for side in (0, 1)
    )
    told = {end for fate in change.fates for end in (fate.source, fate.target) if end}
    return tuple(
        one for one in proposals(before, after) if one.before not in told and one.after not in told
    )


def show(
    dream: Dream,
    origins: Origins | None = None,
    failures: Sequence[Finding] | None = None,
    *,
    whole: bool = False,
    rejected: bool = False,
) -> Iterator[str]:
    """Lines that tell a dream: what each claim was, what it becomes, why, and who taught it.

    Args:
        origins: as `claim_origins` gives them; None where they were not looked for.
        failures: what the proof found; None where it was not made.
        whole: show long claims to their end.
        rejected: it was turned down and is only kept aside.
    """
    where = f", from {dream.remote}" if dream.incoming else ""
    taken = any(change.decided == "accepted" for change in dream.changes)
    state = (" [decided]" if taken else " [rejected]") if rejected else ""
    yield f"{dream.id} ({dream.scope.name}{where}): {counted(len(dream.changes), 'change')}{state}"
    for change in dream.changes:
        yield ""
        yield from _change(change, origins or {}, whole=whole)
    if dream.summary:
        yield ""
        yield from dream.summary.splitlines()
    if failures is not None:
        yield ""
        yield from proof_lines(failures)


def proof_lines(failures: Sequence[Finding]) -> Iterator[str]:
    """Lines that tell what came of the proof, and what it says nothing about."""
    wrong = errors(failures)
    if wrong:
        yield f"not proved, and not to be accepted as it is ({len(wrong)}):"
        yield from (f"  - {one} [{one.rule}]" for one in wrong)
    else:
        yield "proved: no claim is lost but those named above, and what the dream says anew has a source:"
        yield "  memory before it, or a log, a session or a file of the code that was looked up"
    unchecked = [one for one in failures if one.level != "error"]
    if unchecked:
        yield "not looked into:"
        yield from (f"  - {one}" for one in unchecked)


def _change(change: DreamCommit, origins: Origins, *, whole: bool) -> Iterator[str]:
    by = f" (by hand: {change.by})" if change.by else ""
    yield f"{change.n}. {change.subject}{by}" + (f" [{change.decided}]" if change.decided else "")
    for line in change.reason.splitlines():
        yield f"   {line}"
    heard: dict[str, list[ClaimStory]] = {}
    for story in change.claims:
        if story.line is not None:
            heard.setdefault(story.fate.target, []).append(story)
        else:
            yield from _story(change, story, origins.get(story.fate.source, ()), whole=whole)
    for target, stories in heard.items():
        yield from _claim("=" if target in change.stood else "+", stories[0].after, whole=whole)
        yield f"     {path_of(target)}"
        for story in stories:
            yield from _heard(story, origins.get(story.fate.source, ()), whole=whole)
    for one in untold(change):
        yield from _untold(change, one, whole=whole)
    yield from _headers(change)


def _headers(change: DreamCommit) -> Iterator[str]:
    """What a memory says of itself otherwise than before, its description, which is a claim, apart."""
    for path, pair in sorted(change.files.items()):
        if None in pair or not is_memory(path):
            continue
        old, new = ({} if data is None else _header(path, data) for data in pair)
        for key in sorted({*old, *new}):
            if old.get(key) != new.get(key):
                yield f"   - {key}: {old[key]}" if key in old else f"   + {key}: {new[key]}"
                if key in old and key in new:
                    yield f"   + {key}: {new[key]}"
                yield f"     {path}: its frontmatter"


def _header(path: str, data: bytes) -> dict[str, str]:
    front = parse(path, data).front
    keys = front.keys() if front else ()
    return {key: one_line(front.text(key), WIDE) for key in keys if front and key != "description"}


def _story(
    change: DreamCommit, story: ClaimStory, origins: tuple[Origin, ...], *, whole: bool
) -> Iterator[str]:
    fate = story.fate
    same = story.before == story.after
    yield from _claim("=" if same else "-", story.before, whole=whole)
    if not same:
        yield from _claim("+", story.after, whole=whole)
    source, target = path_of(fate.source), path_of(fate.target) if fate.target else ""
    told = {
        "kept": f"moves from {source} to {target}" if target else f"stays in {source}",
        "merged": f"{source}: {'becomes this' if target == source else f'merged into {target}'}",
        "superseded": f"{source}: superseded by {'this' if target == source else target}",
        "dropped": f"{source}: dropped",
    }[fate.kind]
    if fate.reason and fate.reason != change.reason:
        told += f": {fate.reason}"
    yield f"     {told}"
    for origin in origins:
        yield f"     taught by {taught_by(origin)}"


def _heard(story: ClaimStory, origins: tuple[Origin, ...], *, whole: bool) -> Iterator[str]:
    """A line of a log that a claim was made of."""
    fate, line = story.fate, story.line
    if line is None:
        return
    said = line.text if whole else one_line(line.text, WIDE)
    session = f", session {line.session}" if line.session else ""
    over = f", superseded: {fate.reason}" if fate.kind == "superseded" else ""
    yield f"     log {line.when:%Y-%m-%d %H:%M:%SZ} [{line.type}{session}]{over}: {said}"
    for origin in origins:
        yield f"     taught by {taught_by(origin)}"


def _untold(change: DreamCommit, one: Proposal, *, whole: bool) -> Iterator[str]:
    if one.old is not None and one.kind != "moved":
        yield from _claim("-", one.old.text, whole=whole)
    if one.new is not None:
        yield from _claim("=" if one.kind == "moved" else "+", one.new.text, whole=whole)
    by = f" by {change.by}" if change.by else ""
    yield {
        "added": f"     {one.path}: added{by}",
        "changed": f"     {one.path}: changed{by}",
        "moved": f"     moves from {one.source} to {one.path}",
        "deleted": f"     {one.path}: taken out{by}, and nothing says why",
    }[one.kind]


def taught_by(origin: Origin) -> str:
    """Who taught a claim, when, and by what, in one phrase."""
    told = origin.told[0] if origin.told else None
    who = (told.author.partition("<")[0].strip() if told else "") or "somebody"
    phrase = f"{who}, {datetime.fromtimestamp(origin.time, UTC).date().isoformat()}"
    return phrase + (_way(told) if told else "")


def _way(told: Telling) -> str:
    by = told.provenance
    writer = f", by {by.writer}" if by.writer != "human" else ""
    engine = f" ({by.engine})" if by.engine else ""
    return writer + engine + (f", session {by.session[:8]}" if by.session else "")


def _claim(mark: str, text: str, *, whole: bool) -> Iterator[str]:
    lines = text.splitlines()
    shown = lines if whole or len(lines) <= LONG + 1 else lines[:LONG]
    for line in shown:
        cut = line if whole or len(line) <= WIDE else one_line(line, WIDE) + " (--all shows the rest)"
        yield f"   {mark} {cut}"
    if len(shown) < len(lines):
        yield f"   {mark} … {len(lines) - len(shown)} more lines (--all shows them)"
