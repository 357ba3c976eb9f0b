"""Words of a find: statement, Why, How to apply, description, slug, all of them the person's own."""

from __future__ import annotations

import re

from gitmem.core.names import numbered_names, slugify
from gitmem.engines.offline.prose import mask_quotes

# An index entry is about 150 characters, and the name takes its share (design, section 4).
DESCRIPTION = 110
SLUG_WORDS = 6

_FILLER = re.compile(
    r"^(?:(?:and|also|but)\s+|(?:ok(?:ay)?|and|also|so|but|btw|by the way|thanks?|thank you"
    r"|(?:please )?note that|hey|hi|hmm+|well|oh|yes|yep|yeah"
    r"|no|nope|lastly|finally|also note(?: that)?|one thing i forgot(?: to (?:mention|say|add))?"
    r"|forgot to (?:mention|say|add)|right|good catch|one more thing|quick one before we start"
    r"|hey quick one before we start"
    r"|fyi|again|anyway|great|perfect|sure|cool"
    r"|just so you know|for context|sorry|actually|wait|correction"
    r"|hello|nice|good|exactly)(?:[,.:;!]+\s*|\s*[-–—]\s+"
    r"|\s+(?=(?:and|also|btw|by the way|for|from|please|i|i'm|we|just|don't|never|always)\b)))+",
    re.I,
)
_ASIDE = re.compile(
    r"^(?:(?:actually|btw|by the way|fyi|for the record|for the last time|notes? to self|as i said"
    r"|you (?:always )?keep forgetting|i (?:already )?told you(?: already| before| twice)?)(?: that)?"
    r"(?:[,:;!]| -| –| —)? +(?=\w))+",
    re.I,
)
"""What points to the talk and not to the fact; without a comma, too."""

_BECAUSE = re.compile(
    r"(?:,?\s+(?:because|since(?! (?:19|20)\d\d)(?= (?:we|i|the|that|it|they|our|support|this|there"
    r"|nobody|everyone|\w+ \w+ )\b)|so that"
    r"|as otherwise|otherwise)\s+|[.;,:]?\s+(?:the )?reason(?: is)?:\s+|\s+[-–—(]\s*(?:reason"
    r"|why):\s+)(?P<why>.+)$",
    re.I,
)
_REASON_SENTENCE = re.compile(
    r"^(?:because|since|otherwise|so that|the reason|reason:|why:|(?:we|i) (?:got|were|was|have been"
    r"|had been) (?:burned|burnt|bitten|hit)"
    r"|i lost|we lost|last (?:week|month|year|time|spring|summer|autumn|fall|winter|quarter|sprint)\b"
    r"|(?:that|this|it)(?:'s| is| was)? "
    r"(?:deleted|broke|breaks|cost|costs|caused|causes|makes|made|led|leads|slows|hides|a legal|what"
    r"|why"
    r"|confus\w+|because)"
    r"|they (?:get|are|break|will|always|never)|nobody|no one|you have got|you got)\b",
    re.I,
)
_HOW_CLAUSE = re.compile(
    r"\b(?<!even )(?:(?:when(?:ever)?|every time|each time|before|after) (?:you|we|i)\b[^,.;]*"
    r"|next time\b(?= [^,.;]*\bwhen\b)[^,.;]*)",
    re.I,
)
_LABEL = re.compile(r"^(?:reason|why|how to apply):\s*", re.I)
_STOP_WORDS = (
    "a an the to of in on at for and or but so is are was were be been being am i i'm im i've i'd you"
    " your we we're our us my me it its it's that"
    " this these those there here with by as from if when whenever then than please also just really"
    " very do does did has have"
    " had will would can could should must may not only too because since into out up about them they"
    " their he she his her what"
    " which who how ok now on general future going forward want like every time exactly yes let's always"
    " use using work please note make sure"
)
_STOP = frozenset(_STOP_WORDS.split())
_KEEP = frozenset(("not", "no", "never", "only"))


