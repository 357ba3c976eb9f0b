"""Nothing goes round the one exit: every verb, hook, tool and interface, on a hostile memory."""

from __future__ import annotations

import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
import typer.main
from copies import copy_tree
from hostile_set import (
    DREAM,
    NASTY,
    ONE,
    PEM,
    SESSION,
    TAGS,
    TWO,
    Hostile,
    all_leaks,
    files,
    leaks,
    make,
    memory,
)

import gitmem
from gitmem.app import drivers
from gitmem.app.context import real_edges
from gitmem.app.hooks import CLAUDE_JOBS, CONTEXTS, SAYS
from gitmem.app.hooks import main as hook
from gitmem.cli.app import SUMMARIES, app
from gitmem.dream.cards import Card, CardSide
from gitmem.flows.context import initialised_at
from gitmem.flows.export import FORMATS
from gitmem.flows.pull_request import request_body
from gitmem.git.trees import read_file
from gitmem.memory_tool.commands import CommandError
from gitmem.memory_tool.tool import Backend

ROOT = Path(__file__).parent.parent.parent

BAD = f"no {TAGS[0]}\x1b[31m {ONE}"
"""Where a verb names what it was told, it must not repeat this as it is."""

WORDS: dict[str, list[list[str]]] = {
    "init": [["-n"], ["-y"], ["--engine", BAD]],
    "status": [[], ["--verbose"]],
    "remember": [
        ["Ports are 9090.", "--name", BAD], ["Ports are 9090.", "--scope", BAD], [f"It is {ONE}."],
    ],
    "recall": [["how do deploys go"], ["deploys", "--explain"], ["deploys", "--at", BAD], [BAD]],
    "log": [[], ["deploys", "--agent", "reviewer", "--scope", "project"], [BAD]],
    "review": [[], ["--open", "-n"]],
    "review show": [[DREAM], [DREAM, "--all"], [BAD]],
    "review accept": [[DREAM, "-y"], [BAD]],
    "review reject": [[DREAM, "-m", BAD], [BAD]],
    "review edit": [[DREAM, "1", "--file", "README.md"], [BAD, "1"]],
    "review open": [[DREAM, "-n"], [DREAM, "-y"], [BAD]],
    "sync": [["-n"], ["-y"], [BAD]],
    "undo": [["-n"], [], [BAD]],
    "list": [[], ["--all"], ["--logs"], ["--at", BAD], ["--agent", BAD]],
    "show": [
        ["project/reviewer/deploys"], ["local/main/deploys"], ["user/main/disputed"], [ONE], ["2026-11-20"],
        ["dep"], [BAD], ["project/reviewer/deploys", "--at", BAD],
    ],
    "diff": [[], ["~1", "@"], ["deploys", "--at", "~1"], [BAD]],
    "blame": [
        ["project/reviewer/deploys"], ["local/main/deploys"], ["user/main/disputed"],
        ["--text", "Deploys use"], ["--text", "An old one"], ["2026-11-20", "--scope", "project"], [BAD],
    ],
    "save": [["-n"], []],
    "forget": [
        ["project/reviewer/deploys", "-n"], ["project/reviewer/disputed"], ["deploys"],
        ["project/reviewer/deploys", "--claim", "token"], [BAD],
    ],
    "restore": [["project/reviewer/deploys", "--at", "~1", "-n"], [BAD], ["--all", "--at", BAD]],
    "checkout": [["~1", "-n"], [BAD]],
    "move": [
        ["project/reviewer/deploys", "--to", "local", "-n"],
        ["local/main/deploys", "--to", "project", "-y"], [BAD, "--to", "user"],
    ],
    "promote": [["project/reviewer/deploys", "-n"], ["local/main/clean", "-y"], [BAD]],
    "demote": [["local/main/clean", "-n"], [BAD]],
    "pause": [["-n"], ["--for", BAD]],
    "unpause": [["-n"], []],
    "share": [
        [], ["--mode", BAD], ["--remote", BAD, "-n"], ["--off", "-n"], ["--mode", "direct", "-n"],
        ["--ci", "-n"],
    ],
    "check": [
        [], ["--ref", "refs/heads/gitmem/project"], ["--ref", "refs/heads/gitmem/project", "--github"],
        ["--ref", f"refs/heads/gitmem/dream/{DREAM}", "--base", "refs/heads/gitmem/project"],
        ["--ref", f"refs/heads/gitmem/dream/{DREAM}", "--base", "refs/heads/gitmem/project", "--github"],
        ["--ref", BAD],
    ],
    "backup": [[], ["--encrypt-to", BAD], ["--identity", BAD], [BAD, "-n"]],
    "remote": [[]],
    "remote add": [["us", "--store", "memstore_1"], ["x", "--store", BAD], [BAD, "--store", "memstore_1"]],
    "remote list": [[]],
    "remote remove": [[BAD]],
    "snapshot": [[]],
    "snapshot create": [["--all", "-n"], ["reviewer", "-n"], [BAD]],
    "snapshot status": [[]],
    "dream": [
        [], ["show", DREAM], ["-n", "--force"], ["--force", "--scope", "local"], [BAD], ["--store", BAD],
        ["show", BAD],
    ],
    "docs": [[]],
    "docs list": [[], ["--at", BAD]],
    "docs check": [[], ["README.md", "--strict"], [BAD]],
    "docs update": [["-n"], [BAD]],
    "doctor": [["-n"], ["-y"]],
    "engine": [[], ["set", BAD], ["set", "anthropic", "--base-url", BAD, "-n"]],
    "purge": [["project/reviewer/deploys", "-n"], ["--text", ONE, "-n"], [BAD, "-n"]],
    "uninstall": [["-n"]],
    "demo": [[f"--{BAD}"]],  # shows a memory of its own making
    "extract": [["-n"], ["--session", SESSION, "-n"], ["--session", SESSION], ["--session", BAD]],
    "mcp": [[f"--{BAD}"]],  # served below
    "session": [[]],
    "session list": [[]],
    "session show": [[SESSION], [SESSION, "--person"], [BAD]],
    "session grep": [["deploys"], ["Noted"], [BAD]],
    "session notes": [[SESSION], [BAD]],
    "session resume-context": [[SESSION], [BAD]],
    "jobs": [[], ["--retry"]],
    "stats": [[]],
    "bench": [[]],
    "bench extract": [["--gold", BAD], []],
    "bench recall": [["--own"], ["--corpus", BAD, "--queries", BAD]],
    "bench dream": [["--corpus", BAD], ["--engine", BAD]],
    "bench agent": [["--tasks", BAD], []],
    "bisect": [[]],
    "bisect start": [
        ["@", "~1"], ["@", "~1", "--scope", "local"], ["@", "~1", "--first-parent"], [], [BAD, BAD],
    ],
    "bisect good": [[], ["~1"], [BAD]],
    "bisect bad": [[], ["@"], [BAD]],
    "bisect skip": [[], ["@"], [BAD]],
    "bisect run": [["false"], ["true"], [BAD]],
    "bisect log": [[]],
    "bisect reset": [[], []],
    "import": [
        ["snapshots/reviewer", "-n"], ["snapshots/reviewer", "--scope", "user"], ["CLAUDE.md", "-n"],
        ["snapshots", "--project", BAD], ["--formats"], ["-"], [BAD],
        ["snapshots/reviewer", "--format", BAD], ["snapshots/reviewer"],
    ],
    "export": [
        ["--format", "json"], ["--format", "json", "--scope", "local"], ["--format", "json", "--at", "~1"],
        ["--format", "mem0", "--agent", "reviewer"], ["-o", "memories"], ["--format", "okf", "-o", "okf"],
        ["--format", "basic-memory", "-o", BAD], ["--format", BAD], ["--agent", BAD], ["--at", BAD],
        ["--format", "mem0"],
    ],
    # Served it would not end, and what it serves has its own tests; the file is looked into below.
    "view": [
        ["--at", BAD, "--no-open"], ["--static", "page.html", "--at", "@"], ["--static", "page.html", "-n"],
        ["--static", "page.html", "--scope", "local", "-y"], ["--static", BAD], ["--scope", BAD],
        ["--static", "page.html"],
    ],
    "help": [[], ["settings"], ["environment"], ["exit-codes"], ["export"], ["bisect", BAD], [BAD]],
    "completion": [["bash"], ["zsh"], ["fish", "--install"], [BAD]],
    "install-man": [["-n"], [], ["--to", BAD]],
    "merge": [
        ["project/reviewer/deploys", "project/reviewer/disputed", "-n"],
        ["local/main/ports", "local/main/clean"], ["local/main/clean", "local/main/deploys"],
        ["dep", "clean"], ["clean", "clean"], [BAD, "clean"], ["project/main/clean", BAD],
    ],
    "review settle": [[], ["-n"]],
}  # fmt: skip
"""Arguments of each verb: what shows memory, what changes it, what is refused with its words repeated."""

