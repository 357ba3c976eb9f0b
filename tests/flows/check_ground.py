"""Requests on memory, made with git alone, and checked as CI checks them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_files import folder


@dataclass
class Ground:
    """A bare remote, and a work tree in which requests are made."""

    path: Path

    @property
    def remote(self) -> Path:
        return self.path / "remote.git"

    @property
    def work(self) -> Path:
        return self.path / "work"

    def git(self, *words: object, at: Path | None = None, **more: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(at or self.work), *map(str, words)],
            capture_output=True,
            text=True,
            env={**os.environ, **more},
            check=False,
        )
        assert done.returncode == 0, f"git {words}: {done.stderr}"
        return done.stdout.strip()

    def commit(
        self, files: Mapping[str, str | bytes | None], message: str = "Learn", at: Path | None = None
    ) -> str:
        """Commits these files on what is checked out; None deletes one."""
        top = at or self.work
        for name, data in files.items():
            path = top / name
            if data is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data if isinstance(data, bytes) else data.encode())
        self.git("add", "-A", at=top)
        self.git("commit", "-q", "--allow-empty", "-m", message, at=top)
        return self.git("rev-parse", "HEAD", at=top)

    def grow(self, *steps: Mapping[str, str]) -> None:
        """Commits one step after another by one process, and checks the last out."""
        base = f"from {self.git('rev-parse', 'HEAD')}\n"
        head = "commit refs/grown\ncommitter Ann <ann@example.com> 1795000000 +0000\ndata 5\nLearn\n"
        told = ""
        for files in steps:
            told, base = told + head + base, ""
            for name, text in files.items():
                told += f"M 100644 inline {name}\ndata {len(text.encode())}\n{text}\n"
        words = ["git", "-C", str(self.work), "fast-import", "--quiet", "--force"]
        subprocess.run(words, input=told.encode(), check=True)
        self.git("checkout", "-q", "--detach", "refs/grown")

    def push(self, branch: str) -> None:
        self.git("push", "-q", "origin", f"HEAD:refs/heads/{branch}")

    def shallow(self, ref: str, name: str = "ci") -> Path:
        """What a CI checkout is: one commit, detached, no branch."""
        top = self.path / name
        self.git("init", "-q", top)
        self.git("remote", "add", "origin", f"file://{self.remote}", at=top)
        self.git("fetch", "-q", "--no-tags", "--refmap=", "--depth=1", "origin", ref, at=top)
        self.git("checkout", "-q", "--detach", "FETCH_HEAD", at=top)
        return top


def make_ground(path: Path, files: Mapping[str, str | bytes], branch: str = "gitmem/project") -> Ground:
    """A remote whose branch holds these files, cloned; a request is what is committed from here on."""
    ground = Ground(path)
    path.mkdir(exist_ok=True)
    subprocess.run(["git", "init", "-q", "--bare", ground.remote], check=True)
    subprocess.run(["git", "init", "-q", ground.work], check=True)
    ground.git("remote", "add", "origin", ground.remote)
    ground.git("config", "uploadpack.allowAnySHA1InWant", "false", at=ground.remote)
    ground.commit({}, "Begin a memory")
    ground.commit(files, "Base")
    ground.push(branch)
    ground.git("fetch", "-q", "origin")
    return ground


def make_memory(path: Path, **bodies: str) -> Ground:
    """The same with a memory branch of sound memories of `main`."""
    return make_ground(path, {".gitmem": "format = 1\n", **folder(**(bodies or {"base": "A fact."}))})


def findings(ran: Any) -> list[tuple[str, int, str, str]]:
    """Path, line, rule and level of what `check --json` printed."""
    assert ran.out, ran.err
    value = json.loads(ran.out)
    return [(f["path"], f["line"], f["rule"], f["level"]) for f in value["findings"]]
