"""What a recall opens, runs and loads once the catalog is current: nothing that it does not answer with."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from cli_ground import Ground, memory

from gitmem.git.trees import list_files
from gitmem.ledger.land import memory_commit

ROOT = Path(__file__).parents[2]
HEAVY = ("pygit2", "anthropic", "yaml", "markdown_it", "betterleaks", "psutil", "mcp", "typer")
# What only daily logs need; here are none.
LOGS = {"gitmem.core.daily_log", "gitmem.flows.recalled_lines"}
# Every question that any git process is asked on its standard input goes to a file, too.
GIT = """#!/bin/sh
echo "$*" >>"$ASKED_OF_GIT.words"
case " $* " in
  *" cat-file "*) tee -a "$ASKED_OF_GIT" | {git} "$@" ;;
  *) exec {git} "$@" ;;
esac
"""
PROBE = """
import json, sys
opened, begun = [], []
def hook(event, args):
    if event == "open" and isinstance(args[0], (str, bytes)):
        opened.append(args[0] if isinstance(args[0], str) else args[0].decode("utf-8", "replace"))
    elif event == "subprocess.Popen":
        begun.append([str(word) for word in args[1]])
sys.addaudithook(hook)
report, *sys.argv[1:] = sys.argv[1:]
from gitmem.entry import main
code = main()
with open(report, "w") as file:
    json.dump({"opened": opened, "begun": begun, "loaded": sorted(sys.modules)}, file)
sys.exit(code)
"""


@dataclass(frozen=True)
class Seen:
    """What one process did: said, opened, began, loaded, and read of objects, by git or by itself."""

    out: str
    opened: list[str]
    begun: list[list[str]]
    loaded: set[str]
    asked: set[str]


@pytest.fixture
def watched(tmp_path: Path, repo: Path):
    """`watched("recall", "ports")` runs gitmem in a process of its own and tells what that did."""
    shim = tmp_path / "shim/git"
    shim.parent.mkdir()
    shim.write_text(GIT.format(git=shutil.which("git")))
    shim.chmod(0o755)

    def run(*words: str, stdin: str = "") -> Seen:
        report, asked = tmp_path / "report.json", tmp_path / "asked"
        asked.write_text("")
        more = {"PATH": f"{shim.parent}:{os.environ['PATH']}", "ASKED_OF_GIT": str(asked)}
        done = subprocess.run(
            [sys.executable, "-c", PROBE, str(report), *words],
            cwd=repo,
            env={**os.environ, **more, "PYTHONPATH": str(ROOT)},
            input=stdin,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        told = json.loads(report.read_text())
        oids = set(asked.read_text().split())
        oids |= {"".join(Path(path).parts[-2:]) for path in told["opened"] if "/objects/" in path}
        return Seen(done.stdout, told["opened"], told["begun"], set(told["loaded"]), oids)

    return run


@pytest.fixture
def filled(ground: Ground) -> Ground:
    """Three scopes' memories, and a catalog that knows all of them."""
    about = {f"m{n}": memory(f"m{n}", f"The {word} is told in `README`.") for n, word in enumerate(WORDS)}
    files = {f"main/{name}.md": text for name, text in about.items()}
    for scope in ("project", "local", "user"):
        ground.learn(
            files | {f"main/{scope}.md": memory(scope, f"Zebras of {scope} graze at noon.")}, scope
        )
    ground.run("recall", "umbrellas")
    return ground


WORDS = ("harbour", "lantern", "orchard", "quarry", "sextant", "thicket", "viaduct", "walnut")


def blobs(filled: Ground) -> dict[str, str]:
    """Every memory's blob, to its path."""
    found: dict[str, str] = {}
    for scope in filled.workspace.scopes:
        tip = memory_commit(scope.repo, scope.ref)
        assert tip is not None
        listed: Mapping[str, str] = list_files(scope.repo, scope.repo.commit(tip).tree)
        found |= {oid: f"{scope.name}/{path}" for path, oid in listed.items() if path.endswith(".md")}
    return found


def check(seen: Seen, chosen: set[str], known: dict[str, str]) -> None:
    assert set(known) & seen.asked == chosen, "of memories, only the chosen are asked for"
    for path in seen.opened:
        assert not path.endswith(".md"), path
    reading = [words for words in seen.begun if {"show", "archive", "log", "grep"} & set(words)]
    assert not any("-p" in words or "archive" in words for words in reading)
    assert {name.partition(".")[0] for name in seen.loaded} & set(HEAVY) == set()
    assert not seen.loaded & LOGS


def test_a_recall_opens_no_memory_that_it_does_not_answer_with(filled: Ground, watched) -> None:
    """At 10,000 memories the rest would cost what the whole answer may."""
    seen = watched("recall", "--json", "zebras", "graze")
    items = json.loads(seen.out)["items"]
    assert {item["file"] for item in items} == {"project.md", "local.md", "user.md"}
    check(seen, {item["blob"] for item in items}, blobs(filled))
    again = watched("recall", "--json", "zebras", "graze")
    assert json.loads(again.out)["items"] == items
    check(again, set(), blobs(filled))


def test_nothing_is_opened_where_nothing_fits(filled: Ground, watched) -> None:
    seen = watched("recall", "--json", "umbrellas")
    assert json.loads(seen.out)["items"] == []
    check(seen, set(), blobs(filled))


def test_a_prompts_hook_opens_what_it_shows_and_loads_no_library(filled: Ground, watched, tmp_path) -> None:
    """An agent waits for this with every prompt; only a reference is held against the tools in use."""
    known = blobs(filled)
    payload = {"session_id": "s", "cwd": str(filled.repo), "prompt": "Where do zebras graze?"}
    transcript = tmp_path / "session.jsonl"
    transcript.write_text("{}\n")
    payload["transcript_path"] = str(transcript)
    seen = watched("hook", "claude", "UserPromptSubmit", stdin=json.dumps(payload))
    shown = json.loads(seen.out)["hookSpecificOutput"]["additionalContext"]
    chosen = {oid for oid in known if oid in seen.asked}
    assert {known[oid].rpartition("/")[2] for oid in chosen} == {"project.md", "local.md", "user.md"}
    assert all(known[oid] in shown for oid in chosen)
    assert str(transcript) not in seen.opened
    check(seen, chosen, known)


def test_the_short_way_of_a_question_answers_as_the_parser_does(filled: Ground) -> None:
    """`recall WORDS` is answered without Typer; any option but --json is Typer's to read."""
    for words in (["zebras", "graze"], ["zebras", "--json"], ["umbrellas"]):
        plain = filled.run("recall", *words)
        parsed = filled.run("--color", "auto", "recall", *words)
        assert (plain.out, plain.err) == (parsed.out, parsed.err)
    assert "No such option: --jsn" in filled.run("recall", "--jsn", "zebras", code=2).err
    assert "Missing argument 'QUERY...'" in filled.run("recall", code=2).err
    assert "--explain" in filled.run("recall", "-h").out
