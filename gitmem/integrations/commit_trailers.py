"""Learning from commit messages: the person's own `Remember:` and `Forget:`, and what others ask for.

Commits are looked at once: `<common git dir>/gitmem/commits.json` holds the tips that were looked at, and
the keys of the requests that were handled, which amended, rebased and picked commits share with the first.

Anyone can put the person's address into a commit. So a commit counts as theirs only where its author is
them and the reflog shows that it was made in this clone; what was fetched or applied waits in review.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, timezone

from gitmem.core.change import Header
from gitmem.core.errors import UsageError
from gitmem.core.trailers import Provenance
from gitmem.extract.commit import store_change
from gitmem.extract.plan import Placed, Refused, Rules
from gitmem.extract.trailers import Request, named, plan_request, requests, says, wanted, without
from gitmem.integrations.carrying_out import bring_up_to_date
from gitmem.integrations.edges import Edges, allowed_fingerprints, author
from gitmem.integrations.editing import forget
from gitmem.integrations.extraction import known_at
from gitmem.integrations.extraction_rules import in_log_mode, rule_texts
from gitmem.integrations.forgetting import find_claim, forget_claim
from gitmem.store.files import log, read_json
from gitmem.store.locks import writer_lock
from gitmem.store.lookup import Ambiguous, find
from gitmem.store.parked import Suggestion, park, suggest
from gitmem.store.record import write_atomically
from gitmem.store.repository import Commit, MissingObject, Signature
from gitmem.store.workspace import Workspace
from gitmem.transcripts.privacy import Ignore, ignoring, without_private

FILE = "commits.json"
MOST_COMMITS = 200
"""Commits with requests that are looked at in one go; of more, as a first merge may bring, the newest."""
MOST_SUGGESTED = 20
"""Requests of others that one go may put into review."""
BEGUN_KEPT = 1_000
TIPS_KEPT = 64
HANDLED_KEPT = 10_000
REFLOG_LOOKED = 500

_BYTES = 4 * 1024 * 1024
_OID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_KEY = re.compile(r"[0-9a-f]{16}")
_MADE = re.compile(r"commit(?: \((?:initial|amend|merge)\))?: ")


@dataclass(frozen=True)
class Looked:
    """What was looked at.

    Attributes:
        begun: tips of all branches at the beginning: what they hold was there before.
        tips: commits whose whole history was looked at since, newest last.
        handled: keys of requests, oldest first.
    """

    begun: tuple[str, ...] = ()
    tips: tuple[str, ...] = ()
    handled: tuple[str, ...] = ()


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
    refused: list[Refused] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def begin_with_commits(workspace: Workspace) -> None:
    """Leaves all commits that are there now alone; what was begun before stays as it is."""
    with writer_lock(workspace.state, "commits"):
        if _read(workspace) is None:
            _write(workspace, Looked(_every_tip(workspace)))


def learn_from_commits(workspace: Workspace, edges: Edges) -> CommitsLearned:
    """Carries out what commits ask for that were not looked at before, oldest first.

    With `gitmem.extract` off they are passed over for good.

    Raises:
        RepositoryError: git knows no identity, or a ref cannot be written; it can be run again at no loss.
        UsageError: a pattern of `gitmem.ignore` cannot be honoured.
    """
    done = CommitsLearned()
    with writer_lock(workspace.state, "commits"):
        known = _read(workspace) or Looked(_before_head(workspace))
        heads = tuple(tree.head for tree in workspace.worktrees if tree.head)
        if set(heads) <= {*known.begun, *known.tips}:
            return done
        if workspace.settings.get("extract") != "off":
            known = _learn(workspace, edges, known, heads, done)
        tips = tuple(tip for tip in known.tips if tip not in heads)
        kept = replace(known, tips=(*tips, *heads)[-TIPS_KEPT:], handled=known.handled[-HANDLED_KEPT:])
        _write(workspace, kept)
    for line in done.notes:
        log(workspace.layout.common_dir, f"commits: {line}")
    for refused in done.refused:
        log(workspace.layout.common_dir, f"commits: not stored: {refused.text}: {refused.reason}")
    return done


def _learn(
    workspace: Workspace, edges: Edges, known: Looked, heads: tuple[str, ...], done: CommitsLearned
) -> Looked:
    handled = dict.fromkeys(known.handled)
    found = _asking(workspace, heads, (*known.begun, *known.tips))
    if len(found) == MOST_COMMITS:
        done.notes.append(f"only the newest {MOST_COMMITS} commits with requests were looked at")
    work = _Work(workspace, edges, author(workspace, edges), done, _Mine(workspace)) if found else None
    for commit, asked in found:
        for number, request in enumerate(asked, 1):
            key = request.key(commit.author.email, commit.author.time)
            if work is not None and key not in handled:
                work.carry_out(commit, request, number)
                handled[key] = None
    return replace(known, handled=tuple(handled))


@dataclass(frozen=True)
class _Work:
    workspace: Workspace
    edges: Edges
    who: Signature
    done: CommitsLearned
    mine: _Mine

    def carry_out(self, commit: Commit, request: Request, number: int) -> None:
        said = _moment(commit.author)
        own = self.mine.has(commit, request)
        if not own and len(self.done.suggested) >= MOST_SUGGESTED:
            self.done.notes.append(f"{commit.oid[:12]} asks for more than waits in review at a time")
        elif request.op == "remember":
            self._remember(commit, request, number, said, own)
        else:
            self._forget(commit, request, said, own)

    def _remember(self, commit: Commit, request: Request, number: int, said: datetime, own: bool) -> None:
        by = "you" if own else f"{commit.author.name} <{commit.author.email}>"
        reason = f"{by} asked to remember it in the commit {commit.oid[:12]}"
        change = wanted(request, said, own, reason)
        plan = plan_request(request, change, known_at(self.workspace), self._rules())
        for placed in plan.stored:
            self._store(placed, commit, number)
        for placed in plan.suggested:
            self._suggest(suggest(placed.change, placed.scope, self._now()), commit)
        self.done.refused += plan.refused

    def _store(self, placed: Placed, commit: Commit, number: int) -> None:
        told = Provenance(
            op="add", writer="extract", job=f"commit-{commit.oid[:12]}.{number}", code_commit=commit.oid
        )
        written = store_change(self.workspace.scope(placed.scope), placed, self.who, told)
        bring_up_to_date(self.workspace, self.edges, placed.scope, placed.agent)
        if written is not None:
            paths = [path for path in written.edits if path.endswith(placed.file)]
            path = paths[0] if paths else f"{placed.agent}/{placed.file}"
            self.done.stored.append((placed.scope, path, written.commit))

    def _forget(self, commit: Commit, request: Request, said: datetime, own: bool) -> None:
        found = named(request, known_at(self.workspace))
        if own and len(found) == 1:
            self._forget_memory(found[0], commit)
        elif found and (own or len(found) == 1):
            why = "several have that name" if own else f"{commit.author.name} <{commit.author.email}> asks"
            reason = f"{why}: the commit {commit.oid[:12]} says Forget: {request.text}"
            for header in found:
                one = suggest(without(header, said, reason), header.scope, self._now())
                self._suggest(one, commit)
        elif own:
            self._forget_words(request, commit)
        else:
            self.done.notes.append(
                f"{commit.oid[:12]} asks to forget what is not there: {request.text[:80]}"
            )

    def _forget_memory(self, header: Header, commit: Commit) -> None:
        stem = header.file.rpartition("/")[2].removesuffix(".md")
        found = find(self.workspace, f"{header.scope}/{header.agent}/{stem}", whole=True)
        done = forget(self.workspace, self.edges, found, code_commit=commit.oid)
        if done.written is not None:
            path = f"{header.agent}/{header.file}"
            self.done.forgotten.append((header.scope, path, done.written.commit))

    def _forget_words(self, request: Request, commit: Commit) -> None:
        """Takes out the one claim that says just this; all else is for the person to say."""
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
        if not says(request, one.claim.key):
            self.done.notes.append(
                f"Forget: {request.text[:80]}: {one.address} says something like it; "
                "to forget it: git mem forget --claim TEXT"
            )
            return
        written = forget_claim(self.workspace, self.edges, one, code_commit=commit.oid)
        if written is not None:
            self.done.forgotten.append((one.scope, f"{one.agent}/{one.file}", written.commit))

    def _suggest(self, one: Suggestion, commit: Commit) -> None:
        told = Provenance("add", "extract", code_commit=commit.oid)
        if park(self.workspace, [one], self.who, told) is not None:
            self.done.suggested.append(one)

    def _rules(self) -> Rules:
        return Rules(
            sharing=self.workspace.sharing,  # type: ignore[arg-type]
            texts=rule_texts(self.workspace, self.edges),
            allow=allowed_fingerprints(self.workspace),
            log=in_log_mode(self.workspace),
        )

    def _now(self) -> str:
        return datetime.fromtimestamp(int(self.edges.now), UTC).isoformat().replace("+00:00", "Z")


class _Mine:
    """Which requests are the person's own: of commits by them that were made in this clone."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._email = workspace.person.email.casefold()
        self._made = dict.fromkeys(_made_here(workspace))
        self._keys: frozenset[str] | None = None

    def has(self, commit: Commit, request: Request) -> bool:
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
) -> list[tuple[Commit, tuple[Request, ...]]]:
    """Commits with requests that are in the history of the heads and not of the tips, oldest first."""
    words = ["rev-list", "--reverse", "--topo-order", f"--max-count={MOST_COMMITS}", "--ignore-missing"]
    words += ["--regexp-ignore-case", "--extended-regexp", r"--grep=^(remember|forget)[ (:]"]
    listed = workspace.git.run([*words, *heads, "--not", *tips], git_dir=workspace.layout.common_dir)
    ignore = ignoring(workspace.settings.all("ignore"))
    found = []
    for oid in listed.text.split():
        commit = workspace.code.commit(oid)
        if asked := _requests_of(commit, ignore):
            found.append((commit, asked))
    return found


def _requests_of(commit: Commit, ignore: Ignore) -> tuple[Request, ...]:
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


def _moment(who: Signature) -> datetime:
    try:
        return datetime.fromtimestamp(who.time, timezone(timedelta(minutes=who.offset)))
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, UTC)


def _read(workspace: Workspace) -> Looked | None:
    value = read_json(workspace.state / FILE, _BYTES)
    try:
        if value is None or value["version"] != 1:
            return None
        begun, tips = (tuple(tip for tip in value[key] if _OID.fullmatch(tip)) for key in ("begun", "tips"))
        return Looked(begun, tips, tuple(key for key in value["handled"] if _KEY.fullmatch(key)))
    except (KeyError, TypeError):
        return None


def _write(workspace: Workspace, looked: Looked) -> None:
    value = {"version": 1} | {key: list(words) for key, words in vars(looked).items()}
    write_atomically(workspace.state / FILE, (json.dumps(value) + "\n").encode("ascii"))
