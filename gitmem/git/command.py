"""The one runner for the `git` command: a clean environment in, plain errors out.

`peek` is a look through git that never fetches, and ends in time: for whoever is waited for.
"""

from __future__ import annotations

import os
import re
import select
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import IO, Literal

from gitmem.core.errors import RepositoryError
from gitmem.values import dataclass

# Variables of the caller that choose configuration files, transport and credentials. All others (GIT_DIR,
# GIT_INDEX_FILE, GIT_CONFIG_COUNT, …) are set by the git that runs a hook, or come from a repository's own
# environment file, and would lead this git to another repository or change what it does.
SAFE_VARIABLES = frozenset(
    {
        "GIT_ASKPASS",
        "GIT_CEILING_DIRECTORIES",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_CONFIG_SYSTEM",
        "GIT_EXEC_PATH",
        "GIT_SSH",
        "GIT_SSH_COMMAND",
        "GIT_SSH_VARIANT",
        "GIT_SSL_CAINFO",
        "GIT_SSL_CAPATH",
    }
)

# Replacement refs would show other bytes than the object's name promises, and than libgit2 shows. A file
# system monitor is a program that a repository's own configuration names, and a clone may bring one along.
FIXED_VARIABLES = {
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "core.fsmonitor",
    "GIT_CONFIG_VALUE_0": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "LC_ALL": "C",
}


NO_FETCHING = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
}
"""Keeps git from fetching what a partial clone lacks; git before 2.45 knows only the second. And from
starting a program that watches the work tree, as it does for some questions about commits, too."""


CHUNK = 65_536

PIPE = 32_768
"""Bytes that a pipe takes in one go wherever this runs. With more, git would wait for its answer to be read
while its question is still being written."""


@dataclass(frozen=True)
class GitResult:
    """What a git command gave back; `stderr` is decoded with replacement."""

    returncode: int
    stdout: bytes
    stderr: str

    @property
    def text(self) -> str:
        """Output as text (odd bytes as surrogates) without the final line break."""
        return self.stdout.decode("utf-8", "surrogateescape").removesuffix("\n")


