"""All that is built on the store does the same in every kind of repository that git itself can open."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from ran import Gitmem, Ran
from slices import often
from transcripts import Transcript

from gitmem.git import open as opening

ASKED = "Remember that we deploy from the release branch only, since main can hold open migrations."
TWICE = "Never mock the database in integration tests."

NONSENSE = {
    "GIT_DIR": "/nowhere/.git",
    "GIT_WORK_TREE": "/nowhere",
    "GIT_COMMON_DIR": "/nowhere/common",
    "GIT_INDEX_FILE": "/nowhere/index",
    "GIT_OBJECT_DIRECTORY": "/nowhere/objects",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES": "/nowhere/others",
    "GIT_NAMESPACE": "elsewhere",
    "GIT_CEILING_DIRECTORIES": "nowhere:/nowhere/at/all",
    "GIT_DEFAULT_HASH": "none",
    "GIT_DEFAULT_REF_FORMAT": "none",
    "GIT_SHALLOW_FILE": "/nowhere/shallow",
    "GIT_REPLACE_REF_BASE": "refs/nowhere/",
    "GIT_REFLOG_ACTION": "nonsense",
    "GIT_PREFIX": "nowhere/",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "user.name",
    "GIT_CONFIG_VALUE_0": "Nobody",
    "GIT_CONFIG_PARAMETERS": "'user.email=nobody@example.com'",
    "GIT_EXTERNAL_DIFF": "/nowhere/diff",
    "GIT_TRACE_SETUP": "0",
}

Git = Callable[..., str]
Build = Callable[["Ground", str], Path]


def memory(name: str, body: str, description: str = "", type: str = "project") -> str:
    about = description or f"About {name}"
    return f"---\nname: {name}\ndescription: {about}\ntype: {type}\n---\n\n{body}\n"


def ports(body: str) -> str:
    return memory("ports", body, "Which port the server listens on")


class Ground:
    """A remote with code, and what is needed to clone it in some way."""

    def __init__(self, top: Path, home: Path, git: Git, *words: str) -> None:
        self.top, self.home, self.git = top, home, git
        self.team = top / "team.git"
        code = top / "code"
        git("init", "-q", *words, code)
        for number in (1, 2):
            (code / "README").write_text(f"code {number}\n")
            git("-C", code, "add", "README")
            git("-C", code, "commit", "-q", "-m", f"code {number}")
        # A clone takes its object names from what it clones; its refs are kept as it is told.
        git("clone", "-q", "--bare", *words[1:], code, self.team)
        for key in ("allowFilter", "allowAnySHA1InWant"):
            git("-C", self.team, "config", f"uploadpack.{key}", "true")

    def clone(self, name: str, *words: object) -> Path:
        path = self.top / name
        path.parent.mkdir(exist_ok=True)
        self.git("clone", "-q", *words, self.team.as_uri(), path)
        return path

    def config(self, text: str) -> None:
        with (self.home / ".gitconfig").open("a") as file:
            file.write(text)


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> str:
    """A git that has reftable (2.45): the one in GITMEM_TEST_GIT, else the installed one."""
    named = os.environ.get("GITMEM_TEST_GIT", "")
    said = subprocess.run([named or "git", "version"], capture_output=True, text=True, check=True).stdout
    version = tuple(int(part) for part in said.split()[2].split(".")[:2])
    if version < (2, 45):
        pytest.skip(f"git {said.split()[2]} has no reftable; name a newer one in GITMEM_TEST_GIT")
    if named:
        monkeypatch.setenv("PATH", f"{Path(named).parent}{os.pathsep}{os.environ['PATH']}")
    return said


@pytest.fixture
def make(tmp_path: Path, home: Path, git: Git) -> Callable[..., Ground]:
    (home / ".claude").mkdir()
    return lambda *words: Ground(tmp_path, home, git, *words)


def seen(worktree: Path) -> dict[str, bytes | str]:
    """What belongs to the person: the index and HEAD of every work tree, the branches, the code."""
    words = ["git", "-C", str(worktree), "rev-parse", "--path-format=absolute", "--git-common-dir"]
    common = Path(subprocess.run(words, capture_output=True, text=True, check=True).stdout.rstrip("\n"))
    states = [
        path for path in common.rglob("*") if path.name in ("index", "HEAD", "ORIG_HEAD", "MERGE_HEAD")
    ]
    states += list(common.glob("rebase-*/*"))
    states = [path for path in states if path.is_file() and "logs" not in path.parts]
    states += [path for path in worktree.iterdir() if path.is_file()]
    words = ["git", "-C", str(worktree), "for-each-ref", "refs/heads", "refs/tags", "refs/stash"]
    listed = subprocess.run(words, capture_output=True, text=True, check=True)
    branches = [line for line in listed.stdout.splitlines() if "refs/heads/gitmem/" not in line]
    return {str(path): path.read_bytes() for path in states} | {"branches": "\n".join(branches)}


class Walk:
    """One person's way through gitmem in one repository."""

    def __init__(self, gitmem: Gitmem, ground: Ground, here: Path) -> None:
        self.gitmem, self.ground, self.here = gitmem, ground, here
        self.folder = here / ".claude/agent-memory/reviewer"

    def run(self, *words: object, ok: bool = True) -> Ran:
        return self.gitmem(*words, cwd=self.here, ok=ok)

    def names(self, *words: str) -> set[str]:
        return {entry["name"] for entry in self.run("list", "--json", *words).json}

    def alone(self) -> None:
        """Everything that needs no remote."""
        self.run("init", "-y")
        self.folder.mkdir(parents=True)
        (self.folder / "ports.md").write_text(ports("Port 8080."))
        (self.folder / "mocks.md").write_text(
            memory("mocks", TWICE, "Integration tests use the real database")
        )
        assert len(self.run("save", "--json").json[0]["commits"]) == 1
        (self.folder / "ports.md").write_text(ports("Port 9090."))
        self.run("save")
        self.run("remember", "Name branches by their ticket.", "--name", "branches")
        said = Transcript(cwd=str(self.here))
        said.user(ASKED)
        said.agent("Noted.")
        told = self.run("extract", "--session", said.write(self.ground.top / "said.jsonl"), "--json").json
        (deploys,) = [one["name"] for session in told["sessions"] for one in session["stored"]]
        assert self.names() == {"ports", "mocks", "branches", deploys}

        assert [entry["subject"] for entry in self.run("log", "ports", "--json").json][:1] == [
            "Update ports"
        ]
        assert "Port 8080." in self.run("show", "ports", "--at", "~1").out
        assert self.names("--scope", "project", "--at", "~1") == {"ports", "mocks"}
        assert "- Port 8080." in self.run("diff", "~1", "--scope", "project").out
        assert "Port 9090." in self.run("blame", "ports").out
        found = self.run("recall", "which port does the server listen on", "--json").json
        assert "ports" in json.dumps(found)
        assert {scope["scope"] for scope in self.run("status", "--json").json["scopes"]} == {
            "project",
            "local",
            "user",
        }

        again = f"{TWICE}\n\n**Why:** a mock hid a broken migration."
        (self.folder / "database.md").write_text(memory("database", again, "Never mock the database"))
        self.run("save")
        (dream,) = self.run("dream", "--force", "--scope", "project", "--json").json
        assert dream["changes"], dream
        self.run("review", "show", dream["id"])
        self.run("review", "accept", dream["id"])
        assert len({"mocks", "database"} & self.names()) == 1
        self.run("forget", "branches")
        self.run("undo")
        assert "branches" in self.names()
        first = self.run("log", "ports", "--json").json[-1]["commit"]
        self.run("restore", "ports", "--at", first)
        assert "Port 8080." in (self.folder / "ports.md").read_text()
        self.run("checkout", first, "--scope", "project")
        self.run("checkout", "-")
        self.run("snapshot", "create", "--agent", "reviewer")
        self.run("doctor")
        assert self.run("doctor", "-n").out.startswith("all is well")

    def together(self, other: Walk) -> None:
        """What two clones do with one remote."""
        self.run("share", "--mode", "direct", "-y")
        assert self.run("sync", "-y", "--json").json["pushed"] >= 2
        other.ground.git("-C", other.here, "fetch", "-q")
        other.run("init", "-y")
        other.run("share", "--mode", "direct", "-y")
        assert {"ports"} <= other.names("--scope", "project")
        (other.folder / "ports.md").write_text(ports("Port 8080.\n\nPort 1 is the admin's."))
        (other.folder / "hosts.md").write_text(memory("hosts", "The host is alpha.", "The staging host"))
        other.run("sync", "-y")
        (self.folder / "ports.md").write_text(ports("Port 8080.\n\nPort 2 is the health check."))
        synced = self.run("sync", "-y", "--json").json
        assert synced["fetched"] == 2 and synced["merged"] == 1
        other.run("sync", "-y")
        for walk in (self, other):
            text = (walk.folder / "ports.md").read_text()
            assert "Port 1 is" in text and "Port 2 is" in text and "hosts" in walk.names()
            assert "hosts" in json.dumps(walk.run("recall", "which staging host", "--json").json)
        heads = {walk.git("rev-parse", "refs/heads/gitmem/project") for walk in (self, other)}
        assert len(heads) == 1
        assert "Port 2 is" in self.git("show", "gitmem/project:reviewer/ports.md")

    def git(self, *words: str) -> str:
        return self.ground.git("-C", self.here, *words)

    def check(self) -> None:
        """Git itself finds nothing wrong."""
        self.git("fsck", "--strict", "--no-dangling")
        private = self.ground.home / ".local/share/gitmem/private.git"
        self.ground.git("--git-dir", private, "fsck", "--strict", "--no-dangling")


