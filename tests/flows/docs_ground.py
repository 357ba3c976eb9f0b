"""Ground for living documents: code, a document about it, and an engine that is scripted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from partial_engine import PartialEngine
from workspaces import begun

from gitmem.app.context import real_edges
from gitmem.engines.engine import Document, DocumentInput
from gitmem.flows.context import workspace_at
from gitmem.flows.documents import Update, keep_documents, update
from gitmem.ledger.job_record import RunTally
from gitmem.ledger.workspace import DOCS_REF, Workspace

LAYERS = "docs/layers.md"
TEXT = """\
# MAGIC DOC: Layers

_Terse._

- `src/parser.py` reads words, `src/printer.py` writes them.
- Entry point: [main](../src/main.py).
"""
CODE = {"src/parser.py": "read", "src/printer.py": "write", "src/main.py": "main", "lib/odd.py": "odd"}
Git = Callable[..., str]


class Writer(PartialEngine):
    """An engine that puts what became of a name in its place, and counts how often it is asked."""

    reads_history = False

    def __init__(self, name: str = "offline", write: Callable[[DocumentInput], str] | None = None) -> None:
        self.name, self.asked = name, 0
        self.given: list[DocumentInput] = []
        self._write = write or renamed

    def document(self, given: DocumentInput) -> Document:
        self.asked += 1
        self.given.append(given)
        return Document(self._write(given), ("the names are those of today",))


def renamed(given: DocumentInput) -> str:
    """The text with the new names."""
    text = given.text
    for one in given.stale:
        text = text.replace(one.name, one.became or one.name)
    return text


class Ground:
    """One clone."""

    def __init__(self, repo: Path, git: Git) -> None:
        self.repo, self._git = repo, git
        self.tally = RunTally()

    def git(self, *words: object, check: bool = True) -> str:
        return self._git("-C", self.repo, *words, check=check)

    def write(self, path: str, text: str | bytes) -> None:
        file = self.repo / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())

    def commit(self, message: str = "work", **files: str) -> None:
        for path, text in files.items():
            self.write(path, text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "--no-verify", "-m", message)

    def move(self, old: str, new: str) -> None:
        (self.repo / new).parent.mkdir(parents=True, exist_ok=True)
        self.git("mv", old, new)
        self.commit(f"Move {old}")

    @property
    def workspace(self) -> Workspace:
        return workspace_at(real_edges(self.repo))

    @property
    def tip(self) -> str:
        return self.git("rev-parse", "--verify", "--quiet", DOCS_REF, check=False)

    def text(self, path: str = LAYERS, at: str = DOCS_REF) -> str:
        return self.git("show", f"{at}:{path}")

    def work(self) -> list[str]:
        """What the worker does after a commit; returns what `git mem jobs` tells of it."""
        self.tally = RunTally()
        keep_documents(self.workspace, real_edges(self.repo), self.tally)
        return [f"{what}: {why}" for what, why in self.tally.skipped] + self.tally.log

    def update(self, engine: Writer, *paths: str, all: bool = False, dry_run: bool = False) -> Update:
        edges = real_edges(self.repo)
        return update(self.workspace, edges, lambda: engine, paths or None, all=all, dry_run=dry_run)

    def untouched(self) -> tuple[str, str, bytes]:
        """What gitmem may not change: HEAD, the work tree as git sees it, and the index byte for byte."""
        status = self.git("status", "--porcelain=v2", "--untracked-files=all")
        git_dir = Path(self.git("rev-parse", "--absolute-git-dir"))
        return (git_dir / "HEAD").read_text(), status, (git_dir / "index").read_bytes()


def ground(repo: Path, git: Git) -> Ground:
    """A clone with gitmem, code, and a document about it that was looked at."""
    made = Ground(repo, git)
    begun(real_edges(repo))
    for path, word in CODE.items():
        made.write(path, f"def {word}():\n    return '{word}'\n" * 4)
    made.write(LAYERS, TEXT)
    made.commit("Begin")
    assert made.work() == []
    return made
