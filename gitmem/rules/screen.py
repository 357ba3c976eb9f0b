"""The rules of a write: what may not be stored is held back, claim by claim, before an object is made."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from gitmem.core import index
from gitmem.core.errors import CheckFailed
from gitmem.core.limits import MEMORY_BYTES, OTHER_BYTES
from gitmem.core.memory import Memory, parse
from gitmem.core.names import kind
from gitmem.core.text import decode, encode, printable
from gitmem.rules.paths import check_path
from gitmem.rules.rule import Finding
from gitmem.rules.secrets import (
    Secret,
    named_after,
    nameless,
    path_read,
    redact,
    scan,
    scan_together,
    values,
)
from gitmem.values import dataclass

_MAY_HOLD = "may hold"
_OPAQUE = re.compile(r"(?=[\w+/=]*\d)(?=[\w+/=]*[A-Za-z])[\w+/=]{20,}")


@dataclass(frozen=True)
class Weighed:
    """What was found in some claims.

    Attributes:
        refused: index of a claim that may not be stored to the reason.
        warned: index of another that may be stored to what a person should see in it.
    """

    refused: dict[int, Finding]
    warned: dict[int, tuple[Secret, ...]]


@dataclass(frozen=True)
class Screened:
    """Files with what was refused taken out.

    Attributes:
        files: path to content that may be stored; a file refused whole is as in the base, or absent.
        refusals: what was held back (rules `secret`, `path`, `size`); it stays where it is, uncommitted.
        warnings: what is stored and should be looked at; its rule is the detector's.
        bad: path to the texts (claims, lines) in it that were refused.
    """

    files: dict[str, bytes]
    refusals: tuple[Finding, ...]
    warnings: tuple[Finding, ...] = ()
    bad: Mapping[str, frozenset[str]] = field(default_factory=dict)


def refused_claims(
    claims: Sequence[str], allow: frozenset[str] = frozenset(), *, path: str = ""
) -> dict[int, Finding]:
    """Returns the claims that may not be stored: index to finding; see `weigh`."""
    return weigh(claims, allow, path=path).refused


def weigh(claims: Sequence[str], allow: frozenset[str] = frozenset(), *, path: str = "") -> Weighed:
    """Judges the claims of one change one by one; a value that one of them gives away is bad in all.

    Args:
        claims: texts of claims (descriptions too); new ones only, so that a scan stays cheap.
        allow: fingerprints that a person accepted.
        path: path in the memory tree, for the findings.

    Raises:
        DetectorUnavailable: nothing can be said about any claim; store none.
    """
    scanned = dict(enumerate(scan_together(claims, allow)))
    refused = {
        index: refusal(claims[index], found, path)
        for index, found in scanned.items()
        if any(secret.severity == "block" for secret in found)
    }
    return Weighed(refused, {at: found for at, found in scanned.items() if found and at not in refused})


def refusal(claim: str, found: Sequence[Secret], path: str) -> Finding:
    """Says why a claim is not stored, from all that was found in it: what blocks, else what warns.

    Beside a credential often stands another that no rule knows, so of a refused claim no run of letters and
    digits is shown that could be one.
    """
    blocking = [secret for secret in found if secret.severity == "block"] or found
    rules = ", ".join(dict.fromkeys(secret.rule for secret in blocking))
    verb = "holds" if any(secret.severity == "block" for secret in found) else _MAY_HOLD
    return Finding(
        path,
        1,
        "secret",
        f"{verb} a secret ({rules})",
        text=printable(_OPAQUE.sub("[…]", redact(claim, found))),
        fingerprints=tuple(secret.fingerprint for secret in blocking),
    )


def doubtful(finding: Finding) -> bool:
    """Whether what was held back only may be a secret, so that a person can have it stored all the same."""
    return finding.rule == "secret" and finding.message.startswith(_MAY_HOLD)


def screen(
    base: Mapping[str, bytes], files: Mapping[str, bytes], allow: frozenset[str], *, hold: bool = False
) -> Screened:
    """Judges what is new in these files.

    A value that a rule recognises anywhere in the change is looked for in all that is new in it, names too.

    Args:
        base: what is stored already; its claims are not judged again.
        files: path in the memory tree to content.
        allow: fingerprints of secrets that a person accepted.
        hold: whether what only may be a secret is held back as well, for a person to decide.

    Raises:
        DetectorUnavailable: nothing can be said about any claim; store none.
    """
    refusals: list[Finding] = []
    judged: dict[str, bytes] = {}
    unfit = _unfit([path for path in files if path not in base], allow)
    for path, data in files.items():
        held = unfit.get(path) or _too_large(path, base.get(path), data)
        if held:
            refusals.append(held)
        else:
            judged[path] = data
    new = {path: _new_texts(path, base.get(path), d) for path, d in judged.items() if base.get(path) != d}
    pieces = [(path, text) for path, texts in new.items() for text in texts]
    wholes = _wholes(judged, new, allow)
    known: dict[str, Secret] = {}
    for whole, together in wholes.values():
        known |= values(whole, together)
    scanned = scan_together([text for _, text in pieces], allow, seen=known)
    for (_, text), found in zip(pieces, scanned, strict=True):
        known |= values(text, found)
    for path in [path for path in judged if path not in base]:
        if named := [one for one in named_after(path, known) if hold or one.severity == "block"]:
            refusals.append(replace(refusal("", named, nameless(path, known)), text=""))
            del judged[path]
    bad: dict[str, set[str]] = {path: set() for path in judged}
    for (path, text), found in zip(pieces, scanned, strict=True):
        if path in judged and (any(one.severity == "block" for one in found) or (hold and found)):
            bad[path].add(text)
            refusals.append(refusal(text, found, path))
    for path, (whole, together) in wholes.items():
        for text, one in _across(
            path, whole, together, set(new[path]) - bad[path] if path in judged else ()
        ):
            bad[path].add(text)
            refusals.append(one)
    # One credential may stand in the description, the body and the index line: it is told once.
    warnings: dict[str, Finding] = {}
    for (path, text), found in zip(pieces, scanned, strict=True):
        for secret in found if path in judged and text not in bad[path] else ():
            warnings.setdefault(secret.fingerprint, _caution(path, secret))
    result: dict[str, bytes] = {}
    for path, data in files.items():
        kept = None
        if path in judged:
            kept = without_texts(path, data, bad[path]) if bad[path] else data
        if kept is not None:
            result[path] = kept
        elif path in base:
            result[path] = base[path]
    frozen = {path: frozenset(texts) for path, texts in bad.items() if texts}
    return Screened(result, tuple(refusals), tuple(warnings.values()), frozen)


def _caution(path: str, secret: Secret) -> Finding:
    text = f"may hold a secret ({secret.rule})"
    return Finding(
        path, 1, secret.rule, text, "notice", text=secret.redacted, fingerprints=(secret.fingerprint,)
    )


def new_warnings(
    base: Mapping[str, bytes], files: Mapping[str, bytes], allow: frozenset[str]
) -> tuple[Finding, ...]:
    """What is new in these files, may be a secret and is stored all the same: told again where they leave.

    Args:
        base: what is there already.
        files: path in the memory tree to content.
        allow: fingerprints of secrets that a person accepted.

    Raises:
        DetectorUnavailable: nothing can be said about any claim.
    """
    return screen(base, files, allow).warnings


def doubt_told(one: Finding, done: str) -> str:
    """What only may be a secret as a person is told of it; `done` is what becomes of it: stored, leaves."""
    return f"{done}, but look: {one.path} may hold a credential ({one.rule}): {one.text}"


def refuse_secrets(
    base: Mapping[str, bytes],
    edits: Mapping[str, bytes | None],
    allow: frozenset[str],
    *,
    hold: bool = False,
) -> tuple[Finding, ...]:
    """Raises where something new in these edits may not be stored: for writes made whole or not at all.

    Args:
        base: path to content as stored now, of those that the edits touch.
        edits: path to new content, None to delete.
        allow: fingerprints of secrets that a person accepted.
        hold: whether what only may be a secret is refused as well.

    Returns:
        What may be stored and should be looked at.

    Raises:
        CheckFailed: it names the file and how to allow a false alarm.
        DetectorUnavailable: nothing can be said about any claim.
    """
    files = {path: data for path, data in edits.items() if data is not None}
    screened = screen(base, files, allow, hold=hold)
    if not screened.refusals:
        return screened.warnings
    first = screened.refusals[0]
    hint = "Leave the secret out and name where it is kept. If it is none: "
    if all(map(doubtful, screened.refusals)):
        hint = "Leave it out and name where it is kept; --allow stores it this once. If it is no secret: "
    # The name of a new file may be made from the very text.
    where = first.path if first.path in base or first.rule != "secret" else "the text"
    raise CheckFailed(
        f"Not stored: {where} {first.message}: {first.text}".rstrip(": "),
        f"{hint}{allow_command(first.fingerprints)}" if first.fingerprints else "",
    )


def allow_command(fingerprints: Iterable[str]) -> str:
    """The command by which a person says for good that these are no secrets."""
    return f"git config --global --add gitmem.allow {shlex.quote(' '.join(fingerprints))}"


def _unfit(paths: Sequence[str], allow: frozenset[str]) -> dict[str, Finding]:
    """Why new files may not be stored under their names; a name is not told where it is a secret."""
    reasons = {path: reason for path in paths if (reason := check_path(path))}
    refused = {path: Finding(path, 1, "path", reason) for path, reason in reasons.items()}
    names = {path: path_read(path) for path in paths if path not in reasons}
    for (path, name), every in zip(names.items(), scan(list(names.values()), allow), strict=True):
        if found := [one for one in every if one.severity == "block"]:
            told = refusal(name, found, redact(name, found).replace("\n", "/"))
            refused[path] = replace(told, text="")
    return refused


def _too_large(path: str, base: bytes | None, data: bytes) -> Finding | None:
    """A file that grew beyond its limit is held; what was larger already may shrink."""
    limit = MEMORY_BYTES if kind(path) == "memory" else OTHER_BYTES
    if len(data) <= limit or base == data or (base is not None and len(data) <= len(base)):
        return None
    return Finding(path, 1, "size", f"is larger than {limit:,} bytes")


def _wholes(
    files: Mapping[str, bytes], new: Iterable[str], allow: frozenset[str]
) -> dict[str, tuple[str, tuple[Secret, ...]]]:
    """Files that changed, and what blocks in each when all is read: a name says what stands below it."""
    whole = {path: decode(files[path]) for path in new}
    found = scan(list(whole.values()), allow, prose=False)
    return {
        path: (text, tuple(one for one in every if one.severity == "block"))
        for (path, text), every in zip(whole.items(), found, strict=True)
    }


def _across(
    path: str, whole: str, found: Sequence[Secret], new: Iterable[str]
) -> Iterator[tuple[str, Finding]]:
    """New texts of a file in which a credential lies only when they are read together.

    A key with blank lines is several paragraphs; an id and its secret are two list items.

    Args:
        whole, found: as `_wholes` gives them.
        new: texts of the file that are new and not refused yet.
    """
    wanted = set(new) if found else set()
    at = 0
    for text in texts_of(path, encode(whole)) if wanted else ():
        start = whole.index(text, at)
        at = start + len(text)
        touching = [part for one in found if (part := _within(one, start, at)).spans]
        if touching and text in wanted:
            yield text, refusal(text, touching, path)


def _within(found: Secret, start: int, end: int) -> Secret:
    """A finding of a whole file as one of a text in it; without spans where it is none there."""
    spans = ((max(start, low), min(end, high)) for low, high in found.spans)
    return replace(found, spans=tuple((low - start, high - start) for low, high in spans if low < high))


def _new_texts(path: str, base: bytes | None, data: bytes) -> list[str]:
    old = frozenset(texts_of(path, base)) if base is not None else frozenset()
    return [text for text in texts_of(path, data) if text not in old]


def texts_of(path: str, data: bytes) -> list[str]:
    """The texts of a file that are judged one by one: claims, and lines of what has none."""
    if kind(path) != "memory":
        return decode(data).splitlines()
    memory = parse(path, data)
    front = memory.front.render().splitlines() if memory.front else []
    return [*front, *(claim.text for claim in memory.parsed.claims)]


def without_texts(path: str, data: bytes, bad: Iterable[str]) -> bytes | None:
    """Returns the file less these texts; None where its frontmatter holds one."""
    texts = set(bad)
    if kind(path) == "index":
        units = index.parse(decode(data))
        return encode("".join(u.text + u.gap for u in units if not texts & set(u.text.splitlines())))
    if kind(path) != "memory":
        lines = decode(data).splitlines(keepends=True)
        return encode("".join(line for line in lines if line.rstrip("\r\n") not in texts))
    memory = parse(path, data)
    if memory.front and texts & set(memory.front.render().splitlines()):
        return None
    body = memory.parsed
    kept = "".join(claim.lead + claim.text for claim in body.claims if claim.text not in texts)
    return Memory(path, memory.front, kept + body.tail).render()
