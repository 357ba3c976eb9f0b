"""Links that lead nowhere, and what became of the memories that they once led to."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import PurePosixPath

from gitmem.core.account import claims_at, is_memory
from gitmem.core.memory import parse
from gitmem.core.merge import agent_folder
from gitmem.dream.gathering.history import Past
from gitmem.engines.offline.links import inline_links, links, slug, spoken

Dangling = dict[str, set[str]]
"""Slug of a name that no memory has to the ways in which links write it."""


def dangling(files: Mapping[str, bytes], agents: Collection[str] = ()) -> Dangling:
    """Links of some agents' memories to names that no memory of the scope has.

    Args:
        agents: folder names; empty for all.
    """
    known: set[str] = set()
    linking: dict[str, tuple[str, ...]] = {}
    for path, data in files.items():
        if not is_memory(path):
            continue
        known |= {slug(PurePosixPath(path).stem), slug(parse(path, data).name)}
        if (b"[[" in data or b".md" in data) and (not agents or agent_folder(path) in agents):
            texts = [claim.text for claim in claims_at(path, data)]
            linking[path] = tuple(link for text in texts for link in (*links(text), *inline_links(text)))
    found: Dangling = {}
    for link in {link for some in linking.values() for link in some}:
        if slug(link) not in known:
            found.setdefault(slug(link), set()).add(link)
    return found


def renamed(asked: Dangling, past: Past, files: Mapping[str, bytes]) -> dict[str, str]:
    """Each name that a link uses and a memory once had, to the name that a link says now.

    Returns:
        An empty name where the memory is gone; nothing of names that no memory ever had.
    """
    return {
        link: spoken(parse(path, files[path])) if path else ""
        for slug, path in past.became.items()
        for link in asked[slug]
    }
