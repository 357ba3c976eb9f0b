"""Who proves to have written shared memory: signatures of the commits that introduced its claims.

The person names whom they trust (`gitmem.trust`: a file of allowed signers, as git has it). Git checks;
that takes two processes a signed commit, so verdicts are kept, by commit and by all that they depend on,
and a prompt's hook reads what is kept. What was not looked at yet counts as unsigned.

A signature proves that the holder of a key made the commit. It does not prove that what it says is true,
nor that a person wrote it: the commit of an agent on a person's machine is signed by that person's key, and
its trailer, which the signature covers, says that an agent wrote it. Nor does it prove that nothing was
taken out since.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from gitmem.core.errors import MissingObject, RepositoryError
from gitmem.core.names import kind
from gitmem.ledger.state import Space
from gitmem.values import dataclass

if TYPE_CHECKING:
    from gitmem.core.claim import Claim
    from gitmem.core.memory import Memory
    from gitmem.git.command import Configuration, GitCommand
    from gitmem.git.repository import Repository
    from gitmem.ledger.workspace import Settings, Workspace

TRUST = "trust"
YES, NO = ("true", "yes", "on", "1"), ("", "false", "no", "off", "0")

Standing = Literal["trusted", "untrusted", "bad", "unsigned", "unchecked"]
"""The worst last. An untrusted key is one that the file does not have, or did not have at that time any
more (`valid-before`), or a signature of another kind."""

WORDS: Mapping[Standing, str] = {
    "trusted": "signed",
    "untrusted": "signed by a key that is not trusted here",
    "bad": "signed badly, or by a key that is revoked or not for this",
    "unsigned": "not signed",
    "unchecked": "its signature is not checked yet",
}
_LETTERS: Mapping[str, Standing] = {
    "G": "trusted",
    "U": "untrusted",
    "N": "unsigned",
    "B": "bad",
    "R": "bad",
}
"""By git's `%G?`; what is expired or cannot be checked is not trusted."""

_NOW = "now"
_SIGNERS = Space("signers", 1)
"""What verdicts were made by last, and the marks of the files that it was read from."""
_COMMITS = Space("signature", 100_000)
_MEMORIES = Space("introduced", 50_000)
"""By place (`_places`) of a file in a history: a copy elsewhere, or one brought back, is another."""
_FOLLOWED = Space("followed", 1)
"""The commit that looking began at, and the one that it came to: what stands in between is up to date."""

PORTION = 200
"""Memories whose claims are followed to their commits at once: what is found is kept portion by portion."""


@dataclass(frozen=True)
class Signers:
    """Whom the person trusts.

    Attributes:
        file: of allowed signers; empty where git has none.
        any_kind: whether git's own word on other kinds of signatures counts, too.
        digest: of all that a verdict depends on.
        files: that it was read from.
        trouble: why nothing can be checked; empty where it can.
        remedy: what to do about that.
    """

    file: str
    any_kind: bool
    digest: str
    files: tuple[str, ...] = ()
    trouble: str = ""
    remedy: str = ""


@dataclass(frozen=True)
class SignatureVerdict:
    """What is known of one commit's signature.

    Attributes:
        signer: the principal, as the person's file names them; empty but where it is trusted.
    """

    standing: Standing
    signer: str = ""

    @property
    def words(self) -> str:
        """The same in a few words."""
        return f"signed by {self.signer}" if self.signer else WORDS[self.standing]

    @property
    def value(self) -> dict[str, str]:
        """The JSON form."""
        return {"standing": self.standing, "signer": self.signer}


MOST_NAMES = 3
NAME_CHARS = 40


def plain_name(name: str) -> str:
    """A person's name or address as no more than that: it is shown outside any fence."""
    return " ".join(re.sub(r"[^\w.'@+-]+", " ", name).split())[:NAME_CHARS].rstrip()


UNCHECKED = SignatureVerdict("unchecked")


