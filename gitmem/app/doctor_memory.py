"""What the doctor finds in memory itself: refs, the objects that they reach, and trees.

A ref that is gone or points at something else is put back where logs, records and other refs show that it
was; objects that are missing or damaged are looked for in all that is left here.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
import time
import unicodedata
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from gitmem.core.errors import MissingObject, RepositoryError
from gitmem.core.names import FORMAT_TEXT
from gitmem.core.text import counted
from gitmem.flows.context import Edges
from gitmem.git.command import GitCommand
from gitmem.git.config import config_get
from gitmem.git.objects import object_name
from gitmem.git.refs import move_ref
from gitmem.git.repository import EXECUTABLE, LINK, SUBMODULE, TREE, Repository, short_name
from gitmem.ledger.files import CATALOG
from gitmem.ledger.foreign_commits import RESCUED, is_usable, rescue, rescue_name
from gitmem.ledger.land import Tip, check_format, is_commit, is_memory, root_name, root_objects
from gitmem.ledger.layout import (
    LayoutRecord,
    auto_memory,
    blob_name,
    displaced_files,
    live_directories,
    read_record,
)
from gitmem.ledger.working_copy import scan
from gitmem.ledger.workspace import PRIVATE_REF, SHARED_REF, Scope, ScopeName, Workspace


@dataclass(frozen=True)
class Damage:
    """One thing that is not as it should be.

    Attributes:
        kind: which of the doctor's checks found it, e.g. `missing-ref`; stable.
        what: what is wrong, in one line, naming file or ref; may hold hostile text.
        mend: what would be done, or advice where only a person can.
        act: does it and says what was done; None where only a person can.
        asks: whether a person has to agree first.
        later: whether another process does it, which nobody waits for.
    """

    kind: str
    what: str
    mend: str
    act: Callable[[], str] | None = field(default=None, repr=False, compare=False)
    asks: bool = False
    later: bool = False


@dataclass(frozen=True)
class Patient:
    """A repository and its memory, in whatever state.

    Attributes:
        workspace: with settings that can be used, whatever the configuration says.
        private: whether the private repository is there.
    """

    workspace: Workspace
    edges: Edges
    private: bool

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """Those whose repository is there."""
        return tuple(scope for scope in self.workspace.scopes if scope.name == "project" or self.private)

    @property
    def repositories(self) -> tuple[tuple[Repository, Path], ...]:
        """Each repository that is there, with its state folder."""
        found = [(self.workspace.code, self.workspace.state)]
        if self.private:
            found.append((self.workspace.private, self.workspace.private_state))
        return tuple(found)


@dataclass(frozen=True)
class Broken:
    """An object that cannot be read.

    Attributes:
        path: where it stands in a tree of memory; the kind of object where it has no place there.
        commit: the newest commit that needs it, of those looked at.
    """

    oid: str
    path: str
    commit: str


class ObjectWalk:
    """Reads every object that commits reach, each once."""

    def __init__(self, repo: Repository, sound: Iterable[str] = ()) -> None:
        self._repo = repo
        # What a shallow or partial clone left out is not broken.
        self._ends = _lines(repo.git_dir / "shallow")
        self._partial = any((repo.git_dir / "objects/pack").glob("*.promisor"))
        self.seen = set(sound)
        self.broken: list[Broken] = []

    def reach(self, tip: str) -> None:
        """Reads what a commit reaches."""
        todo = [tip]
        while todo:
            oid = todo.pop()
            if oid in self.seen:
                continue
            self.seen.add(oid)
            try:
                commit = self._repo.commit(oid)
            except MissingObject:
                self.broken.append(Broken(oid, "a commit", oid))
                continue
            self._tree(commit.tree, "", oid)
            if oid not in self._ends:
                todo += commit.parents

    def _tree(self, oid: str, prefix: str, commit: str) -> None:
        if oid in self.seen:
            return
        self.seen.add(oid)
        try:
            entries = self._repo.tree(oid)
        except MissingObject:
            self.broken.append(Broken(oid, prefix or "a tree", commit))
            return
        for name, entry in entries.items():
            path = prefix + name
            if entry.mode == TREE:
                self._tree(entry.oid, f"{path}/", commit)
            elif entry.mode != SUBMODULE and entry.oid not in self.seen and not self._partial:
                self.seen.add(entry.oid)
                try:
                    self._repo.blob(entry.oid)
                except MissingObject:
                    self.broken.append(Broken(entry.oid, path, commit))


def _lines(path: Path) -> frozenset[str]:
    try:
        return frozenset(path.read_text(encoding="ascii", errors="replace").split())
    except OSError:
        return frozenset()


@dataclass(frozen=True)
class Evidence:
    """A commit that a ref once was at, as something still shows.

    Attributes:
        source: what shows it, in words.
        rank: 0 for the ref's own log, 1 for what gitmem noted down, 2 for another ref.
    """

    oid: str
    source: str
    rank: int


@dataclass(frozen=True)
class RefState:
    """Where a ref is: `memory`, `gone`, `odd` with the reason why it is no memory, or `damaged`.

    Attributes:
        oid: what it points at, where that can be told.
    """

    state: str
    oid: str | None = None
    why: str = ""


def stand(workspace: Workspace, scope: Scope) -> RefState:
    """Tells whether a scope's ref holds memory."""
    repo = scope.repo
    try:
        oid = repo.ref(scope.ref)
    except RepositoryError as error:
        return RefState("odd", None, f"cannot be read ({error.message})")
    if oid is None:
        loose = repo.git_dir / scope.ref
        return (
            RefState("odd", None, "is no ref but a damaged file") if loose.is_file() else RefState("gone")
        )
    if not is_commit(repo, oid):
        kind = _kind(workspace, repo, oid)
        told = "damaged" if kind == "commit" else f"{f'a {kind}' if kind else 'missing'} and no memory"
        return RefState("odd", oid, f"points at {oid[:12]}, which is {told}")
    if not is_memory(repo, oid):
        return RefState("odd", oid, f"points at {oid[:12]}, a commit that is no memory")
    if not is_usable(repo, oid):
        return RefState("damaged", oid, f"points at {oid[:12]}, of which a folder cannot be read")
    return RefState("memory", oid)


