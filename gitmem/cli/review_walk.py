"""`git mem review -i`: through the queue in a terminal, one key for each item; carried out at the end.

Until the person is through, or quits, nothing but their own edits of a dream is written: a decision can be
taken back by a key, and an interrupt decides nothing.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace

from gitmem.app.context import real_edges
from gitmem.cli.context import CommandContext
from gitmem.cli.review_decide import show_batch
from gitmem.core.change import Change
from gitmem.core.errors import GitmemError, UsageError
from gitmem.core.text import counted, one_line
from gitmem.dream.cards import Card, best_first, card_lines, summary_lines
from gitmem.dream.review import Answer
from gitmem.flows.decide import DIFFERENT, DecidingSession, ItemChoice, Verdict, decide, unite_choices
from gitmem.flows.disputes import Dispute
from gitmem.flows.review import queue
from gitmem.flows.review_dream import dream_cards
from gitmem.flows.review_items import ReviewItem, dream_item, told_lines
from gitmem.ledger.dreams import Dream, DreamCommit
from gitmem.ledger.suggestions import Suggestion
from gitmem.values import dataclass

BY_ID = "Decide by id: git mem review accept|reject ID..."

AROUND = 8
"""Lines of the terminal that are left for the heading, the prompt and what was said before."""

FEWEST = 12
"""Lines of an item that are shown however low the terminal is."""

KEYS = {
    "a": "accept",
    "r": "reject",
    "R": "reject, and say why",
    "A": "accept this and the rest of the dream",
    "e": "edit",
    "s": "same: one of them is enough, with a link where the other was",
    "n": "newer: the later one stands, and supersedes the other",
    "o": "older: the earlier one stands, and the later one goes",
    "d": "different: both stay, and it is not asked again",
    "l": "later",
    "m": "more of it",
    "u": "undo the last key",
    "q": "quit, and carry out what was decided",
    "?": "help",
}

_OFFERED = {
    "suggestion": "arRel",
    "dream": "arRAel",
    "question": "snodel",
    "dispute": "al",
    "leaving": "al",
    "document": "rl",
}
_USUAL = "arRl"

_ANSWERS: dict[str, Answer] = {"s": "same", "n": "newer", "o": "older"}


@dataclass(frozen=True)
class WalkStop:
    """One thing to decide: an item, or one change of a dream."""

    item: ReviewItem
    change: DreamCommit | None = None

    @property
    def key(self) -> tuple[str, int]:
        """Names it, also after the dream was edited."""
        return self.item.id, self.change.n if self.change else 0

    @property
    def asks(self) -> bool:
        """Whether it is a dream's question on two claims; on one alone it is answered by yes or no."""
        return self.change is not None and self.change.compares

    @property
    def keys(self) -> str:
        """What may be pressed for it, besides what always may."""
        subject = self.item.subject
        versions = min(len(subject.claims), 9) if isinstance(subject, Dispute) else 0
        offered = _OFFERED.get("question" if self.asks else self.item.kind, _USUAL)
        if isinstance(subject, Dispute) and subject.key:  # a description has one value
            offered = offered.replace("a", "")
        return "".join(map(str, range(1, versions + 1))) + offered


def is_contrary(step: WalkStop) -> bool:
    """Whether two texts stand against each other, of which a person says what holds."""
    return step.item.kind == "dispute" or step.asks


def steps(items: tuple[ReviewItem, ...]) -> list[WalkStop]:
    """What there is to decide, in the order of the queue; what has no id is settled where it stands."""
    found: list[WalkStop] = []
    for item in items:
        if isinstance(item.subject, Dream):
            found += [WalkStop(item, change) for change in best_first(item.subject.open)]
        elif item.id:
            found.append(WalkStop(item))
    return found


