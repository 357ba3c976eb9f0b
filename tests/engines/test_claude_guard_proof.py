"""The fork's hook: what it allows, what it refuses, and that it refuses where it cannot tell."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gitmem.core.limits import MEMORY_BYTES
from gitmem.engines import claude_guard, claude_process, claude_proof
from gitmem.engines.claude_process import Scratch, scratch
from gitmem.engines.tools import Writable

KNOWN = {
    "local/main/known.md": b"known\n",
    "local/main/archive/ab/old.md": b"old\n",
    "user/main/notes.v2.md": b"notes\n",
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "repository"
    (folder / "src").mkdir(parents=True)
    (folder / "src/app.py").write_text("app\n")
    (folder / "out").symlink_to("/etc")
    return folder


@pytest.fixture
def copy(tmp_path: Path, repository: Path) -> Iterator[Scratch]:
    temp = tmp_path.resolve() / "temp"
    temp.mkdir()
    with scratch(temp, KNOWN, Writable(("main",)), reads=[repository]) as made:
        yield made


def rules_of(copy: Scratch) -> dict[str, Any]:
    return dict(json.loads(copy.rules.read_text()))


def event(tool: str, given: Any, **more: Any) -> dict[str, Any]:
    return {
        "hook_event_name": "PreToolUse",
        "tool_name": tool,
        "tool_input": given,
        "tool_use_id": "t1",
        "cwd": "/",
        **more,
    }


def write(path: str, text: str = "text\n") -> tuple[str, dict[str, str]]:
    return "Write", {"file_path": path, "content": text}


ALLOWED: list[tuple[str, dict[str, Any]]] = [
    write("{memory}/local/main/new-fact.md"),
    write("{memory}/user/main/Größe_2.md"),
    write("{memory}/local/main/known.md"),
    write("{memory}/local/main/archive/ab/old.md"),
    write("{memory}/user/main/notes.v2.md", ""),
    ("Edit", {"file_path": "{memory}/local/main/known.md", "old_string": "known", "new_string": "new"}),
    ("Read", {"file_path": "{memory}/local/main/known.md"}),
    ("Read", {"file_path": "{repository}/src/app.py"}),
    ("Grep", {"pattern": "app", "path": "{repository}"}),
    ("Grep", {"pattern": "app"}),
    ("Glob", {"pattern": "src/**/*.{{py,md}}"}),
]
REFUSED: list[tuple[str, dict[str, Any]]] = [
    write("{repository}/src/app.py"),
    write("{memory}.md"),
    write("{memory}/../rules.json"),
    write("{memory}/local/main/../../../x.md"),
    write("{memory}/local/main/./x.md"),
    write("{memory}//local/main/x.md"),
    write("{memory}/local/main/link.md"),
    write("{memory}/local/linked/x.md"),
    write("{memory}/local/main/MEMORY.md"),
    write("{memory}/local/main/Memory.MD"),
    write("{memory}/local/main/x.py"),
    write("{memory}/local/main/.hidden.md"),
    write("{memory}/local/main/sub/x.md"),
    write("{memory}/local/main/a b.md"),
    write("{memory}/local/other/x.md"),
    write("{memory}/team/main/x.md"),
    write("{memory}/local/x.md"),
    write("local/main/x.md"),
    write("~/x.md"),
    write("{memory}/local/main/x.md\0.txt"),
    write("{memory}/local/main/x.md", "x" * (MEMORY_BYTES + 1)),
    ("Edit", {"file_path": "{repository}/src/app.py", "old_string": "a", "new_string": "b"}),
    ("Read", {"file_path": "/etc/passwd"}),
    ("Read", {"file_path": "{repository}/out/passwd"}),
    ("Read", {"file_path": "{repository}/../x"}),
    ("Read", {"file_path": "{repository}-other/x"}),
    ("Read", {"file_path": "{memory}/../rules.json"}),
    ("Grep", {"pattern": "x", "path": "/"}),
    ("Grep", {"pattern": "x", "path": "{repository}/out"}),
    ("Glob", {"pattern": "/etc/*"}),
    ("Glob", {"pattern": "src/../../*"}),
    ("Glob", {"pattern": "{{src,..}}/*"}),
    ("Glob", {"pattern": "~/*"}),
    ("Bash", {"command": "true"}),
    ("Task", {"prompt": "write it for me"}),
    ("Agent", {"prompt": "write it for me"}),
    ("WebFetch", {"url": "https://example.com"}),
    ("NotebookEdit", {"notebook_path": "{memory}/local/main/x.md"}),
    ("MultiEdit", {"file_path": "{memory}/local/main/known.md", "edits": []}),
    ("mcp__files__write", {"path": "{memory}/local/main/known.md"}),
    ("Tomorrow's tool", {}),
    ("edit", {"file_path": "{memory}/local/main/known.md", "old_string": "a", "new_string": "b"}),
]


def filled(given: dict[str, Any], copy: Scratch, repository: Path) -> dict[str, Any]:
    return {
        key: value.format(memory=copy.memory, repository=repository) if isinstance(value, str) else value
        for key, value in given.items()
    }


def test_memory_files_may_be_written_and_the_repository_read(copy: Scratch, repository: Path) -> None:
    for tool, given in ALLOWED:
        asked = event(tool, filled(given, copy, repository), cwd=str(repository))
        assert claude_guard.decide(rules_of(copy), asked) == "", (tool, given)


def test_all_else_is_refused_with_a_reason(copy: Scratch, repository: Path) -> None:
    (copy.memory / "local/main/link.md").symlink_to(repository / "src/app.py")
    (copy.memory / "local/linked").symlink_to(repository)
    rules = rules_of(copy)
    rules["agents"].append("linked")
    for tool, given in REFUSED:
        asked = event(tool, filled(given, copy, repository), cwd="/")
        assert claude_guard.decide(rules, asked), (tool, str(given)[:200])


GOOD = json.dumps(event(*write("{memory}/local/main/x.md"))).encode()
BROKEN = [
    ("no rules", "rules", None, GOOD),
    ("rules that are no JSON", "rules", b"{", GOOD),
    ("rules without a key", "rules", b"{}", GOOD),
    ("no log", "log", None, GOOD),
    ("no JSON", "", b"", b"{not json"),
    ("nothing", "", b"", b""),
    ("a list", "", b"", b"[]"),
    ("no tool", "", b"", json.dumps({"hook_event_name": "PreToolUse"}).encode()),
    ("a path that is no text", "", b"", json.dumps(event("Write", {"file_path": 1})).encode()),
    ("another event", "", b"", json.dumps(event("Read", {}, hook_event_name="Stop")).encode()),
]


@pytest.mark.parametrize(
    ("spoiled", "content", "stdin"), [row[1:] for row in BROKEN], ids=[r[0] for r in BROKEN]
)
def test_what_cannot_be_judged_ends_with_the_exit_code_that_blocks(
    copy: Scratch, spoiled: str, content: bytes | None, stdin: bytes
) -> None:
    """Any other exit code, and an answer that is none, would let the call pass."""
    stdin = stdin.replace(b"{memory}", bytes(copy.memory))
    if spoiled:
        path: Path = getattr(copy, spoiled)
        path.unlink()
        if content is not None:
            path.write_bytes(content)
    out, err = io.StringIO(), io.StringIO()
    assert claude_guard.main([str(copy.rules)], io.BytesIO(stdin), out, err) == 2
    assert out.getvalue() == ""
    assert "refused" in err.getvalue()


def run_hook(command: str, payload: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    """As the client does it: by a shell, in another folder."""
    return subprocess.run(
        ["sh", "-c", command],
        input=json.dumps(payload),
        capture_output=True,
        text=True,
        cwd="/",
        check=False,
    )


def hook_command(copy: Scratch, python: str = sys.executable) -> str:
    settings = json.loads(claude_process.client_settings(python, copy.rules, []))
    return str(settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"])


def test_the_installed_command_decides_and_logs_before_it_answers(copy: Scratch) -> None:
    inside = event(*write(f"{copy.memory}/local/main/x.md"))
    done = [run_hook(hook_command(copy), p) for p in (inside, event("Bash", {}, tool_use_id="t2"))]
    assert [one.returncode for one in done] == [0, 0]
    answers = [json.loads(one.stdout)["hookSpecificOutput"] for one in done]
    assert [answer["permissionDecision"] for answer in answers] == ["allow", "deny"]
    assert copy.nonce in answers[1]["permissionDecisionReason"]
    logged = claude_proof.read_log(copy.log, copy.nonce)
    assert [(one.tool, one.call, one.allowed) for one in logged] == [
        ("Write", "t1", True),
        ("Bash", "t2", False),
    ]
    assert claude_proof.read_log(copy.log, "another run") == ()


def test_an_interpreter_that_is_gone_blocks_too(copy: Scratch) -> None:
    command = hook_command(copy, "/nowhere/python")
    assert run_hook(command, event(*write(f"{copy.memory}/local/main/x.md"))).returncode == 2


def test_the_hook_says_it_is_ready_only_where_it_would_refuse(copy: Scratch, tmp_path: Path) -> None:
    """The client asks it so before the model is: exit code 2 ends the run there."""
    ask = event("", {}, hook_event_name="UserPromptSubmit", prompt="x")
    assert run_hook(hook_command(copy), ask).returncode == 0
    assert [one.event for one in claude_proof.read_log(copy.log, copy.nonce)] == ["ready"]
    open_rules = {**rules_of(copy), "reads": ["/", str(tmp_path.resolve())]}
    copy.rules.write_text(json.dumps(open_rules))
    assert run_hook(hook_command(copy), ask).returncode == 2


def test_the_fork_gets_the_persons_environment_without_what_is_not_its_business() -> None:
    kept = {
        "HOME": "/home/ann", "PATH": "/bin", "CLAUDE_CONFIG_DIR": "/c", "ANTHROPIC_API_KEY": "k",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:1", "HTTPS_PROXY": "http://proxy", "LC_ALL": "C",
        "CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": "r", "MAX_THINKING_TOKENS": "1",
    }  # fmt: skip
    dropped = {
        "GIT_DIR": "/x", "GIT_INDEX_FILE": "/x", "GITMEM_NOW": "1", "CLAUDECODE": "1",
        "CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CODE_SESSION_ID": "s", "CLAUDE_PROJECT_DIR": "/x",
        "PYTHONPATH": "/x", "NODE_OPTIONS": "--require /x", "LD_PRELOAD": "/x", "GITHUB_TOKEN": "t",
        "SECRET": "s",
    }  # fmt: skip
    assert claude_process.client_environ({**kept, **dropped}) == {**kept, "GITMEM_DISABLE": "1"}


def test_behind_the_hook_stand_rules_that_leave_the_list_of_tools_as_it_is(copy: Scratch) -> None:
    """A rule that denies a whole tool takes it off the list, and the cache with it."""
    settings = json.loads(
        claude_process.client_settings("/python", copy.rules, [Path("/home/ann"), Path("/a[b]*")])
    )
    assert settings["permissions"]["deny"] == ["Edit(//home/ann/**)", "Edit(//a\\[b\\]\\*/**)"]
    assert {"Bash", "Agent", "WebFetch", "mcp__*"} < set(settings["permissions"]["ask"])
    assert not {"Read", "Edit", "Write"} & set(settings["permissions"]["ask"])
    words = claude_process.words("/claude", "s", "t", "m[1m]", "{}", 3)
    assert words[words.index("--model") + 1] == "m[1m]"
    assert (words[words.index("--resume") + 1], words[words.index("--session-id") + 1]) == ("s", "t")
    assert "--fork-session" in words
    assert "--no-session-persistence" in words
    assert not {"--tools", "--disallowedTools", "--dangerously-skip-permissions"} & set(words)


def test_a_scratch_copy_is_private_and_goes_whatever_happens(tmp_path: Path) -> None:
    old, other = tmp_path / "gitmem-fork-old", tmp_path / "gitmem-fork-new"
    for folder in (old, other):
        (folder / "memory").mkdir(parents=True)
    os.utime(old, (1, 1))
    with pytest.raises(RuntimeError), scratch(tmp_path, KNOWN, Writable(("main",))) as made:
        assert made.folder.stat().st_mode & 0o777 == 0o700
        assert made.read() == KNOWN
        raise RuntimeError("stop")
    assert [path.name for path in tmp_path.iterdir()] == ["gitmem-fork-new"]
