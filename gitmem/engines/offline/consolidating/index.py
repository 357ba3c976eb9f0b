"""What the index of an agent says that it should not, and what is over its limits."""

from __future__ import annotations

import re

from gitmem.core import index
from gitmem.core.account import reference
from gitmem.core.claim import Claim, claim_id, normal_form, repeated
from gitmem.core.facts import lacking
from gitmem.core.limits import ENTRY_CHARS, INDEX_BYTES, INDEX_LINES, MEMORY_BYTES
from gitmem.core.memory import Memory
from gitmem.core.text import decode
from gitmem.core.trailers import Fate
from gitmem.engines.offline.consolidating.edit import with_after
from gitmem.engines.offline.consolidating.words import sequence, words
from gitmem.engines.offline.consolidating.work import Work

NEW = 1 / 3
"""Share of the words of an index line that its memory may lack and still say the same."""

_HOOK = re.compile(
    r"^[-*+]\s+(?:\[[^\[\]]*\]\([^()\n]*\)|`?[\w.-]+\.md`?)\s*(?:[-–—:]+\s+)?(?P<hook>.*)", re.DOTALL
)


def keep_long_entries(work: Work, agent: str) -> None:
    """Moves what an overlong index line says, and its memory does not, into the memory as a claim.

    The line itself stays: an index is never changed on the branch of a dream.
    """
    listed = f"{agent}/{index.INDEX}"
    for unit in index.parse(decode(work.files.get(listed, b""))):
        path = f"{agent}/{unit.target}"
        memory = work.memories.get(path)
        match = _HOOK.match(unit.text.strip())
        if len(unit.text.rstrip()) <= ENTRY_CHARS or memory is None or match is None:
            continue
        hook = " ".join(match["hook"].split())
        key = normal_form(hook, item=False)
        if not key or says(memory, key):
            continue
        changed = with_after(memory, -1, [Claim(hook, "", key)])
        if changed is None or len(changed.render()) > MEMORY_BYTES:
            continue
        # Named as a claim of the index, so that a rejection of it is remembered.
        fate = Fate("merged", f"{listed}#{claim_id(key)[:12]}", reference(path, Claim(hook, "", key)))
        if work.is_settled(agent, (fate,)) or work.is_forgotten(agent, key):
            continue
        subject = f"Keep in {memory.name} what its index line says"
        reason = f"The line has {len(unit.text.rstrip())} characters, about {ENTRY_CHARS} is the limit."
        work.propose("index", {path: changed}, (fate,), subject, reason)


def says(memory: Memory, key: str) -> bool:
    """Whether a memory says this: a claim has the words in order, or all has every fact and most words.

    A line of an index sums its memory up in other words; a negation in it cannot be matched to a sentence.
    """
    wanted = sequence(repeated(key))
    claims = memory.claims
    for claim in claims:
        found = sequence(claim.key)
        if any(found[at : at + len(wanted)] == wanted for at in range(len(found) - len(wanted) + 1)):
            return True
    text = "\n".join(claim.key for claim in claims)
    facts = [fact for fact in lacking(key, text) if fact != "a negation"]
    mine = words(key)
    return not facts and len(mine - words(text)) <= NEW * len(mine)


def note_limits(work: Work, agent: str) -> None:
    """Lists memories and indexes over their limits, and index lines that are repaired on acceptance."""
    hot = work.hot(agent)
    for memory in hot:
        size = len(memory.render())
        if size > MEMORY_BYTES:
            work.notes.append(f"limit: {memory.name} has {size:,} bytes, the limit is {MEMORY_BYTES:,}")
    data = work.files.get(f"{agent}/{index.INDEX}", b"")
    text = decode(data)
    if text.count("\n") > INDEX_LINES or len(data) > INDEX_BYTES:
        work.notes.append(
            f"limit: the index of {agent} is over {INDEX_LINES} lines or {INDEX_BYTES:,} bytes"
        )
    named = index.named(text)
    for target in index.targets(text):
        if "/" not in target and f"{agent}/{target}" not in work.files:
            work.notes.append(f"index: {target} in the index of {agent} leads to no memory")
    for memory in hot:
        file = memory.path.removeprefix(f"{agent}/")
        if memory.path in work.files and file not in named:
            work.notes.append(f"index: {file} of {agent} has no line in the index")
