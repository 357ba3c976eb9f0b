"""All checks in the order in which their mends build on one another."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gitmem.app.doctor import installed, locks, notes, objects, refs, trees
from gitmem.app.doctor.finding import Finding, Patient
from gitmem.core.errors import GitmemError, RepositoryError
from gitmem.flows.context import Edges
from gitmem.git.open import open_repository
from gitmem.ledger.workspace import SHARED_REF, Workspace

CHECKS: tuple[Callable[[Patient], Sequence[Finding]], ...] = (
    installed.check_settings,
    installed.check_engine,
    installed.check_state,
    installed.check_private_repository,
    locks.check_locks,
    objects.check_objects,
    refs.check_refs,
    trees.check_trees,
    notes.check_records,
    notes.check_worker,
    notes.check_catalogs,
    installed.check_hooks,
    installed.check_project_id,
)


def plan(workspace: Workspace, edges: Edges) -> tuple[Finding, ...]:
    """Finds what is wrong; nothing is written.

    Raises:
        RepositoryError: `init` never ran here.
    """
    if not workspace.settings.get("projectId"):
        raise RepositoryError(f"{workspace.layout.worktree} has no gitmem memory yet", "Run: git mem init")
    patient = _patient(_usable(workspace), edges)
    found: list[Finding] = []
    for check in CHECKS:
        try:
            found += check(patient)
        except (GitmemError, OSError) as error:
            hint = error.hint if isinstance(error, GitmemError) else ""
            found.append(Finding("unreadable", str(error), hint or "see what git says: git fsck"))
    return tuple(found)


def carry_out(finding: Finding) -> str:
    """Mends one; returns what was done.

    Raises:
        RepositoryError: it cannot be done; what was there still is.
    """
    if finding.act is None:
        raise RepositoryError(finding.what, finding.mend)
    try:
        return finding.act()
    except OSError as error:
        raise RepositoryError(
            f"{error.filename or 'a file'}: {error.strerror}", "Make it writable for you."
        ) from error


def _patient(workspace: Workspace, edges: Edges) -> Patient:
    there = workspace.has_private
    if there:
        # Opened by its own property, it would get mode 0700 before anybody looked at that.
        vars(workspace)["private"] = open_repository(workspace.private_path, workspace.git, bare=True)
    return Patient(workspace, edges, there)


def _usable(workspace: Workspace) -> Workspace:
    """The same with a sharing that means something, so that there is a ref to look at."""
    if workspace.settings.values.get("share", "off").rsplit("\n", 1)[-1] in ("off", "review", "direct"):
        return workspace
    shared = workspace.code.ref(SHARED_REF) is not None
    return workspace.with_settings(share="review" if shared else "off")
