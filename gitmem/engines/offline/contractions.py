"""Apostrophes that people leave out when they type to an agent."""

from __future__ import annotations

import re

# Only those that are no words without their apostrophe ("its", "were" and "well" are).
_BARE = re.compile(
    r"\b(do|does|did|is|are|was|should|must|have|has|could|would|ca|wo)nt\b"
    r"|\b(i)(m|ve)\b|\b(you|they|we)(ve)\b|\b(you|they)(re)\b|\b(that|there|what|who|here)(s)\b",
    re.IGNORECASE,
)
_SHORT_WORD = re.compile(r"\b(?:pls|plz)\b", re.IGNORECASE)


def spelled(text: str) -> str:
    """Gives a sentence with the apostrophes put back ("dont" → "don't"), outside of quotes and code.

    Args:
        text: one sentence as typed.
    """

    def put(m: re.Match[str]) -> str:
        if m[1]:
            return f"{m[1]}n't"
        stem, end = (part for part in m.groups()[1:] if part)
        return f"{stem}'{end}"

    parts = re.split(r"(`[^`]*`|\"[^\"]*\")", text)
    parts[::2] = [_SHORT_WORD.sub("please", _BARE.sub(put, part)) for part in parts[::2]]
    return "".join(parts)
