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

from gitmem.engines.sandbox import Roots
from gitmem.engines.tools import Sandbox
from gitmem.git.command import GitCommand, GitResult

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


def expression(pattern: str, outcome: str = "refused", says: str = "", path: str = "long.txt") -> Try:
    return Try("Grep", {"pattern": pattern, "path": path, "output_mode": "content"}, outcome, says)


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
    Try("Bash", {"command": "cat README.md"}, "refused", "no tool"),
    # Expressions
    expression("(a+)+$", "fine"),
    expression("(a|a)*b", "fine"),
    expression("(.*)*=(.*)*=(.*)*=", "fine"),
    expression("a*" * 400, "fine"),
    expression("(a*)*" * 5 + "$", "fine"),
    expression("([a!]?){{900}}b", "fine"),
    expression("([a!]?){{900}}b", says="plainer expression", path="wide.txt"),
    expression("(?=canary)", says="cannot be used"),
    expression("(a*)\\1", says="cannot be used"),
    expression("((a{{200}}){{200}}){{200}}", says="cannot be used"),
    expression("(((((()){{200}}){{200}}){{200}}){{200}}){{200}}", says="cannot be used"),
    expression("a{{9999}}", says="cannot be used"),
    expression("(" * 200 + ")" * 200, "fine"),
    expression("[[:foo:]]", says="cannot be used"),
    expression("[", says="cannot be used"),
    expression("\ud800", says="no Unicode"),
    expression("a\nb", "fine", says="No matches"),
    expression("hello(.|\\s)*canary", "fine", says="No matches", path="."),
    expression("a" * 5_000, says="longer"),
    # The Grep and Glob tools
    grep(path="/", says="outside of the repository"),
    grep(path="../outside", says="leads out"),
    grep(path=".git", says="git's own"),
    grep(path=".env", says="credentials"),
    grep(path="link-file", says="symbolic link"),
    grep(path="link-dir/letter.txt", outcome="wrong"),
    grep(outcome="fine", output_mode="content"),
    grep(outcome="fine", glob="../**"),
    grep(glob="{a,b}" * 60, outcome="fine"),
    grep(glob="*a" * 400, outcome="fine"),
    grep(glob="*a" * 600, says="longer"),
    grep(glob="[z-a]", says="cannot be used"),
    grep(path="data.bin", says="binary"),
    grep(path="piped", says="no regular file"),
    grep(path="big.txt", says="larger than"),
    grep(path="swapped/letter.txt", says="symbolic link"),
    grep(outcome="fine", says="not read", path="."),
    grep(path="link-dir", says="no regular file|symbolic link"),
    grep(path="~", says="no home"),
    grep(path="nested", says="no regular file"),
    grep(path="memory/local/main/MEMORY.md", outcome="wrong"),
    grep(path="ignored.log", outcome="wrong", says="ignores"),
    Try("Grep", {"pattern": "ghp_[A-Za-z0-9]*", "output_mode": "content"}, "fine"),
    Try("Grep", {"pattern": "ghp_A", "output_mode": "count"}, "fine"),
    Try("Grep", {"pattern": "", "path": ".env"}, "refused", "credentials"),
    Try("Grep", {"pattern": "", "output_mode": "content"}, "fine"),
    grep(multiline=True, says="no argument"),
    grep(output_mode="raw", says="output_mode"),
    grep(**{"-A": "5"}, says="-A"),
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
    glob("**/letter.txt", "fine"),
    glob("link-dir/*", "fine"),
    glob("[.]git/*", "fine"),
    glob("*a" * 600),
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
    write("memory/local/main/sub.md/new.md", says="cannot be written"),
    write("memory/local/main/.sub/new.md", says="cannot be written"),
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
    made: tuple[tuple[str, int, int, int], ...]


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
        "wide.txt": "a!" * 300_000,
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
    return Ground(repo, outside, standing(top))


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

    def run(self, args: Sequence[str], **where: Any) -> GitResult:
        return _once(tuple(args), where["cwd"])


@lru_cache
def _once(args: tuple[str, ...], cwd: Path) -> GitResult:
    return GitCommand({}).run(args, cwd=cwd)


def sandbox(ground: Ground) -> Sandbox:
    said = {"s1.md": f"[1] person: my token is {KEY}\n"}
    return Sandbox(MEMORY, Roots(ground.repo, said, OnceListed({})))


def standing(top: Path) -> tuple[tuple[str, int, int, int], ...]:
    """All that lies in the repository and beside it, as it stands."""
    found = []
    for folder, folders, files in os.walk(top):
        for path in (f"{folder}/{name}" for name in (*folders, *files)):
            status = os.lstat(path)
            found.append((path, status.st_mode, status.st_mtime_ns, status.st_size))
    return tuple(sorted(found))


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
    result = tools.call(one.tool, filled(one.input, ground))
    log = "\n".join(tools.log)
    assert result.is_error == (one.outcome != "fine"), result.text
    assert bool(tools.log) == (one.outcome == "refused"), (result.text, log)
    assert any(part in result.text for part in one.says.split("|")), result.text
    assert CANARY not in result.text + log
    assert KEY[:12] not in result.text + log
    assert len(result.text) < 31_000
    assert tools.files == MEMORY
    assert standing(ground.repo.parent) == ground.made


