"""The memory tool with the SDK around it: a model that uses it, and the SDK's own tests of its backend.

The SDK is imported where it is used: every worker of the suite reads this file, and most run none of it.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import examples
from ran import Gitmem
from scripted_api import Call, ScriptedApi, Step
from workspaces import begun

import gitmem
from gitmem.app.context import real_edges
from gitmem.core.errors import RepositoryError, UsageError
from gitmem.flows.redaction import redact
from gitmem.git.command import GitCommand
from gitmem.git.open import create_bare

SDIST = os.environ.get("GITMEM_TEST_ANTHROPIC_SDIST", "")
SUITE = "tests/lib/tools/memory_tools/test_filesystem.py"
ROOT = Path(__file__).parents[2]
NOTES = "/memories/no-mocks.md"
TEXT = "---\nname: no-mocks\ndescription: Use the real database\ntype: feedback\n---\n\nA mock hid a bug.\n"


ONE_TREE = "there is no moment between check and use: a command reads one tree, which nothing changes"
NOT_APPLICABLE = {
    "test_mkdir_parents_not_world_writable_under_permissive_umask": (
        "no folder is made: memories are objects in git, under a private repository of mode 0700"
    ),
    "test_view_error_for_files_with_too_many_lines": (
        "a file of 5 MB is refused when it is created: a memory has at most 102,400 bytes"
    ),
    "test_read_rejects_symlink_created_after_validation": ONE_TREE,
    "test_read_rejects_file_replaced_with_symlink_before_open": ONE_TREE,
    "test_view_rejects_directory_symlink_created_after_validation": ONE_TREE,
    "test_view_lists_symlinks_only_when_they_stay_inside_memories": (
        "a link in a tree is never followed or listed, wherever it leads"
    ),
    "test_validate_path_returns_resolved_path_not_symlink_target": (
        "looks at the SDK's own way of resolving paths on disk; a link in a tree is never followed"
    ),
}
"""Tests of the SDK 2.12 that say nothing about this backend, by name, and why; all others must pass."""


def uses(**given: Any) -> Step:
    return Step(calls=(Call("memory", given),))


def test_a_model_keeps_a_memory_and_history_has_each_change(gitmem: Gitmem, repo: Path) -> None:
    from anthropic import Anthropic

    begun(real_edges(repo))
    script = [
        uses(command="view", path="/memories"),
        uses(command="create", path=NOTES, file_text=TEXT),
        uses(command="str_replace", path=NOTES, old_str="a bug", new_str="a broken migration"),
        uses(command="view", path="/memories/../../etc/passwd"),
        Step("Noted."),
    ]
    with tool(repo, session="s-1", model="claude-haiku-5-5") as memory, ScriptedApi(script) as api:
        with Anthropic(base_url=api.url, api_key="none", max_retries=0) as client:
            runner = client.beta.messages.tool_runner(
                model="claude-haiku-5-5",
                max_tokens=1000,
                messages=[{"role": "user", "content": "Remember: no mocks."}],
                tools=[memory],
                thread=False,
            )
            last = runner.until_done()
        results = [result for request in api.requests for result in told(request)]
    assert getattr(last.content[0], "text", "") == "Noted."
    assert results == [
        (
            False,
            "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:\n"
            "0B\t/memories",
        ),
        (False, f"File created successfully at: {NOTES}"),
        (
            False,
            "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
            "     5\t---\n     6\t\n     7\tA mock hid a broken migration.\n     8\t",
        ),
        (True, "Path /memories/../../etc/passwd would escape /memories directory"),
    ]
    log = gitmem("log", "--json").json
    changes = [entry for entry in log if entry["session"] == "s-1"]
    assert [(entry["op"], entry["subject"]) for entry in changes] == [
        ("update", "Update no-mocks: Use the real database"),
        ("add", "Remember no-mocks: Use the real database"),
    ]
    assert {(e["writer"], e["engine"], e["scope"]) for e in changes} == {
        ("agent", "anthropic:claude-haiku-5-5", "local")
    }
    assert changes[0]["claims"] == {"superseded": 1}
    gitmem("undo", changes[0]["commit"])
    assert "A mock hid a bug." in gitmem("show", "no-mocks").out


def test_the_asynchronous_twin_answers_the_same(gitmem: Gitmem, repo: Path) -> None:
    from anthropic import AsyncAnthropic
    from anthropic.tools import ToolError
    from anthropic.types.beta import BetaMemoryTool20250818CreateCommand as Create

    begun(real_edges(repo))

    async def talk() -> list[str]:
        from gitmem import AsyncGitMemoryTool

        script = [uses(command="create", path="/memories/a.txt", file_text="x"), Step("Done.")]
        async with AsyncGitMemoryTool(repo, scope="user", agent="helper") as memory:
            with ScriptedApi(script) as api:
                async with AsyncAnthropic(base_url=api.url, api_key="none", max_retries=0) as client:
                    runner = client.beta.messages.tool_runner(
                        model="claude-haiku-5-5",
                        max_tokens=1000,
                        messages=[{"role": "user", "content": "Note x."}],
                        tools=[memory],
                        thread=False,
                    )
                    await runner.until_done()
                results = [text for request in api.requests for _, text in told(request)]
            with pytest.raises(ToolError, match=r"^File /memories/a\.txt already exists$"):
                await memory.create(Create(command="create", path="/memories/a.txt", file_text="y"))
            assert await memory.clear_all_memory() == "All memory cleared"
        return results

    assert asyncio.run(talk()) == ["File created successfully at: /memories/a.txt"]
    assert [
        (e["op"], "helper/a.txt" in e["paths"]) for e in gitmem("log", "--scope", "user", "--json").json
    ] == [("delete", True), ("add", True)]


def test_a_tool_needs_a_memory_and_a_scope_that_exists(repo: Path, gitmem: Gitmem) -> None:
    with pytest.raises(RepositoryError, match="no gitmem memory yet"):
        tool(repo)
    begun(real_edges(repo))
    with pytest.raises(UsageError, match="There is no scope 'team'"):
        tool(repo, scope="team")


def test_a_model_that_leaves_parameters_out_is_told_which(gitmem: Gitmem, repo: Path) -> None:
    """The SDK builds commands without checking them."""
    from anthropic.tools import ToolError

    begun(real_edges(repo))
    with tool(repo) as memory:
        for given, said in (
            ({"command": "create", "path": "/memories/a"}, "Invalid `file_text` parameter"),
            ({"command": "view"}, "Invalid `path` parameter"),
            ({"command": "insert", "path": "/memories/a", "insert_line": "1"}, "Invalid `insert_"),
            ({"command": "rename", "old_path": ["x"], "new_path": "y"}, "Invalid `path` parameter"),
        ):
            with pytest.raises(ToolError, match=said):
                memory.call(given)


PATHS = st.sampled_from(
    ["/memories", *(f"/memories/{name}" for name in ("a", "a/b", "a/b/c.md", "d.md", "e"))]
)
TEXTS = st.text(st.sampled_from("ab\n\r"), max_size=8)
COMMANDS = st.one_of(
    st.fixed_dictionaries({"command": st.just("create"), "path": PATHS, "file_text": TEXTS}),
    st.fixed_dictionaries(
        {
            "command": st.just("view"),
            "path": PATHS,
            "view_range": st.none() | st.lists(st.integers(-2, 5), min_size=2, max_size=2),
        }
    ),
    st.fixed_dictionaries(
        {"command": st.just("str_replace"), "path": PATHS, "old_str": TEXTS.filter(bool), "new_str": TEXTS}
    ),
    st.fixed_dictionaries(
        {
            "command": st.just("insert"),
            "path": PATHS,
            "insert_line": st.integers(-1, 4),
            "insert_text": TEXTS,
        }
    ),
    st.fixed_dictionaries({"command": st.just("delete"), "path": PATHS}),
    st.fixed_dictionaries({"command": st.just("rename"), "old_path": PATHS, "new_path": PATHS}),
)


@pytest.mark.long
@settings(max_examples=examples(60))
@given(script=st.lists(COMMANDS, min_size=4, max_size=12))
def test_any_commands_are_answered_as_the_sdks_own_backend_answers_them(
    script: list[dict[str, Any]],
) -> None:
    """Word for word, but for what git cannot know: empty folders, and the size of a folder's list.

    What the SDK's backend says is compared as it leaves gitmem: with control characters written out.
    """
    from anthropic.tools import BetaLocalFilesystemMemoryTool

    with tempfile.TemporaryDirectory() as place:
        code = Path(place) / "code"
        subprocess.run(["git", "init", "-q", code], check=True)
        subprocess.run(
            ["git", "-C", code, "config", "gitmem.projectId", f"x-{os.urandom(8).hex()}"], check=True
        )
        (code / ".git/gitmem").mkdir()
        data = Path(os.environ["XDG_DATA_HOME"]) / "gitmem/private.git"
        create_bare(data, GitCommand(dict(os.environ)))
        theirs = BetaLocalFilesystemMemoryTool(base_path=str(Path(place) / "disk"))
        with tool(code) as ours:
            for words in script:
                expected = answer(theirs, words)
                for folder in sorted(theirs.memory_root.rglob("*"), reverse=True):
                    if folder.is_dir() and not any(folder.iterdir()):
                        folder.rmdir()
                if expected is not None:
                    assert answer(ours, words) == redact(expected), words


def answer(memory: Any, words: dict[str, Any]) -> str | None:
    """What a model is told; None where the SDK's backend fails without a word for it."""
    from anthropic.tools import ToolError

    try:
        said = str(memory.call(words))
    except ToolError as error:
        return f"error: {error}"
    except OSError:
        return None
    # The index is gitmem's, and sizes of folders are the file system's.
    lines = [line for line in said.split("\n") if not line.endswith("/memories/MEMORY.md")]
    if said.startswith("Here're"):
        lines = [re.sub(r"^\S+(?=\t(?:/memories|.*/)$)", "-", line) for line in lines]
        lines[1] = lines[1].partition("\t")[2]
    return "\n".join(lines)


