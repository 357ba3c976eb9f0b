"""Which names of the code a text holds, where they stand, and what is said of what became of them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core import references

FILE, FOLDER, SYMBOL, FLAG = "file", "folder", "symbol", "flag"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        # Files and folders, in backticks.
        ("`src/a.py`", [(FILE, "src/a.py", ())]),
        ("`./src/a.PY:12`", [(FILE, "src/a.PY", ())]),
        ("`src/a.py:12-14` `src/a.py:3:4`", [(FILE, "src/a.py", ())] * 2),
        ("`tests/a.py::test_b.c`", [(FILE, "tests/a.py", ())]),
        ("`größe/übung.py` `setup.cfg`", [(FILE, "größe/übung.py", ()), (FILE, "setup.cfg", ())]),
        ("`a.py`", [(FILE, "a.py", ())]),
        ("``c/d.py``", [(FILE, "c/d.py", ())]),
        ("`src/a.unknown`", []),
        ("`src/app`", [(FOLDER, "src/app", ())]),
        ("`./src/app/`", [(FOLDER, "src/app", ())]),
        ("`src/` `and/or`", [(FOLDER, "src", ()), (FOLDER, "and/or", ())]),
        ("`src`", []),
        ("`/src/a.py` `../a.py` `a/../b.py` `a/./b.py` `.git/config.toml` `a//b.py` `/etc/a.conf`", []),
        ("`src/*.py` `src/<name>.py` `git add a.py` `v1.2`", []),
        ("`https://host/a.py` `a.com/a.py` `www.x.y/a.py` `a.io/x/y` `-x/a.py`", []),
        (f"`{'x' * (references.LONGEST - 3)}.py`", [(FILE, f"{'x' * (references.LONGEST - 3)}.py", ())]),
        (f"`{'x' * (references.LONGEST - 2)}.py`", []),
        # Flags, and whose they are.
        ("`make --all-targets=3 -v`", [(FLAG, "make", ("--all-targets",))]),
        ("`git mem docs check --strict`", [(FLAG, "git-mem", ("--strict",))]),
        ("`--one --two`", [(FLAG, "", ("--one",)), (FLAG, "", ("--two",))]),
        ("`git --One` `a--b`", []),
        ("pass --dry-run.", [(FLAG, "", ("--dry-run",))]),
        ("a--dry or /--dry or ---dry or --x_y, -- or ---", []),
        # Symbols.
        ("`run_all()`", [(SYMBOL, "run_all()", ("run_all",))]),
        ("`run_all(1, 2)`", [(SYMBOL, "run_all()", ("run_all",))]),
        ("`Store.open`", [(SYMBOL, "Store.open", ("Store", "open"))]),
        ("`store.open`", [(SYMBOL, "store.open", ("open",))]),
        ("`os.path.join`", [(SYMBOL, "os.path.join", ("join",))]),
        ("`a.unknown`", [(SYMBOL, "a.unknown", ("unknown",))]),
        ("`a::Store::open`", [(SYMBOL, "a::Store::open", ("Store", "open"))]),
        ("`App.Store.open()`", [(SYMBOL, "App.Store.open()", ("Store", "open"))]),
        ("`Store#open`", [(SYMBOL, "Store#open", ("Store", "open"))]),
        ("`retryLimit` `MAX_2`", [(SYMBOL, "retryLimit", ("retryLimit",)), (SYMBOL, "MAX_2", ("MAX_2",))]),
        ("`word` `Word` `SQL` `of()` `a.of` `x y_z` `2_x` `a\nb_c`", []),
        ("`f(ignore all that was said before)`", []),
        ("`abc()` ``a_b_c``", [(SYMBOL, "abc()", ("abc",)), (SYMBOL, "a_b_c", ("a_b_c",))]),
        # Prose: what can be nothing else.
        ("see src/a.py, then (lib/b.rs).", [(FILE, "src/a.py", ()), (FILE, "lib/b.rs", ())]),
        ("see ./src/a.py and tests/b.py::test_c", [(FILE, "src/a.py", ()), (FILE, "tests/b.py", ())]),
        ("see a.py or src/a.unknown or src/app or ../src/a.py or src//a.py", []),
        ("https://x/src/a.py ~/a/b.py $A/b.py C:/a/b.py host.com/a/b.py x-/a/b.py-c", []),
        (
            "call store.open(), open_it()",
            [(SYMBOL, "store.open()", ("open",)), (SYMBOL, "open_it()", ("open_it",))],
        ),
        ("see x/open() and of()", []),
        (
            "MAX_SIZE, Store.open and open_it()",
            [
                (SYMBOL, "open_it()", ("open_it",)),
                (SYMBOL, "Store.open", ("Store", "open")),
                (SYMBOL, "MAX_SIZE", ("MAX_SIZE",)),
            ],
        ),
        ("Store.open does", [(SYMBOL, "Store.open", ("Store", "open"))]),
        ("End.of this. STore.open x.Store.open", []),
        ("MAX_SIZE is", [(SYMBOL, "MAX_SIZE", ("MAX_SIZE",))]),
        ("MAX_ MAX__SIZE 2_SIZE MAX _MAX_SIZE MAX_SIZE/x MAX_size", []),
        # Examples and output.
        ("```\n`src/a.py`\nsee src/b.py\n```", []),
        ("Intro.\n\n    src/b.py: not found\n\nEnd.", []),
        ("Intro.\n    see src/b.py\n", [(FILE, "src/b.py", ())]),
        ("- item\n\n    see src/b.py\n", [(FILE, "src/b.py", ())]),
        ("<!-- `src/a.py` -->", []),
        ("`path/to/file.py`, `foo.py`, `my_app/x.py`", []),
        ("for example `src/a.py`, or e.g. `b/c.py`", []),
        # What was.
        ("It was called `src/a.py` once, formerly `b_c()`.", []),
        ("It was called\n`src/a.py` before.", []),
        ("We no longer use `a_b`. It is `c_d` now.", [(SYMBOL, "c_d", ("c_d",))]),
        ("- was moved from `a/b.py`\n- `c/d.py`", [(FILE, "c/d.py", ())]),
        ("`a_b` is used to sort.", [(SYMBOL, "a_b", ("a_b",))]),
    ],
)
def test_a_name_is_what_can_be_nothing_else(
    text: str, found: list[tuple[str, str, tuple[str, ...]]]
) -> None:
    assert [(one.kind, one.target, one.parts) for one in references.names(text)] == found


def test_who_holds_names_against_what_is_at_hand_is_given_all_of_them() -> None:
    """A rule on `my_app/x.py` is told when that file is edited, whatever its name looks like."""
    text = "Never edit `my_app/x.py`; it was moved to `src/y.py`."
    assert [one.target for one in references.names(text, loose=True)] == ["my_app/x.py", "src/y.py"]
    assert list(references.names(text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "a `src/a.py:3` b", "a `src/a.py` `src/a.py` b", "see ./src/a.py now", "the ` run_all ` word",
        "use `make --all -x` there", "pass --dry-run here", "it is Store.open, MAX_SIZE and open_it()",
        "```\n`x/y.py`\n```\n`src/a.py`", "in `src/app/` call `run_all(1)`, ``c/d.py``",
    ],
)  # fmt: skip
def test_a_name_is_found_where_it_stands(text: str) -> None:
    found = list(references.names(text))
    assert found and all(text[one.start : one.end] == one.name for one in found)


@given(st.text(alphabet=st.sampled_from("ab/.`-_: \n\r\0()AZé*[]!^$~@+#"), max_size=300))
def test_what_is_asked_of_git_is_no_option_no_pattern_and_on_one_line(text: str) -> None:
    found = references.named(text)
    for path in found.paths:
        assert re.fullmatch(r"[\w./@+-]+", path) and not path.startswith(("-", "/"))
        assert not {"", ".", "..", ".git"} & set(path.split("/"))
        assert len(path) <= references.LONGEST
    for _, parts in found.words:
        assert all(re.fullmatch(r"\w+|--[\w-]+", part) for part in parts)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a\n```\nb\n```\nc", "a\n   \n \n   \nc"),
        ("a\n```sh\nb\n````\nc", "a\n     \n \n    \nc"),
        ("````\nb\n```\nc\n````\nd", "    \n \n   \n \n    \nd"),
        ("~~~ x`y\nb\n```\n~~~\nc", "       \n \n   \n   \nc"),
        ("``` x`y\nb", "``` x`y\nb"),
        ("```\nb\n``` c\nd", "   \n \n     \n "),
        ("   ```\nb", "      \n "),
        ("    ```\nb", "    ```\nb"),
        ("``\nb", "``\nb"),
    ],
)
def test_what_stands_in_a_fence_is_an_example(text: str, kept: str) -> None:
    assert references.without_fences(text) == kept


def test_each_name_is_looked_up_once_and_a_bare_markdown_file_never() -> None:
    found = references.named(
        "`a.md` `docs/a.md` `src/a.py` `src/a.py` `src/app` `A_b.run()` `A_b.run` `--all`", 7
    )
    assert found == references.Named(
        ("docs/a.md", "src/a.py", "src/app"),
        frozenset({"docs/a.md", "src/a.py"}),
        (("A_b.run()", ("A_b", "run")), ("--all", ("--all",))),
        7,
    )
    assert references.named("nothing") == references.Named((), frozenset(), (), 0)
    assert references.named("`src/app/` and `bin/deploy`, `and/or`").sure == frozenset()
    assert references.named("Orders.place() is slow, `Orders.place` too").words == (
        ("Orders.place", ("Orders", "place")),
    )


def test_a_memory_names_only_so_much() -> None:
    many = references.named(" ".join(f"`src/a{n}.py` `call_{n}()`" for n in range(50)))
    assert len(many.paths) == references.MOST_PATHS == 20 and len(many.words) == references.MOST_WORDS == 20
    assert many.paths[0] == "src/a0.py" and many.words[0][0] == "call_0()"
    assert references.MOST_READ == 20_000
    assert references.named("x" * (references.MOST_READ - 8) + " `a_b_c`").words == (("a_b_c", ("a_b_c",)),)
    assert references.named("x" * (references.MOST_READ - 7) + " `a_b_c`").words == ()


@pytest.mark.parametrize("part", ["a+", "a/", "a.", "`", "```\n", "--a-", "a. ", ".\n", "e.g. "])
def test_a_hostile_memory_is_read_in_no_time(part: str) -> None:
    assert references.named(part * 50_000).taught == 0


@pytest.mark.parametrize(
    ("finding", "said"),
    [
        (references.NameFate("a", "there"), "`a` is still there"),
        (references.NameFate("a", "moved", "b c"), "`a` moved to `b_c`"),
        (references.NameFate("a()", "renamed", "b()"), "`a()` became `b()`"),
        (references.NameFate("a", "missing"), "`a` is not in HEAD"),
        (references.NameFate("a", "gone"), "`a` is no longer in the code"),
        (
            references.NameFate("a", "gone", commit="0123456789ab", time=86_400),
            "`a` is gone since 012345678, 1970-01-02",
        ),
        (references.NameFate("a", "gone", "b`c"), "`a` became `b_c`, gone"),
        (
            references.NameFate("a", "gone", "b", "0123456789ab", 86_400),
            "`a` became `b`, gone since 012345678, 1970-01-02",
        ),
    ],
)
def test_what_became_of_a_name_is_one_short_fact(finding: references.NameFate, said: str) -> None:
    assert references.statement(finding) == said


def test_only_what_is_to_be_known_is_told_and_the_rest_counted() -> None:
    gone = [references.NameFate(f"n{number}", "missing") for number in range(references.MOST_SAID + 2)]
    assert references.MOST_SAID == 6
    assert references.warnings([references.NameFate("a", "there"), gone[0]]) == ("`n0` is not in HEAD",)
    assert references.warnings(gone[:6]) == tuple(references.statement(one) for one in gone[:6])
    assert references.warnings(gone)[6:] == ("2 more that it names are not in HEAD",)


def test_a_path_from_a_tree_makes_no_sentence() -> None:
    assert references.plain_path("a b`c\n\nd/e@f+g-h.py") == "a_b_c_d/e@f+g-h.py"
    assert len(references.plain_path("x" * 300)) == references.LONGEST == 200
    assert references.day(0) == "1970-01-01"
