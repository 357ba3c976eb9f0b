"""Every way out of the sandbox that was thought of, and that none of them leads anywhere."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import examples

from gitmem.engines.sandbox import Roots, Sandbox
from gitmem.store.git import GitCommand, Result

CANARY = "canary-7f3e9d"
KEY = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
MEMORY = {
    "local/main/known.md": b"---\nname: known\ndescription: one fact\ntype: user\n---\n\nOne fact.\n",
    "local/main/twice.md": b"---\nname: twice\ndescription: two\ntype: user\n---\n\nsame same\n",
    "local/main/MEMORY.md": CANARY.encode(),
    "local/main/.tombstones": CANARY.encode(),
    "local/main/logs/2026/11/2026-11-20.md": b"a log\n",
    "local/reviewer/other.md": b"---\nname: other\ndescription: other\ntype: user\n---\n\nOther.\n",
    "../../outside/letter.txt": CANARY.encode(),
}


class Try(NamedTuple):
    """One call and what becomes of it: `refused` and logged, `wrong` and not logged, or `fine`."""

    tool: str
    input: Any
    outcome: str
    says: str = ""


def bash(command: str, outcome: str = "refused", says: str = "") -> Try:
    return Try("Bash", {"command": command}, outcome, says)


def read(path: object, outcome: str = "refused", says: str = "") -> Try:
    return Try("Read", {"file_path": path}, outcome, says)


def write(path: str, content: object = "text", outcome: str = "refused", says: str = "") -> Try:
    return Try("Write", {"file_path": path, "content": content}, outcome, says)


def grep(says: str = "", outcome: str = "refused", **arguments: object) -> Try:
    return Try("Grep", {"pattern": "canary", **arguments}, outcome, says)


def glob(pattern: str, outcome: str = "refused", **arguments: object) -> Try:
    return Try("Glob", {"pattern": pattern, **arguments}, outcome)


def edit(path: str, old: object, new: object, outcome: str, says: str = "", **arguments: object) -> Try:
    given = {"file_path": path, "old_string": old, "new_string": new, **arguments}
    return Try("Edit", given, outcome, says)


TRIES = [
    # Paths that lead out
    read("../outside/letter.txt", says="leads out"),
    read("src/../../outside/letter.txt", says="leads out"),
    read("memory/../../outside/letter.txt", says="leads out"),
    read("memory/local/main/../../../../outside/letter.txt", says="leads out"),
    read("./././../outside/letter.txt", says="leads out"),
    read("src//..//..//outside/letter.txt", says="leads out"),
    read("{outside}/letter.txt", says="outside of the repository"),
    read("{repo}/../outside/letter.txt", says="leads out"),
    read("{repo}-evil/letter.txt", says="outside of the repository"),
    read("//{outside}/letter.txt", says="outside of the repository"),
    read("/", says="outside of the repository"),
    read("/etc/passwd", says="outside of the repository"),
    read("/proc/self/environ", says="outside of the repository"),
    read("/proc/self/root{outside}/letter.txt", says="outside of the repository"),
    read("/proc/self/cwd/.git/config", says="outside of the repository"),
    read("/dev/stdin", says="outside of the repository"),
    read("/dev/fd/0", says="outside of the repository"),
    read("~/letter.txt", says="no home"),
    read("~root/.bashrc", says="no home"),
    read("$HOME/letter.txt", "wrong", "does not exist"),
    read("file://{outside}/letter.txt", "wrong", "does not exist"),
    read("..\\outside\\letter.txt", "wrong", "does not exist"),
    read("%2e%2e/outside/letter.txt", "wrong", "does not exist"),
    read("src/app.py/../../../outside/letter.txt", says="leads out"),
    read("a" * 5_000, says="at most"),
    read("../" * 400, says="at most"),
    read("", "wrong", "folder"),
    read(None, says="needs file_path"),
    read(7, says="file_path is no string"),
    read(["README.md"], says="file_path is no string"),
    # Names that are spelt to be taken for others
    read("README.md\0.txt", says="control"),
    read("src/app.py\n/etc/passwd", says="control"),
    read("\x1b[2Jsrc/app.py", says="control"),
    read("\u202ecnys/terces", says="control"),
    read("\ud800/app.py", says="control"),
    read("․․/outside/letter.txt", "wrong", "does not exist"),
    read("．．/outside/letter.txt", "wrong", "does not exist"),
    read("..∕outside∕letter.txt", "wrong", "does not exist"),
    read("SRC/app.py", "wrong", "does not exist"),
    read("Memory/local/main/known.md", "wrong", "does not exist"),
    read("mem\u200bory/local/main/known.md", says="control"),
    read("memоry/local/main/known.md", "wrong", "does not exist"),
    # Git's own, and what git does not track
    read(".git/config", says="git's own"),
    read(".GIT/config", says="git's own"),
    read("src/../.git/HEAD", says="git's own"),
    read("git~1/config", says="git's own"),
    read(".git", says="git's own"),
    read("nested/.git/config", says="git's own"),
    read(".g\u200dit/config", says="control"),
    read("untracked.txt", "wrong", "does not track"),
    read("ignored.log", "wrong", "ignores"),
    read("nested", says="no regular file"),
    read("nested/inside.txt", "wrong", "does not exist"),
    # Links, pipes and what was put in a file's place
    read("link-file", says="symbolic link"),
    read("link-chain", says="symbolic link"),
    read("link-inside", says="symbolic link"),
    read("link-etc", says="symbolic link"),
    read("link-loop", says="symbolic link"),
    read("link-dangling", says="symbolic link"),
    read("link-dir", says="symbolic link"),
    read("link-dir/letter.txt", "wrong", "does not exist"),
    read("swapped/letter.txt", says="symbolic link"),
    read("piped", says="no regular file"),
    read("emptied", "wrong", "missing in the work tree"),
    # Credentials, binaries, large files
    read(".env", says="credentials"),
    read(".env.production", says="credentials"),
    read("config/.ENV", says="credentials"),
    read("deploy.pem", says="credentials"),
    read("id_ed25519", says="credentials"),
    read(".npmrc", says="credentials"),
    read(".netrc", says="credentials"),
    read(".pypirc", says="credentials"),
    read("credentials.json", says="credentials"),
    read(".aws/config", says="credentials"),
    read("data.bin", says="binary"),
    read("big.txt", says="larger than"),
    read("src/keys.py", "fine", "[github-pat]"),
    # What the memory tree hides
    read("memory/local/main/MEMORY.md", "wrong", "does not exist"),
    read("memory/local/main/.tombstones", "wrong", "does not exist"),
    read("outside/letter.txt", "wrong", "does not exist"),
    read("memory", "wrong", "folder"),
    # Arguments
    Try("Read", {"file_path": "README.md", "offset": -1}, "refused", "offset"),
    Try("Read", {"file_path": "README.md", "limit": 10**30}, "refused", "limit"),
    Try("Read", {"file_path": "README.md", "offset": True}, "refused", "offset"),
    Try("Read", {"file_path": "README.md", "offset": 10**7}, "fine", "lines"),
    Try("Read", {"file_path": "README.md", "follow": True}, "refused", "no argument"),
    Try("Read", "README.md", "refused", "object"),
    Try("Exec", {"command": "id"}, "refused", "no tool"),
    Try("__class__", {}, "refused", "no tool"),
    # Other commands, and what only a shell does
    bash("id", says="not available"),
    bash("/bin/cat README.md", says="not available"),
    bash("c'a't README.md", "fine", "hello"),
    bash("ca? README.md", says="not available"),
    bash("sh -c 'cat README.md'", says="not available"),
    bash("xargs cat", says="not available"),
    bash("tee memory/local/main/x.md", says="not available"),
    bash("env cat README.md", says="not available"),
    bash("busybox cat README.md", says="not available"),
    bash("git -C . config -l", says="not available"),
    bash("python3 -c 'print(1)'", says="not available"),
    bash(":(){{ :|:& }};:", says="not allowed"),
    bash("cat README.md; id", says="`;`"),
    bash("cat README.md && id", says="`&&`"),
    bash("cat README.md || id", says="`||`"),
    bash("cat README.md & id", says="`&`"),
    bash("cat README.md |& id", says="|&"),
    bash("cat README.md\nid", says="line breaks"),
    bash("cat README.md\r\nid", says="line breaks"),
    bash("cat README.md \\\nid", says="line breaks"),
    bash("cat $(echo README.md)", says="substitution"),
    bash("cat `echo README.md`", says="substitution"),
    bash('cat "$(id)"', says="substitution"),
    bash('cat "`id`"', says="substitution"),
    bash("cat <(id)", says="redirected"),
    bash("cat < {outside}/letter.txt", says="redirected"),
    bash("cat <<EOF", says="redirected"),
    bash("cat <<< text", says="redirected"),
    bash("cat README.md > out.txt", says="redirected"),
    bash("cat README.md >> out.txt", says="redirected"),
    bash("cat README.md 2> {outside}/log", says="redirected"),
    bash("cat README.md 2>/dev/null/../../out", says="redirected"),
    bash("cat README.md 1>&2", says="redirected"),
    bash("cat $HOME/letter.txt", says="variables"),
    bash("cat ${{HOME}}/letter.txt", says="variables"),
    bash('cat "$HOME/letter.txt"', says="variables"),
    bash("cat $'\\x2e\\x2e/letter.txt'", says="variables"),
    bash("cat '$HOME/letter.txt'", "wrong", "does not exist"),
    bash("cat ~/letter.txt", says="no home"),
    bash("cat '~/letter.txt'", says="no home"),
    bash("PATH=/tmp cat README.md", says="variables"),
    bash("cat {{README.md,.git/config}}", says="braces"),
    bash("cat README.md # comment", says="comments"),
    bash("(cat README.md)", says="subshells"),
    bash("cat 'README.md", says="not closed"),
    bash("cat README.md\\", says="backslash"),
    bash("", says="empty"),
    bash("| cat", says="missing"),
    bash("cat README.md |", says="missing"),
    bash("cat README.md | | cat", says="missing"),
    bash("cat README.md" + " | cat" * 20, says="at most"),
    bash("cat " + "a " * 1_000, says="at most"),
    bash("cat " + "x" * 10_000, says="longer"),
    bash("cat\x00README.md", says="control"),
    bash("cat\u00a0README.md", says="control"),
    bash("cat \ud800", says="control"),
    # Files by way of commands
    bash("cat {outside}/letter.txt", says="outside of the repository"),
    bash("cat ../outside/letter.txt", says="leads out"),
    bash('cat ".."/"outside"/letter.txt', says="leads out"),
    bash("cat .\\./outside/letter.txt", says="leads out"),
    bash("cat README.md ../outside/letter.txt", says="leads out"),
    bash("cat -- ../outside/letter.txt", says="leads out"),
    bash("cat ../outside/letter.txt 2>/dev/null", says="leads out"),
    bash("cat ../*/letter.txt", says="leads out"),
    bash("cat /*/passwd", says="outside of the repository"),
    bash("cat link-*", says="symbolic link"),
    bash("cat .en*", says="credentials"),
    bash("cat .g*/config", "wrong", "does not exist"),
    bash("cat [.]git/config", "wrong", "does not exist"),
    bash("cat -", says="no input"),
    bash("cat", says="no input"),
    bash("cat README.md | cat - link-file", says="symbolic link"),
    bash("ls /", says="outside of the repository"),
    bash("ls ..", says="leads out"),
    bash("ls -la .git", says="git's own"),
    bash("ls -R link-dir", "fine", "link-dir"),
    bash("ls --color=always", says="not allowed"),
    bash("ls --hyperlink", says="not allowed"),
    bash("ls -a", "fine", ".env"),
    bash("stat -c %i README.md", says="not allowed"),
    bash("stat --printf=%n README.md", says="not allowed"),
    bash("stat -f /", says="not allowed"),
    bash("stat link-file", says="symbolic link"),
    bash("wc --files0-from=README.md", says="not allowed"),
    bash("wc --files0-from - README.md", says="not allowed"),
    bash("wc -c .env", says="credentials"),
    bash("head -c -0 big.txt", says="larger than"),
    bash("head -c 99999999999999 README.md", says="no number"),
    bash("head -n 5K README.md", says="no number"),
    bash("head --lines", says="needs a value"),
    bash("head -z README.md", says="not allowed"),
    bash("tail -f README.md", says="not allowed"),
    bash("tail -F README.md", says="not allowed"),
    bash("tail --pid=1 README.md", says="not allowed"),
    bash("tail --follow README.md", says="not allowed"),
    bash("tail -n +1 ../outside/letter.txt", says="leads out"),
    bash("README.md", says="not available"),
    # grep
    bash("grep canary -r /", says="outside of the repository"),
    bash("grep -r canary ..", says="leads out"),
    bash("grep -f {outside}/letter.txt README.md", says="not allowed"),
    bash("grep -f../outside/letter.txt README.md", says="not allowed"),
    bash("grep --file=../outside/letter.txt README.md", says="not allowed"),
    bash("grep -rf .env .", says="not allowed"),
    bash("grep hello README.md -f .env", says="not allowed"),
    bash("grep --exclude-from=.env x README.md", says="not allowed"),
    bash("grep -1 x README.md", "fine"),
    bash("grep -D read canary piped", says="not allowed"),
    bash("grep --binary-files=text canary data.bin", says="not allowed"),
    bash("grep -a canary data.bin", says="not allowed"),
    bash("grep canary data.bin", says="binary"),
    bash("grep -R canary", "fine", "not read"),
    bash("grep -rn canary . --include=*", "fine"),
    bash("grep -r '' .env", says="credentials"),
    bash("grep -rc '' link-dir", says="symbolic link"),
    bash("grep -rho 'ghp_[A-Za-z0-9]*' .", "fine"),
    bash("grep -rl 'ghp_A' .", "fine"),
    bash("grep -rL 'ghp_A' src", "fine", "src/keys.py"),
    bash("grep -ro 'ghp_A.' src/keys.py", "fine"),
    bash("grep -- -r README.md", "fine"),
    bash("grep -e", says="needs a value"),
    bash("grep", says="missing"),
    bash("grep -E '(a+)+$' long.txt", "fine"),
    bash("grep -E '(a|a)*b' long.txt", "fine"),
    bash("grep -E '(.*)*=(.*)*=(.*)*=' long.txt", "fine"),
    bash("grep -P '(?=canary)' README.md", says="not supported"),
    bash("grep -P '(a*)\\1' README.md", says="back references"),
    bash("grep '\\(a*\\)\\1' README.md", says="back references"),
    bash("grep -E '((a{{200}}){{200}}){{200}}' README.md", says="too large"),
    bash("grep -E '(((((()){{200}}){{200}}){{200}}){{200}}){{200}}' README.md", says="too large"),
    bash("grep -E 'a{{9999}}' README.md", says="at most"),
    bash("grep -E '" + "(" * 200 + ")" * 200 + "' README.md", says="deeper"),
    bash("grep -E '" + "a*" * 400 + "' long.txt", "fine"),
    bash("grep '[[:foo:]]' README.md", says="no class"),
    bash("grep '[' README.md", says="bracket"),
    # find
    bash("find / -name passwd", says="outside of the repository"),
    bash("find .. -name letter.txt", says="leads out"),
    bash("find . -exec cat {{}} +", says="braces|not allowed"),
    bash("find . -exec cat '{{}}' +", says="not allowed"),
    bash("find . -execdir id", says="not allowed"),
    bash("find . -ok id", says="not allowed"),
    bash("find . -delete", says="not allowed"),
    bash("find . -fprint out.txt", says="not allowed"),
    bash("find . -fls out.txt", says="not allowed"),
    bash("find . -fprintf out.txt %p", says="not allowed"),
    bash("find . -printf %l", says="not allowed"),
    bash("find . -ls", says="not allowed"),
    bash("find . -newer {outside}/letter.txt", says="not allowed"),
    bash("find . -newerXY x", says="not allowed"),
    bash("find . -samefile {outside}/letter.txt", says="not allowed"),
    bash("find . -lname '*'", says="not allowed"),
    bash("find . -files0-from list", says="not allowed"),
    bash("find . -regex '.*'", says="not allowed"),
    bash("find . -type l", says="f or d"),
    bash("find -L link-dir -name letter.txt", says="not allowed"),
    bash("find -H link-dir", says="not allowed"),
    bash("find link-dir/ -name letter.txt", "fine"),
    bash("find . -follow", says="not allowed"),
    bash("find . -name", says="needs a value"),
    bash("find . -maxdepth -1", says="no number"),
    bash("find . " + "'(' " * 50, says="deeper"),
    bash("find . -size +0 -path '*letter*'", "fine"),
    bash("find . -name '" + "*a" * 200 + "'", "fine"),
    bash("find . -name '" + "*a" * 400 + "'", says="longer"),
    # The Grep and Glob tools
    grep(path="/", says="outside of the repository"),
    grep(path="../outside", says="leads out"),
    grep(path=".git", says="git's own"),
    grep(path=".env", says="credentials"),
    grep(path="link-file", says="symbolic link"),
    grep(path="link-dir/letter.txt", outcome="wrong"),
    grep(outcome="fine", output_mode="content"),
    grep(outcome="fine", glob="../**"),
    grep(glob="{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", says="more than"),
    grep(multiline=True, says="no argument"),
    grep(output_mode="raw", says="output_mode"),
    grep(**{"-A": "5"}, says="-A"),
    Try("Grep", {"pattern": "a" * 5_000}, "refused", "longer"),
    Try("Grep", {"pattern": "(a*)*" * 5 + "$", "path": "long.txt"}, "fine"),
    Try("Grep", {"pattern": "ghp_A", "path": "src"}, "fine", "No matches"),
    glob("/**"),
    glob("../**"),
    glob("src/../../**"),
    glob("/etc/*"),
    glob("{outside}/*"),
    glob("~/*"),
    glob(".git/*"),
    glob("**/letter.txt", path="/"),
    glob("**/*" * 100, "fine"),
    glob("{" * 200 + "}" * 200, "fine"),
    # Writing
    write("README.md", says="only files in memory/"),
    write("src/new.py", says="only files in memory/"),
    write("/etc/cron.d/x", says="outside of the repository"),
    write("{outside}/new.md", says="outside of the repository"),
    write(".git/hooks/post-commit", says="git's own"),
    write("memory/../.git/hooks/post-commit", says="git's own"),
    write("memory/../../outside/new.md", says="leads out"),
    write("memory/../src/new.md", says="only files in memory/"),
    write("memory/local/main/../main/new.md", says="no `..`"),
    write("memory/local/../project/main/new.md", says="no `..`"),
    write("memory/local/main/MEMORY.md", says="indexes"),
    write("memory/local/main/memory.md", says="indexes|looks like"),
    write("memory/local/main/MEMORY.MD", says="cannot be written"),
    write("memory/local/main/.tombstones", says="cannot be written"),
    write("memory/local/main/.hidden.md", says="cannot be written"),
    write("memory/local/main/archive/ab/new.md", says="cannot be written"),
    write("memory/local/main/logs/2026/11/2026-11-21.md", says="cannot be written"),
    write("memory/local/main/sub/new.md", says="cannot be written"),
    write("memory/local/reviewer/new.md", says="cannot be written"),
    write("memory/local/reviewer/other.md", says="cannot be written"),
    write("memory/local/new.md", says="cannot be written"),
    write("memory/new.md", says="cannot be written"),
    write("memory", says="only files"),
    write("memory/", says="only files"),
    write("memory/team/main/new.md", says="cannot be written"),
    write("memory/LOCAL/main/new.md", says="cannot be written"),
    write("memoryEVIL/local/main/new.md", says="only files"),
    write("sessions/s1.md", says="only files"),
    write("memory/local/main/new.txt", says="cannot be written"),
    write("memory/local/main/new.md.", says="ends with a dot"),
    write("memory/local/main/new.md ", says="cannot be written"),
    write("memory/local/main/new.md:stream.md", says="colon"),
    write("memory/local/main/con.md", says="device"),
    write("memory/local/main/a\\b.md", says="separator"),
    write("memory/local/main/..%2fx.md", says="percent"),
    write("memory/local/main/nеw.md", says="mixes"),
    write("memory/local/main/e\u0301.md", says="NFC"),
    write("memory/local/main/" + "x" * 260 + ".md", says="longer than"),
    write("memory/local/main/KNOWN.md", says="same file"),
    write("memory/local/main/known.md", outcome="wrong", says="read it first"),
    write("memory/local/main/large.md", "x" * 102_401, says="larger than"),
    write("memory/local/main/large.md", "é" * 60_000, says="larger than"),
    write("memory/local/main/odd.md", "a\0b", says="control"),
    write("memory/local/main/odd.md", "\x1b[31mred", says="control"),
    write("memory/local/main/odd.md", "\ud800", says="Unicode"),
    write("memory/local/main/odd.md", 7, says="content is no string"),
    write("memory/local/main/odd.md", None, says="needs content"),
    write("memory/local/main/odd.md", "   \n", outcome="wrong", says="empty"),
    edit("memory/local/main/known.md", "One", "Two", "wrong", "read"),
    edit("memory/local/main/absent.md", "One", "Two", "wrong", "does not exist"),
    edit("memory/local/reviewer/other.md", "Other", "Mine", "refused", "cannot be written"),
    edit("README.md", "hello", "bye", "refused", "only files"),
    edit("link-file", "a", "b", "refused", "only files"),
    edit("memory/local/main/known.md", 1, 2, "refused", "old_string"),
    edit("memory/local/main/known.md", "a", "b", "refused", "replace_all", replace_all="yes"),
]  # fmt: skip


class Ground(NamedTuple):
    repo: Path
    outside: Path


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    """A repository with everything in it that a hostile one could hold, and a folder beside it."""
    top = tmp_path_factory.mktemp("ground")
    outside, repo = top / "outside", top / "repo"
    (outside / "deep").mkdir(parents=True)
    for name in ("letter.txt", "deep/letter.txt"):
        (outside / name).write_text(CANARY)
    (top / "repo-evil").mkdir()
    (top / "repo-evil/letter.txt").write_text(CANARY)
    _git(top, "init", "-q", str(repo))
    files = {
        "README.md": "hello\nworld\n",
        "src/app.py": "print('hello')\n",
        "src/keys.py": f'token = "{KEY}"\n',
        "long.txt": "a" * 1_900 + "!\n",
        "big.txt": CANARY + "\n" + "x" * 2_000_000,
        "data.bin": f"\0{CANARY}",
        "swapped/letter.txt": "mine",
        "piped": "mine",
        "emptied": "mine",
        ".gitignore": "*.log\n",
    }
    credentials = (
        ".env .env.production config/.ENV deploy.pem id_ed25519 .npmrc .netrc .pypirc credentials.json"
        " .aws/config"
    )
    for name, text in (files | dict.fromkeys(credentials.split(), CANARY)).items():
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(text)
    links: dict[str, str | Path] = {
        "link-file": outside / "letter.txt",
        "link-dir": outside,
        "link-chain": "link-file",
        "link-inside": "src/app.py",
        "link-etc": "/etc/passwd",
        "link-loop": "link-loop",
        "link-dangling": "nowhere",
    }
    for name, target in links.items():
        (repo / name).symlink_to(target)
    _git(repo, "init", "-q", "nested")
    (repo / "nested/inside.txt").write_text(CANARY)
    _git(repo / "nested", "add", ".")
    _git(repo / "nested", "commit", "-q", "-m", "inside")
    _git(repo, "-c", "advice.addEmbeddedRepo=false", "add", "-A")
    (repo / "untracked.txt").write_text(CANARY)
    (repo / "ignored.log").write_text(CANARY)
    with (repo / ".git/config").open("a") as config:
        config.write(f"# {CANARY}\n")
    # What was a file or a folder when git saw it is something else by now.
    (repo / "swapped/letter.txt").unlink()
    (repo / "swapped").rmdir()
    (repo / "swapped").symlink_to(outside)
    (repo / "piped").unlink()
    os.mkfifo(repo / "piped")
    (repo / "emptied").unlink()
    return Ground(repo, outside)


def _git(cwd: Path, *words: str) -> None:
    names = {
        f"GIT_{who}_{what}": "ann@example.com"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    env = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, **names}
    subprocess.run(["git", *words], cwd=cwd, env=env, check=True, capture_output=True)


@dataclass(frozen=True)
class OnceListed(GitCommand):
    """Asks git once for all tests: the ground does not change."""

    def run(self, args: Sequence[str], **where: Any) -> Result:
        return _once(tuple(args), where["cwd"])


@lru_cache
def _once(args: tuple[str, ...], cwd: Path) -> Result:
    return GitCommand({}).run(args, cwd=cwd)


def sandbox(ground: Ground) -> Sandbox:
    said = {"s1.md": f"[1] person: my token is {KEY}\n"}
    return Sandbox(MEMORY, Roots(ground.repo, said, OnceListed({})))


def standing(ground: Ground) -> list[tuple[str, int, int, int]]:
    """All that lies in the repository and beside it, as it stands."""
    found = []
    for path in sorted(ground.repo.parent.rglob("*")):
        status = path.lstat()
        found.append((str(path), status.st_mode, status.st_mtime_ns, status.st_size))
    return found


def filled(value: Any, ground: Ground) -> Any:
    """The input with the ground's places put in for `{repo}` and `{outside}`; doubled braces are braces."""
    if isinstance(value, dict):
        return {key: filled(one, ground) for key, one in value.items()}
    if not isinstance(value, str):
        return value
    value = value.replace("{repo}", str(ground.repo)).replace("{outside}", str(ground.outside))
    return value.replace("{{", "{").replace("}}", "}")


