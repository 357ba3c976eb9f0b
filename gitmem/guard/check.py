"""The verdict on what is about to be stored, claim by claim, before any object is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gitmem.guard.paths import check_path
from gitmem.guard.secrets import Finding, redact, scan
from gitmem.guard.text import printable

RefusalKind = Literal["secret", "path"]


@dataclass(frozen=True)
class Refusal:
    """A claim or file that is not stored. It stays where it is, uncommitted, until a person settles it.

    Attributes:
        path: path in the memory tree; empty where the caller gave none.
        claim_text_redacted: the claim, printable, credentials replaced; empty for a path.
        reason: what is wrong, for a person.
        kind: `secret` or `path`.
        fingerprints: what to put on the allow list to let it pass; empty where nothing would.
    """

    path: str
    claim_text_redacted: str
    reason: str
    kind: RefusalKind
    fingerprints: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """What may be stored and what may not.

    Attributes:
        allowed: indexes of the claims that may be stored, ascending.
        refused: the others, with reasons.
        warnings: findings in allowed claims that a person should see.
    """

    allowed: tuple[int, ...]
    refused: tuple[Refusal, ...]
    warnings: tuple[Finding, ...] = ()


def refused_claims(
    claims: Sequence[str], allow: frozenset[str] = frozenset(), *, path: str = ""
) -> dict[int, Refusal]:
    """Returns the claims that may not be stored: index to refusal.

    Args:
        claims: texts of claims (descriptions too); new ones only, so that a scan stays cheap.
        allow: fingerprints that a person accepted.
        path: path in the memory tree, for the refusals.

    Raises:
        DetectorUnavailable: nothing can be said about any claim; store none.
    """
    return {
        index: _refusal(claims[index], found, path)
        for index, found in enumerate(scan(claims, allow))
        if any(finding.severity == "block" for finding in found)
    }


def judge(path: str, claims: Sequence[str], allow: frozenset[str] = frozenset()) -> Verdict:
    """Judges one file: its path, then each of its claims.

    Args:
        path: path in the memory tree; an unsafe one refuses the whole file.
        claims: texts of its claims.
        allow: fingerprints that a person accepted.

    Raises:
        DetectorUnavailable: nothing can be said about any claim; store none.
    """
    reason = check_path(path)
    if reason is not None:
        return Verdict((), (Refusal(path, "", reason, "path"),))
    scanned = scan(claims, allow)
    refused = {
        index: _refusal(claims[index], found, path)
        for index, found in enumerate(scanned)
        if any(finding.severity == "block" for finding in found)
    }
    return Verdict(
        tuple(index for index in range(len(claims)) if index not in refused),
        tuple(refused.values()),
        tuple(finding for index, found in enumerate(scanned) if index not in refused for finding in found),
    )


def _refusal(claim: str, found: tuple[Finding, ...], path: str) -> Refusal:
    blocking = [finding for finding in found if finding.severity == "block"]
    rules = ", ".join(dict.fromkeys(finding.rule for finding in blocking))
    return Refusal(
        path,
        printable(redact(claim, found)),
        f"holds a secret ({rules})",
        "secret",
        tuple(finding.fingerprint for finding in blocking),
    )