def scope_of(workspace: Workspace, record: LayoutRecord, state: Path) -> ScopeName | None:
    """The scope of a record's folder, by where it is; None for a folder of another repository."""
    path = Path(record.path)
    if path == auto_memory(workspace):
        return "local"
    if state == workspace.state:
        return "project"
    if path.parent == workspace.around.config / "agent-memory":
        return "user"
    tops = [tree.path for tree in workspace.worktrees]
    return "local" if any(top in path.parents for top in tops) else None


def evidence(workspace: Workspace, scope: Scope) -> Iterator[Evidence]:
    """Commits that a ref was at, the surest source first, each newest first; some may be gone."""
    for entry in scope.repo.reflog(scope.ref):
        yield Evidence(entry.new, "its reflog", 0)
        if entry.old:
            yield Evidence(entry.old, "its reflog", 0)
    for path in sorted((scope.state / "live").glob("*.json")):
        record = read_record(scope.state, path.stem)
        # A folder that was empty at `init` has the root for its base, and the ref nothing yet.
        known = record and record.base not in ("", root_name(scope.repo))
        if record and known and scope_of(workspace, record, scope.state) == scope.name:
            yield Evidence(record.base, f"the record of {record.path}", 1)
    if tip := _catalogued(scope.state, scope.ref):
        yield Evidence(tip, "the catalog", 1)
    if scope.name == "project":
        other = PRIVATE_REF if scope.ref == SHARED_REF else SHARED_REF
        with suppress(RepositoryError):
            if oid := scope.repo.ref(other):
                yield Evidence(oid, other, 2)
    branch = short_name(scope.ref)
    for name, oid in scope.repo.refs("refs/remotes/").items() if branch != scope.ref else ():
        if name.split("/", 3)[3:] == [branch]:
            yield Evidence(oid, name, 2)


def _catalogued(state: Path, ref: str) -> str | None:
    try:
        uri = f"file:{quote(os.fsencode(state / CATALOG))}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            row = connection.execute("SELECT tip FROM ref WHERE name = ?", (ref,)).fetchone()
            return str(row[0]) if row else None
    except sqlite3.Error:
        return None


