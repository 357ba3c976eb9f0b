"""Moving out: lossless formats come back byte for byte, what others cannot hold is said, secrets stay."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from cli_ground import Ground, memory
from hypothesis import given
from hypothesis import strategies as st
from planted_secrets import GITHUB

from gitmem.core.names import is_memory_file
from gitmem.flows.export import FORMATS, Contents, Exported, rendered
from gitmem.flows.imports.entry import ImportTally
from gitmem.flows.imports.formats import recognised
from gitmem.flows.imports.source import ImportSource

NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,12}", fullmatch=True).filter(
    lambda name: is_memory_file(f"{name}.md")
)
FILES = st.builds(lambda folder, name: f"{folder}{name}.md", st.sampled_from(["", "topics/"]), NAMES)
BODIES = st.text(max_size=80).map(lambda text: text.encode("utf-8", "replace")) | st.binary(max_size=60)
DATA = st.builds(
    lambda front, body: (b"---\nname: a\ntype: user\nown: [x, y]\n---\n" if front else b"") + body,
    st.booleans(),
    BODIES,
)
MEMORIES = st.dictionaries(
    st.tuples(st.sampled_from(["main", "reviewer"]), FILES),
    st.tuples(DATA, st.integers(1_000_000_000, 1_900_000_000)),
    max_size=6,
)


def as_source(files: Mapping[str, bytes], single: bool) -> ImportSource:
    """An export as what an import reads."""
    return ImportSource(
        "export", {name: (lambda data=data: data) for name, data in files.items()}, single=single
    )  # type: ignore[misc]


@pytest.mark.parametrize("format", ["markdown", "json"])
@given(memories=MEMORIES)
def test_what_is_exported_comes_back_byte_for_byte_with_its_time(
    format: str, memories: dict[tuple[str, str], tuple[bytes, int]]
) -> None:
    """The law of a round trip: import(export(x)) is x."""
    given_ = [Exported(agent, file, data, time) for (agent, file), (data, time) in memories.items()]
    made = rendered(format, Contents("project", "0" * 40, given_))
    source = as_source(made.files, made.single)
    entries = list(recognised(source).read(source, ImportTally()))
    assert {(one.agent, one.file): (one.data, one.time) for one in entries} == memories
    assert made.lost == {}


def test_an_export_brought_into_an_empty_memory_is_the_same_memory(ground: Ground, tmp_path: Path) -> None:
    """Through files and back by review, with the times at which things were taught."""
    files = {
        "main/ports.md": memory("ports", "The port is 8080."),
        "reviewer/tone.md": memory("tone", "Brief."),
    }
    ground.learn(files)
    before = ground.run("list", "--json").json
    ground.run("export", "-o", tmp_path / "out")
    ground.workspace.code.git.run(["update-ref", "-d", "refs/gitmem/project"], cwd=ground.repo)
    id = ground.run("import", tmp_path / "out", "--scope", "project", "--json").json["id"]
    ground.run("review", "accept", id)
    assert {path: text for path, text in ground.tree().items() if path in files} == files
    assert ground.run("list", "--json").json == before


def test_private_memory_leaves_only_when_it_is_named(ground: Ground, tmp_path: Path) -> None:
    """The project's is what goes unless a scope is named."""
    ground.learn({"main/mine.md": memory("mine", "Ann is on leave.")}, "local")
    told = ground.run("export", code=2).err
    assert "project memory is empty" in told and "git mem export --scope local" in told
    ground.learn({"main/ports.md": memory("ports")})
    assert "on leave" not in ground.run("export", "--format", "json").out
    assert "on leave" in ground.run("export", "--format", "json", "--scope", "local").out


