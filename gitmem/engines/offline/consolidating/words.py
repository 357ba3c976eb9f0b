"""The words of a sentence that count when two claims are compared, in order, equal ones in equal form.

Only articles, forms of "to be", address and emphasis are left out: prepositions, modals and quantifiers are
meaning, as is every sign that is no punctuation (`<`, `+`, an emoji).
"""

from __future__ import annotations

import re
from functools import lru_cache

from gitmem.core.facts import NEGATIONS, NUMBER_WORDS, stem

NOT = "\0not"
"""Stands for any way to say no."""

# What is written without a space is one chunk: `db/a.sql`, `--force`, `don't`; other signs count by one.
_TOKEN = re.compile(
    r"[a-z][a-z0-9+.-]{0,20}://[^\s<>)\]]*[^\s<>)\].,;:!?]|\[\[[^\[\]\n]{1,200}\]\]|`+[^`]+`+"
    r"|(?<![\w-])[a-z](?:\+\+|#)|[\w@~./\\:'’-]+|[^\s\w.,;:!?'\"“”‘’„()\[\]{}*_`–—-]",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_COMPOUND = re.compile(r"[A-Z][a-z]*(?:-[a-z]+)+")
_FILLER_WORDS = "a an the is are be that which you please also just really very simply always do does"
_FILLERS = frozenset(_FILLER_WORDS.split())


def form(word: str) -> str:
    """A word without case and the endings of number and of `-ing`; a past stays: "runs" is not "ran"."""
    lower = word.casefold()
    return lower if lower.endswith("ed") else stem(lower)


def forms(words: str) -> frozenset[str]:
    """The same for several words."""
    return frozenset(map(form, words.split()))


NEGATED = forms(" ".join(NEGATIONS)) | {NOT}


@lru_cache(maxsize=65_536)
def sequence(text: str) -> tuple[str, ...]:
    """The words of a sentence that count, in order: negations as one sign, code and names as written."""
    found: list[str] = []
    for token in _TOKEN.findall(text):
        word = token.replace("’", "'").lstrip(":'").rstrip(".:'-")
        lower = word.casefold()
        if not word.strip("-~./\\@") and word[:1] in ("", *"-~./\\@"):
            continue
        if lower in ("can't", "cannot"):
            found += ["can", NOT]
        elif lower == "won't":
            found += ["will", NOT]
        elif lower.endswith("n't"):
            found += [part for part in (form(lower.removesuffix("n't")),) if part not in _FILLERS]
            found.append(NOT)
        elif lower in ("not", "never", "no"):
            found.append(NOT)
        elif lower in NUMBER_WORDS:
            found.append(NUMBER_WORDS[lower])
        elif _COMPOUND.fullmatch(word):
            found.append(lower)
        elif not _WORD.fullmatch(word) or not (lower == word or word.istitle()):
            # Code, paths, numbers and names in capitals count as they are written.
            found.append(word.strip("`"))
        elif lower not in _FILLERS:
            found.append(form(lower))
    return tuple(found)


def words(text: str) -> frozenset[str]:
    """The words of a text that count, negations apart."""
    return frozenset(word for word in sequence(text) if word != NOT)
