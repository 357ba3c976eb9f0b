"""A home, a repository and a remote in which commands are killed, and what one looks at afterwards."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOW = 1_795_000_000

CHANGES = (
    "write,pwrite64,writev,rename,renameat,renameat2,link,linkat,symlink,unlink,unlinkat,mkdir,rmdir,"
    "ftruncate,fsync,fdatasync,utimensat"
)
"""The calls that change a disk. Not `open`: who dies before the next call leaves what an `open` made."""


_CALL = re.compile(r"(?:\d+ +)?(\w+)\(")


# When a suggestion was parked: whoever ends what was begun does so later.
_CREATED = re.compile(r'^ "created": .*\n', re.MULTILINE)


@dataclass(frozen=True)
class Ended:
    """How a command ended.

    Attributes:
        code: exit code; a negative one is a signal.
        calls: its calls that change a disk, where they were traced: the name, and how many of that name.
    """

    code: int
    said: str
    calls: tuple[tuple[str, int], ...] = ()


class Stage:
    """The folder; `keep` remembers it as it is, `reset` brings that back, at the same place."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.repo, self.home, self.bare = path / "repo", path / "home", path / "team.git"
        self.template = path.with_name(f"{path.name}.kept")
        self.out = path.with_name(f"{path.name}.out")
        self.now = self.began = NOW
        self.tip = ""
        self.env: dict[str, str] = {}
        forker = [sys.executable, str(Path(__file__).with_name("forker.py"))]
        environ = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
        self._forker = subprocess.Popen(
            forker, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ, bufsize=1
        )

    def close(self) -> None:
        assert self._forker.stdin and self._forker.stdout
        self._forker.stdin.close()
        self._forker.stdout.close()
        self._forker.wait()

    def keep(self) -> None:
        self.began = self.now
        self.tip = self.git("rev-parse", "--verify", "-q", "refs/gitmem/project", check=False).strip()
        shutil.copytree(self.path, self.template, symlinks=True)

    def reset(self) -> None:
        self.now = self.began
        shutil.rmtree(self.path, ignore_errors=True)
        subprocess.run(["cp", "-a", self.template, self.path], check=True)

    @property
    def environ(self) -> dict[str, str]:
        home = self.home
        own = {"HOME": home, "XDG_DATA_HOME": home / ".local/share", "XDG_CONFIG_HOME": home / ".config"}
        return {**os.environ, **{key: str(value) for key, value in own.items()}, **self.env} | {
            "GITMEM_NOW": str(self.now)
        }

    def gitmem(self, *words: object, kill: tuple[str, int] | None = None, count: bool = False) -> Ended:
        """Runs a command; with `kill` it is killed before that call."""
        assert self._forker.stdin and self._forker.stdout
        asked = {
            "argv": list(map(str, words)),
            "cwd": str(self.repo),
            "env": self.environ,
            "out": str(self.out),
        }
        self._forker.stdin.write(json.dumps(asked) + "\n")
        pid = int(self._forker.stdout.readline())
        tracer = _trace(pid, kill, self.out) if kill or count else None
        self._forker.stdin.write("go\n")
        code = int(self._forker.stdout.readline())
        calls: list[tuple[str, int]] = []
        if tracer:
            tracer.communicate()
            seen: Counter[str] = Counter()
            for line in self.out.with_suffix(".trace").read_text(errors="replace").splitlines():
                if found := _CALL.match(line):
                    seen[found[1]] += 1
                    calls.append((found[1], seen[found[1]]))
        return Ended(code, self.out.read_text(errors="replace"), tuple(calls))

    def gitmem_with_a_killed_git(self, *words: object, verb: str, call: str, nth: int) -> Ended | None:
        """Runs a command while each git process of a kind is killed before a call; None where none was."""
        shim = self.path.with_name("bin") / "git"
        struck = shim.with_name("struck")
        shim.parent.mkdir(exist_ok=True)
        struck.unlink(missing_ok=True)
        real = shutil.which("git")
        strace = f"strace -qq -o /dev/null -e trace={CHANGES} -e inject={call}:signal=SIGKILL:when={nth}"
        shim.write_text(
            f'#!/bin/sh\ncase " $* " in *" {verb} "*) ;; *) exec {real} "$@" ;; esac\n'
            f'{strace} {real} "$@"\ncode=$?\n[ $code != 137 ] || {{ : >"{struck}"; kill -9 $$; }}\n'
            f"exit $code\n"
        )
        shim.chmod(0o755)
        self.env["PATH"] = f"{shim.parent}:{os.environ['PATH']}"
        ended = self.gitmem(*words)
        del self.env["PATH"]
        return ended if struck.exists() else None

    def git(self, *words: object, repo: Path | None = None, check: bool = True) -> str:
        run = ["git", "-C", str(repo or self.repo), *map(str, words)]
        done = subprocess.run(
            run, capture_output=True, text=True, env=self.environ, errors="surrogateescape"
        )
        assert not (check and done.returncode), f"{words}: {done.stderr}"
        return done.stdout

    @property
    def private(self) -> Path:
        return self.home / ".local/share/gitmem/private.git"

    @property
    def repositories(self) -> list[Path]:
        return [path for path in (self.repo / ".git", self.private, self.bare) if path.is_dir()]


