"""`git mem recall` with a model over the wire: what it is told, what comes of its answer."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from messages_api import Answer, MessagesApi

sys.path.insert(0, str(Path(__file__).parent.parent / "cli"))
from cli_ground import Ground, ground, memory

__all__ = ["ground"]


@pytest.mark.long
def test_recall_asks_the_configured_model_and_stays_here_in_a_pause(ground: Ground) -> None:
    ground.learn({"main/canary.md": memory("canary", "Five percent of the traffic first.")}, "local")
    ground.learn({"main/ports.md": memory("ports", "Port 8080 is taken by the proxy.")})
    with MessagesApi(lambda body: Answer('{"chosen": [2]}')) as api:
        for key, value in (("engine", "anthropic"), ("baseUrl", api.url)):
            subprocess.run(["git", "config", "--global", f"gitmem.{key}", value], check=True)
        value = json.loads(ground.run("recall", "which port is free?", "--json").out)
        assert [item["name"] for item in value["items"]] == ["canary"]
        assert value["engine"].startswith("anthropic:") and value["notes"] == []
        told = json.dumps(api.bodies[0])
        assert "About canary" in told and "Five percent" not in told, "one line of each, and no body"
        ground.run("pause")
        value = json.loads(ground.run("recall", "which port is free?", "--json").out)
        assert (value["engine"], [item["name"] for item in value["items"]]) == ("offline", ["ports"])
        assert value["notes"] == ["Nothing was sent to anthropic: gitmem is paused; chosen offline"]
        assert len(api.bodies) == 1
