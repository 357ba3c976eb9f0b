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


def _started(repo: Path, session: str) -> str:
    """What the hook that `init` put into the settings answers: run as the client runs it."""
    settings = json.loads((repo / ".claude/settings.local.json").read_text())
    (group,) = settings["hooks"]["UserPromptSubmit"]
    payload = {"session_id": session, "cwd": str(repo), "prompt": "Which branch do we deploy from?"}
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


@pytest.mark.parametrize("place", often(["on PATH", "in ~/.local/bin"], "on PATH"))
def test_hooks_find_gitmem_as_installations_come_and_go(
    environment: Callable[[str], Environment],
    launcher: Launcher,
    repo: Path,
    home: Path,
    git: Callable[..., str],
    gitmem,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
) -> None:
    """As after `pip uninstall` and `uv tool install`, or a moved environment: nobody runs `init` again."""
    first = environment("first")
    first.run("init", "-y", cwd=repo)
    first.run("remember", "We deploy from the release branch", cwd=repo)
    named = [path.read_text() for path in (repo / ".git/hooks").iterdir() if path.suffix != ".sample"]
    named += [(repo / ".claude/settings.local.json").read_text(), git("-C", repo, "config", "--list")]
    assert all("/first/" not in text for text in named), "they name the launcher alone"
    assert "release branch" in _started(repo, "one")
    assert launcher.missed is None

    second, before = environment("second"), launcher.path.read_bytes()
    second.run("worker", "--git-dir", str(repo / ".git"), cwd=repo)
    assert launcher.path.read_bytes() == before, "one that works keeps the hooks when another runs a worker"
    assert not launcher.is_ours
    (packages,) = first.path.glob("lib/python3.*")
    packages.rename(packages.with_name("python3.99"))
    assert launcher.works, "made anew with another Python, it is found where it was"

    first.path.rename(first.path.with_name("moved"))
    if place == "on PATH":
        monkeypatch.setenv("PATH", f"{os.environ['PATH']}:{second.command.parent}")
    else:
        (home / ".local/bin").mkdir(parents=True)
        (home / ".local/bin/git-mem").symlink_to(second.command)
    assert not launcher.works
    assert "release branch" in _started(repo, "two"), "another stands in"
    subprocess.run([launcher.path, "worker", "--git-dir", repo / ".git"], check=True)
    assert launcher.works, "the worker wrote it anew"
    assert str(second.path) in launcher.path.read_text()

    second.path.rename(second.path.with_name("moved too"))
    (home / ".local/bin/git-mem").unlink(missing_ok=True)
    _no_gitmem_is_left(launcher, repo, git, gitmem)


def _no_gitmem_is_left(launcher: Launcher, repo: Path, git: Callable[..., str], gitmem) -> None:
    """No commit fails, and status says since when; jobs that nobody would ever do are not left."""
    other = Path(os.environ["PATH"].partition(":")[0]) / "gitmem"
    other.write_text("#!/bin/sh\necho another project\n")
    other.chmod(0o755)
    assert _started(repo, "three") == "", "another project's `gitmem` is not taken for it"
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