def without_opening(text: str) -> str:
    """Gives the sentence without words that only open it ("ok, and by the way …", "a few rules: …")."""
    rest = _FILLER.sub("", _ASIDE.sub("", text)).lstrip("-–— ")
    rest = _COUNTED.sub("", _ANNOUNCES.sub("", rest))
    return rest if len(rest.split()) >= 2 else text


_ANNOUNCES = re.compile(
    r"^(?:an?|some|two|three|my|here are|these are)? ?(?:few|couple|some)?(?: of)? ?(?:\w+ )?(?:things"
    r"|preferences"
    r"|rules|notes|points|remarks|reminders|corrections|requests)\b[^:.]{0,60}: +(?=\w)",
    re.I,
)
_COUNTED = re.compile(r"^(?:first(?:ly)?|second(?:ly)?|third(?:ly)?|also|finally|lastly)[,:] +", re.I)


def statement(text: str) -> str:
    """Makes a sentence of it: a capital at the beginning, a full stop at the end; words untouched."""
    text = text.strip().rstrip(",;:")
    if not text:
        return text
    if not re.match(r"[a-z]+[A-Z_./]|https?:", text):
        text = text[0].upper() + text[1:]
    return (
        text if text[-1] in ".!…" or (text[-1] in "*`" and text[-2:-1] in ".!") else text.rstrip("?") + "."
    )


def split_why(text: str) -> tuple[str, str]:
    """Splits a trailing reason off.

    Args:
        text: one sentence.

    Returns:
        the statement and the reason; the reason is empty where none was given.
    """
    m = _BECAUSE.search(mask_quotes(text))
    if m is None or len(text[: m.start()].split()) < 3 or len(m["why"].split()) < 2:
        return text, ""
    why = text[m.start("why") :]
    if "otherwise" in m.group()[: m.start("why") - m.start()].lower():
        why = "otherwise " + why
    return text[: m.start()], why


def gives_reason(sentence: str) -> bool:
    """Says whether a sentence gives the reason of the one before it."""
    return _REASON_SENTENCE.match(sentence) is not None and not sentence.rstrip().endswith("?")


def how_clause(text: str) -> str:
    """Gives the clause that says when a statement applies ("whenever you add an endpoint"); else empty."""
    m = _HOW_CLAUSE.search(mask_quotes(text))
    clause = text[m.start() : m.end()].strip() if m else ""
    return clause if len(clause.split()) >= 4 else ""


def body(said: str, why: str, how: str) -> str:
    """Lays out a body.

    Args:
        said: the statement.
        why, how: the paragraphs' texts; empty where nothing was said.

    Returns:
        markdown, ending without a newline.
    """
    parts = [statement(said)]
    if why:
        parts.append("**Why:** " + statement(_LABEL.sub("", why)))
    if how:
        parts.append("**How to apply:** " + statement(_LABEL.sub("", how)))
    return "\n\n".join(parts)


def description(text: str) -> str:
    """Gives one line that would find the statement again, at most `DESCRIPTION` characters."""
    line = " ".join(re.sub(r"[*`]+", "", text).split()).rstrip(".")
    line = statement(line).rstrip(".") if line else line
    if len(line) <= DESCRIPTION:
        return line
    return line[: DESCRIPTION - 1].rsplit(" ", 1)[0].rstrip(",;:-–—") + "…"


def slug(text: str, taken: frozenset[str] = frozenset()) -> str:
    """Makes a name of the words that carry the statement.

    Args:
        text: the statement.
        taken: names in use.

    Returns:
        lower-case words joined by hyphens, in none of `taken`.
    """
    plain = text.replace("’", "'").lower()
    plain = re.sub(r"https?://(\S+)", lambda m: m[1].split("/")[0], plain)
    words = [
        w.replace("'", "")
        for w in re.findall(r"[^\W_]+(?:'[a-z]+)?", plain)
        if w in _KEEP or w not in _STOP
    ]
    name = slugify(" ".join(words[:SLUG_WORDS] or [plain]))
    return next(one for one in numbered_names(name) if one not in taken)
