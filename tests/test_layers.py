"""What a command loads: hooks get by with the standard library, a model's library waits for its engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gitmem.app.at_action import keep
from gitmem.app.context import real_edges
from gitmem.flows.context import workspace_at

ROOT = Path(__file__).parents[1]
# What the interpreter has loaded before gitmem begins (an editable install has a finder, a venv its .pth).
PROBE = """
import sys
from collections.abc import Collection
before = set(sys.modules)
sys.argv = ["gitmem", *sys.argv[2:]]
import gitmem.flows.place
gitmem.flows.place.start_worker = lambda *words: None
from gitmem.entry import main
try:
    code = main()
finally:
    with open({report!r}, "w") as file:
        import json
        json.dump(sorted(set(sys.modules) - before), file)
sys.exit(code)
"""
HEAVY = {"anthropic", "mcp", "httpx", "httpx2"}
LOOKING = {"pygit2", "markdown_it", "psutil", "yaml", "betterleaks"}
"""What a look at memory needs none of, once the catalog knows it."""


@pytest.fixture
def loaded(tmp_path: Path, repo: Path):
    """`loaded("list")` runs a command in a repository and returns the modules that it loaded."""

    def run(*words: str, stdin: str = "", code: int = 0) -> set[str]:
        report = tmp_path / "modules.json"
        done = subprocess.run(
            [sys.executable, "-c", PROBE.format(report=str(report)), "gitmem", *words],
            cwd=repo,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            input=stdin,
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, done.stderr
        return set(json.loads(report.read_text()))

    return run


def foreign(modules: set[str]) -> set[str]:
    """Top-level packages that are neither gitmem nor of the standard library."""
    tops = {name.partition(".")[0] for name in modules}
    return {top for top in tops if top not in sys.stdlib_module_names and top != "gitmem"}


def test_the_version_loads_the_standard_library_alone(loaded) -> None:
    modules = loaded("--version")
    assert foreign(modules) == set()
    assert "gitmem.cli" not in modules


@pytest.mark.parametrize("hook", ["claude Stop", "claude SubagentStop", "claude SessionEnd"])
def test_a_hook_loads_the_standard_library_alone(loaded, repo: Path, hook: str) -> None:
    """A person waits for these: importing pygit2 alone would cost them 130 ms."""
    spool = repo / ".git" / "gitmem" / "spool"
    spool.mkdir(parents=True)
    payload = {"session_id": "s", "cwd": str(repo), "hook_event_name": hook.split()[1]}
    modules = loaded("hook", *hook.split(), stdin=json.dumps(payload))
    assert len(list(spool.iterdir())) == 1, "the hook left no job, so the check would prove nothing"
    assert "gitmem.app.hooks" in modules
    assert foreign(modules) == set()
    assert len({name for name in modules if name.partition(".")[0] == "gitmem"}) <= 11


def test_hooks_of_prompts_and_calls_load_little_whether_they_answer_or_not(
    loaded, repo: Path, gitmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person waits for it at each of their prompts; what a line costs is to be compiled and run."""
    monkeypatch.setattr("gitmem.flows.place.start_worker", lambda *_: None)
    gitmem("init", "-y")
    text = "The nightly export of the warehouse runs at three in the morning on the blue host."
    gitmem("remember", text, "--name", "nightly-export")
    for number in range(4):
        gitmem(
            "remember", f"Invoice {number} is checked before the billing run", "--name", f"invoice-{number}"
        )

    ledger = "The billing ledger is written by the export job at the close of the books."
    gitmem("remember", ledger, "--name", "billing-ledger", "--type", "project", "--scope", "project")
    gitmem("remember", "Never edit `db/schema.rb` by hand.", "--scope", "local")
    keep(workspace_at(real_edges(repo)))
    fields = {"session_id": "s", "cwd": str(repo), "tool_name": "Bash", "tool_input": {"command": "ls"}}
    acting = loaded("hook", "claude", "PreToolUse", stdin=json.dumps(fields))
    found = {name for name in acting if name.partition(".")[0] == "gitmem"}
    assert "gitmem.search.action" in found and len(found) <= 14, "a call that nothing is known of"
    assert not {"gitmem.git.command", "gitmem.rules", "subprocess"} & acting

    def asked(session: str, prompt: str) -> set[str]:
        fields = {"session_id": session, "cwd": str(repo), "prompt": prompt}
        return loaded("hook", "claude", "UserPromptSubmit", stdin=json.dumps(fields))

    for prompt, answers, modules, lines in (
        ("When does the nightly export of the warehouse run?", True, 30, 7_420),
        ("Who writes the billing ledger when the books are closed?", True, 36, 8_300),
        ("what is the weather in Paris", False, 24, 5_600),
    ):
        asked("first", prompt)  # brings the index up to date, and has it keep what it opens
        loads = asked("second", prompt)
        found = {name for name in loads if name.partition(".")[0] == "gitmem"}
        assert ("gitmem.search.recall" in found) is answers
        assert ("gitmem.search.ancestry" in found) is ("ledger" in prompt), "not what the case is about"
        files = [ROOT.joinpath(*name.split(".")) for name in found]
        own = [path.with_suffix(".py") for path in files if path.with_suffix(".py").is_file()]
        assert foreign(loads) == set()
        assert answers or not {name.split(".")[1] for name in found if "." in name} & {
            "dream",
            "engines",
            "rules",
        }
        assert len(own) <= modules
        assert sum(path.read_text().count("\n") for path in own) <= lines