@pytest.mark.parametrize("one", TRIES, ids=lambda one: f"{one.tool}-{str(one.input)[:60]!a}")
def test_no_call_gets_out(one: Try, ground: Ground) -> None:
    """Each is refused in words that help, or harmless; nothing leaks, and nothing is written anywhere."""
    tools = sandbox(ground)
    before = standing(ground)
    result = tools.call(one.tool, filled(one.input, ground))
    log = "\n".join(tools.log)
    assert result.is_error == (one.outcome != "fine"), result.text
    assert bool(tools.log) == (one.outcome == "refused"), (result.text, log)
    assert any(part in result.text for part in one.says.split("|")), result.text
    assert CANARY not in result.text + log
    assert KEY[:12] not in result.text + log
    assert len(result.text) < 31_000
    assert tools.files == MEMORY
    assert standing(ground) == before


def test_the_table_is_as_long_as_it_should_be() -> None:
    """A corpus that shrinks unseen proves nothing."""
    assert len({(one.tool, str(one.input)) for one in TRIES}) == len(TRIES) >= 250


def test_a_session_is_shown_without_its_credentials(ground: Ground) -> None:
    result = sandbox(ground).call("Read", {"file_path": "sessions/s1.md"})
    assert "my token is [github-pat]" in result.text


def test_a_file_that_is_replaced_by_a_link_after_it_was_listed_is_not_followed(
    ground: Ground, tmp_path: Path
) -> None:
    """The list of names is made once; each opening looks for itself."""
    repo = tmp_path / "own"
    _git(tmp_path, "init", "-q", str(repo))
    (repo / "folder").mkdir()
    (repo / "folder/letter.txt").write_text("mine")
    _git(repo, "add", "-A")
    tools = Sandbox({}, Roots(repo))
    assert "letter.txt" in tools.call("Bash", {"command": "ls folder"}).text
    (repo / "folder/letter.txt").unlink()
    (repo / "folder/letter.txt").symlink_to(ground.outside / "letter.txt")
    assert "symbolic link" in tools.call("Read", {"file_path": "folder/letter.txt"}).text
    (repo / "folder/letter.txt").unlink()
    (repo / "folder").rmdir()
    (repo / "folder").symlink_to(ground.outside)
    result = tools.call("Bash", {"command": "cat folder/letter.txt"})
    assert result.is_error
    assert CANARY not in result.text


