"""Which names of the code a text holds, where they stand, and what is said of what became of them."""

from __future__ import annotations

import pytest

from gitmem.core.references import (
    LONGEST,
    MOST_PATHS,
    MOST_READ,
    MOST_SAID,
    MOST_WORDS,
    Finding,
    Mention,
    Named,
    day,
    disputed,
    mentions,
    named,
    plain_path,
    statement,
    warnings,
    without_fences,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("`src/a.py`", [("src/a.py", (), False)]),
        ("`./src/a.PY:12`", [("src/a.PY", (), False)]),
        ("`src/a.py:12-14` `src/a.py:3:4`", [("src/a.py", (), False)] * 2),
        ("`tests/a.py::test_b.c`", [("tests/a.py", (), False)]),
        ("`a.py`", [("a.py", (), False)]),
        ("`a.unknown`", [("a.unknown", ("unknown",), False)]),
        ("`src/a.unknown`", []),
        ("`src/app`", [("src/app", (), True)]),
        ("`./src/app/`", [("src/app", (), True)]),
        ("`src/`", [("src", (), True)]),
        ("`src`", []),
        ("`/src/a.py` `../a.py` `a/../b.py` `.git/config.toml` `a//b.py`", []),
        ("`example.com/a.py` `www.x.y/a.py` `a.io/x/y`", []),
        ("`example.py/a.py`", [("example.py/a.py", (), False)]),
        ("`-x/a.py`", []),
        (f"`{'x' * (LONGEST - 3)}.py`", [(f"{'x' * (LONGEST - 3)}.py", (), False)]),
        (f"`{'x' * (LONGEST - 2)}.py`", []),
        ("`make --all-targets=3 -v`", [("--all-targets", ("--all-targets",), False)]),
        ("`--one --two`", [("--one", ("--one",), False), ("--two", ("--two",), False)]),
        ("`git --One` `a--b`", []),
        ("`run_all()`", [("run_all()", ("run_all",), False)]),
        ("`run_all(1, 2)`", [("run_all()", ("run_all",), False)]),
        ("`Store.open`", [("Store.open", ("Store", "open"), False)]),
        ("`store.open`", [("store.open", ("open",), False)]),
        ("`a::Store::open`", [("a::Store::open", ("Store", "open"), False)]),
        ("`App.Store.open`", [("App.Store.open", ("Store", "open"), False)]),
        ("`Store#open`", [("Store#open", ("Store", "open"), False)]),
        (
            "`retryLimit` `MAX_SIZE` `max_2`",
            [(n, (n,), False) for n in ["retryLimit", "MAX_SIZE", "max_2"]],
        ),
        ("`word` `Word` `of()` `a.of` `x y_z` `2_x`", []),
        ("`abc()`", [("abc()", ("abc",), False)]),
        ("``a_b_c`` `a\nb_c`", []),
        ("see src/a.py, then (lib/b.rs).", [("src/a.py", (), False), ("lib/b.rs", (), False)]),
        ("see ./src/a.py", [("src/a.py", (), False)]),
        ("see `src//a.py` or `../src/a.py` or `src/.git/a.py`", []),
        ("see a.py or src/a.unknown or src/app", []),
        ("https://x/src/a.py ~/a/b.py $A/b.py x-/a/b.py-c", []),
        ("pass --dry-run.", [("--dry-run", ("--dry-run",), False)]),
        ("a--dry or /--dry or ---dry or --x_y", []),
        (
            "call store.open(), open_it()",
            [("store.open()", ("open",), False), ("open_it()", ("open_it",), False)],
        ),
        ("see x/open() and of()", []),
        ("Store.open does", [("Store.open", ("Store", "open"), False)]),
        ("End.of this. STore.open x.Store.open", []),
        ("MAX_SIZE is", [("MAX_SIZE", ("MAX_SIZE",), False)]),
        ("MAX_ or MAX__SIZE or 2_SIZE", []),
        ("MAX or _MAX_SIZE or MAX_SIZE/x or MAX_size", []),
    ],
)
def test_a_name_is_what_can_be_nothing_else(
    text: str, found: list[tuple[str, tuple[str, ...], bool]]
) -> None:
    assert [(one.name, one.parts, one.folder) for one in mentions(text)] == found


