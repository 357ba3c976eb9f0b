"""What the worker does for documents after commits."""

from __future__ import annotations

from gitmem.core.errors import GitmemError
from gitmem.core.text import counted
from gitmem.flows.context import Edges
from gitmem.flows.documents.planned import Request, Updated
from gitmem.flows.documents.update import NotNow, update
from gitmem.git.repository import short_name
from gitmem.ledger.job_record import Tally
from gitmem.ledger.workspace import DOCS_REF, Workspace

EVENTS = frozenset({"commit", "rewrite", "merge"})
"""Events after which HEAD has commits that nobody has looked at."""

WHAT = "living documents"


def keep_documents(workspace: Workspace, edges: Edges, tally: Tally) -> None:
    """Proposes changes to documents that new commits made untrue, and tells of it.

    What fails is tried again after the next commit: the job itself is done.

    Args:
        workspace: of the work tree in which the commits were made.
    """
    if not workspace.settings.flag("docs"):
        return
    from gitmem.flows.engines import engine_for

    try:
        done = update(workspace, edges, lambda: engine_for(workspace, edges), Request())
    except NotNow as reason:
        tally.skip(WHAT, reason.message.partition(": ")[2])
    except (GitmemError, OSError) as error:
        tally.skip(WHAT, str(error))
    else:
        _tell(done, tally)


def _tell(done: Updated, tally: Tally) -> None:
    plan, name = done.plan, short_name(DOCS_REF)
    for usage in done.usage:
        tally.spent(usage)
        tally.engine = tally.engine or plan.engine
    tally.log += done.log
    if plan.left:
        tally.skip(WHAT, f"{name} is left alone: {plan.left}")
    for told in plan.told:
        if told.result in ("refused", "failed"):
            tally.skip(told.path, told.why)
        elif told.result == "proposed" and plan.outcome == "proposed":
            tally.log.append(f"{told.path}: a change waits in git mem review ({told.id})")
        elif told.result == "open":
            what = counted(len(told.stale), "statement")
            tally.log.append(f"{told.path}: {what} no longer true: git mem docs check")
    if plan.outcome == "deleted":
        tally.log.append(f"{name} is deleted: nothing is proposed any more")
