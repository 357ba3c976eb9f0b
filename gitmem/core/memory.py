"""A memory: one fact, one markdown file, of one of four types; and how it is shown where changes are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, lru_cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal

from gitmem.core import frontmatter
from gitmem.core.frontmatter import Frontmatter
from gitmem.core.text import decode, encode
from gitmem.values import dataclass

if TYPE_CHECKING:
    from gitmem.core.claim import Body, Claim

MemoryType = Literal["user", "feedback", "project", "reference"]
TYPES: tuple[MemoryType, ...] = ("user", "feedback", "project", "reference")


@dataclass(frozen=True)
class Memory:
    """One file as read; `render` gives its bytes back.

    Attributes:
        path: where it stands, relative to the root of a tree or of an agent's folder.
        front: its frontmatter, None where it has none.
        body: everything after the frontmatter.
    """

    path: str
    front: Frontmatter | None
    body: str
    problems: tuple[str, ...] = field(default=())

    @property
    def name(self) -> str:
        """The `name` key, else the file's stem."""
        return (self.front.text("name") if self.front else "") or PurePosixPath(self.path).stem

    @property
    def description(self) -> str:
        """The `description` key, or empty."""
        return self.front.text("description") if self.front else ""

    @property
    def type(self) -> MemoryType:
        """One of the four types; `project` where the file names none or another."""
        named = self.front.text("type").lower() if self.front else ""
        return next((type for type in TYPES if type == named), "project")

    @cached_property
    def parsed(self) -> Body:
        """The body cut into claims."""
        from gitmem.core.claim import parse_body  # who only reads a memory cuts none

        return parse_body(self.body)

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """Claims of the body in order, then the description as one."""
        described = description_claim(self.description)
        return (*self.parsed.claims, *([described] if described else []))

    def render(self) -> bytes:
        """The file's bytes."""
        return encode((self.front.render() if self.front else "") + self.body)


@lru_cache(maxsize=16_384)
def parse(path: str, data: bytes) -> Memory:
    """Reads a memory file; never fails. A file is asked for again and again while it is judged and merged.

    Those of one scope fit: whoever goes through more than are kept, twice, finds none of them again.

    Args:
        path: its path, for the name of files without frontmatter.
        data: its bytes; those that are not UTF-8 survive as surrogates.
    """
    front, body = frontmatter.split(decode(data))
    return Memory(path, front, body)


def problems(memory: Memory) -> tuple[str, ...]:
    """What a reader of this file would stumble over, each as a phrase for a person."""
    found = []
    try:
        memory.render().decode("utf-8")
    except UnicodeDecodeError as error:
        found.append(f"not UTF-8 at byte {error.start}")
    if memory.front is None:
        found.append("no frontmatter")
    else:
        trouble = frontmatter.yaml_problem(memory.front)
        if trouble:
            found.append(trouble)
        named = memory.front.text("type")
        if named.lower() not in TYPES:
            found.append(f"unknown type {named!r}" if named else "no type")
    return tuple(found)


def description_claim(description: str) -> Claim | None:
    """The description as a claim; None where there is none."""
    from gitmem.core.claim import Claim, normal_form

    key = normal_form(description, item=False)
    return Claim(description, "", key) if key else None


def says(key: str, description: str) -> bool:
    """Whether a claim says what a description says: word for word, but for the mark at its end.

    What is remembered in one sentence is described by it.

    Args:
        key: the claim's normal form.
    """
    from gitmem.core.claim import normal_form

    wanted = normal_form(description, item=False)
    return bool(wanted) and key.rstrip(".!?") == wanted.rstrip(".!?")


def disputed_keys(memory: Memory) -> dict[str, str]:
    """Which disputes are about a value of the frontmatter that lost a merge, and no claim: mark to key."""
    from gitmem.core.claim import DISPUTED, with_dispute

    if memory.front is None or DISPUTED not in memory.body:
        return {}

    marked: dict[str, set[str]] = {}
    for claim in memory.parsed.claims:
        key, _, value = with_dispute(claim.text, "").partition(": ")
        if claim.dispute:
            named = value and "\n" not in value and memory.front.text(key)
            marked.setdefault(claim.dispute, set()).add(key if named else "")
    return {mark: min(keys) for mark, keys in marked.items() if len(keys) == 1 and min(keys)}


def without_lost(memory: Memory) -> tuple[Memory, dict[str, tuple[str, ...]]]:
    """A memory as it is shown: without values of the frontmatter that lost, and those by their key."""
    keys = disputed_keys(memory)
    if not keys:
        return memory, {}
    from gitmem.core.claim import with_dispute

    lost: dict[str, tuple[str, ...]] = {}
    body = ""
    for claim in memory.parsed.claims:
        if key := keys.get(claim.dispute, ""):
            lost[key] = (*lost.get(key, ()), with_dispute(claim.text, "").partition(": ")[2])
        else:
            body += (claim.lead if body else memory.parsed.claims[0].lead) + claim.text
    return (Memory(memory.path, memory.front, body + memory.parsed.tail) if lost else memory), lost


