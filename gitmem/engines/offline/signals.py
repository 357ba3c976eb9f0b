"""How likely words are to last: plain cues of a sentence and its message, in a logistic regression.

No cue decides alone: each adds its weight to the log odds. The cues are forms of speech, not topics, so
that they hold for people and projects that nobody here has met.

The weights are fitted by tests/bench/extract_weights.py. Those of a sentence by itself on the written
sentences of the project (650; on 274 others the area under the curve is .83); those of a message on 283
messages of people in 12 recorded sessions that others labelled. Where each session is told by the other
eleven, the area is .80: at 2.5 messages a session precision is .63 at recall .39, and 12 of 24 messages
hold .90 of what is to be kept. Fitted on six sessions alone, the other six give .82, .73 at .48, and .87.
Nine more forms (a plan for now, a name, a colon, a reason, …) were looked for once, and told less than
nothing: each cue that is added has to show that it carries over to sessions that it was not fitted on.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

from gitmem.engines.offline.prose import mask_quotes
from gitmem.transcripts.model import Source

_TASK = (
    r"(?:add|fix|run|make|create|write|update|remove|delete|rename|move|implement|commit|push|pull|check"
    r"|look"
    r"|show|explain|review|rebase|merge|open|continue|go(?! with\b| for\b)|let's|lets|do|try|test"
    r"|change|refactor|generate"
    r"|build|start|put|find|read|help|give|tell|revert|undo|investigate|debug|install|proceed|draft|apply"
    r"|implement|extract|replace|list|print|log|search|think|see|have a look|take a look|restart|deploy"
    r"|set up|clean up|split|address|summari[sz]e|analy[sz]e|compare|verify|double[- ]check|hook up|wire)"
)
_OPENING = (
    r"^(?:(?:ok(?:ay)?|yes|yeah|yep|yup|no|nope|sure|great|good|nice|cool|perfect|thanks|thank you|alright"
    r"|hm+|mm+|uh+|so|and|but|also|now|then|please|pls|right|well|oh|ah|actually|hey|hi|just"
    r"|q:)\b[,.!: -]*)*"
)

CUES: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern)
    for name, pattern in {
        # What people lay down together, and what holds for them.
        "decided": r"\b(?:decided|agreed|settled on|(?:we're|we are|i'm|let's|we'll|we) (?:going|go"
        r"|went) with"
        r"|standardi[sz]ed|signed off|chose|picked|agreement|decision|policy|convention|standing rule"
        r"|(?:the|a|new|our) rule|(?:fallen|fell) out of favou?r|off the table|the standard)\b",
        "we want": r"\b(?:we|i) (?:really |only |do |just )?(?:want|wanted|need|care|expect|don't want"
        r"|don't need|would like|mean|meant|care about)\b",
        "moved on": r"\b(?:switched|moved|migrated|dropped|removed|deprecated|replaced|abandoned"
        r"|no longer|any ?more"
        r"|used to|instead of|from now on|going forward|rather than|outdated|is gone|got rid of"
        r"|getting rid of|is dead|is out)\b",
        "must": r"\b(?:must|should|shall|has to|have to|ought to|needs to|need to|may not|mustn't|shouldn't"
        r"|supposed to|required?|not allowed|mandatory|never|always)\b",
        "must not": r"\b(?:must not|mustn't|should not|shouldn't|never|don't|do not|cannot|can't"
        r"|not allowed"
        r"|avoid|no need|without|off limits|untouchable)\b",
        "forbids": _OPENING + r"(?:never|don't|do not|stop|avoid|quit|no more|no (?!changes\b"
        r"|worries\b)[\w-]+(?:s|ing)|not ever)\b",
        "says why": r"\b(?:don't|do not|never|must|should|always|stop|avoid|use|prefer|need|can't|keep)\b.*"
        r"(?:\b(?:because|since|otherwise|so that|reason)\b|, (?:it|they|that|the \w+|this) \w+(?:ed|s"
        r"|id)\b)",
        "for good": r"\b(?:from now on|from here on|going forward|whenever|every time|each time"
        r"|as a rule|in general"
        r"|by default|next time|always|never|ever|any ?more|for all|for every|everywhere|in this (?:repo"
        r"|project|codebase))\b",
        "negation": r"\b(?:not|no|none|nothing|nobody|neither|nor|isn't|aren't|won't|doesn't|didn't"
        r"|wasn't|hasn't)\b",
        "contrast": r"\b(?:but|however|except|unless|although|though|only|exactly|not just|as opposed to)\b"
        r"|\bnot [^,.;]+, |, not \w",
        "corrects": r"^(?:no|nope|nah|not|wrong|actually|rather|instead|stop|correction|scratch that|don't"
        r"|do not)\b|\b(?:i meant|i told you|i said|you keep|instead|wrong|that's not)\b",
        "lasting": r"\b(?:always|never|every|each|all|any|whenever|in general|generally|usually|normally"
        r"|by default"
        r"|everywhere|everything|in future|future|long[- ]term|permanent(?:ly)?|forever|over time"
        r"|next time)\b",
        "planned": r"\b(?:eventually|roadmap|(?:is|are|will be|we're|gets?) (?:planned|planning|coming"
        r"|replaced|launching"
        r"|migrat\w+)|milestone|deadline|launch|freeze|next (?:quarter|year|month|release|sprint)"
        r"|in the future"
        r"|until|by (?:monday|friday|q[1-4])|will (?:be a|need|have|move|become))\b",
        "means": r"\b(?:means?|is called|are called|called|stands? for|refers? to|i\.e\.|known as"
        r"|a\.k\.a|defined as"
        r"|in our \w+)\b| == | is the (?:only|one|source|old|new|same)\b",
        "likes": r"\bi(?:'d| would| really| personally| actually| usually| generally| always| much)*"
        r" (?:prefer|like|love|hate|dislike|rather|favou?r|care|don't like|want you to|usually)\b"
        r"|\bmy (?:preference|style|taste)\b|\b(?:a fan of|fond of|personally|prefer)\b",
        "about me": r"\b(?:i'm|i am) (?:a|an|the|new|on|used|not a|more of|from|colou?r|working (?:on|as"
        r"|at))\b"
        r"|\bmy (?:team|manager|company|background|laptop|machine|setup|colleagues?|customers?|editor"
        r"|job)\b"
        r"|\bi (?:work|own|maintain|come from|know|speak|live|lead)\b",
        "our world": r"\b(?:customers?|users?|clients?|tenants?|legal|contracts?|compan(?:y|ies)"
        r"|vendors?|marketing"
        r"|finance|security|compliance|support|ops|infra|product team|auditors?|manager|colleagues?"
        r"|stakeholders?|teams?|office|gdpr|sla|licen[sc]e|budget|incident|outage|production|prod"
        r"|staging)\b",
        "ours": r"\b(?:our|ours|us)\b",
        "judges": r"\b(?:too|more|less|better|worse|rather|much|easier|simpler|confusing|problematic"
        r"|risky?|annoying"
        r"|important|often|prone|careful|stable|matters?)\b",
        "reckons": r"\b(?:i think|i guess|i feel|i believe|i don't think|in my opinion|imo|i'd say"
        r"|sounds like"
        r"|seems)\b",
        "hedges": r"\b(?:maybe|perhaps|wonder(?:ing)?|not sure|probably|possibly|could we|might|would it"
        r"|i suppose|what if"
        r"|kind of|sort of|somehow)\b",
        "marked": r"\b(?:for the last time|on purpose|intentional(?:ly)?|deliberate(?:ly)?|i told you"
        r"|already told"
        r"|as i said|keep in mind|important|note that|btw|by the way|fyi|heads[- ]up|for the record"
        r"|to be clear"
        r"|clarification|just so you know|for context|you keep)\b",
        "place": r"\bhttps?://|\b(?:linear|jira|slack|notion|confluence|grafana|sentry|datadog|figma"
        r"|wiki|runbook|dashboard"
        r"|tracker|trello|asana|pagerduty|zendesk)\b|\b(?:lives?|tracked|documented|kept|stored|reported"
        r"|filed|posted|announced) (?:in|at|on|under)\b|\b(?:owns?|owned by"
        r"|in charge of|responsible for)\b",
        "figure": r"\b\d+(?:[.,]\d+)?\s?(?:ms|s|secs?|seconds?|minutes?|mins?|hours?|h|days?|weeks?"
        r"|months?|years?|%|percent"
        r"|[kmg]i?b|rows?|columns?|lines?|cents?|users?|seats?|requests?|retries|attempts|cores?|px)\b"
        r"|\b(?:exactly|at most|at least|max(?:imum)?|min(?:imum)?|limit(?:ed)?|only) (?:\w+ )?\d",
        "code name": r"`|¤|\b\w+_\w+\b|\b\w+\(\)|\b[\w-]+/[\w./-]+|\b\w+\.(?:py|go|ts|js|tsx|rs|md|json"
        r"|ya?ml|toml|sh|rb|java)\b"
        r"|(?<!\w)--\w",
        # What is said of the world, by whoever neither asks nor orders.
        "states": _OPENING
        + r"(?!(?:it|this|that|there|i|you|we|let|what|how|why|when|where|who|which|can|could|please)\b)"
        r"(?:(?!(?:i|you|we|it|they|to|and|that|if|when)\b)[\w./¤'-]+ ){1,6}?"
        r"(?:is|are|isn't|aren't|has|have|comes?|goes|go|reads?|writes?|uses?"
        r"|runs?|needs?"
        r"|depends?|relies|rely|lives?|belongs?|gets?|takes?|sends?|expects?|supports?|requires?|works?"
        r"|owns?"
        r"|stores?|keeps?|serves?|ships?|pays?|drops?|allows?|accepts?|costs?|can't|cannot|can only"
        r"|must|may not"
        r"|handles?|does|doesn't|do|don't|only|still|never|always)\b",
        "hangs together": r"\b(?:depends? on|rel(?:y|ies) on|shared (?:with|by)|comes? from|reads? "
        r"(?:straight )?from"
        r"|belongs? to|(?:maintained|managed|hosted|run|paid|written|generated|used|read) by|runs? on"
        r"|talks? to"
        r"|needs? (?:it|them|that)|uses? (?:it|them)|access to|on[- ]prem)\b",
        "when": r"\b(?:(?:once|twice) an?|every|each|per|until|since|by|in|on|before|after|till) "
        r"(?:(?:the )?(?:end of )?)"
        r"(?:jan(?:uary)?|feb(?:ruary)?|march|april|june|july|august|sept?(?:ember)?|oct(?:ober)?"
        r"|nov(?:ember)?"
        r"|dec(?:ember)?|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|spring|summer|autumn|winter"
        r"|20\d\d|19\d\d|q[1-4]"
        r"|day|night|week|month|quarter|year|morning|release)\b",
        "at most": r"\b(?:max(?:imum)?|at most|tops|or (?:less|fewer)|short|brief|concise|no longer "
        r"than|each|only)[.!]?$"
        r"|\b(?:at most|no more than|up to|max(?:imum)?) (?:\d|one|two|three|four|five|ten)",
        "manner": _OPENING
        + r"(?:please )?(?:keep|use|prefer|write|put|make|name|call|avoid|leave|format|group|order|sort"
        r"|ask|tell|give|show|explain|answer|reply|skip|quote|indent|document|no|don't|do not|never"
        r"|always)\b"
        r"(?!.*\b(?:this|these|those|that one|above|below|line \d)\b)"
        r".*\b(?!this|its|has|was|does|tests?\b)[a-z]{3,}s\b",
        # What is about the work of the moment.
        "question": r"(?<!, ok)(?<!, okay)(?<!, please)\?[\"'”’)\]\s😅🤔]*$",
        "asks": _OPENING
        + r"(?:why|what|what's|how|who|where|when|which|is|are|do|does|did|can|could|would|will|should|have"
        r"|has|any|am|was|were|shall)\b",
        "asks for": _OPENING + r"(?:can|could|would|will) (?:you|we|i)\b|\bcan (?:you|we)\b.*\?",
        "task": _OPENING
        + r"(?:i (?:want|need|would like|'d like)(?: you)? to |we (?:need|have|should) (?:to )?(?:now "
        r"|also )*"
        r"|let's (?:also |now |just )?)?" + _TASK + r"\b",
        "lets": r"\blet'?s\b|\blet me\b|\bgo ahead\b|[,;] (?:(?:so|then|please|and then) )+(?:catch|"
        + _TASK.removeprefix("(?:")
        + r"\b",
        "agrees": r"^(?:ok(?:ay)?|yes|yeah|yep|yup|sure|great|nice|cool|perfect|thanks|thank you|exactly"
        r"|correct|right"
        r"|good|sounds good|lgtm|done|agreed)\b",
        "points": r"\b(?:this|that|these|those|it|here|there|above|below|the (?:same|other|last|first"
        r"|second|next"
        r"|previous))\b",
        "starts pointing": _OPENING + r"(?:this|that|it|these|those|they|there)\b",
        "broken": r"(?<!because )\b(?:still(?! (?:needs?|uses?|depends?|relies|rely|runs?|ha(?:s|ve)|on"
        r"|support\w*|want\w*)\b)|fails?|failing|failed|errors?|broken|broke|bug|crash(?:es|ed)?"
        r"|doesn't work|not working|issue"
        r"|wrong|stuck|weird|flaky|missing|exception|traceback|warning)\b",
        "i did": r"\bi(?:'ll|'ve| will| have| did| was| am going| just| tried| ran| see| saw| get| got"
        r"| checked| restarted"
        r"| want to see| noticed| found| can see)\b",
        "you did": r"\byou(?:'ve| have| did| just| said| wrote| added| changed| removed| are| were|'re"
        r"| missed)\b",
        "i": r"\bi\b|\bmy\b|\bme\b",
        "we": r"\bwe\b",
        "you": r"\byou\b|\byour\b",
    }.items()
}
"""Forms of speech, looked for in a masked sentence (`prose.mask_quotes`)."""

WORDS = (4, 8, 16, 32, 64, 128)
"""Words of the person's own from which a message counts as longer; each bound adds its weight."""

