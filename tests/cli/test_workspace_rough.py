"""Damaged, foreign and odd repositories: one clear message, the right exit code, and nothing lost."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from once import Once
from ran import Command, Gitmem, Ran
from slices import often

from gitmem.entry import main
from gitmem.git import open as opening

REF = "refs/gitmem/project"
MEMORY = "---\nname: {0}\ndescription: About {0}\ntype: project\n---\n\n{1}\n"

Git = Callable[..., str]


def memory(name: str, body: str = "") -> str:
    return MEMORY.format(name, body or f"The {name} fact.")


@pytest.fixture
def folder(gitmem: Command, repo: Path, once: Once[int]) -> Path:
    """A live directory of the project scope with two memories, and one of the local scope; both saved."""

    def make() -> int:
        gitmem("init", "-y")
        for agent, name in (("", "one"), ("", "two"), ("-local", "mine")):
            live = repo / f".claude/agent-memory{agent}/reviewer"
            live.mkdir(parents=True, exist_ok=True)
            (live / f"{name}.md").write_text(memory(name))
        gitmem("save")
        return gitmem.now

    gitmem.now = once("folder", make)
    gitmem.patch.chdir(repo)
    gitmem.patch.delenv("GITMEM_DISABLE")
    return repo / ".claude/agent-memory/reviewer"


@pytest.fixture(params=["libgit2", pytest.param("git", marks=pytest.mark.long)])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What opens repositories, for commands that may use either."""
    if request.param == "git":
        monkeypatch.setattr(opening, "_libgit2", lambda *_: None)
    return str(request.param)


