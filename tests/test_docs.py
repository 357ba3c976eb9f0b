"""What docs/ says of the program is what the program says."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
import yaml

from gitmem.cli.app import SUMMARIES
from gitmem.cli.topics import SETTINGS
from gitmem.ledger.workspace import CHOICES, DEFAULTS

ROOT = Path(__file__).parents[1]
REFERENCE = (ROOT / "docs/reference.md").read_text(encoding="utf-8")
MESSAGES = re.findall(
    r"^### `(.*)`$", (ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8"), re.MULTILINE
)


def _made() -> dict[Path, str]:
    spec = importlib.util.spec_from_file_location("make", ROOT / "docs/make.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made: dict[Path, str] = module.made()
    return made


def test_the_reference_and_the_manual_pages_are_current() -> None:
    """`python docs/make.py` writes them."""
    made = _made()
    due = [path for path, text in made.items() if not path.exists() or path.read_text() != text]
    assert [str(path.relative_to(ROOT)) for path in due] == [], "run: .venv/bin/python docs/make.py"
    assert sorted((ROOT / "docs/man").glob("*.1")) == sorted(path for path in made if path.suffix == ".1")


def test_every_verb_and_every_setting_is_in_the_reference() -> None:
    for verb in SUMMARIES:
        assert f"### git mem {verb}\n" in REFERENCE, verb
    told = {name.lower() for name, _ in SETTINGS}
    assert {*CHOICES, *DEFAULTS} <= told


def test_every_setting_that_the_program_reads_is_told() -> None:
    read = re.compile(r"settings\.(?:get|flag|number|words|all|value)\(\s*\"(\w+)\"")
    found = {name for path in (ROOT / "gitmem").rglob("*.py") for name in read.findall(path.read_text())}
    of_clients = {"autoMemoryEnabled", "autoMemoryDirectory", "hooks"}
    inner = {"projectId", "memoryUrl"}
    told = {name.lower() for name, _ in SETTINGS}
    assert "extract" in found and {name.lower() for name in found - inner - of_clients} <= told


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    """The site is built strictly, and that takes its theme: a page left out is told here as well."""
    site = yaml.safe_load((ROOT / ".properdocs.yml").read_text(encoding="utf-8"))
    of_the_guide = next(group["Guide"] for group in site["nav"] if "Guide" in group)
    listed = [path for entry in (*site["nav"], *of_the_guide) for path in entry.values()]
    named = sorted(path for path in listed if isinstance(path, str))
    outside = tuple(site["exclude_docs"].split()[2:])
    assert outside == ("/recipes/", "/decisions/", "/spec/vectors/")  # a code host alone shows them
    pages = (path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md"))
    assert named == sorted(page for page in pages if not f"/{page}".startswith(outside))


def test_every_verb_that_a_hint_or_a_page_names_is_there() -> None:
    """`git mem status -v` in a hint, `git mem sync` on a page: all can be typed, and help shows them."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    code = list((ROOT / "gitmem").rglob("*.py"))
    named = {}
    for path in (*pages, *code):
        for line in path.read_text(encoding="utf-8").splitlines():
            spoken = re.findall(r"(?:`|\$ |: |hint: |\")git mem (?:-q )?([a-z]+(?:-[a-z]+)*)\b", line)
            named |= dict.fromkeys(spoken, path)
    assert len(named) > 30
    assert {verb: path for verb, path in named.items() if verb not in SUMMARIES} == {}


@pytest.fixture(scope="module")
def said() -> str:
    """All strings of the program: literals that stand beside each other are joined."""
    text = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "gitmem").rglob("*.py")))
    return re.sub(r'"\s*\n\s*f?"', "", text)


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_of_troubleshooting_is_one_that_the_program_prints(message: str, said: str) -> None:
    for part in (part for part in message.split("…") if len(part.strip()) > 3):
        assert part.strip() in said, part


def test_enough_messages_are_told() -> None:
    assert len(MESSAGES) >= 25
