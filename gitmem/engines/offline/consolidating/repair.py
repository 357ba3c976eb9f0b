"""Links that lead nowhere: led to where the history of names or a slip of the pen says, else told of."""

from __future__ import annotations

from collections.abc import Mapping

from gitmem.core.merge import agent_folder
from gitmem.engines.offline.consolidating.links import Names, Way, inline_links, links, slug
from gitmem.engines.offline.consolidating.work import Work, with_links

REPAIRED = 50
"""Links of one memory that are looked after in one dream."""


def repair_links(work: Work, renamed: Mapping[str, str]) -> None:
    """One change for each name that a memory links to in vain and that is known; a note for each other.

    Args:
        renamed: name that links may use to the name of the memory now; empty where it is gone.
    """
    names = Names(work.memories, renamed)
    unknown: dict[str, list[str]] = {}
    for path in work.paths():
        claims = work.memories[path].claims
        dangling = [link for claim in claims for link in links(claim.text) if not names.leads(link)]
        files = [file for claim in claims for file in inline_links(claim.text)]
        # A file that history does not know may be one of the code's.
        there = agent_folder(path)
        dangling += [
            file
            for file in files
            if f"{there}/{file}" not in work.memories and names.remembered(file) is not None
        ]
        for link in list({slug(link): link for link in reversed(dangling)}.values())[:REPAIRED]:
            if not _repair(work, path, link, names):
                unknown.setdefault(link, []).append(work.memories[path].name)
    for link, where in unknown.items():
        more = f" and {len(where) - 1} more" if len(where) > 1 else ""
        work.notes.append(f"link: [[{link}]] in {where[0]}{more} leads to no memory")


def _repair(work: Work, path: str, link: str, names: Names) -> bool:
    """Proposes where a link leads; False where nobody knows."""
    memory, agent = work.memories[path], agent_folder(path)
    now = names.remembered(link)
    meant = now or (names.meant(link) if now is None else "")
    if now is None and not meant:
        return False
    way = names.way(meant, agent) if meant else Way()
    if now:
        why = f"{link} is {way.name} now"
        subject = f"Lead [[{link}]] in {memory.name} to {way.name}"
        reason = f"History says what became of {link}: it is {way.name} now."
    elif meant:
        why = f"no memory is named {link}"
        subject = f"Point [[{link}]] in {memory.name} at {way.name}"
        reason = (
            f"No memory is named {link}; {way.name} is the only one whose name differs by a slip alone."
        )
    else:
        why = f"{link} is gone"
        subject = f"Unlink {link} in {memory.name}"
        reason = f"History says that {link} was deleted; its name stays as words."
    turned = with_links(memory, {slug(link): way}, why)
    if turned is None or not turned[1]:
        return False
    fates = tuple(turned[1])
    if not work.is_settled(agent, fates):
        work.propose("link", {path: turned[0]}, fates, subject, reason)
    return True