SENTENCES = (1, 3, 6)

SHARE = 0.6
"""Of a sentence's own log odds in those of its message."""

WEIGHTS: Mapping[str, tuple[float, float]] = {
    "bias": (-1.77, -2.01),
    "about me": (1.03, 0.12),
    "agrees": (0.31, -0.21),
    "asks": (0.01, 0.41),
    "asks for": (0.46, -0.15),
    "at most": (0.4, 0.0),
    "broken": (-0.71, 0.68),
    "code name": (0.18, -0.2),
    "contrast": (0.29, -0.12),
    "corrects": (-0.44, -0.21),
    "decided": (1.2, 0.08),
    "figure": (0.41, -0.25),
    "for good": (0.27, 0.05),
    "forbids": (0.7, 0.59),
    "hangs together": (0.82, 0.0),
    "hedges": (-1.84, 0.44),
    "i": (0.79, 0.51),
    "i did": (-0.46, -0.12),
    "judges": (0.35, 0.29),
    "lasting": (0.92, -0.05),
    "lets": (0.07, 0.35),
    "likes": (0.69, -0.03),
    "manner": (1.04, 0.0),
    "marked": (1.43, 0.33),
    "means": (0.41, 0.68),
    "moved on": (0.99, 0.42),
    "must": (-0.69, 0.61),
    "must not": (0.42, -0.21),
    "negation": (0.89, 0.3),
    "our world": (1.2, -0.31),
    "ours": (1.1, 0.44),
    "place": (1.82, 0.79),
    "planned": (0.67, 0.07),
    "points": (-0.26, -0.08),
    "question": (-1.52, 0.64),
    "reckons": (-1.26, 0.46),
    "says why": (0.36, 0.04),
    "starts pointing": (0.08, -0.04),
    "states": (0.52, 0.0),
    "task": (-0.78, 0.5),
    "we": (0.64, 0.73),
    "we want": (0.11, 0.58),
    "when": (1.06, 0.0),
    "after a question": (0.0, 0.16),
    "opens": (0.0, -0.57),
    "over 1 sentences": (0.0, -0.2),
    "over 128 words": (0.0, -0.18),
    "over 16 words": (0.0, 0.34),
    "over 3 sentences": (0.0, -0.14),
    "over 32 words": (0.0, -0.07),
    "over 4 words": (0.0, -0.22),
    "over 6 sentences": (0.0, 0.21),
    "over 64 words": (0.0, -0.41),
    "over 8 words": (0.0, -0.59),
    "pasted": (0.0, -0.58),
    "refusal": (0.0, -0.52),
    "you": (0.0, 0.63),
    "you did": (0.0, 0.32),
}
"""Of a cue in a sentence by itself, and in a message; as tests/bench/extract_weights.py prints them."""