@dataclass(frozen=True)
class MemoryProof:
    """What is proved of one memory: the worst verdict on the commits that introduced its claims.

    Attributes:
        signers: who signed them, where all are trusted.
        authors: whom the commits name as authors, as (name, address); proved by nothing where unsigned.
        writers: what wrote them by their trailers: `human`, `agent`, ….
    """

    standing: Standing
    signers: tuple[str, ...] = ()
    authors: tuple[tuple[str, str], ...] = ()
    writers: tuple[str, ...] = field(default=())

    @property
    def words(self) -> str:
        """The same in a few words: who signed it, or whom it claims to be by."""
        names = tuple(dict.fromkeys(name for one, _ in self.authors if (name := plain_name(one))))
        claimed = " and ".join(f'"{name}"' for name in names[:MOST_NAMES])
        if self.standing != "trusted":
            return WORDS[self.standing] + (f"; claims to be by {claimed}" if claimed else "")
        signers = [name for one in self.signers[:MOST_NAMES] if (name := plain_name(one))]
        said = f"signed by {' and '.join(signers)}"
        if {email.lower() for _, email in self.authors} - {one.lower() for one in self.signers}:
            said += f", as written by {claimed}"
        machine = [writer for writer in self.writers if writer in ("agent", "extract", "dream")]
        return f"{said}; words of an agent, not of a person" if machine else said

    @property
    def value(self) -> dict[str, object]:
        """The JSON form."""
        return {"standing": self.standing, "signers": list(self.signers), "words": self.words}


def trusts(workspace: Workspace) -> bool:
    """Whether signatures of project memory count here; with sharing off it may still be from others."""
    settings = workspace.settings
    return settings.get(TRUST).lower() not in NO or settings.requires_signed


def find_signers(workspace: Workspace) -> Signers:
    """Reads whom the person trusts, and notes it for those who only read."""
    found = read_signers(
        workspace.git,
        workspace.layout.common_dir,
        workspace.settings,
        workspace.around.home,
        [tree.path for tree in workspace.worktrees],
    )
    marks = {file: _mark(file) for file in found.files}
    note = {"setting": workspace.settings.get(TRUST), "marks": marks, "digest": found.digest}
    if _SIGNERS.get(workspace.state, _NOW) != note:
        _SIGNERS.put(workspace.state, _NOW, note)
    return found


def read_signers(
    git: GitCommand, git_dir: Path, settings: Settings, home: Path, trees: Iterable[Path]
) -> Signers:
    """Reads whom a person trusts; where only `gitmem.requireSigned` is set, git's own settings say it.

    Args:
        git_dir: of the code repository.
        trees: its work trees: whoever pushes may change what lies in one.
    """
    trees = tuple(trees)
    from gitmem.git.commit_signatures import missing_program

    setting = settings.get(TRUST).strip()
    any_kind = setting.lower() in (*YES, *NO)
    place, said = setting, f"gitmem.trust names {setting}, which "
    if any_kind:
        place = _configured(git, git_dir, settings.config, "gpg.ssh.allowedSignersFile")
        said = f"gpg.ssh.allowedSignersFile names {place}, which "
    elif setting.startswith("~/"):
        place = str(home / setting[2:])
    revoked = _configured(git, git_dir, settings.config, "gpg.ssh.revocationFile")
    trouble, remedy = "", ""
    if not place:
        trouble = "git knows no allowed signers"
        remedy = "git config --global gpg.ssh.allowedSignersFile FILE, or git config gitmem.trust FILE"
    elif not Path(place).is_absolute():
        trouble, remedy = f"{said}is no whole path", "git config gitmem.trust ~/FILE, or true"
    elif not _own_file(place, trees, there=False):
        trouble = f"{said}lies in a work tree, where whoever pushes may change it"
        remedy = "keep it elsewhere, such as in ~/.ssh"
    elif not Path(place).is_file():
        trouble, remedy = f"{said}is not there", "a line a person in it: ADDRESS ssh-ed25519 KEY"
    elif revoked and not _own_file(revoked, trees):  # git only warns where it is not there
        trouble = f"gpg.ssh.revocationFile names {revoked}, which is no file outside the work tree"
        remedy = "put it there, or git config --global --unset gpg.ssh.revocationFile"
    elif program := missing_program(git, git_dir, settings.config):
        trouble, remedy = f"{program} is missing, which checks SSH signatures", "install OpenSSH"
    files = tuple(file for file in (place, revoked) if file)
    read = "\0".join([setting, *(f"{file}\0{_content(file)}" for file in files), trouble])
    digest = hashlib.sha256(read.encode("utf-8", "surrogateescape")).hexdigest()
    return Signers(place, any_kind, digest, files, trouble, remedy)


def _own_file(file: str, trees: Iterable[Path], *, there: bool = True) -> bool:
    path = Path(file)
    inside = any(path.resolve().is_relative_to(tree.resolve()) for tree in trees)
    return path.is_absolute() and not inside and (path.is_file() or not there)


def _configured(git: GitCommand, git_dir: Path, config: Configuration, key: str) -> str:
    """A path of git's settings; empty where it is none."""
    from gitmem.git.config import config_path

    with suppress(RepositoryError):  # a home of nobody's
        return config_path(git, config, key, git_dir)
    return ""


def _content(file: str) -> str:
    with suppress(OSError):
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()
    return ""


