"""A job of the spool, carried out and put on record."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from gitmem.app.context import real_edges
from gitmem.app.job_subjects import edges_of
from gitmem.app.spool import Job
from gitmem.app.steps import Work, run_steps
from gitmem.flows.context import workspace_at
from gitmem.flows.extract.run import Step, Watch, quietly
from gitmem.flows.place import DISABLE, is_on
from gitmem.ledger.files import log
from gitmem.ledger.job_record import Tally, recorded


def run(common_dir: Path, job: Job, environ: Mapping[str, str], step: Step = quietly) -> None:
    """Carries a united job out, and leaves a line on what was done.

    Args:
        common_dir: the common git directory.
        job: what hooks saw; its texts are hostile.
        environ: without git's variables of the moment.
        step: is told before each step of an extraction.

    Raises:
        EngineError, Resting: the job waits.
        Exception: something could not be done; the job can be run again at no loss.
    """
    common = common_dir.resolve()
    tally = Tally(job.events, len(job.all))
    with recorded(common / "gitmem", tally, real_edges(common).now, time.monotonic):
        if why := _run(common, job, environ, Watch(step, tally=tally)):
            tally.skip("all of it", why)


def _run(common: Path, job: Job, environ: Mapping[str, str], watch: Watch) -> str:
    """Returns why nothing is done at all; empty where it was."""
    if is_on(environ.get(DISABLE)):
        return f"{DISABLE} is set"
    edges = edges_of(common, job, environ)
    if edges is None:
        log(common, f"{job.event}: no work tree of this repository is there")
        return "no work tree of this repository is there"
    edges = replace(edges, say=watch.tally.log.append)
    workspace = workspace_at(edges)
    if not workspace.initialised:
        return "gitmem is not set up here"
    run_steps(Work(common, job, workspace, edges, environ, watch))
    return ""