@pytest.mark.parametrize(
    "text",
    [
        "a `src/a.py:3` b",
        "a `src/a.py` `src/a.py` b",
        "see ./src/a.py now",
        "the ` run_all ` word",
        "use `make --all -x` there",
        "pass --dry-run here",
        "it is Store.open, MAX_SIZE and open_it()",
        "```\n`x/y.py`\n```\n`src/a.py`",
    ],
)
def test_a_name_is_found_where_it_stands(text: str) -> None:
    for one in mentions(text):
        assert text[one.start : one.end] == one.name


def test_a_folder_and_a_call_are_found_where_they_stand() -> None:
    text = "in `src/app/` call `run_all(1)`"
    assert list(mentions(text)) == [
        Mention(4, 12, "src/app", (), folder=True),
        Mention(20, 27, "run_all()", ("run_all",)),
    ]


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
    assert without_fences(text) == kept


def test_each_name_is_looked_up_once_and_a_bare_markdown_file_never() -> None:
    found = named("`a.md` `docs/a.md` `src/a.py` `src/a.py` `src/app` `A_b.run()` `A_b.run` `--all`", 7)
    assert found == Named(
        ("docs/a.md", "src/a.py", "src/app"),
        frozenset({"docs/a.md", "src/a.py"}),
        (("A_b.run()", ("A_b", "run")), ("--all", ("--all",))),
        7,
    )
    assert named("nothing") == Named((), frozenset(), (), 0)


def test_a_memory_names_only_so_much() -> None:
    many = named(" ".join(f"`src/a{n}.py` `call_{n}()`" for n in range(50)))
    assert len(many.paths) == MOST_PATHS == 20 and len(many.words) == MOST_WORDS == 20
    assert many.paths[0] == "src/a0.py" and many.words[0][0] == "call_0()"
    assert MOST_READ == 20_000
    assert named("x" * (MOST_READ - 8) + " `a_b_c`").words == (("a_b_c", ("a_b_c",)),)
    assert named("x" * (MOST_READ - 7) + " `a_b_c`").words == ()


@pytest.mark.parametrize(
    ("finding", "said"),
    [
        (Finding("a", "there"), "`a` is still there"),
        (Finding("a", "moved", "b c"), "`a` moved to `b_c`"),
        (Finding("a", "missing"), "`a` is not in HEAD"),
        (Finding("a", "gone"), "`a` is no longer in the code"),
        (
            Finding("a", "gone", commit="0123456789ab", time=86_400),
            "`a` is gone since 012345678, 1970-01-02",
        ),
        (Finding("a", "gone", "b`c"), "`a` became `b_c`, gone"),
        (
            Finding("a", "gone", "b", "0123456789ab", 86_400),
            "`a` became `b`, gone since 012345678, 1970-01-02",
        ),
    ],
)
def test_what_became_of_a_name_is_one_short_fact(finding: Finding, said: str) -> None:
    assert statement(finding) == said


def test_only_what_is_to_be_known_is_told_and_the_rest_counted() -> None:
    gone = [Finding(f"n{number}", "missing") for number in range(MOST_SAID + 2)]
    assert MOST_SAID == 6
    assert warnings([Finding("a", "there"), gone[0]]) == ("`n0` is not in HEAD",)
    assert warnings(gone[:6]) == tuple(statement(one) for one in gone[:6])
    assert warnings(gone)[6:] == ("2 more that it names are not in HEAD",)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("A.", ""),
        ("A. *(disputed 0123abcd)*", "1 claim of it is disputed, and not settled yet"),
        (
            "A. *(disputed 0123abcd)*\n\nB. *(disputed 0123abcd)*",
            "2 claims of it are disputed, and not settled yet",
        ),
        ("A. *(disputed 0123abc)*", ""),
    ],
)
def test_disputes_are_counted(body: str, said: str) -> None:
    assert disputed(body) == said


def test_a_path_from_a_tree_makes_no_sentence() -> None:
    assert plain_path("a b`c\n\nd/e@f+g-h.py") == "a_b_c_d/e@f+g-h.py"
    assert len(plain_path("x" * 300)) == LONGEST == 200
    assert day(0) == "1970-01-01"