OF_SENTENCE: Mapping[str, float] = {cue: alone for cue, (alone, _) in WEIGHTS.items()}
OF_MESSAGE: Mapping[str, float] = {cue: within for cue, (_, within) in WEIGHTS.items()}


LABELS: Mapping[str, str] = {
    "marked": "marked as lasting",
    "decided": "a decision",
    "moved on": "what changed",
    "forbids": "what not to do",
    "corrects": "a correction",
    "likes": "a preference",
    "about me": "about the person",
    "planned": "a plan",
    "means": "what a word means",
    "place": "where something is, or whose",
    "must": "how things have to be",
    "must not": "what not to do",
    "we want": "what is wanted here",
    "our world": "about the world around the code",
}
"""What a reviewer reads of a find, by the first cue that it has."""


def cues(sentence: str) -> frozenset[str]:
    """Gives the names of the cues in one sentence.

    Args:
        sentence: as typed, with its apostrophes put back (`prose.spelled`).
    """
    low = mask_quotes(sentence)
    return frozenset(name for name, pattern in CUES.items() if pattern.search(low))


def circumstances(
    source: Source, sentences: int, words: int, *, answers: bool, place: int, pasted: bool
) -> frozenset[str]:
    """Gives the names of the cues that a whole message bears.

    Args:
        source: how it was said.
        sentences, words: how many it has, of the person's own.
        answers: what the agent said before ends in a question.
        place: how many messages of people went before in the session.
        pasted: something of it was pasted.
    """
    found = {f"over {bound} words" for bound in WORDS if words > bound}
    found |= {f"over {bound} sentences" for bound in SENTENCES if sentences > bound}
    if source != "prompt":
        found.add(source)
    if answers:
        found.add("after a question")
    if pasted:
        found.add("pasted")
    if place == 0:
        found.add("opens")
    return frozenset(found)