@pytest.mark.parametrize(
    ("done", "never"),
    [
        ("import gitmem", {"anthropic", "pygit2", "typer", "yaml", "sqlite3", "gitmem.flows"}),
        ("import gitmem; gitmem.open", {"anthropic", "pygit2", "typer"}),
        (
            "import gitmem.flows.pause",
            {"typer", "pygit2", "filelock", "psutil", "yaml", "gitmem.ledger.land"},
        ),
        ("import gitmem.search.recall", {*HEAVY, "pygit2", "typer", "psutil", "betterleaks"}),
        (
            "import gitmem.engines.anthropic as a; a.AnthropicEngine(a.ApiSettings(), None)",
            {*HEAVY, "pydantic"},
        ),
        ("from gitmem.rules.screen import refused_claims as r; r([]); r([' '])", {"betterleaks"}),
        # Git starts these once a file that it merges, and for each side of each file that it shows.
        (
            "from gitmem.app.drivers import merge_file as m; m('main/a.md', b'', b'One.', b'Two.')",
            {"pygit2", "typer", "psutil", "gitmem.git.command"},
        ),
        (
            "from gitmem.app.drivers import shown; shown('a.md', b'---\\nname: a\\n---\\n\\nOne.\\n')",
            {"pygit2", "typer", "psutil", "yaml", "gitmem.ledger"},
        ),
    ],
)
def test_a_part_loads_nothing_that_only_another_needs(done: str, never: set[str]) -> None:
    code = f"import sys; {done}; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert never & {*ran.stdout.split()} == set()


def test_everyday_verbs_never_load_a_models_library(loaded, gitmem) -> None:
    """`anthropic` costs 2.6 s of processor time to import, `mcp` 1.2 s."""
    gitmem("init", "-y")
    remembered = loaded("remember", "Run the linter before every push", "--name", "lint-first")
    listed = loaded("list")
    recalled = loaded("recall", "linter before a push")
    for modules in (remembered, listed, recalled):
        assert {name.partition(".")[0] for name in modules} & HEAVY == set()
        assert not {name for name in modules if name.startswith(("gitmem.view", "http.server"))}
        assert "gitmem.cli" in modules
    assert foreign(recalled) == set(), "a question is answered with the standard library alone"
    for words in (["list"], ["list", "-a", "--json"], ["show", "lint-first"]):
        never = LOOKING | ({"gitmem.core.claim", "gitmem.ledger.log"} if "list" in words else set())
        assert loaded(*words) & never == set(), words


def test_help_loads_no_verb(loaded) -> None:
    """The help screen lists verbs from a table, so that one broken verb does not take it down."""
    modules = loaded("-h")
    verbs = {path.stem for path in (ROOT / "gitmem/cli").glob("*.py")} - {
        "__init__", "app", "context", "options", "output",
    }  # fmt: skip
    assert {f"gitmem.cli.{verb}" for verb in verbs} & modules == set()
