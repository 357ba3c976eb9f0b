"""Objects that memory refs reach and that are missing or damaged, and where else they still are."""

from __future__ import annotations

import os
import tempfile
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from gitmem.app.doctor.evidence import evidence, is_readable, stand
from gitmem.app.doctor.finding import Finding, Patient
from gitmem.app.doctor.walk import Broken, Walk
from gitmem.core.errors import RepositoryError
from gitmem.core.names import FORMAT_TEXT
from gitmem.core.text import counted
from gitmem.git.command import GitCommand, config_get
from gitmem.git.objects import object_name
from gitmem.git.repository import MissingObject, Repository
from gitmem.ledger.foreign_commits import RESCUED
from gitmem.ledger.land import is_memory, root_objects
from gitmem.ledger.layout import blob_name, displaced_files
from gitmem.ledger.working_copy import scan
from gitmem.ledger.workspace import Workspace

NAMED = 5
"""Files that are named in a line about many."""


def check_objects(patient: Patient) -> list[Finding]:
    """Walks all that memory refs reach."""
    found: list[Finding] = []
    for repo, state in patient.repositories:
        walk = Walk(repo)
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
    return [oid for oid in dict.fromkeys(tips) if is_readable(repo, oid)]


def _findings(patient: Patient, repo: Repository, state: Path, broken: Sequence[Broken]) -> list[Finding]:
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
        found.append(Finding("object", what, "put it back from there", put_back))
    gone = [one for one in broken if one.oid not in copies]
    if not gone:
        return found
    url = _remote(patient.workspace, repo)
    what = f"{repo.git_dir}: {_listed(gone)} cannot be read"
    if url:

        def fetch() -> str:
            prefixes = _prefixes(repo is not patient.workspace.code)
            return _from_remote(patient.workspace.git, repo, state, url, prefixes, gone)

        found.append(Finding("object", what, "fetch it again from the remote", fetch, asks=True))
    else:
        mend = (
            "see git fsck; copy the objects from a clone or backup of this repository, or take each of"
            " these memories as it was before: git mem restore NAME --at COMMIT"
        )
        found.append(Finding("object", what, mend))
    return found


def _listed(broken: Sequence[Broken]) -> str:
    names = [f"{one.path} (in {one.commit[:12]})" for one in broken[:NAMED]]
    more = f" and {len(broken) - NAMED} more" if len(broken) > NAMED else ""
    return ", ".join(names) + more


def _in_live_directories(workspace: Workspace, hex_length: int) -> dict[str, bytes]:
    """Content of all files in live directories, and of those displaced there, by git's name for it."""
    lives = [live for tree in workspace.worktrees for live in workspace.live_directories(tree.path)]
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
