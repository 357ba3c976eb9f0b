"""Talking to a remote about memory refs alone, with the person's own git and credentials."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gitmem.errors import RepositoryError
from gitmem.store.git import GitCommand, Result, config_get, failure
from gitmem.store.git_errors import explain

BRANCHES = "refs/heads/gitmem/"
MEMORY_BRANCH = BRANCHES + "project"
INBOX = BRANCHES + "inbox/"

# What a remote answers where another writer was quicker; all else that it says is a refusal for good.
_RACE = re.compile(
    r"fetch first|non-fast-forward|stale info|cannot lock ref|failed to update ref|failed to lock"
    r"|incorrect old value|reference already exists|remote ref updated since checkout"
    r"|is at \w+ but expected",
    re.IGNORECASE,
)
_VERDICT = re.compile(r"^(?P<flag>[ +\-*!=])\t[^\t]*:(?P<ref>[^\t]+)\t(?P<words>.*)$", re.MULTILINE)

Outcome = Literal["pushed", "race", "refused"]


@dataclass(frozen=True)
class Pushed:
    """What became of a push.

    Attributes:
        outcome: `race` where another writer was first, `refused` where trying again would not help.
        words: the reason, in the remote's or the hook's words; hostile text.
    """

    outcome: Outcome
    words: str = ""


@dataclass(frozen=True)
class Remote:
    """One configured remote of a code repository.

    Attributes:
        cwd: a work tree, in which the person's own hooks expect to run.
    """

    git: GitCommand
    cwd: Path
    name: str

    def tracking(self, branch: str) -> str:
        """The remote-tracking ref of a memory branch given by its full name at the remote."""
        return f"refs/remotes/{self.name}/{branch.removeprefix('refs/heads/')}"

    def fetch(self) -> None:
        """Fetches all memory branches, also in clones that fetch one branch only.

        Raises:
            RepositoryError: the remote cannot be reached or read.
        """
        spec = f"+{BRANCHES}*:{self.tracking(BRANCHES)}*"
        words = [
            "fetch",
            "--quiet",
            "--no-tags",
            "--prune",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
        ]
        done = self.git.run([*words, self.name, spec], cwd=self.cwd, check=False)
        if done.returncode:
            raise self._unreachable(done)

    def has_code(self) -> bool:
        """Whether the remote has any branch that is no memory.

        Raises:
            RepositoryError: it cannot be reached.
        """
        done = self.git.run(["ls-remote", "--heads", self.name], cwd=self.cwd, check=False)
        if done.returncode:
            raise self._unreachable(done)
        names = (line.partition("\t")[2] for line in done.text.splitlines())
        return any(name and not name.startswith(BRANCHES) for name in names)

    def push(self, oid: str | None, branch: str, expected: str | None = None) -> Pushed:
        """Pushes one commit to one memory branch, never by force; no tag or other ref goes with it.

        Args:
            oid: the commit; None deletes the branch, which takes `expected`.
            branch: full ref name at the remote.
            expected: where the branch has to be for the push to count.

        Raises:
            RepositoryError: the remote cannot be reached.
        """
        if not branch.startswith(BRANCHES) or (oid is None and expected is None):
            raise ValueError(f"not a push of memory: {oid} to {branch}")
        lease = [f"--force-with-lease={branch}:{expected}"] if oid is None else []
        words = [
            "-c",
            "push.followTags=false",
            "-c",
            f"remote.{self.name}.mirror=false",
            "push",
            "--porcelain",
        ]
        words += ["--recurse-submodules=no", *lease, self.name, f"{oid or ''}:{branch}"]
        done = self.git.run(words, cwd=self.cwd, check=False)
        if done.returncode == 0:
            return Pushed("pushed")
        for found in _VERDICT.finditer(done.text):
            if found["flag"] == "!" and found["ref"] == branch:
                race = _RACE.search(found["words"]) is not None
                return Pushed("race" if race else "refused", _reason(found["words"], done.stderr))
        if "failed to push some refs" in done.stderr:
            return Pushed("refused", _reason("a pre-push hook said no", done.stderr))
        raise self._unreachable(done)

    def default_branch(self) -> str | None:
        """The remote's default branch as last fetched: full name of its tracking ref, or None."""
        head = f"refs/remotes/{self.name}/HEAD"
        done = self.git.run(["symbolic-ref", "--quiet", head], cwd=self.cwd, check=False)
        names = [done.text] if done.returncode == 0 else []
        names += [f"refs/remotes/{self.name}/{name}" for name in ("main", "master")]
        for name in names:
            known = self.git.run(["rev-parse", "--verify", "--quiet", name], cwd=self.cwd, check=False)
            if known.returncode == 0:
                return name
        return None

    def new_blobs(self, oid: str) -> Iterator[tuple[str, str]]:
        """Objects that a push of this commit would send for the first time: (object name, path)."""
        known = f"--glob={self.tracking(BRANCHES)}*"
        done = self.git.run(["rev-list", "--objects", oid, "--not", known, "--"], cwd=self.cwd)
        for line in done.text.splitlines():
            name, _, path = line.partition(" ")
            if path:
                yield name, path

    def _unreachable(self, done: Result) -> RepositoryError:
        message = failure(done, self.cwd).message
        return RepositoryError(
            f"{self.name} cannot be used: {message}", "Nothing was sent. See whether git fetch works."
        )


def find_remote(git: GitCommand, cwd: Path, name: str = "") -> Remote:
    """Finds the remote that memory is shared with: named, else `gitmem.remote`, `origin` or the only one.

    Raises:
        RepositoryError: there is none, or none with that name.
    """
    known = git.run(["remote"], cwd=cwd).text.split()
    wanted = name or config_get(git, cwd, "gitmem.remote", scope="local") or ""
    if wanted:
        if wanted not in known:
            raise RepositoryError(
                f"There is no remote {wanted!r} here", f"Add it: git remote add {wanted} URL"
            )
        return Remote(git, cwd, wanted)
    if "origin" in known:
        return Remote(git, cwd, "origin")
    if len(known) == 1:
        return Remote(git, cwd, known[0])
    if known:
        raise RepositoryError(f"Which remote? There are {', '.join(known)}", "Name one.")
    raise RepositoryError("This repository has no remote", "Add one: git remote add origin URL")


def _reason(words: str, stderr: str) -> str:
    """The remote's own explanation where it gave one, and the summary in brackets."""
    bracket = re.search(r"\(([^()]*)\)\s*$", words)
    said = [
        line.removeprefix("remote:").strip() for line in stderr.splitlines() if line.startswith("remote:")
    ]
    hook = (
        []
        if said
        else [
            line.strip() for line in stderr.splitlines() if not line.startswith(("error:", "hint:", "To "))
        ]
    )
    shown = [explain(line)[0] for line in [*said, *hook] if line and not line.startswith("error: failed")]
    return "; ".join(dict.fromkeys([bracket[1] if bracket else words, *shown[:3]]))
