"""The small mistakes that `mutants.py` makes in a file: operators over its syntax tree, put into its text.

Not mutated, since no behaviour hangs on it: annotations, decorators, docstrings, the wording of errors and
other sentences for people (a test that repeats a sentence proves nothing).
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult, ast.Mod: ast.Mult, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip
CALLS = {
    "min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list", "startswith": "endswith",
    "endswith": "startswith", "partition": "rpartition", "rpartition": "partition", "strip": "lstrip",
    "rstrip": "strip", "lstrip": "strip", "find": "rfind", "match": "search", "fullmatch": "match",
    "casefold": "strip", "lower": "strip",
}  # fmt: skip
NOTHING = {"str": '""', "bytes": 'b""', "int": "0", "tuple": "()", "frozenset": "frozenset()", "list": "[]"}
"""What a function returns that returns nothing, by the start of its annotation."""

NOT_MUTATED = ("annotation", "returns", "decorator_list", "exc", "bases", "keywords")
"""Fields of the nodes of a syntax tree, other than a call's."""

LARGE = 100
"""From here on a number is halved: one more or less of a limit, or the next code point, is no mistake."""

LOOK = re.compile(r"\(\?(?:[=!]|<[=!])")
ANCHOR = re.compile(r"(?<!\\)(?:\^|\$)|\\[bBAZ]")


@dataclass(frozen=True)
class Mutant:
    """One file with one mistake.

    Attributes:
        path: the file, from the root of the tree.
        function: qualified name of the function; empty at the level of the module.
        operator: what was done.
        line: the first line that it touches, without indentation.
        becomes: all lines that it touches, afterwards, white space collapsed.
        at: the line's number, from 1.
        source: the whole file afterwards.
    """

    path: str
    function: str
    operator: str
    line: str
    becomes: str
    at: int
    source: str

    @property
    def id(self) -> str:
        """Eight digits that stay when lines move."""
        said = "\0".join((self.path, self.function, self.operator, self.line, self.becomes))
        return hashlib.sha256(said.encode()).hexdigest()[:8]

    @property
    def is_code(self) -> bool:
        """Whether it compiles."""
        try:
            compile(self.source, self.path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            return False
        return True


def mutants(path: str, source: str) -> list[Mutant]:
    """All mutants of a file that differ from it, each once; a few do not compile (`is_code`)."""
    found: dict[str, Mutant] = {}
    data = source.encode()
    starts = [0]
    for row in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(row))
    for function, operator, node, text in _changes(ast.parse(source)):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        changed = (data[:start] + text.encode() + data[end:]).decode()
        from_, to = starts[node.lineno - 1], starts[node.end_lineno or 0]
        line = data[from_ : starts[node.lineno]].decode().strip()
        becomes = " ".join((data[from_:start] + text.encode() + data[end:to]).decode().split())
        if becomes == " ".join(data[from_:to].decode().split()):
            continue
        mutant = Mutant(path, function, operator, line, becomes, node.lineno, changed)
        found.setdefault(mutant.id, mutant)
    return list(found.values())


Change = tuple[str, str, ast.expr | ast.stmt, str]
"""Function, operator, the node whose text goes, what comes in its place."""


def _changes(tree: ast.Module) -> Iterator[Change]:
    alike = {
        *(("order", id(one)) for node in ast.walk(tree) for one in _unordered(node)),
        *(("call", id(call.func)) for node in ast.walk(tree) for call in _stripped(node)),
    }
    for found in _walk(tree, "", ""):
        if (found[1], id(found[2])) not in alike:
            yield found


def _unordered(node: ast.AST) -> Iterator[ast.AST | None]:
    """What may stand in any order: what something is looked for in, what is caught, how a text begins."""
    match node:
        case ast.Compare(ops=ops, comparators=others):
            yield from (
                other for op, other in zip(ops, others, strict=True) if isinstance(op, ast.In | ast.NotIn)
            )
        case ast.ExceptHandler(type=caught):
            yield caught
        case ast.Call(func=ast.Attribute(attr="startswith" | "endswith"), args=args):
            yield from args
        case ast.Call(func=ast.Name(id="any" | "all"), args=[ast.GeneratorExp(generators=over)]):
            yield from (one.iter for one in over)
        case ast.SetComp(generators=over):
            yield from (one.iter for one in over)