def _mark(file: str) -> list[int]:
    with suppress(OSError):
        found = Path(file).stat()
        return [found.st_mtime_ns, found.st_size, found.st_ino]
    return []


def _known_digest(workspace: Workspace) -> str:
    """What verdicts were made by last; empty where that has changed since. No process is started."""
    note = _SIGNERS.get(workspace.state, _NOW)
    with suppress(TypeError, KeyError, AttributeError):
        same = note["setting"] == workspace.settings.get(TRUST)
        if same and all(_mark(file) == mark for file, mark in note["marks"].items()):
            return str(note["digest"])
    return ""


def known_verdicts(workspace: Workspace, commits: Iterable[str]) -> dict[str, SignatureVerdict]:
    """The verdicts that are kept on some commits of the code repository; none is made."""
    digest = _known_digest(workspace)
    return _read(workspace, digest, commits) if digest else {}


def _read(workspace: Workspace, digest: str, commits: Iterable[str]) -> dict[str, SignatureVerdict]:
    keys = {f"{digest[:16]}:{oid}": oid for oid in commits}
    found = {}
    for key, value in _COMMITS.some(workspace.state, keys).items():
        with suppress(TypeError, ValueError):
            standing, signer = value
            if standing in get_args(Standing):
                found[keys[key]] = SignatureVerdict(standing, str(signer))
    return found


def verdicts(workspace: Workspace, commits: Collection[str]) -> dict[str, SignatureVerdict]:
    """What is proved of some commits; git is asked about those that it was not asked about before.

    Returns:
        A verdict for each: `unchecked` where git could not look.
    """
    signers = find_signers(workspace)
    found = _read(workspace, signers.digest, commits)
    asked = [oid for oid in dict.fromkeys(commits) if oid not in found]
    for fresh in ask_git(workspace.git, workspace.layout.common_dir, asked, signers):
        kept = {f"{signers.digest[:16]}:{oid}": [one.standing, one.signer] for oid, one in fresh.items()}
        _COMMITS.put_all(workspace.state, kept)
        found |= fresh
    return {oid: found.get(oid, UNCHECKED) for oid in commits}


def ask_git(
    git: GitCommand, git_dir: Path, commits: Sequence[str], signers: Signers
) -> Iterator[dict[str, SignatureVerdict]]:
    """Has git look at commits, a few hundred at once; nothing where it cannot."""
    from gitmem.git.commit_signatures import PORTION as AT_ONCE
    from gitmem.git.commit_signatures import check_signatures

    for start in range(0, 0 if signers.trouble else len(commits), AT_ONCE):
        some = commits[start : start + AT_ONCE]
        checked = check_signatures(git, git_dir, some, signers.file, any_kind=signers.any_kind)
        yield {oid: _judged(one.letter, one.signer, one.key, signers) for oid, one in checked.items()}


def _judged(letter: str, signer: str, key: str, signers: Signers) -> SignatureVerdict:
    standing = _LETTERS.get(letter, "untrusted")
    if standing == "trusted" and not (signers.any_kind or key.startswith("SHA256:")):
        standing = "untrusted"
    return SignatureVerdict(standing, signer if standing == "trusted" else "")


def follow(workspace: Workspace, blobs: Mapping[str, str] | None = None, commit: str | None = None) -> None:
    """Finds out, for later readers, what is proved of shared memory.

    Args:
        blobs: path in the tree to blob, of the memories that matter; None for all.
        commit: that has them; None for where the ref stands.
    """
    if not trusts(workspace):
        return
    from gitmem.git.trees import list_files

    scope = workspace.scope("project")
    repo, tip = scope.repo, commit or scope.repo.ref(scope.ref)
    if tip is None:
        return
    if blobs is None:
        listed = list_files(repo, repo.commit(tip).tree).items()
        blobs = {path: blob for path, blob in listed if kind(path) in ("memory", "log")}
    if tip == repo.ref(scope.ref):
        _forget_moved(workspace, repo, tip)
    known = _known(workspace, blobs, tip)
    commits = {oid for value in known.values() for oid in _commits_of(value)}
    paths = sorted(blobs.keys() - known.keys())
    for start in range(0, len(paths), PORTION):
        some = {path: blobs[path] for path in paths[start : start + PORTION]}
        with suppress(MissingObject):  # where history is damaged, they stay unchecked
            found = _introduced(repo, tip, some)
            places = _places(workspace, some, tip)
            _MEMORIES.put_all(workspace.state, {places[path]: value for path, value in found.items()})
            commits |= {oid for value in found.values() for oid in _commits_of(value)}
    verdicts(workspace, sorted(commits))


