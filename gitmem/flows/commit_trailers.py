"""`Remember: …` and `Forget: …` in commit messages: what they ask for, and what is done about it.

Commits are looked at once: `<common git dir>/gitmem/commits.json` holds the tips that were looked at, and
the keys of the requests that were handled, which amended, rebased and picked commits share with the first.
It holds, too, which commit each request was handled for: what is asked again once that commit is in no
branch any more is the same commit rewritten, and nothing new. Where it was amended to ask for something
else, that takes the place of what was stored.

Anyone can put the person's address into a commit. So a commit counts as theirs only where its author is
them and the reflog shows that it was made in this clone; what was fetched or applied waits in review.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import cached_property
from typing import Literal

from gitmem.core.change import TYPES, Change, ChangeOrigin, Edited, Header, MemoryType
from gitmem.core.claim import normal_form, parse_body, repetition
from gitmem.core.errors import MissingObject, UsageError
from gitmem.core.memory import parse
from gitmem.core.names import file_address
from gitmem.core.text import iso
from gitmem.core.trailers import Provenance, one_line
from gitmem.git.locks import writer_lock
from gitmem.git.repository import Commit, Signature
from gitmem.ledger.apply import Judged, Placed, RefusedChange, bring_up_to_date, land_change
from gitmem.ledger.files import log, read_json, write_atomically
from gitmem.ledger.forget import Holding, find_claim, forget
from gitmem.ledger.knowledge import KnownMemory, known_at
from gitmem.ledger.land import Copies
from gitmem.ledger.lookup import Ambiguous, FoundMemory, find
from gitmem.ledger.suggestions import Suggestion, propose, suggest
from gitmem.ledger.workspace import SCOPES, ScopeName, Workspace
from gitmem.transcripts.privacy import Ignore, compile_ignore, without_private

Judge = Callable[[Change, ScopeName | None], Judged]
"""Says what becomes of a memory that a person asked for, in the scope that they named, if any."""

FILE = "commits.json"
MOST_COMMITS = 200
"""Commits with requests that are looked at in one go; of more, as a first merge may bring, the newest."""
MOST_SUGGESTED = 20
"""Requests of others that one go may put into review."""
BEGUN_KEPT = 1_000
TIPS_KEPT = 64
HANDLED_KEPT = 10_000
REFLOG_LOOKED = 500
AMENDED_LOOKED = 200
"""Requests that were handled last, among which what was amended is looked for."""

_BYTES = 4 * 1024 * 1024
_OID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_KEY = re.compile(r"[0-9a-f]{16}")
_ASKED = re.compile(r"[0-9a-f]{16} (?:[0-9a-f]{40}|[0-9a-f]{64})")
_MADE = re.compile(r"commit(?: \((?:initial|amend|merge)\))?: ")

MOST_REQUESTS = 20
"""Requests of one commit; what follows is passed over."""

TEXT_CHARS = 4_000
"""Characters of one request; a longer one is no note."""

_REQUEST = re.compile(r"(remember|forget)[ \t]*(?:\(([^()]*)\))?[ \t]*:(.*)", re.I)
_TRAILER = re.compile(r"[A-Za-z][A-Za-z0-9-]*[ \t]*(?:\([^()]*\))?[ \t]*:.*")
_TYPES: dict[ScopeName | None, MemoryType] = {
    "project": "project",
    "user": "user",
    "local": "feedback",
    None: "feedback",
}


@dataclass(frozen=True)
class TrailerRequest:
    """One line of a commit's trailers.

    Attributes:
        scope: the scope in brackets; None where none is named.
        text: the fact, or what to forget; one line.
        mistyped: the word in brackets where it is nearly a scope: the line is told of, and not done.
    """

    op: Literal["remember", "forget"]
    scope: ScopeName | None
    text: str
    mistyped: str = ""

    def key(self, email: str, time: int | None) -> str:
        """16 hex digits that stay the same when the commit is amended, rebased or picked.

        Args:
            email, time: the commit's author and author time (epoch seconds), which all of these keep;
                without a time the key stays when the commit is made anew, too.
        """
        text = "\0".join(
            [
                email.casefold(),
                "" if time is None else str(time),
                self.op,
                self.scope or self.mistyped,
                self.text,
            ]
        )
        return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]

    def says(self, key: str) -> bool:
        """Whether a claim (by its normal form) is what a `Forget:` says, but for case and full stop."""
        said = (normal_form(self.text, item=False), normal_form(self.text, item=True))
        return repetition(key) in map(repetition, said)


@dataclass(frozen=True)
class TrailerProgress:
    """What was looked at.

    Attributes:
        begun: tips of all branches at the beginning: what they hold was there before.
        tips: commits whose whole history was looked at since, newest last.
        handled: keys of requests, oldest first.
        asked: `KEY COMMIT` of each request that was handled, with its key without time; oldest first.
    """

    begun: tuple[str, ...] = ()
    tips: tuple[str, ...] = ()
    handled: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()


@dataclass
class CommitsLearned:
    """What commit messages came to.

    Attributes:
        stored: scope, path in the tree and commit of each memory that was stored.
        forgotten: scope, path in the tree and commit of each that went, whole or in part.
        suggested: what waits in review.
        refused: what is not kept.
        notes: what a person should know, one line each.
    """

    stored: list[tuple[str, str, str]] = field(default_factory=list)
    forgotten: list[tuple[str, str, str]] = field(default_factory=list)
    suggested: list[Suggestion] = field(default_factory=list)
    refused: list[RefusedChange] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def requests(message: str) -> tuple[TrailerRequest, ...]:
    """Reads what a commit message asks for.

    As git does, trailers are looked for below the title, in paragraphs of nothing but trailers; unlike git
    in any such paragraph, so that squash merges keep them. A line that begins with white space goes on with
    the one before it. Quoted or indented messages of other commits are no trailers.

    Returns:
        in order, each once; a word in brackets that is not even nearly a scope makes a line mean nothing.
    """
    found: dict[TrailerRequest, None] = {}
    for lines in _trailer_paragraphs(message):
        for line in lines:
            match = _REQUEST.fullmatch(line)
            if match is None:
                continue
            word = (match[2] or "").strip().lower()
            scope = next((one for one in SCOPES if one == word), None)
            text = one_line(match[3])
            unknown = match[2] is not None and scope is None
            if not text or len(text) > TEXT_CHARS or (unknown and not get_close_matches(word, SCOPES, 1)):
                continue
            op: Literal["remember", "forget"] = "remember" if match[1].lower() == "remember" else "forget"
            found[TrailerRequest(op, scope, text, word if unknown else "")] = None
    return tuple(found)[:MOST_REQUESTS]


def wanted(request: TrailerRequest, said: datetime, asked: bool, reason: str) -> Change:
    """The memory that a `Remember:` asks for.

    A fact for the project is of type project, one about the person of type user, any other feedback, which
    stays local: what nobody said to share is not shared.

    Args:
        said: when the commit was authored.
        asked: whether the person wrote it.
        reason: where it comes from, for the person who reviews it.
    """
    from gitmem.engines.offline import wording  # its patterns take half a second, and `init` asks nothing

    fact, why = wording.split_why(request.text)
    return Change(
        op="add",
        name=wording.slug(fact),
        description=wording.description(fact),
        type=_TYPES[request.scope],
        body=wording.body(fact, why, ""),
        reason=reason,
        confidence=1.0,
        asked=asked,
        origin=ChangeOrigin(time=said),
    )


def in_place_of(before: TrailerRequest, change: Change, known: KnownMemory) -> Change | None:
    """The change as an edit of the memory that still says just what an earlier request taught.

    Returns:
        None where none does: somebody made something else of it.
    """
    from gitmem.core.memory import with_after
    from gitmem.engines.offline.corrections import with_statement

    taught = parse_body(wanted(before, datetime.fromtimestamp(0, UTC), True, "").body).claims
    at = known.find(change.agent, taught[0].key) if taught else None
    if at is None:
        return None
    data = known.files[at.scope][f"{at.agent}/{at.file}"]
    memory = parse(at.file, data)
    number = next(n for n, claim in enumerate(memory.parsed.claims) if claim.key == taught[0].key)
    said, *reasons = parse_body(change.body).claims
    after = with_statement(memory, number, said.text)
    after = with_after(after, number, reasons) if after is not None and reasons else after
    if after is None:
        return None
    return replace(
        change,
        op="update",
        name=memory.name,
        description=after.description,
        file=at.file,
        edited=Edited(data, after.render()),
    )


def named(request: TrailerRequest, known: KnownMemory) -> tuple[Header, ...]:
    """The memories whose name or file is just what a `Forget:` says."""
    sought = request.text.casefold().removesuffix(".md")
    return tuple(
        header
        for header in known.manifest
        if request.scope in (None, header.scope)
        and sought in (header.name.casefold(), *_file_names(header.file.casefold()))
    )


def _file_names(file: str) -> tuple[str, str]:
    """What a file may be called: its own name, or with the folders that it is in."""
    return file.rpartition("/")[2].removesuffix(".md"), file_address(file)


def without(header: Header, said: datetime, reason: str) -> Change:
    """The proposal to delete a memory."""
    return Change(
        op="delete",
        name=header.name,
        description=header.description,
        type=next((one for one in TYPES if one == header.type), "feedback"),
        body="",
        reason=reason,
        confidence=0.5,
        asked=False,
        origin=ChangeOrigin(time=said),
        agent=header.agent,
        file=header.file,
    )


def begin_with_commits(workspace: Workspace) -> None:
    """Leaves all commits that are there now alone; what was begun before stays as it is."""
    with writer_lock(workspace.state, "commits"):
        if _read(workspace) is None:
            _write(workspace, TrailerProgress(_every_tip(workspace)))


def learn_from_commits(workspace: Workspace, now: float, judge: Judge, copies: Copies) -> CommitsLearned:
    """Does what commits ask for that were not looked at before, oldest first.

    With `gitmem.extract` off they are passed over for good.

    Args:
        now: epoch seconds.
        copies: brings working copies in line with what was stored and forgotten.

    Raises:
        RepositoryError: git knows no identity, or a ref cannot be written; it can be run again at no loss.
        UsageError: a pattern of `gitmem.ignore` cannot be honoured.
    """
    done = CommitsLearned()
    with writer_lock(workspace.state, "commits"):
        known = _read(workspace) or TrailerProgress(_before_head(workspace))
        heads = tuple(tree.head for tree in workspace.worktrees if tree.head)
        if set(heads) <= {*known.begun, *known.tips}:
            return done
        if workspace.settings.get("extract") != "off":
            known = _learn(_Work(workspace, now, judge, copies, done), known, heads)
        tips = tuple(tip for tip in known.tips if tip not in heads)
        kept = replace(
            known,
            tips=(*tips, *heads)[-TIPS_KEPT:],
            handled=known.handled[-HANDLED_KEPT:],
            asked=known.asked[-HANDLED_KEPT:],
        )
        _write(workspace, kept)
    for line in done.notes:
        log(workspace.layout.common_dir, f"commits: {line}")
    for refused in done.refused:
        log(workspace.layout.common_dir, f"commits: not stored: {refused.text}: {refused.reason}")
    return done


def _learn(work: _Work, known: TrailerProgress, heads: tuple[str, ...]) -> TrailerProgress:
    handled = dict.fromkeys(known.handled)
    rows = dict.fromkeys(known.asked)
    gone = _Rewritten(work.workspace, known.asked, heads)
    found = _asking(work.workspace, heads, (*known.begun, *known.tips))
    if len(found) == MOST_COMMITS:
        work.done.notes.append(f"only the newest {MOST_COMMITS} commits with requests were looked at")
    said = {request for _, asked in found for request in asked}
    for commit, asked in found:
        fresh = [one for one in asked if one.key(commit.author.email, commit.author.time) not in handled]
        for number, request in enumerate(asked, 1):
            key = request.key(commit.author.email, commit.author.time)
            bare = request.key(commit.author.email, None)
            if key not in handled and gone.has(bare):
                where = work.workspace.layout.common_dir
                log(where, f"commits: {commit.oid[:12]} asks for what it asked before it was made anew")
            elif key not in handled:
                before = gone.amended(commit, request, said) if len(fresh) == 1 else None
                work.do(commit, request, number, before)
            handled[key] = rows[f"{bare} {commit.oid}"] = None
    return replace(known, handled=tuple(handled), asked=tuple(rows))


class _Rewritten:
    """Commits whose requests were handled and that no branch leads to any more."""

    def __init__(self, workspace: Workspace, asked: tuple[str, ...], heads: tuple[str, ...]) -> None:
        self._workspace, self._heads = workspace, heads
        self._commits: dict[str, list[str]] = {}
        self._newest = asked[-AMENDED_LOOKED:]
        for row in asked:
            key, _, oid = row.partition(" ")
            self._commits.setdefault(key, []).append(oid)

    def has(self, key: str) -> bool:
        """Whether a request (by its key without time) was handled, and for such commits alone."""
        commits = self._commits.get(key, ())
        return bool(commits) and all(self._is_gone(oid) for oid in commits)

    def amended(
        self, commit: Commit, request: TrailerRequest, asked: Container[TrailerRequest]
    ) -> TrailerRequest | None:
        """What a commit asked to remember before it was amended; None where that is not one thing.

        Args:
            request: what it asks for now, and did not before.
            asked: all that new commits ask for: what one of them still says was not amended away.
        """
        who = commit.author
        earlier: dict[TrailerRequest, None] = {}
        for row in self._newest:
            key, _, oid = row.partition(" ")
            with suppress(MissingObject):
                before = self._workspace.code.commit(oid)
                if (before.author.email, before.author.time) == (who.email, who.time) and self.has(key):
                    found = (one for one in requests(before.message) if one.key(who.email, None) == key)
                    earlier.update({one: None for one in found if one not in asked})
        left = [one for one in earlier if one.op == request.op]
        return left[0] if len(left) == 1 and request.op == "remember" else None

    def _is_gone(self, oid: str) -> bool:
        git, where = self._workspace.git, self._workspace.layout.common_dir
        words = [
            "for-each-ref",
            "--count=1",
            f"--contains={oid}",
            "refs/heads",
            "refs/remotes",
            "refs/tags",
        ]
        if git.run(words, git_dir=where, check=False).text.strip():
            return False
        with suppress(MissingObject):
            return not any(self._workspace.code.is_ancestor(oid, head) for head in self._heads)
        return True


@dataclass(frozen=True)
class _Work:
    """One going over new commits; `git` is asked for an identity once there is something to do."""

    workspace: Workspace
    now: float
    judge: Judge
    copies: Copies
    done: CommitsLearned

    @cached_property
    def who(self) -> Signature:
        return self.workspace.author(self.now)

    @cached_property
    def mine(self) -> _Mine:
        return _Mine(self.workspace)

    def do(
        self, commit: Commit, request: TrailerRequest, number: int, before: TrailerRequest | None = None
    ) -> None:
        """Does what a request asks for; `before` is what the commit asked to remember in its place."""
        said = commit.author.moment
        own = self.mine.has(commit, request)
        if request.mistyped:
            if own:
                asked = f"{request.op.capitalize()}({request.mistyped}): {request.text[:80]}"
                scopes = ", ".join(SCOPES)
                self.done.notes.append(f"{commit.oid[:12]}: not done, scopes are {scopes}: {asked}")
        elif not own and len(self.done.suggested) >= MOST_SUGGESTED:
            self.done.notes.append(f"{commit.oid[:12]} asks for more than waits in review at a time")
        elif request.op == "remember":
            self._remember(commit, request, number, said, own, before)
        else:
            self._forget(commit, request, said, own)

    def _remember(
        self,
        commit: Commit,
        request: TrailerRequest,
        number: int,
        said: datetime,
        own: bool,
        before: TrailerRequest | None,
    ) -> None:
        by = "you" if own else f"{commit.author.name} <{commit.author.email}>"
        reason = f"{by} asked to remember it in the commit {commit.oid[:12]}"
        change = wanted(request, said, own, reason)
        if before is not None and own:
            change = in_place_of(before, change, known_at(self.workspace)) or change
        judged = self.judge(change, request.scope)
        for placed in judged.stored:
            self._store(placed, commit, number)
        for placed in judged.suggested:
            self._suggest(suggest(placed.change, placed.scope, iso(self.now)), commit)
        self.done.refused += judged.refused

    def _store(self, placed: Placed, commit: Commit, number: int) -> None:
        told = Provenance(
            op="add", writer="extract", job=f"commit-{commit.oid[:12]}.{number}", code_commit=commit.oid
        )
        written = land_change(self.workspace.scope(placed.scope), placed, self.who, told)
        bring_up_to_date(self.workspace, self.copies, placed.scope, placed.agent)
        if written is not None:
            paths = [path for path in written.edits if path.endswith(placed.file)]
            path = paths[0] if paths else f"{placed.agent}/{placed.file}"
            self.done.stored.append((placed.scope, path, written.commit))

    def _forget(self, commit: Commit, request: TrailerRequest, said: datetime, own: bool) -> None:
        found = named(request, known_at(self.workspace))
        if own and len(found) == 1:
            self._forget_memory(found[0], commit)
        elif found and (own or len(found) == 1):
            why = "several have that name" if own else f"{commit.author.name} <{commit.author.email}> asks"
            reason = f"{why}: the commit {commit.oid[:12]} says Forget: {request.text}"
            for header in found:
                one = suggest(without(header, said, reason), header.scope, iso(self.now))
                self._suggest(one, commit)
        elif own:
            self._forget_words(request, commit, said)
        else:
            self.done.notes.append(
                f"{commit.oid[:12]} asks to forget what is not there: {request.text[:80]}"
            )

    def _forget_memory(self, header: Header, commit: Commit) -> None:
        name = f"{header.scope}/{header.agent}/{file_address(header.file)}"
        found = find(self.workspace, name, whole=True)
        self._forget_at(found, f"{header.agent}/{header.file}", commit)

    def _forget_words(self, request: TrailerRequest, commit: Commit, said: datetime) -> None:
        """Takes out the one claim that says just this; a memory that only says like it is asked about."""
        try:
            (one,) = find_claim(self.workspace, request.text, scope=request.scope)
        except Ambiguous:
            self.done.notes.append(
                f"Forget: {request.text[:80]}: several claims say that; see: git mem blame --text TEXT"
            )
            return
        except UsageError:
            self.done.notes.append(f"Forget: {request.text[:80]}: no memory has that name or says that")
            return
        if not request.says(one.claim.key):
            if one.whole:
                at = (one.scope, one.agent, one.file)
                reason = f"it says something like what {commit.oid[:12]} says: Forget: {request.text}"
                for header in known_at(self.workspace).manifest:
                    if at == (header.scope, header.agent, header.file):
                        asked = suggest(without(header, said, reason), header.scope, iso(self.now))
                        self._suggest(asked, commit)
                return
            self.done.notes.append(
                f"Forget: {request.text[:80]}: {one.address} says something like it; "
                "to forget it: git mem forget --claim TEXT"
            )
            return
        self._forget_at(one, f"{one.agent}/{one.file}", commit)

    def _forget_at(self, what: FoundMemory | Holding, path: str, commit: Commit) -> None:
        told = Provenance(writer="human", code_commit=commit.oid)
        written = forget(self.workspace, what, self.who, told, self.copies)
        if written is not None:
            self.done.forgotten.append((what.scope, path, written.commit))

    def _suggest(self, one: Suggestion, commit: Commit) -> None:
        told = Provenance("add", "extract", code_commit=commit.oid)
        self.done.suggested += propose(self.workspace, [one], self.who, told)


class _Mine:
    """Which requests are the person's own: of commits by them that were made in this clone."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._email = workspace.person.email.casefold()
        self._made = dict.fromkeys(_made_here(workspace))
        self._keys: frozenset[str] | None = None

    def has(self, commit: Commit, request: TrailerRequest) -> bool:
        """Whether the person asked for it, in this commit or in one that this was made from."""
        if not self._is_author(commit):
            return False
        if commit.oid in self._made:
            return True
        # A rebase makes commits anew: of the person's own the one they made is in the reflog still.
        if self._keys is None:
            self._keys = frozenset(self._all_keys())
        return request.key(commit.author.email, commit.author.time) in self._keys

    def _is_author(self, commit: Commit) -> bool:
        return bool(self._email) and commit.author.email.casefold() == self._email

    def _all_keys(self) -> Iterator[str]:
        for oid in self._made:
            try:
                commit = self._workspace.code.commit(oid)
            except MissingObject:
                continue
            if self._is_author(commit):
                yield from (
                    one.key(commit.author.email, commit.author.time) for one in requests(commit.message)
                )


