"""Changes to a team's memory, and what may be a secret: they wait for a person in review."""

from __future__ import annotations

from gitmem.core import tombstone
from gitmem.core.change import Change, Edited, Origin
from gitmem.core.memory import parse
from gitmem.core.names import slugify
from gitmem.core.text import decode, iso
from gitmem.core.trailers import Provenance
from gitmem.flows.context import Edges
from gitmem.flows.withholding import holds_secret
from gitmem.integrations.memory_tool import words
from gitmem.integrations.memory_tool.commands import Changed
from gitmem.integrations.memory_tool.folder import Folder
from gitmem.integrations.memory_tool.record import check, described, single_memory
from gitmem.ledger.edits import claim_keys, nameless
from gitmem.ledger.suggestions import propose, suggest
from gitmem.ledger.workspace import ScopeName, Workspace

_REASON = "a model asked for it through the memory tool"


def suggest_change(
    workspace: Workspace,
    edges: Edges,
    scope: ScopeName,
    folder: Folder,
    changed: Changed,
    provenance: Provenance,
    allow: frozenset[str],
) -> str:
    """Parks what a command would change, and says so.

    Args:
        scope, folder: where it would be written.
        allow: fingerprints of accepted secrets.

    Returns:
        What the model is told.

    Raises:
        Refused: it is more than one memory, or may not be stored, or was rejected before.
    """
    file = single_memory(changed)
    if file is None:
        raise words.by_people_only(changed.path)
    doubts = check(folder, changed, allow)
    # What a suggestion would quote of a secret is not to be copied anywhere.
    if any(holds_secret(workspace, f"{folder.agent}/{at}", data) for at, data in changed.before.items()):
        raise words.unsafe(changed.path, "holds a secret that came with shared memory")
    change = _change(folder.agent, file, changed, provenance.session)
    if doubts:
        change = nameless(change, [one.rule for one in doubts], allow)
    stones = tombstone.parse(decode(folder.read(tombstone.FILE) or b""))
    if any(tombstone.matches(stones, key) for key in claim_keys(change)):
        raise words.rejected(changed.path)
    one = suggest(change, scope, iso(edges.now), provenance.engine)
    propose(workspace, [one], workspace.author(edges.now), provenance)
    return words.suggested(one.id, changed.path, shared=scope == "project")


def _change(agent: str, file: str, changed: Changed, session: str) -> Change:
    before, after = changed.before.get(file), changed.files[file]
    memory = parse(file, after if after is not None else before or b"")
    stem = file.removesuffix(".md")
    return Change(
        op="delete" if after is None else "update" if before is not None else "add",
        # The file of a new memory is named after it: it should be the one that the model asked for.
        name=slugify(stem) if before is None else memory.name,
        description=described(memory),
        type=memory.type,
        body=memory.body.strip() if after is not None else "",
        reason=_REASON,
        confidence=1.0,
        asked=False,
        origin=Origin(session=session),
        agent=agent,
        file=file if before is not None else "",
        edited=Edited(before, after) if before is not None and after is not None else None,
    )
