"""Talking to a remote about some of its refs alone, with the person's own git and credentials.

Addresses are as people type them: made absolute, checked, and shown without credentials. What git says when
a remote cannot be used, or refuses a push, becomes words with what to do about it. Where history was
fetched in part, memory needs all of its own, and none of the code's.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

from gitmem.core.errors import RepositoryError, UsageError
from gitmem.git.command import GitCommand, GitResult, failure
from gitmem.git.errors import explain
from gitmem.git.locks import ref_turn
from gitmem.git.refs import try_move_ref
from gitmem.git.repository import Repository
from gitmem.values import dataclass

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

# What git, ssh and curl say (in the C locale), and the hint; the first that fits counts.
_HINTS: tuple[tuple[str, str], ...] = (
    (
        r"Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED",
        "ssh does not know this host, or it has another key than before: run git fetch {name}, and look at "
        "what it asks.",
    ),
    (
        r"Permission denied \(|Too many authentication failures|Load key|sign_and_send_pubkey",
        "ssh has no key that the host takes: see ssh-add -l, and whether git fetch {name} works.",
    ),
    (
        r"could not read (Username|Password)|terminal prompts disabled|Authentication failed|error: 401"
        r"|Invalid username or (password|token)|HTTP Basic: Access denied",
        "git has no credentials that the host takes: run git fetch {name}, which asks for them, with a "
        "credential helper to keep them (git help credentials).",
    ),
    (
        r"error: 403|Permission to \S+ denied|Write access to repository not granted|not authorized",
        "You may not do that there: ask whoever looks after the repository.",
    ),
    (
        r"Could not resolve host|Name or service not known|Temporary failure in name resolution"
        r"|nodename nor servname|Network is unreachable|No route to host|Connection refused"
        r"|(Connection|Operation) timed out|Failed to connect|Couldn't connect|Connection reset"
        r"|unexpected disconnect|early EOF|the remote end hung up",
        "Nothing is lost: what you learned stays here until the remote can be reached. Then: git mem sync",
    ),
    (
        r"SSL|certificate",
        "git does not trust the host's certificate: see http.sslCAInfo in git help config.",
    ),
    (
        r"does not appear to be a git repository|[Rr]epository.* not found|error: 404"
        r"|No such file or directory",
        "See where it leads: git remote -v. To change that: git remote set-url {name} URL",
    ),
    (
        r"transport '.*' not allowed|protocol '.*' is not supported|unable to find remote helper",
        "git does not use such addresses: git remote set-url {name} URL",
    ),
    (
        r"dubious ownership",
        "It belongs to someone else. If you trust it: git config --global --add safe.directory PATH",
    ),
    (
        r"No space left on device|Disk quota exceeded",
        "The disk is full, here or there; nothing was moved.",
    ),
    (
        r"promisor|missing (blob|tree|commit)|bad object|not our ref",
        "The remote lacks objects that it should have: see git fsck there.",
    ),
)

_PROTECTED = re.compile(
    r"hook declined|protected|prohibited|not permitted|not allowed to|permission denied|denied by"
    r"|access denied|insufficient permission|rule violation|push declined|TF402455|TF401027",
    re.IGNORECASE,
)

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_HELPER = re.compile(r"([A-Za-z0-9][A-Za-z0-9+.-]*)::")
_SCP = re.compile(r"(?:[^@/]+@)?([^:/]+):(?!//)(.+)")
_USERINFO = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)(?P<user>[^/\s]*)@")

COMMANDS = frozenset({"ext", "fd"})
"""Transports that run what the address says; git refuses them by default (`protocol.ext.allow`)."""

DEEP = 2_000_000_000
"""Commits to go back. `--unshallow` would do the same to the code; git caps what it is given here."""


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
    """A remote, seen through some of its refs.

    Attributes:
        cwd: a work tree, in which the person's own hooks expect to run, or the repository itself.
        common_dir: the git directory that all work trees share.
        name: what its remote-tracking refs are filed under.
        address: what git is told; the name where empty.
        families: beginnings, with a slash at the end, of the refs that are fetched and may be pushed to.
        without: one of those that is left out, and may have a part of its history alone; empty for none.
    """

    git: GitCommand
    cwd: Path
    common_dir: Path
    name: str
    address: str = ""
    families: tuple[str, ...] = ()
    without: str = ""

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
        """Fetches all of those refs, also in clones that fetch one branch only.

        Raises:
            RepositoryError: the remote cannot be reached or read.
        """
        specs = [f"+{family}*:{self.tracking(family)}*" for family in self.families]
        if self.without not in ("", *self.families):
            specs.append(f"^{self.without}")
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
        if done.returncode == 0 and any(
            cut_short(self.git, self.common_dir, self.tracking(one), without=self.tracking(self.without))
            for one in self.families
        ):
            done = self._move([*words, f"--depth={DEEP}", self._address, *specs])
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
            try_move_ref(repo, tracking, oid, known, "gitmem sync")

    def push(self, oid: str | None, branch: str, expected: str | None = None) -> Pushed:
        """Pushes one commit to one branch; arguments as for `Move`, the rest as for `push_all`."""
        return self.push_all([Move(branch, oid, expected)])[branch]

    def push_all(self, moves: Sequence[Move]) -> dict[str, Pushed]:
        """Pushes branches, each by itself, by force only where it names what it replaces (a lease).

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
                raise ValueError(f"not a push of what it is seen through: {move.oid} to {move.branch}")
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
            # What is sent here holds nothing that is not to leave (`departure`).
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

    def default_branch(self) -> tuple[str, str] | None:
        """The remote's default branch as last fetched: full name of its tracking ref, and its commit."""
        names = [f"refs/remotes/{self.name}/{name}" for name in ("HEAD", "main", "master")]
        done = self._run(["for-each-ref", "--format=%(refname)%00%(symref)%00%(objectname)", *names])
        rows = (line.split("\0") for line in done.text.split("\n") if line)
        # HEAD counts only as a link: by itself it is no branch.
        found = {name: (link or name, oid) for name, link, oid in rows if link or name != names[0]}
        return next((found[name] for name in names if name in found), None)

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

    @property
    def _git_dir(self) -> Path | None:
        """The repository, where git need not find it from a work tree."""
        return self.cwd if self.cwd == self.common_dir else None

    def _run(self, words: list[str], timeout: float | None = None) -> GitResult:
        return self.git.run(words, cwd=self.cwd, git_dir=self._git_dir, check=False, timeout=timeout)

    def _move(self, words: list[str]) -> GitResult:
        """Runs git where it moves tracking refs; it takes long, so other refs may be moved meanwhile."""
        with ref_turn(self.common_dir, tuple(map(self.tracking, self.families)), "*", "remote") as turn:
            return turn.run(self.git, words, cwd=self.cwd, git_dir=self._git_dir)

    def _unreachable(self, done: GitResult) -> RepositoryError:
        message, hint = explain_remote(done.stderr, self.name)
        if not done.stderr.strip():
            message = failure(done, self.cwd).message
        if self.address and "git remote" in hint:  # no remote of git's has it
            hint = "See whether the address is right. To make an empty repository: git init --bare PATH"
        return RepositoryError(
            f"{self.name} cannot be used: {without_credentials(message)}",
            hint or "Nothing was sent. See whether git fetch works.",
        )


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


