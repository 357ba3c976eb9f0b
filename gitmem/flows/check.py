"""A request judged: read from git within limits, since all of it is hostile, then by every rule.

It runs in any clone or CI checkout, with nothing of gitmem set up; only git is needed.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal

from gitmem.core.account import BranchChange, proposals
from gitmem.core.errors import MissingObject, RepositoryError
from gitmem.core.names import FORMAT_FILE, is_agent_folder
from gitmem.flows.request import CheckRepository, find_bases, find_head, meeting_point
from gitmem.git.by_command import GitRepository
from gitmem.git.command import GitCommand, layout
from gitmem.git.repository import BLOB, EXECUTABLE, TREE, RawStep, Repository, TreeEntry, own
from gitmem.git.trees import read_file
from gitmem.ledger.land import root_name
from gitmem.ledger.workspace import SNAPSHOT_FOLDER, Settings, read_settings
from gitmem.rules.credentials import without_secrets
from gitmem.rules.paths import judge_epoch
from gitmem.rules.profiles import judge
from gitmem.rules.rule import EMPTY, File, Finding, Revision, RuleContext, Side
from gitmem.rules.snapshot import ROOT_FOLDER, STATE_FILE

What = Literal["memory", "snapshots"]

MOST_FILES = 100_000
"""Lines of a tree that are read, and changes of all commits of a request together."""

FILE_BYTES = 1 << 20
"""Largest file that is read: ten times what a memory may have."""

MOST_BYTES = 256 << 20
"""Content that is read in all."""

MOST_COMMITS = 20_000
"""Commits of a request that are read."""

EVENT_BYTES = 16 << 20
"""Of the event that started a run of GitHub Actions; the host sends less."""

_CHUNK = 1 << 16
_LABEL = re.compile(r"gitmem-allow-((?:loss|taught)-\d{1,9}-[0-9a-f]{12})")
_NAME = re.compile(r"[0-9a-f]{7,64}|HEAD(?:[~^@].*)?|FETCH_HEAD")
_NOT_SAID = ("tree ", "parent ", "author ", "committer ", "commit ")

Listing = dict[str, tuple[int, str]]
"""Path to mode and object name."""


@dataclass(frozen=True)
class CheckRequest:
    """What a check is asked to judge.

    Attributes:
        ref: a revision or branch; empty for HEAD.
        base: what it is asked to be merged into; empty for the usual.
        staged: what is staged, against HEAD; so does a check that git runs as a hook.
        github: whether GitHub Actions runs it, which names both branches in the environment.
        now: seconds since the epoch.
        parents: folders of a code tree that hold snapshots; the first is gitmem's own.
        allow: fingerprints of secrets that a person accepted, and words by which one answers for findings.
        branch: its name; empty where it has none.
        unsigned: which of some commits have to be signed and are not; none where nothing requires that.
    """

    ref: str = ""
    base: str = ""
    staged: bool = False
    github: bool = False
    now: int = 0
    parents: tuple[str, ...] = ()
    allow: frozenset[str] = frozenset()
    branch: str = ""
    unsigned: Callable[[Sequence[str]], Mapping[str, str]] = lambda _: {}


Proof = Callable[[CheckRepository, CheckRequest, str, str, str], tuple[Finding, ...]]
"""Judges a dream, given the commit where it left what it is to be merged into, that, and its newest
commit."""


@dataclass(frozen=True)
class CheckReport:
    """What a check found.

    Attributes:
        commit: what was judged; None for what is staged.
        base: the commit that it was compared with; None where all of it was judged.
        files: how many files were there.
        note: what else a person should know; empty for nothing.
        proposals: what it does to claims, where it is one on memory, was compared, and holds no secret.
    """

    what: What
    commit: str | None
    base: str | None
    files: int
    findings: tuple[Finding, ...]
    note: str = ""
    proposals: tuple[BranchChange, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return all(found.level != "error" for found in self.findings)


def check(environ: Mapping[str, str], cwd: Path, request: CheckRequest, proof: Proof) -> CheckReport:
    """Judges the request in the repository around a folder.

    Args:
        environ: environment of the process: git's index, and the branches that GitHub Actions names.
        request: what was asked for; what settings say is filled in here.
        proof: judges what is a dream, besides.

    Raises:
        GitmemError: there is no repository, or what is asked for cannot be found, fetched or read.
    """
    git = GitCommand(environ)
    where = layout(git, cwd)
    repo = GitRepository(git, where)
    settings = read_settings(git, cwd)
    index = environ.get("GIT_INDEX_FILE", "")
    usual = not request.ref and not request.base
    reader = Reader(git, repo, where.git_dir, str(Path(cwd, index)) if index else None)
    asked = replace(
        request,
        base=environ.get("GITHUB_BASE_REF", "") if request.github and usual else request.base,
        staged=(request.staged or (bool(index) and usual and not request.github))
        and where.worktree is not None,
        parents=(f"{settings.get('claudeDir')}/{SNAPSHOT_FOLDER}", ROOT_FOLDER),
        allow=request.allow
        | {word for value in settings.all("allow") for word in value.split()}
        | (allowed_by_labels(environ) if request.github else frozenset()),
        branch=(request.ref or (environ.get("GITHUB_HEAD_REF", "") if request.github else "")),
    )
    if settings.requires_signed:
        home, trees = Path(environ.get("HOME", "")), [where.worktree] if where.worktree else []
        asked = replace(asked, unsigned=partial(_unsigned, git, where.common_dir, settings, home, trees))
    try:
        return _check(CheckRepository(git, where, repo, settings.config), reader, asked, proof)
    finally:
        repo.close()


def _unsigned(
    git: GitCommand,
    git_dir: Path,
    settings: Settings,
    home: Path,
    trees: Sequence[Path],
    oids: Sequence[str],
) -> dict[str, str]:
    """Commits that nobody trusted signed, each to what is known; why nothing is, under no name."""
    from gitmem.ledger.signatures import UNCHECKED, ask_git, read_signers  # few checks require it

    signers = read_signers(git, git_dir, settings, home, trees)
    if signers.trouble:
        return {"": f"{signers.trouble} ({signers.remedy})"}
    known = {oid: one for some in ask_git(git, git_dir, oids, signers) for oid, one in some.items()}
    judged = {oid: known.get(oid, UNCHECKED) for oid in oids}
    return {oid: one.words for oid, one in judged.items() if one.standing != "trusted"}


def allowed_by_labels(environ: Mapping[str, str]) -> frozenset[str]:
    """The words by which people answer for findings of a pull request: labels that they put on it.

    Only who may manage a request labels it, and a word fits one set of findings alone: what is pushed later
    needs another. None lets a credential pass.
    """
    try:
        with Path(environ.get("GITHUB_EVENT_PATH", "")).open("rb") as file:
            event = json.loads(file.read(EVENT_BYTES))
        labels = [label["name"] for label in event["pull_request"]["labels"]]
    except (OSError, ValueError, RecursionError, LookupError, TypeError):
        return frozenset()
    found = (_LABEL.fullmatch(label) for label in labels if isinstance(label, str))
    return frozenset(match[1] for match in found if match)


@dataclass(frozen=True)
class _Base:
    """What a request is compared with: the commit it is to be merged into, and the one that it left."""

    tip: str
    met: str | None


def _check(ground: CheckRepository, reader: Reader, asked: CheckRequest, proof: Proof) -> CheckReport:
    head = find_head(ground, asked.ref)
    if asked.staged:
        return _staged(ground, reader, asked, head)
    if head is None:
        return CheckReport("snapshots", None, None, 0, ())
    given = find_bases(ground, asked.base, memory=True)[0] if asked.base else None
    # The base decides what a request is one on: it must not get by as something else.
    memory = _is_memory(ground, head if given is None else given)
    after = _side(ground, reader, asked, head, memory)
    note, base = "", None
    try:
        if after.files or memory:
            base = _base(ground, given, head, memory)
    except RepositoryError as error:
        if given:
            raise
        note = f"all of it was judged: {error.message}"
    what: What = "memory" if memory else "snapshots"
    context = RuleContext(asked.allow, "" if _NAME.fullmatch(asked.branch) else asked.branch)
    if base is None:
        return CheckReport(what, head, None, len(after.files), judge("request", None, after, context), note)
    before = _side(ground, reader, asked, base.met or base.tip, memory)
    revisions, trouble = reader.revisions(
        head, (base.tip, *([base.met] if base.met else [])), () if memory else asked.parents
    )
    if not memory:
        revisions = tuple(_of_folders(revisions, (*before.folders, *after.folders)))
    after = replace(after, trouble=(*after.trouble, *trouble))
    unsigned = asked.unsigned([one.oid for one in revisions]) if memory else {}
    found = judge("request", before, after, replace(context, revisions=revisions, unsigned=unsigned))
    asked_for: tuple[BranchChange, ...] = ()
    if memory:
        found = _together(found, without_secrets(_history(ground, asked, base, head, proof), asked.allow))
        # A claim by itself does not tell that a name elsewhere spells the password in it.
        if not any(one.rule == "secret" for one in found):
            asked_for = proposals(_contents(before), _contents(after))
    return CheckReport(what, head, base.met or base.tip, len(after.files), found, proposals=asked_for)


def _contents(side: Side) -> dict[str, bytes]:
    """Path from the root of a memory tree to content, as far as it was read."""
    return {
        f"{folder}/{path}": file.data
        for folder, files in side.folders.items()
        for path, file in files.items()
        if file.data is not None
    }


def _base(ground: CheckRepository, given: str | None, head: str, memory: bool) -> _Base | None:
    """The nearest base; None where the request is part of it already, so that all of it is judged."""
    if given is not None:
        return _Base(given, meeting_point(ground, given, head))
    nearest: _Base | None = None
    for tip in find_bases(ground, "", memory=memory):
        met = meeting_point(ground, tip, head)
        closer = nearest is None or nearest.met is None or ground.repo.is_ancestor(nearest.met, met or "")
        if met is not None and met != head and closer:
            nearest = _Base(tip, met)
    return nearest


def _history(
    ground: CheckRepository, asked: CheckRequest, base: _Base, head: str, proof: Proof
) -> Iterator[Finding]:
    trees = [ground.repo.commit(oid).tree for oid in (base.tip, head)]
    says = [read_file(ground.repo, tree, FORMAT_FILE) for tree in trees]
    if says[0] is not None and says[1] is not None:
        yield from judge_epoch(says[0], says[1])
    if base.met is None:
        yield Finding("", 1, "account", "shares no history with its base, so what it drops cannot be told")
        return
    try:
        yield from proof(ground, asked, base.met, base.tip, head)
    except MissingObject as error:
        yield Finding("", 1, "account", f"what became of claims cannot be told: {error.message}")


def _together(found: tuple[Finding, ...], more: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Findings on the trees and on the commits between them, those that say the same once."""
    told = {(one.path, one.rule) for one in found if one.rule in ("secret", "instruction", "path")}
    more = tuple(one for one in more if (one.path, one.rule) not in told)
    # That a claim went is told once, by what is wrong with it.
    wrong = {one.claim for one in more if one.claim and one.rule in ("account", "merged")}
    return tuple(sorted({*(one for one in found if one.claim not in wrong), *more}))


