"""What a change says anew and takes out: as claims, as an edit of a whole file, or as lines of a daily log.

A change that edits a whole file meets what stands there by then in `merged`. With `gitmem.mode=log`, what
a change says anew becomes lines of the log of that day (`as_logged`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime

from gitmem.core.account import reference, reject_keys
from gitmem.core.change import Change, Edited
from gitmem.core.claim import Claim, normal_form, parse_body
from gitmem.core.daily_log import SESSION_CHARS, LogLine
from gitmem.core.dates import annotate, relative_dates, unclear
from gitmem.core.limits import MEMORY_BYTES
from gitmem.core.memory import Memory, description_claim, parse
from gitmem.core.names import file_name, log_path, slugify
from gitmem.core.sequence import pair_edits
from gitmem.core.trailers import Fate, one_line
from gitmem.rules.secrets import UNNAMED, nameable

_REASONED = ("**why", "**how to apply", "why:", "how to apply:")

_UNEXPLAINED = "taken out by an edit"
_FIRST_YEAR, _LAST_YEAR = 1970, 9998
"""Outside of them a message's time is no time, and near the ends no time zone can be applied to it."""


def is_reason(text: str) -> bool:
    """Whether a claim gives the reason or the use of the one before it."""
    return text.lower().startswith(_REASONED)


def sides(change: Change) -> tuple[Memory, Memory] | None:
    """The memory before and after; None where the change is no edit of a whole file."""
    edited = change.edited
    if change.op != "update" or edited is None or edited.before is None:
        return None
    return parse(change.file, edited.before), parse(change.file, edited.after)


def said_anew(change: Change) -> tuple[Claim, ...]:
    """The claims that a change brings, its description too; of an edit only those that it did not find."""
    both = sides(change)
    if both is None:
        described = description_claim(change.description)
        return (*parse_body(change.body).claims, *([described] if described else []))
    before, after = both
    there = {claim.key for claim in before.claims}
    return tuple({claim.key: claim for claim in after.claims if claim.key not in there}.values())


def claim_keys(change: Change) -> tuple[str, ...]:
    """What a tombstone of a change would name: normal forms of its claims, and what an edit takes out.

    A deletion says nothing: what is rejected is to delete that memory, as long as it is about the same.
    """
    if change.op == "delete":
        return (" ".join(["delete", change.file, normal_form(change.description, item=False)]),)
    both = sides(change)
    gone = fates(*both, agent=change.agent) if both else ()
    # Where it goes counts: what is taught later may say something else of the same claim.
    keys = reject_keys(gone, {fate.target for fate in gone})
    return (*(claim.key for claim in said_anew(change)), *keys)


def taken_out(change: Change) -> tuple[Claim, ...]:
    """Claims of the body that an edit takes out or rewords; a new description takes out none."""
    both = sides(change)
    if both is None:
        return ()
    before, after = both
    kept = {claim.id for claim in after.parsed.claims}
    return tuple(claim for claim in before.parsed.claims if claim.id not in kept)


def texts(change: Change) -> tuple[str, ...]:
    """All that a change would bring into the repository, piece by piece, for a guard to look at."""
    pieces = [change.description, change.name, change.reason]
    pieces += [claim.text for claim in parse_body(change.body).claims]
    both = sides(change)
    if both is not None:
        before, after = both
        pieces += [claim.text for claim in said_anew(change)]
        known = before.front.render().splitlines() if before.front else []
        fresh = after.front.render().splitlines() if after.front else []
        pieces += [line for line in fresh if line not in known]
    return tuple(dict.fromkeys(piece for piece in pieces if piece))


def nameless(change: Change, rules: Iterable[str], allow: frozenset[str]) -> Change:
    """The change with what may be a secret cut out of its name, description and reason, which says so.

    Args:
        rules: those that saw it.
        allow: fingerprints that a person accepted.
    """
    rest = [piece for piece in texts(change) if piece not in (change.name, change.description)]
    name, described, reason, *_ = nameable((change.name, change.description, change.reason, *rest), allow)
    description = one_line(described) or UNNAMED
    if change.op != "add" or name == change.name:
        name = change.name
    else:
        name = slugify(name.strip("-_ ") or description)
    edited = change.edited
    if edited is not None:
        after = parse(change.file or file_name(name), edited.after)
        if after.front is not None and after.description == change.description != description:
            front = after.front.with_value("description", description)
            edited = Edited(edited.before, replace(after, front=front).render())
    why = f"{reason} (it may hold a secret: {', '.join(dict.fromkeys(rules))})"
    return replace(change, name=name, description=description, reason=why, edited=edited, asked=False)


