"""Tombstones: what a person forgot or rejected, kept as salted hashes that every merge and writer honours.

One a line: `v1 <salt> <hash> <date> forgot|rejected`, in `<agent>/.tombstones`. They hide nothing from
someone who guesses the text.
"""

from __future__ import annotations

import datetime
import hashlib
import re
from collections.abc import Callable, Iterable
from typing import Literal

from gitmem.core.names import TOMBSTONES
from gitmem.values import dataclass

FILE = TOMBSTONES
Kind = Literal["forgot", "rejected"]

_LINE = re.compile(r"v1 ([0-9a-f]{16,64}) ([0-9a-f]{64}) (\d{4}-\d{2}-\d{2}) (forgot|rejected)$")


@dataclass(frozen=True)
class Tombstone:
    """One forgotten or rejected text.

    Attributes:
        salt: hexadecimal, one for each init, so that equal texts of two teams do not show.
        digest: SHA-256 over salt and normal form, hexadecimal.
        date: ISO date of the decision.
    """

    salt: str
    digest: str
    date: str
    kind: Kind

    def line(self) -> str:
        """The line as it stands in the file."""
        return f"v1 {self.salt} {self.digest} {self.date} {self.kind}\n"


def bury(key: str, salt: str, date: str, kind: Kind) -> Tombstone:
    """A tombstone for a claim's normal form, or for the key of a rejected operation."""
    return Tombstone(salt, _digest(salt, key), date, kind)


def parse(text: str) -> frozenset[Tombstone]:
    """Reads a tombstone file; lines of another form are passed over, as a later version may add some."""
    found = [_LINE.match(line) for line in text.splitlines()]
    return frozenset(Tombstone(*match.groups()) for match in found if match)  # type: ignore[arg-type]


def fits(line: str) -> bool:
    """Whether a line, without its end, is one that this version writes, of a day that there is."""
    found = _LINE.fullmatch(line)
    if found is None:
        return False
    try:
        datetime.date.fromisoformat(found[3])
    except ValueError:
        return False
    return True


def matches(tombstones: Iterable[Tombstone], key: str, kind: Kind | None = None) -> bool:
    """Whether a normal form is buried, optionally as one kind only."""
    digests: dict[str, str] = {}
    for stone in tombstones:
        if kind is not None and stone.kind != kind:
            continue
        digest = digests.setdefault(stone.salt, _digest(stone.salt, key))
        if digest == stone.digest:
            return True
    return False


def finder(stones: Iterable[Tombstone], kind: Kind) -> Callable[[str], bool]:
    """Whether a normal form is buried as this kind, for asking about many: one hash a salt and question."""
    digests: dict[str, set[str]] = {}
    for stone in stones:
        if stone.kind == kind:
            digests.setdefault(stone.salt, set()).add(stone.digest)
    return lambda key: any(_digest(salt, key) in known for salt, known in digests.items())


def with_stones(text: str, stones: Iterable[Tombstone]) -> str:
    """The file with these lines added, all lines sorted, each once."""
    lines = {line + "\n" for line in text.splitlines() if line.strip()}
    return "".join(sorted(lines | {stone.line() for stone in stones}))


def without_keys(text: str, keys: Iterable[str]) -> str:
    """The file without the stones that bury these normal forms: what lifting one does."""
    wanted = tuple(keys)
    stones = parse(text)
    lifted = {stone.line() for stone in stones if any(matches([stone], key) for key in wanted)}
    return "".join(line for line in text.splitlines(keepends=True) if line not in lifted)


def merge(base: str, ours: str, theirs: str) -> str:
    """Merges three files as sets of lines: what either added stays, what one lifted goes."""
    before, one, other = (
        frozenset(line for line in text.splitlines() if line.strip()) for text in (base, ours, theirs)
    )
    alive = (one & other) | (one - before) | (other - before)
    return "".join(f"{line}\n" for line in sorted(alive))


def _digest(salt: str, key: str) -> str:
    return hashlib.sha256(f"{salt}\0{key}".encode("utf-8", "surrogateescape")).hexdigest()
