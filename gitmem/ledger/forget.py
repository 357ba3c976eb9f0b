"""Forgetting one claim, or a whole memory: out of the file, and a tombstone keeps it from coming back.

A tombstone is written with the day of the decision and the salt of the clone, which is made once, so that
equal texts of two teams do not show.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import PurePosixPath

from gitmem.core import index, tombstone
from gitmem.core.claim import Claim, normal_form, repetition
from gitmem.core.daily_log import SOME_DAY, fact_keys, line_keys, read_line, split, without_lines
from gitmem.core.errors import UsageError
from gitmem.core.limits import DESCRIPTION_CHARS
from gitmem.core.memory import Memory, parse
from gitmem.core.names import ARCHIVE, archived_path, hot_file, is_agent_folder, is_log, kind
from gitmem.core.text import counted, decode, encode
from gitmem.core.trailers import Op, Provenance, one_line, subject_line
from gitmem.git.config import config_get, config_set
from gitmem.git.repository import Repository, Signature
from gitmem.git.trees import list_files, read_file, read_paths
from gitmem.ledger.holdings import Spot
from gitmem.ledger.indexes import with_indexes
from gitmem.ledger.land import Copies, Tip, Write, Written, land
from gitmem.ledger.lookup import Ambiguous, FoundMemory
from gitmem.ledger.paging import current_place
from gitmem.ledger.sayings import texts
from gitmem.ledger.workspace import Scope, Workspace

MOST_LISTED = 10
BURIED_WORDS = 3
"""Claims with fewer words are said of many things: a tombstone for one would take others with it."""


@dataclass(frozen=True)
class Holding:
    """A memory that holds a claim.

    Attributes:
        scope: `project`, `local` or `user`.
        file: inside the agent's folder.
        claim: what it says.
        memory: None where that is a line of a daily log.
    """

    scope: str
    agent: str
    file: str
    claim: Claim
    memory: Memory | None

    @property
    def name(self) -> str:
        """What the memory, or the log, is called."""
        return self.memory.name if self.memory else f"log {PurePosixPath(self.file).stem}"

    @property
    def in_log(self) -> bool:
        """Whether it is a line of a daily log, and no memory."""
        return self.memory is None

    @property
    def whole(self) -> bool:
        """Whether nothing is left of the memory without it."""
        return self.memory is not None and without_claim(self.memory, self.claim.key) is None

    @property
    def keys(self) -> frozenset[str]:
        """The normal forms under which it is found."""
        return frozenset(line_keys(self.claim.text)) if self.in_log else frozenset({self.claim.key})

    @property
    def says(self) -> str:
        """What it says, without the time and the session of a line of a log."""
        told = read_line(self.claim.text, SOME_DAY) if self.in_log else None
        return normal_form(told.text, item=False) if told else self.claim.key

    @property
    def address(self) -> str:
        """`scope/agent/file`."""
        return f"{self.scope}/{self.agent}/{self.file}"


def find_claim(
    workspace: Workspace,
    text: str,
    *,
    scope: str | None = None,
    agent: str | None = None,
    everywhere: bool = False,
    warn: Callable[[str], None] = lambda _: None,
) -> tuple[Holding, ...]:
    """Finds the memories that say something: in just those words, else with these words in one claim.

    Args:
        scope, agent: narrow the search.
        everywhere: one claim may stand in many memories; else only one memory may hold it.
        warn: is told of memories that could not be read, and may say it, too.

    Raises:
        UsageError: nothing that can be read says it.
        Ambiguous: several claims do, or several memories hold the one; they are listed.
    """
    sought = normal_form(text, item=False)
    if not sought:
        raise UsageError("There is no text", "Give what the claim says: git mem forget --claim TEXT")
    missing: list[Spot] = []
    held = list(_holdings(workspace, scope, agent, missing))
    items = normal_form(text, item=True)
    found = [one for one in held if one.keys & {sought, items}]
    if not found:
        alike = {repetition(sought), repetition(items)}
        found = [one for one in held if not alike.isdisjoint(map(repetition, one.keys))]
    claims = {repetition(sought)} if found else set()
    if not found:
        found = [one for one in held if sought.casefold() in one.claim.key.casefold()]
        claims = {repetition(one.says) for one in found}
    if missing:
        first = "/".join(missing[0][:3])
        more = f" and {counted(len(missing) - 1, 'other memory')}" if len(missing) > 1 else ""
        warn(f"{first}{more} cannot be read, and may say it, too (why: git mem doctor)")
    if not found:
        raise UsageError("No memory says that", "Find it: git mem blame --text TEXT")
    if len(claims) > 1 or (len({one.address for one in found}) > 1 and not everywhere):
        listed = [f"{one.address}: {one_line(one.claim.key)[:60]}" for one in found]
        more = f"; and {len(found) - MOST_LISTED} more" if len(found) > MOST_LISTED else ""
        hint = "Give more of the text, or narrow with --scope and --agent."
        same = " Or forget it in all of them: --everywhere" if len(claims) == 1 else ""
        raise Ambiguous(
            f"{len(found)} claims say that: {'; '.join(listed[:MOST_LISTED])}{more}", hint + same
        )
    return tuple({(one.address, one.in_log and one.claim.key): one for one in found}.values())


_Gone = tuple[dict[str, bytes | None], Iterable[str], str, Op]
"""What a forgetting comes to: edits, normal forms that a tombstone covers, the subject, and its kind."""


def forget(
    workspace: Workspace, what: FoundMemory | Holding, who: Signature, told: Provenance, copies: Copies
) -> Written | None:
    """Takes a memory out, or a claim of one, or a line of a log, and buries what it said.

    So no merge or extraction brings it back.

    Args:
        who: the person, and when they decided.
        told: who carries it out, for the trailers, and the code's commit.
        copies: brings working copies up to date.

    Returns:
        The commit; None where it does not stand any more.
    """
    scope = workspace.scope(what.scope)
    with_what = spade(workspace, scope, who.time)
    stones = f"{what.agent}/{tombstone.FILE}"

    def plan(tip: Tip) -> Write | None:
        if isinstance(what, FoundMemory):
            done = _without_memory(scope.repo, tip.tree, what)
        elif what.in_log:
            done = _without_line(scope.repo, tip.tree, what)
        else:
            done = _without_claim(scope.repo, tip.tree, what)
        if done is None:
            return None
        edits, keys, subject, op = done
        edits[stones] = with_what.bury(read_file(scope.repo, tip.tree, stones), keys, "forgot")
        return Write(edits, subject, replace(told, op=op))

    return land(scope, plan, who, copies, what.agent)


def _without_memory(repo: Repository, tree: str, found: FoundMemory) -> _Gone | None:
    stands = current_place(repo, tree, found.agent, found.file)
    if stands is None:
        return None
    file, data = stands
    memory = parse(file, data)
    # One that was paged out may still have its line.
    home = f"{found.agent}/{hot_file(file)}"
    edits = with_indexes(repo, tree, {f"{found.agent}/{file}": None}, {home})
    buried = _buried_keys(memory)
    edits |= without_logged(repo, tree, found.agent, buried)
    return edits, buried, f"Forget {memory.name}", "delete"


def _buried_keys(memory: Memory) -> list[str]:
    """Normal forms that a tombstone for this memory covers: its claims, but for headings and short ones."""
    claims = [claim for claim in memory.claims if not claim.key.startswith("#")]
    return [claim.key for claim in claims if len(claim.key.split()) >= BURIED_WORDS] or [
        claim.key for claim in claims
    ]


def _without_claim(repo: Repository, tree: str, holding: Holding) -> _Gone | None:
    """A memory with nothing left goes whole."""
    stands = current_place(repo, tree, holding.agent, holding.file)
    key = holding.claim.key
    if stands is None:
        return None
    file, data = stands
    memory = parse(file, data)
    if all(claim.key != key for claim in memory.claims):
        return None
    left = without_claim(memory, key)
    path, listing = f"{holding.agent}/{file}", f"{holding.agent}/{index.INDEX}"
    edits: dict[str, bytes | None] = {path: left.render() if left else None}
    if (listed := read_file(repo, tree, listing)) is not None:
        edits[listing] = encode(index.without_claim(decode(listed), key))
    edits = with_indexes(repo, tree, edits, () if left else {path})
    stays = {claim.key for claim in left.claims} if left else set()
    twins = (claim.key for claim in memory.claims if _repeats(claim.key, key))
    gone = dict.fromkeys([key, *(twin for twin in twins if twin not in stays)])
    if left is None:
        return edits, gone, f"Forget {memory.name}", "delete"
    return edits, gone, f"Forget a claim of {memory.name}", "update"


def _without_line(repo: Repository, tree: str, holding: Holding) -> _Gone | None:
    """The line goes out of its log, hot and archived."""
    line = holding.claim.text
    hot = f"{holding.agent}/{holding.file.removeprefix(f'{ARCHIVE}/')}"
    edits: dict[str, bytes | None] = {}
    for path, data in read_paths(repo, tree, {hot, archived_path(hot) or hot}).items():
        if line in split(decode(data)):
            edits[path] = encode(without_lines(decode(data), {line})) or None
    if not edits:
        return None
    said = [key for key in line_keys(line) if len(key.split()) >= BURIED_WORDS]
    keys = dict.fromkeys([*said, *fact_keys(line)])
    return edits, keys, f"Forget a line of {hot.partition('/')[2]}", "update"


def without_claim(memory: Memory, key: str) -> Memory | None:
    """A memory without a claim; None where nothing is left.

    A description mostly repeats a claim of the body: both go, whichever was meant.
    """
    parsed = memory.parsed
    told = normal_form(memory.description, item=False)
    twice = told == key or _repeats(told, key)
    kept = [
        claim for claim in parsed.claims if claim.key != key and not (twice and _repeats(claim.key, told))
    ]
    if all(claim.key.startswith("#") for claim in kept):
        return None
    body = "".join(claim.lead + claim.text for claim in kept) + parsed.tail
    if kept and kept[0] is not parsed.claims[0]:
        # What follows stands where the first one stood.
        body = parsed.claims[0].lead + body[len(kept[0].lead) :]
    front = memory.front
    if front is not None and twice:
        first = next(claim for claim in kept if not claim.key.startswith("#"))
        front = front.with_value("description", subject_line(first.key, DESCRIPTION_CHARS))
    return replace(memory, front=front, body=body)


def _repeats(one: str, other: str) -> bool:
    """Whether two normal forms are a claim and its repetition, which may be cut."""
    pairs = ((one, other), (other, one))
    return any(
        repetition(short) in (repetition(whole), repetition(subject_line(whole, DESCRIPTION_CHARS)))
        for short, whole in pairs
    )


def _holdings(
    workspace: Workspace, scope: str | None, agent: str | None, missing: list[Spot]
) -> Iterator[Holding]:
    for spot, data in texts(workspace, scope, agent, missing=missing):
        at, memory = spot[:3], None if kind(spot.file) == "log" else parse(spot.file, data)
        if memory is not None:
            yield from (Holding(*at, claim, memory) for claim in memory.claims)
            continue
        for line in filter(str.strip, split(decode(data))):
            yield Holding(*at, Claim(line, "", normal_form(line, item=True), item=True), None)


SALT_KEY = "gitmem.salt"


@dataclass(frozen=True)
class Spade:
    """What a decision buries with.

    Attributes:
        salt: of the clone.
        date: of the decision, ISO, UTC.
    """

    salt: str
    date: str

    def bury(self, known: bytes | None, keys: Iterable[str], kind: tombstone.Kind) -> bytes:
        """A tombstone file with more stones in it.

        Args:
            known: the file as it stands; None where there is none.
            keys: normal forms of claims, or keys of rejected operations.
        """
        stones = [tombstone.bury(key, self.salt, self.date, kind) for key in keys]
        return encode(tombstone.with_stones(decode(known or b""), stones))

    def edits(
        self, repo: Repository, tree: str, keys: Mapping[str, Iterable[str]], kind: tombstone.Kind
    ) -> dict[str, bytes | None]:
        """The tombstone files of a tree with more stones in them.

        Args:
            keys: agent's folder to what to bury there; a name that is no agent's folder is passed over.
        """
        at = {agent: f"{agent}/{tombstone.FILE}" for agent in keys if is_agent_folder(agent)}
        known = read_paths(repo, tree, set(at.values()))
        return {path: self.bury(known.get(path), keys[agent], kind) for agent, path in at.items()}


def remember_rejected(
    workspace: Workspace,
    scope: Scope,
    keys: Mapping[str, Iterable[str]],
    author: Signature,
    subject: str,
    why: str = "",
    *,
    reviewed: str = "",
    job: str = "",
) -> Written | None:
    """Buries what a person turned down, so that nothing proposes it again; an undo lets it wait again.

    Args:
        keys: agent's folder to normal forms of claims, or keys of rejected operations.
        author: the person, at the present.
        why: their reason; empty for none.
        reviewed: ids of what was decided, as the trailer says them.
        job: what is undone together; empty for none.
    """
    with_what = spade(workspace, scope, author.time)
    told = Provenance(op="update", writer="human", job=job, reviewed=reviewed)

    def plan(tip: Tip) -> Write:
        return Write(with_what.edits(scope.repo, tip.tree, keys, "rejected"), subject, told, why.strip())

    return land(scope, plan, author)


def without_logged(repo: Repository, tree: str, agent: str, keys: Iterable[str]) -> dict[str, bytes | None]:
    """An agent's logs, hot and archived, without the lines whose fact is one of what is forgotten.

    Args:
        keys: normal forms of claims. That a reason is among them takes no line out: it is not what it says.
    """
    gone = frozenset(keys)
    edits: dict[str, bytes | None] = {}
    for path, data in read_paths(repo, tree, set(filter(is_log, list_files(repo, tree, agent)))).items():
        lines = {line for line in split(decode(data)) if not gone.isdisjoint(fact_keys(line))}
        if lines:
            edits[path] = encode(without_lines(decode(data), lines)) or None
    return edits


def spade(workspace: Workspace, scope: Scope, now: float) -> Spade:
    """What a decision of this moment buries with.

    Args:
        now: epoch seconds.

    Raises:
        RepositoryError: the salt cannot be kept.
    """
    return Spade(salt(workspace, scope), datetime.fromtimestamp(now, UTC).date().isoformat())


def salt(workspace: Workspace, scope: Scope) -> str:
    """32 hexadecimal digits from the configuration of the scope's repository, made where there are none.

    Raises:
        RepositoryError: the configuration cannot be written.
    """
    where = scope.repo.git_dir
    known = config_get(workspace.git, None, SALT_KEY, scope="local", git_dir=where) or ""
    if re.fullmatch(r"[0-9a-f]{32}", known):
        return known
    made = secrets.token_hex(16)
    config_set(workspace.git, None, SALT_KEY, made, git_dir=where)
    return made
