"""Why something told in passing is no fact that lasts: the state of the day, code, a mere request."""

from __future__ import annotations

import re

from gitmem.engines.offline.facts import USED_LABEL
from gitmem.engines.offline.signals import Signal

PROBLEM = re.compile(
    r"\b(?:fail(?:s|ed|ing)?|crash\w*|broken|doesn't work|not working|error|exception|blank|reloads"
    r"|can't access|still (?:get|show)s?"
    r"|shows? (?:an? )?\d{3}|gets? (?:an? )?(?:\d{3}|error|null)|40[0-9]|500)\b"
)
# Facts about code, which the code itself tells, and steps of the work, in the dress of a reminder.
CODE_FACT = re.compile(
    r"\b(?:ids?|strings?|lists?|arrays?|null|none|undefined|empty|functions?|params?|parameters?"
    r"|callers?"
    r"|signatures?|variables?"
    r"|methods?|index|indices|loops?|class|struct|objects?|enum|booleans?|integers?|pointer|return(?:s"
    r"|ed)?|argument|arguments)\b"
)
# A fact that is told for the sake of what is asked for next.
_THEN_ASKS = re.compile(
    r"[ ,;]so (?:skip|let's|please (?!don't|do not|never)|can you|could you|we (?:can|could)) |"
    r"[,;] (?:please |then |so |and |just )*(?:add|implement|create|check|look|investigate|change"
    r"|remove"
    r"|find|try|rename|move|write|make it|make the) "
)
_OURS = re.compile(r"\bour (?:\w+ )?(?:style|convention|rule|policy|standard|practice|habit|way)\b")
_OF_THE_DAY = re.compile(
    r"\b(?:again|right now|now|in an? (?:hour|minute|bit|second|moment)|today|tonight|at the moment"
    r"|hurry|red)\b"
)
# "right now we only run it locally": a limit is told as one that holds.
_ONLY = re.compile(
    r"\bonly (?:going to be |ever |be )?(?:used|run|runs|deployed|hosted|for|on|by|one|person|user)\b"
)
_HERE = re.compile(
    r"\b(?:commits?|spaces|tabs|quotes|naming|\w+ case|style|spelling|branch(?:es)?|tags?|semver"
    r"|labels?)\b"
    r"|\b(?:here|everywhere|for everything|in this (?:repo|project|codebase))\b|\bnot\b"
)


def why_not_fact(masked: str, signal: Signal, refusing: bool) -> str:
    """Looks at a fact.

    Args:
        masked: the sentence as given by `sentences.masked`.
        signal: one of `facts.FACTS`.
        refusing: it was said in refusal of a tool call.

    Returns:
        the reason against it; empty where nothing speaks against it.
    """
    if PROBLEM.search(masked) and signal.type != "feedback":
        return "a report of a problem"
    if _THEN_ASKS.search(masked):
        return "a request for the task at hand"
    if signal.type != "feedback" and _OF_THE_DAY.search(masked) and not _ONLY.search(masked):
        return "the state of the day"
    told = signal.type == "user" or signal.label == "a principle"
    if CODE_FACT.search(masked) and not told and not _OURS.search(masked):
        return "about code, which the repository can tell"
    if (
        signal.label == USED_LABEL
        and not refusing
        and not (_HERE.search(masked) and len(masked.split()) < 12)
    ):
        return "the repository can tell"
    return ""
