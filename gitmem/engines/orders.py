"""Text that speaks to a model rather than of the work: none of it is handed on in what a model writes.

Few and plain signs, in English: what is given as data is fenced all the same.
"""

from __future__ import annotations

import re

_OF_INSTRUCTIONS = r"(?:instructions?|prompts?|guidelines|directives|orders)"
_SIGNS = (
    rf"\b(?:ignore|disregard|forget|override|bypass)\b[^.\n]{{0,40}}\b(?:previous|prior|above|earlier"
    rf"|preceding|your|system|all)\b[^.\n]{{0,30}}\b{_OF_INSTRUCTIONS}\b",
    rf"\bnew (?:system )?{_OF_INSTRUCTIONS}\s*:",
    r"<\s*/?\s*(?:system(?:[-_]\w+)?|assistant|human|instructions?|important)\s*(?:\s[^<>]{0,80})?>",
    r"<\|[a-z_]{2,20}\|>|\[/?INST\]",
    r"\byou (?:are|have been) (?:now|hereby) (?:an?|authori[sz]ed|instructed|required|in)\b",
    r"\b(?:do not|don['’]t|never|without) (?:tell|inform|telling|informing|alert|alerting|ask|asking) the"
    r" (?:user|person|human|developer)\b",
)
_ORDER = re.compile("|".join(_SIGNS), re.IGNORECASE)


def orders_in(text: str) -> tuple[str, ...]:
    """Lists the lines that tell a model what to do or to leave, in order."""
    return tuple(line.strip() for line in text.split("\n") if _ORDER.search(line))
