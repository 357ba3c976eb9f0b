"""Files on the memory branch that a host acts on: the workflow that judges requests, and owners."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gitmem import __version__
from gitmem.app.git_hooks import hooks_folder
from gitmem.core.errors import UsageError
from gitmem.core.trailers import Provenance
from gitmem.flows.context import Edges
from gitmem.flows.memory_trees import keep_up
from gitmem.git.trees import read_paths
from gitmem.ledger.land import Tip, Write, Written, land
from gitmem.ledger.workspace import SHARED_REF, Workspace

HOSTS = ("github",)
WORKFLOW = ".github/workflows/gitmem.yml"
CODEOWNERS = ".github/CODEOWNERS"

_OURS = b"# Made by gitmem: "
_VERSION = re.compile(rb'(?m)^      VERSION: "[^"\n]*"$')
_OWNER = re.compile(
    r"@[A-Za-z0-9][A-Za-z0-9-]{0,38}(?:/[A-Za-z0-9._-]{1,100})?|[^\s@#]{1,64}@[\w.-]{1,255}"
)
_NOBODY = "# Nobody yet. Name someone here, or run: git mem share --ci github --owner @ORGANISATION/TEAM"


@dataclass(frozen=True)
class HostingPlan:
    """What would be put on the memory branch.

    Attributes:
        files: path to content, those that are missing or older.
        kept: paths at which a person's own file stands, which is left alone.
    """

    files: Mapping[str, bytes] = field(repr=False)
    kept: tuple[str, ...] = ()


def plan_hosting(workspace: Workspace, host: str, owners: Sequence[str] = ()) -> HostingPlan:
    """Finds which files of a host's are missing on the memory branch; nothing is written.

    Args:
        host: `github`.
        owners: who has to agree to a request, as CODEOWNERS names them; none leaves it to be filled in.

    Raises:
        UsageError: no such host or owner, or memory is not shared.
    """
    if host not in HOSTS:
        raise UsageError(f"There is no host {host!r}", f"Hosts are: {', '.join(HOSTS)}.")
    for owner in owners:
        if not _OWNER.fullmatch(owner):
            raise UsageError(
                f"{owner!r} is no owner", "Give a user, a team or an address: @user, @org/team."
            )
    tip = workspace.code.ref(SHARED_REF) if workspace.sharing != "off" else None
    if tip is None:
        raise UsageError("Project memory is not shared, so no host judges it", "Run: git mem share")
    return _plan(workspace, workspace.code.commit(tip).tree, _wanted(owners), bool(owners))


def set_up_hosting(
    workspace: Workspace, edges: Edges, host: str, owners: Sequence[str] = ()
) -> tuple[HostingPlan, Written | None]:
    """Puts the files on the memory branch as one commit; arguments and errors as for `plan_hosting`.

    Returns:
        What was planned, and the commit; None where all is there.
    """
    plan_hosting(workspace, host, owners)
    plans: list[HostingPlan] = []

    def plan(tip: Tip) -> Write | None:
        plans.append(_plan(workspace, tip.tree, _wanted(owners), bool(owners)))
        if not plans[-1].files:
            return None
        return Write(
            plans[-1].files, "Have requests on memory judged", Provenance(op="sync", writer="sync")
        )

    written = land(workspace.scope("project"), plan, workspace.author(edges.now))
    if written is not None:
        keep_up(workspace, edges)
    return plans[-1], written


def _wanted(owners: Sequence[str]) -> dict[str, bytes]:
    folder = hooks_folder() / "action"
    workflow = (folder / "workflow.yml").read_text(encoding="utf-8").replace("@VERSION@", __version__)
    rule = f"* {' '.join(owners)}" if owners else _NOBODY
    names = (folder / "CODEOWNERS").read_text(encoding="utf-8").replace("@RULE@", rule)
    return {WORKFLOW: workflow.encode(), CODEOWNERS: names.encode()}


def _plan(workspace: Workspace, tree: str, wanted: Mapping[str, bytes], named: bool) -> HostingPlan:
    found = read_paths(workspace.code, tree, set(wanted))
    files: dict[str, bytes] = {}
    kept = []
    for path, data in wanted.items():
        here = found.get(path)
        if here == data or (path == CODEOWNERS and here is not None and not named):
            continue
        if here is None or _is_ours(path, here, data):
            files[path] = data
        else:
            kept.append(path)
    return HostingPlan(files, tuple(kept))


def _is_ours(path: str, here: bytes, data: bytes) -> bool:
    """Whether a file is as gitmem made it, but for its version or owners."""
    if not here.startswith(_OURS):
        return False
    if path == WORKFLOW:
        return _VERSION.sub(b"", here) == _VERSION.sub(b"", data)
    return here.splitlines()[:-1] == data.splitlines()[:-1]
