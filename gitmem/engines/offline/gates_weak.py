"""Why an instruction that is as often for now is none that lasts."""

from __future__ import annotations

import re

# What went wrong once is a lesson, whatever the reason points at.
_LESSON = re.compile(
    r"\b(?:hid|broke|cost|bit us|burned|burnt|deleted|lost|leaked|caused|charged|took down|corrupted"
    r"|last (?:week|month|quarter|year|time|spring|summer|autumn|fall|winter))\b"
)
# "comments that restate the code": no word that points.
_RELATIVE = re.compile(
    r"\b([a-z-]{3,}s|[a-z]+thing|code|those) that (?=(?:just |only |merely |simply )?[a-z]+\b)"
)
_POINTING_WORD = re.compile(r"\b(?:this|that|these|those|it|them|here|there)\b")
_POINTING = re.compile(
    r"\b(?:this|that|these|those|it|them|here|there|another|again|further|more|either)\b"
    r"|\bthe (?!same\b)[a-z-]+(?: [a-z-]+)? ?(?:yet|again)?$"
)
_NOT_LASTING_REASON = re.compile(
    r"\b(?:i'm|i am|we're|we are|he is|she is|they are|[a-z]+ is)(?: just| currently"
    r"| busy)? [a-z]+ing\b"
    r"|\bin the middle of\b|\balready\b|\bi (?:still|just)\b"
)
_REASON = re.compile(r"[,;]? \b(?:because|since|so that|as otherwise|otherwise)\b ?(?P<why>.*)$")
# "unless I ask": leave is the person's to give and outlives the task; "unless it is empty" is a condition.
_UNLESS = re.compile(r"[,;]? \bunless\b(?P<condition>.*)$")
_LEAVE = re.compile(
    r"^ (?:(?:i|we|somebody|someone|the user|you) (?:explicitly |specifically |really )?(?:ask|say|tell"
    r"|told|request|want|approve|confirm|agree|need|mention|instruct|check|have asked|get)\w*\b"
    r"|(?:you(?:'re| are|'ve been| have been) )?(?:explicitly |specifically )?"
    r"(?:asked|told|requested|instructed|i've|i have)\b)"
)
# A thing of its kind, not the one at hand: "don't use mocks in the database tests".
_OF_A_KIND = re.compile(
    r"^(?:please )?(?:don't|do not|never|always) [a-z-]+ "
    r"(?!the\b|my\b|your\b|our\b|his\b|her\b|its\b|both\b|all the\b|[a-z]+ed\b)"
    r"(?:any|ever|(?:[a-z-]+ ){0,2}[a-z-]{3,}(?<!s)s\b)"
)
_GENERAL = re.compile(
    r"\b(?:any|ever|every|unless|without|because|since|otherwise|instead|nobody|everyone|all|anywhere"
    r"|anymore|in general|rather [^.;]+ than)\b"
    r"|\b(?!this\b|his\b|its\b|as\b|was\b|is\b|has\b|does\b|yes\b|us\b|plus\b|always\b"
    r"|bus\b|gas\b|ios\b|aws\b|dns\b|tls\b|gps\b|\w*ss\b)[a-z-]{2,}s\b"
)
# "the tests … them": what it points at stands in the same clause.
_POINTS_WITHIN = re.compile(r"(\b[a-z]{3,}s\b.*)\bthem\b")
# A reason that follows a comma alone: "it takes 20 minutes", "they get overwritten".
_BARE_REASON = re.compile(
    r", (?:it|they|that|we|nobody|there)(?:'s| is| are|'re| takes?| breaks?| gets?| will| would"
    r"| doesn't| don't"
    r"| can't| have| has| costs?| only| always| never)\b.*$"
)


def why_not_weak(rest: str, supported: bool, refusing: bool) -> str:
    """Looks at such an instruction apart from its reason and condition.

    Args:
        rest: the sentence as given by `sentences.masked`, from the signal on.
        supported: the person gave a reason.
        refusing: it was said in refusal of a tool call.

    Returns:
        the reason against it; empty where nothing speaks against it.
    """
    rest = _RELATIVE.sub(r"\1 which ", rest)
    reason = _REASON.search(rest)
    bare = None if reason else _BARE_REASON.search(rest)
    if bare:
        rest, supported = rest[: bare.start()], True
    if reason and _NOT_LASTING_REASON.search(reason["why"]):
        return "for this moment only"
    main = rest[: reason.start()] if reason else rest
    unless = _UNLESS.search(main)
    leave = bool(unless and _LEAVE.match(unless["condition"]))
    if unless:
        if not leave and not reason and not _GENERAL.search(main[: unless.start()]):
            return "one step of the task at hand"
        main = main[: unless.start()]
    main = _POINTS_WITHIN.sub(r"\1", re.sub(r",.*| which .*", "", main))
    of_a_kind = leave or (supported and _OF_A_KIND.match(rest))
    pointing = _POINTING.search(main)
    if pointing and (of_a_kind or refusing or bare) and pointing[0].startswith(("the ", "here", "there")):
        pointing = None
    of_a_kind = of_a_kind or bool(reason and _LESSON.search(reason["why"]))
    if pointing or (reason and not of_a_kind and _POINTING_WORD.search(reason["why"])):
        return "points at something in the present work"
    if not (supported or refusing) and not _GENERAL.search(rest):
        return "one step of the task at hand"
    return ""
