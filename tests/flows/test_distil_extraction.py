"""From a message over a line of the daily log and an accepted dream to a memory, and back by blame."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from transcripts import Transcript
from workspaces import begun

from gitmem.app.context import real_edges
from gitmem.dream.review import accept, open_dreams
from gitmem.engines.offline import OfflineEngine
from gitmem.flows.blame import as_value, blame
from gitmem.flows.dream import dream
from gitmem.flows.extract.run import extract_sessions
from gitmem.flows.extraction import context_of
from gitmem.git.trees import read_files

ASKED = "Remember that we deploy from the release branch only, since main can hold open migrations."


def test_blame_of_a_distilled_claim_names_session_and_message(home, repo, monkeypatch, git) -> None:
    monkeypatch.setenv("GITMEM_NOW", "1795200000")
    git("-C", repo, "config", "gitmem.mode", "log")
    (home / ".claude").mkdir()
    edges = real_edges(repo)
    workspace = begun(edges)
    session = Transcript("00000001-0000-4000-8000-000000000000", str(repo))
    session.user("Have a look at the deploy script.", timestamp="2026-11-20T14:00:33.250Z")
    session.user(ASKED, timestamp="2026-11-20T14:01:33.250Z")
    path = session.record(home)
    (uuid,) = (row["uuid"] for row in map(json.loads, path.read_text().splitlines()) if ASKED in str(row))
    extract_sessions(context_of(workspace, edges), OfflineEngine(), (path,))
    place = workspace.scope("local")
    tip = place.repo.ref(place.ref)
    assert tip is not None
    before = read_files(place.repo, place.repo.commit(tip).tree)
    (log,) = (one for one in before if "/logs/" in one)
    night = replace(edges, now=edges.now + 86_400)
    dream(workspace, night, scope="local", force=True)
    (found,) = open_dreams(workspace)
    accept(workspace, found.id, None, workspace.author(night.now), night.now)
    told = [as_value(one, {}) for one in blame(workspace, night, "deploy-release-branch", None)]
    said = next(one for one in told if one["text"] == "We deploy from the release branch only.")
    origin: Any
    (origin,) = said["origins"]  # type: ignore[misc]
    assert origin["path"] == log and origin["line"]["text"].startswith("We deploy from the release branch")
    assert origin["line"]["time"].startswith("2026-11-20T14:01:33") and len(origin["via"]) == 1
    (by,) = origin["told"]
    assert by["session"] == session.session and uuid in by["messages"] and by["writer"] == "extract"
    tip = place.repo.ref(place.ref)
    assert tip is not None and read_files(place.repo, place.repo.commit(tip).tree)[log] == before[log]
