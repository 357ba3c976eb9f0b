"""Records the session fixtures from the real client: `python tests/recorder/record_sessions.py`.

The program is the one named by `GITMEM_TEST_CLAUDE`, else `claude` on PATH. Everything happens in a
throw-away HOME and repository; only the normalised transcripts are kept.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from normalise_session import Normaliser
from real_client import Client, Turn, find_client
from scripted_api import Call, ScriptedApi, Step

FIXTURES = Path(__file__).parents[1] / "fixtures/sessions"
TOOLS = ("Read", "Edit", "Write", "Bash(ls:*)", "Agent", "Task")
CODE = 'def greet(name):\n    return "hello " + name\n'
GIT_CONFIG = "[user]\n\tname = Ann\n\temail = ann@example.com\n[init]\n\tdefaultBranch = main\n"
MEMORY = """\
---
name: deploy-from-release
description: Deploys go out from the release branch only, since main is not always migrated
metadata:
  type: project
---

We deploy from the release branch only.

**Why:** main can hold migrations that have not run yet.

**How to apply:** never propose a deploy from main.
"""


def prepare(root: Path) -> tuple[Path, Path]:
    """Makes an empty HOME and a small repository under `root`, and returns both."""
    home, app = root / "home", root / "app"
    home.mkdir()
    app.mkdir()
    (home / ".gitconfig").write_text(GIT_CONFIG)
    (app / "greet.py").write_text(CODE)
    environ = {"HOME": str(home), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "Greet by name"]):
        subprocess.run(["git", *words], cwd=app, env=environ, check=True)
    return home, app


def transcript(home: Path, session: str) -> Path:
    """Finds a session's file in the client's folder."""
    (found,) = (home / ".claude/projects").glob(f"*/{session}.jsonl")
    return found


def memory_directory(api: ScriptedApi) -> str:
    """Reads from the last request where the client told its agent to keep memories."""
    found = re.search(r"memory at `([^`]+)`", str(api.requests[-1]["system"]))
    assert found, "the client named no memory directory"
    return found[1]


def plain(client: Client, api: ScriptedApi) -> Turn:
    """A person states a rule, a preference, a decision and where things are, over five turns."""
    greet = str(client.cwd / "greet.py")
    api.add(
        Step("I will look at the code first.", (Call("Bash", {"command": "ls"}),)),
        Step("", (Call("Read", {"file_path": greet}),)),
        Step("There is one function, greet, and it has no tests yet."),
    )
    turn = client.prompt("I'm a data engineer, new to Go and to this code. What is in here?", tools=TOOLS)
    again = ("--resume", turn.session)
    api.add(
        Step("", (Call("Edit", {"file_path": greet, "old_string": "hello", "new_string": "Hello"}),)),
        Step("Done, and I will keep to that."),
    )
    client.prompt(
        "Make the greeting start with a capital. And from now on never mock the database in tests, the "
        "mocks hid a broken migration last quarter.",
        tools=TOOLS,
        more=again,
    )
    api.add(Step("Understood: releases go out from the release branch."))
    client.prompt(
        "Please remember that we deploy from the release branch only, because main can hold migrations "
        "that have not run yet.",
        tools=TOOLS,
        more=again,
    )
    api.add(Step("Thanks, I will look there."))
    client.prompt(
        "By the way, the staging bugs are tracked in Linear project OPS.", tools=TOOLS, more=again
    )
    api.add(Step("Short answers, then."))
    return client.prompt(
        "We decided yesterday to drop Python 3.10. And I prefer short answers, no summary at the end.",
        tools=TOOLS,
        more=again,
    )


def memory(client: Client, api: ScriptedApi) -> Turn:
    """The agent itself writes a memory file, and its line in the index."""
    api.add(Step("Hello."))
    turn = client.prompt("Hello, just checking that you are there.", tools=TOOLS)
    folder = memory_directory(api)
    line = "- [Deploy from release](deploy-from-release.md) — never from main\n"
    api.add(
        Step("", (Call("Write", {"file_path": f"{folder}deploy-from-release.md", "content": MEMORY}),)),
        Step("", (Call("Write", {"file_path": f"{folder}MEMORY.md", "content": line}),)),
        Step("I have noted that."),
    )
    return client.prompt(
        "Please remember that we deploy from the release branch only.",
        tools=TOOLS,
        more=("--resume", turn.session),
    )


def forked(client: Client, api: ScriptedApi) -> tuple[Turn, Turn]:
    """A session of two turns, and a fork of it with one more."""
    api.add(Step("Noted."))
    first = client.prompt("Always run the linter before you say that you are done.", tools=TOOLS)
    api.add(Step("Nothing is left to do."))
    client.prompt("Is anything left to do?", tools=TOOLS, more=("--resume", first.session))
    api.add(Step("Then I will ask first."))
    fork = client.prompt(
        "Don't touch the changelog unless I ask for it.",
        tools=TOOLS,
        more=("--resume", first.session, "--fork-session"),
    )
    return first, fork


def subagent(client: Client, api: ScriptedApi) -> Turn:
    """The agent hands a question to a subagent, whose prompt no person said."""
    task = "Always answer in one line: what does greet.py return?"
    call = Call(
        "Agent", {"description": "Look at greet", "prompt": task, "subagent_type": "general-purpose"}
    )
    api.add(
        Step("I will have that looked up.", (call,), when="What does greet return?"),
        Step("It returns a greeting.", when=task),
        Step("It returns a greeting, by name."),
    )
    return client.prompt("What does greet return? Use a subagent.", tools=TOOLS)


def record(client: Client, api: ScriptedApi, out: Path) -> None:
    """Records every fixture into `out`."""
    normaliser = Normaliser({client.cwd: "/home/dev/app", client.home: "/home/dev"})

    def keep(name: str, turn: Turn) -> None:
        source = transcript(client.home, turn.session)
        (out / f"{name}.jsonl").write_text(normaliser.file(source), encoding="utf-8")
        for number, part in enumerate(sorted(source.with_suffix("").glob("subagents/*.jsonl")), 1):
            folder = out / name / "subagents"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"agent-{number}.jsonl").write_text(normaliser.file(part), encoding="utf-8")

    keep("plain", plain(client, api))
    first, fork = forked(client, api)
    keep("resumed", first)
    keep("forked", fork)
    keep("subagent", subagent(client, api))
    keep("memory", memory(client, api))
    assert not api.left, f"steps that nobody asked for: {api.left}"


def main() -> int:
    program = find_client(os.environ)
    if program is None:
        print("no client: set GITMEM_TEST_CLAUDE or put claude on PATH", file=sys.stderr)
        return 3
    with tempfile.TemporaryDirectory() as folder, ScriptedApi() as api:
        home, app = prepare(Path(folder).resolve())
        FIXTURES.mkdir(parents=True, exist_ok=True)
        record(replace(Client(program, home, app, ""), url=api.url), api, FIXTURES)
    return 0


if __name__ == "__main__":
    sys.exit(main())
