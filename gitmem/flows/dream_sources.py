"""What a dream may know besides memory: the code at HEAD, and what was said in sessions since the last."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, cached_property

from gitmem.core.account import path_of
from gitmem.core.errors import MissingObject, RepositoryError
from gitmem.core.references import Named, NameFate, day, named, plain_path, statement, warnings
from gitmem.core.text import counted, decode, one_line
from gitmem.dream.gather import CodeFacts, Sources, nothing_known
from gitmem.dream.proof import ProofEvidence
from gitmem.dream.schedule import lock_folder, prior_of
from gitmem.engines.engine import Observation
from gitmem.flows.context import Edges
from gitmem.flows.extraction import left_out
from gitmem.flows.last_recalls import asked_before
from gitmem.flows.pause import switched_off
from gitmem.flows.sessions import sessions_here
from gitmem.git.repository import BLOB, EXECUTABLE
from gitmem.ledger.workspace import Scope, Workspace
from gitmem.rules.account import Lookup, unknown
from gitmem.search.catalog import Catalog
from gitmem.search.code import CodeNow
from gitmem.search.code_reader import NAMES
from gitmem.transcripts import discover
from gitmem.transcripts import reader as cursors
from gitmem.transcripts.model import Message, Session, SessionFile
from gitmem.transcripts.privacy import compile_ignore
from gitmem.transcripts.reader import PASSED_OVER, cursor_name

MOST_BYTES = 200_000
"""Of a file of the code that a dream names as its source."""


def lookup(workspace: Workspace, edges: Edges, place: Scope) -> Lookup:
    """What a proof may look up outside of memory: this repository's sessions, its code and its history.

    Args:
        place: the scope that is judged.
    """

    @cache
    def names(ref: str, text: str) -> Mapping[str, str]:
        found = code_facts(workspace, place)({ref: text}) if place.name != "user" else ()
        return dict(pair for one in found for pair in one.names)

    return Lookup(SaidSince(workspace, edges, 0.0).get, code_file(workspace), names)


def evidence(workspace: Workspace, edges: Edges, place: Scope) -> ProofEvidence:
    """What the proof of a dream of this scope may use besides the trees."""
    allow = workspace.allowed
    return ProofEvidence(allow, asked_before(place, allow), lookup(workspace, edges, place))


def code_file(workspace: Workspace) -> Callable[[str], str | None]:
    """Gives files of the code as HEAD has them; what is large, or no text, is none."""

    def file(path: str) -> str | None:
        repo = workspace.code
        head = repo.resolve("HEAD")
        try:
            entry = repo.entry(repo.commit(head).tree, path) if head else None
            if entry is None or entry.mode not in (BLOB, EXECUTABLE):
                return None
            small = repo.sizes((entry.oid,))[entry.oid] <= MOST_BYTES
            return decode(repo.blob(entry.oid)) if small else None
        except MissingObject:
            return None

    return file


def dream_sources(
    workspace: Workspace, edges: Edges, place: Scope, agents: tuple[str, ...] = ()
) -> Sources:
    """What a dream of one scope may know; no code and no session is read before it is asked for.

    The scope `user` is about a person and no code; the sessions are those of this repository all the same,
    since only they are known to be the person's here.

    Args:
        agents: folder names of those whose memories to consolidate; empty for all.
    """

    since, allow = prior_of(place), workspace.allowed
    return Sources(
        now=edges.now,
        agents=agents,
        code=nothing_known if place.name == "user" else code_facts(workspace, place),
        sessions=SaidSince(workspace, edges, since),
        worktree=workspace.layout.worktree,
        file=unknown if place.name == "user" else code_file(workspace),
        allow=allow,
        asked=asked_before(place, allow),
    )


SECONDS = 5.0
"""For all questions of one dream."""

_Asked = tuple[str, Named]
"""A claim, as `<file>#<12 hex>`, and what it names."""


def code_facts(workspace: Workspace, place: Scope, seconds: float = SECONDS) -> CodeFacts:
    """Who compares the claims of a scope with the code at HEAD.

    Args:
        seconds: for one comparison.
    """

    def facts(claims: Mapping[str, str]) -> Sequence[Observation]:
        return tuple(_Comparison(workspace, place, seconds).run(claims))

    return facts


class _Comparison:
    def __init__(self, workspace: Workspace, place: Scope, seconds: float) -> None:
        self._workspace = workspace
        self._place = place
        self._until = time.monotonic() + seconds
        self._found: dict[str, dict[str, NameFate]] = {}

    def run(self, claims: Mapping[str, str]) -> Iterator[Observation]:
        asked = [(ref, one) for ref, text in claims.items() if (one := named(text)).paths or one.words]
        where = "in the code"
        unasked = self._ask(asked)
        if not unasked:
            where = "in the code of the time when they were taught"
            unknown = [(ref, words) for ref, one in asked if (words := self._lacking(ref, one)).words]
            dated = self._dated(unknown)
            unasked = self._ask(dated)
            if not unasked:  # what they are called now is worth no answer that is left out
                self._ask(dated, follow=True)
        yield from self._observations()
        if unasked:
            naming = len({path_of(ref) for ref, _ in asked})
            text = f"no time was left to look up what {len(unasked)} of {counted(naming, 'memory')} name"
            yield Observation("code", f"{text} {where}")

    def _ask(self, asked: Sequence[_Asked], *, follow: bool = False) -> set[str]:
        """Asks about HEAD, and of what is dated about the code of then; names memories left unasked."""
        place, folder = self._workspace, lock_folder(self._place)
        unasked: set[str] = set()
        for batch in _batches(asked):
            if self._left > 0:
                code = CodeNow(
                    place.git, place.top, place.layout.common_dir, folder, self._left, follow=follow
                )
                for (ref, _), findings in zip(batch, code.look([one for _, one in batch]), strict=True):
                    self._found.setdefault(ref, {}).update((finding.name, finding) for finding in findings)
            if self._left <= 0:
                unasked |= {path_of(ref) for ref, _ in batch}
        return unasked

    def _dated(self, asked: Sequence[_Asked]) -> list[_Asked]:
        """The same, with when each memory was taught."""
        times = self._times({path_of(ref) for ref, _ in asked}) if asked else {}
        return [(ref, replace(one, taught=times.get(path_of(ref), 0))) for ref, one in asked]

    @property
    def _left(self) -> float:
        return self._until - time.monotonic()

    def _lacking(self, ref: str, one: Named) -> Named:
        """The symbols and flags that were not found at HEAD."""
        known = self._found.get(ref, {})
        return Named(words=tuple(word for word in one.words if word[0] not in known))

    def _times(self, paths: set[str]) -> Mapping[str, int]:
        repo, ref = self._place.repo, self._place.ref
        tip = repo.ref(ref)
        if tip is None:
            return {}
        try:
            files = repo.files(repo.commit(tip).tree)
            blobs = {path: files[path] for path in paths if path in files}
            with closing(Catalog.open(self._place.state)) as catalog:
                return catalog.times(repo, ref, tip, blobs, late=lambda: self._left <= 0)
        except MissingObject:
            return {}

    def _observations(self) -> Iterator[Observation]:
        """One a memory and fact, however many of its claims name the thing."""
        told: dict[tuple[str, str], list[str]] = {}
        turned: dict[str, NameFate] = {}
        for ref, findings in self._found.items():
            for fact in warnings(list(findings.values())):
                told.setdefault((path_of(ref), fact), []).append(ref)
            renamed = (one for one in findings.values() if one.kind in ("moved", "renamed"))
            turned |= {
                statement(one): one
                for one in renamed
                if one.kind == "renamed" or plain_path(one.now) == one.now
            }
        for (path, fact), refs in told.items():
            text, one = f"{one_line(path, 200)}: {one_line(fact, 300)}", turned.get(fact)
            text += f" since {one.commit[:9]}, {day(one.time)}" if one and one.commit else ""
            yield Observation("code", text, tuple(refs), ((one.name, one.now),) if one else ())


def _batches(asked: Sequence[_Asked]) -> Iterator[list[_Asked]]:
    batch: list[_Asked] = []
    names = 0
    for ref, one in asked:
        names += len(one.paths) + len(one.words)
        if batch and names > NAMES:
            yield batch
            batch, names = [], len(one.paths) + len(one.words)
        batch.append((ref, one))
    if batch:
        yield batch


MOST_SESSIONS = 50
"""The newest ones."""

MOST_CHARS = 200_000
"""Of one session, from its end: some 50,000 tokens, which nobody reads but by searching."""

PASTE_CHARS = 2_000
"""Of one message's pastes: what they are about, not all of a log."""