def files(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def names(ran: Ran) -> set[str]:
    return {entry["name"] for entry in ran.json}


def process(
    *words: object, cwd: Path, env: Mapping[str, str] | None = None, before: Sequence[str] = (), **more: Any
) -> Ran:
    """Runs gitmem in a process of its own, with words before it."""
    code = Path(__file__).parents[2]
    whole = {**os.environ, "PYTHONPATH": str(code), "GITMEM_NOW": "1795000900", **(env or {})}
    done = subprocess.run(
        [*before, sys.executable, "-m", "gitmem", *map(str, words)],
        cwd=cwd,
        env=whole,
        capture_output=True,
        **more,
    )
    return Ran(
        done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    )


# Objects


def loose(git: Git, repo: Path, revision: str) -> Path:
    oid = git("-C", repo, "rev-parse", revision)
    path = repo / ".git/objects" / oid[:2] / oid[2:]
    path.chmod(0o644)
    return path


def drop(git: Git, repo: Path, revision: str) -> None:
    loose(git, repo, revision).unlink()


def garble(git: Git, repo: Path, revision: str) -> None:
    path = loose(git, repo, revision)
    path.write_bytes(path.read_bytes()[:-4] + b"xxxx")


def garble_packed(git: Git, repo: Path, revision: str) -> None:
    """The object as a pack has it, with bytes in the middle of it overwritten."""
    oid = git("-C", repo, "rev-parse", revision)
    kept = git("-C", repo, "rev-list", "--objects", "--no-object-names", "--all").split()
    (repo / ".git/objects/pack").mkdir(exist_ok=True)
    pack = repo / ".git/objects/pack/pack"
    stem = git("-C", repo, "pack-objects", "-q", "--window=0", pack, input="\n".join(kept))
    git("-C", repo, "prune-packed", "-q")
    pack = pack.with_name(f"pack-{stem}.pack")
    listed = git("-C", repo, "verify-pack", "-v", pack).splitlines()
    offset, size = next((int(row[4]), int(row[3])) for row in map(str.split, listed) if row[0] == oid)
    data = bytearray(pack.read_bytes())
    data[offset + 3 : offset + size] = b"\xff" * (size - 3)
    pack.chmod(0o644)
    pack.write_bytes(data)


@pytest.mark.parametrize("damage", [drop, garble, garble_packed])
def test_a_memory_whose_content_is_gone_is_named_and_the_others_are_read(
    damage: Callable[..., None], backend: str, gitmem: Gitmem, git: Git, repo: Path, folder: Path
) -> None:
    damage(git, repo, f"{REF}:reviewer/one.md")
    before = files(folder)
    shutil.rmtree(repo / ".git/gitmem")
    (repo / ".git/gitmem").mkdir()
    listed = gitmem("list", "--json")
    assert names(listed) == {"two", "mine"} and "project/reviewer/one.md" in listed.err
    shown = gitmem("show", "one", ok=False)
    assert shown.code == 3 and "project/reviewer/one.md" in shown.err and "git mem doctor" in shown.err
    assert "The two fact." in gitmem("show", "two").out
    assert "two" in gitmem("recall", "two fact").out
    status = gitmem("status", "--json").json["scopes"][0]
    assert "reviewer/one.md" in status["unreadable"]
    assert files(folder) == before
    # The live directory still has the very content.
    assert gitmem("doctor", "-y").code in (0, 1)
    assert names(gitmem("list", "--json")) == {"one", "two", "mine"}


@pytest.mark.parametrize("what", ["^{tree}", ":reviewer", ""])
@pytest.mark.parametrize(
    "damage", [drop, *(pytest.param(it, marks=pytest.mark.long) for it in (garble, garble_packed))]
)
def test_a_tree_or_commit_that_is_gone_blocks_nothing_else(
    damage: Callable[..., None], what: str, gitmem: Gitmem, git: Git, repo: Path, folder: Path
) -> None:
    damage(git, repo, REF + what)
    (folder / "three.md").write_text(memory("three"))
    mine = repo / ".claude/agent-memory-local/reviewer"
    (mine / "more.md").write_text(memory("more"))
    before = files(folder)
    saved = gitmem("save", ok=False)
    assert saved.code == 3 and "git mem doctor" in saved.err and saved.err.startswith("gitmem: ")
    listed = gitmem("list", "--json")
    assert names(listed) == {"mine", "more"} and "cannot be read: project" in listed.err
    assert gitmem("show", "two", ok=False).code == 3
    assert "more" in gitmem("recall", "more fact").out
    assert gitmem("status").code == 0
    assert gitmem("remember", "Name branches by their ticket.").code == 0
    assert gitmem("move", "mine", "--to", "project", ok=False).code == 3
    assert names(gitmem("list", "--json", "--scope", "local")) >= {"mine", "more"}
    assert files(folder) == before and "mine.md" in files(mine)


# Refs


def to_tag(git: Git, repo: Path) -> None:
    git("-C", repo, "tag", "-a", "mark", "-m", "mark", REF)
    (repo / ".git" / REF).write_text(git("-C", repo, "rev-parse", "refs/tags/mark") + "\n")


def to_blob(git: Git, repo: Path) -> None:
    (repo / ".git" / REF).write_text(git("-C", repo, "hash-object", "-w", "--stdin", input="x") + "\n")


def to_code(git: Git, repo: Path) -> None:
    git("-C", repo, "update-ref", REF, "HEAD")


def to_link(git: Git, repo: Path) -> None:
    git("-C", repo, "symbolic-ref", REF, "refs/heads/main")


def to_broken_link(git: Git, repo: Path) -> None:
    git("-C", repo, "symbolic-ref", REF, "refs/heads/none")


def to_garbage(git: Git, repo: Path) -> None:
    (repo / ".git" / REF).write_text("garbage\n")


@pytest.mark.parametrize(
    "point",
    often([to_tag, to_blob, to_code, to_link, to_broken_link, to_garbage], to_code, to_link, to_garbage),
)
def test_a_memory_ref_that_points_at_something_else_is_never_written_through(
    point: Callable[..., None], backend: str, gitmem: Gitmem, git: Git, repo: Path, folder: Path
) -> None:
    """Written through a link, the person's branch would move under index and HEAD; a commit of code taken
    for memory would be one that lost all that was learned, and take the live files along."""
    point(git, repo)
    there = (repo / ".git" / REF).read_text()
    heads = git("-C", repo, "for-each-ref", "refs/heads", "refs/tags")
    (folder / "three.md").write_text(memory("three"))
    before = files(folder)
    saved = gitmem("save", ok=False)
    assert saved.code == 3 and "hint: " in saved.err and saved.out == ""
    for words in (
        ["undo"],
        ["dream", "--force", "--scope", "project"],
        ["forget", "one"],
        ["move", "mine", "--to", "project"],
    ):
        assert gitmem(*words, ok=False).code == 3, words
    listed = gitmem("list", "--json")
    assert names(listed) == {"mine"} and "cannot be read: project" in listed.err
    assert gitmem("status").code == 0
    assert files(folder) == before and (repo / ".git" / REF).read_text() == there
    assert git("-C", repo, "for-each-ref", "refs/heads", "refs/tags") == heads
    gitmem("doctor", "-y", ok=False)
    assert git("-C", repo, "for-each-ref", "refs/heads", "refs/tags") == heads
    gitmem("save")
    assert names(gitmem("list", "--json")) == {"one", "two", "three", "mine"}


def test_a_hostile_tree_is_shown_escaped_and_never_followed(gitmem, git, repo, folder, tmp_path) -> None:
    (tmp_path / "secret").write_text("of the system")
    blob = git("-C", repo, "rev-parse", f"{REF}:reviewer/one.md")
    link = git("-C", repo, "hash-object", "-w", "--stdin", input=str(tmp_path / "secret"))
    code = git("-C", repo, "rev-parse", "HEAD")
    odd = [
        f"160000 commit {code}\tsub.md",
        f"120000 blob {link}\tlink.md",
        f"100755 blob {blob}\trun.md",
    ]
    spelled = ["One", "CON", "café", "café", "back\\slash", "%2e%2e%2fup", "new\nline", "\x1b[31mred"]
    odd += [f"100644 blob {blob}\t{name}.md" for name in spelled]
    inner = git("-C", repo, "ls-tree", f"{REF}:reviewer").splitlines()
    agent = git("-C", repo, "mktree", "-z", input="\0".join([*inner, *odd]) + "\0")
    root = [row for row in git("-C", repo, "ls-tree", REF).splitlines() if not row.endswith("reviewer")]
    root += [f"040000 tree {agent}\t{name}" for name in ("reviewer", "Re\x1bviewer")]
    root += [f"160000 commit {code}\tsubagent", f"120000 blob {link}\tlinkagent"]
    tree = git("-C", repo, "mktree", "-z", input="\0".join(root) + "\0")
    tip = git("-C", repo, "commit-tree", tree, "-p", REF, "-m", "odd")
    git("-C", repo, "update-ref", REF, tip)
    (folder / "three.md").write_text(memory("three"))
    gitmem("save")
    for words in (["list", "-a"], ["status", "-v"], ["log"], ["recall", "one fact"], ["doctor", "-n"]):
        ran = gitmem(*words, ok=False)
        assert ran.code in (0, 1), words
        assert "\x1b" not in ran.out + ran.err and "of the system" not in ran.out
    assert names(gitmem("list", "--json")) == {"one", "two", "three", "mine"}
    laid = set(files(folder))
    # Where case makes no difference one would be laid out over the other.
    assert {"one.md", "run.md", "three.md"} <= laid and "One.md" not in laid
    assert not laid & {"link.md", "CON.md"}
    assert not [name for name in laid if {"\n", "\\", "\x1b"} & {*name}]
    assert not (folder / "run.md").stat().st_mode & 0o111
    assert not {"Re\x1bviewer", "subagent"} & {path.name for path in folder.parent.iterdir()}
    kept = git("-C", repo, "ls-tree", "-r", "--name-only", "-z", REF).split("\0")
    assert {"reviewer/link.md", "reviewer/new\nline.md", "linkagent", "subagent"} <= set(kept)


# Sizes


SHAPES = {
    "line": "y" * 1_000_000,
    "lines": "\n".join(f"line {number}" for number in range(100_000)),
    "deep": "\n".join("  " * level + "- item" for level in range(200)),
    "quotes": ">" * 20_000 + " text",
    "brackets": "[" * 50_000,
}


def test_a_memory_of_any_shape_is_listed_shown_and_saved_around(gitmem, git, repo, folder) -> None:
    rows = git("-C", repo, "ls-tree", f"{REF}:reviewer").splitlines()
    for name, body in SHAPES.items():
        blob = git("-C", repo, "hash-object", "-w", "--stdin", input=memory(name, body))
        rows.append(f"100644 blob {blob}\t{name}.md")
    agent = git("-C", repo, "mktree", input="\n".join(rows) + "\n")
    root = [row for row in git("-C", repo, "ls-tree", REF).splitlines() if not row.endswith("reviewer")]
    tree = git("-C", repo, "mktree", input="\n".join([*root, f"040000 tree {agent}\treviewer"]) + "\n")
    git("-C", repo, "update-ref", REF, git("-C", repo, "commit-tree", tree, "-p", REF, "-m", "big"))
    (folder / "three.md").write_text(memory("three"))
    gitmem("save")
    gitmem("save")
    assert names(gitmem("list", "--json")) == {"one", "two", "three", "mine", *SHAPES}
    for name, body in SHAPES.items():
        assert body[-40:] in gitmem("show", name).out, name
    left = git("-C", repo, "ls-tree", f"{REF}:reviewer").splitlines()
    assert set(rows[-len(SHAPES) :]) <= set(left)


# Places


@pytest.mark.long
def test_a_read_only_git_directory_is_read_and_not_written(repo: Path, folder: Path) -> None:
    bound = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    if bound and shutil.which("setpriv") is None:
        pytest.skip("root may write anywhere, and there is no setpriv to take that away")

    def run(*words: str) -> Ran:
        return process(*words, cwd=repo, before=bound)

    (folder / "one.md").write_text(memory("one", "Another fact."))
    subprocess.run(["chmod", "-R", "a-w", str(repo / ".git")], check=True)
    try:
        assert names(run("list", "--json")) == {"one", "two", "mine"}
        assert "one" in run("recall", "one fact").out and run("status").code == 0
        for words in (["save"], ["remember", "x y z", "--scope", "project", "--type", "project"], ["undo"]):
            ran = run(*words)
            assert ran.code == 3 and "hint: " in ran.err, (words, ran.err)
        assert "Another fact." in (folder / "one.md").read_text()
    finally:
        subprocess.run(["chmod", "-R", "u+w", str(repo / ".git")], check=True)
    assert run("save").code == 0 and "Another fact." in run("show", "one").out


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a repository away")
def test_anothers_repository_is_refused_with_the_way_to_trust_it(gitmem, git, repo, folder) -> None:
    subprocess.run(["chown", "-R", "65534:65534", str(repo)], check=True)
    for words in (["list"], ["save"], ["init", "-y"]):
        ran = gitmem(*words, ok=False)
        assert ran.code == 3 and "dubious ownership" in ran.err and "safe.directory" in ran.err
    git("config", "--global", "--add", "safe.directory", repo)
    assert names(gitmem("list", "--json")) == {"one", "two", "mine"}
    gitmem("save")


@pytest.mark.long
@pytest.mark.parametrize("size", [0, 200])
def test_a_disk_that_takes_no_more_loses_nothing(size: int, git: Git, repo: Path, folder: Path) -> None:
    (folder / "three.md").write_text(memory("three", "word " * 5000))
    before = files(folder)
    tip = git("-C", repo, "rev-parse", REF)

    def full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    for words in (
        ["save"],
        ["remember", "x y z", "--scope", "project", "--type", "project"],
        ["undo"],
        ["dream", "--force"],
    ):
        ran = process(*words, cwd=repo, preexec_fn=full)
        assert ran.code == 3 and "Free some disk space" in ran.err, ran.err
    assert process("list", cwd=repo, preexec_fn=full).code == 0
    assert files(folder) == before and git("-C", repo, "rev-parse", REF) == tip
    assert process("save", cwd=repo).code == 0
    assert git("-C", repo, "show", f"{REF}:reviewer/three.md") == before["three.md"].strip()
    git("-C", repo, "fsck", "--strict")


@pytest.mark.parametrize("where", ["/dev/null/home", ""])
def test_a_home_that_cannot_be_used(where: str, gitmem, git, repo, tmp_path, monkeypatch) -> None:
    """No HOME at all is the one of the password file, so there the data folder is what cannot be made."""
    (tmp_path / "file").write_text("")
    for key, value in (("user.name", "Ann"), ("user.email", "ann@example.com")):
        git("-C", repo, "config", key, value)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file/data"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    if where:
        monkeypatch.setenv("HOME", where)
    else:
        monkeypatch.delenv("HOME")
    ran = gitmem("init", "-y", ok=False)
    assert ran.code == 3 and "cannot be " in ran.err and "hint: " in ran.err
    ran = gitmem("list", ok=False)
    assert ran.code == 3 and "hint: Run: git mem init" in ran.err, "what was not begun is not damaged"


@pytest.mark.parametrize(
    "now",
    [
        "946684800",
        "99999999999999",
        "soon",
        *(pytest.param(now, marks=pytest.mark.long) for now in ("4102444800", "0", "-5", "1e400")),
    ],
)
def test_a_clock_that_jumps(now: str, gitmem, git, repo, folder, monkeypatch, capsys) -> None:
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    time.tzset()

    def then(*words: str) -> None:
        monkeypatch.setenv("GITMEM_NOW", now)
        monkeypatch.setattr(sys, "argv", ["gitmem", *words])
        assert main() == 0, (words, capsys.readouterr().err)

    for text in ("Then.", "Thereafter."):
        (folder / "one.md").write_text(memory("one", text))
        then("save")
    for line in ("list", "log", "recall one", "status", "dream status", "blame one"):
        then(*line.split())
    (folder / "one.md").write_text(memory("one", "Now."))
    gitmem("save")
    assert "Now." in gitmem("show", "one").out and "Thereafter." in gitmem("show", "one", "--at", "~1").out
    assert len(gitmem("log", "one", "--json").json) == 4
    git("-C", repo, "fsck", "--strict")
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    "name",
    [
        b"a b'c\"d$(e)",
        b"bad\xff",
        *(pytest.param(name, marks=pytest.mark.long) for name in ("\u00fc \u00f1".encode(), b"-n")),
    ],
)
def test_a_path_of_any_bytes(name: bytes, gitmem: Gitmem, repo: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(repo.parent) + b"/at/" + name))
    path.parent.mkdir()
    repo.rename(path)
    gitmem("init", "-y", cwd=path)
    live = path / ".claude/agent-memory/reviewer"
    live.mkdir(parents=True)
    (live / "one.md").write_text(memory("one"))
    gitmem("save", cwd=path)
    gitmem("remember", "Name branches by their ticket.", cwd=path)
    assert len(gitmem("list", "--json", cwd=path).json) == 2
    for words in (["status", "-v"], ["status", "--json"], ["log"], ["recall", "one"], ["dream", "--force"]):
        ran = gitmem(*words, cwd=path)
        (ran.out + ran.err).encode()
    assert gitmem("doctor", "-n", cwd=path, ok=False).code in (0, 1)