def _stripped(node: ast.AST) -> Iterator[ast.Call]:
    """Calls of which is only asked whether they leave anything: from which end they strip says nothing."""
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            asked = [test]
        case ast.comprehension(ifs=ifs):
            asked = [*ifs]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            asked = [operand]
        case _:
            return
    for one in asked:
        asked += one.values if isinstance(one, ast.BoolOp) else []
        match one:
            case ast.Call(func=ast.Attribute(attr="strip" | "lstrip" | "rstrip")):
                yield one


def _walk(node: ast.AST, function: str, returns: str) -> Iterator[Change]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        function = f"{function}.{node.name}".lstrip(".")
        returns = ast.unparse(node.returns) if isinstance(node, ast.FunctionDef) and node.returns else ""
    for operator, what, text in _operators(node, returns):
        yield function, operator, what, text
    for child in _children(node):
        yield from _walk(child, function, returns)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """What may be mutated of a node: no annotation, decorator, docstring, alias of types or wording."""
    body = getattr(node, "body", [])
    prose = body[0] if isinstance(body, list) and body and _is_docstring(body[0]) else None
    for name, field in ast.iter_fields(node):
        if name in NOT_MUTATED and not isinstance(node, ast.Call):
            continue
        for child in field if isinstance(field, list) else [field]:
            if not isinstance(child, ast.AST) or child is prose or _is_alias(child):
                continue
            if isinstance(child, ast.JoinedStr | ast.Import | ast.ImportFrom) or _is_docstring(child):
                continue
            if isinstance(child, ast.keyword) and child.arg == "strict":
                continue
            yield child


