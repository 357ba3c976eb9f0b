"""`git mem recall`: its options, what --explain tells, and what stays on this machine."""

from __future__ import annotations

import io
import json

import pytest
from cli_ground import Ground, memory


@pytest.fixture
def filled(ground: Ground) -> Ground:
    ground.learn({"reviewer/ports.md": memory("ports", "Port 8080 is taken by the proxy.")})
    ground.learn({"main/tone.md": memory("tone", "Answers are short.", type="user")}, "local")
    ground.learn({"main/build.md": memory("build", "The proxy is built with make.")}, "user")
    return ground


def names(ground: Ground, *words: object) -> list[str]:
    return [item["name"] for item in json.loads(ground.run("recall", *words, "--json").out)["items"]]


def test_a_question_comes_from_words_or_standard_input(filled: Ground) -> None:
    assert names(filled, "which", "port", "is", "taken?") == ["ports"]
    filled.patch.setattr("sys.stdin", io.StringIO("which port\nis taken?\n"))
    assert names(filled, "-") == ["ports"]
    filled.patch.setattr("sys.stdin", io.StringIO(" \n"))
    assert "no question" in filled.run("recall", "-", code=2).err


def test_it_is_narrowed_by_type_scope_and_agent(filled: Ground) -> None:
    assert names(filled, "proxy") == ["ports"] or set(names(filled, "proxy")) == {"ports", "build"}
    assert names(filled, "proxy", "--scope", "user") == ["build"]
    assert names(filled, "proxy", "--agent", "reviewer") == ["ports"]
    assert names(filled, "short answers", "--type", "user") == ["tone"]
    assert names(filled, "short answers", "--type", "reference") == []
    assert "no type" in filled.run("recall", "x", "--type", "nonsense", code=2).err
    assert "no engine" in filled.run("recall", "x", "--engine", "nonsense", code=2).err


def test_explain_says_what_found_each_and_why_others_are_left_out(filled: Ground) -> None:
    text = filled.run("recall", "port", "of", "the", "proxy", "--limit", "1", "--explain").out
    assert "found by: score " in text
    assert "chosen by offline: 1 of 2 candidates" in text
    assert "left out: main/build.md: " in text
    value = json.loads(filled.run("recall", "port of the proxy", "--limit", "1", "--explain", "--json").out)
    assert (value["engine"], value["notes"]) == ("offline", [])
    (left,) = value["left"]
    assert (left["file"], left["name"]) == ("build.md", "build") and left["reason"] in ("limit", "below")
    assert "left" not in json.loads(filled.run("recall", "port", "--json").out)


def test_an_engine_that_cannot_run_is_stood_in_for(filled: Ground) -> None:
    got = filled.run("recall", "which port is taken?", "--engine", "anthropic", "--json")
    value = json.loads(got.out)
    assert [item["name"] for item in value["items"]] == ["ports"]
    assert value["engine"] == "offline"
    assert value["notes"] and value["notes"][0].endswith("; chosen offline")
    assert value["notes"][0] in got.err
