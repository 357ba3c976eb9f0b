"""Holds back what may not be stored, claim by claim, before any object is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gitmem.guard.check import Refusal, refused_claims
from gitmem.guard.paths import check_path
from gitmem.memory import index
from gitmem.memory.encoding import decode, encode
from gitmem.memory.memory import Memory, parse
from gitmem.memory.merge import kind


@dataclass(frozen=True)
class Screened:
    """Files with what was refused taken out.

    Attributes:
        files: path to content that may be stored; a file refused whole is as in the base, or absent.
        refusals: what was held back; it stays in the live directory, uncommitted.
    """

    files: dict[str, bytes]
    refusals: tuple[Refusal, ...]


def screen(base: Mapping[str, bytes], files: Mapping[str, bytes], allow: frozenset[str]) -> Screened:
    """Judges what is new in these files.

    Args:
        base: what is stored already; its claims are not judged again.
        files: path in the memory tree to content.
        allow: fingerprints of secrets that a person accepted.

    Raises:
        DetectorUnavailable: nothing can be said about any claim; store none.
    """
    pieces = [
        (path, text)
        for path, data in files.items()
        if base.get(path) != data
        for text in _new_texts(path, base.get(path), data)
    ]
    verdicts = refused_claims([text for _, text in pieces], allow)
    bad: dict[str, set[str]] = {}
    refusals = []
    for number, refusal in sorted(verdicts.items()):
        path, text = pieces[number]
        bad.setdefault(path, set()).add(text)
        refusals.append(
            Refusal(path, refusal.claim_text_redacted, refusal.reason, refusal.kind, refusal.fingerprints)
        )
    result: dict[str, bytes] = {}
    for path, data in files.items():
        reason = check_path(path) if path not in base else None
        if reason:
            refusals.append(Refusal(path, "", reason, "path"))
            continue
        kept = _without(path, data, bad[path]) if path in bad else data
        if kept is not None:
            result[path] = kept
        elif path in base:
            result[path] = base[path]
    return Screened(result, tuple(refusals))


def _new_texts(path: str, base: bytes | None, data: bytes) -> list[str]:
    old = frozenset(_texts(path, base)) if base is not None else frozenset()
    return [text for text in _texts(path, data) if text not in old]


def _texts(path: str, data: bytes) -> list[str]:
    if kind(path) != "memory":
        return decode(data).splitlines()
    memory = parse(path, data)
    front = memory.front.render().splitlines() if memory.front else []
    return [*front, *(claim.text for claim in memory.parsed.claims)]


def _without(path: str, data: bytes, bad: set[str]) -> bytes | None:
    """The file less these texts; None where its frontmatter holds one."""
    if kind(path) == "index":
        units = index.parse(decode(data))
        return encode("".join(u.text + u.gap for u in units if not bad & set(u.text.splitlines())))
    if kind(path) != "memory":
        lines = decode(data).splitlines(keepends=True)
        return encode("".join(line for line in lines if line.rstrip("\r\n") not in bad))
    memory = parse(path, data)
    if memory.front and bad & set(memory.front.render().splitlines()):
        return None
    body = memory.parsed
    kept = "".join(claim.lead + claim.text for claim in body.claims if claim.text not in bad)
    return Memory(path, memory.front, kept + body.tail).render()