def is_said(loser: str, keys: Iterable[str]) -> bool:
    """Whether a description that lost a merge stands in the body, and is disputed with that claim.

    Args:
        loser: `description: …`, with its mark; another key is never said elsewhere.
        keys: normal forms of the body's claims.
    """
    from gitmem.core.claim import with_dispute

    key, _, value = with_dispute(loser, "").partition(": ")
    return key == "description" and any(says(claim, value) for claim in keys)


def create(name: str, description: str, type: str, body: str, file: str) -> Memory:
    """A new memory in the layout of current clients, its body ending in one newline."""
    return Memory(file, frontmatter.new(name, description, type), "\n" + body.strip() + "\n")


_KNOWN = re.compile(r"\s*(?:name|description|type|metadata)\s*:")
_PROSE = re.compile(r"(?:\*\*|[(\"'*_`\[]?)[^\W\d_]")
_FIRST = re.compile(r"\s{0,3}(?:[-+*]\s+|\d{1,9}[.)]\s+)?(?:\*\*|[(\"'*_`\[]?)\w")


def claim_lines(text: str) -> list[str]:
    """Lines of a claim as they are shown: prose on one, what has a shape of its own as it stands."""
    first, *more = text.replace("\r\n", "\n").split("\n")
    if _FIRST.match(first) and all(_PROSE.match(line.strip()) for line in more):
        return [" ".join(text.split())]
    return [first, *more]


def memory_text(memory: Memory) -> str:
    """The whole memory: each line after a space, as git puts a sign before it; dispute marks stay.

    Args:
        memory: any file with frontmatter; its keys other than those of the format come as they stand.
    """
    lines = [f"name: {memory.name}", f"type: {memory.type}", f"description: {memory.description}"]
    if memory.front:
        raw = memory.front.render().splitlines()
        lines += [line for line in raw if line.strip() not in ("", "---") and not _KNOWN.match(line)]
    for claim in memory.parsed.claims:
        lines += claim_lines(claim.text)
    return "".join(f" {line}".rstrip() + "\n" for line in lines)


def without(memory: Memory, gone: Sequence[int]) -> Memory | None:
    """The memory less these claims of its body (by position); None where others would change by it."""
    claims = memory.parsed.claims
    kept = [claim for number, claim in enumerate(claims) if number not in gone]
    # What comes first stands where the first stood.
    kept[:1] = [replace(one, lead=claims[0].lead) for one in kept[:1]]
    return _assembled(memory, kept)


def with_after(memory: Memory, position: int, added: Sequence[Claim]) -> Memory | None:
    """The memory with claims put in behind the one at a position (at the end for -1); None as above."""
    claims = list(memory.parsed.claims)
    at = len(claims) if position < 0 else position + 1
    before = claims[at - 1] if at else None
    new = []
    for claim in added:
        tight = before is not None and before.item and claim.item
        lead = "" if before is None and not memory.front else "\n" if tight else "\n\n"
        new.append(replace(claim, lead=lead))
        before = claim
    if at < len(claims) and claims[at].lead.count("\n") < 2 and not (new[-1].item and claims[at].item):
        claims[at] = replace(claims[at], lead="\n\n")
    return _assembled(memory, [*claims[:at], *new, *claims[at:]])


def reword(memory: Memory, texts: Mapping[int, str]) -> Memory | None:
    """The memory with other texts for some claims of its body (by position); None as above."""
    from gitmem.core.claim import normal_form

    claims = []
    for number, claim in enumerate(memory.parsed.claims):
        text = texts.get(number, claim.text)
        claims.append(replace(claim, text=text, key=normal_form(text, claim.item)))
    return _assembled(memory, claims)


def with_description(memory: Memory, description: str) -> Memory | None:
    """The memory with another description; None where it would not be read back."""
    if memory.front is None:
        return None
    changed = Memory(memory.path, memory.front.with_value("description", description), memory.body)
    return changed if changed.description == description else None


def _assembled(memory: Memory, claims: Sequence[Claim]) -> Memory | None:
    body = "".join(claim.lead + claim.text for claim in claims) + (memory.parsed.tail or "\n")
    found = Counter(claim.key for claim in Memory(memory.path, memory.front, body).parsed.claims)
    if found != Counter(claim.key for claim in claims):
        return None
    return Memory(memory.path, memory.front, body)
