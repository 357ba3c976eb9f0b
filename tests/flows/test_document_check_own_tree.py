"""A living document about this repository's own tree: through a hundred commits no false alarm."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gitmem.engines.engine import Stale
from gitmem.flows.document_check import check, documents
from gitmem.flows.document_text import Doc
from gitmem.git.command import GitCommand
from gitmem.search.code_files import CodeFiles

ROOT = Path(__file__).parents[2]
NAME = "ARCHITECTURE.md"
COMMITS = 100

NEVER_THERE = """```console
$ git mem check
gitmem/ledger/never.py:3: path: was never there
```

No file is `path/to/file.py`, `foo.py` or `build/out.py`; see
https://example.org/gitmem/none.py, `os.fork()`.
"""


class Tree:
    """This repository's files, in one of the test's own."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.command = GitCommand(dict(os.environ))

    def git(self, *words: object, input: str | None = None, **env: str) -> str:
        done = subprocess.run(
            ["git", "-C", self.top, *map(str, words)],
            capture_output=True,
            text=True,
            check=True,
            input=input,
            env={**os.environ, **env},
        )
        return done.stdout.strip()

    def doc(self, rev: str = "HEAD") -> Doc:
        with closing(CodeFiles(self.command, self.top)) as files:
            (doc,) = documents(files, rev)
            return doc

    def stale(self, rev: str = "HEAD") -> tuple[Stale, ...]:
        with closing(CodeFiles(self.command, self.top)) as files:
            (found,) = check(files, rev, documents(files, rev))
            assert found.note == ""
            return found.stale


def _there(tree: Tree, commit: str, paths: set[str], words: set[str]) -> set[str]:
    """What a commit has of some names, by git's plain commands."""
    files = set(tree.git("ls-tree", "-r", "-t", "--name-only", commit).split("\n"))
    listed = [f"-e{word}" for word in sorted(words)]
    grep = ["git", "-C", str(tree.top), "grep", "-I", "-h", "-o", "-w", "-F", *listed, commit]
    hits = subprocess.run([*grep, "--", ":!*.md", ":!*.txt"], capture_output=True, text=True).stdout
    return (paths & files) | (words & set(hits.split("\n")))


def _history(tree: Tree) -> Iterator[str]:
    """The last commits of this repository, each with a document of what the first of them had."""
    listed = tree.git("rev-list", "--first-parent", "--reverse", f"-{COMMITS + 1}", "HEAD").split("\n")
    text = _all_of(tree, listed[0])
    blob = tree.git("hash-object", "-w", "--stdin", input=text)
    index = str(tree.top / ".git" / "other-index")
    parent: list[str] = []
    for commit in listed:
        tree.git("read-tree", commit, GIT_INDEX_FILE=index)
        tree.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{NAME}", GIT_INDEX_FILE=index)
        made = tree.git("write-tree", GIT_INDEX_FILE=index)
        parent = ["-p", tree.git("commit-tree", made, *parent, "-m", f"as {commit}")]
        yield parent[1]


def _all_of(tree: Tree, commit: str) -> str:
    """A document that names every folder, the first modules of each, and their classes."""
    lines = ["# MAGIC DOC: All of it", "", NEVER_THERE, ""]
    files = [file for file in tree.git("ls-tree", "-r", "--name-only", commit).split("\n") if file]
    folders: dict[str, list[str]] = {}
    for file in files:
        if file.startswith("gitmem/") and file.endswith(".py") and "/" in file:
            folders.setdefault(file.rpartition("/")[0], []).append(file)
    for folder, modules in folders.items():
        lines.append(f"- `{folder}/`:")
        for module in modules[:4]:
            code = tree.git("show", f"{commit}:{module}")
            names = re.findall(r"(?m)^(?:class|def) ([A-Za-z]\w{5,}[a-z0-9][A-Z_]\w*)", code)[:2]
            said = ", ".join(f"`{name}`" for name in names)
            lines.append(f"  `{module}` has {said or 'no class'}.")
    return "\n".join(lines) + "\n"


@pytest.mark.long
def test_no_commit_of_this_history_raises_a_false_alarm(tmp_path: Path, git) -> None:
    """What is told at each of the last commits is just what it lacks of what the first of them had."""
    known = subprocess.run(
        ["git", "-C", ROOT, "rev-list", "--first-parent", "--count", "HEAD"], capture_output=True, text=True
    ).stdout.strip()
    if not known.isdigit() or int(known) <= COMMITS:
        pytest.skip("this checkout has not that much history")
    top = tmp_path / "own"
    git("clone", "-q", "--no-hardlinks", ROOT, top)
    tree = Tree(top)
    quiet = 0
    had: set[str] = set()
    before: set[str] = set()
    for commit in _history(tree):
        doc = tree.doc(commit)
        paths = {one.target for one in doc.statements if one.kind in ("file", "folder")}
        words = {one.name for one in doc.statements if one.kind == "symbol"}
        have = _there(tree, commit, paths, words)
        had = had or have
        told = {one.name.rstrip("/") for one in tree.stale(commit)}
        assert told == had - have, tree.git("log", "-1", "--format=%s", commit)
        quiet += before == told
        before = told
    print(f"{len(paths)} paths, {len(words)} symbols; {quiet} of {COMMITS} commits do not concern them")