def _of_folders(revisions: Iterable[Revision], folders: Iterable[str]) -> Iterator[Revision]:
    """The commits with what lies in snapshots alone; the rest of a code tree is none of ours."""
    heads = tuple({f"{folder}/" for folder in folders})
    for one in revisions:
        files = {path: file for path, file in one.files.items() if path.startswith(heads)}
        if files:
            yield replace(one, files=files)


def _staged(ground: CheckRepository, reader: Reader, asked: CheckRequest, head: str | None) -> CheckReport:
    memory = reader.stages(FORMAT_FILE) or (head is not None and _is_memory(ground, head))
    after = reader.staged_memory(asked.now) if memory else reader.staged_snapshots(asked.parents, asked.now)
    before = _side(ground, reader, asked, head, memory) if head else EMPTY
    found = judge("request", before, after, RuleContext(asked.allow))
    return CheckReport("memory" if memory else "snapshots", None, head, len(after.files), found)


def _side(ground: CheckRepository, reader: Reader, asked: CheckRequest, oid: str, memory: bool) -> Side:
    commit = ground.repo.commit(oid)
    time = max(commit.committer.time, 0)
    if memory:
        return reader.memory(commit.tree, time)
    return reader.snapshots(commit.tree, asked.parents, time)


def _is_memory(ground: CheckRepository, oid: str) -> bool:
    """Whether a commit is one of memory, by itself alone: a checkout may have no history."""
    if oid == root_name(ground.repo):
        return True
    tree = ground.repo.tree(ground.repo.commit(oid).tree)
    entry: TreeEntry | None = tree.get(FORMAT_FILE)
    return entry is not None and entry.mode != TREE