@dataclass(frozen=True)
class GitCommand:
    """Runs git, never through a shell.

    Attributes:
        environ: the environment to run in; cleaned of git's own variables for each run.
        executable: name or path of the program.
        fetches: whether it may fetch what a partial clone lacks.
    """

    environ: Mapping[str, str] = field(repr=False)
    executable: str = "git"
    fetches: bool = True

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """Returns the environment a git process gets: cleaned, then git's fixed settings, then `extra`."""
        kept = {k: v for k, v in self.environ.items() if not k.startswith("GIT_") or k in SAFE_VARIABLES}
        return kept | FIXED_VARIABLES | ({} if self.fetches else NO_FETCHING) | dict(extra or {})

    def run(
        self,
        args: Sequence[str],
        *,
        cwd: Path | None = None,
        git_dir: Path | None = None,
        input: bytes | None = None,
        check: bool = True,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
        keep: Sequence[int] = (),
    ) -> GitResult:
        """Runs one git command to its end.

        Args:
            args: words after `git`.
            cwd: folder to run in, from which git finds the repository.
            git_dir: the repository itself, instead of finding it.
            input: bytes for its standard input, which is empty without them.
            check: whether a failure raises.
            env: further variables.
            timeout: seconds until it is ended.
            keep: file handles that it inherits.

        Raises:
            RepositoryError: git is missing or took too long; with `check`, git failed.
        """
        try:
            done = subprocess.run(
                self._words(args, git_dir),
                cwd=cwd or git_dir,
                env=self.environment(env),
                capture_output=True,
                timeout=timeout,
                check=False,
                input=input or b"",
                pass_fds=keep,
            )
        except subprocess.TimeoutExpired:
            raise RepositoryError(f"git {args[0]} took longer than {timeout:g} seconds") from None
        except (OSError, ValueError) as error:
            raise self._unstartable(error, cwd or git_dir) from error
        result = GitResult(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))
        if check and result.returncode:
            raise failure(result, cwd or git_dir)
        return result

    def start(self, args: Sequence[str], *, git_dir: Path) -> subprocess.Popen[bytes]:
        """Starts a git process with pipes for its input and output; its error output is dropped.

        Raises:
            RepositoryError: it cannot be started.
        """
        try:
            return subprocess.Popen(
                self._words(args, git_dir),
                cwd=git_dir,
                env=self.environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except (OSError, ValueError) as error:
            raise self._unstartable(error, git_dir) from error

    def _words(self, args: Sequence[str], git_dir: Path | None) -> list[str]:
        return [self.executable, *([f"--git-dir={git_dir}"] if git_dir else []), *args]

    def _unstartable(self, error: Exception, folder: Path | None) -> RepositoryError:
        if folder is not None and not folder.is_dir():
            return RepositoryError(f"No such folder: {folder}")
        if isinstance(error, FileNotFoundError):
            return RepositoryError(
                f"{self.executable} was not found",
                "Install git (https://git-scm.com), and see that it is on PATH.",
            )
        return RepositoryError(f"git cannot be run: {error}")


def failure(result: GitResult, path: Path | None = None) -> RepositoryError:
    """Makes the error that tells a person why a git command failed."""
    said = result.stderr
    if not said.strip() and result.returncode < 0:
        said = f"git was ended: {signal.strsignal(-result.returncode)}"
    from gitmem.git.errors import explain  # git hardly ever fails

    message, hint = explain(said, path)
    return RepositoryError(message, hint)


Scope = Literal["global", "local", "worktree", "system"]


@dataclass(frozen=True)
class Configuration:
    """All that git's configuration says in one place, as one process read it.

    Attributes:
        rows: (scope, key, value) in the order in which they count; sections and variables in lower case.
    """

    rows: tuple[tuple[str, str, str], ...] = ()

    def all(self, key: str, scope: Scope | None = None) -> tuple[str, ...]:
        """Every value of a setting, the one that counts last; `scope` as for `config_get_all`."""
        return tuple(value for where, name, value in self.rows if name == key and scope in (None, where))

    def get(self, key: str, scope: Scope | None = None) -> str:
        """The value that counts; empty where there is none."""
        return next(reversed(self.all(key, scope)), "")

    @property
    def remotes(self) -> tuple[str, ...]:
        """Names of the remotes that have any setting, sorted."""
        keys = (key.split(".", 1)[1] for _, key, _ in self.rows if re.match(r"remote\..+\.", key))
        return tuple(sorted({key.rpartition(".")[0] for key in keys}))


def read_configuration(
    git: GitCommand, cwd: Path | None = None, *, git_dir: Path | None = None
) -> Configuration:
    """Reads the whole configuration that counts in a place: its files tell, or else git.

    Raises:
        RepositoryError: it cannot be read.
    """
    if (plain := plain_configuration(git, cwd, git_dir)) is not None:
        return plain
    words = ["config", "--includes", "--show-scope", "-z", "--list"]
    result = git.run(words, cwd=cwd, git_dir=git_dir, check=False)
    if result.returncode:
        raise failure(result, cwd or git_dir)
    fields = result.text.split("\0")
    pairs = zip(fields[0::2], (pair.partition("\n") for pair in fields[1::2]), strict=False)
    return Configuration(tuple((scope, key, value) for scope, (key, _, value) in pairs))


_SECTION = re.compile(r'\[(?!(?i:include))([A-Za-z0-9-]+)(?: "([^"\\\x00-\x1f]+)")?\]')
_SETTING = re.compile(
    r'([A-Za-z][A-Za-z0-9-]*)[ \t]*=[ \t]*(?:([^"\\#;\x00-\x1f]*)|"((?:[^"\\\x00-\x1f]|\\["\\])*)")'
)


def plain_configuration(git: GitCommand, cwd: Path | None, git_dir: Path | None) -> Configuration | None:
    """What `read_configuration` gives, without a process; None where a file is odd or unknown."""
    top = git_dir.parent if git_dir is not None and git_dir.name == ".git" else None
    around = _as_made(git_dir, top) if git_dir else _around(git, cwd) if cwd else None
    environ, home = git.environ, git.environ.get("HOME")
    if around is None or home is None or git.executable != "git" or "GIT_CONFIG_GLOBAL" in environ:
        return None
    xdg = environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
    files = [("global", f"{xdg}/git/config"), ("global", f"{home}/.gitconfig")]
    if environ.get("GIT_CONFIG_NOSYSTEM") != "1":
        # The git of a Linux system has it there; others were built to look elsewhere.
        folders = environ.get("PATH", "").split(":")
        program = next((folder for folder in folders if os.access(f"{folder}/git", os.X_OK)), "")
        told = environ.keys() & {"GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM"}
        if told or (program, sys.platform) != ("/usr/bin", "linux"):
            return None
        files.insert(0, ("system", "/etc/gitconfig"))
    rows = [("command", "core.fsmonitor", "false")]
    plain = all(_read(rows, *file) for file in (*files, ("local", f"{around.git_dir}/config")))
    return Configuration((*rows[1:], rows[0])) if plain else None


def _read(rows: list[tuple[str, str, str]], scope: str, path: str) -> bool:
    """Adds what a file says; False where a line does not say it all, and git has to read it."""
    section = ""
    try:
        text = Path(path).read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        return isinstance(error, FileNotFoundError)
    for line in (line.strip(" \t") for line in text.split("\n")):
        if found := _SECTION.fullmatch(line):
            section = found[1].lower() + (f".{found[2]}" if found[2] else "")
        elif section and (found := _SETTING.fullmatch(line)):
            value = found[2] if found[3] is None else re.sub(r"\\(.)", r"\1", found[3])
            rows.append((scope, f"{section}.{found[1].lower()}", value))
        elif line and line[0] not in "#;":
            return False
    return True


@dataclass(frozen=True)
class Layout:
    """Where a repository's parts are; all paths absolute.

    Attributes:
        worktree: top of the work tree that the folder is in; None in a bare repository or inside `.git`.
        git_dir: this work tree's own git directory.
        common_dir: the git directory shared by all work trees.
        bare: whether the repository has no work tree at all.
        object_format: `sha1` or `sha256`.
    """

    worktree: Path | None
    git_dir: Path
    common_dir: Path
    bare: bool
    object_format: str = "sha1"

    @property
    def hex_length(self) -> int:
        """Length of the repository's object names."""
        return 64 if self.object_format == "sha256" else 40


def layout(git: GitCommand, cwd: Path, *, git_dir: Path | None = None) -> Layout:
    """Finds the repository that a folder is in, or describes the one at `git_dir`.

    Raises:
        RepositoryError: there is none, it belongs to someone else, or its path has a line break.
    """
    if git_dir is None and (plain := _around(git, cwd)) is not None:
        return plain
    asked = ["--is-bare-repository", "--show-object-format", "--absolute-git-dir", "--git-common-dir"]
    result = git.run(
        ["rev-parse", "--path-format=absolute", *asked, "--show-toplevel"],
        cwd=cwd,
        git_dir=git_dir,
        check=False,
    )
    lines = result.text.split("\n") if result.stdout else []
    # `--show-toplevel` comes last because it alone fails without a work tree, after the rest was printed.
    if len(lines) < len(asked) or (result.returncode and "work tree" not in result.stderr):
        raise failure(result, cwd)
    if len(lines) > len(asked) + 1:
        raise RepositoryError(
            f"The path of this repository has a line break: {cwd!s}", "Move or rename it."
        )
    worktree = Path(lines[4]) if len(lines) > len(asked) and not result.returncode else None
    from gitmem.git.owners import refuse_foreign  # hardly ever is git asked

    refuse_foreign(Path(lines[2]), git.environ, lambda: git.run(["version"], check=False).text)
    return Layout(worktree, Path(lines[2]), Path(lines[3]), lines[0] == "true", lines[1])


@dataclass(frozen=True)
class Glimpse:
    """What a git command said within its limits.

    Attributes:
        returncode: None where it was ended before its own end.
    """

    stdout: bytes
    returncode: int | None

    @property
    def text(self) -> str:
        """Output as text (odd bytes as surrogates)."""
        return self.stdout.decode("utf-8", "surrogateescape")


def peek(
    git: GitCommand,
    words: Sequence[str],
    *,
    cwd: Path,
    seconds: float,
    size: int,
    input: bytes = b"",
    enough: Callable[[bytes], bool] | None = None,
    env: Mapping[str, str] | None = None,
) -> Glimpse:
    """Runs a reading git command until its end or a limit: then it is ended.

    Args:
        words: after `git`.
        seconds: time that it has; without any nothing is started.
        size: bytes of output, about.
        input: bytes for its standard input.
        enough: whether the output so far answers what was asked.
        env: further variables.

    Raises:
        RepositoryError: it cannot be started.
    """
    until = time.monotonic() + seconds
    if seconds <= 0:
        return Glimpse(b"", None)
    given = _file(input) if len(input) > PIPE else None
    try:
        process = subprocess.Popen(
            [git.executable, *words],
            cwd=cwd,
            env=git.environment({**(env or {}), **NO_FETCHING}),
            stdin=given or (subprocess.PIPE if input else subprocess.DEVNULL),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise RepositoryError(f"git cannot be run: {error}") from error
    finally:
        if given is not None:
            given.close()
    output = bytearray()
    with process:
        try:
            assert process.stdout is not None  # noqa: S101 - it was asked for
            if process.stdin is not None:
                with suppress(OSError):
                    process.stdin.write(input)
                    process.stdin.close()
            while len(output) < size and not (enough is not None and output and enough(bytes(output))):
                if not select.select([process.stdout], [], [], max(0.0, until - time.monotonic()))[0]:
                    break
                chunk = os.read(process.stdout.fileno(), CHUNK)
                if not chunk:
                    with suppress(subprocess.TimeoutExpired):
                        return Glimpse(bytes(output), process.wait(max(0.0, until - time.monotonic())))
                    break
                output += chunk
        finally:
            # With all that it started, which may outlive it and hold the pipe open. Until somebody waits
            # for it its number is nobody else's.
            if process.returncode is None:
                with suppress(OSError):
                    os.killpg(process.pid, signal.SIGKILL)
    return Glimpse(bytes(output), None)


def _file(data: bytes) -> IO[bytes]:
    import tempfile  # hardly ever is so much asked

    file = tempfile.TemporaryFile()  # noqa: SIM115 - whoever starts git closes it
    file.write(data)
    file.seek(0)
    return file


def bare_layout(path: Path, git: GitCommand) -> Layout:
    """The parts of a bare repository that gitmem made: its own files tell, or else git.

    Raises:
        RepositoryError: there is none.
    """
    if not (path / "HEAD").is_file():
        raise RepositoryError(f"Not a git repository: {path}")
    return _as_made(path) or layout(git, path, git_dir=path)


def _around(git: GitCommand, cwd: Path) -> Layout | None:
    """The repository that a folder is in; None where git has to say: where anything is another user's, a
    link or on another disk, and where the search may not leave a folder."""
    if "GIT_CEILING_DIRECTORIES" in git.environ:
        return None
    try:
        start = cwd.resolve(strict=True)
        disk = start.stat().st_dev
        for folder in (start, *start.parents):
            here = folder.stat()
            if (folder / "HEAD").exists() or here.st_dev != disk:
                return None
            try:
                found = (folder / ".git").lstat()
            except FileNotFoundError:
                continue
            mine = found.st_uid == here.st_uid == os.geteuid()
            return _as_made(folder / ".git", folder) if mine and stat.S_ISDIR(found.st_mode) else None
    except OSError:
        pass
    return None


def _as_made(path: Path, worktree: Path | None = None) -> Layout | None:
    """The parts of a repository that is as `git init` leaves it, the `.git` of a work tree (a real path) or
    bare; None where git has to say. A process would cost each command a few milliseconds.
    """
    try:
        head, config = (path / "HEAD").read_bytes(), (path / "config").read_bytes().lower()
        real = path.resolve(strict=True)
    except OSError:
        return None
    needed = b"repositoryformatversion = 0\n", b"bare = false\n" if worktree else b"bare = true\n"
    plain = config.count(b"bare") == 1 and all(line in config for line in needed)
    odd = any(word in config for word in (b"extensions", b"include", b"worktree")) or "\n" in str(real)
    whole = re.match(rb"ref: refs/heads/|[0-9a-f]{40}\s", head) and all(
        os.access(real / part, os.X_OK) for part in ("objects", "refs")
    )
    if not plain or odd or not whole or (real / "commondir").exists():
        return None
    return Layout(worktree, real, real, bare=worktree is None)
