"""Rules about what leads where: links, index lines, names that two memories share."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from pathlib import PurePosixPath

from gitmem.core import index
from gitmem.core.limits import MEMORY_BYTES
from gitmem.core.names import INDEX, is_archived, slugify
from gitmem.share.check.finding import Finding, Level, quoted
from gitmem.share.check.side import Side, Text

_LINK = re.compile(r"\[\[(\w[^\[\]\n|#]*)(?:[|#][^\[\]\n]*)?\]\]")
_CODE = re.compile(
    r"^[ \t]*(?P<fence>`{3,}|~{3,})[^\n]*\n(?:.*?^[ \t]*(?P=fence)[`~]*[ \t]*$|.*)"
    r"|(?<!`)(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)",
    re.DOTALL | re.MULTILINE,
)

Place = tuple[str, str]
"""A path, and what the link there says."""


def judge_links(before: Side | None, after: Side, changed: Set[str]) -> Iterator[Finding]:
    """Finds links and index lines that lead nowhere since the request, and memories that no index names.

    A link that a request wrote is an error; one that it left behind, by taking its target away, a notice.

    Args:
        before: None judges all.
        changed: paths that differ.
    """
    folders = sorted(after.folders)
    known = {place for folder in folders for place in _dangling(before, folder)} if before else frozenset()
    listed = {path for folder in folders for path in _unlisted(before, folder)} if before else frozenset()
    for folder in folders:
        for place, line in _dangling(after, folder).items():
            if place in known:
                continue
            path, link = place
            what = "entry" if path.endswith(f"/{INDEX}") and not link.startswith("[[") else "link"
            level: Level = "error" if path in changed or before is None else "notice"
            yield Finding(path, line, "link", f"{what} {quoted(link)} leads nowhere", level)
        for path in _unlisted(after, folder) - listed:
            what = f"has no line in {INDEX} yet: gitmem's next write adds it"
            yield Finding(path, 1, "index", what, "notice")


def judge_names(before: Side | None, after: Side, changed: Set[str]) -> Iterator[Finding]:
    """Finds memories of one agent that have the same name since the request."""
    for folder in sorted(after.folders):
        known = _named(before, folder) if before else {}
        for name, paths in _named(after, folder).items():
            if len(paths) < 2 or paths <= known.get(name, frozenset()):
                continue
            shown = max(paths & changed or paths)
            others = ", ".join(quoted(path) for path in sorted(paths) if path != shown)
            line = _name_line(after.texts[shown])
            yield Finding(shown, line, "duplicate", f"has the name {quoted(name)}, as {others} does")


def _named(side: Side, folder: str) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for text in side.memories(folder):
        found.setdefault(slugify(text.memory.name), set()).add(text.path)
    return {name: frozenset(paths) for name, paths in found.items()}


def _dangling(side: Side | None, folder: str) -> dict[Place, int]:
    """Links of a folder that lead nowhere, and the line of each."""
    if side is None or folder not in side.folders:
        return {}
    names = {
        slugify(name)
        for other in side.folders
        for text in side.memories(other)
        for name in (text.memory.name, PurePosixPath(text.path).stem)
    }
    files = {name for name in side.folders[folder] if not is_archived(name)}
    files |= {PurePosixPath(name).name for name in side.folders[folder] if is_archived(name)}
    found: dict[Place, int] = {}
    for name in side.folders[folder]:
        text = side.texts.get(f"{folder}/{name}")
        if text is None or text.kind not in ("memory", "index") or len(text.data) > MEMORY_BYTES:
            continue
        for link, line in _links(text):
            if slugify(link.strip().removesuffix(".md")) not in names:
                found.setdefault((text.path, f"[[{link.strip()}]]"), line)
        if name == INDEX:
            for target, line in _entries(text):
                if target not in files:
                    found.setdefault((text.path, target), line)
    return found


def _links(text: Text) -> Iterator[tuple[str, int]]:
    """Links of a file outside of code; `[[tool.mypy]]` and `[[1, 2]]` are no names of memories."""
    if "[[" not in text.text:
        return
    shown = _CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text.text)
    for match in _LINK.finditer(shown):
        link = match[1].strip().removesuffix(".md")
        if not set(link) & set(".,;:=\"'()$") and any(char.isalpha() for char in link):
            yield match[1], shown.count("\n", 0, match.start()) + 1


def _entries(text: Text) -> Iterator[tuple[str, int]]:
    line = 1
    for unit in index.parse(text.text):
        if unit.target:
            yield unit.target, line
        line += (unit.text + unit.gap).count("\n")


def _unlisted(side: Side | None, folder: str) -> frozenset[str]:
    """Hot memories of a folder that its index does not name."""
    if side is None or folder not in side.folders:
        return frozenset()
    text = side.texts.get(f"{folder}/{INDEX}")
    listed = index.targets(text.text) if text else ()
    hot = (text for text in side.memories(folder) if "/" not in text.name)
    return frozenset(text.path for text in hot if text.name not in listed)


def _name_line(text: Text) -> int:
    line = 2
    for field in text.memory.front.fields if text.memory.front else ():
        if field.key == "name":
            return line
        line += field.raw.count("\n")
    return 1
