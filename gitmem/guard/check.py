"""The verdict on what is about to be stored, claim by claim, before any object is written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from gitmem.core.text import printable
from gitmem.guard.secrets import Finding, redact, scan
from gitmem.values import dataclass

RefusalKind = Literal["secret", "path", "size"]

_OPAQUE = re.compile(r"(?=[\w+/=]*\d)(?=[\w+/=]*[A-Za-z])[\w+/=]{20,}")


@dataclass(frozen=True)
class Refusal:
    """A claim or file that is not stored. It stays where it is, uncommitted, until a person settles it.

    Attributes:
        path: path in the memory tree; empty where the caller gave none.
        claim_text_redacted: the claim, printable, credentials replaced; empty for a path or a size.
        reason: what is wrong, for a person.
        kind: `secret`, `path` or `size`.
        fingerprints: what to put on the allow list to let it pass; empty where nothing would.
    """

    path: str
    claim_text_redacted: str
    reason: str
    kind: RefusalKind
    fingerprints: tuple[str, ...] = ()


@dataclass(frozen=True)
class Weighed:
    """What was found in some claims.

    Attributes:
        refused: index of a claim that may not be stored to the reason.
        warned: index of another that may be stored to what a person should see in it.
    """

    refused: dict[int, Refusal]
    warned: dict[int, tuple[Finding, ...]]


def refused_claims(
    claims: Sequence[str], allow: frozenset[str] = frozenset(), *, path: str = ""
) -> dict[int, Refusal]:
    """Returns the claims that may not be stored: index to refusal; see `weigh`."""
    return weigh(claims, allow, path=path).refused


def weigh(claims: Sequence[str], allow: frozenset[str] = frozenset(), *, path: str = "") -> Weighed:
    """Judges claims one by one.

    Args:
        claims: texts of claims (descriptions too); new ones only, so that a scan stays cheap.
        allow: fingerprints that a person accepted.
        path: path in the memory tree, for the refusals.

    Raises:
        DetectorUnavailable: nothing can be said about any claim; store none.
    """
    scanned = dict(enumerate(scan(claims, allow)))
    refused = {
        index: refusal(claims[index], found, path)
        for index, found in scanned.items()
        if any(finding.severity == "block" for finding in found)
    }
    return Weighed(refused, {at: found for at, found in scanned.items() if found and at not in refused})


def refusal(claim: str, found: Sequence[Finding], path: str) -> Refusal:
    """Makes the refusal of one claim, from all that was found in it.

    Beside a credential often stands another that no rule knows, so of a refused claim no run of letters and
    digits is shown that could be one.
    """
    blocking = [finding for finding in found if finding.severity == "block"]
    rules = ", ".join(dict.fromkeys(finding.rule for finding in blocking))
    return Refusal(
        path,
        printable(_OPAQUE.sub("[…]", redact(claim, found))),
        f"holds a secret ({rules})",
        "secret",
        tuple(finding.fingerprint for finding in blocking),
    )
