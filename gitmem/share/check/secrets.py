"""Rules about credentials: the guard's own findings, by the units that it stores or refuses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gitmem.rules.secrets import scan
from gitmem.share.check.finding import Finding, Level, quoted
from gitmem.share.check.side import Text


def judge_secrets(texts: Sequence[tuple[Text, Text | None]], allow: frozenset[str]) -> Iterator[Finding]:
    """Finds credentials; what stood in the file before is not scanned again.

    Args:
        texts: each file, and what it was before.
        allow: fingerprints that a person accepted.

    Raises:
        DetectorUnavailable: nothing can be said about any text.
    """
    places: list[tuple[str, int, frozenset[str]]] = []
    units: list[str] = []
    for after, before in texts:
        known = {unit for unit, _ in _units(before)} if before else frozenset()
        fresh = [(unit, line) for unit, line in _units(after) if unit not in known]
        told = scan(tuple(known), allow) if fresh and after.kind != "memory" else ()
        prints = frozenset(found.fingerprint for findings in told for found in findings)
        places += [(after.path, line, prints) for _, line in fresh]
        units += [unit for unit, _ in fresh]
    for (path, line, prints), findings in zip(places, scan(units, allow), strict=True):
        for found in findings:
            if found.fingerprint in prints:
                continue
            what = f"{found.rule} {found.fingerprint}: {quoted(found.redacted)}"
            level: Level = "error" if found.severity == "block" else "notice"
            yield Finding(path, line + found.line - 1, "secret", what, level)


def _units(text: Text) -> Iterator[tuple[str, int]]:
    """The pieces of a file that are stored or refused each by itself, and the line each begins on."""
    if text.kind != "memory":
        yield text.text, 1
        return
    line = 1
    front = text.memory.front
    for field in front.fields if front else ():
        line += 1 if line == 1 else 0
        if field.raw.strip():
            yield field.raw, line
        line += field.raw.count("\n")
    line = 1 + (front.render().count("\n") if front else 0)
    for claim in text.memory.parsed.claims:
        line += claim.lead.count("\n")
        yield claim.text, line
        line += claim.text.count("\n")