def _kind(workspace: Workspace, repo: Repository, oid: str) -> str:
    """Kind of an object; empty where it is missing or cannot be read."""
    done = workspace.git.run(["cat-file", "-t", oid], git_dir=repo.git_dir, check=False)
    return done.text if not done.returncode else ""


IN_THE_WAY = "refs/heads/gitmem"
TRIED = 40
"""Commits that are looked at for one that is whole: each may mean reading all of a history."""

MESSAGE = "gitmem doctor: brought back"


@dataclass(frozen=True)
class RefCandidate:
    """What a ref is brought back to.

    Attributes:
        whole: whether all that it reaches can be read.
        apart: other commits that were there, which it does not hold.
    """

    best: Evidence
    whole: bool
    apart: tuple[str, ...] = ()


def check_refs(patient: Patient) -> list[Damage]:
    """Looks at the ref of each scope."""
    found = [finding for scope in patient.scopes for finding in _check(patient, scope)]
    if patient.workspace.code.ref(IN_THE_WAY) is not None:
        what = "a branch named gitmem is in the way of the branch gitmem/project"
        found.append(Damage("branch-in-the-way", what, "rename it: git branch -m gitmem gitmem-old"))
    return found


def _check(patient: Patient, scope: Scope) -> Iterator[Damage]:
    repo = scope.repo
    standing = stand(patient.workspace, scope)
    if standing.state == "memory":
        return
    shown = tuple(evidence(patient.workspace, scope))
    gone, damaged = standing.state == "gone", standing.state == "damaged"
    if damaged and standing.oid:
        shown += tuple(_before(repo, standing.oid))
    if gone and not shown:
        return
    what = f"{scope.ref} {standing.why}"
    if gone:
        what = f"{scope.ref} is missing, but {shown[0].source} shows it at {shown[0].oid[:12]}"
    choice = _choose(repo, shown)

    def to(chosen: RefCandidate) -> str:
        kept = "" if gone else f"; what was there is {_displace(patient, scope, standing)}"
        _keep(patient, repo, chosen.apart)
        move_ref(repo, scope.ref, chosen.best.oid, None if gone else repo.ref(scope.ref), MESSAGE)
        return f"{scope.ref} is at {chosen.best.oid[:12]} again{kept}"

    kind = "missing-ref" if gone else "damaged-ref" if damaged else "odd-ref"
    if choice is None and gone:
        mend = (
            "no sound commit of it is left here; fetch one from a backup or clone, or begin anew from what"
        )
        yield Damage(kind, what, f"{mend} stands in live directories: git mem save")
        return
    if choice is None:

        def begin_anew() -> str:
            if stand(patient.workspace, scope).state == "memory":
                return f"{scope.ref} can be read again"
            if now := _choose(repo, shown):
                return to(now)
            kept = _displace(patient, scope, standing)
            move_ref(repo, scope.ref, None, repo.ref(scope.ref), MESSAGE)
            return f"{scope.ref} begins anew with the next save; what was there is {kept}"

        mend = "no sound commit of it is left here: put it aside, so that the next save begins it anew from"
        mend += " what stands in live directories (a backup or clone may have more)"
        yield Damage(kind, what, mend, begin_anew, asks=True)
        return
    mend = f"bring back {choice.best.oid[:12]} ({repo.commit(choice.best.oid).subject})"
    mend += f", from {choice.best.source}"
    mend += "" if choice.whole else "; not all of it can be read"
    if choice.apart:
        mend += f", and keep {counted(len(choice.apart), 'other commit')} under {RESCUED}"
    if not gone:
        mend += f", and keep what is there under {RESCUED}"

    def put_back() -> str:
        if damaged and stand(patient.workspace, scope).state == "memory":
            return f"{scope.ref} can be read again"
        # What was mended meanwhile may have made a newer one whole.
        return to(_choose(repo, shown) or choice)

    # Git deletes a log with its ref: where the log still is, nobody meant to delete the ref.
    asks = gone and not (repo.git_dir / "logs" / scope.ref).is_file()
    yield Damage(kind, what, mend, put_back, asks or damaged)