@pytest.mark.parametrize("known", ["name = Ann", "email = ann@example.com"])
def test_half_an_identity_is_none(known: str, gitmem: Gitmem, repo: Path, folder: Path, home: Path) -> None:
    (home / ".gitconfig").write_text(f"[user]\n\t{known}\n")
    (folder / "three.md").write_text(memory("three"))
    ran = gitmem("save", ok=False)
    assert ran.code == 3 and "git config --global user.name" in ran.err
    assert names(gitmem("list", "--json")) == {"one", "two", "mine"} and gitmem("status").code == 0


def test_a_path_with_a_line_break_is_refused(gitmem: Gitmem, repo: Path) -> None:
    path = repo.with_name("new\nline")
    repo.rename(path)
    for words in (["init", "-y"], ["list"], ["doctor", "-n"]):
        ran = gitmem(*words, cwd=path, ok=False)
        assert ran.code == 3 and "line break" in ran.err and len(ran.err.splitlines()) == 2


def test_a_file_where_the_clients_folder_should_be(gitmem: Gitmem, repo: Path, folder: Path) -> None:
    aside = repo.parent / "aside"
    (repo / ".claude").rename(aside)
    (repo / ".claude").write_text("a file")
    assert names(gitmem("list", "--json")) == {"one", "two", "mine"}
    assert gitmem("status").code == 0
    saved, again = gitmem("save", ok=False), gitmem("init", "-y", ok=False)
    assert saved.code == again.code == 3 and "a folder should be" in saved.err and "no folder" in again.err
    assert (repo / ".claude").read_text() == "a file"
    (repo / ".claude").unlink()
    aside.rename(repo / ".claude")
    gitmem("save")
    assert names(gitmem("list", "--json")) == {"one", "two", "mine"}


