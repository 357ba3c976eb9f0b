"""Three-way merge of frontmatter, key by key."""

from __future__ import annotations

from collections.abc import Iterable

from gitmem.memory.claim import DISPUTE_LENGTH, claim_id, normal_form
from gitmem.memory.encoding import encode
from gitmem.memory.frontmatter import Field, Frontmatter, Value, render_field

PRIVACY = ("user", "feedback", "project", "reference")
"""Types from the most private to the least (design.md section 6: `type` takes the more private)."""

BOOKKEEPING = frozenset({"modified", "originSessionId", "node_type"})
"""Keys that clients keep for themselves: a value that loses is no claim."""


def merge_front(
    base: Frontmatter | None, ours: Frontmatter | None, theirs: Frontmatter | None
) -> tuple[Frontmatter | None, tuple[str, ...]]:
    """Merges three blocks.

    Returns:
        The block, and the claims to be added to the body for scalars that lost:
        `<key>: <value> *(disputed <8 hex>)*`.
    """
    before, one, other = (_text(block) for block in (base, ours, theirs))
    if one == other or before == other:
        return ours, ()
    if before == one:
        return theirs, ()
    if ours is None or theirs is None:
        return ours or theirs, ()
    skeleton = _skeleton(base, ours, theirs)
    losers: list[str] = []
    merged = skeleton
    for key in dict.fromkeys((*skeleton.keys(), *sorted({*ours.keys(), *theirs.keys()}))):
        fields = [_present(block, key) for block in (base, ours, theirs)]
        field, lost = _merge_field(key, *fields)
        if field is None:
            merged = merged.without(key)
        elif merged.field(key) is None or merged.field(key) != field:
            merged = merged.with_field(field)
        if lost:
            was = _shown(fields[0].value) if fields[0] else ""
            # With the key, so that a claim of the body that says the same is another dispute.
            mark = claim_id(normal_form(f"{key}: {was}", item=False))[:DISPUTE_LENGTH]
            losers.append(f"{key}: {' '.join(lost.split())} *(disputed {mark})*")
    return merged, tuple(losers)


def _text(block: Frontmatter | None) -> str | None:
    return block.render() if block else None


def _present(block: Frontmatter | None, key: str) -> Field | None:
    """The field; a key that a client blanked counts as absent."""
    found = block.field(key) if block else None
    return found if found and found.value else None


def _skeleton(base: Frontmatter | None, ours: Frontmatter, theirs: Frontmatter) -> Frontmatter:
    """The block whose order, layout and comments the result takes."""
    layout = base.layout() if base else None
    if ours.layout() != theirs.layout():
        if ours.layout() == layout:
            return theirs
        if theirs.layout() == layout:
            return ours
    return min(ours, theirs, key=Frontmatter.render)


def _merge_field(
    key: str, base: Field | None, ours: Field | None, theirs: Field | None
) -> tuple[Field | None, str]:
    before, one, other = (field.value if field else None for field in (base, ours, theirs))
    if one == other:
        return _lesser(f for f in (ours, theirs) if f), ""
    if one == before or other == before:
        return (theirs if one == before else ours), ""
    if ours is None or theirs is None:
        return ours or theirs, ""
    if key == "type":
        return min(ours, theirs, key=lambda f: (_privacy(f.value), f.raw)), ""
    if isinstance(ours.value, tuple) or isinstance(theirs.value, tuple):
        return _merge_list(key, before, ours, theirs), ""
    if key == "modified":
        return max(ours, theirs, key=lambda f: (_shown(f.value), f.raw)), ""
    winner, loser = sorted((ours, theirs), key=lambda f: encode(_shown(f.value)))
    return winner, "" if key in BOOKKEEPING else _shown(loser.value)


def _lesser(fields: Iterable[Field]) -> Field | None:
    return min(fields, key=lambda f: (f.nested, f.raw), default=None)


def _privacy(value: Value) -> int:
    return PRIVACY.index(_shown(value).lower()) if _shown(value).lower() in PRIVACY else len(PRIVACY)


def _merge_list(key: str, before: Value | None, ours: Field, theirs: Field) -> Field:
    old, one, other = (_as_list(value) for value in (before, ours.value, theirs.value))
    kept = [item for item in old if item in one and item in other]
    new = sorted({*one, *other} - set(old))
    nested = ours.nested and theirs.nested
    return Field(key, nested, render_field(key, (*kept, *new), nested))


def _as_list(value: Value | None) -> tuple[str, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else value


def _shown(value: Value) -> str:
    return value if isinstance(value, str) else ", ".join(value)
