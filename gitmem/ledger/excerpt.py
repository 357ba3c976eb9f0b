"""What of one file may be in history that leaves: pure values over bytes.

Everything that such a file says stands in what is to leave, in what the remote has, or was made into what
stands. A memory is cut into claims, an index into entries, all else into lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from functools import lru_cache

from gitmem.core import index
from gitmem.core.claim import Body, Claim
from gitmem.core.memory import Memory, description_claim
from gitmem.core.memory import parse as read_memory
from gitmem.core.names import kind
from gitmem.core.text import decode, encode
from gitmem.values import dataclass


@dataclass(frozen=True)
class ExcerptQuery:
    """What a file in history is measured by.

    Attributes:
        stands: the file as it is to leave; None where no such memory is.
        public: the file as history that leaves had it just before; None where it was not there.
        became: (path, normal form) of claims that were made into what stands there.
    """

    stands: bytes | None = None
    public: bytes | None = None
    became: frozenset[tuple[str, str]] = frozenset()


@lru_cache(maxsize=64)
def _units(data: bytes) -> tuple[index.Unit, ...]:
    """The entries of an index: every commit has its own, which is asked about many times in turn."""
    return index.parse(decode(data))


def portion(path: str, given: ExcerptQuery, then: Mapping[str, bytes]) -> bytes | None:
    """A file of one commit less what may not leave; None where nothing of it is left.

    Args:
        path: where it stands in what is to leave.
        then: what it is made of in that commit: the file itself, and files whose claims went into it later.
    """
    if not then or (given.stands is None and given.public is None):
        return None
    if given.stands in then.values():
        return given.stands
    known = [data for data in (given.stands, given.public) if data is not None]
    if kind(path) == "memory":
        return _memory(path, given, known, then)
    if kind(path) == "index":
        return _index(known, then[path]) if path in then else None
    lines = {line.rstrip(b"\r\n") for data in known for line in data.splitlines(keepends=True)}
    left = [
        line
        for data in then.values()
        for line in data.splitlines(keepends=True)
        if line.rstrip(b"\r\n") in lines
    ]
    return b"".join(left) or None


def _index(known: list[bytes], then: bytes) -> bytes | None:
    units = {unit.text for data in known for unit in _units(data)}
    kept: list[index.Unit] = []
    for unit in _units(then):
        if unit.text in units:
            kept.append(unit)
        elif kept and not kept[-1].gap:
            kept[-1] = replace(kept[-1], gap=unit.gap)
    return encode("".join(unit.text + unit.gap for unit in kept)) or None


def _memory(path: str, given: ExcerptQuery, known: list[bytes], then: Mapping[str, bytes]) -> bytes | None:
    standing = [read_memory(path, data) for data in known]
    own = {claim.key for memory in standing for claim in memory.claims}
    described = {_key(memory.description): memory.description for memory in standing}
    texts: list[Claim] = []
    description = ""
    for other, data in sorted(then.items(), key=lambda item: item[0] != path):
        memory = read_memory(other, data)
        allowed = {key for place, key in given.became if place == other} | (own if other == path else set())
        key = _key(memory.description)
        description = description or (described.get(key, memory.description) if key in allowed else "")
        follows = False
        for claim in memory.parsed.claims:
            if claim.key in allowed:
                lead = claim.lead if follows else "\n\n" if texts else "\n"
                texts.append(replace(claim, lead=lead))
            follows = claim.key in allowed
    if not texts and not description:
        return None
    front = standing[0].front
    if front is not None:
        front = (
            front.with_value("description", description) if description else front.without("description")
        )
    body = Body(tuple(texts), "\n" if texts else "").render()
    return Memory(path, front, body).render()


def _key(description: str) -> str:
    claim = description_claim(description)
    return claim.key if claim else ""


@dataclass(frozen=True)
class Excerpt:
    """What files say, piece by piece.

    Attributes:
        pieces: (kind of piece, its text): names, claims, index entries, lines.
    """

    pieces: frozenset[tuple[str, str]] = field(default_factory=frozenset)

    def without(self, other: Excerpt) -> Excerpt:
        """What the other does not say."""
        return Excerpt(self.pieces - other.pieces)

    def within(self, other: Excerpt) -> bool:
        """Whether the other says all of it."""
        return self.pieces <= other.pieces

    @property
    def names(self) -> frozenset[str]:
        """Names of memories, and of their files."""
        return frozenset(text for what, text in self.pieces if what == "name")

    @property
    def texts(self) -> frozenset[str]:
        """Claims, descriptions and lines of logs."""
        return frozenset(text for what, text in self.pieces if what in ("claim", "line"))


def said(files: Iterable[tuple[str, bytes]]) -> Excerpt:
    """What some files say."""
    found: set[tuple[str, str]] = set()
    for path, data in files:
        if kind(path) == "memory":
            memory = read_memory(path, data)
            stem = path.rpartition("/")[2].removesuffix(".md")
            found |= {("name", stem), ("name", memory.name)}
            found |= {("claim", claim.key) for claim in memory.claims}
        elif kind(path) == "index":
            found |= {("entry", unit.text) for unit in _units(data) if unit.text.strip()}
        else:
            what = "line" if kind(path) == "log" else "other"
            found |= {(what, line) for line in decode(data).splitlines() if line.strip()}
    return Excerpt(frozenset(found))
