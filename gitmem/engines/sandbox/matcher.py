"""Runs expressions over lines in linear time: no expression and no line makes it slow.

Python's own `re` goes back and tries again, and takes years for some short expressions; it cannot be
stopped without signals. Here all possibilities are followed at once (Thompson 1968), the sets of states
that were met are remembered, and every step is counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from gitmem.engines.sandbox.budget import Budget, Refusal
from gitmem.engines.sandbox.expression import At, Chars, Either, Node, Repeat, Run, Syntax, read

PROGRAM = 3_000
"""Parts of an expression, repeats written out; a state is a set of them."""

REMEMBERED = 20_000
"""Steps between states that are remembered; then all are forgotten, and memory stays bounded."""

_EDGE, _WORD, _OTHER = 0, 1, 2


@dataclass
class _Program:
    """Instructions: `taken` a character, `split` in two ways on, `at` a place; each with where to go."""

    kinds: list[Chars | At | None] = field(default_factory=list)
    ways: list[list[int]] = field(default_factory=list)
    built: int = 0

    def add(self, kind: Chars | At | None, *ways: int) -> int:
        self.kinds.append(kind)
        self.ways.append(list(ways))
        return len(self.kinds) - 1

    def build(self, node: Node, then: int) -> int:
        """Adds what matches a node and goes on at `then`; returns where it begins."""
        self.built += 1
        if self.built > PROGRAM:
            raise Refusal("the expression is too large: name fewer repeats or alternatives")
        if isinstance(node, Chars | At):
            return self.add(node, then)
        if isinstance(node, Run):
            for part in reversed(node.parts):
                then = self.build(part, then)
            return then
        if isinstance(node, Either):
            return self.add(None, *[self.build(part, then) for part in node.parts])
        return self._repeat(node, then)

    def _repeat(self, node: Repeat, then: int) -> int:
        if node.most is None:
            loop = self.add(None, then)
            self.ways[loop].append(self.build(node.node, loop))
            then = loop
        else:
            end = then
            for _ in range(node.most - node.least):
                then = self.add(None, end, self.build(node.node, then))
        for _ in range(node.least):
            then = self.build(node.node, then)
        return then


class _State:
    """Where a match can be, and what stood before; knows where each character leads."""

    __slots__ = ("before", "ends", "next", "places")

    def __init__(self, places: frozenset[int], before: int) -> None:
        self.places = places
        self.before = before
        self.next: dict[str, _State | None] = {}
        self.ends: bool | None = None


class Matcher:
    """Expressions of which a line has to match one.

    Args:
        patterns: the expressions.
        syntax: how they are spelt.
        ignore_case: letters match in either case.
        word: the match may not touch letters, digits or `_`.
        line: the whole line has to match.

    Raises:
        Refusal: an expression is none, or not supported.
    """

    def __init__(
        self,
        patterns: Iterable[str],
        syntax: Syntax,
        *,
        ignore_case: bool = False,
        word: bool = False,
        line: bool = False,
    ) -> None:
        node: Node = Either(tuple(read(pattern, syntax) for pattern in patterns))
        self._needed = _needed(node, ignore_case)
        if word:
            node = Run((At("|<"), node, At(">|")))
        if line:
            node = Run((At("^"), node, At("$")))
        self._ignore_case = ignore_case
        self._program = _Program()
        self._end = self._program.add(None)
        self._start = self._program.build(node, self._end)
        self._states: dict[tuple[frozenset[int], int, bool], _State] = {}
        self._remembered = 0

    def may_match(self, text: str) -> bool:
        """Whether a text has the words without which no line of it matches; cheap."""
        if self._needed is None:
            return True
        seen = text.lower() if self._ignore_case else text
        return any(word in seen for word in self._needed)

    def matches(self, line: str, budget: Budget) -> bool:
        """Whether a match is anywhere in a line.

        Raises:
            Refusal: it takes too many steps.
        """
        if not self.may_match(line):
            budget.spend(1 + len(line) // 50)
            return False
        return self._run(line, 0, budget, floating=True) is not None

    def span(self, line: str, start: int, budget: Budget) -> tuple[int, int] | None:
        """The leftmost, longest match that is not empty, at or behind a place.

        Raises:
            Refusal: it takes too many steps.
        """
        for at in range(start, len(line)):
            end = self._run(line, at, budget, floating=False)
            if end is not None and end > at:
                return at, end
        return None

    def _run(self, line: str, start: int, budget: Budget, *, floating: bool) -> int | None:
        """Where a match ends: the first end of one from anywhere, or the last of one that begins here."""
        here = frozenset([self._start])
        state = self._state(here, _kind(line[start - 1]) if start else _EDGE, floating)
        found = None
        steps = 0
        for at in range(start, len(line)):
            char = line[at]
            steps += 1
            try:
                after = state.next[char]
            except KeyError:
                after = self._step(state, char, budget, floating)
                state.next[char] = after
                self._remembered += 1
            if after is None:
                # A match ends before this character.
                found = at
                if floating:
                    break
                after = self._beyond(state, char, budget)
            if not after.places:
                break
            state = after
        else:
            if state.ends is None:
                state.ends = self._closed(state.places, state.before, _EDGE, budget)[1]
            if state.ends:
                found = len(line)
        budget.spend(steps)
        return found

    def _step(self, state: _State, char: str, budget: Budget, floating: bool) -> _State | None:
        """The state behind a character; None where a match ends before it."""
        kind = _kind(char)
        places, ended = self._closed(state.places, state.before, kind, budget)
        if ended:
            return None
        taken = self._taken(places, char, budget)
        return self._state(taken | {self._start} if floating else taken, kind, floating)

    def _beyond(self, state: _State, char: str, budget: Budget) -> _State:
        """The state behind a character before which a match ended: a longer one may follow."""
        places, _ = self._closed(state.places, state.before, _kind(char), budget)
        return self._state(self._taken(places, char, budget), _kind(char), False)

    def _taken(self, places: set[int], char: str, budget: Budget) -> frozenset[int]:
        budget.spend(10 * len(places))
        forms = _forms(char) if self._ignore_case else {char}
        kinds, ways = self._program.kinds, self._program.ways
        taken = set()
        for place in places:
            kind = kinds[place]
            if isinstance(kind, Chars) and self._takes(kind, forms):
                taken.add(ways[place][0])
        return frozenset(taken)

    @staticmethod
    def _takes(chars: Chars, forms: set[str]) -> bool:
        found = (chars.takes(form) for form in forms)
        return all(found) if chars.negated else any(found)

    def _closed(
        self, places: frozenset[int], before: int, after: int, budget: Budget
    ) -> tuple[set[int], bool]:
        """All places that are reached without taking a character, and whether the end is among them."""
        kinds, ways = self._program.kinds, self._program.ways
        seen: set[int] = set()
        waiting = list(places)
        while waiting:
            place = waiting.pop()
            if place in seen:
                continue
            seen.add(place)
            kind = kinds[place]
            if kind is None or (isinstance(kind, At) and _holds(kind.kind, before, after)):
                waiting += ways[place]
        budget.spend(10 + 5 * len(seen))
        return seen, self._end in seen

    def _state(self, places: frozenset[int], before: int, floating: bool) -> _State:
        key = (places, before, floating)
        known = self._states.get(key)
        if known is None:
            if self._remembered > REMEMBERED:
                for state in self._states.values():
                    state.next.clear()
                self._states.clear()
                self._remembered = 0
            known = self._states[key] = _State(places, before)
            self._remembered += 1 + len(places)
        return known


def _forms(char: str) -> set[str]:
    """The character in both cases, where one leads back to the other."""
    other = char.upper() if char.upper() != char else char.lower()
    return {char, other} if len(other) == 1 and char in (other.lower(), other.upper()) else {char}


def _kind(char: str) -> int:
    return _WORD if char.isalnum() or char == "_" else _OTHER


def _holds(kind: str, before: int, after: int) -> bool:
    if kind == "^":
        return before == _EDGE
    if kind == "$":
        return after == _EDGE
    if kind == "|<":
        return before != _WORD
    if kind == ">|":
        return after != _WORD
    if kind in "<>":
        inside = (after, before) if kind == "<" else (before, after)
        return inside[0] == _WORD and inside[1] != _WORD
    return ((before == _WORD) != (after == _WORD)) == (kind == "b")


def _needed(node: Node, ignore_case: bool) -> tuple[str, ...] | None:
    """Words of which a text that matches must have one; None where nothing is certain."""
    if isinstance(node, Either):
        found: list[str] = []
        for part in node.parts:
            words = _needed(part, ignore_case)
            if words is None:
                return None
            found += words
        return tuple(found)
    if not isinstance(node, Run):
        node = Run((node,))
    longest = run = ""
    for part in node.parts:
        one = _one(part)
        run = run + one if one else ""
        longest = max(longest, run, key=len)
    if ignore_case:
        # Case pairs beyond ASCII do not all go back and forth.
        longest = longest.lower() if longest.isascii() else ""
    if longest:
        return (longest,)
    inner = [_needed(part, ignore_case) for part in node.parts if isinstance(part, Either | Run)]
    return next((words for words in inner if words is not None), None)


def _one(node: Node) -> str:
    """The character that a node alone takes; empty for any other."""
    plain = isinstance(node, Chars) and not (node.negated or node.ranges or node.classes)
    return node.singles if plain and isinstance(node, Chars) and len(node.singles) == 1 else ""
