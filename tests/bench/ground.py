"""Where benchmarks run: a home with a repository, what commands cost there, memories by the thousand."""

from __future__ import annotations

import os
import random
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from figures import ROOT

from gitmem.core import index
from gitmem.core.limits import HOT_MEMORIES
from gitmem.core.memory import Memory, create
from gitmem.core.names import archive_path

REF = "refs/gitmem/project"
START = 1_790_000_000
ALL = 10**9
"""So many hot memories that none is in the archive."""

WHO = "Ann <ann@example.com>"


@dataclass(frozen=True)
class Spent:
    """What a command took, in milliseconds of CPU with its children and of the clock; what it printed."""

    cpu: float
    wall: float
    out: str


def spent(
    words: Sequence[str | Path], cwd: Path, environ: Mapping[str, str] | None = None, given: bytes = b""
) -> Spent:
    """Runs a command.

    Raises:
        SystemExit: It failed; with what it said.
    """
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(words, cwd=cwd, env=environ, input=given, capture_output=True, check=False)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = done.stdout.decode("utf-8", "replace")
    if done.returncode:
        raise SystemExit(f"{[*map(str, words)]} exited {done.returncode}: {out}{done.stderr.decode()}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Spent(1000 * cpu, 1000 * wall, out)


class Home:
    """A home with one repository in it, and the gitmem of a checkout; nothing else is seen."""

    def __init__(
        self, home: Path, *, root: Path = ROOT, source: str | None = None, name: str = "Ann"
    ) -> None:
        """Makes it, with an empty commit or as a clone of `source`."""
        self.home, self.repo = home.resolve(), home.resolve() / "repo"
        (self.home / ".claude").mkdir(parents=True)
        user = f"[user]\n\tname = {name}\n\temail = {name.lower()}@example.com\n"
        (self.home / ".gitconfig").write_text(f"{user}[init]\n\tdefaultBranch = main\n")
        kept = {key: os.environ[key] for key in ("PATH", "LANG") if key in os.environ}
        self.environ = kept | {"HOME": str(self.home), "GIT_CONFIG_NOSYSTEM": "1", "PYTHONPATH": str(root)}
        if source:
            self.git("clone", "-q", source, self.repo, cwd=self.home)
        else:
            self.git("init", "-q", self.repo, cwd=self.home)
            self.git("commit", "-q", "--allow-empty", "-m", "Begin")

    @property
    def folder(self) -> Path:
        """Where Claude Code keeps this repository's memory."""
        return self.project / "memory"

    @property
    def project(self) -> Path:
        """Where Claude Code keeps this repository's sessions."""
        return self.home / ".claude/projects" / re.sub(r"[^A-Za-z0-9]", "-", str(self.repo))

    def run(self, *words: str | Path, cwd: Path | None = None, given: bytes = b"") -> Spent:
        """Runs a command in the repository."""
        return spent(words, cwd or self.repo, self.environ, given)

    def git(self, *words: str | Path, cwd: Path | None = None, given: bytes = b"") -> str:
        """Runs git; what it printed."""
        return self.run("git", *words, cwd=cwd, given=given).out.strip()

    def python(self, *words: str | Path, cwd: Path | None = None, given: bytes = b"") -> Spent:
        """Runs this Python."""
        return self.run(sys.executable, "-P", *words, cwd=cwd, given=given)

    def gitmem(self, *words: str, cwd: Path | None = None) -> Spent:
        """Runs gitmem, with yes to what it asks."""
        return self.python("-m", "gitmem", "-y", *words, cwd=cwd)

    def share(self, remote: Path) -> None:
        """Makes a remote, and shares the code and its memory with it."""
        self.git("init", "-q", "--bare", remote)
        self.git("remote", "add", "origin", remote)
        self.git("push", "-q", "origin", "HEAD:refs/heads/main")
        self.gitmem("init")
        self.gitmem("share")
        self.gitmem("sync")

    def fill(self, tree: Mapping[str, bytes], ref: str = REF) -> None:
        """Puts a tree of memories on a ref, as one more commit."""
        known = (self.repo / ".git" / ref).is_file()
        parents = (f"{ref}^0",) if known else ()
        self.import_commits([Made("Learn\n", tree, parents)], ref)

    def import_commits(self, commits: Iterable[Made], ref: str = REF, repo: Path | None = None) -> None:
        """Makes commits on a ref with `git fast-import`; each has its number, from 1, as its mark."""
        words = ["git", "fast-import", "--quiet", "--force"]
        process = subprocess.Popen(words, cwd=repo or self.repo, env=self.environ, stdin=subprocess.PIPE)
        assert process.stdin is not None
        for number, one in enumerate(commits, 1):
            process.stdin.write(b"".join(one.stream(ref, number)))
        process.stdin.close()
        if process.wait():
            raise SystemExit("git fast-import failed")


@dataclass(frozen=True)
class Made:
    """A commit to be imported.

    Attributes:
        files: path to content, or None where it goes; what is not named stays.
        parents: commits as git names them, or `:NUMBER` of one imported before; none for that before it.
        time: Unix seconds; by default a minute a commit.
    """

    message: str
    files: Mapping[str, bytes | None]
    parents: Sequence[str] = ()
    time: int | None = None

    def stream(self, ref: str, number: int) -> Iterator[bytes]:
        """What `git fast-import` is given."""
        time, message = self.time or START + 60 * number, self.message.encode()
        yield f"commit {ref}\nmark :{number}\ncommitter {WHO} {time} +0000\n".encode()
        yield b"data %d\n%s\n" % (len(message), message)
        for word, parent in zip(("from", "merge"), self.parents, strict=False):
            yield f"{word} {parent}\n".encode()
        for path, data in self.files.items():
            if data is None:
                yield f"D {path}\n".encode()
            else:
                yield f"M 100644 inline {path}\ndata {len(data)}\n".encode() + data + b"\n"


def service(number: int) -> Memory:
    """A memory unlike any other."""
    said = f"Service {number} keeps its queue in table q{number % 97} and reads it every {number % 60} s."
    body = f"{said}\n\n**Why:** seen on host {number}.\n\n**How to apply:** mind queue {number}.\n"
    return create(f"service-{number}", said, "project", body, f"service-{number}.md")


def tree(memories: Iterable[Memory], hot: int = HOT_MEMORIES, each: int = ALL) -> dict[str, bytes]:
    """Memories as gitmem keeps them, path to content.

    Args:
        hot: of one agent, how many stand in its folder and its index: the last ones.
        each: memories of one agent.
    """
    given = list(memories)
    files = {".gitmem": b"format = 1\n"}
    for start in range(0, len(given), each):
        some = given[start : start + each]
        agent = "main" if each == ALL else f"agent-{start // each}"
        listed = ""
        for number, one in enumerate(some):
            is_hot = number >= len(some) - hot
            files[f"{agent}/{one.path if is_hot else archive_path(one.path)}"] = one.render()
            listed += index.entry(one.name, one.path, one.description) if is_hot else ""
        files[f"{agent}/{index.INDEX}"] = listed.encode()
    return files


class Prose:
    """Draws made-up words by Zipf's law, as prose has them; frequent ones more often."""

    STOPPED = ("what", "is", "the", "best", "way", "to", "do", "this", "with", "our", "should", "we")

    def __init__(self, seed: int, size: int = 30_000) -> None:
        self.rng = random.Random(seed)
        syllables = [c + v for c in "bcdfghjklmnprstvz" for v in "aeiou"]
        self.words = ["".join(self.rng.choices(syllables, k=self.rng.randint(2, 4))) for _ in range(size)]
        weights = [1 / (rank + 3) for rank in range(size)]
        self.pool = self.rng.choices(self.words, weights, k=400_000)

    def draw(self, count: int) -> str:
        """So many words that stand together."""
        at = self.rng.randrange(len(self.pool) - count)
        return " ".join(self.pool[at : at + count])

    def memory(self, number: int) -> Memory:
        """About seventy words; every tenth is one that questions are put with, as in prose."""
        said = " ".join([*self.draw(40).split(), *self.rng.choices(self.STOPPED, k=8)])
        name = f"{self.draw(3).replace(' ', '-')}-{number}"
        return create(
            name, self.draw(10), "project", f"{said}\n\n**Why:** the {self.draw(12)}\n", f"m{number}.md"
        )

    def question(self) -> str:
        """Eleven words, five of them such ones."""
        asked = [*self.rng.choices(self.STOPPED, k=5), *self.draw(5).split(), self.rng.choice(self.words)]
        self.rng.shuffle(asked)
        return " ".join(asked)
