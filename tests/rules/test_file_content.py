"""What files hold, judged beside what they held before: sizes, frontmatter, links, hidden characters."""

from __future__ import annotations

import pytest

from gitmem.core.limits import FRONTMATTER_LINES, MEMORY_BYTES
from gitmem.rules.content import judge_content, judge_links, judge_logs, judge_names, judge_size
from gitmem.rules.instructions import judge_hidden
from gitmem.rules.rule import Judge, RuleContext, compare, in_texts, side_of

LOG = "- 10:00:00Z [project ab] A.\n- 11:00:00Z [user cd] Ann likes tea.\n"
LARGE = b"x" * (MEMORY_BYTES + 1)
INDEX = {"main/MEMORY.md": b"- [a](a.md)\n"}


def fronted(lines: int) -> bytes:
    """A memory whose frontmatter, with its marks, has so many lines."""
    head = "name: a\ndescription: A\ntype: project\n" + "".join(f"k{n}: v\n" for n in range(lines - 5))
    return f"---\n{head}---\n\nA fact.\n".encode()


@pytest.mark.parametrize(
    ("rule", "before", "after", "line"),
    [
        (judge_size, {"main/a.md": b"A"}, {"main/a.md": LARGE[1:]}, 0),
        (judge_size, {"main/a.md": LARGE[1:]}, {"main/a.md": LARGE}, 1),
        (judge_size, {"main/a.md": LARGE}, {"main/a.md": LARGE + b"x"}, 0),
        (judge_size, {"main/b.md": LARGE}, {"main/a.md": LARGE}, 0),
        (in_texts(judge_content), {}, {"main/a.md": fronted(FRONTMATTER_LINES)}, 0),
        (in_texts(judge_content), {}, {"main/a.md": fronted(FRONTMATTER_LINES + 1)}, FRONTMATTER_LINES + 1),
        (judge_links, {}, INDEX | {"main/a.md": b"```\n``` sh\n```\n[[none]]\n"}, 4),
        (judge_links, {}, INDEX | {"main/a.md": b"```\n``` sh\n[[none]]\n```\n"}, 0),
        (judge_links, {}, INDEX | {"main/a.md": b"[[ a.md ]]\n"}, 0),
        (judge_links, {}, INDEX | {"main/a.md": b"\n[[none]]\n"}, 2),
        (in_texts(judge_hidden), {}, {"main/a.md": "\ufeffA".encode()}, 0),
        (in_texts(judge_hidden), {}, {"main/a.md": "A\n\ufeff".encode()}, 2),
        (in_texts(judge_hidden), {}, {"main/a.md": "A\0\nB\u200b".encode()}, 1),
        (in_texts(judge_hidden), {}, {"a.png": "A\0\nB\u200b".encode()}, 0),
        (in_texts(judge_hidden), {}, {"a.txt": "A\nB\u200b".encode()}, 2),
    ],
)
def test_a_file_is_judged_by_what_it_holds_and_held(
    rule: Judge, before: dict[str, bytes], after: dict[str, bytes], line: int
) -> None:
    """Line 0 is none."""
    was, now = side_of(before), side_of(after)
    found = {(one.path, one.line) for one in rule(was, now, compare(was, now, RuleContext()))}
    assert found & {(path, line) for path in after} if line else not found, found


def test_a_day_that_stands_in_two_places_has_the_lines_of_both() -> None:
    """Also where the first of them does not end its last line."""
    day, cold = "main/logs/2026/11/2026-11-20.md", "main/archive/logs/2026/11/2026-11-20.md"
    was = side_of({day: b"- 10:00:00Z [project ab] A."})
    for after, lost in (({cold: b"- 10:00:00Z [project ab] A.", day: b"- 11:00:00Z [project ab] B.\n"}, 0),
                        ({cold: b"", day: b"- 11:00:00Z [project ab] B.\n"}, 1)):  # fmt: skip
        now = side_of(after)
        assert len([*judge_logs(was, now, compare(was, now, RuleContext()))]) == lost


def test_memories_of_one_name_name_each_other() -> None:
    after = side_of({f"main/{name}.md": fronted(5) for name in "ab"})
    (found,) = judge_names(None, after, compare(None, after, RuleContext()))
    assert (found.path, found.message) == ("main/b.md", "has the name a, as main/a.md does")


def test_a_link_that_a_request_wrote_is_an_error_and_one_that_it_left_behind_a_notice() -> None:
    """One that led nowhere before is not told again, whatever else changed there."""
    before = INDEX | {"main/a.md": b"[[b]]\n", "main/b.md": b"B\n", "main/c.md": b"[[e]]\n"}
    was, now = side_of(before), side_of(INDEX | {"main/a.md": b"[[b]]\n", "main/c.md": b"[[e]] [[d]]\n"})
    found = judge_links(was, now, compare(was, now, RuleContext()))
    links = [(one.path, one.message, one.level) for one in found if one.rule == "link"]
    assert links == [
        ("main/a.md", "link [[b]] leads nowhere", "notice"),
        ("main/c.md", "link [[d]] leads nowhere", "error"),
    ]


def test_a_line_of_a_log_about_a_person_is_told_where_it_stands() -> None:
    after = side_of({"main/logs/2026/11/2026-11-20.md": LOG.encode()})
    (found,) = in_texts(judge_content)(None, after, compare(None, after, RuleContext()))
    assert (found.line, found.rule, found.level) == (2, "scope", "error")
    assert found.message.startswith("is about a person (type user), which is never shared with a project: ")
    assert found.message.endswith("Ann likes tea.")
