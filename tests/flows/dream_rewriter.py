"""An engine double that rewrites memory freely, as a bold model would, and honestly accounts for it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gitmem.core.account import claims_at, reference
from gitmem.core.claim import Claim
from gitmem.core.memory import description_claim, parse
from gitmem.core.trailers import Fate, FateKind
from gitmem.engines.engine import ConsolidateInput, Consolidation, DreamChange, DreamProgress, Tell, untold

PREFIX = "As agreed, "


@dataclass
class Rewriter:
    """Rewords, merges, moves claims, renames files, deletes what it emptied, replaces and gives up a few.

    Attributes:
        bold: how many changes of each sort it tries a night.
        refused: changes that the flow's judge turned down before they were proposed.
    """

    seed: int = 1
    bold: int = 1
    name: str = "scripted:rewriter"
    reads_history: bool = False
    night: int = 0
    refused: int = 0
    kinds: dict[str, int] = field(default_factory=dict)

    def consolidate(self, given: ConsolidateInput, tell: Tell = untold) -> Consolidation:
        self.night += 1
        tell(DreamProgress("consolidate", 1, 1))
        pick = random.Random(f"{self.seed} {self.night}")
        work = _Work(dict(given.files), pick, self.night)
        made: list[DreamChange] = []
        spent = 0
        for sort in (work.reword, work.move, work.rename, work.merge, work.empty, work.replace, work.drop):
            for _ in range(self.bold):
                costs = sort.__name__ in ("replace", "drop")
                if costs and spent >= (given.allowance or 0):
                    continue
                before = dict(work.files)
                change = sort()
                if change is None:
                    continue
                if given.judge([*made, change]):
                    work.files = before
                    self.refused += 1
                    continue
                made.append(change)
                spent += costs
                self.kinds[change.kind] = self.kinds.get(change.kind, 0) + 1
        return Consolidation(tuple(made))


class _Work:
    """The tree as it is rewritten."""

    def __init__(self, files: dict[str, bytes], pick: random.Random, night: int) -> None:
        self.files, self.pick, self.night = files, pick, night

    def reword(self) -> DreamChange | None:
        path, claim = self._claim()
        return self._said_anew(path, claim, _other_words(claim.text), "merged", "reword")

    def replace(self) -> DreamChange | None:
        path, claim = self._claim()
        text = f"{claim.text.rstrip('.')} until night {self.night}."
        return self._said_anew(path, claim, text, "superseded", "replace")

    def drop(self) -> DreamChange | None:
        path, claim = self._claim(least=3)
        after = self._without(path, claim)
        fate = Fate("dropped", reference(path, claim), "", "nobody needs it any more")
        return self._done("drop", {path: after}, [fate])

    def move(self) -> DreamChange | None:
        path, claim = self._claim(least=2)
        into = self._like(path)
        if not into or claim.key in {one.key for one in claims_at(into, self.files[into])}:
            return None
        edits = {path: self._without(path, claim), into: self._with(into, claim.text)}
        return self._done("move", edits, [self._fate(edits, "kept", path, claim, into)])

    def rename(self) -> DreamChange | None:
        path, _ = self._claim()
        into = path.replace(".md", f"-{self.night:02}x.md")
        edits = {path: None, into: self.files[path]}
        fates = [
            self._fate(edits, "kept", path, claim, into) for claim in claims_at(path, self.files[path])
        ]
        return self._done("rename", edits, fates)

    def merge(self) -> DreamChange | None:
        """Takes another memory in whole, with its description as a claim."""
        into, _ = self._claim()
        path = self._like(into)
        return self._swallow(path, into, "merge") if path else None

    def empty(self) -> DreamChange | None:
        """Takes the smallest memory's claims somewhere else, and deletes what is left."""
        paths = sorted(self._memories(), key=lambda path: (len(self.files[path]), path))
        into = self._like(paths[0])
        return self._swallow(paths[0], into, "empty") if into else None

    def _swallow(self, path: str, into: str, kind: str) -> DreamChange | None:
        gone = claims_at(path, self.files[path])
        known = {claim.key for claim in claims_at(into, self.files[into])}
        if known & {claim.key for claim in gone} or any(claim.ordinal for claim in gone):
            return None
        data = self.files[into]
        for claim in gone:
            data = _appended(data, claim.text)
        edits = {path: None, into: data}
        return self._done(kind, edits, [self._fate(edits, "kept", path, claim, into) for claim in gone])

    def _said_anew(
        self, path: str, claim: Claim, text: str, fate: FateKind, kind: str
    ) -> DreamChange | None:
        data = self.files[path].decode().replace(claim.text, text, 1).encode()
        new = [one for one in claims_at(path, data) if one.text == text]
        if len(new) != 1 or new[0].key == claim.key:
            return None
        told = Fate(fate, reference(path, claim), reference(path, new[0]), "says it better")
        return self._done(kind, {path: data}, [told])

    def _done(self, kind: str, edits: Mapping[str, bytes | None], fates: list[Fate]) -> DreamChange:
        for path, data in edits.items():
            if data is None:
                del self.files[path]
            else:
                self.files[path] = data
        return DreamChange(kind, edits, tuple(fates), "it reads better so", f"Do a {kind}")

    def _fate(
        self, edits: Mapping[str, bytes | None], kind: FateKind, path: str, claim: Claim, into: str
    ) -> Fate:
        data = edits[into]
        assert data is not None
        target = next(one for one in claims_at(into, data) if one.key == claim.key)
        return Fate(kind, reference(path, claim), reference(into, target), "it belongs there")

    def _memories(self) -> Iterator[str]:
        return (path for path in sorted(self.files) if path.endswith(".md") and "/MEMORY" not in path)

    def _claim(self, least: int = 1) -> tuple[str, Claim]:
        """A plain claim of a body that has so many of them."""
        while True:
            path = self.pick.choice(list(self._memories()))
            found = _plain(path, self.files[path])
            if len(found) >= least:
                return path, self.pick.choice(found)

    def _like(self, path: str) -> str:
        """Another memory of the same type and place."""
        wanted = parse(path, self.files[path]).type
        others = [
            one
            for one in self._memories()
            if one != path and parse(one, self.files[one]).type == wanted and "/archive/" not in one
        ]
        return self.pick.choice(others) if others else ""

    def _without(self, path: str, claim: Claim) -> bytes:
        text = self.files[path].decode()
        assert text.count(claim.text) >= 1
        before, _, after = text.rpartition(claim.text)
        return (before.rstrip("\n") + "\n\n" + after.lstrip("\n")).rstrip("\n").encode() + b"\n"

    def _with(self, path: str, text: str) -> bytes:
        return _appended(self.files[path], text)


def _appended(data: bytes, text: str) -> bytes:
    text = text.removeprefix("- ")
    return data.rstrip(b"\n") + b"\n\n" + text.encode() + b"\n"


def _plain(path: str, data: bytes) -> list[Claim]:
    memory = parse(path, data)
    described = description_claim(memory.description)
    return [
        claim
        for claim in memory.parsed.claims
        if not claim.item
        and not claim.ordinal
        and not claim.text.startswith(("**", "#", "`", "-", "["))
        and "\n" not in claim.text
        and data.decode().count(claim.text) == 1
        and (described is None or claim.key != described.key)
    ]


def _other_words(text: str) -> str:
    """The same with a turn of phrase before it, or without the one that it has."""
    return text.removeprefix(PREFIX) if text.startswith(PREFIX) else f"{PREFIX}{text}"