def test_a_link_where_the_clients_folder_should_be(gitmem: Gitmem, repo: Path, folder: Path) -> None:
    aside = repo.parent / "aside"
    (repo / ".claude").rename(aside)
    (repo / ".claude").symlink_to(aside)
    before = files(aside / "agent-memory/reviewer")
    gitmem("save")
    gitmem("remember", "The port is 80.", "--scope", "project", "--type", "project", "--agent", "reviewer")
    told = gitmem("init", "-y").err
    assert ".claude is a link" in told and "Replace it by what it points at" in told
    assert files(aside / "agent-memory/reviewer") == before
    assert len(names(gitmem("list", "--json"))) == 4


# Branches


@pytest.fixture
def team(git: Git, repo: Path, tmp_path: Path) -> Path:
    """A remote that has the code."""
    path = tmp_path / "team.git"
    git("clone", "-q", "--bare", repo, path)
    git("-C", repo, "remote", "add", "origin", path)
    git("-C", repo, "fetch", "-q")
    return path


def test_a_branch_named_gitmem_is_in_the_way_of_sharing_alone(gitmem, git, repo, folder, team) -> None:
    """Here, and at the remote, where it is no lost race."""
    git("-C", repo, "branch", "gitmem")
    (folder / "three.md").write_text(memory("three"))
    gitmem("save")
    ran = gitmem("share", "-y", ok=False)
    assert ran.code == 3 and "git branch -m gitmem" in ran.err
    git("-C", repo, "branch", "-D", "gitmem")
    git("-C", team, "branch", "gitmem", "main")
    gitmem("share", "--mode", "direct", "-y")
    ran = gitmem("sync", "-y", ok=False)
    assert ran.code == 3 and "in the way there" in ran.err and "exists; cannot create" in ran.err
    assert names(gitmem("list", "--json")) == {"one", "two", "three", "mine"}


