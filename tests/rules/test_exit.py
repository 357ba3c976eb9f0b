"""Nothing goes round the one exit: every verb, hook, tool and interface, on a hostile memory."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import typer.main
from hostile_set import (
    DREAM,
    ONE,
    SESSION,
    TAGS,
    Hostile,
    all_leaks,
    leaks,
    make,
)

from gitmem.cli.app import SUMMARIES, app

BAD = f"no {TAGS[0]}\x1b[31m {ONE}"
"""Where a verb names what it was told, it must not repeat this as it is."""

WORDS: dict[str, list[list[str]]] = {
    "init": [["-n"], ["-y"], ["--engine", BAD]],
    "status": [[], ["--verbose"]],
    "remember": [["Ports are 9090.", "--name", BAD], ["Ports are 9090.", "--scope", BAD], [f"It is {ONE}."]],
    "recall": [["how do deploys go"], ["deploys", "--explain"], ["deploys", "--at", BAD], [BAD]],
    "log": [[], ["deploys", "--agent", "reviewer", "--scope", "project"], [BAD]],
    "review": [[], ["--open", "-n"]],
    "review show": [[DREAM], [DREAM, "--all"], [BAD]],
    "review accept": [[DREAM, "-y"], [BAD]],
    "review reject": [[DREAM, "-m", BAD], [BAD]],
    "review edit": [[DREAM, "1", "--file", "README.md"], [BAD, "1"]],
    "review open": [[DREAM, "-n"], [DREAM, "-y"], [BAD]],
    "sync": [["-n"], ["-y"], [BAD]],
    "undo": [["-n"], [], [BAD]],
    "list": [[], ["--all"], ["--logs"], ["--at", BAD], ["--agent", BAD]],
    "show": [
        ["project/reviewer/deploys"], ["local/main/deploys"], ["user/main/disputed"], [ONE], ["2026-11-20"], ["dep"],
        [BAD], ["project/reviewer/deploys", "--at", BAD],
    ],
    "diff": [[], ["~1", "@"], ["deploys", "--at", "~1"], [BAD]],
    "blame": [
        ["project/reviewer/deploys"], ["local/main/deploys"], ["user/main/disputed"],
        ["--text", "Deploys use"], ["--text", "An old one"], ["2026-11-20", "--scope", "project"], [BAD],
    ],
    "save": [["-n"], []],
    "forget": [
        ["project/reviewer/deploys", "-n"], ["project/reviewer/disputed"], ["deploys"],
        ["project/reviewer/deploys", "--claim", "token"], [BAD],
    ],
    "restore": [["project/reviewer/deploys", "--at", "~1", "-n"], [BAD], ["--all", "--at", BAD]],
    "checkout": [["~1", "-n"], [BAD]],
    "move": [["project/reviewer/deploys", "--to", "local", "-n"], ["local/main/deploys", "--to", "project", "-y"], [BAD, "--to", "user"]],
    "promote": [["project/reviewer/deploys", "-n"], ["local/main/clean", "-y"], [BAD]],
    "demote": [["local/main/clean", "-n"], [BAD]],
    "pause": [["-n"], ["--for", BAD]],
    "unpause": [["-n"], []],
    "share": [[], ["--mode", BAD], ["--remote", BAD, "-n"], ["--off", "-n"], ["--mode", "direct", "-n"], ["--ci", "-n"]],
    "check": [
        [], ["--ref", "refs/heads/gitmem/project"], ["--ref", "refs/heads/gitmem/project", "--github"],
        ["--ref", f"refs/heads/gitmem/dream/{DREAM}", "--base", "refs/heads/gitmem/project"],
        ["--ref", f"refs/heads/gitmem/dream/{DREAM}", "--base", "refs/heads/gitmem/project", "--github"], ["--ref", BAD],
    ],
    "backup": [[], [BAD, "-n"]],
    "snapshot": [[]],
    "snapshot create": [["--all", "-n"], ["reviewer", "-n"], [BAD]],
    "snapshot status": [[]],
    "dream": [[], ["show", DREAM], ["-n", "--force"], ["--force", "--scope", "local"], [BAD], ["show", BAD]],
    "docs": [[]],
    "docs list": [[], ["--at", BAD]],
    "docs check": [[], ["README.md", "--strict"], [BAD]],
    "docs update": [["-n"], [BAD]],
    "doctor": [["-n"], ["-y"]],
    "engine": [[], ["set", BAD], ["set", "anthropic", "--base-url", BAD, "-n"]],
    "purge": [["project/reviewer/deploys", "-n"], ["--text", ONE, "-n"], [BAD, "-n"]],
    "uninstall": [["-n"]],
    "demo": [[f"--{BAD}"]],  # shows a memory of its own making
    "extract": [["-n"], ["--session", SESSION, "-n"], ["--session", SESSION], ["--session", BAD]],
    "mcp": [[f"--{BAD}"]],  # served below
    "session": [[]],
    "session list": [[]],
    "session show": [[SESSION], [SESSION, "--person"], [BAD]],
    "session grep": [["deploys"], ["Noted"], [BAD]],
    "session notes": [[SESSION], [BAD]],
    "session resume-context": [[SESSION], [BAD]],
    "jobs": [[], ["--retry"]],
    "stats": [[]],
    "bench": [[]],
    "bench extract": [["--gold", BAD], []],
    "bench recall": [["--own"], ["--corpus", BAD, "--queries", BAD]],
    "bench dream": [["--corpus", BAD], ["--engine", BAD]],
}  # fmt: skip
"""Arguments of each verb: what shows memory, what changes it, and what is refused with its words repeated."""


LOGS = ("log", "errors.log", "judged-harmless", "jobs.jsonl", "told-dreams.json", "failed.json")
"""What is kept to be read by people; records of live directories and of recalls hold names as they are."""


def verbs() -> dict[str, Any]:
    """Every command of the command line, those within others by both words."""
    group: Any = typer.main.get_command(app)
    found: dict[str, Any] = {}
    for name in SUMMARIES:
        command = group.get_command(None, name)
        found[name] = command
        found |= {f"{name} {inner}": one for inner, one in getattr(command, "commands", {}).items()}
    return found


def has_json(command: Any) -> bool:
    return any("--json" in one.opts for one in command.params)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hostile]:
    """The hostile repository, and a copy to begin from."""
    root = tmp_path_factory.mktemp("hostile")
    kept = {key: os.environ.get(key) for key in ("HOME",)}
    made = make(root / "now")
    shutil.copytree(made.root, root / "then", symlinks=True)
    yield made
    for key, value in kept.items():
        if value is not None:
            os.environ[key] = value


@pytest.fixture
def hostile(built: Hostile, monkeypatch: pytest.MonkeyPatch) -> Hostile:
    """The same, as it was built, and this process in it."""
    shutil.rmtree(built.root)
    shutil.copytree(built.root.with_name("then"), built.root, symlinks=True)
    for key, value in built.environ().items():
        monkeypatch.setenv(key, value)
    monkeypatch.chdir(built.repo)
    return built


@pytest.fixture
def run(
    hostile: Hostile, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Callable[..., tuple[str, str]]:
    """`run("list", "--json")` gives what a verb wrote to stdout and stderr."""
    from gitmem.entry import main

    def ran(*words: str) -> tuple[str, str]:
        monkeypatch.setattr(sys, "argv", ["gitmem", *words])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
        capfdbinary.readouterr()
        main()
        sys.stdout.flush()
        sys.stderr.flush()
        out, err = capfdbinary.readouterr()
        return out.decode("utf-8", "surrogateescape"), err.decode("utf-8", "surrogateescape")

    return ran


def logs(hostile: Hostile) -> Iterator[tuple[str, str]]:
    """What was written down beside memory, for a person or a later process to read."""
    states = (hostile.repo / ".git" / "gitmem", hostile.home / ".local/share/gitmem")
    for state in states:
        for path in sorted(state.rglob("*")):
            if path.is_file() and (path.name in LOGS or path.parent.name == "say"):
                yield path.name, path.read_text("utf-8", "surrogateescape")


def test_every_verb_has_its_words() -> None:
    """A new verb gets a row here, or it shows what nobody looked at."""
    assert sorted(WORDS) == sorted(verbs())


@pytest.mark.parametrize("verb", WORDS)
def test_no_verb_lets_anything_out(verb: str, run: Any, hostile: Hostile) -> None:
    json_too = has_json(verbs()[verb])
    found: dict[str, list[str]] = {}
    for words in WORDS[verb]:
        for given in ([*words, "--json"], words) if json_too else (words,):
            out, err = run(*verb.split(), *given)
            what = " ".join(given).replace(BAD, "BAD")
            found |= {
                f"{what} >{name}": bad
                for name, text in (("out", out), ("err", err))
                if (bad := all_leaks(text))
            }
            if "a bug:" in err:
                found[f"{what} bug"] = [err]
    found |= {f"file {name}": bad for name, text in logs(hostile) if (bad := leaks(text))}
    assert not found, json.dumps(found, indent=1)
