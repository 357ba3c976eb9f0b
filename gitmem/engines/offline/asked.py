"""Sentences in which a person asks that something be remembered."""

from __future__ import annotations

import re
from dataclasses import dataclass

_OPEN = r"^(?:(?:please|pls|also|and|but|always|just|oh|one more thing,?|important:?) )*"
_NOT_A_FACT = (
    r"(?!to\b|when\b|how\b|what\b|why\b|where\b|who\b|if\b|the time\b|last\b|me\b|us\b"
    r"|our (?:talk|chat)|not to\b|this\b|it\b)"
)
_LATER = r"(?: for (?:later|the future|next time|future \w+|all \w+(?: \w+)?))?"

# The statement follows: what to keep is the text from `rest` on.
_DIRECT: tuple[re.Pattern[str], ...] = tuple(
    re.compile(p)
    for p in (
        _OPEN + rf"remember{_LATER}(?: that|:| this:| the following:) (?P<rest>{_NOT_A_FACT}.+)",
        _OPEN
        + r"remember (?P<rest>(?:i|i'm|i've|we|we're|our|my|nobody|everyone|always|never)\b(?! (?:talk"
        r"|chat)).+)",
        _OPEN + rf"(?:keep|bear) in mind{_LATER}(?: that|:|,) (?P<rest>.+)",
        _OPEN + r"(?:keep|bear) in mind (?P<rest>(?:i|i'm|we|we're|our|my)\b.+)",
        _OPEN + r"(?:a |quick )?note(?: to self)? for (?:the )?(?:future|later)(?: sessions)?(?::|,"
        r"| -) (?P<rest>.+)",
        _OPEN + r"for future reference(?::|,| -) (?P<rest>.+)",
        _OPEN + r"(?:add|save|store|write|commit|put)(?: this| that| it| the following)? (?:to|in|into)"
        r"(?: your| the| our)?(?: long-term| project)? memory(?: that|:|,| -) (?P<rest>.+)",
        _OPEN + r"memori[sz]e(?: that|:|,) (?P<rest>.+)",
        _OPEN + rf"(?:don't|do not|never) forget(?: that|:|,) (?P<rest>{_NOT_A_FACT}.+)",
        _OPEN + r"make (?:a |yourself a )?(?:mental )?note(?: that|:|,) (?P<rest>.+)",
        _OPEN
        + r"(?:can|could|would|will) you (?:please )?(?:remember|keep in mind|make a note|note)(?: that|:"
        r"|,) (?P<rest>.+)",
        _OPEN
        + r"i (?:want|need|would like|'d like) you to (?:remember|keep in mind)(?: that|:|,) (?P<rest>.+)",
    )
)
# The statement went before.
_POINTS_BACK = re.compile(
    _OPEN
    + r"(?:(?:can|could) you )?(?:remember (?:that|this|it)|keep (?:that|this|it) in mind|bear (?:that"
    r"|this|it) in mind"
    r"|(?:make|take) a note of (?:that|this|it)|note (?:that|this) down"
    r"|(?:add|save|store|put|commit) (?:that|this|it) (?:to|in|into)(?: your| the)? memory"
    r"|(?:don't|do not|never) forget (?:that|this|it)|memori[sz]e (?:that|this|it))"
    r"(?: please| ok| okay)?(?:,? for (?:later|the future|next time|future \w+|all \w+(?: \w+)?))?[.!?]*$"
)
# What is to be noted is a step to come, not a fact: "make a note, we also need to add the other half".
_STEP_TO_COME = re.compile(
    r"^(?:that )?(?:(?:we|i|you)(?:'ll|'re going to| are going to)?|there (?:is|are)|to)(?: also| still"
    r"| then| later"
    r"| first)* (?:need to|have to|should|must|will|want to|to do)?(?: also| still| then| later)* ?(?:add"
    r"|implement"
    r"|create|fix|write|build|update|finish|remove|delete|rename|move|refactor|check|test|do|come back|look"
    r"|handle|revisit|clean)\b(?!.*\b(?:always|never|every|each|whenever)\b)"
)
_REMINDER = re.compile(_OPEN + r"(?:remember|(?:don't|do not) forget)(?: to\b| the\b)")


@dataclass(frozen=True)
class Asked:
    """A request to remember.

    Attributes:
        start: where in the sentence the statement begins; 0 where it went before.
        points_back: the statement is the sentence before.
    """

    start: int
    points_back: bool = False


def asked(masked: str) -> Asked | None:
    """Finds a plain request to remember.

    Args:
        masked: a sentence as given by `sentences.masked`, without opening filler words.

    Returns:
        where the statement is; None where nothing of the kind was asked.
    """
    for pattern in _DIRECT:
        m = pattern.match(masked)
        if m and len(m["rest"].split()) >= 3 and not _STEP_TO_COME.match(m["rest"]):
            return Asked(m.start("rest"))
    if _POINTS_BACK.match(masked):
        return Asked(0, points_back=True)
    return None


def reminder(masked: str) -> bool:
    """Says whether the sentence reminds of a step in the work at hand ("remember to close it")."""
    return _REMINDER.match(masked) is not None
