"""The scripted server, the normaliser, and (marked `client`) the real client that they are for."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from normalise_session import Normaliser
from real_client import Client, find_client
from record_sessions import memory, plain, prepare, transcript
from scripted_api import Call, ScriptedApi, Step

from gitmem.transcripts.claude_code import read_session
from gitmem.transcripts.claude_home import claude_config_dir, memory_folder, read_settings, sessions_of

FIXTURES = Path(__file__).parents[1] / "fixtures/sessions"
TOOLS = [{"name": "Read"}]


def post(api: ScriptedApi, path: str = "/v1/messages", **body: Any) -> str:
    data = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}], **body}).encode()
    request = urllib.request.Request(api.url + path, data)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return str(answer.read().decode())


def test_steps_are_answered_in_order_and_then_by_a_default() -> None:
    with ScriptedApi([Step("one"), Step("two")]) as api:
        texts = [json.loads(post(api, tools=TOOLS))["content"][0]["text"] for _ in range(3)]
    assert texts == ["one", "two", "Done."]
    assert len(api.requests) == 3
    assert api.left == ()


def test_requests_without_tools_use_up_no_step() -> None:
    with ScriptedApi([Step("one")]) as api:
        assert json.loads(post(api))["content"][0]["text"] == "Done."
        assert json.loads(post(api, "/v1/messages/count_tokens"))["input_tokens"] > 0
    assert len(api.left) == 1


def test_a_step_can_wait_for_its_conversation() -> None:
    with ScriptedApi([Step("for the other", when="other"), Step("for this")]) as api:
        assert "for this" in post(api, tools=TOOLS)
        other = [{"role": "user", "content": "the other"}]
        assert "for the other" in post(api, tools=TOOLS, messages=other)


def test_a_streamed_call_carries_its_input_as_json() -> None:
    with ScriptedApi([Step("look", (Call("Read", {"file_path": "/a"}),))]) as api:
        lines = post(api, tools=TOOLS, stream=True).splitlines()
    events = [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    assert deltas[0]["text"] == "look"
    assert json.loads(deltas[1]["partial_json"]) == {"file_path": "/a"}
    assert events[-2]["delta"]["stop_reason"] == "tool_use"


def test_other_addresses_are_not_found() -> None:
    with ScriptedApi() as api, pytest.raises(urllib.error.HTTPError, match="404"):
        post(api, "/v1/elsewhere")


def test_the_normaliser_renames_places_ids_and_times_the_same_way_throughout(tmp_path: Path) -> None:
    app = tmp_path / "app"
    uuid = "01234567-89ab-4def-8123-456789abcdef"
    slug = str(app).replace("/", "-").replace("_", "-").replace(".", "-")
    record = {
        "uuid": uuid,
        "timestamp": "2031-01-01T00:00:00.123Z",
        "text": f"in {app}/a by {uuid}, {slug}",
    }
    listing = {
        "type": "attachment",
        "attachment": {"type": "skill_listing", "content": "the client's text"},
    }
    source = tmp_path / "s.jsonl"
    source.write_text(json.dumps(record) + "\n" + json.dumps(listing) + "\n")
    normaliser = Normaliser({app: "/home/dev/app", tmp_path: "/home/dev"})
    first, second = (json.loads(line) for line in normaliser.file(source).splitlines())
    assert first["text"] == f"in /home/dev/app/a by {first['uuid']}, -home-dev-app"
    assert first["uuid"] != uuid
    assert first["timestamp"] == "2026-11-20T09:00:00.000Z"
    assert second["attachment"] == {"type": "skill_listing"}
    assert normaliser.file(source).splitlines()[0] == json.dumps(first)


def test_fixtures_name_no_machine() -> None:
    files = list(FIXTURES.rglob("*.jsonl"))
    assert len(files) == 7
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert not any(
            word in text for word in ("/tmp/", "/root", "/Users/", "/work/", "/opt/", "127.0.0.1")
        )
        assert file.stat().st_size < 24_000


@pytest.mark.client
def test_a_session_recorded_now_reads_as_the_fixture_does(tmp_path: Path) -> None:
    """Tells when a newer client records sessions in another shape."""
    program = find_client(os.environ)
    if program is None:
        pytest.skip("no client: set GITMEM_TEST_CLAUDE or put claude on PATH")
    with ScriptedApi() as api:
        home, app = prepare(tmp_path.resolve())
        client = Client(program, home, app, api.url)
        turn = plain(client, api)
        noted = memory(client, api)
        assert api.left == ()
    config = claude_config_dir({}, home)
    assert {file.id for file in sessions_of(config, [app])} == {turn.session, noted.session}
    now, then = read_session(transcript(home, turn.session)), read_session(FIXTURES / "plain.jsonl")
    assert [(m.role, m.source, m.text) for m in now.messages] == [
        (m.role, m.source, m.text) for m in then.messages
    ]
    assert [[c.name for c in m.tools] for m in now.messages] == [
        [c.name for c in m.tools] for m in then.messages
    ]
    assert (now.id, now.cwd, now.skipped) == (turn.session, str(app), 0)
    folder = memory_folder(config, app)
    assert (folder / "deploy-from-release.md").is_file()
    assert read_settings(config).get("autoMemoryDirectory") is None
