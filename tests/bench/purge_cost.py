"""What a purge costs: one secret out of 10,000 commits, and a clone that follows.

    python tests/bench/purge_cost.py [COMMITS]

Prints JSON: seconds of the purge, of a teammate who agrees to it and syncs, and of `git fast-export |
git fast-import` of the same history in the same process, with the ratio of the first to the last.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

COMMITS = 10_000
MEMORIES = 200
SECRET = "quiet-otter-5150-reykjavik"
BRANCH = "refs/heads/gitmem/project"
_MEMORY = (
    "---\nname: {0}\ndescription: {1}\ntype: project\n---\n\n{1}\n\n**Why:** number {2} was measured.\n"
)


def history(root: str, commits: int) -> Iterator[bytes]:
    """A stream for `git fast-import`: memories that change one by one, the secret in the tenth commit."""
    described = [f"Fact {number} of a team" for number in range(MEMORIES)]
    held = min(10, commits // 2)
    described[held] = f"The key is {SECRET}"
    for number in range(commits):
        at = number % MEMORIES
        text = _MEMORY.format(f"fact-{at}", described[at], number)
        listed = "".join(
            f"- [fact-{one}](fact-{one}.md) — {described[one]}\n"
            for one in range(min(number + 1, MEMORIES))
        )
        who = f"Ann <ann@example.com> {1_700_000_000 + number * 60} +0000"
        message = f"Update fact-{at}: {described[at]}\n\nGitmem-Op: update\n"
        files = {f"main/fact-{at}.md": text, "main/MEMORY.md": listed}
        if number == 0:
            files[".gitmem"] = "format = 1\n"
        yield f"commit {BRANCH}\nauthor {who}\ncommitter {who}\n".encode() + _data(message)
        if number == 0:
            yield f"from {root}\n".encode()
        for path, content in files.items():
            yield f"M 644 inline {path}\n".encode() + _data(content)
        yield b"\n"


def measure(folder: Path, commits: int = COMMITS) -> dict[str, object]:
    """Makes a team of two in a folder, and purges."""
    environ = {
        key: value for key, value in os.environ.items() if not key.startswith(("GIT", "XDG", "CLAUDE"))
    }
    ann, ben = (_clone(folder, name, environ) for name in ("ann", "ben"))
    team = folder / "team.git"
    root = _git(ann, "rev-parse", "--verify", BRANCH, check=False) or _root(ann)
    stream = b"".join(history(root, commits))
    _run(["git", "fast-import", "--quiet", "--force"], ann, stream)
    _gitmem(ann, "share", "--mode", "direct", "-y")
    _gitmem(ann, "sync", "-y")
    _gitmem(ben, "share", "--mode", "direct", "-y")
    _gitmem(ben, "sync", "-y")
    reference = _reference(team, folder / "copy.git", ann[1])
    begun = time.monotonic()
    _gitmem(ann, "purge", SECRET, "-y")
    purged = time.monotonic() - begun
    begun = time.monotonic()
    _git(ben, "fetch", "-q", "origin")
    tip = _git(ben, "rev-parse", "origin/gitmem/project")
    _gitmem(ben, "review", "accept", f"e-{tip[:8]}")
    _gitmem(ben, "sync", "-y")
    followed = time.monotonic() - begun
    return {
        "commits": commits,
        "purge_seconds": round(purged, 2),
        "sync_seconds": round(followed, 2),
        "reference": "git fast-export | git fast-import",
        "reference_seconds": round(reference, 2),
        "ratio": round(purged / reference, 2),
        "left": _left(ann) + _left(ben),
    }


_Place = tuple[Path, dict[str, str]]


def _clone(folder: Path, name: str, environ: dict[str, str]) -> _Place:
    home = folder / name
    home.mkdir()
    (home / ".gitconfig").write_text(
        f"[user]\n\tname = {name}\n\temail = {name}@example.com\n[init]\n\tdefaultBranch = main\n"
    )
    own = environ | {"HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"}
    team, code = folder / "team.git", home / "code"
    if not team.exists():
        seed: _Place = (folder / "seed", own)
        _run(["git", "init", "-q", str(seed[0])], (folder, own))
        _git(seed, "commit", "-q", "--allow-empty", "-m", "first")
        _run(["git", "clone", "-q", "--bare", str(seed[0]), str(team)], (folder, own))
    _run(["git", "clone", "-q", team.as_uri(), str(code)], (folder, own))
    place = (code, own)
    _gitmem(place, "init", "-y")
    return place


def _root(place: _Place) -> str:
    """The commit that every memory begins with."""
    script = (
        "import sys; from pathlib import Path; from gitmem.git.open import open_repository;"
        "from gitmem.git.command import GitCommand; from gitmem.ledger.land import root_commit; import os;"
        "print(root_commit(open_repository(Path('.'), GitCommand(dict(os.environ)), prefer='git')))"
    )
    return _run([sys.executable, "-c", script], place).decode().strip()


def _reference(source: Path, target: Path, environ: dict[str, str]) -> float:
    _run(["git", "init", "-q", "--bare", str(target)], (source, environ))
    begun = time.monotonic()
    words = ["git", "--git-dir", str(source), "fast-export", "--show-original-ids", BRANCH]
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=environ) as export:
        subprocess.run(
            ["git", "--git-dir", str(target), "fast-import", "--quiet", "--force"],
            stdin=export.stdout,
            env=environ,
            check=True,
        )
    return time.monotonic() - begun


def _left(place: _Place) -> int:
    """Objects of a clone that hold the secret."""
    data = _run(["git", "cat-file", "--batch-all-objects", "--batch", "--unordered"], place)
    return data.count(SECRET.encode())


def _gitmem(place: _Place, *words: str) -> str:
    return _run([sys.executable, "-m", "gitmem", *words], place).decode()


def _git(place: _Place, *words: str, check: bool = True) -> str:
    done = subprocess.run(["git", *words], cwd=place[0], env=place[1], capture_output=True, check=False)
    if check and done.returncode:
        raise AssertionError(done.stderr.decode())
    return done.stdout.decode("utf-8", "replace").strip() if not done.returncode else ""


def _run(words: list[str], place: _Place, given: bytes = b"") -> bytes:
    environ = place[1] | {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(words, cwd=place[0], env=environ, input=given, capture_output=True, check=False)
    if done.returncode:
        raise AssertionError(f"{words}: {done.stderr.decode()}{done.stdout.decode()}")
    return done.stdout


def _data(text: str) -> bytes:
    raw = text.encode()
    return b"data %d\n%s\n" % (len(raw), raw)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        print(json.dumps(measure(Path(made), int(sys.argv[1]) if sys.argv[1:] else COMMITS), indent=1))