@dataclass
class Reader:
    """Reads sides from one repository; a file that both sides have is read once.

    Attributes:
        git_dir: the git directory of the work tree that is meant, where its index lies.
        index: another index file than the usual one, which git names to a hook; None for none.
    """

    git: GitCommand
    repo: Repository
    git_dir: Path
    index: str | None = None
    _files: dict[tuple[int, str], File] = field(default_factory=dict)
    _bytes: int = 0

    def memory(self, tree: str, time: int) -> Side:
        """A memory tree: its agents' folders, and all else as a host's."""
        return self._memory(*self._listed(["ls-tree", "-r", "-z", "--full-tree", tree]), time)

    def snapshots(self, tree: str, parents: Sequence[str], time: int) -> Side:
        """The snapshots that a code tree holds in some folders."""
        words = ["ls-tree", "-r", "-z", "--full-tree", tree, "--", *parents]
        return self._snapshots(*self._listed(words), parents, time)

    def staged_memory(self, time: int) -> Side:
        """What is staged, as a memory tree."""
        return self._memory(*self._staged(()), time)

    def staged_snapshots(self, parents: Sequence[str], time: int) -> Side:
        """The snapshots among what is staged."""
        return self._snapshots(*self._staged(parents), parents, time)

    def revisions(
        self, head: str, without: Sequence[str], paths: Sequence[str]
    ) -> tuple[tuple[Revision, ...], list[tuple[str, str]]]:
        """The commits of a request, parents first, and what could not be read of them.

        Args:
            head: its newest commit.
            without: commits whose history is none of it.
            paths: folders that matter; none for all.
        """
        steps: list[tuple[RawStep, tuple[dict[str, TreeEntry], ...], dict[str, TreeEntry]]] = []
        trouble: list[tuple[str, str]] = []
        lines = 0
        try:
            for step in self.repo.raw_steps(head, paths, without):
                parents, files = own(step.before)
                parents = parents[: len(step.commit.parents)]
                lines += sum(map(len, (*parents, files)))
                if len(steps) == MOST_COMMITS or lines > 2 * MOST_FILES:
                    what = f"{MOST_COMMITS:,} commits or {MOST_FILES:,} changes"
                    trouble.append(("", f"its history is beyond the first {what}, which alone are judged"))
                    break
                steps.append((step, parents, files))
        except MissingObject as error:
            trouble.append(("", f"its history cannot be read: {error.message}"))
        wanted = {
            entry for _, parents, files in steps for side in (*parents, files) for entry in side.values()
        }
        sizes = self._sizes({oid: None for mode, oid in wanted if (mode, oid) not in self._files})
        found = []
        for step, parents, files in steps:
            sides = [
                {path: self._once(path, entry, sizes, trouble) for path, entry in side.items()}
                for side in (*parents, files)
            ]
            said = "\n".join(line for line in _headers(step.header) if not line.startswith(_NOT_SAID))
            commit = step.commit
            people = tuple(f"{who.name} <{who.email}>" for who in (commit.author, commit.committer))
            message = f"{said}\n\n{commit.message}" if said else commit.message
            found.append(Revision(commit.oid, people, message, tuple(sides[:-1]), sides[-1]))
        return tuple(found), trouble

    def stages(self, path: str) -> bool:
        """Whether a path is staged."""
        return bool(self._staged([path])[0])

    def _memory(self, listed: Listing, trouble: list[tuple[str, str]], time: int) -> Side:
        folders: dict[str, dict[str, File]] = {}
        host: dict[str, File] = {}
        files = dict(self._read(listed, trouble))
        for path, file in files.items():
            head, slash, rest = path.partition("/")
            if slash and not head.startswith(".") and is_agent_folder(head):
                folders.setdefault(head, {})[rest] = file
            else:
                host[path] = file
        return Side(folders, host, False, time, tuple(trouble))

    def _snapshots(
        self, listed: Listing, trouble: list[tuple[str, str]], parents: Sequence[str], time: int
    ) -> Side:
        folders: dict[str, Listing] = {}
        host: Listing = {}
        for path, line in listed.items():
            parent = next((parent for parent in parents if path.startswith(f"{parent}/")), "")
            agent, slash, _ = path.removeprefix(f"{parent}/").partition("/")
            if not parent:
                continue
            if slash:
                folders.setdefault(f"{parent}/{agent}", {})[path] = line
            elif parent == parents[0] or agent == ".gitattributes":
                host[path] = line
        # A folder `snapshots` at the root of a code tree may be anybody's.
        for folder in [f for f in folders if f"{f}/{STATE_FILE}" not in folders[f]]:
            if not folder.startswith(f"{parents[0]}/"):
                del folders[folder]
        wanted = {path: line for files in folders.values() for path, line in files.items()}
        read = dict(self._read({**wanted, **host}, trouble))
        return Side(
            {
                folder: {path.removeprefix(f"{folder}/"): read[path] for path in files}
                for folder, files in folders.items()
            },
            {path: read[path] for path in host},
            True,
            time,
            tuple(trouble),
        )

    def _listed(self, words: list[str]) -> tuple[Listing, list[tuple[str, str]]]:
        found: Listing = {}
        trouble: list[tuple[str, str]] = []
        for row in self._rows(words):
            # `<mode> <kind> <name>\t<path>`
            head, _, path = row.partition("\t")
            fields = head.split(" ")
            if len(fields) != 3 or not path:
                continue
            if path in found:
                trouble.append((path, "stands in its tree more than once"))
            elif len(found) == MOST_FILES:
                trouble.append((path, f"is beyond the first {MOST_FILES:,} files, which alone are judged"))
                break
            else:
                found[path] = (int(fields[0], 8), fields[2])
        return found, trouble

    def _staged(self, paths: Sequence[str]) -> tuple[Listing, list[tuple[str, str]]]:
        words = ["ls-files", "--stage", "-z", "--full-name", "--", *(f":(top,literal){p}" for p in paths)]
        extra = {"GIT_INDEX_FILE": self.index} if self.index else None
        done = self.git.run(words, git_dir=self.git_dir, env=extra)
        found: Listing = {}
        for row in done.text.split("\0"):
            # `<mode> <name> <stage>\t<path>`
            head, _, path = row.partition("\t")
            fields = head.split(" ")
            if len(fields) == 3 and len(found) < MOST_FILES:
                found[path] = (int(fields[0], 8), fields[1])
        return found, []

    def _rows(self, words: list[str]) -> Iterator[str]:
        """What git prints, a NUL after each, as it comes: whoever has enough stops it."""
        process = self.git.start(words, git_dir=self.git_dir)
        ended = False
        try:
            rest = b""
            while process.stdout and (chunk := os.read(process.stdout.fileno(), _CHUNK)):
                *whole, rest = (rest + chunk).split(b"\0")
                yield from (row.decode("utf-8", "surrogateescape") for row in whole)
            ended = True
        finally:
            for pipe in (process.stdin, process.stdout):
                if pipe:
                    pipe.close()
            if not ended:
                process.kill()
            process.wait()
        if process.returncode:
            raise MissingObject("The tree that is to be judged is missing or damaged", "Run: git fsck")

    def _read(self, listed: Listing, trouble: list[tuple[str, str]]) -> Iterator[tuple[str, File]]:
        fresh = [oid for mode, oid in listed.values() if (mode, oid) not in self._files]
        sizes = self._sizes(dict.fromkeys(fresh))
        for path, (mode, oid) in listed.items():
            yield path, self._once(path, TreeEntry(mode, oid), sizes, trouble)

    def _once(
        self, path: str, entry: TreeEntry, sizes: Mapping[str, int], trouble: list[tuple[str, str]]
    ) -> File:
        if entry not in self._files:
            self._files[entry] = self._file(path, *entry, sizes.get(entry.oid), trouble)
        return self._files[entry]

    def _file(
        self, path: str, mode: int, oid: str, size: int | None, trouble: list[tuple[str, str]]
    ) -> File:
        if mode not in (BLOB, EXECUTABLE):
            return File(mode, oid)
        if size is None:
            trouble.append((path, "is missing from the repository"))
            return File(mode, oid)
        if size > FILE_BYTES:
            return File(mode, oid, size)
        if self._bytes + size > MOST_BYTES:
            trouble.append((path, f"is beyond the first {MOST_BYTES >> 20} MB, which alone are judged"))
            return File(mode, oid, size)
        self._bytes += size
        return File(mode, oid, size, self.repo.blob(oid))

    def _sizes(self, oids: Iterable[str]) -> dict[str, int]:
        """Object name to size, of the blobs among them: one process, however many."""
        asked = "".join(f"{oid}\n" for oid in oids).encode()
        if not asked:
            return {}
        words = ["cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)"]
        rows = self.git.run(words, git_dir=self.git_dir, input=asked).text.split("\n")
        fields = (row.split(" ") for row in rows)
        return {row[0]: int(row[2]) for row in fields if len(row) == 3 and row[1] == "blob"}


def _headers(text: str) -> Iterator[str]:
    """Lines of a commit's header, less its signature, which is noise to every rule."""
    signed = False
    for line in text.split("\n"):
        signed = line.startswith("gpgsig") or (signed and line.startswith(" "))
        if not signed:
            yield line
