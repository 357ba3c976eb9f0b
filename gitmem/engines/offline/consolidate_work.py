"""The tree that a consolidation works on: each change starts from what those before it left."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gitmem.engines.engine import DreamChange
from gitmem.engines.offline.consolidate_edit import described, reworded
from gitmem.engines.offline.consolidate_links import pointed
from gitmem.memory import tombstone
from gitmem.memory.account import is_memory, reference, reject_keys
from gitmem.memory.encoding import decode
from gitmem.memory.memory import Memory, description_claim, parse
from gitmem.memory.merge import agent_folder
from gitmem.memory.trailers import Fate


class Work:
    """Memories of one scope under consolidation, and the changes made so far."""

    def __init__(
        self,
        files: Mapping[str, bytes],
        agents: Collection[str] = (),
        waiting: frozenset[str] = frozenset(),
    ) -> None:
        """Starts from a tree; no agents means all of them."""
        self._agents = agents
        self._waiting = waiting
        self.memories = {path: parse(path, files[path]) for path in sorted(files) if is_memory(path)}
        self._linking = {path for path, memory in self.memories.items() if _has_links(memory)}
        self.changes: list[DreamChange] = []
        self.notes: list[str] = []
        self._stones = {
            agent_folder(path): tombstone.parse(decode(data))
            for path, data in files.items()
            if path.rpartition("/")[2] == tombstone.FILE
        }

    def agents(self) -> tuple[str, ...]:
        """The agents to consolidate that have memories, sorted."""
        found = {agent_folder(path) for path in self.memories}
        return tuple(sorted(agent for agent in found if not self._agents or agent in self._agents))

    def paths(self) -> list[str]:
        """Memories of these agents, archived ones too."""
        agents = self.agents()
        return [path for path in self.memories if agent_folder(path) in agents]

    def hot(self, agent: str) -> list[Memory]:
        """An agent's memories that are laid out, by path."""
        return [
            memory
            for path, memory in self.memories.items()
            if agent_folder(path) == agent and "/" not in path.removeprefix(f"{agent}/")
        ]

    def is_settled(self, agent: str, fates: tuple[Fate, ...]) -> bool:
        """Whether a person rejected any of these before, or still has to decide on it."""
        stones = self._stones.get(agent, frozenset())
        keys = reject_keys(fates)
        return any(key in self._waiting or tombstone.matches(stones, key, "rejected") for key in keys)

    def propose(
        self,
        kind: str,
        edited: Mapping[str, Memory | None],
        fates: tuple[Fate, ...],
        subject: str,
        reason: str,
    ) -> None:
        """Adds a change and goes on from it; None deletes a memory."""
        for path, memory in edited.items():
            if memory is None:
                del self.memories[path]
            else:
                self.memories[path] = memory
                if _has_links(memory):
                    self._linking.add(path)
        edits = {path: memory.render() if memory else None for path, memory in edited.items()}
        self.changes.append(DreamChange(kind, edits, fates, reason, subject))

    def renamed_links(
        self, names: Mapping[str, str], reason: str, edited: Mapping[str, Memory | None]
    ) -> tuple[dict[str, Memory], list[Fate]] | None:
        """The memories whose links must lead elsewhere, with new names in them; None where it cannot be.

        Args:
            names: name in a link to the name that takes its place.
            edited: memories that the same change edits already.
        """
        changed: dict[str, Memory] = {}
        fates: list[Fate] = []
        # What a change edits already may have taken a link over from the memory that goes.
        for path in sorted({*self._linking, *edited} & self.memories.keys()):
            memory = edited.get(path, self.memories[path])
            if memory is None:
                continue
            turned = with_links(memory, names, reason)
            if turned is None:
                return None
            if turned[1]:
                changed[path] = turned[0]
                fates += turned[1]
        return changed, fates


def _has_links(memory: Memory) -> bool:
    return "[[" in memory.body or "[[" in memory.description


def with_links(memory: Memory, names: Mapping[str, str], reason: str) -> tuple[Memory, list[Fate]] | None:
    """A memory with links led elsewhere, and the fates of the claims that this rewords."""
    claims = memory.parsed.claims
    texts = {
        number: new
        for number, claim in enumerate(claims)
        if (new := pointed(claim.text, names)) != claim.text
    }
    changed = reworded(memory, texts) if texts else memory
    if changed is None:
        return None
    fates = [
        Fate(
            "superseded",
            reference(memory.path, claims[number]),
            reference(memory.path, changed.parsed.claims[number]),
            reason,
        )
        for number in texts
    ]
    new = pointed(memory.description, names)
    if new != memory.description:
        redescribed = described(changed, new)
        old_claim, new_claim = description_claim(memory.description), description_claim(new)
        if redescribed is None or old_claim is None or new_claim is None:
            return None
        changed = redescribed
        fates.append(
            Fate("superseded", reference(memory.path, old_claim), reference(memory.path, new_claim), reason)
        )
    return changed, fates