def _choose(repo: Repository, shown: Sequence[Evidence]) -> RefCandidate | None:
    """The newest commit that exists whole; one that exists in part where none does.

    The log's word comes first: what the ref was moved away from is not brought back. Other refs count
    only where nothing of this clone's own is left.
    """
    logged = frozenset(one.oid for one in shown if one.rank == 0)
    own = [one for one in shown if one.rank == 0 or (one.rank == 1 and one.oid not in logged)]
    for candidates in (own, [one for one in shown if one.rank == 2]):
        sound = _sound(repo, candidates)
        heads = [one for one in sound if not any(_holds(repo, other, one) for other in sound)]
        heads.sort(key=lambda one: (-one.rank, repo.commit(one.oid).committer.time), reverse=True)
        if heads:
            return RefCandidate(heads[0], True, tuple(one.oid for one in heads[1:]))
    for one in shown:
        if is_usable(repo, one.oid) and is_memory(repo, one.oid):
            return RefCandidate(one, False)
    return None


def _sound(repo: Repository, candidates: Sequence[Evidence]) -> list[Evidence]:
    """Those that are whole; of the log's only the newest."""
    sound: list[Evidence] = []
    known: set[str] = set()
    tried: set[str] = set()
    for one in candidates:
        enough = one.rank == 0 and any(other.rank == 0 for other in sound)
        if enough or one.oid in known | tried or len(tried) == TRIED:
            continue
        tried.add(one.oid)
        walk = ObjectWalk(repo, known)
        walk.reach(one.oid)
        if not walk.broken and is_memory(repo, one.oid):
            known |= walk.seen
            sound.append(one)
    return sound


def _holds(repo: Repository, newer: Evidence, older: Evidence) -> bool:
    return newer.oid != older.oid and repo.is_ancestor(older.oid, newer.oid)


def _displace(patient: Patient, scope: Scope, standing: RefState) -> str:
    """Takes away what cannot be moved as a ref; returns how it is kept."""
    repo, git = scope.repo, patient.workspace.git
    linked = git.run(["symbolic-ref", "-q", scope.ref], git_dir=repo.git_dir, check=False).text
    if linked:
        git.run(["symbolic-ref", "--delete", scope.ref], git_dir=repo.git_dir)
        return f"left where it is: it was a link to {linked}"
    if standing.oid is None:
        aside = scope.state / "rescued" / f"{_stamp(patient)}-{quote(scope.ref, safe='')}"
        aside.parent.mkdir(parents=True, exist_ok=True)
        os.replace(repo.git_dir / scope.ref, aside)
        return f"kept in {aside}"
    if standing.state == "damaged":
        # By the name that a save gives to what its folder showed.
        rescue(repo, standing.oid)
        return f"kept as {rescue_name(standing.oid)}"
    try:
        return f"kept as {_keep(patient, repo, (standing.oid,))[0]}"
    except RepositoryError:
        return f"not there any more: {standing.oid} (its log: {_keep_log(patient, scope)})"


def _keep_log(patient: Patient, scope: Scope) -> Path:
    """Copies a ref's log, which git deletes along with the ref."""
    aside = scope.state / "rescued" / f"{_stamp(patient)}-{quote(scope.ref, safe='')}.log"
    aside.parent.mkdir(parents=True, exist_ok=True)
    log = (f"{one.old} {one.new} {one.message}\n" for one in scope.repo.reflog(scope.ref))
    aside.write_text("".join(log), errors="surrogateescape")
    return aside


def _before(repo: Repository, oid: str) -> Iterator[Evidence]:
    """The commits before one, newest first, as far as they can be read."""
    with suppress(MissingObject):
        for _ in range(TRIED):
            parents = repo.commit(oid).parents
            # The empty commit that all begins with is nothing to go back to.
            if not parents or parents[0] == root_name(repo):
                return
            oid = parents[0]
            yield Evidence(oid, "its own history", 2)


def _keep(patient: Patient, repo: Repository, oids: Sequence[str]) -> list[str]:
    """Names objects under `refs/gitmem/rescued`; returns the refs."""
    made = []
    for oid in oids:
        stem, number = f"{RESCUED}{_stamp(patient)}", 1
        name = stem
        while repo.ref(name) is not None:
            number += 1
            name = f"{stem}-{number}"
        move_ref(repo, name, oid, None, "gitmem doctor: kept")
        made.append(name)
    return made


def _stamp(patient: Patient) -> str:
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(patient.edges.now))


NAMED = 5
"""Files that are named in a line about many."""


