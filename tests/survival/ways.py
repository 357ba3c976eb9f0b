"""The ways in which writers' memories come together in the survival matrix."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from writers import Cell, Files, base, disorder, hosted, is_inside_one, lost, side

from gitmem.app.git_drivers import merge_command
from gitmem.core.attributes import CLONE
from gitmem.core.names import FORMAT_FILE
from gitmem.core.trailers import Provenance, format_message
from gitmem.git.command import GitCommand
from gitmem.git.open import open_repository
from gitmem.git.refs import move_ref
from gitmem.git.repository import Repository, Signature
from gitmem.git.trees import read_files, write_tree
from gitmem.ledger.foreign_commits import tidy_ref
from gitmem.ledger.land import root_commit
from gitmem.ledger.sync import Options, sync
from gitmem.ledger.workspace import SHARED_REF, Surroundings, open_workspace, store_project_id
from gitmem.search.catalog import Catalog

ROOT = Path(__file__).parents[2]
START = 1_790_000_000
CODE = "refs/heads/trunk"
_MARK = re.compile(rb"^(?:<{7} .*|={7}|>{7} .*)$", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """What became of one cell.

    Attributes:
        lost: claims that are gone without having been taken out.
        conflicts: paths in which git left a conflict to a person.
        across: those of them that are not inside edits of one memory.
        wrong: what is out of order in the tree after gitmem's next write.
    """

    lost: frozenset[str]
    conflicts: tuple[str, ...] = ()
    across: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()


def add(repo: Repository, files: Mapping[str, bytes], parents: tuple[str, ...], who: str, time: int) -> str:
    """Stores a commit of one writer."""
    with repo.together():
        tree = write_tree(repo, None, files)
        author = Signature(who, f"{who}@example.com", START + time)
        message = format_message("Learn", Provenance("update", "agent"))
        return repo.add_commit(tree, parents, author, author, message)


class ByGit:
    """`git merge` in a work tree of the memory branch, then gitmem's next write.

    Attributes:
        driver: `gitmem` with the drivers that `init` sets, `union` with the branch's attributes alone,
            `none` without even these: the same files in plain git.
    """

    def __init__(self, folder: Path, driver: str) -> None:
        self.driver, self.folder = driver, folder
        self.environ = {**os.environ, "PYTHONPATH": str(ROOT)}
        folder.mkdir()
        self.git("init", "-q", ".")
        if driver == "gitmem":
            self.git("config", "merge.gitmem.driver", merge_command((sys.executable, "-m", "gitmem")))
            (folder / ".git/info").mkdir(exist_ok=True)
            (folder / ".git/info/attributes").write_text("".join(f"{line}\n" for line in CLONE))
        self.state = folder / ".git/gitmem"
        self.state.mkdir()
        self.repo = open_repository(folder / ".git", GitCommand(self.environ))
        self.root = root_commit(self.repo)

    def git(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            ["git", "-C", str(self.folder), *words], capture_output=True, text=True, env=self.environ
        )
        assert not check or not done.returncode, done.stderr
        return done

    def run(self, cell: Cell) -> Outcome:
        """Brings the writers of a cell together, one after the other into the first."""
        attributes = self.driver != "none"
        start = base() if cell.begun == "together" else {}
        parent = self.root
        if start:
            parent = add(self.repo, hosted(start, attributes), (parent,), "Ann", 0)
        sides = [side(cell, number) for number in range(len(cell.operations))]
        tips = [
            add(self.repo, hosted(files, attributes), (parent,), "Ann", number + 1)
            for number, files in enumerate(sides)
        ]
        self.git("checkout", "-qf", "--detach", tips[0])
        conflicts: list[str] = []
        for tip in tips[1:]:
            if self.git("merge", "-q", "--no-edit", tip, check=False).returncode:
                listed = self.git("ls-files", "-u", "-z").stdout.split("\0")
                conflicts += [line.partition("\t")[2] for line in listed if line]
                # The worst that a person can do: to commit what is there, marks and all.
                self.git("add", "-A")
                self.git("commit", "-qm", "Merge")
        merged = self.git("rev-parse", "HEAD").stdout.strip()
        found = tuple(dict.fromkeys(conflicts))
        across = tuple(path for path in found if not is_inside_one(start, sides, path))
        if self.driver == "none":
            # A person would see both sides between git's marks.
            files = {path: _MARK.sub(b"\n", data) for path, data in self._files(merged).items()}
            return Outcome(frozenset(lost(start, sides, files)), found, across)
        move_ref(self.repo, SHARED_REF, merged, self.repo.ref(SHARED_REF), "merge")
        # Cells share commits, and what was looked at in one is news to the next.
        shutil.rmtree(self.state / "tidied", ignore_errors=True)
        tidy_ref(self.repo, SHARED_REF, self.state)
        files = self._files(self.repo.ref(SHARED_REF) or "")
        return Outcome(frozenset(lost(start, sides, files)), found, across, tuple(disorder(files)))

    def _files(self, oid: str) -> Files:
        return _memory_files(self.repo, oid)


class BySync:
    """`gitmem sync` of clones with one bare remote."""

    def __init__(self, folder: Path, writers: int) -> None:
        self.folder, self.writers = folder, writers
        self.environ = dict(os.environ)
        self.template = folder / "template"
        self.template.mkdir(parents=True)
        self._git("init", "-q", "--bare", str(self.template / "team.git"))
        first = self.template / "0"
        self._git("init", "-q", str(first))
        self._git("-C", str(first), "commit", "-q", "--allow-empty", "-m", "code")
        self._git("-C", str(first), "push", "-q", str(self.template / "team.git"), f"HEAD:{CODE}")
        (first / ".git/gitmem").mkdir()
        settings = {
            "gitmem.share": "direct",
            "gitmem.projectId": "team",
            "remote.origin.url": "../team.git",
        }
        settings["remote.origin.fetch"] = "+refs/heads/*:refs/remotes/origin/*"
        for key, value in settings.items():
            self._git("-C", str(first), "config", key, value)
        for number in range(1, writers):
            shutil.copytree(first, self.template / str(number))
        self.count = 0

    def run(self, cell: Cell) -> Outcome:
        """Lets each writer sync once, then all but the last once more."""
        self.count += 1
        place = self.folder / str(self.count)
        shutil.copytree(self.template, place)
        start = base() if cell.begun == "together" else {}
        sides = [side(cell, number) for number in range(len(cell.operations))]
        clones = [self._clone(place, number) for number in range(self.writers)]
        for number, workspace in enumerate(clones):
            repo = workspace.code
            parent = root_commit(repo)
            if start:
                parent = add(repo, hosted(start), (parent,), "Ann", 0)
            tip = add(repo, hosted(sides[number]), (parent,), "Ann", number + 1)
            move_ref(repo, SHARED_REF, tip, None, "learn")
        options = Options(lambda _: True, lambda _: None, 0.0)
        for workspace in (*clones, *clones[:-1]):
            sync(workspace, options)
        tips = {workspace.code.ref(SHARED_REF) for workspace in clones}
        files = _memory_files(clones[0].code, clones[0].code.ref(SHARED_REF) or "")
        wrong = disorder(files) + (["clones differ"] if len(tips) > 1 else [])
        for workspace in clones:
            workspace.code.close()
        shutil.rmtree(place)
        return Outcome(frozenset(lost(start, sides, files)), wrong=tuple(wrong))

    def _clone(self, place: Path, number: int):
        home = place / f"home-{number}"
        (home / ".claude").mkdir(parents=True)
        around = Surroundings(
            GitCommand(self.environ), home, home / ".local", home / ".claude", Catalog.open
        )
        return store_project_id(open_workspace(around, place / str(number)))

    def _git(self, *words: str) -> None:
        subprocess.run(["git", *words], check=True, capture_output=True, env=self.environ)


def _memory_files(repo: Repository, oid: str) -> Files:
    files = read_files(repo, repo.commit(oid).tree)
    return {path: data for path, data in files.items() if path not in (".gitattributes", FORMAT_FILE)}
