"""Talking to a remote about memory refs alone, with the person's own git and credentials."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

from gitmem.core.errors import RepositoryError
from gitmem.store.address import without_credentials
from gitmem.store.git import GitCommand, Result, config_get, config_get_all, failure, layout
from gitmem.store.git_errors import explain
from gitmem.store.ref_locks import moving
from gitmem.store.remote_errors import explain_remote, is_protection
from gitmem.store.repository import RefMoved, Repository
from gitmem.store.shallow import cut_short, deepening
from gitmem.store.workspace import DOCS_REF
from gitmem.values import dataclass

BRANCHES = "refs/heads/gitmem/"
MEMORY_BRANCH = BRANCHES + "project"
INBOX = BRANCHES + "inbox/"
DREAMS = BRANCHES + "dream/"

SEPARATE = "gitmem"
"""Name of the remote that is made for a memory repository apart from the code."""

ONLY_MEMORY = f"+{BRANCHES}*:refs/remotes/{SEPARATE}/gitmem/*"
"""What that remote fetches; a remote that fetches nothing else holds memory alone, and may be empty."""

# What a remote answers where another writer was quicker; all else that it says is a refusal for good.
_RACE = re.compile(
    r"fetch first|non-fast-forward|stale info|cannot lock ref|failed to update ref|failed to lock"
    r"|incorrect old value|reference already exists|remote ref updated since checkout"
    r"|is at \w+ but expected",
    re.IGNORECASE,
)
# A branch `gitmem` there leaves no room for `gitmem/project`; the verdict alone looks like a race.
IN_THE_WAY = "exists; cannot create"
_VERDICT = re.compile(r"^(?P<flag>[ +\-*!=])\t[^\t]*:(?P<ref>[^\t]+)\t(?P<words>.*)$", re.MULTILINE)

Outcome = Literal["pushed", "race", "refused"]


@dataclass(frozen=True)
class Pushed:
    """What became of a push.

    Attributes:
        outcome: `race` where another writer was first, `refused` where trying again would not help.
        words: the reason, in the remote's or the hook's words; hostile text.
        protected: the remote refused, by somebody's decision about that branch.
    """

    outcome: Outcome
    words: str = ""
    protected: bool = False


@dataclass(frozen=True)
class Move:
    """One ref of a push.

    Attributes:
        branch: full ref name at the remote.
        oid: where to; None deletes the branch, which takes `expected`.
        expected: where the branch has to be for it to count; with it a branch may be moved to what does not
            hold all that it held, as over a purge, or be deleted.
    """

    branch: str
    oid: str | None
    expected: str | None = None


@dataclass(frozen=True)
class Remote:
    """A remote, seen through the refs that hold memory.

    Attributes:
        cwd: a work tree, in which the person's own hooks expect to run, or the repository itself.
        name: what its remote-tracking refs are filed under.
        address: what git is told; the name where empty.
        families: beginnings, with a slash at the end, of the refs there that may hold memory.
        git_dir: the repository, where `cwd` is no work tree of it.
    """

    git: GitCommand
    cwd: Path
    name: str
    address: str = ""
    families: tuple[str, ...] = (BRANCHES,)
    git_dir: Path | None = None

    def tracking(self, branch: str) -> str:
        """The remote-tracking ref of a ref given by its full name at the remote."""
        return f"refs/remotes/{self.name}/{branch.removeprefix('refs/').removeprefix('heads/')}"

    def listed(self, *patterns: str, timeout: float | None = None) -> dict[str, str]:
        """Asks the remote for its refs: full name to object name; nothing is fetched.

        Args:
            patterns: what to ask for, as `git ls-remote` has it; all without any.
            timeout: seconds after which it counts as out of reach.

        Raises:
            RepositoryError: it cannot be reached.
        """
        done = self._run(["ls-remote", "--refs", "--", self._address, *patterns], timeout)
        if done.returncode:
            raise self._unreachable(done)
        rows = (line.partition("\t") for line in done.text.splitlines())
        return {name: oid for oid, _, name in rows if name}

    def fetch(self) -> None:
        """Fetches all memory branches, also in clones that fetch one branch only.

        Raises:
            RepositoryError: the remote cannot be reached or read.
        """
        specs = [f"+{family}*:{self.tracking(family)}*" for family in self.families]
        if BRANCHES in self.families:
            # Code, and perhaps all of its history where a clone has a part.
            specs.append(f"^{DOCS_REF}")
        words = [
            "fetch",
            "--quiet",
            "--no-tags",
            "--prune",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            # A clone that leaves blobs out (`--filter`) still needs memory where no network is.
            "--no-filter",
        ]
        done = self._move([*words, self._address, *specs])
        common = layout(self.git, self.cwd, git_dir=self.git_dir).common_dir
        if done.returncode == 0 and any(
            cut_short(self.git, common, self.tracking(one), without=self.tracking(DOCS_REF))
            for one in self.families
        ):
            done = self._move([*words, *deepening(), self._address, *specs])
        if done.returncode:
            raise self._unreachable(done)

    def fetched(self, repo: Repository) -> dict[str, str]:
        """What the remote had when last fetched from or pushed to: full name there to object name."""
        # The longer one first: where one family's tracking refs lie among those of another.
        families = sorted(self.families, key=lambda family: -len(self.tracking(family)))
        found = {}
        for ref, oid in repo.refs(f"refs/remotes/{self.name}/").items():
            for family in families:
                if ref.startswith(self.tracking(family)):
                    found[family + ref.removeprefix(self.tracking(family))] = oid
                    break
        return found

    def note(self, repo: Repository, branch: str, oid: str | None) -> None:
        """Writes down what the remote has; git does so itself only where it fetches that branch."""
        tracking = self.tracking(branch)
        known = repo.ref(tracking)
        if known != oid:
            with suppress(RefMoved):
                repo.move_ref(tracking, oid, known, "gitmem sync")

    def holds_memory_alone(self) -> bool:
        """Whether the person named it as a repository for memory (`share --remote URL`)."""
        found = config_get_all(
            self.git, self.cwd, f"remote.{self.name}.fetch", scope="local", git_dir=self.git_dir
        )
        return bool(found) and all(one.lstrip("+").startswith(BRANCHES) for one in found)

    def has_code(self) -> bool:
        """Whether the remote has any branch that is no memory.

        Raises:
            RepositoryError: it cannot be reached.
        """
        return any(not name.startswith(BRANCHES) for name in self.listed("refs/heads/*"))

    def push(self, oid: str | None, branch: str, expected: str | None = None) -> Pushed:
        """Pushes one commit to one memory branch; arguments as for `Move`, the rest as for `push_all`."""
        return self.push_all([Move(branch, oid, expected)])[branch]

    def push_all(self, moves: Sequence[Move]) -> dict[str, Pushed]:
        """Pushes memory branches, each by itself, by force only where it names what it replaces (a lease).

        No tag or other ref goes with them.

        Returns:
            Full ref name to what became of it.

        Raises:
            RepositoryError: the remote cannot be reached.
        """
        specs, leases = [], []
        for move in moves:
            known = move.branch.startswith(self.families)
            if not known or (move.oid is None and move.expected is None):
                raise ValueError(f"not a push of memory: {move.oid} to {move.branch}")
            specs.append(f"{move.oid or ''}:{move.branch}")
            if move.expected is not None:
                leases.append(f"--force-with-lease={move.branch}:{move.expected}")
        words = [
            "-c",
            "push.followTags=false",
            "-c",
            f"remote.{self.name}.mirror=false",
            # The pre-push hook lets memory go to the shared remote alone, and the person named this one.
            "-c",
            f"gitmem.remote={self.name}",
            # What is sent here holds nothing that is not to leave (`share.unpushed`).
            "-c",
            "gitmem.prepared=true",
            "push",
            "--porcelain",
        ]
        done = self._move([*words, "--recurse-submodules=no", *leases, self._address, *specs])
        if done.returncode == 0:
            return {move.branch: Pushed("pushed") for move in moves}
        found = {}
        for verdict in _VERDICT.finditer(done.text):
            race = _RACE.search(verdict["words"]) is not None and IN_THE_WAY not in done.stderr
            reason = without_credentials(_reason(verdict["words"], done.stderr))
            refused = Pushed("race" if race else "refused", reason, is_protection(verdict["words"]))
            found[verdict["ref"]] = refused if verdict["flag"] == "!" else Pushed("pushed")
        if not found and "failed to push some refs" in done.stderr:
            reason = without_credentials(_reason("a pre-push hook said no", done.stderr))
            return {move.branch: Pushed("refused", reason) for move in moves}
        if any(move.branch not in found for move in moves):
            raise self._unreachable(done)
        return found

    def default_branch(self) -> str | None:
        """The remote's default branch as last fetched: full name of its tracking ref, or None."""
        head = f"refs/remotes/{self.name}/HEAD"
        done = self._run(["symbolic-ref", "--quiet", head])
        names = [done.text] if done.returncode == 0 else []
        names += [f"refs/remotes/{self.name}/{name}" for name in ("main", "master")]
        for name in names:
            if self._run(["rev-parse", "--verify", "--quiet", name]).returncode == 0:
                return name
        return None

    def new_commits(self, oid: str) -> tuple[str, ...]:
        """Commits that a push of this one would send for the first time, parents before children."""
        return tuple(self._new("--topo-order", "--reverse", oid))

    def new_blobs(self, *oids: str) -> Iterator[tuple[str, str]]:
        """Objects that a push of these commits would send for the first time: (object name, path)."""
        for line in self._new("--objects", *oids):
            name, _, path = line.partition(" ")
            if path:
                yield name, path

    def _new(self, *words: str) -> list[str]:
        known = [f"--glob={self.tracking(family)}*" for family in self.families]
        done = self._run(["rev-list", *words, "--not", *known, "--"])
        if done.returncode:
            raise failure(done, self.cwd)
        return done.text.splitlines()

    @property
    def _address(self) -> str:
        return self.address or self.name

    def _run(self, words: list[str], timeout: float | None = None) -> Result:
        return self.git.run(words, cwd=self.cwd, git_dir=self.git_dir, check=False, timeout=timeout)

    def _move(self, words: list[str]) -> Result:
        """Runs git where it moves tracking refs; it takes long, so other refs may be moved meanwhile."""
        common = layout(self.git, self.cwd, git_dir=self.git_dir).common_dir
        with moving(common, tuple(map(self.tracking, self.families)), "*", "remote") as turn:
            try:
                done = self.git.run(words, cwd=self.cwd, git_dir=self.git_dir, check=False, keep=turn.keep)
            except BaseException:
                # Interrupted: git was ended, perhaps too soon to take its lock files back.
                turn.clear_up()
                raise
            if done.returncode < 0:
                turn.clear_up()
            return done

    def _unreachable(self, done: Result) -> RepositoryError:
        message, hint = explain_remote(done.stderr, self.name)
        if not done.stderr.strip():
            message = failure(done, self.cwd).message
        return RepositoryError(
            f"{self.name} cannot be used: {without_credentials(message)}",
            hint or "Nothing was sent. See whether git fetch works.",
        )


def find_remote(git: GitCommand, cwd: Path, name: str = "", *, anew: bool = False) -> Remote:
    """Finds the remote that memory is shared with: named, else `gitmem.remote`, `origin` or the only one.

    Args:
        anew: a remote that was chosen before and is gone counts for nothing.

    Raises:
        RepositoryError: there is none, or none with that name.
    """
    known = git.run(["remote"], cwd=cwd).text.split()
    wanted = name or config_get(git, cwd, "gitmem.remote", scope="local") or ""
    if anew and not name and wanted not in known:
        wanted = ""
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
