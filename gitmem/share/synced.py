"""What a sync is told to do, and what it did: values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from gitmem.rules.rule import Finding
from gitmem.share.carrying import Carried
from gitmem.share.leaving import Leaving
from gitmem.share.tending import Tended
from gitmem.store.landing import Landing
from gitmem.store.remote import INBOX
from gitmem.values import dataclass


@dataclass(frozen=True)
class Options:
    """What a sync is to do.

    Attributes:
        remote: name of a configured remote; empty for the usual one.
        pull, push: whether to take in, and to send.
        dry_run: fetch only, and tell what would be done.
        allow: fingerprints of accepted secrets.
        ask: whether these memories, which leave for the first time, may.
        warn: is told what may be a secret in what is about to be sent.
        pause: waits after a lost race; called with the number of races lost so far, from 1.
        tell: is told what is being done, for who watches.
    """

    ask: Callable[[tuple[Leaving, ...]], bool]
    pause: Callable[[int], None]
    remote: str = ""
    pull: bool = True
    push: bool = True
    dry_run: bool = False
    allow: frozenset[str] = frozenset()
    tell: Callable[[str], None] = lambda _: None
    warn: Callable[[tuple[Finding, ...]], None] = lambda _: None


@dataclass(frozen=True)
class Synced:
    """What a sync did, or with `dry_run` would do.

    Attributes:
        fetched: memories that the remote changed or added here.
        merged: memories that both sides had changed.
        pushed: memories that the remote's branch did not have like this.
        branch: full name of the branch that was pushed to; empty where nothing was pushed.
        lost: races lost on the way.
        leaves: memories that leave for the first time.
        held: those of them that were not sent because nobody agreed.
        doubts: what may be a secret in what is sent, and is stored all the same.
        personal: memories about a person, which are held back while all else leaves.
        arrived: secrets that came from the remote: rotate them.
        buried: (path, text) of claims that a tombstone took.
        split: files that moved aside because two wanted one path.
        before: commit of the project scope before anything was merged; empty where nothing was.
        switched: why the remote refuses the memory branch, which turned this clone to review; hostile text.
        left_to_host: why the remote refuses the memory branch, so that inboxes which were accepted here
            wait for its reviewers; hostile text.
        landed: (full name of a branch at the remote, how it landed) of what this clone had asked for.
        tended: what became of dreams and inboxes.
        carried: what was brought over a purge.
        stands_in_private: whether the private repository holds what was purged.
    """

    remote: str
    fetched: int = 0
    merged: int = 0
    pushed: int = 0
    branch: str = ""
    lost: int = 0
    leaves: tuple[Leaving, ...] = ()
    held: tuple[Leaving, ...] = ()
    doubts: tuple[Finding, ...] = ()
    personal: tuple[Leaving, ...] = ()
    arrived: tuple[Finding, ...] = ()
    buried: tuple[tuple[str, str], ...] = ()
    split: tuple[str, ...] = field(default=())
    before: str = ""
    switched: str = ""
    left_to_host: str = ""
    landed: tuple[tuple[str, Landing], ...] = ()
    tended: Tended = field(default_factory=Tended)
    carried: tuple[Carried, ...] = ()
    stands_in_private: bool = False

    @property
    def in_inbox(self) -> bool:
        """Whether what was sent waits for review instead of being on the memory branch."""
        return self.branch.startswith(INBOX)
