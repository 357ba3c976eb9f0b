"""Where a backup is: named in the person's own configuration, and nothing but private memory in it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from gitmem.core.errors import CheckFailed, UsageError
from gitmem.core.names import TURNED_DOWN
from gitmem.store.address import same_place, without_credentials
from gitmem.store.git import config_set, config_unset
from gitmem.store.projects import PROJECTS_REF
from gitmem.store.record import write_atomically
from gitmem.store.remote import Remote
from gitmem.store.repository import RefMoved, Repository, short_name
from gitmem.store.workspace import Workspace

KEY = "gitmem.backup"
NAME = "backup"

USER_REF, LOCAL_REFS = "refs/heads/user", "refs/heads/local/"
MERGED = (USER_REF, PROJECTS_REF, LOCAL_REFS, "refs/heads/review/")
"""Refs that machines merge, and that are never deleted on either side."""

COPIED = ("refs/heads/dream/", TURNED_DOWN)
"""Beginnings of refs that are copied, and deleted, as they are. Notes of sessions stay on their machine."""

FAMILIES = ("refs/heads/", TURNED_DOWN)

REACH_SECONDS = 60.0
"""How long a backup's host may take to list its refs."""

_PROBE = "gitmem-backup-to-be"
"""Name under which git is asked, in no file, where it would fetch from and push to."""

MESSAGE = "gitmem backup"
"""What a ref's log says about it."""

HINT = "Name an empty repository of your own, which only you can read: git mem backup URL"


def name_backup(workspace: Workspace, url: str) -> None:
    """Makes a URL the backup: in the person's own configuration, and as a remote for plain git."""
    git, private = workspace.git, workspace.private.git_dir
    if workspace.settings.get("backup") not in ("", url):
        _forget_tracking(workspace.private)
    config_set(git, None, KEY, url, scope="global", git_dir=private)
    config_set(git, None, f"remote.{NAME}.url", url, git_dir=private)
    config_set(git, None, f"remote.{NAME}.fetch", f"+refs/heads/*:refs/remotes/{NAME}/*", git_dir=private)
    workspace.settings = workspace.with_settings(backup=url).settings


def forget_backup(workspace: Workspace) -> str:
    """Forgets the backup; what it holds stays there. Returns its URL, empty where none was named."""
    url = workspace.settings.get("backup")
    config_unset(workspace.git, None, KEY, scope="global", git_dir=workspace.layout.common_dir)
    if workspace.private_path.is_dir():
        private = workspace.private.git_dir
        workspace.git.run(["config", "--remove-section", f"remote.{NAME}"], git_dir=private, check=False)
        _forget_tracking(workspace.private)
    _agreed_file(workspace).unlink(missing_ok=True)
    workspace.settings = workspace.with_settings(backup="").settings
    return url


def refuse_code(workspace: Workspace, url: str) -> None:
    """Raises where a URL is the present code repository, one of its remotes, or the private repository.

    Raises:
        UsageError: it is.
    """
    git, common = workspace.git, workspace.layout.common_dir
    top = workspace.layout.worktree or common
    configured = git.run(["config", "--get-regexp", r"^remote\..*url$"], git_dir=common, check=False).text
    remotes = [row.partition(" ")[2] for row in configured.splitlines()]
    # `insteadOf` and `pushInsteadOf` may make other addresses of it.
    meant = {url}
    listed = git.run(["-c", f"remote.{_PROBE}.url={url}", "remote", "-v"], git_dir=common).text
    for row in listed.splitlines():
        name, _, rest = row.partition("\t")
        address = rest.rpartition(" (")[0]
        if name == _PROBE:
            meant.add(address)
        else:
            remotes.append(address)
    places = (
        ("this code repository", [str(common), *(str(tree.path) for tree in workspace.worktrees)]),
        ("the private repository itself", [str(workspace.private_path)]),
        ("a remote of this code repository: private memory must not go there", remotes),
    )
    for what, addresses in places:
        if any(same_place(one, other, top) for one in meant for other in addresses):
            raise UsageError(f"{without_credentials(url)} is {what}", HINT)


def backup_remote(workspace: Workspace, url: str) -> Remote:
    """The backup as the private repository sees it."""
    private = workspace.private.git_dir
    return Remote(workspace.git, private, NAME, url, FAMILIES, git_dir=private)


def listed_memory(remote: Remote) -> dict[str, str]:
    """The private memory that the remote has.

    Raises:
        RepositoryError: it cannot be reached, or has branches that are no private memory.
    """
    listed = remote.listed(timeout=REACH_SECONDS)
    foreign = [ref for ref in listed if ref.startswith("refs/heads/") and not is_private(ref)]
    if foreign:
        names = ", ".join(short_name(ref) for ref in sorted(foreign)[:3])
        raise CheckFailed(
            f"{without_credentials(remote.address)} holds branches that are no private memory: {names}",
            HINT,
        )
    return {ref: oid for ref, oid in listed.items() if is_private(ref)}


def is_private(ref: str) -> bool:
    """Whether a ref is one that a backup holds."""
    return ref in MERGED or ref.startswith(tuple(one for one in (*MERGED, *COPIED) if one.endswith("/")))


def private_refs(repo: Repository) -> dict[str, str]:
    """The refs that a backup is to hold: full name to object name."""
    found = {ref: oid for prefix in FAMILIES for ref, oid in repo.refs(prefix).items()}
    return {ref: oid for ref, oid in found.items() if is_private(ref)}


def _agreed_file(workspace: Workspace) -> Path:
    return workspace.private_state / "backup.json"


def agreed_refs(workspace: Workspace, url: str) -> dict[str, str]:
    """What both sides had after the last backup to this URL; empty where that is not known."""
    try:
        data = json.loads(_agreed_file(workspace).read_bytes())
        if data["version"] != 1 or data["url"] != _digest(url):
            return {}
        return {str(ref): str(oid) for ref, oid in data["refs"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def note_agreed(workspace: Workspace, url: str, refs: Mapping[str, str]) -> None:
    """Notes what both sides have now; of the refs that are copied only: the others are never deleted."""
    copied = {ref: oid for ref, oid in sorted(refs.items()) if ref.startswith(COPIED)}
    data = {"version": 1, "url": _digest(url), "refs": copied}
    write_atomically(_agreed_file(workspace), (json.dumps(data, indent=1) + "\n").encode())


def _digest(url: str) -> str:
    return hashlib.sha256(url.encode("utf-8", "surrogateescape")).hexdigest()


def _forget_tracking(repo: Repository) -> None:
    for ref, oid in repo.refs(f"refs/remotes/{NAME}/").items():
        with suppress(RefMoved):
            repo.move_ref(ref, None, oid, MESSAGE)