def _asking(
    workspace: Workspace, heads: Iterable[str], tips: Iterable[str]
) -> list[tuple[Commit, tuple[TrailerRequest, ...]]]:
    """Commits with requests that are in the history of the heads and not of the tips, oldest first."""
    words = ["rev-list", "--reverse", "--topo-order", f"--max-count={MOST_COMMITS}", "--ignore-missing"]
    words += ["--regexp-ignore-case", "--extended-regexp", r"--grep=^(remember|forget)[ (:]"]
    listed = workspace.git.run([*words, *heads, "--not", *tips], git_dir=workspace.layout.common_dir)
    ignore = compile_ignore(workspace.settings.all("ignore"))
    found = []
    for oid in listed.text.split():
        commit = workspace.code.commit(oid)
        if asked := _requests_of(commit, ignore):
            found.append((commit, asked))
    return found


def _requests_of(commit: Commit, ignore: Ignore) -> tuple[TrailerRequest, ...]:
    message = without_private([commit.message])[0]
    return () if ignore.matches(message) else requests(message)


def _made_here(workspace: Workspace) -> Iterator[str]:
    """Commits that `git commit` made in the work trees of this clone, as their reflogs tell."""
    for tree in workspace.worktrees:
        words = ["log", "-g", f"--max-count={REFLOG_LOOKED}", "--no-show-signature", "--no-color"]
        told = workspace.git.run([*words, "--format=%H %gs", "HEAD", "--"], cwd=tree.path, check=False)
        for line in told.text.splitlines():
            oid, _, subject = line.partition(" ")
            if _OID.fullmatch(oid) and _MADE.match(subject):
                yield oid