def _forget_moved(workspace: Workspace, repo: Repository, tip: str) -> None:
    """Forgets what is known of files that commits since the last look put anywhere, maybe once more."""
    note = _FOLLOWED.get(workspace.state, _NOW) or {}
    since, seen = str(note.get("since", "")), str(note.get("tip", ""))
    if seen == tip:
        return
    with suppress(MissingObject):
        if seen and repo.is_ancestor(seen, tip):
            moved = [
                (path, blob)
                for step in repo.steps(tip, without=[seen])
                for before in step.before
                for path, _, blob in before
                if blob
            ]
            keys = {_place(since, path, blob) for path, blob in moved}
            _MEMORIES.delete_all(workspace.state, _MEMORIES.some(workspace.state, keys))
            _FOLLOWED.put(workspace.state, _NOW, {"since": since, "tip": tip})
            return
    # Another history, or one that cannot be read: all is looked at anew.
    _FOLLOWED.put(workspace.state, _NOW, {"since": tip, "tip": tip})


def _place(since: str, path: str, blob: str) -> str:
    return f"{since[:16]}:{blob}:{path}"


def _places(workspace: Workspace, blobs: Mapping[str, str], commit: str) -> dict[str, str]:
    """Path to what is kept of a file by: of the present one together, of another commit's by itself.

    Args:
        commit: that has them; empty for where the ref stands.
    """
    scope = workspace.scope("project")
    since = commit
    if not commit or commit == scope.repo.ref(scope.ref):
        since = str((_FOLLOWED.get(workspace.state, _NOW) or {}).get("since", ""))
    return {path: _place(since, path, blob) for path, blob in blobs.items()}


def _known(workspace: Workspace, blobs: Mapping[str, str], commit: str) -> dict[str, Any]:
    places = _places(workspace, blobs, commit)
    found = _MEMORIES.some(workspace.state, places.values())
    return {path: found[place] for path, place in places.items() if place in found}


def _introduced(repo: Repository, tip: str, blobs: Mapping[str, str]) -> dict[str, Any]:
    """Path to the commits that introduced its claims, and what they say of who wrote them.

    A file of which it cannot be read what stood before them is left out: its claims may be older.
    """
    from gitmem.core.trailers import parse as parse_trailers
    from gitmem.ledger.blame import origins_of

    said = {path: _claims(path, repo.blob(blob)) for path, blob in blobs.items()}
    ids = {path: [one.id for one in claims] for path, claims in said.items()}
    origins = origins_of(repo, tip, ids, merges=True)
    found = {}
    for path, blob in blobs.items():
        mine = [one for claim in said[path] for one in origins.get((path, claim.id), ())]
        places = {(one.commit, one.path) for one in mine}
        oids = {oid for one in mine for oid in (one.commit, *one.hands)}
        try:
            if kind(path) == "memory":
                oids |= _head_by(repo, tip, path, blob, places)
            _read_before(repo, places)
        except MissingObject:
            continue
        commits = [repo.commit(oid) for oid in sorted(oids)]
        whole = all((path, claim.id) in origins for claim in said[path]) and not any(
            one.beyond for one in mine
        )
        found[path] = {
            "by": [*sorted(oids), *([] if whole else [""])],
            "authors": sorted({(one.author.name, one.author.email) for one in commits}),
            "writers": sorted({parse_trailers(one.message).writer for one in commits}),
        }
    return found


def _read_before(repo: Repository, places: Collection[tuple[str, str]]) -> None:
    """Reads what stood in files before commits.

    Raises:
        MissingObject: not all of it is here.
    """
    from gitmem.core.names import homes
    from gitmem.git.trees import read_file

    for commit, path in places:
        for parent in repo.commit(commit).parents:
            tree = repo.commit(parent).tree
            for home in homes(path):
                read_file(repo, tree, home)


def _claims(path: str, data: bytes) -> list[Claim]:
    from gitmem.core.account import claims_at

    return list(claims_at(path, data))