FIRST = {verb: ["bisect", "start", "@", "~1"] for verb in WORDS if verb.partition(" ")[0] == "bisect"}
"""What is said before, to verbs which are about something under way."""


LOGS = ("log", "errors.log", "judged-harmless")
"""What is kept to be read by people; records of live directories and of recalls hold names as they are."""


@cache
def verbs() -> dict[str, Any]:
    """Every command of the command line, those within others by both words."""
    group: Any = typer.main.get_command(app)
    found: dict[str, Any] = {}
    for name in SUMMARIES:
        command = group.get_command(None, name)
        found[name] = command
        found |= {f"{name} {inner}": one for inner, one in getattr(command, "commands", {}).items()}
    return found


def has_json(command: Any) -> bool:
    return any("--json" in one.opts for one in command.params)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hostile]:
    """The hostile repository, and a copy to begin from."""
    root = tmp_path_factory.mktemp("hostile")
    kept = {key: os.environ.get(key) for key in ("HOME",)}
    made = make(root / "now")
    for git_dir in (made.repo / ".git", made.home / ".local/share/gitmem/private.git"):
        made.git("repack", "-a", "-d", "-q", at=git_dir)  # fewer files to copy for each test
    copy_tree(made.root, root / "then")
    yield made
    for key, value in kept.items():
        if value is not None:
            os.environ[key] = value