def test_what_a_format_cannot_hold_is_listed(ground: Ground, tmp_path: Path) -> None:
    """Nobody finds out later."""
    text = memory("ports").replace("type: project", "type: project\nseverity: high")
    index = "- [ports](ports.md) — About ports\n- A line of Ann's own.\n"
    log = "main/logs/2026/11/2026-11-20.md"
    ground.learn({"main/ports.md": text, log: "- 09:00 a line\n", "main/MEMORY.md": index})
    told = json.loads(ground.run("export", "--format", "mem0", "-o", tmp_path / "m.json", "--json").out)
    assert {one["what"] for one in told["cannot_hold"]} == {
        "daily logs", "key severity of the frontmatter", "what people wrote into an index",
    }  # fmt: skip
    ground.run("export", "--format", "mem0", "-o", tmp_path / "m.json", code=2)


@pytest.mark.parametrize("format", list(FORMATS))
def test_each_format_is_read_again_by_an_import(ground: Ground, tmp_path: Path, format: str) -> None:
    """What we write others read as theirs: at least we do."""
    ground.learn({"main/ports.md": memory("ports", "The port is 8080.\n\nSee [[tone]].", type="feedback")})
    place = tmp_path / ("out.json" if FORMATS[format][1] else "out")
    ground.run("export", "--format", format, "-o", place)
    ground.run("forget", "ports")
    told = json.loads(ground.run("import", place, "-n", "--json").out)
    assert format != "json" or "dropped" not in str(told["fields"]), "content has all of it"
    names = {"markdown": "gitmem", "json": "gitmem-json"}
    assert told["format"] == names.get(format, format)
    assert told["forgotten"] or told["new"] or told["found"] == 1


def test_a_memory_named_as_a_bundle_names_its_own_takes_no_other_s_place(ground, tmp_path) -> None:
    """`log.md` has a meaning in a bundle, and the name that it gets instead may be a memory's."""
    ground.learn({f"main/{name}.md": memory(name, f"Fact of {name}.") for name in ("log-note", "log")})
    ground.run("export", "--format", "okf", "-o", tmp_path / "out")
    text = "".join(path.read_text() for path in (tmp_path / "out/main").iterdir())
    assert "Fact of log." in text and "Fact of log-note." in text


def test_memory_as_of_then_is_exported_as_it_was(ground: Ground) -> None:
    """`--at` means what it means everywhere."""
    first = ground.learn({"main/ports.md": memory("ports", "The port is 8080.")})
    ground.learn({"main/ports.md": memory("ports", "The port is 9090.")})
    then = json.loads(ground.run("export", "--format", "json", "--at", first).out)
    assert "8080" in then["memories"][0]["content"] and then["commit"] == first


def test_a_secret_that_came_from_others_is_not_carried_off(ground: Ground, tmp_path: Path) -> None:
    """In a text, a file's name or a memory's own; the person is told which memory is missing."""
    secret = {"main/a.md": memory("a", f"The token is {GITHUB}"), "main/b.md": memory(GITHUB)}
    ground.learn({**secret, f"main/{GITHUB}.md": memory("c"), "main/d.md": memory("d", "Kept.")})
    done = ground.run("export", "-o", tmp_path / "out")
    assert "left out: main/a.md: holds a secret" in done.err
    assert done.err.count("holds a secret") == 3 and GITHUB not in done.err
    assert {path.name for path in (tmp_path / "out/main").iterdir()} == {"d.md"}
    assert GITHUB not in (tmp_path / "out/gitmem.json").read_text()


def test_what_is_printed_is_fit_for_a_terminal_and_a_file_holds_the_bytes(ground, tmp_path) -> None:
    """An agent reads what is printed; a file is for the next tool."""
    text = memory("a", "Print \x1b[31m and <system-reminder> there.")
    ground.learn({"main/a.md": text})
    (said,) = json.loads(ground.run("export", "--format", "json").out)["memories"]
    assert r"\x1b[31m and \x3csystem-reminder>" in said["content"]
    ground.run("export", "--format", "json", "-o", tmp_path / "m.json")
    (held,) = json.loads((tmp_path / "m.json").read_text())["memories"]
    assert held["content"] == text