def _trace(pid: int, kill: tuple[str, int] | None, out: Path) -> subprocess.Popen[str]:
    words = ["strace", "-o", str(out.with_suffix(".trace")), "-e", f"trace={CHANGES}", "-p", str(pid)]
    if kill:
        words += ["-e", f"inject={kill[0]}:signal=SIGKILL:when={kill[1]}"]
    tracer = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    assert tracer.stderr is not None
    line = tracer.stderr.readline()
    assert "attached" in line, line
    return tracer


def why_no_trace() -> str:
    """Why strace cannot be used here; empty where it can."""
    if not shutil.which("strace"):
        return "strace is not installed"
    probe = ["strace", "-qq", "-o", os.devnull, "-e", "trace=write", "true"]
    done = subprocess.run(probe, capture_output=True, text=True)
    return f"strace may not trace here: {done.stderr.strip()}" if done.returncode else ""


# What is there


def blobs(stage: Stage, repo: Path, oids: list[str]) -> list[str]:
    run = ["git", "-C", str(repo), "cat-file", "--batch"]
    asked = "".join(f"{oid}\n" for oid in oids).encode()
    data = subprocess.run(run, input=asked, capture_output=True, env=stage.environ, check=True).stdout
    found = []
    while data:
        head, _, rest = data.partition(b"\n")
        size = int(head.split()[2])
        found.append(rest[:size].decode("utf-8", "surrogateescape"))
        data = rest[size + 1 :]
    return found


def trees(stage: Stage) -> dict[str, dict[str, str]]:
    """Ref of memory to path and content; dreams under one name each, as theirs have a date in it."""
    found: dict[str, dict[str, str]] = {}
    for repo, prefixes in ((stage.repo, ("refs/gitmem", "refs/heads/gitmem")), (stage.private, ("refs",))):
        if not repo.is_dir():
            continue
        for ref in stage.git("for-each-ref", "--format=%(refname)", *prefixes, repo=repo).split():
            rows = [
                row.partition("\t")
                for row in stage.git("ls-tree", "-rz", ref, repo=repo).split("\0")
                if row
            ]
            texts = blobs(stage, repo, [head.split()[2] for head, _, _ in rows])
            files = {path: _CREATED.sub("", text) for (_, _, path), text in zip(rows, texts, strict=True)}
            found[ref if "/dream/" not in ref else f"dream of {repo.name}"] = files
    return found


def live(stage: Stage) -> dict[str, str]:
    """File in a live directory to content."""
    folders = [*stage.repo.glob(".claude/agent-memory*"), *stage.home.glob(".claude/projects/*/memory")]
    folders += stage.home.glob(".claude/agent-memory")
    return {
        str(path.relative_to(stage.path)): path.read_text()
        for folder in folders
        for path in folder.rglob("*.md")
        if path.is_file()
    }


def outcome(stage: Stage) -> dict[str, object]:
    return {"trees": trees(stage), "live": live(stage)}


def lines_kept(stage: Stage) -> set[str]:
    """Every line in a live directory, in what was moved aside there, and in what any ref reaches."""
    texts = list(live(stage).values())
    for state in (stage.repo / ".git/gitmem", stage.private.parent / "state"):
        texts += [path.read_text() for path in state.glob("displaced/*/*/*")]
    for repo in stage.repositories[:2]:
        rows = stage.git(
            "rev-list", "--objects", "--all", "--filter=object:type=blob", repo=repo
        ).splitlines()
        texts += blobs(stage, repo, [row.split()[0] for row in rows if " " in row])
    return {line.strip() for text in texts for line in text.splitlines()}


def lines_known(stage: Stage) -> set[str]:
    """Every line that memory holds now: in the refs' trees and the live directories."""
    texts = [*live(stage).values(), *(text for files in trees(stage).values() for text in files.values())]
    return {line.strip() for text in texts for line in text.splitlines()}


def locks(stage: Stage) -> list[str]:
    """Lock files of git that would block a writer."""
    found: list[Path] = []
    for repo in stage.repositories:
        found += [*repo.glob("*.lock"), *(repo / "refs").rglob("*.lock"), *repo.glob("packed-refs.new")]
    return [str(path.relative_to(stage.path)) for path in found]


def damage(stage: Stage) -> list[str]:
    """What `git fsck` says of each repository."""
    said = []
    for repo in stage.repositories:
        run = ["git", "--git-dir", str(repo), "fsck", "--strict", "--no-dangling", "--no-progress"]
        done = subprocess.run(run, capture_output=True, text=True, env=stage.environ)
        lines = [
            line for line in (done.stdout + done.stderr).splitlines() if not line.startswith("notice: ")
        ]
        if done.returncode or lines:
            said.append(f"{repo.name}: {lines}")
    return said
