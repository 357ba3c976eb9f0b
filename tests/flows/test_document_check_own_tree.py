"""A living document about this repository's own tree, through renames and deletions, offline."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gitmem.engines.engine import DocumentInput, Stale
from gitmem.engines.offline.document import document
from gitmem.flows.document_check import check, documents
from gitmem.flows.document_text import Doc
from gitmem.git.command import GitCommand
from gitmem.search.code_files import CodeFiles

ROOT = Path(__file__).parents[2]
PARTS = ("gitmem", "hooks", "pyproject.toml", "README.md", "CHANGELOG.md")
NAME = "ARCHITECTURE.md"
COMMITS = 100

LAYERS = """# MAGIC DOC: The layers
*One line a layer, no more.*

From the bottom up; what is above may import what is below.

- `gitmem/core/` is what a memory is: claims in `gitmem/core/claim.py`, names in `core/references.py`,
  merged by `merge_trees`. No name is shorter than `SHORTEST_WORD`.
- `gitmem/rules/` says what may be stored: `rules/secrets.py` and `refused_claims()`.
- `gitmem/ledger/` keeps it: `git/command.py` is the one runner of git, as `GitCommand`.
- The flows: `gitmem/flows/` (of notes: [when due](gitmem/flows/notes.py)); what they ask:
  `gitmem/search/` with `gitmem.search.query`.
- `gitmem/cli/` has a verb a file: `git mem blame NAME`, or `git mem check --github` in
  CI (`hooks/action/`).

Hooks are `hooks/git-post.sh` and `hooks/git-pre-push.sh`. More in the [README](README.md#install).

```console
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

    def everywhere(self, old: str, new: str) -> None:
        """Puts one text for another in all code."""
        for path in self.git("grep", "-l", "-F", "-e", old, "--", ":!*.md").split("\n"):
            file = self.top / path
            file.write_text(file.read_text().replace(old, new))

    def one(self, path: str, old: str, new: str) -> None:
        text = (self.top / path).read_text()
        assert old in text
        (self.top / path).write_text(text.replace(old, new))

    def commit(self, message: str) -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)
        return self.git("rev-parse", "HEAD")

    def doc(self, rev: str = "HEAD") -> Doc:
        with closing(CodeFiles(self.command, self.top)) as files:
            (doc,) = documents(files, rev)
            return doc

    def stale(self, rev: str = "HEAD") -> tuple[Stale, ...]:
        with closing(CodeFiles(self.command, self.top)) as files:
            (found,) = check(files, rev, documents(files, rev))
            assert found.note == ""
            return found.stale

    def written(self) -> str:
        """The document as the offline engine writes it."""
        doc = self.doc()
        return document(
            DocumentInput(doc.path, doc.text, doc.title, doc.instructions, "", self.stale())
        ).text


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A copy of the files as they are here: a checkout in CI may have no history."""
    top = tmp_path / "own"
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, top / part, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
        else:
            top.mkdir(exist_ok=True)
            shutil.copyfile(ROOT / part, top / part)
    made = Tree(top)
    made.git("init", "-q")
    (top / NAME).write_text(LAYERS)
    made.commit("begin")
    return made


Change = Callable[[Tree], object]


def _moved(old: str, new: str, *texts: tuple[str, str]) -> Change:
    def change(tree: Tree) -> None:
        tree.git("mv", old, new)
        for one, other in texts:
            tree.everywhere(one, other)

    return change


CHANGES: tuple[tuple[str, Change, dict[str, str]], ...] = (
    (
        "rename a file",
        _moved("gitmem/core/references.py", "gitmem/core/verity.py", ("core.references", "core.verity")),
        {"core/references.py": "core/verity.py"},
    ),
    (
        "rename a folder",
        _moved("gitmem/search", "gitmem/seeking", ("gitmem.search.", "gitmem.seeking.")),
        {"gitmem/search/": "gitmem/seeking/", "gitmem.search.query": "gitmem.seeking.query"},
    ),
    (
        "rename a class",
        lambda tree: tree.everywhere("GitCommand", "GitRunner"),
        {"GitCommand": "GitRunner"},
    ),
    (
        "delete a file",
        lambda tree: tree.git("rm", "-q", "gitmem/rules/secrets.py"),
        {"rules/secrets.py": ""},
    ),
    (
        "rename a function",
        lambda tree: tree.everywhere("refused_claims", "claims_refused"),
        {"refused_claims": "claims_refused"},
    ),
    ("rename a flag", lambda tree: tree.everywhere("--github", "--annotate"), {"--github": "--annotate"}),
    (
        "move a file to another layer",
        _moved("gitmem/flows/notes.py", "gitmem/ledger/when_due.py", ("flows.notes", "ledger.when_due")),
        {"gitmem/flows/notes.py": "gitmem/ledger/when_due.py"},
    ),
    (
        "delete a constant",
        lambda tree: (
            tree.one("gitmem/core/verity.py", "\nSHORTEST_WORD = 3\n", "\n"),
            tree.everywhere("SHORTEST_WORD", "3"),
        ),
        {"SHORTEST_WORD": ""},
    ),
    ("delete a folder", lambda tree: tree.git("rm", "-q", "-r", "hooks/action"), {"hooks/action/": ""}),
    (
        "rename the program",
        lambda tree: tree.one("pyproject.toml", "\ngit-mem = ", "\ngit-memo = "),
        {"git mem blame": "git memo blame", "git mem check": "git memo check"},
    ),
    (
        "rename a hook",
        _moved("hooks/git-post.sh", "hooks/git-after.sh", ("git-post.sh", "git-after.sh")),
        {"hooks/git-post.sh": "hooks/git-after.sh"},
    ),
)


@pytest.mark.long
def test_it_is_kept_true_through_renames_and_deletions(tree: Tree) -> None:
    assert tree.stale() == ()
    for message, change, expected in CHANGES:
        change(tree)
        commit = tree.commit(message)
        found = tree.stale()
        assert {one.name: one.became for one in found} == expected, message
        assert all(commit[:9] in one.evidence for one in found if not one.became), message
        text = tree.written()
        for old, new in expected.items():
            if new:
                assert new in text, message
            else:  # that is for a person, who takes the name out
                text = re.sub(rf"`{re.escape(old)}`", "what was there before", text)
        (tree.top / NAME).write_text(text)
        tree.commit(f"Document: {message}")
        assert tree.stale() == (), message


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
    lines = ["# MAGIC DOC: All of it", "", *LAYERS.split("\n\n")[-2:], ""]
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