def plain(ground: Ground, name: str) -> Path:
    return ground.clone(name)


def partial(ground: Ground, name: str) -> Path:
    return ground.clone(name, "--filter=blob:none")


def shallow(ground: Ground, name: str) -> Path:
    return ground.clone(name, "--depth=1", "--no-single-branch")


def reference(ground: Ground, name: str) -> Path:
    return ground.clone(name, "--reference", ground.top / "code")


def shared(ground: Ground, name: str) -> Path:
    path = ground.top / name
    ground.git("clone", "-q", "--shared", ground.team, path)
    ground.git("-C", path, "remote", "set-url", "origin", ground.team.as_uri())
    return path


def worktree_config(ground: Ground, name: str) -> Path:
    path = ground.top / name
    main = ground.clone(f"{name}-main")
    ground.git("-C", main, "config", "extensions.worktreeConfig", "true")
    ground.git("-C", main, "worktree", "add", "-q", path, "-b", "topic")
    ground.git("-C", path, "config", "--worktree", "core.sparseCheckout", "false")
    return path


def with_submodule(ground: Ground, name: str) -> Path:
    path = ground.clone(name)
    ground.git("-C", path, "submodule", "--quiet", "add", ground.team.as_uri(), "inner")
    ground.git("-C", path, "commit", "-q", "-m", "with a submodule")
    return path