def test_a_branch_of_code_where_memory_would_be_is_not_merged(gitmem, git, repo, folder, team) -> None:
    git("-C", repo, "branch", "gitmem/project", "main")
    ran = gitmem("share", "--mode", "direct", "-y", ok=False)
    assert ran.code == 3 and "refs/heads/gitmem/project" in ran.err and "no memory" in ran.err
    assert names(gitmem("list", "--json")) == {"one", "two", "mine"}
    git("-C", repo, "branch", "-D", "gitmem/project")
    git("-C", team, "branch", "gitmem/project", "main")
    gitmem("share", "--mode", "direct", "-y")
    ran = gitmem("sync", "-y", ok=False)
    assert ran.code == 3 and "no memory" in ran.err
    assert "README" not in git("-C", repo, "ls-tree", "--name-only", "gitmem/project")
    assert names(gitmem("list", "--json")) == {"one", "two", "mine"}


def test_a_clone_of_a_remote_whose_memory_branch_is_code_starts_afresh(gitmem, git, team, tmp_path) -> None:
    git("-C", team, "branch", "gitmem/project", "main")
    git("clone", "-q", team, tmp_path / "clone")
    ran = gitmem("init", "-y", cwd=tmp_path / "clone")
    assert "left alone: the remote's memory branch" in ran.err
    gitmem("remember", "x y z", "--scope", "project", "--type", "project", cwd=tmp_path / "clone")
    assert (tmp_path / "clone/.git/hooks/post-commit").exists()
    assert git("-C", tmp_path / "clone", "rev-parse", REF)


