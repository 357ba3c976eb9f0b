"""`find` over the view: its tests of names, kinds and sizes, and nothing that acts."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from gitmem.engines.sandbox.bash_command import Run
from gitmem.engines.sandbox.bash_options import MOST, number
from gitmem.engines.sandbox.bash_parse import Word
from gitmem.engines.sandbox.budget import Problem, Refusal
from gitmem.engines.sandbox.view import View
from gitmem.engines.sandbox.wildcards import name_matches

_SIZE = re.compile(r"([+-]?)(\d{1,8})([bckwMG]?)")
_UNITS = {"": 512, "b": 512, "c": 1, "w": 2, "k": 1024, "M": 1024**2, "G": 1024**3}
ALLOWED = (
    "-name -iname -path -ipath -wholename -type -size -empty -maxdepth -mindepth -not ! -a -and -o -or ( )"
    " -print"
)
NESTING = 20
_AND, _OR = ("-a", "-and"), ("-o", "-or")


@dataclass(frozen=True)
class _Found:
    """One path that is looked at: as shown, from the top, and its last part."""

    shown: str
    plain: str
    name: str


_Test = Callable[[View, _Found], bool]


def _always(_: View, __: _Found) -> bool:
    return True


def find(run: Run, words: tuple[Word, ...]) -> str:
    """Lists what fits."""
    texts = [word.text for word in words]
    first = next((at for at, text in enumerate(texts) if text.startswith("-") or text in "()!"), len(texts))
    reader = _Reader(texts[first:])
    test = reader.whole()
    lines: list[str] = []
    for path in tuple(run.operands(words[:first])) or (".",):
        top = run.view.resolve(path)
        if not (run.view.is_file(top) or run.view.is_folder(top)):
            run.complain(Problem(f"{path}: no such file or folder"))
            continue
        for plain in run.view.walk(top):
            below = plain[len(top) :].lstrip("/")
            depth = below.count("/") + 1 if below else 0
            shown = f"{path.rstrip('/') or '/'}/{below}" if below else path
            found = _Found(shown, plain, shown.rstrip("/").rpartition("/")[2])
            if reader.least <= depth <= reader.most and test(run.view, found):
                lines.append(shown)
    return "".join(f"{line}\n" for line in lines)


class _Reader:
    """Reads the expression; knows the depths that it names."""

    def __init__(self, words: list[str]) -> None:
        self._words = words
        self._depth = 0
        self.least, self.most = 0, MOST

    def whole(self) -> _Test:
        if not self._words:
            return _always
        test = self._either()
        if self._words:
            raise Refusal(f"find: {self._words[0][:40]!a} is out of place")
        return test

    def _either(self) -> _Test:
        tests = [self._both()]
        while self._words and self._words[0] in _OR:
            self._words.pop(0)
            tests.append(self._both())
        return tests[0] if len(tests) == 1 else lambda view, found: any(t(view, found) for t in tests)

    def _both(self) -> _Test:
        tests = [self._one()]
        while self._words and self._words[0] not in (*_OR, ")"):
            if self._words[0] in _AND:
                self._words.pop(0)
            tests.append(self._one())
        return tests[0] if len(tests) == 1 else lambda view, found: all(t(view, found) for t in tests)

    def _one(self) -> _Test:
        word = self._words.pop(0) if self._words else ""
        if word in ("!", "-not"):
            return self._inside(self._one, turned=True)
        if word == "(":
            return self._inside(self._group)
        if word == "-print":
            return _always
        if word == "-empty":
            return lambda view, found: not (view.children(found.plain) or view.size(found.plain))
        if word in ("-maxdepth", "-mindepth"):
            depth = number("find", self._value(word))
            self.least, self.most = (depth, self.most) if word == "-mindepth" else (self.least, depth)
            return _always
        return self._about(word)

    def _inside(self, read: Callable[[], _Test], *, turned: bool = False) -> _Test:
        self._depth += 1
        if self._depth > NESTING:
            raise Refusal(f"find: nested deeper than {NESTING}")
        test = read()
        self._depth -= 1
        return (lambda view, found: not test(view, found)) if turned else test

    def _group(self) -> _Test:
        test = self._either()
        if not self._words or self._words.pop(0) != ")":
            raise Refusal("find: a parenthesis is not closed")
        return test

    def _about(self, word: str) -> _Test:
        if word in ("-name", "-iname"):
            pattern, ignore = self._value(word), word == "-iname"
            return lambda view, found: name_matches(found.name, pattern, view.budget, ignore_case=ignore)
        if word in ("-path", "-ipath", "-wholename"):
            pattern, ignore = self._value(word), word == "-ipath"
            return lambda view, found: name_matches(found.shown, pattern, view.budget, ignore_case=ignore)
        if word == "-type":
            kind = self._value(word)
            if kind not in ("f", "d"):
                raise Refusal("find: -type is f or d; there is nothing else here")
            return lambda view, found: view.is_folder(found.plain) == (kind == "d")
        if word == "-size":
            return _sized(self._value(word))
        raise Refusal(f"find: {word[:40]!a} is not allowed; allowed: {ALLOWED}")

    def _value(self, word: str) -> str:
        if not self._words:
            raise Refusal(f"find: {word} needs a value")
        return self._words.pop(0)


def _sized(text: str) -> _Test:
    match = _SIZE.fullmatch(text)
    if match is None:
        raise Refusal(f"find: {text[:20]!a} is no size")
    sign, count, unit = match[1], int(match[2]), _UNITS[match[3]]

    def test(view: View, found: _Found) -> bool:
        size = view.size(found.plain)
        if size is None:
            return False
        units = -(-size // unit)
        return units > count if sign == "+" else units < count if sign == "-" else units == count

    return test