class ReviewWalk:
    """A walk through the queue.

    Attributes:
        said: what was decided so far, by `WalkStop.key`.
        edited: suggestions as the person wants them instead, by id.
    """

    def __init__(self, run: CommandContext, found: list[WalkStop], keys: Keys) -> None:
        self._run, self._out, self._keys = run, run.out, keys
        self._steps = found
        self._at = 0
        self._trail: list[tuple[int, tuple[tuple[str, int], ...]]] = []
        self.said: dict[tuple[str, int], ItemChoice] = {}
        self.edited: dict[str, Change] = {}
        self._summed = ""
        self._cards: dict[str, dict[int, Card]] = {}
        self._height = max(FEWEST, shutil.get_terminal_size().lines - AROUND)

    def go(self) -> tuple[ItemChoice, ...]:
        """Asks for a key for each step; returns what was decided, to be carried out.

        Raises:
            KeyboardInterrupt: the person wants nothing of it.
        """
        while self._at < len(self._steps):
            self._show(self._steps[self._at])
            if not self._answered():
                break
        return choices(self._steps, self.said)

    def _show(self, step: WalkStop, *, whole: bool = False) -> None:
        out, item = self._out, step.item
        number = f"[{self._at + 1}/{len(self._steps)}]"
        change = f" {step.change.n}" if step.change else ""
        out.data()
        if isinstance(item.subject, Dream) and item.id != self._summed:
            self._summed = item.id
            out.data(item.title)
            for line in out.claims(summary_lines(item.subject.open)):
                out.data(line)
            out.data()
        out.data(out.paint(f"{number} {item.id}{change} {item.kind}", "bold"))
        lines = out.claims(self._told(step))
        cut = len(lines) - self._height
        for line in lines if whole or cut < 2 else lines[: self._height]:
            out.data(line)
        if not whole and cut > 1:
            out.data(out.paint(f"… {cut} more lines: m", "dim"))

    def _told(self, step: WalkStop) -> Iterator[str]:
        item = step.item
        if step.change is not None and isinstance(item.subject, Dream):
            yield from card_lines(self._card(item.subject, step.change.n), whole=True)
            return
        if isinstance(item.subject, Suggestion) and item.id in self.edited:
            item = replace(item, subject=replace(item.subject, change=self.edited[item.id]))
        yield from told_lines(item)

    def _card(self, dream: Dream, n: int) -> Card:
        """A change's card; those of a dream are made when the first of them is shown."""
        if dream.tip not in self._cards:
            cards = dream_cards(self._run.workspace, self._run.edges, dream)
            self._cards[dream.tip] = {card.n: card for card in cards}
        return self._cards[dream.tip][n]

    def _answered(self) -> bool:
        """Reads keys until one of them leads on; False where the person quits."""
        while True:
            step = self._steps[self._at]
            self._out.prompt(self._question(step))
            key = self._keys()
            if key in ("q", EOF):
                self._out.say("quit")
                return False
            if key == "u":
                self._step_back()
                return True
            if key == "m":
                self._out.say("more")
                self._show(step, whole=True)
            elif key == "?" or key not in step.keys or not key.isprintable():
                self._help(step, key)
            elif self._done(step, key):
                return True

    def _question(self, step: WalkStop) -> str:
        words = [f"[{key}]{KEYS[key][1:]}" for key in "arel" if key in step.keys]
        if isinstance(step.item.subject, Dispute):
            words = ["[1-9] stands", *(["[a]ll stand"] if "a" in step.keys else []), "[l]ater"]
        if step.asks:
            words = ["[s]ame", *self._ages(step), "[d]ifferent", "[e]dit", "[l]ater"]
        return " ".join([*words, *(["[u]ndo"] if self._trail else []), "[q]uit [?] "])

    def _ages(self, step: WalkStop) -> list[str]:
        """The keys for either of two claims, each with the mark that this one has on the card."""
        subject, later = step.item.subject, ""
        if step.change is not None and isinstance(subject, Dream):
            later = self._card(subject, step.change.n).later
        return [f"[n]ewer ({later})", f"[o]lder ({'-' if later == '=' else '='})"]

    def _help(self, step: WalkStop, key: str) -> None:
        self._out.say("help" if key == "?" else "that is no key for this")
        for one, word in KEYS.items():
            if one in step.keys or one in "muq?":
                self._out.say(f"  {one}  {word}")
        if isinstance(step.item.subject, Dispute):
            self._out.say("  1-9  this one stands, the others go; a, for claims: each of them is true")

    def _done(self, step: WalkStop, key: str) -> bool:
        """Does what a key says; whether it leads on."""
        if key == "e":
            self._out.say("edit")
            return self._edit(step)
        if key == "l":
            self._out.say("later")
            return self._on(())
        if key == "d":
            self._out.say("different")
            return self._decide([step], "reject", why=DIFFERENT)
        if key in "rR":
            self._out.say("reject")
            why = self._out.answer("Why? ") if key == "R" else ""
            return self._decide([step], "reject", why=why)
        if key in _ANSWERS:
            self._out.say(_ANSWERS[key])
            return self._decide([step], "accept", answer=_ANSWERS[key])
        self._out.say("accept")
        if key == "A":
            rest = [one for one in self._steps[self._at :] if one.item.id == step.item.id]
            # A question is answered by itself.
            rest = [one for one in rest if one is step or not (one.change and one.change.asks)]
            return self._decide(rest, "accept")
        numbers: tuple[int, ...] = (int(key),) if key.isdecimal() else ()
        if key == "a" and isinstance(step.item.subject, Dispute):
            numbers = tuple(range(1, len(step.item.subject.claims) + 1))
        return self._decide([step], "accept", numbers)

    def _decide(
        self,
        these: list[WalkStop],
        verdict: Verdict,
        numbers: tuple[int, ...] = (),
        why: str = "",
        answer: Answer | None = None,
    ) -> bool:
        for one in these:
            number = (one.change.n,) if one.change else numbers
            self.said[one.key] = ItemChoice(one.item.id, verdict, number, why, answer=answer)
        return self._on(tuple(one.key for one in these))

    def _on(self, decided: tuple[tuple[str, int], ...]) -> bool:
        self._trail.append((self._at, decided))
        self._at += max(1, len(decided))
        return True

    def _step_back(self) -> None:
        self._out.say("undo" if self._trail else "there is nothing to undo")
        if self._trail:
            self._at, decided = self._trail.pop()
            for key in decided:
                self.said.pop(key, None)

    def _edit(self, step: WalkStop) -> bool:
        from gitmem.flows.review_edit import edit_suggestion

        subject = step.item.subject
        try:
            if isinstance(subject, Dream):
                self._edit_dream(step, subject)
            elif isinstance(subject, Suggestion):
                now = replace(subject, change=self.edited.get(subject.id, subject.change))
                changed = edit_suggestion(self._run.workspace, self._run.edges, now)
                if changed is not None:
                    self.edited[subject.id] = changed
        except GitmemError as error:
            self._out.warn(f"{error.message}{f' ({error.hint})' if error.hint else ''}")
            return False
        self._show(self._steps[self._at])
        return False

    def _edit_dream(self, step: WalkStop, dream: Dream) -> None:
        """Edits the memories of a change; what the person changed is a step of its own from then on."""
        from gitmem.flows.review_edit import edit_dream

        number = step.change.n if step.change else None
        done = edit_dream(
            self._run.workspace,
            self._run.edges,
            dream,
            number,
            ask_why=lambda gone: self._out.answer(
                f"Why {'does' if len(gone) == 1 else 'do'} {one_line(gone[0].text, 60)} go? "
            ),
        )
        if done.written is None:
            return
        fresh = steps((dream_item(done.dream),))
        first = next(at for at, one in enumerate(self._steps) if one.item.id == dream.id)
        last = max(at for at, one in enumerate(self._steps) if one.item.id == dream.id)
        self._steps[first : last + 1] = fresh


