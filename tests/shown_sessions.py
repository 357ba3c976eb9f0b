"""Sessions of README and docs/, run for real: HOMEs, a shell, the two commands, and a client to talk to."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOW = 1_795_168_800
"""2026-11-20T10:00:00Z: what the commands take for the present."""

CONFIG = "[user]\n\tname = {name}\n\temail = {home}@example.com\n[init]\n\tdefaultBranch = main\n"
MARK = "@@@"
PROMPT = re.compile(r"^(bob)?\$ (.*)$", re.MULTILINE)
"""What stands before a command: nothing but `$` for Ann, whose memory it is mostly about."""

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)

CLIENT = '''\
#!{python}
"""Stands for Claude Code: records what it is told as that does, answers in one sentence, calls no model."""
import json, os, pathlib, re, sys
words, here = sys.argv[-1], os.getcwd()
folder = pathlib.Path(os.environ["HOME"], ".claude/projects", re.sub("[^a-zA-Z0-9]", "-", here))
folder.mkdir(parents=True, exist_ok=True)
number = len(list(folder.iterdir())) + 1
session = f"5e550000-0000-4000-8000-{{number:012d}}"
said, parent = [("user", words), ("assistant", "I will keep that in mind.")], None
with open(folder / f"{{session}}.jsonl", "w") as file:
    for at, (role, text) in enumerate(said):
        content = text if role == "user" else [{{"type": "text", "text": text}}]
        message = {{"role": role, "content": content}}
        if role == "assistant":
            message |= {{"id": f"msg_{{number}}", "type": "message", "stop_reason": "end_turn"}}
        uuid = f"5e550000-{{number:04d}}-4000-9000-{{at:012d}}"
        record = {{"parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": here,
                  "sessionId": session, "version": "2.1.197", "gitBranch": "main", "type": role,
                  "message": message, "uuid": uuid, "timestamp": f"2026-11-20T09:00:{{at:02d}}.000Z"}}
        file.write(json.dumps(record) + "\\n")
        parent = uuid
print("I will keep that in mind.")
'''

# Bob types in a HOME of his own; a minute goes by from one command to the next.
BEFORE = """\
exec 2>&1
ann=$HOME
bob() { local here=$PWD; HOME=$BOB; cd "$bob_in"; eval "$1"; settled; bob_in=$PWD; HOME=$ann; cd "$here"; }
tick() {
    printf '%s\\n' '@@@'
    export GITMEM_NOW=$((GITMEM_NOW + 60))
    export GIT_AUTHOR_DATE="$GITMEM_NOW +0000" GIT_COMMITTER_DATE="$GITMEM_NOW +0000"
}
"""

# What was spooled is done before the next command is typed, as it is where a person types it.
SETTLED = """\
waits() {
    [ -e .git/gitmem/worker.json ] && return
    for file in .git/gitmem/spool/* .git/gitmem/spool/.*; do [ -f "$file" ] && return; done
    return 1
}
settled() { for ((i = 0; i < 1200; i++)); do waits || break; sleep 0.05; done; }
"""


def blocks(text: str) -> list[str]:
    """The fenced console sessions of a page."""
    return _BLOCK.findall(text)


def commands(block: str) -> list[tuple[str, str]]:
    """What is typed in a session, and who types it (`bob`, or nobody else but Ann)."""
    return [(found[1] or "", found[2]) for found in PROMPT.finditer(block)]


def make_home(folder: Path) -> tuple[Path, dict[str, str]]:
    """A HOME with a git identity, `git mem` and a client on PATH; returns it and the environment."""
    home, programs = folder / "ann", folder / "bin"
    programs.mkdir()
    for name in ("Ann", "Bob"):
        (folder / name.lower() / ".claude").mkdir(parents=True)
        (folder / name.lower() / ".gitconfig").write_text(CONFIG.format(name=name, home=name.lower()))
    started = f'#!/bin/sh\nexec "{sys.executable}" -P -m gitmem "$@"\n'
    texts = {"gitmem": started, "git-mem": started, "claude": CLIENT.format(python=sys.executable)}
    for name, text in texts.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    return home, {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "BOB": str(folder / "bob"),
        "ann_in": str(home),
        "bob_in": str(folder / "bob"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_DATE": f"{NOW} +0000",
        "GIT_COMMITTER_DATE": f"{NOW} +0000",
        "GITMEM_NOW": str(NOW),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONPATH": str(ROOT),
        "PYTHONUNBUFFERED": "1",
    }


def run_session(block: str, home: Path, environ: dict[str, str], *, disable: bool = False) -> str:
    """Runs the commands of a block in one shell and returns it with their real outputs.

    Args:
        environ: what `make_home` made; the next block of a page goes on where and when this one ended.
        disable: hooks do nothing, so that nothing runs on in the background.
    """
    typed = commands(block)
    script = SETTLED + BEFORE
    for who, command in typed:
        script += f"tick\n{who} {shlex.quote(command)}\n" if who else f"tick\n{command}\nsettled\n"
    script += f'printf \'%s\\n\' \'{MARK}\' "$PWD" "$bob_in" "$GITMEM_NOW"\n'
    given = {**environ, "GITMEM_DISABLE": "1"} if disable else environ
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=environ["ann_in"],
        env=given,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    printed, _, ended = done.stdout.rpartition(f"{MARK}\n")
    environ.update(zip(("ann_in", "bob_in", "GITMEM_NOW"), ended.splitlines(), strict=True))
    shown = printed.replace(str(home), "~").replace(str(home.parent / "bob"), "~")
    outputs = shown.split(f"{MARK}\n")[1:]
    return "".join(f"{who}$ {said}\n{out}" for (who, said), out in zip(typed, outputs, strict=True))


def renewed(text: str, home: Path, environ: dict[str, str]) -> str:
    """A page with its sessions as they come out now."""
    return _BLOCK.sub(lambda found: f"```console\n{run_session(found[1], home, environ)}```", text)


def normalised(text: str) -> str:
    """The same with object names and ids made from them replaced, in the length they are shown in."""
    text = re.sub(r"\b[0-9a-f]{7,40}\b", lambda found: "0" * len(found[0]), text)
    return re.sub(r"\b(app|remote|[a-z])-[0-9a-f]{6,8}\b", r"\1-0", text)
