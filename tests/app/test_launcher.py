"""The launcher with real environments: another one, another Python, none; and no commit fails for it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest
from slices import often

import gitmem as package
from gitmem.app.launcher import Launcher

ROOT = Path(__file__).parents[2]


class Environment:
    """A virtual environment with gitmem in it, made without a network: its packages are links."""

    def __init__(self, path: Path) -> None:
        self.path = path
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", path], check=True)
        self.python = path / "bin/python"
        (site,) = path.glob("lib/python3.*/site-packages")
        (site / "gitmem").symlink_to(ROOT / "gitmem")
        (site / "hooks").symlink_to(ROOT / "hooks")
        (site / "needed.pth").write_text(sysconfig.get_path("purelib") + "\n")
        self.command = path / "bin/git-mem"
        self.command.write_text(f'#!/bin/sh\nexec "{self.python}" -P -m gitmem "$@"\n')
        self.command.chmod(0o755)

    def run(self, *words: str, cwd: Path) -> str:
        done = subprocess.run([self.command, *words], cwd=cwd, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Environment]:
    """`environment("a")` makes one. No `git-mem` is on PATH."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("git", "sh", "cat", "mkdir", "find", "setsid"):
        if found := shutil.which(name):
            (tools / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(tools))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return lambda name: Environment(tmp_path / name)


@pytest.fixture
def launcher(home: Path) -> Launcher:
    return Launcher(home / ".local/share/gitmem")


def _started(repo: Path) -> str:
    """What the hook that `init` put into the settings answers: run as the client runs it."""
    settings = json.loads((repo / ".claude/settings.local.json").read_text())
    (group,) = settings["hooks"]["UserPromptSubmit"]
    payload = {"session_id": "s", "cwd": str(repo), "prompt": "Which branch do we deploy from?"}
    done = subprocess.run(
        ["/bin/sh", "-c", group["hooks"][0]["command"]],
        cwd=repo,
        input=json.dumps(payload),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def _commit(repo: Path, git: Callable[..., str]) -> None:
    done = subprocess.run(
        ["git", "-C", repo, "commit", "-q", "--allow-empty", "-m", "More"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_hooks_name_the_launcher_alone_and_find_gitmem_by_it(
    environment: Callable[[str], Environment], launcher: Launcher, repo: Path, git: Callable[..., str]
) -> None:
    made = environment("first")
    made.run("init", "-y", cwd=repo)
    made.run("remember", "We deploy from the release branch", cwd=repo)
    named = [path.read_text() for path in (repo / ".git/hooks").iterdir() if path.suffix != ".sample"]
    named += [(repo / ".claude/settings.local.json").read_text(), git("-C", repo, "config", "--list")]
    assert all("/first/" not in text for text in named)
    assert "release branch" in _started(repo)
    assert launcher.missed is None


@pytest.mark.parametrize("place", often(["on PATH", "in ~/.local/bin"], "on PATH"))
def test_another_installation_stands_in_for_one_that_is_gone(
    environment: Callable[[str], Environment],
    launcher: Launcher,
    repo: Path,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
) -> None:
    """As after `pip uninstall` and `uv tool install`, or a moved environment: nobody runs `init` again."""
    old = environment("old")
    old.run("init", "-y", cwd=repo)
    old.run("remember", "We deploy from the release branch", cwd=repo)
    new = environment("new")
    shutil.rmtree(old.path)
    if place == "on PATH":
        monkeypatch.setenv("PATH", f"{os.environ['PATH']}:{new.command.parent}")
    else:
        (home / ".local/bin").mkdir(parents=True)
        (home / ".local/bin/git-mem").symlink_to(new.command)
    assert not launcher.works
    assert "release branch" in _started(repo)
    subprocess.run([launcher.path, "worker", "--git-dir", repo / ".git"], check=True)
    assert launcher.works, "the worker wrote it anew"
    assert str(new.path) in launcher.path.read_text()


def test_an_environment_made_anew_with_another_python_is_found_where_it_was(
    environment: Callable[[str], Environment], launcher: Launcher, repo: Path
) -> None:
    made = environment("first")
    made.run("init", "-y", cwd=repo)
    (packages,) = made.path.glob("lib/python3.*")
    packages.rename(packages.with_name("python3.99"))
    assert launcher.works


def test_a_gitmem_that_still_works_keeps_the_hooks_when_another_runs_a_worker(
    environment: Callable[[str], Environment], launcher: Launcher, repo: Path
) -> None:
    environment("first").run("init", "-y", cwd=repo)
    before = launcher.path.read_bytes()
    environment("second").run("worker", "--git-dir", str(repo / ".git"), cwd=repo)
    assert launcher.path.read_bytes() == before
    assert not launcher.is_ours


def test_without_any_gitmem_no_commit_fails_and_status_says_since_when(
    environment: Callable[[str], Environment],
    launcher: Launcher,
    repo: Path,
    git: Callable[..., str],
    gitmem,
) -> None:
    """Another project's `gitmem` is not taken for it; jobs that nobody would ever do are not left."""
    made = environment("first")
    made.run("init", "-y", cwd=repo)
    made.path.rename(made.path.with_name("moved"))
    other = Path(os.environ["PATH"]) / "gitmem"
    other.write_text("#!/bin/sh\necho another project\n")
    other.chmod(0o755)
    assert _started(repo) == ""
    assert launcher.missed is not None
    for _ in range(3):
        git("-C", repo, "checkout", "-q", "--detach")
        git("-C", repo, "checkout", "-q", "main")
        _commit(repo, git)
    assert list((repo / ".git/gitmem/spool").iterdir()) == []
    assert "hooks have found no gitmem since" in gitmem("status").out
    gitmem("init", "-y")
    assert "found no gitmem" not in gitmem("status").out
    assert launcher.missed is None


def test_init_writes_it_once_and_doctor_writes_it_again(gitmem, launcher: Launcher) -> None:
    assert str(launcher.path) in gitmem("init", "-n").out
    gitmem("init", "-y")
    assert launcher.is_ours
    assert "nothing changed" in gitmem("init", "-y").out
    launcher.path.unlink()
    assert not launcher.works
    assert str(launcher.path) in gitmem("doctor", "-n", ok=False).out
    gitmem("doctor", "-y")
    assert launcher.is_ours


@pytest.mark.parametrize("words", ["/opt/other/__init__.py /x", "'/opt/open", "/opt/**x/__init__.py"])
def test_a_launcher_of_another_form_is_written_anew(launcher: Launcher, words: str) -> None:
    launcher.write()
    text = launcher.path.read_text()
    begin = "for gitmem_package in "
    launcher.path.write_text(text.replace(begin, f"{begin}{words} "))
    assert not launcher.works
    launcher.renew()
    assert launcher.is_ours


def test_odd_names_of_folders_are_quoted(launcher: Launcher, tmp_path: Path, monkeypatch) -> None:
    odd = tmp_path / "it's a $(place)"
    (odd / "lib/python3.11/gitmem").mkdir(parents=True)
    module = odd / "lib/python3.11/gitmem/__init__.py"
    module.touch()
    program = odd / "python"
    program.write_text('#!/bin/sh\necho "$@"\n')
    program.chmod(0o755)
    monkeypatch.setattr(package, "__file__", str(module))
    monkeypatch.setattr(sys, "executable", str(program))
    launcher.write()
    assert launcher.is_ours
    done = subprocess.run([launcher.path, "hook", "a b"], capture_output=True, text=True, check=True)
    assert done.stdout == "-E -P -m gitmem hook a b\n"