def _head_by(
    repo: Repository, tip: str, path: str, blob: str, places: Collection[tuple[str, str]]
) -> set[str]:
    """The commits that brought what is no claim of a memory, but told: see `_fields`.

    Args:
        places: where its claims began, as (commit, path): mostly its fields did as well.

    Raises:
        MissingObject: history is damaged.
    """
    from gitmem.core.memory import parse
    from gitmem.core.names import homes
    from gitmem.git.history import lineage
    from gitmem.git.trees import read_file

    def fields(commit: str, place: str) -> frozenset[tuple[str, str]]:
        tree = repo.commit(commit).tree
        files = (read_file(repo, tree, home) for home in homes(place))
        return frozenset(one for data in files if data is not None for one in _fields(parse(place, data)))

    left = set(_fields(parse(path, repo.blob(blob))))
    for commit, place in places:
        before = (fields(parent, place) for parent in repo.commit(commit).parents)
        left -= fields(commit, place).difference(*before)
    if not left:
        return set()
    found: set[str] = set()
    graph = lineage(repo, tip, homes(path))
    pending = dict.fromkeys(list(graph)[:1], left)
    for commit, parents in graph.items():
        asked = pending.pop(commit, set())
        passed: set[tuple[str, str]] = set()
        for parent in parents if asked else ():
            held = asked & fields(parent, path)
            pending[parent] = pending.get(parent, set()) | held
            passed |= held
        if asked - passed:
            found.add(commit)
    return found


def _fields(memory: Memory) -> Iterator[tuple[str, str]]:
    """The frontmatter of a memory, and what each claim stands under: "Never:" is not "Always:"."""
    for one in memory.front.fields if memory.front else ():
        yield one.key, one.raw.strip()
    over = ""
    for claim in memory.parsed.claims:
        leads = claim.key.startswith("#") or claim.key.endswith(":")
        if over and not leads:
            yield f"under {over}", claim.key
        over = claim.key if leads else over


def _commits_of(value: Any) -> list[str]:
    with suppress(TypeError, KeyError, AttributeError):
        return [str(oid) for oid in value["by"] if oid]
    return []


def proofs(workspace: Workspace, blobs: Mapping[str, str], commit: str = "") -> dict[str, MemoryProof]:
    """What is known to be proved of some files of shared memory; nothing is asked of git.

    Args:
        blobs: path in the tree to blob.
        commit: that has them; empty for where the ref stands.

    Returns:
        Path to proof; `unchecked` where nobody looked yet.
    """
    known = _known(workspace, blobs, commit)
    judged = known_verdicts(workspace, {oid for value in known.values() for oid in _commits_of(value)})
    return {path: _proof(known.get(path), judged) for path in blobs}


def _proof(value: Any, judged: Mapping[str, SignatureVerdict]) -> MemoryProof:
    try:
        by = [judged.get(oid, UNCHECKED) if oid else SignatureVerdict("unsigned") for oid in value["by"]]
        authors = tuple((str(name), str(email)) for name, email in value["authors"])
        writers = tuple(map(str, value["writers"]))
    except (TypeError, KeyError, ValueError):
        return MemoryProof("unchecked")
    order: tuple[Standing, ...] = get_args(Standing)
    worst: Standing = max((one.standing for one in by), key=order.index, default="unsigned")
    signers = tuple(sorted({one.signer for one in by})) if worst == "trusted" else ()
    return MemoryProof(worst, signers, authors, writers)


@dataclass(frozen=True)
class Trust:
    """Where signed trust stands, for status and doctor.

    Attributes:
        memories: of shared memory, hot and archived.
        proved: how many of them somebody trusted signed.
        required: whether the others are told to no agent.
        trouble, remedy: why nothing can be checked, and what to do; empty where it can.
    """

    memories: int
    proved: int
    required: bool
    trouble: str
    remedy: str


def trust(workspace: Workspace) -> Trust | None:
    """Looks at the signatures of shared memory as it stands; None where they count for nothing."""
    if not trusts(workspace):
        return None
    from gitmem.git.trees import list_files

    signers, scope = find_signers(workspace), workspace.scope("project")
    tip = scope.repo.ref(scope.ref)
    listed = list_files(scope.repo, scope.repo.commit(tip).tree) if tip else {}
    blobs = {path: blob for path, blob in listed.items() if kind(path) == "memory"}
    follow(workspace, blobs)
    proved = sum(one.standing == "trusted" for one in proofs(workspace, blobs).values())
    return Trust(len(blobs), proved, workspace.settings.requires_signed, signers.trouble, signers.remedy)


def unproved_paths(workspace: Workspace, blobs: Mapping[str, str], commit: str = "") -> frozenset[str]:
    """Paths of those of some files of shared memory that `gitmem.requireSigned` keeps from being told.

    Args:
        blobs, commit: as for `proofs`.
    """
    if not workspace.settings.requires_signed:
        return frozenset()
    found = proofs(workspace, blobs, commit)
    return frozenset(path for path, proof in found.items() if proof.standing != "trusted")


def of_commits(workspace: Workspace, commits: Iterable[str]) -> dict[str, SignatureVerdict]:
    """Verdicts to be shown beside commits of shared memory; none where signatures count for nothing."""
    return verdicts(workspace, list(dict.fromkeys(commits))) if trusts(workspace) else {}
