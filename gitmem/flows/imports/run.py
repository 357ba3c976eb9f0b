"""An import: what of a source is new here, as one proposal that waits for a person."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import PurePosixPath
from urllib.parse import quote

from gitmem.core import tombstone
from gitmem.core.errors import UsageError
from gitmem.core.limits import HOT_MEMORIES, MEMORY_BYTES
from gitmem.core.memory import parse
from gitmem.core.names import archived_path, is_agent_folder, is_memory_file, kind
from gitmem.core.text import decode, iso
from gitmem.core.trailers import one_line
from gitmem.flows.context import Edges
from gitmem.flows.imports.entry import ImportedMemory, ImportTally, first_line
from gitmem.flows.imports.formats import Format, named, recognised
from gitmem.flows.imports.source import ImportSource
from gitmem.git.trees import read_files
from gitmem.ledger import imports
from gitmem.ledger.imports import Import, ImportedBefore, ImportRow
from gitmem.ledger.knowledge import known_at
from gitmem.ledger.workspace import ScopeName, Workspace
from gitmem.rules.rule import Finding
from gitmem.rules.screen import Screened, refusal, screen, without_texts
from gitmem.rules.secrets import Secret, scan

_OPAQUE = re.compile(r"[^\w./:@+-]+")


@dataclass(frozen=True)
class ImportReport:
    """What an import found and what came of it.

    Attributes:
        format: the row by which it was read.
        found: how many memories the source has.
        rows: what is new, and waits once `waits` says under which id.
        known: how many memory says already, or wait in an earlier import.
        forgotten: names of those that a person forgot or rejected.
        refused: what held a secret or may not be stored: it stays out, and all else of its memory comes.
        warned: what comes and should be looked at.
        skipped: what of the source is no memory, and why.
        fields: (field, what becomes of it) to how often it was seen.
    """

    format: Format
    scope: ScopeName
    found: int
    rows: tuple[ImportRow, ...]
    known: int
    forgotten: tuple[str, ...]
    refused: tuple[Finding, ...]
    warned: tuple[Finding, ...]
    skipped: Mapping[str, str]
    fields: Mapping[tuple[str, str], int] = field(default_factory=dict)
    waits: Import | None = None


def bring(
    workspace: Workspace,
    edges: Edges,
    source: ImportSource,
    format: str = "",
    scope: ScopeName = "local",
    *,
    dry_run: bool = False,
) -> ImportReport:
    """Reads a source and lets what is new of it wait for a person.

    Args:
        format: name of its format; empty to recognise it.
        scope: where its memories go once they are accepted.
        dry_run: whether nothing is to wait.

    Raises:
        UsageError: it cannot be read, or is of no known format.
    """
    row = named(format) if format else recognised(source)
    tally = ImportTally()
    entries = list(row.read(source, tally))
    skipped = {**source.passed, **tally.skipped}
    report = _plan(workspace, row, entries, scope)
    fields = {(one_line(key)[:80], to): number for (key, to), number in tally.fields.items()}
    report = replace(report, skipped={**skipped, **report.skipped}, fields=fields)
    if dry_run or not report.rows:
        return report
    waits = imports.make(workspace, scope, row.name, report.rows, workspace.author(edges.now))
    return replace(report, waits=waits)


class _Here:
    """What memory has already, in all scopes and in imports that wait."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        known = known_at(workspace)
        self.sources = imports.sources(workspace)
        files = list(known.files.values())
        for one in imports.open_imports(workspace):
            files.append(read_files(one.family.repo, one.family.repo.commit(one.tip).tree))
        self._keys: dict[str, set[str]] = {}
        self._stones: dict[str, list[tombstone.Tombstone]] = {}
        for path, data in ((path, data) for each in files for path, data in each.items()):
            agent, what = path.partition("/")[0], kind(path)
            if what == "memory" and is_agent_folder(agent):
                self._keys.setdefault(agent, set()).update(claim.key for claim in parse(path, data).claims)
            elif what == "tombstones":
                self._stones.setdefault(agent, []).extend(tombstone.parse(decode(data)))

    def says(self, agent: str, keys: Sequence[str]) -> bool:
        """Whether all of these claims are known."""
        return bool(keys) and self._keys.get(agent, set()).issuperset(keys)

    def add(self, agent: str, keys: Sequence[str]) -> None:
        """Counts claims as known: a source may say a thing twice."""
        self._keys.setdefault(agent, set()).update(keys)

    def buried(self, agent: str, key: str) -> bool:
        """Whether a person forgot or rejected a claim."""
        stones = self._stones.get(agent, ())
        return bool(stones) and tombstone.matches(stones, key)

    def before(self, known: ImportedBefore) -> tuple[str, bytes] | None:
        """Path and content of what an earlier import made."""
        return known.file(self._workspace)


