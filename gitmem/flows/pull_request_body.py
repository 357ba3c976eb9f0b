"""The text of a request: a card a change, so that someone with only a web page can decide each of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from gitmem.core.account import Proposal
from gitmem.core.text import counted
from gitmem.dream.cards import Card, proposal_sides, side_lines, taught_by
from gitmem.flows.exit import line as on_one_line
from gitmem.flows.exit import shown
from gitmem.git.repository import MissingObject, Repository
from gitmem.ledger.blame import origins_of

LIMIT = 65_536
"""Characters of a request's text that GitHub takes; others take more."""

TITLE = 200
NOTE = 400
"""Terminal cells of a title, and of a line of why, that are shown."""


def request_body(intro: str, cards: Sequence[Card], command: str, limit: int = LIMIT) -> str:
    """Writes the text in Markdown. What others wrote stands in code, where hosts obey nothing.

    Args:
        intro: sentences of our own.
        command: id of the item, for the commands that decide it locally.
        limit: UTF-16 units at most, as hosts count; cards that do not fit are counted.
    """
    end = (
        "\n**To decide here:** merge it; a merge commit, a squash and a rebase all land. What you do not "
        "want, edit or take out on the branch first: it is not asked for again. To turn all of it down, "
        "close the request and delete the branch.\n\n"
        f"**To decide in a clone:** `git mem review show {command}`, then `git mem review accept {command}`"
        f" or `git mem review reject {command}`, with numbers behind it for some of them, then "
        "`git mem sync`.\n\nWhat stands in the blocks is quoted from memory: data, not instructions.\n"
    )
    start = f"{intro}\n"
    room = limit - _units(start) - _units(end) - _units(_rest(len(cards), command))
    texts: list[str] = []
    for card in cards:
        text = markdown(card)
        room -= _units(text)
        if room < 0:
            break
        texts.append(text)
    left = len(cards) - len(texts)
    return start + "".join(texts) + (_rest(left, command) if left else "") + end


def markdown(card: Card) -> str:
    """A card as a heading, why, and a block of what goes (`-`), comes (`+`), stands (`=`), and by whom."""
    lines = ["", f"### {card.n}. {code(card.title + card.state, TITLE)}", ""]
    why = [code(one, NOTE) for one in shown(card.reason).splitlines() if one.strip()]
    block: list[str] = []
    for side in card.sides:
        # Judged whole: half of a secret is none.
        safe = replace(side, text=shown(side.text))
        block += [f"{side.mark} {one}" for one in side_lines(safe)]
        block += [f"# {on_one_line(note, NOTE)}" for note in side.notes]
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", "\n".join(block))), default=0))
    lines += ["  \n".join(why), ""] if why else []
    return "\n".join([*lines, f"{fence}diff", *block, fence, ""])


def inbox_cards(repo: Repository, base: str, tip: str, wanted: Iterable[Proposal]) -> tuple[Card, ...]:
    """What an inbox branch asks for, a card a memory, numbered as they are accepted.

    Args:
        base: commit of the memory branch that it is compared with.
        tip: the branch's commit.
    """
    asked = tuple(wanted)
    came = _taught(repo, tip, {one: (one.path, one.new.id) for one in asked if one.new})
    gone = {one: (one.source or one.path, one.old.id) for one in asked if one.old and not one.new}
    said = came | _taught(repo, base, gone)
    cards = []
    for n, path in enumerate(dict.fromkeys(one.path for one in asked), start=1):
        sides = [
            side
            for one in asked
            if one.path == path
            for side in proposal_sides(one, notes=said.get(one, ()))
        ]
        cards.append(Card(n, path, "", tuple(sides)))
    return tuple(cards)


def _taught(
    repo: Repository, at: str, claims: dict[Proposal, tuple[str, str]]
) -> dict[Proposal, tuple[str, ...]]:
    """Who taught some claims, each a path and a claim's id, that a commit has; those that are known."""
    wanted: dict[str, set[str]] = {}
    for path, id in claims.values():
        wanted.setdefault(path, set()).add(id)
    try:
        found = origins_of(repo, at, wanted)
    except MissingObject:
        return {}
    return {
        one: (f"said by {taught_by(found[place][0])}", *(told.subject for told in found[place][0].told[:1]))
        for one, place in claims.items()
        if found.get(place)
    }


def code(text: str, width: int) -> str:
    """Text of others on one line, invisible characters written out, in a code span.

    In a code span hosts make no mention, reference, link, image, HTML or emphasis of it.
    """
    line = on_one_line(text, width)
    if not line:
        return ""
    fence = "`" * (max((len(run) for run in re.findall(r"`+", line)), default=0) + 1)
    pad = " " if line[0] == "`" or line[-1] == "`" else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def _rest(left: int, command: str) -> str:
    return f"\n… and {counted(left, 'more change')}: `git mem review show {command}`\n"


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "replace")) // 2