def odds(found: Iterable[str], weights: Mapping[str, float] | None = None) -> float:
    """Gives the log odds that one sentence, taken by itself, states something that lasts."""
    found = frozenset(found)
    table = OF_SENTENCE if weights is None else weights
    reasoned = REASONED if "says why" in found and found & {"forbids", "must"} else 0.0
    return math.fsum((reasoned, table.get("bias", 0.0), *(table.get(cue, 0.0) for cue in found)))


def probability(found: Iterable[str], sentence: float, weights: Mapping[str, float] | None = None) -> float:
    """Gives the probability that what bears these cues lasts, 0 to 1.

    Args:
        found: cues of a message, or of a part of it with the circumstances of the message.
        sentence: the best log odds of one of its sentences (`odds`).
        weights: other weights than those that are checked in.
    """
    table = OF_MESSAGE if weights is None else weights
    whole = math.fsum((table.get("bias", 0.0), *(table.get(cue, 0.0) for cue in found)))
    return 1 / (1 + math.exp(-(whole + SHARE * sentence)))


REASONED = 1.0
"""Log odds that a rule gains by its reason, by hand: the written sentences have too few of them."""

REPEATED = 1.0
"""Log odds that a statement gains when it is said again; by hand, as no labelled session repeats itself."""


def likelier(score: float) -> float:
    """Gives the probability of what was said once more."""
    odds = score / (1 - score) * math.exp(REPEATED)
    return odds / (1 + odds)
