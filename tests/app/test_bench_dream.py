"""`git mem bench dream`: nights of dreams on a corpus, counted, and nothing of it stays."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cli_ground import Ground, memory

from gitmem.app.bench_dream import Nights, deal, dream_figures, dream_nights, read_folder
from gitmem.cli import bench as bench_verb
from gitmem.core.account import claims_at, reference
from gitmem.core.errors import EngineError, UsageError
from gitmem.core.limits import MEMORY_BYTES
from gitmem.core.trailers import Fate
from gitmem.engines.engine import ConsolidateInput, Consolidation, DreamChange, Tell, untold

NOW = 1_800_000_000.0
NEVER = "Never mock the database in integration tests."
FILES = {
    "no-mocks.md": memory("no-mocks", NEVER, "Integration tests use the real database"),
    "real.md": memory("real", f"{NEVER}\n\nA mock hid a broken migration.", "Never mock the database"),
    "ship.md": memory("ship", "Deploy from the release branch with `make ship`.", "How deploys go"),
    "hosts.md": memory("hosts", "The staging host is blue.\n\nThe other host is green.", "Hosts"),
    "MEMORY.md": "- [ship](ship.md) — deploys\n",
}


def folder(path: Path, files: dict[str, str] = FILES) -> Path:
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text, "utf-8")
    return path


@dataclass
class Double:
    """An engine that does what it is told to."""

    make: Callable[[ConsolidateInput], Consolidation]
    name: str = "scripted"
    reads_history: bool = False

    def consolidate(self, given: ConsolidateInput, tell: Tell = untold) -> Consolidation:
        return self.make(given)


def nights(
    tmp_path: Path, make: Callable[[ConsolidateInput], Consolidation], number: int = 2, new: int = 2
) -> Nights:
    files = read_folder(folder(tmp_path / "corpus"))
    place = tmp_path / "ground"
    place.mkdir()
    return dream_nights(files, Double(make), place, os.environ, now=NOW, nights=number, new=new)  # type: ignore[arg-type]


def form(value: Any) -> Any:
    """Keys and types of a JSON value."""
    if isinstance(value, dict):
        return {key: form(one) for key, one in value.items()}
    return [form(value[0])] if isinstance(value, list) and value else type(value).__name__


SHARE = {"found": "int", "of": "int", "share": "float"}
SHARES = {"descriptions": SHARE, "sentences": SHARE}
SIZE = {"memories": "int", "claims": "int", "bytes": "int", "index_lines": "int"}
CLAIMS = dict.fromkeys(("arrived", "by_hash", "by_account", "dropped", "lost", "superseded"), "int")
NIGHT = {
    "night": "int",
    "arrived": "int",
    "proposals": {},
    "accepted": "bool",
    "notes": "int",
    "failures": "list",
    "claims": CLAIMS,
    "recall": {"before": SHARES, "after": SHARES},
    "size": {"before": SIZE, "after": SIZE},
    "seconds": "float",
    "requests": "int",
    "dollars": "float",
}
FORM = {
    "engine": "str",
    "seed": "int",
    "new_a_night": "int",
    "corpus": "int",
    "arrived": "int",
    "used_up": "int",
    "nights": [NIGHT],
    "all": {
        "claims": CLAIMS,
        "lost": "list",
        "recall": {"before": SHARES, "after": SHARES},
        "size": {"before": SIZE, "after": SIZE},
        "proposals": {"merge": "int"},
        "notes": "int",
        "failures": "int",
        "seconds": "float",
    },
    "stopped": "NoneType",
    "recall": "str",
}


def test_nights_on_a_folder_have_figures_of_a_stable_form_and_leave_nothing(
    ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What reads them, reads these keys: some may be added, none may go or change its meaning."""
    left = tmp_path / "left"
    left.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(left))
    refs = ground.workspace.code.refs(""), ground.workspace.private.refs("")
    corpus = folder(tmp_path / "corpus")
    words = ("bench", "dream", "--corpus", corpus, "--nights", 2, "--new", 4, "--seed", 3, "--json")
    ran = ground.run(*words)
    value = json.loads(ran.out)
    first = value["nights"][0]
    assert form(value | {"nights": [first | {"proposals": {}}]}) == FORM
    assert (value["engine"], value["corpus"], value["arrived"], value["used_up"]) == ("offline", 4, 4, 2)
    assert value["all"]["claims"]["lost"] == 0 and value["all"]["claims"]["by_account"] == 0
    assert value["all"]["proposals"] == {"merge": 1}
    assert value["all"]["size"]["before"]["claims"] - value["all"]["size"]["after"]["claims"] == 1
    assert "all 4 memories have arrived" in ran.err and "sends" not in ran.err
    again = json.loads(ground.run(*words).out)
    for one in (value, again):
        one["all"].pop("seconds")
        for night in one["nights"]:
            night.pop("seconds")
    assert again == value
    assert list(left.iterdir()) == []
    assert (ground.workspace.code.refs(""), ground.workspace.private.refs("")) == refs


def test_without_a_corpus_this_repositorys_memory_is_read_and_stays(ground: Ground) -> None:
    ground.learn({f"main/{name}": text for name, text in FILES.items()})
    ground.learn({"main/mine.md": memory("mine", type="user")}, scope="user")
    before = ground.workspace.code.refs(""), ground.workspace.private.refs("")
    value = json.loads(ground.run("bench", "dream", "--nights", 1, "--json").out)
    assert value["corpus"] == 5 and value["all"]["claims"]["lost"] == 0
    assert (ground.workspace.code.refs(""), ground.workspace.private.refs("")) == before