@pytest.mark.long
@pytest.mark.skipif(not SDIST, reason="needs the SDK's source distribution in GITMEM_TEST_ANTHROPIC_SDIST")
def test_the_sdks_own_tests_of_its_backend_pass(home: Path, tmp_path: Path) -> None:
    """All that apply: what does not is listed in `NOT_APPLICABLE`, each with the reason."""
    (tmp_path / "repos").mkdir()
    create_bare(home / ".local/share/gitmem/private.git", GitCommand(dict(os.environ)))
    report = tmp_path / "report.xml"
    run = [sys.executable, "-m", "pytest", "-q", "--noconftest", "-c", os.devnull, "-p", "no:cacheprovider"]
    suite = ["-p", "sdk_memory_suite", "--rootdir", SDIST, f"--junitxml={report}", str(Path(SDIST) / SUITE)]
    environ = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), str(ROOT)]),
        "SUITE_REPOS": str(tmp_path / "repos"),
        "SUITE_SKIPS": json.dumps(NOT_APPLICABLE),
    }
    done = subprocess.run([*run, *suite], env=environ, cwd=tmp_path, capture_output=True, text=True)
    cases = list(ElementTree.parse(report).iter("testcase"))
    skipped = {case.get("name", "").partition("[")[0] for case in cases if case.find("skipped") is not None}
    assert done.returncode == 0, done.stdout[-4000:]
    assert skipped == set(NOT_APPLICABLE)
    assert len(cases) - sum(case.find("skipped") is not None for case in cases) >= 70


def tool(repo: Path, **given: Any) -> gitmem.GitMemoryTool:
    return gitmem.GitMemoryTool(repo, **given)


def told(request: dict[str, Any]) -> list[tuple[bool, str]]:
    """Tool results that a request brings: whether an error, and the text."""
    content = request["messages"][-1]["content"]
    return [
        (bool(block.get("is_error")), text_of(block["content"]))
        for block in content
        if isinstance(block, dict) and block["type"] == "tool_result"
    ]


def text_of(content: str | list[dict[str, Any]]) -> str:
    return content if isinstance(content, str) else "".join(block["text"] for block in content)