def _plan(
    workspace: Workspace, format: Format, entries: Sequence[ImportedMemory], scope: ScopeName
) -> ImportReport:
    here, allow = _Here(workspace), workspace.allowed
    where = workspace.scope(scope)
    tip = where.repo.ref(where.ref)
    there = read_files(where.repo, where.repo.commit(tip).tree) if tip else {}
    places = _Places(there)
    known, forgotten, skipped = 0, [], dict[str, str]()
    rows: dict[str, ImportRow] = {}
    for one in entries:
        source = f"{format.name}:{quote(_plain(one.id), '/#:@._-', errors='surrogateescape')}"
        memory = parse(f"{one.agent}/{one.file}", one.data)  # as it is screened: read once
        keys = [claim.key for claim in memory.parsed.claims] or [claim.key for claim in memory.claims]
        met = here.sources.get(source)
        if (met is not None and met.waits) or here.says(one.agent, keys):
            known += 1
            continue
        gone = [claim.text for claim in memory.claims if here.buried(one.agent, claim.key)]
        data = (without_texts(f"{one.agent}/{one.file}", one.data, gone) if gone else one.data) or b""
        if gone and not parse(one.file, data).parsed.claims:
            forgotten.append(memory.name)
            continue
        if len(data) > MEMORY_BYTES:
            skipped[one.id] = f"has more than {MEMORY_BYTES:,} bytes"
            continue
        if scope == "project" and memory.type == "user":
            skipped[one.id] = "is about a person, so never the project's"
            continue
        before = here.before(met) if met is not None and met.scope == scope else None
        if before and before[1] == data:
            before = None  # it is gone from memory, and nobody said that it shall stay away
        path = before[0] if before else places.free(one, memory.name)
        if path is None:
            skipped[one.id] = "has no name that a memory may have"
            continue
        if path in rows:
            skipped[one.id] = f"would be {path}, as another of its memories"
            continue
        here.add(one.agent, keys)
        told = f"{source} {iso(one.time)}" if one.time is not None else source
        time = None if one.time is None else int(one.time)
        rows[path] = ImportRow(
            path,
            data,
            before[1] if before else None,
            one.description,
            told,
            time,
            _word(one.session),
        )
    kept, screened = _screened(rows, allow)
    ordered = _ordered(kept, places.hot)
    return ImportReport(format, scope, len(entries), ordered, known, tuple(forgotten), screened.refusals,
                  screened.warnings, skipped)  # fmt: skip


def _screened(rows: Mapping[str, ImportRow], allow: frozenset[str]) -> tuple[list[ImportRow], Screened]:
    """The rows without what holds a secret; one whose name or whose only text is one stays out whole."""
    before = {path: row.before for path, row in rows.items() if row.before is not None}
    found = screen(before, {path: row.data for path, row in rows.items()}, allow)
    refusals, kept = list(found.refusals), []
    for path, why in _told_secrets(rows, allow).items():
        refusals.append(refusal("", why, path))
        found.files.pop(path, None)
    for path, row in rows.items():
        data = found.files.get(path)
        if data is None or data == row.before:
            continue
        memory = parse(path, data)
        if data == row.data:
            kept.append(row)
        elif memory.parsed.claims:
            said = memory.description or first_line(memory.body) or memory.name
            kept.append(replace(row, data=data, subject=said))
    return kept, replace(found, refusals=tuple(refusals))


def _told_secrets(rows: Mapping[str, ImportRow], allow: frozenset[str]) -> dict[str, tuple[Secret, ...]]:
    """Ids and sessions of a source that are credentials: they would stand in messages for good."""
    told = {path: f"{row.source} {row.session}" for path, row in rows.items()}
    if not any(one.severity == "block" for one in scan(["\n".join(told.values())], allow)[0]):
        return {}
    found = dict(zip(told, scan(list(told.values()), allow), strict=True))
    return {path: some for path, some in found.items() if any(one.severity == "block" for one in some)}


def _ordered(rows: Sequence[ImportRow], hot: Counter[str]) -> tuple[ImportRow, ...]:
    """Rows oldest first; where the agent's folder has no room for all, the oldest are archived at once."""
    ordered = sorted(rows, key=lambda row: (row.time or 0, row.path))
    new = Counter(row.agent for row in ordered if row.before is None and kind(row.path) == "memory")
    found = []
    for row in ordered:
        place = archived_path(row.path) if row.before is None else None
        if place and new[row.agent] + hot[row.agent] > HOT_MEMORIES:
            row = replace(row, path=place)
            new[row.agent] -= 1
        found.append(row)
    return tuple(found)


class _Places:
    """Where memories may go: file names that nothing has, also where case is ignored."""

    def __init__(self, there: Mapping[str, bytes]) -> None:
        self._there = there
        self._taken = {(path.partition("/")[0], PurePosixPath(path).name.casefold()) for path in there}
        self.hot = Counter(
            agent
            for path in there
            for agent, _, file in [path.partition("/")]
            if kind(path) == "memory" and is_memory_file(file)
        )

    def free(self, one: ImportedMemory, name: str) -> str | None:
        """A path for a memory, with a number where its file is taken; None where it has no fit name.

        What is a file in its source, and is here under the same name, is united with that when it lands.
        """
        wanted = f"{one.agent}/{one.file}"
        if kind(wanted) == "log":
            return wanted
        if not is_memory_file(one.file):
            return None
        same = self._there.get(wanted)
        if one.is_file and same is not None and parse(wanted, same).name == name:
            return wanted
        folder, stem = wanted.rpartition("/")[0], PurePosixPath(wanted).stem
        for number in count(1):
            file = f"{stem}.md" if number == 1 else f"{stem}-{number}.md"
            if (one.agent, file.casefold()) not in self._taken:
                break
        self._taken.add((one.agent, file.casefold()))
        return f"{folder}/{file}"


def _plain(id: str) -> str:
    return unicodedata.normalize("NFC", id)[:200]


def _word(text: str) -> str:
    return _OPAQUE.sub("", text)[:100]


def scope_named(name: str) -> ScopeName:
    """A scope by its name. Raises UsageError where there is none."""
    for one in ("local", "project", "user"):
        if one == name:
            return one
    raise UsageError(f"There is no scope {name!r}", "Scopes are: project, local, user.")
