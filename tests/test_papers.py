"""The papers for whoever works on gitmem say what is there: files, lists, walks, links."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from package_source import nodes, texts

from gitmem.app.clients import CLIENTS
from gitmem.cli.app import GROUPS, MODULES, SUMMARIES
from gitmem.engines.choice import ENGINES
from gitmem.ledger.workspace import CHOICES
from gitmem.transcripts.discover import CLIENTS as READERS

ROOT = Path(__file__).parents[1]
PAPERS = ("ARCHITECTURE.md", "CONTRIBUTING.md", "docs/formats.md", "docs/glossary.md")
SHOWN = {verb for verbs in GROUPS.values() for verb in verbs}
"""Verbs that help shows."""
DECISIONS = tuple(f"docs/decisions/{path.name}" for path in sorted((ROOT / "docs/decisions").glob("*.md")))


@cache
def paper(name: str) -> str:
    """A paper's text."""
    return (ROOT / name).read_text(encoding="utf-8")


def section(text: str, title: str) -> str:
    """What stands under a heading of the second level, up to the next one."""
    return re.split(r"^## ", text.partition(f"\n## {title}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def files_for(what: str) -> list[str]:
    """The files that CONTRIBUTING lists for something that is added, `<name>` where each has its own."""
    return re.findall(r"^\| `([^`]+)` \|", section(paper("CONTRIBUTING.md"), f"Add {what}"), re.MULTILINE)


@cache
def said(path: str) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """What a module says in code: names that it uses, functions that it defines, its strings."""
    found = nodes(path.removeprefix("gitmem/"))
    names = {node.id for node in found if isinstance(node, ast.Name)}
    names |= {node.name for node in found if isinstance(node, ast.alias)}
    functions = {node.name for node in found if isinstance(node, ast.FunctionDef)}
    strings = {
        node.value for node in found if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return frozenset(names), frozenset(functions), frozenset(strings)


def modules(under: str = "gitmem") -> dict[str, Path]:
    """The modules below a folder, by their path from the top."""
    return {path.relative_to(ROOT).as_posix(): path for path in (ROOT / under).rglob("*.py")}


@pytest.mark.parametrize("name", [*PAPERS, *DECISIONS])
def test_what_a_paper_links_or_names_is_there(name: str) -> None:
    text, folder = (
        re.sub(r"^```.*?^```$", "", paper(name), flags=re.DOTALL | re.MULTILINE),
        (ROOT / name).parent,
    )
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
        assert (folder / target).exists(), target
    for path in re.findall(r"`((?:gitmem|tests|docs|hooks|\.ci)/[\w./-]+)`", text):
        assert (ROOT / path).exists(), path


def test_a_page_that_code_refers_to_is_there() -> None:
    """By its section, or as one of docs/: who reads the code has these papers and no others."""
    for path, text in texts().items():
        for page in re.findall(r"[\w./-]+\.md(?=,? section\b)|\bdocs/[\w/-]+\.md", text):
            assert (ROOT / page).is_file(), (path, page)


def test_a_name_that_code_refers_to_is_there() -> None:
    """`see module.name` stays behind in a docstring when the name moves."""
    for path, text in texts().items():
        for home, name in re.findall(r"(?:[Ss]ee|as for)\s+`(\w+)\.(\w+)`", text):
            defined = re.compile(rf"(?:def|class) {name}\b|^\s*{name}(?: =|:)", re.MULTILINE)
            assert f"{home}/{name}.py" in texts() or any(
                defined.search(other)
                for at, other in texts().items()
                if home in (Path(at).stem, *Path(at).parts) or f"class {home}" in other
            ), (path, home, name)


@pytest.mark.parametrize("what", ["a rule", "a client", "a verb", "an engine"])
def test_each_file_that_a_list_names_is_there(what: str) -> None:
    listed = files_for(what)
    assert len(listed) >= 3
    for path in listed:
        assert list(ROOT.glob(re.sub(r"<\w+>", "*", path))), path


def test_a_rule_is_in_the_files_that_contributing_lists() -> None:
    home, table, tests = (re.compile(re.sub(r"<\w+>", r"\\w+", path)) for path in files_for("a rule"))
    (rows,) = filter(table.fullmatch, modules())
    rules = {name for name in said(rows)[0] if name.startswith("judge_")}
    assert len(rules) > 20
    beside = [path.read_text("utf-8") for name, path in modules("tests").items() if tests.fullmatch(name)]
    for rule in rules:
        naming = [f"gitmem/{path}" for path, text in texts().items() if rule in text]
        (defined,) = (path for path in naming if rule in said(path)[1])
        used = {path for path in naming if rule in said(path)[0]}
        assert home.fullmatch(defined) and rows in used and all(map(home.fullmatch, used)), (rule, used)
        assert Path(defined).stem in "".join(beside), f"no test in tests/rules imports the file of {rule}"


@pytest.mark.parametrize("name", sorted(CLIENTS))
def test_a_client_is_in_the_files_that_contributing_lists(name: str) -> None:
    client = CLIENTS[name]
    listed = {path.replace("<name>", name) for path in files_for("a client")}
    words = {client.sessions or name, name}
    rooms = ("gitmem/app/cl", "gitmem/transcripts/")
    naming = {path for path in modules() if path.startswith(rooms) and words & said(path)[2]}
    read = client.sessions in {reader.name for reader in READERS}
    assert read == bool(client.sessions), "CLIENTS of gitmem/transcripts/discover.py lacks its reader"
    filed = name == "claude" or (f"gitmem/transcripts/{name}.py" in naming) == bool(client.sessions)
    assert filed, f"gitmem/transcripts/{name}.py reads its sessions, or `sessions` is empty"
    if name != "claude":  # whose form is gitmem's own
        own = {"gitmem/app/client_hooks.py"} if client.form == "plugin" else set()
        assert naming - listed <= own, "it is named where CONTRIBUTING.md lists no file"
    assert name in paper("gitmem/cli/init.py"), "gitmem/cli/init.py lacks it in the help of --client"
    row = f"| {client.title} | `{client.file}` |"
    assert f"\n{row}" in paper("docs/guide/clients.md"), (
        f"docs/guide/clients.md lacks a row that begins {row}"
    )
    for page in ("docs/faq.md", *(("docs/guide/first-day.md",) if client.sessions else ())):
        assert client.title in paper(page), f"{page} lacks it"
    tests = paper("tests/app/test_clients_input.py") + paper("tests/app/test_client_hooks.py")
    assert re.search(rf"\b{name}\b", tests, re.IGNORECASE), (
        "tests/app/test_clients_input.py and _hooks.py lack it"
    )
    foreign = paper("tests/conftest.py").partition("foreign = (")[2].partition(")")[0]
    beginnings = tuple(re.findall(r'"([A-Z_]+)"', foreign))
    kept_off = not client.variable or client.variable.startswith(beginnings)
    assert kept_off, f"every test inherits {client.variable}: see `foreign` in tests/conftest.py"
    if client.sessions:
        assert f'"{client.sessions}"' in paper("tests/transcripts/test_contract.py"), (
            "tests/transcripts/test_contract.py lacks it"
        )
    if client.package:
        assert f"{client.package}@{client.oldest}" in paper(".ci/run"), "the oldest that is promised is run"


@pytest.mark.parametrize("verb", sorted(SHOWN | SUMMARIES.keys()))
def test_a_verb_is_in_the_files_that_contributing_lists(verb: str) -> None:
    assert "register" in said(f"gitmem/cli/{MODULES.get(verb, verb)}.py")[1]
    assert verb in SHOWN, "help shows it nowhere: GROUPS in gitmem/cli/app.py lacks it"
    assert verb in SUMMARIES, "SUMMARIES in gitmem/cli/app.py lacks its line"
    pages = (path for path in ROOT.glob("docs/**/*.md") if path.name != "reference.md")  # made of the help
    explained = paper("README.md") + "".join(path.read_text("utf-8") for path in pages)
    named = re.search(rf"(git mem\s+(-\w+ )*|gitmem |`){verb}\b", explained)
    assert named, "no page of docs/guide explains it"


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_is_in_the_files_that_contributing_lists(name: str) -> None:
    assert set(CHOICES["engine"]) == set(ENGINES)
    listed = (path.replace("<name>", name.replace("-", "_")) for path in files_for("an engine"))
    module, choice, made, settings, trial, face, page, contract, _ = listed
    assert (ROOT / module).is_file() or (ROOT / module).with_suffix("").is_dir()
    assert name in said(choice)[2] & said(settings)[2]
    assert {"gitmem/flows/engines.py", "gitmem/app/engine_settings.py"} == {made, trial}
    assert name in paper(face) and name in paper("gitmem/cli/init.py"), "the help of --engine lacks it"
    assert f"\n| `{name}` |" in paper(page) and f"`{name}`" in paper("docs/glossary.md")
    # A fork of the client is a process: what it does to a tree is held in tests/app.
    assert name == "claude-code" or f'"{name}"' in paper(contract)
