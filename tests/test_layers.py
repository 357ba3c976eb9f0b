"""What a command loads: hooks get by with the standard library, a model's library waits for its engine."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Set
from pathlib import Path

import pytest
from package_source import trees

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


@pytest.mark.parametrize(
    "hook", ["claude Stop", "claude SubagentStop", "claude SessionEnd", "git post-merge 0"]
)
def test_a_hook_loads_the_standard_library_alone(loaded, repo: Path, hook: str) -> None:
    """A person waits for these: importing pygit2 alone would cost them 130 ms."""
    spool = repo / ".git" / "gitmem" / "spool"
    spool.mkdir(parents=True)
    payload = {"session_id": "s", "cwd": str(repo), "hook_event_name": hook.split()[1]}
    modules = loaded("hook", *hook.split(), stdin=json.dumps(payload))
    assert len(list(spool.iterdir())) == 1, "the hook left no job, so the check would prove nothing"
    assert "gitmem.app.hooks" in modules
    assert foreign(modules) == set()
    assert len({name for name in modules if name.partition(".")[0] == "gitmem"}) <= 12


@pytest.mark.parametrize(
    ("prompt", "answers", "modules", "lines"),
    [
        ("When does the nightly export of the warehouse run?", True, 38, 10_000),
        ("what is the weather in Paris", False, 28, 7_000),
    ],
)
def test_a_prompts_hook_loads_little_whether_it_answers_or_not(
    loaded, repo: Path, prompt: str, answers: bool, modules: int, lines: int
) -> None:
    """A person waits for it at each of their prompts; what a line costs is to be compiled and run."""
    loaded("init", "-y")
    text = "The nightly export of the warehouse runs at three in the morning on the blue host."
    loaded("remember", text, "--name", "nightly-export")
    for number in range(4):
        loaded(
            "remember", f"Invoice {number} is checked before the billing run", "--name", f"invoice-{number}"
        )

    def asked(session: str) -> set[str]:
        fields = {"session_id": session, "cwd": str(repo), "prompt": prompt}
        return loaded("hook", "claude", "UserPromptSubmit", stdin=json.dumps(fields))

    asked("first")  # brings the index up to date
    found = {name for name in asked("second") if name.partition(".")[0] == "gitmem"}
    assert ("gitmem.search.recall" in found) is answers
    files = [ROOT.joinpath(*name.split(".")) for name in found]
    own = [path.with_suffix(".py") for path in files if path.with_suffix(".py").is_file()]
    assert foreign(found) == set()
    assert len(own) <= modules
    assert sum(path.read_text().count("\n") for path in own) <= lines


def test_everyday_verbs_never_load_a_models_library(loaded) -> None:
    """`anthropic` costs 2.6 s of processor time to import, `mcp` 1.2 s."""
    loaded("init", "-y")
    remembered = loaded("remember", "Run the linter before every push", "--name", "lint-first")
    listed = loaded("list")
    recalled = loaded("recall", "linter before a push")
    for modules in (remembered, listed, recalled):
        assert {name.partition(".")[0] for name in modules} & HEAVY == set()
        assert not {name for name in modules if name.startswith(("gitmem.view", "http.server"))}
        assert "gitmem.cli" in modules
    assert foreign(recalled) == set(), "a question is answered with the standard library alone"


def test_a_second_status_reads_no_files_of_clients(loaded) -> None:
    """What the first one found of them holds while none of those files changes."""
    loaded("init", "-y")
    assert "gitmem.app.client_faults" in loaded("status")
    again = loaded("status")
    assert {"gitmem.app.client_faults", "gitmem.app.client_setup", "tomllib"} & again == set()


def test_help_loads_no_verb(loaded) -> None:
    """The help screen lists verbs from a table, so that one broken verb does not take it down."""
    modules = loaded("-h")
    verbs = {path.stem for path in (ROOT / "gitmem/cli").glob("*.py")} - {
        "__init__",
        "app",
        "context",
        "output",
        "pager",
        "progress",
        "run",
    }
    assert {f"gitmem.cli.{verb}" for verb in verbs} & modules == set()


def test_a_flow_is_told_the_time_and_the_surroundings() -> None:
    """What reads them by itself cannot be run for another moment, or another person, as a test does."""
    for path, tree in trees().items():
        if not path.startswith("flows/"):
            continue
        used = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        assert used.isdisjoint({"os.environ", "time.time", "datetime.now", "Path.home", "Path.cwd"}), path


def test_no_modules_import_one_another_in_a_circle() -> None:
    """Also inside a function, or for types alone: neither module is read without the other."""
    named = {
        ".".join(("gitmem", *Path(path).with_suffix("").parts)).removesuffix(".__init__"): tree
        for path, tree in trees().items()
    }
    # What the package exports is loaded when asked for; its version is below everything.
    del named["gitmem"]
    imports = {name: imported(tree, named.keys()) - {name} for name, tree in named.items()}
    assert circles(imports) == []


def test_the_law_against_circles_sees_what_only_types_and_functions_import() -> None:
    named = {
        "gitmem.low": ast.parse("if TYPE_CHECKING:\n    from gitmem.high import High\n"),
        "gitmem.high": ast.parse("def run():\n    from gitmem import low\n"),
    }
    assert circles({name: imported(tree, named.keys()) for name, tree in named.items()}) == sorted(named)


def circles(imports: dict[str, set[str]]) -> list[str]:
    """Modules that stand in a circle, or between two."""
    left = dict(imports)
    while free := {name for name, others in left.items() if not others & left.keys()}:
        for name in free:
            del left[name]
    # What is left stands in a circle, or above one: those that nobody left imports are above.
    while above := left.keys() - set().union(*left.values()):
        for name in above:
            del left[name]
    return sorted(left)


def imported(tree: ast.Module, known: Set[str]) -> set[str]:
    """Modules of gitmem that one imports: when it is loaded, when it runs, or for types."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (names & known) or ({node.module} & known)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names} & known
    return found
