"""A model's choice for prompts, made by the worker: the agent waits for the offline one alone."""

from __future__ import annotations

from gitmem.core.errors import GitmemError
from gitmem.integrations import picked
from gitmem.integrations.choosing import MODELS, configured
from gitmem.integrations.edges import Edges
from gitmem.integrations.recalling import choose_ahead
from gitmem.integrations.spool import SELECT, Job, coalesce
from gitmem.store import per_session
from gitmem.store.job_record import Tally
from gitmem.store.workspace import Workspace

STALE = 600.0
"""Seconds after which a prompt is no longer chosen for: the conversation has gone on."""


def split(job: Job) -> tuple[tuple[Job, ...], Job | None]:
    """Parts a united job.

    Returns:
        Of each session the newest prompt, oldest first; and the rest, None where there is none.
    """
    if SELECT not in job.events:
        return (), job
    asked = {part.session_id: part for part in job.all if part.event == SELECT and part.args}
    rest = [part for part in job.all if part.event != SELECT]
    return tuple(sorted(asked.values(), key=lambda part: part.time)), coalesce(rest) if rest else None


def choose_for_prompts(workspace: Workspace, edges: Edges, asked: tuple[Job, ...], tally: Tally) -> None:
    """Asks the model about prompts and keeps each choice for its session's next one.

    What goes wrong is noted and not tried again: the next prompt asks anew.
    """
    engine, _ = configured(workspace)
    for job in asked:
        session = per_session.plain(job.session_id)
        if engine not in MODELS or edges.now - job.time > STALE:
            continue
        shown = frozenset(per_session.seen(workspace.state, session))
        try:
            selection, tally.engine = choose_ahead(workspace, edges, engine, job.args[0], shown)
        except GitmemError as error:
            tally.skip("a choice of memories for a prompt", error.message)
            continue
        picked.keep(workspace.private_state, session, selection.chosen)
