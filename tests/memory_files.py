"""Sound memories: as files, which a request brings, as changes, which an engine proposes, and in a ref."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gitmem.core.change import Change, ChangeOrigin
from gitmem.core.index import entry
from gitmem.core.trailers import Provenance
from gitmem.git.repository import Signature
from gitmem.git.trees import read_files
from gitmem.ledger.land import Ref, Write, Written, land
from gitmem.ledger.workspace import Scope

ADDED = Provenance(op="add", writer="agent")


def memory(
    body: str = "Deploys go out on Tuesdays.",
    name: str = "deploy-day",
    description: str = "When deploys go out",
    type: str = "project",
) -> str:
    return f"---\nname: {name}\ndescription: {description}\nmetadata:\n  type: {type}\n---\n\n{body}\n"


def folder(agent: str = "main", **bodies: str) -> dict[str, str]:
    """An agent's folder of memories with these bodies, and the index that names them."""
    files = {f"{agent}/{name}.md": memory(body, name, f"About {name}") for name, body in bodies.items()}
    lines = [entry(name, f"{name}.md", f"About {name}") for name in bodies]
    return {**files, f"{agent}/MEMORY.md": "".join(lines)}


def proposed(name: str, **more: Any) -> Change:
    """A memory to add, of which somebody spoke; with other fields where the test names them."""
    fact, origin = f"The {name} fact.", ChangeOrigin("session-1", "u1", "u2")
    change = Change("add", name, f"About {name}", "project", fact, "said so", 0.5, False, origin)
    return replace(change, **more)


def learned(
    place: Ref | Scope,
    files: Mapping[str, str | bytes | None],
    time: float,
    subject: str = "Learn",
    told: Provenance = ADDED,
    who: str = "Ann",
) -> Written:
    """Commits files (path from the root of the tree) to a memory ref, past all working copies."""
    edits = {path: text.encode() if isinstance(text, str) else text for path, text in files.items()}
    author = Signature(who, f"{who.lower()}@example.com", int(time))
    made = land(place, lambda _: Write(edits, subject, told), author)
    assert made is not None
    return made


def tip_of(place: Ref | Scope) -> str:
    """Where a memory ref stands; empty where it is not there."""
    return place.repo.ref(place.ref) or ""


def files_at(place: Ref | Scope, commit: str = "") -> dict[str, str]:
    """What a memory ref, which is there, holds or held at a commit, by path."""
    found = read_files(place.repo, place.repo.commit(commit or tip_of(place)).tree)
    return {path: data.decode() for path, data in found.items()}


def files_of(place: Ref | Scope, agent: str) -> dict[str, str]:
    """What it holds of an agent, by path in its folder."""
    found = files_at(place).items()
    return {path[len(agent) + 1 :]: text for path, text in found if path.startswith(f"{agent}/")}
