"""The ways in which people state what lasts. Patterns run on masked lower-case sentences."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from gitmem.core.change import MemoryType
from gitmem.engines.offline.vocabulary import (
    DATE,
    LASTING,
    NOT_BARE,
    PLACE,
    PRACTICE,
    ROLE,
    START,
    STATE,
    THING,
    WORK,
)

Weight = Literal["strong", "weak"]


@dataclass(frozen=True)
class Signal:
    """One way of stating something that lasts.

    Attributes:
        label: what a reviewer reads.
        pattern: where it matches, the statement is a candidate.
        type: type of the memory.
        confidence: 0 to 1.
        weight: `weak` ones are as often about the task at hand, and have to show that they are general.
    """

    label: str
    pattern: re.Pattern[str]
    type: MemoryType
    confidence: float
    weight: Weight = "strong"


LASTING_LABEL = "a standing instruction"
RESPONSIBLE_LABEL = "who is responsible"
ALWAYS_LABEL = "an instruction for always"


def _re(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


STANDING: tuple[Signal, ...] = (
    Signal(
        "a correction made before",
        _re(
            r"\bi(?: have|'ve)?(?: already)? (?:told|asked) you\b.*\bnot to\b"
            r"|\bi(?: have|'ve)?(?: already)? (?:told you|said)[^:,]{0,20}[:,]? (?:that )?(?:don't"
            r"|do not"
            r"|never|always) [a-z]"
            r"|\bi(?: have|'ve)?(?: already)? told you[^:,]{0,20}[:,] no [a-z]"
        ),
        "feedback",
        0.85,
    ),
    Signal(
        "a correction made before",
        _re(r"\bi(?: have|'ve)?(?: already)? (?:told|asked) you to\b"),
        "feedback",
        0.6,
        "weak",
    ),
    Signal(LASTING_LABEL, _re(rf"\b{LASTING}\b"), "feedback", 0.8),
    Signal(
        "a habit to stop",
        _re(
            rf"{START}(?:please )?(?:stop|quit|avoid) (?!server)(?:with the |all the )?[a-z-]+ing\b"
            r"|(?:^|[,;:] )you keep \w+ing\b|\bdon't ever\b|\bdo not ever\b|, ever\b"
        ),
        "feedback",
        0.75,
    ),
    Signal(
        ALWAYS_LABEL,
        _re(
            rf"{START}(?:please |but )?(?:always|never)(?! mind\b)(?! (?:the|a|an|any|it|this|that|has"
            rf"|had|is|was|be|something|here|there|up|good|great|happy|glad|nice|fun|ready|open"
            rf"|full|calm|give up|quit|say never|[a-z]+ing|[a-z]+ful)\b) {STATE}[a-z]+"
            rf"|\byou (?:should|must|need to|have to) (?:always|never) {STATE}[a-z]+"
            rf"|\b(?:make|be) sure (?:that |to )?(?:you |we )?(?:always|never) {STATE}[a-z]+"
            r"|\bi (?:want|need|'d like|would like) you to (?:always|never)\b"
            r"|\b(?:always|never) (?:ask|check with|tell|show|answer|reply to|explain to) me\b"
            r"|\b(?:use|prefer) [^,;.]+, (?:never|not ever)\b"
        ),
        "feedback",
        0.75,
    ),
    Signal(
        "a way to work",
        _re(
            r"^(?:please )?(?:use|prefer|(?:read and )?follow|apply|stick (?:to|with))"
            r" [^.;]*\bfor (?:all|every|everything"
            r"|any)\b(?! (?:the|these|those|this|that|of|three|four)\b)"
            r"|^(?:please )?keep (?:your |the |all )?(?:responses|answers|replies|explanations"
            r"|summaries"
            r"|commits|comments|prs|functions)"
            r" (?:short|concise|brief|small|terse|minimal|to a minimum)\b"
            r"|\b[a-z]+s only ?[,—–-] ?no [a-z]+\b"
        ),
        "feedback",
        0.65,
    ),
    Signal(
        "a rule of how work is done",
        _re(rf"\b{PRACTICE} (?:should|must|shall|have to|need to|may|can) (?:always|never|only|all)\b"),
        "feedback",
        0.75,
    ),
    Signal(
        "how the team works",
        _re(
            rf"{START}we (?:always|never) {STATE}[a-z]+"
            r"|\bwe (?:use|write|call|name|keep|put|prefer|stick (?:to|with)) [^.;]{1,60}?,? (?:not|never"
            r"|instead of|rather than)\b"
            r"|\bwe (?:don't|do not) (?:use|do|add|allow|accept|want|merge|write|ship|deploy|commit"
            r"|push"
            r"|mock|rebase|squash)\b"
        ),
        "feedback",
        0.7,
    ),
    Signal(
        "asks to be consulted",
        _re(r"\b(?:ask|check with|tell|warn) me (?:first|before|whenever|every time)\b"),
        "feedback",
        0.65,
        "weak",
    ),
    Signal(
        "a correction", _re(rf"^(?:please )?(?:don't|do not) {NOT_BARE}[a-z]+"), "feedback", 0.5, "weak"
    ),
    Signal(
        "a way to work",
        _re(
            r"^(?:when in doubt|if you(?:'re| are)? (?:unsure|not sure|uncertain|in doubt"
            r"|stuck)[^,]*), [a-z]+"
        ),
        "feedback",
        0.7,
    ),
    Signal(
        "a way to work",
        _re(r"^when(?:ever)? you [^,]+, (?:please )?(?!i\b|it\b|the\b|you\b|we\b|there\b)[a-z]+"),
        "feedback",
        0.55,
        "weak",
    ),
)

CONFIRMED: tuple[Signal, ...] = (
    Signal(
        "an approach confirmed",
        _re(
            r"(?<!let's )(?<!we'll )(?<!i'll )\bkeep (?:doing|splitting|writing|using|working"
            r"|structuring"
            r"|grouping|naming|explaining|asking|showing"
            r"|bundling|presenting|reporting|formatting)\b.*\b(?:like (?:this|that)|this way|that way"
            r"|for"
            r"|so that|because)\b"
            r"|\bdo (?:it|this|that)(?: exactly)? (?:like (?:this|that)|this way|that way) (?:for|every"
            r"|each|always|in)\b"
            r"|\bexactly (?:what|how) i (?:want|like|need)[^.]*\b(?:every|each|always|for all"
            r"|from now)\b"
            r"|\b(?:was|is) (?:exactly )?the right (?:call|approach|choice|way|move)\b"
            r"|\b(?:is|was|are|were) (?:\w+ )?(?:right|correct|good|perfect|great|fine|ideal"
            r"|the way to go"
            r"|what i (?:want|wanted|like|need))\b[^.;?]*[,;:—–-] ?(?:so |and |please |just )*(?:keep"
            r" (?:on )?(?:doing|it up|that up|this up)\b"
            r"|(?:stick (?:to|with)|continue with) (?:that|this|it)\b"
            r"|do (?:it|that|this) (?:like (?:that|this)|this way|that way) (?:again|next time)\b)"
        ),
        "feedback",
        0.6,
    ),
)

IDENTITY: tuple[Signal, ...] = (
    Signal(
        "who the person is",
        _re(
            rf"{START}(?:i'm|i am|im) (?:an?|the|one of the|your)\b(?! (?:bit|little|few|lot|step"
            rf"|minute"
            rf"|one\b|fan))"
            rf"[^.;:]{{0,60}}?\b{ROLE}s?\b"
            rf"|\bi work (?:as an?|in the|on the|for|at)\b[^.;]*\b(?:{ROLE}|team|department|company"
            rf"|group)\b"
            r"|\bi work (?:in|from|on) (?:utc|gmt|cet|cest|est|pst|[a-z]+ (?:standard )?time\b)"
            r"|\bi(?:'m| am) (?:usually|normally|mostly|always|generally) (?:offline|online|available"
            r"|away|in meetings)\b"
            r"|\bmy name is (?!on\b|in\b|not\b|wrong|missing|still\b)[a-z]+|\bmy (?:background|day job"
            r"|role|job|degree|time ?zone|pronouns"
            r"|native language)"
            r" (?:is|are|includes)\b"
            rf"|{START}i (?:maintain|lead|manage|own|run|head|look after) (?:the|our|all)\b[^.;]*"
            r"\b(?:team|package|service|project|module|backend|frontend|platform|group|department"
            r"|infrastructure"
            r"|library|product|repo(?:sitory)?|docs)\b"
            r"|\bi(?:'m| am) (?:responsible for|in charge of|colou?r[- ]?blind|dyslexic|based in"
            r"|left-handed)\b"
            r"|\bi(?:'m| am) (?:completely |totally |quite |fairly |pretty )?new to (?!this (?:error"
            r"|bug"
            r"|file))\w+"
            r"|\bi(?:'ve| have) been (?:writing|coding|programming|doing|using|working)\b[^.;]*"
            r"\b(?:for (?:\w+ )?(?:\w+ )?(?:years|decades|months)|since (?:19|20)\d\d)"
            r"|\bi(?:'ve| have) never (?:used|written|worked with|touched|done)\b"
            r"|\bi(?:'m| am) on (?:an? )?(?:mac|macos|linux|windows|ubuntu|debian|fedora|arch|nixos|wsl"
            r"|freebsd)\b"
            r"|\bi(?:'m| am) (?:not )?(?:fluent|experienced|comfortable|familiar) (?:in|with)\b"
            r"|\bi only speak\b|\bi live in\b"
        ),
        "user",
        0.75,
    ),
    Signal(
        "who the team is",
        _re(
            r"\bwe(?:'re| are) an? (?:\w+[- ])?(?:\w+[- ]){0,3}(?:team|company|startup|start-up|agency"
            r"|lab|non-profit)\b"
        ),
        "project",
        0.65,
    ),
)

PREFERENCE: tuple[Signal, ...] = (
    Signal(
        "a preference",
        _re(
            rf"{START}i(?: really| strongly| much| generally| usually"
            rf"| always)? prefer\b(?! \(?[a-d0-9]\)?[.!]*$)"
            rf"|{START}i(?: really| strongly)? (?:hate|dislike|can't stand"
            rf"|cannot stand)\b(?=[^.;]*{WORK})"
            rf"|{START}i (?:don't|do not|really don't) (?:like|want to see|ever want)\b(?=[^.;]*{WORK})"
            rf"|{START}i(?: really| usually| generally)? (?:like|love) (?:it when you|when you|(?:to|my"
            rf"|[a-z]+ing|[a-z-]+ [a-z]+s|[a-z]+s)"
            rf"\b(?=[^.;]*{WORK}))"
            r"|\bi(?:'d| would) (?:much )?rather (?:you|have you|we)\b|\bi(?:'d"
            r"| would) prefer (?:that )?you\b"
            rf"|{START}i (?:always|usually|normally|mostly|only|never) (?!want\b|say\b|mean\b|feel|love"
            f"|enjoy|look"
            rf"|like|wish|hope){STATE}[a-z]+"
            r"|\bhow i (?:like to work|work best)\b"
        ),
        "user",
        0.65,
    ),
)

DECISION: tuple[Signal, ...] = (
    Signal(
        "a decision",
        _re(
            r"\b(?:we|the (?:team|company|board|management|architects?|committee)|management|leadership"
            r"|product|legal)"
            r"(?: have| has|'ve)?(?: now| just| finally| all)? (?:decided|agreed|chosen|settled on"
            r"|committed to|opted|standardi[sz]ed on)\b"
            r"|\bit (?:was|has been) decided\b|\bthe decision (?:is|was)\b"
            r"|\blet's (?:go with|use|stick (?:to|with)) .*\b(?:for good|permanently|long[- ]term"
            r"|as (?:the|our) standard|everywhere)\b"
            r"|\bwe(?:'re| are) (?:moving|migrating|switching) (?:everything )?(?:away from|off|over to"
            r"|to|from)\b"
            r"|\bwe(?:'re| are) (?:dropping|retiring|deprecating|sunsetting|phasing out"
            r"|getting rid of)\b"
            r"|\bwe (?:have to|must|need to) (?:support|stay (?:on|with|compatible)|comply"
            r"|remain)\b[^.]*"
            r"|\bwe(?:'re| are)(?: not|n't) allowed to (?!call|set|use (?:the|a)\b)|\bwe (?:aren't"
            r"|are not|mustn't|must not"
            r"|may not) (?!sure)\w+"
            r"|(?<!so )\bwe will (?:not|never) \w+|(?<!so )\bwe won't (?!get\b|be able|need|see|have"
            r"|hit)\w+"
            r"|\bthe reason (?:that |why )?we(?:'re| are|'ve| have)? (?!are\b|have\b|see|get|hav|hit"
            r"|run)\w+[^.]* is\b"
            rf"|{START}we only {STATE}[a-z]+"
        ),
        "project",
        0.65,
    ),
    Signal(
        "a date that matters",
        _re(
            r"\b(?:freez(?:e|ing)|code freeze|feature freeze|deadline|release|launch|demo|audit"
            r"|go-?live"
            r"|cut-?over|rollout|beta|ga"
            r"|v?\d+\.\d+|milestone|migration|contract|hand-?over|due date"
            r"|end of life|eol|(?:the|our) plan)\b"
            r"[^.?]*\b(?:is|are|'s|starts?|begins?|ends?|due|on|until|by|in|before|for)\b[^.?]*"
            + DATE
            + r"|\bfreez(?:e|ing)\b[^.?]*"
            + DATE
            + r"|\b(?:has|have|needs?) to be (?:done|ready|finished|shipped|signed|out|live"
            r"|in) (?:\w+ )?by\b[^.?]*"
            + DATE
            + r"|\b(?:due|scheduled|planned|set) (?:on|for|by|at)\b[^.?]*"
            + DATE
            + r"|\bwe(?:'re| are)? (?:ship|launch|releas|deploy|demo|present|migrat"
            r"|go(?:ing)? live)\w*\b[^.?]*" + DATE
        ),
        "project",
        0.6,
    ),
    Signal(
        RESPONSIBLE_LABEL,
        _re(
            r"\bthe (?:release manager|product owner|tech lead|project lead|maintainer|security contact"
            r"|on-?call lead|scrum master"
            r"|code owner|point of contact) (?:is|for [^.]* is)\b"
            r"|^(?!the\b|it|this|that|he\b|she\b|who|which|what|an?\b|i\b|we\b|you\b|they\b|there"
            r"|everyone|nobody)[a-z]+"
            r" (?:is (?:responsible for|in charge of|the (?:owner|maintainer) of)|owns|maintains"
            r"|looks after|takes care of)"
            r" (?:the|our|all)\b"
        ),
        "project",
        0.6,
    ),
)

TRACKED: tuple[Signal, ...] = (
    Signal(
        "where something is kept",
        _re(
            rf"\b{THING}\b[^.?]*?\b(?:(?:is|are|get|gets)(?: all| now| only| mostly)?"
            r" (?:tracked|kept|filed|documented|managed|posted|logged|stored|collected|located|hosted"
            r"|reported|published"
            r"|announced|discussed|in|on|at|under)|lives?|goes? (?:in)?to|go (?:in)?to|come in|comes in"
            r"|sits?|belongs?)"
            rf"\b[^?]*?{PLACE}"
            rf"|\bwe (?:track|keep|file|document|manage|post|log|discuss|plan)\b[^.?]*?\b(?:in|on|at"
            rf"|under)\b[^?]*?{PLACE}"
            rf"|\b{THING}: (?:look|see|check|ask)\b[^?]*?{PLACE}"
            rf"|\b(?:look at|check|see|ask in|post in|go to)\b[^?]*?{PLACE}[^?]*\b(?:when(?:ever)?|if"
            rf"|that's where|for (?:all|any|every))\b"
            rf"|{START}(?:the|our) [^,.;]*\b(?:dashboard|board|wiki|channel|tracker|calendar"
            rf"|status page"
            rf"|handbook)\b[^,.;]* (?:is|are)\b[^?]*?{PLACE}"
        ),
        "reference",
        0.7,
    ),
)

STATED: tuple[Signal, ...] = STANDING + CONFIRMED + TRACKED + IDENTITY + PREFERENCE + DECISION