def test_two_repositories_of_one_slug_lose_nothing(gitmem, git, tmp_path, home) -> None:
    """The client keeps one folder for `a-b` and `a/b`: it shows the memory of one of them, and says so."""
    (home / ".claude").mkdir()
    first, second = tmp_path / "x/a-b", tmp_path / "x/a/b"
    for path in (first, second):
        git("init", "-q", path)
    gitmem("init", "-y", cwd=first)
    gitmem("remember", "A fact of the first.", "--name", "first", cwd=first)
    ran = gitmem("init", "-y", cwd=second)
    assert f"shows the memory of {first}/.git" in ran.err
    gitmem("remember", "A fact of the second.", "--name", "second", cwd=second)
    for path in (first, second, first):
        gitmem("save", cwd=path)
    assert "first" in names(gitmem("list", "--json", cwd=first))
    assert "second" in names(gitmem("list", "--json", cwd=second))
    assert "of the second" in gitmem("show", "second", cwd=second).out
    (folder,) = (home / ".claude/projects").glob("*/memory")
    assert {file.name for file in folder.iterdir()} == {"MEMORY.md", "first.md"}
    assert "first/" not in str(names(gitmem("list", "--json", cwd=second)))
    assert f"shows the memory of {first}/.git" in gitmem("status", cwd=second).out
    shutil.rmtree(first)
    assert "shows the memory" not in gitmem("status", cwd=second).out