def _every_tip(workspace: Workspace) -> tuple[str, ...]:
    """All that any ref of the code leads to, as far as it is kept."""
    heads = [tree.head for tree in workspace.worktrees if tree.head]
    words = ["for-each-ref", "--sort=committerdate", "--format=%(objectname) %(objecttype)"]
    words += ["refs/heads", "refs/remotes"]
    listed = workspace.git.run(words, git_dir=workspace.layout.common_dir)
    tips = [line.split()[0] for line in listed.text.splitlines() if line.endswith(" commit")]
    return tuple(dict.fromkeys([*tips[-BEGUN_KEPT:], *heads]))


def _before_head(workspace: Workspace) -> tuple[str, ...]:
    """Where to begin when nobody said so at `init`: with the very commits that the work trees stand on."""
    heads = {tree.head for tree in workspace.worktrees if tree.head}
    parents: list[str] = []
    for head in sorted(heads):
        try:
            parents += workspace.code.commit(head).parents
        except MissingObject:
            continue
    others = [tip for tip in _every_tip(workspace) if tip not in heads]
    return tuple(dict.fromkeys([*others, *parents]))


def _read(workspace: Workspace) -> TrailerProgress | None:
    value = read_json(workspace.state / FILE, _BYTES)
    try:
        if value is None or value["version"] != 1:
            return None
        begun, tips = (tuple(tip for tip in value[key] if _OID.fullmatch(tip)) for key in ("begun", "tips"))
        handled = tuple(key for key in value["handled"] if _KEY.fullmatch(key))
        # What an earlier version wrote has none.
        asked = tuple(row for row in value.get("asked", ()) if _ASKED.fullmatch(row))
        return TrailerProgress(begun, tips, handled, asked)
    except (KeyError, TypeError):
        return None


def _write(workspace: Workspace, progress: TrailerProgress) -> None:
    value = {"version": 1} | {key: list(words) for key, words in vars(progress).items()}
    write_atomically(workspace.state / FILE, (json.dumps(value) + "\n").encode("ascii"))


def _trailer_paragraphs(message: str) -> Iterator[list[str]]:
    """Paragraphs below the title that hold trailers alone, folded lines joined."""
    blocks: list[list[str]] = [[]]
    # Git knows one line end; what Unicode calls one must not begin a trailer.
    for line in message.replace("\r\n", "\n").strip().split("\n"):
        if line.strip():
            blocks[-1].append(line)
        elif blocks[-1]:
            blocks.append([])
    for block in blocks[1:]:
        joined: list[str] = []
        for line in block:
            if line[0] in " \t":
                if not joined:
                    break
                joined[-1] += f" {line.strip()}"
            elif _TRAILER.fullmatch(line) or line.startswith("(cherry picked from commit "):
                joined.append(line)
            else:
                break
        else:
            yield joined
