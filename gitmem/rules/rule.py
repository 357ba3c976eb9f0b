"""One thing that a rule found, as every rule says it, whatever asked: a write, a request or a dream."""

from __future__ import annotations

from typing import Literal

from gitmem.values import dataclass

Level = Literal["error", "notice"]


@dataclass(frozen=True, order=True)
class Finding:
    """What is wrong, and where.

    Attributes:
        path: from the root of the tree that was judged; hostile text. Empty where it is about no file.
        line: 1-based; 1 where there is no line to show.
        rule: what was broken, one word (`secret`, `path`, `account`, ...).
        message: for a person, on one line; says the same wherever in the file it stands.
        level: an `error` stops the change, a `notice` is shown.
        claim: reference (`<file>#<12 hex>`) of the claim it is about; empty for a whole file.
        text: the claim or line, printable and with credentials replaced; empty where none is shown.
        fingerprints: what to put on the allow list to let it pass; empty where nothing would.
        commit: name of the commit that did it; empty where the trees as a whole did.
    """

    path: str
    line: int
    rule: str
    message: str
    level: Level = "error"
    claim: str = ""
    text: str = ""
    fingerprints: tuple[str, ...] = ()
    commit: str = ""
