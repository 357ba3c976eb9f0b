"""Where a claim stands in its body, and how it is quoted to a person."""

from __future__ import annotations

from collections.abc import Sequence

from gitmem.core.claim import Claim
from gitmem.engines.offline.consolidating.same import is_tagged, said


class Lookup:
    """The claims of a body by what they say, so that one that holds another is found without a search."""

    def __init__(self, claims: Sequence[Claim]) -> None:
        self._places: dict[object, list[int]] = {}
        for number, claim in enumerate(claims):
            for key in _heads(claim):
                self._places.setdefault(key, []).append(number)

    def near(self, claim: Claim) -> tuple[int, ...]:
        """Positions of those that may hold a claim, in order."""
        found = {number for key in _heads(claim) for number in self._places.get(key, ())}
        return tuple(sorted(found))


def movable(claims: tuple[Claim, ...], number: int) -> bool:
    """Whether a claim stands for itself: nothing leads into it and nothing behind it explains it."""
    follows = claims[number + 1] if number + 1 < len(claims) else None
    explained = follows is not None and is_tagged(follows)
    return said(claims[number].text).plain and not explained and not led_in(claims, number)


def led_in(claims: tuple[Claim, ...], number: int) -> bool:
    """Whether a list item hangs on a line before its list, as in `On Mondays:`."""
    if not claims[number].item:
        return False
    while number >= 0 and claims[number].item:
        number -= 1
    return number >= 0 and claims[number].text.rstrip(" *_").endswith(":")


def heading(claims: tuple[Claim, ...], number: int) -> str:
    """The heading that a claim stands under; empty for none."""
    return next((c.key for c in reversed(claims[:number]) if c.text.lstrip().startswith("#")), "")


def quoted(claim: Claim, most: int = 200) -> str:
    """The words of a claim on one line, cut where they are many."""
    line = flat(claim.key)
    return f"“{line}”" if len(line) <= most else f"“{line[:most].rsplit(' ', 1)[0]} …”"


def flat(text: str) -> str:
    """A text on one line."""
    return " ".join(text.split())


def _heads(claim: Claim) -> tuple[object, ...]:
    return (claim.key, *said(claim.text).sentences[:1])
