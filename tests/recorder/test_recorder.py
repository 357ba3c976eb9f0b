"""The normaliser, and (marked `client`) the real client that it is for."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from normalise_session import Normaliser
from real_client import Client, find_client
from record_sessions import memory, plain, prepare, transcript
from scripted_api import ScriptedApi

from gitmem.transcripts.claude_code import read_session
from gitmem.transcripts.claude_home import claude_config_dir, memory_folder, read_settings, sessions_of

FIXTURES = Path(__file__).parents[1] / "fixtures/sessions"


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
