"""Jobs in the background: a repository, recorded sessions, and an engine that does as it is told."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from memory_files import files_at, tip_of
from transcripts import Transcript
from workspaces import begun

from gitmem.app import hooks as hook_entry
from gitmem.app import steps
from gitmem.app.context import real_edges
from gitmem.app.spool import Job
from gitmem.core.change import Change, ChangeOrigin
from gitmem.core.errors import EngineError
from gitmem.core.trailers import Usage
from gitmem.engines.engine import ExtractInput, Extraction
from gitmem.flows import engines
from gitmem.ledger.workspace import Workspace

NOW = 1_795_200_000
ASKED = "Remember that we deploy from the release branch only."
MORE = "Remember that the staging bugs are tracked in Linear project OPS."
ID = "00000001-0000-4000-8000-000000000000"
KEY = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"


@dataclass(frozen=True)
class Ground:
    """A repository with memory in it, and what a test does there."""

    repo: Path
    home: Path
    workspace: Workspace
    patch: pytest.MonkeyPatch

    def write(self, *said: str, id: str = ID, cwd: Path | None = None) -> Path:
        """Records a session in which a person said this, each answered by the agent."""
        made = Transcript(id, str(cwd or self.repo))
        for text in said:
            made.user(text)
            made.agent("Done.")
        return made.record(self.home)

    def do(self, event: str = "stop", environ: Mapping[str, str] | None = None, **more: object) -> None:
        """Does the worker's job for an event."""
        job = Job(event, str(self.repo), **more)  # type: ignore[arg-type]
        steps.run(self.repo / ".git", job, {**os.environ, **(environ or {})})

    def memories(self, scope: str = "local") -> set[str]:
        where = self.workspace.scope(scope)
        files = files_at(where) if tip_of(where) else {}
        return {path for path in files if path.endswith(".md") and not path.endswith("MEMORY.md")}

    def use(self, engine: Engine) -> Engine:
        self.patch.setattr(engines, "engine_for", lambda *_: engine)
        return engine


@pytest.fixture
def ground(repo: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Ground:
    monkeypatch.setenv("GITMEM_NOW", str(NOW))
    monkeypatch.setattr("gitmem.flows.dream.maybe_dream", lambda *_: None)
    monkeypatch.setattr("gitmem.app.upkeep.keep_house", lambda *_: ())
    (home / ".claude").mkdir()
    return Ground(repo, home, begun(real_edges(repo)), monkeypatch)


def hook(event: str, payload: Mapping[str, object], environ: Mapping[str, str] | None = None) -> str:
    out = io.StringIO()
    given = {"HOME": os.environ["HOME"], **(environ or {})}
    data = io.BytesIO(json.dumps(payload).encode())
    assert hook_entry.main(["claude", event], given, data, out, lambda *_: None) == 0
    return out.getvalue()


def said(answer: str) -> str:
    return str(json.loads(answer).get("systemMessage", "")) if answer else ""


class Engine:
    """Proposes what it is told to, or fails, the first times or after some that it passes."""

    name = "scripted"
    reads_history = True

    def __init__(
        self, *changes: Change, fails: int = 0, passes: int = 0, log: tuple[str, ...] = ()
    ) -> None:
        self.changes, self.fails, self.passes, self.log = changes, fails, passes, log
        self.given: list[ExtractInput] = []

    def extract(self, given: ExtractInput) -> Extraction:
        self.given.append(given)
        if self.passes < len(self.given) <= self.passes + self.fails:
            raise EngineError("over the day's ceiling", "Wait until tomorrow.")
        return Extraction(self.changes, Usage(requests=1, input=10, output=2, dollars=0.01), self.log)


def add(name: str, **more: object) -> Change:
    fields = {"asked": True, "origin": ChangeOrigin("s", "u", "u"), **more}
    return Change("add", name, f"About {name}", "project", f"A fact on {name}.", "said", 0.9, **fields)  # type: ignore[arg-type]
