"""The tree that a consolidation works on: each change starts from what those before it left."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from gitmem.core import tombstone
from gitmem.core.account import is_memory, path_of, paths_named, reference, reject_keys
from gitmem.core.facts import missing_facts
from gitmem.core.memory import Memory, description_claim, parse, reword, with_description
from gitmem.core.names import agent_folder
from gitmem.core.pointer import is_promoted
from gitmem.core.references import only_renamed
from gitmem.core.text import decode
from gitmem.core.trailers import Fate
from gitmem.engines.engine import MOST, DreamChange
from gitmem.engines.offline.equivalence import ClaimIndex
from gitmem.engines.offline.links import LINK, Way, inline_links, links, slug, turned

_REPAIRS = frozenset({"date", "link", "index"})


class ConsolidationWork:
    """Memories of one scope under consolidation, and the changes made so far."""

    def __init__(
        self,
        files: Mapping[str, bytes],
        agents: Collection[str] = (),
        waiting: frozenset[str] = frozenset(),
        allowance: int | None = None,
        most: int = MOST,
        pending: frozenset[str] = frozenset(),
    ) -> None:
        """Starts from a tree; no agents means all of them, and what is pending would go already."""
        self.most = most
        # Repairs are many in an old memory, and must not keep what is worth more from a person.
        self.repairs = most // 4
        self.held_back = False
        self._agents = agents
        self._waiting = waiting
        self._left = allowance
        self._allowance = allowance
        self.files = files
        self.memories = {path: parse(path, files[path]) for path in sorted(files) if is_memory(path)}
        # What became a rule of the code is left alone; links to it, and what it says, still count.
        self._rules = frozenset(path for path in self.memories if is_promoted(path, files[path]))
        self._lookups: dict[str, tuple[Memory, ClaimIndex]] = {}
        self._hot: dict[str, list[str]] = {}
        for path in self.memories:
            agent = agent_folder(path)
            if "/" not in path.removeprefix(f"{agent}/") and path not in self._rules:
                self._hot.setdefault(agent, []).append(path)
        self._linking: dict[str, set[str]] = {}
        for path, memory in self.memories.items():
            self._index_links(path, memory)
        self._gone: set[str] = set(pending)
        self._targets: set[str] = set()
        self.changes: list[DreamChange] = []
        self.notes: list[str] = []
        self._stones = {
            agent_folder(path): tombstone.parse(decode(data))
            for path, data in files.items()
            if path.rpartition("/")[2] == tombstone.FILE
        }

    @property
    def full(self) -> bool:
        """Whether there are as many changes as a dream may have."""
        return len(self.changes) >= self.most

    def agents(self) -> tuple[str, ...]:
        """The agents to consolidate that have memories, sorted."""
        found = {agent_folder(path) for path in self.memories}
        return tuple(sorted(agent for agent in found if not self._agents or agent in self._agents))

    def paths(self) -> list[str]:
        """Memories of these agents, archived ones too."""
        agents = self.agents()
        return [path for path in self.memories if agent_folder(path) in agents and path not in self._rules]

    def hot(self, agent: str) -> list[Memory]:
        """An agent's memories that are laid out, by path."""
        return [self.memories[path] for path in self._hot.get(agent, ()) if path in self.memories]

    def lookup(self, path: str) -> ClaimIndex:
        """The claims of a memory's body by what they say."""
        memory = self.memories[path]
        known = self._lookups.get(path)
        if known is None or known[0] is not memory:
            known = self._lookups[path] = (memory, ClaimIndex(memory.parsed.claims))
        return known[1]

    def stands_alone(self, source: str, target: str) -> bool:
        """Whether what becomes of a claim can be decided without the changes before.

        None of them is about it, and the one that it goes into goes by none of them.
        """
        return source not in self._gone | self._targets and target not in self._gone

    def went(self, claims: Iterable[str]) -> bool:
        """Whether a change so far is about each of these claims."""
        return self._gone.issuperset(claims)

    def is_settled(self, agent: str, fates: tuple[Fate, ...]) -> bool:
        """Whether a person rejected any of these before, or still has to decide on it."""
        stones = self._stones.get(agent, frozenset())
        targets = (self.memories.get(path_of(fate.target)) for fate in fates if fate.target)
        keys = reject_keys(fates, _keys(targets))
        return any(key in self._waiting or tombstone.matches(stones, key, "rejected") for key in keys)

    def is_forgotten(self, agent: str, key: str) -> bool:
        """Whether a person forgot or rejected a claim of this normal form."""
        return tombstone.matches(self._stones.get(agent, frozenset()), key)

    def propose(
        self,
        kind: str,
        edited: Mapping[str, Memory | None],
        fates: tuple[Fate, ...],
        subject: str,
        reason: str,
    ) -> bool:
        """Adds a change and goes on from it, unless there are too many or it would spend too much.

        Args:
            edited: path to the memory that it becomes; None deletes one.

        Returns:
            whether it was added.
        """
        if kind in _REPAIRS and sum(change.kind == kind for change in self.changes) >= self.repairs:
            self.held_back = True
            if not self.full:
                return False
        if self.full:
            self.notes.append(
                f"limit: this dream proposes {self.most} changes; the rest waits for another one"
            )
            return False
        spent = self._cost(fates, edited)
        if spent and self._left is not None:
            if spent > self._left:
                self.notes.append(
                    f"limit: {self._allowance} claims may be dropped or superseded at once; what "
                    "would need more waits for another dream"
                )
                return False
            self._left -= spent
        for path, memory in edited.items():
            if memory is None:
                del self.memories[path]
            else:
                if path not in self.memories and path.count("/") == 1:
                    self._hot.setdefault(agent_folder(path), []).append(path)
                self.memories[path] = memory
                self._index_links(path, memory)
        edits = {path: memory.render() if memory else None for path, memory in edited.items()}
        self._gone |= {fate.source for fate in fates}
        self._targets |= {fate.target for fate in fates}
        self.changes.append(DreamChange(kind, edits, fates, reason, subject))
        return True

    def _cost(self, fates: tuple[Fate, ...], edited: Mapping[str, Memory | None]) -> int:
        """How many claims are given up; where links lead and what the code calls things does not count."""
        given_up = [fate for fate in fates if fate.kind in ("dropped", "superseded")]
        if self._left is None or not given_up:
            return 0
        paths = paths_named(given_up)
        old = _keys([self.memories.get(path) for path in paths])
        new = _keys([edited.get(path, self.memories.get(path)) for path in paths])
        return sum(
            fate.kind == "dropped"
            or (
                bool(missing_facts(LINK.sub(" ", old.get(fate.source, "")), new.get(fate.target, "")))
                and not only_renamed(old.get(fate.source, ""), new.get(fate.target, ""), fate.reason)
            )
            for fate in given_up
        )

    def touched(self) -> tuple[str, ...]:
        """Paths that the changes so far edit, sorted."""
        return tuple(sorted({path for change in self.changes for path in change.edits}))

    def led(
        self, ways: Mapping[str, Way], agent: str, reason: str, edited: Mapping[str, Memory | None]
    ) -> tuple[dict[str, Memory], list[Fate]] | None:
        """The memories whose links must lead elsewhere, with new links; None where it cannot be.

        Args:
            ways: slug of a name to where links to it lead.
            agent: whose files `ways` names; memories of others can only be led by names.
            edited: memories that the same change edits already.
        """
        changed: dict[str, Memory] = {}
        fates: list[Fate] = []
        linking = set[str]().union(*(self._linking.get(name, ()) for name in ways))
        # What a change edits already may have taken a link over from the memory that goes.
        for path in sorted({*linking, *edited} & self.memories.keys()):
            memory = edited.get(path, self.memories[path])
            if memory is None:
                continue
            here = (
                ways if agent_folder(path) == agent else {name: Way(way.name) for name, way in ways.items()}
            )
            turned = with_links(memory, here, reason)
            if turned is None:
                return None
            if turned[1]:
                changed[path] = turned[0]
                fates += turned[1]
        return changed, fates

    def _index_links(self, path: str, memory: Memory) -> None:
        for text in (memory.body, memory.description):
            for link in (*links(text), *inline_links(text)):
                self._linking.setdefault(slug(link), set()).add(path)


def _keys(memories: Iterable[Memory | None]) -> dict[str, str]:
    return {reference(one.path, claim): claim.key for one in memories if one for claim in one.claims}


def with_links(memory: Memory, ways: Mapping[str, Way], reason: str) -> tuple[Memory, list[Fate]] | None:
    """A memory with links led elsewhere, and the fates of the claims that this rewords."""
    claims = memory.parsed.claims
    texts = {
        number: new
        for number, claim in enumerate(claims)
        if "[" in claim.text and (new := turned(claim.text, ways)) != claim.text
    }
    changed = reword(memory, texts) if texts else memory
    if changed is None:
        return None
    ends = [(claims[number], changed.parsed.claims[number]) for number in texts]
    new = turned(memory.description, ways)
    if new != memory.description:
        redescribed = with_description(changed, new)
        old_claim, new_claim = description_claim(memory.description), description_claim(new)
        if redescribed is None or old_claim is None or new_claim is None:
            return None
        changed = redescribed
        ends.append((old_claim, new_claim))
    here = memory.path
    return changed, [
        Fate("superseded", reference(here, old), reference(here, new), reason) for old, new in ends
    ]