def submodule(ground: Ground, name: str) -> Path:
    inner = with_submodule(ground, name) / "inner"
    assert (inner / ".git").is_file()
    return inner


def separate_git_dir(ground: Ground, name: str) -> Path:
    path = ground.clone(name, f"--separate-git-dir={ground.top / f'{name}-git'}")
    assert (path / ".git").is_file()
    return path


def bare_with_worktrees(ground: Ground, name: str) -> Path:
    """The layout in which a folder holds a bare repository and nothing but work trees."""
    bare = ground.clone(f"{name}-all/.bare", "--bare")
    ground.git("-C", bare, "config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
    (bare.parent / ".git").write_text("gitdir: ./.bare\n")
    ground.git("-C", bare, "worktree", "add", "-q", "-b", "topic", bare.parent / name)
    return bare.parent / name


def walk_through(gitmem: Gitmem, ground: Ground, build: Build, other: Build) -> None:
    here, there = build(ground, "here"), other(ground, "there")
    (here / "staged").write_text("staged\n")
    ground.git("-C", here, "add", "staged")
    before = seen(here)
    walks = Walk(gitmem, ground, here), Walk(gitmem, ground, there)
    walks[0].alone()
    walks[0].together(walks[1])
    assert seen(here) == before
    for walk in walks:
        walk.check()


@pytest.mark.parametrize(
    ("build", "other"),
    [
        (partial, shallow),
        *(
            pytest.param(*pair, marks=pytest.mark.long)
            for pair in (
                (plain, with_submodule), (shallow, partial), (reference, shared),
                (worktree_config, reference), (submodule, separate_git_dir),
                (bare_with_worktrees, worktree_config),
            )
        ),
    ],
)  # fmt: skip
def test_all_of_it_works_in_clones_of_every_kind(build: Build, other: Build, make, gitmem: Gitmem) -> None:
    walk_through(gitmem, make(), build, other)


@pytest.mark.long
def test_all_of_it_works_through_the_git_command_alone(make, gitmem: Gitmem, monkeypatch) -> None:
    monkeypatch.setattr(opening, "_libgit2", lambda *_: None)
    walk_through(gitmem, make(), separate_git_dir, plain)


@pytest.mark.long
@pytest.mark.parametrize(("build", "other"), [(plain, bare_with_worktrees), (partial, shared)])
def test_all_of_it_works_with_sha256_names(build: Build, other: Build, make, gitmem, git, home) -> None:
    private = home / ".local/share/gitmem/private.git"
    git("init", "-q", "--bare", "--object-format=sha256", "--initial-branch=user", private)
    git("--git-dir", private, "config", "core.logAllRefUpdates", "true")
    walk_through(gitmem, make("--object-format=sha256"), build, other)


@pytest.mark.parametrize("names", ["sha1", "sha256"])
def test_all_of_it_works_with_reftables(names: str, newer: str, make, gitmem: Gitmem) -> None:
    """With git's configuration asking for it, the private repository is made that way, too."""
    ground = make(f"--object-format={names}", "--ref-format=reftable")
    ground.config(f"[init]\n\tdefaultRefFormat = reftable\n\tdefaultObjectFormat = {names}\n")
    walk_through(gitmem, ground, plain, worktree_config)
    private = ground.home / ".local/share/gitmem/private.git"
    for path in (ground.top / "here", private):
        assert ground.git("-C", path, "rev-parse", "--show-ref-format") == "reftable"
        assert ground.git("-C", path, "rev-parse", "--show-object-format") == names


def detached(git: Git, repo: Path) -> None:
    git("-C", repo, "checkout", "-q", "--detach")


def merging(git: Git, repo: Path) -> None:
    git("-C", repo, "merge", "side", check=False)
    assert (repo / ".git/MERGE_HEAD").is_file()


def rebasing(git: Git, repo: Path) -> None:
    git("-C", repo, "rebase", "side", check=False)
    assert (repo / ".git/rebase-merge").is_dir()


@pytest.mark.parametrize("begin", [detached, merging, rebasing])
@pytest.mark.parametrize("backend", often(["libgit2", "git"], "git"))
def test_what_git_is_in_the_middle_of_is_left_alone(
    begin: Callable[[Git, Path], None],
    backend: str,
    repo: Path,
    git: Git,
    gitmem: Gitmem,
    monkeypatch,
    home,
) -> None:
    """With variables of another git in the environment, an index that is not committed and no branch."""
    git("-C", repo, "checkout", "-q", "-b", "side")
    for branch in ("side", "main"):
        git("-C", repo, "checkout", "-q", branch)
        (repo / "README").write_text(f"code of {branch}\n")
        git("-C", repo, "commit", "-q", "-am", branch)
    begin(git, repo)
    (repo / "staged").write_text("staged\n")
    git("-C", repo, "add", "staged")
    before = seen(repo)
    folder = repo / ".claude/agent-memory/reviewer"
    folder.mkdir(parents=True)
    if backend == "git":
        monkeypatch.setattr(opening, "_libgit2", lambda *_: None)
    with monkeypatch.context() as patch:
        for name, value in NONSENSE.items():
            patch.setenv(name, value)
        gitmem("init", "-y")
        (folder / "ports.md").write_text(ports("Port 8080."))
        (folder / "mocks.md").write_text(memory("mocks", TWICE, "Integration tests use the real database"))
        (folder / "database.md").write_text(
            memory("database", f"{TWICE}\n\nMore.", "Never mock the database")
        )
        gitmem("save")
        (dream,) = gitmem("dream", "--force", "--scope", "project", "--json").json
        gitmem("review", "accept", dream["id"])
        gitmem("undo")
        gitmem("restore", "ports", "--at", "~1")
        gitmem("remember", "Name branches by their ticket.", "--type", "project", "--scope", "project")
        told = gitmem("log", "--json").json
    assert seen(repo) == before
    assert {entry["author"] for entry in told} == {"Ann <ann@example.com>"}
    assert {path.name for path in folder.iterdir()} >= {"ports.md", "mocks.md", "database.md"}
    git("-C", repo, "fsck", "--strict", "--no-dangling")
