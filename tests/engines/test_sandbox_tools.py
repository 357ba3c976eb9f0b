"""What the sandbox's tools answer where nothing is wrong with the question."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.engines.sandbox import Roots
from gitmem.engines.tools import TOOLS, Sandbox

Git = Callable[..., str]

KNOWN = b"---\nname: known\ndescription: one fact\ntype: user\n---\n\nOne fact.\n\nAnother fact.\n"
FILES = {
    "README.md": "# Title\n\nHello world, hello.\nno end",
    "src/app.py": "import os\n\ndef main():\n    return foo_bar(1)\n\nif x:\n    main()\n",
    "src/deep/util.py": "def foo_bar(n):\n    # a.b a+b (paren) [x] $5 50%\n    return n\n",
    "src/deep/data.json": '{"a": 1}\n',
    "src/empty.py": "",
    "docs/notes.txt": "\n".join(f"line {at}" for at in range(1, 31)) + "\n",
}


@pytest.fixture
def tools(tmp_path: Path, git: Git) -> Sandbox:
    top = tmp_path / "code"
    git("init", "-q", top)
    for name, text in FILES.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    git("-C", top, "add", "-A")
    return Sandbox({"local/main/known.md": KNOWN}, Roots(top, {"s1.md": "[1] person: hi\n"}))


def text(tools: Sandbox, name: str, **given: object) -> str:
    result = tools.call(name, {key.replace("_dash_", "-"): value for key, value in given.items()})
    assert not result.is_error, result.text
    return result.text


def test_grep_finds_the_lines_that_the_real_one_finds(tools: Sandbox, tmp_path: Path) -> None:
    """A model knows it by heart; what differs misleads it."""
    notes, app = "docs/notes.txt", "src/app.py"
    cases: dict[tuple[str, ...], dict[str, object]] = {
        ("-n", "hello", "README.md"): {"pattern": "hello", "path": "README.md"},
        ("-inE", "HELLO", "README.md"): {"pattern": "HELLO", "path": "README.md", "-i": True},
        ("-nE", "^(def|import) ", app): {"pattern": "^(def|import) ", "path": app},
        ("-nE", "line [0-9]{2}$", notes): {"pattern": "line [0-9]{2}$", "path": notes},
        ("-nE", "\\bfoo", app): {"pattern": "\\bfoo", "path": app},
        ("-nE", "", app): {"pattern": "", "path": app},
        ("-nE", "^$", app): {"pattern": "^$", "path": app},
        ("-nE", "$", "README.md"): {"pattern": "$", "path": "README.md"},
        ("-nE", "x*", "src/empty.py"): {"pattern": "x*", "path": "src/empty.py"},
        ("-rn", "foo_bar", "src"): {"pattern": "foo_bar", "path": "src"},
        ("-nE", "-A1", "-B1", "line 15", notes): {"pattern": "line 15", "path": notes, "-A": 1, "-B": 1},
        ("-nE", "-C1", "line (3|7)$", notes): {"pattern": "line (3|7)$", "path": notes, "-C": 1},
    }
    for words, wanted in cases.items():
        real = subprocess.run(
            ["grep", "-H", *words], cwd=tmp_path / "code", capture_output=True, text=True, check=False
        ).stdout
        got = text(tools, "Grep", output_mode="content", **wanted)
        assert sorted(got.splitlines()) == sorted(real.splitlines() or ["No matches."]), words


@given(
    st.recursive(
        st.sampled_from(["a", "b", "c", ".", "[ab]", "[^a]", "\\w", "\\b", "^", "$", "", " "]),
        lambda inner: st.one_of(
            st.tuples(inner, inner).map("".join),
            st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})"),
            st.tuples(inner, st.sampled_from("*+?")).map(lambda two: f"(?:{two[0]}){two[1]}"),
            inner.map(lambda one: f"(?:{one}){{1,3}}"),
        ),
        max_leaves=8,
    ),
    st.lists(st.text("abc _A", max_size=8), min_size=1, max_size=4),
    st.booleans(),
)
def test_grep_finds_the_lines_that_python_finds(pattern: str, lines: list[str], ignore_case: bool) -> None:
    """Each line by itself, though the file is searched in one go."""
    flags = re.IGNORECASE if ignore_case else re.NOFLAG
    wanted = [
        f"sessions/s.md:{at}:{line}" for at, line in enumerate(lines, 1) if re.search(pattern, line, flags)
    ]
    tools = Sandbox({}, Roots(None, {"s.md": "".join(f"{line}\n" for line in lines)}))
    got = text(tools, "Grep", pattern=pattern, output_mode="content", **{"-i": ignore_case})
    assert got.split("\n") == ("\n".join(wanted).rstrip("\n") or "No matches.").split("\n")


@given(st.text("ab.*+?{}()[]|^$\\-,1<>bwd:?=", max_size=14))
def test_any_pattern_is_run_or_refused(pattern: str) -> None:
    tools = Sandbox({}, Roots(None, {"s.md": "ab1\n"}))
    for name in ("Grep", "Glob"):
        result = tools.call(name, {"pattern": pattern})
        assert not result.is_error or "cannot be used" in result.text or "a pattern" in result.text


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("src/*.py", {"src/app.py", "src/empty.py"}),
        ("src/**", {"src/app.py", "src/deep/data.json", "src/deep/util.py", "src/empty.py"}),
        ("**/util.py", {"src/deep/util.py"}),
        ("src/**/*.py", {"src/app.py", "src/deep/util.py", "src/empty.py"}),
        ("src/[a-d]*.py", {"src/app.py"}),
        ("src/[!a]*.py", {"src/empty.py"}),
        ("src/?????.py", {"src/empty.py"}),
        ("{docs,src}/*.{txt,py}", {"docs/notes.txt", "src/app.py", "src/empty.py"}),
        ("**/{app,util}.py", {"src/app.py", "src/deep/util.py"}),
        ("src*", set()),
        ("src/a**p.py", {"src/app.py"}),
        ("README.m{d", set()),
        ("README.md", {"README.md"}),
    ],
)
def test_a_pattern_for_names_is_read_as_a_shell_reads_it(tools, pattern: str, found: set[str]) -> None:
    assert set(text(tools, "Glob", pattern=pattern).splitlines()) == (found or {"No matches."})


def test_read_numbers_lines_and_goes_on_where_asked(tools: Sandbox) -> None:
    assert text(tools, "Read", file_path="README.md").splitlines()[2] == "     3\tHello world, hello."
    part = text(tools, "Read", file_path="./docs/notes.txt", offset=29, limit=1)
    assert part == "    29\tline 29\n(1 more lines; read on with offset)"


def test_absolute_paths_below_the_work_tree_are_the_same_files(tools: Sandbox, tmp_path: Path) -> None:
    path = f"{tmp_path}/code/src/empty.py"
    assert text(tools, "Read", file_path=path) == "(src/empty.py has 0 lines)"
    assert text(tools, "Grep", pattern="foo_bar", path=f"{tmp_path}/code/src/deep") == "src/deep/util.py"
    assert text(tools, "Glob", pattern=f"{tmp_path}/code/src/*.py") == "src/app.py\nsrc/empty.py"


def test_grep_shows_files_lines_or_counts(tools: Sandbox) -> None:
    assert text(tools, "Grep", pattern="foo_bar", glob="*.py") == "src/app.py\nsrc/deep/util.py"
    assert text(tools, "Grep", pattern="FOO_BAR\\(1", output_mode="content", _dash_i=True) == (
        "src/app.py:4:    return foo_bar(1)"
    )
    assert text(tools, "Grep", pattern="def", path="src", output_mode="count") == (
        "src/app.py:1\nsrc/deep/util.py:1"
    )
    assert text(tools, "Grep", pattern="line", output_mode="content", head_limit=2).count("\n") == 1
    assert text(tools, "Grep", pattern="nowhere to be seen") == "No matches."


def test_glob_lists_the_memory_and_the_code(tools: Sandbox) -> None:
    assert text(tools, "Glob", pattern="**/*.{json,txt}") == "docs/notes.txt\nsrc/deep/data.json"
    assert text(tools, "Glob", pattern="*.md", path="memory/local/main") == "memory/local/main/known.md"


def test_long_output_is_cut_and_says_so(tmp_path: Path) -> None:
    tools = Sandbox({}, Roots(None, {"long.md": "word\n" * 10_000}))
    result = tools.call("Read", {"file_path": "sessions/long.md", "limit": 10_000})
    assert "more characters; ask for less)" in result.text
    assert len(result.text) < 30_100


def test_an_edit_needs_a_reading_and_one_place(tools: Sandbox) -> None:
    path = "memory/local/main/known.md"
    asked = {"file_path": path, "old_string": "fact", "new_string": "truth"}
    assert "read" in tools.call("Edit", asked).text
    text(tools, "Read", file_path=path)
    assert "3 times" in tools.call("Edit", asked).text
    assert text(tools, "Edit", **asked | {"old_string": "One fact", "new_string": "One truth"}).endswith(
        "changed."
    )
    assert b"One truth.\n\nAnother fact." in tools.files["local/main/known.md"]
    text(tools, "Edit", **asked, replace_all=True)
    assert b"fact" not in tools.files["local/main/known.md"]
    assert "truth" in text(tools, "Read", file_path=path)
    assert tools.log == ()


def test_a_new_memory_is_written_and_told_what_it_lacks(tools: Sandbox) -> None:
    path = "memory/project/main/new.md"
    assert text(tools, "Write", file_path=path, content="bare").endswith("Put right: no frontmatter.")
    assert text(tools, "Write", file_path=path, content=KNOWN.decode()).endswith("is changed.")
    assert tools.files["project/main/new.md"] == KNOWN
    assert text(tools, "Glob", pattern="memory/project/main/*") == path


def test_an_empty_content_deletes_what_was_read(tools: Sandbox) -> None:
    path = "memory/local/main/known.md"
    text(tools, "Read", file_path=path)
    assert text(tools, "Write", file_path=path, content="").endswith("is deleted.")
    assert tools.files == {}
    assert tools.call("Read", {"file_path": path}).is_error


def test_a_file_with_windows_line_ends_is_edited_as_it_was_shown() -> None:
    tools = Sandbox({"local/main/a.md": b"---\r\nname: a\r\n---\r\none\r\ntwo\r\n"})
    path = "memory/local/main/a.md"
    assert "4\tone" in text(tools, "Read", file_path=path)
    text(tools, "Edit", file_path=path, old_string="one\ntwo", new_string="one\nthree")
    assert tools.files["local/main/a.md"] == b"---\r\nname: a\r\n---\r\none\r\nthree\r\n"


def test_a_tool_is_defined_as_a_request_needs_it() -> None:
    assert [tool["name"] for tool in TOOLS] == ["Read", "Grep", "Glob", "Edit", "Write"]
    for tool in TOOLS:
        schema = tool["input_schema"]
        assert set(schema["required"]) <= set(schema["properties"])
        assert all({"type", "description"} <= set(value) for value in schema["properties"].values())