def check_objects(patient: Patient) -> list[Damage]:
    """Walks all that memory refs reach."""
    found: list[Damage] = []
    for repo, state in patient.repositories:
        walk = ObjectWalk(repo)
        for tip in _tips(patient, repo):
            walk.reach(tip)
        if walk.broken:
            found += _findings(patient, repo, state, walk.broken)
    return found


def _memory_refs(repo: Repository, private: bool) -> dict[str, str]:
    """Refs that hold memory, or wait to: full name to object name."""
    found = {name: oid for prefix in _prefixes(private) for name, oid in repo.refs(prefix).items()}
    return {name: oid for name, oid in found.items() if not name.startswith(RESCUED)}


def _prefixes(private: bool) -> tuple[str, str]:
    return ("refs/gitmem/", "refs/heads/" if private else "refs/heads/gitmem/")


def _tips(patient: Patient, repo: Repository) -> list[str]:
    tips = []
    for name in _memory_refs(repo, repo is not patient.workspace.code):
        try:
            oid = repo.ref(name)
        except RepositoryError:
            continue
        # Where a ref was led astray, nobody wants all of the code read.
        if oid and (repo is not patient.workspace.code or is_memory(repo, oid)):
            tips.append(oid)
    for scope in patient.scopes:
        if scope.repo is repo and stand(patient.workspace, scope).state != "memory":
            # Where the ref will be brought back to.
            tips += [one.oid for one in evidence(patient.workspace, scope)][:1]
    # A commit that cannot be read itself is for `check_refs`.
    return [oid for oid in dict.fromkeys(tips) if is_commit(repo, oid)]


def _findings(patient: Patient, repo: Repository, state: Path, broken: Sequence[Broken]) -> list[Damage]:
    other = [each for each, _ in patient.repositories if each is not repo]
    live = _in_live_directories(patient.workspace, repo.hex_length)
    live[blob_name(FORMAT_TEXT, repo.hex_length)] = FORMAT_TEXT
    copies = root_objects(repo.hex_length)
    for one in broken:
        data = live.get(one.oid)
        for each in other if data is None else ():
            with suppress(MissingObject):
                data = each.blob(one.oid)
        if data is not None:
            copies[one.oid] = ("blob", data)
    found = []
    here = [one for one in broken if one.oid in copies]
    if here:

        def put_back() -> str:
            for one in here:
                put_object(repo, *copies[one.oid], one.oid, state)
            return f"{counted(len(here), 'object')} put back from copies on this machine"

        what = f"{repo.git_dir}: {_listed(here)} cannot be read, and the same content stands elsewhere"
        found.append(Damage("object", what, "put it back from there", put_back))
    gone = [one for one in broken if one.oid not in copies]
    if not gone:
        return found
    url = _remote(patient.workspace, repo)
    what = f"{repo.git_dir}: {_listed(gone)} cannot be read"
    if url:

        def fetch() -> str:
            prefixes = _prefixes(repo is not patient.workspace.code)
            return _from_remote(patient.workspace.git, repo, state, url, prefixes, gone)

        found.append(Damage("object", what, "fetch it again from the remote", fetch, asks=True))
    else:
        mend = (
            "see git fsck; copy the objects from a clone or backup of this repository, or take each of"
            " these memories as it was before: git mem restore NAME --at COMMIT"
        )
        found.append(Damage("object", what, mend))
    return found


def _listed(broken: Sequence[Broken]) -> str:
    names = [f"{one.path} (in {one.commit[:12]})" for one in broken[:NAMED]]
    more = f" and {len(broken) - NAMED} more" if len(broken) > NAMED else ""
    return ", ".join(names) + more


def _in_live_directories(workspace: Workspace, hex_length: int) -> dict[str, bytes]:
    """Content of all files in live directories, and of those displaced there, by git's name for it."""
    lives = [live for tree in workspace.worktrees for live in live_directories(workspace, tree.path)]
    found: dict[str, bytes] = {}
    for live in {one.path: one for one in lives}.values():
        files = list(scan(live).files.values())
        files += [one.content for one in displaced_files(live.scope.state / "displaced" / live.key)]
        found |= {blob_name(data, hex_length): data for data in files}
    return found