def _is_alias(node: ast.AST) -> bool:
    """Whether a name is given to a type: `Span = tuple[int, int]`."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript(slice=inner)):
            return name.strip("_")[:1].isupper() and not name.isupper() and not isinstance(inner, ast.Slice)
    return False


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _operators(node: ast.AST, returns: str) -> Iterator[tuple[str, ast.expr | ast.stmt, str]]:
    match node:
        case ast.Compare(left=left, ops=ops, comparators=others):
            for at, op in enumerate(ops):
                swapped = [*ops[:at], COMPARISONS[type(op)](), *ops[at + 1 :]]
                yield "comparison", node, f"({ast.unparse(ast.Compare(left, swapped, others))})"
        case ast.BoolOp(op=op, values=values):
            opposite = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield "and or", node, f"({ast.unparse(ast.BoolOp(opposite, values))})"
            for at in range(len(values)):
                rest = [value for number, value in enumerate(values) if number != at]
                yield (
                    "operand",
                    node,
                    f"({ast.unparse(rest[0] if len(rest) == 1 else ast.BoolOp(op, rest))})",
                )
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "not", node, f"({ast.unparse(operand)})"
        case ast.If(test=test) | ast.While(test=test):
            yield "condition", test, f"(not ({ast.unparse(test)}))"
        case ast.comprehension(ifs=ifs):
            for test in ifs:
                yield "condition", test, f"(not ({ast.unparse(test)}))"
                yield "filter", test, "True"
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield "condition", node, f"({ast.unparse(ast.IfExp(test, orelse, body))})"
        case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
            if not _is_text(left) and not _is_text(right):
                yield "arithmetic", node, f"({ast.unparse(ast.BinOp(left, ARITHMETIC[type(op)](), right))})"
        case ast.Constant(value=bool() as value):
            yield "constant", node, str(not value)
        case ast.Constant(value=int() as value):
            for number in (value + 1, value - 1) if value < LARGE else (value // 2,):
                yield "constant", node, f"({number})"
        case ast.Constant(value=str() as value):
            if not _is_wording(value):
                yield "string", node, '""' if value else '"mutant"'
        case ast.Return(value=ast.expr() as value):
            yield "return", value, _nothing(value, returns)
        case ast.Expr(value=ast.Call()) | ast.Continue() | ast.Break() | ast.AugAssign() | ast.Raise():
            yield "statement", node, "pass"
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
            yield "statement", node, "pass"
        case ast.Slice(lower=lower, upper=upper):
            for bound in (lower, upper):
                if bound:
                    yield "slice", bound, ""
        case ast.Tuple(elts=elements, ctx=ast.Load()) if len(elements) > 1:
            if all(isinstance(one, ast.Constant | ast.Tuple | ast.Name) for one in elements):
                for at in range(len(elements) - 1):
                    turned = [*elements[:at], elements[at + 1], elements[at], *elements[at + 2 :]]
                    yield "order", node, f"({', '.join(map(ast.unparse, turned))})"
                    if all(isinstance(one, ast.Constant) for one in elements):
                        yield (
                            "element",
                            node,
                            f"({', '.join(map(ast.unparse, [*elements[:at], *elements[at + 1 :]]))},)",
                        )
        case ast.Set(elts=elements) if len(elements) > 1:
            for at in range(len(elements)):
                yield "element", node, ast.unparse(ast.Set([*elements[:at], *elements[at + 1 :]]))
        case ast.arguments(defaults=defaults, kw_defaults=kw_defaults):
            for default in [*defaults, *kw_defaults]:
                if isinstance(default, ast.Tuple) and default.elts:
                    yield "default", default, "()"
        case ast.Call():
            yield from _called(node)


def _called(node: ast.Call) -> Iterator[tuple[str, ast.expr, str]]:
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    module = ast.unparse(node.func.value) if isinstance(node.func, ast.Attribute) else ""
    if name in CALLS and module != "re":
        other = CALLS[name]
        func = f"{ast.unparse(node.func.value)}.{other}" if isinstance(node.func, ast.Attribute) else other
        yield "call", node.func, func
    if module != "re" or not node.args:
        return
    pattern = node.args[0]
    if isinstance(pattern, ast.Constant) and isinstance(pattern.value, str):
        for text in _patterns(pattern.value):
            yield "regex", pattern, repr(text)
    for flags in node.args[1:]:
        if name == "compile":
            yield "regex", flags, "0"


def _patterns(pattern: str) -> Iterator[str]:
    """The pattern without one of its anchors, look-arounds, or with one quantifier changed."""
    for match in ANCHOR.finditer(pattern):
        yield pattern[: match.start()] + pattern[match.end() :]
    for match in LOOK.finditer(pattern):
        depth, at = 0, match.start()
        while at < len(pattern):
            if pattern[at] == "\\":
                at += 1
            elif pattern[at] in "()":
                depth += 1 if pattern[at] == "(" else -1
                if not depth:
                    break
            at += 1
        yield pattern[: match.start()] + pattern[at + 1 :]
    for match in re.finditer(r"(?<=[\w\])}])[+*?](?![+?])", pattern):
        yield (
            pattern[: match.start()] + {"+": "*", "*": "+", "?": ""}[match.group()] + pattern[match.end() :]
        )


def _is_text(node: ast.expr) -> bool:
    """Whether only `+` makes sense of it, so that another sign kills itself."""
    text = isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    return text or isinstance(node, ast.JoinedStr | ast.List | ast.Tuple)


def _is_wording(text: str) -> bool:
    """Whether a text is a sentence for people: words with blanks between them, and no list of words."""
    return text.strip().count(" ") >= 2 and "\n" not in text


def _nothing(value: ast.expr, returns: str) -> str:
    if returns == "bool":
        return f"(not ({ast.unparse(value)}))"
    plain = next((text for start, text in NOTHING.items() if returns.startswith(start)), "None")
    return "None" if ast.unparse(value) == ast.unparse(ast.parse(plain)) else plain
