"""One memory as it may be shown, and as a value for programs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gitmem.integrations.edges import Edges
from gitmem.integrations.words import iso, sound
from gitmem.store.lookup import Found, age, find
from gitmem.store.repository import MissingObject
from gitmem.store.workspace import Workspace


@dataclass(frozen=True)
class Shown:
    """A memory without what of it came with a secret.

    Attributes:
        taught: when it was last taught, seconds since the epoch; 0 where that is unknown.
        hidden: whether something of it is left out.
    """

    found: Found
    taught: int
    hidden: bool


def show(
    workspace: Workspace,
    edges: Edges,
    name: str,
    scope: str | None = None,
    agent: str | None = None,
    at: str | None = None,
) -> Shown:
    """Finds one memory, now or as of then; arguments and errors as those of `lookup.find`."""
    found = find(workspace, name, scope, agent, at, edges.now)
    taught = age(workspace, found.spot)
    if found.scope != "project":
        return Shown(found, taught, False)
    from gitmem.integrations.withholding import without_secrets
    from gitmem.memory.memory import parse

    whole = found.memory.render()
    try:
        kept = without_secrets(workspace, found.file, whole)
    except MissingObject:
        kept = b""
    if kept == whole:
        return Shown(found, taught, False)
    return Shown(replace(found, memory=parse(found.file, kept)), taught, True)


def as_value(shown: Shown) -> dict[str, object]:
    """Its parts, and `content`, the whole file as text."""
    found, memory = shown.found, shown.found.memory
    return {
        "name": sound(memory.name),
        "type": memory.type,
        "scope": found.scope,
        "agent": sound(found.agent),
        "file": sound(found.file),
        "description": sound(memory.description),
        "taught": iso(shown.taught) if shown.taught else None,
        "archived": found.archived,
        "commit": found.commit,
        "blob": found.blob,
        "secret": shown.hidden,
        "content": memory.render().decode("utf-8", "replace"),
    }