_ODD = re.compile(r"[^A-Za-z0-9._-]+")


class SaidSince(Mapping[str, str]):
    """Id of a session to what person and agent said in it since the last dream, a paragraph a message.

    Left out is what extraction leaves out: private spans, `gitmem.ignore`, pauses, and all of it where
    extraction is switched off. Tool calls and their results are no speech.

    Args:
        since: epoch seconds; 0 for never.
    """

    def __init__(self, workspace: Workspace, edges: Edges, since: float) -> None:
        self._workspace = workspace
        self._edges = edges
        self._since = since
        self._read: dict[str, str] = {}

    def __getitem__(self, id: str) -> str:
        if id not in self._read:
            self._read[id] = self._text(self._files[id])
        return self._read[id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    @cached_property
    def _files(self) -> dict[str, SessionFile]:
        """The recordings that changed since, oldest change first."""
        workspace, edges = self._workspace, self._edges
        if workspace.settings.get("extract") == "off" or switched_off(
            edges.environ, edges.config, workspace.layout.worktree
        ):
            return {}
        files = [
            file
            for file in sessions_here(workspace, edges)
            if file.mtime_ns > self._since * 1e9 and not self._passed_over(file)
        ]
        return {_ODD.sub("-", file.id)[:100]: file for file in files[-MOST_SESSIONS:]}

    def _passed_over(self, file: SessionFile) -> bool:
        """Whether the person did not want it read when they set gitmem up."""
        folder = cursors.folder(self._workspace.state)
        return cursors.load(folder, cursor_name(file.path)).last == PASSED_OVER

    def _text(self, file: SessionFile) -> str:
        try:
            session = discover.read(
                file.path, ignore=compile_ignore(self._workspace.settings.all("ignore"))
            )
        except RepositoryError:
            return ""
        return said(session, left_out(self._workspace, session, self._edges.now, strict=True), self._since)


def said(session: Session, out: frozenset[str], since: float) -> str:
    """A session as text, `<time> <who>: <words>`, a blank line between two messages.

    Args:
        out: uuids of messages that nobody may see.
        since: epoch seconds; what was said before is left out, what was said nobody knows when is not.
    """
    text = "\n\n".join(
        _line(message)
        for message in session.messages
        if (message.text.strip() or message.pasted)
        and message.uuid not in out
        and (message.time is None or message.time.timestamp() >= since)
    )
    return text if len(text) <= MOST_CHARS else f"[cut: what was said before]\n\n{text[-MOST_CHARS:]}"


_SPEAKER = re.compile(r"(?<=\n\n)(?=(?:\S+ )?(?:person|agent): )")
"""Where words within a message look like the beginning of another one."""


def _line(message: Message) -> str:
    when = f"{_minute(message.time)} " if message.time else ""
    # An agent that repeats what it read would speak for the person.
    return f"{when}{message.role}: {_SPEAKER.sub('> ', message.marked(PASTE_CHARS))}"


def _minute(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%MZ")
