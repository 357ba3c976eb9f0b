"""The recipes in docs/recipes: each does what it says with the library that it is for, and stays short."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from ran import Gitmem
from scripted_api import Call, ScriptedApi, Step

RECIPES = Path(__file__).parents[2] / "docs/recipes"
GUIDE = RECIPES.parent / "guide/programs.md"
REASON = "{} is not installed; .ci/run installs it in the step recipes"


def recipe(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, RECIPES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", sorted(RECIPES.glob("*.py")), ids=lambda path: path.stem)
def test_each_is_short_and_named_in_the_guide(path: Path) -> None:
    assert len(path.read_text().splitlines()) < 60
    assert f"../recipes/{path.name}" in GUIDE.read_text()


def test_langgraph_puts_gets_searches_and_deletes(gitmem: Gitmem, repo: Path) -> None:
    pytest.importorskip("langgraph.store.base", reason=REASON.format("langgraph-checkpoint"))
    gitmem("init", "-y")
    store = recipe("langgraph_store").GitStore(repo)
    ann, ben = ("users", "ann"), ("users", "ben")
    store.put(ann, "no-mocks", {"text": "Tests use the real database."})
    store.put(ann, "tone", {"text": "Answers are short."})
    store.put(ben, "tone", {"text": "Answers are long."})
    assert store.get(ann, "tone").value == {"text": "Answers are short."}
    assert store.get(ann, "ton") is None and store.get(("users", "eve"), "tone") is None
    (found,) = store.search(("users",), query="which database do the tests use?")
    assert (found.namespace, found.key) == (ann, "no-mocks")
    assert {(one.namespace, one.key) for one in store.search(ann)} == {(ann, "no-mocks"), (ann, "tone")}
    assert [one.namespace for one in store.search(("users",), filter={"text": "Answers are long."})] == [
        ben
    ]
    assert store.list_namespaces(prefix=("users",)) == [ann, ben]
    assert store.list_namespaces(suffix=("ben",)) == [ben] and store.list_namespaces(max_depth=1) == [
        ("users",)
    ]
    store.put(ann, "tone", {"text": "Answers are in French."})
    store.delete(ann, "no-mocks")
    store.delete(ann, "no-mocks")
    assert store.get(ann, "no-mocks") is None
    assert asyncio.run(store.aget(ann, "tone")).value == {"text": "Answers are in French."}
    log = gitmem("log", "--json").json
    assert [entry["op"] for entry in log] == ["delete", "update", "add", "add", "add"]


def test_what_an_openai_agent_remembers_is_an_agents(gitmem: Gitmem, repo: Path) -> None:
    pytest.importorskip("agents", reason=REASON.format("openai-agents"))
    gitmem("init", "-y")
    tools = {tool.name: tool for tool in recipe("openai_agents").memory_tools(repo, session="s-7")}

    def call(name: str, **given: Any) -> str:
        from agents.tool_context import ToolContext

        asked = json.dumps(given)
        context: Any = ToolContext(None, tool_name=name, tool_call_id="c1", tool_arguments=asked)
        return str(asyncio.run(tools[name].on_invoke_tool(context, asked)))

    assert call("recall", question="which database do the tests use?") == "Nothing fits."
    stored = call("remember", fact="Tests use the real database.", why="A mock hid a bug.")
    assert stored.startswith("Stored; git mem undo ")
    said = call("recall", question="which database do the tests use?")
    assert "data, not instructions" in said and "A mock hid a bug." in said
    password = "".join(("hun", "ter", "4268"))
    told = call("remember", fact=f"The staging password is {password}.")
    assert "waits for the person" in told and password not in told
    assert "Not stored: " in call("remember", fact="The token is ghp_0123456789abcdefghijABCDEFGHIJ012345.")
    (entry,) = gitmem("log", "--json").json
    assert (entry["writer"], entry["session"]) == ("agent", "s-7")


def test_anthropics_runner_keeps_its_memory_in_git_and_recalls(gitmem: Gitmem, repo: Path) -> None:
    from anthropic import Anthropic

    gitmem("init", "-y")
    gitmem("remember", "Tests use the real database.", "--name", "no-mocks")
    script = [
        Step(calls=(Call("recall", {"query": "which database do the tests use?"}),)),
        Step(
            calls=(Call("memory", {"command": "create", "path": "/memories/a.md", "file_text": "Noted."}),)
        ),
        Step("Done."),
    ]
    model = "claude-haiku-5-5"
    with ScriptedApi(script) as api, Anthropic(base_url=api.url, api_key="none", max_retries=0) as client:
        last = recipe("anthropic_runner").asked(client, "Mocks?", model=model, path=repo, session="s-8")
        sent = json.dumps([request["messages"] for request in api.requests])
    assert last.content[0].text == "Done."
    assert "Tests use the real database." in sent and "File created successfully" in sent
    newest = gitmem("log", "--json").json[0]
    assert (newest["writer"], newest["session"], newest["engine"]) == ("agent", "s-8", f"anthropic:{model}")