def test_what_cannot_be_read_cannot_be_reached_by_another_tool(ground: Ground) -> None:
    """One way of reading a path for all of them."""
    refused = [one.input for one in TRIES if one.tool == "Read" and one.outcome != "fine"]
    for path in (one.get("file_path") for one in refused if isinstance(one, dict)):
        if not isinstance(path, str):
            continue
        given = filled(path, ground)
        for name, input in (
            ("Grep", {"pattern": "", "path": given, "output_mode": "content"}),
            ("Glob", {"pattern": "**", "path": given}),
            ("Glob", {"pattern": given}),
            ("Edit", {"file_path": given, "old_string": "canary", "new_string": "x"}),
            ("Write", {"file_path": given, "content": "x"}),
        ):
            tools = sandbox(ground)
            result = tools.call(name, input)
            assert CANARY not in result.text, (name, given)
            assert tools.files == MEMORY, (name, given)


def test_the_table_is_as_long_as_it_should_be() -> None:
    """A corpus that shrinks unseen proves nothing."""
    assert len({(one.tool, str(one.input)) for one in TRIES}) == len(TRIES) >= 205


def test_a_session_is_shown_without_its_credentials(ground: Ground) -> None:
    result = sandbox(ground).call("Read", {"file_path": "sessions/s1.md"})
    assert "my token is [github-pat]" in result.text


def test_a_file_that_is_replaced_by_a_link_after_it_was_listed_is_not_followed(ground, tmp_path) -> None:
    """The list of names is made once; each opening looks for itself."""
    repo = tmp_path / "own"
    _git(tmp_path, "init", "-q", str(repo))
    (repo / "folder").mkdir()
    (repo / "folder/letter.txt").write_text("mine")
    _git(repo, "add", "-A")
    tools = Sandbox({}, Roots(repo))
    assert "letter.txt" in tools.call("Glob", {"pattern": "folder/*"}).text
    (repo / "folder/letter.txt").unlink()
    (repo / "folder/letter.txt").symlink_to(ground.outside / "letter.txt")
    assert "symbolic link" in tools.call("Read", {"file_path": "folder/letter.txt"}).text
    (repo / "folder/letter.txt").unlink()
    (repo / "folder").rmdir()
    (repo / "folder").symlink_to(ground.outside)
    result = tools.call("Grep", {"pattern": "", "path": "folder/letter.txt", "output_mode": "content"})
    assert result.is_error
    assert CANARY not in result.text


def test_a_repository_without_git_shows_no_code(tmp_path: Path) -> None:
    """Where git cannot tell what is tracked, nothing is: better too little than too much."""
    (tmp_path / "note.txt").write_text(CANARY)
    tools = Sandbox(MEMORY, Roots(tmp_path))
    assert "note.txt" not in tools.call("Glob", {"pattern": "**"}).text
    assert "not shown" in tools.log[0]
    assert tools.call("Grep", {"pattern": "canary"}).text == "No matches."


def test_a_run_of_costly_calls_comes_to_an_end(ground: Ground) -> None:
    """Every call is bounded, and so are all of them together."""
    tools = sandbox(ground)
    heavy = {"pattern": "([a!]?){200}b", "path": "wide.txt", "output_mode": "content"}
    answers = [tools.call("Grep", heavy) for _ in range(60)]
    assert not answers[0].is_error
    assert "too much" in answers[-1].text


_TYPED = r"""
    /etc/passwd .. / * ** ? [ ] [^ [! { } , - . ^ $ ( ) | + \b \w \d \pL {2} {900} README.md src memory
    sessions link-file link-dir .env .git ~ ' " \ 5 canary ghp_ ../outside/letter.txt
"""
WORDS = tuple(_TYPED.split())


@settings(max_examples=examples(150))
@given(data=st.data())
def test_no_random_call_reaches_outside_or_fails(ground: Ground, data: st.DataObject) -> None:
    """What a model types is anything; an exception would end the extraction."""
    tools = sandbox(ground)
    typed = st.lists(st.sampled_from(WORDS) | st.text(max_size=6), max_size=9)
    for _ in range(3):
        text = "".join(data.draw(typed))
        path = "".join(data.draw(typed))
        call = data.draw(
            st.sampled_from(
                [
                    ("Read", {"file_path": path}),
                    ("Grep", {"pattern": text, "output_mode": "content"}),
                    ("Grep", {"pattern": text, "path": path, "glob": path}),
                    ("Glob", {"pattern": path}),
                    ("Glob", {"pattern": text, "path": path}),
                ]
            )
        )
        result = tools.call(*call)
        assert result.text
        assert CANARY not in result.text
        assert KEY[:12] not in result.text
    assert tools.files == MEMORY