def choices(found: list[WalkStop], said: dict[tuple[str, int], ItemChoice]) -> tuple[ItemChoice, ...]:
    """What was decided, a dream's changes of one verdict and reason together, in the order of the queue."""
    return unite_choices(
        replace(choice, at=step.item.subject.tip) if isinstance(step.item.subject, Dream) else choice
        for step in found
        if (choice := said.get(step.key)) is not None
    )


def walk(
    run: CommandContext,
    keys: Callable[[], Keys],
    *,
    dry_run: bool,
    only: Callable[[WalkStop], bool] | None = None,
) -> None:
    """Walks through the queue, then carries out what was decided, as one batch.

    Args:
        keys: gives what keys are read from; it is asked for before anything is shown.
        only: which steps are walked through; all of them otherwise.

    Raises:
        UsageError: there is no terminal.
        Exit: something could not be decided.
    """
    pressed = keys()
    items = queue(run.workspace, run.edges)
    found = [step for step in steps(items) if only is None or only(step)]
    elsewhere = 0 if only else sum(not item.id for item in items)
    if found:
        walked = ReviewWalk(run, found, pressed)
        decided = _walked(run, walked)
        run.out.data()
        if dry_run:
            for choice in decided:
                numbers = "".join(f" {number}" for number in choice.numbers)
                how = f" --{choice.answer}" if choice.answer else ""
                run.out.data(f"would {choice.verdict} {choice.id}{numbers}{how}")
        elif decided:
            # The walk took a while: what is decided now is the newest change.
            edges = replace(run.edges, now=real_edges(run.edges.cwd).now)
            now = queue(run.workspace, edges)
            session = DecidingSession(run.workspace, edges, run.out.ask, edited=walked.edited)
            batch = decide(session, now, decided)
            show_batch(run, batch, [])
    else:
        run.out.say("nothing waits for a key")
    if elsewhere:
        run.out.say(f"{counted(elsewhere, 'more item')} to be settled on disk: git mem review")