def explain_remote(said: str, name: str) -> tuple[str, str]:
    """Finds why a remote cannot be used.

    Args:
        said: what git wrote, in the C locale; hostile text.
        name: the remote's.

    Returns:
        (message, hint); the hint is empty where none is known.
    """
    lines = said.splitlines()
    for pattern, hint in _HINTS:
        # ssh and curl give the reason; git's own last word is only that something failed.
        if line := next((line for line in lines if re.search(pattern, line)), ""):
            return explain(line)[0], hint.format(name=name)
    return explain(said)[0], ""


def is_protection(verdict: str) -> bool:
    """Whether a refusal is somebody's decision about a branch, which others branches may be free of.

    Args:
        verdict: what stands behind the ref in git's answer to a push, such as
            `[remote rejected] (protected branch hook declined)`.
    """
    return verdict.startswith("[remote rejected]") and _PROTECTED.search(verdict) is not None


def normalise_url(url: str, folder: Path) -> str:
    """A remote's URL without what differs between two people's clones: scheme, user, port, `.git`.

    Args:
        folder: what a relative path is relative to.
    """
    scp = _SCP.fullmatch(url)
    if scp and "://" not in url:
        host, path = scp.groups()
    else:
        try:
            parts = urlsplit(url)
            host, path = parts.hostname or "", parts.path
        except ValueError:
            host, path = "", url
    if not host:
        path = str((folder / path).resolve())
    path = path.strip("/").removesuffix(".git").strip("/")
    return f"{host.lower()}/{path}" if host else path