# Terminals, pipes and signals


@pytest.mark.long
def test_a_locale_that_is_not_utf8_changes_no_name(git: Git, repo: Path, folder: Path) -> None:
    """Read in another encoding, a file would have another name, and the one in git would be deleted."""
    (folder / "\u00fcber.md").write_text(
        memory("\u00dcber-uns", "Gr\u00fc\u00dfe \u2014 \u201eimmer\u201c.")
    )
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "TERM": "dumb", "COLUMNS": "80"}
    for line in ("save", "list", "list --json", "log", "recall Gr\u00fc\u00dfe", "status -v", "save", "-h"):
        ran = process(*line.split(), cwd=repo, env=plain)
        assert ran.code == 0, (line, ran.err)
        assert ran.out.isascii() and "\x1b" not in ran.out + ran.err
    listed = process("list", cwd=repo, env=plain).out
    assert "\\xdcber-uns" in listed
    assert "\u00fcber.md" in git(
        "-C", repo, "-c", "core.quotePath=false", "ls-tree", "-r", "--name-only", REF
    )


@pytest.mark.long
def test_a_reader_that_goes_away(repo: Path, folder: Path) -> None:
    for number in range(150):
        (folder / f"m{number}.md").write_text(memory(f"m{number}", "fact " * 200))
    assert process("save", cwd=repo).code == 0

    def shell(script: str) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        words = ["bash", "-c", f'"$0" -m gitmem {script}', sys.executable]
        return subprocess.run(words, cwd=repo, env=env, capture_output=True, text=True)

    for words in ("status --json", "list --json", "list"):
        done = shell(f'{words} | head -1 >/dev/null; echo "${{PIPESTATUS[0]}}"')
        assert done.stdout.strip() in ("0", "141") and "Traceback" not in done.stderr
    for closed in (">&-", ">&- 2>&-", "2>&- <&-"):
        done = shell(f"list {closed}")
        assert done.returncode == 0 and "bug" not in done.stderr
    if Path("/dev/full").exists():
        done = shell("list >/dev/full")
        assert done.returncode == 3 and "No space left" in done.stderr
