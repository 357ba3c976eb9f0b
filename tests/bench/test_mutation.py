"""The mistakes that `mutants.py` makes are those that it names, and the same ones for the same seed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from mutants import chosen
from mutation import mutants


def changes(source: str, operator: str) -> set[str]:
    return {one.becomes for one in mutants("a.py", source) if one.operator == operator and one.is_code}


@pytest.mark.parametrize(
    ("source", "operator", "becomes"),
    [
        ("x = a < b", "comparison", {"x = (a <= b)"}),
        ("x = a and b or c", "and or", {"x = ((a and b) and c)", "x = (a or b) or c"}),
        ("x = a and b", "operand", {"x = (a)", "x = (b)"}),
        ("x = not a", "not", {"x = (a)"}),
        ("if a:\n    b()", "condition", {"if (not (a)):"}),
        ("x = a if b else c", "condition", {"x = (c if b else a)"}),
        ("x = [a for a in b if c]", "filter", {"x = [a for a in b if True]"}),
        ("x = a - 1", "arithmetic", {"x = (a + 1)"}),
        ("x = 'a' + b", "arithmetic", set()),
        ("x = 3", "constant", {"x = (4)", "x = (2)"}),
        ("x = 1000", "constant", {"x = (500)"}),
        ("x = True", "constant", {"x = False"}),
        ("x = 'a'", "string", {'x = ""'}),
        ("raise Error('a')", "string", set()),
        ("x = 'it says so'", "string", set()),
        ("def f() -> bool:\n    return a", "return", {"return (not (a))"}),
        ("def f() -> str:\n    return a", "return", {'return ""'}),
        ("def f():\n    return a", "return", {"return None"}),
        ("a.append(b)", "statement", {"pass"}),
        ("x = a[1:b]", "slice", {"x = a[:b]", "x = a[1:]"}),
        ("x = ('a', 'b')", "order", {"x = ('b', 'a')"}),
        ("x = a in ('a', 'b')", "order", set()),
        ("try:\n    x\nexcept (a, b):\n    y", "order", set()),
        ("x = a.endswith(('a', 'b'))", "order", set()),
        ("x = any(y(a) for a in (b, c))", "order", set()),
        ("x = {y(a) for a in (b, c)}", "order", set()),
        ("x = [y(a) for a in (b, c)]", "order", {"x = [y(a) for a in (c, b)]"}),
        ("x = a if b and c.strip() else d", "call", set()),
        ("x = [a for a in b if not a.lstrip()]", "call", set()),
        ("x = a.strip()", "call", {"x = a.lstrip()"}),
        ("x = {1, 2}", "element", {"x = {2}", "x = {1}"}),
        ("x = min(a)", "call", {"x = max(a)"}),
        ("def f(a=('b', 'c')): ...", "default", {"def f(a=()): ..."}),
        (
            "x = re.compile('^a(?=b)', 0)",
            "regex",
            {"x = re.compile('a(?=b)', 0)", "x = re.compile('^a', 0)"},
        ),
        ("x = re.compile('a+', re.I)", "regex", {"x = re.compile('a*', re.I)", "x = re.compile('a+', 0)"}),
        ("@a(1)\nclass B:\n    x: c[1]\n    'text'", "constant", set()),
    ],
)
def test_an_operator_does_what_it_says(source: str, operator: str, becomes: set[str]) -> None:
    assert changes(source, operator) == becomes


def test_a_mutant_keeps_its_name_when_lines_move_and_all_else_stays_as_it_was() -> None:
    (one,) = mutants("a.py", "é = a == b  # why\n")
    (moved,) = mutants("a.py", "\n\né = a == b  # why\n")
    assert one.source == "é = (a != b)  # why\n"
    assert one.id == moved.id and (one.at, moved.at) == (1, 3)


def test_the_choice_is_even_over_files_and_the_same_for_a_seed(tmp_path: Path) -> None:
    for name, lines in (("a", 40), ("b", 3)):
        (tmp_path / f"room/{name}.py").parent.mkdir(exist_ok=True)
        (tmp_path / f"room/{name}.py").write_text("".join(f"x{n} = a{n} < b\n" for n in range(lines)))
    first, again, other = (chosen(tmp_path, ["room"], seed) for seed in (1, 1, 2))
    assert first == again and set(first) == set(other) and first != other and len(first) == 43
    assert [one.path for one in first[:6]] == ["room/a.py", "room/b.py"] * 3