def same_place(one: str, other: str, folder: Path) -> bool:
    """Whether two addresses plainly name one repository; hosts hide many other ways to write one."""
    return _plain(one, folder) == _plain(other, folder)


def checked_address(text: str, cwd: Path) -> str:
    """An address that git may be given: a path is made absolute, anything else stays as it is.

    Args:
        text: as a person typed it.
        cwd: what a relative path is relative to.

    Raises:
        UsageError: it is an option, a transport that runs commands, or no address.
    """
    helper = _HELPER.match(text)
    if not text or text.startswith("-") or not text.isprintable():
        raise UsageError(f"{text!r} is no address of a repository", _HINT)
    if helper and helper[1].lower() in COMMANDS:
        raise UsageError(f"{helper[1]}:: runs commands: it is not used", _HINT)
    scp = _SCP.fullmatch(text)
    if helper or _SCHEME.match(text) or (scp and not (cwd / text).exists()):
        return text
    return str((cwd / text).resolve())


def without_credentials(text: str) -> str:
    """The text with nothing secret in its addresses: no password, and over HTTP no user either."""
    return _USERINFO.sub(_user_alone, text)


def _user_alone(found: re.Match[str]) -> str:
    user = found["user"].partition(":")[0]
    # A token often stands where HTTP expects a user.
    hidden = found["scheme"].lower().startswith("http") or not user
    return found["scheme"] if hidden else f"{found['scheme']}{user}@"


def _plain(url: str, folder: Path) -> str:
    return unquote(normalise_url(_HELPER.sub("", url, count=1), folder)).casefold()


_HINT = "Name a path, or an https, ssh or file URL of a repository of yours."


def cut_short(git: GitCommand, git_dir: Path, refs: str, without: str) -> bool:
    """Whether the history of some refs ends where a shallow clone cut it off.

    Args:
        git_dir: the common git directory.
        refs: beginning of their names, with a slash at the end.
        without: one of them that does not count.
    """
    try:
        cut = frozenset((git_dir / "shallow").read_text("ascii").split())
    except (OSError, ValueError):
        return False
    if not cut:
        return False
    done = git.run(
        ["rev-list", "--max-parents=0", f"--exclude={without}", f"--glob={refs}*"],
        git_dir=git_dir,
        check=False,
    )
    return not cut.isdisjoint(done.text.split())


FIRST_PAUSE = 0.1
LONGEST_PAUSE = 3.0
"""Seconds; a remote takes about four pushes a second."""


class PushPatience:
    """Pauses that grow with every lost race, and shrink again for whoever has waited long."""

    def __init__(self) -> None:
        self.begun = time.monotonic()

    def __call__(self, lost: int) -> None:
        """Waits a random time after the `lost`-th race."""
        ceiling = min(LONGEST_PAUSE, FIRST_PAUSE * 2**lost)
        waited = time.monotonic() - self.begun
        time.sleep(random.uniform(0, ceiling / (1 + waited / LONGEST_PAUSE)))  # noqa: S311 - no secret in a pause
