"""Ground for requests: a bare remote as the host, machines with gitmem, and a reviewer with plain git."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from machines import MEMORY, Machine, begin

PROJECT = "gitmem/project"
FACTS = {
    "ports": "Ports start at 4000.\n\nThe debugger takes 4999.",
    "hosts": "Staging runs on two hosts.",
    "tea": "Meetings start at ten.",
}


class Reviewer:
    """A person with a clone and no gitmem: what a host's web pages do, done by plain git."""

    def __init__(self, folder: Path, host: Path) -> None:
        self.folder = folder
        if not folder.is_dir():
            subprocess.run(["git", "clone", "-q", host.as_uri(), folder], check=True)
            self.git("config", "user.name", "Rae")
            self.git("config", "user.email", "rae@example.com")

    def git(self, *words: object, check: bool = True) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.folder), *map(str, words)], capture_output=True, text=True, check=False
        )
        assert not (check and done.returncode), done.stderr + done.stdout
        return done.stdout.strip()

    def at(self, *branches: str) -> None:
        """Checks branches out, one after another, as they are at the host."""
        self.git("fetch", "-q", "--prune", "origin")
        for branch in branches:
            self.git("checkout", "-q", "-B", branch, f"origin/{branch}")

    def edit(self, branch: str, path: str, change: Callable[[str], str | None]) -> None:
        """Edits one file on a branch, or makes it, as the host's editor does; None deletes it."""
        self.at(branch)
        file = self.folder / path
        text = change(file.read_bytes().decode() if file.exists() else "")
        if text is None:
            self.git("rm", "-q", path)
        else:
            file.write_bytes(text.encode())
            self.git("add", path)
        self.git("commit", "-q", "-m", f"Update {Path(path).name}")
        self.git("push", "-q", "origin", branch)

    def land(
        self, branch: str, how: str, *, message: str = "", delete: bool = True, author: str = ""
    ) -> None:
        """Merges a branch into the memory branch as the host's button would, and deletes it.

        Args:
            author: of a squash, where the host names who opened the request.
        """
        self.at(branch, PROJECT)
        if how == "merge":
            self.git("merge", "-q", "--no-ff", "-m", message or "Merge pull request", branch)
        elif how == "squash":
            self.git("merge", "-q", "--squash", branch)
            by = [f"--author={author}"] if author else []
            self.git("commit", "-q", *by, *(["-m", message] if message else ["--no-edit"]))
        else:
            # The host commits anew, also where nothing else would make it.
            self.git("-c", "user.name=Host", "rebase", "-q", "--force-rebase", PROJECT, branch)
            self.git("checkout", "-q", PROJECT)
            self.git("merge", "-q", "--ff-only", branch)
        self.git("push", "-q", "origin", PROJECT, *([f":{branch}"] if delete else []))

    def rebases(self, branch: str) -> bool:
        """Whether a branch could be rebased without a conflict."""
        self.at(PROJECT, branch)
        try:
            self.git("rebase", "-q", PROJECT)
        except AssertionError:
            self.git("rebase", "--abort")
            return False
        return True

    def text(self, branch: str, path: str) -> str:
        self.git("fetch", "-q", "--prune", "origin")
        return self.git("show", f"origin/{branch}:{path}")

    def branches(self) -> set[str]:
        rows = self.git("ls-remote", "--heads", "origin", "gitmem/*").splitlines()
        return {row.partition("refs/heads/")[2] for row in rows}

    def host_files(self, branch: str = PROJECT) -> dict[str, str]:
        self.git("fetch", "-q", "--prune", "origin")
        tar = subprocess.run(
            ["git", "-C", self.folder, "archive", f"origin/{branch}"], capture_output=True, check=True
        ).stdout
        with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
            files = [one for one in archive if one.name.endswith(".md")]
            opened = {one.name: archive.extractfile(one) for one in files}
            return {name: file.read().decode().strip() for name, file in opened.items() if file}


class Team:
    """Everybody, and the host between them; for each test anew at one place, so that it can be put back."""

    def __init__(
        self, tmp: Path, repo: Path, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]
    ) -> None:
        self.tmp, self.patch, self.capture = tmp, patch, capture
        self.repo, self.host = repo, tmp / "team.git"

    @property
    def reviewer(self) -> Reviewer:
        self._stand()
        return Reviewer(self.tmp / "reviewer", self.host)

    def _stand(self) -> None:
        """Makes the host and the reviewer's clone, where no state that was put back has brought them."""
        if not self.host.is_dir():
            self.begin("nobody", self._host_and_reviewer)

    def _host_and_reviewer(self) -> tuple[()]:
        subprocess.run(["git", "clone", "-q", "--bare", self.repo, self.host], check=True)
        Reviewer(self.tmp / "reviewer", self.host)
        return ()

    def begin(self, what: str, make: Callable[[], Iterable[Machine]]) -> list[Machine]:
        """Makes what a test begins with, or puts it back as an earlier test has made it."""
        return begin(self.tmp, what, make, self.patch, self.capture)

    def machine(self, name: str, mode: str = "review") -> Machine:
        """A person's machine on which project memory is shared."""
        self._stand()
        made = Machine(self.tmp / name, self.patch, self.capture)
        subprocess.run(["git", "clone", "-q", self.host.as_uri(), made.code], check=True)
        made.git("config", "user.name", name.capitalize())
        made.git("config", "user.email", f"{name}@example.com")
        made.run("init", "-y")
        made.run("share", "--mode", mode, "-y")
        return made

    def found(self, name: str = "ann", mode: str = "review") -> Machine:
        """The first machine, with one memory on the memory branch already; a test's first step."""
        (made,) = self.begin(f"{name}-{mode}", lambda: [self._found(name, mode)])
        return made

    def asking(self, *names: str) -> Machine:
        """Ann, who asks for what she learned; a test's first step.

        Args:
            names: of `FACTS`; all of them unless given.
        """

        def make() -> Iterable[Machine]:
            made = self.found()
            learn_all(made, names or tuple(FACTS))
            made.run("sync", "-y")
            return [made]

        return self.begin("-".join(("asking", *names)), make)[0]

    def _found(self, name: str, mode: str) -> Machine:
        made = self.machine(name, "direct")
        made.learn("first", "The first fact.\n\nAnother first fact.", scope="project")
        made.run("sync", "-y")
        if mode != "direct":
            made.run("share", "--mode", mode, "-y")
        return made


def learn_all(machine: Machine, names: tuple[str, ...] = tuple(FACTS)) -> None:
    for name in names:
        machine.learn(name, FACTS[name], scope="project")


def body(text: str) -> str:
    """A memory's body."""
    return text.split("---\n", 2)[2].strip()


def memory(name: str, text: str, type: str = "project") -> str:
    return MEMORY.format(name, text).replace("type: project", f"type: {type}")


@pytest.fixture
def team(repo, tmp_path_factory, monkeypatch, capsys) -> Team:
    assert os.environ["HOME"]
    place = tmp_path_factory.getbasetemp() / "team"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    return Team(place, repo, monkeypatch, capsys)