@pytest.fixture
def hostile(built: Hostile, monkeypatch: pytest.MonkeyPatch) -> Hostile:
    """The same, as it was built, and this process in it."""
    shutil.rmtree(built.root)
    copy_tree(built.root.with_name("then"), built.root)
    for key, value in built.environ().items():
        monkeypatch.setenv(key, value)
    monkeypatch.chdir(built.repo)
    return built


@pytest.fixture
def run(
    hostile: Hostile, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Callable[..., tuple[str, str]]:
    """`run("list", "--json")` gives what a verb wrote to stdout and stderr."""
    from gitmem.entry import main

    def ran(*words: str) -> tuple[str, str]:
        monkeypatch.setattr(sys, "argv", ["gitmem", *words])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
        capfdbinary.readouterr()
        main()
        sys.stdout.flush()
        sys.stderr.flush()
        out, err = capfdbinary.readouterr()
        return out.decode("utf-8", "surrogateescape"), err.decode("utf-8", "surrogateescape")

    return ran


def logs(hostile: Hostile) -> Iterator[tuple[str, str]]:
    """What was written down beside memory, for a person or a later process to read."""
    states = (hostile.repo / ".git" / "gitmem", hostile.home / ".local/share/gitmem")
    for state in states:
        for path in sorted(state.rglob("*")):
            if path.is_file() and (path.name in LOGS or path.parent.name == "say"):
                yield path.name, path.read_text("utf-8", "surrogateescape")
        for path in state.rglob("state.db"):
            with closing(sqlite3.connect(path)) as db:
                yield from db.execute("SELECT space, value FROM kv WHERE space IN ('run', 'failed')")


def test_every_verb_has_its_words() -> None:
    """A new verb gets a row here, or it shows what nobody looked at."""
    assert sorted(WORDS) == sorted(verbs())


@pytest.mark.parametrize("much", ["first and last", pytest.param("all", marks=pytest.mark.long)])
@pytest.mark.parametrize("verb", WORDS)
def test_no_verb_lets_anything_out(verb: str, much: str, run: Any, hostile: Hostile) -> None:
    json_too = has_json(verbs()[verb])
    found: dict[str, list[str]] = {}
    if verb in FIRST:
        assert not [bad for text in run(*FIRST[verb]) for bad in all_leaks(text)]
    rows = WORDS[verb] if much == "all" else [*WORDS[verb][:1], *WORDS[verb][1:][-1:]]
    for number, words in enumerate(rows):
        both = json_too and (much == "all" or number == 0)
        for given in ([*words, "--json"], words) if both else (words,):
            out, err = run(*verb.split(), *given)
            what = " ".join(given).replace(BAD, "BAD")
            found |= {
                f"{what} >{name}": bad
                for name, text in (("out", out), ("err", err))
                if (bad := all_leaks(text))
            }
            if "a bug:" in err:
                found[f"{what} bug"] = [err]
    found |= {f"file {name}": bad for name, text in logs(hostile) if (bad := leaks(text))}
    assert not found, json.dumps(found, indent=1)


EVENTS = sorted({*CLAUDE_JOBS, *CONTEXTS, *SAYS})


@pytest.mark.parametrize(
    ("event", "source"), [("SessionStart", "compact"), *((event, "startup") for event in EVENTS)]
)
def test_no_hook_lets_anything_out(hostile: Hostile, event: str, source: str) -> None:
    payload = {
        "cwd": str(hostile.repo),
        "session_id": SESSION,
        "source": source,
        "prompt": f"how do deploys go? {TAGS[0]}",
        "transcript_path": str(next(hostile.home.rglob(f"{SESSION}.jsonl"))),
        "hook_event_name": event,
    }
    out = io.StringIO()
    given = io.BytesIO(json.dumps(payload).encode())
    assert hook(["claude", event], os.environ, given, out, start=lambda _, __: None) == 0
    assert not all_leaks(out.getvalue())
    assert bool(out.getvalue()) or event not in CONTEXTS
    assert not [bad for _, text in logs(hostile) for bad in leaks(text)]


def test_the_prompt_hook_loads_no_detector(hostile: Hostile) -> None:
    """An agent waits for it: 0.1 s of CPU and 30 MB are too much."""
    probe = (
        "import sys, io, json, os; from gitmem.app.hooks import main;"
        "asked = {'cwd': os.getcwd(), 'session_id': 's', 'prompt': 'how do deploys go?'};"
        "given = io.BytesIO(json.dumps(asked).encode()); out = io.StringIO();"
        "main(['claude', 'UserPromptSubmit'], os.environ, given, out,"
        " start=lambda *_: None); assert 'unjudged' in out.getvalue(), out.getvalue();"
        "sys.exit('betterleaks' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe], cwd=hostile.repo, env=dict(os.environ) | {"PYTHONPATH": str(ROOT)}
    )
    assert done.returncode == 0


def test_no_tool_or_resource_of_the_protocol_lets_anything_out(hostile: Hostile) -> None:
    import anyio
    from mcp import Client, MCPError

    from gitmem.mcp.server import MemoryServer

    asked: list[tuple[str, dict[str, Any]]] = [
        ("recall", {"query": "how do deploys go"}),
        ("recall", {"query": BAD, "at": BAD}),
        *(
            ("show", {"name": name})
            for name in ("project/reviewer/deploys", "local/main/deploys", "dep", BAD)
        ),
        ("log", {}),
        ("log", {"name": BAD}),
        ("blame", {"name": "project/reviewer/deploys"}),
        ("blame", {"text": "Deploys use"}),
        ("remember", {"text": "Ports are 9090.", "name": "ports-now", "type": BAD}),
        ("remember", {"text": f"The token is {ONE}.", "name": "token", "type": "project"}),
        ("forget", {"name": "dep"}),
        ("forget", {"name": "project/reviewer/deploys"}),
        (BAD, {}),
    ]

    async def ask() -> list[str]:
        said = []
        async with Client(MemoryServer(hostile.repo, write=True)) as one:
            for name, given in asked:
                try:
                    said.append((await one.call_tool(name, given)).model_dump_json())
                except MCPError as error:
                    said.append(json.dumps(str(error)))
            listed = await one.list_resources()
            # An address names its file exactly, percent-encoded: it is what is read next.
            said += [json.dumps([each.name, each.description]) for each in listed.resources]
            for each in listed.resources:
                read = (await one.read_resource(each.uri)).contents
                said.append(json.dumps([getattr(content, "text", "") for content in read]))
        return said

    said = anyio.run(ask)
    assert len(said) > len(asked) + 10
    assert not [bad for answer in said for bad in all_leaks(answer)]


@pytest.mark.parametrize("scope", ["project", "local", "user"])
def test_the_memory_tool_lets_nothing_out(hostile: Hostile, scope: Any) -> None:
    edges = partial(real_edges, hostile.repo)
    tool = Backend(initialised_at(edges()), edges, scope, "main", "s-1", "")
    asked: list[Callable[[], str]] = [
        lambda: tool.view("/memories"),
        *(partial(tool.view, f"/memories/{path}") for path in files() if not path.startswith(".")),
        lambda: tool.view(f"/memories/{BAD}"),
        lambda: tool.create(f"/memories/{ONE}.md", "x"),
        lambda: tool.create("/memories/new.md", f"It is {ONE}."),
        lambda: tool.str_replace("/memories/deploys.md", BAD, "x"),
        lambda: tool.str_replace("/memories/deploys.md", " ", "x"),
        lambda: tool.rename("/memories/clean.md", f"/memories/{ONE}.md"),
        lambda: tool.delete(f"/memories/{TAGS[0]}"),
    ]
    said = []
    for one in asked:
        try:
            said.append(one())
        except CommandError as refused:
            said.append(str(refused))
    assert any("Deploys use" in text for text in said)
    assert not [bad for text in said for bad in leaks(text)]


def test_what_the_memory_tool_showed_can_be_edited_as_it_was_shown(hostile: Hostile) -> None:
    edges = partial(real_edges, hostile.repo)
    tool = Backend(initialised_at(edges()), edges, "local", "main", "s-1", "")
    tool.create("/memories/tags.md", f"It prints {TAGS[0]} and zero\u200bwidth.\nMore.\n")
    (shown_line,) = [row for row in tool.view("/memories/tags.md").split("\n") if "prints" in row]
    text = shown_line.partition("\t")[2]
    assert not leaks(text)
    tool.str_replace("/memories/tags.md", text, text.replace("prints", "writes"))
    scope = tool.scope
    tip = scope.repo.ref(scope.ref)
    assert tip is not None
    data = read_file(scope.repo, scope.repo.commit(tip).tree, "main/tags.md") or b""
    assert f"It writes {TAGS[0]} and zero\u200bwidth.\nMore." in data.decode()


def test_the_python_api_lets_nothing_out(hostile: Hostile) -> None:
    with gitmem.open(hostile.repo) as memories:
        found: list[Any] = [
            memories.recall("how do deploys go"),
            *memories.log(),
            *memories.log("deploys", scope="local", agent="main"),
        ]
        assert len(found) > 3 and found[0].items
        said = json.dumps([asdict(one) for one in found], default=str, ensure_ascii=False)
    assert not all_leaks(said)


@pytest.mark.parametrize("name", ["deploys.md", "MEMORY.md"])
def test_what_git_shows_of_a_memory_lets_nothing_out(hostile: Hostile, name: str, capfdbinary) -> None:
    path = hostile.root / name
    path.write_text(files()[name])
    assert drivers.show([str(path)]) == 0
    sys.stdout.flush()
    out = capfdbinary.readouterr().out.decode()
    assert out and not leaks(out)


def test_the_text_of_a_request_lets_nothing_out(hostile: Hostile) -> None:
    rows = [
        Card(
            1,
            f"{ONE} {one}",
            "merge",
            (CardSide("-", f"{TWO} {one}", (f"Ann {TWO} {one}",)),),
            "",
            f"{one} {ONE}",
        )
        for one in (NASTY, *TAGS, PEM)
    ]
    assert not leaks(request_body("Two changes.", rows, DREAM))


def test_no_file_to_hand_on_holds_a_credential(run: Any, hostile: Hostile) -> None:
    """Other bytes stay what they are in a file, which no terminal and no model is shown by this."""
    for number, words in enumerate(
        (
            *(["export", "--format", name, "-o"] for name in FORMATS),
            ["view", "--json", "--static"],
            ["view", "--scope", "user", "-y", "--static"],
        )
    ):
        told = run(*words, f"given{number}")
        given = hostile.repo / f"given{number}"
        written = [path for path in (given, *given.rglob("*")) if path.is_file()]
        said = [f"{path.relative_to(hostile.repo)}\n{path.read_text('utf-8')}" for path in written]
        assert any("List<T>" in text or "List\\u003cT>" in text for text in said), words
        found = [bad for text in said for bad in leaks(text) if bad.startswith(("secret", "half", "key"))]
        assert not found + [bad for text in told for bad in all_leaks(text)], words


def test_what_an_import_proposes_lets_nothing_out(run: Any, hostile: Hostile) -> None:
    """Of memories whose secrets were held back, and of one that has all else that is hostile."""
    path = hostile.repo / "snapshots/reviewer/new.md"
    path.write_text(
        memory(f"new {TAGS[0]}", f"Of late {NASTY}", f"- Gates open at nine. {NASTY}\n- It is {ONE}")
    )
    told, err = run("import", "snapshots/reviewer", "--json")
    id = json.loads(told)["id"]
    said = [
        told, err, *run("review"), *run("review", "--json"), *run("review", "show", id, "--all"),
        *run("review", "show", id, "--json"), *run("review", "accept", id), *run("log", "--json"),
        *run("show", "local/main/new", "--json"),
    ]  # fmt: skip
    assert sum("Gates open" in text for text in said) > 2
    assert not [bad for text in said for bad in all_leaks(text)]


def test_a_bisection_shows_the_claim_that_did_it_and_lets_nothing_out(run: Any) -> None:
    """To its end, by each answer: what is found is a claim of a stranger's."""
    for verdicts in (("good",), ("bad",), ("bad", "bad", "skip")):
        said = [*run("bisect", "start", "@", "~1")]
        for number in range(64):
            said += run("bisect", verdicts[min(number, len(verdicts) - 1)], "--json")
            step = json.loads(said[-2])
            if step["done"]:
                break
        said += [*run("bisect"), *run("bisect", "log")]
        assert step["done"] and (step["unit"] or step["unsure"])
        assert not [bad for text in said for bad in all_leaks(text)]


@pytest.mark.parametrize("keys", ["ss", "1q", "?q"])
def test_no_card_that_is_settled_by_a_key_lets_anything_out(keys: str, run, hostile, monkeypatch) -> None:
    pressed = iter(keys)
    monkeypatch.setattr("gitmem.cli.review_walk.terminal_keys", lambda: lambda: next(pressed, "q"))
    said = run("review", "settle")
    assert any("Tests use" in text for text in said)
    assert not [bad for text in said for bad in leaks(text)]