def test_a_repository_without_git_shows_no_code(tmp_path: Path) -> None:
    """Where git cannot tell what is tracked, nothing is: better too little than too much."""
    (tmp_path / "note.txt").write_text(CANARY)
    tools = Sandbox(MEMORY, Roots(tmp_path))
    assert tools.call("Bash", {"command": "ls"}).text == "memory\nsessions"
    assert "not shown" in tools.log[0]
    assert CANARY not in tools.call("Bash", {"command": "grep -r canary ."}).text


def test_a_run_of_costly_calls_comes_to_an_end(ground: Ground) -> None:
    """Every call is bounded, and so are all of them together."""
    tools = sandbox(ground)
    heavy = {"pattern": "(a*a*a*a*)*b", "path": "long.txt", "output_mode": "content"}
    assert not tools.call("Grep", heavy).is_error
    tools._budget._steps_left = 100
    assert "too much" in tools.call("Grep", heavy | {"pattern": "(a|b)*!$"}).text


_TYPED = """
    /etc/passwd 2>/dev/null ^
    cat ls find grep head tail wc stat | .. / * - -- -r -n -c -l README.md src memory link-file link-dir
    .env .git ~ $HOME ' " \\ > {} -name -o ( ) ! 5 canary ghp_ ../outside/letter.txt
"""
WORDS = tuple(_TYPED.split())


@settings(max_examples=examples(150))
@given(data=st.data())
def test_no_random_command_line_reaches_outside_or_fails(ground: Ground, data: st.DataObject) -> None:
    """What a model types is anything; an exception would end the extraction."""
    tools = sandbox(ground)
    for _ in range(3):
        parts = data.draw(st.lists(st.sampled_from(WORDS) | st.text(max_size=6), max_size=9))
        result = tools.call("Bash", {"command": data.draw(st.sampled_from([" ", " ", ""])).join(parts)})
        assert result.text
        assert CANARY not in result.text
        assert KEY[:12] not in result.text
    assert tools.files == MEMORY
