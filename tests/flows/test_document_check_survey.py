"""What a survey of real histories showed, and repositories that would have git run something."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from once import Once

from gitmem.app.context import real_edges
from gitmem.flows.document_check import checked_here
from gitmem.flows.document_text import MOST, MOST_BYTES, parse
from gitmem.search.code_history import defines

FILES = {
    "pyproject.toml": '[project]\nname = "app"\n[project.scripts]\napp = "app.main:main"\n',
    "setup.py": "setup(\n    name='app',\n    zip_safe=False,\n    install_requires=[\n    ],\n)\n",
    "app/main.py": "def main():\n    return load_all()\n",
    "app/cli/log.py": "def log():\n    return 1\n",
    "app/cli/show.py": "def show():\n    return 2\n",
    "app/git.py": "WORDS = ['log', '-p']\n\n\ndef load_all():\n    return WORDS\n",
    "app/store.py": "STEP = 1\n\n\ndef read_all():\n    return STEP\n",
}
DOC = """# MAGIC DOC: The app

- `app/git.py` has `load_all()`.
- `app/store.py` has `read_all()`, as `app.store.read_all` says, and `STEP` of `app/git.py`.
- Run `app log` or `app show`; `zip_safe` is off.
"""


@pytest.fixture
def top(repo: Path, git, once: Once[None]) -> Path:
    def begin() -> None:
        for path, text in {**FILES, "DOC.md": DOC}.items():
            (repo / path).parent.mkdir(parents=True, exist_ok=True)
            (repo / path).write_text(text)
        git("-C", repo, "add", "-A")
        git("-C", repo, "commit", "-q", "-m", "begin")

    once("begun", begin)
    return repo


def told(top: Path, *, staged: bool = False) -> dict[str, str]:
    """Name to evidence."""
    found = checked_here(real_edges(top), "HEAD", (), staged=staged)
    return {row.name: row.evidence for one in found for row in one.stale}


def test_a_symbol_that_left_the_file_it_is_named_with_is_told_with_where_it_is(top: Path, git) -> None:
    """A line with two files may say anything of either, and a file that mentions it may pass it on."""
    (top / "app/git.py").write_text("WORDS = ['log', '-p']\n")
    (top / "app/load.py").write_text("def load_all():\n    return 1\n")
    (top / "app/store.py").write_text("from app.load import read_all\n\nSTEP = 1\n")
    git("-C", top, "add", "-A")
    git("-C", top, "commit", "-q", "-m", "move")
    assert told(top) == {"load_all": "`load_all` is no longer in `app/git.py`, but in `app/load.py`"}


def test_what_moved_below_another_folder_is_told_though_its_end_is_the_same(top: Path, git) -> None:
    (top / "src").mkdir()
    git("-C", top, "mv", "app", "src/app")
    git("-C", top, "commit", "-q", "-m", "move")
    found = told(top)
    assert set(found) == {"app/git.py", "app/store.py"}
    assert "became `src/app/git.py`" in found["app/git.py"]


def test_nothing_that_a_repository_names_is_run_and_no_setting_hides_a_document(top, git, tmp_path) -> None:
    """A program that watches the work tree would also eat the commits that git is asked about."""
    ran = tmp_path / "ran"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
    script.chmod(0o755)
    git("-C", top, "mv", "app/git.py", "app/load.py")
    (top / ".gitattributes").write_text("* diff=evil filter=evil\n")
    git("-C", top, "add", "-A")
    git("-C", top, "commit", "-q", "-m", "move")
    programs = ("core.fsmonitor", "diff.external", "diff.evil.command", "diff.evil.textconv")
    for name in (*programs, "filter.evil.clean", "core.pager", "gpg.program", "core.editor"):
        git("-C", top, "config", name, script)
    settings = {"color.ui": "always", "log.showSignature": "true", "log.showRoot": "false"}
    for name, value in settings.items():
        git("-C", top, "config", name, value)
    for staged in (False, True):
        assert "became `app/load.py`" in told(top, staged=staged)["app/git.py"]
    assert not ran.exists()


def test_a_clone_without_contents_says_not_that_there_is_no_document(top, git, gitmem, tmp_path) -> None:
    git("-C", top, "config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    git("clone", "-q", "--filter=blob:none", "--no-checkout", f"file://{top}", clone)
    ran = gitmem("docs", "check", ok=False, cwd=clone)
    assert ran.code == 3
    assert "not all at hand" in ran.err


@pytest.mark.long
@pytest.mark.parametrize("part", ["` ", "`a`", "`a --b ", '](a "', "``a", "<a ", "# a\n", "[", "= "])
def test_no_document_takes_long_to_read(part: str) -> None:
    """Each of these took a minute or more once; the bound is loose, for slow machines."""
    text = ("# MAGIC DOC: x\n\n" + part * MOST_BYTES)[:MOST_BYTES]
    before = time.process_time()
    assert parse("a.md", text.encode()) is not None
    assert time.process_time() - before < 20


@pytest.mark.parametrize(
    ("line", "does"),
    [
        ("    word=1,", False),
        ("    word = 1", True),
        ("word=1", True),
        ("    word: int = 1", True),
        ("    export word=1", True),
        ("    self.word = 1", True),
        ("word(" * 4_000, False),
    ],
)
def test_what_a_function_is_given_defines_nothing(line: str, does: bool) -> None:
    assert defines(line, "word") is does


def test_that_a_document_names_more_than_is_looked_at_is_said(top: Path, git, gitmem) -> None:
    names = "\n".join(f"- `app/part{number}.py`" for number in range(MOST + 1))
    (top / "DOC.md").write_text(f"{DOC}\n{names}\n")
    git("-C", top, "commit", "-q", "-am", "name all parts")
    answer = gitmem("docs", "check")
    assert f"of DOC.md only {MOST:,} names are looked at" in answer.out + answer.err
