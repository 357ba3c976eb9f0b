"""What the sandbox's tools answer where nothing is wrong with the question."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.engines.sandbox import TOOLS, Roots, Sandbox
from gitmem.engines.sandbox.budget import Budget, Refusal
from gitmem.engines.sandbox.matcher import Matcher

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


def test_the_commands_answer_as_the_real_ones_do(tools: Sandbox, tmp_path: Path) -> None:
    """A model knows these tools by heart; what differs misleads it."""
    lines = """
        cat README.md src/app.py
        cat -n docs/notes.txt
        head -n 3 docs/notes.txt
        head -5 docs/notes.txt
        head -n -27 docs/notes.txt
        head -c 11 docs/notes.txt
        head -n 2 README.md docs/notes.txt
        tail -n 3 docs/notes.txt
        tail -n +28 docs/notes.txt
        tail docs/notes.txt | head -n 1
        cat docs/notes.txt | grep 'line 1' | tail -n 2
        ls src
        ls -A src/deep
        ls -1 src/*.py
        find src -name '*.py'
        find src -type f -not -name '*.py'
        find src -maxdepth 1 -type d
        find src -mindepth 1 ( -name 'd*' -o -name 'e*' )
        find src -name '*.py' -size +0 -path '*deep*'
        find . -empty -type f -name '*.py'
        find src -iname '*.JSON'
        grep -n hello README.md
        grep -in HELLO README.md
        grep -c a src/app.py docs/notes.txt
        grep -v line docs/notes.txt README.md
        grep -o 'foo_[a-z]*' src/app.py
        grep -ow 'l[a-z]*e' docs/notes.txt
        grep -E '^(def|import) ' src/app.py
        grep 'foo_\\(bar\\|baz\\)' src/deep/util.py
        grep -F 'a.b a+b (paren) [x] $5' src/deep/util.py
        grep 'line [0-9]\\{2\\}$' docs/notes.txt
        grep -m 2 line docs/notes.txt
        grep -A 1 -B 1 -n 'line 15' docs/notes.txt
        grep -n -C1 -e 'line 3$' -e 'line 7$' docs/notes.txt
        grep -x 'line 7' docs/notes.txt
        grep -w 'main' src/app.py
        grep '\\bfoo' src/app.py
        grep -L hello README.md src/app.py
        grep -h def src/app.py src/deep/util.py
        grep -E 'x{1,2}:|\\(n\\)' src/app.py src/deep/util.py
        grep -q hello README.md
        grep -s hello absent.txt README.md
        grep '[[:digit:]]%' src/deep/util.py
    """
    for line in filter(None, map(str.strip, lines.splitlines())):
        spelt = line.replace("( ", "\\( ").replace(" )", " \\)") if line.startswith("find") else line
        real = subprocess.run(
            ["sh", "-c", spelt], cwd=tmp_path / "code", capture_output=True, text=True, check=False
        ).stdout
        got = text(tools, "Bash", command=spelt)
        shown = sorted(real.splitlines()) if line.startswith("find") else real.rstrip("\n").splitlines()
        mine = sorted(got.splitlines()) if line.startswith("find") else got.splitlines()
        assert mine == (shown or ["(no output)"]), line


def test_recursive_grep_finds_what_the_real_one_finds(tools: Sandbox, tmp_path: Path) -> None:
    real = subprocess.run(
        ["grep", "-rn", "foo_bar", "src"], cwd=tmp_path / "code", capture_output=True, text=True, check=True
    ).stdout
    got = text(tools, "Bash", command="grep -rn foo_bar src")
    assert sorted(got.splitlines()) == sorted(real.splitlines())
    assert text(tools, "Bash", command="grep -rln foo_bar . --include='u*.py'") == "src/deep/util.py"
    assert "src/deep" not in text(tools, "Bash", command="grep -rn foo_bar . --exclude-dir=deep")


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
    st.text("abc _A", max_size=8),
    st.booleans(),
)
def test_the_matcher_finds_what_python_finds(pattern: str, line: str, ignore_case: bool) -> None:
    """The same language, by another way that takes linear time."""
    budget = Budget()
    budget.renew()
    flags = re.IGNORECASE if ignore_case else re.NOFLAG
    matcher = Matcher([pattern], "perl", ignore_case=ignore_case)
    assert matcher.matches(line, budget) == bool(re.search(pattern, line, flags))
    assert matcher.matches(line, budget) == bool(re.search(pattern, line, flags))
    span = matcher.span(line, 0, budget)
    if span is not None:
        assert re.search(f"^.{{{span[0]}}}", line)
        assert matcher.matches(line, budget)


@given(st.text("ab.*+?{}()[]|^$\\-,1<>bwd:?=", max_size=14), st.text("ab1", max_size=6))
def test_any_pattern_is_run_or_refused(pattern: str, line: str) -> None:
    budget = Budget()
    budget.renew()
    for syntax in ("basic", "extended", "perl", "fixed"):
        try:
            matcher = Matcher([pattern], syntax)
        except Refusal as refusal:
            assert "cannot be used" in str(refusal)
        else:
            assert matcher.matches(line, budget) in (True, False)
            assert syntax != "fixed" or matcher.matches(line, budget) == (pattern in line)


def test_a_search_that_python_would_never_end_is_over_at_once() -> None:
    budget = Budget()
    budget.renew()
    line = "a" * 2_000
    for pattern in ("(a+)+$b", "(a|a)*b", "(.*)*=(.*)*=", "a*" * 60 + "b", "(a?){50}b"):
        assert not Matcher([pattern], "extended").matches(line, budget), pattern


def test_read_numbers_lines_and_goes_on_where_asked(tools: Sandbox) -> None:
    assert text(tools, "Read", file_path="README.md").splitlines()[2] == "     3\tHello world, hello."
    part = text(tools, "Read", file_path="./docs/notes.txt", offset=29, limit=1)
    assert part == "    29\tline 29\n(1 more lines; read on with offset)"


def test_absolute_paths_below_the_work_tree_are_the_same_files(tools: Sandbox, tmp_path: Path) -> None:
    path = f"{tmp_path}/code/src/empty.py"
    assert text(tools, "Read", file_path=path) == "(src/empty.py has 0 lines)"
    assert text(tools, "Bash", command=f"ls {tmp_path}/code/src/deep") == "data.json\nutil.py"
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
    result = tools.call("Bash", {"command": "cat sessions/long.md"})
    assert "(cut: 19,999 more characters" in result.text
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
    assert "truth" in text(tools, "Bash", command=f"cat {path}")
    assert tools.log == ()


def test_a_new_memory_is_written_and_told_what_it_lacks(tools: Sandbox) -> None:
    path = "memory/project/main/new.md"
    assert text(tools, "Write", file_path=path, content="bare").endswith("Put right: no frontmatter.")
    assert text(tools, "Write", file_path=path, content=KNOWN.decode()).endswith("is changed.")
    assert tools.files["project/main/new.md"] == KNOWN
    assert "new.md" in text(tools, "Bash", command="ls memory/project/main")


def test_an_empty_content_deletes_what_was_read(tools: Sandbox) -> None:
    path = "memory/local/main/known.md"
    text(tools, "Bash", command=f"cat {path}")
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
    assert [tool["name"] for tool in TOOLS] == ["Read", "Grep", "Glob", "Bash", "Edit", "Write"]
    for tool in TOOLS:
        schema = tool["input_schema"]
        assert set(schema["required"]) <= set(schema["properties"])
        assert all({"type", "description"} <= set(value) for value in schema["properties"].values())