def _walked(run: CommandContext, walked: ReviewWalk) -> tuple[ItemChoice, ...]:
    try:
        decided = walked.go()
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        run.out.say("nothing was decided")
        raise
    if not decided:
        run.out.say("nothing was decided")
    return decided


Keys = Callable[[], str]
"""Waits for a key; returns its character, or `EOF` where no more will come."""

EOF = "\x04"
"""What a terminal sends for Ctrl-D; stands for one that is gone, too."""

_ESCAPE = b"\x1b"
_LONGEST = 32
"""Bytes of the longest sequence that is taken for one key."""

_PATIENCE = 0.05
"""Seconds in which the rest of what an arrow key sends arrives."""


def terminal_keys() -> Keys:
    """The keys of the terminal that this process runs in.

    Raises:
        UsageError: input or output is no terminal.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("This needs a terminal: one key decides each item", BY_ID)
    return _one_key


def _one_key() -> str:
    import termios
    import tty

    sys.stdout.flush()
    sys.stderr.flush()
    terminal = sys.stdin.fileno()
    try:
        before = termios.tcgetattr(terminal)
        # What was typed ahead counts, and Ctrl-C still interrupts.
        tty.setcbreak(terminal, termios.TCSADRAIN)
        try:
            return _read(terminal)
        finally:
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)
    except (OSError, termios.error):
        return EOF


def _read(terminal: int) -> str:
    first = os.read(terminal, 1)
    if not first:
        return EOF
    if first == _ESCAPE:
        _pass_over(terminal)
        return "\x1b"
    for _ in range(3):
        try:
            return first.decode()
        except UnicodeDecodeError:
            first += os.read(terminal, 1)
    return first.decode("utf-8", "replace")


def _pass_over(terminal: int) -> None:
    """Reads the rest of an arrow or function key: none of its characters is meant by itself."""
    import select

    for number in range(_LONGEST):
        if not select.select([terminal], [], [], _PATIENCE)[0]:
            return
        byte = os.read(terminal, 1)
        # ESC [ or ESC O, then parameters, up to the first letter or the like (ECMA-48, section 5.4).
        if not byte or (number == 0 and byte not in b"[O") or (number and b"@" <= byte <= b"~"):
            return
