"""Values read by one pattern are those that the parser tells, whatever a file holds."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitmem.core import frontmatter
from gitmem.core.frontmatter import split, values

KEYS = ("name", "description", "type", "originSessionId")

_KEY = st.sampled_from([*KEYS, "metadata", "node_type", "x-y.z", "- a", ""])
_VALUE = st.text(
    alphabet="ab:#'\"\\ \t\r-[{&*!|>%@`?,~é\u00a0\ufeff\U0001f600\ud8ff[]", max_size=12
) | st.sampled_from(
    [
        "plain words",
        "a: b",
        "a #b",
        "it's",
        '"quoted"',
        "'single'",
        '"a\\"b"',
        '" a"',
        "[x, y]",
        "|",
        "null",
    ]
)
_LINE = st.builds(
    "{}{}:{}{}\n".format,
    st.sampled_from(["", "  ", "   ", "\t"]),
    _KEY,
    st.sampled_from([" ", "", "  "]),
    _VALUE,
)
_LINES = st.lists(
    _LINE | st.sampled_from(["metadata:\n", "\n", "# note\n", "words\n", "---\n"]), max_size=6
)
_FILE = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["---\n", "---\r\n", "\ufeff---\n", ""]),
    _LINES.map("".join),
    st.sampled_from(["---\n", "---", "...\n", "--- \n", ""]),
    st.text(max_size=20),
)


def slowly(text: str) -> tuple[list[str], str]:
    front, body = split(text)
    return [front.text(key) if front else "" for key in KEYS], body


@given(_FILE)
@example("---\nname: a\nmetadata:\n  name: b\n---\nx")
@example("---\nname:\nmetadata:\n  name: b\n---\nx")
@example("---\nmetadata: x\n  type: user\n---\nx")
@example("---\nname: \"a  b\"\ndescription: 'c d'\nmetadata:\n  type: user\n---\n\nx\n")
@example("---\n" + "".join(f"k{n}: v\n" for n in range(250)) + "name: a\n---\nx")
@example("---\nname: a\n" + "x: y\n" * 1500 + "---\nx")
def test_one_pattern_reads_what_the_parser_reads(text: str) -> None:
    assert values(text, KEYS) == slowly(text)


@given(_VALUE | st.from_regex(r"[\"'][ -~]{0,12}[\"']", fullmatch=True))
def test_what_stands_for_itself_between_quotes_needs_no_yaml(value: str) -> None:
    if frontmatter._QUOTED.fullmatch(value):
        assert value[1:-1] == frontmatter._load(f"name: {value}\n")


@pytest.mark.parametrize(
    "layout",
    [
        "---\nname: {}\ndescription: {}\ntype: user\noriginSessionId: 1-2\n---\n\nbody\n",
        "---\nname: {}\ndescription: {}\nmetadata:\n  type: user\n  originSessionId: 1-2\n---\n\nbody\n",
    ],
)
@pytest.mark.parametrize(
    "description", ["Deploys run at 9:30, says a#b", '"Deploys: at noon"', "'It is so'"]
)
def test_both_layouts_are_read_without_the_parser(
    layout: str, description: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = layout.format("no-mocks", description)
    expected = slowly(text)
    monkeypatch.setattr("gitmem.core.frontmatter.split", None)
    assert values(text, KEYS) == expected
    assert expected[0] == ["no-mocks", description.strip("'\""), "user", "1-2"]
