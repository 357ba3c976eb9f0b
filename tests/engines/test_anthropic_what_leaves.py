"""All that the API engine sends of a whole run: nothing secret, private, ignored or of others."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

import pytest
from memory_files import learned
from messages_api import Answer, MessagesApi
from scripted_api import Call
from transcripts import Transcript
from workspaces import begun

from gitmem.app import steps
from gitmem.app.context import real_edges
from gitmem.app.spool import Job
from gitmem.flows import pause as pausing
from gitmem.git.repository import Repository
from gitmem.ledger.land import Ref
from gitmem.transcripts.claude_home import slug

Git = Callable[..., str]
NOW = 1_795_200_000
ID = "00000001-0000-4000-8000-000000000000"
BODY = "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7"


def key(mark: str) -> str:
    """A credential that tells where it was planted."""
    return f"ghp_{mark}{BODY}"[:40]


def memory(name: str, said: str) -> bytes:
    return f"---\nname: {name}\ndescription: {said}\ntype: project\n---\n\n{said}\n".encode()


def store(repo: Repository, ref: str, path: str, data: bytes) -> None:
    learned(Ref(repo, ref), {path: data}, NOW)


@pytest.mark.long
def test_nothing_secret_private_or_of_others_is_sent(repo, home, git: Git, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("GITMEM_NOW", str(NOW))
    monkeypatch.setattr("gitmem.flows.dream.maybe_dream", lambda *_: None)
    workspace = begun(real_edges(repo))
    local, user = workspace.scope("local"), workspace.scope("user")
    ports = memory("ports", f"Ports start at 4000, key {key('memo')}")
    store(local.repo, local.ref, "main/ports.md", ports)
    store(local.repo, local.ref, "reviewer/other.md", memory("other", "OTHERAGENT likes it short"))
    store(user.repo, user.ref, "main/me.md", memory("me", "Writes Swedish"))
    store(local.repo, "refs/heads/local/another", "main/theirs.md", memory("theirs", "OTHERREPO"))
    (repo / "code.py").write_text(f"token = '{key('code')}'\n")
    (repo / "CLAUDE.md").write_text(f"Use tabs. The key is {key('rule')}.\n")
    (repo / ".env").write_text("X=ENVFILE\n")
    (repo / "loose.txt").write_text("UNTRACKED\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "CLAUDE.md").write_text("ELSEWHERE\n")
    (repo / ".claude").symlink_to(elsewhere)
    git("-C", repo, "add", "code.py", "CLAUDE.md", ".env")
    git("-C", repo, "commit", "-qm", "code")
    git("-C", repo, "config", "gitmem.ignore", "acme")

    said = Transcript(ID, str(repo))
    said.user(f"Remember that the staging key is {key('said')}.")
    said.call("t1", "Bash", command=f"curl -H 'Authorization: {key('call')}' x")
    said.result("t1", f"got {key('done')}")
    said.agent("Done.")
    said.user("We ship on Fridays. <private>PRIVATE</private> And never on Mondays.")
    said.user("Our client ACME pays well.")
    said.agent("Noted.")
    said.user("PAUSED words")
    said.agent("PAUSED answer")
    said.lines = [
        line.replace("2026-11-20T10", "2026-11-20T11") if "PAUSED" in line else line for line in said.lines
    ]
    folder = home / ".claude/projects" / slug(repo)
    folder.mkdir(parents=True)
    said.write(folder / f"{ID}.jsonl")
    pausing.pause(workspace.state, 1_795_172_400.0, 1_795_176_000.0)

    paths = ["code.py", ".env", "loose.txt", "CLAUDE.md", ".claude/CLAUDE.md", "sessions/x", ".git/config"]
    paths += ["memory/local/main/ports.md", "memory/local/reviewer/other.md"]
    calls = [Call("Read", {"file_path": path}) for path in paths]
    calls.append(Call("Grep", {"pattern": ".", "output_mode": "content"}))
    with MessagesApi([Answer(calls=tuple(calls)), Answer("nothing")]) as api:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-mine")
        git("config", "--global", "gitmem.engine", "anthropic")
        git("config", "--global", "gitmem.baseUrl", api.url)
        steps.run(repo / ".git", Job("commit", str(repo)), dict(os.environ))
    sent = "\n".join(json.dumps(one.body, ensure_ascii=False) for one in api.requests)
    assert len(api.requests) == 2
    for word in ("Ports start at 4000", "on Fridays", "never on Mondays", "Use tabs", "Writes Swedish"):
        assert word in sent
    hidden = ("PRIVATE", "ACME", "PAUSED", "OTHERAGENT", "OTHERREPO", "ENVFILE", "UNTRACKED", "ELSEWHERE")
    assert [word for word in (*hidden, "sk-mine") if word in sent] == []
    assert [mark for mark in ("memo", "code", "rule", "said", "call", "done") if key(mark) in sent] == []
    assert BODY[:20] not in sent