def test_a_folder_of_agents_is_a_tree_and_links_are_not_followed(tmp_path: Path) -> None:
    files = {f"{agent}/{name}": FILES[name] for agent in ("main", "Reviewer") for name in ("ship.md",)}
    odd_ones = {"main/notes.txt": "x", "main/big.md": "x" * (MEMORY_BYTES + 1)}
    place = folder(tmp_path / "agents", files | odd_ones)
    (tmp_path / "secret.md").write_text("secret")
    (place / "main" / "linked.md").symlink_to(tmp_path / "secret.md")
    (place / "other").symlink_to(tmp_path)
    assert sorted(read_folder(place)) == ["^reviewer/ship.md", "main/ship.md"]
    for odd in (tmp_path / "none", folder(tmp_path / "empty", {"a/x.txt": "x"})):
        with pytest.raises(UsageError):
            read_folder(odd)


def test_each_memory_is_dealt_once_in_an_order_of_the_seed_alone(tmp_path: Path) -> None:
    files = read_folder(folder(tmp_path / "corpus"))
    dealt = [[one.path for one in night] for night in deal(files, 4, 2, 1)]
    assert [len(night) for night in dealt] == [2, 2, 0, 0]
    assert sorted(path for night in dealt for path in night) == sorted(
        path for path in files if "MEMORY" not in path
    )
    assert [[one.path for one in night] for night in deal(dict(reversed(files.items())), 4, 2, 1)] == dealt
    lines = {one.path: one.line for night in deal(files, 4, 2, 1) for one in night}
    assert lines["main/ship.md"] == "- [ship](ship.md) — deploys\n"
    assert "[hosts](hosts.md)" in lines["main/hosts.md"]


def _dropping(given: ConsolidateInput) -> Consolidation:
    """Drops the claim on the other host, with a reason, once it is there."""
    path, text = "main/hosts.md", "The other host is green."
    data = given.files.get(path, b"")
    gone = [claim for claim in claims_at(path, data) if claim.text == text] if data else []
    fates = tuple(Fate("dropped", reference(path, claim), "", "it was sold") for claim in gone)
    edits = {path: data.replace(f"\n\n{text}".encode(), b"")}
    return Consolidation((DreamChange("drop", edits, fates, "sold", "Drop it"),) if gone else ())


def test_what_is_dropped_with_a_reason_is_no_loss(tmp_path: Path) -> None:
    value = dream_figures(nights(tmp_path, _dropping))
    assert value["all"]["claims"]["dropped"] == 1 and value["all"]["lost"] == []
    assert value["all"]["proposals"] == {"drop": 1}


def test_a_dream_that_cannot_be_proved_is_counted_and_the_night_goes_on(tmp_path: Path) -> None:
    def silent(given: ConsolidateInput) -> Consolidation:
        path = next(path for path in given.files if path.endswith(".md") and "MEMORY" not in path)
        return Consolidation((DreamChange("prune", {path: None}, (), "old", "Prune"),))

    value = dream_figures(nights(tmp_path, silent))
    assert [len(night["failures"]) for night in value["nights"]] == [1, 1]
    assert "cannot be proved" in value["nights"][0]["failures"][0]
    assert value["all"]["claims"]["lost"] == 0 and value["arrived"] == 4


def test_an_engine_that_fails_ends_the_nights_and_what_was_counted_is_told(
    ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(given: ConsolidateInput) -> Consolidation:
        if len(given.files) > 4:
            raise EngineError("No more today", "Wait.")
        return Consolidation()

    monkeypatch.setattr(bench_verb, "engine_named", lambda *_: Double(failing))
    corpus = folder(tmp_path / "again")
    ran = ground.run("bench", "dream", "--corpus", corpus, "--new", 2, "--json", code=4)
    value = json.loads(ran.out)
    assert value["stopped"] == "No more today" and "No more today" in ran.err
    assert len(value["nights"]) == 2


def test_before_a_model_is_asked_it_is_said_what_leaves_and_how_much(ground, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(bench_verb, "engine_named", lambda *_: Double(lambda _: Consolidation()))
    corpus = folder(tmp_path / "corpus")
    ran = ground.run("bench", "dream", "--corpus", corpus, "--nights", 2, "--engine", "anthropic", "--json")
    first, second, third = ran.err.splitlines()[:3]
    assert "anthropic sends to https://api.anthropic.com" in first and "5 files" in first
    assert "requests a night" in second and "a night is one run" in second
    assert "runs and" in third and "gitmem.maxRuns" in third


def test_a_repository_is_not_needed_for_a_folder(tmp_path: Path, home: Path, gitmem) -> None:
    corpus = folder(tmp_path / "corpus")
    outside = tmp_path / "outside"
    outside.mkdir()
    shown = gitmem("bench", "dream", "--corpus", corpus, "--nights", 1, cwd=outside).out
    assert re.search(r"^nights\.1\.arrived +4$", shown, re.M)
    assert re.search(r"^all\.lost +none$", shown, re.M)
    assert not list(home.rglob("private.git"))


def test_odd_words_are_usage_errors(ground: Ground, tmp_path: Path) -> None:
    ground.run("bench", "dream", "--nights", 0, code=2)
    ground.run("bench", "dream", "--new", 0, code=2)
    ground.run("bench", "dream", "--engine", "psychic", code=2)
    ground.run("bench", "dream", "--corpus", tmp_path / "none", code=2)
    ground.run("bench", "dream", code=2)
