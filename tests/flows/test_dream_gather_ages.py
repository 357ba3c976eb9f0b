"""A model sees how old each memory is; whoever does not ask does not wait for history to be walked."""

from __future__ import annotations

from pathlib import Path

import pytest
from dream_ground import ANN, DAY, NOW, TWICE, make_ground, memory

from gitmem.dream.gather import Sources, gather
from gitmem.engines import prompts
from gitmem.engines.offline import OfflineEngine
from gitmem.git.trees import read_files
from gitmem.ledger import holdings
from gitmem.ledger.land import read_tip


def test_ages_are_looked_up_when_an_engine_asks(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ground = make_ground(repo)
    ground.put(TWICE)
    ground.put({"reviewer/style.md": memory("Return early.", "Style", "style")}, time=ANN.time + DAY)
    ground.put({"main/deploys.md": memory("Deploy.", "Deploys", "deploys")}, op="dream", writer="dream")
    scope = ground.scope()
    tip = read_tip(scope.repo, scope.ref)
    looks, look = list[str](), holdings.taught
    monkeypatch.setattr(holdings, "taught", lambda *a, **k: (looks.append(a[2]), look(*a, **k))[1])
    given = gather(scope, tip, read_files(scope.repo, tip.tree), Sources(NOW))
    assert OfflineEngine().consolidate(given).changes and looks == []
    assert "deploys.md [project, 2026-11-16, " in prompts.dream(given) and looks == ["main", "reviewer"]
    assert given.taught["reviewer/style.md"] == ANN.time + DAY and "main/MEMORY.md" not in given.taught
    assert len(looks) == 2 and len(given.taught) == 4
