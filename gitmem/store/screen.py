"""Holds back what may not be stored, claim by claim, before any object is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace

from gitmem.core import index
from gitmem.core.errors import CheckFailed
from gitmem.core.limits import OTHER_BYTES, size_problem
from gitmem.core.memory import Memory, parse
from gitmem.core.merge import kind
from gitmem.core.names import agent_folder_name, is_agent_folder
from gitmem.core.text import decode, encode
from gitmem.guard.check import Refusal, refusal, weigh
from gitmem.guard.paths import check_path
from gitmem.guard.secrets import Finding, find_secrets, redact
from gitmem.values import dataclass


@dataclass(frozen=True)
class Caution:
    """What may be a credential and is stored: a person should see it.

    Attributes:
        path: path in the memory tree.
        rule: why it was noticed, e.g. `password-in-prose`.
        line: the line it stands on, the credential replaced.
        fingerprint: what to put on the allow list to hear no more of it.
    """

    path: str
    rule: str
    line: str
    fingerprint: str


@dataclass(frozen=True)
class Screened:
    """Files with what was refused taken out.

    Attributes:
        files: path to content that may be stored; a file refused whole is as in the base, or absent.
        refusals: what was held back; it stays in the live directory, uncommitted.
        warnings: what is stored and should be looked at.
        bad: path to the texts (claims, lines) in it that were refused.
    """

    files: dict[str, bytes]
    refusals: tuple[Refusal, ...]
    warnings: tuple[Caution, ...] = ()
    bad: Mapping[str, frozenset[str]] = field(default_factory=dict)


def screen(base: Mapping[str, bytes], files: Mapping[str, bytes], allow: frozenset[str]) -> Screened:
    """Judges what is new in these files.

    Args:
        base: what is stored already; its claims are not judged again.
        files: path in the memory tree to content.
        allow: fingerprints of secrets that a person accepted.

    Raises:
        DetectorUnavailable: nothing can be said about any claim; store none.
    """
    refusals: list[Refusal] = []
    judged: dict[str, bytes] = {}
    for path, data in files.items():
        held = _whole_refused(path, allow) if base.get(path) != data and path not in base else None
        held = held or _too_large(path, base.get(path), data)
        if held:
            refusals.append(held)
        else:
            judged[path] = data
    pieces = [
        (path, text)
        for path, data in judged.items()
        if base.get(path) != data
        for text in _new_texts(path, base.get(path), data)
    ]
    weighed = weigh([text for _, text in pieces], allow)
    bad: dict[str, set[str]] = {}
    for number, found in sorted(weighed.refused.items()):
        path, text = pieces[number]
        bad.setdefault(path, set()).add(text)
        refusals.append(replace(found, path=path))
    for path in dict.fromkeys(path for path, _ in pieces):
        new = [text for at, text in pieces if at == path and text not in bad.get(path, ())]
        for text, one in _across(path, judged[path], new, bad.get(path, frozenset()), allow):
            bad.setdefault(path, set()).add(text)
            refusals.append(one)
    # One credential may stand in the description, the body and the index line: it is told once.
    warnings: dict[str, Caution] = {}
    for number, noticed in sorted(weighed.warned.items()):
        path, text = pieces[number]
        for each in noticed if text not in bad.get(path, ()) else ():
            warnings.setdefault(each.fingerprint, Caution(path, each.rule, each.redacted, each.fingerprint))
    result: dict[str, bytes] = {}
    for path, data in files.items():
        kept = None
        if path in judged:
            kept = without_texts(path, data, bad[path]) if path in bad else data
        if kept is not None:
            result[path] = kept
        elif path in base:
            result[path] = base[path]
    frozen = {path: frozenset(texts) for path, texts in bad.items()}
    return Screened(result, tuple(refusals), tuple(warnings.values()), frozen)


def refuse_secrets(
    base: Mapping[str, bytes], edits: Mapping[str, bytes | None], allow: frozenset[str]
) -> tuple[Caution, ...]:
    """Raises where something new in these edits may not be stored: for writes made whole or not at all.

    Args:
        base: path to content as stored now, of those that the edits touch.
        edits: path to new content, None to delete.
        allow: fingerprints of secrets that a person accepted.

    Returns:
        What may be stored and should be looked at.

    Raises:
        CheckFailed: it names the file and how to allow a false alarm.
        DetectorUnavailable: nothing can be said about any claim.
    """
    files = {path: data for path, data in edits.items() if data is not None and kind(path) != "tombstones"}
    screened = screen(base, files, allow)
    if not screened.refusals:
        return screened.warnings
    first = screened.refusals[0]
    prints = " ".join(first.fingerprints)
    hint = "Leave the secret out and name where it is kept. If it is none: "
    # The name of a new file may be made from the very text.
    where = first.path if first.path in base or first.kind != "secret" else "the text"
    raise CheckFailed(
        f"Not stored: {where} {first.reason}: {first.claim_text_redacted}".rstrip(": "),
        f"{hint}git config --global --add gitmem.allow {prints}" if prints else "",
    )


def _whole_refused(path: str, allow: frozenset[str]) -> Refusal | None:
    """Why a new file may not be stored under its name; the name itself is not told where it is a secret."""
    reason = check_path(path)
    if reason:
        return Refusal(path, "", reason, "path")
    folder, slash, rest = path.removesuffix(".md").partition("/")
    if slash and is_agent_folder(folder):
        # Its escapes would break a secret apart.
        folder = agent_folder_name(folder)
    name = f"{folder}{slash}{rest}".replace("/", "\n")
    found = [one for one in find_secrets(name, allow) if one.severity == "block"]
    if found and kind(path) in ("memory", "host"):
        return replace(refusal(name, found, redact(name, found).replace("\n", "/")), claim_text_redacted="")
    return None


def _too_large(path: str, base: bytes | None, data: bytes) -> Refusal | None:
    """A file that grew beyond its limit is held; what was larger already may shrink."""
    problem = size_problem(kind(path), len(data))
    if problem is None or base == data or (base is not None and len(data) <= len(base)):
        return None
    return Refusal(path, "", problem, "size")


def _across(
    path: str, data: bytes, new: list[str], refused: Iterable[str], allow: frozenset[str]
) -> Iterator[tuple[str, Refusal]]:
    """New texts of a file in which a credential lies only when they are read together.

    A key with blank lines is several paragraphs; an id and its secret are two list items.
    """
    if len(new) + len(set(refused)) < 2 or len(data) > OTHER_BYTES:
        return
    whole = decode(data)
    found = [one for one in find_secrets(whole, allow) if one.severity == "block"]
    if not found:
        return
    at = 0
    wanted = set(new)
    known = set(refused)
    for text in texts_of(path, data):
        start = whole.find(text, at) if text else -1
        if start < 0:
            continue
        at = start + len(text)
        touching = [one for one in found if any(low < at and high > start for low, high in one.spans)]
        # One that ends in a refused text alone was found there by itself.
        if touching and text in wanted and text not in known:
            yield text, refusal(text, _within(touching, start, text), path)


def _within(found: list[Finding], start: int, text: str) -> list[Finding]:
    """The findings of a whole file as those of one of its texts."""
    size = len(text)
    return [
        replace(one, spans=tuple((max(0, low - start), min(size, high - start)) for low, high in one.spans
                                 if low < start + size and high > start))
        for one in found
    ]  # fmt: skip


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