def _remote(workspace: Workspace, repo: Repository) -> str:
    """Where the same objects may be: the backup, or the remote that memory is shared with."""
    if repo is not workspace.code:
        return workspace.settings.get("backup")
    if workspace.sharing == "off":
        return ""
    name = workspace.settings.get("remote") or "origin"
    return config_get(workspace.git, None, f"remote.{name}.url", git_dir=repo.git_dir) or ""


def _from_remote(
    git: GitCommand,
    repo: Repository,
    state: Path,
    url: str,
    prefixes: Sequence[str],
    gone: Sequence[Broken],
) -> str:
    """Fetches into a folder of its own: here git would think it had all it needs."""
    top = repo.git_dir.parent if repo.git_dir.name == ".git" else repo.git_dir
    done = 0
    with tempfile.TemporaryDirectory(dir=state) as folder:
        there = Path(folder) / "fetched.git"
        shape = "sha256" if repo.hex_length == 64 else "sha1"
        git.run(["init", "--quiet", "--bare", "--template=", f"--object-format={shape}", str(there)])
        specs = [f"+{prefix}*:{prefix}*" for prefix in prefixes]
        git.run(["--git-dir", str(there), "fetch", "--quiet", "--no-tags", "--", url, *specs], cwd=top)
        for one in gone:
            kind = git.run(["cat-file", "-t", one.oid], git_dir=there, check=False).text
            if kind in ("blob", "tree", "commit"):
                data = git.run(["cat-file", kind, one.oid], git_dir=there).stdout
                put_object(repo, kind, data, one.oid, state)
                done += 1
    if done < len(gone):
        raise RepositoryError(
            f"{done} of {counted(len(gone), 'object')} were found there",
            "Copy the rest from another clone, or restore the memories named as they were before.",
        )
    return f"{counted(done, 'object')} fetched again"


def put_object(repo: Repository, kind: str, data: bytes, oid: str, state: Path) -> None:
    """Writes a loose object under its name, in place of a damaged one, which is moved to `rescued`.

    Git itself does not write an object that it believes to have.

    Raises:
        RepositoryError: the content is not the one that the name was made of.
    """
    if object_name(kind, data, repo.hex_length) != oid:
        raise RepositoryError(f"what was found for {oid} is something else")
    path = repo.git_dir / "objects" / oid[:2] / oid[2:]
    path.parent.mkdir(exist_ok=True)
    if os.path.lexists(path):
        aside = state / "rescued" / oid
        aside.parent.mkdir(parents=True, exist_ok=True)
        os.replace(path, aside)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix="tmp_obj_")
    with os.fdopen(handle, "wb") as file:
        file.write(zlib.compress(b"%s %d\0" % (kind.encode(), len(data)) + data))
        file.flush()
        os.fsync(file.fileno())
        os.fchmod(file.fileno(), 0o444)
    os.replace(name, path)


ODD = {LINK: "a symbolic link", SUBMODULE: "a submodule", EXECUTABLE: "marked executable"}
ADVICE = "see who committed it: git log --all -- PATH; a commit that takes it out mends it"


def check_trees(patient: Patient) -> list[Damage]:
    """Looks at the newest tree of each scope."""
    found: list[Damage] = []
    for scope in patient.scopes:
        standing = stand(patient.workspace, scope)
        if standing.state != "memory" or standing.oid is None:
            continue
        try:
            tree = scope.repo.commit(standing.oid).tree
            found += [
                Damage("tree", f"{scope.ref}: {why}", ADVICE) for why in _oddities(scope.repo, tree, "")
            ]
        except MissingObject:
            # `check_objects` has it.
            continue
        try:
            check_format(scope.repo, scope.ref, Tip(standing.oid, tree))
        except RepositoryError as error:
            found.append(Damage("format", error.message, error.hint))
    return found


def _oddities(repo: Repository, tree: str, prefix: str) -> Iterator[str]:
    alike: dict[str, str] = {}
    for name, entry in sorted(repo.tree(tree).items()):
        path = prefix + name
        if entry.mode in ODD:
            yield f"{path} is {ODD[entry.mode]}"
        folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
        if folded in alike:
            yield f"{path} and {prefix}{alike[folded]} are one file where case or Unicode form do not count"
        alike[folded] = name
        if entry.mode == TREE:
            yield from _oddities(repo, entry.oid, f"{path}/")
