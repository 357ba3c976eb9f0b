"""What a proof is about: the commits of a dream as pairs of trees, and what is known besides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime

from gitmem.core.daily_log import LogLine
from gitmem.core.merge import Files
from gitmem.core.trailers import Fate
from gitmem.values import dataclass

Mark = tuple[str, str]
"""A claim that was given up: the agent's folder, and the claim's normal form."""


@dataclass(frozen=True)
class Step:
    """One commit of a dream.

    Attributes:
        before, after: memories that it changes, and those that its fates name: path from the root of the
            memory tree to content.
        fates: what it says of claims.
        person: whether it was made by hand, or by whoever learns: what it adds and rewords is theirs; what
            it takes away is judged only where it says something of claims.
        foreign: paths of what is no memory and is changed.
        commit: its name; empty before there is one.
        listed: path of a memory to its line in the index, where a fate says that a claim comes from there.
        lines: facts of daily logs of the tree, by reference, where a fate says that claims come from there.
    """

    before: Files
    after: Files
    fates: tuple[Fate, ...]
    person: bool = False
    foreign: tuple[str, ...] = ()
    commit: str = ""
    listed: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[str, LogLine] = field(default_factory=dict)


@dataclass(frozen=True)
class Ground:
    """What is known besides the steps.

    Attributes:
        limit: how many claims dreams may give up in 30 days; None for any number.
        spent: those that dreams gave up lately.
        allow: fingerprints of secrets that a person accepted.
        said: claim (`<file>#<12 hex>`) to when it was first said, for claims of which that is known.
        standing: all paths of the tree before; empty where nobody looked.
        odd: path to what is there at the end and is no plain file, as a phrase.
        end: what the steps together come to, where merges stand between them: the files that differ from
            the tree before, and those that fates name; None where it follows from the steps.
    """

    limit: int | None = None
    spent: frozenset[Mark] = frozenset()
    allow: frozenset[str] = frozenset()
    said: Mapping[str, datetime] = field(default_factory=dict)
    standing: frozenset[str] = frozenset()
    odd: Mapping[str, str] = field(default_factory=dict)
    end: Files | None = None