def fates(before: Memory, after: Memory, *, agent: str, reason: str = "") -> tuple[Fate, ...]:
    """What became of the claims that an edit took out: superseded by what stands there now, or dropped.

    Args:
        before, after: one memory; their paths are relative to the agent's folder.
        reason: the edit's.
    """
    old = {claim.id: claim for claim in before.claims}
    new = {claim.id: claim for claim in after.claims}
    words = {id: frozenset(claim.key.split()) for id, claim in (old | new).items()}
    bodies = [[claim.id for claim in memory.parsed.claims] for memory in (before, after)]
    heir = pair_edits(bodies[0], bodies[1], lambda id: words[id])
    described = [description_claim(memory.description) for memory in (before, after)]
    if described[0] and described[1]:
        heir.setdefault(described[0].id, described[1].id)
    found = []
    for id, claim in old.items():
        if id in new:
            continue
        source = reference(f"{agent}/{before.path}", claim)
        target = heir.get(id)
        if target is None:
            found.append(Fate("dropped", source, "", reason or _UNEXPLAINED))
        else:
            where = reference(f"{agent}/{after.path}", new[target])
            found.append(Fate("superseded", source, where, reason))
    return tuple(found)


def dated(change: Change, said: datetime | None) -> tuple[Change, bool]:
    """Annotates relative dates of what a change says anew.

    Args:
        said: when it was said; None where unknown.

    Returns:
        The change, and whether a date in it is left for a person to make clear.
    """
    both = sides(change)
    fresh = [claim.text for claim in said_anew(change) if not is_reason(claim.text)]
    if said is None:
        return change, any(relative_dates(text) for text in fresh)
    is_open = any(unclear(text, said) for text in fresh)
    made = replace(change, description=annotate(change.description, said), body=annotate(change.body, said))
    if both is not None and change.edited is not None:
        after = _annotated(both[1], {claim.key for claim in said_anew(change)}, said)
        made = replace(made, edited=Edited(change.edited.before, after.render()))
    return made, is_open


def _annotated(memory: Memory, fresh: Iterable[str], said: datetime) -> Memory:
    keys = frozenset(fresh)
    parts = []
    for claim in memory.parsed.claims:
        parts.append(claim.lead + (annotate(claim.text, said) if claim.key in keys else claim.text))
    body = "".join(parts) + memory.parsed.tail
    front = memory.front
    described = description_claim(memory.description)
    if front is not None and described is not None and described.key in keys:
        wanted = annotate(memory.description, said)
        if wanted != memory.description:
            front = front.with_value("description", wanted)
    return Memory(memory.path, front, body)


def is_text(change: Change) -> bool:
    """Whether an edit's new content is UTF-8 and no longer than a memory may be."""
    if change.edited is None:
        return True
    after = change.edited.after
    try:
        after.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return len(after) <= MEMORY_BYTES


def as_logged(change: Change, is_known: Callable[[str], bool], said: datetime) -> Change | None:
    """The change that puts what another one says anew into a log; carried out, it touches nothing else.

    A statement and its reasons are one line, and go together where either is news.

    Args:
        change: an add or update; of an edit of a whole file only what it brings counts.
        is_known: whether a claim (by its normal form) stands in a memory or a log.
        said: when it was said, with time zone.

    Returns:
        An add whose file is the log and whose time is that of its lines; None where nothing is new.
    """
    news = {claim.key for claim in said_anew(change) if not is_known(claim.key)}
    both = sides(change)
    claims = both[1].parsed.claims if both else parse_body(change.body or change.description).claims
    groups = [group for group in _groups(claims) if any(claim.key in news for claim in group)]
    if not groups:
        return None
    body = "\n\n".join(claim.text for group in groups for claim in group)
    when = said.astimezone(UTC).replace(microsecond=0)
    return replace(
        change,
        op="add",
        body=body,
        file=log_path(when.date()),
        origin=replace(change.origin, time=when),
        edited=None,
    )


def moment(said: datetime | None, now: float) -> datetime:
    """When a line was said, where that can be told; else now (epoch seconds)."""
    if said is None or not _FIRST_YEAR < said.year < _LAST_YEAR:
        return datetime.fromtimestamp(int(now), UTC)
    return said


def log_lines(change: Change) -> tuple[LogLine, ...]:
    """The lines of a change that `as_logged` made."""
    session = re.sub(r"[^A-Za-z0-9_-]", "", change.origin.session)[:SESSION_CHARS]
    when = change.origin.time or datetime.fromtimestamp(0, UTC)
    texts = (" ".join(claim.key for claim in group) for group in _groups(parse_body(change.body).claims))
    return tuple(LogLine(when, change.type, session, text) for text in texts)


def _groups(claims: Iterable[Claim]) -> Iterator[tuple[Claim, ...]]:
    """Each statement with the reasons that follow it; headings state nothing."""
    group: list[Claim] = []
    for claim in claims:
        if claim.key.startswith("#"):
            continue
        if group and not is_reason(claim.text):
            yield tuple(group)
            group = []
        group.append(claim)
    if group:
        yield tuple(group)
